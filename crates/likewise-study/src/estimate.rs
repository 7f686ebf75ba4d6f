//! What work will cost, before it begins.

use std::sync::OnceLock;
use std::time::Instant;

use likewise::error::Hint;
use likewise::eval::ranking;
use likewise::index::Kind as IndexKind;
use likewise::{Monitor, neighbor};
use ndarray::Array2;
use serde::Serialize;

use crate::size::Bytes;
use crate::{Error, ErrorKind, Result};

/// Estimated time and memory of some work.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Estimate {
    /// Estimated seconds on this machine.
    pub seconds: f64,
    /// Estimated peak memory, bytes.
    pub memory_bytes: u64,
    #[serde(skip)]
    flops: f64,
    #[serde(skip)]
    resident: u64,
    #[serde(skip)]
    passing: u64,
}

/// How often the machine is measured.
const TIMES: usize = 5;

/// Memory of the program itself, its threads and libraries.
pub const BASE: u64 = 64 << 20;

/// Items that one meets as it is inserted in a graph of neighbours, or asked for.
const MET: f64 = 6000.0;
/// Operations that the way to such an item costs, which lies anywhere in memory.
const HOP: f64 = 3000.0;
/// What an operation in double precision costs.
const WIDE: f64 = 6.0;
/// Operations of a solve for each of its entries.
const SOLVE: f64 = 1500.0;

/// Bytes that the work may take: what was asked for, else most of what was free at the start.
/// `None` where the system does not tell.
pub fn limit(asked: Option<u64>) -> Option<u64> {
    static FREE: OnceLock<u64> = OnceLock::new();
    let free = || *FREE.get_or_init(|| likewise_io::memory::allowed(None));
    asked.or_else(|| cfg!(target_os = "linux").then(free))
}

impl Estimate {
    /// Of no work.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds memory that stays until the end.
    pub fn resident(mut self, bytes: f64) -> Self {
        self.resident = self.resident.saturating_add(bytes as u64);
        self
    }

    /// Adds a stage: memory that is given back after it, and floating-point operations.
    pub fn stage(mut self, bytes: f64, flops: f64) -> Self {
        self.passing = self.passing.max(bytes as u64);
        self.flops += flops;
        self
    }

    /// An exact k-nearest-neighbour graph of `n` rows of `d`.
    pub fn graph(self, n: f64, d: f64, k: f64) -> Self {
        self.lists(n, d, k).of_lists(n, k)
    }

    /// The search for its lists.
    pub(crate) fn lists(self, n: f64, d: f64, k: f64) -> Self {
        // The rows, packed twice, and room for more candidates than neighbours.
        let search = 12.0 * n * d + 8.0 * n * (2.0 * k + 40.0);
        self.stage(search + 8.0 * n * k, 2.0 * n * n * d)
    }

    /// An approximate one.
    pub fn approximate_graph(self, n: f64, d: f64, k: f64) -> Self {
        self.approximate_lists(n, d, k).of_lists(n, k)
    }

    /// The approximate search for its lists.
    pub(crate) fn approximate_lists(self, n: f64, d: f64, k: f64) -> Self {
        // The rows in eight bits, twice for a moment; their nearest cells; the lists twice.
        let cells = 2.0 * n.sqrt();
        let search = 2.0 * n * d + 64.0 * n + 16.0 * n * k;
        let looked_into = cells + 16.0 * n / cells.max(1.0);
        self.stage(search, 2.0 * n * looked_into * d / 2.0)
    }

    /// The graph made of neighbour lists: the lists, their arcs, and the result.
    pub(crate) fn of_lists(self, n: f64, k: f64) -> Self {
        let arcs = n * k;
        self.stage((8.0 + 24.0) * arcs, 0.0).resident(16.0 * arcs)
    }

    /// A propagation of `c` classes over `n` nodes of `k` neighbours.
    pub fn propagation(self, n: f64, k: f64, c: f64) -> Self {
        // About 60 iterations; a sparse product runs at a tenth of the dense speed. The scores
        // stay; of the vectors of the solver there are eight for a group of 32 classes. The graph is copied in another
        // order where it is large.
        let columns = (c / 4.0).ceil() * 4.0;
        let group = columns.min(32.0);
        self.stage(
            8.0 * group * n * 8.0
                + 4.0 * n * c
                + 34.0 * n * k
                + 12.0 * (n / 64.0).min(2048.0).powi(2),
            60.0 * 10.0 * 4.0 * n * k * c,
        )
        .resident(8.0 * n * c)
    }

    /// A method that makes matrices of all pairs of `n` items: at most so many at once, and some hundred products
    /// of them.
    pub fn all_pairs(self, n: f64) -> Self {
        const MATRICES: f64 = 32.0;
        self.stage(MATRICES * 8.0 * n * n, WIDE * 400.0 * n.powi(3))
    }

    /// An index of `n` rows of `d` that are in memory.
    pub fn index(self, kind: IndexKind, n: f64, d: f64) -> Self {
        match kind {
            IndexKind::Flat => self,
            // Unit rows, rows to compare with, and a graph of 16 to 32 neighbours with its
            // rows, once more as bytes.
            IndexKind::Hnsw => self.stage(
                n * (8.0 * d + 2.0 * (4.0 * d + 200.0)),
                n * MET * (2.0 * d + HOP),
            ),
        }
    }

    /// A search of so many queries in the index of `n` rows of `d`.
    pub fn search(self, kind: IndexKind, queries: f64, n: f64, d: f64) -> Self {
        match kind {
            IndexKind::Flat => self.stage(8.0 * n * d, queries * 2.0 * n * d),
            IndexKind::Hnsw => {
                self.stage(2.0 * n * (4.0 * d + 200.0), queries * MET * (2.0 * d + HOP))
            }
        }
    }

    /// The variances along all directions of `n` rows of `d`.
    pub fn variances(self, n: f64, d: f64) -> Self {
        let least = n.min(d);
        self.stage(
            8.0 * least * least,
            WIDE * (2.0 * n * d * least + 10.0 * least.powi(3)),
        )
    }

    /// Affinities of `n` items with `k` neighbours each: a solve an item.
    pub fn affinities(self, n: f64, k: f64) -> Self {
        self.stage(8.0 * n * k, SOLVE * n * n * k)
    }

    /// An evaluation of `q` queries among `g` rows of `d`, `c` classes.
    pub fn evaluation(self, q: f64, g: f64, d: f64, c: f64, nmi: bool) -> Self {
        let asked = q.min(ranking::SAMPLE as f64);
        // The products run at two thirds of the speed of a graph; then each similarity is counted.
        // Similarities come in blocks, of which small sets do not fill one.
        let blocks = (16.0 * asked * g).min(64e6);
        let search = self.stage(4.0 * g * d + blocks, asked * g * (3.0 * d + 150.0));
        if nmi {
            search.clustering(g, d, c)
        } else {
            search
        }
    }

    /// The k-means of NMI: three starts of about 60 iterations on a sample.
    fn clustering(self, n: f64, d: f64, k: f64) -> Self {
        let sample = n.min((32.0 * k).max(20_000.0));
        let drawn_from = n.min((8.0 * k).max(8192.0));
        // Centroids go through the kernel 32 at a time, and so do the rows tried as starts.
        let panels = (k / 32.0).ceil() * 32.0;
        let steps = k / (k / 64.0).floor().clamp(1.0, 8.0);
        let starts = steps * drawn_from * 32.0 * 2.0 * d;
        let iterations = 60.0 * sample * (2.0 * panels + 8.0) * d;
        self.stage(
            12.0 * n * d,
            3.0 * (starts + iterations) + 3.0 * 2.0 * n * panels * d,
        )
    }

    /// Measures this machine for a moment and fills in the figures.
    pub fn on_this_machine(mut self) -> Self {
        let x = Array2::from_shape_fn((2048, 64), |(i, j)| ((i * 31 + j * 17) % 101) as f32);
        // The fastest of a few: others may work beside it, now and then.
        let took = || {
            let start = Instant::now();
            let search =
                neighbor::exact(x.view(), 10, neighbor::Metric::Cosine, &Monitor::silent());
            search.ok().map(|_| start.elapsed().as_secs_f64().max(1e-6))
        };
        let best = (0..TIMES).filter_map(|_| took()).reduce(f64::min);
        let speed = best.map_or(1e10, |seconds| 2.0 * 2048.0 * 2048.0 * 64.0 / seconds);
        self.seconds = self.flops / speed;
        self.memory_bytes = self.memory();
        self
    }

    /// Operations so far.
    pub(crate) fn flops(&self) -> f64 {
        self.flops
    }

    /// Bytes at the peak so far.
    pub(crate) fn memory(&self) -> u64 {
        BASE.saturating_add(self.resident)
            .saturating_add(self.passing)
    }

    /// Fails if what may be used, or the memory that is free, would not do.
    pub fn check(&self, max_memory: Option<u64>) -> Result<()> {
        let needed = Bytes(self.memory());
        let limit = match limit(max_memory) {
            Some(limit) if needed.0 > limit => Bytes(limit),
            _ => return Ok(()),
        };
        let message = match max_memory {
            Some(_) => format!(
                "this needs about {needed}, but {limit} may be used; use fewer items, dimensions \
                 or neighbours"
            ),
            None => format!(
                "this needs about {needed}, and {limit} of memory are free; use fewer items, \
                 dimensions or neighbours"
            ),
        };
        Err(Error::new(ErrorKind::Memory, message).hint(Hint::LimitMemory))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_items_cost_memory() {
        // What goldberg took of 1000 items, the most of all.
        assert!(Estimate::new().all_pairs(1000.0).memory() > 300 << 20);
    }

    #[test]
    fn classes_cost_time_and_memory() {
        let of = |c: f64| {
            let estimate = Estimate::new().propagation(20_000.0, 5.0, c);
            let estimate = estimate.evaluation(6000.0, 6000.0, 32.0, c, true);
            (estimate.flops, estimate.memory())
        };
        let (few, many) = (of(10.0), of(8671.0));
        assert!(many.0 > 100.0 * few.0);
        // The scores alone: 20,000 x 8671 numbers of 8 bytes.
        assert!(few.1 < 200 << 20 && many.1 > 1323 << 20, "{few:?} {many:?}");
    }

    #[test]
    fn time_grows_with_what_is_asked_for() {
        let of = |estimate: Estimate| estimate.flops();
        let search = |kind, queries| of(Estimate::new().search(kind, queries, 1e4, 64.0));
        for kind in [IndexKind::Flat, IndexKind::Hnsw] {
            assert!(search(kind, 1000.0) > 900.0 * search(kind, 1.0));
        }
        // A solve an item, a way through the graph an item: not as little as a product.
        let products = of(Estimate::new().graph(1e4, 64.0, 20.0));
        assert!(of(Estimate::new().affinities(1e4, 20.0)) > 10.0 * products);
        assert!(of(Estimate::new().index(IndexKind::Hnsw, 1e4, 64.0)) > 5.0 * products);
        assert!(
            of(Estimate::new().variances(200.0, 8000.0)) < 1e11,
            "not of columns by columns"
        );
    }

    #[test]
    fn few_items_need_little_beside_the_program() {
        let few = Estimate::new().evaluation(28.0, 28.0, 4.0, 2.0, true);
        assert!(few.memory() < BASE + (1 << 20), "{few:?}");
        let many = Estimate::new().evaluation(1e4, 1e4, 4.0, 2.0, true);
        assert!(many.memory() > BASE + 64_000_000, "{many:?}");
    }

    #[test]
    fn sizes_without_measure_are_beyond_every_limit() {
        let k = usize::MAX as f64;
        let estimate = Estimate::new().resident(8.0 * k).graph(100.0, 8.0, k);
        assert_eq!(estimate.memory(), u64::MAX);
    }

    #[test]
    fn more_queries_than_the_sample_cost_what_the_sample_does() {
        let of = |q: f64| Estimate::new().evaluation(q, 1e5, 64.0, 10.0, false).flops;
        let sample = ranking::SAMPLE as f64;
        assert!(of(sample / 2.0) < 0.6 * of(sample));
        assert!((of(6.0 * sample) - of(sample)).abs() < 1.0);
    }
}
