//! The recipes that have a name.

mod own;
mod papers;
mod unlabeled;

use likewise::learn::Closed;
use likewise::linear::Behind;
use likewise::propagate::Method;
use likewise_nn::cross;
use likewise_nn::loss::Loss;

pub(super) use self::papers::AFFINITY_TRIPLET;
use super::{Affinity, On, PseudoLabels, Recipe};
use crate::near::there_are;
use crate::{Error, Result};

impl Recipe {
    /// Names of the recipes that [`named`](Self::named) knows: the methods, and every loss on
    /// the labels alone.
    pub fn names() -> Vec<String> {
        let methods = [
            "mixed-lp",
            "mixed-lp-centred",
            "mild-probabilities",
            "label-probabilities",
            "start",
            "scaled-start",
            "whitened-start",
            "probabilities",
            "scaled-probabilities",
            "scaled-label-probabilities",
            "scaled-mild-probabilities",
            "scaled-lda",
            "scaled-mixed-lda",
            "mixed-lda",
            "unit-lda",
            "mixed-lp-paper",
            "proxy-anchor-paper",
            "proxy-nca-plus-plus-paper",
            "soft-triple-paper",
            "deep-lrml",
            "deep-seraph",
            "deep-isdml",
            "deep-apllr",
            "deep-apit",
            "mixed-rca",
            "label-rca",
            "dssml",
            "affinity-triplet",
            "multi-kernel",
            "contextual",
            "deep-cluster",
            "dec",
            "sdec",
            "nce",
            "exemplar",
            "rotnet",
        ];
        let mut names: Vec<String> = methods.map(String::from).to_vec();
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
            "label-rca" => Self::label_rca(),
            "mixed-lp" => Self::mixed_lp(),
            "mixed-lp-centred" => Self::mixed_lp_centred(),
            "mild-probabilities" => Self::mild_probabilities(),
            "probabilities" => Self::probabilities(),
            "scaled-probabilities" => Self::scaled_probabilities(),
            "scaled-label-probabilities" => Self::scaled_label_probabilities(),
            "scaled-mild-probabilities" => Self::scaled_mild_probabilities(),
            "scaled-lda" => Self::scaled_lda(),
            "scaled-mixed-lda" => Self::scaled_mixed_lda(),
            "mixed-lp-paper" => Self::paper(),
            "proxy-anchor-paper" => Self::proxy_anchor_paper(),
            "proxy-nca-plus-plus-paper" => Self::proxy_nca_plus_plus_paper(),
            "soft-triple-paper" => Self::soft_triple_paper(),
            "mixed-lda" => Self::mixed_lda(),
            "unit-lda" => Self::unit_lda(),
            "mixed-rca" => Self::mixed_rca(),
            "dssml" => Self::dssml(),
            "affinity-triplet" => Self::affinity_triplet(),
            "multi-kernel" => Self::multi_kernel(),
            "deep-cluster" => Self::deep_cluster(),
            "dec" => Self::dec(),
            "sdec" => Self::sdec(),
            "nce" => Self::nce(),
            "exemplar" => Self::exemplar(),
            "rotnet" => Self::rotnet(),
            "start" => Self::start(),
            "scaled-start" => Self::scaled_start(),
            "whitened-start" => Self::whitened_start(),
            "label-probabilities" => Self::label_probabilities(),
            _ if let Some(learner) = name.strip_prefix("deep-").and_then(Behind::named) => {
                Self::deep(learner)
            }
            _ if let Some(learner) = Closed::published(name) => Self::published(learner),
            _ if let Some(learner) = Closed::named(name) => Self::closed(learner),
            _ if let Some(learner) = cross::Learner::named(name) => Self::across(learner),
            _ if let Some((source, learner)) = name.split_once('+') => {
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
    /// the others, those that rarely lose first. `scaled`: whether rows of length 1 would lose what
    /// the features say, as where columns are of different units.
    ///
    /// Class probabilities that weigh as much as the features; the start without labels; class
    /// probabilities of the labels alone and of what spreads from them, by logistic regression and by
    /// linear discriminants; the same of scaled columns; relevant component analysis; and the head of
    /// `mixed-lp`. Where `scaled`, those of rows of length 1 are left out but for `mild-probabilities`, which comes
    /// after those of scaled columns. The form of `mixed-lp` on centred features is none of them: while it was, in
    /// 125 fits of nine sets, it was never chosen, for a quarter of the time. Those that this build cannot run are
    /// left out.
    pub fn candidates(scaled: bool) -> Vec<Self> {
        let mut candidates = if scaled {
            vec![
                Self::scaled_mild_probabilities(),
                Self::start(),
                Self::scaled_label_probabilities(),
                Self::scaled_lda(),
                Self::scaled_probabilities(),
                Self::scaled_mixed_lda(),
                Self::mild_probabilities(),
            ]
        } else {
            vec![
                Self::mild_probabilities(),
                Self::start(),
                Self::label_probabilities(),
                Self::unit_lda(),
                Self::probabilities(),
                Self::mixed_lda(),
                Self::scaled_mild_probabilities(),
                Self::scaled_label_probabilities(),
                Self::scaled_lda(),
                Self::scaled_probabilities(),
            ]
        };
        candidates.extend([Self::mixed_rca(), Self::mixed_lp()]);
        candidates.retain(|recipe| recipe.check_build().is_ok());
        candidates
    }

    /// The recipes between which `auto` chooses where the classes that are searched have no labels, as
    /// [`candidates`](Self::candidates) else: a start, of scaled columns where rows of length 1 would lose what the
    /// features say, and relevant component analysis, which learns what all classes vary in.
    pub fn candidates_for_new_classes(scaled: bool) -> [Self; 2] {
        let start = if scaled {
            Self::scaled_start()
        } else {
            Self::start()
        };
        [start, Self::mixed_rca()]
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
