//! Pairwise constraints first spread over all pairs, then propagation on the graph that they
//! reshape. Dense, for small graphs.
//!
//! 1. `Z_ij`: 1 for two labeled items of one class, -1 for two of different classes, minus
//!    the weight for a negative edge, 0 elsewhere.
//! 2. `P = (1 - alpha)^2 (I - alpha S)^-1 Z (I - alpha S)^-1`, `S = D^-1/2 W D^-1/2`: every
//!    pair takes part of what is known of the pairs near it. Divided by its largest
//!    absolute value.
//! 3. New weights, with `W` divided by its largest: `1 - (1 - P)(1 - W)` where `P` is above
//!    0, `(1 + P) W` elsewhere; the diagonal is 0.
//! 4. `F = (1 - alpha) (I - alpha S')^-1 Y` on the new weights.
//!
//! **Use it** to compare on small sets. **Not** above some 1000 items.
//!
//! Cost: O(n³) time and five n x n matrices; fails above 3000 items.
//!
//! Source: Gong, Fu, Wu, Tu and Yang 2014, of which we had the description in Zhuang and
//! Moulin 2023: constraints are propagated to all `n x n` pairs, then items are
//! classified. Their equations were not at hand. Steps 2 and 3 are the exhaustive constraint
//! propagation of Lu and Ip 2010, step 4 is [`Lgc`](super::Lgc); dividing `P` is ours.

use faer::linalg::solvers::Solve;
use faer::{Mat, MatRef};
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::mixed::given_or_found;
use super::parts::known::Known;
use super::parts::parameter::{fraction, setters};
use super::{Given, Mass, NegativeEdges, Propagate, Spread};
use crate::solve::on_one_thread;
use crate::{Beliefs, Graph, Labels, Monitor, Result};

/// Most nodes: 72 MB a matrix.
const MOST: usize = 3000;

/// Parameters of propagation with pairwise constraints.
///
/// ```
/// use likewise::propagate::{Given, GongExact, NegativeEdges, Propagate};
/// use likewise::{Graph, Labels, Monitor};
/// let graph = Graph::new(
///     vec![0, 1, 3, 5, 6],
///     vec![1, 0, 2, 1, 3, 2],
///     vec![1.0, 1.0, 0.5, 0.5, 1.0, 1.0],
/// )?;
/// let labels = Labels::parse(["cat", "", "", "dog"]);
/// let negatives = NegativeEdges::from_pairs(&graph, [(1, 2, 1.0)])?;
/// let given = Given::new(&graph, &labels).negatives(&negatives);
/// let beliefs = GongExact::new().spread(&given, &Monitor::silent())?.beliefs;
/// assert_eq!(beliefs.pseudo_label, [Some(0), Some(0), Some(1), Some(1)]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GongExact {
    alpha: f64,
    mass: Mass,
}

impl Default for GongExact {
    fn default() -> Self {
        Self {
            alpha: 0.99,
            mass: Mass::None,
        }
    }
}

impl GongExact {
    /// Nodes that a graph may have at most.
    pub const MOST_NODES: usize = MOST;

    /// `alpha = 0.99`.
    pub fn new() -> Self {
        Self::default()
    }

    setters!(alpha mass);

    /// Beliefs with the given negative edges as constraints, besides those of the labels.
    fn spread_given(
        &self,
        graph: &Graph,
        labels: &Labels,
        negatives: &NegativeEdges,
        monitor: &Monitor,
    ) -> Result<Beliefs> {
        fraction("alpha", self.alpha)?;
        negatives.check(graph)?;
        let n = graph.n();
        let known = Known::new(graph, labels, monitor)?;
        monitor.start("propagation of pairwise constraints", None);
        let most = graph.weights().iter().copied().fold(0.0_f32, f32::max);
        let mut weights = Mat::<f64>::zeros(n, n);
        let mut given = Mat::from_fn(n, n, |i, j| match (known.label[i], known.label[j]) {
            (Some(a), Some(b)) if i != j && a == b => 1.0,
            (Some(a), Some(b)) if a != b => -1.0,
            _ => 0.0,
        });
        for i in 0..n {
            let (columns, row) = graph.row(i);
            for ((entry, &j), &w) in (graph.indptr()[i]..).zip(columns).zip(row) {
                let j = j as usize;
                weights[(i, j)] = f64::from(w) / f64::from(most);
                if known.label[i].is_none() || known.label[j].is_none() {
                    given[(i, j)] = -negatives.weights()[entry].min(1.0);
                }
            }
        }
        let pairs = on_one_thread(|| self.spread_pairs(weights.as_ref(), given.as_ref()))?;
        monitor.check()?;
        let reshaped = reshape(weights.as_ref(), pairs.as_ref());
        let y = known.one_hot(|_| 1.0 - self.alpha);
        let y = Mat::from_fn(n, y.ncols(), |i, c| y[[i, c]]);
        let f = on_one_thread(|| {
            let system = system(reshaped.as_ref(), self.alpha);
            system.partial_piv_lu().solve(&y)
        })?;
        monitor.end();
        let scores = Array2::from_shape_fn((n, f.ncols()), |(i, c)| f[(i, c)]);
        let convergence = known.convergence(&[], monitor);
        let convergence = negatives.report(&known, convergence, monitor);
        Ok(known.beliefs(scores, self.mass, convergence))
    }

    /// Step 2.
    fn spread_pairs(&self, weights: MatRef<f64>, given: MatRef<f64>) -> Mat<f64> {
        let factors = system(weights, self.alpha).partial_piv_lu();
        let half = factors.solve(given);
        // The system is symmetric, so solving with the transpose multiplies from the right.
        let mut pairs = factors.solve(half.transpose());
        let most = pairs.norm_max();
        if most > 0.0 {
            pairs /= most;
        }
        pairs
    }
}

impl Propagate for GongExact {
    fn spread(&self, given: &Given, monitor: &Monitor) -> Result<Spread> {
        given.check::<Self>()?;
        let negatives = given_or_found(given, monitor)?;
        let beliefs = self.spread_given(given.graph, given.labels, &negatives, monitor)?;
        Ok(beliefs.into())
    }
}

/// `I - alpha D^-1/2 W D^-1/2`.
fn system(weights: MatRef<f64>, alpha: f64) -> Mat<f64> {
    let n = weights.nrows();
    let inverse: Vec<f64> = (0..n)
        .map(|i| weights.row(i).iter().sum::<f64>())
        .map(|d| if d > 0.0 { 1.0 / d.sqrt() } else { 0.0 })
        .collect();
    Mat::from_fn(n, n, |i, j| {
        f64::from(u8::from(i == j)) - alpha * inverse[i] * weights[(i, j)] * inverse[j]
    })
}

/// Reshaped weights below this are 0.
const ROUNDING: f64 = 1e-12;

/// Step 3.
fn reshape(weights: MatRef<f64>, pairs: MatRef<f64>) -> Mat<f64> {
    Mat::from_fn(weights.nrows(), weights.nrows(), |i, j| {
        // The mean of both orders: they differ by rounding.
        let (w, p) = (weights[(i, j)], f64::midpoint(pairs[(i, j)], pairs[(j, i)]));
        let reshaped = match p {
            _ if i == j => 0.0,
            p if p > 0.0 => 1.0 - (1.0 - p) * (1.0 - w),
            p => (1.0 + p) * w,
        };
        // What rounding leaves of a cut edge must not be normalised to a whole one.
        if reshaped > ROUNDING { reshaped } else { 0.0 }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::propagate::Lgc;
    use crate::reference::{self, path, path_labels};
    use proptest::prelude::*;

    fn run(graph: &Graph, labels: &Labels, s: &NegativeEdges) -> Beliefs {
        GongExact::new()
            .spread_given(graph, labels, s, &Monitor::silent())
            .unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn equals_the_iteration_that_it_solves(
            n in 2_usize..25, density in 1_usize..4, classes in 1_u32..4, seed in 0_u64..10_000,
        ) {
            // Naive: both steps by their fixed-point iterations.
            let (graph, alpha) = (reference::random_graph(n, density * n, seed), 0.8);
            let labels = reference::random_labels(n, classes, seed).compact().0;
            let s = NegativeEdges::weigh(&graph, |i, j, _| f64::from(u8::from((i + j) % 3 == 0)));
            let method = GongExact::new().alpha(alpha);
            let found = method.spread_given(&graph, &labels, &s, &Monitor::silent()).unwrap();
            let normal = |w: &Array2<f64>| {
                let d: Vec<f64> = w.rows().into_iter().map(|r| r.sum().max(1e-100)).collect();
                Array2::from_shape_fn((n, n), |(i, j)| w[[i, j]] / d[i].sqrt() / d[j].sqrt())
            };
            let most = graph.weights().iter().copied().fold(0.0_f32, f32::max);
            let w = reference::dense(&graph).mapv(|w| w / f64::from(most.max(1e-30)));
            let z = Array2::from_shape_fn((n, n), |(i, j)| match (labels[i].class(), labels[j].class()) {
                _ if i == j => 0.0,
                (Some(a), Some(b)) => if a == b { 1.0 } else { -1.0 },
                _ => graph.entry(i, j).map_or(0.0, |e| -s.weights()[e]),
            });
            let step = normal(&w);
            let (mut left, mut pairs) = (z.clone(), Array2::<f64>::zeros((n, n)));
            for _ in 0..200 {
                left = step.dot(&left) * alpha + &z * (1.0 - alpha);
            }
            for _ in 0..200 {
                pairs = pairs.dot(&step) * alpha + &left * (1.0 - alpha);
            }
            let most = pairs.iter().fold(0.0_f64, |m, p| m.max(p.abs())).max(1e-300);
            let reshaped = Array2::from_shape_fn((n, n), |(i, j)| {
                let (w, p) = (w[[i, j]], pairs[[i, j]] / most);
                let r = if i == j { 0.0 } else if p > 0.0 { 1.0 - (1.0 - p) * (1.0 - w) } else { (1.0 + p) * w };
                if r > ROUNDING { r } else { 0.0 }
            });
            let (step, y) = (normal(&reshaped), reference::one_hot(&labels));
            let mut f = y.clone();
            for _ in 0..200 {
                f = step.dot(&f) * alpha + &y * (1.0 - alpha);
            }
            for (a, b) in found.scores.iter().zip(&f) {
                prop_assert!((a - b).abs() < 1e-6, "{a} {b}");
            }
        }
    }

    #[test]
    fn constraints_weaken_the_edges_that_cross_between_classes() {
        let (graph, labels) = (path(), path_labels());
        let s = NegativeEdges::from_pairs(&graph, [(1, 2, 1.0)]).unwrap();
        let lgc = Lgc::new();
        let plain = lgc.propagate(&graph, &labels, &Monitor::silent()).unwrap();
        let crossing = |beliefs: Beliefs| beliefs.scores[[1, 1]] / beliefs.scores[[1, 0]];
        assert!(crossing(run(&graph, &labels, &s)) < 0.5 * crossing(plain));
    }

    #[test]
    fn isolated_nodes_one_class_and_bad_input() {
        let graph = Graph::new(vec![0, 1, 2, 2], vec![1, 0], vec![1.0, 1.0]).unwrap();
        let none = NegativeEdges::from_pairs(&graph, []).unwrap();
        let beliefs = run(&graph, &Labels::parse(["a", "", ""]), &none);
        assert_eq!(beliefs.pseudo_label, [Some(0), Some(0), None]);
        let error = |method: GongExact, graph: &Graph, labels: &Labels| {
            let none = NegativeEdges::from_pairs(graph, []).unwrap();
            let found = method.spread_given(graph, labels, &none, &Monitor::silent());
            found.unwrap_err().to_string()
        };
        let new = GongExact::new;
        assert!(error(new().alpha(0.0), &path(), &path_labels()).starts_with("alpha = 0"));
        assert!(error(new(), &path(), &Labels::unknown(4)).contains("no item has"));
        let large = Graph::new(vec![0; 3002], Vec::new(), Vec::new()).unwrap();
        let refused = new().propagate(&large, &Labels::unknown(3001), &Monitor::silent());
        assert!(refused.unwrap_err().to_string().contains("these are 3001"));
    }
}
