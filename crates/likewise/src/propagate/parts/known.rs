//! What is known before propagation, and the way from a solution to beliefs.

use std::borrow::Cow;

use ndarray::{Array2, ArrayView1, ArrayViewMut1, Axis, Zip};

use super::confidence::of_row;
use super::mass::Mass;
use crate::solve::{Solution, vectorised};
use crate::{Beliefs, Convergence, Error, Graph, Label, Labels, Monitor, Result, parallel};

/// Classes compared side by side.
const SIDE: usize = 8;
/// Relative residual of scores that order the classes as exact ones do, but for ties.
const FINE: f64 = 1e-4;

/// Checked labels of the nodes of a graph, without the classes that no item has.
pub(crate) struct Known<'a> {
    pub(crate) graph: &'a Graph,
    labels: &'a Labels,
    /// Classes with at least one labeled item, ascending.
    classes: Vec<usize>,
    /// Position in `classes` of each node's label.
    pub(crate) label: Vec<Option<usize>>,
    /// Row in the tables below of each component. All components without a label share
    /// the last row, of zeros: there may be a million of them.
    part: Vec<usize>,
    /// Labeled items of each class, per labeled component.
    counts: Array2<f64>,
    /// Share of each class among them.
    proportions: Array2<f64>,
}

impl<'a> Known<'a> {
    pub(crate) fn new(graph: &'a Graph, labels: &'a Labels, monitor: &Monitor) -> Result<Self> {
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
        Ok(Self::over(graph, labels, classes))
    }

    /// Over all classes, in their order, those without a label included.
    pub(crate) fn over_all(graph: &'a Graph, labels: &'a Labels) -> Self {
        Self::over(graph, labels, (0..labels.n_classes()).collect())
    }

    fn over(graph: &'a Graph, labels: &'a Labels, classes: Vec<usize>) -> Self {
        let mut position = vec![None; labels.n_classes()];
        for (at, &class) in classes.iter().enumerate() {
            position[class] = Some(at);
        }
        let label: Vec<Option<usize>> = (labels.items().iter())
            .map(|label| label.class().and_then(|class| position[class as usize]))
            .collect();
        let mut labeled = vec![false; graph.n_components()];
        for (label, &component) in label.iter().zip(graph.component()) {
            labeled[component as usize] |= label.is_some();
        }
        let parts = labeled.iter().filter(|&&l| l).count();
        let mut next = 0..;
        let number = |labeled: bool| if labeled { next.next() } else { None };
        let part: Vec<usize> = (labeled.into_iter().map(number))
            .map(|number| number.unwrap_or(parts))
            .collect();
        let mut counts = Array2::<f64>::zeros((parts + 1, classes.len()));
        for (label, &component) in label.iter().zip(graph.component()) {
            if let Some(class) = label {
                counts[[part[component as usize], *class]] += 1.0;
            }
        }
        let mut proportions = counts.clone();
        for mut row in proportions.rows_mut() {
            let sum = row.sum().max(1.0);
            row.mapv_inplace(|count| count / sum);
        }
        Self {
            graph,
            labels,
            classes,
            label,
            part,
            counts,
            proportions,
        }
    }

    pub(crate) fn n_classes(&self) -> usize {
        self.classes.len()
    }

    /// Whether a label reaches node `i`: whether its component holds one.
    pub(crate) fn reached(&self, i: usize) -> bool {
        self.part(i) + 1 < self.counts.nrows()
    }

    /// Whether node `i` may be of one of the classes: a label reaches it, and it is not outside of them all.
    fn may_be(&self, i: usize) -> bool {
        self.reached(i) && self.labels[i] != Label::Outside
    }

    fn part(&self, i: usize) -> usize {
        self.part[self.graph.component()[i] as usize]
    }

    /// Labeled items of each class in the component of node `i`.
    pub(crate) fn component_counts(&self, i: usize) -> ArrayView1<'_, f64> {
        self.counts.row(self.part(i))
    }

    /// Share of each class among the labels of the component of node `i`; zeros where
    /// the component has none.
    pub(crate) fn proportions(&self, i: usize) -> ArrayView1<'_, f64> {
        self.proportions.row(self.part(i))
    }

    /// Share of each class among all labels.
    pub(crate) fn prior(&self) -> Vec<f64> {
        let totals = self.counts.sum_axis(Axis(0));
        (&totals / totals.sum()).to_vec()
    }

    /// Labeled items of each class.
    pub(crate) fn labels_of_classes(&self) -> Vec<f64> {
        self.counts.sum_axis(Axis(0)).to_vec()
    }

    /// The sizes of the labeled classes out of those of all.
    ///
    /// Fails where there is not one a class, and on a labeled class of size 0.
    pub(crate) fn sizes_of_classes(&self, all: &[f64]) -> Result<Vec<f64>> {
        if all.len() != self.labels.n_classes() {
            return Err(Error::data(format!(
                "{} sizes of classes for {} classes; there must be one each",
                all.len(),
                self.labels.n_classes()
            )));
        }
        let own: Vec<f64> = self.classes.iter().map(|&class| all[class]).collect();
        if let Some(place) = own.iter().position(|&size| size <= 0.0) {
            let class = &self.labels.classes()[self.classes[place]];
            return Err(Error::data(format!(
                "class {class} has a label, but its size is given as 0; give a size above 0"
            )));
        }
        Ok(own)
    }

    /// The nodes without a label that may be of one of the classes, ascending.
    pub(crate) fn open(&self) -> Vec<usize> {
        (0..self.graph.n())
            .filter(|&i| self.label[i].is_none() && self.may_be(i))
            .collect()
    }

    /// Minus infinity at the classes that have no label in the component of a node.
    pub(crate) fn only_reached(&self, scores: &mut Array2<f64>) {
        for_each_row(scores, |i, row| {
            Zip::from(row)
                .and(self.component_counts(i))
                .for_each(|s, count| {
                    if *count == 0.0 {
                        *s = f64::NEG_INFINITY;
                    }
                });
        });
    }

    /// The labeled nodes, ascending.
    pub(crate) fn labeled(&self) -> Vec<usize> {
        (0..self.label.len())
            .filter(|&i| self.label[i].is_some())
            .collect()
    }

    /// `labeled x C`: `value(i)` at the class of each labeled node, 0 elsewhere. For
    /// [`solve_rows`](crate::solve::ConjugateGradient::solve_rows), since all other rows of
    /// the one-hot labels are zero.
    pub(crate) fn one_hot_rows(&self, value: impl Fn(usize) -> f64) -> Array2<f64> {
        let labeled = self.labeled();
        let mut y = Array2::zeros((labeled.len(), self.n_classes()));
        for (mut row, i) in y.rows_mut().into_iter().zip(labeled) {
            if let Some(class) = self.label[i] {
                row[class] = value(i);
            }
        }
        y
    }

    /// `n x C`: `value(i)` at the class of each labeled node, 0 elsewhere.
    pub(crate) fn one_hot(&self, value: impl Fn(usize) -> f64) -> Array2<f64> {
        let mut y = Array2::zeros((self.graph.n(), self.n_classes()));
        for (i, label) in self.label.iter().enumerate() {
            if let Some(class) = label {
                y[[i, *class]] = value(i);
            }
        }
        y
    }

    /// Subtracts the mean over the labeled nodes of each component.
    pub(crate) fn center(&self, x: &mut Array2<f64>) {
        let mut mean = Array2::<f64>::zeros(self.counts.dim());
        for i in self.labeled() {
            let share = 1.0 / self.component_counts(i).sum();
            mean.row_mut(self.part(i)).scaled_add(share, &x.row(i));
        }
        for_each_row(x, |i, mut row| {
            for (x, mean) in row.iter_mut().zip(mean.row(self.part(i))) {
                *x -= mean;
            }
        });
    }

    /// `F = 1 pi^T + F'`, in the place of `F'`.
    pub(crate) fn with_proportions(&self, mut deviation: Array2<f64>) -> Array2<f64> {
        for_each_row(&mut deviation, |i, row| {
            Zip::from(row)
                .and(self.proportions(i))
                .for_each(|s, pi| *s += pi);
        });
        deviation
    }

    /// The diagonal of `L + U`, `U` being `mu` on labeled nodes and 0 elsewhere; 1 on isolated
    /// unlabeled nodes, whose row is otherwise empty.
    pub(crate) fn diagonal(&self, mu: f64) -> Vec<f64> {
        (self.graph.degrees().into_iter().zip(&self.label))
            .map(|(degree, label)| degree + if label.is_some() { mu } else { 0.0 })
            .map(|d| if d > 0.0 { d } else { 1.0 })
            .collect()
    }

    /// The columns of these classes out of a matrix over all classes.
    pub(crate) fn columns(&self, all: &Array2<f64>) -> Array2<f64> {
        if self.classes.len() == all.ncols() {
            return all.clone();
        }
        let mut own = Array2::zeros((all.nrows(), self.classes.len()));
        for_each_row(&mut own, |i, mut row| {
            for (own, &class) in row.iter_mut().zip(&self.classes) {
                *own = all[[i, class]];
            }
        });
        own
    }

    /// The same, and 0 where the component of an item has no label of a class.
    pub(crate) fn reached_columns(&self, all: &Array2<f64>) -> Array2<f64> {
        let mut own = Array2::zeros((all.nrows(), self.classes.len()));
        for_each_row(&mut own, |i, mut row| {
            let of_all = all.row(i);
            let places = self.classes.iter().zip(self.component_counts(i));
            for (own, (&class, count)) in row.iter_mut().zip(places) {
                if *count > 0.0 {
                    *own = of_all[class];
                }
            }
        });
        own
    }

    /// Beliefs from the scores of the labeled classes.
    pub(crate) fn beliefs(
        &self,
        mut scores: Array2<f64>,
        mass: Mass,
        convergence: Convergence,
    ) -> Beliefs {
        let may_be: Vec<bool> = (0..self.graph.n()).map(|i| self.may_be(i)).collect();
        if let Some(scale) = mass.scale(&self.labels_of_classes(), scores.view(), &may_be) {
            each_column_by(&mut scores, &scale);
        }
        self.believe(scores, None, &self.factors(mass), convergence)
    }

    /// The scores of the labeled classes, each class of the same mass.
    pub(crate) fn of_uniform_mass(&self, mut scores: Array2<f64>) -> Array2<f64> {
        let may_be: Vec<bool> = (0..self.graph.n()).map(|i| self.may_be(i)).collect();
        let labels = self.labels_of_classes();
        if let Some(scale) = Mass::Uniform.scale(&labels, scores.view(), &may_be) {
            each_column_by(&mut scores, &scale);
        }
        scores
    }

    /// Beliefs from scores, and from what is compared between classes in their place.
    pub(crate) fn beliefs_of(
        &self,
        scores: Array2<f64>,
        compared: Option<&Array2<f64>>,
        convergence: Convergence,
    ) -> Beliefs {
        self.believe(
            scores,
            compared,
            &Array2::ones(self.counts.dim()),
            convergence,
        )
    }

    fn believe(
        &self,
        scores: Array2<f64>,
        compared: Option<&Array2<f64>>,
        factors: &Array2<f64>,
        convergence: Convergence,
    ) -> Beliefs {
        let compared = compared.unwrap_or(&scores);
        let closed = self.closed();
        let judged = parallel::map_rows(self.graph.n(), |i| {
            let part = self.part(i);
            self.judge(i, compared.row(i), factors.row(part), closed.row(part))
        });
        self.told(scores, judged, convergence)
    }

    /// Beliefs from scores whose classes are decided by prices. The confidence is that of the scores,
    /// times the score of the class over the largest: an item that a price moved is less sure.
    pub(crate) fn beliefs_at(
        &self,
        scores: Array2<f64>,
        prices: &[f64],
        convergence: Convergence,
    ) -> Beliefs {
        let judged =
            parallel::map_rows(self.graph.n(), |i| self.judge_at(i, scores.row(i), prices));
        self.told(scores, judged, convergence)
    }

    fn told(
        &self,
        scores: Array2<f64>,
        judged: Vec<(Option<u32>, f32)>,
        convergence: Convergence,
    ) -> Beliefs {
        let (pseudo_label, confidence) = judged.into_iter().unzip();
        Beliefs {
            scores: self.over_all_classes(scores),
            pseudo_label,
            confidence,
            labeled: self.label.iter().map(Option::is_some).collect(),
            convergence,
        }
    }

    /// What the scores are multiplied by before they are compared, per labeled component:
    /// without class-mass normalisation, the largest number of labels of a class divided by
    /// that of the class, and 0 where the component has none of it. The numbers are those of
    /// the whole graph: where they are equal, the scores are compared as they are, however the
    /// labels fall into components.
    pub(crate) fn factors(&self, mass: Mass) -> Array2<f64> {
        let totals = self.counts.sum_axis(Axis(0));
        let most = totals.iter().copied().fold(0.0, f64::max);
        let mut factors = self.counts.clone();
        for mut row in factors.rows_mut() {
            for (factor, total) in row.iter_mut().zip(&totals) {
                *factor = match mass {
                    Mass::None if *factor > 0.0 => most / total,
                    Mass::None => 0.0,
                    Mass::Uniform | Mass::Labeled | Mass::Estimated => 1.0,
                };
            }
        }
        factors
    }

    /// Pseudo-label and confidence of node `i`.
    fn judge(
        &self,
        i: usize,
        scores: ArrayView1<f64>,
        factors: ArrayView1<f64>,
        closed: ArrayView1<f64>,
    ) -> (Option<u32>, f32) {
        if let Some(class) = self.label[i] {
            return (Some(self.classes[class] as u32), 1.0);
        }
        if !self.may_be(i) {
            return (None, 0.0);
        }
        let confidence = of_row(scores.iter().zip(factors).map(|(s, f)| s * f));
        (self.best(scores, factors, closed), confidence)
    }

    /// The same by prices of the classes.
    fn judge_at(&self, i: usize, scores: ArrayView1<f64>, prices: &[f64]) -> (Option<u32>, f32) {
        if let Some(class) = self.label[i] {
            return (Some(self.classes[class] as u32), 1.0);
        }
        if !self.may_be(i) {
            return (None, 0.0);
        }
        let mut best: Option<(f64, usize)> = None;
        let mut most = 0.0_f64;
        let counts = self.component_counts(i);
        for (c, ((score, price), count)) in scores.iter().zip(prices).zip(counts).enumerate() {
            if *count > 0.0 {
                most = most.max(*score);
                if best.is_none_or(|(worth, _)| score + price > worth) {
                    best = Some((score + price, c));
                }
            }
        }
        let share = match best {
            Some((_, class)) if most > 0.0 => (scores[class] / most).clamp(0.0, 1.0),
            _ => 0.0,
        };
        let confidence = f64::from(of_row(scores.iter().copied())) * share;
        let class = best.map(|(_, class)| self.classes[class] as u32);
        (class, confidence as f32)
    }

    /// The class of the highest score that has a label in the component.
    fn best(
        &self,
        scores: ArrayView1<f64>,
        factors: ArrayView1<f64>,
        closed: ArrayView1<f64>,
    ) -> Option<u32> {
        let best = highest(&flat(&scores), &flat(&factors), &flat(&closed))?;
        Some(self.classes[best] as u32)
    }

    /// For each labeled component 0 of a class that has a label there, and no number at all of another.
    fn closed(&self) -> Array2<f64> {
        let closed = |&count: &f64| if count > 0.0 { 0.0 } else { f64::NEG_INFINITY };
        self.counts.map(closed)
    }

    /// The labeled class of each node that has the highest score, in the numbering of the columns; its
    /// own where it has a label, `None` where it is of none.
    pub(crate) fn best_classes(&self, scores: &Array2<f64>) -> Vec<Option<usize>> {
        let best = |i: usize| {
            let counts = self.component_counts(i);
            let mut best: Option<(f64, usize)> = None;
            for (c, (&score, &count)) in scores.row(i).iter().zip(counts).enumerate() {
                if count > 0.0 && best.is_none_or(|(most, _)| score > most) {
                    best = Some((score, c));
                }
            }
            best.map(|(_, c)| c)
        };
        parallel::map_rows(self.graph.n(), |i| {
            self.label[i].or_else(|| self.may_be(i).then(|| best(i)).flatten())
        })
    }

    /// The pseudo-labels alone, of scores that are not normalised yet.
    pub(crate) fn pseudo_labels(&self, scores: &Array2<f64>, mass: Mass) -> Vec<Option<u32>> {
        let (factors, closed) = (self.factors_of(scores, mass), self.closed());
        parallel::map_rows(self.graph.n(), |i| {
            let part = self.part(i);
            match self.label[i] {
                Some(class) => Some(self.classes[class] as u32),
                None if self.may_be(i) => {
                    self.best(scores.row(i), factors.row(part), closed.row(part))
                }
                None => None,
            }
        })
    }

    /// The confidences alone, of such scores: those of the [beliefs](Self::beliefs) over the classes
    /// that have a label.
    pub(crate) fn confidences(&self, scores: &Array2<f64>, mass: Mass) -> Vec<f32> {
        let factors = self.factors_of(scores, mass);
        let labeled = self.labeled_classes();
        parallel::map_rows(self.graph.n(), |i| {
            self.confidence(i, scores.row(i), factors.row(self.part(i)), &labeled)
        })
    }

    /// Those of some nodes alone.
    pub(crate) fn confidence_of(
        &self,
        nodes: &[usize],
        scores: &Array2<f64>,
        mass: Mass,
    ) -> Vec<f32> {
        let factors = self.factors_of(scores, mass);
        let labeled = self.labeled_classes();
        let of =
            |&i: &usize| self.confidence(i, scores.row(i), factors.row(self.part(i)), &labeled);
        nodes.iter().map(of).collect()
    }

    /// What the classes of node `i` are compared by, of scores that are not normalised yet.
    pub(crate) fn compared(&self, i: usize, scores: &Array2<f64>, mass: Mass) -> Vec<f64> {
        let factors = self.factors_of(scores, mass);
        let factors = factors.row(self.part(i));
        (scores.row(i).iter().zip(factors))
            .map(|(score, factor)| score * factor)
            .collect()
    }

    fn labeled_classes(&self) -> Vec<usize> {
        let totals = self.counts.sum_axis(Axis(0));
        (0..totals.len()).filter(|&c| totals[c] > 0.0).collect()
    }

    fn confidence(
        &self,
        i: usize,
        scores: ArrayView1<f64>,
        factors: ArrayView1<f64>,
        classes: &[usize],
    ) -> f32 {
        if self.label[i].is_some() {
            return 1.0;
        }
        if !self.may_be(i) {
            return 0.0;
        }
        of_row(classes.iter().map(|&c| scores[c] * factors[c]))
    }

    /// What scores that are not normalised yet are multiplied by before they are compared.
    fn factors_of(&self, scores: &Array2<f64>, mass: Mass) -> Array2<f64> {
        let mut factors = self.factors(mass);
        let may_be: Vec<bool> = (0..self.graph.n()).map(|i| self.may_be(i)).collect();
        if let Some(scale) = mass.scale(&self.labels_of_classes(), scores.view(), &may_be) {
            for mut row in factors.rows_mut() {
                row.assign(&ArrayView1::from(&scale));
            }
        }
        factors
    }

    /// A matrix over all classes, from one of these classes; zeros on the others.
    pub(crate) fn over_all_classes(&self, scores: Array2<f64>) -> Array2<f64> {
        if self.classes.len() == self.labels.n_classes() {
            return scores;
        }
        let mut all = Array2::zeros((scores.nrows(), self.labels.n_classes()));
        for_each_row(&mut all, |i, mut row| {
            for (score, &class) in scores.row(i).iter().zip(&self.classes) {
                row[class] = *score;
            }
        });
        all
    }

    /// The report of one or two solves; warns about what the user should know.
    pub(crate) fn convergence(&self, solves: &[&Solution], monitor: &Monitor) -> Convergence {
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
            // Without the numbers of this solve: of many alike in a fit, one is told.
            monitor.warn(if convergence.residual < FINE {
                format!(
                    "the solver reached its most iterations at a relative residual below {FINE:.0e}, which \
                     is fine for pseudo-labels"
                )
            } else {
                format!(
                    "the solver reached its most iterations at a relative residual above {FINE:.0e}, so \
                     that pseudo-labels may change with more of them; raise max_iterations or tolerance \
                     of the propagation"
                )
            });
        }
        if convergence.unreached > 0 {
            monitor.warn(format!(
                "{} of {} items are in parts of the graph without any label and get no \
                 pseudo-label; raise `k` or label one item there",
                convergence.unreached,
                self.graph.n()
            ));
        }
        convergence
    }
}

/// Where `score * factor + closed` is highest: the first place; none where it is no number. Of many items with many
/// classes this is done after every label.
fn highest(scores: &[f64], factors: &[f64], closed: &[f64]) -> Option<usize> {
    vectorised(
        #[inline(always)]
        || {
            let (chunks, last) = scores.as_chunks::<SIDE>();
            let (of_factors, last_factors) = factors.as_chunks::<SIDE>();
            let (of_closed, last_closed) = closed.as_chunks::<SIDE>();
            let mut most = [f64::NEG_INFINITY; SIDE];
            for ((s, f), b) in chunks.iter().zip(of_factors).zip(of_closed) {
                for k in 0..SIDE {
                    let compared = s[k] * f[k] + b[k];
                    most[k] = if compared > most[k] {
                        compared
                    } else {
                        most[k]
                    };
                }
            }
            let mut most = most.into_iter().fold(f64::NEG_INFINITY, f64::max);
            for ((s, f), b) in last.iter().zip(last_factors).zip(last_closed) {
                most = most.max(s * f + b);
            }
            if most == f64::NEG_INFINITY {
                return None;
            }
            let in_chunks = chunks.iter().zip(of_factors).zip(of_closed);
            for (at, ((s, f), b)) in in_chunks.enumerate() {
                let mut found = false;
                for k in 0..SIDE {
                    found |= s[k] * f[k] + b[k] >= most;
                }
                if found {
                    let first = (0..SIDE).find(|&k| s[k] * f[k] + b[k] >= most);
                    return first.map(|k| at * SIDE + k);
                }
            }
            let mut rest = last.iter().zip(last_factors).zip(last_closed);
            let first = rest.position(|((s, f), b)| s * f + b >= most);
            first.map(|k| chunks.len() * SIDE + k)
        },
    )
}

/// A row as it lies in memory, or a copy where it lies in pieces.
fn flat<'a>(row: &'a ArrayView1<f64>) -> Cow<'a, [f64]> {
    row.as_slice()
        .map_or_else(|| Cow::Owned(row.to_vec()), Cow::Borrowed)
}

/// `work(i, row)` for every row, in parallel.
fn each_column_by(x: &mut Array2<f64>, factors: &[f64]) {
    for_each_row(x, |_, mut row| {
        for (value, factor) in row.iter_mut().zip(factors) {
            *value *= factor;
        }
    });
}

pub(crate) fn for_each_row(x: &mut Array2<f64>, work: impl Fn(usize, ArrayViewMut1<f64>) + Sync) {
    parallel::each_row(x, work);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::propagate::{Control, Harmonic, Lgc, Mixed, Propagate};

    /// Item 0 hangs on two labels of a and, harder, on one of b; the other label of b is far
    /// away, with item 5 beside it.
    fn two_parts() -> Graph {
        let edges = [(0, 1, 1.0), (0, 2, 1.0), (0, 3, 1.5), (4, 5, 1.0)];
        let mut indptr = vec![0];
        let (mut indices, mut weights) = (Vec::new(), Vec::new());
        for i in 0..6_u32 {
            let mut row: Vec<(u32, f32)> = (edges.iter())
                .filter_map(|&(a, b, w)| match i {
                    _ if i == a => Some((b, w)),
                    _ if i == b => Some((a, w)),
                    _ => None,
                })
                .collect();
            row.sort_by_key(|&(j, _)| j);
            indices.extend(row.iter().map(|&(j, _)| j));
            weights.extend(row.iter().map(|&(_, w)| w));
            indptr.push(indices.len());
        }
        Graph::new(indptr, indices, weights).unwrap()
    }

    #[test]
    fn the_first_of_the_highest_is_found_wherever_it_stands() {
        for n in [1, 7, 8, 9, 16, 21] {
            for at in 0..n {
                let mut scores = vec![0.5; n];
                scores[at..].fill(0.75);
                let (ones, mut closed) = (vec![1.0; n], vec![0.0; n]);
                assert_eq!(highest(&scores, &ones, &closed), Some(at), "{n}");
                closed[at] = f64::NEG_INFINITY;
                let next = if at + 1 < n {
                    Some(at + 1)
                } else {
                    (n > 1).then_some(0)
                };
                assert_eq!(highest(&scores, &ones, &closed), next, "{n}");
                let mut factors = ones.clone();
                factors[at] = 4.0;
                assert_eq!(highest(&scores, &factors, &vec![0.0; n]), Some(at), "{n}");
            }
            assert_eq!(
                highest(&vec![1.0; n], &vec![1.0; n], &vec![f64::NEG_INFINITY; n]),
                None
            );
        }
    }

    #[test]
    fn with_equal_numbers_in_all_the_highest_score_wins_in_every_component() {
        let graph = two_parts();
        let labels = Labels::parse(["", "a", "a", "b", "b", ""]);
        let methods: [Box<dyn Propagate>; 4] = [
            Box::new(Lgc::new()),
            Box::new(Harmonic::new()),
            Box::new(Mixed::paper()),
            Box::new(Control::new()),
        ];
        for (number, method) in methods.into_iter().enumerate() {
            let beliefs = method
                .propagate(&graph, &labels, &Monitor::silent())
                .unwrap();
            let scores = beliefs.scores.row(0);
            assert!(scores[0] > scores[1], "{number}: {scores}");
            assert_eq!(beliefs.pseudo_label[0], Some(0), "{number}");
            assert_eq!(beliefs.pseudo_label[5], Some(1), "{number}");
        }
    }

    #[test]
    fn with_unequal_numbers_each_score_is_divided_by_the_labels_of_its_class() {
        // The second component has no label now: two of a to one of b.
        let labels = Labels::parse(["", "a", "a", "b", "", ""]);
        let lgc = Lgc::new().propagate(&two_parts(), &labels, &Monitor::silent());
        let beliefs = lgc.unwrap();
        let scores = beliefs.scores.row(0);
        assert!(scores[0] > scores[1] && scores[0] / 2.0 < scores[1]);
        assert_eq!(beliefs.pseudo_label[0], Some(1));
    }
}
