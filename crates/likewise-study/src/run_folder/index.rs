//! The index of embeddings: its file, and the card that describes it.

use std::io::Write;
use std::path::Path;

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
    /// That of the index in a folder, if there is one. Fails where it is broken.
    pub(super) fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join("index.json");
        if !path.exists() {
            return Ok(None);
        }
        let bytes = likewise_io::read_file(&path, likewise_io::memory::allowed(None))?;
        let broken = |e| failed(format!("{}: broken: {e}", path.display()));
        serde_json::from_slice(&bytes).map(Some).map_err(broken)
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
