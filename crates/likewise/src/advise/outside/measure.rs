//! How well a score tells new classes from known ones.

/// The chance that an item of a new class has a larger score than one of a known class, ties half: the
/// area under the ROC curve. `None` where one side has no item, or a score is not a number.
///
/// Cost: O(n log n).
///
/// ```
/// use likewise::advise::outside::auroc;
/// assert_eq!(auroc(&[2.0, 3.0], &[1.0, 2.0]), Some(0.875));
/// assert_eq!(auroc(&[], &[1.0]), None);
/// ```
pub fn auroc(new: &[f64], known: &[f64]) -> Option<f64> {
    if new.is_empty() || known.is_empty() || new.iter().chain(known).any(|s| s.is_nan()) {
        return None;
    }
    let mut sorted = known.to_vec();
    sorted.sort_by(f64::total_cmp);
    let wins = |score: &f64| {
        let below = sorted.partition_point(|k| k < score);
        let not_above = sorted.partition_point(|k| k <= score);
        f64::midpoint(below as f64, not_above as f64)
    };
    Some(new.iter().map(wins).sum::<f64>() / (new.len() * known.len()) as f64)
}

/// Share of new items that are accepted where the threshold accepts a share `q` of the known ones (at
/// least): the false positive rate at a true positive rate of `q`. `None` as [`auroc`].
///
/// ```
/// use likewise::advise::outside::new_accepted;
/// let known: Vec<f64> = (0..100).map(f64::from).collect();
/// // 95 known items are at most 94; so is one of the new ones.
/// assert_eq!(new_accepted(&[94.0, 94.5, 99.0, 120.0], &known, 0.95), Some(0.25));
/// ```
pub fn new_accepted(new: &[f64], known: &[f64], q: f64) -> Option<f64> {
    auroc(new, known)?;
    let mut sorted = known.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (q * sorted.len() as f64 - 1e-9).ceil() as usize;
    let threshold = sorted[rank.clamp(1, sorted.len()) - 1];
    let accepted = new.iter().filter(|s| **s <= threshold).count();
    Some(accepted as f64 / new.len() as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_area_is_the_share_of_pairs(
            new in prop::collection::vec(0_i32..6, 1..20),
            known in prop::collection::vec(0_i32..6, 1..20),
        ) {
            let [new, known] = [new, known].map(|s| s.into_iter().map(f64::from).collect::<Vec<_>>());
            let pairs = new.iter().flat_map(|a| known.iter().map(move |b| (a, b)));
            let wins: f64 = pairs.map(|(a, b)| {
                if a > b { 1.0 } else if a < b { 0.0 } else { 0.5 }
            }).sum();
            let expected = wins / (new.len() * known.len()) as f64;
            prop_assert!((auroc(&new, &known).unwrap() - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn no_number_no_area() {
        assert_eq!(auroc(&[f64::NAN], &[1.0]), None);
        assert_eq!(new_accepted(&[1.0], &[], 0.9), None);
    }
}
