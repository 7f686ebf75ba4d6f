//! Class probabilities of several kinds, side by side.
//!
//! ```text
//! z_i = [ logistic, logistic on scaled columns, lda on scaled columns ] / sqrt(3)     rows of length 1 each
//! ```
//!
//! so that the cosine is the mean of theirs: [`logistic`](super::logistic) on the features as the start
//! reads them, and, of the features as they are, each column divided by its standard deviation, the same with
//! strength 1000 and [`lda`](super::lda). The two of scaled columns have the same features beside their probabilities, which
//! stand once, for both. Where the start scales columns itself (`standardize = true`), the first two are one.
//! With fewer than five known labels a class, in the mean over those that have some, there are no discriminants: their
//! covariance is then that of pseudo-labels. Rounds keep back two of five or six labels a class, so what they measure
//! has none either, where the model that is kept has them: mostly it is better by that, and on digits (pixels) it was worse,
//! by .01 of R@1 and .03 of MAP@R.
//! Rows that are a thousand times as long as others teach those of scaled columns nothing: where such rows are all that a class
//! has, the first one stands alone.
//!
//! **Use it** where the classes that are searched are the labeled ones: which of the three is best differs from data to
//! data by more than a handful of labels can tell, and their mean is near the best of them: with five labels a class on nine
//! sets it was at most .053 of MAP@R below it, each kind by itself up to .080 to .125. **Not** for
//! classes without labels; and not where rows have to be short: they have twice the columns of the features.
//!
//! Cost: that of its parts, and O(n d min(n, d)) once for the directions of the scaled columns.
//!
//! Source: ours; the mean of several classifiers is usual.

use std::sync::OnceLock;

use ndarray::Array1;
use serde::{Deserialize, Serialize};

use super::{Lda, Logistic};
use crate::learn::{Evidence, Fit, Need, Reads, Size, Start, Targets};
use crate::matrix::{Reading, outsized, select_rows};
use crate::model::{Model, Probabilities};
use crate::{Error, Monitor, Result};

/// Strength of the regression on scaled columns, as of the recipe `scaled-probabilities`.
const STRENGTH: f64 = 1000.0;
/// Known labels a class from which on discriminants are one of the parts: with one to three they lowered R@1 on four of
/// five sets, by up to .09, with five they raised it on five of eight, and MAP@R by up to .09.
const ENOUGH: f64 = 5.0;

/// Parameters of joined class probabilities; see [`joined`](self).
///
/// ```
/// use likewise::linear::Joined;
/// assert!(Joined::new().share(0.5).validate().is_ok());
/// assert!(Joined::new().share(1.5).validate().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Joined {
    share: f64,
}

impl Default for Joined {
    fn default() -> Self {
        Self { share: 0.8 }
    }
}

impl Joined {
    /// Share .8, as of [`Logistic`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Share of the probabilities of each regression in its cosine, from above 0 to 1; `lda` keeps its own.
    #[must_use]
    pub fn share(self, share: f64) -> Self {
        Self { share }
    }

    /// Checks the share.
    pub fn validate(&self) -> Result<()> {
        if self.share > 0.0 && self.share <= 1.0 {
            return Ok(());
        }
        let rule = "must be above 0, and at most 1";
        Err(Error::parameter("joined.share", self.share, rule))
    }
}

impl Fit for Joined {
    fn needs(&self) -> &'static [Need] {
        &[Need::Classes]
    }

    fn gives_distance(&self) -> bool {
        false
    }

    fn reads(&self) -> Reads {
        Reads::Directions
    }

    /// The directions of scaled columns are found once for many fits.
    fn operations(&self, of: &Size) -> f64 {
        2.0 * Logistic::default().operations(of) + Lda::default().operations(of)
    }

    fn validate(&self) -> Result<()> {
        Joined::validate(self)
    }

    fn fit(&self, evidence: &Evidence, seed: u64, monitor: &Monitor) -> Result<Model> {
        let regression = Logistic::default().share(self.share);
        let start = evidence.start;
        let is_scaled = start.standardized == Some(true);
        let mut scaled = start.clone();
        if !is_scaled {
            scaled.reading.unit = false;
            scaled.standardized = Some(true);
        }
        let mut parts = Vec::new();
        if !is_scaled {
            parts.push((regression.fit(evidence, seed, monitor)?, 1.0));
        }
        if is_scaled || teaches_all(evidence, scaled.reading) {
            let rest = of_scaled(
                evidence,
                scaled,
                regression.strength(STRENGTH),
                seed,
                monitor,
            )?;
            parts.extend(rest);
        }
        let all: f64 = parts.iter().map(|(_, share)| share).sum();
        let each = parts.into_iter().map(|(part, share)| (part, share / all));
        Model::joined(each.collect())
    }
}

/// The parts of scaled columns, each with its share.
fn of_scaled(
    evidence: &Evidence,
    mut scaled: Start,
    regression: Logistic,
    seed: u64,
    monitor: &Monitor,
) -> Result<Vec<(Model, f64)>> {
    let with = Evidence {
        start: &scaled,
        ..*evidence
    };
    let regression = regression.fit(&with, seed, monitor)?;
    if labels_per_class(evidence.targets) < ENOUGH {
        return Ok(vec![(regression, 1.0)]);
    }
    scaled.rotation = evidence.scaled_directions(scaled.reading)?.clone();
    let rotated = OnceLock::new();
    let along = Evidence {
        start: &scaled,
        rotated: &rotated,
        ..*evidence
    };
    let discriminants = Lda::default().fit(&along, seed, monitor)?;
    Ok(sharing_features(regression, discriminants))
}

/// Both with their shares, and the features that stand beside both in the first one alone: no cosine is another.
fn sharing_features(first: Model, second: Model) -> Vec<(Model, f64)> {
    let (mut first, mut second) = match (first, second) {
        (Model::Probabilities(a), Model::Probabilities(b)) if have_same_features(&a, &b) => (a, b),
        (a, b) => return vec![(a, 1.0), (b, 1.0)],
    };
    let moved = second.rest();
    second.features = false;
    second.share /= 1.0 - moved;
    first.share /= 1.0 + moved;
    vec![
        (Model::Probabilities(first), 1.0 + moved),
        (Model::Probabilities(second), 1.0 - moved),
    ]
}

fn have_same_features(a: &Probabilities, b: &Probabilities) -> bool {
    let alike = |a: &Array1<f64>, b: &Array1<f64>| {
        let mut each = a.iter().zip(b);
        each.all(|(a, b)| (a - b).abs() <= 1e-9 * a.abs().max(b.abs()))
    };
    // One that has no features beside it has none to give.
    let beside = a.share < 1.0 && b.share < 1.0 && a.features && b.features;
    beside && a.reading == b.reading && alike(&a.mean, &b.mean) && alike(&a.scale, &b.scale)
}

/// Whether every class that has rows to learn from has one of usual length among them.
fn teaches_all(evidence: &Evidence, reading: Reading) -> bool {
    let targets = evidence.targets;
    let rows = reading.rows(select_rows(evidence.features, evidence.items));
    let outsized = outsized(rows.view());
    if outsized.is_empty() {
        return true;
    }
    let mut seen = vec![[false; 2]; evidence.classes()];
    for (row, (&class, &weight)) in targets.class.iter().zip(&targets.weight).enumerate() {
        if weight > 0.0 {
            let usual = outsized.binary_search(&row).is_err();
            seen[class as usize][usize::from(usual)] = true;
        }
    }
    !seen.contains(&[true, false])
}

/// Known labels of a class, in the mean over those that have some.
fn labels_per_class(targets: &Targets) -> f64 {
    let each = targets.class.iter().zip(&targets.labeled);
    let mut known: Vec<u32> = each
        .filter_map(|(class, known)| known.then_some(*class))
        .collect();
    let labels = known.len();
    known.sort_unstable();
    known.dedup();
    labels as f64 / known.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Axis};

    use super::*;
    use crate::linear::Affine;
    use crate::matrix::l2_normalize;

    fn features() -> Array2<f32> {
        Array2::from_shape_fn((30, 4), |(i, j)| {
            let class = f32::from(u8::from(i % 3 == j));
            (1.0 + j as f32) * (2.0 * class + ((3 * i + j * j + i * j) as f32).sin())
        })
    }

    fn start(standardized: Option<bool>) -> Start {
        let map = Affine {
            mean: Array1::zeros(4),
            matrix: Array2::eye(4),
        };
        Start {
            reading: Reading {
                unit: standardized.is_none(),
                ..Reading::default()
            },
            standardized,
            whitening: map.clone(),
            rotation: map,
            as_given: false,
        }
    }

    /// What `learn` makes of thirty items of so many classes, of which the first ones are labeled.
    fn with<T>(
        (x, classes): (&Array2<f32>, u32),
        start: &Start,
        labels: usize,
        learn: impl FnOnce(&Evidence) -> T,
    ) -> T {
        let targets = Targets {
            class: (0..30).map(|i| i % classes).collect(),
            weight: vec![1.0; 30],
            labeled: (0..30).map(|i| i < labels).collect(),
            passes: 0,
            triplets: None,
            since: 0,
        };
        let (rows, rotated) = (l2_normalize(x.clone()), OnceLock::new());
        let items: Vec<usize> = (0..30).collect();
        let groups: Vec<u32> = (0..classes).collect();
        learn(&Evidence {
            features: x.view(),
            views: &[],
            images: None,
            items: &items,
            start,
            rows: rows.view(),
            rotated: &rotated,
            scaled: &OnceLock::new(),
            targets: &targets,
            groups: &groups,
            tags: None,
            pairs: None,
            graph: None,
            before: None,
        })
    }

    fn fitted(learner: Joined, start: &Start, labels: usize) -> Model {
        with((&features(), 3), start, labels, |evidence| {
            learner.fit(evidence, 1, &Monitor::silent()).unwrap()
        })
    }

    fn parts(model: &Model) -> Vec<&Probabilities> {
        let Model::Joined(joined) = model else {
            panic!("{model:?}")
        };
        let each = joined.parts().iter().map(|(part, _)| match part {
            Model::Probabilities(of) => of,
            other => panic!("{other:?}"),
        });
        each.collect()
    }

    fn cosines(model: &Model) -> Array2<f32> {
        let rows = model.embed(features().view()).unwrap();
        rows.dot(&rows.t())
    }

    #[test]
    fn its_cosine_is_the_mean_of_those_of_its_learners() {
        let silent = Monitor::silent();
        let start = start(None);
        let scaled = Start {
            reading: Reading::default(),
            standardized: Some(true),
            ..start.clone()
        };
        for share in [0.8, 0.5] {
            let regression = Logistic::default().share(share);
            let x = features();
            let apart = with((&x, 3), &start, 15, |evidence| {
                let directions = evidence.scaled_directions(Reading::default()).unwrap();
                let along = Start {
                    rotation: directions.clone(),
                    ..scaled.clone()
                };
                let rotated = OnceLock::new();
                let of = Evidence {
                    start: &along,
                    rotated: &rotated,
                    ..*evidence
                };
                [
                    regression.fit(evidence, 1, &silent).unwrap(),
                    regression.strength(STRENGTH).fit(&of, 1, &silent).unwrap(),
                    Lda::default().fit(&of, 1, &silent).unwrap(),
                ]
            });
            let mean = apart.iter().map(|model| cosines(model) / 3.0);
            let mean = mean.reduce(|a, b| a + b).unwrap();
            let model = fitted(Joined::new().share(share), &start, 15);
            let away = (&cosines(&model) - &mean).mapv(f32::abs);
            assert!(away.iter().all(|&a| a < 1e-5), "{away}");
            // The features that two share stand once: 3 classes thrice, 2 discriminants, 4 columns twice.
            assert_eq!(model.output_dim(), 9 + 2 + 8);
        }
        // With nothing but probabilities of the regressions, the discriminants keep their features.
        let model = fitted(Joined::new().share(1.0), &start, 15);
        assert_eq!(model.output_dim(), 9 + 2 + 4);
    }

    #[test]
    fn scaled_parts_know_no_unit_of_a_column_and_roots_stay_roots() {
        let mut rooted = start(None);
        rooted.reading.power = 0.5;
        let model = fitted(Joined::new(), &rooted, 15);
        let parts = parts(&model);
        let read: Vec<(f64, bool)> = (parts.iter())
            .map(|part| (part.reading.power, part.reading.unit))
            .collect();
        assert_eq!(read, [(0.5, true), (0.5, false), (0.5, false)]);
        // One over the standard deviations.
        let x = features().mapv(|v| f64::from(v.signum() * v.abs().sqrt()));
        let wanted = x.std_axis(Axis(0), 0.0).mapv(f64::recip);
        let away = (&parts[1].scale - &wanted).mapv(f64::abs);
        assert!(away.iter().all(|&a| a < 1e-4), "{away}");
    }

    #[test]
    fn discriminants_wait_for_labels_and_a_scaled_start_has_one_regression() {
        let count = |start: &Start, labels| parts(&fitted(Joined::new(), start, labels)).len();
        assert_eq!(count(&start(None), 14), 2);
        assert_eq!(count(&start(None), 15), 3);
        let mut scaled = start(Some(true));
        assert_eq!(count(&scaled, 14), 1);
        assert_eq!(count(&scaled, 15), 2);
        // It is read as it says.
        scaled.reading.unit = true;
        let model = fitted(Joined::new(), &scaled, 15);
        assert!(parts(&model).iter().all(|part| part.reading.unit));
        let zero = Joined::new().share(0.0).validate().unwrap_err();
        assert!(zero.to_string().contains("joined.share"), "{zero}");
    }

    #[test]
    fn a_class_of_outsized_rows_leaves_the_first_part_alone() {
        let learn = |x: &Array2<f32>, classes| {
            with((x, classes), &start(None), 30, |evidence| {
                Joined::new().fit(evidence, 1, &Monitor::silent()).unwrap()
            })
        };
        // Every other row: all of the second of two classes, and some of each of three.
        let mut x = features();
        for i in (1..30).step_by(2) {
            x.row_mut(i).mapv_inplace(|v| 1e5 * v);
        }
        assert!(!outsized(x.view()).is_empty());
        assert_eq!(parts(&learn(&x, 2)).len(), 1);
        assert_eq!(parts(&learn(&x, 3)).len(), 3);
        // Two classes have no discriminants, and the features stand once all the same.
        let two = learn(&features(), 2);
        assert_eq!(parts(&two).len(), 3);
        assert_eq!(two.output_dim(), 6 + 8);
    }
}
