//! The learners in closed form: one list, from which recipes, the command and tests follow.

use serde::{Deserialize, Deserializer, Serialize};

use super::{Evidence, Fit, Learning, Need, Reads, Size};
use crate::code::Hds;
use crate::kernel::{ExplicitOmksLearner, OmksLearner};
use crate::linear::{
    Apit, Apllr, Dca, DmlEig, Gmml, Isdml, Itml, Joined, Lda, Lmnn, Logistic, Lrml, Mmc, Nca,
    Oasis, Pca, Rca, Seraph, Synthetic,
};
use crate::model::Model;
use crate::rank::Emr;
use crate::select::{Cfs, Dlsr, LaplacianScore, Mcfs};
use crate::{Monitor, Result};

/// One line a learner: its name, its type, its source, what it is and, where it was published for
/// features as they are, its parameters as printed.
macro_rules! learners {
    ($($name:literal $learner:ident $file:literal, $what:literal $(, $printed:expr)?;)*) => {
        /// A learner in closed form, with its parameters.
        ///
        /// ```
        /// use likewise::learn::Closed;
        /// assert!(Closed::named("rca").is_some());
        /// assert!(Closed::named("nosuch").is_none());
        /// ```
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        pub enum Closed {
            $(#[doc = $what] #[serde(rename = $name)] $learner($learner),)*
        }

        impl Closed {
            /// Names of all learners.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// What each learner is, in the order of [`NAMES`](Self::NAMES).
            pub const ABOUT: &'static [&'static str] = &[$($what),*];

            /// The source of each learner, whose doc comment explains it.
            pub const SOURCES: &'static [&'static str] = &[$(include_str!($file)),*];

            /// The learner of this name with its default parameters.
            pub fn named(name: &str) -> Option<Self> {
                Some(match name {
                    $($name => Self::$learner($learner::default()),)*
                    _ => return None,
                })
            }

            /// The learner of this name with these parameters; `None` where there is none of the name.
            /// Errors keep the path that a deserializer tracks, which they lose where the name stands
            /// among the parameters.
            pub fn read<'de, D: Deserializer<'de>>(
                name: &str,
                parameters: D,
            ) -> Option<std::result::Result<Self, D::Error>> {
                Some(match name {
                    $($name => $learner::deserialize(parameters).map(Self::$learner),)*
                    _ => return None,
                })
            }

            /// The learner of this name with the parameters that its paper prints, where it was
            /// published for features as they are: a recipe of its name gives it these.
            pub fn published(name: &str) -> Option<Self> {
                match name {
                    $($($name => Some(Self::$learner($printed)),)?)*
                    _ => None,
                }
            }

            /// The name of this learner.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$learner(_) => $name,)*
                }
            }

            fn as_fit(&self) -> &dyn Fit {
                match self {
                    $(Self::$learner(learner) => learner,)*
                }
            }
        }
    };
}

learners! {
    "apit" Apit "../linear/apit.rs",
        "APIT: an information-theoretic metric, smoothed by affinities that spread.", Apit::new();
    "apllr" Apllr "../linear/apllr.rs",
        "APLLR: a metric of likelihood ratios, smoothed by affinities that spread.", Apllr::paper();
    "cfs" Cfs "../select/cfs.rs",
        "CFS: few columns that know the class and not each other.", Cfs::new();
    "dca" Dca "../linear/dca.rs",
        "Discriminative component analysis: what tells classes apart, evened out.", Dca::paper();
    "dlsr" Dlsr "../select/dlsr.rs",
        "DLSR: the columns that a regression on classes needs.", Dlsr::new();
    "dml-eig" DmlEig "../linear/dml_eig.rs",
        "DML-eig: the least distance of unlike pairs as large as alike ones allow.", DmlEig::new();
    "emr" Emr "../rank/emr.rs",
        "Efficient manifold ranking: near along the bands in which items lie; no labels.",
        Emr::new().landmarks(50);
    "explicit-omks" ExplicitOmksLearner "../kernel/explicit.rs",
        "OMKS in coordinates: kernels of several views for any number of items.",
        ExplicitOmksLearner::published();
    "gmml" Gmml "../linear/gmml.rs",
        "Geometric mean metric: midway between what alike and unlike pairs ask for.", Gmml::new();
    "hds" Hds "../code/hds.rs",
        "HDS: binary codes of a hidden layer that learns the classes, then the features.", Hds::new();
    "isdml" Isdml "../linear/isdml.rs",
        "ISDML: pairs, and neighbours weighed by how dense it is around them.", Isdml::new();
    "itml" Itml "../linear/itml.rs",
        "Information-theoretic metric: the one nearest to a prior that keeps pairs in bounds.", Itml::new();
    "joined" Joined "../linear/joined.rs",
        "Class probabilities of several kinds, side by side.";
    "laplacian-score" LaplacianScore "../select/laplacian_score.rs",
        "Laplacian score: the columns that are alike among neighbours; no labels.", LaplacianScore::new();
    "lda" Lda "../linear/lda.rs",
        "Linear discriminant analysis: class probabilities of equal Gaussians beside discriminants and features.";
    "lmnn" Lmnn "../linear/lmnn.rs",
        "Large margin nearest neighbours: other classes a margin farther than the nearest own.", Lmnn::new();
    "logistic" Logistic "../linear/logistic.rs",
        "Class probabilities: their square roots beside the centred features.";
    "lrml" Lrml "../linear/lrml.rs",
        "Laplacian regularised metric: pairs, and neighbours that stay near.", Lrml::new();
    "mcfs" Mcfs "../select/mcfs.rs",
        "MCFS: the columns that together tell groups of items apart; no labels.", Mcfs::new();
    "mmc" Mmc "../linear/mmc.rs",
        "MMC: unlike pairs as far apart as alike ones allow.", Mmc::new();
    "nca" Nca "../linear/nca.rs",
        "Neighbourhood components: a random near neighbour is one of the own class.", Nca::paper();
    "oasis" Oasis "../linear/oasis.rs",
        "OASIS: a bilinear similarity, learned online from comparisons of three.", Oasis::paper();
    "omks" OmksLearner "../kernel/omks.rs",
        "OMKS: a similarity of several kernels of several views, from comparisons of three.",
        OmksLearner::published();
    "pca" Pca "../linear/pca.rs",
        "PCA: the directions in which features vary most; no labels.", Pca::new();
    "rca" Rca "../linear/rca.rs",
        "Relevant component analysis: whitens what varies within classes.", Rca::paper();
    "seraph" Seraph "../linear/seraph.rs",
        "SERAPH: pairs by probability, and certainty on the pairs that nobody labeled.", Seraph::paper();
    "synthetic" Synthetic "../linear/synthetic.rs",
        "SUML: comparisons that it makes up itself, from any three items; no labels.", Synthetic::new();
}

impl Fit for Closed {
    fn needs(&self) -> &'static [Need] {
        self.as_fit().needs()
    }

    fn gives_distance(&self) -> bool {
        self.as_fit().gives_distance()
    }

    fn reads(&self) -> Reads {
        self.as_fit().reads()
    }

    fn operations(&self, of: &Size) -> f64 {
        self.as_fit().operations(of)
    }

    fn memory(&self, of: &Size) -> f64 {
        self.as_fit().memory(of)
    }

    fn sees_views(&self) -> bool {
        self.as_fit().sees_views()
    }

    fn goes_on(&self) -> bool {
        self.as_fit().goes_on()
    }

    fn validate(&self) -> Result<()> {
        self.as_fit().validate()
    }

    fn fit(&self, evidence: &Evidence, seed: u64, monitor: &Monitor) -> Result<Model> {
        evidence.check(self.needs())?;
        self.as_fit().fit(evidence, seed, monitor)
    }

    fn rounds<'a>(&'a self, seed: u64) -> Option<Box<dyn Learning<Model = Model> + 'a>> {
        self.as_fit().rounds(seed)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, OnceLock};

    use ndarray::{Array2, Axis};

    use super::*;
    use crate::Event;
    use crate::graph::KnnGraph;
    use crate::learn::{Start, Targets};
    use crate::matrix::l2_normalize;
    use crate::model::Form;

    #[test]
    fn every_learner_is_found_by_its_name_and_by_its_json() {
        assert_eq!(Closed::NAMES.len(), Closed::SOURCES.len());
        for name in Closed::NAMES {
            let learner = Closed::named(name).unwrap();
            assert_eq!(learner.name(), *name);
            learner.validate().unwrap();
            if let Some(published) = Closed::published(name) {
                assert_eq!(published.name(), *name);
                published.validate().unwrap();
            }
            let json = serde_json::to_string(&learner).unwrap();
            assert!(json.contains(&format!("\"kind\":\"{name}\"")), "{json}");
            assert_eq!(serde_json::from_str::<Closed>(&json).unwrap(), learner);
            let unknown = format!("{{\"kind\":\"{name}\",\"nosuch\":1}}");
            assert!(serde_json::from_str::<Closed>(&unknown).is_err());
        }
    }

    /// What a learner makes of forty items, by whichever labels these are.
    fn fitted(learner: &Closed, targets: &Targets) -> Model {
        fitted_on(learner, forty(), targets, &Monitor::silent())
    }

    fn forty() -> Array2<f32> {
        Array2::from_shape_fn((40, 6), |(i, j)| ((3 * i + j * j + i * j) as f32).sin())
    }

    /// What a learner makes of these items as they are.
    fn fitted_on(learner: &Closed, x: Array2<f32>, targets: &Targets, monitor: &Monitor) -> Model {
        let (rows, rotated) = (l2_normalize(x.clone()), OnceLock::new());
        let (start, items) = (
            Start::as_given(x.ncols()),
            (0..x.nrows()).collect::<Vec<_>>(),
        );
        let groups: Vec<u32> = (0..=targets.class.iter().copied().max().unwrap_or(0)).collect();
        let graph = KnnGraph::new().k(4).build(x.view(), &Monitor::silent());
        let graph = graph.unwrap();
        let evidence = Evidence {
            features: x.view(),
            views: &[],
            images: None,
            items: &items,
            start: &start,
            rows: rows.view(),
            rotated: &rotated,
            scaled: &OnceLock::new(),
            targets,
            groups: &groups,
            tags: None,
            pairs: None,
            graph: Some(&graph),
            before: None,
        };
        let model = learner.fit(&evidence, 1, monitor);
        model.unwrap_or_else(|e| panic!("{}: {e}", learner.name()))
    }

    /// Labels of three classes in turn, for items of some weight.
    fn in_turn(weight: Vec<f32>) -> Targets {
        Targets {
            class: (0..weight.len()).map(|i| i as u32 % 3).collect(),
            labeled: weight.iter().map(|&w| w > 0.0).collect(),
            weight,
            passes: 0,
            triplets: None,
            since: 0,
        }
    }

    /// A monitor, and what it has been warned of.
    fn hearing() -> (Arc<Mutex<Vec<String>>>, Monitor) {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let to = heard.clone();
        let monitor = Monitor::new(move |event: &Event| {
            if let Event::Warning(said) = event {
                to.lock().unwrap().push(said.clone());
            }
        });
        (heard, monitor)
    }

    /// The matrix `M` of a learned metric.
    fn matrix(model: Model) -> Array2<f64> {
        let Model::Metric(metric) = model else {
            panic!("no metric");
        };
        match metric.form {
            Form::Mahalanobis(m) => m,
            Form::Transform(l) => l.t().dot(&l),
        }
    }

    #[test]
    fn a_column_that_does_not_vary_has_no_weight_and_changes_no_other() {
        let mut x = forty();
        for (i, value) in x.column_mut(0).iter_mut().enumerate() {
            *value += 4.0 * (i % 3) as f32;
        }
        for (column, value) in [(1, 0.5), (4, -7.0)] {
            x.column_mut(column).fill(value);
        }
        let kept = [0, 2, 3, 5];
        let few = x.select(Axis(1), &kept);
        let targets = in_turn(vec![1.0; 40]);
        for name in [
            "apit", "apllr", "dca", "dml-eig", "gmml", "isdml", "itml", "lmnn", "lrml", "mmc",
            "nca", "rca", "seraph",
        ] {
            let learner = Closed::published(name).or_else(|| Closed::named(name));
            let learner = learner.unwrap();
            let (heard, monitor) = hearing();
            let expected = matrix(fitted_on(&learner, few.clone(), &targets, &monitor));
            let is_of_columns = |said: &&String| said.contains("do not vary among");
            let count = |heard: &Mutex<Vec<String>>| {
                heard.lock().unwrap().iter().filter(is_of_columns).count()
            };
            assert_eq!(count(&heard), 0, "{name}");
            let m = matrix(fitted_on(&learner, x.clone(), &targets, &monitor));
            assert_eq!(count(&heard), 1, "{name}");
            assert_eq!(m.dim(), (6, 6), "{name}");
            let size = expected.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
            for ((i, j), value) in m.indexed_iter() {
                let place = |column| kept.iter().position(|&k| k == column);
                let expected = match (place(i), place(j)) {
                    (Some(i), Some(j)) => expected[(i, j)],
                    _ => 0.0,
                };
                let off = (value - expected).abs() / size;
                assert!(
                    off <= 1e-9,
                    "{name} {i} {j}: {value} beside {expected}, {off}"
                );
            }
        }
    }

    #[test]
    fn a_rank_beyond_the_columns_that_vary_is_as_many_as_these() {
        let mut x = forty();
        x.column_mut(2).fill(1.0);
        let targets = in_turn(vec![1.0; 40]);
        let learner = Closed::Lmnn(Lmnn::new().rank(Some(6)));
        let m = matrix(fitted_on(&learner, x, &targets, &Monitor::silent()));
        assert!(m.row(2).iter().all(|&v| v.abs() <= 0.0));
    }

    #[test]
    fn one_label_a_class_teaches_rca_nothing_and_it_says_so() {
        let learner = Closed::published("rca").unwrap();
        let (heard, monitor) = hearing();
        // One item of each class, and then two of one.
        for (labeled, warnings) in [(3, 1), (4, 1)] {
            let weight = (0..40).map(|i| if i < labeled { 0.3 } else { 0.0 });
            let m = matrix(fitted_on(
                &learner,
                forty(),
                &in_turn(weight.collect()),
                &monitor,
            ));
            assert_eq!(m == Array2::<f64>::eye(6), labeled == 3);
            let heard = heard.lock().unwrap();
            assert_eq!(heard.len(), warnings, "{heard:?}");
            assert!(heard[0].contains("no two different rows of one class"));
        }
    }

    #[test]
    fn more_columns_than_there_are_is_said() {
        let targets = in_turn(vec![1.0; 40]);
        for name in ["dlsr", "laplacian-score", "mcfs", "pca"] {
            let learner = Closed::named(name).unwrap();
            let (heard, monitor) = hearing();
            fitted_on(&learner, forty(), &targets, &monitor);
            let heard = heard.lock().unwrap();
            assert_eq!(heard.len(), 1, "{heard:?}");
            assert!(heard[0].starts_with(&format!("{name}: 50 ")), "{heard:?}");
            assert!(heard[0].ends_with("there are 6, so all are kept"));
        }
    }

    #[test]
    fn classes_of_one_item_are_no_groups_of_mcfs() {
        let mut targets = in_turn(vec![1.0; 12]);
        targets.class = (0..12).collect();
        let x = forty().slice_move(ndarray::s![..12, ..]);
        let of = |own: Mcfs| {
            let learner = Closed::Mcfs(own.features(3));
            fitted_on(&learner, x.clone(), &targets, &Monitor::silent())
        };
        assert_eq!(of(Mcfs::new()), of(Mcfs::new().groups(6)));
    }

    #[test]
    fn what_says_that_it_looks_at_the_items_alone_learns_the_same_from_any_labels() {
        let labels = |step: usize, weight: f32| Targets {
            class: (0..40).map(|i| (step * i % 3) as u32).collect(),
            weight: vec![weight; 40],
            labeled: vec![weight > 0.0; 40],
            passes: 0,
            triplets: None,
            since: 0,
        };
        let mut count = 0;
        for name in Closed::NAMES {
            let learner = match Closed::named(name).unwrap() {
                // Of its usual thirty thousand comparisons these are enough to see a label in.
                Closed::Synthetic(own) => Closed::Synthetic(own.triplets(50).draws(2)),
                learner => learner,
            };
            let alone = learner.needs().iter().all(Need::is_met_by_items);
            if !alone || learner.needs().contains(&Need::Images) {
                continue;
            }
            count += 1;
            let of = |step, weight| fitted(&learner, &labels(step, weight));
            let first = of(1, 1.0);
            for (step, weight) in [(2, 1.0), (1, 0.0), (1, 0.5)] {
                assert_eq!(of(step, weight), first, "{name}: {step} {weight}");
            }
        }
        assert!(count > 0);
    }
}
