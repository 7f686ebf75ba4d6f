//! Solvers for large sparse symmetric systems with several right-hand sides.

mod columns;
pub mod conjugate_gradient;
pub mod minres;
pub mod operator;
mod vectorised;

pub use conjugate_gradient::{ConjugateGradient, Solution};
pub use minres::MinRes;
pub use operator::{Operator, Real, Sparse};
pub(crate) use vectorised::vectorised;
