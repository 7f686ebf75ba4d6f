//! `likewise propagate`

mod choice;

use std::time::Instant;

use likewise_study::graph::{DataShape, fuse_in_words, parts_in_words};
use likewise_study::propagation::{Answer, ByTag, Calibrating, Classes, Job};
use likewise_study::{source, table};
use likewise_terminal::{Context, Failure, output};

use crate::args::{NEIGHBORS, Propagate, joined, neighbors};

pub(crate) fn run(args: &Propagate, at: &Context) -> Result<(), Failure> {
    let view = joined(&args.data.view);
    let mut job = job(args, view.as_deref(), at)?;
    args.flags.check()?;
    let several = args.several.separator();
    let data = [Some(args.data.path()), args.data.labels.as_deref()];
    job.check(&data, several.is_some())?;
    output::beside(args.out.as_deref());
    output::beside(args.negatives.as_deref());
    let data = args.data.source(at.common.seed)?;
    let mut data = data.with_several_labels(several);
    if args.graph.is_none() {
        data = data.scaled_by(args.flags.standardize);
    }
    let shape = DataShape::of(&data, &at.env)?;
    job.settings.check_views(shape.views)?;
    job.method.check_nodes(shape.items as usize)?;
    // A graph that was written has its own.
    if args.graph.is_none() {
        let k = neighbors(args.flags.k, shape.items, args.data.path(), at.env.monitor)?;
        job.settings.graph = job.settings.graph.k(k);
    }
    if args.dry_run {
        let classes = shape.classes(&data, &at.env).unwrap_or(10);
        return at.print(job.estimate(&shape, classes));
    }
    shape.read().check(at.env.max_memory)?;
    let start = Instant::now();
    let (collection, columns) = job.settings.load(&data, &at.env)?;
    job.columns = columns;
    let classes = source::labels(&collection)?.n_classes();
    job.estimate(&shape, classes).check(at.env.max_memory)?;
    let answer = job.run(collection, start, &at.env)?;
    if at.common.json {
        return output::json(&answer);
    }
    match &answer {
        Answer::Classes(answer) => print(answer),
        Answer::Tags(answer) => print_tags(answer),
    }
}

/// What the flags ask for, with the usual number of neighbours.
fn job<'a>(args: &'a Propagate, view: Option<&'a str>, at: &Context) -> Result<Job<'a>, Failure> {
    let choice = choice::choice(args)?;
    let method = choice.method(args.known_negatives.is_some())?;
    let mut flags = args.flags;
    flags.symmetrize = flags.symmetrize.or(Some(method.symmetrize()));
    Ok(Job {
        method,
        suited: choice.is_open(),
        view,
        graph: args.graph.as_deref(),
        settings: flags.settings(NEIGHBORS, at.common.seed),
        columns: Vec::new(),
        labels_per_class: args.labels_per_class.map(std::num::NonZeroUsize::get),
        sizes: choice.sizes,
        known_negatives: args.known_negatives.as_deref(),
        excluded: args.excluded.as_deref(),
        diagnose: args.diagnose,
        calibrate: args.calibrate,
        out: args.out.as_deref(),
        negatives: args.negatives.as_deref(),
        seed: at.common.seed,
    })
}

fn print(answer: &Classes) -> Result<(), Failure> {
    let accuracy = match (answer.accuracy, answer.accuracy_hidden) {
        (Some(all), Some(hidden)) => {
            format!("accuracy {all:.3} ({hidden:.3} on hidden labels)")
        }
        _ => "no hidden labels to measure accuracy on".into(),
    };
    let went = &answer.convergence;
    output::line(format!(
        "{}: {} labels{}, {} iterations, residual {:.1e}{}, {accuracy}, {:.1} s",
        answer.method,
        answer.labels,
        fuse_in_words(answer.fuse),
        went.iterations,
        went.residual,
        parts_in_words(went.components, went.isolated, went.unreached),
        answer.seconds
    ))?;
    for remark in answer.diagnosis.iter().flat_map(|d| &d.verdict) {
        output::line(remark)?;
    }
    for line in answer.calibration.iter().flat_map(Calibrating::lines) {
        output::line(line)?;
    }
    Ok(())
}

fn print_tags(answer: &ByTag) -> Result<(), Failure> {
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.3}"));
    let names = [
        "",
        "labeled",
        "found",
        "threshold",
        "F1",
        "precision",
        "recall",
    ];
    let mut lines = vec![names.map(str::to_owned).to_vec()];
    for row in &answer.tags {
        let hidden = row.hidden.unwrap_or_default();
        lines.push(vec![
            row.tag.clone(),
            row.labeled.to_string(),
            row.found.to_string(),
            number(Some(row.threshold)),
            number(row.f1),
            number(hidden.precision_hidden),
            number(hidden.recall_hidden),
        ]);
    }
    output::text(table::aligned(&lines))?;
    let hidden = match answer.f1_hidden {
        Some(f1) => format!("F1 {f1:.3} on hidden labels"),
        None => "no hidden labels to measure on".to_owned(),
    };
    output::line(format!(
        "{}: {} items labeled{}, {} that no label reaches, {hidden}, {:.1} s",
        answer.method,
        answer.labeled,
        fuse_in_words(answer.fuse),
        answer.unreached,
        answer.seconds
    ))
}
