//! In a build without networks: learners across views by them, which do not begin.

use likewise::Monitor;
use likewise::cross::{Model, Views};

use super::acmr::Acmr;
use super::growbit::{DeepGrowBit, Grown};
use crate::{Device, Error, Result, networks};

impl Acmr {
    /// Fails: see [`networks`].
    pub fn fit(&self, _: &Views, _: u64, _: &Device, _: &Monitor) -> Result<Model> {
        networks("acmr")?;
        Err(Error::data("there is no acmr"))
    }
}

impl DeepGrowBit {
    /// Fails: see [`networks`].
    pub fn fit(
        &self,
        _: &Views,
        _: Option<&Grown>,
        _: u64,
        _: &Device,
        _: &Monitor,
    ) -> Result<Grown> {
        networks("deep-growbit")?;
        Err(Error::data("there is no deep-growbit"))
    }
}
