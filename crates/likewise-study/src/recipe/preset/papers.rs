//! The recipes that follow a paper.

use likewise::ensemble::FromVotes;
use likewise::graph::{KnnGraph, Symmetrize};
use likewise::kernel::OmksLearner;
use likewise::learn::Closed;
use likewise::linear::Behind;
use likewise::propagate::{Dssml, Method, Mixed};
use likewise_nn::loss::{Angular, Loss};
use likewise_nn::sample::Sampler;
use likewise_nn::train::{Optimizer, ProxyStart, Schedule, TrainConfig};

use super::own::{PER_CLASS, gradient};
use crate::recipe::{
    Affinity, Confidence, GradientConfig, Keep, Linear, Mlp, ModelConfig, On, Orthogonal,
    Propagation, PseudoLabels, Recipe, RoundsConfig, StartConfig, Voting,
};

/// What the paper of a loss prints.
struct Printed {
    name: &'static str,
    loss: &'static str,
    /// Dimensions of its embeddings.
    dim: usize,
    epochs: usize,
    keep: Keep,
    train: TrainConfig,
    sampler: Sampler,
}

/// The recipe whose first neighbours behind a network are those of the network.
pub(in crate::recipe) const AFFINITY_TRIPLET: &str = "affinity-triplet";

impl Recipe {
    /// As `mixed-lp`, but labels go along mutual nearest neighbours: pairs that
    /// list each other.
    ///
    /// **Use it** where classes touch and most neighbours are mutual. **Not** with few
    /// neighbours or thin data: a mutual graph falls apart, and items in a part without a label
    /// get no pseudo-label.
    ///
    /// **Source.** Our reading of Zhuang & Moulin (ICASSP 2021), of which we had the abstract and
    /// a description: the graph and the confidence are theirs as described, the head and the
    /// training are those of `mixed-lp`. `likewise explain dssml` says more of the method.
    pub fn dssml() -> Self {
        Self {
            pseudo_labels: Propagation {
                graph: KnnGraph::new().k(20).symmetrize(Symmetrize::Mutual),
                spread: Method::Dssml(Dssml::default()),
                ..Propagation::default()
            }
            .into(),
            ..Self::default()
        }
    }

    /// The printed settings of Kim et al. (CVPR 2020) for CUB-200: Proxy-Anchor with scale 32 and margin
    /// .1, proxies that begin as normal numbers of variance 2 / C, `AdamW` at 1e-4 with decay 1e-4, proxies
    /// at a hundred times that, steps halved every 10 epochs (20 for Cars-196), random batches of 180,
    /// embeddings of 512 dimensions, and of 60 epochs the one of the highest validation.
    ///
    /// Here on features, with a linear head in the place of the network's last layer. Where a
    /// [network](crate::recipe::NetworkConfig) is given it has that layer behind it, pools by the sum of mean and
    /// maximum, keeps its norms' statistics, moves and mirrors its images, and stands still for one epoch, in
    /// which the layer and the proxies move alone (`tuning.warm_up`; printed for BN-Inception, 5 for
    /// `ResNet-50`), unless the recipe says otherwise.
    ///
    /// **Use it** to compare with that paper. **Not** for results: `proxy-anchor` has the loss with
    /// proxies that begin as class means, and steps for few labels.
    ///
    /// **Source.** The paper and its authors' code, where 60 epochs and the decay of proxies come from.
    /// **Where we differ.** Their cuts of images are wider; they choose the epoch on the test set.
    pub fn proxy_anchor_paper() -> Self {
        Self::of_paper(Printed {
            name: "proxy-anchor-paper",
            loss: "proxy-anchor",
            dim: 512,
            epochs: 60,
            keep: Keep::Best,
            train: TrainConfig {
                batch: 180,
                learning_rate: 1e-4,
                schedule: Schedule::Step {
                    every: 10,
                    factor: 0.5,
                },
                proxy_factor: 100.0,
                proxy_start: Some(ProxyStart::KaimingNormal),
                proxy_decay: Some(1e-4),
                ..TrainConfig::default()
            },
            sampler: Sampler::Plain,
        })
    }

    /// The printed settings of Teh et al. (ECCV 2020) for CUB-200: `ProxyNCA++` at temperature 1/9, proxies
    /// that begin as an eighth of normal numbers, Adam with epsilon 1 at 4e-3 without decay, proxies at 400,
    /// batches of 8 classes by 4 items, embeddings of 2048 dimensions, and the last of 40 epochs.
    ///
    /// Here on features, with a linear head in the place of the network's last layer. Where a
    /// [network](crate::recipe::NetworkConfig) is given it has that layer behind it, pools by the maximum,
    /// normalises what is pooled (a layer norm without scale or shift), and moves and mirrors its images,
    /// unless the recipe says otherwise.
    ///
    /// **Use it** to compare with that paper. **Not** for results, nor on features of few columns: its steps
    /// are made for epsilon 1 and gradients of a network.
    ///
    /// **Source.** The paper and its authors' code. **Where we differ.** They lower steps where a run on half
    /// of the classes stood still (patience 4) and repeat the epochs of these steps on all of them; which
    /// these were is not printed, so steps stay as they are: `learner.train.schedule` repeats known ones.
    pub fn proxy_nca_plus_plus_paper() -> Self {
        Self::of_paper(Printed {
            name: "proxy-nca-plus-plus-paper",
            loss: "proxy-nca-plus-plus",
            dim: 2048,
            epochs: 40,
            keep: Keep::Last,
            train: TrainConfig {
                batch: 32,
                optimizer: Optimizer::Adam { epsilon: 1.0 },
                learning_rate: 4e-3,
                weight_decay: 0.0,
                proxy_factor: 1e5,
                proxy_start: Some(ProxyStart::Normal { scale: 0.125 }),
                ..TrainConfig::default()
            },
            sampler: Sampler::PerClass {
                per_class: PER_CLASS,
            },
        })
    }

    /// The printed settings of Qian et al. (ICCV 2019) for CUB-200: `SoftTriple` with ten centres a class,
    /// scale 20, gamma .1, margin .01 and tau .2, centres that begin as uniform numbers up to
    /// 1 / sqrt(10 C), Adam with epsilon .01 at 1e-4 and decay 1e-4, centres at 1e-2, steps cut to a tenth
    /// every 20 epochs, random batches of 32, embeddings of 64 dimensions, and the last of 50 epochs.
    ///
    /// Here on features, with a linear head in the place of the network's last layer. Where a
    /// [network](crate::recipe::NetworkConfig) is given it has that layer behind it, keeps its norms' statistics, and
    /// moves and mirrors its images, unless the recipe says otherwise.
    ///
    /// **Use it** to compare with that paper. **Not** for results, nor with few items a class: ten centres are
    /// then mostly unseen.
    ///
    /// **Source.** The paper and its authors' code. **Where we differ.** Their cuts of images are wider.
    pub fn soft_triple_paper() -> Self {
        Self::of_paper(Printed {
            name: "soft-triple-paper",
            loss: "soft-triple",
            dim: 64,
            epochs: 50,
            keep: Keep::Last,
            train: TrainConfig {
                batch: 32,
                optimizer: Optimizer::Adam { epsilon: 0.01 },
                learning_rate: 1e-4,
                schedule: Schedule::Step {
                    every: 20,
                    factor: 0.1,
                },
                proxy_factor: 100.0,
                proxy_start: Some(ProxyStart::KaimingUniform),
                proxy_decay: Some(1e-4),
                ..TrainConfig::default()
            },
            sampler: Sampler::Plain,
        })
    }

    /// A semi-supervised metric learner behind a head or network that learns with it, as Dutta, Harandi and
    /// Sekhar (AAAI 2021) compare their method with: `deep-lrml`, `deep-seraph`, `deep-isdml`, `deep-apllr`
    /// and `deep-apit`.
    ///
    /// Every ten epochs the learner makes a metric of the embeddings of all labeled items and of 9000 others;
    /// in between, the embedding goes down the learner's own terms of pairs, in batches of half labeled
    /// items and half others with their neighbours, by SGD with momentum .9 at 1e-4. The embedding lies along
    /// the 64 directions in which items vary most behind the metric, and of 50 epochs the best is kept.
    ///
    /// **Use it** to compare with that paper, with a [network](crate::recipe::NetworkConfig) for what it reports.
    /// **Not** for results: terms of distances draw classes onto few directions, the more the longer they learn, and
    /// the learner alone (`lrml` ...) takes seconds.
    ///
    /// **Source.** The paper's Algorithm 1; partitions, epochs and learning rate are those of its own method.
    /// **Where we differ.** What it has for the terms of `isdml`, `apllr` and `apit` is not printed:
    /// `likewise explain behind`, which says as well how much unlike pairs weigh. Embeddings are compared by cosines. The learners have their own defaults,
    /// not those of the recipes of their names: `seraph` scales distances while it makes the metric, and
    /// `apllr` has a ridge of 1e-3, where its recipe has 1e-8. Metric and terms go by classes: given pairs and
    /// triplets are refused.
    pub fn deep(learner: Behind) -> Self {
        Self {
            name: format!("deep-{}", learner.name()),
            pseudo_labels: PseudoLabels::None,
            learner: gradient(GradientConfig {
                // A metric would stretch columns of zeros most.
                model: ModelConfig::Mlp(Mlp {
                    keep: 0.0,
                    width: 1,
                    ..Mlp::default()
                }),
                metric: Some(learner.into()),
                sampler: Sampler::PerClass {
                    per_class: PER_CLASS,
                },
                train: TrainConfig {
                    batch: 100,
                    steps: 0,
                    labeled_passes: 1,
                    optimizer: Optimizer::Sgd { momentum: 0.9 },
                    learning_rate: 1e-4,
                    weight_decay: 0.0,
                    ..TrainConfig::default()
                },
                ..GradientConfig::default()
            }),
            rounds: RoundsConfig {
                epochs: 50,
                keep: Keep::Best,
                ..RoundsConfig::default()
            },
            ..Self::default()
        }
    }

    /// A loss on the labels alone with what its paper prints: an epoch is one pass.
    fn of_paper(printed: Printed) -> Self {
        let loss = Loss::all().into_iter().find(|l| l.name() == printed.loss);
        let loss = loss.map_or_else(|| GradientConfig::default().loss, Into::into);
        Self {
            name: printed.name.into(),
            start: StartConfig {
                rank: printed.dim,
                ..StartConfig::default()
            },
            pseudo_labels: PseudoLabels::None,
            learner: gradient(GradientConfig {
                model: ModelConfig::Linear(Linear {
                    keep: 0.0,
                    width: printed.dim,
                }),
                loss,
                sampler: printed.sampler,
                train: TrainConfig {
                    steps: 0,
                    labeled_passes: 1,
                    ..printed.train
                },
                ..GradientConfig::default()
            }),
            rounds: RoundsConfig {
                epochs: printed.epochs,
                keep: printed.keep,
                ..RoundsConfig::default()
            },
        }
    }

    /// Dutta, Harandi and Sekhar (AAAI 2021): triplets from propagated affinities, angular
    /// loss at 40 degrees, an orthonormal map fitted by ten steps of Riemannian conjugate
    /// gradients a batch of 100 triplets; five partitions of 9000 unlabeled items, ten whole epochs
    /// on each, and of all epochs the best.
    ///
    /// Here on rows of unit length, not whitened, as the paper has those of its network before the map (`start =
    /// "whitened"` begins as other recipes do); with a [network](crate::recipe::NetworkConfig), its weights move
    /// between the steps of the map, as printed: by SGD with momentum .9 (`MatConvNet`'s, not
    /// printed, as is the weight decay of 5e-4) at 1e-4. Faster steps have ruined networks that began at random: nothing but
    /// the first neighbours says what is alike. The settings are those printed for MNIST (k 10, 40
    /// degrees, 64 columns); CIFAR-10 has 32 columns, and larger images k 50, 45 degrees and 128 columns.
    /// Neighbours are those of the rows before the map: behind a network those of its rows (`pseudo_labels.on` is
    /// `"model"` there unless a recipe says another), which may be [pretrained](crate::recipe::Pretraining)
    /// (printed for CIFAR-10: 30 epochs with a softmax).
    ///
    /// **Use it** to compare with that paper, and behind networks whose first neighbours are good.
    /// **Not** on features of 64 columns or fewer (`learner.model.dim`), where the map could only
    /// turn them, nor in a hurry: a whole epoch on 9100 items is 455 batches, 50 of them about
    /// 22,750, each with ten steps of the map. `learner.train.steps = 200` cuts epochs short, and
    /// `pseudo_labels.every = 1` changes the partition after each.
    pub fn affinity_triplet() -> Self {
        Self {
            name: AFFINITY_TRIPLET.into(),
            start: StartConfig::unit_rows(),
            pseudo_labels: PseudoLabels::Affinity(Affinity::default()),
            learner: gradient(GradientConfig {
                model: ModelConfig::Orthogonal(Orthogonal::default()),
                loss: Loss::Angular(Angular {
                    normalize: false,
                    ..Angular::default()
                })
                .into(),
                train: TrainConfig {
                    batch: 100,
                    steps: 0,
                    // Of a pretraining: so many epochs are printed, and an epoch is one pass.
                    labeled_passes: 1,
                    optimizer: Optimizer::Sgd { momentum: 0.9 },
                    learning_rate: 1e-4,
                    weight_decay: 5e-4,
                    ..TrainConfig::default()
                },
                ..GradientConfig::default()
            }),
            rounds: RoundsConfig {
                epochs: 50,
                keep: Keep::Best,
                ..RoundsConfig::default()
            },
        }
    }

    /// Liang, Hu, Wang and Han (IEEE TMM 2017): nine classifiers of every view vote on the items without
    /// a label, those that are taken for reliable make triplets beside those of the labels, and a
    /// similarity of four kernels of every view learns from them, one after the other.
    ///
    /// Votes look at fifty columns of a view that tell groups apart, kernels at its fifty directions of
    /// largest variance. Classifiers are judged on the validation part, or in turn on the labels where
    /// there is none. Confidence is the mean of votes and margin (`max+margin`); `pseudo_labels.votes.share`
    /// 1 is `max`, 0 is `margin`.
    ///
    /// **Use it** with several views of some hundred to some thousand items (`--view A --view B`), and few
    /// labels. **Not** with more than 4096 items in triplets, nor where one view does as well.
    ///
    /// **Where we differ.** Widths of the kernels follow from the mean squared distance; the printed ones
    /// make all items unlike (`likewise explain omks`). `C` .1 and `beta` .9 where the paper tunes both.
    /// `likewise explain votes`, `pruning` and `vote-triplets` say what is resolved how.
    pub fn multi_kernel() -> Self {
        let voting = Voting {
            triplets: Some(FromVotes::new()),
            ..Voting::default()
        };
        Self {
            name: "multi-kernel".into(),
            pseudo_labels: voting.into(),
            ..Self::published(Closed::OmksLearner(OmksLearner {
                // Never read: the triplets are those of the votes.
                triplets: OmksLearner::default().triplets,
                ..OmksLearner::published()
            }))
        }
    }

    /// The printed values of Zhuang & Moulin (CVPR 2023, 4.1): k 50, gamma 3, lambda 4,
    /// beta 1, scale 32, margin 0.1, learning rate 1e-4, batch 32, embeddings of 64 dimensions,
    /// 5 epochs of one pass on the labels alone and 20 more, graph anew each epoch, and of all
    /// epochs the one of the highest P@8 on validation.
    ///
    /// **Use it** to compare with that paper. **Not** for results: `mixed-lp` is the same method
    /// with what won on real data.
    ///
    /// **Where we differ.** The backbone of the paper is a network; here a linear head stands on
    /// 64 whitened directions of frozen features, unless there is a [network](crate::recipe::NetworkConfig).
    /// P@8 is P@k with the largest k that all validating classes can fill, 4 with five labels of each.
    /// Epochs before pseudo-labels join (1 to 5) are never kept, and with fewer than 50 validating
    /// queries that have two or more others of their class to find, the last epoch is.
    /// Each pair counts once, where (24) as printed counts it twice.
    /// The printed chain gives no negative edges (the scale of F is too small for the softmax);
    /// this is [`Mixed::as_read`], the reading that comes nearest to the printed table, of which
    /// `likewise explain mixed` tells more. Weights are the printed ones, omega itself (27), also
    /// of labeled items. Proxies begin as class means and learn at a hundred times the rate, neither of which is
    /// printed: both are usual for Proxy-Anchor.
    pub fn paper() -> Self {
        Self {
            name: "mixed-lp-paper".into(),
            start: StartConfig {
                rank: 64,
                ..StartConfig::default()
            },
            pseudo_labels: Propagation {
                on: On::Embedding,
                graph: KnnGraph::printed(),
                spread: Method::Mixed(Mixed::as_read()),
                confidence: Confidence::Plain,
                confidence_power: 1.0,
                labeled_epochs: 5,
                ..Propagation::default()
            }
            .into(),
            learner: gradient(GradientConfig {
                model: ModelConfig::Linear(Linear {
                    keep: 0.0,
                    width: 64,
                }),
                train: TrainConfig {
                    labeled_passes: 1,
                    batch: 32,
                    steps: 0,
                    learning_rate: 1e-4,
                    proxy_factor: 100.0,
                    ..TrainConfig::default()
                },
                ..GradientConfig::default()
            }),
            rounds: RoundsConfig {
                epochs: 25,
                keep: Keep::Best,
                ..RoundsConfig::default()
            },
        }
    }
}
