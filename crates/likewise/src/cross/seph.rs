//! Semantics-preserving hashing: codes whose distances tell the similarities of the labels, as
//! probabilities.
//!
//! ```text
//! P_ij ~ w_i w_j where classes agree (i != j), 0 elsewhere; Q_ij ~ w_i w_j num_ij    each sums to 1
//! num_ij = 1 / (1 + |y_i - y_j|^2 / 4)               a quarter of that: Hamming, where y is +-1
//! cost = sum_ij P log(P / Q) + alpha sum_i w_i | |y_i| - 1 |^2,  alpha = .01 / (q n)
//! code = sign(y)
//! ```
//!
//! by steps with momentum .5 and a gain for each number, which grows while its slope keeps its
//! sign. The `y` of the lowest cost counts. Encoders by [kernel logistic
//! regression](super::klr), from the centres of k-means, then imitate the codes.
//!
//! **Use it** for bits from labels of up to some thousand objects. **Not** for more: what is above
//! `sample` objects is left out, and a warning says so; [`Gsph`](super::Gsph) takes all.
//!
//! Cost: O(100 m^2 q) for the m objects of the sample, and the encoder; memory O(m q), since no
//! matrix of pairs is kept.
//!
//! Source: Lin, Ding, Hu and Wang, "Semantics-preserving hashing for cross-view retrieval", CVPR
//! 2015 (SePH-km); the steps are those of t-SNE (van der Maaten and Hinton 2008). Published is
//! a rate of 500; ours is at most the number of objects, since of few the slopes are large, and 500
//! throws them apart for good ([`paper`](Seph::paper)).

use ndarray::{Array2, Axis, s};
use rand::seq::index;
use serde::{Deserialize, Serialize};

use super::gsph::imitated;
use super::klr::Anchors;
use super::parts::{Side, check_bits, check_positive, mean, normal, signs};
use super::{Hashed, KernelLogistic, Views};
use crate::matrix::product;
use crate::{Error, Monitor, Result, parallel, seed};

/// Rows of one task.
const ROWS: usize = 128;
const MOMENTUM: f64 = 0.5;

/// Parameters of semantics-preserving hashing; see [`seph`](self).
///
/// ```
/// use likewise::{Monitor, cross::{Seph, Views}};
/// let x = ndarray::array![[0.0, 1.0], [0.1, 0.2], [2.0, 0.9], [2.1, 0.1_f32]];
/// let y = ndarray::array![[5.0], [5.1], [1.0], [1.2_f32]];
/// let views = Views::paired(&[x.view(), y.view()], &[0, 0, 1, 1], &[1.0; 4])?;
/// let found = Seph::new().bits(8).fit(&views, 7, &Monitor::silent())?;
/// assert_eq!(found.learned[0].codes.bits(), 8);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Seph {
    bits: usize,
    iterations: usize,
    rate: f64,
    scale_rate: bool,
    sample: usize,
    kernel: KernelLogistic,
}

impl Default for Seph {
    fn default() -> Self {
        Self {
            bits: 64,
            iterations: 100,
            rate: 500.0,
            scale_rate: true,
            sample: 5000,
            kernel: KernelLogistic::default().how(Anchors::Means),
        }
    }
}

impl Seph {
    /// 64 bits, 100 iterations at a rate of 500 or of the number of objects, if that is less, of
    /// at most 5000 objects; 500 anchors.
    pub fn new() -> Self {
        Self::default()
    }

    /// A rate of 500 for any number of objects.
    pub fn paper() -> Self {
        Self::default().scale_rate(false)
    }

    /// Number of bits.
    #[must_use]
    pub fn bits(mut self, bits: usize) -> Self {
        self.bits = bits;
        self
    }

    /// Number of steps.
    #[must_use]
    pub fn iterations(mut self, iterations: usize) -> Self {
        self.iterations = iterations;
        self
    }

    /// Length of a step beside the slope; above 0.
    #[must_use]
    pub fn rate(mut self, rate: f64) -> Self {
        self.rate = rate;
        self
    }

    /// Whether the rate is at most the number of objects.
    #[must_use]
    pub fn scale_rate(mut self, scale_rate: bool) -> Self {
        self.scale_rate = scale_rate;
        self
    }

    /// Most objects that codes are learned for, drawn at random above that.
    #[must_use]
    pub fn sample(mut self, sample: usize) -> Self {
        self.sample = sample;
        self
    }

    /// The encoders.
    #[must_use]
    pub fn kernel(mut self, kernel: KernelLogistic) -> Self {
        self.kernel = kernel;
        self
    }

    /// Checks the parameters.
    pub fn validate(&self) -> Result<()> {
        check_bits("seph.bits", self.bits)?;
        check_positive("seph.rate", self.rate)?;
        for (field, value) in [
            ("seph.iterations", self.iterations),
            ("seph.sample", self.sample),
        ] {
            if value == 0 {
                return Err(Error::parameter(field, value, "must be at least 1"));
            }
        }
        self.kernel.validate().map_err(|e| e.under("seph."))
    }

    /// Codes of the labeled objects of any number of modalities, and encoders of any rows.
    ///
    /// Fails on a parameter out of range, on a modality without labeled rows, or without any in
    /// the sample, and when cancelled.
    pub fn fit(&self, views: &Views, seed: u64, monitor: &Monitor) -> Result<Hashed> {
        self.validate()?;
        let (mut sides, _) = Side::all(views)?;
        let mut labeled: Vec<usize> = sides.iter().flat_map(|s| &s.object).copied().collect();
        labeled.sort_unstable();
        labeled.dedup();
        let objects = self.drawn(labeled, seed, monitor);
        let class: Vec<u32> = objects.iter().map(|&o| views.class()[o]).collect();
        let weight: Vec<f64> = objects
            .iter()
            .map(|&o| f64::from(views.weight()[o]))
            .collect();
        let problem = Problem {
            class: &class,
            weight: &weight,
            alpha: 0.01 / (self.bits as f64 * weight.iter().sum::<f64>()),
        };
        let mut rng = seed::stream(seed, "codes of seph");
        let start = normal((objects.len(), self.bits), &mut rng) * 1e-4;
        let codes = signs(&self.codes(&problem, start, monitor)?);
        let mut targets = Vec::with_capacity(sides.len());
        for (t, side) in sides.iter_mut().enumerate() {
            let place = |o: &usize| objects.binary_search(o).ok();
            let kept: Vec<usize> = (0..side.rows.len())
                .filter(|&i| place(&side.object[i]).is_some())
                .collect();
            if kept.is_empty() {
                return Err(Error::data(format!(
                    "no object of the sample is seen in modality {t}; give a larger seph.sample"
                )));
            }
            if kept.len() < side.rows.len() {
                *side = side.select(&kept);
            }
            let places: Vec<usize> = side.object.iter().filter_map(place).collect();
            targets.push(codes.select(Axis(0), &places));
        }
        imitated(&sides, &targets, self.kernel, seed, monitor)
    }

    /// The objects that codes are learned for, ascending.
    fn drawn(&self, labeled: Vec<usize>, seed: u64, monitor: &Monitor) -> Vec<usize> {
        if labeled.len() <= self.sample {
            return labeled;
        }
        monitor.warn(format!(
            "seph compares all objects with each other: {} of {} are drawn; gsph takes all, or \
             give a larger seph.sample",
            self.sample,
            labeled.len()
        ));
        let mut rng = seed::stream(seed, "sample of seph");
        let drawn = index::sample(&mut rng, labeled.len(), self.sample);
        let mut objects: Vec<usize> = drawn.iter().map(|i| labeled[i]).collect();
        objects.sort_unstable();
        objects
    }

    fn codes(
        &self,
        problem: &Problem,
        start: Array2<f64>,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        let n = start.nrows() as f64;
        let rate = if self.scale_rate {
            self.rate.min(n)
        } else {
            self.rate
        };
        let mut state = State::new(start);
        let (mut cost, mut gradient) = problem.evaluate(&state.y);
        let mut best = (cost, state.y.clone());
        monitor.start("codes", self.iterations as u64);
        for iteration in 0..self.iterations {
            state.step(&gradient, rate);
            (cost, gradient) = problem.evaluate(&state.y);
            if cost < best.0 {
                best = (cost, state.y.clone());
            }
            monitor.step(iteration as u64 + 1)?;
        }
        monitor.end();
        Ok(best.1)
    }
}

impl Side {
    /// Some of the rows.
    fn select(&self, kept: &[usize]) -> Self {
        let x = self.x.select(Axis(0), kept);
        let weight: Vec<f64> = kept.iter().map(|&i| self.weight[i]).collect();
        let shift = mean(&x, &weight);
        let of = |values: &[usize]| kept.iter().map(|&i| values[i]).collect();
        Self {
            rows: of(&self.rows),
            x: x - &shift,
            mean: &self.mean + &shift,
            class: of(&self.class),
            weight,
            object: of(&self.object),
        }
    }
}

/// The numbers, how they moved last, and the gain of each.
struct State {
    y: Array2<f64>,
    moved: Array2<f64>,
    gains: Array2<f64>,
}

impl State {
    fn new(y: Array2<f64>) -> Self {
        let (moved, gains) = (Array2::zeros(y.dim()), Array2::ones(y.dim()));
        Self { y, moved, gains }
    }

    fn step(&mut self, gradient: &Array2<f64>, rate: f64) {
        let sign = |v: f64| if v == 0.0 { 0.0 } else { v.signum() };
        ndarray::azip!((gain in &mut self.gains, moved in &mut self.moved, &g in gradient) {
            // A step goes against the slope: different signs mean the same way as before.
            let onward = (sign(g) - sign(*moved)).abs() > 0.5;
            *gain = if onward { *gain + 0.2 } else { *gain * 0.8 }.max(0.01);
            *moved = MOMENTUM * *moved - rate * *gain * g;
        });
        self.y += &self.moved;
        let ones = vec![1.0; self.y.nrows()];
        self.y -= &mean(&self.y, &ones);
    }
}

struct Problem<'a> {
    class: &'a [u32],
    weight: &'a [f64],
    alpha: f64,
}

/// What one block of rows adds.
struct Block {
    /// Weighted sum of `num`.
    mass: f64,
    /// Sum of `P log(P / num)` over pairs that agree, but for the scale of P.
    divergence: f64,
    /// `sum_j p_ij num_ij (y_i - y_j)`, and the same with `num_ij^2`.
    pull: Array2<f64>,
    push: Array2<f64>,
}

impl Problem<'_> {
    /// The weight of all pairs that agree.
    fn agreeing(&self) -> f64 {
        let mut by_class = std::collections::BTreeMap::<u32, (f64, f64)>::new();
        for (&class, &w) in self.class.iter().zip(self.weight) {
            let (sum, squares) = by_class.entry(class).or_default();
            *sum += w;
            *squares += w * w;
        }
        by_class
            .values()
            .map(|(sum, squares)| sum * sum - squares)
            .sum()
    }

    /// Cost and gradient. `Q` has a common divisor that is known only after all pairs, so what
    /// pulls (with P) and what pushes (with Q) are summed apart, in one pass.
    fn evaluate(&self, y: &Array2<f64>) -> (f64, Array2<f64>) {
        let n = y.nrows();
        let agreeing = self.agreeing();
        let lengths: Vec<f64> = y.rows().into_iter().map(|r| r.dot(&r)).collect();
        let turned = y.t().as_standard_layout().into_owned();
        let blocks: Vec<Block> = parallel::map((0..n).step_by(ROWS), |from| {
            self.block(from..(from + ROWS).min(n), y, &turned, &lengths)
        });
        let mass: f64 = blocks.iter().map(|b| b.mass).sum();
        let (mut cost, mut gradient) = (0.0, Array2::zeros(y.dim()));
        for (block, mut out) in blocks
            .iter()
            .zip(gradient.axis_chunks_iter_mut(Axis(0), ROWS))
        {
            if agreeing > 0.0 {
                // log(P / Q) = log(num^-1) + log(mass / agreeing), since the weights cancel.
                cost += block.divergence / agreeing;
                out.scaled_add(1.0 / agreeing, &block.pull);
            }
            if mass > 0.0 {
                out.scaled_add(-1.0 / mass, &block.push);
            }
        }
        if agreeing > 0.0 && mass > 0.0 {
            cost += (mass / agreeing).ln();
        }
        let rows = gradient
            .rows_mut()
            .into_iter()
            .zip(y.rows())
            .zip(self.weight);
        for ((mut slopes, y), &w) in rows {
            for (slope, &y) in slopes.iter_mut().zip(y) {
                let off = y.abs() - 1.0;
                cost += self.alpha * w * off * off;
                *slope += 2.0 * self.alpha * w * off * if y >= 0.0 { 1.0 } else { -1.0 };
            }
        }
        (cost, gradient)
    }

    fn block(
        &self,
        range: std::ops::Range<usize>,
        y: &Array2<f64>,
        turned: &Array2<f64>,
        lengths: &[f64],
    ) -> Block {
        let own = y.slice(s![range.clone(), ..]).to_owned();
        let mut pulls = product(&own, y);
        let mut pushes = Array2::zeros(pulls.dim());
        let (mut mass, mut divergence) = (0.0, 0.0);
        let mut sums = Vec::with_capacity(range.len());
        for (i, (mut pull_row, mut push_row)) in range
            .clone()
            .zip(pulls.rows_mut().into_iter().zip(pushes.rows_mut()))
        {
            let (mut pull_sum, mut push_sum) = (0.0, 0.0);
            let others = pull_row.iter_mut().zip(push_row.iter_mut()).enumerate();
            for (j, (pull, push)) in others {
                let product = *pull;
                if j == i {
                    (*pull, *push) = (0.0, 0.0);
                    continue;
                }
                let apart = (lengths[i] + lengths[j] - 2.0 * product).max(0.0);
                let num = 1.0 / (1.0 + 0.25 * apart);
                let w = self.weight[i] * self.weight[j];
                mass += w * num;
                *push = w * num * num;
                push_sum += *push;
                *pull = 0.0;
                if self.class[i] == self.class[j] {
                    divergence -= w * num.ln();
                    *pull = w * num;
                    pull_sum += *pull;
                }
            }
            sums.push((pull_sum, push_sum));
        }
        // (sum_j m_ij) y_i - sum_j m_ij y_j
        let laplacian = |m: &Array2<f64>, sum: fn(&(f64, f64)) -> f64| {
            let mut out = -product(m, turned);
            for ((mut out, y), sums) in out.rows_mut().into_iter().zip(own.rows()).zip(&sums) {
                out.scaled_add(sum(sums), &y);
            }
            out
        };
        Block {
            mass,
            divergence,
            pull: laplacian(&pulls, |s| s.0),
            push: laplacian(&pushes, |s| s.1),
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::ArrayView2;
    use proptest::prelude::*;

    use super::super::check_values::{Rows, read};
    use super::super::parts::tests::{SplitMix, close, found, two_modalities};
    use super::*;
    use crate::Event;
    use crate::reference::in_one_and_two_threads;

    fn published() -> (Problem<'static>, Array2<f64>) {
        let problem = Problem {
            class: &[0, 0, 1, 1, 2, 2],
            weight: &[1.0; 6],
            alpha: 0.01 / 24.0,
        };
        (problem, SplitMix(11).bells((6, 4)) * 0.5)
    }

    #[test]
    fn published_values() {
        #[derive(Deserialize)]
        struct Case {
            #[serde(rename = "Y")]
            y: Rows,
            cost: f64,
            grad_used: Rows,
            #[serde(rename = "Y_after_1")]
            stepped: Rows,
            cost_after_1: f64,
        }
        let case: Case = read(include_str!("check_values/seph_kld.json"));
        let (problem, y) = published();
        assert!(close(&y, &case.y.0, 1e-12));
        let (cost, gradient) = problem.evaluate(&y);
        assert!((cost - case.cost).abs() < 1e-9, "{cost}");
        assert!(close(&gradient, &case.grad_used.0, 1e-9), "{gradient}");
        let mut state = State::new(y);
        state.step(&gradient, 500.0);
        assert!(close(&state.y, &case.stepped.0, 1e-9), "{}", state.y);
        let (cost, _) = problem.evaluate(&state.y);
        assert!((cost - case.cost_after_1).abs() < 1e-9, "{cost}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn cost_and_gradient_are_those_of_the_full_matrices(
            seed in 0_u64..999, n in 2_usize..10, q in 1_usize..5,
        ) {
            let mut rng = SplitMix(seed);
            let class: Vec<u32> = (0..n).map(|_| rng.next() as u32 % 3).collect();
            let weight: Vec<f64> = (0..n).map(|_| 0.5 + rng.uniform()).collect();
            let problem = Problem { class: &class, weight: &weight, alpha: 0.1 };
            let y = rng.bells((n, q));
            let naive = |y: &Array2<f64>| {
                let pair = |f: &dyn Fn(usize, usize) -> f64| Array2::from_shape_fn((n, n), |(i, j)| {
                    if i == j { 0.0 } else { weight[i] * weight[j] * f(i, j) }
                });
                let p = pair(&|i, j| f64::from(u8::from(class[i] == class[j])));
                let q = pair(&|i, j| {
                    1.0 / (1.0 + 0.25 * (&y.row(i) - &y.row(j)).mapv(|v| v * v).sum())
                });
                let (p, q) = (&p / p.sum().max(1e-300), &q / q.sum());
                let divergence: f64 = p.iter().zip(&q).filter(|(p, _)| **p > 0.0)
                    .map(|(p, q)| p * (p / q).ln()).sum();
                let off: f64 = y.rows().into_iter().zip(&weight)
                    .map(|(row, w)| w * row.mapv(|v| (v.abs() - 1.0).powi(2)).sum()).sum();
                divergence + 0.1 * off
            };
            let (cost, gradient) = problem.evaluate(&y);
            prop_assert!((cost - naive(&y)).abs() < 1e-9);
            if problem.agreeing() > 0.0 {
                for i in 0..n {
                    for k in 0..q {
                        let moved = |by: f64| {
                            let mut y = y.clone();
                            y[(i, k)] += by;
                            naive(&y)
                        };
                        let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                        prop_assert!((slope - gradient[(i, k)]).abs() < 1e-5 || y[(i, k)].abs() < 1e-5);
                    }
                }
            }
        }
    }

    #[test]
    fn classes_are_found_with_and_without_pairs() {
        let ([x, y], class) = two_modalities(5, 20, 0.3, 4);
        let ones = vec![1.0; 100];
        let paired = Views::paired(&[x.view(), y.view()], &class, &ones).unwrap();
        let sides: [(ArrayView2<f32>, &[u32], &[f32]); 2] =
            [(x.view(), &class, &ones), (y.view(), &class, &ones)];
        let apart = Views::unpaired(&sides).unwrap();
        for views in [&paired, &apart] {
            let run = || {
                Seph::new()
                    .bits(32)
                    .fit(views, 1, &Monitor::silent())
                    .unwrap()
            };
            let (one, two) = in_one_and_two_threads(run);
            assert_eq!(one, two);
            let share = found(&one.model, &[x.clone(), y.clone()], &class);
            assert!(share > 0.8, "{share}");
        }
    }

    #[test]
    fn above_the_sample_some_are_left_out_with_a_warning() {
        let ([x, y], class) = two_modalities(3, 20, 0.3, 4);
        let views = Views::paired(&[x.view(), y.view()], &class, &[1.0; 60]).unwrap();
        let warnings = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let seen = warnings.clone();
        let monitor = Monitor::new(move |event| {
            if let Event::Warning(message) = event {
                seen.lock().unwrap().push(message.clone());
            }
        });
        let found = Seph::new()
            .bits(8)
            .sample(40)
            .fit(&views, 1, &monitor)
            .unwrap();
        assert_eq!(found.learned[1].rows.len(), 40);
        assert!(warnings.lock().unwrap()[0].contains("40 of 60"));
    }

    #[test]
    fn weight_zero_is_absence() {
        let ([x, y], class) = two_modalities(3, 8, 0.3, 4);
        let weight: Vec<f32> = (0..24).map(|i| f32::from(u8::from(i % 4 > 0))).collect();
        let rows: Vec<usize> = (0..24).filter(|i| i % 4 > 0).collect();
        let part = |x: &Array2<f32>| x.select(Axis(0), &rows);
        let classes: Vec<u32> = rows.iter().map(|&i| class[i]).collect();
        let fit = |x: &Array2<f32>, y: &Array2<f32>, class: &[u32], weight: &[f32]| {
            let views = Views::paired(&[x.view(), y.view()], class, weight).unwrap();
            Seph::new()
                .bits(8)
                .fit(&views, 1, &Monitor::silent())
                .unwrap()
        };
        let all = fit(&x, &y, &class, &weight);
        assert_eq!(
            all.model,
            fit(&part(&x), &part(&y), &classes, &[1.0; 18]).model
        );
    }

    #[test]
    fn degenerate_classes_and_parameters() {
        let ([x, y], class) = two_modalities(2, 3, 0.4, 5);
        let fit = |seph: Seph, class: &[u32], weight: &[f32]| {
            let views = Views::paired(&[x.view(), y.view()], class, weight).unwrap();
            seph.bits(8).fit(&views, 0, &Monitor::silent())
        };
        for class in [&class, &vec![0; 6], &(0..6).collect()] {
            for seph in [Seph::new(), Seph::paper()] {
                let found = fit(seph, class, &[1.0; 6]).unwrap();
                assert!(found.model.encode(0, x.view()).is_ok());
            }
        }
        assert!(fit(Seph::new(), &class, &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]).is_ok());
        assert!(fit(Seph::new(), &class, &[0.0; 6]).is_err());
        assert!(fit(Seph::new().rate(0.0), &class, &[1.0; 6]).is_err());
        assert!(fit(Seph::new().iterations(0), &class, &[1.0; 6]).is_err());
    }
}
