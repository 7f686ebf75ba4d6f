//! The pairs of a matrix as a list, in blocks: for losses that look at each pair beside all
//! items.

use burn::tensor::{Int, Tensor, TensorData};

/// Places of a matrix and their weights.
pub(super) struct Listed {
    pub(super) rows: Vec<i64>,
    /// Place in the flattened matrix.
    pub(super) places: Vec<i64>,
    pub(super) weights: Vec<f64>,
}

/// A stretch of the list.
pub(super) struct Block<'a> {
    rows: &'a [i64],
    places: &'a [i64],
    weights: &'a [f64],
}

impl Listed {
    /// The entries above 0, in order.
    pub(super) fn above_zero(matrix: &Tensor<2>) -> Self {
        let n = matrix.dims()[1];
        let values = matrix.clone().detach().try_into_vec_as::<f64>();
        let values = values.expect("a float tensor reads as f64");
        let mut list = Self {
            rows: Vec::new(),
            places: Vec::new(),
            weights: Vec::new(),
        };
        for (place, &weight) in values.iter().enumerate().filter(|&(_, &w)| w > 0.0) {
            list.rows.push((place / n) as i64);
            list.places.push(place as i64);
            list.weights.push(weight);
        }
        list
    }

    /// The list in stretches of `size` or fewer.
    pub(super) fn blocks(&self, size: usize) -> impl Iterator<Item = Block<'_>> {
        let size = size.max(1);
        (self.rows.chunks(size))
            .zip(self.places.chunks(size).zip(self.weights.chunks(size)))
            .map(|(rows, (places, weights))| Block {
                rows,
                places,
                weights,
            })
    }
}

impl Block<'_> {
    /// Rows, places and (as a column) weights, on the device and in the number type of `like`.
    pub(super) fn tensors(&self, like: &Tensor<2>) -> (Tensor<1, Int>, Tensor<1, Int>, Tensor<2>) {
        let size = self.rows.len();
        let device = like.device();
        let index =
            |values: &[i64]| Tensor::from_data(TensorData::new(values.to_vec(), [size]), &device);
        let weights = TensorData::new(self.weights.to_vec(), [size, 1]);
        (
            index(self.rows),
            index(self.places),
            Tensor::from_data(weights, (&device, like.dtype())),
        )
    }
}
