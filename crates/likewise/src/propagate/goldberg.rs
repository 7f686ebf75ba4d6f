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
//! **Use it** to compare on small sets, with few negative edges. **Not** otherwise: an
//! interior-point method factorises a system of all scores and all C inequalities an edge,
//! up to O((nC + edges C)³). Fails above 1000 nodes and above 200,000 unknowns.
//!
//! Source: Goldberg, Zhu and Wright 2007, of which we had the description in Zhuang and
//! Moulin 2023: a quadratic program with many inequality constraints for several classes. The
//! inequality above is our reading, written for scores of 0 and 1; they fit labels by the
//! hinge of a multi-class support vector machine on a kernel, here it is the squared
//! error on the labeled nodes as in the other methods.
//!
//! Needs the feature `exact`, which compiles the solver clarabel.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus, ZeroConeT,
};
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::harmonic::diagonal;
use super::known::Known;
use super::lgc::positive;
use super::parameter::{not_negative, setters};
use super::{Mass, NegativeEdges};
use crate::{Beliefs, Error, ErrorKind, Graph, Labels, Monitor, Result};

/// Most nodes, and most unknowns: scores and slacks.
const NODES: usize = 1000;
const UNKNOWNS: usize = 200_000;

/// Parameters of the quadratic program.
///
/// ```
/// use likewise::propagate::{GoldbergExact, NegativeEdges};
/// use likewise::{Graph, Labels, Monitor};
/// let graph = Graph::new(vec![0, 1, 2], vec![1, 0], vec![1.0, 1.0])?;
/// let labels = Labels::parse(["cat", "", ]);
/// let negatives = NegativeEdges::from_pairs(&graph, [(0, 1, 1.0)])?;
/// // With one class all scores are 1: the two cannot be told apart.
/// let method = GoldbergExact::new();
/// let beliefs = method.propagate_given(&graph, &labels, &negatives, &Monitor::silent())?;
/// assert!((beliefs.scores[[1, 0]] - 1.0).abs() < 1e-6);
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

    /// Beliefs with the given negative edges.
    ///
    /// Fails above 1000 nodes or 200,000 unknowns, if `negatives` is not of this graph, if
    /// the solver does not finish, and as [`propagate`](super::Propagate::propagate) does.
    /// It cannot be cancelled while it solves.
    pub fn propagate_given(
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
        if n > NODES {
            return Err(Error::data(format!(
                "{n} nodes are too many for this method; take at most {NODES}, or Mixed"
            )));
        }
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
        let program = Program::new(&known, &edges, self);
        let (x, iterations) = program.solve()?;
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

/// A sparse matrix in the making: rows, columns, values.
#[derive(Default)]
struct Triplets(Vec<usize>, Vec<usize>, Vec<f64>);

impl Triplets {
    fn push(&mut self, row: usize, column: usize, value: f64) {
        self.0.push(row);
        self.1.push(column);
        self.2.push(value);
    }

    fn matrix(self, rows: usize, columns: usize) -> CscMatrix<f64> {
        CscMatrix::new_from_triplets(rows, columns, self.0, self.1, self.2)
    }
}

/// `min x'Px/2 + q'x` with `Ax + s = b`: the first `equalities` rows have `s = 0`, the others
/// `s >= 0`. Unknowns: the scores, row by row, then the slacks, edge by edge.
struct Program {
    quadratic: CscMatrix<f64>,
    linear: Vec<f64>,
    rows: CscMatrix<f64>,
    bounds: Vec<f64>,
    equalities: usize,
}

impl Program {
    fn new(known: &Known, edges: &[(u32, u32, f64)], method: &GoldbergExact) -> Self {
        let (graph, classes) = (known.graph, known.n_classes());
        let n = graph.n();
        let unknowns = (n + edges.len()) * classes;
        let mut quadratic = Triplets::default();
        let mut linear = vec![0.0; unknowns];
        for (i, d) in diagonal(known, method.gamma).into_iter().enumerate() {
            for c in 0..classes {
                // The upper half is enough; a part without labels gets a unit matrix.
                let reached = known.reached(i);
                quadratic.push(
                    i * classes + c,
                    i * classes + c,
                    if reached { d } else { 1.0 },
                );
                let (columns, weights) = graph.row(i);
                let later = columns.iter().zip(weights);
                for (&j, &w) in later.filter(|&(&j, _)| reached && j as usize > i) {
                    let column = j as usize * classes + c;
                    quadratic.push(i * classes + c, column, -f64::from(w));
                }
            }
            if let Some(class) = known.label[i] {
                linear[i * classes + class] = -method.gamma;
            }
        }
        let mut rows = Triplets::default();
        let mut bounds = vec![1.0; n];
        for i in 0..n {
            for c in 0..classes {
                rows.push(i, i * classes + c, 1.0);
            }
        }
        for (e, &(i, j, s)) in edges.iter().enumerate() {
            for c in 0..classes {
                let slack = (n + e) * classes + c;
                linear[slack] = method.beta * s;
                let row = bounds.len();
                rows.push(row, i as usize * classes + c, 1.0);
                rows.push(row, j as usize * classes + c, 1.0);
                rows.push(row, slack, -1.0);
                rows.push(row + 1, slack, -1.0);
                bounds.extend([1.0, 0.0]);
            }
        }
        Self {
            quadratic: quadratic.matrix(unknowns, unknowns),
            linear,
            rows: rows.matrix(bounds.len(), unknowns),
            bounds,
            equalities: n,
        }
    }

    fn solve(&self) -> Result<(Vec<f64>, usize)> {
        let failed = |what: String| {
            let message = format!("the quadratic program was not solved: {what}");
            Error::new(ErrorKind::Internal, message)
        };
        let cones = [
            ZeroConeT(self.equalities),
            NonnegativeConeT(self.bounds.len() - self.equalities),
        ];
        let settings = DefaultSettings {
            verbose: false,
            ..DefaultSettings::default()
        };
        let (p, a) = (&self.quadratic, &self.rows);
        let mut solver = DefaultSolver::new(p, &self.linear, a, &self.bounds, &cones, settings)
            .map_err(|e| failed(e.to_string()))?;
        solver.solve();
        match solver.solution.status {
            SolverStatus::Solved | SolverStatus::AlmostSolved => {
                let iterations = solver.solution.iterations as usize;
                Ok((std::mem::take(&mut solver.solution.x), iterations))
            }
            status => Err(failed(format!("{status:?}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::propagate::{Harmonic, Propagate};
    use crate::reference::{self, path, path_labels};
    use crate::seed;
    use proptest::prelude::*;
    use rand::RngExt;

    fn run(method: &GoldbergExact, graph: &Graph, labels: &Labels, s: &NegativeEdges) -> Beliefs {
        method
            .propagate_given(graph, labels, s, &Monitor::silent())
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
            let found = method.propagate_given(graph, labels, &none, &Monitor::silent());
            found.unwrap_err().to_string()
        };
        let new = GoldbergExact::new;
        assert!(error(new().beta(-1.0), &path(), &path_labels()).starts_with("beta = -1"));
        assert!(error(new(), &path(), &Labels::unknown(4)).contains("no item has"));
        let large = Graph::new(vec![0; 1002], Vec::new(), Vec::new()).unwrap();
        assert!(error(new(), &large, &Labels::unknown(1001)).contains("1001 nodes"));
        let wide = Graph::new(vec![0; 1001], Vec::new(), Vec::new()).unwrap();
        let many = Labels::from_integers((0..1000).map(|i| i % 300));
        assert!(error(new(), &wide, &many).contains("300000 unknowns"));
    }
}
