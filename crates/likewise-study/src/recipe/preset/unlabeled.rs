//! The recipes that need no label.

use likewise_nn::loss::{Dec, Loss, Nce, NormalizedSoftmax};
use likewise_nn::sample::Sampler;

use super::own::gradient;
use crate::recipe::{Clusters, GradientConfig, ModelConfig, On, PseudoLabels, Recipe};

impl Recipe {
    /// Caron, Bojanowski, Joulin and Douze (ECCV 2018): clusters of the embedding are the classes of the
    /// next epoch, and a softmax learns them, with classes begun anew; as many items of each cluster.
    ///
    /// Labels are not learned: they choose the epoch that is kept and measure. With
    /// `pseudo_labels.labels = "name"` clusters take the class of the labels in them.
    ///
    /// **Use it** to compare with the literature, where nothing has a label, or before labels are given.
    /// **Not** where some have one: `mixed-lp` learns from these. Clusters follow what features say already,
    /// so that rows that are good enough to cluster gain little, and others learn their mistakes.
    ///
    /// **Where we differ.** Three clusters a class that has a label (our choice), or the square root of the
    /// number of items; an empty one takes the farthest row, where the authors split a large one. The head, its softmax of
    /// cosines (temperature .05, no bias) and its steps are those of `mixed-lp`, on whitened features, unless
    /// there is a [network](crate::recipe::NetworkConfig); proxies begin as the means of their clusters. An epoch is
    /// `learner.train.steps` batches, so that clusters change more often than once a pass.
    pub fn deep_cluster() -> Self {
        let softmax = Loss::NormalizedSoftmax(NormalizedSoftmax::default());
        Self {
            name: "deep-cluster".into(),
            pseudo_labels: PseudoLabels::Clusters(Clusters::default()),
            learner: gradient(GradientConfig {
                loss: softmax.into(),
                sampler: Sampler::Uniform,
                ..GradientConfig::default()
            }),
            ..Self::default()
        }
    }

    /// Xie, Girshick and Farhadi (ICML 2016): clusters of the start, once, that sharpen themselves: items
    /// near a centre come nearer, by targets that are found anew of all items before each epoch.
    ///
    /// Labels are not learned: they choose the epoch that is kept and measure.
    ///
    /// **Use it** to compare with the literature. **Not** where some items have a label: `mixed-lp` learns
    /// from these. It repeats what the first clusters say, right or wrong.
    ///
    /// **Where we differ.** One cluster a class that has a label (the number of classes, as in its paper), or
    /// the square root of the number of items; k-means, the best of 20, on whitened features in place of an
    /// autoencoder's; all epochs run, where the authors stop once few items change their cluster. Steps are those of `mixed-lp` in place of SGD at .01, and an epoch of
    /// `learner.train.steps` batches stands between two targets (printed for MNIST: 140). `likewise explain dec`
    /// says more of the loss.
    pub fn dec() -> Self {
        Self {
            name: "dec".into(),
            pseudo_labels: PseudoLabels::Clusters(Clusters {
                on: On::Start,
                per_class: 1,
                ..Clusters::default()
            }),
            learner: gradient(GradientConfig {
                loss: Loss::Dec(Dec::default()).into(),
                ..GradientConfig::default()
            }),
            ..Self::default()
        }
    }

    /// As `dec`, with links between labeled items beside it: alike ones pull each other, others push.
    ///
    /// **Use it** to compare with the literature. **Not** for results: a link tells two items apart, and
    /// their classes, which `mixed-lp` learns, tell all of them.
    ///
    /// **Source.** Ren et al., "Semi-supervised deep embedded clustering", Neurocomputing 2019, with links of
    /// all labeled items, at most a hundred of each kind an item. Half of a batch is labeled, else hardly any
    /// two of a batch were linked. The printed weight, 1e-5, is for rows of any length, which unlike pairs may
    /// push apart without end; rows of length 1 end at a distance of 2, and it is 1 here.
    pub fn sdec() -> Self {
        let dec = Self::dec();
        Self {
            name: "sdec".into(),
            learner: gradient(GradientConfig {
                loss: Loss::Dec(Dec {
                    lambda: 1.0,
                    ..Dec::default()
                })
                .into(),
                sampler: Sampler::Labeled { share: 0.5 },
                ..GradientConfig::default()
            }),
            ..dec
        }
    }

    /// Wu, Xiong, Yu and Lin (CVPR 2018): every item is a class of its own, told from all others by a memory
    /// of them.
    ///
    /// Labels are not learned: they choose the epoch that is kept and measure.
    ///
    /// **Use it** with a [network](crate::recipe::NetworkConfig) on images that are augmented
    /// (`learner.model.tuning.augment`), to compare with the literature. **Not** on features, where nothing
    /// makes two views of an item: items are spread, and no two of them learn to be alike.
    ///
    /// **Where we differ.** The head and its steps are those of `mixed-lp` unless there is a network (printed:
    /// SGD with momentum .9 at .03, 128 columns, 200 epochs). `likewise explain nce` says more of the loss.
    pub fn nce() -> Self {
        Self {
            name: "nce".into(),
            pseudo_labels: PseudoLabels::Instances,
            learner: gradient(GradientConfig {
                loss: Loss::Nce(Nce::default()).into(),
                ..GradientConfig::default()
            }),
            ..Self::default()
        }
    }

    /// Dosovitskiy et al. (PAMI 2016): every item is a class of its own, and a softmax of cosines
    /// (temperature .05) tells it from all others.
    ///
    /// Labels are not learned: they choose the epoch that is kept and measure.
    ///
    /// **Use it** as `nce`, whose memory is a row of learned weights here. **Not** with many thousand
    /// items, each of which has weights of its own; nor on features.
    ///
    /// **Where we differ.** Images are moved and mirrored, and of a folder cut, as for every other recipe;
    /// the paper turns, scales and colours patches as well.
    pub fn exemplar() -> Self {
        Self {
            name: "exemplar".into(),
            pseudo_labels: PseudoLabels::Instances,
            ..Self::supervised(Loss::NormalizedSoftmax(NormalizedSoftmax::default()))
        }
    }

    /// Gidaris, Singh and Komodakis (ICLR 2018): images in four turns, of which a network learns to tell
    /// by how much they are turned.
    ///
    /// Labels are not learned: they choose the epoch that is kept and measure.
    ///
    /// **Use it** with a network of your own in its place (`learner.model.encoder`), to compare with the
    /// literature. **Not** where the right way up says nothing: leaves, tiles, cells; and nowhere for
    /// features, which have no turns.
    ///
    /// **Where we differ.** A softmax of cosines (temperature .05) in place of a layer of four outputs, whose
    /// input is the embedding; the four turns of an image come in one epoch, not in one batch; steps are those
    /// of `mixed-lp`. The network is that of other recipes, `lite0`, with random weights unless it is given some.
    pub fn rotnet() -> Self {
        Self {
            name: "rotnet".into(),
            pseudo_labels: PseudoLabels::Rotations,
            learner: gradient(GradientConfig {
                model: ModelConfig::Network(Box::default()),
                loss: Loss::NormalizedSoftmax(NormalizedSoftmax::default()).into(),
                ..GradientConfig::default()
            }),
            ..Self::default()
        }
    }
}
