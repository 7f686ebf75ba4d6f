//! Embeddings of data by the model of a run, written down.

use std::path::PathBuf;

use likewise::Similarity;
use serde::Serialize;

use crate::data::Data;
use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::query::{embedded, estimate_of_embedding};
use crate::run_folder::{RunFolder, check_apart, ending_of};
use crate::{Result, live};

/// Embeddings that are asked for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Folder of the run.
    pub run: PathBuf,
    /// The data.
    pub data: Data,
    /// Where they go: `.npy`; or `.parquet`, with ids, labels and what is believed.
    pub out: Option<PathBuf>,
}

/// What was embedded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Written {
    /// Rows.
    pub items: usize,
    /// Columns.
    pub dimensions: usize,
}

impl Request {
    /// What embedding will cost.
    ///
    /// Fails on an output that cannot be one, and where the run or the data are not there.
    pub fn estimate(&self, at: &Environment) -> Result<Estimate> {
        self.form()?;
        let source = self.data.open()?;
        RunFolder::read_by(&self.run, |run| estimate_of_embedding(run, &source, at))
    }

    /// Embeds the data, and writes the rows where they are to go. Says where they tell nothing by their
    /// cosines, because the model compares items itself.
    ///
    /// Fails as [`estimate`](Self::estimate) does, on data of another kind than the run was fitted on, and
    /// where the memory does not suffice.
    pub fn run(&self, at: &Environment) -> Result<Written> {
        let form = self.form()?;
        let source = self.data.open()?;
        if let Some(said) = RunFolder::read_by(&self.run, |run| Ok(told_of(&run.similarity()?)))? {
            at.monitor.warn(said);
        }
        let tells = form == Some("parquet");
        if tells {
            live::remark_newer(&self.run, at.monitor);
        }
        let embedded = RunFolder::read_by(&self.run, |run| {
            let embedded = embedded(run, &source, at)?;
            if tells {
                embedded.with_known(run)
            } else {
                Ok(embedded)
            }
        })?;
        let written = Written {
            items: embedded.rows.nrows(),
            dimensions: embedded.rows.ncols(),
        };
        match &self.out {
            Some(out) if tells => {
                likewise_io::embeddings::write(out, &embedded.items, embedded.rows)?;
            }
            Some(out) => likewise_io::write_npy(out, embedded.rows.view())?,
            None => {}
        }
        Ok(written)
    }

    /// The form of the output. Fails where it cannot be one.
    fn form(&self) -> Result<Option<&'static str>> {
        let out = self.out.as_deref();
        self.data.check_output(out)?;
        check_apart(out, &self.run)?;
        let form = out.map(|out| ending_of(out, "embeddings are written", &["npy", "parquet"]));
        form.transpose()
    }
}

/// What must be said of rows that are not compared by their cosine.
fn told_of(similarity: &Similarity) -> Option<&'static str> {
    match similarity {
        Similarity::Cosine => None,
        Similarity::Euclidean => Some(
            "these rows are compared by their Euclidean distance; what compares them by the cosine, as an index of \
             them does, finds other neighbours than the run itself, by `likewise search`",
        ),
        Similarity::Bilinear(_) => Some(
            "the model compares items by a matrix that is not in these rows: their cosines or distances say nothing \
             of what it has learned; `likewise search` asks it",
        ),
        Similarity::Scored(_) => Some(
            "the model compares items itself: these rows are what it reads of them, and their cosines or \
             distances say nothing of what it has learned; `likewise search` asks it",
        ),
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    #[test]
    fn rows_that_cosines_say_little_of_are_told_of() {
        assert_eq!(told_of(&Similarity::Cosine), None);
        let distance = told_of(&Similarity::Euclidean).unwrap();
        assert!(distance.contains("Euclidean"), "{distance}");
        let bilinear = told_of(&Similarity::Bilinear(Array2::eye(2))).unwrap();
        assert!(bilinear.contains("matrix"), "{bilinear}");
    }
}
