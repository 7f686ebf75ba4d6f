//! What made the features of images, so that it is found again.

use std::path::PathBuf;

use likewise_image::descriptor::Descriptor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Maker, Source, images};
use crate::environment::Environment;
use crate::{Error, Result};

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
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    One(Encoded),
    Several(Vec<Encoded>),
}

pub(crate) fn serialize<S: Serializer>(
    encoders: &[Encoded],
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    match encoders {
        [one] => one.serialize(to),
        several => several.serialize(to),
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    from: D,
) -> std::result::Result<Vec<Encoded>, D::Error> {
    Ok(match Written::deserialize(from)? {
        Written::One(one) => vec![one],
        Written::Several(several) => several,
    })
}

impl Source {
    /// What makes the features of these images in the view of this name, or in several with `+`
    /// between, to be found again; nothing for other data and for pixels.
    pub fn encoded(&self, view: &str, at: &Environment) -> Result<Vec<Encoded>> {
        let mut encoded = Vec::new();
        if !self.images {
            return Ok(encoded);
        }
        let alone = self.read.encoder.len() == 1;
        let used = |name: &str| alone || view.split('+').any(|view| view == name);
        for maker in &self.read.encoder {
            match maker {
                Maker::Descriptor(descriptor) if used(descriptor.name()) => {
                    encoded.push(Encoded::Descriptor {
                        descriptor: descriptor.clone(),
                        words: self.words_of(descriptor).map(|words| words.digest()),
                    });
                }
                Maker::Network(file) => {
                    let square = self.square();
                    if !alone && !used(&images::chosen(Some(file), square, at.device)?.0.name) {
                        continue;
                    }
                    let absolute = std::fs::canonicalize(file);
                    let absolute =
                        absolute.map_err(|e| Error::data(format!("{}: {e}", file.display())))?;
                    encoded.push(Encoded::Network {
                        file: absolute,
                        side: self.read.side,
                        squeeze: self.read.squeeze,
                    });
                }
                Maker::Descriptor(_) => {}
            }
        }
        Ok(encoded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Holder {
        #[serde(default, skip_serializing_if = "Vec::is_empty", with = "super")]
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
