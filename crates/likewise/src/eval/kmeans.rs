//! k-means: centroids that explain the rows, the clustering behind [NMI](super::nmi).
//!
//! 1. Of more than 20,000 rows (or 32 a cluster, if that is more) a random sample is taken.
//! 2. Starts by greedy k-means++ (Arthur & Vassilvitskii 2007) on at most 8192 rows of it (or 8 a
//!    cluster): of 32 rows drawn with probability proportional to the squared distance to the
//!    nearest centroid so far, those that lower the sum of these distances most become
//!    centroids: one of them with few clusters, up to 8 with many.
//! 3. Lloyd iterations on the sample; best of `n_init` starts by inertia.
//! 4. Two Lloyd iterations on all rows, if there was a sample.
//!
//! An empty cluster takes the row farthest from its centroid.
//!
//! # Cost
//! O(`n_init` x iterations x sample x k x d + n x k x d) time by the tile kernel of the
//! nearest-neighbour search on all cores; memory two copies of the rows.
//!
//! # Why not a crate
//! linfa-clustering 0.8 wants another version of ndarray, leaves empty clusters where they
//! are, and measures one distance at a time; the order of the sums of other crates depends
//! on the number of threads. Here the result is the same on any number.

use ndarray::{Array2, ArrayView2};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::distance::tile::{COLUMNS, Kernel, Limits, ROWS, Tile};
use crate::matrix::{check_finite, column_means, select_rows};
use crate::{Error, Monitor, Result, parallel, seed};

/// Panels of rows of one task.
const PANELS: usize = 32;
/// Rows of one task.
const CHUNK: usize = PANELS * ROWS;
/// Rows above which a sample is clustered ...
const SAMPLE: usize = 20_000;
/// ... of at least so many a cluster.
const SAMPLE_EACH: usize = 32;
/// Rows that the starts are drawn from ...
const START: usize = 8192;
/// ... or so many a cluster.
const START_EACH: usize = 8;
/// Clusters for each centroid that is drawn at a time.
const CLUSTERS_EACH: usize = 64;
/// Centroids that are drawn at a time, at most.
const AT_A_TIME: usize = 8;
/// Iterations on all rows after those on a sample.
const POLISH: usize = 2;

/// How to run k-means.
///
/// ```
/// use likewise::{Monitor, eval::kmeans::KMeans};
/// let x = ndarray::array![[0.0], [0.1], [5.0], [5.1]];
/// let found = KMeans::new(2).seed(1).fit(x.view(), &Monitor::silent())?;
/// assert_eq!(found.cluster[0], found.cluster[1]);
/// assert_ne!(found.cluster[0], found.cluster[2]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KMeans {
    k: usize,
    n_init: usize,
    max_iterations: usize,
    tolerance: f64,
    sample: usize,
    seed: u64,
}

/// A partition of the rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Clustering {
    /// Cluster of each row, below k. No cluster is empty.
    pub cluster: Vec<u32>,
    /// Mean of each cluster, `k x d`.
    pub centroids: Array2<f32>,
    /// Sum of the squared distances of the rows to their centroids.
    pub inertia: f64,
    /// Lloyd iterations of the run that won, those on all rows after a sample included.
    pub iterations: usize,
}

impl KMeans {
    /// `k` clusters, 3 starts, at most 300 iterations, tolerance 1e-4, a sample of more than
    /// 20,000 rows, seed 0.
    ///
    /// Each start costs as much as the last one and gains less.
    pub fn new(k: usize) -> Self {
        Self {
            k,
            n_init: 3,
            max_iterations: 300,
            tolerance: 1e-4,
            sample: SAMPLE,
            seed: 0,
        }
    }

    /// Rows above which the starts and most iterations are on a sample of so many, or of 32 a
    /// cluster if that is more.
    #[must_use]
    pub fn sample(mut self, sample: usize) -> Self {
        self.sample = sample;
        self
    }

    /// Number of starts; the one of lowest inertia wins (ties: the first).
    #[must_use]
    pub fn n_init(mut self, n_init: usize) -> Self {
        self.n_init = n_init;
        self
    }

    /// Most iterations of one start.
    #[must_use]
    pub fn max_iterations(mut self, max_iterations: usize) -> Self {
        self.max_iterations = max_iterations;
        self
    }

    /// Stops when the centroids together move less than this share of the mean variance
    /// of a column (squared lengths).
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Seed of the starts.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Clusters the rows of `x` (`n x d`).
    ///
    /// Fails on NaN, on k = 0 and k > n, and on a parameter out of range.
    pub fn fit(&self, x: ArrayView2<f32>, monitor: &Monitor) -> Result<Clustering> {
        if self.k == 0 || self.k > x.nrows() {
            let rule = format!("must be from 1 to the number of rows, {}", x.nrows());
            return Err(Error::parameter("k", self.k, &rule));
        }
        for (name, value) in [
            ("n_init", self.n_init),
            ("max_iterations", self.max_iterations),
        ] {
            if value == 0 {
                return Err(Error::parameter(name, 0, "must be at least 1"));
            }
        }
        if self.tolerance.is_nan() || self.tolerance < 0.0 {
            return Err(Error::parameter(
                "tolerance",
                self.tolerance,
                "must be 0 or more",
            ));
        }
        check_finite(x, "k-means")?;

        // Around the mean, |c|^2 - 2 x.c loses no digits to a common offset.
        let mean = column_means(x);
        let rows = Rows::new(Array2::from_shape_fn(x.dim(), |(i, j)| {
            (f64::from(x[[i, j]]) - mean[j]) as f32
        }));
        let stop = self.tolerance * rows.squares.iter().sum::<f64>() / x.len().max(1) as f64;
        monitor.start("k-means", self.n_init as u64);
        let size = self.sample.max(SAMPLE_EACH * self.k);
        let sample = (rows.n() > size).then(|| {
            let mut rng = seed::stream(self.seed, "k-means sample");
            rows.some(size, &mut rng)
        });
        let fitted = sample.as_ref().unwrap_or(&rows);
        let mut best: Option<Clustering> = None;
        for start in 0..self.n_init {
            let mut rng = seed::stream(self.seed, &format!("k-means start {start}"));
            let size = START.max(START_EACH * self.k);
            let centroids = if fitted.n() > size {
                fitted.some(size, &mut rng).plus_plus(self.k, &mut rng)
            } else {
                fitted.plus_plus(self.k, &mut rng)
            };
            let run = self.lloyd(fitted, centroids, self.max_iterations, stop, monitor)?;
            if best.as_ref().is_none_or(|b| run.inertia < b.inertia) {
                best = Some(run);
            }
            monitor.step(start as u64 + 1)?;
        }
        let mut best = best.ok_or_else(|| {
            Error::new(crate::ErrorKind::Internal, "k-means: no run was finished")
        })?;
        if sample.is_some() {
            let before = best.iterations;
            best = self.lloyd(&rows, best.centroids, POLISH, stop, monitor)?;
            best.iterations += before;
        }
        monitor.end();
        for mut centroid in best.centroids.rows_mut() {
            centroid.zip_mut_with(&mean, |c, &m| *c = (f64::from(*c) + m) as f32);
        }
        Ok(best)
    }

    fn lloyd(
        &self,
        rows: &Rows,
        mut centroids: Array2<f32>,
        most: usize,
        stop: f64,
        monitor: &Monitor,
    ) -> Result<Clustering> {
        let assign = |centroids: &Array2<f32>| {
            let (mut cluster, distances) = rows.assign(centroids);
            fill_empty(&mut cluster, &distances, self.k);
            cluster
        };
        let mut cluster = assign(&centroids);
        let mut iterations = 0;
        while iterations < most {
            monitor.check()?;
            iterations += 1;
            let next = rows.means(&cluster, self.k);
            let pairs = next.iter().zip(&centroids);
            let moved: f64 = pairs.map(|(a, b)| f64::from(a - b).powi(2)).sum();
            centroids = next;
            let assigned = assign(&centroids);
            let settled = assigned == cluster;
            cluster = assigned;
            if settled || moved <= stop {
                break;
            }
        }
        Ok(Clustering {
            inertia: rows.inertia(&cluster, &centroids),
            cluster,
            centroids,
            iterations,
        })
    }
}

/// Gives each empty cluster the row farthest from its own centroid (ties: first row).
/// Rows that are alone in their cluster stay, so that none becomes empty.
fn fill_empty(cluster: &mut [u32], distances: &[f32], k: usize) {
    let mut sizes = vec![0_usize; k];
    for &c in cluster.iter() {
        sizes[c as usize] += 1;
    }
    let empty: Vec<usize> = (0..k).filter(|&c| sizes[c] == 0).collect();
    if empty.is_empty() {
        return;
    }
    let mut farthest: Vec<usize> = (0..cluster.len()).collect();
    farthest.sort_by(|&a, &b| distances[b].total_cmp(&distances[a]));
    let mut candidates = farthest.into_iter();
    for c in empty {
        if let Some(row) = candidates.find(|&row| sizes[cluster[row] as usize] > 1) {
            sizes[cluster[row] as usize] -= 1;
            sizes[c] = 1;
            cluster[row] = c as u32;
        }
    }
}

/// Largest value and the first place where it stands.
#[allow(clippy::inline_always)] // Else it is not compiled for the instructions at hand.
#[inline(always)]
fn largest(values: &[f32; COLUMNS]) -> (usize, f32) {
    // Lanes of maxima become SIMD code; their maximum does not depend on their order.
    let mut lanes = [f32::NEG_INFINITY; COLUMNS / 2];
    for half in values.as_chunks::<{ COLUMNS / 2 }>().0 {
        for (lane, &value) in lanes.iter_mut().zip(half) {
            *lane = if value > *lane { value } else { *lane };
        }
    }
    let largest = lanes.into_iter().fold(f32::NEG_INFINITY, f32::max);
    let place = values.iter().position(|&v| v >= largest);
    (place.unwrap_or(0), largest)
}

/// Some points, packed as one side of the tiles.
struct Points {
    panels: Vec<[f32; COLUMNS]>,
    /// Half the squared length below 0, which makes the largest sum with the product that of the
    /// nearest point; minus infinity where there is no point.
    bias: Vec<[f32; COLUMNS]>,
}

impl Points {
    fn pack(points: ArrayView2<f32>) -> Self {
        let (k, d) = points.dim();
        let mut panels = vec![[0.0; COLUMNS]; k.div_ceil(COLUMNS) * d];
        let mut bias = vec![[f32::NEG_INFINITY; COLUMNS]; k.div_ceil(COLUMNS)];
        for (i, point) in points.rows().into_iter().enumerate() {
            let (panel, lane) = (i / COLUMNS, i % COLUMNS);
            for (to, &v) in panels[panel * d..].iter_mut().zip(point) {
                to[lane] = v;
            }
            let square: f64 = point.iter().map(|&v| f64::from(v).powi(2)).sum();
            bias[panel][lane] = (square / -2.0) as f32;
        }
        Self { panels, bias }
    }
}

/// Centred rows, and the same packed as the other side of the tiles.
struct Rows {
    x: Array2<f32>,
    squares: Vec<f64>,
    /// 12 rows a panel, dimension by dimension.
    panels: Vec<[f32; ROWS]>,
    kernel: Kernel,
}

impl Rows {
    fn new(x: Array2<f32>) -> Self {
        let (n, d) = x.dim();
        let square = |i: usize| x.row(i).iter().map(|&v| f64::from(v).powi(2)).sum();
        let squares = parallel::map_rows(n, square);
        let mut panels = vec![[0.0; ROWS]; n.div_ceil(ROWS) * d];
        let some = panels.chunks_mut(PANELS * d.max(1)).enumerate();
        parallel::each(some, |(chunk, panels)| {
            for (panel, packed) in (chunk * PANELS..).zip(panels.chunks_mut(d.max(1))) {
                for lane in 0..ROWS.min(n - panel * ROWS) {
                    for (to, &v) in packed.iter_mut().zip(x.row(panel * ROWS + lane)) {
                        to[lane] = v;
                    }
                }
            }
        });
        Self {
            x,
            squares,
            panels,
            kernel: Kernel::detect(),
        }
    }

    fn n(&self) -> usize {
        self.x.nrows()
    }

    /// A random sample of the rows, in their order.
    fn some(&self, size: usize, rng: &mut seed::Rng) -> Self {
        let mut drawn = rand::seq::index::sample(rng, self.n(), size).into_vec();
        drawn.sort_unstable();
        Self::new(select_rows(self.x.view(), &drawn))
    }

    /// Calls `work(first row, rows)` for every chunk of rows, a fixed number of them for any
    /// number of threads.
    fn chunks<T: Send>(&self, work: impl Fn(usize, usize) -> T + Sync) -> Vec<T> {
        let n = self.n();
        parallel::map((0..n).step_by(CHUNK), |first| {
            work(first, CHUNK.min(n - first))
        })
    }

    /// One tile: panel `panel` of the rows with panel `of` of `points`. Only a tile with a sum of
    /// product and bias above one of `threshold` is written.
    fn tile(
        &self,
        panel: usize,
        (points, of): (&Points, usize),
        threshold: &[f32; ROWS],
        tile: &mut Tile,
    ) -> bool {
        let d = self.x.ncols();
        let rows = Limits {
            threshold,
            bias: &[0.0; ROWS],
        };
        let columns = Limits {
            threshold: &[f32::INFINITY; COLUMNS],
            bias: &points.bias[of],
        };
        let queries = &self.panels[panel * d..(panel + 1) * d];
        let items = &points.panels[of * d..(of + 1) * d];
        self.kernel.f32(queries, items, rows, columns, tile)
    }

    /// Nearest centroid of every row (ties: the first) and the squared distance to it.
    fn assign(&self, centroids: &Array2<f32>) -> (Vec<u32>, Vec<f32>) {
        let points = Points::pack(centroids.view());
        let simd = pulp::Arch::new();
        let parts = self.chunks(|from, size| {
            let mut tile = Tile::new();
            let mut nearest = Vec::with_capacity(size);
            for first in (from..from + size).step_by(ROWS) {
                let mut best = [(0, f32::NEG_INFINITY); ROWS];
                for (of, bias) in points.bias.iter().enumerate() {
                    let threshold = best.map(|(_, score)| score);
                    if !self.tile(first / ROWS, (&points, of), &threshold, &mut tile) {
                        continue;
                    }
                    simd.dispatch(|| {
                        for (r, best) in best.iter_mut().enumerate() {
                            if tile.rows[r] == 0 {
                                continue;
                            }
                            let mut scores = tile.values[r];
                            scores.iter_mut().zip(bias).for_each(|(s, b)| *s += b);
                            let (place, score) = largest(&scores);
                            *best = (of * COLUMNS + place, score);
                        }
                    });
                }
                let rows = (first..from + size).zip(best);
                nearest.extend(rows.map(|(row, (place, score))| {
                    let distance = self.squares[row] - 2.0 * f64::from(score);
                    (place as u32, distance.max(0.0) as f32)
                }));
            }
            nearest
        });
        parts.into_iter().flatten().unzip()
    }

    /// Mean of each cluster, summed in `f64` in the order of the rows.
    fn means(&self, cluster: &[u32], k: usize) -> Array2<f32> {
        let mut members = vec![Vec::new(); k];
        for (row, &c) in cluster.iter().enumerate() {
            members[c as usize].push(row);
        }
        let d = self.x.ncols();
        let all = self.x.as_slice().unwrap_or(&[]);
        let simd = pulp::Arch::new();
        let mut means = Array2::zeros((k, d));
        parallel::each_row(&mut means, |c, mut mean| {
            let members = &members[c];
            let mut sum = vec![0.0_f64; d];
            simd.dispatch(|| {
                for &row in members {
                    for (s, &v) in sum.iter_mut().zip(&all[row * d..(row + 1) * d]) {
                        *s += f64::from(v);
                    }
                }
            });
            for (m, s) in mean.iter_mut().zip(sum) {
                *m = (s / members.len().max(1) as f64) as f32;
            }
        });
        means
    }

    fn inertia(&self, cluster: &[u32], centroids: &Array2<f32>) -> f64 {
        let distances = parallel::map_rows(cluster.len(), |row| {
            let centroid = centroids.row(cluster[row] as usize);
            let pairs = self.x.row(row).into_iter().zip(centroid);
            pairs.map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>()
        });
        distances.iter().sum()
    }

    /// Greedy k-means++: of some rows drawn with probability proportional to the squared
    /// distance to the nearest centroid so far, keep those that lower their sum most.
    fn plus_plus(&self, k: usize, rng: &mut seed::Rng) -> Array2<f32> {
        let n = self.n();
        let at_a_time = (k / CLUSTERS_EACH).clamp(1, AT_A_TIME);
        let mut chosen = vec![rng.random_range(0..n)];
        let mut nearest: Vec<f32> = (self.distances(&chosen).iter())
            .map(|distances| distances[0])
            .collect();
        while chosen.len() < k {
            let mut total = 0.0_f64;
            let cumulative: Vec<f64> = nearest
                .iter()
                .map(|&d| {
                    total += f64::from(d);
                    total
                })
                .collect();
            let candidates: Vec<usize> = (0..COLUMNS)
                .map(|_| {
                    let u = rng.random::<f64>();
                    if total > 0.0 {
                        cumulative.partition_point(|&c| c <= u * total).min(n - 1)
                    } else {
                        // All rows are centroids already; any will do.
                        ((u * n as f64) as usize).min(n - 1)
                    }
                })
                .collect();
            let distances = self.distances(&candidates);
            let mut taken = [false; COLUMNS];
            for _ in 0..at_a_time.min(k - chosen.len()) {
                let sums = sums_after(&nearest, &distances);
                let free = (0..COLUMNS).filter(|&c| !taken[c]);
                let Some(winner) = free.reduce(|w, c| if sums[c] < sums[w] { c } else { w }) else {
                    break;
                };
                taken[winner] = true;
                chosen.push(candidates[winner]);
                for (nearest, distances) in nearest.iter_mut().zip(&distances) {
                    *nearest = nearest.min(distances[winner]);
                }
            }
        }
        select_rows(self.x.view(), &chosen)
    }

    /// Squared distances of every row to the rows `others`, at most 32: exactly 0 to itself.
    fn distances(&self, others: &[usize]) -> Vec<[f32; COLUMNS]> {
        let points = Points::pack(select_rows(self.x.view(), others).view());
        let parts = self.chunks(|from, size| {
            let mut tile = Tile::new();
            let mut distances = vec![[0.0; COLUMNS]; size];
            for (panel, distances) in distances.chunks_mut(ROWS).enumerate() {
                let first = from + panel * ROWS;
                self.tile(
                    first / ROWS,
                    (&points, 0),
                    &[f32::NEG_INFINITY; ROWS],
                    &mut tile,
                );
                for (r, distances) in distances.iter_mut().enumerate() {
                    let square = self.squares[first + r] as f32;
                    let products = tile.values[r].iter().zip(&points.bias[0]);
                    for (distance, (product, bias)) in distances.iter_mut().zip(products) {
                        *distance = (square - 2.0 * (product + bias)).max(0.0);
                    }
                }
            }
            distances
        });
        let mut distances: Vec<_> = parts.into_iter().flatten().collect();
        for (lane, &other) in others.iter().enumerate() {
            distances[other][lane] = 0.0;
        }
        distances
    }
}

/// Sum of the distances to the nearest centroid, were each of 32 candidates added.
fn sums_after(nearest: &[f32], distances: &[[f32; COLUMNS]]) -> [f64; COLUMNS] {
    let chunks = nearest.chunks(CHUNK).zip(distances.chunks(CHUNK));
    let simd = pulp::Arch::new();
    let parts = parallel::map(chunks, |(nearest, distances)| {
        let mut sums = [0.0_f32; COLUMNS];
        simd.dispatch(|| {
            for (&nearest, distances) in nearest.iter().zip(distances) {
                for (sum, &d) in sums.iter_mut().zip(distances) {
                    *sum += if d < nearest { d } else { nearest };
                }
            }
        });
        sums
    });
    let mut sums = [0.0; COLUMNS];
    for part in parts {
        sums.iter_mut()
            .zip(part)
            .for_each(|(s, p)| *s += f64::from(p));
    }
    sums
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Some results are exact.
mod tests {
    use super::*;

    fn blobs(n: usize, d: usize, k: usize) -> (Array2<f32>, Vec<u32>) {
        let mut rng = seed::stream(5, "blobs");
        let truth: Vec<u32> = (0..n).map(|i| (i % k) as u32).collect();
        let centers = Array2::from_shape_fn((k, d), |_| rng.random_range(-10.0_f32..10.0));
        let x = Array2::from_shape_fn((n, d), |(i, j)| {
            1000.0 + centers[[i % k, j]] + rng.random_range(-0.5_f32..0.5)
        });
        (x, truth)
    }

    fn fit(x: &Array2<f32>, k: usize) -> Clustering {
        let kmeans = KMeans::new(k).seed(2);
        kmeans.fit(x.view(), &Monitor::silent()).unwrap()
    }

    fn sizes(found: &Clustering) -> Vec<usize> {
        let mut sizes = vec![0; found.centroids.nrows()];
        for &c in &found.cluster {
            sizes[c as usize] += 1;
        }
        sizes
    }

    #[test]
    fn finds_well_separated_clusters_far_from_the_origin() {
        let (x, truth) = blobs(900, 6, 9);
        let found = fit(&x, 9);
        let nmi = crate::eval::nmi::nmi(&truth, &found.cluster).unwrap();
        assert!((nmi - 1.0).abs() < 1e-12, "{nmi}");
        // A uniform draw of width 1 has variance 1/12 in each of 6 columns.
        assert!((found.inertia / 900.0 - 0.5).abs() < 0.05);
    }

    #[test]
    fn the_result_is_a_fixed_point_with_the_stated_inertia() {
        let mut rng = seed::stream(6, "noise");
        let x = Array2::from_shape_fn((600, 5), |_| rng.random_range(-1.0_f32..1.0));
        let kmeans = KMeans::new(12).tolerance(0.0).n_init(3);
        let found = kmeans.fit(x.view(), &Monitor::silent()).unwrap();
        let mut inertia = 0.0;
        for (row, &c) in x.rows().into_iter().zip(&found.cluster) {
            let distance = |c: usize| -> f64 {
                let pairs = row.iter().zip(found.centroids.row(c));
                pairs.map(|(a, b)| f64::from(a - b).powi(2)).sum()
            };
            let own = distance(c as usize);
            assert!((0..12).all(|other| own <= distance(other) + 1e-5));
            inertia += own;
        }
        assert!((found.inertia - inertia).abs() < 1e-4 * inertia);
        for c in 0..12 {
            let members: Vec<usize> = (0..600).filter(|&i| found.cluster[i] == c).collect();
            let mean = column_means(x.select(ndarray::Axis(0), &members).view());
            let pairs = mean.iter().zip(found.centroids.row(c as usize));
            assert!(
                pairs
                    .into_iter()
                    .all(|(a, &b)| (a - f64::from(b)).abs() < 1e-5)
            );
        }
    }

    #[test]
    fn same_bytes_for_any_thread_count_and_other_for_another_seed() {
        let mut rng = seed::stream(8, "noise");
        let x = Array2::from_shape_fn((1500, 7), |_| rng.random_range(-1.0_f32..1.0));
        let run = |threads: usize, s: u64| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let kmeans = KMeans::new(20).seed(s).n_init(2);
            let pool = pool.build().unwrap();
            pool.install(|| kmeans.fit(x.view(), &Monitor::silent()))
                .unwrap()
        };
        assert_eq!(run(1, 3), run(2, 3));
        assert_ne!(run(1, 3).cluster, run(1, 4).cluster);
    }

    #[test]
    fn a_sample_finds_the_clusters_of_all_rows() {
        let (x, truth) = blobs(5000, 6, 40);
        let kmeans = KMeans::new(40).seed(2);
        let monitor = Monitor::silent();
        let all = kmeans.fit(x.view(), &monitor).unwrap();
        let sampled = kmeans.sample(1500).fit(x.view(), &monitor).unwrap();
        assert_eq!(sampled.cluster.len(), 5000);
        let nmi = crate::eval::nmi::nmi(&truth, &sampled.cluster).unwrap();
        assert!(nmi > 0.99, "{nmi}");
        assert!(sampled.inertia < 1.05 * all.inertia);
        // 32 rows a cluster are taken at least: here all of them.
        let many = KMeans::new(160).seed(2);
        let all = many.fit(x.view(), &monitor).unwrap();
        assert_eq!(many.sample(10).fit(x.view(), &monitor).unwrap(), all);
    }

    #[test]
    fn starts_lie_where_the_rows_are_even_if_many_are_drawn_at_a_time() {
        // 600 separate places: a start that draws several at a time must not miss many.
        let places = 600;
        let x = Array2::from_shape_fn((6000, 3), |(i, j)| {
            let place = i % places;
            let near = ((i * 7 + j) % 5) as f32 / 100.0;
            [place % 10, place / 10 % 10, place / 100][j] as f32 + near
        });
        let rows = Rows::new(x);
        let start = rows.plus_plus(places, &mut seed::stream(1, "start"));
        let mut found: Vec<[i32; 3]> = start
            .rows()
            .into_iter()
            .map(|r| [0, 1, 2].map(|j| r[j].floor() as i32))
            .collect();
        found.sort_unstable();
        found.dedup();
        assert!(found.len() > 590, "{}", found.len());
    }

    #[test]
    fn no_cluster_is_empty_even_with_duplicates() {
        let x = Array2::from_shape_fn((20, 3), |(i, _)| (i % 2) as f32);
        assert!(sizes(&fit(&x, 5)).iter().all(|&s| s > 0));
        assert!(
            sizes(&fit(&Array2::zeros((4, 2)), 4))
                .iter()
                .all(|&s| s == 1)
        );
        assert_eq!(fit(&x, 1).cluster, [0; 20]);
        assert!(fit(&x, 2).inertia < 1e-9);
        assert_eq!(fit(&Array2::zeros((3, 0)), 2).inertia, 0.0);
    }

    #[test]
    fn an_empty_cluster_takes_the_farthest_row_that_can_be_spared() {
        let mut cluster = [0, 0, 0, 2];
        fill_empty(&mut cluster, &[1.0, 3.0, 3.0, 9.0], 3);
        assert_eq!(cluster, [0, 1, 0, 2]);
    }

    #[test]
    fn bad_parameters_and_data_are_refused() {
        let x = ndarray::array![[1.0], [f32::NAN]];
        let message = |kmeans: KMeans| {
            let error = kmeans.fit(x.view(), &Monitor::silent()).unwrap_err();
            error.to_string()
        };
        assert!(message(KMeans::new(0)).contains("k = 0"));
        assert!(message(KMeans::new(3)).contains("number of rows, 2"));
        assert!(message(KMeans::new(1).n_init(0)).contains("n_init"));
        assert!(message(KMeans::new(1).tolerance(f64::NAN)).contains("tolerance"));
        assert!(message(KMeans::new(1)).contains("NaN"));
        let monitor = Monitor::silent();
        monitor.cancel();
        let x = ndarray::array![[1.0], [2.0]];
        assert!(KMeans::new(1).fit(x.view(), &monitor).is_err());
    }
}
