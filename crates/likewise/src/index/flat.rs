//! The exact index: compares every query with every item.

use ndarray::ArrayView2;

use super::{Hit, Index, check_k, order};
use crate::distance::{Metric, Searched};
use crate::{Monitor, Result};

/// An exact index: no parameters, no training, no error.
///
/// Answers are ordered by (similarity descending, item ascending); duplicates tie
/// exactly. Memory: one copy of the rows. A query costs O(n d); many at a time are much
/// faster than one by one. For single queries over millions of items use HNSW.
///
/// ```
/// use likewise::{Monitor, distance::Metric, index::{Flat, Index}};
/// let x = ndarray::array![[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]];
/// let index = Flat::new(x.view(), Metric::Cosine)?;
/// let hits = index.search(ndarray::array![[2.0, 0.1]].view(), 2, &Monitor::silent())?;
/// assert_eq!(hits[0].iter().map(|h| h.item).collect::<Vec<_>>(), [0, 2]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Flat {
    searched: Searched,
}

impl Flat {
    /// Indexes the rows of `x` (`n x d`). Fails on NaN. O(n d).
    pub fn new(x: ArrayView2<f32>, metric: Metric) -> Result<Self> {
        Ok(Self {
            searched: Searched::all(x, metric)?,
        })
    }
}

impl Index for Flat {
    fn len(&self) -> usize {
        self.searched.len()
    }

    fn dimensions(&self) -> usize {
        self.searched.dimensions()
    }

    fn search(
        &self,
        queries: ArrayView2<f32>,
        k: usize,
        monitor: &Monitor,
    ) -> Result<Vec<Vec<Hit>>> {
        check_k(k)?;
        let rows: Vec<usize> = (0..queries.nrows()).collect();
        let metric = self.searched.metric();
        monitor.start("search", rows.len() as u64);
        let hits = self.searched.for_each_query(
            queries,
            &rows,
            monitor,
            Vec::new,
            |best: &mut Vec<Hit>, _, offset, scores| {
                top(scores, k, best);
                let hits = best.iter().map(|hit| {
                    let similarity = hit.similarity + offset;
                    Hit {
                        item: hit.item,
                        // Rounding may push the distance of equal rows below 0, and their cosine above 1.
                        similarity: match metric {
                            Metric::Euclidean => similarity.min(0.0),
                            Metric::Cosine => similarity.clamp(-1.0, 1.0),
                            Metric::InnerProduct => similarity,
                        },
                    }
                });
                hits.collect()
            },
        )?;
        monitor.end();
        Ok(hits)
    }
}

/// The `k` best of `scores` in order, left in `best`: collects what beats the k-th best
/// so far and cuts back whenever twice as many have come together.
pub(super) fn top(scores: &[f32], k: usize, best: &mut Vec<Hit>) {
    best.clear();
    let k = k.min(scores.len());
    if k == 0 {
        return;
    }
    let mut bar = f32::NEG_INFINITY;
    for (item, &similarity) in scores.iter().enumerate() {
        // Items come in order, so one that only ties the bar is behind it.
        if similarity > bar || best.len() < k {
            best.push(Hit { item, similarity });
            if best.len() == 2 * k {
                best.select_nth_unstable_by(k - 1, order);
                best.truncate(k);
                bar = best[k - 1].similarity;
            }
        }
    }
    best.sort_unstable_by(order);
    best.truncate(k);
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Some results are exact.
mod tests {
    use super::*;
    use crate::seed;
    use ndarray::{Array2, array};
    use proptest::prelude::*;
    use rand::RngExt;

    proptest! {
        #[test]
        fn top_is_the_head_of_a_full_sort(
            scores in prop::collection::vec((-4_i32..5).prop_map(|v| v as f32 / 4.0), 0..150),
            k in 1_usize..20,
        ) {
            let hits = scores.iter().enumerate();
            let mut all: Vec<Hit> = hits.map(|(item, &similarity)| Hit { item, similarity }).collect();
            all.sort_by(order);
            all.truncate(k);
            let mut best = Vec::new();
            top(&scores, k, &mut best);
            prop_assert_eq!(best, all);
        }
    }

    #[test]
    fn finds_the_true_neighbours_for_every_metric() {
        let mut rng = seed::stream(2, "flat");
        let x = Array2::from_shape_fn((300, 12), |_| rng.random_range(-1.0_f32..3.0));
        for metric in [Metric::Cosine, Metric::Euclidean, Metric::InnerProduct] {
            let index = Flat::new(x.view(), metric).unwrap();
            let hits = index.search(x.view(), 5, &Monitor::silent()).unwrap();
            for (q, hits) in hits.iter().enumerate() {
                let mut truth: Vec<f64> = (0..300)
                    .map(|j| metric.similarity(x.row(q), x.row(j)))
                    .collect();
                for hit in hits {
                    assert!((f64::from(hit.similarity) - truth[hit.item]).abs() < 1e-4);
                    assert!(metric != Metric::Cosine || hit.similarity <= 1.0);
                    assert!(metric != Metric::Euclidean || hit.similarity <= 0.0);
                }
                truth.sort_by(|a, b| b.total_cmp(a));
                for (hit, t) in hits.iter().zip(truth) {
                    assert!((f64::from(hit.similarity) - t).abs() < 1e-4);
                }
            }
        }
    }

    #[test]
    fn duplicates_zeros_and_large_k() {
        let x = array![[0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [-1.0, -1.0]];
        let index = Flat::new(x.view(), Metric::Cosine).unwrap();
        let hits = index.search(x.view(), 10, &Monitor::silent()).unwrap();
        let items = |q: usize| hits[q].iter().map(|h| h.item).collect::<Vec<_>>();
        assert_eq!(items(0), [0, 1, 2, 3]);
        assert_eq!(items(2), [1, 2, 0, 3]);
        assert!(hits[0].iter().all(|h| h.similarity == 0.0));
        assert!(index.search(x.view(), 0, &Monitor::silent()).is_err());
        let other = array![[1.0]];
        assert!(index.search(other.view(), 1, &Monitor::silent()).is_err());
        let empty = Flat::new(Array2::zeros((0, 2)).view(), Metric::Cosine).unwrap();
        assert!(empty.is_empty());
        assert_eq!(
            empty.search(x.view(), 3, &Monitor::silent()).unwrap(),
            vec![vec![]; 4]
        );
    }
}
