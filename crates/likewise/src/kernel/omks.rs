//! OMKS: a similarity of several kernels, learned online from comparisons of three.
//!
//! ```text
//! S_i(q, x) = k_i(q, x) + k_i(q, X) A_i k_i(X, x)      A_i = 0 at first, X: the n rows
//! for each triplet (a, p, n) of weight w, in every kernel i by itself
//!   margin = S_i(a, p) - S_i(a, n)
//!   where margin <= 0: one mistake more
//!   size   = k(a, a) (k(p, p) - 2 k(p, n) + k(n, n))
//!   tau    = min(w C, max(0, 1 - margin) / size)
//!   A_i   += tau e_a (e_p - e_n)^T
//! theta_i ~ beta^mistakes_i
//! f(q, x) = sum_i theta_i S_i(q, x)
//! ```
//!
//! Kernels say how rows may be alike (views of an image, widths of an RBF); triplets bend each of
//! them, and those that err least speak loudest. `f` is no distance, and not symmetric: the first
//! argument is the query.
//!
//! **Use it** with several views of some hundred to some thousand rows and triplets by the
//! hundred thousand. **Not** with more rows than memory has room for ([`Explicit`](super::Explicit)
//! learns the same in coordinates), nor where one linear map of one view does as well.
//!
//! # Cost
//! O(n) a triplet and kernel, and O(n^2 d) a kernel to begin with; memory `3 n^2` numbers of `f64` a
//! kernel: `k`, `A` and `A k`, through which a margin is one product of rows. Kernels run in
//! parallel; each is exactly what it would be alone. An answer costs O(n d) a row and O(n) a pair and
//! kernel.
//!
//! Source: Zhang, Chung, Liu and Chen, "Semi-supervised online multiple kernel similarity learning",
//! equations (2) to (6), after Xia, Hoi, Jin and Zhao, "Online multiple kernel similarity learning for
//! visual search", PAMI 2014. The update in operators is written by its coefficients, which is the
//! same and needs no memory of the triplets. Mistakes are counted, and weights of kernels found from
//! the counts, so none is lost to underflow. Ours: weights (a triplet `w` times in a row takes
//! `min(w C, ...)` in all; a mistake is counted once), epochs, minibatches and [`Theta::Rate`].

use std::sync::atomic::{AtomicU64, Ordering};

use ndarray::{Array2, ArrayView2, Axis, Slice};
use rand::seq::SliceRandom;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Kernel;
use crate::matrix::{check_finite, product_of_many};
use crate::solve::vectorised;
use crate::{Error, Monitor, Result, Triplets, seed};

/// Least size of a step's operator that is not taken for 0.
const SAME: f64 = 1e-12;
/// Share of a kernel below which it is not asked.
const SILENT: f64 = 1e-12;
/// Triplets that [`Theta::Rate`] counts mistakes among.
const RATE: f64 = 100.0;
/// Triplets between two looks at whether to stop.
const STRIDE: usize = 4096;
/// Rows of the gallery that are answered together.
const GALLERY: usize = 1024;

/// A kernel, and the view whose rows it compares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Which of the views, from 0.
    pub view: usize,
    /// How its rows are compared.
    pub kernel: Kernel,
}

/// In which order triplets are learned from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// As they come.
    Given,
    /// Drawn anew in every epoch.
    Shuffled,
}

/// How mistakes become weights of kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Theta {
    /// `beta^mistakes`, as published: with very many triplets nearly all goes to the best kernel.
    Mistakes,
    /// `beta^(mistakes in a hundred)`: mixes kernels however many triplets there are.
    Rate,
}

impl Theta {
    /// Weights that add up to 1.
    pub(crate) fn weights(self, mistakes: &[u64], seen: u64, beta: f64) -> Vec<f64> {
        let least = mistakes.iter().copied().min().unwrap_or(0);
        let unit = match self {
            Self::Mistakes => 1.0,
            Self::Rate => RATE / seen.max(1) as f64,
        };
        let each = mistakes.iter().map(|&count| (count - least) as f64 * unit);
        let raw: Vec<f64> = each.map(|count| (count * beta.ln()).exp()).collect();
        let sum: f64 = raw.iter().sum();
        raw.into_iter().map(|weight| weight / sum).collect()
    }
}

/// Parameters of OMKS; see [`omks`](self).
///
/// ```
/// use likewise::kernel::{Kernel, Omks, Source};
/// use likewise::{Monitor, Triplets};
/// let x = ndarray::array![[0.0, 1.0], [0.2, 0.8], [2.0, 1.0], [2.2, 0.9_f32]];
/// let mut triplets = Triplets::default();
/// triplets.push(0, 1, 2, 1.0);
/// triplets.push(2, 3, 1, 1.0);
/// let all = Kernel::ALL_FOUR.map(|kernel| Source { view: 0, kernel });
/// let found = Omks::new().fit(&[x.view()], &all, &triplets, 1, &Monitor::silent())?;
/// let f = found.scores(&[x.view()], &[x.view()])?;
/// assert!(f[(0, 1)] > f[(0, 2)]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Omks {
    aggressiveness: f64,
    beta: f64,
    epochs: usize,
    order: Order,
    minibatch: usize,
    theta: Theta,
}

impl Default for Omks {
    fn default() -> Self {
        Self {
            aggressiveness: 0.1,
            beta: 0.9,
            epochs: 1,
            order: Order::Shuffled,
            minibatch: 1,
            theta: Theta::Mistakes,
        }
    }
}

impl Omks {
    /// C = .1, beta = .9, one pass in a drawn order; where values are printed, these are the same.
    pub fn new() -> Self {
        Self::default()
    }

    /// `C`, the longest step, above 0.
    #[must_use]
    pub fn aggressiveness(mut self, aggressiveness: f64) -> Self {
        self.aggressiveness = aggressiveness;
        self
    }

    /// What a mistake leaves of a kernel's weight, between 0 and 1.
    #[must_use]
    pub fn beta(mut self, beta: f64) -> Self {
        self.beta = beta;
        self
    }

    /// Passes over the triplets, at least 1.
    #[must_use]
    pub fn epochs(mut self, epochs: usize) -> Self {
        self.epochs = epochs;
        self
    }

    /// The order of the triplets.
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Triplets that are judged by the same state, and whose steps are then averaged; 1 is the
    /// rule as published.
    #[must_use]
    pub fn minibatch(mut self, minibatch: usize) -> Self {
        self.minibatch = minibatch;
        self
    }

    /// How mistakes become weights.
    #[must_use]
    pub fn theta(mut self, theta: Theta) -> Self {
        self.theta = theta;
        self
    }

    /// Checks the numbers.
    pub fn validate(&self) -> Result<()> {
        if !(self.aggressiveness.is_finite() && self.aggressiveness > 0.0) {
            let rule = "must be above 0";
            return Err(Error::parameter(
                "omks.aggressiveness",
                self.aggressiveness,
                rule,
            ));
        }
        if !(self.beta > 0.0 && self.beta < 1.0) {
            let rule = "must be between 0 and 1, both excluded";
            return Err(Error::parameter("omks.beta", self.beta, rule));
        }
        if self.epochs == 0 {
            return Err(Error::parameter("omks.epochs", 0, "must be at least 1"));
        }
        if self.minibatch == 0 {
            return Err(Error::parameter("omks.minibatch", 0, "must be at least 1"));
        }
        Ok(())
    }

    /// Learns from triplets of the rows, which are those of every view. Give the rows that
    /// triplets name and no others: memory is the square of their number.
    ///
    /// Without triplets all kernels weigh the same. Fails on NaN, where views differ in their
    /// rows, without a kernel or on one of a view that is not there, on triplets that do not
    /// [fit](Triplets::check), on a number out of range, and when cancelled.
    pub fn fit(
        &self,
        views: &[ArrayView2<f32>],
        sources: &[Source],
        triplets: &Triplets,
        seed: u64,
        monitor: &Monitor,
    ) -> Result<Similarity> {
        self.validate()?;
        let n = check_views(views)?;
        let mut fitted = Vec::with_capacity(sources.len());
        for source in sources {
            let Some(view) = views.get(source.view) else {
                return Err(Error::data(format!(
                    "a kernel is of view {}, but there are {} views",
                    source.view,
                    views.len()
                )));
            };
            fitted.push(Source {
                kernel: source.kernel.fitted(*view, monitor)?,
                ..*source
            });
        }
        if fitted.is_empty() || n == 0 {
            return Err(Error::data("OMKS needs a kernel and rows"));
        }
        let mut found = Similarity {
            omks: *self,
            learned: vec![Learned::new(n); fitted.len()],
            sources: fitted,
            rows: views.iter().map(ArrayView2::to_owned).collect(),
            seen: 0,
        };
        found.learn(triplets, seed, monitor)?;
        Ok(found)
    }
}

/// Fails on NaN and where views differ in their number of rows, which it gives.
pub(super) fn check_views(views: &[ArrayView2<f32>]) -> Result<usize> {
    let n = views.first().map_or(0, ArrayView2::nrows);
    for (at, view) in views.iter().enumerate() {
        check_finite(*view, "a view")?;
        if view.nrows() != n {
            return Err(Error::data(format!(
                "view 0 has {n} rows, but view {at} has {}; all must be of the same items",
                view.nrows()
            )));
        }
    }
    Ok(n)
}

/// What was learned: answers, and can be written down and learn on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Similarity {
    omks: Omks,
    sources: Vec<Source>,
    learned: Vec<Learned>,
    /// The rows of each view.
    rows: Vec<Array2<f32>>,
    seen: u64,
}

/// Of one kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Learned {
    /// `A`, `n x n`.
    weights: Array2<f64>,
    /// `(A K)^T`, so that a row is what all margins with one item need.
    carried: Array2<f64>,
    mistakes: u64,
    updates: u64,
}

impl Learned {
    fn new(n: usize) -> Self {
        Self {
            weights: Array2::zeros((n, n)),
            carried: Array2::zeros((n, n)),
            mistakes: 0,
            updates: 0,
        }
    }

    /// Learns from triplets in their order, `counted` after every few thousand.
    fn pass(
        &mut self,
        omks: &Omks,
        k: &Array2<f64>,
        triplets: &[Triplet],
        counted: impl Fn(usize) -> Result<()>,
    ) -> Result<()> {
        let mut steps = Vec::with_capacity(omks.minibatch);
        for some in triplets.chunks(STRIDE.next_multiple_of(omks.minibatch)) {
            for batch in some.chunks(omks.minibatch) {
                steps.clear();
                for triplet in batch {
                    let tau = vectorised(|| self.judge(omks.aggressiveness, k, triplet));
                    steps.extend(tau.map(|tau| (triplet, tau)));
                }
                let share = steps.len() as f64;
                for &(triplet, tau) in &steps {
                    self.step(k, triplet, tau / share);
                }
            }
            counted(some.len())?;
        }
        Ok(())
    }

    /// Counts a mistake; the length of the step, if there is one.
    #[expect(
        clippy::inline_always,
        reason = "must be compiled with the features of its caller"
    )]
    #[inline(always)]
    fn judge(&mut self, most: f64, k: &Array2<f64>, &(a, p, n, w): &Triplet) -> Option<f64> {
        let at = k.as_slice()?;
        let carried = self.carried.as_slice()?;
        let size = k.nrows();
        let own = &at[a * size..][..size];
        let near = &carried[p * size..][..size];
        let far = &carried[n * size..][..size];
        let margin = own[p] - own[n] + product_of_difference(own, near, far);
        self.mistakes += u64::from(margin <= 0.0);
        let between = at[p * size + p] - 2.0 * at[p * size + n] + at[n * size + n];
        let length = own[a] * between;
        (margin < 1.0 && length > SAME).then(|| ((1.0 - margin) / length).min(w * most))
    }

    fn step(&mut self, k: &Array2<f64>, &(a, p, n, _): &Triplet, tau: f64) {
        self.updates += 1;
        self.weights[(a, p)] += tau;
        self.weights[(a, n)] -= tau;
        let change = k.row(p).into_iter().zip(k.row(n));
        let column = self.carried.column_mut(a);
        for (to, (p, n)) in column.into_iter().zip(change) {
            *to += tau * (p - n);
        }
    }
}

/// Anchor, positive, negative and weight.
type Triplet = (usize, usize, usize, f64);

/// `a . (b - c)`, in lanes that add up in a fixed order.
#[inline(always)]
fn product_of_difference(a: &[f64], b: &[f64], c: &[f64]) -> f64 {
    const LANES: usize = 16;
    let mut sums = [0.0; LANES];
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    let (c, c_rest) = c.as_chunks::<LANES>();
    for ((a, b), c) in a.iter().zip(b).zip(c) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * (b[lane] - c[lane]);
        }
    }
    let rest = a_rest.iter().zip(b_rest).zip(c_rest);
    sums.iter().sum::<f64>() + rest.map(|((a, b), c)| a * (b - c)).sum::<f64>()
}

impl Similarity {
    /// Learns on from more triplets of the same rows. In the [given](Order::Given) order this is
    /// what one call with all of them would have learned.
    ///
    /// Fails on triplets that do not [fit](Triplets::check) the rows, and when cancelled; nothing is
    /// learned then.
    pub fn learn(&mut self, triplets: &Triplets, seed: u64, monitor: &Monitor) -> Result<()> {
        self.check()?;
        let n = self.rows.first().map_or(0, Array2::nrows);
        triplets.check(n)?;
        let all: Vec<Triplet> = (triplets.iter())
            .filter(|triplet| triplet.3 > 0.0)
            .map(|(a, p, n, w)| (a as usize, p as usize, n as usize, f64::from(w)))
            .collect();
        let omks = self.omks;
        let whole = (omks.epochs * all.len() * self.sources.len()) as u64;
        monitor.start("multiple kernel similarity", whole);
        let orders: Vec<Vec<Triplet>> = match omks.order {
            Order::Given => vec![all.clone()],
            Order::Shuffled => (0..omks.epochs)
                .map(|epoch| {
                    let mut rng = seed::stream(seed, &format!("order of triplets {epoch}"));
                    let mut order = all.clone();
                    order.shuffle(&mut rng);
                    order
                })
                .collect(),
        };
        let done = AtomicU64::new(0);
        let counted = |count: usize| {
            let before = done.fetch_add(count as u64, Ordering::Relaxed);
            monitor.step(before + count as u64)
        };
        let work = (0..self.sources.len()).into_par_iter();
        let learned: Result<Vec<Learned>> = work
            .map(|i| {
                let Source { view, kernel } = self.sources[i];
                let k = kernel.own(&self.rows[view].mapv(f64::from));
                let mut learned = self.learned[i].clone();
                for epoch in 0..omks.epochs {
                    learned.pass(&omks, &k, &orders[epoch % orders.len()], counted)?;
                }
                Ok(learned)
            })
            .collect();
        self.learned = learned?;
        self.seen += (omks.epochs * all.len()) as u64;
        monitor.end();
        Ok(())
    }

    /// Whether the parts fit together, which a file may have broken.
    fn check(&self) -> Result<()> {
        let n = self.rows.first().map_or(0, Array2::nrows);
        let fits = |learned: &Learned| {
            [&learned.weights, &learned.carried]
                .iter()
                .all(|m| m.dim() == (n, n))
        };
        let sound = self.learned.len() == self.sources.len()
            && self.learned.iter().all(fits)
            && self.rows.iter().all(|rows| rows.nrows() == n)
            && self
                .sources
                .iter()
                .all(|source| source.view < self.rows.len());
        if sound {
            return self.omks.validate();
        }
        Err(Error::data(
            "the parts of the similarity do not fit together; learn it anew",
        ))
    }

    /// The kernels, with the widths that the rows gave.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The weight of each kernel; they add up to 1.
    pub fn theta(&self) -> Vec<f64> {
        let mistakes: Vec<u64> = self.mistakes().collect();
        self.omks
            .theta
            .weights(&mistakes, self.seen, self.omks.beta)
    }

    /// Triplets that each kernel had the wrong way round when they came.
    pub fn mistakes(&self) -> impl Iterator<Item = u64> + '_ {
        self.learned.iter().map(|learned| learned.mistakes)
    }

    /// Triplets that changed each kernel.
    pub fn updates(&self) -> impl Iterator<Item = u64> + '_ {
        self.learned.iter().map(|learned| learned.updates)
    }

    /// `f` of every query with every row of the gallery, `queries x gallery`; more is more
    /// alike. Both have the views that were learned from.
    ///
    /// Fails on NaN, and where views differ in number or columns. O(q n + g n + q g) a kernel and
    /// times their columns or `n`; beside the answer, memory for 1024 rows of the gallery.
    pub fn scores(
        &self,
        queries: &[ArrayView2<f32>],
        gallery: &[ArrayView2<f32>],
    ) -> Result<Array2<f64>> {
        self.check()?;
        let (q, g) = (self.check_like(queries)?, self.check_like(gallery)?);
        let mut f = Array2::<f64>::zeros((q, g));
        for (i, theta) in self.theta().into_iter().enumerate() {
            if theta < SILENT {
                continue;
            }
            let Source { view, kernel } = self.sources[i];
            let rows = self.rows[view].mapv(f64::from);
            let of_queries = queries[view].mapv(f64::from);
            let common = kernel.of_rows(&of_queries, &rows);
            for from in (0..g).step_by(GALLERY) {
                let end = (from + GALLERY).min(g);
                let some = Slice::from(from..end);
                let of_gallery = gallery[view].slice_axis(Axis(0), some).mapv(f64::from);
                let bent = product_of_many(
                    &kernel.of_rows(&of_gallery, &rows),
                    &self.learned[i].weights,
                );
                let found =
                    kernel.of_rows(&of_queries, &of_gallery) + product_of_many(&common, &bent);
                f.slice_axis_mut(Axis(1), some).scaled_add(theta, &found);
            }
        }
        Ok(f)
    }

    /// Fails unless the views are like those that were learned from; their number of rows.
    fn check_like(&self, views: &[ArrayView2<f32>]) -> Result<usize> {
        let n = check_views(views)?;
        if views.len() != self.rows.len() {
            return Err(Error::data(format!(
                "{} views were learned from, but there are {}",
                self.rows.len(),
                views.len()
            )));
        }
        for (view, rows) in views.iter().zip(&self.rows) {
            super::check_columns(view.len_of(Axis(1)), rows.ncols())?;
        }
        Ok(n)
    }
}

#[cfg(test)]
#[allow(clippy::unreadable_literal)] // Printed values.
mod tests {
    use ndarray::s;
    use proptest::prelude::*;
    use rand::RngExt;

    use super::*;
    use crate::linear::check_values::iris;

    fn all_four() -> [Source; 4] {
        Kernel::ALL_FOUR.map(|kernel| Source { view: 0, kernel })
    }

    fn given() -> Omks {
        Omks::new().order(Order::Given)
    }

    #[test]
    fn thirty_irises() {
        let read =
            |line: &str| -> Vec<f64> { line.split(',').map(|v| v.parse().unwrap()).collect() };
        let file = include_str!("../../testdata/omks_iris30.csv");
        let lines: Vec<&str> = file.lines().skip(1).collect();
        let mut triplets = Triplets::default();
        for line in &lines[..150] {
            let t = read(line);
            triplets.push(t[0] as u32, t[1] as u32, t[2] as u32, 1.0);
        }
        let rows: Vec<usize> = (0..10).chain(50..60).chain(100..110).collect();
        let x = iris().0.select(Axis(0), &rows);
        let single = x.mapv(|v| v as f32);
        let found = given()
            .fit(
                &[single.view()],
                &all_four(),
                &triplets,
                1,
                &Monitor::silent(),
            )
            .unwrap();
        assert_eq!(found.mistakes().collect::<Vec<_>>(), [7, 10, 17, 9]);
        assert_eq!(found.updates().collect::<Vec<_>>(), [64, 77, 123, 150]);
        let theta = [
            0.346298945933,
            0.252451931585,
            0.120746976276,
            0.280502146206,
        ];
        for (found, theta) in found.theta().iter().zip(theta) {
            assert!((found / theta - 1.0).abs() < 1e-8);
        }
        let queries = ndarray::array![
            [5.0, 3.3, 1.5, 0.2],
            [6.1, 2.8, 4.4, 1.4],
            [6.5, 3.0, 5.6, 2.1]
        ];
        let expected: Vec<f64> = lines[150..].iter().flat_map(|line| read(line)).collect();
        // Single precision at the border; in double precision the check values themselves.
        let f = found
            .scores(&[queries.mapv(|v| v as f32).view()], &[single.view()])
            .unwrap();
        for (f, e) in f.iter().zip(&expected) {
            assert!((f - e).abs() < 1e-5, "{f} {e}");
        }
        let mut exact = Array2::<f64>::zeros((3, 30));
        let mean_square = 10.4613793103448;
        for (factor, theta) in [Some(0.25), Some(1.0), Some(4.0), None]
            .into_iter()
            .zip(found.theta())
        {
            let kernel = factor.map_or(Kernel::Cosine, |factor| Kernel::Rbf {
                width: crate::kernel::Width::Fixed(factor * mean_square),
            });
            let all: Vec<Triplet> = triplets
                .iter()
                .map(|t| (t.0 as usize, t.1 as usize, t.2 as usize, 1.0))
                .collect();
            let mut learned = Learned::new(30);
            learned
                .pass(&given(), &kernel.own(&x), &all, |_| Ok(()))
                .unwrap();
            let bent = kernel.of_rows(&queries, &x).dot(&learned.weights);
            let scores = kernel.of_rows(&queries, &x) + bent.dot(&kernel.own(&x));
            exact.scaled_add(theta, &scores);
        }
        for (f, e) in exact.iter().zip(&expected) {
            assert!((f / e - 1.0).abs() < 1e-8, "{f} {e}");
        }
        let best = |q: usize| {
            let mut order: Vec<usize> = (0..30).collect();
            order.sort_by(|&i, &j| exact[(q, j)].total_cmp(&exact[(q, i)]));
            order.truncate(5);
            order
        };
        assert_eq!(best(0), [7, 9, 0, 1, 2]);
        assert_eq!(best(1), [15, 11, 14, 18, 13]);
        assert_eq!(best(2), [24, 23, 22, 20, 28]);
    }

    fn random(n: usize, many: usize, number: u64) -> (Array2<f32>, Triplets) {
        let mut rng = seed::stream(number, "omks");
        let x = Array2::from_shape_fn((n, 3), |_| rng.random_range(-1.0_f32..1.0));
        let mut triplets = Triplets::default();
        while triplets.len() < many {
            let [a, p, q] = [0; 3].map(|_: u32| rng.random_range(0..n as u32));
            if a != p && a != q && p != q {
                triplets.push(a, p, q, [0.0, 0.5, 1.0, 3.0][rng.random_range(0..4)]);
            }
        }
        (x, triplets)
    }

    /// The sum over all triplets, as it is written.
    fn naive(k: &Array2<f64>, triplets: &Triplets, c: f64) -> (Array2<f64>, u64) {
        let n = k.nrows();
        let mut past: Vec<(usize, usize, usize, f64)> = Vec::new();
        let s = |past: &[(usize, usize, usize, f64)], q: usize, x: usize| {
            let sum = past
                .iter()
                .map(|&(a, p, n, tau)| tau * k[(q, a)] * (k[(x, p)] - k[(x, n)]));
            k[(q, x)] + sum.sum::<f64>()
        };
        let mut mistakes = 0;
        for (a, p, q, w) in triplets.iter().filter(|t| t.3 > 0.0) {
            let [a, p, q] = [a, p, q].map(|i| i as usize);
            let margin = s(&past, a, p) - s(&past, a, q);
            mistakes += u64::from(margin <= 0.0);
            let size = k[(a, a)] * (k[(p, p)] - 2.0 * k[(p, q)] + k[(q, q)]);
            let tau = (f64::from(w) * c).min((1.0 - margin).max(0.0) / size);
            if size > 1e-12 && tau > 0.0 {
                past.push((a, p, q, tau));
            }
        }
        (
            Array2::from_shape_fn((n, n), |(q, x)| s(&past, q, x)),
            mistakes,
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn it_is_the_sum_over_triplets_and_goes_on_where_it_stopped(
            n in 3_usize..25, many in 0_usize..120, c in 0.01_f64..2.0, number in any::<u64>(),
        ) {
            let (x, triplets) = random(n, many, number);
            let silent = Monitor::silent();
            let own = given().aggressiveness(c);
            let whole = own.fit(&[x.view()], &all_four(), &triplets, 1, &silent).unwrap();
            for (i, source) in all_four().iter().enumerate() {
                let one = own.fit(&[x.view()], &[*source], &triplets, 1, &silent).unwrap();
                prop_assert_eq!(&one.learned[0], &whole.learned[i]);
                let k = one.sources()[0].kernel.own(&x.mapv(f64::from));
                let (expected, mistakes) = naive(&k, &triplets, c);
                let found = one.scores(&[x.view()], &[x.view()]).unwrap();
                let error = found - &expected;
                prop_assert!(error.iter().all(|e| e.abs() < 1e-8), "{error}");
                prop_assert_eq!(one.learned[0].mistakes, mistakes);
            }
            let part = |range: std::ops::Range<usize>| {
                let mut part = Triplets::default();
                for t in triplets.iter().skip(range.start).take(range.len()) {
                    part.push(t.0, t.1, t.2, t.3);
                }
                part
            };
            let first = own.fit(&[x.view()], &all_four(), &part(0..many / 2), 1, &silent).unwrap();
            let text = serde_json::to_string(&first).unwrap();
            let mut again: Similarity = serde_json::from_str(&text).unwrap();
            again.learn(&part(many / 2..many), 1, &silent).unwrap();
            prop_assert_eq!(again, whole);
        }
    }

    #[test]
    fn without_triplets_it_is_the_mean_of_the_kernels() {
        let (x, _) = random(9, 0, 1);
        let silent = Monitor::silent();
        let found = Omks::new()
            .fit(&[x.view()], &all_four(), &Triplets::default(), 1, &silent)
            .unwrap();
        let f = found.scores(&[x.view()], &[x.view()]).unwrap();
        let mut mean = Array2::<f64>::zeros((9, 9));
        for source in found.sources() {
            mean.scaled_add(0.25, &source.kernel.own(&x.mapv(f64::from)));
        }
        assert!((f - mean).iter().all(|e| e.abs() < 1e-12));
    }

    #[test]
    fn a_step_that_is_not_cut_reaches_the_margin() {
        let (x, _) = random(9, 0, 1);
        let silent = Monitor::silent();
        let mut triplets = Triplets::default();
        triplets.push(2, 5, 7, 1.0);
        let own = given().aggressiveness(1e9);
        for source in all_four() {
            let found = own
                .fit(&[x.view()], &[source], &triplets, 1, &silent)
                .unwrap();
            let f = found.scores(&[x.view()], &[x.view()]).unwrap();
            assert!((f[(2, 5)] - f[(2, 7)] - 1.0).abs() < 1e-8);
        }
    }

    #[test]
    fn minibatches_average_and_threads_and_kernels_do_not_matter() {
        let (x, triplets) = random(30, 300, 4);
        let silent = Monitor::silent();
        let fit = |own: Omks, threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| {
                own.fit(&[x.view()], &all_four(), &triplets, 1, &silent)
                    .unwrap()
            })
        };
        let own = Omks::new().epochs(2);
        let one = fit(own, 1);
        assert_eq!(one, fit(own, 2));
        assert_ne!(one, fit(own.minibatch(8), 1));
        let f = one.scores(&[x.view()], &[x.view()]).unwrap();
        let mut turned = one.clone();
        turned.sources.reverse();
        turned.learned.reverse();
        let other = turned.scores(&[x.view()], &[x.view()]).unwrap();
        assert!((f - other).iter().all(|e| e.abs() < 1e-12));
        let rate = Theta::Rate.weights(&[500, 1000], 10_000, 0.9);
        assert!((rate[1] / rate[0] - 0.9_f64.powi(5)).abs() < 1e-12);
        let sharp = Theta::Mistakes.weights(&[0, 1_000_000], 1, 0.5);
        assert!(sharp[0] > 0.999 && sharp[1] >= 0.0);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let (x, triplets) = random(9, 5, 1);
        let silent = Monitor::silent();
        let own = Omks::new();
        let all = all_four();
        assert!(own.fit(&[x.view()], &[], &triplets, 1, &silent).is_err());
        assert!(own.fit(&[], &all, &triplets, 1, &silent).is_err());
        assert!(
            own.fit(&[x.slice(s![..4, ..])], &all, &triplets, 1, &silent)
                .is_err()
        );
        assert!(
            own.fit(
                &[x.view(), x.slice(s![..4, ..])],
                &all,
                &triplets,
                1,
                &silent
            )
            .is_err()
        );
        let mut found = own.fit(&[x.view()], &all, &triplets, 1, &silent).unwrap();
        assert!(found.scores(&[x.slice(s![.., ..2])], &[x.view()]).is_err());
        assert!(found.scores(&[], &[x.view()]).is_err());
        let cancelled = Monitor::silent();
        cancelled.cancel();
        let before = found.clone();
        assert!(found.learn(&triplets, 1, &cancelled).is_err());
        assert_eq!(found, before);
        for wrong in [
            own.aggressiveness(0.0),
            own.beta(1.0),
            own.epochs(0),
            own.minibatch(0),
        ] {
            assert!(
                wrong
                    .validate()
                    .unwrap_err()
                    .to_string()
                    .starts_with("omks.")
            );
        }
    }
}
