//! What is known before propagation, and the way from a solution to beliefs.

use ndarray::Array2;

use super::confidence::confidence;
use super::mass::Mass;
use crate::solve::Solution;
use crate::{Beliefs, Convergence, Error, Graph, Label, Labels, Monitor, Result};

/// Checked labels of the nodes of a graph, without the classes that no item has.
pub(super) struct Known<'a> {
    pub(super) graph: &'a Graph,
    labels: &'a Labels,
    /// Classes with at least one labeled item, ascending.
    classes: Vec<usize>,
    /// Position in `classes` of each node's label.
    pub(super) label: Vec<Option<usize>>,
    /// Labeled items of each class, per component.
    counts: Array2<f64>,
}

impl<'a> Known<'a> {
    pub(super) fn new(graph: &'a Graph, labels: &'a Labels, monitor: &Monitor) -> Result<Self> {
        if labels.len() != graph.n() {
            return Err(Error::data(format!(
                "there are {} labels, but the graph has {} nodes; one label an item is needed",
                labels.len(),
                graph.n()
            )));
        }
        let by_class = labels.by_class();
        let classes: Vec<usize> = (0..by_class.len())
            .filter(|&c| !by_class[c].is_empty())
            .collect();
        if classes.is_empty() {
            return Err(Error::data(
                "no item has a known label; label at least one item of each class",
            ));
        }
        if classes.len() < by_class.len() {
            monitor.warn(format!(
                "{} of {} classes have no labeled item and cannot be predicted",
                by_class.len() - classes.len(),
                by_class.len()
            ));
        }
        let mut label = vec![None; graph.n()];
        let mut counts = Array2::zeros((graph.n_components(), classes.len()));
        for (position, &class) in classes.iter().enumerate() {
            for &item in &by_class[class] {
                label[item] = Some(position);
                counts[[graph.component()[item] as usize, position]] += 1.0;
            }
        }
        Ok(Self {
            graph,
            labels,
            classes,
            label,
            counts,
        })
    }

    pub(super) fn n_classes(&self) -> usize {
        self.classes.len()
    }

    /// Whether a label reaches node `i`: whether its component holds one.
    pub(super) fn reached(&self, i: usize) -> bool {
        self.component_counts(i).iter().any(|&count| count > 0.0)
    }

    /// Labeled items of each class in the component of node `i`.
    pub(super) fn component_counts(&self, i: usize) -> ndarray::ArrayView1<'_, f64> {
        self.counts.row(self.graph.component()[i] as usize)
    }

    /// Share of each class among the labels of the component of node `i`; zeros where
    /// the component has none.
    pub(super) fn proportions(&self, i: usize) -> ndarray::Array1<f64> {
        let counts = self.component_counts(i);
        counts.mapv(|count| count / counts.sum().max(1.0))
    }

    /// Share of each class among all labels.
    pub(super) fn prior(&self) -> Vec<f64> {
        let totals = self.counts.sum_axis(ndarray::Axis(0));
        (&totals / totals.sum()).to_vec()
    }

    /// `n x C`: `value(i)` at the class of each labeled node, 0 elsewhere.
    pub(super) fn one_hot(&self, value: impl Fn(usize) -> f64) -> Array2<f64> {
        let mut y = Array2::zeros((self.graph.n(), self.n_classes()));
        for (i, label) in self.label.iter().enumerate() {
            if let Some(class) = label {
                y[[i, *class]] = value(i);
            }
        }
        y
    }

    /// Beliefs from the scores of the labeled classes.
    pub(super) fn beliefs(
        &self,
        mut scores: Array2<f64>,
        mass: Mass,
        convergence: Convergence,
    ) -> Beliefs {
        let reached: Vec<bool> = (0..self.graph.n()).map(|i| self.reached(i)).collect();
        let compared = if mass.apply(self, &mut scores, &reached) {
            scores.clone()
        } else {
            self.per_label(&scores)
        };
        self.beliefs_of(scores, compared, convergence)
    }

    /// Beliefs from scores, and from what is compared between classes in their place.
    pub(super) fn beliefs_of(
        &self,
        scores: Array2<f64>,
        compared: Array2<f64>,
        convergence: Convergence,
    ) -> Beliefs {
        let n = self.graph.n();
        let reached: Vec<bool> = (0..n).map(|i| self.reached(i)).collect();
        let mut pseudo_label: Vec<Option<u32>> = (0..n)
            .map(|i| {
                let counts = self.component_counts(i);
                let mut best: Option<usize> = None;
                for c in (0..self.n_classes()).filter(|&c| counts[c] > 0.0) {
                    if best.is_none_or(|b| compared[[i, c]] > compared[[i, b]]) {
                        best = Some(c);
                    }
                }
                best.map(|c| self.classes[c] as u32)
            })
            .collect();
        let mut confidence = confidence(compared.view());
        for i in 0..n {
            if let Some(class) = self.label[i] {
                pseudo_label[i] = Some(self.classes[class] as u32);
                confidence[i] = 1.0;
            } else if !reached[i] || self.labels[i] == Label::Outside {
                confidence[i] = 0.0;
            }
        }
        let mut all = Array2::zeros((n, self.labels.n_classes()));
        for (position, &class) in self.classes.iter().enumerate() {
            all.column_mut(class).assign(&scores.column(position));
        }
        Beliefs {
            scores: all,
            pseudo_label,
            confidence,
            labeled: self.label.iter().map(Option::is_some).collect(),
            convergence,
        }
    }

    /// Scores divided by the number of labels that the class has in the component of the node,
    /// and multiplied by the largest such number: exactly the scores where all are equal.
    fn per_label(&self, scores: &Array2<f64>) -> Array2<f64> {
        let mut compared = scores.clone();
        for (i, mut row) in compared.rows_mut().into_iter().enumerate() {
            let counts = self.component_counts(i);
            let most = counts.iter().copied().fold(0.0, f64::max);
            for (score, &count) in row.iter_mut().zip(counts) {
                *score = if count > 0.0 {
                    *score * (most / count)
                } else {
                    0.0
                };
            }
        }
        compared
    }

    /// The report of one or two solves; warns about what the user should know.
    pub(super) fn convergence(&self, solves: &[&Solution], monitor: &Monitor) -> Convergence {
        let convergence = Convergence {
            iterations: solves.iter().map(|s| s.iterations).sum(),
            residual: (solves.iter().flat_map(|s| &s.residuals)).fold(0.0, |a, &b| a.max(b)),
            converged: solves.iter().all(|s| s.converged),
            components: self.graph.n_components(),
            isolated: self.graph.isolated().len(),
            unreached: (0..self.graph.n()).filter(|&i| !self.reached(i)).count(),
            mean_negative_weight: None,
            negative_share: None,
            negative_curvature: None,
        };
        if !convergence.converged {
            monitor.warn(format!(
                "the solver stopped after {} iterations at a relative residual of {:.1e}; \
                 raise max_iterations or tolerance",
                convergence.iterations, convergence.residual
            ));
        }
        if convergence.unreached > 0 {
            monitor.warn(format!(
                "{} of {} items are in parts of the graph without any label and get no \
                 pseudo-label; raise k or label one item there",
                convergence.unreached,
                self.graph.n()
            ));
        }
        convergence
    }
}
