//! What the verbs do with a recipe, or a run, across views.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use likewise_study::across::{self, Ask, Asked, Job, Way};
use likewise_study::gate::Gate;
use likewise_study::graph::DataShape;
use likewise_study::query::Answer;
use likewise_study::run_folder::{AcrossFolder, Rights, Work, check_output, is_same};
use likewise_study::source::Source;
use likewise_study::study::{CrossResults, CrossStudy, Protocol, Texts};
use likewise_study::{Recipe, table};

use crate::args::{Eval, Fit, Search};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// Fits a recipe whose learner is one across views.
pub(super) fn fit(args: &Fit, mut recipe: Recipe, at: &Context) -> Result<(), Failure> {
    check_flags(args, &recipe)?;
    // The views for themselves, and not side by side.
    let source = args.data.source(at.common.seed)?.with_view(None);
    let (views, columns) = named(&args.data.view);
    // A column that is not there is said before what the rest of the data lack.
    let texts = read_texts(&source, &columns)?;
    let source = match columns.as_slice() {
        [] => source,
        columns => source.beside_texts(columns, columns.len() < views.len()),
    };
    let shape = DataShape::of(&source, &at.env)?;
    if args.k.is_none() {
        likewise_study::fit::limit_neighbors(&mut recipe, shape.items, at.env.monitor);
    }
    let needed = across::estimate(&shape, &recipe);
    if args.dry_run {
        return at.print(needed);
    }
    needed.check(at.env.max_memory)?;
    let Some(out) = &args.out else {
        return Err(Failure::usage("name a folder for the run with --out"));
    };
    check_output(Some(out), &[])?;
    let clock = Instant::now();
    let work = Work::begin(
        out,
        Rights {
            resume: args.resume,
            overwrite: args.overwrite,
            renew: false,
        },
    )?;
    let path = source.path();
    if path.parent().is_some_and(|folder| is_same(folder, out)) {
        check_output(Some(path), &[])?;
    }
    let source = source.with_own_words(&at.env)?;
    let (collection, layout) = source.load_with_layout(&at.env)?;
    let asked = Asked {
        split: args.asked(at.common.seed).split,
        labels_per_class: args.labels_per_class,
        label_fraction: args.label_fraction,
        draws: args.draws,
        seed: at.common.seed,
    };
    let protocol = asked.protocol(&collection)?;
    let mut job = Job {
        recipe,
        protocol,
        photos: source.photos(),
        texts,
        views,
        data: path.display().to_string(),
        digest: source.digest()?,
        read_as: args.read_as(&args.data.view.join("+"), ""),
        table: layout,
        encoder: source.encoded(&args.data.view.join("+"), &at.env)?,
        words: source.vocabularies().to_vec(),
        command: at.command(),
        seconds: BTreeMap::from([("read".into(), clock.elapsed().as_secs_f64())]),
    };
    if work.finished().is_some() {
        let same = AcrossFolder::is_one(out)
            && AcrossFolder::open(out).and_then(|run| job.is_done(&run, &collection))?;
        if !same {
            return Err(Failure::usage(format!(
                "{} holds a finished run of other data or settings; --overwrite replaces it",
                out.display()
            )));
        }
        let results = AcrossFolder::open(out)?.metrics()?;
        show(&results, at)?;
        return gates(&args.gate, &results);
    }
    let study = job.run(&collection, work, &at.env)?;
    show(&study.results, at)?;
    if !at.common.json {
        tell(&study, &job.views, out)?;
    }
    gates(&args.gate, &study.results)
}

/// What stands in the folder.
fn tell(study: &CrossStudy, views: &[String], out: &Path) -> Result<(), Failure> {
    output::line("")?;
    output::line(format!(
        "{}: model, {} of {} views, report.html",
        out.display(),
        match study.embedded.rows[0] {
            likewise::cross::Embedding::Bits(_) => "codes",
            likewise::cross::Embedding::Real(_) => "embeddings",
        },
        views.len()
    ))
}

fn gates(gates: &[Gate], results: &CrossResults) -> Result<(), Failure> {
    let check = |gate: &Gate| gate.check_across(&results.summary);
    Ok(gates.iter().try_for_each(check)?)
}

/// What stands after the name of a column of texts.
const TEXT: &str = ":tfidf";

/// Names of the views, and those of them that are columns of texts.
fn named(views: &[String]) -> (Vec<String>, Vec<String>) {
    let is_text = |view: &&String| view.ends_with(TEXT);
    let name = |view: &String| view.strip_suffix(TEXT).unwrap_or(view).to_owned();
    let texts = views.iter().filter(is_text).map(name).collect();
    (views.iter().map(name).collect(), texts)
}

fn read_texts(source: &Source, columns: &[String]) -> Result<Vec<Texts>, Failure> {
    let read = |name: &String| {
        let texts = source.texts(name)?;
        Ok(Texts {
            name: name.clone(),
            texts: texts.into_iter().map(|(_, text)| text).collect(),
        })
    };
    columns.iter().map(read).collect()
}

/// Flags that a search across views does not know, and gates that it does not measure.
fn check_flags(args: &Fit, recipe: &Recipe) -> Result<(), Failure> {
    let given = [
        ("--pairs", args.pairs.is_some()),
        ("--triplets", !args.triplets.is_empty()),
        ("--add-labels", !args.add_labels.is_empty()),
        ("--map", args.map.is_some()),
    ];
    if let Some((flag, _)) = given.iter().find(|(_, given)| *given) {
        return Err(Failure::usage(format!(
            "{flag} does not go with {}, which searches across views; leave it out",
            recipe.name
        )));
    }
    let measured = Protocol::default().ks;
    let check = |gate: &Gate| gate.measured_across(&measured);
    Ok(args.gate.iter().try_for_each(check)?)
}

/// The numbers of a run across views.
fn show(results: &CrossResults, at: &Context) -> Result<(), Failure> {
    if at.common.json {
        return output::json(results);
    }
    output::text(table::aligned(&results.table()))?;
    output::line("")?;
    results.verdict.iter().try_for_each(output::line)
}

/// `eval` of a run across views; `ks` are those that are asked for, if any are.
pub(super) fn eval(args: &Eval, ks: Option<&[usize]>, at: &Context) -> Result<(), Failure> {
    let mut results = AcrossFolder::read_by(&args.source, AcrossFolder::metrics)?;
    for gate in &args.gate {
        gate.value_across(&results.summary)?;
    }
    if let Some(out) = &args.classes {
        if results.classes.is_empty() {
            return Err(Failure::failed(format!(
                "--classes: {} was fitted before classes were measured one by one; fit again",
                args.source.display()
            )));
        }
        let lines = results.classes.iter().map(|class| {
            let first = class.recall_at_1.map_or(String::new(), |v| v.to_string());
            let name = class.class.clone();
            [
                name,
                class.queries.to_string(),
                first,
                class.map50.to_string(),
            ]
        });
        likewise_io::write_lines(out, &["class", "queries", "recall@1", "map50"], lines)?;
    }
    let summary = results.summary.clone();
    if let Some(ks) = ks {
        let measured: Vec<&String> = summary.recall.keys().collect();
        results.keep_at(ks).map_err(|k| {
            let measured: Vec<&str> = measured.iter().map(|k| k.as_str()).collect();
            Failure::usage(format!(
                "--at {k}: the run was measured at {} when it was fitted",
                measured.join(",")
            ))
        })?;
    }
    show(&results, at)?;
    let check = |gate: &Gate| gate.check_across(&summary);
    Ok(args.gate.iter().try_for_each(check)?)
}

/// `search` in a run across views.
pub(super) fn search(args: &Search, ask: Ask, at: &Context) -> Result<Vec<Answer>, Failure> {
    let way = Way {
        from: args.from.clone(),
        to: args.to.clone(),
    };
    let search = |run: &AcrossFolder| across::search(run, &ask, &way, args.k, &at.env);
    Ok(AcrossFolder::read_by(&args.run, search)?)
}
