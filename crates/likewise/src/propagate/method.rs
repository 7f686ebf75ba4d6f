//! Any propagation method as one value: for recipes and the command line.

use serde::{Deserialize, Serialize};

use super::{Control, Dssml, Harmonic, Iscen, Lgc, Lpdr, Mixed, Propagate};
use crate::{Beliefs, Graph, Labels, Monitor, Result};

/// One line a method: its name for people, its type, and what it is.
macro_rules! methods {
    ($($name:literal $method:ident, $what:literal;)*) => {
        /// A propagation method with its parameters.
        ///
        /// ```
        /// use likewise::propagate::Method;
        /// assert!(Method::named("lgc").is_some());
        /// assert!(Method::named("nosuch").is_none());
        /// ```
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "method", rename_all = "lowercase")]
        pub enum Method {
            $(#[doc = $what] $method($method),)*
        }

        impl Method {
            /// Names of all methods.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The method of this name with its default parameters.
            pub fn named(name: &str) -> Option<Self> {
                Some(match name {
                    $($name => Self::$method($method::default()),)*
                    _ => return None,
                })
            }

            /// The name of this method.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$method(_) => $name,)*
                }
            }
        }

        impl Propagate for Method {
            fn propagate(
                &self,
                graph: &Graph,
                labels: &Labels,
                monitor: &Monitor,
            ) -> Result<Beliefs> {
                match self {
                    $(Self::$method(m) => m.propagate(graph, labels, monitor),)*
                }
            }
        }
    };
}

methods! {
    "lgc" Lgc, "Local and global consistency.";
    "harmonic" Harmonic, "Harmonic propagation, fitted on labeled nodes only.";
    "mixed" Mixed, "Mixed propagation with negative edges.";
    "control" Control, "Mixed propagation whose negative edges are found without cutting edges.";
    "lpdr" Lpdr, "Dissimilarity regularisation.";
    "iscen" Iscen, "Class-balanced diffusion, for deep semi-supervised learning.";
    "dssml" Dssml, "Class-balanced diffusion on a graph that must be mutual.";
}

impl Default for Method {
    fn default() -> Self {
        Self::Mixed(Mixed::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{path, path_labels};

    #[test]
    fn every_method_is_found_by_its_name_and_by_its_json_and_works() {
        for name in Method::NAMES {
            let method = Method::named(name).unwrap();
            assert_eq!(method.name(), *name);
            let json = serde_json::to_string(&method).unwrap();
            assert!(json.contains(&format!("\"method\":\"{name}\"")), "{json}");
            assert_eq!(serde_json::from_str::<Method>(&json).unwrap(), method);
            let beliefs = method.propagate(&path(), &path_labels(), &Monitor::silent());
            let pseudo_label = beliefs.unwrap().pseudo_label;
            assert_eq!(pseudo_label, [Some(0), Some(0), Some(1), Some(1)], "{name}");
        }
    }
}
