//! A search for duplicates as it is asked for, from the data to what is written.

use std::path::PathBuf;

use super::{Found, check, estimate, find, page};
use crate::data::Data;
use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::graph::DataShape;
use crate::report::{Thumbnails, pictures};
use crate::run_folder::ending_of;
use crate::source::{Source, with_view};
use crate::{Result, text};

/// A search that is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// The data, and the view of them.
    pub data: Data,
    /// Cosine from which two items are nearly the same.
    pub threshold: f32,
    /// Where the groups go: `.csv`, or `.html` as a page.
    pub out: Option<PathBuf>,
    /// Seed of every random step.
    pub seed: u64,
}

impl Request {
    /// What the search will cost.
    ///
    /// Fails on an output that cannot be one, for a threshold out of range, and on data that are not there.
    pub fn estimate(&self, at: &Environment) -> Result<Estimate> {
        self.form()?;
        needed(&self.data.open()?, at)
    }

    /// Searches, and writes the groups where they are to go.
    ///
    /// Fails as [`estimate`](Self::estimate) and [`find`] do, and where the memory does not suffice.
    pub fn run(&self, at: &Environment) -> Result<Found> {
        let form = self.form()?;
        let source = self.data.open()?;
        needed(&source, at)?.check(at.max_memory)?;
        let wanted = self.data.read.view.as_deref();
        let (collection, name) = with_view(source.load(at)?, wanted, at.monitor)?;
        let view = collection.view(Some(&name))?;
        let (x, threshold) = (view.matrix.view(), self.threshold);
        let found = find(&collection, x, threshold, self.seed, at.monitor)?;
        match (&self.out, form) {
            (Some(out), Some("html")) => {
                let photos = source.photos();
                let thumbnails = match &photos {
                    Some(photos) => Some(Thumbnails::Photos(photos)),
                    None => pictures(view),
                };
                text::write(out, &page(&found, &collection, thumbnails)?)?;
            }
            (Some(out), _) => found.write(out)?,
            (None, _) => {}
        }
        Ok(found)
    }

    /// The form of the output. Fails where it cannot be one, and for a threshold out of range.
    fn form(&self) -> Result<Option<&'static str>> {
        let out = self.out.as_deref();
        self.data.check_output(out)?;
        let form = out.map(|out| ending_of(out, "groups are written", &["csv", "html"]));
        let form = form.transpose()?;
        check(self.threshold)?;
        Ok(form)
    }
}

fn needed(source: &Source, at: &Environment) -> Result<Estimate> {
    Ok(estimate(&DataShape::of(source, at)?))
}
