//! Parts of a graph.

use super::Graph;
use crate::{Error, Result};

/// The number of a node that is not in the part.
const LEFT_OUT: u32 = u32::MAX;

impl Graph {
    /// The graph of the nodes at `nodes` and of the edges between them. Node `nodes[p]` gets
    /// the number `p`; weights stay as they are.
    ///
    /// What is left is not the neighbour graph of these items: lists are not filled up
    /// again, and a node whose neighbours are all left out becomes isolated. Build the graph
    /// anew where that matters.
    ///
    /// Fails on a node that stands twice or is out of range. Costs O(n) and O(d log d) for
    /// each chosen node of degree d.
    ///
    /// ```
    /// // 0-1-2 with weights 1 and 0.5
    /// let path = likewise::Graph::new(vec![0, 1, 3, 4], vec![1, 0, 2, 1], vec![1.0, 1.0, 0.5, 0.5])?;
    /// let end = path.select(&[2, 1])?;
    /// assert_eq!(end.edges().collect::<Vec<_>>(), [(0, 1, 0.5)]);
    /// assert_eq!(path.remove(&[1])?.isolated(), [0, 1]);
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn select(&self, nodes: &[usize]) -> Result<Self> {
        let mut number = vec![LEFT_OUT; self.n()];
        for (new, &old) in nodes.iter().enumerate() {
            let place = self.named(&mut number, old)?;
            if *place != LEFT_OUT {
                return Err(Error::data(format!(
                    "graph: node {old} is chosen twice; name each node once"
                )));
            }
            *place = new as u32;
        }
        Ok(self.renumbered(nodes, &number))
    }

    /// The graph without the nodes at `nodes` and their edges. The others keep their order
    /// and move up.
    ///
    /// Fails on a node out of range; naming one twice is the same as once. Costs
    /// O(n + entries). See [`select`](Self::select) for what this is not.
    pub fn remove(&self, nodes: &[usize]) -> Result<Self> {
        let mut number = vec![0; self.n()];
        for &node in nodes {
            *self.named(&mut number, node)? = LEFT_OUT;
        }
        let kept: Vec<usize> = (0..self.n()).filter(|&i| number[i] != LEFT_OUT).collect();
        for (new, &old) in kept.iter().enumerate() {
            number[old] = new as u32;
        }
        Ok(self.renumbered(&kept, &number))
    }

    fn named<'a>(&self, number: &'a mut [u32], node: usize) -> Result<&'a mut u32> {
        number.get_mut(node).ok_or_else(|| {
            Error::data(format!(
                "graph: node {node} is named, but there are only {} nodes",
                self.n()
            ))
        })
    }

    fn renumbered(&self, nodes: &[usize], number: &[u32]) -> Self {
        let in_order = nodes.is_sorted();
        Self::from_rows(nodes.len(), |new, entries| {
            let (columns, weights) = self.row(nodes[new]);
            let renumbered = columns.iter().zip(weights);
            entries.extend(
                renumbered
                    .map(|(&j, &w)| (number[j as usize], w))
                    .filter(|&(j, _)| j != LEFT_OUT),
            );
            if !in_order {
                entries.sort_unstable_by_key(|&(j, _)| j);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{dense, in_one_and_two_threads, random_graph};
    use crate::seed;
    use proptest::prelude::*;
    use rand::seq::SliceRandom;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn equals_rows_and_columns_of_the_dense_matrix(
            n in 1_usize..60, take in 0_usize..60, density in 0_usize..5, seed in 0_u64..10_000,
        ) {
            let graph = random_graph(n, density * n, seed);
            let mut nodes: Vec<usize> = (0..n).collect();
            nodes.shuffle(&mut seed::stream(seed, "test nodes"));
            nodes.truncate(take);
            let part = graph.select(&nodes).unwrap();
            prop_assert_eq!(part.check_entries(), Ok(()));
            let w = dense(&graph);
            prop_assert_eq!(dense(&part), w.select(ndarray::Axis(0), &nodes).select(ndarray::Axis(1), &nodes));

            let kept: Vec<usize> = (0..n).filter(|i| !nodes.contains(i)).collect();
            let twice: Vec<usize> = nodes.iter().chain(&nodes).copied().collect();
            prop_assert_eq!(graph.remove(&twice).unwrap(), graph.select(&kept).unwrap());
        }
    }

    #[test]
    fn all_none_and_wrong_nodes() {
        let graph = random_graph(20, 60, 1);
        let all: Vec<usize> = (0..20).collect();
        assert_eq!(graph.select(&all).unwrap(), graph);
        assert_eq!(graph.remove(&[]).unwrap(), graph);
        let nothing = graph.select(&[]).unwrap();
        assert_eq!((nothing.n(), nothing.n_components()), (0, 0));
        assert_eq!(graph.remove(&all).unwrap(), nothing);
        let message = |r: Result<Graph>| r.unwrap_err().to_string();
        assert!(message(graph.select(&[3, 1, 3])).contains("node 3 is chosen twice"));
        assert!(message(graph.select(&[20])).contains("node 20"));
        assert!(message(graph.remove(&[99])).contains("only 20 nodes"));
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bytes() {
        let graph = random_graph(3000, 9000, 2);
        let nodes: Vec<usize> = (0..3000).rev().step_by(2).collect();
        let (one, two) = in_one_and_two_threads(|| graph.select(&nodes).unwrap());
        assert_eq!(one, two);
    }
}
