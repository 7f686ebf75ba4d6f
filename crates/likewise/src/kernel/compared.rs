//! The triplets of some evidence.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rand::seq::SliceRandom;

use crate::learn::{Evidence, Targets};
use crate::linear::Oasis;
use crate::tuple::ranked::Ranked;
use crate::{Error, Result, Triplets, seed};

/// The given triplets; else those of the classes: every anchor with every other item of its class
/// and every item of another, in a drawn order and with the weights of all three. Where there are more, `most`
/// of them are drawn: without replacement where all items weigh the same, else in proportion to the weights.
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
    let of = |item: u32| weight[item as usize];
    let counted = || (0..class.len() as u32).filter(|&item| of(item) > 0.0);
    let mut classes = BTreeMap::<u32, Vec<u32>>::new();
    for item in counted() {
        classes.entry(class[item as usize]).or_default().push(item);
    }
    let ranked = Ranked::new(classes.into_values());
    if ranked.count() == 0 {
        return Err(Error::data(
            "triplets need a class of two items and an item of another class; label more items, or \
             give triplets",
        ));
    }
    let mut others = counted().zip(counted().skip(1));
    let uneven = others.any(|(one, next)| of(one).total_cmp(&of(next)).is_ne());
    if uneven && ranked.count() > most {
        return Oasis::new().steps(most).draw(class, weight, seed);
    }
    let mut rng = seed::stream(seed, "triplets of classes");
    let mut found = ranked.at_most(most, &mut rng);
    found.sort_unstable();
    found.shuffle(&mut rng);
    let mut triplets = Triplets::default();
    for (a, p, n) in found {
        triplets.push(a, p, n, of(a) * of(p) * of(n));
    }
    Ok(triplets)
}
