//! The terms of pairs of a metric learner, on the rows of a batch.

use burn::tensor::activation::sigmoid;
use burn::tensor::{Tensor, TensorData};
use likewise::linear::PairTerms;
use ndarray::Array2;

use crate::loss::softplus;

/// What is known of the items of a batch.
pub(super) struct Told<'a> {
    /// Class and weight of each, where the weight is above 0.
    pub(super) class: &'a [Option<(u32, f32)>],
    /// Links between places of the batch, each once: `(a, b, w)`.
    pub(super) links: &'a [(usize, usize, f64)],
}

/// The objective of rows `[n, d]` whose Euclidean distances are those behind the metric: a tensor of
/// one number. A term without pairs is 0.
pub(super) fn objective(rows: Tensor<2>, terms: &PairTerms, told: &Told) -> Tensor<1> {
    let squares = squared_distances(&rows);
    let weighted = |weights: &Array2<f64>, of: Tensor<2>| {
        let [n, _] = of.dims();
        let values: Vec<f64> = weights.iter().copied().collect();
        let weights = TensorData::new(values, [n, n]);
        let weights = Tensor::<2>::from_data(weights, (&of.device(), of.dtype()));
        (of * weights).sum()
    };
    let n = told.class.len();
    let (alike, unlike, unknown) = pairs(told);
    match *terms {
        PairTerms::Distances {
            alike: pull,
            unlike: push,
            near,
        } => {
            let mut neighbors = Array2::zeros((n, n));
            for &(a, b, weight) in told.links {
                neighbors[(a, b)] += weight;
            }
            let all = mean(&alike) * pull - mean(&unlike) * push + mean(&neighbors) * near;
            weighted(&all, squares)
        }
        PairTerms::Likelihood { eta, entropy } => {
            let beyond = squares.sub_scalar(eta);
            let (far, close) = (softplus(beyond.clone()), softplus(beyond.clone().neg()));
            let share = sigmoid(beyond.neg());
            let unsure = far.clone() * share.clone() + close.clone() * share.neg().add_scalar(1.0);
            // One mean over all pairs that are known: alike ones are few among them.
            let known = alike.sum() + unlike.sum();
            let known = if known > 0.0 { known } else { 1.0 };
            weighted(&(alike / known), far)
                + weighted(&(unlike / known), close)
                + weighted(&(mean(&unknown) * entropy), unsure)
        }
    }
}

/// Weights of alike pairs, of unlike pairs, and of those of which one end has no class; above the
/// diagonal alone.
fn pairs(told: &Told) -> (Array2<f64>, Array2<f64>, Array2<f64>) {
    let n = told.class.len();
    let zeros = || Array2::<f64>::zeros((n, n));
    let (mut alike, mut unlike, mut unknown) = (zeros(), zeros(), zeros());
    for a in 0..n {
        for b in a + 1..n {
            match (told.class[a], told.class[b]) {
                (Some((p, w)), Some((q, v))) => {
                    let of = if p == q { &mut alike } else { &mut unlike };
                    of[(a, b)] = f64::from(w) * f64::from(v);
                }
                _ => unknown[(a, b)] = 1.0,
            }
        }
    }
    (alike, unlike, unknown)
}

/// The weights divided by the sum of their sizes; zeros where that is 0.
fn mean(weights: &Array2<f64>) -> Array2<f64> {
    let sum: f64 = weights.iter().map(|w| w.abs()).sum();
    if sum > 0.0 {
        weights / sum
    } else {
        weights.clone()
    }
}

/// Squared distances of all rows to all, `[n, n]`.
fn squared_distances(rows: &Tensor<2>) -> Tensor<2> {
    let squares = rows.clone().square().sum_dim(1);
    let products = rows.clone().matmul(rows.clone().transpose());
    let sums = squares.clone() + squares.transpose();
    (sums - products.mul_scalar(2.0)).clamp_min(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::{DType, Device};
    use likewise::seed;
    use rand::RngExt;

    fn kinds() -> [PairTerms; 3] {
        [
            PairTerms::Distances {
                alike: 1.0,
                unlike: 0.7,
                near: 1.3,
            },
            PairTerms::Likelihood {
                eta: 1.0,
                entropy: 0.0,
            },
            PairTerms::Likelihood {
                eta: 0.8,
                entropy: 2.0,
            },
        ]
    }

    const CLASS: [Option<(u32, f32)>; 6] = [
        Some((0, 1.0)),
        Some((0, 0.5)),
        Some((1, 1.0)),
        None,
        None,
        Some((1, 2.0)),
    ];
    const LINKS: [(usize, usize, f64); 4] = [(0, 3, 1.0), (1, 4, 0.5), (3, 4, -0.25), (4, 5, 2.0)];

    fn told() -> Told<'static> {
        Told {
            class: &CLASS,
            links: &LINKS,
        }
    }

    fn random(number: u64) -> Array2<f64> {
        let mut rng = seed::stream(number, "terms");
        Array2::from_shape_simple_fn((6, 3), || rng.random_range(-1.0..1.0))
    }

    fn tensor(rows: &Array2<f64>, device: &Device) -> Tensor<2> {
        let data = TensorData::new(rows.iter().copied().collect::<Vec<f64>>(), [6, 3]);
        Tensor::from_data(data, (device, DType::F64))
    }

    fn value(rows: &Array2<f64>, terms: &PairTerms) -> f64 {
        let found = objective(tensor(rows, &Device::flex()), terms, &told());
        found.try_into_vec_as::<f64>().unwrap()[0]
    }

    /// Pair by pair, as the formulas read.
    fn naive(rows: &Array2<f64>, terms: &PairTerms) -> f64 {
        let square = |a: usize, b: usize| {
            let delta = &rows.row(a) - &rows.row(b);
            delta.dot(&delta)
        };
        let (mut sums, mut masses) = ([0.0; 3], [0.0; 3]);
        for (a, own) in CLASS.iter().enumerate() {
            for (b, other) in CLASS.iter().enumerate().skip(a + 1) {
                let d2 = square(a, b);
                let (kind, weight) = match (own, other) {
                    (Some(p), Some(q)) => (usize::from(p.0 != q.0), f64::from(p.1 * q.1)),
                    _ => (2, 1.0),
                };
                let term = match terms {
                    PairTerms::Distances { .. } => d2,
                    PairTerms::Likelihood { eta, .. } => {
                        let p = |y: f64| 1.0 / (1.0 + (y * (d2 - eta)).exp());
                        match kind {
                            0 => -p(1.0).ln(),
                            1 => -p(-1.0).ln(),
                            _ => -p(1.0) * p(1.0).ln() - p(-1.0) * p(-1.0).ln(),
                        }
                    }
                };
                sums[kind] += weight * term;
                masses[kind] += weight;
            }
        }
        let mean = |kind: usize| sums[kind] / masses[kind];
        match terms {
            PairTerms::Distances {
                alike,
                unlike,
                near,
            } => {
                let links: f64 = LINKS.iter().map(|l| l.2 * square(l.0, l.1)).sum();
                let size: f64 = LINKS.iter().map(|l| l.2.abs()).sum();
                alike * mean(0) - unlike * mean(1) + near * links / size
            }
            PairTerms::Likelihood { entropy, .. } => {
                (sums[0] + sums[1]) / (masses[0] + masses[1]) + entropy * mean(2)
            }
        }
    }

    #[test]
    fn values_are_those_of_plain_loops() {
        for terms in kinds() {
            for number in 0..8 {
                let rows = random(number);
                let (found, expected) = (value(&rows, &terms), naive(&rows, &terms));
                assert!(
                    (found - expected).abs() < 1e-12,
                    "{terms:?}: {found} {expected}"
                );
            }
        }
    }

    #[test]
    fn gradients_agree_with_central_differences() {
        let device = Device::flex().autodiff();
        for terms in kinds() {
            let rows = random(20);
            let at = tensor(&rows, &device).require_grad();
            let gradients = objective(at.clone(), &terms, &told()).backward();
            let slopes = at
                .grad(&gradients)
                .unwrap()
                .try_into_vec_as::<f64>()
                .unwrap();
            for (place, slope) in slopes.iter().enumerate() {
                let moved = |by: f64| {
                    let mut rows = rows.clone();
                    rows[(place / 3, place % 3)] += by;
                    value(&rows, &terms)
                };
                let rise = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                assert!((rise - slope).abs() < 1e-8, "{terms:?}: {rise} {slope}");
            }
        }
    }

    #[test]
    fn terms_without_pairs_are_nothing() {
        for terms in kinds() {
            for class in [[None; 6], [Some((0, 1.0)); 6]] {
                let told = Told {
                    class: &class,
                    links: &[],
                };
                let found = objective(tensor(&random(3), &Device::flex()), &terms, &told);
                assert!(found.try_into_vec_as::<f64>().unwrap()[0].is_finite());
            }
        }
    }
}
