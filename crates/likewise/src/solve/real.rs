//! The numbers that solvers work with.

use std::ops::{Add, Mul, Sub};

/// `f32` or `f64`.
pub trait Real:
    Copy
    + Default
    + Send
    + Sync
    + Into<f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
{
    /// The nearest number of this type.
    fn of(value: f64) -> Self;
}

impl Real for f32 {
    #[inline]
    fn of(value: f64) -> Self {
        value as f32
    }
}

impl Real for f64 {
    #[inline]
    fn of(value: f64) -> Self {
        value
    }
}
