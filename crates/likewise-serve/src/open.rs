//! A run that is open: all that is read of it once, and never changed.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use axum::body::Bytes;
use axum::http::StatusCode;
use likewise::advise::curve::Curve;
use likewise::{Event, Graph, Label, Monitor, Similarity};
use likewise_study::across::{self, Ask, Way};
use likewise_study::advise::{self, Told};
use likewise_study::journal::Entry;
use likewise_study::live::{self, Compared, Current, Items, Method, Plane, Prepared, Shown};
use likewise_study::query::{self, Answer, Before, Query};
use likewise_study::run_folder::{AcrossFolder, Config, Models, Record, RunFolder, Searched};
use likewise_study::source::{Photos, ReadAs, Source};
use likewise_study::stages::Stages;
use likewise_study::{Device, Environment, Model, Result, suspects};
use ndarray::{Array2, ArrayView2};

use crate::problem::{Answered, Problem};

/// Most pixels of an image that asks, or is shown. A file says little of how many it has: 400 kB unpack to 400 MB.
pub(crate) const PIXELS: u64 = 40_000_000;

/// What requests are worked on with.
pub(crate) struct Means {
    pub(crate) monitor: Monitor,
    stages: Stages,
    device: Device,
    max_memory: Option<u64>,
    /// How labels spread.
    method: Method,
}

impl Means {
    pub(crate) fn new(
        monitor: Monitor,
        device: Device,
        max_memory: Option<u64>,
        method: Method,
    ) -> Self {
        Self {
            monitor,
            stages: Stages::default(),
            device,
            max_memory,
            method,
        }
    }

    pub(crate) fn environment(&self) -> Environment<'_> {
        Environment {
            monitor: &self.monitor,
            stages: &self.stages,
            device: &self.device,
            max_memory: self.max_memory,
        }
    }

    /// The same, whose progress nobody hears.
    pub(crate) fn quiet(&self) -> Self {
        self.heard_by(&self.monitor.quiet())
    }

    /// The same, whose progress another one hears and stops.
    pub(crate) fn heard_by(&self, monitor: &Monitor) -> Self {
        Self {
            monitor: monitor.clone(),
            stages: Stages::default(),
            device: self.device.clone(),
            max_memory: self.max_memory,
            method: self.method,
        }
    }
}

/// A run that is open.
pub(crate) struct Open {
    /// Number of the model.
    pub(crate) number: u32,
    /// Tells it from every other run that this server has opened: another run may get the same number.
    pub(crate) serial: u64,
    pub(crate) config: Config,
    pub(crate) record: Record,
    pub(crate) items: Arc<Items>,
    pub(crate) of: Of,
    pub(crate) photos: Option<Photos>,
    /// `metrics.json` and `report.html`.
    pub(crate) metrics: Bytes,
    pub(crate) report: Bytes,
    /// There once the labels have spread.
    shown: RwLock<Option<Current>>,
    plane: OnceLock<Plane>,
}

/// What kind of run it is.
pub(crate) enum Of {
    /// Within one view.
    One(Box<One>),
    /// Across views, whose labels do not change.
    Across(Box<AcrossFolder>),
}

/// What answers searches: of the run, or of an earlier model.
pub(crate) struct Engine {
    pub(crate) run: RunFolder,
    model: Model,
    pub(crate) searched: Searched,
}

/// A run within one view.
pub(crate) struct One {
    pub(crate) engine: Engine,
    /// The items before anything was learned, once somebody has asked for it.
    before: Mutex<Option<Arc<Before>>>,
    pub(crate) graph: Arc<Graph>,
    /// Which items may be asked for.
    askable: Vec<bool>,
    /// Which labels say what to ask for.
    taught: Vec<bool>,
    /// What its labels are worth, once somebody has asked for it, and up to which entry of the journal they go.
    pub(crate) curve: Mutex<Option<(u64, Arc<Told<Curve>>)>>,
}

/// The number of the next run that is opened.
fn next() -> u64 {
    static OPENED: AtomicU64 = AtomicU64::new(0);
    OPENED.fetch_add(1, Ordering::Relaxed)
}

impl Open {
    /// Reads the run in a folder, and finds the graph that labels spread over.
    ///
    /// Fails where it is damaged, and when cancelled.
    pub(crate) fn read(path: &Path, number: u32, means: &Means) -> Result<Self> {
        if AcrossFolder::is_one(path) {
            return AcrossFolder::read_by(path, |run| Self::across(path, run, number));
        }
        RunFolder::read_by(path, |run| Self::one(path, run, number, means))
    }

    /// The run at the top of a folder of models.
    pub(crate) fn current(path: &Path, means: &Means) -> Result<Self> {
        Self::read(path, Models::of(path).current()?, means)
    }

    fn one(path: &Path, run: &RunFolder, number: u32, means: &Means) -> Result<Self> {
        run.check()?;
        let (config, record) = (run.config()?, run.record()?);
        record.check_single_labels("serve")?;
        let items = Items::new(run.items()?);
        let engine = Engine::read(run, items.rows().len())?;
        let graph = live::graph(
            run.root(),
            engine.searched.rows(),
            engine.searched.similarity(),
            record.seed,
            &means.monitor,
        )?;
        let askable = advise::askable(items.rows(), record.added, &config.protocol);
        let taught = advise::taught(items.rows(), &config.protocol);
        Ok(Self {
            number,
            serial: next(),
            photos: suspects::photos(run)?,
            metrics: bytes_of(path, run.file("metrics.json").as_path())?,
            report: bytes_of(path, run.file("report.html").as_path())?,
            of: Of::One(Box::new(One {
                engine,
                before: Mutex::default(),
                graph: Arc::new(graph),
                askable,
                taught,
                curve: Mutex::default(),
            })),
            config,
            record,
            items: Arc::new(items),
            shown: RwLock::default(),
            plane: OnceLock::new(),
        })
    }

    fn across(path: &Path, run: &AcrossFolder, number: u32) -> Result<Self> {
        run.check()?;
        let items = Arc::new(Items::new(run.items()?));
        let shown = Current::new(Shown::fixed(items.clone())?);
        Ok(Self {
            number,
            serial: next(),
            config: run.config()?,
            record: run.record()?,
            items,
            photos: None,
            metrics: bytes_of(path, &path.join("metrics.json"))?,
            report: bytes_of(path, &path.join("report.html"))?,
            of: Of::Across(Box::new(run.clone())),
            shown: RwLock::new(Some(shown)),
            plane: OnceLock::new(),
        })
    }

    /// Its labels and those of entries of the journal, spread; `None` of a run across views, which takes no labels.
    ///
    /// Labels of items that it has not are told of.
    pub(crate) fn prepared(&self, entries: &[Entry], means: &Means) -> Result<Option<Prepared>> {
        let Some(one) = self.one_view() else {
            return Ok(None);
        };
        let told = means.monitor.clone();
        let heard = means.monitor.quiet().also(move |event| {
            if let Event::Warning(message) = event {
                told.warn(message);
            }
        });
        let (items, graph) = (self.items.clone(), one.graph.clone());
        let learned = self.record.journal.clone();
        Prepared::new(
            items,
            graph,
            means.method,
            entries,
            learned,
            self.record.added,
            &heard,
        )
        .map(Some)
    }

    /// Where the labels spread; none in a run across views.
    pub(crate) fn one_view(&self) -> Option<&One> {
        match &self.of {
            Of::One(one) => Some(one),
            Of::Across(_) => None,
        }
    }

    pub(crate) fn set_shown(&self, shown: Current) {
        *self.shown.write().unwrap_or_else(PoisonError::into_inner) = Some(shown);
    }

    /// What is shown of the items now; it stays as it is for who holds it.
    pub(crate) fn shown(&self) -> Option<Arc<Shown>> {
        let shown = self.shown.read().unwrap_or_else(PoisonError::into_inner);
        shown.as_ref().map(Current::get)
    }

    /// Looks at what is shown of the items now.
    pub(crate) fn look<T>(&self, at: impl FnOnce(&Shown) -> T) -> Option<T> {
        self.shown().map(|shown| at(&shown))
    }

    /// Views of a run across views.
    pub(crate) fn views(&self) -> &[String] {
        match &self.of {
            Of::One(_) => &[],
            Of::Across(run) => run.views(),
        }
    }

    /// Whether images can ask.
    pub(crate) fn takes_images(&self) -> bool {
        match &self.of {
            Of::One(one) => {
                let reads = matches!(one.engine.model, Model::Network(_));
                reads || !self.config.encoder.is_empty() || self.photos.is_some()
            }
            Of::Across(_) => false,
        }
    }

    /// A map of the items.
    pub(crate) fn plane(&self) -> Result<Option<&Plane>> {
        let Some(one) = self.one_view() else {
            return Ok(None);
        };
        if self.plane.get().is_none() {
            let plane = live::plane(one.engine.searched.rows(), self.record.seed)?;
            // Two at once find the same.
            let _ = self.plane.set(plane);
        }
        Ok(self.plane.get())
    }

    /// What a text, or an item, finds in a run across views.
    pub(crate) fn search_across(
        run: &AcrossFolder,
        ask: &Ask,
        way: &Way,
        k: usize,
        means: &Means,
    ) -> Result<Answer> {
        let answers = across::search(run, ask, way, k, &means.environment())?;
        (answers.into_iter().next())
            .ok_or_else(|| likewise::Error::data("the query holds nothing that can ask"))
    }

    /// The items across views that an item finds.
    pub(crate) fn by_id(id: &str) -> Query {
        Query::Id(id.to_owned())
    }
}

/// An earlier model of a run, and the items that it is of.
pub(crate) struct Earlier {
    pub(crate) engine: Engine,
    pub(crate) items: Items,
}

impl Earlier {
    /// Reads the model in a folder. Nothing spreads over it, so no graph is sought.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        RunFolder::read_by(path, |run| {
            run.check()?;
            let items = Items::new(run.items()?);
            Ok(Self {
                engine: Engine::read(run, items.rows().len())?,
                items,
            })
        })
    }
}

impl One {
    /// The items before anything was learned; the first who asks reads them, others wait for that.
    pub(crate) fn before(&self, means: &Means) -> Result<Arc<Before>> {
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = &*before {
            return Ok(before.clone());
        }
        let read = Arc::new(Before::of(&self.engine.run, &means.environment())?);
        *before = Some(read.clone());
        Ok(read)
    }

    /// What its items are compared by.
    pub(crate) fn compared(&self, seed: u64) -> Compared<'_> {
        Compared {
            rows: self.engine.searched.rows(),
            metric: self.engine.similarity().metric(),
            graph: &self.graph,
            askable: &self.askable,
            taught: &self.taught,
            seed,
        }
    }

    /// Labels that say what to ask for.
    pub(crate) fn labeled(&self, labels: &[Label]) -> usize {
        let counts = |(label, taught): &(&Label, &bool)| **taught && **label != Label::Unknown;
        labels.iter().zip(&self.taught).filter(counts).count()
    }

    /// Items that may be asked for.
    pub(crate) fn open<'a>(&'a self, labels: &'a [Label]) -> impl Iterator<Item = usize> + 'a {
        let open = |&row: &usize| self.askable[row] && labels[row] == Label::Unknown;
        (0..labels.len()).filter(open)
    }
}

impl Engine {
    fn read(run: &RunFolder, items: usize) -> Result<Self> {
        Ok(Self {
            run: run.clone(),
            model: run.model()?,
            searched: run.searched(items)?,
        })
    }

    /// The similarity of two rows.
    pub(crate) fn similarity(&self) -> &Similarity {
        self.searched.similarity()
    }

    /// Columns of a vector that can ask.
    pub(crate) fn columns(&self) -> usize {
        self.model.input_dim()
    }

    /// Embeds rows of features.
    pub(crate) fn embed(&self, x: ArrayView2<f32>, means: &Means) -> Result<Array2<f32>> {
        likewise::matrix::check_finite(x, "vector")?;
        self.model.embed(x, means.environment().device)
    }

    /// Embeds an image, which lies in a file of its own for so long.
    pub(crate) fn embed_image(
        &self,
        bytes: &[u8],
        kind: &str,
        means: &Means,
    ) -> Answered<Array2<f32>> {
        let cannot = |e: std::io::Error| likewise::Error::data(format!("the image: {e}"));
        let ending = match kind {
            "image/jpeg" => ".jpg",
            "image/webp" => ".webp",
            "image/gif" => ".gif",
            "image/bmp" => ".bmp",
            "image/tiff" => ".tif",
            _ => ".png",
        };
        let mut builder = tempfile::Builder::new();
        let mut file = builder.suffix(ending).tempfile().map_err(cannot)?;
        std::io::Write::write_all(&mut file, bytes).map_err(cannot)?;
        if let Some((width, height)) = likewise_image::decode::dimensions(file.path())
            && width.saturating_mul(height) > PIXELS
        {
            let said = format!(
                "the image has {width} x {height} pixels, and at most {} million are taken",
                PIXELS / 1_000_000
            );
            let problem = Problem::new(StatusCode::PAYLOAD_TOO_LARGE, said);
            return Err(problem.hint("send it smaller"));
        }
        let source = Source::open(file.path(), ReadAs::default())?;
        let embedded = query::embedded(&self.run, &source, &means.environment());
        Ok(embedded.map_err(|e| without(&e, file.path()))?.rows)
    }
}

/// The same error without the name of a file that nobody knows.
fn without(e: &likewise::Error, path: &Path) -> likewise::Error {
    let said = e
        .to_string()
        .replace(&path.display().to_string(), "the image");
    likewise::Error::new(e.kind(), said)
}

fn bytes_of(run: &Path, file: &Path) -> Result<Bytes> {
    let read = likewise_io::read_file(file, likewise_io::memory::allowed(None));
    let read = read.map_err(|e| likewise::Error::from(e.within(run.display())))?;
    Ok(Bytes::from(read))
}
