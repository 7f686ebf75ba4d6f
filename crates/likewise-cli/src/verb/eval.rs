//! `likewise eval`

use std::path::Path;

use likewise::distance::Metric;
use likewise::eval::by_class::ClassResult;
use likewise::eval::summary::Summary;
use likewise_io::atomic;
use likewise_nn::loss::WholeSet;
use likewise_study::estimate::Estimate;
use likewise_study::evaluation::{self, Job, Measured};
use likewise_study::gate::{Gate, Losses};
use likewise_study::graph::DataShape;
use likewise_study::run_folder::{
    AcrossFolder, RunFolder, check_apart, check_ending, check_output,
};
use likewise_study::sides::Sides;
use likewise_study::source::Source;
use likewise_study::study::Results;
use likewise_study::{plain, table};

use crate::args::{Eval, MetricName, joined, open, read_as};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: &Eval, at: &Context) -> Result<(), Failure> {
    check_files(args)?;
    if RunFolder::is_meant(&args.source) || RunFolder::has_lost_its_record(&args.source) {
        return of_run(args, at);
    }
    let job = Job {
        metric: match args.metric {
            MetricName::Cosine => Metric::Cosine,
            MetricName::Euclidean => Metric::Euclidean,
            MetricName::InnerProduct => Metric::InnerProduct,
        },
        ks: asked(args),
        nmi: !args.no_nmi,
        losses: WholeSet::named(&args.loss)?,
        seed: at.common.seed,
    };
    let clusters = job.nmi && args.several.separator().is_none();
    for gate in &args.gate {
        gate.measured(&job.ks, clusters, &args.loss)?;
    }
    let estimate = estimate(&job, args, at)?;
    if args.dry_run {
        return at.print(estimate);
    }
    estimate.check(at.env.max_memory)?;
    let sides = read(args, at)?;
    job.after_reading(&sides).check(at.env.max_memory)?;
    let measured = job.run(&sides, &at.env)?;
    write_classes(args, &measured.classes)?;
    if at.common.json {
        output::json(&measured)?;
    } else {
        print_measured(&measured)?;
    }
    gates(args, &measured.summary, &measured.loss)
}

fn print_measured(measured: &Measured) -> Result<(), Failure> {
    let summary = &measured.summary;
    output::text(table::of(&[("embeddings", summary)]))?;
    let sample = summary.n_queries_drawn_from.map_or(String::new(), |all| {
        format!(", a sample of {all} in the shares of the classes")
    });
    output::line(format!(
        "{} queries{sample} ({} without a relevant item), gallery of {}",
        summary.n_queries, summary.n_lone, summary.n_gallery
    ))?;
    for (name, value) in &measured.loss {
        output::line(format!("loss {name:18}{value:.8}"))?;
    }
    Ok(())
}

/// The k that are asked for.
fn asked(args: &Eval) -> Vec<usize> {
    args.at.iter().map(|k| k.get()).collect()
}

/// Fails on a name of an output that cannot be one.
fn check_files(args: &Eval) -> Result<(), Failure> {
    let read = [
        Some(args.source.as_path()),
        args.labels.as_deref(),
        args.gallery.as_deref(),
    ];
    for out in [&args.classes, &args.confusion] {
        let out = out.as_deref();
        check_output(
            out,
            &[&read[..], &[args.gallery_labels.as_deref()]].concat(),
        )?;
        check_apart(out, &args.source)?;
        check_ending(out, "classes are written", "csv")?;
    }
    let both = args.classes.as_deref().zip(args.confusion.as_deref());
    if let Some((one, _)) = both.filter(|(one, other)| atomic::same_place(one, other)) {
        let message = format!(
            "{}: --classes and --confusion name one file; name two",
            one.display()
        );
        return Err(Failure::usage(message));
    }
    Ok(())
}

/// Writes what `--classes` and `--confusion` ask for.
fn write_classes(args: &Eval, classes: &[ClassResult]) -> Result<(), Failure> {
    if let Some(out) = &args.classes {
        evaluation::write_classes(out, classes)?;
    }
    if let Some(out) = &args.confusion {
        evaluation::write_confusion(out, classes)?;
    }
    Ok(())
}

fn gates(args: &Eval, summary: &Summary, losses: &Losses) -> Result<(), Failure> {
    let check = |gate: &Gate| gate.check(summary, losses);
    Ok(args.gate.iter().try_for_each(check)?)
}

/// What `--at` is where it is not given.
const DEFAULT_AT: [usize; 4] = [1, 2, 4, 8];

/// Keeps of R@k and P@k of a run, and of their intervals, those that `--at` asks for.
fn only_at(results: &mut Results, args: &Eval) -> Result<(), Failure> {
    let asked = asked(args);
    let measured: Vec<usize> = results.summary.recall.keys().copied().collect();
    results.keep_at(&asked).map_err(|missing| {
        let measured = if measured.is_empty() {
            "no k".to_owned()
        } else {
            listed(&measured)
        };
        Failure::usage(format!(
            "--at {missing}: the run was measured at {measured} when it was fitted; for others: likewise \
             embed {} DATA -o e.npy, then likewise eval e.npy --labels FILE --at {}",
            args.source.display(),
            listed(&asked)
        ))
    })
}

fn listed(ks: &[usize]) -> String {
    let ks: Vec<String> = ks.iter().map(usize::to_string).collect();
    ks.join(",")
}

/// A run was measured when it was fitted: before its hidden labels could be looked at.
fn of_run(args: &Eval, at: &Context) -> Result<(), Failure> {
    let given = [
        ("--labels", args.labels.is_some()),
        ("--gallery", args.gallery.is_some()),
        ("--view", !args.view.is_empty()),
        ("--loss", !args.loss.is_empty()),
        ("--metric", args.metric != MetricName::Cosine),
        ("--no-nmi", args.no_nmi),
        ("--multi-label", args.several.separator().is_some()),
        ("--dry-run", args.dry_run),
    ];
    if let Some((flag, _)) = given.iter().find(|(_, given)| *given) {
        if AcrossFolder::is_one(&args.source) {
            return Err(Failure::usage(format!(
                "{flag} goes with embeddings; a run across views was measured when it was fitted: leave it out"
            )));
        }
        return Err(Failure::usage(format!(
            "{flag} goes with embeddings, not with a run; for other data: likewise embed {} \
             DATA -o e.npy, then likewise eval e.npy --labels FILE",
            args.source.display()
        )));
    }
    if AcrossFolder::is_one(&args.source) {
        if args.confusion.is_some() {
            return Err(Failure::usage(
                "--confusion does not go with a run across views; leave it out",
            ));
        }
        let ks = asked(args);
        let asked = (ks != DEFAULT_AT).then_some(&ks[..]);
        return super::across::eval(args, asked, at);
    }
    // Numbers of a run that says no more how it was made are no numbers of a run.
    let mut results = RunFolder::read_by(&args.source, |run| run.config().and(run.metrics()))?;
    for gate in &args.gate {
        gate.value(&results.summary, &Losses::new())?;
    }
    if asked(args) != DEFAULT_AT {
        only_at(&mut results, args)?;
    }
    let given = [
        ("--classes", &args.classes),
        ("--confusion", &args.confusion),
    ];
    let asked = given.iter().find(|(_, out)| out.is_some());
    if let Some((flag, _)) = asked.filter(|_| results.classes.is_empty()) {
        return Err(Failure::failed(format!(
            "{flag}: {} has no test part, so its classes were not measured one by one; for others: \
             likewise embed {} DATA -o e.npy, then likewise eval e.npy --labels FILE {flag} OUT.csv",
            args.source.display(),
            args.source.display(),
        )));
    }
    write_classes(args, &results.classes)?;
    if at.common.json {
        output::json(&results)?;
    } else {
        print(&results)?;
    }
    gates(args, &results.summary, &Losses::new())
}

/// The table and the verdict of a run.
pub(super) fn print(results: &Results) -> Result<(), Failure> {
    if results.summary.n_queries > 0 {
        output::text(table::of(&results.rows()))?;
    }
    for line in &results.verdict {
        // In runs of before, names in it may be of any length.
        output::line(plain::message(line))?;
    }
    Ok(())
}

/// One side of the evaluation.
fn source(
    path: &Path,
    labels: Option<&Path>,
    args: &Eval,
    at: &Context,
) -> Result<Source, Failure> {
    let read = read_as(
        labels,
        &args.view,
        &args.table,
        &args.images,
        at.common.seed,
    )?;
    Ok(open(path, read)?.with_several_labels(args.several.separator()))
}

/// What it takes, before anything is read.
fn estimate(job: &Job, args: &Eval, at: &Context) -> Result<Estimate, Failure> {
    let asking = source(&args.source, args.labels.as_deref(), args, at)?;
    let shape = DataShape::of(&asking, &at.env)?;
    let searched = match &args.gallery {
        Some(path) => {
            let gallery = source(path, args.gallery_labels.as_deref(), args, at)?;
            Some(DataShape::of(&gallery, &at.env)?)
        }
        None => None,
    };
    // Looked at again once they are read.
    let classes = args.dry_run.then(|| shape.classes(&asking, &at.env));
    Ok(job.before_reading(&shape, searched.as_ref(), classes.flatten()))
}

fn read(args: &Eval, at: &Context) -> Result<Sides, Failure> {
    let asking = source(&args.source, args.labels.as_deref(), args, at)?;
    let gallery = args.gallery.as_deref();
    let labels = args.gallery_labels.as_deref();
    let searched = gallery
        .map(|path| source(path, labels, args, at))
        .transpose()?;
    let view = joined(&args.view);
    Ok(Sides::read(asking, searched, view.as_deref(), &at.env)?)
}
