//! The rows of a study: the recipe and its baselines.

use likewise::Monitor;
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

    /// The monitor of what is fitted for this row alone: its warnings say so, as they are not of the recipe.
    pub(super) fn monitor(self, outer: &Monitor) -> Monitor {
        outer.with_warnings(move |said| format!("{}: {said}", self.title()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use likewise::Event;

    use super::*;

    #[test]
    fn what_is_warned_of_a_row_says_which_and_all_else_stays() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let to = heard.clone();
        let outer = Monitor::new(move |event: &Event| to.lock().unwrap().push(event.clone()));
        let of_row = Row::AllLabels.monitor(&outer);
        of_row.start("pairs", 3);
        of_row.step(1).unwrap();
        of_row.warn("two pairs");
        of_row.note("so it is");
        of_row.end();
        let expected = [
            Event::Start {
                stage: "pairs".into(),
                total: Some(3),
            },
            Event::Step { done: 1 },
            Event::Warning("all labels (oracle): two pairs".into()),
            Event::Note("so it is".into()),
            Event::End,
        ];
        assert_eq!(*heard.lock().unwrap(), expected);
        outer.cancel();
        assert!(of_row.check().is_err());
    }
}
