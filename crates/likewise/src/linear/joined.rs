//! Class probabilities of several kinds, side by side.
//!
//! ```text
//! z_i = [ logistic, logistic on scaled columns, lda on scaled columns ] / sqrt(3)     rows of length 1 each
//! ```
//!
//! so that the cosine is the mean of theirs: [`logistic`](super::logistic) on the features as the start
//! reads them, and, of the features as they are, each column divided by its standard deviation, the same with
//! strength 1000 and [`lda`](super::lda). Where the start itself has columns so scaled, the first two are one.
//! With fewer than five known labels a class there are no discriminants.
//!
//! **Use it** where the classes that are searched are the labeled ones: which of the three is best differs from data to
//! data by more than a handful of labels can tell, and their mean is near the best of them, or above it. **Not** for
//! classes without labels; and not where rows have to be short, since they are as long as those of all parts.
//!
//! Cost: that of its parts, and O(n d min(n, d)) for the directions of the scaled columns.
//!
//! Source: ours; the mean of several classifiers is usual.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::whitening::Spectrum;
use super::{Lda, Logistic};
use crate::learn::{Evidence, Fit, Need, Reads, Size, Start, Targets};
use crate::matrix::{Reading, select_rows};
use crate::model::{Joined as Parts, Model};
use crate::{Error, Monitor, Result};

/// Strength of the regression on scaled columns, as of the recipe `scaled-probabilities`.
const STRENGTH: f64 = 1000.0;
/// Known labels a class from which on discriminants are one of the parts: with one to three they lowered R@1 on four of
/// five sets, by up to .09, with five they raised it on five of eight, and MAP@R by up to .09.
const ENOUGH: f64 = 5.0;

/// Parameters of joined class probabilities; see [`joined`](self).
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

    /// Share of the probabilities of each regression in its cosine, from 0 (the centred features) to 1; the
    /// discriminants keep theirs.
    #[must_use]
    pub fn share(self, share: f64) -> Self {
        Self { share }
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
        Reads::Features
    }

    fn operations(&self, of: &Size) -> f64 {
        2.0 * Logistic::default().operations(of) + Lda::default().operations(of)
    }

    fn validate(&self) -> Result<()> {
        if (0.0..=1.0).contains(&self.share) {
            return Ok(());
        }
        let rule = "must be from 0 to 1";
        Err(Error::parameter("joined.share", self.share, rule))
    }

    fn fit(&self, evidence: &Evidence, seed: u64, monitor: &Monitor) -> Result<Model> {
        let start = evidence.start;
        let scaled = Start {
            reading: Reading {
                unit: false,
                ..start.reading
            },
            standardized: Some(true),
            ..start.clone()
        };
        let of_scaled = Evidence {
            start: &scaled,
            ..*evidence
        };
        let regression = Logistic::default().share(self.share);
        let sharper = regression.strength(STRENGTH);
        let mut parts = vec![sharper.fit(&of_scaled, seed, monitor)?];
        if start.standardized != Some(true) {
            parts.insert(0, regression.fit(evidence, seed, monitor)?);
        }
        if labels_per_class(evidence.targets) >= ENOUGH {
            let along = along_scaled(evidence, &scaled)?;
            let rotated = OnceLock::new();
            let of_scaled = Evidence {
                start: &along,
                rotated: &rotated,
                ..*evidence
            };
            parts.push(Lda::default().fit(&of_scaled, seed, monitor)?);
        }
        Ok(Model::Joined(Parts::new(parts)?))
    }
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

/// The same start along the directions of scaled columns, all of the mean taken off.
fn along_scaled(evidence: &Evidence, scaled: &Start) -> Result<Start> {
    let rows = select_rows(evidence.features, evidence.items);
    let (spectrum, _) = Spectrum::fit_sound(scaled.reading.rows(rows).view(), true)?;
    let directions = scaled.rotation.matrix.ncols();
    Ok(Start {
        rotation: spectrum.truncated(f64::INFINITY, directions)?,
        ..scaled.clone()
    })
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Axis, s};

    use super::*;
    use crate::linear::Affine;
    use crate::matrix::l2_normalize;

    fn features() -> Array2<f32> {
        Array2::from_shape_fn((30, 4), |(i, j)| {
            let class = f32::from(u8::from(i % 3 == j));
            (1.0 + j as f32) * (2.0 * class + ((3 * i + j * j + i * j) as f32).sin())
        })
    }

    /// What it makes of thirty items, of which the first ones are labeled.
    fn fitted(learner: &Joined, start: &Start, labels: usize) -> Fitted {
        let x = features();
        let targets = Targets {
            class: (0..30).map(|i| i % 3).collect(),
            weight: vec![1.0; 30],
            labeled: (0..30).map(|i| i < labels).collect(),
            passes: 0,
            triplets: None,
            since: 0,
        };
        let (rows, rotated) = (l2_normalize(x.clone()), OnceLock::new());
        let items: Vec<usize> = (0..30).collect();
        let evidence = Evidence {
            features: x.view(),
            views: &[],
            images: None,
            items: &items,
            start,
            rows: rows.view(),
            rotated: &rotated,
            targets: &targets,
            groups: &[0, 1, 2],
            tags: None,
            pairs: None,
            graph: None,
            before: None,
        };
        let silent = Monitor::silent();
        let model = learner.fit(&evidence, 1, &silent).unwrap();
        let Model::Joined(joined) = &model else {
            panic!("{model:?}")
        };
        let own = Logistic::default().share(learner.share);
        let own = own.fit(&evidence, 1, &silent).unwrap();
        (model.clone(), joined.parts().to_vec(), own)
    }

    /// The model, its parts, and the regression on the start alone.
    type Fitted = (Model, Vec<Model>, Model);

    fn start(standardized: Option<bool>) -> Start {
        let unit = Reading {
            unit: standardized.is_none(),
            ..Reading::default()
        };
        let map = Affine {
            mean: ndarray::Array1::zeros(4),
            matrix: Array2::eye(4),
        };
        Start {
            reading: unit,
            standardized,
            whitening: map.clone(),
            rotation: map,
            as_given: false,
        }
    }

    #[test]
    fn its_cosine_is_the_mean_of_those_of_its_parts() {
        let (model, parts, own) = fitted(&Joined::new(), &start(None), 15);
        assert_eq!(parts.len(), 3);
        assert_eq!(parts[0], own);
        let x = features();
        let rows = model.embed(x.view()).unwrap();
        let cosines = rows.dot(&rows.t());
        let mut mean = Array2::<f32>::zeros((30, 30));
        for part in &parts {
            let rows = part.embed(x.view()).unwrap();
            mean += &(rows.dot(&rows.t()) / 3.0);
        }
        let away = (&cosines - &mean).mapv(f32::abs);
        assert!(away.iter().all(|&a| a < 1e-5), "{away}");
    }

    #[test]
    fn scaled_parts_know_no_unit_of_a_column_and_roots_stay_roots() {
        let kinds = |parts: &[Model]| -> Vec<Reading> {
            let each = parts.iter().map(|part| match part {
                Model::Probabilities(of) => of.reading,
                other => panic!("{other:?}"),
            });
            each.collect()
        };
        let mut rooted = start(None);
        rooted.reading.power = 0.5;
        let (_, parts, _) = fitted(&Joined::new(), &rooted, 15);
        let read = kinds(&parts);
        assert!(read.iter().all(|reading| reading.power == 0.5));
        assert_eq!(
            read.iter().map(|reading| reading.unit).collect::<Vec<_>>(),
            [true, false, false]
        );
        // One over the standard deviations.
        let Model::Probabilities(scaled) = &parts[1] else {
            unreachable!("seen above")
        };
        let x = features().mapv(|v| f64::from(v.signum() * v.abs().sqrt()));
        let wanted = x.std_axis(Axis(0), 0.0).mapv(f64::recip);
        let away = (&scaled.scale - &wanted).mapv(f64::abs);
        assert!(away.iter().all(|&a| a < 1e-4), "{away}");
    }

    #[test]
    fn discriminants_wait_for_labels_and_a_scaled_start_has_one_regression() {
        let count = |learner: &Joined, standardized, labels| {
            fitted(learner, &start(standardized), labels).1.len()
        };
        let learner = Joined::new();
        assert_eq!(count(&learner, None, 14), 2);
        assert_eq!(count(&learner, None, 15), 3);
        assert_eq!(count(&learner, Some(true), 14), 1);
        assert_eq!(count(&learner, Some(true), 15), 2);
        // The share is that of the regressions.
        let (_, parts, _) = fitted(&learner.share(1.0), &start(None), 15);
        let rows: Vec<usize> = parts.iter().map(Model::output_dim).collect();
        assert_eq!(rows, [3, 3, 3 + 2 + 4]);
        let x = features();
        assert!(
            parts[0]
                .embed(x.slice(s![..2, ..]))
                .unwrap()
                .iter()
                .all(|&v| v >= 0.0)
        );
        assert!(
            learner
                .share(1.5)
                .validate()
                .unwrap_err()
                .to_string()
                .contains("joined.share")
        );
    }
}
