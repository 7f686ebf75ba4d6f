//! The cross-modal learners: one list, from which recipes, the command and tests follow.

use serde::{Deserialize, Serialize};

use super::scm::{Bits, Fill};
use super::{Cca, ClusterCca, GrowBit, Gsph, Gssl, Lcmf, MeanCca, Model, Scm, Seph, Smfh, Views};
use crate::{Error, Monitor, Result};

/// What a cross-modal learner cannot do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Objects of a known class, of two classes or more.
    Labels,
    /// Objects that are seen in both modalities, whatever their class.
    Pairs,
    /// Objects of a known class that are seen in both modalities.
    LabeledPairs,
}

/// Parameters of [semantic correlation maximisation](super::scm) with all bits at once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OrthogonalScm {
    bits: usize,
    fill: Fill,
    ridge: f64,
}

impl Default for OrthogonalScm {
    fn default() -> Self {
        Self {
            bits: 64,
            fill: Fill::default(),
            ridge: 1e-6,
        }
    }
}

impl OrthogonalScm {
    fn scm(self) -> Scm {
        let how = Bits::Orthogonal(self.fill);
        Scm::new().bits(self.bits).how(how).ridge(self.ridge)
    }

    fn validate(self) -> Result<()> {
        self.scm().validate()
    }
}

/// One line a learner: its name, its type, its source, whether it gives bits, whether it takes more
/// modalities than two, what it needs, how it is fitted and what it is.
macro_rules! learners {
    ($($name:literal $learner:ident($type:ident) $file:literal, $bits:literal, $many:literal, $need:ident,
       $fit:expr, $what:literal;)*) => {
        /// A cross-modal learner, with its parameters.
        ///
        /// ```
        /// use likewise::cross::Learner;
        /// assert!(Learner::named("gsph").is_some_and(|gsph| gsph.gives_bits()));
        /// assert!(Learner::named("nosuch").is_none());
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        pub enum Learner {
            $(#[doc = $what] #[serde(rename = $name)] $learner($type),)*
        }

        impl Learner {
            /// Names of all learners.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// What each learner is, in the order of [`NAMES`](Self::NAMES).
            pub const ABOUT: &'static [&'static str] = &[$($what),*];

            /// The source of each learner, whose doc comment explains it.
            pub const SOURCES: &'static [&'static str] = &[$(include_str!($file)),*];

            /// The learner of this name with its default parameters.
            pub fn named(name: &str) -> Option<Self> {
                Some(match name {
                    $($name => Self::$learner($type::default()),)*
                    _ => return None,
                })
            }

            /// The name of this learner.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$learner(_) => $name,)*
                }
            }

            /// Whether it gives bits, and not numbers.
            pub fn gives_bits(&self) -> bool {
                match self {
                    $(Self::$learner(_) => $bits,)*
                }
            }

            /// Whether it takes any number of modalities, and not two alone.
            pub fn takes_many(&self) -> bool {
                match self {
                    $(Self::$learner(_) => $many,)*
                }
            }

            /// What it cannot do without.
            pub fn need(&self) -> Need {
                match self {
                    $(Self::$learner(_) => Need::$need,)*
                }
            }

            fn check(&self) -> Result<()> {
                match self {
                    $(Self::$learner(learner) => learner.validate(),)*
                }
            }

            fn fit_unchecked(&self, views: &Views, seed: u64, monitor: &Monitor) -> Result<Model> {
                match self {
                    $(Self::$learner(learner) => {
                        let fit: fn(&$type, &Views, u64, &Monitor) -> Result<Model> = $fit;
                        fit(learner, views, seed, monitor)
                    })*
                }
            }
        }
    };
}

learners! {
    "cca" Cca(Cca) "cca.rs", false, false, Pairs,
        |of, views, _, at| Ok(of.fit(views, at)?.model),
        "Canonical correlations: directions along which the two views of an object agree.";
    "cluster-cca" ClusterCca(ClusterCca) "cluster_cca.rs", false, false, Labels,
        |of, views, _, at| Ok(of.fit(views, at)?.model),
        "Cluster CCA: every row of a class is a pair with every row of that class.";
    "growbit" GrowBit(GrowBit) "growbit.rs", true, false, Labels,
        |of, views, seed, at| Ok(of.fit(views, seed, at)?.model),
        "`GrowBit`: class codes that grow bit by bit, and encoders that imitate them.";
    "gsph" Gsph(Gsph) "gsph.rs", true, false, Labels,
        |of, views, seed, at| Ok(of.fit(views, seed, at)?.model),
        "`GsPH`: codes whose products are the similarities of the labels.";
    "gssl" Gssl(Gssl) "gssl.rs", false, true, Labels,
        |of, views, _, at| Ok(of.fit(views, at)?.model),
        "Labels spread over the neighbours in both views, and linear maps learn with them.";
    "lcmf" Lcmf(Lcmf) "lcmf.rs", true, true, Labels,
        |of, views, seed, at| Ok(of.fit(views, seed, at)?.model),
        "LCMF: rows and labels as products of one code an object.";
    "mean-cca" MeanCca(MeanCca) "cluster_cca.rs", false, false, Labels,
        |of, views, _, at| Ok(of.fit(views, at)?.model),
        "Mean CCA: canonical correlations of the means of the classes.";
    "scm-orth" ScmOrth(OrthogonalScm) "scm.rs", true, false, Labels,
        |of, views, seed, at| Ok(of.scm().fit(views, seed, at)?.model),
        "SCM, all bits at once: orthogonal directions that say whether two rows share a class.";
    "scm-seq" ScmSeq(Scm) "scm.rs", true, false, Labels,
        |of, views, seed, at| Ok(of.fit(views, seed, at)?.model),
        "SCM, bit after bit: directions that say whether two rows share a class.";
    "seph" Seph(Seph) "seph.rs", true, true, Labels,
        |of, views, seed, at| Ok(of.fit(views, seed, at)?.model),
        "`SePH`: codes whose distances tell the similarities of the labels, as probabilities.";
    "smfh" Smfh(Smfh) "smfh.rs", true, false, LabeledPairs,
        |of, views, seed, at| Ok(of.fit(views, seed, at)?.model),
        "SMFH: one factor for both rows of an object, smooth over neighbours and classes.";
}

impl Learner {
    /// The names of those that take any number of modalities.
    pub fn of_many() -> Vec<&'static str> {
        let many = |name: &&&str| Self::named(name).is_some_and(|one| one.takes_many());
        Self::NAMES.iter().filter(many).copied().collect()
    }

    /// Checks the parameters.
    pub fn validate(&self) -> Result<()> {
        if let Self::ScmSeq(scm) = self
            && *scm != scm.how(Bits::Sequential)
        {
            let rule = "is what scm-seq is; take scm-orth for all bits at once";
            return Err(Error::parameter("scm.how", "orthogonal", rule));
        }
        self.check()
    }

    /// An encoder for each modality.
    ///
    /// Fails on a parameter out of range, with fewer than two modalities or what it
    /// [needs](Self::need) missing, where all rows of a modality are the same, and when cancelled.
    pub fn fit(&self, views: &Views, seed: u64, monitor: &Monitor) -> Result<Model> {
        self.validate()?;
        let name = self.name();
        let n = views.n_modalities();
        if n < 2 {
            return Err(Error::data(format!(
                "{name} searches across modalities, and there is one; give two"
            )));
        }
        if n > 2 && !self.takes_many() {
            return Err(Error::data(format!(
                "{name} takes 2 modalities, but there are {n}; take 2 of them, or {}",
                Self::of_many().join(", ")
            )));
        }
        for t in 0..n {
            let rows = views.rows(t);
            if rows.rows().into_iter().all(|row| row == rows.row(0)) {
                return Err(Error::data(format!(
                    "all {} rows of modality {t} are the same: nothing can be told by them",
                    rows.nrows()
                )));
            }
        }
        let known = |&object: &usize| views.weight()[object] > 0.0;
        let mut classes: Vec<u32> = (0..views.n_objects())
            .filter(known)
            .map(|object| views.class()[object])
            .collect();
        classes.sort_unstable();
        classes.dedup();
        if self.need() != Need::Pairs && classes.len() < 2 {
            return Err(Error::data(format!(
                "{name} learns what tells classes apart, and the labels are of {}; label some of \
                 another class",
                if classes.is_empty() { "none" } else { "one" }
            )));
        }
        self.fit_unchecked(views, seed, monitor)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    #[test]
    fn every_learner_is_found_by_its_name_and_by_its_json() {
        assert_eq!(Learner::NAMES.len(), Learner::SOURCES.len());
        assert!(Learner::NAMES.is_sorted());
        for name in Learner::NAMES {
            let learner = Learner::named(name).unwrap();
            assert_eq!(learner.name(), *name);
            learner.validate().unwrap();
            let json = serde_json::to_string(&learner).unwrap();
            assert!(json.contains(&format!("\"kind\":\"{name}\"")), "{json}");
            assert_eq!(serde_json::from_str::<Learner>(&json).unwrap(), learner);
            let unknown = format!("{{\"kind\":\"{name}\",\"nosuch\":1}}");
            assert!(serde_json::from_str::<Learner>(&unknown).is_err());
            if learner.gives_bits() {
                let none = format!("{{\"kind\":\"{name}\",\"bits\":0}}");
                let none: Learner = serde_json::from_str(&none).unwrap();
                assert!(none.validate().unwrap_err().to_string().contains("bits"));
            }
        }
    }

    #[test]
    fn who_takes_more_than_two_modalities_is_said() {
        let [x, y] = rows();
        let class: Vec<u32> = (0..24).map(|i| i % 2).collect();
        let three = [x.view(), y.view(), x.view()];
        let views = Views::paired(&three, &class, &[1.0; 24]).unwrap();
        for name in Learner::NAMES {
            let learner = Learner::named(name).unwrap();
            match learner.fit(&views, 3, &Monitor::silent()) {
                Ok(model) => assert!(learner.takes_many() && model.encoders.len() == 3, "{name}"),
                Err(e) => {
                    let said = e.to_string();
                    assert!(!learner.takes_many(), "{said}");
                    let all = "but there are 3; take 2 of them, or gssl, lcmf, seph";
                    assert!(said.ends_with(all), "{said}");
                }
            }
        }
    }

    /// Two classes that the first column of either view tells apart.
    fn rows() -> [Array2<f32>; 2] {
        let noise = |i: usize, j: usize| (((i * 7 + j * 13) * 31) % 17) as f32 / 40.0;
        let side = |d| {
            Array2::from_shape_fn((24, d), |(i, j)| {
                noise(i, j) + if j == 0 && i % 2 == 1 { 3.0 } else { 0.0 }
            })
        };
        [side(3), side(4)]
    }

    #[test]
    fn every_learner_fits_gives_what_it_says_and_needs_what_it_says() {
        let [x, y] = rows();
        let class: Vec<u32> = (0..24).map(|i| i % 2).collect();
        let at = &Monitor::silent();
        let both = [x.view(), y.view()];
        let paired = |weight: &[f32]| Views::paired(&both, &class, weight).unwrap();
        let apart = Views::unpaired(&[
            (x.view(), &class[..], &[1.0; 24][..]),
            (y.view(), &class[..], &[1.0; 24][..]),
        ]);
        let apart = apart.unwrap();
        for name in Learner::NAMES {
            let learner = Learner::named(name).unwrap();
            let model = learner.fit(&paired(&[1.0; 24]), 3, at).unwrap();
            let bits = matches!(
                model.encode(0, x.view()).unwrap(),
                crate::cross::Embedding::Bits(_)
            );
            assert_eq!(bits, learner.gives_bits(), "{name}");
            let unlabeled = learner.fit(&paired(&[0.0; 24]), 3, at);
            assert_eq!(unlabeled.is_ok(), learner.need() == Need::Pairs, "{name}");
            let pairs = matches!(learner.need(), Need::Pairs | Need::LabeledPairs);
            assert_eq!(learner.fit(&apart, 3, at).is_err(), pairs, "{name}");
        }
    }

    #[test]
    fn what_cannot_be_learned_from_is_said() {
        let [x, y] = rows();
        let class: Vec<u32> = (0..24).map(|i| i % 2).collect();
        let gsph = Learner::named("gsph").unwrap();
        let said = |rows: &[ndarray::ArrayView2<f32>], class: &[u32]| {
            let views = Views::paired(rows, class, &[1.0; 24]).unwrap();
            let failed = gsph.fit(&views, 0, &Monitor::silent()).unwrap_err();
            failed.to_string()
        };
        assert!(said(&[x.view()], &class).contains("give two"));
        assert!(said(&[x.view(), y.view()], &[4; 24]).contains("of one"));
        let flat = Array2::from_elem((24, 2), 1.5);
        assert!(said(&[x.view(), flat.view()], &class).contains("modality 1 are the same"));
        let mixed: Learner =
            serde_json::from_str(r#"{"kind":"scm-seq","how":{"orthogonal":"mixtures"}}"#).unwrap();
        assert!(
            mixed
                .validate()
                .unwrap_err()
                .to_string()
                .contains("scm-orth")
        );
    }
}
