//! The approximate index: a hierarchical navigable small-world graph (usearch).

use std::sync::{Condvar, Mutex, PoisonError};

use ndarray::ArrayView2;
use rayon::prelude::*;
use usearch::{IndexOptions, MetricKind, ScalarKind};

use super::{Hit, Index, check_k, order};
use crate::matrix::{check_finite, l2_normalize};
use crate::{Error, ErrorKind, Monitor, Result};

/// Size of the graph and effort of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HnswOptions {
    /// Neighbours a node keeps (M), 2 to 512. More find more and take more memory.
    pub connectivity: usize,
    /// Candidates looked at when an item is inserted (efConstruction), at least 1.
    pub build_effort: usize,
    /// Candidates looked at in a search (ef), at least 1; at least k are used.
    pub search_effort: usize,
}

impl Default for HnswOptions {
    /// M 16, efConstruction 128, ef 128.
    fn default() -> Self {
        Self {
            connectivity: 16,
            build_effort: 128,
            search_effort: 128,
        }
    }
}

/// An approximate cosine index for single queries over many items.
///
/// Use it beyond about a hundred thousand items where one query must be answered in
/// well under a millisecond. For a batch of queries, for a kNN graph, or for fewer items,
/// [`Flat`](super::Flat) is exact and often faster. Data with very many exact duplicates
/// make poor small-world graphs: check with [`measured_recall`](super::measured_recall).
/// Answers are ordered as those of `Flat`, but which of several equal items is found at
/// the end of the list is not defined.
///
/// Items are inserted one after the other on one thread, so that the same rows give the
/// same graph. Building costs about O(n log n x effort x d), memory `4 d + 8 M` bytes an
/// item. Rows of zeros have similarity 0 to everything, as in the exact index; they are
/// kept beside the graph.
///
/// Source: Malkov & Yashunin 2018, by the library usearch.
///
/// ```
/// use likewise::{Monitor, index::{Hnsw, HnswOptions, Index}};
/// let x = ndarray::array![[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]];
/// let index = Hnsw::build(x.view(), HnswOptions::default(), &Monitor::silent())?;
/// let restored = Hnsw::from_bytes(&index.to_bytes()?)?;
/// let hits = restored.search(ndarray::array![[2.0, 0.1]].view(), 1, &Monitor::silent())?;
/// assert_eq!(hits[0][0].item, 0);
/// # Ok::<(), likewise::Error>(())
/// ```
pub struct Hnsw {
    graph: usearch::Index,
    /// Number of rows, those of zeros included.
    n: usize,
    /// Rows of zeros, ascending.
    zeros: Vec<u64>,
    /// How many threads may search at a time; the library refuses more.
    seats: Seats,
}

impl std::fmt::Debug for Hnsw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hnsw")
            .field("items", &self.n)
            .field("dimensions", &self.dimensions())
            .finish_non_exhaustive()
    }
}

impl Hnsw {
    /// Indexes the rows of `x` (`n x d`) one by one. Steps of `monitor` are items.
    ///
    /// Fails on NaN, without columns, and on options out of range.
    pub fn build(x: ArrayView2<f32>, options: HnswOptions, monitor: &Monitor) -> Result<Self> {
        check_finite(x, "indexed rows")?;
        let at_least_1 = [
            ("dimensions", x.ncols()),
            ("build_effort", options.build_effort),
            ("search_effort", options.search_effort),
        ];
        for (name, value) in at_least_1 {
            if value == 0 {
                return Err(Error::parameter(name, 0, "must be at least 1"));
            }
        }
        if !(2..=512).contains(&options.connectivity) {
            let rule = "must be from 2 to 512";
            return Err(Error::parameter("connectivity", options.connectivity, rule));
        }
        let graph = usearch::Index::new(&IndexOptions {
            dimensions: x.ncols(),
            metric: MetricKind::IP,
            quantization: ScalarKind::F32,
            connectivity: options.connectivity,
            expansion_add: options.build_effort,
            expansion_search: options.search_effort,
            multi: false,
        })
        .map_err(failed)?;
        // One seat while building: the levels are drawn by seat.
        graph
            .reserve_capacity_and_threads(x.nrows(), 1)
            .map_err(failed)?;
        monitor.start("building the index", x.nrows() as u64);
        let mut zeros = Vec::new();
        for (item, row) in l2_normalize(x.to_owned()).rows().into_iter().enumerate() {
            if row.iter().all(|&v| v == 0.0) {
                zeros.push(item as u64);
            } else {
                graph.add(item as u64, &row.to_vec()).map_err(failed)?;
            }
            if item % 1024 == 1023 {
                monitor.step(item as u64 + 1)?;
            }
        }
        monitor.end();
        Self::ready(graph, x.nrows(), zeros)
    }

    fn ready(graph: usearch::Index, n: usize, zeros: Vec<u64>) -> Result<Self> {
        let seats = std::thread::available_parallelism().map_or(1, usize::from);
        graph
            .reserve_capacity_and_threads(graph.size(), seats)
            .map_err(failed)?;
        let seats = Seats::new(seats);
        Ok(Self {
            graph,
            n,
            zeros,
            seats,
        })
    }

    /// The index as bytes, for [`from_bytes`](Self::from_bytes).
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut graph = vec![0; self.graph.serialized_length()];
        self.graph.save_to_buffer(&mut graph).map_err(failed)?;
        let numbers = [self.n as u64, self.zeros.len() as u64];
        let mut body: Vec<u8> = numbers
            .iter()
            .chain(&self.zeros)
            .flat_map(|number| number.to_le_bytes())
            .collect();
        body.extend(graph);
        let mut bytes = MAGIC.to_vec();
        bytes.extend(checksum(&body).to_le_bytes());
        bytes.extend(body);
        Ok(bytes)
    }

    /// An index from the bytes that [`to_bytes`](Self::to_bytes) gave.
    ///
    /// Fails on bytes that are cut short or damaged; a checksum tells. It does not
    /// protect against bytes that were forged: load only what you trust.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let broken = || {
            Error::data("not an HNSW index, or a damaged one; build it again from the embeddings")
        };
        let number = |from: usize| -> Result<u64> {
            let eight = bytes.get(from..from + 8).ok_or_else(broken)?;
            Ok(u64::from_le_bytes(eight.try_into().map_err(|_| broken())?))
        };
        let body = bytes.get(16..).ok_or_else(broken)?;
        if !bytes.starts_with(MAGIC) || number(8)? != checksum(body) {
            return Err(broken());
        }
        let (n, n_zeros) = (number(16)? as usize, number(24)? as usize);
        if n_zeros > n || n_zeros > bytes.len() / 8 {
            return Err(broken());
        }
        let zeros = (0..n_zeros)
            .map(|i| number(32 + 8 * i))
            .collect::<Result<_>>()?;
        let graph = bytes.get(32 + 8 * n_zeros..).ok_or_else(broken)?;
        let graph = usearch::Index::restore_from_buffer(graph).map_err(failed)?;
        Self::ready(graph, n, zeros)
    }

    /// The `k` nearest of one unit row, or what comes first where the row is zeros.
    fn nearest(&self, query: &[f32], k: usize) -> Result<Vec<Hit>> {
        let hit = |item: u64, similarity: f32| Hit {
            item: item as usize,
            similarity,
        };
        if query.iter().all(|&v| v == 0.0) {
            return Ok((0..k as u64).map(|item| hit(item, 0.0)).collect());
        }
        let found = {
            let _seat = self.seats.take();
            self.graph.search(query, k).map_err(failed)?
        };
        let pairs = found.keys.into_iter().zip(found.distances);
        let mut hits: Vec<Hit> = pairs.map(|(item, d)| hit(item, 1.0 - d)).collect();
        hits.extend(self.zeros.iter().take(k).map(|&item| hit(item, 0.0)));
        hits.sort_unstable_by(order);
        hits.truncate(k);
        Ok(hits)
    }
}

impl Index for Hnsw {
    fn len(&self) -> usize {
        self.n
    }

    fn dimensions(&self) -> usize {
        self.graph.dimensions()
    }

    fn search(
        &self,
        queries: ArrayView2<f32>,
        k: usize,
        monitor: &Monitor,
    ) -> Result<Vec<Vec<Hit>>> {
        check_k(k)?;
        if queries.ncols() != self.dimensions() {
            return Err(Error::data(format!(
                "queries have {} dimensions, the index {}; use the same model for both",
                queries.ncols(),
                self.dimensions()
            )));
        }
        check_finite(queries, "queries")?;
        let k = k.min(self.n);
        let queries = l2_normalize(queries.to_owned());
        let rows: Vec<_> = queries.rows().into_iter().collect();
        rows.into_par_iter()
            .map(|row| {
                monitor.check()?;
                self.nearest(&row.to_vec(), k)
            })
            .collect()
    }
}

/// Lets as many threads in as the library has room for; the others wait.
struct Seats {
    free: Mutex<usize>,
    changed: Condvar,
}

struct Seat<'a>(&'a Seats);

impl Seats {
    fn new(n: usize) -> Self {
        Self {
            free: Mutex::new(n),
            changed: Condvar::new(),
        }
    }

    fn take(&self) -> Seat<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_while(free, |free| *free == 0);
        *waited.unwrap_or_else(PoisonError::into_inner) -= 1;
        Seat(self)
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.changed.notify_one();
    }
}

const MAGIC: &[u8; 8] = b"lw-hnsw1";

/// FNV-1a over the bytes.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Internal, format!("HNSW index: {error}"))
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Some results are exact.
mod tests {
    use super::*;
    use crate::distance::Metric;
    use crate::index::{Flat, measured_recall};
    use crate::seed;
    use ndarray::{Array2, array};
    use rand::RngExt;

    fn random(n: usize, d: usize, name: &str) -> Array2<f32> {
        let mut rng = seed::stream(9, name);
        Array2::from_shape_fn((n, d), |_| rng.random_range(-1.0_f32..1.0))
    }

    fn build(x: &Array2<f32>) -> Hnsw {
        Hnsw::build(x.view(), HnswOptions::default(), &Monitor::silent()).unwrap()
    }

    fn search(index: &Hnsw, queries: &Array2<f32>, k: usize) -> Vec<Vec<Hit>> {
        index.search(queries.view(), k, &Monitor::silent()).unwrap()
    }

    #[test]
    fn finds_nearly_all_true_neighbours_with_their_similarities() {
        let x = random(3000, 16, "items");
        let queries = random(100, 16, "queries");
        let (index, flat) = (build(&x), Flat::new(x.view(), Metric::Cosine).unwrap());
        let monitor = Monitor::silent();
        let recall = measured_recall(&index, &flat, queries.view(), 10, &monitor).unwrap();
        assert!(recall > 0.97, "{recall}");
        let own = measured_recall(&flat, &flat, queries.view(), 10, &monitor).unwrap();
        assert_eq!(own, 1.0);
        let few = HnswOptions {
            connectivity: 2,
            build_effort: 2,
            search_effort: 1,
        };
        let poor = Hnsw::build(x.view(), few, &monitor).unwrap();
        assert!(measured_recall(&poor, &flat, queries.view(), 10, &monitor).unwrap() < recall);
        for (q, hits) in search(&index, &queries, 10).iter().enumerate() {
            assert_eq!(hits.len(), 10);
            for hit in hits {
                let expected = Metric::Cosine.similarity(queries.row(q), x.row(hit.item));
                assert!((f64::from(hit.similarity) - expected).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn building_and_loading_are_repeatable() {
        let x = random(800, 8, "items");
        let bytes = build(&x).to_bytes().unwrap();
        assert_eq!(bytes, build(&x).to_bytes().unwrap());
        let restored = Hnsw::from_bytes(&bytes).unwrap();
        assert_eq!((restored.len(), restored.dimensions()), (800, 8));
        assert_eq!(search(&restored, &x, 5), search(&build(&x), &x, 5));
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let bytes = build(&random(50, 4, "items")).to_bytes().unwrap();
        for cut in [0, 7, 15, 31, 40, bytes.len() - 1] {
            assert!(Hnsw::from_bytes(&bytes[..cut]).is_err());
        }
        for place in [0, 9, 20, 200] {
            let mut bytes = bytes.clone();
            bytes[place] ^= 1;
            assert!(Hnsw::from_bytes(&bytes).is_err());
        }
    }

    #[test]
    fn agrees_with_the_exact_index_on_zeros_duplicates_and_large_k() {
        let x = array![[0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [-1.0, -1.0], [0.0, 0.0]];
        let (index, flat) = (build(&x), Flat::new(x.view(), Metric::Cosine).unwrap());
        let items = |hits: &[Hit]| hits.iter().map(|h| h.item).collect::<Vec<_>>();
        for k in [3, 5, 10] {
            let exact = flat.search(x.view(), k, &Monitor::silent()).unwrap();
            for (a, b) in search(&index, &x, k).iter().zip(&exact) {
                assert_eq!(items(a), items(b), "k {k}");
            }
        }
        let zeros = build(&Array2::zeros((3, 2)));
        assert_eq!(search(&zeros, &x, 2)[1].len(), 2);
        let empty = build(&Array2::zeros((0, 2)));
        assert!(search(&empty, &x, 2).iter().all(Vec::is_empty));
    }

    #[test]
    fn many_threads_may_search_at_once() {
        let x = random(200, 4, "items");
        let index = build(&x);
        let expected = search(&index, &x, 3);
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| assert_eq!(search(&index, &x, 3), expected));
            }
        });
    }

    #[test]
    fn bad_input_is_refused() {
        let monitor = Monitor::silent();
        let x = array![[1.0], [f32::NAN]];
        assert!(Hnsw::build(x.view(), HnswOptions::default(), &monitor).is_err());
        let x = array![[1.0], [2.0]];
        for connectivity in [0, 1, 10_000] {
            let options = HnswOptions {
                connectivity,
                ..HnswOptions::default()
            };
            assert!(Hnsw::build(x.view(), options, &monitor).is_err());
        }
        let options = HnswOptions {
            search_effort: 0,
            ..HnswOptions::default()
        };
        assert!(Hnsw::build(x.view(), options, &monitor).is_err());
        let none = Array2::zeros((2, 0));
        assert!(Hnsw::build(none.view(), HnswOptions::default(), &monitor).is_err());
        assert!(build(&x).search(x.view(), 0, &monitor).is_err());
        assert!(
            build(&x)
                .search(array![[1.0, 2.0]].view(), 1, &monitor)
                .is_err()
        );
    }
}
