//! Several models side by side.

use ndarray::{Array2, Axis};
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The rows of several models side by side, each times the root of its share, so that the cosine is the mean of
/// theirs by these shares. [`Model::joined`](super::Model::joined) makes one.
#[derive(Debug, Clone, PartialEq)]
pub struct Joined<M> {
    parts: Vec<(M, f64)>,
}

/// Kinds of the models that are joined.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parts<K> {
    /// One each.
    pub parts: Vec<K>,
    /// Their shares, 1 together.
    pub shares: Vec<f64>,
}

impl<M> Joined<M> {
    /// Of these with their shares, above 0 and 1 together; fails on others, and without any.
    pub(super) fn new(parts: Vec<(M, f64)>) -> Result<Self> {
        let all: f64 = parts.iter().map(|(_, share)| share).sum();
        let is_share = |(_, share): &(M, f64)| *share > 0.0;
        if (all - 1.0).abs() < 1e-9 && parts.iter().all(is_share) {
            return Ok(Self { parts });
        }
        Err(Error::data(
            "shares of models that are joined are above 0, and 1 together",
        ))
    }

    /// The models with their shares.
    pub fn parts(&self) -> &[(M, f64)] {
        &self.parts
    }

    /// Their rows, of which `each` makes those of one.
    pub(super) fn rows(&self, each: impl Fn(&M) -> Result<Array2<f32>>) -> Result<Array2<f32>> {
        let parts = self.parts.iter();
        let rows = parts.map(|(part, share)| Ok(each(part)? * share.sqrt() as f32));
        let rows: Vec<Array2<f32>> = rows.collect::<Result<_>>()?;
        let views: Vec<_> = rows.iter().map(|rows| rows.view()).collect();
        match ndarray::concatenate(Axis(1), &views) {
            Ok(rows) => Ok(rows),
            Err(_) => unreachable!("parts of the same rows"),
        }
    }

    pub(super) fn kinds<K>(&self, of: impl Fn(&M) -> K) -> Parts<K> {
        Parts {
            parts: self.parts.iter().map(|(part, _)| of(part)).collect(),
            shares: self.parts.iter().map(|(_, share)| *share).collect(),
        }
    }
}

/// What the names of arrays of a part begin with.
pub(super) fn prefix(place: usize) -> String {
    format!("{place}.")
}
