//! What the features become before anything learns.

use std::fmt;

use likewise::matrix::Reading;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Error, Result};

/// The shrinkage that no label chooses: of the baseline row, and of the start where labels are no
/// evidence for another. Of infinity, 30, 10, 5, 3, 2 and 1 on 21 sets of tables, pixels and
/// descriptors it gained most in R@1 over the features as they are (2.0 points in the mean) and
/// 2.8 in MAP@R; milder ones gain less in R@1, stronger ones lose MAP@R.
pub(crate) const PLAIN_SHRINKAGE: f64 = 10.0;

/// The power of roots.
pub(crate) const ROOT: f64 = 0.5;

/// Most columns that are all kept.
const ALL_COLUMNS: usize = 1024;

/// Whether items of other classes may have much outside of the span of so many fitted ones, and the columns are few
/// enough to keep it.
pub(crate) fn keeps_all(items: usize, columns: usize) -> bool {
    items < columns && columns <= ALL_COLUMNS
}

/// The word for features as they are.
const AS_GIVEN: &str = "as-given";

/// The start: what the features become before anything learns, without any label.
///
/// ```text
/// x = sign(x) |x|^power
/// x = x / |x|                        where `unit` is set
/// s = normalise((x - center mean) W)  W whitens the `rank` directions that vary most
/// ```
///
/// In a file it is a table of these, or one word: `"as-given"`, `"unit"`, `"centred"` or `"whitened"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, remote = "Self")]
pub struct StartConfig {
    /// Whether features stay as they are, compared by their Euclidean distance: what metric learners
    /// were published for. The others are then those of [`as_given`](Self::as_given()).
    #[serde(skip)]
    pub as_given: bool,
    /// Power of the features' sizes, above 0 to 1. Pooled activations of a network, and counts, have
    /// a few large values that outweigh all others; their roots (.5) share better. Not for
    /// features of both signs around a centre: on the digits it lost up to 3 points of R@1.
    pub power: f64,
    /// Whether rows are brought to unit length before their mean is taken off: where the length of a
    /// row says nothing of what it is about, as of pooled activations and of counts.
    pub unit: bool,
    /// Share of the mean that is taken off, 0 to 1. All of it (1) spreads rows that lie in one
    /// direction, which gains most where there are many columns; of few columns, all positive, the
    /// direction of the mean tells classes apart, and a share of it (.8) keeps that.
    pub center: f64,
    /// Most directions that are kept (largest variance first), at least 1. Where the classes that are searched have
    /// no labels and fewer items are fitted than there are columns (at most 1024), the usual 256 are no limit, and all
    /// columns are kept: else what new items have outside of the span of the fitted ones is cut off, by which
    /// 160 faces of 512 and 864 columns lost 2 to 7 points of MAP@R. Where the same classes are searched, learners lost
    /// up to 6 by keeping it.
    pub rank: usize,
    /// Shrinkage of the whitening; absent: chosen on the labels at hand, among
    /// infinity (centred features) and 10 to 0.03. Infinity is written `inf` in TOML, `"inf"` in
    /// JSON, which has no such number.
    #[serde(with = "shrinkage", skip_serializing_if = "Option::is_none")]
    pub shrinkage: Option<f64>,
    /// Whether every column is divided by its standard deviation before; absent: chosen
    /// with the shrinkage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standardize: Option<bool>,
}

impl Default for StartConfig {
    fn default() -> Self {
        Self {
            as_given: false,
            power: 1.0,
            unit: false,
            center: 1.0,
            rank: 256,
            shrinkage: None,
            standardize: None,
        }
    }
}

impl StartConfig {
    /// The starts that have a word of their own.
    pub const NAMES: [&str; 4] = [AS_GIVEN, "unit", "centred", "whitened"];

    /// The start of this word.
    pub fn named(word: &str) -> Option<Self> {
        match word {
            AS_GIVEN => Some(Self::as_given()),
            "unit" => Some(Self::unit_rows()),
            "centred" => Some(Self::centered()),
            "whitened" => Some(Self::default()),
            _ => None,
        }
    }

    /// The features as they are.
    pub fn as_given() -> Self {
        Self {
            as_given: true,
            center: 0.0,
            rank: usize::MAX,
            shrinkage: Some(f64::INFINITY),
            standardize: Some(false),
            ..Self::default()
        }
    }

    /// Rows brought to unit length, and otherwise as they are: what papers that learn a map behind a
    /// normalised layer begin on. Of more than 4096 columns the largest directions.
    pub fn unit_rows() -> Self {
        Self {
            unit: true,
            center: 0.0,
            rank: 4096,
            shrinkage: Some(f64::INFINITY),
            standardize: Some(false),
            ..Self::default()
        }
    }

    /// The mildest start: unit rows less most of their mean, not whitened.
    ///
    /// Of 43 sets (tables, pixels, descriptors, counts) it loses more than a point of MAP@R against
    /// the features as they are on none, and of R@1 on 3, and gains 2.8 and 2.3 in the mean; the
    /// whitening of the default start gains .8 and 1.9 and loses on 16 and 11. It is what stands
    /// where no label can choose.
    pub fn centered() -> Self {
        Self {
            unit: true,
            center: 0.8,
            shrinkage: Some(f64::INFINITY),
            ..Self::default()
        }
    }

    /// How features are read before all else.
    pub fn reading(&self) -> Reading {
        Reading {
            power: self.power,
            unit: self.unit,
        }
    }

    /// How many directions are kept, where `all` are unless the recipe says another number than the usual one.
    pub(crate) fn directions(&self, columns: usize, all: bool) -> usize {
        if all && self.rank == Self::default().rank {
            columns
        } else {
            self.rank.min(columns)
        }
    }

    /// What of a preset's reading of given features stands once a network learns its own: what the recipe
    /// `says`, and the usual for all else.
    pub(super) fn of_network(&mut self, says: Option<&toml::Value>) {
        if says.is_some_and(toml::Value::is_str) {
            return;
        }
        let preset = Self::unit_rows();
        let said = |field| says.is_some_and(|fields| fields.get(field).is_some());
        let usual = Self::default();
        if !said("unit") {
            self.unit = usual.unit;
        }
        if !said("center") {
            self.center = usual.center;
        }
        // Experiments give one number of directions to all of their recipes.
        if !said("rank") && self.rank == preset.rank {
            self.rank = usual.rank;
        }
        if !said("shrinkage") {
            self.shrinkage = usual.shrinkage;
        }
        if !said("standardize") {
            self.standardize = usual.standardize;
        }
    }

    pub(super) fn validate(&self) -> Result<()> {
        if !(self.power > 0.0 && self.power <= 1.0) {
            let rule = "must be above 0 and at most 1";
            return Err(Error::parameter("start.power", self.power, rule));
        }
        if !(0.0..=1.0).contains(&self.center) {
            let rule = "must be from 0 to 1";
            return Err(Error::parameter("start.center", self.center, rule));
        }
        if self.rank == 0 {
            return Err(Error::parameter("start.rank", 0, "must be at least 1"));
        }
        if let Some(eps) = self.shrinkage
            && (eps.is_nan() || eps <= 0.0)
        {
            return Err(Error::parameter("start.shrinkage", eps, "must be above 0"));
        }
        Ok(())
    }
}

impl Serialize for StartConfig {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        if self.as_given {
            to.serialize_str(AS_GIVEN)
        } else {
            Self::serialize(self, to)
        }
    }
}

impl<'de> Deserialize<'de> for StartConfig {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        from.deserialize_any(WordOrTable)
    }
}

struct WordOrTable;

impl<'de> Visitor<'de> for WordOrTable {
    type Value = StartConfig;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "a table, or one of: {}", StartConfig::NAMES.join(", "))
    }

    fn visit_str<E: de::Error>(self, word: &str) -> std::result::Result<StartConfig, E> {
        StartConfig::named(word).ok_or_else(|| {
            let names = StartConfig::NAMES.join(", ");
            E::custom(format!(
                "start = \"{word}\": there are: {names}, or a table"
            ))
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> std::result::Result<StartConfig, A::Error> {
        StartConfig::deserialize(MapAccessDeserializer::new(map))
    }
}

/// The shrinkage in files: a number, or "inf".
mod shrinkage {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(f64),
        Word(String),
    }

    #[allow(clippy::ref_option)] // The form that serde calls.
    pub(super) fn serialize<S: Serializer>(eps: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
        let written = eps.map(|eps| {
            if eps == f64::INFINITY {
                Written::Word("inf".into())
            } else {
                Written::Number(eps)
            }
        });
        written.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
        match Option::<Written>::deserialize(from)? {
            None => Ok(None),
            Some(Written::Number(eps)) => Ok(Some(eps)),
            Some(Written::Word(word)) if word == "inf" => Ok(Some(f64::INFINITY)),
            Some(Written::Word(word)) => Err(de::Error::custom(format!(
                "start.shrinkage is a number above 0, or \"inf\", not {word:?}"
            ))),
        }
    }
}
