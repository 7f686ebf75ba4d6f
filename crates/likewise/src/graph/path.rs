//! The way of least resistance between nodes of a graph.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

use super::Graph;

/// A node that was reached, the nearest first.
#[derive(PartialEq)]
struct Reached {
    length: f64,
    node: u32,
}

impl Eq for Reached {}

impl Ord for Reached {
    fn cmp(&self, other: &Self) -> Ordering {
        // A heap gives its largest first; ties go to the smaller node.
        let nearer = other.length.total_cmp(&self.length);
        nearer.then(other.node.cmp(&self.node))
    }
}

impl PartialOrd for Reached {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Graph {
    /// For each of the nodes `to`, the path from `from` to it whose resistances, `1 / weight` an edge,
    /// have the smallest sum: both ends and all between. `None` where there is no path.
    ///
    /// It is the most important one of the ways that a label takes to an item: in harmonic propagation
    /// labels are voltages, and the graph is a net of resistors. Ties go to smaller nodes.
    ///
    /// Cost: O(entries x log n) at most; the search ends when all of `to` are found. Panics on nodes
    /// that the graph does not have.
    ///
    /// ```
    /// use likewise::Graph;
    /// // A triangle with a heavy edge 0-1, a heavy edge 1-2, and a light one 0-2.
    /// let graph = Graph::new(
    ///     vec![0, 2, 4, 6],
    ///     vec![1, 2, 0, 2, 0, 1],
    ///     vec![1.0, 0.25, 1.0, 1.0, 0.25, 1.0],
    /// )?;
    /// assert_eq!(graph.paths(0, &[2, 0]), [Some(vec![0, 1, 2]), Some(vec![0])]);
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn paths(&self, from: usize, to: &[usize]) -> Vec<Option<Vec<u32>>> {
        let mut missing: Vec<u32> = to.iter().map(|&node| node as u32).collect();
        missing.sort_unstable();
        missing.dedup();
        // Of each node that was seen, how far it is, and from where.
        let mut seen = HashMap::from([(from as u32, (0.0, from as u32))]);
        let mut next = BinaryHeap::from([Reached {
            length: 0.0,
            node: from as u32,
        }]);
        while let Some(Reached { length, node }) = next.pop() {
            if seen[&node].0 < length {
                continue;
            }
            if let Ok(place) = missing.binary_search(&node) {
                missing.remove(place);
                if missing.is_empty() {
                    break;
                }
            }
            let (neighbors, weights) = self.row(node as usize);
            for (&neighbor, &weight) in neighbors.iter().zip(weights) {
                let length = length + 1.0 / f64::from(weight);
                if seen.get(&neighbor).is_none_or(|old| length < old.0) {
                    seen.insert(neighbor, (length, node));
                    next.push(Reached {
                        length,
                        node: neighbor,
                    });
                }
            }
        }
        let path = |&node: &usize| {
            let mut node = node as u32;
            if missing.binary_search(&node).is_ok() {
                return None;
            }
            let mut path = vec![node];
            while node != from as u32 {
                node = seen.get(&node)?.1;
                path.push(node);
            }
            path.reverse();
            Some(path)
        };
        to.iter().map(path).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;

    #[test]
    fn lengths_are_those_of_trying_all_edges_again_and_again() {
        let graph = reference::random_graph(60, 150, 3);
        let mut length = vec![f64::INFINITY; graph.n()];
        length[7] = 0.0;
        for _ in 0..graph.n() {
            for (i, j, w) in graph.edges() {
                let (i, j, step) = (i as usize, j as usize, 1.0 / f64::from(w));
                length[j] = length[j].min(length[i] + step);
                length[i] = length[i].min(length[j] + step);
            }
        }
        let all: Vec<usize> = (0..graph.n()).collect();
        for (node, path) in graph.paths(7, &all).into_iter().enumerate() {
            let Some(path) = path else {
                assert!(length[node].is_infinite());
                continue;
            };
            assert_eq!((path[0], *path.last().unwrap()), (7, node as u32));
            let edges = path.windows(2);
            let steps = edges.map(|e| graph.weight(e[0] as usize, e[1] as usize).unwrap());
            let own: f64 = steps.map(|w| 1.0 / f64::from(w)).sum();
            assert!((own - length[node]).abs() < 1e-9, "{node}");
        }
    }

    #[test]
    fn what_does_not_hang_together_has_no_path() {
        let graph = Graph::new(vec![0, 1, 2, 2], vec![1, 0], vec![1.0, 1.0]).unwrap();
        assert_eq!(graph.paths(0, &[2, 1]), [None, Some(vec![0, 1])]);
        assert_eq!(graph.paths(2, &[2]), [Some(vec![2])]);
        assert!(graph.paths(0, &[]).is_empty());
    }
}
