//! Why an item is believed to be what it is.
//!
//! A belief compares the classes as if each had the same number of labels, so the part of a labeled item counts by
//! how few its class has. The shares are of that, and sum to 1.

use likewise::propagate::Session;
use likewise::{Graph, Labels, Monitor};
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
    let labels = session.labels();
    let sources = weighed(session.sources(row, monitor)?, labels);
    if sources.is_empty() {
        return Ok(None);
    }
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

/// The parts of labeled items as the belief weighs them, those of a class by how many labels it has; the largest
/// first (ties: smaller item).
fn weighed(mut sources: Vec<(u32, f64)>, labels: &Labels) -> Vec<(u32, f64)> {
    let of_class: Vec<f64> = labels
        .by_class()
        .iter()
        .map(|own| own.len() as f64)
        .collect();
    for (source, part) in &mut sources {
        if let Some(class) = labels[*source as usize].class() {
            *part /= of_class[class as usize];
        }
    }
    let sum: f64 = sources.iter().map(|(_, part)| part).sum();
    if sum <= 0.0 {
        return vec![];
    }
    for (_, part) in &mut sources {
        *part /= sum;
    }
    sources.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    sources
}
