//! What turns images into rows of features.

use std::fmt;

use ndarray::{Array2, Array4, Axis};

use crate::load::value;
use crate::{Preprocess, Result};

/// Turns images into rows of features.
pub struct Encoder {
    /// Name of the view that it gives.
    pub name: String,
    /// Digest of its weights: what was cached under another one is not used.
    pub digest: String,
    /// What it wants of an image.
    pub preprocess: Preprocess,
    /// Features an image.
    pub dimensions: usize,
    /// Images it takes at once.
    pub batch: usize,
    /// Images x channels x height x width to images x features.
    pub encode: Box<Encode>,
}

/// The work of an [`Encoder`].
pub type Encode = dyn Fn(Array4<f32>) -> Result<Array2<f32>>;

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder")
            .field("name", &self.name)
            .field("digest", &self.digest)
            .field("preprocess", &self.preprocess)
            .field("dimensions", &self.dimensions)
            .finish_non_exhaustive()
    }
}

impl Encoder {
    /// The baseline that needs no network: the pixels of `size` x `size` RGB, 0 to 255, all
    /// red ones first, as the view `pixels`. Also what a network that is trained reads.
    ///
    /// Finds copies, and tells apart what differs in colour and layout; not what a picture
    /// shows.
    pub fn pixels(size: u32) -> Self {
        let preprocess = Preprocess {
            size,
            scale: 1.0,
            ..Preprocess::cifar()
        };
        let (channels, height, width) = preprocess.shape();
        let dimensions = channels * height * width;
        Self {
            name: "pixels".into(),
            digest: format!("pixels-{size}"),
            preprocess,
            dimensions,
            batch: 256,
            encode: Box::new(move |images| {
                let n = images.len_of(Axis(0));
                let rows = images.into_shape_with_order((n, dimensions));
                rows.map_err(|e| value(format!("pixels: {e}")))
            }),
        }
    }

    /// The features of a batch, checked.
    pub(crate) fn rows(&self, pixels: Array4<f32>) -> Result<Array2<f32>> {
        let expected = (pixels.len_of(Axis(0)), self.dimensions);
        let rows = (self.encode)(pixels).map_err(|e| e.within(&self.name))?;
        if rows.dim() != expected {
            return Err(value(format!(
                "encoder {} gave features of shape {:?}, not {expected:?}",
                self.name,
                rows.dim()
            )));
        }
        likewise::matrix::check_finite(rows.view(), &format!("features of {}", self.name))?;
        Ok(rows)
    }
}
