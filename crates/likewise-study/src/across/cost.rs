//! What a fit across views will cost.

use likewise_nn::cross::{Acmr, Deep, DeepGrowBit, Learner};
use likewise_nn::lpf::Lpf;

use crate::estimate::Estimate;
use crate::graph::DataShape;
use crate::recipe::{PseudoLabels, Recipe};
use crate::study::CROSS_TRAIN_SHARE;

/// Classes of data of which nothing is known yet.
const CLASSES: f64 = 20.0;

/// Operations that a weight of a network costs for each row of a step: one product forward and two back, in
/// small steps, at a fifth of the speed of large ones.
const WEIGHT: f64 = 30.0;

/// What a fit across views of data of this shape will cost, where the views that are searched have so many
/// columns, with so many draws of labels, and `again` with all of them once all is measured.
///
/// On the digits, fourier and Karhunen-Loeve coefficients, label prediction took 52 seconds of two cores for a
/// draw with 1,500 items to fit on.
pub fn estimate(
    shape: &DataShape,
    recipe: &Recipe,
    columns: &[f64],
    draws: usize,
    again: bool,
) -> Estimate {
    let (n, d) = (shape.items, columns.iter().sum::<f64>());
    let k = recipe.spreading(n as usize).graph.n_neighbors() as f64;
    let (draws, fitted) = (draws as f64, CROSS_TRAIN_SHARE * n);
    let again = if again { 1.0 } else { 0.0 };
    // Rows in f64, similarities to 500 anchors, codes.
    let memory = 8.0 * n * (d + 500.0 + 3.0 * 64.0);
    let fit = |fitted: f64| match recipe.learner.cross() {
        Some(Learner::Deep(Deep::Acmr(acmr))) => of_acmr(acmr, columns, fitted),
        Some(Learner::Deep(Deep::DeepGrowBit(growbit))) => of_growbit(growbit, columns, fitted),
        _ => 4.0 * n * 500.0 * (d + 500.0 + 100.0 * 64.0),
    };
    let predicted = |fitted: f64| match &recipe.pseudo_labels {
        PseudoLabels::Lpf(how) => of_lpf(&how.lpf, columns, fitted),
        _ => 0.0,
    };
    shape
        .read()
        // In each draw the recipe and the labels alone; then all labels, and pairs without any.
        .stage(memory, (2.0 * draws + 2.0) * fit(fitted) + again * fit(n))
        .stage(0.0, draws * predicted(fitted) + again * predicted(n))
        .graph(n, d, k)
        .propagation(n, k, CLASSES)
}

/// Operations of one label prediction: an encoder and a decoder for each view, with labeled rows beside the
/// unlabeled ones in every step.
fn of_lpf(lpf: &Lpf, columns: &[f64], fitted: f64) -> f64 {
    let hidden = lpf.hidden as f64;
    let of_views = columns
        .iter()
        .map(|d| 2.0 * hidden * (d + hidden + CLASSES));
    let weights: f64 = of_views.sum();
    let later = lpf.tuning.epochs * lpf.iterations.saturating_sub(1);
    let epochs = (lpf.first.epochs + later) as f64;
    let rows = fitted * (1.0 + lpf.labeled_batch as f64 / lpf.unlabeled_batch as f64);
    WEIGHT * weights * epochs * rows
}

/// Operations of one adversarial fit.
fn of_acmr(acmr: &Acmr, columns: &[f64], fitted: f64) -> f64 {
    let dim = acmr.dim as f64;
    let of_views = columns.iter().zip(&acmr.hidden).map(|(d, units)| {
        let [first, second] = units.map(|units| units as f64);
        // Of the first layer no more units than four a column.
        let first = first.min(4.0 * d);
        first * (d + second) + second * dim
    });
    let weights: f64 = of_views.sum();
    let steps = (fitted / acmr.batch as f64).ceil().max(1.0);
    let epochs = (acmr.epochs as f64).max((acmr.least_steps as f64 / steps).ceil());
    WEIGHT * weights * epochs * fitted
}

/// Operations of one fit of growing codes by networks.
fn of_growbit(growbit: &DeepGrowBit, columns: &[f64], fitted: f64) -> f64 {
    let [first, second] = growbit.hidden.map(|units| units as f64);
    let of_views = (columns.iter()).map(|d| first * (d + second) + second * growbit.bits as f64);
    let weights: f64 = of_views.sum();
    WEIGHT * weights * growbit.epochs as f64 * fitted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digits by fourier and Karhunen-Loeve coefficients, beside which their file has others.
    fn flops(recipe: &str, items: f64, draws: usize) -> f64 {
        let recipe = Recipe::named(recipe).unwrap();
        let shape = DataShape {
            items,
            columns: 240.0,
            all_columns: 649.0,
            views: 1,
            making: 0.0,
            decoding: 0.0,
        };
        estimate(&shape, &recipe, &[76.0, 64.0], draws, false).flops()
    }

    #[test]
    fn label_prediction_takes_longer_than_the_labels_alone_by_items_and_draws() {
        let more = |items, draws| flops("lpf+gsph", items, draws) - flops("gsph", items, draws);
        let one = more(2000.0, 1);
        // Of 1,500 items to fit on, 145 epochs of as many rows and half as many labeled ones, and two views:
        // 2 (140 x 250 + 2 x 250 x 270) weights.
        let expected = 30.0 * 340_000.0 * 145.0 * 2250.0;
        assert!((one - expected).abs() < 1e-6 * expected, "{one}");
        assert!((more(2000.0, 5) - 5.0 * one).abs() < 1e-6 * one);
        assert!((more(4000.0, 1) - 2.0 * one).abs() < 1e-6 * one);
    }

    #[test]
    fn networks_take_longer_than_kernels() {
        let kernel = flops("gsph", 2000.0, 5);
        assert!(flops("acmr", 2000.0, 5) > 2.0 * kernel);
        assert!(flops("deep-growbit", 2000.0, 5) > 2.0 * kernel);
        // Few items are passed more often, until there are 4000 steps: 2000 times in place of 200.
        assert!(flops("acmr", 100.0, 1) > 5.0 * flops("acmr", 2000.0, 1) / 20.0);
    }
}
