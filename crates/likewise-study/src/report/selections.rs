//! What label prediction selected, one selection after the other.

use maud::{Markup, html};

use super::ground::percent;
use crate::study::Selection;

/// The selections of the first draw; nothing where there are none.
pub(super) fn of_first(selections: &[Selection]) -> Markup {
    let Some(first) = selections.first() else {
        return html! {};
    };
    let views: Vec<&String> = first.accuracy.keys().collect();
    html! {
        div.scroll {
            table {
                thead {
                    tr {
                        th scope="col" { "selection" }
                        th scope="col" { "items" }
                        th scope="col" { "right" }
                        th scope="col" { "decided by" }
                        @for view in &views { th scope="col" { "accuracy of " (view) } }
                        th scope="col" { "refused" }
                    }
                }
                tbody {
                    @for (number, of) in selections.iter().enumerate() { (line(number + 1, of, &views)) }
                }
            }
        }
        p.note {
            "What label prediction selected in the first draw. Right: of the items whose class is known here, \
            though it was hidden. Accuracy: on the labels that were kept back, by which the view that decides is \
            chosen. Refused: items that look like none of the known classes, where the recipe looks for these."
        }
    }
}

fn line(number: usize, of: &Selection, views: &[&String]) -> Markup {
    let unknown = || "–".to_owned();
    html! {
        tr {
            th scope="row" { (number) }
            td { (of.all.selected) }
            td { (of.all.precision.map_or_else(unknown, percent)) }
            td { (of.view.clone().unwrap_or_else(unknown)) }
            @for &view in views {
                td { (of.accuracy.get(view).map_or_else(unknown, |&share| percent(share))) }
            }
            td { (of.refused) }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::study::Selected;

    #[test]
    fn each_selection_is_a_line() {
        let of = |selected, precision| Selection {
            all: Selected {
                selected,
                judged: 10,
                precision,
            },
            view: Some("<text>".into()),
            accuracy: BTreeMap::from([("<text>".into(), 0.75)]),
            refused: 3,
            by_class: BTreeMap::new(),
        };
        let page = of_first(&[of(924, Some(0.967)), of(1060, None)]).into_string();
        for cells in [
            "<td>924</td><td>96.7 %</td><td>&lt;text&gt;</td><td>75.0 %</td><td>3</td>",
            "<td>1060</td><td>–</td>",
        ] {
            assert!(page.contains(cells), "{page}");
        }
        assert!(of_first(&[]).into_string().is_empty());
    }
}
