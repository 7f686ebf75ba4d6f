//! The page of a study across views: the numbers, and what some queries found, both ways.

use likewise::eval::split;
use likewise::{Collection, Label, Labels, Monitor};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::gallery::tail;
use super::ground::percent;
use super::selections;
use super::table::split_in_words;
use super::thumbnail::{Pictures, Thumbnails};
use super::{About, POLICY, STYLE, section};
use crate::study::{CrossStudy, Texts, nearest_items, select_items};
use crate::{Result, plain};

/// Queries that are shown for each direction, of other classes as far as there are some.
const QUERIES: usize = 6;
/// Items that are shown for each query.
const NEAREST: usize = 8;

/// One query and what it found.
struct Asked {
    query: usize,
    found: Vec<usize>,
}

/// What the page shows of items.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shown<'a> {
    /// The views that are texts.
    pub texts: &'a [Texts],
    /// Pictures of the items, for the other views.
    pub thumbnails: Option<Thumbnails<'a>>,
}

/// The page, complete and the same for the same input. Fails where a picture cannot be read, and when
/// cancelled.
///
/// Cost: a search of six queries for each direction.
pub fn across<'a>(
    study: &CrossStudy,
    collection: &'a Collection,
    shown: Shown<'a>,
    about: &About,
    monitor: &Monitor,
) -> Result<String> {
    let results = &study.results;
    let unknown = Labels::unknown(collection.len());
    let labels = collection.labels.as_ref().unwrap_or(&unknown);
    let pictures = (shown.thumbnails)
        .map(|of| Pictures::new(of, collection.ids()))
        .transpose()?;
    let faces = Faces {
        texts: shown.texts,
        pictures: pictures.as_ref(),
    };
    let mut directions = Vec::new();
    for from in 0..results.views.len() {
        for to in (0..results.views.len()).filter(|&to| to != from) {
            let title = format!("{} to {}", results.views[from], results.views[to]);
            let way = [from, to].map(|view| faces.of(&results.views[view]));
            let mut cards = Vec::new();
            for asked in ask(study, labels, (from, to), monitor)? {
                cards.push(card(&asked, way, collection, labels)?);
            }
            directions.push((title, cards));
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
                    @if results.not_measured.is_none() {
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
                    }
                    (section("pseudo-labels", "Labels of the draws", &draws(study)))
                    @if results.not_measured.is_none() {
                        (section("neighbours", "What queries found", &html! {
                            @for (title, cards) in &directions {
                                h3 { (title) }
                                @for card in cards { (card) }
                            }
                        }))
                    }
                }
                footer {
                    p { "likewise " (env!("CARGO_PKG_VERSION")) }
                    @if !about.command.is_empty() { p { code { (about.command) } } }
                }
            }
        }
    };
    Ok(plain::page(page.into_string()))
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
        @if let Some(first) = study.results.per_draw.first() {
            (selections::of_first(&first.selections))
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
    // A model that has learned from the items that ask says nothing of others.
    let embedded = study.measured.as_ref().unwrap_or(&study.kept.embedded);
    let of = |items: &[usize], view: usize| -> Vec<usize> {
        let own = &embedded.items[view];
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
            let class = labels[embedded.items[from][place]].class();
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
    let rows = &embedded.rows;
    let near = nearest_items(
        &select_items(&rows[from], &chosen),
        &select_items(&rows[to], &searched),
        NEAREST,
        monitor,
    )?;
    let asked = chosen.iter().zip(near).map(|(&place, near)| Asked {
        query: embedded.items[from][place],
        found: (near.into_iter())
            .map(|(place, _)| embedded.items[to][searched[place]])
            .collect(),
    });
    Ok(asked.collect())
}

/// What stands for items, view by view.
struct Faces<'a, 'p> {
    texts: &'a [Texts],
    pictures: Option<&'a Pictures<'p>>,
}

/// What stands for items in one view: the beginning of their text, their picture, or their id.
#[derive(Clone, Copy)]
enum Face<'a, 'p> {
    Text(&'a Texts),
    Picture(&'a Pictures<'p>),
    Id,
}

impl<'a, 'p> Faces<'a, 'p> {
    fn of(&self, view: &str) -> Face<'a, 'p> {
        let texts = self.texts.iter().find(|texts| texts.name == view);
        match (texts, self.pictures) {
            (Some(texts), _) => Face::Text(texts),
            (None, Some(pictures)) => Face::Picture(pictures),
            (None, None) => Face::Id,
        }
    }
}

/// Most characters of a text in a tile.
const SNIPPET: usize = 60;

/// The beginning of a text, on one line.
fn snippet(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    if line.chars().count() <= SNIPPET {
        return line;
    }
    let mut start: String = line.chars().take(SNIPPET - 1).collect();
    start.push('…');
    start
}

fn card(
    asked: &Asked,
    [from, to]: [Face; 2],
    collection: &Collection,
    labels: &Labels,
) -> Result<Markup> {
    let class = |item: usize| match labels[item] {
        Label::Known(class) => labels.classes()[class as usize].as_str(),
        Label::Outside | Label::Unknown => "",
    };
    let tile = |item: usize, face: Face, right: Option<bool>| -> Result<Markup> {
        let id = &collection.ids()[item];
        let face = match face {
            Face::Text(texts) => {
                let text = texts.texts[item].as_deref().unwrap_or_default();
                html! { span.id { (snippet(text)) } }
            }
            Face::Picture(pictures) => {
                let uri = pictures.uri(item)?;
                html! { img.coarse[pictures.coarse()] src=(uri) alt=(id); }
            }
            Face::Id => html! { span.id { (tail(id)) } },
        };
        Ok(html! {
            li.tile.right[right == Some(true)].wrong[right == Some(false)] title=(id) {
                (face)
                span.class {
                    @match right {
                        Some(true) => { span.sign title="right" { "✓" } " " }
                        Some(false) => { span.sign title="wrong" { "✗" } " " }
                        None => {}
                    }
                    (class(item))
                }
            }
        })
    };
    let asks = tile(asked.query, from, None)?;
    let own = labels[asked.query];
    let found = (asked.found.iter()).map(|&item| tile(item, to, Some(labels[item] == own)));
    let found: Vec<Markup> = found.collect::<Result<_>>()?;
    Ok(html! {
        div.query {
            div.columns {
                ul.tiles.asking { (asks) }
                ul.tiles { @for tile in &found { (tile) } }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_letters() {
        assert_eq!(snippet(" a\n red  shirt "), "a red shirt");
        let long = snippet(&"ä".repeat(100));
        assert_eq!(long.chars().count(), SNIPPET);
        assert!(long.ends_with('…'));
    }
}
