//! What makes one row of an image: a descriptor of the whole, or the words of its points.

use image::RgbImage;

use crate::Result;
use crate::descriptor::{Descriptor, Kind, Whole};
use crate::load::value;
use crate::words::Vocabulary;

/// What makes one row of an image.
#[derive(Debug, Clone, PartialEq)]
pub enum Describer {
    /// A descriptor of the whole image.
    Whole(Descriptor),
    /// Words of points in it.
    Words(Vocabulary),
}

impl Describer {
    /// The name of its descriptor, and of the view it gives.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Whole(descriptor) => descriptor.name(),
            Self::Words(words) => words.descriptor().name(),
        }
    }

    /// Numbers of a row.
    pub fn dimensions(&self) -> usize {
        match self {
            Self::Whole(descriptor) => match descriptor.kind() {
                Kind::Whole(whole) => whole.dimensions(),
                Kind::Local(_) => 0,
            },
            Self::Words(words) => words.words().nrows(),
        }
    }

    /// Bytes that it holds for each pixel of the image that it works on, beside the image.
    pub(super) fn held_per_pixel(&self) -> u64 {
        match self {
            Self::Whole(descriptor) => descriptor.held_per_pixel(),
            Self::Words(words) => words.descriptor().held_per_pixel(),
        }
    }

    /// What tells its rows from those of others.
    pub(super) fn key(&self) -> Result<String> {
        Ok(match self {
            Self::Whole(descriptor) => serde_json::to_string(descriptor)
                .map_err(|e| value(format!("{}: {e}", self.name())))?,
            Self::Words(words) => format!("words {}", words.digest()),
        })
    }

    /// Fails for a descriptor of points, which needs words.
    pub(super) fn ready(&self) -> Result<Ready<'_>> {
        match self {
            Self::Words(words) => Ok(Ready::Words(words)),
            Self::Whole(descriptor) => {
                descriptor.validate()?;
                match descriptor.kind() {
                    Kind::Whole(whole) => Ok(match whole.prepared() {
                        Some(prepared) => Ready::Prepared(prepared),
                        None => Ready::Whole(whole),
                    }),
                    Kind::Local(_) => Err(value(format!(
                        "{} describes points; learn words of them first",
                        self.name()
                    ))),
                }
            }
        }
    }
}

/// A describer with its tables.
pub(super) enum Ready<'a> {
    Whole(&'a dyn Whole),
    Prepared(Box<dyn Whole>),
    Words(&'a Vocabulary),
}

impl Ready<'_> {
    pub(super) fn row(&self, image: &RgbImage) -> Vec<f32> {
        match self {
            Self::Whole(whole) => whole.describe(image),
            Self::Prepared(whole) => whole.describe(image),
            Self::Words(words) => words.describe(image),
        }
    }
}
