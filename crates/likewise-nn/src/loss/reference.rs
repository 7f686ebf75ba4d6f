//! The worked batch of the tests.

use burn::tensor::{DType, Device, Tensor, TensorData};

use super::{Classes, Pairs};

pub(crate) const X: [[f64; 3]; 6] = [
    [1.0, 0.1, 0.0],
    [0.9, 0.3, 0.2],
    [0.1, 1.0, 0.3],
    [0.5, 0.8, -0.1],
    [0.0, 0.2, 1.0],
    [0.4, -0.1, 0.7],
];
const P: [[f64; 3]; 3] = [[1.0, 0.2, 0.0], [0.0, 1.0, 0.3], [0.1, 0.0, 1.0]];
pub(crate) const Y: [u32; 6] = [0, 0, 1, 1, 2, 2];

pub(crate) fn tensor<const N: usize, const D: usize>(rows: [[f64; D]; N]) -> Tensor<2> {
    Tensor::from_data(TensorData::from(rows), (&Device::flex(), DType::F64))
}

pub(crate) fn batch() -> Tensor<2> {
    tensor(X)
}

/// The batch with one item in the wrong place.
pub(crate) fn disordered() -> Tensor<2> {
    let mut x = X;
    x[1] = [0.2, 0.9, 0.3];
    tensor(x)
}

pub(crate) fn pairs() -> Pairs {
    Pairs::from_classes(&Y, &[1.0; 6], (&Device::flex(), DType::F64)).unwrap()
}

pub(crate) fn proxies() -> Tensor<2> {
    tensor(P)
}

pub(crate) fn classes() -> Classes {
    Classes::new(&Y, 3, &[1.0; 6], (&Device::flex(), DType::F64)).unwrap()
}

/// The printed values have eight digits.
#[track_caller]
pub(crate) fn near(loss: Tensor<1>, expected: f64) {
    let value = loss.try_into_vec_as::<f64>().unwrap()[0];
    assert!((value - expected).abs() < 6e-9, "{value} is not {expected}");
}
