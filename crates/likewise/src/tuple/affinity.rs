//! Triplets from propagated affinities: of the neighbours of an item, the half with the higher
//! affinity gives the positives and the other half the negatives.
//!
//! For each item `a`: its `k` neighbours sorted by affinity, `z_1 .. z_k` (ties: the nearer
//! first, then the smaller index), give the triplets `(a, z_i, z_{k/2+i})` for
//! `i = 1 .. k/2`. With an odd `k` the middle neighbour is left out.
//!
//! **Use it** where a few labels should reshape neighbourhoods that are mostly right.
//! **Not** where nearly all neighbours are of one class: half of them become negatives all
//! the same. The labels of a triplet are not looked at; see
//! [`respect_labels`](Affinity::respect_labels).
//!
//! Cost: that of the [affinities](crate::propagate::affinity), and O(n k log k). There are
//! `n floor(k/2)` triplets.
//!
//! Source: Dutta, Harandi and Sekhar, AAAI 2021, section "Mining". What to do with an odd
//! `k` is our choice, and so is the flag for labels, off by default as printed.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::{Mine, Triplets};
use crate::neighbor::Neighbors;
use crate::{Error, Labels, Monitor, Result, parallel, propagate};

/// Parameters of mining by affinity.
///
/// ```
/// use likewise::neighbor::{Metric, exact};
/// use likewise::tuple::{Affinity, Mine};
/// use likewise::{Labels, Monitor, propagate};
/// let monitor = Monitor::silent();
/// let x = ndarray::array![[1.0, 0.0], [0.9, 0.1], [0.2, 0.9], [0.0, 1.0], [0.6, 0.5]];
/// let neighbors = exact(x.view(), 2, Metric::Cosine, &monitor)?;
/// let labels = Labels::parse(["a", "", "", "b", ""]);
/// let miner = Affinity::new().spread(propagate::Affinity::new().gamma(0.9));
/// let triplets = miner.mine(&neighbors, &labels, &monitor)?;
/// // Item 0 has affinity .155 to item 4 and .144 to item 1.
/// assert_eq!(triplets.iter().next(), Some((0, 4, 1, 1.0)));
/// assert_eq!(triplets.len(), 5);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Affinity {
    spread: propagate::Affinity,
    respect_labels: bool,
}

impl Affinity {
    /// Affinities with `gamma = 0.99`; labels within a triplet are not looked at.
    pub fn new() -> Self {
        Self::default()
    }

    /// How affinities are propagated.
    #[must_use]
    pub fn spread(mut self, spread: propagate::Affinity) -> Self {
        self.spread = spread;
        self
    }

    /// Whether to leave out triplets that known labels contradict: a positive of another class
    /// than the anchor, or a negative of the same.
    #[must_use]
    pub fn respect_labels(mut self, respect_labels: bool) -> Self {
        self.respect_labels = respect_labels;
        self
    }

    /// Triplets by affinities that are given: `n x k`, in the order of the neighbours.
    ///
    /// Fails on shapes that do not fit and on NaN.
    pub fn mine_given(
        &self,
        neighbors: &Neighbors,
        affinities: &Array2<f64>,
        labels: &Labels,
    ) -> Result<Triplets> {
        neighbors.check()?;
        if affinities.dim() != neighbors.indices.dim() || labels.len() != neighbors.n() {
            return Err(Error::data(format!(
                "affinities are {:?}, neighbours {:?}, and there are {} labels; one affinity a \
                 neighbour and one label an item are needed",
                affinities.dim(),
                neighbors.indices.dim(),
                labels.len()
            )));
        }
        if !affinities.iter().all(|w| w.is_finite()) {
            return Err(Error::data(
                "affinities: NaN or infinite; compute them again",
            ));
        }
        let half = neighbors.k / 2;
        let rows = parallel::map_rows(neighbors.n(), |a| {
            let mut order: Vec<usize> = (0..neighbors.k).collect();
            // Stable: neighbours of equal affinity stay nearest first.
            order.sort_by(|&p, &q| affinities[[a, q]].total_cmp(&affinities[[a, p]]));
            let sorted = order.into_iter().map(|p| neighbors.indices[[a, p]]);
            sorted.collect::<Vec<u32>>()
        });
        let mut triplets = Triplets::default();
        for (a, sorted) in (0..).zip(&rows) {
            let negatives = &sorted[sorted.len() - half..];
            for (&positive, &negative) in sorted[..half].iter().zip(negatives) {
                if !self.respect_labels || agrees(labels, a, positive, negative) {
                    triplets.push(a, positive, negative, 1.0);
                }
            }
        }
        Ok(triplets)
    }
}

/// Whether what is known does not contradict a triplet.
fn agrees(labels: &Labels, anchor: u32, positive: u32, negative: u32) -> bool {
    let class = |item: u32| labels[item as usize].class();
    let Some(own) = class(anchor) else {
        return true;
    };
    class(positive).is_none_or(|c| c == own) && class(negative).is_none_or(|c| c != own)
}

impl Mine for Affinity {
    fn mine(&self, neighbors: &Neighbors, labels: &Labels, monitor: &Monitor) -> Result<Triplets> {
        let affinities = self.spread.spread(neighbors, labels, monitor)?;
        self.mine_given(neighbors, &affinities.values, labels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::in_one_and_two_threads;
    use ndarray::array;
    use proptest::prelude::*;

    fn star(k: usize) -> Neighbors {
        // Every item lists the next k, cyclically, ever less similar.
        let n = k + 2;
        Neighbors {
            k,
            indices: Array2::from_shape_fn((n, k), |(i, p)| ((i + p + 1) % n) as u32),
            similarities: Array2::from_shape_fn((n, k), |(_, p)| 1.0 - p as f32 / 100.0),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn halves_are_paired_in_order(k in 1_usize..9, values in prop::collection::vec(0_u8..5, 90)) {
            let neighbors = star(k);
            let n = neighbors.n();
            let grade = |i: usize, p: usize| values[i * 8 + p];
            let w = Array2::from_shape_fn((n, k), |(i, p)| f64::from(grade(i, p)));
            let labels = Labels::unknown(n);
            let found = Affinity::new().mine_given(&neighbors, &w, &labels).unwrap();
            prop_assert!(found.check(n).is_ok());
            prop_assert_eq!(found.len(), n * (k / 2));
            for (at, (a, positive, negative, _)) in found.iter().enumerate() {
                let (i, rank) = (at / (k / 2), at % (k / 2));
                prop_assert_eq!(a as usize, i);
                // Naive: number of neighbours that stand before each.
                let place = |item: u32| {
                    let p = neighbors.indices.row(i).iter().position(|&j| j == item).unwrap();
                    let own = (grade(i, p), std::cmp::Reverse(p));
                    let before = |q: &usize| (grade(i, *q), std::cmp::Reverse(*q)) > own;
                    (0..k).filter(before).count()
                };
                prop_assert_eq!(place(positive), rank);
                prop_assert_eq!(place(negative), k - k / 2 + rank);
            }
        }
    }

    #[test]
    fn an_odd_number_drops_the_middle_and_one_neighbour_gives_nothing() {
        let neighbors = star(3);
        let w = Array2::from_shape_fn((5, 3), |(_, p)| -(p as f64));
        let labels = Labels::unknown(5);
        let found = Affinity::new().mine_given(&neighbors, &w, &labels).unwrap();
        assert_eq!(found.iter().next(), Some((0, 1, 3, 1.0)));
        let one = star(1);
        let none = Affinity::new().mine_given(&one, &Array2::zeros((3, 1)), &Labels::unknown(3));
        assert!(none.unwrap().is_empty());
    }

    #[test]
    fn known_labels_can_be_respected() {
        let neighbors = star(2);
        let w = Array2::from_shape_fn((4, 2), |(_, p)| -(p as f64));
        // Triplets (0,1,2) (1,2,3) (2,3,0) (3,0,1).
        let labels = Labels::parse(["a", "b", "b", ""]);
        let mined = |respect| {
            let miner = Affinity::new().respect_labels(respect);
            miner.mine_given(&neighbors, &w, &labels).unwrap()
        };
        assert_eq!(mined(false).len(), 4);
        // 0 and 1 are known to differ; the others do not contradict.
        assert_eq!(mined(true).anchors, [1, 2, 3]);
    }

    #[test]
    fn any_number_of_threads_gives_the_same_triplets_and_bad_input_is_refused() {
        let neighbors = star(20);
        let labels = crate::reference::random_labels(22, 3, 1);
        let mine = || {
            Affinity::new()
                .mine(&neighbors, &labels, &Monitor::silent())
                .unwrap()
        };
        let (one, two) = in_one_and_two_threads(mine);
        assert_eq!(one, two);
        let given = |w: Array2<f64>, labels| {
            (Affinity::new().mine_given(&star(1), &w, &labels))
                .unwrap_err()
                .to_string()
        };
        assert!(given(array![[1.0]], Labels::unknown(3)).contains("affinities are (1, 1)"));
        assert!(given(Array2::zeros((3, 1)), Labels::unknown(2)).contains("2 labels"));
        assert!(given(Array2::from_elem((3, 1), f64::NAN), Labels::unknown(3)).contains("NaN"));
        let json = serde_json::to_string(&Affinity::new().respect_labels(true)).unwrap();
        let back: Affinity = serde_json::from_str(&json).unwrap();
        assert_eq!(back, Affinity::new().respect_labels(true));
    }
}
