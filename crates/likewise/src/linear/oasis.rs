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

pub(crate) mod pass;
#[cfg(test)]
mod tests;

use ndarray::{Array2, ArrayView2};
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use self::pass::{Mended, Passed, pass};
use crate::learn::{Evidence, Fit, Need, Size};
use crate::matrix::check_finite;
use crate::model::Model;
use crate::{Error, Monitor, Result, Triplets, seed};

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

    /// Parameters that change nothing beside the others, each with the reason; of one only where the triplets
    /// are `given`.
    pub fn idle(&self, given: bool) -> Vec<(&'static str, &'static str)> {
        let symmetric = ("symmetric", "psd makes the matrix symmetric, too");
        let steps = ("steps", "the triplets are given, so none are drawn");
        let idle = [(self.psd, symmetric), (given, steps)].into_iter();
        idle.filter_map(|(idle, what)| idle.then_some(what))
            .collect()
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
    /// identity. Two passes, the second from what the first gave, are one over both, unless `W` is made
    /// [symmetric](Self::symmetric) or [positive](Self::psd): when that is done follows from how many
    /// triplets a pass has.
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
        Ok(self
            .pass(
                &x.as_standard_layout().mapv(f64::from),
                triplets,
                w,
                monitor,
            )?
            .w)
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

    fn mended(&self) -> Mended {
        match (self.psd, self.symmetric) {
            (true, _) => Mended::Psd,
            (false, true) => Mended::Symmetric,
            (false, false) => Mended::Never,
        }
    }

    /// One pass over rows that were checked, from `w`.
    fn pass(
        &self,
        x: &Array2<f64>,
        triplets: &Triplets,
        w: Array2<f64>,
        monitor: &Monitor,
    ) -> Result<Passed> {
        let (most, mended) = (self.aggressiveness, self.mended());
        pass(x, triplets, w, most, mended, monitor)
    }
}

impl Fit for Oasis {
    fn needs(&self) -> &'static [Need] {
        &[Need::Ranked]
    }

    fn gives_distance(&self) -> bool {
        false
    }

    fn goes_on(&self) -> bool {
        true
    }

    fn operations(&self, of: &Size) -> f64 {
        self.steps as f64 * (6.0 * of.columns * of.columns + 1e4)
    }

    fn validate(&self) -> Result<()> {
        Oasis::validate(self)
    }

    /// From given triplets in their order, from where a model [before](Evidence::before) stands, or
    /// from as many as `steps` that are drawn from the classes. A model that is mended on the way begins
    /// anew: with more triplets it is mended elsewhere.
    fn fit(&self, evidence: &Evidence, seed: u64, monitor: &Monitor) -> Result<Model> {
        let (rows, targets) = (evidence.coordinates()?, evidence.targets);
        // Of other coordinates, `W` cannot be had back.
        let goes_on = evidence.start.as_given && self.mended() == Mended::Never;
        let w = match &targets.triplets {
            Some(triplets) => match evidence.before {
                Some((Model::Bilinear(before), learned)) if goes_on => {
                    let (start, more) = (Some(before.matrix.view()), triplets.skip(learned));
                    self.fit_triplets(rows.view(), &more, start, monitor)?
                }
                _ => self.fit_triplets(rows.view(), triplets, None, monitor)?,
            },
            None => {
                self.fit_weighted(rows.view(), &targets.class, &targets.weight, seed, monitor)?
            }
        };
        evidence.start.bilinear(w)
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
