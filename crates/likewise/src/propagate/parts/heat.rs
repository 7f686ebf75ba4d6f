//! Some steps of the heat equation on a graph, with sources.
//!
//! `u <- u - dt (L u - s)`, with `L = D - W`, `dt` one over the largest degree (the longest step that
//! is stable), and `s` zero but on the labeled nodes. Sums over the rows of `u` stay what they are
//! where the sources of a node add up to 0. In `f32`: what it gives is decided, not solved.
//!
//! In place of `L` any operator may stand of which no row has more beside its diagonal than on it, such as that
//! with [negative edges](super::negative), `L + beta (D_S + S)`: by Gershgorin its eigenvalues are from 0 to
//! twice its largest diagonal value, so that `dt` is one over that.
//!
//! Cost: O(steps x entries x C), memory 12 bytes for each of `n x C`, of which 64 columns at a time.

use ndarray::{Array2, ArrayView2};

use crate::solve::{Operator, Sparse};
use crate::{Graph, Monitor, Result, parallel};

/// Columns that are carried together.
const WIDTH: usize = 8;
/// Rows that one task computes.
const ROWS: usize = 512;

/// The heat equation of a graph.
pub(crate) struct Heat<'a, T: Clone> {
    operator: Sparse<'a, T>,
    /// The step.
    dt: f32,
}

impl<'a> Heat<'a, f32> {
    pub(crate) fn of(graph: &'a Graph) -> Self {
        Self::by(Sparse::new(graph, graph.degrees(), graph.weights()))
    }
}

impl<'a, T: Copy + Into<f64> + Sync + Send> Heat<'a, T> {
    /// By an operator of which no row has more beside its diagonal than on it.
    pub(crate) fn by(operator: Sparse<'a, T>) -> Self {
        let most = operator.diagonal().iter().copied().fold(0.0, f64::max);
        Self {
            operator,
            dt: if most > 0.0 { most.recip() as f32 } else { 1.0 },
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
        let mut out = Array2::zeros((n, classes));
        for first in (0..classes).step_by(WIDTH) {
            let width = WIDTH.min(classes - first);
            let own = |i: usize| {
                std::array::from_fn(|c| if c < width { start(i, first + c) } else { 0.0 })
            };
            let mut u: Vec<[f32; WIDTH]> = parallel::map_rows(n, own);
            let mut change = vec![[0.0_f32; WIDTH]; n];
            for _ in 0..steps {
                monitor.check()?;
                parallel::each(change.chunks_mut(ROWS).enumerate(), |(chunk, change)| {
                    let rows = chunk * ROWS..chunk * ROWS + change.len();
                    self.operator.multiply(rows, &u, change);
                });
                let chunks = u.chunks_mut(ROWS).zip(change.chunks(ROWS));
                parallel::each(chunks, |(u, change)| {
                    let values = u.as_flattened_mut().iter_mut();
                    for (u, change) in values.zip(change.as_flattened()) {
                        *u -= self.dt * change;
                    }
                });
                for (place, &i) in rows.iter().enumerate() {
                    for (c, u) in u[i][..width].iter_mut().enumerate() {
                        *u += self.dt * sources[[place, first + c]] as f32;
                    }
                }
            }
            for (mut row, u) in out.rows_mut().into_iter().zip(&u) {
                for (c, u) in u[..width].iter().enumerate() {
                    row[first + c] = f64::from(*u);
                }
            }
        }
        Ok(out)
    }
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
            n in 1_usize..40, classes in 1_usize..20, steps in 0_usize..12, seed in 0_u64..1000,
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
            for (a, b) in found.unwrap().iter().zip(&u) {
                prop_assert!((a - b).abs() < 1e-4);
            }
        }
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
