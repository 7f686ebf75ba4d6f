//! The index of embeddings: its file, and the card that describes it.

use std::io::Write;
use std::path::Path;

use likewise::error::Hint;
use likewise::index::{Flat, Hnsw, HnswOptions, Kind as IndexKind, measured_recall};
use likewise::{Monitor, distance::Metric, seed};
use likewise_io::atomic;
use ndarray::{ArrayView2, Axis};
use rand::seq::index::sample;
use serde::{Deserialize, Serialize};

use super::parts;
use crate::{Result, failed, no_json, usage};

/// From this many items on, `fit` builds an approximate index. Below, comparing with every
/// item takes about ten milliseconds a query, and nothing need be built nor read.
const APPROXIMATE_FROM: usize = 200_000;
/// Share of the true neighbours that an approximate index should find.
const RECALL: f64 = 0.99;
/// The most candidates that a search is tuned to look at, and a thousand times more.
const MOST_EFFORT: usize = 1 << 20;
/// The file of an approximate index.
pub(super) const HNSW_FILE: &str = "hnsw.usearch";

/// `index/index.json`: what the index is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexCard {
    /// `flat` or `hnsw`.
    pub kind: String,
    /// Indexed items.
    pub items: usize,
    /// Length of an embedding.
    pub dimensions: usize,
    /// Neighbours at which recall was measured.
    pub k: usize,
    /// Share of the true neighbours that it finds.
    pub recall: f64,
    /// Candidates that a search looks at (ef), chosen for a recall of .99; none for `flat`.
    #[serde(default)]
    pub effort: Option<usize>,
    /// Digest of the index file; none for `flat`, which has no file.
    pub sha256: Option<String>,
    /// Digest of the index file that stood here before, where another takes its place: a writer
    /// that is killed in between leaves it, and it is ours all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<String>,
    /// What tells the embeddings that it was built of from others; none outside of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embeddings: Option<String>,
    /// What tells the ids and labels beside it from others; none in a run, whose record tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ids: Option<String>,
}

impl IndexCard {
    /// That of the index in a folder, if there is one. Fails where it is broken, or says what no index of
    /// ours can be.
    pub(super) fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join("index.json");
        if !path.exists() {
            return Ok(None);
        }
        let bytes = likewise_io::read_file(&path, likewise_io::memory::allowed(None))?;
        let broken =
            |e: String| failed(format!("{}: broken: {e}", path.display())).hint(Hint::Index);
        let card: Self = serde_json::from_slice(&bytes).map_err(|e| broken(e.to_string()))?;
        card.check().map_err(broken)?;
        Ok(Some(card))
    }

    /// Fails where it contradicts itself; what it says of a graph, that is compared with.
    fn check(&self) -> std::result::Result<(), String> {
        let file = self.sha256.is_some();
        match self.kind.as_str() {
            "hnsw" if !file => return Err("an hnsw index without the digest of its file".into()),
            "flat" if file || self.effort.is_some() => {
                return Err("a flat index has no file and no effort".into());
            }
            "flat" | "hnsw" => {}
            other => return Err(format!("kind {other:?}; there are flat and hnsw")),
        }
        if !(0.0..=1.0).contains(&self.recall) {
            return Err(format!("recall {:e}; it is from 0 to 1", self.recall));
        }
        if self.dimensions == 0 || self.effort == Some(0) {
            return Err("dimensions and effort are at least 1".into());
        }
        match self.effort.filter(|&effort| effort > MOST_EFFORT) {
            Some(effort) => Err(format!("effort {effort}; it is at most {MOST_EFFORT}")),
            None => Ok(()),
        }
    }

    /// Fails where the rows or the graph that it describes are of another length.
    pub(super) fn check_dimensions(&self, dimensions: usize, root: &Path) -> Result<()> {
        if self.dimensions == dimensions {
            return Ok(());
        }
        let message = format!(
            "{}: index.json says {} dimensions, and the embeddings have {dimensions}",
            root.display(),
            self.dimensions
        );
        Err(failed(message).hint(Hint::Index))
    }
}

/// The kind of index that suits a collection of this size whose rows compare so: an approximate one
/// searches by the cosine alone.
pub fn suitable(items: usize, metric: Metric) -> IndexKind {
    if items >= APPROXIMATE_FROM && metric == Metric::Cosine {
        IndexKind::Hnsw
    } else {
        IndexKind::Flat
    }
}

/// Builds an index, measures its recall and writes both into `folder`; `of_run` is the file of
/// the embeddings, where they belong to a run.
pub fn write_index(
    folder: &Path,
    (embeddings, of_run): (ArrayView2<f32>, Option<&Path>),
    kind: IndexKind,
    k: usize,
    seed: u64,
    monitor: &Monitor,
) -> Result<IndexCard> {
    // Before the work, which takes a while.
    old_index(folder)?;
    atomic::make_folder(folder)?;
    let (card, index) = build_index(embeddings, kind, k, seed, monitor)?;
    write_built(folder, card, index.as_ref(), of_run)
}

/// An index in memory, and what it is: its recall at `k` is measured, and its effort chosen for
/// .99. There is none for `flat`, which compares the embeddings themselves.
///
/// Fails on NaN and when cancelled.
pub fn build_index(
    embeddings: ArrayView2<f32>,
    kind: IndexKind,
    k: usize,
    seed: u64,
    monitor: &Monitor,
) -> Result<(IndexCard, Option<Hnsw>)> {
    let n = embeddings.nrows();
    let mut card = IndexCard {
        kind: "flat".into(),
        items: n,
        dimensions: embeddings.ncols(),
        k,
        recall: 1.0,
        effort: None,
        sha256: None,
        replaced: None,
        embeddings: None,
        ids: None,
    };
    if kind == IndexKind::Flat {
        return Ok((card, None));
    }
    let mut index = Hnsw::build(embeddings, HnswOptions::default(), monitor)?;
    let mut rng = seed::stream(seed, "recall sample");
    let mut asked = sample(&mut rng, n, n.min(1000)).into_vec();
    asked.sort_unstable();
    // Some choose the effort of a search, the others measure the recall.
    let every_other =
        |first: usize| -> Vec<usize> { asked.iter().copied().skip(first).step_by(2).collect() };
    let (choose, measure) = (every_other(usize::from(n > 1)), every_other(0));
    let exact = Flat::new(embeddings, Metric::Cosine)?;
    let queries = embeddings.select(Axis(0), &choose);
    // A little more than is asked for: another sample may do worse.
    let wanted = RECALL + (1.0 - RECALL) / 4.0;
    index.tune(&exact, queries.view(), k, wanted, monitor)?;
    card.effort = Some(index.search_effort());
    let queries = embeddings.select(Axis(0), &measure);
    card.recall = measured_recall(&index, &exact, queries.view(), k, monitor)?;
    card.kind = "hnsw".into();
    Ok((card, Some(index)))
}

/// Writes an index that was built into `folder`.
pub(super) fn write_built(
    folder: &Path,
    mut card: IndexCard,
    index: Option<&Hnsw>,
    of_run: Option<&Path>,
) -> Result<IndexCard> {
    card.embeddings = of_run.map(parts::mark).transpose()?;
    let mut bytes = Vec::new();
    if let Some(index) = index {
        bytes = index.to_bytes()?;
        let digest = likewise_io::digest_parts(std::iter::once(bytes.as_slice()));
        card.sha256 = Some(digest);
    }
    card.replaced = old_index(folder)?.filter(|old| card.sha256.as_ref() != Some(old));
    let mut json = serde_json::to_string_pretty(&card).map_err(no_json)?;
    json.push('\n');
    // First the card: it knows the old file and the new one, so that either is known for ours.
    atomic::write(folder.join("index.json"), |file| {
        Ok(file.write_all(json.as_bytes())?)
    })?;
    let path = folder.join(HNSW_FILE);
    if card.sha256.is_some() {
        atomic::write(path, |file| Ok(file.write_all(&bytes)?))?;
    } else if card.replaced.is_some() {
        // Where it stays it is not read.
        let _ = std::fs::remove_file(path);
    }
    Ok(card)
}

/// Digest of the index file that stands in `folder`, if one does.
///
/// Fails where a file of such a name is not one that we wrote: it would be lost.
pub(super) fn old_index(folder: &Path) -> Result<Option<String>> {
    let (card, path) = (folder.join("index.json"), folder.join(HNSW_FILE));
    let foreign = |path: &Path| {
        usage(format!(
            "{}: not of an index of ours, and would be replaced; move it elsewhere, or name \
             another folder",
            path.display()
        ))
    };
    let known = if card.exists() {
        let text = likewise_io::read_file(&card, crate::text::MOST)?;
        let card: IndexCard = serde_json::from_slice(&text).map_err(|_| foreign(&card))?;
        [card.sha256, card.replaced]
    } else {
        [None, None]
    };
    // Also a link that leads nowhere.
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let digest = likewise_io::digest(&path)?;
    if !known.iter().flatten().any(|known| *known == digest) {
        return Err(foreign(&path));
    }
    Ok(Some(digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with an index of this kind of some rows, and what it says when its card says otherwise.
    fn said(kind: IndexKind, field: &str, forged: serde_json::Value) -> String {
        let out = tempfile::tempdir().unwrap();
        let x = ndarray::Array2::<f32>::eye(20);
        let silent = Monitor::silent();
        let rows = vec![likewise_io::items::ItemRow::default(); 20];
        let ids = rows
            .into_iter()
            .enumerate()
            .map(|(item, row)| likewise_io::items::ItemRow {
                id: item.to_string(),
                ..row
            });
        let rows: Vec<_> = ids.collect();
        super::super::IndexFolder::write(out.path(), &rows, x.view(), kind, 1, 0, &silent).unwrap();
        let path = out.path().join("index.json");
        let card = std::fs::read_to_string(&path).unwrap();
        let mut card: serde_json::Value = serde_json::from_str(&card).unwrap();
        card[field] = forged;
        std::fs::write(&path, card.to_string()).unwrap();
        // Few are compared with all rows, many are asked of the index.
        for queries in [1, 20] {
            let asked = x.slice(ndarray::s![..queries, ..]);
            let hits = super::super::IndexFolder::open(out.path())
                .and_then(|folder| folder.search(asked, 1, 20, false, &silent));
            match hits {
                Err(e) => return e.to_string(),
                Ok(hits) => assert_eq!(hits.len(), queries),
            }
        }
        String::new()
    }

    #[test]
    fn a_card_that_is_not_that_of_the_index_is_refused() {
        use serde_json::json;
        for kind in [IndexKind::Flat, IndexKind::Hnsw] {
            for (field, forged, what) in [
                ("kind", json!("fl\u{1b}[2Jat"), "there are flat and hnsw"),
                ("dimensions", json!(0), "at least 1"),
                (
                    "dimensions",
                    json!(4_000_000_000_u64),
                    "says 4000000000 dimensions",
                ),
                ("recall", json!(1e308), "recall 1e308"),
                ("recall", json!(-0.5), "recall -5e-1"),
            ] {
                let said = said(kind, field, forged);
                assert!(said.contains(what), "{said}");
                assert!(!said.contains('\u{1b}'), "{said}");
            }
            assert_eq!(said(kind, "items", json!(20)), "");
        }
        let of_graph = [
            ("kind", json!("flat"), "a flat index has no file"),
            ("effort", json!(0), "at least 1"),
            (
                "effort",
                json!(1_000_000_000_000_000_000_u64),
                "effort 1000000000000000000",
            ),
            ("sha256", json!(null), "without the digest"),
        ];
        for (field, forged, what) in of_graph {
            let said = said(IndexKind::Hnsw, field, forged);
            assert!(said.contains(what), "{said}");
        }
        let said = said(IndexKind::Flat, "kind", json!("hnsw"));
        assert!(said.contains("without the digest"), "{said}");
    }
}
