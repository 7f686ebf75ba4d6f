//! `likewise propagate`

use std::time::Instant;

use likewise::propagate::{Harmonic, Lgc, Mass, Mixed, NegativeEdges, Propagate as _, Scale};
use likewise::{Beliefs, Labels, Monitor};
use serde::Serialize;

use super::{Context, graph};
use crate::args::{MassName, MethodName, Propagate, ScaleName};
use crate::data;
use crate::estimate::Estimate;
use crate::failure::Failure;
use crate::output;

#[derive(Serialize)]
struct Answer {
    method: &'static str,
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
    seconds: f64,
}

pub(crate) fn run(args: &Propagate, at: &Context) -> Result<(), Failure> {
    if args.negatives.is_some() && args.method != MethodName::Mixed {
        return Err(Failure::usage("--negatives needs --method mixed"));
    }
    let shape = graph::shape(&args.data, at)?;
    if args.dry_run {
        return estimate(args, &shape, 10).print(at);
    }
    shape.read().check(at)?;
    let start = Instant::now();
    let collection = data::load(&args.data, at)?;
    estimate(args, &shape, data::labels(&collection)?.n_classes()).check(at)?;
    let name = args.data.view.as_deref();
    let (collection, graph) = if let Some(path) = &args.graph {
        let graph = likewise_io::graph::read(path)?;
        if graph.n() != collection.len() {
            return Err(Failure::failed(format!(
                "{}: the graph has {} nodes, the data have {} items; build it from the same data",
                path.display(),
                graph.n(),
                collection.len()
            )));
        }
        (collection, graph)
    } else {
        let (collection, name) = data::with_view(collection, name, at)?;
        let x = collection.view(Some(&name))?.matrix.view();
        let (graph, ..) = graph::build(&args.flags, x, at.common.seed, at.monitor)?;
        (collection, graph)
    };
    let truth = data::labels(&collection)?;
    let per_class = args.labels_per_class.map(std::num::NonZeroUsize::get);
    let visible = data::visible(&collection, per_class, at.common.seed);
    let (beliefs, negatives) = spread(args, &graph, &visible, at.monitor)?;
    if let Some(out) = &args.out {
        likewise_io::beliefs::write(out, &beliefs, visible.classes(), collection.ids())?;
    }
    if let (Some(out), Some(negatives)) = (&args.negatives, &negatives) {
        let (mut rows, mut columns, mut weights) = (vec![], vec![], vec![]);
        for (i, j, weight) in negatives.edges(&graph) {
            rows.push(i);
            columns.push(j);
            weights.push(weight as f32);
        }
        likewise_io::negatives::write(out, graph.n(), &rows, &columns, &weights)?;
    }
    let convergence = &beliefs.convergence;
    let hidden = |i: usize| visible[i].class().is_none();
    let any_hidden = (0..truth.len()).any(|i| hidden(i) && truth[i].class().is_some());
    let answer = Answer {
        method: name_of(args.method),
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
        seconds: start.elapsed().as_secs_f64(),
    };
    if at.common.json {
        return output::json(&answer);
    }
    let accuracy = match (answer.accuracy, answer.accuracy_hidden) {
        (Some(all), Some(hidden)) => format!("accuracy {all:.3} ({hidden:.3} on hidden labels)"),
        _ => "no hidden labels to measure accuracy on".into(),
    };
    output::line(format!(
        "{}: {} labels, {} iterations, residual {:.1e}, {} component(s), {} isolated, {} without \
         any label in reach, {accuracy}, {:.1} s",
        answer.method,
        answer.labels,
        answer.iterations,
        answer.residual,
        answer.components,
        answer.isolated,
        answer.unreached,
        answer.seconds
    ))
}

fn estimate(args: &Propagate, shape: &graph::DataShape, classes: usize) -> Estimate {
    let k = args.flags.k as f64;
    let spread = shape.read().propagation(shape.items, k, classes as f64);
    match args.graph {
        Some(_) => spread,
        None => shape.graph(spread, &args.flags),
    }
}

fn name_of(method: MethodName) -> &'static str {
    match method {
        MethodName::Lgc => "lgc",
        MethodName::Harmonic => "harmonic",
        MethodName::Mixed => "mixed",
    }
}

fn spread(
    args: &Propagate,
    graph: &likewise::Graph,
    labels: &Labels,
    monitor: &Monitor,
) -> Result<(Beliefs, Option<NegativeEdges>), Failure> {
    let mass = args.mass.map(|mass| match mass {
        MassName::None => Mass::None,
        MassName::Uniform => Mass::Uniform,
        MassName::Labeled => Mass::Labeled,
        MassName::Estimated => Mass::Estimated,
    });
    /// Sets the parameters that were given and leaves the others at their defaults.
    macro_rules! with {
        ($method:expr, $($set:ident = $value:expr),*) => {{
            let mut method = $method;
            $(if let Some(value) = $value { method = method.$set(value); })*
            method
        }};
    }
    let only_mixed = [
        ("--scale", args.scale.is_some()),
        ("--beta", args.beta.is_some()),
        ("--lambda", args.lambda.is_some()),
        ("--pair-factor", args.pair_factor.is_some()),
    ];
    if args.method != MethodName::Mixed
        && let Some((flag, _)) = only_mixed.iter().find(|(_, given)| *given)
    {
        return Err(Failure::usage(format!("{flag} needs --method mixed")));
    }
    Ok(match args.method {
        MethodName::Lgc => {
            let method = with!(
                Lgc::new(),
                mu = args.mu,
                mass = mass,
                tolerance = args.tolerance
            );
            (method.propagate(graph, labels, monitor)?, None)
        }
        MethodName::Harmonic => {
            let method = with!(
                Harmonic::new(),
                mu = args.mu,
                mass = mass,
                tolerance = args.tolerance
            );
            (method.propagate(graph, labels, monitor)?, None)
        }
        MethodName::Mixed => {
            let scale = args.scale.map(|scale| match scale {
                ScaleName::Literal => Scale::Literal,
                ScaleName::Unscaled => Scale::Unscaled,
                ScaleName::Standardised => Scale::Standardised,
            });
            // The paper's own scales go with the paper's own values.
            let base = match scale {
                Some(Scale::Literal | Scale::Unscaled) => Mixed::paper(),
                _ => Mixed::new(),
            };
            let method = with!(
                base,
                scale = scale,
                beta = args.beta,
                lambda = args.lambda,
                mu = args.mu,
                pair_factor = args.pair_factor,
                mass = mass,
                tolerance = args.tolerance
            );
            let (beliefs, negatives) = method.propagate_with_negatives(graph, labels, monitor)?;
            (beliefs, Some(negatives))
        }
    })
}

fn accuracy(beliefs: &Beliefs, truth: &Labels, counts: impl Fn(usize) -> bool) -> Option<f64> {
    let counted = |i: &usize| counts(*i) && truth[*i].class().is_some();
    let items: Vec<usize> = (0..truth.len()).filter(counted).collect();
    let right = items
        .iter()
        .filter(|&&i| beliefs.pseudo_label[i] == truth[i].class());
    (!items.is_empty()).then(|| right.count() as f64 / items.len() as f64)
}
