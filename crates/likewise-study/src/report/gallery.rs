//! The nearest neighbours of a few queries, by raw features and by the embedding.

use std::cmp::Ordering;

use likewise::index::{Exact, Index};
use likewise::{Monitor, Similarity, matrix, seed};
use maud::{Markup, html};
use ndarray::ArrayView2;
use rand::seq::SliceRandom;

use super::ground::Ground;
use super::thumbnail::Pictures;
use crate::Result;
use crate::study::Row;

/// Answers that are shown.
const ANSWERS: usize = 8;
/// Queries that are shown.
const SHOWN: usize = 6;
/// Queries that are asked to find those.
const ASKED: usize = 400;
/// Most characters of an id in a tile; the full one is its tooltip.
const ID_LENGTH: usize = 24;
/// How many are shown of those that the embedding answers better, worse, and as well.
const MIX: [(Ordering, usize); 3] = [
    (Ordering::Greater, 3),
    (Ordering::Less, 2),
    (Ordering::Equal, 1),
];

/// One query and its answers, nearest first.
#[derive(Debug, Clone, PartialEq)]
struct Asked {
    query: usize,
    raw: Vec<usize>,
    learned: Vec<usize>,
    /// Answers of the query's class.
    right: [usize; 2],
}

impl Asked {
    /// `Greater` where the embedding has more right answers.
    fn compare(&self) -> Ordering {
        self.right[1].cmp(&self.right[0])
    }
}

/// A few queries with their neighbours, and how typical they are.
pub(super) fn neighbors(ground: &Ground, pictures: Option<&Pictures>) -> Result<Markup> {
    let asked = ask(ground)?;
    if asked.is_empty() {
        return Ok(
            html! { p { "No item that could ask has a known class: there is nothing to show." } },
        );
    }
    let count = |order: Ordering| asked.iter().filter(|a| a.compare() == order).count();
    let [better, worse, same] = MIX.map(|(order, _)| count(order));
    let shown = choose(&asked);
    let mut cards = Vec::new();
    for asked in &shown {
        cards.push(card(ground, pictures, asked)?);
    }
    Ok(html! {
        p {
            "Of " (asked.len()) " queries"
            @if asked.len() < ground.queries.len() { " drawn at random" }
            ", the embedding has more right answers among the first " (ANSWERS) " than the raw \
            features for " b { (better) } ", fewer for " b { (worse) } " and as many for "
            b { (same) } ". Shown below are some of each, drawn at random within their group: \
            they say what changes, not how often."
            @if !ground.believed.is_empty() {
                " A question mark stands where an item has no label: its class is the one that \
                spread to it, and is counted as if it were right, so this is a look and no \
                measurement."
            }
        }
        @for card in &cards { (card) }
    })
}

/// Asks a sample of the queries in both spaces.
fn ask(ground: &Ground) -> Result<Vec<Asked>> {
    let mut queries = ground.queries.clone();
    queries.shuffle(&mut seed::stream(ground.results.seed, "report gallery"));
    queries.truncate(ASKED);
    if queries.is_empty() || ground.gallery.is_empty() {
        return Ok(vec![]);
    }
    let by = |rows, similarity: &Similarity| answers(rows, similarity, &queries, &ground.gallery);
    let raw = by(ground.features, &Similarity::Cosine)?;
    let learned = by(ground.embeddings(), &ground.study.model.similarity())?;
    let asked = queries.iter().copied().zip(raw.into_iter().zip(learned));
    Ok(asked
        .map(|(query, (raw, learned))| {
            let right = |items: &[usize]| {
                items
                    .iter()
                    .filter(|&&item| ground.same_class(query, item))
                    .count()
            };
            Asked {
                query,
                right: [right(&raw), right(&learned)],
                raw,
                learned,
            }
        })
        .collect())
}

/// The nearest gallery items of each query, the query itself left out.
pub(super) fn answers(
    rows: ArrayView2<f32>,
    similarity: &Similarity,
    queries: &[usize],
    gallery: &[usize],
) -> Result<Vec<Vec<usize>>> {
    let searched = matrix::select_rows(rows, gallery);
    let index = Exact::new(searched.view(), similarity)?;
    let asked = matrix::select_rows(rows, queries);
    let asked = similarity.asking(asked.view()).unwrap_or(asked);
    let hits = index.search(asked.view(), ANSWERS + 1, &Monitor::silent())?;
    let answers = queries.iter().zip(hits).map(|(&query, hits)| {
        let items = hits.iter().map(|hit| gallery[hit.item]);
        items.filter(|&item| item != query).take(ANSWERS).collect()
    });
    Ok(answers.collect())
}

/// The first of each group, in their (random) order; other queries where a group is small.
fn choose(asked: &[Asked]) -> Vec<&Asked> {
    let mut left: Vec<&Asked> = asked.iter().collect();
    let mut shown: Vec<&Asked> = Vec::new();
    for (order, most) in MIX {
        let mut taken = 0;
        left.retain(|a| {
            let take = taken < most && a.compare() == order;
            taken += usize::from(take);
            if take {
                shown.push(a);
            }
            !take
        });
    }
    let room = SHOWN.saturating_sub(shown.len());
    shown.extend(left.into_iter().take(room));
    shown.sort_by_key(|a| MIX.iter().position(|(order, _)| *order == a.compare()));
    shown
}

fn card(ground: &Ground, pictures: Option<&Pictures>, asked: &Asked) -> Result<Markup> {
    let [raw, learned] = asked.right;
    let verdict = match asked.compare() {
        Ordering::Greater => format!("better in the embedding: {learned} right instead of {raw}"),
        Ordering::Less => format!("worse in the embedding: {learned} right instead of {raw}"),
        Ordering::Equal => format!("no change: {learned} right in both"),
    };
    // Who has two others of its class cannot have more than two right answers.
    let others = ground
        .gallery
        .iter()
        .filter(|&&item| item != asked.query && ground.same_class(asked.query, item));
    let possible = others.take(ANSWERS).count();
    let spaces = [
        (Row::Raw.title(), &asked.raw, raw),
        (ground.results.recipe.as_str(), &asked.learned, learned),
    ];
    let mut rows = Vec::new();
    for (title, items, right) in spaces {
        let mut tiles = Vec::new();
        for &item in items {
            let right = (!ground.is_believed(item)).then(|| ground.same_class(asked.query, item));
            tiles.push(tile(ground, pictures, item, right)?);
        }
        rows.push(html! {
            h4 { (title) " " span.count { (right) " of " (possible) " possible" } }
            ul.tiles { @for tile in &tiles { (tile) } }
        });
    }
    Ok(html! {
        article.query {
            h3 {
                "Query " span.name { (ground.collection.ids()[asked.query]) } " "
                span.what { "· " (verdict) }
            }
            div.columns {
                ul.tiles.asking { (tile(ground, pictures, asked.query, None)?) }
                div { @for row in &rows { (row) } }
            }
        }
    })
}

/// An item: its picture or id, a frame, a sign and its class.
pub(super) fn tile(
    ground: &Ground,
    pictures: Option<&Pictures>,
    item: usize,
    right: Option<bool>,
) -> Result<Markup> {
    let id = &ground.collection.ids()[item];
    let class = ground.class_name(item);
    let picture = pictures.map(|p| Ok::<_, likewise_nn::Error>((p.uri(item)?, p.coarse())));
    let picture = picture.transpose()?;
    Ok(html! {
        li.tile.right[right == Some(true)].wrong[right == Some(false)] title={ (id) " · " (class) } {
            @match &picture {
                Some((uri, coarse)) => { img.coarse[*coarse] src=(uri) alt=(id); }
                None => { span.id { (tail(id)) } }
            }
            span.class {
                @match right {
                    Some(true) => { span.sign title="right" { "✓" } " " }
                    Some(false) => { span.sign title="wrong" { "✗" } " " }
                    None => {}
                }
                (class) @if ground.is_believed(item) && !class.is_empty() { "?" }
            }
        }
    })
}

/// The end of a long id: paths differ there.
pub(super) fn tail(id: &str) -> String {
    let length = id.chars().count();
    if length <= ID_LENGTH {
        return id.to_owned();
    }
    let end = id.chars().skip(length - (ID_LENGTH - 1));
    std::iter::once('…').chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(query: usize, raw: usize, learned: usize) -> Asked {
        Asked {
            query,
            raw: vec![],
            learned: vec![],
            right: [raw, learned],
        }
    }

    #[test]
    fn better_and_worse_are_both_shown() {
        let all: Vec<Asked> = (0..20)
            .map(|q| asked(q, 4, [4, 5, 6, 7, 3][q % 5]))
            .collect();
        let shown = choose(&all);
        let queries: Vec<usize> = shown.iter().map(|a| a.query).collect();
        assert_eq!(queries, [1, 2, 3, 4, 9, 0]);
    }

    #[test]
    fn small_groups_leave_room_for_others() {
        let all: Vec<Asked> = (0..9)
            .map(|q| asked(q, 4, if q == 8 { 2 } else { 4 }))
            .collect();
        let queries: Vec<usize> = choose(&all).iter().map(|a| a.query).collect();
        assert_eq!(queries, [8, 0, 1, 2, 3, 4]);
        assert_eq!(choose(&all[..2]).len(), 2);
    }

    #[test]
    fn long_ids_keep_their_end() {
        assert_eq!(tail("123456789012345678901234"), "123456789012345678901234");
        assert_eq!(
            tail("ä/2345678901234567890123.jpg"),
            "…5678901234567890123.jpg"
        );
        assert_eq!(
            tail("ä/2345678901234567890123.jpg").chars().count(),
            ID_LENGTH
        );
    }

    #[test]
    fn a_query_never_answers_itself() {
        let rows = ndarray::array![[1.0, 0.0], [1.0, 0.0], [0.9, 0.1], [0.0, 1.0]];
        let found = answers(rows.view(), &Similarity::Cosine, &[0, 1, 3], &[0, 1, 2]).unwrap();
        assert_eq!(found, [vec![1, 2], vec![0, 2], vec![2, 0, 1]]);
    }
}
