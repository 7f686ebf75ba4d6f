//! `likewise fit`

mod recipe;
mod told;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use likewise::tuple::Tuples;
use likewise::{Collection, Monitor, View};
use likewise_io::Layout;
use likewise_nn::Model;
use likewise_nn::net::Weights;
use likewise_study::Recipe;
use likewise_study::fit::{Job, choose, estimate, limit_neighbors, pictures, with_choice};
use likewise_study::given::Given;
use likewise_study::graph::DataShape;
use likewise_study::labels;
use likewise_study::plain;
use likewise_study::report::{Map, Thumbnails};
use likewise_study::run_folder::{
    Encoded, IndexCard, Models, Rights, Work, check_output, data_alone, is_same,
};
use likewise_study::source::{Labeled, Source, Trained, with_view};
use likewise_study::study::{Choice, Protocol, Results, TupleKind};

use self::recipe::{across, chooses, recipe};
pub(super) use self::told::print;
use self::told::{check_gates, gates, show, tell, tell_of_resume, tell_of_time};
use super::advise::ADVISED;
use super::refit::{Again, again, with_those_of_its_page};
use crate::args::{Fit, joined};
use crate::aside::aside;
use crate::context::Context;
use crate::failure::Failure;

pub(crate) fn run(args: &Fit, at: &Context) -> Result<(), Failure> {
    match again(args, at.common.seed)? {
        Some(mut again) => {
            again.items = with_those_of_its_page(args.data.path(), again.items, at)?;
            fit(&again.args, Some(&again), at)
        }
        None => fit(args, None, at),
    }
}

fn fit(args: &Fit, again: Option<&Again>, at: &Context) -> Result<(), Failure> {
    let clock = Instant::now();
    let Some(Made { results, card, out }) = made(args, again, at)? else {
        return Ok(());
    };
    let told = tell(&results, &card, &out, at);
    told.map_err(|e| e.then(&format!("the run is finished, in {}", out.display())))?;
    tell_of_time(clock, at);
    gates(args, &results)
}

/// Makes a run again that stands nowhere on the terminal.
#[cfg(feature = "serve")]
pub(super) fn silently(again: &Again, at: &Context) -> Result<(), Failure> {
    made(&again.args, Some(again), at).map(drop)
}

/// A run that was made.
struct Made {
    results: Results,
    card: IndexCard,
    out: PathBuf,
}

/// Makes a run; none where all that was asked for has been printed.
#[expect(
    clippy::too_many_lines,
    reason = "the steps of one work, in their order"
)]
fn made(args: &Fit, again: Option<&Again>, at: &Context) -> Result<Option<Made>, Failure> {
    if args.several.separator().is_some() && !args.add_labels.is_empty() {
        return Err(Failure::usage(
            "--add-labels goes by one label an item; with --multi-label give all labels in one file: \
             --labels FILE",
        ));
    }
    if let Some(recipe) = across(args, again.is_some(), at)? {
        if args.several.separator().is_some() {
            return Err(Failure::usage(
                "--multi-label: the recipes across views go by one label an item; give each item the one \
                 that matters, or take another recipe, such as contextual",
            ));
        }
        return super::across::fit(args, recipe, at).map(|()| None);
    }
    check_gates(args)?;
    let source = args.data.source(seed(again, at))?;
    let source = source.with_several_labels(args.several.separator());
    let shape = DataShape::of(&source, &at.env)?;
    let asked = args.asked(at.common.seed);
    asked.check_gates(&args.gate)?;
    let mut recipe = match again {
        Some(again) => again.config.recipe.clone(),
        None => recipe(args, shape.columns as usize, at)?,
    };
    recipe.check_build()?;
    let source = source.seen_by(&recipe);
    let given = given(args, &recipe)?;
    if args.k.is_none() && again.is_none() {
        limit_neighbors(&mut recipe, shape.items, at.env.monitor);
    }
    let chooses = again.is_none_or(|again| !again.compared) && chooses(args, at)?;
    let needed = |labeled| estimate(&shape, &recipe, &asked, labeled);
    if args.dry_run {
        let labeled = shape.labeled(&source, &at.env);
        let needed = if chooses {
            // Nothing is read yet; the other list is shorter.
            with_choice(needed(labeled), &shape, &Recipe::candidates(false), labeled)
        } else {
            needed(labeled)
        };
        return at.print(needed).map(|()| None);
    }
    needed(None).check(at.env.max_memory)?;
    let Some(out) = &args.out else {
        return Err(Failure::usage("name a folder for the run with --out"));
    };
    // Who makes a model of a run may write where it was begun; nobody else may, so that this is said here.
    if !Models::is_begun(out) {
        check_output(Some(out), &[])?;
    }
    let clock = Instant::now();
    // Before anything is read: an hour of reading for a folder that may not be written is lost.
    let mut work = Work::begin(out, rights(args, again))?;
    tell_of_resume(args, &work, out, at);
    check_apart(&source, out)?;
    let Loaded {
        mut collection,
        source,
        layout,
        trained,
        pretrained,
    } = load(&source, &recipe, args, again, at)?;
    let digest = digest(&source, args, again, &mut collection, at)?;
    let ids = given.is_some().then(|| collection.ids().to_vec());
    let wanted = joined(&args.data.view);
    let (collection, name) = with_view(collection, wanted.as_deref(), at.env.monitor)?;
    let view = collection.view(Some(&name))?;
    let mut tried = vec![];
    let protocol = match again {
        Some(again) => again.config.protocol.clone(),
        None => asked.protocol(&collection, &args.gate)?,
    };
    if work.finished().is_none() {
        let fixed = (!chooses).then_some(&recipe);
        work.ask(&what_is_asked(args, (&digest, &name), &protocol, fixed)?)?;
    }
    if chooses {
        let choice = chosen(args, &work, (&collection, view), &protocol, at)?;
        (recipe, tried) = (choice.recipe, choice.tried);
    }
    let labeled = collection.labels.as_ref().and_then(Labeled::of);
    estimate(&shape, &recipe, &asked, labeled).check(at.env.max_memory)?;
    let before = before(
        again,
        given.as_ref(),
        ids.as_deref(),
        (&collection, &digest),
        at,
    )?;
    let (tuples, of_tuples) = read_tuples(given.as_ref(), ids.as_deref(), &collection, at)?;
    let mut job = Job {
        recipe,
        protocol,
        data: source.path().display().to_string(),
        digest,
        read_as: args.read_as(&name, &of_tuples),
        table: layout,
        encoder: encoders(&source, &name, trained.as_ref(), at)?,
        words: source.vocabularies().to_vec(),
        tuples,
        before,
        tried,
        trained,
        pretrained,
        map: args.map.map(Map::from).unwrap_or_default(),
        command: again.map_or_else(|| at.command(), |again| again.command.clone()),
        seconds: BTreeMap::from([("read".into(), clock.elapsed().as_secs_f64())]),
    };
    if is_finished(&job, &work, view, args, at)? {
        return Ok(None);
    }
    let photos = source.photos();
    let thumbnails = photos.as_ref().map(Thumbnails::Photos);
    let thumbnails = thumbnails.or_else(|| pictures(view));
    let (study, card) = job.run(&collection, view, work, thumbnails, None, &at.env)?;
    Ok(Some(Made {
        results: study.results,
        card,
        out: out.clone(),
    }))
}

/// What tells this fit from others before its recipe is known.
fn what_is_asked(
    args: &Fit,
    data: (&str, &str),
    protocol: &Protocol,
    fixed: Option<&Recipe>,
) -> Result<String, Failure> {
    let map = args.map.map(Map::from).unwrap_or_default();
    let read_as = args.read_as(data.1, "");
    let all = (data, read_as, protocol, fixed, args.k, format!("{map:?}"));
    serde_json::to_string(&all).map_err(|e| Failure::failed(e.to_string()))
}

/// The recipe that the labels choose.
fn chosen(
    args: &Fit,
    work: &Work,
    (collection, view): (&Collection, &View),
    protocol: &Protocol,
    at: &Context,
) -> Result<Choice, Failure> {
    if let Some(run) = work.finished() {
        // Chosen once; whether it was for these data and settings is looked at after.
        return Ok(Choice {
            recipe: run.config()?.recipe,
            tried: vec![],
        });
    }
    let kept = Some(work.checkpoints());
    Ok(choose(collection, view, protocol, args.k, kept, &at.env)?)
}

/// Whether the run is there, finished; it is shown then. Fails where it is of other data or settings.
fn is_finished(
    job: &Job,
    work: &Work,
    view: &View,
    args: &Fit,
    at: &Context,
) -> Result<bool, Failure> {
    let Some(run) = work.finished() else {
        return Ok(false);
    };
    if !job.is_done(run, view)? {
        let out = args.out.as_deref().unwrap_or(Path::new(""));
        return Err(of_other_data(out));
    }
    show(&run.metrics()?, args, at).map(|()| true)
}

fn of_other_data(out: &Path) -> Failure {
    Failure::usage(format!(
        "{} holds a finished run of other data or settings; --overwrite replaces it",
        out.display()
    ))
}

/// Fails where the data lie in the folder of the run, which will be replaced.
fn check_apart(source: &Source, out: &Path) -> Result<(), Failure> {
    let path = source.path();
    if path.parent().is_some_and(|folder| is_same(folder, out)) {
        check_output(Some(path), &[])?;
    }
    Ok(())
}

/// The seed of every random step.
fn seed(again: Option<&Again>, at: &Context) -> u64 {
    again.map_or(at.common.seed, |again| again.config.protocol.seed)
}

/// What makes the features of new images. A network that was trained reads the images itself.
fn encoders(
    source: &Source,
    view: &str,
    trained: Option<&Trained>,
    at: &Context,
) -> Result<Vec<Encoded>, Failure> {
    match trained {
        Some(_) => Ok(vec![]),
        None => Ok(source.encoded(view, &at.env)?),
    }
}

fn rights(args: &Fit, again: Option<&Again>) -> Rights {
    Rights {
        resume: args.resume,
        overwrite: args.overwrite,
        renew: again.is_some_and(|again| again.renews),
    }
}

/// The tuples that were given, if any, and what tells their file from others.
fn read_tuples(
    given: Option<&Given>,
    ids: Option<&[String]>,
    collection: &Collection,
    at: &Context,
) -> Result<(Option<Tuples>, String), Failure> {
    let (Some(given), Some(ids)) = (given, ids) else {
        return Ok((None, String::new()));
    };
    let tuples = given.read(ids, collection.ids(), at.env.monitor)?;
    Ok((Some(tuples), format!("; {}", given.digest()?)))
}

/// The data as a fit needs them.
struct Loaded {
    collection: Collection,
    /// The data, with the words of descriptors of points.
    source: Source,
    layout: Option<Layout>,
    trained: Option<Trained>,
    pretrained: Option<Weights>,
}

fn load(
    source: &Source,
    recipe: &Recipe,
    args: &Fit,
    again: Option<&Again>,
    at: &Context,
) -> Result<Loaded, Failure> {
    let weights = match recipe.encoder() {
        Some(config) if source.is_images() => source.pretrained(config)?,
        _ => None,
    };
    // What is learned of the images is learned from those that are fitted, as all else.
    let training = |mut items: Collection| {
        let silent = Monitor::silent();
        if !args.add_labels.is_empty() {
            let own = again.map(|again| again.items.as_slice());
            labels::join(&mut items, own, &args.add_labels, &silent)?;
        }
        let protocol = match again {
            Some(again) => again.config.protocol.clone(),
            None => args.asked(at.common.seed).protocol(&items, &args.gate)?,
        };
        protocol.training(&items)
    };
    let source = source.with_words_from(training, &at.env)?;
    let (collection, layout, trained) = match recipe.encoder() {
        Some(config) if source.is_images() => {
            let (collection, trained) = source.load_trained(config, &at.env)?;
            (collection, None, Some(trained))
        }
        _ => {
            source.warn_of_pixels(&at.env)?;
            let (collection, layout) = source.load_with_layout(&at.env)?;
            (collection, layout, None)
        }
    };
    Ok(Loaded {
        collection,
        source,
        layout,
        trained,
        pretrained: weights,
    })
}

/// Joins the labels that are added to those of the data; what tells the data from others then.
fn digest(
    source: &Source,
    args: &Fit,
    again: Option<&Again>,
    collection: &mut Collection,
    at: &Context,
) -> Result<String, Failure> {
    let digest = source.digest()?;
    if args.add_labels.is_empty() {
        return Ok(digest);
    }
    let own = again.map(|again| again.items.as_slice());
    let joined = labels::join(collection, own, &args.add_labels, at.env.monitor)?;
    if let Some(again) = again {
        of_same_data(source, &digest, again, args, at)?;
    }
    if joined.missing > 0 {
        at.env.monitor.warn(format!(
            "{} items of the run are not in its data and are left out; `likewise add` adds them \
             again",
            joined.missing
        ));
    }
    if !at.common.quiet {
        let said = format!(
            "{} items are newly labeled, {} change",
            joined.new, joined.changed
        );
        aside!("{}", plain::message(&said));
    }
    if args.add_labels.iter().any(|file| was_advised(file)) {
        at.env.monitor.warn(
            "labels that were asked for by `likewise advise` are of harder items than most: what is measured by \
             them is lower than the truth",
        );
    }
    Ok(format!("{digest}; labels {}", labels::digest(collection)))
}

/// Whether a file of labels is one that `likewise advise` wrote: by its first line.
fn was_advised(file: &Path) -> bool {
    let mut line = String::new();
    let read =
        File::open(file).and_then(|file| BufReader::new(file.take(4096)).read_line(&mut line));
    read.is_ok() && line.trim_end() == ADVISED.join(",")
}

/// Fails where the data of a run are others by now, and the run would be replaced: labels that go by the
/// number of a row would be those of other items.
fn of_same_data(
    source: &Source,
    digest: &str,
    again: &Again,
    args: &Fit,
    at: &Context,
) -> Result<(), Failure> {
    let path = source.path().display();
    if data_alone(&again.data) != data_alone(digest) {
        let changed = format!("{path}: these data have changed since the run was made of them");
        if again.renews && !args.overwrite {
            return Err(Failure::usage(format!(
                "{changed}; fit them anew with all labels, write another run (-o NEW), or take these data in \
                 their place: --overwrite"
            )));
        }
        at.env.monitor.warn(changed);
    } else if let Some(file) = &args.data.labels
        && again.data.split(';').next() != Some(digest)
    {
        at.env.monitor.warn(format!(
            "{}: it has changed since the run was made, whose labels stand; give it with --add-labels to take \
             what it says now",
            file.display()
        ));
    }
    Ok(())
}

/// The file of tuples that was named.
fn given<'a>(args: &'a Fit, recipe: &Recipe) -> Result<Option<Given<'a>>, Failure> {
    let (paths, kind) = match (&args.pairs, args.triplets.as_slice()) {
        (Some(path), _) => (std::slice::from_ref(path), TupleKind::Pairs),
        (None, []) => return Ok(None),
        (None, triplets) => (triplets, TupleKind::Triplets),
    };
    Ok(Some(Given::of(paths, kind, recipe)?))
}

/// What the training that delivers goes on from: the model of the run, and how many of the triplets it
/// has learned. None where the data have changed, so that all is learned anew.
fn before(
    again: Option<&Again>,
    given: Option<&Given>,
    ids: Option<&[String]>,
    (collection, digest): (&Collection, &str),
    at: &Context,
) -> Result<Option<(Model, usize)>, Failure> {
    let Some((again, model)) = again.and_then(|again| Some((again, again.model.clone()?))) else {
        return Ok(None);
    };
    if again.data != digest {
        at.env.monitor.warn(
            "the data have changed since the run was made of them: all triplets are learned anew",
        );
        return Ok(None);
    }
    let first = given.filter(|_| again.learned > 0);
    let first = first.map(|given| given.first(again.learned));
    let (learned, _) = read_tuples(first.as_ref(), ids, collection, at)?;
    Ok(Some((model, learned.map_or(0, |tuples| tuples.len()))))
}
