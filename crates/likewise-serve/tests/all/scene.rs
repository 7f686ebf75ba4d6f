//! A small run of digits, and a server of it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread::JoinHandle;

use likewise::{Collection, Labels, Monitor, View, matrix};
use likewise_io::{Form, ReadOptions};
use likewise_serve::{Options, Refit, serve};
use likewise_study::fit::{Asked, Job, LabeledItems};
use likewise_study::journal::Place;
use likewise_study::run_folder::{Rights, RunFolder, Work};
use likewise_study::stages::Stages;
use likewise_study::study::SplitKind;
use likewise_study::{Device, Environment, Recipe, Result, labels};

/// Items of the run.
pub(crate) const ITEMS: usize = 200;

pub(crate) fn device() -> Device {
    // By its name: what there is differs between the builds.
    DEVICE
        .get_or_init(|| likewise_nn::device("cpu").unwrap())
        .clone()
}

static DEVICE: OnceLock<Device> = OnceLock::new();

/// Every tenth digit, d0 to d199; every fourth has its label, one is outside.
pub(crate) fn digits() -> Collection {
    let bytes = std::fs::read(likewise_testdata::digits()).unwrap();
    let all = likewise_io::read_bytes(Form::Npz, &bytes, &ReadOptions::default()).unwrap();
    let rows: Vec<usize> = (0..ITEMS).map(|i| 10 * i).collect();
    let view = View {
        name: "x".into(),
        matrix: matrix::select_rows(all.view(Some("fac")).unwrap().matrix.view(), &rows),
        present: None,
    };
    let ids = (0..ITEMS).map(|i| format!("d{i}")).collect();
    let known = all.labels.unwrap();
    let word = |i: usize| match i {
        7 => "outside".to_owned(),
        i if i % 4 == 0 => known.classes()[known[10 * i].class().unwrap() as usize].clone(),
        _ => String::new(),
    };
    let mut collection = Collection::new(ids, vec![view]).unwrap();
    collection.labels = Some(Labels::parse((0..ITEMS).map(word)));
    collection
}

/// The class that a digit is of in truth.
pub(crate) fn truth(item: usize) -> String {
    static TRUTH: OnceLock<Vec<String>> = OnceLock::new();
    let all = TRUTH.get_or_init(|| {
        let bytes = std::fs::read(likewise_testdata::digits()).unwrap();
        let all = likewise_io::read_bytes(Form::Npz, &bytes, &ReadOptions::default()).unwrap();
        let known = all.labels.unwrap();
        let name = |i: usize| known.classes()[known[10 * i].class().unwrap() as usize].clone();
        (0..ITEMS).map(name).collect()
    });
    all[item].clone()
}

/// A file of these items, which stays until the tests end.
fn data_of(collection: &Collection) -> PathBuf {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    static FILES: AtomicUsize = AtomicUsize::new(0);
    let folder = FOLDER.get_or_init(|| tempfile::tempdir().unwrap());
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let path = folder.path().join(format!("digits-{number}.npz"));
    likewise_io::collection::write(&path, collection).unwrap();
    path
}

/// Fits the digits with these labels into a folder.
pub(crate) fn fit(collection: &Collection, out: &Path, monitor: &Monitor) -> Result<()> {
    fit_as(collection, folds(), out, monitor)
}

fn folds() -> Asked {
    Asked {
        split: Some(SplitKind::Folds),
        ..Asked::default()
    }
}

/// The same, measured as asked for.
pub(crate) fn fit_as(
    collection: &Collection,
    asked: Asked,
    out: &Path,
    monitor: &Monitor,
) -> Result<()> {
    fit_after(collection, asked, None, out, monitor)
}

/// The same, by labels that follow the journal up to a place.
fn fit_after(
    collection: &Collection,
    asked: Asked,
    journal: Option<Place>,
    out: &Path,
    monitor: &Monitor,
) -> Result<()> {
    let device = device();
    let at = Environment {
        monitor,
        stages: &Stages::default(),
        device: &device,
        max_memory: None,
    };
    let mut job = Job {
        command: vec!["likewise".into(), "fit".into()],
        journal,
        ..Job::new(
            Recipe::mild_probabilities().fitting(collection.len()),
            asked.protocol(collection, &[])?,
            data_of(collection).display().to_string(),
            format!("digits; labels {}", labels::digest(collection)),
            "x".into(),
        )
    };
    let work = Work::begin(out, Rights::default())?;
    job.run(
        collection,
        collection.view(Some("x"))?,
        work,
        None,
        None,
        &at,
    )?;
    Ok(())
}

/// A folder with a run of its own.
pub(crate) fn run() -> tempfile::TempDir {
    static FITTED: OnceLock<tempfile::TempDir> = OnceLock::new();
    let fitted = FITTED.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        fit(&digits(), &folder.path().join("run"), &Monitor::silent()).unwrap();
        folder
    });
    let folder = tempfile::tempdir().unwrap();
    copy(&fitted.path().join("run"), folder.path());
    folder
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let below = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &below);
        } else {
            std::fs::copy(entry.path(), below).unwrap();
        }
    }
}

/// Fits the digits again, as the command would.
pub(crate) struct Again;

impl Refit for Again {
    fn refit(
        &self,
        _run: &Path,
        labeled: LabeledItems,
        labels: &Path,
        out: &Path,
        monitor: &Monitor,
    ) -> Result<()> {
        assert!(
            std::fs::read_to_string(labels)
                .unwrap()
                .starts_with("id,label\n")
        );
        let mut collection = digits();
        collection.labels = Some(likewise_study::labels::of(&labeled.items)?);
        fit_after(&collection, folds(), labeled.journal, out, monitor)
    }
}

/// A server in this process.
pub(crate) struct Server {
    pub(crate) at: SocketAddr,
    monitor: Monitor,
    thread: Option<JoinHandle<Result<()>>>,
    /// What was warned of.
    pub(crate) warned: mpsc::Receiver<String>,
}

impl Server {
    pub(crate) fn of(run: &Path) -> Self {
        Self::begin(&Options::new(run, device()), Some(Arc::new(Again))).unwrap()
    }

    pub(crate) fn begin(options: &Options, refit: Option<Arc<dyn Refit>>) -> Result<Self> {
        let (warn, warned) = mpsc::channel();
        let warn = std::sync::Mutex::new(warn);
        let monitor = Monitor::new(move |event| {
            if let likewise::Event::Warning(text) = event {
                let _ = warn.lock().unwrap().send(text.clone());
            }
        });
        let (begun, begins) = mpsc::channel();
        let (options, own) = (options.clone(), monitor.clone());
        let thread = std::thread::spawn(move || {
            serve(options, refit, &own, &mut |at| begun.send(at).unwrap())
        });
        match begins.recv() {
            Ok(at) => Ok(Self {
                at,
                monitor,
                thread: Some(thread),
                warned,
            }),
            Err(_) => Err(thread.join().unwrap().unwrap_err()),
        }
    }

    /// Ends it as a signal would.
    pub(crate) fn stop(mut self) -> Result<()> {
        self.monitor.cancel();
        self.thread
            .take()
            .map_or(Ok(()), |thread| thread.join().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.monitor.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The run and its server.
pub(crate) fn served() -> (tempfile::TempDir, Server) {
    let run = run();
    let server = Server::of(run.path());
    (run, server)
}

/// The folder as the library opens it.
pub(crate) fn open(run: &Path) -> RunFolder {
    RunFolder::open(run).unwrap()
}

/// The journal of a run.
pub(crate) fn journal(run: &Path) -> PathBuf {
    run.join("labels.jsonl")
}
