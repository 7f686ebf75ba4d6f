//! Unit rows, their cosines and their distances: what most losses are made of.

use burn::tensor::Tensor;

use crate::net::tensor::l2_normalize;

/// Cosines between the first `anchors` rows and all rows, `[anchors, n]`.
pub(crate) fn cosines(embeddings: Tensor<2>, anchors: usize) -> Tensor<2> {
    let unit = l2_normalize(embeddings);
    let first = unit.clone().slice(0..anchors);
    first.matmul(unit.transpose())
}

/// Squared Euclidean distances of unit rows, from their cosines.
pub(crate) fn squared_distances(cosines: Tensor<2>) -> Tensor<2> {
    cosines.mul_scalar(-2.0).add_scalar(2.0).clamp_min(0.0)
}

/// Euclidean distances of unit rows, from their cosines; where two rows agree the distance
/// and its gradient are 0.
pub(crate) fn distances(cosines: Tensor<2>) -> Tensor<2> {
    let square = squared_distances(cosines);
    let same = square.clone().lower_elem(1e-12);
    let away = square.mask_fill(same.clone(), 1.0).sqrt();
    away.mask_fill(same, 0.0)
}
