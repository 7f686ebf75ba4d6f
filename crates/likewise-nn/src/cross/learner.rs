//! The learners across views: those of [`likewise::cross`], and those by networks, in one list.

use likewise::Monitor;
use likewise::cross::{self, Model, Need, Views};
use serde::{Deserialize, Deserializer, Serialize};

use super::{Acmr, DeepGrowBit};
use crate::{Device, Result};

/// A learner across views, with its parameters.
///
/// ```
/// use likewise_nn::cross::Learner;
/// assert!(Learner::named("gsph").is_some_and(|gsph| gsph.gives_bits()));
/// assert!(Learner::named("acmr").is_some_and(|acmr| !acmr.gives_bits()));
/// assert!(Learner::named("nosuch").is_none());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Learner {
    /// Without networks.
    Direct(cross::Learner),
    /// By networks.
    Deep(Deep),
}

/// One line a learner: its name, its type, its source, whether it gives bits, what it needs, how it is
/// fitted and what it is.
macro_rules! learners {
    ($($name:literal $learner:ident($type:ident) $file:literal, $bits:literal, $need:ident,
       $fit:expr, $what:literal;)*) => {
        /// A learner across views by networks, with its parameters.
        #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        pub enum Deep {
            $(#[doc = $what] #[serde(rename = $name)] $learner($type),)*
        }

        impl Deep {
            /// Names of all of them.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// What each is, in the order of [`NAMES`](Self::NAMES).
            pub const ABOUT: &'static [&'static str] = &[$($what),*];

            /// The source of each, whose doc comment explains it.
            pub const SOURCES: &'static [&'static str] = &[$(include_str!($file)),*];

            fn named(name: &str) -> Option<Self> {
                Some(match name {
                    $($name => Self::$learner($type::default()),)*
                    _ => return None,
                })
            }

            fn name(&self) -> &'static str {
                match self {
                    $(Self::$learner(_) => $name,)*
                }
            }

            fn gives_bits(&self) -> bool {
                match self {
                    $(Self::$learner(_) => $bits,)*
                }
            }

            fn need(&self) -> Need {
                match self {
                    $(Self::$learner(_) => Need::$need,)*
                }
            }

            fn validate(&self) -> Result<()> {
                match self {
                    $(Self::$learner(learner) => learner.validate(),)*
                }
                .map_err(|e| e.under(&format!("{}.", self.name())))
            }

            fn fit(
                &self,
                views: &Views,
                seed: u64,
                device: &Device,
                monitor: &Monitor,
            ) -> Result<Model> {
                match self {
                    $(Self::$learner(learner) => {
                        let fit: fn(&$type, &Views, u64, &Device, &Monitor) -> Result<Model> = $fit;
                        fit(learner, views, seed, device, monitor)
                    })*
                }
            }
        }
    };
}

learners! {
    "acmr" Acmr(Acmr) "acmr.rs", false, LabeledPairs,
        |of, views, seed, device, at| of.fit(views, seed, device, at),
        "ACMR: networks into one space, where nobody can tell which view a row came from.";
    "deep-growbit" DeepGrowBit(DeepGrowBit) "growbit.rs", true, Labels,
        |of, views, seed, device, at| Ok(of.fit(views, None, seed, device, at)?.model),
        "`GrowBit` by networks: class codes that grow, and networks that imitate them.";
}

impl Learner {
    /// Names of all learners.
    pub fn names() -> Vec<&'static str> {
        [cross::Learner::NAMES, Deep::NAMES].concat()
    }

    /// The learner of this name with its default parameters.
    pub fn named(name: &str) -> Option<Self> {
        let direct = cross::Learner::named(name).map(Self::Direct);
        direct.or_else(|| Deep::named(name).map(Self::Deep))
    }

    /// The name of this learner.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Direct(learner) => learner.name(),
            Self::Deep(learner) => learner.name(),
        }
    }

    /// Whether it gives bits, and not numbers.
    pub fn gives_bits(&self) -> bool {
        match self {
            Self::Direct(learner) => learner.gives_bits(),
            Self::Deep(learner) => learner.gives_bits(),
        }
    }

    /// What it cannot do without.
    pub fn need(&self) -> Need {
        match self {
            Self::Direct(learner) => learner.need(),
            Self::Deep(learner) => learner.need(),
        }
    }

    /// Whether it computes by networks, which not every build has.
    pub fn is_deep(&self) -> bool {
        matches!(self, Self::Deep(_))
    }

    /// Checks the parameters.
    pub fn validate(&self) -> Result<()> {
        match self {
            Self::Direct(learner) => learner.validate(),
            Self::Deep(learner) => learner.validate(),
        }
    }

    /// An encoder for each view; `device` is where networks run.
    ///
    /// Fails on a parameter out of range, with fewer views than two or what it [needs](Self::need)
    /// missing, where all rows of a view are the same, where the loss of networks is no number any more,
    /// in a build without them, and when cancelled.
    pub fn fit(
        &self,
        views: &Views,
        seed: u64,
        device: &Device,
        monitor: &Monitor,
    ) -> Result<Model> {
        match self {
            Self::Direct(learner) => learner.fit(views, seed, monitor),
            Self::Deep(learner) => learner.fit(views, seed, device, monitor),
        }
    }
}

impl<'de> Deserialize<'de> for Learner {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        let fields = serde_json::Value::deserialize(from)?;
        let kind = fields.get("kind").and_then(serde_json::Value::as_str);
        let read = match kind {
            Some(kind) if Deep::NAMES.contains(&kind) => {
                serde_json::from_value(fields).map(Self::Deep)
            }
            _ => serde_json::from_value(fields).map(Self::Direct),
        };
        read.map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cross::parts::tests::two_modalities;

    #[test]
    fn every_learner_is_found_by_its_name_and_by_its_json() {
        assert_eq!(Deep::NAMES.len(), Deep::SOURCES.len());
        let names = Learner::names();
        let once: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(once.len(), names.len());
        for name in names {
            let learner = Learner::named(name).unwrap();
            assert_eq!(learner.name(), name);
            assert_eq!(learner.is_deep(), Deep::NAMES.contains(&name));
            learner.validate().unwrap();
            let json = serde_json::to_string(&learner).unwrap();
            assert!(json.contains(&format!("\"kind\":\"{name}\"")), "{json}");
            assert_eq!(serde_json::from_str::<Learner>(&json).unwrap(), learner);
            let unknown = format!("{{\"kind\":\"{name}\",\"nosuch\":1}}");
            assert!(serde_json::from_str::<Learner>(&unknown).is_err());
        }
        for bits in [0, 4097] {
            let text = format!("{{\"kind\":\"deep-growbit\",\"bits\":{bits}}}");
            let wrong = serde_json::from_str::<Learner>(&text).unwrap();
            let said = wrong.validate().unwrap_err().to_string();
            let asked = format!("deep-growbit.bits = {bits}: must be from 1 to 4096");
            assert_eq!(said, asked);
        }
    }

    #[test]
    fn learners_by_networks_give_what_they_say_and_need_what_they_say() {
        let (x, y, class) = two_modalities(2, 12, 1);
        let both = [x.view(), y.view()];
        let at = &Monitor::silent();
        let device = Device::flex();
        let unpaired = Views::unpaired(&[
            (x.view(), &class[..], &[1.0; 24][..]),
            (y.view(), &class[..], &[1.0; 24][..]),
        ])
        .unwrap();
        let paired = |weight: f32| Views::paired(&both, &class, &[weight; 24]).unwrap();
        for text in [
            r#"{"kind":"acmr","epochs":2,"least_steps":1,"hidden":[[8,8],[8,8]]}"#,
            r#"{"kind":"deep-growbit","epochs":2,"hidden":[8,8]}"#,
        ] {
            let learner: Learner = serde_json::from_str(text).unwrap();
            let name = learner.name();
            let said = |rows: &[ndarray::ArrayView2<f32>], class: &[u32]| {
                let views = Views::paired(rows, class, &[1.0; 24]).unwrap();
                let failed = learner.fit(&views, 3, &device, at).unwrap_err();
                failed.to_string()
            };
            let one = said(&both, &[4; 24]);
            assert!(one.contains(name) && one.contains("class"), "{one}");
            let flat = ndarray::Array2::from_elem((24, 2), 1.5);
            let same = said(&[x.view(), flat.view()], &class);
            assert!(same.contains("modality 1 are the same"), "{same}");
            let three = said(&[x.view(), y.view(), x.view()], &class);
            assert!(
                three.contains(name) && three.ends_with("gssl, lcmf, seph"),
                "{three}"
            );
            let model = learner.fit(&paired(1.0), 3, &device, at).unwrap();
            let found = model.encode(0, x.view()).unwrap();
            let bits = matches!(found, cross::Embedding::Bits(_));
            assert_eq!(bits, learner.gives_bits(), "{name}");
            assert!(learner.fit(&paired(0.0), 3, &device, at).is_err(), "{name}");
            let without_pairs = learner.fit(&unpaired, 3, &device, at);
            let needs = learner.need() == Need::LabeledPairs;
            assert_eq!(without_pairs.is_err(), needs, "{name}");
        }
    }
}
