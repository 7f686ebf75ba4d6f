//! Diffusion on a graph: `(I - alpha S)^-1 B` with `S = D^-1/2 W D^-1/2`.
//!
//! What a random walk that stops with probability `1 - alpha` at each step leaves behind, up to
//! the scaling by degrees. The ranking method of Zhou et al. 2004, and the manifold
//! similarity of Iscen et al. 2017 where `B` holds one unit vector a query.
//!
//! Solved as `(D / alpha - W) H = D^1/2 B / alpha`, `X = D^1/2 H`. With the Jacobi
//! preconditioner these are, step for step, the plain conjugate gradients of the system as
//! it is written. An isolated node keeps its value.
//!
//! Cost: O(iterations x entries x C), memory O(n C).

use ndarray::Array2;

use super::parameter::fraction;
use crate::solve::{ConjugateGradient, Solution, Sparse};
use crate::{Error, Graph, Monitor, Result};

/// `(I - alpha S)^-1 B` (`n x C`), with `alpha` between 0 and 1.
///
/// Fails on parameters out of range, if `B` has not one row a node, and when cancelled.
///
/// ```
/// use likewise::propagate::parts::diffusion::diffuse;
/// use likewise::{Graph, Monitor, solve::ConjugateGradient};
/// let pair = Graph::new(vec![0, 1, 2], vec![1, 0], vec![3.0, 3.0])?;
/// let b = ndarray::array![[1.0], [0.0]];
/// let found = diffuse(&pair, 0.5, b, &ConjugateGradient::default(), &Monitor::silent())?;
/// assert!((found.x[[0, 0]] - 4.0 / 3.0).abs() < 1e-9);
/// assert!((found.x[[1, 0]] - 2.0 / 3.0).abs() < 1e-9);
/// # Ok::<(), likewise::Error>(())
/// ```
pub fn diffuse(
    graph: &Graph,
    alpha: f64,
    mut b: Array2<f64>,
    solver: &ConjugateGradient,
    monitor: &Monitor,
) -> Result<Solution> {
    fraction("alpha", alpha)?;
    if b.nrows() != graph.n() {
        return Err(Error::data(format!(
            "diffusion: {} rows, but the graph has {} nodes",
            b.nrows(),
            graph.n()
        )));
    }
    let degrees = graph.divisors();
    let diagonal = degrees.iter().map(|d| d / alpha).collect();
    let operator = Sparse::new(graph, diagonal, graph.weights());
    for (mut row, degree) in b.rows_mut().into_iter().zip(&degrees) {
        row *= degree.sqrt() / alpha;
    }
    let mut solution = solver.solve(&operator, b.view(), None, monitor)?;
    for (mut row, degree) in solution.x.rows_mut().into_iter().zip(&degrees) {
        row *= degree.sqrt();
    }
    Ok(solution)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn equals_the_dense_inverse(n in 1_usize..50, density in 0_usize..4, seed in 0_u64..1000) {
            let graph = reference::random_graph(n, density * n, seed);
            let w = reference::dense(&graph);
            let degree: Vec<f64> = w.rows().into_iter().map(|r| r.sum().max(1e-100)).collect();
            let m = Array2::from_shape_fn((n, n), |(i, j)| {
                f64::from(u8::from(i == j)) - 0.9 * w[[i, j]] / (degree[i] * degree[j]).sqrt()
            });
            let b = Array2::from_shape_fn((n, 3), |(i, c)| ((i * 7 + c * 3) % 5) as f64);
            let expected = reference::solve(&m, &b, &vec![true; n]);
            let solver = ConjugateGradient::default();
            let found = diffuse(&graph, 0.9, b, &solver, &Monitor::silent()).unwrap();
            for (a, b) in found.x.iter().zip(&expected) {
                prop_assert!((a - b).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn bad_input_is_refused() {
        let run = |alpha, rows| {
            let b = Array2::zeros((rows, 1));
            let solver = ConjugateGradient::default();
            diffuse(&reference::path(), alpha, b, &solver, &Monitor::silent())
        };
        assert!(
            run(1.0, 4)
                .unwrap_err()
                .to_string()
                .starts_with("alpha = 1")
        );
        assert!(run(0.5, 3).unwrap_err().to_string().contains("3 rows"));
        assert!(run(0.5, 4).unwrap().converged);
    }
}
