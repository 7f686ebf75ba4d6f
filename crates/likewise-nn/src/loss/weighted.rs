//! Several losses as one: a weighted sum.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::check::above_zero;
use super::{Dec, Loss, Nce};
use crate::{Error, Result};
#[cfg(feature = "networks")]
use {super::Batch, burn::tensor::Tensor};

/// One loss, or the weighted sum of several.
///
/// ```text
/// L = sum_l weight_l L_l
/// ```
///
/// A recipe writes one as a table and several as a list of tables, each with its weight (1 where
/// it says none). A list takes the place of the whole loss below it.
///
/// ```text
/// [learner.loss]
/// name = "proxy-anchor"
///
/// [[learner.loss]]
/// name = "proxy-anchor"
/// [[learner.loss]]
/// name = "center"
/// weight = 0.01
/// ```
///
/// Losses of pairs, of triplets and of classes go together; each takes from a batch what it looks
/// at:
///
/// | where there is | losses of pairs and triplets | losses of classes | the similarity regulariser |
/// |---|---|---|---|
/// | a miner | see what it chose | see the batch | sees the batch |
/// | a memory | see its rows as well | see the batch: its rows do not move, and would hold proxies back | sees the batch |
/// | explicit triplets | see these | see the classes of their items, where known | counts an item as often as they name it |
///
/// A recipe takes explicit triplets with losses of pairs and triplets alone.
///
/// Every loss of classes has proxies of its own, which begin as if it stood alone. [`Dec`] and [`Nce`] look
/// at the whole set, and stand in no list.
///
/// **When to use it.** Where one loss lacks what another has: [`Center`](super::Center) beside
/// one that separates classes, [`SimilarityRegularizer`](super::SimilarityRegularizer) beside any.
///
/// **When not.** To average over losses that want the same: one with its weight tuned does as
/// well, in less time.
///
/// **Cost.** That of all its losses.
///
/// **Source.** Plain sums; the weights of losses in the literature differ by what a mean is taken
/// over, so printed weights hold for the means of [`Loss`] only where its page says the same mean.
///
/// ```
/// use likewise_nn::loss::{Loss, Losses};
/// let list = r#"[{"name": "triplet"}, {"name": "similarity-regularizer", "weight": 0.1}]"#;
/// let losses: Losses = serde_json::from_str(list)?;
/// assert!(losses.validate().is_ok());
/// assert_eq!(losses.title(), "triplet + 0.1 similarity-regularizer");
/// let one: Losses = Loss::named("triplet").unwrap().into();
/// assert!(serde_json::to_string(&one)?.starts_with(r#"{"name":"triplet""#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Losses(Vec<Weighted>);

/// A loss and what it weighs beside others.
#[derive(Debug, Clone, PartialEq)]
pub struct Weighted {
    /// The loss.
    pub loss: Loss,
    /// Its factor, above 0.
    pub weight: f64,
}

impl From<Loss> for Losses {
    fn from(loss: Loss) -> Self {
        Self(vec![Weighted { loss, weight: 1.0 }])
    }
}

impl Losses {
    /// The sum of these.
    ///
    /// Fails as [`validate`](Self::validate).
    pub fn new(terms: Vec<Weighted>) -> Result<Self> {
        let losses = Self(terms);
        losses.validate()?;
        Ok(losses)
    }

    /// The losses with their weights, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Weighted> {
        self.0.iter()
    }

    /// The loss, where it is one of weight 1.
    pub fn single(&self) -> Option<&Loss> {
        match self.0.as_slice() {
            [one] if is_one(one.weight) => Some(&one.loss),
            _ => None,
        }
    }

    /// Names and weights in one line.
    pub fn title(&self) -> String {
        let term = |term: &Weighted| {
            let name = term.loss.name();
            if is_one(term.weight) {
                name.to_owned()
            } else {
                format!("{} {name}", term.weight)
            }
        };
        let terms: Vec<String> = self.iter().map(term).collect();
        terms.join(" + ")
    }

    /// Whether one of them has proxies.
    pub fn has_proxies(&self) -> bool {
        self.iter().any(|term| term.loss.has_proxies())
    }

    /// The one that looks at clusters of the whole set, if it is that.
    pub fn dec(&self) -> Option<&Dec> {
        match self.single() {
            Some(Loss::Dec(dec)) => Some(dec),
            _ => None,
        }
    }

    /// The one that remembers all items, if it is that.
    pub fn nce(&self) -> Option<&Nce> {
        match self.single() {
            Some(Loss::Nce(nce)) => Some(nce),
            _ => None,
        }
    }

    /// Whether it looks at pairs of labeled items beside the classes.
    pub fn links_labels(&self) -> bool {
        self.dec().is_some_and(|dec| dec.lambda > 0.0)
    }

    /// The first that learns from one class an item alone, if there is one.
    pub fn of_one_class(&self) -> Option<&Loss> {
        let mut all = self.iter().map(|term| &term.loss);
        all.find(|loss| !loss.takes_several_labels())
    }

    /// Whether one of them compares items with each other, in pairs or triplets.
    pub fn compares(&self) -> bool {
        self.iter().any(|term| term.loss.compares())
    }

    /// Proxies that a class needs, for each loss that has some.
    pub fn proxies_per_class(&self) -> Vec<usize> {
        let of = self.iter().map(|term| term.loss.proxies_per_class());
        of.filter(|&each| each > 0).collect()
    }

    /// Parameters that change nothing beside the others of their loss, and why: `k`, or `1.k` of the second
    /// loss of a list.
    pub fn idle(&self) -> Vec<(String, &'static str)> {
        let alone = self.single().is_some();
        let of = |(place, term): (usize, &Weighted)| {
            let named = move |name: &str| {
                if alone {
                    name.to_owned()
                } else {
                    format!("{place}.{name}")
                }
            };
            let idle = term.loss.idle().into_iter();
            idle.map(move |(name, why)| (named(name), why))
        };
        self.iter().enumerate().flat_map(of).collect()
    }

    /// Checks the list, the weights and the parameters; an error names the field, its value and
    /// the rule.
    pub fn validate(&self) -> Result<()> {
        if self.0.is_empty() {
            let rule = "must name a loss, or several";
            return Err(Error::parameter("loss", "[]", rule));
        }
        for (place, term) in self.iter().enumerate() {
            let name = term.loss.name();
            if self.iter().take(place).any(|t| t.loss.name() == name) {
                let rule = "stands in the list already; give it once, with the sum of the weights";
                return Err(Error::parameter("loss", name, rule));
            }
            above_zero("loss.weight", term.weight)?;
            term.loss.validate()?;
        }
        let apart = self.iter().find(|term| !term.loss.stands_beside());
        if let Some(term) = apart.filter(|_| self.single().is_none()) {
            let rule = "looks at the whole set, and stands alone with weight 1";
            return Err(Error::parameter("loss", term.loss.name(), rule));
        }
        if !self.iter().any(|term| term.loss.stands_alone()) {
            let rule = "learns nothing alone; write [[learner.loss]] for it and for the loss that it stands \
                        beside";
            return Err(Error::parameter("loss", self.title(), rule));
        }
        Ok(())
    }

    /// The sum on a batch, a tensor of one number, as [`Loss::forward`]; `mined` are the pairs or
    /// triplets that a miner chose of it, and `proxies` those of each loss that has some, in order.
    ///
    /// Rows beyond those that have classes are those of a memory: only `batch.pairs` (or `mined`)
    /// know them.
    ///
    /// Fails as [`Loss::forward`].
    #[cfg(feature = "networks")]
    pub fn forward(
        &self,
        embeddings: Tensor<2>,
        (batch, mined): (&Batch, Option<&Batch>),
        proxies: Vec<Tensor<2>>,
    ) -> Result<Tensor<1>> {
        let mut proxies = proxies.into_iter();
        let own = batch.classes.as_ref().map(|classes| classes.dims()[0]);
        let mut sum: Option<Tensor<1>> = None;
        for Weighted { loss, weight } in self.iter() {
            let rows = embeddings.clone();
            let value = if loss.has_proxies() {
                let rows = match own {
                    Some(own) if own < rows.dims()[0] => rows.slice(0..own),
                    _ => rows,
                };
                loss.forward(rows, batch, proxies.next())?
            } else if loss.compares() {
                loss.forward(rows, mined.unwrap_or(batch), None)?
            } else {
                loss.forward(rows, batch, None)?
            };
            let value = if is_one(*weight) {
                value
            } else {
                value.mul_scalar(*weight)
            };
            sum = Some(match sum {
                Some(sum) => sum + value,
                None => value,
            });
        }
        sum.ok_or_else(|| Error::data("a list of no losses has no value"))
    }
}

/// Whether a weight changes nothing.
#[allow(
    clippy::float_cmp,
    reason = "1 is the value that a factor is left out at"
)]
fn is_one(weight: f64) -> bool {
    weight == 1.0
}

impl Serialize for Losses {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        /// One of a list: its weight beside its parameters.
        #[derive(Serialize)]
        struct Listed<'a> {
            #[serde(flatten)]
            loss: &'a Loss,
            weight: f64,
        }
        if let Some(loss) = self.single() {
            return loss.serialize(to);
        }
        to.collect_seq(self.iter().map(|term| Listed {
            loss: &term.loss,
            weight: term.weight,
        }))
    }
}

impl<'de> Deserialize<'de> for Losses {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        use serde::de::Error as _;
        use serde_json::Value;

        fn parse<E: serde::de::Error>(value: Value) -> std::result::Result<Loss, E> {
            serde_json::from_value(value).map_err(|e| E::custom(format!("loss: {e}")))
        }
        let terms = match Value::deserialize(from)? {
            Value::Array(terms) => terms,
            one => return Ok(parse::<D::Error>(one)?.into()),
        };
        let term = |value: Value| -> std::result::Result<Weighted, D::Error> {
            let Value::Object(mut fields) = value else {
                let said = format!("loss: {value} in a list: each must be a table with a name");
                return Err(D::Error::custom(said));
            };
            let weight = match fields.remove("weight") {
                None => 1.0,
                // What is no finite number is lost on its way here.
                Some(Value::Null) => {
                    let said = "loss.weight: must be a finite number above 0";
                    return Err(D::Error::custom(said));
                }
                Some(given) => given.as_f64().ok_or_else(|| {
                    D::Error::custom(format!("loss.weight = {given}: must be a number above 0"))
                })?,
            };
            let loss = parse::<D::Error>(fields.into())?;
            Ok(Weighted { loss, weight })
        };
        terms
            .into_iter()
            .map(term)
            .collect::<std::result::Result<_, _>>()
            .map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> std::result::Result<Losses, String> {
        let losses: Losses = serde_json::from_str(json).map_err(|e| e.to_string())?;
        losses.validate().map_err(|e| e.to_string())?;
        Ok(losses)
    }

    #[test]
    fn one_is_written_as_one_and_several_as_a_list() {
        for loss in Loss::all() {
            let alone = serde_json::to_string(&loss).unwrap();
            let losses = Losses::from(loss.clone());
            assert_eq!(serde_json::to_string(&losses).unwrap(), alone);
            let list = format!("[{alone}]");
            assert_eq!(serde_json::from_str::<Losses>(&alone).unwrap(), losses);
            assert_eq!(serde_json::from_str::<Losses>(&list).unwrap(), losses);
        }
        let list = r#"[{"name":"center","weight":2.0}]"#;
        let losses = read(list).unwrap();
        assert_eq!(serde_json::to_string(&losses).unwrap(), list);
        assert!(losses.single().is_none() && losses.title() == "2 center");
        let mixed =
            read(r#"[{"name": "triplet", "margin": 0.5, "weight": 2}, {"name": "center"}]"#);
        let mixed = mixed.unwrap();
        let again = serde_json::to_string(&mixed).unwrap();
        assert_eq!(serde_json::from_str::<Losses>(&again).unwrap(), mixed);
        assert_eq!(mixed.proxies_per_class(), [1]);
        assert!(mixed.compares() && mixed.has_proxies());
    }

    #[test]
    fn what_is_wrong_in_a_list_is_said() {
        for (json, said) in [
            ("[]", "loss = []: must name a loss"),
            (
                r#"[{"name": "triplet"}, {"name": "triplet", "margin": 1}]"#,
                "loss = triplet: stands in the list already",
            ),
            (
                r#"[{"name": "triplet", "weight": 0}]"#,
                "loss.weight = 0: must be above 0",
            ),
            (
                r#"[{"name": "triplet", "weight": -1}]"#,
                "loss.weight = -1: must be above 0",
            ),
            (
                r#"[{"name": "triplet", "weight": "x"}]"#,
                r#"loss.weight = "x": must be"#,
            ),
            (
                r#"[{"name": "triplet", "weight": null}]"#,
                "loss.weight: must be a finite number",
            ),
            (r#"[{"name": "triplet", "marginn": 1}]"#, "marginn"),
            (r#"[{"name": "center", "weigth": 1}]"#, "weigth"),
            (r#"[{"name": "nosuch"}]"#, "nosuch"),
            (r#"[{"weight": 1}]"#, "name"),
            ("[3]", "loss: 3 in a list"),
            (r#"[{"name": "triplet", "margin": -1}]"#, "loss.margin = -1"),
            (
                r#"[{"name": "dec"}, {"name": "center"}]"#,
                "loss = dec: looks at the whole set",
            ),
            (
                r#"[{"name": "nce", "weight": 2}]"#,
                "loss = nce: looks at the whole set",
            ),
            (
                r#"{"name": "similarity-regularizer"}"#,
                "loss = similarity-regularizer: learns nothing alone",
            ),
        ] {
            let error = read(json).unwrap_err();
            assert!(error.contains(said), "{json}: {error}");
        }
        let not_a_number = Weighted {
            loss: Loss::named("triplet").unwrap(),
            weight: f64::NAN,
        };
        assert!(Losses::new(vec![not_a_number]).is_err());
    }
}
