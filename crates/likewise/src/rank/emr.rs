//! EMR: manifold ranking through landmarks, for queries in the collection and beyond.
//!
//! ```text
//! z_ik = 3/4 (1 - (d_ik / d_i)^2)      over the r nearest landmarks k; d_i: distance of the r-th
//! D_ii = z_i . sum_j z_j               H = D^(-1/2) Z          (n x p, r - 1 numbers a row)
//! scores = (I - a H H^T)^-1 y = y + H (I / a - H^T H)^-1 H^T y           y: 1 at the query
//! ```
//!
//! Two rows are joined by the landmarks that they share, so the graph of all rows never has to be
//! built, and a query is answered by a system of `p` equations. The r-th landmark itself gets
//! weight 0. No label is used.
//!
//! **Use it** to search where the rows of a class lie along a curved band rather than in a ball;
//! with some hundred landmarks for every ten thousand rows. **Not** where nearest neighbours
//! already find the class (there it only smooths), nor with fewer landmarks than there are
//! groups: what shares its landmarks cannot be told apart.
//!
//! Cost: O(n p d + n r^2 + p^3) once, memory O(n r + p^2); a query costs O(p^2 + n r), one from
//! outside O(n r^2 + p^3), since it changes the degrees of all rows.
//!
//! Source: Xu, Bu, Chen, Cai, He, Liu and Luo, "Efficient manifold ranking for image retrieval",
//! SIGIR 2011, as in the authors' second program: weights are not brought to a sum of 1. Where they
//! say nothing: a row at which the r nearest landmarks all lie has weight 3/4 for each of them.

use std::sync::atomic::{AtomicU64, Ordering};

use ndarray::{Array1, Array2, ArrayView2, Axis};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::linear::spd::Cholesky;
use crate::matrix::{check_finite, product_of_many};
use crate::{Error, ErrorKind, Monitor, Result, parallel, seed};

/// Least degree, so that a row without a landmark has a score.
const LEAST: f64 = 1e-12;
/// Rows whose distances to the landmarks are held at a time.
const ROWS: usize = 1024;

/// Parameters of EMR; see [`emr`](self).
///
/// ```
/// use likewise::{Monitor, rank::Emr};
/// let x = ndarray::Array2::from_shape_fn((40, 2), |(i, j)| {
///     let angle = i as f32 / 13.0;
///     if j == 0 { angle.cos() } else { angle.sin() }
/// });
/// let ranking = Emr::new().landmarks(12).fit(x.view(), 1, &Monitor::silent())?;
/// let scores = ranking.scores(0)?;
/// assert!(scores[1] > scores[39]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Emr {
    landmarks: usize,
    neighbors: usize,
    alpha: f64,
    iterations: usize,
}

impl Default for Emr {
    fn default() -> Self {
        Self {
            landmarks: 1000,
            neighbors: 5,
            alpha: 0.99,
            iterations: 5,
        }
    }
}

impl Emr {
    /// A thousand landmarks, of which a row has five; a = .99, as in the authors' program.
    pub fn new() -> Self {
        Self::default()
    }

    /// Landmarks, at least 2; all rows where there are fewer.
    #[must_use]
    pub fn landmarks(mut self, landmarks: usize) -> Self {
        self.landmarks = landmarks;
        self
    }

    /// `r`, the landmarks of a row, at least 2; all where there are fewer.
    #[must_use]
    pub fn neighbors(mut self, neighbors: usize) -> Self {
        self.neighbors = neighbors;
        self
    }

    /// `a`, how far scores spread, between 0 and 1.
    #[must_use]
    pub fn alpha(mut self, alpha: f64) -> Self {
        self.alpha = alpha;
        self
    }

    /// Rounds of k-means that move the landmarks; 0 leaves them on the rows that were drawn.
    #[must_use]
    pub fn iterations(mut self, iterations: usize) -> Self {
        self.iterations = iterations;
        self
    }

    /// Checks the numbers.
    pub fn validate(&self) -> Result<()> {
        for (field, value) in [
            ("emr.landmarks", self.landmarks),
            ("emr.neighbors", self.neighbors),
        ] {
            if value < 2 {
                return Err(Error::parameter(field, value, "must be at least 2"));
            }
        }
        if self.alpha > 0.0 && self.alpha < 1.0 {
            return Ok(());
        }
        let rule = "must be between 0 and 1, both excluded";
        Err(Error::parameter("emr.alpha", self.alpha, rule))
    }

    /// Finds landmarks by a few rounds of k-means and joins the rows (`n x d`) to them.
    ///
    /// Fails on NaN, with fewer than two rows, on a number out of range, and when cancelled.
    pub fn fit(&self, x: ArrayView2<f32>, seed: u64, monitor: &Monitor) -> Result<Ranking> {
        self.validate()?;
        check_finite(x, "manifold ranking")?;
        if x.nrows() < 2 || x.ncols() == 0 {
            return Err(Error::data("manifold ranking needs columns and two rows"));
        }
        let x = x.mapv(f64::from);
        let landmarks = self.means(&x, seed, monitor)?;
        self.with_landmarks(&x, landmarks)
    }

    /// Joins the rows to given landmarks (`p x d`).
    ///
    /// Fails on NaN, where columns differ in number, with fewer than two landmarks or no row.
    pub fn fit_landmarks(&self, x: ArrayView2<f32>, landmarks: ArrayView2<f32>) -> Result<Ranking> {
        check_finite(landmarks, "landmarks")?;
        self.fit_to(x, landmarks.mapv(f64::from))
    }

    fn fit_to(&self, x: ArrayView2<f32>, landmarks: Array2<f64>) -> Result<Ranking> {
        self.validate()?;
        check_finite(x, "manifold ranking")?;
        if x.ncols() != landmarks.ncols() || x.is_empty() || landmarks.nrows() < 2 {
            return Err(Error::data(format!(
                "manifold ranking needs rows and two landmarks of as many columns, but these are \
                 {} x {} and {} x {}",
                x.nrows(),
                x.ncols(),
                landmarks.nrows(),
                landmarks.ncols()
            )));
        }
        self.with_landmarks(&x.mapv(f64::from), landmarks)
    }

    /// The landmarks of some rows (`n x d`), through which any collection can be ranked.
    ///
    /// Fails as [`fit`](Self::fit) does.
    pub fn landmarks_of(
        &self,
        x: ArrayView2<f32>,
        seed: u64,
        monitor: &Monitor,
    ) -> Result<Landmarks> {
        let ranking = self.fit(x, seed, monitor)?;
        Ok(Landmarks {
            emr: *self,
            at: ranking.landmarks,
        })
    }

    fn with_landmarks(&self, x: &Array2<f64>, landmarks: Array2<f64>) -> Result<Ranking> {
        let weights = Weights::of(x, &landmarks, self.neighbors);
        let mut own = Ranking {
            emr: *self,
            landmarks,
            weights,
            scaled: Vec::new(),
            solved: Array2::zeros((0, 0)),
        };
        let sums = own.weights.sums(own.landmarks.nrows());
        let (scaled, products) = own.scale(&sums);
        own.solved = own.cholesky(products)?.inverse();
        own.scaled = scaled;
        Ok(own)
    }

    /// Lloyd's algorithm from rows drawn without replacement. A landmark without rows stays.
    fn means(&self, x: &Array2<f64>, seed: u64, monitor: &Monitor) -> Result<Array2<f64>> {
        let n = x.nrows();
        let p = self.landmarks.min(n);
        let mut rng = seed::stream(seed, "landmarks of EMR");
        let mut order: Vec<usize> = (0..n).collect();
        for i in 0..p {
            let j = rng.random_range(i..n);
            order.swap(i, j);
        }
        let mut landmarks = x.select(Axis(0), &order[..p]);
        if p == n {
            return Ok(landmarks);
        }
        monitor.start("landmarks", self.iterations as u64);
        for round in 0..self.iterations {
            monitor.step(round as u64)?;
            let nearest = nearest(x, &landmarks, 1);
            let mut sums = Array2::<f64>::zeros(landmarks.dim());
            let mut counts = vec![0_usize; p];
            for (row, near) in x.rows().into_iter().zip(&nearest) {
                let k = near[0].1 as usize;
                counts[k] += 1;
                let mut sum = sums.row_mut(k);
                sum += &row;
            }
            for (k, &count) in counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
                landmarks.row_mut(k).assign(&(&sums.row(k) / count as f64));
            }
        }
        monitor.end();
        Ok(landmarks)
    }
}

/// Landmarks that were found among some rows; see [`Emr::landmarks_of`].
#[derive(Debug, Clone, PartialEq)]
pub struct Landmarks {
    emr: Emr,
    /// `p x d`.
    at: Array2<f64>,
}

impl Landmarks {
    /// Landmarks at these places (`p x d`). Fails with fewer than two, on NaN, and on a number out of
    /// range.
    pub fn new(emr: Emr, at: Array2<f64>) -> Result<Self> {
        emr.validate()?;
        if at.nrows() < 2 || at.ncols() == 0 || at.iter().any(|v| !v.is_finite()) {
            return Err(Error::data(format!(
                "manifold ranking needs two landmarks of finite numbers, but these are {} x {}",
                at.nrows(),
                at.ncols()
            )));
        }
        Ok(Self { emr, at })
    }

    /// The parameters.
    pub fn parameters(&self) -> Emr {
        self.emr
    }

    /// Where they are, `p x d`.
    pub fn at(&self) -> &Array2<f64> {
        &self.at
    }

    /// Scores of all rows of a gallery (`g x d`) for each query (`q x d`): `q x g`. A query is a row
    /// more, whether or not the gallery holds the same item.
    ///
    /// Fails as [`Ranking::scores_of`] does. O(g p d) and O(g r^2 + p^3) a query.
    pub fn scores(
        &self,
        queries: ArrayView2<f32>,
        gallery: ArrayView2<f32>,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        if gallery.nrows() == 0 {
            return Ok(Array2::zeros((queries.nrows(), 0)));
        }
        let ranking = self.emr.fit_to(gallery, self.at.clone())?;
        ranking.scores_of(queries, monitor)
    }
}

/// A collection that is ready to be searched.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    emr: Emr,
    landmarks: Array2<f64>,
    weights: Weights,
    /// `H`, as [`Weights::values`].
    scaled: Vec<f64>,
    /// `(I / a - H^T H)^-1`.
    solved: Array2<f64>,
}

/// `Z`: the landmarks of each row and their weights, `r` a row.
#[derive(Debug, Clone, PartialEq)]
struct Weights {
    r: usize,
    items: Vec<u32>,
    values: Vec<f64>,
}

impl Weights {
    fn of(x: &Array2<f64>, landmarks: &Array2<f64>, neighbors: usize) -> Self {
        let r = neighbors.min(landmarks.nrows());
        let (mut items, mut values) = (Vec::new(), Vec::new());
        for near in nearest(x, landmarks, r) {
            let farthest = near.last().map_or(0.0, |last| last.0);
            for (square, k) in near {
                items.push(k);
                let share = if farthest > 0.0 {
                    square / farthest
                } else {
                    0.0
                };
                values.push(0.75 * (1.0 - share));
            }
        }
        Self { r, items, values }
    }

    fn rows(&self) -> usize {
        self.items.len() / self.r
    }

    /// The sum of all rows.
    fn sums(&self, p: usize) -> Vec<f64> {
        let mut sums = vec![0.0; p];
        for (&k, value) in self.items.iter().zip(&self.values) {
            sums[k as usize] += value;
        }
        sums
    }
}

impl Ranking {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.weights.rows()
    }

    /// Whether there are none, which cannot be.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Scores of all rows for one of them; more is nearer. Fails where there is no such row.
    pub fn scores(&self, query: usize) -> Result<Array1<f64>> {
        if query >= self.len() {
            return Err(Error::data(format!(
                "row {query} is asked for, but there are {}",
                self.len()
            )));
        }
        let p = self.landmarks.nrows();
        let mut right = Array1::<f64>::zeros(p);
        for (k, value) in self.row(query, &self.scaled) {
            right[k] += value;
        }
        let mut scores = self.back(&self.scaled, &self.solved.dot(&right));
        scores[query] += 1.0;
        Ok(scores)
    }

    /// Scores of all rows for each query (`q x d`) that is none of them: `q x n`. Each is joined to
    /// the landmarks as if it were a row more, and the others know of it.
    ///
    /// Fails on NaN, and on another number of columns.
    pub fn scores_of(&self, queries: ArrayView2<f32>, monitor: &Monitor) -> Result<Array2<f64>> {
        check_finite(queries, "queries")?;
        if queries.ncols() != self.landmarks.ncols() {
            return Err(Error::data(format!(
                "rows of {} columns were ranked, but queries have {}",
                self.landmarks.ncols(),
                queries.ncols()
            )));
        }
        let mut all = Array2::zeros((queries.nrows(), self.len()));
        monitor.start("queries", queries.nrows() as u64);
        let p = self.landmarks.nrows();
        let sums = self.weights.sums(p);
        let joined = Weights::of(
            &queries.mapv(f64::from),
            &self.landmarks,
            self.emr.neighbors,
        );
        let done = AtomicU64::new(0);
        parallel::try_map(all.axis_iter_mut(Axis(0)).enumerate(), |(q, mut out)| {
            monitor.step(done.fetch_add(1, Ordering::Relaxed))?;
            let own = q * joined.r..(q + 1) * joined.r;
            let (items, values) = (&joined.items[own.clone()], &joined.values[own]);
            let each = || {
                items
                    .iter()
                    .map(|&k| k as usize)
                    .zip(values.iter().copied())
            };
            let mut sums = sums.clone();
            each().for_each(|(k, value)| sums[k] += value);
            let (scaled, mut products) = self.scale(&sums);
            let degree: f64 = each().map(|(k, value)| value * sums[k]).sum();
            let size = degree.max(LEAST).sqrt().recip();
            let mut right = Array1::<f64>::zeros(p);
            for (k, value) in each() {
                right[k] += size * value;
                for (l, other) in each() {
                    products[(k, l)] += size * value * size * other;
                }
            }
            let solved = self.cholesky(products)?;
            let column = right.insert_axis(Axis(1));
            let solution = solved.upper_solve(solved.lower_solve(column));
            out.assign(&self.back(&scaled, &solution.column(0).to_owned()));
            Ok(())
        })?;
        monitor.end();
        Ok(all)
    }

    fn row<'a>(&'a self, i: usize, values: &'a [f64]) -> impl Iterator<Item = (usize, f64)> + 'a {
        let own = i * self.weights.r..(i + 1) * self.weights.r;
        let items = self.weights.items[own.clone()].iter().map(|&k| k as usize);
        items.zip(values[own].iter().copied())
    }

    /// `H` and `H^T H` by the sum of all rows of `Z`.
    fn scale(&self, sums: &[f64]) -> (Vec<f64>, Array2<f64>) {
        let p = sums.len();
        let mut scaled = self.weights.values.clone();
        let mut products = Array2::<f64>::zeros((p, p));
        let items = self.weights.items.chunks_exact(self.weights.r);
        for (items, values) in items.zip(scaled.chunks_exact_mut(self.weights.r)) {
            let degree: f64 = items
                .iter()
                .zip(&*values)
                .map(|(&k, v)| v * sums[k as usize])
                .sum();
            let size = degree.max(LEAST).sqrt().recip();
            for value in &mut *values {
                *value *= size;
            }
            for (&k, value) in items.iter().zip(&*values) {
                for (&l, other) in items.iter().zip(&*values) {
                    products[(k as usize, l as usize)] += value * other;
                }
            }
        }
        (scaled, products)
    }

    /// Of `I / a - H^T H`, whose eigenvalues are at least `1 / a - 1`.
    fn cholesky(&self, products: Array2<f64>) -> Result<Cholesky> {
        let mut matrix = -products;
        matrix
            .diag_mut()
            .mapv_inplace(|v| v + self.emr.alpha.recip());
        Cholesky::of(&matrix).ok_or_else(|| {
            Error::new(
                ErrorKind::Internal,
                "the system of manifold ranking is singular",
            )
        })
    }

    /// `H v`.
    fn back(&self, scaled: &[f64], v: &Array1<f64>) -> Array1<f64> {
        let row = |i| self.row(i, scaled).map(|(k, value)| value * v[k]).sum();
        (0..self.len()).map(row).collect()
    }
}

/// The `r` nearest landmarks of each row with their squared distances, by distance and then by
/// number.
fn nearest(x: &Array2<f64>, landmarks: &Array2<f64>, r: usize) -> Vec<Vec<(f64, u32)>> {
    let squares = |x: ArrayView2<f64>| -> Vec<f64> {
        x.rows().into_iter().map(|row| row.dot(&row)).collect()
    };
    let sizes = squares(landmarks.view());
    let mut found = Vec::with_capacity(x.nrows());
    for rows in x.axis_chunks_iter(Axis(0), ROWS) {
        let products = product_of_many(&rows.as_standard_layout().into_owned(), landmarks);
        let own = squares(rows);
        found.extend(parallel::map_rows(rows.nrows(), |i| {
            let products = products.row(i);
            let square = |k: usize| own[i] + sizes[k] - 2.0 * products[k];
            let mut all: Vec<(f64, u32)> =
                (0..sizes.len()).map(|k| (square(k), k as u32)).collect();
            let nearer = |a: &(f64, u32), b: &(f64, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
            // A few more, whose distances are then computed without what products lose.
            let some = (r + 4).min(all.len());
            if some < all.len() {
                all.select_nth_unstable_by(some - 1, nearer);
                all.truncate(some);
            }
            for (square, k) in &mut all {
                let e = &rows.row(i) - &landmarks.row(*k as usize);
                *square = e.dot(&e);
            }
            all.sort_unstable_by(nearer);
            all.truncate(r);
            all
        }));
    }
    found
}

#[cfg(test)]
#[allow(clippy::unreadable_literal)] // Printed values.
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::linear::check_values::iris;

    fn best(scores: &Array1<f64>) -> Vec<usize> {
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|&i, &j| scores[j].total_cmp(&scores[i]));
        order.truncate(10);
        order
    }

    #[test]
    fn scores_of_irises() {
        let x = iris().0;
        let rows: Vec<usize> = (0..15).map(|i| 10 * i).collect();
        let own = Emr::new()
            .with_landmarks(&x, x.select(Axis(0), &rows))
            .unwrap();
        let scores = own.scores(7).unwrap();
        let expected = [
            1.98964849591,
            1.8232314615,
            1.83295171946,
            1.78975378627,
            1.89961061834,
            1.8456369068,
            1.76723176011,
            2.84333200935,
            1.66567275773,
            1.84339037644,
        ];
        for (found, expected) in scores.iter().zip(expected) {
            assert!((found / expected - 1.0).abs() < 1e-8, "{found} {expected}");
        }
        assert_eq!(best(&scores), [7, 48, 27, 10, 0, 17, 36, 19, 28, 21]);
    }

    #[test]
    fn scores_of_irises_for_one_that_is_not_among_them() {
        let x = iris().0.mapv(|v| v as f32);
        let rows: Vec<usize> = (0..15).map(|i| 10 * i).collect();
        let own = Emr::new()
            .fit_landmarks(x.view(), x.select(Axis(0), &rows).view())
            .unwrap();
        let query = ndarray::array![[6.0, 2.9, 4.5, 1.5_f32]];
        let scores = own.scores_of(query.view(), &Monitor::silent()).unwrap();
        let scores = scores.row(0).to_owned();
        let expected = [
            0.78905760266,
            1.04629235516,
            0.76180458403,
            1.08598082698,
            1.00034894608,
            1.05635483853,
            1.01161915449,
            0.866502834477,
            0.971417426112,
            1.08667197331,
        ];
        // The rows are of single precision.
        for (found, expected) in scores.iter().skip(50).zip(expected) {
            assert!((found / expected - 1.0).abs() < 1e-5, "{found} {expected}");
        }
        assert_eq!(best(&scores), [89, 59, 66, 53, 84, 94, 90, 80, 69, 55]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]
        #[test]
        fn it_solves_the_dense_system(
            n in 2_usize..40, d in 1_usize..5, p in 2_usize..20, r in 2_usize..7,
            alpha in 0.1_f64..0.99, number in any::<u64>(),
        ) {
            let mut rng = seed::stream(number, "emr");
            let x = Array2::from_shape_fn((n, d), |_| rng.random_range(-1.0_f32..1.0));
            let own = Emr::new().landmarks(p).neighbors(r).alpha(alpha);
            let own = own.fit(x.view(), number, &Monitor::silent()).unwrap();
            let r = own.weights.r;
            let p = own.landmarks.nrows();
            let mut h = Array2::<f64>::zeros((n, p));
            for i in 0..n {
                for at in i * r..(i + 1) * r {
                    h[(i, own.weights.items[at] as usize)] += own.scaled[at];
                }
            }
            let scores = own.scores(n / 2).unwrap();
            // (I - a H H^T) scores must be 1 at the query and 0 elsewhere.
            let mut left = &scores - &(h.dot(&h.t().dot(&scores)) * alpha);
            left[n / 2] -= 1.0;
            prop_assert!(left.iter().all(|e| e.abs() < 1e-9), "{left}");
            prop_assert!(own.scores(n).is_err());
        }
    }

    #[test]
    fn duplicates_few_rows_and_numbers_out_of_range() {
        let silent = Monitor::silent();
        let same = Array2::from_elem((8, 3), 1.0_f32);
        let own = Emr::new().fit(same.view(), 1, &silent).unwrap();
        assert!(own.scores(3).unwrap().iter().all(|s| s.is_finite()));
        let outside = own.scores_of(same.view(), &silent).unwrap();
        assert!(outside.iter().all(|s| s.is_finite()));
        let own = Emr::new();
        assert!(own.fit(Array2::zeros((1, 3)).view(), 1, &silent).is_err());
        assert!(
            own.fit_landmarks(same.view(), Array2::zeros((2, 2)).view())
                .is_err()
        );
        for wrong in [own.landmarks(1), own.neighbors(1), own.alpha(1.0)] {
            assert!(
                wrong
                    .validate()
                    .unwrap_err()
                    .to_string()
                    .starts_with("emr.")
            );
        }
        let x = Array2::from_shape_fn((300, 4), |(i, j)| ((i * i + 7 * j) as f32).sin());
        let fit = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| own.landmarks(20).fit(x.view(), 3, &silent).unwrap())
        };
        assert_eq!(fit(1), fit(2));
    }
}
