//! The list of the propagation methods: their names, types and abilities.
//!
//! A new method is a line here; the command, recipes and the contract tests follow from it.

use serde::{Deserialize, Serialize};

use super::given::{Listed, check_nodes};
use super::parts::counted;
use super::{
    Ability, Control, Dssml, Given, GoldbergExact, GongExact, Harmonic, Iscen, Lgc, Lpdr, Manifold,
    Mixed, NegativeLabels, Poisson, PoissonMbo, Propagate, Sizes, Spread, TongJinExact,
};
use crate::graph::Symmetrize;
use crate::{Error, Labels, Monitor, Result};

/// One line a method: its name for people, its variant, its type, its source, its abilities, and
/// what it is.
macro_rules! methods {
    ($($name:literal $variant:ident($type:ident) $file:literal [$($ability:expr),*],
        $what:literal;)*) => {
        /// A propagation method with its parameters.
        ///
        /// ```
        /// use likewise::propagate::Method;
        /// assert_eq!(Method::named("lgc")?.name(), "lgc");
        /// assert!(Method::named("nosuch").is_err());
        /// # Ok::<(), likewise::Error>(())
        /// ```
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "method")]
        pub enum Method {
            $(#[doc = $what] #[serde(rename = $name)] $variant($type),)*
        }

        $(impl Listed for $type {
            const NAME: &'static str = $name;
            const ABILITIES: &'static [Ability] = &[$($ability),*];
        })*

        impl Method {
            /// Names of all methods.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// What each method is, in the order of [`NAMES`](Self::NAMES).
            pub const ABOUT: &'static [&'static str] = &[$($what),*];

            /// The source of each method, whose doc comment explains it.
            pub const SOURCES: &'static [&'static str] = &[$(include_str!($file)),*];

            /// The method of this name with its default parameters.
            ///
            /// Fails where there is no such method, or not in this build: `goldberg` needs the
            /// cargo feature `exact`.
            pub fn named(name: &str) -> Result<Self> {
                let method = match name {
                    $($name => Self::$variant($type::default()),)*
                    _ => {
                        let rule = format!("there are: {}", Self::NAMES.join(", "));
                        return Err(Error::parameter("method", name, &rule));
                    }
                };
                method.is_built().map(|()| method)
            }

            /// The name of this method.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                }
            }

            /// What it needs, takes and gives besides a graph, labels and beliefs.
            pub fn abilities(&self) -> &'static [Ability] {
                match self {
                    $(Self::$variant(_) => $type::ABILITIES,)*
                }
            }

            /// The names of the methods that have an ability.
            pub fn names_with(ability: Ability) -> Vec<&'static str> {
                let all = [$(($name, $type::ABILITIES)),*];
                let with = all.into_iter().filter(|(_, abilities)| abilities.contains(&ability));
                with.map(|(name, _)| name).collect()
            }
        }

        impl Propagate for Method {
            fn spread(&self, given: &Given, monitor: &Monitor) -> Result<Spread> {
                match self {
                    $(Self::$variant(m) => m.spread(given, monitor),)*
                }
            }
        }
    };
}

methods! {
    "lgc" Lgc(Lgc) "lgc.rs" [Ability::TakesSizes],
        "Local and global consistency (Zhou 2003).";
    "harmonic" Harmonic(Harmonic) "harmonic.rs" [],
        "Fitted on labeled items only (U-modified).";
    "mixed" Mixed(Mixed) "mixed.rs"
        [Ability::TakesNegatives, Ability::FindsNegatives, Ability::TakesSizes],
        "With negative edges found by edge removal.";
    "control" Control(Control) "control.rs" [Ability::FindsNegatives],
        "With negative edges found without it.";
    "manifold" Manifold(Manifold) "manifold.rs"
        [Ability::NeedsNeighbors, Ability::FindsNegatives],
        "With one-sided neighbours as negative edges (`MoM`).";
    "lpdr" Lpdr(Lpdr) "lpdr.rs" [Ability::TakesNegatives],
        "Dissimilarity regularisation (Zheng and Ip 2013).";
    "iscen" Iscen(Iscen) "iscen.rs" [],
        "Class-balanced diffusion (Iscen 2019).";
    "dssml" Dssml(Dssml) "dssml.rs" [Ability::Mutual],
        "The same on a mutual graph (Zhuang and Moulin 2021).";
    "negative-labels" NegativeLabels(NegativeLabels) "negative_labels.rs" [Ability::TakesExclusions],
        "With labels of the form \"not this class\" (Zoidi 2016).";
    "poisson" Poisson(Poisson) "poisson.rs" [Ability::TakesSizes],
        "Labels as sources of a flow (Calder 2020).";
    "poisson-mbo" PoissonMbo(PoissonMbo) "poisson_mbo.rs" [Ability::TakesSizes],
        "Decided by the sizes of classes again and again (Calder 2020).";
    "tong-jin" TongJin(TongJinExact) "tong_jin.rs"
        [Ability::TakesNegatives, Ability::Dense { most_nodes: TongJinExact::MOST_NODES }],
        "Dense, two classes (Tong and Jin 2007), a few thousand items.";
    "gong" Gong(GongExact) "gong.rs"
        [Ability::TakesNegatives, Ability::Dense { most_nodes: GongExact::MOST_NODES }],
        "Dense propagation of pairwise constraints (Gong 2014), a few thousand items.";
    "goldberg" Goldberg(GoldbergExact) "goldberg.rs"
        [Ability::TakesNegatives, Ability::Dense { most_nodes: GoldbergExact::MOST_NODES }],
        "Dense quadratic program (Goldberg 2007), a few hundred items.";
}

impl Method {
    /// The [names of those](Self::names_with) that have an ability, as people list them: `a, b or c`.
    pub fn any_with(ability: Ability) -> String {
        let names = Self::names_with(ability);
        match names.split_last() {
            Some((last, others)) if !others.is_empty() => {
                format!("{} or {last}", others.join(", "))
            }
            _ => names.concat(),
        }
    }

    /// Whether it has an ability.
    pub fn has(&self, ability: Ability) -> bool {
        self.abilities().contains(&ability)
    }

    /// Fails where `n` nodes are too many for it, as its run would: before a graph of so many
    /// is built.
    pub fn check_nodes(&self, n: usize) -> Result<()> {
        check_nodes(self.name(), self.abilities(), n)
    }

    /// What an edge of its graph weighs that both, or only one, of its ends list, unless people say so.
    pub fn symmetrize(&self) -> Symmetrize {
        if self.has(Ability::Mutual) {
            Symmetrize::Mutual
        } else {
            Symmetrize::default()
        }
    }

    /// Its parameters that change nothing beside the others, each with the reason; of some only where the
    /// negative edges are [given](Given::negatives), or only where they are not. A parameter of a parameter
    /// has a dot: `search.beta`.
    pub fn idle(&self, given_negatives: bool) -> Vec<(&'static str, &'static str)> {
        const WEIGHTLESS: &str = "negative edges weigh nothing with a beta of 0";
        const GIVEN: &str = "the negative edges are given, so none are searched for";
        const HELD: &str = "the sizes of the classes are held in its place";
        match self {
            Self::Manifold(_) => {
                let why =
                    "the one-sided neighbours are its negative edges, so none are searched for";
                vec![("lambda", why), ("scale", why)]
            }
            Self::Lgc(lgc) if lgc.own_sizes().is_some() => vec![("mass", HELD)],
            Self::Mixed(mixed) => {
                let mut idle = Vec::new();
                if mixed.beta == 0.0 {
                    idle.extend(["lambda", "scale", "pair_factor"].map(|name| (name, WEIGHTLESS)));
                } else if given_negatives {
                    idle.extend(["lambda", "scale"].map(|name| (name, GIVEN)));
                }
                idle.extend(mixed.sizes.is_some().then_some(("mass", HELD)));
                idle
            }
            Self::PoissonMbo(mbo) if mbo.beta == 0.0 => {
                let why = "negative edges weigh nothing with a beta of 0, and are not searched for";
                vec![("lambda", why)]
            }
            Self::Lpdr(_) if given_negatives => vec![("search", GIVEN)],
            Self::Lpdr(_) => {
                let why = "lpdr takes the search for negative edges alone, and solves by its own settings";
                let names = [
                    "search.beta",
                    "search.fit",
                    "search.mass",
                    "search.pair_factor",
                ];
                names.map(|name| (name, why)).to_vec()
            }
            _ => Vec::new(),
        }
    }

    /// Fails on sizes of classes that it does not take whatever the graph and the labels are, as its run
    /// would: before these are read.
    pub fn check_sizes(&self) -> Result<()> {
        match self {
            Self::Lgc(lgc) => lgc.own_sizes().map_or(Ok(()), counted::check),
            Self::Mixed(mixed) => mixed.sizes.as_ref().map_or(Ok(()), counted::check),
            Self::Poisson(poisson) => poisson.check(),
            _ => Ok(()),
        }
    }

    /// Says the sizes of the classes, to a method that [takes](Ability::TakesSizes) them; of all others
    /// nothing changes.
    pub fn set_sizes(&mut self, sizes: Sizes) {
        match self {
            Self::Lgc(lgc) => *lgc = std::mem::take(lgc).sizes(sizes),
            Self::Mixed(mixed) => *mixed = std::mem::take(mixed).sizes(sizes),
            Self::Poisson(poisson) => *poisson = std::mem::take(poisson).sizes(sizes),
            Self::PoissonMbo(mbo) => *mbo = std::mem::take(mbo).sizes(sizes),
            _ => {}
        }
    }

    fn is_built(&self) -> Result<()> {
        match self {
            Self::Goldberg(_) => GoldbergExact::is_built(),
            _ => Ok(()),
        }
    }
}

impl Method {
    /// Labels a class up to which equally many of them leave the sizes of the classes open.
    const FEW: usize = 2;

    /// The method that suits these labels: [`PoissonMbo`] with estimated sizes where all labeled classes have
    /// one label or all have two, else the default, [`Mixed`].
    ///
    /// Equally many labels of each class say nothing of the sizes of the classes, by which mixed propagation decides;
    /// unequally many, as of items drawn at random, do. Share of right classes against local and global consistency
    /// with uniform class mass, mean over 8 sets of development and over 11 others: one label a class `PoissonMBO`
    /// +.018 and +.040, mixed +.011 and +.025; two +.015 and +.033, -.001 and +.024; five +.017 both and
    /// +.011 and +.024. Of classes of 10 to 1 with two labels each it is even (+.005 and +.023, +.007 and +.027), of
    /// two a class drawn at random mixed is ahead (+.007 and +.020, +.058 and +.055).
    ///
    /// ```
    /// use likewise::Labels;
    /// use likewise::propagate::Method;
    /// let named = |labels: &[i64]| Method::suited(&Labels::from_integers(labels.iter().copied())).name();
    /// assert_eq!(named(&[0, 1, 2, -1, -1, -1]), "poisson-mbo");
    /// assert_eq!(named(&[0, 1, 2, 2, -1, -1]), "mixed");
    /// ```
    pub fn suited(labels: &Labels) -> Self {
        let counts = labels.by_class().into_iter().map(|of| of.len());
        let counts = counts.filter(|&n| n > 0).collect::<Vec<_>>();
        let few = (1..=Self::FEW).contains(&counts.first().copied().unwrap_or(0));
        if few && labels.tags().is_none() && counts.windows(2).all(|two| two[0] == two[1]) {
            Self::PoissonMbo(PoissonMbo::new())
        } else {
            Self::default()
        }
    }
}

impl Default for Method {
    /// [`Mixed`], whose doc says against what it won, and where it loses.
    fn default() -> Self {
        Self::Mixed(Mixed::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_found_by_its_name_and_by_its_json() {
        assert_eq!(Method::NAMES.len(), Method::ABOUT.len());
        for name in Method::NAMES {
            if *name == "goldberg" && !cfg!(feature = "exact") {
                let error = Method::named(name).unwrap_err().to_string();
                assert!(error.contains("cargo feature `exact`"), "{error}");
                continue;
            }
            let method = Method::named(name).unwrap();
            assert_eq!(method.name(), *name);
            let json = serde_json::to_string(&method).unwrap();
            assert!(
                json.starts_with(&format!("{{\"method\":\"{name}\",")),
                "{json}"
            );
            assert_eq!(serde_json::from_str::<Method>(&json).unwrap(), method);
            let bare = format!("{{\"method\":\"{name}\"}}");
            assert_eq!(serde_json::from_str::<Method>(&bare).unwrap(), method);
            let wrong = format!("{{\"method\":\"{name}\",\"nosuch\":1}}");
            let error = serde_json::from_str::<Method>(&wrong)
                .unwrap_err()
                .to_string();
            assert!(
                error.contains("unknown field `nosuch`, expected"),
                "{error}"
            );
        }
        let error = Method::named("nosuch").unwrap_err().to_string();
        assert!(
            error.starts_with("method = nosuch: there are: lgc, harmonic"),
            "{error}"
        );
    }

    /// What recipes and run folders hold.
    #[test]
    fn the_json_of_the_methods_stays_as_it_is() {
        let json = |name: &str| serde_json::to_string(&Method::named(name).unwrap()).unwrap();
        let mu = 1.0 / 99.0;
        let solver = "\"tolerance\":1e-10,\"max_iterations\":";
        let mixed = |beta: &str, scale: &str| {
            format!("{beta},\"mu\":{mu},{scale},\"fit\":\"labeled\",\"mass\":\"none\",{solver}")
        };
        let standard = mixed(
            "\"beta\":1.0,\"lambda\":3.0",
            "\"pair_factor\":1.0,\"scale\":\"standardised\"",
        );
        let printed = mixed(
            "\"beta\":1.0,\"lambda\":4.0",
            "\"pair_factor\":2.0,\"scale\":\"literal\"",
        );
        for (name, fields) in [
            ("lgc", format!("\"mu\":{mu},\"mass\":\"none\",{solver}")),
            (
                "harmonic",
                format!("\"mu\":{mu},\"mass\":\"none\",{solver}"),
            ),
            (
                "mixed",
                standard
                    .replace("\"beta\":1.0", "\"beta\":0.3")
                    .replace("labeled", "all")
                    .replace("none", "estimated"),
            ),
            (
                "control",
                format!("\"beta\":1.0,\"mu\":{mu},\"pair_factor\":2.0,\"mass\":\"none\",{solver}"),
            ),
            ("manifold", printed),
            (
                "lpdr",
                format!(
                    "\"gamma\":100.0,\"lambda\":1.0,\"pair_factor\":1.0,\"search\":{{{standard}"
                ),
            ),
            ("iscen", format!("\"alpha\":0.99,{solver}")),
            ("dssml", format!("\"alpha\":0.99,{solver}")),
            (
                "negative-labels",
                format!("\"excluded\":[],\"eta\":1.0,\"alpha\":0.99,{solver}"),
            ),
            (
                "tong-jin",
                "\"gamma\":100.0,\"share\":0.5,\"mass\":\"none\"}".into(),
            ),
            ("gong", "\"alpha\":0.99,\"mass\":\"none\"}".into()),
        ] {
            let found = json(name);
            let expected = format!("{{\"method\":\"{name}\",{fields}");
            assert!(found.starts_with(&expected), "{found}\n{expected}");
        }
    }

    #[test]
    fn the_list_says_who_takes_and_finds_what() {
        let taking = Method::names_with(Ability::TakesNegatives);
        assert_eq!(taking, ["mixed", "lpdr", "tong-jin", "gong", "goldberg"]);
        let finding = Method::names_with(Ability::FindsNegatives);
        assert_eq!(finding, ["mixed", "control", "manifold"]);
        let sized = Method::names_with(Ability::TakesSizes);
        assert_eq!(sized, ["lgc", "mixed", "poisson", "poisson-mbo"]);
        assert_eq!(Method::names_with(Ability::Mutual), ["dssml"]);
        let finding = Method::any_with(Ability::FindsNegatives);
        assert_eq!(finding, "mixed, control or manifold");
        assert_eq!(Method::any_with(Ability::Mutual), "dssml");
        let gong = Method::Gong(GongExact::new());
        assert!(gong.check_nodes(3000).is_ok() && Method::default().check_nodes(1 << 30).is_ok());
        let error = gong.check_nodes(3001).unwrap_err().to_string();
        let said = "gong is dense and takes at most 3000 items, but these are 3001; mixed does the same job";
        assert_eq!(error, said);
    }

    /// All that are in this build.
    fn all() -> impl Iterator<Item = Method> {
        let built = Method::NAMES
            .iter()
            .filter(|name| **name != "goldberg" || cfg!(feature = "exact"));
        built.map(|name| Method::named(name).unwrap())
    }

    #[test]
    fn sizes_are_heard_by_those_that_say_so() {
        for method in all() {
            let mut told = method.clone();
            told.set_sizes(Sizes::Known(vec![3.0, 1.0]));
            assert_eq!(
                told != method,
                method.has(Ability::TakesSizes),
                "{method:?}"
            );
        }
    }

    #[test]
    fn those_of_mutual_neighbours_ask_for_such_a_graph() {
        for method in all() {
            let mutual = method.symmetrize() == Symmetrize::Mutual;
            assert_eq!(mutual, method.has(Ability::Mutual), "{method:?}");
        }
    }

    /// A name that no parameter has would let a setting without effect through.
    #[test]
    fn what_changes_nothing_is_a_parameter() {
        let weightless = Method::Mixed(Mixed::new().beta(0.0));
        let weighed = Method::PoissonMbo(PoissonMbo::new().beta(1.0));
        let sized = Method::Mixed(Mixed::new().sizes(Sizes::Balanced));
        let held = Method::Lgc(Lgc::new().sizes(Sizes::Balanced));
        for method in all().chain([weightless, weighed, sized.clone(), held.clone()]) {
            let json = serde_json::to_value(&method).unwrap();
            for given in [false, true] {
                for (name, why) in method.idle(given) {
                    let found = name.split('.').try_fold(&json, |json, key| json.get(key));
                    assert!(found.is_some() && !why.is_empty(), "{name} of {json}");
                }
            }
        }
        let idle = |method: &Method, given| -> Vec<&str> {
            method
                .idle(given)
                .into_iter()
                .map(|(name, _)| name)
                .collect()
        };
        let mixed = |beta: f64| Method::Mixed(Mixed::new().beta(beta));
        assert!(idle(&mixed(0.3), false).is_empty());
        assert_eq!(idle(&mixed(0.3), true), ["lambda", "scale"]);
        assert_eq!(idle(&mixed(0.0), true), ["lambda", "scale", "pair_factor"]);
        let mbo = |beta: f64| Method::PoissonMbo(PoissonMbo::new().beta(beta));
        assert_eq!(idle(&mbo(0.0), false), ["lambda"]);
        assert!(idle(&mbo(0.5), false).is_empty());
        assert_eq!(idle(&sized, false), ["mass"]);
        assert_eq!(idle(&held, false), ["mass"]);
        // Several reasons at once.
        assert_eq!(idle(&sized, true), ["lambda", "scale", "mass"]);
        let both = Method::Mixed(Mixed::new().beta(0.0).sizes(Sizes::Balanced));
        let all = both.idle(false);
        assert_eq!(
            idle(&both, false),
            ["lambda", "scale", "pair_factor", "mass"]
        );
        assert!(all[0].1.contains("beta of 0") && all[3].1.contains("sizes"));
    }

    #[test]
    fn sizes_that_a_run_would_refuse_are_refused_before_it() {
        for method in all().filter(|method| method.has(Ability::TakesSizes)) {
            let with = |sizes: Sizes| {
                let mut method = method.clone();
                method.set_sizes(sizes);
                method
            };
            let (graph, labels) = (crate::reference::path(), crate::reference::path_labels());
            for sizes in [
                Sizes::Estimated,
                Sizes::Balanced,
                Sizes::Free,
                Sizes::Within(2.0),
            ] {
                let method = with(sizes);
                let run = method.propagate(&graph, &labels, &Monitor::silent());
                let run = run.map(|_| ()).map_err(|error| error.to_string());
                let before = method.check_sizes().map_err(|error| error.to_string());
                assert_eq!(before, run);
            }
            let refused = with(Sizes::Estimated).check_sizes().is_err();
            assert_eq!(refused, method.name() != "poisson-mbo");
        }
    }
}
