//! All comparisons of three that classes give, by their numbers.

use rand::seq::index::sample;

use crate::seed::Rng;

/// Anchor, positive and negative.
pub(crate) type Triple = (u32, u32, u32);

/// Every item as an anchor, with every other of its class and every item of another class.
pub(crate) struct Ranked {
    /// The items, class by class.
    items: Vec<u32>,
    /// Where each class begins among them, and the end.
    begins: Vec<usize>,
    /// How many triplets each class and those before it give.
    sums: Vec<usize>,
}

impl Ranked {
    /// From the items of each class.
    pub(crate) fn new<Class: IntoIterator<Item = u32>>(
        classes: impl IntoIterator<Item = Class>,
    ) -> Self {
        let (mut items, mut begins) = (Vec::new(), vec![0]);
        for class in classes {
            items.extend(class);
            begins.push(items.len());
        }
        let mut sum = 0_usize;
        let until = |bounds: &[usize]| {
            let own = bounds[1] - bounds[0];
            let pairs = own.saturating_mul(own.saturating_sub(1));
            sum = sum.saturating_add(pairs.saturating_mul(items.len() - own));
            sum
        };
        let sums = begins.windows(2).map(until).collect();
        Self {
            items,
            begins,
            sums,
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.sums.last().copied().unwrap_or(0)
    }

    /// All of them, or as many as `most` that are drawn without replacement where there are more.
    pub(crate) fn at_most(&self, most: usize, rng: &mut Rng) -> Vec<Triple> {
        if self.count() <= most {
            return (0..self.count()).map(|number| self.at(number)).collect();
        }
        let drawn = sample(rng, self.count(), most);
        drawn.iter().map(|number| self.at(number)).collect()
    }

    /// The one of this number, which is below their [count](Self::count).
    fn at(&self, number: usize) -> Triple {
        let class = self.sums.partition_point(|&sum| sum <= number);
        let before = class.checked_sub(1).map_or(0, |last| self.sums[last]);
        let (begin, end) = (self.begins[class], self.begins[class + 1]);
        let own = end - begin;
        let others = self.items.len() - own;
        let (pair, negative) = ((number - before) / others, (number - before) % others);
        let (anchor, other) = (pair / (own - 1), pair % (own - 1));
        let positive = other + usize::from(other >= anchor);
        // Those of the class itself stand between the others.
        let negative = negative + if negative < begin { 0 } else { own };
        let item = |place: usize| self.items[place];
        (item(begin + anchor), item(begin + positive), item(negative))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed;

    #[test]
    fn all_by_their_numbers_and_some_without_replacement() {
        // Items 4 and 7 of a class, none of the next, 1 and 3 and 8 of another, 0 alone in its own.
        let ranked = Ranked::new([vec![4, 7], vec![], vec![1, 3, 8], vec![0]]);
        let mut rng = seed::stream(1, "ranked");
        // 2 * 1 * 4 and 3 * 2 * 3.
        assert_eq!(ranked.count(), 8 + 18);
        let all = ranked.at_most(26, &mut rng);
        let first = [(4, 7, 1), (4, 7, 3), (4, 7, 8), (4, 7, 0), (7, 4, 1)];
        assert_eq!(all[..5], first);
        assert_eq!(all[8..12], [(1, 3, 4), (1, 3, 7), (1, 3, 0), (1, 8, 4)]);
        assert_eq!(all[25], (8, 3, 0));
        let mut some = ranked.at_most(25, &mut rng);
        assert!(some.iter().all(|triple| all.contains(triple)));
        some.sort_unstable();
        some.dedup();
        assert_eq!(some.len(), 25);
        assert_eq!(Ranked::new([vec![0, 1, 2]]).count(), 0);
        assert_eq!(Ranked::new([vec![0], vec![1]]).count(), 0);
    }
}
