//! What a miner looks at.

use likewise::Triplets;
use ndarray::Array2;

use crate::{Error, Result};
#[cfg(feature = "networks")]
use {
    crate::loss::{Pairs, cosines},
    burn::tensor::Tensor,
};

/// What a miner looks at: plain numbers, `[anchors, n]`.
pub(super) struct Seen {
    pub(super) cosines: Array2<f64>,
    pub(super) positive: Array2<f64>,
    pub(super) negative: Array2<f64>,
    pub(super) anchors: Vec<f64>,
}

impl Seen {
    #[cfg(feature = "networks")]
    pub(super) fn of(embeddings: &Tensor<2>, pairs: &Pairs) -> Result<Self> {
        let [m, n] = pairs.dims();
        if n != embeddings.dims()[0] {
            return Err(Error::data(format!(
                "{} embeddings, but pairs of {n} items; there must be as many",
                embeddings.dims()[0]
            )));
        }
        let read = |tensor: Tensor<2>| {
            let values = tensor.try_into_vec_as::<f64>();
            let values = values.expect("a float tensor reads as f64");
            Array2::from_shape_vec((m, n), values).expect("a tensor has the shape it says")
        };
        let anchors = pairs.anchors.clone().detach().try_into_vec_as::<f64>();
        Ok(Self {
            cosines: read(cosines(embeddings.clone().detach(), m)),
            positive: read(pairs.positive.clone().detach()),
            negative: read(pairs.negative.clone().detach()),
            anchors: anchors.expect("a float tensor reads as f64"),
        })
    }

    /// Anchors that count.
    pub(super) fn anchors(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.anchors.len()).filter(|&a| self.anchors[a] > 0.0)
    }

    pub(super) fn positives(
        &self,
        a: usize,
    ) -> impl DoubleEndedIterator<Item = usize> + Clone + '_ {
        (0..self.positive.ncols()).filter(move |&p| self.positive[[a, p]] > 0.0)
    }

    pub(super) fn negatives(
        &self,
        a: usize,
    ) -> impl DoubleEndedIterator<Item = usize> + Clone + '_ {
        (0..self.negative.ncols()).filter(move |&n| self.negative[[a, n]] > 0.0)
    }

    /// The most similar of some items; of equals, the first.
    pub(super) fn nearest(
        &self,
        a: usize,
        items: impl DoubleEndedIterator<Item = usize>,
    ) -> Option<usize> {
        let cosine = |item: &usize| self.cosines[[a, *item]];
        items.rev().max_by(|x, y| cosine(x).total_cmp(&cosine(y)))
    }

    /// The least similar of some items; of equals, the first.
    pub(super) fn farthest(
        &self,
        a: usize,
        items: impl DoubleEndedIterator<Item = usize>,
    ) -> Option<usize> {
        let cosine = |item: &usize| self.cosines[[a, *item]];
        items.min_by(|x, y| cosine(x).total_cmp(&cosine(y)))
    }

    /// Distance of unit rows.
    pub(super) fn distance(&self, a: usize, b: usize) -> f64 {
        (2.0 - 2.0 * self.cosines[[a, b]]).max(0.0).sqrt()
    }

    /// Adds a triplet, with the product of the weights of its items.
    pub(super) fn push(&self, triplets: &mut Triplets, a: usize, p: usize, n: usize) {
        let weight = self.positive[[a, p]] * self.negative[[a, n]] / self.anchors[a];
        triplets.push(a as u32, p as u32, n as u32, weight as f32);
    }
}
