//! Quality gates: the least that a metric must reach.

use std::collections::BTreeMap;
use std::str::FromStr;

use likewise::eval::summary::Summary;

use crate::study::CrossSummary;
use crate::{Error, ErrorKind, Result};

/// A quality gate: a metric and the least it must reach.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    metric: String,
    least: f64,
}

/// Losses that were measured, by name.
pub type Losses = BTreeMap<&'static str, f64>;

/// Metrics that have no k.
const METRICS: [&str; 4] = ["map", "map_at_r", "r_precision", "nmi"];

/// What searches from one view to another have in place of these.
const ACROSS: &str = "map50";

fn missed(why: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Quality, format!("quality gate missed: {why}"))
}

impl FromStr for Gate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rule = "write METRIC=VALUE, e.g. recall@1=0.8 or map_at_r=0.5";
        let (metric, least) = text.split_once('=').ok_or(rule)?;
        let metric = metric.trim();
        let known = match metric.split_once('@') {
            Some(("recall" | "precision" | "ndcg", k)) => {
                k.parse::<std::num::NonZeroUsize>().is_ok()
            }
            Some(("loss", name)) => !name.is_empty(),
            Some(_) => false,
            None => METRICS.contains(&metric) || metric == ACROSS,
        };
        if !known {
            return Err(format!(
                "there is no metric \"{metric}\"; there are recall@K, precision@K, {}, ndcg@K of \
                 several labels an item, and {ACROSS} across views",
                METRICS.join(", ")
            ));
        }
        let least = least.parse::<f64>().ok().filter(|v| v.is_finite());
        let least = least.ok_or(rule)?;
        if !metric.starts_with("loss@") && !(0.0..=1.0).contains(&least) {
            return Err(format!(
                "{metric} is between 0 and 1; {least} is missed always or never"
            ));
        }
        Ok(Self {
            metric: metric.to_owned(),
            least,
        })
    }
}

impl Gate {
    /// The metric, as it was written.
    pub fn metric(&self) -> &str {
        &self.metric
    }

    /// Fails unless the metric will be measured: R@k and P@k at these `ks`,
    /// NMI if so, and these losses. To be asked before the work.
    pub fn measured(&self, ks: &[usize], nmi: bool, losses: &[String]) -> Result<()> {
        let will_be = match self.metric.split_once('@') {
            Some(("loss", name)) => losses.iter().any(|loss| loss == name),
            Some((_, k)) => k.parse().is_ok_and(|k| ks.contains(&k)),
            None => (nmi || self.metric != "nmi") && self.metric != ACROSS,
        };
        if will_be {
            return Ok(());
        }
        let ks: Vec<String> = ks.iter().map(usize::to_string).collect();
        let mut others = String::new();
        if nmi {
            others.push_str(", nmi");
        }
        for loss in losses {
            others.extend([", loss@", loss]);
        }
        Err(usage(format!(
            "gate {}: this is not measured here; measured are recall@K, precision@K and, of several labels an \
             item, ndcg@K with K of {}, map, map_at_r, r_precision{others}",
            self.metric,
            ks.join(", "),
        )))
    }

    /// Fails if the metric is below the gate, or was not measured ([`ErrorKind::Quality`]).
    pub fn check(&self, summary: &Summary, losses: &Losses) -> Result<()> {
        self.judge(self.value(summary, losses))
    }

    /// Fails unless a study across views measures the metric: the mean of all directions of `map50`,
    /// and of R@k at these `ks`. To be asked before the work.
    pub fn measured_across(&self, ks: &[usize]) -> Result<()> {
        let will_be = match self.metric.split_once('@') {
            Some(("recall", k)) => k.parse().is_ok_and(|k| ks.contains(&k)),
            Some(_) => false,
            None => self.metric == ACROSS,
        };
        if will_be {
            return Ok(());
        }
        let ks: Vec<String> = ks.iter().map(|k| format!("recall@{k}")).collect();
        Err(usage(format!(
            "gate {}: this is not measured across views; measured are {ACROSS}, {}",
            self.metric,
            ks.join(", ")
        )))
    }

    /// As [`check`](Self::check), of a study across views: the mean of all directions.
    pub fn check_across(&self, summary: &CrossSummary) -> Result<()> {
        self.judge(self.value_across(summary))
    }

    /// The value of the metric across views. Fails if there is none.
    pub fn value_across(&self, summary: &CrossSummary) -> Result<f64> {
        if summary.map50.is_empty() {
            return Err(missed(&format!(
                "gate {}: nothing was measured; the run says why",
                self.metric
            )));
        }
        let of = match self.metric.split_once('@') {
            Some(("recall", k)) => summary.recall.get(k),
            None if self.metric == ACROSS => Some(&summary.map50),
            Some(_) | None => None,
        };
        let value = of.and_then(|by_direction| by_direction.get("mean").copied());
        value.ok_or_else(|| {
            let ks: Vec<usize> = (summary.recall.keys())
                .filter_map(|k| k.parse().ok())
                .collect();
            let refused = self.measured_across(&ks);
            refused
                .err()
                .unwrap_or_else(|| usage(format!("gate {}: no value", self.metric)))
        })
    }

    fn judge(&self, value: Result<f64>) -> Result<()> {
        let value = value.map_err(|e| match e.kind() {
            ErrorKind::Quality => e,
            _ => missed(&e),
        })?;
        if value < self.least {
            return Err(Error::new(
                ErrorKind::Quality,
                format!(
                    "quality gate missed: {} is {value:.4}, the gate is {}",
                    self.metric, self.least
                ),
            ));
        }
        Ok(())
    }

    /// The value of the metric. Fails if there is none.
    pub fn value(&self, summary: &Summary, losses: &Losses) -> Result<f64> {
        let at = |of: &BTreeMap<usize, f64>, k: &str| of.get(&k.parse().ok()?).copied();
        let value = match self.metric.split_once('@') {
            Some(("recall", k)) => at(&summary.recall, k),
            Some(("precision", k)) => at(&summary.precision, k),
            Some(("ndcg", k)) => at(&summary.ndcg, k),
            Some(("loss", name)) => losses.get(name).copied(),
            Some(_) => None,
            None => match self.metric.as_str() {
                "map" => summary.map,
                "map_at_r" => summary.map_at_r,
                "r_precision" => summary.r_precision,
                "nmi" => summary.nmi,
                _ => None,
            },
        };
        value.ok_or_else(|| {
            let mut there: Vec<String> = (summary.recall.keys().map(|k| format!("recall@{k}")))
                .chain(summary.precision.keys().map(|k| format!("precision@{k}")))
                .chain(summary.ndcg.keys().map(|k| format!("ndcg@{k}")))
                .collect();
            let others = [
                summary.map,
                summary.map_at_r,
                summary.r_precision,
                summary.nmi,
            ];
            let others = METRICS
                .iter()
                .zip(others)
                .filter(|(_, value)| value.is_some());
            there.extend(others.map(|(name, _)| (*name).to_owned()));
            there.extend(losses.keys().map(|name| format!("loss@{name}")));
            if there.is_empty() {
                there.push("no metric at all, for want of labels to test on".into());
            }
            usage(format!(
                "gate {}: this could not be measured here; measured were {}",
                self.metric,
                there.join(", ")
            ))
        })
    }
}

fn usage(message: String) -> Error {
    Error::new(ErrorKind::Parameter, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_know_metrics_with_and_without_k() {
        let summary = Summary {
            recall: BTreeMap::from([(1, 0.5)]),
            map: Some(0.25),
            ..Summary::default()
        };
        let losses = Losses::from([("triplet", 0.4)]);
        let gate = |text: &str| text.parse::<Gate>().unwrap().check(&summary, &losses);
        assert!(gate("recall@1=0.5").is_ok());
        assert!(gate("map=0.2").is_ok());
        assert!(gate("map=0.3").is_err());
        assert!(gate("recall@3=0.3").is_err());
        assert!(gate("nmi=0.3").is_err());
        assert!(gate("loss@triplet=0.4").is_ok());
        assert!(gate("loss@angular=0.4").is_err());
        assert!("map".parse::<Gate>().is_err());
        let unmeasured = "nmi=0.3".parse::<Gate>().unwrap();
        let e = unmeasured.check(&summary, &losses).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Quality);
        let said = e.to_string();
        assert!(
            said.contains("gate nmi: this could not be measured"),
            "{said}"
        );
        assert!(said.ends_with("recall@1, map, loss@triplet"), "{said}");
    }

    #[test]
    fn gates_across_views_ask_the_mean_of_all_directions() {
        let by_way = |mean| BTreeMap::from([("a_to_b".to_owned(), 0.9), ("mean".to_owned(), mean)]);
        let summary = CrossSummary {
            map50: by_way(0.6),
            recall: BTreeMap::from([("1".to_owned(), by_way(0.7))]),
            ..CrossSummary::default()
        };
        let gate = |text: &str| text.parse::<Gate>().unwrap();
        let check = |text: &str| gate(text).check_across(&summary);
        assert!(check("map50=0.6").is_ok() && check("recall@1=0.7").is_ok());
        let missed = check("map50=0.7").unwrap_err();
        assert_eq!(missed.kind(), ErrorKind::Quality);
        assert!(missed.to_string().contains("map50 is 0.6000"), "{missed}");
        for text in ["map=0.1", "precision@1=0.1", "recall@3=0.1"] {
            let said = gate(text).measured_across(&[1]).unwrap_err().to_string();
            assert!(said.contains("measured are map50, recall@1"), "{said}");
            assert!(check(text).is_err());
        }
        assert!(gate("map50=0.1").measured(&[1], true, &[]).is_err());
    }

    #[test]
    fn gates_that_no_result_could_miss_or_reach_are_refused() {
        for wrong in ["r_precision=1.5", "recall@1=-0.1", "map=1e9"] {
            let said = wrong.parse::<Gate>().unwrap_err();
            assert!(said.contains("between 0 and 1"), "{said}");
        }
        assert!("loss@triplet=3.5".parse::<Gate>().is_ok());
        assert!("recall@1=1".parse::<Gate>().is_ok() && "map=0".parse::<Gate>().is_ok());
    }

    #[test]
    fn gates_that_nothing_will_answer_are_refused_beforehand() {
        for wrong in [
            "recal@1=0.5",
            "recall@x=0.5",
            "recall@0=1",
            "recall=0.5",
            "n_queries=1",
        ] {
            assert!(wrong.parse::<Gate>().is_err(), "{wrong}");
        }
        let losses = ["triplet".to_owned()];
        let asks = |text: &str| {
            let gate = text.parse::<Gate>().unwrap();
            gate.measured(&[1, 2], false, &losses).is_ok()
        };
        assert!(asks("recall@2=0.5") && asks("precision@1=0.5") && asks("map=0.1"));
        assert!(asks("loss@triplet=0.1"));
        assert!(!asks("recall@3=0.5") && !asks("nmi=0.1") && !asks("loss@nt-xent=0.1"));
    }
}
