//! `likewise fit`

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Instant;

use likewise::tuple::Tuples;
use likewise::{Collection, Monitor, Pairs, Triplets, View};
use likewise_io::{Layout, tuples};
use likewise_nn::Model;
use likewise_nn::net::Weights;
use likewise_study::Recipe;
use likewise_study::fit::{Job, estimate, limit_neighbors, pictures, with_choice};
use likewise_study::gate::{Gate, Losses};
use likewise_study::graph::DataShape;
use likewise_study::report::Thumbnails;
use likewise_study::run_folder::{Encoded, IndexCard, Rights, Work, check_output, is_same};
use likewise_study::source::{Labeled, Source, Trained, with_view};
use likewise_study::study::{Choice, Plan, Protocol, Results, TupleKind};
use likewise_study::{labels, plain, table};

use super::refit::{Again, again};
use crate::args::{Fit, joined};
use crate::aside::aside;
use crate::config;
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: &Fit, at: &Context) -> Result<(), Failure> {
    match again(args, at.common.seed)? {
        Some(again) => fit(&again.args, Some(&again), at),
        None => fit(args, None, at),
    }
}

fn fit(args: &Fit, again: Option<&Again>, at: &Context) -> Result<(), Failure> {
    let clock = Instant::now();
    let Some(Made { results, card, out }) = made(args, again, at)? else {
        return Ok(());
    };
    tell(&results, &card, &out, at)?;
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
fn made(args: &Fit, again: Option<&Again>, at: &Context) -> Result<Option<Made>, Failure> {
    if let Some(recipe) = across(args, again, at)? {
        return super::across::fit(args, recipe, at).map(|()| None);
    }
    check_gates(args)?;
    let source = args.data.source(seed(again, at))?;
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
    let chooses = again.is_none() && chooses(args, at)?;
    let needed = |labeled| estimate(&shape, &recipe, &asked, labeled);
    if args.dry_run {
        let labeled = shape.labeled(&source, &at.env);
        let needed = if chooses {
            with_choice(needed(labeled), &shape, &Recipe::candidates(), labeled)
        } else {
            needed(labeled)
        };
        return at.print(needed).map(|()| None);
    }
    needed(None).check(at.env.max_memory)?;
    let Some(out) = &args.out else {
        return Err(Failure::usage("name a folder for the run with --out"));
    };
    check_output(Some(out), &[])?;
    let clock = Instant::now();
    // Before anything is read: an hour of reading for a folder that may not be written is lost.
    let work = Work::begin(out, rights(args))?;
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
    if let (true, Some(run)) = (chooses, work.finished()) {
        // Chosen once; whether it was for these data and settings is looked at below.
        recipe = run.config()?.recipe;
    } else if chooses {
        let protocol = asked.protocol(&collection, &args.gate)?;
        let choice = chosen(args, &recipe, &collection, view, &protocol, at)?;
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
        protocol: match again {
            Some(again) => again.config.protocol.clone(),
            None => asked.protocol(&collection, &args.gate)?,
        },
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

/// Fails on gates that no fit measures.
fn check_gates(args: &Fit) -> Result<(), Failure> {
    let measured = |gate: &Gate| gate.measured(&Protocol::default().ks, true, &[]);
    Ok(args.gate.iter().try_for_each(measured)?)
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

fn tell_of_time(since: Instant, at: &Context) {
    if !at.common.quiet {
        let total = since.elapsed().as_secs_f64();
        aside!("{}", plain::message(&at.env.stages.in_words(total)));
    }
}

/// The seed of every random step.
fn seed(again: Option<&Again>, at: &Context) -> u64 {
    again.map_or(at.common.seed, |again| again.config.protocol.seed)
}

/// The recipe that searches across views, where one is named.
fn across(args: &Fit, again: Option<&Again>, at: &Context) -> Result<Option<Recipe>, Failure> {
    let recipe = match again {
        Some(_) => None,
        None => recipe_across(args, at)?,
    };
    if recipe.is_none() && args.label_fraction.is_some() {
        return Err(Failure::usage(
            "--label-fraction goes with the recipes across views (likewise explain gsph); keep labels \
             with --labels-per-class",
        ));
    }
    Ok(recipe)
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

fn rights(args: &Fit) -> Rights {
    Rights {
        resume: args.resume,
        overwrite: args.overwrite,
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
    if again.is_some_and(|again| again.data.split(';').next() != Some(digest.as_str())) {
        at.env.monitor.warn(format!(
            "{}: these data have changed since the run was made of them",
            source.path().display()
        ));
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
    Ok(format!("{digest}; labels {}", labels::digest(collection)))
}

/// Says where there is nothing to go on with.
fn tell_of_resume(args: &Fit, work: &Work, out: &Path, at: &Context) {
    if !args.resume || work.resumes() || at.common.quiet {
        return;
    }
    let what = match work.finished() {
        Some(_) => "the run is finished, there is nothing to resume",
        None => "there is no interrupted fit to resume; this one begins anew",
    };
    let said = format!("{}: {what}", out.display());
    aside!("{}", plain::message(&said));
}

/// The recipe that is chosen by the labels at hand.
const AUTO: &str = "auto";

/// Whether the labels at hand choose the recipe.
fn chooses(args: &Fit, at: &Context) -> Result<bool, Failure> {
    let has_table = match &at.common.config {
        Some(path) => config::read(path)?.contains_key("recipe"),
        None => false,
    };
    let has_tuples = args.pairs.is_some() || !args.triplets.is_empty();
    let own = has_table || args.epochs.is_some();
    match args.recipe.as_deref() {
        None => Ok(!own && !has_tuples),
        Some(AUTO) if own || has_tuples => Err(Failure::usage(
            "--recipe auto: recipes that are compared keep their own settings and learn from \
             labels; name one of them to set epochs or a [recipe] table, or to give tuples",
        )),
        Some(name) => Ok(name == AUTO),
    }
}

/// What `auto` chooses; `usual` where there is nothing to choose by.
fn chosen(
    args: &Fit,
    usual: &Recipe,
    collection: &Collection,
    view: &View,
    protocol: &Protocol,
    at: &Context,
) -> Result<Choice, Failure> {
    // Recipes are compared on a part of the items, and with no more neighbours than suit it.
    if let Some(k) = args.k.filter(|k| !(1..collection.len()).contains(k)) {
        let most = collection.len().saturating_sub(1);
        let rule = format!("k = {k} must be from 1 to {most}, the number of other items");
        return Err(Failure::usage(rule));
    }
    let neighbors = |mut recipe: Recipe| -> Recipe {
        match args.k {
            None => recipe.fitting(collection.len()),
            Some(k) => {
                if recipe.pseudo_labels.on().is_some() {
                    // It asks for neighbours, so that they can be set.
                    let _ = recipe.set_neighbors(k);
                }
                recipe
            }
        }
    };
    let candidates: Vec<Recipe> = Recipe::candidates().into_iter().map(neighbors).collect();
    let unseen = neighbors(Recipe::mixed_rca());
    let device = at.env.device.clone();
    let plan = Plan::of(collection, view.matrix.view(), usual, protocol, device);
    Ok(plan.choose_recipe(&candidates, [usual, &unseen], at.env.monitor)?)
}

/// The file of tuples that was named. Fails where the recipe cannot use them.
fn given<'a>(args: &'a Fit, recipe: &Recipe) -> Result<Option<Given<'a>>, Failure> {
    let (paths, kind) = match (&args.pairs, args.triplets.as_slice()) {
        (Some(path), _) => (std::slice::from_ref(path), TupleKind::Pairs),
        (None, []) => return Ok(None),
        (None, triplets) => (triplets, TupleKind::Triplets),
    };
    recipe.check_tuples(kind)?;
    // That they are there is known before the data are read.
    for path in paths {
        likewise_io::open(path)?;
    }
    Ok(Some(Given { paths, kind }))
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

/// Files of tuples.
struct Given<'a> {
    paths: &'a [PathBuf],
    kind: TupleKind,
}

impl Given<'_> {
    /// The first so many of the files.
    fn first(&self, files: usize) -> Self {
        Self {
            paths: &self.paths[..files.min(self.paths.len())],
            kind: self.kind,
        }
    }

    /// The tuples of the items with these ids, by their places among those that are `kept`.
    fn read(&self, ids: &[String], kept: &[String], at: &Monitor) -> Result<Tuples, Failure> {
        let tuples = self.read_all(ids, at)?;
        if ids.len() == kept.len() {
            return Ok(tuples);
        }
        let places: HashMap<&str, u32> = kept.iter().map(String::as_str).zip(0..).collect();
        let places: Vec<Option<u32>> = (ids.iter())
            .map(|id| places.get(id.as_str()).copied())
            .collect();
        let found = tuples.placed(&places)?;
        at.warn(format!(
            "{} of {} tuples have items without this view and are left out",
            tuples.len() - found.len(),
            tuples.len()
        ));
        Ok(found)
    }

    /// Those of all files, one after the other.
    fn read_all(&self, ids: &[String], at: &Monitor) -> Result<Tuples, Failure> {
        if self.kind == TupleKind::Pairs {
            let mut pairs = Pairs::default();
            for path in self.paths {
                for (a, b, alike, w) in tuples::read_pairs(path, ids, at)?.iter() {
                    pairs.push(a, b, alike, w);
                }
            }
            return Ok(Tuples::Pairs(pairs));
        }
        let mut triplets = Triplets::default();
        for path in self.paths {
            for (a, p, n, w) in tuples::read_triplets(path, ids, at)?.iter() {
                triplets.push(a, p, n, w);
            }
        }
        Ok(Tuples::Triplets(triplets))
    }

    /// What tells the files from others.
    fn digest(&self) -> Result<String, Failure> {
        let kind = match self.kind {
            TupleKind::Pairs => "pairs",
            TupleKind::Triplets => "triplets",
        };
        let digests = self.paths.iter().map(likewise_io::digest);
        let digests: Vec<String> = digests.collect::<Result<_, _>>()?;
        Ok(format!("{kind} {}", digests.join("+")))
    }
}

/// Prints the results, and what stands in the folder.
fn tell(results: &Results, card: &IndexCard, out: &Path, at: &Context) -> Result<(), Failure> {
    if at.common.json {
        return output::json(results);
    }
    print(results)?;
    output::line("")?;
    output::line(format!(
        "{}: model, embeddings, {} index (recall@{} {:.3}), report.html",
        out.display(),
        card.kind,
        card.k,
        card.recall
    ))
}

/// Prints the numbers of a run that was finished before.
fn show(results: &Results, args: &Fit, at: &Context) -> Result<(), Failure> {
    if at.common.json {
        output::json(results)?;
    } else {
        super::eval::print(results)?;
    }
    gates(args, results)
}

fn gates(args: &Fit, results: &Results) -> Result<(), Failure> {
    let check = |gate: &Gate| gate.check(&results.summary, &Losses::new());
    Ok(args.gate.iter().try_for_each(check)?)
}

/// The table and the verdict.
pub(super) fn print(results: &Results) -> Result<(), Failure> {
    if !results.tried.is_empty() {
        output::text(table::aligned(&results.choices()))?;
        output::line("")?;
    }
    if results.tells() {
        output::text(table::of(&results.rows()))?;
        output::line("")?;
    }
    for line in &results.verdict {
        output::line(line)?;
    }
    Ok(())
}

/// The recipe, where its learner is one across views.
fn recipe_across(args: &Fit, at: &Context) -> Result<Option<Recipe>, Failure> {
    let named = match args.recipe.as_deref() {
        None | Some(AUTO) => return Ok(None),
        Some(name) if Path::new(name).extension().is_some_and(|e| e == "toml") => {
            Recipe::read(Path::new(name))
        }
        Some(name) => Recipe::named(name),
    };
    // What is wrong with another recipe is said where it is used.
    match named {
        Ok(recipe) if recipe.learner.cross().is_some() => {
            Ok(Some(self::recipe(args, usize::MAX, at)?))
        }
        _ => Ok(None),
    }
}

/// The recipe by name or file, with the choices of the config file's `[recipe]` table.
/// Fails on a file that asks for more directions than there are `columns`.
fn recipe(args: &Fit, columns: usize, at: &Context) -> Result<Recipe, Failure> {
    let mut recipe = match &args.recipe {
        // Where nothing can be chosen by.
        _ if chooses(args, at)? => Recipe::mild_probabilities(),
        None if args.pairs.is_some() => Recipe::label_rca(),
        None if !args.triplets.is_empty() => Recipe::named("triplet")?,
        None => Recipe::default(),
        Some(name) if Path::new(name).extension().is_some_and(|e| e == "toml") => {
            let path = Path::new(name);
            let recipe = Recipe::read(path)?;
            let fits = recipe.check_rank(&config::read(path)?, columns);
            fits.map_err(|e| e.within(path.display()))?;
            recipe
        }
        Some(name) => Recipe::named(name)?,
    };
    if let Some(path) = &at.common.config
        && let Some(toml::Value::Table(own)) = config::read(path)?.get("recipe")
    {
        let place = format!("{}: [recipe]", path.display());
        let broken = |e| Failure::usage(format!("{place}: {e}"));
        let before = recipe.clone();
        recipe = recipe.with(own.clone()).map_err(broken)?;
        // What differs from a preset must not go by its name in a table.
        if recipe != before && recipe.name == before.name {
            recipe.name.push_str(" (changed)");
        }
        let fits = recipe.check_rank(own, columns);
        fits.map_err(|e| e.within(&place))?;
    }
    if let Some(epochs) = args.epochs {
        recipe.set_epochs(epochs)?;
    }
    if let Some(k) = args.k {
        recipe.set_neighbors(k)?;
    }
    if let Some(encoder) = recipe.encoder_mut() {
        let images = &args.data.images;
        encoder.squeeze |= images.squeeze;
        if let (Some(asked), Some(own)) = (images.side, encoder.side)
            && asked != own
        {
            return Err(Failure::usage(format!(
                "--side {asked}, but {own} is the side of the recipe's encoder; give one of them"
            )));
        }
        encoder.side = images.side.or(encoder.side);
    }
    recipe.validate()?;
    Ok(recipe)
}
