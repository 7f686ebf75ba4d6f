//! HDS: binary codes of a hidden layer that learns the classes, then the features.
//!
//! ```text
//! c = (x - mean) scale / s                 s^2: mean square length, so that the scale does not matter
//! a = sigmoid(c W + b)                     h hidden units
//! p = softmax(a V + v)
//! W, b, V, v minimise  sum_i w_i (-log p_i[class_i]) / sum_i w_i + decay (|W|^2 + |V|^2) / 2
//! bit k of x = 1 where a_k > 1/2
//! ```
//!
//! Items are ranked by the number of bits that differ from the query's, and among equally many by the
//! cosine of the centred features: coarse to fine.
//!
//! **Use it** where codes of a few bytes an item are wanted, and the classes that are searched are the
//! labeled ones. **Not** with few labels: [`logistic`](crate::linear::logistic) keeps what codes round
//! away; nor for classes without labels.
//!
//! Cost: up to 500 passes of O(n d h) in `f64`; memory O(n (d + h)).
//!
//! Source: Lin, Yang, Hsiao and Chen, "Deep learning of binary hash codes for fast image retrieval", CVPR
//! Workshops 2015: a layer of 48 or 128 units between the last layer of a network and its classifier, and
//! a decay of 5e-4. There all layers learn by stochastic gradients, the lower ones slowly; here the
//! features stay as they are, and the two layers are fitted by L-BFGS from weights that are drawn: an
//! approximation, for features that a network has made. There the pool of items within some bits is
//! sorted by features; here all items are sorted by bits, then by features, which gives the same first
//! items wherever these have equally many bits. Ours: weights of rows, and the scale.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, s};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::learn::{Evidence, Fit, Need, Reads};
use crate::linear::even_or;
use crate::linear::logistic::thin;
use crate::linear::spd::cross;
use crate::matrix::{check_finite, less_mean, outsized, product_of_many, select_rows};
use crate::model::{Hashed, Model, softmax};
use crate::solve::lbfgs::{self, Until};
use crate::{Error, Monitor, Result, parallel, seed};

/// When the minimisation ends.
const UNTIL: Until = Until {
    steps: 500,
    gradient: 1e-6,
};

/// Parameters of HDS; see [`hds`](self).
///
/// ```
/// use likewise::code::Hds;
/// use likewise::{Monitor, model::Model};
/// let x = ndarray::array![[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.2, 0.9_f32]];
/// let of = Hds::new().bits(8).fit_weighted(x.view(), &[0, 0, 1, 1], &[1.0; 4], 1, &Monitor::silent())?;
/// let rows = Model::Hashed(of).embed(x.view())?;
/// assert!(rows.row(0).dot(&rows.row(1)) > rows.row(0).dot(&rows.row(2)));
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hds {
    bits: usize,
    decay: f64,
}

impl Default for Hds {
    fn default() -> Self {
        Self {
            bits: 48,
            decay: 5e-4,
        }
    }
}

impl Hds {
    /// 48 bits, a decay of 5e-4, as printed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bits of a code, from 1 to 4096.
    #[must_use]
    pub fn bits(self, bits: usize) -> Self {
        Self { bits, ..self }
    }

    /// What large weights cost, at least 0.
    #[must_use]
    pub fn decay(self, decay: f64) -> Self {
        Self { decay, ..self }
    }

    /// Checks both.
    pub fn validate(&self) -> Result<()> {
        if !(1..=4096).contains(&self.bits) {
            return Err(Error::parameter(
                "hds.bits",
                self.bits,
                "must be from 1 to 4096",
            ));
        }
        if !(0.0..f64::INFINITY).contains(&self.decay) {
            let rule = "must be finite and at least 0";
            return Err(Error::parameter("hds.decay", self.decay, rule));
        }
        Ok(())
    }

    /// The codes that rows (`n x d`, read already), a class and a weight of each give. Rows of weight 0
    /// only take part in the mean.
    ///
    /// Fails on NaN, on a parameter out of range, where numbers of rows, classes and weights differ,
    /// without two classes of some weight, and when cancelled.
    pub fn fit_weighted(
        &self,
        x: ArrayView2<f32>,
        classes: &[u32],
        weights: &[f32],
        seed: u64,
        monitor: &Monitor,
    ) -> Result<Hashed> {
        self.fit_scaled(x, even_or(x, None), (classes, weights), seed, monitor)
    }

    fn fit_scaled(
        &self,
        x: ArrayView2<f32>,
        (mean, scales): (Array1<f64>, Array1<f64>),
        (classes, weights): (&[u32], &[f32]),
        seed: u64,
        monitor: &Monitor,
    ) -> Result<Hashed> {
        self.validate()?;
        let (n, d) = x.dim();
        crate::linear::check_weighted(n, classes, weights)?;
        check_finite(x, "HDS")?;
        let rows: Vec<usize> = (0..n).filter(|&i| weights[i] > 0.0).collect();
        let n_classes = rows.iter().map(|&i| classes[i] as usize + 1).max();
        let several = rows.iter().any(|&i| classes[i] != classes[rows[0]]);
        let (Some(n_classes), true, true) = (n_classes, several, d > 0) else {
            return Err(Error::data(
                "HDS needs columns and labeled rows of two classes",
            ));
        };
        let centered = less_mean(select_rows(x, &rows).view(), &mean) * &scales;
        let square = centered.iter().map(|v| v * v).sum::<f64>() / rows.len() as f64;
        let scale = if square > 0.0 { square.sqrt() } else { 1.0 };
        let whole: f64 = rows.iter().map(|&i| f64::from(weights[i])).sum();
        let layers = Layers {
            x: centered / scale,
            class: rows.iter().map(|&i| classes[i] as usize).collect(),
            weight: rows
                .iter()
                .map(|&i| f64::from(weights[i]) / whole)
                .collect(),
            bits: self.bits,
            classes: n_classes,
            decay: self.decay,
        };
        let found = lbfgs::minimise(layers.start(seed), UNTIL, |point| {
            monitor.check()?;
            Ok(layers.compute(point))
        })?;
        let (matrix, bias) = layers.split(&found).0;
        let matrix = matrix.t().to_owned() / scale;
        let latent = (matrix.as_standard_layout().into_owned(), bias.to_owned());
        Hashed::new(crate::matrix::Reading::default(), (mean, scales), latent)
    }
}

impl Fit for Hds {
    fn needs(&self) -> &'static [Need] {
        &[Need::Classes]
    }

    fn gives_distance(&self) -> bool {
        false
    }

    fn reads(&self) -> Reads {
        Reads::Features
    }

    fn validate(&self) -> Result<()> {
        Hds::validate(self)
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
        thin(&mut weights, &targets.labeled, seed);
        let scales = even_or(read.view(), evidence.start.standardized);
        let of_rows = (targets.class.as_slice(), weights.as_slice());
        let of = self.fit_scaled(read.view(), scales, of_rows, seed, monitor)?;
        Ok(Model::Hashed(Hashed { reading, ..of }))
    }
}

/// The two layers. A point holds a row `[W_k, b_k]` of each hidden unit, then `[V_c, v_c]` of each
/// class.
struct Layers {
    x: Array2<f64>,
    class: Vec<usize>,
    /// Of every row; they add up to 1.
    weight: Vec<f64>,
    bits: usize,
    classes: usize,
    decay: f64,
}

type Layer<'a> = (ArrayView2<'a, f64>, ArrayView1<'a, f64>);

impl Layers {
    /// Weights of the hidden units are drawn, so that these differ; all else is 0.
    fn start(&self, seed: u64) -> Vec<f64> {
        let mut rng = seed::stream(seed, "hidden units");
        let d = self.x.ncols();
        let mut point = vec![0.0; self.bits * (d + 1) + self.classes * (self.bits + 1)];
        for unit in 0..self.bits {
            for weight in &mut point[unit * (d + 1)..][..d] {
                *weight = rng.random_range(-1.0..1.0);
            }
        }
        point
    }

    fn split<'a>(&self, point: &'a [f64]) -> (Layer<'a>, Layer<'a>) {
        let (hidden, output) = point.split_at(self.bits * (self.x.ncols() + 1));
        (layer(hidden, self.bits), layer(output, self.classes))
    }

    /// Cost and gradient at a point: the same on any number of threads.
    fn compute(&self, point: &[f64]) -> (f64, Vec<f64>) {
        let (hidden, output) = self.split(point);
        let (w, v) = (hidden.0.to_owned(), output.0.to_owned());
        let mut active = product_of_many(&self.x, &w);
        parallel::each_row(&mut active, |_, mut row| {
            row += &hidden.1;
            row.mapv_inplace(|z| 1.0 / (1.0 + (-z).exp()));
        });
        let mut errors = product_of_many(&active, &v);
        let costs: Vec<f64> = parallel::map_each_row(&mut errors, |i, mut row| {
            let (class, weight) = (self.class[i], self.weight[i]);
            row += &output.1;
            softmax(row.view_mut());
            let cost = -row[class].max(f64::MIN_POSITIVE).ln();
            row[class] -= 1.0;
            row *= weight;
            weight * cost
        });
        let back = v.t().as_standard_layout().into_owned();
        let mut inner = product_of_many(&errors, &back);
        inner.zip_mut_with(&active, |inner, &a| *inner *= a * (1.0 - a));
        let size = |of: &Array2<f64>| of.iter().map(|v| v * v).sum::<f64>();
        let cost = costs.iter().sum::<f64>() + self.decay * (size(&w) + size(&v)) / 2.0;
        let mut gradient = Vec::with_capacity(point.len());
        for (errors, below, weights) in [(&inner, &self.x, &w), (&errors, &active, &v)] {
            let slopes = cross(errors, below) + weights * self.decay;
            let sums = errors.sum_axis(Axis(0));
            for (row, sum) in slopes.rows().into_iter().zip(sums) {
                gradient.extend(row.iter().copied().chain([sum]));
            }
        }
        (cost, gradient)
    }
}

fn layer(point: &[f64], units: usize) -> Layer<'_> {
    let columns = point.len() / units.max(1);
    match ArrayView2::from_shape((units, columns), point) {
        Ok(whole) => {
            let weights = whole.slice_move(s![.., ..]);
            let (weights, bias) = weights.split_at(Axis(1), columns - 1);
            (weights, bias.index_axis_move(Axis(1), 0))
        }
        Err(_) => unreachable!("as many numbers as units times columns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::check_values::iris;
    use crate::reference::in_one_and_two_threads;
    use ndarray::array;

    fn layers() -> Layers {
        Layers {
            x: array![[0.5, -1.0], [1.0, 0.3], [-0.7, 0.2], [0.1, 0.9], [0.4, 0.4]],
            class: vec![0, 1, 2, 1, 0],
            weight: vec![0.3, 0.1, 0.2, 0.25, 0.15],
            bits: 3,
            classes: 3,
            decay: 0.1,
        }
    }

    #[test]
    fn gradients_against_finite_differences() {
        let layers = layers();
        let mut point = layers.start(5);
        for (at, value) in point.iter_mut().enumerate() {
            *value += (at as f64 * 0.7).sin();
        }
        let (_, gradient) = layers.compute(&point);
        assert_eq!(gradient.len(), point.len());
        for at in 0..point.len() {
            let value = |step: f64| {
                let mut moved = point.clone();
                moved[at] += step;
                layers.compute(&moved).0
            };
            let slope = (value(1e-5) - value(-1e-5)) / 2e-5;
            assert!((slope - gradient[at]).abs() < 1e-8, "{at}: {slope}");
        }
    }

    #[test]
    fn the_cost_by_hand() {
        // Hidden units at 1/2, and all classes alike: ln 3, whatever the rows.
        let mut layers = layers();
        let mut point = vec![0.0; layers.start(0).len()];
        assert!((layers.compute(&point).0 - 3.0_f64.ln()).abs() < 1e-12);
        // One weight of 2 in V changes both the penalty and the logit of class 0 by 2/2.
        let at = 3 * 3;
        point[at] = 2.0;
        let log = |logit: f64| (1.0_f64.exp() + 2.0).ln() - logit;
        let expected = 0.45 * log(1.0) + 0.55 * log(0.0) + 0.1 * 4.0 / 2.0;
        assert!((layers.compute(&point).0 - expected).abs() < 1e-12);
        layers.decay = 0.0;
        assert!((layers.compute(&point).0 - expected + 0.2).abs() < 1e-12);
    }

    #[test]
    fn irises_of_a_class_share_their_bits() {
        let (x, class) = iris();
        let x = x.mapv(|v| v as f32);
        let weights: Vec<f32> = (0..150).map(|i| f32::from(u8::from(i % 5 == 0))).collect();
        let fit = || {
            let monitor = Monitor::silent();
            Hds::new()
                .bits(16)
                .fit_weighted(x.view(), &class, &weights, 3, &monitor)
        };
        let (one, two) = in_one_and_two_threads(|| fit().unwrap());
        assert_eq!(one, two);
        let codes = one.latent(x.clone()).mapv(|v| v >= 0.0);
        let distance = |i: usize, j: usize| {
            let both = codes.row(i).into_iter().zip(codes.row(j));
            both.filter(|(a, b)| a != b).count()
        };
        let nearest_is_right = |i: &usize| {
            let others = (0..150).filter(|j| j != i);
            let nearest = others.min_by_key(|&j| distance(*i, j)).unwrap();
            class[nearest] == class[*i]
        };
        assert!((0..150).filter(nearest_is_right).count() >= 130);
    }

    #[test]
    fn what_cannot_be_learned_is_said() {
        let x = array![[1.0, 2.0], [1.0, 2.0_f32]];
        let monitor = Monitor::silent();
        let fit = |class: &[u32], weights: &[f32]| {
            Hds::new().fit_weighted(x.view(), class, weights, 0, &monitor)
        };
        // Rows that are the same have the same code.
        let same = fit(&[0, 1], &[1.0, 1.0]).unwrap().latent(x.clone());
        assert_eq!(same.row(0), same.row(1));
        let said = fit(&[0, 1], &[1.0, 0.0]).unwrap_err().to_string();
        assert!(said.contains("two classes"), "{said}");
        assert!(fit(&[0, 1], &[1.0]).is_err());
        assert!(Hds::new().bits(0).validate().is_err());
        assert!(Hds::new().decay(-1.0).validate().is_err());
        monitor.cancel();
        assert!(fit(&[0, 1], &[1.0, 1.0]).is_err());
    }
}
