//! The control of mixed propagation: negative edges from the labels of the two ends as
//! plain propagation has them, without cutting the edge.
//!
//! As [`Mixed`], but `Z_ij = F_i / |F_i|_1` for every neighbour `j`: no softmax and no
//! `lambda`. The weight of a negative edge is `omega(Z_i) omega(Z_j) (1 - Z_i . Z_j)`.
//!
//! **Use it** to see what cutting the edge is worth. **Not** to label data: plain propagation
//! pulls the two ends of an edge together, so the ends seldom disagree; and with a small
//! `mu` all rows of `F` are close to the label proportions, so all weights are close to 0
//! and the result is close to that of [`Harmonic`](super::Harmonic).
//!
//! Cost: two solves of O(iterations x entries x C), and O(entries x C) for the weights;
//! memory O(entries + n C).
//!
//! Source: Zhuang and Moulin, CVPR 2023, section 4.4 ("Control" of table 3). Negative
//! scores, which are rounding, count as 0.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::harmonic::deviation;
use super::parts::confidence::confidence;
use super::parts::known::Known;
use super::parts::parameter::setters;
use super::{Given, Mass, Mixed, NegativeEdges, Propagate, Spread};
use crate::solve::ConjugateGradient;
use crate::{Beliefs, Graph, Labels, Monitor, Result};

/// Parameters of the control.
///
/// ```
/// use likewise::propagate::{Control, Propagate};
/// use likewise::{Graph, Labels, Monitor};
/// let graph = Graph::new(
///     vec![0, 1, 3, 5, 6],
///     vec![1, 0, 2, 1, 3, 2],
///     vec![1.0, 1.0, 0.5, 0.5, 1.0, 1.0],
/// )?;
/// let labels = Labels::parse(["cat", "", "", "dog"]);
/// let beliefs = Control::new().propagate(&graph, &labels, &Monitor::silent())?;
/// assert_eq!(beliefs.pseudo_label, [Some(0), Some(0), Some(1), Some(1)]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Control {
    beta: f64,
    mu: f64,
    pair_factor: f64,
    mass: Mass,
    tolerance: f64,
    max_iterations: usize,
}

impl Default for Control {
    fn default() -> Self {
        let solver = ConjugateGradient::default();
        Self {
            beta: 1.0,
            mu: 1.0 / 99.0,
            pair_factor: 2.0,
            mass: Mass::None,
            tolerance: solver.tolerance,
            max_iterations: solver.max_iterations,
        }
    }
}

impl Control {
    /// The printed values: `beta = 1`, `mu = 1/99`, pair factor 2.
    pub fn new() -> Self {
        Self::default()
    }

    /// Weight of the negative edges, at least 0; 0 is plain propagation.
    #[must_use]
    pub fn beta(mut self, beta: f64) -> Self {
        self.beta = beta;
        self
    }

    setters!(mu pair_factor mass solver);

    /// Beliefs, and the negative edges that were found for them.
    fn spread_found(
        &self,
        graph: &Graph,
        labels: &Labels,
        monitor: &Monitor,
    ) -> Result<(Beliefs, NegativeEdges)> {
        let mixed = (Mixed::paper().beta(self.beta).mu(self.mu))
            .pair_factor(self.pair_factor)
            .tolerance(self.tolerance)
            .max_iterations(self.max_iterations);
        mixed.check()?;
        let known = Known::new(graph, labels, monitor)?;
        monitor.start("label propagation", None);
        let mut plain = deviation(&known, self.mu, &self.solver(), monitor)?;
        monitor.end();
        let f = known.with_proportions(std::mem::take(&mut plain.x));
        let negatives = disagreeing(graph, &f);
        let solution = mixed.solve(&known, &negatives, f, monitor)?;
        let convergence = known.convergence(&[&plain, &solution], monitor);
        let convergence = negatives.report(&known, convergence, monitor);
        let beliefs = known.beliefs(solution.x, self.mass, convergence);
        Ok((beliefs, negatives))
    }
}

impl Propagate for Control {
    fn spread(&self, given: &Given, monitor: &Monitor) -> Result<Spread> {
        given.check::<Self>()?;
        let (beliefs, negatives) = self.spread_found(given.graph, given.labels, monitor)?;
        Ok(Spread {
            beliefs,
            negatives: Some(negatives),
        })
    }
}

/// `omega(Z_i) omega(Z_j) (1 - Z_i . Z_j)` with `Z_i = F_i / |F_i|_1`; 0 at nodes that no
/// label reaches, since their confidence is 0.
fn disagreeing(graph: &Graph, f: &Array2<f64>) -> NegativeEdges {
    let omega = confidence(f.view());
    let mut z = f.mapv(|score| score.max(0.0));
    for mut row in z.rows_mut() {
        let sum = row.sum();
        if sum > 0.0 {
            row /= sum;
        }
    }
    NegativeEdges::weigh(graph, |i, j, _| {
        let same: f64 = z.row(i).iter().zip(z.row(j)).map(|(a, b)| a * b).sum();
        f64::from(omega[i]) * f64::from(omega[j]) * (1.0 - same).clamp(0.0, 1.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{self, in_one_and_two_threads, path, path_labels};
    use proptest::prelude::*;

    fn run(control: &Control, graph: &Graph, labels: &Labels) -> (Beliefs, NegativeEdges) {
        (control.spread_found(graph, labels, &Monitor::silent())).unwrap()
    }

    #[test]
    fn the_path_by_hand() {
        let graph = path();
        let (_, negatives) = run(&Control::new(), &graph, &path_labels());
        // F of the path, from its check values; the ends of the middle edge mirror each other.
        let f = [[0.509_900_99, 0.490_099_01], [0.504_950_5, 0.495_049_5]];
        let omega = |p: [f64; 2]| 1.0 + (p[0] * p[0].ln() + p[1] * p[1].ln()) / 2.0_f64.ln();
        let same = 2.0 * f[1][0] * f[1][1];
        let edges: Vec<_> = negatives.edges(&graph).collect();
        assert_eq!(edges.len(), 3);
        let middle = omega(f[1]).powi(2) * (1.0 - same);
        assert!((edges[1].2 / middle - 1.0).abs() < 1e-4);
        let end = omega(f[0]) * omega(f[1]) * (1.0 - f[0][0] * f[1][0] - f[0][1] * f[1][1]);
        assert!((edges[0].2 / end - 1.0).abs() < 1e-4);
        // That is next to nothing: the control is plain propagation.
        assert!(negatives.weights().iter().all(|&s| s > 0.0 && s < 1e-7));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn equals_the_dense_formulas(
            n in 2_usize..50, density in 0_usize..4, classes in 1_u32..5,
            mu in prop::sample::select(vec![1.0 / 99.0, 5.0]), seed in 0_u64..10_000,
        ) {
            let graph = reference::random_graph(n, density * n, seed);
            let labels = reference::random_labels(n, classes, seed).compact().0;
            let (beliefs, negatives) = run(&Control::new().mu(mu).tolerance(1e-13), &graph, &labels);
            let w = reference::dense(&graph);
            let keep = reference::reached(&graph, &labels);
            let m = reference::system(&w, &labels, mu);
            let y = reference::one_hot(&labels);
            let f = reference::solve(&m, &(&y * mu), &keep);
            let log = (y.ncols() as f64).ln();
            let omega = |i: usize| {
                let h: f64 = f.row(i).iter().filter(|&&p| p > 0.0).map(|p| -p * p.ln()).sum();
                if y.ncols() < 2 { 1.0 } else { 1.0 - h / log }
            };
            let s = Array2::from_shape_fn((n, n), |(i, j)| {
                if w[[i, j]] == 0.0 || !keep[i] { return 0.0; }
                omega(i) * omega(j) * (1.0 - f.row(i).dot(&f.row(j)))
            });
            for (i, j, weight) in negatives.edges(&graph) {
                prop_assert!((weight - s[[i as usize, j as usize]]).abs() < 1e-6);
            }
            let mut m = &m + &(&s * 2.0);
            for i in 0..n {
                m[[i, i]] += 2.0 * s.row(i).sum();
            }
            let g = reference::solve(&m, &(&y * mu), &keep);
            for (a, b) in beliefs.scores.iter().zip(&g) {
                prop_assert!((a - b).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn a_large_mu_finds_edges_between_classes() {
        let graph = path();
        let (_, negatives) = run(&Control::new().mu(100.0), &graph, &path_labels());
        let edges: Vec<_> = negatives.edges(&graph).collect();
        assert!(edges.iter().any(|e| e.2 > 0.01));
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bytes() {
        let graph = reference::random_graph(1500, 9000, 2);
        let labels = reference::random_labels(1500, 7, 2);
        let control = Control::new().mu(10.0);
        let (one, two) = in_one_and_two_threads(|| run(&control, &graph, &labels));
        assert_eq!(one, two);
    }

    #[test]
    fn bad_input_is_refused_and_parameters_survive_json() {
        let message = |control: Control, labels: &Labels| {
            (control.propagate(&path(), labels, &Monitor::silent()))
                .unwrap_err()
                .to_string()
        };
        assert!(message(Control::new().beta(-1.0), &path_labels()).starts_with("beta = -1"));
        assert!(message(Control::new().mu(0.0), &path_labels()).starts_with("mu = 0"));
        assert!(message(Control::new(), &Labels::unknown(4)).contains("no item has"));
        let control = Control::new().beta(0.5).mass(Mass::Uniform);
        let json = serde_json::to_string(&control).unwrap();
        assert_eq!(serde_json::from_str::<Control>(&json).unwrap(), control);
        assert!(serde_json::from_str::<Control>("{\"lambda\": 1}").is_err());
    }
}
