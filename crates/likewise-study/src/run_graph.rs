//! The graph of a run: its items, joined to those nearest in its embedding.

use std::path::Path;

use likewise::distance::Metric;
use likewise::graph::KnnGraph;
use likewise::neighbor::Precision;
use likewise::{Graph, Monitor, matrix};
use likewise_io::items::ItemRow;
use ndarray::{Array2, ArrayView2, CowArray, Ix2};

use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::graph::Settings;
use crate::run_folder::{GRAPH, RunFolder};
use crate::source::{ReadAs, Source};
use crate::{Result, duplicates, failed, labels};

/// Neighbours an item.
const NEIGHBORS: usize = 15;
/// Items up to which these are sought exactly.
const EXACT: usize = 100_000;
/// Share of the true neighbours that are found otherwise.
const RECALL: f64 = 0.95;
/// Items from which on the graph is kept in the folder of the run: a search for it takes longer than to read it.
const KEPT: usize = 20_000;

/// The items of a run, one row of its embedding each.
///
/// Fails where they are damaged or do not fit each other.
pub(crate) fn read(run: &RunFolder) -> Result<(Vec<ItemRow>, Array2<f32>)> {
    let (items, embeddings) = (run.items()?, run.embeddings()?);
    if items.len() != embeddings.nrows() {
        return Err(failed(format!(
            "{}: {} items, but embeddings of {}; fit again",
            run.file("items.parquet").display(),
            items.len(),
            embeddings.nrows()
        )));
    }
    Ok((items, embeddings))
}

/// The graph of the embedding of a run, 15 neighbours an item.
///
/// Fails on NaN, and when cancelled.
pub(crate) fn build(
    run: &RunFolder,
    embeddings: ArrayView2<f32>,
    seed: u64,
    at: &Environment,
) -> Result<Graph> {
    let metric = run.similarity()?.metric();
    kept(run.root(), embeddings, metric, seed, at.monitor)
}

/// The same of rows of the run in a folder that compare by a metric. Of many items it is kept there, in `.graph.npz`, and
/// read the next time, while the rows are the same.
pub(crate) fn kept(
    run: &Path,
    rows: ArrayView2<f32>,
    metric: Metric,
    seed: u64,
    monitor: &Monitor,
) -> Result<Graph> {
    if rows.nrows() < KEPT {
        return of_rows(rows, metric, seed, monitor);
    }
    let path = run.join(GRAPH);
    let of = mark(rows, metric, seed);
    // Whatever else lies there is another graph, or damaged, and gives way to the right one.
    if let Ok(Some(graph)) = likewise_io::graph::read_of(&path, &of)
        && graph.n() == rows.nrows()
    {
        return Ok(graph);
    }
    let graph = of_rows(rows, metric, seed, monitor)?;
    if let Err(e) = likewise_io::graph::write_of(&path, &graph, &of) {
        monitor.note(format!("the graph is sought anew the next time: {e}"));
    }
    Ok(graph)
}

/// What tells the graph of some rows from others.
fn mark(rows: ArrayView2<f32>, metric: Metric, seed: u64) -> String {
    let bytes = rows.rows().into_iter().map(|row| {
        row.iter()
            .flat_map(|value| value.to_le_bytes())
            .collect::<Vec<u8>>()
    });
    let digest = likewise_io::digest_parts(bytes);
    format!(
        "likewise 1: {NEIGHBORS} neighbours by {metric:?}, exact to {EXACT}, recall {RECALL}, seed {seed}, rows {digest}"
    )
}

/// The same of rows that compare by a metric.
pub(crate) fn of_rows(
    rows: ArrayView2<f32>,
    metric: Metric,
    seed: u64,
    monitor: &Monitor,
) -> Result<Graph> {
    let n = rows.nrows();
    let settings = Settings {
        graph: KnnGraph::new().k(NEIGHBORS.min(n.saturating_sub(1)).max(1)),
        fuse: None,
        // Cosines of rows that compare by their distance say more around their mean.
        center: metric != Metric::Cosine,
        // A space that was learned has its scales.
        standardize: Some(false),
        approximate: (n > EXACT).then_some(RECALL),
        precision: Precision::Auto,
        seed,
    };
    Ok(settings.build(rows, monitor)?.graph)
}

/// The rows by whose cosine items of a run are told apart: where they compare by their distance, or all
/// point the same way, around their mean, as in its graph.
pub(crate) fn told_apart_by(rows: ArrayView2<f32>, metric: Metric) -> CowArray<f32, Ix2> {
    if metric != Metric::Cosine || duplicates::points_one_way(rows) {
        CowArray::from(matrix::centered(rows))
    } else {
        CowArray::from(rows)
    }
}

/// What the graph will cost, with the embeddings, a propagation of the labels over it and a copy of
/// its beliefs.
pub(crate) fn estimate(run: &RunFolder, at: &Environment) -> Result<Estimate> {
    let shape = Source::open(&run.file("embeddings.npy"), ReadAs::default())?.shape(at)?;
    let (n, d) = (shape.items as f64, shape.views[0].1 as f64);
    let k = NEIGHBORS as f64;
    let needed = Estimate::new().resident(4.0 * n * d + 200.0 * n);
    let needed = if shape.items > EXACT {
        needed.approximate_graph(n, d, k)
    } else {
        needed.graph(n, d, k)
    };
    let classes = labels::of(&run.items()?)?.n_classes() as f64;
    Ok(needed
        .propagation(n, k, classes)
        .stage(8.0 * n * classes, 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_graph_of_many_rows_is_kept_while_they_are_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let silent = Monitor::silent();
        let of = |n: usize, shift: f32| {
            let x = Array2::from_shape_fn((n, 2), |(i, c)| {
                let angle = i as f32 * 0.37 + shift;
                if c == 0 { angle.cos() } else { angle.sin() }
            });
            kept(folder.path(), x.view(), Metric::Cosine, 1, &silent).unwrap()
        };
        let path = folder.path().join(GRAPH);
        of(300, 0.0);
        assert!(!path.exists());
        let first = of(KEPT, 0.0);
        let written = std::fs::read(&path).unwrap();
        // What lies there is read: here a graph that the search would not find.
        let none = Graph::new(vec![0; KEPT + 1], vec![], vec![]).unwrap();
        let archive = mark_in(&path);
        likewise_io::graph::write_of(&path, &none, &archive).unwrap();
        assert_eq!(of(KEPT, 0.0), none);
        // Damaged, or of other rows, it gives way.
        std::fs::write(&path, &written[..written.len() / 2]).unwrap();
        assert_eq!(of(KEPT, 0.0), first);
        assert_eq!(std::fs::read(&path).unwrap(), written);
        assert_ne!(of(KEPT, 0.1), first);
        assert_ne!(std::fs::read(&path).unwrap(), written);
    }

    /// What a file says that its graph is of.
    fn mark_in(path: &Path) -> String {
        let bytes = std::fs::read(path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let begin = text.find("likewise 1: ").unwrap();
        let text = &text[begin..];
        let digest = text.find("rows ").unwrap() + "rows ".len();
        text[..digest + 64].to_owned()
    }
}
