//! The whole journey on built-in digits: a run, and beside its numbers those on classes that were never seen.

use std::path::PathBuf;

use likewise::Collection;
use likewise_io::{Form, ReadOptions};
use serde::Serialize;

use crate::Result;
use crate::environment::Environment;
use crate::fit::Job;
use crate::recipe::Recipe;
use crate::report::{Rows, Thumbnails};
use crate::run_folder::{Rights, RunFolder, Work, begun};
use crate::study::{Protocol, Results, SplitKind};

/// 2000 handwritten digits in six feature sets (UCI "Multiple Features", CC BY 4.0).
const DIGITS: &[u8] = include_bytes!("../digits.npz");

/// Rows and columns of the view `pix`.
const PIXELS: (usize, usize) = (16, 15);

/// In the place of a digest of the data.
const DIGEST: &str = "built-in";

/// A demo that is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// Which of the six feature sets.
    pub view: String,
    /// Labels that are kept for each class; all others are hidden and only measure.
    pub labels_per_class: usize,
    /// Label draws.
    pub draws: usize,
    /// Folder of the run.
    pub out: PathBuf,
    /// Seed of every random step.
    pub seed: u64,
    /// What was asked for, in words, as it stands in the record and the report.
    pub command: Vec<String>,
}

/// A demo that can begin: its data are there, and its folder is its own.
#[derive(Debug)]
pub struct Demo<'a> {
    asked: &'a Request,
    collection: Collection,
    work: Work,
}

/// What it has shown.
#[derive(Debug, Serialize)]
pub struct Shown {
    /// The numbers on other items of the same classes: those of the run.
    #[serde(flatten)]
    pub item: Results,
    /// The numbers on classes that were never seen.
    pub zero_shot: Results,
    /// Folder of the run.
    pub run: String,
}

impl Request {
    /// Takes the folder, which may hold a demo of before, finished or not.
    ///
    /// Fails on an unknown feature set, and where something else stands in the folder.
    pub fn begin(&self) -> Result<Demo<'_>> {
        let collection = likewise_io::read_bytes(Form::Npz, DIGITS, &ReadOptions::default())?;
        collection.view(Some(&self.view))?;
        let record = RunFolder::open(&self.out).and_then(|run| run.record());
        let rights = Rights {
            // A demo run may be made again, and one that was interrupted too.
            overwrite: record.is_ok_and(|record| record.data_sha256 == DIGEST)
                || begun(&self.out).is_some_and(|(_, origin)| origin.data_sha256 == DIGEST),
            ..Rights::default()
        };
        Ok(Demo {
            asked: self,
            collection,
            work: Work::begin(&self.out, rights)?,
        })
    }
}

impl Demo<'_> {
    /// The digits.
    pub fn items(&self) -> usize {
        self.collection.len()
    }

    /// Fits on each split, and fills the folder by the one within classes.
    ///
    /// Fails as [`Job::run`] does.
    pub fn run(self, at: &Environment) -> Result<Shown> {
        let (asked, collection) = (self.asked, &self.collection);
        let view = collection.view(Some(&asked.view))?;
        let usual = Recipe::default();
        let recipe = match usual.check_build() {
            Ok(()) => usual,
            Err(_) => Recipe::mild_joined(),
        };
        let protocol = Protocol {
            split: SplitKind::ZeroShot,
            labels_per_class: Some(asked.labels_per_class),
            draws: asked.draws,
            seed: asked.seed,
            ..Protocol::default()
        };
        let read_as = format!("view {}", view.name);
        let data = format!("built-in digits, {read_as}");
        let mut job = Job {
            command: asked.command.clone(),
            ..Job::new(recipe, protocol, data, DIGEST.into(), read_as)
        };
        let unseen = job.plan(collection, view, None, at).run(at.monitor)?;
        let zero_shot = unseen.results;
        job.protocol.split = SplitKind::Item;
        let pixels = collection.view(Some("pix"))?;
        let thumbnails = Thumbnails::Rows(Rows {
            pixels: pixels.matrix.view(),
            width: PIXELS.1,
            height: PIXELS.0,
        });
        let second = Some(&zero_shot);
        let (study, _) = job.run(collection, view, self.work, Some(thumbnails), second, at)?;
        Ok(Shown {
            item: study.results,
            zero_shot,
            run: asked.out.display().to_string(),
        })
    }
}
