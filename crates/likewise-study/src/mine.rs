//! Tuples made of what is known of some data: labels, beliefs, affinities, or votes.

mod request;

use std::collections::HashMap;
use std::path::PathBuf;

use likewise::collection::View;
use likewise::ensemble::{FromVotes, Votes, Wanted};
use likewise::neighbor::Neighbors;
use likewise::tuple::{Affinity, FromBeliefs, FromLabels, Mine as _, Tuples};
use likewise::{Beliefs, Collection, Monitor, Pairs, Triplets};
use ndarray::{Array2, ArrayView2, s};

pub use self::request::{Mined, Request};
use crate::estimate::Estimate;
use crate::graph::{DataShape, Settings};
use crate::source;
use crate::study::TupleKind;
use crate::{Error, Result};

/// Most positives and most negatives of an item, unless another number is asked for.
pub const PER_ITEM: usize = 10;

/// What tuples are made of.
#[derive(Debug, Clone)]
pub enum From {
    /// Random items of the same class and of others.
    Labels {
        /// Most of each an item.
        per_item: usize,
    },
    /// The same by pseudo-labels, weighted by how sure they are.
    Beliefs {
        /// A file of beliefs that a propagation wrote.
        path: PathBuf,
        /// Most of each an item.
        per_item: usize,
    },
    /// Neighbours sorted by affinities that labels pull together.
    Affinity(Settings),
    /// What classifiers of each view vote: the view that is named, or all there are.
    Votes(Box<Votes>, FromVotes),
}

/// Tuples to make.
#[derive(Debug, Clone)]
pub struct Job {
    /// What of.
    pub from: From,
    /// Which kind.
    pub kind: TupleKind,
    /// Labels kept for each class; the others are hidden.
    pub labels_per_class: Option<usize>,
    /// Seed of every random step.
    pub seed: u64,
}

impl Job {
    /// The tuples, by the places of their items in the collection. `view` names the features
    /// that neighbours are searched by. Labels of a test part are not used.
    ///
    /// Fails without what they are made of, where there are none to make, on beliefs of other
    /// items, and when cancelled.
    pub fn run(
        &self,
        collection: &Collection,
        view: Option<&str>,
        monitor: &Monitor,
    ) -> Result<Tuples> {
        let tuples = match &self.from {
            From::Labels { per_item } => {
                source::labels(collection)?;
                let labels = source::visible(collection, self.labels_per_class, self.seed);
                let draw = FromLabels::new().per_item(*per_item).seed(self.seed);
                match self.kind {
                    TupleKind::Pairs => Tuples::Pairs(draw.pairs(&labels, monitor)?),
                    TupleKind::Triplets => Tuples::Triplets(draw.triplets(&labels, monitor)?),
                }
            }
            From::Beliefs { path, per_item } => {
                let saved = likewise_io::beliefs::read(path)?;
                let beliefs = aligned(saved.beliefs, &saved.ids, collection.ids())
                    .map_err(|e| e.within(path.display()))?;
                let draw = FromBeliefs::new().per_item(*per_item).seed(self.seed);
                match self.kind {
                    TupleKind::Pairs => Tuples::Pairs(draw.pairs(&beliefs, monitor)?),
                    TupleKind::Triplets => Tuples::Triplets(draw.triplets(&beliefs, monitor)?),
                }
            }
            From::Affinity(settings) => self.by_affinity(settings, collection, view, monitor)?,
            From::Votes(votes, of) => self.by_votes(votes, *of, collection, view, monitor)?,
        };
        if tuples.is_empty() {
            return Err(Error::data(match (&self.from, self.kind) {
                (From::Affinity(_), _) => "no item has two neighbours to compare".to_owned(),
                (_, TupleKind::Pairs) => "there are no two items of known class to pair".to_owned(),
                (_, TupleKind::Triplets) => {
                    "no class has two known items beside an item of another \
                                        class, which a triplet needs"
                        .to_owned()
                }
            }));
        }
        Ok(tuples)
    }

    fn by_votes(
        &self,
        votes: &Votes,
        of: FromVotes,
        collection: &Collection,
        view: Option<&str>,
        monitor: &Monitor,
    ) -> Result<Tuples> {
        source::labels(collection)?;
        // Several that are named stand side by side in one.
        let views: Vec<&View> = match view {
            Some(name) => vec![collection.view(Some(name))?],
            None => collection.views().iter().collect(),
        };
        let apart = collection.columns();
        let n = collection.len();
        let whole = |&i: &usize| {
            let there = |view: &&View| view.present.as_ref().is_none_or(|present| present[i]);
            views.iter().all(there)
        };
        let items: Vec<usize> = (0..n).filter(whole).collect();
        if items.len() < n {
            monitor.warn(format!(
                "{} items lack a view and are in no tuple",
                n - items.len()
            ));
        }
        let labels = source::visible(collection, self.labels_per_class, self.seed);
        let (labels, _) = labels.select(&items).compact();
        let rows: Vec<Array2<f32>> = (views.iter())
            .map(|view| likewise::matrix::select_rows(view.matrix.view(), &items))
            .collect();
        let rows: Vec<ArrayView2<f32>> = match (rows.as_slice(), apart) {
            ([side_by_side], [_, ..]) => (apart.iter())
                .map(|view| side_by_side.slice(s![.., view.range.clone()]))
                .collect(),
            _ => rows.iter().map(|rows| rows.view()).collect(),
        };
        let wanted = Wanted::Triplets;
        let voted = votes.vote(&rows, &labels, None, wanted, self.seed, monitor)?;
        let mut triplets = of.triplets(&voted, self.seed)?;
        renumber(&mut triplets, &items);
        Ok(self.of_kind(Tuples::Triplets(triplets)))
    }

    fn by_affinity(
        &self,
        settings: &Settings,
        collection: &Collection,
        view: Option<&str>,
        monitor: &Monitor,
    ) -> Result<Tuples> {
        source::labels(collection)?;
        let view = collection.view(view)?;
        let labels = source::visible(collection, self.labels_per_class, self.seed);
        let x = view.matrix.view();
        let build = |x: ArrayView2<f32>| -> Result<Neighbors> {
            let built = settings.build_view(x, &view.name, monitor)?;
            for scaled in &built.scaled {
                monitor.remark(scaled.in_words(false, &[]));
            }
            Ok(built.neighbors)
        };
        let Some(present) = &view.present else {
            let neighbors = build(x)?;
            let triplets = Affinity::new().mine(&neighbors, &labels, monitor)?;
            return Ok(self.of_kind(Tuples::Triplets(triplets)));
        };
        let items: Vec<usize> = (0..present.len()).filter(|&i| present[i]).collect();
        monitor.warn(format!(
            "{} items have no view {} and are in no tuple",
            present.len() - items.len(),
            view.name
        ));
        let rows = likewise::matrix::select_rows(x, &items);
        let neighbors = build(rows.view())?;
        let mut triplets = Affinity::new().mine(&neighbors, &labels.select(&items), monitor)?;
        renumber(&mut triplets, &items);
        Ok(self.of_kind(Tuples::Triplets(triplets)))
    }

    /// Triplets as pairs, where these are wanted.
    fn of_kind(&self, tuples: Tuples) -> Tuples {
        match (tuples, self.kind) {
            (Tuples::Triplets(triplets), TupleKind::Pairs) => {
                Tuples::Pairs(Pairs::from(&triplets).settled())
            }
            (tuples, _) => tuples,
        }
    }

    /// What the work will cost, for data of this shape.
    pub fn estimate(&self, shape: &DataShape) -> Estimate {
        let (n, read) = (shape.items, shape.read());
        // A tuple as it is drawn, sorted and kept, and its words as it is written.
        let tuples = |count: f64| 32.0 * count + 3.0 * 48.0 * count;
        match &self.from {
            From::Labels { per_item } | From::Beliefs { per_item, .. } => {
                let count = 2.0 * n * (*per_item as f64).min(n);
                read.stage(tuples(count), 50.0 * count)
            }
            From::Affinity(settings) => {
                let count = n * settings.graph.n_neighbors() as f64;
                let graph = shape.graph(read, settings);
                let k = settings.graph.n_neighbors() as f64;
                graph.affinities(n, k).stage(tuples(count), 50.0 * count)
            }
            // Metrics of all rows, learned in each fold; items compared with all others; and at
            // most so many triplets of labels.
            From::Votes(..) => {
                let count = 500_000.0 + 100.0 * n;
                let d = shape.columns;
                let metrics = 6.0 * 4.0 * (400.0 * n.min(1e5) * d + d.powi(3));
                let compared = 5.0 * n * n * 3.0 * d.min(50.0);
                read.stage(tuples(count) + 8.0 * n * d, metrics + compared)
            }
        }
    }
}

/// Triplets of places, as those of the items there.
fn renumber(triplets: &mut Triplets, items: &[usize]) {
    let lists = [
        &mut triplets.anchors,
        &mut triplets.positives,
        &mut triplets.negatives,
    ];
    for item in lists.into_iter().flatten() {
        *item = items[*item as usize] as u32;
    }
}

/// Beliefs in the order of the items; an item that they do not know has none.
fn aligned(beliefs: Beliefs, theirs: &[String], ids: &[String]) -> Result<Beliefs> {
    if theirs == ids {
        return Ok(beliefs);
    }
    let places: HashMap<&str, usize> = ids.iter().map(String::as_str).zip(0..).collect();
    let (n, classes) = (ids.len(), beliefs.scores.ncols());
    let mut out = Beliefs {
        scores: ndarray::Array2::zeros((n, classes)),
        pseudo_label: vec![None; n],
        confidence: vec![0.0; n],
        labeled: vec![false; n],
        convergence: beliefs.convergence,
    };
    for (row, id) in theirs.iter().enumerate() {
        let item = *places.get(id.as_str()).ok_or_else(|| {
            Error::data(format!(
                "row {row}: no item of the data has the id \"{id}\"; give the data that the \
                 beliefs are about"
            ))
        })?;
        out.scores.row_mut(item).assign(&beliefs.scores.row(row));
        out.pseudo_label[item] = beliefs.pseudo_label[row];
        out.confidence[item] = beliefs.confidence[row];
        out.labeled[item] = beliefs.labeled[row];
    }
    Ok(out)
}
