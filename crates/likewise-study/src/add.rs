//! New items in a run, without fitting it again.
//!
//! They are embedded by the model of the run and join its items, embeddings, beliefs and index; all
//! of it at one stroke, or nothing. A new item is believed to be what its 10 nearest
//! items of the run are: each [votes](likewise::propagate::induction) for its pseudo-label (its label where it
//! has none), and the share of the winner is the confidence. Where
//! none of them is believed to be anything, the new item is not either. The model, the numbers and
//! the report stay those of the fit, which did not see the new items.
//!
//! **Use it** for items like those of the fit. **Not** where new classes come in: fit again.
//!
//! Cost: embedding and search of the new items, and an index of all, built anew.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use likewise::distance::Metric;
use likewise::index::Hit;
use likewise::propagate::induction::{NEIGHBORS, Neighbor, shares};
use likewise_io::beliefs;
use likewise_io::items::{self, ItemRow};
use ndarray::{Array2, Axis, concatenate};

use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::query::{embedded, estimate_of_embedding};
use crate::run_folder::{Amendment, OUTSIDE, RunFolder, write_index};
use crate::source::{ReadAs, Source};
use crate::{Result, failed, labels};

/// Neighbours at which the recall of the index is measured.
const RECALL_AT: usize = 10;
/// Ids that a message names.
const NAMED: usize = 3;

/// What was added.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Added {
    /// New items.
    pub added: usize,
    /// Those of them without a label that are believed to be of a class.
    pub believed: usize,
    /// Items that the run has now.
    pub items: usize,
}

/// Adds the items of some data to the run at `path`, each id behind `prefix`.
///
/// Fails on ids that the run has already, on data of another kind than it was fitted on, where
/// another process writes into the folder, and where the run is damaged; it stays as it is then.
pub fn add(path: &Path, source: &Source, prefix: &str, at: &Environment) -> Result<Added> {
    let amendment = Amendment::begin(path)?;
    let run = &amendment.run;
    estimate(run, source, at)?.check(at.max_memory)?;
    let new = embedded(run, source, at)?;
    let (mut items, n) = (run.items()?, new.items.len());
    let mut added = new.items;
    for item in &mut added {
        item.id.insert_str(0, prefix);
    }
    check(&items, &added).map_err(|e| e.within(source.path().display()))?;
    let k = NEIGHBORS.min(items.len());
    let metric = run.similarity()?.metric();
    let hits = run.search(new.rows.view(), k, items.len(), false, at.monitor)?;
    let mut votes: Vec<HashMap<String, f64>> = hits
        .iter()
        .map(|hits| votes(hits, &items, metric))
        .collect();
    for (item, votes) in added.iter_mut().zip(&mut votes) {
        // What is known needs no neighbours.
        if let Some(label) = &item.label {
            votes.clear();
            if label != OUTSIDE {
                votes.insert(label.clone(), 1.0);
            }
        }
        // Ties to the first name.
        let best = (votes.iter()).max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(a.0)));
        item.pseudo_label = best.map(|(class, _)| class.clone());
        item.confidence = Some(best.map_or(0.0, |(_, &share)| share as f32));
    }
    let believed = added
        .iter()
        .filter(|item| item.label.is_none() && item.pseudo_label.is_some())
        .count();
    write_beliefs(&amendment, &added, &votes)?;
    warn_of_new_classes(&items, &added, at);
    items.extend(added);
    let rows = concatenate(Axis(0), &[run.embeddings()?.view(), new.rows.view()])
        .map_err(|e| failed(format!("{}: {e}", path.display())))?;
    items::write(amendment.file("items.parquet"), &items)?;
    let file = amendment.file("embeddings.npy");
    likewise_io::write_npy(&file, rows.view())?;
    let mut record = run.record()?;
    let (kind, k) = (run.index_kind()?, RECALL_AT.min(items.len()));
    let index = amendment.file("index");
    write_index(
        &index,
        (rows.view(), Some(&file)),
        kind,
        k,
        record.seed,
        at.monitor,
    )?;
    record.items = items.len();
    record.added += n;
    amendment.finish(record)?;
    Ok(Added {
        added: n,
        believed,
        items: items.len(),
    })
}

/// What [`add`] will cost.
pub fn estimate(run: &RunFolder, source: &Source, at: &Environment) -> Result<Estimate> {
    let shape = Source::open(&run.file("embeddings.npy"), ReadAs::default())?.shape(at)?;
    let new = run.as_fitted(source)?.shape(at)?.items;
    let (n, d) = ((shape.items + new) as f64, shape.views[0].1 as f64);
    let kind = run.index_kind()?;
    let needed = estimate_of_embedding(run, source, at)?;
    let needed = needed.resident(8.0 * n * d + 300.0 * n);
    // The beliefs come last, and a quarter of them again as they are read and written.
    let classes = labels::of(&run.items()?)?.n_classes() as f64;
    Ok(needed.index(kind, n, d).stage(10.0 * n * classes, 0.0))
}

/// Fails on ids that stand already.
fn check(items: &[ItemRow], added: &[ItemRow]) -> Result<()> {
    if added.is_empty() {
        return Err(failed("there are no items to add"));
    }
    let known: HashSet<&str> = items.iter().map(|item| item.id.as_str()).collect();
    let twice = added.iter().filter(|item| known.contains(item.id.as_str()));
    let twice: Vec<&str> = twice.map(|item| item.id.as_str()).collect();
    if twice.is_empty() {
        return Ok(());
    }
    Err(failed(format!(
        "{} of {} ids are in the run already ({}{}); nothing was added. Leave these items out, or \
         give all other ids by a `prefix`",
        twice.len(),
        added.len(),
        twice[..NAMED.min(twice.len())].join(", "),
        if twice.len() > NAMED { ", ..." } else { "" }
    )))
}

/// Warns where items are of classes that no item of the run has: the model has not learned them.
fn warn_of_new_classes(items: &[ItemRow], added: &[ItemRow], at: &Environment) {
    let class = |item: &ItemRow| item.label.clone().filter(|label| label != OUTSIDE);
    let known: HashSet<String> = items.iter().filter_map(class).collect();
    let mut new: Vec<String> = added.iter().filter_map(class).collect();
    new.retain(|class| !known.contains(class));
    let count = new.len();
    new.sort_unstable();
    new.dedup();
    if count > 0 {
        at.monitor.warn(format!(
            "{count} of the added items are of classes that the run does not have ({}{}): its model and its beliefs \
             know nothing of them; fit again with these labels",
            new[..NAMED.min(new.len())].join(", "),
            if new.len() > NAMED { ", ..." } else { "" }
        ));
    }
}

/// Shares of the classes among neighbours; what unsure ones leave goes to none.
fn votes(hits: &[Hit], items: &[ItemRow], metric: Metric) -> HashMap<String, f64> {
    let near = hits.iter().map(|hit| {
        let item = &items[hit.item];
        let label = item.label.as_ref();
        let outside = label.is_some_and(|label| label == OUTSIDE);
        let believed = match &item.pseudo_label {
            _ if outside => None,
            Some(class) => Some((class, item.confidence.unwrap_or(0.0))),
            None => label.map(|class| (class, 1.0)),
        };
        Neighbor {
            similarity: hit.similarity,
            believed,
        }
    });
    let shares = shares(near, metric);
    let named = shares
        .into_iter()
        .map(|(class, share)| (class.clone(), share));
    named.collect()
}

/// The beliefs of the run with those of the new items below.
fn write_beliefs(to: &Amendment, added: &[ItemRow], votes: &[HashMap<String, f64>]) -> Result<()> {
    let old = to.run.file("beliefs.npz");
    if !old.exists() {
        return Ok(());
    }
    let mut saved = beliefs::read(old)?;
    let classes = &saved.classes;
    let score = |(i, c): (usize, usize)| votes[i].get(&classes[c]).copied().unwrap_or(0.0);
    let scores = Array2::from_shape_fn((added.len(), classes.len()), score);
    let beliefs = &mut saved.beliefs;
    (beliefs.scores.append(Axis(0), scores.view())).map_err(|e| failed(format!("beliefs: {e}")))?;
    for item in added {
        let class = item.pseudo_label.as_ref();
        let class = class.and_then(|name| classes.iter().position(|own| own == name));
        beliefs.pseudo_label.push(class.map(|class| class as u32));
        beliefs.confidence.push(item.confidence.unwrap_or(0.0));
        beliefs
            .labeled
            .push(item.label.as_ref().is_some_and(|label| label != OUTSIDE));
        saved.ids.push(item.id.clone());
    }
    Ok(beliefs::write(
        to.file("beliefs.npz"),
        &saved.beliefs,
        &saved.classes,
        &saved.ids,
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(label: Option<&str>, believed: Option<(&str, f32)>) -> ItemRow {
        ItemRow {
            id: "i".into(),
            label: label.map(str::to_owned),
            pseudo_label: believed.map(|(class, _)| class.to_owned()),
            confidence: believed.map(|(_, sure)| sure),
            ..ItemRow::default()
        }
    }

    #[test]
    fn neighbours_vote_by_similarity_and_confidence() {
        let items = [
            item(None, Some(("a", 0.5))),
            item(Some("b"), None),
            item(None, None),
            item(Some("outside"), Some(("a", 0.9))),
        ];
        let hits = [(0, 1.0), (1, 0.5), (2, 1.0), (3, 1.0)]
            .map(|(item, similarity)| Hit { item, similarity });
        let votes = votes(&hits, &items, Metric::Cosine);
        assert!(
            (votes["a"] - 0.5 / 3.125).abs() < 1e-9 && (votes["b"] - 0.125 / 3.125).abs() < 1e-9
        );
        assert!(super::votes(&hits[2..], &items, Metric::Cosine).is_empty());
        assert!(super::votes(&[], &items, Metric::Cosine).is_empty());
    }

    #[test]
    fn ids_that_stand_already_are_named() {
        let said = check(&[item(None, None)], &[item(None, None)])
            .unwrap_err()
            .to_string();
        assert!(
            said.contains("1 of 1 ids are in the run already (i)"),
            "{said}"
        );
        assert!(check(&[], &[]).is_err());
    }
}
