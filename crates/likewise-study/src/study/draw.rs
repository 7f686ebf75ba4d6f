//! One label draw of a study: start, beliefs, training, selection.

use std::collections::BTreeMap;

use likewise::eval::summary::Run;
use likewise::learn::Targets;
use likewise::{Beliefs, Convergence, Label, Labels, Monitor};
use likewise_nn::Model;

use super::believe::{Found, Source, labeled};
use super::choose::{Chosen, model_at};
use super::draw_log::DrawLog;
use super::ground::{Ground, Whiten};
use super::kept::Kept;
use super::results::label_counts;
use super::rounds::{ENOUGH, Wanted, Why};
use super::row::Row;
use super::selection::Selection;
use super::setup::REFIT;
use super::train::Training;
use crate::recipe::PseudoLabels;
use crate::{Error, ErrorKind, Result};

/// What stands for the only view of a study within one.
const FEATURES: &str = "features";

impl DrawLog {
    pub(super) fn of(
        draw: usize,
        drawn: &Drawn,
        chosen: &Chosen,
        found: Option<&Found>,
        labels_only_epoch: Option<usize>,
    ) -> Self {
        let whiten = drawn.whiten;
        let beliefs = found.map(|found| &found.beliefs);
        let selections = found.map_or(&[][..], |found| &found.selections);
        let validation = chosen.curve.iter();
        let hidden = |i: usize| matches!(drawn.known[i], Label::Unknown);
        let accurate = |beliefs: &Beliefs| beliefs.accuracy(&drawn.known, &drawn.truth, hidden);
        Self {
            draw,
            labels: drawn.known.n_known(),
            validation_labels: drawn.validation.len(),
            shrinkage: whiten.eps.is_finite().then_some(whiten.eps),
            standardized: whiten.standardize,
            pseudo_label_accuracy: beliefs.and_then(accurate),
            labels_only_epoch,
            epoch: chosen.epoch,
            why: chosen.why,
            validation: validation
                .map(|score| score.map(|s| s.precision.value))
                .collect(),
            training: chosen.log.clone(),
            propagation: beliefs.map_or_else(Convergence::default, |b| b.convergence.clone()),
            selections: Selection::all(selections, &drawn.known, &drawn.truth, &[FEATURES]),
        }
    }
}

/// How a recipe did in one draw.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// At the epoch that was kept.
    pub kept: Run,
    /// As it was trained to the end, where validation kept another epoch.
    pub last: Option<Run>,
    /// What happened.
    pub log: DrawLog,
}

/// A finished draw.
pub(super) struct Draw {
    pub(super) log: DrawLog,
    /// The items whose labels were shown, to fit or to validate.
    pub(super) shown: Vec<usize>,
    pub(super) kept: Kept,
}

/// Labels a class that choose the start of the row of all labels.
const ORACLE_ASKS: usize = 50;

/// A draw of labels, and what it chooses.
pub(super) struct Drawn {
    pub(super) seed: u64,
    /// The labels of the training items; those of them that are shown.
    pub(super) truth: Labels,
    pub(super) known: Labels,
    pub(super) whiten: Whiten,
    /// Items that validate.
    pub(super) validation: Vec<usize>,
}

impl Ground<'_> {
    /// Runs draw number `draw` and adds its runs to `rows`.
    pub(super) fn draw(
        &mut self,
        draw: usize,
        rows: &mut BTreeMap<Row, Vec<Run>>,
        monitor: &Monitor,
    ) -> Result<Draw> {
        let plan = self.plan;
        let drawn = self.drawn(draw as u64)?;
        let idle = self.recipe.idle(self.rank());
        if let Some(why) = idle.filter(|_| draw == 0) {
            monitor.warn(why);
        }
        let known = &drawn.known;
        self.build_graph(drawn.whiten, monitor)?;

        let name = format!("draw-{draw}");
        let setup = self.setup(drawn.whiten, name, drawn.seed, &drawn.validation)?;
        let found = self.find(&setup, known, monitor)?;
        let ask = |chosen: &Chosen| -> Result<Run> {
            let embedded = self.embed_tested_by(&chosen.model, &setup.start, monitor)?;
            plan.ask(self, &embedded, monitor)
        };
        let recipe = self.choose(&setup, Source::Beliefs, known, Some(&found), monitor)?;
        let of_recipe = ask(&recipe)?;
        let of_labels = if !self.recipe.learns_from_classes() {
            None
        } else if self.learns_labels_alone() {
            Some((of_recipe.clone(), recipe.epoch))
        } else {
            let of_row = &Row::LabelsOnly.monitor(monitor);
            match self.choose(&setup, Source::Labels, known, None, of_row) {
                Ok(chosen) => Some((ask(&chosen)?, chosen.epoch)),
                // The recipe has learned, so what its learner lacks is labels: without them there is nothing to
                // compare with, which is no reason to stop.
                Err(e) if e.kind() == ErrorKind::Data => {
                    let row = Row::LabelsOnly.title();
                    monitor.warn(format!("there is no row \"{row}\": {e}"));
                    None
                }
                Err(e) => return Err(e),
            }
        };
        let labels_only = of_labels.as_ref().map(|(_, epoch)| *epoch);
        match of_labels {
            // Rows are compared draw by draw: one that lacks a draw is none.
            Some((run, _)) if rows.get(&Row::LabelsOnly).map_or(0, Vec::len) == draw => {
                rows.entry(Row::LabelsOnly).or_default().push(run);
            }
            _ => {
                rows.remove(&Row::LabelsOnly);
            }
        }
        rows.entry(Row::Recipe).or_default().push(of_recipe);
        let log = DrawLog::of(draw, &drawn, &recipe, Some(&found), labels_only);
        let shown = self.shown(&drawn);
        let kept = self.kept(recipe, found, &drawn)?;
        Ok(Draw { log, shown, kept })
    }

    fn shown(&self, drawn: &Drawn) -> Vec<usize> {
        let places = self.train.iter().enumerate();
        let fitted = places.filter(|(place, _)| drawn.known[*place].class().is_some());
        let fitted = fitted.map(|(_, &item)| item);
        fitted.chain(drawn.validation.iter().copied()).collect()
    }

    pub(super) fn kept(&self, chosen: Chosen, found: Found, drawn: &Drawn) -> Result<Kept> {
        Ok(Kept {
            epoch: chosen.epoch,
            why: chosen.why,
            voted: found.voted,
            ..self.kept_as(chosen.model, found.beliefs, drawn)?
        })
    }

    pub(super) fn kept_as(&self, model: Model, beliefs: Beliefs, of: &Drawn) -> Result<Kept> {
        Ok(Kept {
            model,
            classes: of.known.classes().to_vec(),
            labels: label_counts(&of.known),
            beliefs,
            voted: None,
            whiten: of.whiten,
            start: self.basis(of.whiten)?,
            why: Why::Last,
            epoch: 0,
        })
    }

    /// Learns on all items of this ground what was measured on a part of them: as many
    /// epochs, from the same kind of start.
    pub(super) fn refit(&mut self, measured: &Kept, monitor: &Monitor) -> Result<Kept> {
        let seed = self.plan.protocol.seed;
        let (known, _) = self.labels.compact();
        self.build_graph(measured.whiten, monitor)?;
        let setup = self.setup(measured.whiten, REFIT.into(), seed, &[])?;
        let found = self.find(&setup, &known, monitor)?;
        let model = match self.as_they_are() {
            Some(raw) if measured.why == Why::RawFeatures => raw,
            _ => {
                let source = Source::Beliefs;
                let training = Training {
                    setup: &setup,
                    name: "final",
                    source,
                    known: &known,
                    first: self.targets(&setup, source, &known, Some(&found), monitor)?,
                    judge: None,
                    wanted: Wanted::Epoch(measured.epoch),
                };
                let trained = self.train(&training, monitor)?;
                model_at(&trained, measured.epoch)?
            }
        };
        Ok(Kept {
            model,
            why: measured.why,
            epoch: measured.epoch,
            beliefs: found.beliefs,
            voted: found.voted,
            classes: known.classes().to_vec(),
            labels: label_counts(&known),
            whiten: measured.whiten,
            start: setup.start,
        })
    }

    /// The recipe alone in draw number `draw`: how it did, and its log.
    pub(super) fn measure(&mut self, draw: u64, monitor: &Monitor) -> Result<Measured> {
        let drawn = self.drawn(draw)?;
        if let Some(why) = self.recipe.idle(self.rank()) {
            monitor.warn(why);
        }
        let spreads = self.recipe.pseudo_labels.propagation().is_some();
        if spreads || self.recipe.reads_graph() {
            self.build_graph(drawn.whiten, monitor)?;
        }
        let name = format!("draw-{draw}");
        let setup = self.setup(drawn.whiten, name, drawn.seed, &drawn.validation)?;
        let believes = matches!(
            self.recipe.pseudo_labels,
            PseudoLabels::Votes(_) | PseudoLabels::Lpf(_)
        );
        let found = if spreads || believes {
            Some(self.find(&setup, &drawn.known, monitor)?)
        } else {
            None
        };
        let found = found.as_ref();
        let chosen = self.choose(&setup, Source::Beliefs, &drawn.known, found, monitor)?;
        let ask = |model: &Model| -> Result<Run> {
            let embedded = self.embed_tested_by(model, &setup.start, monitor)?;
            self.plan.ask(self, &embedded, monitor)
        };
        Ok(Measured {
            kept: ask(&chosen.model)?,
            last: chosen.last.as_ref().map(ask).transpose()?,
            log: DrawLog::of(draw as usize, &drawn, &chosen, found, None),
        })
    }

    pub(super) fn drawn(&self, draw: u64) -> Result<Drawn> {
        let seed = self.plan.protocol.seed.wrapping_add(draw);
        let truth = self.labels.select(&self.train);
        let (known, _) = self.known(&truth, seed).compact();
        if known.n_classes() < 2 {
            return Err(too_few_classes(&known));
        }
        let validation = self.validating(seed);
        let whiten = self.whiten(&known, &validation, ENOUGH)?;
        Ok(Drawn {
            seed,
            truth,
            known,
            whiten,
            validation,
        })
    }

    /// The items of the validation part whose labels may be seen: as many a class as are
    /// fitted, since who has few labels has few for validation too.
    fn validating(&self, seed: u64) -> Vec<usize> {
        let Some(m) = self.plan.protocol.labels_per_class else {
            return self.validation.clone();
        };
        let labels = self.labels.select(&self.validation).draw(m, seed);
        let places = self.validation.iter().enumerate();
        let shown = places.filter(|(place, _)| labels[*place].class().is_some());
        shown.map(|(_, &item)| item).collect()
    }

    /// How the whitened features do, by a shrinkage that no label chooses.
    pub(super) fn ask_whitened(&mut self, monitor: &Monitor) -> Result<Run> {
        let start = self.whitened_start()?;
        let whitened = self.whitened_rows(start)?;
        self.plan.ask(self, &whitened.into(), monitor)
    }

    /// How the model does that all labels of the training part give: what labels are worth.
    ///
    /// Without a validation part it runs all epochs: folds over every label would cost
    /// more than the rest of the study.
    pub(super) fn all_labels(&mut self, monitor: &Monitor) -> Result<Run> {
        let monitor = &Row::AllLabels.monitor(monitor);
        let seed = self.plan.protocol.seed;
        let (all, _) = self.labels.select(&self.train).compact();
        // A part of them is enough for this choice, and all would be asked among all.
        let whiten = self.whiten(&all.draw(ORACLE_ASKS, seed), &self.validation, ENOUGH)?;
        self.build_graph(whiten, monitor)?;
        let validation = self.validation.clone();
        let setup = self.setup(whiten, "all-labels".into(), seed, &validation)?;
        // As the recipe would learn them were they known: pseudo-labels are gone through once an epoch.
        let passes = usize::from(self.recipe.pseudo_labels != PseudoLabels::None);
        let training = Training {
            setup: &setup,
            name: "final",
            source: Source::Labels,
            known: &all,
            first: Targets {
                passes,
                ..labeled(&all)
            },
            judge: None,
            wanted: match setup.validation {
                Some(_) => Wanted::Validated(self.recipe.rounds.keep),
                None => Wanted::Last,
            },
        };
        let trained = self.train(&training, monitor)?;
        let epoch = match setup.validation {
            Some(_) => self.settle(Source::Labels, &trained.scores, ENOUGH).0,
            None => trained.scores.len() - 1,
        };
        let model = model_at(&trained, epoch)?;
        let embedded = self.embed_tested_by(&model, &setup.start, monitor)?;
        self.plan.ask(self, &embedded, monitor)
    }

    /// The labels that may be fitted on: all of `truth`, or a draw.
    fn known(&self, truth: &Labels, seed: u64) -> Labels {
        match self.plan.protocol.labels_per_class {
            Some(m) => truth.draw(m, seed),
            None => truth.clone(),
        }
    }
}

fn too_few_classes(known: &Labels) -> Error {
    let seen = match known.classes() {
        [] => "no class".to_owned(),
        [one] => format!("one class alone, \"{one}\""),
        more => format!("{} classes", more.len()),
    };
    Error::data(format!(
        "the training part has labels of {seen}; similarity needs two classes at least: label \
         items of another class too"
    ))
}
