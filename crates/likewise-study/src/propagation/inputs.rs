//! What is known beside the labels, read from files; and the negative edges that are written.

use std::path::Path;

use likewise::propagate::NegativeEdges;
use likewise::{Graph, Labels};

use crate::{Result, failed};

/// Pairs known to be unlike.
///
/// Fails where they are of other items than the graph, and on pairs that are no edges of it.
pub(super) fn known_negatives(path: &Path, graph: &Graph) -> Result<NegativeEdges> {
    let pairs = likewise_io::graph::read(path)?;
    if pairs.n() != graph.n() {
        return Err(failed(format!(
            "{}: a matrix of {} items, but the graph has {}",
            path.display(),
            pairs.n(),
            graph.n()
        )));
    }
    let pairs = pairs.edges().map(|(i, j, w)| (i, j, f64::from(w)));
    NegativeEdges::from_pairs(graph, pairs).map_err(|e| failed(format!("{}: {e}", path.display())))
}

/// What items are not, as pairs of item and class.
///
/// Fails on a class that no label has.
pub(super) fn excluded(path: &Path, ids: &[String], labels: &Labels) -> Result<Vec<(u32, u32)>> {
    let not = likewise_io::read_labels(path, ids)?;
    let mut pairs = Vec::new();
    for item in 0..not.len() {
        let Some(class) = not[item].class() else {
            continue;
        };
        let name = &not.classes()[class as usize];
        match labels.classes().iter().position(|c| c == name) {
            Some(class) => pairs.push((item as u32, class as u32)),
            None => {
                return Err(failed(format!(
                    "{}: item {} is said not to be \"{name}\", but no label has this class",
                    path.display(),
                    ids[item]
                )));
            }
        }
    }
    Ok(pairs)
}

/// Writes the negative edges as a matrix.
pub(super) fn write_negatives(out: &Path, graph: &Graph, negatives: &NegativeEdges) -> Result<()> {
    let (mut rows, mut columns, mut weights) = (vec![], vec![], vec![]);
    for (i, j, weight) in negatives.edges(graph) {
        rows.push(i);
        columns.push(j);
        weights.push(weight as f32);
    }
    Ok(likewise_io::negatives::write(
        out,
        graph.n(),
        &rows,
        &columns,
        &weights,
    )?)
}
