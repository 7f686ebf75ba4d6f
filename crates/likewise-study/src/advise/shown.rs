//! Which labels of a run its fit saw, which it was not shown, and which items may be asked for.

use likewise::advise::threshold::{Finder, Threshold};
use likewise::{Embedding, Labels, Part};
use likewise_io::items::ItemRow;

use crate::environment::Environment;
use crate::run_folder::RunFolder;
use crate::study::{Protocol, SplitKind};
use crate::{Result, labels};

/// What the advice may know of the labels.
pub(super) struct Shown {
    /// The labels that the fit saw; all others are unknown.
    pub(super) labels: Labels,
    /// Items that may be asked for.
    pub(super) askable: Vec<bool>,
    /// What must be said of them.
    pub(super) notes: Vec<String>,
    /// All labels that are known, for the items below.
    all: Labels,
    /// Labeled items that nothing was learned from; or why there are none.
    kept: std::result::Result<Vec<usize>, &'static str>,
}

impl Shown {
    /// Fails where the run is damaged.
    pub(super) fn of(run: &RunFolder, items: &[ItemRow]) -> Result<Self> {
        let (protocol, record) = (run.config()?.protocol, run.record()?);
        record.check_single_labels("advise")?;
        let all = labels::of(items)?;
        let hides = protocol.labels_per_class.is_some();
        let seen = if hides {
            seen(run, items)?
        } else {
            let of = |item: &ItemRow| protocol.refits() || !tested(item);
            items.iter().map(of).collect()
        };
        let labels = all.masked(|item| seen[item]);
        let askable = askable(items, record.added, &protocol);
        let mut notes = Vec::new();
        if hides {
            notes.push(
                "the fit hid labels, and so does this: items are asked for whose label is known to the data"
                    .to_owned(),
            );
        }
        if record.added > 0 {
            notes.push(format!(
                "the {} items that were added since the fit are not asked for: fit data that hold them",
                record.added
            ));
        }
        let kept = |item: &usize| {
            let apart = match protocol.split {
                SplitKind::Folds => hides && !seen[*item],
                _ => tested(&items[*item]),
            };
            apart && all[*item].class().is_some()
        };
        let kept = if protocol.refits() || (protocol.split == SplitKind::Folds && !hides) {
            Err(
                "no labels were kept from learning, so a threshold cannot be measured; \
                 a fit with `split item` keeps some back",
            )
        } else {
            Ok((0..items.len()).filter(kept).collect())
        };
        Ok(Self {
            labels,
            askable,
            notes,
            all,
            kept,
        })
    }

    /// What is said where nothing is uncertain.
    pub(super) fn nothing_is_unsure(&self) -> &'static str {
        let classes = self.labels.by_class();
        match classes.iter().filter(|items| !items.is_empty()).count() {
            1 => {
                "nothing is uncertain, since all labels are of one class: what stands for many other items comes \
                 first; label some of another class"
            }
            _ => {
                "nothing is uncertain: all that the labels say of an item is of one class, so what stands for many \
                 other items comes first"
            }
        }
    }

    /// The threshold by the labels that nothing was learned from, or why there is none.
    pub(super) fn threshold(
        &self,
        finder: &Finder,
        embedding: &Embedding,
        at: &Environment,
    ) -> std::result::Result<Threshold, String> {
        let kept = self.kept.as_ref().map_err(|why| (*why).to_owned())?;
        let found = finder.find(embedding, &self.all, kept, at.monitor);
        let found = found.map_err(|e| format!("no threshold: {e}"))?;
        found.ok_or_else(|| {
            "no similarity has the precision that is wanted of \"the same\"; a lower one may be had".to_owned()
        })
    }
}

/// Whether an item is there to be tested on.
fn tested(item: &ItemRow) -> bool {
    matches!(item.split, Some(Part::Query | Part::Gallery | Part::Test))
}

/// Which items of a run may be asked for, labeled ones apart: not those that are tested on, nor the last ones, which
/// were `added` and which its data do not hold.
pub fn askable(items: &[ItemRow], added: usize, protocol: &Protocol) -> Vec<bool> {
    let fitted = items.len() - added.min(items.len());
    let kept = protocol.labels_per_class.is_some() || !protocol.refits();
    let each = items.iter().enumerate();
    each.map(|(row, item)| row < fitted && !(kept && tested(item)))
        .collect()
}

/// Whether the fit of the first draw saw the label of each item.
fn seen(run: &RunFolder, items: &[ItemRow]) -> Result<Vec<bool>> {
    let drawn = items.iter().any(|item| item.drawn.is_some());
    if drawn {
        let first = |draws: &String| draws.split(' ').any(|draw| draw == "0");
        let seen = items
            .iter()
            .map(|item| item.drawn.as_ref().is_some_and(first));
        return Ok(seen.collect());
    }
    let saved = likewise_io::beliefs::read(run.part("beliefs.npz")?)?;
    let labeled = saved.ids.iter().zip(&saved.beliefs.labeled);
    let labeled: std::collections::HashMap<&str, bool> = labeled
        .map(|(id, &labeled)| (id.as_str(), labeled))
        .collect();
    let seen = items
        .iter()
        .map(|item| labeled.get(item.id.as_str()).copied().unwrap_or(false));
    Ok(seen.collect())
}
