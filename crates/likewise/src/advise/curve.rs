//! What more labels are worth: the share of beliefs that are right, by the number of labels.
//!
//! 1. The labels are cut into folds. Each fold is kept back in turn; of the others a growing
//!    part [spreads](super::shares), and the kept ones say what share is right. Both are drawn as the labels were: class
//!    by class where each class has as many of them as another, to one, and else at random, for then a part of them has
//!    too few of some class, as they had when they were fewer. All of it is repeated with other draws.
//! 2. The share that is wrong is taken for `e(m) = floor + a m^-b`, `0 <= b <= 1`, m labels. Labels at
//!    hand do not tell how much no label will mend: the floor is anything between nothing and all of
//!    the smallest error seen, little more often than much.
//! 3. Items and draws are drawn again [`RESAMPLES`] times, each with a floor of its own. The middle of what they
//!    say is the value.
//! 4. Other labels, as many and drawn as these were, would have been right another share of the time: to what each
//!    resample says of `m` labels comes luck of a standard deviation of `0.5 sqrt(e (1 - e) / m)`. That of more labels is
//!    correlated with that of the fewer that are among them by the share that these are. The
//!    ends of the inner 95 % are the interval.
//!
//! **Use it** to decide whether to label on, of labels that are a fair sample of what there is. **Not** as the
//! quality of a search, nor far ahead: the interval grows, but a new class, or labels that were asked
//! for because they are hard, it does not foresee. With less than two classes of three labels there is no curve, and with
//! fewer than three labels a class both the share and what more labels are worth are more than it says: classes without any
//! come in ([`Curve::few`]).
//!
//! Cost: `repeats x folds x sizes` (about 5 x 5 x 6) propagations of the [shares](super::shares).
//!
//! Source: power laws of learning curves, Hestness et al. 2017; that the floor is not known, and is drawn
//! as such, and the luck are ours. Its size, the drawing of the floor and of the labels were chosen on the eight
//! development sets of `results/advise/curve.md`, which says how often the interval holds the truth.

use rand::seq::SliceRandom;
use rand::{Rng as _, RngExt};
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal};

use super::shares::{first_two, shares};
use crate::eval::bootstrap::Estimate;
use crate::{Error, Graph, Labels, Monitor, Result, seed};

/// Resamples of the intervals.
pub const RESAMPLES: usize = 500;
/// Parts that the labels are cut into.
const FOLDS: usize = 5;
/// Labels a class that a class of the test has at least; labels a class in all from which a curve tells of gains.
const LEAST: usize = 3;
/// What labels that were drawn otherwise would change, in standard deviations of as many beliefs as there are labels.
const LUCK: f64 = 0.5;
/// Steps between the fewest labels and all, at most.
const STEPS: usize = 6;

/// How the curve is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measure {
    repeats: usize,
    seed: u64,
}

impl Default for Measure {
    fn default() -> Self {
        Self {
            repeats: 5,
            seed: 0,
        }
    }
}

/// The share of beliefs that are right with so many labels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    /// Labels.
    pub labels: usize,
    /// Share that is right, 0 to 1.
    pub right: Estimate,
}

/// A measured curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// What was measured, by the number of labels.
    pub points: Vec<Point>,
    /// Labels that were kept back in turn.
    pub tested: usize,
    /// Of each label once, kept back in the first draw, the largest share at the most labels and whether its class is
    /// right: what a [`Temperature`](super::temperature::Temperature) is fitted on.
    pub held_out: Vec<(f32, bool)>,
    /// Whether there are fewer than three labels a class: more are then worth more than the curve says.
    pub few: bool,
    /// Floor, and the line of the logarithms, of each resample; and how lucky labels are, and others that are no part of
    /// them.
    laws: Vec<(Law, [f64; 2])>,
}

/// `e(m) = floor + exp(offset) m^-slope`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Law {
    floor: f64,
    offset: f64,
    slope: f64,
}

impl Law {
    fn right(&self, labels: f64) -> f64 {
        (1.0 - self.floor - (self.offset - self.slope * labels.ln()).exp()).clamp(0.0, 1.0)
    }

    /// The law of these numbers of labels, errors, and their weights, above a floor.
    fn fit(points: &[(f64, f64, f64)], floor: f64) -> Self {
        let logs = points
            .iter()
            .map(|&(m, e, w)| (m.ln(), (e - floor).max(1e-9).ln(), w));
        let logs: Vec<(f64, f64, f64)> = logs.collect();
        let sum = |of: &dyn Fn(&(f64, f64, f64)) -> f64| logs.iter().map(of).sum::<f64>();
        let all = sum(&|p| p.2);
        let (x, y) = (sum(&|p| p.2 * p.0) / all, sum(&|p| p.2 * p.1) / all);
        let spread = sum(&|p| p.2 * (p.0 - x).powi(2));
        let both = sum(&|p| p.2 * (p.0 - x) * (p.1 - y));
        let slope = if spread > 0.0 { -both / spread } else { 0.0 };
        let slope = slope.clamp(0.0, 1.0);
        Self {
            floor,
            offset: y + slope * x,
            slope,
        }
    }
}

impl Measure {
    /// Five repeats, seed 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Draws of folds and labels, at least 1: more cost more, and say more of luck with labels.
    #[must_use]
    pub fn repeats(mut self, repeats: usize) -> Self {
        self.repeats = repeats;
        self
    }

    /// Seed of the draws.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The curve of these labels on this graph (n nodes, n labels); `None` where fewer than two classes have
    /// three labels.
    ///
    /// Fails for no repeats, where the lengths differ, and when cancelled.
    ///
    /// ```
    /// use likewise::{Labels, Monitor, advise::curve::Measure, graph::KnnGraph};
    /// let x = ndarray::Array2::from_shape_fn((60, 2), |(i, j)| {
    ///     if i % 2 == j { 1.0 } else { (i / 2) as f32 / 60.0 }
    /// });
    /// let labels = Labels::from_integers((0..60).map(|i| i % 2)).draw(10, 1);
    /// let monitor = Monitor::silent();
    /// let graph = KnnGraph::new().k(5).build(x.view(), &monitor)?;
    /// let curve = Measure::new().measure(&graph, &labels, &monitor)?.expect("enough labels");
    /// let (now, then) = (curve.at(20), curve.at(40));
    /// assert!(now.value > 0.9 && then.low <= then.value && then.value <= then.high);
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn measure(
        &self,
        graph: &Graph,
        labels: &Labels,
        monitor: &Monitor,
    ) -> Result<Option<Curve>> {
        if self.repeats == 0 {
            return Err(Error::parameter("repeats", 0, "must be at least 1"));
        }
        let members = labels.by_class();
        let classes = members.iter().filter(|m| m.len() >= LEAST).count();
        if classes < 2 {
            return Ok(None);
        }
        let known: Vec<usize> = (0..labels.len())
            .filter(|&item| labels[item].class().is_some())
            .collect();
        let sizes = sizes(classes, known.len() - known.len().div_ceil(FOLDS));
        let by_class = are_alike(&members);
        let mut place = vec![usize::MAX; labels.len()];
        known
            .iter()
            .enumerate()
            .for_each(|(p, &item)| place[item] = p);
        // right[repeat][size][place of the item among the known ones]
        let mut right = vec![vec![vec![false; known.len()]; sizes.len()]; self.repeats];
        let mut held_out = Vec::new();
        monitor.start("what labels are worth", (self.repeats * FOLDS) as u64);
        for (repeat, right) in right.iter_mut().enumerate() {
            let mut rng = seed::stream(self.seed, &format!("label curve {repeat}"));
            let all = [known.clone()];
            let together = if by_class { &members[..] } else { &all };
            let fold_of = dealt(together, labels.len(), &mut rng);
            for fold in 0..FOLDS {
                let in_fold = |item: &usize| fold_of[*item] == fold;
                let kept: Vec<usize> = known.iter().copied().filter(in_fold).collect();
                let others = |of: &Vec<usize>| -> Vec<usize> {
                    of.iter().copied().filter(|item| !in_fold(item)).collect()
                };
                let rest: Vec<Vec<usize>> = together.iter().map(others).collect();
                let rest = in_turn(&rest, &mut rng);
                for (size, right) in sizes.iter().zip(right.iter_mut()) {
                    let mut shown = vec![false; labels.len()];
                    rest.iter().take(*size).for_each(|&item| shown[item] = true);
                    let part = labels.masked(|item| shown[item]);
                    let believed = shares(graph, &part, &monitor.quiet())?;
                    for &item in &kept {
                        let first = first_two(believed.row(item))[0];
                        let agrees = first.map(|(class, _)| class) == labels[item].class();
                        right[place[item]] = agrees;
                        // Once each: the same label says little more in another draw.
                        if repeat == 0 && size == &sizes[sizes.len() - 1] {
                            let share = first.map_or(0.0, |(_, share)| share.min(1.0));
                            held_out.push((share as f32, agrees));
                        }
                    }
                }
                monitor.step((repeat * FOLDS + fold) as u64 + 1)?;
            }
        }
        monitor.end();
        let with_labels = members.iter().filter(|m| !m.is_empty()).count();
        let few = known.len() < LEAST * with_labels;
        Ok(Some(Curve {
            few,
            ..self.conclude(&sizes, &right, held_out)
        }))
    }

    fn conclude(
        &self,
        sizes: &[usize],
        right: &[Vec<Vec<bool>>],
        held_out: Vec<(f32, bool)>,
    ) -> Curve {
        let n = right[0][0].len();
        let mut rng = seed::stream(self.seed, "label curve, drawn again");
        let share = |repeats: &[usize], items: &[usize], size: usize| {
            let count = |&r: &usize| items.iter().filter(|&&i| right[r][size][i]).count();
            repeats.iter().map(count).sum::<usize>() as f64 / (repeats.len() * items.len()) as f64
        };
        let every: Vec<usize> = (0..self.repeats).collect();
        let all: Vec<usize> = (0..n).collect();
        let mut drawn = vec![Vec::with_capacity(RESAMPLES); sizes.len()];
        let mut laws = Vec::with_capacity(RESAMPLES);
        for _ in 0..RESAMPLES {
            let items: Vec<usize> = (0..n).map(|_| rng.random_range(0..n)).collect();
            // One draw of labels is what a person has.
            let one = [rng.random_range(0..self.repeats)];
            let mut points = Vec::with_capacity(sizes.len());
            for (size, &labels) in sizes.iter().enumerate() {
                let value = share(&one, &items, size);
                drawn[size].push(value);
                // Half an item more: no error at all is luck.
                let error = ((1.0 - value) * n as f64 + 0.5) / (n as f64 + 1.0);
                points.push((
                    labels as f64,
                    error,
                    n as f64 * error / (1.0 - error).max(1e-3),
                ));
            }
            let smallest = points.iter().map(|p| p.1).fold(1.0, f64::min);
            let floor = smallest * (f64::from(rng.next_u32()) / f64::from(u32::MAX)).powi(2);
            let luck = [(); 2].map(|()| {
                let place: f64 = rng.random_range(1e-9..1.0 - 1e-9);
                Normal::standard().inverse_cdf(place)
            });
            laws.push((Law::fit(&points, 0.999 * floor), luck));
        }
        let points = (sizes.iter().zip(drawn).enumerate())
            .map(|(size, (&labels, drawn))| Point {
                labels,
                right: inner(share(&every, &all, size), drawn),
            })
            .collect();
        Curve {
            points,
            tested: n,
            held_out,
            few: false,
            laws,
        }
    }
}

impl Curve {
    /// The share of beliefs that will be right with so many labels, at least 1, drawn as those so far.
    pub fn at(&self, labels: usize) -> Estimate {
        let m = labels.max(1) as f64;
        let said = self.laws.iter().map(|(law, _)| law.right(m)).collect();
        let drawn = (self.laws.iter()).map(|(law, luck)| lucky(law.right(m), m, luck[0]));
        inner(middle(said), drawn.collect())
    }

    /// By how much the share of right beliefs will grow on the way from some labels to others. It may fall: labels can
    /// have been lucky ones.
    pub fn gain(&self, from: usize, to: usize) -> Estimate {
        let (from, to) = (from.max(1) as f64, to.max(1) as f64);
        let laws = self.laws.iter();
        let said = laws.clone().map(|(law, _)| law.right(to) - law.right(from));
        // Labels that are there stay among those that are more.
        let shared = from.min(to) / from.max(to);
        let drawn = laws.map(|(law, [own, other])| {
            let then = shared * own + (1.0 - shared * shared).sqrt() * other;
            lucky(law.right(to), to, then) - lucky(law.right(from), from, *own)
        });
        inner(middle(said.collect()), drawn.collect())
    }
}

/// The share that is right of so many labels, as lucky as this.
fn lucky(right: f64, labels: f64, luck: f64) -> f64 {
    let spread = LUCK * (right * (1.0 - right) / labels).sqrt();
    (right + luck * spread).clamp(0.0, 1.0)
}

fn middle(mut of: Vec<f64>) -> f64 {
    of.sort_unstable_by(f64::total_cmp);
    of[of.len() / 2]
}

/// Whether each class that has a label has as many as another, to one.
fn are_alike(members: &[Vec<usize>]) -> bool {
    let sizes = || members.iter().map(Vec::len).filter(|&size| size > 0);
    let (least, most) = (sizes().min(), sizes().max());
    most.unwrap_or(0) - least.unwrap_or(0) <= 1
}

/// The inner 95 % of what was drawn, around the value.
fn inner(value: f64, mut drawn: Vec<f64>) -> Estimate {
    drawn.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| drawn[((drawn.len() - 1) as f64 * share).round() as usize];
    Estimate {
        value,
        low: at(0.025).min(value),
        high: at(0.975).max(value),
    }
}

/// Growing numbers of labels, from `fewest` to `most`.
fn sizes(fewest: usize, most: usize) -> Vec<usize> {
    let ratio = (most as f64 / fewest as f64).max(1.0);
    let steps = (ratio.log2().ceil() as usize).clamp(1, STEPS - 1);
    let size = |step: usize| fewest as f64 * ratio.powf(step as f64 / steps as f64);
    let mut sizes: Vec<usize> = (0..=steps).map(|s| size(s).round() as usize).collect();
    sizes.dedup();
    sizes
}

/// The fold of each labeled item: each class is dealt evenly, one class after the other.
fn dealt(members: &[Vec<usize>], n: usize, rng: &mut seed::Rng) -> Vec<usize> {
    let mut fold_of = vec![FOLDS; n];
    let mut next = 0;
    for members in members {
        let mut members = members.clone();
        members.shuffle(rng);
        for item in members {
            fold_of[item] = next % FOLDS;
            next += 1;
        }
    }
    fold_of
}

/// The labeled items so that every part of the list has each class in about its share.
fn in_turn(members: &[Vec<usize>], rng: &mut seed::Rng) -> Vec<usize> {
    let mut placed = Vec::new();
    for members in members {
        let mut members = members.clone();
        members.shuffle(rng);
        let size = members.len() as f64;
        for (rank, item) in members.into_iter().enumerate() {
            placed.push(((rank as f64 + rng.random::<f64>()) / size, item));
        }
    }
    placed.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    placed.into_iter().map(|(_, item)| item).collect()
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Some results are exact.
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::graph::KnnGraph;

    /// Rows around one of three directions, `noise` apart, and their classes.
    fn noisy(n: usize, noise: f32) -> (Graph, Labels) {
        let mut rng = seed::stream(3, "label curve test");
        let x = Array2::from_shape_fn((n, 6), |(i, j)| {
            f32::from(u8::from(i % 3 == j)) + noise * rng.random_range(-1.0_f32..1.0)
        });
        let graph = KnnGraph::new().k(8).build(x.view(), &Monitor::silent());
        (
            graph.unwrap(),
            Labels::from_integers((0..n).map(|i| (i % 3) as i64)),
        )
    }

    #[test]
    fn a_power_law_is_found_again() {
        let law = |m: f64| 0.05 + 0.8 * m.powf(-0.5);
        let points: Vec<_> = [4.0, 8.0, 16.0, 32.0_f64].map(|m| (m, law(m), 1.0)).into();
        let found = Law::fit(&points, 0.05);
        assert!((found.slope - 0.5).abs() < 1e-9);
        assert!((found.right(100.0) - (1.0 - law(100.0))).abs() < 1e-9);
        // What grows is not foretold to grow on.
        let worse: Vec<_> = [(4.0, 0.1, 1.0), (8.0, 0.2, 1.0)].into();
        assert_eq!(Law::fit(&worse, 0.0).slope, 0.0);
        // All at one number of labels.
        let one = Law::fit(&[(4.0, 0.25, 1.0)], 0.0);
        assert!((one.right(1000.0) - 0.75).abs() < 1e-12);
    }

    #[test]
    fn sizes_grow_from_one_label_a_class_to_four_fifths() {
        assert_eq!(sizes(2, 16), [2, 4, 8, 16]);
        assert_eq!(sizes(3, 3), [3]);
        assert_eq!(sizes(10, 8000).len(), STEPS);
        assert!(sizes(10, 8000).windows(2).all(|w| w[0] < w[1]));
    }

    #[test]
    fn what_is_left_of_a_fold_has_each_class_before_any_twice() {
        let members: Vec<Vec<usize>> = (0..10).map(|c| (5 * c..5 * c + 5).collect()).collect();
        let fold_of = dealt(&members, 50, &mut seed::stream(1, "test"));
        for fold in 0..FOLDS {
            let rest: Vec<Vec<usize>> = members
                .iter()
                .map(|of| of.iter().copied().filter(|&i| fold_of[i] != fold).collect())
                .collect();
            let order = in_turn(&rest, &mut seed::stream(1, "order"));
            let mut first: Vec<usize> = order[..10].iter().map(|i| i / 5).collect();
            first.sort_unstable();
            assert_eq!(first, (0..10).collect::<Vec<usize>>());
        }
    }

    #[test]
    fn no_fold_takes_a_class_away() {
        // As many labels of each class as there are folds, which a deal in turn could put together.
        let members: Vec<Vec<usize>> = (0..10).map(|c| (5 * c..5 * c + 5).collect()).collect();
        let fold_of = dealt(&members, 51, &mut seed::stream(1, "test"));
        for members in &members {
            let mut folds: Vec<usize> = members.iter().map(|&i| fold_of[i]).collect();
            folds.sort_unstable();
            assert_eq!(folds, [0, 1, 2, 3, 4]);
        }
        assert_eq!(fold_of[50], FOLDS);
    }

    #[test]
    fn every_part_has_each_class_in_its_share() {
        let members = vec![(0..30).collect(), (30..40).collect::<Vec<usize>>()];
        let order = in_turn(&members, &mut seed::stream(1, "test"));
        for part in order.chunks(20) {
            let second = part.iter().filter(|&&i| i >= 30).count();
            assert!((4..=6).contains(&second), "{order:?}");
        }
        let mut all = order;
        all.sort_unstable();
        assert_eq!(all, (0..40).collect::<Vec<usize>>());
    }

    #[test]
    fn the_curve_rises_and_what_comes_is_within_its_interval() {
        let (graph, truth) = noisy(600, 1.3);
        let silent = Monitor::silent();
        let shown = truth.draw(10, 1);
        let measure = Measure::new().seed(2);
        let curve = measure.measure(&graph, &shown, &silent).unwrap().unwrap();
        assert_eq!(curve.tested, 30);
        assert_eq!(curve.held_out.len(), 30);
        let (first, last) = (curve.points[0], curve.points[curve.points.len() - 1]);
        assert_eq!((first.labels, last.labels), (3, 24));
        assert!(first.right.value < last.right.value, "{:?}", curve.points);
        let gain = curve.gain(30, 90);
        assert!(gain.low < gain.value && gain.value > 0.0 && gain.high < 0.5);
        assert!(!curve.few);
        // The truth: all other items, with 90 labels.
        let more = truth.draw(30, 1);
        let believed = shares(&graph, &more, &silent).unwrap();
        let open = (0..600).filter(|&i| more[i].class().is_none());
        let agrees = |&i: &usize| first_two(believed.row(i))[0].map(|f| f.0) == truth[i].class();
        let open: Vec<usize> = open.collect();
        let right = open.iter().filter(|i| agrees(i)).count() as f64 / open.len() as f64;
        let said = curve.at(90);
        assert!(
            said.low <= right && right <= said.high,
            "{right} not in {said:?}"
        );
        assert_eq!(
            measure.measure(&graph, &shown, &silent).unwrap().unwrap(),
            curve
        );
    }

    #[test]
    fn luck_widens_an_interval_and_leaves_the_value() {
        let law = Law::fit(&[(4.0, 0.3, 1.0), (64.0, 0.2, 1.0)], 0.0);
        let curve = |luck: f64| Curve {
            points: Vec::new(),
            tested: 64,
            held_out: Vec::new(),
            few: false,
            laws: (0..101)
                .map(|i| (law, [luck * f64::from(i - 50) / 50.0, 0.0]))
                .collect(),
        };
        let (plain, lucky) = (curve(0.0).gain(64, 128), curve(2.0).gain(64, 128));
        assert_eq!((plain.low, plain.high), (plain.value, plain.value));
        assert_eq!(plain.value, lucky.value);
        // Of 64 labels whose share is .8: 0.5 sqrt(.16 / 64) is a fortieth.
        let at = curve(2.0).at(64);
        assert!((at.value - 0.8).abs() < 1e-9);
        let width = 2.0 * 0.95 * 2.0 * 0.025;
        assert!((at.high - at.low - width).abs() < 3e-3, "{at:?}");
        // No label more is worth nothing, and one more hardly anything.
        let none = curve(2.0).gain(64, 64);
        assert_eq!((none.low, none.value, none.high), (0.0, 0.0, 0.0));
        let one = curve(2.0).gain(64, 65);
        assert!(one.high - one.low < 0.01, "{one:?}");
    }

    #[test]
    fn labels_of_unequal_classes_are_drawn_as_they_were() {
        assert!(are_alike(&[vec![0, 1], vec![2], vec![]]));
        assert!(!are_alike(&[vec![0, 1, 2], vec![3]]));
        // Of twenty classes some have one label: a curve there is, and it says that they are few.
        let x = Array2::from_shape_fn((200, 20), |(i, j)| f32::from(u8::from(i % 20 == j)));
        let silent = Monitor::silent();
        let graph = KnnGraph::new().k(5).build(x.view(), &silent).unwrap();
        let truth = Labels::from_integers((0..200).map(|i| i % 20));
        let shown =
            truth.masked(|i| i < 20 || (i / 20 == 1 && i % 20 < 2) || (40..42).contains(&i));
        let curve = Measure::new()
            .measure(&graph, &shown, &silent)
            .unwrap()
            .unwrap();
        assert!(curve.few);
        assert_eq!(curve.tested, 24);
    }

    #[test]
    fn without_labels_to_spare_there_is_no_curve() {
        let (graph, truth) = noisy(60, 0.5);
        let silent = Monitor::silent();
        let none = |labels: &Labels| {
            let found = Measure::new().measure(&graph, labels, &silent);
            found.unwrap().is_none()
        };
        assert!(none(&Labels::unknown(60)));
        assert!(none(&truth.draw(2, 1)));
        assert!(none(&truth.masked(|i| i % 3 == 0)));
        assert!(!none(&truth.draw(3, 1)));
        assert!(
            Measure::new()
                .repeats(0)
                .measure(&graph, &truth, &silent)
                .is_err()
        );
        let few = Labels::from_integers((0..30).map(|i| i % 3));
        assert!(Measure::new().measure(&graph, &few, &silent).is_err());
    }
}
