//! The approximate index: hierarchical navigable small-world graphs (usearch).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};

use ndarray::ArrayView2;
use usearch::{IndexOptions, MetricKind, ScalarKind};

use super::checked::{CONNECTIVITY, Checked, Reader, broken, check};
use super::recall::measured_recall;
use super::{Flat, Hit, Index, check_k, order};
use crate::matrix::{check_finite, l2_normalize};
use crate::{Error, ErrorKind, Monitor, Result, parallel};

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
/// Use it beyond some hundred thousand items where one query must be answered in
/// well under a millisecond. For a batch of queries, for a kNN graph, or for fewer items,
/// [`Flat`](super::Flat) is exact and often faster. Data with very many exact duplicates
/// make poor small-world graphs: check with [`measured_recall`](super::measured_recall), or
/// let [`tune`](Self::tune) choose the effort.
/// Answers are ordered as those of `Flat`, but which of several equal items is found at
/// the end of the list is not defined.
///
/// The items are dealt out to parts, as many as their number says (one to eight, of at least
/// 25,000). Each part is a graph of its own, into which items are inserted one after the
/// other; the parts are built beside each other, so the same rows give the same bytes on any
/// number of threads. A query is asked in all parts. Building costs about
/// O(n log n x effort x d), memory `4 d + 8 M` bytes an item. Rows of zeros have similarity 0 to
/// everything, as in the exact index; they are kept beside the graphs.
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
    parts: Vec<Part>,
    /// Number of rows, those of zeros included.
    n: usize,
    dimensions: usize,
    /// Rows of zeros, ascending.
    zeros: Vec<u64>,
    /// Candidates looked at in a search of a part.
    effort: usize,
}

/// A graph of some of the items.
struct Part {
    graph: usearch::Index,
    /// How many threads may search at a time; the library refuses more.
    seats: Seats,
}

/// Least items of a part, and most parts.
const PART: usize = 25_000;
const PARTS: usize = 8;
/// Efforts that [`Hnsw::tune`] tries.
const EFFORTS: [usize; 7] = [16, 32, 64, 128, 256, 512, 1024];

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
        if !CONNECTIVITY.contains(&options.connectivity) {
            let rule = "must be from 2 to 512";
            return Err(Error::parameter("connectivity", options.connectivity, rule));
        }
        let parts = (x.nrows() / PART).clamp(1, PARTS);
        Self::in_parts(x, options, parts, monitor)
    }

    /// The same with this many parts, of options that were checked.
    pub(super) fn in_parts(
        x: ArrayView2<f32>,
        options: HnswOptions,
        count: usize,
        monitor: &Monitor,
    ) -> Result<Self> {
        let unit = l2_normalize(x.to_owned());
        let is_zero = |item: usize| unit.row(item).iter().all(|&v| v == 0.0);
        let zeros = (0..x.nrows()).filter(|&item| is_zero(item));
        let zeros: Vec<u64> = zeros.map(|item| item as u64).collect();
        monitor.start("building the index", x.nrows() as u64);
        let done = AtomicU64::new(0);
        let parts = parallel::try_map(0..count, |part| {
            // Dealt out in turn, so that every part is like the whole.
            let items = (part..x.nrows()).step_by(count);
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
                .reserve_capacity_and_threads(items.len(), 1)
                .map_err(failed)?;
            for item in items {
                if !is_zero(item) {
                    graph
                        .add(item as u64, &unit.row(item).to_vec())
                        .map_err(failed)?;
                }
                let done = done.fetch_add(1, Relaxed) + 1;
                if done.is_multiple_of(1024) {
                    monitor.step(done)?;
                }
            }
            Part::ready(graph, options.search_effort)
        })?;
        monitor.end();
        Ok(Self {
            parts,
            n: x.nrows(),
            dimensions: x.ncols(),
            zeros,
            effort: options.search_effort,
        })
    }

    /// Candidates looked at in a search of a part (ef).
    pub fn search_effort(&self) -> usize {
        self.effort
    }

    /// Chooses the least effort with which at least this share of the true `k` nearest is
    /// found for the rows of `queries`, and keeps it, also in [`to_bytes`](Self::to_bytes).
    /// Where none suffices it is the largest, 1024. Measure the recall on other queries.
    ///
    /// Fails as [`measured_recall`](super::measured_recall), which it calls up to seven times.
    pub fn tune(
        &mut self,
        exact: &Flat,
        queries: ArrayView2<f32>,
        k: usize,
        recall: f64,
        monitor: &Monitor,
    ) -> Result<()> {
        for effort in EFFORTS {
            self.effort = effort;
            for part in &self.parts {
                part.look_at(effort);
            }
            if measured_recall(self, exact, queries, k, monitor)? >= recall {
                break;
            }
        }
        Ok(())
    }

    /// The index as bytes, for [`from_bytes`](Self::from_bytes).
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut numbers = vec![
            self.n as u64,
            self.dimensions as u64,
            self.effort as u64,
            self.parts.len() as u64,
            self.zeros.len() as u64,
        ];
        numbers.extend(&self.zeros);
        let lengths = (self.parts.iter()).map(|part| part.graph.serialized_length());
        let lengths: Vec<usize> = lengths.collect();
        numbers.extend(lengths.iter().map(|&length| length as u64));
        // They are as large as the index: made once, and the checksum put in afterwards.
        let body = MAGIC.len() + size_of::<u64>();
        let size = body + 8 * numbers.len() + lengths.iter().sum::<usize>();
        let mut bytes = Vec::with_capacity(size);
        bytes.extend(MAGIC);
        bytes.resize(body, 0);
        bytes.extend(numbers.into_iter().flat_map(u64::to_le_bytes));
        for (part, length) in self.parts.iter().zip(lengths) {
            let start = bytes.len();
            bytes.resize(start + length, 0);
            part.graph
                .save_to_buffer(&mut bytes[start..])
                .map_err(failed)?;
        }
        let sum = checksum(&bytes[body..]);
        bytes[MAGIC.len()..body].copy_from_slice(&sum.to_le_bytes());
        Ok(bytes)
    }

    /// An index from the bytes that [`to_bytes`](Self::to_bytes) gave, also those of the
    /// first version, which had one part.
    ///
    /// Fails on bytes that are cut short, damaged or forged. A checksum tells damage. Forged
    /// bytes, checksum put right, are refused where searching them would leave the index; what
    /// passes may answer wrongly, but with items of the index only and with finite
    /// similarities. Costs a copy and one pass over the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        let magic = reader.take(MAGIC.len() as u64)?;
        let first_version = magic == FIRST_MAGIC;
        let sum = reader.u64()?;
        if !(first_version || magic == MAGIC) || sum != checksum(reader.rest()) {
            return Err(broken());
        }
        let n = reader.u64()?;
        let (dimensions, effort, parts) = if first_version {
            let effort = HnswOptions::default().search_effort as u64;
            (None, effort, 1)
        } else {
            (Some(reader.u64()?), reader.u64()?, reader.u64()?)
        };
        let n_zeros = reader.u64()?;
        if n_zeros > n || parts > PARTS as u64 || effort == 0 {
            return Err(broken());
        }
        let zeros = reader.take(n_zeros.checked_mul(8).ok_or_else(broken)?)?;
        let zeros = zeros
            .as_chunks()
            .0
            .iter()
            .map(|&item| u64::from_le_bytes(item));
        let zeros: Vec<u64> = zeros.collect();
        let lengths: Vec<u64> = if first_version {
            vec![reader.left()]
        } else {
            (0..parts).map(|_| reader.u64()).collect::<Result<_>>()?
        };
        let graphs = lengths.into_iter().map(|length| reader.take(length));
        let graphs: Vec<&[u8]> = graphs.collect::<Result<_>>()?;
        let checked: Vec<Checked> = parallel::try_map(graphs.iter(), |graph| check(graph))?;
        let dimensions = dimensions.or(checked.first().map(|part| part.dimensions));
        let dimensions = dimensions.filter(|&d| d > 0).ok_or_else(broken)?;
        if checked.iter().any(|part| part.dimensions != dimensions)
            || reader.left() > 0
            || !zeros.is_sorted()
            || !each_once(n, checked.iter().flat_map(|part| &part.items).chain(&zeros))
        {
            return Err(broken());
        }
        // A part without nodes has nothing to answer, and its dimensions no bytes to show.
        let held = graphs.into_iter().zip(&checked);
        let held = held.filter(|(_, part)| !part.items.is_empty());
        let parts = parallel::try_map(held, |(graph, _)| {
            let graph = usearch::Index::restore_from_buffer(graph).map_err(failed)?;
            Part::ready(graph, effort as usize)
        })?;
        Ok(Self {
            parts,
            n: n as usize,
            dimensions: dimensions as usize,
            zeros,
            effort: effort as usize,
        })
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
        let mut hits = Vec::new();
        for found in parallel::try_map(self.parts.iter(), |part| part.search(query, k))? {
            let pairs = found.keys.into_iter().zip(found.distances);
            hits.extend(pairs.map(|(item, d)| hit(item, (1.0 - d).clamp(-1.0, 1.0))));
        }
        if hits.iter().any(|hit| hit.item >= self.n) {
            return Err(broken());
        }
        hits.extend(self.zeros.iter().take(k).map(|&item| hit(item, 0.0)));
        hits.sort_unstable_by(order);
        hits.truncate(k);
        Ok(hits)
    }
}

/// Whether these are the items 0 to n - 1, each of them once.
fn each_once<'a>(n: u64, items: impl Iterator<Item = &'a u64> + Clone) -> bool {
    // Counted first: a forged n must not ask for memory.
    if items.clone().count() as u64 != n {
        return false;
    }
    let mut seen = vec![false; n as usize];
    items.into_iter().all(|&item| {
        let place = seen.get_mut(item as usize);
        place.is_some_and(|seen| !std::mem::replace(seen, true))
    })
}

impl Part {
    fn ready(graph: usearch::Index, effort: usize) -> Result<Self> {
        let seats = std::thread::available_parallelism().map_or(1, usize::from);
        graph
            .reserve_capacity_and_threads(graph.size(), seats)
            .map_err(failed)?;
        let part = Self {
            graph,
            seats: Seats::new(seats),
        };
        // Bytes do not hold it.
        part.look_at(effort);
        Ok(part)
    }

    /// Sets the effort. The library makes room for as many candidates; there are no more
    /// than nodes.
    fn look_at(&self, effort: usize) {
        let effort = effort.min(self.graph.size()).max(1);
        self.graph.change_expansion_search(effort);
    }

    fn search(&self, query: &[f32], k: usize) -> Result<usearch::ffi::Matches> {
        let _seat = self.seats.take();
        self.graph.search(query, k).map_err(failed)
    }
}

impl Index for Hnsw {
    fn len(&self) -> usize {
        self.n
    }

    fn dimensions(&self) -> usize {
        self.dimensions
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
        parallel::try_map(queries.rows().into_iter(), |row| {
            monitor.check()?;
            self.nearest(&row.to_vec(), k)
        })
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

const MAGIC: &[u8; 8] = b"lw-hnsw2";
const FIRST_MAGIC: &[u8; 8] = b"lw-hnsw1";

/// FNV-1a over the bytes.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
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
    fn the_same_bytes_on_any_number_of_threads() {
        // Three parts.
        let x = random(3 * PART + 10, 2, "many items");
        let few = HnswOptions {
            connectivity: 4,
            build_effort: 4,
            search_effort: 16,
        };
        let bytes = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| {
                let index = Hnsw::build(x.view(), few, &Monitor::silent()).unwrap();
                assert_eq!(index.parts.len(), 3);
                index.to_bytes().unwrap()
            })
        };
        let one = bytes(1);
        assert!(one == bytes(2) && one == bytes(3));
        let restored = Hnsw::from_bytes(&one).unwrap();
        assert_eq!((restored.len(), restored.search_effort()), (x.nrows(), 16));
        let hits = search(&restored, &x.slice(ndarray::s![..50, ..]).to_owned(), 5);
        // Each finds itself, whatever part it is in.
        let own = hits.iter().filter(|hits| hits[0].similarity > 0.999_999);
        assert!(own.count() >= 45);
        assert!(hits.iter().all(|hits| hits.len() == 5));
    }

    #[test]
    fn the_effort_is_the_least_that_reaches_the_recall_and_is_stored() {
        let x = random(3000, 24, "items");
        let queries = random(200, 24, "queries");
        let flat = Flat::new(x.view(), Metric::Cosine).unwrap();
        let monitor = Monitor::silent();
        let mut index = build(&x);
        let mut efforts = vec![];
        for wanted in [0.5, 0.99, 2.0] {
            index
                .tune(&flat, queries.view(), 10, wanted, &monitor)
                .unwrap();
            let restored = Hnsw::from_bytes(&index.to_bytes().unwrap()).unwrap();
            assert_eq!(restored.search_effort(), index.search_effort());
            let recall = measured_recall(&restored, &flat, queries.view(), 10, &monitor).unwrap();
            assert!(recall >= wanted.min(0.999), "{recall}");
            efforts.push(index.search_effort());
        }
        assert!(
            efforts.is_sorted_by(|a, b| a < b) && efforts[2] == 1024,
            "{efforts:?}"
        );
    }

    #[test]
    fn bytes_of_the_first_version_are_read() {
        let index = build(&random(300, 4, "items"));
        let graph = {
            let graph = &index.parts[0].graph;
            let mut bytes = vec![0; graph.serialized_length()];
            graph.save_to_buffer(&mut bytes).unwrap();
            bytes
        };
        let mut body: Vec<u8> = [300_u64, 0]
            .into_iter()
            .flat_map(u64::to_le_bytes)
            .collect();
        body.extend(graph);
        let mut bytes = FIRST_MAGIC.to_vec();
        bytes.extend(checksum(&body).to_le_bytes());
        bytes.extend(body);
        let restored = Hnsw::from_bytes(&bytes).unwrap();
        let x = random(20, 4, "queries");
        assert_eq!(search(&restored, &x, 5), search(&index, &x, 5));
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
