//! Learning across views: an item is asked for in one view and found in another.

use std::collections::BTreeMap;
use std::path::PathBuf;

use likewise::cross::Embedding;
use likewise::{Collection, Error, Labels, Monitor, Result, View};
use likewise_study::across::{self, Job};
use likewise_study::fit::limit_neighbors;
use likewise_study::run_folder::{Rights, Work};
use likewise_study::stages::Stages;
use likewise_study::study::{CrossPlan, CrossStudy, Protocol, Texts, nearest_items};
use likewise_study::{Environment, Recipe, table};
use ndarray::{Array2, ArrayView2};
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::failure::{exception, json, named};
use crate::labels;
use crate::study::{Asked, K};
use crate::views::{ids, view};
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
    let within = asked.protocol()?;
    let protocol = across::Asked {
        split: within.split,
        labels_per_class: within.labels_per_class,
        label_fraction: asked.label_fraction(),
        draws: within.draws,
        seed: within.seed,
    };
    let protocol = protocol.protocol(&data);
    let protocol = protocol.map_err(|e| named(e, "label fraction", "label_fraction"))?;
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
    /// The place of a view among the others.
    fn place(&self, name: &str) -> Result<usize> {
        self.study.kept.model.place(name)
    }

    /// Rows or texts of a view in the space of all.
    fn encode(&self, view: &str, asks: &Asks) -> Result<Embedding> {
        let (model, place) = (&self.study.kept.model, self.place(view)?);
        match asks {
            Asks::Rows(x) => model.encode(place, *x),
            Asks::Texts(texts) => {
                let texts = texts.iter().map(|text| text.as_deref().unwrap_or(""));
                let rows = model.rows_of_texts(place, &texts.collect::<Vec<_>>())?;
                model.encode(place, rows.view())
            }
        }
    }
}

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
        let place = self.place(view).map_err(|e| exception(&e))?;
        let embedded = &self.study.kept.embedded;
        Ok((
            embedded.items[place].clone(),
            array(py, embedded.rows[place].clone()),
        ))
    }

    /// Rows or texts of a view in the space of all: numbers, or codes of eight bits a byte, lowest first.
    fn embed<'py>(
        &self,
        py: Python<'py>,
        view: &str,
        given: Given<'py>,
        how: How,
    ) -> PyResult<Bound<'py, PyAny>> {
        let asks = given.asks();
        let found = run(py, &how, |_| self.encode(view, &asks))?;
        Ok(array(py, found))
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
        let asks = given.asks();
        let (items, similarities) = run(py, &how, |monitor| {
            let queries = self.encode(from_view, &asks)?;
            let place = self.place(to_view)?;
            let embedded = &self.study.kept.embedded;
            let searched = &embedded.items[place];
            let k = k.min(searched.len());
            let near = nearest_items(&queries, &embedded.rows[place], k, monitor)?;
            let shape = (near.len(), k);
            let item = |(row, rank): (usize, usize)| searched[near[row][rank].0] as i64;
            Ok((
                Array2::from_shape_fn(shape, item),
                Array2::from_shape_fn(shape, |(row, rank)| near[row][rank].1),
            ))
        })?;
        Ok((items.into_pyarray(py), similarities.into_pyarray(py)))
    }

    /// Writes a run folder, which `likewise search` and `eval` read; `digest` tells the data from others.
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        digest: String,
        overwrite: bool,
        how: How,
    ) -> PyResult<()> {
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
                digest,
                named_by: None,
                read_as: data.into(),
                table: None,
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
