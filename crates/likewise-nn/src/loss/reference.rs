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

/// How alike two items are, where that is a grade.
pub(crate) const GRADES: [[f64; 6]; 6] = {
    let mut grades = [[0.0; 6]; 6];
    let (mut i, some) = (0, [0.5, 0.25, 0.0, 1.0, 0.75, 0.0]);
    while i < 36 {
        let (a, b) = (i / 6, i % 6);
        grades[a][b] = some[(a + b + a * b) % 6];
        i += 1;
    }
    grades
};

pub(crate) fn graded() -> Pairs {
    let grades = ndarray::arr2(&GRADES).mapv(|grade| grade as f32);
    Pairs::from_relation(grades.view(), &[1.0; 6], (&Device::flex(), DType::F64)).unwrap()
}

/// Tells of each ordered pair its cosine, its grade, and cosine and weight of the other negatives of its anchor.
pub(crate) fn of_graded(mut each: impl FnMut(f64, f64, &[(f64, f64)])) {
    let cosine = |a: usize, b: usize| {
        let dot = |a: usize, b: usize| (0..3).map(|k| X[a][k] * X[b][k]).sum::<f64>();
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    };
    for (a, p) in (0..36)
        .map(|place| (place / 6, place % 6))
        .filter(|(a, p)| a != p)
    {
        let others = (0..6).filter(|&n| n != a && n != p);
        let others: Vec<_> = others.map(|n| (cosine(a, n), 1.0 - GRADES[a][n])).collect();
        each(cosine(a, p), GRADES[a][p], &others);
    }
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
