//! Texts as rows of numbers: which words and letters they share, in few directions.
//!
//! ```text
//! count_b   words, and triples of letters, of a text that fall into bucket b by their hash
//! x_b     = (1 + ln count_b) idf_b,  idf_b = 1 + ln((1 + n) / (1 + texts with bucket b)),  |x| = 1
//! row     = x V / |x V|              V: the first right singular vectors of the rows x of all texts
//! ```
//!
//! Words are what stands between other signs than letters and digits, in small letters; triples have
//! the ends of the word marked, so that `shirts` is near `shirt`.
//!
//! **Use it** for captions, titles and descriptions that share words, as a view beside another one.
//! **Not** where texts say the same in other words: take a column of embeddings by a language model.
//!
//! Cost: O(letters) a text, and for `V` 8 products of the texts with `dimensions` columns; memory
//! O(letters + buckets x dimensions). `V` is found on at most 20,000 texts.
//!
//! Source: Deerwester, Dumais, Furnas, Landauer and Harshman, "Indexing by latent semantic analysis",
//! JASIS 1990; the directions by subspace iteration (Halko, Martinsson and Tropp 2011). Ours: buckets in
//! place of a dictionary, so that no word of a query is unknown.

use std::collections::BTreeMap;

use ndarray::{Array1, Array2, Axis};
use rand::RngExt;
use rand::seq::index;
use serde::{Deserialize, Serialize};

use crate::arrays::{Arrays, Values};
use crate::linear::spd::{cross, eigen};
use crate::{Error, Monitor, Result, parallel, seed};

/// Most texts that the directions are found on.
const MOST: usize = 20_000;
/// Products with the texts, there and back.
const ITERATIONS: usize = 4;
/// Directions beside those that are kept, which make these exact sooner.
const MORE: usize = 10;
/// Texts of which less than this is along the directions stay as short as they are.
const UNKNOWN: f64 = 1e-6;
/// A direction of less than this share of the first singular value says nothing.
const NOTHING: f64 = 1e-6;

/// Parameters of texts as rows; see [`text`](self).
///
/// ```
/// use likewise::{Monitor, text::TfIdf};
/// let reader = TfIdf::new().fit(&["red shirt", "red shoes", "garden hose"], 7, &Monitor::silent())?;
/// let rows = reader.rows(&["a red shirt", "hoses for the garden"]);
/// assert_eq!(rows.nrows(), 2);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TfIdf {
    buckets: usize,
    dimensions: usize,
}

impl Default for TfIdf {
    fn default() -> Self {
        Self {
            buckets: 4096,
            dimensions: 100,
        }
    }
}

/// What was learned of some texts: how rare each bucket is, and the directions.
#[derive(Debug, Clone, PartialEq)]
pub struct TextReader {
    idf: Array1<f64>,
    /// `V`, `buckets x dimensions`.
    map: Array2<f64>,
}

/// Buckets and their values, ascending.
type Sparse = Vec<(usize, f64)>;

impl TfIdf {
    /// 4096 buckets, 100 directions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of buckets, at least 2.
    #[must_use]
    pub fn buckets(mut self, buckets: usize) -> Self {
        self.buckets = buckets;
        self
    }

    /// Most directions, at least 1.
    #[must_use]
    pub fn dimensions(mut self, dimensions: usize) -> Self {
        self.dimensions = dimensions;
        self
    }

    /// Checks the parameters.
    pub fn validate(&self) -> Result<()> {
        for (field, value, least) in [
            ("text.buckets", self.buckets, 2),
            ("text.dimensions", self.dimensions, 1),
        ] {
            if value < least {
                return Err(Error::parameter(
                    field,
                    value,
                    &format!("must be at least {least}"),
                ));
            }
        }
        Ok(())
    }

    /// Learns from some texts how they are read.
    ///
    /// Fails on a parameter out of range, where no text has a word, and when cancelled.
    pub fn fit(&self, texts: &[&str], seed: u64, monitor: &Monitor) -> Result<TextReader> {
        self.validate()?;
        let counted: Vec<Sparse> =
            parallel::map_rows(texts.len(), |i| counts(texts[i], self.buckets));
        let mut with = vec![0_u32; self.buckets];
        counted
            .iter()
            .flatten()
            .for_each(|&(bucket, _)| with[bucket] += 1);
        let n = texts.len() as f64;
        let idf = with
            .iter()
            .map(|&with| 1.0 + ((1.0 + n) / (1.0 + f64::from(with))).ln());
        let idf: Array1<f64> = idf.collect();
        let mut rows: Vec<Sparse> = counted
            .into_iter()
            .filter(|row| !row.is_empty())
            .map(|row| weighted(row, &idf))
            .collect();
        if rows.is_empty() {
            return Err(Error::data("no text has a word, so texts tell nothing"));
        }
        let mut rng = seed::stream(seed, "directions of texts");
        if rows.len() > MOST {
            let mut kept = index::sample(&mut rng, rows.len(), MOST).into_vec();
            kept.sort_unstable();
            rows = kept
                .into_iter()
                .map(|row| std::mem::take(&mut rows[row]))
                .collect();
        }
        let most = rows.len().min(self.buckets);
        let width = (self.dimensions + MORE).min(most);
        // Directions are rows here, which lie together in memory.
        let start =
            Array2::from_shape_simple_fn((width, self.buckets), || rng.random::<f64>() - 0.5);
        let mut v = orthonormal(start);
        monitor.start("directions of texts", ITERATIONS as u64);
        for done in 1..=ITERATIONS as u64 {
            v = orthonormal(back(&rows, &along(&rows, &v), self.buckets));
            monitor.step(done)?;
        }
        monitor.end();
        let u = along(&rows, &v);
        let found = eigen(&cross(&u, &u))?;
        let largest = found.largest();
        let enough = |&k: &usize| found.values[k] > NOTHING * NOTHING * largest;
        let kept: Vec<usize> = (0..width)
            .rev()
            .filter(enough)
            .take(self.dimensions)
            .collect();
        let turned = found.vectors.select(Axis(1), &kept);
        let mut map = v.t().dot(&turned);
        for mut direction in map.columns_mut() {
            // A direction and its opposite are the same.
            let most = direction.iter().fold(
                0.0_f64,
                |most, &v| if v.abs() > most.abs() { v } else { most },
            );
            direction *= most.signum();
        }
        Ok(TextReader {
            idf,
            map: map.as_standard_layout().into_owned(),
        })
    }
}

impl TextReader {
    /// Numbers that a text becomes.
    pub fn dimensions(&self) -> usize {
        self.map.ncols()
    }

    /// Texts as rows; a text without a word is zeros. O(letters + words x dimensions) a text.
    pub fn rows<T: AsRef<str> + Sync>(&self, texts: &[T]) -> Array2<f32> {
        let mut out = Array2::zeros((texts.len(), self.dimensions()));
        parallel::each_row(&mut out, |i, mut out| {
            let row = weighted(counts(texts[i].as_ref(), self.idf.len()), &self.idf);
            let mut sum = Array1::<f64>::zeros(self.dimensions());
            for (bucket, value) in row {
                sum.scaled_add(value, &self.map.row(bucket));
            }
            // Words that were never seen must not make those that were weaker.
            let length = sum.dot(&sum).sqrt();
            if length > UNKNOWN {
                sum /= length;
            }
            out.assign(&sum.mapv(|v| v as f32));
        });
        out
    }

    /// Its arrays: `idf` (`buckets`) and `lsa` (`buckets x dimensions`).
    pub fn arrays(&self) -> Arrays {
        let mut arrays = Arrays::default();
        arrays.put("idf", &[self.idf.len()], Values::F64(self.idf.to_vec()));
        arrays.put_matrix("lsa", &self.map);
        arrays
    }

    /// The reader of such arrays. Fails where they do not fit each other.
    pub fn from_arrays(arrays: &Arrays) -> Result<Self> {
        let (idf, map) = (arrays.vector64("idf")?, arrays.matrix64("lsa")?);
        if idf.len() != map.nrows() || map.is_empty() {
            return Err(Error::data("idf and lsa of a text view do not fit"));
        }
        Ok(Self { idf, map })
    }
}

/// How often words and triples of letters fall into each bucket.
fn counts(text: &str, buckets: usize) -> Sparse {
    let mut counts: BTreeMap<usize, f64> = BTreeMap::new();
    let mut count = |hash: u64| *counts.entry((hash % buckets as u64) as usize).or_default() += 1.0;
    let words = text.split(|c: char| !c.is_alphanumeric());
    for word in words.filter(|word| !word.is_empty()) {
        let lower = word.chars().flat_map(char::to_lowercase);
        let letters: Vec<char> = std::iter::once('^').chain(lower).chain(['$']).collect();
        count(hash(&letters));
        // A word of one letter is its own triple.
        let triples = letters.windows(3).filter(|_| letters.len() > 3);
        triples.for_each(|triple| count(hash(triple)));
    }
    counts.into_iter().collect()
}

/// FNV-1a, which is the same everywhere.
fn hash(letters: &[char]) -> u64 {
    let bytes = letters.iter().flat_map(|&c| u32::from(c).to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Counts by how rare they are, as a row of length 1.
fn weighted(mut row: Sparse, idf: &Array1<f64>) -> Sparse {
    for (bucket, value) in &mut row {
        *value = (1.0 + value.ln()) * idf[*bucket];
    }
    let length = row.iter().map(|(_, v)| v * v).sum::<f64>().sqrt();
    for (_, value) in &mut row {
        *value /= length;
    }
    row
}

/// Each text along each of the directions (`width x buckets`): `texts x width`.
fn along(rows: &[Sparse], v: &Array2<f64>) -> Array2<f64> {
    let mut out = Array2::zeros((rows.len(), v.nrows()));
    parallel::each_row(&mut out, |i, mut out| {
        for &(bucket, value) in &rows[i] {
            out.scaled_add(value, &v.column(bucket));
        }
    });
    out
}

/// The sums of the texts by what they are along each direction: `width x buckets`.
fn back(rows: &[Sparse], u: &Array2<f64>, buckets: usize) -> Array2<f64> {
    let mut out = Array2::zeros((u.ncols(), buckets));
    parallel::each_row(&mut out, |k, mut out| {
        for (row, u) in rows.iter().zip(u.column(k)) {
            for &(bucket, value) in row {
                out[bucket] += value * u;
            }
        }
    });
    out
}

/// The rows made orthonormal, one after the other; what nothing is left of becomes zeros.
fn orthonormal(mut v: Array2<f64>) -> Array2<f64> {
    for k in 0..v.nrows() {
        let (before, mut rest) = v.view_mut().split_at(Axis(0), k);
        let mut row = rest.row_mut(0);
        let length = row.dot(&row).sqrt();
        // Once more, since the first time leaves what rounding made.
        for _ in 0..2 {
            for other in before.rows() {
                let share = other.dot(&row);
                row.scaled_add(-share, &other);
            }
        }
        let left = row.dot(&row).sqrt();
        if left > 1e-10 * length {
            row /= left;
        } else {
            row.fill(0.0);
        }
    }
    v
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cosine(rows: &Array2<f32>, i: usize, j: usize) -> f32 {
        let (a, b) = (rows.row(i), rows.row(j));
        a.dot(&b) / (a.dot(&a) * b.dot(&b)).sqrt()
    }

    const TEXTS: [&str; 6] = [
        "a red shirt of cotton",
        "red cotton shirts",
        "blue shirt",
        "garden hose, green",
        "hose for the garden",
        "a hose",
    ];

    #[test]
    fn texts_that_share_words_are_near_and_their_case_says_nothing() {
        let reader = TfIdf::new().fit(&TEXTS, 3, &Monitor::silent()).unwrap();
        let rows = reader.rows(&["RED shirt!", "red shirts", "gardens", "?"]);
        assert!(
            cosine(&rows, 0, 1) > 0.5 && cosine(&rows, 0, 2) < 0.3,
            "{rows}"
        );
        assert!(rows.row(3).iter().all(|&v| v == 0.0));
        let again = TextReader::from_arrays(&reader.arrays()).unwrap();
        assert_eq!(again.rows(&TEXTS), reader.rows(&TEXTS));
    }

    #[test]
    fn rare_buckets_weigh_more_by_hand() {
        let idf = Array1::from(vec![1.0, 2.0]);
        // (1 + ln 1) x 1 and (1 + ln e) x 2.
        let row = weighted(vec![(0, 1.0), (1, std::f64::consts::E)], &idf);
        let length = 17.0_f64.sqrt();
        assert!((row[0].1 - 1.0 / length).abs() < 1e-12 && (row[1].1 - 4.0 / length).abs() < 1e-12);
    }

    #[test]
    fn all_directions_keep_all_products() {
        // As many directions as texts: the products of rows are those of the weighted counts.
        let reader = TfIdf::new().fit(&TEXTS, 1, &Monitor::silent()).unwrap();
        let rows = reader.rows(&TEXTS);
        let sparse = |i: usize| weighted(counts(TEXTS[i], reader.idf.len()), &reader.idf);
        for i in 0..6 {
            for j in 0..6 {
                let other: BTreeMap<usize, f64> = sparse(j).into_iter().collect();
                let exact: f64 = sparse(i)
                    .iter()
                    .map(|(b, v)| v * other.get(b).unwrap_or(&0.0))
                    .sum();
                let found = f64::from(rows.row(i).dot(&rows.row(j)));
                assert!((found - exact).abs() < 1e-5, "{i} {j}: {found} {exact}");
            }
        }
    }

    #[test]
    fn the_first_directions_hold_the_most_whatever_the_seed() {
        let all = TfIdf::new().fit(&TEXTS, 1, &Monitor::silent()).unwrap();
        let two = TfIdf::new()
            .dimensions(2)
            .fit(&TEXTS, 9, &Monitor::silent())
            .unwrap();
        for k in 0..2 {
            let apart = &all.map.column(k) - &two.map.column(k);
            assert!(apart.iter().all(|v| v.abs() < 1e-6), "{k}");
        }
        let hold = |k: usize| -> f64 {
            let along = TEXTS.iter().map(|text| {
                let row = weighted(counts(text, all.idf.len()), &all.idf);
                row.iter().map(|&(b, v)| v * all.map[(b, k)]).sum::<f64>()
            });
            along.map(|v| v * v).sum()
        };
        assert!((1..all.dimensions()).all(|k| hold(k) <= hold(k - 1) + 1e-9));
    }

    #[test]
    fn words_that_were_never_seen_do_not_make_others_weaker() {
        let reader = TfIdf::new().fit(&TEXTS, 3, &Monitor::silent()).unwrap();
        let rows = reader.rows(&["red shirt", "red shirt zyxwvu qponml"]);
        assert!(cosine(&rows, 0, 1) > 0.8, "{}", cosine(&rows, 0, 1));
        assert!((rows.row(1).dot(&rows.row(1)) - 1.0).abs() < 1e-5);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let none = TfIdf::new()
            .fit(&["", "!?"], 0, &Monitor::silent())
            .unwrap_err();
        assert!(none.to_string().contains("no text has a word"));
        assert!(TfIdf::new().buckets(1).validate().is_err());
        assert!(TfIdf::new().dimensions(0).validate().is_err());
    }
}
