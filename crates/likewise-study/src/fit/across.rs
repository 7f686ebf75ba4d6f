//! A fit across views as it is asked for, from the files to the run folder.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Instant;

use likewise::Collection;

use super::choose::limit_neighbors;
use super::request::{Outcome, Request, check_apart, of_other_data};
use crate::across::{self, Job};
use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::graph::DataShape;
use crate::recipe::Recipe;
use crate::run_folder::{AcrossFolder, Work, check_output};
use crate::source::Source;
use crate::study::{Protocol, Texts};
use crate::{Result, usage};

/// What stands after the name of a column of texts.
const TEXT: &str = ":tfidf";

/// Columns that become of texts.
const OF_TEXTS: usize = 100;

/// What is known before the data are read.
struct Opened {
    source: Source,
    recipe: Recipe,
    views: Vec<String>,
    texts: Vec<Column>,
    estimate: Estimate,
}

/// A column of texts, with the ids of their items.
struct Column {
    name: String,
    texts: Vec<(String, Option<String>)>,
}

impl Column {
    fn read(source: &Source, name: &str) -> Result<Self> {
        Ok(Self {
            name: name.to_owned(),
            texts: source.texts(name)?,
        })
    }

    /// The texts of these items: images may be fewer than lie there, and lines that are blank or have gaps are left out.
    ///
    /// Fails where lines were left out and no ids tell which.
    fn of(self, ids: &[String], data: &Path) -> Result<Texts> {
        let mut texts = self.texts;
        if texts.len() != ids.len() {
            let lines = texts.len();
            let mut by_id: HashMap<String, Option<String>> = texts.into_iter().collect();
            let is_row = |(row, id): (usize, &String)| *id == row.to_string();
            let tell = by_id.len() == lines
                && ids.iter().all(|id| by_id.contains_key(id))
                && !ids.iter().enumerate().all(is_row);
            if !tell {
                return Err(usage(format!(
                    "{}: it has {lines} lines of texts and {} items, since lines that are blank or have gaps are left out, \
                     and no ids tell which text is whose; give it a column `id` that does not count rows, or delete \
                     those lines",
                    data.display(),
                    ids.len()
                )));
            }
            let own = |id: &String| (id.clone(), by_id.remove(id).flatten());
            texts = ids.iter().map(own).collect();
        }
        Ok(Texts {
            name: self.name,
            texts: texts.into_iter().map(|(_, text)| text).collect(),
        })
    }
}

impl Request {
    /// [`estimate`](Self::estimate) of a recipe across views.
    pub(super) fn estimate_across(&self, recipe: Recipe, at: &Environment) -> Result<Estimate> {
        Ok(self.open_across(recipe, at)?.estimate)
    }

    /// [`run`](Self::run) with a recipe across views.
    pub(super) fn run_across(&self, recipe: Recipe, at: &Environment) -> Result<Outcome> {
        let Opened {
            source,
            recipe,
            views,
            texts,
            estimate,
        } = self.open_across(recipe, at)?;
        estimate.check(at.max_memory)?;
        let out = self.folder()?;
        check_output(Some(out), &[])?;
        let clock = Instant::now();
        let mut work = Work::begin(out, self.rights)?;
        self.tell_of_folder(&mut work, at);
        check_apart(source.path(), out)?;
        let source = source.with_own_words(at)?;
        let (collection, layout) = source.load_with_layout(at)?;
        check_rows(&source, &collection, &views, &texts)?;
        let named_by = self.named_by(&collection, layout.as_ref());
        let asked = self.asked_across();
        let named = self.views.join("+");
        let mut digest = source.digest()?;
        // That of images says nothing of the texts beside them.
        if source.is_images() && !texts.is_empty() {
            digest = format!("{digest}+{}", digest_of(&texts));
        }
        let texts = texts
            .into_iter()
            .map(|of| of.of(collection.ids(), source.path()));
        let mut job = Job {
            recipe,
            protocol: asked.protocol(&collection)?,
            photos: source.photos(),
            texts: texts.collect::<Result<_>>()?,
            views,
            data: source.path().display().to_string(),
            digest,
            named_by: Some(named_by),
            read_as: self.read_as(&named, ""),
            table: layout,
            columns: BTreeMap::new(),
            encoder: source.encoded(&named, at)?,
            words: source.vocabularies().to_vec(),
            command: self.command.clone(),
            seconds: BTreeMap::from([("read".into(), clock.elapsed().as_secs_f64())]),
        };
        if work.finished().is_some() {
            let same = AcrossFolder::is_one(out)
                && AcrossFolder::open(out).and_then(|run| job.is_done(&run, &collection))?;
            if !same {
                return Err(of_other_data(out));
            }
            let results = AcrossFolder::open(out)?.metrics()?;
            return Ok(Outcome::FoundAcross(Box::new(results)));
        }
        let study = job.run(&collection, work, at)?;
        Ok(Outcome::MadeAcross(Box::new(study)))
    }

    fn asked_across(&self) -> across::Asked {
        across::Asked {
            split: self.asked.split,
            labels_per_class: self.asked.labels_per_class,
            label_fraction: self.label_fraction,
            draws: self.asked.draws,
            seed: self.asked.seed,
        }
    }

    fn open_across(&self, mut recipe: Recipe, at: &Environment) -> Result<Opened> {
        self.check_across(&recipe)?;
        recipe.see_images(self.read.side, self.read.squeeze)?;
        // The views for themselves, and not side by side.
        let source = self.source()?.with_view(None);
        let (views, columns) = named(&self.views);
        // A column that is not there is said before what the rest of the data lack.
        let texts = columns.iter().map(|name| Column::read(&source, name));
        let texts = texts.collect::<Result<_>>()?;
        let source = match columns.as_slice() {
            [] => source,
            columns => source.beside_texts(columns, columns.len() < views.len()),
        };
        let (shape, own) = DataShape::with_columns(&source, &views, at)?;
        let own = own.into_iter();
        let own: Vec<f64> = own.map(|of| of.unwrap_or(OF_TEXTS) as f64).collect();
        if self.recipe.k.is_none() {
            limit_neighbors(&mut recipe, shape.items, at.monitor);
        }
        let asked = self.asked_across();
        let (draws, again) = (asked.draws(), asked.learns_all());
        Ok(Opened {
            estimate: across::estimate(&shape, &recipe, &own, draws, again),
            source,
            recipe,
            views,
            texts,
        })
    }

    /// Fails on what a search across views does not know, and on gates that it does not measure.
    fn check_across(&self, recipe: &Recipe) -> Result<()> {
        let given = [
            ("a file of pairs or triplets", self.tuples.is_some()),
            ("add_labels", !self.add_labels.is_empty()),
            ("map", self.map.is_some()),
        ];
        if let Some((what, _)) = given.iter().find(|(_, given)| *given) {
            return Err(usage(format!(
                "{what} does not go with {}, which searches across views; leave it out",
                recipe.name
            )));
        }
        let measured = Protocol::default().ks;
        let check = |gate: &crate::gate::Gate| gate.measured_across(&measured);
        self.gates.iter().try_for_each(check)
    }
}

/// Fails on a view that is not there as rows of numbers, but as a column of text.
fn check_rows(
    source: &Source,
    collection: &Collection,
    views: &[String],
    texts: &[Column],
) -> Result<()> {
    let is_text = |name: &str| texts.iter().any(|column| column.name == name);
    let mut missing = views.iter().filter(|name| {
        !is_text(name) && collection.view(Some(name)).is_err() && source.texts(name).is_ok()
    });
    match missing.next() {
        Some(name) => Err(usage(format!(
            "{}: {name} is a column of text; as a view it is {name}{TEXT}",
            source.path().display()
        ))),
        None => Ok(()),
    }
}

fn digest_of(texts: &[Column]) -> String {
    let all = texts.iter().flat_map(|column| &column.texts);
    // The sign after each keeps two apart.
    let parts = all.flat_map(|(id, text)| [id.as_str(), text.as_deref().unwrap_or(""), "\0"]);
    likewise_io::digest_parts(parts)
}

/// Names of the views, and those of them that are columns of texts.
fn named(views: &[String]) -> (Vec<String>, Vec<String>) {
    let is_text = |view: &&String| view.ends_with(TEXT);
    let name = |view: &String| view.strip_suffix(TEXT).unwrap_or(view).to_owned();
    let texts = views.iter().filter(is_text).map(name).collect();
    (views.iter().map(name).collect(), texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_of_the_item_whose_id_its_line_has() {
        let of = |lines: &[&str], ids: &[&str]| {
            let text = |id: &&str| ((*id).to_owned(), Some(format!("text of {id}")));
            let texts = lines.iter().map(text).collect();
            let column = Column {
                name: "title".into(),
                texts,
            };
            let ids: Vec<String> = ids.iter().map(|&id| id.to_owned()).collect();
            column.of(&ids, Path::new("x.csv"))
        };
        let found = of(&["a", "b", "c", "d"], &["b", "d"]).unwrap().texts;
        assert_eq!(
            found,
            [Some("text of b".to_owned()), Some("text of d".to_owned())]
        );
        for (lines, ids) in [
            // Numbers of rows are counted anew without the lines that are left out.
            (&["0", "1", "2"][..], &["0", "1"][..]),
            (&["a.png", "b.png", "c.png"], &["0", "1"]),
            (&["0", "1", "0", "1"], &["0", "1", "2"]),
            (&["a", "b", "a"], &["a", "b"]),
            (&["a", "b", "c"], &["a", "z"]),
        ] {
            let Err(error) = of(lines, ids) else {
                panic!("{lines:?} for {ids:?}");
            };
            assert!(error.to_string().contains("which text is whose"), "{error}");
        }
    }
}
