//! Loops compiled for the vector instructions of the machine they run on.

/// Runs `work`, compiled for each level of vector instructions, on the best one there is. What
/// `work` calls must be inlined, or it is compiled for the lowest.
///
/// `pulp` called with a closure that only borrows inlines a wrapper of it that the compiler
/// may leave alone where it is large; here the closure itself is inlined.
#[inline]
pub(crate) fn vectorised<R>(work: impl FnMut() -> R) -> R {
    pulp::Arch::new().dispatch(Work(work))
}

struct Work<F>(F);

impl<R, F: FnMut() -> R> pulp::WithSimd for Work<F> {
    type Output = R;

    #[expect(
        clippy::inline_always,
        reason = "must be compiled with the features of its caller"
    )]
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(mut self, _: S) -> R {
        (self.0)()
    }
}
