//! Where items come from, and how they are read.

use std::path::{Path, PathBuf};

use clap::Args;
use likewise::{Error, ErrorKind};
use likewise_study::data;
use likewise_study::source::{Maker, ReadAs, Source};

use super::table::Table;

/// Where items come from.
#[derive(Debug, Clone, Args)]
pub(crate) struct Data {
    /// The data: .npy, .npz, .csv, .xlsx, .jsonl, .parquet, .safetensors, MNIST idx, or images or
    /// texts in a folder
    #[arg(value_name = "DATA", required_unless_present = "data_flag")]
    positional: Option<PathBuf>,
    /// The data, from a file of settings.
    #[arg(long = "data", id = "data_flag", hide = true, value_name = "DATA")]
    flag: Option<PathBuf>,
    /// Labels: a csv with id and label, or an .npy with one label an item; -1, empty or
    /// null mean unlabeled.
    #[arg(long, value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,
    /// The feature matrix to use, if the data hold several; given again, these side by side. fit, graph and propagate
    /// fuse their graphs, and fit with a recipe across views (gsph, cca ...) searches from one to another.
    #[arg(long, value_name = "NAME")]
    pub(crate) view: Vec<String>,
    #[command(flatten)]
    pub(crate) table: Table,
    #[command(flatten)]
    pub(crate) images: Images,
}

/// How images are read.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Images")]
pub(crate) struct Images {
    /// Turn images into features by a file of a network, or by descriptors, with commas between:
    /// hist, glcm, lbp, gist, phog; sift, dsift, surf, gb as visual words; net:FILE for a network
    /// among them. Each is a view of its name. Default: their pixels.
    #[arg(long, value_name = "FILE|LIST")]
    pub(crate) encoder: Option<PathBuf>,
    /// Visual words to learn of each descriptor of points. Default: 200.
    #[arg(long, value_name = "N")]
    pub(crate) words: Option<usize>,
    /// Squeeze the whole image into the square that the network reads, instead of cutting out
    /// its middle.
    #[arg(long)]
    pub(crate) squeeze: bool,
    /// Side of the square that the encoder reads, where not that of its training. Half of it is
    /// four times as fast, and coarser.
    #[arg(long, value_name = "PIXELS", requires = "encoder")]
    pub(crate) side: Option<usize>,
    /// Leave out images that cannot be read, with a warning, instead of failing.
    #[arg(long)]
    pub(crate) skip_bad: bool,
}

/// The name of one view, or of several side by side.
pub(crate) fn joined(views: &[String]) -> Option<String> {
    (!views.is_empty()).then(|| views.join("+"))
}

impl Images {
    /// The first of these flags that was given.
    pub(crate) fn first(&self) -> Option<&'static str> {
        let given = [
            ("--encoder", self.encoder.is_some()),
            ("--words", self.words.is_some()),
            ("--side", self.side.is_some()),
            ("--squeeze", self.squeeze),
            ("--skip-bad", self.skip_bad),
        ];
        given
            .into_iter()
            .find(|(_, given)| *given)
            .map(|(flag, _)| flag)
    }
}

/// How data are read with these flags; `seed` is of what is learned of images.
pub(crate) fn read_as(
    labels: Option<&Path>,
    views: &[String],
    table: &Table,
    images: &Images,
    seed: u64,
) -> likewise::Result<ReadAs> {
    let encoder = images.encoder.as_deref().map(Maker::list_or_file);
    let mut after = views.iter().skip(1).zip(1..);
    if let Some((view, _)) = after.find(|(view, at)| views[..*at].contains(view)) {
        let message = format!("`view {view}`: given twice; name each view once");
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    Ok(ReadAs {
        labels: labels.map(Path::to_owned),
        view: joined(views),
        apart: false,
        widths: Vec::new(),
        encoder: encoder.transpose()?.unwrap_or_default(),
        words: images.words,
        seed,
        vocabularies: Vec::new(),
        side: images.side,
        squeeze: images.squeeze,
        skip_bad: images.skip_bad,
        table: table.options(),
        layout: None,
        scaled_from: None,
    })
}

impl Data {
    /// What is there, and how it is read.
    pub(crate) fn source(&self, seed: u64) -> likewise::Result<Source> {
        self.asked(seed)?.open()
    }

    /// Where it is, and how it is read.
    pub(crate) fn asked(&self, seed: u64) -> likewise::Result<data::Data> {
        Ok(data::Data {
            path: self.path().to_owned(),
            read: self.read_as(seed)?,
        })
    }

    /// How it is read.
    pub(crate) fn read_as(&self, seed: u64) -> likewise::Result<ReadAs> {
        let labels = self.labels.as_deref();
        read_as(labels, &self.view, &self.table, &self.images, seed)
    }

    /// The path of the data, wherever it was given.
    pub(crate) fn path(&self) -> &Path {
        let path = self.positional.as_deref().or(self.flag.as_deref());
        path.unwrap_or_else(|| Path::new(""))
    }
}
