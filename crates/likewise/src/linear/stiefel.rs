//! Riemannian conjugate gradients over matrices with orthonormal columns.
//!
//! Minimises a smooth `f(L)` over the Stiefel manifold, `L` (`d x l`) with `L^T L = I`:
//!
//! ```text
//! grad = G - L sym(L^T G)                     G = df/dL, sym(A) = (A + A^T) / 2
//! d    = -grad + beta P(d)                    beta = max(0, <grad, y> / <y, P(d)>), y = grad - P(grad before)
//! L    = R(L, a d)                            a by backtracking from the last step
//! ```
//!
//! `P` projects onto the tangent space at the new point, and the retraction `R` leads back
//! to the manifold.
//!
//! **Use it** for a map that must not collapse: an orthonormal one cannot send all items to
//! one point. **Not** where the map should weigh directions: it only chooses them.
//!
//! Cost: O(d l²) an evaluation beside that of `f`; memory some 8 d l.
//!
//! Source: Absil, Mahony and Sepulchre, "Optimization algorithms on matrix manifolds", 2008;
//! step rule and stops as in Manopt (Boumal et al. 2014), but that a search without success
//! is tried once more along the gradient, with a fresh step, before it ends the run. The Cayley transform as Wen and
//! Yin 2013, along any tangent direction.

use faer::Mat;
use faer::linalg::solvers::Solve;
use ndarray::{Array2, Axis, concatenate};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::solve::on_one_thread;
use crate::{Error, Result, seed};

/// Share of the decrease that the slope promises that a step must give.
const SUFFICIENT: f64 = 0.5;
/// Most points that one line search tries.
const TRIES: usize = 10;
/// Shortest step that still counts as one.
const SHORTEST: f64 = 1e-10;

/// How a step leads from a point to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Geometry {
    /// Orthonormal columns, by the QR decomposition of `L + X`: the cheapest.
    #[default]
    Qr,
    /// Orthonormal columns, by the polar decomposition: the nearest orthonormal matrix.
    Polar,
    /// Orthonormal columns, by the Cayley transform: no decomposition of a `d x l` matrix.
    Cayley,
    /// No constraint: plain conjugate gradients, to see what the constraint is worth.
    Flat,
}

/// A function over matrices.
pub trait Objective {
    /// `f(L)`.
    fn cost(&mut self, l: &Array2<f64>) -> Result<f64>;

    /// `df/dL` (`d x l`), as if the entries were free.
    fn gradient(&mut self, l: &Array2<f64>) -> Result<Array2<f64>>;
}

/// Parameters of the minimisation.
///
/// ```
/// use likewise::linear::{Objective, Stiefel, stiefel};
/// use ndarray::{Array2, array};
/// /// The direction of the largest variance maximises `tr(L^T A L)`.
/// struct Variance(Array2<f64>);
/// impl Objective for Variance {
///     fn cost(&mut self, l: &Array2<f64>) -> likewise::Result<f64> {
///         Ok(-l.t().dot(&self.0).dot(l).diag().sum())
///     }
///     fn gradient(&mut self, l: &Array2<f64>) -> likewise::Result<Array2<f64>> {
///         Ok(self.0.dot(l) * -2.0)
///     }
/// }
/// let mut f = Variance(array![[2.0, 1.0], [1.0, 2.0]]);
/// let found = Stiefel::new().max_iterations(100).minimize(stiefel::random(2, 1, 7)?, None, &mut f)?;
/// assert!((found.cost + 3.0).abs() < 1e-9);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stiefel {
    geometry: Geometry,
    max_iterations: usize,
    tolerance: f64,
}

impl Default for Stiefel {
    fn default() -> Self {
        Self {
            geometry: Geometry::Qr,
            max_iterations: 10,
            tolerance: 1e-6,
        }
    }
}

/// Where a minimisation ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Minimum {
    /// The matrix.
    pub l: Array2<f64>,
    /// `f` there; never above `f` at the start.
    pub cost: f64,
    /// Length of the Riemannian gradient there.
    pub gradient: f64,
    /// Steps taken.
    pub iterations: usize,
    /// The first step to try in a search that goes on from here.
    pub step: Option<f64>,
}

/// A matrix (`d x l`) with random orthonormal columns.
///
/// Fails unless `l` is from 1 to `d`.
pub fn random(d: usize, l: usize, seed: u64) -> Result<Array2<f64>> {
    if l == 0 || l > d {
        let rule = format!("must be from 1 to the number of dimensions, {d}");
        return Err(Error::parameter("dimensions", l, &rule));
    }
    let mut rng = seed::stream(seed, "orthonormal matrix");
    // Sums of uniform numbers: near enough to Gaussian, whose span has no preferred direction.
    let gaussian = Array2::from_shape_fn((d, l), |_| {
        (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
    });
    on_one_thread(|| orthonormal(&gaussian))
}

impl Stiefel {
    /// QR retraction, 10 iterations.
    pub fn new() -> Self {
        Self::default()
    }

    /// How a step leads from a point to the next.
    #[must_use]
    pub fn geometry(mut self, geometry: Geometry) -> Self {
        self.geometry = geometry;
        self
    }

    /// Most iterations.
    #[must_use]
    pub fn max_iterations(mut self, max_iterations: usize) -> Self {
        self.max_iterations = max_iterations;
        self
    }

    /// Length of the gradient at which to stop.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Minimises `f` from `start`, first trying a step of `step` times the direction (absent:
    /// one of length 1).
    ///
    /// Fails if `start` has not orthonormal columns (unless the geometry is flat), holds NaN
    /// or infinity, or has a cost that is not finite, and with the objective.
    pub fn minimize(
        &self,
        start: Array2<f64>,
        step: Option<f64>,
        f: &mut impl Objective,
    ) -> Result<Minimum> {
        let off = departure(&start);
        if !(off < 1e-4 || self.geometry == Geometry::Flat && start.iter().all(|v| v.is_finite())) {
            return Err(Error::data(format!(
                "the start is {:?} and |L^T L - I| is {off:.1e}; its columns must be orthonormal",
                start.dim()
            )));
        }
        let cost = f.cost(&start)?;
        if !cost.is_finite() {
            return Err(Error::data(format!(
                "the cost of the start is {cost}; it must be finite"
            )));
        }
        let mut at = Minimum {
            l: start,
            cost,
            gradient: 0.0,
            iterations: 0,
            step,
        };
        let mut gradient = self.project(&at.l, f.gradient(&at.l)?);
        at.gradient = inner(&gradient, &gradient).sqrt();
        let mut direction = -&gradient;
        let mut steepest = at.step.is_none();
        while at.iterations < self.max_iterations && at.gradient >= self.tolerance {
            let mut slope = inner(&gradient, &direction);
            if slope >= 0.0 {
                direction = -&gradient;
                slope = -at.gradient * at.gradient;
            }
            at.iterations += 1;
            let moved = self.search(&mut at, &direction, slope, f)?;
            if moved < SHORTEST {
                if steepest {
                    break;
                }
                // A remembered step or direction may mislead; the gradient alone does not.
                direction = -&gradient;
                at.step = None;
                steepest = true;
                continue;
            }
            steepest = false;
            let before = self.project(&at.l, gradient);
            direction = self.project(&at.l, direction);
            gradient = self.project(&at.l, f.gradient(&at.l)?);
            at.gradient = inner(&gradient, &gradient).sqrt();
            let y = &gradient - &before;
            let along = inner(&y, &direction);
            let beta = if along == 0.0 {
                0.0
            } else {
                (inner(&gradient, &y) / along).max(0.0)
            };
            direction = &direction * beta - &gradient;
        }
        Ok(at)
    }

    /// Backtracks along `direction`; gives the length of the step.
    fn search(
        &self,
        at: &mut Minimum,
        direction: &Array2<f64>,
        slope: f64,
        f: &mut impl Objective,
    ) -> Result<f64> {
        let length = inner(direction, direction).sqrt();
        let mut a = at.step.unwrap_or(1.0 / length);
        for tries in 1..=TRIES {
            let next = direction * a;
            let l = on_one_thread(|| self.retract(&at.l, &next))?;
            let cost = f.cost(&l)?;
            // NaN is no decrease.
            let enough = cost <= at.cost + SUFFICIENT * a * slope;
            if enough || (tries == TRIES && cost <= at.cost) {
                at.step = Some(if tries == 2 { a } else { 2.0 * a });
                at.l = l;
                at.cost = cost;
                return Ok(a * length);
            }
            a *= 0.5;
        }
        at.step = None;
        Ok(0.0)
    }

    /// The tangent part of `x` at `l`.
    fn project(&self, l: &Array2<f64>, x: Array2<f64>) -> Array2<f64> {
        if self.geometry == Geometry::Flat {
            return x;
        }
        let inside = l.t().dot(&x);
        let symmetric = (&inside + &inside.t()) * 0.5;
        x - l.dot(&symmetric)
    }

    /// The point that the tangent step `x` from `l` leads to.
    fn retract(&self, l: &Array2<f64>, x: &Array2<f64>) -> Array2<f64> {
        let next = match self.geometry {
            Geometry::Flat => return l + x,
            Geometry::Qr => return orthonormal(&(l + x)),
            Geometry::Polar => polar(&(l + x)),
            Geometry::Cayley => cayley(l, x),
        };
        // Rounding adds up over steps.
        if departure(&next) > 1e-10 {
            orthonormal(&next)
        } else {
            next
        }
    }
}

/// `tr(A^T B)`.
fn inner(a: &Array2<f64>, b: &Array2<f64>) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `|L^T L - I|`, NaN if `l` holds NaN.
fn departure(l: &Array2<f64>) -> f64 {
    let gram = l.t().dot(l) - Array2::<f64>::eye(l.ncols());
    inner(&gram, &gram).sqrt()
}

fn to_faer(x: &Array2<f64>) -> Mat<f64> {
    Mat::from_fn(x.nrows(), x.ncols(), |i, j| x[[i, j]])
}

/// The factor `Q` of the QR decomposition whose `R` has a positive diagonal.
fn orthonormal(x: &Array2<f64>) -> Array2<f64> {
    let qr = to_faer(x).qr();
    let (q, r) = (qr.compute_thin_Q(), qr.thin_R());
    Array2::from_shape_fn(x.dim(), |(i, j)| {
        if r[(j, j)] < 0.0 {
            -q[(i, j)]
        } else {
            q[(i, j)]
        }
    })
}

/// The nearest matrix with orthonormal columns, `U V^T` of the thin decomposition; that of QR
/// where the singular values are not found.
fn polar(x: &Array2<f64>) -> Array2<f64> {
    match to_faer(x).thin_svd() {
        Ok(svd) => {
            let nearest = svd.U() * svd.V().transpose();
            Array2::from_shape_fn(x.dim(), |(i, j)| nearest[(i, j)])
        }
        Err(_) => orthonormal(x),
    }
}

/// `(I - W/2)^-1 (I + W/2) L` with `W = (P X) L^T - L (P X)^T` and `P = I - L L^T / 2`, by a
/// system of `2 l` rows.
fn cayley(l: &Array2<f64>, x: &Array2<f64>) -> Array2<f64> {
    let p = x - &(l.dot(&l.t().dot(x)) * 0.5);
    let u = concatenate![Axis(1), p, *l];
    let v = concatenate![Axis(1), *l, -p];
    let system = Array2::<f64>::eye(u.ncols()) - v.t().dot(&u) * 0.5;
    let solved = to_faer(&system)
        .partial_piv_lu()
        .solve(&to_faer(&v.t().dot(l)));
    let solved = Array2::from_shape_fn((u.ncols(), l.ncols()), |(i, j)| solved[(i, j)]);
    l + &u.dot(&solved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CURVED: [Geometry; 3] = [Geometry::Qr, Geometry::Polar, Geometry::Cayley];

    fn uniform(d: usize, l: usize, seed: u64) -> Array2<f64> {
        let mut rng = seed::stream(seed, "test matrix");
        Array2::from_shape_fn((d, l), |_| rng.random::<f64>() - 0.5)
    }

    fn tangent(l: &Array2<f64>, seed: u64) -> Array2<f64> {
        Stiefel::new().project(l, uniform(l.nrows(), l.ncols(), seed))
    }

    /// `-tr(L^T A L N)`: its minimum has the leading eigenvectors in order.
    struct Brockett {
        a: Array2<f64>,
        n: Array2<f64>,
    }

    impl Brockett {
        fn new(d: usize, l: usize, seed: u64) -> Self {
            let x = uniform(d, d, seed);
            let n = Array2::from_diag(&ndarray::Array1::from_shape_fn(l, |j| (l - j) as f64));
            Self { a: &x + &x.t(), n }
        }
    }

    impl Objective for Brockett {
        fn cost(&mut self, l: &Array2<f64>) -> Result<f64> {
            Ok(-l.t().dot(&self.a).dot(l).dot(&self.n).diag().sum())
        }
        fn gradient(&mut self, l: &Array2<f64>) -> Result<Array2<f64>> {
            Ok(self.a.dot(l).dot(&self.n) * -2.0)
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn tangents_and_retractions_are_what_they_say(
            d in 1_usize..12, l in 1_usize..12, seed in 0_u64..1000,
        ) {
            let l = random(d, l.min(d), seed).unwrap();
            prop_assert!(departure(&l) < 1e-12);
            let x = tangent(&l, seed);
            let skew = l.t().dot(&x) + x.t().dot(&l);
            prop_assert!(skew.iter().all(|v| v.abs() < 1e-12));
            for geometry in CURVED {
                let stiefel = Stiefel::new().geometry(geometry);
                let next = stiefel.retract(&l, &x);
                prop_assert!(departure(&next) < 1e-9, "{geometry:?}");
                // R(L, t X) = L + t X + O(t²).
                let t = 1e-5;
                let near = stiefel.retract(&l, &(&x * t));
                for ((near, l), x) in near.iter().zip(&l).zip(&x) {
                    prop_assert!((near - l - t * x).abs() < 1e-8, "{geometry:?}");
                }
            }
        }

        #[test]
        fn the_minimum_is_the_leading_eigenvectors(
            d in 2_usize..9, l in 1_usize..4, seed in 0_u64..200,
        ) {
            // Square ones come in two parts that no path joins: rotations and reflections.
            let l = l.min(d - 1);
            let mut f = Brockett::new(d, l, seed);
            let values = to_faer(&f.a).self_adjoint_eigenvalues(faer::Side::Lower).unwrap();
            let best: f64 = (0..l).map(|j| values[d - 1 - j] * f.n[[j, j]]).sum();
            for geometry in CURVED {
                let solver = Stiefel::new().geometry(geometry).max_iterations(2000);
                let found = solver.minimize(random(d, l, seed).unwrap(), None, &mut f).unwrap();
                prop_assert!(departure(&found.l) < 1e-9);
                prop_assert!((found.cost + best).abs() < 1e-5, "{} {best}", found.cost);
            }
        }
    }

    #[test]
    fn the_cayley_transform_equals_its_dense_form() {
        let l = random(6, 2, 3).unwrap();
        let x = tangent(&l, 4);
        let p = &x - &(l.dot(&l.t().dot(&x)) * 0.5);
        let w = p.dot(&l.t()) - l.dot(&p.t());
        let identity = Array2::<f64>::eye(6);
        let right = (&identity + &(&w * 0.5)).dot(&l);
        let solved = to_faer(&(&identity - &(&w * 0.5)))
            .partial_piv_lu()
            .solve(&to_faer(&right));
        for ((i, j), value) in cayley(&l, &x).indexed_iter() {
            assert!((value - solved[(i, j)]).abs() < 1e-12);
        }
    }

    #[test]
    fn the_cost_never_rises_and_without_constraint_columns_grow() {
        let mut f = Brockett::new(5, 2, 9);
        let start = random(5, 2, 1).unwrap();
        let mut cost = f.cost(&start).unwrap();
        let mut warm = (start.clone(), None);
        for _ in 0..8 {
            let found = Stiefel::new()
                .max_iterations(2)
                .minimize(warm.0, warm.1, &mut f)
                .unwrap();
            assert!(found.cost <= cost && found.iterations <= 2);
            cost = found.cost;
            warm = (found.l, found.step);
        }
        let flat = Stiefel::new().geometry(Geometry::Flat);
        let found = flat.minimize(start, None, &mut f).unwrap();
        let longest = found.l.map_axis(Axis(0), |c| c.dot(&c)).into_iter();
        assert!(longest.fold(0.0_f64, f64::max) > 2.0 && found.cost.is_finite());
    }

    struct Constant;
    impl Objective for Constant {
        fn cost(&mut self, _: &Array2<f64>) -> Result<f64> {
            Ok(1.0)
        }
        fn gradient(&mut self, l: &Array2<f64>) -> Result<Array2<f64>> {
            Ok(l * 0.0)
        }
    }

    #[test]
    fn bad_input_is_refused() {
        assert!(random(3, 0, 1).is_err() && random(3, 4, 1).is_err());
        let mut f = Brockett::new(3, 2, 1);
        let slanted = Array2::ones((3, 2));
        let error = Stiefel::new().minimize(slanted.clone(), None, &mut f);
        assert!(error.unwrap_err().to_string().contains("orthonormal"));
        let flat = Stiefel::new().geometry(Geometry::Flat);
        assert!(flat.minimize(slanted * f64::NAN, None, &mut f).is_err());
        // Where nothing falls, nothing moves.
        let start = random(3, 2, 1).unwrap();
        let found = Stiefel::new().minimize(start.clone(), None, &mut Constant);
        let found = found.unwrap();
        assert!(found.l == start && found.iterations == 0);
    }
}
