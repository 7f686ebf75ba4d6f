//! Why an item is believed to be what it is.
//!
//! The share of a class is that of what the classes are compared by, so the class that is believed has the largest; it
//! is dealt out to the labeled items of the class by their parts in it. The shares sum to 1.

use likewise::{Graph, Monitor};
use serde::Serialize;

use super::following::Following;
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
    session: &Following,
    graph: &Graph,
    items: &Items,
    row: usize,
    monitor: &Monitor,
) -> Result<Option<Why>> {
    let labels = session.labels();
    let class_of = |source: u32| {
        labels[source as usize]
            .class()
            .map_or(0, |class| class as usize)
    };
    let parts = session.sources(row, monitor)?;
    let by_class = shares(session.compared(row), &parts, class_of);
    let sources = weighed(parts, &by_class, class_of);
    if sources.is_empty() {
        return Ok(None);
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
        confidence: session.confidence_of(&[row])[0],
        // A sum of none is -0.
        others: sources[named.len()..]
            .iter()
            .map(|(_, share)| share)
            .sum::<f64>()
            + 0.0,
        sources: told.collect(),
        classes: (order.into_iter().take(CLASSES))
            .map(|class| Share {
                class: name(class),
                share: by_class[class],
            })
            .collect(),
    }))
}

/// The share of each class by what the classes are compared by. Where none is above another, as by a method that says
/// nothing where one class alone has labels, by the parts.
fn shares(
    mut compared: Vec<f64>,
    parts: &[(u32, f64)],
    class_of: impl Fn(u32) -> usize,
) -> Vec<f64> {
    for value in &mut compared {
        *value = value.max(0.0);
    }
    if compared.iter().sum::<f64>() <= 0.0 {
        for &(source, part) in parts {
            compared[class_of(source)] += part.max(0.0);
        }
    }
    let sum: f64 = compared.iter().sum();
    if sum > 0.0 {
        for value in &mut compared {
            *value /= sum;
        }
    }
    compared
}

/// The parts of labeled items in the share of their class, the largest first (ties: smaller item).
fn weighed(
    mut sources: Vec<(u32, f64)>,
    by_class: &[f64],
    class_of: impl Fn(u32) -> usize,
) -> Vec<(u32, f64)> {
    let mut sums = vec![0.0; by_class.len()];
    for &(source, part) in &sources {
        sums[class_of(source)] += part;
    }
    for (source, part) in &mut sources {
        let class = class_of(*source);
        *part = if sums[class] > 0.0 {
            *part / sums[class] * by_class[class]
        } else {
            0.0
        };
    }
    sources.retain(|&(_, share)| share != 0.0);
    sources.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    sources
}
