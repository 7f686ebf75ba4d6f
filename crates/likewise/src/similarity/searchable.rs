//! Rows that are searched, by a metric or by a model that scores them.

use ndarray::{Array2, ArrayView2, Axis};

use super::Scorer;
use crate::distance::{Metric, Searched};
use crate::matrix::select_rows;
use crate::{Error, Monitor, Result, parallel};

/// Scores that are held at a time (64 MiB of `f64`), unless one query needs more.
const BLOCK: usize = 1 << 23;
/// Queries that are scored together, at most.
const QUERIES: usize = 2048;

/// Rows made ready to be searched exactly, whatever compares them.
#[derive(Debug, Clone)]
pub enum Searchable {
    /// By a metric.
    Rows(Searched),
    /// By a model.
    Scored {
        /// The model.
        scorer: Scorer,
        /// The rows that are searched.
        rows: Array2<f32>,
    },
}

impl Searchable {
    /// The rows of `x` (`items x dimensions`) with these indices, in this order, to be searched by the
    /// `scorer` or, without one, by the metric.
    ///
    /// Fails as [`Searched::new`] does, and on rows of other columns than the scorer reads.
    pub fn new(
        x: ArrayView2<f32>,
        rows: &[usize],
        metric: Metric,
        scorer: Option<&Scorer>,
    ) -> Result<Self> {
        let Some(scorer) = scorer else {
            return Ok(Self::Rows(Searched::new(x, rows, metric)?));
        };
        let columns = scorer.model().columns();
        if x.ncols() != columns {
            return Err(Error::data(format!(
                "the model compares rows of {columns} columns, but these have {}",
                x.ncols()
            )));
        }
        check_rows(x, rows)?;
        Ok(Self::Scored {
            scorer: scorer.clone(),
            rows: select_rows(x, rows),
        })
    }

    /// Number of searched rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Rows(searched) => searched.len(),
            Self::Scored { rows, .. } => rows.nrows(),
        }
    }

    /// Whether there is nothing to search.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As [`Searched::for_each_query`]; a model is asked for some queries at a time, so that at most 64
    /// MiB of scores are held.
    pub fn for_each_query<S: Send, T: Send>(
        &self,
        x: ArrayView2<f32>,
        queries: &[usize],
        monitor: &Monitor,
        init: impl Fn() -> S + Sync,
        work: impl Fn(&mut S, usize, f32, &mut [f32]) -> T + Sync,
    ) -> Result<Vec<T>> {
        let (scorer, rows) = match self {
            Self::Rows(searched) => {
                return searched.for_each_query(x, queries, monitor, init, work);
            }
            Self::Scored { scorer, rows } => (scorer, rows),
        };
        check_rows(x, queries)?;
        let some = (BLOCK / rows.nrows().max(1)).clamp(1, QUERIES);
        let mut answers = Vec::with_capacity(queries.len());
        for (block, chunk) in queries.chunks(some).enumerate() {
            monitor.check()?;
            let asked = select_rows(x, chunk);
            let quiet = &monitor.quiet();
            let scores = scorer.model().scores(asked.view(), rows.view(), quiet)?;
            let found = parallel::try_map_with(
                scores.axis_iter(Axis(0)).enumerate(),
                || (vec![0.0_f32; rows.nrows()], init()),
                |(single, scratch), (at, scores)| {
                    let both = single.iter_mut().zip(scores);
                    both.for_each(|(single, &score)| *single = score as f32);
                    Ok(work(scratch, block * some + at, 0.0, single))
                },
            )?;
            answers.extend(found);
            monitor.step(answers.len() as u64)?;
        }
        Ok(answers)
    }
}

fn check_rows(x: ArrayView2<f32>, rows: &[usize]) -> Result<()> {
    match rows.iter().find(|&&row| row >= x.nrows()) {
        Some(row) => Err(Error::data(format!(
            "item {row} was asked for, but the matrix has {} rows",
            x.nrows()
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // The scores are whole numbers.
mod tests {
    use std::sync::Arc;

    use ndarray::array;

    use super::*;
    use crate::eval::ranking::{Measure, Protocol, evaluate};
    use crate::index::{Exact, Index};
    use crate::similarity::{Embedding, Scores, Similarity};
    use crate::{Labels, Monitor};

    /// Twice the query less the item: no metric, and not symmetric.
    #[derive(Debug)]
    struct Twice;

    impl Scores for Twice {
        fn columns(&self) -> usize {
            1
        }

        fn scores(
            &self,
            queries: ArrayView2<f32>,
            gallery: ArrayView2<f32>,
            _: &Monitor,
        ) -> Result<Array2<f64>> {
            let score = |(q, x): (usize, usize)| {
                -f64::from((2.0 * queries[(q, 0)] - gallery[(x, 0)]).abs())
            };
            Ok(Array2::from_shape_fn(
                (queries.nrows(), gallery.nrows()),
                score,
            ))
        }
    }

    fn twice() -> Similarity {
        Similarity::Scored(Scorer::new(Arc::new(Twice)))
    }

    #[test]
    fn a_model_is_asked_by_evaluation_and_search() {
        // 1 is followed by 2, 2 by 4, 4 by 8.
        let rows = array![[1.0], [2.0], [4.0], [8.0], [1.5_f32]];
        let labels = Labels::parse(["a", "a", "b", "b", "c"]);
        let embedding = Embedding::new(rows.clone(), &twice());
        let all = [0, 1, 2, 3, 4];
        let protocol = Protocol::of(&embedding, &labels, &[0, 1, 2], &all);
        let ranking = evaluate(&protocol, &[1], &Monitor::silent()).unwrap();
        assert_eq!(ranking.first, [Some(1), Some(2), Some(3)]);
        assert_eq!(ranking.values(Measure::Recall(1)).unwrap(), [1.0, 0.0, 1.0]);
        let index = Exact::new(rows.view(), &twice()).unwrap();
        let asked = array![[2.0], [0.5_f32]];
        let hits = index.search(asked.view(), 2, &Monitor::silent()).unwrap();
        let items = |hits: &[crate::index::Hit]| hits.iter().map(|h| h.item).collect::<Vec<_>>();
        assert_eq!((items(&hits[0]), items(&hits[1])), (vec![2, 1], vec![0, 4]));
        assert_eq!(hits[0][1].similarity, -2.0);
        assert_eq!((index.len(), index.dimensions()), (5, 1));
        assert!(index.search(asked.view(), 0, &Monitor::silent()).is_err());
    }

    #[test]
    fn blocks_and_threads_change_nothing_and_what_does_not_fit_is_refused() {
        let rows = Array2::from_shape_fn((4500, 1), |(i, _)| (i * 7 % 4001) as f32);
        let all: Vec<usize> = (0..rows.nrows()).collect();
        let searchable = twice().searchable(rows.view(), &all).unwrap();
        let best = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| {
                let best = |(): &mut (), q: usize, _: f32, scores: &mut [f32]| {
                    let best = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                    (q, best)
                };
                let monitor = Monitor::silent();
                let found = searchable.for_each_query(rows.view(), &all, &monitor, || (), best);
                found.unwrap()
            })
        };
        let found = best(2);
        assert_eq!(found, best(1));
        // Half of the items have their double among them.
        let exact = |i: usize| 2.0 * rows[(i, 0)] <= 4000.0;
        for (i, (q, best)) in found.into_iter().enumerate() {
            assert_eq!((q, best == 0.0), (i, exact(i)), "{best}");
        }
        let wide = Array2::<f32>::zeros((2, 3));
        let said = twice().searchable(wide.view(), &[0]).unwrap_err();
        assert!(said.to_string().contains("1 columns"), "{said}");
        assert!(twice().searchable(rows.view(), &[9999]).is_err());
        let cancelled = Monitor::silent();
        cancelled.cancel();
        let nothing = |(): &mut (), _: usize, _: f32, _: &mut [f32]| ();
        let stopped = searchable.for_each_query(rows.view(), &[0], &cancelled, || (), nothing);
        assert!(stopped.is_err());
    }
}
