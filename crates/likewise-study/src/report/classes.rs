//! What each class gets, the weakest first.

use likewise::eval::by_class::ClassResult;
use maud::{Markup, html};

use super::ground::percent;

/// Classes that are shown.
const SHOWN: usize = 12;

/// The classes whose items find their like worst.
pub(super) fn weakest(classes: &[ClassResult]) -> Markup {
    let mut order: Vec<&ClassResult> = classes.iter().collect();
    order.sort_by(|a, b| {
        a.map_at_r
            .unwrap_or(0.0)
            .total_cmp(&b.map_at_r.unwrap_or(0.0))
    });
    let more = order.len().saturating_sub(SHOWN);
    html! {
        div.scroll {
            table.classes {
                thead {
                    tr {
                        th scope="col" { "class" } th scope="col" { "queries" }
                        th scope="col" { "R@1" } th scope="col" { "MAP@R" }
                        th scope="col" { "most often taken for" }
                    }
                }
                tbody {
                    @for class in order.into_iter().take(SHOWN) {
                        (row(class))
                    }
                }
            }
        }
        p.note {
            "The classes of the test part, the weakest first"
            @if more > 0 { "; " (more) " more are in " code { "metrics.json" } }
            ". Taken for: the class of the nearest other item, where it is not that of the query."
        }
    }
}

fn row(class: &ClassResult) -> Markup {
    html! {
        tr {
            th scope="row" { (class.class) }
            td { (class.queries) }
            td { (format!("{:.3}", class.recall_at_1)) }
            td { (class.map_at_r.map_or("-".to_owned(), |value| format!("{value:.3}"))) }
            td {
                @if let Some((other, times)) = class.taken_for() {
                    (other) " (" (percent(times as f64 / class.queries as f64)) ")"
                } @else { "-" }
            }
        }
    }
}
