//! The one matrix product, and registers left as the rest of the program needs them.

use faer::linalg::matmul;
use faer::traits::ComplexField;
use faer::{Accum, MatMut, MatRef, Par};

/// `out = scale a b`, or added to what is there, on this thread.
///
/// The kernels of the library are written in assembly for wide registers and leave their upper
/// halves in use. Code for narrow ones, which is all that is compiled for every machine, then
/// waits for these halves at each step: scalar loops after a product take up to 2.5 times as long
/// (AMD Zen 5; on Intel it is known as the transition penalty).
pub(crate) fn matmul<T: ComplexField>(
    out: MatMut<'_, T>,
    accum: Accum,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    scale: T,
) {
    matmul::matmul(out, accum, a, b, scale, Par::Seq);
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        simd.avx._mm256_zeroupper();
    }
}
