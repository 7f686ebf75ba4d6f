//! Some steps of the heat equation on a graph, with sources.
//!
//! ```text
//! u <- u - dt (L u - s),    L = D - W,  dt = 1 / max d
//! ```
//!
//! so many times, with the longest step that is stable; `s` is zero but on the labeled nodes. Sums over the
//! rows of `u` stay what they are where the sources of a node add up to 0. In `f32`: what it gives is
//! decided, not solved.
//!
//! **Fewer products for many steps.** `t` steps are polynomials of `P = I - dt L`, which act on the start and on
//! the sources:
//!
//! ```text
//! u_t = P^t u_0 + dt (1 + P + ... + P^(t-1)) s
//! ```
//!
//! On the interval of the eigenvalues of `L`, which end at `max_i (d_i + sum_j w_ij d_j / d_i)` at the latest,
//! both are sums of Chebyshev polynomials whose coefficients vanish beyond a degree of some
//! `sqrt(2 t ln(1/error))`, and of `t` in any case: 40 steps take about 22 products with `L`, and six steps
//! six, so that nothing is saved there. One recurrence sums up both
//! (Clenshaw's). Constants stay constants: the value at the eigenvalue 0 is exact.
//!
//! In place of `L` any operator may stand of which no row has more beside its diagonal than on it, such as that
//! with [negative edges](super::negative), `L + beta (D_S + S)`: its eigenvalues end at 0 and at the same bound, with
//! its diagonal for `d` and without signs, and `dt` is one over its largest diagonal value.
//!
//! Cost: O(min(steps, 5 sqrt(steps)) x entries x C), memory 12 bytes for each of `n x C`, of which 32
//! columns at a time, and what is given.
//!
//! Source: Clenshaw 1955; Sachdeva and Vishnoi 2014, "Faster algorithms via approximation theory", section 3
//! (the degree that powers need).

use std::f64::consts::PI;
use std::mem::swap;

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, Slice};

use crate::solve::columns::{ROWS, WIDTH, block, room, width};
use crate::solve::{Operator, Sparse, vectorised};
use crate::{Graph, Monitor, Result, parallel};

/// What the coefficients that are left out add up to at most, of the largest value: what `f32`
/// holds of the steps.
const ERROR: f64 = 1e-5;
/// Most points that the coefficients are found at: far beyond the degree of 10,000 steps.
const POINTS: usize = 1024;
/// Fewest columns of a block.
const FEWEST: usize = 8;
/// Rows whose product is kept until they are moved: few enough for the nearest memory.
const FEW: usize = 32;

/// The heat equation of a graph.
pub(crate) struct Heat<'a, T: Clone> {
    operator: Sparse<'a, T>,
    /// The step.
    dt: f64,
    /// No eigenvalue is larger.
    highest: f64,
}

/// Coefficients of the Chebyshev polynomials in `1 - 2 L / highest`, by degree.
struct Series {
    start: Vec<f32>,
    sources: Vec<f32>,
}

/// What a block of columns begins with.
struct Begin<'a> {
    /// Of a node and a column of the block.
    start: &'a (dyn Fn(usize, usize) -> f32 + Sync),
    rows: &'a [usize],
    /// `rows x columns`.
    sources: ArrayView2<'a, f64>,
}

/// Memory of a block, used by one after the other.
struct Space([Vec<f32>; 3]);

impl<'a> Heat<'a, f32> {
    pub(crate) fn of(graph: &'a Graph) -> Self {
        Self::by(Sparse::new(graph, graph.degrees(), graph.weights()))
    }
}

impl<'a, T: Copy + Into<f64> + Sync + Send> Heat<'a, T> {
    /// By an operator of which no row has more beside its diagonal than on it.
    pub(crate) fn by(operator: Sparse<'a, T>) -> Self {
        debug_assert!(is_dominant(&operator), "more beside a diagonal than on it");
        let most = operator.diagonal().iter().copied().fold(0.0, f64::max);
        let highest = operator.reach().into_iter().fold(0.0, f64::max);
        Self {
            operator,
            dt: if most > 0.0 { most.recip() } else { 1.0 },
            highest,
        }
    }

    /// `u` (`n x C`), which is `start(i, c)` at first, after so many steps; `sources` (`rows x C`) are
    /// those of the nodes `rows`.
    pub(crate) fn run(
        &self,
        (n, classes): (usize, usize),
        start: impl Fn(usize, usize) -> f32 + Sync,
        (rows, sources): (&[usize], ArrayView2<f64>),
        steps: usize,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        let series = self.series(steps);
        let mut out = Array2::zeros((n, classes));
        let size = room(n, width(classes).max(FEWEST));
        let mut space = Space(std::array::from_fn(|_| vec![0.0; size]));
        for first in (0..classes).step_by(WIDTH) {
            let span = Slice::from(first..classes.min(first + WIDTH));
            let begin = Begin {
                start: &|i, c| start(i, first + c),
                rows,
                sources: sources.slice_axis(Axis(1), span),
            };
            let out = out.slice_axis_mut(Axis(1), span);
            match width(out.ncols()) {
                WIDTH => self.sum::<WIDTH>(&series, &begin, &mut space, out, monitor)?,
                16 => self.sum::<16>(&series, &begin, &mut space, out, monitor)?,
                _ => self.sum::<FEWEST>(&series, &begin, &mut space, out, monitor)?,
            }
        }
        Ok(out)
    }

    /// The coefficients of so many steps.
    fn series(&self, steps: usize) -> Series {
        let t = steps as f64;
        let stays = |loss: f64| (1.0 - loss).powi(steps as i32);
        let adds = |loss: f64| {
            if loss <= 0.0 {
                t
            } else if loss < 0.5 {
                // 1 - (1 - loss)^t, to the last digit.
                -(t * (-loss).ln_1p()).exp_m1() / loss
            } else {
                (1.0 - stays(loss)) / loss
            }
        };
        let points = (steps + 1).min(POINTS);
        let scale = self.dt * self.highest / 2.0;
        let at = |f: &dyn Fn(f64) -> f64| coefficients(points, &|x| f(scale * (1.0 - x)));
        let (start, sources) = (at(&stays), at(&adds));
        let degree = degree(&start, 1.0).max(degree(&sources, t));
        let cut = |mut of: Vec<f64>, whole: f64, unit: f64| -> Vec<f32> {
            of.truncate(degree + 1);
            // All polynomials are 1 at the eigenvalue 0.
            of[0] += whole - of.iter().sum::<f64>();
            of.into_iter().map(|c| (c * unit) as f32).collect()
        };
        Series {
            start: cut(start, 1.0, 1.0),
            sources: cut(sources, t, self.dt),
        }
    }

    /// The sum of the series over a block of columns.
    fn sum<const W: usize>(
        &self,
        series: &Series,
        begin: &Begin,
        space: &mut Space,
        mut out: ArrayViewMut2<f64>,
        monitor: &Monitor,
    ) -> Result<()> {
        let n = out.nrows();
        let [start, now, before] = &mut space.0;
        let start = block::<_, W>(start, n);
        let (mut now, mut before) = (block::<_, W>(now, n), block::<_, W>(before, n));
        let columns = out.ncols();
        parallel::each(start.chunks_mut(ROWS).enumerate(), |(chunk, start)| {
            for (i, row) in (chunk * ROWS..).zip(start) {
                for (c, value) in row[..columns].iter_mut().enumerate() {
                    *value = (begin.start)(i, c);
                }
            }
        });
        let add = |to: &mut [[f32; W]], share: f32| {
            for (&i, sources) in begin.rows.iter().zip(begin.sources.rows()) {
                for (to, &source) in to[i].iter_mut().zip(sources) {
                    *to += share * source as f32;
                }
            }
        };
        let rate = if self.highest > 0.0 {
            (2.0 / self.highest) as f32
        } else {
            0.0
        };
        for degree in (0..series.start.len()).rev() {
            monitor.check()?;
            let last = series.start.len() - 1 == degree;
            let times = if degree == 0 { 1.0 } else { 2.0 };
            let factors = [series.start[degree], times, times * rate];
            self.step((!last).then_some(&*now), before, start, factors);
            add(before, series.sources[degree]);
            swap(&mut now, &mut before);
        }
        let chunks = out.axis_chunks_iter_mut(Axis(0), ROWS);
        parallel::each(chunks.zip(now.chunks(ROWS)), |(mut out, now)| {
            for (mut out, now) in out.rows_mut().into_iter().zip(now) {
                for (out, &now) in out.iter_mut().zip(now) {
                    *out = f64::from(now);
                }
            }
        });
        Ok(())
    }

    /// `to <- a start + b now - c L now - to`, where `now` is not zero everywhere.
    fn step<const W: usize>(
        &self,
        now: Option<&[[f32; W]]>,
        to: &mut [[f32; W]],
        start: &[[f32; W]],
        factors: [f32; 3],
    ) {
        let chunks = to.chunks_mut(ROWS).zip(start.chunks(ROWS)).enumerate();
        parallel::each(chunks, |(chunk, (to, start))| {
            let mut product = [[0.0; W]; FEW];
            let mut at = chunk * ROWS;
            for (to, start) in to.chunks_mut(FEW).zip(start.chunks(FEW)) {
                let rows = at..at + to.len();
                at = rows.end;
                let product = &mut product[..to.len()];
                let own = match now {
                    Some(now) => {
                        self.operator.multiply(rows.clone(), now, product);
                        &now[rows]
                    }
                    None => &*product,
                };
                move_rows(to, start, own, product, factors);
            }
        });
    }
}

/// Whether no row has more beside its diagonal than on it, but for rounding.
fn is_dominant<T: Copy + Into<f64> + Sync + Send>(operator: &Sparse<T>) -> bool {
    let mut rows = operator.diagonal().iter().zip(operator.beside());
    rows.all(|(own, beside)| beside <= own * (1.0 + 1e-6))
}

/// `to <- a start + b now - c product - to`.
fn move_rows<const W: usize>(
    to: &mut [[f32; W]],
    start: &[[f32; W]],
    now: &[[f32; W]],
    product: &[[f32; W]],
    [a, b, c]: [f32; 3],
) {
    // Without rows: with them, compilers gather what lies side by side.
    let to = to.as_flattened_mut();
    let (start, now, product) = (
        start.as_flattened(),
        now.as_flattened(),
        product.as_flattened(),
    );
    vectorised(
        #[inline(always)]
        || {
            let values = to.iter_mut().zip(start).zip(now).zip(product);
            for (((to, start), now), product) in values {
                *to = a * start + b * now - c * product - *to;
            }
        },
    );
}

/// Coefficients of the Chebyshev polynomials up to the degree `points - 1` that add up to `f` at as many
/// points.
fn coefficients(points: usize, f: &dyn Fn(f64) -> f64) -> Vec<f64> {
    let angle = |j: usize| PI * (j as f64 + 0.5) / points as f64;
    let values: Vec<f64> = (0..points).map(|j| f(angle(j).cos())).collect();
    let of = |k: usize| {
        let terms = values.iter().enumerate();
        let sum: f64 = terms.map(|(j, v)| v * (k as f64 * angle(j)).cos()).sum();
        sum * if k == 0 { 1.0 } else { 2.0 } / points as f64
    };
    (0..points).map(of).collect()
}

/// The least degree beyond which the coefficients add up to at most [`ERROR`] of `whole`.
fn degree(coefficients: &[f64], whole: f64) -> usize {
    let mut rest = 0.0;
    let mut degree = coefficients.len() - 1;
    while degree > 0 {
        rest += coefficients[degree].abs();
        if rest > ERROR * whole {
            break;
        }
        degree -= 1;
    }
    degree
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{self, in_one_and_two_threads};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn equals_dense_steps(
            n in 1_usize..30, classes in 1_usize..40, steps in 0_usize..60, seed in 0_u64..1000,
        ) {
            let graph = reference::random_graph(n, 3 * n, seed);
            let w = reference::dense(&graph);
            let degree: Vec<f64> = w.rows().into_iter().map(|row| row.sum()).collect();
            let dt = degree.iter().copied().fold(0.0, f64::max);
            let dt = if dt > 0.0 { dt.recip() } else { 1.0 };
            let start = |i: usize, c: usize| f32::from(u8::from(i % classes == c));
            let rows = vec![n / 2];
            let sources = Array2::from_shape_fn((1, classes), |(_, c)| c as f64 / 7.0 - 0.3);
            let mut u = Array2::from_shape_fn((n, classes), |(i, c)| f64::from(start(i, c)));
            for _ in 0..steps {
                let mut next = u.clone();
                for i in 0..n {
                    for c in 0..classes {
                        let flow: f64 = (0..n).map(|j| w[[i, j]] * (u[[i, c]] - u[[j, c]])).sum();
                        let source = if i == rows[0] { sources[[0, c]] } else { 0.0 };
                        next[[i, c]] = u[[i, c]] - dt * (flow - source);
                    }
                }
                u = next;
            }
            let of = (rows.as_slice(), sources.view());
            let found = Heat::of(&graph).run((n, classes), start, of, steps, &Monitor::silent());
            // What is left out is a share of the largest value that a step may lead to.
            let most = 1.0 + dt * steps as f64 * sources.iter().fold(0.0_f64, |m, s| m.max(s.abs()));
            for (a, b) in found.unwrap().iter().zip(&u) {
                prop_assert!((a - b).abs() < 5e-5 * most, "{a} for {b}");
            }
        }
    }

    #[test]
    fn forty_steps_take_half_as_many_products_and_constants_stay() {
        let graph = reference::random_graph(400, 2000, 5);
        let heat = Heat::of(&graph);
        assert!(heat.highest <= 2.0 / heat.dt);
        for (steps, most) in [(0, 0), (1, 1), (6, 6), (40, 26), (1000, 140)] {
            let degree = heat.series(steps).start.len() - 1;
            assert!(degree <= most, "{degree} products for {steps} steps");
            // Nothing is saved on a few steps.
            assert!(steps > 6 || degree == steps, "{degree} for {steps}");
        }
        let of: (&[usize], _) = (&[], ArrayView2::from_shape((0, 3), &[]).unwrap());
        let found = heat.run((400, 3), |_, c| c as f32, of, 40, &Monitor::silent());
        for ((_, c), u) in found.unwrap().indexed_iter() {
            assert!((u - c as f64).abs() < 1e-5, "{u} for {c}");
        }
    }

    #[test]
    fn what_is_dominated_by_its_diagonal_is_known() {
        let graph = reference::random_graph(60, 200, 5);
        let with = |share: f64, sign: f64| {
            let diagonal = graph.degrees().iter().map(|d| d * share).collect();
            let weights: Vec<f64> = graph
                .weights()
                .iter()
                .map(|&w| sign * f64::from(w))
                .collect();
            is_dominant(&Sparse::new(&graph, diagonal, weights))
        };
        assert!(with(1.0, 1.0) && with(1.5, 1.0) && with(1.0, -1.0));
        assert!(!with(0.99, 1.0) && !with(0.99, -1.0));
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bytes() {
        let graph = reference::random_graph(1500, 6000, 4);
        let sources = Array2::from_elem((1, 11), 0.5);
        let run = || {
            let start = |i: usize, c: usize| f32::from(u8::from(i % 11 == c));
            let of: (&[usize], _) = (&[3], sources.view());
            Heat::of(&graph)
                .run((1500, 11), start, of, 9, &Monitor::silent())
                .unwrap()
        };
        let (one, two) = in_one_and_two_threads(run);
        assert_eq!(one, two);
    }
}
