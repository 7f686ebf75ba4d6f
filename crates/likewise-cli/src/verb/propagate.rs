//! `likewise propagate`

mod choice;
mod sizes;
mod tags;

use std::path::Path;
use std::time::Instant;

use likewise::advise::balance::Balance;
use likewise::advise::diagnosis::{Diagnose, Diagnosis};
use likewise::advise::oracle::Oracle;
use likewise::advise::temperature::Temperature;
use likewise::graph::Symmetrize;
use likewise::neighbor::Neighbors;
use likewise::propagate::{Ability, Given, Method, NegativeEdges, Propagate as _, Sizes, Spread};
use likewise::{Beliefs, Collection, Labels};
use likewise_study::estimate::Estimate;
use likewise_study::graph::{DataShape, Searched, parts_in_words};
use likewise_study::run_folder::{check_ending, check_output};
use likewise_study::source;
use serde::Serialize;

use crate::args::{Propagate, joined};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

#[derive(Serialize)]
struct Answer {
    method: String,
    iterations: usize,
    residual: f64,
    converged: bool,
    components: usize,
    isolated: usize,
    unreached: usize,
    /// Share of all items of known class whose pseudo-label is right, labeled ones included
    /// (eq. 36); absent if no label was hidden.
    accuracy: Option<f64>,
    /// The same among the items whose label was hidden.
    accuracy_hidden: Option<f64>,
    labels: usize,
    mean_negative_weight: Option<f64>,
    negative_share: Option<f64>,
    /// Classes for which the objective has no minimum (lpdr).
    negative_curvature: Option<usize>,
    /// How the neighbours were found, if the graph was built here.
    search: Option<Searched>,
    balance: Balance,
    /// What the hidden labels say of confidences and negative edges.
    oracle: Option<Oracle>,
    diagnosis: Option<Diagnosis>,
    temperature: Option<Temperature>,
    seconds: f64,
}

#[expect(
    clippy::too_many_lines,
    reason = "the steps of one work, in their order"
)]
pub(crate) fn run(args: &Propagate, at: &Context) -> Result<(), Failure> {
    let mut method = choice::method(args)?;
    args.flags.check()?;
    check_files(args, &method)?;
    let several = args.several.separator();
    if several.is_some() {
        tags::check(args)?;
    }
    let data = args.data.source(at.common.seed)?;
    let data = data.with_several_labels(several);
    let shape = DataShape::of(&data, &at.env)?;
    method.check_nodes(shape.items as usize)?;
    if args.dry_run {
        let classes = shape.classes(&data, &at.env).unwrap_or(10);
        return at.print(estimate(args, &method, &shape, classes, at));
    }
    shape.read().check(at.env.max_memory)?;
    let start = Instant::now();
    let collection = data.load(&at.env)?;
    let classes = source::labels(&collection)?.n_classes();
    estimate(args, &method, &shape, classes, at).check(at.env.max_memory)?;
    let nodes = Nodes::of(args, &method, collection, at)?;
    let truth = source::labels(&nodes.collection)?;
    let per_class = args.labels_per_class.map(std::num::NonZeroUsize::get);
    let visible = source::visible(&nodes.collection, per_class, at.common.seed);
    if let Some(path) = sizes::file(args) {
        let sizes = Sizes::Known(sizes::read(path, visible.classes())?);
        method.set_sizes(sizes);
    }
    let known = match &args.known_negatives {
        Some(path) => Some(known_negatives(path, &nodes.graph)?),
        None => None,
    };
    let excluded = match &args.excluded {
        Some(path) => excluded(path, nodes.collection.ids(), &visible)?,
        None => Vec::new(),
    };
    let given = Given {
        neighbors: nodes.neighbors.as_ref(),
        negatives: known.as_ref(),
        excluded: &excluded,
        ..Given::new(&nodes.graph, &visible)
    };
    if several.is_some() {
        let items = (truth, nodes.collection.ids());
        let answered = tags::run(args, &method, &given, items, nodes.search, at)?;
        return answered.print(start.elapsed().as_secs_f64(), at);
    }
    let diagnosis = if args.diagnose || args.calibrate {
        Some(diagnose(args, &nodes.collection, &method, &given, at)?)
    } else {
        None
    };
    let spread = method.spread(&given, at.env.monitor)?;
    let Spread {
        mut beliefs,
        negatives,
    } = spread;
    let temperature = diagnosis.as_ref().and_then(|d| d.temperature);
    if args.calibrate {
        match &temperature {
            Some(temperature) => beliefs.confidence = temperature.calibrated(&beliefs),
            None => at.env.monitor.warn(
                "too few labels to calibrate the confidences; they are as the method gives them",
            ),
        }
    }
    if let Some(out) = &args.out {
        likewise_io::beliefs::write(out, &beliefs, visible.classes(), nodes.collection.ids())?;
    }
    if let (Some(out), Some(negatives)) = (&args.negatives, &negatives) {
        write_negatives(out, &nodes.graph, negatives)?;
    }
    let convergence = &beliefs.convergence;
    let hidden = |i: usize| visible[i].class().is_none();
    let any_hidden = (0..truth.len()).any(|i| hidden(i) && truth[i].class().is_some());
    let oracle = || Oracle::measure(&beliefs, truth, negatives.as_ref(), &nodes.graph);
    let oracle = any_hidden.then(oracle).transpose()?;
    let balance = Balance::measure(&beliefs, &visible)?;
    if let Some(warning) = &balance.warning {
        at.env.monitor.warn(warning);
    }
    let answer = Answer {
        method: method.name().into(),
        iterations: convergence.iterations,
        residual: convergence.residual,
        converged: convergence.converged,
        components: convergence.components,
        isolated: convergence.isolated,
        unreached: convergence.unreached,
        accuracy: accuracy(&beliefs, truth, |_| any_hidden),
        accuracy_hidden: accuracy(&beliefs, truth, hidden),
        labels: visible.n_known(),
        mean_negative_weight: convergence.mean_negative_weight,
        negative_share: convergence.negative_share,
        negative_curvature: convergence.negative_curvature,
        search: nodes.search,
        balance,
        oracle,
        diagnosis,
        temperature,
        seconds: start.elapsed().as_secs_f64(),
    };
    answer.print(at)
}

impl Answer {
    fn print(&self, at: &Context) -> Result<(), Failure> {
        if at.common.json {
            return output::json(self);
        }
        let accuracy = match (self.accuracy, self.accuracy_hidden) {
            (Some(all), Some(hidden)) => {
                format!("accuracy {all:.3} ({hidden:.3} on hidden labels)")
            }
            _ => "no hidden labels to measure accuracy on".into(),
        };
        output::line(format!(
            "{}: {} labels, {} iterations, residual {:.1e}{}, {accuracy}, {:.1} s",
            self.method,
            self.labels,
            self.iterations,
            self.residual,
            parts_in_words(self.components, self.isolated, self.unreached),
            self.seconds
        ))?;
        for remark in self.diagnosis.iter().flat_map(|d| &d.verdict) {
            output::line(remark)?;
        }
        Ok(())
    }
}

/// Fails where files are asked for or given that the method has no use for, and where an output
/// would go over an input or another output.
fn check_files(args: &Propagate, method: &Method) -> Result<(), Failure> {
    let inputs = [
        Some(args.data.path()),
        args.data.labels.as_deref(),
        args.graph.as_deref(),
        args.known_negatives.as_deref(),
        args.excluded.as_deref(),
        sizes::file(args),
    ];
    for out in [&args.out, &args.negatives] {
        check_output(out.as_deref(), &inputs)?;
        output::beside(out.as_deref());
    }
    check_ending(
        args.negatives.as_deref(),
        "negative edges are written",
        "npz",
    )?;
    if args.out.is_some() && args.out == args.negatives {
        return Err(Failure::usage(
            "--out and --negatives name one file; give each its own",
        ));
    }
    let finds = method.has(Ability::FindsNegatives);
    if args.negatives.is_some() && (!finds || args.known_negatives.is_some()) {
        return Err(Failure::usage(format!(
            "--negatives needs --method {}, and a search for them",
            any_of(Ability::FindsNegatives)
        )));
    }
    if args.known_negatives.is_some() && !method.has(Ability::TakesNegatives) {
        return Err(Failure::usage(format!(
            "--known-negatives needs --method {}",
            any_of(Ability::TakesNegatives)
        )));
    }
    match (&args.excluded, method.has(Ability::TakesExclusions)) {
        (None, true) => {
            return Err(Failure::usage(format!(
                "--method {} needs --not FILE (csv with id,label: what items are not)",
                method.name()
            )));
        }
        (Some(_), false) => {
            return Err(Failure::usage(format!(
                "--not goes with --method {}, not with {}",
                any_of(Ability::TakesExclusions),
                method.name()
            )));
        }
        _ => {}
    }
    if args.graph.is_some() && method.has(Ability::NeedsNeighbors) {
        return Err(Failure::usage(format!(
            "--method {} needs the neighbours themselves; leave --graph out",
            method.name()
        )));
    }
    Ok(())
}

/// The names of the methods that have an ability, as people list them.
fn any_of(ability: Ability) -> String {
    let names = Method::names_with(ability);
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => names.concat(),
    }
}

/// The items and their graph.
struct Nodes {
    collection: Collection,
    graph: likewise::Graph,
    /// Kept where the method needs them.
    neighbors: Option<Neighbors>,
    /// How they were found, if the graph was built here.
    search: Option<Searched>,
}

impl Nodes {
    fn of(
        args: &Propagate,
        method: &Method,
        collection: Collection,
        at: &Context,
    ) -> Result<Self, Failure> {
        let Some(path) = &args.graph else {
            let view = joined(&args.data.view);
            let view = view.as_deref();
            let (collection, name) = source::with_view(collection, view, at.env.monitor)?;
            let x = collection.view(Some(&name))?.matrix.view();
            let mut flags = args.flags;
            let usual = matches!(method, Method::Dssml(_)).then_some(Symmetrize::Mutual);
            flags.symmetrize = flags.symmetrize.or(usual);
            let built = flags.settings(at.common.seed).build(x, at.env.monitor)?;
            let kept = method.has(Ability::NeedsNeighbors);
            return Ok(Self {
                collection,
                graph: built.graph,
                neighbors: kept.then_some(built.neighbors),
                search: Some(built.search),
            });
        };
        let graph = likewise_io::graph::read(path)?;
        if graph.n() != collection.len() {
            return Err(Failure::failed(format!(
                "{}: the graph has {} nodes, the data have {} items; build it from the same data",
                path.display(),
                graph.n(),
                collection.len()
            )));
        }
        Ok(Self {
            collection,
            graph,
            neighbors: None,
            search: None,
        })
    }
}

fn diagnose(
    args: &Propagate,
    collection: &Collection,
    method: &Method,
    given: &Given,
    at: &Context,
) -> Result<Diagnosis, Failure> {
    let mut diagnose = Diagnose::new().seed(at.common.seed);
    if let Ok(view) = collection.view(joined(&args.data.view).as_deref())
        && view.present.is_none()
    {
        diagnose = diagnose.features(view.matrix.view());
    }
    Ok(diagnose.run(method, given, at.env.monitor)?)
}

fn write_negatives(
    out: &Path,
    graph: &likewise::Graph,
    negatives: &NegativeEdges,
) -> Result<(), Failure> {
    let (mut rows, mut columns, mut weights) = (vec![], vec![], vec![]);
    for (i, j, weight) in negatives.edges(graph) {
        rows.push(i);
        columns.push(j);
        weights.push(weight as f32);
    }
    Ok(likewise_io::negatives::write(
        out,
        graph.n(),
        &rows,
        &columns,
        &weights,
    )?)
}

/// Pairs known to be unlike.
fn known_negatives(path: &Path, graph: &likewise::Graph) -> Result<NegativeEdges, Failure> {
    let pairs = likewise_io::graph::read(path)?;
    if pairs.n() != graph.n() {
        return Err(Failure::failed(format!(
            "{}: a matrix of {} items, but the graph has {}",
            path.display(),
            pairs.n(),
            graph.n()
        )));
    }
    let pairs = pairs.edges().map(|(i, j, w)| (i, j, f64::from(w)));
    NegativeEdges::from_pairs(graph, pairs)
        .map_err(|e| Failure::failed(format!("{}: {e}", path.display())))
}

/// What items are not, as pairs of item and class.
fn excluded(path: &Path, ids: &[String], labels: &Labels) -> Result<Vec<(u32, u32)>, Failure> {
    let not = likewise_io::read_labels(path, ids)?;
    let mut pairs = Vec::new();
    for item in 0..not.len() {
        let Some(class) = not[item].class() else {
            continue;
        };
        let name = &not.classes()[class as usize];
        match labels.classes().iter().position(|c| c == name) {
            Some(class) => pairs.push((item as u32, class as u32)),
            None => {
                return Err(Failure::failed(format!(
                    "{}: item {} is said not to be \"{name}\", but no label has this class",
                    path.display(),
                    ids[item]
                )));
            }
        }
    }
    Ok(pairs)
}

fn estimate(
    args: &Propagate,
    method: &Method,
    shape: &DataShape,
    classes: usize,
    at: &Context,
) -> Estimate {
    let k = args.flags.k as f64;
    let mut spread = shape.read().propagation(shape.items, k, classes as f64);
    let dense = |ability: &Ability| matches!(ability, Ability::Dense { .. });
    if method.abilities().iter().any(dense) {
        spread = spread.all_pairs(shape.items);
    }
    match args.graph {
        Some(_) => spread,
        None => shape.graph(spread, &args.flags.settings(at.common.seed)),
    }
}

fn accuracy(beliefs: &Beliefs, truth: &Labels, counts: impl Fn(usize) -> bool) -> Option<f64> {
    let counted = |i: &usize| counts(*i) && truth[*i].class().is_some();
    let items: Vec<usize> = (0..truth.len()).filter(counted).collect();
    let right = items
        .iter()
        .filter(|&&i| beliefs.pseudo_label[i] == truth[i].class());
    (!items.is_empty()).then(|| right.count() as f64 / items.len() as f64)
}
