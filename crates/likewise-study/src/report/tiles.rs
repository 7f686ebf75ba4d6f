//! A page of groups of items: what the verbs that look at data leave for people to look at.

use maud::{DOCTYPE, PreEscaped, html};

use super::gallery::tail;
use super::thumbnail::{Pictures, Thumbnails};
use super::{POLICY, STYLE};
use crate::{Result, plain};

/// Items under one title.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) title: String,
    pub(crate) tiles: Vec<Tile>,
    /// How many more there are.
    pub(crate) left_out: usize,
}

/// An item: its picture, or its id, and words below.
#[derive(Debug)]
pub(crate) struct Tile {
    pub(crate) item: usize,
    pub(crate) words: String,
    /// Whether it stands out.
    pub(crate) bad: bool,
}

/// The page: no script, no font, no other file. Fails where a picture cannot be read.
pub(crate) fn page<'a>(
    title: &str,
    about: &[String],
    groups: &[Group],
    ids: &'a [String],
    pictures: Option<Thumbnails<'a>>,
) -> Result<String> {
    let pictures = pictures.map(|of| Pictures::new(of, ids)).transpose()?;
    let mut lists = Vec::new();
    for group in groups {
        let mut tiles = Vec::new();
        for tile in &group.tiles {
            let uri = (pictures.as_ref()).map(|pictures| pictures.uri(tile.item));
            let (uri, id) = (uri.transpose()?, &ids[tile.item]);
            let coarse = pictures.as_ref().is_some_and(Pictures::coarse);
            tiles.push(html! {
                li.tile.wrong[tile.bad] title=(id) {
                    @match &uri {
                        Some(uri) => { img.coarse[coarse] src=(uri) alt=(id); }
                        None => { span.id { (tail(id)) } }
                    }
                    span.class { (tile.words) }
                }
            });
        }
        lists.push(html! {
            h3 { (group.title) }
            ul.tiles { @for tile in &tiles { (tile) } }
            @if group.left_out > 0 { p.note { "and " (group.left_out) " more" } }
        });
    }
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
                    header { h1 { (title) } }
                    @for line in about { p { (line) } }
                    @for list in &lists { (list) }
                }
                footer { p { "likewise " (env!("CARGO_PKG_VERSION")) } }
            }
        }
    };
    Ok(plain::page(page.into_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_data_is_text() {
        let ids = ["<script>".to_owned()];
        let tile = Tile {
            item: 0,
            words: "<b>".into(),
            bad: true,
        };
        let group = Group {
            title: "A & B".into(),
            tiles: vec![tile],
            left_out: 2,
        };
        let page = page("T", &["<i>".into()], &[group], &ids, None).unwrap();
        for raw in ["<script", "<b>", "<i>"] {
            assert!(!page.contains(raw), "{raw}");
        }
        assert!(page.contains("A &amp; B") && page.contains("and 2 more"));
    }
}
