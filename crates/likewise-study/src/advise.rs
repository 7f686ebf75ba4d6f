//! Advice about the labels of a run: what to label next, what that is likely worth, and from which
//! similarity on two items are the same.
//!
//! What to label and the threshold are asked of the embedding of the run and of the labels that its fit saw
//! ([`likewise::advise`]), what labels are worth of its whitened features, which have learned from none. Where a fit hid labels, or kept them for its test, they are hidden here too.

mod shown;
mod worth;

use std::path::Path;

use likewise::advise::next::{Ask, Pool, Strategy, Suggestion};
use likewise::advise::shares::shares;
use likewise::advise::threshold::{Finder, Threshold};
use likewise::eval::bootstrap::Estimate as Interval;
use likewise::{Graph, Label};
use likewise_io::items::ItemRow;
use ndarray::ArrayView2;
use serde::Serialize;

pub use self::shown::{Measured, Shown, Told, askable, graph, taught};
pub use self::worth::Worth;
use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::query::Before;
use crate::run_folder::RunFolder;
use crate::{Result, live, run_graph};

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wanted {
    /// Items to label next.
    pub budget: usize,
    /// How they are chosen.
    pub strategy: Strategy,
    /// Precision of "the same", above 0 and below 1.
    pub precision: f64,
    /// Seed of every random step.
    pub seed: u64,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            budget: 50,
            strategy: Strategy::Auto,
            precision: 0.95,
            seed: 0,
        }
    }
}

/// The advice.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// Items of the run.
    pub items: usize,
    /// Items whose label the fit saw, or that was given on its page since.
    pub labels: usize,
    /// Items that may be asked for.
    pub unlabeled: usize,
    /// How the next ones were chosen.
    pub strategy: Strategy,
    /// What to label next, the first to be labeled first.
    pub next: Vec<Next>,
    /// What labels are worth; absent where too few are there to tell.
    pub curve: Option<Worth>,
    /// "The same" at the wanted precision; absent where it cannot be had, or nothing can tell.
    pub threshold: Option<Threshold>,
    /// Why something is absent, and what must be said of the rest.
    pub notes: Vec<String>,
}

/// Columns of the file of what to label next.
pub(crate) const ADVISED: [&str; 5] = ["id", "label", "believed", "sure", "why"];

impl Advice {
    /// Writes what to label next as a table whose column of labels is to be filled in.
    ///
    /// Fails where the file cannot be written.
    pub fn write(&self, file: &Path) -> Result<()> {
        let lines = self.next.iter().map(|next| {
            [
                next.id.clone(),
                String::new(),
                next.believed.clone().unwrap_or_default(),
                next.sure.map_or(String::new(), |sure| format!("{sure:.3}")),
                next.why.clone(),
            ]
        });
        Ok(likewise_io::write_lines(file, &ADVISED, lines)?)
    }
}

/// An item to be labeled.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Next {
    /// Place among them, from 1.
    pub rank: usize,
    /// Its id.
    pub id: String,
    /// The class that the labels near it suggest; null where none reaches it.
    pub believed: Option<String>,
    /// How sure that is, 0 to 1. Where there are ten labels to keep back in turn: the probability that they give it by the
    /// whitened features, since the embedding has learned from all of them and is surer than it is right; null where these
    /// believe another class. Else its share of what reaches the item.
    pub sure: Option<f64>,
    /// Why it is asked for.
    pub why: String,
    /// Its row.
    #[serde(skip)]
    pub item: usize,
    /// The class that is believed.
    #[serde(skip)]
    class: Option<u32>,
}

/// Advice about the labels of a run.
///
/// Fails on a budget of 0, on a precision that is not between 0 and 1, where the run is damaged, and when
/// cancelled.
pub fn advise(run: &RunFolder, wanted: &Wanted, at: &Environment) -> Result<Advice> {
    let finder = Finder::new(wanted.precision).seed(wanted.seed);
    finder.check()?;
    if wanted.budget == 0 {
        return Err(crate::Error::parameter("budget", 0, "must be at least 1"));
    }
    estimate(run, at)?.check(at.max_memory)?;
    // What was labeled on its page since is not asked for again.
    let now = live::since(run.root(), run.items()?, at.monitor)?;
    let given = now.given;
    let shown = Shown::of(run, &now.items, given > 0)?;
    drop(now);
    let mut notes = shown.notes.clone();
    if given > 0 {
        notes.push(format!("{SINCE}: {given}. {BELIEVED}"));
    }
    let (items, embeddings) = run_graph::read(run)?;
    let graph = run_graph::build(run, embeddings.view(), wanted.seed, at)?;
    let open = shown.askable.iter().zip(shown.labels.items());
    let open = open.filter(|&(&askable, &label)| askable && label == Label::Unknown);
    let open = open.count();
    let told_apart_by = run_graph::told_apart_by(embeddings.view(), run.similarity()?.metric());
    let asking = Asking {
        items: &items,
        graph: &graph,
        told_apart_by: told_apart_by.view(),
        shown: &shown,
    };
    let (mut next, unsure) = asking.next(wanted, at)?;
    drop(told_apart_by);
    drop(graph);
    let believed: Vec<(usize, u32)> = (next.iter())
        .filter_map(|next| Some((next.item, next.class?)))
        .collect();
    let start = || Before::of(run, at)?.whitened_items();
    let curve = match shown.curve(start, &believed, wanted.seed, at.monitor)? {
        Ok(measured) => {
            let worth = shown.worth(&measured.curve, wanted.budget);
            notes.extend(worth.notes());
            let known = next.iter_mut().filter(|next| next.class.is_some());
            for (next, sure) in known.zip(measured.sure.into_iter().flatten()) {
                next.sure = sure;
            }
            Some(worth)
        }
        Err(why) => {
            notes.push(why);
            None
        }
    };
    if !unsure && !next.is_empty() {
        notes.push(shown.nothing_is_unsure().to_owned());
    }
    if open == 0 {
        notes.push("every item has a label: there is nothing to label next".to_owned());
    } else if open < wanted.budget {
        notes.push(format!(
            "{open} items are without a label, fewer than the {} that were asked for",
            wanted.budget
        ));
    }
    let strategy = wanted.strategy.resolved();
    let similarity = run.similarity()?;
    let threshold = match shown.threshold(&finder, embeddings.view(), &similarity, at.monitor) {
        Ok(threshold) => Some(threshold),
        Err(why) => {
            at.monitor.check()?;
            notes.push(why);
            None
        }
    };
    Ok(Advice {
        items: items.len(),
        labels: shown.labels.n_known(),
        unlabeled: open,
        strategy,
        next,
        curve,
        threshold,
        notes,
    })
}

/// What must be said of labels that were given on the page of a run.
const SINCE: &str = "labels that were given on the page of the run since its fit, and count here";
/// What must be said of beliefs beside those of the page.
const BELIEVED: &str = "What is believed is what all labels say over the graph of the embedding; the page keeps to \
                        the belief of the fit where those given since do not change it";

/// What [`advise`] will cost.
pub fn estimate(run: &RunFolder, at: &Environment) -> Result<Estimate> {
    let (n, d) = (run.record()?.items as f64, run.config()?.dimensions as f64);
    // The features as they are read, powered, whitened and searched, beside the embeddings.
    Ok(run_graph::estimate(run, at)?.stage(32.0 * n * d, 0.0))
}

/// A run that is asked what to label next.
struct Asking<'a> {
    items: &'a [ItemRow],
    graph: &'a Graph,
    /// Rows whose cosine tells copies.
    told_apart_by: ArrayView2<'a, f32>,
    shown: &'a Shown,
}

impl Asking<'_> {
    /// What to label next, and whether anything is unsure.
    fn next(&self, wanted: &Wanted, at: &Environment) -> Result<(Vec<Next>, bool)> {
        let labels = &self.shown.labels;
        let shares = shares(self.graph, labels, at.monitor)?;
        let pool = Pool {
            graph: self.graph,
            labels,
            shares: shares.view(),
            askable: &self.shown.askable,
            rows: Some(self.told_apart_by),
        };
        let ask = Ask::new(wanted.budget).strategy(wanted.strategy);
        let batch = ask.next(&pool, at.monitor)?;
        let named = batch.iter().zip(1..).map(|(s, rank)| self.named(s, rank));
        Ok((named.collect(), pool.is_unsure()))
    }

    fn named(&self, of: &Suggestion, rank: usize) -> Next {
        let name = |class: u32| self.shown.labels.classes()[class as usize].clone();
        let neighbors = self.graph.row(of.item).0;
        let labeled = |&&j: &&u32| self.shown.labels[j as usize] != Label::Unknown;
        let labeled = neighbors.iter().filter(labeled).count();
        let near = match labeled {
            0 => format!("none of its {} neighbours has a label", neighbors.len()),
            _ => format!(
                "{} of its {} neighbours have no label",
                of.stands_for,
                neighbors.len()
            ),
        };
        let why = match (of.believed, of.runner_up) {
            (None, _) => format!("no label reaches it; {near}"),
            (Some((first, a)), Some((second, b))) => format!(
                "{} {a:.2}, {} {b:.2} of what reaches it; {near}",
                name(first),
                name(second)
            ),
            (Some(_), None) => near,
        };
        Next {
            rank,
            id: self.items[of.item].id.clone(),
            believed: of.believed.map(|(class, _)| name(class)),
            sure: of.believed.map(|(_, share)| share),
            why,
            item: of.item,
            class: of.believed.map(|(class, _)| class),
        }
    }
}

impl Advice {
    /// What the next labels are worth, in a line; none where that cannot be told.
    pub fn worth_in_words(&self) -> Option<String> {
        let curve = self.curve.as_ref()?;
        let more = curve.then.labels - curve.now.labels;
        let of = |e: &Interval| format!("{:.3} [{:.3}, {:.3}]", e.value, e.low, e.high);
        Some(format!(
            "share of beliefs that are right: {} with {} labels; {more} more, drawn at random: {:+.3} [{:+.3}, \
             {:+.3}]",
            of(&curve.now.right),
            curve.now.labels,
            curve.gain.value,
            curve.gain.low,
            curve.gain.high
        ))
    }

    /// The threshold in a line; none where there is none.
    pub fn threshold_in_words(&self) -> Option<String> {
        let found = self.threshold.as_ref()?;
        let of = |e: &Interval| format!("{:.3} [{:.3}, {:.3}]", e.value, e.low, e.high);
        Some(format!(
            "the same at a precision of {}: similarity {:.4} or more; on {} other items precision {}, and {} \
             of the pairs of one class are found ({:.3} of all pairs are of one class)",
            found.wanted,
            found.similarity,
            found.items,
            of(&found.precision),
            of(&found.recall),
            found.same_share
        ))
    }
}
