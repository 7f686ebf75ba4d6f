//! Solvers: large sparse symmetric systems with several right-hand sides, and smooth minima.

mod coarse;
pub(crate) mod columns;
pub mod conjugate_gradient;
mod exponential;
pub(crate) mod lbfgs;
pub mod minres;
pub mod operator;
mod ordered;
mod real;
mod vectorised;

use std::sync::OnceLock;

pub use coarse::Coarse;
pub use conjugate_gradient::{ConjugateGradient, Solution};
pub(crate) use exponential::exp_of_negative;
pub use minres::MinRes;
pub use operator::{Operator, Sparse};
pub use ordered::Ordered;
pub(crate) use ordered::solve_rows;
pub use real::Real;
pub(crate) use vectorised::vectorised;

/// Runs dense algebra on one thread: how it is cut into parts, and with that its last bits,
/// depends on how many there are. For matrices of some thousand rows at most.
pub(crate) fn on_one_thread<T: Send>(work: impl FnOnce() -> T + Send) -> crate::Result<T> {
    // One for all: some of the work takes less time than a thread to begin.
    static ONE: OnceLock<std::result::Result<rayon::ThreadPool, String>> = OnceLock::new();
    let begin = || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        pool.map_err(|e| e.to_string())
    };
    match ONE.get_or_init(begin) {
        Ok(pool) => Ok(pool.install(work)),
        Err(e) => {
            let message = format!("no thread for the algebra: {e}");
            Err(crate::Error::new(crate::ErrorKind::Internal, message))
        }
    }
}
