//! What a fit is made of: files, and how they are read. It stands in the record of a run, so that the same
//! fit can be made again, by whatever program.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::given::Given;
use crate::source::{Maker, ReadAs};

/// What a fit is made of.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Inputs {
    /// The data, as they were named: a path of no root begins in the folder in which the fit was asked for.
    pub data: PathBuf,
    /// How they are read.
    #[serde(default)]
    pub read: ReadAs,
    /// What stands between the labels of an item in one cell, where items may have several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub several_labels: Option<char>,
    /// Pairs or triplets that are given beside them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuples: Option<Given>,
    /// Neighbours of an item, where a number was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k: Option<usize>,
    /// Whether the labels at hand choose the recipe. No longer where one that they chose before was kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chooses: bool,
    /// Whether labels were asked for, by advice or on the page of a run: they are of harder items than most.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asked_for: bool,
    /// How the map of the report places its items.
    #[serde(default)]
    pub map: Map,
}

impl Inputs {
    /// The same, where all files have names that can be written down.
    #[must_use]
    pub fn written(self) -> Option<Self> {
        let is_text = |file: &PathBuf| file.to_str().is_some();
        let written = self.files().all(is_text);
        written.then_some(self)
    }

    /// All files.
    fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let networks = self.read.encoder.iter().filter_map(|maker| match maker {
            Maker::Network(file) => Some(file),
            Maker::Descriptor(_) => None,
        });
        let tuples = self.tuples.iter().flat_map(|given| &given.files);
        networks
            .chain(tuples)
            .chain(&self.read.labels)
            .chain([&self.data])
    }
}

/// How a map places its items.
///
/// Principal directions keep what is large: distances on the map are distances in the data, and what
/// lies in further directions is not seen. Neighbourhoods keep what is near: groups are seen that
/// no two directions separate, while distances between groups, their sizes and their density mean
/// nothing. Look at the first for how the data lie, at the second for which groups there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Map {
    /// The two directions in which the rows vary most.
    #[default]
    Directions,
    /// Neighbourhoods: t-SNE (van der Maaten, JMLR 2014), begun at the principal directions
    /// (Kobak & Berens, Nature Communications 2019), which makes it depend on the data alone.
    Neighborhoods,
}
