//! What a run says of itself: `config.json` and `run.json`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use likewise_io::Layout;
use serde::{Deserialize, Serialize};

use super::parts::Parts;
use crate::recipe::Recipe;
use crate::study::Protocol;

/// `config.json` and `run.json`.
pub(super) const CONFIG: &str = "config.json";
pub(super) const RECORD: &str = "run.json";
pub(super) const EMBEDDINGS: &str = "embeddings.npy";

/// The network that made features of images.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Encoded {
    /// Its file, from the root of the file system.
    pub file: PathBuf,
    /// Side of the square that it reads, where not that of its training.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<usize>,
    /// Whether the whole image is squeezed into the square.
    #[serde(default)]
    pub squeeze: bool,
}

/// `config.json`: all choices, resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// Version of the program that wrote it.
    pub version: String,
    /// View that was fitted on.
    pub view: String,
    /// Columns of that view.
    pub dimensions: usize,
    /// How the columns of the table became features, where the data were one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<Layout>,
    /// The network that made the features, where the data were images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoder: Option<Encoded>,
    /// The recipe.
    pub recipe: Recipe,
    /// The protocol.
    pub protocol: Protocol,
}

/// `run.json`: how the run came about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Version of the program that wrote it.
    pub version: String,
    /// What was asked for.
    pub arguments: Vec<String>,
    /// Seed of every random step.
    pub seed: u64,
    /// The data, in words.
    pub data: String,
    /// Their digest.
    pub data_sha256: String,
    /// Items of the run.
    pub items: usize,
    /// How many of them, the last ones, were added since it was fitted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub added: usize,
    /// Seconds by step: reading, the study, writing.
    pub seconds: BTreeMap<String, f64>,
    /// The same time by stage of the work.
    #[serde(default)]
    pub stages: BTreeMap<String, f64>,
    /// Most memory that the process held, where the system tells.
    pub peak_memory_bytes: Option<u64>,
    /// Threads that worked.
    pub threads: usize,
    /// How the data were read; together with their digest it tells them from others.
    #[serde(default)]
    pub read_as: String,
    /// What tells the files of this run from those of another.
    #[serde(default)]
    pub parts: Parts,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "for serde")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// What tells the data of a run from others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Their digest.
    pub data_sha256: String,
    /// What was taken of them, and how.
    pub read_as: String,
}
