//! Which items are refused as of no known class: the settings.

use std::fmt;

use likewise::advise::outside::lof;
use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Error, Result};

/// Which selected items are refused as of no known class.
///
/// The threshold is one that the items with labels that were kept back rarely exceed: of `v` of these the
/// score of rank `(v + 1) quantile`, rounded up. At .95 that is the largest of up to 38.
///
/// A file may say the score alone: `outside = "energy"`.
///
/// **Use it** where unlabeled items are partly of classes without a label. **Not** with a handful of labels, of which
/// too few are kept back: the largest of their scores is about any; nor where every class has labels, since of
/// items of these some are refused as well, at .95 one of twenty.
///
/// Cost: of each selection one look at all items by each score; of the energy apart some hundred passes over the
/// labeled rows, of the local outlier factor 5000 distances a row at most.
///
/// Source: named as future work by Mandal, Rao and Biswas (ICIP 2020); each score has its own
/// ([`outside`](likewise::advise::outside)). The combination is ours.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, remote = "Self")]
pub struct Outside {
    /// What says how unlike the classes an item is.
    pub by: Unlike,
    /// Share of items of known classes that are accepted, above 0 and below 1.
    pub quantile: f64,
}

impl Default for Outside {
    fn default() -> Self {
        Self {
            by: Unlike::default(),
            quantile: 0.95,
        }
    }
}

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Looks {
    /// At the scaled features, as the class means do.
    #[default]
    Rows,
    /// At the second hidden layer of the networks.
    Features,
}

/// How unlike all known classes an item is; see [`outside`](likewise::advise::outside). What each view
/// says is measured by what it says of items with labels that were kept back, and averaged.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Unlike {
    /// The mean rank of three: the distances from the classes in rows and in features, and the
    /// disagreement of networks and class means.
    #[default]
    Combined,
    /// The energy of the logits of a classifier.
    Energy {
        /// Temperature, above 0.
        #[serde(default = "one")]
        temperature: f64,
        /// Of a linear classifier of the scaled rows, at length 1, that the labeled ones alone teach. Else of the
        /// networks, whose energy is low for all that the entropy loss has made sure, new classes among them.
        #[serde(default = "yes")]
        apart: bool,
    },
    /// The largest logit of the networks, which the entropy loss has made sure of new classes too.
    LargestLogit,
    /// The distance from the nearest class by the covariance of all.
    Mahalanobis {
        /// In what.
        #[serde(default)]
        on: Looks,
        /// Less the distance from all items.
        #[serde(default)]
        relative: bool,
    },
    /// How much networks and class means of all views disagree.
    Agreement,
    /// The Jensen-Shannon divergence of the networks of all views and the class means.
    Divergence,
    /// The local outlier factor among labeled and selected items, or 5000 drawn of them: labeled ones first. No
    /// item is its own neighbour.
    Lof {
        /// In what.
        #[serde(default)]
        on: Looks,
        /// Neighbours, at least 1.
        #[serde(default = "neighbors")]
        k: usize,
    },
}

fn one() -> f64 {
    1.0
}

fn yes() -> bool {
    true
}

fn neighbors() -> usize {
    lof::NEIGHBORS
}

impl Unlike {
    /// Whether it is a distance by how the items of a class vary.
    #[cfg(feature = "networks")]
    pub(super) fn is_distance(self) -> bool {
        matches!(self, Self::Combined | Self::Mahalanobis { .. })
    }
}

impl Outside {
    pub(super) fn validate(&self) -> Result<()> {
        if !(self.quantile > 0.0 && self.quantile < 1.0) {
            let rule = "must be above 0 and below 1";
            return Err(Error::parameter("outside.quantile", self.quantile, rule));
        }
        match self.by {
            Unlike::Energy { temperature, .. }
                if !(temperature.is_finite() && temperature > 0.0) =>
            {
                let field = "outside.by.temperature";
                Err(Error::parameter(field, temperature, "must be above 0"))
            }
            Unlike::Lof { k: 0, .. } => {
                Err(Error::parameter("outside.by.k", 0, "must be at least 1"))
            }
            _ => Ok(()),
        }
    }
}

impl Serialize for Outside {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        Self::serialize(self, to)
    }
}

impl<'de> Deserialize<'de> for Outside {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        from.deserialize_any(NameOrTable)
    }
}

/// The name of a score, or all settings.
struct NameOrTable;

impl<'de> Visitor<'de> for NameOrTable {
    type Value = Outside;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("the name of a score, or a table with by and quantile")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> std::result::Result<Outside, E> {
        let table = std::iter::once(("name", name));
        let table = MapDeserializer::<_, de::value::Error>::new(table);
        let by = Unlike::deserialize(table);
        Ok(Outside {
            by: by.map_err(|e| E::custom(format!("outside = \"{name}\": {e}")))?,
            ..Outside::default()
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> std::result::Result<Outside, A::Error> {
        Outside::deserialize(MapAccessDeserializer::new(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_is_the_score_with_its_defaults() {
        let read = |text: &str| serde_json::from_str::<Outside>(text);
        for (name, by) in [
            ("combined", Unlike::Combined),
            (
                "energy",
                Unlike::Energy {
                    temperature: 1.0,
                    apart: true,
                },
            ),
            ("agreement", Unlike::Agreement),
            (
                "mahalanobis",
                Unlike::Mahalanobis {
                    on: Looks::Rows,
                    relative: false,
                },
            ),
        ] {
            let outside = read(&format!("\"{name}\"")).unwrap();
            let quantile = 0.95;
            assert_eq!(outside, Outside { by, quantile });
            // It is written as a table, and read again.
            let text = serde_json::to_string(&outside).unwrap();
            assert!(text.starts_with(r#"{"by":{"name":"#), "{text}");
            assert_eq!(read(&text).unwrap(), outside);
        }
        let wrong = read("\"nosuch\"").unwrap_err().to_string();
        let said = ["outside = \"nosuch\"", "`energy`"];
        assert!(said.iter().all(|said| wrong.contains(said)), "{wrong}");
        let wrong = read("3").unwrap_err().to_string();
        assert!(wrong.contains("the name of a score"), "{wrong}");
    }

    #[test]
    fn settings_are_written_by_name_and_checked() {
        let outside: Outside =
            serde_json::from_str(r#"{"by": {"name": "lof", "on": "features"}}"#).unwrap();
        let expected = Unlike::Lof {
            on: Looks::Features,
            k: 20,
        };
        assert_eq!((outside.by, outside.quantile), (expected, 0.95));
        for (text, field) in [
            (r#"{"quantile": 1}"#, "outside.quantile"),
            (r#"{"by": {"name": "lof", "k": 0}}"#, "outside.by.k"),
            (
                r#"{"by": {"name": "energy", "temperature": 0}}"#,
                "outside.by.temperature",
            ),
        ] {
            let outside: Outside = serde_json::from_str(text).unwrap();
            let said = outside.validate().unwrap_err().to_string();
            assert!(said.starts_with(field), "{said}");
        }
        assert!(serde_json::from_str::<Outside>(r#"{"by": {"name": "energy", "k": 3}}"#).is_err());
    }
}
