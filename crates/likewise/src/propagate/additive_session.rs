//! What follows single changes of labels by methods whose answer is a sum over the labels.
//!
//! With `g_j` the answer to a label at item `j` alone, the scores are made of `A = sum_j g_j y_j^T` (`n x C`): a label
//! that is added, changed or taken back adds or subtracts the one column `g_j`, which is solved for. This is exact.
//! [`PoissonSession`](super::PoissonSession) and [`LgcSession`](super::LgcSession) are such; sizes that are held are
//! by prices that are found anew after each change.
//!
//! **Use it** for labeling by hand, where one label after the other is added, changed or taken back. **Not** for many
//! new labels at once: a change solves one column, and propagating anew one of each class.
//!
//! Cost of a change: one solve of one column, O(n C), and what sizes cost that are held. Memory: `A` and the scores,
//! twice `n x C`.
//!
//! Source: ours.

use ndarray::{Array2, ArrayView2};

use super::parts::known::Known;
use super::parts::regroup::Places;
use super::parts::sizes::Sizes;
use super::session::{changed, check_item, largest_first, reaching};
use crate::solve::{Ordered, Solution};
use crate::{Beliefs, Convergence, Graph, Label, Labels, Monitor, Result};

/// A method whose answer is made of a sum over the labels.
pub(super) trait Additive: Clone {
    /// What is shown of a solve of one label.
    const STAGE: &'static str = "one label";

    /// Fails where what is known of sizes does not suit the labels.
    fn check_sizes(&self, known: &Known) -> Result<()>;

    /// What is known of sizes, where something is.
    fn sizes_mut(&mut self) -> Option<&mut Sizes>;

    /// `g` of an item, the column `x` of the solution, by the [system](AdditiveSession) of the graph.
    fn of_one(
        &self,
        graph: &Graph,
        system: &Ordered<f32>,
        item: usize,
        monitor: &Monitor,
    ) -> Result<Solution>;

    /// The beliefs that `A`, over all classes, comes to.
    fn decided(
        &self,
        known: &Known,
        sums: &Array2<f64>,
        convergence: Convergence,
    ) -> Result<Beliefs>;
}

/// Beliefs that follow single changes of labels.
#[derive(Debug, Clone)]
pub struct AdditiveSession<'a, M> {
    pub(super) method: M,
    graph: &'a Graph,
    /// What each column is solved by.
    system: Ordered<f32>,
    labels: Labels,
    /// `A`, over all classes, those without a label included.
    sums: Array2<f64>,
    beliefs: Beliefs,
}

#[expect(
    private_bounds,
    reason = "the methods that are such are those of this crate"
)]
impl<'a, M: Additive> AdditiveSession<'a, M> {
    /// From `A` over all classes, and how it was solved for.
    pub(super) fn begin(
        method: &M,
        (graph, system): (&'a Graph, Ordered<f32>),
        known: &Known,
        labels: &Labels,
        (sums, convergence): (Array2<f64>, Convergence),
    ) -> Result<Self> {
        let beliefs = method.decided(known, &sums, convergence)?;
        Ok(Self {
            method: method.clone(),
            graph,
            system,
            labels: labels.clone(),
            sums,
            beliefs,
        })
    }

    /// Sets the label of an item; gives the items whose pseudo-label changed, ascending.
    ///
    /// The class must be one of those of the [labels](Self::labels) by now;
    /// it need not have had a label so far.
    ///
    /// Fails where there is no such item or class, where no known label would be left, where the sizes that are
    /// known do not suit the labels, and when cancelled; the session is then as before. Costs the solve of one column
    /// and O(n C).
    pub fn relabel(&mut self, item: usize, label: Label, monitor: &Monitor) -> Result<Vec<u32>> {
        let labels = changed(&self.labels, item, label)?;
        let beliefs = {
            let silent = Monitor::silent();
            let known = Known::new(self.graph, &labels, &silent)?;
            self.method.check_sizes(&known)?;
            let class = |label: Label| label.class().map(|class| class as usize);
            let change = self.carry(item, class(self.labels[item]), class(label), monitor)?;
            let solves: Vec<&Solution> = change.iter().collect();
            let own = known.convergence(&solves, &silent);
            let before = &self.beliefs.convergence;
            let convergence = Convergence {
                unreached: own.unreached,
                // What a solve misses stays for good.
                converged: before.converged && own.converged,
                residual: before.residual.max(own.residual),
                ..before.clone()
            };
            self.method.decided(&known, &self.sums, convergence)?
        };
        self.labels = labels;
        let old = std::mem::replace(&mut self.beliefs, beliefs);
        let pairs = (old.pseudo_label.iter()).zip(&self.beliefs.pseudo_label);
        Ok((pairs.zip(0..))
            .filter(|((old, new), _)| old != new)
            .map(|(_, item)| item)
            .collect())
    }

    /// Goes on with other classes: those labeled of class `c` are of `places[c]` from now on. Classes at one place are
    /// one, a place of none is a class without a label, and one without a label may go (`None`).
    ///
    /// Sizes that are known are those of the classes at their places: 0 of a new one, which then takes no label.
    ///
    /// Fails where there is not a place below the number of `classes` for each class that has a label, and where the
    /// sizes that are known do not suit them; the session is then as before. Costs O(n C) and prices of sizes, and a copy of `A` for so
    /// long.
    pub fn regroup(&mut self, classes: Vec<String>, places: &[Option<u32>]) -> Result<()> {
        let (places, labels) = Places::of(places, &self.labels, classes)?;
        let n = labels.n_classes();
        let mut method = self.method.clone();
        if let Some(sizes) = method.sizes_mut() {
            *sizes = places.sizes(sizes, n);
        }
        let (sums, beliefs) = {
            let known = Known::new(self.graph, &labels, &Monitor::silent())?;
            method.check_sizes(&known)?;
            let sums = places.columns(&self.sums, n);
            let convergence = self.beliefs.convergence.clone();
            let beliefs = method.decided(&known, &sums, convergence)?;
            (sums, beliefs)
        };
        (self.method, self.labels) = (method, labels);
        (self.sums, self.beliefs) = (sums, beliefs);
        Ok(())
    }

    /// Takes the column of an item from one class to another; gives how its solve went, `None` where none is
    /// needed.
    fn carry(
        &mut self,
        item: usize,
        from: Option<usize>,
        to: Option<usize>,
        monitor: &Monitor,
    ) -> Result<Option<Solution>> {
        if from == to {
            return Ok(None);
        }
        monitor.start(M::STAGE, None);
        // As fine as the rest: what it misses stays.
        let solution = (self.method).of_one(self.graph, &self.system, item, monitor)?;
        monitor.end();
        for (class, sign) in [(from, -1.0), (to, 1.0)] {
            if let Some(class) = class {
                let mut own = self.sums.column_mut(class);
                own.scaled_add(sign, &solution.x.column(0));
            }
        }
        Ok(Some(solution))
    }

    /// The labels as they are now.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Pseudo-label of every item.
    pub fn pseudo_label(&self) -> &[Option<u32>] {
        &self.beliefs.pseudo_label
    }

    /// Score per item and class (`n x C`), without the prices of sizes that are held.
    pub fn scores(&self) -> ArrayView2<'_, f64> {
        self.beliefs.scores.view()
    }

    /// Confidence in the pseudo-label of every item, 0 to 1.
    pub fn confidence(&self) -> &[f32] {
        &self.beliefs.confidence
    }

    /// Where the scores of an item come from: each labeled item that reaches it with its part, the largest part first
    /// (ties: smaller item). What is summed over the labels of a class is the sum of the parts of its items; an item
    /// with a label of its own is among its sources. Empty where no label reaches.
    ///
    /// No part is below 0: for [`Poisson`](super::Poisson), whose flows are known up to a constant, the least is 0.
    ///
    /// Fails where there is no such item, and when cancelled. Costs the solve of one column.
    ///
    /// ```
    /// use likewise::propagate::Lgc;
    /// use likewise::{Graph, Labels, Monitor};
    /// // A path 0-1-2 with labels at its ends: item 1 is nearer to item 0.
    /// let graph = Graph::new(vec![0, 1, 3, 4], vec![1, 0, 2, 1], vec![3.0, 3.0, 1.0, 1.0])?;
    /// let labels = Labels::parse(["cat", "", "dog"]);
    /// let monitor = Monitor::silent();
    /// let session = Lgc::new().session(&graph, &labels, &monitor)?;
    /// let sources = session.sources(1, &monitor)?;
    /// assert_eq!(sources[0].0, 0);
    /// assert!(sources[0].1 > sources[1].1);
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn sources(&self, item: usize, monitor: &Monitor) -> Result<Vec<(u32, f64)>> {
        check_item(&self.labels, item)?;
        let labeled = reaching(self.graph, &self.labels, item);
        if labeled.is_empty() {
            return Ok(Vec::new());
        }
        monitor.start("sources of a belief", None);
        // The matrix is symmetric: what flows from the item to a label is what flows from that to the item.
        let column = (self.method)
            .of_one(self.graph, &self.system, item, monitor)?
            .x;
        monitor.end();
        let least = labeled
            .iter()
            .fold(0.0, |least: f64, &i| least.min(column[[i, 0]]));
        let parts = labeled.iter().map(|&i| (i as u32, column[[i, 0]] - least));
        Ok(largest_first(parts.collect()))
    }

    /// Everything about every item, as the method itself gives it. Iterations are those of the first solve of all
    /// columns. The residual is the largest of all solves so far, and it has converged where all of them have: what one
    /// of them misses stays, whatever changes later.
    pub fn beliefs(&self) -> &Beliefs {
        &self.beliefs
    }
}

/// What the tests of all such sessions share.
#[cfg(test)]
pub(super) mod tests {
    use proptest::test_runner::TestCaseError;
    use proptest::{prop_assert, prop_assert_eq};
    use rand::RngExt;

    use super::*;
    use crate::propagate::Propagate;
    use crate::{ErrorKind, reference, seed};

    pub(in crate::propagate) fn farthest(a: ArrayView2<f64>, b: ArrayView2<f64>) -> f64 {
        (a.iter().zip(b)).fold(0.0, |far, (a, b)| far.max((a - b).abs()))
    }

    /// The labels with one of them changed, as they are to be.
    fn with(labels: &Labels, item: usize, label: Label) -> Labels {
        let mut items = labels.items().to_vec();
        items[item] = label;
        Labels::new(labels.classes().to_vec(), items).unwrap()
    }

    /// Whether the classes of the two highest scores of an item are clearly apart: by more than what solving leaves, too,
    /// since between labels of two classes lie items whose scores are all 0.
    fn clear(beliefs: &Beliefs, labels: &Labels, i: usize) -> bool {
        let mut row: Vec<f64> = (0..labels.n_classes())
            .filter(|&c| !labels.by_class()[c].is_empty())
            .map(|c| beliefs.scores[[i, c]])
            .collect();
        row.sort_by(|a, b| b.total_cmp(a));
        row.len() < 2 || row[0] - row[1] > (1e-3 * row[0].abs()).max(1e-9)
    }

    /// Eight random changes of a session of `method`, each compared with propagating anew.
    pub(in crate::propagate) fn follows_any_changes<'a, M: Additive + Propagate>(
        method: &M,
        mut session: AdditiveSession<'a, M>,
        graph: &'a Graph,
        seed: u64,
    ) -> Result<(), TestCaseError> {
        let silent = Monitor::silent();
        let (n, classes) = (graph.n(), session.labels().n_classes() as u32);
        let mut labels = session.labels().clone();
        let mut rng = seed::stream(seed, "test changes");
        for _ in 0..8 {
            let item = rng.random_range(0..n);
            let label = match rng.random_range(0..4) {
                0 => Label::Unknown,
                1 => Label::Outside,
                _ => Label::Known(rng.random_range(0..classes)),
            };
            let before = session.pseudo_label().to_vec();
            let next = with(&labels, item, label);
            if next.n_known() == 0 {
                prop_assert!(session.relabel(item, label, &silent).is_err());
                continue;
            }
            labels = next;
            let changed = session.relabel(item, label, &silent).unwrap();
            prop_assert_eq!(session.labels(), &labels);
            let differ = |&i: &u32| session.pseudo_label()[i as usize] != before[i as usize];
            let expected: Vec<u32> = (0..n as u32).filter(differ).collect();
            prop_assert_eq!(changed, expected);
            let scratch = method.propagate(graph, &labels, &silent).unwrap();
            let far = farthest(session.scores(), scratch.scores.view());
            prop_assert!(far < 1e-5, "{far}");
            let beliefs = session.beliefs();
            prop_assert_eq!(&beliefs.labeled, &scratch.labeled);
            prop_assert_eq!(beliefs.convergence.unreached, scratch.convergence.unreached);
            for i in (0..n).filter(|&i| clear(&scratch, &labels, i)) {
                prop_assert_eq!(beliefs.pseudo_label[i], scratch.pseudo_label[i]);
                let far = session.confidence()[i] - scratch.confidence[i];
                prop_assert!(far.abs() < 1e-3, "{i}: {far}");
            }
        }
        Ok(())
    }

    /// An item that is unlabeled and labeled again changes nothing.
    pub(in crate::propagate) fn comes_back<M: Additive>(mut session: AdditiveSession<'_, M>) {
        let silent = Monitor::silent();
        let (labels, before) = (session.labels().clone(), session.beliefs().clone());
        let n = before.pseudo_label.len();
        let item = (0..n).find(|&i| labels[i].class().is_some()).unwrap();
        let label = labels[item];
        session.relabel(item, Label::Unknown, &silent).unwrap();
        assert!(farthest(session.scores(), before.scores.view()) > 1e-5);
        session.relabel(item, label, &silent).unwrap();
        assert!(farthest(session.scores(), before.scores.view()) < 1e-12);
        // The same label again, and one that is of no class beside one that is not known.
        assert!(session.relabel(item, label, &silent).unwrap().is_empty());
        let reached = reference::reached(session.graph, &labels);
        let open = (0..n).find(|&i| labels[i] == Label::Unknown && reached[i]);
        let open = open.unwrap();
        let changed = session.relabel(open, Label::Outside, &silent).unwrap();
        assert_eq!(changed, [open as u32]);
        assert_eq!(session.pseudo_label()[open], None);
    }

    /// The parts of the sources of each item sum to what the sums say, by class; for flows, but for a constant that each label
    /// adds.
    pub(in crate::propagate) fn sources_sum_up<M: Additive>(
        session: &AdditiveSession<'_, M>,
        to_a_constant: bool,
    ) {
        let (graph, labels, silent) = (session.graph, session.labels(), Monitor::silent());
        let component = graph.component();
        for item in 0..graph.n() {
            let sources = session.sources(item, &silent).unwrap();
            let reaches =
                |i: &usize| labels[*i].class().is_some() && component[*i] == component[item];
            assert_eq!(sources.len(), (0..graph.n()).filter(reaches).count());
            assert!(sources.windows(2).all(|two| two[0].1 >= two[1].1));
            assert!(sources.iter().all(|(_, part)| *part >= 0.0));
            let mut rest = session.sums.row(item).to_owned();
            let mut count = vec![0.0; labels.n_classes()];
            for &(source, part) in &sources {
                let class = labels[source as usize].class().unwrap() as usize;
                rest[class] -= part;
                count[class] += 1.0;
            }
            let total: f64 = count.iter().sum();
            let constant = if to_a_constant && total > 0.0 {
                rest.sum() / total
            } else {
                0.0
            };
            for (rest, count) in rest.iter().zip(count) {
                assert!((rest - constant * count).abs() < 1e-6, "{item}: {rest}");
            }
        }
        let said = session.sources(graph.n(), &silent).unwrap_err();
        assert!(said.to_string().starts_with("item = "));
    }

    /// Other classes are as if they had been so from the start: the last one goes into the first, the others take other
    /// places, and one is new.
    pub(in crate::propagate) fn regroups<M: Additive + Propagate>(
        method: &M,
        mut session: AdditiveSession<'_, M>,
    ) {
        let names = ["x", "y", "z", "w"].map(String::from).to_vec();
        let places = [Some(3), Some(1), Some(3)];
        let before = session.clone();
        let items = before.labels().items().iter().map(|label| {
            let place = label.class().and_then(|class| places[class as usize]);
            place.map_or(*label, Label::Known)
        });
        let by_hand = Labels::new(names.clone(), items.collect()).unwrap();
        session.regroup(names.clone(), &places).unwrap();
        assert_eq!(session.labels(), &by_hand);
        let silent = Monitor::silent();
        let scratch = method.propagate(session.graph, &by_hand, &silent).unwrap();
        assert!(farthest(session.scores(), scratch.scores.view()) < 1e-5);
        for i in (0..by_hand.len()).filter(|&i| clear(&scratch, &by_hand, i)) {
            assert_eq!(session.pseudo_label()[i], scratch.pseudo_label[i]);
        }
        assert!(session.regroup(names[..1].to_vec(), &[None; 4]).is_err());
        assert_eq!(session.labels(), &by_hand);
    }

    /// What a session refuses leaves it as it was; item 4 is not there, and the size of class 2 is held at 0.
    pub(in crate::propagate) fn refuses<M: Additive>(mut session: AdditiveSession<'_, M>) {
        let silent = Monitor::silent();
        let before = session.clone();
        let mut message = |item, label| {
            let error = session.relabel(item, label, &silent).unwrap_err();
            error.to_string()
        };
        assert!(message(4, Label::Known(0)).starts_with("item = 4"));
        assert!(message(1, Label::Known(3)).contains("class 3"));
        assert!(message(1, Label::Known(2)).contains("given as 0"));
        let stopped = Monitor::silent();
        stopped.cancel();
        let error = session.relabel(1, Label::Known(1), &stopped).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert_eq!(session.beliefs(), before.beliefs());
        assert_eq!(session.labels(), before.labels());
        session.relabel(0, Label::Unknown, &silent).unwrap();
        let error = session.relabel(3, Label::Unknown, &silent).unwrap_err();
        assert!(error.to_string().contains("label another item first"));
    }

    /// The labels of the path with a third class, of which there is none.
    pub(in crate::propagate) fn with_a_third_class() -> Labels {
        let classes = ["a", "b", "c"].map(String::from).to_vec();
        Labels::new(classes, reference::path_labels().items().to_vec()).unwrap()
    }
}
