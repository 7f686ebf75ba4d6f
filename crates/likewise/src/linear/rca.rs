//! Relevant component analysis: whitens what varies within classes.
//!
//! ```text
//! C = sum_i w_i (x_i - m_c(i)) (x_i - m_c(i))^T / sum_i w_i      m_c: weighted mean of class c
//! L = ((1 - shrinkage) C + shrinkage tr(C)/d I)^(-1/2)           symmetric; M = L L
//! ```
//!
//! Directions in which the items of one class differ are turned down: what they say is not
//! what the labels are about. Nothing asks what tells the labeled classes apart, so the map
//! serves classes it has never seen; there, with five labels a class of image features, it has
//! beaten whitening of all that varies, which no head trained by gradients did.
//!
//! **Use it** for search among new classes, from labels, weighted pseudo-labels, or alike pairs,
//! whose [chunklets](crate::tuple::chunklet) take the place of classes. **Not**
//! with one label a class: without a class of two items nothing varies within classes, and
//! the map is the identity, with a warning.
//!
//! Cost: O(n d m + m^3) in `f64`, m the smaller of n and d; memory O(d m + block x d).
//!
//! Source: Bar-Hillel, Hertz, Shental and Weinshall, "Learning distance functions using
//! equivalence relations", ICML 2003; a chunklet is a class, or a part of one. Ours: weights, the
//! shrinkage, without which few labels leave C singular, and the cosine behind the map, which the
//! recipes `label-rca` and `mixed-rca` compare by. The recipe `rca` is the method as published: on
//! the features as they are, by the distance, with a shrinkage of a millionth, or of a tenth where
//! fewer than two rows a column say what C is (0 is the paper's, where C is regular).

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::affine::Affine;
use super::spd;
use super::whitening::Spectrum;
use crate::learn::{Evidence, Fit, Need, Varying};
use crate::matrix::check_finite;
use crate::model::Model;
use crate::tuple::Chunklets;
use crate::{Error, Labels, Monitor, Pairs, Result};

/// Least eigenvalue, beside the largest, that is not taken for 0.
const SINGULAR: f64 = 1e-12;

/// Parameters of relevant component analysis; see [`rca`](self).
///
/// ```
/// use likewise::{Labels, linear::Rca};
/// let x = ndarray::array![[0.0, 0.0], [4.0, 0.1], [0.0, 1.0], [4.0, 1.1_f32]];
/// let l = Rca::new().shrinkage(0.1).fit(x.view(), &Labels::from_integers([0, 0, 1, 1]))?;
/// // Within the classes the first column varies, so it counts less.
/// assert!(l[(0, 0)] < l[(1, 1)]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rca {
    #[serde(with = "usual")]
    shrinkage: Option<f64>,
}

impl Default for Rca {
    fn default() -> Self {
        Self {
            shrinkage: Some(0.5),
        }
    }
}

impl Rca {
    /// Shrinkage .5: what did best with five labels a class, on classes held out of the
    /// training classes of Cars196 and Caltech-101.
    pub fn new() -> Self {
        Self::default()
    }

    /// As published, but for as much shrinkage as C needs: a millionth, or a tenth of fewer than two
    /// rows (less one a class) for each column.
    pub fn paper() -> Self {
        Self { shrinkage: None }
    }

    /// Share of the mean variance in every direction's, from 0 (as published) to 1 (the identity,
    /// but for its scale).
    #[must_use]
    pub fn shrinkage(self, shrinkage: f64) -> Self {
        Self {
            shrinkage: Some(shrinkage),
        }
    }

    /// The map `L` (`d x d`, symmetric) from rows (`n x d`) and their labels; rows without a
    /// known label are left out. `x L` are the rows in the learned metric.
    ///
    /// Fails on NaN, on a shrinkage outside of [0, 1], where the numbers of rows and labels
    /// differ, without a known label, and where a shrinkage of 0 leaves C singular.
    pub fn fit(&self, x: ArrayView2<f32>, labels: &Labels) -> Result<Array2<f64>> {
        let classes = labels.items().iter().map(|label| label.class());
        let weights: Vec<f32> = (classes.clone())
            .map(|class| f32::from(u8::from(class.is_some())))
            .collect();
        let classes: Vec<u32> = classes.map(Option::unwrap_or_default).collect();
        self.fit_weighted(x, &classes, &weights)
    }

    /// As [`fit`](Self::fit), from a class and a weight of at least 0 for every row; a row of
    /// weight 0 is left out.
    pub fn fit_weighted(
        &self,
        x: ArrayView2<f32>,
        classes: &[u32],
        weights: &[f32],
    ) -> Result<Array2<f64>> {
        let learned = self.learn(x, classes, weights)?;
        Ok(learned.unwrap_or_else(|| Array2::eye(x.ncols())))
    }

    /// The map, or `None` where no two rows of one class differ.
    fn learn(
        &self,
        x: ArrayView2<f32>,
        classes: &[u32],
        weights: &[f32],
    ) -> Result<Option<Array2<f64>>> {
        self.validate()?;
        let (n, d) = x.dim();
        super::check_weighted(n, classes, weights)?;
        check_finite(x, "relevant component analysis")?;
        let members: Vec<usize> = (0..n).filter(|&i| weights[i] > 0.0).collect();
        let whole: f64 = members.iter().map(|&i| f64::from(weights[i])).sum();
        if members.is_empty() || d == 0 {
            return Err(Error::data(
                "relevant component analysis needs columns and a labeled row",
            ));
        }
        let mut of: Vec<u32> = members.iter().map(|&i| classes[i]).collect();
        of.sort_unstable();
        of.dedup();
        let beside = members.len() - of.len();
        if beside == 0 {
            return Ok(None);
        }
        let means = means(x, classes, weights);
        let usual = || spd::usual_shrinkage(beside as f64, d);
        let share = self.shrinkage.unwrap_or_else(usual);
        let spectrum = Spectrum::of_centered(members.len(), d, |row, out| {
            let i = members[row];
            // The spectrum divides by the number of rows, which here count by their weight.
            let factor = (f64::from(weights[i]) * members.len() as f64 / whole).sqrt();
            let mean = means.row(classes[i] as usize);
            for ((out, &value), mean) in out.iter_mut().zip(x.row(i)).zip(mean) {
                *out = factor * (f64::from(value) - mean);
            }
        })?;
        invert(share, &spectrum, d)
    }

    /// As [`fit`](Self::fit), from pairs of rows: the [chunklets](crate::tuple::chunklet) that
    /// alike pairs join take the place of classes, and rows in none are left out. Unlike pairs
    /// are not used, but a warning counts those that alike pairs contradict.
    ///
    /// Fails as [`fit`](Self::fit), without an alike pair, and on pairs that do not
    /// [fit](Pairs::check) the rows.
    pub fn fit_pairs(
        &self,
        x: ArrayView2<f32>,
        pairs: &Pairs,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        let chunklets = Chunklets::of(pairs, x.nrows())?;
        if chunklets.contradicted > 0 {
            monitor.warn(format!(
                "the items of {} unlike pairs are joined by alike ones; some of the pairs are \
                 wrong",
                chunklets.contradicted
            ));
        }
        let learned = self.learn(x, &chunklets.class, &chunklets.weight)?;
        Ok(or_identity(learned, x.ncols(), monitor))
    }

    /// From given pairs, where some of them are alike, or from classes.
    fn of_evidence(
        &self,
        rows: ArrayView2<f32>,
        evidence: &Evidence,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        if let Some(pairs) = evidence.alike_pairs() {
            return self.fit_pairs(rows, pairs, monitor);
        }
        let targets = evidence.targets;
        let learned = self.learn(rows, &targets.class, &targets.weight)?;
        Ok(or_identity(learned, rows.ncols(), monitor))
    }

    /// Checks the shrinkage.
    pub fn validate(&self) -> Result<()> {
        spd::check_shrinkage("rca.shrinkage", self.shrinkage)
    }
}

/// What was learned, or the identity and a warning.
fn or_identity(learned: Option<Array2<f64>>, d: usize, monitor: &Monitor) -> Array2<f64> {
    learned.unwrap_or_else(|| {
        monitor.warn(
            "relevant component analysis: no two different rows of one class, so nothing is learned \
             and all directions count alike; give a class more labels",
        );
        Array2::eye(d)
    })
}

/// `C^(-1/2)` of the shrunk covariance; `None` where nothing varies.
fn invert(share: f64, spectrum: &Spectrum, d: usize) -> Result<Option<Array2<f64>>> {
    let mean = spectrum.variances.sum() / d as f64;
    if mean <= 0.0 {
        return Ok(None);
    }
    let floor = share * mean;
    let shrunk = spectrum.variances.mapv(|v| (1.0 - share) * v + floor);
    let whole = shrunk.len() == d;
    let least = shrunk.iter().copied().fold(f64::INFINITY, f64::min);
    let least = if whole { least } else { least.min(floor) };
    if least <= SINGULAR * shrunk[0] {
        return Err(Error::data(format!(
            "the labeled rows do not vary within their classes in some of the {d} dimensions; \
             give a shrinkage above {share}"
        )));
    }
    let other = if whole { 0.0 } else { floor.sqrt().recip() };
    let inverse = shrunk.mapv(|v| v.sqrt().recip());
    Ok(Some(spectrum.symmetric(&inverse, other)))
}

impl Fit for Rca {
    fn needs(&self) -> &'static [Need] {
        &[Need::Alike]
    }

    fn gives_distance(&self) -> bool {
        true
    }

    fn validate(&self) -> Result<()> {
        Rca::validate(self)
    }

    /// The map behind the centred directions of the start, which it weighs itself, and unit rows
    /// behind it; of features as they are given, the metric as published. Given pairs take the place
    /// of classes, where some of them are alike.
    fn fit(&self, evidence: &Evidence, _: u64, monitor: &Monitor) -> Result<Model> {
        let rows = evidence.rotated()?;
        if evidence.start.as_given {
            let varying = Varying::of(rows, monitor);
            let map = self.of_evidence(varying.rows(), evidence, monitor)?;
            return evidence.start.transform(varying.map(map));
        }
        let map = self.of_evidence(rows, evidence, monitor)?;
        let Affine { mean, matrix } = &evidence.start.rotation;
        let whole = Affine {
            mean: mean.clone(),
            matrix: matrix.dot(&map),
        };
        Ok(Model::linear(evidence.start.reading, whole))
    }
}

/// The shrinkage in files: a number, or "usual".
mod usual {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Written {
        Share(f64),
        Word(String),
    }

    const WORD: &str = "usual";

    #[allow(clippy::ref_option)] // The form that serde calls.
    pub(super) fn serialize<S: Serializer>(of: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
        let written = of.map_or_else(|| Written::Word(WORD.into()), Written::Share);
        written.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
        match Written::deserialize(from)? {
            Written::Share(share) => Ok(Some(share)),
            Written::Word(word) if word == WORD => Ok(None),
            Written::Word(word) => Err(de::Error::custom(format!(
                "shrinkage is a number from 0 to 1, or \"{WORD}\", not {word:?}"
            ))),
        }
    }
}

/// The weighted mean of every class; 0 for one without weight.
fn means(x: ArrayView2<f32>, classes: &[u32], weights: &[f32]) -> Array2<f64> {
    let n_classes = classes.iter().max().map_or(0, |&last| last as usize + 1);
    let mut means = Array2::<f64>::zeros((n_classes, x.ncols()));
    let mut sums = vec![0.0; n_classes];
    for (i, row) in x.rows().into_iter().enumerate() {
        let (class, weight) = (classes[i] as usize, f64::from(weights[i]));
        if weight > 0.0 {
            sums[class] += weight;
            let mut mean = means.row_mut(class);
            mean.zip_mut_with(&row, |m, &v| *m += weight * f64::from(v));
        }
    }
    for (mut mean, sum) in means.rows_mut().into_iter().zip(sums) {
        if sum > 0.0 {
            mean /= sum;
        }
    }
    means
}

#[cfg(test)]
#[allow(clippy::unreadable_literal)] // Printed values.
mod tests {
    use super::*;
    use crate::{Event, seed};
    use proptest::prelude::*;
    use rand::RngExt;

    /// The first twelve irises of each class, in millimetres.
    const IRIS: [[u8; 4]; 36] = [
        [51, 35, 14, 2],
        [49, 30, 14, 2],
        [47, 32, 13, 2],
        [46, 31, 15, 2],
        [50, 36, 14, 2],
        [54, 39, 17, 4],
        [46, 34, 14, 3],
        [50, 34, 15, 2],
        [44, 29, 14, 2],
        [49, 31, 15, 1],
        [54, 37, 15, 2],
        [48, 34, 16, 2],
        [70, 32, 47, 14],
        [64, 32, 45, 15],
        [69, 31, 49, 15],
        [55, 23, 40, 13],
        [65, 28, 46, 15],
        [57, 28, 45, 13],
        [63, 33, 47, 16],
        [49, 24, 33, 10],
        [66, 29, 46, 13],
        [52, 27, 39, 14],
        [50, 20, 35, 10],
        [59, 30, 42, 15],
        [63, 33, 60, 25],
        [58, 27, 51, 19],
        [71, 30, 59, 21],
        [63, 29, 56, 18],
        [65, 30, 58, 22],
        [76, 30, 66, 21],
        [49, 25, 45, 17],
        [73, 29, 63, 18],
        [67, 25, 58, 18],
        [72, 36, 61, 25],
        [65, 32, 51, 20],
        [64, 27, 53, 19],
    ];

    #[test]
    fn the_map_of_metric_learn_on_irises() {
        let x = Array2::from_shape_fn((36, 4), |(i, j)| f32::from(IRIS[i][j]) / 10.0);
        // Two chunklets a class: its first five rows, and the next seven.
        let chunks = Labels::from_integers((0..36).map(|i| i / 12 * 2 + i64::from(i % 12 >= 5)));
        let l = Rca::new().shrinkage(0.0).fit(x.view(), &chunks).unwrap();
        let expected = ndarray::array![
            [3.78296734908, -1.55743035147, -2.60165970815, 1.08156054798],
            [-1.55743035147, 5.15473775372, 0.63044542216, -2.92384010046],
            [-2.60165970815, 0.63044542216, 5.1522687308, -1.95895586635],
            [1.08156054798, -2.92384010046, -1.95895586635, 9.43946586581],
        ];
        // The features are single precision.
        assert!((&l - &expected).iter().all(|e| e.abs() < 1e-5), "{l}");
    }

    /// `L C_shrunk L`, which must be the identity, with C as it is written.
    fn whitened(
        l: &Array2<f64>,
        x: &Array2<f32>,
        class: &[u32],
        w: &[f32],
        rho: f64,
    ) -> Array2<f64> {
        let d = x.ncols();
        let mut c = Array2::<f64>::zeros((d, d));
        let of = |k: u32| (0..x.nrows()).filter(move |&i| class[i] == k);
        for k in 0..=class.iter().copied().max().unwrap_or(0) {
            let sum: f64 = of(k).map(|i| f64::from(w[i])).sum();
            if sum == 0.0 {
                continue;
            }
            let row = |i: usize| x.row(i).mapv(f64::from);
            let mean = of(k).fold(ndarray::Array1::<f64>::zeros(d), |m, i| {
                m + row(i) * f64::from(w[i])
            }) / sum;
            for i in of(k) {
                let r = row(i) - &mean;
                for ((a, b), c) in c.indexed_iter_mut() {
                    *c += f64::from(w[i]) * r[a] * r[b];
                }
            }
        }
        c /= w.iter().copied().map(f64::from).sum::<f64>();
        let t = c.diag().sum() / d as f64;
        let shrunk = c * (1.0 - rho) + Array2::<f64>::eye(d) * (rho * t);
        l.dot(&shrunk).dot(l)
    }

    proptest! {
        #[test]
        fn whitens_what_varies_within_classes(
            n in 8_usize..30, d in 1_usize..40, rho in 0.05_f64..1.0, number in any::<u64>()
        ) {
            let mut rng = seed::stream(number, "rca");
            let x = Array2::from_shape_fn((n, d), |_| rng.random_range(-1.0_f32..1.0));
            let class: Vec<u32> = (0..n).map(|_| rng.random_range(0..3)).collect();
            let w: Vec<f32> = (0..n).map(|i| if i < 4 { 1.0 } else { rng.random_range(0.0..2.0) }).collect();
            let l = Rca::new().shrinkage(rho).fit_weighted(x.view(), &class, &w).unwrap();
            let one = whitened(&l, &x, &class, &w, rho);
            let error = one - Array2::<f64>::eye(d);
            prop_assert!(error.iter().all(|e| e.abs() < 1e-8), "{error}");
        }
    }

    fn rows(n: usize, d: usize) -> Array2<f32> {
        let mut rng = seed::stream(3, "rca");
        Array2::from_shape_fn((n, d), |_| rng.random_range(-1.0_f32..1.0))
    }

    #[test]
    fn weights_are_multiplicities_and_0_is_absence() {
        let x = rows(6, 3);
        let class = [0, 0, 1, 1, 0, 2];
        let l = Rca::new()
            .fit_weighted(x.view(), &class, &[2.0, 1.0, 1.0, 3.0, 0.0, 1.0])
            .unwrap();
        let copies = [0, 0, 1, 2, 3, 3, 3, 5];
        let labels = Labels::from_integers(copies.map(|i| i64::from(class[i])));
        let other = Rca::new()
            .fit(x.select(ndarray::Axis(0), &copies).view(), &labels)
            .unwrap();
        assert!((&l - &other).iter().all(|e| e.abs() < 1e-9));
        let missing = Labels::from_integers([0, 0, 1, 1, -1, 2]);
        let seen = Rca::new().fit(x.view(), &missing).unwrap();
        let known = Labels::from_integers([0, 0, 1, 1, 2]);
        let rest = x.select(ndarray::Axis(0), &[0, 1, 2, 3, 5]);
        let left_out = Rca::new().fit(rest.view(), &known).unwrap();
        assert!((seen - left_out).iter().all(|e| e.abs() < 1e-12));
    }

    #[test]
    fn nothing_within_classes_is_the_identity() {
        let x = rows(3, 4);
        let l = Rca::new()
            .fit(x.view(), &Labels::from_integers([0, 1, 2]))
            .unwrap();
        assert_eq!(l, Array2::<f64>::eye(4));
        let all = Rca::new()
            .shrinkage(1.0)
            .fit(x.view(), &Labels::from_integers([0, 0, 0]))
            .unwrap();
        let scale = all[(0, 0)];
        assert!(
            (all / scale - Array2::<f64>::eye(4))
                .iter()
                .all(|e| e.abs() < 1e-9)
        );
    }

    #[test]
    fn chunklets_of_pairs_are_classes_and_other_rows_are_left_out() {
        let x = rows(9, 4);
        let mut pairs = Pairs::default();
        for (a, b, alike) in [(0, 5, true), (5, 7, true), (1, 2, true), (0, 1, false)] {
            pairs.push(a, b, alike, 1.0);
        }
        let heard = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let ear = heard.clone();
        let monitor = Monitor::new(move |event| {
            if let Event::Warning(said) = event {
                ear.lock().unwrap().push(said.clone());
            }
        });
        let labels = Labels::from_integers([0, 1, 1, -1, -1, 0, -1, 0, -1]);
        let expected = Rca::new().fit(x.view(), &labels).unwrap();
        let found = Rca::new().fit_pairs(x.view(), &pairs, &monitor).unwrap();
        assert_eq!(found, expected);
        assert!(heard.lock().unwrap().is_empty());
        pairs.push(0, 7, false, 1.0);
        let again = Rca::new().fit_pairs(x.view(), &pairs, &monitor).unwrap();
        assert_eq!(again, expected);
        assert!(heard.lock().unwrap()[0].starts_with("the items of 1 unlike pairs"));
        let none = Rca::new().fit_pairs(x.view(), &Pairs::default(), &monitor);
        assert!(none.is_err());
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let x = rows(3000, 90);
        let labels = Labels::from_integers((0..3000).map(|i| i % 7));
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| Rca::new().fit(x.view(), &labels).unwrap())
        };
        assert_eq!(run(1), run(2));
    }

    #[test]
    fn wrong_input_is_named() {
        let x = rows(4, 6);
        let labels = Labels::from_integers([0, 0, 1, 1]);
        let said = |found: Result<Array2<f64>>| found.unwrap_err().to_string();
        assert!(said(Rca::new().shrinkage(0.0).fit(x.view(), &labels)).contains("above 0"));
        assert!(said(Rca::new().shrinkage(1.5).fit(x.view(), &labels)).contains("rca.shrinkage"));
        assert!(said(Rca::new().fit(x.view(), &Labels::unknown(4))).contains("labeled row"));
        assert!(said(Rca::new().fit(x.view(), &Labels::unknown(3))).contains("4 rows"));
        assert!(said(Rca::new().fit_weighted(x.view(), &[0; 4], &[-1.0; 4])).contains("weight"));
        let mut bad = x.clone();
        bad[(1, 2)] = f32::NAN;
        assert!(Rca::new().fit(bad.view(), &labels).is_err());
    }
}
