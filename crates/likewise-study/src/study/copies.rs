//! Labeled items that are the same item again.

use likewise::Labels;
use likewise::eval::leak::first_equal;
use ndarray::ArrayView2;

/// Which labeled items have the features of another one. What is known of one is known of all: while one
/// is kept from fitting, its copies must be too, and none is evidence for another.
#[derive(Debug)]
pub(super) struct Copies {
    /// Of each item the first labeled one with its features; itself where it has no label.
    first: Vec<usize>,
}

impl Copies {
    /// Copies among the items that have a class, by the row of `features` of each item.
    pub(super) fn of(features: ArrayView2<f32>, labels: &Labels) -> Self {
        let known = (0..labels.len()).filter(|&i| labels[i].class().is_some());
        let known: Vec<usize> = known.collect();
        let mut first: Vec<usize> = (0..labels.len()).collect();
        for (&item, found) in known.iter().zip(first_equal(features, &known)) {
            first[item] = found;
        }
        Self { first }
    }

    /// The labels without those of copies.
    pub(super) fn once(&self, labels: &Labels) -> Labels {
        labels.masked(|i| self.first[i] == i)
    }

    /// The labels without those of copies of these items, which are ascending.
    pub(super) fn apart(&self, labels: &Labels, kept: &[usize]) -> Labels {
        labels.masked(|i| self.first[i] == i || kept.binary_search(&self.first[i]).is_err())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_lose_their_labels_where_the_first_is_kept() {
        let x = ndarray::array![
            [1.0_f32, 0.0],
            [0.0, 1.0],
            [1.0, 0.0],
            [1.0, 0.0],
            [0.0, 2.0]
        ];
        let labels = Labels::parse(["a", "b", "a", "", "b"]);
        let copies = Copies::of(x.view(), &labels);
        let known = |labels: Labels| -> Vec<usize> {
            (0..5).filter(|&i| labels[i].class().is_some()).collect()
        };
        assert_eq!(known(copies.once(&labels)), [0, 1, 4]);
        assert_eq!(known(copies.apart(&labels, &[0, 1])), [0, 1, 4]);
        assert_eq!(known(copies.apart(&labels, &[1, 4])), [0, 1, 2, 4]);
    }
}
