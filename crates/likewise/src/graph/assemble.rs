//! A graph from its rows, made in parallel and without a second copy.

use super::{Graph, component};
use crate::parallel;

/// Rows that one task makes at a time.
const ROWS: usize = 1024;

impl Graph {
    /// The graph of `n` nodes whose row `i` is what `row(i, entries)` leaves in `entries`,
    /// which is empty at first.
    ///
    /// The caller warrants what [`Graph::new`] would check. Every row is made twice, once to
    /// know its length: that costs less than holding the rows until they can be put
    /// together. Memory: the graph itself.
    pub(crate) fn from_rows(
        n: usize,
        row: impl Fn(usize, &mut Vec<(u32, f32)>) + Sync + Send,
    ) -> Self {
        let mut indptr = vec![0_usize; n + 1];
        let chunks = indptr[1..].chunks_mut(ROWS).enumerate();
        parallel::each(chunks, |(chunk, lengths)| {
            let mut entries = Vec::new();
            for (i, length) in (chunk * ROWS..).zip(lengths) {
                entries.clear();
                row(i, &mut entries);
                *length = entries.len();
            }
        });
        for i in 0..n {
            indptr[i + 1] += indptr[i];
        }
        let mut indices = vec![0_u32; indptr[n]];
        let mut weights = vec![0_f32; indptr[n]];
        let mut chunks = Vec::with_capacity(n.div_ceil(ROWS));
        let (mut columns, mut values) = (indices.as_mut_slice(), weights.as_mut_slice());
        for first in (0..n).step_by(ROWS) {
            let length = indptr[(first + ROWS).min(n)] - indptr[first];
            let (own_columns, other_columns) = columns.split_at_mut(length);
            let (own_values, other_values) = values.split_at_mut(length);
            chunks.push((first, own_columns, own_values));
            (columns, values) = (other_columns, other_values);
        }
        parallel::each(chunks.into_iter(), |(first, columns, values)| {
            let mut entries = Vec::new();
            let mut places = columns.iter_mut().zip(values);
            for i in first..(first + ROWS).min(n) {
                entries.clear();
                row(i, &mut entries);
                for (&(j, w), (column, value)) in entries.iter().zip(&mut places) {
                    (*column, *value) = (j, w);
                }
            }
        });
        let (component, n_components) = component::components(&indptr, &indices);
        let graph = Self {
            indptr,
            indices,
            weights,
            component,
            n_components,
        };
        debug_assert_eq!(graph.check_entries(), Ok(()));
        graph
    }
}
