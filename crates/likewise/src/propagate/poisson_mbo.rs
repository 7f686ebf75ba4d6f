//! `PoissonMBO`: classes that are decided again and again, by their sizes.
//!
//! ```text
//! classes of Poisson learning, decided by the sizes
//! again and again, until at most one of 1000 items changes or `rounds` times:
//!     u = one-hot of the classes, then `steps` times u <- u - dt (L u - mu b)
//!     classes = argmax over assignments of these sizes of sum_i u_i,c(i)
//! ```
//!
//! **Use it** with one or two labels a class, above all where the sizes of the classes are known:
//! `experiments/beliefs-1.toml` compares it with [`Lgc`]. **Not** with
//! [`Sizes::Balanced`] unless classes are of equal size: where they are 10 to 1 it costs up to a third of
//! the items. With five labels a class `experiments/beliefs-5.toml` compares it with a single decision by
//! sizes.
//!
//! **Sizes that nobody knows** ([`Sizes::Estimated`], the default). Two answers are compared: that of equal
//! sizes, and that of [`Lgc`] with uniform class mass, whose classes are as large as the
//! scores make them. The graph judges: of an answer `z` its stability
//!
//! ```text
//! (r - q) / (1 - q),    r = (1/n) sum_i (P^2 Z)_i,z(i),    q = sum_c (vol_c / vol)^2,    P = D^-1 W
//! ```
//!
//! is how much likelier two steps of a random walk end in the class where they began than chance
//! has it, of what is possible. Equal sizes that are wrong cut through classes, which lowers it; where classes
//! touch it may still be the higher one. On eight development sets (two labelings of each of two draws, one label
//! a class; each set as it is, cut to 3 to 1 and to 10 to 1) this was right on .695, .655 and .602 of the items, where `Lgc` alone is on .691, .651 and .601; equal sizes were preferred in 34, 6 and
//! 3 of 100 cases. A walk of eight steps, with the answer of 40 steps a round for equal sizes, was right on
//! .691, .648 and .594.
//! Where classes have three labels and more in the mean, `Lgc` is the answer: nothing is gained by
//! deciding again, and `steps`, `rounds`, `mu` and `beta` change nothing.
//!
//! **Negative edges** (`beta` above 0). Before each round the edges whose ends seem to be of different classes are
//! searched for in the present scores, as [`Mixed`] does it in its own ([negative edges](super::parts::negative):
//! z-scores of each class, each edge cut in turn), and the heat steps of the round are those of
//! `L + beta (D_S + S)`. An edge then passes on `W - beta S`, and `S` is at most `W`: up to a `beta` of 1 it passes on
//! less the surer it joins two classes, beyond that it pushes an item away from the class of its neighbour. The
//! step `dt` is one over the largest diagonal value, so that no `beta` makes the steps unstable; a large one makes
//! them short. What an item loses by a negative edge it loses of all classes alike, which decides nothing, but the
//! rows of `u` are no shares of 1 then.
//! **Use it** where many edges join classes. **Not** where hardly any do: little is found, and the searches cost
//! time; nor with a large `beta`: what the last round got wrong is then pushed the wrong way by all that it got
//! right. On eight development sets with one label a class it gained nothing (`experiments/beliefs-beta.toml`), so it is 0 unless it is
//! asked for. Where sizes are estimated
//! and classes have three labels and more, nothing is decided again, and it changes nothing. Negative edges that are
//! known from elsewhere are not taken here; [`Mixed`] takes them.
//!
//! Confidence: how peaked the last `u` is, whose rows are shares of the classes around an item, times the share of
//! its class over the largest: an item that is in its class for the sizes alone is less sure. The scores are
//! the last `u`, without the prices of the classes.
//!
//! No [`Session`](super::Session) follows single labels here, as of [`Poisson`](super::Poisson): decisions are not
//! linear in the labels, and one of them may turn the next round anywhere.
//!
//! Cost: O(rounds x steps x entries x C) in `f32`, and one decision a round; memory O(n C). With negative edges
//! also O(edges x C) exponentials a round, and memory O(entries).
//!
//! Source: Calder, Cook, Thorpe and Slepcev, ICML 2020 (their program has 20 rounds of 40 steps, `mu`
//! 1: [`PoissonMbo::paper`]); that 6 steps are better, which keep a decision near the one before, and the choice of
//! sizes is ours, with stability as of Delvenne, Yaliraki and Barahona 2010.
//! Negative edges are those of Zhuang and Moulin, CVPR 2023, eq. (18)-(23); to take them into these steps is ours.
//! Differences: sizes are held by prices ([`Poisson`](super::Poisson)); labeled items keep their
//! class; it ends where at most one of 1000 items changes: sizes are met up to that, so that the prices of
//! many items never settle further.

use ndarray::{Array2, ArrayView1};
use serde::{Deserialize, Serialize};

use super::lgc::Lgc;
use super::parts::decide::{self, Bounds};
use super::parts::heat::Heat;
use super::parts::known::Known;
use super::parts::parameter::{not_negative, positive, setters};
use super::parts::sizes::Sizes;
use super::parts::stability::stability;
use super::poisson;
use super::{Given, Mass, Mixed, NegativeEdges, Propagate, Spread};
use crate::solve::ConjugateGradient;
use crate::{Beliefs, Error, Monitor, Result};

/// Labels of a class, in the mean, from which on nothing is decided again where sizes are estimated.
const ENOUGH_LABELS: f64 = 3.0;
/// Share of the items below which a decision is as good as the last one.
const SETTLED: f64 = 1e-3;

/// Parameters of `PoissonMBO`.
///
/// ```
/// use likewise::propagate::{PoissonMbo, Propagate, Sizes};
/// use likewise::{Graph, Labels, Monitor};
/// let graph = Graph::new(vec![0, 1, 3, 5, 7, 8], vec![1, 0, 2, 1, 3, 2, 4, 3], vec![1.0; 8])?;
/// let labels = Labels::parse(["cat", "", "", "", "dog"]);
/// let method = PoissonMbo::new().sizes(Sizes::Known(vec![3.0, 2.0]));
/// let beliefs = method.propagate(&graph, &labels, &Monitor::silent())?;
/// assert_eq!(beliefs.pseudo_label, [0, 0, 0, 1, 1].map(Some));
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PoissonMbo {
    sizes: Sizes,
    rounds: usize,
    steps: usize,
    mu: f64,
    pub(super) beta: f64,
    lambda: f64,
    tolerance: f64,
    max_iterations: usize,
}

impl Default for PoissonMbo {
    fn default() -> Self {
        let solver = ConjugateGradient::default();
        Self {
            sizes: Sizes::Estimated,
            rounds: 20,
            steps: 6,
            mu: 1.0,
            beta: 0.0,
            lambda: 3.0,
            tolerance: solver.tolerance,
            max_iterations: solver.max_iterations,
        }
    }
}

impl PoissonMbo {
    /// 20 rounds of 6 steps, and sizes that are estimated.
    pub fn new() -> Self {
        Self::default()
    }

    /// The authors' numbers: 40 steps a round.
    pub fn paper() -> Self {
        Self {
            steps: 40,
            ..Self::default()
        }
    }

    /// What is known of the sizes of the classes.
    #[must_use]
    pub fn sizes(mut self, sizes: Sizes) -> Self {
        self.sizes = sizes;
        self
    }

    /// Weight of the negative edges in the heat steps, at least 0; with 0, the default, none are searched for.
    #[must_use]
    pub fn beta(mut self, beta: f64) -> Self {
        self.beta = beta;
        self
    }

    /// Inverse temperature of the search for negative edges, above 0.
    #[must_use]
    pub fn lambda(mut self, lambda: f64) -> Self {
        self.lambda = lambda;
        self
    }

    setters!(mu solver);

    fn check(&self) -> Result<()> {
        positive("mu", self.mu)?;
        not_negative("beta", self.beta)?;
        positive("lambda", self.lambda)?;
        for (field, value) in [("rounds", self.rounds), ("steps", self.steps)] {
            if value == 0 || value > 10_000 {
                return Err(Error::parameter(field, value, "must be from 1 to 10000"));
            }
        }
        Ok(())
    }

    /// Beliefs by these bounds; without any, every item takes its best class.
    fn decide(&self, known: &Known, bounds: Option<&Bounds>, monitor: &Monitor) -> Result<Beliefs> {
        let mut solution = poisson::solve(known, &self.solver(), monitor)?;
        let mut deciding = Deciding {
            known,
            open: known.open(),
            bounds,
            prices: vec![0.0; known.n_classes()],
        };
        let quiet = monitor.quiet();
        let mut scores = std::mem::take(&mut solution.x);
        let mut negatives = self.negatives(known, &scores, &quiet)?;
        let mut class = deciding.classes(&scores);
        // Prices of another kind of scores are no good beginning.
        deciding.prices.fill(0.0);
        let (labeled, sources) = (known.labeled(), poisson::sources(known) * self.mu);
        // The same in every round without negative edges.
        let plain = Heat::of(known.graph);
        monitor.start("deciding by sizes", Some(self.rounds as u64));
        for round in 0..self.rounds {
            let of = (labeled.as_slice(), sources.view());
            let start = |i: usize, c: usize| f32::from(u8::from(class[i] == Some(c)));
            let shape = (known.graph.n(), known.n_classes());
            scores = match &negatives {
                None => plain.run(shape, start, of, self.steps, &quiet)?,
                Some(negatives) => {
                    let (graph, degrees) = (known.graph, known.graph.degrees());
                    let operator = self.mixed().operator(graph, degrees, negatives);
                    Heat::by(operator).run(shape, start, of, self.steps, &quiet)?
                }
            };
            negatives = self.negatives(known, &scores, &quiet)?;
            let next = deciding.classes(&scores);
            monitor.step(round as u64 + 1)?;
            let pairs = next.iter().zip(&class);
            let changed = pairs.filter(|(next, before)| next != before).count();
            class = next;
            if changed as f64 <= SETTLED * class.len() as f64 {
                break;
            }
        }
        monitor.end();
        let mut convergence = known.convergence(&[&solution], monitor);
        if let Some(negatives) = negatives {
            convergence = negatives.report(known, convergence, monitor);
        }
        Ok(known.beliefs_at(scores, &deciding.prices, convergence))
    }

    /// The answer whose classes are as large as the scores show.
    fn shown(&self, given: &Given, monitor: &Monitor) -> Result<Beliefs> {
        let spread = Lgc::new()
            .mass(Mass::Uniform)
            .tolerance(self.tolerance)
            .max_iterations(self.max_iterations);
        spread.propagate(given.graph, given.labels, monitor)
    }

    /// Mixed propagation with these settings: its search, and its operator.
    fn mixed(&self) -> Mixed {
        Mixed::new().beta(self.beta).lambda(self.lambda)
    }

    /// The negative edges of these scores; `None` where they weigh nothing.
    fn negatives(
        &self,
        known: &Known,
        scores: &Array2<f64>,
        monitor: &Monitor,
    ) -> Result<Option<NegativeEdges>> {
        if self.beta == 0.0 {
            return Ok(None);
        }
        let (negatives, _) = self.mixed().find(known, scores.clone(), monitor)?;
        Ok(Some(negatives))
    }
}

impl Propagate for PoissonMbo {
    fn spread(&self, given: &Given, monitor: &Monitor) -> Result<Spread> {
        given.check::<Self>()?;
        self.check()?;
        let known = Known::new(given.graph, given.labels, monitor)?;
        let bounds = self.sizes.bounds(&known, known.open().len())?;
        if self.sizes != Sizes::Estimated {
            return Ok(self.decide(&known, bounds.as_ref(), monitor)?.into());
        }
        let shown = self.shown(given, monitor)?;
        let labels = known.labels_of_classes();
        if labels.iter().sum::<f64>() >= ENOUGH_LABELS * labels.len() as f64 {
            monitor.note(
                "the classes have three labels and more in the mean: nothing is decided again, the classes are as \
                 large as the scores of lgc show; steps, rounds, mu and beta change nothing",
            );
            return Ok(shown.into());
        }
        let equal = self.decide(&known, bounds.as_ref(), &monitor.quiet())?;
        let judged = |beliefs: &Beliefs| stability(given.graph, &beliefs.pseudo_label);
        let prefers_equal = judged(&equal) >= judged(&shown);
        monitor.note(if prefers_equal {
            "the graph agrees with classes of equal size"
        } else {
            "the graph does not agree with classes of equal size: as large as the scores show"
        });
        Ok(if prefers_equal { equal } else { shown }.into())
    }
}

/// How items are decided, again and again.
struct Deciding<'a> {
    known: &'a Known<'a>,
    /// The reached nodes without a label.
    open: Vec<usize>,
    bounds: Option<&'a Bounds>,
    /// Those of the last decision.
    prices: Vec<f64>,
}

impl Deciding<'_> {
    /// The class of each node among the labeled classes, `None` where no label reaches.
    fn classes(&mut self, scores: &Array2<f64>) -> Vec<Option<usize>> {
        let Some(bounds) = self.bounds else {
            return self.known.best_classes(scores);
        };
        let mut worth = scores.clone();
        self.known.only_reached(&mut worth);
        let before = std::mem::take(&mut self.prices);
        self.prices = decide::prices(worth.view(), &self.open, bounds, before);
        worth += &ArrayView1::from(&self.prices);
        self.known.best_classes(&worth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{KnnGraph, Symmetrize};
    use crate::reference::{self, in_one_and_two_threads};
    use crate::{Event, Graph, Labels, seed};
    use ndarray::Axis;
    use proptest::prelude::*;
    use rand::RngExt;
    use std::sync::{Arc, Mutex};

    /// Clouds around corners, `sizes[c]` items each, one label a cloud.
    fn clouds(sizes: &[usize], spread: f32) -> (Graph, Labels, Vec<u32>) {
        let mut rng = seed::stream(9, "clouds");
        let truth: Vec<u32> = (sizes.iter().zip(0..))
            .flat_map(|(&size, c)| std::iter::repeat_n(c, size))
            .collect();
        let x = Array2::from_shape_fn((truth.len(), sizes.len()), |(i, c)| {
            if truth[i] as usize == c {
                1.0
            } else {
                spread * rng.random::<f32>()
            }
        });
        let graph = KnnGraph::new().k(10).symmetrize(Symmetrize::OneSided(0.1));
        let graph = graph.build(x.view(), &Monitor::silent()).unwrap();
        let mut seen = vec![false; sizes.len()];
        let items = truth.iter().map(|&c| {
            let first = !std::mem::replace(&mut seen[c as usize], true);
            if first { i64::from(c) } else { -1 }
        });
        (graph, Labels::from_integers(items), truth)
    }

    fn right(found: &Beliefs, truth: &[u32]) -> f64 {
        let right = found
            .pseudo_label
            .iter()
            .zip(truth)
            .filter(|(a, b)| **a == Some(**b));
        right.count() as f64 / truth.len() as f64
    }

    #[test]
    fn sizes_are_held_and_estimated_ones_follow_the_graph() {
        for sizes in [[100, 100, 100], [200, 60, 20]] {
            let (graph, labels, truth) = clouds(&sizes, 0.9);
            let run = |of: Sizes| {
                let method = PoissonMbo::new().sizes(of);
                method
                    .propagate(&graph, &labels, &Monitor::silent())
                    .unwrap()
            };
            let known = run(Sizes::Known(sizes.map(|s| s as f64).to_vec()));
            let estimated = run(Sizes::Estimated);
            let lgc = Lgc::new().mass(Mass::Uniform);
            let lgc = lgc.propagate(&graph, &labels, &Monitor::silent()).unwrap();
            assert!(right(&known, &truth) > 0.9, "{}", right(&known, &truth));
            assert!(right(&estimated, &truth) + 0.02 > right(&lgc, &truth));
            for (class, &size) in sizes.iter().enumerate() {
                let class = Some(class as u32);
                let found = known.pseudo_label.iter().filter(|c| **c == class).count();
                assert!(found.abs_diff(size) <= 3, "{found} for {size}");
            }
        }
    }

    #[test]
    fn equal_sizes_are_taken_where_classes_are_alike_and_left_where_they_are_not() {
        let assert_told = |sizes: &[usize], spread: f32, alike: bool| {
            let (graph, labels, _) = clouds(sizes, spread);
            let run = |method: &dyn Propagate| {
                let found = method.propagate(&graph, &labels, &Monitor::silent());
                found.unwrap()
            };
            let equal = run(&PoissonMbo::new().sizes(Sizes::Balanced));
            let shown = run(&Lgc::new().mass(Mass::Uniform));
            let judged = [&equal, &shown].map(|found| stability(&graph, &found.pseudo_label));
            let estimated = run(&PoissonMbo::new());
            let expected = if alike { &equal } else { &shown };
            assert!(estimated == *expected, "{sizes:?}: {judged:?}");
        };
        assert_told(&[80, 80, 80], 0.9, true);
        assert_told(&[100, 100, 100], 0.9, true);
        // Wider clouds touch: what the scores show is then wrong on some as well, and which answer the graph
        // takes is a matter of the draw, with walks of two steps and of eight.
        assert_told(&[240, 50, 24], 0.8, false);
        assert_told(&[200, 60, 20], 0.8, false);
    }

    #[test]
    fn with_three_labels_a_class_it_is_told_that_nothing_is_decided_again() {
        let graph = reference::random_graph(300, 1500, 1);
        let labels = reference::random_labels(300, 4, 1);
        let few = labels.draw(1, 1);
        let run = |labels: &Labels, method: PoissonMbo| {
            let notes = Arc::new(Mutex::new(Vec::new()));
            let sink = notes.clone();
            let monitor = Monitor::new(move |event: &Event| {
                if let Event::Note(words) = event {
                    sink.lock().unwrap().push(words.clone());
                }
            });
            let found = method.propagate(&graph, labels, &monitor).unwrap();
            let notes = notes.lock().unwrap().clone();
            (found, notes)
        };
        let (found, notes) = run(&labels, PoissonMbo::new());
        assert!(notes.len() == 1 && notes[0].contains("nothing is decided again"));
        assert!(notes[0].contains("steps, rounds, mu and beta change nothing"));
        let other = PoissonMbo {
            rounds: 1,
            ..PoissonMbo::paper().mu(2.0).beta(1.0)
        };
        assert_eq!(run(&labels, other), (found, notes));
        let (_, notes) = run(&few, PoissonMbo::new());
        assert!(notes.len() == 1 && notes[0].contains("classes of equal size"));
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bytes() {
        let graph = reference::random_graph(1500, 6000, 4);
        let labels = reference::random_labels(1500, 5, 4);
        for beta in [0.0, 0.7] {
            let (one, two) = in_one_and_two_threads(|| {
                let method = PoissonMbo::new().sizes(Sizes::Balanced).beta(beta);
                method
                    .propagate(&graph, &labels, &Monitor::silent())
                    .unwrap()
            });
            assert_eq!(one, two);
        }
    }

    /// Two triangles, of class 0 and of class 1, and an item that hangs on two items of the one and, harder than on
    /// both of them, on one item of the other.
    fn triangles() -> (Graph, Labels) {
        let edges = [
            (0, 1, 1.0),
            (0, 2, 1.0),
            (1, 2, 1.0),
            (1, 6, 0.5),
            (2, 6, 0.5),
            (3, 4, 1.0),
            (3, 5, 1.0),
            (4, 5, 1.0),
            (4, 6, 1.5),
        ];
        let mut dense = Array2::<f32>::zeros((7, 7));
        for (i, j, w) in edges {
            dense[[i, j]] = w;
            dense[[j, i]] = w;
        }
        let (mut indptr, mut indices, mut weights) = (vec![0], Vec::new(), Vec::new());
        for row in dense.rows() {
            for (j, &w) in row.iter().enumerate().filter(|(_, w)| **w > 0.0) {
                indices.push(j as u32);
                weights.push(w);
            }
            indptr.push(indices.len());
        }
        let graph = Graph::new(indptr, indices, weights).unwrap();
        (graph, Labels::parse(["a", "", "", "b", "", "", ""]))
    }

    #[test]
    fn a_negative_edge_turns_the_item_that_a_single_edge_had_drawn_over() {
        let (graph, labels) = triangles();
        let run = |beta: f64| {
            let method = PoissonMbo::paper().sizes(Sizes::Free).beta(beta);
            method
                .propagate(&graph, &labels, &Monitor::silent())
                .unwrap()
        };
        let (plain, mixed) = (run(0.0), run(1.0));
        let classes = |last: u32| [0, 0, 0, 1, 1, 1, last].map(Some);
        assert_eq!(plain.pseudo_label, classes(1));
        assert_eq!(mixed.pseudo_label, classes(0));
        assert!(plain.convergence.negative_share.is_none());
        assert!(mixed.convergence.negative_share > Some(0.3));
        // After the second round, in which nothing changes; by a program of loops.
        let row = mixed.scores.row(6).to_vec();
        assert!(
            (row[0] - 0.055).abs() < 2e-3 && (row[1] + 0.051).abs() < 2e-3,
            "{row:?}"
        );
    }

    #[test]
    fn no_weight_on_negative_edges_is_the_method_without_them() {
        let graph = reference::random_graph(300, 1500, 1);
        let labels = reference::random_labels(300, 4, 1);
        for sizes in [Sizes::Free, Sizes::Balanced, Sizes::Estimated] {
            let run = |method: PoissonMbo| {
                let method = method.sizes(sizes.clone());
                method
                    .propagate(&graph, &labels, &Monitor::silent())
                    .unwrap()
            };
            let plain = run(PoissonMbo::new());
            assert_eq!(plain.convergence.negative_share, None);
            assert_eq!(run(PoissonMbo::new().beta(0.0).lambda(7.0)), plain);
        }
        // What was written before there were negative edges.
        let before = r#"{"sizes":"free","rounds":20,"steps":40,"mu":1.0,"tolerance":1e-10,"max_iterations":1000}"#;
        let before: PoissonMbo = serde_json::from_str(before).unwrap();
        assert_eq!(before, PoissonMbo::paper().sizes(Sizes::Free));
    }

    /// The negative edges of scores by their formulas, dense, over nodes that are to be kept.
    fn hard(w: &Array2<f64>, scores: &Array2<f64>, keep: &[bool], lambda: f64) -> Array2<f64> {
        let (n, classes) = scores.dim();
        let mut s = Array2::zeros((n, n));
        if classes < 2 {
            return s;
        }
        let mut z = scores.clone();
        for mut column in z.columns_mut() {
            let values: Vec<f64> = (0..n).filter(|&i| keep[i]).map(|i| column[i]).collect();
            let count = values.len() as f64;
            let mean = values.iter().sum::<f64>() / count;
            let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / count;
            let unit = variance.sqrt();
            column.mapv_inplace(|v| if unit > 1e-13 { (v - mean) / unit } else { 0.0 });
        }
        let cut = |i: usize, j: usize| -> Option<Vec<f64>> {
            let weight: f64 = (0..n).filter(|&l| l != j).map(|l| w[[i, l]]).sum();
            if weight <= 0.0 {
                return None;
            }
            let degree = weight + w[[i, j]];
            let a = (degree * &z.row(i) - w[[i, j]] * &z.row(j)) * (lambda / weight);
            let sum: f64 = a.iter().map(|a| a.exp()).sum();
            Some(a.iter().map(|a| a.exp() / sum).collect())
        };
        let sure = |p: &[f64]| {
            let entropy: f64 = p.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum();
            1.0 - entropy / (classes as f64).ln()
        };
        for i in (0..n).filter(|&i| keep[i]) {
            for j in (0..n).filter(|&j| w[[i, j]] > 0.0) {
                if let (Some(p), Some(q)) = (cut(i, j), cut(j, i)) {
                    let same: f64 = p.iter().zip(&q).map(|(p, q)| p * q).sum();
                    s[[i, j]] = w[[i, j]] * sure(&p) * sure(&q) * (1.0 - same);
                }
            }
        }
        s
    }

    /// One round of so many steps by its formulas, dense, from the scores and classes of Poisson learning.
    fn one_round(graph: &Graph, labels: &Labels, steps: usize, beta: f64) -> Array2<f64> {
        let n = graph.n();
        let start = super::super::Poisson::new();
        let start = start.propagate(graph, labels, &Monitor::silent()).unwrap();
        let y = reference::one_hot(labels);
        let classes: Vec<usize> = (0..y.ncols())
            .filter(|&c| y.column(c).sum() > 0.0)
            .collect();
        let (y, scores) = (
            y.select(Axis(1), &classes),
            start.scores.select(Axis(1), &classes),
        );
        let w = reference::dense(graph);
        let s = hard(&w, &scores, &reference::reached(graph, labels), 3.0);
        let mut m = beta * &s - &w;
        for i in 0..n {
            m[[i, i]] += w.row(i).sum() + beta * s.row(i).sum();
        }
        let most = (0..n).map(|i| m[[i, i]]).fold(0.0, f64::max);
        let dt = if most > 0.0 { 1.0 / most } else { 1.0 };
        let of = graph.component();
        let mut sources = y.clone();
        for i in (0..n).filter(|&i| labels[i].class().is_some()) {
            let peers: Vec<usize> = (0..n)
                .filter(|&j| of[j] == of[i] && labels[j].class().is_some())
                .collect();
            for c in 0..classes.len() {
                let mean = peers.iter().map(|&j| y[[j, c]]).sum::<f64>() / peers.len() as f64;
                sources[[i, c]] -= mean;
            }
        }
        let mut u = Array2::from_shape_fn((n, classes.len()), |(i, c)| {
            f64::from(u8::from(start.pseudo_label[i] == Some(classes[c] as u32)))
        });
        for _ in 0..steps {
            u = &u - &((m.dot(&u) - &sources) * dt);
        }
        let mut all = Array2::zeros((n, labels.n_classes()));
        for (c, &class) in classes.iter().enumerate() {
            all.column_mut(class).assign(&u.column(c));
        }
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn a_round_with_negative_edges_is_that_of_the_dense_formulas(
            n in 2_usize..40, density in 0_usize..4, classes in 1_u32..5, steps in 1_usize..10,
            beta in prop::sample::select(vec![0.3, 1.0, 5.0]), seed in 0_u64..10_000,
        ) {
            let graph = reference::random_graph(n, density * n, seed);
            let labels = reference::random_labels(n, classes, seed);
            let method = PoissonMbo { rounds: 1, steps, beta, ..PoissonMbo::new().sizes(Sizes::Free) };
            let found = method.propagate(&graph, &labels, &Monitor::silent()).unwrap();
            let expected = one_round(&graph, &labels, steps, beta);
            for (a, b) in found.scores.iter().zip(&expected) {
                prop_assert!((a - b).abs() < 1e-4, "{a} {b}");
            }
        }
    }

    #[test]
    fn a_large_weight_of_negative_edges_is_stable() {
        let graph = reference::random_graph(200, 900, 3);
        let labels = reference::random_labels(200, 4, 3);
        for beta in [10.0, 1e6, 1e12] {
            let method = PoissonMbo::new().sizes(Sizes::Free).beta(beta);
            let found = method
                .propagate(&graph, &labels, &Monitor::silent())
                .unwrap();
            // No step makes a column longer than it was, but for its sources: a column of zeros and ones is at most
            // 15 long, and the 6 steps of a dt below 1/2 add at most 3 times the sources, which are 7 long at most.
            assert!(found.scores.iter().all(|s| s.abs() < 37.0), "{beta}");
            assert!(found.convergence.negative_share > Some(0.0), "{beta}");
        }
    }

    #[test]
    fn parts_without_labels_one_class_and_wrong_settings() {
        let pair = Graph::new(vec![0, 1, 2, 3, 4, 4], vec![1, 0, 3, 2], vec![1.0; 4]).unwrap();
        let run = |labels: [&str; 5], sizes: Sizes| {
            let method = PoissonMbo::new().sizes(sizes);
            method.propagate(&pair, &Labels::parse(labels), &Monitor::silent())
        };
        for sizes in [
            Sizes::Estimated,
            Sizes::Balanced,
            Sizes::Free,
            Sizes::Within(2.0),
        ] {
            let found = run(["a", "", "b", "", ""], sizes.clone()).unwrap();
            assert_eq!(
                found.pseudo_label,
                [Some(0), Some(0), Some(1), Some(1), None]
            );
            assert!(found.scores.iter().all(|s| s.is_finite()));
            let one = run(["a", "", "", "", ""], sizes).unwrap();
            assert_eq!(one.pseudo_label, [Some(0), Some(0), None, None, None]);
        }
        // An item of one neighbour has no others that could tell that the edge is negative.
        for sizes in [Sizes::Balanced, Sizes::Free] {
            let method = PoissonMbo::new().sizes(sizes).beta(1.0);
            let labels = Labels::parse(["a", "", "b", "", ""]);
            let found = method.propagate(&pair, &labels, &Monitor::silent());
            let found = found.unwrap();
            let classes = [Some(0), Some(0), Some(1), Some(1), None];
            assert_eq!(found.pseudo_label, classes);
            assert_eq!(found.convergence.negative_share, Some(0.0));
        }
        let wrong = PoissonMbo {
            rounds: 0,
            ..PoissonMbo::new()
        };
        let labels = Labels::parse(["a", "", "b", "", ""]);
        let said = wrong
            .propagate(&pair, &labels, &Monitor::silent())
            .unwrap_err();
        assert!(said.to_string().contains("rounds = 0"));
        let said = |method: PoissonMbo| {
            let found = method.propagate(&pair, &labels, &Monitor::silent());
            found.unwrap_err().to_string()
        };
        assert!(said(PoissonMbo::new().beta(-1.0)).starts_with("beta = -1"));
        assert!(said(PoissonMbo::new().beta(1.0).lambda(0.0)).starts_with("lambda = 0"));
    }
}
