//! Density-weighted uncertainty: items that stand for many unsure ones which are near no label.
//!
//! As [`coverage`](super::coverage), but covering an item u counts by how unsure it is,
//! `r_u = 1 - (p_u(first class) - p_u(second class))`, and by 1 where no label reaches it; by 0.001 at least, so that
//! of items that are all sure those come first that stand for many others.
//!
//! **Use it** from some labels a class on: it goes where the borders are, but not to the odd items
//! there. **Not** with one label a class, where what the beliefs are sure of is often wrong.
//!
//! Cost: as coverage.
//!
//! Source: information density (Settles and Craven 2008) with the coverage of what was already asked for
//! in place of a mean of similarities. Their product of an item's own uncertainty and its degree was
//! tried and gained little on labels drawn at random.

use super::coverage::Cover;
use super::pool::{Pool, UNSURE};

/// A cover that counts unsure items.
pub(super) fn cover<'a>(pool: &Pool<'a>) -> Cover<'a> {
    let unsure = pool.unsure().into_iter();
    let counts = unsure.map(|unsure| unsure.max(UNSURE)).collect();
    Cover::new(pool.graph, pool.labels, Some(counts))
}

#[cfg(test)]
mod tests {
    use super::super::{Ask, Strategy};
    use super::*;
    use crate::{Graph, Labels, Monitor};

    #[test]
    fn two_unsure_items_are_worth_more_than_three_sure_ones() {
        // A chain 0-1-2 and a pair 3-4; nothing is labeled.
        let graph =
            Graph::new(vec![0, 1, 3, 4, 5, 6], vec![1, 0, 2, 1, 4, 3], vec![1.0; 6]).unwrap();
        let labels =
            Labels::new(vec!["a".into(), "b".into()], vec![crate::Label::Unknown; 5]).unwrap();
        let sure = [0.75, 0.25];
        let unsure = [0.5, 0.5];
        let shares = ndarray::arr2(&[sure, sure, sure, unsure, unsure]);
        let pool = Pool {
            graph: &graph,
            labels: &labels,
            shares: shares.view(),
            askable: &[true; 5],
            rows: None,
        };
        let first = |strategy| {
            let ask = Ask::new(1).strategy(strategy);
            let next = ask.next(&pool, &Monitor::silent()).unwrap();
            (next[0].item, next[0].worth)
        };
        assert_eq!(first(Strategy::Coverage), (1, 3.0));
        assert_eq!(first(Strategy::Density), (3, 2.0));
    }
}
