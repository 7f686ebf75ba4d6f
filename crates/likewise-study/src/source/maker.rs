//! What makes a view of images: a descriptor, or a frozen network.

use std::fmt;
use std::path::{Path, PathBuf};

use likewise_image::descriptor::{Descriptor, Kind};
use serde::{Deserialize, Serialize};

use crate::{Result, usage};

/// What makes a view of images.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Maker {
    /// A descriptor; one of points gives how often its words occur.
    Descriptor(Descriptor),
    /// The network of a file of weights, frozen.
    Network(PathBuf),
}

/// What a file of weights stands behind.
const NETWORK: &str = "net:";

impl Maker {
    /// The makers of a list with commas between: names of descriptors, and `net:WEIGHTS`.
    ///
    /// Fails on an unknown name, on one that is there twice, and on an empty list.
    pub fn list(text: &str) -> Result<Vec<Self>> {
        let mut makers: Vec<Self> = Vec::new();
        for name in text.split(',').map(str::trim) {
            let Some(maker) = Self::named(name) else {
                let names = Descriptor::NAMES.join(", ");
                return Err(usage(format!(
                    "no descriptor \"{name}\"; there are: {names}, and {NETWORK}FILE for a network"
                )));
            };
            if makers.contains(&maker) {
                return Err(usage(format!("{name} is named twice; name it once")));
            }
            makers.push(maker);
        }
        Ok(makers)
    }

    /// The same, or a file of weights by its name alone. A descriptor comes before a file of its
    /// name, which `./gist` or `net:gist` means.
    ///
    /// Fails as [`list`](Self::list) does, also on a single word that is no file.
    pub fn list_or_file(given: &Path) -> Result<Vec<Self>> {
        let text = given.to_str().unwrap_or_default();
        let is_named = text
            .split(',')
            .any(|name| Self::named(name.trim()).is_some());
        let is_word = given.extension().is_none() && given.components().count() <= 1;
        if is_named || (is_word && !given.exists()) {
            return Self::list(text);
        }
        Ok(vec![Self::Network(given.to_owned())])
    }

    fn named(name: &str) -> Option<Self> {
        match name.strip_prefix(NETWORK) {
            Some(path) => (!path.is_empty()).then(|| Self::Network(path.into())),
            None => Descriptor::named(name).map(Self::Descriptor),
        }
    }

    /// The descriptor, if it is one of points, which needs words.
    pub(super) fn of_points(&self) -> Option<&Descriptor> {
        match self {
            Self::Descriptor(own) if matches!(own.kind(), Kind::Local(_)) => Some(own),
            _ => None,
        }
    }

    /// The descriptor, if it is one.
    pub(super) fn descriptor(&self) -> Option<&Descriptor> {
        match self {
            Self::Descriptor(own) => Some(own),
            Self::Network(_) => None,
        }
    }

    /// The file of weights, if it is a network.
    pub(super) fn network(&self) -> Option<&Path> {
        match self {
            Self::Descriptor(_) => None,
            Self::Network(file) => Some(file),
        }
    }
}

/// As it stands in a list.
impl fmt::Display for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Descriptor(own) => f.write_str(own.name()),
            Self::Network(file) => write!(f, "{NETWORK}{}", file.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        match Maker::list_or_file(Path::new(text)) {
            Ok(makers) => makers
                .iter()
                .map(Maker::to_string)
                .collect::<Vec<_>>()
                .join(" "),
            Err(e) => e.to_string(),
        }
    }

    #[test]
    fn names_are_descriptors_and_all_else_a_file() {
        for (text, makers) in [
            ("gist", "gist"),
            ("hist, lbp", "hist lbp"),
            ("net:lite0", "net:lite0"),
            ("dsift,net:a/b.pth", "dsift net:a/b.pth"),
            ("lite0.pth", "net:lite0.pth"),
            ("./gist", "net:./gist"),
            ("weights/lite0", "net:weights/lite0"),
            // A file by its name alone.
            ("src", "net:src"),
        ] {
            assert_eq!(said(text), makers);
        }
        for text in ["gst", "hist,gst", "", "net:", "hist,", "hist,lite0.pth"] {
            assert!(said(text).contains("there are: hist, glcm"), "{text}");
        }
        assert!(said("lbp,lbp").contains("named twice"));
    }
}
