//! Learning and measuring: what `likewise fit` does, of arrays.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use likewise::tuple::Tuples;
use likewise::{
    Beliefs, Collection, Error, ErrorKind, Label, Labels, Monitor, Pairs, Part, Result, Triplets,
    View,
};
use likewise_study::fit::{AUTO, Asked as Choices, Changes, Job, Which, limit_neighbors};
use likewise_study::run_folder::{Rights, Work};
use likewise_study::stages::Stages;
use likewise_study::study::{Learned, Plan, Protocol, SplitKind, Study, Tried, TupleKind};
use likewise_study::text::in_words;
use likewise_study::{Environment, Recipe, table};
use ndarray::{Array2, ArrayView2};
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;

use crate::failure::{exception, json as no_json};
use crate::labels::{self, codes};
use crate::model::Model;
use crate::views::{ids, named, side_by_side, table_of};
use crate::work::{How, run, run_in};

/// Where the neighbours of an item stand in a recipe.
pub(crate) const K: &str = "pseudo_labels.graph.k in settings";

/// What is to be learned and measured.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asked {
    /// Name, or the path of a .toml file.
    recipe: String,
    /// A JSON object of what is changed in it.
    settings: Option<String>,
    split: Option<String>,
    /// Part of each item, where the split is given.
    parts: Option<Vec<String>>,
    labels_per_class: Option<usize>,
    /// Share of the labels that is kept, across views.
    label_fraction: Option<f64>,
    draws: Option<usize>,
    seed: u64,
    /// Whether what was learned is measured.
    measure: bool,
}

/// Rows of items, two or three, what is said of them, and weights.
type GivenTuples<'py> = (
    PyReadonlyArray2<'py, u32>,
    Option<PyReadonlyArray1<'py, bool>>,
    PyReadonlyArray1<'py, f32>,
);

/// Learns from the rows of one view, or of several side by side, and measures unless that is not asked for.
#[pyfunction]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    views: Vec<(String, PyReadonlyArray2<'py, f32>)>,
    given: Option<labels::Given<'py>>,
    tuples: Option<GivenTuples<'py>>,
    asked: Asked,
    how: How,
) -> PyResult<Fitted> {
    let views = named(&views);
    let labels = given.as_ref().map(labels::labels).transpose()?;
    let tuples = tuples.map(|tuples| read(&tuples)).transpose()?;
    run_in(py, &how, K, |monitor| {
        asked.fit(&views, labels, tuples, monitor)
    })
}

/// Pairs or triplets, of which no two rows say the opposite.
fn read((rows, alike, weights): &GivenTuples<'_>) -> PyResult<Tuples> {
    let (rows, weights) = (rows.as_array(), weights.as_array());
    let Some(alike) = alike else {
        let mut triplets = Triplets::default();
        for (row, &w) in rows.rows().into_iter().zip(weights) {
            triplets.push(row[0], row[1], row[2], w);
        }
        if let Some((first, second)) = triplets.contradiction() {
            let (a, p, n) = (rows[[second, 0]], rows[[second, 1]], rows[[second, 2]]);
            return Err(PyValueError::new_err(format!(
                "triplets: row {second} says that item {p} is nearer to item {a} than item {n} is, the opposite of \
                 row {first}; keep one of them"
            )));
        }
        return Ok(Tuples::Triplets(triplets));
    };
    let mut pairs = Pairs::default();
    for ((row, &alike), &w) in rows.rows().into_iter().zip(alike.as_array()).zip(weights) {
        pairs.push(row[0], row[1], alike, w);
    }
    if let Some((first, second)) = pairs.contradiction() {
        let (a, b) = (rows[[second, 0]], rows[[second, 1]]);
        return Err(PyValueError::new_err(format!(
            "pairs: row {second} says of items {a} and {b} the opposite of row {first}; keep one of them"
        )));
    }
    Ok(Tuples::Pairs(pairs))
}

fn view(matrix: Array2<f32>) -> View {
    View {
        name: "x".into(),
        matrix,
        present: None,
    }
}

impl Asked {
    fn fit(
        &self,
        views: &[(String, ArrayView2<f32>)],
        labels: Option<Labels>,
        tuples: Option<Tuples>,
        monitor: &Monitor,
    ) -> Result<Fitted> {
        let asked = self.protocol(&["item", "zero-shot", "folds"])?;
        let which = self.which(tuples.as_ref())?;
        let columns = views.iter().map(|(_, x)| x.ncols()).sum();
        let mut recipe = which.recipe(columns)?;
        recipe.check_tuples(which.tuples)?;
        recipe.check_build()?;
        let mut data = match views {
            // The rows of one view stay where they are.
            [(_, x)] => Collection::new(ids(x.nrows()), vec![view(Array2::zeros((x.nrows(), 0)))])?,
            several => side_by_side(several, recipe.sees_views())?,
        };
        data.labels = labels;
        data.split = self.parts()?;
        let x = match views {
            [(_, x)] => *x,
            _ => data.view(None)?.matrix.view(),
        };
        limit_neighbors(&mut recipe, x.nrows() as f64, monitor);
        let mut protocol = asked.protocol(&data, &[])?;
        if !self.measure {
            protocol.split = SplitKind::Folds;
        }
        let device = likewise_nn::device("cpu")?;
        let mut tried = vec![];
        if which.chooses()? {
            let plan = Plan::of(&data, x, &recipe, &protocol, device.clone());
            let choice = plan.choose_recipe(None, monitor)?;
            (recipe, tried) = (choice.recipe, choice.tried);
        }
        let plan = Plan {
            tuples: tuples.as_ref(),
            chosen: !tried.is_empty(),
            ..Plan::of(&data, x, &recipe, &protocol, device)
        };
        if !self.measure && tuples.is_none() && !recipe.needs_no_label() {
            // A measured fit says so in its verdict.
            warn_of_few(data.labels.as_ref(), &recipe.name, monitor);
        }
        let outcome = if self.measure {
            let mut study = plan.run(monitor)?;
            study.results.tried.clone_from(&tried);
            Outcome::Measured(Box::new(study))
        } else {
            Outcome::Learned(Box::new(plan.learn(monitor)?))
        };
        Ok(Fitted {
            outcome,
            data,
            recipe,
            protocol,
            tried,
        })
    }

    /// The part of each item, where the split is given.
    pub(crate) fn parts(&self) -> Result<Option<Vec<Part>>> {
        let part = |word: &String| {
            Part::parse(word).ok_or_else(|| {
                let rule = "must be train, validation, test, query or gallery";
                Error::parameter("split", format!("\"{word}\""), rule)
            })
        };
        let parts = self.parts.as_ref();
        let parts = parts.map(|parts| parts.iter().map(part).collect());
        parts.transpose()
    }

    /// Share of the labels that is kept, where some are hidden by it.
    pub(crate) fn label_fraction(&self) -> Option<f64> {
        self.label_fraction
    }

    /// How it is measured, where items can be divided in these ways.
    pub(crate) fn protocol(&self, splits: &[&str]) -> Result<Choices> {
        let count = |name: &str, of: Option<usize>| {
            let rule = "must be at least 1";
            let count = |n| NonZeroUsize::new(n).ok_or_else(|| Error::parameter(name, n, rule));
            of.map(count).transpose()
        };
        let split = self.split.as_deref().map(|word| {
            let known = word == "given" || splits.contains(&word);
            let kind = known.then(|| serde_json::from_value(word.into()).ok());
            kind.flatten().ok_or_else(|| {
                let words = splits.join("\", \"");
                let rule = format!("must be \"{words}\", or the part of each item");
                Error::parameter("split", format!("\"{word}\""), &rule)
            })
        });
        Ok(Choices {
            split: split.transpose()?,
            labels_per_class: count("labels_per_class", self.labels_per_class)?,
            draws: count("draws", self.draws)?,
            seed: self.seed,
        })
    }

    /// Which recipe: by name or file, with what is changed in it, or the one that suits.
    pub(crate) fn which(&self, tuples: Option<&Tuples>) -> Result<Which> {
        let fields = self.settings.as_deref().map(serde_json::from_str);
        let fields = fields.transpose().map_err(|e| {
            let said = in_words(&e.to_string());
            Error::new(ErrorKind::Parameter, format!("settings: {said}"))
        })?;
        let suits = self.recipe == AUTO && tuples.is_some();
        Ok(Which {
            name: (!suits).then(|| self.recipe.clone()),
            changes: fields
                .map(|fields| Changes {
                    place: "settings".into(),
                    fields,
                })
                .into_iter()
                .collect(),
            tuples: tuples.map(|tuples| match tuples {
                Tuples::Pairs(_) => TupleKind::Pairs,
                Tuples::Triplets(_) => TupleKind::Triplets,
            }),
            ..Which::default()
        })
    }
}

/// Warns where labels are of fewer classes than can be told apart.
fn warn_of_few(labels: Option<&Labels>, recipe: &str, monitor: &Monitor) {
    let known = labels.iter().flat_map(|labels| labels.items());
    let known = known.filter_map(|label| match label {
        Label::Known(class) => Some(class),
        _ => None,
    });
    let classes = known.collect::<BTreeSet<_>>().len();
    if classes < 2 {
        let count = ["no class", "one class"][classes];
        monitor.warn(format!(
            "y has labels of {count}, and {recipe} learns from two or more: it learned little or nothing"
        ));
    }
}

enum Outcome {
    Measured(Box<Study>),
    Learned(Box<Learned>),
}

/// What was learned, and measured where that was asked for.
#[pyclass(frozen, module = "likewise._likewise")]
pub(crate) struct Fitted {
    outcome: Outcome,
    data: Collection,
    recipe: Recipe,
    protocol: Protocol,
    tried: Vec<Tried>,
}

impl Fitted {
    fn measured(&self) -> PyResult<&Study> {
        match &self.outcome {
            Outcome::Measured(study) => Ok(study),
            Outcome::Learned(_) => {
                let message = "nothing was measured; fit with measure=True";
                Err(exception(&Error::new(ErrorKind::Parameter, message)))
            }
        }
    }

    fn beliefs(&self) -> (&Beliefs, &[String]) {
        match &self.outcome {
            Outcome::Measured(study) => (&study.beliefs, &study.classes),
            Outcome::Learned(learned) => (&learned.beliefs, &learned.classes),
        }
    }
}

#[pymethods]
impl Fitted {
    /// The model.
    #[getter]
    fn model(&self) -> Model {
        let model = match &self.outcome {
            Outcome::Measured(study) => &study.model,
            Outcome::Learned(learned) => &learned.model,
        };
        Model {
            model: model.clone(),
        }
    }

    /// Name of the recipe, the chosen one where one was chosen.
    #[getter]
    fn recipe(&self) -> &str {
        &self.recipe.name
    }

    /// All settings of the recipe, as JSON.
    #[getter]
    fn settings(&self) -> PyResult<String> {
        serde_json::to_string(&self.recipe).map_err(|e| exception(&no_json(e)))
    }

    /// Embeddings of all items.
    #[getter]
    fn embeddings<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f32>> {
        let rows = match &self.outcome {
            Outcome::Measured(study) => &study.embeddings,
            Outcome::Learned(learned) => &learned.embeddings,
        };
        rows.clone().into_pyarray(py)
    }

    /// What was believed of the fitted items before anything was learned: their rows, classes by
    /// name, scores, the class of each (-1: none) and its confidence.
    fn believed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (beliefs, classes) = self.beliefs();
        let rows: Vec<i64> = match &self.outcome {
            Outcome::Measured(study) => study.train.iter().map(|&row| row as i64).collect(),
            Outcome::Learned(_) => (0..self.data.len() as i64).collect(),
        };
        let answer = PyDict::new(py);
        answer.set_item("rows", rows.into_pyarray(py))?;
        answer.set_item("classes", classes)?;
        answer.set_item("scores", beliefs.scores.clone().into_pyarray(py))?;
        answer.set_item(
            "pseudo_label",
            codes(&beliefs.pseudo_label).into_pyarray(py),
        )?;
        answer.set_item("confidence", beliefs.confidence.clone().into_pyarray(py))?;
        Ok(answer)
    }

    /// The numbers as `metrics.json` has them.
    fn results(&self) -> PyResult<String> {
        serde_json::to_string(&self.measured()?.results).map_err(|e| exception(&no_json(e)))
    }

    /// The rows of the table, as JSON: title and numbers of each.
    fn rows(&self) -> PyResult<String> {
        let study = self.measured()?;
        Ok(json!(study.results.rows()).to_string())
    }

    /// Table and verdict, as the command prints them.
    fn text(&self) -> PyResult<String> {
        let results = &self.measured()?.results;
        let mut text = String::new();
        if !results.tried.is_empty() {
            text += &table::aligned(&results.choices());
            text.push('\n');
        }
        if results.tells() {
            text += &table::of(&results.rows());
            text.push('\n');
        }
        Ok(text + &results.verdict.join("\n"))
    }

    /// Writes a run folder, which `likewise search`, `embed` and `eval` read. `x` are the rows that were fitted, none of
    /// several views; `told` what tells them from others, and the names of their columns by view.
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        x: Option<PyReadonlyArray2<'_, f32>>,
        told: (String, BTreeMap<String, Vec<String>>),
        overwrite: bool,
        how: How,
    ) -> PyResult<()> {
        let (study, (digest, columns)) = (self.measured()?, told);
        let x = x.as_ref().map(PyReadonlyArray2::as_array);
        run(py, &how, |monitor| {
            let view = match x {
                Some(x) => view(x.to_owned()),
                None => self.data.view(None)?.clone(),
            };
            let rights = Rights {
                overwrite,
                ..Rights::default()
            };
            let work = Work::begin(&path, rights)?;
            let data = "arrays in Python";
            let (recipe, protocol) = (self.recipe.clone(), self.protocol.clone());
            let mut job = Job {
                tried: self.tried.clone(),
                table: table_of(&columns, x.is_none()),
                columns: columns.clone(),
                command: vec!["likewise.Study".into()],
                ..Job::new(recipe, protocol, data.into(), digest, data.into())
            };
            let (stages, device) = (Stages::default(), likewise_nn::device("cpu")?);
            let at = Environment {
                monitor,
                stages: &stages,
                device: &device,
                max_memory: None,
            };
            job.keep(study, &self.data, &view, work, &at)?;
            Ok(())
        })
    }
}
