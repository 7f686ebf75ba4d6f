//! The loss against a memory of all classes, which steps move and gradients do not.

use std::collections::BTreeMap;

use burn::tensor::{Int, Tensor, TensorData};
use likewise::seed::Rng;
use ndarray::{Array1, Axis};
use rand::RngExt;

use super::state::State;
use crate::Result;
use crate::loss::{Batch, Losses};
use crate::net::tensor::l2_normalize;
use crate::net::to_matrix;

/// The loss of a batch with these classes: by the memory in the place of proxies, where the loss has one.
///
/// With more classes than it goes over in full, noise is drawn from `rng`, and the constant of the estimate
/// is found in the first batch of all.
pub(super) fn loss(
    of: &Losses,
    state: &mut State,
    embedded: Tensor<2>,
    told: (&Batch, Option<&Batch>),
    classes: &[u32],
    rng: &mut Rng,
) -> Result<Tensor<1>> {
    let mut proxies = state.proxy_rows();
    let (Some(nce), Some(memory)) = (of.nce(), proxies.pop()) else {
        return of.forward(embedded, told, state.proxy_rows());
    };
    let memory = memory.detach();
    let [count, _] = memory.dims();
    let (batch, _) = told;
    let estimated = batch.classes.as_ref().filter(|_| count > nce.full);
    let Some(counted) = estimated else {
        return of.forward(embedded, told, vec![memory]);
    };
    let rows = |places: Vec<i64>| {
        let length = places.len();
        let places = TensorData::new(places, [length]);
        let places = Tensor::<1, Int>::from_data(places, &memory.device());
        memory.clone().select(0, places)
    };
    let own = rows(classes.iter().map(|&class| i64::from(class)).collect());
    let drawn = (0..nce.noise).map(|_| rng.random_range(0..count) as i64);
    let noise = rows(drawn.collect());
    let (loss, constant) = nce.estimate(embedded, counted, [own, noise], count, state.constant);
    state.constant = Some(constant);
    Ok(loss)
}

/// Takes the embeddings of a batch into the memory, where the loss has one: of each class their mean.
pub(super) fn remember(
    of: &Losses,
    state: &mut State,
    embedded: Tensor<2>,
    (classes, weights): (&[u32], &[f32]),
) {
    let (Some(nce), Some(memory)) = (of.nce(), state.proxy_rows().pop()) else {
        return;
    };
    let mut memory = to_matrix(memory);
    let rows = to_matrix(l2_normalize(embedded.detach()));
    let mut means: BTreeMap<u32, Array1<f32>> = BTreeMap::new();
    for ((row, &class), &weight) in rows.axis_iter(Axis(0)).zip(classes).zip(weights) {
        if weight > 0.0 {
            let zeros = || Array1::zeros(row.len());
            let sum = means.entry(class).or_insert_with(zeros);
            sum.scaled_add(weight, &row);
        }
    }
    for (class, mut mean) in means {
        let length = mean.dot(&mean).sqrt();
        if length > 0.0 {
            mean /= length;
            nce.remember(&mut memory, class as usize, mean.view());
        }
    }
    state.remembered(memory);
}
