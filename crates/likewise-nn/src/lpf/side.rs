//! One view on its way: its rows, its network, and how that learns.

use std::cmp::Ordering;

use burn::optim::{GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, Tensor, TensorData};
use likewise::seed::{self, Rng};
use likewise::{Monitor, matrix};
use ndarray::Array2;
use rand::seq::SliceRandom;

use super::losses;
use super::network::{Kept, Net, Said};
use super::rows::Means;
use super::settings::Lpf;
use crate::net::{matrix_tensor, to_matrix, value_of};
use crate::train::{Optimizer, gradient};
use crate::{Error, ErrorKind, Result};

/// A view with its network. Places are rows of `rows`.
pub(super) struct Side {
    /// The item of each row, ascending.
    pub(super) items: Vec<usize>,
    /// Scaled features.
    pub(super) rows: Array2<f32>,
    /// The known class of each row.
    pub(super) known: Vec<Option<u32>>,
    /// Which rows are kept back to measure.
    pub(super) kept_back: Vec<bool>,
    pub(super) means: Means,
    classes: usize,
    number: usize,
    moving: Moving,
    device: Device,
}

/// What learning changes.
#[derive(Clone)]
struct Moving {
    net: Net,
    centers: Array2<f32>,
    optimizer: ModuleOptimizer,
}

/// How a stage of learning goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    pub(super) epochs: usize,
    /// Step sizes of the first and of the second half.
    pub(super) rates: [f64; 2],
    /// Whether the entropy joins slowly.
    pub(super) ramp: bool,
    pub(super) patience: usize,
}

/// What a view learns from.
pub(super) struct Lessons {
    /// Rows with a class, known or believed.
    labeled: Vec<(usize, u32)>,
    unlabeled: Vec<usize>,
}

/// How well a network does on the labels that were kept back.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Grade {
    accuracy: f64,
    cross_entropy: f64,
}

impl Side {
    pub(super) fn new(
        lpf: &Lpf,
        number: usize,
        (items, rows): (Vec<usize>, Array2<f32>),
        (labels, classes): (&[Option<u32>], usize),
        kept_back: &[bool],
        seed: u64,
        device: &Device,
    ) -> Self {
        let known: Vec<Option<u32>> = items.iter().map(|&i| labels[i]).collect();
        let device = device.clone().autodiff();
        let net = Net::new((rows.ncols(), lpf.hidden, classes), number, seed, &device);
        let optimizer = Optimizer::Sgd {
            momentum: lpf.momentum,
        };
        let mut side = Self {
            means: Means::of(rows.view(), &known, classes),
            kept_back: items.iter().map(|&i| kept_back[i]).collect(),
            moving: Moving {
                net,
                centers: Array2::zeros((classes, lpf.hidden)),
                optimizer: optimizer.init(0.0),
            },
            items,
            rows,
            known,
            classes,
            number,
            device,
        };
        // A view whose labeled items were all kept back learns from them after all.
        if side.taught().next().is_none() {
            side.kept_back.fill(false);
        }
        side.moving.centers = side.first_centers();
        side
    }

    /// Rows with a known class that is not kept back.
    pub(super) fn taught(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let class = |p: usize| self.known[p].filter(|_| !self.kept_back[p]);
        (0..self.known.len()).filter_map(move |p| Some((p, class(p)?)))
    }

    /// The means of the features of each class as the network begins; of a class without rows, that
    /// of all.
    fn first_centers(&self) -> Array2<f32> {
        let (places, class): (Vec<usize>, Vec<u32>) = self.taught().unzip();
        let said = self.say_of(&places);
        let mut centers = Array2::zeros((self.classes, said.feature.ncols()));
        for k in 0..self.classes {
            let own = |p: &usize| class[*p] == k as u32;
            let own: Vec<usize> = (0..class.len()).filter(own).collect();
            let of = if own.is_empty() {
                matrix::column_means(said.feature.view())
            } else {
                matrix::column_means(matrix::select_rows(said.feature.view(), &own).view())
            };
            centers.row_mut(k).assign(&of.mapv(|v| v as f32));
        }
        centers
    }

    /// What it learns from: the known labels and what is believed of its rows. Without
    /// `unlabeled`, from rows with a class alone.
    pub(super) fn lessons(&self, believed: &[Option<u32>], unlabeled: bool) -> Lessons {
        let more = self.items.iter().enumerate();
        let more = more.filter_map(|(p, &item)| Some((p, believed[item]?)));
        let of_none = |&p: &usize| self.known[p].is_none();
        Lessons {
            labeled: self.taught().chain(more).collect(),
            unlabeled: if unlabeled {
                (0..self.known.len()).filter(of_none).collect()
            } else {
                Vec::new()
            },
        }
    }

    /// Takes the means of the classes anew, with what is believed.
    pub(super) fn update_means(&mut self, believed: &[Option<u32>]) {
        let class = self.items.iter().zip(&self.known);
        let class: Vec<Option<u32>> = class.map(|(&i, known)| known.or(believed[i])).collect();
        self.means = Means::of(self.rows.view(), &class, self.classes);
    }

    /// What its network says of all rows.
    pub(super) fn say(&self) -> Said {
        self.moving.net.say(self.rows.view(), &self.device)
    }

    fn say_of(&self, places: &[usize]) -> Said {
        let rows = matrix::select_rows(self.rows.view(), places);
        self.moving.net.say(rows.view(), &self.device)
    }

    /// Whether labels were kept back.
    pub(super) fn is_graded(&self) -> bool {
        self.kept_back.iter().any(|kept| *kept)
    }

    /// Share of the rows kept back whose class is found in what the network `said`; where none
    /// were, of the labeled rows that are nearest to the mean of their class.
    pub(super) fn accuracy(&self, said: &Said) -> f64 {
        if !self.is_graded() {
            return self.means.leave_one_out(self.rows.view(), &self.known);
        }
        let places: Vec<usize> = (0..self.known.len())
            .filter(|&p| self.kept_back[p])
            .collect();
        self.grade(&places, said, &places).accuracy
    }

    /// Of the rows `places`, for which `said` has the rows `at`.
    fn grade(&self, places: &[usize], said: &Said, at: &[usize]) -> Grade {
        let (mut right, mut loss) = (0.0, 0.0);
        for (&p, &row) in places.iter().zip(at) {
            let Some(class) = self.known[p] else { continue };
            let posterior = said.posterior.row(row);
            right += f64::from(u8::from(
                largest(posterior.to_slice().unwrap_or(&[])).0 == class,
            ));
            loss -= f64::from(posterior[class as usize].max(1e-12)).ln();
        }
        let n = places.len().max(1) as f64;
        Grade {
            accuracy: right / n,
            cross_entropy: loss / n,
        }
    }

    /// Learns; `done` epochs of the work were done before, and are reported.
    pub(super) fn learn(
        &mut self,
        lpf: &Lpf,
        lessons: &Lessons,
        pace: Pace,
        (stage, seed): (&str, u64),
        done: &mut u64,
        monitor: &Monitor,
    ) -> Result<()> {
        let mut draw = Draw::new(lessons, seed, &format!("{stage} of view {}", self.number));
        let kept: Vec<usize> = (0..self.known.len())
            .filter(|&p| self.kept_back[p])
            .collect();
        let all: Vec<usize> = (0..kept.len()).collect();
        let half = pace.epochs as f64 / 2.0;
        let mut best: Option<(Grade, usize, Moving)> = None;
        for epoch in 0..pace.epochs {
            let late = epoch as f64 >= half;
            let rate = pace.rates[usize::from(late)];
            let ramp = if pace.ramp {
                (epoch as f64 / half).min(1.0)
            } else {
                1.0
            };
            let steps = if lessons.unlabeled.is_empty() {
                lessons.labeled.len().div_ceil(lpf.labeled_batch)
            } else {
                lessons.unlabeled.len().div_ceil(lpf.unlabeled_batch)
            };
            for _ in 0..steps {
                monitor.check()?;
                self.step(lpf, &mut draw, rate, ramp)?;
            }
            *done += 1;
            monitor.step(*done)?;
            if pace.patience == 0 || !late || kept.is_empty() {
                continue;
            }
            let grade = self.grade(&kept, &self.say_of(&kept), &all);
            let better = best.as_ref().is_none_or(|(best, ..)| {
                match grade.accuracy.total_cmp(&best.accuracy) {
                    Ordering::Equal => grade.cross_entropy < best.cross_entropy,
                    order => order.is_gt(),
                }
            });
            if better {
                best = Some((grade, epoch, self.moving.clone()));
            } else if let Some((_, at, _)) = &best
                && epoch - at >= pace.patience
            {
                break;
            }
        }
        if let Some((.., moving)) = best {
            self.moving = moving;
        }
        Ok(())
    }

    /// As [`learn`](Self::learn), but where the accuracy on the labels that were kept back falls by
    /// more than `most`, what was learned is forgotten again. `said` is what the network says
    /// before, and after it what it says then.
    pub(super) fn tune(
        &mut self,
        lpf: &Lpf,
        lessons: &Lessons,
        (pace, most): (Pace, f64),
        (stage, seed): (&str, u64),
        (said, done): (&mut Said, &mut u64),
        monitor: &Monitor,
    ) -> Result<bool> {
        let (before, moving) = (self.accuracy(said), self.moving.clone());
        self.learn(lpf, lessons, pace, (stage, seed), done, monitor)?;
        let now = self.say();
        if self.is_graded() && before - self.accuracy(&now) > most + 1e-9 {
            self.moving = moving;
            return Ok(false);
        }
        *said = now;
        Ok(true)
    }

    /// One step; the centres move after the network, by the features before.
    fn step(&mut self, lpf: &Lpf, draw: &mut Draw, rate: f64, ramp: f64) -> Result<()> {
        let (mut places, class) = draw.labeled(lpf.labeled_batch);
        let labeled = places.len();
        places.extend(draw.unlabeled(lpf.unlabeled_batch));
        let x = matrix::select_rows(self.rows.view(), &places);
        let (n, device) = (places.len(), &self.device);
        let factors = Kept::draw(n, lpf.hidden, lpf.dropout, &mut draw.dropout, device);
        let Moving { net, centers, .. } = &self.moving;
        let input = matrix_tensor(&x, device);
        let seen = net.encode(input.clone(), factors.as_ref());
        let (columns, classes) = (x.ncols(), self.classes);
        let weights = &lpf.losses;
        let logits = seen.logits.clone().narrow(0, 0, labeled);
        let own = one_of(&class, classes, device);
        let mut loss = losses::cross_entropy(logits, own).mul_scalar(weights.cross_entropy);
        let feature = seen.feature.narrow(0, 0, labeled);
        if weights.center > 0.0 {
            let of: Vec<usize> = class.iter().map(|&k| k as usize).collect();
            let centers = matrix_tensor(&matrix::select_rows(centers.view(), &of), device);
            let center = losses::center(feature.clone(), centers);
            loss = loss + center.mul_scalar(weights.center);
        }
        if weights.entropy > 0.0 && ramp > 0.0 && n > labeled {
            let entropy = losses::entropy(seen.logits.clone().narrow(0, labeled, n - labeled));
            loss = loss + entropy.mul_scalar(weights.entropy * ramp);
        }
        if weights.reconstruction > 0.0 {
            let less = match lpf.reconstruction_columns {
                0 => 1.0,
                most => (most as f64 / columns as f64).min(1.0),
            };
            let rebuilt = net.decode(seen.logits, factors.as_ref());
            let error = losses::reconstruction(input, rebuilt);
            loss = loss + error.mul_scalar(weights.reconstruction * less);
        }
        let value = value_of(&loss);
        if !value.is_finite() {
            return Err(Error::new(
                ErrorKind::Internal,
                format!(
                    "label prediction of view {}: the loss became {value}; lower the step size \
                     ({rate})",
                    self.number
                ),
            ));
        }
        let mut gradients = loss.backward();
        let mut gradients = GradientsParams::from_module(&mut gradients, net);
        let mut shrink = 1.0;
        if lpf.clip > 0.0 {
            shrink = (lpf.clip / gradient::length(&[(net, &gradients)])).min(1.0);
        }
        let part = gradient::take(net, &mut gradients, &Net::ids(), shrink);
        let moving = &mut self.moving;
        moving.net = moving.optimizer.step(rate, moving.net.clone(), part);
        if weights.center > 0.0 {
            let feature = to_matrix(feature.detach());
            let (centers, rule) = (&mut moving.centers, lpf.centers);
            rule.step(centers, feature.view(), &class, rate, weights.center);
        }
        Ok(())
    }
}

/// The class of the largest value, the first of several, and the value.
pub(super) fn largest(row: &[f32]) -> (u32, f32) {
    let mut best = (0, f32::NEG_INFINITY);
    for (k, &v) in row.iter().enumerate() {
        if v > best.1 {
            best = (k as u32, v);
        }
    }
    best
}

/// A row a class, with a 1 in its column.
fn one_of(class: &[u32], classes: usize, device: &Device) -> Tensor<2> {
    let mut values = vec![0.0_f32; class.len() * classes];
    for (row, &k) in class.iter().enumerate() {
        values[row * classes + k as usize] = 1.0;
    }
    Tensor::from_data(TensorData::new(values, [class.len(), classes]), device)
}

/// Batches, drawn without replacement until all rows were in one.
struct Draw<'a> {
    lessons: &'a Lessons,
    order: Rng,
    dropout: Rng,
    labeled: Vec<usize>,
    unlabeled: Vec<usize>,
}

impl<'a> Draw<'a> {
    fn new(lessons: &'a Lessons, seed: u64, name: &str) -> Self {
        Self {
            lessons,
            order: seed::stream(seed, &format!("order, {name}")),
            dropout: seed::stream(seed, &format!("dropout, {name}")),
            labeled: Vec::new(),
            unlabeled: Vec::new(),
        }
    }

    fn labeled(&mut self, batch: usize) -> (Vec<usize>, Vec<u32>) {
        let all = &self.lessons.labeled;
        let next = next(&mut self.labeled, all.len(), batch, &mut self.order);
        next.into_iter().map(|i| all[i]).unzip()
    }

    fn unlabeled(&mut self, batch: usize) -> Vec<usize> {
        let all = &self.lessons.unlabeled;
        let next = next(&mut self.unlabeled, all.len(), batch, &mut self.order);
        next.into_iter().map(|i| all[i]).collect()
    }
}

/// The next `batch` of `n`, no more than there are; shuffled anew when they are used up.
fn next(left: &mut Vec<usize>, n: usize, batch: usize, rng: &mut Rng) -> Vec<usize> {
    let mut taken = Vec::with_capacity(batch.min(n));
    while taken.len() < batch.min(n) {
        if left.is_empty() {
            left.extend(0..n);
            left.shuffle(rng);
        }
        let missing = batch.min(n) - taken.len();
        let from = left.len().saturating_sub(missing);
        taken.extend(left.drain(from..));
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_go_through_all_rows() {
        let mut rng = seed::stream(1, "test");
        let mut left = Vec::new();
        let mut seen: Vec<usize> = (0..5)
            .flat_map(|_| next(&mut left, 10, 4, &mut rng))
            .collect();
        assert_eq!(seen.len(), 20);
        seen[..10].sort_unstable();
        assert_eq!(seen[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(next(&mut Vec::new(), 3, 8, &mut rng).len(), 3);
        assert!(next(&mut Vec::new(), 0, 8, &mut rng).is_empty());
    }

    #[test]
    fn of_equal_values_the_first_is_largest() {
        assert_eq!(largest(&[0.2, 0.4, 0.4]), (1, 0.4));
    }
}
