//! Which labels of a run its fit saw, which it was not shown, and which items may be asked for.

use likewise::advise::curve::{Curve, Measure};
use likewise::advise::shares::shares;
use likewise::advise::temperature::Temperature;
use likewise::advise::threshold::{Finder, Threshold};
use likewise::distance::Metric;
use likewise::{Embedding, ErrorKind, Graph, Labels, Monitor, Part, Similarity, matrix};
use likewise_io::items::ItemRow;
use ndarray::{Array2, ArrayView2};

use super::worth::Worth;
use crate::run_folder::RunFolder;
use crate::study::{Protocol, SplitKind};
use crate::{Result, labels, run_graph};

/// Items up to which the curve is drawn five times; beyond, twice.
const FIVE_TIMES: usize = 50_000;
/// What is said where there is no curve.
const UNTOLD: &str = "what more labels are worth cannot be told";

/// What was found, or why there is nothing.
pub type Told<T> = std::result::Result<T, String>;

/// What the whitened items say of the labels.
pub struct Measured {
    /// What labels are worth.
    pub curve: Curve,
    /// How sure each of the believed classes is that was asked for, none of a class that is not the first of what the
    /// whitened items say; `None` where too few labels could be kept back in turn to calibrate it.
    pub sure: Option<Vec<Option<f64>>>,
}

/// What the advice may know of the labels.
pub struct Shown {
    /// The labels that the fit saw; all others are unknown.
    pub(super) labels: Labels,
    /// Items that may be asked for.
    pub(super) askable: Vec<bool>,
    /// Whether some were asked for, by advice or on the page of the run.
    asked_for: bool,
    /// What must be said of them.
    pub(super) notes: Vec<String>,
    /// All labels that are known, for the items below.
    all: Labels,
    /// Labeled items that nothing was learned from; or why there are none.
    kept: Told<Vec<usize>>,
}

impl Shown {
    /// Of the items of a run, with their labels as they are now, and whether any were given on its page since. Fails where
    /// the run is damaged.
    pub fn of(run: &RunFolder, items: &[ItemRow], given: bool) -> Result<Self> {
        let (protocol, record) = (run.config()?.protocol, run.record()?);
        record.check_single_labels("advise")?;
        let all = labels::of(items)?;
        let hides = protocol.labels_per_class.is_some();
        let seen = if hides {
            seen(run, items)?
        } else {
            taught(items, &protocol)
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
                 a fit with `split item` keeps some back"
                    .to_owned(),
            )
        } else {
            Ok((0..items.len()).filter(kept).collect())
        };
        let asked_for = given || record.inputs.is_some_and(|inputs| inputs.asked_for);
        Ok(Self {
            labels,
            askable,
            asked_for,
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

    /// The curve of these labels, or why there is none, by the whitened items that `start` gives: an embedding has
    /// learned from the very labels that a curve keeps back, and nearly all of them would be believed rightly there. By
    /// the same items, how sure it is that these are of these classes.
    ///
    /// Costs a graph, and what [`Measure`] does. Fails when cancelled, and where the memory is too small.
    pub fn curve(
        &self,
        start: impl FnOnce() -> Result<Array2<f32>>,
        believed: &[(usize, u32)],
        seed: u64,
        monitor: &Monitor,
    ) -> Result<Told<Measured>> {
        let measure = || -> Result<Option<Measured>> {
            let graph = graph(start()?.view(), Metric::Cosine, seed, monitor)?;
            let repeats = if graph.n() > FIVE_TIMES { 2 } else { 5 };
            let measure = Measure::new().repeats(repeats).seed(seed);
            let Some(curve) = measure.measure(&graph, &self.labels, monitor)? else {
                return Ok(None);
            };
            let sure = match Temperature::fit(&curve.held_out)? {
                Some(temperature) if !believed.is_empty() => {
                    let shares = shares(&graph, &self.labels, &monitor.quiet())?;
                    let sure = |&(item, class): &(usize, u32)| {
                        let row = shares.row(item);
                        let own = row[class as usize];
                        // It was fitted on first classes.
                        let is_first = own > 0.0 && row.iter().all(|&share| share <= own);
                        is_first.then(|| f64::from(temperature.apply(own.min(1.0) as f32)))
                    };
                    Some(believed.iter().map(sure).collect())
                }
                _ => None,
            };
            Ok(Some(Measured { curve, sure }))
        };
        match measure() {
            Ok(Some(measured)) => Ok(Ok(measured)),
            Ok(None) => Ok(Err(format!("{UNTOLD}: two classes need three labels"))),
            Err(e) if e.kind() == ErrorKind::Data => Ok(Err(format!("{UNTOLD}: {e}"))),
            Err(e) => Err(e),
        }
    }

    /// What a budget of labels is worth by the curve of these.
    pub fn worth(&self, curve: &Curve, budget: usize) -> Worth {
        Worth::of(curve, self.labels.n_known(), budget, self.asked_for)
    }

    /// The threshold by the labels that nothing was learned from, or why there is none; `rows` are the embedding of
    /// the run, of this similarity.
    pub fn threshold(
        &self,
        finder: &Finder,
        rows: ArrayView2<f32>,
        similarity: &Similarity,
        monitor: &Monitor,
    ) -> Told<Threshold> {
        let kept = self.kept.as_ref().map_err(Clone::clone)?;
        // Of the others nothing is asked.
        let embedding = Embedding::new(matrix::select_rows(rows, kept), similarity);
        let all: Vec<usize> = (0..kept.len()).collect();
        let found = finder.find(&embedding, &self.all.select(kept), &all, monitor);
        let found = found.map_err(|e| format!("no threshold: {e}"))?;
        found.ok_or_else(|| {
            "no similarity has the precision that is wanted of \"the same\"; a lower one may be had".to_owned()
        })
    }
}

/// The graph that advice goes by, of rows (n x d) that compare by a metric: 15 neighbours a row.
///
/// Fails on NaN, and when cancelled. Up to 100,000 rows the neighbours are exact.
pub fn graph(rows: ArrayView2<f32>, metric: Metric, seed: u64, monitor: &Monitor) -> Result<Graph> {
    run_graph::of_rows(rows, metric, seed, monitor)
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

/// Which labels of a run the advice may go by, as far as its split says: none that are tested on. Where a fit hid labels,
/// its draws say it instead.
pub fn taught(items: &[ItemRow], protocol: &Protocol) -> Vec<bool> {
    let all = protocol.labels_per_class.is_some() || protocol.refits();
    items.iter().map(|item| all || !tested(item)).collect()
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
