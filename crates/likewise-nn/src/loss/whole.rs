//! Losses of a whole labeled set: for looking at embeddings, not for training.

use std::collections::BTreeMap;

use likewise::Tags;
use ndarray::ArrayView2;

use super::{Contextual, Loss};
use crate::{Error, ErrorKind, Result, networks};
#[cfg(feature = "networks")]
use {
    super::{Batch, Pairs, Relation},
    burn::tensor::{DType, Device, Tensor, TensorData},
};

/// Most items of a [`WholeSet`]: its n x n matrices of f64 take 0.8 GB each.
pub const MOST_ITEMS: usize = 10_000;

/// Losses to be measured on a whole set, in f64: those that need no proxies, with their
/// default parameters; of [`Contextual`] the contextual part alone.
///
/// ```
/// use likewise_nn::loss::WholeSet;
/// let losses = WholeSet::named(&["triplet", "nt-xent"])?;
/// let x = ndarray::array![[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]];
/// let values = losses.measure(x.view(), &[0, 0, 1])?;
/// assert_eq!(values["triplet"], 0.0);
/// # Ok::<(), likewise_nn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct WholeSet {
    losses: Vec<Loss>,
}

impl WholeSet {
    /// The losses of these names; an error lists the possible ones. There are none in a build
    /// without networks.
    pub fn named<S: AsRef<str>>(names: &[S]) -> Result<Self> {
        let possible: Vec<Loss> = (Loss::all().into_iter())
            .filter(|loss| loss.proxies_per_class() == 0)
            .collect();
        let find = |name: &S| {
            let name = name.as_ref();
            let found = possible.iter().find(|loss| loss.name() == name).cloned();
            found.ok_or_else(|| {
                let names: Vec<&str> = possible.iter().map(Loss::name).collect();
                let why = match Loss::named(name) {
                    Ok(_) => "needs trained proxies",
                    Err(_) => "no such loss",
                };
                let rule = format!("{why}; can be measured here: {}", names.join(", "));
                Error::parameter("loss", name, &rule)
            })
        };
        let losses = names.iter().map(find).collect::<Result<Vec<Loss>>>()?;
        if !losses.is_empty() {
            networks("the value of a loss")?;
        }
        let alone = |loss| match loss {
            Loss::Contextual(_) => Loss::Contextual(Contextual::alone()),
            other => other,
        };
        Ok(Self {
            losses: losses.into_iter().map(alone).collect(),
        })
    }

    /// Whether there is nothing to measure.
    pub fn is_empty(&self) -> bool {
        self.losses.is_empty()
    }

    /// The value of each loss, by name. `embeddings` `[n, d]`, rows of any length, and the
    /// class of each.
    ///
    /// Fails on more than [`MOST_ITEMS`] rows, on none, and on lists of different length.
    #[cfg(feature = "networks")]
    pub fn measure(
        &self,
        embeddings: ArrayView2<f32>,
        classes: &[u32],
    ) -> Result<BTreeMap<&'static str, f64>> {
        check(embeddings)?;
        let weights = vec![1.0; embeddings.nrows()];
        let pairs = Pairs::from_classes(classes, &weights, (&Device::flex(), DType::F64))?;
        self.of_pairs(embeddings, pairs)
    }

    /// As [`measure`](Self::measure), of items that are alike where they share a tag.
    ///
    /// Fails as well unless every item has its tags.
    #[cfg(feature = "networks")]
    pub fn measure_tags(
        &self,
        embeddings: ArrayView2<f32>,
        tags: &Tags,
    ) -> Result<BTreeMap<&'static str, f64>> {
        check(embeddings)?;
        let weights = vec![1.0; embeddings.nrows()];
        let pairs = Pairs::from_tags(
            tags,
            &weights,
            Relation::Shared,
            (&Device::flex(), DType::F64),
        )?;
        self.of_pairs(embeddings, pairs)
    }

    #[cfg(feature = "networks")]
    fn of_pairs(
        &self,
        embeddings: ArrayView2<f32>,
        pairs: Pairs,
    ) -> Result<BTreeMap<&'static str, f64>> {
        let (n, d) = embeddings.dim();
        let options = (&Device::flex(), DType::F64);
        let batch = Batch::from(pairs);
        let values: Vec<f64> = embeddings.iter().map(|&v| f64::from(v)).collect();
        let rows = Tensor::<2>::from_data(TensorData::new(values, [n, d]), options);
        let measure = |loss: &Loss| {
            let value = loss.forward(rows.clone(), &batch, None)?;
            let value = value.try_into_scalar::<f64>();
            let value = value.map_err(|e| Error::new(ErrorKind::Internal, format!("{e:?}")))?;
            Ok((loss.name(), value))
        };
        self.losses.iter().map(measure).collect()
    }

    /// Nothing: no loss has a name here.
    #[cfg(not(feature = "networks"))]
    pub fn measure(&self, _: ArrayView2<f32>, _: &[u32]) -> Result<BTreeMap<&'static str, f64>> {
        Ok(BTreeMap::new())
    }

    /// Nothing: no loss has a name here.
    #[cfg(not(feature = "networks"))]
    pub fn measure_tags(
        &self,
        _: ArrayView2<f32>,
        _: &Tags,
    ) -> Result<BTreeMap<&'static str, f64>> {
        Ok(BTreeMap::new())
    }
}

#[cfg(feature = "networks")]
fn check(embeddings: ArrayView2<f32>) -> Result<()> {
    let n = embeddings.nrows();
    if n > MOST_ITEMS {
        return Err(Error::new(
            ErrorKind::Memory,
            format!(
                "losses of {n} items compare all with all; the most is {MOST_ITEMS}: take a sample"
            ),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::reference;

    #[test]
    fn the_worked_batch() {
        let x = ndarray::Array2::from(reference::X.to_vec()).mapv(|v| v as f32);
        let names = ["nt-xent", "angular", "triplet"];
        let values = WholeSet::named(&names)
            .unwrap()
            .measure(x.view(), &reference::Y);
        let values = values.unwrap();
        assert!((values["nt-xent"] - 0.063_489_40).abs() < 1e-6);
        assert!((values["angular"] - 1.160_177_20).abs() < 1e-6);
        assert!(values["triplet"].abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        let said = |name: &str| WholeSet::named(&[name]).unwrap_err().to_string();
        assert!(said("proxy-anchor").contains("needs trained proxies; can be measured here: con"));
        assert!(said("nosuch").contains("no such loss; can be measured here: contrastive"));
        let many = ndarray::Array2::zeros((MOST_ITEMS + 1, 1));
        let error = WholeSet::named(&["triplet"])
            .unwrap()
            .measure(many.view(), &[]);
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Memory);
    }
}
