//! Items on which a search tries its settings, and others on which it measures the result.

use rand::seq::index;

use crate::seed;

/// Items for each of the two.
pub(super) const SIZE: usize = 256;

/// Items for both, ascending; see [`split`].
pub(super) fn draw(n: usize, seed: u64) -> Vec<usize> {
    let mut rng = seed::stream(seed, "samples of a search");
    let mut drawn = index::sample(&mut rng, n, (2 * SIZE).min(n)).into_vec();
    drawn.sort_unstable();
    drawn
}

/// What belongs to the items that choose, and to those that measure: every other one.
pub(super) fn split<T>(drawn: Vec<T>) -> (Vec<T>, Vec<T>) {
    let (mut choose, mut measure) = (Vec::new(), Vec::new());
    for (p, value) in drawn.into_iter().enumerate() {
        if p % 2 == 0 {
            choose.push(value);
        } else {
            measure.push(value);
        }
    }
    (choose, measure)
}
