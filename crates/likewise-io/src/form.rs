//! The forms of data files, told apart by their names.

use std::path::Path;

use crate::{Error, Result};

/// The form of a data file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Form {
    /// A numpy array.
    Npy,
    /// An archive of numpy arrays.
    Npz,
    /// Comma-separated text.
    Csv,
    /// Tab-separated text.
    Tsv,
    /// A Parquet table.
    Parquet,
    /// Tensors in the safetensors format.
    Safetensors,
    /// An idx array, as of MNIST.
    Idx,
    /// A gzipped idx array.
    IdxGz,
}

/// The supported forms, for messages.
pub(crate) const FORMS: &str = ".npy, .npz, .csv, .tsv, .parquet, .safetensors, and idx \
                     (.idx or -ubyte, also .gz, or a folder of them)";

impl Form {
    /// The form that a file name means, by its ending.
    ///
    /// Fails with kind `Parameter` and the list of supported endings for any other.
    ///
    /// ```
    /// use likewise_io::Form;
    /// assert_eq!(Form::of("a/b.NPZ")?, Form::Npz);
    /// assert_eq!(Form::of("train-images-idx3-ubyte.gz")?, Form::IdxGz);
    /// assert!(Form::of("a.jpg").is_err());
    /// # Ok::<(), likewise_io::Error>(())
    /// ```
    pub fn of(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::parse(path).map_err(|e| e.within(path.display()))
    }

    pub(crate) fn parse(path: &Path) -> Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match is_idx_name(&name) {
            Some(true) => return Ok(Form::IdxGz),
            Some(false) => return Ok(Form::Idx),
            None => {}
        }
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        Ok(match ending.to_ascii_lowercase().as_str() {
            "npy" => Form::Npy,
            "npz" => Form::Npz,
            "csv" => Form::Csv,
            "tsv" => Form::Tsv,
            "parquet" => Form::Parquet,
            "safetensors" => Form::Safetensors,
            "jpg" | "jpeg" | "png" | "bmp" | "gif" | "tif" | "tiff" | "webp" => {
                return Err(Error::parameter(format!(
                    "an image; images are read by likewise-image, here {FORMS}"
                )));
            }
            _ => {
                return Err(Error::parameter(format!(
                    "not a known form of data; supported are {FORMS}"
                )));
            }
        })
    }
}

/// Whether a file name is that of an idx file, and whether it is gzipped.
pub(crate) fn is_idx_name(name: &str) -> Option<bool> {
    let name = name.to_ascii_lowercase();
    let (name, gzip) = match name.strip_suffix(".gz") {
        Some(name) => (name, true),
        None => (name.as_str(), false),
    };
    let (_, ending) = name.rsplit_once(['.', '-'])?;
    let known = ending == "idx"
        || ending == "ubyte"
        || (ending.starts_with("idx") && ending.ends_with("-ubyte"));
    known.then_some(gzip)
}
