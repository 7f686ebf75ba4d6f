//! Experiments on retrieval: recipes side by side on splits of data sets, measured as the
//! papers on metric learning do.
//!
//! Every method is a recipe, or a start that nothing trains. Cells (data set x method x draw)
//! are kept as long as their data set and their recipe stay as they were.

mod cells;
mod definition;
mod page;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use likewise::Collection;
use likewise::eval::bootstrap::{Bootstrap, Estimate};
use likewise::eval::summary::{Run, Summary};
use likewise_io::ReadOptions;
use likewise_nn::Recipe;
use likewise_nn::net::{EncoderConfig, Weights};
use likewise_nn::study::{Bench, Plan, Protocol};
use serde::Serialize;

use self::cells::{Cell, DataRecord, Store};
use self::definition::{Data, Experiment, How};
use super::markdown::Skipped;
use super::prepared::{find, folders, none_here, results_folder};
use super::store::replace;
use crate::args::{Images, Reproduce};
use crate::failure::Failure;
use crate::verb::Context;
use crate::{images, output};

/// What `--json` prints.
#[derive(Serialize)]
struct Answer {
    title: String,
    folder: PathBuf,
    computed: usize,
    cells: usize,
    /// Sets that were left out, and why.
    skipped: BTreeMap<String, String>,
    /// Data set -> method -> metric -> mean and interval.
    metrics: BTreeMap<String, BTreeMap<String, BTreeMap<String, Average>>>,
}

#[derive(Serialize)]
struct Average {
    mean: f64,
    ci: [f64; 2],
    draws: usize,
}

/// Whether a file of an experiment is one of these.
pub(crate) fn is_kind(text: &str) -> bool {
    let table = text.parse::<toml::Table>();
    table.is_ok_and(|t| t.get("kind").and_then(toml::Value::as_str) == Some("retrieval"))
}

pub(crate) fn run(args: &Reproduce, at: &Context) -> Result<(), Failure> {
    let experiment = Experiment::read(&args.experiment)?;
    for name in &args.only {
        experiment.check_name(name)?;
    }
    let folder = results_folder(args);
    let places = folders(args.data.as_deref(), &args.experiment);
    super::store::check_folder(&folder)?;
    let mut store = Store::open(&folder, &experiment)?;
    let mut skipped = Vec::new();
    let mut skip = |store: &Store, data: &Data, reason: String| {
        if store.data(&data.name).is_none() {
            let name = data.name.clone();
            skipped.push(Skipped { name, reason });
        }
    };
    for data in &experiment.data {
        if !(args.only.is_empty() || args.only.contains(&data.name)) {
            skip(&store, data, "left out by --only".into());
            continue;
        }
        let files = [
            Some(&data.file),
            data.labels.as_ref(),
            data.encoder.as_ref(),
        ];
        let mut files = files.into_iter().flatten();
        if let Some(missing) = files.find(|file| find(file, &places).is_none()) {
            let reason = format!("{} is in none of the folders of data", missing.display());
            at.monitor.warn(format!("{} skipped: {reason}", data.name));
            skip(&store, data, reason);
            continue;
        }
        cells_of(data, &experiment, &places, args, &mut store, at)
            .map_err(|e| e.within(&data.name))?;
    }
    let answer = answer(&experiment, &store, &folder, &skipped);
    if answer.cells == 0 {
        return Err(none_here(&args.experiment, &places));
    }
    store.write()?;
    publish(&experiment, &store, &skipped)?;
    if at.common.json {
        return output::json(&answer);
    }
    output::line(format!(
        "{} cells, {} of them computed now; {} set(s) skipped; look at {}",
        answer.cells,
        answer.computed,
        skipped.len(),
        folder.join("README.md").display()
    ))
}

fn publish(experiment: &Experiment, store: &Store, skipped: &[Skipped]) -> Result<(), Failure> {
    let page = page::document(experiment, store, skipped);
    replace(&store.folder().join("README.md"), &page)
}

/// Fills in all cells of a data set that are missing.
fn cells_of(
    data: &Data,
    experiment: &Experiment,
    places: &[PathBuf],
    args: &Reproduce,
    store: &mut Store,
    at: &Context,
) -> Result<(), Failure> {
    let place = |file: &PathBuf| find(file, places).unwrap_or_default();
    let sources = Sources {
        file: place(&data.file),
        labels: data.labels.as_ref().map(place),
        encoder: data.encoder.as_ref().map(place),
    };
    let draws = args.draws.map(std::num::NonZeroUsize::get);
    let wanted: Vec<(u64, &definition::Method)> = experiment.wanted(data, draws);
    let sha256 = sources.digest()?;
    let missing = |store: &Store| {
        let known = store.data(&data.name).is_some_and(|r| r.sha256 == sha256);
        let has = |(draw, method): &&(u64, &definition::Method)| {
            known && store.has(&data.name, &method.name, *draw)
        };
        wanted.iter().filter(|cell| !has(cell)).count()
    };
    if missing(store) == 0 {
        return Ok(());
    }
    let loaded = Loaded::read(data, experiment, &sources, at)?;
    let protocol = Protocol {
        split: data.split.kind(),
        labels_per_class: data.labels_per_class.map(std::num::NonZeroUsize::get),
        seed: experiment.seed,
        ..Protocol::default()
    };
    let first = Recipe::default();
    let view = loaded.collection.view(data.view.as_deref())?;
    let plan = Plan {
        collection: &loaded.collection,
        features: view.matrix.view(),
        images: loaded.trained.as_ref().map(|images| images as _),
        recipe: &first,
        protocol: &protocol,
        pretrained: loaded.weights.clone(),
        checkpoints: Some(store.checkpoints()),
        events: None,
        data_digest: sha256.clone(),
        device: at.device.clone(),
    };
    let mut bench = plan.bench()?;
    store.put_data(DataRecord::new(
        data,
        (sha256.clone(), experiment.seed),
        &loaded.collection,
        &bench,
    )?);
    at.monitor.start(data.name.clone(), missing(store) as u64);
    let mut done = 0;
    let mut starts: Option<(u64, Starts)> = None;
    for (draw, method) in wanted {
        if store.has(&data.name, &method.name, draw) {
            continue;
        }
        let quiet = at.monitor.quiet();
        if starts.as_ref().is_none_or(|(of, _)| *of != draw) {
            let raw = match starts.take() {
                // It is the same in all draws.
                Some((_, Starts { raw, .. })) => raw,
                None => bench.raw(&quiet)?,
            };
            let whitened = bench.whitened(&quiet)?;
            starts = Some((draw, Starts { raw, whitened }));
        }
        let Some((_, starts)) = &starts else { continue };
        let cell = measure(&mut bench, method, draw, starts, experiment, at)
            .map_err(|e| e.within(&method.name))?;
        store.put(&data.name, method, cell)?;
        // Whoever stops here has a page of what there is.
        publish(experiment, store, &[])?;
        done += 1;
        at.monitor.step(done)?;
    }
    at.monitor.end();
    store.forget_checkpoints();
    Ok(())
}

/// What every method of a draw is compared with.
struct Starts {
    raw: Run,
    whitened: Run,
}

fn measure<'p>(
    bench: &mut Bench<'p>,
    method: &'p definition::Method,
    draw: u64,
    starts: &Starts,
    experiment: &Experiment,
    at: &Context,
) -> Result<Cell, Failure> {
    let clock = Instant::now();
    let (run, last, log) = match &method.how {
        How::Raw => (starts.raw.clone(), None, None),
        How::Whitened => (starts.whitened.clone(), None, None),
        How::Recipe(recipe) => {
            let measured = bench.run(recipe, draw, &at.monitor.quiet())?;
            (measured.kept, measured.last, Some(measured.log))
        }
    };
    let seconds = clock.elapsed().as_secs_f64();
    let bootstrap = Bootstrap::new().seed(experiment.seed);
    let run = [run];
    let against = |other: &Run| -> Result<BTreeMap<String, Estimate>, Failure> {
        Ok(Summary::difference(
            &run,
            std::slice::from_ref(other),
            &bootstrap,
        )?)
    };
    let (over_raw, over_whitened) = (against(&starts.raw)?, against(&starts.whitened)?);
    let last = last.map(|last| Summary::of(&[last], &bootstrap));
    Ok(Cell::new(
        draw,
        seconds,
        (&Summary::of(&run, &bootstrap)?, last.transpose()?.as_ref()),
        [("raw", over_raw), ("whitened", over_whitened)],
        log.as_ref(),
    ))
}

/// The files of a data set.
struct Sources {
    file: PathBuf,
    labels: Option<PathBuf>,
    encoder: Option<PathBuf>,
}

impl Sources {
    fn digest(&self) -> Result<String, Failure> {
        let files = [
            Some(&self.file),
            self.labels.as_ref(),
            self.encoder.as_ref(),
        ];
        let mut digests = Vec::new();
        for file in files.into_iter().flatten() {
            digests.push(likewise_io::digest(file)?);
        }
        Ok(digests.join("+"))
    }
}

/// A data set in memory.
struct Loaded {
    collection: Collection,
    trained: Option<images::Trained>,
    weights: Option<Weights>,
}

impl Loaded {
    fn read(
        data: &Data,
        experiment: &Experiment,
        sources: &Sources,
        at: &Context,
    ) -> Result<Self, Failure> {
        let file = images::folder(&sources.file)?;
        let flags = Images {
            encoder: sources.encoder.clone(),
            skip_bad: false,
            squeeze: data.squeeze,
            side: None,
        };
        let labels = sources.labels.as_deref();
        let (mut collection, trained, weights) = if images::suit(&file, &flags)? {
            // What is not trained by anyone still says how large images are.
            let trained = experiment.network(data)?;
            let trains = trained.is_some();
            let network = trained.cloned().unwrap_or_else(|| EncoderConfig {
                side: data.side,
                squeeze: data.squeeze,
                ..EncoderConfig::default()
            });
            let (collection, trained) = images::load_trained(&file, labels, &flags, &network, at)?;
            let weights = if trains {
                images::pretrained(&flags, &network)?
            } else {
                None
            };
            (collection, trains.then_some(trained), weights)
        } else {
            let options = ReadOptions {
                labels: labels.map(Path::to_owned),
                view: data.view.clone(),
                max_memory: None,
            };
            let collection = likewise_io::read(&file, &options, at.monitor)?;
            (collection, None, None)
        };
        let known = crate::data::labels(&collection)?;
        if let Some(parts) = data.split.parts(known)? {
            collection.split = Some(parts);
        }
        Ok(Self {
            collection,
            trained,
            weights,
        })
    }
}

fn answer(experiment: &Experiment, store: &Store, folder: &Path, skipped: &[Skipped]) -> Answer {
    let mut metrics: BTreeMap<String, BTreeMap<String, BTreeMap<String, Average>>> =
        BTreeMap::new();
    let mut cells = 0;
    for data in &experiment.data {
        for method in &experiment.methods {
            let found = store.cells(&data.name, &method.name);
            cells += found.len();
            for (metric, mean) in cells::means(&found) {
                let average = Average {
                    mean: mean.value,
                    ci: [mean.low, mean.high],
                    draws: found.len(),
                };
                let of_data = metrics.entry(data.name.clone()).or_default();
                let of_method = of_data.entry(method.name.clone()).or_default();
                of_method.insert(metric, average);
            }
        }
    }
    Answer {
        title: experiment.title.clone(),
        folder: folder.to_owned(),
        computed: store.new,
        cells,
        skipped: (skipped.iter())
            .map(|s| (s.name.clone(), s.reason.clone()))
            .collect(),
        metrics,
    }
}
