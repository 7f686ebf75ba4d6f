//! The confidence-weighted proxy loss.

use burn::tensor::{Int, Tensor, activation::softplus};
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Confidence-weighted proxy loss: every item is pulled to the proxy of its (pseudo-)label
/// and pushed from all others, weighted by the confidence in that label.
///
/// ```text
/// L = 1/C sum_i w_i [ softplus(-e (z_i.p_y - b)) + sum_{c != y} softplus(e (z_i.p_c + b)) ]
/// ```
///
/// with unit rows `z` and `p`, scale `e` and margin `b`.
///
/// **When to use it.** Pseudo-labels of mixed quality: a doubtful one moves little, and a
/// weight of 0 is the same as absence. Within a class, variance survives: an item only has
/// to be nearer to its own proxy than to the others.
///
/// **When not.** Without class labels (pairs only); with so many classes that `batch x C`
/// no longer fits.
///
/// **Cost.** O(batch x C x d) time, O(batch x C) memory.
///
/// **Source.** Zhuang & Moulin, CVPR 2023, eqs. 26-29. Eq. 29 prints `c != y_i`; `y_i` is
/// unknown for unlabeled items, so the pseudo-label is meant. The plain sum over the batch
/// divided by C is kept as printed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConfidenceProxy {
    /// Scale e, above 0.
    pub scale: f64,
    /// Margin b, a cosine.
    pub margin: f64,
}

impl Default for ConfidenceProxy {
    fn default() -> Self {
        Self {
            scale: 32.0,
            margin: 0.1,
        }
    }
}

impl ConfidenceProxy {
    pub(crate) fn validate(&self) -> Result<()> {
        if !(self.scale.is_finite() && self.scale > 0.0) {
            return Err(Error::parameter(
                "loss.scale",
                self.scale,
                "must be above 0",
            ));
        }
        if !(-1.0..=1.0).contains(&self.margin) {
            return Err(Error::parameter(
                "loss.margin",
                self.margin,
                "must be a cosine, -1 to 1",
            ));
        }
        Ok(())
    }

    /// The loss of a batch, a tensor of one number.
    ///
    /// # Shapes
    /// - `embeddings` `[batch, d]` and `proxies` `[C, d]`, rows of any length above 0: they
    ///   are normalised here;
    /// - `labels` `[batch]`, class of each row, below C;
    /// - `weights` `[batch]`, 0 to 1; no gradient flows through them.
    pub fn forward(
        &self,
        embeddings: Tensor<2>,
        proxies: Tensor<2>,
        labels: Tensor<1, Int>,
        weights: Tensor<1>,
    ) -> Tensor<1> {
        let classes = proxies.dims()[0];
        let cosine = l2_normalize(embeddings).matmul(l2_normalize(proxies).transpose());
        let own = labels.one_hot::<2>(classes).float().cast(cosine.dtype());
        // One softplus serves both terms: the sign of the argument tells them apart.
        let sign = own.mul_scalar(-2.0).add_scalar(1.0);
        let argument = (cosine * sign)
            .add_scalar(self.margin)
            .mul_scalar(self.scale);
        let per_item = softplus(argument, 1.0).sum_dim(1).squeeze_dim::<1>(1);
        (per_item * weights.detach())
            .sum()
            .div_scalar(classes as f64)
    }
}

/// Rows scaled to unit length; the length is kept above 1e-12 for rows of zeros.
pub(crate) fn l2_normalize(x: Tensor<2>) -> Tensor<2> {
    let norm = x.clone().square().sum_dim(1).add_scalar(1e-24).sqrt();
    x / norm
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Device, TensorData};

    use super::*;

    const X: [[f64; 3]; 6] = [
        [1.0, 0.1, 0.0],
        [0.9, 0.3, 0.2],
        [0.1, 1.0, 0.3],
        [0.5, 0.8, -0.1],
        [0.0, 0.2, 1.0],
        [0.4, -0.1, 0.7],
    ];
    const P: [[f64; 3]; 3] = [[1.0, 0.2, 0.0], [0.0, 1.0, 0.3], [0.1, 0.0, 1.0]];
    const W: [f64; 6] = [
        0.641_003_75,
        0.270_153_30,
        0.418_328_13,
        0.016_461_37,
        1.0,
        0.0,
    ];
    const Y: [i64; 6] = [0, 0, 1, 0, 2, 0];

    fn tensor<const N: usize, const D: usize>(rows: [[f64; D]; N], device: &Device) -> Tensor<2> {
        Tensor::from_data(TensorData::from(rows), (device, DType::F64))
    }

    fn value(x: [[f64; 3]; 6], p: [[f64; 3]; 3], w: [f64; 6], device: &Device) -> f64 {
        ConfidenceProxy::default()
            .forward(
                tensor(x, device),
                tensor(p, device),
                Tensor::from_data(TensorData::from(Y), device),
                Tensor::from_data(TensorData::from(w), (device, DType::F64)),
            )
            .try_into_vec_as::<f64>()
            .unwrap()[0]
    }

    #[test]
    fn the_worked_value_is_met() {
        let loss = value(X, P, W, &Device::flex());
        assert!((loss - 16.332_305_42).abs() < 2e-7, "{loss}");
    }

    #[test]
    fn weight_zero_equals_absence() {
        let device = Device::flex();
        let mut moved = X;
        moved[5] = [-3.0, 2.0, 0.5];
        assert!((value(X, P, W, &device) - value(moved, P, W, &device)).abs() < 1e-12);
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        let device = Device::flex().autodiff();
        let x = tensor(X, &device).require_grad();
        let p = tensor(P, &device).require_grad();
        let loss = ConfidenceProxy::default().forward(
            x.clone(),
            p.clone(),
            Tensor::from_data(TensorData::from(Y), &device),
            Tensor::from_data(TensorData::from(W), (&device, DType::F64)),
        );
        let gradients = loss.backward();
        let read = |t: Tensor<2>| t.try_into_vec_as::<f64>().unwrap();
        let (dx, dp) = (
            read(x.grad(&gradients).unwrap()),
            read(p.grad(&gradients).unwrap()),
        );
        let plain = Device::flex();
        let h = 1e-6;
        for i in 0..6 {
            for j in 0..3 {
                let (mut up, mut down) = (X, X);
                up[i][j] += h;
                down[i][j] -= h;
                let slope = (value(up, P, W, &plain) - value(down, P, W, &plain)) / (2.0 * h);
                assert!((slope - dx[i * 3 + j]).abs() < 1e-6 * (1.0 + slope.abs()));
            }
        }
        for i in 0..3 {
            for j in 0..3 {
                let (mut up, mut down) = (P, P);
                up[i][j] += h;
                down[i][j] -= h;
                let slope = (value(X, up, W, &plain) - value(X, down, W, &plain)) / (2.0 * h);
                assert!((slope - dp[i * 3 + j]).abs() < 1e-6 * (1.0 + slope.abs()));
            }
        }
    }
}
