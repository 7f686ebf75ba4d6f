//! Training curves: loss, validation and effective rank by epoch.

use maud::{Markup, html};

use super::chart::{self, Curve};
use crate::Result;
use crate::study::{DrawLog, Results};

/// The three curves; a sentence stands where there is nothing to draw.
pub(super) fn curves(results: &Results) -> Result<Markup> {
    let collect = |points: &dyn Fn(&DrawLog) -> Vec<(usize, f64)>| -> Vec<Curve> {
        let curve = |log: &DrawLog| Curve {
            points: points(log),
            kept: log.epoch,
        };
        results.per_draw.iter().map(curve).collect()
    };
    let loss = collect(&|log| {
        let points = log.training.iter();
        points.filter_map(|e| Some((e.epoch, e.loss?))).collect()
    });
    let validation = collect(&|log| {
        let points = log.validation.iter().enumerate();
        points
            .filter_map(|(epoch, v)| Some((epoch, (*v)?)))
            .collect()
    });
    let rank = collect(&|log| {
        let points = log.training.iter();
        points.map(|e| (e.epoch, e.effective_rank)).collect()
    });
    let draws = results.per_draw.len();
    Ok(html! {
        div.charts {
            (panel("Loss", "of the training targets", &loss)?)
            (panel("Validation", "precision of first answers", &validation)?)
            (panel("Effective rank", "directions in use", &rank)?)
        }
        p.note {
            @if draws > 1 {
                "Blue: the first draw, whose head is kept in the run. Grey: "
                @if draws == 2 { "the second. " } @else { "the other " (draws - 1) ". " }
            }
            "A ring marks the epoch that is kept: the last one that is as good as the best, within the luck \
            of the validation, unless the recipe says otherwise. Epoch 0 is the start, before any learning; \
            it has no loss."
        }
    })
}

fn panel(title: &str, what: &str, curves: &[Curve]) -> Result<Markup> {
    let drawn = chart::curves(&format!("{title} by epoch"), curves)?;
    Ok(html! {
        figure.panel {
            figcaption { b { (title) } " " (what) }
            @match drawn {
                Some(svg) => { (svg) }
                None => { p.empty { "not measured in this run" } }
            }
        }
    })
}
