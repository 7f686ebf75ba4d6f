//! OASIS: a bilinear similarity, learned online from comparisons of three.
//!
//! ```text
//! S(a, x) = a^T W x                                        W = I at first
//! for each triplet (a, p, n) of weight w, in its order
//!   loss = max(0, 1 - S(a, p) + S(a, n))
//!   tau  = min(w C, loss / (|a|^2 |p - n|^2))
//!   W   += tau a (p - n)^T
//! ```
//!
//! Each step is the smallest change of `W` that mends its triplet, cut at `C`. Nothing is asked of
//! `W`: it is no distance, and not symmetric unless asked to be.
//!
//! **Use it** where the order of answers matters and triplets are many and cheap: clicks, labels of
//! many classes. On rows of unit length (or sparse ones of like lengths): a similarity by products
//! depends on the scale of the rows, and the margin of 1 on that of the features. **Not** where a
//! distance is needed; with [`psd`](Oasis::psd) the result is one, at some cost in what it finds.
//! Not with fewer triplets than some thousands.
//!
//! # Cost
//! O(d^2) in `f64` a triplet, d^2 numbers of memory and two blocks of 128 rows. Triplets are taken
//! 128 at a time: what the block begins with comes from two matrix products, and what its own
//! steps change from products of its rows with each other, so the result is that of one triplet
//! after the other, but for rounding. With `psd` ten times O(d^3).
//!
//! Source: Chechik, Sharma, Shalit and Bengio, "Large scale online learning of image similarity
//! through ranking", JMLR 11, 2010; `C` = .1 and a million steps in [`paper`](Oasis::paper) are
//! those of the authors' program. Ours: weights. A weight is a multiplicity: the same triplet `w`
//! times in a row takes steps of `min(w C, loss / ...)` in all, which is the rule above.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use ndarray::{Array2, ArrayView2};
use rand::{Rng, RngExt};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::learn::{Evidence, Fit, Need};
use crate::linear::spd;
use crate::matrix::check_finite;
use crate::model::Model;
use crate::{Error, Monitor, Result, Triplets, seed};

/// Triplets that are taken together.
const BLOCK: usize = 128;
/// Columns of a product that one task computes.
const COLUMNS: usize = 128;
/// Least square below which two rows are the same, or a row is 0.
const SAME: f64 = 1e-20;

/// Parameters of OASIS; see [`oasis`](self).
///
/// ```
/// use likewise::{Monitor, Triplets, linear::Oasis};
/// let x = ndarray::array![[1.0, 0.0], [0.6, 0.8], [0.8, 0.6_f32]];
/// let mut triplets = Triplets::default();
/// triplets.push(0, 1, 2, 1.0);
/// let w = Oasis::new().aggressiveness(50.0).fit_triplets(x.view(), &triplets, None, &Monitor::silent())?;
/// let x = x.mapv(f64::from);
/// let similar = |i: usize| x.row(0).dot(&w.dot(&x.row(i)));
/// // The step was not cut, so the margin is reached.
/// assert!((similar(1) - similar(2) - 1.0).abs() < 1e-6);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Oasis {
    aggressiveness: f64,
    steps: usize,
    symmetric: bool,
    psd: bool,
}

impl Default for Oasis {
    fn default() -> Self {
        Self {
            aggressiveness: 0.1,
            steps: 100_000,
            symmetric: false,
            psd: false,
        }
    }
}

impl Oasis {
    /// C = .1, 100,000 triplets where they are drawn.
    pub fn new() -> Self {
        Self::default()
    }

    /// A million triplets, as the authors draw.
    pub fn paper() -> Self {
        Self {
            steps: 1_000_000,
            ..Self::default()
        }
    }

    /// `C`, the longest step, above 0.
    #[must_use]
    pub fn aggressiveness(mut self, aggressiveness: f64) -> Self {
        self.aggressiveness = aggressiveness;
        self
    }

    /// Triplets that are drawn from classes, at least 1.
    #[must_use]
    pub fn steps(mut self, steps: usize) -> Self {
        self.steps = steps;
        self
    }

    /// Whether `W` is made symmetric, ten times on the way and at the end.
    #[must_use]
    pub fn symmetric(mut self, symmetric: bool) -> Self {
        self.symmetric = symmetric;
        self
    }

    /// Whether `W` is made symmetric and its negative eigenvalues 0, ten times on the way and at
    /// the end.
    #[must_use]
    pub fn psd(mut self, psd: bool) -> Self {
        self.psd = psd;
        self
    }

    /// Checks the numbers.
    pub fn validate(&self) -> Result<()> {
        if !(self.aggressiveness.is_finite() && self.aggressiveness > 0.0) {
            let rule = "must be above 0";
            return Err(Error::parameter(
                "oasis.aggressiveness",
                self.aggressiveness,
                rule,
            ));
        }
        if self.steps == 0 {
            return Err(Error::parameter("oasis.steps", 0, "must be at least 1"));
        }
        Ok(())
    }

    /// `W` (`d x d`) after one pass over the triplets in their order, from `start` or the
    /// identity. Two passes, the second from what the first gave, are one over both.
    ///
    /// Triplets of weight 0, with an anchor of zeros, or whose positive and negative are the same
    /// change nothing. Fails on NaN, on triplets that do not [fit](Triplets::check) the rows, on a
    /// start of another shape, on a parameter out of its range, and when cancelled.
    pub fn fit_triplets(
        &self,
        x: ArrayView2<f32>,
        triplets: &Triplets,
        start: Option<ArrayView2<f64>>,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        self.validate()?;
        check_finite(x, "OASIS")?;
        triplets.check(x.nrows())?;
        let d = x.ncols();
        let w = match start {
            None => Array2::eye(d),
            Some(w) if w.dim() == (d, d) && w.iter().all(|v| v.is_finite()) => {
                w.as_standard_layout().into_owned()
            }
            Some(w) => {
                return Err(Error::data(format!(
                    "OASIS goes on from a finite matrix of {d} x {d}, but was given {} x {}",
                    w.nrows(),
                    w.ncols()
                )));
            }
        };
        Ok(self.pass(&x.mapv(f64::from), triplets, w, monitor)?.w)
    }

    /// As [`fit_triplets`](Self::fit_triplets), over triplets that are [drawn](Self::draw).
    pub fn fit_weighted(
        &self,
        x: ArrayView2<f32>,
        classes: &[u32],
        weights: &[f32],
        seed: u64,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        super::check_weighted(x.nrows(), classes, weights)?;
        let triplets = self.draw(classes, weights, seed)?;
        self.fit_triplets(x, &triplets, None, monitor)
    }

    /// Triplets of weight 1: an anchor, another row of its class, and a row of another class, each
    /// drawn in proportion to the weights, with replacement.
    ///
    /// Fails where classes and weights differ in number or are out of range, and without a class
    /// of two rows and a row of another one. O(n log n + steps log n).
    pub fn draw(&self, classes: &[u32], weights: &[f32], seed: u64) -> Result<Triplets> {
        self.validate()?;
        super::check_weighted(classes.len(), classes, weights)?;
        let mass = Mass::of(classes, weights);
        if mass.anchors == 0.0 {
            return Err(Error::data(
                "OASIS needs a class of two rows and a row of another class to draw triplets from",
            ));
        }
        let mut rng = seed::stream(seed, "triplets of OASIS");
        let mut triplets = Triplets::default();
        for _ in 0..self.steps {
            let (a, p, n) = mass.triplet(&mut rng);
            triplets.push(a, p, n, 1.0);
        }
        Ok(triplets)
    }

    /// One pass over rows that were checked, from `w`.
    pub(crate) fn pass(
        &self,
        x: &Array2<f64>,
        triplets: &Triplets,
        w: Array2<f64>,
        monitor: &Monitor,
    ) -> Result<Passed> {
        let all: Vec<(usize, usize, usize, f64)> = (triplets.iter())
            .filter(|triplet| triplet.3 > 0.0)
            .map(|(a, p, n, w)| (a as usize, p as usize, n as usize, f64::from(w)))
            .collect();
        let mut passed = Passed {
            w,
            updates: 0,
            mistakes: 0,
        };
        monitor.start("OASIS", all.len() as u64);
        // Ten times on the way, and at the end.
        let stretch = all.len().div_ceil(10).max(1);
        let mut block = Block::new(x.ncols());
        for (part, stretched) in all.chunks(stretch).enumerate() {
            for (at, some) in stretched.chunks(BLOCK).enumerate() {
                if at % 32 == 0 {
                    monitor.step((part * stretch + at * BLOCK) as u64)?;
                }
                block.pass(x, some, self.aggressiveness, &mut passed);
            }
            if self.psd {
                passed.w = spd::project(&passed.w)?;
            } else if self.symmetric {
                passed.w = (&passed.w + &passed.w.t()) * 0.5;
            }
        }
        monitor.end();
        Ok(passed)
    }
}

impl Fit for Oasis {
    fn needs(&self) -> &'static [Need] {
        &[Need::Ranked]
    }

    fn validate(&self) -> Result<()> {
        Oasis::validate(self)
    }

    /// From given triplets in their order, or from as many as `steps` that are drawn from the classes.
    fn fit(&self, evidence: &Evidence, seed: u64, monitor: &Monitor) -> Result<Model> {
        let (rows, targets) = (evidence.coordinates()?, evidence.targets);
        let w = match &targets.triplets {
            Some(triplets) => self.fit_triplets(rows.view(), triplets, None, monitor)?,
            None => {
                self.fit_weighted(rows.view(), &targets.class, &targets.weight, seed, monitor)?
            }
        };
        evidence.start.bilinear(w)
    }
}

/// What a pass gives.
pub(crate) struct Passed {
    pub(crate) w: Array2<f64>,
    /// Triplets that changed `w`.
    pub(crate) updates: u64,
    /// Triplets whose negative was at least as similar as the positive when they came.
    pub(crate) mistakes: u64,
}

/// Some triplets, and what all their steps are found from.
struct Block {
    d: usize,
    /// Anchors and differences, a row for each triplet.
    anchors: Vec<f64>,
    changes: Vec<f64>,
    /// Anchors times `W`, then what the steps are.
    moved: Vec<f64>,
    /// Products of the anchors with each other, and of the differences.
    between: [Vec<f64>; 2],
}

impl Block {
    fn new(d: usize) -> Self {
        Self {
            d,
            anchors: vec![0.0; BLOCK * d],
            changes: vec![0.0; BLOCK * d],
            moved: vec![0.0; BLOCK * d],
            between: [vec![0.0; BLOCK * BLOCK], vec![0.0; BLOCK * BLOCK]],
        }
    }

    fn pass(
        &mut self,
        x: &Array2<f64>,
        some: &[(usize, usize, usize, f64)],
        aggressiveness: f64,
        passed: &mut Passed,
    ) {
        let (d, m) = (self.d, some.len());
        let (Some(x), Some(w)) = (x.as_slice(), passed.w.as_slice_mut()) else {
            return;
        };
        let row = |i: usize| &x[i * d..][..d];
        let rows = self.anchors.chunks_exact_mut(d.max(1));
        let rows = rows.zip(self.changes.chunks_exact_mut(d.max(1)));
        for ((anchor, change), &(a, p, n, _)) in rows.zip(some) {
            anchor.copy_from_slice(row(a));
            for ((c, p), n) in change.iter_mut().zip(row(p)).zip(row(n)) {
                *c = p - n;
            }
        }
        let anchors = MatRef::from_row_major_slice(&self.anchors[..m * d], m, d);
        let changes = MatRef::from_row_major_slice(&self.changes[..m * d], m, d);
        for (out, rows) in self.between.iter_mut().zip([anchors, changes]) {
            let out = MatMut::from_row_major_slice_mut(&mut out[..m * m], m, m);
            matmul(out, Accum::Replace, rows, rows.transpose(), 1.0, Par::Seq);
        }
        let whole = MatRef::from_row_major_slice(&*w, d, d);
        let moved = MatMut::from_row_major_slice_mut(&mut self.moved[..m * d], m, d);
        let panels = moved.par_col_chunks_mut(COLUMNS).enumerate();
        panels.for_each(|(p, out)| {
            let right = whole.subcols(p * COLUMNS, out.ncols());
            matmul(out, Accum::Replace, anchors, right, 1.0, Par::Seq);
        });
        let mut steps = [0.0; BLOCK];
        for (t, &(_, _, _, weight)) in some.iter().enumerate() {
            let own = t * d..(t + 1) * d;
            let before = self.moved[own.clone()].iter().zip(&self.changes[own]);
            let [between, apart] = &self.between;
            let (between, apart) = (&between[t * m..][..m], &apart[t * m..][..m]);
            let since = steps[..t].iter().zip(between).zip(apart);
            let margin = before.map(|(a, b)| a * b).sum::<f64>()
                + since.map(|((step, a), b)| step * a * b).sum::<f64>();
            passed.mistakes += u64::from(margin <= 0.0);
            let size = between[t] * apart[t];
            let loss = 1.0 - margin;
            if loss > 0.0 && size > SAME {
                steps[t] = (loss / size).min(weight * aggressiveness);
                passed.updates += 1;
            }
        }
        let rows = self.moved.chunks_exact_mut(d.max(1));
        for ((to, from), step) in rows
            .zip(self.anchors.chunks_exact(d.max(1)))
            .zip(&steps[..m])
        {
            to.iter_mut().zip(from).for_each(|(to, a)| *to = step * a);
        }
        // A panel of rows of W is one of memory.
        let stepped = MatRef::from_row_major_slice(&self.moved[..m * d], m, d);
        let panels = w.par_chunks_mut((COLUMNS * d).max(1)).enumerate();
        panels.for_each(|(p, panel)| {
            let height = panel.len() / d;
            let left = stepped.subcols(p * COLUMNS, height).transpose();
            let panel = MatMut::from_row_major_slice_mut(panel, height, d);
            matmul(panel, Accum::Add, left, changes, 1.0, Par::Seq);
        });
    }
}

/// Rows by class with the running sums of their weights, from which triplets are drawn.
struct Mass {
    /// Rows of some weight, class by class.
    rows: Vec<u32>,
    /// Sum of the weights of the rows before each, and of all.
    sums: Vec<f64>,
    /// For each row the places where its class begins and ends.
    own: Vec<(usize, usize)>,
    /// Places of rows that can be anchors, with sums of their own.
    places: Vec<usize>,
    place_sums: Vec<f64>,
    anchors: f64,
}

impl Mass {
    fn of(classes: &[u32], weights: &[f32]) -> Self {
        let mut rows: Vec<u32> = (0..classes.len() as u32).collect();
        rows.retain(|&i| weights[i as usize] > 0.0);
        rows.sort_by_key(|&i| classes[i as usize]);
        let mut own = Vec::with_capacity(rows.len());
        for same in rows.chunk_by(|&i, &j| classes[i as usize] == classes[j as usize]) {
            let begin = own.len();
            own.extend(same.iter().map(|_| (begin, begin + same.len())));
        }
        let weight = |place: usize| f64::from(weights[rows[place] as usize]);
        let sums = running((0..rows.len()).map(weight));
        let several = |&place: &usize| {
            let (begin, end) = own[place];
            end - begin > 1 && end - begin < rows.len()
        };
        let places: Vec<usize> = (0..rows.len()).filter(several).collect();
        let place_sums = running(places.iter().map(|&place| weight(place)));
        Self {
            anchors: place_sums.last().copied().unwrap_or(0.0),
            rows,
            sums,
            own,
            places,
            place_sums,
        }
    }

    fn triplet(&self, rng: &mut impl Rng) -> (u32, u32, u32) {
        let at = place_of(&self.place_sums, rng.random::<f64>() * self.anchors);
        let anchor = self.places[at];
        let (begin, end) = self.own[anchor];
        let within = (anchor, anchor + 1);
        let p = self.other(rng.random(), (begin, end), within);
        let n = self.other(rng.random(), (0, self.rows.len()), (begin, end));
        (self.rows[anchor], self.rows[p], self.rows[n])
    }

    /// A place within `from` and outside of `but`, by a number from 0 to 1.
    fn other(&self, share: f64, from: (usize, usize), but: (usize, usize)) -> usize {
        let sums = &self.sums;
        let before = sums[but.0] - sums[from.0];
        let after = sums[from.1] - sums[but.1];
        let at = share * (before + after);
        // Rounding at the ends must not lead outside.
        if (at < before || but.1 == from.1) && but.0 > from.0 {
            place_of(sums, sums[from.0] + at).clamp(from.0, but.0 - 1)
        } else {
            place_of(sums, sums[but.1] + (at - before)).clamp(but.1, from.1 - 1)
        }
    }
}

/// 0 and all sums of the first so many.
fn running(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sums = vec![0.0];
    let mut sum = 0.0;
    for value in values {
        sum += value;
        sums.push(sum);
    }
    sums
}

/// The last place whose sum is not above `at`.
fn place_of(sums: &[f64], at: f64) -> usize {
    let above = sums.partition_point(|&sum| sum <= at);
    above.clamp(1, sums.len() - 1) - 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::linear::check_values::{relative_error, standardized, wine, wine_triplets};

    /// The rule as it is written.
    fn naive(
        x: &Array2<f64>,
        triplets: &Triplets,
        c: f64,
        mut w: Array2<f64>,
    ) -> (Array2<f64>, u64) {
        let mut updates = 0;
        for (a, p, n, weight) in triplets.iter() {
            let [a, p, n] = [a, p, n].map(|i| x.row(i as usize));
            let e = &p - &n;
            let loss = (1.0 - a.dot(&w.dot(&e))).max(0.0);
            let tau = (f64::from(weight) * c).min(loss / (a.dot(&a) * e.dot(&e)));
            if tau > 0.0 && tau.is_finite() {
                updates += 1;
                for ((i, j), w) in w.indexed_iter_mut() {
                    *w += tau * a[i] * e[j];
                }
            }
        }
        (w, updates)
    }

    #[test]
    fn the_pass_over_wines() {
        let x = standardized(&wine().0);
        let read = |from: usize| {
            let file = include_str!("../../testdata/oasis_wine.csv");
            let lines = file.lines().skip(1 + 13 * from).take(13);
            let values = lines.flat_map(|line| line.split(',').map(|v| v.parse::<f64>().unwrap()));
            Array2::from_shape_vec((13, 13), values.collect()).unwrap()
        };
        let silent = Monitor::silent();
        let own = Oasis::new();
        let found = own
            .pass(&x, &wine_triplets(), Array2::eye(13), &silent)
            .unwrap();
        assert_eq!(found.updates, 18);
        assert!(relative_error(&found.w, &read(1)) < 1e-10);
        let mut one = Triplets::default();
        let (a, p, n, w) = wine_triplets().iter().next().unwrap();
        one.push(a, p, n, w);
        let first = own.pass(&x, &one, Array2::eye(13), &silent).unwrap().w;
        assert!(relative_error(&first, &read(0)) < 1e-10);
        // The check value is projected once, at the end.
        let projected = spd::project(&found.w).unwrap();
        assert!(relative_error(&projected, &read(2)) < 1e-10);
    }

    fn random(n: usize, d: usize, many: usize, number: u64) -> (Array2<f64>, Triplets) {
        let mut rng = seed::stream(number, "oasis");
        let x = Array2::from_shape_fn((n, d), |_| f64::from(rng.random_range(-1.0_f32..1.0)));
        let mut triplets = Triplets::default();
        while triplets.len() < many {
            let [a, p, q] = [0; 3].map(|_: u32| rng.random_range(0..n as u32));
            if a != p && a != q && p != q {
                triplets.push(a, p, q, [0.0, 0.5, 1.0, 3.0][rng.random_range(0..4)]);
            }
        }
        (x, triplets)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]
        #[test]
        fn blocks_are_one_triplet_after_the_other(
            n in 3_usize..30, d in 1_usize..20, many in 0_usize..400, c in 0.01_f64..3.0,
            number in any::<u64>(),
        ) {
            let (x, triplets) = random(n, d, many, number);
            let own = Oasis::new().aggressiveness(c);
            let silent = Monitor::silent();
            let found = own.pass(&x, &triplets, Array2::eye(d), &silent).unwrap();
            let (expected, _) = naive(&x, &triplets, c, Array2::eye(d));
            prop_assert!(relative_error(&found.w, &expected) < 1e-8);
            // In two passes, the second from the first.
            let half = many / 2;
            let part = |range: std::ops::Range<usize>| {
                let mut part = Triplets::default();
                for t in triplets.iter().skip(range.start).take(range.len()) {
                    part.push(t.0, t.1, t.2, t.3);
                }
                part
            };
            let x = x.mapv(|v| v as f32);
            let first = own.fit_triplets(x.view(), &part(0..half), None, &silent).unwrap();
            let both = own.fit_triplets(x.view(), &part(half..many), Some(first.view()), &silent);
            prop_assert!(relative_error(&both.unwrap(), &expected) < 1e-8);
        }

        #[test]
        fn draws_are_triplets_of_the_classes(
            n in 2_usize..40, classes in 1_u32..5, number in any::<u64>(),
        ) {
            let mut rng = seed::stream(number, "classes");
            let class: Vec<u32> = (0..n).map(|_| rng.random_range(0..classes)).collect();
            let weight: Vec<f32> =
                (0..n).map(|_| [0.0, 0.1, 1.0][rng.random_range(0..3)]).collect();
            let of = |c: u32| (0..n).filter(|&i| class[i] == c && weight[i] > 0.0).count();
            let all = weight.iter().filter(|&&w| w > 0.0).count();
            let possible = (0..classes).any(|c| of(c) > 1 && of(c) < all);
            let drawn = Oasis::new().steps(300).draw(&class, &weight, number);
            prop_assert_eq!(drawn.is_ok(), possible);
            if let Ok(drawn) = drawn {
                prop_assert!(drawn.check(n).is_ok() && drawn.len() == 300);
                for (a, p, q, _) in drawn.iter() {
                    prop_assert!(class[a as usize] == class[p as usize]);
                    prop_assert!(class[a as usize] != class[q as usize]);
                    prop_assert!([a, p, q].iter().all(|&i| weight[i as usize] > 0.0));
                }
            }
        }
    }

    #[test]
    fn rows_are_drawn_by_their_weight() {
        let drawn = Oasis::new().steps(40_000);
        let drawn = drawn
            .draw(&[0, 0, 0, 1, 1], &[1.0, 2.0, 1.0, 3.0, 1.0], 7)
            .unwrap();
        let share = |hits: usize, of: usize| hits as f64 / of as f64;
        let anchor = drawn.anchors.iter().filter(|&&a| a == 1).count();
        assert!((share(anchor, 40_000) - 0.25).abs() < 0.01);
        let both = || drawn.iter().filter(|t| t.0 == 0);
        let positive = both().filter(|t| t.1 == 1).count();
        assert!((share(positive, both().count()) - 2.0 / 3.0).abs() < 0.03);
        let negative = both().filter(|t| t.2 == 3).count();
        assert!((share(negative, both().count()) - 0.75).abs() < 0.03);
    }

    #[test]
    fn the_result_is_the_same_on_two_threads_and_psd_where_asked() {
        let (x, triplets) = random(60, 150, 700, 3);
        let own = Oasis::new().psd(true);
        let fit = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let silent = Monitor::silent();
            (pool.build().unwrap()).install(|| {
                own.pass(&x, &triplets, Array2::eye(150), &silent)
                    .unwrap()
                    .w
            })
        };
        let one = fit(1);
        assert_eq!(one, fit(2));
        for i in 0..60 {
            assert!(x.row(i).dot(&one.dot(&x.row(i))) > -1e-9);
        }
        let silent = Monitor::silent();
        let own = Oasis::new().symmetric(true);
        let w = own
            .pass(&x, &triplets, Array2::eye(150), &silent)
            .unwrap()
            .w;
        assert!(relative_error(&w.t().to_owned(), &w) < 1e-15);
    }

    #[test]
    fn triplets_that_say_nothing_change_nothing() {
        let x = ndarray::array![[0.0, 0.0], [1.0, 2.0], [1.0, 2.0], [3.0, 1.0_f32]];
        let mut triplets = Triplets::default();
        triplets.push(3, 1, 2, 1.0); // Positive and negative are the same.
        triplets.push(0, 1, 3, 1.0); // An anchor of zeros.
        triplets.push(1, 2, 3, 0.0);
        let silent = Monitor::silent();
        let own = Oasis::new();
        let w = own
            .fit_triplets(x.view(), &triplets, None, &silent)
            .unwrap();
        assert_eq!(w, Array2::<f64>::eye(2));
        let start = Array2::<f64>::zeros((3, 3));
        assert!(
            own.fit_triplets(x.view(), &triplets, Some(start.view()), &silent)
                .is_err()
        );
        assert!(
            own.fit_weighted(x.view(), &[0, 0, 1, 1], &[1.0; 4], 1, &silent)
                .is_ok()
        );
        assert!(own.draw(&[0, 1], &[1.0; 2], 1).is_err());
        assert!(own.draw(&[0, 0], &[1.0; 2], 1).is_err());
        assert!(own.draw(&[0], &[1.0; 2], 1).is_err());
        for wrong in [own.aggressiveness(0.0), own.steps(0)] {
            assert!(
                wrong
                    .validate()
                    .unwrap_err()
                    .to_string()
                    .starts_with("oasis.")
            );
        }
    }
}
