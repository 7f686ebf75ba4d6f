//! Connected components by union and find.

/// The component of every node of a symmetric CSR graph, numbered by their smallest node,
/// and the number of components.
///
/// One pass over the entries in the order they are stored; only the parents are looked up
/// at random. Trees hang on their smallest node and paths are halved on the way:
/// O(entries log n) at worst, about linear in practice. Memory: 4 bytes a node.
///
/// Source: Tarjan and van Leeuwen 1984 (path halving).
pub(super) fn components(indptr: &[usize], indices: &[u32]) -> (Vec<u32>, usize) {
    let n = indptr.len() - 1;
    let mut forest = Forest::new(n);
    for i in 0..n {
        let row = &indices[indptr[i]..indptr[i + 1]];
        let mut own = forest.root(i as u32);
        // The mirror entry does the rest of the row.
        for &j in &row[..row.partition_point(|&j| (j as usize) < i)] {
            let other = forest.root(j);
            own = forest.hang(own, other);
        }
    }
    forest.numbered()
}

/// Sets that are joined, as trees that hang on their smallest node.
pub(crate) struct Forest {
    parent: Vec<u32>,
}

impl Forest {
    /// `n` nodes, each a set of its own.
    pub(crate) fn new(n: usize) -> Self {
        Self {
            parent: (0..n as u32).collect(),
        }
    }

    /// The smallest node of the set of a node.
    pub(crate) fn root(&mut self, mut node: u32) -> u32 {
        loop {
            let up = self.parent[node as usize];
            if up == node {
                return node;
            }
            let above = self.parent[up as usize];
            self.parent[node as usize] = above;
            node = above;
        }
    }

    /// Makes one set of those of two nodes.
    pub(crate) fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.hang(a, b);
    }

    /// Joins the sets of two roots; gives the root of both.
    fn hang(&mut self, a: u32, b: u32) -> u32 {
        let (low, high) = (a.min(b), a.max(b));
        self.parent[high as usize] = low;
        low
    }

    /// The set of each node, numbered by their smallest node, and the number of sets.
    pub(crate) fn numbered(self) -> (Vec<u32>, usize) {
        let mut parent = self.parent;
        // A root is smaller than all below it, so it has its number before they ask for it.
        let mut count = 0;
        for i in 0..parent.len() {
            let up = parent[i] as usize;
            parent[i] = if up == i {
                count += 1;
                count - 1
            } else {
                parent[up]
            };
        }
        (parent, count as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::random_graph;
    use proptest::prelude::*;

    /// By spreading the smallest number until nothing changes.
    fn naive(indptr: &[usize], indices: &[u32]) -> (Vec<u32>, usize) {
        let n = indptr.len() - 1;
        let mut least: Vec<usize> = (0..n).collect();
        loop {
            let before = least.clone();
            for i in 0..n {
                for &j in &indices[indptr[i]..indptr[i + 1]] {
                    least[i] = least[i].min(least[j as usize]);
                }
            }
            if least == before {
                break;
            }
        }
        let mut roots = least.clone();
        roots.sort_unstable();
        roots.dedup();
        let number = |l: &usize| roots.partition_point(|r| r < l) as u32;
        (least.iter().map(number).collect(), roots.len())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn equals_spreading(n in 1_usize..80, tenths in 0_usize..20, seed in 0_u64..10_000) {
            let graph = random_graph(n, n * tenths / 10, seed);
            let expected = naive(graph.indptr(), graph.indices());
            prop_assert_eq!(components(graph.indptr(), graph.indices()), expected);
        }
    }
}
