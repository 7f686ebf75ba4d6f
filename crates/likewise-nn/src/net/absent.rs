//! In a build without networks: the encoder that there is none of.

use std::path::Path;

use ndarray::{Array2, ArrayView4};

use super::encoder::EncoderConfig;
use super::weights::Weights;
use crate::{Device, Error, Result, networks};

/// The network of an [`EncoderConfig`]: a build without networks cannot have one.
#[derive(Debug)]
pub enum Encoder {}

fn none<T>() -> Result<T> {
    networks("an encoder")?;
    Err(Error::data("there is no encoder"))
}

impl EncoderConfig {
    /// Fails: see [`networks`].
    pub fn init(&self, _: u64, _: &Device) -> Result<Encoder> {
        none()
    }
}

impl Encoder {
    /// Fails: see [`networks`].
    pub fn open(_: &Path, _: &Device) -> Result<Self> {
        none()
    }

    /// Its choices.
    pub fn config(&self) -> &EncoderConfig {
        match *self {}
    }

    /// This encoder with other weights.
    pub fn load(self, _: Weights) -> Result<Self> {
        match self {}
    }

    /// Embeds preprocessed images.
    pub fn embed(&self, _: ArrayView4<f32>) -> Result<Array2<f32>> {
        match *self {}
    }

    /// Bytes that embedding takes.
    pub fn memory_to_embed(&self, _: [usize; 2], _: usize) -> u64 {
        match *self {}
    }

    /// Bytes that training takes.
    pub fn memory_to_train(&self, _: usize) -> u64 {
        match *self {}
    }

    /// Number of trained values.
    pub fn n_parameters(&self) -> usize {
        match *self {}
    }
}

impl Weights {
    /// Fails: see [`networks`].
    pub fn read(_: impl AsRef<Path>) -> Result<Self> {
        none()
    }
}
