//! Does propagation help on these items and these labels? Asked of the labels themselves.
//!
//! 1. The given labels are cut into folds, stratified by class: with five folds and five labels
//!    a class, each fold holds one label of each class.
//! 2. Each fold is hidden in turn, the rest is propagated, and the pseudo-labels of the hidden
//!    items are compared with their labels.
//! 3. The same hidden items get the label of the nearest item that is still labeled: by the
//!    cosine of features where they are given, else on the graph
//!    ([`Graph::nearest`]). What propagation gains on that, it gains by the unlabeled items.
//! 4. The hidden labels also show how well the confidences are calibrated, and give a
//!    [`Temperature`] and what it is worth, each half judged by that of the other half ([`Calibrated`]). One more run with all labels shows the balance of the classes.
//!
//! Other methods that are named ([`Diagnose::beside`]) are asked the same of the same hidden labels; one that is
//! right clearly more often is told. With several, the best one looks better than it is: the interval is of one
//! comparison.
//!
//! The gain is the difference of the two shares of right answers with the interval of
//! [`paired`]. Propagation *helps* or *hurts* where the interval is above or below 0; else
//! nothing is shown, which is common with fewer than some hundred labels.
//!
//! On six views of handwritten digits (5 labels a class, 3 draws, harmonic, LGC and mixed
//! propagation, features given: 54 diagnoses) the gain on all items was in the interval 51
//! times. *Helps* was said 26 times, with a gain on all items from -.001 to +.114.
//!
//! **Use it** before trusting pseudo-labels, and to compare methods on labels alone. **Not**
//! as the accuracy on all items: a fold has fewer labels than the final run (a little
//! pessimistic), labels that somebody chose are often the easy ones (optimistic), and after
//! comparing many settings the best one looks better than it is. Classes with one label cannot
//! be tested.
//!
//! Cost: `folds + 1` propagations, and `folds` of each other method; and per fold one search of the graph, O(entries x log n), or
//! with features O(hidden x labeled x d).
//!
//! Source: stratified cross-validation, Kohavi 1995; Newcombe 1998 for the interval.

use ndarray::{Array2, ArrayView2};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::balance::Balance;
use super::temperature::{Calibrated, Temperature};
use crate::eval::bootstrap::Estimate;
use crate::eval::calibration::Calibration;
use crate::eval::proportion::{paired, wilson};
use crate::matrix::{check_finite, l2_normalize, select_rows};
use crate::propagate::{Given, Propagate};
use crate::{Beliefs, Convergence, Error, Graph, Labels, Monitor, Result, parallel, seed};

/// Tested labels below which the verdict says that they are few.
const FEW: usize = 30;
/// Hidden items that are compared with all labeled ones at a time.
const QUERIES: usize = 64;

/// How propagation compares with the nearest labeled item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It is right more often, beyond luck with the labels.
    Helps,
    /// The labels do not show a difference.
    Unclear,
    /// It is right less often, beyond luck with the labels.
    Hurts,
    /// No class has two labels.
    Untested,
}

/// What the labels say of another method, on the same folds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Other {
    /// What it is called.
    pub name: String,
    /// Share of hidden items whose pseudo-label was right; none at all counts as wrong.
    pub right: Estimate,
    /// What it gains on the method that was asked about.
    pub gain: Estimate,
}

/// What the labels say of a propagation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// Folds that were hidden in turn.
    pub folds: usize,
    /// Labels that were hidden once each.
    pub tested: usize,
    /// Labels of classes with a single one, which were not.
    pub untested: usize,
    /// Share of hidden items whose pseudo-label was right; none at all counts as wrong.
    pub propagation: Option<Estimate>,
    /// The same for the label of the nearest labeled item on the graph, unless features were
    /// given.
    pub nearest_on_graph: Option<Estimate>,
    /// The same by the cosine of the features, if they were given.
    pub nearest_by_features: Option<Estimate>,
    /// What propagation gains on the nearest labeled item.
    pub gain: Option<Estimate>,
    /// What the gain says.
    pub outcome: Outcome,
    /// Other methods on the same hidden items, if some were named and some labels tested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Other>,
    /// Confidence of the pseudo-labels of hidden items against the share that is right.
    pub calibration: Calibration,
    /// Fitted on the hidden items, if there were enough.
    pub temperature: Option<Temperature>,
    /// The error of calibration before and after a temperature, by halves of the hidden items, if there were
    /// enough.
    #[serde(default)]
    pub calibrated: Option<Calibrated>,
    /// Classes of the pseudo-labels, from all labels.
    pub balance: Balance,
    /// How the propagation of all labels went.
    pub convergence: Convergence,
    /// All this in words; the first line compares with the nearest labeled item.
    pub verdict: Vec<String>,
}

/// Parameters of a diagnosis.
///
/// ```
/// use likewise::advise::diagnosis::{Diagnose, Outcome};
/// use likewise::graph::KnnGraph;
/// use likewise::propagate::{Given, Lgc};
/// use likewise::{Labels, Monitor, seed};
/// use ndarray::Array2;
/// use rand::RngExt;
/// let mut rng = seed::stream(7, "two clouds");
/// let x = Array2::from_shape_fn((200, 2), |(i, c)| {
///     if i % 2 == c { 1.0 } else { 0.5 * rng.random::<f32>() }
/// });
/// let labels = Labels::from_integers((0..200).map(|i| i % 2)).draw(5, 1);
/// let monitor = Monitor::silent();
/// let graph = KnnGraph::new().k(8).build(x.view(), &monitor)?;
///
/// let given = Given::new(&graph, &labels);
/// let diagnosis = Diagnose::new().seed(1).features(x.view()).run(&Lgc::new(), &given, &monitor)?;
/// assert_eq!((diagnosis.folds, diagnosis.tested), (5, 10));
/// assert_eq!(diagnosis.outcome, Outcome::Unclear); // Both are always right.
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Clone)]
pub struct Diagnose<'a> {
    folds: usize,
    seed: u64,
    features: Option<ArrayView2<'a, f32>>,
    others: Vec<(String, &'a dyn Propagate)>,
}

impl Default for Diagnose<'_> {
    fn default() -> Self {
        Self {
            folds: 5,
            seed: 0,
            features: None,
            others: Vec::new(),
        }
    }
}

impl<'a> Diagnose<'a> {
    /// Five folds, seed 0, the nearest labeled item on the graph.
    pub fn new() -> Self {
        Self::default()
    }

    /// Folds of the labels, at least 2; fewer are used where no class has as many labels.
    #[must_use]
    pub fn folds(mut self, folds: usize) -> Self {
        self.folds = folds;
        self
    }

    /// Seed of the folds.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The features of the items (`n x d`), by which the nearest labeled item is sought.
    #[must_use]
    pub fn features(mut self, features: ArrayView2<'a, f32>) -> Self {
        self.features = Some(features);
        self
    }

    /// One more method that is asked the same, and what it is called.
    #[must_use]
    pub fn beside(mut self, name: &str, method: &'a dyn Propagate) -> Self {
        self.others.push((name.to_owned(), method));
        self
    }

    /// Cross-validates `method` on the labels that are given; it gets all else that is, each
    /// time. The events of its runs are not passed on.
    ///
    /// Fails as [`Propagate::spread`] does, for fewer than 2 folds, on features that are not
    /// finite or do not fit the graph, and when cancelled.
    pub fn run(
        &self,
        method: &dyn Propagate,
        given: &Given,
        monitor: &Monitor,
    ) -> Result<Diagnosis> {
        let Given { graph, labels, .. } = *given;
        self.check(graph)?;
        if labels.len() != graph.n() {
            return Err(Error::data(format!(
                "diagnosis: {} labels for a graph of {} nodes; one label an item is needed",
                labels.len(),
                graph.n()
            )));
        }
        let folds = self.cut(labels);
        let quiet = monitor.quiet();
        let runs = folds.len() * (1 + self.others.len());
        monitor.start("diagnosis", runs as u64 + 1);
        let whole = method.spread(given, &quiet)?.beliefs;
        let mut done = 1;
        monitor.step(done)?;
        let mut hidden = Hidden::none(graph.n(), self.others.len());
        for items in &folds {
            let rest = labels.masked(|item| items.binary_search(&item).is_err());
            let beliefs = method.spread(&given.labels(&rest), &quiet)?.beliefs;
            let nearest = self.nearest(graph, &rest, items)?;
            hidden.add(items, labels, &beliefs, &nearest);
            done += 1;
            monitor.step(done)?;
            for (at, (_, other)) in self.others.iter().enumerate() {
                let beliefs = other.spread(&given.labels(&rest), &quiet)?.beliefs;
                hidden.add_other(at, items, labels, &beliefs);
                done += 1;
                monitor.step(done)?;
            }
        }
        monitor.end();
        let diagnosis = self.conclude(folds.len(), &hidden, labels, &whole)?;
        if diagnosis.outcome == Outcome::Hurts {
            monitor.warn(diagnosis.verdict[0].clone());
        }
        Ok(diagnosis)
    }

    fn check(&self, graph: &Graph) -> Result<()> {
        if self.folds < 2 {
            return Err(Error::parameter("folds", self.folds, "must be at least 2"));
        }
        let Some(x) = self.features else {
            return Ok(());
        };
        if x.nrows() != graph.n() {
            return Err(Error::data(format!(
                "diagnosis: features of {} items for a graph of {} nodes",
                x.nrows(),
                graph.n()
            )));
        }
        check_finite(x, "features")
    }

    /// The items of each fold. Of a class with `m` labels at most `m - 1` are hidden at a time.
    fn cut(&self, labels: &Labels) -> Vec<Vec<usize>> {
        let by_class = labels.by_class();
        let most = by_class.iter().map(Vec::len).max().unwrap_or(0);
        if most < 2 {
            return Vec::new();
        }
        let mut rng = seed::stream(self.seed, "diagnosis folds");
        let mut folds = vec![Vec::new(); self.folds.min(most)];
        let count = folds.len();
        for (class, mut members) in by_class.into_iter().enumerate() {
            members.shuffle(&mut rng);
            if members.len() < 2 {
                continue;
            }
            for (place, item) in members.into_iter().enumerate() {
                folds[(class + place) % count].push(item);
            }
        }
        for fold in &mut folds {
            fold.sort_unstable();
        }
        folds.retain(|fold| !fold.is_empty());
        folds
    }

    /// The class of the nearest labeled item, for each of `items`.
    fn nearest(&self, graph: &Graph, labels: &Labels, items: &[usize]) -> Result<Vec<Option<u32>>> {
        let labeled: Vec<usize> = (0..labels.len())
            .filter(|&i| labels[i].class().is_some())
            .collect();
        let Some(x) = self.features else {
            let nearest = graph.nearest(&labeled)?;
            let class = |source: u32| labels[source as usize].class();
            return Ok(items.iter().map(|&i| nearest[i].and_then(class)).collect());
        };
        let unit = |rows: &[usize]| l2_normalize(select_rows(x, rows));
        let candidates = unit(&labeled);
        let nearest = parallel::map(items.chunks(QUERIES), |queries| {
            let similarities = unit(queries).dot(&candidates.t());
            let nearest = similarities.rows().into_iter().map(|row| {
                let mut best: Option<(f32, usize)> = None;
                for (&s, &item) in row.iter().zip(&labeled) {
                    if best.is_none_or(|(b, _)| s > b) {
                        best = Some((s, item));
                    }
                }
                best.and_then(|(_, item)| labels[item].class())
            });
            nearest.collect::<Vec<_>>()
        });
        Ok(nearest.concat())
    }

    fn conclude(
        &self,
        folds: usize,
        hidden: &Hidden,
        labels: &Labels,
        whole: &Beliefs,
    ) -> Result<Diagnosis> {
        let tested = hidden.answers.len();
        let right = |of: fn(&(bool, bool)) -> bool| hidden.answers.iter().filter(|a| of(a)).count();
        let nearest = wilson(right(|a| a.1), tested);
        let (on_graph, by_features) = match self.features {
            None => (nearest, None),
            Some(_) => (None, nearest),
        };
        let gain = paired(&hidden.answers);
        let outcome = match gain {
            None => Outcome::Untested,
            Some(g) if g.low > 0.0 => Outcome::Helps,
            Some(g) if g.high < 0.0 => Outcome::Hurts,
            Some(_) => Outcome::Unclear,
        };
        let others = self.others.iter().zip(&hidden.others);
        let others = others.filter_map(|((name, _), right)| hidden.compare(name, right));
        let mut diagnosis = Diagnosis {
            folds,
            tested,
            untested: labels.n_known() - tested,
            propagation: wilson(right(|a| a.0), tested),
            nearest_on_graph: on_graph,
            nearest_by_features: by_features,
            gain,
            outcome,
            others: others.collect(),
            calibration: Calibration::measure(&hidden.beliefs, labels)?,
            temperature: Temperature::fit(&hidden.confidences)?,
            calibrated: Calibrated::cross_fit(&hidden.confidences, self.seed)?,
            balance: Balance::measure(whole, labels)?,
            convergence: whole.convergence.clone(),
            verdict: Vec::new(),
        };
        diagnosis.verdict = diagnosis.judge(labels.len());
        Ok(diagnosis)
    }
}

/// [`Diagnose::run`] with five folds and the nearest labeled item on the graph.
pub fn diagnose(
    method: &dyn Propagate,
    graph: &Graph,
    labels: &Labels,
    seed: u64,
    monitor: &Monitor,
) -> Result<Diagnosis> {
    Diagnose::new()
        .seed(seed)
        .run(method, &Given::new(graph, labels), monitor)
}

impl Diagnosis {
    fn judge(&self, n: usize) -> Vec<String> {
        let mut verdict = vec![self.comparison()];
        verdict.extend(self.beside());
        if self.tested > 0 && self.tested < FEW {
            verdict.push(format!(
                "only {} labels could be tested: differences below {:.2} cannot be seen",
                self.tested,
                self.gain.map_or(1.0, |g| (g.high - g.low) / 2.0)
            ));
        }
        if self.tested > 0 && self.untested > 0 {
            verdict.push(format!(
                "{} labels were not tested, since their class has no other",
                self.untested
            ));
        }
        verdict.extend(self.balance.warning.clone());
        if !self.balance.empty.is_empty() {
            verdict.push(format!(
                "{} labeled classes get no pseudo-label at all",
                self.balance.empty.len()
            ));
        }
        let convergence = &self.convergence;
        if convergence.unreached > 0 {
            verdict.push(format!(
                "{} of {n} items are in parts of the graph without any label; raise k or label \
                 an item there",
                convergence.unreached
            ));
        }
        if !convergence.converged {
            verdict.push("the solver did not converge; raise max_iterations".into());
        }
        if convergence.negative_share == Some(0.0) {
            verdict.push(
                "no edge is clearly negative: mixed propagation is plain propagation here".into(),
            );
        }
        verdict
    }

    /// What other methods gain: those that are clearly better, else that none is.
    fn beside(&self) -> Vec<String> {
        let Some(own) = self.propagation else {
            return Vec::new();
        };
        let mut better: Vec<&Other> = self.others.iter().filter(|o| o.gain.low > 0.0).collect();
        better.sort_by(|a, b| b.gain.value.total_cmp(&a.gain.value));
        let words = |other: &Other| {
            format!(
                "{} is better on your labels: {:.2} against {:.2} (difference {:+.2}, from {:+.2} to {:+.2})",
                other.name,
                other.right.value,
                own.value,
                other.gain.value,
                other.gain.low,
                other.gain.high
            )
        };
        if !better.is_empty() {
            let mut lines: Vec<String> = better.into_iter().map(words).collect();
            let compared = self.others.len();
            if compared > 1 {
                lines.push(format!(
                    "the best of {compared} that are compared looks better than it is"
                ));
            }
            return lines;
        }
        let right = |other: &Other| format!("{} {:.2}", other.name, other.right.value);
        let all: Vec<String> = self.others.iter().map(right).collect();
        let none = format!(
            "no other method is clearly better on your labels: {}",
            all.join(", ")
        );
        (!all.is_empty()).then_some(none).into_iter().collect()
    }

    fn comparison(&self) -> String {
        let baseline = self.nearest_by_features.or(self.nearest_on_graph);
        let (Some(own), Some(nearest), Some(gain)) = (self.propagation, baseline, self.gain) else {
            return "propagation cannot be tested: no class has two labels; label two items of \
                    each class at least"
                .into();
        };
        let what = match self.outcome {
            Outcome::Helps => "propagation is better than",
            Outcome::Hurts => "propagation hurts, it is worse than",
            Outcome::Unclear | Outcome::Untested if gain.value > 0.0 => {
                "propagation is not clearly better than"
            }
            Outcome::Unclear | Outcome::Untested => "propagation is not better than",
        };
        let whose = match self.nearest_by_features {
            Some(_) => "",
            None => " on the graph",
        };
        format!(
            "{what} the nearest labeled item{whose} on your labels: {:.2} against {:.2} \
             (difference {:+.2}, from {:+.2} to {:+.2})",
            own.value, nearest.value, gain.value, gain.low, gain.high
        )
    }
}

/// What was found out about the hidden items of all folds.
struct Hidden {
    /// Whether propagation and the nearest labeled item were right.
    answers: Vec<(bool, bool)>,
    /// Whether each other method was, in the same order.
    others: Vec<Vec<bool>>,
    /// Confidence of the pseudo-label, and whether it is right, where there is one.
    confidences: Vec<(f32, bool)>,
    /// Beliefs about the hidden items; the others count as labeled.
    beliefs: Beliefs,
}

impl Hidden {
    fn none(n: usize, others: usize) -> Self {
        Self {
            answers: Vec::new(),
            others: vec![Vec::new(); others],
            confidences: Vec::new(),
            beliefs: Beliefs {
                scores: Array2::zeros((n, 0)),
                pseudo_label: vec![None; n],
                confidence: vec![0.0; n],
                labeled: vec![true; n],
                convergence: Convergence::default(),
            },
        }
    }

    fn add(&mut self, items: &[usize], labels: &Labels, fold: &Beliefs, nearest: &[Option<u32>]) {
        for (&item, nearest) in items.iter().zip(nearest) {
            let (truth, guess) = (labels[item].class(), fold.pseudo_label[item]);
            self.answers.push((guess == truth, *nearest == truth));
            if guess.is_some() {
                let confidence = fold.confidence[item];
                self.confidences.push((confidence, guess == truth));
            }
            self.beliefs.pseudo_label[item] = guess;
            self.beliefs.confidence[item] = fold.confidence[item];
            self.beliefs.labeled[item] = false;
        }
    }

    fn add_other(&mut self, at: usize, items: &[usize], labels: &Labels, fold: &Beliefs) {
        let right = |&item: &usize| fold.pseudo_label[item] == labels[item].class();
        self.others[at].extend(items.iter().map(right));
    }

    /// `right` beside the answers of the method that was asked about; `None` where nothing was tested.
    fn compare(&self, name: &str, right: &[bool]) -> Option<Other> {
        let own = self.answers.iter().map(|answer| answer.0);
        let pairs: Vec<(bool, bool)> = right.iter().copied().zip(own).collect();
        let count = right.iter().filter(|right| **right).count();
        Some(Other {
            name: name.to_owned(),
            right: wilson(count, right.len())?,
            gain: paired(&pairs)?,
        })
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Some results are exact.
mod tests {
    use super::super::temperature::halves;
    use super::*;
    use crate::graph::KnnGraph;
    use crate::propagate::{Harmonic, Lgc, Method, Spread};
    use crate::reference::{in_one_and_two_threads, random_graph, random_labels};
    use crate::{Event, Label};
    use rand::RngExt;
    use std::sync::{Arc, Mutex};

    /// `n` points around the corners of a simplex, `noise` off them, and their classes.
    fn clouds(n: usize, classes: usize, noise: f32) -> (Array2<f32>, Labels) {
        let mut rng = seed::stream(2, "clouds");
        let x = Array2::from_shape_fn((n, 8), |(i, c)| {
            let corner = if i % classes == c { 1.0 } else { 0.0 };
            corner + noise * (rng.random::<f32>() - 0.5)
        });
        let labels = Labels::from_integers((0..n).map(|i| (i % classes) as i64));
        (x, labels)
    }

    /// Says the class after the right one of every unlabeled item, with the confidences of the items.
    struct Wrong(Labels, Vec<f32>);

    impl Propagate for Wrong {
        fn spread(&self, given: &Given, monitor: &Monitor) -> Result<Spread> {
            let mut beliefs = Lgc::new().propagate(given.graph, given.labels, monitor)?;
            for i in (0..given.graph.n()).filter(|&i| given.labels[i].class().is_none()) {
                let class = self.0[i].class().unwrap_or(0);
                beliefs.pseudo_label[i] = Some((class + 1) % self.0.n_classes() as u32);
                beliefs.confidence[i] = self.1[i];
            }
            Ok(beliefs.into())
        }
    }

    #[test]
    fn a_method_that_hurts_is_told() {
        let (x, truth) = clouds(300, 4, 0.6);
        let graph = KnnGraph::new()
            .k(8)
            .build(x.view(), &Monitor::silent())
            .unwrap();
        let labels = truth.draw(5, 1);
        let warnings = Arc::new(Mutex::new(Vec::new()));
        let sink = warnings.clone();
        let monitor = Monitor::new(move |event: &Event| {
            if let Event::Warning(words) = event {
                sink.lock().unwrap().push(words.clone());
            }
        });
        // The halves of the hidden items differ: .9 and .2.
        let hidden = Diagnose::new().cut(&labels).concat();
        let mut confidences = vec![0.9; 300];
        let [one, other] = halves(hidden.len(), 0);
        for &at in &other {
            confidences[hidden[at]] = 0.2;
        }
        let wrong = Wrong(truth, confidences);
        let d = Diagnose::new()
            .features(x.view())
            .run(&wrong, &Given::new(&graph, &labels), &monitor)
            .unwrap();
        assert_eq!(d.outcome, Outcome::Hurts);
        assert_eq!(d.propagation.unwrap().value, 0.0);
        assert!(d.gain.unwrap().high < 0.0 && d.temperature.unwrap().value < 1.0);
        assert!(
            d.verdict[0].contains("propagation hurts"),
            "{:?}",
            d.verdict
        );
        assert!(
            d.verdict[0].contains("0.00 against 1.00"),
            "{:?}",
            d.verdict
        );
        assert_eq!(*warnings.lock().unwrap(), d.verdict[..1]);
        assert_eq!(d.calibration.measured, 20);
        // Sure of what is wrong: by .9 and .2 before, and then by the temperature of the other half.
        let calibrated = d.calibrated.unwrap();
        assert_eq!((calibrated.labels, one.len(), other.len()), (20, 10, 10));
        assert!((calibrated.before - 0.55).abs() < 1e-6);
        let fit = |c: f32| Temperature::fit(&[(c, false); 10]).unwrap().unwrap();
        let after = f64::from(fit(0.2).apply(0.9) + fit(0.9).apply(0.2)) / 2.0;
        assert!((calibrated.after - after).abs() < 1e-6, "{calibrated:?}");
        // By their own they would be off by 1/12.
        assert!(after > 0.4 && (fit(0.9).apply(0.9) - 1.0 / 12.0).abs() < 1e-4);
        let json = serde_json::to_string(&d).unwrap();
        assert_eq!(serde_json::from_str::<Diagnosis>(&json).unwrap(), d);
        // What was written before there were halves.
        let mut older: serde_json::Value = serde_json::from_str(&json).unwrap();
        older.as_object_mut().unwrap().remove("calibrated");
        let older: Diagnosis = serde_json::from_value(older).unwrap();
        assert_eq!(older.calibrated, None);
    }

    #[test]
    fn another_method_that_is_better_is_told() {
        let (x, truth) = clouds(300, 4, 0.6);
        let graph = KnnGraph::new()
            .k(8)
            .build(x.view(), &Monitor::silent())
            .unwrap();
        let labels = truth.draw(5, 1);
        let (given, silent) = (Given::new(&graph, &labels), Monitor::silent());
        let (wrong, lgc) = (Wrong(truth, vec![0.5; 300]), Lgc::new());
        let beside = Diagnose::new().beside("lgc", &lgc);
        let d = beside.run(&wrong, &given, &silent).unwrap();
        assert_eq!(d.others.len(), 1);
        assert_eq!(
            (d.others[0].right.value, d.others[0].gain.value),
            (1.0, 1.0)
        );
        assert!(d.verdict[1].starts_with("lgc is better on your labels: 1.00 against 0.00"));
        // The other way round, and by itself: each says that nothing is better, once.
        let d = Diagnose::new()
            .beside("wrong", &wrong)
            .beside("the same", &lgc)
            .run(&lgc, &given, &silent)
            .unwrap();
        assert_eq!(d.others[0].gain.value, -1.0);
        assert_eq!(
            (d.others[1].gain.value, d.others[1].right),
            (0.0, d.propagation.unwrap())
        );
        let says = "no other method is clearly better on your labels: wrong 0.00, the same 1.00";
        assert_eq!(d.verdict.iter().filter(|v| *v == says).count(), 1);
        let json = serde_json::to_string(&d).unwrap();
        assert_eq!(serde_json::from_str::<Diagnosis>(&json).unwrap(), d);
        // Nothing to test, nothing to compare.
        let single = Labels::from_integers((0..300).map(|i| if i < 4 { i } else { -1 }));
        let d = Diagnose::new()
            .beside("lgc", &lgc)
            .run(&lgc, &Given::new(&graph, &single), &silent)
            .unwrap();
        assert!(d.others.is_empty() && d.outcome == Outcome::Untested);
    }

    #[test]
    fn unlabeled_items_help_where_the_nearest_label_is_far() {
        // Two rings of 200 in a plane, one around the other: neighbours along a ring are near,
        // the labels of the other ring nearer than those of the own.
        let x = Array2::from_shape_fn((400, 3), |(i, c)| {
            let angle = (i / 2) as f32 * std::f32::consts::TAU / 200.0;
            let radius = if i % 2 == 0 { 0.5 } else { 0.62 };
            [radius * angle.cos(), radius * angle.sin(), 1.0][c]
        });
        let graph = KnnGraph::new()
            .k(4)
            .build(x.view(), &Monitor::silent())
            .unwrap();
        let labels = Labels::from_integers((0..400).map(|i| i % 2)).draw(12, 3);
        let run = |d: Diagnose| {
            d.run(
                &Harmonic::new(),
                &Given::new(&graph, &labels),
                &Monitor::silent(),
            )
            .unwrap()
        };
        let d = run(Diagnose::new().features(x.view()));
        assert_eq!(d.outcome, Outcome::Helps, "{:?}", d.verdict);
        assert!(d.verdict[0].starts_with("propagation is better than the nearest labeled item on"));
        // The nearest on the graph walks along the ring and is right as well.
        let d = run(Diagnose::new());
        assert_eq!(d.outcome, Outcome::Unclear);
        assert!(d.verdict[0].contains("on the graph") && d.nearest_by_features.is_none());
        assert!(d.verdict[1].contains("only 24 labels"));
    }

    #[test]
    fn folds_hide_every_label_once_and_leave_one_of_each_class() {
        for seed in 0..20 {
            let labels = random_labels(200, 6, seed);
            let by_class = labels.by_class();
            let folds = Diagnose::new().seed(seed).cut(&labels);
            let mut all: Vec<usize> = folds.iter().flatten().copied().collect();
            all.sort_unstable();
            let expected = (0..200).filter(|&i| {
                labels[i]
                    .class()
                    .is_some_and(|c| by_class[c as usize].len() > 1)
            });
            assert!(expected.eq(all));
            for fold in &folds {
                let rest = labels.masked(|i| !fold.contains(&i));
                for (before, after) in by_class.iter().zip(rest.by_class()) {
                    assert_eq!(before.is_empty(), after.is_empty());
                }
            }
        }
    }

    #[test]
    fn single_labels_cannot_be_tested() {
        let graph = random_graph(30, 90, 1);
        let labels = Labels::from_integers((0..30).map(|i| if i < 3 { i } else { -1 }));
        let d = diagnose(&Lgc::new(), &graph, &labels, 0, &Monitor::silent()).unwrap();
        assert_eq!(
            (d.outcome, d.folds, d.tested, d.untested),
            (Outcome::Untested, 0, 0, 3)
        );
        assert!(d.verdict[0].contains("no class has two labels"));
        assert_eq!((d.propagation, d.gain, d.temperature), (None, None, None));
        assert_eq!(d.calibrated, None);
    }

    #[test]
    fn bad_input_and_cancelling() {
        let graph = random_graph(30, 90, 1);
        let silent = Monitor::silent();
        let run = |d: Diagnose, labels: &Labels, m: &Monitor| {
            d.run(&Lgc::new(), &Given::new(&graph, labels), m)
        };
        let labels = random_labels(30, 2, 1);
        assert!(run(Diagnose::new().folds(1), &labels, &silent).is_err());
        assert!(run(Diagnose::new(), &Labels::unknown(29), &silent).is_err());
        assert!(run(Diagnose::new(), &Labels::unknown(30), &silent).is_err());
        let mut x = Array2::<f32>::ones((30, 2));
        assert!(run(Diagnose::new().features(x.view()), &labels, &silent).is_ok());
        assert!(
            run(
                Diagnose::new().features(x.slice(ndarray::s![..9, ..])),
                &labels,
                &silent
            )
            .is_err()
        );
        x[[3, 1]] = f32::NAN;
        assert!(run(Diagnose::new().features(x.view()), &labels, &silent).is_err());
        let stopped = Monitor::silent();
        stopped.cancel();
        let error = run(Diagnose::new(), &labels, &stopped).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Cancelled);
    }

    #[test]
    fn one_class_outside_items_and_isolated_nodes() {
        let graph = Graph::new(vec![0, 1, 2, 2, 2, 2], vec![1, 0], vec![1.0; 2]).unwrap();
        let items = [
            Label::Known(0),
            Label::Known(0),
            Label::Known(0),
            Label::Outside,
            Label::Unknown,
        ];
        let labels = Labels::new(vec!["a".into()], items.to_vec()).unwrap();
        let d = diagnose(&Method::default(), &graph, &labels, 0, &Monitor::silent()).unwrap();
        // The isolated labeled item is hidden once and nothing reaches it then.
        assert_eq!((d.tested, d.propagation.unwrap().value), (3, 2.0 / 3.0));
        assert_eq!((d.calibration.unreached, d.outcome), (1, Outcome::Unclear));
        assert!(
            d.verdict
                .iter()
                .any(|v| v.contains("2 of 5 items are in parts"))
        );
    }

    #[test]
    fn any_number_of_threads_gives_the_same_and_another_seed_other_folds() {
        let (x, truth) = clouds(400, 4, 2.5);
        let graph = KnnGraph::new()
            .k(8)
            .build(x.view(), &Monitor::silent())
            .unwrap();
        let labels = truth.draw(7, 1);
        let run = |seed| {
            diagnose(
                &Method::default(),
                &graph,
                &labels,
                seed,
                &Monitor::silent(),
            )
            .unwrap()
        };
        let (one, two) = in_one_and_two_threads(|| run(4));
        assert_eq!(one, two);
        assert_ne!(one.calibration, run(5).calibration);
        assert_eq!(one.tested, 28);
    }
}
