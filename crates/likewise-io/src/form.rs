//! The forms of data files: told apart by their names, and read.
//!
//! A new form is a line of the list here; reading, its place in messages and the tests that ask
//! every form follow from it.

use std::path::Path;

use likewise::Monitor;

use crate::assemble::{Parts, Shape};
use crate::input::Input;
use crate::options::ReadOptions;
use crate::{Error, Result, csv, idx, jsonl, npy, npz, parquet, safetensors, xlsx};

/// What reads a form.
struct Reader {
    /// Endings of file names, in small letters.
    endings: &'static [&'static str],
    read: fn(Input, &ReadOptions, &Monitor) -> Result<Parts>,
    /// Number of items, views and their dimensions, from headers.
    shape: fn(Input, &ReadOptions) -> Result<Shape>,
}

/// One line a form: its name, the endings of its files, what it is, and the two functions of its
/// [`Reader`].
macro_rules! forms {
    ($($form:ident [$($ending:literal),*] $what:literal, $read:expr, $shape:expr;)*) => {
        /// The form of a data file.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Form {
            $(#[doc = $what] $form,)*
        }

        impl Form {
            /// All forms.
            pub const ALL: &'static [Self] = &[$(Self::$form),*];

            const fn reader(self) -> Reader {
                match self {
                    $(Self::$form => Reader {
                        endings: &[$($ending),*],
                        read: $read,
                        shape: $shape,
                    },)*
                }
            }
        }
    };
}

forms! {
    Npy ["npy"] "A numpy array.",
        npy::read, |input, _| npy::shape(input);
    Npz ["npz"] "An archive of numpy arrays.",
        npz::read, npz::shape;
    Csv ["csv"] "Comma-separated text.",
        |input, options, monitor| csv::read(input, b',', options, monitor),
        |input, options| csv::shape(input, b',', options);
    Tsv ["tsv"] "Tab-separated text.",
        |input, options, monitor| csv::read(input, b'\t', options, monitor),
        |input, options| csv::shape(input, b'\t', options);
    Parquet ["parquet"] "A Parquet table.",
        parquet::read, parquet::shape;
    Xlsx ["xlsx", "xlsm"] "A spreadsheet of Excel: its first sheet that holds a table.",
        xlsx::read, xlsx::shape;
    Jsonl ["jsonl", "ndjson"] "One JSON object a line.",
        jsonl::read, jsonl::shape;
    Safetensors ["safetensors"] "Tensors in the safetensors format.",
        safetensors::read, safetensors::shape;
    // Told by more than the ending: see `idx::is_name`.
    Idx [] "An idx array, as of MNIST.",
        |input, options, monitor| idx::read(input, false, options, monitor),
        |input, _| idx::shape(input, false);
    IdxGz [] "A gzipped idx array.",
        |input, options, monitor| idx::read(input, true, options, monitor),
        |input, _| idx::shape(input, true);
}

/// The supported forms, for messages.
pub(crate) fn supported() -> String {
    let endings = Form::ALL.iter().flat_map(|form| form.reader().endings);
    let endings: Vec<String> = endings.map(|ending| format!(".{ending}")).collect();
    format!(
        "{}, and idx (.idx or -ubyte, also .gz, or a folder of them)",
        endings.join(", ")
    )
}

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
        match idx::is_name(&name) {
            Some(true) => return Ok(Form::IdxGz),
            Some(false) => return Ok(Form::Idx),
            None => {}
        }
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        let ending = ending.to_ascii_lowercase();
        let has = |form: &&Form| form.reader().endings.contains(&ending.as_str());
        if let Some(form) = Form::ALL.iter().find(has) {
            return Ok(*form);
        }
        let supported = supported();
        Err(Error::parameter(match ending.as_str() {
            "jpg" | "jpeg" | "png" | "bmp" | "gif" | "tif" | "tiff" | "webp" => {
                format!("an image; images are read by likewise-image, here {supported}")
            }
            _ => format!("not a known form of data; supported are {supported}"),
        }))
    }

    /// Whether the columns of such a file have names and may hold anything.
    pub fn is_table(self) -> bool {
        matches!(
            self,
            Self::Csv | Self::Tsv | Self::Xlsx | Self::Jsonl | Self::Parquet
        )
    }

    pub(crate) fn read(
        self,
        input: Input,
        options: &ReadOptions,
        monitor: &Monitor,
    ) -> Result<Parts> {
        (self.reader().read)(input, options, monitor)
    }

    /// What [`read`](Self::read) would read.
    pub(crate) fn shape(self, input: Input, options: &ReadOptions) -> Result<Shape> {
        (self.reader().shape)(input, options)
    }
}
