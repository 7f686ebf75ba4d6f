//! A similarity as it is written down: arrays, and what they do not tell.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::learned::Learned;
use super::parameters::{Omks, Source};
use super::similarity::Similarity;
use crate::arrays::Arrays;
use crate::{Error, Result};

/// What the arrays of a similarity do not tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Described {
    /// The parameters.
    omks: Omks,
    /// The kernels, with their widths.
    kernels: Vec<Source>,
    /// Triplets that were learned from.
    seen: u64,
    /// Of each kernel, those that it had the wrong way round, and those that changed it.
    mistakes: Vec<u64>,
    updates: Vec<u64>,
}

impl Similarity {
    /// What the [arrays](Self::put) do not tell.
    pub(crate) fn described(&self) -> Described {
        Described {
            omks: self.omks,
            kernels: self.sources.clone(),
            seen: self.seen,
            mistakes: self.mistakes().collect(),
            updates: self.updates().collect(),
        }
    }

    /// The rows of view `v` as `view.v.rows` (`n x d`), and of kernel `i` its coefficients `A` as
    /// `kernel.i.weights` and `(A K)^T` as `kernel.i.carried` (both `n x n`), from which learning goes
    /// on bit for bit.
    pub(crate) fn put(&self, arrays: &mut Arrays) {
        for (v, rows) in self.rows.iter().enumerate() {
            arrays.put_matrix32(format!("view.{v}.rows"), rows);
        }
        for (i, learned) in self.learned.iter().enumerate() {
            arrays.put_matrix(format!("kernel.{i}.weights"), &learned.weights);
            arrays.put_matrix(format!("kernel.{i}.carried"), &learned.carried);
        }
    }

    /// The similarity of such arrays, of so many views. Fails where they do not fit.
    pub(crate) fn of(described: &Described, views: usize, arrays: &Arrays) -> Result<Self> {
        let kernels = described.kernels.len();
        if described.mistakes.len() != kernels || described.updates.len() != kernels {
            return Err(Error::data("a kernel without its counts of triplets"));
        }
        let rows = (0..views).map(|v| arrays.matrix32(&format!("view.{v}.rows")));
        let learned = (0..kernels).map(|i| {
            described.kernels[i].kernel.validate()?;
            Ok(Learned {
                weights: arrays.matrix64(&format!("kernel.{i}.weights"))?,
                carried: arrays.matrix64(&format!("kernel.{i}.carried"))?,
                mistakes: described.mistakes[i],
                updates: described.updates[i],
            })
        });
        let own = Self {
            omks: described.omks,
            sources: described.kernels.clone(),
            learned: learned.collect::<Result<_>>()?,
            rows: rows.collect::<Result<Vec<Array2<f32>>>>()?,
            seen: described.seen,
        };
        own.check()?;
        Ok(own)
    }
}
