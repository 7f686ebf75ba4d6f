//! `README.md` of a run folder: the model card.

use likewise::Similarity;
use likewise::matrix::Reading;
use likewise::model::{Form, Model as Closed};
use likewise_nn::Model;

use crate::recipe::{Learner, ModelConfig, Recipe};
use crate::study::{Results, SplitKind};
use crate::table;

/// What a run was made of.
pub(crate) struct Origin<'a> {
    pub(crate) recipe: &'a Recipe,
    /// The data, in words.
    pub(crate) data: &'a str,
    pub(crate) sha256: &'a str,
    pub(crate) seed: u64,
}

/// How the model reads features, before all else.
fn reading(of: Reading) -> String {
    let mut read = if of.power < 1.0 {
        format!("x = sign(x) |x|^{}`, `", of.power)
    } else {
        String::new()
    };
    if of.unit {
        read.push_str("x = normalise(x)`, `");
    }
    read
}

/// What the tensors of the model are, and how they make an embedding.
fn formula(recipe: &Recipe, model: &Model) -> String {
    let start = |of: Reading| {
        let read = reading(of);
        format!("{read}s = normalise((x - start.mean) start.matrix)")
    };
    let gradient = match (model, &recipe.learner) {
        // Where learning did not help, it is another than the recipe's.
        (Model::Closed(Closed::Linear(linear)), _) => {
            let start = start(linear.reading);
            return format!("\n`model.safetensors`: `{start}`; the embedding is s.");
        }
        (Model::Closed(Closed::Probabilities(of)), _) => {
            let read = reading(of.reading);
            return format!(
                "\n`model.safetensors`: `{read}c = (x - start.mean) start.scale` (1 where there is \
                 none), `p = softmax(c logits.matrix + logits.bias)`; the embedding is `[sqrt(share) \
                 sqrt(p), sqrt(1 - share) normalise(c)]` with share {}.",
                of.share
            );
        }
        (Model::Closed(Closed::Metric(metric)), _) => {
            let read = reading(metric.reading);
            let map = match metric.form {
                Form::Mahalanobis(_) => {
                    "`d^2(a, b) = (a - b) mahalanobis (a - b)`; the embedding is `(x - mean) L^T` with \
                     `mahalanobis = L^T L`"
                }
                Form::Transform(_) => "the embedding is `(x - mean) transform^T`",
            };
            return format!("\n`model.safetensors`: {read}{map} (mean 0 where there is none).");
        }
        (Model::Closed(Closed::Bilinear(of)), _) => {
            let read = reading(of.reading);
            return format!(
                "\n`model.safetensors`: {read}similarity `(q - mean) bilinear (x - mean)` of a query q \
                 and an item x (mean 0 where there is none); the embedding is `x - mean`."
            );
        }
        (_, Learner::Gradient(gradient)) => gradient,
        (_, Learner::Closed(_)) => return String::new(),
    };
    let start = start(recipe.start.reading());
    let keep = gradient.head().keep;
    let learned = match &gradient.model {
        ModelConfig::Network(network) => {
            let map = if network.map.is_some() {
                ", then normalise(z map)".to_owned()
            } else if network.is_whitened() {
                format!(
                    "; where there are tensors after `start.`, z0 by these, and [sqrt(keep) z0, \
                     sqrt(1 - keep) z] with keep {keep}"
                )
            } else {
                String::new()
            };
            return format!(
                "\n`model.safetensors`: the network `{}` under its published names after \
                 `backbone.`, its last layers under `head.`; rows are images of channels x height \
                 x width pixels of 0 to 255; embedding z = normalise(network(x)){map}. Where \
                 training did not help, `{start}` instead, and the embedding is s.",
                network.encoder.name()
            );
        }
        ModelConfig::Mlp(_) => {
            "h = normalise([s, 0] + relu(sqrt(r) s residual.input.weight + residual.input.bias) \
             residual.output.weight)"
        }
        ModelConfig::Linear(_) => "h = normalise([s, 0] + sqrt(r) s residual.output.weight)",
        ModelConfig::Orthogonal(_) => "h = normalise(s residual.output.weight)",
    };
    format!(
        "\n`model.safetensors`: `{start}`, `{learned}` with \
         r the length of s, embedding `[sqrt(keep) s, sqrt(1 - keep) h]` with keep {keep}. Without \
         `residual.*` tensors the embedding is s."
    )
}

/// The model card.
pub(crate) fn text(of: &Origin, model: &Model, results: &Results) -> String {
    let mut card = format!(
        "# An embedding by likewise\n\nRecipe `{}`, fitted on `{}` (sha256 {}), seed {}.\n\n",
        of.recipe.name, of.data, of.sha256, of.seed
    );
    if results.tells() {
        let over = match results.split {
            SplitKind::Folds => "Means over the rounds that kept some labels back, with ",
            _ if results.summary.draws > 1 => "Means over the label draws, with ",
            _ => "With ",
        };
        card.extend([
            "```text\n",
            &table::of(&results.rows()),
            "\n```\n\n",
            over,
            "half the 95 % interval.\n\n",
        ]);
    }
    for line in &results.verdict {
        card.extend(["- ", line.as_str(), "\n"]);
    }
    card.push_str(&formula(of.recipe, model));
    let similarity = match model.similarity() {
        Similarity::Cosine => "the cosine",
        Similarity::Euclidean => "minus the squared Euclidean distance of embeddings",
        Similarity::Bilinear(_) => "this bilinear form, which is no distance",
    };
    card.extend(["\n\nSimilarity is ", similarity, ". "]);
    card.push_str(
        "Do not use the model on features of another kind than those \
         it was fitted on.\n",
    );
    card
}
