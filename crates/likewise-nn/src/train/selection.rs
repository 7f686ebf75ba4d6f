//! Choosing between models by the labels at hand, never by those that are hidden.

use likewise::eval::ranking::{self, Measure, Protocol};
use likewise::{Labels, Monitor};
use ndarray::Array2;

use crate::Result;

/// A validation score: a mean over queries and its standard error.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Score {
    pub(crate) value: f64,
    pub(crate) error: f64,
    pub(crate) queries: usize,
}

/// Items whose labels are known and that judge a model: P@8, as in the protocol of
/// Zhuang & Moulin (CVPR 2023, 4.1), or P@k with the largest k that the labels fill.
pub(crate) struct Validation {
    /// Rows of the matrix that is scored.
    pub(crate) queries: Vec<usize>,
    pub(crate) gallery: Vec<usize>,
    pub(crate) labels: Labels,
}

impl Validation {
    /// Every known item of `rows` asks all others.
    pub(crate) fn within(rows: Vec<usize>, labels: &Labels) -> Self {
        Self {
            queries: rows.clone(),
            gallery: rows,
            labels: labels.clone(),
        }
    }

    /// P@k of embeddings (all rows, in the order of `labels`).
    pub(crate) fn score(&self, embeddings: &Array2<f32>) -> Result<Option<Score>> {
        let k = self.k();
        if k == 0 {
            return Ok(None);
        }
        let protocol = Protocol::new(
            embeddings.view(),
            &self.labels,
            &self.queries,
            &self.gallery,
        );
        let ranking = ranking::evaluate(&protocol, &[k], &Monitor::silent())?;
        let values: Vec<f64> = match ranking.values(Measure::Precision(k)) {
            Some(all) => (0..all.len())
                .filter(|&q| ranking.relevant[q] > 0)
                .map(|q| all[q])
                .collect(),
            None => vec![],
        };
        Ok(Score::of(&values))
    }

    /// As [`score`](Self::score), embedding only the rows that ask or are searched.
    pub(crate) fn score_rows(
        &self,
        start: &Array2<f32>,
        embed: impl Fn(&Array2<f32>) -> Array2<f32>,
    ) -> Result<Option<Score>> {
        let mut rows: Vec<usize> = self.queries.iter().chain(&self.gallery).copied().collect();
        rows.sort_unstable();
        rows.dedup();
        let place = |items: &[usize]| -> Vec<usize> {
            let place = |item: &usize| rows.binary_search(item).ok();
            items.iter().filter_map(place).collect()
        };
        let part = Self {
            queries: place(&self.queries),
            gallery: place(&self.gallery),
            labels: self.labels.select(&rows),
        };
        part.score(&embed(&start.select(ndarray::Axis(0), &rows)))
    }

    /// The largest k, at most 8, for which every class with two or more gallery items can
    /// fill the first k places; 0 if no query has anything to find.
    fn k(&self) -> usize {
        let mut in_gallery = vec![0_usize; self.labels.n_classes()];
        let mut asks = vec![0_usize; self.labels.n_classes()];
        for &row in &self.gallery {
            if let Some(class) = self.labels[row].class() {
                in_gallery[class as usize] += 1;
            }
        }
        let own = usize::from(self.queries == self.gallery);
        for &row in &self.queries {
            if let Some(class) = self.labels[row].class() {
                asks[class as usize] += 1;
            }
        }
        (0..asks.len())
            .filter(|&c| asks[c] > 0 && in_gallery[c] > own)
            .map(|c| in_gallery[c] - own)
            .min()
            .unwrap_or(0)
            .min(8)
    }
}

impl Score {
    fn of(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        if values.is_empty() {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
        Some(Self {
            value: mean,
            error: (variance / n).sqrt(),
            queries: values.len(),
        })
    }

    /// Joins the scores of disjoint sets of queries (the folds of a cross-validation).
    pub(crate) fn pool(scores: &[Self]) -> Option<Self> {
        let n: usize = scores.iter().map(|s| s.queries).sum();
        if n == 0 {
            return None;
        }
        let n = n as f64;
        let mean = |f: &dyn Fn(&Self) -> f64| {
            scores.iter().map(|s| f(s) * s.queries as f64).sum::<f64>() / n
        };
        let value = mean(&|s| s.value);
        let square = mean(&|s| s.error.powi(2) * s.queries as f64 + s.value.powi(2));
        Some(Self {
            value,
            error: ((square - value * value).max(0.0) / n).sqrt(),
            queries: n as usize,
        })
    }

    /// The epoch to keep: the last one that is within one standard error of the best and
    /// not below the start; the start itself (0) where none is above it.
    ///
    /// Few labels make a noisy curve. Its single highest point would be an accident; the
    /// last point that is not clearly worse is where learning has gone furthest unharmed.
    pub(crate) fn choose(curve: &[Option<Self>]) -> usize {
        let Some(Some(start)) = curve.first() else {
            return curve.len().saturating_sub(1);
        };
        let best = curve
            .iter()
            .flatten()
            .fold(start, |best, s| if s.value > best.value { s } else { best });
        if best.value < start.value + f64::EPSILON && best.value < 1.0 {
            return 0;
        }
        let bar = (best.value - best.error).max(start.value);
        curve
            .iter()
            .rposition(|s| s.is_some_and(|s| s.value >= bar))
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(values: &[f64], error: f64) -> Vec<Option<Score>> {
        let score = |&value| Score {
            value,
            error,
            queries: 50,
        };
        values.iter().map(|v| Some(score(v))).collect()
    }

    #[test]
    fn the_last_epoch_near_the_best_is_kept() {
        assert_eq!(Score::choose(&curve(&[0.5, 0.7, 0.8, 0.79, 0.6], 0.02)), 3);
        assert_eq!(Score::choose(&curve(&[0.5, 0.7, 0.8, 0.79, 0.6], 0.0)), 2);
    }

    #[test]
    fn learning_that_never_beats_the_start_is_dropped() {
        assert_eq!(Score::choose(&curve(&[0.8, 0.7, 0.79], 0.1)), 0);
        assert_eq!(Score::choose(&curve(&[0.8, 0.8, 0.8], 0.1)), 0);
    }

    #[test]
    fn a_perfect_start_does_not_forbid_learning() {
        assert_eq!(Score::choose(&curve(&[1.0, 1.0, 1.0, 0.9], 0.0)), 2);
    }

    #[test]
    fn without_validation_all_epochs_run() {
        assert_eq!(Score::choose(&[None, None, None]), 2);
    }

    #[test]
    fn pooling_equals_one_score_over_all_queries() {
        let (a, b) = ([0.0, 0.5, 1.0], [0.25, 0.75]);
        let all: Vec<f64> = a.iter().chain(&b).copied().collect();
        let pooled = Score::pool(&[Score::of(&a).unwrap(), Score::of(&b).unwrap()]).unwrap();
        let whole = Score::of(&all).unwrap();
        assert!((pooled.value - whole.value).abs() < 1e-12);
        assert!((pooled.error - whole.error).abs() < 1e-12);
    }
}
