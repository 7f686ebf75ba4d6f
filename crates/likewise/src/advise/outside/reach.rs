//! How little of what labels spread over a graph reaches an item.
//!
//! ```text
//! F = (I - a S)^-1 Y, a = .99        score(i) = - max over classes c of F(i, c) / (m_c sqrt(d_i))
//! ```
//!
//! `m_c` items of class `c` are labeled, and `d_i` is the degree of `i`.
//!
//! **Use it** where there is a graph already, and only a handful of labels: a new class is a part of the
//! graph where little arrives. **Not** on a graph in many pieces: labels do not reach a piece of their own
//! class either.
//!
//! Cost: one solve of [`Lgc`] for [`reach`], six for [`Reached::by_folds`].
//!
//! Source: the labels spread as in Zhou et al. 2003; reading their sum as a score of novelty is ours.

use super::calibrate::out_of_fold;
use crate::advise::prevalence::prevalence;
use crate::propagate::{Lgc, Propagate};
use crate::{Error, Graph, Labels, Monitor, Result};

/// Folds of the labeled items.
const FOLDS: usize = 5;

/// The score of every node: the larger, the less it belongs.
///
/// Fails on labels that do not fit the graph, and without a label.
pub fn reach(graph: &Graph, labels: &Labels, monitor: &Monitor) -> Result<Vec<f64>> {
    let arrived = arrive(graph, labels, monitor)?;
    Ok(arrived.into_iter().map(|(score, _)| score).collect())
}

/// The same, and of which class most arrives; of none where nothing does.
fn arrive(graph: &Graph, labels: &Labels, monitor: &Monitor) -> Result<Vec<(f64, Option<u32>)>> {
    let scores = Lgc::new().propagate(graph, labels, monitor)?.scores;
    let labeled: Vec<f64> = (labels.by_class().iter())
        .map(|members| members.len().max(1) as f64)
        .collect();
    let degrees = graph.degrees();
    let rows = scores.rows().into_iter().zip(degrees);
    Ok(rows
        .map(|(row, degree)| {
            let arrives = row.iter().zip(&labeled).map(|(f, labeled)| f / labeled);
            let mut most = (0.0, None);
            for (class, much) in (0..).zip(arrives) {
                if much > most.0 {
                    most = (much, Some(class));
                }
            }
            let score = if degree > 0.0 {
                -most.0 / degree.sqrt()
            } else {
                0.0
            };
            (score, most.1)
        })
        .collect())
}

/// Scores of items of known class that were left out in turn, and of all others.
#[derive(Debug, Clone)]
pub struct Reached {
    /// Of each known item, by what the others of a fold less spread.
    pub known: Vec<f64>,
    /// Which items these are.
    pub asked: Vec<usize>,
    /// Its class, and the class of which most arrives at it.
    pub taken_for: Vec<(u32, Option<u32>)>,
    /// The unlabeled items.
    pub open: Vec<usize>,
    /// Their scores, each by the labels of one fold, as many as the known items are scored by: of fewer labels the most
    /// that arrives of any class is more by chance.
    pub scores: Vec<f64>,
    /// The class of which most arrives at each of them.
    pub nearest: Vec<Option<u32>>,
    /// Labels of each class.
    pub labeled: Vec<usize>,
}

impl Reached {
    /// Labels that are left out in five folds, of classes with two labels or more; `None` where there
    /// are fewer such labels than folds, or no unlabeled item.
    ///
    /// Fails as [`reach`] does.
    pub fn by_folds(
        graph: &Graph,
        labels: &Labels,
        seed: u64,
        monitor: &Monitor,
    ) -> Result<Option<Self>> {
        let by_class = labels.by_class();
        let asked: Vec<(usize, u32)> = (0..labels.len())
            .filter_map(|i| Some((i, labels[i].class()?)))
            .filter(|&(_, class)| by_class[class as usize].len() > 1)
            .collect();
        let open: Vec<usize> = (0..labels.len())
            .filter(|&i| labels[i] == crate::Label::Unknown)
            .collect();
        if asked.len() < FOLDS || open.is_empty() {
            return Ok(None);
        }
        let all = arrive(graph, labels, monitor)?;
        let class: Vec<u32> = asked.iter().map(|&(_, class)| class).collect();
        let mut taken_for: Vec<(u32, Option<u32>)> = class.iter().map(|&c| (c, None)).collect();
        let mut scores: Vec<f64> = open.iter().map(|&i| all[i].0).collect();
        let mut fold = 0;
        let known = out_of_fold(&class, FOLDS, seed, |_, out| {
            let mut left_out: Vec<usize> = out.iter().map(|&place| asked[place].0).collect();
            left_out.sort_unstable();
            let seen = labels.masked(|i| left_out.binary_search(&i).is_err());
            let arrived = arrive(graph, &seen, monitor)?;
            for place in (fold..open.len()).step_by(FOLDS) {
                scores[place] = arrived[open[place]].0;
            }
            fold += 1;
            let of = |&place: &usize| {
                let (score, nearest) = arrived[asked[place].0];
                taken_for[place].1 = nearest;
                score
            };
            Ok(out.iter().map(of).collect())
        })?;
        Ok(Some(Self {
            known,
            asked: asked.into_iter().map(|(item, _)| item).collect(),
            taken_for,
            scores,
            nearest: open.iter().map(|&i| all[i].1).collect(),
            open,
            labeled: by_class.iter().map(Vec::len).collect(),
        }))
    }

    /// What each known item counts: the items of its class that it stands for.
    ///
    /// `sizes` are the items of each class in all, counted or estimated: labels may be as many of a rare
    /// class as of a common one, but unlabeled items are not. Fails where they do not fit the classes.
    pub fn weight(&self, sizes: &[f64]) -> Result<Vec<f64>> {
        if sizes.len() != self.labeled.len() {
            return Err(Error::data(format!(
                "{} sizes of {} classes; there must be one each",
                sizes.len(),
                self.labeled.len()
            )));
        }
        let each = |&(class, _): &(u32, Option<u32>)| {
            sizes[class as usize] / self.labeled[class as usize] as f64
        };
        Ok(self.taken_for.iter().map(each).collect())
    }

    /// What each known item counts: the unlabeled items of which most arrives of the same class as at it, shared by such
    /// known ones.
    ///
    /// It needs no sizes, so that it is right where these are estimated badly; but where items of a common class are
    /// taken for a rare one it counts them too little.
    pub fn weight_as_taken(&self) -> Vec<f64> {
        let mut counts = vec![(0.0, 0.0); self.labeled.len()];
        for class in self.nearest.iter().flatten() {
            counts[*class as usize].0 += 1.0;
        }
        for (_, class) in &self.taken_for {
            if let Some(class) = class {
                counts[*class as usize].1 += 1.0;
            }
        }
        let each = |&(_, class): &(u32, Option<u32>)| {
            let (open, known) = counts[class? as usize];
            Some(open / known)
        };
        let weights = self
            .taken_for
            .iter()
            .map(|taken| each(taken).unwrap_or(0.0));
        weights.collect()
    }

    /// Shares of the classes among the unlabeled items for which `counts` holds, by their place in
    /// [`open`](Self::open): of which class most arrives at them, corrected by what the known items are
    /// taken for ([`prevalence`]).
    pub fn shares(&self, counts: impl Fn(usize) -> bool) -> Result<Vec<f64>> {
        let mut predicted = vec![0.0; self.labeled.len()];
        let counted = (0..self.open.len()).filter(|&i| counts(i));
        for class in counted.filter_map(|i| self.nearest[i]) {
            predicted[class as usize] += 1.0;
        }
        prevalence(&self.taken_for, &predicted, &self.labeled)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{auroc, share::Inside};
    use super::*;
    use crate::graph::KnnGraph;
    use ndarray::Array2;
    use rand::RngExt;

    /// `sizes` items around as many corners, and their classes.
    fn clouds(sizes: &[usize], seed: u64) -> (Array2<f32>, Vec<i64>) {
        let class: Vec<i64> = (0_i64..)
            .zip(sizes)
            .flat_map(|(class, &n)| std::iter::repeat_n(class, n))
            .collect();
        let mut rng = crate::seed::stream(seed, "reach test");
        let x = Array2::from_shape_fn((class.len(), 10), |(i, j)| {
            f32::from(u8::from(class[i] as usize == j)) + rng.random_range(-0.6_f32..0.6)
        });
        (x, class)
    }

    fn asked(
        sizes: &[usize],
        labeled: usize,
        known: i64,
        seed: u64,
    ) -> ([Inside; 2], Option<f64>, f64) {
        let (x, class) = clouds(sizes, seed);
        let graph = KnnGraph::new()
            .k(10)
            .build(x.view(), &Monitor::silent())
            .unwrap();
        let all = Labels::from_integers(class.iter().copied());
        let drawn = all.draw(labeled, seed);
        let shown = Labels::from_integers((0..class.len()).map(|i| {
            if drawn[i].class().is_some() && class[i] < known {
                class[i]
            } else {
                -1
            }
        }));
        let sizes: Vec<f64> = sizes[..known as usize].iter().map(|&n| n as f64).collect();
        let reached = Reached::by_folds(&graph, &shown, 3, &Monitor::silent());
        let reached = reached.unwrap().unwrap();
        let weights = [reached.weight(&sizes).unwrap(), reached.weight_as_taken()];
        let inside =
            weights.map(|weight| Inside::of(&reached.known, &weight, &reached.scores).unwrap());
        let of = |known_class: bool| -> Vec<f64> {
            let scores = reached.open.iter().zip(&reached.scores);
            scores
                .filter(|(i, _)| (class[**i] < known) == known_class)
                .map(|(_, s)| *s)
                .collect()
        };
        let (within, outside) = (of(true), of(false));
        let share = within.len() as f64 / reached.open.len() as f64;
        (inside, auroc(&outside, &within), share)
    }

    #[test]
    fn classes_without_a_label_are_seen_and_counted() {
        for seed in 0..3 {
            let (inside, auroc, share) = asked(&[60; 5], 10, 3, seed);
            assert!(auroc.unwrap() > 0.9, "{auroc:?}");
            for inside in inside {
                assert!(inside.is_part(), "{inside:?}");
                assert!((inside.share - share).abs() < 0.15, "{inside:?} of {share}");
            }
        }
    }

    #[test]
    fn where_every_class_has_labels_all_items_are_inside_also_of_unequal_classes() {
        for seed in 0..3 {
            let (inside, ..) = asked(&[60; 5], 10, 5, seed);
            assert!(inside.iter().all(|i| !i.is_part()), "{inside:?}");
            let (inside, ..) = asked(&[200, 110, 60, 35, 20], 10, 5, seed);
            assert!(inside.iter().all(|i| !i.is_part()), "{inside:?}");
        }
    }

    #[test]
    fn too_few_labels_and_no_open_item_say_nothing() {
        let (x, class) = clouds(&[10, 10], 1);
        let graph = KnnGraph::new()
            .k(5)
            .build(x.view(), &Monitor::silent())
            .unwrap();
        let all = Labels::from_integers(class);
        let silent = Monitor::silent();
        let of = |labels: &Labels| Reached::by_folds(&graph, labels, 0, &silent);
        assert!(of(&all).unwrap().is_none());
        assert!(of(&all.draw(2, 1)).unwrap().is_none());
        let reached = of(&all.draw(3, 1)).unwrap().unwrap();
        assert!(reached.weight(&[10.0]).is_err());
        assert!((reached.weight(&[12.0, 6.0]).unwrap()[0] - 4.0).abs() < 1e-12);
    }
}
