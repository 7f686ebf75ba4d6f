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
            "{first} against {second}: {found}.{numbers} over {} {}; {} better, {} worse, {} the same{}",
            self.queries,
            if self.queries == 1 {
                "query"
            } else {
                "queries"
            },
            self.better,
            self.worse,
            self.same,
            self.yet()
        )
    }

    /// The other metrics that clearly go another way than is found.
    fn yet(&self) -> String {
        let other = self.metrics.iter().filter_map(|(name, both)| {
            let e = both.difference;
            let way = if e.low > 0.0 && self.finding != Found::Better {
                "rises"
            } else if e.high < 0.0 && self.finding != Found::Worse {
                "falls"
            } else {
                return None;
            };
            Some(format!(
                "{name} {way} ({:+.3} [{:+.3}, {:+.3}])",
                e.value, e.low, e.high
            ))
        });
        let other: Vec<String> = other.collect();
        if other.is_empty() {
            String::new()
        } else {
            format!(". Yet {}", other.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_that_goes_the_other_way_is_said() {
        let both = |low: f64, high: f64| Both {
            first: 0.5,
            second: 0.5 + f64::midpoint(low, high),
            difference: Interval {
                value: f64::midpoint(low, high),
                low,
                high,
            },
        };
        let mut compared = Compared {
            recipes: ["lda".into(), "lmnn".into()],
            split: SplitKind::Item,
            queries: 90,
            drawn_from: None,
            gallery: 90,
            metrics: BTreeMap::from([
                ("map_at_r".into(), both(0.01, 0.03)),
                ("recall@1".into(), both(-0.01, 0.02)),
                ("recall@8".into(), both(-0.06, -0.02)),
            ]),
            finding: Found::Better,
            better: 50,
            worse: 30,
            same: 10,
            changed: vec![],
        };
        let said = compared.in_words();
        assert!(
            said.ends_with("10 the same. Yet recall@8 falls (-0.040 [-0.060, -0.020])"),
            "{said}"
        );
        compared.metrics.remove("recall@8");
        assert!(compared.in_words().ends_with("10 the same"));
    }
}
