//! A data set as an experiment uses it: found, cut to size, and made into a graph.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use likewise::graph::{KnnGraph, Symmetrize};
use likewise::neighbor::{Exact, Neighbors};
use likewise::{Graph, Labels, seed};
use ndarray::{Array2, Axis};
use rand::seq::SliceRandom;

use super::data_record::DataRecord;
use super::definition::{Data, Experiment, LabelDraw, Standardize};
use crate::Result;
use crate::environment::Environment;
use crate::source::{self, Maker, ReadAs, Source};

/// A data set, ready for its draws.
pub(super) struct Prepared {
    pub(super) graph: Graph,
    pub(super) neighbors: Neighbors,
    pub(super) truth: Labels,
    pub(super) record: DataRecord,
    /// Seconds that the graph took.
    pub(super) seconds: f64,
    gamma: f64,
    others: RefCell<Vec<(Symmetrize, Rc<Graph>)>>,
}

impl Prepared {
    /// Reads the data set at `path` and builds its graph.
    ///
    /// Items without a known class are left out, since nothing can be measured on them.
    pub(super) fn read(
        path: &Path,
        (labels, encoder): (Option<&Path>, Option<&Path>),
        data: &Data,
        experiment: &Experiment,
        at: &Environment,
    ) -> Result<Self> {
        let monitor = at.monitor;
        let read = ReadAs {
            labels: labels.map(Path::to_owned),
            view: data.view.clone(),
            encoder: encoder
                .map(|file| Maker::Network(file.to_owned()))
                .into_iter()
                .collect(),
            squeeze: encoder.is_some(),
            ..ReadAs::default()
        };
        let folder = source::folder(path)?;
        let collection = Source::open(folder.path(), read)?.load(at)?;
        let view = collection.view(data.view.as_deref())?;
        let truth = source::labels(&collection)?;
        let usable = |&i: &usize| {
            truth[i].class().is_some() && view.present.as_ref().is_none_or(|present| present[i])
        };
        let rows: Vec<usize> = (0..collection.len()).filter(usable).collect();
        let kept = chosen(&truth.select(&rows), data, experiment.head.seed);
        let rows: Vec<usize> = kept.into_iter().map(|i| rows[i]).collect();
        let truth = truth.select(&rows).compact().0;
        let mut x = view.matrix.select(Axis(0), &rows);
        if data.standardize == Standardize::Columns {
            standardize(&mut x);
        }
        let (k, gamma) = (experiment.k_of(data), experiment.gamma);
        let start = Instant::now();
        let (neighbors, _) = Exact::new().search(x.view(), k, monitor)?;
        let graph = KnnGraph::printed()
            .k(k)
            .gamma(gamma)
            .from_neighbors(&neighbors)?;
        let sizes: Vec<usize> = truth.by_class().iter().map(Vec::len).collect();
        Ok(Self {
            record: DataRecord {
                definition: data.clone(),
                sha256: likewise_io::digest(path)?,
                labels_per_class: experiment.labels_per_class.get(),
                k,
                gamma,
                seed: experiment.head.seed,
                items: graph.n(),
                classes: sizes.len(),
                smallest: sizes.iter().copied().min().unwrap_or(0),
                largest: sizes.iter().copied().max().unwrap_or(0),
            },
            seconds: start.elapsed().as_secs_f64(),
            graph,
            neighbors,
            truth,
            gamma,
            others: RefCell::default(),
        })
    }

    /// The graph of another rule for one-sided neighbours, which is kept for the next that asks.
    pub(super) fn graph_by(&self, rule: Symmetrize) -> Result<Rc<Graph>> {
        let mut others = self.others.borrow_mut();
        if let Some((_, graph)) = others.iter().find(|(known, _)| *known == rule) {
            return Ok(Rc::clone(graph));
        }
        let graph = KnnGraph::new().gamma(self.gamma).symmetrize(rule);
        let graph = Rc::new(graph.from_neighbors(&self.neighbors)?);
        others.push((rule, Rc::clone(&graph)));
        Ok(graph)
    }

    /// The labels that a draw shows.
    pub(super) fn visible(&self, per_class: usize, draw: u64) -> Labels {
        match self.record.definition.label_draw {
            LabelDraw::Class => self.truth.draw(per_class, draw),
            LabelDraw::Random => random(&self.truth, per_class, draw),
        }
    }
}

/// `per_class` labels a class in all, drawn from all items alike; one of each class first,
/// since no method can find a class that it was never shown.
fn random(truth: &Labels, per_class: usize, draw: u64) -> Labels {
    let mut order: Vec<usize> = (0..truth.len()).collect();
    order.shuffle(&mut seed::stream(draw, "random label draw"));
    let mut seen = vec![false; truth.n_classes()];
    let (first, rest): (Vec<usize>, Vec<usize>) = order.into_iter().partition(|&i| {
        let class = truth[i].class().and_then(|c| seen.get_mut(c as usize));
        class.is_some_and(|seen| !std::mem::replace(seen, true))
    });
    let mut keep = vec![false; truth.len()];
    let most = per_class * truth.n_classes();
    for item in first.into_iter().chain(rest).take(most) {
        keep[item] = true;
    }
    truth.masked(|item| keep[item])
}

/// The items of a data set that enter, ascending.
fn chosen(truth: &Labels, data: &Data, seed: u64) -> Vec<usize> {
    let mut classes = truth.compact().0.by_class();
    let mut rng = seed::stream(seed, "items of an experiment");
    for members in &mut classes {
        members.shuffle(&mut rng);
    }
    if let Some(most) = data.max_items.map(std::num::NonZeroUsize::get)
        && truth.len() > most
    {
        for members in &mut classes {
            members.truncate((members.len() * most / truth.len()).max(1));
        }
    }
    if let Some(ratio) = data.imbalance {
        // Which class becomes how large is drawn as well, or it would follow their names.
        classes.shuffle(&mut rng);
        let largest = classes.iter().map(Vec::len).max().unwrap_or(0) as f64;
        let steps = classes.len().saturating_sub(1).max(1) as f64;
        for (place, members) in classes.iter_mut().enumerate() {
            let size = largest * ratio.powf(-(place as f64) / steps);
            members.truncate((size.round() as usize).max(2));
        }
    }
    let mut items: Vec<usize> = classes.into_iter().flatten().collect();
    items.sort_unstable();
    items
}

/// Columns to mean 0 and standard deviation 1; a column that does not vary becomes 0.
fn standardize(x: &mut Array2<f32>) {
    let n = x.nrows().max(1) as f64;
    for mut column in x.columns_mut() {
        let mean = column.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
        let squares = column.iter().map(|&v| (f64::from(v) - mean).powi(2));
        let deviation = (squares.sum::<f64>() / n).sqrt();
        let scale = if deviation > 0.0 {
            1.0 / deviation
        } else {
            0.0
        };
        column.mapv_inplace(|v| ((f64::from(v) - mean) * scale) as f32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(rest: &str) -> Data {
        toml::from_str(&format!("name = \"d\"\nfile = \"d.npz\"\n{rest}")).unwrap()
    }

    #[test]
    fn classes_fall_geometrically_to_a_tenth() {
        let truth = Labels::from_integers((0..300).map(|i| i % 3));
        let items = chosen(&truth, &data("imbalance = 10"), 4);
        let mut sizes: Vec<usize> = (truth.select(&items).by_class().iter())
            .map(Vec::len)
            .collect();
        sizes.sort_unstable();
        assert_eq!(sizes, [10, 32, 100]);
        assert!(items.is_sorted());
        assert_eq!(items, chosen(&truth, &data("imbalance = 10"), 4));
        assert_ne!(items, chosen(&truth, &data("imbalance = 10"), 5));
        assert_eq!(chosen(&truth, &data(""), 4).len(), 300);
        assert_eq!(chosen(&truth, &data("max_items = 60"), 4).len(), 60);
        assert_eq!(chosen(&truth, &data("max_items = 50"), 4).len(), 48);
        let one = Labels::from_integers([1, 1, 1]);
        assert_eq!(chosen(&one, &data("imbalance = 10"), 4).len(), 3);
    }

    #[test]
    fn a_random_draw_shows_every_class_and_follows_their_sizes() {
        let truth = Labels::from_integers((0..1000).map(|i| i64::from(i < 100)));
        let mut small = 0;
        for draw in 0..20 {
            let labels = random(&truth, 5, draw);
            assert_eq!(labels.n_known(), 10);
            let counts: Vec<usize> = labels.by_class().iter().map(Vec::len).collect();
            assert!(counts.iter().all(|&c| c > 0));
            small += counts[1];
        }
        assert!((20..=60).contains(&small), "{small} of 200");
    }

    #[test]
    fn columns_are_standardised_and_constant_ones_vanish() {
        let mut x = ndarray::array![[1.0, 5.0], [3.0, 5.0]];
        standardize(&mut x);
        assert_eq!(x, ndarray::array![[-1.0, 0.0], [1.0, 0.0]]);
    }
}
