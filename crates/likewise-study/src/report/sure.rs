//! The surest and the least sure items of each class, where classes are only believed.

use maud::{Markup, html};

use super::gallery::tile;
use super::ground::{Ground, percent};
use super::thumbnail::Pictures;
use crate::Result;

/// Classes that are shown, the largest first.
const CLASSES: usize = 12;
/// Items of each end that are shown.
const ENDS: usize = 4;

/// The two ends of each class; nothing where no class is only believed.
pub(super) fn ends(ground: &Ground, pictures: Option<&Pictures>) -> Result<Markup> {
    let names = ground.labels.classes();
    let mut members: Vec<(usize, Vec<usize>)> = (0..names.len()).map(|c| (c, vec![])).collect();
    for item in (0..ground.collection.len()).filter(|&item| ground.is_believed(item)) {
        if let Some(class) = ground.labels[item].class() {
            members[class as usize].1.push(item);
        }
    }
    members.retain(|(_, items)| !items.is_empty());
    if members.is_empty() {
        return Ok(html! {});
    }
    members.sort_by_key(|(class, items)| (std::cmp::Reverse(items.len()), *class));
    let hidden = members.len().saturating_sub(CLASSES);
    let sure = |item: usize| ground.sure(item).unwrap_or(0.0);
    let mut cards = Vec::new();
    for (class, mut items) in members.into_iter().take(CLASSES) {
        items.sort_by(|&a, &b| sure(b).total_cmp(&sure(a)).then(a.cmp(&b)));
        let count = items.len();
        let first = items.len().min(ENDS);
        let last = items.split_off(first.max(items.len().saturating_sub(ENDS)));
        items.truncate(first);
        let mut rows = Vec::new();
        for (title, items) in [("surest", &items), ("least sure", &last)] {
            let mut tiles = Vec::new();
            for &item in items {
                tiles.push(tile(ground, pictures, item, None)?);
            }
            if !tiles.is_empty() {
                rows.push(html! {
                    h4 { (title) }
                    ul.tiles { @for tile in &tiles { (tile) } }
                });
            }
        }
        cards.push(html! {
            article.query {
                h3 {
                    span.name { (names[class]) } " "
                    span.what { "· spread to " (count) " items" }
                }
                @for row in &rows { (row) }
            }
        });
    }
    Ok(html! {
        h3 { "Believed, not known" }
        p {
            "The class that spread to items without a label, at both ends: labels for the least sure \
            ones teach most, and a wrong one among the surest is worth a look. Confidence is that \
            of the propagation against its highest, not a chance of being right."
        }
        @for card in &cards { (card) }
        @if hidden > 0 { p.note { "and " (hidden) " smaller classes (" (percent(hidden as f64 / names.len() as f64)) " of all)." } }
    })
}
