//! Matrices as tensors and back, and unit rows.

use burn::tensor::{Device, Tensor, TensorData};
use ndarray::Array2;

pub(crate) fn to_matrix(t: Tensor<2>) -> Array2<f32> {
    let [rows, columns] = t.dims();
    let values = t
        .try_into_vec_as::<f32>()
        .expect("a float tensor reads as f32");
    Array2::from_shape_vec((rows, columns), values)
        .expect("a tensor has as many values as its shape says")
}

pub(crate) fn matrix_tensor(x: &Array2<f32>, device: &Device) -> Tensor<2> {
    let shape = [x.nrows(), x.ncols()];
    Tensor::from_data(TensorData::new(x.iter().copied().collect(), shape), device)
}

/// Rows scaled to unit length, for rows of any finite length.
///
/// A row shorter than 1e-12 has no direction: it stays as it is, with a finite gradient.
pub(crate) fn l2_normalize(x: Tensor<2>) -> Tensor<2> {
    // The squares of very long rows would overflow; other rows are not touched by this.
    let largest = x.clone().detach().abs().max_dim(1);
    let short = largest.clone().lower_elem(1e12);
    let x = x / largest.mask_fill(short, 1.0);
    let square = x.clone().square().sum_dim(1);
    let nothing = square.clone().lower_elem(1e-24);
    x / square.mask_fill(nothing, 1.0).sqrt()
}

/// The one number of a tensor.
pub(crate) fn value_of(t: &Tensor<1>) -> f64 {
    let values = t.clone().try_into_vec_as::<f32>();
    values.map_or(f64::NAN, |v| f64::from(v[0]))
}
