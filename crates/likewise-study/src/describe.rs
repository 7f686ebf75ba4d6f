//! Images described by descriptors and networks: a view of features each, in one file.

use std::path::PathBuf;

use serde::Serialize;

use crate::data::Data;
use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::graph::DataShape;
use crate::run_folder::check_ending;
use crate::source::{Maker, ReadAs, Source};
use crate::{Result, usage};

/// Descriptors that are asked for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The images. What makes their features is not said here, but by `with`.
    pub data: Data,
    /// Names of descriptors and `net:FILE`, with commas between.
    pub with: String,
    /// Where the features go: `.npz`, with ids, labels and split.
    pub out: Option<PathBuf>,
}

/// What was described.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Described {
    /// Images.
    pub items: usize,
    /// A view for each descriptor.
    pub views: Vec<View>,
}

/// The features of one descriptor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct View {
    /// Its name.
    pub view: String,
    /// Its columns.
    pub columns: usize,
}

impl Request {
    /// What the features will cost.
    ///
    /// Fails on an output that cannot be one, on an unknown descriptor, and on data that are no images.
    pub fn estimate(&self, at: &Environment) -> Result<Estimate> {
        needed(&self.open()?, at)
    }

    /// Describes the images, and writes the views where they are to go.
    ///
    /// Fails as [`estimate`](Self::estimate) does, on images that cannot be read, and where the memory does not
    /// suffice.
    pub fn run(&self, at: &Environment) -> Result<Described> {
        let source = self.open()?;
        needed(&source, at)?.check(at.max_memory)?;
        let collection = source.load(at)?;
        if let Some(out) = &self.out {
            likewise_io::collection::write(out, &collection)?;
        }
        let views = collection.views().iter().map(|view| View {
            view: view.name.clone(),
            columns: view.matrix.ncols(),
        });
        Ok(Described {
            items: collection.len(),
            views: views.collect(),
        })
    }

    fn open(&self) -> Result<Source> {
        let (Data { path, read }, out) = (&self.data, self.out.as_deref());
        self.data.check_output(out)?;
        check_ending(out, "descriptors are written", "npz")?;
        let makers = Maker::list(&self.with)?;
        if !read.encoder.is_empty() || read.view.is_some() {
            return Err(usage(
                "`encoder` and `view` have no effect here: `with` names what is made, a network as net:FILE",
            ));
        }
        if !Source::open(path, ReadAs::default())?.is_images() {
            return Err(usage(format!(
                "{}: descriptors are of images; give a folder of them",
                path.display()
            )));
        }
        let read = ReadAs {
            encoder: makers,
            ..read.clone()
        };
        Source::open(path, read)
    }
}

fn needed(source: &Source, at: &Environment) -> Result<Estimate> {
    let shape = DataShape::of(source, at)?;
    let twice = 8.0 * shape.items * shape.all_columns;
    Ok(Estimate::new().resident(twice).stage(shape.making, 0.0))
}
