//! Lists of neighbours, and what must hold for them.

use ndarray::{Array2, s};

use crate::{Error, Result, parallel};

/// The `k` nearest neighbours of every item, nearest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbors {
    /// Neighbours of an item.
    pub k: usize,
    /// Index of each neighbour (`n x k`); an item never is its own neighbour.
    pub indices: Array2<u32>,
    /// Similarity to each neighbour (`n x k`), descending within a row; neighbours of
    /// equal similarity stand in order of their index.
    pub similarities: Array2<f32>,
}

impl Neighbors {
    /// Number of items.
    pub fn n(&self) -> usize {
        self.indices.nrows()
    }

    /// The first `k` of every list, or all where it is shorter.
    pub(crate) fn first(&self, k: usize) -> Self {
        let k = k.min(self.k);
        Self {
            k,
            indices: self.indices.slice(s![.., ..k]).to_owned(),
            similarities: self.similarities.slice(s![.., ..k]).to_owned(),
        }
    }

    /// Fails unless both matrices are `n x k`, every index is below `n` and stands once
    /// in its row, no item is its own neighbour, and no similarity is NaN or infinite.
    /// Costs O(n k log k).
    pub fn check(&self) -> Result<()> {
        let n = self.n();
        if self.indices.ncols() != self.k || self.similarities.dim() != self.indices.dim() {
            return Err(Error::data(format!(
                "neighbours: indices are {:?} and similarities {:?}; both must be n x {}",
                self.indices.dim(),
                self.similarities.dim(),
                self.k
            )));
        }
        let broken = parallel::find_row(n, |row| {
            let mut seen = self.indices.row(row).to_vec();
            seen.sort_unstable();
            check_list(row, &seen, n).err()
        });
        if let Some(error) = broken {
            return Err(error);
        }
        crate::matrix::check_finite(self.similarities.view(), "neighbour similarities")
    }

    /// In how many lists each item stands: `N_k` of [`graph::report`](crate::graph::report).
    /// Indices out of range are not counted. O(n k).
    pub fn occurrences(&self) -> Vec<u32> {
        let mut counts = vec![0; self.n()];
        for &index in &self.indices {
            if let Some(count) = counts.get_mut(index as usize) {
                *count += 1;
            }
        }
        counts
    }
}

/// Checks the list of item `row`, in ascending order.
fn check_list(row: usize, sorted: &[u32], n: usize) -> Result<()> {
    if sorted.windows(2).any(|w| w[0] == w[1]) {
        return Err(Error::data(format!(
            "neighbours of item {row}: an index stands twice; each may stand once"
        )));
    }
    match sorted
        .iter()
        .find(|&&j| j as usize >= n || j as usize == row)
    {
        Some(j) => Err(Error::data(format!(
            "neighbours of item {row}: index {j} among {n} items; \
             indices must be below {n} and not the item itself"
        ))),
        None => Ok(()),
    }
}
