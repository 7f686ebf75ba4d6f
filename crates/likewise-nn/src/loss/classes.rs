//! Classes of a batch: the targets of proxy losses.

use burn::tensor::{Tensor, TensorCreationOptions, TensorData};
use likewise::Tags;
use ndarray::ArrayView2;

use super::pairs::check_weight;
use crate::{Error, Result};

/// To which class each item of a batch belongs, and how much it counts.
///
/// ```
/// use likewise_nn::{Device, loss::Classes};
/// let classes = Classes::new(&[0, 2], 3, &[1.0, 0.5], &Device::flex())?;
/// assert_eq!(classes.own.dims(), [2, 3]);
/// assert!(Classes::new(&[3], 3, &[1.0], &Device::flex()).is_err());
/// # Ok::<(), likewise_nn::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Classes {
    /// Share of each class in each item, `[n, C]`: rows of one 1, soft ones that sum to 1, or a 1 for each
    /// of several labels.
    pub own: Tensor<2>,
    /// Weight of each item, `[n]`, at least 0; 0 is the same as absence.
    pub weights: Tensor<1>,
}

impl Classes {
    /// Targets of known classes, by number.
    ///
    /// Fails if a class is not below `classes`, if the lists differ in length, and on weights
    /// that are negative or not finite.
    pub fn new(
        own: &[u32],
        classes: usize,
        weights: &[f32],
        options: impl Into<TensorCreationOptions>,
    ) -> Result<Self> {
        let mut shares = vec![0.0; own.len() * classes];
        for (item, &class) in own.iter().enumerate() {
            if class as usize >= classes {
                return Err(Error::data(format!(
                    "item {item} has class {class} of {classes}; classes count from 0"
                )));
            }
            shares[item * classes + class as usize] = 1.0;
        }
        Self::from_shares(shares, [own.len(), classes], weights, options)
    }

    /// Targets of items with several labels each: a 1 at each of an item's tags. `own` are rows of `tags`,
    /// whose number is that of the classes.
    ///
    /// For [`ProxyAnchor`](super::ProxyAnchor); the other losses of classes take one a row. Fails if an
    /// item is none of `tags`, and on weights as in [`new`](Self::new).
    pub fn several(
        own: &[u32],
        tags: &Tags,
        weights: &[f32],
        options: impl Into<TensorCreationOptions>,
    ) -> Result<Self> {
        let classes = tags.n_tags();
        let mut shares = vec![0.0; own.len() * classes];
        for (item, &row) in own.iter().enumerate() {
            if row as usize >= tags.len() {
                return Err(Error::data(format!(
                    "item {item} has set of tags {row} of {}; sets count from 0",
                    tags.len()
                )));
            }
            for &tag in tags.of(row as usize).unwrap_or_default() {
                shares[item * classes + tag as usize] = 1.0;
            }
        }
        Self::from_shares(shares, [own.len(), classes], weights, options)
    }

    /// Soft targets: a row of shares for each item, which sum to 1.
    ///
    /// Rows of weight 0 may hold anything finite. Fails on other rows, and on weights as in
    /// [`new`](Self::new).
    pub fn soft(
        shares: ArrayView2<f32>,
        weights: &[f32],
        options: impl Into<TensorCreationOptions>,
    ) -> Result<Self> {
        for (item, row) in shares.rows().into_iter().enumerate() {
            let sums = (row.sum() - 1.0).abs() < 1e-3 && row.iter().all(|&share| share >= 0.0);
            let counts = weights.get(item).is_some_and(|&w| w > 0.0);
            if counts && !sums || row.iter().any(|share| !share.is_finite()) {
                return Err(Error::data(format!(
                    "shares of item {item} sum to {}; they must be at least 0 and sum to 1",
                    row.sum()
                )));
            }
        }
        let dims = [shares.nrows(), shares.ncols()];
        Self::from_shares(shares.iter().copied().collect(), dims, weights, options)
    }

    fn from_shares(
        shares: Vec<f32>,
        dims: [usize; 2],
        weights: &[f32],
        options: impl Into<TensorCreationOptions>,
    ) -> Result<Self> {
        if weights.len() != dims[0] {
            return Err(Error::data(format!(
                "{} items but {} weights; there must be one each",
                dims[0],
                weights.len()
            )));
        }
        for (item, &weight) in weights.iter().enumerate() {
            check_weight("item", item, weight)?;
        }
        let options = options.into();
        let weights = TensorData::new(weights.to_vec(), [dims[0]]);
        Ok(Self {
            own: Tensor::from_data(TensorData::new(shares, dims), options.clone()),
            weights: Tensor::from_data(weights, options),
        })
    }

    /// Number of items and of classes.
    pub fn dims(&self) -> [usize; 2] {
        self.own.dims()
    }

    /// The same targets in the number type of `x`, as constants: shares `[n, C]` and weights
    /// `[n, 1]`.
    pub(crate) fn like(&self, x: &Tensor<2>) -> (Tensor<2>, Tensor<2>) {
        let dtype = x.dtype();
        let weights = self.weights.clone().detach().cast(dtype);
        (
            self.own.clone().detach().cast(dtype),
            weights.unsqueeze_dim(1),
        )
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use ndarray::array;

    use super::*;

    #[test]
    fn bad_targets_are_refused_with_their_place() {
        let device = Device::flex();
        let said = |answer: Result<Classes>| answer.unwrap_err().to_string();
        assert!(said(Classes::new(&[0, 5], 3, &[1.0; 2], &device)).contains("item 1 has class 5"));
        assert!(said(Classes::new(&[0], 3, &[1.0; 2], &device)).contains("1 items but 2"));
        assert!(said(Classes::new(&[0], 3, &[-1.0], &device)).contains("weight -1"));
        let tags = Tags::read([["a"]]).unwrap();
        let none = Classes::several(&[1], &tags, &[1.0], &device);
        assert!(said(none).contains("item 0 has set of tags 1 of 1"));
        let shares = array![[0.5, 0.5], [0.5, 0.1]];
        let soft = |weights: &[f32]| Classes::soft(shares.view(), weights, &device);
        assert!(said(soft(&[1.0, 1.0])).contains("item 1 sum to 0.6"));
        assert!(soft(&[1.0, 0.0]).is_ok());
    }
}
