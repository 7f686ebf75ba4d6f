//! In a build without networks: label prediction, which does not begin.

use likewise::Monitor;

use super::predicted::Predicted;
use super::rows::Rows;
use super::settings::Lpf;
use crate::{Device, Error, Result, networks};

impl Lpf {
    /// Fails: see [`networks`].
    pub fn fit(
        &self,
        _: &[Rows],
        _: &[Option<u32>],
        _: usize,
        _: u64,
        _: &Device,
        _: &Monitor,
    ) -> Result<Predicted> {
        networks("label prediction")?;
        Err(Error::data("there is no label prediction"))
    }
}
