//! Losses: plain functions on tensors, one per file.
//!
//! | loss | learns from | when |
//! |---|---|---|
//! | [`Contrastive`] | pairs | the first baseline; absolute similarities |
//! | [`Triplet`] | pairs, triplets | comparisons alone are known |
//! | [`Angular`] | pairs, triplets | classes of different scale; affinity triplets |
//! | [`NtXent`] | pairs | large batches, two augmentations of an item |
//! | [`MultiSimilarity`] | pairs | the strongest plain pair loss |
//! | [`FastAp`] | pairs | ranking, large batches |
//! | [`SmoothAp`] | pairs | ranking, from a good start |
//! | [`Roadmap`] | pairs | ranking |
//! | [`Contextual`] | pairs | doubtful class labels |
//! | [`NormalizedSoftmax`] | classes | the plain baseline with classes |
//! | [`ProxyNca`], [`ProxyNcaPlusPlus`] | classes | many classes of few items |
//! | [`ProxyAnchor`] | classes | the usual first choice with classes |
//! | [`SoftTriple`] | classes | classes of several modes |
//! | [`ConfidenceProxy`] | classes | pseudo-labels of mixed quality |
//! | [`Center`] | classes | beside another loss |
//! | [`Dec`] | classes | clusters, which teach themselves |
//! | [`Nce`] | classes | every item its own class |
//! | [`SimilarityRegularizer`] | rows | beside another loss, and only there |
//!
//! [`Loss`] is any of them as one value, [`Losses`] several with their weights. In all of them a weight is a multiplicity: an item,
//! a pair or a triplet of weight 0 changes neither value nor gradient against leaving it out.

mod angular;
mod center;
mod check;
#[cfg(feature = "networks")]
mod classes;
mod confidence_proxy;
mod contextual;
mod contrastive;
#[cfg(feature = "networks")]
mod cosine;
mod dec;
mod fast_ap;
#[cfg(feature = "networks")]
mod listed;
mod multi_similarity;
mod nce;
mod normalized_softmax;
mod nt_xent;
#[cfg(feature = "networks")]
mod pairs;
mod proxy_anchor;
mod proxy_nca;
mod proxy_nca_plus_plus;
#[cfg(feature = "networks")]
mod reduce;
#[cfg(test)]
pub(crate) mod reference;
mod relation;
mod roadmap;
mod similarity_regularizer;
mod smooth_ap;
mod soft_triple;
mod triplet;
mod weighted;
mod whole;

use likewise::Triplets;
use serde::{Deserialize, Serialize};

pub use angular::Angular;
pub use center::Center;
pub(crate) use check::{above_zero, at_least_zero};
#[cfg(feature = "networks")]
pub use classes::Classes;
pub use confidence_proxy::ConfidenceProxy;
pub use contextual::{Contextual, Total};
pub use contrastive::{Contrastive, Measure};
#[cfg(feature = "networks")]
pub(crate) use cosine::cosines;
pub use dec::Dec;
#[cfg(feature = "networks")]
pub(crate) use dec::Linked;
pub use fast_ap::FastAp;
pub use multi_similarity::MultiSimilarity;
pub use nce::Nce;
pub use normalized_softmax::NormalizedSoftmax;
pub use nt_xent::NtXent;
#[cfg(feature = "networks")]
pub use pairs::Pairs;
pub use proxy_anchor::ProxyAnchor;
pub use proxy_nca::ProxyNca;
pub use proxy_nca_plus_plus::ProxyNcaPlusPlus;
#[cfg(feature = "networks")]
pub(crate) use reduce::softplus;
pub use relation::Relation;
pub use roadmap::Roadmap;
pub use similarity_regularizer::SimilarityRegularizer;
pub use smooth_ap::SmoothAp;
pub use soft_triple::SoftTriple;
pub use triplet::Triplet;
pub use weighted::{Losses, Weighted};
pub use whole::{MOST_ITEMS, WholeSet};

use crate::{Error, Result};
#[cfg(feature = "networks")]
use burn::tensor::{Tensor, TensorData};

/// What a loss can learn from in a batch.
#[cfg(feature = "networks")]
#[derive(Debug, Clone)]
pub struct Batch {
    /// Pairs; the losses that learn from pairs take them unless there are triplets.
    pub pairs: Pairs,
    /// Classes, for the losses with proxies.
    pub classes: Option<Classes>,
    /// Explicit triplets: the losses of triplets take them as they are, the losses of pairs
    /// take their pairs, in place of `pairs`.
    pub triplets: Option<Triplets>,
}

#[cfg(feature = "networks")]
impl From<Pairs> for Batch {
    fn from(pairs: Pairs) -> Self {
        Self {
            pairs,
            classes: None,
            triplets: None,
        }
    }
}

/// One line a loss: its name, its type, its source, what it is.
macro_rules! losses {
    (
        pairs: $($pair_name:literal $Pair:ident $pair_file:literal, $pair_what:literal;)*
        triplets: $($triplet_name:literal $Triplet:ident $triplet_file:literal, $triplet_what:literal;)*
        classes: $($class_name:literal $Class:ident $class_file:literal, $class_what:literal;)*
        rows: $($row_name:literal $Row:ident $row_file:literal, $row_what:literal;)*
    ) => {
        /// A loss with its parameters.
        ///
        /// ```
        /// use likewise_nn::loss::Loss;
        /// let loss = Loss::named("nt-xent")?;
        /// assert_eq!(loss.name(), "nt-xent");
        /// assert_eq!(loss.proxies_per_class(), 0);
        /// assert!(Loss::named("nosuch").is_err());
        /// # Ok::<(), likewise_nn::Error>(())
        /// ```
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "name")]
        pub enum Loss {
            $(#[doc = $pair_what] #[serde(rename = $pair_name)] $Pair($Pair),)*
            $(#[doc = $triplet_what] #[serde(rename = $triplet_name)] $Triplet($Triplet),)*
            $(#[doc = $class_what] #[serde(rename = $class_name)] $Class($Class),)*
            $(#[doc = $row_what] #[serde(rename = $row_name)] $Row($Row),)*
        }

        impl Loss {
            /// Names of all losses.
            pub const NAMES: &'static [&'static str] =
                &[$($pair_name,)* $($triplet_name,)* $($class_name,)* $($row_name,)*];

            /// What each loss is, in the order of [`NAMES`](Self::NAMES).
            pub const ABOUT: &'static [&'static str] =
                &[$($pair_what,)* $($triplet_what,)* $($class_what,)* $($row_what,)*];

            /// The source of each loss, whose doc comment explains it.
            pub const SOURCES: &'static [&'static str] = &[
                $(include_str!($pair_file),)*
                $(include_str!($triplet_file),)*
                $(include_str!($class_file),)*
                $(include_str!($row_file),)*
            ];

            /// All losses with their default parameters.
            pub fn all() -> Vec<Self> {
                vec![
                    $(Self::$Pair($Pair::default()),)*
                    $(Self::$Triplet($Triplet::default()),)*
                    $(Self::$Class($Class::default()),)*
                    $(Self::$Row($Row::default()),)*
                ]
            }

            /// The name of this loss.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$Pair(_) => $pair_name,)*
                    $(Self::$Triplet(_) => $triplet_name,)*
                    $(Self::$Class(_) => $class_name,)*
                    $(Self::$Row(_) => $row_name,)*
                }
            }

            /// Whether it is a loss of classes, which compares items with proxies.
            pub const fn has_proxies(&self) -> bool {
                match self {
                    $(Self::$Class(_) => true,)*
                    _ => false,
                }
            }

            /// Whether it compares items with each other, in pairs or triplets: what miners, a
            /// memory and explicit triplets are for.
            pub const fn compares(&self) -> bool {
                match self {
                    $(Self::$Pair(_) => true,)*
                    $(Self::$Triplet(_) => true,)*
                    _ => false,
                }
            }

            /// Checks the parameters; an error names the field, its value and the rule.
            pub fn validate(&self) -> Result<()> {
                match self {
                    $(Self::$Pair(loss) => loss.validate(),)*
                    $(Self::$Triplet(loss) => loss.validate(),)*
                    $(Self::$Class(loss) => loss.validate(),)*
                    $(Self::$Row(loss) => loss.validate(),)*
                }
            }

            /// The loss of a batch, a tensor of one number: under automatic differentiation
            /// if `embeddings` or `proxies` are.
            ///
            /// `embeddings` is `[n, d]`, rows of any length; `proxies`, for the losses that
            /// have [some](Self::proxies_per_class), `[C * proxies_per_class, d]`, those of a
            /// class one after another. Tuples must lie on the device of `embeddings`.
            ///
            /// Fails if the batch lacks what the loss learns from, and on shapes that do not
            /// agree.
            #[cfg(feature = "networks")]
            pub fn forward(
                &self,
                embeddings: Tensor<2>,
                batch: &Batch,
                proxies: Option<Tensor<2>>,
            ) -> Result<Tensor<1>> {
                match self {
                    $(Self::$Pair(loss) => {
                        let pairs = pairs_of(&embeddings, batch)?;
                        Ok(loss.forward(embeddings, &pairs))
                    })*
                    $(Self::$Triplet(loss) => match &batch.triplets {
                        Some(triplets) => {
                            triplets.check(embeddings.dims()[0])?;
                            Ok(loss.forward_triplets(embeddings, triplets))
                        }
                        None => {
                            let pairs = pairs_of(&embeddings, batch)?;
                            Ok(loss.forward(embeddings, &pairs))
                        }
                    })*
                    $(Self::$Class(loss) => {
                        let (proxies, classes) = self.targets(&embeddings, batch, proxies)?;
                        Ok(loss.forward(embeddings, proxies, classes))
                    })*
                    $(Self::$Row(loss) => {
                        let weights = rows_of(&embeddings, batch)?;
                        Ok(loss.forward(embeddings, weights))
                    })*
                }
            }
        }
    };
}

losses! {
    pairs:
        "contrastive" Contrastive "loss/contrastive.rs", "Margins for positives and negatives.";
        "nt-xent" NtXent "loss/nt_xent.rs", "A softmax of each positive pair against the negatives.";
        "multi-similarity" MultiSimilarity "loss/multi_similarity.rs", "Soft sums over positives and negatives.";
        "fast-ap" FastAp "loss/fast_ap.rs", "Average precision by histograms.";
        "smooth-ap" SmoothAp "loss/smooth_ap.rs", "Average precision by sigmoids.";
        "roadmap" Roadmap "loss/roadmap.rs", "A bound of average precision, calibrated.";
        "contextual" Contextual "loss/contextual.rs", "Likeness of neighbourhoods.";
    triplets:
        "triplet" Triplet "loss/triplet.rs", "Nearer to the positive than to the negative.";
        "angular" Angular "loss/angular.rs", "A bound on the angle at the negative.";
    classes:
        "normalized-softmax" NormalizedSoftmax "loss/normalized_softmax.rs", "Cross-entropy over cosines to proxies.";
        "proxy-nca" ProxyNca "loss/proxy_nca.rs", "A softmax over distances to proxies.";
        "proxy-nca-plus-plus" ProxyNcaPlusPlus "loss/proxy_nca_plus_plus.rs", "The same with a low temperature.";
        "proxy-anchor" ProxyAnchor "loss/proxy_anchor.rs", "Proxies that pull and push the hardest items most.";
        "soft-triple" SoftTriple "loss/soft_triple.rs", "Several centres a class.";
        "confidence-proxy" ConfidenceProxy "loss/confidence_proxy.rs", "Proxies and pseudo-labels weighted by confidence.";
        "center" Center "loss/center.rs", "Distance to the centre of the class.";
        "dec" Dec "loss/dec.rs", "Clusters that sharpen themselves, and links between items.";
        "nce" Nce "loss/nce.rs", "A softmax over a memory of all items.";
    rows:
        "similarity-regularizer" SimilarityRegularizer "loss/similarity_regularizer.rs", "Holds the mean cosine, beside another loss.";
}

impl Loss {
    /// The loss of this name with its default parameters; an error lists all names.
    pub fn named(name: &str) -> Result<Self> {
        let all = Self::all();
        all.iter()
            .find(|loss| loss.name() == name)
            .cloned()
            .ok_or_else(|| {
                let names: Vec<&str> = all.iter().map(Self::name).collect();
                let rule = format!("no such loss; there are: {}", names.join(", "));
                Error::parameter("loss", name, &rule)
            })
    }

    /// Whether it stands beside others: not what looks at the whole set, of which nothing else is told.
    pub const fn stands_beside(&self) -> bool {
        !matches!(self, Self::Dec(_) | Self::Nce(_))
    }

    /// Whether it learns anything by itself: what looks at rows alone stands beside another loss.
    pub const fn stands_alone(&self) -> bool {
        self.compares() || self.has_proxies()
    }

    /// Parameters that change nothing beside its others, and why.
    pub fn idle(&self) -> Vec<(&'static str, &'static str)> {
        match self {
            Self::Contextual(loss) => loss.idle(),
            Self::Roadmap(loss) => loss.idle(),
            Self::SoftTriple(loss) => loss.idle(),
            _ => Vec::new(),
        }
    }

    /// Proxies that a class needs; 0 for losses without proxies.
    pub fn proxies_per_class(&self) -> usize {
        match self {
            Self::SoftTriple(loss) => loss.centers,
            loss => usize::from(loss.has_proxies()),
        }
    }

    /// Whether it learns from items with several labels each: those that look at pairs or triplets, which
    /// go by what items share, and of those with proxies [`ProxyAnchor`].
    pub fn takes_several_labels(&self) -> bool {
        self.proxies_per_class() == 0 || matches!(self, Self::ProxyAnchor(_))
    }

    /// Proxies and classes, once they are known to fit.
    #[cfg(feature = "networks")]
    fn targets<'a>(
        &self,
        embeddings: &Tensor<2>,
        batch: &'a Batch,
        proxies: Option<Tensor<2>>,
    ) -> Result<(Tensor<2>, &'a Classes)> {
        let name = self.name();
        let lacks = |what: &str| Error::data(format!("the loss {name} needs {what}"));
        let classes = batch
            .classes
            .as_ref()
            .ok_or_else(|| lacks("class labels"))?;
        let proxies = proxies.ok_or_else(|| lacks("proxies"))?;
        let [n, d] = embeddings.dims();
        let [items, count] = classes.dims();
        let expected = [count * self.proxies_per_class(), d];
        if items != n || n == 0 || proxies.dims() != expected {
            return Err(Error::data(format!(
                "the loss {name} got {n} embeddings of {d} columns, {items} items with classes, \
                 and proxies of shape {:?}; it needs equal counts above 0 and proxies of shape \
                 {expected:?}",
                proxies.dims()
            )));
        }
        Ok((proxies, classes))
    }
}

/// The pairs of a batch: those of its triplets if it has any.
#[cfg(feature = "networks")]
fn pairs_of(embeddings: &Tensor<2>, batch: &Batch) -> Result<Pairs> {
    if let Some(triplets) = &batch.triplets {
        let options = (&embeddings.device(), embeddings.dtype());
        return Pairs::from_triplets(embeddings.dims()[0], triplets, options);
    }
    check_pairs(embeddings, batch)?;
    Ok(batch.pairs.clone())
}

/// Weights of the first rows of a batch, those that a memory does not add: of items in explicit
/// triplets, the sum of the weights of these.
#[cfg(feature = "networks")]
fn rows_of(embeddings: &Tensor<2>, batch: &Batch) -> Result<Tensor<1>> {
    let Some(triplets) = &batch.triplets else {
        check_pairs(embeddings, batch)?;
        return Ok(batch.pairs.anchors.clone());
    };
    let n = embeddings.dims()[0];
    triplets.check(n)?;
    let mut weights = vec![0.0_f32; n];
    for (a, p, q, weight) in triplets.iter() {
        for item in [a, p, q] {
            weights[item as usize] += weight;
        }
    }
    let options = (&embeddings.device(), embeddings.dtype());
    Ok(Tensor::from_data(TensorData::new(weights, [n]), options))
}

/// Fails where the pairs are not of these rows.
#[cfg(feature = "networks")]
fn check_pairs(embeddings: &Tensor<2>, batch: &Batch) -> Result<()> {
    let n = embeddings.dims()[0];
    let [anchors, items] = batch.pairs.dims();
    if items != n || anchors == 0 || anchors > n {
        return Err(Error::data(format!(
            "{n} embeddings, but pairs of {anchors} anchors and {items} items; there must be as \
             many items as embeddings, and 1 to {n} anchors"
        )));
    }
    Ok(())
}
