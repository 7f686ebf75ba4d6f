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
//! Where `t` lies among all items of the known classes is uncertain: of `n` known ones the share below the
//! `r`th has the law Beta(r, n - r + 1).
//!
//! **Use it** before classes are counted by pseudo-labels, which give every item to a known class.
//! **Not** as a proof: outside items that look like a known class count as inside; and classes whose known
//! items are easier than most leave the others outside.
//!
//! Source: Storey, "A direct approach to false discovery rates", J. R. Statist. Soc. B 2002, with scores
//! of known items in the place of p-values.

use statrs::distribution::{Beta, ContinuousCDF, Normal};

use crate::{Error, Result};

/// Share of the known items whose scores are at home.
const HOME: f64 = 0.7;

/// Standard errors that the place of the quantile is taken to be off before a share counts as below 1: one
/// chance in 160.
const CLEAR: f64 = 2.5;

/// Known items, as many as they count for, below which nothing is said: with 16, one in six fits of two classes
/// that both had labels was told of others.
const ENOUGH: f64 = 20.0;

/// What share of unlabeled items is of the known classes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Inside {
    /// The share, 0 to 1.
    pub share: f64,
    /// What it may well be, by the place of the known items' quantile two and a half standard errors off; at most 1.
    pub most: f64,
    /// How many known items of equal weight those that were given count for.
    pub known: f64,
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
        let at_home = at_home as f64 / unlabeled.len() as f64;
        let known = sum * sum / squares;
        let rank = below * known;
        let off = Normal::standard().cdf(-CLEAR);
        let place = Beta::new(rank, known - rank + 1.0)
            .map_err(|e| Error::data(format!("the weights of the known items: {e}")))?;
        let least = place.inverse_cdf(off).max(f64::MIN_POSITIVE);
        Ok(Self {
            share: (at_home / below).min(1.0),
            most: (at_home / least).min(1.0),
            known,
        })
    }

    /// Whether some items are clearly outside, by enough known ones.
    pub fn is_part(self) -> bool {
        self.known >= ENOUGH && self.most < 1.0
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
        assert!(of(&weight).known < 4.0, "few of them count");
        assert!((of(&[1.0; 6]).known - 6.0).abs() < 1e-9);
    }

    #[test]
    fn few_known_items_say_nothing_and_chance_seldom_does() {
        use rand::RngExt;
        let outside: Vec<f64> = (0..100).map(|i| f64::from(i % 2) * 9.0).collect();
        let of = |n: usize| Inside::of(&vec![0.5; n], &vec![1.0; n], &outside).unwrap();
        assert!(!of(19).is_part() && of(100).is_part());
        let mut rng = crate::seed::stream(3, "none is outside");
        let unlabeled: Vec<f64> = (0..500).map(f64::from).collect();
        let told = (0..2000).filter(|_| {
            let known: Vec<f64> = (0..24).map(|_| rng.random_range(0.0..500.0)).collect();
            let inside = Inside::of(&known, &[1.0; 24], &unlabeled).unwrap();
            assert!(inside.most >= inside.share);
            inside.is_part()
        });
        let told = told.count();
        assert!(told <= 30, "{told} of 2000");
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        assert!(Inside::of(&[], &[], &[1.0]).is_err());
        assert!(Inside::of(&[1.0], &[1.0], &[]).is_err());
        assert!(Inside::of(&[1.0], &[1.0, 2.0], &[1.0]).is_err());
        assert!(Inside::of(&[f64::NAN], &[1.0], &[1.0]).is_err());
    }
}
