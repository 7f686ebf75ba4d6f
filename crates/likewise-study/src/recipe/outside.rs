//! Which items are refused as of no known class, by their features.

use std::fmt;

use likewise::advise::outside::lof;
use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Error, Result};

/// Which items are refused as of no known class, by what they look like beside the labeled ones.
///
/// What labeled items score by the others of them, in five folds, says what is too much: of `v` labeled items the
/// score of rank `(v + 1) quantile`, rounded up. At .95 that is the largest of up to 38. A class of one label has
/// no part in that.
///
/// A file may say the score alone: `outside = "energy"`.
///
/// **Use it** where unlabeled items are partly of classes that nobody labeled. **Not** with a handful of labels,
/// whose largest score is about any score; nor where every class has labels: of the items of these some are
/// refused as well, at .95 one of twenty.
///
/// Cost: six fits of the score on the labeled items, and one look at all items, whenever pseudo-labels are made:
/// once on the start, and before each epoch on the embedding.
///
/// Source: of each score its own, and of the threshold split conformal prediction
/// ([`outside`](likewise::advise::outside)).
///
/// The networks of `lpf` have an `outside` of their own, which also asks whether they agree.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, remote = "Self")]
pub struct Refusing {
    /// What says how unlike the classes an item is.
    pub by: Unlike,
    /// Share of items of known classes that are accepted, above 0 and below 1.
    pub quantile: f64,
}

/// How unlike all known classes an item is; see [`outside`](likewise::advise::outside).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Unlike {
    /// The distance from the nearest class by the covariance of all.
    Mahalanobis {
        /// Less the distance from all items.
        #[serde(default)]
        relative: bool,
    },
    /// The local outlier factor among labeled items.
    Lof {
        /// Neighbours, at least 1.
        #[serde(default = "neighbors")]
        k: usize,
    },
    /// The energy of the logits of a linear classifier that the labeled items alone teach. It needs two classes
    /// of two labels.
    Energy {
        /// Temperature, above 0.
        #[serde(default = "one")]
        temperature: f64,
    },
}

fn neighbors() -> usize {
    lof::NEIGHBORS
}

fn one() -> f64 {
    1.0
}

impl Default for Refusing {
    fn default() -> Self {
        Self {
            by: Unlike::Mahalanobis { relative: false },
            quantile: 0.95,
        }
    }
}

impl Refusing {
    pub(super) fn validate(&self) -> Result<()> {
        if !(self.quantile > 0.0 && self.quantile < 1.0) {
            let rule = "must be above 0 and below 1";
            return Err(Error::parameter("outside.quantile", self.quantile, rule));
        }
        match self.by {
            Unlike::Lof { k: 0 } => Err(Error::parameter("outside.by.k", 0, "must be at least 1")),
            Unlike::Energy { temperature } if !(temperature.is_finite() && temperature > 0.0) => {
                let field = "outside.by.temperature";
                Err(Error::parameter(field, temperature, "must be above 0"))
            }
            _ => Ok(()),
        }
    }
}

impl Serialize for Refusing {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        Self::serialize(self, to)
    }
}

impl<'de> Deserialize<'de> for Refusing {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        from.deserialize_any(NameOrTable)
    }
}

/// The name of a score, or all settings.
struct NameOrTable;

impl<'de> Visitor<'de> for NameOrTable {
    type Value = Refusing;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("the name of a score, or a table with by and quantile")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> std::result::Result<Refusing, E> {
        let table = std::iter::once(("name", name));
        let table = MapDeserializer::<_, de::value::Error>::new(table);
        let by = Unlike::deserialize(table);
        Ok(Refusing {
            by: by.map_err(|e| E::custom(format!("outside = \"{name}\": {e}")))?,
            ..Refusing::default()
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> std::result::Result<Refusing, A::Error> {
        Refusing::deserialize(MapAccessDeserializer::new(map))
    }
}
