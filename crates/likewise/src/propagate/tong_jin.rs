//! Mixed propagation for two classes: the energy of similar pairs is made small and that of
//! dissimilar pairs large at once. Dense, for small graphs.
//!
//! With `y` of +1 and -1 for the two classes: `y` minimises
//! `y^T L y + gamma |y - y_given|^2 (on labeled nodes) - lambda y^T L_S y`, that is
//! `(L + gamma E_L - lambda L_S) y = gamma E_L y_given`, with `L_S = D_S - S`. Such an
//! energy has no minimum for a large `lambda`. The least `lambda` without one is
//! `1 / theta`, with `theta` the largest eigenvalue of `L_S` relative to `L + gamma E_L`.
//! What is used is a share of it: `lambda = share / theta`. The scores are
//! `(1 + y) / 2` and `(1 - y) / 2`.
//!
//! **Use it** to compare with the first mixed method on two classes. **Not** for more classes:
//! it fails, since "unlike" does not say which of the others. **Not** for large graphs.
//!
//! Cost: O(n³) time and O(n²) memory; fails above 2000 nodes.
//!
//! Source: Tong and Jin, AAAI 2007, of which we had the description in Zhuang and Moulin 2023
//! and what its abstract says: the assignment minimises the energy of positive
//! similarity and maximises that of negative similarity. Their ratio of the two and its
//! relaxation are not reproduced: the ratio is the limit `share = 1`, where one weakly
//! tied node can take all of `y`. With the bounded combination there is a closed form.

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::mixed::given_or_found;
use super::parts::known::Known;
use super::parts::mass::Mass;
use super::parts::parameter::{positive, setters};
use super::{Given, NegativeEdges, Propagate, Spread};
use crate::solve::on_one_thread;
use crate::{Beliefs, Error, ErrorKind, Graph, Labels, Monitor, Result};

/// Most nodes.
const MOST: usize = 2000;

/// Parameters of mixed propagation for two classes.
///
/// ```
/// use likewise::propagate::{Given, NegativeEdges, Propagate, TongJinExact};
/// use likewise::{Graph, Labels, Monitor};
/// let graph = Graph::new(
///     vec![0, 1, 3, 5, 6],
///     vec![1, 0, 2, 1, 3, 2],
///     vec![1.0, 1.0, 0.5, 0.5, 1.0, 1.0],
/// )?;
/// let labels = Labels::parse(["cat", "", "", "dog"]);
/// let negatives = NegativeEdges::from_pairs(&graph, [(1, 2, 1.0)])?;
/// let given = Given::new(&graph, &labels).negatives(&negatives);
/// let beliefs = TongJinExact::new().spread(&given, &Monitor::silent())?.beliefs;
/// assert_eq!(beliefs.pseudo_label, [Some(0), Some(0), Some(1), Some(1)]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TongJinExact {
    gamma: f64,
    share: f64,
    mass: Mass,
}

impl Default for TongJinExact {
    fn default() -> Self {
        Self {
            gamma: 100.0,
            share: 0.5,
            mass: Mass::None,
        }
    }
}

impl TongJinExact {
    /// Nodes that a graph may have at most.
    pub const MOST_NODES: usize = MOST;

    /// `gamma = 100`, half of the largest weight for dissimilar pairs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Share of the largest weight for dissimilar pairs at which there is a minimum; at least 0
    /// and below 1.
    #[must_use]
    pub fn share(mut self, share: f64) -> Self {
        self.share = share;
        self
    }

    setters!(gamma mass);

    /// Beliefs with the given negative edges; without any, those of plain propagation.
    fn spread_given(
        &self,
        graph: &Graph,
        labels: &Labels,
        negatives: &NegativeEdges,
        monitor: &Monitor,
    ) -> Result<Beliefs> {
        positive("gamma", self.gamma)?;
        if !(self.share >= 0.0 && self.share < 1.0) {
            let rule = "must be at least 0 and below 1";
            return Err(Error::parameter("share", self.share, rule));
        }
        negatives.check(graph)?;
        let n = graph.n();
        let known = Known::new(graph, labels, monitor)?;
        if known.n_classes() != 2 {
            return Err(Error::data(format!(
                "{} classes have labels, but tong-jin is for exactly 2; the method mixed takes any number",
                known.n_classes()
            )));
        }
        monitor.start("mixed propagation for two classes", None);
        let (system, push) = self.systems(&known, negatives);
        let theta = on_one_thread(|| largest_relative(&system, &push))??;
        monitor.check()?;
        let lambda = if theta > 0.0 { self.share / theta } else { 0.0 };
        let combined = Mat::from_fn(n, n, |i, j| system[(i, j)] - lambda * push[(i, j)]);
        let given = Mat::from_fn(n, 1, |i, _| match known.label[i] {
            Some(0) => self.gamma,
            Some(_) => -self.gamma,
            None => 0.0,
        });
        let y = on_one_thread(|| combined.partial_piv_lu().solve(&given))?;
        monitor.end();
        let scores = Array2::from_shape_fn((n, 2), |(i, c)| match (known.reached(i), c) {
            (false, _) => 0.0,
            (true, 0) => f64::midpoint(1.0, y[(i, 0)]),
            (true, _) => f64::midpoint(1.0, -y[(i, 0)]),
        });
        let convergence = known.convergence(&[], monitor);
        let convergence = negatives.report(&known, convergence, monitor);
        Ok(known.beliefs(scores, self.mass, convergence))
    }

    /// `L + gamma E_L` and `L_S`; the unit matrix and 0 where no label reaches.
    fn systems(&self, known: &Known, negatives: &NegativeEdges) -> (Mat<f64>, Mat<f64>) {
        let graph = known.graph;
        let n = graph.n();
        let (mut system, mut push) = (Mat::<f64>::identity(n, n), Mat::<f64>::zeros(n, n));
        let pushed = negatives.degrees(graph);
        for (i, d) in known.diagonal(self.gamma).into_iter().enumerate() {
            if !known.reached(i) {
                continue;
            }
            (system[(i, i)], push[(i, i)]) = (d, pushed[i]);
            let (columns, weights) = graph.row(i);
            for ((entry, &j), &w) in (graph.indptr()[i]..).zip(columns).zip(weights) {
                system[(i, j as usize)] = -f64::from(w);
                push[(i, j as usize)] = -negatives.weights()[entry];
            }
        }
        (system, push)
    }
}

impl Propagate for TongJinExact {
    fn spread(&self, given: &Given, monitor: &Monitor) -> Result<Spread> {
        given.check::<Self>()?;
        let negatives = given_or_found(given, monitor)?;
        let beliefs = self.spread_given(given.graph, given.labels, &negatives, monitor)?;
        Ok(beliefs.into())
    }
}

/// Largest eigenvalue of `b` relative to the positive definite `a`: of `a^-1/2 b a^-1/2`.
fn largest_relative(a: &Mat<f64>, b: &Mat<f64>) -> Result<f64> {
    let failed = |e| {
        let message = format!("eigenvalues did not converge: {e:?}");
        Error::new(ErrorKind::Internal, message)
    };
    let n = a.nrows();
    let eigen = a.self_adjoint_eigen(Side::Lower).map_err(failed)?;
    let (vectors, values) = (eigen.U(), eigen.S().column_vector());
    let floor = 1e-12 * (0..n).fold(0.0_f64, |most, i| most.max(values[i]));
    let root = Mat::from_fn(n, n, |i, j| vectors[(i, j)] / values[j].max(floor).sqrt());
    let relative = root.transpose() * b * &root;
    let values = relative
        .self_adjoint_eigenvalues(Side::Lower)
        .map_err(failed)?;
    Ok(values.into_iter().fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::propagate::Harmonic;
    use crate::reference::{self, path, path_labels};
    use proptest::prelude::*;

    fn run(method: &TongJinExact, graph: &Graph, labels: &Labels, s: &NegativeEdges) -> Beliefs {
        method
            .spread_given(graph, labels, s, &Monitor::silent())
            .unwrap()
    }

    #[test]
    fn one_edge_by_hand() {
        // 0 - 1 with w = 1, s = 1, both labeled: L + 100 I = [101 -1; -1 101] and
        // L_S = [1 -1; -1 1]: theta = 2 / 102, so lambda = 25.5 for a half. Along (1, -1):
        // (102 - 51) y = 100.
        let graph = Graph::new(vec![0, 1, 2], vec![1, 0], vec![1.0, 1.0]).unwrap();
        let labels = Labels::parse(["a", "b"]);
        let s = NegativeEdges::from_pairs(&graph, [(0, 1, 1.0)]).unwrap();
        let scores = run(&TongJinExact::new(), &graph, &labels, &s).scores;
        let y = 100.0 / 51.0;
        assert!((2.0 * scores[[0, 0]] - (1.0 + y)).abs() < 1e-9);
        assert!((2.0 * scores[[1, 0]] - (1.0 - y)).abs() < 1e-9);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn without_negative_edges_it_is_plain_and_with_them_the_ends_move_apart(
            n in 4_usize..40, density in 1_usize..4, seed in 0_u64..10_000,
        ) {
            let graph = reference::random_graph(n, density * n, seed);
            let labels = reference::random_labels(n, 2, seed);
            prop_assume!(labels.compact().0.n_classes() == 2);
            let none = NegativeEdges::from_pairs(&graph, []).unwrap();
            let method = TongJinExact::new();
            let plain = run(&method, &graph, &labels, &none);
            let harmonic = Harmonic::new().mu(100.0).tolerance(1e-13);
            let harmonic = harmonic.propagate(&graph, &labels, &Monitor::silent()).unwrap();
            for (a, b) in plain.scores.iter().zip(&harmonic.scores) {
                prop_assert!((a - b).abs() < 1e-7);
            }
            // The energy of dissimilar pairs grows with their weight.
            let all = NegativeEdges::weigh(&graph, |_, _, w| (0.5 * w).min(1.0));
            let apart = |share: f64| {
                let scores = run(&method.clone().share(share), &graph, &labels, &all).scores;
                let pairs = all.edges(&graph);
                pairs.map(|(i, j, s)| s * (scores[[i as usize, 0]] - scores[[j as usize, 0]]).powi(2))
                    .sum::<f64>()
            };
            prop_assert!(apart(0.0) <= apart(0.4) + 1e-9 && apart(0.4) <= apart(0.8) + 1e-9);
        }
    }

    #[test]
    fn an_unlabeled_part_is_left_out() {
        let graph = Graph::new(vec![0, 1, 2, 3, 4], vec![1, 0, 3, 2], vec![1.0; 4]).unwrap();
        let labels = Labels::parse(["a", "b", "", ""]);
        let s = NegativeEdges::from_pairs(&graph, [(2, 3, 1.0), (0, 1, 0.5)]).unwrap();
        let beliefs = run(&TongJinExact::new(), &graph, &labels, &s);
        assert_eq!(beliefs.pseudo_label, [Some(0), Some(1), None, None]);
        assert!(beliefs.scores.row(3).iter().all(|&v| v == 0.0));
    }

    #[test]
    fn only_two_classes_and_small_graphs() {
        let message = |graph: &Graph, labels: &Labels, method: TongJinExact| {
            let none = NegativeEdges::from_pairs(graph, []).unwrap();
            let found = method.spread_given(graph, labels, &none, &Monitor::silent());
            found.unwrap_err().to_string()
        };
        let new = TongJinExact::new;
        let three = Labels::parse(["a", "b", "", "c"]);
        assert!(message(&path(), &three, new()).contains("3 classes have labels"));
        let one = Labels::parse(["a", "", "", ""]);
        assert!(message(&path(), &one, new()).contains("1 classes have labels"));
        assert!(message(&path(), &path_labels(), new().share(1.0)).starts_with("share = 1"));
        assert!(message(&path(), &path_labels(), new().gamma(0.0)).starts_with("gamma = 0"));
        let large = Graph::new(vec![0; 2002], Vec::new(), Vec::new()).unwrap();
        let refused = new().propagate(&large, &Labels::unknown(2001), &Monitor::silent());
        assert!(refused.unwrap_err().to_string().contains("these are 2001"));
    }
}
