//! Images as features.

use std::path::{Path, PathBuf};

use likewise::{Collection, Error, Label, Monitor, Result};
use likewise_study::Environment;
use likewise_study::source::{Maker, ReadAs, Source};
use likewise_study::stages::Stages;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::work::{How, run};

/// What makes features of images.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asked {
    /// Names of descriptors and files of weights, with commas between; `None`: their pixels.
    encoder: Option<PathBuf>,
    words: Option<usize>,
    side: Option<usize>,
    squeeze: bool,
    skip_bad: bool,
    seed: u64,
}

impl Asked {
    fn read(&self, folder: &Path, monitor: &Monitor) -> Result<Collection> {
        if !Source::open(folder, ReadAs::default())?.is_images() {
            let rule = "holds no images; give a folder of them";
            return Err(Error::parameter("images", folder.display(), rule));
        }
        let encoder = self.encoder.as_deref().map(Maker::list_or_file);
        let read = ReadAs {
            encoder: encoder.transpose()?.unwrap_or_default(),
            words: self.words,
            side: self.side,
            squeeze: self.squeeze,
            skip_bad: self.skip_bad,
            seed: self.seed,
            ..ReadAs::default()
        };
        let (stages, device) = (Stages::default(), likewise_nn::device("cpu")?);
        let at = Environment {
            monitor,
            stages: &stages,
            device: &device,
            max_memory: None,
        };
        Source::open(folder, read)?.load(&at)
    }
}

/// The images of a folder: `ids`, `views` by name, and where their places tell them `labels` as words
/// ("": unknown) and `split`.
#[pyfunction]
pub(crate) fn describe(
    py: Python<'_>,
    folder: PathBuf,
    asked: Asked,
    how: How,
) -> PyResult<Bound<'_, PyDict>> {
    let items = run(py, &how, |monitor| asked.read(&folder, monitor))?;
    let views = PyDict::new(py);
    for view in items.views() {
        views.set_item(&view.name, view.matrix.clone().into_pyarray(py))?;
    }
    let labels = items.labels.as_ref().map(|labels| {
        let word = |label: &Label| match label {
            Label::Known(class) => labels.classes()[*class as usize].clone(),
            Label::Outside => "outside".to_owned(),
            Label::Unknown => String::new(),
        };
        labels.items().iter().map(word).collect::<Vec<_>>()
    });
    let split = items.split.as_ref();
    let split = split.map(|parts| parts.iter().map(|part| part.name()).collect::<Vec<_>>());
    let answer = PyDict::new(py);
    answer.set_item("ids", items.ids())?;
    answer.set_item("views", views)?;
    answer.set_item("labels", labels)?;
    answer.set_item("split", split)?;
    Ok(answer)
}
