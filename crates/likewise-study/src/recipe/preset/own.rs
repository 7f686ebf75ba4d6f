//! The recipes that learn from labels, and those of every loss and learner.

use likewise::learn::Closed;
use likewise::linear::{Joined, Lda, Logistic, Rca};
use likewise_nn::cross;
use likewise_nn::loss::Loss;
use likewise_nn::sample::Sampler;

use crate::recipe::{
    GradientConfig, Keep, Learner, On, PLAIN_SHRINKAGE, Propagation, PseudoLabels, ROOT, Recipe,
    RoundsConfig, StartConfig,
};

/// Items of a class in a batch, for the losses that compare items with each other.
pub(super) const PER_CLASS: usize = 4;

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
pub(super) fn gradient(gradient: GradientConfig) -> Learner {
    Learner::Gradient(Box::new(gradient))
}

impl Recipe {
    /// The features as they are, of length 1 and less most of their mean: nothing is learned.
    ///
    /// **Use it** as what a search is without any label. **Not** where labels help, as `fit` says.
    ///
    /// **Source.** Centring is usual; the share of the mean was chosen on 43 sets without labels.
    pub fn start() -> Self {
        Self {
            name: "start".into(),
            start: StartConfig::centered(),
            rounds: RoundsConfig {
                epochs: 0,
                ..RoundsConfig::default()
            },
            ..Self::label_rca()
        }
    }

    /// The features less their mean, each column divided by its standard deviation: nothing is learned.
    ///
    /// **Use it** as `start`, where columns are of different units. **Not** where labels help, as `fit` says.
    ///
    /// **Source.** Usual.
    pub fn scaled_start() -> Self {
        Self {
            name: "scaled-start".into(),
            start: StartConfig {
                shrinkage: Some(f64::INFINITY),
                standardize: Some(true),
                ..StartConfig::default()
            },
            ..Self::start()
        }
    }

    /// As `start`, of the roots of the features: nothing is learned.
    ///
    /// **Use it** for histograms, counts and pooled activations, where a few large values outweigh all others.
    /// **Not** for features of both signs, nor where labels help, as `fit` says.
    ///
    /// **Source.** Roots before a cosine: Arandjelović & Zisserman, CVPR 2012, of descriptors of images.
    pub fn rooted_start() -> Self {
        Self {
            name: "rooted-start".into(),
            start: StartConfig {
                power: ROOT,
                ..StartConfig::centered()
            },
            ..Self::start()
        }
    }

    /// The features, mildly whitened: nothing is learned.
    ///
    /// **Use it** as `start`, where the table of a fit says that whitened features do better. **Not** of few columns
    /// that each tell classes apart: directions that vary little are heard as loud as others.
    ///
    /// **Source.** Whitening is usual; its shrinkage was chosen on 21 sets without labels.
    pub fn whitened_start() -> Self {
        Self {
            name: "whitened-start".into(),
            start: StartConfig {
                shrinkage: Some(PLAIN_SHRINKAGE),
                ..StartConfig::default()
            },
            ..Self::start()
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
    /// what the features know learns them, weighted by their confidence.
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
    pub fn mixed_lp_centered() -> Self {
        Self {
            name: "mixed-lp-centred".into(),
            start: StartConfig::centered(),
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

    /// As `probabilities`, of three kinds side by side: logistic regression of rows of length 1 and of scaled columns,
    /// and, from five labels a class on, linear discriminants of scaled columns.
    ///
    /// **Use it** where the classes to be searched are the labeled ones, with some labels each. **Not** for classes without
    /// any label.
    ///
    /// **Source.** `likewise explain joined` says more.
    pub fn joined_probabilities() -> Self {
        Self {
            name: "joined-probabilities".into(),
            learner: Learner::Closed(Closed::Joined(Joined::new())),
            ..Self::probabilities()
        }
    }

    /// As `joined-probabilities`, with probabilities of the regressions that are half of their cosine in place of four fifths. Of
    /// scaled columns alone there is no such recipe: with fewer than five labels a class it is `scaled-mild-probabilities`.
    ///
    /// **Use it** where nothing can measure what is learned, as with one or two labels a class: `auto` begins with it.
    /// **Not** for classes without any label.
    ///
    /// **Source.** As of `joined-probabilities`.
    pub fn mild_joined() -> Self {
        Self {
            name: "mild-joined".into(),
            learner: Learner::Closed(Closed::Joined(Joined::new().share(0.5))),
            ..Self::joined_probabilities()
        }
    }

    /// As `joined-probabilities`, by the known labels alone.
    ///
    /// **Use it** where neighbours in the features are often of other classes, so that labels spread
    /// wrongly. **Not** for classes without any label.
    ///
    /// **Source.** As of `joined-probabilities`.
    pub fn label_joined() -> Self {
        Self {
            name: "label-joined".into(),
            pseudo_labels: PseudoLabels::None,
            ..Self::joined_probabilities()
        }
    }

    /// As `joined-probabilities`, of scaled columns alone.
    ///
    /// **Use it** where columns are measured quantities, of different units perhaps, or where rows differ much in length.
    /// **Not** where columns of little variance are noise, nor for classes without any label.
    ///
    /// **Source.** As of `joined-probabilities`.
    pub fn scaled_joined() -> Self {
        Self {
            name: "scaled-joined".into(),
            learner: Self::joined_probabilities().learner,
            ..Self::scaled_probabilities()
        }
    }

    /// As `scaled-joined`, by the known labels alone.
    ///
    /// **Use it** where neighbours in the features are often of other classes, so that labels spread
    /// wrongly. **Not** for classes without any label.
    ///
    /// **Source.** As of `joined-probabilities`.
    pub fn scaled_label_joined() -> Self {
        Self {
            name: "scaled-label-joined".into(),
            pseudo_labels: PseudoLabels::None,
            ..Self::scaled_joined()
        }
    }

    /// As `joined-probabilities`, of the roots of the features.
    ///
    /// **Use it** for histograms, counts and pooled activations, where a few large values outweigh all others.
    /// **Not** for features of both signs, nor for classes without any label.
    ///
    /// **Source.** As of `joined-probabilities` and `rooted-start`.
    pub fn rooted_joined() -> Self {
        Self {
            name: "rooted-joined".into(),
            learner: Self::joined_probabilities().learner,
            ..Self::rooted_probabilities()
        }
    }

    /// As `mild-joined`, of the roots of the features.
    ///
    /// **Use it** as these, with one or two labels a class: of histograms `auto` begins with it. **Not** for features of
    /// both signs, nor for classes without any label.
    ///
    /// **Source.** As of `joined-probabilities` and `rooted-start`.
    pub fn rooted_mild_joined() -> Self {
        Self {
            name: "rooted-mild-joined".into(),
            learner: Self::mild_joined().learner,
            ..Self::rooted_probabilities()
        }
    }

    /// As `probabilities`, which are half of the cosine in place of four fifths.
    ///
    /// **Use it** with one or two labels a class, where `mild-joined` has too many columns: the
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

    /// As `probabilities`, of the roots of the features.
    ///
    /// **Use it** for histograms, counts and pooled activations, where a few large values outweigh all others.
    /// **Not** for features of both signs, nor for classes without any label.
    ///
    /// **Source.** As of `probabilities` and `rooted-start`.
    pub fn rooted_probabilities() -> Self {
        Self {
            name: "rooted-probabilities".into(),
            start: StartConfig {
                power: ROOT,
                ..Self::probabilities().start
            },
            ..Self::probabilities()
        }
    }

    /// As `rooted-probabilities`, by the known labels alone.
    ///
    /// **Use it** where neighbours in the features are often of other classes, so that labels spread
    /// wrongly. **Not** for classes without any label.
    ///
    /// **Source.** As of `rooted-probabilities`.
    pub fn rooted_label_probabilities() -> Self {
        Self {
            name: "rooted-label-probabilities".into(),
            pseudo_labels: PseudoLabels::None,
            ..Self::rooted_probabilities()
        }
    }

    /// As `rooted-probabilities`, which are half of the cosine in place of four fifths.
    ///
    /// **Use it** as these, with one or two labels a class. **Not** for features of both signs, nor for classes
    /// without any label.
    ///
    /// **Source.** As of `rooted-probabilities`.
    pub fn rooted_mild_probabilities() -> Self {
        Self {
            name: "rooted-mild-probabilities".into(),
            learner: Self::mild_probabilities().learner,
            ..Self::rooted_probabilities()
        }
    }

    /// As `scaled-probabilities`, which are half of the cosine in place of four fifths.
    ///
    /// **Use it** with one or two labels a class where columns are measured quantities, of different units perhaps,
    /// or where rows differ much in length: `auto` tries it there. **Not** for embeddings and spectra, where
    /// `mild-probabilities` keeps more, nor for classes without any label.
    ///
    /// **Source.** As of `scaled-probabilities`. Over `mild-probabilities`, with one label a class, it gained .07 of
    /// R@1 and .22 of MAP@R on a table of mails, and lost .05 and .08 on Fourier coefficients of digits.
    pub fn scaled_mild_probabilities() -> Self {
        Self {
            name: "scaled-mild-probabilities".into(),
            learner: Learner::Closed(Closed::Logistic(
                Logistic::default().strength(1000.0).share(0.5),
            )),
            ..Self::scaled_probabilities()
        }
    }

    /// As `scaled-probabilities`, by linear discriminant analysis.
    ///
    /// **Use it** where columns are measured quantities and classes spread alike around their means. **Not** for
    /// classes without any label.
    ///
    /// **Source.** As of `mixed-lda`.
    pub fn scaled_mixed_lda() -> Self {
        Self {
            name: "scaled-mixed-lda".into(),
            learner: Self::mixed_lda().learner,
            ..Self::scaled_probabilities()
        }
    }

    /// As `scaled-mixed-lda`, by the known labels alone.
    ///
    /// **Use it** where neighbours in the features are often of other classes, so that labels spread
    /// wrongly. **Not** with fewer than two labels a class, nor for classes without any label.
    ///
    /// **Source.** As of `mixed-lda`.
    pub fn scaled_lda() -> Self {
        Self {
            name: "scaled-lda".into(),
            pseudo_labels: PseudoLabels::None,
            ..Self::scaled_mixed_lda()
        }
    }

    /// As `probabilities`, by linear discriminant analysis.
    ///
    /// **Use it** where the classes to be searched are the labeled ones and spread alike around
    /// their means: spectra, descriptors. **Not** for classes without any label.
    ///
    /// **Source.** Ledoit and Wolf's discriminants on propagated labels; `likewise explain lda` says
    /// more. The recipe `unit-lda` has the labels alone.
    pub fn mixed_lda() -> Self {
        Self {
            name: "mixed-lda".into(),
            learner: Learner::Closed(Closed::Lda(Lda::default())),
            ..Self::probabilities()
        }
    }

    /// As `mixed-lda`, by the known labels alone: `lda` on centred rows of length 1.
    ///
    /// **Use it** where neighbours in the features are often of other classes, so that labels spread
    /// wrongly. **Not** with fewer than two labels a class, nor for classes without any label.
    ///
    /// **Source.** As of `mixed-lda`.
    pub fn unit_lda() -> Self {
        Self {
            name: "unit-lda".into(),
            pseudo_labels: PseudoLabels::None,
            ..Self::mixed_lda()
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

    /// A learner across views: by the known labels and pairs alone, or with what a name before it believes of the
    /// other items.
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

    /// Relevant component analysis of the features by the classes of mixed label propagation,
    /// fitted anew four times, each time by what spreads over the graph of the last fit.
    ///
    /// What has done best where search is for classes without any label and features come from a
    /// network, whose pooled activations `rooted-mixed-rca` reads by their roots. Where
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

    /// As `mixed-rca`, of the roots of the features.
    ///
    /// **Use it** where search is for classes without any label, by pooled activations of a network, histograms or
    /// counts. **Not** for features of both signs.
    ///
    /// **Source.** As of `mixed-rca` and `rooted-start`.
    pub fn rooted_mixed_rca() -> Self {
        Self {
            name: "rooted-mixed-rca".into(),
            start: StartConfig {
                power: ROOT,
                ..Self::mixed_rca().start
            },
            ..Self::mixed_rca()
        }
    }
}
