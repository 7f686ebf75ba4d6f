//! Public sets whose labels are all known, and a person who labels what is asked for.

use likewise::advise::next::{Ask, Pool, Strategy};
use likewise::advise::shares::shares;
use likewise::distance::Metric;
use likewise::graph::KnnGraph;
use likewise::linear::even;
use likewise::{Collection, Graph, Labels, Monitor, View, matrix, seed};
use likewise_io::ReadOptions;
use likewise_study::study::{Plan, Protocol, SplitKind};
use likewise_study::{Recipe, advise, query};
use ndarray::{Array2, ArrayView1, ArrayView2};
use rand::seq::SliceRandom;

use super::Failed;

/// Name, file, view, and whether strategies were chosen on it.
///
/// Those of Caltech-101 are made by `likewise describe IMAGES --labels caltech101/labels_cap60.csv --with
/// net:weights/efficientnet_lite0.safetensors -o data/caltech101.npz`, of the images of `images_cap60_short128.tar`.
const SETS: [(&str, &str, &str, bool); 17] = [
    ("digits kar", "", "kar", true),
    ("digits zer", "", "zer", true),
    ("satimage", "classical/satimage.npz", "X", true),
    ("segment", "classical/segment.npz", "X", true),
    ("semeion", "classical/semeion.npz", "X", true),
    ("isolet", "classical/isolet1560.npz", "X", true),
    ("letter", "classical/letter.npz", "X", true),
    ("vehicle", "classical/vehicle.npz", "X", true),
    ("digits fac", "", "fac", false),
    ("digits fou", "", "fou", false),
    ("pendigits", "classical/pendigits.npz", "X", false),
    ("waveform", "classical/waveform-5000.npz", "X", false),
    ("leaves", "multiview/100Leaves.npz", "view0", false),
    ("ORL faces", "multiview/ORL_4view.npz", "view0", false),
    ("MSRC-v5", "multiview/MSRC-v5.npz", "view1", false),
    ("Fashion-MNIST", "fashion-mnist", "pixels", false),
    ("Caltech-101", "caltech101.npz", "lite0", false),
];
/// Items of a set that take part.
pub(crate) const MOST: usize = 1500;
/// Neighbours on the graph.
const NEIGHBORS: usize = 15;

/// A set with the graph that labels spread over.
pub(crate) struct Set {
    pub(crate) name: &'static str,
    /// Whether strategies were chosen on it.
    pub(crate) development: bool,
    pub(crate) features: Array2<f32>,
    pub(crate) rows: Array2<f32>,
    pub(crate) graph: Graph,
    pub(crate) truth: Labels,
}

/// All sets that are there.
pub(crate) fn all() -> Result<Vec<Set>, Failed> {
    let mut sets = Vec::new();
    for (name, file, view, development) in SETS {
        let path = match file {
            "" => Some(likewise_testdata::digits()),
            "fashion-mnist" => {
                likewise_testdata::fashion_mnist().or_else(|| likewise_testdata::large(file))
            }
            file => likewise_testdata::large(file),
        };
        let Some(path) = path else { continue };
        let options = ReadOptions {
            view: (file != "fashion-mnist").then(|| view.to_owned()),
            ..ReadOptions::default()
        };
        let whole = likewise_io::read(&path, &options, &Monitor::silent())?;
        let step = whole.len().div_ceil(MOST);
        let part = whole.select(&(0..whole.len()).step_by(step).collect::<Vec<usize>>());
        let (truth, _) = part.labels.clone().ok_or("no labels")?.compact();
        let features = part.view(None)?.matrix.clone();
        let rows = centered(features.view());
        let k = NEIGHBORS.min(rows.nrows() - 1);
        let graph = KnnGraph::new()
            .k(k)
            .build(rows.view(), &Monitor::silent())?;
        sets.push(Set {
            name,
            development,
            features,
            rows,
            graph,
            truth,
        });
    }
    Ok(sets)
}

/// Unit rows less their mean, their columns brought to one scale where they have different units.
fn centered(features: ArrayView2<f32>) -> Array2<f32> {
    let (mean, scale) = even(features);
    let rows = &features - &mean.mapv(|m| m as f32);
    matrix::l2_normalize(rows * &scale.mapv(|s| s as f32))
}

/// The class of the largest share, and that share: no class and 0 where there is none above 0.
pub(crate) fn first(shares: ArrayView1<f64>) -> (usize, f64) {
    let larger = |best: (usize, f64), (class, &share): (usize, &f64)| {
        if share > best.1 { (class, share) } else { best }
    };
    shares.iter().enumerate().fold((usize::MAX, 0.0), larger)
}

impl Set {
    /// A third of the items, which nobody is asked for.
    pub(crate) fn tested(&self, draw: u64) -> Vec<bool> {
        let mut order: Vec<usize> = (0..self.truth.len()).collect();
        order.shuffle(&mut seed::stream(draw, "tested items"));
        let mut tested = vec![false; order.len()];
        order
            .iter()
            .take(order.len() / 3)
            .for_each(|&item| tested[item] = true);
        tested
    }

    /// Which labels a person has given once asked for `budgets`, in batches of a tenth to a
    /// quarter of a hundred; items at random where there is no strategy.
    pub(crate) fn labeled(
        &self,
        strategy: Option<Strategy>,
        tested: &[bool],
        budgets: &[usize],
        draw: u64,
    ) -> Result<Vec<Vec<usize>>, Failed> {
        let askable: Vec<bool> = tested.iter().map(|tested| !tested).collect();
        let mut order: Vec<usize> = (0..askable.len()).filter(|&i| askable[i]).collect();
        order.shuffle(&mut seed::stream(draw, "labels at random"));
        let mut labeled: Vec<usize> = Vec::new();
        let mut states = Vec::new();
        for &budget in budgets {
            while labeled.len() < budget.min(order.len()) {
                let batch = if labeled.len() < 50 { 10 } else { 25 };
                let batch = batch.min(budget.min(order.len()) - labeled.len());
                match strategy {
                    None => labeled.extend(&order[labeled.len()..][..batch]),
                    Some(strategy) => {
                        let next = self.ask(strategy, &labeled, &askable, batch)?;
                        labeled.extend(next);
                    }
                }
            }
            states.push(labeled.clone());
        }
        Ok(states)
    }

    /// As many items of each class at random, `count` in all; those of fewer are among those of more.
    pub(crate) fn by_class(&self, count: usize, draw: u64) -> Vec<usize> {
        let mut rng = seed::stream(draw, "labels of each class");
        let each = count / self.truth.n_classes();
        let members = self.truth.by_class().into_iter();
        let drawn = members.flat_map(|mut own| {
            own.shuffle(&mut rng);
            own.into_iter().take(each)
        });
        drawn.collect()
    }

    fn ask(
        &self,
        strategy: Strategy,
        labeled: &[usize],
        askable: &[bool],
        batch: usize,
    ) -> Result<Vec<usize>, Failed> {
        let silent = Monitor::silent();
        // A class that nobody has met is not known either.
        let (labels, _) = self.labels(labeled).compact();
        let shares = shares(&self.graph, &labels, &silent)?;
        let pool = Pool {
            graph: &self.graph,
            labels: &labels,
            shares: shares.view(),
            askable,
            rows: Some(self.rows.view()),
        };
        let next = Ask::new(batch).strategy(strategy).next(&pool, &silent)?;
        Ok(next.iter().map(|suggestion| suggestion.item).collect())
    }

    /// The labels of these items.
    pub(crate) fn labels(&self, items: &[usize]) -> Labels {
        let mut shown = vec![false; self.truth.len()];
        for &item in items {
            shown[item] = true;
        }
        self.truth.masked(|item| shown[item])
    }

    /// The graph of the whitened features, by which a run says what its labels are worth.
    pub(crate) fn start(&self) -> Result<Graph, Failed> {
        let rows = query::whitened(&self.features, &[])?;
        let silent = Monitor::silent();
        Ok(advise::graph(rows.view(), Metric::Cosine, 0, &silent)?)
    }

    /// The embedding of a fit by the recipe `mild-probabilities` that sees these labels.
    pub(crate) fn learned(&self, labels: &Labels, draw: u64) -> Result<Array2<f32>, Failed> {
        let mut collection = self.collection(&[])?;
        collection.labels = Some(labels.clone());
        let recipe = Recipe::mild_probabilities().fitting(collection.len());
        let protocol = Protocol {
            split: SplitKind::Folds,
            seed: draw,
            nmi: false,
            ..Protocol::default()
        };
        let device = likewise_nn::device("cpu")?;
        let features = self.features.view();
        let plan = Plan::of(&collection, features, &recipe, &protocol, device);
        Ok(plan.learn(&Monitor::silent())?.embeddings)
    }

    /// The share of beliefs that are right, of these items, by the centred features.
    pub(crate) fn right(&self, labeled: &[usize], of: &[bool]) -> Result<f64, Failed> {
        self.right_on(&self.graph, labeled, of)
    }

    /// The same by a graph.
    pub(crate) fn right_on(
        &self,
        graph: &Graph,
        labeled: &[usize],
        of: &[bool],
    ) -> Result<f64, Failed> {
        let shares = shares(graph, &self.labels(labeled), &Monitor::silent())?;
        let (mut right, mut all) = (0, 0);
        for (item, row) in shares
            .rows()
            .into_iter()
            .enumerate()
            .filter(|(i, _)| of[*i])
        {
            let (class, _) = first(row);
            right += usize::from(self.truth[item].class() == u32::try_from(class).ok());
            all += 1;
        }
        Ok(f64::from(right as u32) / f64::from(all))
    }

    /// The set as data of a fit that sees these labels.
    pub(crate) fn collection(&self, labeled: &[usize]) -> Result<Collection, Failed> {
        let ids = (0..self.truth.len()).map(|i| i.to_string()).collect();
        let view = View {
            name: "x".into(),
            matrix: self.features.clone(),
            present: None,
        };
        let mut collection = Collection::new(ids, vec![view])?;
        collection.labels = Some(self.labels(labeled));
        Ok(collection)
    }
}
