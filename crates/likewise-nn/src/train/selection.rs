//! Choosing between models by the labels at hand, never by those that are hidden.

use likewise::eval::ranking::{self, Measure, Protocol};
use likewise::{Labels, Monitor};
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::Result;

/// A mean over queries and its standard error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Mean {
    pub(crate) value: f64,
    pub(crate) error: f64,
}

/// How well a model does on the validation queries.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Score {
    /// P@k: what an epoch is chosen by.
    pub(crate) precision: Mean,
    /// MAP@R: decides where P@k cannot tell epochs apart.
    pub(crate) map_at_r: Mean,
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
        let answered: Vec<usize> = (0..ranking.queries.len())
            .filter(|&q| ranking.relevant[q] > 0)
            .collect();
        let mean = |measure| {
            let all = ranking.values(measure)?;
            Mean::of(&answered.iter().map(|&q| all[q]).collect::<Vec<_>>())
        };
        let score = || {
            Some(Score {
                precision: mean(Measure::Precision(k))?,
                map_at_r: mean(Measure::MapAtR)?,
                queries: answered.len(),
            })
        };
        Ok(score())
    }

    /// P@k of each query that has something to find, in their order; `None` without any.
    pub(crate) fn precisions(&self, embeddings: &Array2<f32>) -> Result<Option<Vec<f64>>> {
        let k = self.k();
        if k == 0 {
            return Ok(None);
        }
        let (queries, gallery) = (&self.queries, &self.gallery);
        let protocol = Protocol::new(embeddings.view(), &self.labels, queries, gallery);
        let ranking = ranking::evaluate(&protocol, &[k], &Monitor::silent())?;
        let answered = (0..ranking.queries.len()).filter(|&q| ranking.relevant[q] > 0);
        Ok(ranking
            .values(Measure::Precision(k))
            .map(|all| answered.map(|q| all[q]).collect()))
    }

    /// The rows that ask or are searched, ascending, and the validation among them alone.
    pub(crate) fn compact(&self) -> (Vec<usize>, Self) {
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
        (rows, part)
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

impl Mean {
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        if values.is_empty() {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
        Some(Self {
            value: mean,
            error: (variance / n).sqrt(),
        })
    }

    /// The mean over several disjoint sets of queries, of which these are the sizes.
    fn pool(parts: &[(Self, usize)]) -> Self {
        let n = parts.iter().map(|(_, n)| *n as f64).sum::<f64>();
        let sum = |f: &dyn Fn(f64, &Self) -> f64| {
            let terms = parts.iter().map(|(mean, n)| f(*n as f64, mean));
            terms.sum::<f64>() / n
        };
        let value = sum(&|n, mean| n * mean.value);
        let square = sum(&|n, mean| n * (n * mean.error.powi(2) + mean.value.powi(2)));
        Self {
            value,
            error: ((square - value * value).max(0.0) / n).sqrt(),
        }
    }
}

impl Score {
    /// Joins the scores of disjoint sets of queries (the folds of a cross-validation).
    pub(crate) fn pool(scores: &[Self]) -> Option<Self> {
        if scores.is_empty() {
            return None;
        }
        let pool = |of: fn(&Self) -> Mean| {
            let parts: Vec<(Mean, usize)> = scores.iter().map(|s| (of(s), s.queries)).collect();
            Mean::pool(&parts)
        };
        Some(Self {
            precision: pool(|s| s.precision),
            map_at_r: pool(|s| s.map_at_r),
            queries: scores.iter().map(|s| s.queries).sum(),
        })
    }

    /// Whether a curve is evidence at all.
    pub(crate) fn can_tell(curve: &[Option<Self>]) -> bool {
        curve.iter().flatten().all(|score| score.queries >= 30)
    }

    /// Whether this is above `other` by more than the standard errors of both, in either
    /// measure, and not below it in the other.
    pub(crate) fn clearly_above(&self, other: &Self) -> bool {
        let above = |a: Mean, b: Mean| a.value - b.value > a.error.hypot(b.error);
        let parts = [
            (self.precision, other.precision),
            (self.map_at_r, other.map_at_r),
        ];
        parts.iter().any(|&(a, b)| above(a, b)) && !parts.iter().any(|&(a, b)| above(b, a))
    }

    /// The epoch to keep: the last one that is within one standard error of the best; the
    /// start (0) where the best is not above it by more than one standard error.
    ///
    /// Few labels make a noisy curve. Its single highest point would be an accident; the
    /// last point that is not clearly worse is where learning has gone furthest unharmed.
    ///
    /// Judged by P@k. Few validation classes are told apart by any model, and then P@k is
    /// near 1 for all epochs: where it cannot tell the best from the start, MAP@R decides.
    pub(crate) fn choose(curve: &[Option<Self>]) -> usize {
        let of = |measure: fn(&Self) -> Mean| -> Option<Vec<Mean>> {
            curve.iter().map(|s| s.as_ref().map(measure)).collect()
        };
        let (Some(precision), Some(map)) = (of(|s| s.precision), of(|s| s.map_at_r)) else {
            // Nothing to judge by: all epochs run.
            return curve.len().saturating_sub(1);
        };
        last_near_best(&precision)
            .or_else(|| last_near_best(&map))
            .unwrap_or(0)
    }
}

/// The last point within one standard error of the best, if the best is above the first
/// by more than that.
fn last_near_best(curve: &[Mean]) -> Option<usize> {
    let start = curve.first()?;
    let best = curve.iter().fold(start, |best, point| {
        if point.value > best.value {
            point
        } else {
            best
        }
    });
    if best.value <= start.value + best.error {
        return None;
    }
    let bar = (best.value - best.error).max(start.value);
    curve.iter().rposition(|point| point.value >= bar)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(precision: &[f64], error: f64, map: &[f64]) -> Vec<Option<Score>> {
        let mean = |value| Mean { value, error };
        let score = |(&p, &m): (&f64, &f64)| Score {
            precision: mean(p),
            map_at_r: mean(m),
            queries: 50,
        };
        precision
            .iter()
            .zip(map)
            .map(|pm| Some(score(pm)))
            .collect()
    }

    const FLAT: [f64; 5] = [0.5; 5];

    #[test]
    fn the_last_epoch_near_the_best_is_kept() {
        let rising = [0.5, 0.7, 0.8, 0.79, 0.6];
        assert_eq!(Score::choose(&curve(&rising, 0.02, &FLAT)), 3);
        assert_eq!(Score::choose(&curve(&rising, 0.0, &FLAT)), 2);
    }

    #[test]
    fn learning_that_does_not_clearly_beat_the_start_is_dropped() {
        assert_eq!(Score::choose(&curve(&[0.8, 0.7, 0.79], 0.1, &FLAT)), 0);
        assert_eq!(Score::choose(&curve(&[0.8, 0.85, 0.8], 0.1, &FLAT)), 0);
        assert_eq!(Score::choose(&curve(&[0.8, 0.8, 0.8], 0.0, &FLAT)), 0);
    }

    #[test]
    fn map_at_r_decides_where_precision_cannot() {
        let perfect = [1.0; 5];
        let rising = [0.5, 0.6, 0.7, 0.8, 0.6];
        assert_eq!(Score::choose(&curve(&perfect, 0.01, &rising)), 3);
        assert_eq!(
            Score::choose(&curve(&perfect, 0.01, &[0.5, 0.4, 0.3, 0.2, 0.1])),
            0
        );
    }

    #[test]
    fn without_validation_all_epochs_run() {
        assert_eq!(Score::choose(&[None, None, None]), 2);
        assert_eq!(Score::choose(&[]), 0);
    }

    #[test]
    fn pooling_equals_one_mean_over_all_queries() {
        let (a, b) = ([0.0, 0.5, 1.0], [0.25, 0.75]);
        let all: Vec<f64> = a.iter().chain(&b).copied().collect();
        let pooled = Mean::pool(&[(Mean::of(&a).unwrap(), 3), (Mean::of(&b).unwrap(), 2)]);
        let whole = Mean::of(&all).unwrap();
        assert!((pooled.value - whole.value).abs() < 1e-12);
        assert!((pooled.error - whole.error).abs() < 1e-12);
    }
}
