//! The page of two runs: numbers, and the queries that changed most with what both answer.

use likewise::{Labels, Similarity};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use ndarray::ArrayView2;

use super::gallery::{answers, tail};
use super::thumbnail::{Pictures, Thumbnails};
use super::{POLICY, STYLE};
use crate::compare::compared::{Changed, Compared};
use crate::{Result, plain};

/// Queries that are shown of those that got better, and of those that got worse.
const SHOWN: usize = 8;

/// What the page shows.
pub(crate) struct Pair<'a> {
    pub(crate) compared: &'a Compared,
    /// Ids and labels of all items.
    pub(crate) ids: &'a [String],
    pub(crate) labels: &'a Labels,
    /// Rows of all items in each run, and how they compare.
    pub(crate) rows: [ArrayView2<'a, f32>; 2],
    pub(crate) similarities: &'a [Similarity; 2],
    pub(crate) gallery: &'a [usize],
}

/// The page: no script, no font, no other file. Fails where a picture cannot be read.
pub(crate) fn page<'a>(pair: &Pair<'a>, pictures: Option<Thumbnails<'a>>) -> Result<String> {
    let pictures = pictures.map(|of| Pictures::new(of, pair.ids)).transpose()?;
    let compared = pair.compared;
    let of = |better: bool| {
        let own = compared
            .changed
            .iter()
            .filter(move |c| (c.second > c.first) == better);
        own.take(SHOWN).collect::<Vec<&Changed>>()
    };
    let better = cards(pair, pictures.as_ref(), &of(true))?;
    let worse = cards(pair, pictures.as_ref(), &of(false))?;
    let title = "Two runs";
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { "Likewise: " (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    header { h1 { (title) } p { (compared.in_words()) } }
                    (metrics(compared))
                    h2 { "Better in the second run: " (compared.better) " queries" }
                    @for card in &better { (card) }
                    h2 { "Worse in the second run: " (compared.worse) " queries" }
                    @for card in &worse { (card) }
                }
                footer { p { "likewise " (env!("CARGO_PKG_VERSION")) } }
            }
        }
    };
    Ok(plain::page(page.into_string()))
}

fn metrics(compared: &Compared) -> Markup {
    html! {
        table {
            thead {
                tr {
                    th { "metric" }
                    th { "first: " (compared.recipes[0]) }
                    th { "second: " (compared.recipes[1]) }
                    th { "difference" }
                }
            }
            tbody {
                @for (name, both) in &compared.metrics {
                    tr {
                        th { (name) }
                        td { (format!("{:.3}", both.first)) }
                        td { (format!("{:.3}", both.second)) }
                        td {
                            (format!(
                                "{:+.3} [{:+.3}, {:+.3}]",
                                both.difference.value, both.difference.low, both.difference.high
                            ))
                        }
                    }
                }
            }
        }
    }
}

fn cards(pair: &Pair, pictures: Option<&Pictures>, changed: &[&Changed]) -> Result<Vec<Markup>> {
    let queries: Vec<usize> = changed.iter().map(|c| c.item).collect();
    if queries.is_empty() {
        return Ok(vec![html! { p.note { "none" } }]);
    }
    let of = |run: usize| {
        answers(
            pair.rows[run],
            &pair.similarities[run],
            &queries,
            pair.gallery,
        )
    };
    let found = [of(0)?, of(1)?];
    let mut cards = Vec::new();
    for (place, query) in changed.iter().enumerate() {
        let mut rows = Vec::new();
        for (run, value) in [query.first, query.second].into_iter().enumerate() {
            let mut tiles = Vec::new();
            for &item in &found[run][place] {
                tiles.push(tile(pair, pictures, item, Some(query.item))?);
            }
            let title = ["first", "second"][run];
            rows.push(html! {
                h4 { (title) ": " (pair.compared.recipes[run]) " · MAP@R " (format!("{value:.3}")) }
                ul.tiles { @for tile in &tiles { (tile) } }
            });
        }
        cards.push(html! {
            article.query {
                h3 { "Query " span.name { (query.id) } " " span.what { "· " (query.label) } }
                div.columns {
                    ul.tiles.asking { (tile(pair, pictures, query.item, None)?) }
                    div { @for row in &rows { (row) } }
                }
            }
        });
    }
    Ok(cards)
}

/// An item, framed by whether it answers a query rightly.
fn tile(
    pair: &Pair,
    pictures: Option<&Pictures>,
    item: usize,
    query: Option<usize>,
) -> Result<Markup> {
    let id = &pair.ids[item];
    let class = |item: usize| pair.labels[item].class();
    let right = query.and_then(|query| Some(class(query)? == class(item)?));
    let name = class(item).map_or("", |class| pair.labels.classes()[class as usize].as_str());
    let uri = pictures.map(|pictures| pictures.uri(item)).transpose()?;
    let coarse = pictures.is_some_and(Pictures::coarse);
    Ok(html! {
        li.tile.right[right == Some(true)].wrong[right == Some(false)] title=(id) {
            @match &uri {
                Some(uri) => { img.coarse[coarse] src=(uri) alt=(id); }
                None => { span.id { (tail(id)) } }
            }
            span.class {
                @match right {
                    Some(true) => { span.sign title="right" { "✓" } " " }
                    Some(false) => { span.sign title="wrong" { "✗" } " " }
                    None => {}
                }
                (name)
            }
        }
    })
}
