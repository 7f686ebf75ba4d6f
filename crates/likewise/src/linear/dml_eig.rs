//! Distance metric learning by eigenvalues: the nearest unlike pair as far apart as can be.
//!
//! ```text
//! maximise  min over unlike pairs of d_M^2     with  sum w d_M^2 <= 1 over alike pairs
//!
//! u = S^(-1/2) (x_a - x_b)       S = sum w (x_a - x_b)(x_a - x_b)^T over alike pairs, shrunk
//! maximise  f(E) = -mu ln sum w exp(-u^T E u / mu)        with  tr E = 1,  M = S^(-1/2) E S^(-1/2)
//! E = I/d, then for t = 1, 2, ...
//!     G = sum p u u^T       p ~ w exp(-u^T E u / mu), of sum 1
//!     E = (1 - a) E + a z z^T       z: the first eigenvector of G,  a = 2/(t + 1)
//! ```
//!
//! `f` is the smallest distance but for `mu ln(number of pairs)`; `mu` is `smoothing` times the
//! mean distance at the start. The steps are those of Frank and Wolfe.
//!
//! **Use it** where every unlike pair must be told apart: few pairs, all right. **Not** with wrong
//! pairs or classes that overlap, as the one worst pair decides all; there
//! [`Gmml`](super::Gmml) and [`Itml`](super::Itml) weigh all pairs.
//!
//! Cost: O(m d^2 + d^3) once, and O(m d + pairs + d^2 + c d) a step, for `m` rows in pairs of which
//! `c` are in pairs that count at `mu`, times some 30 for the eigenvector; memory O(m d + d^2).
//!
//! Source: Ying and Li, "Distance metric learning with eigenvalue optimization", JMLR 2012,
//! algorithm 1. Ours: weights, `mu` by scale (printed is 1e-4 whatever the features are), the
//! shrinkage, without which few alike pairs leave `S` singular, the eigenvector by Lanczos'
//! method, and that all `u^T E u` follow the steps in place of being computed anew. The library
//! pyDML gives `E` for the metric, not `M`.

use ndarray::{Array1, Array2, ArrayView2};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::constraints::{Constraints, Link, mass, squared_distances};
use super::spd::{self, check_shrinkage, shrink, symmetrize, usual_shrinkage};
use crate::learn::{Evidence, Fit, Need, Size};
use crate::matrix::{check_finite, product_of_many};
use crate::model::Model;
use crate::{Error, Monitor, Pairs, Result, parallel, seed};

/// Share of the largest part of a pair in the gradient below which it is left out.
const PART: f64 = 1e-12;
/// Most steps of Lanczos' method.
const LANCZOS: usize = 30;
/// Links of one task.
const TASK: usize = 1024;

/// Parameters of distance metric learning by eigenvalues; see [`dml_eig`](self).
///
/// ```
/// use likewise::{Monitor, Pairs, linear::DmlEig};
/// let x = ndarray::array![[0.0, 0.0], [3.0, 0.1], [0.1, 1.0], [3.1, 1.2_f32]];
/// let mut pairs = Pairs::default();
/// for (a, b, alike) in [(0, 1, true), (2, 3, true), (0, 2, false), (1, 3, false)] {
///     pairs.push(a, b, alike, 1.0);
/// }
/// let m = DmlEig::new().fit_pairs(x.view(), &pairs, &Monitor::silent())?;
/// // Alike pairs differ in the first column, so it counts less.
/// assert!(m[(0, 0)] < m[(1, 1)]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DmlEig {
    smoothing: f64,
    steps: usize,
    tolerance: f64,
    shrinkage: Option<f64>,
}

impl Default for DmlEig {
    fn default() -> Self {
        Self {
            smoothing: 1e-3,
            steps: 1000,
            tolerance: 1e-5,
            shrinkage: None,
        }
    }
}

impl DmlEig {
    /// Smoothing 1e-3, at most 1000 steps, and a shrinkage of a tenth where there are fewer than
    /// two alike pairs a dimension, else next to none.
    pub fn new() -> Self {
        Self::default()
    }

    /// How much farther than the nearest a pair may be, beside the mean, to count; above 0.
    #[must_use]
    pub fn smoothing(mut self, smoothing: f64) -> Self {
        self.smoothing = smoothing;
        self
    }

    /// Most steps, at least 1.
    #[must_use]
    pub fn steps(mut self, steps: usize) -> Self {
        self.steps = steps;
        self
    }

    /// Largest change of an entry of `E` at which it stops, above 0.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Share of the mean variance of alike pairs in every direction's, from 0 to 1.
    #[must_use]
    pub fn shrinkage(mut self, shrinkage: f64) -> Self {
        self.shrinkage = Some(shrinkage);
        self
    }

    /// The metric `M` (`d x d`), of which alike pairs have distances of sum 1 (of the shrunk
    /// scatter), from rows (`n x d`) and pairs of them.
    ///
    /// Fails on NaN, on parameters out of range, on pairs that do not [fit](Pairs::check) the rows,
    /// without alike and unlike pairs of different rows, and when cancelled.
    pub fn fit_pairs(
        &self,
        x: ArrayView2<f32>,
        pairs: &Pairs,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        self.validate()?;
        check_finite(x, "metric learning by eigenvalues")?;
        self.learn(&Constraints::of(x, pairs, monitor)?, None, monitor)
    }

    /// Checks every parameter.
    pub fn validate(&self) -> Result<()> {
        for (field, value) in [
            ("dml_eig.smoothing", self.smoothing),
            ("dml_eig.tolerance", self.tolerance),
        ] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::parameter(field, value, "must be finite and above 0"));
            }
        }
        if self.steps == 0 {
            return Err(Error::parameter("dml_eig.steps", 0, "must be at least 1"));
        }
        check_shrinkage("dml_eig.shrinkage", self.shrinkage)
    }

    /// With `mu` as given, or by scale.
    fn learn(
        &self,
        constraints: &Constraints,
        mu: Option<f64>,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        constraints.need("metric learning by eigenvalues", true, true)?;
        let d = constraints.d();
        let mut alike = constraints.alike_scatter();
        let usual = || usual_shrinkage(mass(&constraints.alike), d);
        shrink(&mut alike, self.shrinkage.unwrap_or_else(usual));
        let root = spd::power(&alike, -0.5)?;
        let rows = product_of_many(&constraints.rows, &root);
        let links = &constraints.unlike;
        let mut values = squared_distances(&rows, links);
        for value in &mut values {
            *value /= d as f64;
        }
        let weighted = links.iter().zip(&values).map(|(link, v)| link.weight * v);
        let mean = weighted.sum::<f64>() / mass(links);
        let mu = mu.unwrap_or(self.smoothing * mean);
        let mut metric = Array2::<f64>::eye(d) / d as f64;
        monitor.start("metric by eigenvalues", self.steps as u64);
        for step in 1..=self.steps {
            let active = Active::of(&rows, links, &values, mu);
            let z = first_direction(d, |q| active.times(q))?;
            let share = 2.0 / (step as f64 + 1.0);
            let scores = rows.dot(&z);
            let chunks = links.chunks(TASK).zip(values.chunks_mut(TASK));
            parallel::each(chunks, |(links, values)| {
                for (link, value) in links.iter().zip(values) {
                    let score = scores[link.a as usize] - scores[link.b as usize];
                    *value = (1.0 - share) * *value + share * score * score;
                }
            });
            let mut change = 0.0_f64;
            for ((i, j), m) in metric.indexed_iter_mut() {
                let by = share * (z[i] * z[j] - *m);
                change = change.max(by.abs());
                *m += by;
            }
            monitor.step(step as u64)?;
            if change < self.tolerance {
                break;
            }
        }
        monitor.end();
        let mut learned = product_of_many(&product_of_many(&root, &metric), &root);
        symmetrize(&mut learned);
        Ok(learned)
    }
}

impl Fit for DmlEig {
    fn needs(&self) -> &'static [Need] {
        &[Need::Compared, Need::Alike]
    }

    fn gives_distance(&self) -> bool {
        true
    }

    /// Every step looks for an eigenvector by some thirty products.
    fn operations(&self, of: &Size) -> f64 {
        let (m, d) = (of.labeled.min(2.0 * of.pairs()), of.columns);
        let step = 60.0 * (m * d + d * d) + 200.0 * of.pairs();
        self.steps as f64 * step + 30.0 * d.powi(3)
    }

    fn validate(&self) -> Result<()> {
        DmlEig::validate(self)
    }

    fn fit(&self, evidence: &Evidence, seed: u64, monitor: &Monitor) -> Result<Model> {
        evidence.metric_of_pairs(seed, monitor, |x, pairs| self.fit_pairs(x, pairs, monitor))
    }
}

/// The differences of the unlike pairs that have a part in the gradient, times the roots of their
/// parts.
struct Active {
    differences: Array2<f64>,
}

impl Active {
    fn of(rows: &Array2<f64>, links: &[Link], values: &[f64], mu: f64) -> Self {
        // Distances are taken from the least one, so that one exponential at least is 1.
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let part = |(link, value): (&Link, &f64)| link.weight * ((least - value) / mu).exp();
        let parts: Vec<f64> = links.iter().zip(values).map(part).collect();
        let largest = parts.iter().copied().fold(0.0, f64::max);
        let sum: f64 = parts.iter().sum();
        let kept: Vec<usize> = (0..links.len())
            .filter(|&e| parts[e] > PART * largest)
            .collect();
        let mut differences = Array2::zeros((kept.len(), rows.ncols()));
        for (&e, mut out) in kept.iter().zip(differences.rows_mut()) {
            let root = (parts[e] / sum).sqrt();
            let both = rows.row(links[e].a as usize).into_iter();
            let both = both.zip(rows.row(links[e].b as usize));
            for (out, (a, b)) in out.iter_mut().zip(both) {
                *out = root * (a - b);
            }
        }
        Self { differences }
    }

    /// `G q`.
    fn times(&self, q: &Array1<f64>) -> Array1<f64> {
        let mut out = Array1::zeros(q.len());
        for row in self.differences.rows() {
            out.scaled_add(row.dot(q), &row);
        }
        out
    }
}

/// The unit eigenvector of the largest eigenvalue of a matrix that is known by its products: by
/// Lanczos' method, with all vectors held at right angles.
fn first_direction(d: usize, times: impl Fn(&Array1<f64>) -> Array1<f64>) -> Result<Array1<f64>> {
    let mut rng = seed::stream(0, "start of Lanczos' method");
    let start = times(&Array1::from_shape_fn(d, |_| rng.random_range(-1.0..1.0)));
    let Some(start) = unit(start) else {
        // A matrix of zeros: every direction is the first.
        return Ok(Array1::from_shape_fn(d, |j| f64::from(u8::from(j == 0))));
    };
    let mut basis = vec![start];
    let mut small = Array2::<f64>::zeros((LANCZOS, LANCZOS));
    loop {
        let last = basis.len() - 1;
        let mut next = times(&basis[last]);
        let size = next.dot(&next).sqrt();
        // Twice: once leaves what rounding adds.
        for round in 0..2 {
            for (p, q) in basis.iter().enumerate() {
                let along = q.dot(&next);
                next.scaled_add(-along, q);
                if round == 0 {
                    small[(p, last)] = along;
                }
            }
        }
        let left = next.dot(&next).sqrt();
        if left <= 1e-10 * size || basis.len() == LANCZOS.min(d) {
            break;
        }
        small[(last + 1, last)] = left;
        basis.push(next / left);
    }
    let k = basis.len();
    let eigen = spd::eigen(&small.slice(ndarray::s![..k, ..k]).to_owned())?;
    let weights = eigen.vectors.column(k - 1);
    let mut found = Array1::zeros(d);
    for (q, &weight) in basis.iter().zip(weights) {
        found.scaled_add(weight, q);
    }
    Ok(unit(found).unwrap_or_else(|| basis.swap_remove(0)))
}

fn unit(v: Array1<f64>) -> Option<Array1<f64>> {
    let length = v.dot(&v).sqrt();
    (length > 0.0 && length.is_finite()).then(|| v / length)
}

#[cfg(test)]
#[allow(clippy::unreadable_literal)] // Printed values.
mod tests {
    use super::*;
    use crate::linear::check_values::{iris, iris_pairs, relative_error};
    use crate::reference::in_one_and_two_threads;
    use proptest::prelude::*;

    fn constraints(x: &Array2<f64>, pairs: &Pairs) -> Constraints {
        Constraints::of(x.view(), pairs, &Monitor::silent()).unwrap()
    }

    /// The least distance of an unlike pair.
    fn least(m: &Array2<f64>, given: &Constraints) -> f64 {
        let square = |link: &Link| {
            let delta = &given.rows.row(link.a as usize) - &given.rows.row(link.b as usize);
            delta.dot(&m.dot(&delta))
        };
        given
            .unlike
            .iter()
            .map(square)
            .fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn the_check_values_of_irises() {
        let given = constraints(&iris().0, &iris_pairs());
        let start = spd::power(&given.alike_scatter(), -1.0).unwrap() / 4.0;
        assert!((least(&start, &given) - 0.0141348649934).abs() < 1e-9);
        // The path is one of ties: 1e-10 more in the scatter leads elsewhere, to much the same value.
        let learn = |steps: usize, mu: Option<f64>| {
            let dml = DmlEig::new().steps(steps).shrinkage(1e-8);
            least(&dml.learn(&given, mu, &Monitor::silent()).unwrap(), &given)
        };
        let found = learn(100, Some(1e-4));
        assert!((found / 0.0334690106502 - 1.0).abs() < 0.02, "{found}");
        // The best that is known.
        let end = learn(1000, None);
        assert!(end > 0.0348257 * 0.98, "{end}");
    }

    proptest! {
        #[test]
        fn the_first_direction_is_that_of_all_eigenvectors(
            n in 1_usize..8, d in 1_usize..25, number in any::<u64>(),
        ) {
            let mut rng = seed::stream(number, "directions");
            let x = Array2::from_shape_fn((n, d), |_| rng.random_range(-1.0..1.0));
            let gram = x.t().dot(&x);
            let z = first_direction(d, |q| gram.dot(q)).unwrap();
            prop_assert!((z.dot(&z) - 1.0).abs() < 1e-12);
            let largest = spd::eigen(&gram).unwrap().largest();
            prop_assert!(z.dot(&gram.dot(&z)) > largest * (1.0 - 1e-9));
        }

        #[test]
        fn equals_the_steps_as_they_are_written(
            d in 1_usize..6, steps in 1_usize..12, number in any::<u64>(),
        ) {
            let mut rng = seed::stream(number, "dml-eig");
            let x = Array2::from_shape_fn((10, d), |_| rng.random_range(-1.0..1.0));
            let mut pairs = Pairs::default();
            for p in 0..20_u32 {
                let b = (p % 10 + rng.random_range(1..10)) % 10;
                pairs.push(p % 10, b, p % 2 == 0, rng.random_range(1..4) as f32 / 2.0);
            }
            let given = constraints(&x, &pairs);
            let dml = DmlEig::new().smoothing(0.5).shrinkage(0.1);
            let dml = dml.steps(steps).tolerance(1e-12);
            let found = dml.learn(&given, None, &Monitor::silent()).unwrap();
            let mut alike = given.alike_scatter();
            shrink(&mut alike, 0.1);
            let root = spd::power(&alike, -0.5).unwrap();
            let u: Vec<Array1<f64>> = given.unlike.iter().map(|link| {
                root.dot(&(&given.rows.row(link.a as usize) - &given.rows.row(link.b as usize)))
            }).collect();
            let mut e = Array2::<f64>::eye(d) / d as f64;
            let both = u.iter().zip(&given.unlike);
            let mean = both.map(|(u, link)| link.weight * u.dot(&e.dot(u))).sum::<f64>();
            let mean = mean / mass(&given.unlike);
            for t in 1..=steps {
                let p: Vec<f64> = u.iter().zip(&given.unlike).map(|(u, link)| {
                    link.weight * (-u.dot(&e.dot(u)) / (0.5 * mean)).exp()
                }).collect();
                let mut g = Array2::<f64>::zeros((d, d));
                for (u, p) in u.iter().zip(&p) {
                    for ((i, j), g) in g.indexed_iter_mut() {
                        *g += p * u[i] * u[j];
                    }
                }
                let eigen = spd::eigen(&g).unwrap();
                let z = eigen.vectors.column(d - 1).to_owned();
                let a = 2.0 / (t as f64 + 1.0);
                let outer = Array2::from_shape_fn((d, d), |(i, j)| z[i] * z[j]);
                e = e * (1.0 - a) + outer * a;
            }
            prop_assert!(relative_error(&found, &root.dot(&e).dot(&root)) < 1e-5);
        }
    }

    #[test]
    fn weights_are_multiplicities_and_0_is_absence() {
        let (x, _) = iris();
        let (mut once, mut twice) = (Pairs::default(), Pairs::default());
        for (p, (a, b, alike, _)) in iris_pairs().iter().enumerate() {
            let weight = 1 + p % 2;
            once.push(a, b, alike, weight as f32);
            if (b + 1) % 150 != a {
                once.push(a, (b + 1) % 150, alike, 0.0);
            }
            for _ in 0..weight {
                twice.push(a, b, alike, 1.0);
            }
        }
        let learn = |pairs: &Pairs| {
            let dml = DmlEig::new().smoothing(0.1).steps(50).shrinkage(1e-6);
            dml.learn(&constraints(&x, pairs), None, &Monitor::silent())
                .unwrap()
        };
        assert!(relative_error(&learn(&once), &learn(&twice)) < 1e-6);
    }

    #[test]
    fn degenerate_inputs() {
        let mut rng = seed::stream(4, "dml-eig");
        let x = Array2::from_shape_fn((6, 40), |_| rng.random_range(-1.0_f32..1.0));
        let mut pairs = Pairs::default();
        let fit = |dml: DmlEig, pairs: &Pairs| dml.fit_pairs(x.view(), pairs, &Monitor::silent());
        let said = |dml: DmlEig, pairs: &Pairs| fit(dml, pairs).unwrap_err().to_string();
        pairs.push(0, 1, true, 1.0);
        assert!(said(DmlEig::new(), &pairs).contains("unlike pairs"));
        pairs.push(0, 1, false, 1.0);
        pairs.push(2, 3, false, 1.0);
        let (one, two) = in_one_and_two_threads(|| fit(DmlEig::new().steps(30), &pairs).unwrap());
        assert_eq!(one, two);
        assert!(spd::eigenvalues(&one).unwrap()[0] > -1e-12 * spd::eigen(&one).unwrap().largest());
        assert!(said(DmlEig::new().smoothing(0.0), &pairs).contains("dml_eig.smoothing"));
        assert!(said(DmlEig::new().steps(0), &pairs).contains("dml_eig.steps"));
        assert!(said(DmlEig::new().shrinkage(2.0), &pairs).contains("dml_eig.shrinkage"));
        let monitor = Monitor::silent();
        monitor.cancel();
        assert!(DmlEig::new().fit_pairs(x.view(), &pairs, &monitor).is_err());
    }
}
