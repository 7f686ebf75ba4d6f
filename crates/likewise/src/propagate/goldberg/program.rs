//! The quadratic program, and its solver.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus, ZeroConeT,
};

use crate::propagate::parts::known::Known;
use crate::{Error, ErrorKind, Result};

/// The solver is in this build.
#[expect(clippy::unnecessary_wraps, reason = "it is not in every build")]
pub(super) fn is_built() -> Result<()> {
    Ok(())
}

/// The scores, row by row, with the slacks after them, and the iterations.
pub(super) fn solve(
    known: &Known,
    edges: &[(u32, u32, f64)],
    gamma: f64,
    beta: f64,
) -> Result<(Vec<f64>, usize)> {
    Program::new(known, edges, gamma, beta).solve()
}

/// A sparse matrix in the making: rows, columns, values.
#[derive(Default)]
struct Triplets(Vec<usize>, Vec<usize>, Vec<f64>);

impl Triplets {
    fn push(&mut self, row: usize, column: usize, value: f64) {
        self.0.push(row);
        self.1.push(column);
        self.2.push(value);
    }

    fn matrix(self, rows: usize, columns: usize) -> CscMatrix<f64> {
        CscMatrix::new_from_triplets(rows, columns, self.0, self.1, self.2)
    }
}

/// `min x'Px/2 + q'x` with `Ax + s = b`: the first `equalities` rows have `s = 0`, the others
/// `s >= 0`. Unknowns: the scores, row by row, then the slacks, edge by edge.
struct Program {
    quadratic: CscMatrix<f64>,
    linear: Vec<f64>,
    rows: CscMatrix<f64>,
    bounds: Vec<f64>,
    equalities: usize,
    beta: f64,
}

impl Program {
    fn new(known: &Known, edges: &[(u32, u32, f64)], gamma: f64, beta: f64) -> Self {
        let (graph, classes) = (known.graph, known.n_classes());
        let n = graph.n();
        let unknowns = (n + edges.len()) * classes;
        let mut quadratic = Triplets::default();
        let mut linear = vec![0.0; unknowns];
        for (i, d) in known.diagonal(gamma).into_iter().enumerate() {
            for c in 0..classes {
                // The upper half is enough; a part without labels gets a unit matrix.
                let reached = known.reached(i);
                quadratic.push(
                    i * classes + c,
                    i * classes + c,
                    if reached { d } else { 1.0 },
                );
                let (columns, weights) = graph.row(i);
                let later = columns.iter().zip(weights);
                for (&j, &w) in later.filter(|&(&j, _)| reached && j as usize > i) {
                    let column = j as usize * classes + c;
                    quadratic.push(i * classes + c, column, -f64::from(w));
                }
            }
            if let Some(class) = known.label[i] {
                linear[i * classes + class] = -gamma;
            }
        }
        let mut rows = Triplets::default();
        let mut bounds = vec![1.0; n];
        for i in 0..n {
            for c in 0..classes {
                rows.push(i, i * classes + c, 1.0);
            }
        }
        for (e, &(i, j, s)) in edges.iter().enumerate() {
            for c in 0..classes {
                let slack = (n + e) * classes + c;
                linear[slack] = beta * s;
                let row = bounds.len();
                rows.push(row, i as usize * classes + c, 1.0);
                rows.push(row, j as usize * classes + c, 1.0);
                rows.push(row, slack, -1.0);
                rows.push(row + 1, slack, -1.0);
                bounds.extend([1.0, 0.0]);
            }
        }
        Self {
            quadratic: quadratic.matrix(unknowns, unknowns),
            linear,
            rows: rows.matrix(bounds.len(), unknowns),
            bounds,
            equalities: n,
            beta,
        }
    }

    fn solve(&self) -> Result<(Vec<f64>, usize)> {
        let failed = |what: String| {
            let message = format!(
                "goldberg: the quadratic program with beta = {} was not solved ({what}); parameters of \
                 ordinary size (beta, the weights of edges) make it solvable",
                self.beta
            );
            Error::new(ErrorKind::Internal, message)
        };
        let cones = [
            ZeroConeT(self.equalities),
            NonnegativeConeT(self.bounds.len() - self.equalities),
        ];
        let settings = DefaultSettings {
            verbose: false,
            ..DefaultSettings::default()
        };
        let (p, a) = (&self.quadratic, &self.rows);
        let mut solver = DefaultSolver::new(p, &self.linear, a, &self.bounds, &cones, settings)
            .map_err(|e| failed(e.to_string()))?;
        solver.solve();
        match solver.solution.status {
            SolverStatus::Solved | SolverStatus::AlmostSolved => {
                let iterations = solver.solution.iterations as usize;
                Ok((std::mem::take(&mut solver.solution.x), iterations))
            }
            status => Err(failed(format!("{status:?}"))),
        }
    }
}
