//! Choosing between models by the labels at hand, never by those that are hidden.

use likewise::eval::ranking::{self, Measure, Protocol};
use likewise::{Embedding, Labels, Monitor};
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::recipe::Keep;
use crate::study::several::Answers;

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
    /// Queries with two or more right answers to find. With one alone, the score of a query is
    /// whether the nearest item of a class is the only one shown of it: luck of the draw.
    #[serde(default)]
    pub(crate) informed: usize,
}

/// An epoch, and how it was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) epoch: usize,
    pub(crate) why: Why,
}

/// Why an epoch was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// Validation put it above the start, or above the others where the start is no choice.
    Validated,
    /// Validation found no epoch clearly better than the start, which was kept.
    KeptStart,
    /// Validation could not tell: all epochs ran.
    NoEvidence(NoEvidence),
    /// The recipe keeps the last epoch, whatever validation says.
    Last,
    /// Validation put the features as they are above all that was learned from them.
    RawFeatures,
}

/// Why validation could not tell epochs apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoEvidence {
    /// There was none: no validation part, and labels too few for folds.
    NoValidation,
    /// Too few queries had two or more right answers.
    FewQueries {
        /// So many had them.
        queries: usize,
    },
    /// The start already answers every query, and no epoch is clearly worse.
    Saturated,
    /// All epochs score the same.
    NoSpread,
}

impl std::fmt::Display for NoEvidence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoValidation => f.write_str("there were no labels to validate with"),
            Self::FewQueries { queries } => write!(
                f,
                "only {queries} labeled items had two or more others of their class to find; \
                 {ENOUGH} are needed"
            ),
            Self::Saturated => f.write_str("the start already finds everything"),
            Self::NoSpread => f.write_str("all epochs score the same"),
        }
    }
}

/// Queries with two or more right answers from which on validation is believed.
///
/// Measured on 20 simulated sets of 3 to 20 classes, of one cloud or several, with 1 to 10 labels
/// a class, learned with and without pseudo-labels. With 0 to 30 such queries the epoch by
/// validation was in the mean up to 4 of 100 in MAP@R below the last one, since it kept the
/// start, and never clearly above it; with 50 and more it was level with the last one, or kept
/// the start where that was right.
pub(crate) const ENOUGH: usize = 50;

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
    pub(crate) fn score(&self, embedding: &Embedding) -> Result<Option<Score>> {
        let k = self.k();
        if k == 0 {
            return Ok(None);
        }
        let protocol = Protocol::of(embedding, &self.labels, &self.queries, &self.gallery);
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
                informed: (answered.iter())
                    .filter(|&&q| ranking.relevant[q] > 1)
                    .count(),
            })
        };
        Ok(score())
    }

    /// P@k of each query that has something to find, in their order; `None` without any.
    pub(crate) fn precisions(&self, embedding: &Embedding) -> Result<Option<Vec<f64>>> {
        let k = self.k();
        if k == 0 {
            return Ok(None);
        }
        let (queries, gallery) = (&self.queries, &self.gallery);
        let protocol = Protocol::of(embedding, &self.labels, queries, gallery);
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

    /// The largest k, at most 8, for which every class with two or more gallery items (a set of tags
    /// by its most common one) can fill the first k places; 0 if no query has anything to find.
    fn k(&self) -> usize {
        let answers = Answers::of(&self.labels, &self.gallery);
        let own = usize::from(self.queries == self.gallery);
        let asking = self
            .queries
            .iter()
            .filter_map(|&row| self.labels[row].class());
        asking
            .map(|class| answers.most(class, own))
            .filter(|&most| most > 0)
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
            informed: scores.iter().map(|s| s.informed).sum(),
        })
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
}

/// By what the epoch to keep is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) keep: Keep,
    /// Epochs on the known labels alone before pseudo-labels join. None of them is kept: it would
    /// be another method's model under this one's name.
    pub(crate) warm_up: usize,
}

impl Rule {
    /// The epochs of a curve that may be kept: the start and those after the warm-up. Where
    /// learning ended within the warm-up, there are no others than its own.
    pub(super) fn open(self, epochs: usize) -> Vec<usize> {
        let first = if epochs > self.warm_up + 1 {
            self.warm_up + 1
        } else {
            1
        };
        (0..epochs.min(1)).chain(first..epochs).collect()
    }

    /// The epoch to keep. By [`Keep::NearBest`]: the last one that is within one standard error
    /// of the best; the start (0) where the best is not above it by more than one standard
    /// error.
    ///
    /// Few labels make a noisy curve. Its single highest point would be an accident; the
    /// last point that is not clearly worse is where learning has gone furthest unharmed.
    ///
    /// Judged by P@k. Few validation classes are told apart by any model, and then P@k is
    /// near 1 for all epochs: where it cannot tell the best from the start, MAP@R decides.
    ///
    /// A curve that cannot tell epochs apart is no evidence for any of them, the start
    /// included: all epochs run then, as they do with one label a class.
    /// So many informed queries are `enough`: [`ENOUGH`], or fewer where some labels are kept back.
    pub(crate) fn choose(self, curve: &[Option<Score>], enough: usize) -> Choice {
        let open = self.open(curve.len());
        let of_open: Vec<Option<Score>> = open.iter().map(|&epoch| curve[epoch]).collect();
        let choice = self.among(&of_open, enough);
        Choice {
            epoch: open.get(choice.epoch).copied().unwrap_or(0),
            ..choice
        }
    }

    /// [`choose`](Self::choose) among all epochs.
    fn among(self, curve: &[Option<Score>], enough: usize) -> Choice {
        let last = curve.len().saturating_sub(1);
        let all = |why| Choice { epoch: last, why };
        if self.keep == Keep::Last {
            return all(Why::Last);
        }
        let Some(curve) = curve.iter().copied().collect::<Option<Vec<Score>>>() else {
            return all(Why::NoEvidence(NoEvidence::NoValidation));
        };
        if let Some(nothing) = no_evidence(&curve, enough) {
            return all(Why::NoEvidence(nothing));
        }
        let of = |measure: fn(&Score) -> Mean| curve.iter().map(measure).collect::<Vec<Mean>>();
        let (precision, map) = (of(|s| s.precision), of(|s| s.map_at_r));
        if self.keep == Keep::Best {
            let why = Why::Validated;
            return highest(&precision, &map).map_or(all(why), |epoch| Choice { epoch, why });
        }
        match last_near_best(&precision).or_else(|| last_near_best(&map)) {
            Some(epoch) => Choice {
                epoch,
                why: Why::Validated,
            },
            None => Choice {
                epoch: 0,
                why: Why::KeptStart,
            },
        }
    }
}

/// Why a whole curve says nothing, if it does not.
fn no_evidence(curve: &[Score], enough: usize) -> Option<NoEvidence> {
    let Some(start) = curve.first() else {
        return Some(NoEvidence::NoValidation);
    };
    let queries = curve.iter().map(|s| s.informed).min().unwrap_or_default();
    if queries < enough {
        return Some(NoEvidence::FewQueries { queries });
    }
    let means = |s: &Score| [s.precision, s.map_at_r];
    let same = |a: f64, b: f64| (a - b).abs() < 1e-9;
    let everywhere = |holds: &dyn Fn(Mean, Mean) -> bool| {
        curve.iter().all(|score| {
            let pairs = means(score).into_iter().zip(means(start));
            pairs.into_iter().all(|(now, before)| holds(now, before))
        })
    };
    let perfect = means(start).iter().all(|mean| same(mean.value, 1.0));
    if perfect && everywhere(&|now, before| now.value + now.error >= before.value - 1e-9) {
        return Some(NoEvidence::Saturated);
    }
    // The start alone is a curve of its own: there is nothing to choose.
    let flat = curve.len() > 1 && everywhere(&|now, before| same(now.value, before.value));
    flat.then_some(NoEvidence::NoSpread)
}

/// The first epoch after the start of the highest precision; of those that share it, the one
/// of the highest MAP@R. `None` where there is none but the start.
fn highest(precision: &[Mean], map: &[Mean]) -> Option<usize> {
    let at = |epoch: usize| (precision[epoch].value, map[epoch].value);
    (1..precision.len()).reduce(|best, epoch| if at(epoch) > at(best) { epoch } else { best })
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

    fn curve_of(precision: &[f64], error: f64, map: &[f64], informed: usize) -> Curve {
        let mean = |value| Mean { value, error };
        let score = |(&p, &m): (&f64, &f64)| Score {
            precision: mean(p),
            map_at_r: mean(m),
            queries: 80,
            informed,
        };
        precision
            .iter()
            .zip(map)
            .map(|pm| Some(score(pm)))
            .collect()
    }

    type Curve = Vec<Option<Score>>;

    fn curve(precision: &[f64], error: f64, map: &[f64]) -> Curve {
        curve_of(precision, error, map, 80)
    }

    fn rule(keep: Keep) -> Rule {
        Rule { keep, warm_up: 0 }
    }

    fn chosen(curve: &Curve) -> (usize, Why) {
        let choice = rule(Keep::NearBest).choose(curve, ENOUGH);
        (choice.epoch, choice.why)
    }

    const FLAT: [f64; 5] = [0.5; 5];

    #[test]
    fn the_last_epoch_near_the_best_is_kept() {
        let rising = [0.5, 0.7, 0.8, 0.79, 0.6];
        assert_eq!(chosen(&curve(&rising, 0.02, &FLAT)), (3, Why::Validated));
        assert_eq!(chosen(&curve(&rising, 0.0, &FLAT)), (2, Why::Validated));
    }

    #[test]
    fn learning_that_does_not_clearly_beat_the_start_is_dropped() {
        let kept = (0, Why::KeptStart);
        assert_eq!(chosen(&curve(&[0.8, 0.7, 0.79], 0.1, &FLAT)), kept);
        assert_eq!(chosen(&curve(&[0.8, 0.85, 0.8], 0.1, &FLAT)), kept);
    }

    #[test]
    fn map_at_r_decides_where_precision_cannot() {
        let perfect = [1.0; 5];
        let rising = [0.5, 0.6, 0.7, 0.8, 0.6];
        assert_eq!(chosen(&curve(&perfect, 0.01, &rising)).0, 3);
        let falling = [0.5, 0.4, 0.3, 0.2, 0.1];
        assert_eq!(
            chosen(&curve(&perfect, 0.01, &falling)),
            (0, Why::KeptStart)
        );
    }

    #[test]
    fn what_cannot_tell_epochs_apart_lets_all_of_them_run() {
        let all = |why| (2, Why::NoEvidence(why));
        assert_eq!(chosen(&vec![None; 3]), all(NoEvidence::NoValidation));
        assert_eq!(
            chosen(&curve(&[0.8, 0.8, 0.8], 0.0, &FLAT)),
            all(NoEvidence::NoSpread)
        );
        let perfect = [1.0; 3];
        assert_eq!(
            chosen(&curve(&perfect, 0.0, &perfect)),
            all(NoEvidence::Saturated)
        );
        assert_eq!(
            chosen(&curve(&[1.0, 0.99, 1.0], 0.02, &perfect)),
            all(NoEvidence::Saturated)
        );
        // Clearly worse than a perfect start is evidence.
        assert_eq!(
            chosen(&curve(&[1.0, 0.8, 0.7], 0.02, &perfect)),
            (0, Why::KeptStart)
        );
        // As with two labels a class: one item to find, luck of the draw.
        let lucky = curve_of(&[0.8, 0.5, 0.6], 0.05, &[0.8, 0.5, 0.6], 0);
        let few = all(NoEvidence::FewQueries { queries: 0 });
        assert_eq!(chosen(&lucky), few);
        let few = |queries| curve_of(&[0.8, 0.5, 0.6], 0.05, &FLAT, queries);
        assert_eq!(
            chosen(&few(ENOUGH - 1)),
            all(NoEvidence::FewQueries {
                queries: ENOUGH - 1
            })
        );
        assert_eq!(chosen(&few(ENOUGH)), (0, Why::KeptStart));
        assert_eq!(chosen(&Vec::new()).0, 0);
    }

    #[test]
    fn the_best_epoch_is_never_the_start_and_the_last_is_the_last() {
        let choose = |curve: &Curve, keep| rule(keep).choose(curve, ENOUGH).epoch;
        let falling = curve(&[0.9, 0.5, 0.7, 0.7, 0.6], 0.01, &FLAT);
        assert_eq!(choose(&falling, Keep::NearBest), 0);
        assert_eq!(choose(&falling, Keep::Best), 2);
        assert_eq!(choose(&falling, Keep::Last), 4);
        let tie = curve(&[0.9, 0.7, 0.7], 0.01, &[0.5, 0.3, 0.4]);
        assert_eq!(choose(&tie, Keep::Best), 2);
        let start = curve(&[0.9], 0.01, &FLAT);
        assert_eq!(choose(&start, Keep::Best), 0);
    }

    #[test]
    fn an_epoch_on_labels_alone_is_never_kept() {
        // The best of all is the second, and pseudo-labels join with the third.
        let falling = curve(&[0.5, 0.8, 0.9, 0.6, 0.7], 0.01, &FLAT);
        let kept = |keep, warm_up| Rule { keep, warm_up }.choose(&falling, ENOUGH).epoch;
        assert_eq!(kept(Keep::Best, 0), 2);
        assert_eq!(kept(Keep::Best, 2), 4);
        assert_eq!(kept(Keep::NearBest, 2), 4);
        // Where learning ended before any joined, there is nothing else.
        assert_eq!(kept(Keep::Best, 9), 2);
        // The start stays a choice of the careful rule.
        let worse = curve(&[0.5, 0.8, 0.9, 0.4, 0.4], 0.01, &FLAT);
        let kept = |keep| Rule { keep, warm_up: 2 }.choose(&worse, ENOUGH);
        assert_eq!(
            kept(Keep::NearBest),
            Choice {
                epoch: 0,
                why: Why::KeptStart
            }
        );
        assert_eq!(kept(Keep::Best).epoch, 3);
    }

    #[test]
    fn queries_with_one_right_answer_are_not_counted_as_informed() {
        // Two of a, three of b, each asking all others.
        let labels = Labels::from_integers([0, 0, 1, 1, 1]);
        let x = ndarray::Array2::from_shape_fn((5, 2), |(i, c)| {
            f32::from(u8::from(usize::from(i > 1) == c))
        });
        let score = Validation::within((0..5).collect(), &labels).score(&x.into());
        let score = score.unwrap().unwrap();
        assert_eq!((score.queries, score.informed), (5, 3));
        let pooled = Score::pool(&[score, score]).unwrap();
        assert_eq!(pooled.informed, 6);
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
