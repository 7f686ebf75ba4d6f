//! Several models side by side.

use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::{Kind, Model};
use crate::arrays::Arrays;
use crate::{Error, Result, Similarity};

/// The rows of several models side by side, each times the root of its share, so that the cosine is the mean of
/// theirs by these shares.
#[derive(Debug, Clone, PartialEq)]
pub struct Joined {
    parts: Vec<(Model, f64)>,
}

/// Kinds of the models that are joined.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parts {
    /// One each.
    pub parts: Vec<Kind>,
    /// Their shares, 1 together.
    pub shares: Vec<f64>,
}

impl Joined {
    /// Of these models with their shares, above 0 and 1 together.
    ///
    /// Fails without any, where one reads another number of columns, where one is not compared by the cosine, and on
    /// other shares.
    pub fn new(parts: Vec<(Model, f64)>) -> Result<Self> {
        let Some((first, _)) = parts.first() else {
            return Err(Error::data("no models to join"));
        };
        let all: f64 = parts.iter().map(|(_, share)| share).sum();
        if (all - 1.0).abs() > 1e-9 || !parts.iter().all(|(_, share)| *share > 0.0) {
            let message = "shares of models that are joined are above 0, and 1 together";
            return Err(Error::data(message));
        }
        let columns = first.input_dim();
        if parts.iter().any(|(part, _)| part.input_dim() != columns) {
            return Err(Error::data("models that are joined read the same columns"));
        }
        if parts
            .iter()
            .any(|(part, _)| part.similarity() != Similarity::Cosine)
        {
            return Err(Error::data(
                "models that are joined are compared by the cosine",
            ));
        }
        Ok(Self { parts })
    }

    /// The models with their shares.
    pub fn parts(&self) -> &[(Model, f64)] {
        &self.parts
    }

    pub(super) fn input_dim(&self) -> usize {
        self.parts[0].0.input_dim()
    }

    pub(super) fn output_dim(&self) -> usize {
        self.parts.iter().map(|(part, _)| part.output_dim()).sum()
    }

    pub(super) fn rows(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        let each = self.parts.iter();
        let rows = each.map(|(part, share)| Ok(part.rows(x)? * share.sqrt() as f32));
        let rows: Vec<Array2<f32>> = rows.collect::<Result<_>>()?;
        let views: Vec<_> = rows.iter().map(|rows| rows.view()).collect();
        match ndarray::concatenate(Axis(1), &views) {
            Ok(rows) => Ok(rows),
            Err(_) => unreachable!("parts of the same rows"),
        }
    }

    pub(super) fn kinds(&self) -> Parts {
        Parts {
            parts: self.parts.iter().map(|(part, _)| part.kind()).collect(),
            shares: self.parts.iter().map(|(_, share)| *share).collect(),
        }
    }

    pub(super) fn put(&self, arrays: &mut Arrays) {
        for (place, (part, _)) in self.parts.iter().enumerate() {
            arrays.put_all(&prefix(place), part.arrays());
        }
    }

    pub(super) fn of(kinds: Parts, arrays: &Arrays) -> Result<Self> {
        let Parts { parts, shares } = kinds;
        if parts.len() != shares.len() {
            return Err(Error::data(format!(
                "{} models that are joined have {} shares",
                parts.len(),
                shares.len()
            )));
        }
        let each = parts.into_iter().zip(shares).enumerate();
        let part = |(place, (kind, share))| {
            let model = Model::from_arrays(kind, &arrays.under(&prefix(place)))?;
            Ok((model, share))
        };
        Self::new(each.map(part).collect::<Result<_>>()?)
    }
}

fn prefix(place: usize) -> String {
    format!("{place}.")
}
