//! The loss of deep embedded clustering, and its constraint.

use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::check::{above_zero, at_least_zero};
use crate::{Error, Result};
#[cfg(feature = "networks")]
use {
    super::classes::Classes,
    super::reduce::weighted_mean,
    burn::tensor::{Int, Tensor, TensorData, activation::log_softmax},
    likewise::Pairs as Links,
};

/// Deep embedded clustering: items near a centre come nearer, by targets of their own.
///
/// ```text
/// q_ij = (1 + s^2 |z_i - m_j|^2 / a)^(-(a+1)/2), of sum 1 over the centres j
/// p_ij = q_ij^2 / f_j,                           of sum 1 over j;   f_j = sum_i w_i q_ij over the whole set
/// L    = mean_i sum_j p_ij log(p_ij / q_ij)
///      + lambda (mean |z_i - z_k|^2 of linked pairs - the same of pairs that must not be)
/// ```
///
/// on rows as they come: lengths count. In training `p` is found anew of all items before each epoch
/// and stands still within it; where classes are given in its place, they are `p`. The centres are the
/// proxies, which begin as the means of their classes at length 1, and move freely.
///
/// With `lambda` above 0 it is SDEC: pairs of labeled items of a batch, alike and unlike, pull and push.
///
/// **When to use it.** To compare with the literature, behind a clustering (`pseudo_labels = "clusters"`
/// with `on = "start"`) whose clusters are classes for the most part.
///
/// **When not.** Where clusters are wrong: their own guesses are all that it learns from.
///
/// **Cost.** O(n C d) time and O(n C) memory; before each epoch the same of all items.
///
/// **Source.** Xie, Girshick and Farhadi, ICML 2016, and their code; Ren et al., "Semi-supervised deep
/// embedded clustering", Neurocomputing 2019. Where we differ: `s`, which they do not need, since their rows
/// are of any length and ours of length 1: with `s` 1 all `q` are nearly alike, and on digits the recipe `dec`
/// gains next to nothing, with 4 to 16 it does. SDEC prints `lambda / n` times the sum over pairs; means of both
/// kinds are what its code takes, in which the term has no gradient by an oversight. Here it has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dec {
    /// Degrees of freedom `a` of Student's t, above 0.
    pub alpha: f64,
    /// What lengths are multiplied by, above 0.
    pub scale: f64,
    /// Weight of the pairs of labeled items, at least 0; 0: none.
    pub lambda: f64,
}

impl Default for Dec {
    fn default() -> Self {
        Self {
            alpha: 1.0,
            scale: 4.0,
            lambda: 0.0,
        }
    }
}

impl Dec {
    pub(crate) fn validate(&self) -> Result<()> {
        above_zero("loss.alpha", self.alpha)?;
        above_zero("loss.scale", self.scale)?;
        at_least_zero("loss.lambda", self.lambda)
    }

    /// `q` (`n x C`) of rows (`n x d`) and centres (`C x d`).
    ///
    /// Fails where they have other columns.
    pub fn assigned(&self, rows: ArrayView2<f32>, centers: ArrayView2<f32>) -> Result<Array2<f64>> {
        if rows.ncols() != centers.ncols() {
            return Err(Error::data(format!(
                "rows of {} columns, and centres of {}; they must agree",
                rows.ncols(),
                centers.ncols()
            )));
        }
        let near = |row: ndarray::ArrayView1<f32>, center: ndarray::ArrayView1<f32>| {
            let squares = row.iter().zip(center);
            let apart: f64 = squares.map(|(a, b)| f64::from(a - b).powi(2)).sum();
            let far = 1.0 + self.scale.powi(2) * apart / self.alpha;
            far.powf(-(self.alpha + 1.0) / 2.0)
        };
        let mut q = Array2::from_shape_fn((rows.nrows(), centers.nrows()), |(i, j)| {
            near(rows.row(i), centers.row(j))
        });
        share(&mut q);
        Ok(q)
    }

    /// The targets `p` of items with these `q` and weights.
    ///
    /// Fails where there are not as many weights.
    pub fn targets(&self, q: ArrayView2<f64>, weights: &[f32]) -> Result<Array2<f64>> {
        if q.nrows() != weights.len() {
            return Err(Error::data(format!(
                "{} items, and {} weights; there must be one each",
                q.nrows(),
                weights.len()
            )));
        }
        let mut f = ndarray::Array1::<f64>::zeros(q.ncols());
        for (row, &weight) in q.rows().into_iter().zip(weights) {
            f.scaled_add(f64::from(weight), &row);
        }
        let mut p = Array2::from_shape_fn(q.dim(), |(i, j)| {
            if f[j] > 0.0 {
                q[(i, j)].powi(2) / f[j]
            } else {
                0.0
            }
        });
        share(&mut p);
        Ok(p)
    }
}

/// Rows of sum 1; one of zeros becomes even.
fn share(rows: &mut Array2<f64>) {
    let even = 1.0 / rows.ncols().max(1) as f64;
    for mut row in rows.axis_iter_mut(Axis(0)) {
        let sum = row.sum();
        if sum > 0.0 {
            row /= sum;
        } else {
            row.fill(even);
        }
    }
}

#[cfg(feature = "networks")]
impl Dec {
    /// The loss of a batch but for its pairs, a tensor of one number. `embeddings` `[n, d]` and
    /// centres `[C, d]`; `classes` are the targets `p`.
    pub fn forward(
        &self,
        embeddings: Tensor<2>,
        centers: Tensor<2>,
        classes: &Classes,
    ) -> Tensor<1> {
        let (own, weights) = classes.like(&embeddings);
        let apart = squares(embeddings, centers).mul_scalar(self.scale.powi(2) / self.alpha);
        let near = apart.add_scalar(1.0).log();
        let q = log_softmax(near.mul_scalar(-(self.alpha + 1.0) / 2.0), 1);
        // 0 log 0 is 0.
        let p = own.clone().clamp_min(1e-30).log();
        weighted_mean((own * (p - q)).sum_dim(1), weights)
    }

    /// What the links among the items of a batch, by their numbers, add to its loss; nothing without any.
    pub(crate) fn linked(
        &self,
        embeddings: &Tensor<2>,
        items: &[usize],
        links: &Linked,
    ) -> Option<Tensor<1>> {
        let device = embeddings.device();
        let mut sum: Option<Tensor<1>> = None;
        for (pairs, sign) in links.among(items).into_iter().zip([1.0, -1.0]) {
            if pairs.is_empty() {
                continue;
            }
            let end = |end: usize| {
                let places: Vec<i64> = pairs.iter().map(|pair| pair[end] as i64).collect();
                let places = TensorData::new(places, [pairs.len()]);
                let places = Tensor::<1, Int>::from_data(places, &device);
                embeddings.clone().select(0, places)
            };
            let apart = (end(0) - end(1)).square().sum_dim(1).mean();
            let term = apart.mul_scalar(sign * self.lambda);
            sum = Some(match sum {
                Some(sum) => sum + term,
                None => term,
            });
        }
        sum
    }
}

/// Squared distances of rows to centres, `[n, C]`.
#[cfg(feature = "networks")]
fn squares(x: Tensor<2>, centers: Tensor<2>) -> Tensor<2> {
    let of_x = x.clone().square().sum_dim(1);
    let of_centers = centers.clone().square().sum_dim(1).transpose();
    let products = x.matmul(centers.transpose()).mul_scalar(2.0);
    (of_x + of_centers - products).clamp_min(0.0)
}

/// Pairs of items, alike and unlike, by their first item.
#[cfg(feature = "networks")]
#[derive(Debug, Clone, Default)]
pub(crate) struct Linked(Vec<Vec<(u32, bool)>>);

#[cfg(feature = "networks")]
impl Linked {
    /// The pairs of some weight among `n` items.
    pub(crate) fn new(pairs: &Links, n: usize) -> Self {
        let mut of = vec![Vec::new(); n];
        for (a, b, alike, weight) in pairs.iter() {
            if weight > 0.0 {
                of[a as usize].push((b, alike));
            }
        }
        Self(of)
    }

    /// The pairs of places in `items` that are alike, and those that are not.
    fn among(&self, items: &[usize]) -> [Vec<[usize; 2]>; 2] {
        let mut places: Vec<(usize, usize)> = (items.iter().enumerate())
            .map(|(place, &item)| (item, place))
            .collect();
        places.sort_unstable();
        let mut found = [Vec::new(), Vec::new()];
        for (place, &item) in items.iter().enumerate() {
            for &(other, alike) in self.0.get(item).into_iter().flatten() {
                let at = places.partition_point(|&(item, _)| item < other as usize);
                if let Some(&(same, to)) = places.get(at)
                    && same == other as usize
                {
                    found[usize::from(!alike)].push([place, to]);
                }
            }
        }
        found
    }
}

#[cfg(all(test, feature = "networks"))]
#[allow(clippy::unreadable_literal)] // Printed values.
mod tests {
    use burn::tensor::{DType, Device};
    use ndarray::array;

    use super::*;
    use crate::loss::reference::{batch, classes, near, proxies, tensor};

    fn close(found: &Array2<f64>, expected: &Array2<f64>) {
        let worst = (found - expected).fold(0.0_f64, |worst, e| worst.max(e.abs()));
        assert!(worst < 6e-9, "{found}");
    }

    #[test]
    fn the_worked_values_are_met() {
        let z = array![[0.0, 0.0], [1.0, 0.0], [0.0, 2.0_f32]];
        let m = array![[0.0, 0.5], [1.0, 1.0_f32]];
        let dec = Dec {
            scale: 1.0,
            ..Dec::default()
        };
        let q = dec.assigned(z.view(), m.view()).unwrap();
        let expected = array![
            [0.70588235, 0.29411765],
            [0.47058824, 0.52941176],
            [0.48, 0.52]
        ];
        close(&q, &expected);
        let p = dec.targets(q.view(), &[1.0; 3]).unwrap();
        let expected = array![
            [0.82368969, 0.17631031],
            [0.39056088, 0.60943912],
            [0.40866799, 0.59133201]
        ];
        close(&p, &expected);
        // Item by item, so that a gradient is that of the sum.
        let device = Device::flex().autodiff();
        let leaf = |rows: Vec<f64>, shape: [usize; 2]| -> Tensor<2> {
            Tensor::from_data(TensorData::new(rows, shape), (&device, DType::F64))
        };
        let x = leaf(vec![0.0, 0.0, 1.0, 0.0, 0.0, 2.0], [3, 2]).require_grad();
        let centers = leaf(vec![0.0, 0.5, 1.0, 1.0], [2, 2]).require_grad();
        let options = (&device, DType::F64);
        let classes = Classes {
            own: leaf(p.iter().copied().collect(), [3, 2]),
            weights: Tensor::from_data(TensorData::new(vec![1.0_f64; 3], [3]), options),
        };
        let loss = dec.forward(x.clone(), centers.clone(), &classes);
        let gradients = loss.backward();
        near(loss, 0.02005593);
        let of = |t: &Tensor<2>| {
            let values = t.grad(&gradients).unwrap();
            values.try_into_vec_as::<f64>().unwrap()
        };
        let (dz, dm) = (of(&x), of(&centers));
        assert!((3.0 * dz[0] - 0.07853823).abs() < 6e-9, "{dz:?}");
        assert!((3.0 * dz[1] + 0.01570765).abs() < 6e-9, "{dz:?}");
        // Moving all at once moves nothing against anything else.
        for axis in 0..2 {
            let sum = dz[axis] + dz[2 + axis] + dz[4 + axis] + dm[axis] + dm[2 + axis];
            assert!(sum.abs() < 1e-12);
        }
    }

    #[test]
    fn a_class_is_a_target_of_one_and_weight_0_is_absence() {
        let dec = Dec {
            alpha: 2.0,
            scale: 1.5,
            lambda: 0.0,
        };
        let x = array![
            [1.0, 0.1, 0.0],
            [0.9, 0.3, 0.2],
            [0.1, 1.0, 0.3],
            [0.5, 0.8, -0.1],
            [0.0, 0.2, 1.0],
            [0.4, -0.1, 0.7_f32],
        ];
        let m = array![[1.0, 0.2, 0.0], [0.0, 1.0, 0.3], [0.1, 0.0, 1.0_f32]];
        let q = dec.assigned(x.view(), m.view()).unwrap();
        let expected = (0..6).map(|i| -q[(i, i / 2)].ln()).sum::<f64>() / 6.0;
        let value = dec.forward(batch(), proxies(), &classes());
        let value = value.try_into_vec_as::<f64>().unwrap()[0];
        assert!((value - expected).abs() < 1e-6, "{value} {expected}");
        let some = dec
            .targets(q.view(), &[1.0, 1.0, 1.0, 0.0, 1.0, 1.0])
            .unwrap();
        let rest = q.select(Axis(0), &[0, 1, 2, 4, 5]);
        let rest = dec.targets(rest.view(), &[1.0; 5]).unwrap();
        close(&some.select(Axis(0), &[0, 1, 2, 4, 5]), &rest);
        assert!(dec.targets(q.view(), &[1.0; 5]).is_err());
        assert!(
            dec.assigned(x.view(), array![[1.0, 2.0_f32]].view())
                .is_err()
        );
        // No weight at all: even targets rather than no number.
        let none = dec.targets(q.view(), &[0.0; 6]).unwrap();
        close(&none, &Array2::from_elem((6, 3), 1.0 / 3.0));
    }

    #[test]
    fn links_pull_and_push_by_their_means() {
        let mut pairs = Links::default();
        for (a, b, alike, weight) in [
            (7, 2, true, 1.0),
            (2, 5, false, 1.0),
            (7, 5, false, 1.0),
            (9, 2, true, 1.0),
            (2, 7, false, 0.0),
        ] {
            pairs.push(a, b, alike, weight);
        }
        let links = Linked::new(&pairs, 10);
        let dec = Dec {
            lambda: 0.5,
            ..Dec::default()
        };
        // Items 5, 7, 2: 7 and 2 are 2 apart (squared), 2 and 5 by 8, 7 and 5 by 10.
        let x = tensor([[3.0, 0.0], [0.0, 1.0], [1.0, 2.0]]);
        let term = dec.linked(&x, &[5, 7, 2], &links).unwrap();
        near(term, 0.5 * (2.0 - f64::midpoint(8.0, 10.0)));
        assert!(dec.linked(&x, &[0, 1, 3], &links).is_none());
        let lone = dec.linked(&x, &[9, 0, 2], &links).unwrap();
        near(lone, 0.5 * (4.0 + 4.0));
    }

    #[test]
    fn wrong_parameters_are_named() {
        for (dec, field) in [
            (
                Dec {
                    alpha: 0.0,
                    ..Dec::default()
                },
                "loss.alpha",
            ),
            (
                Dec {
                    scale: -1.0,
                    ..Dec::default()
                },
                "loss.scale",
            ),
            (
                Dec {
                    lambda: f64::NAN,
                    ..Dec::default()
                },
                "loss.lambda",
            ),
        ] {
            let said = dec.validate().unwrap_err().to_string();
            assert!(said.contains(field), "{said}");
        }
    }
}
