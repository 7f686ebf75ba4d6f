//! The exact answer of a few queries from rows as they lie.

use ndarray::{Array2, ArrayView1, ArrayView2, Axis};

use super::{Flat, Hit, Index, check_k, order};
use crate::distance::Metric;
use crate::matrix::{check_finite, l2_normalize};
use crate::{Error, Monitor, Result, parallel};

/// Sums that run beside each other along a row.
const LANES: usize = 16;

/// The `k` rows of `x` (`n x d`) nearest to each row of `queries` by cosine, best first: what
/// [`Flat`] answers, to the rounding of the similarities.
///
/// Reads the rows once, in place, and holds `4 n` bytes a query: use it for a few queries and
/// rows that lie in a mapped file. For many queries, or again and again, `Flat` is faster.
///
/// Fails on another dimension, on NaN and infinity, on k = 0 and if cancelled.
///
/// ```
/// use likewise::{Monitor, index::nearest};
/// let x = ndarray::array![[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]];
/// let hits = nearest(x.view(), ndarray::array![[2.0, 0.1]].view(), 2, &Monitor::silent())?;
/// assert_eq!(hits[0].iter().map(|h| h.item).collect::<Vec<_>>(), [0, 2]);
/// # Ok::<(), likewise::Error>(())
/// ```
pub fn nearest(
    x: ArrayView2<f32>,
    queries: ArrayView2<f32>,
    k: usize,
    monitor: &Monitor,
) -> Result<Vec<Vec<Hit>>> {
    check_k(k)?;
    if queries.ncols() != x.ncols() {
        return Err(Error::data(format!(
            "queries have {} dimensions, the searched rows {}; use the same model for both",
            queries.ncols(),
            x.ncols()
        )));
    }
    check_finite(queries, "queries")?;
    let unit = l2_normalize(queries.as_standard_layout().into_owned());
    let chunks = x.axis_chunks_iter(Axis(0), 1024);
    let cosines: Vec<Vec<f32>> = parallel::try_map(chunks, |rows| {
        monitor.check()?;
        let mut cosines = Vec::with_capacity(rows.nrows() * unit.nrows());
        for row in rows.rows() {
            of_row(row, &unit, &mut cosines);
        }
        Ok(cosines)
    })?;
    let cosines = cosines.concat();
    if cosines.iter().any(|v| v.is_nan()) {
        check_finite(x, "searched rows")?;
    }
    let of_query = |q: usize| cosines.iter().skip(q).step_by(queries.nrows()).copied();
    (0..queries.nrows())
        .map(|q| {
            let rows = candidates(of_query(q), k, x.ncols());
            let among = Flat::new(x.select(Axis(0), &rows).view(), Metric::Cosine)?;
            let query = queries.slice(ndarray::s![q..=q, ..]);
            let mut hits: Vec<Hit> = among.search(query, k, &Monitor::silent())?.concat();
            for hit in &mut hits {
                hit.item = rows[hit.item];
            }
            hits.sort_unstable_by(order);
            Ok(hits)
        })
        .collect()
}

/// Rows that may be among the best `k`: all whose cosines are within the error of both this
/// search and the next below the k-th best. Ascending.
fn candidates(cosines: impl Iterator<Item = f32> + Clone, k: usize, d: usize) -> Vec<usize> {
    let mut best: Vec<f32> = cosines.clone().collect();
    let least = if best.len() > k {
        let (_, worst, _) = best.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a));
        // Each cosine is off by about 3 d / 2 units in the last place at most, of products
        // and of lengths, here and there; twice that, and some.
        *worst - (6 * d + 64) as f32 * f32::EPSILON / 2.0
    } else {
        f32::NEG_INFINITY
    };
    let within = cosines.enumerate().filter(|&(_, cosine)| cosine >= least);
    within.map(|(row, _)| row).collect()
}

/// Adds the cosine of a row with each of the unit rows; NaN where it is not finite.
fn of_row(row: ArrayView1<f32>, unit: &Array2<f32>, cosines: &mut Vec<f32>) {
    let copy;
    let values = if let Some(values) = row.to_slice() {
        values
    } else {
        copy = row.to_vec();
        &copy
    };
    let square = dot(values, values);
    let queries = unit.axis_iter(Axis(0)).filter_map(|query| query.to_slice());
    // Squares that leave the range of f32 are taken in f64.
    if (1e-30..1e30).contains(&square) {
        let inverse = 1.0 / square.sqrt();
        cosines.extend(queries.map(|query| dot(query, values) * inverse));
        return;
    }
    let squares = values.iter().map(|&v| f64::from(v).powi(2));
    let length = squares.sum::<f64>().sqrt();
    cosines.extend(queries.map(|query| {
        let products = query.iter().zip(values);
        let product: f64 = products.map(|(&q, &v)| f64::from(q) * f64::from(v)).sum();
        let cosine = product / length;
        match length {
            0.0 => 0.0,
            length if length.is_finite() => cosine as f32,
            _ => f32::NAN,
        }
    }));
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed;
    use ndarray::array;
    use proptest::prelude::*;
    use rand::RngExt;

    fn both(x: &Array2<f32>, queries: &Array2<f32>, k: usize) -> [Vec<Vec<Hit>>; 2] {
        let flat = Flat::new(x.view(), Metric::Cosine).unwrap();
        [
            nearest(x.view(), queries.view(), k, &Monitor::silent()).unwrap(),
            flat.search(queries.view(), k, &Monitor::silent()).unwrap(),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn answers_as_the_flat_index(
            n in 0_usize..300, d in 1_usize..70, k in 1_usize..40, coarse in any::<bool>(), seed in 0_u64..1000,
        ) {
            let mut rng = seed::stream(seed, "test rows");
            let mut value = |_| {
                let v = rng.random::<f32>() - 0.5;
                if coarse { (3.0 * v).round() } else { v }
            };
            let (x, queries) = (Array2::from_shape_fn((n, d), &mut value), Array2::from_shape_fn((3, d), &mut value));
            let [once, flat] = both(&x, &queries, k);
            for (once, flat) in once.iter().zip(&flat) {
                prop_assert_eq!(once.len(), flat.len());
                for (a, b) in once.iter().zip(flat) {
                    prop_assert!((a.similarity - b.similarity).abs() < 1e-6);
                    // On a grid ties are exact, so the items are the same ones.
                    prop_assert!(!coarse || a.item == b.item);
                }
            }
        }
    }

    #[test]
    fn rows_of_any_length_zeros_and_duplicates() {
        let mut x = Array2::from_shape_fn((90, 7), |(i, c)| (i / 3 * 7 + c) as f32 % 11.0 - 5.0);
        for (i, mut row) in x.rows_mut().into_iter().enumerate() {
            row *= [1.0, 1e30, 1e-30][i % 3];
        }
        x.row_mut(80).fill(0.0);
        let queries = x.slice(ndarray::s![..6, ..]).to_owned();
        let [once, flat] = both(&x, &queries, 9);
        for (once, flat) in once.iter().zip(&flat) {
            for (a, b) in once.iter().zip(flat) {
                assert!((a.similarity - b.similarity).abs() < 1e-6);
            }
        }
        // Every eleventh group of three has the direction of the first, at any length.
        assert!(once[0].iter().all(|hit| hit.item / 3 % 11 == 0));
        let zeros = Array2::zeros((1, 7));
        let [once, flat] = both(&x, &zeros, 4);
        assert_eq!(once, flat);
    }

    #[test]
    fn bad_input_is_refused() {
        let x = array![[1.0, 0.0], [f32::NAN, 1.0]];
        let ask = |x: ArrayView2<f32>, q: ArrayView2<f32>, k| {
            let found = nearest(x, q, k, &Monitor::silent());
            found.unwrap_err().to_string()
        };
        let query = array![[1.0, 1.0]];
        assert!(ask(x.view(), query.view(), 1).contains("row 1, column 0"));
        let x = array![[1.0, 0.0]];
        assert!(ask(x.view(), query.view(), 0).contains("k = 0"));
        assert!(ask(x.view(), array![[1.0]].view(), 1).contains("dimensions"));
        assert!(ask(x.view(), array![[f32::NAN, 1.0]].view(), 1).contains("queries"));
    }
}
