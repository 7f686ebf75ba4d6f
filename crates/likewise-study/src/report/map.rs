//! Two maps of the tested items: raw features and embedding.

use likewise::{Labels, matrix, seed};
use maud::{Markup, html};
use ndarray::ArrayView2;
use rand::seq::SliceRandom;

use super::chart::{self, Point, SIGNS};
use super::ground::Ground;
use crate::Result;
use crate::inputs::Map;

/// Most items on a map.
const MOST: usize = 3000;
/// Most classes in the legend.
const LEGEND: usize = SIGNS;

/// Both maps and their legend.
pub(super) fn maps(ground: &Ground, how: Map) -> Result<Markup> {
    let mut items = ground.tested.clone();
    if items.is_empty() {
        return Ok(html! { p { "No tested item has a known class: there is nothing to show." } });
    }
    // The order is drawn too, so that no class lies on top of the others.
    items.shuffle(&mut seed::stream(ground.results.seed, "report map"));
    items.truncate(MOST);
    let (raw, learned) = rayon::join(
        || map("Raw features", ground.features, &items, ground, how),
        || map("Embedding", ground.embeddings(), &items, ground, how),
    );
    Ok(html! {
        p {
            (items.len()) @if ground.believed.is_empty() { " tested items" } @else { " items" }
            @if items.len() < ground.tested.len() {
                ", drawn at random from " (ground.tested.len())
            }
            @if ground.believed.is_empty() {
                ". None of them was fitted on. "
            } @else if ground.queries.is_empty() {
                ". None is labeled. "
            } @else {
                ". The signs are those of the labels and, for items without one, of the class \
                that spread to them, paler where that is less sure; labeled items have a ring. The \
                embedding has learned from both. "
            }
            "Rest the pointer on a point to see what it is. "
            @match how {
                Map::Directions => {
                    "Classes that lie apart here are apart; classes that overlap may still be apart \
                    in the directions that a map leaves out."
                }
                Map::Neighborhoods => {
                    "Items that are near here are near; how far groups lie from each other, how large \
                    and how dense they are, means nothing."
                }
            }
        }
        div.charts {
            (raw?)
            (learned?)
        }
        (legend(&items, ground.labels))
    })
}

fn map(
    title: &str,
    rows: ArrayView2<f32>,
    items: &[usize],
    ground: &Ground,
    how: Map,
) -> Result<Markup> {
    let placed = how.place(matrix::select_rows(rows, items))?;
    let class = |item: usize| ground.labels[item].class().map_or(0, |c| c as usize);
    let points: Vec<Point> = (placed.points.into_iter())
        .zip(items)
        .map(|(at, &item)| Point {
            at,
            class: class(item),
            sure: ground.sure(item).unwrap_or(1.0),
            ringed: !ground.believed.is_empty() && !ground.is_believed(item),
            title: ground.told(item),
        })
        .collect();
    let svg = chart::map(&format!("{title}: map of the items"), &points);
    Ok(html! {
        figure.panel {
            figcaption { b { (title) } " " (placed.said) }
            (svg)
        }
    })
}

fn legend(items: &[usize], labels: &Labels) -> Markup {
    let mut present = vec![false; labels.n_classes()];
    for &item in items {
        if let Some(class) = labels[item].class() {
            present[class as usize] = true;
        }
    }
    let classes: Vec<usize> = (0..present.len()).filter(|&c| present[c]).collect();
    html! {
        ul.legend {
            @for &class in classes.iter().take(LEGEND) {
                @let name = &labels.classes()[class];
                li title=(name) { (chart::sign(class)) " " span { (name) } }
            }
        }
        @if classes.len() > LEGEND {
            p.note {
                "and " (classes.len() - LEGEND) " more classes. Signs begin anew after "
                (SIGNS) " classes."
            }
        }
    }
}
