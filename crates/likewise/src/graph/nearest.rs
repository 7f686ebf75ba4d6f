//! The nearest of some nodes, along the edges.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::Graph;
use crate::{Error, Result};

/// A way to `node`, by its length and then by where it starts.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Way {
    length: f64,
    source: u32,
    node: u32,
}

impl Eq for Way {}

impl Ord for Way {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.length.total_cmp(&other.length))
            .then(self.source.cmp(&other.source))
            .then(self.node.cmp(&other.node))
    }
}

impl PartialOrd for Way {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Graph {
    /// The nearest of `sources` to every node: the one at the end of the path with the
    /// largest product of weights, each over the largest weight of the graph. Ties go to the
    /// smaller source; `None` where no source can be reached.
    ///
    /// With the labeled nodes as sources this is the simplest propagation there is, one
    /// neighbour on the graph, and so the yardstick of the others.
    ///
    /// Fails on a source out of range. Costs O(entries x log n) on one thread; memory O(n).
    ///
    /// Source: Dijkstra 1959, with lengths `ln(w_max / w)`.
    ///
    /// ```
    /// // 0-1-2 with weights 1 and 0.5
    /// let path = likewise::Graph::new(vec![0, 1, 3, 4], vec![1, 0, 2, 1], vec![1.0, 1.0, 0.5, 0.5])?;
    /// assert_eq!(path.nearest(&[0, 2])?, [Some(0), Some(0), Some(2)]);
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn nearest(&self, sources: &[usize]) -> Result<Vec<Option<u32>>> {
        let most = self.weights.iter().copied().fold(0.0, f32::max);
        let mut best = vec![(f64::INFINITY, u32::MAX); self.n()];
        let mut heap = BinaryHeap::new();
        for &node in sources {
            let source = node as u32;
            *best.get_mut(node).ok_or_else(|| {
                Error::data(format!(
                    "graph: source {node}, but there are only {} nodes",
                    self.n()
                ))
            })? = (0.0, source);
            heap.push(Reverse(Way {
                length: 0.0,
                source,
                node: source,
            }));
        }
        while let Some(Reverse(way)) = heap.pop() {
            if (way.length, way.source) != best[way.node as usize] {
                continue; // A better way has been found meanwhile.
            }
            let (columns, weights) = self.row(way.node as usize);
            for (&node, &w) in columns.iter().zip(weights) {
                let next = Way {
                    length: way.length + (f64::from(most) / f64::from(w)).ln(),
                    node,
                    ..way
                };
                let (length, source) = best[node as usize];
                if next
                    < (Way {
                        length,
                        source,
                        node,
                    })
                {
                    best[node as usize] = (next.length, next.source);
                    heap.push(Reverse(next));
                }
            }
        }
        let found = best.into_iter();
        Ok(found
            .map(|(length, source)| length.is_finite().then_some(source))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{dense, random_graph};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn equals_relaxing_all_edges_until_nothing_changes(
            n in 1_usize..40, density in 0_usize..4, sources in 0_usize..6, seed in 0_u64..10_000,
        ) {
            let graph = random_graph(n, density * n, seed);
            let sources: Vec<usize> = (0..sources).map(|s| (s * 7 + 3) % n).collect();
            let w = dense(&graph);
            let most = w.iter().copied().fold(0.0, f64::max);
            let mut best = vec![(f64::INFINITY, u32::MAX); n];
            for &s in &sources {
                best[s] = (0.0, s as u32);
            }
            for _ in 0..n {
                for ((i, j), &w) in w.indexed_iter().filter(|e| *e.1 > 0.0) {
                    let (length, source) = best[i];
                    let way = (length + (most / w).ln(), source);
                    if way < best[j] {
                        best[j] = way;
                    }
                }
            }
            let expected: Vec<Option<u32>> =
                best.iter().map(|b| b.0.is_finite().then_some(b.1)).collect();
            prop_assert_eq!(graph.nearest(&sources).unwrap(), expected);
        }
    }

    #[test]
    fn ties_go_to_the_smaller_source_and_wrong_sources_are_refused() {
        // 0-1-2-3 with equal weights: nodes 1 and 2 are as far from both ends ...
        let ring = Graph::new(vec![0, 2, 4, 6], vec![1, 2, 0, 2, 0, 1], vec![1.0; 6]).unwrap();
        // ... and all lengths are 0.
        assert_eq!(ring.nearest(&[2, 1]).unwrap(), [Some(1); 3]);
        assert!(
            ring.nearest(&[3])
                .unwrap_err()
                .to_string()
                .contains("source 3")
        );
        assert_eq!(ring.nearest(&[]).unwrap(), [None; 3]);
    }
}
