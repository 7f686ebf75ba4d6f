//! Linear discriminant analysis: class probabilities of equal Gaussians beside discriminants and features.
//!
//! ```text
//! r_i = (x_i - mean) R                        the features along the directions of the start
//! m_c = sum_i w_i r_i / sum_i w_i             over the rows of class c
//! S   = sum_i w_i (r_i - m_c)(r_i - m_c)^T / sum_i w_i
//! T   = (1 - g) S + g tr(S)/d I               g as Ledoit and Wolf, of n - C observations
//! logits_c = r T^-1 m_c - m_c T^-1 m_c / 2    classes are held to be equally frequent
//! D   = T^-1/2 U                              U: an orthonormal basis of the T^-1/2 (m_c - mean of the means)
//! ```
//!
//! with `n` the number of known labels: what spreads from them makes the means better, but is no
//! further evidence for the covariance. The square roots of the probabilities stand beside the
//! [discriminants and features](crate::model::Probabilities): these features are `c`, with the mean that the
//! start takes off and the scale that columns of different units or the start ask for, while `R` has the
//! scale that the labels chose, as whitening does.
//!
//! **Use it** where the classes that are searched are the labeled ones, with some labels each (from
//! about five), and spread alike: descriptors, spectra, pixels of digits. Where classes differ in
//! form, logistic regression does better. **Not** for classes without labels, and not with one
//! label a class and nothing that spreads: then the covariance of all rows stands for that within
//! classes.
//!
//! Cost: O(n r^2 + r^3) in `f64` for `r` directions of the start (at most its rank), once; memory
//! O(n r).
//!
//! Source: Fisher 1936; Rao 1948; the shrinkage of Ledoit & Wolf, J. Multivariate Analysis 2004,
//! formula (14), with weights. Ours: pseudo-labels as weights, and the parts in one row.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, azip};
use serde::{Deserialize, Serialize};

use super::Affine;
use super::even::even_or;
use super::scatter::Scatter;
use super::whitening::Spectrum;
use crate::learn::{Evidence, Fit, Need, Reads};
use crate::matrix::{check_finite, column_means, outsized, product, select_rows};
use crate::model::{Model, Probabilities};
use crate::{Error, Monitor, Result};

/// Parameters of linear discriminant analysis; see [`lda`](self).
///
/// ```
/// use likewise::linear::Lda;
/// let x = ndarray::array![[1.0, 0.1], [0.9, -0.1], [0.0, 1.1], [0.2, 0.9_f32]];
/// let found = Lda::new().fit_weighted(x.view(), &[0, 0, 1, 1], &[1.0; 4], 4)?;
/// // The first column tells the classes apart, and the logits say so.
/// let logits = x.row(0).mapv(f64::from).dot(&found.matrix) + &found.bias;
/// assert!(logits[0] > logits[1]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lda {
    share: f64,
}

impl Default for Lda {
    fn default() -> Self {
        Self { share: 0.7 }
    }
}

/// Linear logits of classes.
#[derive(Debug, Clone, PartialEq)]
pub struct Logits {
    /// `d x C`.
    pub matrix: Array2<f64>,
    /// `C`.
    pub bias: Array1<f64>,
    /// `D`, `d x r`, r at most `C - 1`; none for two classes or means on one line, where the only discriminant has a sign
    /// and no direction.
    pub discriminants: Option<Array2<f64>>,
    /// How far the covariance was shrunk, 0 to 1.
    pub shrinkage: f64,
}

impl Lda {
    /// Share .7: with discriminants beside the features, of nine sets with 5 and 20 labels a class, R@1 and MAP@R were
    /// both as high as with .8 and without them, or higher by up to .02, in all but one case (-.007, satimage).
    pub fn new() -> Self {
        Self::default()
    }

    /// Share of the probabilities in the cosine, from 0 (discriminants and centred features) to 1.
    #[must_use]
    pub fn share(self, share: f64) -> Self {
        Self { share }
    }

    /// The logits that rows (`n x d`), a class and a weight of each give; `labels` of the rows
    /// are known. Rows of weight 0 are not looked at, unless nothing varies within classes.
    ///
    /// Fails on NaN, where numbers of rows, classes and weights differ, without two classes of
    /// some weight, and where nothing varies at all.
    pub fn fit_weighted(
        &self,
        x: ArrayView2<f32>,
        classes: &[u32],
        weights: &[f32],
        labels: usize,
    ) -> Result<Logits> {
        let (n, d) = x.dim();
        super::check_weighted(n, classes, weights)?;
        check_finite(x, "discriminant analysis")?;
        let rows: Vec<usize> = (0..n).filter(|&i| weights[i] > 0.0).collect();
        let several = rows.iter().any(|&i| classes[i] != classes[rows[0]]);
        let n_classes = rows.iter().map(|&i| classes[i] as usize + 1).max();
        let (Some(n_classes), true, true) = (n_classes, several, d > 0) else {
            return Err(Error::data(
                "discriminant analysis needs columns and labeled rows of two classes",
            ));
        };
        let (means, mass) = means(x, classes, weights, n_classes);
        let weight: Vec<f64> = rows.iter().map(|&i| f64::from(weights[i])).collect();
        let within = Scatter::of(&weight, d, |place, out| {
            let i = rows[place];
            around(x.row(i), means.row(classes[i] as usize), out);
        })?;
        let seen = labels.saturating_sub(n_classes).max(1) as f64;
        // One row a class varies around nothing: all rows around their mean stand in.
        let scatter = if within.mean > 0.0 {
            within
        } else {
            let mean = column_means(x);
            Scatter::of(&vec![1.0; n], d, |i, out| {
                around(x.row(i), mean.view(), out);
            })?
        };
        if scatter.mean <= 0.0 {
            return Err(Error::data("nothing varies: all rows are the same"));
        }
        let shrinkage = scatter.shrinkage(seen);
        let inverse = scatter.power(shrinkage, -1.0);
        // The inverse is its own transpose: a column a class.
        let matrix = product(&means, &inverse).reversed_axes();
        let matrix = matrix.as_standard_layout().into_owned();
        let there: Vec<usize> = (0..n_classes).filter(|&class| mass[class] > 0.0).collect();
        let discriminants = discriminants(
            means.select(Axis(0), &there).view(),
            &scatter.power(shrinkage, -0.5),
        )?;
        let bias = (0..n_classes)
            .map(|class| match mass[class] {
                // A class that no row has is never believed.
                0.0 => NEVER,
                _ => -means.row(class).dot(&matrix.column(class)) / 2.0,
            })
            .collect();
        Ok(Logits {
            matrix,
            bias,
            discriminants,
            shrinkage,
        })
    }

    /// Checks the share.
    pub fn validate(&self) -> Result<()> {
        if (0.0..=1.0).contains(&self.share) {
            return Ok(());
        }
        Err(Error::parameter(
            "lda.share",
            self.share,
            "must be from 0 to 1",
        ))
    }
}

/// Logit of a class without rows.
const NEVER: f64 = -1e3;
/// Below this share of the largest variance of means, there is none but by rounding.
const ROUNDING: f64 = 1e-10;

fn around(row: ArrayView1<f32>, center: ArrayView1<f64>, out: &mut [f64]) {
    for ((out, &value), center) in out.iter_mut().zip(row).zip(center) {
        *out = f64::from(value) - center;
    }
}

/// Mean row and mass of each class.
fn means(
    x: ArrayView2<f32>,
    classes: &[u32],
    weights: &[f32],
    n_classes: usize,
) -> (Array2<f64>, Vec<f64>) {
    let mut means = Array2::<f64>::zeros((n_classes, x.ncols()));
    let mut mass = vec![0.0; n_classes];
    for (i, row) in x.rows().into_iter().enumerate() {
        let weight = f64::from(weights[i]);
        if weight > 0.0 {
            let class = classes[i] as usize;
            mass[class] += weight;
            azip!((mean in means.row_mut(class), &x in row) *mean += weight * f64::from(x));
        }
    }
    for (mut mean, &mass) in means.rows_mut().into_iter().zip(&mass) {
        mean /= if mass > 0.0 { mass } else { 1.0 };
    }
    (means, mass)
}

/// The directions in which the means of classes differ, where what varies within classes is made as long in all.
fn discriminants(means: ArrayView2<f64>, whitening: &Array2<f64>) -> Result<Option<Array2<f64>>> {
    let mut means = product(&means.to_owned(), whitening);
    if let Some(center) = means.mean_axis(Axis(0)) {
        means -= &center;
    }
    let (n, d) = means.dim();
    let spectrum = Spectrum::of_centered(n, d, |class, out| {
        for (out, &value) in out.iter_mut().zip(means.row(class)) {
            *out = value;
        }
    })?;
    // The first is the largest.
    let least = ROUNDING * spectrum.variances.first().copied().unwrap_or(0.0);
    let differ = spectrum.variances.iter().filter(|&&v| v > least).count();
    let kept = spectrum.directions.slice_axis(Axis(1), (..differ).into());
    let along = kept.reversed_axes().as_standard_layout().into_owned();
    Ok((differ > 1).then(|| product(whitening, &along)))
}

impl Fit for Lda {
    fn needs(&self) -> &'static [Need] {
        &[Need::Classes]
    }

    fn gives_distance(&self) -> bool {
        false
    }

    fn reads(&self) -> Reads {
        Reads::Directions
    }

    fn validate(&self) -> Result<()> {
        Lda::validate(self)
    }

    /// Along the centred directions of the start. Rows that are outsized teach nothing.
    fn fit(&self, evidence: &Evidence, _: u64, _: &Monitor) -> Result<Model> {
        let targets = evidence.targets;
        let reading = evidence.start.reading;
        let read = reading.rows(select_rows(evidence.features, evidence.items));
        let mut weights = targets.weight.clone();
        for row in outsized(read.view()) {
            weights[row] = 0.0;
        }
        let known = |&i: &usize| targets.labeled[i] && weights[i] > 0.0;
        let labels = (0..weights.len()).filter(known).count();
        let rows = evidence.rotated()?;
        let found = self.fit_weighted(rows, &targets.class, &weights, labels)?;
        let Affine { mean, matrix } = &evidence.start.rotation;
        let (_, scale) = even_or(read.view(), evidence.start.standardized);
        // The directions of the start are those of the features without the scale.
        let of_scaled = |found: &Array2<f64>| {
            let mut matrix = matrix.dot(found);
            azip!((mut row in matrix.rows_mut(), &scale in &scale) row /= scale);
            matrix
        };
        Ok(Model::Probabilities(Probabilities {
            reading,
            mean: mean.clone(),
            matrix: of_scaled(&found.matrix),
            discriminants: found.discriminants.as_ref().map(of_scaled),
            features: true,
            scale,
            bias: found.bias,
            share: self.share,
        }))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{array, s};
    use proptest::prelude::*;

    use super::*;

    /// By the definition, with the covariance written out and solved by elimination.
    fn naive(x: &Array2<f32>, classes: &[u32], weights: &[f32], labels: usize) -> Array2<f64> {
        let (n, d) = x.dim();
        let c = *classes.iter().max().unwrap() as usize + 1;
        let x = x.mapv(f64::from);
        let w: Vec<f64> = weights.iter().map(|&w| f64::from(w)).collect();
        let whole: f64 = w.iter().sum();
        let mut means = Array2::<f64>::zeros((c, d));
        for class in 0..c {
            let own: Vec<usize> = (0..n).filter(|&i| classes[i] as usize == class).collect();
            let mass: f64 = own.iter().map(|&i| w[i]).sum();
            for &i in &own {
                for j in 0..d {
                    means[(class, j)] += w[i] * x[(i, j)] / mass;
                }
            }
        }
        let z = Array2::from_shape_fn((n, d), |(i, j)| x[(i, j)] - means[(classes[i] as usize, j)]);
        let mut s = Array2::<f64>::zeros((d, d));
        for i in 0..n {
            for j in 0..d {
                for k in 0..d {
                    s[(j, k)] += w[i] * z[(i, j)] * z[(i, k)] / whole;
                }
            }
        }
        let mean = s.diag().sum() / d as f64;
        let square: f64 = s.iter().map(|v| v * v).sum();
        let mut noise = 0.0;
        for i in 0..n {
            for j in 0..d {
                for k in 0..d {
                    noise += w[i] / whole * (z[(i, j)] * z[(i, k)] - s[(j, k)]).powi(2);
                }
            }
        }
        let g = (noise / (labels - c).max(1) as f64 / (square - d as f64 * mean * mean))
            .clamp(1e-6, 1.0);
        let mut t = s * (1.0 - g);
        for j in 0..d {
            t[(j, j)] += g * mean;
        }
        let mut out = Array2::zeros((d + 1, c));
        for class in 0..c {
            let v = solve(t.clone(), means.row(class).to_vec());
            for j in 0..d {
                out[(j, class)] = v[j];
            }
            out[(d, class)] = -(0..d).map(|j| v[j] * means[(class, j)]).sum::<f64>() / 2.0;
        }
        out
    }

    fn solve(mut a: Array2<f64>, mut b: Vec<f64>) -> Vec<f64> {
        let d = b.len();
        for p in 0..d {
            for r in p + 1..d {
                let f = a[(r, p)] / a[(p, p)];
                for k in p..d {
                    a[(r, k)] -= f * a[(p, k)];
                }
                b[r] -= f * b[p];
            }
        }
        for p in (0..d).rev() {
            for k in p + 1..d {
                b[p] -= a[(p, k)] * b[k];
            }
            b[p] /= a[(p, p)];
        }
        b
    }

    proptest! {
        #[test]
        fn as_by_its_definition(
            values in prop::collection::vec(-2.0_f32..2.0, 36),
            weights in prop::collection::vec(0.1_f32..1.0, 12),
            labels in 4_usize..12,
        ) {
            let x = Array2::from_shape_vec((12, 3), values).unwrap();
            let classes: Vec<u32> = (0..12).map(|i| i % 3).collect();
            let found = Lda::new().fit_weighted(x.view(), &classes, &weights, labels).unwrap();
            let expected = naive(&x, &classes, &weights, labels);
            for class in 0..3 {
                for j in 0..3 {
                    let (a, b) = (found.matrix[(j, class)], expected[(j, class)]);
                    prop_assert!((a - b).abs() < 1e-6 * (1.0 + b.abs()), "{a} {b}");
                }
                let (a, b) = (found.bias[class], expected[(3, class)]);
                prop_assert!((a - b).abs() < 1e-6 * (1.0 + b.abs()), "{a} {b}");
            }
            // Means are as far apart along the discriminants as by the inverse of the covariance.
            let (means, _) = means(x.view(), &classes, &weights, 3);
            let along = means.dot(&found.discriminants.unwrap());
            for (a, b) in [(0, 1), (0, 2), (1, 2)] {
                let apart = |of: &Array2<f64>| &of.row(a) - &of.row(b);
                let v = expected.slice(s![..3, ..]);
                let wanted = apart(&means).dot(&(&v.column(a) - &v.column(b)));
                let square = apart(&along).mapv(|v| v * v).sum();
                prop_assert!((square - wanted).abs() < 1e-6 * (1.0 + wanted), "{square} {wanted}");
            }
        }
    }

    #[test]
    fn discriminants_are_fewer_than_classes_and_one_alone_is_none() {
        let x = Array2::from_shape_fn((24, 5), |(i, j)| {
            f32::from(u8::from(i % 4 == j)) + (i * (j + 2) % 7) as f32 / 20.0
        });
        let fit = |classes: &[u32]| Lda::new().fit_weighted(x.view(), classes, &[1.0; 24], 24);
        let of = |n: u32| (0..24).map(|i| i % 4 % n).collect::<Vec<u32>>();
        let dim = |n| fit(&of(n)).unwrap().discriminants.map(|of| of.dim());
        assert_eq!(dim(4), Some((5, 3)));
        assert_eq!(dim(3), Some((5, 2)));
        assert_eq!(dim(2), None);
        // A class that no row has adds none.
        let apart: Vec<u32> = of(3).iter().map(|c| 2 * c).collect();
        let found = fit(&apart).unwrap().discriminants;
        assert_eq!(found.map(|of| of.dim()), Some((5, 2)));
    }

    #[test]
    fn one_row_a_class_duplicates_and_more_columns_than_rows() {
        let x = array![
            [1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0],
            [0.9, 0.1, 0.0],
            [0.1, 0.8, 0.1_f32]
        ];
        let fit = |classes: &[u32], weights: &[f32]| {
            Lda::new()
                .fit_weighted(x.view(), classes, weights, 2)
                .unwrap()
        };
        // One row a class, and rows without a weight that vary.
        let one = fit(&[0, 1, 0, 0], &[1.0, 1.0, 0.0, 0.0]);
        let logits = |of: &Logits, i: usize| x.row(i).mapv(f64::from).dot(&of.matrix) + &of.bias;
        for (i, class) in [(0, 0), (1, 1), (2, 0), (3, 1)] {
            let l = logits(&one, i);
            assert!(l[class] > l[1 - class], "{i}: {l}");
        }
        // A class that no row has is never believed.
        let gap = fit(&[0, 2, 0, 2], &[1.0; 4]);
        assert!(logits(&gap, 0)[1] < -900.0);
        let same = array![[1.0, 2.0], [1.0, 2.0_f32]];
        let said = Lda::new()
            .fit_weighted(same.view(), &[0, 1], &[1.0; 2], 2)
            .unwrap_err();
        assert!(said.to_string().contains("nothing varies"), "{said}");
        let lone = Lda::new().fit_weighted(same.view(), &[0, 0], &[1.0; 2], 2);
        assert!(lone.unwrap_err().to_string().contains("two classes"));
    }
}
