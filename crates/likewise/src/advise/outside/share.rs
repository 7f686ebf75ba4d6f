//! What share of unlabeled items is of the known classes.
//!
//! ```text
//! share = (unlabeled items that score no more than t) / (q x unlabeled items), at most 1
//! t: the score that a share q of the known items does not exceed; q = .7
//! ```
//!
//! Known items that a score was not made from are as unlabeled ones of the same classes: a share `q` of
//! these is below `t` too. Few outside items are, so that what is found there stands for all inside ones.
//!
//! **Use it** before classes are counted by pseudo-labels, which give every item to a known class.
//! **Not** as a proof: outside items that look like a known class count as inside, so that the share is
//! rather too large.
//!
//! Source: Storey, "A direct approach to false discovery rates", J. R. Statist. Soc. B 2002, with scores
//! of known items in the place of p-values.

use crate::{Error, Result};

/// Share of the known items whose scores are at home.
const HOME: f64 = 0.7;

/// Standard errors that a share has to be below 1: with two, one in fourteen fits whose classes all had labels
/// was told of others.
const CLEAR: f64 = 3.0;

/// What share of unlabeled items is of the known classes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Inside {
    /// The share, 0 to 1.
    pub share: f64,
    /// Its standard error, that of the quantile of the known items.
    pub error: f64,
}

impl Inside {
    /// By scores of known items, each counting by its `weight`, and of unlabeled ones.
    ///
    /// Fails on NaN, on numbers that do not fit, and without a score of either kind.
    ///
    /// ```
    /// use likewise::advise::outside::share::Inside;
    /// let known: Vec<f64> = (0..100).map(f64::from).collect();
    /// let outside = std::iter::repeat_n(500.0, 50);
    /// let unlabeled: Vec<f64> = known.iter().copied().chain(outside).collect();
    /// let inside = Inside::of(&known, &[1.0; 100], &unlabeled)?;
    /// assert!((inside.share - 100.0 / 150.0).abs() < 0.01);
    /// assert!(inside.is_part());
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn of(known: &[f64], weight: &[f64], unlabeled: &[f64]) -> Result<Self> {
        let broken = known.iter().chain(weight).chain(unlabeled);
        if broken.clone().any(|v| v.is_nan()) || known.len() != weight.len() {
            return Err(Error::data(
                "a score is not a number, or without its weight",
            ));
        }
        let sum: f64 = weight.iter().sum();
        let squares: f64 = weight.iter().map(|w| w * w).sum();
        if unlabeled.is_empty() || sum <= 0.0 {
            return Err(Error::data(
                "there must be known and unlabeled items to compare",
            ));
        }
        let mut order: Vec<usize> = (0..known.len()).collect();
        order.sort_by(|&a, &b| known[a].total_cmp(&known[b]));
        let (mut below, mut home) = (0.0, f64::NEG_INFINITY);
        for place in order {
            below += weight[place] / sum;
            home = known[place];
            if below >= HOME - 1e-9 {
                break;
            }
        }
        let at_home = unlabeled.iter().filter(|score| **score <= home).count();
        let share = (at_home as f64 / unlabeled.len() as f64 / below).min(1.0);
        let error = share * ((1.0 - HOME) / HOME * squares / (sum * sum)).sqrt();
        Ok(Self { share, error })
    }

    /// Whether some items are clearly outside: three standard errors below all.
    pub fn is_part(self) -> bool {
        self.share + CLEAR * self.error < 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_items_count_by_their_weight() {
        // Of two kinds, one of which is nine tenths of all.
        let known = [1.0, 1.0, 1.0, 5.0, 5.0, 5.0];
        let weight = [3.0, 3.0, 3.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0];
        let unlabeled: Vec<f64> = (0..100).map(|i| if i < 90 { 1.0 } else { 5.0 }).collect();
        let of = |weight| Inside::of(&known, weight, &unlabeled).unwrap();
        assert!((of(&weight).share - 1.0).abs() < 1e-9, "{:?}", of(&weight));
        assert!(of(&weight).error > of(&[1.0; 6]).error, "few of them count");
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        assert!(Inside::of(&[], &[], &[1.0]).is_err());
        assert!(Inside::of(&[1.0], &[1.0], &[]).is_err());
        assert!(Inside::of(&[1.0], &[1.0, 2.0], &[1.0]).is_err());
        assert!(Inside::of(&[f64::NAN], &[1.0], &[1.0]).is_err());
    }
}
