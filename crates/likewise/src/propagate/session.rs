//! Propagation that follows single changes of labels: a person labels one item and sees at
//! once what that changes.
//!
//! **Use it** for labeling by hand, where one label after the other is added, changed or
//! taken back. **Not** for many new labels at once: from about as many changes as there
//! are classes, propagating anew is as fast.
//!
//! 1. With `M` the matrix of the system *after* the change, a single column is solved:
//!    `M g = e_i` for the item `i`.
//! 2. `F` becomes `F + mu g d^T`, where `d` is what the item is pulled to, minus what it was
//!    pulled to: `y_new - y_old`, and the own scores `F_i` in place of the `y` of no label.
//!
//! This is exact, whatever the number of classes: a label adds `mu e_i e_i^T` to the matrix
//! and `mu e_i y^T` to the right-hand side (Sherman and Morrison). A changed class
//! touches two columns, a new or removed label all of them.
//!
//! For [`Harmonic`] nothing more is to be done. For
//! [`Mixed`] the negative edges `S` stay as they were: the answer is that
//! of the mixed system with the old `S`. [`Session::refresh`] finds `S` anew and
//! solves from the present state, and then the result is that of propagating anew.
//! Before, a part of the change is missing: on a random graph of 400 nodes, 4 classes and 48
//! labels the largest error of a score after four changes was a quarter of the largest move.
//!
//! Cost of a change: one solve of one column by [`Ordered`], among the rows that hang together with the item, and n C
//! memory accesses. Memory: one `n x C`
//! matrix and a copy of the graph, for mixed propagation two of each.
//!
//! Of Poisson learning and LGC, which are sums over the labels, there are a [`PoissonSession`](super::PoissonSession)
//! and a [`LgcSession`](super::LgcSession).
//!
//! Source: Sherman and Morrison 1950 for the update; the rest is ours.

use ndarray::{Array1, Array2, ArrayView2, array};

use super::harmonic::pulls;
use super::parts::known::{Known, for_each_row};
use super::parts::parameter::positive;
use super::parts::regroup::Places;
use super::{Harmonic, Held, Mass, Mixed, Scale};
use crate::solve::{ConjugateGradient, Ordered, Solution, Sparse};
use crate::{Beliefs, Convergence, Error, ErrorKind, Graph, Label, Labels, Monitor, Result};

/// Relative residual of the solve of a change, or that of the method where this is larger. A change is
/// small against the scores, so it needs fewer digits than they do.
const TOLERANCE: f64 = 1e-8;
/// An excess below this share of `mu` is what rounding leaves of 0.
const ROUNDING: f64 = 1e-9;

/// Beliefs that follow single changes of labels.
///
/// ```
/// use likewise::propagate::Harmonic;
/// use likewise::{Graph, Label, Labels, Monitor};
/// // A path 0-1-2-3 with a weak middle edge.
/// let graph = Graph::new(
///     vec![0, 1, 3, 5, 6],
///     vec![1, 0, 2, 1, 3, 2],
///     vec![1.0, 1.0, 0.5, 0.5, 1.0, 1.0],
/// )?;
/// let labels = Labels::parse(["cat", "", "", "dog"]);
/// let monitor = Monitor::silent();
/// let mut session = Harmonic::new().session(&graph, &labels, &monitor)?;
/// assert_eq!(session.pseudo_label(), [Some(0), Some(0), Some(1), Some(1)]);
/// // Item 3 is a cat after all: item 2 follows.
/// let changed = session.relabel(3, Label::Known(0), &monitor)?;
/// assert_eq!(changed, [2, 3]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Session<'a> {
    labels: Labels,
    mu: f64,
    mass: Mass,
    solver: ConjugateGradient,
    plain: System<'a, f32>,
    mixed: Option<Second<'a>>,
    pseudo_label: Vec<Option<u32>>,
    convergence: Convergence,
}

/// `M F = U Y` and its solution over all classes, those without a label included.
#[derive(Debug, Clone)]
struct System<'a, T: Clone> {
    graph: &'a Graph,
    operator: Ordered<T>,
    scores: Array2<f64>,
}

/// What mixed propagation has beyond the plain one.
#[derive(Debug, Clone)]
struct Second<'a> {
    method: Mixed,
    system: System<'a, f64>,
    /// Changes that the plain system has not seen.
    pending: Vec<Change>,
    /// Changes that it has seen and the negative edges have not.
    seen: usize,
}

/// How the solve of a change went.
#[derive(Debug, Clone, Copy)]
struct Solved {
    converged: bool,
    residual: f64,
}

impl Solved {
    /// Where nothing had to be solved.
    const EXACTLY: Self = Self {
        converged: true,
        residual: 0.0,
    };
}

#[derive(Debug, Clone, Copy)]
struct Change {
    item: usize,
    from: Option<usize>,
    to: Option<usize>,
    /// Labels in the component of the item after the change.
    left: usize,
}

impl Harmonic {
    /// Propagates, and keeps what is needed to follow changes of single labels.
    ///
    /// Fails as [`propagate`](super::Propagate::propagate) does.
    pub fn session<'a>(
        &self,
        graph: &'a Graph,
        labels: &Labels,
        monitor: &Monitor,
    ) -> Result<Session<'a>> {
        positive("mu", self.mu)?;
        Session::begin(graph, labels, self.mu, self.mass, self.solver(), monitor)
    }
}

impl Mixed {
    /// Propagates, and keeps what is needed to follow changes of single labels.
    ///
    /// Fails as [`propagate`](super::Propagate::propagate) does.
    pub fn session<'a>(
        &self,
        graph: &'a Graph,
        labels: &Labels,
        monitor: &Monitor,
    ) -> Result<Session<'a>> {
        self.check()?;
        if self.held == Held::All {
            let rule = "a session follows labels that only labeled items are fitted to";
            return Err(Error::parameter("fit", "all", rule));
        }
        if self.scale == Scale::Probability {
            let rule = "a session follows harmonic propagation, which this scale does not use";
            return Err(Error::parameter("scale", "probability", rule));
        }
        if self.sizes.is_some() {
            let message = "sizes: a session decides by masses; leave the sizes out";
            return Err(Error::new(ErrorKind::Parameter, message));
        }
        let solver = self.solver();
        let mut session = Session::begin(graph, labels, self.mu, self.mass, solver, monitor)?;
        session.renew(self.clone(), None, monitor)?;
        Ok(session)
    }
}

impl<'a> Session<'a> {
    fn begin(
        graph: &'a Graph,
        labels: &Labels,
        mu: f64,
        mass: Mass,
        solver: ConjugateGradient,
        monitor: &Monitor,
    ) -> Result<Self> {
        let known = Known::new(graph, labels, monitor)?;
        monitor.start("label propagation", None);
        let operator = Sparse::new(graph, known.diagonal(mu), graph.weights());
        let operator = Ordered::new(operator)?;
        let mut solution = deviation(&known, mu, &operator, &solver, monitor)?;
        monitor.end();
        let convergence = known.convergence(&[&solution], monitor);
        let scores = known.with_proportions(std::mem::take(&mut solution.x));
        let scores = known.over_all_classes(scores);
        let mut session = Self {
            labels: labels.clone(),
            mu,
            mass,
            solver: ConjugateGradient {
                tolerance: solver.tolerance.max(TOLERANCE),
                ..solver
            },
            plain: System {
                graph,
                operator,
                scores,
            },
            mixed: None,
            pseudo_label: Vec::new(),
            convergence,
        };
        session.judge();
        Ok(session)
    }

    /// Sets the label of an item; gives the items whose pseudo-label changed, ascending.
    ///
    /// The class must be one of those of the [labels](Self::labels) by now;
    /// it need not have had a label so far. Exact for harmonic propagation; for mixed
    /// propagation with the negative edges as they were, see [`refresh`](Self::refresh).
    ///
    /// Fails where there is no such item or class, where no known label would be left, and
    /// when cancelled; the session is then as before. Costs the solve of one column and
    /// O(n C).
    pub fn relabel(&mut self, item: usize, label: Label, monitor: &Monitor) -> Result<Vec<u32>> {
        let graph = self.plain.graph;
        let labels = changed(&self.labels, item, label)?;
        let from = self.labels[item].class().map(|class| class as usize);
        let to = label.class().map(|class| class as usize);
        if from != to {
            let change = Change {
                item,
                from,
                to,
                left: reaching(graph, &labels, item).len(),
            };
            monitor.start("one label", None);
            let solved = if let Some(second) = &mut self.mixed {
                let solved = (second.system).relabel(change, self.mu, &self.solver, monitor)?;
                second.pending.push(change);
                solved
            } else {
                (self.plain).relabel(change, self.mu, &self.solver, monitor)?
            };
            monitor.end();
            // What a solve misses stays until all columns are solved anew.
            self.convergence.converged &= solved.converged;
            self.convergence.residual = self.convergence.residual.max(solved.residual);
        }
        self.labels = labels;
        Ok(self.judge())
    }

    /// Goes on with other classes: those labeled of class `c` are of `places[c]` from now on. Classes at one place are
    /// one, a place of none is a class without a label, and one without a label may go (`None`). Exact as
    /// [`relabel`](Self::relabel) is: negative edges between classes that become one stay until a
    /// [`refresh`](Self::refresh), and count as a change that is [pending](Self::pending).
    ///
    /// Fails where there is not a place below the number of `classes` for each class that has a label, or had one
    /// that a [`refresh`](Self::refresh) has yet to follow; the session is then as before. Costs O(n C), and a copy of
    /// the scores for so long.
    ///
    /// ```
    /// use likewise::propagate::Harmonic;
    /// use likewise::{Graph, Labels, Monitor};
    /// let graph = Graph::new(vec![0, 1, 3, 4], vec![1, 0, 2, 1], vec![3.0, 3.0, 1.0, 1.0])?;
    /// let labels = Labels::parse(["cat", "", "dog"]);
    /// let mut session = Harmonic::new().session(&graph, &labels, &Monitor::silent())?;
    /// // Cats are lions now, and there are bees.
    /// session.regroup(vec!["bee".into(), "dog".into(), "lion".into()], &[Some(2), Some(1)])?;
    /// assert_eq!(session.pseudo_label(), [Some(2), Some(2), Some(1)]);
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn regroup(&mut self, classes: Vec<String>, places: &[Option<u32>]) -> Result<()> {
        let mut joined: Vec<u32> = places.iter().flatten().copied().collect();
        joined.sort_unstable();
        let joins = joined.windows(2).any(|two| two[0] == two[1]);
        let (places, labels) = Places::of(places, &self.labels, classes)?;
        let n = labels.n_classes();
        if let Some(second) = &mut self.mixed {
            let moved = |class: Option<usize>| match class.map(|class| places.place(class)) {
                Some(None) => Err(Error::data(
                    "a class had a label that a refresh has yet to follow, and cannot go",
                )),
                place => Ok(place.flatten()),
            };
            let pending = second.pending.iter().map(|change| {
                Ok(Change {
                    from: moved(change.from)?,
                    to: moved(change.to)?,
                    ..*change
                })
            });
            second.pending = pending.collect::<Result<_>>()?;
            second.seen += usize::from(joins);
            second.system.scores = places.columns(&second.system.scores, n);
        }
        self.plain.scores = places.columns(&self.plain.scores, n);
        self.labels = labels;
        self.judge();
        Ok(())
    }

    /// Finds the negative edges anew and solves with them, from the present state; gives the
    /// items whose pseudo-label changed, ascending. The result is that of propagating anew.
    /// Does nothing for harmonic propagation, and where no label has changed.
    ///
    /// Fails when cancelled; the session is then usable and no less exact than before.
    /// Costs one solve of all columns and the search for negative edges.
    pub fn refresh(&mut self, monitor: &Monitor) -> Result<Vec<u32>> {
        let Some(second) = &mut self.mixed else {
            return Ok(Vec::new());
        };
        if second.pending.is_empty() && second.seen == 0 {
            return Ok(Vec::new());
        }
        monitor.start("label propagation", second.pending.len() as u64);
        while let Some(&change) = second.pending.first() {
            (self.plain).relabel(change, self.mu, &self.solver, monitor)?;
            second.pending.remove(0);
            second.seen += 1;
        }
        monitor.end();
        let (method, start) = (second.method.clone(), second.system.scores.clone());
        self.renew(method, Some(start), monitor)
    }

    /// Negative edges of the plain scores, and the mixed scores with them.
    fn renew(
        &mut self,
        method: Mixed,
        start: Option<Array2<f64>>,
        monitor: &Monitor,
    ) -> Result<Vec<u32>> {
        let labels = self.labels.clone();
        let known = Known::new(self.plain.graph, &labels, monitor)?;
        let mut f = known.columns(&self.plain.scores);
        for_each_row(&mut f, |i, mut row| row -= &known.proportions(i));
        known.center(&mut f);
        let (negatives, f) = method.find(&known, f, monitor)?;
        let start = start.map_or(f, |start| known.columns(&start));
        monitor.start("mixed label propagation", None);
        let operator = method.operator(self.plain.graph, known.diagonal(self.mu), &negatives);
        // For this solve and those of the changes to come.
        let operator = Ordered::new(operator)?;
        let mut solution = method.solve_labeled(&known, &operator, start, monitor)?;
        monitor.end();
        self.convergence = known.convergence(&[&solution], monitor);
        let (mean, share) = negatives.summary();
        self.convergence.mean_negative_weight = Some(mean);
        self.convergence.negative_share = Some(share);
        let system = System {
            graph: self.plain.graph,
            operator,
            scores: known.over_all_classes(std::mem::take(&mut solution.x)),
        };
        self.mixed = Some(Second {
            method,
            system,
            pending: Vec::new(),
            seen: 0,
        });
        Ok(self.judge())
    }

    /// Changes since the negative edges were found; 0 for harmonic propagation, which has none.
    pub fn pending(&self) -> usize {
        self.mixed
            .as_ref()
            .map_or(0, |second| second.pending.len() + second.seen)
    }

    /// The labels as they are now.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Pseudo-label of every item.
    pub fn pseudo_label(&self) -> &[Option<u32>] {
        &self.pseudo_label
    }

    /// Score per item and class (`n x C`), without class-mass normalisation.
    pub fn scores(&self) -> ArrayView2<'_, f64> {
        self.all_scores().view()
    }

    /// Confidence in the pseudo-label of every item, 0 to 1: that of [`beliefs`](Self::beliefs),
    /// without a copy of the scores. Costs O(n C).
    pub fn confidence(&self) -> Vec<f32> {
        let known = Known::over_all(self.plain.graph, &self.labels);
        known.confidences(self.all_scores(), self.mass)
    }

    /// Confidence in the pseudo-label of these items, in their order. Costs O(n), and O(C) an item: after one label more
    /// few items are asked for, and all would cost as much as the label. Panics where there is no such item.
    pub fn confidence_of(&self, items: &[usize]) -> Vec<f32> {
        let known = Known::over_all(self.plain.graph, &self.labels);
        known.confidence_of(items, self.all_scores(), self.mass)
    }

    /// Where the scores of an item come from: each labeled item with its part in them, the largest
    /// part first (ties: smaller item). The score of a class is the sum of the parts of the items that are
    /// labeled so, before the classes are put on a par; an item with a label of its own is among its
    /// sources. Empty where no label reaches.
    ///
    /// For [`Harmonic`] no part is below 0 and they sum to 1. With the negative edges of [`Mixed`] a part
    /// may be below 0: such a label speaks against its class.
    ///
    /// Fails where there is no such item, and when cancelled. Costs the solve of one column.
    ///
    /// ```
    /// use likewise::propagate::Harmonic;
    /// use likewise::{Graph, Labels, Monitor};
    /// // A path 0-1-2 with labels at its ends: item 1 is nearer to item 0.
    /// let graph = Graph::new(vec![0, 1, 3, 4], vec![1, 0, 2, 1], vec![3.0, 3.0, 1.0, 1.0])?;
    /// let labels = Labels::parse(["cat", "", "dog"]);
    /// let monitor = Monitor::silent();
    /// let session = Harmonic::new().session(&graph, &labels, &monitor)?;
    /// let sources = session.sources(1, &monitor)?;
    /// assert_eq!(sources[0].0, 0);
    /// assert!(sources[0].1 > 0.5 && (sources[0].1 + sources[1].1 - 1.0).abs() < 1e-6);
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn sources(&self, item: usize, monitor: &Monitor) -> Result<Vec<(u32, f64)>> {
        check_item(&self.labels, item)?;
        let graph = self.plain.graph;
        let labeled = reaching(graph, &self.labels, item);
        if labeled.is_empty() {
            return Ok(Vec::new());
        }
        monitor.start("sources of a belief", None);
        let (column, _) = match &self.mixed {
            Some(second) => second.system.column(item, &self.solver, monitor)?,
            None => self.plain.column(item, &self.solver, monitor)?,
        };
        monitor.end();
        // The matrix is symmetric: its column is the row that the labels are multiplied by.
        let parts = labeled.iter().map(|&i| (i as u32, self.mu * column[i]));
        Ok(largest_first(parts.collect()))
    }

    /// What the classes of an item are compared by (`C` values): its scores once the classes are put on a par. The
    /// largest is that of the pseudo-label, where the item has no label of its own. Costs O(n C) at most. Panics where
    /// there is no such item.
    pub fn compared(&self, item: usize) -> Vec<f64> {
        let known = Known::over_all(self.plain.graph, &self.labels);
        known.compared(item, self.all_scores(), self.mass)
    }

    fn all_scores(&self) -> &Array2<f64> {
        match &self.mixed {
            Some(second) => &second.system.scores,
            None => &self.plain.scores,
        }
    }

    /// Everything about every item, as the method itself gives it. Iterations are those of the last solve of all columns;
    /// the residual is the largest of that and of the changes since, and it converged where they all did. Costs O(n C) and
    /// a copy of the scores.
    pub fn beliefs(&self) -> Result<Beliefs> {
        let silent = Monitor::silent();
        let known = Known::new(self.plain.graph, &self.labels, &silent)?;
        let scores = known.columns(self.all_scores());
        let convergence = Convergence {
            unreached: known.convergence(&[], &silent).unreached,
            ..self.convergence.clone()
        };
        Ok(known.beliefs(scores, self.mass, convergence))
    }

    /// Renews the pseudo-labels; gives the items where they changed.
    fn judge(&mut self) -> Vec<u32> {
        let known = Known::over_all(self.plain.graph, &self.labels);
        let new = known.pseudo_labels(self.all_scores(), self.mass);
        let old = std::mem::replace(&mut self.pseudo_label, new);
        (old.iter().zip(&self.pseudo_label).zip(0..))
            .filter(|((old, new), _)| old != new)
            .map(|(_, item)| item)
            .collect()
    }
}

/// Fails where there is no such item.
pub(super) fn check_item(labels: &Labels, item: usize) -> Result<()> {
    if item < labels.len() {
        return Ok(());
    }
    let rule = format!("must be below the number of items, {}", labels.len());
    Err(Error::parameter("item", item, &rule))
}

/// The labeled items that are connected with an item, ascending.
pub(super) fn reaching(graph: &Graph, labels: &Labels, item: usize) -> Vec<usize> {
    let component = graph.component();
    (labels.items().iter().enumerate())
        .filter(|&(i, label)| label.class().is_some() && component[i] == component[item])
        .map(|(i, _)| i)
        .collect()
}

/// Items by their parts, the largest first; ties: the smaller item.
pub(super) fn largest_first(mut parts: Vec<(u32, f64)>) -> Vec<(u32, f64)> {
    parts.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    parts
}

/// The labels after a change of one of them.
///
/// Fails where there is no such item or class, and where no known label would be left.
pub(super) fn changed(labels: &Labels, item: usize, label: Label) -> Result<Labels> {
    check_item(labels, item)?;
    let mut items = labels.items().to_vec();
    items[item] = label;
    let labels = Labels::new(labels.classes().to_vec(), items)?;
    if labels.n_known() == 0 {
        return Err(Error::data(
            "no item would have a known label; label another item first",
        ));
    }
    Ok(labels)
}

impl<T: Copy + Into<f64> + Sync + Send> System<'_, T> {
    fn relabel(
        &mut self,
        change: Change,
        mu: f64,
        solver: &ConjugateGradient,
        monitor: &Monitor,
    ) -> Result<Solved> {
        let Change {
            item,
            from,
            to,
            left,
        } = change;
        let isolated = self.graph.row(item).0.is_empty();
        let now = |label: Option<usize>| match label {
            Some(_) => mu,
            None if isolated => 1.0,
            None => 0.0,
        };
        let step = now(to) - now(from);
        self.operator.add_to_diagonal(item, step);
        let target = |class: Option<usize>| match class {
            Some(class) => {
                let mut y = Array1::zeros(self.scores.ncols());
                y[class] = 1.0;
                y
            }
            None => self.scores.row(item).to_owned(),
        };
        let pull = target(to) - target(from);
        if left == 0 {
            self.fill(item, &Array1::zeros(self.scores.ncols()));
            return Ok(Solved::EXACTLY);
        }
        if left == 1 && from.is_none() && self.held(item) <= mu * (1.0 + ROUNDING) {
            // The first label of a component that nothing else holds: it goes everywhere.
            let y = target(to);
            self.fill(item, &y);
            return Ok(Solved::EXACTLY);
        }
        let found = self.column(item, solver, monitor);
        match found {
            Err(error) => {
                self.operator.add_to_diagonal(item, -step);
                Err(error)
            }
            Ok((g, solved)) => {
                for_each_row(&mut self.scores, |i, mut row| {
                    // Of another component, whose scores need not be read.
                    if g[i] != 0.0 {
                        row.scaled_add(mu * g[i], &pull);
                    }
                });
                Ok(solved)
            }
        }
    }

    /// Gives all that hangs together with an item these scores.
    fn fill(&mut self, item: usize, row: &Array1<f64>) {
        for &i in &self.operator.order()[self.operator.part_of(item)] {
            self.scores.row_mut(i as usize).assign(row);
        }
    }

    /// What holds all that hangs together with an item.
    fn held(&self, item: usize) -> f64 {
        let part = self.operator.part_of(item);
        self.operator.excess()[part].iter().sum()
    }

    /// `M^-1 e_i`, which is 0 beyond the component of the item. Its constant part there, which is large, is known
    /// beforehand: `1^T M g = 1`, and `M 1` is the excess of the rows.
    fn column(
        &self,
        item: usize,
        solver: &ConjugateGradient,
        monitor: &Monitor,
    ) -> Result<(Vec<f64>, Solved)> {
        let (places, total) = (self.operator.part_of(item), self.held(item));
        let part = self.operator.part(places.clone());
        let start = Array2::from_elem((places.len(), 1), 1.0 / total);
        let (place, one) = (self.operator.place(item) - places.start, array![[1.0]]);
        let solution = solver.solve_rows(&part, &[place], one.view(), Some(start), monitor)?;
        let found = solution.x.column(0);
        let excess = &self.operator.excess()[places.clone()];
        let sum: f64 = found.iter().zip(excess).map(|(g, e)| g * e).sum();
        let missing = (1.0 - sum) / total;
        let mut g = vec![0.0; self.graph.n()];
        for (&i, &found) in self.operator.order()[places].iter().zip(&found) {
            g[i as usize] = found + missing;
        }
        let solved = Solved {
            converged: solution.converged,
            residual: solution.residuals[0],
        };
        Ok((g, solved))
    }
}

/// The deviation of harmonic scores from the shares of the classes, as [`Harmonic`] has it, by an operator in its order.
fn deviation(
    known: &Known,
    mu: f64,
    operator: &Ordered<f32>,
    solver: &ConjugateGradient,
    monitor: &Monitor,
) -> Result<Solution> {
    let (labeled, rhs) = (known.labeled(), pulls(known, mu));
    let mut solution = operator.solve_rows(solver, &labeled, rhs.view(), None, monitor)?;
    known.center(&mut solution.x);
    Ok(solution)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::propagate::{NegativeEdges, Propagate};
    use crate::reference::{self, in_one_and_two_threads, path, path_labels};
    use crate::{ErrorKind, Event, seed};
    use proptest::prelude::*;
    use rand::RngExt;

    fn silent() -> Monitor {
        Monitor::silent()
    }

    /// The harmonic scores of all classes from scratch.
    fn plain(graph: &Graph, labels: &Labels) -> Array2<f64> {
        let method = Harmonic::new().tolerance(1e-12);
        method.propagate(graph, labels, &silent()).unwrap().scores
    }

    fn farthest(a: ArrayView2<f64>, b: ArrayView2<f64>) -> f64 {
        (a.iter().zip(b)).fold(0.0, |far, (a, b)| far.max((a - b).abs()))
    }

    #[test]
    fn sources_and_labels_give_the_scores_again() {
        let graph = reference::random_graph(200, 700, 5);
        let labels = reference::random_labels(200, 3, 4);
        let harmonic = Harmonic::new().tolerance(1e-12);
        let harmonic = harmonic.session(&graph, &labels, &silent()).unwrap();
        let mixed = Mixed::labeled().tolerance(1e-12);
        let mixed = mixed.session(&graph, &labels, &silent()).unwrap();
        for session in [&harmonic, &mixed] {
            for item in [0, 17, 150] {
                let mut scores = [0.0; 3];
                for (source, part) in session.sources(item, &silent()).unwrap() {
                    let class = labels[source as usize].class().unwrap();
                    scores[class as usize] += part;
                }
                for (class, score) in scores.iter().enumerate() {
                    let own = session.scores()[[item, class]];
                    assert!((score - own).abs() < 1e-5, "{item} {class}: {score} {own}");
                }
            }
        }
        let parts = harmonic.sources(17, &silent()).unwrap();
        let sum: f64 = parts.iter().map(|(_, part)| part).sum();
        assert!((sum - 1.0).abs() < 1e-6 && parts.iter().all(|(_, part)| *part > -1e-9));
        assert!(parts.windows(2).all(|two| two[0].1 >= two[1].1));
        assert!(harmonic.sources(200, &silent()).is_err());
    }

    #[test]
    fn what_no_label_reaches_has_no_sources_and_one_label_is_all_of_them() {
        let graph = Graph::new(vec![0, 1, 2, 2], vec![1, 0], vec![1.0, 1.0]).unwrap();
        let labels = Labels::parse(["cat", "", ""]);
        let session = Harmonic::new().session(&graph, &labels, &silent()).unwrap();
        assert_eq!(session.sources(2, &silent()).unwrap(), []);
        for item in [0, 1] {
            let sources = session.sources(item, &silent()).unwrap();
            assert_eq!(sources.len(), 1);
            assert!(sources[0].0 == 0 && (sources[0].1 - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn confidences_are_those_of_the_beliefs() {
        let graph = reference::random_graph(300, 900, 2);
        let mut words: Vec<&str> = vec![""; 300];
        (words[3], words[40], words[99], words[120]) = ("a", "b", "a", "-2");
        let mut labels = Labels::parse(words);
        // A class that no item has counts for nothing.
        let classes = vec!["a".into(), "b".into(), "c".into()];
        labels = Labels::new(classes, labels.items().to_vec()).unwrap();
        let harmonic = Harmonic::new().session(&graph, &labels, &silent()).unwrap();
        let mixed = Mixed::labeled();
        let mixed = mixed.session(&graph, &labels, &silent()).unwrap();
        for session in [harmonic, mixed] {
            let own = session.confidence();
            let beliefs = session.beliefs().unwrap();
            let far = own.iter().zip(&beliefs.confidence);
            assert!(far.fold(0.0_f32, |far, (a, b)| far.max((a - b).abs())) < 1e-6);
            assert_eq!((own[3], own[120]), (1.0, 0.0));
            let all: Vec<usize> = (0..300).rev().collect();
            let some = session.confidence_of(&all);
            assert!(
                all.iter()
                    .zip(some)
                    .all(|(&i, one)| one.to_bits() == own[i].to_bits())
            );
        }
    }

    #[test]
    fn the_path_with_a_third_label() {
        let graph = path();
        let mut session = (Harmonic::new().session(&graph, &path_labels(), &silent())).unwrap();
        session.relabel(1, Label::Known(1), &silent()).unwrap();
        // (L + U) F = U Y with u = 1/99 on nodes 0, 1 and 3, solved by hand for the
        // deviation of class 0 from 1/3: node 2 follows from its neighbours 1 and 3.
        let mu = 1.0 / 99.0;
        let f = session.scores();
        let u = [mu, mu, 0.0, mu];
        let y = [1.0, 0.0, 0.0, 0.0];
        let w = [
            [0.0, 1.0, 0.0, 0.0],
            [1.0, 0.0, 0.5, 0.0],
            [0.0, 0.5, 0.0, 1.0],
            [0.0, 0.0, 1.0, 0.0],
        ];
        for i in 0..4 {
            let pulls: f64 = (0..4).map(|j| w[i][j] * (f[[i, 0]] - f[[j, 0]])).sum();
            assert!((pulls + u[i] * (f[[i, 0]] - y[i])).abs() < 1e-9);
        }
        assert_eq!(session.pseudo_label(), [Some(0), Some(1), Some(1), Some(1)]);
    }

    #[test]
    fn other_classes_are_as_if_they_had_been_so_from_the_start() {
        let n = 300;
        let graph = reference::random_graph(n, 4 * n, 4);
        let labels = reference::random_labels(n, 4, 4).draw(6, 1);
        // The last class goes into the first, the second takes another place, and two are new.
        let names = ["x", "y", "z", "w", "v"].map(String::from).to_vec();
        let places = [Some(3), Some(1), Some(4), Some(3)];
        let moved = |label: &Label| label.class().map(|class| places[class as usize]);
        let items = labels.items().iter().map(|label| match moved(label) {
            Some(place) => place.map_or(*label, Label::Known),
            None => *label,
        });
        let by_hand = Labels::new(names.clone(), items.collect()).unwrap();
        let method = Harmonic::new().mass(Mass::Uniform).tolerance(1e-12);
        let mut session = method.session(&graph, &labels, &silent()).unwrap();
        session.regroup(names.clone(), &places).unwrap();
        assert_eq!(session.labels(), &by_hand);
        let scratch = method.session(&graph, &by_hand, &silent()).unwrap();
        assert!(farthest(session.scores(), scratch.scores()) < 1e-9);
        assert_eq!(session.pseudo_label(), scratch.pseudo_label());
        // It goes on from there, by a class of no label before.
        let free = (0..n).find(|&i| labels[i] == Label::Unknown).unwrap();
        session.relabel(free, Label::Known(0), &silent()).unwrap();
        assert!(farthest(session.scores(), plain(&graph, session.labels()).view()) < 1e-6);

        // With negative edges, and a change that they have not seen.
        let mut session = Mixed::labeled()
            .session(&graph, &labels, &silent())
            .unwrap();
        session.relabel(free, Label::Known(2), &silent()).unwrap();
        let before = session.scores().to_owned();
        session.regroup(names.clone(), &places).unwrap();
        for (i, row) in before.outer_iter().enumerate() {
            let moved = [0.0, row[1], 0.0, row[0] + row[3], row[2]];
            for (class, moved) in moved.into_iter().enumerate() {
                assert!((session.scores()[[i, class]] - moved).abs() < 1e-12);
            }
        }
        // That change, and classes that became one.
        assert_eq!(session.pending(), 2);
        session.refresh(&silent()).unwrap();
        let anew = Mixed::labeled();
        let anew = anew.session(&graph, session.labels(), &silent()).unwrap();
        assert!(farthest(session.scores(), anew.scores()) < 1e-6);

        // What cannot be leaves all as it was.
        let before = session.clone();
        let without_a_place = [Some(0), Some(1), Some(2), None, Some(3)];
        let beyond = [Some(0), Some(1), Some(2), Some(5), Some(3)];
        for (wrong, says) in [
            (without_a_place, "\"w\" has labels"),
            (beyond, "number of classes"),
        ] {
            let said = session.regroup(names.clone(), &wrong).unwrap_err();
            assert!(said.to_string().contains(says), "{said}");
        }
        assert!(session.regroup(names.clone(), &[Some(0)]).is_err());
        session.relabel(free, Label::Known(0), &silent()).unwrap();
        session.relabel(free, Label::Known(1), &silent()).unwrap();
        let gone = [None, Some(0), Some(1), Some(2), Some(3)];
        let said = session.regroup(names[..4].to_vec(), &gone).unwrap_err();
        assert!(said.to_string().contains("yet to follow"), "{said}");
        assert_eq!(session.labels().classes(), before.labels().classes());
        session.refresh(&silent()).unwrap();
        session.regroup(names[1..].to_vec(), &gone).unwrap();
        assert_eq!(session.scores().ncols(), 4);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn follows_any_changes_as_from_scratch(
            n in 2_usize..60, density in 0_usize..4, classes in 1_u32..6, seed in 0_u64..10_000,
        ) {
            let graph = reference::random_graph(n, density * n, seed);
            let mut labels = reference::random_labels(n, classes, seed);
            let mut session = Harmonic::new().session(&graph, &labels, &silent()).unwrap();
            let mut rng = seed::stream(seed, "test changes");
            for _ in 0..8 {
                let item = rng.random_range(0..n);
                let label = match rng.random_range(0..4) {
                    0 => Label::Unknown,
                    1 => Label::Outside,
                    _ => Label::Known(rng.random_range(0..classes)),
                };
                let mut items = labels.items().to_vec();
                items[item] = label;
                let before = session.pseudo_label().to_vec();
                let next = Labels::new(labels.classes().to_vec(), items).unwrap();
                if next.n_known() == 0 {
                    prop_assert!(session.relabel(item, label, &silent()).is_err());
                    continue;
                }
                labels = next;
                let changed = session.relabel(item, label, &silent()).unwrap();
                prop_assert_eq!(session.labels(), &labels);
                let scores = plain(&graph, &labels);
                prop_assert!(farthest(session.scores(), scores.view()) < 1e-6);
                let differ = |&i: &u32| session.pseudo_label()[i as usize] != before[i as usize];
                let expected: Vec<u32> = (0..n as u32).filter(differ).collect();
                prop_assert_eq!(changed, expected);
                let beliefs = session.beliefs().unwrap();
                prop_assert_eq!(&beliefs.pseudo_label[..], session.pseudo_label());
                let scratch = Harmonic::new().propagate(&graph, &labels, &silent()).unwrap();
                prop_assert_eq!(beliefs.convergence.unreached, scratch.convergence.unreached);
                for (a, b) in beliefs.confidence.iter().zip(&scratch.confidence) {
                    prop_assert!((a - b).abs() < 1e-4);
                }
            }
        }
    }

    /// `G` for the labels and given negative edges, dense.
    fn frozen(graph: &Graph, negatives: &NegativeEdges, labels: &Labels) -> Array2<f64> {
        let mu = 1.0 / 99.0;
        let mut m = reference::system(&reference::dense(graph), labels, mu);
        for (i, j, s) in negatives.edges(graph) {
            let (i, j) = (i as usize, j as usize);
            m[[i, i]] += s;
            m[[j, j]] += s;
            m[[i, j]] += s;
            m[[j, i]] += s;
        }
        let keep = reference::reached(graph, labels);
        reference::solve(&m, &(reference::one_hot(labels) * mu), &keep)
    }

    #[test]
    fn mixed_is_exact_with_the_old_edges_and_like_new_after_a_refresh() {
        let n = 400;
        let graph = reference::random_graph(n, 5 * n, 11);
        let mut labels = reference::random_labels(n, 4, 11).draw(12, 1);
        let mixed = Mixed::labeled();
        let scratch = |labels: &Labels| mixed.spread_found(&graph, labels, &silent()).unwrap();
        let (first, negatives) = scratch(&labels);
        let mut session = mixed.session(&graph, &labels, &silent()).unwrap();
        assert!(farthest(session.scores(), first.scores.view()) < 1e-10);
        let free: Vec<usize> = (0..n).filter(|&i| labels[i] == Label::Unknown).collect();
        let taken = (0..n).find(|&i| labels[i] == Label::Known(2)).unwrap();
        let changes = [
            (free[3], Label::Known(0)),
            (free[50], Label::Known(3)),
            (taken, Label::Known(1)),
            (free[3], Label::Unknown),
        ];
        for (item, label) in changes {
            session.relabel(item, label, &silent()).unwrap();
            let mut items = labels.items().to_vec();
            items[item] = label;
            labels = Labels::new(labels.classes().to_vec(), items).unwrap();
            let expected = frozen(&graph, &negatives, &labels);
            assert!(farthest(session.scores(), expected.view()) < 1e-9);
        }
        assert_eq!(session.pending(), 4);
        let (last, _) = scratch(&labels);
        let moved = farthest(first.scores.view(), last.scores.view());
        let missing = farthest(session.scores(), last.scores.view());
        assert!(missing < 0.3 * moved, "{missing} of {moved}");
        session.refresh(&silent()).unwrap();
        assert!(farthest(session.scores(), last.scores.view()) < 1e-6);
        assert_eq!(session.pseudo_label(), last.pseudo_label);
        assert_eq!(session.pending(), 0);
        let beliefs = session.beliefs().unwrap();
        assert_eq!(beliefs.pseudo_label, last.pseudo_label);
        assert!(beliefs.convergence.negative_share.is_some());
    }

    #[test]
    fn class_mass_normalisation_is_followed() {
        let graph = reference::random_graph(300, 1500, 1);
        let labels = reference::random_labels(300, 3, 1);
        let method = Harmonic::new().mass(Mass::Uniform);
        let mut session = method.session(&graph, &labels, &silent()).unwrap();
        session.relabel(7, Label::Known(2), &silent()).unwrap();
        let scratch = method
            .propagate(&graph, session.labels(), &silent())
            .unwrap();
        assert_eq!(session.pseudo_label(), scratch.pseudo_label);
        let scores = session.beliefs().unwrap().scores;
        assert!(farthest(scores.view(), scratch.scores.view()) < 1e-6);
    }

    #[test]
    fn bad_input_and_cancelling_leave_everything_as_it_was() {
        let graph = path();
        let mut session = (Mixed::labeled().session(&graph, &path_labels(), &silent())).unwrap();
        let before = session.clone();
        let mut message = |item, label| {
            let error = session.relabel(item, label, &silent()).unwrap_err();
            error.to_string()
        };
        assert!(message(4, Label::Known(0)).starts_with("item = 4"));
        assert!(message(1, Label::Known(2)).contains("class 2"));
        let stopped = silent();
        stopped.cancel();
        let error = session.relabel(1, Label::Known(1), &stopped).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert_eq!(session.scores(), before.scores());
        assert_eq!(session.labels(), before.labels());
        session.relabel(1, Label::Known(1), &silent()).unwrap();
        assert!(session.refresh(&stopped).is_err());
        assert_eq!(session.pending(), 1);
        session.refresh(&silent()).unwrap();
        assert_eq!(session.pending(), 0);
    }

    #[test]
    fn a_refresh_that_is_cancelled_halfway_is_taken_up_by_the_next() {
        let graph = reference::random_graph(300, 1500, 3);
        let labels = reference::random_labels(300, 3, 3).draw(8, 1);
        let mut session = Mixed::labeled()
            .session(&graph, &labels, &silent())
            .unwrap();
        let free = (0..300).find(|&i| labels[i] == Label::Unknown).unwrap();
        session.relabel(free, Label::Known(1), &silent()).unwrap();
        let scores = session.scores().to_owned();
        // The plain scores have the change by then, and the negative edges do not.
        let stop = Monitor::silent();
        let stopping = stop.clone();
        let stopped = stop.also(move |event| {
            if matches!(event, Event::Start { stage, .. } if stage == "negative edges") {
                stopping.cancel();
            }
        });
        let error = session.refresh(&stopped).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert_eq!(session.scores(), scores);
        assert_eq!(session.pending(), 1);
        session.refresh(&silent()).unwrap();
        assert_eq!(session.pending(), 0);
        let anew = Mixed::labeled()
            .session(&graph, session.labels(), &silent())
            .unwrap();
        assert!(farthest(session.scores(), anew.scores()) < 1e-6);
    }

    #[test]
    fn a_refresh_follows_classes_that_became_one() {
        let graph = reference::random_graph(300, 1500, 4);
        let labels = reference::random_labels(300, 3, 4);
        let mixed = || Mixed::labeled();
        let mut session = mixed().session(&graph, &labels, &silent()).unwrap();
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        session
            .regroup(names(&["x", "y", "z"]), &[Some(2), Some(0), Some(1)])
            .unwrap();
        assert_eq!(session.pending(), 0);
        session
            .regroup(names(&["x", "y"]), &[Some(0), Some(1), Some(1)])
            .unwrap();
        assert_eq!(session.pending(), 1);
        session.refresh(&silent()).unwrap();
        let anew = mixed()
            .session(&graph, session.labels(), &silent())
            .unwrap();
        assert!(farthest(session.scores(), anew.scores()) < 1e-6);
        assert_eq!(session.pending(), 0);
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bytes() {
        let graph = reference::random_graph(1500, 9000, 2);
        let labels = reference::random_labels(1500, 7, 2);
        let (one, two) = in_one_and_two_threads(|| {
            let mut session = Mixed::labeled()
                .session(&graph, &labels, &silent())
                .unwrap();
            session.relabel(3, Label::Known(1), &silent()).unwrap();
            session.refresh(&silent()).unwrap();
            session.relabel(3, Label::Known(2), &silent()).unwrap();
            session.beliefs().unwrap()
        });
        assert_eq!(one, two);
    }
}
