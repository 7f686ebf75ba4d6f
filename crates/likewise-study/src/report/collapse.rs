//! The collapse meter: does the embedding still use its directions?

use likewise::eval::collapse::{Collapse, Verdict};
use maud::{Markup, html};

use crate::study::{Results, Row};

/// Effective rank and mean cosine, raw beside learned.
pub(super) fn meter(results: &Results) -> Markup {
    let rows = [
        (Row::Raw.title(), &results.collapse.raw),
        (results.recipe.as_str(), &results.collapse.learned),
    ];
    html! {
        div.scroll {
            table.meter {
                thead {
                    tr {
                        th scope="col" { "" } th scope="col" { "directions in use" }
                        th scope="col" { "mean cosine" } th scope="col" { "verdict" }
                    }
                }
                tbody {
                    @for (title, collapse) in rows {
                        (row(title, collapse))
                    }
                }
            }
        }
        p.note {
            "Directions in use: effective rank of the tested items, 1 to the number of \
            dimensions. Mean cosine of two different items: 0 spread out, 1 all the same. An \
            embedding that collapsed has a low loss and finds nothing. Fewer directions than \
            before are no harm by themselves: classes need few."
        }
    }
}

fn row(title: &str, collapse: &Collapse) -> Markup {
    let dimensions = collapse.dimensions;
    let share = collapse.effective_rank / dimensions.max(1) as f64;
    html! {
        tr {
            th scope="row" { (title) }
            td { (format!("{:.1} of {dimensions}", collapse.effective_rank)) (bar(share)) }
            td { (format!("{:.3}", collapse.mean_cosine)) (bar(collapse.mean_cosine)) }
            td { (in_words(collapse.verdict())) }
        }
    }
}

fn bar(share: f64) -> Markup {
    let width = format!("width:{:.0}%", share.clamp(0.0, 1.0) * 100.0);
    html! { div.bar aria-hidden="true" { div style=(width) {} } }
}

fn in_words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Healthy => "✓ healthy",
        Verdict::Narrow => "! narrow: most pairs look alike",
        Verdict::Collapsed => "✗ collapsed: nearly a point or a line",
    }
}
