//! The triplets of some evidence.

use std::borrow::Cow;

use rand::seq::SliceRandom;

use crate::learn::{Evidence, Targets};
use crate::linear::Oasis;
use crate::{Error, Result, Triplets, seed};

/// The given triplets; else those of the classes: every anchor with every other item of its class
/// and every item of another, in a drawn order and with the weights of all three, or `most` drawn
/// in proportion to the weights where there are more.
///
/// Fails without a class of two items and an item of another one.
pub(super) fn compared<'a>(
    evidence: &Evidence<'a>,
    most: usize,
    seed: u64,
) -> Result<Cow<'a, Triplets>> {
    let targets = evidence.targets;
    match &targets.triplets {
        Some(triplets) => Ok(Cow::Borrowed(triplets)),
        None => Ok(Cow::Owned(of_classes(targets, most, seed)?)),
    }
}

fn of_classes(targets: &Targets, most: usize, seed: u64) -> Result<Triplets> {
    let Targets { class, weight, .. } = targets;
    let counted: Vec<u32> = (0..class.len() as u32)
        .filter(|&i| weight[i as usize] > 0.0)
        .collect();
    let is_same = |i: u32, j: u32| class[i as usize] == class[j as usize];
    let mut sizes = std::collections::BTreeMap::new();
    for &i in &counted {
        *sizes.entry(class[i as usize]).or_insert(0_usize) += 1;
    }
    let of_class = |&size: &usize| {
        let pairs = size.saturating_mul(size - 1);
        pairs.saturating_mul(counted.len() - size)
    };
    let all = sizes.values().map(of_class).fold(0, usize::saturating_add);
    if all == 0 {
        return Err(Error::data(
            "triplets need a class of two items and an item of another class; label more items, or \
             give triplets",
        ));
    }
    if all > most {
        return Oasis::new().steps(most).draw(class, weight, seed);
    }
    let mut found = Vec::with_capacity(all);
    for &a in &counted {
        for &p in counted.iter().filter(|&&p| p != a && is_same(a, p)) {
            let others = counted.iter().filter(|&&n| !is_same(a, n));
            found.extend(others.map(|&n| (a, p, n)));
        }
    }
    found.shuffle(&mut seed::stream(seed, "triplets of classes"));
    let mut triplets = Triplets::default();
    for (a, p, n) in found {
        let weight = [a, p, n].map(|i| weight[i as usize]);
        triplets.push(a, p, n, weight.iter().product());
    }
    Ok(triplets)
}
