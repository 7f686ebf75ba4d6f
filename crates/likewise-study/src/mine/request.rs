//! Tuples as they are asked for, from the data to their file.

use std::path::PathBuf;
use std::time::Instant;

use likewise::ensemble::FromVotes;
use likewise::graph::{Fusion, KnnGraph};
use likewise::neighbor::Precision;
use likewise::tuple::Tuples;
use likewise_io::tuples::{form_to_write, write_pairs, write_triplets};
use serde::Serialize;

use super::{From, Job, PER_ITEM};
use crate::data::Data;
use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::graph::{DataShape, Settings};
use crate::neighbors::neighbors;
use crate::run_folder::check_output;
use crate::source::Source;
use crate::study::TupleKind;
use crate::{Result, usage};

/// Tuples that are asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// The data.
    pub data: Data,
    /// What they are made of: `labels`, `affinity`, `votes`, or a file of beliefs.
    pub from: PathBuf,
    /// Which kind.
    pub kind: TupleKind,
    /// Most pairs of each sort, or most triplets, that an item draws; `None`: [`PER_ITEM`].
    pub per_item: Option<usize>,
    /// Labels kept for each class; the others are hidden.
    pub labels_per_class: Option<usize>,
    /// Neighbours an item, by affinity; `None`: the usual number, or fewer of few items.
    pub k: Option<usize>,
    /// Where they go: `.csv` or `.parquet`.
    pub out: Option<PathBuf>,
    /// Seed of every random step.
    pub seed: u64,
}

/// What was mined.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mined {
    /// `pairs` or `triplets`.
    pub kind: &'static str,
    /// What they were made of.
    pub from: String,
    /// Items of the data.
    pub items: usize,
    /// Tuples.
    pub tuples: usize,
    /// Pairs of items that are alike; absent for triplets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alike: Option<usize>,
    /// Pairs of items that are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unlike: Option<usize>,
    /// Mean weight of a tuple.
    pub mean_weight: f64,
    /// Seconds of reading, mining and writing.
    pub seconds: f64,
}

impl Request {
    /// What the tuples will cost.
    ///
    /// Fails on settings that what they are made of has no use for, on an output that cannot be one, and on
    /// data that are not there.
    pub fn estimate(&self, at: &Environment) -> Result<Estimate> {
        Ok(self.open(at)?.2)
    }

    /// Makes the tuples, and writes them where they are to go.
    ///
    /// Fails as [`estimate`](Self::estimate) and [`Job::run`] do, and where the memory does not suffice.
    pub fn run(&self, at: &Environment) -> Result<Mined> {
        let (job, source, needed) = self.open(at)?;
        needed.check(at.max_memory)?;
        let start = Instant::now();
        let collection = source.load(at)?;
        let tuples = job.run(&collection, self.data.read.view.as_deref(), at.monitor)?;
        if let Some(out) = &self.out {
            match &tuples {
                Tuples::Pairs(pairs) => write_pairs(out, pairs, collection.ids())?,
                Tuples::Triplets(triplets) => write_triplets(out, triplets, collection.ids())?,
            }
        }
        let (kind, alike, weights) = match &tuples {
            Tuples::Pairs(pairs) => {
                let alike = pairs.alike.iter().filter(|&&y| y).count();
                ("pairs", Some(alike), &pairs.weights)
            }
            Tuples::Triplets(triplets) => ("triplets", None, &triplets.weights),
        };
        let sum: f64 = weights.iter().map(|&w| f64::from(w)).sum();
        Ok(Mined {
            kind,
            from: self.from.display().to_string(),
            items: collection.len(),
            tuples: tuples.len(),
            alike,
            unlike: alike.map(|alike| tuples.len() - alike),
            mean_weight: sum / tuples.len() as f64,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    fn open(&self, at: &Environment) -> Result<(Job, Source, Estimate)> {
        let mut from = self.made_of();
        self.check(&from)?;
        let beliefs = match &from {
            From::Beliefs { path, .. } => Some(path.as_path()),
            _ => None,
        };
        self.data.check_output(self.out.as_deref())?;
        check_output(self.out.as_deref(), &[beliefs])?;
        if let Some(out) = &self.out {
            form_to_write(out)?;
        }
        let mut source = self.data.open()?;
        if let From::Affinity(settings) = &from {
            source = source.scaled_by(settings.standardize);
        }
        let shape = DataShape::of(&source, at)?;
        if let From::Affinity(settings) = &mut from {
            let k = neighbors(self.k, shape.items, &self.data.path, at.monitor)?;
            settings.graph = settings.graph.clone().k(k);
        }
        let job = Job {
            from,
            kind: self.kind,
            labels_per_class: self.labels_per_class,
            seed: self.seed,
        };
        let needed = job.estimate(&shape);
        Ok((job, source, needed))
    }

    fn made_of(&self) -> From {
        let per_item = self.per_item.unwrap_or(PER_ITEM);
        match self.from.to_str() {
            Some("labels") => From::Labels { per_item },
            Some("affinity") => From::Affinity(Settings {
                graph: KnnGraph::new(),
                // Affinities spread in the rows of the view, however many stand side by side in it.
                fuse: Some(Fusion::Rows),
                center: false,
                standardize: None,
                approximate: None,
                precision: Precision::Auto,
                seed: self.seed,
            }),
            Some("votes") => From::Votes(Box::default(), FromVotes::new()),
            _ => From::Beliefs {
                path: self.from.clone(),
                per_item,
            },
        }
    }

    /// Fails on settings that what the tuples are made of has no use for.
    fn check(&self, from: &From) -> Result<()> {
        let given = self.from.display();
        let no_use = |what: &str, goes_with: &str| {
            let message = format!("`{what}` goes with {goes_with}, not with {given}");
            Err(usage(message))
        };
        match from {
            From::Affinity(_) | From::Votes(..) if self.per_item.is_some() => {
                no_use("per_item", "`from labels` or a file of beliefs")
            }
            From::Labels { .. } | From::Beliefs { .. } | From::Votes(..) if self.k.is_some() => {
                no_use("k", "`from affinity`")
            }
            From::Beliefs { .. } if self.labels_per_class.is_some() => {
                no_use("labels_per_class", "`from labels`, affinity or votes")
            }
            From::Beliefs { path, .. } if path.extension().is_none_or(|e| e != "npz") => {
                Err(usage(format!(
                    "`from {given}`: it is labels, affinity, votes, or the .npz that propagate writes"
                )))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn affinities_are_those_of_the_rows_side_by_side() {
        let request = Request {
            data: Data::default(),
            from: "affinity".into(),
            kind: TupleKind::Pairs,
            per_item: None,
            labels_per_class: None,
            k: None,
            out: None,
            seed: 0,
        };
        let From::Affinity(settings) = request.made_of() else {
            panic!("affinity");
        };
        assert_eq!(settings.fusion(3), Fusion::Rows);
    }
}
