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
    let mut parent: Vec<u32> = (0..n as u32).collect();
    for i in 0..n {
        let row = &indices[indptr[i]..indptr[i + 1]];
        let mut own = find(&mut parent, i as u32);
        // The mirror entry does the rest of the row.
        for &j in &row[..row.partition_point(|&j| (j as usize) < i)] {
            let other = find(&mut parent, j);
            let (low, high) = (own.min(other), own.max(other));
            parent[high as usize] = low;
            own = low;
        }
    }
    // A root is smaller than all below it, so it has its number before they ask for it.
    let mut count = 0;
    for i in 0..n {
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

fn find(parent: &mut [u32], mut node: u32) -> u32 {
    loop {
        let up = parent[node as usize];
        if up == node {
            return node;
        }
        let above = parent[up as usize];
        parent[node as usize] = above;
        node = above;
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
