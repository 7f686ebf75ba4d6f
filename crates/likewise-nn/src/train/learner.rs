//! The learner by gradients: its choices, and what it begins with.

use likewise::Tags;
use likewise::learn::Evidence;
use likewise::linear::Stiefel;
use likewise::matrix;
use likewise::seed::{self, Rng};
use ndarray::{Array2, Axis};
use rand::RngExt;

use super::config::{TrainConfig, Tuning};
use super::metric::MetricConfig;
use crate::loss::{Losses, Relation};
use crate::mine::Mine;
use crate::net::{EmbeddingConfig, EncoderConfig, HeadConfig, Residual, Weights, no_images};
use crate::sample::Sampler;
use crate::{Device, Result};

/// A learner by gradients, with all its choices.
///
/// A round is an epoch. Random steps depend on the seed and the number of the epoch alone.
#[derive(Debug, Clone, Copy)]
pub struct Gradient<'a> {
    /// The head on features; behind an encoder, its orthonormal map and its `keep`.
    pub head: &'a HeadConfig,
    /// The encoder that is trained on images; none: the head stands on features.
    pub encoder: Option<&'a EncoderConfig>,
    /// How the weights of an encoder move.
    pub tuning: Tuning,
    /// How an orthonormal map is fitted at each step.
    pub map: Stiefel,
    /// The loss, or several with their weights.
    pub loss: &'a Losses,
    /// The metric whose terms of pairs stand in the place of the loss; none: the loss counts.
    pub metric: Option<&'a MetricConfig>,
    /// How batches are drawn.
    pub sampler: &'a Sampler,
    /// Which pairs or triplets of a batch the loss looks at; none: all.
    pub miner: Option<&'a Mine>,
    /// Steps and step sizes.
    pub train: &'a TrainConfig,
    /// Epochs in all, which a schedule of step sizes goes by.
    pub epochs: usize,
    /// Weights that the encoder starts from; none: random ones.
    pub pretrained: Option<&'a Weights>,
    /// Whether these are taken as they are, as the first model.
    pub taught: bool,
    /// Where the tensors live.
    pub device: &'a Device,
}

impl Gradient<'_> {
    /// Whether the encoder begins as the start.
    pub fn begins_whitened(&self) -> bool {
        let head = self.encoder.map(|encoder| encoder.head);
        let mapped = matches!(self.head.residual, Residual::Orthogonal { .. });
        matches!(head, Some(EmbeddingConfig::Whitened { .. }))
            && self.pretrained.is_some()
            && !mapped
    }

    /// Whether images are moved and mirrored.
    pub(super) fn augments(&self) -> bool {
        self.tuning.augment && self.encoder.is_some()
    }

    /// The tags of each class and by what they are alike, where items have several labels and are not taken
    /// for items of one class, their set.
    pub(super) fn tags<'e>(&self, evidence: &Evidence<'e>) -> Option<(&'e Tags, Relation)> {
        let relation = self.train.relation;
        let tags = evidence.tags.filter(|_| relation != Relation::Same);
        tags.map(|tags| (tags, relation))
    }

    /// Columns of the unit rows before an orthonormal map, for a start of `rank`.
    pub(super) fn unit_dim(&self, rank: usize) -> usize {
        match self.encoder {
            Some(encoder) => encoder.output_dim(),
            None => match self.head.residual {
                Residual::Orthogonal { .. } => rank,
                Residual::Linear | Residual::Mlp { .. } => self.head.learned_dim(rank),
            },
        }
    }

    /// What the network reads of some fitted items; images augmented by `vary`, if given.
    pub(super) fn inputs(
        &self,
        evidence: &Evidence,
        items: &[usize],
        vary: Option<&mut Rng>,
    ) -> Result<Array2<f32>> {
        if self.encoder.is_none() {
            return Ok(evidence.rows.select(Axis(0), items));
        }
        let images = evidence.images.ok_or_else(no_images)?;
        let places: Vec<usize> = items.iter().map(|&item| evidence.items[item]).collect();
        match vary {
            Some(rng) => images.augmented(&places, rng),
            None => images.rows(&places),
        }
    }

    /// Proxies of each loss that has some, as if it stood alone.
    pub(super) fn first_proxies(&self, evidence: &Evidence, seed: u64) -> Vec<Array2<f32>> {
        if self.metric.is_some() {
            return Vec::new();
        }
        let of = self.loss.proxies_per_class().into_iter();
        of.map(|each| self.proxies(each, evidence, seed)).collect()
    }

    /// Proxies start as the weighted mean of their class; a class without items starts in a
    /// random direction, since a proxy of length 0 has no gradient. Further proxies of a class,
    /// and those behind an encoder or a map, which move all rows at once, start at random.
    ///
    /// Dimensions beyond the start's get a little noise: zeros on both sides of a product would
    /// stay zeros for ever.
    ///
    /// All of this only where no [draw](super::ProxyStart) is asked for.
    fn proxies(&self, each: usize, evidence: &Evidence, seed: u64) -> Array2<f32> {
        let targets = evidence.targets;
        let tags = self.tags(evidence).map(|(tags, _)| tags);
        let classes = tags.map_or(evidence.classes(), Tags::n_tags);
        let rank = evidence.rows.ncols();
        let mut rng = seed::stream(seed, "proxies");
        let columns = match self.head.residual {
            Residual::Orthogonal { dim } => dim.min(self.unit_dim(rank)),
            Residual::Linear | Residual::Mlp { .. } => self.unit_dim(rank),
        };
        if let Some(start) = self.train.proxy_start {
            return start.draw(classes * each, columns, &mut rng);
        }
        let mut noise = |rows: usize, columns: usize| {
            let noise = Array2::from_shape_fn((rows, columns), |_| rng.random::<f32>() - 0.5);
            matrix::l2_normalize(noise)
        };
        let mapped = matches!(self.head.residual, Residual::Orthogonal { .. });
        if mapped || self.encoder.is_some() && !self.begins_whitened() {
            return noise(classes * each, columns);
        }
        let mut means = Array2::<f32>::zeros((classes, rank));
        for (i, row) in evidence.rows.rows().into_iter().enumerate() {
            if targets.weight[i] > 0.0 {
                let class = targets.class[i];
                let of_tags = tags.and_then(|tags| tags.of(class as usize));
                for &own in of_tags.unwrap_or(&[class]) {
                    let mut mean = means.row_mut(own as usize);
                    mean.scaled_add(targets.weight[i], &row);
                }
            }
        }
        for mut mean in means.rows_mut() {
            if mean.iter().all(|&v| v == 0.0) {
                mean.assign(&noise(1, rank).row(0));
            }
        }
        let means = matrix::l2_normalize(means);
        let room = match self.encoder {
            Some(_) => self.unit_dim(rank) - rank,
            None => self.head.learned_dim(rank) - rank,
        };
        let around = noise(classes, room) * 0.3;
        let means = matrix::l2_normalize(ndarray::concatenate![Axis(1), means, around]);
        if each == 1 {
            return means;
        }
        let of: Vec<usize> = (0..classes * each).map(|p| p / each).collect();
        let spread = noise(of.len(), means.ncols()) * 0.3;
        let around = means.select(Axis(0), &of) + spread;
        matrix::l2_normalize(around)
    }
}
