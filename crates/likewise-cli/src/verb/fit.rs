//! `likewise fit`

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Instant;

use likewise::tuple::Tuples;
use likewise::{Collection, Labels, Monitor, View};
use likewise_io::tuples;
use likewise_study::Recipe;
use likewise_study::fit::{Job, estimate, limit_neighbors, pictures};
use likewise_study::gate::{Gate, Losses};
use likewise_study::graph::DataShape;
use likewise_study::report::Thumbnails;
use likewise_study::run_folder::{IndexCard, Rights, Work, check_output, is_same};
use likewise_study::source::with_view;
use likewise_study::study::{Choice, Plan, Protocol, Results, TupleKind};
use likewise_study::{plain, table};

use crate::args::Fit;
use crate::config;
use crate::context::{Context, command};
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: &Fit, at: &Context) -> Result<(), Failure> {
    for gate in &args.gate {
        gate.measured(&Protocol::default().ks, true, &[])?;
    }
    let source = args.data.source()?;
    let shape = DataShape::of(&source, &at.env)?;
    let asked = args.asked(at.common.seed);
    let mut recipe = recipe(args, at)?;
    let given = given(args, &recipe)?;
    if args.k.is_none() {
        limit_neighbors(&mut recipe, shape.items, at.env.monitor);
    }
    if args.dry_run {
        let classes = shape.classes(&source, &at.env);
        return at.print(estimate(&shape, &recipe, &asked, classes));
    }
    let may = at.env.max_memory;
    estimate(&shape, &recipe, &asked, None).check(may)?;
    let Some(out) = &args.out else {
        return Err(Failure::usage("name a folder for the run with --out"));
    };
    let clock = Instant::now();
    let rights = Rights {
        resume: args.resume,
        overwrite: args.overwrite,
    };
    // Before anything is read: an hour of reading for a folder that may not be written is lost.
    let work = Work::begin(out, rights)?;
    let path = source.path();
    if path.parent().is_some_and(|folder| is_same(folder, out)) {
        check_output(Some(path), &[])?;
    }
    let (collection, trained, pretrained) = match recipe.encoder() {
        Some(config) if source.is_images() => {
            let weights = source.pretrained(config)?;
            let (collection, trained) = source.load_trained(config, &at.env)?;
            (collection, Some(trained), weights)
        }
        _ => (source.load(&at.env)?, None, None),
    };
    let ids = given.is_some().then(|| collection.ids().to_vec());
    let wanted = args.data.view.as_deref();
    let (collection, name) = with_view(collection, wanted, at.env.monitor)?;
    let view = collection.view(Some(&name))?;
    let mut tried = vec![];
    if args.recipe == AUTO {
        let protocol = asked.protocol(&collection, &args.gate)?;
        let choice = chosen(args, &recipe, &collection, view, &protocol, at)?;
        (recipe, tried) = (choice.recipe, choice.tried);
    }
    let known = collection.labels.as_ref();
    let classes = known.map_or(0, Labels::n_classes);
    estimate(&shape, &recipe, &asked, Some(classes)).check(may)?;
    let images = &args.data.images;
    let (tuples, digest) = match (&given, ids) {
        (Some(given), Some(ids)) => (
            Some(given.read(&ids, collection.ids(), at.env.monitor)?),
            format!("; {}", given.digest()?),
        ),
        _ => (None, String::new()),
    };
    let mut job = Job {
        recipe,
        protocol: asked.protocol(&collection, &args.gate)?,
        data: path.display().to_string(),
        digest: source.digest()?,
        read_as: format!(
            "view {name}; side {:?}; squeeze {}{digest}",
            images.side, images.squeeze
        ),
        tuples,
        tried,
        trained,
        pretrained,
        command: command(),
        seconds: BTreeMap::from([("read".into(), clock.elapsed().as_secs_f64())]),
    };
    if let Some(run) = work.finished() {
        if !job.is_done(run, view)? {
            return Err(Failure::usage(format!(
                "{} holds a finished run of other data or settings; --overwrite replaces it",
                out.display()
            )));
        }
        at.env
            .monitor
            .note("the run is finished; nothing is left to do");
        return show(&run.metrics()?, args, at);
    }
    let photos = source.photos();
    let thumbnails = match &photos {
        Some(photos) => Some(Thumbnails::Photos(photos)),
        None => pictures(view),
    };
    let (study, card) = job.run(&collection, view, work, thumbnails, None, &at.env)?;
    tell(&study.results, &card, out, at)?;
    if !at.common.quiet {
        let total = clock.elapsed().as_secs_f64();
        eprintln!("{}", plain::message(&at.env.stages.in_words(total)));
    }
    gates(args, &study.results)
}

/// The recipe that is chosen by the labels at hand.
const AUTO: &str = "auto";

/// What `auto` chooses; `usual` where there is nothing to choose by.
fn chosen(
    args: &Fit,
    usual: &Recipe,
    collection: &Collection,
    view: &View,
    protocol: &Protocol,
    at: &Context,
) -> Result<Choice, Failure> {
    let neighbors = |mut recipe: Recipe| -> Recipe {
        if let (Some(k), true) = (args.k, recipe.pseudo_labels.on().is_some()) {
            // It asks for neighbours, so that they can be set.
            let _ = recipe.set_neighbors(k);
        }
        recipe.fitting(collection.len())
    };
    let candidates: Vec<Recipe> = Recipe::candidates().into_iter().map(neighbors).collect();
    let unseen = neighbors(Recipe::mixed_rca());
    let device = at.env.device.clone();
    let plan = Plan::of(collection, view.matrix.view(), usual, protocol, device);
    Ok(plan.choose_recipe(&candidates, [usual, &unseen], at.env.monitor)?)
}

/// The file of tuples that was named. Fails where the recipe cannot use them.
fn given<'a>(args: &'a Fit, recipe: &Recipe) -> Result<Option<Given<'a>>, Failure> {
    let (path, kind) = match (&args.pairs, &args.triplets) {
        (Some(path), _) => (path, TupleKind::Pairs),
        (None, Some(path)) => (path, TupleKind::Triplets),
        (None, None) => return Ok(None),
    };
    recipe.check_tuples(kind)?;
    // That it is there is known before the data are read.
    likewise_io::open(path)?;
    Ok(Some(Given { path, kind }))
}

/// A file of tuples.
struct Given<'a> {
    path: &'a Path,
    kind: TupleKind,
}

impl Given<'_> {
    /// The tuples of the items with these ids, by their places among those that are `kept`.
    fn read(&self, ids: &[String], kept: &[String], at: &Monitor) -> Result<Tuples, Failure> {
        let tuples = match self.kind {
            TupleKind::Pairs => Tuples::Pairs(tuples::read_pairs(self.path, ids, at)?),
            TupleKind::Triplets => Tuples::Triplets(tuples::read_triplets(self.path, ids, at)?),
        };
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

    /// What tells the file from others.
    fn digest(&self) -> Result<String, Failure> {
        let kind = match self.kind {
            TupleKind::Pairs => "pairs",
            TupleKind::Triplets => "triplets",
        };
        Ok(format!("{kind} {}", likewise_io::digest(self.path)?))
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

/// The recipe by name or file, with the choices of the config file's `[recipe]` table.
fn recipe(args: &Fit, at: &Context) -> Result<Recipe, Failure> {
    let path = Path::new(&args.recipe);
    if args.recipe == AUTO {
        let own = args.epochs.is_some()
            || match &at.common.config {
                Some(path) => config::read(path)?.contains_key("recipe"),
                None => false,
            };
        if own {
            return Err(Failure::usage(
                "--recipe auto: recipes that are compared keep their own settings; name one of \
                 them to set epochs or a [recipe] table",
            ));
        }
    }
    let mut recipe = if args.recipe == AUTO {
        Recipe::default()
    } else if path.extension().is_some_and(|e| e == "toml") {
        Recipe::read(path)?
    } else {
        Recipe::named(&args.recipe)?
    };
    if let Some(path) = &at.common.config
        && let Some(toml::Value::Table(own)) = config::read(path)?.get("recipe")
    {
        let broken = |e| Failure::usage(format!("{}: [recipe]: {e}", path.display()));
        recipe = recipe.with(own.clone()).map_err(broken)?;
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
