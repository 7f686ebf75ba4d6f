//! What score is too large: from items of known class that the score was not made from.
//!
//! **Use it** on items that were kept back ([`threshold`]), or, with few labels, on scores of items that
//! were left out in turn ([`out_of_fold`]). **Not** on the items that a score was fitted to, which look
//! more at home than any other.
//!
//! Source: the threshold is that of split conformal prediction (Vovk, Gammerman and Shafer 2005): of new items
//! of the known classes, at most a share `1 - q` is refused in the mean, or `1 / (v + 1)` where that is more, of `v`
//! scores; whatever the score.

use rand::seq::SliceRandom;

use crate::{Error, Result, seed};

/// The score that a share `q` of known items does not exceed: of `v` scores the one of rank
/// `ceil((v + 1) q)`, or the largest where there are fewer.
///
/// Fails without a score, on NaN, and unless `q` is above 0 and below 1.
///
/// ```
/// use likewise::advise::outside::calibrate::threshold;
/// let scores: Vec<f64> = (1..=99).map(f64::from).collect();
/// assert_eq!(threshold(&scores, 0.95)?, 95.0);
/// assert_eq!(threshold(&scores[..9], 0.95)?, 9.0);
/// # Ok::<(), likewise::Error>(())
/// ```
pub fn threshold(known: &[f64], q: f64) -> Result<f64> {
    if !(q > 0.0 && q < 1.0) {
        return Err(Error::parameter(
            "quantile",
            q,
            "must be above 0 and below 1",
        ));
    }
    let known = sorted(known)?;
    // A hair less, so that rounding does not take one rank more.
    let rank = ((known.len() + 1) as f64 * q - 1e-9).ceil() as usize;
    Ok(known[rank.clamp(1, known.len()) - 1])
}

/// Scores of labeled items by what was fitted without them: dealt into folds, each class evenly.
/// `score(fitted, asked)` gives the scores of the items `asked`.
///
/// Fails on fewer than two folds or items than folds, where `score` does, and where it gives another
/// number of scores.
pub fn out_of_fold(
    class: &[u32],
    folds: usize,
    seed: u64,
    mut score: impl FnMut(&[usize], &[usize]) -> Result<Vec<f64>>,
) -> Result<Vec<f64>> {
    if folds < 2 || class.len() < folds {
        let rule = format!(
            "must be from 2 to {}, the number of labeled items",
            class.len()
        );
        return Err(Error::parameter("folds", folds, &rule));
    }
    let mut order: Vec<usize> = (0..class.len()).collect();
    order.shuffle(&mut seed::stream(seed, "folds of known items"));
    order.sort_by_key(|&i| class[i]);
    let mut fold = vec![0; class.len()];
    for (place, &i) in order.iter().enumerate() {
        fold[i] = place % folds;
    }
    let mut scores = vec![0.0; class.len()];
    for f in 0..folds {
        let (asked, fitted): (Vec<usize>, Vec<usize>) =
            (0..class.len()).partition(|&i| fold[i] == f);
        let found = score(&fitted, &asked)?;
        if found.len() != asked.len() {
            let message = format!("{} scores of {} items", found.len(), asked.len());
            return Err(Error::data(message));
        }
        for (&i, score) in asked.iter().zip(found) {
            scores[i] = score;
        }
    }
    Ok(scores)
}

/// The share of known scores below each score, those equal to it half: scores of different kinds can be
/// averaged then.
///
/// Fails without a known score, and on NaN.
pub fn ranks(known: &[f64], scores: &[f64]) -> Result<Vec<f64>> {
    let known = sorted(known)?;
    check(scores)?;
    let rank = |score: &f64| {
        let below = known.partition_point(|k| k < score);
        let not_above = known.partition_point(|k| k <= score);
        f64::midpoint(below as f64, not_above as f64) / known.len() as f64
    };
    Ok(scores.iter().map(rank).collect())
}

/// The threshold that tells left-out classes best: each known class was in turn left out, `left_out`
/// has the scores of its items by what was fitted without it and `known` those of the others. Of all
/// thresholds the one of the largest balanced accuracy (share of known items accepted and of left-out
/// ones refused, halved), averaged over the classes; of equal ones the largest.
///
/// **Use it** with three classes or more, where new classes are expected to be like the known ones.
///
/// Fails without a class, on a class without scores, and on NaN.
pub fn leave_class_out(rounds: &[(Vec<f64>, Vec<f64>)]) -> Result<f64> {
    let rounds: Vec<(Vec<f64>, Vec<f64>)> = (rounds.iter())
        .map(|(known, left_out)| Ok((sorted(known)?, sorted(left_out)?)))
        .collect::<Result<_>>()?;
    let mut tried: Vec<f64> = rounds.iter().flat_map(|(known, _)| known.clone()).collect();
    tried.sort_by(f64::total_cmp);
    let share = |of: &[f64], t: f64| of.partition_point(|s| *s <= t) as f64 / of.len() as f64;
    let mut best = None;
    let mut most = f64::NEG_INFINITY;
    for t in tried {
        let balanced: f64 = (rounds.iter())
            .map(|(known, left_out)| f64::midpoint(share(known, t), 1.0 - share(left_out, t)))
            .sum();
        if balanced >= most {
            (best, most) = (Some(t), balanced);
        }
    }
    best.ok_or_else(|| Error::data("no class was left out"))
}

fn check(scores: &[f64]) -> Result<()> {
    if scores.iter().any(|s| s.is_nan()) {
        return Err(Error::data("a score is not a number"));
    }
    Ok(())
}

fn sorted(scores: &[f64]) -> Result<Vec<f64>> {
    check(scores)?;
    if scores.is_empty() {
        return Err(Error::data(
            "no score of a known item to compare with; keep labels back, or label more items",
        ));
    }
    let mut sorted = scores.to_vec();
    sorted.sort_by(f64::total_cmp);
    Ok(sorted)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_new_known_item_is_refused_as_rarely_as_asked(
            scores in prop::collection::vec(0.0..1.0_f64, 2..60),
            q in 0.05..0.95_f64,
        ) {
            // Each of the items in turn as the new one: the share refused is at most 1 - q, unless
            // there are too few others to say.
            let refused = (0..scores.len()).filter(|&i| {
                let mut others = scores.clone();
                let own = others.remove(i);
                own > threshold(&others, q).unwrap()
            });
            let refused = refused.count() as f64 / scores.len() as f64;
            let least = 1.0 / scores.len() as f64;
            prop_assert!(refused <= (1.0 - q).max(least) + 1e-9, "{} {}", refused, q);
        }
    }

    #[test]
    fn folds_hold_all_and_each_is_asked_by_the_others() {
        let class: Vec<u32> = (0..23).map(|i| i % 3).collect();
        let mut sizes = Vec::new();
        let scores = out_of_fold(&class, 5, 1, |fitted, asked| {
            assert_eq!(fitted.len() + asked.len(), 23);
            assert!(asked.iter().all(|i| !fitted.contains(i)));
            for k in 0..3 {
                let n = asked.iter().filter(|&&i| class[i] == k).count();
                assert!((1..=2).contains(&n), "{n}");
            }
            sizes.push(asked.len());
            Ok(asked.iter().map(|&i| i as f64).collect())
        });
        assert_eq!(scores.unwrap(), (0..23).map(f64::from).collect::<Vec<_>>());
        assert_eq!(sizes.iter().sum::<usize>(), 23);
        assert!(out_of_fold(&class, 1, 1, |_, _| Ok(vec![])).is_err());
        assert!(out_of_fold(&class[..3], 4, 1, |_, _| Ok(vec![])).is_err());
        assert!(out_of_fold(&class, 5, 1, |_, _| Ok(vec![])).is_err());
    }

    #[test]
    fn ranks_and_thresholds_by_hand() {
        let ranks = ranks(&[3.0, 1.0, 2.0, 2.0], &[0.0, 1.0, 2.0, 9.0]).unwrap();
        assert_eq!(ranks, [0.0, 0.125, 0.5, 1.0]);
        let rounds = [
            (vec![1.0, 2.0, 3.0], vec![2.5, 9.0]),
            (vec![1.0, 2.0, 4.0], vec![8.0, 9.0]),
        ];
        // At 4: known 1 and 1, refused 1/2 and 1: the sum of halves is 1.75; at 2: 2/3 + 2/3, 1 and 1.
        assert_eq!(
            leave_class_out(&rounds).unwrap().to_bits(),
            4.0_f64.to_bits()
        );
        assert!(leave_class_out(&[]).is_err());
        assert!(leave_class_out(&[(vec![], vec![1.0])]).is_err());
        assert!(threshold(&[], 0.9).is_err() && threshold(&[f64::NAN], 0.9).is_err());
        assert!(threshold(&[1.0], 1.0).is_err());
    }
}
