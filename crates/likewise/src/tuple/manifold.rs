//! Mining on manifolds: triplets without labels, where the neighbours along the manifold and the
//! nearest ones differ.
//!
//! The manifold similarity of an item to all others is its row of `(I - alpha S)^-1` on the
//! graph of mutual neighbours, `S = D^-1/2 W D^-1/2`. An item `q` itself has rank 1 in
//! both orders.
//! - Positives of `q`: manifold rank at most `positive_rank`, Euclidean rank above it; by
//!   manifold similarity.
//! - Negatives of `q`: Euclidean rank at most `negative_rank`, manifold rank above it; by
//!   Euclidean similarity.
//!
//! Both at most `pool` long. A triplet draws a positive from its pool and a negative from
//! the `hardest` first of its pool; its weight is the manifold similarity of the positive.
//!
//! **Use it** without any labels, where classes are connected and thin. **Not** where classes
//! touch: the walk crosses over, and true neighbours become negatives.
//!
//! Cost: one diffusion an anchor, O(anchors x iterations x entries) time, that is O(n²) for
//! all items: above some 100,000 items use [`Anchors::Modes`]. Memory O(nk) and 32 columns.
//!
//! Source: Iscen, Tolias, Avrithis and Chum, CVPR 2018, with the values of its published
//! experiments for fine-grained classes: 30 mutual neighbours, `alpha = 0.99`, 20 iterations.
//! Differences: the stationary distribution of the walk is proportional to the weighted
//! degree, so no power iteration is run for the modes; the hardest negatives are by the
//! similarity of the lists given, call [`Manifold::pools`] to choose them by a model in training.

use ndarray::Array2;
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::{Mine, Triplets};
use crate::graph::{KnnGraph, Symmetrize};
use crate::neighbor::Neighbors;
use crate::propagate::parts::diffusion::diffuse;
use crate::solve::ConjugateGradient;
use crate::{Error, Graph, Labels, Monitor, Result, parallel, seed};

/// Anchors whose diffusions are solved together.
const BATCH: usize = 32;

/// Which items become anchors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Anchors {
    /// Every item.
    #[default]
    All,
    /// Nodes of the largest component of the graph where the stationary distribution of the
    /// random walk is above that of all their neighbours; the highest `most` of them.
    Modes {
        /// Most anchors, at least 1.
        most: usize,
    },
}

/// Parameters of mining on manifolds.
///
/// ```
/// use likewise::neighbor::{Metric, exact};
/// use likewise::tuple::{Manifold, Mine};
/// use likewise::{Labels, Monitor};
/// // Two parallel arcs: along an arc is far, across is near.
/// let x = ndarray::Array2::from_shape_fn((60, 3), |(i, c)| {
///     let angle = (i % 30) as f32 * 0.05;
///     [angle.cos(), angle.sin(), if i < 30 { 0.12 } else { -0.12 }][c]
/// });
/// let monitor = Monitor::silent();
/// let neighbors = exact(x.view(), 12, Metric::Cosine, &monitor)?;
/// let miner = Manifold::new().graph_k(3).positive_rank(9).negative_rank(10).seed(7);
/// let triplets = miner.mine(&neighbors, &Labels::unknown(60), &monitor)?;
/// assert!(triplets.iter().all(|(a, p, _, _)| (a < 30) == (p < 30)));
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Manifold {
    graph_k: usize,
    gamma: f64,
    alpha: f64,
    tolerance: f64,
    max_iterations: usize,
    positive_rank: usize,
    negative_rank: usize,
    pool: usize,
    hardest: usize,
    per_anchor: usize,
    anchors: Anchors,
    seed: u64,
}

/// What triplets of one anchor may be made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Pool {
    /// The anchor.
    pub anchor: u32,
    /// Positives and their manifold similarity, highest first.
    pub positives: Vec<(u32, f32)>,
    /// Negatives, nearest first.
    pub negatives: Vec<u32>,
}

impl Default for Manifold {
    fn default() -> Self {
        Self {
            graph_k: 30,
            gamma: 3.0,
            alpha: 0.99,
            tolerance: 1e-10,
            max_iterations: 20,
            positive_rank: 50,
            negative_rank: 100,
            pool: 50,
            hardest: 10,
            per_anchor: 1,
            anchors: Anchors::All,
            seed: 0,
        }
    }
}

impl Manifold {
    /// The published values for fine-grained classes; one triplet an anchor.
    pub fn new() -> Self {
        Self::default()
    }

    /// Neighbours that must list each other to be joined in the graph.
    #[must_use]
    pub fn graph_k(mut self, graph_k: usize) -> Self {
        self.graph_k = graph_k;
        self
    }

    /// Share that the walk passes on, above 0 and below 1.
    #[must_use]
    pub fn alpha(mut self, alpha: f64) -> Self {
        self.alpha = alpha;
        self
    }

    /// Most iterations of a diffusion: it reaches as many steps far. Not converging is part of
    /// the method and not reported.
    #[must_use]
    pub fn max_iterations(mut self, max_iterations: usize) -> Self {
        self.max_iterations = max_iterations;
        self
    }

    /// Highest manifold rank of a positive, at least 2.
    #[must_use]
    pub fn positive_rank(mut self, positive_rank: usize) -> Self {
        self.positive_rank = positive_rank;
        self
    }

    /// Highest Euclidean rank of a negative, at least 2; at most half of the items.
    #[must_use]
    pub fn negative_rank(mut self, negative_rank: usize) -> Self {
        self.negative_rank = negative_rank;
        self
    }

    /// Triplets to draw for each anchor.
    #[must_use]
    pub fn per_anchor(mut self, per_anchor: usize) -> Self {
        self.per_anchor = per_anchor;
        self
    }

    /// Which items become anchors.
    #[must_use]
    pub fn anchors(mut self, anchors: Anchors) -> Self {
        self.anchors = anchors;
        self
    }

    /// Seed of the draw.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The pools of all anchors, those included that have an empty one.
    ///
    /// Fails on broken lists, on lists shorter than the ranks need, on a parameter out of its
    /// range, and when cancelled.
    pub fn pools(&self, neighbors: &Neighbors, monitor: &Monitor) -> Result<Vec<Pool>> {
        self.check(neighbors)?;
        let settings = KnnGraph::new()
            .gamma(self.gamma)
            .symmetrize(Symmetrize::Mutual);
        let graph = settings.from_neighbors(&neighbors.first(self.graph_k))?;
        let anchors = match self.anchors {
            Anchors::All => (0..graph.n()).collect(),
            Anchors::Modes { most } => modes(&graph, most),
        };
        let solver = ConjugateGradient {
            tolerance: self.tolerance,
            max_iterations: self.max_iterations,
        };
        monitor.start("mining on manifolds", anchors.len() as u64);
        let mut pools = Vec::with_capacity(anchors.len());
        for batch in anchors.chunks(BATCH) {
            monitor.step(pools.len() as u64)?;
            let mut b = Array2::zeros((graph.n(), batch.len()));
            for (column, &anchor) in batch.iter().enumerate() {
                b[[anchor, column]] = 1.0;
            }
            // Steps of the solver are no steps of this stage.
            let quiet = Monitor::silent();
            let similarity = diffuse(&graph, self.alpha, b, &solver, &quiet)?.x;
            pools.extend(parallel::map(
                batch.iter().enumerate(),
                |(column, &anchor)| self.pool(neighbors, anchor, similarity.column(column)),
            ));
        }
        monitor.end();
        Ok(pools)
    }

    fn check(&self, neighbors: &Neighbors) -> Result<()> {
        neighbors.check()?;
        for (field, value, least) in [
            ("graph_k", self.graph_k, 1),
            ("positive_rank", self.positive_rank, 2),
            ("negative_rank", self.negative_rank, 2),
            ("pool", self.pool, 1),
            ("hardest", self.hardest, 1),
        ] {
            if value < least {
                let rule = format!("must be at least {least}");
                return Err(Error::parameter(field, value, &rule));
            }
        }
        if let Anchors::Modes { most: 0 } = self.anchors {
            return Err(Error::parameter("most", 0, "must be at least 1"));
        }
        let ranks = self.positive_rank.max(self.negative_limit(neighbors.n())) - 1;
        let needed = self.graph_k.max(ranks.min(neighbors.n().saturating_sub(1)));
        if neighbors.k < needed {
            return Err(Error::data(format!(
                "lists of {} neighbours are too short; search {needed}, or lower graph_k, \
                 positive_rank or negative_rank",
                neighbors.k
            )));
        }
        Ok(())
    }

    /// The rank that bounds negatives: at most half of the items, rounded up.
    fn negative_limit(&self, n: usize) -> usize {
        self.negative_rank.min(n.div_ceil(2)).max(2)
    }

    fn pool(
        &self,
        neighbors: &Neighbors,
        anchor: usize,
        similarity: ndarray::ArrayView1<f64>,
    ) -> Pool {
        let limit = self.negative_limit(neighbors.n());
        let reached = |&j: &usize| j != anchor && similarity[j] > 0.0;
        let mut order: Vec<usize> = (0..similarity.len()).filter(reached).collect();
        let most = self.positive_rank.max(limit) - 1;
        let higher =
            |a: &usize, b: &usize| (similarity[*b].total_cmp(&similarity[*a])).then(a.cmp(b));
        if order.len() > most {
            order.select_nth_unstable_by(most - 1, higher);
            order.truncate(most);
        }
        order.sort_unstable_by(higher);
        let list = neighbors.indices.row(anchor);
        let near = |rank: usize| list.iter().take(rank - 1);
        let positives = order.iter().take(self.positive_rank - 1);
        let positives = positives.filter(|&&j| near(self.positive_rank).all(|&i| i as usize != j));
        let close = &order[..order.len().min(limit - 1)];
        let negatives = near(limit).filter(|&&i| close.iter().all(|&j| j != i as usize));
        Pool {
            anchor: anchor as u32,
            positives: (positives.take(self.pool))
                .map(|&j| (j as u32, similarity[j] as f32))
                .collect(),
            negatives: negatives.take(self.pool).copied().collect(),
        }
    }
}

impl Mine for Manifold {
    /// Labels are not used.
    fn mine(&self, neighbors: &Neighbors, _: &Labels, monitor: &Monitor) -> Result<Triplets> {
        let mut rng = seed::stream(self.seed, "manifold triplets");
        let mut triplets = Triplets::default();
        for pool in self.pools(neighbors, monitor)? {
            let hardest = &pool.negatives[..pool.negatives.len().min(self.hardest)];
            if pool.positives.is_empty() || hardest.is_empty() {
                continue;
            }
            for _ in 0..self.per_anchor {
                let (positive, weight) = pool.positives[rng.random_range(0..pool.positives.len())];
                let negative = hardest[rng.random_range(0..hardest.len())];
                // An item may be in both pools where the ranks differ: no triplet then.
                if positive != negative {
                    triplets.push(pool.anchor, positive, negative, weight);
                }
            }
        }
        Ok(triplets)
    }
}

/// Strict local maxima of the weighted degree in the largest component, highest first.
fn modes(graph: &Graph, most: usize) -> Vec<usize> {
    let mut sizes = vec![0_usize; graph.n_components()];
    for &part in graph.component() {
        sizes[part as usize] += 1;
    }
    // The first of equal size.
    let largest = (0..sizes.len()).max_by_key(|&part| (sizes[part], usize::MAX - part));
    let degrees = graph.degrees();
    let highest = |&i: &usize| {
        Some(graph.component()[i] as usize) == largest
            && (graph.row(i).0.iter()).all(|&j| degrees[i] > degrees[j as usize])
    };
    let mut modes: Vec<usize> = (0..graph.n()).filter(highest).collect();
    modes.sort_by(|&a, &b| degrees[b].total_cmp(&degrees[a]));
    modes.truncate(most);
    modes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neighbor::{Metric, exact};
    use crate::reference::{self, in_one_and_two_threads};
    use proptest::prelude::*;

    fn points(n: usize, d: usize, seed: u64) -> Array2<f32> {
        let mut rng = seed::stream(seed, "test points");
        Array2::from_shape_fn((n, d), |_| rng.random::<f32>() + 0.1)
    }

    fn search(x: &Array2<f32>, k: usize) -> Neighbors {
        exact(x.view(), k, Metric::Cosine, &Monitor::silent()).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn pools_are_those_of_the_dense_inverse(
            n in 8_usize..60, graph_k in 1_usize..5, positive_rank in 2_usize..8,
            negative_rank in 2_usize..8, seed in 0_u64..1000,
        ) {
            let x = points(n, 3, seed);
            let neighbors = search(&x, 7);
            let miner = Manifold { max_iterations: 500, tolerance: 1e-13, ..Manifold::new() }
                .graph_k(graph_k).positive_rank(positive_rank).negative_rank(negative_rank);
            let pools = miner.pools(&neighbors, &Monitor::silent()).unwrap();
            // Naive: mutual graph, dense inverse, full sort.
            let lists = |i: usize, j: usize| {
                neighbors.indices.row(i).iter().take(graph_k).position(|&l| l as usize == j)
            };
            let w = Array2::from_shape_fn((n, n), |(i, j)| match (lists(i, j), lists(j, i)) {
                (Some(p), Some(_)) => 2.0 * f64::from(neighbors.similarities[[i, p]]).powi(3),
                _ => 0.0,
            });
            let degree: Vec<f64> = w.rows().into_iter().map(|r| r.sum().max(1e-100)).collect();
            let m = Array2::from_shape_fn((n, n), |(i, j)| {
                f64::from(u8::from(i == j)) - 0.99 * w[[i, j]] / (degree[i] * degree[j]).sqrt()
            });
            let inverse = reference::solve(&m, &Array2::eye(n), &vec![true; n]);
            let limit = negative_rank.min(n.div_ceil(2));
            prop_assert_eq!(pools.len(), n);
            for (q, pool) in pools.iter().enumerate() {
                let mut order: Vec<usize> =
                    (0..n).filter(|&j| j != q && inverse[[j, q]] > 1e-9).collect();
                order.sort_by(|&a, &b| inverse[[b, q]].total_cmp(&inverse[[a, q]]));
                // Values that rounding may swap decide nothing here.
                prop_assume!(order.windows(2).all(|p| inverse[[p[0], q]] - inverse[[p[1], q]] > 1e-7));
                let near: Vec<usize> = neighbors.indices.row(q).iter().map(|&j| j as usize).collect();
                let positives: Vec<usize> = order.iter().copied().take(positive_rank - 1)
                    .filter(|j| !near[..positive_rank - 1].contains(j)).collect();
                let close: Vec<usize> = order.iter().copied().take(limit - 1).collect();
                let negatives: Vec<usize> = near[..limit - 1].iter().copied()
                    .filter(|j| !close.contains(j)).collect();
                let found: Vec<usize> = pool.positives.iter().map(|p| p.0 as usize).collect();
                prop_assert_eq!(found, positives);
                let found: Vec<usize> = pool.negatives.iter().map(|&p| p as usize).collect();
                prop_assert_eq!(found, negatives);
                for &(j, similarity) in &pool.positives {
                    prop_assert!((f64::from(similarity) - inverse[[j as usize, q]]).abs() < 1e-3);
                }
            }
        }
    }

    #[test]
    fn modes_are_peaks_of_the_largest_component() {
        // 0-1-2-3-4 with degrees 1, 4, 5, 3, 1 and apart from it 5-6 with degrees 9.
        let graph = Graph::new(
            vec![0, 1, 3, 5, 7, 8, 9, 10],
            vec![1, 0, 2, 1, 3, 2, 4, 3, 6, 5],
            vec![1.0, 1.0, 3.0, 3.0, 2.0, 2.0, 1.0, 1.0, 9.0, 9.0],
        )
        .unwrap();
        assert_eq!(modes(&graph, 10), [2]);
        let path = reference::path();
        // Degrees 1, 1.5, 1.5, 1: the two peaks are equal, so neither is strict.
        assert!(modes(&path, 10).is_empty());
        let graph = reference::random_graph(300, 500, 1);
        let all = modes(&graph, 1000);
        assert!(all.len() > 3);
        assert_eq!(modes(&graph, 3), all[..3]);
        let degrees = graph.degrees();
        assert!(all.windows(2).all(|p| degrees[p[0]] >= degrees[p[1]]));
    }

    #[test]
    fn triplets_are_valid_and_the_same_for_any_number_of_threads_and_differ_by_seed() {
        let neighbors = search(&points(300, 4, 1), 30);
        let miner = Manifold::new()
            .graph_k(8)
            .positive_rank(20)
            .negative_rank(30)
            .per_anchor(3);
        let mine = |seed| {
            let miner = miner.clone().seed(seed);
            miner
                .mine(&neighbors, &Labels::unknown(300), &Monitor::silent())
                .unwrap()
        };
        let (one, two) = in_one_and_two_threads(|| mine(1));
        assert_eq!(one, two);
        assert!(one.len() > 100 && one.check(300).is_ok());
        assert!(one.weights.iter().all(|&w| w > 0.0));
        assert_ne!(one, mine(2));
        let few = miner.anchors(Anchors::Modes { most: 4 });
        assert!(few.pools(&neighbors, &Monitor::silent()).unwrap().len() <= 4);
    }

    #[test]
    fn bad_input_is_refused() {
        let neighbors = search(&points(300, 4, 1), 10);
        let message = |miner: Manifold| {
            let found = miner.mine(&neighbors, &Labels::unknown(300), &Monitor::silent());
            found.unwrap_err().to_string()
        };
        assert!(message(Manifold::new()).contains("too short; search 99"));
        let small = Manifold::new().graph_k(5).positive_rank(5).negative_rank(5);
        assert!(message(small.clone().graph_k(0)).starts_with("graph_k = 0"));
        assert!(message(small.clone().alpha(1.0)).starts_with("alpha = 1"));
        assert!(message(small.clone().positive_rank(1)).starts_with("positive_rank = 1"));
        assert!(message(small.anchors(Anchors::Modes { most: 0 })).starts_with("most = 0"));
    }
}
