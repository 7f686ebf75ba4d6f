//! The class of the nearest labeled row: by a learned metric, or as features are.
//!
//! The metric is that of any learner that gives a distance (`rca`, `dca`, `lrml`, `seraph`, `itml`,
//! `lmnn` ...), learned on the rows of the view from its labels; those that look at rows without labels see
//! them too. Of rows at the same distance the first counts.
//!
//! **Use it** with one to five labels a class, by itself or as one of several that vote. **Not**
//! with wrong labels: each is believed wherever it is nearest.
//!
//! Cost: that of the metric, and O(n l r) for `n` rows, `l` labeled ones and `r` columns of the metric.
//!
//! Source: Cover and Hart, "Nearest neighbor pattern classification", 1967.

use std::sync::OnceLock;

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::classify::{Classifier, Classify, Lesson};
use super::metric::Metric;
use crate::learn::{Closed, Evidence, Fit as _, Start, Targets};
use crate::matrix::l2_normalize;
use crate::model::Model;
use crate::{Error, Monitor, Result};

/// Parameters of nearest labeled rows; see [`nearest`](self).
///
/// ```
/// use likewise::ensemble::{Classify, Lesson, Nearest};
/// use likewise::linear::Rca;
/// use likewise::{Labels, Monitor, learn::Closed};
/// let x = ndarray::array![[0.0, 0.0], [4.0, 0.1], [0.0, 1.0], [4.0, 1.1], [4.0, 0.2_f32]];
/// let labels = Labels::parse(["a", "a", "b", "b", ""]);
/// let lesson = Lesson { rows: x.view(), labels: &labels };
/// let by_rca = Nearest::by(Closed::Rca(Rca::paper())).fit(&lesson, 1, &Monitor::silent())?;
/// assert_eq!(by_rca.classes(x.view())?[4], 0);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Nearest {
    #[serde(skip_serializing_if = "Option::is_none")]
    metric: Option<Closed>,
}

impl Nearest {
    /// By the Euclidean distance of the features as they are.
    pub fn new() -> Self {
        Self::default()
    }

    /// By the metric of this learner.
    pub fn by(metric: Closed) -> Self {
        Self {
            metric: Some(metric),
        }
    }

    /// The name of the metric: `euclid` where none is learned.
    pub fn metric_name(&self) -> &'static str {
        self.metric.as_ref().map_or("euclid", Closed::name)
    }

    fn learn(&self, lesson: &Lesson, seed: u64, monitor: &Monitor) -> Result<Option<Model>> {
        let Some(learner) = &self.metric else {
            return Ok(None);
        };
        let n = lesson.labels.len();
        let class = |i: usize| lesson.labels[i].class();
        let labeled: Vec<bool> = (0..n).map(|i| class(i).is_some()).collect();
        let targets = Targets {
            class: (0..n).map(|i| class(i).unwrap_or_default()).collect(),
            weight: labeled.iter().map(|&l| f32::from(u8::from(l))).collect(),
            labeled,
            passes: 0,
            triplets: None,
            since: 0,
        };
        let items: Vec<usize> = (0..n).collect();
        let start = Start::as_given(lesson.rows.ncols());
        let rows = l2_normalize(lesson.rows.to_owned());
        let groups: Vec<u32> = (0..lesson.labels.n_classes() as u32).collect();
        let rotated = OnceLock::new();
        let evidence = Evidence {
            features: lesson.rows,
            views: &[],
            images: None,
            items: &items,
            start: &start,
            rows: rows.view(),
            rotated: &rotated,
            scaled: &OnceLock::new(),
            targets: &targets,
            groups: &groups,
            tags: None,
            pairs: None,
            graph: None,
            before: None,
        };
        match learner.fit(&evidence, seed, monitor)? {
            model @ Model::Metric(_) => Ok(Some(model)),
            _ => Err(no_distance(learner.name())),
        }
    }
}

fn no_distance(name: &str) -> Error {
    let rule = "gives no distance, which a nearest neighbour needs; take a metric learner, such as \
                rca or itml";
    Error::parameter("nearest-neighbor.metric", name, rule)
}

impl Classify for Nearest {
    fn validate(&self) -> Result<()> {
        match &self.metric {
            None => Ok(()),
            Some(learner) if learner.gives_distance() => learner.validate(),
            Some(learner) => Err(no_distance(learner.name())),
        }
    }

    fn fit(&self, lesson: &Lesson, seed: u64, monitor: &Monitor) -> Result<Box<dyn Classifier>> {
        let model = self.learn(lesson, seed, monitor)?;
        let (rows, class) = lesson.labeled();
        Ok(Box::new(Metric::new(model, rows.view(), class)?))
    }
}

impl Classifier for Metric {
    fn classes(&self, rows: ArrayView2<f32>) -> Result<Vec<u32>> {
        self.near_classes(rows)
    }

    fn metric(&self) -> Option<&Metric> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Labels;
    use crate::linear::Rca;
    use ndarray::{Array2, array};

    #[test]
    fn nearest_and_farthest_by_hand() {
        let x = array![[0.0], [1.0], [5.0], [5.0], [2.0_f32]];
        let labels = Labels::parse(["a", "b", "c", "b", ""]);
        let lesson = Lesson {
            rows: x.view(),
            labels: &labels,
        };
        let fitted = Nearest::new().fit(&lesson, 0, &Monitor::silent()).unwrap();
        let metric = fitted.metric().unwrap();
        // Of the two at 5 the first counts.
        assert_eq!(fitted.classes(x.view()).unwrap(), [0, 1, 2, 2, 1]);
        assert_eq!(metric.far_classes(x.view()).unwrap(), [2, 2, 0, 0, 2]);
        let own: Vec<usize> = (0..5).collect();
        let peers = metric.peers(x.view(), x.view(), &own).unwrap();
        assert_eq!(peers, [(1, 2), (0, 2), (3, 0), (2, 0), (1, 2)]);
    }

    #[test]
    fn every_learner_of_the_list_gives_a_distance_where_it_says_so_and_nowhere_else() {
        let x = Array2::from_shape_fn((30, 4), |(i, j)| {
            (i % 2 * j) as f32 + ((i * 7 + j * 11) % 13) as f32 / 10.0
        });
        let labels = Labels::parse((0..30).map(|i| ["a", "b"][i % 2]));
        let lesson = Lesson {
            rows: x.view(),
            labels: &labels,
        };
        for name in Closed::NAMES {
            let learner = Closed::published(name).or_else(|| Closed::named(name));
            let learner = learner.unwrap();
            let said = learner.gives_distance();
            let by = Nearest::by(learner);
            assert_eq!(by.validate().is_ok(), said, "{name}");
            let found = by.learn(&lesson, 1, &Monitor::silent());
            assert_eq!(found.is_ok(), said, "{name}: {:?}", found.err());
        }
    }

    #[test]
    fn a_metric_turns_down_what_varies_within_classes() {
        let x = array![
            [0.0, 0.0],
            [9.0, 0.1],
            [0.0, 1.0],
            [9.0, 1.1],
            [9.0, 0.7_f32]
        ];
        let labels = Labels::parse(["a", "a", "b", "b", ""]);
        let lesson = Lesson {
            rows: x.slice(ndarray::s![.., ..]),
            labels: &labels,
        };
        let class = |of: Nearest| {
            let fitted = of.fit(&lesson, 0, &Monitor::silent()).unwrap();
            fitted
                .classes(array![[0.0, 0.7], [4.4, 0.9_f32]].view())
                .unwrap()
        };
        assert_eq!(class(Nearest::by(Closed::Rca(Rca::paper()))), [1, 1]);
        let similarity = Closed::named("oasis").unwrap();
        let refused = Nearest::by(similarity).validate().unwrap_err();
        assert!(
            refused.to_string().contains("gives no distance"),
            "{refused}"
        );
    }
}
