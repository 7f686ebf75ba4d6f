//! Label-consistent matrix factorisation: rows, and labels, as products of one code an object.
//!
//! Objects with rows `x_t` and one-hot labels `l` get factors `v_t` and a common `v`:
//!
//! ```text
//! J = lambda sum_t |x_t - U_t v_t|^2 + lambda_l |l - U_l v|^2 + alpha sum_t |v - W_t v_t|^2
//!     + gamma (squares of all U, V, W)                         summed over objects
//! code = sign(v)
//! ```
//!
//! Each factor in turn takes the value that minimises `J`, until `J` falls by less than
//! `tolerance`. Encoders by [kernel logistic regression](super::klr) then imitate the codes.
//!
//! **Use it** for bits from labels where some objects lack a modality: the terms of what is not
//! there are left out. **Not** for unlabeled objects, which are left out.
//!
//! Cost: O(sweeps n q (d + q)) and the encoder; memory O(n (d + q + anchors)).
//!
//! Source: Mandal and Biswas, "Label consistent matrix factorization based hashing for cross-modal
//! retrieval", ICIP 2017. The published code adds `lambda / gamma` where the minimiser of `J` has
//! `gamma / lambda` ([`author_ridge`](Lcmf::author_ridge)): `J` may then rise and end the
//! descent early. Ours: weights, and objects without a row in some modality.

use ndarray::{Array2, Axis};
use serde::{Deserialize, Serialize};

use super::gsph::imitated;
use super::parts::{
    Side, check_bits, check_positive, scaled, signs, square, times, times_transposed, transposed,
    uniform,
};
use super::{Hashed, KernelLogistic, Views};
use crate::linear::spd::{Cholesky, cross};
use crate::{Error, Monitor, Result, seed};

/// Parameters of label-consistent matrix factorisation; see [`lcmf`](self).
///
/// ```
/// use likewise::{Monitor, cross::{Lcmf, Views}};
/// let x = ndarray::array![[0.0, 1.0], [0.1, 0.2], [2.0, 0.9], [2.1, 0.1_f32]];
/// let y = ndarray::array![[5.0], [5.1], [1.0], [1.2_f32]];
/// let views = Views::paired(&[x.view(), y.view()], &[0, 0, 1, 1], &[1.0; 4])?;
/// let found = Lcmf::new().bits(8).fit(&views, 7, &Monitor::silent())?;
/// // Both rows of an object have one code.
/// assert_eq!(found.learned[0].codes, found.learned[1].codes);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lcmf {
    bits: usize,
    lambda: f64,
    label: f64,
    alpha: f64,
    gamma: f64,
    max_sweeps: usize,
    tolerance: f64,
    author_ridge: bool,
    kernel: KernelLogistic,
}

impl Default for Lcmf {
    fn default() -> Self {
        Self {
            bits: 64,
            lambda: 1.0,
            label: 1.0,
            alpha: 0.1,
            gamma: 0.1,
            max_sweeps: 100,
            tolerance: 1e-6,
            author_ridge: false,
            kernel: KernelLogistic::default(),
        }
    }
}

impl Lcmf {
    /// 64 bits, 100 sweeps, 500 anchors, and the published weights of the terms.
    pub fn new() -> Self {
        Self::default()
    }

    /// As the published code computes it.
    pub fn paper() -> Self {
        Self::default().author_ridge(true)
    }

    /// Number of bits.
    #[must_use]
    pub fn bits(mut self, bits: usize) -> Self {
        self.bits = bits;
        self
    }

    /// `lambda`, the weight of the rows; above 0.
    #[must_use]
    pub fn lambda(mut self, lambda: f64) -> Self {
        self.lambda = lambda;
        self
    }

    /// `lambda_l`, the weight of the labels; above 0.
    #[must_use]
    pub fn label(mut self, label: f64) -> Self {
        self.label = label;
        self
    }

    /// `alpha`, the weight of the common factor; above 0.
    #[must_use]
    pub fn alpha(mut self, alpha: f64) -> Self {
        self.alpha = alpha;
        self
    }

    /// `gamma`, the weight of the squares; above 0.
    #[must_use]
    pub fn gamma(mut self, gamma: f64) -> Self {
        self.gamma = gamma;
        self
    }

    /// Most sweeps over the factors; reaching it is no error.
    #[must_use]
    pub fn max_sweeps(mut self, max_sweeps: usize) -> Self {
        self.max_sweeps = max_sweeps;
        self
    }

    /// The sweeps end when `J` falls by less than this share of it.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Whether `U` and `W` have the ridge of the published code.
    #[must_use]
    pub fn author_ridge(mut self, author_ridge: bool) -> Self {
        self.author_ridge = author_ridge;
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
        check_bits("lcmf.bits", self.bits)?;
        for (field, value) in [
            ("lcmf.lambda", self.lambda),
            ("lcmf.label", self.label),
            ("lcmf.alpha", self.alpha),
            ("lcmf.gamma", self.gamma),
            ("lcmf.tolerance", self.tolerance),
        ] {
            check_positive(field, value)?;
        }
        if self.max_sweeps == 0 {
            return Err(Error::parameter("lcmf.max_sweeps", 0, "must be at least 1"));
        }
        self.kernel.validate().map_err(|e| e.under("lcmf."))
    }

    /// Codes of the labeled rows of one or more modalities, and encoders of any rows.
    ///
    /// Fails on a parameter out of range, on a modality without labeled rows, on rows so large
    /// that their squares are not finite, and when cancelled.
    pub fn fit(&self, views: &Views, seed: u64, monitor: &Monitor) -> Result<Hashed> {
        self.validate()?;
        let (sides, classes) = Side::all(views)?;
        let mut problem = Problem::of(&sides, classes, *self);
        let mut factors = problem.start(&mut seed::stream(seed, "factors of lcmf"));
        problem.solve(&mut factors, monitor)?;
        let codes = signs(&factors.common);
        let codes: Vec<Array2<f64>> = (problem.parts.iter())
            .map(|part| codes.select(Axis(0), &part.object))
            .collect();
        imitated(&sides, &codes, self.kernel, seed, monitor)
    }
}

/// The rows of one modality.
struct Part {
    x: Array2<f64>,
    /// The place of each row's object among the labeled ones.
    object: Vec<usize>,
    weight: Vec<f64>,
}

struct Problem {
    parts: Vec<Part>,
    labels: Array2<f64>,
    weight: Vec<f64>,
    /// Objects by the modalities they are seen in, whose systems are the same.
    patterns: Vec<(usize, Vec<usize>)>,
    given: Lcmf,
}

/// What is solved for; an object or a row each, but for `u`, `u_label` (columns) and `w`.
struct Factors {
    v: Vec<Array2<f64>>,
    common: Array2<f64>,
    u: Vec<Array2<f64>>,
    u_label: Array2<f64>,
    w: Vec<Array2<f64>>,
}

impl Problem {
    fn of(sides: &[Side], classes: usize, given: Lcmf) -> Self {
        let mut objects: Vec<usize> = sides.iter().flat_map(|s| &s.object).copied().collect();
        objects.sort_unstable();
        objects.dedup();
        let place = |object: &usize| objects.partition_point(|o| o < object);
        let mut labels = Array2::zeros((objects.len(), classes));
        let mut weight = vec![0.0; objects.len()];
        let mut seen = vec![0; objects.len()];
        let mut parts = Vec::with_capacity(sides.len());
        for side in sides {
            let object: Vec<usize> = side.object.iter().map(place).collect();
            for ((&o, &class), &w) in object.iter().zip(&side.class).zip(&side.weight) {
                labels[(o, class)] = 1.0;
                weight[o] = w;
                seen[o] += 1;
            }
            parts.push(Part {
                x: side.x.clone(),
                object,
                weight: side.weight.clone(),
            });
        }
        let patterns = (1..=sides.len())
            .map(|times| {
                let objects = seen.iter().enumerate().filter(|(_, s)| **s == times);
                (times, objects.map(|(o, _)| o).collect::<Vec<_>>())
            })
            .filter(|(_, objects)| !objects.is_empty())
            .collect();
        Self {
            parts,
            labels,
            weight,
            patterns,
            given,
        }
    }

    fn start(&self, rng: &mut seed::Rng) -> Factors {
        let q = self.given.bits;
        let mut uniform = |rows: usize| uniform((rows, q), rng);
        Factors {
            v: self.parts.iter().map(|p| uniform(p.x.nrows())).collect(),
            common: uniform(self.labels.nrows()),
            u: self.parts.iter().map(|p| uniform(p.x.ncols())).collect(),
            u_label: uniform(self.labels.ncols()),
            w: self.parts.iter().map(|_| uniform(q)).collect(),
        }
    }

    fn solve(&mut self, f: &mut Factors, monitor: &Monitor) -> Result<Vec<f64>> {
        let mut history = vec![self.objective(f)];
        monitor.start("sweeps", self.given.max_sweeps as u64);
        for sweep in 0..self.given.max_sweeps {
            self.sweep(f)?;
            let (last, value) = (history[sweep], self.objective(f));
            history.push(value);
            monitor.step(sweep as u64 + 1)?;
            if last - value <= self.given.tolerance * last {
                break;
            }
        }
        monitor.end();
        Ok(history)
    }

    fn sweep(&self, f: &mut Factors) -> Result<()> {
        let Lcmf {
            lambda,
            label,
            alpha,
            gamma,
            ..
        } = self.given;
        let ridge = |of: f64| {
            if self.given.author_ridge {
                of / gamma
            } else {
                gamma / of
            }
        };
        for (t, part) in self.parts.iter().enumerate() {
            f.u[t] = regression(&part.x, &f.v[t], &part.weight, ridge(lambda))?;
        }
        f.u_label = regression(&self.labels, &f.common, &self.weight, ridge(label))?;
        for (t, part) in self.parts.iter().enumerate() {
            let (u, w) = (&f.u[t], &f.w[t]);
            let system = cross(u, u) * lambda + cross(w, w) * alpha;
            let common = f.common.select(Axis(0), &part.object);
            let right = times(&part.x, u) * lambda + times(&common, w) * alpha;
            f.v[t] = solved(system, gamma, right)?;
        }
        let mut right = times(&self.labels, &f.u_label) * label;
        for (t, part) in self.parts.iter().enumerate() {
            let pull = times_transposed(&f.v[t], &f.w[t]);
            for (&o, pull) in part.object.iter().zip(pull.rows()) {
                right.row_mut(o).scaled_add(alpha, &pull);
            }
        }
        let own = cross(&f.u_label, &f.u_label) * label;
        for (times, objects) in &self.patterns {
            let shift = gamma + alpha * *times as f64;
            let part = solved(own.clone(), shift, right.select(Axis(0), objects))?;
            for (&o, row) in objects.iter().zip(part.rows()) {
                f.common.row_mut(o).assign(&row);
            }
        }
        for (t, part) in self.parts.iter().enumerate() {
            let common = f.common.select(Axis(0), &part.object);
            f.w[t] = regression(&common, &f.v[t], &part.weight, ridge(alpha))?;
        }
        Ok(())
    }

    fn objective(&self, f: &Factors) -> f64 {
        let Lcmf {
            lambda,
            label,
            alpha,
            gamma,
            ..
        } = self.given;
        let weighed = |x: &Array2<f64>, weight: &[f64]| {
            let squares = x.rows().into_iter().zip(weight);
            squares.map(|(row, w)| w * row.dot(&row)).sum::<f64>()
        };
        let of_labels = &self.labels - &times_transposed(&f.common, &f.u_label);
        let mut sum = label * weighed(&of_labels, &self.weight)
            + gamma * (weighed(&f.common, &self.weight) + square(&f.u_label));
        for (t, part) in self.parts.iter().enumerate() {
            let of_rows = &part.x - &times_transposed(&f.v[t], &f.u[t]);
            let common = f.common.select(Axis(0), &part.object);
            let of_common = common - times_transposed(&f.v[t], &f.w[t]);
            sum += lambda * weighed(&of_rows, &part.weight)
                + alpha * weighed(&of_common, &part.weight)
                + gamma * (weighed(&f.v[t], &part.weight) + square(&f.u[t]) + square(&f.w[t]));
        }
        sum
    }
}

/// `X^T V (V^T V + ridge I)^-1`, rows by their weights.
pub(super) fn regression(
    x: &Array2<f64>,
    v: &Array2<f64>,
    weight: &[f64],
    ridge: f64,
) -> Result<Array2<f64>> {
    let weighed = scaled(v, weight);
    solved(cross(v, &weighed), ridge, cross(x, &weighed))
}

/// `B (A + shift I)^-1` of a symmetric `A` without negative eigenvalues.
pub(super) fn solved(mut a: Array2<f64>, shift: f64, b: Array2<f64>) -> Result<Array2<f64>> {
    a.diag_mut().mapv_inplace(|v| v + shift);
    let root = Cholesky::of_metric(&a, "the system of a factor", "scale the features down")?;
    Ok(transposed(
        &root.upper_solve(root.lower_solve(transposed(&b))),
    ))
}

#[cfg(test)]
mod tests {
    use ndarray::{ArrayView2, s};

    use super::super::check_values::{Rows, read};
    use super::super::parts::tests::{SplitMix, close, found, two_modalities};
    use super::*;
    use crate::reference::in_one_and_two_threads;

    fn one_hot() -> Array2<f64> {
        Array2::from_shape_fn((6, 3), |(i, c)| if i / 2 == c { 1.0 } else { 0.0 })
    }

    /// The published case: columns are objects there.
    fn published() -> (Problem, Factors) {
        let mut rng = SplitMix(5);
        let mut bells = |shape| transposed(&rng.bells(shape));
        let x = [bells((4, 6)), bells((3, 6))];
        let given = Lcmf::new().bits(2).max_sweeps(30).tolerance(1e-15);
        let parts = x.map(|x| Part {
            x,
            object: (0..6).collect(),
            weight: vec![1.0; 6],
        });
        let problem = Problem {
            parts: parts.into(),
            labels: one_hot(),
            weight: vec![1.0; 6],
            patterns: vec![(2, (0..6).collect())],
            given,
        };
        let mut turned = |shape| transposed(&rng.uniforms(shape));
        let v = vec![turned((2, 6)), turned((2, 6))];
        let common = turned((2, 6));
        let u = vec![rng.uniforms((4, 2)), rng.uniforms((3, 2))];
        let u_label = rng.uniforms((3, 2));
        let w = vec![rng.uniforms((2, 2)), rng.uniforms((2, 2))];
        (
            problem,
            Factors {
                v,
                common,
                u,
                u_label,
                w,
            },
        )
    }

    #[derive(Deserialize)]
    struct After {
        #[serde(rename = "U1")]
        u: Rows,
        #[serde(rename = "V1")]
        v: Rows,
        #[serde(rename = "V3")]
        common: Rows,
        #[serde(rename = "W1")]
        w: Rows,
    }

    #[derive(Deserialize)]
    struct Case {
        #[serde(rename = "X1")]
        x: Rows,
        #[serde(rename = "X3")]
        labels: Rows,
        after_1: After,
        objective: Vec<f64>,
    }

    fn case() -> Case {
        read(include_str!("check_values/lcmfh.json"))
    }

    #[test]
    fn published_values() {
        let case = case();
        let (mut problem, mut factors) = published();
        assert!(close(&problem.parts[0].x, &case.x.turned(), 1e-12));
        assert_eq!(problem.labels, case.labels.turned());
        let history = problem.solve(&mut factors, &Monitor::silent()).unwrap();
        assert_eq!(history.len(), case.objective.len());
        let mut each = history.iter().zip(&case.objective);
        assert!(each.all(|(a, b)| (a / b - 1.0).abs() < 1e-8), "{history:?}");
        let (problem, mut factors) = published();
        problem.sweep(&mut factors).unwrap();
        let after = case.after_1;
        assert!(close(&factors.u[0], &after.u.0, 1e-9), "{}", factors.u[0]);
        assert!(close(&factors.v[0], &after.v.turned(), 1e-9));
        assert!(close(&factors.common, &after.common.turned(), 1e-9));
        assert!(close(&factors.w[0], &after.w.0, 1e-9));
    }

    #[test]
    fn no_factor_can_do_better_alone() {
        let (problem, mut factors) = published();
        problem.sweep(&mut factors).unwrap();
        // The last factor of a sweep minimises J given the others.
        let reached = problem.objective(&factors);
        for k in 0..4 {
            for by in [-1e-4, 1e-4] {
                let at = (k / 2, k % 2);
                factors.w[1][at] += by;
                assert!(problem.objective(&factors) > reached);
                factors.w[1][at] -= by;
            }
        }
    }

    #[test]
    fn the_published_ridge_is_another_one() {
        let (mut problem, mut factors) = published();
        problem.given.author_ridge = true;
        problem.sweep(&mut factors).unwrap();
        assert!(problem.objective(&factors) > case().objective[1]);
    }

    #[test]
    fn classes_are_found_with_all_some_and_no_pairs() {
        let ([x, y], class) = two_modalities(5, 20, 0.3, 4);
        let ones = vec![1.0; 100];
        let paired = Views::paired(&[x.view(), y.view()], &class, &ones).unwrap();
        let sides: [(ArrayView2<f32>, &[u32], &[f32]); 2] =
            [(x.view(), &class, &ones), (y.view(), &class, &ones)];
        let apart = Views::unpaired(&sides).unwrap();
        let first: Vec<usize> = (0..100).filter(|i| i % 4 > 0).collect();
        let second: Vec<usize> = (0..100).filter(|i| i % 3 > 0).collect();
        let (xs, ys) = (x.select(Axis(0), &first), y.select(Axis(0), &second));
        let some = Views::new(&[xs.view(), ys.view()], vec![first, second], &class, &ones).unwrap();
        for (name, views) in [("all", &paired), ("some", &some), ("none", &apart)] {
            let run = || {
                Lcmf::new()
                    .bits(32)
                    .fit(views, 1, &Monitor::silent())
                    .unwrap()
            };
            let (one, two) = in_one_and_two_threads(run);
            assert_eq!(one, two);
            let share = found(&one.model, &[x.clone(), y.clone()], &class);
            assert!(share > 0.7, "{name}: {share}");
        }
    }

    #[test]
    fn weights_are_multiplicities() {
        let ([x, _], class) = two_modalities(3, 4, 0.3, 4);
        let weight: Vec<f64> = (0..12).map(|i| f64::from(1 + i % 3)).collect();
        let rows: Vec<usize> = (0..12).flat_map(|i| vec![i; 1 + i % 3]).collect();
        let side = |rows: &[usize], weight: Vec<f64>| Side {
            rows: rows.to_vec(),
            x: x.select(Axis(0), rows).mapv(f64::from),
            mean: ndarray::Array1::zeros(6),
            class: rows.iter().map(|&i| class[i] as usize).collect(),
            weight,
            object: (0..rows.len()).collect(),
        };
        let all: Vec<usize> = (0..12).collect();
        let given = Lcmf::new().bits(4).max_sweeps(5);
        let run = |side: Side, places: &[usize]| {
            let mut problem = Problem::of(&[side], 3, given);
            let whole = Problem::of(&[whole(&x, &class)], 3, given);
            let mut f = whole.start(&mut seed::stream(1, "test"));
            f.v[0] = f.v[0].select(Axis(0), places);
            f.common = f.common.select(Axis(0), places);
            problem.solve(&mut f, &Monitor::silent()).unwrap();
            f.u_label
        };
        let (a, b) = (
            run(side(&all, weight), &all),
            run(side(&rows, vec![1.0; rows.len()]), &rows),
        );
        assert!(close(&a, &b, 1e-8));
        assert!(a.slice(s![.., 0]).iter().all(|v| v.is_finite()));
    }

    fn whole(x: &Array2<f32>, class: &[u32]) -> Side {
        Side {
            rows: (0..12).collect(),
            x: x.mapv(f64::from),
            mean: ndarray::Array1::zeros(6),
            class: class.iter().map(|&c| c as usize).collect(),
            weight: vec![1.0; 12],
            object: (0..12).collect(),
        }
    }

    #[test]
    fn degenerate_classes_and_parameters() {
        let ([x, y], class) = two_modalities(2, 3, 0.4, 5);
        let fit = |lcmf: Lcmf, class: &[u32], weight: &[f32]| {
            let views = Views::paired(&[x.view(), y.view()], class, weight).unwrap();
            lcmf.bits(8).fit(&views, 0, &Monitor::silent())
        };
        for class in [&class, &vec![0; 6], &(0..6).collect()] {
            assert!(
                fit(Lcmf::new(), class, &[1.0; 6])
                    .unwrap()
                    .model
                    .encode(0, x.view())
                    .is_ok()
            );
        }
        assert!(fit(Lcmf::paper(), &class, &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]).is_ok());
        assert!(fit(Lcmf::new(), &class, &[0.0; 6]).is_err());
        assert!(fit(Lcmf::new().gamma(0.0), &class, &[1.0; 6]).is_err());
        assert!(fit(Lcmf::new().max_sweeps(0), &class, &[1.0; 6]).is_err());
    }
}
