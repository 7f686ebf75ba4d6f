//! What can be explained, and where it stands: the source of a part, whose doc comment says what
//! it does, when to use it and when not.
//!
//! Methods of a list (propagations, learners, classifiers) have their names and sources there.

/// A part of a crate that can be explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Topic {
    /// What people ask for.
    pub name: &'static str,
    /// What it is, in a few words.
    pub what: &'static str,
    /// Its source file, with the doc comment that explains it.
    pub source: &'static str,
}

/// Makes the topics of a crate: name, what it is in a few words, and the file of its source beside
/// this one.
#[macro_export]
macro_rules! topics {
    ($($name:literal, $what:literal, $file:literal;)*) => {
        /// The topics of this crate.
        pub const TOPICS: &[$crate::topic::Topic] = &[$($crate::topic::Topic {
            name: $name,
            what: $what,
            source: include_str!($file),
        },)*];
    };
}

topics! {
    "knn-graph", "the affinity graph", "graph/knn.rs";
    "fused-graph", "the graph of several views", "graph/fused.rs";
    "graph-report", "components, degrees and hubs of a graph", "graph/report.rs";
    "exact", "exact nearest neighbours", "neighbor/exact.rs";
    "ivf", "approximate nearest neighbours", "neighbor/ivf.rs";
    "hamming", "nearest binary codes", "neighbor/hamming.rs";
    "update", "neighbour lists that grow and shrink", "neighbor/update.rs";
    "affinity", "propagated affinities of pairs", "propagate/affinity.rs";
    "by-tag", "several labels an item, each spread by itself", "propagate/by_tag.rs";
    "diffusion", "diffusion on a graph", "propagate/parts/diffusion.rs";
    "votes", "pseudo-labels by votes of many classifiers", "ensemble/votes.rs";
    "pruning", "which classifiers vote best together", "ensemble/pruning.rs";
    "vote-triplets", "triplets of what votes are sure of", "ensemble/triplets.rs";
    "affinity-triplets", "triplets by affinity", "tuple/affinity.rs";
    "manifold-triplets", "mining on manifolds", "tuple/manifold.rs";
    "negative", "negative edges by edge removal", "propagate/parts/negative.rs";
    "mass", "class-mass normalisation", "propagate/parts/mass.rs";
    "confidence", "confidence of a pseudo-label", "propagate/parts/confidence.rs";
    "cg", "block conjugate gradient", "solve/conjugate_gradient.rs";
    "minres", "block minimum residuals", "solve/minres.rs";
    "ranking", "R@k, P@k, mAP, MAP@R, R-precision", "eval/ranking.rs";
    "nmi", "normalised mutual information", "eval/nmi.rs";
    "kmeans", "k-means", "eval/kmeans.rs";
    "bootstrap", "intervals", "eval/bootstrap.rs";
    "split", "item, zero-shot and given splits", "eval/split.rs";
    "leak", "leaks and duplicates", "eval/leak.rs";
    "whitening", "label-free shrunk whitening", "linear/whitening.rs";
    "calibration", "accuracy by confidence", "eval/calibration.rs";
    "temperature", "confidences as probabilities", "advise/temperature.rs";
    "diagnosis", "whether propagation helps, asked of the labels", "advise/diagnosis.rs";
    "prevalence", "how common each class is among the unlabeled items", "advise/prevalence.rs";
    "hit-rate", "R@k of codes, among equally near items", "eval/hit_rate.rs";
    "balance", "classes of the pseudo-labels", "advise/balance.rs";
    "oracle", "a propagation against the truth", "advise/oracle.rs";
    "outside", "items of none of the known classes", "advise/outside.rs";
    "suspects", "labels that are likely wrong", "advise/suspects.rs";
    "advise", "what to label next", "advise/next.rs";
    "vopt", "what to label next: what leaves least unknown on the graph", "advise/next/vopt.rs";
    "density", "what to label next: what stands for many unsure items", "advise/next/density.rs";
    "coverage", "what to label next: what stands for many items near no label", "advise/next/coverage.rs";
    "uncertain", "what to label next: the items between two classes", "advise/next/uncertain.rs";
    "label-curve", "what more labels are worth", "advise/curve.rs";
    "threshold", "same or not, at a wanted precision", "advise/threshold.rs";
    "shares", "what the labels near an item say of it", "advise/shares.rs";
    "proportion", "intervals of shares", "eval/proportion.rs";
    "collapse", "the collapse meter", "eval/collapse.rs";
    "hnsw", "the approximate index", "index/hnsw.rs";
    "flat", "the exact index", "index/flat.rs";
    "behind", "what metric learners minimise, as terms of pairs", "linear/behind.rs";
    "tags", "several labels an item", "tags.rs";
    "text", "texts as rows of numbers", "text.rs";
    "klr", "encoders that imitate codes", "cross/klr.rs";
    "map50", "mean average precision of the first 50", "eval/map50.rs";
    "stiefel", "maps with orthonormal columns", "linear/stiefel.rs";
}
