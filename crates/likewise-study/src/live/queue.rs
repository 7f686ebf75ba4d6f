//! What to look at next: items in an order, the most urgent first.

use std::collections::HashMap;

use likewise::advise::outside::lof::{Lof, NEIGHBORS};
use likewise::advise::suspects::Suspects;
use likewise::{Collection, Graph, Label, Monitor, View, matrix, seed};
use ndarray::{Array2, ArrayView2};
use rand::seq::index::sample;
use serde::{Deserialize, Serialize};

use super::Shown;
use crate::{Result, duplicates};

/// Local outlier factor from which an item is far out.
const FAR_OUT: f64 = 1.5;
/// Known items that others are compared with.
const KNOWN: usize = 1000;

/// What a queue is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Items without a label, the least confident first.
    Uncertain,
    /// Labels that differ from what is believed without them, or from what the fit believed.
    Conflicting,
    /// Labels that the other labels contradict.
    Suspect,
    /// Items without a label that are likely none of the classes.
    Outside,
    /// Items that stand more than once.
    Duplicate,
    /// Items without a label, of which a label says most.
    Informative,
}

/// An item of a queue.
#[derive(Debug, Clone, PartialEq)]
pub struct Queued {
    /// Its row.
    pub row: usize,
    /// How urgent it is; larger is more so.
    pub score: f64,
    /// The class to look at.
    pub suggested: Option<String>,
    /// Rows of the items that it stands beside.
    pub with: Vec<usize>,
}

impl Queued {
    fn new(row: usize, score: f64) -> Self {
        Self {
            row,
            score,
            suggested: None,
            with: vec![],
        }
    }
}

/// The items of a queue by what is shown of them, the most urgent first (ties: smaller row); `rows` are
/// what they are compared by, and `graph` is of those.
///
/// Where there are too few labels for a kind nothing is in the queue. Fails when cancelled. Costs
/// O(n log n); of `Suspect` ten propagations, of `Outside` O(1000 n d), of `Duplicate` what
/// [`duplicates::find`] does.
pub fn queue(
    kind: Kind,
    shown: &Shown,
    rows: ArrayView2<f32>,
    graph: &Graph,
    seed: u64,
    monitor: &Monitor,
) -> Result<Vec<Queued>> {
    let mut found = match kind {
        Kind::Uncertain => open(shown, |row| 1.0 - f64::from(shown.confidence()[row])),
        Kind::Informative => informative(shown, graph),
        Kind::Conflicting => conflicting(shown, graph, monitor)?,
        Kind::Suspect => suspects(shown, graph, seed, monitor)?,
        Kind::Outside => outside(shown, rows, seed)?,
        Kind::Duplicate => return duplicated(shown, rows, seed, monitor),
    };
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.row.cmp(&b.row)));
    Ok(found)
}

/// Items without a label.
fn open(shown: &Shown, score: impl Fn(usize) -> f64) -> Vec<Queued> {
    let labels = shown.labeled().labels();
    let open = (0..labels.len()).filter(|&row| labels[row] == Label::Unknown);
    let queued = open.map(|row| Queued {
        suggested: believed(shown, row),
        ..Queued::new(row, score(row))
    });
    queued.collect()
}

fn believed(shown: &Shown, row: usize) -> Option<String> {
    let class = shown.beliefs()[row]?;
    Some(shown.labeled().classes()[class as usize].clone())
}

/// Items without a label by how much a label of them would say: how unsure one is of them, times how
/// much they weigh among their neighbours (beside the heaviest).
///
/// This is the one place that decides what is informative.
pub fn informative(shown: &Shown, graph: &Graph) -> Vec<Queued> {
    let degrees = graph.degrees();
    let most = degrees.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let mut found = open(shown, |row| {
        (1.0 - f64::from(shown.confidence()[row])) * degrees[row] / most
    });
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.row.cmp(&b.row)));
    found
}

/// Labels that the neighbours of the item believe otherwise: the share of the edges, by weight and
/// confidence, that go to another class, where that is the largest one.
fn conflicting(shown: &Shown, graph: &Graph, monitor: &Monitor) -> Result<Vec<Queued>> {
    monitor.check()?;
    let labeled = shown.labeled();
    let mut found = Vec::new();
    for (row, label) in labeled.labels().iter().enumerate() {
        let known = match label {
            Label::Known(class) => Some(*class),
            // What is hidden from the fit can be held against its belief all the same.
            Label::Unknown if labeled.is_hidden(row) => {
                labeled.name(row).and_then(|name| labeled.class(name))
            }
            Label::Outside | Label::Unknown => continue,
        };
        let Some(known) = known else { continue };
        let mut votes: HashMap<u32, f64> = HashMap::new();
        let (neighbors, weights) = graph.row(row);
        for (&neighbor, &weight) in neighbors.iter().zip(weights) {
            let neighbor = neighbor as usize;
            if let Some(class) = shown.beliefs()[neighbor] {
                let sure = f64::from(shown.confidence()[neighbor]);
                *votes.entry(class).or_default() += f64::from(weight) * sure;
            }
        }
        let sum: f64 = votes.values().sum();
        let best = (votes.iter()).max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(a.0)));
        if let Some((&class, &vote)) = best
            && class != known
            && vote > 0.0
        {
            found.push(Queued {
                suggested: Some(labeled.classes()[class as usize].clone()),
                ..Queued::new(row, vote / sum)
            });
        }
    }
    Ok(found)
}

fn suspects(shown: &Shown, graph: &Graph, seed: u64, monitor: &Monitor) -> Result<Vec<Queued>> {
    let labels = shown.labeled().as_labels()?;
    let checkable = labels.by_class().iter().filter(|own| own.len() > 1).count();
    if checkable < 2 {
        return Ok(vec![]);
    }
    let found = Suspects::new().seed(seed).find(graph, &labels, monitor)?;
    let each = found.suspects.iter().map(|suspect| Queued {
        suggested: Some(labels.classes()[suspect.suggested as usize].clone()),
        ..Queued::new(suspect.item, suspect.margin())
    });
    Ok(each.collect())
}

fn outside(shown: &Shown, rows: ArrayView2<f32>, seed: u64) -> Result<Vec<Queued>> {
    let labels = shown.labeled().labels();
    let mut known: Vec<usize> = (0..labels.len())
        .filter(|&row| labels[row].class().is_some())
        .collect();
    if known.len() > KNOWN {
        let mut rng = seed::stream(seed, "known items that others are compared with");
        let drawn = sample(&mut rng, known.len(), KNOWN).into_vec();
        known = drawn.into_iter().map(|place| known[place]).collect();
        known.sort_unstable();
    }
    if known.len() < 2 {
        return Ok(vec![]);
    }
    let part = |own: &[usize]| matrix::l2_normalize(matrix::select_rows(rows, own));
    let lof = Lof::fit(part(&known).view(), NEIGHBORS)?;
    let asked: Vec<usize> = (0..labels.len())
        .filter(|&row| labels[row] == Label::Unknown)
        .collect();
    let factors = lof.factors(part(&asked).view())?;
    let far = asked.into_iter().zip(factors);
    let far = far.filter(|(_, factor)| *factor > FAR_OUT);
    Ok(far.map(|(row, factor)| Queued::new(row, factor)).collect())
}

/// Groups one after the other, those of different labels first.
fn duplicated(
    shown: &Shown,
    rows: ArrayView2<f32>,
    seed: u64,
    monitor: &Monitor,
) -> Result<Vec<Queued>> {
    let ids = shown.items().rows().iter().map(|item| item.id.clone());
    // Names alone: the rows are given beside.
    let view = View {
        name: "embedding".into(),
        matrix: Array2::zeros((rows.nrows(), 0)),
        present: None,
    };
    let mut collection = Collection::new(ids.collect(), vec![view])?;
    collection.labels = Some(shown.labeled().as_labels()?);
    let found = duplicates::find(&collection, rows, duplicates::THRESHOLD, seed, monitor)?;
    let mut groups: Vec<_> = found.groups.iter().collect();
    groups.sort_by_key(|group| (!group.conflicting, group.group));
    let mut queued = Vec::new();
    for group in groups {
        let own: Vec<usize> = group.items.iter().map(|member| member.item).collect();
        for member in &group.items {
            queued.push(Queued {
                with: own
                    .iter()
                    .copied()
                    .filter(|&row| row != member.item)
                    .collect(),
                ..Queued::new(member.item, f64::from(member.similarity))
            });
        }
    }
    Ok(queued)
}
