//! Losses with their gradients, for a loop of training elsewhere.

use burn::tensor::{DType, Device, Element, Tensor, TensorData};
use likewise::{Error, ErrorKind, Result, Triplets};
use likewise_nn::loss::{Batch, Classes, Loss, Pairs};
use likewise_study::text::in_words;
use ndarray::{Array2, ArrayView2};
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;

use crate::failure::json as no_json;
use crate::work::{How, run};

/// Rows of numbers of one precision or the other.
#[derive(FromPyObject)]
pub(crate) enum Rows<'py> {
    Single(PyReadonlyArray2<'py, f32>),
    Double(PyReadonlyArray2<'py, f64>),
}

/// What a loss learns from: classes (-1: none, so that the item is absent), weights, and triplets in
/// their place.
type LearnsFrom<'py> = (
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, f32>,
    Option<PyReadonlyArray2<'py, u32>>,
);

/// The loss of a batch, `value`, and its gradients by the embeddings, `embeddings`, and by the proxies where
/// there are some, `proxies`.
#[pyfunction]
pub(crate) fn loss<'py>(
    py: Python<'py>,
    name: &str,
    parameters: &str,
    embeddings: Rows<'py>,
    proxies: Option<Rows<'py>>,
    of: LearnsFrom<'py>,
    how: How,
) -> PyResult<Bound<'py, PyDict>> {
    let mixed = || Error::data("embeddings and proxies must be of one precision");
    match (embeddings, proxies) {
        (Rows::Single(x), None) => of_rows::<f32>(py, (name, parameters), &x, None, &of, &how),
        (Rows::Double(x), None) => of_rows::<f64>(py, (name, parameters), &x, None, &of, &how),
        (Rows::Single(x), Some(Rows::Single(p))) => {
            of_rows(py, (name, parameters), &x, Some(&p), &of, &how)
        }
        (Rows::Double(x), Some(Rows::Double(p))) => {
            of_rows(py, (name, parameters), &x, Some(&p), &of, &how)
        }
        _ => Err(crate::failure::exception(&mixed())),
    }
}

fn of_rows<'py, T: numpy::Element + Element>(
    py: Python<'py>,
    (name, parameters): (&str, &str),
    x: &PyReadonlyArray2<'py, T>,
    proxies: Option<&PyReadonlyArray2<'py, T>>,
    from: &LearnsFrom<'py>,
    how: &How,
) -> PyResult<Bound<'py, PyDict>> {
    let x = x.as_array();
    let proxies = proxies.map(PyReadonlyArray2::as_array);
    let (classes, weights, triplets) = from;
    let triplets = triplets.as_ref().map(|rows| {
        let mut triplets = Triplets::default();
        for row in rows.as_array().rows() {
            triplets.push(row[0], row[1], row[2], 1.0);
        }
        triplets
    });
    let learned_from = LearnedFrom {
        classes: classes.as_array().to_vec(),
        proxies: proxies.map_or(0, |rows| rows.nrows()),
        weights: weights.as_array().to_vec(),
        triplets,
    };
    let found = run(py, how, |_| {
        measure(&named(name, parameters)?, x, proxies, &learned_from)
    })?;
    let answer = PyDict::new(py);
    answer.set_item("value", found.value)?;
    answer.set_item("embeddings", found.embeddings.into_pyarray(py))?;
    if let Some(proxies) = found.proxies {
        answer.set_item("proxies", proxies.into_pyarray(py))?;
    }
    Ok(answer)
}

fn named(name: &str, parameters: &str) -> Result<Loss> {
    Loss::named(name)?;
    let mut fields: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(parameters).map_err(no_json)?;
    // Each alone, so that the one that is wrong is named.
    for (parameter, value) in fields.clone() {
        let alone = json!({"name": name, (parameter.as_str()): value});
        if let Err(e) = serde_json::from_value::<Loss>(alone) {
            let said = in_words(&e.to_string());
            let message = if said.starts_with("unknown field") {
                format!(
                    "parameters of the loss {name}: {said}; every loss takes `weight`, `triplets` and `n_jobs` beside these"
                )
            } else {
                format!("{parameter} of the loss {name}: {said}")
            };
            return Err(Error::new(ErrorKind::Parameter, message));
        }
    }
    fields.insert("name".into(), name.into());
    let loss: Loss = serde_json::from_value(fields.into()).map_err(no_json)?;
    loss.validate()
        .map_err(|e| match e.to_string().strip_prefix("loss.") {
            Some(said) => Error::new(e.kind(), said.to_owned()),
            None => e,
        })?;
    Ok(loss)
}

struct LearnedFrom {
    classes: Vec<i64>,
    /// How many there are.
    proxies: usize,
    weights: Vec<f32>,
    triplets: Option<Triplets>,
}

struct Found<T> {
    value: f64,
    embeddings: Array2<T>,
    proxies: Option<Array2<T>>,
}

fn measure<T: numpy::Element + Element>(
    loss: &Loss,
    x: ArrayView2<T>,
    proxies: Option<ArrayView2<T>>,
    from: &LearnedFrom,
) -> Result<Found<T>> {
    let internal = |e: &dyn std::fmt::Debug| Error::new(ErrorKind::Internal, format!("{e:?}"));
    from.check(loss)?;
    let options = (&Device::flex().autodiff(), T::dtype());
    let tensor = |rows: ArrayView2<T>| -> Tensor<2> {
        let shape = [rows.nrows(), rows.ncols()];
        let data = TensorData::new(rows.iter().copied().collect(), shape);
        Tensor::from_data(data, options).require_grad()
    };
    let batch = from.batch(loss, (options.0, T::dtype()))?;
    let (embeddings, rows) = (tensor(x), proxies.map(tensor));
    let value = loss.forward(embeddings.clone(), &batch, rows.clone())?;
    let gradients = value.backward();
    // A loss that does not depend on its input has no gradient there.
    let read = |gradient: Option<Tensor<2>>, like: ArrayView2<T>| match gradient {
        Some(gradient) => {
            let values = gradient.try_into_vec_as::<T>().map_err(|e| internal(&e))?;
            Array2::from_shape_vec(like.dim(), values).map_err(|e| internal(&e))
        }
        None => Ok(Array2::from_elem(like.dim(), T::default())),
    };
    let of_proxies = match (&rows, proxies) {
        (Some(rows), Some(like)) => Some(read(rows.grad(&gradients), like)?),
        _ => None,
    };
    Ok(Found {
        embeddings: read(embeddings.grad(&gradients), x)?,
        proxies: of_proxies,
        value: value.try_into_vec_as::<f64>().map_err(|e| internal(&e))?[0],
    })
}

impl LearnedFrom {
    /// Fails on what the loss does not look at, and on proxies that it lacks.
    fn check(&self, loss: &Loss) -> Result<()> {
        let (name, each) = (loss.name(), loss.proxies_per_class());
        let said = |message: String| Err(Error::new(ErrorKind::Parameter, message));
        if each == 0 && self.proxies > 0 {
            return said(format!("proxies have no effect on {name}; leave them out"));
        }
        if each == 0 {
            return Ok(());
        }
        if self.triplets.is_some() {
            return said(format!(
                "triplets have no effect on {name}, which goes by classes; leave them out"
            ));
        }
        if self.proxies < each || !self.proxies.is_multiple_of(each) {
            let rows = match each {
                1 => "an array of one row a class".to_owned(),
                _ => format!("an array of {each} rows a class, one class after another"),
            };
            return said(format!(
                "{name} needs proxies, {rows}; there are {} rows",
                self.proxies
            ));
        }
        Ok(())
    }

    fn batch(&self, loss: &Loss, (device, dtype): (&Device, DType)) -> Result<Batch> {
        let options = (device, dtype);
        let absent = |&class: &i64| class < 0;
        let class: Vec<u32> = (self.classes.iter())
            .map(|&class| u32::try_from(class).unwrap_or(0))
            .collect();
        let weights = self.classes.iter().zip(&self.weights);
        let weights: Vec<f32> = weights
            .map(|(class, &w)| if absent(class) { 0.0 } else { w })
            .collect();
        let count = self.proxies.checked_div(loss.proxies_per_class());
        let classes = count.map(|count| Classes::new(&class, count, &weights, options));
        Ok(Batch {
            pairs: Pairs::from_classes(&class, &weights, options)?,
            classes: classes.transpose()?,
            triplets: self.triplets.clone(),
        })
    }
}
