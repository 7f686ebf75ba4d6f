//! Graphs of nearest rows, and systems of their Laplacians, column by column.

use std::sync::atomic::{AtomicBool, Ordering};

use ndarray::{Array2, ArrayView2, Axis};

use crate::distance::Metric;
use crate::neighbor::{Exact, Ivf, Neighbors};
use crate::{Error, Monitor, Result, parallel};

/// Most rows that are all compared with each other.
const EXACT_UP_TO: usize = 50_000;
/// Share of the true neighbours that is found among more.
const RECALL: f64 = 0.95;

/// The `k` nearest rows of each.
fn searched(rows: ArrayView2<f32>, k: usize, monitor: &Monitor) -> Result<Neighbors> {
    if rows.nrows() <= EXACT_UP_TO {
        let search = Exact::new().metric(Metric::Euclidean);
        return Ok(search.search(rows, k, monitor)?.0);
    }
    let search = Ivf::new().metric(Metric::Euclidean).recall(RECALL);
    Ok(search.search(rows, k, monitor)?.0)
}

/// A symmetric matrix of weights between objects, row by row.
pub(super) struct Links {
    starts: Vec<usize>,
    ends: Vec<u32>,
    weights: Vec<f64>,
}

impl Links {
    /// Between each row and its `k` nearest ones, whichever of the two lists the other; `weight`
    /// says what a squared distance weighs, given the mean of all that are listed. `object` says
    /// which of `n` objects a row shows.
    pub(super) fn nearest(
        x: &Array2<f64>,
        k: usize,
        (object, n): (&[usize], usize),
        weight: impl Fn(f64, f64) -> f64,
        monitor: &Monitor,
    ) -> Result<Self> {
        let k = k.min(x.nrows().saturating_sub(1));
        let mut arcs = Vec::new();
        if k > 0 {
            let rows = x.mapv(|v| v as f32);
            let found = searched(rows.view(), k, &monitor.quiet())?;
            for (i, neighbors) in found.indices.axis_iter(Axis(0)).enumerate() {
                for &j in neighbors {
                    // From the rows themselves: equal rows are at 0 exactly.
                    let apart = &x.row(i) - &x.row(j as usize);
                    arcs.push((
                        object[i] as u32,
                        object[j as usize] as u32,
                        apart.dot(&apart),
                    ));
                }
            }
        }
        let mean = arcs.iter().map(|arc| arc.2).sum::<f64>() / arcs.len().max(1) as f64;
        let back: Vec<_> = arcs.iter().map(|&(a, b, apart)| (b, a, apart)).collect();
        arcs.extend(back);
        arcs.sort_unstable_by_key(|&(a, b, _)| (a, b));
        arcs.dedup_by_key(|&mut (a, b, _)| (a, b));
        let mut starts = vec![0; n + 1];
        for &(a, _, _) in &arcs {
            starts[a as usize + 1] += 1;
        }
        for i in 0..n {
            starts[i + 1] += starts[i];
        }
        Ok(Self {
            starts,
            ends: arcs.iter().map(|arc| arc.1).collect(),
            weights: arcs.iter().map(|arc| weight(arc.2, mean)).collect(),
        })
    }

    /// Divided by the roots of the degrees of both ends. A link of weight 0 stays so: all links of a
    /// row far from the others may be such, and it is alone then.
    pub(super) fn normalized(mut self) -> Self {
        let roots: Vec<f64> = self.degrees().iter().map(|d| d.sqrt()).collect();
        for i in 0..roots.len() {
            for e in self.starts[i]..self.starts[i + 1] {
                if self.weights[e] > 0.0 {
                    self.weights[e] /= roots[i] * roots[self.ends[e] as usize];
                }
            }
        }
        self
    }

    /// The sum of each row.
    pub(super) fn degrees(&self) -> Vec<f64> {
        let rows = self.starts.windows(2);
        rows.map(|w| self.weights[w[0]..w[1]].iter().sum())
            .collect()
    }

    /// `out -= factor W x`.
    pub(super) fn subtract(&self, factor: f64, x: &[f64], out: &mut [f64]) {
        for (i, out) in out.iter_mut().enumerate() {
            let row = self.starts[i]..self.starts[i + 1];
            let each = self.ends[row.clone()].iter().zip(&self.weights[row]);
            *out -= factor * each.map(|(&j, w)| w * x[j as usize]).sum::<f64>();
        }
    }
}

/// Most steps of conjugate gradients.
const STEPS: usize = 1000;

/// Systems that are solved by conjugate gradients. Says once if one of them is left unsolved.
pub(super) struct Solver {
    /// Share of a right side that a solution may leave.
    tolerance: f64,
    told: AtomicBool,
}

impl Solver {
    pub(super) fn new(tolerance: f64) -> Self {
        Self {
            tolerance,
            told: AtomicBool::new(false),
        }
    }

    /// Solves `M x = b` for each column of `b` on its own and from the same column of `start`;
    /// `apply(column, x, out)` writes `M x`, and `diagonal(column)` is that of M, by which it is
    /// divided. M must be positive definite.
    ///
    /// Fails where a solution is not finite, and when cancelled.
    pub(super) fn columns(
        &self,
        b: &Array2<f64>,
        start: &Array2<f64>,
        diagonal: impl Fn(usize) -> Vec<f64> + Sync,
        apply: impl Fn(usize, &[f64], &mut [f64]) + Sync,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        let columns = parallel::try_map(0..b.ncols(), |c| {
            monitor.check()?;
            let (b, start) = (b.column(c).to_vec(), start.column(c).to_vec());
            let apply = |x: &[f64], out: &mut [f64]| apply(c, x, out);
            let (x, left) = solve(&b, start, self.tolerance, &diagonal(c), apply);
            if left.is_finite() && x.iter().all(|v| v.is_finite()) {
                return Ok((x, left));
            }
            Err(Error::data(
                "what neighbours and features ask for together has no finite solution: the \
                 features are too large; scale them, or leave out rows far from all others",
            ))
        })?;
        let left = columns.iter().map(|column| column.1).fold(0.0, f64::max);
        if left > self.tolerance && !self.told.swap(true, Ordering::Relaxed) {
            monitor.warn(format!(
                "what neighbours and features ask for together is not solved exactly: {left:.0e} \
                 of it is left after {STEPS} steps, where {:.0e} is meant to be",
                self.tolerance
            ));
        }
        Ok(Array2::from_shape_fn(b.dim(), |(i, c)| columns[c].0[i]))
    }
}

/// The solution, and the share of the right side that it leaves.
fn solve(
    b: &[f64],
    mut x: Vec<f64>,
    tolerance: f64,
    diagonal: &[f64],
    apply: impl Fn(&[f64], &mut [f64]),
) -> (Vec<f64>, f64) {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let add = |to: &mut [f64], factor: f64, of: &[f64]| {
        for (to, of) in to.iter_mut().zip(of) {
            *to += factor * of;
        }
    };
    let divided = |r: &[f64]| -> Vec<f64> { r.iter().zip(diagonal).map(|(r, d)| r / d).collect() };
    let whole = dot(b, b);
    if whole <= 0.0 {
        return (vec![0.0; b.len()], 0.0);
    }
    let mut image = vec![0.0; b.len()];
    apply(&x, &mut image);
    let mut rest: Vec<f64> = b.iter().zip(&image).map(|(b, m)| b - m).collect();
    let enough = tolerance * tolerance * whole;
    let mut ready = divided(&rest);
    let mut direction = ready.clone();
    let mut slope = dot(&rest, &ready);
    for _ in 0..STEPS {
        if dot(&rest, &rest) <= enough {
            break;
        }
        apply(&direction, &mut image);
        let curvature = dot(&direction, &image);
        if curvature.is_nan() || curvature <= 0.0 {
            break;
        }
        let length = slope / curvature;
        add(&mut x, length, &direction);
        add(&mut rest, -length, &image);
        ready = divided(&rest);
        let next = dot(&rest, &ready);
        let keep = next / slope;
        slope = next;
        for (d, r) in direction.iter_mut().zip(&ready) {
            *d = r + keep * *d;
        }
    }
    let left = dot(&rest, &rest);
    // Of infinite squares none is beyond the other, though nothing is solved.
    if left <= enough && enough.is_finite() {
        return (x, 0.0);
    }
    (x, (left / whole).sqrt())
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use proptest::prelude::*;

    use super::super::parts::tests::{SplitMix, close};
    use super::*;

    fn dense(links: &Links) -> Array2<f64> {
        let n = links.starts.len() - 1;
        let mut all = Array2::zeros((n, n));
        for i in 0..n {
            for e in links.starts[i]..links.starts[i + 1] {
                all[(i, links.ends[e] as usize)] = links.weights[e];
            }
        }
        all
    }

    #[test]
    fn a_line_by_hand() {
        let x = array![[0.0], [1.0], [3.0]];
        // 0 and 1 list each other, 2 lists 1; object 1 has no row. The mean square is 2.
        let weight = |apart: f64, mean: f64| apart / mean;
        let object = ([0, 2, 3].as_slice(), 4);
        let links = Links::nearest(&x, 1, object, weight, &Monitor::silent()).unwrap();
        let mut expected = Array2::zeros((4, 4));
        for (i, j, w) in [(0, 2, 0.5), (2, 3, 2.0)] {
            expected[(i, j)] = w;
            expected[(j, i)] = w;
        }
        assert_eq!(dense(&links), expected);
        assert_eq!(links.degrees(), [0.5, 0.0, 2.5, 2.0]);
        let normalized = dense(&links.normalized());
        assert!((normalized[(0, 2)] - 0.5 / (0.5 * 2.5_f64).sqrt()).abs() < 1e-12);
        let alone = Links::nearest(&array![[1.0]], 5, (&[0], 1), weight, &Monitor::silent());
        assert_eq!(dense(&alone.unwrap()), array![[0.0]]);
    }

    #[test]
    fn a_row_far_from_all_others_is_alone() {
        let x = array![[0.0], [1.0], [2.0], [1e4]];
        let weight = |apart: f64, _: f64| (-apart).exp();
        let object = ([0, 1, 2, 3].as_slice(), 4);
        let links = Links::nearest(&x, 2, object, weight, &Monitor::silent()).unwrap();
        assert!(links.degrees()[3] <= 0.0);
        let all = dense(&links.normalized());
        assert!(all.iter().all(|w| w.is_finite()), "{all}");
        assert!(all[(0, 1)] > 0.0 && all.row(3).iter().all(|w| *w <= 0.0));
    }

    #[test]
    fn what_is_not_solved_is_said_once_and_what_is_not_finite_fails() {
        use std::sync::{Arc, atomic::AtomicUsize};
        // A line so long that a thousand steps do not get to its other end.
        let n = 2500;
        let x = Array2::from_shape_fn((n, 1), |(i, _)| i as f64);
        let object: Vec<usize> = (0..n).collect();
        let silent = Monitor::silent();
        let links = Links::nearest(&x, 2, (&object, n), |_, _| 1.0, &silent).unwrap();
        let degrees = links.degrees();
        let warned = Arc::new(AtomicUsize::new(0));
        let count = warned.clone();
        let monitor = silent.also(move |event| {
            if matches!(event, crate::Event::Warning(_)) {
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        let solver = Solver::new(1e-8);
        let find = |first: f64, shift: f64| {
            let mut b = Array2::zeros((n, 1));
            b[(0, 0)] = first;
            let diagonal = |_: usize| degrees.iter().map(|d| d + shift).collect::<Vec<f64>>();
            let apply = |c: usize, x: &[f64], out: &mut [f64]| {
                for ((out, x), d) in out.iter_mut().zip(x).zip(diagonal(c)) {
                    *out = d * x;
                }
                links.subtract(1.0, x, out);
            };
            let start = Array2::zeros((n, 1));
            solver.columns(&b, &start, diagonal, apply, &monitor)
        };
        assert!(find(1.0, 1.0).is_ok() && find(0.0, 1.0).is_ok());
        assert_eq!(warned.load(Ordering::Relaxed), 0);
        assert!(find(1.0, 1e-12).is_ok() && find(1.0, 1e-12).is_ok());
        assert_eq!(warned.load(Ordering::Relaxed), 1);
        for first in [f64::INFINITY, f64::NAN, 1e200] {
            let said = find(first, 1.0).unwrap_err().to_string();
            assert!(said.contains("too large"), "{said}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn systems_of_laplacians_are_solved(seed in 0_u64..999, n in 2_usize..40, k in 1_usize..6) {
            let mut rng = SplitMix(seed);
            let x = rng.bells((n, 2));
            let object: Vec<usize> = (0..n).collect();
            let links = Links::nearest(&x, k, (&object, n), |_, _| 1.0, &Monitor::silent()).unwrap();
            let w = dense(&links);
            prop_assert_eq!(&w, &w.t());
            prop_assert!(links.degrees().iter().all(|d| *d >= k.min(n - 1) as f64));
            let b = rng.bells((n, 3));
            let degrees = links.degrees();
            let shift = |c: usize| 0.1 + c as f64;
            let found = Solver::new(1e-12).columns(
                &b,
                &Array2::zeros(b.dim()),
                |c| degrees.iter().map(|d| d + shift(c)).collect(),
                |c, x, out| {
                    for ((out, x), d) in out.iter_mut().zip(x).zip(&degrees) {
                        *out = (d + shift(c)) * x;
                    }
                    links.subtract(1.0, x, out);
                },
                &Monitor::silent(),
            ).unwrap();
            for c in 0..3 {
                let mut m = -&w;
                for i in 0..n {
                    m[(i, i)] += degrees[i] + shift(c);
                }
                let image = m.dot(&found.slice(ndarray::s![.., c..=c]));
                prop_assert!(close(&image, &b.slice(ndarray::s![.., c..=c]).to_owned(), 1e-8));
            }
        }
    }
}
