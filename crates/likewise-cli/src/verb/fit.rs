//! `likewise fit`

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use likewise::{Collection, Label, Labels, Part, View};
use likewise_nn::net::{EmbeddingConfig, Weights};
use likewise_nn::study::{Answer, Found, Plan, Protocol, Results, SplitKind, Study};
use likewise_nn::{Recipe, Residual};

use super::{Context, graph};
use crate::args::{Fit, SplitName};
use crate::estimate::Estimate;
use crate::failure::Failure;
use crate::report::{self, Rows, Thumbnails};
use crate::run_folder::{
    Config, IndexCard, Origin, Record, Rights, RunFolder, Work, peak_memory, save, suitable,
    write_index,
};
use crate::{config, data, images, output, plain, run_folder};

/// Neighbours at which the recall of the run's index is measured.
const INDEX_RECALL_AT: usize = 10;

pub(crate) fn run(args: &Fit, at: &Context) -> Result<(), Failure> {
    for gate in &args.gate {
        gate.measured(&Protocol::default().ks, true, &[])?;
    }
    let shape = graph::shape(&args.data, at)?;
    let mut recipe = recipe(args, at)?;
    if args.k.is_none() {
        limit_neighbors(&mut recipe, &shape, at);
    }
    if args.dry_run {
        let classes = shape.classes(&args.data, at);
        return estimate(&shape, &recipe, args, classes).print(at);
    }
    estimate(&shape, &recipe, args, None).check(at)?;
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
    let (path, flags) = (args.data.path(), &args.data.images);
    if path
        .parent()
        .is_some_and(|folder| run_folder::is_same(folder, out))
    {
        data::not_an_input(Some(path), &[])?;
    }
    let (collection, trained, pretrained) = match &recipe.encoder {
        Some(config) if images::suit(path, flags)? => {
            let weights = images::pretrained(flags, config)?;
            let labels = args.data.labels.as_deref();
            let (collection, trained) = images::load_trained(path, labels, flags, config, at)?;
            (collection, Some(trained), weights)
        }
        _ => (data::load(&args.data, at)?, None, None),
    };
    let (collection, name) = data::with_view(collection, args.data.view.as_deref(), at)?;
    let view = collection.view(Some(&name))?;
    let known = collection.labels.as_ref();
    let classes = known.map_or(0, Labels::n_classes);
    estimate(&shape, &recipe, args, Some(classes)).check(at)?;
    let protocol = protocol(args, &collection, at)?;
    let mut digest = images::digest(args.data.path(), flags)?;
    let beside = [&args.data.labels, &args.data.images.encoder];
    for file in beside.into_iter().flatten() {
        digest = format!("{digest}+{}", likewise_io::digest(file)?);
    }
    let read_as = format!(
        "view {name}; side {:?}; squeeze {}",
        flags.side, flags.squeeze
    );
    let mut job = Job {
        recipe,
        protocol,
        data: args.data.path().display().to_string(),
        digest,
        read_as,
        trained,
        pretrained,
        seconds: BTreeMap::from([("read".into(), clock.elapsed().as_secs_f64())]),
    };
    if let Some(run) = work.finished() {
        if !job.is_done(run, view)? {
            return Err(Failure::usage(format!(
                "{} holds a finished run of other data or settings; --overwrite replaces it",
                out.display()
            )));
        }
        at.monitor
            .note("the run is finished; nothing is left to do");
        return show(&run.metrics()?, args, at);
    }
    let photos = images::suit(path, flags)?.then(|| images::Photos::new(path));
    let thumbnails = match &photos {
        Some(photos) => Some(Thumbnails::Photos(photos)),
        None => square(view).map(|side| {
            Thumbnails::Rows(Rows {
                pixels: view.matrix.view(),
                width: side,
                height: side,
            })
        }),
    };
    let (study, card) = job.run(&collection, view, work, thumbnails, None, at)?;
    tell(&study.results, &card, out, at)?;
    if !at.common.quiet {
        let total = clock.elapsed().as_secs_f64();
        eprintln!("{}", plain::message(&at.stages.in_words(total)));
    }
    let summary = serde_json::to_value(&study.results.summary)?;
    args.gate.iter().try_for_each(|gate| gate.check(&summary))
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

/// Twenty neighbours of sixty items would be everybody.
fn limit_neighbors(recipe: &mut Recipe, shape: &graph::DataShape, at: &Context) {
    let most = (shape.items as usize / 10).max(1);
    let k = recipe.graph.n_neighbors();
    if k > most {
        let items = shape.items;
        at.monitor.warn(format!(
            "{k} neighbours are many for {items} items; using {most}"
        ));
        recipe.graph = recipe.graph.clone().k(most);
    }
}

/// Prints the numbers of a run that was finished before.
fn show(metrics: &serde_json::Value, args: &Fit, at: &Context) -> Result<(), Failure> {
    if at.common.json {
        output::json(metrics)?;
    } else {
        super::eval::print(metrics)?;
    }
    args.gate.iter().try_for_each(|gate| gate.check(metrics))
}

/// What is to be done in a folder.
pub(super) struct Job {
    pub(super) recipe: Recipe,
    pub(super) protocol: Protocol,
    pub(super) data: String,
    pub(super) digest: String,
    /// What was taken of them, and how: the same files read in another way are other data.
    pub(super) read_as: String,
    /// Images for a network that is trained, where they come from a folder.
    pub(super) trained: Option<images::Trained>,
    /// Weights that it starts from.
    pub(super) pretrained: Option<Weights>,
    pub(super) seconds: BTreeMap<String, f64>,
}

impl Job {
    /// Runs the study and fills the folder: the artifacts first, `run.json` last.
    pub(super) fn run<'a>(
        &mut self,
        collection: &'a Collection,
        view: &View,
        work: Work,
        thumbnails: Option<Thumbnails<'a>>,
        second: Option<&Results>,
        at: &Context,
    ) -> Result<(Study, IndexCard), Failure> {
        let origin = Origin {
            data_sha256: self.digest.clone(),
            read_as: self.read_as.clone(),
        };
        work.note(&self.config(view), &origin)?;
        let clock = Instant::now();
        let study = match self.plan(collection, view, Some(&work), at).run(at.monitor) {
            Ok(study) => study,
            Err(e) => {
                use likewise_nn::ErrorKind::{Cancelled, Data, Parameter};
                let again = matches!(e.kind(), Data | Parameter);
                let goes_on = work.give_up(again);
                let cancelled = e.kind() == Cancelled;
                let failure = if cancelled {
                    Failure::failed("interrupted")
                } else {
                    e.into()
                };
                return Err(goes_on.map_or(failure.clone(), |how| failure.then(how)));
            }
        };
        self.seconds
            .insert("study".into(), clock.elapsed().as_secs_f64());
        match self.write(&study, collection, view, &work, thumbnails, second, at) {
            Ok(card) => {
                work.finish()?;
                Ok((study, card))
            }
            Err(e) => Err(match work.give_up(false) {
                Some(how) => e.then(how),
                None => e,
            }),
        }
    }

    fn config(&self, view: &View) -> Config {
        Config {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            view: view.name.clone(),
            dimensions: view.matrix.ncols(),
            recipe: self.recipe.clone(),
            protocol: self.protocol.clone(),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what a run is made of")]
    fn write<'a>(
        &mut self,
        study: &Study,
        collection: &'a Collection,
        view: &View,
        work: &Work,
        thumbnails: Option<Thumbnails<'a>>,
        second: Option<&Results>,
        at: &Context,
    ) -> Result<IndexCard, Failure> {
        let clock = Instant::now();
        save(work, study, collection)?;
        let card = write_index(
            &work.file("index"),
            (study.embeddings.view(), Some(&work.file("embeddings.npy"))),
            suitable(collection.len()),
            INDEX_RECALL_AT.min(collection.len()),
            at.common.seed,
            at.monitor,
        )?;
        let arguments: Vec<String> = std::iter::once("likewise".to_owned())
            .chain(std::env::args().skip(1))
            .collect();
        let page = report::html(
            study,
            collection,
            view.matrix.view(),
            thumbnails,
            &arguments.join(" "),
            second,
        )?;
        work.write("report.html", page.as_bytes())?;
        work.write("README.md", card_of(self, &study.results).as_bytes())?;
        self.seconds
            .insert("write".into(), clock.elapsed().as_secs_f64());
        work.write_json(
            "run.json",
            &Record {
                version: env!("CARGO_PKG_VERSION").into(),
                arguments,
                seed: self.protocol.seed,
                data: self.data.clone(),
                data_sha256: self.digest.clone(),
                items: collection.len(),
                seconds: self.seconds.clone(),
                stages: at.stages.seconds(),
                peak_memory_bytes: peak_memory(),
                threads: rayon::current_num_threads(),
                read_as: self.read_as.clone(),
                parts: work.parts()?,
            },
        )?;
        Ok(card)
    }

    /// Whether a finished run is what this job would make.
    ///
    /// Fails where it is not whole.
    fn is_done(&self, run: &RunFolder, view: &View) -> Result<bool, Failure> {
        run.check()?;
        let record = run.record()?;
        Ok(run.config()? == self.config(view)
            && record.data_sha256 == self.digest
            && record.read_as == self.read_as)
    }

    /// The study alone, with checkpoints where `work` keeps them.
    pub(super) fn plan<'a>(
        &'a self,
        collection: &'a Collection,
        view: &'a View,
        work: Option<&Work>,
        at: &Context,
    ) -> Plan<'a> {
        Plan {
            collection,
            features: view.matrix.view(),
            recipe: &self.recipe,
            protocol: &self.protocol,
            images: self.trained.as_ref().map(|images| images as _),
            pretrained: self.pretrained.clone(),
            checkpoints: work.map(Work::checkpoints),
            events: work.map(Work::events),
            data_digest: format!(
                "{}; {}; likewise {}",
                self.digest,
                self.read_as,
                env!("CARGO_PKG_VERSION")
            ),
            device: at.device.clone(),
        }
    }
}

/// The table and the verdict.
pub(super) fn print(results: &Results) -> Result<(), Failure> {
    if tells(results) {
        output::text(output::table(&results.rows()))?;
        output::line("")?;
    }
    for line in &results.verdict {
        output::line(line)?;
    }
    Ok(())
}

/// Whether the numbers say anything: not those of a handful of queries.
fn tells(results: &Results) -> bool {
    let few = |answer: &Answer| answer.finding == Found::TooFew;
    results.summary.n_queries > 0 && !results.answers.labels.as_ref().is_some_and(few)
}

/// How the study goes.
///
/// Labels are set aside for a test only where that is asked for, or where most items are
/// labeled and a class can spare some.
fn protocol(args: &Fit, collection: &Collection, at: &Context) -> Result<Protocol, Failure> {
    let labels_per_class = args.labels_per_class.map(std::num::NonZeroUsize::get);
    let labels = collection.labels.as_ref();
    let plenty = labels.is_some_and(|labels| {
        let known = labels.n_known();
        let classes = labels.n_classes();
        classes > 1 && 2 * known >= labels.len() && known >= PLENTY * classes
    });
    let mut refit = false;
    let split = match args.split {
        Some(SplitName::Item) => SplitKind::Item,
        Some(SplitName::ZeroShot) => SplitKind::ZeroShot,
        Some(SplitName::Given) => SplitKind::Given,
        None if tests(collection) => SplitKind::Given,
        None if labels_per_class.is_some() => SplitKind::Item,
        None if plenty && collection.split.is_none() => {
            refit = true;
            SplitKind::Item
        }
        Some(SplitName::Folds) | None => SplitKind::Folds,
    };
    if split != SplitKind::Folds {
        data::labels(collection)?;
    }
    if args.draws.is_some() && (split == SplitKind::Folds || labels_per_class.is_none()) {
        return Err(Failure::usage(
            "--draws goes with --labels-per-class and a test part: without them there is one set \
             of labels, and nothing to draw",
        ));
    }
    if split == SplitKind::Folds {
        let cannot = |gate: &&data::Gate| gate.metric() != "r_precision";
        if let Some(gate) = args.gate.iter().find(cannot) {
            return Err(Failure::usage(format!(
                "--gate {}: with a handful of labels only r_precision can be measured; for \
                 others give --split item",
                gate.metric()
            )));
        }
    }
    Ok(Protocol {
        split,
        labels_per_class,
        draws: args.draws.map_or(DRAWS, std::num::NonZeroUsize::get),
        seed: at.common.seed,
        refit,
        ..Protocol::default()
    })
}

/// Label draws, unless another number is asked for.
const DRAWS: usize = 5;

/// Labels a class of which some can be spared for a test.
const PLENTY: usize = 20;

/// Whether the split of the data leaves labeled items to test on.
fn tests(collection: &Collection) -> bool {
    let (Some(parts), Some(labels)) = (&collection.split, &collection.labels) else {
        return false;
    };
    let asks = |&(part, label): &(&Part, &Label)| {
        matches!(part, Part::Test | Part::Query) && label.class().is_some()
    };
    parts.iter().zip(labels.items()).any(|at| asks(&at))
}

/// The recipe by name or file, with the choices of the config file's `[recipe]` table.
fn recipe(args: &Fit, at: &Context) -> Result<Recipe, Failure> {
    let path = Path::new(&args.recipe);
    let mut recipe = if path.extension().is_some_and(|e| e == "toml") {
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
        recipe.train.epochs = epochs;
    }
    if let Some(k) = args.k {
        recipe.graph = recipe.graph.k(k);
    }
    if let Some(encoder) = &mut recipe.encoder {
        let images = &args.data.images;
        encoder.squeeze |= images.squeeze;
        if let (Some(asked), Some(own)) = (images.side, encoder.side)
            && asked != own
        {
            return Err(Failure::usage(format!(
                "--side {asked}, but {own} is the encoder.side of the recipe; give one of them"
            )));
        }
        encoder.side = images.side.or(encoder.side);
    }
    recipe.validate()?;
    Ok(recipe)
}

fn estimate(
    shape: &graph::DataShape,
    recipe: &Recipe,
    args: &Fit,
    classes: Option<usize>,
) -> Estimate {
    let (n, d) = (shape.items, shape.columns);
    let rank = d.min(recipe.head.rank as f64);
    let draws = match (args.labels_per_class, args.split) {
        (Some(_), split) if split != Some(SplitName::Folds) => {
            args.draws.map_or(DRAWS, std::num::NonZeroUsize::get) as f64
        }
        // Five rounds that keep labels back, and one fit of all with the recipe alone.
        _ => 5.5,
    };
    let k = recipe.graph.n_neighbors() as f64;
    let classes = classes.map_or(20.0, |c| c as f64);
    let batches = (n / recipe.train.batch as f64).min(match recipe.train.steps {
        0 => f64::INFINITY,
        steps => steps as f64,
    });
    // Six products of hidden x rank a row and step, run at a fifth of the speed of large ones.
    let step = 30.0 * recipe.train.batch as f64 * rank * 256.0;
    let trainings = 2.0 * draws * (recipe.train.folds as f64 + 1.0);
    let tested = 0.3 * n;
    shape
        .read()
        .resident(8.0 * n * d + 8.0 * n * rank)
        .graph(n, rank, k)
        .stage(8.0 * n * d, 4.0 * n * d * d)
        .propagation(n, k, classes)
        .stage(0.0, trainings * recipe.train.epochs as f64 * batches * step)
        .stage(0.0, draws * 3.0 * 4.0 * tested * tested * 2.0 * rank)
        .evaluation(tested, tested, d.max(2.0 * rank), classes, true)
}

/// Side of the picture that a row of pixels is, grey or in three colours, where it can only be
/// a square one.
fn square(view: &View) -> Option<usize> {
    let columns = view.matrix.ncols();
    let side = [columns, columns / 3].map(usize::isqrt);
    let fits = side.into_iter().find(|side| {
        let area = side * side;
        area == columns || 3 * area == columns
    });
    fits.filter(|_| view.name == "pixels")
}

/// What the tensors of the model are, and how they make an embedding.
fn formula(recipe: &Recipe) -> String {
    let power = recipe.head.power;
    let read = if power < 1.0 {
        format!("x = sign(x) |x|^{power}`, `")
    } else {
        String::new()
    };
    let start = format!("{read}s = normalise((x - start.mean) start.matrix)");
    let mapped = matches!(recipe.head.residual, Residual::Orthogonal { .. });
    if let Some(encoder) = &recipe.encoder {
        let map = if mapped {
            ", then normalise(z map)"
        } else if matches!(encoder.head, EmbeddingConfig::Whitened { .. }) {
            "; where there are tensors after `start.`, z0 by these, and [sqrt(keep) z0, sqrt(1 - \
             keep) z], `keep` as in `config.json` under recipe.head"
        } else {
            ""
        };
        return format!(
            "\n`model.safetensors`: the network `{}` under its published names after `backbone.`, its \
             last layers under `head.`; rows are images of channels x height x width pixels of \
             0 to 255; embedding z = normalise(network(x)){map}. Where training did not help, \
             `{start}` instead, and the embedding is s.",
            encoder.name()
        );
    }
    let learned = match recipe.head.residual {
        Residual::Rca(_) => {
            return format!("\n`model.safetensors`: `{start}`; the embedding is s.");
        }
        Residual::Mlp { .. } => {
            "h = normalise([s, 0] + relu(sqrt(r) s residual.input.weight + residual.input.bias) \
             residual.output.weight)"
        }
        Residual::Linear => "h = normalise([s, 0] + sqrt(r) s residual.output.weight)",
        Residual::Orthogonal { .. } => "h = normalise(s residual.output.weight)",
    };
    format!(
        "\n`model.safetensors`: `{start}`, `{learned}` with \
         r the length of s, embedding `[sqrt(keep) s, sqrt(1 - keep) h]`; `keep` stands in \
         `config.json` under recipe.head. Without `residual.*` tensors the embedding is s."
    )
}

/// The model card.
fn card_of(job: &Job, results: &Results) -> String {
    let mut card = format!(
        "# An embedding by likewise\n\nRecipe `{}`, fitted on `{}` (sha256 {}), seed {}.\n\n",
        job.recipe.name, job.data, job.digest, job.protocol.seed
    );
    if tells(results) {
        let over = match results.split {
            SplitKind::Folds => "rounds that kept some labels back",
            _ => "label draws",
        };
        card.extend([
            "```text\n",
            &output::table(&results.rows()),
            "\n```\n\nMeans over the ",
            over,
            ", with half the 95 % interval.\n\n",
        ]);
    }
    for line in &results.verdict {
        card.extend(["- ", line.as_str(), "\n"]);
    }
    card.push_str(&formula(&job.recipe));
    card.push_str(
        "\n\nSimilarity is the cosine. Do not use the model on features of another kind than those \
         it was fitted on.\n",
    );
    card
}
