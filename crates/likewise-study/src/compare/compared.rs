//! What comes out of comparing two runs.

use std::collections::BTreeMap;

use likewise::eval::bootstrap::Estimate as Interval;
use serde::Serialize;

use crate::study::{Found, SplitKind};

/// What came out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// The recipes of the first and the second run.
    pub recipes: [String; 2],
    /// How the items were divided.
    pub split: SplitKind,
    /// Queries that asked.
    pub queries: usize,
    /// Queries that these are a sample of, if they are one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drawn_from: Option<usize>,
    /// Items that were searched.
    pub gallery: usize,
    /// Each metric of both, and the second less the first.
    pub metrics: BTreeMap<String, Both>,
    /// Whether the second is better, by MAP@R.
    pub finding: Found,
    /// Queries with a higher MAP@R in the second run, with a lower one, and with the same.
    pub better: usize,
    /// Lower ones.
    pub worse: usize,
    /// Equal ones.
    pub same: usize,
    /// The queries that changed, those that changed most first.
    pub changed: Vec<Changed>,
}

/// A metric of both runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Both {
    /// Of the first run.
    pub first: f64,
    /// Of the second.
    pub second: f64,
    /// Second less first, paired by query, with its 95 % interval.
    pub difference: Interval,
}

/// A query that one of the runs answers better.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Changed {
    /// Its id.
    pub id: String,
    /// Its class.
    pub label: String,
    /// MAP@R in the first run.
    pub first: f64,
    /// In the second.
    pub second: f64,
    /// Its row in the first run.
    #[serde(skip)]
    pub item: usize,
}

impl Compared {
    /// The answer in a line.
    pub fn in_words(&self) -> String {
        let [first, second] = &self.recipes;
        let of = self.metrics.get("map_at_r");
        let numbers = of.map_or(String::new(), |both| {
            let e = both.difference;
            format!(
                " MAP@R {:.3} -> {:.3} ({:+.3} [{:+.3}, {:+.3}])",
                both.first, both.second, e.value, e.low, e.high
            )
        });
        let found = match self.finding {
            Found::Better => "the second is better",
            Found::Worse => "the second is worse",
            Found::Same => "both are the same",
            Found::Unclear => "no clear difference",
            Found::TooFew => "too few queries to tell",
        };
        format!(
            "{first} against {second}: {found}.{numbers} over {} queries; {} better, {} worse, {} the same",
            self.queries, self.better, self.worse, self.same
        )
    }
}
