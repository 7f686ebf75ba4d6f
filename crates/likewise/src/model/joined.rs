//! Several models side by side.

use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::{Kind, Model};
use crate::arrays::Arrays;
use crate::{Error, Result, Similarity};

/// The rows of several models side by side, so that the cosine is the mean of theirs.
#[derive(Debug, Clone, PartialEq)]
pub struct Joined {
    parts: Vec<Model>,
}

/// Kinds of the models that are joined.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parts {
    /// One each.
    pub parts: Vec<Kind>,
}

impl Joined {
    /// Of these models.
    ///
    /// Fails without any, where one reads another number of columns, and where one is not compared by the cosine.
    pub fn new(parts: Vec<Model>) -> Result<Self> {
        let Some(first) = parts.first() else {
            return Err(Error::data("no models to join"));
        };
        let columns = first.input_dim();
        if parts.iter().any(|part| part.input_dim() != columns) {
            return Err(Error::data("models that are joined read the same columns"));
        }
        if parts
            .iter()
            .any(|part| part.similarity() != Similarity::Cosine)
        {
            return Err(Error::data(
                "models that are joined are compared by the cosine",
            ));
        }
        Ok(Self { parts })
    }

    /// The models.
    pub fn parts(&self) -> &[Model] {
        &self.parts
    }

    pub(super) fn input_dim(&self) -> usize {
        self.parts[0].input_dim()
    }

    pub(super) fn output_dim(&self) -> usize {
        self.parts.iter().map(Model::output_dim).sum()
    }

    pub(super) fn rows(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        let share = (self.parts.len() as f32).sqrt().recip();
        let rows = self.parts.iter().map(|part| Ok(part.rows(x)? * share));
        let rows: Vec<Array2<f32>> = rows.collect::<Result<_>>()?;
        let views: Vec<_> = rows.iter().map(|rows| rows.view()).collect();
        match ndarray::concatenate(Axis(1), &views) {
            Ok(rows) => Ok(rows),
            Err(_) => unreachable!("parts of the same rows"),
        }
    }

    pub(super) fn kinds(&self) -> Parts {
        Parts {
            parts: self.parts.iter().map(Model::kind).collect(),
        }
    }

    pub(super) fn put(&self, arrays: &mut Arrays) {
        for (place, part) in self.parts.iter().enumerate() {
            arrays.put_all(&prefix(place), part.arrays());
        }
    }

    pub(super) fn of(kinds: Parts, arrays: &Arrays) -> Result<Self> {
        let parts = kinds.parts.into_iter().enumerate();
        let part = |(place, kind)| Model::from_arrays(kind, &arrays.under(&prefix(place)));
        Self::new(parts.map(part).collect::<Result<_>>()?)
    }
}

fn prefix(place: usize) -> String {
    format!("{place}.")
}
