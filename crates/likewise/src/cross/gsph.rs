//! Generalised semantic preserving hashing: codes whose products are the similarities of the
//! labels, and encoders that imitate them.
//!
//! ```text
//! 1. min_{A, B in {-1, 1}}  || S - A B^T / q ||_F^2     S = 1 where classes agree, 0 elsewhere
//!    A <- clip(A - (2 A B^T B - 2 q S B) / nu, -1, 1),  nu = 2 lambda_max(B^T B) + eps;  B alike
//! 2. an encoder for each modality by kernel logistic regression, towards A and B
//! ```
//!
//! until the objective at the signs of A and B no longer falls. `S` is never formed: with one
//! label a row, `S B` is the sum of `B` over each class. Rows of different classes should have a
//! product of 0, which is half of the bits different.
//!
//! **Use it** as the first choice for bits from labels, with or without pairs, any number of rows
//! in either modality. **Not** where thousands of anchors would be needed.
//!
//! Cost: O(iterations n q (q + classes)) and the [encoder](super::klr); memory O(n (q + anchors)).
//!
//! Source: Mandal, Chaudhury and Biswas, "Generalized semantic preserving hashing for n-label
//! cross-modal retrieval", CVPR 2017, with the updates of whole matrices that the published code
//! takes in place of those of single elements. Ours: weights. All rows of one class begin with
//! codes of their own, and need not end with the same.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::parts::{
    Side, check_bits, check_positive, class_sums, random_signs, scaled, signs, times,
};
use super::{Hashed, KernelLogistic, Learned, Model, Views};
use crate::code::Codes;
use crate::linear::spd::{cross, eigenvalues};
use crate::{Error, Monitor, Result, seed};

/// What keeps codes within -1 and 1 after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Project {
    /// Values beyond become -1 or 1: codes are real until the end, as the published code has it.
    #[default]
    Clip,
    /// All values become their sign, the other choice of the published code. It comes to rest early.
    Sign,
}

/// Iterations before the end is asked for.
const FIRST: usize = 5;

/// Parameters of generalised semantic preserving hashing; see [`gsph`](self).
///
/// ```
/// use likewise::{Monitor, cross::{Gsph, Views}};
/// let x = ndarray::array![[0.0, 1.0], [0.1, 0.2], [2.0, 0.9], [2.1, 0.1_f32]];
/// let y = ndarray::array![[5.0], [5.1], [1.0_f32]];
/// let views = Views::unpaired(&[
///     (x.view(), &[0, 0, 1, 1], &[1.0; 4]),
///     (y.view(), &[0, 0, 1], &[1.0; 3]),
/// ])?;
/// let found = Gsph::new().bits(16).fit(&views, 7, &Monitor::silent())?;
/// assert_eq!(found.model.encoders[1].output_dim(), 16);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gsph {
    bits: usize,
    max_iterations: usize,
    tolerance: f64,
    project: Project,
    kernel: KernelLogistic,
}

impl Default for Gsph {
    fn default() -> Self {
        Self {
            bits: 64,
            max_iterations: 100,
            tolerance: 1e-6,
            project: Project::default(),
            kernel: KernelLogistic::default(),
        }
    }
}

impl Gsph {
    /// 64 bits, 100 iterations, 500 anchors.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of bits.
    #[must_use]
    pub fn bits(mut self, bits: usize) -> Self {
        self.bits = bits;
        self
    }

    /// Most iterations of the codes; reaching it is no error.
    #[must_use]
    pub fn max_iterations(mut self, max_iterations: usize) -> Self {
        self.max_iterations = max_iterations;
        self
    }

    /// The codes are done when the objective falls by less than this share of it, or rises.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// What keeps codes within -1 and 1 after a step.
    #[must_use]
    pub fn project(mut self, project: Project) -> Self {
        self.project = project;
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
        check_bits("gsph.bits", self.bits)?;
        check_positive("gsph.tolerance", self.tolerance)?;
        if self.max_iterations == 0 {
            return Err(Error::parameter(
                "gsph.max_iterations",
                0,
                "must be at least 1",
            ));
        }
        self.kernel.validate().map_err(|e| e.under("gsph."))
    }

    /// Codes of the labeled rows of two modalities, and encoders of any rows.
    ///
    /// Fails on a parameter out of range, unless there are two modalities with labeled rows, and
    /// when cancelled.
    pub fn fit(&self, views: &Views, seed: u64, monitor: &Monitor) -> Result<Hashed> {
        self.validate()?;
        views.check_two("generalised semantic preserving hashing")?;
        let (sides, classes) = Side::all(views)?;
        let mut rng = seed::stream(seed, "codes of gsph");
        let start = [0, 1].map(|t: usize| random_signs((sides[t].x.nrows(), self.bits), &mut rng));
        let problem = Problem {
            class: [&sides[0].class, &sides[1].class],
            weight: [&sides[0].weight, &sides[1].weight],
            classes,
            project: self.project,
        };
        let (codes, _) = self.codes(&problem, start, monitor)?;
        imitated(&sides, &codes, self.kernel, seed, monitor)
    }

    /// The codes, and the objective after each iteration.
    fn codes(
        &self,
        problem: &Problem,
        start: [Array2<f64>; 2],
        monitor: &Monitor,
    ) -> Result<([Array2<f64>; 2], Vec<f64>)> {
        let [mut a, mut b] = start;
        let mut history = vec![problem.objective(&a, &b)];
        monitor.start("codes", self.max_iterations as u64);
        for iteration in 0..self.max_iterations {
            problem.update(&mut a, &b, 0)?;
            problem.update(&mut b, &a, 1)?;
            let value = problem.objective(&a, &b);
            let last = history[iteration];
            history.push(value);
            monitor.step(iteration as u64 + 1)?;
            if iteration >= FIRST && last - value <= self.tolerance * value {
                break;
            }
        }
        monitor.end();
        Ok(([signs(&a), signs(&b)], history))
    }
}

/// An encoder for each modality that gives the codes (1 and -1) of its labeled rows.
pub(super) fn imitated(
    sides: &[Side],
    codes: &[Array2<f64>],
    kernel: KernelLogistic,
    seed: u64,
    monitor: &Monitor,
) -> Result<Hashed> {
    let mut encoders = Vec::with_capacity(sides.len());
    let mut learned = Vec::with_capacity(sides.len());
    for (side, codes) in sides.iter().zip(codes) {
        let found = kernel.fit(&side.x, &side.weight, &side.mean, codes, seed, monitor)?;
        encoders.push(found);
        learned.push(Learned {
            rows: side.rows.clone(),
            codes: Codes::from_signs64(codes.view())?,
        });
    }
    let model = Model { encoders };
    Ok(Hashed { model, learned })
}

/// Rows of two modalities, by class.
struct Problem<'a> {
    class: [&'a [usize]; 2],
    weight: [&'a [f64]; 2],
    classes: usize,
    project: Project,
}

impl Problem<'_> {
    /// One step of `own`, the codes of modality `t`, given those of the other.
    fn update(&self, own: &mut Array2<f64>, other: &Array2<f64>, t: usize) -> Result<()> {
        let (class, weight) = (self.class[1 - t], self.weight[1 - t]);
        let squares = cross(other, &scaled(other, weight));
        let largest = eigenvalues(&squares)?.last().copied().unwrap_or_default();
        let nu = 2.0 * largest + f64::EPSILON;
        let sums = class_sums(other, class, weight, self.classes);
        let q = own.ncols() as f64;
        let pull = times(own, &squares);
        for ((mut row, pull), &class) in own
            .rows_mut()
            .into_iter()
            .zip(pull.rows())
            .zip(self.class[t])
        {
            for ((v, pull), sum) in row.iter_mut().zip(pull).zip(sums.row(class)) {
                let moved = *v - (2.0 * pull - 2.0 * q * sum) / nu;
                *v = match self.project {
                    Project::Clip => moved.clamp(-1.0, 1.0),
                    Project::Sign if moved >= 0.0 => 1.0,
                    Project::Sign => -1.0,
                };
            }
        }
        Ok(())
    }

    /// `|| S - sign(A) sign(B)^T / q ||_F`, rows by their weights, without the matrix.
    fn objective(&self, a: &Array2<f64>, b: &Array2<f64>) -> f64 {
        let q = a.ncols() as f64;
        let sign = |v: &Array2<f64>| v.mapv(|v| if v == 0.0 { 0.0 } else { v.signum() });
        let (a, b) = (sign(a), sign(b));
        let sums =
            |x: &Array2<f64>, t: usize| class_sums(x, self.class[t], self.weight[t], self.classes);
        let sizes = |t: usize| sums(&Array2::ones((self.class[t].len(), 1)), t);
        let same = (&sizes(0) * &sizes(1)).sum();
        let agree = (&sums(&a, 0) * &sums(&b, 1)).sum();
        let own = |x: &Array2<f64>, t: usize| cross(x, &scaled(x, self.weight[t]));
        let spread = (&own(&a, 0) * &own(&b, 1)).sum();
        // Rounding may leave a perfect fit below 0.
        (same - 2.0 * agree / q + spread / (q * q)).max(0.0).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use ndarray::ArrayView2;
    use proptest::prelude::*;

    use super::super::check_values::{Rows, read};
    use super::super::parts::tests::{SplitMix, as_signs, close, found, two_modalities};
    use super::*;
    use crate::reference::in_one_and_two_threads;

    const CLASS: [usize; 6] = [0, 0, 1, 1, 2, 2];

    fn published() -> Problem<'static> {
        Problem {
            class: [&CLASS; 2],
            weight: [&[1.0; 6]; 2],
            classes: 3,
            project: Project::Clip,
        }
    }

    fn start() -> [Array2<f64>; 2] {
        let mut rng = SplitMix(7);
        [(); 2].map(|()| {
            rng.uniforms((6, 4))
                .mapv(|v| if v >= 0.5 { 1.0 } else { -1.0 })
        })
    }

    #[test]
    fn published_values() {
        #[derive(Deserialize)]
        struct Case {
            #[serde(rename = "A0")]
            a: Rows,
            #[serde(rename = "B0")]
            b: Rows,
            #[serde(rename = "iter1_A")]
            first_a: Rows,
            #[serde(rename = "iter1_B")]
            first_b: Rows,
            history: Vec<f64>,
            #[serde(rename = "A_sign")]
            last_a: Rows,
            #[serde(rename = "B_sign")]
            last_b: Rows,
        }
        let case: Case = read(include_str!("check_values/gsph_codes.json"));
        let [mut a, mut b] = start();
        assert_eq!([&a, &b], [&case.a.0, &case.b.0]);
        let problem = published();
        problem.update(&mut a, &b, 0).unwrap();
        problem.update(&mut b, &a, 1).unwrap();
        assert!(close(&a, &case.first_a.0, 1e-9), "{a}");
        assert!(close(&b, &case.first_b.0, 1e-9), "{b}");
        let (found, history) = Gsph::new()
            .codes(&problem, start(), &Monitor::silent())
            .unwrap();
        assert_eq!(history.len(), case.history.len(), "{history:?}");
        let mut each = history.iter().zip(case.history);
        assert!(each.all(|(a, b)| (a - b).abs() < 1e-9), "{history:?}");
        assert_eq!(found, [case.last_a.0, case.last_b.0]);
    }

    #[test]
    fn codes_by_their_signs_are_those_of_the_clipped_step() {
        let [a, b] = start();
        let stepped = |project| {
            let problem = Problem {
                project,
                ..published()
            };
            let mut own = a.clone();
            problem.update(&mut own, &b, 0).unwrap();
            own
        };
        assert_eq!(stepped(Project::Sign), signs(&stepped(Project::Clip)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn steps_and_objective_are_those_of_the_full_matrix(
            seed in 0_u64..999, n in 1_usize..12, m in 1_usize..12, q in 1_usize..6,
        ) {
            let mut rng = SplitMix(seed);
            let class = |rng: &mut SplitMix, n| (0..n).map(|_| rng.next() as usize % 3).collect();
            let (cx, cy): (Vec<usize>, Vec<usize>) = (class(&mut rng, n), class(&mut rng, m));
            let (wx, wy) = (vec![1.0; n], vec![1.0; m]);
            let problem = Problem { class: [&cx, &cy], weight: [&wx, &wy], classes: 3, project: Project::Clip };
            let (mut a, b) = (rng.bells((n, q)), rng.bells((m, q)));
            let s = Array2::from_shape_fn((n, m), |(i, j)| if cx[i] == cy[j] { 1.0 } else { 0.0 });
            let sign = |v: &Array2<f64>| v.mapv(f64::signum);
            let whole = (&s - &(sign(&a).dot(&sign(&b).t()) / q as f64)).mapv(|v| v * v).sum();
            prop_assert!((problem.objective(&a, &b) - whole.sqrt()).abs() < 1e-9);
            let squares = b.t().dot(&b);
            let largest = eigenvalues(&squares).unwrap()[q - 1];
            let slope = 2.0 * a.dot(&squares) - 2.0 * q as f64 * s.dot(&b);
            let expected = (&a - &(slope / (2.0 * largest))).mapv(|v| v.clamp(-1.0, 1.0));
            problem.update(&mut a, &b, 0).unwrap();
            prop_assert!(close(&a, &expected, 1e-9));
        }
    }

    #[test]
    fn classes_are_found_without_pairs() {
        let ([x, y], class) = two_modalities(5, 20, 0.3, 4);
        let ones = [1.0; 100];
        let sides: [(ArrayView2<f32>, &[u32], &[f32]); 2] = [
            (x.view(), &class, &ones),
            (y.slice(ndarray::s![..90, ..]), &class[..90], &ones[..90]),
        ];
        let views = Views::unpaired(&sides).unwrap();
        for bits in [16, 128] {
            let run = || {
                Gsph::new()
                    .bits(bits)
                    .fit(&views, 1, &Monitor::silent())
                    .unwrap()
            };
            let (one, two) = in_one_and_two_threads(run);
            assert_eq!(one, two);
            assert_eq!(one.learned[1].codes.n(), 90);
            let share = found(&one.model, &[x.clone(), y.clone()], &class);
            assert!(share > 0.9, "{bits} bits: {share}");
            // The encoder gives most of what it was to imitate.
            let learned = as_signs(&one.learned[0].codes);
            let scores = one.model.encoders[0].scores(x.view()).unwrap();
            let right = (&learned * &scores.mapv(f64::from))
                .iter()
                .filter(|v| **v > 0.0)
                .count();
            assert!(right > 90 * bits, "{right} of {}", 100 * bits);
        }
    }

    #[test]
    fn weight_zero_is_absence() {
        let ([x, y], class) = two_modalities(3, 8, 0.3, 4);
        let weight: Vec<f32> = (0..24).map(|i| f32::from(u8::from(i % 4 > 0))).collect();
        let rows: Vec<usize> = (0..24).filter(|i| i % 4 > 0).collect();
        let part = |x: &Array2<f32>| x.select(ndarray::Axis(0), &rows);
        let classes: Vec<u32> = rows.iter().map(|&i| class[i]).collect();
        let fit = |x: &Array2<f32>, y: &Array2<f32>, class: &[u32], weight: &[f32]| {
            let views = Views::paired(&[x.view(), y.view()], class, weight).unwrap();
            Gsph::new()
                .bits(8)
                .fit(&views, 1, &Monitor::silent())
                .unwrap()
        };
        let all = fit(&x, &y, &class, &weight);
        let few = fit(&part(&x), &part(&y), &classes, &[1.0; 18]);
        assert_eq!(all.model, few.model);
        assert_eq!(all.learned[0].rows, rows);
    }

    #[test]
    fn degenerate_classes_and_parameters() {
        let ([x, y], class) = two_modalities(2, 3, 0.4, 5);
        let fit = |gsph: Gsph, class: &[u32], weight: &[f32]| {
            let views = Views::paired(&[x.view(), y.view()], class, weight).unwrap();
            gsph.fit(&views, 0, &Monitor::silent())
        };
        for class in [&class, &vec![0; 6], &(0..6).collect()] {
            let one = fit(Gsph::new().bits(8), class, &[1.0; 6]).unwrap();
            assert!(one.model.encode(0, x.view()).is_ok());
        }
        assert!(fit(Gsph::new(), &class, &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]).is_ok());
        assert!(fit(Gsph::new(), &class, &[0.0; 6]).is_err());
        assert!(fit(Gsph::new().bits(0), &class, &[1.0; 6]).is_err());
        let kernel = Gsph::new().kernel(KernelLogistic::new().anchors(0));
        let message = fit(kernel, &class, &[1.0; 6]).unwrap_err().to_string();
        assert!(message.starts_with("gsph.kernel.anchors = 0"), "{message}");
    }

    #[test]
    fn parameters_are_read() {
        let json = r#"{"bits":32,"kernel":{"anchors":50}}"#;
        let expected = Gsph::new()
            .bits(32)
            .kernel(KernelLogistic::new().anchors(50));
        assert_eq!(serde_json::from_str::<Gsph>(json).unwrap(), expected);
    }
}
