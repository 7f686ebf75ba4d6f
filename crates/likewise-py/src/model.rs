//! A fitted model: rows into embeddings, pairs into similarities.

use likewise::model::{Form, Model as Closed};
use likewise::{Monitor, Result, Similarity};
use likewise_nn::Device;
use ndarray::{Array2, ArrayView2, s};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::work::{How, guarded, run};

/// A fitted model of any learner.
#[pyclass(frozen, module = "likewise._likewise")]
pub(crate) struct Model {
    pub(crate) model: likewise_nn::Model,
}

#[pymethods]
impl Model {
    /// The model of the bytes of a `model.safetensors`.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let model = guarded(|| likewise_nn::Model::open(bytes))?;
        Ok(Self { model })
    }

    /// The bytes of its `model.safetensors`.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = guarded(|| self.model.to_safetensors())?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let py = slf.py();
        let open = py.get_type::<Self>().getattr("from_bytes")?;
        Ok((open, (slf.get().to_bytes(py)?,)))
    }

    /// Columns that it reads.
    #[getter]
    fn input_dim(&self) -> usize {
        self.model.input_dim()
    }

    /// Columns of an embedding.
    #[getter]
    fn output_dim(&self) -> usize {
        self.model.output_dim()
    }

    /// How its rows compare: `cosine`, `euclidean`, `bilinear` or `scored`.
    #[getter]
    fn similarity(&self) -> &'static str {
        match self.model.similarity() {
            Similarity::Cosine => "cosine",
            Similarity::Euclidean => "euclidean",
            Similarity::Bilinear(_) => "bilinear",
            Similarity::Scored(_) => "scored",
        }
    }

    /// Embeds the rows of `x`.
    fn embed<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f32>,
        how: How,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let x = x.as_array();
        let rows = run(py, &how, |_| {
            self.model.embed(x, &likewise_nn::device("cpu")?)
        })?;
        Ok(rows.into_pyarray(py))
    }

    /// The similarity of each row of `a` to the same row of `b`: larger is more similar. Of a metric it is
    /// minus the squared distance.
    fn similarities<'py>(
        &self,
        py: Python<'py>,
        a: PyReadonlyArray2<'py, f32>,
        b: PyReadonlyArray2<'py, f32>,
        how: How,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (a, b) = (a.as_array(), b.as_array());
        let found = run(py, &how, |monitor| {
            let device: Device = likewise_nn::device("cpu")?;
            let (a, b) = (self.model.embed(a, &device)?, self.model.embed(b, &device)?);
            of_pairs(&self.model.similarity(), a, b.view(), monitor)
        })?;
        Ok(found.into_pyarray(py))
    }

    /// The matrix `M` of a learned metric, where the model is one.
    fn mahalanobis<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray2<f64>>> {
        let likewise_nn::Model::Closed(Closed::Metric(metric)) = &self.model else {
            return None;
        };
        let m = match &metric.form {
            Form::Mahalanobis(m) => m.clone(),
            Form::Transform(l) => l.t().dot(l),
        };
        Some(m.into_pyarray(py))
    }
}

fn of_pairs(
    similarity: &Similarity,
    a: Array2<f32>,
    b: ArrayView2<f32>,
    monitor: &Monitor,
) -> Result<Vec<f64>> {
    let asking = similarity.asking(a.view()).unwrap_or(a);
    let rows = asking.rows().into_iter().zip(b.rows());
    let product = |(a, b): (ndarray::ArrayView1<f32>, ndarray::ArrayView1<f32>)| -> f64 {
        a.iter()
            .zip(b)
            .map(|(&a, &b)| f64::from(a) * f64::from(b))
            .sum()
    };
    match similarity {
        Similarity::Cosine | Similarity::Bilinear(_) => Ok(rows.map(product).collect()),
        Similarity::Euclidean => Ok(rows
            .map(|(a, b)| -> f64 {
                let squares = a
                    .iter()
                    .zip(b)
                    .map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2));
                -squares.sum::<f64>()
            })
            .collect()),
        Similarity::Scored(_) => (0..asking.nrows())
            .map(|i| {
                let one = similarity.searchable(b.slice(s![i..=i, ..]), &[0])?;
                let query = asking.slice(s![i..=i, ..]);
                let quiet = monitor.quiet();
                let found = one.for_each_query(
                    query,
                    &[0],
                    &quiet,
                    || (),
                    |(), _, _, scores| f64::from(scores[0]),
                )?;
                Ok(found[0])
            })
            .collect(),
    }
}
