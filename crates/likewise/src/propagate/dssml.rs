//! Propagation along mutual nearest neighbours, with confidence from how many classes reach an
//! item: our reading of deep semi-supervised metric learning of 2021.
//!
//! Diffusion of class-balanced labels, `Z = (I - alpha S)^-1 Y` with `1 / n_c` at the
//! labeled items of class `c`. Pseudo-label: the largest score. Confidence: that of
//! [`confidence`](super::parts::confidence), low where several classes arrive with similar scores.
//!
//! **Give it a mutual graph**, whose edges join items that list each other: this function takes
//! every edge of the graph for such a pair and cannot see whether it is.
//! **Use it** to compare with that paper. **Not** with few neighbours: a mutual graph falls
//! apart into many parts, and an item in a part without a label gets no pseudo-label.
//!
//! Cost: O(iterations x entries x C), memory O(n C).
//!
//! Source: Zhuang and Moulin, ICASSP 2021, of which we had the abstract and the description in
//! their paper of 2023: labels go along mutual pairs, and the confidence comes from
//! "the number of different labels propagated to the same point". Its graph, equation and
//! formula for the confidence were not at hand. Ours: the diffusion of
//! [`Iscen`](super::Iscen), since the form that is fitted on labeled nodes only has nearly
//! constant rows, and the entropy for the number of labels. Say so in a comparison.

use serde::{Deserialize, Serialize};

use super::iscen::balanced;
use super::parts::parameter::setters;
use super::{Given, Propagate, Spread};
use crate::solve::ConjugateGradient;
use crate::{Monitor, Result};

/// Parameters of propagation along mutual neighbours.
///
/// ```
/// use likewise::propagate::{Dssml, Propagate};
/// use likewise::{Graph, Labels, Monitor};
/// // 0-1 and 2-3 are mutual, 4 is nobody's mutual neighbour.
/// let mutual = Graph::new(vec![0, 1, 2, 3, 4, 4], vec![1, 0, 3, 2], vec![2.0; 4])?;
/// let labels = Labels::parse(["cat", "", "", "dog", ""]);
/// let beliefs = Dssml::new().propagate(&mutual, &labels, &Monitor::silent())?;
/// assert_eq!(beliefs.pseudo_label, [Some(0), Some(0), Some(1), Some(1), None]);
/// assert_eq!(beliefs.confidence, [1.0, 1.0, 1.0, 1.0, 0.0]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dssml {
    alpha: f64,
    tolerance: f64,
    max_iterations: usize,
}

impl Default for Dssml {
    fn default() -> Self {
        let solver = ConjugateGradient::default();
        Self {
            alpha: 0.99,
            tolerance: solver.tolerance,
            max_iterations: solver.max_iterations,
        }
    }
}

impl Dssml {
    /// `alpha = 0.99`, solved until it has converged.
    pub fn new() -> Self {
        Self::default()
    }

    setters!(alpha solver);
}

impl Propagate for Dssml {
    fn spread(&self, given: &Given, monitor: &Monitor) -> Result<Spread> {
        given.check::<Self>()?;
        let stage = "propagation along mutual neighbours";
        Ok(balanced(given, self.alpha, &self.solver(), stage, monitor)?.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::propagate::Iscen;
    use crate::propagate::parts::confidence::confidence;
    use crate::reference::{self, in_one_and_two_threads, path, path_labels};
    use crate::{Beliefs, Graph, Labels};

    fn run(dssml: &Dssml, graph: &Graph, labels: &Labels) -> Beliefs {
        dssml.propagate(graph, labels, &Monitor::silent()).unwrap()
    }

    #[test]
    fn the_path_and_its_confidence() {
        let beliefs = run(&Dssml::new(), &path(), &path_labels());
        assert!((beliefs.scores[[0, 0]] - 21.163_578).abs() < 1e-5);
        assert!((beliefs.scores[[2, 1]] - 24.944_686).abs() < 1e-5);
        let omega = confidence(beliefs.scores.view());
        assert_eq!(beliefs.confidence, [1.0, omega[1], omega[2], 1.0]);
        assert!(omega[1] > 0.0 && omega[1] < 0.01);
    }

    #[test]
    fn a_point_that_several_classes_reach_is_less_sure() {
        // A star: node 0 between two labeled leaves; node 3 hangs on leaf 1 only.
        let graph = Graph::new(vec![0, 2, 4, 5, 6], vec![1, 2, 0, 3, 0, 1], vec![1.0; 6]).unwrap();
        let labels = Labels::parse(["", "a", "b", ""]);
        let beliefs = run(&Dssml::new().alpha(0.5), &graph, &labels);
        assert!(beliefs.confidence[0] < beliefs.confidence[3]);
        assert_eq!(beliefs.pseudo_label[3], Some(0));
    }

    #[test]
    fn scores_are_those_of_the_diffusion_and_any_number_of_threads_gives_the_same_bytes() {
        let graph = reference::random_graph(1500, 6000, 4);
        let labels = reference::random_labels(1500, 5, 4);
        let (one, two) = in_one_and_two_threads(|| run(&Dssml::new(), &graph, &labels));
        assert_eq!(one, two);
        let iscen = Iscen::new().propagate(&graph, &labels, &Monitor::silent());
        assert_eq!(one.scores, iscen.unwrap().scores);
    }

    #[test]
    fn bad_input_is_refused_and_parameters_survive_json() {
        let run = |dssml: Dssml, labels: &Labels| {
            let beliefs = dssml.propagate(&path(), labels, &Monitor::silent());
            beliefs.unwrap_err().to_string()
        };
        assert!(run(Dssml::new().alpha(f64::NAN), &path_labels()).starts_with("alpha = NaN"));
        assert!(run(Dssml::new().tolerance(0.0), &path_labels()).starts_with("tolerance = 0"));
        assert!(run(Dssml::new(), &Labels::unknown(4)).contains("no item has"));
        let dssml = Dssml::new().alpha(0.9);
        let json = serde_json::to_string(&dssml).unwrap();
        assert_eq!(serde_json::from_str::<Dssml>(&json).unwrap(), dssml);
        assert!(serde_json::from_str::<Dssml>("{\"k\": 1}").is_err());
    }
}
