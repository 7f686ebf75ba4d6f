//! Learns, selects, learns from what was selected, and so on.

use likewise::Monitor;
use ndarray::Array2;

use super::checker::{self, Check, Opinion, at_most};
use super::network::Said;
use super::predicted::{End, Iteration, Predicted};
use super::rows::{self, Rows};
use super::settings::Lpf;
use super::side::{Pace, Side, largest};
use crate::{Device, Result};

/// A fall of the accuracy on the labels that were kept back beyond which a tuning is forgotten.
const FALL: f64 = 0.05;

impl Lpf {
    /// Predicts the classes of the items without a label, from the rows of one view or more and the
    /// classes of the others, which count from 0 to `classes`.
    ///
    /// Steps are reported to `monitor`. The same seed gives the same result on every number of
    /// threads; on another device to rounding.
    ///
    /// Fails on settings out of their range, on rows and labels of different numbers, on NaN in a
    /// row that is present, without labels of two classes, on a view that no labeled item has, with
    /// fewer labels than [`Outside`](super::Outside) needs, where the loss is no number any more, and
    /// when cancelled.
    ///
    /// ```
    /// use likewise::Monitor;
    /// use likewise_nn::lpf::{Lpf, Rows};
    /// use ndarray::Array2;
    ///
    /// // Two heaps of ten; one item of each is labeled.
    /// let x = Array2::from_shape_fn((20, 3), |(i, j)| {
    ///     (i / 10 * 4) as f32 + ((i * 7 + j * 5) % 11) as f32 / 11.0
    /// });
    /// let mut labels = vec![None; 20];
    /// (labels[0], labels[1], labels[10], labels[11]) = (Some(0), Some(0), Some(1), Some(1));
    /// let lpf = Lpf::new().hidden(16).epochs(40).iterations(2);
    /// let device = likewise_nn::device("cpu")?;
    /// let found = lpf.fit(&[Rows::all(x.view())], &labels, 2, 7, &device, &Monitor::silent())?;
    /// assert_eq!(found.class[15], Some(1));
    /// assert_eq!(found.class[0], None); // It had a label.
    /// # Ok::<(), likewise_nn::Error>(())
    /// ```
    pub fn fit(
        &self,
        views: &[Rows],
        labels: &[Option<u32>],
        classes: usize,
        seed: u64,
        device: &Device,
        monitor: &Monitor,
    ) -> Result<Predicted> {
        self.validate()?;
        rows::check(views, labels, classes)?;
        let kept_back = rows::kept_back(labels, classes, self.validation, seed);
        let mut sides = Vec::with_capacity(views.len());
        for (t, view) in views.iter().enumerate() {
            let items = view.items();
            let scaled = view.scaled(&items, self.scale, &format!("view {t}"))?;
            let own = (items, scaled);
            let side = Side::new(self, t, own, (labels, classes), &kept_back, seed, device);
            if !side.is_graded() {
                monitor.note(format!(
                    "view {t}: too few labels to keep some back; the nearest class means say how \
                     good it is"
                ));
            }
            sides.push(side);
        }
        let kept_back: Vec<usize> = (0..labels.len()).filter(|&i| kept_back[i]).collect();
        if let Some(outside) = &self.outside {
            outside.check(&sides)?;
        }
        Work {
            lpf: self,
            labels,
            classes,
            seed,
            sides,
            kept_back,
            believed: vec![None; labels.len()],
            unlike: vec![None; labels.len()],
            done: 0,
        }
        .run(monitor)
    }
}

struct Work<'a> {
    lpf: &'a Lpf,
    labels: &'a [Option<u32>],
    classes: usize,
    seed: u64,
    sides: Vec<Side>,
    kept_back: Vec<usize>,
    /// The classes of the items selected last.
    believed: Vec<Option<u32>>,
    /// How unlike the known classes the items without a label are, by the last selection.
    unlike: Vec<Option<f64>>,
    /// Epochs so far.
    done: u64,
}

/// The class of each selected item, and how sure of it the views are.
type Selected = Vec<Option<(u32, f32)>>;

impl Work<'_> {
    fn run(mut self, monitor: &Monitor) -> Result<Predicted> {
        let lpf = self.lpf;
        let later = lpf.tuning.epochs * (lpf.iterations - 1);
        let epochs = (lpf.first.epochs + later) * self.sides.len();
        monitor.start("label prediction", epochs as u64);
        let pace = Pace {
            epochs: lpf.first.epochs,
            rates: [lpf.first.rate, lpf.first.last_rate],
            ramp: lpf.entropy_ramp,
            patience: lpf.first.patience,
        };
        for side in &mut self.sides {
            let lessons = side.lessons(&self.believed, lpf.unlabeled_from_start);
            let stream = ("first stage", self.seed);
            side.learn(lpf, &lessons, pace, stream, &mut self.done, monitor)?;
        }
        let mut said: Vec<Said> = self.sides.iter().map(Side::say).collect();
        let unlabeled = self.labels.iter().filter(|label| label.is_none()).count();
        let tolerance = (lpf.tolerance * unlabeled as f64).floor() as usize;
        let mut iterations: Vec<Iteration> = Vec::new();
        let (selected, end) = loop {
            let (selected, iteration) = self.select(&said)?;
            let before = iterations.last().map(Iteration::n);
            let now = iteration.n();
            iterations.push(iteration);
            if now == 0 {
                if unlabeled > 0 {
                    monitor.warn(
                        "label prediction selects no item: no view is sure of one whose class \
                         mean agrees; lower the threshold, or label more items",
                    );
                }
                break (selected, End::Nothing);
            }
            if before.is_some_and(|before| before.abs_diff(now) <= tolerance) {
                break (selected, End::Saturated);
            }
            if iterations.len() == lpf.iterations {
                break (selected, End::Iterations);
            }
            self.learn_from(&selected, iterations.len(), &mut said, monitor)?;
        };
        monitor.end();
        Ok(self.predicted(&selected, iterations, &said, end))
    }

    /// What is believed now.
    fn select(&mut self, said: &[Said]) -> Result<(Selected, Iteration)> {
        let lpf = self.lpf;
        let accuracy = self.sides.iter().zip(said);
        let accuracy: Vec<f64> = accuracy.map(|(side, said)| side.accuracy(said)).collect();
        let mut opinions = vec![vec![None; self.sides.len()]; self.labels.len()];
        for (t, (side, said)) in self.sides.iter().zip(said).enumerate() {
            for (p, &item) in side.items.iter().enumerate() {
                let (Some(nearest), None) = (
                    side.means.nearest(side.rows.row(p), None),
                    self.labels[item],
                ) else {
                    continue;
                };
                let (class, confidence) = largest(said.posterior.row(p).to_slice().unwrap_or(&[]));
                opinions[item][t] = Some(Opinion {
                    class,
                    confidence,
                    nearest,
                });
            }
        }
        let each = opinions.iter();
        let mut selected: Selected = each
            .map(|o| lpf.check.select(o, &accuracy, lpf.threshold))
            .collect();
        let refused = self.refuse(&mut selected, said)?;
        if let Some(most) = lpf.max_per_class {
            at_most(&mut selected, most);
        }
        let found = selected.iter().enumerate();
        let (items, class): (Vec<usize>, Vec<u32>) =
            found.filter_map(|(i, s)| Some((i, (*s)?.0))).unzip();
        let mut per_class = vec![0; self.classes];
        for &k in &class {
            per_class[k as usize] += 1;
        }
        let view = (lpf.check == Check::Switching).then(|| checker::best_view(&accuracy));
        let iteration = Iteration {
            items,
            class,
            per_class,
            view,
            accuracy,
            refused,
        };
        Ok((selected, iteration))
    }

    /// Takes those out that look like none of the known classes. Gives how many these are.
    fn refuse(&mut self, selected: &mut Selected, said: &[Said]) -> Result<usize> {
        let Some(outside) = &self.lpf.outside else {
            return Ok(0);
        };
        let known = (self.believed.as_slice(), self.kept_back.as_slice());
        let (scores, most) = outside.scores(&self.sides, said, known, self.seed)?;
        let mut refused = 0;
        for (item, &score) in scores.iter().enumerate() {
            if selected[item].is_some() && score > most {
                selected[item] = None;
                refused += 1;
            }
            // It is no number where the item has no view.
            let asked = self.labels[item].is_none() && !score.is_nan();
            self.unlike[item] = asked.then_some(score);
        }
        Ok(refused)
    }

    /// All views learn from what was selected by selection number `number`.
    fn learn_from(
        &mut self,
        selected: &Selected,
        number: usize,
        said: &mut [Said],
        monitor: &Monitor,
    ) -> Result<()> {
        let lpf = self.lpf;
        self.believed = selected.iter().map(|s| s.map(|(k, _)| k)).collect();
        let believed = &self.believed;
        let pace = Pace {
            epochs: lpf.tuning.epochs,
            rates: [lpf.tuning.rate; 2],
            ramp: false,
            patience: 0,
        };
        let stream = (format!("tuning {number}"), self.seed);
        for (t, (side, said)) in self.sides.iter_mut().zip(said).enumerate() {
            if lpf.update_means {
                side.update_means(believed);
            }
            let lessons = side.lessons(believed, true);
            let stream = (stream.0.as_str(), stream.1);
            let progress = (said, &mut self.done);
            if !side.tune(lpf, &lessons, (pace, FALL), stream, progress, monitor)? {
                monitor.note(format!(
                    "view {t}: what was learned from selection {number} made it worse on the \
                     labels that were kept back, and is forgotten"
                ));
            }
        }
        Ok(())
    }

    fn predicted(
        &self,
        selected: &Selected,
        iterations: Vec<Iteration>,
        said: &[Said],
        end: End,
    ) -> Predicted {
        let n = self.labels.len();
        let mut scores = Array2::<f32>::zeros((n, self.classes));
        let mut seen = vec![0.0_f32; n];
        let (mut posteriors, mut features) = (Vec::new(), Vec::new());
        let mut all_logits = Vec::new();
        for (side, said) in self.sides.iter().zip(said) {
            let mut posterior = Array2::zeros((n, self.classes));
            let mut feature = Array2::zeros((n, self.lpf.hidden));
            let mut logits = Array2::zeros((n, self.classes));
            for (p, &item) in side.items.iter().enumerate() {
                posterior.row_mut(item).assign(&said.posterior.row(p));
                feature.row_mut(item).assign(&said.feature.row(p));
                logits.row_mut(item).assign(&said.logits.row(p));
                seen[item] += 1.0;
            }
            scores += &posterior;
            posteriors.push(posterior);
            features.push(feature);
            all_logits.push(logits);
        }
        for (mut row, &views) in scores.rows_mut().into_iter().zip(&seen) {
            row /= views.max(1.0);
        }
        Predicted {
            class: selected.iter().map(|s| s.map(|(k, _)| k)).collect(),
            confidence: selected.iter().map(|s| s.map_or(0.0, |(_, c)| c)).collect(),
            iterations,
            scores,
            posteriors,
            features,
            logits: all_logits,
            unlike: self.unlike.clone(),
            end,
        }
    }
}
