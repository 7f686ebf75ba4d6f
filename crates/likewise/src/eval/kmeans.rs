//! k-means: centroids that explain the rows, the clustering behind [NMI](super::nmi).
//!
//! Greedy k-means++ starts (Arthur & Vassilvitskii 2007, with `2 + ln k` trials a centroid
//! as in scikit-learn), Lloyd iterations, best of `n_init` runs by inertia. An empty
//! cluster takes the row farthest from its centroid.
//!
//! # Cost
//! O(`n_init` x iterations x n x k x d) time by matrix products on all cores; memory one
//! copy of the rows. Not for k near n: the table of distances costs 256 k numbers a thread.
//!
//! # Why not a crate
//! linfa-clustering 0.8 wants another version of ndarray, leaves empty clusters where they
//! are, and measures one distance at a time; the order of the sums of other crates depends
//! on the number of threads. Here the result is the same on any number.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use ndarray::{Array2, ArrayView2};
use rand::RngExt;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::matrix::{check_finite, column_means};
use crate::{Error, Monitor, Result, seed};

/// Rows of one matrix product.
const CHUNK: usize = 256;

/// How to run k-means. The defaults are those of scikit-learn.
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
    /// Lloyd iterations of the run that won.
    pub iterations: usize,
}

impl KMeans {
    /// `k` clusters, 10 starts, at most 300 iterations, tolerance 1e-4, seed 0.
    pub fn new(k: usize) -> Self {
        Self {
            k,
            n_init: 10,
            max_iterations: 300,
            tolerance: 1e-4,
            seed: 0,
        }
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
        let mut best: Option<Clustering> = None;
        for start in 0..self.n_init {
            let mut rng = seed::stream(self.seed, &format!("k-means start {start}"));
            let centroids = rows.plus_plus(self.k, &mut rng);
            let run = self.lloyd(&rows, centroids, stop, monitor)?;
            if best.as_ref().is_none_or(|b| run.inertia < b.inertia) {
                best = Some(run);
            }
            monitor.step(start as u64 + 1)?;
        }
        monitor.end();
        let mut best = best.ok_or_else(|| {
            Error::new(crate::ErrorKind::Internal, "k-means: no run was finished")
        })?;
        for mut centroid in best.centroids.rows_mut() {
            centroid.zip_mut_with(&mean, |c, &m| *c = (f64::from(*c) + m) as f32);
        }
        Ok(best)
    }

    fn lloyd(
        &self,
        rows: &Rows,
        mut centroids: Array2<f32>,
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
        while iterations < self.max_iterations {
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

/// Largest `a[i] - b[i]` and the first place where it stands.
#[allow(clippy::inline_always)] // Else it is not compiled for the instructions at hand.
#[inline(always)]
fn largest_difference(a: &[f32], b: &[f32]) -> (usize, f32) {
    // Lanes of maxima become SIMD code; their maximum does not depend on their order.
    let mut lanes = [f32::NEG_INFINITY; 16];
    for (a, b) in a.chunks(16).zip(b.chunks(16)) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            let difference = a - b;
            *lane = if difference > *lane {
                difference
            } else {
                *lane
            };
        }
    }
    let largest = lanes.into_iter().fold(f32::NEG_INFINITY, f32::max);
    let mut differences = a.iter().zip(b).map(|(a, b)| a - b);
    let place = differences.position(|d| d >= largest);
    (place.unwrap_or(0), largest)
}

/// Centred rows and their squared lengths.
struct Rows {
    x: Array2<f32>,
    squares: Vec<f64>,
}

impl Rows {
    fn new(x: Array2<f32>) -> Self {
        let squares = (0..x.nrows())
            .into_par_iter()
            .map(|i| x.row(i).iter().map(|&v| f64::from(v).powi(2)).sum())
            .collect();
        Self { x, squares }
    }

    /// Calls `work(first row, products)` for chunks of rows; `products` holds the inner
    /// products of each row with each of `points`, row by row. Chunks do not depend on
    /// the number of threads, so neither do the products.
    fn products<T: Send>(
        &self,
        points: &Array2<f32>,
        work: impl Fn(usize, &[f32]) -> T + Sync,
    ) -> Vec<T> {
        let (k, d) = points.dim();
        let points = points.as_standard_layout();
        let points = MatRef::from_row_major_slice(points.as_slice().unwrap_or(&[]), k, d);
        let n = self.x.nrows();
        let all = self.x.as_slice().unwrap_or(&[]);
        (0..n.div_ceil(CHUNK))
            .into_par_iter()
            .map_init(
                || vec![0.0; CHUNK * k],
                |products, chunk| {
                    let from = chunk * CHUNK;
                    let size = CHUNK.min(n - from);
                    let products = &mut products[..size * k];
                    let rows =
                        MatRef::from_row_major_slice(&all[from * d..(from + size) * d], size, d);
                    let out = MatMut::from_row_major_slice_mut(&mut *products, size, k);
                    matmul(out, Accum::Replace, rows, points.transpose(), 1.0, Par::Seq);
                    work(from, products)
                },
            )
            .collect()
    }

    /// Nearest centroid of every row (ties: the first) and the squared distance to it.
    fn assign(&self, centroids: &Array2<f32>) -> (Vec<u32>, Vec<f32>) {
        let k = centroids.nrows();
        let half: Vec<f32> = centroids
            .rows()
            .into_iter()
            .map(|c| (c.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>() / 2.0) as f32)
            .collect();
        let simd = pulp::Arch::new();
        let parts = self.products(centroids, |from, products| {
            let nearest = products.chunks(k).enumerate().map(|(i, row)| {
                let (best, score) = simd.dispatch(|| largest_difference(row, &half));
                let distance = self.squares[from + i] - 2.0 * f64::from(score);
                (best as u32, distance.max(0.0) as f32)
            });
            nearest.collect::<Vec<_>>()
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
        let rows = means.outer_iter_mut().into_par_iter().zip(members);
        rows.for_each(|(mut mean, members): (ndarray::ArrayViewMut1<f32>, _)| {
            let mut sum = vec![0.0_f64; d];
            simd.dispatch(|| {
                for &row in &members {
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
        let distances: Vec<f64> = (cluster.par_iter().enumerate())
            .map(|(row, &c)| {
                let pairs = self.x.row(row).into_iter().zip(centroids.row(c as usize));
                pairs.map(|(a, b)| f64::from(a - b).powi(2)).sum()
            })
            .collect();
        distances.iter().sum()
    }

    /// Greedy k-means++: of a few rows drawn with probability proportional to the squared
    /// distance to the nearest centroid so far, keep the one that lowers their sum most.
    fn plus_plus(&self, k: usize, rng: &mut seed::Rng) -> Array2<f32> {
        let n = self.x.nrows();
        let trials = 2 + (k as f64).ln() as usize;
        let mut chosen = vec![rng.random_range(0..n)];
        let mut nearest = vec![f32::INFINITY; n];
        self.lower(&mut nearest, &chosen[..1]);
        while chosen.len() < k {
            let mut total = 0.0_f64;
            let cumulative: Vec<f64> = nearest
                .iter()
                .map(|&d| {
                    total += f64::from(d);
                    total
                })
                .collect();
            let candidates: Vec<usize> = (0..trials)
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
            let sums = self.sums_after(&nearest, &candidates);
            let winner = (0..trials).fold(0, |w, t| if sums[t] < sums[w] { t } else { w });
            self.lower(&mut nearest, &candidates[winner..=winner]);
            chosen.push(candidates[winner]);
        }
        crate::matrix::select_rows(self.x.view(), &chosen)
    }

    /// Squared distance from the inner product; exactly 0 for the row itself.
    fn distance(&self, row: usize, other: usize, product: f32) -> f32 {
        if row == other {
            return 0.0;
        }
        let d = self.squares[row] + self.squares[other] - 2.0 * f64::from(product);
        d.max(0.0) as f32
    }

    /// Sum of the distances to the nearest centroid, were each of `candidates` added.
    fn sums_after(&self, nearest: &[f32], candidates: &[usize]) -> Vec<f64> {
        let points = crate::matrix::select_rows(self.x.view(), candidates);
        let parts = self.products(&points, |from, products| {
            let mut sums = vec![0.0_f64; candidates.len()];
            for (i, row) in products.chunks(candidates.len()).enumerate() {
                for ((sum, &product), &candidate) in sums.iter_mut().zip(row).zip(candidates) {
                    let d = self.distance(from + i, candidate, product);
                    *sum += f64::from(d.min(nearest[from + i]));
                }
            }
            sums
        });
        let mut sums = vec![0.0; candidates.len()];
        for part in parts {
            sums.iter_mut().zip(part).for_each(|(s, p)| *s += p);
        }
        sums
    }

    /// Lowers the distances to the nearest centroid by a new one.
    fn lower(&self, nearest: &mut [f32], new: &[usize]) {
        let points = crate::matrix::select_rows(self.x.view(), new);
        let parts = self.products(&points, |from, products| {
            let rows = products.iter().enumerate();
            rows.map(|(i, &p)| self.distance(from + i, new[0], p))
                .collect::<Vec<f32>>()
        });
        for (nearest, d) in nearest.iter_mut().zip(parts.into_iter().flatten()) {
            *nearest = nearest.min(d);
        }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Some results are exact.
mod tests {
    use super::*;

    fn blobs(n: usize, d: usize, k: usize) -> (Array2<f32>, Vec<u32>) {
        let mut rng = seed::stream(5, "blobs");
        let truth: Vec<u32> = (0..n).map(|i| (i % k) as u32).collect();
        let centres = Array2::from_shape_fn((k, d), |_| rng.random_range(-10.0_f32..10.0));
        let x = Array2::from_shape_fn((n, d), |(i, j)| {
            1000.0 + centres[[i % k, j]] + rng.random_range(-0.5_f32..0.5)
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
