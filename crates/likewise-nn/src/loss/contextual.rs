//! The contextual loss.

use serde::{Deserialize, Serialize};

use super::check::{above_zero, at_least_zero, cosine, count, share};
use super::contrastive::Contrastive;
use crate::{Error, Result};
#[cfg(feature = "networks")]
use {
    super::SimilarityRegularizer,
    super::cosine::{cosines, squared_distances},
    super::pairs::Pairs,
    super::reduce::with_slope,
    burn::tensor::Tensor,
};

/// How the three parts of [`Contextual`] are added, with `lambda` and `gamma`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Total {
    /// `lambda context + (1 - lambda - gamma) contrastive + gamma regulariser`: the authors'
    /// code for 256 pixels.
    #[default]
    Shared,
    /// `lambda context + (1 - lambda) contrastive + gamma regulariser`: as presented.
    Presented,
    /// `(1 - lambda) context + lambda contrastive + gamma regulariser`: the authors' code for
    /// 224 pixels.
    Swapped,
}

/// Contextual loss: two items are alike if they share their neighbours, and this likeness
/// must be 1 for positives and 0 for negatives.
///
/// ```text
/// N_ij  = 1 if D_ij - eps <= t_i, the k-th smallest D of row i;  N' the same with k/2
/// W1    = 1/2 (N N^T / |N_i| + (1-N)(1-N)^T / |1-N_i|) o N
/// R     = N' o N'^T,   W2 = R W1 / |R_i|,   W = (W2 + W2^T) / 2
/// L_ctx = 1/n^2 sum_{i != j} (y_ij - W_ij)^2
/// ```
///
/// with squared distances `D = 2 - 2 s`. Neighbourhoods have no gradient; the step of each is
/// given the slope alpha in `-D_ij`. Beside it stand a cosine [`Contrastive`] loss and a
/// regulariser `(mean s - s0)^2` over all entries of s, which holds the mean similarity.
///
/// Of items with several labels each, `y_ij` is whether they share one, or a grade of 0 to 1 by how many
/// ([`Relation`](super::Relation)): a grade g counts as g of a positive and 1 - g of a negative pair, which is
/// `(g - W_ij)^2` but for a constant.
///
/// **When to use it.** With class labels of doubtful quality: an error of one label is
/// outvoted by the neighbours. Batches of k items a class, k = 4.
///
/// **When not.** On pairs that do not form classes; on batches with one item a class (there
/// is no neighbourhood to learn).
///
/// **Cost.** Three products of n x n matrices; O(n^2) memory.
///
/// **Source.** Liao, Tsiligkaridis & Kulis, ICML 2023, and its code: counts divide rows and
/// are constants, except those of R; a full neighbourhood has no outside, and its second term
/// is 0. The correction of wrong-signed gradients (eq. 10) is a flag, `correct_gradient`, off as in their results: with
/// it they print R@1 65.4 where they have 71.4 without.
/// Items of weight 0 are in no neighbourhood. Of a [memory](crate::train::Memory) the contrastive part alone has
/// pairs: in the contextual part its rows would need neighbourhoods too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Contextual {
    /// Items of a neighbourhood, itself among them: as many as a class has in a batch.
    pub k: usize,
    /// Tolerance eps of a neighbourhood, a squared distance, at least 0.
    pub eps: f64,
    /// Slope alpha that stands for that of a step, above 0.
    pub alpha: f64,
    /// How the parts are added.
    pub total: Total,
    /// The weight lambda, 0 to 1.
    pub lambda: f64,
    /// The weight gamma of the regulariser, 0 to 1.
    pub gamma: f64,
    /// Mean cosine s0 that the regulariser holds.
    pub mean_cosine: f64,
    /// Margin of positives of the contrastive part, a cosine.
    pub positive_margin: f64,
    /// Margin of negatives of the contrastive part, a cosine.
    pub negative_margin: f64,
    /// Whether the contextual part may not draw negatives nearer nor push positives away: such
    /// entries of its gradient in the cosines are taken as 0 (eq. 10). Absent: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correct_gradient: Option<bool>,
}

impl Default for Contextual {
    fn default() -> Self {
        Self {
            k: 4,
            eps: 0.05,
            alpha: 10.0,
            total: Total::Shared,
            lambda: 0.4,
            gamma: 0.1,
            mean_cosine: 0.25,
            positive_margin: 0.75,
            negative_margin: 0.6,
            correct_gradient: None,
        }
    }
}

impl Contextual {
    /// The contextual part alone.
    pub fn alone() -> Self {
        Self {
            lambda: 1.0,
            gamma: 0.0,
            ..Self::default()
        }
    }

    pub(crate) fn validate(&self) -> Result<()> {
        count("loss.k", self.k, 2..=100_000)?;
        at_least_zero("loss.eps", self.eps)?;
        above_zero("loss.alpha", self.alpha)?;
        share("loss.lambda", self.lambda)?;
        share("loss.gamma", self.gamma)?;
        cosine("loss.mean_cosine", self.mean_cosine)?;
        cosine("loss.positive_margin", self.positive_margin)?;
        cosine("loss.negative_margin", self.negative_margin)?;
        if self.weights().1 < 0.0 {
            let rule = format!(
                "must be at most 1 - lambda = {}, of which it leaves the rest to the contrastive part",
                1.0 - self.lambda
            );
            return Err(Error::parameter("loss.gamma", self.gamma, &rule));
        }
        Ok(())
    }

    /// What the contextual and the contrastive part weigh. What is left of 1 but for rounding is nothing.
    fn weights(&self) -> (f64, f64) {
        let rest = |of: f64| if of.abs() < 1e-12 { 0.0 } else { of };
        match self.total {
            Total::Shared => (self.lambda, rest(1.0 - self.lambda - self.gamma)),
            Total::Presented => (self.lambda, rest(1.0 - self.lambda)),
            Total::Swapped => (rest(1.0 - self.lambda), self.lambda),
        }
    }

    /// Parameters that change nothing beside the others, and why.
    pub(super) fn idle(&self) -> Vec<(&'static str, &'static str)> {
        let (context, contrast) = self.weights();
        let parts: [(f64, &[&str], &str); 3] = [
            (
                context,
                &["k", "eps", "alpha", "correct_gradient"],
                "lambda leaves the contextual part no weight",
            ),
            (
                contrast,
                &["positive_margin", "negative_margin"],
                "lambda and gamma leave the contrastive part no weight",
            ),
            (
                self.gamma,
                &["mean_cosine"],
                "a gamma of 0 gives the regulariser no weight",
            ),
        ];
        let nothing = parts.into_iter().filter(|(weight, ..)| *weight == 0.0);
        nothing
            .flat_map(|(_, names, why)| names.iter().map(move |name| (*name, why)))
            .collect()
    }
}

#[cfg(feature = "networks")]
impl Contextual {
    /// The loss of a batch, a tensor of one number. Rows of any length, `[n, d]`.
    pub fn forward(&self, embeddings: Tensor<2>, pairs: &Pairs) -> Tensor<1> {
        let pairs = pairs.like(&embeddings);
        let [m, _] = pairs.dims();
        let cosines = cosines(embeddings, m);
        let (context, contrast) = self.weights();
        // Every part is left out at weight 0, not multiplied by it.
        let mut loss = Tensor::<1>::zeros([1], (&cosines.device(), cosines.dtype()));
        if contrast != 0.0 {
            let margins = Contrastive::cosine(self.positive_margin, self.negative_margin);
            loss = loss
                + margins
                    .of_cosines(cosines.clone(), &pairs)
                    .mul_scalar(contrast);
        }
        let square = cosines.slice([0..m, 0..m]);
        if context != 0.0 {
            let of_context = if self.correct_gradient == Some(true) {
                self.corrected(square.clone(), &pairs)
            } else {
                self.context(square.clone(), &pairs)
            };
            loss = loss + of_context.mul_scalar(context);
        }
        if self.gamma != 0.0 {
            let regularizer = SimilarityRegularizer {
                mean_cosine: self.mean_cosine,
            };
            let held = regularizer.of_cosines(square, pairs.anchors);
            loss = loss + held.mul_scalar(self.gamma);
        }
        loss
    }

    /// `L_ctx` with the gradient of eq. 10: where `j` is a positive of `i`, the slope in `s_ij` is at
    /// most 0, and where it is a negative, at least 0. Pairs that are both in part keep theirs.
    fn corrected(&self, cosines: Tensor<2>, pairs: &Pairs) -> Tensor<1> {
        if !cosines.is_autodiff() {
            return self.context(cosines, pairs);
        }
        let [m, _] = cosines.dims();
        let at = cosines.clone().detach().require_grad();
        let value = self.context(at.clone(), pairs);
        let Some(slope) = at.grad(&value.backward()) else {
            return value;
        };
        let weights = |of: &Tensor<2>| of.clone().slice([0..m, 0..m]).inner();
        let (positive, negative) = (weights(&pairs.positive), weights(&pairs.negative));
        let alone = |of: &Tensor<2>, other: &Tensor<2>| {
            let there = of.clone().greater_elem(0.0);
            there.bool_and(other.clone().lower_equal_elem(0.0))
        };
        let away = alone(&positive, &negative).bool_and(slope.clone().greater_elem(0.0));
        let nearer = alone(&negative, &positive).bool_and(slope.clone().lower_elem(0.0));
        let slope = slope.mask_fill(away.bool_or(nearer), 0.0);
        with_slope(value, Tensor::from_inner(slope), cosines)
    }

    /// `L_ctx` of cosines among the anchors, `[m, m]`.
    fn context(&self, cosines: Tensor<2>, pairs: &Pairs) -> Tensor<1> {
        let [m, _] = cosines.dims();
        let weights = pairs.anchor_column().transpose();
        let total = weights.clone().sum().square().clamp_min(1e-30);
        let present = weights.clone().greater_elem(0.0).float();
        let present = present.cast(cosines.dtype());
        let distance = squared_distances(cosines);

        let near = self.neighborhood(&distance, &present, self.k);
        let far = near.clone().neg().add_scalar(1.0) * present.clone();
        let shared = |inside: &Tensor<2>| {
            let weighted = inside.clone() * weights.clone();
            let counts = weighted.clone().detach().sum_dim(1);
            weighted.matmul(inside.clone().transpose()) * inverse(counts)
        };
        let likeness = (shared(&near) + shared(&far)).mul_scalar(0.5) * near;

        let close = self.neighborhood(&distance, &present, self.k / 2);
        let mutual = close.clone() * close.transpose() * weights;
        let counts = mutual.clone().sum_dim(1);
        let empty = counts.clone().lower_equal_elem(0.0);
        let spread = mutual.matmul(likeness) / counts.mask_fill(empty, 1.0);
        let context = (spread.clone() + spread.transpose()).mul_scalar(0.5);

        let positive = pairs.positive.clone().slice([0..m, 0..m]);
        let negative = pairs.negative.clone().slice([0..m, 0..m]);
        let missed = context.clone().neg().add_scalar(1.0).square() * positive;
        let wrong = context.square() * negative;
        (missed + wrong).sum() / total
    }

    /// Row i: the items about as near to i as its k-th neighbour, with a slope in `-D`.
    fn neighborhood(&self, distance: &Tensor<2>, present: &Tensor<2>, k: usize) -> Tensor<2> {
        let at = distance.clone().detach();
        // Squared distances are at most 4, so absent items sort last.
        let absent = present.clone().neg().add_scalar(1.0).mul_scalar(8.0);
        let ranked = at.clone() + absent;
        let limit = kth_smallest(&ranked, k.max(1)).clamp_max(4.0);
        let inside = at.clone().neg().add_scalar(self.eps);
        let inside = inside.greater_equal(limit.neg());
        let inside = inside.float().cast(at.dtype());
        let soft = (at - distance.clone()).mul_scalar(self.alpha);
        (inside + soft) * present.clone()
    }
}

/// `1 / x` as a constant; 0 where x is.
#[cfg(feature = "networks")]
fn inverse(x: Tensor<2>) -> Tensor<2> {
    let nothing = x.clone().lower_equal_elem(0.0);
    let one_over = x.mask_fill(nothing.clone(), 1.0).recip();
    one_over.mask_fill(nothing, 0.0)
}

/// The k-th smallest of each row (the largest, if a row has fewer), `[rows, 1]`.
#[cfg(feature = "networks")]
fn kth_smallest(x: &Tensor<2>, k: usize) -> Tensor<2> {
    let [rows, n] = x.dims();
    let place = k.min(n) - 1;
    x.clone().sort(1).slice([0..rows, place..place + 1])
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Device, TensorData};

    use super::*;
    use crate::loss::Relation;
    use crate::loss::reference::near;
    use likewise::Tags;

    const ANGLES: [f64; 8] = [0.0, 10.0, 25.0, 70.0, 60.0, 90.0, 100.0, 130.0];

    fn points(device: &Device) -> Tensor<2> {
        let rows = ANGLES.map(|a| [a.to_radians().cos(), a.to_radians().sin()]);
        Tensor::from_data(TensorData::from(rows), (device, DType::F64))
    }

    fn halves(device: &Device) -> Pairs {
        let classes = [0, 0, 0, 0, 1, 1, 1, 1];
        Pairs::from_classes(&classes, &[1.0; 8], (device, DType::F64)).unwrap()
    }

    fn values(t: Tensor<2>) -> Vec<f64> {
        t.try_into_vec_as::<f64>().unwrap()
    }

    #[track_caller]
    fn row_is(rows: &[f64], expected: &[f64]) {
        for (value, expected) in rows.iter().zip(expected) {
            assert!((value - expected).abs() < 6e-9, "{rows:?}");
        }
    }

    #[test]
    fn the_worked_values_are_met() {
        let device = Device::flex();
        let of = |loss: Contextual| loss.forward(points(&device), &halves(&device));
        near(of(Contextual::alone()), 0.213_867_19);
        near(of(Contextual::default()), 0.358_268_21);
        let presented = Contextual {
            total: Total::Presented,
            ..Contextual::default()
        };
        near(of(presented), 0.411_038_84);
        let swapped = Contextual {
            total: Total::Swapped,
            ..Contextual::default()
        };
        near(
            of(swapped),
            0.4 * 0.527_706_32 + 0.6 * 0.213_867_19 + 0.1 * 0.088_681_71,
        );
        let contrastive = Contrastive::cosine(0.75, 0.6);
        near(
            contrastive.forward(points(&device), &halves(&device)),
            0.527_706_32,
        );
    }

    #[test]
    fn the_worked_neighbourhoods_are_met() {
        let device = Device::flex();
        let distance = squared_distances(cosines(points(&device), 8));
        let present = Tensor::<2>::ones([1, 8], (&device, DType::F64));
        let rows = |k| -> Vec<String> {
            let found = Contextual::default().neighborhood(&distance, &present, k);
            let found = values(found);
            let digit = |v: &f64| char::from(b'0' + *v as u8);
            found
                .chunks(8)
                .map(|row| row.iter().map(digit).collect())
                .collect()
        };
        let near = "11101000 11101000 11101000 00011110 00111100 00011110 00010111 00010111";
        assert_eq!(rows(4).join(" "), near);
        let close = "11000000 11100000 01100000 00011000 00011000 00000110 00000110 00000011";
        assert_eq!(rows(2).join(" "), close);
    }

    /// The printed derivatives, with respect to cosines and to unit rows.
    #[test]
    fn the_worked_gradients_are_met() {
        let device = Device::flex().autodiff();
        let unit = points(&device);
        let s = unit.clone().matmul(unit.transpose()).require_grad();
        let loss = Contextual::default().context(s.clone(), &halves(&device));
        let ds = values(s.grad(&loss.backward()).unwrap());
        let row = [
            -0.016_276_04,
            -0.016_276_04,
            0.016_276_04,
            -0.113_932_29,
            0.081_380_21,
            0.016_276_04,
            -0.016_276_04,
            -0.016_276_04,
        ];
        row_is(&ds[..8], &row);
        let length = ds.iter().map(|d| d * d).sum::<f64>().sqrt();
        assert!((length - 1.652_087_18).abs() < 6e-9, "{length}");

        // Rows are of unit length only up to rounding; the printed values take them as given.
        let unit = points(&device).require_grad();
        let s = unit.clone().matmul(unit.clone().transpose());
        let loss = Contextual::default().context(s, &halves(&device));
        let df = values(unit.grad(&loss.backward()).unwrap());
        row_is(&df[..2], &[-0.296_198_55, -0.522_329_11]);
        row_is(&df[6..8], &[-0.621_779_22, 2.855_608_28]);
    }

    /// Of the worked gradient, the entries of the wrong sign are 0 and the others as they were; the
    /// value is the same.
    #[test]
    fn a_corrected_gradient_has_no_wrong_signs() {
        let device = Device::flex().autodiff();
        let unit = points(&device);
        let s = unit.clone().matmul(unit.transpose()).require_grad();
        let slopes = |loss: Tensor<1>| values(s.grad(&loss.backward()).unwrap());
        let loss = Contextual::default();
        let plain = slopes(loss.context(s.clone(), &halves(&device)));
        let corrected = loss.corrected(s.clone(), &halves(&device));
        near(corrected.clone(), 0.213_867_19);
        let corrected = slopes(corrected);
        let mut changed = 0;
        for (entry, (plain, corrected)) in plain.iter().zip(&corrected).enumerate() {
            let (i, j) = (entry / 8, entry % 8);
            let wrong = i != j
                && if (i < 4) == (j < 4) {
                    *plain > 0.0
                } else {
                    *plain < 0.0
                };
            let expected = if wrong { 0.0 } else { *plain };
            assert!(
                (corrected - expected).abs() < 1e-12,
                "{i} {j}: {plain} {corrected}"
            );
            changed += usize::from(wrong);
        }
        // In row 0: the printed slope of item 2, of the same class, and of 5, of the other, stand
        // as they are or fall by their signs.
        row_is(&corrected[1..3], &[-0.016_276_04, 0.0]);
        row_is(&corrected[5..8], &[0.016_276_04, 0.0, 0.0]);
        assert!(changed > 0 && changed < 56, "{changed}");
        // As a part of the loss, and without gradients.
        let flagged = Contextual {
            correct_gradient: Some(true),
            ..Contextual::alone()
        };
        near(
            flagged.forward(points(&Device::flex()), &halves(&Device::flex())),
            0.213_867_19,
        );
        let x = points(&device).require_grad();
        let gradient = flagged.forward(x.clone(), &halves(&device)).backward();
        assert!(values(x.grad(&gradient).unwrap()).iter().any(|&g| g != 0.0));
    }

    /// Central differences of the function whose derivative the surrogate is: neighbourhoods
    /// linear around the point, counts and limits held.
    #[test]
    fn the_surrogate_is_the_derivative_of_its_linear_form() {
        let device = Device::flex().autodiff();
        let start = cosines(points(&Device::flex()), 8);
        let s = Tensor::<2>::from_inner(start.clone()).require_grad();
        let loss = Contextual::default().context(s.clone(), &halves(&device));
        let ds = values(s.grad(&loss.backward()).unwrap());
        let start = values(start);
        let linear = Linear::at(&start);
        assert!((linear.loss(&start) - 0.213_867_19).abs() < 6e-9);
        let h = 1e-6;
        for entry in (0..64).filter(|e| e % 9 != 0) {
            let (mut up, mut down) = (start.clone(), start.clone());
            up[entry] += h;
            down[entry] -= h;
            let slope = (linear.loss(&up) - linear.loss(&down)) / (2.0 * h);
            assert!(
                (slope - ds[entry]).abs() < 1e-8,
                "{entry}: {slope} {}",
                ds[entry]
            );
        }
    }

    /// The loss by plain loops, with linear neighbourhoods and the counts of one point.
    struct Linear {
        start: Vec<f64>,
        near: Vec<f64>,
        close: Vec<f64>,
    }

    impl Linear {
        fn at(start: &[f64]) -> Self {
            let inside = |k: usize| {
                let mut all = vec![0.0; 64];
                for i in 0..8 {
                    let row: Vec<f64> = (0..8).map(|j| 2.0 - 2.0 * start[i * 8 + j]).collect();
                    let mut sorted = row.clone();
                    sorted.sort_by(f64::total_cmp);
                    for j in 0..8 {
                        let member = row[j] - 0.05 <= sorted[k - 1];
                        all[i * 8 + j] = f64::from(u8::from(member));
                    }
                }
                all
            };
            Self {
                start: start.to_vec(),
                near: inside(4),
                close: inside(2),
            }
        }

        fn loss(&self, s: &[f64]) -> f64 {
            self.loss_by(s, |i, j| f64::from(u8::from((i < 4) == (j < 4))))
        }

        fn loss_by(&self, s: &[f64], grade: impl Fn(usize, usize) -> f64) -> f64 {
            let moved = |base: &[f64]| -> Vec<f64> {
                let entries = base.iter().zip(s.iter().zip(&self.start));
                entries.map(|(b, (s, s0))| b + 20.0 * (s - s0)).collect()
            };
            let (near, close) = (moved(&self.near), moved(&self.close));
            let mut w1 = [0.0; 64];
            for i in 0..8 {
                let count: f64 = self.near[i * 8..i * 8 + 8].iter().sum();
                for j in 0..8 {
                    let (mut inside, mut outside) = (0.0, 0.0);
                    for k in 0..8 {
                        inside += near[i * 8 + k] * near[j * 8 + k];
                        outside += (1.0 - near[i * 8 + k]) * (1.0 - near[j * 8 + k]);
                    }
                    let both = inside / count + outside / (8.0 - count);
                    w1[i * 8 + j] = 0.5 * both * near[i * 8 + j];
                }
            }
            let mut w2 = [0.0; 64];
            for i in 0..8 {
                let mutual = |j: usize| close[i * 8 + j] * close[j * 8 + i];
                let count: f64 = (0..8).map(mutual).sum();
                for j in 0..8 {
                    let sum: f64 = (0..8).map(|k| mutual(k) * w1[k * 8 + j]).sum();
                    w2[i * 8 + j] = sum / count;
                }
            }
            let mut loss = 0.0;
            for i in 0..8 {
                for j in (0..8).filter(|&j| j != i) {
                    let w = 0.5 * (w2[i * 8 + j] + w2[j * 8 + i]);
                    loss += (grade(i, j) - w).powi(2) / 64.0;
                }
            }
            loss
        }
    }

    #[test]
    fn a_grade_is_what_the_likeness_must_be() {
        let device = Device::flex();
        let words: [&[&str]; 8] = [
            &["a"],
            &["a", "b"],
            &["b"],
            &["a", "c"],
            &["c"],
            &["c", "d"],
            &["d"],
            &["a", "d"],
        ];
        let tags = Tags::read(words.map(<[&str]>::to_vec)).unwrap();
        let options = (&device, DType::F64);
        let pairs = Pairs::from_tags(&tags, &[1.0; 8], Relation::Jaccard, options).unwrap();
        let loss = Contextual::alone().forward(points(&device), &pairs);
        let start = values(cosines(points(&device), 8));
        let grade = |i: usize, j: usize| tags.jaccard(i, j);
        let others = (0..64).filter(|e| e % 9 != 0).map(|e| grade(e / 8, e % 8));
        let constant: f64 = others.map(|g| g * (1.0 - g) / 64.0).sum();
        let expected = Linear::at(&start).loss_by(&start, grade) + constant;
        let value = loss.try_into_scalar::<f64>().unwrap();
        // Grades are kept in single precision.
        assert!((value - expected).abs() < 1e-7, "{value} {expected}");
    }

    #[test]
    fn a_full_neighbourhood_has_no_outside() {
        let device = Device::flex().autodiff();
        let x = points(&device).require_grad();
        let loss = Contextual {
            k: 8,
            ..Contextual::alone()
        };
        let loss = loss.forward(x.clone(), &halves(&device));
        let gradient = values(x.grad(&loss.backward()).unwrap());
        assert!(gradient.iter().all(|g| g.is_finite()), "{gradient:?}");
    }
}
