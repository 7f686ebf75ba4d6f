//! Learning across views: an item is asked for in one view and found in another.

use std::collections::BTreeMap;
use std::path::PathBuf;

use likewise::cross::{Embedding, NamedModel, NamedView};
use likewise::{Collection, Error, Labels, Monitor, Result, View};
use likewise_study::across::{self, Job};
use likewise_study::fit::limit_neighbors;
use likewise_study::run_folder::{AcrossFolder, Rights, Work};
use likewise_study::stages::Stages;
use likewise_study::study::{
    CrossPlan, CrossResults, CrossStudy, Embedded, Protocol, Texts, nearest_items,
};
use likewise_study::{Environment, Recipe, table};
use ndarray::{Array2, ArrayView1, ArrayView2};
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::failure::{exception, json};
use crate::labels;
use crate::study::{Asked, K};
use crate::views::{ids, table_of, view};
use crate::work::{How, run, run_in};

/// A view: rows of numbers, or the text of each item, `None` of one that lacks it.
#[derive(FromPyObject)]
pub(crate) enum Given<'py> {
    Rows(PyReadonlyArray2<'py, f32>),
    Texts(Vec<Option<String>>),
}

impl Given<'_> {
    fn asks(&self) -> Asks<'_> {
        match self {
            Self::Rows(x) => Asks::Rows(x.as_array()),
            Self::Texts(texts) => Asks::Texts(texts),
        }
    }
}

/// The same, for another thread.
enum Asks<'a> {
    Rows(ArrayView2<'a, f32>),
    Texts(&'a [Option<String>]),
}

/// The views of a fit, in their order.
struct Views {
    names: Vec<String>,
    rows: Vec<View>,
    texts: Vec<Texts>,
    items: usize,
}

impl Views {
    fn read(given: Vec<(String, Given<'_>)>) -> Result<Self> {
        let mut views = Self {
            names: vec![],
            rows: vec![],
            texts: vec![],
            items: 0,
        };
        for (name, of) in given {
            views.items = match of {
                Given::Rows(x) => {
                    let x = x.as_array();
                    views.rows.push(view(&name, x)?);
                    x.nrows()
                }
                Given::Texts(texts) => {
                    let (items, name) = (texts.len(), name.clone());
                    views.texts.push(Texts { name, texts });
                    items
                }
            };
            views.names.push(name);
        }
        Ok(views)
    }
}

/// Learns from views by name, and measures.
#[pyfunction]
pub(crate) fn fit_across<'py>(
    py: Python<'py>,
    views: Vec<(String, Given<'py>)>,
    given: Option<labels::Given<'py>>,
    asked: Asked,
    how: How,
) -> PyResult<Across> {
    let labels = given.as_ref().map(labels::labels).transpose()?;
    let views = Views::read(views).map_err(|e| exception(&e))?;
    run_in(py, &how, K, |monitor| fit(views, labels, &asked, monitor))
}

fn fit(views: Views, labels: Option<Labels>, asked: &Asked, monitor: &Monitor) -> Result<Across> {
    let which = asked.which(None)?;
    let Some(mut recipe) = which.across()? else {
        // What is no recipe at all is said first.
        which.recipe(usize::MAX)?;
        let rule = "learns within one view; names(\"cross-modal\") lists those across views";
        return Err(Error::parameter(
            "recipe",
            which.name.unwrap_or_default(),
            rule,
        ));
    };
    let Views {
        names,
        mut rows,
        texts,
        items,
    } = views;
    if rows.is_empty() {
        // A collection has a view, and texts are none.
        let matrix = Array2::zeros((items, 0));
        let (name, present) = (String::new(), None);
        rows.push(View {
            name,
            matrix,
            present,
        });
    }
    let mut data = Collection::new(ids(items), rows)?;
    data.labels = labels;
    data.split = asked.parts()?;
    limit_neighbors(&mut recipe, items as f64, monitor);
    let within = asked.protocol(&["item"])?;
    let protocol = across::Asked {
        split: within.split,
        labels_per_class: within.labels_per_class,
        label_fraction: asked.label_fraction(),
        draws: within.draws,
        seed: within.seed,
    };
    let protocol = protocol.protocol(&data)?;
    let plan = CrossPlan {
        collection: &data,
        views: &names,
        texts: &texts,
        recipe: &recipe,
        protocol: &protocol,
        device: likewise_nn::device("cpu")?,
    };
    let study = Box::new(plan.run(monitor)?);
    Ok(Across {
        study,
        data,
        names,
        texts,
        recipe,
        protocol,
    })
}

/// What was learned across views, and measured.
#[pyclass(frozen, module = "likewise._likewise")]
pub(crate) struct Across {
    study: Box<CrossStudy>,
    data: Collection,
    names: Vec<String>,
    texts: Vec<Texts>,
    recipe: Recipe,
    protocol: Protocol,
}

impl Across {
    fn space(&self) -> Space<'_> {
        Space {
            model: &self.study.kept.model,
            embedded: &self.study.kept.embedded,
        }
    }
}

/// A model across views, and the items that are searched.
#[derive(Clone, Copy)]
struct Space<'a> {
    model: &'a NamedModel,
    embedded: &'a Embedded,
}

impl Space<'_> {
    /// The items that have a view, and their rows or codes.
    fn embedded<'py>(
        self,
        py: Python<'py>,
        view: &str,
    ) -> PyResult<(Vec<usize>, Bound<'py, PyAny>)> {
        let place = self.model.place(view).map_err(|e| exception(&e))?;
        let items = self.embedded.items[place].clone();
        Ok((items, array(py, self.embedded.rows[place].clone())))
    }

    /// Rows or codes of what is given, as an array.
    fn embed<'py>(
        self,
        py: Python<'py>,
        view: &str,
        given: &Given<'py>,
        how: &How,
    ) -> PyResult<Bound<'py, PyAny>> {
        let asks = given.asks();
        let found = run(py, how, |monitor| self.encode(view, &asks, monitor))?;
        Ok(array(py, found))
    }

    /// What is found, as arrays: items and similarities.
    fn find<'py>(
        self,
        py: Python<'py>,
        ways: (&str, &str),
        given: &Given<'py>,
        k: usize,
        how: &How,
    ) -> PyResult<Found<'py>> {
        let asks = given.asks();
        let found = run(py, how, |monitor| self.search(ways, &asks, k, monitor))?;
        Ok((found.0.into_pyarray(py), found.1.into_pyarray(py)))
    }

    /// Rows or texts of a view in the space of all.
    fn encode(self, view: &str, asks: &Asks, monitor: &Monitor) -> Result<Embedding> {
        let place = self.model.place(view)?;
        match asks {
            Asks::Rows(x) => self.model.encode(place, *x),
            Asks::Texts(texts) => {
                let texts = texts.iter().map(|text| text.as_deref().unwrap_or(""));
                let rows = self
                    .model
                    .rows_of_texts(place, &texts.collect::<Vec<_>>())?;
                let strange = |row: &ArrayView1<f32>| row.iter().all(|value| *value == 0.0);
                let strange = rows.rows().into_iter().filter(strange).count();
                if strange > 0 {
                    let n = rows.nrows();
                    monitor.warn(format!(
                        "nothing of {strange} of {n} texts is in the texts that were fitted, so that what they find means nothing"
                    ));
                }
                self.model.encode(place, rows.view())
            }
        }
    }

    /// The `k` items of the view `to` that are nearest to what asks of the view `from`, and how similar they are.
    fn search(
        self,
        (from, to): (&str, &str),
        asks: &Asks,
        k: usize,
        monitor: &Monitor,
    ) -> Result<Near> {
        let queries = self.encode(from, asks, monitor)?;
        let place = self.model.place(to)?;
        let searched = &self.embedded.items[place];
        let k = k.min(searched.len());
        let near = nearest_items(&queries, &self.embedded.rows[place], k, monitor)?;
        let shape = (near.len(), k);
        let item = |(row, rank): (usize, usize)| searched[near[row][rank].0] as i64;
        Ok((
            Array2::from_shape_fn(shape, item),
            Array2::from_shape_fn(shape, |(row, rank)| near[row][rank].1),
        ))
    }
}

/// Items and similarities, queries x ranks.
type Near = (Array2<i64>, Array2<f32>);

/// Rows of the items that were found, and how similar they are.
type Found<'py> = (Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<f32>>);

#[pymethods]
impl Across {
    /// Name of the recipe.
    #[getter]
    fn recipe(&self) -> &str {
        &self.recipe.name
    }

    /// All settings of the recipe, as JSON.
    #[getter]
    fn settings(&self) -> PyResult<String> {
        serde_json::to_string(&self.recipe).map_err(|e| exception(&json(e)))
    }

    /// The numbers as `metrics.json` has them.
    fn results(&self) -> PyResult<String> {
        serde_json::to_string(&self.study.results).map_err(|e| exception(&json(e)))
    }

    /// Table and verdict, as the command prints them.
    fn text(&self) -> String {
        let results = &self.study.results;
        let mut text = String::new();
        if results.not_measured.is_none() {
            text = table::aligned(&results.table()) + "\n\n";
        }
        text + &results.verdict.join("\n")
    }

    /// What every item was taken for, where it was fitted: its class and how much it weighed.
    fn believed(&self) -> Vec<Option<(String, f32)>> {
        self.study.kept.believed.clone()
    }

    /// The fitted items that have a view, and their rows or codes, as [`embed`](Self::embed) has them.
    fn embedded<'py>(
        &self,
        py: Python<'py>,
        view: &str,
    ) -> PyResult<(Vec<usize>, Bound<'py, PyAny>)> {
        self.space().embedded(py, view)
    }

    /// Rows or texts of a view in the space of all: numbers, or codes of eight bits a byte, lowest first.
    fn embed<'py>(
        &self,
        py: Python<'py>,
        view: &str,
        given: Given<'py>,
        how: How,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.space().embed(py, view, &given, &how)
    }

    /// The `k` fitted items of the view `to` that are nearest to each row or text of the view `from`, best first.
    fn search<'py>(
        &self,
        py: Python<'py>,
        from_view: &str,
        given: Given<'py>,
        to_view: &str,
        k: usize,
        how: How,
    ) -> PyResult<Found<'py>> {
        self.space().find(py, (from_view, to_view), &given, k, &how)
    }

    /// Writes a run folder, which `likewise search` and `eval` read; `told` is what tells the data from others, and the
    /// names of their columns by view.
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        told: (String, BTreeMap<String, Vec<String>>),
        overwrite: bool,
        how: How,
    ) -> PyResult<()> {
        let (digest, columns) = told;
        run(py, &how, |monitor| {
            let rights = Rights {
                overwrite,
                ..Rights::default()
            };
            let work = Work::begin(&path, rights)?;
            let data = "arrays in Python";
            let mut job = Job {
                recipe: self.recipe.clone(),
                protocol: self.protocol.clone(),
                views: self.names.clone(),
                texts: self.texts.clone(),
                photos: None,
                data: data.into(),
                digest: digest.clone(),
                named_by: None,
                read_as: data.into(),
                table: table_of(&columns, true),
                columns: columns.clone(),
                encoder: vec![],
                words: vec![],
                command: vec!["likewise.CrossModalLearner".into()],
                seconds: BTreeMap::new(),
            };
            let (stages, device) = (Stages::default(), likewise_nn::device("cpu")?);
            let at = Environment {
                monitor,
                stages: &stages,
                device: &device,
                max_memory: None,
            };
            job.keep(&self.study, &self.data, work, &at)
        })
    }
}

/// A run across views in its folder.
#[pyclass(frozen, module = "likewise._likewise")]
pub(crate) struct AcrossRun {
    model: NamedModel,
    embedded: Embedded,
    ids: Vec<String>,
    recipe: Recipe,
    results: CrossResults,
}

impl AcrossRun {
    fn space(&self) -> Space<'_> {
        Space {
            model: &self.model,
            embedded: &self.embedded,
        }
    }
}

#[pymethods]
impl AcrossRun {
    /// Opens the folder of a finished run.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf, how: How) -> PyResult<Self> {
        run(py, &how, |_| {
            AcrossFolder::read_by(&path, |run| {
                let (model, embedded) = run.space()?;
                let ids = run.items()?.into_iter().map(|item| item.id).collect();
                Ok(Self {
                    model,
                    embedded,
                    ids,
                    recipe: run.config()?.recipe,
                    results: run.metrics()?,
                })
            })
        })
    }

    /// Views and the columns of each, none of one of texts.
    fn views(&self) -> Vec<(String, Option<usize>)> {
        let views = self.model.views().iter();
        let columns = |view: &NamedView| match view.text {
            Some(_) => None,
            None => Some(view.encoder.input_dim()),
        };
        views
            .map(|view| (view.name.clone(), columns(view)))
            .collect()
    }

    /// The ids of the items.
    #[getter]
    fn ids(&self) -> Vec<String> {
        self.ids.clone()
    }

    /// All settings of the recipe, as JSON.
    #[getter]
    fn settings(&self) -> PyResult<String> {
        serde_json::to_string(&self.recipe).map_err(|e| exception(&json(e)))
    }

    /// The numbers as `metrics.json` has them.
    fn results(&self) -> PyResult<String> {
        serde_json::to_string(&self.results).map_err(|e| exception(&json(e)))
    }

    /// As [`Across::embedded`].
    fn embedded<'py>(
        &self,
        py: Python<'py>,
        view: &str,
    ) -> PyResult<(Vec<usize>, Bound<'py, PyAny>)> {
        self.space().embedded(py, view)
    }

    /// As [`Across::embed`].
    fn embed<'py>(
        &self,
        py: Python<'py>,
        view: &str,
        given: Given<'py>,
        how: How,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.space().embed(py, view, &given, &how)
    }

    /// As [`Across::search`].
    fn search<'py>(
        &self,
        py: Python<'py>,
        from_view: &str,
        given: Given<'py>,
        to_view: &str,
        k: usize,
        how: How,
    ) -> PyResult<Found<'py>> {
        self.space().find(py, (from_view, to_view), &given, k, &how)
    }
}

/// Rows, or codes as bytes.
fn array(py: Python<'_>, of: Embedding) -> Bound<'_, PyAny> {
    match of {
        Embedding::Real(rows) => rows.into_pyarray(py).into_any(),
        Embedding::Bits(codes) => {
            let mut bytes = Array2::<u8>::zeros((codes.n(), codes.bits().div_ceil(8)));
            for (i, mut row) in bytes.rows_mut().into_iter().enumerate() {
                let words = codes.row(i).iter().flat_map(|word| word.to_le_bytes());
                row.iter_mut().zip(words).for_each(|(byte, of)| *byte = of);
            }
            bytes.into_pyarray(py).into_any()
        }
    }
}
