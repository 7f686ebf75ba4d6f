//! What a study comes to: the questions of a user, answered in the order in which they are
//! asked, as values and in words.

use std::borrow::Cow;

use likewise::eval::bootstrap::Estimate;
use serde::{Deserialize, Serialize};

use super::draw_log::DrawLog;
use super::rounds::Why;
use super::row::Row;
use crate::plain;

/// Whether one thing is better than another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// Better, beyond the 95 % interval of the difference.
    Better,
    /// Worse, beyond it.
    Worse,
    /// No difference that three digits show.
    Same,
    /// The interval holds 0.
    Unclear,
    /// Too few queries for any answer.
    TooFew,
}

impl Finding {
    /// What a difference says, with its interval over so many queries.
    pub(crate) fn of(difference: &Estimate, queries: usize) -> Self {
        let same = [difference.low, difference.high]
            .iter()
            .all(|end| end.abs() < SHOWN);
        if queries < ENOUGH {
            Self::TooFew
        } else if same && queries < MANY {
            // So few that answer alike are no evidence that all do.
            Self::Unclear
        } else if same {
            Self::Same
        } else if difference.low > 0.0 && difference.value >= SHOWN {
            Self::Better
        } else if difference.high < 0.0 && difference.value <= -SHOWN {
            Self::Worse
        } else {
            Self::Unclear
        }
    }

    /// The finding in a word or two.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "the same",
            Self::Unclear => "no clear difference",
            Self::TooFew => "too few queries to tell",
        }
    }
}

/// Queries below which no difference is called one.
pub(super) const ENOUGH: usize = 16;

/// Queries from which on answers that are all alike say that nothing changed.
const MANY: usize = 100;

/// What teaches unless pairs or triplets are given.
pub(super) const LABELS: &str = "labels";

/// What teaches a recipe that no label, pair or triplet can tell anything.
pub(super) const ITEMS: &str = "items";

/// Half of the last digit that is shown.
const SHOWN: f64 = 0.000_5;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

/// One comparison of the result with something simpler.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// What it is compared with.
    pub against: Row,
    /// The metric that decides: `map_at_r`, or `r_precision` where few items are labeled.
    pub metric: Cow<'static, str>,
    /// Its value there, and with what was learned.
    pub from: f64,
    /// Its value with what was learned.
    pub to: f64,
    /// The difference, paired by query, with its 95 % interval.
    pub difference: Estimate,
    /// What that comes to.
    pub finding: Finding,
}

/// A metric that got worse beyond its interval although the deciding one did not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fall {
    /// The metric, as in `ci`.
    pub metric: String,
    /// The difference to the best start without labels, or to raw features.
    pub difference: Estimate,
    /// To what else than the best start without labels it is the difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Row>,
}

/// How sure the answers are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a key of its own in the file"
)]
pub struct Sureness {
    /// Queries that were asked.
    pub queries: usize,
    /// How many these are a sample of, if they are one.
    pub drawn_from: Option<usize>,
    /// Test items that did not ask, since there is no other item of their class to find.
    pub lone: usize,
    /// Items that each searched.
    pub gallery: usize,
    /// Label draws, or rounds that kept labels back.
    pub rounds: usize,
    /// Whether the recipe was chosen by the labels of the first of several draws, or by the few that measure it too:
    /// what another choice would change is not in the intervals.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chosen_once: bool,
    /// Whether they are rounds over a handful of labels, unlabeled items being searched too.
    pub few_labels: bool,
    /// Whether labels were asked for, by advice or on the page of a run: they are of harder items than most.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asked_for: bool,
    /// Whether the model in the run has learned from the test part too, after the measurement.
    pub refit: bool,
    /// With few labels, the classes that were asked for: all numbers are of items of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<usize>,
    /// With few labels, the classes that have some, but too few to be asked for.
    #[serde(default, skip_serializing_if = "is_none")]
    pub unasked: usize,
    /// With few labels, the share of the unlabeled items that look like none of these classes, where
    /// it is clearly above 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<f64>,
    /// With few labels, the share of its class that is nearer to the middle than a labeled item is, where that
    /// is clearly less than a half.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub central: Option<f64>,
    /// With few labels, the share of the items that the largest class is taken for, where that is most of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest: Option<f64>,
}

/// What was delivered: the model in the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delivered {
    /// What the recipe learned.
    #[default]
    Learned,
    /// The start without labels: nothing learned was better.
    Start,
    /// The features as they are, since they are above all else.
    RawFeatures,
}

impl Delivered {
    /// What a draw kept.
    pub(super) fn of(log: &DrawLog) -> Self {
        match log.why {
            Why::RawFeatures => Self::RawFeatures,
            _ if log.epoch == 0 => Self::Start,
            _ => Self::Learned,
        }
    }
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "do")]
pub enum Next {
    /// Label these items first: each stands for many that are like it.
    LabelItems {
        /// Their ids.
        ids: Vec<String>,
    },
    /// Label more items of every class, so that something can be measured.
    LabelEvery {
        /// So many of each.
        to: usize,
    },
    /// Leave the test part out: then all labels are fitted, and measure in turn.
    MeasureAll,
    /// Label more items of a class.
    LabelClass {
        /// The class.
        class: String,
        /// Its labels now.
        now: usize,
        /// How many more.
        more: usize,
        /// Why this class.
        why: Cow<'static, str>,
    },
    /// Try another recipe.
    Recipe {
        /// Its name.
        name: Cow<'static, str>,
        /// Why.
        why: Cow<'static, str>,
    },
    /// Nothing: it is as good as labels make it.
    Nothing,
}

/// The answers of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What taught: `labels`, the given `pairs` or `triplets` that stand in their place, or the `items` alone.
    #[serde(default = "labels", skip_serializing_if = "is_labels")]
    pub taught_by: Cow<'static, str>,
    /// Whether the recipe learns at all, rather than to leave its start as it is.
    #[serde(default = "learns", skip_serializing_if = "is_true")]
    pub learns: bool,
    /// Did the labels, or what else taught, help against the best start without any? Absent where nothing
    /// could be measured.
    pub labels: Option<Answer>,
    /// Did spreading them to other items add to that? Absent where the recipe spreads none, or
    /// nothing could be measured.
    pub spreading: Option<Answer>,
    /// What got worse beside it.
    pub falls: Vec<Fall>,
    /// How sure this is; absent where nothing could be measured.
    pub sure: Option<Sureness>,
    /// Why nothing could be measured.
    pub not_measured: Option<String>,
    /// How validation went, where that must be said.
    pub validation: Option<String>,
    /// The model that is in the run.
    pub delivered: Delivered,
    /// Whether the recipe learned from the hidden labels.
    pub bound: bool,
    /// What to do next.
    pub next: Next,
}

fn labels() -> Cow<'static, str> {
    Cow::Borrowed(LABELS)
}

fn is_labels(taught_by: &str) -> bool {
    taught_by == LABELS
}

fn learns() -> bool {
    true
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde calls"
)]
fn is_true(learns: &bool) -> bool {
    *learns
}

impl Verdict {
    /// Whether the labels clearly helped.
    pub fn helped(&self) -> bool {
        matches!(&self.labels, Some(answer) if answer.finding == Finding::Better)
    }

    /// The first answer in one sentence.
    pub fn headline(&self) -> String {
        let Some(answer) = &self.labels else {
            let why = self.not_measured.as_deref().unwrap_or("nothing to measure");
            return format!("{} Not measured: {why}.", self.question());
        };
        let metric = title(&answer.metric);
        let than = match answer.against {
            Row::Raw => "the features as they are",
            Row::RawByDistance => "the features as they are, by their distance",
            Row::Centered => "centred features",
            Row::Rooted => "the roots of the features",
            Row::Scaled => "scaled columns",
            Row::Whitened => "whitened features",
            other => other.title(),
        };
        let of = (self.sure.and_then(|sure| sure.classes)).map_or_else(String::new, |n| match self
            .sure
            .map_or(0, |sure| sure.unasked)
        {
            0 => format!(" of items of the {n} labeled classes"),
            _ if n == 1 => " of items of the one class with three labels or more".into(),
            _ => format!(" of items of the {n} classes with three labels or more"),
        });
        let change = format!(
            "{metric}{of} {:.3} -> {:.3} against {than}, the best start without labels ({})",
            answer.from,
            answer.to,
            interval(&answer.difference)
        );
        let word = match answer.finding {
            Finding::Better | Finding::Worse if !self.learns => {
                "The recipe learns nothing from them, and its start differs"
            }
            Finding::Same | Finding::Unclear | Finding::TooFew if !self.learns => {
                "The recipe learns nothing from them"
            }
            Finding::Better if self.kept_nothing() && self.by_items() => {
                "Yes, by the start that the labels chose; nothing that was learned is kept"
            }
            Finding::Better if self.kept_nothing() => {
                "Yes, by the start that they chose; nothing that was learned is kept"
            }
            Finding::Better => "Yes",
            Finding::Worse if self.kept_nothing() => "No, nothing that was learned is kept",
            Finding::Worse if self.by_items() => "No, it did harm",
            Finding::Worse => "No, they did harm",
            Finding::Same if self.by_items() => "It changed nothing",
            Finding::Same => "They changed nothing",
            Finding::Unclear => "Cannot tell",
            Finding::TooFew => {
                let queries = self.sure.map_or(0, |sure| sure.queries);
                return format!(
                    "{} Too few labels to tell: only {queries} queries; {change}.",
                    self.question()
                );
            }
        };
        format!("{} {word}: {change}.", self.question())
    }

    /// What the headline answers.
    fn question(&self) -> String {
        if self.by_items() {
            return "Did learning from the items alone help?".into();
        }
        format!("Did the {} help?", self.taught_by)
    }

    /// Whether labels only measured what was learned.
    fn by_items(&self) -> bool {
        self.taught_by == ITEMS
    }

    /// Whether what was measured is already what stands in the place of something learned.
    fn kept_nothing(&self) -> bool {
        self.delivered != Delivered::Learned && !self.sure.is_some_and(|sure| sure.few_labels)
    }

    /// All answers of a study of a recipe of this name, a line each, the headline first.
    pub fn lines(&self, recipe: &str) -> Vec<String> {
        let mut lines = vec![self.headline()];
        if self.bound {
            let said =
                "The recipe learned from the labels that were hidden: a bound, not a result.";
            lines.push(said.into());
        }
        if let Some(answer) = &self.spreading {
            let word = match answer.finding {
                Finding::Better => "Yes",
                Finding::Worse => "No, it did harm",
                Finding::Same => "No, it changed nothing",
                Finding::Unclear => "Not clearly",
                Finding::TooFew => "Too few labels to tell",
            };
            let question = if self.by_items() {
                "Is it better than to learn from the labels?"
            } else {
                "Did spreading them to other items add to that?"
            };
            lines.push(format!(
                "{question} {word}: {} {} over labels only.",
                title(&answer.metric),
                interval(&answer.difference)
            ));
        }
        if !self.falls.is_empty() {
            let falls = self.falls.iter();
            let falls = falls.map(|f| {
                let against = match f.against {
                    None => String::new(),
                    Some(row) => format!(" against {}", row.title()),
                };
                let by = interval(&f.difference);
                format!("{} ({by}{against})", title(&f.metric))
            });
            lines.push(format!(
                "What got worse: {}.",
                falls.collect::<Vec<_>>().join(", ")
            ));
        }
        if let Some(sure) = self.sure {
            lines.push(sure.in_words(self.delivered, self.measured_lower()));
        }
        lines.extend(self.validation.iter().map(|said| format!("{said}.")));
        lines.extend(self.delivered_in_words(recipe));
        lines.extend(self.next.in_words().or_else(|| self.nothing_is_left()));
        lines
    }

    /// Whether what was learned measured below the best start by few labels, be it by less than luck can do.
    fn measured_lower(&self) -> bool {
        let below = |answer: &Answer| answer.difference.value < 0.0;
        self.sure.is_some_and(|sure| sure.few_labels) && self.labels.as_ref().is_some_and(below)
    }

    /// What stands in the run, and why; nothing where that is plain.
    fn delivered_in_words(&self, recipe: &str) -> Option<String> {
        let labels = self.labels.as_ref();
        let lower = self.measured_lower();
        let clearly = labels.is_some_and(|answer| answer.difference.high < 0.0);
        let said = match self.delivered {
            Delivered::Learned if labels.is_some_and(|a| a.finding == Finding::Worse) => {
                "what was learned all the same, since the labels of a test choose nothing."
            }
            Delivered::Learned if labels.is_none() => {
                return Some(format!(
                    "Delivered: what {recipe} learned. Nothing measured it: it can be worse than the features \
                     as they are, and a few labels more tell."
                ));
            }
            Delivered::Learned if lower && clearly => {
                "what was learned. By these few queries it is below the best start: label more, or let the recipe \
                 auto choose, before it is trusted."
            }
            Delivered::Learned if lower => {
                "what was learned. It measured below the best start, but by less than luck can do."
            }
            Delivered::Learned => return None,
            Delivered::Start if lower && !self.learns => {
                "the start without labels, which measured better than that of the recipe."
            }
            Delivered::Start if lower => {
                "the start without labels, which measured better than what was learned."
            }
            Delivered::RawFeatures if lower => {
                "the features as they are, which measured better than what was learned."
            }
            Delivered::Start if !self.learns && labels.is_some() => {
                return Some(format!(
                    "Delivered: the features as {recipe} reads them; nothing was learned."
                ));
            }
            Delivered::Start if labels.is_none() && self.learns => {
                return Some(format!("Delivered: the start of {recipe}, without labels."));
            }
            Delivered::Start if labels.is_none() => "the start, without labels.",
            Delivered::Start => {
                return Some(format!(
                    "Delivered: what {recipe} begins on; training it further was not shown to be better."
                ));
            }
            Delivered::RawFeatures if self.learns => {
                "the features as they are, put above all that was learned by the labels that validate."
            }
            Delivered::RawFeatures => {
                "the features as they are, put above the start by the labels that validate."
            }
        };
        Some(format!("Delivered: {said}"))
    }
}

impl Sureness {
    fn in_words(self, delivered: Delivered, lower: bool) -> String {
        let (queries, gallery) = (self.queries, self.gallery);
        let learned = delivered == Delivered::Learned;
        if self.few_labels {
            let all = match learned {
                true if lower => "; the model in the run has learned from all",
                true => "; the model in the run has learned from all, and may well be better",
                false => "",
            };
            let chosen = if self.chosen_once {
                "The same labels chose the recipe, by other rounds, which flatters it a little. "
            } else {
                ""
            };
            format!(
                "How sure: {queries} labels were kept back in turn and asked among all {gallery} \
                 items, in {} rounds that fitted the other labels{all}. {chosen}Whether the very first answer is right \
                 cannot be measured so. {}{}{}{}",
                self.rounds,
                self.unasked_in_words(),
                self.outside_in_words(),
                self.largest_in_words(),
                self.asked_for_in_words()
            )
        } else {
            let draws = match self.rounds {
                1 => String::new(),
                n if self.chosen_once => format!(
                    ", {n} draws of the labels, of which the first chose the recipe (another choice is not in the \
                     intervals)"
                ),
                n => format!(", {n} draws of the labels"),
            };
            let sample =
                (self.drawn_from).map_or(String::new(), |of| format!(", a sample of {of}"));
            let lone = match self.lone {
                0 => String::new(),
                1 => " Left out: a test item that has no other one of its class.".into(),
                n => format!(" Left out: {n} test items that have no other one of their class."),
            };
            let refit = if self.refit && learned {
                " The model in the run has then learned from these items too."
            } else {
                ""
            };
            format!(
                "How sure: {queries} queries{sample} over {gallery} items{draws}; 95 % \
                 intervals.{lone}{refit}{}",
                self.asked_for_in_words()
            )
        }
    }
}

impl Sureness {
    fn unasked_in_words(self) -> String {
        match self.unasked {
            0 => String::new(),
            1 => "Another class has fewer than three labels, so that it is in no value, however many items it has. "
                .into(),
            n => format!(
                "{n} other classes have fewer than three labels, so that they are in no value, however many items \
                 they have. "
            ),
        }
    }

    fn outside_in_words(self) -> String {
        if let Some(share) = self.outside {
            return format!(
                "About {:.0} % of the unlabeled items look like none of the labeled classes (an \
                 estimate): they count as wrong answers, and how they themselves are found is not \
                 measured. If they are of these classes after all, the labels are of items unlike the others, \
                 and the values hold for such items alone.",
                100.0 * share
            );
        }
        let holds = "It holds for items of the labeled classes; that others are among the items was not seen, and \
                     if there are many, all values are too high.";
        format!("{holds}{}", self.central_in_words())
    }

    fn largest_in_words(self) -> String {
        self.largest.map_or(String::new(), |share| {
            format!(
                " One class is taken for {:.0} % of all items, by what the labels reach, and is found among so many \
                 by luck: where it is smaller, all values are too high.",
                100.0 * share
            )
        })
    }

    fn asked_for_in_words(self) -> &'static str {
        if self.asked_for {
            " Labels that were asked for, by advice or on the page of a run, are of harder items than most: the truth is \
             likely better than what they measure, and a run that had fewer of them looks better beside this one than it is."
        } else {
            ""
        }
    }

    fn central_in_words(self) -> String {
        self.central.map_or(String::new(), |nearer| {
            format!(
                " The labels are of easier items than most: {:.0} % of a class are nearer to its middle than a \
                 labeled item, where labels of blindly drawn items have 50 %. The values hold for such items, and \
                 are too high for all: label some that are drawn blindly.",
                100.0 * nearer
            )
        })
    }
}

impl Next {
    fn in_words(&self) -> Option<String> {
        Some(match self {
            Self::LabelItems { ids } => {
                let ids: Vec<_> = ids.iter().map(|id| plain::name(id)).collect();
                format!(
                    "Next: label these items first, each stands for many: {}.",
                    ids.join(", ")
                )
            }
            Self::LabelEvery { to } => format!(
                "Next: {to} labels of every class at least; of a class with fewer there is too little to \
                 measure, or to choose a recipe by."
            ),
            Self::MeasureAll => {
                "Next: let all labels be fitted (split by folds): then they measure \
                                 in turn, against all items."
                    .into()
            }
            Self::LabelClass {
                class,
                now,
                more,
                why,
            } => {
                let labels = if *more == 1 { "label" } else { "labels" };
                let class = plain::name(class);
                format!("Next: {more} more {labels} of class {class} ({now} now): {why}.")
            }
            Self::Recipe { name, why } => format!("Next: try the recipe {name}: {why}."),
            Self::Nothing => return None,
        })
    }
}

/// How a metric is called in tables.
pub(super) fn title(metric: &str) -> String {
    match metric {
        "map_at_r" => "MAP@R".into(),
        "r_precision" => "R-precision".into(),
        "map" => "mAP".into(),
        other => other
            .replace("recall@", "R@")
            .replace("precision@", "P@")
            .replace("nmi", "NMI"),
    }
}

pub(super) fn interval(e: &Estimate) -> String {
    // What rounds to nothing has no sign.
    let shown = |v: f64| if v.abs() < SHOWN { 0.0 } else { v };
    let [value, low, high] = [e.value, e.low, e.high].map(shown);
    if low.is_finite() && high.is_finite() {
        format!("{value:+.3} [{low:+.3}, {high:+.3}]")
    } else {
        format!("{:+.3}, no interval", e.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, half: f64) -> Estimate {
        Estimate {
            value,
            low: value - half,
            high: value + half,
        }
    }

    #[test]
    fn findings_by_hand() {
        let of = |value, half, queries| Finding::of(&estimate(value, half), queries);
        assert_eq!(of(0.1, 0.05, 100), Finding::Better);
        assert_eq!(of(-0.1, 0.05, 100), Finding::Worse);
        assert_eq!(of(0.1, 0.2, 100), Finding::Unclear);
        assert_eq!(
            of(0.0, 0.0, 100),
            Finding::Same,
            "better by nothing is the same"
        );
        assert_eq!(of(0.000_3, 0.000_1, 100), Finding::Same);
        assert_eq!(of(0.000_3, 0.000_1, 21), Finding::Unclear);
        assert_eq!(of(0.5, 0.1, 8), Finding::TooFew);
    }

    #[test]
    fn the_answers_come_in_the_order_of_the_questions() {
        let answer = |against, value| Answer {
            against,
            metric: "map_at_r".into(),
            from: 0.5,
            to: 0.5 + value,
            difference: estimate(value, 0.05),
            finding: Finding::of(&estimate(value, 0.05), 100),
        };
        let verdict = Verdict {
            taught_by: labels(),
            learns: true,
            labels: Some(answer(Row::Whitened, 0.2)),
            spreading: Some(answer(Row::LabelsOnly, 0.01)),
            falls: vec![
                Fall {
                    metric: "recall@8".into(),
                    difference: estimate(-0.02, 0.01),
                    against: None,
                },
                Fall {
                    metric: "recall@4".into(),
                    difference: estimate(-0.03, 0.01),
                    against: Some(Row::Raw),
                },
            ],
            sure: Some(Sureness {
                queries: 100,
                drawn_from: None,
                lone: 0,
                gallery: 600,
                rounds: 5,
                chosen_once: false,
                few_labels: false,
                asked_for: false,
                refit: false,
                classes: None,
                unasked: 0,
                outside: None,
                central: None,
                largest: None,
            }),
            not_measured: None,
            validation: None,
            delivered: Delivered::Learned,
            bound: false,
            next: Next::Recipe {
                name: "rca".into(),
                why: "labels alone do as well".into(),
            },
        };
        assert!(verdict.helped());
        // All is found: by a hundred that is the end, by six nothing is told.
        let mut found = verdict.clone();
        found.next = Next::Nothing;
        found.labels = Some(Answer {
            to: 1.0,
            ..answer(Row::Whitened, 0.2)
        });
        assert!(found.nothing_is_left().is_some());
        found.labels = Some(Answer {
            to: 1.0,
            finding: Finding::TooFew,
            ..answer(Row::Whitened, 0.2)
        });
        assert_eq!(found.nothing_is_left(), None);
        let lines = verdict.lines("mixed-lp");
        let starts = [
            "Did the labels help? Yes: MAP@R 0.500 -> 0.700 against whitened",
            "Did spreading them to other items add to that? Not clearly: MAP@R +0.010",
            "What got worse: R@8 (-0.020 [-0.030, -0.010]), R@4 (-0.030 [-0.040, -0.020] against raw",
            "How sure: 100 queries over 600 items, 5 draws",
            "Next: try the recipe rca",
        ];
        assert_eq!(lines.len(), starts.len());
        for (line, start) in lines.iter().zip(starts) {
            assert!(line.starts_with(start), "{line}");
        }
    }

    #[test]
    fn a_name_of_any_length_leaves_a_line_that_can_be_read() {
        let long = "c".repeat(100_000);
        let label = Next::LabelClass {
            class: long.clone(),
            now: 3,
            more: 2,
            why: "it is found worst so far".into(),
        };
        let first = Next::LabelItems { ids: vec![long] };
        for next in [label, first] {
            let said = next.in_words().unwrap();
            assert!(said.len() < 400, "{} bytes", said.len());
        }
    }

    #[test]
    fn what_taught_is_named_and_a_start_is_not_blamed_on_the_labels() {
        let worse = estimate(-0.1, 0.02);
        let verdict = |taught_by: &'static str, learns| Verdict {
            taught_by: taught_by.into(),
            learns,
            labels: Some(Answer {
                against: Row::Raw,
                metric: "map_at_r".into(),
                from: 0.5,
                to: 0.4,
                difference: worse,
                finding: Finding::of(&worse, 100),
            }),
            spreading: None,
            falls: vec![],
            sure: None,
            not_measured: None,
            validation: None,
            delivered: Delivered::Learned,
            bound: false,
            next: Next::Nothing,
        };
        let said = verdict("pairs", true).headline();
        assert!(
            said.starts_with("Did the pairs help? No, they did harm"),
            "{said}"
        );
        let mut few = verdict("labels", false);
        few.labels.as_mut().unwrap().finding = Finding::TooFew;
        let said = few.headline();
        assert!(said.contains("learns nothing from them"), "{said}");
        few.learns = true;
        few.sure = Some(Sureness {
            queries: 9,
            drawn_from: None,
            lone: 0,
            gallery: 100,
            rounds: 5,
            chosen_once: false,
            few_labels: true,
            asked_for: false,
            refit: false,
            classes: Some(3),
            unasked: 0,
            outside: None,
            central: None,
            largest: None,
        });
        // Whether luck can do it is told by the interval, however few the queries are.
        for (half, words) in [
            (0.02, "is below the best start"),
            (0.2, "less than luck can do"),
        ] {
            few.labels.as_mut().unwrap().difference = estimate(-0.1, half);
            let lines = few.lines("mmc").join("\n");
            assert!(lines.contains(words), "{half}: {lines}");
            assert!(!lines.contains("may well be better"), "{half}: {lines}");
        }
        few.labels.as_mut().unwrap().difference = estimate(0.1, 0.2);
        let lines = few.lines("mmc").join("\n");
        assert!(lines.contains("may well be better"), "{lines}");
        let said = verdict(LABELS, false).headline();
        assert!(
            said.starts_with("Did the labels help? The recipe learns nothing from them"),
            "{said}"
        );
        let said = verdict(ITEMS, true).headline();
        assert!(
            said.starts_with("Did learning from the items alone help? No, it did harm"),
            "{said}"
        );
        // Runs of before name neither.
        let json = serde_json::to_value(verdict(LABELS, true)).unwrap();
        assert!(json.get("taught_by").is_none() && json.get("learns").is_none());
        let again: Verdict = serde_json::from_value(json).unwrap();
        assert_eq!(again, verdict(LABELS, true));
        let pairs = serde_json::to_value(verdict("pairs", false)).unwrap();
        assert_eq!(
            (&pairs["taught_by"], &pairs["learns"]),
            (&"pairs".into(), &false.into())
        );
    }

    #[test]
    fn what_cannot_be_measured_is_said_so() {
        let verdict = Verdict {
            taught_by: labels(),
            learns: true,
            labels: None,
            spreading: None,
            falls: vec![],
            sure: None,
            not_measured: Some("no item is labeled".into()),
            validation: None,
            delivered: Delivered::Start,
            bound: false,
            next: Next::Nothing,
        };
        assert!(!verdict.helped());
        assert_eq!(
            verdict.lines("mixed-lp"),
            [
                "Did the labels help? Not measured: no item is labeled.",
                "Delivered: the start of mixed-lp, without labels."
            ]
        );
    }
}
