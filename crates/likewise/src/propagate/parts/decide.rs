//! A class for every item, where it is known how many items each class has.
//!
//! ```text
//! max sum_i u_i,c(i)   so that   lower_c <= #{i : c(i) = c} <= upper_c
//! ```
//!
//! an assignment problem, solved in its dual: a class has a price, an item takes the class of
//! the largest `u_ic + price_c`, and prices are set class by class. A price differs from 0 only
//! where a bound holds: with `price_c(m)` that at which `m` items take the class, given the others,
//!
//! ```text
//! price_c = clamp(0, price_c(lower_c), price_c(upper_c))
//! ```
//!
//! of which `price_c(m)` is left where both bounds are one. All that matters is how prices differ, so that
//! each round first sets what counts as 0, the level: where the lower bounds of the classes above it
//! and the upper bounds of those below add up to all items. Without this, prices that have gone
//! astray together would come back in small steps.
//!
//! Where items are as good as equal the sizes are met up to one of 1000 items, and of more than ten classes up to
//! one of 100 of what a class has in the mean; a class that an item may not take (it has no label in its
//! component) is never its class, so that sizes which the components rule out are missed.
//!
//! Cost: O(n C) to begin, then O(n) for each price that is set: some tens to hundreds of them, and some hundreds
//! where bounds are apart; memory O(n C) for the scores that are given, and O(n) more.
//!
//! Source: the auction of Bertsekas 1979 with one price set exactly at a time; Jacobs, Merkurjev and
//! Esedoglu 2018 use auctions for the same step.

use ndarray::{ArrayView2, Axis};

use crate::parallel;

/// Rows that one task looks at.
const ROWS: usize = 1024;
/// Most rounds over all classes, where each has one size.
const ROUNDS: usize = 60;
/// The same where bounds are apart: classes at a bound then push each other for longer.
const ROUNDS_APART: usize = 200;
/// Items a thousand that sizes may be missed by, of all.
const MISSED: f64 = 1.0;
/// Items a hundred that sizes may be missed by, of what a class has in the mean.
const MISSED_OF_CLASS: f64 = 1.0;

/// What every class may have of the items that are decided.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bounds {
    pub(crate) lower: Vec<f64>,
    pub(crate) upper: Vec<f64>,
}

impl Bounds {
    /// Whether a class may have more than one size.
    fn apart(&self) -> bool {
        self.lower.iter().zip(&self.upper).any(|(l, u)| l < u)
    }

    /// The price that counts as none, where so many items are decided: classes above it are at their
    /// lower bound and those below at their upper one.
    fn level(&self, prices: &[f64], items: usize) -> f64 {
        let mut order: Vec<usize> = (0..prices.len()).collect();
        order.sort_by(|&a, &b| prices[a].total_cmp(&prices[b]));
        let items = items as f64;
        let mut held: f64 = self.lower.iter().sum();
        for (at, &class) in order.iter().enumerate() {
            held += self.upper[class] - self.lower[class];
            let above = order.get(at + 1).map_or(class, |&above| above);
            if held > items {
                return prices[class];
            }
            if held >= items {
                return f64::midpoint(prices[class], prices[above]);
            }
        }
        order.last().map_or(0.0, |&class| prices[class])
    }

    /// How many items a class of this size and price should have.
    fn wanted(&self, class: usize, size: f64, price: f64) -> f64 {
        let (lower, upper) = (self.lower[class], self.upper[class]);
        if price > 0.0 {
            lower
        } else if price < 0.0 {
            upper
        } else {
            size.clamp(lower, upper.max(lower))
        }
    }

    /// The price of a class, from what the items ask; `None` where none may take it.
    fn price(&self, class: usize, asks: &mut [f64], level: f64) -> Option<f64> {
        let (lower, upper) = (self.lower[class], self.upper[class]);
        let least = price_for(asks, lower)?;
        if lower >= upper {
            return Some(least);
        }
        // No price is too low for no items, nor too high for all.
        let least = if lower < 0.5 {
            f64::NEG_INFINITY
        } else {
            least
        };
        let most = if upper.round() >= asks.len() as f64 {
            f64::INFINITY
        } else {
            price_for(asks, upper)?
        };
        Some(level.max(least).min(most))
    }
}

/// The two best classes of an item, with what they are worth to it.
#[derive(Debug, Clone, Copy)]
struct Best {
    first: (f64, u32),
    second: (f64, u32),
}

/// A class and its worth that no item takes.
const NOTHING: (f64, u32) = (f64::NEG_INFINITY, u32::MAX);

impl Best {
    fn of(worth: impl Iterator<Item = (f64, u32)>) -> Self {
        let mut best = Self {
            first: NOTHING,
            second: NOTHING,
        };
        worth.for_each(|of| best.insert(of));
        best
    }

    /// Equal worth: the smaller class.
    fn insert(&mut self, of: (f64, u32)) {
        let before = |a: (f64, u32), b: (f64, u32)| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)).is_gt();
        if before(of, self.first) {
            self.second = self.first;
            self.first = of;
        } else if before(of, self.second) {
            self.second = of;
        }
    }
}

/// Prices of the classes by which the rows of `worth` (`n x C`) that are `open` take them within
/// `bounds`; a worth of minus infinity is a class that the item may not take. `prices` are where the
/// search begins.
pub(crate) fn prices(
    worth: ArrayView2<f64>,
    open: &[usize],
    bounds: &Bounds,
    mut prices: Vec<f64>,
) -> Vec<f64> {
    let classes = worth.ncols();
    let best_of = |i: usize, prices: &[f64]| {
        let row = worth.index_axis(Axis(0), i);
        let worth = row.into_iter().zip(prices).zip(0_u32..);
        Best::of(worth.map(|((u, price), class)| (u + price, class)))
    };
    let mut best: Vec<Best> = parallel::map_rows(open.len(), |at| best_of(open[at], &prices));
    let tolerance = tolerance(open.len(), classes);
    let apart = bounds.apart();
    let mut level = 0.0;
    for _ in 0..if apart { ROUNDS_APART } else { ROUNDS } {
        level = bounds.level(&prices, open.len());
        let missed: Vec<f64> = (sizes(&best, classes).into_iter().enumerate())
            .map(|(class, size)| bounds.wanted(class, size, prices[class] - level) - size)
            .collect();
        if missed.iter().all(|m| m.abs() <= tolerance) {
            break;
        }
        let mut order: Vec<usize> = (0..classes).collect();
        order.sort_by(|&a, &b| missed[b].abs().total_cmp(&missed[a].abs()).then(a.cmp(&b)));
        for class in order {
            let size = sizes(&best, classes)[class];
            let wanted = bounds.wanted(class, size, prices[class] - level);
            if (wanted - size).abs() <= 0.5 {
                continue;
            }
            let own = class as u32;
            // What the price has to be for the item to take this class.
            let mut asks: Vec<f64> = parallel::map_rows(open.len(), |at| {
                let best = &best[at];
                let other = if best.first.1 == own {
                    best.second
                } else {
                    best.first
                };
                other.0 - worth[[open[at], class]]
            });
            asks.retain(|ask| ask.is_finite());
            let Some(price) = bounds.price(class, &mut asks, level) else {
                continue;
            };
            prices[class] = price;
            let chunks = best.chunks_mut(ROWS).zip(open.chunks(ROWS));
            parallel::each(chunks, |(best, open)| {
                for (best, &i) in best.iter_mut().zip(open) {
                    if best.first.1 == own || best.second.1 == own {
                        *best = best_of(i, &prices);
                    } else {
                        best.insert((worth[[i, class]] + price, own));
                    }
                }
            });
        }
    }
    if apart {
        for price in &mut prices {
            *price -= level;
        }
    }
    prices
}

/// Items that the size of a class may be missed by.
fn tolerance(items: usize, classes: usize) -> f64 {
    let items = items as f64;
    let of_class = items / classes.max(1) as f64;
    let missed = (items * MISSED / 1000.0).min(of_class * MISSED_OF_CLASS / 100.0);
    missed.max(0.5)
}

/// The price at which `wanted` of the asks are met: between the last that is and the first that is
/// not. `None` without asks.
fn price_for(asks: &mut [f64], wanted: f64) -> Option<f64> {
    let n = asks.len();
    if n == 0 {
        return None;
    }
    let met = (wanted.round().max(0.0) as usize).min(n);
    let least = |asks: &[f64]| asks.iter().copied().fold(f64::INFINITY, f64::min);
    if met == 0 || met == n {
        let most = asks.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let least = least(asks);
        // Far beyond all: of two classes that are to be empty each would go a little below the other.
        let far = |end: f64| (most - least + end.abs()).max(1e-9);
        return Some(if met == 0 {
            least - far(least)
        } else {
            most + far(most)
        });
    }
    let (_, &mut last, above) = asks.select_nth_unstable_by(met - 1, f64::total_cmp);
    Some(f64::midpoint(last, least(above)))
}

fn sizes(best: &[Best], classes: usize) -> Vec<f64> {
    let mut sizes = vec![0.0; classes];
    for best in best {
        if let Some(size) = sizes.get_mut(best.first.1 as usize) {
            *size += 1.0;
        }
    }
    sizes
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;
    use proptest::prelude::*;

    use super::*;
    use crate::reference::in_one_and_two_threads;
    use crate::seed;
    use rand::RngExt;

    fn exactly(sizes: &[f64]) -> Bounds {
        Bounds {
            lower: sizes.to_vec(),
            upper: sizes.to_vec(),
        }
    }

    fn decided(worth: &Array2<f64>, prices: &[f64]) -> Vec<usize> {
        let best = |i: usize| {
            let row = worth.row(i);
            let all = row
                .iter()
                .zip(prices)
                .zip(0..)
                .map(|((u, p), c)| (u + p, c));
            Best::of(all).first.1 as usize
        };
        (0..worth.nrows()).map(best).collect()
    }

    /// The highest sum over all ways to give every class a size within its bounds.
    fn highest_within(worth: &Array2<f64>, lower: &[usize], upper: &[usize]) -> f64 {
        fn all(
            sizes: &mut Vec<usize>,
            rows: usize,
            upper: &[usize],
            then: &mut dyn FnMut(&[usize]),
        ) {
            let Some(&most) = upper.get(sizes.len()) else {
                if rows == 0 {
                    then(sizes);
                }
                return;
            };
            for size in 0..=most.min(rows) {
                sizes.push(size);
                all(sizes, rows - size, upper, then);
                sizes.pop();
            }
        }
        let mut best = f64::NEG_INFINITY;
        all(&mut Vec::new(), worth.nrows(), upper, &mut |sizes| {
            if sizes.iter().zip(lower).all(|(size, lower)| size >= lower) {
                best = best.max(highest(worth, 0, &mut sizes.to_vec()));
            }
        });
        best
    }

    /// The highest sum over all ways to give `sizes[c]` rows to each class.
    fn highest(worth: &Array2<f64>, row: usize, left: &mut Vec<usize>) -> f64 {
        if row == worth.nrows() {
            return 0.0;
        }
        let mut most = f64::NEG_INFINITY;
        for class in 0..left.len() {
            if left[class] > 0 {
                left[class] -= 1;
                most = most.max(worth[[row, class]] + highest(worth, row + 1, left));
                left[class] += 1;
            }
        }
        most
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn no_other_assignment_of_these_sizes_is_worth_more(
            n in 3_usize..9, classes in 2_usize..4, seed in 0_u64..10_000,
        ) {
            let mut rng = seed::stream(seed, "worth");
            let worth = Array2::from_shape_fn((n, classes), |_| rng.random::<f64>());
            let mut left = vec![0_usize; classes];
            for _ in 0..n {
                left[rng.random_range(0..classes)] += 1;
            }
            let bounds = exactly(&left.iter().map(|&s| s as f64).collect::<Vec<_>>());
            let open: Vec<usize> = (0..n).collect();
            let prices = prices(worth.view(), &open, &bounds, vec![0.0; classes]);
            let found = decided(&worth, &prices);
            let mut sizes = vec![0; classes];
            for &c in &found {
                sizes[c] += 1;
            }
            prop_assert_eq!(&sizes, &left);
            let sum: f64 = found.iter().enumerate().map(|(i, &c)| worth[[i, c]]).sum();
            prop_assert!((sum - highest(&worth, 0, &mut left)).abs() < 1e-9);
        }

        #[test]
        fn no_other_assignment_within_these_bounds_is_worth_more_wherever_prices_begin(
            n in 3_usize..8, classes in 2_usize..4, seed in 0_u64..10_000,
        ) {
            let mut rng = seed::stream(seed, "worth within bounds");
            let worth = Array2::from_shape_fn((n, classes), |_| rng.random::<f64>());
            let mut some = vec![0_usize; classes];
            for _ in 0..n {
                some[rng.random_range(0..classes)] += 1;
            }
            let lower: Vec<usize> = (some.iter())
                .map(|&size| size.saturating_sub(rng.random_range(0..3_usize)))
                .collect();
            let upper: Vec<usize> = some.iter().map(|&size| size + rng.random_range(0..3_usize)).collect();
            let bounds = Bounds {
                lower: lower.iter().map(|&size| size as f64).collect(),
                upper: upper.iter().map(|&size| size as f64).collect(),
            };
            let open: Vec<usize> = (0..n).collect();
            let best = highest_within(&worth, &lower, &upper);
            for scale in [0.0, 1.0, 5.0] {
                let start = (0..classes).map(|_| scale * (rng.random::<f64>() - 0.5)).collect();
                let prices = prices(worth.view(), &open, &bounds, start);
                let found = decided(&worth, &prices);
                let sum: f64 = found.iter().enumerate().map(|(i, &c)| worth[[i, c]]).sum();
                prop_assert!((sum - best).abs() < 1e-9, "{sum} for {best}");
                for (class, &price) in prices.iter().enumerate() {
                    let size = found.iter().filter(|&&c| c == class).count();
                    prop_assert!((lower[class]..=upper[class]).contains(&size));
                    // A price only where a bound holds.
                    prop_assert!(price <= 0.0 || size == lower[class], "{prices:?} {found:?}");
                    prop_assert!(price >= 0.0 || size == upper[class], "{prices:?} {found:?}");
                }
            }
        }
    }

    #[test]
    fn a_price_that_a_bound_no_longer_asks_for_is_taken_back() {
        let worth = ndarray::array![[0.9, 0.1], [0.8, 0.3], [0.2, 0.6], [0.4, 0.5]];
        let wide = Bounds {
            lower: vec![1.0; 2],
            upper: vec![3.0; 2],
        };
        // By these prices class 1 would have three, which is within its bounds.
        let found = prices(worth.view(), &[0, 1, 2, 3], &wide, vec![0.0, 0.6]);
        assert_eq!(found, [0.0; 2]);
    }

    #[test]
    fn classes_that_are_to_be_empty_do_not_go_down_by_turns() {
        let worth = Array2::from_shape_fn((5, 3), |(i, c)| [1.0, 0.99, 0.1][c] + 1e-3 * i as f64);
        let bounds = Bounds {
            lower: vec![0.0, 0.0, 2.0],
            upper: vec![0.0, 0.0, 6.0],
        };
        let prices = prices(worth.view(), &[0, 1, 2, 3, 4], &bounds, vec![0.0; 3]);
        assert_eq!(decided(&worth, &prices), [2; 5]);
    }

    #[test]
    fn within_bounds_nothing_is_moved_and_beyond_them_just_enough() {
        let mut rng = seed::stream(3, "worth");
        let worth = Array2::from_shape_fn((3000, 3), |(_, c)| {
            rng.random::<f64>() + if c == 0 { 0.5 } else { 0.0 }
        });
        let open: Vec<usize> = (0..3000).collect();
        let run = |lower: f64, upper: f64| {
            let bounds = Bounds {
                lower: vec![lower; 3],
                upper: vec![upper; 3],
            };
            let prices = prices(worth.view(), &open, &bounds, vec![0.0; 3]);
            let mut sizes = vec![0.0_f64; 3];
            for c in decided(&worth, &prices) {
                sizes[c] += 1.0;
            }
            (prices, sizes)
        };
        assert_eq!(run(0.0, 3000.0).0, [0.0; 3]);
        let (_, free) = run(0.0, 3000.0);
        assert!(free[0] > 2000.0);
        let (_, bounded) = run(600.0, 1500.0);
        assert!((bounded[0] - 1500.0).abs() <= 3.0 && bounded.iter().all(|&s| s >= 597.0));
        let (_, equal) = run(1000.0, 1000.0);
        assert!(equal.iter().all(|s| (s - 1000.0).abs() <= 3.0), "{equal:?}");
    }

    #[test]
    fn many_classes_are_met_each_not_only_all_together() {
        let mut rng = seed::stream(5, "worth");
        // The first classes are worth more to all.
        let worth = Array2::from_shape_fn((8000, 40), |(_, c)| {
            rng.random::<f64>() + 0.5 / (1.0 + c as f64)
        });
        let open: Vec<usize> = (0..8000).collect();
        let prices = prices(worth.view(), &open, &exactly(&[200.0; 40]), vec![0.0; 40]);
        let mut sizes = vec![0; 40];
        for c in decided(&worth, &prices) {
            sizes[c] += 1;
        }
        // One of 1000 of all would be 8.
        assert!(
            sizes.iter().all(|&s: &i32| (s - 200).abs() <= 2),
            "{sizes:?}"
        );
    }

    #[test]
    fn a_class_that_an_item_may_not_take_is_not_its_class() {
        let no = f64::NEG_INFINITY;
        let worth = ndarray::array![[0.9, 0.1], [0.8, no], [0.7, no], [0.6, 0.2]];
        // Class 1 cannot have three: it gets the two that may take it.
        let prices = prices(
            worth.view(),
            &[0, 1, 2, 3],
            &exactly(&[1.0, 3.0]),
            vec![0.0; 2],
        );
        assert_eq!(decided(&worth, &prices), [1, 0, 0, 1]);
    }

    #[test]
    fn any_number_of_threads_gives_the_same_prices() {
        let mut rng = seed::stream(4, "worth");
        let worth = Array2::from_shape_fn((5000, 6), |_| rng.random::<f64>());
        let open: Vec<usize> = (0..5000).filter(|i| i % 7 > 0).collect();
        let size = open.len() as f64 / 6.0;
        let run = || prices(worth.view(), &open, &exactly(&[size; 6]), vec![0.0; 6]);
        let (one, two) = in_one_and_two_threads(run);
        assert_eq!(one, two);
    }
}
