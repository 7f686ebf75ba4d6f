//! A head as named arrays.

use std::collections::BTreeMap;

use likewise::arrays::{Arrays, Values};
use likewise::linear::Affine;
use likewise::matrix::Reading;
use ndarray::Array2;

use super::head::{DIRECTIONS, Head, HeadConfig};
use crate::{Error, Result};

/// Part of the name of every trained matrix.
const RESIDUAL: &str = "residual.";

impl Head {
    /// Its arrays: `start.mean` (`d`) and `start.matrix` (`d x r`) in f64, and the trained
    /// matrices as `residual.*` in f32.
    pub fn arrays(&self) -> Arrays {
        let mut arrays = Arrays::default();
        let mean = self.start.mean.to_vec();
        arrays.put("start.mean", &[mean.len()], Values::F64(mean));
        arrays.put_matrix("start.matrix", &self.start.matrix);
        for (name, matrix) in &self.residual {
            arrays.put_matrix32(format!("{RESIDUAL}{name}"), matrix);
        }
        arrays
    }

    /// The head of such arrays. Fails where they do not fit each other.
    pub fn from_arrays(config: HeadConfig, reading: Reading, arrays: &Arrays) -> Result<Self> {
        config.validate()?;
        let start = Affine {
            mean: arrays.vector64("start.mean")?,
            matrix: arrays.matrix64("start.matrix")?,
        };
        let (d, r) = start.matrix.dim();
        if start.mean.len() != d || d == 0 || r == 0 {
            return Err(Error::data("start.mean and start.matrix do not fit"));
        }
        let trained = arrays.under(RESIDUAL);
        let names = trained.iter().map(|(name, ..)| name);
        let residual: BTreeMap<String, Array2<f32>> = names
            .map(|name| Ok((name.to_owned(), trained.matrix32(name)?)))
            .collect::<Result<_>>()?;
        let dim = |name: &str| residual.get(name).map(Array2::dim);
        let fits = match (dim("input.weight"), dim("input.bias"), dim("output.weight")) {
            (None, None, Some(output)) => output == (r, config.learned_dim(r)),
            (Some(input), Some(bias), Some(output)) => {
                input.0 == r && bias == (1, input.1) && output == (input.1, config.learned_dim(r))
            }
            _ => false,
        };
        let fits =
            fits && dim(DIRECTIONS).is_none_or(|map| map.0 == config.learned_dim(r) && map.1 > 0);
        if !fits {
            return Err(Error::data("the trained matrices do not fit each other"));
        }
        Ok(Self {
            config,
            reading,
            start,
            residual,
        })
    }
}
