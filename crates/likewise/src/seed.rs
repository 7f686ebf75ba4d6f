//! Seeds: every random step has its own stream, named after what it draws.

use rand::SeedableRng;
pub use rand_chacha::ChaCha8Rng as Rng;

/// A generator for one purpose of one run.
///
/// Streams of different names are independent, so adding a random step never
/// changes what another one draws. `ChaCha8` gives the same numbers on every
/// platform and in every release of its crate.
///
/// ```
/// use rand::RngExt;
/// let mut a = likewise::seed::stream(7, "label draw");
/// let mut b = likewise::seed::stream(7, "label draw");
/// assert_eq!(a.random::<u64>(), b.random::<u64>());
/// ```
pub fn stream(seed: u64, name: &str) -> Rng {
    // FNV-1a: a fixed, documented hash, unlike the standard library's.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in name.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let mut rng = Rng::seed_from_u64(seed);
    rng.set_stream(hash);
    rng
}
