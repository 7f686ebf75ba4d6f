//! What is known of the sizes of the classes.

use serde::{Deserialize, Serialize};

use super::decide::Bounds;
use super::known::Known;
use crate::{Error, Result};

/// What is known of the sizes of the classes, for a method that decides by them.
///
/// ```
/// use likewise::propagate::Sizes;
/// assert_eq!(serde_json::to_string(&Sizes::Known(vec![2.0, 1.0])).unwrap(), r#"{"known":[2.0,1.0]}"#);
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sizes {
    /// Nothing, and nothing is assumed: every item takes the class of its highest score, as the scores are.
    Free,
    /// All classes are equally large. It costs up to a third of the items where they are 10 to 1.
    Balanced,
    /// As large as their share of the labels: only where labels were drawn at random.
    Labeled,
    /// Nothing is known: equal sizes where the graph agrees with them, else those that the scores
    /// show; see [`PoissonMbo`](crate::propagate::PoissonMbo).
    #[default]
    Estimated,
    /// Each between one over this and this times the size that all would have if they were equal;
    /// at least 1.
    Within(f64),
    /// So many items of each class, or any numbers in these proportions, in the order of the classes.
    Known(Vec<f64>),
}

impl Sizes {
    /// Fails on numbers that are no sizes.
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Self::Within(ratio) if !(ratio.is_finite() && *ratio >= 1.0) => {
                let rule = "must be finite and at least 1";
                Err(Error::parameter("sizes.within", ratio, rule))
            }
            Self::Known(sizes) if sizes.iter().any(|s| !(s.is_finite() && *s >= 0.0)) => {
                let rule = "every class needs a number of at least 0";
                Err(Error::parameter("sizes.known", format!("{sizes:?}"), rule))
            }
            _ => Ok(()),
        }
    }

    /// What each labeled class may have of the reached items that have no label; `None` where nothing
    /// is assumed.
    ///
    /// Fails where there is not one size a class, and where a labeled class is said to have no item.
    pub(crate) fn bounds(&self, known: &Known, open: usize) -> Result<Option<Bounds>> {
        self.check()?;
        let labels = known.labels_of_classes();
        let classes = labels.len();
        let all = open as f64 + labels.iter().sum::<f64>();
        let equal = all / classes.max(1) as f64;
        let (lower, upper) = match self {
            Self::Free => return Ok(None),
            Self::Balanced | Self::Estimated => (vec![equal; classes], vec![equal; classes]),
            Self::Labeled => {
                let shares: Vec<f64> = known.prior().iter().map(|share| share * all).collect();
                (shares.clone(), shares)
            }
            Self::Within(ratio) => (vec![equal / ratio; classes], vec![equal * ratio; classes]),
            Self::Known(sizes) => {
                let own = known.sizes_of_classes(sizes)?;
                let sum: f64 = own.iter().sum();
                let sizes: Vec<f64> = own.iter().map(|size| size / sum * all).collect();
                (sizes.clone(), sizes)
            }
        };
        let less = |of: Vec<f64>| -> Vec<f64> {
            let pairs = of.iter().zip(&labels);
            pairs
                .map(|(size, labels)| (size - labels).max(0.0))
                .collect()
        };
        Ok(Some(Bounds {
            lower: less(lower),
            upper: less(upper),
        }))
    }
}
