//! `likewise eval`

use std::path::Path;

use likewise::eval::bootstrap::Bootstrap;
use likewise::eval::by_class::{ClassResult, by_class};
use likewise::eval::nmi;
use likewise::eval::ranking::{self, Protocol};
use likewise::eval::summary::{Run, Summary};
use likewise::{Label, Labels, distance::Metric};
use likewise_io::atomic;
use likewise_nn::loss::{MOST_ITEMS, WholeSet};
use likewise_study::estimate::Estimate;
use likewise_study::gate::{Gate, Losses};
use likewise_study::graph::DataShape;
use likewise_study::run_folder::{
    AcrossFolder, RunFolder, check_apart, check_ending, check_output,
};
use likewise_study::sides::Sides;
use likewise_study::source::Source;
use likewise_study::study::Results;
use likewise_study::table;
use ndarray::{Array2, Axis};
use serde::Serialize;

use crate::args::{Eval, MetricName, joined, read_as};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: &Eval, at: &Context) -> Result<(), Failure> {
    check_files(args)?;
    if RunFolder::is_meant(&args.source) || RunFolder::has_lost_its_record(&args.source) {
        return of_run(args, at);
    }
    let losses = WholeSet::named(&args.loss)?;
    let ks: Vec<usize> = args.at.iter().map(|k| k.get()).collect();
    for gate in &args.gate {
        gate.measured(
            &ks,
            !args.no_nmi && args.several.separator().is_none(),
            &args.loss,
        )?;
    }
    let estimate = before_reading(args, at)?;
    if args.dry_run {
        return at.print(estimate);
    }
    estimate.check(at.env.max_memory)?;
    let sides = read(args, at)?;
    after_reading(&sides, args).check(at.env.max_memory)?;
    let several = sides.labels.tags().is_some();
    let loss = measure(&losses, &sides.embeddings, &sides.labels)?;
    let metric = match args.metric {
        MetricName::Cosine => Metric::Cosine,
        MetricName::Euclidean => Metric::Euclidean,
        MetricName::InnerProduct => Metric::InnerProduct,
    };
    let x = sides.embeddings.view();
    let protocol = Protocol::new(x, &sides.labels, &sides.queries, &sides.gallery);
    let mut protocol = protocol.metric(metric);
    if let Some(same_as) = &sides.same_as {
        protocol = protocol.same_as(same_as);
    }
    let measured = Run {
        ranking: ranking::evaluate(&protocol, &ks, at.env.monitor)?,
        nmi: if args.no_nmi || several {
            None
        } else {
            Some(nmi::evaluate(&protocol, at.common.seed, at.env.monitor)?)
        },
    };
    let skipped = sides.unused();
    if skipped > 0 {
        at.env.monitor.warn(format!(
            "{skipped} items without a known label were left out"
        ));
    }
    let classes = by_class([&measured.ranking], &sides.labels);
    write_classes(args, &classes)?;
    let bootstrap = Bootstrap::new().seed(at.common.seed);
    let summary = Summary::of(&[measured], &bootstrap)?;
    tell_of_lone(&summary, at)?;
    let measured = Measured {
        summary: &summary,
        loss,
        classes,
    };
    if at.common.json {
        output::json(&measured)?;
    } else {
        output::text(table::of(&[("embeddings", &summary)]))?;
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
    }
    gates(args, measured.summary, &measured.loss)
}

/// Fails where no query has anything to find; says where some have not.
fn tell_of_lone(summary: &Summary, at: &Context) -> Result<(), Failure> {
    let (queries, lone) = (summary.n_queries, summary.n_lone);
    if lone == queries {
        return Err(Failure::failed(
            "no query has another item of its class in the gallery, so that there is nothing to find; label two \
             items of a class at least",
        ));
    }
    if lone > 0 {
        at.env.monitor.warn(format!(
            "{lone} of {queries} queries have no other item of their class in the gallery: R@k and P@k count them as \
             misses, the other measures leave them out"
        ));
    }
    Ok(())
}

/// The metrics, and the losses that were asked for.
#[derive(Serialize)]
struct Measured<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    #[serde(skip_serializing_if = "Losses::is_empty")]
    loss: Losses,
    classes: Vec<ClassResult>,
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
    if let Some((one, _)) = both.filter(|(one, other)| atomic::same_file(one, other)) {
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
        let names = [
            "class",
            "queries",
            "recall@1",
            "map_at_r",
            "taken_for",
            "times",
        ];
        let lines = classes.iter().map(|class| {
            let (other, times) = class.taken_for().unwrap_or_default();
            [
                class.class.clone(),
                class.queries.to_string(),
                class.recall_at_1.to_string(),
                class
                    .map_at_r
                    .map_or(String::new(), |value| value.to_string()),
                other.to_owned(),
                times.to_string(),
            ]
        });
        likewise_io::write_lines(out, &names, lines)?;
    }
    if let Some(out) = &args.confusion {
        let lines = classes.iter().flat_map(|class| {
            let each = class.nearest.iter();
            each.map(|(nearest, times)| [class.class.clone(), nearest.clone(), times.to_string()])
        });
        likewise_io::write_lines(out, &["class", "nearest", "queries"], lines)?;
    }
    Ok(())
}

/// The losses over all items with a known label.
fn measure(
    losses: &WholeSet,
    embeddings: &Array2<f32>,
    labels: &Labels,
) -> Result<Losses, Failure> {
    if losses.is_empty() {
        return Ok(Losses::new());
    }
    let known = labels.items().iter().enumerate();
    let (items, classes): (Vec<usize>, Vec<u32>) = known
        .filter_map(|(item, label)| match label {
            Label::Known(class) => Some((item, *class)),
            Label::Outside | Label::Unknown => None,
        })
        .unzip();
    let rows = embeddings.select(Axis(0), &items);
    match labels.select(&items).item_tags() {
        Some(tags) => Ok(losses.measure_tags(rows.view(), &tags)?),
        None => Ok(losses.measure(rows.view(), &classes)?),
    }
}

fn gates(args: &Eval, summary: &Summary, losses: &Losses) -> Result<(), Failure> {
    let check = |gate: &Gate| gate.check(summary, losses);
    Ok(args.gate.iter().try_for_each(check)?)
}

/// What `--at` is where it is not given.
const DEFAULT_AT: [usize; 4] = [1, 2, 4, 8];

/// Keeps of R@k and P@k of a run, and of their intervals, those that `--at` asks for.
fn only_at(results: &mut Results, args: &Eval) -> Result<(), Failure> {
    let asked: Vec<usize> = args.at.iter().map(|k| k.get()).collect();
    let measured: Vec<usize> = results.summary.recall.keys().copied().collect();
    if let Some(missing) = asked.iter().find(|k| !measured.contains(k)) {
        let measured = if measured.is_empty() {
            "no k".to_owned()
        } else {
            listed(&measured)
        };
        return Err(Failure::usage(format!(
            "--at {missing}: the run was measured at {} when it was fitted; for others: likewise \
             embed {} DATA -o e.npy, then likewise eval e.npy --labels FILE --at {}",
            measured,
            args.source.display(),
            listed(&asked)
        )));
    }
    keep_at(&mut results.summary, &asked);
    for baseline in results.baselines.values_mut() {
        keep_at(baseline, &asked);
    }
    Ok(())
}

fn listed(ks: &[usize]) -> String {
    let ks: Vec<String> = ks.iter().map(usize::to_string).collect();
    ks.join(",")
}

fn keep_at(summary: &mut Summary, asked: &[usize]) {
    summary.recall.retain(|k, _| asked.contains(k));
    summary.precision.retain(|k, _| asked.contains(k));
    summary.ndcg.retain(|k, _| asked.contains(k));
    let is_asked = |k: &str| k.parse().is_ok_and(|k| asked.contains(&k));
    let of_metric = |name: &String| name.split_once('@').is_none_or(|(_, k)| is_asked(k));
    summary.ci.retain(|name, _| of_metric(name));
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
        let ks: Vec<usize> = args.at.iter().map(|k| k.get()).collect();
        let asked = (ks != DEFAULT_AT).then_some(&ks[..]);
        return super::across::eval(args, asked, at);
    }
    // Numbers of a run that says no more how it was made are no numbers of a run.
    let mut results = RunFolder::read_by(&args.source, |run| run.config().and(run.metrics()))?;
    for gate in &args.gate {
        gate.value(&results.summary, &Losses::new())?;
    }
    if args.at.iter().map(|k| k.get()).ne(DEFAULT_AT) {
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
        output::line(line)?;
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
    Ok(Source::open(path, read)?.with_several_labels(args.several.separator()))
}

fn before_reading(args: &Eval, at: &Context) -> Result<Estimate, Failure> {
    let shape = |path: &Path, labels: Option<&Path>| -> Result<DataShape, Failure> {
        Ok(DataShape::of(&source(path, labels, args, at)?, &at.env)?)
    };
    let asked = shape(args.source.as_path(), args.labels.as_deref())?;
    let (queries, d) = (asked.items, asked.columns);
    let gallery = args.gallery.as_deref();
    let searched = gallery.map(|path| shape(path, args.gallery_labels.as_deref()));
    let searched = searched.transpose()?;
    let gallery = searched.map_or(0.0, |shape| shape.items);
    let making = searched.map_or(0.0, |shape| shape.making);
    let searched = if gallery > 0.0 { gallery } else { queries };
    let classes = if args.dry_run {
        source(&args.source, args.labels.as_deref(), args, at)?
            .labeled(queries, d, &at.env)
            .map(|labeled| labeled.classes)
    } else {
        // Looked at again once they are read.
        None
    };
    let classes = classes.map_or(CLASSES, |c| c as f64);
    let read = Estimate::new().resident(8.0 * (queries + gallery) * d);
    let read = read.stage(asked.making.max(making), 0.0);
    Ok(with_losses(read, queries, args).evaluation(queries, searched, d, classes, !args.no_nmi))
}

/// Classes that are thought of before the labels are read.
const CLASSES: f64 = 100.0;

/// The same once it is known who asks, who is searched and how many classes there are.
fn after_reading(sides: &Sides, args: &Eval) -> Estimate {
    let (rows, d) = (
        sides.embeddings.nrows() as f64,
        sides.embeddings.ncols() as f64,
    );
    let (asked, searched) = (sides.queries.len() as f64, sides.gallery.len() as f64);
    let classes = sides.labels.n_classes() as f64;
    let read = Estimate::new().resident(8.0 * rows * d);
    with_losses(read, rows, args).evaluation(asked, searched, d, classes, !args.no_nmi)
}

/// The losses hold about eight matrices of all with all, in f64.
fn with_losses(estimate: Estimate, items: f64, args: &Eval) -> Estimate {
    if args.loss.is_empty() {
        return estimate;
    }
    estimate.resident(64.0 * items.min(MOST_ITEMS as f64).powi(2))
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_run_keeps_the_k_that_are_asked_for() {
        let by_k = |one, eight| BTreeMap::from([(1, one), (8, eight)]);
        let ci = |names: &[&str]| {
            let each = names.iter().map(|name| ((*name).to_owned(), [0.2, 0.6]));
            each.collect::<BTreeMap<_, _>>()
        };
        let mut summary = Summary {
            recall: by_k(0.5, 0.9),
            precision: by_k(0.5, 0.4),
            map: Some(0.3),
            ci: ci(&["recall@1", "recall@8", "map"]),
            ..Summary::default()
        };
        keep_at(&mut summary, &[8]);
        let expected = Summary {
            recall: BTreeMap::from([(8, 0.9)]),
            precision: BTreeMap::from([(8, 0.4)]),
            map: Some(0.3),
            ci: ci(&["recall@8", "map"]),
            ..Summary::default()
        };
        assert_eq!(summary, expected);
    }
}
