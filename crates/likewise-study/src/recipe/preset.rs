//! The recipes that have a name.

mod own;
mod papers;
mod unlabeled;

use std::sync::LazyLock;

use likewise::learn::Closed;
use likewise::linear::Behind;
use likewise::propagate::Method;
use likewise_nn::cross;
use likewise_nn::loss::Loss;

pub(super) use self::papers::AFFINITY_TRIPLET;
use super::{Affinity, On, PseudoLabels, Recipe};
use crate::near::there_are;
use crate::{Error, Result};

/// A recipe that has a name of its own.
#[derive(Debug)]
pub(crate) struct Preset {
    pub(crate) name: String,
    /// What it is, in a few words.
    pub(crate) what: String,
    /// The function of [`Recipe`] that makes it, whose doc comment explains it.
    pub(crate) function: &'static str,
    make: Make,
}

#[derive(Debug)]
enum Make {
    Alone(fn() -> Recipe),
    Of(fn(Behind) -> Recipe, Behind),
}

/// One line a recipe: its name, the function that makes it, and what it is in a few words. One line
/// stands for each learner of a list: what comes before its name, the function that takes it, and the words
/// before and after its name.
macro_rules! presets {
    (
        $($name:literal $make:ident, $what:literal;)*
        each of $List:ident: $before:literal $of:ident, $words:literal, $end:literal;
        $($later:literal $make_later:ident, $what_later:literal;)*
    ) => {
        /// All of them, in the order in which they are listed.
        static PRESETS: LazyLock<Vec<Preset>> = LazyLock::new(|| {
            let alone = |name: &str, what: &str, function, make| Preset {
                name: name.into(),
                what: what.into(),
                function,
                make: Make::Alone(make),
            };
            let mut all: Vec<Preset> =
                vec![$(alone($name, $what, stringify!($make), Recipe::$make),)*];
            all.extend($List::NAMES.iter().filter_map(|learner| {
                Some(Preset {
                    name: format!("{}{learner}", $before),
                    what: format!("{}{learner}{}", $words, $end),
                    function: stringify!($of),
                    make: Make::Of(Recipe::$of, $List::named(learner)?),
                })
            }));
            all.extend([$(
                alone($later, $what_later, stringify!($make_later), Recipe::$make_later),
            )*]);
            all
        });
    };
}

presets! {
    "mixed-lp" mixed_lp, "the recipe of a head on whitened features";
    "mixed-lp-centred" mixed_lp_centered, "the recipe of heads on features that are not whitened";
    "mild-probabilities" mild_probabilities,
        "the recipe of class probabilities that weigh as much as the features";
    "joined-probabilities" joined_probabilities,
        "the recipe of class probabilities of several kinds, side by side";
    "mild-joined" mild_joined, "the recipe where nothing can be measured";
    "label-joined" label_joined, "the recipe of class probabilities of several kinds by the known labels alone";
    "scaled-joined" scaled_joined, "the recipe of class probabilities of two kinds, of scaled columns";
    "scaled-label-joined" scaled_label_joined,
        "the recipe of class probabilities of two kinds, of scaled columns, by the known labels alone";
    "rooted-joined" rooted_joined, "the recipe of class probabilities of several kinds, of the roots of the features";
    "rooted-mild-joined" rooted_mild_joined,
        "the recipe where nothing can be measured, of the roots of the features";
    "label-probabilities" label_probabilities, "the recipe of class probabilities by the known labels alone";
    "start" start, "the recipe that learns nothing";
    "scaled-start" scaled_start, "the recipe that learns nothing, of scaled columns";
    "rooted-start" rooted_start, "the recipe that learns nothing, of the roots of the features";
    "whitened-start" whitened_start, "the recipe that learns nothing, of whitened features";
    "probabilities" probabilities, "the recipe of class probabilities beside the features";
    "scaled-probabilities" scaled_probabilities, "the recipe of class probabilities of scaled columns";
    "scaled-label-probabilities" scaled_label_probabilities,
        "the recipe of class probabilities of scaled columns by the known labels alone";
    "scaled-mild-probabilities" scaled_mild_probabilities,
        "the recipe of class probabilities that weigh as much as the scaled columns";
    "rooted-mild-probabilities" rooted_mild_probabilities,
        "the recipe of class probabilities that weigh as much as the roots of the features";
    "rooted-probabilities" rooted_probabilities, "the recipe of class probabilities of the roots of the features";
    "rooted-label-probabilities" rooted_label_probabilities,
        "the recipe of class probabilities of the roots of the features by the known labels alone";
    "scaled-lda" scaled_lda, "the recipe of linear discriminants of scaled columns by the known labels alone";
    "scaled-mixed-lda" scaled_mixed_lda, "the recipe of linear discriminants of scaled columns";
    "mixed-lda" mixed_lda, "the recipe of linear discriminants";
    "unit-lda" unit_lda, "the recipe of linear discriminants by the known labels alone";
    "mixed-lp-paper" paper, "the recipe as its paper prints it";
    "proxy-anchor-paper" proxy_anchor_paper, "the recipe of Proxy-Anchor as its paper prints it";
    "proxy-nca-plus-plus-paper" proxy_nca_plus_plus_paper, "the recipe of ProxyNCA++ as its paper prints it";
    "soft-triple-paper" soft_triple_paper, "the recipe of SoftTriple as its paper prints it";
    each of Behind: "deep-" deep, "the recipe of ", " behind a network";
    "mixed-rca" mixed_rca, "the recipe for classes without labels";
    "rooted-mixed-rca" rooted_mixed_rca, "the recipe for classes without labels, of the roots of the features";
    "label-rca" label_rca, "the recipe of labels alone, in closed form";
    "dssml" dssml, "the recipe with mutual neighbours";
    "affinity-triplet" affinity_triplet, "the recipe of affinity triplets";
    "multi-kernel" multi_kernel, "the recipe of votes, triplets and many kernels";
    "deep-cluster" deep_cluster, "the recipe of clusters that are learned and found anew";
    "dec" dec, "the recipe of clusters that sharpen themselves";
    "sdec" sdec, "the recipe of clusters that sharpen themselves, with links of labels";
    "nce" nce, "the recipe of a memory of every item";
    "exemplar" exemplar, "the recipe of every item as a class";
    "rotnet" rotnet, "the recipe of turned images";
}

/// What features ask for, as is seen without labels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traits {
    /// Whether rows of length 1 would lose what the features say, as where columns are of different units.
    pub scaled: bool,
    /// Whether roots may say more than the features: no value is negative.
    pub rooted: bool,
    /// Whether they most probably do: every row is a histogram, shares of one sum.
    pub histograms: bool,
}

impl Preset {
    pub(crate) fn all() -> &'static [Self] {
        &PRESETS
    }

    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    fn recipe(&self) -> Recipe {
        match self.make {
            Make::Alone(make) => make(),
            Make::Of(make, learner) => make(learner),
        }
    }
}

impl Recipe {
    /// Names of the recipes that [`named`](Self::named) knows: the methods, and every loss on
    /// the labels alone.
    pub fn names() -> Vec<String> {
        let presets = Preset::all().iter().map(|preset| preset.name.clone());
        let mut names: Vec<String> = presets.collect();
        let losses = Loss::all().into_iter().filter(Loss::stands_alone);
        let losses = losses.map(|loss| loss.name().to_owned());
        let own: Vec<String> = losses.filter(|name| !names.contains(name)).collect();
        names.extend(own);
        let closed = Closed::NAMES.iter().map(|name| String::from(*name));
        let own = closed.filter(|name| !names.contains(name));
        let own: Vec<String> = own.collect();
        names.extend(own);
        names.extend(cross::Learner::names().into_iter().map(String::from));
        names
    }

    /// The recipe of this name.
    pub fn named(name: &str) -> Result<Self> {
        let named = |recipe: Self| Self {
            name: name.to_owned(),
            ..recipe
        };
        Ok(named(match name {
            _ if let Some(preset) = Preset::named(name) => preset.recipe(),
            _ if let Some(learner) = Closed::published(name) => Self::published(learner),
            _ if let Some(learner) = Closed::named(name) => Self::closed(learner),
            _ if let Some(learner) = cross::Learner::named(name) => Self::across(learner),
            // As "proxy-nca++" is none.
            _ if let Some((source, learner)) = name.split_once('+')
                && !learner.starts_with('+') =>
            {
                Self::across_believed(source, learner)?
            }
            _ => {
                let rule = || there_are(name, &Self::names());
                let unknown = |_| Error::parameter("recipe", name, &rule());
                let loss = Loss::named(name).map_err(unknown)?;
                if !loss.stands_alone() {
                    let rule = "stands beside another loss, in a list of a recipe's file: [[learner.loss]]";
                    return Err(Error::parameter("recipe", name, rule));
                }
                Self::supervised(loss)
            }
        }))
    }

    /// The recipes between which `auto` chooses: the one that stands where nothing can be compared, then
    /// the others, those that rarely lose first. `of`: what the features ask for.
    ///
    /// Class probabilities of several kinds, which weigh about as much as the features; the start without labels; the same
    /// probabilities as they weigh more, and by the labels alone; those of one kind, or where scales are asked for three of
    /// scaled columns; where roots are asked for, three of these; relevant component analysis; and the head of `mixed-lp`.
    ///
    /// Those of several kinds stand before those of one, although they are less simple: which kind is best differs from set to
    /// set by more than a handful of labels can tell, and a choice between them is luck. So most kinds by themselves
    /// are none of the candidates. Nor is `mixed-lp` on centred features, which was never chosen in 125 fits of nine sets. Those
    /// that this build cannot run are left out.
    pub fn candidates(of: Traits) -> Vec<Self> {
        let mut candidates = vec![
            Self::mild_joined(),
            Self::start(),
            Self::joined_probabilities(),
            Self::label_joined(),
        ];
        candidates.extend(if of.scaled {
            vec![
                Self::scaled_mild_probabilities(),
                Self::scaled_joined(),
                Self::scaled_label_joined(),
            ]
        } else {
            vec![Self::mild_probabilities(), Self::probabilities()]
        });
        if of.rooted {
            let place = if of.histograms { 0 } else { candidates.len() };
            candidates.insert(place, Self::rooted_mild_joined());
            candidates.extend([Self::rooted_start(), Self::rooted_joined()]);
        }
        candidates.extend([Self::mixed_rca(), Self::mixed_lp()]);
        candidates.retain(|recipe| recipe.check_build().is_ok());
        candidates
    }

    /// The recipes between which `auto` chooses where the classes that are searched have no labels, as
    /// [`candidates`](Self::candidates) else: a start, of scaled columns where rows of length 1 would lose what the
    /// features say, and relevant component analysis, which learns what all classes vary in; and where roots may
    /// say more, both of these. Of histograms their start is the first.
    pub fn candidates_for_new_classes(of: Traits) -> Vec<Self> {
        let start = if of.scaled {
            Self::scaled_start()
        } else {
            Self::start()
        };
        let mut candidates = vec![start, Self::mixed_rca()];
        if of.rooted {
            candidates.insert(usize::from(!of.histograms), Self::rooted_start());
            candidates.push(Self::rooted_mixed_rca());
        }
        candidates
    }

    /// The learner across views of this name, with pseudo-labels from this source.
    fn across_believed(source: &str, learner: &str) -> Result<Self> {
        let unknown = |field: &str, name: &str, there: &[&str]| {
            let rule = format!("there are: {}", there.join(", "));
            Error::parameter(field, name, &rule)
        };
        let names = cross::Learner::names();
        let learner = cross::Learner::named(learner)
            .ok_or_else(|| unknown("learner across views", learner, &names))?;
        let source = match source {
            "affinity" => toml::Value::try_from(PseudoLabels::Affinity(Affinity {
                on: On::Start,
                ..Affinity::default()
            }))
            .map_err(|e| Error::data(e.to_string()))?,
            "lpf" | "votes" => source.into(),
            _ if Method::named(source).is_ok() => source.into(),
            _ => {
                let there = [&["affinity", "lpf", "votes"], Method::NAMES].concat();
                return Err(unknown("source of pseudo-labels", source, &there));
            }
        };
        let source = ("pseudo_labels".to_owned(), source);
        Self::across(learner).with(toml::Table::from_iter([source]))
    }
}
