//! What the learners here share: centred rows, batches, factors of dropout.

use burn::tensor::{Device, Tensor, TensorData};
use likewise::cross::{Learner, Views};
use likewise::matrix;
use likewise::seed::Rng;
use ndarray::{Array1, Array2};
use rand::RngExt;
use rand::seq::SliceRandom;

use crate::{Error, ErrorKind, Result};

/// What keeps Adam from dividing by 0, as the programs of the sources have it.
pub(super) const EPSILON: f32 = 1e-8;

/// The rows of modality `t` less their mean, and the mean, of these rows.
pub(super) fn centered(views: &Views, t: usize, rows: &[usize]) -> (Array2<f32>, Array1<f64>) {
    let x = matrix::select_rows(views.rows(t), rows);
    let mean = matrix::column_means(x.view());
    (matrix::centered(x.view()), mean)
}

/// The classes among labeled objects, from 0 without gaps: a number for each that is there.
pub(super) fn numbered(views: &Views) -> Vec<u32> {
    let each = views.class().iter().zip(views.weight());
    let mut classes: Vec<u32> = each.filter(|(_, w)| **w > 0.0).map(|(c, _)| *c).collect();
    classes.sort_unstable();
    classes.dedup();
    classes
}

/// Fails unless there are two modalities.
pub(super) fn check_two(views: &Views, name: &str) -> Result<()> {
    let there = views.n_modalities();
    if there == 2 {
        return Ok(());
    }
    let others = if there > 2 {
        format!("; take two of them, or {}", Learner::of_many().join(", "))
    } else {
        String::new()
    };
    Err(Error::data(format!(
        "{name} takes two modalities, but there are {there}{others}"
    )))
}

/// Fails where all rows of a modality are the same.
pub(super) fn check_rows(views: &Views) -> Result<()> {
    for t in 0..views.n_modalities() {
        let rows = views.rows(t);
        if rows.rows().into_iter().all(|row| row == rows.row(0)) {
            return Err(Error::data(format!(
                "all {} rows of modality {t} are the same: nothing can be told by them",
                rows.nrows()
            )));
        }
    }
    Ok(())
}

/// Fails unless labels are of two classes.
pub(super) fn check_classes(views: &Views, name: &str) -> Result<()> {
    let classes = numbered(views).len();
    if classes < 2 {
        return Err(Error::data(format!(
            "{name} learns what tells classes apart, and the labels are of {}; label some of another class",
            if classes == 0 { "none" } else { "one" }
        )));
    }
    Ok(())
}

/// All of `n` places in batches, in random order; the last batch is smaller.
pub(super) fn batches(n: usize, batch: usize, rng: &mut Rng) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..n).collect();
    order.shuffle(rng);
    order.chunks(batch).map(<[usize]>::to_vec).collect()
}

/// Factors of 0, for a share of `dropout`, or `1 / (1 - dropout)`.
pub(super) fn factors(
    rows: usize,
    columns: usize,
    dropout: f64,
    rng: &mut Rng,
    device: &Device,
) -> Tensor<2> {
    let factor = (1.0 / (1.0 - dropout)) as f32;
    let values: Vec<f32> = (0..rows * columns)
        .map(|_| {
            if rng.random::<f64>() < dropout {
                0.0
            } else {
                factor
            }
        })
        .collect();
    Tensor::from_data(TensorData::new(values, [rows, columns]), device)
}

/// Values as a column.
pub(super) fn column(values: &[f32], device: &Device) -> Tensor<2> {
    Tensor::from_data(TensorData::new(values.to_vec(), [values.len(), 1]), device)
}

/// Fails where a loss is no number any more.
pub(super) fn check_loss(name: &str, value: f64, rate: f64) -> Result<()> {
    if value.is_finite() {
        return Ok(());
    }
    let message = format!("{name}: the loss became {value}; lower its step size ({rate})");
    Err(Error::new(ErrorKind::Internal, message))
}

#[cfg(test)]
pub(super) mod tests {
    use likewise::seed;

    use super::*;

    /// Rows of two modalities, of 5 and 4 columns, around the means of their classes.
    pub(in crate::cross) fn two_modalities(
        classes: usize,
        each: usize,
        seed: u64,
    ) -> (Array2<f32>, Array2<f32>, Vec<u32>) {
        let mut rng = seed::stream(seed, "two modalities");
        let mut rows = |columns: usize| {
            let means = Array2::from_shape_fn((classes, columns), |_| 6.0 * rng.random::<f32>());
            Array2::from_shape_fn((classes * each, columns), |(i, j)| {
                means[[i / each, j]] + rng.random::<f32>()
            })
        };
        let (x, y) = (rows(5), rows(4));
        let class = (0..classes * each).map(|i| (i / each) as u32).collect();
        (x, y, class)
    }

    #[test]
    fn batches_hold_all_once() {
        let mut rng = seed::stream(1, "test");
        let found = batches(10, 4, &mut rng);
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4, 2]);
        let mut all: Vec<usize> = found.into_iter().flatten().collect();
        all.sort_unstable();
        assert_eq!(all, (0..10).collect::<Vec<_>>());
    }
}
