//! The rows of a study: the recipe and its baselines.

use serde::{Deserialize, Serialize};

/// A row of a study, by the name that files have for it.
///
/// In the order of these names, which is theirs in `metrics.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Row {
    /// What all labels of the training part give: what labels are worth.
    AllLabels,
    /// The directions of the features, less most of their mean, without any label.
    #[serde(rename = "centred")]
    Centered,
    /// The same learner on the known labels alone.
    LabelsOnly,
    /// The features as they are.
    Raw,
    /// The same by their Euclidean distance: only where the recipe learns on features as they are, which is by
    /// their distance, so that no change of the comparison passes for something learned.
    RawByDistance,
    /// The recipe.
    Recipe,
    /// The roots of the features, then as `Centered`, without any label: only where no value is negative.
    #[serde(rename = "roots")]
    Rooted,
    /// The features less their mean, every column divided by its standard deviation, without any
    /// label: only where the columns are of different units.
    Scaled,
    /// The features whitened, without any label.
    Whitened,
}

impl Row {
    /// The rows above the recipe in a table.
    pub const BEFORE: [Self; 7] = [
        Self::Raw,
        Self::RawByDistance,
        Self::Centered,
        Self::Rooted,
        Self::Scaled,
        Self::Whitened,
        Self::LabelsOnly,
    ];
    /// The starts without labels: the best of them is what all claims are made against.
    pub const STARTS: [Self; 6] = [
        Self::Raw,
        Self::RawByDistance,
        Self::Centered,
        Self::Rooted,
        Self::Scaled,
        Self::Whitened,
    ];

    /// The recipe that is this row, if one has a name.
    pub(super) fn recipe(self) -> Option<&'static str> {
        match self {
            Self::Centered => Some("start"),
            Self::Rooted => Some("rooted-start"),
            Self::Scaled => Some("scaled-start"),
            Self::Whitened => Some("whitened-start"),
            Self::AllLabels | Self::LabelsOnly | Self::Raw | Self::RawByDistance | Self::Recipe => {
                None
            }
        }
    }

    /// How it is called in tables.
    pub fn title(self) -> &'static str {
        match self {
            Self::AllLabels => "all labels (oracle)",
            Self::Centered => "centred, no labels",
            Self::LabelsOnly => "labels only",
            Self::Raw => "raw features",
            Self::RawByDistance => "raw, by distance",
            Self::Recipe => "recipe",
            Self::Rooted => "roots, no labels",
            Self::Scaled => "scaled columns, no labels",
            Self::Whitened => "whitened, no labels",
        }
    }
}
