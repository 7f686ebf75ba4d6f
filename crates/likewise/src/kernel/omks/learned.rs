//! What triplets teach one kernel.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::parameters::Omks;
use crate::Result;
use crate::solve::vectorised;

/// Least size of a step's operator that is not taken for 0.
const SAME: f64 = 1e-12;
/// Triplets between two looks at whether to stop.
const STRIDE: usize = 4096;

/// Of one kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Learned {
    /// `A`, `n x n`.
    pub(super) weights: Array2<f64>,
    /// `(A K)^T`, so that a row is what all margins with one item need.
    pub(super) carried: Array2<f64>,
    pub(super) mistakes: u64,
    pub(super) updates: u64,
}

impl Learned {
    pub(super) fn new(n: usize) -> Self {
        Self {
            weights: Array2::zeros((n, n)),
            carried: Array2::zeros((n, n)),
            mistakes: 0,
            updates: 0,
        }
    }

    /// Learns from triplets in their order, `counted` after every few thousand. The last of them may be
    /// too few for a minibatch, and are one by themselves.
    pub(super) fn pass(
        &mut self,
        omks: &Omks,
        k: &Array2<f64>,
        triplets: &[Triplet],
        counted: impl Fn(usize) -> Result<()>,
    ) -> Result<()> {
        let most = omks.minibatch.min(triplets.len()).max(1);
        let mut steps = Vec::with_capacity(most);
        for some in triplets.chunks(STRIDE.next_multiple_of(most)) {
            for batch in some.chunks(most) {
                steps.clear();
                for triplet in batch {
                    let tau = vectorised(|| self.judge(omks.aggressiveness, k, triplet));
                    steps.extend(tau.map(|tau| (triplet, tau)));
                }
                let share = steps.len() as f64;
                for &(triplet, tau) in &steps {
                    self.step(k, triplet, tau / share);
                }
            }
            counted(some.len())?;
        }
        Ok(())
    }

    /// Counts a mistake; the length of the step, if there is one.
    #[expect(
        clippy::inline_always,
        reason = "must be compiled with the features of its caller"
    )]
    #[inline(always)]
    fn judge(&mut self, most: f64, k: &Array2<f64>, &(a, p, n, w): &Triplet) -> Option<f64> {
        let at = k.as_slice()?;
        let carried = self.carried.as_slice()?;
        let size = k.nrows();
        let own = &at[a * size..][..size];
        let near = &carried[p * size..][..size];
        let far = &carried[n * size..][..size];
        let margin = own[p] - own[n] + product_of_difference(own, near, far);
        self.mistakes += u64::from(margin <= 0.0);
        let between = at[p * size + p] - 2.0 * at[p * size + n] + at[n * size + n];
        let length = own[a] * between;
        (margin < 1.0 && length > SAME).then(|| ((1.0 - margin) / length).min(w * most))
    }

    fn step(&mut self, k: &Array2<f64>, &(a, p, n, _): &Triplet, tau: f64) {
        self.updates += 1;
        self.weights[(a, p)] += tau;
        self.weights[(a, n)] -= tau;
        let change = k.row(p).into_iter().zip(k.row(n));
        let column = self.carried.column_mut(a);
        for (to, (p, n)) in column.into_iter().zip(change) {
            *to += tau * (p - n);
        }
    }
}

/// Anchor, positive, negative and weight.
pub(super) type Triplet = (usize, usize, usize, f64);

/// `a . (b - c)`, in lanes that add up in a fixed order.
#[inline(always)]
fn product_of_difference(a: &[f64], b: &[f64], c: &[f64]) -> f64 {
    const LANES: usize = 16;
    let mut sums = [0.0; LANES];
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    let (c, c_rest) = c.as_chunks::<LANES>();
    for ((a, b), c) in a.iter().zip(b).zip(c) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * (b[lane] - c[lane]);
        }
    }
    let rest = a_rest.iter().zip(b_rest).zip(c_rest);
    sums.iter().sum::<f64>() + rest.map(|((a, b), c)| a * (b - c)).sum::<f64>()
}
