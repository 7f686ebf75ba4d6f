//! Class probabilities: their square roots beside the centred features.
//!
//! ```text
//! c_i = (x_i - mean) scale                          x: the features as the start reads them
//! p_i = softmax(c_i V + b)
//! V, b minimise  sum_i w_i (-log p_i[class_i]) / sum_i w_i + |V|^2 s^2 / (2 strength m)
//! z_i = [ sqrt(share) sqrt(p_i), sqrt(1 - share) c_i / |c_i| ]
//! ```
//!
//! with `scale` 1, or one over the standard deviations where one column holds much of what varies
//! (as [`even`](super::even()) has it), or where the start says so; with `s^2` the mean square length of the `c_i`, so that the scale of the
//! features does not matter, and `m` the number of known labels: what spreads from them sharpens the classes, but
//! is no further evidence for how sharp they are.
//!
//! The cosine of two rows is `share` times the Bhattacharyya coefficient of their probabilities
//! and `1 - share` times the cosine of their centred features: near in class first, and within a
//! class near in the features.
//!
//! **Use it** where the classes that are searched are the labeled ones, and many of them, with
//! few items each: faces, leaves, products. **Not** for classes without labels, whose items it
//! presses into those that it knows; and with `share` 1 not where probabilities are unsure, since
//! all that the features say within a class is lost.
//!
//! Cost: some tens of passes of O(n d C) in `f64` over at most 20,000 rows, drawn where more have
//! a weight, all known labels among them; memory O(20,000 (d + C)).
//!
//! Source: multinomial logistic regression; weights of what spreads as in Iscen et al. (CVPR
//! 2019). Square roots of probabilities compare distributions by the Hellinger distance. Ours:
//! the two parts in one row, and the strength by the number of labels.

use faer::{Accum, MatMut, MatRef};
use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use rand::seq::index;
use serde::{Deserialize, Serialize};

use super::even;
use super::even::even_or;
use crate::learn::{Evidence, Fit, Need, Reads, Size};
use crate::matmul::matmul;
use crate::matrix::{less_mean, outsized, product_of_many, select_rows};
use crate::model::{Model, Probabilities, softmax};
use crate::solve::lbfgs::{self, Until};
use crate::{Error, ErrorKind, Monitor, Result, parallel, seed};

/// Most rows that are learned from.
const MOST_ROWS: usize = 20_000;
/// When the minimisation ends.
const UNTIL: Until = Until {
    steps: 300,
    gradient: 1e-6,
};
/// Columns of a gradient that one task computes: as many on any number of threads.
const COLUMNS: usize = 64;

/// Parameters of class probabilities; see [`logistic`](self).
///
/// ```
/// use likewise::linear::Logistic;
/// use likewise::matrix::Reading;
/// use likewise::{Monitor, model::Model};
/// let x = ndarray::array![[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.2, 0.9_f32]];
/// let learner = Logistic::new().share(1.0);
/// let of = learner.fit_weighted(x.view(), &[0, 0, 1, 1], &[1.0; 4], 4, &Monitor::silent())?;
/// let rows = Model::Probabilities(of).embed(x.view())?;
/// assert!(rows.row(0).dot(&rows.row(1)) > rows.row(0).dot(&rows.row(2)));
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Logistic {
    strength: f64,
    share: f64,
}

impl Default for Logistic {
    fn default() -> Self {
        Self {
            strength: 100.0,
            share: 0.8,
        }
    }
}

impl Logistic {
    /// Strength 100, share .8: of strengths from 1 to 100 and shares from .5 to .95 what did best in
    /// MAP@R, without a loss in R@1, with five labels a class on two views of handwritten digits, faces
    /// and leaves, which therefore tell nothing of it.
    pub fn new() -> Self {
        Self::default()
    }

    /// How much a label counts against the size of `V`, above 0.
    #[must_use]
    pub fn strength(self, strength: f64) -> Self {
        Self { strength, ..self }
    }

    /// Share of the probabilities in the cosine, from 0 (the centred features) to 1.
    #[must_use]
    pub fn share(self, share: f64) -> Self {
        Self { share, ..self }
    }

    /// Checks both.
    pub fn validate(&self) -> Result<()> {
        if !(self.strength.is_finite() && self.strength > 0.0) {
            let rule = "must be above 0";
            return Err(Error::parameter("logistic.strength", self.strength, rule));
        }
        if !(0.0..=1.0).contains(&self.share) {
            let rule = "must be from 0 to 1";
            return Err(Error::parameter("logistic.share", self.share, rule));
        }
        if self.share == 0.0 && self.strength.to_bits() != Self::default().strength.to_bits() {
            let rule = "has no effect with a share of 0; leave it out";
            return Err(Error::parameter("logistic.strength", self.strength, rule));
        }
        Ok(())
    }

    /// The probabilities that rows (`n x d`, read already), a class and a weight of each give;
    /// `labels` of the rows are known. Rows of weight 0 only take part in the mean.
    ///
    /// Fails on NaN, where numbers of rows, classes and weights differ, and without two classes
    /// of some weight.
    pub fn fit_weighted(
        &self,
        x: ArrayView2<f32>,
        classes: &[u32],
        weights: &[f32],
        labels: usize,
        monitor: &Monitor,
    ) -> Result<Probabilities> {
        self.fit_scaled(x, even(x), (classes, weights, labels), monitor)
    }

    /// As [`fit_weighted`](Self::fit_weighted), with the mean and the scales of the columns; of
    /// rows a class, a weight, and how many are known.
    pub(crate) fn fit_scaled(
        &self,
        x: ArrayView2<f32>,
        (mean, scales): (Array1<f64>, Array1<f64>),
        (classes, weights, labels): (&[u32], &[f32], usize),
        monitor: &Monitor,
    ) -> Result<Probabilities> {
        self.validate()?;
        let (n, d) = x.dim();
        super::check_weighted(n, classes, weights)?;
        crate::matrix::check_finite(x, "class probabilities")?;
        let rows: Vec<usize> = (0..n).filter(|&i| weights[i] > 0.0).collect();
        let n_classes = rows.iter().map(|&i| classes[i] as usize + 1).max();
        let several = rows.iter().any(|&i| classes[i] != classes[rows[0]]);
        let (Some(n_classes), true, true) = (n_classes, several, d > 0) else {
            return Err(Error::data(
                "class probabilities need columns and labeled rows of two classes",
            ));
        };
        let centered = less_mean(select_rows(x, &rows).view(), &mean) * &scales;
        let square = centered.iter().map(|v| v * v).sum::<f64>() / rows.len() as f64;
        let scale = if square > 0.0 { square.sqrt() } else { 1.0 };
        let whole: f64 = rows.iter().map(|&i| f64::from(weights[i])).sum();
        let problem = Regression {
            x: centered / scale,
            class: rows.iter().map(|&i| classes[i] as usize).collect(),
            weight: rows
                .iter()
                .map(|&i| f64::from(weights[i]) / whole)
                .collect(),
            classes: n_classes,
            penalty: 1.0 / (self.strength * labels.max(1) as f64),
            monitor,
        };
        let found = problem.minimise()?;
        let mut matrix = Array2::zeros((d, n_classes));
        let mut bias = Array1::zeros(n_classes);
        for class in 0..n_classes {
            let of = &found[class * (d + 1)..(class + 1) * (d + 1)];
            bias[class] = of[d];
            matrix
                .column_mut(class)
                .iter_mut()
                .zip(of)
                .for_each(|(v, &found)| *v = found / scale);
        }
        Ok(Probabilities {
            reading: crate::matrix::Reading::default(),
            mean,
            scale: scales,
            matrix,
            bias,
            discriminants: None,
            features: true,
            share: self.share,
        })
    }
}

impl Fit for Logistic {
    fn needs(&self) -> &'static [Need] {
        &[Need::Classes]
    }

    fn gives_distance(&self) -> bool {
        false
    }

    fn reads(&self) -> Reads {
        Reads::Features
    }

    /// Some hundred passes over at most so many rows.
    fn operations(&self, of: &Size) -> f64 {
        200.0 * 4.0 * of.items.min(MOST_ROWS as f64) * of.columns * of.classes
    }

    fn validate(&self) -> Result<()> {
        Logistic::validate(self)
    }

    /// On the features as the start reads them: neither whitened nor cut to a rank. Rows that are
    /// outsized teach nothing.
    fn fit(&self, evidence: &Evidence, seed: u64, monitor: &Monitor) -> Result<Model> {
        let (targets, reading) = (evidence.targets, evidence.start.reading);
        let mut weights = targets.weight.clone();
        let read = reading.rows(select_rows(evidence.features, evidence.items));
        for row in outsized(read.view()) {
            weights[row] = 0.0;
        }
        let labels = (0..weights.len())
            .filter(|&i| targets.labeled[i] && weights[i] > 0.0)
            .count();
        thin(&mut weights, &targets.labeled, seed);
        let scales = even_or(read.view(), evidence.start.standardized);
        let of = self.fit_scaled(
            read.view(),
            scales,
            (&targets.class, &weights, labels),
            monitor,
        )?;
        Ok(Model::Probabilities(Probabilities { reading, ..of }))
    }
}

/// Leaves a weight to the known labels and to a draw of the other rows, [`MOST_ROWS`] in all
/// unless there are more labels.
pub(crate) fn thin(weights: &mut [f32], labeled: &[bool], seed: u64) {
    let counts = |i: &usize| weights[*i] > 0.0;
    let (known, others): (Vec<usize>, Vec<usize>) =
        (0..weights.len()).filter(counts).partition(|&i| labeled[i]);
    let room = MOST_ROWS.saturating_sub(known.len());
    if others.len() > room {
        let mut rng = seed::stream(seed, "rows for class probabilities");
        let mut stays = vec![false; others.len()];
        for place in index::sample(&mut rng, others.len(), room) {
            stays[place] = true;
        }
        // Those that stay count for those that go.
        let each = others.len() as f32 / room.max(1) as f32;
        for (&item, stays) in others.iter().zip(stays) {
            weights[item] *= if stays { each } else { 0.0 };
        }
    }
}

/// The regression: parameters are the columns of `V`, each with its bias behind it.
struct Regression<'a> {
    x: Array2<f64>,
    class: Vec<usize>,
    /// Of every row; they add up to 1.
    weight: Vec<f64>,
    classes: usize,
    penalty: f64,
    monitor: &'a Monitor,
}

impl Regression<'_> {
    /// The parameters at the minimum.
    fn minimise(&self) -> Result<Vec<f64>> {
        let start = vec![0.0; self.classes * (self.x.ncols() + 1)];
        lbfgs::minimise(start, UNTIL, |point| {
            self.monitor.check()?;
            self.compute(point)
        })
    }

    /// Cost and gradient at a point.
    fn compute(&self, point: &[f64]) -> Result<(f64, Vec<f64>)> {
        let d = self.x.ncols();
        let whole =
            ArrayView2::from_shape((self.classes, d + 1), point).map_err(|e| internal(&e))?;
        let matrix = whole.slice(s![.., ..d]).to_owned();
        let bias = whole.column(d);
        let mut logits = product_of_many(&self.x, &matrix);
        // Rows on all threads, sums in their order: the same on any number of threads.
        let costs: Vec<f64> = parallel::map_each_row(&mut logits, |i, mut row| {
            let (class, weight) = (self.class[i], self.weight[i]);
            row += &bias;
            softmax(row.view_mut());
            let cost = -row[class].max(f64::MIN_POSITIVE).ln();
            row[class] -= 1.0;
            row *= weight;
            weight * cost
        });
        let size: f64 = matrix.iter().map(|v| v * v).sum();
        let cost = costs.iter().sum::<f64>() + self.penalty * size / 2.0;
        let mut gradient = vec![0.0; point.len()];
        let parts = parallel::map((0..d).step_by(COLUMNS), |from| {
            (from, self.against(from, &logits))
        });
        for (from, part) in parts {
            for ((column, class), &value) in part.indexed_iter() {
                let place = from + column;
                gradient[class * (d + 1) + place] = value + self.penalty * matrix[(class, place)];
            }
        }
        let sums = logits.sum_axis(Axis(0));
        for (class, &sum) in sums.iter().enumerate() {
            gradient[class * (d + 1) + d] = sum;
        }
        Ok((cost, gradient))
    }

    /// Some columns of the features, transposed, times the errors.
    fn against(&self, from: usize, errors: &Array2<f64>) -> Array2<f64> {
        let (n, d) = self.x.dim();
        let columns = COLUMNS.min(d - from);
        let mut out = Array2::zeros((columns, self.classes));
        if let (Some(x), Some(errors), Some(out)) =
            (self.x.as_slice(), errors.as_slice(), out.as_slice_mut())
        {
            let x = MatRef::from_row_major_slice(x, n, d).subcols(from, columns);
            let errors = MatRef::from_row_major_slice(errors, n, self.classes);
            let out = MatMut::from_row_major_slice_mut(out, columns, self.classes);
            matmul(out, Accum::Replace, x.transpose(), errors, 1.0);
        }
        out
    }
}

fn internal(e: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Internal, format!("class probabilities: {e}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::RngExt;

    use super::*;

    fn clouds(n: usize, d: usize, classes: usize) -> (Array2<f32>, Vec<u32>) {
        let mut rng = seed::stream(7, "clouds");
        let x = Array2::from_shape_fn((n, d), |(i, j)| {
            f32::from(u8::from(i % classes == j)) + rng.random_range(-0.6_f32..0.6)
        });
        (x, (0..n).map(|i| (i % classes) as u32).collect())
    }

    fn regression<'a>(
        x: &Array2<f32>,
        class: &[u32],
        weight: Vec<f64>,
        monitor: &'a Monitor,
    ) -> Regression<'a> {
        Regression {
            x: x.mapv(f64::from),
            class: class.iter().map(|&c| c as usize).collect(),
            weight,
            classes: 3,
            penalty: 0.02,
            monitor,
        }
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        let (x, class) = clouds(20, 4, 3);
        let weight: Vec<f64> = (0..20).map(|i| f64::from(i % 4) / 30.0).collect();
        let monitor = Monitor::silent();
        let problem = regression(&x, &class, weight, &monitor);
        let point: Vec<f64> = (0..15).map(|i| f64::from(i * 7 % 11) / 5.0 - 1.0).collect();
        let (_, gradient) = problem.compute(&point).unwrap();
        for place in 0..point.len() {
            let at = |step: f64| {
                let mut point = point.clone();
                point[place] += step;
                problem.compute(&point).unwrap().0
            };
            let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((slope - gradient[place]).abs() < 1e-8, "{place}: {slope}");
        }
    }

    #[test]
    fn at_the_minimum_the_gradient_is_zero_and_a_wide_matrix_is_no_trouble() {
        // 70 columns are more than one task computes.
        let (x, class) = clouds(30, 70, 3);
        let monitor = Monitor::silent();
        let problem = regression(&x, &class, vec![1.0 / 30.0; 30], &monitor);
        let found = problem.minimise().unwrap();
        let (_, gradient) = problem.compute(&found).unwrap();
        let length = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
        assert!(length < 1e-5, "{length}");
    }

    #[test]
    fn weights_count_as_so_many_copies() {
        let (x, class) = clouds(12, 3, 3);
        let twice: Vec<usize> = (0..12).chain([0, 1, 2]).collect();
        let copied = x.select(Axis(0), &twice);
        let copied_class: Vec<u32> = twice.iter().map(|&i| class[i]).collect();
        let weights: Vec<f32> = (0..12).map(|i| if i < 3 { 2.0 } else { 1.0 }).collect();
        let monitor = Monitor::silent();
        let fit = |x: &Array2<f32>, class: &[u32], weight: &[f32]| {
            // The mean is that of the rows, so that of the copies is another.
            let mut of = Logistic::new()
                .fit_weighted(x.view(), class, weight, 12, &monitor)
                .unwrap();
            of.bias -= &of.mean.dot(&of.matrix);
            of
        };
        let (a, b) = (
            fit(&x, &class, &weights),
            fit(&copied, &copied_class, &[1.0; 15]),
        );
        // Scale and mean differ a little, so the penalty does: the classes they give do not.
        let model = |of: &Probabilities| {
            let logits = x.mapv(f64::from).dot(&of.matrix) + &of.bias;
            logits
                .rows()
                .into_iter()
                .map(|row| {
                    let best = row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
                    best.map(|(class, _)| class)
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(model(&a), model(&b));
    }

    proptest! {
        #[test]
        fn any_scale_of_the_features_gives_the_same_probabilities(factor in 0.001_f32..1000.0) {
            let (x, class) = clouds(24, 5, 3);
            let monitor = Monitor::silent();
            let embedded = |x: Array2<f32>| {
                let of = Logistic::new()
                    .fit_weighted(x.view(), &class, &[1.0; 24], 24, &monitor)
                    .unwrap();
                Model::Probabilities(of).embed(x.view()).unwrap()
            };
            let error = embedded(x.clone()) - embedded(x * factor);
            prop_assert!(error.iter().all(|e| e.abs() < 1e-3), "{error}");
        }
    }

    #[test]
    fn bad_input_is_refused_and_a_constant_column_is_not() {
        let (mut x, class) = clouds(12, 3, 3);
        let monitor = Monitor::silent();
        let fit = |learner: Logistic, x: &Array2<f32>, class: &[u32], weight: &[f32]| {
            learner.fit_weighted(x.view(), class, weight, 3, &monitor)
        };
        x.column_mut(1).fill(4.0);
        let plain = Logistic::new();
        assert!(fit(plain, &x, &class, &[1.0; 12]).is_ok());
        x.fill(1.0);
        assert!(fit(plain, &x, &class, &[1.0; 12]).is_ok());
        for (learner, class, weight, word) in [
            (plain.strength(0.0), &class[..], &[1.0; 12][..], "strength"),
            (plain.share(1.5), &class[..], &[1.0; 12][..], "share"),
            (plain, &class[..3], &[1.0; 12][..], "classes"),
            (plain, &class[..], &[1.0; 2][..], "weights"),
            (plain, &class[..], &[-1.0; 12][..], "weight"),
            (plain, &[0; 12][..], &[1.0; 12][..], "two classes"),
            (plain, &class[..], &[0.0; 12][..], "two classes"),
        ] {
            let said = fit(learner, &x, class, weight).unwrap_err().to_string();
            assert!(said.contains(word), "{said}");
        }
        x[(3, 1)] = f32::NAN;
        assert!(fit(plain, &x, &class, &[1.0; 12]).is_err());
    }

    #[test]
    fn of_many_rows_the_labels_and_a_draw_stay() {
        let mut weights = vec![1.0; 30_000];
        let labeled: Vec<bool> = (0..30_000).map(|i| i % 1000 == 0).collect();
        thin(&mut weights, &labeled, 3);
        let kept = weights.iter().filter(|w| **w > 0.0).count();
        assert_eq!(kept, MOST_ROWS);
        // They count as much as all did, and no known label more.
        assert!((0..30_000).all(|i| !labeled[i] || (weights[i] - 1.0_f32).abs() < 1e-6));
        let whole: f64 = weights.iter().map(|&w| f64::from(w)).sum();
        assert!((whole - 30_000.0).abs() < 1.0, "{whole}");
    }
}
