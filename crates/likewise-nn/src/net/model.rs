//! A fitted model: whatever turns rows into embeddings and can be saved.

use burn::tensor::Device;
use ndarray::{Array2, ArrayView2};

use super::deep::Deep;
use super::head::Head;
use crate::{Recipe, Result};

/// A fitted model: rows in, unit rows out.
#[derive(Debug, Clone, PartialEq)]
pub enum Model {
    /// A head on features as they are.
    Head(Head),
    /// A network on images, one a row.
    Deep(Deep),
}

impl Model {
    /// Columns that it reads.
    pub fn input_dim(&self) -> usize {
        match self {
            Self::Head(head) => head.input_dim(),
            Self::Deep(deep) => deep.input_dim(),
        }
    }

    /// Columns of an embedding.
    pub fn output_dim(&self) -> usize {
        match self {
            Self::Head(head) => head.output_dim(),
            Self::Deep(deep) => deep.output_dim(),
        }
    }

    /// Embeds rows (`n x input_dim`) into unit rows (`n x output_dim`), in blocks; a network
    /// does so on `device`, a head always on the CPU.
    ///
    /// Fails on a wrong number of columns.
    pub fn embed(&self, x: ArrayView2<f32>, device: &Device) -> Result<Array2<f32>> {
        match self {
            Self::Head(head) => head.embed(x),
            Self::Deep(deep) => deep.embed(x, device),
        }
    }

    /// The bytes of a safetensors file.
    pub fn to_safetensors(&self) -> Result<Vec<u8>> {
        match self {
            Self::Head(head) => head.to_safetensors(),
            Self::Deep(deep) => deep.to_safetensors(),
        }
    }

    /// The model of such bytes, as `recipe` describes it. The recipe of a network may have
    /// kept a head on features, where training the network did not help.
    ///
    /// Fails on broken bytes, and on tensors that do not fit.
    pub fn from_safetensors(recipe: &Recipe, bytes: &[u8]) -> Result<Self> {
        match &recipe.encoder {
            Some(encoder) if Deep::is_in(bytes) => {
                let keep = recipe.head.keep;
                Deep::from_safetensors(encoder.clone(), keep, bytes).map(Self::Deep)
            }
            _ => Head::from_safetensors(recipe.head, bytes).map(Self::Head),
        }
    }
}
