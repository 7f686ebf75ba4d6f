//! Learning behind a metric that is fitted anew from time to time: its settings.

use likewise::linear::Behind;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// A metric behind the embedding, in the place of a loss.
///
/// ```text
/// z   = unit rows of the head or network
/// M   = what the learner makes of z of all items with a class and of a random part of the others,
///       anew before the first of every `every` epochs, of trace d
/// L   = the `dim` directions along which the rows of that fit vary most behind M:
///       the principal ones of z M^(1/2), so that L L^T is M if none is left out
/// e   = normalise(z L)                                        the embedding
/// ```
///
/// Between two fits z goes down the [terms of pairs](likewise::linear::behind) of the same learner by
/// mini-batches. A batch is half of items with a class, as the sampler draws them, and half of the
/// others: random ones of the part, each with one of its neighbours where the learner has a graph. All
/// pairs of a batch count, each term as a mean over its pairs there. An epoch goes through the part
/// once, or takes as many steps as `train.steps` says.
///
/// **When to use it.** To compare with: `deep-lrml` and the other recipes of this kind. **When not.**
/// To get the most of the labels: the terms of pairs know nothing of the rest of a class, and
/// neighbours of the embedding are drawn nearer whether they are right or wrong. Nor behind a head that is
/// wider than its start (`width`): columns of zeros are what a metric stretches most.
///
/// **Cost.** That of the learner on `partition` rows, for each fit; O(batch^2 d) a step.
///
/// **Source.** Algorithm 1 of Dutta, Harandi and Sekhar, AAAI 2021, who compare with such extensions of
/// metric learners: partitions of 9000 unlabeled items and ten epochs on each are theirs for their own
/// method. Ours: the batches, the trace of M, the choice of directions (theirs is not printed; the largest
/// eigenvalues of M lie where rows hardly vary, and tell nothing apart), and cosines of `z L` where they rank by its
/// distances.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MetricConfig {
    /// The learner.
    #[serde(flatten)]
    pub learner: Behind,
    /// Epochs between two fits of the metric, at least 1.
    #[serde(default = "ten")]
    pub every: usize,
    /// Most items without a class that a metric is fitted on, at least 1.
    #[serde(default = "nine_thousand")]
    pub partition: usize,
    /// Most columns of the embedding, at least 1.
    #[serde(default = "sixty_four")]
    pub dim: usize,
}

fn ten() -> usize {
    10
}

fn nine_thousand() -> usize {
    9000
}

fn sixty_four() -> usize {
    64
}

impl From<Behind> for MetricConfig {
    fn from(learner: Behind) -> Self {
        Self {
            learner,
            every: ten(),
            partition: nine_thousand(),
            dim: sixty_four(),
        }
    }
}

impl MetricConfig {
    /// Fails on a parameter out of its range.
    pub fn validate(&self) -> Result<()> {
        for (field, value) in [
            ("every", self.every),
            ("partition", self.partition),
            ("dim", self.dim),
        ] {
            if value == 0 {
                return Err(Error::parameter(field, 0, "must be at least 1"));
            }
        }
        self.learner.validate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_written_as_one_table() {
        let read = |json: &str| serde_json::from_str::<MetricConfig>(json);
        let usual = MetricConfig::from(Behind::named("lrml").unwrap());
        assert_eq!(read(r#"{"kind": "lrml"}"#).unwrap(), usual);
        let own = read(r#"{"kind": "seraph", "every": 3, "entropy": 2.5}"#).unwrap();
        assert_eq!((own.every, own.learner.name()), (3, "seraph"));
        let json = serde_json::to_string(&own).unwrap();
        assert_eq!(read(&json).unwrap(), own, "{json}");
        for wrong in [
            r#"{"kind": "rca"}"#,
            r#"{"every": 3}"#,
            r#"{"kind": "lrml", "entropy": 1}"#,
            r#"{"kind": "lrml", "evry": 1}"#,
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        for (json, field) in [
            (r#"{"kind": "lrml", "every": 0}"#, "every"),
            (r#"{"kind": "lrml", "partition": 0}"#, "partition"),
            (r#"{"kind": "lrml", "dim": 0}"#, "dim"),
            (r#"{"kind": "lrml", "k": 0}"#, "lrml.k"),
        ] {
            let said = read(json).unwrap().validate().unwrap_err().to_string();
            assert!(said.starts_with(&format!("{field} = 0")), "{said}");
        }
    }
}
