//! What of this crate can be explained, but for what stands in lists.

likewise::topics! {
    "lpf", "pseudo-labels where networks and class means agree", "lpf.rs";
    "head", "the trained head", "net/head.rs";
    "hard-mining", "miner: the hardest of each anchor", "mine/hard.rs";
    "semihard-mining", "miner: a little farther than the positive", "mine/semihard.rs";
    "distance-weighted-mining", "miner: negatives of every distance", "mine/distance_weighted.rs";
    "multi-similarity-mining", "miner: pairs not yet told apart", "mine/multi_similarity.rs";
    "memory", "cross-batch memory", "train/memory.rs";
    "metric", "a metric behind the embedding, in the place of a loss", "train/metric.rs";
    "losses", "several losses with their weights", "loss/weighted.rs";
    "relation", "how alike items with several labels are", "loss/relation.rs";
    "samplers", "which items come together in a batch", "sample.rs";
    "encoders", "networks that read images", "net/architecture.rs";
}
