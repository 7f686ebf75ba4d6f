//! Matrices as tensors and back.

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
