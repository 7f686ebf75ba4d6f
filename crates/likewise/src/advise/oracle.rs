//! What a propagation is worth where the truth is known.
//!
//! For studies: the truth is compared with everything that the propagation made, its
//! pseudo-labels, its confidences, and its negative edges. Items whose label was given are
//! left out of all that counts pseudo-labels.
//!
//! Negative edges: with the negative weight `s_e` and the weight `w_e` of an edge, and `d_e = 1`
//! where its ends truly differ,
//! ```text
//! precision   = sum s_e d_e / sum s_e
//! recall      = sum s_e d_e / sum w_e d_e
//! false alarm = sum s_e (1 - d_e) / sum w_e (1 - d_e)
//! ```
//! Negative edges tell something where the precision is above the share of edges that differ,
//! which blind choice has, and the recall above the false alarm. The average precision
//! ranks the edges by negative weight; edges of equal weight enter together.
//!
//! **Use it** on benchmark data and on labels that were hidden for the purpose. **Never** to
//! choose a method or a parameter on data that the result is reported on: use
//! [`diagnosis`](super::diagnosis), which needs no more than the given labels.
//!
//! Cost: O(n + edges x log edges), memory O(edges) with negative edges.
//!
//! Source: accuracy is eq. (36), the weights eq. (22) of Zhuang and Moulin 2023; average
//! precision as in [`ranking`](crate::eval::ranking).

use serde::{Deserialize, Serialize};

use super::balance::Balance;
use crate::eval::bootstrap::Estimate;
use crate::eval::calibration::Calibration;
use crate::eval::proportion::wilson;
use crate::propagate::NegativeEdges;
use crate::{Beliefs, Error, Graph, Label, Labels, Result};

/// How one class fared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassOutcome {
    /// Measured items that truly are of this class.
    pub items: usize,
    /// Those of them with this pseudo-label.
    pub right: usize,
    /// Measured items with this pseudo-label.
    pub predicted: usize,
}

/// Negative edges against the truth.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NegativeOutcome {
    /// Edges whose ends are both known.
    pub edges: usize,
    /// Share of them whose ends truly differ; `None` without any.
    pub differ: Option<f64>,
    /// Share of the negative weight that lies on edges whose ends truly differ; `None` if there
    /// is no weight.
    pub precision: Option<f64>,
    /// Negative weight over weight, of the edges whose ends truly differ: how much of the
    /// harm is countered. Above 1 where the weights are not bounded by those of the graph
    /// ([`Scale::Unscaled`](crate::propagate::Scale::Unscaled)). `None` if no ends differ.
    pub recall: Option<f64>,
    /// The same of the edges whose ends are truly of one class: how much good is lost.
    pub false_alarm: Option<f64>,
    /// Average precision of the ranking by weight; `None` if no ends differ.
    pub average_precision: Option<f64>,
}

/// A propagation against the truth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Oracle {
    /// Share of right pseudo-labels among the measured items, those that no label reaches
    /// counted as wrong; with the Wilson interval over items. `None` without any.
    pub accuracy: Option<Estimate>,
    /// Measured items: not labeled, and known to be of a class or outside.
    pub measured: usize,
    /// Measured items that no label reaches.
    pub unreached: usize,
    /// By class.
    pub classes: Vec<ClassOutcome>,
    /// Accuracy by confidence, of the measured items that a label reaches.
    pub calibration: Calibration,
    /// Classes of the pseudo-labels; `expected` shares are those of the truth.
    pub balance: Balance,
    /// Share of the weight of the graph on edges whose ends are of the same class: what
    /// any propagation has to work with. `None` without an edge between known items.
    pub purity: Option<f64>,
    /// The negative edges, if they were given.
    pub negatives: Option<NegativeOutcome>,
}

impl Oracle {
    /// Compares the beliefs about the nodes of `graph`, and its negative edges if the method has
    /// any, with the truth.
    ///
    /// An item that truly is [`Outside`](Label::Outside) has no right pseudo-label. An edge
    /// between two such items is left out: they may differ or not.
    ///
    /// Fails if the lengths differ.
    ///
    /// ```
    /// use likewise::advise::oracle::Oracle;
    /// use likewise::propagate::{Given, Mixed, Propagate};
    /// use likewise::{Graph, Labels, Monitor};
    /// let graph = Graph::new(
    ///     vec![0, 1, 3, 5, 6],
    ///     vec![1, 0, 2, 1, 3, 2],
    ///     vec![1.0, 1.0, 0.5, 0.5, 1.0, 1.0],
    /// )?;
    /// let labels = Labels::parse(["cat", "", "", "dog"]);
    /// let given = Given::new(&graph, &labels);
    /// let spread = Mixed::new().spread(&given, &Monitor::silent())?;
    /// let truth = Labels::parse(["cat", "cat", "dog", "dog"]);
    /// let oracle = Oracle::measure(&spread.beliefs, &truth, spread.negatives.as_ref(), &graph)?;
    /// assert_eq!(oracle.accuracy.unwrap().value, 1.0);
    /// assert_eq!(oracle.purity, Some(0.8));
    /// assert_eq!(oracle.negatives.unwrap().precision, Some(1.0));
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn measure(
        beliefs: &Beliefs,
        truth: &Labels,
        negatives: Option<&NegativeEdges>,
        graph: &Graph,
    ) -> Result<Self> {
        let calibration = Calibration::measure(beliefs, truth)?;
        if graph.n() != truth.len() {
            return Err(Error::data(format!(
                "oracle: {} true labels for a graph of {} nodes; there must be one each",
                truth.len(),
                graph.n()
            )));
        }
        let weights = negatives.map(NegativeEdges::weights);
        if let Some(weights) = weights.filter(|w| w.len() != graph.nnz()) {
            return Err(Error::data(format!(
                "oracle: {} negative weights for a graph of {} entries; they are of another graph",
                weights.len(),
                graph.nnz()
            )));
        }
        let mut classes = vec![ClassOutcome::default(); truth.n_classes()];
        let (mut measured, mut right) = (0, 0);
        let items = (0..truth.len()).filter(|&i| !beliefs.labeled[i] && truth[i] != Label::Unknown);
        for i in items {
            measured += 1;
            let (own, guess) = (truth[i].class(), beliefs.pseudo_label[i]);
            let hit = own.is_some() && own == guess;
            right += usize::from(hit);
            if let Some(class) = own {
                classes[class as usize].items += 1;
                classes[class as usize].right += usize::from(hit);
            }
            if let Some(class) = guess.and_then(|g| classes.get_mut(g as usize)) {
                class.predicted += 1;
            }
        }
        Ok(Self {
            accuracy: wilson(right, measured),
            measured,
            unreached: calibration.unreached,
            classes,
            calibration,
            balance: Balance::measure(beliefs, truth)?,
            purity: purity(graph, truth),
            negatives: weights.map(|weights| negative_outcome(graph, truth, weights)),
        })
    }
}

/// Whether the ends of an edge truly differ; `None` where that is not known.
fn differ(truth: &Labels, i: usize, j: usize) -> Option<bool> {
    match (truth[i], truth[j]) {
        (Label::Unknown, _) | (_, Label::Unknown) | (Label::Outside, Label::Outside) => None,
        (a, b) => Some(a != b),
    }
}

fn purity(graph: &Graph, truth: &Labels) -> Option<f64> {
    let (mut same, mut all) = (0.0, 0.0);
    for (i, j, w) in graph.edges() {
        if let Some(differ) = differ(truth, i as usize, j as usize) {
            all += f64::from(w);
            same += if differ { 0.0 } else { f64::from(w) };
        }
    }
    (all > 0.0).then(|| same / all)
}

fn negative_outcome(graph: &Graph, truth: &Labels, weights: &[f64]) -> NegativeOutcome {
    let mut edges: Vec<(f64, bool)> = Vec::new();
    // By whether the ends differ: edges, their negative weight, their weight.
    let mut sums = [[0.0; 3]; 2];
    for i in 0..graph.n() {
        let entries = graph.indptr()[i]..graph.indptr()[i + 1];
        let (columns, w) = graph.row(i);
        for ((&j, &w), &s) in columns.iter().zip(w).zip(&weights[entries]) {
            if (j as usize) < i {
                continue;
            }
            if let Some(differ) = differ(truth, i, j as usize) {
                let sums = &mut sums[usize::from(differ)];
                for (sum, value) in sums.iter_mut().zip([1.0, s, f64::from(w)]) {
                    *sum += value;
                }
                edges.push((s, differ));
            }
        }
    }
    edges.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let [same, different] = sums;
    let share = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
    NegativeOutcome {
        edges: edges.len(),
        differ: share(different[0], same[0] + different[0]),
        precision: share(different[1], same[1] + different[1]),
        recall: share(different[1], different[2]),
        false_alarm: share(same[1], same[2]),
        average_precision: share(average_precision(&edges), different[0]),
    }
}

/// Precision at the end of each group of equal weights, times the hits in it, summed up.
fn average_precision(edges: &[(f64, bool)]) -> f64 {
    let (mut seen, mut hits, mut sum) = (0, 0, 0.0);
    for group in edges.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
        let new = group.iter().filter(|e| e.1).count();
        seen += group.len();
        hits += new;
        sum += new as f64 * hits as f64 / seen as f64;
    }
    sum
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Some results are exact.
mod tests {
    use super::*;
    use crate::propagate::{Given, Mixed, Propagate};
    use crate::reference::{path, path_labels, random_graph, random_labels};
    use crate::{Convergence, Monitor};

    #[test]
    fn a_case_by_hand() {
        let beliefs = Beliefs {
            scores: ndarray::Array2::zeros((4, 2)),
            pseudo_label: vec![Some(0), Some(1), Some(1), None],
            confidence: vec![1.0, 0.5, 0.5, 0.0],
            labeled: vec![true, false, false, false],
            convergence: Convergence::default(),
        };
        // The last item is outside all classes.
        let truth = Labels::parse(["a", "a", "b", "-2"]);
        let oracle = Oracle::measure(&beliefs, &truth, None, &path()).unwrap();
        assert_eq!((oracle.measured, oracle.unreached), (3, 1));
        assert_eq!(oracle.accuracy.unwrap().value, 1.0 / 3.0);
        let class = |items, right, predicted| ClassOutcome {
            items,
            right,
            predicted,
        };
        assert_eq!(oracle.classes, [class(1, 0, 0), class(1, 1, 2)]);
        // Edges a-a (1), a-b (1/2), b-outside (1).
        assert_eq!(oracle.purity, Some(0.4));
        assert_eq!(oracle.negatives, None);
        let json = serde_json::to_string(&oracle).unwrap();
        assert_eq!(serde_json::from_str::<Oracle>(&json).unwrap(), oracle);
    }

    #[test]
    fn negative_edges_by_hand() {
        // Star around 0 with 1..=4; the weights of its entries, in row 0 and mirrored.
        let graph = Graph::new(
            vec![0, 4, 5, 6, 7, 8],
            vec![1, 2, 3, 4, 0, 0, 0, 0],
            vec![1.0; 8],
        )
        .unwrap();
        let truth = Labels::parse(["a", "b", "a", "b", "-2"]);
        let s = [0.5, 0.5, 0.0, 0.25];
        let weights: Vec<f64> = s.into_iter().chain(s).collect();
        let outcome = negative_outcome(&graph, &truth, &weights);
        assert_eq!((outcome.edges, outcome.differ), (4, Some(0.75)));
        assert_eq!(outcome.precision, Some(0.75 / 1.25));
        assert_eq!(
            (outcome.recall, outcome.false_alarm),
            (Some(0.25), Some(0.5))
        );
        // Groups: {hit, miss}, {hit}, {hit}: (1/2 + 2/3 + 3/4) / 3.
        let expected = (0.5 + 2.0 / 3.0 + 0.75) / 3.0;
        assert!((outcome.average_precision.unwrap() - expected).abs() < 1e-12);
        let nothing = negative_outcome(&graph, &Labels::unknown(5), &weights);
        assert_eq!(nothing, NegativeOutcome::default());
        let outside = Labels::parse(["-2"; 5]);
        assert_eq!(negative_outcome(&graph, &outside, &weights).edges, 0);
    }

    #[test]
    fn edges_drawn_blindly_have_the_precision_of_the_base_rate() {
        let graph = random_graph(300, 3000, 8);
        let truth = random_labels(300, 3, 8).compact().0;
        let equal = negative_outcome(&graph, &truth, &vec![0.3; graph.nnz()]);
        assert!((equal.precision.unwrap() - equal.differ.unwrap()).abs() < 1e-12);
        assert!((equal.average_precision.unwrap() - equal.differ.unwrap()).abs() < 1e-12);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let monitor = Monitor::silent();
        let (graph, labels) = (path(), path_labels());
        let given = Given::new(&graph, &labels);
        let spread = Mixed::new().spread(&given, &monitor).unwrap();
        let (beliefs, negatives) = (spread.beliefs, spread.negatives.unwrap());
        let other = random_graph(4, 2, 1);
        let short = Labels::unknown(3);
        assert!(Oracle::measure(&beliefs, &short, None, &graph).is_err());
        assert!(Oracle::measure(&beliefs, &labels, Some(&negatives), &other).is_err());
        let five = random_graph(5, 2, 1);
        assert!(Oracle::measure(&beliefs, &labels, None, &five).is_err());
        let unknown = Oracle::measure(&beliefs, &Labels::parse([""; 4]), Some(&negatives), &graph);
        // No class is known, so pseudo-labels name none of them.
        assert!(unknown.is_err());
    }
}
