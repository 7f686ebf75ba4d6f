//! Solvers for large sparse symmetric systems with several right-hand sides.

pub mod conjugate_gradient;
pub mod minres;
pub mod operator;

pub use conjugate_gradient::{ConjugateGradient, Solution};
pub use minres::MinRes;
pub use operator::{Lanes, Operator, Sparse};
