//! The exact index of rows that a model made, whatever compares them.

use ndarray::ArrayView2;

use super::flat::top;
use super::{Flat, Hit, Index, check_k};
use crate::similarity::{Searchable, Similarity};
use crate::{Monitor, Result};

/// The exact index of the rows of a model, by its [`Similarity`]: what [`Flat`] is where a metric
/// compares them, and else the model itself, which is asked for every query and every item.
///
/// Queries are rows that [ask](Similarity::asking).
#[derive(Debug, Clone)]
pub enum Exact {
    /// By a metric.
    Flat(Flat),
    /// By the model; rows have so many columns.
    Scored(Searchable, usize),
}

impl Exact {
    /// Indexes the rows of `x` (`n x d`). Fails on NaN, and on other columns than the model reads.
    ///
    /// ```
    /// use likewise::index::{Exact, Index};
    /// use likewise::{Monitor, Similarity};
    /// let x = ndarray::array![[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]];
    /// let index = Exact::new(x.view(), &Similarity::Cosine)?;
    /// let hits = index.search(ndarray::array![[2.0, 0.1]].view(), 2, &Monitor::silent())?;
    /// assert_eq!(hits[0].iter().map(|h| h.item).collect::<Vec<_>>(), [0, 2]);
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn new(x: ArrayView2<f32>, similarity: &Similarity) -> Result<Self> {
        if similarity.scorer().is_none() {
            return Ok(Self::Flat(Flat::new(x, similarity.metric())?));
        }
        let all: Vec<usize> = (0..x.nrows()).collect();
        Ok(Self::Scored(similarity.searchable(x, &all)?, x.ncols()))
    }
}

impl Index for Exact {
    fn len(&self) -> usize {
        match self {
            Self::Flat(flat) => flat.len(),
            Self::Scored(searchable, _) => searchable.len(),
        }
    }

    fn dimensions(&self) -> usize {
        match self {
            Self::Flat(flat) => flat.dimensions(),
            Self::Scored(_, columns) => *columns,
        }
    }

    fn search(
        &self,
        queries: ArrayView2<f32>,
        k: usize,
        monitor: &Monitor,
    ) -> Result<Vec<Vec<Hit>>> {
        let searchable = match self {
            Self::Flat(flat) => return flat.search(queries, k, monitor),
            Self::Scored(searchable, _) => searchable,
        };
        check_k(k)?;
        let rows: Vec<usize> = (0..queries.nrows()).collect();
        monitor.start("search", rows.len() as u64);
        let hits = searchable.for_each_query(
            queries,
            &rows,
            monitor,
            Vec::new,
            |best: &mut Vec<Hit>, _, _, scores| {
                top(scores, k, best);
                best.clone()
            },
        )?;
        monitor.end();
        Ok(hits)
    }
}
