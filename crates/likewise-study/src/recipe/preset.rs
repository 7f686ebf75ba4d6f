//! The recipes that have a name.

use likewise::ensemble::FromVotes;
use likewise::graph::{KnnGraph, Symmetrize};
use likewise::kernel::OmksLearner;
use likewise::learn::Closed;
use likewise::linear::{Behind, Lda, Logistic, Rca};
use likewise::propagate::{Dssml, Method, Mixed};
use likewise_nn::cross;
use likewise_nn::loss::{Angular, Dec, Loss, Nce, NormalizedSoftmax};
use likewise_nn::sample::Sampler;
use likewise_nn::train::{Optimizer, ProxyStart, Schedule, TrainConfig};

use super::{
    Affinity, Clusters, Confidence, GradientConfig, Keep, Learner, Linear, Mlp, ModelConfig, On,
    Orthogonal, Propagation, PseudoLabels, Recipe, RoundsConfig, StartConfig, Voting,
};
use crate::near::there_are;
use crate::{Error, Result};

/// Items of a class in a batch, for the losses that compare items with each other.
const PER_CLASS: usize = 4;

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

impl Default for Recipe {
    fn default() -> Self {
        Self {
            name: "mixed-lp".into(),
            start: StartConfig::default(),
            pseudo_labels: Propagation::mixed(On::Start).into(),
            learner: Learner::default(),
            rounds: RoundsConfig::default(),
        }
    }
}

/// A learner by gradients.
fn gradient(gradient: GradientConfig) -> Learner {
    Learner::Gradient(Box::new(gradient))
}

impl Recipe {
    /// Names of the recipes that [`named`](Self::named) knows: the methods, and every loss on
    /// the labels alone.
    pub fn names() -> Vec<String> {
        let methods = [
            "mixed-lp",
            "mixed-lp-centred",
            "mild-probabilities",
            "label-probabilities",
            "start",
            "probabilities",
            "scaled-probabilities",
            "scaled-label-probabilities",
            "mixed-lda",
            "mixed-lp-paper",
            "proxy-anchor-paper",
            "proxy-nca-plus-plus-paper",
            "soft-triple-paper",
            "deep-lrml",
            "deep-seraph",
            "deep-isdml",
            "deep-apllr",
            "deep-apit",
            "mixed-rca",
            "label-rca",
            "dssml",
            "affinity-triplet",
            "multi-kernel",
            "contextual",
            "deep-cluster",
            "dec",
            "sdec",
            "nce",
            "exemplar",
            "rotnet",
        ];
        let mut names: Vec<String> = methods.map(String::from).to_vec();
        let losses = Loss::all().into_iter().filter(Loss::stands_alone);
        let losses = losses.map(|loss| loss.name().to_owned());
        let own: Vec<String> = losses.filter(|name| !names.contains(name)).collect();
        names.extend(own);
        let closed = Closed::NAMES.iter().map(|name| String::from(*name));
        let own = closed.filter(|name| !names.contains(name));
        let own: Vec<String> = own.collect();
        names.extend(own);
        names.extend(cross::Learner::names().into_iter().map(String::from));
        names
    }

    /// The recipe of this name.
    pub fn named(name: &str) -> Result<Self> {
        let named = |recipe: Self| Self {
            name: name.to_owned(),
            ..recipe
        };
        Ok(named(match name {
            "label-rca" => Self::label_rca(),
            "mixed-lp" => Self::mixed_lp(),
            "mixed-lp-centred" => Self::mixed_lp_centred(),
            "mild-probabilities" => Self::mild_probabilities(),
            "probabilities" => Self::probabilities(),
            "scaled-probabilities" => Self::scaled_probabilities(),
            "scaled-label-probabilities" => Self::scaled_label_probabilities(),
            "mixed-lp-paper" => Self::paper(),
            "proxy-anchor-paper" => Self::proxy_anchor_paper(),
            "proxy-nca-plus-plus-paper" => Self::proxy_nca_plus_plus_paper(),
            "soft-triple-paper" => Self::soft_triple_paper(),
            "mixed-lda" => Self::mixed_lda(),
            "mixed-rca" => Self::mixed_rca(),
            "dssml" => Self::dssml(),
            "affinity-triplet" => Self::affinity_triplet(),
            "multi-kernel" => Self::multi_kernel(),
            "deep-cluster" => Self::deep_cluster(),
            "dec" => Self::dec(),
            "sdec" => Self::sdec(),
            "nce" => Self::nce(),
            "exemplar" => Self::exemplar(),
            "rotnet" => Self::rotnet(),
            "start" => Self::start(),
            "label-probabilities" => Self::label_probabilities(),
            _ if let Some(learner) = name.strip_prefix("deep-").and_then(Behind::named) => {
                Self::deep(learner)
            }
            _ if let Some(learner) = Closed::published(name) => Self::published(learner),
            _ if let Some(learner) = Closed::named(name) => Self::closed(learner),
            _ if let Some(learner) = cross::Learner::named(name) => Self::across(learner),
            _ if let Some((source, learner)) = name.split_once('+') => {
                Self::across_believed(source, learner)?
            }
            _ => {
                let rule = || there_are(name, &Self::names());
                let unknown = |_| Error::parameter("recipe", name, &rule());
                let loss = Loss::named(name).map_err(unknown)?;
                if !loss.stands_alone() {
                    let rule = "stands beside another loss, in a list of a recipe's file: [[learner.loss]]";
                    return Err(Error::parameter("recipe", name, rule));
                }
                Self::supervised(loss)
            }
        }))
    }

    /// The recipes between which `auto` chooses: the one that stands where nothing can be compared, then
    /// the others, those that rarely lose first.
    ///
    /// Class probabilities that weigh as much as the features; the start without labels; class
    /// probabilities of the labels alone and of what spreads from them, by logistic regression and by
    /// linear discriminants; those of scaled columns, which lose on more sets than they gain on and
    /// therefore have to beat the others; relevant component analysis; and the head of `mixed-lp`, on
    /// whitened and on centred features. Those that this build cannot run are left out.
    pub fn candidates() -> Vec<Self> {
        let mut candidates = vec![
            Self::mild_probabilities(),
            Self::start(),
            Self::label_probabilities(),
            Self {
                start: Self::probabilities().start,
                ..Self::closed(Closed::Lda(Lda::default()))
            },
            Self::probabilities(),
            Self::mixed_lda(),
            Self::scaled_label_probabilities(),
            Self::scaled_probabilities(),
            Self::mixed_rca(),
            Self::mixed_lp(),
            Self::mixed_lp_centred(),
        ];
        candidates.retain(|recipe| recipe.check_build().is_ok());
        candidates
    }

    /// The features as they are, of length 1 and less most of their mean: nothing is learned.
    ///
    /// **Use it** as what a search is without any label. **Not** where labels help, as `fit` says.
    ///
    /// **Source.** Centring is usual; the share of the mean was chosen on 43 sets without labels.
    pub fn start() -> Self {
        Self {
            name: "start".into(),
            start: StartConfig::centred(),
            rounds: RoundsConfig {
                epochs: 0,
                ..RoundsConfig::default()
            },
            ..Self::label_rca()
        }
    }

    /// As `probabilities`, by the known labels alone.
    ///
    /// **Use it** where neighbours in the features are often of other classes, so that labels spread
    /// wrongly. **Not** for classes without any label.
    ///
    /// **Source.** As of `probabilities`.
    pub fn label_probabilities() -> Self {
        Self {
            name: "label-probabilities".into(),
            pseudo_labels: PseudoLabels::None,
            ..Self::probabilities()
        }
    }

    /// Mixed label propagation on the whitened features gives pseudo-labels; a head that keeps
    /// what the features know learns them, weighted by their confidence. The recipe of `fit`.
    ///
    /// **Use it** where the classes to be searched are the labeled ones and few items have a
    /// label. **Not** where search is for classes without any label: there
    /// `mixed-rca` gains more.
    ///
    /// **Source.** The propagation, the loss and the confidence of Zhuang & Moulin (CVPR 2023),
    /// with the settings that won on real data; the head is ours. `mixed-lp-paper` has
    /// theirs.
    pub fn mixed_lp() -> Self {
        Self::default()
    }

    /// `mixed-lp` on the directions of the features, less most of their mean and not whitened.
    ///
    /// **Use it** where whitening harms the features: with one label a class it fell below the features
    /// as they are by at most 5.5 points of R@1 on 13 sets, where `mixed-lp` fell by up to 18. It gains
    /// less, where there is something to gain.
    pub fn mixed_lp_centred() -> Self {
        Self {
            name: "mixed-lp-centred".into(),
            start: StartConfig::centred(),
            ..Self::mixed_lp()
        }
    }

    /// Class probabilities by the labels and what mixed propagation spreads from them; their
    /// square roots stand beside the centred features.
    ///
    /// **Use it** where the classes to be searched are the labeled ones, above all with many
    /// classes of few items each: faces, leaves, products. **Not** for classes without any label.
    ///
    /// **Source.** Logistic regression on propagated labels, which beat the trained head on unseen
    /// sets; `likewise explain logistic` says more. The recipe `logistic` has the labels alone.
    pub fn probabilities() -> Self {
        Self {
            name: "probabilities".into(),
            start: StartConfig {
                unit: true,
                ..StartConfig::default()
            },
            pseudo_labels: Propagation::mixed(On::Start).into(),
            learner: Learner::Closed(Closed::Logistic(Logistic::default())),
            rounds: RoundsConfig {
                epochs: 1,
                ..RoundsConfig::default()
            },
        }
    }

    /// As `probabilities`, which are half of the cosine in place of four fifths.
    ///
    /// **Use it** where nothing can measure what is learned, as with one or two labels a class: the
    /// features keep a say. On 13 sets of one label a class (views of digits, faces, leaves and scenes,
    /// tables) it gained 2.6 points of R@1 and 7.7 of MAP@R over the features as they are in the mean, and
    /// lost at most 2.4 and 0.9; `probabilities` gained 1.7 and 8.6 and lost up to 3.3 and 2.0,
    /// `mixed-lp-centred` 0.2 and 6.5, up to 5.5 and 4.0. **Not** for classes without any label.
    pub fn mild_probabilities() -> Self {
        Self {
            name: "mild-probabilities".into(),
            learner: Learner::Closed(Closed::Logistic(Logistic::default().share(0.5))),
            ..Self::probabilities()
        }
    }

    /// As `probabilities`, of columns that are each divided by their standard deviation, of rows whose
    /// length counts, and with sharper classes.
    ///
    /// **Use it** where every column says something of its own: measured quantities, histograms,
    /// descriptors of few strong values. **Not** where columns of little variance are noise, as
    /// principal components have, nor for classes without any label.
    ///
    /// **Source.** As of `probabilities`, against which it gained 8 points of R@1 on one view of leaves
    /// (margin) and of faces (the fourth) with five labels a class, and lost 3 on coefficients of
    /// principal components (digits kar); on most views the two are within 3. Of strengths 100 and 1000
    /// the latter had the higher MAP@R on 7 of 11 sets.
    pub fn scaled_probabilities() -> Self {
        Self {
            name: "scaled-probabilities".into(),
            start: StartConfig {
                standardize: Some(true),
                ..StartConfig::default()
            },
            learner: Learner::Closed(Closed::Logistic(Logistic::default().strength(1000.0))),
            ..Self::probabilities()
        }
    }

    /// As `scaled-probabilities`, by the known labels alone.
    ///
    /// **Use it** where neighbours in the features are often of other classes, so that labels spread
    /// wrongly. **Not** for classes without any label.
    ///
    /// **Source.** As of `scaled-probabilities`.
    pub fn scaled_label_probabilities() -> Self {
        Self {
            name: "scaled-label-probabilities".into(),
            pseudo_labels: PseudoLabels::None,
            ..Self::scaled_probabilities()
        }
    }

    /// As `probabilities`, by linear discriminant analysis.
    ///
    /// **Use it** where the classes to be searched are the labeled ones and spread alike around
    /// their means: spectra, descriptors. **Not** for classes without any label.
    ///
    /// **Source.** Ledoit and Wolf's discriminants on propagated labels; `likewise explain lda` says
    /// more. The recipe `lda` has the labels alone.
    pub fn mixed_lda() -> Self {
        Self {
            name: "mixed-lda".into(),
            learner: Learner::Closed(Closed::Lda(Lda::default())),
            ..Self::probabilities()
        }
    }

    /// Relevant component analysis of the features by the known labels alone, much shrunk, and
    /// compared by the cosine.
    ///
    /// **Use it** as what labels are worth without any that spread: it takes no time.
    /// **Not** with fewer than two labels a class, which leave nothing that varies within one.
    ///
    /// **Source.** Bar-Hillel et al., ICML 2003; `likewise explain rca` says more of the method.
    pub fn label_rca() -> Self {
        Self {
            name: "label-rca".into(),
            ..Self::closed(Closed::Rca(Rca::default()))
        }
    }

    /// A learner in closed form, by the known labels alone.
    ///
    /// **Use it** as what the learner makes of the labels without any that spread: it takes no
    /// time. **Not** with fewer than two labels a class.
    pub fn closed(learner: Closed) -> Self {
        Self {
            name: learner.name().into(),
            pseudo_labels: PseudoLabels::None,
            learner: Learner::Closed(learner),
            rounds: RoundsConfig {
                epochs: 1,
                ..RoundsConfig::default()
            },
            ..Self::default()
        }
    }

    /// A learner as it was published: on the features as they are, by the known labels or given tuples
    /// alone, and kept whatever validation says.
    ///
    /// **Use it** to compare with the literature, or for what another program does with the metric.
    /// **Not** to search with few labels before `fit` without a recipe was tried.
    pub fn published(learner: Closed) -> Self {
        Self {
            name: learner.name().into(),
            start: StartConfig::as_given(),
            pseudo_labels: PseudoLabels::None,
            learner: Learner::Closed(learner),
            rounds: RoundsConfig {
                epochs: 1,
                keep: Keep::Last,
                ..RoundsConfig::default()
            },
        }
    }

    /// A learner across views, by the known labels and pairs alone.
    ///
    /// **Use it** where a query of one view has to find items of another: a picture its texts, a
    /// text its pictures. A name before it gives pseudo-labels to the items without a label, from
    /// labels or affinities that spread over the views side by side (`mixed+gsph`, `lgc+cluster-cca`,
    /// `affinity+seph`), from votes (`votes+gsph`), or from networks and class means that agree
    /// (`lpf+gsph`). **Not** for
    /// a search within one view, nor to make one view of several: other recipes put the views
    /// side by side.
    pub fn across(learner: cross::Learner) -> Self {
        Self {
            name: learner.name().into(),
            start: StartConfig::default(),
            pseudo_labels: PseudoLabels::None,
            learner: Learner::Cross(learner),
            rounds: RoundsConfig {
                epochs: 1,
                keep: Keep::Last,
                ..RoundsConfig::default()
            },
        }
    }

    /// The learner across views of this name, with pseudo-labels from this source.
    fn across_believed(source: &str, learner: &str) -> Result<Self> {
        let unknown = |field: &str, name: &str, there: &[&str]| {
            let rule = format!("there are: {}", there.join(", "));
            Error::parameter(field, name, &rule)
        };
        let names = cross::Learner::names();
        let learner = cross::Learner::named(learner)
            .ok_or_else(|| unknown("learner across views", learner, &names))?;
        let source = match source {
            "affinity" => toml::Value::try_from(PseudoLabels::Affinity(Affinity {
                on: On::Start,
                ..Affinity::default()
            }))
            .map_err(|e| Error::data(e.to_string()))?,
            "lpf" | "votes" => source.into(),
            _ if Method::named(source).is_ok() => source.into(),
            _ => {
                let there = [&["affinity", "lpf", "votes"], Method::NAMES].concat();
                return Err(unknown("source of pseudo-labels", source, &there));
            }
        };
        let source = ("pseudo_labels".to_owned(), source);
        Self::across(learner).with(toml::Table::from_iter([source]))
    }

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

    /// A loss on the labels alone.
    ///
    /// Batches hold four items of each class for the losses that compare items with each other,
    /// and random ones for those that compare with proxies. The loss is that of its paper; head,
    /// steps and the choice of the epoch are those of `mixed-lp`, not the paper's. **Use it** as what a loss makes of
    /// the labels without any that spread. **Not** with one label a class and a loss of pairs or
    /// triplets, which then finds no two items to bring together.
    pub fn supervised(loss: Loss) -> Self {
        let sampler = match loss.proxies_per_class() {
            0 => Sampler::PerClass {
                per_class: PER_CLASS,
            },
            _ => Sampler::Plain,
        };
        Self {
            name: loss.name().into(),
            pseudo_labels: PseudoLabels::None,
            learner: gradient(GradientConfig {
                loss: loss.into(),
                sampler,
                ..GradientConfig::default()
            }),
            ..Self::default()
        }
    }

    /// The printed settings of Kim et al. (CVPR 2020) for CUB-200: Proxy-Anchor with scale 32 and margin
    /// .1, proxies that begin as normal numbers of variance 2 / C, `AdamW` at 1e-4 with decay 1e-4, proxies
    /// at a hundred times that, steps halved every 10 epochs (20 for Cars-196), random batches of 180,
    /// embeddings of 512 dimensions, and of 60 epochs the one of the highest validation.
    ///
    /// Here on features, with a linear head in the place of the network's last layer. Where a
    /// [network](super::NetworkConfig) is given it has that layer behind it, pools by the sum of mean and
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
    /// [network](super::NetworkConfig) is given it has that layer behind it, pools by the maximum,
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
    /// [network](super::NetworkConfig) is given it has that layer behind it, keeps its norms' statistics, and
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
    /// the 64 largest directions of the metric, and of 50 epochs the best is kept.
    ///
    /// **Use it** to compare with that paper, with a [network](super::NetworkConfig) for what it reports.
    /// **Not** for results: on the digits only `deep-seraph` gains on the features as they are, and the learner
    /// alone (`lrml` ...) takes seconds.
    ///
    /// **Source.** The paper's Algorithm 1; partitions, epochs and learning rate are those of its own method.
    /// **Where we differ.** What it has for the terms of `isdml`, `apllr` and `apit` is not printed:
    /// `likewise explain behind`. Embeddings are compared by cosines.
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
    /// Here on features as they are; with a [network](super::NetworkConfig), its weights move
    /// between the steps of the map, as printed: by SGD with momentum .9 (`MatConvNet`'s, not
    /// printed) at 1e-4. Faster steps have ruined networks that began at random: nothing but
    /// the first neighbours says what is alike. The settings are those printed for MNIST and CIFAR-10
    /// (k 10, 40 degrees, 64 columns); for larger images the paper has k 50, 45 degrees and 128
    /// columns. Neighbours are those of the rows before the map;
    /// the first partition's those of the whitened features or pixels, unless
    /// `pseudo_labels.on` is `"model"` or the network is
    /// [pretrained](super::Pretraining) (printed for CIFAR-10: 30 epochs with a softmax).
    ///
    /// **Use it** to compare with that paper, and behind networks whose first neighbours are good.
    /// **Not** on features of 64 columns or fewer (`learner.model.dim`), where the map could only
    /// turn them, nor in a hurry: a whole epoch on 9100 items is 455 batches, 50 of them about
    /// 22,750, each with ten steps of the map. `learner.train.steps = 200` cuts epochs short, and
    /// `pseudo_labels.every = 1` changes the partition after each.
    pub fn affinity_triplet() -> Self {
        Self {
            name: "affinity-triplet".into(),
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
            ..Self::default()
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
            ..Self::published(Closed::OmksLearner(OmksLearner::published()))
        }
    }

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
    /// **Where we differ.** Three clusters a class that has a label, as where the method was compared on
    /// birds and cars, or the square root of the number of items. The head, its softmax of
    /// cosines (temperature .05, no bias) and its steps are those of `mixed-lp`, on whitened features, unless
    /// there is a [network](super::NetworkConfig); proxies begin as the means of their clusters. An epoch is
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
    /// **Where we differ.** One cluster a class that has a label (the number of classes, as the method is
    /// compared), or the square root of the number of items; k-means on whitened features in place of an
    /// autoencoder's. Steps are those of `mixed-lp` in place of SGD at .01, and an epoch of
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
    /// **Use it** with a [network](super::NetworkConfig) on images that are augmented
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

    /// Relevant component analysis of the features by the classes of mixed label propagation,
    /// fitted anew four times, each time by what spreads over the graph of the last fit.
    ///
    /// What has done best where search is for classes without any label and features come from a
    /// network, whose pooled activations it should read by their roots (`start.power` .5). Where
    /// the classes are the labeled ones, `mixed-lp` gains more.
    pub fn mixed_rca() -> Self {
        Self {
            name: "mixed-rca".into(),
            pseudo_labels: Propagation::mixed(On::Embedding).into(),
            learner: Learner::Closed(Closed::Rca(Rca::default())),
            rounds: RoundsConfig {
                epochs: 4,
                ..RoundsConfig::default()
            },
            ..Self::default()
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
    /// 64 whitened directions of frozen features, unless there is a [network](super::NetworkConfig).
    /// P@8 is P@k with the largest k that all validating classes can fill, 4 with five labels of each.
    /// Epochs before pseudo-labels join (1 to 5) are never kept, and with fewer than 50 validating
    /// queries that have two or more others of their class to find, the last epoch is.
    /// Each pair counts once, where (24) as printed counts it twice.
    /// The printed chain gives no negative edges (the scale of F is too small for the softmax);
    /// this is [`Mixed::as_read`], the reading that comes nearest to the printed table, of which
    /// `likewise explain mixed` tells more. Weights are the printed ones, omega itself (27), also
    /// of labeled items.
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
