//! The page of a study across views: the numbers, and what some queries found, both ways.

use likewise::eval::split;
use likewise::{Collection, Label, Labels, Monitor};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::gallery::tail;
use super::ground::percent;
use super::table::split_in_words;
use super::{About, POLICY, STYLE, section};
use crate::Result;
use crate::study::{CrossStudy, nearest_items, select_items};

/// Queries that are shown for each direction, of other classes as far as there are some.
const QUERIES: usize = 6;
/// Items that are shown for each query.
const NEAREST: usize = 8;

/// One query and what it found.
struct Asked {
    query: usize,
    found: Vec<usize>,
}

/// The page, complete and the same for the same input. Fails when cancelled.
///
/// Cost: a search of six queries for each direction.
pub fn across(
    study: &CrossStudy,
    collection: &Collection,
    about: &About,
    monitor: &Monitor,
) -> Result<String> {
    let results = &study.results;
    let unknown = Labels::unknown(collection.len());
    let labels = collection.labels.as_ref().unwrap_or(&unknown);
    let mut directions = Vec::new();
    for from in 0..results.views.len() {
        for to in (0..results.views.len()).filter(|&to| to != from) {
            let asked = ask(study, labels, (from, to), monitor)?;
            let title = format!("{} to {}", results.views[from], results.views[to]);
            directions.push((title, asked));
        }
    }
    let title = about.title(&results.recipe);
    let table = results.table();
    let mut verdict = results.verdict.iter();
    let first = verdict.next();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    header {
                        h1 { (title) }
                        @if !about.date.is_empty() {
                            p.note { (about.date) ", " (collection.len()) " items, views "
                                (results.views.join(", ")) }
                        }
                        p.verdict { @if let Some(first) = first { b { (first) } } }
                        ul.verdicts { @for line in verdict { li { (line) } } }
                    }
                    (section("results", "Results", &html! {
                        (numbers(&table))
                        p.note {
                            b { "MAP@50" } " mean over queries of the precision at each right answer among \
                            the first 50, equally near ones in every order. " b { "R@k" } " share of \
                            queries with an item of their class among the first k. The item that asks \
                            stays in the gallery of the other view. ± half of the 95 % interval. Items \
                            " (split_in_words(results.split)) "."
                        }
                    }))
                    (section("pseudo-labels", "Labels of the draws", &draws(study)))
                    (section("neighbours", "What queries found", &html! {
                        @for (title, asked) in &directions {
                            h3 { (title) }
                            @for asked in asked { (shown(asked, collection, labels)) }
                        }
                    }))
                }
                footer {
                    p { "likewise " (env!("CARGO_PKG_VERSION")) }
                    @if !about.command.is_empty() { p { code { (about.command) } } }
                }
            }
        }
    };
    Ok(page.into_string())
}

fn numbers(table: &[Vec<String>]) -> Markup {
    html! {
        div.scroll {
            table.metrics {
                @if let Some((head, lines)) = table.split_first() {
                    thead { tr { @for cell in head { th scope="col" { (cell) } } } }
                    tbody {
                        @for line in lines {
                            tr {
                                @for (place, cell) in line.iter().enumerate() {
                                    @if place == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn draws(study: &CrossStudy) -> Markup {
    html! {
        table {
            thead { tr { th { "draw" } th { "labels" } th { "pseudo-labels" } th { "right" } } }
            tbody {
                @for (draw, of) in study.results.per_draw.iter().enumerate() {
                    tr {
                        th scope="row" { (draw) }
                        td { (of.labeled) }
                        td { (of.believed) }
                        td { (of.accuracy.map_or("-".into(), percent)) }
                    }
                }
            }
        }
    }
}

/// What some items of the test part find.
fn ask(
    study: &CrossStudy,
    labels: &Labels,
    (from, to): (usize, usize),
    monitor: &Monitor,
) -> Result<Vec<Asked>> {
    let (queries, gallery) = split::roles(&study.parts);
    let of = |items: &[usize], view: usize| -> Vec<usize> {
        let own = &study.embedded.items[view];
        let known = items.iter().filter(|&&item| labels[item].class().is_some());
        known
            .filter_map(|item| own.binary_search(item).ok())
            .collect()
    };
    let (asks, searched) = (of(&queries, from), of(&gallery, to));
    // One of each class, then the next of each.
    let mut by_class = vec![0_usize; labels.n_classes()];
    let mut order: Vec<(usize, usize)> = asks
        .iter()
        .map(|&place| {
            let class = labels[study.embedded.items[from][place]].class();
            let seen = &mut by_class[class.unwrap_or_default() as usize];
            *seen += 1;
            (*seen, place)
        })
        .collect();
    order.sort_unstable();
    let chosen: Vec<usize> = order
        .into_iter()
        .map(|(_, place)| place)
        .take(QUERIES)
        .collect();
    let rows = &study.embedded.rows;
    let near = nearest_items(
        &select_items(&rows[from], &chosen),
        &select_items(&rows[to], &searched),
        NEAREST,
        monitor,
    )?;
    let asked = chosen.iter().zip(near).map(|(&place, near)| Asked {
        query: study.embedded.items[from][place],
        found: (near.into_iter())
            .map(|(place, _)| study.embedded.items[to][searched[place]])
            .collect(),
    });
    Ok(asked.collect())
}

fn shown(asked: &Asked, collection: &Collection, labels: &Labels) -> Markup {
    let class = |item: usize| match labels[item] {
        Label::Known(class) => labels.classes()[class as usize].as_str(),
        Label::Outside | Label::Unknown => "",
    };
    let tile = |item: usize, right: Option<bool>| {
        let id = &collection.ids()[item];
        html! {
            li.tile.right[right == Some(true)].wrong[right == Some(false)] title=(id) {
                span.id { (tail(id)) }
                span.class {
                    @match right {
                        Some(true) => { span.sign title="right" { "✓" } " " }
                        Some(false) => { span.sign title="wrong" { "✗" } " " }
                        None => {}
                    }
                    (class(item))
                }
            }
        }
    };
    html! {
        div.query {
            div.columns {
                ul.tiles.asking { (tile(asked.query, None)) }
                ul.tiles {
                    @for &item in &asked.found {
                        (tile(item, Some(labels[item] == labels[asked.query])))
                    }
                }
            }
        }
    }
}
