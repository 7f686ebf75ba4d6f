//! The affinity graph: a sparse symmetric matrix in CSR form.

mod assemble;
mod component;
pub mod fused;
pub mod knn;
mod nearest;
mod path;
pub mod report;
mod subgraph;

use rayon::prelude::*;

use crate::{Error, Result, parallel};

pub(crate) use component::Forest;
pub use fused::{Fused, Fusion, OfView, Views};
pub use knn::{KnnGraph, Neighborhood, Search, Symmetrize};
pub use report::Report;

/// A symmetric affinity graph of `n` nodes in compressed sparse row form.
///
/// Invariants, checked by [`Graph::new`]: columns ascend strictly within a row, no
/// self edges, every weight is finite and above zero, and the matrix is symmetric
/// to the bit. Memory: 8 bytes an entry (two entries an edge) and 8 a node.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    indptr: Vec<usize>,
    indices: Vec<u32>,
    weights: Vec<f32>,
    component: Vec<u32>,
    n_components: usize,
}

impl Graph {
    /// A graph from its CSR arrays; finds the connected components.
    ///
    /// Fails where an invariant of the type does not hold, naming row and column.
    /// Costs O(n + entries x log entries), in parallel, and 6 bytes an entry meanwhile.
    pub fn new(indptr: Vec<usize>, indices: Vec<u32>, weights: Vec<f32>) -> Result<Self> {
        check_shape(&indptr, &indices, &weights)?;
        let mut graph = Self {
            indptr,
            indices,
            weights,
            component: Vec::new(),
            n_components: 0,
        };
        graph.check_entries()?;
        (graph.component, graph.n_components) =
            component::components(&graph.indptr, &graph.indices);
        Ok(graph)
    }

    fn check_entries(&self) -> Result<()> {
        match parallel::find_row(self.n(), |i| self.check_row(i).err()) {
            Some(error) => Err(error),
            None => self.check_mirrors(),
        }
    }

    fn check_row(&self, i: usize) -> Result<()> {
        let (columns, weights) = self.row(i);
        for (p, (&j, &w)) in columns.iter().zip(weights).enumerate() {
            if j as usize == i {
                return Err(at(i, j, "is a self edge; remove the diagonal"));
            }
            if p > 0 && columns[p - 1] >= j {
                let what = "is out of order; columns must ascend within a row";
                return Err(at(i, j, what));
            }
            if !(w.is_finite() && w > 0.0) {
                let what = format!("has weight {w}; weights must be finite and above 0");
                return Err(at(i, j, &what));
            }
        }
        Ok(())
    }

    /// Sorts the entries above the diagonal as their mirrors lie in memory and compares the
    /// two: looking each mirror up would miss the cache every time.
    fn check_mirrors(&self) -> Result<()> {
        let mut above = Vec::with_capacity(self.nnz().div_ceil(2));
        above.extend(self.edges().map(|(i, j, w)| (j, i, w)));
        above.par_sort_unstable_by_key(|&(j, i, _)| (j, i));
        let mut below = (0..self.n()).flat_map(|i| {
            let (columns, weights) = self.row(i);
            let entries = columns.iter().zip(weights);
            let entries = entries.take_while(move |&(&j, _)| (j as usize) < i);
            entries.map(move |(&j, &w)| (i as u32, j, w))
        });
        let alone = |(i, j)| Err(at(i as usize, j, NO_MIRROR));
        for mirror in above {
            match below.next() {
                Some(entry) if entry == mirror => (),
                Some((i, j, _)) if (i, j) <= (mirror.0, mirror.1) => return alone((i, j)),
                _ => return alone((mirror.1, mirror.0)),
            }
        }
        below.next().map_or(Ok(()), |(i, j, _)| alone((i, j)))
    }

    /// Number of nodes.
    pub fn n(&self) -> usize {
        self.indptr.len() - 1
    }

    /// Number of stored entries: twice the number of edges.
    pub fn nnz(&self) -> usize {
        self.indices.len()
    }

    /// Row pointers, `n + 1` of them.
    pub fn indptr(&self) -> &[usize] {
        &self.indptr
    }

    /// Column of each entry.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Weight of each entry.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// Neighbours of node `i` and the weights of the edges to them.
    pub fn row(&self, i: usize) -> (&[u32], &[f32]) {
        let span = self.indptr[i]..self.indptr[i + 1];
        (&self.indices[span.clone()], &self.weights[span])
    }

    /// Weight of the edge between `i` and `j`, if there is one.
    pub fn weight(&self, i: usize, j: usize) -> Option<f32> {
        self.entry(i, j).map(|p| self.weights[p])
    }

    /// Position of entry (`i`, `j`) in [`indices`](Self::indices), by binary search.
    pub fn entry(&self, i: usize, j: usize) -> Option<usize> {
        let (columns, _) = self.row(i);
        let p = columns.binary_search(&(j as u32)).ok()?;
        Some(self.indptr[i] + p)
    }

    /// Every edge once, as `(i, j, weight)` with `i < j`, ascending.
    ///
    /// ```
    /// let graph = likewise::Graph::new(vec![0, 1, 2], vec![1, 0], vec![0.5, 0.5])?;
    /// assert_eq!(graph.edges().collect::<Vec<_>>(), [(0, 1, 0.5)]);
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32, f32)> + '_ {
        (0..self.n()).flat_map(move |i| {
            let (columns, weights) = self.row(i);
            let above = columns.partition_point(|&j| (j as usize) < i);
            (columns[above..].iter().zip(&weights[above..])).map(move |(&j, &w)| (i as u32, j, w))
        })
    }

    /// Weighted degree of every node, in `f64`.
    pub fn degrees(&self) -> Vec<f64> {
        (0..self.n())
            .map(|i| self.row(i).1.iter().map(|&w| f64::from(w)).sum())
            .collect()
    }

    /// Degrees to divide by: 1 for an isolated node, whose row is empty whatever divides it.
    pub(crate) fn divisors(&self) -> Vec<f64> {
        (self.degrees().into_iter())
            .map(|d| if d > 0.0 { d } else { 1.0 })
            .collect()
    }

    /// Connected component of every node; numbered by their smallest node.
    pub fn component(&self) -> &[u32] {
        &self.component
    }

    /// Number of connected components, isolated nodes included.
    pub fn n_components(&self) -> usize {
        self.n_components
    }

    /// Nodes without any edge.
    pub fn isolated(&self) -> Vec<usize> {
        (0..self.n())
            .filter(|&i| self.indptr[i] == self.indptr[i + 1])
            .collect()
    }
}

const NO_MIRROR: &str = "has no equal mirror entry; the graph must be symmetric";

fn at(i: usize, j: u32, what: &str) -> Error {
    Error::data(format!("graph entry ({i}, {j}) {what}"))
}

fn check_shape(indptr: &[usize], indices: &[u32], weights: &[f32]) -> Result<()> {
    let n = indptr.len().checked_sub(1).ok_or_else(|| {
        Error::data("graph: indptr is empty; it must hold one number more than there are nodes")
    })?;
    let ascending = indptr.windows(2).all(|w| w[0] <= w[1]);
    if indptr[0] != 0 || !ascending || indptr[n] != indices.len() {
        return Err(Error::data(format!(
            "graph: indptr must ascend from 0 to the number of entries ({})",
            indices.len()
        )));
    }
    if indices.len() != weights.len() {
        return Err(Error::data(format!(
            "graph: {} column indices but {} weights",
            indices.len(),
            weights.len()
        )));
    }
    match indices.iter().find(|&&j| j as usize >= n) {
        Some(j) => Err(Error::data(format!(
            "graph: column {j} in a graph of {n} nodes"
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_and_isolated_nodes() {
        // 0-1  2  3-4
        let g = Graph::new(
            vec![0, 1, 2, 2, 3, 4],
            vec![1, 0, 4, 3],
            vec![1.0, 1.0, 0.5, 0.5],
        )
        .unwrap();
        assert_eq!(g.component(), [0, 0, 1, 2, 2]);
        assert_eq!(g.n_components(), 3);
        assert_eq!(g.isolated(), [2]);
        assert_eq!(g.degrees(), [1.0, 1.0, 0.0, 0.5, 0.5]);
    }

    #[test]
    fn broken_graphs_are_refused_with_their_place() {
        let message = |indptr: &[usize], indices: &[u32], weights: &[f32]| {
            Graph::new(indptr.to_vec(), indices.to_vec(), weights.to_vec())
                .unwrap_err()
                .to_string()
        };
        assert!(message(&[], &[], &[]).contains("indptr is empty"));
        assert!(message(&[0, 2], &[0], &[1.0]).contains("indptr"));
        assert!(message(&[0, 1], &[3], &[1.0]).contains("column 3"));
        assert!(message(&[0, 1], &[0], &[1.0]).contains("self edge"));
        assert!(message(&[0, 1, 1], &[1], &[1.0]).contains("mirror"));
        assert!(message(&[0, 1, 2], &[1, 0], &[1.0, 2.0]).contains("mirror"));
        assert!(message(&[0, 1, 2], &[1, 0], &[-1.0, -1.0]).contains("weight -1"));
        assert!(message(&[0, 2, 3, 4], &[2, 1, 0, 0], &[1.0; 4]).contains("(0, 1) is out of"));
        // An entry below the diagonal whose mirror is missing, beside a complete edge.
        assert!(message(&[0, 1, 2, 3], &[1, 0, 0], &[1.0; 3]).contains("(2, 0) has no equal"));
    }

    #[test]
    fn edges_stand_once_and_in_order() {
        let graph = crate::reference::path();
        let edges: Vec<_> = graph.edges().collect();
        assert_eq!(edges, [(0, 1, 1.0), (1, 2, 0.5), (2, 3, 1.0)]);
    }
}
