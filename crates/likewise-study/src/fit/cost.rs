//! What a fit will cost.

use std::num::NonZeroUsize;

use likewise::learn::{Closed, Fit as _, Size};
use likewise_nn::train::MetricConfig;

use super::asked::{Asked, DRAWS};
use crate::estimate::Estimate;
use crate::graph::DataShape;
use crate::recipe::{Keep, Learner, PseudoLabels, Recipe, keeps_all};
use crate::source::{Labeled, Trained};
use crate::study::{MOST_TO_CHOOSE_BY, SplitKind};

/// Share of the items that a class-disjoint split fits.
const NEW_CLASSES_FIT: f64 = 0.4;

/// Classes of data of which nothing is known yet, and labels of each.
const USUAL: Labeled = Labeled {
    classes: 20,
    known: 400,
};

/// What a fit of data of this shape will cost; `labeled`, where that is known.
pub fn estimate(
    shape: &DataShape,
    recipe: &Recipe,
    asked: &Asked,
    labeled: Option<Labeled>,
) -> Estimate {
    let (n, d) = (shape.items, shape.columns);
    let fitted = (n * NEW_CLASSES_FIT) as usize;
    let all = asked.split == Some(SplitKind::ZeroShot) && keeps_all(fitted, d as usize);
    let rank = recipe.start.directions(d as usize, all) as f64;
    let draws = match (asked.labels_per_class, asked.split) {
        (Some(_), split) if split != Some(SplitKind::Folds) => {
            asked.draws.map_or(DRAWS, NonZeroUsize::get) as f64
        }
        // All that is known of the items that are fitted.
        (None, Some(split)) if split != SplitKind::Folds => {
            asked.draws.map_or(1.0, |draws| draws.get() as f64)
        }
        // Five rounds that keep labels back, and one fit of all with the recipe alone.
        _ => 5.5,
    };
    let spreading = recipe.spreading(shape.items as usize);
    let k = spreading.graph.n_neighbors();
    // Of each view, as many directions as of all.
    let directions = d.min(rank * shape.views as f64);
    let fusion = spreading.fusion(shape.views);
    let graph = |estimate| shape.fused(estimate, fusion, directions, k, true);
    let arcs = shape.arcs(fusion, k);
    let labeled = labeled.unwrap_or(USUAL);
    let classes = labeled.classes as f64;
    let per_class = (asked.labels_per_class).map_or(f64::INFINITY, |m| m.get() as f64);
    let known = (labeled.known as f64).min(per_class * classes).min(n);
    let size = Size {
        items: n,
        // A class is believed of all, or the labels are all that there is.
        labeled: if recipe.pseudo_labels == PseudoLabels::None {
            known.min(fitted_share(asked) * n)
        } else {
            fitted_share(asked) * n
        },
        views: shape.views as f64,
        columns: d,
        directions: rank,
        classes,
    };
    let trainings = rows_that_learn(recipe, asked) * draws * trainings_of_a_row(recipe);
    let tested = 0.3 * n;
    let rows = 8.0 * n * d + 4.0 * n * (rank + directions);
    graph(training(shape, recipe).resident(CODE + rows))
        .stage(8.0 * n * d, 4.0 * n * d * d)
        .propagation(n, arcs, classes)
        .stage(
            learned_in(recipe, &size),
            trainings * learning(recipe, &size),
        )
        .stage(0.0, draws * choosing_a_start(recipe, known, d))
        .stage(0.0, draws * 3.0 * 4.0 * tested * tested * 2.0 * rank)
        .resident(beside(recipe, n, d))
        .evaluation(tested, tested, d.max(2.0 * rank), classes, true)
}

/// Share of the items that is fitted.
fn fitted_share(asked: &Asked) -> f64 {
    match asked.split {
        Some(SplitKind::ZeroShot) => NEW_CLASSES_FIT,
        Some(SplitKind::Item) => 0.7,
        Some(SplitKind::Given | SplitKind::Folds) | None => 1.0,
    }
}

/// The recipe, and beside it the labels alone or all of them: the same where no label is hidden and none is believed.
fn rows_that_learn(recipe: &Recipe, asked: &Asked) -> f64 {
    let alone = recipe.pseudo_labels == PseudoLabels::None && asked.labels_per_class.is_none();
    if alone { 1.0 } else { 2.0 }
}

/// Validation learns once in every fold; nothing validates where the last round is kept.
fn trainings_of_a_row(recipe: &Recipe) -> f64 {
    match recipe.rounds.keep {
        Keep::Last => 1.0,
        Keep::NearBest | Keep::Best => recipe.rounds.folds as f64 + 1.0,
    }
}

/// What learners side by side take beyond one of them: rows of twice the columns, and the directions of scaled
/// columns, bytes.
fn beside(recipe: &Recipe, n: f64, d: f64) -> f64 {
    match &recipe.learner {
        Learner::Closed(Closed::Joined(_)) => 4.0 * n * d + 64.0 * d * d,
        _ => 0.0,
    }
}

/// Pages of the program that learning and measuring read in beside those of any other work, bytes.
const CODE: f64 = 24e6;

/// Operations of the choice of a start by so many labels: each shrinkage that is tried whitens the
/// labeled items, in double precision, and asks them among each other.
fn choosing_a_start(recipe: &Recipe, known: f64, d: f64) -> f64 {
    let tried = match (recipe.start.as_given, recipe.start.shrinkage) {
        (true, _) => 0.0,
        (false, Some(_)) => 3.0,
        (false, None) => 15.0,
    };
    tried * known * (12.0 * d * d + known * (3.0 * d + 150.0))
}

/// Bytes that one learning takes beside the rows.
fn learned_in(recipe: &Recipe, of: &Size) -> f64 {
    match &recipe.learner {
        Learner::Closed(learner) => learner.memory(of),
        Learner::Gradient(gradient) => (gradient.metric.as_ref())
            .map_or(0.0, |metric| metric.learner.memory(&behind(metric, of))),
        Learner::Cross(_) => 0.0,
    }
}

/// What a metric behind the embedding is made of: the labeled items and a part of the others, within the embedding.
fn behind(metric: &MetricConfig, of: &Size) -> Size {
    let others = (of.items - of.labeled).max(0.0);
    Size {
        items: of.labeled + others.min(metric.partition as f64),
        views: 1.0,
        columns: of.directions,
        ..*of
    }
}

/// Operations of one learning.
fn learning(recipe: &Recipe, of: &Size) -> f64 {
    let (n, d, rank) = (of.items, of.columns, of.directions);
    let round = match &recipe.learner {
        Learner::Gradient(gradient) => {
            let train = &gradient.train;
            let batches = (n / train.batch as f64).ceil().min(match train.steps {
                0 => f64::INFINITY,
                steps => steps as f64,
            });
            // Six products of hidden x rank a row and step, at a fifth of the speed of large ones.
            let made = gradient.metric.as_ref().map_or(0.0, |metric| {
                metric.learner.operations(&behind(metric, of)) / metric.every as f64
            });
            batches * 30.0 * train.batch as f64 * rank * 256.0 + made
        }
        Learner::Closed(learner) => learner.operations(of),
        // Similarities to the anchors, and some hundred products with 64 bits.
        Learner::Cross(_) => 4.0 * n * 500.0 * (d + 500.0 + 100.0 * 64.0),
    };
    recipe.rounds.epochs as f64 * round
}

/// The same where the recipe is chosen first among `candidates`, each learned in five rounds from
/// some of the items.
#[must_use]
pub fn with_choice(
    estimate: Estimate,
    shape: &DataShape,
    candidates: &[Recipe],
    labeled: Option<Labeled>,
) -> Estimate {
    let (n, d) = (shape.items.min(MOST_TO_CHOOSE_BY as f64), shape.columns);
    let labeled = labeled.unwrap_or(USUAL);
    let (classes, known) = (labeled.classes as f64, (labeled.known as f64).min(n));
    let spread = Estimate::new().graph(n, d.min(256.0), 20.0);
    let spread = spread.propagation(n, 20.0, classes);
    let each = candidates.iter().map(|recipe| {
        let trainings = trainings_of_a_row(recipe);
        let rank = recipe.start.directions(d as usize, false) as f64;
        let size = Size {
            items: n,
            labeled: n,
            views: shape.views as f64,
            columns: d,
            directions: rank,
            classes,
        };
        let learned = trainings * learning(recipe, &size);
        let spreads = recipe.pseudo_labels.propagation().is_some();
        let spread = if spreads { spread.flops() } else { 0.0 };
        ROUNDS * (choosing_a_start(recipe, known, d) + learned + spread)
    });
    // What is fitted is another part in each round, and is looked at anew.
    let looked_at = ROUNDS * 4.0 * Estimate::new().variances(n, d).flops();
    estimate.stage(0.0, each.sum::<f64>() + looked_at)
}

/// Rounds of a choice.
const ROUNDS: f64 = 5.0;

/// The features in memory and, where a network is trained on images, what that takes beside them.
fn training(shape: &DataShape, recipe: &Recipe) -> Estimate {
    let read = shape.read();
    let (Some(config), true) = (recipe.encoder(), shape.making > 0.0) else {
        return read;
    };
    let gradient = recipe.learner.gradient();
    let batch = gradient.map_or(1, |gradient| gradient.train.batch);
    let step = config.memory_to_train(batch, recipe.rounds.epochs);
    // Images are kept in bytes, higher or wider than the square that is cut out of them.
    let input = config.input();
    let kept = 2.0 * 3.0 * shape.items * (input.height * input.width) as f64;
    let network = step.max(config.memory_to_embed()) as f64;
    read.resident(kept.min(Trained::ROOM as f64))
        .stage(shape.decoding + network, 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_learner_takes_is_counted() {
        let shape = |items: f64, columns: f64, views: usize| DataShape {
            items,
            columns,
            all_columns: columns,
            views,
            making: 0.0,
            decoding: 0.0,
        };
        let asked = Asked {
            split: Some(SplitKind::Item),
            ..Asked::default()
        };
        let cost = |shape: &DataShape, recipe: &str| {
            let known = shape.items as usize;
            let labeled = Labeled { classes: 26, known };
            let recipe = Recipe::named(recipe).unwrap();
            estimate(shape, &recipe, &asked, Some(labeled))
        };
        // All pairs of 20,000 labeled rows a hundred times: a minute where a covariance takes a moment.
        let letters = shape(20_000.0, 16.0, 1);
        let pairs = 100.0 * (0.7 * 20_000.0_f64).powi(2);
        let more = cost(&letters, "nca").flops() - cost(&letters, "rca").flops();
        assert!(more > 16.0 * pairs && more < 100.0 * pairs, "{more}");
        // The squares of four kernels of two views of 2,000 rows.
        let digits = shape(2000.0, 292.0, 2);
        let more = |recipe| {
            let memory = |recipe| cost(&digits, recipe).memory() as f64;
            memory(recipe) - memory("rca")
        };
        let squares = 2.0 * 4.0 * 8.0 * 2000.0_f64.powi(2);
        for recipe in ["omks", "multi-kernel"] {
            assert!(more(recipe) > 3.0 * squares, "{recipe}: {}", more(recipe));
        }
        // A metric behind an embedding is made of the labeled items and a part of the others, now and then.
        let deep = |partition: usize, every: usize| {
            let text = format!(
                "base = 'deep-seraph'\nlearner.metric = {{ partition = {partition}, every = {every} }}"
            );
            let recipe = Recipe::from_toml(&text).unwrap();
            let labeled = Labeled {
                classes: 26,
                known: 260,
            };
            estimate(&letters, &recipe, &asked, Some(labeled)).flops()
        };
        assert!(
            deep(9000, 10) > 1.5 * deep(10, 10),
            "{} {}",
            deep(9000, 10),
            deep(10, 10)
        );
        assert!(deep(9000, 1) > 1.5 * deep(9000, 10));
    }

    #[test]
    fn labels_spread_over_the_edges_of_all_views() {
        let shape = DataShape {
            items: 1000.0,
            columns: 30.0,
            all_columns: 30.0,
            views: 3,
            making: 0.0,
            decoding: 0.0,
        };
        let fused =
            |fuse: &str| Recipe::from_toml(&format!("pseudo_labels.fuse = '{fuse}'")).unwrap();
        let cost = |fuse: &str| estimate(&shape, &fused(fuse), &Asked::default(), None).flops();
        // So many neighbours an item in each of three views; of other rows, as many in all.
        let k = fused("mean").spreading(1000).graph.n_neighbors() as f64;
        let classes = USUAL.classes as f64;
        let more = 60.0 * 10.0 * 4.0 * 1000.0 * 2.0 * k * classes;
        assert!((cost("mean") - cost("rows") - more).abs() < 1e-3 * more);
    }
}
