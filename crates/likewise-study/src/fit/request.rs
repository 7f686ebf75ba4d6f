//! A fit as it is asked for, from the files to the run folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use likewise::error::Hint;
use likewise::tuple::Tuples;
use likewise::{Collection, Monitor, View};
use likewise_io::{Form, Layout, Missing};
use likewise_nn::Model;
use likewise_nn::net::Weights;

use super::asked::Asked;
use super::choose::{choose, fewer_neighbors, limit_neighbors};
use super::cost::{estimate, with_choice};
use super::earlier::{Again, Chosen};
use super::job::Job;
use super::which::Which;
use crate::data::Data;
use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::gate::Gate;
use crate::given::Given;
use crate::graph::DataShape;
use crate::inputs::Inputs;
use crate::recipe::{Recipe, Traits};
use crate::report::{Map, Thumbnails, pictures};
use crate::run_folder::{
    DataOf, IndexCard, Models, Rights, RunFolder, SEVERAL_LABELS, Work, check_output, is_same,
};
use crate::source::{Encoded, Labeled, ReadAs, Source, Trained, with_view};
use crate::study::{Choice, CrossResults, CrossStudy, Protocol, Results};
use crate::{Result, no_json, usage};

/// A fit as it is asked for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The data.
    pub data: PathBuf,
    /// How they are read.
    pub read: ReadAs,
    /// Names of views that are searched from one to another, by recipes that do so.
    pub views: Vec<String>,
    /// What stands between the labels of an item in one cell, where items may have several.
    pub several_labels: Option<char>,
    /// Which recipe. What is given beside the labels is said by the fields here.
    pub recipe: Which,
    /// Pairs or triplets beside the labels.
    pub tuples: Option<Given>,
    /// Files of labels that are joined to those of the data.
    pub add_labels: Vec<PathBuf>,
    /// How it is measured.
    pub asked: Asked,
    /// Share of the labels that is kept, of each class: for recipes across views.
    pub label_fraction: Option<f64>,
    /// What its numbers must reach.
    pub gates: Vec<Gate>,
    /// How the map of the report places the items; `None`: along the principal directions.
    pub map: Option<Map>,
    /// Folder of the run; an [estimate](Self::estimate) needs none.
    pub out: Option<PathBuf>,
    /// What may happen to what is in it.
    pub rights: Rights,
    /// What was asked for, in words, as it stands in the record and the report.
    pub command: Vec<String>,
    /// The run that is made [again](Self::again), if one is.
    pub again: Option<Again>,
}

/// What a fit has left.
#[derive(Debug)]
pub enum Outcome {
    /// A run within one view, and its index.
    Made(Box<Results>, IndexCard),
    /// The same run was there, finished, or nothing was new to one that was to be made again.
    Found(Box<Results>),
    /// A run across views.
    MadeAcross(Box<CrossStudy>),
    /// The same run across views was there, finished.
    FoundAcross(Box<CrossResults>),
}

impl Outcome {
    /// Fails with [`ErrorKind::Quality`](crate::ErrorKind::Quality) where a gate is missed.
    pub fn check(&self, gates: &[Gate]) -> Result<()> {
        match self {
            Self::Made(results, _) | Self::Found(results) => {
                let none = crate::gate::Losses::new();
                (gates.iter()).try_for_each(|gate| gate.check(&results.summary, &none))
            }
            Self::MadeAcross(study) => {
                (gates.iter()).try_for_each(|gate| gate.check_across(&study.results.summary))
            }
            Self::FoundAcross(results) => {
                (gates.iter()).try_for_each(|gate| gate.check_across(&results.summary))
            }
        }
    }
}

/// What is known before the data are read.
struct Opened {
    source: Source,
    shape: DataShape,
    recipe: Recipe,
    chooses: bool,
    /// Neighbours of an item that the recipe would have among more items.
    usual: Option<usize>,
}

impl Request {
    /// What the fit will cost, by the heads of the files.
    ///
    /// Fails on settings that exclude each other, and on data that are not there.
    pub fn estimate(&self, at: &Environment) -> Result<Estimate> {
        if let Some(recipe) = self.across()? {
            return self.estimate_across(recipe, at);
        }
        let opened = self.open(at)?;
        let Opened { source, shape, .. } = &opened;
        say_fewer(opened.usual, shape, at);
        let labeled = shape.labeled(source, at);
        let needed = estimate(shape, &opened.recipe, &self.asked, labeled);
        if !opened.chooses {
            return Ok(needed);
        }
        // Nothing is read yet; no other list is longer.
        let candidates = Recipe::candidates(Traits {
            scaled: false,
            rooted: true,
            histograms: false,
        });
        Ok(with_choice(needed, shape, &candidates, labeled))
    }

    /// Fits, and fills the folder. Where the same run stands there, finished, and an interrupted one was to
    /// be gone on with, that is shown.
    ///
    /// Fails on settings that exclude each other, without a folder, on data that cannot be read, where the
    /// memory does not suffice, as the [study](crate::study::Plan::run) does, and where the folder cannot be
    /// written. Gates are [asked](Outcome::check) by the caller, once the run is there.
    pub fn run(&self, at: &Environment) -> Result<Outcome> {
        if let Some(recipe) = self.across()? {
            return self.run_across(recipe, at);
        }
        let Opened {
            source,
            shape,
            mut recipe,
            chooses,
            usual,
        } = self.open(at)?;
        estimate(&shape, &recipe, &self.asked, None).check(at.max_memory)?;
        let out = self.folder()?;
        // Who makes a model of a run may write where it was begun; nobody else may, so that this is said here.
        if !Models::is_begun(out) {
            check_output(Some(out), &[])?;
        }
        let clock = Instant::now();
        // Before anything is read: an hour of reading for a folder that may not be written is lost.
        let mut work = Work::begin(out, self.rights)?;
        self.tell_of_folder(&mut work, at);
        check_apart(source.path(), out)?;
        let Loaded {
            mut collection,
            source,
            layout,
            trained,
            pretrained,
        } = self.load(&source, &recipe, at)?;
        let named_by = self.named_by(&collection, layout.as_ref());
        let (digest, joined) = self.join_labels(&source, &mut collection, &named_by, at)?;
        let items = (&*digest, Some(&*named_by));
        if self.stays(joined.as_ref(), &work, at) {
            self.note_again(&joined.unwrap_or_default(), &collection, items, &work, at)?;
            let results = RunFolder::read_by(out, RunFolder::metrics)?;
            return Ok(Outcome::Found(Box::new(results)));
        }
        // Held to the end: what is labeled while this fits would be missing from it.
        let mut page = self.page(items, &work)?;
        let ids = self.tuples.is_some().then(|| collection.ids().to_vec());
        let (collection, name) = with_view(collection, self.read.view.as_deref(), at.monitor)?;
        let view = collection.view(Some(&name))?;
        let protocol = self.protocol(&collection)?;
        say_fewer(usual, &shape, at);
        if work.finished().is_none() {
            let fixed = (!chooses).then_some(&recipe);
            work.ask(&self.what_is_asked(&digest, &name, &protocol, fixed)?)?;
        }
        let mut tried = vec![];
        if chooses {
            let choice = self.chosen(&work, &collection, view, &protocol, at)?;
            (recipe, tried) = (choice.recipe, choice.tried);
        }
        let labeled = collection.labels.as_ref().and_then(Labeled::of);
        estimate(&shape, &recipe, &self.asked, labeled).check(at.max_memory)?;
        let before = self.before(ids.as_deref(), &collection, items, at)?;
        work.check_data(&digest)?;
        let (tuples, of_tuples) =
            read_tuples(self.tuples.as_ref(), ids.as_deref(), &collection, at)?;
        let journal = self.noted(page.as_mut(), &collection, joined.as_ref(), items, at)?;
        let mut job = Job {
            recipe,
            protocol,
            data: source.path().display().to_string(),
            digest,
            named_by: Some(named_by),
            read_as: self.read_as(&name, &of_tuples),
            inputs: self.inputs()?.written(),
            journal,
            table: layout,
            columns: BTreeMap::new(),
            encoder: encoders(&source, &name, trained.as_ref(), at)?,
            words: source.vocabularies().to_vec(),
            tuples,
            before,
            tried,
            was_chosen: (self.again.as_ref()).is_some_and(|again| again.chosen == Chosen::Before),
            trained,
            pretrained,
            map: self.map.unwrap_or_default(),
            command: self.command.clone(),
            seconds: BTreeMap::from([("read".into(), clock.elapsed().as_secs_f64())]),
        };
        if let Some(run) = work.finished() {
            if !job.is_done(run, &collection, view)? {
                return Err(of_other_data(out));
            }
            let results = run.metrics()?;
            return Ok(Outcome::Found(Box::new(results)));
        }
        let photos = source.photos();
        let thumbnails = photos.as_ref().map(Thumbnails::Photos);
        let thumbnails = thumbnails.or_else(|| pictures(view));
        let (study, card) = job.run(&collection, view, work, thumbnails, None, at)?;
        Ok(Outcome::Made(Box::new(study.results), card))
    }

    /// The recipe that is meant, with what is given beside the labels.
    pub(super) fn which(&self) -> Which {
        Which {
            tuples: self.tuples.as_ref().map(|given| given.kind),
            several_labels: self.several_labels.is_some(),
            ..self.recipe.clone()
        }
    }

    /// The recipe, where it is one across views.
    fn across(&self) -> Result<Option<Recipe>> {
        if self.several_labels.is_some() && !self.add_labels.is_empty() {
            return Err(usage(
                "`add_labels` goes by one label an item; with `multi_label` give all labels in one file: \
                 `labels FILE`",
            ));
        }
        let recipe = match &self.again {
            Some(_) => None,
            None => self.which().across()?,
        };
        if recipe.is_none() && self.label_fraction.is_some() {
            return Err(usage(
                "`label_fraction` goes with the recipes across views, such as gsph; keep labels with \
                 `labels_per_class`",
            ));
        }
        if recipe.is_some() && self.several_labels.is_some() {
            return Err(usage(
                "multi_label: the recipes across views go by one label an item; give each item the one that \
                 matters, or take another recipe, such as contextual",
            ));
        }
        Ok(recipe)
    }

    /// The data and the recipe, before anything is read.
    fn open(&self, at: &Environment) -> Result<Opened> {
        for gate in &self.gates {
            gate.measured(&Protocol::default().ks, true, &[])?;
        }
        let source = self.source()?.with_several_labels(self.several_labels);
        let shape = DataShape::of(&source, at)?;
        self.asked.check_gates(&self.gates)?;
        let mut recipe = if let Some(again) = &self.again {
            if self.rights.renew {
                again.check_whole()?;
            }
            again.config.recipe.clone()
        } else {
            let mut recipe = self.which().recipe(shape.columns as usize)?;
            recipe.see_images(self.read.side, self.read.squeeze)?;
            recipe
        };
        recipe.check_build()?;
        let source = source.seen_by(&recipe);
        match &self.tuples {
            Some(given) => given.check(&recipe)?,
            None => recipe.check_tuples(None)?,
        }
        let mut usual = None;
        if self.recipe.k.is_none() && self.again.is_none() {
            let own = recipe.pseudo_labels.propagation();
            usual = own.map(|own| own.graph.n_neighbors());
            limit_neighbors(&mut recipe, shape.items, &Monitor::silent());
        }
        Ok(Opened {
            source,
            shape,
            recipe,
            chooses: self.chooses()?,
            usual,
        })
    }

    /// Whether the labels choose the recipe now.
    fn chooses(&self) -> Result<bool> {
        match &self.again {
            Some(again) => Ok(again.chosen == Chosen::Now),
            None => self.which().chooses(),
        }
    }

    /// The data. Fails on a run that stands there, which is read as images otherwise.
    pub(super) fn source(&self) -> Result<Source> {
        let read = ReadAs {
            seed: self.asked.seed,
            ..self.read.clone()
        };
        let path = self.data.clone();
        Data { path, read }.open()
    }

    /// The folder of the run.
    pub(super) fn folder(&self) -> Result<&Path> {
        let none = || usage("name a folder for the run: `out FOLDER`");
        self.out.as_deref().ok_or_else(none)
    }

    /// What it is made of, to be made again.
    pub(super) fn inputs(&self) -> Result<Inputs> {
        Ok(Inputs {
            data: self.data.clone(),
            read: self.read.clone(),
            several_labels: self.several_labels,
            tuples: self.tuples.clone(),
            k: self.recipe.k,
            chooses: self.chooses()?,
            asked_for: self.has_asked_for(),
            map: self.map.unwrap_or_default(),
        })
    }

    /// What the items of the data go by, as it stands in the [record](crate::run_folder::Record).
    pub(super) fn named_by(&self, items: &Collection, layout: Option<&Layout>) -> String {
        let is_row = |(row, id): (usize, &String)| *id == row.to_string();
        if !items.ids().iter().enumerate().all(is_row) {
            let is_table = Form::of(&self.data).is_ok_and(Form::is_table);
            let column = self.read.table.id_column.as_deref().filter(|_| is_table);
            return column.map_or_else(|| "own".to_owned(), |column| format!("column {column}"));
        }
        // How many there are depends on the matrix of an archive, and on what separates columns.
        let rows = format!("{} rows", items.len());
        match layout.filter(|layout| layout.missing == Missing::Drop) {
            // Which lines these are, the columns decide, and how their numbers are written.
            Some(layout) => {
                let (columns, how) = (&layout.columns, (layout.lenient, layout.decimal));
                let all = serde_json::to_string(&(columns, how)).unwrap_or_default();
                let digest = likewise_io::digest_parts([all.as_bytes()]);
                format!("{rows} without gaps in {}", &digest[..16])
            }
            None => rows,
        }
    }

    /// What is taken of the data, and how.
    pub(super) fn read_as(&self, view: &str, of_tuples: &str) -> String {
        let read = &self.read;
        let table = if read.table.is_empty() {
            String::new()
        } else {
            format!("; {:?}", read.table)
        };
        let several = (self.several_labels).map_or_else(String::new, |sign| {
            format!("{SEVERAL_LABELS}{sign:?} between")
        });
        format!(
            "view {view}; side {:?}; squeeze {}{of_tuples}{table}{several}",
            read.side, read.squeeze
        )
    }

    /// What tells this fit from others before its recipe is known.
    fn what_is_asked(
        &self,
        digest: &str,
        view: &str,
        protocol: &Protocol,
        fixed: Option<&Recipe>,
    ) -> Result<String> {
        let map = format!("{:?}", self.map.unwrap_or_default());
        let read_as = self.read_as(view, "");
        let all = ((digest, view), read_as, protocol, fixed, self.recipe.k, map);
        serde_json::to_string(&all).map_err(no_json)
    }

    /// How it is measured.
    fn protocol(&self, collection: &Collection) -> Result<Protocol> {
        match &self.again {
            Some(again) => Ok(again.config.protocol.clone()),
            None => self.asked.protocol(collection, &self.gates),
        }
    }

    /// The recipe that the labels choose.
    fn chosen(
        &self,
        work: &Work,
        collection: &Collection,
        view: &View,
        protocol: &Protocol,
        at: &Environment,
    ) -> Result<Choice> {
        if let Some(run) = work.finished() {
            // Chosen once; whether it was for these data and settings is looked at after.
            return Ok(Choice {
                recipe: run.config()?.recipe,
                tried: vec![],
            });
        }
        let kept = Some(work.checkpoints());
        choose(collection, view, protocol, self.recipe.k, kept, at)
    }

    fn load(&self, source: &Source, recipe: &Recipe, at: &Environment) -> Result<Loaded> {
        let pretrained = match recipe.encoder() {
            Some(config) if source.is_images() => source.pretrained(config)?,
            _ => None,
        };
        // What is learned of the images is learned from those that are fitted, as all else.
        let training = |mut items: Collection| {
            if self.again.is_some() || !self.add_labels.is_empty() {
                let monitor = &Monitor::silent();
                let (named_by, at) = (self.named_by(&items, None), Environment { monitor, ..*at });
                self.join_labels(source, &mut items, &named_by, &at)?;
            }
            self.protocol(&items)?.training(&items)
        };
        let source = source.with_words_from(training, at)?;
        let (collection, layout, trained) = match recipe.encoder() {
            Some(config) if source.is_images() => {
                let (collection, trained) = source.load_trained(config, at)?;
                (collection, None, Some(trained))
            }
            _ => {
                source.warn_of_pixels(at)?;
                let (collection, layout) = source.load_with_layout(at)?;
                (collection, layout, None)
            }
        };
        Ok(Loaded {
            collection,
            source,
            layout,
            trained,
            pretrained,
        })
    }

    /// What the training that delivers goes on from: the model of the run, and how many of the triplets it
    /// has learned. None where the data have changed, so that all is learned anew.
    fn before(
        &self,
        ids: Option<&[String]>,
        collection: &Collection,
        items: DataOf,
        at: &Environment,
    ) -> Result<Option<(Model, usize)>> {
        let again = self.again.as_ref();
        let Some((again, model)) = again.and_then(|again| Some((again, again.model.clone()?)))
        else {
            return Ok(None);
        };
        if self.goes_on_of(items).is_none() {
            at.monitor.warn(
                "the data have changed since the run was made of them: all triplets are learned anew",
            );
            return Ok(None);
        }
        let given = self.tuples.as_ref().filter(|_| again.learned > 0);
        let first = given.map(|given| given.first(again.learned));
        let (learned, _) = read_tuples(first.as_ref(), ids, collection, at)?;
        Ok(Some((model, learned.map_or(0, |tuples| tuples.len()))))
    }

    /// Says where labels are that a killed fit had to put aside, and where there is nothing to go on with.
    pub(super) fn tell_of_folder(&self, work: &mut Work, at: &Environment) {
        work.tell_of_aside(at.monitor);
        if !self.rights.resume || work.resumes() {
            return;
        }
        let what = match work.finished() {
            Some(_) => "the run is finished, there is nothing to resume",
            None => "there is no interrupted fit to resume; this one begins anew",
        };
        at.monitor
            .remark(format!("{}: {what}", work.path().display()));
    }
}

/// Says where an item has fewer neighbours than `usual`: once the data are known to be of use, so that an error
/// stands alone.
fn say_fewer(usual: Option<usize>, shape: &DataShape, at: &Environment) {
    if let Some(k) = usual {
        fewer_neighbors(k, shape.items, at.monitor);
    }
}

/// The data as a fit needs them.
struct Loaded {
    collection: Collection,
    /// The data, with the words of descriptors of points.
    source: Source,
    layout: Option<Layout>,
    trained: Option<Trained>,
    pretrained: Option<Weights>,
}

/// What the folder of a run holds where something else was asked for.
pub(super) fn of_other_data(out: &Path) -> crate::Error {
    let shown = out.display();
    usage(format!(
        "{shown} holds a finished run of other data or settings"
    ))
    .hint(Hint::Overwrite)
}

/// Fails where the data lie in the folder of the run, which will be replaced.
pub(super) fn check_apart(data: &Path, out: &Path) -> Result<()> {
    if data.parent().is_some_and(|folder| is_same(folder, out)) {
        check_output(Some(data), &[])?;
    }
    Ok(())
}

/// What makes the features of new images. A network that was trained reads the images itself.
fn encoders(
    source: &Source,
    view: &str,
    trained: Option<&Trained>,
    at: &Environment,
) -> Result<Vec<Encoded>> {
    match trained {
        Some(_) => Ok(vec![]),
        None => source.encoded(view, at),
    }
}

/// The tuples that were given, if any, and what tells their file from others.
fn read_tuples(
    given: Option<&Given>,
    ids: Option<&[String]>,
    collection: &Collection,
    at: &Environment,
) -> Result<(Option<Tuples>, String)> {
    let (Some(given), Some(ids)) = (given, ids) else {
        return Ok((None, String::new()));
    };
    let tuples = given.read(ids, collection.ids(), at.monitor)?;
    Ok((Some(tuples), format!("; {}", given.digest()?)))
}
