//! A fit to run, and the run folder that it leaves.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use likewise::error::Hint;
use likewise::tuple::Tuples;
use likewise::{Collection, View};
use likewise_image::Vocabulary;
use likewise_io::Layout;
use likewise_nn::Model;
use likewise_nn::net::Weights;

use crate::card;
use crate::environment::{Environment, today};
use crate::inputs::Inputs;
use crate::journal::Place;
use crate::recipe::Recipe;
use crate::report::{self, About, Map, Thumbnails};
use crate::run_folder::{
    Config, IndexCard, Origin, Record, RunFolder, Work, peak_memory, save, suitable, write_index,
};
use crate::source::{Encoded, Trained};
use crate::study::{Plan, Protocol, Results, Study, Tried};
use crate::{ErrorKind, Result};

/// Neighbours at which the recall of the run's index is measured.
const INDEX_RECALL_AT: usize = 10;

/// A fit to run, and where its data came from.
pub struct Job {
    /// What to do.
    pub recipe: Recipe,
    /// How it is measured.
    pub protocol: Protocol,
    /// The data, in words.
    pub data: String,
    /// Their digest.
    pub digest: String,
    /// What their items go by, as it stands in the [`Record`]; none of arrays.
    pub named_by: Option<String>,
    /// What was taken of them, and how: the same files read in another way are other data.
    pub read_as: String,
    /// The files that they and all else came from, so that the fit can be made again; none of arrays.
    pub inputs: Option<Inputs>,
    /// The place in the journal of its page that its labels follow, where there is one.
    pub journal: Option<Place>,
    /// How the columns of the table became features, where the data were one.
    pub table: Option<Layout>,
    /// Names of the columns of each view, of arrays that had some.
    pub columns: BTreeMap<String, Vec<String>>,
    /// What made the features, where the data were images.
    pub encoder: Vec<Encoded>,
    /// The words of those of points.
    pub words: Vec<Arc<Vocabulary>>,
    /// Pairs or triplets that are given, by the places of their items.
    pub tuples: Option<Tuples>,
    /// The model of an earlier fit of the same data that learning goes on from, and from how many of
    /// the tuples, the first ones.
    pub before: Option<(Model, usize)>,
    /// The recipes that this one was chosen from, if it was.
    pub tried: Vec<Tried>,
    /// Whether labels chose it for the run that this one makes again.
    pub was_chosen: bool,
    /// Images for a network that is trained, where they come from a folder.
    pub trained: Option<Trained>,
    /// Weights that it starts from.
    pub pretrained: Option<Weights>,
    /// How the map of the report places its items.
    pub map: Map,
    /// What was asked for, as it stands in the record and the report.
    pub command: Vec<String>,
    /// Seconds that the steps before took, by name; those of the fit join them.
    pub seconds: BTreeMap<String, f64>,
}

impl Job {
    /// A fit of items in memory: `data` names them, `digest` tells them from others, and `read_as` says what
    /// was taken of them. All else is absent.
    pub fn new(
        recipe: Recipe,
        protocol: Protocol,
        data: String,
        digest: String,
        read_as: String,
    ) -> Self {
        Self {
            recipe,
            protocol,
            data,
            digest,
            named_by: None,
            read_as,
            inputs: None,
            journal: None,
            table: None,
            columns: BTreeMap::new(),
            encoder: vec![],
            words: vec![],
            tuples: None,
            before: None,
            tried: vec![],
            was_chosen: false,
            trained: None,
            pretrained: None,
            map: Map::default(),
            command: vec![],
            seconds: BTreeMap::new(),
        }
    }

    /// Runs the study and fills the folder: the artifacts first, `run.json` last.
    ///
    /// Fails as the study does, and where the folder cannot be written; trainings that were
    /// kept stay for another try ([`Hint::Resume`]).
    pub fn run<'a>(
        &mut self,
        collection: &'a Collection,
        view: &View,
        mut work: Work,
        thumbnails: Option<Thumbnails<'a>>,
        second: Option<&Results>,
        at: &Environment,
    ) -> Result<(Study, IndexCard)> {
        let origin = Origin {
            data_sha256: self.digest.clone(),
            named_by: self.named_by.clone(),
            read_as: self.read_as.clone(),
        };
        work.note(&self.config(collection, view), &origin)?;
        let clock = Instant::now();
        let mut study = match self.plan(collection, view, Some(&work), at).run(at.monitor) {
            Ok(study) => study,
            Err(e) => {
                let again = matches!(e.kind(), ErrorKind::Data | ErrorKind::Parameter);
                return Err(if work.give_up(again) {
                    e.hint(Hint::Resume)
                } else {
                    e
                });
            }
        };
        study.results.tried.clone_from(&self.tried);
        if let Some(table) = &self.table {
            study.results.name_columns(&table.features());
        }
        self.seconds
            .insert("study".into(), clock.elapsed().as_secs_f64());
        match self.write(&study, collection, view, &work, thumbnails, second, at) {
            Ok(card) => {
                work.finish(at.monitor)?;
                Ok((study, card))
            }
            Err(e) => Err(if work.give_up(false) {
                e.hint(Hint::Resume)
            } else {
                e
            }),
        }
    }

    /// Fills the folder with a study that was run before, as [`run`](Self::run) does.
    ///
    /// Fails where the folder cannot be written.
    pub fn keep(
        &mut self,
        study: &Study,
        collection: &Collection,
        view: &View,
        mut work: Work,
        at: &Environment,
    ) -> Result<IndexCard> {
        let origin = Origin {
            data_sha256: self.digest.clone(),
            named_by: self.named_by.clone(),
            read_as: self.read_as.clone(),
        };
        work.note(&self.config(collection, view), &origin)?;
        let card = self.write(study, collection, view, &work, None, None, at)?;
        work.finish(at.monitor)?;
        Ok(card)
    }

    fn origin(&self) -> card::Origin<'_> {
        card::Origin {
            recipe: &self.recipe,
            data: &self.data,
            sha256: &self.digest,
            seed: self.protocol.seed,
        }
    }

    fn config(&self, collection: &Collection, view: &View) -> Config {
        let width = |of: &likewise::Columns| (of.name.clone(), of.range.len());
        Config {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            view: view.name.clone(),
            dimensions: view.matrix.ncols(),
            table: self.table.clone(),
            columns: self.columns.clone(),
            widths: collection.columns().iter().map(width).collect(),
            encoder: self.encoder.clone(),
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
        at: &Environment,
    ) -> Result<IndexCard> {
        let clock = Instant::now();
        save(work, study, collection, &view.name)?;
        work.write_words(&self.words)?;
        let card = write_index(
            &work.file("index"),
            (study.embeddings.view(), Some(&work.file("embeddings.npy"))),
            suitable(collection.len(), study.model.similarity().metric()),
            INDEX_RECALL_AT.min(collection.len()),
            self.protocol.seed,
            at.monitor,
        )?;
        let name = Path::new(&self.data).file_name();
        let name = name.map_or_else(|| self.data.clone(), |name| name.display().to_string());
        let page = report::html(
            study,
            collection,
            view.matrix.view(),
            thumbnails,
            About {
                data: &name,
                date: &today(),
                command: &self.command.join(" "),
                map: self.map,
            },
            second,
        )?;
        work.write("report.html", page.as_bytes())?;
        work.write(
            "README.md",
            card::text(&self.origin(), &study.model, &study.results).as_bytes(),
        )?;
        self.seconds
            .insert("write".into(), clock.elapsed().as_secs_f64());
        work.write_json(
            "run.json",
            &Record {
                version: env!("CARGO_PKG_VERSION").into(),
                arguments: self.command.clone(),
                seed: self.protocol.seed,
                data: self.data.clone(),
                data_sha256: self.digest.clone(),
                named_by: self.named_by.clone(),
                items: collection.len(),
                added: 0,
                journal: self.journal.clone(),
                seconds: self.seconds.clone(),
                stages: at.stages.seconds(),
                peak_memory_bytes: peak_memory(),
                threads: rayon::current_num_threads(),
                read_as: self.read_as.clone(),
                inputs: self.inputs.clone(),
                views: vec![],
                parts: work.parts()?,
            },
        )?;
        Ok(card)
    }

    /// Whether a finished run is what this job would make.
    ///
    /// Fails where it is not whole.
    pub fn is_done(&self, run: &RunFolder, collection: &Collection, view: &View) -> Result<bool> {
        run.check()?;
        let record = run.record()?;
        Ok(self.config(collection, view).agrees_with(&run.config()?)
            && record.data_sha256 == self.digest
            && record.read_as == self.read_as)
    }

    /// The study alone, with checkpoints where `work` keeps them.
    pub fn plan<'a>(
        &'a self,
        collection: &'a Collection,
        view: &'a View,
        work: Option<&Work>,
        at: &Environment,
    ) -> Plan<'a> {
        Plan {
            collection,
            features: view.matrix.view(),
            tuples: self.tuples.as_ref(),
            before: self
                .before
                .as_ref()
                .map(|(model, learned)| (model, *learned)),
            recipe: &self.recipe,
            chosen: self.was_chosen || !self.tried.is_empty(),
            asked_for: self.inputs.as_ref().is_some_and(|inputs| inputs.asked_for),
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
