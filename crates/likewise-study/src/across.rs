//! Across views: a fit and its run folder, and what a query of one view finds in another.

mod cost;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use likewise::Collection;
use likewise::code::nearest_to_real;
use likewise::cross::{Embedding, NamedModel};
use likewise_image::Vocabulary;
use likewise_io::Layout;
use likewise_io::items::ItemRow;
use likewise_nn::cross::Learner;
use ndarray::{Array2, ArrayView2, Axis};

use crate::environment::{Environment, today};
use crate::estimate::Estimate;
use crate::query::{Answer, Found, Query, found, row_of};
use crate::recipe::Recipe;
use crate::report::{self, About, Shown, Thumbnails, pictures};
use crate::run_folder::{AcrossFolder, Config, Origin, Record, Work, peak_memory, save_across};
use crate::source::{self, Encoded, Photos, Source};
use crate::study::{CrossPlan, CrossStudy, Protocol, SplitKind, Texts, nearest_items};
use crate::{Result, card, failed, usage};

pub use self::cost::estimate;

/// Label draws, unless another number is asked for.
const DRAWS: usize = 5;

/// What was asked of the protocol.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked {
    /// How items are divided; `None`: as the data say, else within each class.
    pub split: Option<SplitKind>,
    /// Labels kept for each class.
    pub labels_per_class: Option<NonZeroUsize>,
    /// Share of the labels kept, of each class.
    pub label_fraction: Option<f64>,
    /// Label draws.
    pub draws: Option<NonZeroUsize>,
    /// Seed of every random step.
    pub seed: u64,
}

impl Asked {
    fn hides(&self) -> bool {
        self.labels_per_class.is_some() || self.label_fraction.is_some()
    }

    /// Label draws of the study, where labels are hidden; else there is nothing to draw.
    pub fn draws(&self) -> usize {
        if self.hides() {
            self.draws.map_or(DRAWS, NonZeroUsize::get)
        } else {
            1
        }
    }

    /// Whether all labels are learned once everything is measured, unless the data say what is tested.
    pub fn learns_all(&self) -> bool {
        self.split.is_none() && !self.hides()
    }

    /// How the study of these data goes. Fails on settings that exclude each other.
    pub fn protocol(&self, collection: &Collection) -> Result<Protocol> {
        if self.labels_per_class.is_some() && self.label_fraction.is_some() {
            return Err(usage(
                "`labels_per_class` and `label_fraction` are two ways to say the same; give one",
            ));
        }
        if let Some(share) = self.label_fraction
            && !(share > 0.0 && share < 1.0)
        {
            let rule = "must be above 0 and below 1; leave it out to keep all labels";
            return Err(likewise::Error::parameter("label_fraction", share, rule));
        }
        if self.draws.is_some() && !self.hides() {
            return Err(usage(
                "draws go with `labels_per_class` or `label_fraction`: without them there is one set of \
                 labels, and nothing to draw",
            ));
        }
        let given = if collection.split.is_some() {
            SplitKind::Given
        } else {
            SplitKind::Item
        };
        Ok(Protocol {
            split: self.split.unwrap_or(given),
            labels_per_class: self.labels_per_class.map(NonZeroUsize::get),
            label_fraction: self.label_fraction,
            draws: self.draws.map_or(DRAWS, NonZeroUsize::get),
            seed: self.seed,
            nmi: false,
            // Who asked for no test gets a model of all labels.
            refit: self.learns_all() && collection.split.is_none(),
            ..Protocol::default()
        })
    }
}

/// A fit across views to run, and where its data came from.
pub struct Job {
    /// What to do.
    pub recipe: Recipe,
    /// How it is measured.
    pub protocol: Protocol,
    /// Names of the views.
    pub views: Vec<String>,
    /// Those of them that are texts.
    pub texts: Vec<Texts>,
    /// The images of the items, where the data are some.
    pub photos: Option<Photos>,
    /// The data, in words.
    pub data: String,
    /// Their digest.
    pub digest: String,
    /// What their items go by, as it stands in the [`Record`]; none of arrays.
    pub named_by: Option<String>,
    /// What was taken of them, and how.
    pub read_as: String,
    /// How the columns of the table became features, where the data were one.
    pub table: Option<Layout>,
    /// Names of the columns of each view, of arrays that had some.
    pub columns: BTreeMap<String, Vec<String>>,
    /// The network that made features of images, where there were some.
    pub encoder: Vec<Encoded>,
    /// The words of those of points.
    pub words: Vec<Arc<Vocabulary>>,
    /// What was asked for, as it stands in the record and the report.
    pub command: Vec<String>,
    /// Seconds that the steps before took, by name; those of the fit join them.
    pub seconds: BTreeMap<String, f64>,
}

impl Job {
    fn config(&self, collection: &Collection) -> Result<Config> {
        let is_text = |name: &&String| self.texts.iter().any(|texts| texts.name == **name);
        let columns = |name: &String| Ok(collection.view(Some(name))?.matrix.ncols());
        let rows = self.views.iter().filter(|name| !is_text(name));
        let columns: Vec<usize> = rows.map(columns).collect::<Result<_>>()?;
        Ok(Config {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            view: self.views.join("+"),
            dimensions: columns.iter().sum(),
            table: self.table.clone(),
            columns: self.columns.clone(),
            widths: BTreeMap::new(),
            encoder: self.encoder.clone(),
            recipe: self.recipe.clone(),
            protocol: self.protocol.clone(),
        })
    }

    /// Runs the study and fills the folder: the artifacts first, `run.json` last.
    ///
    /// Fails as the study does, and where the folder cannot be written.
    pub fn run(
        &mut self,
        collection: &Collection,
        mut work: Work,
        at: &Environment,
    ) -> Result<CrossStudy> {
        let origin = Origin {
            data_sha256: self.digest.clone(),
            named_by: self.named_by.clone(),
            read_as: self.read_as.clone(),
        };
        work.note(&self.config(collection)?, &origin)?;
        let clock = Instant::now();
        let plan = CrossPlan {
            collection,
            views: &self.views,
            texts: &self.texts,
            recipe: &self.recipe,
            protocol: &self.protocol,
            device: at.device.clone(),
        };
        let study = plan.run(at.monitor)?;
        let seconds = clock.elapsed().as_secs_f64();
        self.seconds.insert("study".into(), seconds);
        self.write(&study, collection, &work, at)?;
        work.finish(at.monitor)?;
        Ok(study)
    }

    /// Fills the folder with a study that was run before, as [`run`](Self::run) does.
    ///
    /// Fails where the folder cannot be written.
    pub fn keep(
        &mut self,
        study: &CrossStudy,
        collection: &Collection,
        mut work: Work,
        at: &Environment,
    ) -> Result<()> {
        let origin = Origin {
            data_sha256: self.digest.clone(),
            named_by: self.named_by.clone(),
            read_as: self.read_as.clone(),
        };
        work.note(&self.config(collection)?, &origin)?;
        self.write(study, collection, &work, at)?;
        work.finish(at.monitor)
    }

    fn write(
        &mut self,
        study: &CrossStudy,
        collection: &Collection,
        work: &Work,
        at: &Environment,
    ) -> Result<()> {
        let clock = Instant::now();
        let read = save_across(work, study, collection)?;
        work.write_words(&self.words)?;
        let name = Path::new(&self.data).file_name();
        let name = name.map_or_else(|| self.data.clone(), |name| name.display().to_string());
        let about = About {
            data: &name,
            date: &today(),
            command: &self.command.join(" "),
            ..About::default()
        };
        let photos = self.photos.as_ref().map(Thumbnails::Photos);
        let mut views = collection.views().iter();
        let shown = Shown {
            texts: &self.texts,
            thumbnails: photos.or_else(|| views.find_map(pictures)),
        };
        let page = report::across(study, collection, shown, &about, at.monitor)?;
        work.write("report.html", page.as_bytes())?;
        let origin = card::Origin {
            recipe: &self.recipe,
            data: &self.data,
            sha256: &self.digest,
            seed: self.protocol.seed,
        };
        work.write("README.md", card::across(&origin, study).as_bytes())?;
        let seconds = clock.elapsed().as_secs_f64();
        self.seconds.insert("write".into(), seconds);
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
                journal: None,
                seconds: self.seconds.clone(),
                stages: at.stages.seconds(),
                peak_memory_bytes: peak_memory(),
                threads: rayon::current_num_threads(),
                read_as: self.read_as.clone(),
                inputs: None,
                views: self.views.clone(),
                parts: work.parts_of(&read)?,
            },
        )
    }

    /// Whether a finished run is what this job would make. Fails where it is not whole.
    pub fn is_done(&self, run: &AcrossFolder, collection: &Collection) -> Result<bool> {
        run.check()?;
        let record = run.record()?;
        Ok(run.config()? == self.config(collection)?
            && record.data_sha256 == self.digest
            && record.read_as == self.read_as)
    }
}

/// From which view a query comes, and in which one is searched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Way {
    /// The view of the query.
    pub from: Option<String>,
    /// The view that is searched.
    pub to: Option<String>,
    /// Whether the numbers behind the bits of what asks are compared with codes, in place of its bits: fewer items are
    /// equally near.
    pub asymmetric: bool,
}

impl Way {
    /// The places of both views in a run; of two views one that is not named is the other one.
    ///
    /// Fails on an unknown name, and where a view has to be named.
    fn places(&self, views: &[String]) -> Result<(usize, usize)> {
        let place = |name: &String| {
            views.iter().position(|view| view == name).ok_or_else(|| {
                usage(format!(
                    "the run has no view \"{name}\"; there are: {}",
                    views.join(", ")
                ))
            })
        };
        let from = self.from.as_ref().map(place).transpose()?;
        let to = self.to.as_ref().map(place).transpose()?;
        let other = |place: usize| (views.len() == 2).then(|| 1 - place);
        match (from.or(to.and_then(other)), to.or(from.and_then(other))) {
            (Some(from), Some(to)) => Ok((from, to)),
            _ => Err(usage(format!(
                "the run searches from one view to another; say from which and to which of: {}",
                views.join(", ")
            ))),
        }
    }
}

/// What asks.
#[derive(Debug, Clone, Copy)]
pub enum Ask<'a> {
    /// An item of the run, or data.
    Query(&'a Query),
    /// A text, in a view of texts.
    Text(&'a str),
}

/// The `k` items of a run across views that are nearest to each query. An item that asks is left
/// out of its own view, and stays in another one: a picture may find its own text.
///
/// Fails for `k` of 0, an id or a view that the run does not have, an item that lacks the view, data
/// of other columns, and where the run is damaged.
pub fn search(
    run: &AcrossFolder,
    ask: &Ask,
    way: &Way,
    k: usize,
    at: &Environment,
) -> Result<Vec<Answer>> {
    if k == 0 {
        return Err(likewise::Error::parameter("k", 0, "must be at least 1"));
    }
    let config = run.config()?;
    let model = run.model()?;
    let (from, to) = of_text(way, ask, &model).places(run.views())?;
    let bits = config
        .recipe
        .learner
        .cross()
        .is_some_and(Learner::gives_bits);
    if way.asymmetric && !bits {
        return Err(usage(format!(
            "`asymmetric` compares numbers with codes, and {} gives no codes; leave it out",
            config.recipe.name
        )));
    }
    let bits = bits.then(|| model.views()[from].encoder.output_dim());
    let items = run.items()?;
    let asks = Encoding {
        run,
        model: &model,
        from,
        asymmetric: way.asymmetric,
    };
    let Asking {
        names,
        rows: queries,
        item,
    } = match ask {
        Ask::Text(text) => asks.text(text)?,
        Ask::Query(Query::Id(id)) => asks.item(&items, bits, id)?,
        Ask::Query(Query::Data(source)) if model.views()[from].text.is_some() => {
            asks.texts(source, at)?
        }
        Ask::Query(Query::Data(source)) => asks.rows(source, at)?,
    };
    let own = item.filter(|_| from == to);
    let (searched, rows) = run.view(to, &items, bits)?;
    let wanted = (k.min(searched.len()) + usize::from(own.is_some())).min(searched.len());
    let near = match &queries {
        Queries::Numbers(numbers) => nearest_codes(numbers.view(), &rows, wanted, at)?,
        Queries::Embedded(queries) => nearest_items(queries, &rows, wanted, at.monitor)?,
    };
    let answer = |(query, near): (String, Vec<(usize, f32)>)| {
        let hits = near
            .into_iter()
            .map(|(place, similarity)| likewise::index::Hit {
                item: searched[place],
                similarity,
            });
        let hits: Vec<_> = hits.collect();
        let hits: Vec<Found> = found(&hits, &items, own, k);
        Answer { query, hits }
    };
    Ok(names.into_iter().zip(near).map(answer).collect())
}

/// The way, where a typed text asks in the only view of texts if none is named.
fn of_text(way: &Way, ask: &Ask, model: &NamedModel) -> Way {
    let mut way = way.clone();
    if let (Ask::Text(_), None) = (ask, &way.from) {
        let mut texts = model.views().iter().filter(|view| view.text.is_some());
        if let (Some(only), None) = (texts.next(), texts.next()) {
            way.from = Some(only.name.clone());
        }
    }
    way
}

/// The codes that are nearest to the numbers of each query, with the share of these, by their size, whose sign is
/// that of the bit.
fn nearest_codes(
    queries: ArrayView2<f32>,
    searched: &Embedding,
    k: usize,
    at: &Environment,
) -> Result<Vec<Vec<(usize, f32)>>> {
    let Embedding::Bits(codes) = searched else {
        return Err(failed("the run has no codes; fit again"));
    };
    let found = nearest_to_real(queries, codes, k, at.monitor)?;
    let of_query = |q: usize| {
        let all: f32 = queries.row(q).iter().map(|v| v.abs()).sum();
        let share = |product: f32| {
            // Sums of both round apart.
            let product = product / all.max(f32::MIN_POSITIVE);
            f32::midpoint(1.0, product.clamp(-1.0, 1.0))
        };
        let places = found.indices.row(q).to_vec().into_iter();
        let near = places.zip(found.similarities.row(q).to_vec());
        near.map(|(place, product)| (place as usize, share(product)))
            .collect()
    };
    Ok((0..queries.nrows()).map(of_query).collect())
}

/// What asks, as a view of the run has it.
struct Asking {
    /// A name of each query.
    names: Vec<String>,
    rows: Queries,
    /// The item of the run that asks, where it is one.
    item: Option<usize>,
}

enum Queries {
    /// In the space of all views.
    Embedded(Embedding),
    /// The numbers behind bits.
    Numbers(Array2<f32>),
}

/// How what asks comes to be in the space of all views.
struct Encoding<'a> {
    run: &'a AcrossFolder,
    model: &'a NamedModel,
    from: usize,
    asymmetric: bool,
}

impl Encoding<'_> {
    fn encode(&self, rows: ArrayView2<f32>) -> Result<Queries> {
        Ok(if self.asymmetric {
            Queries::Numbers(self.model.scores(self.from, rows)?)
        } else {
            Queries::Embedded(self.model.encode(self.from, rows)?)
        })
    }

    /// A text asks. Fails where none of it was in the texts that the run was fitted on.
    fn text(&self, text: &str) -> Result<Asking> {
        let rows = self.model.rows_of_texts(self.from, &[text])?;
        if rows.iter().all(|value| *value == 0.0) {
            return Err(usage(
                "nothing of this text is in the texts that the run was fitted on, so it finds nothing; \
                 ask with other words",
            ));
        }
        Ok(Asking {
            rows: self.encode(rows.view())?,
            names: vec![text.to_owned()],
            item: None,
        })
    }

    /// An item of the run asks. Fails where there is none of this id, or it lacks the view.
    fn item(&self, items: &[ItemRow], bits: Option<usize>, id: &str) -> Result<Asking> {
        let (run, from) = (self.run, self.from);
        if self.asymmetric {
            return Err(usage(
                "`asymmetric` needs the numbers of what asks, and the run keeps the codes of its items alone; ask \
                 with `query FILE`",
            ));
        }
        let item = row_of(id, items, "run")?;
        let (of, rows) = run.view(from, items, bits)?;
        let place = of.binary_search(&item).map_err(|_| {
            failed(format!(
                "the item {id} has no view {}, so it cannot ask from there",
                run.views()[from]
            ))
        })?;
        Ok(Asking {
            names: vec![id.to_owned()],
            rows: Queries::Embedded(one(&rows, place)),
            item: Some(item),
        })
    }

    /// The texts of data ask; items without one are left out, with a warning.
    fn texts(&self, source: &Source, at: &Environment) -> Result<Asking> {
        let name = &self.run.views()[self.from];
        let texts = source.texts(name)?;
        let all = texts.len();
        let asked = texts.into_iter().filter_map(|(id, text)| Some((id, text?)));
        let (ids, texts): (Vec<String>, Vec<String>) = asked.unzip();
        if ids.is_empty() {
            return Err(failed(format!(
                "{}: none of {all} items has a text in the column {name}, so nothing asks",
                source.path().display()
            )));
        }
        if ids.len() < all {
            at.monitor.warn(format!(
                "{} of {all} items have no view {name} and are left out",
                all - ids.len()
            ));
        }
        let rows = self.model.rows_of_texts(self.from, &texts)?;
        Ok(Asking {
            names: ids,
            rows: self.encode(rows.view())?,
            item: None,
        })
    }

    /// The rows of data ask. Fails where these have no such view, or other columns.
    fn rows(&self, source: &Source, at: &Environment) -> Result<Asking> {
        let name = &self.run.views()[self.from];
        let fitted = self.run.folder().as_fitted(source)?;
        // A file of another view alone need not have the columns of the table.
        let may_lack = name != "features" && fitted.read_as().layout.is_some();
        let alone = may_lack && fitted.shape(at).is_err() && source.shape(at).is_ok();
        let source = if alone { source } else { &fitted };
        let collection = source.load(at)?;
        let place = source.path().display();
        let view = collection.view(Some(name));
        // A file of that view alone may call it otherwise.
        let view = match view {
            Err(_) if collection.views().len() == 1 => {
                let alone = collection.view(None)?;
                at.monitor.warn(format!(
                    "{place}: it has no view {name}; its only one, {}, is taken for it",
                    alone.name
                ));
                Ok(alone)
            }
            found => found,
        };
        let view = view.map_err(|e| e.within(place.to_string()))?.name.clone();
        let (asks, view) = source::with_view(collection, Some(&view), at.monitor)?;
        let rows = self.encode(asks.view(Some(&view))?.matrix.view());
        Ok(Asking {
            names: asks.ids().to_vec(),
            rows: rows.map_err(|e| e.within(place))?,
            item: None,
        })
    }
}

/// What [`search`] will cost.
pub fn estimate_of_search(run: &AcrossFolder) -> Result<Estimate> {
    let items = run.record()?.items as f64;
    let views = run.views().len() as f64;
    Ok(Estimate::new().resident((200.0 + 4.0 * 64.0 * views) * items))
}

/// One row.
fn one(of: &Embedding, place: usize) -> Embedding {
    match of {
        Embedding::Real(rows) => Embedding::Real(rows.select(Axis(0), &[place])),
        Embedding::Bits(codes) => Embedding::Bits(codes.select(&[place])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_views_the_other_one_is_meant() {
        let two = ["image".to_owned(), "text".to_owned()];
        let way = |from: Option<&str>, to: Option<&str>| Way {
            from: from.map(String::from),
            to: to.map(String::from),
            asymmetric: false,
        };
        assert_eq!(way(Some("image"), None).places(&two).unwrap(), (0, 1));
        assert_eq!(way(None, Some("image")).places(&two).unwrap(), (1, 0));
        assert_eq!(
            way(Some("text"), Some("text")).places(&two).unwrap(),
            (1, 1)
        );
        let said = way(None, None).places(&two).unwrap_err().to_string();
        assert!(said.contains("image, text"), "{said}");
        let said = way(Some("sound"), None).places(&two).unwrap_err();
        assert!(said.to_string().contains("no view \"sound\""), "{said}");
        let three = [two[0].clone(), two[1].clone(), "sound".to_owned()];
        assert!(way(Some("image"), None).places(&three).is_err());
    }

    #[test]
    fn settings_that_exclude_each_other_are_refused() {
        let view = likewise::View {
            name: "x".into(),
            matrix: ndarray::Array2::zeros((1, 1)),
            present: None,
        };
        let items = Collection::new(vec!["a".into()], vec![view]).unwrap();
        let asked = Asked {
            label_fraction: Some(0.1),
            ..Asked::default()
        };
        assert_eq!(asked.protocol(&items).unwrap().draws, 5);
        for wrong in [
            Asked {
                labels_per_class: NonZeroUsize::new(5),
                ..asked
            },
            Asked {
                label_fraction: Some(1.0),
                ..asked
            },
            Asked {
                label_fraction: None,
                draws: NonZeroUsize::new(3),
                ..asked
            },
        ] {
            assert!(wrong.protocol(&items).is_err());
        }
    }
}
