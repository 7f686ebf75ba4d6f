//! Learning by gradients, epoch by epoch.

use likewise::Monitor;
use likewise::arrays::Arrays;
use likewise::learn::{Evidence, First, Learn, Learning, Need, Round, Targets};
use likewise::seed;

use super::behind::{Fitted, Part};
use super::learner::Gradient;
use super::memory::Memory;
use super::metric::MetricConfig;
use super::remembered;
use super::state::{Gathered, State};
use super::steps::{self, Draw};
use super::target::Whole;
use crate::model::Model;
use crate::net::{matrix_tensor, value_of};
use crate::{Error, ErrorKind, Result};

impl Learn for Gradient<'_> {
    type Model = Model;

    fn needs(&self) -> &'static [Need] {
        match self.encoder {
            Some(_) => &[Need::Classes, Need::Images],
            None => &[Need::Classes],
        }
    }

    fn first(&self, evidence: &Evidence, seed: u64) -> Result<First<Model>> {
        // Beside itself it would be the same, twice as long.
        let begun = || -> Result<Model> {
            // Nor has it a metric yet.
            let plain = Gradient {
                metric: None,
                ..*self
            };
            let state = State::new(&plain, evidence, &[], seed)?;
            Ok(state.model(&plain, evidence)?.without_start())
        };
        Ok(if self.begins_whitened() {
            First::LikeStart(begun()?)
        } else if self.taught {
            First::Own(begun()?)
        } else {
            First::Start
        })
    }

    fn begin<'a>(
        &'a self,
        evidence: &Evidence,
        seed: u64,
    ) -> Result<Box<dyn Learning<Model = Model> + 'a>> {
        let proxies = self.first_proxies(evidence, seed);
        let state = State::new(self, evidence, &proxies, seed)?;
        Ok(Box::new(Descent {
            how: *self,
            state,
            seed,
        }))
    }
}

/// A learning by gradients on its way.
struct Descent<'a> {
    how: Gradient<'a>,
    state: State,
    seed: u64,
}

impl Learning for Descent<'_> {
    type Model = Model;

    fn round(&mut self, round: usize, evidence: &Evidence, monitor: &Monitor) -> Result<Round> {
        let loss = match self.how.metric {
            Some(metric) => self.learn_behind(metric, round, evidence, monitor)?,
            None => self.learn(round, evidence, monitor)?,
        };
        Ok(Round { loss })
    }

    fn model(&self, evidence: &Evidence) -> Result<Model> {
        self.state.model(&self.how, evidence)
    }

    fn save(&self) -> Result<Arrays> {
        self.state.save()
    }

    fn resume(&mut self, saved: &Arrays, model: &Model) -> Result<()> {
        self.state.resume(saved, model)
    }
}

impl Descent<'_> {
    /// One epoch; gives the mean loss of its steps.
    fn learn(
        &mut self,
        epoch: usize,
        evidence: &Evidence,
        monitor: &Monitor,
    ) -> Result<Option<f64>> {
        let (how, train) = (self.how, self.how.train);
        let targets: &Targets = evidence.targets;
        if epoch > 1 && targets.since == epoch {
            // Another stream each time: proxies of the same random directions would not be new.
            let seed = self.seed.wrapping_add(epoch as u64);
            self.state.renew(&how, &how.first_proxies(evidence, seed));
        }
        let mut rng = seed::stream(self.seed, &format!("epoch {epoch}"));
        let tuples = how.loss.compares();
        let tags = how.tags(evidence);
        let draw = Draw {
            sampler: how.sampler,
            tuples,
            groups: evidence.groups,
            tags,
            batch: train.batch,
            steps: train.steps,
            labeled_passes: train.labeled_passes,
            augment: how.augments(),
        };
        let steps = steps::of(targets, &draw, &mut rng);
        let whole = Whole::of(&how, &self.state, evidence, monitor)?;
        let mut gathered = Gathered::new();
        // Empty at the start of each epoch, so that a resumed training repeats an undisturbed one.
        let mut memory = Memory::new(train.memory);
        let remembers = train.memory > 0 && tuples && how.miner.is_none();
        let state = &mut self.state;
        let mut sum = 0.0;
        for (number, step) in steps.iter().enumerate() {
            monitor.check()?;
            let vary = how.augments().then_some(&mut rng);
            let rows = state.unit_rows(how.inputs(evidence, &step.items, vary)?)?;
            let mut batch = step.batch(targets, evidence.classes(), tags, &rows.device())?;
            if let Some(whole) = &whole {
                whole.tell(step, &mut batch, &rows.device())?;
            }
            let mined = match (how.miner, &batch.triplets) {
                (Some(miner), None) => {
                    // Another one for each batch, also where usize has 32 bits.
                    let seed = self.seed.wrapping_add((epoch as u64) << 32 | number as u64);
                    let at = state.mapped(rows.clone());
                    Some(miner.mine(&at, batch.clone(), seed)?)
                }
                _ => None,
            };
            let before = state.fit_map(&how, &rows, (&batch, mined.as_ref()))?;
            let mut embedded = state.mapped(rows);
            if remembers && batch.triplets.is_none() {
                let (class, weight) = step.classes(targets);
                let newest = embedded.clone();
                let grade = |a: u32, b: u32| match tags {
                    Some((tags, relation)) => relation.grade(tags, a as usize, b as usize),
                    None => f32::from(u8::from(a == b)),
                };
                (embedded, batch.pairs) = memory.extend_by(embedded, &class, &weight, grade)?;
                memory.push(newest, &class, &weight)?;
            }
            let (class, weight) = step.classes(targets);
            let told = (&batch, mined.as_ref());
            let mut loss =
                remembered::loss(how.loss, state, embedded.clone(), told, &class, &mut rng)?;
            if let Some(term) = whole.as_ref().and_then(|w| w.linked(&embedded, step)) {
                loss = loss + term;
            }
            let value = before.unwrap_or_else(|| value_of(&loss));
            check(value, train.learning_rate, epoch, step.items[0])?;
            sum += value;
            monitor.values(&[
                ("step/loss", value),
                ("step/learning_rate", train.rate(epoch, how.epochs)),
            ]);
            if state.moves() {
                gathered.add(state, &loss.div_scalar(train.accumulate as f64));
                if (number + 1) % train.accumulate == 0 || number + 1 == steps.len() {
                    state.step(&how, epoch, &mut gathered)?;
                }
            }
            remembered::remember(how.loss, state, embedded, (&class, &weight));
        }
        Ok((!steps.is_empty()).then(|| sum / steps.len() as f64))
    }
}

impl Descent<'_> {
    /// One epoch behind a metric, which is fitted before it where its turn has come.
    fn learn_behind(
        &mut self,
        config: &MetricConfig,
        epoch: usize,
        evidence: &Evidence,
        monitor: &Monitor,
    ) -> Result<Option<f64>> {
        let (how, train) = (self.how, self.how.train);
        let turn = epoch.saturating_sub(1) / config.every * config.every + 1;
        let state = &mut self.state;
        if turn == epoch {
            let part = Part::draw(config, (epoch, self.seed), evidence.targets);
            let rows = state.embedded(&how, evidence, &part.items, monitor)?;
            let fitted = Fitted::of(config, (part, &rows), self.seed, evidence, monitor)?;
            state.metric = Some(fitted);
        }
        let Some(fitted) = state.metric.clone() else {
            return Ok(None);
        };
        let mut rng = seed::stream(self.seed, &format!("epoch {epoch}"));
        let steps = fitted.steps(&how, evidence, &mut rng);
        let behind = fitted.roots()?.mapv(|v| v as f32);
        let behind = matrix_tensor(&behind, state.device());
        let mut gathered = Gathered::new();
        let mut sum = 0.0;
        for (number, step) in steps.iter().enumerate() {
            monitor.check()?;
            let vary = how.augments().then_some(&mut rng);
            let rows = state.unit_rows(how.inputs(evidence, &step.items, vary)?)?;
            let loss = step.objective(
                fitted.terms(),
                rows.matmul(behind.clone()),
                evidence.targets,
            );
            let value = value_of(&loss);
            check(value, train.learning_rate, epoch, step.items[0])?;
            sum += value;
            monitor.values(&[
                ("step/loss", value),
                ("step/learning_rate", train.rate(epoch, how.epochs)),
            ]);
            gathered.add(state, &loss.div_scalar(train.accumulate as f64));
            if (number + 1) % train.accumulate == 0 || number + 1 == steps.len() {
                state.step(&how, epoch, &mut gathered)?;
            }
        }
        Ok((!steps.is_empty()).then(|| sum / steps.len() as f64))
    }
}

/// Fails where the loss is no number.
fn check(value: f64, learning_rate: f64, epoch: usize, item: usize) -> Result<()> {
    if value.is_finite() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Internal,
        format!(
            "the loss became {value} in epoch {epoch}, in the batch that begins with training \
             item {item}; lower learner.train.learning_rate ({learning_rate})"
        ),
    ))
}
