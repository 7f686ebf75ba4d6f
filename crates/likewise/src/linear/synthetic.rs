//! SUML: a map learned without labels, from comparisons that it makes up itself.
//!
//! ```text
//! three random items a, p, n;  s = S^T [u; v] is a constructed point of two items, z = L s
//!
//! case      1        2        3        4        5
//! s       [a; a]   [a; a]   [p; p]   [a; p]   [a; p]
//! s+      [a; p]   [a; n]   [p; n]   [a; n]     -
//! s-      [a; n]   [a; p]   [p; a]     -      [a; n]
//!
//! d(x, y) = |x - y|^2,  t = tan^2(angle),  s_m = (s + s+) / 2
//! cases 1 to 3   f_m = d(z, z+) - 4t d(z-, z_m)       m   = log(1 + exp(f_m / max f_m))
//!                f_s = 4t d(s-, s_m) - d(s, s+)       syn = log(1 + exp(f_s / max f_s))
//! case 4         f_m = d(z, z+),   f_s = -d(s, s+)    m = f_m / max f_m, syn = f_s / max f_s
//! case 5         f_m = -d(z, z-),  f_s = d(s, s-)     the same
//!
//! p = 1 / (1 + exp(syn + m))
//! minimise over S and L   1/T [ sum of -p log p over T triplets and five cases
//!                               + lambda / 10 |L L^T - I|^2 ]
//! ```
//!
//! `S` (`2d x d`) makes up points that break the comparison, `L` (`l x d`) keeps it: as a pair they are
//! to be sure of it, one way or the other. The map of an item is `L x`, compared by the cosine.
//!
//! **Use it** as the metric that needs no label, to compare with the literature. **Not** in place of
//! [whitening](super::whitening) or [PCA](super::pca), which need none either: nothing in the objective
//! says which items are alike, since `a`, `p` and `n` are any three. Not with many hundred columns,
//! since `S` holds two squares of them.
//!
//! # Cost
//! O(m d (d + l) + T d) in `f64` for each of about `draws x iterations` steps, with `m` the items that
//! the triplets of a draw name, at most three times their number; memory O(m d + d^2).
//!
//! Source: Dutta, Harandi and Sekhar, "Unsupervised metric learning with synthetic examples", AAAI 2020,
//! and the authors' code, from which the division by the largest argument of a draw, by `T`, and of
//! `lambda` by 10 are; the largest is a part of what is differentiated, and nothing is divided where it is
//! not above 0. The paper asks that the five `p` of a triplet sum to 1; neither the code nor this does so.
//! Where we differ: L-BFGS in place of conjugate gradients; thirty draws in all, where 30 epochs of
//! mini-batches of 120 items make a draw for each: `draws` asks for more. Both maps start from random numbers; on digits
//! a start from points midway between two items and from principal directions ended a third lower in MAP@R.

use ndarray::{Array2, ArrayView1, ArrayView2, Axis};
use rand::RngExt;
use rand::seq::index;
use serde::{Deserialize, Serialize};

use super::Affine;
use crate::learn::{Evidence, Fit, Need};
use crate::matrix::{check_finite, l2_normalize, product, product_of_many};
use crate::model::Model;
use crate::seed::{self, Rng};
use crate::solve::lbfgs::{self, Until};
use crate::{Error, ErrorKind, Monitor, Result};

/// Parameters of SUML; see [`synthetic`](self).
///
/// ```
/// use likewise::{Monitor, linear::Synthetic};
/// let x = ndarray::Array2::from_shape_fn((20, 4), |(i, j)| ((3 * i + j * j) as f32).sin());
/// let own = Synthetic::new().rank(2).triplets(50).draws(2);
/// let l = own.fit_rows(x.view(), 1, &Monitor::silent())?;
/// assert_eq!(l.dim(), (2, 4));
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Synthetic {
    rank: usize,
    angle: f64,
    lambda: f64,
    triplets: usize,
    draws: usize,
    iterations: usize,
}

impl Default for Synthetic {
    fn default() -> Self {
        Self {
            rank: 64,
            angle: 40.0,
            lambda: 0.5,
            triplets: 1000,
            draws: 30,
            iterations: 10,
        }
    }
}

impl Synthetic {
    /// 64 rows of `L`, 40 degrees, lambda .5, thirty draws of 1000 triplets with ten steps each.
    pub fn new() -> Self {
        Self::default()
    }

    /// Rows of `L`, at least 1; as many as columns where there are fewer.
    #[must_use]
    pub fn rank(mut self, rank: usize) -> Self {
        self.rank = rank;
        self
    }

    /// The bound on the angle at the negative, in degrees, above 0 and below 90.
    #[must_use]
    pub fn angle(mut self, degrees: f64) -> Self {
        self.angle = degrees;
        self
    }

    /// Weight of `|L L^T - I|^2`, at least 0.
    #[must_use]
    pub fn lambda(mut self, lambda: f64) -> Self {
        self.lambda = lambda;
        self
    }

    /// Triplets of a draw, at least 1.
    #[must_use]
    pub fn triplets(mut self, triplets: usize) -> Self {
        self.triplets = triplets;
        self
    }

    /// Draws of triplets, one after the other, at least 1.
    #[must_use]
    pub fn draws(mut self, draws: usize) -> Self {
        self.draws = draws;
        self
    }

    /// Most steps on each draw, at least 1.
    #[must_use]
    pub fn iterations(mut self, iterations: usize) -> Self {
        self.iterations = iterations;
        self
    }

    /// Checks all fields.
    pub fn validate(&self) -> Result<()> {
        for (field, value) in [
            ("synthetic.rank", self.rank),
            ("synthetic.triplets", self.triplets),
            ("synthetic.draws", self.draws),
            ("synthetic.iterations", self.iterations),
        ] {
            if value == 0 {
                return Err(Error::parameter(field, 0, "must be at least 1"));
            }
        }
        if !(self.angle > 0.0 && self.angle < 90.0) {
            let rule = "must be above 0 and below 90 degrees";
            return Err(Error::parameter("synthetic.angle", self.angle, rule));
        }
        if self.lambda.is_finite() && self.lambda >= 0.0 {
            return Ok(());
        }
        let rule = "must be at least 0";
        Err(Error::parameter("synthetic.lambda", self.lambda, rule))
    }

    /// The map `L` (`l x d`) from rows (`n x d`), of which only the directions are seen.
    ///
    /// Fails on NaN, with fewer than three rows or without a column, on a parameter out of its range, and
    /// when cancelled.
    pub fn fit_rows(
        &self,
        x: ArrayView2<f32>,
        seed: u64,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        self.validate()?;
        check_finite(x, "synthetic")?;
        let (n, d) = x.dim();
        if n < 3 || d == 0 {
            return Err(Error::data(format!(
                "SUML compares three items by their columns, but there are {n} items of {d} columns"
            )));
        }
        let unit = l2_normalize(x.to_owned());
        let mut at = self.start(d, seed);
        let mut rng = seed::stream(seed, "synthetic triplets");
        let shape = at.shape();
        monitor.start("synthetic", self.draws as u64);
        for draw in 0..self.draws {
            let drawn = Drawn::new(&unit, self.triplets, &mut rng);
            let mut first = None;
            let until = Until {
                steps: self.iterations,
                gradient: 1e-9,
            };
            let found = lbfgs::minimise(at.flat(), until, |point| {
                monitor.check()?;
                let (value, slopes) = self.compute(&drawn, &Maps::shaped(shape, point)?);
                first.get_or_insert(value);
                Ok((value, slopes.flat()))
            })?;
            at = Maps::shaped(shape, &found)?;
            monitor.values(&[("objective", first.unwrap_or_default())]);
            monitor.step(draw as u64 + 1)?;
        }
        monitor.end();
        Ok(at.l)
    }

    /// Where `S` and `L` start, for `d` columns: columns of `S` and rows of `L` of length 1 in
    /// the mean.
    fn start(&self, d: usize, seed: u64) -> Maps {
        let mut rng = seed::stream(seed, "synthetic start");
        let mut drawn = |rows: usize, length: usize| {
            let bound = (3.0 / length as f64).sqrt();
            Array2::from_shape_fn((rows, d), |_| rng.random_range(-bound..bound))
        };
        Maps {
            upper: drawn(d, 2 * d),
            lower: drawn(d, 2 * d),
            l: drawn(self.rank.min(d), d),
        }
    }

    /// The objective on some triplets, and its gradient.
    fn compute(&self, drawn: &Drawn, at: &Maps) -> (f64, Maps) {
        let t = self.angle.to_radians().tan().powi(2);
        let count = drawn.triplets.len() as f64;
        let [upper, lower] = [&at.upper, &at.lower].map(|s| product_of_many(&drawn.x, &turned(s)));
        let s = Halves { upper, lower };
        let z = Halves {
            upper: product_of_many(&s.upper, &at.l),
            lower: product_of_many(&s.lower, &at.l),
        };
        let (mut of_s, mut of_z) = (s.zeros(), z.zeros());
        let mut value = 0.0;
        for case in Case::ALL {
            let signs = case.signs();
            let of = |halves: &Halves, sign: f64| -> Vec<f64> {
                let each = drawn.triplets.iter();
                each.map(|items| sign * case.compared(halves, *items, t))
                    .collect()
            };
            // What is made up breaks what is learned: the same comparison with the other sign.
            let made = Scaled::new(of(&s, -signs), case.is_soft());
            let kept = Scaled::new(of(&z, signs), case.is_soft());
            let slopes: Vec<f64> = (made.values.iter().zip(&kept.values))
                .map(|(made, kept)| {
                    let l = made + kept;
                    let log = -softplus(l);
                    let p = log.exp();
                    value -= p * log;
                    (1.0 + log) * p * (1.0 - p) / count
                })
                .collect();
            for (slope, items) in made.slopes(&slopes).into_iter().zip(&drawn.triplets) {
                case.add(&s, *items, t, -signs * slope, &mut of_s);
            }
            for (slope, items) in kept.slopes(&slopes).into_iter().zip(&drawn.triplets) {
                case.add(&z, *items, t, signs * slope, &mut of_z);
            }
        }
        let mut off = product(&at.l, &at.l);
        off.diag_mut().mapv_inplace(|v| v - 1.0);
        let weight = self.lambda / (10.0 * count);
        value = value / count + weight * off.iter().map(|v| v * v).sum::<f64>();

        let l = product(&turned(&of_z.upper), &turned(&s.upper))
            + product(&turned(&of_z.lower), &turned(&s.lower))
            + product(&off, &turned(&at.l)) * (4.0 * weight);
        let x = turned(&drawn.x);
        let through = |own: &Array2<f64>, z: &Array2<f64>| {
            let whole = own + &product_of_many(z, &turned(&at.l));
            product_of_many(&x, &turned(&whole))
        };
        let slopes = Maps {
            upper: through(&of_s.upper, &of_z.upper),
            lower: through(&of_s.lower, &of_z.lower),
            l,
        };
        (value, slopes)
    }
}

impl Fit for Synthetic {
    /// No label is used.
    fn needs(&self) -> &'static [Need] {
        &[]
    }

    fn gives_distance(&self) -> bool {
        false
    }

    fn validate(&self) -> Result<()> {
        Synthetic::validate(self)
    }

    fn fit(&self, evidence: &Evidence, seed: u64, monitor: &Monitor) -> Result<Model> {
        let l = self.fit_rows(evidence.rows, seed, monitor)?;
        let Affine { mean, matrix } = &evidence.start.whitening;
        let whole = Affine {
            mean: mean.clone(),
            matrix: matrix.dot(&l.t()),
        };
        Ok(Model::linear(evidence.start.reading, whole))
    }
}

/// What is learned: `S` in its two halves (each `d x d`), and `L` (`l x d`).
struct Maps {
    upper: Array2<f64>,
    lower: Array2<f64>,
    l: Array2<f64>,
}

impl Maps {
    fn shape(&self) -> (usize, usize) {
        self.l.dim()
    }

    fn flat(&self) -> Vec<f64> {
        let parts = [&self.upper, &self.lower, &self.l];
        parts.into_iter().flatten().copied().collect()
    }

    fn shaped((rank, d): (usize, usize), flat: &[f64]) -> Result<Self> {
        let part = |rows: usize, from: usize| {
            let values = flat.get(from..from + rows * d).unwrap_or_default();
            Array2::from_shape_vec((rows, d), values.to_vec())
                .map_err(|e| Error::new(ErrorKind::Internal, format!("{rows} x {d}: {e}")))
        };
        Ok(Self {
            upper: part(d, 0)?,
            lower: part(d, d * d)?,
            l: part(rank, 2 * d * d)?,
        })
    }
}

/// Some triplets, and the items that they name.
struct Drawn {
    x: Array2<f64>,
    triplets: Vec<[usize; 3]>,
}

impl Drawn {
    /// Triplets of three distinct items each.
    fn new(unit: &Array2<f32>, count: usize, rng: &mut Rng) -> Self {
        let n = unit.nrows();
        let drawn: Vec<[usize; 3]> = (0..count)
            .map(|_| {
                let items = index::sample(rng, n, 3);
                [items.index(0), items.index(1), items.index(2)]
            })
            .collect();
        let mut named: Vec<usize> = drawn.iter().flatten().copied().collect();
        named.sort_unstable();
        named.dedup();
        let mut place = vec![0; n];
        for (at, &item) in named.iter().enumerate() {
            place[item] = at;
        }
        Self {
            x: unit.select(Axis(0), &named).mapv(f64::from),
            triplets: drawn.into_iter().map(|t| t.map(|i| place[i])).collect(),
        }
    }
}

/// What each item adds to a constructed point as its first and as its second item.
struct Halves {
    upper: Array2<f64>,
    lower: Array2<f64>,
}

impl Halves {
    fn zeros(&self) -> Self {
        let zeros = || Array2::zeros(self.upper.dim());
        Self {
            upper: zeros(),
            lower: zeros(),
        }
    }

    fn point(&self, [u, v]: [usize; 2]) -> (ArrayView1<'_, f64>, ArrayView1<'_, f64>) {
        (self.upper.row(u), self.lower.row(v))
    }

    /// Adds `factor` times `along` to the slopes of a point.
    fn add(&mut self, [u, v]: [usize; 2], factor: f64, along: &[f64]) {
        for (half, item) in [(&mut self.upper, u), (&mut self.lower, v)] {
            let row = half.row_mut(item);
            for (to, value) in row.into_iter().zip(along) {
                *to += factor * value;
            }
        }
    }

    /// `x - (y + w) / 2` with `y = w` where there is one alone.
    fn apart(&self, x: [usize; 2], y: [usize; 2], w: [usize; 2]) -> Vec<f64> {
        let [x, y, w] = [x, y, w].map(|point| self.point(point));
        (0..self.upper.ncols())
            .map(|k| x.0[k] + x.1[k] - (y.0[k] + y.1[k] + w.0[k] + w.1[k]) / 2.0)
            .collect()
    }
}

/// One of the five comparisons.
#[derive(Clone, Copy)]
enum Case {
    /// `s`, `s+` and `s-`, each by which of a, p, n its two items are.
    Three([[usize; 2]; 3]),
    /// `s` and `s+`: alike.
    Alike([[usize; 2]; 2]),
    /// `s` and `s-`: unlike.
    Unlike([[usize; 2]; 2]),
}

impl Case {
    const ALL: [Self; 5] = [
        Self::Three([[0, 0], [0, 1], [0, 2]]),
        Self::Three([[0, 0], [0, 2], [0, 1]]),
        Self::Three([[1, 1], [1, 2], [1, 0]]),
        Self::Alike([[0, 1], [0, 2]]),
        Self::Unlike([[0, 1], [0, 2]]),
    ];

    /// Whether its arguments go through `log(1 + exp())`.
    fn is_soft(self) -> bool {
        matches!(self, Self::Three(_))
    }

    /// The sign of what is compared in what is learned; in what is made up it is the other.
    fn signs(self) -> f64 {
        match self {
            Self::Three(_) | Self::Alike(_) => 1.0,
            Self::Unlike(_) => -1.0,
        }
    }

    /// `d(s, s+) - 4t d(s-, s_m)`, or the distance of the two.
    fn compared(self, halves: &Halves, items: [usize; 3], t: f64) -> f64 {
        let square = |v: Vec<f64>| v.iter().map(|v| v * v).sum::<f64>();
        match self {
            Self::Three(points) => {
                let [s, alike, unlike] = points.map(|pair| pair.map(|k| items[k]));
                square(halves.apart(s, alike, alike))
                    - 4.0 * t * square(halves.apart(unlike, s, alike))
            }
            Self::Alike(points) | Self::Unlike(points) => {
                let [s, other] = points.map(|pair| pair.map(|k| items[k]));
                square(halves.apart(s, other, other))
            }
        }
    }

    /// Adds `factor` times the slopes of [`compared`](Self::compared).
    fn add(self, halves: &Halves, items: [usize; 3], t: f64, factor: f64, to: &mut Halves) {
        match self {
            Self::Three(points) => {
                let [s, alike, unlike] = points.map(|pair| pair.map(|k| items[k]));
                let near = halves.apart(s, alike, alike);
                to.add(s, 2.0 * factor, &near);
                to.add(alike, -2.0 * factor, &near);
                let far = halves.apart(unlike, s, alike);
                let factor = -8.0 * t * factor;
                to.add(unlike, factor, &far);
                to.add(s, factor / -2.0, &far);
                to.add(alike, factor / -2.0, &far);
            }
            Self::Alike(points) | Self::Unlike(points) => {
                let [s, other] = points.map(|pair| pair.map(|k| items[k]));
                let apart = halves.apart(s, other, other);
                to.add(s, 2.0 * factor, &apart);
                to.add(other, -2.0 * factor, &apart);
            }
        }
    }
}

/// What counts as 0 among arguments, which are sums of squared distances: of equal rows rounding leaves
/// some 1e-17 or none, and divided by itself that would be 1.
const NOTHING: f64 = 1e-12;

/// The arguments of a case in all triplets, by the largest of them.
struct Scaled {
    arguments: Vec<f64>,
    largest: usize,
    /// What is divided by: 1 where the largest is not above [`NOTHING`].
    by: f64,
    soft: bool,
    values: Vec<f64>,
}

impl Scaled {
    fn new(arguments: Vec<f64>, soft: bool) -> Self {
        let above = |best: usize, i: usize| {
            if arguments[i] > arguments[best] {
                i
            } else {
                best
            }
        };
        let largest = (1..arguments.len()).fold(0, above);
        let max = arguments.get(largest).copied().unwrap_or_default();
        let by = if max > NOTHING { max } else { 1.0 };
        let value = |f: &f64| if soft { softplus(f / by) } else { f / by };
        Self {
            values: arguments.iter().map(value).collect(),
            arguments,
            largest,
            by,
            soft,
        }
    }

    /// The slope by each argument, where `slopes` are those by each value. The largest argument moves
    /// all values.
    fn slopes(&self, slopes: &[f64]) -> Vec<f64> {
        let by_share = |(slope, f): (&f64, &f64)| {
            let inner = if self.soft { sigmoid(f / self.by) } else { 1.0 };
            slope * inner / self.by
        };
        let each = slopes.iter().zip(&self.arguments);
        let mut found: Vec<f64> = each.map(by_share).collect();
        let is_divided = (self.arguments.get(self.largest)).is_some_and(|&max| max > NOTHING);
        if is_divided {
            let all: f64 = (found.iter().zip(&self.arguments))
                .map(|(slope, f)| slope * f / self.by)
                .sum();
            found[self.largest] -= all;
        }
        found
    }
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

fn sigmoid(x: f64) -> f64 {
    (-softplus(-x)).exp()
}

fn turned(x: &Array2<f64>) -> Array2<f64> {
    x.t().as_standard_layout().into_owned()
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, array, concatenate, s};
    use proptest::prelude::*;

    use super::*;

    fn random(n: usize, d: usize, number: u64) -> Array2<f32> {
        let mut rng = seed::stream(number, "test rows");
        Array2::from_shape_fn((n, d), |_| rng.random_range(-1.0_f32..1.0))
    }

    /// The formula as it is written, of one triplet after the other.
    fn naive(own: &Synthetic, drawn: &Drawn, at: &Maps) -> f64 {
        let t = own.angle.to_radians().tan().powi(2);
        let stacked = concatenate![Axis(0), at.upper, at.lower];
        let constructed = |u: usize, v: usize| -> Array1<f64> {
            let c = concatenate![Axis(0), drawn.x.row(u), drawn.x.row(v)];
            stacked.t().dot(&c)
        };
        let d2 = |x: &Array1<f64>, y: &Array1<f64>| (x - y).mapv(|v| v * v).sum();
        let soft = |f: f64| (1.0 + f.exp()).ln();
        let mut total = 0.0;
        for case in 1..=5 {
            let mut arguments = Vec::new();
            for &[a, p, n] in &drawn.triplets {
                let both = |map: bool| {
                    let point = |u, v| {
                        let s = constructed(u, v);
                        if map { at.l.dot(&s) } else { s }
                    };
                    let three = |s: Array1<f64>, alike: Array1<f64>, unlike: Array1<f64>| {
                        let middle = (&s + &alike) / 2.0;
                        d2(&s, &alike) - 4.0 * t * d2(&unlike, &middle)
                    };
                    match case {
                        1 => three(point(a, a), point(a, p), point(a, n)),
                        2 => three(point(a, a), point(a, n), point(a, p)),
                        3 => three(point(p, p), point(p, n), point(p, a)),
                        4 => d2(&point(a, p), &point(a, n)),
                        _ => -d2(&point(a, p), &point(a, n)),
                    }
                };
                arguments.push((-both(false), both(true)));
            }
            let largest = |of: fn(&(f64, f64)) -> f64| {
                let max = arguments.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
                if max > NOTHING { max } else { 1.0 }
            };
            let (by_s, by_m) = (largest(|f| f.0), largest(|f| f.1));
            for (f_s, f_m) in arguments {
                let l = if case <= 3 {
                    soft(f_s / by_s) + soft(f_m / by_m)
                } else {
                    f_s / by_s + f_m / by_m
                };
                let p = 1.0 / (1.0 + l.exp());
                total -= p * p.ln();
            }
        }
        let off = at.l.dot(&at.l.t()) - Array2::<f64>::eye(at.l.nrows());
        (total + own.lambda / 10.0 * off.mapv(|v| v * v).sum()) / drawn.triplets.len() as f64
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn the_objective_is_the_formula_and_its_slopes_are_the_gradient(
            n in 3_usize..12, d in 1_usize..6, rank in 1_usize..4, count in 1_usize..9,
            angle in 20.0_f64..60.0, lambda in 0.0_f64..2.0, size in 0.3_f64..3.0, number in any::<u64>(),
        ) {
            let own = Synthetic::new().rank(rank).angle(angle).lambda(lambda);
            let unit = l2_normalize(random(n, d, number));
            let mut rng = seed::stream(number, "test");
            let drawn = Drawn::new(&unit, count, &mut rng);
            let start = own.start(d, number);
            let shape = start.shape();
            let flat: Vec<f64> = start.flat().iter().map(|v| v * size).collect();
            let at = |flat: &[f64]| Maps::shaped(shape, flat).unwrap();
            let (value, slopes) = own.compute(&drawn, &at(&flat));
            let expected = naive(&own, &drawn, &at(&flat));
            prop_assert!((value - expected).abs() <= 1e-10 * (1.0 + expected.abs()), "{value} {expected}");
            let step: Vec<f64> = flat.iter().map(|_| 1e-6 * rng.random_range(-1.0_f64..1.0)).collect();
            let moved = |sign: f64| -> f64 {
                let to: Vec<f64> = flat.iter().zip(&step).map(|(v, s)| v + sign * s).collect();
                naive(&own, &drawn, &at(&to))
            };
            let slope = (moved(1.0) - moved(-1.0)) / 2.0;
            let told: f64 = slopes.flat().iter().zip(&step).map(|(g, s)| g * s).sum();
            prop_assert!((slope - told).abs() <= 1e-4 * told.abs() + 1e-11, "{slope} {told}");
        }
    }

    #[test]
    fn five_cases_of_one_triplet_by_hand() {
        // S takes the middle of both items and L the first column; t = 1, and one triplet: what is above 0
        // is divided by itself, what is below stays.
        let own = Synthetic::new().angle(45.0).lambda(0.0);
        let drawn = Drawn {
            x: array![[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]],
            triplets: vec![[0, 1, 2]],
        };
        let at = Maps {
            upper: Array2::eye(2) * 0.5,
            lower: Array2::eye(2) * 0.5,
            l: array![[1.0, 0.0]],
        };
        // Points of s, s+, s-: aa (1,0), ap (.5,.5), an (0,0); pp (0,1), pn (-.5,.5), pa (.5,.5).
        let soft = |f: f64| (1.0 + f64::exp(f)).ln();
        let one = soft(1.0);
        let cases = [
            // d(s,s+) .5, s_m (.75,.25), d(s-,s_m) .625: f_s 2, f_m .25 - 4 .5625 = -2.
            one + soft(-2.0),
            // d(s,s+) 1, s_m (.5,0), d(s-,s_m) .25: f_s = 1 - 1 = 0, f_m = 1 - 0 = 1.
            soft(0.0) + one,
            // d(s,s+) .5, s_m (-.25,.75), d(s-,s_m) .625: f_s 2, f_m = .25 - 4 .5625 = -2.
            one + soft(-2.0),
            // d 0.5 and .25: m = 1, syn = -.5.
            1.0 - 0.5,
            // m = -.25, syn = 1.
            -0.25 + 1.0,
        ];
        let expected: f64 = cases
            .iter()
            .map(|l| {
                let p = 1.0 / (1.0 + l.exp());
                -p * p.ln()
            })
            .sum();
        let (value, _) = own.compute(&drawn, &at);
        assert!((value - expected).abs() < 1e-12, "{value} {expected}");
    }

    #[test]
    fn arguments_are_divided_by_the_largest_unless_it_is_not_above_0() {
        let scaled = Scaled::new(vec![1.0, 4.0, -2.0], false);
        assert_eq!(scaled.values, [0.25, 1.0, -0.5]);
        // The largest is 1 whatever it is; the others fall as it grows.
        let slopes = scaled.slopes(&[1.0, 1.0, 1.0]);
        assert!((slopes[1] - (-0.25 * 0.25 + 0.5 * 0.25)).abs() < 1e-12);
        let below = Scaled::new(vec![-1.0, -4.0], false);
        assert_eq!(below.values, [-1.0, -4.0]);
        assert_eq!(below.slopes(&[1.0, 2.0]), [1.0, 2.0]);
        assert_eq!(Scaled::new(vec![0.0, 0.0], true).values, [2_f64.ln(); 2]);
    }

    #[test]
    fn a_fit_lowers_the_objective_on_other_triplets_and_one_thread_is_as_good_as_two() {
        let x = random(60, 6, 3);
        let unit = l2_normalize(x.clone());
        let own = Synthetic::new().rank(3).triplets(100).draws(6);
        let silent = Monitor::silent();
        let fit = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            (pool.build().unwrap()).install(|| own.fit_rows(x.view(), 5, &silent).unwrap())
        };
        let l = fit(1);
        assert_eq!(l, fit(2));
        assert_ne!(l, own.fit_rows(x.view(), 6, &silent).unwrap());
        // A row that is twice as long is the same.
        let longer = &x * 2.0;
        let again = own.fit_rows(longer.view(), 5, &silent).unwrap();
        assert!((&again - &l).iter().all(|e| e.abs() < 1e-3));
        let mut at = own.start(6, 5);
        let other = Drawn::new(&unit, 300, &mut seed::stream(9, "others"));
        let (before, _) = own.compute(&other, &at);
        let mut rng = seed::stream(5, "synthetic triplets");
        for _ in 0..own.draws {
            let drawn = Drawn::new(&unit, own.triplets, &mut rng);
            let shape = at.shape();
            let until = Until {
                steps: own.iterations,
                gradient: 1e-9,
            };
            let found = lbfgs::minimise(at.flat(), until, |point| {
                let (value, slopes) = own.compute(&drawn, &Maps::shaped(shape, point)?);
                Ok((value, slopes.flat()))
            });
            at = Maps::shaped(shape, &found.unwrap()).unwrap();
        }
        assert_eq!(at.l, l);
        let (after, _) = own.compute(&other, &at);
        assert!(after < before, "{before} {after}");
    }

    #[test]
    fn degenerate_rows_give_a_map_or_an_error() {
        let silent = Monitor::silent();
        let own = Synthetic::new().triplets(20).draws(2);
        for x in [
            Array2::from_elem((5, 3), 2.0),
            Array2::zeros((4, 2)),
            random(3, 1, 1),
            random(4, 40, 2),
        ] {
            for learner in [own, own.rank(2)] {
                let l = learner.fit_rows(x.view(), 1, &silent).unwrap();
                assert_eq!(l.dim(), (learner.rank.min(x.ncols()), x.ncols()));
                assert!(l.iter().all(|v| v.is_finite()), "{l}");
            }
        }
        let two = random(2, 3, 1);
        assert!(own.fit_rows(two.view(), 1, &silent).is_err());
        assert!(own.fit_rows(two.slice(s![.., ..0]), 1, &silent).is_err());
        let mut bad = random(5, 3, 1);
        bad[(1, 1)] = f32::NAN;
        assert!(own.fit_rows(bad.view(), 1, &silent).is_err());
        for wrong in [
            own.rank(0),
            own.triplets(0),
            own.draws(0),
            own.iterations(0),
            own.angle(90.0),
            own.lambda(-1.0),
        ] {
            let said = wrong.validate().unwrap_err().to_string();
            assert!(said.starts_with("synthetic."), "{said}");
        }
    }
}
