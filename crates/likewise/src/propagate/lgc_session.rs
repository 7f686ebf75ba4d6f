//! Local and global consistency that follows single changes of labels: a person labels one item and sees at once what
//! that changes.
//!
//! **Use it** for labeling by hand, where one label after the other is added, changed or taken back. **Not** for many
//! new labels at once: a change solves one column, and propagating anew one of each class.
//!
//! ```text
//! F = sum_j g_j y_j^T,    ((1 + mu) D - W) h_j = mu D^1/2 e_j,    g_j = D^1/2 h_j
//! ```
//!
//! A label that is added, changed or taken back adds or subtracts the one column `g_j`. This is exact; masses, or the
//! prices of sizes that are held, are found anew after each change.
//!
//! Cost of a change: one solve of one column by [`Ordered`], among the items that hang together with the one, O(n C), and
//! what sizes cost that are held. Memory: `F` and
//! the scores, twice `n x C`, and a copy of the graph.
//!
//! Source: ours; the system is that of [`Lgc`].

use ndarray::Array2;

use super::additive_session::{Additive, AdditiveSession};
use super::lgc::{operator, pulls, scale};
use super::parts::counted::Counted;
use super::parts::known::Known;
use super::{Given, Lgc, Sizes};
use crate::solve::{Ordered, Solution};
use crate::{Beliefs, Convergence, Graph, Labels, Monitor, Result};

/// Beliefs of local and global consistency that follow single changes of labels.
///
/// ```
/// use likewise::propagate::Lgc;
/// use likewise::{Graph, Label, Labels, Monitor};
/// // A path 0-1-2-3 with a weak middle edge.
/// let graph = Graph::new(
///     vec![0, 1, 3, 5, 6],
///     vec![1, 0, 2, 1, 3, 2],
///     vec![1.0, 1.0, 0.5, 0.5, 1.0, 1.0],
/// )?;
/// let labels = Labels::parse(["cat", "", "", "dog"]);
/// let monitor = Monitor::silent();
/// let mut session = Lgc::new().session(&graph, &labels, &monitor)?;
/// assert_eq!(session.pseudo_label(), [Some(0), Some(0), Some(1), Some(1)]);
/// // Item 3 is a cat after all: item 2 follows.
/// let changed = session.relabel(3, Label::Known(0), &monitor)?;
/// assert_eq!(changed, [2, 3]);
/// # Ok::<(), likewise::Error>(())
/// ```
pub type LgcSession<'a> = AdditiveSession<'a, Lgc>;

impl Lgc {
    /// Propagates, and keeps what is needed to follow changes of single labels.
    ///
    /// Fails as [`propagate`](super::Propagate::propagate) does.
    pub fn session<'a>(
        &self,
        graph: &'a Graph,
        labels: &Labels,
        monitor: &Monitor,
    ) -> Result<LgcSession<'a>> {
        Given::new(graph, labels).check::<Self>()?;
        self.check()?;
        let known = Known::new(graph, labels, monitor)?;
        self.check_sizes(&known)?;
        let system = Ordered::new(operator(graph, &graph.divisors(), self.own_mu()))?;
        let (labeled, rhs) = (known.labeled(), pulls(&known, self.own_mu()));
        monitor.start("local and global consistency", None);
        let mut solution =
            system.solve_rows(&self.solver(), &labeled, rhs.view(), None, monitor)?;
        monitor.end();
        scale(graph, &mut solution);
        let sums = known.over_all_classes(std::mem::take(&mut solution.x));
        let convergence = known.convergence(&[&solution], monitor);
        AdditiveSession::begin(self, (graph, system), &known, labels, (sums, convergence))
    }
}

impl Additive for Lgc {
    fn check_sizes(&self, known: &Known) -> Result<()> {
        self.counted(known).map(drop)
    }

    fn sizes_mut(&mut self) -> Option<&mut Sizes> {
        self.sizes.as_mut()
    }

    fn of_one(
        &self,
        graph: &Graph,
        system: &Ordered<f32>,
        item: usize,
        monitor: &Monitor,
    ) -> Result<Solution> {
        let pull = self.own_mu() * graph.divisors()[item].sqrt();
        let mut solution = system.solve_one(&self.solver(), item, pull, monitor)?;
        scale(graph, &mut solution);
        Ok(solution)
    }

    fn decided(
        &self,
        known: &Known,
        sums: &Array2<f64>,
        convergence: Convergence,
    ) -> Result<Beliefs> {
        let counted: Counted = self.counted(known)?;
        // What rounding leaves of labels that were taken back is 0 where no other one is.
        let scores = known.reached_columns(sums);
        Ok(counted.beliefs(known, scores, convergence))
    }
}

#[cfg(test)]
mod tests {
    use super::super::additive_session::tests::{
        comes_back, follows_any_changes, refuses, regroups, sources_sum_up, with_a_third_class,
    };
    use super::*;
    use crate::Label;
    use crate::propagate::Mass;
    use crate::reference::{self, in_one_and_two_threads, path};
    use proptest::prelude::*;

    fn silent() -> Monitor {
        Monitor::silent()
    }

    fn fine(mass: Mass) -> Lgc {
        Lgc::new().mass(mass).tolerance(1e-13)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn follows_any_changes_as_from_scratch(
            n in 2_usize..60, density in 0_usize..4, classes in 1_u32..6, seed in 0_u64..10_000,
            uniform: bool,
        ) {
            let graph = reference::random_graph(n, density * n, seed);
            let labels = reference::random_labels(n, classes, seed);
            let method = fine(if uniform { Mass::Uniform } else { Mass::None });
            let session = method.session(&graph, &labels, &silent()).unwrap();
            follows_any_changes(&method, session, &graph, seed)?;
        }
    }

    #[test]
    fn an_item_that_is_unlabeled_and_labeled_again_changes_nothing() {
        let graph = reference::random_graph(200, 600, 7);
        let labels = reference::random_labels(200, 3, 7);
        comes_back(
            fine(Mass::None)
                .session(&graph, &labels, &silent())
                .unwrap(),
        );
    }

    #[test]
    fn what_does_not_fit_leaves_everything_as_it_was() {
        let graph = path();
        let method = Lgc::new().sizes(Sizes::Known(vec![2.0, 2.0, 0.0]));
        let labels = with_a_third_class();
        refuses(method.session(&graph, &labels, &silent()).unwrap());
        let said = Lgc::new().mu(0.0).session(&graph, &labels, &silent());
        assert!(said.unwrap_err().to_string().starts_with("mu = 0"));
    }

    #[test]
    fn the_parts_of_the_sources_sum_up_to_the_scores() {
        let graph = reference::random_graph(60, 90, 3);
        let labels = reference::random_labels(60, 3, 3);
        let session = fine(Mass::Uniform)
            .session(&graph, &labels, &silent())
            .unwrap();
        sources_sum_up(&session, false);
    }

    #[test]
    fn other_classes_are_as_if_they_had_been_so_from_the_start() {
        let graph = reference::random_graph(120, 360, 6);
        let labels = reference::random_labels(120, 3, 6).draw(5, 1);
        let method = fine(Mass::Uniform);
        let session = method.session(&graph, &labels, &silent()).unwrap();
        regroups(&method, session);
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bytes() {
        let graph = reference::random_graph(1500, 9000, 2);
        let labels = reference::random_labels(1500, 7, 2);
        let (one, two) = in_one_and_two_threads(|| {
            let mut session = fine(Mass::Uniform)
                .session(&graph, &labels, &silent())
                .unwrap();
            session.relabel(3, Label::Known(1), &silent()).unwrap();
            session.relabel(3, Label::Unknown, &silent()).unwrap();
            session.beliefs().clone()
        });
        assert_eq!(one, two);
    }
}
