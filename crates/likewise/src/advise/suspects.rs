//! Which labels are worth a second look?
//!
//! 1. The labeled items are dealt into folds, each class evenly.
//! 2. The labels of all other folds are spread over the graph, and the [`shares`] `p_i(c)` of
//!    what reaches an item of this fold are a belief about it without its own label.
//! 3. `t_c`, the mean of `p_i(c)` over the items with label `c`, is how sure one usually is of
//!    this class.
//! 4. An item of label `y` is suspicious where another class `s` has the largest share,
//!    `p_i(s) > p_i(y)` and `p_i(s) >= t_s / 2`. The margin `p_i(s) - p_i(y)` ranks them.
//!
//! **Use it** on labels that people or programs gave, of classes that the features tell apart.
//! **Not** as a verdict: items at the border of two classes stand out as well, and so do those of a
//! small class in the midst of a large one. Labels that are wrong by a rule (all cats called dog)
//! are not found: they agree with each other. A class of one label cannot be checked, since nothing
//! is left of it. With one label in ten wrong at random, of what is named by the embedding of a fit between 0.27 and 1.00 was
//! wrong, less than half in 11 of 34 cases on public sets, by whitened features between 0.17 and 0.95 and less in 22; a plain
//! vote of the neighbours is as good in most (`results/advise/suspects.md`).
//!
//! Cost: one propagation a fold, O(folds x iterations x entries x C) time and O(n C) memory.
//!
//! Source: the thresholds are those of confident learning (Northcutt, Jiang and Chuang 2021, eq. 2),
//! whose probabilities come from a classifier trained on the other folds. Ours come from the graph,
//! half of them is enough here (on digits with 5 % of the labels swapped the whole left out a quarter of
//! these), and we rank by the margin (their "normalized margin").

use rand::seq::SliceRandom;

use super::shares;
use crate::{Error, Graph, Label, Labels, Monitor, Result, seed};

/// Part of what is usual of a class that the share of it must reach.
const SHARE: f64 = 0.5;

/// How labels are checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Suspects {
    folds: usize,
    seed: u64,
}

impl Default for Suspects {
    fn default() -> Self {
        Self { folds: 10, seed: 0 }
    }
}

/// An item whose label is likely wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Suspect {
    /// The item.
    pub item: usize,
    /// The class of its label.
    pub given: u32,
    /// The class that the others suggest.
    pub suggested: u32,
    /// Share of the belief that goes to the label, 0 to 1.
    pub given_share: f64,
    /// Share that goes to the class suggested.
    pub suggested_share: f64,
}

impl Suspect {
    /// How sure it is, above 0 up to 1: by how much the share of the class suggested is larger.
    pub fn margin(&self) -> f64 {
        self.suggested_share - self.given_share
    }
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// The suspicious items, the surest first (ties: smaller item).
    pub suspects: Vec<Suspect>,
    /// Labeled items that were checked.
    pub checked: usize,
    /// Labeled items that could not be, as no label of another item reaches them or their class has
    /// no other label.
    pub unchecked: usize,
}

impl Suspects {
    /// Ten folds.
    pub fn new() -> Self {
        Self::default()
    }

    /// Parts that the labels are dealt into, at least 2. More keep more labels for the check of
    /// each, and cost more.
    #[must_use]
    pub fn folds(mut self, folds: usize) -> Self {
        self.folds = folds;
        self
    }

    /// Seed of the deal.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The labels that are likely wrong, of the items of `graph` (n nodes, n labels).
    ///
    /// Fails for fewer than 2 folds, where fewer than two classes have two labels or more, where
    /// the lengths differ, and when cancelled.
    ///
    /// ```
    /// use likewise::{Labels, Monitor, advise::suspects::Suspects, graph::KnnGraph};
    /// let x = ndarray::array![[1.0, 0.0], [1.0, 0.1], [1.0, 0.2], [1.0, 0.15],
    ///                         [0.0, 1.0], [0.1, 1.0], [0.2, 1.0]];
    /// let labels = Labels::parse(["a", "a", "a", "b", "b", "b", "b"]);
    /// let monitor = Monitor::silent();
    /// let graph = KnnGraph::new().k(3).build(x.view(), &monitor)?;
    /// let found = Suspects::new().find(&graph, &labels, &monitor)?;
    /// assert_eq!(found.suspects.len(), 1);
    /// assert_eq!((found.suspects[0].item, found.suspects[0].suggested), (3, 0));
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn find(&self, graph: &Graph, labels: &Labels, monitor: &Monitor) -> Result<Found> {
        if self.folds < 2 {
            return Err(Error::parameter("folds", self.folds, "must be at least 2"));
        }
        let sizes: Vec<usize> = labels.by_class().iter().map(Vec::len).collect();
        if sizes.iter().filter(|&&size| size > 1).count() < 2 {
            return Err(Error::data(
                "labels can be checked by each other only where two classes or more have two \
                 labels or more",
            ));
        }
        let shares = self.shares(graph, labels, monitor)?;
        let mut found = Found::default();
        let mut sums = vec![(0.0, 0_usize); labels.n_classes()];
        let mut checked = Vec::new();
        for (item, label) in labels.items().iter().enumerate() {
            let Some(class) = label.class() else { continue };
            match &shares[item] {
                Some(shares) if sizes[class as usize] > 1 => {
                    sums[class as usize].0 += shares[class as usize];
                    sums[class as usize].1 += 1;
                    checked.push((item, class, shares));
                }
                _ => found.unchecked += 1,
            }
        }
        found.checked = checked.len();
        let usual = |class: usize| sums[class].0 / sums[class].1.max(1) as f64;
        for (item, given, shares) in checked {
            let others = shares.iter().enumerate();
            let others = others.filter(|&(class, _)| class != given as usize);
            // The first of the largest.
            let best = others.fold(None, |best: Option<(usize, f64)>, (class, &share)| {
                best.filter(|best| best.1 >= share).or(Some((class, share)))
            });
            let Some((suggested, share)) = best else {
                continue;
            };
            if share > shares[given as usize] && share >= SHARE * usual(suggested) {
                found.suspects.push(Suspect {
                    item,
                    given,
                    suggested: suggested as u32,
                    given_share: shares[given as usize],
                    suggested_share: share,
                });
            }
        }
        (found.suspects)
            .sort_by(|a, b| b.margin().total_cmp(&a.margin()).then(a.item.cmp(&b.item)));
        Ok(found)
    }

    /// Of every labeled item, the belief that the labels of the other folds give it.
    fn shares(
        &self,
        graph: &Graph,
        labels: &Labels,
        monitor: &Monitor,
    ) -> Result<Vec<Option<Vec<f64>>>> {
        let mut rng = seed::stream(self.seed, "folds of suspects");
        let mut fold = vec![None; labels.len()];
        let mut next = 0;
        for mut members in labels.by_class() {
            members.shuffle(&mut rng);
            for item in members {
                fold[item] = Some(next % self.folds);
                next += 1;
            }
        }
        let mut shares = vec![None; labels.len()];
        monitor.start("labels without each other", Some(self.folds as u64));
        for own in 0..self.folds {
            if !fold.contains(&Some(own)) {
                continue;
            }
            let items = labels.items().iter().zip(&fold).map(|(&label, &fold)| {
                if fold == Some(own) {
                    Label::Unknown
                } else {
                    label
                }
            });
            let others = Labels::new(labels.classes().to_vec(), items.collect())?;
            let near = shares::shares(graph, &others, &monitor.quiet())?;
            for item in (0..labels.len()).filter(|&item| fold[item] == Some(own)) {
                let row = near.row(item);
                if row.sum() > 0.0 {
                    shares[item] = Some(row.to_vec());
                }
            }
            monitor.step(own as u64 + 1)?;
        }
        monitor.end();
        Ok(shares)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;
    use crate::graph::KnnGraph;

    fn graph(x: &Array2<f32>, k: usize) -> Graph {
        KnnGraph::new()
            .k(k)
            .build(x.view(), &Monitor::silent())
            .unwrap()
    }

    fn found(graph: &Graph, labels: &Labels) -> Found {
        Suspects::new()
            .find(graph, labels, &Monitor::silent())
            .unwrap()
    }

    /// Two bundles of ten directions.
    fn bundles() -> Array2<f32> {
        Array2::from_shape_fn((20, 2), |(i, j)| {
            let turn = (i % 10) as f32 / 50.0;
            if (i < 10) == (j == 0) { 1.0 } else { turn }
        })
    }

    #[test]
    fn a_swapped_label_is_found_and_right_ones_are_not_suspected() {
        let x = bundles();
        let graph = graph(&x, 4);
        let right: Vec<&str> = (0..20).map(|i| if i < 10 { "a" } else { "b" }).collect();
        let none = found(&graph, &Labels::parse(&right));
        assert_eq!(
            (none.suspects.len(), none.checked, none.unchecked),
            (0, 20, 0)
        );
        let mut wrong = right;
        (wrong[4], wrong[15]) = ("b", "a");
        let labels = Labels::parse(&wrong);
        let two = found(&graph, &labels);
        let mut items: Vec<_> = two.suspects.iter().map(|s| (s.item, s.suggested)).collect();
        items.sort_unstable();
        assert_eq!(items, [(4, 0), (15, 1)]);
        assert!(two.suspects.iter().all(|s| s.margin() > 0.5));
        assert!(two.suspects[0].margin() >= two.suspects[1].margin());
        assert_eq!(two, found(&graph, &labels));
    }

    #[test]
    fn shares_are_those_of_a_propagation_worked_out_by_hand() {
        // A star: item 0 joined to 1 and 2 with weight 1, to 3 with 2. Without its own label,
        // F = (1 - a)(I - a S)^-1 Y; by symmetry its row is a linear map of the neighbours' labels,
        // each with weight w / sqrt(d_0 d_j): 1 / 2 for the light ones, 2 / sqrt(8) for the heavy.
        let graph = Graph::new(
            vec![0, 3, 4, 5, 6],
            vec![1, 2, 3, 0, 0, 0],
            vec![1.0, 1.0, 2.0, 1.0, 1.0, 2.0],
        )
        .unwrap();
        let labels = Labels::parse(["b", "a", "a", "b"]);
        let suspects = Suspects::new().folds(4);
        let shares = suspects
            .shares(&graph, &labels, &Monitor::silent())
            .unwrap();
        let own = shares[0].as_ref().unwrap();
        let heavy = 2.0 / 8.0_f64.sqrt();
        assert!((own[0] - 1.0 / (1.0 + heavy)).abs() < 1e-5, "{own:?}");
    }

    #[test]
    fn what_cannot_be_checked_is_counted() {
        let x = bundles();
        let graph = graph(&x, 4);
        // A class of one label; unlabeled and outside items.
        let word = |i: usize| match i {
            0 => "c",
            1 => "",
            2 => "-2",
            3..10 => "a",
            _ => "b",
        };
        let answer = found(&graph, &Labels::parse((0..20).map(word)));
        assert_eq!((answer.checked, answer.unchecked), (17, 1));
        assert_eq!(answer.suspects, []);
        // An item that no other label reaches.
        let x = array![[1.0, 0.0], [1.0, 0.1], [0.0, 0.0], [0.0, 1.0], [0.1, 1.0]];
        let graph = KnnGraph::new().k(1).build(x.view(), &Monitor::silent());
        let labels = Labels::parse(["a", "a", "b", "b", "b"]);
        assert_eq!(found(&graph.unwrap(), &labels).unchecked, 1);
    }

    #[test]
    fn bad_input_is_refused() {
        let graph = graph(&bundles(), 4);
        let refused = |suspects: Suspects, labels: &Labels| {
            let found = suspects.find(&graph, labels, &Monitor::silent());
            found.unwrap_err().to_string()
        };
        let one = Labels::parse((0..20).map(|_| "a"));
        assert!(refused(Suspects::new(), &one).contains("two classes"));
        assert!(refused(Suspects::new(), &Labels::unknown(20)).contains("two classes"));
        let two = Labels::parse((0..20).map(|i| ["a", "b"][i % 2]));
        assert!(refused(Suspects::new().folds(1), &two).contains("folds"));
        let few = Labels::parse(["a", "a", "b", "b"]);
        assert!(!refused(Suspects::new(), &few).is_empty());
    }
}
