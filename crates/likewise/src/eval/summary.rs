//! The numbers of one system, and of the difference between two, with intervals.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bootstrap::{Bootstrap, Estimate, t_interval};
use super::nmi::Nmi;
use super::ranking::{Measure, Ranking};
use crate::{Error, Result};

/// One evaluated run of a system: one label draw, one training seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Retrieval metrics, query by query.
    pub ranking: Ranking,
    /// Clustering metric, if it was asked for.
    pub nmi: Option<Nmi>,
}

/// Mean metrics of a system over its runs, with 95 % intervals.
///
/// The keys are those of `likewise eval --json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// R@k by k.
    pub recall: BTreeMap<usize, f64>,
    /// P@k by k.
    pub precision: BTreeMap<usize, f64>,
    /// mAP over the full ranking.
    pub map: Option<f64>,
    /// MAP@R.
    pub map_at_r: Option<f64>,
    /// R-precision.
    pub r_precision: Option<f64>,
    /// NMI of k-means clusters with the classes.
    pub nmi: Option<f64>,
    /// nDCG@k by k, where items have several labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ndcg: BTreeMap<usize, f64>,
    /// Number of queries that asked.
    pub n_queries: usize,
    /// Number of queries that these are a sample of, if they are one: the intervals are as wide
    /// as so many queries make them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n_queries_drawn_from: Option<usize>,
    /// Queries without any relevant item: 0 in R@k and P@k, left out of the others.
    pub n_lone: usize,
    /// Items that were searched.
    pub n_gallery: usize,
    /// Number of runs the means are over.
    pub draws: usize,
    /// Interval of each metric: `recall@1`, `precision@8`, `map`, `map_at_r`,
    /// `r_precision`, `nmi`, `ndcg@8`.
    pub ci: BTreeMap<String, [f64; 2]>,
}

/// How much better one system is than another: metric -> difference and interval.
pub type Difference = BTreeMap<String, Estimate>;

impl Summary {
    /// Summarises the runs of one system on the same queries.
    ///
    /// One run: the interval is a bootstrap over queries. Several runs: the bootstrap (of
    /// each query's mean over the runs) and the t interval over the runs are joined, half
    /// widths added in quadrature, since luck with queries and luck with labels both count.
    pub fn of(runs: &[Run], bootstrap: &Bootstrap) -> Result<Self> {
        if runs.is_empty() {
            return Err(Error::data("no run to summarise"));
        }
        let mean = mean_ranking(runs)?;
        let mut summary = Self {
            n_queries: mean.queries.len(),
            n_queries_drawn_from: mean.drawn_from,
            n_lone: mean.lone(),
            n_gallery: mean.gallery,
            draws: runs.len(),
            ..Self::default()
        };
        for (measure, over_queries) in bootstrap.ranking(&mean)? {
            let per_run: Vec<f64> = runs
                .iter()
                .filter_map(|r| r.ranking.mean(measure))
                .collect();
            let estimate = joined(over_queries, &per_run);
            let value = estimate.value;
            match measure {
                Measure::Recall(k) => drop(summary.recall.insert(k, value)),
                Measure::Precision(k) => drop(summary.precision.insert(k, value)),
                Measure::AveragePrecision => summary.map = Some(value),
                Measure::MapAtR => summary.map_at_r = Some(value),
                Measure::RPrecision => summary.r_precision = Some(value),
                Measure::Ndcg(k) => drop(summary.ndcg.insert(k, value)),
            }
            summary.interval(&measure.to_string(), estimate);
        }
        let nmis: Vec<&Nmi> = runs.iter().filter_map(|r| r.nmi.as_ref()).collect();
        if nmis.len() == runs.len() {
            // All runs are over the same items: luck with these does not average out.
            let intervals: Vec<Estimate> = nmis
                .iter()
                .map(|nmi| bootstrap.nmi(nmi))
                .collect::<Result<_>>()?;
            let over_items = mean_of(&intervals);
            let values: Vec<f64> = nmis.iter().map(|n| n.value).collect();
            let estimate = joined(over_items, &values);
            summary.nmi = Some(estimate.value);
            summary.interval("nmi", estimate);
        }
        Ok(summary)
    }

    fn interval(&mut self, name: &str, estimate: Estimate) {
        // Every metric lies between 0 and 1, and so does all that it could have been.
        let ends = [estimate.low, estimate.high].map(|end| end.clamp(0.0, 1.0));
        self.ci.insert(name.to_owned(), ends);
    }

    /// The difference `a - b`, paired by query and, where both have several, by run.
    ///
    /// Fails unless both were asked the same queries.
    pub fn difference(a: &[Run], b: &[Run], bootstrap: &Bootstrap) -> Result<Difference> {
        let from = mean_ranking(b)?;
        let paired = bootstrap.paired(&mean_ranking(a)?, &from)?;
        let per_run = |value: &dyn Fn(&Run) -> Option<f64>| -> Vec<f64> {
            let draws = a.len().max(b.len());
            (0..draws)
                .filter_map(|d| Some(value(&a[d % a.len()])? - value(&b[d % b.len()])?))
                .collect()
        };
        let mut difference: Difference = paired
            .into_iter()
            .map(|(measure, over_queries)| {
                let runs = per_run(&|run| run.ranking.mean(measure));
                let whole = joined(over_queries, &runs);
                let from = from.mean(measure);
                let within = from.map_or(whole, |from| whole.within_room(from));
                (measure.to_string(), within)
            })
            .collect();
        let draws = a.len().max(b.len());
        let both = (0..draws).filter_map(|d| {
            let (a, b) = (a[d % a.len()].nmi.as_ref()?, b[d % b.len()].nmi.as_ref()?);
            Some(bootstrap.nmi_difference(a, b))
        });
        let nmi: Vec<Estimate> = both.collect::<Result<_>>()?;
        // Of some draws alone it would be another mean.
        if nmi.len() == draws {
            let values: Vec<f64> = nmi.iter().map(|e| e.value).collect();
            difference.insert("nmi".into(), joined(mean_of(&nmi), &values));
        }
        Ok(difference)
    }
}

/// Their mean, and those of their ends.
fn mean_of(intervals: &[Estimate]) -> Estimate {
    let mean =
        |of: fn(&Estimate) -> f64| intervals.iter().map(of).sum::<f64>() / intervals.len() as f64;
    Estimate {
        value: mean(|e| e.value),
        low: mean(|e| e.low),
        high: mean(|e| e.high),
    }
}

/// Joins the interval over queries with the t interval over runs, where there is one.
fn joined(over_queries: Estimate, per_run: &[f64]) -> Estimate {
    let Some(over_runs) = t_interval(per_run) else {
        return over_queries;
    };
    let half = (over_runs.high - over_runs.low) / 2.0;
    let value = over_queries.value;
    Estimate {
        value,
        low: value - (value - over_queries.low).hypot(half),
        high: value + (over_queries.high - value).hypot(half),
    }
}

/// Each query's mean over the runs.
fn mean_ranking(runs: &[Run]) -> Result<Ranking> {
    let (first, rest) = runs
        .split_first()
        .ok_or_else(|| Error::data("no run to summarise"))?;
    let rest: Vec<&Ranking> = rest.iter().map(|r| &r.ranking).collect();
    first.ranking.mean_with(&rest)
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::eval::ranking::{Protocol, evaluate};
    use crate::{Labels, Monitor};

    fn run(angle: f32) -> Run {
        let at = |degrees: f32| [degrees.to_radians().cos(), degrees.to_radians().sin()];
        let x = array![at(0.0), at(20.0), at(70.0), at(angle), at(75.0), at(50.0)];
        let labels = Labels::from_integers([0, 0, 0, 1, 1, 2]);
        let items: Vec<usize> = (0..6).collect();
        let protocol = Protocol::within(x.view(), &labels, &items);
        Run {
            ranking: evaluate(&protocol, &[1, 2], &Monitor::silent()).unwrap(),
            nmi: None,
        }
    }

    #[test]
    fn one_run_is_its_own_mean() {
        let summary = Summary::of(&[run(30.0)], &Bootstrap::new()).unwrap();
        assert!((summary.map.unwrap() - 0.421_666_67).abs() < 1e-7);
        assert!((summary.recall[&1] - 1.0 / 6.0).abs() < 1e-12);
        assert_eq!(
            (summary.n_queries, summary.n_lone, summary.draws),
            (6, 1, 1)
        );
        let [low, high] = summary.ci["map"];
        assert!(low <= 0.4217 && 0.4216 <= high && low < high);
    }

    #[test]
    fn several_runs_widen_the_interval() {
        let one = Summary::of(&[run(30.0)], &Bootstrap::new()).unwrap();
        let same = Summary::of(&[run(30.0), run(30.0)], &Bootstrap::new()).unwrap();
        assert_eq!(one.ci, same.ci);
        let runs = [run(30.0), run(72.0)];
        let two = Summary::of(&runs, &Bootstrap::new()).unwrap();
        let mean = |r: &Run| r.ranking.mean(Measure::AveragePrecision).unwrap();
        let expected = f64::midpoint(mean(&runs[0]), mean(&runs[1]));
        assert!((two.map.unwrap() - expected).abs() < 1e-12);
        let width = |s: &Summary| s.ci["map"][1] - s.ci["map"][0];
        assert!(width(&two) > width(&one));
    }

    #[test]
    fn the_interval_of_nmi_holds_it_for_one_run_and_for_several() {
        // 98 classes of 42 items, half of them in the cluster of another class.
        let with = |shift: usize| {
            let classes: Vec<u32> = (0..98 * 42).map(|i| i % 98).collect();
            let clusters: Vec<u32> = (0..98 * 42_u32)
                .map(|i| {
                    let far = (i as usize * 7919 + shift) % 10;
                    if far < 5 {
                        i % 98
                    } else {
                        (i + far as u32) % 98
                    }
                })
                .collect();
            Run {
                nmi: Some(Nmi {
                    value: crate::eval::nmi::nmi(&classes, &clusters).unwrap(),
                    classes,
                    clusters,
                    skipped: 0,
                }),
                ..run(30.0)
            }
        };
        let runs = [with(0), with(3), with(6)];
        for runs in [&runs[..1], &runs[..]] {
            let summary = Summary::of(runs, &Bootstrap::new()).unwrap();
            let (value, [low, high]) = (summary.nmi.unwrap(), summary.ci["nmi"]);
            assert!(low < value && value < high, "{low} {value} {high}");
            assert!(high - low < 0.05, "{low} {high}");
        }
    }

    #[test]
    fn a_system_does_not_differ_from_itself() {
        let difference =
            Summary::difference(&[run(30.0)], &[run(30.0)], &Bootstrap::new()).unwrap();
        assert!(
            difference
                .values()
                .all(|e| e.value == 0.0 && e.low == 0.0 && e.high == 0.0)
        );
        // One system beside its mean over three draws that are alike.
        let draws = [run(30.0), run(30.0), run(30.0)];
        let difference = Summary::difference(&draws, &[run(30.0)], &Bootstrap::new()).unwrap();
        assert!(difference.values().all(|e| e.high - e.low < 1e-9));
        assert!(Summary::of(&[], &Bootstrap::new()).is_err());
    }
}
