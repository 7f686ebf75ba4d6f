//! Positive and negative labels: besides "this is a cat", also "this is not a dog".
//!
//! An item that is known to be none of some classes, but may be any of the others, spreads
//! an equal share of those that are left: with the classes `A` still allowed its row is
//! `1/|A|` on `A` and 0 elsewhere. So
//!
//! ```text
//! Z = (I - alpha S)^-1 (Y + eta N) M^-1,   N_ic = [c in A_i] / |A_i|,
//! ```
//!
//! with `Y` the known classes, `eta` the trust in a negative label, and `M` the column sums of
//! `Y + eta N`, so that each class sends out the same amount. `Z` is the sum of a
//! propagation of positive labels and one of negative labels; both have the same matrix, so
//! one solve does both. With two classes "not a" is the label "b"; with one class
//! left, it is the label of that class.
//!
//! An excluded class never is the pseudo-label of its item. Negative labels alone reach
//! nothing: a part of the graph without a known class gets no pseudo-label, and a class
//! without a known item cannot be predicted.
//!
//! **Use it** where people can say faster what an item is not. **Not** with many classes and few
//! exclusions: "not c" then says next to nothing, and weighs as little.
//!
//! Cost: O(iterations x entries x C), memory O(n C).
//!
//! Source: Zoidi, Tefas, Nikolaidis and Pitas 2016 for the problem and for propagating both
//! kinds of labels. We had no text of it: the equal share, the class balance and the trust
//! are derived here. What else their method has, such as several kinds of graphs, is not in
//! this one.

use serde::{Deserialize, Serialize};

use super::parts::diffusion::diffuse;
use super::parts::known::Known;
use super::parts::parameter::{not_negative, setters};
use super::{Given, Propagate, Spread};
use crate::solve::ConjugateGradient;
use crate::{Error, Labels, Monitor, Result};

/// Parameters of propagation with negative labels, and the negative labels.
///
/// ```
/// use likewise::propagate::{NegativeLabels, Propagate};
/// use likewise::{Graph, Labels, Monitor};
/// let graph = Graph::new(
///     vec![0, 1, 3, 5, 6],
///     vec![1, 0, 2, 1, 3, 2],
///     vec![1.0, 1.0, 0.5, 0.5, 1.0, 1.0],
/// )?;
/// let labels = Labels::parse(["cat", "", "", "dog"]);
/// // Item 1 is nearer to the cat, but it is not a cat.
/// let method = NegativeLabels::new(vec![(1, 0)]);
/// let beliefs = method.propagate(&graph, &labels, &Monitor::silent())?;
/// assert_eq!(beliefs.pseudo_label, [Some(0), Some(1), Some(1), Some(1)]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NegativeLabels {
    excluded: Vec<(u32, u32)>,
    eta: f64,
    alpha: f64,
    tolerance: f64,
    max_iterations: usize,
}

impl Default for NegativeLabels {
    fn default() -> Self {
        let solver = ConjugateGradient::default();
        Self {
            excluded: Vec::new(),
            eta: 1.0,
            alpha: 0.99,
            tolerance: solver.tolerance,
            max_iterations: solver.max_iterations,
        }
    }
}

impl NegativeLabels {
    /// Pairs `(item, class)`: the item is not of this class. `eta = 1`, `alpha = 0.99`.
    pub fn new(excluded: Vec<(u32, u32)>) -> Self {
        Self {
            excluded,
            ..Self::default()
        }
    }

    /// Adds pairs `(item, class)`: the item is not of this class.
    #[must_use]
    pub fn exclude(mut self, pairs: impl IntoIterator<Item = (u32, u32)>) -> Self {
        self.excluded.extend(pairs);
        self
    }

    /// Trust in a negative label relative to a positive one, at least 0.
    #[must_use]
    pub fn eta(mut self, eta: f64) -> Self {
        self.eta = eta;
        self
    }

    setters!(alpha solver);

    /// Classes that every item with a negative label, of the method or given besides, may still
    /// be, ascending by item.
    fn allowed(&self, labels: &Labels, given: &[(u32, u32)]) -> Result<Vec<(usize, Vec<bool>)>> {
        let mut pairs = [&self.excluded, given].concat();
        pairs.sort_unstable();
        let mut all = Vec::new();
        for pairs in pairs.chunk_by(|a, b| a.0 == b.0) {
            let item = pairs[0].0 as usize;
            let mut allowed = vec![true; labels.n_classes()];
            for &(_, class) in pairs {
                let fail = |what: &str| {
                    Err(Error::data(format!(
                        "negative label \"item {item} is not of class {class}\": {what}"
                    )))
                };
                if item >= labels.len() {
                    return fail(&format!("there are {} items", labels.len()));
                }
                if class as usize >= allowed.len() {
                    return fail(&format!("there are {} classes", allowed.len()));
                }
                if labels[item].class() == Some(class) {
                    return fail("the item is labeled with it; remove one of the two");
                }
                allowed[class as usize] = false;
            }
            if !allowed.contains(&true) {
                return Err(Error::data(format!(
                    "item {item} is excluded from every class; give it the label outside instead"
                )));
            }
            all.push((item, allowed));
        }
        Ok(all)
    }
}

impl Propagate for NegativeLabels {
    fn spread(&self, given: &Given, monitor: &Monitor) -> Result<Spread> {
        given.check::<Self>()?;
        let Given { graph, labels, .. } = *given;
        not_negative("eta", self.eta)?;
        let solver = self.solver();
        let known = Known::new(graph, labels, monitor)?;
        let allowed = self.allowed(labels, given.excluded)?;
        let (_, kept) = labels.compact();
        let mut y = known.one_hot(|_| 1.0);
        for (item, allowed) in &allowed {
            let left: Vec<usize> = (0..kept.len())
                .filter(|&c| allowed[kept[c] as usize])
                .collect();
            if known.label[*item].is_none() {
                for &c in &left {
                    y[[*item, c]] = self.eta / left.len() as f64;
                }
            }
        }
        for mut column in y.columns_mut() {
            column /= column.sum();
        }
        monitor.start("positive and negative labels", None);
        let mut solution = diffuse(graph, self.alpha, y, &solver, monitor)?;
        monitor.end();
        let z = std::mem::take(&mut solution.x);
        let convergence = known.convergence(&[&solution], monitor);
        let mut compared = z.clone();
        for (item, allowed) in &allowed {
            for (c, &class) in kept.iter().enumerate() {
                if !allowed[class as usize] {
                    // Below every score, and 0 in the confidence.
                    compared[[*item, c]] = f64::NEG_INFINITY;
                }
            }
        }
        let mut beliefs = known.beliefs_of(z, Some(&compared), convergence);
        for (item, allowed) in &allowed {
            // Nothing that is allowed has a label in this part of the graph.
            let wins = |class: u32| allowed[class as usize];
            if !beliefs.pseudo_label[*item].is_some_and(wins) {
                beliefs.pseudo_label[*item] = None;
                beliefs.confidence[*item] = 0.0;
            }
        }
        Ok(beliefs.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::propagate::Iscen;
    use crate::reference::{self, in_one_and_two_threads, path, path_labels};
    use crate::{Beliefs, Graph, Label};
    use proptest::prelude::*;

    fn run(method: &NegativeLabels, graph: &Graph, labels: &Labels) -> Beliefs {
        method.propagate(graph, labels, &Monitor::silent()).unwrap()
    }

    #[test]
    fn with_two_classes_not_one_is_the_other() {
        let graph = reference::random_graph(60, 150, 3);
        let labels = Labels::from_integers((0..60).map(|i| match i {
            0 | 1 => 0,
            2 | 3 => 1,
            _ => -1,
        }));
        let excluded = vec![(10, 0), (11, 1), (12, 0)];
        let negative = run(&NegativeLabels::new(excluded), &graph, &labels);
        let items = (0..60).map(|i| match i {
            10 | 12 => Label::Known(1),
            11 => Label::Known(0),
            _ => labels[i],
        });
        let positive = Labels::new(labels.classes().to_vec(), items.collect()).unwrap();
        let positive = run(&NegativeLabels::default(), &graph, &positive);
        for (a, b) in negative.scores.iter().zip(&positive.scores) {
            assert!((a - b).abs() < 1e-9);
        }
        assert_eq!(negative.pseudo_label, positive.pseudo_label);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn equals_the_dense_formula_and_never_gives_an_excluded_class(
            n in 3_usize..50, density in 0_usize..4, classes in 2_u32..6, eta in 0.0_f64..2.0,
            pairs in prop::collection::vec((0_u32..50, 0_u32..6), 0..12), seed in 0_u64..10_000,
        ) {
            let graph = reference::random_graph(n, density * n, seed);
            let labels = reference::random_labels(n, classes, seed).compact().0;
            let c = labels.n_classes() as u32;
            let mut excluded: Vec<(u32, u32)> = pairs.into_iter()
                .filter(|&(i, k)| (i as usize) < n && k < c && labels[i as usize].class() != Some(k))
                .collect();
            // At least the last class stays allowed.
            excluded.retain(|&(i, k)| k + 1 < c || labels[i as usize].class().is_some());
            let method = NegativeLabels::new(excluded.clone()).eta(eta).tolerance(1e-13);
            let found = run(&method, &graph, &labels);
            let mut y = reference::one_hot(&labels);
            for i in 0..n {
                let out: Vec<u32> = (0..c).filter(|&k| excluded.contains(&(i as u32, k))).collect();
                if !out.is_empty() && labels[i].class().is_none() {
                    for k in (0..c).filter(|k| !out.contains(k)) {
                        y[[i, k as usize]] = eta / f64::from(c - out.len() as u32);
                    }
                }
                if let Some(class) = found.pseudo_label[i] {
                    prop_assert!(!out.contains(&class));
                }
            }
            for mut column in y.columns_mut() {
                column /= column.sum();
            }
            let w = reference::dense(&graph);
            let degree: Vec<f64> = w.rows().into_iter().map(|r| r.sum().max(1e-100)).collect();
            let m = ndarray::Array2::from_shape_fn((n, n), |(i, j)| {
                f64::from(u8::from(i == j)) - 0.99 * w[[i, j]] / (degree[i] * degree[j]).sqrt()
            });
            let expected = reference::solve(&m, &y, &vec![true; n]);
            for (a, b) in found.scores.iter().zip(&expected) {
                prop_assert!((a - b).abs() < 1e-7);
            }
        }
    }

    #[test]
    fn without_negative_labels_it_is_the_balanced_diffusion() {
        let graph = reference::random_graph(300, 900, 3);
        let labels = reference::random_labels(300, 4, 3);
        let silent = Monitor::silent();
        let plain = Iscen::new().propagate(&graph, &labels, &silent).unwrap();
        let found = run(&NegativeLabels::default(), &graph, &labels);
        assert_eq!(found.scores, plain.scores);
        assert_eq!(found.pseudo_label, plain.pseudo_label);
    }

    #[test]
    fn an_item_of_which_nothing_allowed_is_reachable_stays_open() {
        let graph = Graph::new(vec![0, 1, 2, 2], vec![1, 0], vec![1.0, 1.0]).unwrap();
        let labels = Labels::parse(["a", "", "b"]);
        let beliefs = run(&NegativeLabels::new(vec![(1, 0)]), &graph, &labels);
        assert_eq!(beliefs.pseudo_label, [Some(0), None, Some(1)]);
        assert!(beliefs.confidence[1] == 0.0);
    }

    #[test]
    fn contradictions_and_bad_pairs_are_refused() {
        let message = |pairs: Vec<(u32, u32)>| {
            let method = NegativeLabels::new(pairs);
            let found = method.propagate(&path(), &path_labels(), &Monitor::silent());
            found.unwrap_err().to_string()
        };
        assert!(message(vec![(0, 0)]).contains("item 0 is not of class 0"));
        assert!(message(vec![(9, 0)]).contains("there are 4 items"));
        assert!(message(vec![(1, 7)]).contains("there are 2 classes"));
        assert!(message(vec![(1, 1), (1, 0)]).contains("item 1 is excluded from every class"));
        let e = NegativeLabels::default().eta(-1.0);
        let e = e.propagate(&path(), &path_labels(), &Monitor::silent());
        assert!(e.unwrap_err().to_string().starts_with("eta = -1"));
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bytes() {
        let graph = reference::random_graph(1200, 5000, 4);
        let labels = reference::random_labels(1200, 5, 4).compact().0;
        let excluded = (0..1200).filter(|&i| labels[i as usize].class().is_none());
        let method = NegativeLabels::new(excluded.map(|i| (i, i % 3)).collect());
        let (one, two) = in_one_and_two_threads(|| run(&method, &graph, &labels));
        assert_eq!(one, two);
    }
}
