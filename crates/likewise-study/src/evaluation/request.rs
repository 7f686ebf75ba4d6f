//! An evaluation as it is asked for: of embeddings, which are measured, or of a run, which was.

use std::path::{Path, PathBuf};

use likewise::distance::Metric;
use likewise::error::Hint;
use likewise::eval::by_class::ClassResult;
use likewise::eval::summary::Summary;
use likewise_io::atomic;
use likewise_nn::loss::WholeSet;

use super::{Job, Measured, write_classes, write_classes_across, write_confusion};
use crate::data::Data;
use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::gate::{Gate, Losses};
use crate::graph::DataShape;
use crate::run_folder::{AcrossFolder, RunFolder, check_apart, check_ending, check_output};
use crate::sides::Sides;
use crate::source::Source;
use crate::study::{CrossResults, CrossSummary, Results};
use crate::{Error, Result, failed, usage};

/// The k that are measured where no others are asked for.
const KS: [usize; 4] = [1, 2, 4, 8];

/// An evaluation that is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// Embeddings, or the folder of a run.
    pub data: Data,
    /// What stands between the labels of an item in one cell, where items may have several.
    pub several_labels: Option<char>,
    /// Embeddings that are searched instead of the other queries.
    pub gallery: Option<Data>,
    /// How near two items are.
    pub metric: Metric,
    /// The k of R@k and P@k. Of a run, 1, 2, 4 and 8 are all that was measured.
    pub ks: Vec<usize>,
    /// Whether the items are clustered.
    pub nmi: bool,
    /// Names of losses over all labeled items.
    pub losses: Vec<String>,
    /// Where what each class gets goes: `.csv`.
    pub classes: Option<PathBuf>,
    /// Where the class of each query beside that of its first answer goes: `.csv`.
    pub confusion: Option<PathBuf>,
    /// What the numbers must reach.
    pub gates: Vec<Gate>,
    /// Seed of every random step.
    pub seed: u64,
}

/// The numbers, and of a run what gates are asked of: all that was measured, whatever is shown.
#[derive(Debug)]
pub enum Outcome {
    /// Of embeddings.
    Embeddings(Box<Measured>),
    /// Of a run.
    Run(Box<Results>, Box<Summary>),
    /// Of a run across views.
    Across(Box<CrossResults>, Box<CrossSummary>),
}

impl Outcome {
    /// Fails with [`ErrorKind::Quality`](crate::ErrorKind::Quality) where a gate is missed.
    pub fn check(&self, gates: &[Gate]) -> Result<()> {
        gates.iter().try_for_each(|gate| match self {
            Self::Embeddings(measured) => gate.check(&measured.summary, &measured.loss),
            Self::Run(_, whole) => gate.check(whole, &Losses::new()),
            Self::Across(_, whole) => gate.check_across(whole),
        })
    }
}

impl Request {
    /// What measuring embeddings will cost.
    ///
    /// Fails on an output that cannot be one, on a gate that is not measured, on data that are not there, and for
    /// a run, which costs nothing.
    pub fn estimate(&self, at: &Environment) -> Result<Estimate> {
        self.check_files()?;
        if self.is_of_run() {
            return Err(self.goes_with_embeddings(self.given().unwrap_or("dry_run")));
        }
        self.before_reading(&self.job()?, true, at)
    }

    /// Measures embeddings, or looks up what was measured of a run, and writes the tables of classes. Gates are
    /// [asked](Outcome::check) by the caller, once the numbers are told.
    ///
    /// Fails as [`estimate`](Self::estimate), [`Sides::read`] and [`Job::run`] do, where the memory does not
    /// suffice, and for what was not measured of a run.
    pub fn run(&self, at: &Environment) -> Result<Outcome> {
        self.check_files()?;
        if self.is_of_run() {
            if let Some(given) = self.given() {
                return Err(self.goes_with_embeddings(given));
            }
            // It was measured when it was fitted: before its hidden labels could be looked at.
            return if AcrossFolder::is_one(&self.data.path) {
                self.of_run_across()
            } else {
                self.of_run()
            };
        }
        let job = self.job()?;
        self.before_reading(&job, false, at)?.check(at.max_memory)?;
        let gallery = self.gallery.as_ref();
        let searched = gallery.map(|gallery| self.open(gallery)).transpose()?;
        let view = self.data.read.view.as_deref();
        let sides = Sides::read(self.open(&self.data)?, searched, view, at)?;
        job.after_reading(&sides).check(at.max_memory)?;
        let measured = job.run(&sides, at)?;
        self.write(&measured.classes)?;
        Ok(Outcome::Embeddings(Box::new(measured)))
    }

    /// What is measured. Fails on an unknown loss, and on a gate that is not measured.
    fn job(&self) -> Result<Job> {
        let job = Job {
            metric: self.metric,
            ks: self.ks.clone(),
            nmi: self.nmi,
            losses: WholeSet::named(&self.losses)?,
            seed: self.seed,
        };
        let clusters = job.nmi && self.several_labels.is_none();
        for gate in &self.gates {
            gate.measured(&job.ks, clusters, &self.losses)?;
        }
        Ok(job)
    }

    /// What it takes, before anything is read but, where they are counted, the classes.
    fn before_reading(&self, job: &Job, counted: bool, at: &Environment) -> Result<Estimate> {
        let asking = self.open(&self.data)?;
        let shape = DataShape::of(&asking, at)?;
        let gallery = self.gallery.as_ref();
        let searched = gallery.map(|gallery| DataShape::of(&self.open(gallery)?, at));
        let searched = searched.transpose()?;
        let classes = counted.then(|| shape.classes(&asking, at)).flatten();
        Ok(job.before_reading(&shape, searched.as_ref(), classes))
    }

    fn open(&self, data: &Data) -> Result<Source> {
        Ok(data.open()?.with_several_labels(self.several_labels))
    }

    fn is_of_run(&self) -> bool {
        let path = &self.data.path;
        RunFolder::is_meant(path) || RunFolder::has_lost_its_record(path)
    }

    /// A setting that was given and that goes with embeddings alone.
    fn given(&self) -> Option<&'static str> {
        let given = [
            ("labels", self.data.read.labels.is_some()),
            ("gallery", self.gallery.is_some()),
            ("view", self.data.read.view.is_some()),
            ("loss", !self.losses.is_empty()),
            ("metric", self.metric != Metric::Cosine),
            ("no_nmi", !self.nmi),
            ("multi_label", self.several_labels.is_some()),
        ];
        let given = given.into_iter().find(|(_, given)| *given);
        given.map(|(setting, _)| setting)
    }

    fn goes_with_embeddings(&self, setting: &str) -> Error {
        if AcrossFolder::is_one(&self.data.path) {
            return usage(format!(
                "`{setting}` goes with embeddings; a run across views was measured when it was fitted: leave it out"
            ));
        }
        let message = format!("`{setting}` goes with embeddings, not with a run");
        usage(message).hint(Hint::MeasureOthers)
    }

    fn of_run(&self) -> Result<Outcome> {
        let path = &self.data.path;
        // Numbers of a run that says no more how it was made are no numbers of a run.
        let mut results = RunFolder::read_by(path, |run| run.config().and(run.metrics()))?;
        for gate in &self.gates {
            gate.value(&results.summary, &Losses::new())?;
        }
        let whole = Box::new(results.summary.clone());
        if self.ks != KS {
            let measured = listed(results.summary.recall.keys());
            results
                .keep_at(&self.ks)
                .map_err(|missing| not_measured(missing, &measured).hint(Hint::MeasureOthers))?;
        }
        let outputs = [("classes", &self.classes), ("confusion", &self.confusion)];
        let asked = outputs.iter().find(|(_, out)| out.is_some());
        if let Some((setting, _)) = asked.filter(|_| results.classes.is_empty()) {
            return Err(failed(format!(
                "`{setting}`: {} has no test part, so its classes were not measured one by one",
                path.display(),
            ))
            .hint(Hint::MeasureOthers));
        }
        self.write(&results.classes)?;
        Ok(Outcome::Run(Box::new(results), whole))
    }

    fn of_run_across(&self) -> Result<Outcome> {
        if self.confusion.is_some() {
            return Err(usage(
                "`confusion` does not go with a run across views; leave it out",
            ));
        }
        let path = &self.data.path;
        let mut results = AcrossFolder::read_by(path, AcrossFolder::metrics)?;
        if let Some(why) = &results.not_measured
            && (self.classes.is_some() || self.ks != KS)
        {
            return Err(failed(format!("{}: {why}", path.display())));
        }
        for gate in &self.gates {
            gate.value_across(&results.summary)?;
        }
        if let Some(out) = &self.classes {
            if results.classes.is_empty() {
                return Err(failed(format!(
                    "`classes`: {} was fitted before classes were measured one by one; fit again",
                    path.display()
                )));
            }
            write_classes_across(out, &results.classes)?;
        }
        let whole = Box::new(results.summary.clone());
        if self.ks != KS {
            let measured = listed(whole.recall.keys());
            let kept = results.keep_at(&self.ks);
            kept.map_err(|missing| not_measured(missing, &measured))?;
        }
        Ok(Outcome::Across(Box::new(results), whole))
    }

    /// Fails on an output that cannot be one.
    fn check_files(&self) -> Result<()> {
        let read: Vec<Option<&Path>> = std::iter::once(&self.data)
            .chain(&self.gallery)
            .flat_map(|data| [Some(data.path.as_path()), data.read.labels.as_deref()])
            .collect();
        for out in [&self.classes, &self.confusion] {
            let out = out.as_deref();
            check_output(out, &read)?;
            check_apart(out, &self.data.path)?;
            check_ending(out, "classes are written", "csv")?;
        }
        match (&self.classes, &self.confusion) {
            (Some(one), Some(other)) if atomic::same_place(one, other) => Err(usage(format!(
                "{}: `classes` and `confusion` name one file; name two",
                one.display()
            ))),
            _ => Ok(()),
        }
    }

    /// Writes the tables of classes that are asked for.
    fn write(&self, classes: &[ClassResult]) -> Result<()> {
        if let Some(out) = &self.classes {
            write_classes(out, classes)?;
        }
        if let Some(out) = &self.confusion {
            write_confusion(out, classes)?;
        }
        Ok(())
    }
}

fn not_measured(k: usize, measured: &str) -> Error {
    let measured = if measured.is_empty() {
        "no k"
    } else {
        measured
    };
    usage(format!(
        "`at {k}`: the run was measured at {measured} when it was fitted"
    ))
}

fn listed<K: ToString>(ks: impl IntoIterator<Item = K>) -> String {
    let ks: Vec<String> = ks.into_iter().map(|k| k.to_string()).collect();
    ks.join(",")
}
