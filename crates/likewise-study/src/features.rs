//! Features as they are read, written down: of images by an encoder, of a table by its columns.

use std::path::PathBuf;

use serde::Serialize;

use crate::Result;
use crate::data::Data;
use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::graph::DataShape;
use crate::run_folder::{ending_of, rows_of};
use crate::source::{Source, with_view};

/// Features that are asked for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The data, and the view of them.
    pub data: Data,
    /// Where they go: `.npy`; or `.parquet`, with ids and labels.
    pub out: Option<PathBuf>,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Written {
    /// The view.
    pub view: String,
    /// Its rows.
    pub items: usize,
    /// Its columns.
    pub columns: usize,
}

impl Request {
    /// What reading the features will cost.
    ///
    /// Fails on an output that cannot be one, and on data that are not there.
    pub fn estimate(&self, at: &Environment) -> Result<Estimate> {
        self.form()?;
        needed(&self.data.open()?, at)
    }

    /// Reads the features of one view, and writes them where they are to go.
    ///
    /// Fails as [`estimate`](Self::estimate) does, on data that cannot be read, and where the memory does not
    /// suffice.
    pub fn run(&self, at: &Environment) -> Result<Written> {
        let form = self.form()?;
        let source = self.data.open()?;
        needed(&source, at)?.check(at.max_memory)?;
        let view = self.data.read.view.as_deref();
        let (collection, view) = with_view(source.load(at)?, view, at.monitor)?;
        let items = rows_of(&collection);
        let rows = collection.into_view(Some(&view))?.matrix;
        let written = Written {
            view,
            items: rows.nrows(),
            columns: rows.ncols(),
        };
        match (&self.out, form) {
            (Some(out), Some("parquet")) => likewise_io::embeddings::write(out, &items, rows)?,
            (Some(out), _) => likewise_io::write_npy(out, rows.view())?,
            (None, _) => {}
        }
        Ok(written)
    }

    /// The form of the output. Fails where it cannot be one.
    fn form(&self) -> Result<Option<&'static str>> {
        let out = self.out.as_deref();
        self.data.check_output(out)?;
        let form = out.map(|out| ending_of(out, "features are written", &["npy", "parquet"]));
        form.transpose()
    }
}

fn needed(source: &Source, at: &Environment) -> Result<Estimate> {
    let shape = DataShape::of(source, at)?;
    let twice = 8.0 * shape.items * shape.columns;
    Ok(Estimate::new().resident(twice).stage(shape.making, 0.0))
}
