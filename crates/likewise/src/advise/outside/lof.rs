//! Local outlier factor: how much thinner known items lie around an item than around its neighbours.
//!
//! ```text
//! reach(p, o) = max(k-distance(o), |p - o|)
//! lrd(p) = 1 / (mean over the k nearest o of reach(p, o) + 1e-10)
//! LOF(p) = mean over the k nearest o of lrd(o) / lrd(p)
//! ```
//!
//! Neighbours are known items alone, so that many items of a new class do not vouch for each other. About
//! 1 is usual; above 1.5 is far out.
//!
//! **Use it** where classes are of odd shapes, or of different density. **Not** with fewer than a few
//! known items a class, or on very many columns, where all distances are alike.
//!
//! Cost: O((M + n) M D) time for M known items, O(M) memory a thread.
//!
//! Source: Breunig, Kriegel, Ng and Sander, "LOF: identifying density-based local outliers", SIGMOD 2000;
//! the 1e-10, for duplicates, is scikit-learn's.

use ndarray::{Array2, ArrayView1, ArrayView2};

use crate::matrix::check_finite;
use crate::{Error, Result, parallel};

/// Neighbours that are usual.
pub const NEIGHBORS: usize = 20;

/// The density of known items.
#[derive(Debug, Clone)]
pub struct Lof {
    known: Array2<f32>,
    k: usize,
    /// Of each known item, the distance to its k-th nearest other one.
    k_distance: Vec<f64>,
    density: Vec<f64>,
}

impl Lof {
    /// Of known items (`M x D`), with `k` neighbours or, where there are not so many others, all of
    /// them.
    ///
    /// Fails on fewer than two items, on NaN, and on no neighbours.
    pub fn fit(known: ArrayView2<f32>, k: usize) -> Result<Self> {
        let m = known.nrows();
        if m < 2 {
            let message = format!("{m} known item(s): a local outlier factor needs two or more");
            return Err(Error::data(message));
        }
        if k == 0 {
            return Err(Error::parameter("k", k, "must be at least 1"));
        }
        check_finite(known, "known items")?;
        let k = k.min(m - 1);
        let known = known.as_standard_layout().into_owned();
        let near = parallel::map_rows(m, |i| nearest(&known, known.row(i), k, Some(i)));
        let k_distance: Vec<f64> = near.iter().map(|near| near[k - 1].0).collect();
        let density = near.iter().map(|near| reach(near, &k_distance)).collect();
        Ok(Self {
            known,
            k,
            k_distance,
            density,
        })
    }

    /// The factor of each row. Fails on NaN and on another number of columns.
    ///
    /// Of rows that are themselves known items ask [`factors_among`](Self::factors_among): here each would be
    /// its own nearest neighbour, and look more at home than any other.
    pub fn factors(&self, x: ArrayView2<f32>) -> Result<Vec<f64>> {
        self.factors_among(x, &vec![None; x.nrows()])
    }

    /// As [`factors`](Self::factors), where some of the rows are themselves among the known items: `own` says
    /// which one each row is, if any, and no row is a neighbour of itself.
    ///
    /// Fails as [`factors`](Self::factors), where numbers differ, and on an item that is not there.
    pub fn factors_among(&self, x: ArrayView2<f32>, own: &[Option<usize>]) -> Result<Vec<f64>> {
        let m = self.known.nrows();
        if own.len() != x.nrows() || own.iter().flatten().any(|&o| o >= m) {
            return Err(Error::data(format!(
                "{} rows, and which of {m} known items {} are; say it of each, counted from 0",
                x.nrows(),
                own.len()
            )));
        }
        if x.ncols() != self.known.ncols() {
            return Err(Error::data(format!(
                "these rows have {} columns, the known items {}",
                x.ncols(),
                self.known.ncols()
            )));
        }
        check_finite(x, "rows")?;
        let factor = |i: usize| {
            let near = nearest(&self.known, x.row(i), self.k, own[i]);
            let sum: f64 = near.iter().map(|&(_, o)| self.density[o]).sum();
            sum / self.k as f64 / reach(&near, &self.k_distance)
        };
        Ok(parallel::map_rows(x.nrows(), factor))
    }
}

/// One over the mean reach.
fn reach(near: &[(f64, usize)], k_distance: &[f64]) -> f64 {
    let sum: f64 = near.iter().map(|&(d, o)| d.max(k_distance[o])).sum();
    1.0 / (sum / near.len() as f64 + 1e-10)
}

/// Distances and numbers of the `k` nearest known items, without `except`; ties by number.
fn nearest(
    known: &Array2<f32>,
    row: ArrayView1<f32>,
    k: usize,
    except: Option<usize>,
) -> Vec<(f64, usize)> {
    let square = |o: usize| -> f64 {
        let each = known.row(o).into_iter().zip(row);
        each.map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2))
            .sum()
    };
    let others = (0..known.nrows()).filter(|&o| Some(o) != except);
    let mut all: Vec<(f64, usize)> = others.map(|o| (square(o).sqrt(), o)).collect();
    let order = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    if k < all.len() {
        all.select_nth_unstable_by(k, order);
        all.truncate(k);
    }
    all.sort_by(order);
    // Else each list would keep room for all rows.
    all.shrink_to_fit();
    all
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use proptest::prelude::*;

    use super::*;
    use crate::reference::in_one_and_two_threads;

    #[test]
    fn four_items_on_a_line_by_hand() {
        let known = array![[0.0], [1.0], [2.0], [4.0]];
        let lof = Lof::fit(known.view(), 2).unwrap();
        // The second nearest others are 2, 1, 2 and 3 away.
        assert_eq!(lof.k_distance, [2.0, 1.0, 2.0, 3.0]);
        // Item 0 reaches 1 at max(1, 1) and 2 at max(2, 2): density 1/1.5; item 1 reaches 0 and 2 at 2.
        let expected = [1.0 / 1.5, 0.5, 1.0 / 1.5, 1.0 / 2.5];
        assert!(
            lof.density
                .iter()
                .zip(expected)
                .all(|(a, b)| (a - b).abs() < 1e-9)
        );
        // At 5 the nearest are 4 (reach 3) and 2 (reach 3).
        let found = lof.factors(array![[5.0]].view()).unwrap()[0];
        let mean = f64::midpoint(1.0 / 2.5, 1.0 / 1.5);
        assert!((found - 3.0 * mean).abs() < 1e-9, "{found}");
    }

    proptest! {
        #[test]
        fn a_naive_one_says_the_same(
            raw in prop::collection::vec((-3.0..3.0_f32, -3.0..3.0_f32), 3..15),
            k in 1_usize..20,
        ) {
            let m = raw.len() - 1;
            let all = Array2::from_shape_fn((m + 1, 2), |(i, j)| if j == 0 { raw[i].0 } else { raw[i].1 });
            let known = all.slice(ndarray::s![..m, ..]);
            let k_used = k.min(m - 1);
            let distance = |a: usize, b: usize| {
                let (x, y) = (f64::from(raw[a].0) - f64::from(raw[b].0), f64::from(raw[a].1) - f64::from(raw[b].1));
                (x * x + y * y).sqrt()
            };
            let near = |a: usize| {
                let mut others: Vec<usize> = (0..m).filter(|&o| o != a).collect();
                others.sort_by(|&o, &q| distance(a, o).total_cmp(&distance(a, q)).then(o.cmp(&q)));
                others.truncate(k_used);
                others
            };
            let k_distance = |o: usize| distance(o, near(o)[k_used - 1]);
            let density = |a: usize| {
                let near = near(a);
                let sum: f64 = near.iter().map(|&o| distance(a, o).max(k_distance(o))).sum();
                1.0 / (sum / near.len() as f64 + 1e-10)
            };
            let own = near(m);
            let expected = own.iter().map(|&o| density(o)).sum::<f64>() / own.len() as f64 / density(m);
            let found = Lof::fit(known, k).unwrap().factors(all.slice(ndarray::s![m.., ..])).unwrap()[0];
            prop_assert!((found - expected).abs() <= 1e-9 * expected.max(1.0), "{} {}", found, expected);
        }
    }

    #[test]
    fn a_known_item_is_no_neighbour_of_itself() {
        let known = array![[0.0], [1.0], [2.0], [4.0]];
        let lof = Lof::fit(known.view(), 2).unwrap();
        let own = [Some(0), Some(1), Some(2), Some(3)];
        let found = lof.factors_among(known.view(), &own).unwrap();
        // Mean density of the two nearest others over its own: of item 0 (1/2 + 1/1.5) / 2 * 1.5, of item 1
        // 1/1.5 * 2, of item 2 as of item 0, and of item 3 (1/1.5 + 1/2) / 2 * 2.5.
        let expected = [0.875, 4.0 / 3.0, 0.875, 35.0 / 24.0];
        let near = found
            .iter()
            .zip(expected)
            .all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(near, "{found:?}");
        // With itself at distance 0, item 3 reaches itself at 3 and item 2 at 2: density 1/2.5, and
        // (1/2.5 + 1/1.5) / 2 * 2.5 = 4/3.
        let with_itself = lof.factors(known.view()).unwrap();
        assert!((with_itself[3] - 4.0 / 3.0).abs() < 1e-9, "{with_itself:?}");
        let factors = |own: &[Option<usize>]| lof.factors_among(known.view(), own);
        assert!(factors(&own[..3]).is_err() && factors(&[Some(4); 4]).is_err());
        assert_eq!(factors(&[None; 4]).unwrap(), with_itself);
    }

    #[test]
    fn duplicates_and_too_few_items() {
        let same = Array2::<f32>::zeros((5, 2));
        let (one, two) = in_one_and_two_threads(|| {
            let lof = Lof::fit(same.view(), 3).unwrap();
            lof.factors(array![[0.0, 0.0], [1.0, 0.0]].view()).unwrap()
        });
        assert_eq!(one, two);
        assert!((one[0] - 1.0).abs() < 1e-9 && one[1] > 1e6 && one[1].is_finite());
        assert!(Lof::fit(same.slice(ndarray::s![..1, ..]), 3).is_err());
        assert!(Lof::fit(same.view(), 0).is_err());
        assert!(
            Lof::fit(same.view(), 9)
                .unwrap()
                .factors(array![[0.0]].view())
                .is_err()
        );
    }
}
