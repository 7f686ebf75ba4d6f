//! The base classifiers: one list, from which votes, recipes and `explain` follow.

use serde::{Deserialize, Serialize};

use super::adaboost::AdaBoost;
use super::classify::{Classifier, Classify, Lesson};
use super::discriminant::Discriminant;
use super::forest::Forest;
use super::nearest::Nearest;
use super::subspace::Subspace;
use crate::learn::Closed;
use crate::linear::{Dca, Lrml, Rca, Seraph};
use crate::{Monitor, Result};

/// One line a classifier: its name, its type, its source, and what it is.
macro_rules! classifiers {
    ($($name:literal $kind:ident $file:literal, $what:literal;)*) => {
        /// A base classifier, with its parameters.
        ///
        /// ```
        /// use likewise::ensemble::Base;
        /// assert_eq!(Base::named("forest").unwrap().name(), "forest");
        /// // A metric learner stands for the nearest neighbour by it.
        /// assert_eq!(Base::named("rca").unwrap().name(), "rca");
        /// assert!(Base::named("nosuch").is_none());
        /// ```
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        pub enum Base {
            $(#[doc = $what] #[serde(rename = $name)] $kind($kind),)*
        }

        impl Base {
            /// Names of all kinds.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// What each kind is, in the order of [`NAMES`](Self::NAMES).
            pub const ABOUT: &'static [&'static str] = &[$($what),*];

            /// The source of each kind, whose doc comment explains it.
            pub const SOURCES: &'static [&'static str] = &[$(include_str!($file)),*];

            fn kind(name: &str) -> Option<Self> {
                Some(match name {
                    $($name => Self::$kind($kind::default()),)*
                    _ => return None,
                })
            }

            fn as_classify(&self) -> &dyn Classify {
                match self {
                    $(Self::$kind(kind) => kind,)*
                }
            }

            fn kind_name(&self) -> &'static str {
                match self {
                    $(Self::$kind(_) => $name,)*
                }
            }
        }
    };
}

classifiers! {
    "adaboost" AdaBoost "adaboost.rs",
        "AdaBoost.M1: small trees, each for what those before it got wrong.";
    "discriminant" Discriminant "discriminant.rs",
        "Linear discriminants of equal Gaussians, by a covariance that is shrunk.";
    "forest" Forest "forest.rs",
        "Random forest: whole trees of drawn rows and drawn columns.";
    "subspace" Subspace "subspace.rs",
        "Random subspaces: nearest neighbours, each in half of the columns.";
    "nearest-neighbor" Nearest "nearest.rs",
        "The class of the nearest labeled row, by a learned metric or as features are.";
}

impl Base {
    /// The nine of a view that the source of [`votes`](super::votes) has: boosted trees, discriminants,
    /// a forest, subspaces, and the nearest neighbour as features are and by RCA, DCA, LRML and SERAPH.
    pub fn nine() -> Vec<Self> {
        let by = |metric| Self::Nearest(Nearest::by(metric));
        vec![
            Self::AdaBoost(AdaBoost::default()),
            Self::Discriminant(Discriminant::default()),
            Self::Forest(Forest::default()),
            Self::Subspace(Subspace::default()),
            Self::Nearest(Nearest::default()),
            by(Closed::Rca(Rca::paper())),
            by(Closed::Dca(Dca::paper())),
            by(Closed::Lrml(Lrml::new())),
            by(Closed::Seraph(Seraph::new())),
        ]
    }

    /// The classifier of this name with its default parameters: that of a kind, `euclid`, or that of
    /// a metric learner, for the nearest neighbour by it.
    pub fn named(name: &str) -> Option<Self> {
        if let Some(kind) = Self::kind(name) {
            return Some(kind);
        }
        let mut nine = Self::nine().into_iter();
        if let Some(own) = nine.find(|base| base.name() == name) {
            return Some(own);
        }
        let metric = Closed::published(name).or_else(|| Closed::named(name))?;
        let base = Nearest::by(metric);
        base.validate().is_ok().then_some(Self::Nearest(base))
    }

    /// The name of its kind, or of the metric of a nearest neighbour: `euclid` for none.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Nearest(nearest) => nearest.metric_name(),
            other => other.kind_name(),
        }
    }

    /// Whether it compares rows by a distance.
    pub fn has_metric(&self) -> bool {
        matches!(self, Self::Nearest(_))
    }
}

/// Classifiers as files have them: a name, or a table where a parameter differs from the usual.
pub(super) mod written {
    use serde::de::value::MapAccessDeserializer;
    use serde::de::{Error, MapAccess, Visitor};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Base;

    struct Written(Base);

    impl<'de> Deserialize<'de> for Written {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            from.deserialize_any(Either)
        }
    }

    struct Either;

    impl<'de> Visitor<'de> for Either {
        type Value = Written;

        fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
            f.write_str("the name of a classifier, or a table with its kind and parameters")
        }

        fn visit_str<E: Error>(self, name: &str) -> Result<Written, E> {
            let unknown = || {
                let nine: Vec<&str> = Base::nine().iter().map(Base::name).collect();
                E::custom(format!(
                    "no classifier has the name \"{name}\"; there are {}, and metric learners such \
                     as itml",
                    nine.join(", ")
                ))
            };
            Base::named(name).map(Written).ok_or_else(unknown)
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Written, A::Error> {
            Base::deserialize(MapAccessDeserializer::new(map)).map(Written)
        }
    }

    pub(in super::super) fn serialize<S: Serializer>(
        of: &[Base],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(untagged)]
        enum Shortest<'a> {
            Name(&'static str),
            Whole(&'a Base),
        }
        let shortest = of.iter().map(|base| match Base::named(base.name()) {
            Some(usual) if usual == *base => Shortest::Name(base.name()),
            _ => Shortest::Whole(base),
        });
        to.collect_seq(shortest)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<Base>, D::Error> {
        let all = Vec::<Written>::deserialize(from)?;
        Ok(all.into_iter().map(|written| written.0).collect())
    }
}

impl Classify for Base {
    fn validate(&self) -> Result<()> {
        self.as_classify().validate()
    }

    fn fit(&self, lesson: &Lesson, seed: u64, monitor: &Monitor) -> Result<Box<dyn Classifier>> {
        let fitted = self.as_classify().fit(lesson, seed, monitor);
        fitted.map_err(|e| e.within(self.name()))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::Labels;
    use crate::linear::check_values::iris;
    use crate::reference::in_one_and_two_threads;

    /// Ten labels of each class of the irises; the other rows ask.
    fn lesson() -> (Array2<f32>, Labels, Labels) {
        let (x, class) = iris();
        let truth = Labels::from_integers(class.iter().map(|&c| i64::from(c)));
        let known = truth.masked(|i| i % 5 == 0);
        (x.mapv(|v| v as f32), known, truth)
    }

    #[test]
    fn every_classifier_tells_irises_apart_on_any_number_of_threads() {
        let (x, known, truth) = lesson();
        let lesson = Lesson {
            rows: x.view(),
            labels: &known,
        };
        for base in Base::nine() {
            let run = || {
                let fitted = base.fit(&lesson, 7, &Monitor::silent()).unwrap();
                fitted.classes(x.view()).unwrap()
            };
            let (one, two) = in_one_and_two_threads(run);
            assert_eq!(one, two, "{}", base.name());
            let right = (0..150).filter(|&i| truth[i].class() == Some(one[i]));
            let right = right.count();
            assert!(right >= 130, "{}: {right} of 150", base.name());
            let other = base.fit(&lesson, 7, &Monitor::silent()).unwrap();
            assert_eq!(other.classes(x.view()).unwrap(), one);
            assert_eq!(other.metric().is_some(), base.has_metric());
        }
    }

    #[test]
    fn one_label_a_class_more_columns_than_rows_and_duplicates() {
        let wide = Array2::from_shape_fn((6, 9), |(i, j)| {
            f32::from(u8::from(i % 2 == j % 2)) + ((i * 7 + j * 3) % 5) as f32 / 10.0
        });
        let same = Array2::<f32>::ones((6, 2));
        let one = Labels::parse(["a", "b", "", "", "", ""]);
        let two = Labels::parse(["a", "b", "a", "b", "", ""]);
        for labels in [&one, &two] {
            for base in Base::nine() {
                let fitted = |x: &Array2<f32>| {
                    let rows = x.view();
                    let fitted = base.fit(&Lesson { rows, labels }, 1, &Monitor::silent());
                    fitted.and_then(|fitted| fitted.classes(rows))
                };
                let found = fitted(&wide).unwrap_or_else(|e| panic!("{}: {e}", base.name()));
                assert_eq!(found[..2], [0, 1], "{}", base.name());
                // Rows that are all the same teach nothing: a class, or a message.
                match fitted(&same) {
                    Ok(found) => assert!(found.iter().all(|&c| c < 2)),
                    Err(e) => assert!(e.to_string().starts_with(base.name()), "{e}"),
                }
            }
        }
    }

    #[test]
    fn names_and_json_lead_back() {
        let nine: Vec<&str> = Base::nine().iter().map(Base::name).collect();
        let expected = [
            "adaboost",
            "discriminant",
            "forest",
            "subspace",
            "euclid",
            "rca",
            "dca",
            "lrml",
            "seraph",
        ];
        assert_eq!(nine, expected);
        assert_eq!(Base::NAMES.len(), Base::SOURCES.len());
        for name in Base::NAMES
            .iter()
            .copied()
            .chain(expected)
            .chain(["itml", "lmnn"])
        {
            let base = Base::named(name).unwrap();
            base.validate().unwrap();
            let json = serde_json::to_string(&base).unwrap();
            assert_eq!(serde_json::from_str::<Base>(&json).unwrap(), base, "{json}");
        }
        for name in ["oasis", "logistic", "lda", "hds", "omks", "emr", "nosuch"] {
            assert!(Base::named(name).is_none(), "{name}");
        }
    }
}
