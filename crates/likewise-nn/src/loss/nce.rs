//! The loss of instance discrimination, and its memory.

use serde::{Deserialize, Serialize};

use super::check::above_zero;
use crate::{Error, Result};
#[cfg(feature = "networks")]
use {
    super::classes::Classes,
    super::normalized_softmax::cross_entropy,
    super::reduce::weighted_mean,
    crate::net::tensor::l2_normalize,
    burn::tensor::Tensor,
    ndarray::{Array2, ArrayView1},
};

/// Instance discrimination: every item finds its own place in a memory of all.
///
/// ```text
/// L   = - mean_i log softmax_c(m_c.v_i / T) at c = y_i,        v_i of length 1
/// m_c <- (mu m_c + (1 - mu) v) at length 1                     after each step, v: mean of those with y_i = c
/// ```
///
/// The memory `m` takes the place of proxies: no gradient moves it. With more than `full` classes the
/// softmax is estimated against `noise` rows of the memory, drawn evenly:
///
/// ```text
/// P_c = exp(m_c.v_i / T) / Z,   Z = N times the mean of the exp of the first batch, then fixed;   K = noise
/// L   = - mean_i [ log(P_y / (P_y + K/N)) + sum_k log((K/N) / (P_k + K/N)) ]
/// ```
///
/// **When to use it.** With `pseudo_labels = "instances"`, where every item is its own class, and images that
/// are augmented: what is left of an image under its augmentations is what it learns. With other sources it
/// is a softmax whose proxies follow their items.
///
/// **When not.** On features, where nothing augments an item: it then only spreads items evenly.
///
/// **Cost.** O(n N d) time and O(n N) memory a batch of n, or O(n K d); memory of N x d numbers.
///
/// **Source.** Wu, Xiong, Yu and Lin, CVPR 2018, and their code: T = .07, mu = .5, K = 4096. Where we differ:
/// the full softmax up to `full` classes; the noise is drawn once for all items of a batch; and on features
/// the memory begins as their rows rather than at random. Classes of several items take in their mean, as
/// there are none with theirs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Nce {
    /// Temperature T, above 0.
    pub temperature: f64,
    /// Share mu of a row of the memory that stays, 0 to below 1.
    pub momentum: f64,
    /// Most classes that the softmax goes over in full.
    pub full: usize,
    /// Rows of the memory that are noise, at least 1; used above `full` classes.
    pub noise: usize,
}

impl Default for Nce {
    fn default() -> Self {
        Self {
            temperature: 0.07,
            momentum: 0.5,
            full: 10_000,
            noise: 4096,
        }
    }
}

impl Nce {
    pub(crate) fn validate(&self) -> Result<()> {
        above_zero("loss.temperature", self.temperature)?;
        if !(0.0..1.0).contains(&self.momentum) {
            let rule = "must be at least 0 and below 1";
            return Err(Error::parameter("loss.momentum", self.momentum, rule));
        }
        if self.noise == 0 {
            return Err(Error::parameter("loss.noise", 0, "must be at least 1"));
        }
        Ok(())
    }
}

#[cfg(feature = "networks")]
impl Nce {
    /// The loss of a batch by the full softmax, a tensor of one number. `embeddings` `[n, d]`, of any
    /// length; `memory` `[C, d]` as it is.
    pub fn forward(
        &self,
        embeddings: Tensor<2>,
        memory: Tensor<2>,
        classes: &Classes,
    ) -> Tensor<1> {
        let products = l2_normalize(embeddings).matmul(memory.transpose());
        cross_entropy(products.div_scalar(self.temperature), classes)
    }

    /// The loss against noise: `own` `[n, d]` are the rows of the memory of the items themselves, `noise`
    /// `[K, d]` those that were drawn of all `count`, and `constant` is Z, if it is known. Of `classes` the weights count.
    ///
    /// Gives Z beside it.
    pub fn estimate(
        &self,
        embeddings: Tensor<2>,
        classes: &Classes,
        [own, noise]: [Tensor<2>; 2],
        count: usize,
        constant: Option<f64>,
    ) -> (Tensor<1>, f64) {
        let (_, weights) = classes.like(&embeddings);
        let v = l2_normalize(embeddings);
        let exp = |products: Tensor<2>| products.div_scalar(self.temperature).exp();
        let positive = exp((v.clone() * own).sum_dim(1));
        let negative = exp(v.matmul(noise.transpose()));
        let [n, k] = negative.dims();
        let constant = constant.unwrap_or_else(|| {
            let sums = [positive.clone().sum(), negative.clone().sum()];
            let sum: f64 = sums.iter().map(crate::net::value_of).sum();
            count as f64 * sum / (n * (k + 1)) as f64
        });
        let even = k as f64 / count as f64;
        let share = |exp: Tensor<2>| exp.div_scalar(constant);
        let (positive, negative) = (share(positive), share(negative));
        let right = (positive.clone() / positive.add_scalar(even + LEAST)).log();
        let wrong = (negative.add_scalar(even + LEAST).recip() * even).log();
        let terms = (right + wrong.sum_dim(1)).neg();
        (weighted_mean(terms, weights), constant)
    }

    /// Moves the row of a class towards a row of length 1.
    pub(crate) fn remember(&self, memory: &mut Array2<f32>, class: usize, v: ArrayView1<f32>) {
        let mut row = memory.row_mut(class);
        let keep = self.momentum as f32;
        row.zip_mut_with(&v, |m, &v| *m = keep * *m + (1.0 - keep) * v);
        let length = row.dot(&row).sqrt();
        if length > 0.0 {
            row /= length;
        }
    }
}

/// Keeps the logarithms of the estimate finite, as in the authors' code.
#[cfg(feature = "networks")]
const LEAST: f64 = 1e-7;

#[cfg(all(test, feature = "networks"))]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::loss::reference::{X, Y, batch, classes, near, proxies, tensor};

    const P: [[f64; 3]; 3] = [[1.0, 0.2, 0.0], [0.0, 1.0, 0.3], [0.1, 0.0, 1.0]];

    fn product(i: usize, m: [f64; 3]) -> f64 {
        let length = X[i].iter().map(|v| v * v).sum::<f64>().sqrt();
        let sum: f64 = X[i].iter().zip(m).map(|(a, b)| a * b).sum();
        (sum / length / 0.07).exp()
    }

    #[test]
    fn the_full_softmax_is_the_formula() {
        let of = |i: usize| {
            let all: f64 = P.iter().map(|m| product(i, *m)).sum();
            -(product(i, P[Y[i] as usize]) / all).ln()
        };
        let expected = (0..6).map(of).sum::<f64>() / 6.0;
        near(
            Nce::default().forward(batch(), proxies(), &classes()),
            expected,
        );
    }

    #[test]
    fn the_estimate_is_the_formula_and_its_constant_stays() {
        let nce = Nce::default();
        let own = tensor([P[0], P[0], P[1], P[1], P[2], P[2]]);
        let noise = [P[2], P[0]];
        let rows = || [own.clone(), tensor(noise)];
        let (count, k) = (50.0, 2.0);
        let mut sum = 0.0;
        for i in 0..6 {
            sum += product(i, P[Y[i] as usize]);
            sum += noise.iter().map(|m| product(i, *m)).sum::<f64>();
        }
        let z = count * sum / 18.0;
        let even = k / count;
        let formula = |z: f64| {
            let mut loss = 0.0;
            for i in 0..6 {
                let right = product(i, P[Y[i] as usize]) / z;
                loss -= (right / (right + even + 1e-7)).ln();
                for m in noise {
                    loss -= (even / (product(i, m) / z + even + 1e-7)).ln();
                }
            }
            loss / 6.0
        };
        let (loss, found) = nce.estimate(batch(), &classes(), rows(), 50, None);
        // It is read as a single.
        assert!((found / z - 1.0).abs() < 1e-7, "{found} {z}");
        near(loss, formula(found));
        let (loss, same) = nce.estimate(batch(), &classes(), rows(), 50, Some(3.0));
        near(loss, formula(3.0));
        assert!((same - 3.0).abs() < 1e-12);
    }

    #[test]
    fn the_gradient_of_the_estimate_is_that_of_central_differences() {
        use burn::tensor::{DType, Device, TensorData};
        let nce = Nce {
            temperature: 0.5,
            ..Nce::default()
        };
        let device = Device::flex().autodiff();
        let value = |x: &[f64], lead: bool| {
            let x: Tensor<2> =
                Tensor::from_data(TensorData::new(x.to_vec(), [6, 3]), (&device, DType::F64));
            let x = if lead { x.require_grad() } else { x };
            let own = tensor([P[0], P[0], P[1], P[1], P[2], P[2]]);
            let rows = [Tensor::from_inner(own), Tensor::from_inner(proxies())];
            let told = Classes::new(&Y, 3, &[1.0; 6], (&device, DType::F64)).unwrap();
            let (loss, _) = nce.estimate(x.clone(), &told, rows, 20, Some(30.0));
            (x, loss)
        };
        let flat: Vec<f64> = X.concat();
        let (x, loss) = value(&flat, true);
        let gradient = x.grad(&loss.backward()).unwrap();
        let gradient = gradient.try_into_vec_as::<f64>().unwrap();
        for (at, told) in gradient.into_iter().enumerate() {
            let moved = |by: f64| {
                let mut to = flat.clone();
                to[at] += by;
                value(&to, false).1.try_into_vec_as::<f64>().unwrap()[0]
            };
            let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            assert!((slope - told).abs() < 1e-7, "{slope} {told}");
        }
    }

    #[test]
    fn the_memory_moves_half_way_at_length_1() {
        let mut memory = array![[1.0, 0.0], [0.2, 0.1_f32]];
        Nce::default().remember(&mut memory, 0, array![0.0, 1.0].view());
        let root = 0.5_f32.sqrt();
        assert!((memory[(0, 0)] - root).abs() < 1e-6 && (memory[(0, 1)] - root).abs() < 1e-6);
        assert_eq!(memory.row(1), array![0.2, 0.1]);
    }
}
