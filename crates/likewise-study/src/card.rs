//! `README.md` of a run folder: the model card.

use likewise::Similarity;
use likewise::cross::Encoder;
use likewise::matrix::Reading;
use likewise::model::{By, Form, Model as Closed, Scored};
use likewise_nn::Model;

use crate::plain;
use crate::recipe::{GradientConfig, Learner, ModelConfig, NetworkConfig, Recipe};
use crate::study::{CrossStudy, Results, SplitKind};
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

/// How a model reads features and finds its start, `s`.
fn start(of: Reading) -> String {
    let read = reading(of);
    format!("{read}s = normalise((x - start.mean) start.matrix)")
}

/// What the tensors of the model are, and how they make an embedding.
fn formula(recipe: &Recipe, model: &Model) -> String {
    match (model, &recipe.learner) {
        // Where learning did not help, it is another than the recipe's.
        (Model::Closed(model), _) => closed(model),
        (_, Learner::Gradient(gradient)) => learned_by(gradient, recipe),
        (_, Learner::Closed(_) | Learner::Cross(_)) => String::new(),
    }
}

/// The formula of a model in closed form.
fn closed(model: &Closed) -> String {
    match model {
        Closed::Linear(linear) => {
            let start = start(linear.reading);
            format!("\n`model.safetensors`: `{start}`; the embedding is s.")
        }
        Closed::Probabilities(of) => {
            let read = reading(of.reading);
            let parts = [
                (true, "sqrt(share) sqrt(p)"),
                (
                    of.discriminants.is_some(),
                    "sqrt(rest) normalise(c discriminants)",
                ),
                (of.features, "sqrt(rest) normalise(c)"),
            ];
            let parts: Vec<&str> = (parts.iter().filter(|(there, _)| *there))
                .map(|(_, part)| *part)
                .collect();
            format!(
                "\n`model.safetensors`: `{read}c = (x - start.mean) start.scale` (1 where there is \
                 none), `p = softmax(c logits.matrix + logits.bias)`; the embedding is `[{}]` with \
                 share {:.6} and rest {:.6}.",
                parts.join(", "),
                of.share,
                of.rest()
            )
        }
        Closed::Joined(of) => {
            let part = |(place, (part, share)): (usize, &(Closed, f64))| {
                let formula = closed(part);
                format!(
                    "\n\nPart {place}, share {share:.6}, of the tensors `{place}.`...:\n{formula}"
                )
            };
            let parts: Vec<String> = of.parts().iter().enumerate().map(part).collect();
            format!(
                "\nThe embedding is those of {} models side by side, each times the root of its share.{}",
                parts.len(),
                parts.concat()
            )
        }
        Closed::Hashed(of) => {
            let read = reading(of.reading);
            format!(
                "\n`model.safetensors`: `{read}c = (x - start.mean) start.scale` (1 where there is \
                 none), a code of {h} bits `s = sign(c latent.matrix + latent.bias)`; the embedding is \
                 `[sqrt(({h} + 1) / ({h} + 2) / {h}) s, sqrt(1 / ({h} + 2)) normalise(c)]`.",
                h = of.bits()
            )
        }
        Closed::Metric(metric) => {
            let read = reading(metric.reading);
            let map = match metric.form {
                Form::Mahalanobis(_) => {
                    "`d^2(a, b) = (a - b) mahalanobis (a - b)`; the embedding is `(x - mean) L^T` with \
                     `mahalanobis = L^T L`"
                }
                Form::Transform(_) => "the embedding is `(x - mean) transform^T`",
            };
            format!("\n`model.safetensors`: {read}{map} (mean 0 where there is none).")
        }
        Closed::Bilinear(of) => {
            let read = reading(of.reading);
            format!(
                "\n`model.safetensors`: {read}similarity `(q - mean) bilinear (x - mean)` of a query q \
                 and an item x (mean 0 where there is none); the embedding is `x - mean`."
            )
        }
        Closed::Scored(of) => {
            format!(
                "\n`model.safetensors`: {}{}",
                reading(of.reading()),
                scored(of)
            )
        }
    }
}

/// The formula of a model that gradients learned: a network, or a head on the start.
fn learned_by(gradient: &GradientConfig, recipe: &Recipe) -> String {
    let start = start(recipe.start.reading());
    let keep = gradient.head().keep;
    let learned = match &gradient.model {
        ModelConfig::Network(of) => return network(of, gradient, &start),
        ModelConfig::Mlp(_) => {
            "h = normalise([s, 0] + relu(sqrt(r) s residual.input.weight + residual.input.bias) \
             residual.output.weight)"
        }
        ModelConfig::Linear(_) => "h = normalise([s, 0] + sqrt(r) s residual.output.weight)",
        ModelConfig::Orthogonal(_) => "h = normalise(s residual.output.weight)",
    };
    let behind = if gradient.metric.is_some() {
        ", then `h = normalise(h residual.map)`"
    } else {
        ""
    };
    format!(
        "\n`model.safetensors`: `{start}`, `{learned}`{behind} with \
         r the length of s, embedding `[sqrt(keep) s, sqrt(1 - keep) h]` with keep {keep}. Without \
         `residual.*` tensors the embedding is s."
    )
}

/// The formula of a network; `start` is what stands in its place where it did not help.
fn network(of: &NetworkConfig, gradient: &GradientConfig, start: &str) -> String {
    let keep = gradient.head().keep;
    let map = if of.map.is_some() || gradient.metric.is_some() {
        ", then normalise(z map)".to_owned()
    } else if of.is_whitened() {
        format!(
            "; where there are tensors after `start.`, z0 by these, and [sqrt(keep) z0, \
             sqrt(1 - keep) z] with keep {keep}"
        )
    } else {
        String::new()
    };
    format!(
        "\n`model.safetensors`: the network `{}` under its published names after \
         `backbone.`, its last layers under `head.`; rows are images of channels x height \
         x width pixels of 0 to 255; embedding z = normalise(network(x)){map}. Where \
         training did not help, `{start}` instead, and the embedding is s.",
        of.encoder.name()
    )
}

/// How a model that compares rows itself does so.
fn scored(of: &Scored) -> String {
    let views = match of.views().len() {
        1 => "the features".to_owned(),
        n => format!("{n} views side by side"),
    };
    let mapped = of.views().iter().any(|view| view.map.is_some());
    let rows = if mapped {
        format!("{views}, each `(x - view.v.mean) view.v.matrix` (mean 0 where there is none)")
    } else {
        format!("{views} as they are")
    };
    let learned = match of.by() {
        By::Kernels(_) => {
            "`f(q, x) = sum_i theta_i (k_i(q, x) + k_i(q, X) A_i k_i(X, x))` with the rows X = \
             `view.v.rows` and A_i = `kernel.i.weights`"
        }
        By::Coordinates(_) => {
            "`f(q, x) = sum_i theta_i (k_i(q, x) + phi_i(q) C_i phi_i(x))` with the coordinates phi_i and \
             C_i = `kernel.i.change`"
        }
        By::Manifold(_) => {
            "nearness along the manifold of all that is searched, through the `landmarks`; a query is a \
             row more"
        }
    };
    format!("the embedding is {rows}; similarity {learned}.")
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
    let selected = [results.columns_in_words(), results.selections_in_words()];
    for line in results.verdict.iter().chain(selected.iter().flatten()) {
        card.extend(["- ", &plain::markdown(line), "\n"]);
    }
    card.push_str(&formula(of.recipe, model));
    let similarity = match model.similarity() {
        Similarity::Cosine => "the cosine",
        Similarity::Euclidean => "minus the squared Euclidean distance of embeddings",
        Similarity::Bilinear(_) => "this bilinear form, which is no distance",
        Similarity::Scored(_) => {
            "what the model says of two rows: the embedding is what it reads, and cosines or distances of \
             it say nothing of what was learned"
        }
    };
    card.extend(["\n\nSimilarity is ", similarity, ". "]);
    card.push_str(
        "Do not use the model on features of another kind than those \
         it was fitted on.\n",
    );
    card
}

/// The model card of a run across views.
pub(crate) fn across(of: &Origin, study: &CrossStudy) -> String {
    let results = &study.results;
    let mut card = format!(
        "# A search across views by likewise\n\nRecipe `{}`, views {}, fitted on `{}` (sha256 {}), seed \
         {}.\n\n```text\n{}\n```\n\n",
        of.recipe.name,
        results.views.join(", "),
        of.data,
        of.sha256,
        of.seed,
        table::aligned(&results.table())
    );
    for line in &results.verdict {
        card.extend(["- ", &plain::markdown(line), "\n"]);
    }
    card.push_str("\n`model.safetensors` has one encoder a view:\n\n");
    for (t, view) in study.kept.model.views().iter().enumerate() {
        let read = match &view.scale {
            Some(_) => format!("x = x {t}.scale`, `"),
            None => String::new(),
        };
        let formula = match view.encoder {
            Encoder::Real(_) => format!("z = (x - {t}.mean) {t}.matrix"),
            Encoder::Bits { .. } => format!("bits = (x - {t}.mean) {t}.matrix - {t}.offset >= 0"),
            Encoder::KernelBits(_) => {
                format!("bits = exp(-|x - {t}.mean - {t}.anchors|^2 / {t}.s2) {t}.weights >= 0")
            }
            Encoder::Network(_) => format!("z = a network of the layers under {t}."),
            Encoder::NetworkBits(_) => {
                format!("bits = a network of the layers under {t}. >= 0")
            }
        };
        card.extend(["- ", &view.name, ": `", &read, &formula, "`\n"]);
    }
    let bits = (study.kept.model.views().iter())
        .any(|view| !matches!(view.encoder, Encoder::Real(_) | Encoder::Network(_)));
    card.push_str(if bits {
        "\nSimilarity is the share of bits that are the same. "
    } else {
        "\nSimilarity is the cosine. "
    });
    card.push_str(
        "Do not use the model on features of another kind than those it was fitted on.\n",
    );
    card
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Learner;

    #[test]
    fn the_formula_names_the_directions_of_a_metric() {
        for (name, tensor, named) in [
            ("deep-lrml", "`h = normalise(h residual.map)`", true),
            ("mixed-lp", "residual.map", false),
            ("mixed-lp", "residual.output.weight", true),
        ] {
            let recipe = Recipe::named(name).unwrap();
            let Learner::Gradient(gradient) = &recipe.learner else {
                panic!("{name} learns by gradients");
            };
            let said = learned_by(gradient, &recipe);
            assert_eq!(said.contains(tensor), named, "{name}: {said}");
        }
    }
}
