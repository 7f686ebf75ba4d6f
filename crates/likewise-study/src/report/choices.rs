//! The recipes that were compared before one was chosen.

use maud::{Markup, html};

use crate::study::Results;

/// The table of the choice, the chosen recipe in bold.
pub(super) fn table(results: &Results) -> Markup {
    let mut lines = results.choices().into_iter();
    let head = lines.next().unwrap_or_default();
    html! {
        div.scroll {
            table {
                thead { tr { @for cell in &head { th scope="col" { (cell) } } } }
                tbody {
                    @for (line, tried) in lines.zip(&results.tried) {
                        tr {
                            th scope="row" {
                                (tried.recipe)
                                @if tried.recipe == results.recipe {
                                    " " span.star title="chosen" { "★" }
                                }
                            }
                            @for cell in line.iter().skip(1) { td { (cell) } }
                        }
                    }
                }
            }
        }
        p.note {
            "From above to below, a recipe took the place of the best before it where its gain is above half "
            "a point and above half of what stands behind its ±, which is a standard error or more. What was behind "
            "after two rounds was tried no further, and is not taken: its value is of these rounds alone. "
            @if results.answers.sure.is_some_and(|sure| sure.few_labels) {
                "The same labels asked here as for the results above, in other rounds, so the numbers of one recipe "
                "differ; and labels that choose and measure flatter what they chose a little."
            } @else {
                "Other items asked here than for the results above, so the numbers of one recipe differ."
            }
        }
    }
}
