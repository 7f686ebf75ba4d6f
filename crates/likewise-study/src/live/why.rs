//! Why an item is believed to be what it is.

use likewise::propagate::Session;
use likewise::{Graph, Monitor};
use serde::Serialize;

use super::items::Items;
use crate::Result;

/// Sources that are named.
const SOURCES: usize = 8;
/// Classes that are named.
const CLASSES: usize = 10;

/// Why an item is believed to be of a class.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Why {
    /// What the labels say as they stand now.
    pub pseudo_label: Option<String>,
    /// How much that is worth, 0 to 1.
    pub confidence: f32,
    /// The share of the sources that are not named.
    pub others: f64,
    /// The labeled items that it comes from, the largest share first.
    pub sources: Vec<Source>,
    /// The shares of the classes, the largest first.
    pub classes: Vec<Share>,
}

/// A labeled item that speaks for its class.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Source {
    /// Its id.
    pub id: String,
    /// Its label.
    pub label: String,
    /// Its share of all sources.
    pub share: f64,
    /// Ids from the item to the source, through the graph.
    pub path: Vec<String>,
}

/// The share of a class.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Share {
    /// The class.
    pub class: String,
    /// What all sources of this label have together.
    pub share: f64,
}

pub(super) fn of(
    session: &Session,
    graph: &Graph,
    items: &Items,
    row: usize,
    monitor: &Monitor,
) -> Result<Option<Why>> {
    let sources = session.sources(row, monitor)?;
    if sources.is_empty() {
        return Ok(None);
    }
    let labels = session.labels();
    let class_of = |source: u32| {
        labels[source as usize]
            .class()
            .map_or(0, |class| class as usize)
    };
    let mut by_class = vec![0.0; labels.n_classes()];
    for &(source, share) in &sources {
        by_class[class_of(source)] += share;
    }
    let mut order: Vec<usize> = (0..by_class.len()).filter(|&c| by_class[c] > 0.0).collect();
    order.sort_by(|&a, &b| by_class[b].total_cmp(&by_class[a]).then(a.cmp(&b)));
    let name = |class: usize| labels.classes()[class].clone();
    let named = &sources[..SOURCES.min(sources.len())];
    let ends: Vec<usize> = named.iter().map(|&(source, _)| source as usize).collect();
    let paths = graph.paths(row, &ends);
    let id = |row: &u32| items.rows()[*row as usize].id.clone();
    let told = named
        .iter()
        .zip(paths)
        .map(|(&(source, share), path)| Source {
            id: id(&source),
            label: name(class_of(source)),
            share,
            path: path.iter().flatten().map(id).collect(),
        });
    Ok(Some(Why {
        pseudo_label: session.pseudo_label()[row].map(|class| name(class as usize)),
        confidence: session.confidence_of(row),
        others: sources[named.len()..].iter().map(|(_, share)| share).sum(),
        sources: told.collect(),
        classes: (order.into_iter().take(CLASSES))
            .map(|class| Share {
                class: name(class),
                share: by_class[class],
            })
            .collect(),
    }))
}
