//! Labels spread over the graph of some data, and what hidden labels say of it.

mod calibration;
mod check;
mod choice;
mod inputs;
mod parameters;
mod sizes;
mod tags;

use std::path::Path;
use std::time::Instant;

use likewise::advise::balance::Balance;
use likewise::advise::diagnosis::{Diagnose, Diagnosis};
use likewise::advise::oracle::Oracle;
use likewise::advise::temperature::Temperature;
use likewise::eval::calibration::Calibration;
use likewise::graph::Fusion;
use likewise::neighbor::Neighbors;
use likewise::propagate::{
    Ability, Given, Lgc, Mass, Method, Mixed, Poisson, PoissonMbo, Propagate as _, Spread,
};
use likewise::{Collection, Convergence, Graph, Label, Labels, Monitor};
use serde::Serialize;

pub use self::calibration::Calibrating;
pub use self::choice::Choice;
pub use self::parameters::Parameters;
pub use self::sizes::ClassSizes;
pub use self::tags::{ByTag, Hidden, Tag};
use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::graph::{DataShape, Searched, Settings, names_of};
use crate::{Result, failed, source};

/// A propagation to run, and where its results go.
#[derive(Debug)]
pub struct Job<'a> {
    /// How labels spread; a [`Choice`] makes it.
    pub method: Method,
    /// Whether the method is to [suit](Method::suited) the labels: nobody asked for this one.
    pub suited: bool,
    /// The view that a graph is built of; `None`: the only one.
    pub view: Option<&'a str>,
    /// A graph that was written before; `None`: one is built.
    pub graph: Option<&'a Path>,
    /// How it is built.
    pub settings: Settings,
    /// Names of the columns of the view, where they have some.
    pub columns: Vec<String>,
    /// Labels kept for each class; the others only measure.
    pub labels_per_class: Option<usize>,
    /// What is known of the sizes of the classes.
    pub sizes: Option<ClassSizes>,
    /// Pairs known to be unlike.
    pub known_negatives: Option<&'a Path>,
    /// What items are not.
    pub excluded: Option<&'a Path>,
    /// Ask the labels whether the propagation helps.
    pub diagnose: bool,
    /// Calibrate the confidences by labels that are hidden in turn.
    pub calibrate: bool,
    /// Where the beliefs go.
    pub out: Option<&'a Path>,
    /// Where the negative edges go.
    pub negatives: Option<&'a Path>,
    /// Seed of every random step.
    pub seed: u64,
}

/// What came of it.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// Where each item has one class.
    Classes(Box<Classes>),
    /// Where an item may have several labels.
    Tags(ByTag),
}

/// Of a propagation of classes.
#[derive(Debug, Serialize)]
pub struct Classes {
    /// The method.
    pub method: String,
    /// How it went.
    #[serde(flatten)]
    pub convergence: Convergence,
    /// Share of all items of known class whose pseudo-label is right, labeled ones included
    /// (eq. 36 of Zhuang & Moulin, CVPR 2023); absent if no label was hidden.
    pub accuracy: Option<f64>,
    /// The same among the items whose label was hidden.
    pub accuracy_hidden: Option<f64>,
    /// Labels that were given.
    pub labels: usize,
    /// How the neighbours were found, if the graph was built here.
    pub search: Option<Searched>,
    /// How several views became one graph; absent of one view, and of a graph that was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fuse: Option<Fusion>,
    /// The views whose columns were brought to one scale for the graph.
    pub standardized: Vec<String>,
    /// Sizes of the classes beside what the labels say of them.
    pub balance: Balance,
    /// What the hidden labels say of confidences and negative edges.
    pub oracle: Option<Oracle>,
    /// Whether the propagation helps.
    pub diagnosis: Option<Diagnosis>,
    /// What the confidences were divided by.
    pub temperature: Option<Temperature>,
    /// What that is worth, where it was asked for.
    pub calibration: Option<Calibrating>,
    /// From the first item read to the last belief written.
    pub seconds: f64,
}

impl Job<'_> {
    /// What it takes, with so many classes.
    pub fn estimate(&self, shape: &DataShape, classes: usize) -> Estimate {
        let k = self.settings.graph.n_neighbors();
        let arcs = match self.graph {
            Some(_) => k as f64,
            None => shape.arcs(self.settings.fusion(shape.views), k),
        };
        let mut spread = (shape.read()).propagation(shape.items, arcs, classes as f64);
        let dense = |ability: &Ability| matches!(ability, Ability::Dense { .. });
        if self.method.abilities().iter().any(dense) {
            spread = spread.all_pairs(shape.items);
        }
        match self.graph {
            Some(_) => spread,
            None => shape.graph(spread, &self.settings),
        }
    }

    /// Spreads the labels of `collection`, and writes what was asked for; `start` is when its
    /// reading began.
    ///
    /// Fails without labels, where a file does not suit the items, as the method does, and
    /// where a result cannot be written.
    pub fn run(
        mut self,
        collection: Collection,
        start: Instant,
        at: &Environment,
    ) -> Result<Answer> {
        let nodes = self.nodes(collection, at.monitor)?;
        let items = &nodes.collection;
        let truth = source::labels(items)?;
        let visible = source::visible(items, self.labels_per_class, self.seed);
        if self.suited && self.known_negatives.is_none() && self.negatives.is_none() {
            self.method = Method::suited(&visible);
        }
        let method = self.sized(&self.method, &visible)?;
        let known = (self.known_negatives)
            .map(|path| inputs::known_negatives(path, &nodes.graph))
            .transpose()?;
        let excluded = (self.excluded)
            .map(|path| inputs::excluded(path, items.ids(), &visible))
            .transpose()?;
        let given = Given {
            neighbors: nodes.neighbors.as_ref(),
            negatives: known.as_ref(),
            excluded: excluded.as_deref().unwrap_or_default(),
            ..Given::new(&nodes.graph, &visible)
        };
        if truth.tags().is_some() {
            let items = (truth, items.ids());
            let mut answer = tags::spread(&method, &given, items, self.out, self.seed, at.monitor)?;
            answer.search = nodes.search;
            answer.fuse = nodes.fuse;
            answer.standardized = nodes.standardized;
            answer.seconds = start.elapsed().as_secs_f64();
            return Ok(Answer::Tags(answer));
        }
        let mut answer = self.classes(&method, &given, (items, truth), at.monitor)?;
        answer.search = nodes.search;
        answer.fuse = nodes.fuse;
        answer.standardized = nodes.standardized;
        answer.seconds = start.elapsed().as_secs_f64();
        Ok(Answer::Classes(Box::new(answer)))
    }

    /// A method of the class sizes that are given, as far as it takes these.
    fn sized(&self, method: &Method, labels: &Labels) -> Result<Method> {
        let mut sized = method.clone();
        if let Some(sizes) = &self.sizes {
            sized.set_sizes(sizes.of(labels.classes())?);
        }
        Ok(sized)
    }

    /// Spreads classes.
    fn classes(
        &self,
        method: &Method,
        given: &Given,
        (items, truth): (&Collection, &Labels),
        monitor: &Monitor,
    ) -> Result<Classes> {
        let visible = given.labels;
        if is_of_one_class(visible) {
            monitor.warn(
                "all known labels are of one class, so that every item is said to be of it: give some of another, or \
                 -2 for items that are of none",
            );
        }
        let diagnosis = (self.diagnose || self.calibrate)
            .then(|| self.diagnosis(method, items, given, monitor))
            .transpose()?;
        let Spread {
            mut beliefs,
            negatives,
        } = method.spread(given, monitor)?;
        let temperature = diagnosis.as_ref().and_then(|d| d.temperature);
        let before = (self.calibrate)
            .then(|| Calibration::measure(&beliefs, truth))
            .transpose()?;
        if self.calibrate {
            match &temperature {
                Some(temperature) => beliefs.confidence = temperature.calibrated(&beliefs),
                None => monitor.warn(calibration::too_few(diagnosis.as_ref())),
            }
        }
        if let Some(out) = self.out {
            likewise_io::beliefs::write(out, &beliefs, visible.classes(), items.ids())?;
        }
        if let (Some(out), Some(negatives)) = (self.negatives, &negatives) {
            inputs::write_negatives(out, given.graph, negatives)?;
        }
        let hidden = |i: usize| visible[i].class().is_none();
        let any_hidden = (0..truth.len()).any(|i| hidden(i) && truth[i].class().is_some());
        let oracle = || Oracle::measure(&beliefs, truth, negatives.as_ref(), given.graph);
        let oracle = any_hidden.then(oracle).transpose()?;
        let calibration =
            before.map(|before| Calibrating::of(diagnosis.as_ref(), &before, oracle.as_ref()));
        let mut balance = Balance::measure(&beliefs, visible)?;
        if self.sizes.as_ref().is_some_and(ClassSizes::are_held) {
            // A class is as large as was asked for.
            balance.warning = None;
        }
        if let Some(warning) = &balance.warning {
            monitor.warn(warning);
        }
        Ok(Classes {
            method: method.name().into(),
            convergence: beliefs.convergence.clone(),
            accuracy: beliefs.accuracy(visible, truth, |_| any_hidden),
            accuracy_hidden: beliefs.accuracy(visible, truth, hidden),
            labels: visible.n_known(),
            search: None,
            fuse: None,
            standardized: Vec::new(),
            balance,
            oracle,
            diagnosis,
            temperature,
            calibration,
            seconds: 0.0,
        })
    }

    fn diagnosis(
        &self,
        method: &Method,
        collection: &Collection,
        given: &Given,
        monitor: &Monitor,
    ) -> Result<Diagnosis> {
        let mut diagnose = Diagnose::new().seed(self.seed);
        if let Ok(view) = collection.view(self.view)
            && view.present.is_none()
        {
            diagnose = diagnose.features(view.matrix.view());
        }
        let others = if self.diagnose {
            self.others(method, given)?
        } else {
            Vec::new()
        };
        for (name, other) in &others {
            diagnose = diagnose.beside(name, other);
        }
        diagnose.run(method, given, monitor)
    }

    /// What else could have been asked for: the usual methods, of the same class sizes where they take these, and
    /// this one without them. None where something is given that they have no use for.
    fn others(&self, method: &Method, given: &Given) -> Result<Vec<(String, Method)>> {
        if !given.excluded.is_empty() {
            return Ok(Vec::new());
        }
        let usual = [
            Method::Mixed(Mixed::new()),
            Method::PoissonMbo(PoissonMbo::new()),
            Method::Poisson(Poisson::new()),
            Method::Lgc(Lgc::new().mass(Mass::Uniform)),
        ];
        let fits = |other: &Method| {
            let takes = given.negatives.is_none() || other.has(Ability::TakesNegatives);
            takes && other.name() != method.name()
        };
        let mut others = Vec::new();
        for other in usual.into_iter().filter(fits) {
            let sized = self.sized(&other, given.labels)?;
            let taken = if sized.check_sizes().is_ok() {
                sized
            } else {
                other
            };
            others.push((taken.name().to_owned(), taken));
        }
        if *method != self.method {
            let name = format!("{} without class_sizes", method.name());
            others.push((name, self.method.clone()));
        }
        Ok(others)
    }

    /// The graph that was given, or that of the view.
    fn nodes(&self, collection: Collection, monitor: &Monitor) -> Result<Nodes> {
        let Some(path) = self.graph else {
            let fusion = self.settings.fusion(collection.columns().len());
            let (collection, name) = source::with_views(collection, self.view, fusion, monitor)?;
            let visible = source::visible(&collection, self.labels_per_class, self.seed);
            let built = (self.settings).build_of(&collection, &name, &visible, monitor)?;
            self.settings.tell(&built, &self.columns, monitor);
            let kept = self.method.has(Ability::NeedsNeighbors);
            return Ok(Nodes {
                collection,
                graph: built.graph,
                neighbors: built.neighbors.filter(|_| kept),
                search: Some(built.search),
                fuse: built.fuse,
                standardized: names_of(&built.scaled),
            });
        };
        let graph = likewise_io::graph::read(path)?;
        if graph.n() != collection.len() {
            return Err(failed(format!(
                "{}: the graph has {} nodes, the data have {} items; build it from the same data",
                path.display(),
                graph.n(),
                collection.len()
            )));
        }
        Ok(Nodes {
            collection,
            graph,
            neighbors: None,
            search: None,
            fuse: None,
            standardized: Vec::new(),
        })
    }
}

/// The items and their graph.
struct Nodes {
    collection: Collection,
    graph: Graph,
    /// Kept where the method needs them.
    neighbors: Option<Neighbors>,
    /// How they were found, if the graph was built here.
    search: Option<Searched>,
    /// How several views became the graph.
    fuse: Option<Fusion>,
    /// The views whose columns were brought to one scale.
    standardized: Vec<String>,
}

/// Whether all that labels say is one class.
fn is_of_one_class(labels: &Labels) -> bool {
    let all = (0..labels.len()).map(|item| labels[item]);
    let mut told = all.filter(|&label| label != Label::Unknown);
    let first = told.next();
    first.is_some_and(|first| first.class().is_some() && told.all(|label| label == first))
}
