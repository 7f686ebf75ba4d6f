//! Differences of two methods on the same draws, and what they say.

use likewise::eval::bootstrap::Estimate;

use super::cells::{Run, Store};
use crate::experiment::draws;

/// The difference of accuracy `a - b`, paired by draw; `None` without two draws in common.
pub(super) fn paired(a: &Run, b: &Run) -> Option<Estimate> {
    draws::paired(a.by_draw(), b.by_draw())
}

/// What an interval of a difference says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Better,
    Worse,
    Unclear,
}

/// Better or worse only where the interval leaves out 0.
pub(super) fn verdict(difference: &Estimate) -> Verdict {
    if difference.low > 0.0 {
        Verdict::Better
    } else if difference.high < 0.0 {
        Verdict::Worse
    } else {
        Verdict::Unclear
    }
}

/// How a method fared against another over several sets.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Record {
    pub(super) better: usize,
    pub(super) worse: usize,
    pub(super) unclear: usize,
    /// Mean difference over sets.
    pub(super) mean: f64,
    /// The set with the lowest difference.
    pub(super) worst: Option<(String, f64)>,
}

/// The record of `method` against `other`; `None` where they have no set in common.
pub(super) fn record(store: &Store, sets: &[&str], method: &str, other: &str) -> Option<Record> {
    let mut record = Record::default();
    for &set in sets {
        let difference = (store.run(set, method, None)).zip(store.run(set, other, None));
        let Some(difference) = difference.and_then(|(a, b)| paired(a, b)) else {
            continue;
        };
        match verdict(&difference) {
            Verdict::Better => record.better += 1,
            Verdict::Worse => record.worse += 1,
            Verdict::Unclear => record.unclear += 1,
        }
        record.mean += difference.value;
        if record
            .worst
            .as_ref()
            .is_none_or(|(_, worst)| difference.value < *worst)
        {
            record.worst = Some((set.to_owned(), difference.value));
        }
    }
    record.mean /= (record.better + record.worse + record.unclear) as f64;
    record.worst.is_some().then_some(record)
}

/// The runs that no other one beats beyond its interval.
pub(super) fn best(runs: &[Option<&Run>]) -> Vec<bool> {
    let beaten = |run: &Run| {
        let others = runs.iter().flatten();
        others
            .into_iter()
            .any(|other| paired(other, run).is_some_and(|d| verdict(&d) == Verdict::Better))
    };
    let several = runs.iter().flatten().count() > 1;
    let enough = |run: &Run| several && run.draws.len() > 1;
    (runs.iter())
        .map(|run| run.is_some_and(|run| enough(run) && !beaten(run)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(draws: &[u64], accuracy: &[f64]) -> Run {
        let json = serde_json::json!({
            "data": "d", "method": "m", "row": 0, "draws": draws, "accuracy": accuracy,
            "hidden": accuracy, "reached": accuracy, "iterations": [], "unconverged": [],
        });
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn differences_are_paired_by_draw() {
        let a = run(&[0, 1, 2, 4], &[0.5, 0.7, 0.9, 0.1]);
        let b = run(&[1, 2, 3], &[0.6, 0.7, 0.0]);
        let d = paired(&a, &b).unwrap();
        // 0.1 and 0.2: mean 0.15, t(1) = 12.706, half width 12.706 * 0.0707 / sqrt 2.
        assert!((d.value - 0.15).abs() < 1e-12);
        assert!((d.high - d.value - 12.706_2 * 0.05).abs() < 1e-3);
        assert_eq!(verdict(&d), Verdict::Unclear);
        assert_eq!(paired(&a, &run(&[9], &[0.1])), None);
    }

    #[test]
    fn the_best_are_those_that_nothing_beats() {
        let high = run(&[0, 1, 2], &[0.8, 0.9, 0.85]);
        let same = run(&[0, 1, 2], &[0.81, 0.89, 0.85]);
        let low = run(&[0, 1, 2], &[0.5, 0.6, 0.55]);
        let found = best(&[Some(&low), Some(&high), None, Some(&same)]);
        assert_eq!(found, [false, true, false, true]);
        assert_eq!(best(&[Some(&run(&[0], &[0.5])), None]), [false, false]);
    }
}
