//! Chunklets: sets of items that alike pairs join, directly or through others.
//!
//! Two items of a chunklet are of one class; which class, nobody knows, and two chunklets may
//! be of the same. Items in no alike pair are in no chunklet.
//!
//! **Use it** to turn must-links into what a learner of classes can use, such as
//! [`Rca`](crate::linear::Rca). **Not** for pairs that are often wrong: one wrong link makes one
//! chunklet of two classes. Triplets of neighbours soon join everything.
//!
//! Cost: O(n + pairs log n) at worst, about linear in practice; memory 4 bytes an item.
//!
//! Source: Bar-Hillel, Hertz, Shental and Weinshall, "Learning distance functions using
//! equivalence relations", ICML 2003, section 2. Ours: weights.

use super::Pairs;
use crate::Result;
use crate::graph::Forest;

/// The chunklet of each item.
///
/// ```
/// use likewise::Pairs;
/// use likewise::tuple::Chunklets;
/// let mut pairs = Pairs::default();
/// pairs.push(0, 3, true, 1.0);
/// pairs.push(3, 4, true, 0.5);
/// pairs.push(1, 4, false, 1.0);
/// let chunklets = Chunklets::of(&pairs, 5)?;
/// assert_eq!(chunklets.count, 1);
/// // Items 1 and 2 are in none.
/// assert_eq!(chunklets.weight, [1.0, 0.0, 0.0, 1.0, 0.5]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Chunklets {
    /// Number of the chunklet of each item, numbered by their smallest item; 0 for items in
    /// none, which have no weight.
    pub class: Vec<u32>,
    /// How sure an item is in its chunklet: the largest weight of its alike pairs; 0 for an item
    /// in none.
    pub weight: Vec<f32>,
    /// How many chunklets there are.
    pub count: usize,
    /// Unlike pairs whose items are in one chunklet nevertheless.
    pub contradicted: usize,
}

impl Chunklets {
    /// The chunklets of `n` items. A pair of weight 0 counts as if it were absent.
    ///
    /// Fails on pairs that do not [fit](Pairs::check).
    pub fn of(pairs: &Pairs, n: usize) -> Result<Self> {
        pairs.check(n)?;
        let mut forest = Forest::new(n);
        let mut weight = vec![0.0_f32; n];
        let counting = || pairs.iter().filter(|pair| pair.3 > 0.0);
        for (a, b, _, w) in counting().filter(|pair| pair.2) {
            forest.join(a, b);
            for item in [a, b] {
                let own = &mut weight[item as usize];
                *own = own.max(w);
            }
        }
        let (mut class, _) = forest.numbered();
        let contradicted = counting()
            .filter(|&(a, b, alike, _)| !alike && class[a as usize] == class[b as usize])
            .count();
        // Sets of one item have numbers too: without them, the others are counted anew.
        let mut number = vec![None; n];
        let mut count = 0;
        for (class, &weight) in class.iter_mut().zip(&weight) {
            if weight > 0.0 {
                *class = *number[*class as usize].get_or_insert_with(|| {
                    count += 1;
                    count - 1
                });
            } else {
                *class = 0;
            }
        }
        Ok(Self {
            class,
            weight,
            count: count as usize,
            contradicted,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]
        #[test]
        fn items_of_a_chunklet_are_those_that_can_be_reached(
            n in 2_usize..20,
            said in prop::collection::vec((0_usize..100, 1_usize..100, any::<bool>(), 0_u8..4), 0..30),
        ) {
            let mut pairs = Pairs::default();
            for &(a, step, alike, w) in &said {
                let a = a % n;
                let b = (a + 1 + step % (n - 1)) % n;
                pairs.push(a as u32, b as u32, alike, f32::from(w) / 2.0);
            }
            let found = Chunklets::of(&pairs, n).unwrap();
            // Naive: who reaches whom, squared until nothing changes.
            let mut reach = Array2::from_elem((n, n), false);
            for (a, b, alike, w) in pairs.iter() {
                let (a, b) = (a as usize, b as usize);
                if alike && w > 0.0 {
                    reach[[a, b]] = true;
                    reach[[b, a]] = true;
                }
            }
            for through in 0..n {
                for a in 0..n {
                    for b in 0..n {
                        reach[[a, b]] |= reach[[a, through]] && reach[[through, b]];
                    }
                }
            }
            for a in 0..n {
                prop_assert_eq!(found.weight[a] > 0.0, reach.row(a).iter().any(|&r| r));
                for b in 0..n {
                    let both = found.weight[a] > 0.0 && found.weight[b] > 0.0;
                    prop_assert_eq!(both && found.class[a] == found.class[b], reach[[a, b]]);
                }
                let own = pairs.iter().filter(|&(p, q, alike, _)| {
                    alike && [p as usize, q as usize].contains(&a)
                });
                let largest = own.map(|p| p.3).fold(0.0, f32::max);
                prop_assert_eq!(found.weight[a].to_bits(), largest.to_bits());
            }
            let broken = pairs.iter().filter(|&(a, b, alike, w)| {
                !alike && w > 0.0 && reach[[a as usize, b as usize]]
            });
            prop_assert_eq!(found.contradicted, broken.count());
            let highest = (0..n).filter(|&i| found.weight[i] > 0.0).map(|i| found.class[i] + 1).max();
            prop_assert_eq!(found.count, highest.unwrap_or(0) as usize);
        }
    }

    #[test]
    fn without_alike_pairs_there_are_none_and_bad_pairs_are_refused() {
        let mut pairs = Pairs::default();
        let none = Chunklets::of(&pairs, 0).unwrap();
        assert_eq!((none.count, none.class.len()), (0, 0));
        pairs.push(0, 1, false, 1.0);
        let none = Chunklets::of(&pairs, 3).unwrap();
        assert_eq!((none.count, none.contradicted), (0, 0));
        assert_eq!(none.weight, [0.0; 3]);
        let said = Chunklets::of(&pairs, 1).unwrap_err().to_string();
        assert!(said.contains("pair 0"), "{said}");
    }
}
