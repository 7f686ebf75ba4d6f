//! Neighbour lists that grow and shrink with their items.
//!
//! New items are compared with all items and all items with the new ones; after a removal
//! only the lists that held a removed item are searched again. The lists are those that a
//! search of all items from the start would give, to the last bit.
//!
//! **Use it** to add or remove a few items. **Not** for most of them: beyond about half
//! of the items a search from the start costs less.
//!
//! Cost: 2 n m d operations for each direction and `m` new items, or `m` lists to repair.
//!
//! The similarities of the given lists must come from an exact search by the same metric.

use ndarray::{ArrayView2, s};

use super::candidate::{Candidate, Partial};
use super::{Metric, Neighbors, Rows, block};
use crate::{Error, Monitor, Result};

impl Neighbors {
    /// The lists after items were added: `x` (`n x d`) holds the old items and then the new
    /// ones.
    ///
    /// Fails if `x` has fewer rows than there are lists, on what [`Rows::new`] fails on, and
    /// when cancelled.
    ///
    /// ```
    /// use likewise::neighbor::{Metric, exact};
    /// use likewise::Monitor;
    /// use ndarray::{array, s};
    /// let x = array![[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]];
    /// let silent = Monitor::silent();
    /// let old = exact(x.slice(s![..3, ..]), 1, Metric::Cosine, &silent)?;
    /// let new = old.insert(x.view(), Metric::Cosine, &silent)?;
    /// assert_eq!(new, exact(x.view(), 1, Metric::Cosine, &silent)?);
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn insert(&self, x: ArrayView2<f32>, metric: Metric, monitor: &Monitor) -> Result<Self> {
        let (n, all) = (self.n(), x.nrows());
        if all < n {
            return Err(Error::data(format!(
                "there are {n} lists but {all} rows; give the old rows and then the new ones"
            )));
        }
        monitor.start("neighbours of new items", None);
        let old = Rows::new(x.slice(s![..n, ..]), 0, metric)?;
        let new = Rows::new(x.slice(s![n.., ..]), n, metric)?;
        let known = self.partial();
        let mut joined = known.merge(block(&old, &new, self.k, monitor)?)?;
        let arrived =
            block(&new, &old, self.k, monitor)?.merge(block(&new, &new, self.k, monitor)?)?;
        monitor.end();
        joined.queries.extend(arrived.queries);
        joined.lists.extend(arrived.lists);
        joined.finish()
    }

    /// The lists without some items, in the order of the rest: `x` (`n x d`) holds all
    /// items, those to `remove` included.
    ///
    /// Fails on an item out of range, if `k` items do not remain beside each, and as
    /// [`insert`](Self::insert).
    pub fn remove(
        &self,
        x: ArrayView2<f32>,
        remove: &[usize],
        metric: Metric,
        monitor: &Monitor,
    ) -> Result<Self> {
        let n = self.n();
        if x.nrows() != n {
            return Err(Error::data(format!(
                "there are {n} lists but {} rows",
                x.nrows()
            )));
        }
        let mut gone = vec![false; n];
        for &item in remove {
            *gone.get_mut(item).ok_or_else(|| {
                Error::data(format!(
                    "item {item} is to be removed, but there are {n} items"
                ))
            })? = true;
        }
        let rest: Vec<usize> = (0..n).filter(|&i| !gone[i]).collect();
        let broken: Vec<usize> = (rest.iter().copied())
            .filter(|&i| self.indices.row(i).iter().any(|&j| gone[j as usize]))
            .collect();
        monitor.start("neighbours after a removal", None);
        let rows = |items: &[usize]| {
            let ids = items.iter().map(|&i| i as u32).collect();
            Rows::with_ids(x.select(ndarray::Axis(0), items).view(), ids, metric)
        };
        let repaired = if broken.is_empty() {
            Vec::new()
        } else {
            block(&rows(&broken)?, &rows(&rest)?, self.k, monitor)?.lists
        };
        monitor.end();
        let mut lists = self.partial().lists;
        for (&i, list) in broken.iter().zip(repaired) {
            lists[i] = list;
        }
        let mut renamed = vec![0; n];
        for (new, &old) in rest.iter().enumerate() {
            renamed[old] = new as u32;
        }
        let rename = |c: &Candidate| Candidate::new(renamed[c.index() as usize], c.similarity());
        let rest = rest.into_iter();
        Partial {
            queries: (0..rest.len() as u32).collect(),
            k: self.k,
            lists: rest
                .map(|i| lists[i].iter().map(rename).collect())
                .collect(),
        }
        .finish()
    }

    fn partial(&self) -> Partial {
        let list = |i: usize| -> Vec<Candidate> {
            let row = self
                .indices
                .row(i)
                .into_iter()
                .zip(self.similarities.row(i));
            row.map(|(&j, &s)| Candidate::new(j, s)).collect()
        };
        Partial {
            queries: (0..self.n() as u32).collect(),
            k: self.k,
            lists: (0..self.n()).map(list).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::exact;
    use super::*;
    use crate::seed;
    use ndarray::Array2;
    use proptest::prelude::*;
    use rand::RngExt;
    use rand::seq::index;

    fn features(n: usize, seed: u64) -> Array2<f32> {
        // A coarse grid: many duplicates and ties.
        let mut rng = seed::stream(seed, "test features");
        Array2::from_shape_fn((n, 3), |_| (rng.random::<f32>() * 5.0 - 2.5).round())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn equal_a_search_from_the_start(
            n in 8_usize..150, part in 0.0_f64..1.0, k in 1_usize..6, seed in 0_u64..1000,
            metric in prop::sample::select(vec![Metric::Cosine, Metric::InnerProduct, Metric::Euclidean]),
        ) {
            let silent = Monitor::silent();
            let x = features(n, seed);
            let all = exact(x.view(), k, metric, &silent).unwrap();
            let few = (k + 1).max((part * n as f64) as usize);
            let old = exact(x.slice(s![..few, ..]), k, metric, &silent).unwrap();
            prop_assert_eq!(&old.insert(x.view(), metric, &silent).unwrap(), &all);

            let mut rng = seed::stream(seed, "test removal");
            let gone = index::sample(&mut rng, n, n - few).into_vec();
            let rest: Vec<usize> = (0..n).filter(|i| !gone.contains(i)).collect();
            let expected = exact(x.select(ndarray::Axis(0), &rest).view(), k, metric, &silent).unwrap();
            prop_assert_eq!(all.remove(x.view(), &gone, metric, &silent).unwrap(), expected);
        }
    }

    #[test]
    fn bad_input_is_refused() {
        let silent = Monitor::silent();
        let x = features(6, 1);
        let all = exact(x.view(), 3, Metric::Cosine, &silent).unwrap();
        assert!(
            all.insert(x.slice(s![..5, ..]), Metric::Cosine, &silent)
                .is_err()
        );
        let remove =
            |x: ArrayView2<f32>, items: &[usize]| all.remove(x, items, Metric::Cosine, &silent);
        assert!(
            remove(x.view(), &[6])
                .unwrap_err()
                .to_string()
                .contains("item 6")
        );
        assert!(remove(x.slice(s![..5, ..]), &[0]).is_err());
        assert!(
            remove(x.view(), &[0, 1, 2])
                .unwrap_err()
                .to_string()
                .contains("k = 3")
        );
    }
}
