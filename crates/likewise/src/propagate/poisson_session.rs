//! Poisson learning that follows single changes of labels: a person labels one item and sees at once what that
//! changes.
//!
//! **Use it** for labeling by hand, where one label after the other is added, changed or taken back. **Not** for many
//! new labels at once: a change solves one column, and propagating anew one of each class.
//!
//! A label of Poisson learning is a source of one less the mean `m` of all labels of its component, so that one new
//! label changes all sources. With `g_j` the flow from a source of 1 at item `j` to sinks of `d_i / sum d` at all
//! items of its component (`L g_j = e_j - d / sum d`, and `sum_i d_i g_ij = 0`) the sinks cancel, since sources sum to
//! 0, and
//!
//! ```text
//! u = sum_j g_j (y_j - m)^T = A - (A 1) m^T,    A = sum_j g_j y_j^T  (n x C)
//! ```
//!
//! where `A` is a plain sum over the labels. A label that is added, changed or taken back adds or subtracts the one
//! column `g_j`, which is solved for; `m` is counted anew. This is exact. [`Sizes`] are held by prices
//! that are found anew after each change.
//!
//! Cost of a change: one solve of one column by [`Ordered`], O(n C), and what sizes cost that are held. Memory: `A` and
//! the scores, twice `n x C`, and a copy of the graph.
//!
//! Source: ours; the flow is that of [`Poisson`].

use ndarray::Array2;

use super::additive_session::{Additive, AdditiveSession};
use super::parts::counted::decided;
use super::parts::known::{Known, for_each_row};
use super::poisson::center;
use super::{Given, Poisson, Sizes};
use crate::solve::{ConjugateGradient, Ordered, Solution, Sparse};
use crate::{Beliefs, Convergence, Graph, Labels, Monitor, Result};

/// Beliefs of Poisson learning that follow single changes of labels.
///
/// ```
/// use likewise::propagate::Poisson;
/// use likewise::{Graph, Label, Labels, Monitor};
/// // A path 0-1-2-3 with a weak middle edge.
/// let graph = Graph::new(
///     vec![0, 1, 3, 5, 6],
///     vec![1, 0, 2, 1, 3, 2],
///     vec![1.0, 1.0, 0.5, 0.5, 1.0, 1.0],
/// )?;
/// let labels = Labels::parse(["cat", "", "", "dog"]);
/// let monitor = Monitor::silent();
/// let mut session = Poisson::new().session(&graph, &labels, &monitor)?;
/// assert_eq!(session.pseudo_label(), [Some(0), Some(0), Some(1), Some(1)]);
/// // Item 3 is a cat after all: item 2 follows.
/// let changed = session.relabel(3, Label::Known(0), &monitor)?;
/// assert_eq!(changed, [2, 3]);
/// # Ok::<(), likewise::Error>(())
/// ```
pub type PoissonSession<'a> = AdditiveSession<'a, Poisson>;

impl Poisson {
    /// Propagates, and keeps what is needed to follow changes of single labels.
    ///
    /// Fails as [`propagate`](super::Propagate::propagate) does.
    pub fn session<'a>(
        &self,
        graph: &'a Graph,
        labels: &Labels,
        monitor: &Monitor,
    ) -> Result<PoissonSession<'a>> {
        Given::new(graph, labels).check::<Self>()?;
        self.check()?;
        let known = Known::new(graph, labels, monitor)?;
        self.check_sizes(&known)?;
        let sources = Known::over_all(graph, labels).one_hot(|_| 1.0);
        monitor.start("Poisson learning", None);
        let system = Ordered::new(Sparse::new(graph, graph.divisors(), graph.weights()))?;
        let mut solution = flows(graph, &system, sources, &self.solver(), monitor)?;
        monitor.end();
        let sums = std::mem::take(&mut solution.x);
        let convergence = known.convergence(&[&solution], monitor);
        AdditiveSession::begin(self, (graph, system), &known, labels, (sums, convergence))
    }
}

impl Additive for Poisson {
    fn check_sizes(&self, known: &Known) -> Result<()> {
        self.bounds(known).map(drop)
    }

    fn sizes_mut(&mut self) -> Option<&mut Sizes> {
        Some(&mut self.sizes)
    }

    fn of_one(
        &self,
        graph: &Graph,
        system: &Ordered<f32>,
        item: usize,
        monitor: &Monitor,
    ) -> Result<Solution> {
        let mut source = Array2::zeros((graph.n(), 1));
        source[[item, 0]] = 1.0;
        flows(graph, system, source, &self.solver(), monitor)
    }

    fn decided(
        &self,
        known: &Known,
        sums: &Array2<f64>,
        convergence: Convergence,
    ) -> Result<Beliefs> {
        let bounds = self.bounds(known)?;
        Ok(decided(
            known,
            scores(known, sums),
            bounds.as_ref(),
            convergence,
        ))
    }
}

/// The flow from `sources` (`n x C`) to sinks of `d_i / sum d` at all items of their component, `x` of the solution;
/// its mean by the degrees is 0 in every component.
fn flows(
    graph: &Graph,
    system: &Ordered<f32>,
    mut sources: Array2<f64>,
    solver: &ConjugateGradient,
    monitor: &Monitor,
) -> Result<Solution> {
    let (degrees, component) = (graph.degrees(), graph.component());
    let mut sum = Array2::<f64>::zeros((graph.n_components(), sources.ncols()));
    let mut whole = vec![0.0; graph.n_components()];
    for ((row, &part), degree) in sources.rows().into_iter().zip(component).zip(&degrees) {
        let mut sum = sum.row_mut(part as usize);
        sum += &row;
        whole[part as usize] += degree;
    }
    for_each_row(&mut sources, |i, mut row| {
        let part = component[i] as usize;
        if whole[part] > 0.0 {
            row.scaled_add(-degrees[i] / whole[part], &sum.row(part));
        } else {
            // Nothing flows from an item that is alone.
            row.fill(0.0);
        }
    });
    let rows: Vec<usize> = (0..graph.n()).collect();
    let mut solution = system.solve_rows(solver, &rows, sources.view(), None, monitor)?;
    center(graph, &mut solution.x);
    Ok(solution)
}

/// `A - (A 1) m^T` over the classes that have a label. What rounding leaves where the classes have no label, or a
/// component has labels of one class alone, is 0.
fn scores(known: &Known, flows: &Array2<f64>) -> Array2<f64> {
    let mut scores = known.columns(flows);
    for_each_row(&mut scores, |i, mut row| {
        let counts = known.component_counts(i);
        let several = counts.iter().filter(|count| **count > 0.0).count() > 1;
        let sum = row.sum();
        let shares = known.proportions(i);
        for ((score, share), count) in row.iter_mut().zip(shares).zip(counts) {
            *score = if several && *count > 0.0 {
                *score - sum * share
            } else {
                0.0
            };
        }
    });
    scores
}

#[cfg(test)]
mod tests {
    use super::super::additive_session::tests::{
        comes_back, follows_any_changes, refuses, regroups, sources_sum_up, with_a_third_class,
    };
    use super::*;
    use crate::Label;
    use crate::propagate::Propagate;
    use crate::reference::{self, in_one_and_two_threads, path, path_labels};
    use proptest::prelude::*;

    fn silent() -> Monitor {
        Monitor::silent()
    }

    fn fine() -> Poisson {
        Poisson::new().tolerance(1e-13)
    }

    #[test]
    fn the_path_with_a_third_label() {
        let graph = path();
        let mut session = fine().session(&graph, &path_labels(), &silent()).unwrap();
        let assert_first = |session: &PoissonSession, expected: [f64; 4]| {
            for (i, expected) in expected.into_iter().enumerate() {
                let scores = session.scores();
                assert!((scores[[i, 0]] - expected).abs() < 1e-9, "{i}: {scores}");
                assert!((scores[[i, 0]] + scores[[i, 1]]).abs() < 1e-9);
            }
        };
        assert_first(&session, [1.0, 0.5, -0.5, -1.0]);
        // Sources of 2/3, -1/3 and -1/3 at items 0, 1 and 3: scores fall by 2/3, 2/3 and 1/3. With t that of item 1,
        // (t + 2/3) + 3/2 t + 3/2 (t - 2/3) + (t - 1) = 0.
        let changed = session.relabel(1, Label::Known(1), &silent()).unwrap();
        assert_eq!(changed, [1]);
        assert_first(&session, [14.0, 4.0, -6.0, -11.0].map(|score| score / 15.0));
        assert_eq!(session.pseudo_label(), [Some(0), Some(1), Some(1), Some(1)]);
        session.relabel(1, Label::Unknown, &silent()).unwrap();
        assert_first(&session, [1.0, 0.5, -0.5, -1.0]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn follows_any_changes_as_from_scratch(
            n in 2_usize..60, density in 0_usize..4, classes in 1_u32..6, seed in 0_u64..10_000,
        ) {
            let graph = reference::random_graph(n, density * n, seed);
            let labels = reference::random_labels(n, classes, seed);
            let session = fine().session(&graph, &labels, &silent()).unwrap();
            follows_any_changes(&fine(), session, &graph, seed)?;
        }
    }

    #[test]
    fn an_item_whose_scores_are_0_but_for_rounding_may_be_of_either_class() {
        let graph = reference::random_graph(48, 48, 611);
        let labels = reference::random_labels(48, 2, 611);
        let session = fine().session(&graph, &labels, &silent()).unwrap();
        follows_any_changes(&fine(), session, &graph, 611).unwrap();
    }

    #[test]
    fn an_item_that_is_unlabeled_and_labeled_again_changes_nothing() {
        let graph = reference::random_graph(200, 600, 7);
        let labels = reference::random_labels(200, 3, 7);
        comes_back(fine().session(&graph, &labels, &silent()).unwrap());
    }

    #[test]
    fn sizes_are_held_after_each_change() {
        let graph = reference::random_graph(300, 1500, 1);
        let labels = reference::random_labels(300, 3, 1);
        let method = fine().sizes(Sizes::Known(vec![3.0, 2.0, 1.0]));
        let mut session = method.session(&graph, &labels, &silent()).unwrap();
        let open: Vec<usize> = (0..300).filter(|&i| labels[i] == Label::Unknown).collect();
        for (item, class) in [(open[3], 2), (open[50], 0), (open[3], 1)] {
            session
                .relabel(item, Label::Known(class), &silent())
                .unwrap();
            let scratch = method
                .propagate(&graph, session.labels(), &silent())
                .unwrap();
            let same = session.pseudo_label().iter().zip(&scratch.pseudo_label);
            let same = same.filter(|(own, other)| own == other).count();
            assert!(same >= 297, "{same}");
            for (class, wanted) in [(0, 150_usize), (1, 100), (2, 50)] {
                let own = session.pseudo_label().iter();
                let found = own.filter(|found| **found == Some(class)).count();
                // Up to half an item, of so few.
                assert!(found.abs_diff(wanted) <= 1, "{found} for {wanted}");
            }
        }
    }

    #[test]
    fn sizes_go_with_their_classes() {
        let graph = reference::random_graph(300, 1500, 1);
        let labels = reference::random_labels(300, 3, 1);
        let method = fine().sizes(Sizes::Known(vec![3.0, 2.0, 1.0]));
        let mut session = method.session(&graph, &labels, &silent()).unwrap();
        let sized = |session: &PoissonSession, wanted: &[usize]| {
            for (class, wanted) in wanted.iter().enumerate() {
                let own = session.pseudo_label().iter();
                let found = own.filter(|found| **found == Some(class as u32)).count();
                assert!(found.abs_diff(*wanted) <= 1, "{found} for {wanted}");
            }
        };
        let names = ["c", "a", "b"].map(String::from).to_vec();
        let places = [Some(1), Some(2), Some(0)];
        session.regroup(names, &places).unwrap();
        sized(&session, &[50, 150, 100]);
        // The first and the second become one, and another class is new.
        let names = ["d", "ca", "b"].map(String::from).to_vec();
        let places = [Some(1), Some(1), Some(2)];
        session.regroup(names, &places).unwrap();
        sized(&session, &[0, 200, 100]);
    }

    #[test]
    fn a_change_that_stops_too_early_is_told_from_then_on() {
        let graph = reference::random_graph(200, 600, 7);
        let labels = reference::random_labels(200, 3, 7);
        let mut session = fine().session(&graph, &labels, &silent()).unwrap();
        let first = session.beliefs().convergence.clone();
        assert!(first.converged && first.residual < 1e-12);
        let reached = reference::reached(&graph, &labels);
        let mut open = (0..200).filter(|&i| labels[i] == Label::Unknown && reached[i]);
        let (one, other) = (open.next().unwrap(), open.next().unwrap());
        session.method = fine().max_iterations(1);
        session.relabel(one, Label::Known(0), &silent()).unwrap();
        let stopped = session.beliefs().convergence.clone();
        assert!(!stopped.converged && stopped.residual > 1e-6, "{stopped:?}");
        assert_eq!(stopped.iterations, first.iterations);
        // One that is as fine as the first makes up for nothing, nor does the same label again.
        session.method = fine();
        session.relabel(other, Label::Known(1), &silent()).unwrap();
        session.relabel(other, Label::Known(1), &silent()).unwrap();
        assert_eq!(session.beliefs().convergence, stopped);
    }

    #[test]
    fn bad_input_and_cancelling_leave_everything_as_it_was() {
        let graph = path();
        let method = Poisson::new().sizes(Sizes::Known(vec![2.0, 2.0, 0.0]));
        let labels = with_a_third_class();
        refuses(method.session(&graph, &labels, &silent()).unwrap());
        let estimated = Poisson::new().sizes(Sizes::Estimated);
        let said = estimated.session(&graph, &labels, &silent()).unwrap_err();
        assert!(said.to_string().contains("poisson-mbo"));
        let none = Poisson::new().session(&graph, &Labels::unknown(4), &silent());
        assert!(none.is_err());
    }

    #[test]
    fn the_parts_of_the_sources_sum_up_to_the_flows() {
        let graph = reference::random_graph(60, 90, 3);
        let labels = reference::random_labels(60, 3, 3);
        sources_sum_up(&fine().session(&graph, &labels, &silent()).unwrap(), true);
    }

    #[test]
    fn other_classes_are_as_if_they_had_been_so_from_the_start() {
        let graph = reference::random_graph(120, 360, 6);
        let labels = reference::random_labels(120, 3, 6).draw(5, 1);
        let method = fine();
        let session = method.session(&graph, &labels, &silent()).unwrap();
        regroups(&method, session);
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bytes() {
        let graph = reference::random_graph(1500, 9000, 2);
        let labels = reference::random_labels(1500, 7, 2);
        let (one, two) = in_one_and_two_threads(|| {
            let method = Poisson::new().sizes(Sizes::Balanced);
            let mut session = method.session(&graph, &labels, &silent()).unwrap();
            session.relabel(3, Label::Known(1), &silent()).unwrap();
            session.relabel(4, Label::Known(2), &silent()).unwrap();
            session.relabel(3, Label::Unknown, &silent()).unwrap();
            session.beliefs().clone()
        });
        assert_eq!(one, two);
    }
}
