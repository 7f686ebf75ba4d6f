//! Codes that grow: each bit of a class code is chosen for what the bits before it leave wrong.
//!
//! ```text
//! T = q S,  S = 1 where classes agree, -1 elsewhere            q: number of bits in the end
//! R = T - A0 B0^T                                              A0, B0: codes there are already
//! for each new bit: (a, b) = argmax a^T R b over signs, by a = sign(R b), b = sign(R^T a)
//!                   R -= a b^T
//! ```
//!
//! from the signs of the first singular vectors of `R`. With one label a row, all rows of a class
//! get the same code, so `R` has a row and a column for each class, which count by their numbers
//! of rows. A bit that would be the same for all classes of a modality, or that is there already and
//! would make the fit worse, is a random split of the classes into halves instead.
//!
//! [`class_codes`](GrowBit::class_codes) gives the codes, for any encoder; [`fit`](GrowBit::fit)
//! learns one with a [kernel](super::klr).
//!
//! **Use it** for codes that must stay valid when more bits are added, and as targets of a
//! network. **Not** where rows of one class should have different codes
//! ([`Gsph`](super::Gsph)).
//!
//! Cost: O(q C^2) for C classes after one O(C^3); with the encoder as it.
//!
//! Source: after Mandal, Annadani and Biswas, "`GrowBit`: incremental hashing for cross-modal
//! retrieval", ACCV 2018, of which the idea is known to us, not the formulas: the ones above are
//! ours.

use ndarray::{Array1, Array2, Axis};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::gsph::imitated;
use super::parts::{Side, check_bits, times_transposed, transposed};
use super::{Hashed, KernelLogistic, Views};
use crate::code::Codes;
use crate::linear::spd::eigen;
use crate::{Error, Monitor, Result, seed};

/// Most rounds of a bit.
const ROUNDS: usize = 20;

/// Parameters of growing codes; see [`growbit`](self).
///
/// ```
/// use likewise::cross::GrowBit;
/// let sizes = [5.0, 5.0, 2.0];
/// let few = GrowBit::new().bits(8).class_codes(&sizes, &sizes, None, 7)?;
/// let more = GrowBit::new().bits(16).class_codes(&sizes, &sizes, Some(&few), 7)?;
/// // The first bits are those that were there.
/// assert_eq!(more[0].row(0)[0] & 0xff, few[0].row(0)[0]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GrowBit {
    bits: usize,
    kernel: KernelLogistic,
}

impl Default for GrowBit {
    fn default() -> Self {
        Self {
            bits: 64,
            kernel: KernelLogistic::default(),
        }
    }
}

impl GrowBit {
    /// 64 bits, 500 anchors.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of bits in the end.
    #[must_use]
    pub fn bits(mut self, bits: usize) -> Self {
        self.bits = bits;
        self
    }

    /// The encoders.
    #[must_use]
    pub fn kernel(mut self, kernel: KernelLogistic) -> Self {
        self.kernel = kernel;
        self
    }

    /// Checks the parameters.
    pub fn validate(&self) -> Result<()> {
        check_bits("growbit.bits", self.bits)?;
        self.kernel.validate().map_err(|e| e.under("growbit."))
    }

    /// Codes of the labeled rows of two modalities, and encoders of any rows.
    ///
    /// Fails on a parameter out of range, unless there are two modalities with labeled rows, and
    /// when cancelled.
    pub fn fit(&self, views: &Views, seed: u64, monitor: &Monitor) -> Result<Hashed> {
        self.validate()?;
        views.check_two("growbit")?;
        let (sides, classes) = Side::all(views)?;
        let sizes = |side: &Side| {
            let mut sizes = vec![0.0; classes];
            for (&class, &w) in side.class.iter().zip(&side.weight) {
                sizes[class] += w;
            }
            sizes
        };
        let found = self.class_codes(&sizes(&sides[0]), &sizes(&sides[1]), None, seed)?;
        let codes: Vec<Array2<f64>> = (sides.iter().zip(&found))
            .map(|(side, codes)| codes.select(&side.class).to_signs().mapv(f64::from))
            .collect();
        imitated(&sides, &codes, self.kernel, seed, monitor)
    }

    /// A code for each class in each of two modalities, from the weight of its rows there;
    /// `earlier` ones are kept as the first bits.
    ///
    /// Fails on a parameter out of range, without a class, where the classes of the modalities or
    /// of `earlier` differ in number, on a weight that is negative or not finite, and where
    /// `earlier` has more bits than there should be.
    pub fn class_codes(
        &self,
        x: &[f64],
        y: &[f64],
        earlier: Option<&[Codes; 2]>,
        seed: u64,
    ) -> Result<[Codes; 2]> {
        self.validate()?;
        let classes = x.len();
        let fits = |codes: &Codes| codes.n() == classes && codes.bits() <= self.bits;
        let known =
            earlier.is_none_or(|both| both.iter().all(fits) && both[0].bits() == both[1].bits());
        if classes == 0 || y.len() != classes || !known {
            return Err(Error::data(format!(
                "growbit of {classes} and {} classes: both modalities, and the codes there are, \
                 need the same classes, and the codes no more than {} bits",
                y.len(),
                self.bits
            )));
        }
        if let Some(wrong) = x
            .iter()
            .chain(y)
            .find(|w| !(0.0..f64::INFINITY).contains(*w))
        {
            let rule = "must be finite and at least 0";
            return Err(Error::parameter("weight", wrong, rule));
        }
        let weight = [x, y].map(|w| Array1::from(w.to_vec()));
        let q = self.bits as f64;
        let mut residual =
            Array2::from_shape_fn((classes, classes), |(c, d)| if c == d { q } else { -q });
        let mut signs: [Vec<Array1<f64>>; 2] = [Vec::new(), Vec::new()];
        for k in 0..earlier.map_or(0, |both| both[0].bits()) {
            for (signs, codes) in signs.iter_mut().zip(earlier.into_iter().flatten()) {
                signs.push((0..classes).map(|c| codes.sign(c, k)).collect());
            }
        }
        for (a, b) in signs[0].iter().zip(&signs[1]) {
            take(&mut residual, a, b);
        }
        let mut rng = seed::stream(seed, "splits of growbit");
        while signs[0].len() < self.bits {
            let (mut a, mut b) = best(&residual, &weight)?;
            let gain =
                2.0 * product(&residual, &weight, &a, &b) - weight[0].sum() * weight[1].sum();
            let known = signs[0]
                .iter()
                .zip(&signs[1])
                .any(|(c, d)| (c, d) == (&a, &b));
            let same = |v: &Array1<f64>| v.iter().all(|s| (s - v[0]).abs() < 0.5);
            if same(&a) || same(&b) || known && gain < 0.0 {
                let mut half: Vec<f64> = (0..classes)
                    .map(|c| if c % 2 == 0 { 1.0 } else { -1.0 })
                    .collect();
                half.shuffle(&mut rng);
                a = Array1::from(half);
                b.clone_from(&a);
            }
            take(&mut residual, &a, &b);
            signs[0].push(a);
            signs[1].push(b);
        }
        let codes = signs.map(|signs| {
            let all = Array2::from_shape_fn((classes, self.bits), |(c, k)| signs[k][c]);
            Codes::from_signs64(all.view())
        });
        let [a, b] = codes;
        Ok([a?, b?])
    }
}

/// `R -= a b^T`.
fn take(residual: &mut Array2<f64>, a: &Array1<f64>, b: &Array1<f64>) {
    for (mut row, a) in residual.rows_mut().into_iter().zip(a) {
        row.scaled_add(-a, b);
    }
}

/// `a^T R b` over all rows.
fn product(
    residual: &Array2<f64>,
    weight: &[Array1<f64>; 2],
    a: &Array1<f64>,
    b: &Array1<f64>,
) -> f64 {
    (a * &weight[0]).dot(&residual.dot(&(b * &weight[1])))
}

/// The bit that agrees best with what is left, or one that no change of either side improves.
fn best(residual: &Array2<f64>, weight: &[Array1<f64>; 2]) -> Result<(Array1<f64>, Array1<f64>)> {
    let roots = [weight[0].mapv(f64::sqrt), weight[1].mapv(f64::sqrt)];
    // Of the singular vectors the right one is an eigenvector of R^T R.
    let white = residual * &roots[0].view().insert_axis(Axis(1)) * &roots[1];
    let white = transposed(&white);
    let found = eigen(&times_transposed(&white, &white))?;
    let first = found.vectors.column(found.values.len() - 1).to_owned();
    let sign = |v: Array1<f64>| v.mapv(|v| if v >= 0.0 { 1.0 } else { -1.0 });
    let mut b = sign(first);
    let mut a = sign(residual.dot(&(&b * &weight[1])));
    for _ in 0..ROUNDS {
        let next_b = sign(residual.t().dot(&(&a * &weight[0])));
        let next_a = sign(residual.dot(&(&next_b * &weight[1])));
        let settled = next_a == a && next_b == b;
        (a, b) = (next_a, next_b);
        if settled {
            break;
        }
    }
    Ok((a, b))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::parts::tests::{found, two_modalities};
    use super::*;
    use crate::reference::in_one_and_two_threads;

    #[test]
    fn two_classes_by_hand() {
        // Every bit tells them apart, and the fit is perfect.
        let [a, b] = GrowBit::new()
            .bits(8)
            .class_codes(&[3.0, 5.0], &[1.0, 1.0], None, 1)
            .unwrap();
        assert_eq!((a.distance(0, 1), b.distance(0, 1)), (8, 8));
        assert_eq!(a, b);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn no_change_of_one_side_improves_a_bit(classes in 2_usize..7, seed in 0_u64..99) {
            let mut rng = super::super::parts::tests::SplitMix(seed);
            let residual = rng.bells((classes, classes));
            let weight = [(); 2].map(|()| Array1::from_shape_simple_fn(classes, || rng.uniform()));
            let (a, b) = best(&residual, &weight).unwrap();
            let reached = product(&residual, &weight, &a, &b);
            for flips in 0..1_u32 << classes {
                let other = Array1::from_shape_fn(classes, |c| if flips >> c & 1 == 1 { 1.0 } else { -1.0 });
                prop_assert!(product(&residual, &weight, &other, &b) <= reached + 1e-9);
                prop_assert!(product(&residual, &weight, &a, &other) <= reached + 1e-9);
            }
        }

        #[test]
        fn codes_tell_classes_apart_and_grow(classes in 2_usize..40, seed in 0_u64..99) {
            let sizes = vec![4.0; classes];
            let few = GrowBit::new().bits(24).class_codes(&sizes, &sizes, None, seed).unwrap();
            for i in 0..classes {
                for j in 0..i {
                    // Of all these numbers and seeds, the least is 2.
                    prop_assert!(few[0].distance(i, j) >= 2, "{} {}: {}", i, j, few[0].distance(i, j));
                }
            }
            let more = GrowBit::new().bits(48).class_codes(&sizes, &sizes, Some(&few), seed).unwrap();
            for c in 0..classes {
                prop_assert_eq!(more[1].row(c)[0] & 0xff_ffff, few[1].row(c)[0]);
            }
        }
    }

    #[test]
    fn classes_are_found() {
        let ([x, y], class) = two_modalities(5, 20, 0.3, 4);
        let views = Views::paired(&[x.view(), y.view()], &class, &[1.0; 100]).unwrap();
        let run = || {
            GrowBit::new()
                .bits(32)
                .fit(&views, 1, &Monitor::silent())
                .unwrap()
        };
        let (one, two) = in_one_and_two_threads(run);
        assert_eq!(one, two);
        let share = found(&one.model, &[x.clone(), y.clone()], &class);
        assert!(share > 0.9, "{share}");
    }

    #[test]
    fn degenerate_classes_and_parameters() {
        let grow = GrowBit::new().bits(4);
        assert!(grow.class_codes(&[1.0], &[1.0], None, 0).is_ok());
        assert!(
            grow.class_codes(&[0.0, 0.0, 1.0], &[0.0; 3], None, 0)
                .is_ok()
        );
        assert!(grow.class_codes(&[], &[], None, 0).is_err());
        assert!(grow.class_codes(&[1.0], &[1.0, 1.0], None, 0).is_err());
        assert!(grow.class_codes(&[-1.0], &[1.0], None, 0).is_err());
        let long = GrowBit::new()
            .bits(9)
            .class_codes(&[1.0], &[1.0], None, 0)
            .unwrap();
        assert!(grow.class_codes(&[1.0], &[1.0], Some(&long), 0).is_err());
        assert!(GrowBit::new().bits(0).validate().is_err());
    }
}
