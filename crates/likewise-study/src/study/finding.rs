//! What makes numbers look better or worse than they are.

use std::borrow::Cow;
use std::fmt;

use likewise::Collection;
use likewise::eval::leak::LeakReport;
use serde::{Deserialize, Serialize};

/// Something about the data that makes numbers look better or worse than they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What was found, a few words.
    pub what: Cow<'static, str>,
    /// How many items.
    pub count: usize,
    /// Ids of the first pairs.
    pub examples: Vec<(String, String)>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.count)?;
        match self.examples.first() {
            Some((a, b)) if a == b => write!(f, " (first: {a})"),
            Some((a, b)) => write!(f, " (first: {a} and {b})"),
            None => Ok(()),
        }
    }
}

/// What a check for leaks found, by the ids of the items.
pub(super) fn findings(report: &LeakReport, collection: &Collection) -> Vec<Finding> {
    let id = |item: usize| collection.ids()[item].clone();
    let listed = [
        (
            "identical items on both sides of the split",
            &report.duplicates_across,
        ),
        (
            match report.near_sampled {
                None => "nearly identical items on both sides of the split",
                Some(_) => "nearly identical items on both sides of the split, in a sample",
            },
            &report.near_duplicates,
        ),
        ("identical items within a part", &report.duplicates_within),
    ];
    let mut findings: Vec<Finding> = listed
        .into_iter()
        .filter(|(_, found)| found.count > 0)
        .map(|(what, found)| Finding {
            what: what.into(),
            count: found.count,
            examples: found
                .examples
                .iter()
                .map(|&(a, b)| (id(a), id(b)))
                .collect(),
        })
        .collect();
    if !report.shared_classes.is_empty() {
        findings.push(Finding {
            what: "classes on both sides of a class-disjoint split".into(),
            count: report.shared_classes.len(),
            examples: vec![],
        });
    }
    findings
}
