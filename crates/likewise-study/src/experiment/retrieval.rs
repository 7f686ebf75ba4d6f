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
use likewise::tags::BETWEEN;
use likewise_nn::net::{EncoderConfig, Weights};

use self::cells::{Cell, DataRecord, Row, Store};
pub(super) use self::definition::Experiment;
use self::definition::{Data, How, Method};
use super::engine::{Asked, Average, Found, Kind};
use super::page::Skipped;
use super::set::Set;
use super::store::{Kept, replace};
use super::written::Head;
use crate::Result;
use crate::environment::Environment;
use crate::recipe::Recipe;
use crate::source::{self, Maker, ReadAs, Source, Trained};
use crate::study::{Bench, Plan, Protocol};

impl Set for Data {
    fn name(&self) -> &str {
        &self.name
    }

    fn files(&self) -> Vec<&PathBuf> {
        let beside = self.labels.iter().chain(&self.encoder);
        std::iter::once(&self.file).chain(beside).collect()
    }
}

impl Kept for Experiment {
    type Record = DataRecord;
    type Run = Row;
    // Trainings take hours, on the machines that there are: how long, not which is faster.
    const TIMED: bool = false;

    fn head(&self) -> &Head {
        &self.head
    }

    fn keeps_data(&self, name: &str, record: &DataRecord) -> bool {
        let data = self.data.iter().find(|data| data.name == name);
        data.is_some_and(|data| record.definition == *data) && record.seed == self.head.seed
    }

    fn keeps_run(&self, run: &Row) -> bool {
        let method = self.methods.iter().find(|m| m.name == run.method);
        // Not as text: a field that recipes did not have then has its default.
        let kept: Option<How> = run.recipe.read();
        method.is_some_and(|m| kept.is_some_and(|how| how == m.how))
    }

    fn place(&self, run: &Row) -> [Option<usize>; 3] {
        let data = self.data.iter().position(|d| d.name == run.data);
        let method = self.methods.iter().position(|m| m.name == run.method);
        [data, method, None]
    }
}

impl Kind for Experiment {
    type Data = Data;

    fn read(path: &Path) -> Result<Self> {
        Self::read(path)
    }

    fn sets(&self) -> &[Data] {
        &self.data
    }

    fn fill(&self, data: &Data, asked: &Asked, store: &mut Store) -> Result<()> {
        let at = asked.at;
        let sources = Sources::find(data, asked);
        let wanted: Vec<(u64, &Method)> = self.wanted(data, asked.draws);
        let sha256 = sources.digest()?;
        let missing = |store: &Store| {
            let known = store.data(&data.name).is_some_and(|r| r.sha256 == sha256);
            let has = |(draw, method): &&(u64, &Method)| {
                known && store.has(&data.name, &method.name, *draw)
            };
            wanted.iter().filter(|cell| !has(cell)).count()
        };
        if missing(store) == 0 {
            return Ok(());
        }
        let loaded = Loaded::read(data, self, &sources, at)?;
        let protocol = Protocol {
            split: data.split.kind(),
            labels_per_class: data.labels_per_class.map(std::num::NonZeroUsize::get),
            seed: self.head.seed,
            ..Protocol::default()
        };
        let first = Recipe::default();
        let view = loaded.collection.view(data.view.as_deref())?;
        let features = view.matrix.view();
        let plan = Plan {
            images: loaded.trained.as_ref().map(|images| images as _),
            pretrained: loaded.weights.clone(),
            checkpoints: Some(store.checkpoints()),
            data_digest: sha256.clone(),
            ..Plan::of(
                &loaded.collection,
                features,
                &first,
                &protocol,
                at.device.clone(),
            )
        };
        let mut bench = plan.bench()?;
        let digest = (sha256.clone(), self.head.seed);
        let record = DataRecord::new(data, digest, &loaded.collection, &bench)?;
        store.put_data(&data.name, record);
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
            let cell = measure(&mut bench, method, draw, starts, self, at)
                .map_err(|e| e.within(&method.name))?;
            store.put(&data.name, method, cell, self)?;
            // Whoever stops here has a page of what there is.
            self.publish(store, &[])?;
            done += 1;
            at.monitor.step(done)?;
        }
        at.monitor.end();
        store.forget_checkpoints();
        Ok(())
    }

    fn found(&self, store: &Store) -> Result<Found> {
        let mut metrics: BTreeMap<_, BTreeMap<_, BTreeMap<_, _>>> = BTreeMap::new();
        for row in &store.runs {
            let cells: Vec<&Cell> = row.cells.iter().collect();
            for (metric, mean) in cells::means(&cells) {
                let average = Average::of(&mean, cells.len());
                let of_data = metrics.entry(row.data.clone()).or_default();
                let of_method = of_data.entry(row.method.clone()).or_default();
                of_method.insert(metric, average);
            }
        }
        Ok(Found::Metrics(metrics))
    }

    fn publish(&self, store: &Store, skipped: &[Skipped]) -> Result<()> {
        let page = page::document(self, store, skipped);
        replace(&store.folder().join("README.md"), &page)
    }
}

/// What every method of a draw is compared with.
struct Starts {
    raw: Run,
    whitened: Run,
}

fn measure<'p>(
    bench: &mut Bench<'p>,
    method: &'p Method,
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
    let bootstrap = Bootstrap::new().seed(experiment.head.seed);
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
    fn find(data: &Data, asked: &Asked) -> Self {
        let place = |file: &PathBuf| asked.find(file).unwrap_or_default();
        Self {
            file: place(&data.file),
            labels: data.labels.as_ref().map(place),
            encoder: data.encoder.as_ref().map(place),
        }
    }

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
    /// Where the images are that are trained on.
    _folder: source::Folder,
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
            apart: data.apart,
            encoder: sources
                .encoder
                .clone()
                .map(Maker::Network)
                .into_iter()
                .collect(),
            squeeze: data.squeeze,
            ..ReadAs::default()
        };
        let folder = source::folder(&sources.file)?;
        let source = Source::open(folder.path(), read)?;
        let source = source.with_several_labels(data.multi_label.then_some(BETWEEN));
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
        if let Some(parts) = data.split.parts(known, experiment.head.seed)? {
            collection.split = Some(parts);
        }
        Ok(Self {
            collection,
            trained,
            weights,
            _folder: folder,
        })
    }
}
