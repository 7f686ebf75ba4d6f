//! The nearest codes of real-valued queries: what the signs of a query lose is kept.
//!
//! ```text
//! similarity(v, h) = sum_k v_k h_k          v: the query before its signs, h: a code of +-1
//! ```
//!
//! A query costs nothing to keep in full; only the database has to be small. **Use it** where
//! queries come as rows and codes are short: it finds better neighbours for the same memory.
//! **Not** where the scales of the bits say nothing, nor where ten times the time of
//! [`nearest`](super::nearest) is too much.
//!
//! Cost: `n bits / 8` look-ups a query; memory O(queries x k) and 32 `bits` numbers a thread.
//!
//! Source: Gordo, Perronnin, Gong and Lazebnik, "Asymmetric distances for binary embeddings",
//! PAMI 2014, the variant of a linear similarity.

use std::cmp::Ordering;

use ndarray::{Array2, ArrayView1, ArrayView2};

use super::{Codes, check_search};
use crate::matrix::check_finite;
use crate::{Monitor, Result, parallel};

/// Values of a byte.
const BYTE: usize = 256;

/// The nearest codes of some real-valued queries.
#[derive(Debug, Clone, PartialEq)]
pub struct NearestReal {
    /// Positions in the database, most similar first, equally similar ones in order
    /// (`queries x k`).
    pub indices: Array2<u32>,
    /// The inner product with the code of +-1, for each of them.
    pub similarities: Array2<f32>,
}

/// The `k` codes of the database whose signs have the largest inner product with each query
/// (`queries x bits`), as [`Encoder::scores`](crate::cross::Encoder::scores) gives them.
///
/// Fails where the numbers of bits differ, on NaN, on `k` = 0, past `u32` codes, and when
/// cancelled.
///
/// ```
/// use likewise::{Monitor, code::{Codes, nearest_to_real}};
/// let database = Codes::from_words(2, vec![0b00, 0b01, 0b10])?;
/// let queries = ndarray::array![[0.1_f32, -2.0]];
/// let found = nearest_to_real(queries.view(), &database, 2, &Monitor::silent())?;
/// assert_eq!(found.indices, ndarray::array![[1, 0]]);
/// # Ok::<(), likewise::Error>(())
/// ```
pub fn nearest_to_real(
    queries: ArrayView2<f32>,
    database: &Codes,
    k: usize,
    monitor: &Monitor,
) -> Result<NearestReal> {
    check_search(queries.ncols(), database, k)?;
    check_finite(queries, "queries")?;
    let k = k.min(database.n());
    monitor.start("nearest codes", None);
    let lists = parallel::try_map(queries.rows().into_iter(), |query| {
        monitor.check()?;
        let tables = tables(query);
        let mut best = Best::new(k);
        for (i, code) in database.words().chunks_exact(database.width()).enumerate() {
            best.push(similarity(&tables, code), i as u32);
        }
        Ok(best.sorted())
    })?;
    monitor.end();
    let shape = (queries.nrows(), k);
    Ok(NearestReal {
        indices: Array2::from_shape_fn(shape, |(q, p)| lists[q][p].1),
        similarities: Array2::from_shape_fn(shape, |(q, p)| lists[q][p].0),
    })
}

/// The best so many, from similarities that come in the order of their items.
struct Best {
    k: usize,
    found: Vec<(f32, u32)>,
    /// What is not above this is of no use.
    worst: f32,
}

impl Best {
    fn new(k: usize) -> Self {
        Self {
            k,
            found: Vec::with_capacity(4 * k + 64),
            worst: f32::NEG_INFINITY,
        }
    }

    fn push(&mut self, similarity: f32, item: u32) {
        if similarity <= self.worst || self.k == 0 {
            return;
        }
        self.found.push((similarity, item));
        if self.found.len() == 4 * self.k + 64 {
            self.found
                .select_nth_unstable_by(self.k - 1, |a, b| order(*a, *b));
            self.found.truncate(self.k);
            // All that follow have larger numbers, so an equal one comes behind.
            self.worst = self.found[self.k - 1].0;
        }
    }

    fn sorted(mut self) -> Vec<(f32, u32)> {
        self.found.sort_unstable_by(|a, b| order(*a, *b));
        self.found.truncate(self.k);
        self.found
    }
}

/// Most similar first, equally similar ones by their numbers.
fn order(a: (f32, u32), b: (f32, u32)) -> Ordering {
    let by_similarity = b.0.partial_cmp(&a.0).unwrap_or(Ordering::Equal);
    by_similarity.then(a.1.cmp(&b.1))
}

/// What each value of each byte of a code adds.
fn tables(query: ArrayView1<f32>) -> Vec<[f32; BYTE]> {
    let values = query.to_vec();
    let table = |values: &[f32]| {
        std::array::from_fn(|byte: usize| {
            let signed = |(bit, &v): (usize, &f32)| if byte >> bit & 1 == 1 { v } else { -v };
            values.iter().enumerate().map(signed).sum::<f32>()
        })
    };
    values.chunks(8).map(table).collect()
}

fn similarity(tables: &[[f32; BYTE]], code: &[u64]) -> f32 {
    let mut sum = 0.0;
    for (tables, word) in tables.chunks(8).zip(code) {
        for (table, byte) in tables.iter().zip(word.to_le_bytes()) {
            sum += table[usize::from(byte)];
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::RngExt;

    use super::super::tests::random;
    use super::*;
    use crate::seed;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn equals_all_products_sorted(
            n in 0_usize..300, bits in 1_usize..150, k in 1_usize..40, seed in 0_u64..999,
        ) {
            let database = random(n, bits, 2, seed);
            let mut rng = seed::stream(seed, "test queries");
            // Small integers: their sums are exact, and tie.
            let queries = Array2::from_shape_fn((5, bits), |_| rng.random_range(-2..3_i8));
            let queries = queries.mapv(f32::from);
            let found = nearest_to_real(queries.view(), &database, k, &Monitor::silent()).unwrap();
            let products = queries.dot(&database.to_signs().t());
            for q in 0..5 {
                let mut order: Vec<usize> = (0..n).collect();
                order.sort_by(|&a, &b| products[(q, b)].total_cmp(&products[(q, a)]));
                order.truncate(k);
                let indices: Vec<usize> = found.indices.row(q).iter().map(|&i| i as usize).collect();
                prop_assert_eq!(&indices, &order);
                for (p, &i) in order.iter().enumerate() {
                    prop_assert!((found.similarities[(q, p)] - products[(q, i)]).abs() < 1e-4);
                }
            }
        }
    }

    #[test]
    fn misfits_are_refused() {
        let database = random(3, 8, 2, 0);
        let run = |queries: Array2<f32>, k| {
            nearest_to_real(queries.view(), &database, k, &Monitor::silent()).is_ok()
        };
        assert!(run(Array2::zeros((1, 8)), 2));
        assert!(!run(Array2::zeros((1, 7)), 2));
        assert!(!run(Array2::zeros((1, 8)), 0));
        assert!(!run(Array2::from_elem((1, 8), f32::NAN), 2));
    }
}
