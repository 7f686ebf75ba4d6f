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
use likewise_nn::net::{EncoderConfig, Weights};
use serde::Serialize;

use self::cells::{Cell, DataRecord, Store};
use self::definition::{Data, Experiment, How};
use super::Request;
use super::hold::Hold;
use super::markdown::Skipped;
use super::prepared::{find, none_here};
use super::store::replace;
use crate::Result;
use crate::environment::Environment;
use crate::recipe::Recipe;
use crate::source::{self, ReadAs, Source, Trained};
use crate::study::{Bench, Plan, Protocol};

/// What an experiment found.
#[derive(Debug, Serialize)]
pub struct Answer {
    title: String,
    folder: PathBuf,
    computed: usize,
    cells: usize,
    /// Sets that were left out, and why.
    skipped: BTreeMap<String, String>,
    /// Data set -> method -> metric -> mean and interval.
    metrics: BTreeMap<String, BTreeMap<String, BTreeMap<String, Average>>>,
}

impl Answer {
    pub(super) fn counts(&self) -> [usize; 3] {
        [self.computed, self.cells, self.skipped.len()]
    }
}

#[derive(Debug, Serialize)]
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

pub(super) fn run(request: &Request, at: &Environment) -> Result<Answer> {
    let experiment = Experiment::read(&request.experiment)?;
    for name in &request.only {
        experiment.check_name(name)?;
    }
    let (folder, places) = (request.folder(), request.places());
    super::store::check_folder(&folder)?;
    let _hold = Hold::take(&folder)?;
    let mut store = Store::open(&folder, &experiment, at.monitor)?;
    let mut skipped = Vec::new();
    let mut skip = |store: &Store, data: &Data, reason: String| {
        if store.data(&data.name).is_none() {
            let name = data.name.clone();
            skipped.push(Skipped { name, reason });
        }
    };
    for data in &experiment.data {
        if !(request.only.is_empty() || request.only.contains(&data.name)) {
            skip(&store, data, "not asked for".into());
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
        cells_of(data, &experiment, &places, request, &mut store, at)
            .map_err(|e| e.within(&data.name))?;
    }
    let answer = answer(&experiment, &store, &folder, &skipped);
    if answer.cells == 0 {
        return Err(none_here(&request.experiment, &places));
    }
    store.write()?;
    publish(&experiment, &store, &skipped)?;
    Ok(answer)
}

fn publish(experiment: &Experiment, store: &Store, skipped: &[Skipped]) -> Result<()> {
    let page = page::document(experiment, store, skipped);
    replace(&store.folder().join("README.md"), &page)
}

/// Fills in all cells of a data set that are missing.
fn cells_of(
    data: &Data,
    experiment: &Experiment,
    places: &[PathBuf],
    request: &Request,
    store: &mut Store,
    at: &Environment,
) -> Result<()> {
    let place = |file: &PathBuf| find(file, places).unwrap_or_default();
    let sources = Sources {
        file: place(&data.file),
        labels: data.labels.as_ref().map(place),
        encoder: data.encoder.as_ref().map(place),
    };
    let draws = request.draws.map(std::num::NonZeroUsize::get);
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
        tuples: None,
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
    at: &Environment,
) -> Result<Cell> {
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
    let against = |other: &Run| -> Result<BTreeMap<String, Estimate>> {
        Summary::difference(&run, std::slice::from_ref(other), &bootstrap)
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
    fn digest(&self) -> Result<String> {
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
    trained: Option<Trained>,
    weights: Option<Weights>,
}

impl Loaded {
    fn read(
        data: &Data,
        experiment: &Experiment,
        sources: &Sources,
        at: &Environment,
    ) -> Result<Self> {
        let read = ReadAs {
            labels: sources.labels.clone(),
            view: data.view.clone(),
            encoder: sources.encoder.clone(),
            squeeze: data.squeeze,
            ..ReadAs::default()
        };
        let source = Source::open(&source::folder(&sources.file)?, read)?;
        let (mut collection, trained, weights) = if source.is_images() {
            // What is not trained by anyone still says how large images are.
            let trained = experiment.network(data)?;
            let trains = trained.is_some();
            let network = trained.cloned().unwrap_or_else(|| EncoderConfig {
                side: data.side,
                squeeze: data.squeeze,
                ..EncoderConfig::default()
            });
            let (collection, trained) = source.load_trained(&network, at)?;
            let weights = if trains {
                source.pretrained(&network)?
            } else {
                None
            };
            (collection, trains.then_some(trained), weights)
        } else {
            (source.load(at)?, None, None)
        };
        let known = source::labels(&collection)?;
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
