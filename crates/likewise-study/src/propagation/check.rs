//! What of a propagation cannot be, as far as that is known before anything is read.

use std::path::Path;

use likewise::graph::Fusion;
use likewise::propagate::{Ability, Method};
use likewise_io::atomic;

use super::{ClassSizes, Job};
use crate::run_folder::{check_ending, check_output};
use crate::{Result, usage};

impl Job<'_> {
    /// Fails where files are asked for or given that the method has no use for, where what it needs is not
    /// given, where an output would go over an input or another output, and, where items have `several`
    /// labels, on what goes by one label an item. `data` are the files of the items and their labels.
    pub fn check(&self, data: &[Option<&Path>], several: bool) -> Result<()> {
        self.check_outputs(data)?;
        self.check_method()?;
        if several {
            self.check_several()?;
        }
        self.check_weights()?;
        self.sizes.as_ref().map_or(Ok(()), ClassSizes::check)
    }

    /// Fails where labels that are hidden in turn would have said beforehand what each view weighs.
    fn check_weights(&self) -> Result<()> {
        let hides = [("diagnose", self.diagnose), ("calibrate", self.calibrate)];
        match hides.iter().find(|(_, hides)| *hides) {
            Some((setting, _)) if self.settings.fuse == Some(Fusion::Weighted) => {
                Err(usage(format!(
                    "`{setting}` hides labels in turn that have said by `fuse weighted` what each view weighs, and so \
                     measures too much; take another form, or leave it out"
                )))
            }
            _ => Ok(()),
        }
    }

    fn check_outputs(&self, data: &[Option<&Path>]) -> Result<()> {
        let own = [
            self.graph,
            self.known_negatives,
            self.excluded,
            self.sizes.as_ref().and_then(|sizes| sizes.table()),
        ];
        let inputs = [data, &own].concat();
        for out in [self.out, self.negatives] {
            check_output(out, &inputs)?;
        }
        if let Some(out) = self.out {
            likewise_io::beliefs::form_to_write(out)?;
        }
        check_ending(self.negatives, "negative edges are written", "npz")?;
        let both = self.out.zip(self.negatives);
        if both.is_some_and(|(out, negatives)| atomic::same_place(out, negatives)) {
            return Err(usage(
                "`out` and `negatives` name one file; give each its own",
            ));
        }
        Ok(())
    }

    fn check_method(&self) -> Result<()> {
        let (name, has) = (self.method.name(), |ability| self.method.has(ability));
        let finds = has(Ability::FindsNegatives) && self.known_negatives.is_none();
        if self.negatives.is_some() && !finds {
            return Err(usage(format!(
                "`negatives` needs `method` {}, and a search for them",
                Method::any_with(Ability::FindsNegatives)
            )));
        }
        if self.known_negatives.is_some() && !has(Ability::TakesNegatives) {
            return Err(usage(format!(
                "`known_negatives` needs `method` {}",
                Method::any_with(Ability::TakesNegatives)
            )));
        }
        match (self.excluded, has(Ability::TakesExclusions)) {
            (None, true) => Err(usage(format!(
                "`method {name}` needs `not FILE` (csv with id,label: what items are not)"
            ))),
            (Some(_), false) => Err(usage(format!(
                "`not` goes with `method` {}, not with {name}",
                Method::any_with(Ability::TakesExclusions)
            ))),
            _ if has(Ability::NeedsNeighbors)
                && self.settings.fuse.is_some_and(|fuse| !fuse.has_lists()) =>
            {
                Err(usage(format!(
                    "`method {name}` needs the neighbours themselves, and graphs that are added up have none; \
                     take `fuse ranks` or `fuse rows`"
                )))
            }
            _ if self.graph.is_some() && has(Ability::NeedsNeighbors) => Err(usage(format!(
                "`method {name}` needs the neighbours themselves; leave `graph` out"
            ))),
            _ => Ok(()),
        }
    }

    fn check_several(&self) -> Result<()> {
        let given = [
            ("not", self.excluded.is_some()),
            ("class_sizes", self.sizes.is_some()),
            ("negatives", self.negatives.is_some()),
            ("diagnose", self.diagnose),
            ("calibrate", self.calibrate),
            (
                "fuse weighted",
                self.settings.fuse == Some(Fusion::Weighted),
            ),
        ];
        match given.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((setting, _)) => Err(usage(format!(
                "`{setting}` goes by one label an item, and with `multi_label` each label is spread by itself; \
                 leave it out"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use likewise::graph::KnnGraph;
    use likewise::neighbor::Precision;
    use likewise::propagate::Sizes;

    use super::*;
    use crate::graph::{DataShape, Settings};

    fn job(method: &str) -> Job<'static> {
        Job {
            method: Method::named(method).unwrap(),
            suited: false,
            view: None,
            graph: None,
            settings: Settings {
                graph: KnnGraph::new(),
                fuse: None,
                center: false,
                standardize: None,
                approximate: None,
                precision: Precision::Auto,
                seed: 0,
            },
            columns: Vec::new(),
            labels_per_class: None,
            sizes: None,
            known_negatives: None,
            excluded: None,
            diagnose: false,
            calibrate: false,
            out: Some(Path::new("b.npz")),
            negatives: None,
            seed: 0,
        }
    }

    #[test]
    fn files_that_a_method_has_no_use_for_are_refused() {
        let file = Some(Path::new("file.npz"));
        let with = |method, change: &dyn Fn(&mut Job<'static>)| {
            let mut job = job(method);
            change(&mut job);
            job
        };
        for (job, says) in [
            (
                with("lgc", &|job| job.negatives = file),
                "`negatives` needs `method` mixed, control or manifold, and a search for them",
            ),
            (
                with("mixed", &|job| {
                    (job.negatives, job.known_negatives) = (file, Some(Path::new("n.npz")));
                }),
                "`negatives` needs",
            ),
            (
                with("lgc", &|job| job.known_negatives = file),
                "`known_negatives` needs `method` mixed, lpdr",
            ),
            (
                with("negative-labels", &|_| ()),
                "`method negative-labels` needs `not FILE`",
            ),
            (
                with("lgc", &|job| job.excluded = file),
                "`not` goes with `method` negative-labels, not with lgc",
            ),
            (
                with("manifold", &|job| job.graph = file),
                "`method manifold` needs the neighbours themselves; leave `graph` out",
            ),
            (
                with("manifold", &|job| job.settings.fuse = Some(Fusion::Mean)),
                "`method manifold` needs the neighbours themselves, and graphs that are added up",
            ),
            (
                with("lgc", &|job| {
                    (job.settings.fuse, job.diagnose) = (Some(Fusion::Weighted), true);
                }),
                "`diagnose` hides labels in turn that have said by `fuse weighted`",
            ),
            (
                with("lgc", &|job| {
                    (job.settings.fuse, job.calibrate) = (Some(Fusion::Weighted), true);
                }),
                "`calibrate` hides labels in turn that have said by `fuse weighted`",
            ),
            (
                with("poisson", &|job| {
                    job.sizes = Some(ClassSizes::Table("nosuch.csv".into()));
                }),
                "nosuch.csv: ",
            ),
            (
                with("mixed", &|job| job.negatives = job.out),
                "`out` and `negatives` name one file",
            ),
            (
                with("mixed", &|job| job.negatives = Some(Path::new("n.csv"))),
                "n.csv",
            ),
        ] {
            let refused = job.check(&[], false).unwrap_err().to_string();
            assert!(refused.starts_with(says), "{refused}");
        }
        for job in [
            with("mixed", &|job| job.negatives = file),
            with("mixed", &|job| job.known_negatives = file),
            with("negative-labels", &|job| job.excluded = file),
            with("lgc", &|job| job.graph = file),
            with("lgc", &|job| job.settings.fuse = Some(Fusion::Mean)),
            with("lgc", &|job| job.settings.fuse = Some(Fusion::Weighted)),
            with("lgc", &|job| {
                (job.settings.fuse, job.diagnose) = (Some(Fusion::Mean), true);
            }),
            with("manifold", &|job| job.settings.fuse = Some(Fusion::Ranks)),
        ] {
            job.check(&[Some(Path::new("x.npy")), None], false).unwrap();
        }
    }

    #[test]
    fn an_output_goes_over_no_input() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npz");
        std::fs::write(&path, "x").unwrap();
        let over = |change: &dyn Fn(&mut Job)| {
            let mut job = job("poisson");
            job.out = Some(&path);
            change(&mut job);
            job.check(&[], false).is_err()
        };
        assert!(!over(&|_| ()));
        assert!(over(
            &|job| job.sizes = Some(ClassSizes::Table(path.clone()))
        ));
        assert!(!over(
            &|job| job.sizes = Some(ClassSizes::Said(Sizes::Balanced))
        ));
        let mut job = job("mixed");
        job.out = Some(&path);
        assert!(job.check(&[Some(&path)], false).is_err());
    }

    #[test]
    fn what_goes_by_one_label_an_item_is_refused_of_several() {
        let mut sized = job("poisson");
        sized.sizes = Some(ClassSizes::Said(Sizes::Balanced));
        let mut diagnosed = job("lgc");
        diagnosed.diagnose = true;
        let mut weighted = job("lgc");
        weighted.settings.fuse = Some(Fusion::Weighted);
        for (job, says) in [
            (weighted, "`fuse weighted` goes by one"),
            (sized, "`class_sizes` goes by one"),
            (diagnosed, "`diagnose` goes by one"),
        ] {
            job.check(&[], false).unwrap();
            let refused = job.check(&[], true).unwrap_err().to_string();
            assert!(refused.starts_with(says), "{refused}");
        }
        job("lgc").check(&[], true).unwrap();
    }

    #[test]
    fn labels_spread_over_the_edges_of_all_views() {
        let shape = DataShape {
            items: 1000.0,
            columns: 30.0,
            all_columns: 30.0,
            views: 3,
            making: 0.0,
            decoding: 0.0,
        };
        let cost = |fuse| {
            let mut job = job("lgc");
            job.settings.fuse = Some(fuse);
            job.estimate(&shape, 10).flops()
        };
        // Twenty neighbours an item in each of three views; of other rows, twenty in all.
        let more = 60.0 * 10.0 * 4.0 * 1000.0 * 40.0 * 10.0;
        assert!((cost(Fusion::Mean) - cost(Fusion::Rows) - more).abs() < 1.0);
    }
}
