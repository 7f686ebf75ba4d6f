//! What a run says of itself: `config.json` and `run.json`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use likewise_image::descriptor::Descriptor;
use likewise_io::Layout;
use serde::{Deserialize, Serialize};

use super::parts::Parts;
use crate::recipe::Recipe;
use crate::study::Protocol;
use crate::{Result, usage};

/// `config.json` and `run.json`.
pub(super) const CONFIG: &str = "config.json";
pub(super) const RECORD: &str = "run.json";
pub(super) const EMBEDDINGS: &str = "embeddings.npy";
/// Folder of the words of descriptors of points.
pub(super) const WORDS: &str = "words";
pub(super) const CODES: &str = "codes.npy";

/// What `read_as` says where items may have several labels each.
pub const SEVERAL_LABELS: &str = "; several labels, ";

impl Record {
    /// Fails where the items of the run may have several labels each, of which `what` knows nothing.
    pub fn check_single_labels(&self, what: &str) -> Result<()> {
        if !self.read_as.contains(SEVERAL_LABELS) {
            return Ok(());
        }
        Err(usage(format!(
            "{what} goes by one label an item, and the items of this run have several each; search it, or fit \
             the data with the one that matters"
        )))
    }
}

/// What made features of images.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Encoded {
    /// A network.
    Network {
        /// Its file, from the root of the file system.
        file: PathBuf,
        /// Side of the square that it reads, where not that of its training.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        side: Option<usize>,
        /// Whether the whole image is squeezed into the square.
        #[serde(default)]
        squeeze: bool,
    },
    /// A descriptor.
    Descriptor {
        /// Its name and parameters.
        descriptor: Descriptor,
        /// Of one of points: the digest of its words, which have a file of their own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        words: Option<String>,
    },
}

/// What made the features, as it stands in `config.json`: nothing, one, or a list.
mod encoders {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Encoded;

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        One(Encoded),
        Several(Vec<Encoded>),
    }

    pub(super) fn serialize<S: Serializer>(encoders: &[Encoded], to: S) -> Result<S::Ok, S::Error> {
        match encoders {
            [one] => one.serialize(to),
            several => several.serialize(to),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<Encoded>, D::Error> {
        Ok(match Written::deserialize(from)? {
            Written::One(one) => vec![one],
            Written::Several(several) => several,
        })
    }
}

/// `config.json`: all choices, resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// Version of the program that wrote it.
    pub version: String,
    /// View that was fitted on; of a run across views their names with `+` between.
    pub view: String,
    /// Columns of that view, or of all of them.
    pub dimensions: usize,
    /// How the columns of the table became features, where the data were one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<Layout>,
    /// What made the features, where the data were images; nothing for pixels.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "encoders")]
    pub encoder: Vec<Encoded>,
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
    /// Views that are searched from one to another, in the order of the files; none in a run within
    /// one view.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub views: Vec<String>,
    /// What tells the files of this run from those of another.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Holder {
        #[serde(default, skip_serializing_if = "Vec::is_empty", with = "encoders")]
        encoder: Vec<Encoded>,
    }

    #[test]
    fn one_encoder_is_written_as_it_was_and_several_as_a_list() {
        let read = |text: &str| serde_json::from_str::<Holder>(text).unwrap();
        let written = |holder: &Holder| serde_json::to_string(holder).unwrap();
        let network = r#"{"encoder":{"file":"/a.pth","squeeze":true}}"#;
        assert_eq!(written(&read(network)), network);
        assert_eq!(written(&read("{}")), "{}");
        let descriptor = |name: &str, words: Option<&str>| Encoded::Descriptor {
            descriptor: Descriptor::named(name).unwrap(),
            words: words.map(str::to_owned),
        };
        let mut holder = Holder {
            encoder: vec![descriptor("dsift", Some("ab"))],
        };
        assert!(written(&holder).contains(r#""words":"ab"}}"#));
        assert_eq!(read(&written(&holder)), holder);
        holder.encoder.push(descriptor("gist", None));
        holder.encoder.extend(read(network).encoder);
        assert!(written(&holder).starts_with(r#"{"encoder":[{"#));
        assert_eq!(read(&written(&holder)), holder);
    }
}
