//! The learners in closed form: one list, from which recipes, the command and tests follow.

use serde::{Deserialize, Serialize};

use super::{Evidence, Fit, Need};
use crate::linear::{Lda, Logistic, Rca};
use crate::model::Model;
use crate::{Monitor, Result};

/// One line a learner: its name, its type, its source, and what it is.
macro_rules! learners {
    ($($name:literal $learner:ident $file:literal, $what:literal;)*) => {
        /// A learner in closed form, with its parameters.
        ///
        /// ```
        /// use likewise::learn::Closed;
        /// assert!(Closed::named("rca").is_some());
        /// assert!(Closed::named("nosuch").is_none());
        /// ```
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        pub enum Closed {
            $(#[doc = $what] #[serde(rename = $name)] $learner($learner),)*
        }

        impl Closed {
            /// Names of all learners.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// What each learner is, in the order of [`NAMES`](Self::NAMES).
            pub const ABOUT: &'static [&'static str] = &[$($what),*];

            /// The source of each learner, whose doc comment explains it.
            pub const SOURCES: &'static [&'static str] = &[$(include_str!($file)),*];

            /// The learner of this name with its default parameters.
            pub fn named(name: &str) -> Option<Self> {
                Some(match name {
                    $($name => Self::$learner($learner::default()),)*
                    _ => return None,
                })
            }

            /// The name of this learner.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$learner(_) => $name,)*
                }
            }

            fn as_fit(&self) -> &dyn Fit {
                match self {
                    $(Self::$learner(learner) => learner,)*
                }
            }
        }
    };
}

learners! {
    "lda" Lda "../linear/lda.rs",
        "Linear discriminant analysis: class probabilities of equal Gaussians, beside the features.";
    "logistic" Logistic "../linear/logistic.rs",
        "Class probabilities: their square roots beside the centred features.";
    "rca" Rca "../linear/rca.rs",
        "Relevant component analysis: whitens what varies within classes.";
}

impl Fit for Closed {
    fn needs(&self) -> &'static [Need] {
        self.as_fit().needs()
    }

    fn validate(&self) -> Result<()> {
        self.as_fit().validate()
    }

    fn fit(&self, evidence: &Evidence, seed: u64, monitor: &Monitor) -> Result<Model> {
        evidence.check(self.needs())?;
        self.as_fit().fit(evidence, seed, monitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_learner_is_found_by_its_name_and_by_its_json() {
        assert_eq!(Closed::NAMES.len(), Closed::SOURCES.len());
        for name in Closed::NAMES {
            let learner = Closed::named(name).unwrap();
            assert_eq!(learner.name(), *name);
            learner.validate().unwrap();
            let json = serde_json::to_string(&learner).unwrap();
            assert!(json.contains(&format!("\"kind\":\"{name}\"")), "{json}");
            assert_eq!(serde_json::from_str::<Closed>(&json).unwrap(), learner);
            let unknown = format!("{{\"kind\":\"{name}\",\"nosuch\":1}}");
            assert!(serde_json::from_str::<Closed>(&unknown).is_err());
        }
    }
}
