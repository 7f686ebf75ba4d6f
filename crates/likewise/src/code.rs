//! Packed binary codes, and the search for those that differ in the fewest bits.
//!
//! | what | where |
//! |---|---|
//! | codes from signs, words, bytes | [`Codes`] |
//! | the nearest codes of every query, exactly | [`nearest`] |
//! | the nearest codes of real-valued queries | [`nearest_to_real`] |
//! | codes that learn classes | [`Hds`] |
//!
//! A code of 64 bits takes 8 bytes, and two are compared in about one cycle of a processor that
//! counts bits in vectors. **Use it** for the codes of hashing learners
//! ([`cross`](crate::cross)). **Not** for features that are not codes.

mod asymmetric;
pub mod hds;
mod kernel;
mod search;

use ndarray::{Array2, ArrayView2};

pub use asymmetric::{NearestReal, nearest_to_real};
pub use hds::Hds;
pub(crate) use kernel::Kernel;
pub use search::{Nearest, nearest};

use crate::{Error, Result};

/// Most bits of a code.
const MOST: usize = 1 << 15;

/// Binary codes of one length, in 64-bit words.
///
/// Bit `k` of a code is bit `k % 64`, from the lowest, of its word `k / 64`; 1 stands for +1. A
/// code has `bits / 64` words, rounded up, whose unused bits are 0. So the little-endian bytes
/// of the words are the common packing of eight bits a byte, lowest first.
///
/// ```
/// use likewise::code::Codes;
/// let codes = Codes::from_signs(ndarray::array![[0.5, -1.0, 0.0], [-2.0, -0.1, 3.0]].view())?;
/// assert_eq!(codes.words(), [0b101, 0b100]);
/// assert_eq!(codes.distance(0, 1), 1);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Codes {
    bits: usize,
    n: usize,
    words: Vec<u64>,
}

impl Codes {
    /// One code a row, one bit a column: 1 where the value is at least 0. O(n bits).
    ///
    /// Fails on NaN, without columns, and on more than 2^15 of them.
    pub fn from_signs(values: ArrayView2<f32>) -> Result<Self> {
        Self::of(values.dim(), |i, k| values[(i, k)].into())
    }

    /// As [`from_signs`](Self::from_signs), of values in `f64`.
    pub fn from_signs64(values: ArrayView2<f64>) -> Result<Self> {
        Self::of(values.dim(), |i, k| values[(i, k)])
    }

    fn of((n, bits): (usize, usize), value: impl Fn(usize, usize) -> f64) -> Result<Self> {
        check_bits(bits)?;
        let width = bits.div_ceil(64);
        let mut words = vec![0; n * width];
        for (i, code) in words.chunks_exact_mut(width).enumerate() {
            for k in 0..bits {
                let v = value(i, k);
                if v.is_nan() {
                    return Err(Error::data(format!(
                        "codes: row {i}, column {k} is NaN and has no sign; remove or fill it"
                    )));
                }
                code[k / 64] |= u64::from(v >= 0.0) << (k % 64);
            }
        }
        Ok(Self { bits, n, words })
    }

    /// Codes of `bits` bits from their words, code by code.
    ///
    /// Fails on 0 and more than 2^15 bits, where the words are not those of whole codes, and
    /// where an unused bit is 1.
    pub fn from_words(bits: usize, words: Vec<u64>) -> Result<Self> {
        check_bits(bits)?;
        let width = bits.div_ceil(64);
        if !words.len().is_multiple_of(width) {
            return Err(Error::data(format!(
                "{} words are not codes of {bits} bits, which have {width} each",
                words.len()
            )));
        }
        let unused = match bits % 64 {
            0 => 0,
            used => u64::MAX << used,
        };
        let mut last = words.iter().skip(width - 1).step_by(width);
        if let Some(i) = last.position(|word| word & unused != 0) {
            return Err(Error::data(format!(
                "code {i} has a bit past its {bits} bits; they must be 0"
            )));
        }
        let n = words.len() / width;
        Ok(Self { bits, n, words })
    }

    /// Number of codes.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Bits of a code.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// Words of a code.
    pub fn width(&self) -> usize {
        self.bits.div_ceil(64)
    }

    /// All words, code by code.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The words of code `i`.
    ///
    /// # Panics
    /// If there is no code `i`.
    pub fn row(&self, i: usize) -> &[u64] {
        let width = self.width();
        &self.words[i * width..(i + 1) * width]
    }

    /// Number of bits in which two of these codes differ.
    ///
    /// # Panics
    /// If there is no code `i` or `j`.
    pub fn distance(&self, i: usize, j: usize) -> u32 {
        let words = self.row(i).iter().zip(self.row(j));
        words.map(|(a, b)| (a ^ b).count_ones()).sum()
    }

    /// Copies the codes at `rows`, in that order.
    ///
    /// # Panics
    /// If a row is not below [`n`](Self::n).
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            bits: self.bits,
            n: rows.len(),
            words: rows.iter().flat_map(|&i| self.row(i)).copied().collect(),
        }
    }

    /// The codes as `n x bits` values of 1 and -1.
    pub fn to_signs(&self) -> Array2<f32> {
        Array2::from_shape_fn((self.n, self.bits), |(i, k)| self.sign(i, k) as f32)
    }

    /// 1 or -1.
    pub(crate) fn sign(&self, i: usize, k: usize) -> f64 {
        let word = self.words[i * self.width() + k / 64];
        if word >> (k % 64) & 1 == 1 { 1.0 } else { -1.0 }
    }
}

fn check_bits(bits: usize) -> Result<()> {
    if (1..=MOST).contains(&bits) {
        return Ok(());
    }
    Err(Error::parameter("bits", bits, "must be from 1 to 32768"))
}

/// Fails unless the codes are of one length, and the database small enough for `u32` positions.
fn check_search(query_bits: usize, database: &Codes, k: usize) -> Result<()> {
    if query_bits != database.bits {
        return Err(Error::data(format!(
            "the queries have {query_bits} bits, the database {}; encode both with one model",
            database.bits
        )));
    }
    if k == 0 {
        return Err(Error::parameter("k", 0, "must be at least 1"));
    }
    if database.n >= u32::MAX as usize {
        return Err(Error::data(format!(
            "a database of {} codes; at most {} can be searched at once",
            database.n,
            u32::MAX - 1
        )));
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;
    use rand::RngExt;

    use super::*;
    use crate::seed;

    /// Codes in which one bit of `sparse` is 1: the fewer, the more ties.
    pub(crate) fn random(n: usize, bits: usize, sparse: u32, seed: u64) -> Codes {
        let mut rng = seed::stream(seed, "test codes");
        let values = Array2::from_shape_fn((n, bits), |_| {
            if rng.random_range(0..sparse) == 0 {
                1.0
            } else {
                -1.0
            }
        });
        Codes::from_signs(values.view()).unwrap()
    }

    proptest! {
        #[test]
        fn signs_come_back(n in 0_usize..20, bits in 1_usize..200, seed in 0_u64..99) {
            let codes = random(n, bits, 2, seed);
            let signs = codes.to_signs();
            prop_assert_eq!(&Codes::from_signs(signs.view()).unwrap(), &codes);
            let words = codes.words().to_vec();
            prop_assert_eq!(&Codes::from_words(bits, words).unwrap(), &codes);
            for i in 0..n {
                let differ = (signs.row(0).iter().zip(signs.row(i)))
                    .filter(|(a, b)| (**a > 0.0) != (**b > 0.0))
                    .count();
                prop_assert_eq!(codes.distance(0, i) as usize, differ);
            }
            let last: Vec<usize> = (0..n).rev().collect();
            prop_assert_eq!(codes.select(&last).select(&last), codes);
        }
    }

    #[test]
    fn what_is_no_code_is_refused() {
        let bad = ndarray::array![[1.0, f32::NAN]];
        let message = Codes::from_signs(bad.view()).unwrap_err().to_string();
        assert!(message.contains("row 0, column 1"), "{message}");
        assert!(Codes::from_signs(Array2::zeros((3, 0)).view()).is_err());
        assert!(Codes::from_words(65, vec![0; 3]).is_err());
        assert!(Codes::from_words(3, vec![0, 8]).is_err());
        assert_eq!(Codes::from_words(64, vec![u64::MAX; 2]).unwrap().n(), 2);
    }
}
