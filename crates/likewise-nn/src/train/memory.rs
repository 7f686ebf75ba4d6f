//! Cross-batch memory: embeddings of past batches as further positives and negatives.

use burn::tensor::Tensor;

use crate::loss::Pairs;
use crate::{Error, Result};

/// The last embeddings of past batches, with their classes and weights.
///
/// Embeddings move slowly, so those of past steps still serve as positives and negatives, at
/// the price of a few rows: a batch of 32 then meets thousands of negatives.
///
/// **When to use it.** With small batches and the pair losses: contrastive, NT-Xent,
/// multi-similarity. **When not.** In the first epochs, while embeddings still move fast; with
/// losses of neighbourhoods (of contextual only the contrastive part looks at it) or of explicit triplets.
///
/// **Cost.** `capacity x d` numbers; a loss then takes O(batch (batch + capacity)) memory.
///
/// **Source.** Wang et al., CVPR 2020.
///
/// ```
/// use likewise_nn::{Device, train::Memory};
/// use burn::tensor::Tensor;
/// let mut memory = Memory::new(3);
/// let batch = Tensor::<2>::ones([2, 4], &Device::flex());
/// memory.push(batch.clone(), &[0, 1], &[1.0, 1.0])?;
/// memory.push(batch.clone(), &[0, 1], &[1.0, 1.0])?;
/// assert_eq!(memory.len(), 3);
/// let (rows, pairs) = memory.extend(batch, &[0, 1], &[1.0, 1.0])?;
/// assert_eq!(rows.dims(), [5, 4]);
/// assert_eq!(pairs.dims(), [2, 5]);
/// # Ok::<(), likewise_nn::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Memory {
    capacity: usize,
    /// Oldest first.
    rows: Option<Tensor<2>>,
    classes: Vec<u32>,
    weights: Vec<f32>,
}

impl Memory {
    /// An empty memory of at most `capacity` rows.
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            rows: None,
            classes: Vec::new(),
            weights: Vec::new(),
        }
    }

    /// Rows it holds.
    pub fn len(&self) -> usize {
        self.classes.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// Takes the embeddings of a batch `[n, d]` in; the oldest go where there is no room.
    ///
    /// No gradient flows into the memory. Fails if the lists differ in length, or if the
    /// rows have another number of columns than those before.
    pub fn push(&mut self, embeddings: Tensor<2>, classes: &[u32], weights: &[f32]) -> Result<()> {
        self.check(&embeddings, classes, weights)?;
        self.classes.extend(classes);
        self.weights.extend(weights);
        let rows = self.appended_to(embeddings.detach());
        let spare = self.classes.len().saturating_sub(self.capacity);
        self.classes.drain(..spare);
        self.weights.drain(..spare);
        self.rows = (!self.classes.is_empty()).then(|| {
            let [n, _] = rows.dims();
            rows.slice(spare..n)
        });
        Ok(())
    }

    fn appended_to(&self, newer: Tensor<2>) -> Tensor<2> {
        match &self.rows {
            Some(rows) => Tensor::cat(vec![rows.clone(), newer], 0),
            None => newer,
        }
    }

    /// A batch followed by the memory, `[n + len, d]`, and its pairs: the items of the batch
    /// are the anchors, those of the memory only positives and negatives.
    ///
    /// Fails as [`push`](Self::push).
    pub fn extend(
        &self,
        embeddings: Tensor<2>,
        classes: &[u32],
        weights: &[f32],
    ) -> Result<(Tensor<2>, Pairs)> {
        let same = |a: u32, b: u32| f32::from(u8::from(a == b));
        self.extend_by(embeddings, classes, weights, same)
    }

    /// As [`extend`](Self::extend), by how much two classes are alike, 0 to 1.
    pub(crate) fn extend_by(
        &self,
        embeddings: Tensor<2>,
        classes: &[u32],
        weights: &[f32],
        grade: impl Fn(u32, u32) -> f32,
    ) -> Result<(Tensor<2>, Pairs)> {
        self.check(&embeddings, classes, weights)?;
        let options = (&embeddings.device(), embeddings.dtype());
        let all_classes = [classes, &self.classes].concat();
        let all_weights = [weights, &self.weights].concat();
        let pairs = Pairs::from_grades(classes.len(), &all_weights, options, |i, j| {
            grade(all_classes[i], all_classes[j])
        })?;
        let rows = match &self.rows {
            Some(rows) => Tensor::cat(vec![embeddings, rows.clone()], 0),
            None => embeddings,
        };
        Ok((rows, pairs))
    }

    fn check(&self, embeddings: &Tensor<2>, classes: &[u32], weights: &[f32]) -> Result<()> {
        let [n, d] = embeddings.dims();
        if classes.len() != n || weights.len() != n {
            return Err(Error::data(format!(
                "{n} embeddings, {} classes and {} weights; there must be one each",
                classes.len(),
                weights.len()
            )));
        }
        match self.rows.as_ref().map(|rows| rows.dims()[1]) {
            Some(columns) if columns != d => Err(Error::data(format!(
                "embeddings have {d} columns, the memory {columns}; they must agree"
            ))),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Device, TensorData};
    use likewise::ErrorKind;

    use super::*;
    use crate::loss::{Batch, Loss, reference};

    fn values(t: Tensor<2>) -> Vec<f64> {
        t.try_into_vec_as::<f64>().unwrap()
    }

    #[test]
    fn the_oldest_are_overwritten() {
        let mut memory = Memory::new(3);
        for step in 0..4 {
            let rows = reference::tensor([[f64::from(step), 0.0], [f64::from(step), 1.0]]);
            memory.push(rows, &[step as u32, 9], &[1.0; 2]).unwrap();
        }
        assert_eq!(memory.classes, [9, 3, 9]);
        assert_eq!(values(memory.rows.unwrap()), [2.0, 1.0, 3.0, 0.0, 3.0, 1.0]);
        let mut none = Memory::new(0);
        none.push(reference::batch(), &reference::Y, &[1.0; 6])
            .unwrap();
        assert!(none.is_empty() && none.rows.is_none());
    }

    /// The first two items of the worked batch are the batch, the others the memory.
    #[test]
    fn memory_gives_pairs_but_neither_anchors_nor_gradient() {
        let device = Device::flex().autodiff();
        let rows = |from: usize, to: usize| -> Tensor<2> {
            let rows: Vec<f64> = reference::X[from..to].concat();
            Tensor::from_data(TensorData::new(rows, [to - from, 3]), (&device, DType::F64))
        };
        let mut memory = Memory::new(8);
        let source = rows(2, 6).require_grad();
        // A product, so that the memory would hold a graph if it were not cut off.
        let stored = source.clone().mul_scalar(1.0);
        memory.push(stored, &reference::Y[2..], &[1.0; 4]).unwrap();
        for loss in Loss::all() {
            if loss.proxies_per_class() > 0 {
                continue;
            }
            let batch = rows(0, 2).require_grad();
            let all = memory.extend(batch.clone(), &[0, 0], &[1.0; 2]).unwrap();
            assert_eq!(all.1.dims(), [2, 6]);
            let with_memory = loss.forward(all.0, &all.1.into(), None).unwrap();
            let gradients = with_memory.backward();
            assert!(source.grad(&gradients).is_none(), "{}", loss.name());
            let gradient = values(batch.grad(&gradients).unwrap());
            assert!(gradient.iter().all(|g| g.is_finite()));

            // The same by square pairs whose anchors of the memory have no weight.
            let square = rows(0, 6).require_grad();
            let mut pairs = reference::pairs();
            let anchor = TensorData::from([1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
            pairs.anchors = Tensor::from_data(anchor, (&device, DType::F64));
            let column = pairs.anchors.clone().unsqueeze_dim::<2>(1);
            let on = |t: Tensor<2>| Tensor::from_inner(t) * column.clone();
            (pairs.positive, pairs.negative) = (on(pairs.positive), on(pairs.negative));
            let masked = loss
                .forward(square.clone(), &Batch::from(pairs), None)
                .unwrap();
            let masked_gradient = values(square.grad(&masked.backward()).unwrap());
            // Through the others' rows the square form has a gradient too; the batch's agrees.
            for (g, m) in gradient.iter().zip(&masked_gradient) {
                assert!((g - m).abs() < 1e-9, "{}: {g} {m}", loss.name());
            }
        }
    }

    #[test]
    fn wrong_sizes_are_refused() {
        let mut memory = Memory::new(8);
        let error = memory.push(reference::batch(), &[0], &[1.0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Data);
        memory
            .push(reference::batch(), &reference::Y, &[1.0; 6])
            .unwrap();
        let narrow = reference::tensor([[1.0, 0.0]]);
        let said = memory.push(narrow, &[0], &[1.0]).unwrap_err().to_string();
        assert!(said.contains("2 columns, the memory 3"), "{said}");
    }
}
