//! Nearest neighbours of all rows by Euclidean distance, as learners with a graph take them.

use ndarray::ArrayView2;

use crate::distance::Metric;
use crate::neighbor::{Exact, Ivf, Neighbors};
use crate::{Error, Monitor, Result};

/// Most rows that are searched exactly: above, that takes minutes.
const EXACT_UP_TO: usize = 300_000;

/// The `k` nearest neighbours of every row, or all others where these are fewer.
///
/// Fails with fewer than two rows, on NaN and when cancelled.
pub(crate) fn nearest(x: ArrayView2<f32>, k: usize, monitor: &Monitor) -> Result<Neighbors> {
    let n = x.nrows();
    if n < 2 {
        return Err(Error::data(format!(
            "a graph of neighbours needs two rows, but there are {n}"
        )));
    }
    let k = k.min(n - 1);
    if n <= EXACT_UP_TO {
        let search = Exact::new().metric(Metric::Euclidean);
        return Ok(search.search(x, k, monitor)?.0);
    }
    let search = Ivf::new().metric(Metric::Euclidean);
    Ok(search.search(x, k, monitor)?.0)
}

/// Every two rows of which one is among the neighbours of the other, once, as `(a, b)` with
/// `a < b`, ascending; and their squared distance.
pub(crate) fn edges(neighbors: &Neighbors) -> Vec<(u32, u32, f64)> {
    let arcs = neighbors.indices.indexed_iter();
    let mut edges: Vec<(u32, u32, f64)> = arcs
        .map(|((i, place), &j)| {
            let square = f64::from(-neighbors.similarities[(i, place)]).max(0.0);
            let i = i as u32;
            (i.min(j), i.max(j), square)
        })
        .collect();
    // Both arcs of a pair have the same distance, but for the rounding of an approximate search.
    edges.sort_unstable_by(|p, q| (p.0, p.1).cmp(&(q.0, q.1)).then(p.2.total_cmp(&q.2)));
    edges.dedup_by_key(|edge| (edge.0, edge.1));
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn edges_stand_once_with_their_squared_distance() {
        let x = array![[0.0_f32], [1.0], [3.0]];
        let neighbors = nearest(x.view(), 1, &Monitor::silent()).unwrap();
        assert_eq!(edges(&neighbors), [(0, 1, 1.0), (1, 2, 4.0)]);
        let all = nearest(x.view(), 20, &Monitor::silent()).unwrap();
        assert_eq!(edges(&all), [(0, 1, 1.0), (0, 2, 9.0), (1, 2, 4.0)]);
        let one = x.slice(ndarray::s![..1, ..]);
        assert!(nearest(one, 1, &Monitor::silent()).is_err());
    }
}
