//! What to look at next: items in an order, the most urgent first.

use std::collections::HashMap;

use likewise::advise::next::{Ask, Pool};
use likewise::advise::outside::lof::{Lof, NEIGHBORS};
use likewise::advise::outside::reach::Reached;
use likewise::advise::outside::share::Inside;
use likewise::advise::shares::shares;
use likewise::advise::suspects::Suspects;
use likewise::distance::Metric;
use likewise::{Collection, Graph, Label, Labels, Monitor, View, matrix, seed};
use ndarray::{Array2, ArrayView2};
use rand::seq::index::sample;
use serde::{Deserialize, Serialize};

use super::Shown;
use crate::{Result, duplicates, run_graph};

/// Local outlier factor from which an item is far out.
const FAR_OUT: f64 = 1.5;
/// Known items that others are compared with.
const KNOWN: usize = 1000;

/// Items that one of a group is said to stand beside.
const BESIDE: usize = 20;
/// Items of a batch of what to label next.
pub const BATCH: usize = 100;

/// What a queue is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Items without a label, the least confident first.
    Uncertain,
    /// Labels that the neighbours of the item believe otherwise.
    Conflicting,
    /// Labels that the other labels contradict.
    Suspect,
    /// Items without a label that are likely none of the classes.
    Outside,
    /// Items that stand more than once.
    Duplicate,
    /// What to label next, at most [`BATCH`] in the order in which they were chosen.
    Informative,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Informative,
        Self::Uncertain,
        Self::Conflicting,
        Self::Suspect,
        Self::Outside,
        Self::Duplicate,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uncertain => "uncertain",
            Self::Conflicting => "conflicting",
            Self::Suspect => "suspect",
            Self::Outside => "outside",
            Self::Duplicate => "duplicate",
            Self::Informative => "informative",
        }
    }
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
    /// Rows of the items that it stands beside, the first 20: all of a large group would be its square.
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

/// What the items of a run are compared by.
#[derive(Debug, Clone, Copy)]
pub struct Compared<'a> {
    /// The rows that they are searched by (n x d).
    pub rows: ArrayView2<'a, f32>,
    /// How these compare.
    pub metric: Metric,
    /// The graph of them.
    pub graph: &'a Graph,
    /// Which items may be asked for.
    pub askable: &'a [bool],
    /// Which labels say what to ask for: none that is tested on.
    pub taught: &'a [bool],
    /// Seed of every random step.
    pub seed: u64,
}

/// The items of a queue by what is shown of them, the most urgent first (ties: smaller row).
///
/// Where there are too few labels for a kind nothing is in the queue. Fails when cancelled. Costs
/// O(n log n); of `Suspect` ten propagations, of `Informative` what [`Ask`] does for a batch, of `Outside`
/// six propagations or O(1000 n d), of `Duplicate` what [`duplicates::find`] does.
pub fn queue(kind: Kind, shown: &Shown, by: &Compared, monitor: &Monitor) -> Result<Vec<Queued>> {
    let mut found = match kind {
        Kind::Uncertain => open(shown, by, |row| 1.0 - f64::from(shown.confidence()[row])),
        // Both have an order of their own.
        Kind::Informative => return informative(shown, by, monitor),
        Kind::Duplicate => return duplicated(shown, by, monitor),
        Kind::Conflicting => conflicting(shown, by.graph, monitor)?,
        Kind::Suspect => suspects(shown, by, monitor)?,
        Kind::Outside => outside(shown, by, monitor)?,
    };
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.row.cmp(&b.row)));
    Ok(found)
}

/// Items without a label that may be asked for.
fn open(shown: &Shown, by: &Compared, score: impl Fn(usize) -> f64) -> Vec<Queued> {
    let labels = shown.labeled().labels();
    let is_open = |&row: &usize| by.askable[row] && labels[row] == Label::Unknown;
    let open = (0..labels.len()).filter(is_open);
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

/// A batch of items without a label, chosen as `likewise advise` chooses: each in sight of those before
/// it, by what is shown as labeled now, without the labels that are tested on.
fn informative(shown: &Shown, by: &Compared, monitor: &Monitor) -> Result<Vec<Queued>> {
    let labels = shown.labeled().as_labels()?.masked(|row| by.taught[row]);
    let shares = shares(by.graph, &labels, monitor)?;
    let told_apart_by = run_graph::told_apart_by(by.rows, by.metric);
    let pool = Pool {
        graph: by.graph,
        labels: &labels,
        shares: shares.view(),
        askable: by.askable,
        rows: Some(told_apart_by.view()),
    };
    let batch = Ask::new(BATCH).next(&pool, monitor)?;
    let each = batch.iter().map(|next| Queued {
        suggested: believed(shown, next.item),
        ..Queued::new(next.item, next.worth)
    });
    Ok(each.collect())
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
            // Of one that is none of the classes nothing is believed.
            let is_outside = labeled.labels()[neighbor] == Label::Outside;
            if let Some(class) = shown.beliefs()[neighbor].filter(|_| !is_outside) {
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

fn suspects(shown: &Shown, by: &Compared, monitor: &Monitor) -> Result<Vec<Queued>> {
    let labels = shown.labeled().as_labels()?;
    let checkable = labels.by_class().iter().filter(|own| own.len() > 1).count();
    if checkable < 2 {
        return Ok(vec![]);
    }
    let found = Suspects::new()
        .seed(by.seed)
        .find(by.graph, &labels, monitor)?;
    let each = found.suspects.iter().map(|suspect| Queued {
        suggested: Some(labels.classes()[suspect.suggested as usize].clone()),
        ..Queued::new(suspect.item, suspect.margin())
    });
    Ok(each.collect())
}

/// As many as look like none of the classes by how little of their labels arrives, where some clearly do; else
/// those that lie far from all labeled ones.
fn outside(shown: &Shown, by: &Compared, monitor: &Monitor) -> Result<Vec<Queued>> {
    let labels = shown.labeled().as_labels()?;
    let found = match unreached(&labels, by, monitor)? {
        Some(found) => found,
        None => far_out(&labels, by)?,
    };
    let of = |(row, score): (usize, f64)| Queued::new(row, score);
    Ok(found.into_iter().map(of).collect())
}

/// The items that the labels reach least, as many as are clearly of no class; none where nothing is clear.
fn unreached(
    labels: &Labels,
    by: &Compared,
    monitor: &Monitor,
) -> Result<Option<Vec<(usize, f64)>>> {
    if labels.n_known() == 0 {
        return Ok(None);
    }
    let Some(reached) = Reached::by_folds(by.graph, labels, by.seed, monitor)? else {
        return Ok(None);
    };
    let open = reached.open.len() as f64;
    let shares = reached.shares(|_| true)?;
    let sizes = reached.labeled.iter().zip(shares);
    let sizes: Vec<f64> = sizes.map(|(&n, share)| n as f64 + share * open).collect();
    let inside = Inside::of(&reached.known, &reached.weight(&sizes)?, &reached.scores)?;
    if !inside.is_part() {
        return Ok(None);
    }
    let found = reached.open.into_iter().zip(reached.scores);
    let mut found: Vec<(usize, f64)> = found.filter(|(row, _)| by.askable[*row]).collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    found.truncate(((1.0 - inside.share) * found.len() as f64).round() as usize);
    Ok(Some(found))
}

/// Labeled items, of no class more than the class in the middle has: where a class got many labels at once they lie
/// so close that all else looks far out beside them. All of the classes' items where they have as many.
fn even(labels: &Labels, seed: u64) -> Vec<usize> {
    let by_class = labels.by_class();
    let mut sizes: Vec<usize> = by_class.iter().map(Vec::len).filter(|&n| n > 0).collect();
    sizes.sort_unstable();
    let Some(&most) = sizes.get(sizes.len().saturating_sub(1) / 2) else {
        return vec![];
    };
    let mut rng = seed::stream(seed, "labeled items of classes that have many");
    let mut known = Vec::new();
    for own in by_class {
        if own.len() <= most {
            known.extend(own);
        } else {
            let drawn = sample(&mut rng, own.len(), most).into_iter();
            known.extend(drawn.map(|place| own[place]));
        }
    }
    known.sort_unstable();
    known
}

/// Items whose local outlier factor among the labeled ones is large.
fn far_out(labels: &Labels, by: &Compared) -> Result<Vec<(usize, f64)>> {
    let mut known = even(labels, by.seed);
    if known.len() > KNOWN {
        let mut rng = seed::stream(by.seed, "known items that others are compared with");
        let drawn = sample(&mut rng, known.len(), KNOWN).into_vec();
        known = drawn.into_iter().map(|place| known[place]).collect();
        known.sort_unstable();
    }
    if known.len() < 2 {
        return Ok(vec![]);
    }
    let rows = run_graph::told_apart_by(by.rows, by.metric);
    let part = |own: &[usize]| matrix::l2_normalize(matrix::select_rows(rows.view(), own));
    let lof = Lof::fit(part(&known).view(), NEIGHBORS)?;
    let asked: Vec<usize> = (0..labels.len())
        .filter(|&row| by.askable[row] && labels[row] == Label::Unknown)
        .collect();
    let factors = lof.factors(part(&asked).view())?;
    let far = asked.into_iter().zip(factors);
    Ok(far.filter(|(_, factor)| *factor > FAR_OUT).collect())
}

/// Groups one after the other, those of different labels first.
fn duplicated(shown: &Shown, by: &Compared, monitor: &Monitor) -> Result<Vec<Queued>> {
    let rows = by.rows;
    let ids = shown.items().rows().iter().map(|item| item.id.clone());
    // Names alone: the rows are given beside.
    let view = View {
        name: "embedding".into(),
        matrix: Array2::zeros((rows.nrows(), 0)),
        present: None,
    };
    let mut collection = Collection::new(ids.collect(), vec![view])?;
    collection.labels = Some(shown.labeled().as_labels()?);
    let found = duplicates::find(&collection, rows, duplicates::THRESHOLD, by.seed, monitor)?;
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
                    .take(BESIDE)
                    .collect(),
                ..Queued::new(member.item, f64::from(member.similarity))
            });
        }
    }
    Ok(queued)
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;

    const CLASSES: usize = 8;
    const EACH: usize = 80;

    /// Items about a direction of their own for each class, and last for a class without a label; the first of each
    /// are labeled.
    fn far(labeled: [usize; CLASSES]) -> Vec<usize> {
        let mut rng = seed::stream(3, "test");
        let n = (CLASSES + 1) * EACH;
        let rows = Array2::from_shape_fn((n, 24), |(row, column)| {
            f32::from(u8::from(column == row / EACH)) + 0.15 * rng.random_range(-1.0..1.0_f32)
        });
        let words = (0..n).map(|row| {
            let class = row / EACH;
            let is_known = labeled.get(class).is_some_and(|&most| row % EACH < most);
            if is_known {
                format!("{class}")
            } else {
                String::new()
            }
        });
        let graph = Graph::new(vec![0; n + 1], vec![], vec![]).unwrap();
        let by = Compared {
            rows: rows.view(),
            metric: Metric::Cosine,
            graph: &graph,
            askable: &vec![true; n],
            taught: &vec![true; n],
            seed: 1,
        };
        let found = far_out(&Labels::parse(words), &by).unwrap();
        found.into_iter().map(|(row, _)| row).collect()
    }

    #[test]
    fn labels_in_bulk_of_some_classes_make_no_others_look_far_out() {
        assert_eq!(far([5; CLASSES]), [0_usize; 0]);
        assert_eq!(far([45, 25, 5, 5, 5, 5, 5, 5]), [0_usize; 0]);
    }

    #[test]
    fn items_of_no_class_are_far_out_beside_classes_of_uneven_labels() {
        let found = far([60, 40, 25, 25, 25, 25, 25, 25]);
        let (outside, inside): (Vec<usize>, Vec<usize>) =
            found.iter().partition(|&&row| row >= CLASSES * EACH);
        assert!(outside.len() > EACH / 2, "{}", outside.len());
        assert!(inside.len() < EACH / 10, "{inside:?}");
    }
}
