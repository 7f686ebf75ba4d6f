//! `likewise propagate`

mod choice;

use std::time::Instant;

use likewise::graph::Symmetrize;
use likewise::propagate::{Ability, Method};
use likewise_io::atomic;
use likewise_study::graph::{DataShape, parts_in_words};
use likewise_study::propagation::{Answer, ByTag, Classes, Job};
use likewise_study::run_folder::{check_ending, check_output};
use likewise_study::{source, table};

use crate::args::{NEIGHBORS, Propagate, joined, neighbors};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: &Propagate, at: &Context) -> Result<(), Failure> {
    let method = choice::method(args)?;
    args.flags.check()?;
    check_files(args, &method)?;
    let several = args.several.separator();
    if several.is_some() {
        check_several(args)?;
    }
    let data = args.data.source(at.common.seed)?;
    let data = data.with_several_labels(several);
    let shape = DataShape::of(&data, &at.env)?;
    method.check_nodes(shape.items as usize)?;
    let view = joined(&args.data.view);
    let k = match &args.graph {
        // It has its own.
        Some(_) => NEIGHBORS,
        None => neighbors(args.flags.k, shape.items, args.data.path(), at.env.monitor)?,
    };
    let job = job(args, method, view.as_deref(), k, at);
    if args.dry_run {
        let classes = shape.classes(&data, &at.env).unwrap_or(10);
        return at.print(job.estimate(&shape, classes));
    }
    shape.read().check(at.env.max_memory)?;
    let start = Instant::now();
    let collection = data.load(&at.env)?;
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

/// What the flags ask for.
fn job<'a>(
    args: &'a Propagate,
    method: Method,
    view: Option<&'a str>,
    k: usize,
    at: &Context,
) -> Job<'a> {
    let mut flags = args.flags;
    let usual = matches!(method, Method::Dssml(_)).then_some(Symmetrize::Mutual);
    flags.symmetrize = flags.symmetrize.or(usual);
    Job {
        method,
        view,
        graph: args.graph.as_deref(),
        settings: flags.settings(k, at.common.seed),
        labels_per_class: args.labels_per_class.map(std::num::NonZeroUsize::get),
        sizes: choice::sizes(args),
        known_negatives: args.known_negatives.as_deref(),
        excluded: args.excluded.as_deref(),
        diagnose: args.diagnose,
        calibrate: args.calibrate,
        out: args.out.as_deref(),
        negatives: args.negatives.as_deref(),
        seed: at.common.seed,
    }
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
        "{}: {} labels, {} iterations, residual {:.1e}{}, {accuracy}, {:.1} s",
        answer.method,
        answer.labels,
        went.iterations,
        went.residual,
        parts_in_words(went.components, went.isolated, went.unreached),
        answer.seconds
    ))?;
    for remark in answer.diagnosis.iter().flat_map(|d| &d.verdict) {
        output::line(remark)?;
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
        "{}: {} items labeled, {} that no label reaches, {hidden}, {:.1} s",
        answer.method, answer.labeled, answer.unreached, answer.seconds
    ))
}

/// Fails on flags that go by one label an item.
fn check_several(args: &Propagate) -> Result<(), Failure> {
    let given = [
        ("--not", args.excluded.is_some()),
        ("--class-sizes", args.class_sizes.is_some()),
        ("--negatives", args.negatives.is_some()),
        ("--diagnose", args.diagnose),
        ("--calibrate", args.calibrate),
    ];
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((flag, _)) => Err(Failure::usage(format!(
            "{flag} goes by one label an item, and with --multi-label each label is spread by itself; \
             leave it out"
        ))),
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
        choice::sizes(args),
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
    let both = args.out.as_deref().zip(args.negatives.as_deref());
    if both.is_some_and(|(out, negatives)| atomic::same_place(out, negatives)) {
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
