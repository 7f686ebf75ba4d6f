//! `likewise explain`: the doc comment of a method, as it stands in its source.

use super::Context;
use crate::args::Explain;
use crate::failure::Failure;
use crate::output;

struct Topic {
    name: &'static str,
    what: &'static str,
    source: &'static str,
}

macro_rules! topics {
    ($($name:literal, $what:literal, $path:literal;)*) => {
        const TOPICS: &[Topic] = &[$(Topic {
            name: $name,
            what: $what,
            source: include_str!(concat!("../../../", $path)),
        },)*];
    };
}

topics! {
    "knn-graph", "the affinity graph", "likewise/src/neighbor/affinity.rs";
    "graph-report", "components, degrees and hubs of a graph", "likewise/src/graph/report.rs";
    "exact", "exact nearest neighbours", "likewise/src/neighbor/exact.rs";
    "ivf", "approximate nearest neighbours", "likewise/src/neighbor/ivf.rs";
    "hamming", "nearest binary codes", "likewise/src/neighbor/hamming.rs";
    "update", "neighbour lists that grow and shrink", "likewise/src/neighbor/update.rs";
    "lgc", "propagation: local and global consistency", "likewise/src/propagate/lgc.rs";
    "harmonic", "propagation: fitted on labeled items only", "likewise/src/propagate/harmonic.rs";
    "mixed", "propagation with negative edges", "likewise/src/propagate/mixed.rs";
    "control", "propagation: mixed without cutting edges", "likewise/src/propagate/control.rs";
    "manifold", "propagation: one-sided neighbours as negative edges", "likewise/src/propagate/manifold.rs";
    "lpdr", "propagation: dissimilarity regularisation", "likewise/src/propagate/lpdr.rs";
    "iscen", "propagation: balanced diffusion and training weights", "likewise/src/propagate/iscen.rs";
    "dssml", "propagation: along mutual neighbours", "likewise/src/propagate/dssml.rs";
    "negative-labels", "propagation: labels of what an item is not", "likewise/src/propagate/negative_labels.rs";
    "tong-jin", "propagation: two classes, dense", "likewise/src/propagate/tong_jin.rs";
    "gong", "propagation: pairwise constraints, dense", "likewise/src/propagate/gong.rs";
    "goldberg", "propagation: a quadratic program", "likewise/src/propagate/goldberg.rs";
    "affinity", "propagated affinities of pairs", "likewise/src/propagate/affinity.rs";
    "diffusion", "diffusion on a graph", "likewise/src/propagate/diffusion.rs";
    "affinity-triplets", "triplets by affinity", "likewise/src/tuple/affinity.rs";
    "manifold-triplets", "mining on manifolds", "likewise/src/tuple/manifold.rs";
    "negative", "negative edges by edge removal", "likewise/src/propagate/negative.rs";
    "mass", "class-mass normalisation", "likewise/src/propagate/mass.rs";
    "confidence", "confidence of a pseudo-label", "likewise/src/propagate/confidence.rs";
    "cg", "block conjugate gradient", "likewise/src/solve/conjugate_gradient.rs";
    "minres", "block minimum residuals", "likewise/src/solve/minres.rs";
    "ranking", "R@k, P@k, mAP, MAP@R, R-precision", "likewise/src/eval/ranking.rs";
    "nmi", "normalised mutual information", "likewise/src/eval/nmi.rs";
    "kmeans", "k-means", "likewise/src/eval/kmeans.rs";
    "bootstrap", "intervals", "likewise/src/eval/bootstrap.rs";
    "split", "item, zero-shot and given splits", "likewise/src/eval/split.rs";
    "leak", "leaks and duplicates", "likewise/src/eval/leak.rs";
    "whitening", "label-free shrunk whitening", "likewise/src/eval/whitening.rs";
    "calibration", "accuracy by confidence", "likewise/src/eval/calibration.rs";
    "temperature", "confidences as probabilities", "likewise/src/eval/temperature.rs";
    "diagnosis", "whether propagation helps, asked of the labels", "likewise/src/eval/diagnosis.rs";
    "balance", "classes of the pseudo-labels", "likewise/src/eval/balance.rs";
    "oracle", "a propagation against the truth", "likewise/src/eval/oracle.rs";
    "proportion", "intervals of shares", "likewise/src/eval/proportion.rs";
    "collapse", "the collapse meter", "likewise/src/eval/collapse.rs";
    "hnsw", "the approximate index", "likewise/src/index/hnsw.rs";
    "flat", "the exact index", "likewise/src/index/flat.rs";
    "head", "the trained head", "likewise-nn/src/net/head.rs";
    "confidence-proxy", "the confidence-weighted proxy loss", "likewise-nn/src/loss/confidence_proxy.rs";
    "contrastive", "loss: margins for pairs", "likewise-nn/src/loss/contrastive.rs";
    "triplet", "loss: nearer to the positive", "likewise-nn/src/loss/triplet.rs";
    "angular", "loss: the angle at the negative", "likewise-nn/src/loss/angular.rs";
    "nt-xent", "loss: a softmax over pairs", "likewise-nn/src/loss/nt_xent.rs";
    "multi-similarity", "loss: soft sums over pairs", "likewise-nn/src/loss/multi_similarity.rs";
    "fast-ap", "loss: ranking by histograms", "likewise-nn/src/loss/fast_ap.rs";
    "smooth-ap", "loss: ranking by sigmoids", "likewise-nn/src/loss/smooth_ap.rs";
    "roadmap", "loss: ranking, calibrated", "likewise-nn/src/loss/roadmap.rs";
    "contextual", "loss: likeness of neighbourhoods", "likewise-nn/src/loss/contextual.rs";
    "normalized-softmax", "loss: cross-entropy to proxies", "likewise-nn/src/loss/normalized_softmax.rs";
    "proxy-nca", "loss: distances to proxies", "likewise-nn/src/loss/proxy_nca.rs";
    "proxy-nca-plus-plus", "loss: the same, low temperature", "likewise-nn/src/loss/proxy_nca_plus_plus.rs";
    "proxy-anchor", "loss: proxies and their hardest items", "likewise-nn/src/loss/proxy_anchor.rs";
    "soft-triple", "loss: several centres a class", "likewise-nn/src/loss/soft_triple.rs";
    "center", "loss: the centre of the class", "likewise-nn/src/loss/center.rs";
    "hard-mining", "miner: the hardest of each anchor", "likewise-nn/src/mine/hard.rs";
    "semihard-mining", "miner: a little farther than the positive", "likewise-nn/src/mine/semihard.rs";
    "distance-weighted-mining", "miner: negatives of every distance", "likewise-nn/src/mine/distance_weighted.rs";
    "multi-similarity-mining", "miner: pairs not yet told apart", "likewise-nn/src/mine/multi_similarity.rs";
    "memory", "cross-batch memory", "likewise-nn/src/memory.rs";
    "mixed-lp", "the recipe of fit", "likewise-nn/src/recipe.rs";
    "recipes", "all choices of a run, and the file of them", "likewise-nn/src/recipe.rs";
    "samplers", "which items come together in a batch", "likewise-nn/src/sample.rs";
    "encoders", "networks that read images", "likewise-nn/src/net/architecture.rs";
    "rca", "relevant component analysis", "likewise/src/linear/rca.rs";
    "stiefel", "maps with orthonormal columns", "likewise/src/linear/stiefel.rs";
}

pub(crate) fn run(args: &Explain, at: &Context) -> Result<(), Failure> {
    let Some(name) = &args.name else {
        if at.common.json {
            let names: Vec<&str> = TOPICS.iter().map(|t| t.name).collect();
            return output::json(&names);
        }
        let lines: Vec<Vec<String>> = TOPICS
            .iter()
            .map(|t| vec![t.name.to_owned(), String::new(), t.what.to_owned()])
            .collect();
        for line in lines {
            output::line(format!("{:26}{}", line[0], line[2]))?;
        }
        return Ok(());
    };
    let topic = TOPICS.iter().find(|t| t.name == *name).ok_or_else(|| {
        let names: Vec<&str> = TOPICS.iter().map(|t| t.name).collect();
        Failure::usage(format!(
            "no method \"{name}\"; there are: {}",
            names.join(", ")
        ))
    })?;
    let text = explanation(topic.source);
    if at.common.json {
        let text = serde_json::json!({"name": topic.name, "what": topic.what, "text": text});
        return output::json(&text);
    }
    output::line(format!("{} - {}\n\n{text}", topic.name, topic.what))
}

/// The module's doc comment and the longest of its items', without the example code.
fn explanation(source: &str) -> String {
    let module = blocks(source, "//!").into_iter().next().unwrap_or_default();
    let items = blocks(source, "///").into_iter();
    let item = items.max_by_key(String::len).unwrap_or_default();
    if item.len() < 200 {
        return module;
    }
    format!("{module}\n\n{item}").trim().to_owned()
}

/// Every run of lines that begin with `mark`, as plain text.
fn blocks(source: &str, mark: &str) -> Vec<String> {
    let mut blocks = vec![Vec::new()];
    // Inside a fence: whether it is shown. Formulas stand in `text` blocks; what else is
    // fenced is a test.
    let mut fence = None;
    for line in source.lines() {
        let Some(words) = line.trim_start().strip_prefix(mark) else {
            blocks.push(Vec::new());
            fence = None;
            continue;
        };
        let words = words.strip_prefix(' ').unwrap_or(words);
        if let Some(kind) = words.strip_prefix("```") {
            fence = match fence {
                Some(_) => None,
                None => Some(kind.trim() == "text"),
            };
        } else if fence != Some(false)
            && let Some(block) = blocks.last_mut()
        {
            block.push(plain(words));
        }
    }
    let text = blocks
        .into_iter()
        .map(|block| block.join("\n").trim().to_owned());
    text.filter(|block| !block.is_empty()).collect()
}

/// Markdown without its marks: links keep their text.
fn plain(words: &str) -> String {
    let mut out = String::new();
    let mut rest = words;
    while let Some(open) = rest.find('[') {
        let Some(close) = rest[open..].find(']').map(|c| open + c) else {
            break;
        };
        let after = &rest[close + 1..];
        let end = match after.strip_prefix('(').and_then(|a| a.find(')')) {
            Some(end) => close + 1 + end + 2,
            None => close + 1,
        };
        let inner = &rest[open + 1..close];
        out.push_str(&rest[..open]);
        if inner.starts_with('`') || end > close + 1 {
            out.push_str(inner);
        } else {
            out.push_str(&rest[open..=close]);
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    out.replace("**", "").replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topic_has_an_explanation_with_source_and_limits() {
        for topic in TOPICS {
            let text = explanation(topic.source);
            assert!(text.len() > 200, "{}: {text}", topic.name);
            assert!(
                !text.contains("use likewise"),
                "{}: example code",
                topic.name
            );
        }
    }

    #[test]
    fn formulas_are_shown_and_examples_are_not() {
        let source = "/// What.\n/// ```text\n/// a = b\n/// ```\n/// When not.\n/// ```\n/// \
                      let x = 1;\n/// ```\n/// Source.\nstruct X;";
        assert_eq!(blocks(source, "///"), ["What.\na = b\nWhen not.\nSource."]);
        let topic = TOPICS
            .iter()
            .find(|t| t.name == "confidence-proxy")
            .unwrap();
        assert!(explanation(topic.source).contains("eqs. 26-29"));
    }

    #[test]
    fn markdown_is_taken_off() {
        assert_eq!(
            plain("see [`Lgc`](super::Lgc) and **not** [0, 1]"),
            "see Lgc and not [0, 1]"
        );
    }
}
