//! Neighbourhood components analysis: makes a random near neighbour one of the own class.
//!
//! ```text
//! p_il = w_l exp(-|L (x_i - x_l)|^2) / sum_{m != i} w_m exp(-|L (x_i - x_m)|^2),  p_ii = 0
//! maximise over L   F = sum_i w_i sum_{l of the class of i} p_il
//! z_i = L x_i
//! ```
//!
//! F is the number of rows whose class a draw among their neighbours would get right. With fewer
//! rows than columns of `L` asked for ([`rank`](Nca::rank)) it is also a way to few dimensions
//! that knows the classes.
//!
//! **Use it** where the nearest neighbour is to be right, and for maps to two to ten dimensions;
//! some tens of labels a class. **Not** with more columns than labels, where every row finds a
//! direction of its own and F its largest value at once: cut the columns down first
//! ([whitening](super::whitening::Spectrum)). Not for classes that it has not seen.
//!
//! # Cost
//! O(n^2 (d + r)) in `f64` for each of about `iterations` steps, less where most rows are so far that
//! their share is below 1e-16; memory O(n d), and blocks of distances of 2 MB a thread. Never
//! n x n.
//!
//! Source: Goldberger, Roweis, Hinton and Salakhutdinov, "Neighbourhood components analysis", NIPS
//! 2004, by L-BFGS. Where we differ: weights, which count a row as the one that draws and as one
//! that is drawn. And the start: F depends on the scale, and where the nearest row takes all it
//! has no slope, so rows are first scaled to a mean squared distance of `softness` times their
//! number of columns apart; [`paper`](Nca::paper) starts at the rows as they are.

use std::ops::Range;

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::classed::{Classed, distances, rank_among, squares};
use super::edges::{Part, gather, sum};
use crate::learn::{Evidence, Fit, Need, Size};
use crate::matrix::{product, product_of_many};
use crate::model::Model;
use crate::solve::lbfgs::{self, Until};
use crate::solve::{exp_of_negative, vectorised};
use crate::{Error, ErrorKind, Monitor, Result};

/// How much farther than the nearest a row must be for its share to be nothing.
const FAR: f64 = 38.0;
/// Values that are looked at, and computed, together.
const LANES: usize = 16;
/// A block of shares of which fewer than one in so many are not 0 is added one by one.
const SPARSE: usize = 16;

/// Parameters of neighbourhood components analysis; see [`nca`](self).
///
/// ```
/// use likewise::{Monitor, linear::Nca};
/// let x = ndarray::array![[0.0, 0.0], [4.0, 0.1], [0.0, 1.0], [4.0, 1.1_f32]];
/// let l = Nca::new().fit_weighted(x.view(), &[0, 0, 1, 1], &[1.0; 4], &Monitor::silent())?;
/// // Only the second column tells the classes apart.
/// let length = |j: usize| l.column(j).dot(&l.column(j));
/// assert!(length(1) > 10.0 * length(0));
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Nca {
    rank: Option<usize>,
    iterations: usize,
    softness: f64,
}

impl Default for Nca {
    fn default() -> Self {
        Self {
            rank: None,
            iterations: 100,
            softness: 0.5,
        }
    }
}

impl Nca {
    /// As many rows of `L` as columns, at most 100 steps, softness .5.
    pub fn new() -> Self {
        Self::default()
    }

    /// As published: from the rows as they are.
    pub fn paper() -> Self {
        Self {
            softness: 0.0,
            ..Self::default()
        }
    }

    /// Rows of `L`, which then starts from the first principal directions; absent: as many as
    /// columns, from the identity.
    #[must_use]
    pub fn rank(mut self, rank: Option<usize>) -> Self {
        self.rank = rank;
        self
    }

    /// Most steps, at least 1.
    #[must_use]
    pub fn iterations(mut self, iterations: usize) -> Self {
        self.iterations = iterations;
        self
    }

    /// Mean squared distance of two rows at the start, by the number of rows of `L`.
    /// 0: the rows stay as they are.
    #[must_use]
    pub fn softness(mut self, softness: f64) -> Self {
        self.softness = softness;
        self
    }

    /// Checks all fields.
    pub fn validate(&self) -> Result<()> {
        if self.rank == Some(0) {
            return Err(Error::parameter("nca.rank", 0, "must be at least 1"));
        }
        if self.iterations == 0 {
            return Err(Error::parameter("nca.iterations", 0, "must be at least 1"));
        }
        if self.softness.is_finite() && self.softness >= 0.0 {
            return Ok(());
        }
        let rule = "must be at least 0";
        Err(Error::parameter("nca.softness", self.softness, rule))
    }

    /// The map `L` (`r x d`) from rows (`n x d`), a class and a weight of at least 0 for each;
    /// `z = L x`. Rows of weight 0 are left out.
    ///
    /// Where no class has two rows F is 0 for every map: the one it starts from, and a warning.
    /// Fails on NaN, where numbers of rows, classes and weights differ, without two classes of
    /// some weight, on a parameter out of its range, and when cancelled.
    pub fn fit_weighted(
        &self,
        x: ArrayView2<f32>,
        classes: &[u32],
        weights: &[f32],
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        self.validate()?;
        let rows = Classed::new(x, classes, weights, "neighbourhood components analysis")?;
        self.fit_classed(rows, monitor)
    }

    fn fit_classed(&self, mut rows: Classed, monitor: &Monitor) -> Result<Array2<f64>> {
        rows.center()?;
        let start = rows.start(self.rank, "nca.rank")?;
        let (r, m) = start.dim();
        if self.softness > 0.0 {
            let z = product_of_many(&rows.x, &start);
            // Centred rows are twice their mean squared length apart.
            let apart = 2.0 * z.iter().map(|v| v * v).sum::<f64>() / z.nrows() as f64;
            if apart > 0.0 {
                rows.rescale((self.softness * r as f64 / apart).sqrt());
            }
        }
        if rows.own.iter().all(|own| own.len() == 1) {
            monitor.warn(
                "neighbourhood components analysis: no two rows of one class; the map is where it \
                 starts",
            );
            return Ok(rows.whole(start, self.rank));
        }
        monitor.start("neighbourhood components", self.iterations as u64);
        let until = Until {
            steps: self.iterations,
            gradient: 1e-7 * rows.weight.iter().sum::<f64>(),
        };
        let mut done = 0;
        let flat = start.into_raw_vec_and_offset().0;
        let found = lbfgs::minimise(flat, until, |point| {
            let map = shaped(r, m, point.to_vec())?;
            let (value, slopes) = compute(&rows, &map, monitor)?;
            monitor.values(&[("objective", value)]);
            done += 1;
            monitor.step(done.min(self.iterations as u64))?;
            Ok((-value, slopes.into_iter().map(|slope| -slope).collect()))
        })?;
        monitor.end();
        Ok(rows.whole(shaped(r, m, found)?, self.rank))
    }
}

impl Fit for Nca {
    fn needs(&self) -> &'static [Need] {
        &[Need::Classes]
    }

    fn gives_distance(&self) -> bool {
        true
    }

    /// Each step weighs all pairs of rows.
    fn operations(&self, of: &Size) -> f64 {
        let a_pair = 2.0 * of.columns + 20.0;
        self.iterations as f64 * of.labeled * of.labeled * a_pair
    }

    fn validate(&self) -> Result<()> {
        Nca::validate(self)
    }

    fn fit(&self, evidence: &Evidence, _: u64, monitor: &Monitor) -> Result<Model> {
        let all = evidence.start.whitening.matrix.ncols();
        evidence.map_of_classes(monitor, |x, class, weight| {
            let own = self.rank(rank_among(self.rank, x.ncols(), all));
            own.fit_weighted(x, class, weight, monitor)
        })
    }
}

fn shaped(r: usize, m: usize, map: Vec<f64>) -> Result<Array2<f64>> {
    Array2::from_shape_vec((r, m), map)
        .map_err(|e| Error::new(ErrorKind::Internal, format!("{r} x {m}: {e}")))
}

/// F and its gradient.
fn compute(rows: &Classed, map: &Array2<f64>, monitor: &Monitor) -> Result<(f64, Array2<f64>)> {
    let z = product_of_many(&rows.x, map);
    let squares = squares(&z);
    let n = z.nrows();
    let block = rows.block();
    let (value, scatter) = gather(&rows.x, |all, part| {
        let mut buffer = vec![0.0; block * n];
        for from in all.clone().step_by(block) {
            monitor.check()?;
            let some = from..(from + block).min(all.end);
            let buffer = &mut buffer[..some.len() * n];
            distances(&z, &squares, some.clone(), buffer);
            let mut count = 0;
            for (i, row) in some.clone().zip(buffer.chunks_exact_mut(n)) {
                count += pulp::Arch::new().dispatch(Shares { rows, i, row, part });
            }
            if count * SPARSE > buffer.len() {
                part.add_all(some, buffer);
                continue;
            }
            vectorised(|| {
                for (i, row) in some.clone().zip(buffer.chunks_exact(n)) {
                    add_some(i, row, part);
                }
            });
        }
        Ok(())
    })?;
    // The scatter holds each pair with its weight from both sides.
    Ok((value, product(map, &scatter) * 2.0))
}

/// `exp(below)`, or 0 where that is nothing.
#[expect(
    clippy::inline_always,
    reason = "must be compiled with the features of its caller"
)]
#[inline(always)]
fn share(below: f64) -> f64 {
    let near = below > -FAR;
    let found = exp_of_negative(if near { below } else { -FAR });
    if near { found } else { 0.0 }
}

/// The work of [`shares`]: too large a closure would not be inlined where the vector
/// instructions are.
struct Shares<'a, 'b, 'x> {
    rows: &'a Classed,
    i: usize,
    row: &'a mut [f64],
    part: &'b mut Part<'x>,
}

impl pulp::WithSimd for Shares<'_, '_, '_> {
    type Output = usize;

    #[expect(
        clippy::inline_always,
        reason = "must be compiled with the features of its caller"
    )]
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> usize {
        shares(self.rows, self.i, self.row, self.part)
    }
}

/// Turns the distances of a row into the weights of its pairs in the gradient; how many of them
/// may not be 0.
#[expect(
    clippy::inline_always,
    reason = "must be compiled with the features of its caller"
)]
#[inline(always)]
fn shares(rows: &Classed, i: usize, row: &mut [f64], part: &mut Part) -> usize {
    row[i] = f64::INFINITY;
    let nearest = least(row);
    if !nearest.is_finite() {
        row.fill(0.0);
        return 0;
    }
    let mut count = 0;
    let (chunks, rest) = row.as_chunks_mut::<LANES>();
    let (weights, last) = rows.weight.as_chunks::<LANES>();
    for (chunk, weights) in chunks.iter_mut().zip(weights) {
        let mut any = 0_u64;
        for &value in &*chunk {
            any |= u64::from(value < nearest + FAR);
        }
        if any != 0 {
            count += LANES;
            // Of a fixed number of values, which vector instructions need.
            for (value, weight) in chunk.iter_mut().zip(weights) {
                *value = weight * share(nearest - *value);
            }
        } else {
            *chunk = [0.0; LANES];
        }
    }
    for (value, weight) in rest.iter_mut().zip(last) {
        *value = weight * share(nearest - *value);
    }
    let own: Range<usize> = rows.own[i].clone();
    let (all, same) = (sum(row), sum(&row[own.clone()]));
    let right = same / all;
    part.value += rows.weight[i] * right;
    let each = rows.weight[i] / all;
    for value in &mut row[..own.start] {
        *value *= each * right;
    }
    for value in &mut row[own.clone()] {
        *value *= each * (right - 1.0);
    }
    for value in &mut row[own.end..] {
        *value *= each * right;
    }
    count
}

#[expect(
    clippy::inline_always,
    reason = "must be compiled with the features of its caller"
)]
#[inline(always)]
fn add_some(i: usize, row: &[f64], part: &mut Part) {
    for (at, chunk) in row.chunks(LANES).enumerate() {
        let mut any = 0_u64;
        for &a in chunk {
            any |= u64::from(a != 0.0);
        }
        if any != 0 {
            for (c, &a) in chunk.iter().enumerate().filter(|&(_, &a)| a != 0.0) {
                part.add(i, at * LANES + c, a);
            }
        }
    }
}

/// The smallest value.
#[expect(
    clippy::inline_always,
    reason = "must be compiled with the features of its caller"
)]
#[inline(always)]
fn least(row: &[f64]) -> f64 {
    let mut lanes = [f64::INFINITY; LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    for chunk in chunks {
        for (least, &value) in lanes.iter_mut().zip(chunk) {
            *least = if value < *least { value } else { *least };
        }
    }
    lanes
        .iter()
        .chain(rest)
        .copied()
        .fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
#[allow(clippy::unreadable_literal)] // Printed values.
mod tests {
    use proptest::prelude::*;
    use rand::RngExt;

    use super::*;
    use crate::linear::check_values::{iris, relative_error};
    use crate::seed;

    #[test]
    fn objective_and_gradient_of_irises() {
        let (x, classes) = iris();
        let rows = Classed::of_rows(x.view(), &classes, &[1.0; 150], "a test").unwrap();
        let map = Array2::eye(4);
        let (value, gradient) = compute(&rows, &map, &Monitor::silent()).unwrap();
        assert!((value / 125.710750683 - 1.0).abs() < 1e-9, "{value}");
        let expected = ndarray::array![
            [
                -0.205536606857,
                -0.266988640222,
                0.924751468006,
                0.872187601
            ],
            [
                -0.266988640222,
                0.197384039507,
                -1.47096875318,
                -0.846688225438
            ],
            [0.924751468006, -1.47096875318, 15.0167924597, 10.8507067242],
            [0.872187601, -0.846688225438, 10.8507067242, 7.71497045767],
        ];
        assert!(relative_error(&gradient, &expected) < 1e-9, "{gradient}");
    }

    #[test]
    fn nearly_all_irises_find_their_class() {
        let (x, classes) = iris();
        for learner in [Nca::paper().iterations(200), Nca::new()] {
            let rows = || Classed::of_rows(x.view(), &classes, &[1.0; 150], "a test").unwrap();
            let l = learner.fit_classed(rows(), &Monitor::silent()).unwrap();
            let (value, _) = compute(&rows(), &l, &Monitor::silent()).unwrap();
            assert!(value >= 147.8, "{value}");
        }
    }

    /// The formula as it is written.
    fn naive(rows: &Classed, map: &Array2<f64>) -> f64 {
        let z = rows.x.dot(&map.t());
        let n = z.nrows();
        let mut sum = 0.0;
        for i in 0..n {
            let distance = |l: usize| {
                let e = &z.row(i) - &z.row(l);
                e.dot(&e)
            };
            let others = || (0..n).filter(|&l| l != i);
            let nearest = others().map(distance).fold(f64::INFINITY, f64::min);
            let share = |l: usize| rows.weight[l] * (nearest - distance(l)).exp();
            let all: f64 = others().map(share).sum();
            let same: f64 = others()
                .filter(|l| rows.own[i].contains(l))
                .map(share)
                .sum();
            sum += rows.weight[i] * same / all;
        }
        sum
    }

    fn random(n: usize, d: usize, number: u64) -> (Array2<f32>, Vec<u32>, Vec<f32>) {
        let mut rng = seed::stream(number, "nca");
        let x = Array2::from_shape_fn((n, d), |_| rng.random_range(-1.0_f32..1.0));
        let classes = (0..n as u32).map(|i| if i < 2 { i } else { rng.random_range(0..3) });
        let classes = classes.collect();
        (
            x,
            classes,
            (0..n).map(|_| rng.random_range(0.1..2.0)).collect(),
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn the_objective_is_the_formula_and_its_slopes_are_the_gradient(
            n in 2_usize..60, d in 1_usize..12, r in 1_usize..5, size in 0.1_f64..12.0,
            number in any::<u64>(),
        ) {
            let (x, classes, weights) = random(n, d, number);
            let rows = Classed::new(x.view(), &classes, &weights, "a test").unwrap();
            let mut rng = seed::stream(number, "map");
            let m = rows.x.ncols();
            let map = Array2::from_shape_fn((r, m), |_| size * rng.random_range(-1.0_f64..1.0));
            let silent = Monitor::silent();
            let (value, gradient) = compute(&rows, &map, &silent).unwrap();
            prop_assert!((value - naive(&rows, &map)).abs() <= 1e-10 * (1.0 + value));
            let step = Array2::from_shape_fn((r, m), |_| rng.random_range(-1.0_f64..1.0)) * 1e-6;
            let slope = (naive(&rows, &(&map + &step)) - naive(&rows, &(&map - &step))) / 2.0;
            let told = (&gradient * &step).sum();
            prop_assert!((slope - told).abs() <= 1e-5 * told.abs() + 1e-11, "{slope} {told}");
        }
    }

    #[test]
    fn a_weight_of_0_is_absence_and_one_thread_is_as_good_as_two() {
        let (x, classes, mut weights) = random(70, 6, 5);
        for i in [3, 20, 21] {
            weights[i] = 0.0;
        }
        let own = Nca::new().iterations(30);
        let silent = Monitor::silent();
        let fit = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            (pool.build().unwrap()).install(|| {
                own.fit_weighted(x.view(), &classes, &weights, &silent)
                    .unwrap()
            })
        };
        let one = fit(1);
        assert_eq!(one, fit(2));
        let kept: Vec<usize> = (0..70).filter(|i| ![3, 20, 21].contains(i)).collect();
        let of = |i: &usize| (classes[*i], weights[*i]);
        let (classes, weights): (Vec<u32>, Vec<f32>) = kept.iter().map(of).unzip();
        let rest = x.select(ndarray::Axis(0), &kept);
        assert_eq!(
            one,
            own.fit_weighted(rest.view(), &classes, &weights, &silent)
                .unwrap()
        );
    }

    #[test]
    fn degenerate_rows_give_a_start_or_an_error() {
        let silent = Monitor::silent();
        let own = Nca::new();
        let x = ndarray::array![[0.0, 1.0], [1.0, 0.0], [2.0, 5.0_f32]];
        let single = Nca::paper()
            .fit_weighted(x.view(), &[0, 1, 2], &[1.0; 3], &silent)
            .unwrap();
        assert_eq!(single, Array2::<f64>::eye(2));
        let classes = [0, 0, 0, 1, 1, 1];
        let same = Array2::from_elem((6, 3), 2.0_f32);
        let map = own
            .fit_weighted(same.view(), &classes, &[1.0; 6], &silent)
            .unwrap();
        assert_eq!(map, Array2::<f64>::eye(3));
        assert!(
            own.fit_weighted(x.view(), &[0; 3], &[1.0; 3], &silent)
                .is_err()
        );
        // Far beyond what an exponential of a distance can hold.
        let far = ndarray::array![[0.0], [1e18], [1.0], [1e19_f32]];
        for learner in [own, Nca::paper()] {
            let map = learner
                .fit_weighted(far.view(), &[0, 0, 1, 1], &[1.0; 4], &silent)
                .unwrap();
            assert!(map.iter().all(|v| v.is_finite()), "{map}");
        }
        let wide = Array2::from_shape_fn((6, 40), |(i, j)| ((i * j + j) as f32).sin());
        let map = own
            .rank(Some(2))
            .fit_weighted(wide.view(), &classes, &[1.0; 6], &silent)
            .unwrap();
        assert_eq!(map.dim(), (2, 40));
        for wrong in [own.rank(Some(0)), own.iterations(0), own.softness(-1.0)] {
            assert!(
                wrong
                    .validate()
                    .unwrap_err()
                    .to_string()
                    .starts_with("nca.")
            );
        }
    }
}
