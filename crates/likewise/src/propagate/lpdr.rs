//! Label propagation with dissimilarity regularisation: neighbours that are negative edges
//! are pushed apart.
//!
//! Stationary point of `tr F^T L F / 2 + gamma tr (F-Y)^T E_L (F-Y) / 2 -
//! lambda f / 4 sum_ij S_ij |F_i - F_j|^2`, that is
//! `[L + gamma E_L - f lambda L_S] F = gamma E_L Y` with `E_L` 1 on labeled nodes,
//! `L_S = D_S - S`, and the pair factor `f`.
//!
//! **Use it** to compare with [`Mixed`]. **Not** to label data with many classes: for a
//! class that neither end of a negative edge belongs to, both scores should be 0, and
//! this method drives them apart. And where negative edges outweigh positive ones the
//! objective has no minimum; what is found is a saddle point. This is reported, see below.
//!
//! With the default, negative edges of the standardised search and pair factor 1, a
//! negative edge weighs at most what its positive one does, and the system is definite for
//! `lambda` up to 1. With given edges of weight 1, or pair factor 2, it need not be:
//! the number of classes whose solve met negative curvature is in
//! [`Convergence::negative_curvature`](crate::Convergence), with a warning.
//! [`negative_pivots_exact`](Lpdr::negative_pivots_exact) counts the directions.
//!
//! Rows sum to 1 in every component with a label, so it is solved for the deviation from
//! the label proportions, as [`Harmonic`](super::Harmonic).
//!
//! Cost: one solve of O(iterations x entries x C) by minimum residuals, and the search for
//! negative edges where none are given; memory O(entries + n C).
//!
//! Source: Zheng and Ip 2013, as quoted in eq. (25) and section 4.5 of Zhuang and Moulin
//! 2023: `gamma = 100`, `lambda = 1`. Their text does not say what `gamma` weighs; the
//! label fit is our reading. The class-mass normalisation of their abstract is [`Mass`],
//! off by default. They have a dense closed form, we solve by iteration.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::parts::known::Known;
use super::parts::parameter::{not_negative, positive, setters};
use super::{Given, Mass, Mixed, NegativeEdges, Propagate, Spread};
use crate::solve::{ConjugateGradient, MinRes, Operator, Sparse, minres};
use crate::{Beliefs, Error, Graph, Labels, Monitor, Result};

/// Parameters of propagation with dissimilarity regularisation.
///
/// ```
/// use likewise::propagate::{Given, Lpdr, NegativeEdges, Propagate};
/// use likewise::{Graph, Labels, Monitor};
/// let graph = Graph::new(
///     vec![0, 1, 3, 5, 6],
///     vec![1, 0, 2, 1, 3, 2],
///     vec![1.0, 1.0, 0.5, 0.5, 1.0, 1.0],
/// )?;
/// let labels = Labels::parse(["cat", "", "", "dog"]);
/// let negatives = NegativeEdges::from_pairs(&graph, [(1, 2, 0.25)])?;
/// let given = Given::new(&graph, &labels).negatives(&negatives);
/// let beliefs = Lpdr::new().spread(&given, &Monitor::silent())?.beliefs;
/// // The middle edge weighs 1/2 - 1/4: the scores of its ends are 4/6.02 apart.
/// let gap = beliefs.scores[[1, 0]] - beliefs.scores[[2, 0]];
/// assert!((gap - 4.0 / 6.02).abs() < 1e-9);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lpdr {
    gamma: f64,
    lambda: f64,
    pair_factor: f64,
    search: Mixed,
    mass: Mass,
    tolerance: f64,
    max_iterations: usize,
}

impl Default for Lpdr {
    fn default() -> Self {
        let solver = ConjugateGradient::default();
        Self {
            gamma: 100.0,
            lambda: 1.0,
            pair_factor: 1.0,
            search: Mixed::labeled(),
            mass: Mass::None,
            tolerance: solver.tolerance,
            max_iterations: solver.max_iterations,
        }
    }
}

impl Lpdr {
    /// `gamma = 100`, `lambda = 1`, pair factor 1, negative edges as [`Mixed::new`] finds
    /// them: always a definite system.
    pub fn new() -> Self {
        Self::default()
    }

    /// As printed: pair factor 2, negative edges as [`Mixed::paper`] finds them.
    pub fn paper() -> Self {
        Self {
            pair_factor: 2.0,
            search: Mixed::paper(),
            ..Self::default()
        }
    }

    /// Weight of the negative edges, at least 0.
    #[must_use]
    pub fn lambda(mut self, lambda: f64) -> Self {
        self.lambda = lambda;
        self
    }

    /// The method whose search finds the negative edges where none are given.
    #[must_use]
    pub fn search(mut self, search: Mixed) -> Self {
        self.search = search;
        self
    }

    setters!(gamma pair_factor mass solver);

    /// Beliefs with negative edges that are given, of an oracle for instance.
    fn spread_given(
        &self,
        graph: &Graph,
        labels: &Labels,
        negatives: &NegativeEdges,
        monitor: &Monitor,
    ) -> Result<Beliefs> {
        self.check()?;
        negatives.check(graph)?;
        let known = Known::new(graph, labels, monitor)?;
        self.solve(&known, negatives, monitor)
    }

    /// Number of negative eigenvalues of the system: of directions along which the
    /// objective is unbounded below. 0 if it has a minimum.
    ///
    /// Fails as [`spread`](Propagate::spread) does, and above 4000 nodes, since
    /// it is O(n³).
    pub fn negative_pivots_exact(
        &self,
        graph: &Graph,
        labels: &Labels,
        negatives: &NegativeEdges,
    ) -> Result<usize> {
        self.check()?;
        negatives.check(graph)?;
        let n = graph.n();
        if n > minres::EXACT {
            let most = minres::EXACT;
            return Err(Error::data(format!(
                "{n} nodes are too many to count pivots; take a part of at most {most}"
            )));
        }
        let known = Known::new(graph, labels, &Monitor::silent())?;
        let weights = self.weights(graph, negatives);
        let diagonal = self.diagonal(&known, negatives);
        let mut dense = Array2::from_diag(&ndarray::Array1::from(diagonal));
        for i in 0..n {
            for entry in graph.indptr()[i]..graph.indptr()[i + 1] {
                dense[[i, graph.indices()[entry] as usize]] = -weights[entry];
            }
        }
        minres::negative_eigenvalues_exact(dense.view())
    }

    fn check(&self) -> Result<()> {
        positive("gamma", self.gamma)?;
        not_negative("lambda", self.lambda)?;
        positive("pair_factor", self.pair_factor)
    }

    fn diagonal(&self, known: &Known, negatives: &NegativeEdges) -> Vec<f64> {
        let pushed = negatives.degrees(known.graph);
        (known.diagonal(self.gamma).into_iter().zip(pushed))
            .map(|(d, s)| d - self.pair_factor * self.lambda * s)
            .collect()
    }

    fn weights(&self, graph: &Graph, negatives: &NegativeEdges) -> Vec<f64> {
        (graph.weights().iter().zip(negatives.weights()))
            .map(|(&w, s)| f64::from(w) - self.pair_factor * self.lambda * s)
            .collect()
    }

    fn solve(
        &self,
        known: &Known,
        negatives: &NegativeEdges,
        monitor: &Monitor,
    ) -> Result<Beliefs> {
        let weights = self.weights(known.graph, negatives);
        let operator = Sparse::new(known.graph, self.diagonal(known, negatives), &weights);
        let mut rhs = known.one_hot(|_| self.gamma);
        for (i, label) in known.label.iter().enumerate() {
            if label.is_some() {
                rhs.row_mut(i)
                    .scaled_add(-self.gamma, &known.proportions(i));
            }
        }
        let stop = self.solver();
        monitor.start("propagation with dissimilarity", None);
        let mut found = MinRes { stop }.solve(&operator, rhs.view(), monitor)?;
        monitor.end();
        let convergence = known.convergence(&[&found.solution], monitor);
        let mut convergence = negatives.report(known, convergence, monitor);
        // A negative diagonal entry is such a direction too, whether a solve met it or not.
        let alone = operator.diagonal().iter().any(|&d| d < 0.0);
        let met = found.negative_curvature.iter().filter(|&&met| met).count();
        convergence.negative_curvature = Some(if alone { known.n_classes() } else { met });
        if convergence.negative_curvature > Some(0) {
            monitor.warn(format!(
                "the objective has no minimum for {} of {} classes, since negative edges \
                 outweigh positive ones; the scores are a saddle point. Lower lambda or the \
                 weights of the negative edges, or use the mixed method",
                convergence.negative_curvature.unwrap_or(0),
                known.n_classes()
            ));
        }
        let scores = known.with_proportions(std::mem::take(&mut found.solution.x));
        Ok(known.beliefs(scores, self.mass, convergence))
    }
}

impl Propagate for Lpdr {
    fn spread(&self, given: &Given, monitor: &Monitor) -> Result<Spread> {
        given.check::<Self>()?;
        if let Some(negatives) = given.negatives {
            let beliefs = self.spread_given(given.graph, given.labels, negatives, monitor)?;
            return Ok(beliefs.into());
        }
        self.check()?;
        let known = Known::new(given.graph, given.labels, monitor)?;
        let (_, _, negatives) = self.search.search(&known, monitor)?;
        Ok(self.solve(&known, &negatives, monitor)?.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::propagate::Harmonic;
    use crate::reference::{self, in_one_and_two_threads, path, path_labels};
    use crate::{Event, seed};
    use proptest::prelude::*;
    use rand::RngExt;
    use std::sync::{Arc, Mutex};

    fn some_edges(graph: &Graph, share: f64, seed: u64) -> NegativeEdges {
        let mut rng = seed::stream(seed, "test negative edges");
        let all = NegativeEdges::weigh(graph, |_, _, _| 1.0);
        let edges = all.edges(graph).filter(|_| rng.random::<f64>() < share);
        let edges: Vec<_> = edges.map(|(i, j, _)| (i, j, 1.0)).collect();
        NegativeEdges::from_pairs(graph, edges).unwrap()
    }

    fn given(lpdr: &Lpdr, graph: &Graph, labels: &Labels, s: &NegativeEdges) -> Beliefs {
        lpdr.spread_given(graph, labels, s, &Monitor::silent())
            .unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn equals_the_dense_system(
            n in 2_usize..50, density in 1_usize..4, classes in 2_u32..5,
            lambda in 0.0_f64..1.5, seed in 0_u64..10_000,
        ) {
            let graph = reference::random_graph(n, density * n, seed);
            let labels = reference::random_labels(n, classes, seed).compact().0;
            let s = some_edges(&graph, 0.2, seed);
            let lpdr = Lpdr::paper().lambda(lambda).tolerance(1e-12);
            let mut m = reference::system(&reference::dense(&graph), &labels, 100.0);
            for (i, j, weight) in s.edges(&graph) {
                let (i, j, push) = (i as usize, j as usize, 2.0 * lambda * weight);
                m[[i, i]] -= push;
                m[[j, j]] -= push;
                m[[i, j]] += push;
                m[[j, i]] += push;
            }
            let keep = reference::reached(&graph, &labels);
            let expected = reference::solve(&m, &(reference::one_hot(&labels) * 100.0), &keep);
            prop_assume!(expected.iter().all(|v| v.abs() < 1e3));
            let beliefs = given(&lpdr, &graph, &labels, &s);
            prop_assert!(beliefs.convergence.converged);
            for (a, b) in beliefs.scores.iter().zip(&expected) {
                prop_assert!((a - b).abs() < 1e-5, "{a} {b}");
            }
            for (i, keep) in keep.into_iter().enumerate() {
                let sum = if keep { 1.0 } else { 0.0 };
                prop_assert!((beliefs.scores.row(i).sum() - sum).abs() < 1e-6);
            }
            // What a solve met is really there.
            let pivots = lpdr.negative_pivots_exact(&graph, &labels, &s).unwrap();
            prop_assert!(pivots > 0 || beliefs.convergence.negative_curvature == Some(0));
        }
    }

    #[test]
    fn without_negative_edges_it_is_plain_propagation() {
        let graph = reference::random_graph(200, 900, 1);
        let labels = reference::random_labels(200, 4, 1);
        let none = NegativeEdges::from_pairs(&graph, []).unwrap();
        let plain = Harmonic::new().mu(100.0);
        let plain = plain
            .propagate(&graph, &labels, &Monitor::silent())
            .unwrap();
        let beliefs = given(&Lpdr::new(), &graph, &labels, &none);
        assert_eq!(beliefs.pseudo_label, plain.pseudo_label);
        for (a, b) in beliefs.scores.iter().zip(&plain.scores) {
            assert!((a - b).abs() < 1e-8);
        }
    }

    #[test]
    fn its_own_search_with_the_default_is_definite() {
        let graph = reference::random_graph(300, 2000, 3);
        let labels = reference::random_labels(300, 4, 3);
        let beliefs = Lpdr::new().propagate(&graph, &labels, &Monitor::silent());
        let convergence = beliefs.unwrap().convergence;
        assert!(convergence.converged && convergence.mean_negative_weight > Some(0.0));
        assert_eq!(convergence.negative_curvature, Some(0));
    }

    #[test]
    fn an_unbounded_objective_is_reported_in_words() {
        let graph = path();
        let s = NegativeEdges::from_pairs(&graph, [(1, 2, 1.0)]).unwrap();
        let lpdr = Lpdr::paper();
        let pivots = |s| lpdr.negative_pivots_exact(&graph, &path_labels(), s);
        assert_eq!(pivots(&s).unwrap(), 1);
        let words = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&words);
        let monitor = Monitor::new(move |event: &Event| {
            if let Event::Warning(text) = event {
                sink.lock().unwrap().push(text.clone());
            }
        });
        let beliefs = lpdr.spread_given(&graph, &path_labels(), &s, &monitor);
        let beliefs = beliefs.unwrap();
        assert!(beliefs.convergence.negative_curvature > Some(0));
        assert!(
            words
                .lock()
                .unwrap()
                .iter()
                .any(|w| w.contains("saddle point"))
        );
        assert!(beliefs.scores.iter().all(|v| v.is_finite()));
        let weak = NegativeEdges::from_pairs(&graph, [(1, 2, 0.2)]).unwrap();
        assert_eq!(pivots(&weak).unwrap(), 0);
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bytes() {
        let graph = reference::random_graph(1500, 9000, 2);
        let labels = reference::random_labels(1500, 7, 2);
        let (one, two) = in_one_and_two_threads(|| {
            (Lpdr::new().propagate(&graph, &labels, &Monitor::silent())).unwrap()
        });
        assert_eq!(one, two);
    }

    #[test]
    fn bad_input_is_refused_and_parameters_survive_json() {
        let error = |lpdr: Lpdr| -> Error {
            (lpdr.propagate(&path(), &path_labels(), &Monitor::silent())).unwrap_err()
        };
        assert!(
            error(Lpdr::new().gamma(0.0))
                .to_string()
                .starts_with("gamma = 0")
        );
        assert!(
            error(Lpdr::new().lambda(-1.0))
                .to_string()
                .starts_with("lambda = -1")
        );
        let search = Mixed::new().beta(f64::NAN);
        assert!(
            error(Lpdr::new().search(search))
                .to_string()
                .starts_with("beta = NaN")
        );
        let lpdr = Lpdr::paper().gamma(5.0);
        let json = serde_json::to_string(&lpdr).unwrap();
        assert_eq!(serde_json::from_str::<Lpdr>(&json).unwrap(), lpdr);
        assert!(serde_json::from_str::<Lpdr>("{\"mu\": 1}").is_err());
    }
}
