//! Dissimilarity as inequalities: two unlike items may not both be sure of one class. A
//! quadratic program, for small graphs.
//!
//! ```text
//! min  tr F^T L F / 2 + gamma tr (F-Y)^T E_L (F-Y) / 2 + beta sum_{i<j} S_ij sum_c x_ijc
//! with F 1 = 1,  F_ic + F_jc <= 1 + x_ijc,  x_ijc >= 0.
//! ```
//!
//! A negative edge costs nothing as long as no class has more than half of both ends, so
//! classes that neither end belongs to are left alone; that is what
//! [`Lpdr`](super::Lpdr) gets wrong. With two classes and a large `beta` the scores of the
//! two ends mirror each other.
//!
//! **Use it** to compare on small sets, with few negative edges. **Not** otherwise.
//!
//! Cost: an interior-point method factorises a system of all scores and all C inequalities an
//! edge, up to O((nC + edges C)³). Fails above 1000 nodes and above 200,000 unknowns.
//!
//! Source: Goldberg, Zhu and Wright 2007, of which we had the description in Zhuang and
//! Moulin 2023: a quadratic program with many inequality constraints for several classes. The
//! inequality above is our reading, written for scores of 0 and 1; they fit labels by the
//! hinge of a multi-class support vector machine on a kernel, here it is the squared
//! error on the labeled nodes as in the other methods.
//!
//! Needs the cargo feature `exact`, which compiles the solver clarabel; fails without it.

#[cfg_attr(not(feature = "exact"), path = "goldberg/absent.rs")]
mod program;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::mixed::given_or_found;
use super::parts::known::Known;
use super::parts::parameter::{not_negative, positive, setters};
use super::{Given, Mass, NegativeEdges, Propagate, Spread};
use crate::{Beliefs, Error, Graph, Labels, Monitor, Result};

/// Most nodes, and most unknowns: scores and slacks.
const NODES: usize = 1000;
const UNKNOWNS: usize = 200_000;

/// Parameters of the quadratic program.
///
/// ```
/// # #[cfg(feature = "exact")] {
/// use likewise::propagate::{Given, GoldbergExact, NegativeEdges, Propagate};
/// use likewise::{Graph, Labels, Monitor};
/// let graph = Graph::new(vec![0, 1, 2], vec![1, 0], vec![1.0, 1.0])?;
/// let labels = Labels::parse(["cat", "", ]);
/// let negatives = NegativeEdges::from_pairs(&graph, [(0, 1, 1.0)])?;
/// // With one class all scores are 1: the two cannot be told apart.
/// let given = Given::new(&graph, &labels).negatives(&negatives);
/// let beliefs = GoldbergExact::new().spread(&given, &Monitor::silent())?.beliefs;
/// assert!((beliefs.scores[[1, 0]] - 1.0).abs() < 1e-6);
/// # }
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GoldbergExact {
    gamma: f64,
    beta: f64,
    mass: Mass,
}

impl Default for GoldbergExact {
    fn default() -> Self {
        Self {
            gamma: 100.0,
            beta: 1.0,
            mass: Mass::None,
        }
    }
}

impl GoldbergExact {
    /// Nodes that a graph may have at most.
    pub const MOST_NODES: usize = NODES;

    /// `gamma = 100`, `beta = 1`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Weight of the negative edges, at least 0.
    #[must_use]
    pub fn beta(mut self, beta: f64) -> Self {
        self.beta = beta;
        self
    }

    setters!(gamma mass);

    /// Fails where the solver is not in this build.
    pub(super) fn is_built() -> Result<()> {
        program::is_built()
    }

    /// Beliefs with the given negative edges.
    fn spread_given(
        &self,
        graph: &Graph,
        labels: &Labels,
        negatives: &NegativeEdges,
        monitor: &Monitor,
    ) -> Result<Beliefs> {
        positive("gamma", self.gamma)?;
        not_negative("beta", self.beta)?;
        negatives.check(graph)?;
        let n = graph.n();
        let known = Known::new(graph, labels, monitor)?;
        let inside = |&(i, _, _): &(u32, u32, f64)| known.reached(i as usize);
        let edges: Vec<_> = negatives.edges(graph).filter(inside).collect();
        let unknowns = (n + edges.len()) * known.n_classes();
        if unknowns > UNKNOWNS {
            return Err(Error::data(format!(
                "{} nodes and {} negative edges with {} classes are {unknowns} unknowns; take \
                 fewer (at most {UNKNOWNS}), or Mixed",
                n,
                edges.len(),
                known.n_classes()
            )));
        }
        monitor.start("quadratic program", None);
        monitor.check()?;
        let (x, iterations) = program::solve(&known, &edges, self.gamma, self.beta)?;
        monitor.end();
        let classes = known.n_classes();
        let scores = Array2::from_shape_fn((n, classes), |(i, c)| {
            if known.reached(i) {
                x[i * classes + c]
            } else {
                0.0
            }
        });
        let convergence = known.convergence(&[], monitor);
        let mut convergence = negatives.report(&known, convergence, monitor);
        convergence.iterations = iterations;
        Ok(known.beliefs(scores, self.mass, convergence))
    }
}

impl Propagate for GoldbergExact {
    fn spread(&self, given: &Given, monitor: &Monitor) -> Result<Spread> {
        given.check::<Self>()?;
        program::is_built()?;
        let negatives = given_or_found(given, monitor)?;
        let beliefs = self.spread_given(given.graph, given.labels, &negatives, monitor)?;
        Ok(beliefs.into())
    }
}

#[cfg(all(test, feature = "exact"))]
mod tests {
    use super::*;
    use crate::propagate::Harmonic;
    use crate::reference::{self, path, path_labels};
    use crate::seed;
    use proptest::prelude::*;
    use rand::RngExt;

    fn run(method: &GoldbergExact, graph: &Graph, labels: &Labels, s: &NegativeEdges) -> Beliefs {
        method
            .spread_given(graph, labels, s, &Monitor::silent())
            .unwrap()
    }

    /// The objective with the slacks at their best value.
    fn objective(
        method: &GoldbergExact,
        graph: &Graph,
        labels: &Labels,
        s: &NegativeEdges,
        f: &Array2<f64>,
    ) -> f64 {
        let all = NegativeEdges::weigh(graph, |_, _, _| 1.0);
        let mut sum = 0.0;
        for (i, j, _) in all.edges(graph) {
            let w = f64::from(graph.weight(i as usize, j as usize).unwrap());
            let gap = &f.row(i as usize) - &f.row(j as usize);
            sum += w * gap.dot(&gap) / 2.0;
        }
        for (i, y) in reference::one_hot(labels).rows().into_iter().enumerate() {
            if labels[i].class().is_some() {
                let gap = &f.row(i) - &y;
                sum += method.gamma * gap.dot(&gap) / 2.0;
            }
        }
        for (i, j, weight) in s.edges(graph) {
            let both = &f.row(i as usize) + &f.row(j as usize);
            sum += method.beta * weight * both.iter().map(|b| (b - 1.0).max(0.0)).sum::<f64>();
        }
        sum
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn no_step_improves_it_and_without_negative_edges_it_is_plain(
            n in 3_usize..25, classes in 2_u32..4, beta in 0.0_f64..5.0, seed in 0_u64..10_000,
        ) {
            let graph = reference::random_graph(n, 3 * n, seed);
            let labels = reference::random_labels(n, classes, seed).compact().0;
            let method = GoldbergExact::new().beta(beta);
            let none = NegativeEdges::from_pairs(&graph, []).unwrap();
            let plain = Harmonic::new().mu(100.0);
            let plain = plain.propagate(&graph, &labels, &Monitor::silent()).unwrap();
            for (a, b) in run(&method, &graph, &labels, &none).scores.iter().zip(&plain.scores) {
                prop_assert!((a - b).abs() < 1e-5, "{a} {b}");
            }
            let s = NegativeEdges::weigh(&graph, |i, j, _| f64::from(u8::from((i + j) % 3 == 0)));
            let found = run(&method, &graph, &labels, &s).scores;
            let best = objective(&method, &graph, &labels, &s, &found);
            let mut rng = seed::stream(seed, "test steps");
            for _ in 0..50 {
                // Rows keep their sum of 1.
                let mut other = found.clone();
                for mut row in other.rows_mut() {
                    if row.sum() < 0.5 || rng.random::<f64>() < 0.5 {
                        continue;
                    }
                    let (a, b) = (rng.random_range(0..row.len()), rng.random_range(0..row.len()));
                    let step = 0.02 * (rng.random::<f64>() - 0.5);
                    row[a] += step;
                    row[b] -= step;
                }
                let value = objective(&method, &graph, &labels, &s, &other);
                prop_assert!(value > best - 1e-6, "{value} {best}");
            }
        }
    }

    #[test]
    fn with_two_classes_and_a_large_beta_the_ends_mirror_each_other() {
        let s = NegativeEdges::from_pairs(&path(), [(0, 1, 1.0)]).unwrap();
        let method = GoldbergExact::new().beta(1e4);
        let scores = run(&method, &path(), &path_labels(), &s).scores;
        for c in 0..2 {
            assert!((scores[[0, c]] + scores[[1, c]] - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn parts_without_labels_and_bad_input() {
        let graph = Graph::new(vec![0, 1, 2, 3, 4], vec![1, 0, 3, 2], vec![1.0; 4]).unwrap();
        let s = NegativeEdges::from_pairs(&graph, [(2, 3, 1.0)]).unwrap();
        let beliefs = run(
            &GoldbergExact::new(),
            &graph,
            &Labels::parse(["a", "b", "", ""]),
            &s,
        );
        assert_eq!(beliefs.pseudo_label, [Some(0), Some(1), None, None]);
        let error = |method: GoldbergExact, graph: &Graph, labels: &Labels| {
            let none = NegativeEdges::from_pairs(graph, []).unwrap();
            let found = method.spread_given(graph, labels, &none, &Monitor::silent());
            found.unwrap_err().to_string()
        };
        let new = GoldbergExact::new;
        assert!(error(new().beta(-1.0), &path(), &path_labels()).starts_with("beta = -1"));
        assert!(error(new(), &path(), &Labels::unknown(4)).contains("no item has"));
        let large = Graph::new(vec![0; 1002], Vec::new(), Vec::new()).unwrap();
        let refused = new().propagate(&large, &Labels::unknown(1001), &Monitor::silent());
        assert!(refused.unwrap_err().to_string().contains("these are 1001"));
        let wide = Graph::new(vec![0; 1001], Vec::new(), Vec::new()).unwrap();
        let many = Labels::from_integers((0..1000).map(|i| i % 300));
        assert!(error(new(), &wide, &many).contains("300000 unknowns"));
    }
}
