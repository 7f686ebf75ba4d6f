//! Running a study across views, and what it leaves behind.

use std::collections::BTreeMap;

use likewise::cross::{NamedModel, Need};
use likewise::eval::split;
use likewise::{Labels, Monitor, Part};
use likewise_nn::cross::Learner;

use super::believe::believed;
use super::believed::Believed;
use super::embedded::Embedded;
use super::fitted::{Ground, fitted};
use super::measured::Measured;
use super::plan::CrossPlan;
use super::results::{CrossResults, CrossRow, OfDraw};
use super::views::{Sides, view_names};
use crate::recipe::PseudoLabels;
use crate::study::meters::count;
use crate::study::protocol::SplitKind;
use crate::{Error, ErrorKind, Result, source, usage};

/// Share of each class that is fitted where the items are divided within classes, as published
/// studies across views divide them.
pub const TRAIN_SHARE: f64 = 0.75;

/// Labels of a class from which on some of them are tested, where nobody asked for a test.
const FEWEST: usize = 4;

/// Everything that a study across views leaves behind.
#[derive(Debug, Clone)]
pub struct CrossStudy {
    /// The numbers: what `metrics.json` holds.
    pub results: CrossResults,
    /// The part of every item.
    pub parts: Vec<Part>,
    /// For each item the draws that its label was shown in, where labels were hidden.
    pub drawn: Vec<Vec<usize>>,
    /// What is kept: of the first draw, or of all labels.
    pub kept: CrossKept,
    /// All items by the model that was measured, where another one is kept.
    pub measured: Option<Embedded>,
}

/// A model of a recipe across views, and all items by it.
#[derive(Debug, Clone)]
pub struct CrossKept {
    /// The model.
    pub model: NamedModel,
    /// What every item was taken for, where it was fitted: its class by name and how much it weighed.
    pub believed: Vec<Option<(String, f32)>>,
    /// All items by the model, view by view.
    pub embedded: Embedded,
}

impl CrossPlan<'_> {
    /// Runs the study. Where no class has labels to spare and no test was asked for, there are no numbers.
    ///
    /// Fails without labels of two classes, with fewer than two views, where a view has nothing to
    /// tell or lacks a class, with a split that leaves nothing to fit or to ask, and when cancelled.
    ///
    /// Cost: per draw two fits, one of the bound or of the model that is kept, and two of the canonical
    /// correlations.
    pub fn run(&self, monitor: &Monitor) -> Result<CrossStudy> {
        let learner = self.check()?;
        let pairs_alone = learner.need() == Need::Pairs;
        let labels = match source::labels(self.collection) {
            Err(_) if pairs_alone && self.protocol.refits() => {
                let none = Labels::unknown(self.collection.len());
                return self.unmeasured(
                    &learner,
                    &none,
                    "no item has a label to measure with",
                    monitor,
                );
            }
            Err(e) if pairs_alone => {
                return Err(e.within(format!(
                    "{} learns from pairs alone, but what it finds is measured by labels",
                    learner.name()
                )));
            }
            labels => labels?,
        };
        let parts = self.divide(labels)?;
        let sides = self.sides(&parts, monitor)?;
        let ground = Ground::new(self, &sides, labels, &parts)?;
        if !self.protocol.refits() {
            ground.check_tested()?;
            return self.measured(&learner, &ground, &parts, monitor);
        }
        if !ground.tests() {
            let why = format!(
                "none of the {} classes has the four labels of which two can be kept for a test",
                labels.n_classes()
            );
            return self.unmeasured(&learner, labels, &why, monitor);
        }
        let measured = ground
            .check_tested()
            .and_then(|()| self.measured(&learner, &ground, &parts, monitor));
        let mut study = match measured {
            // Nobody asked for a test, and what it took was wanted to learn from.
            Err(e) if e.kind() == ErrorKind::Data => {
                let why = format!("without the labels that were kept for a test: {e}");
                return self.unmeasured(&learner, labels, &why, monitor);
            }
            study => study?,
        };
        let (kept, _) = self.of_all(&learner, labels, monitor)?;
        study.measured = Some(std::mem::replace(&mut study.kept, kept).embedded);
        Ok(study)
    }

    /// The model of all labels and no numbers, for this reason.
    fn unmeasured(
        &self,
        learner: &Learner,
        labels: &Labels,
        why: &str,
        monitor: &Monitor,
    ) -> Result<CrossStudy> {
        let (kept, of_draw) = self.of_all(learner, labels, monitor)?;
        let learned = match learner.need() {
            Need::Pairs => "pairs".to_owned(),
            _ => format!("{} labels", labels.n_known()),
        };
        let why = format!(
            "Not measured: {why}. The model has learned from all {learned}; more labels of a class give a number"
        );
        Ok(CrossStudy {
            results: CrossResults::unmeasured(self, labels.len(), why, of_draw),
            parts: vec![Part::Train; labels.len()],
            drawn: vec![vec![]; labels.len()],
            kept,
            measured: None,
        })
    }

    /// The study of a test part, which keeps the model of the first draw.
    fn measured(
        &self,
        learner: &Learner,
        ground: &Ground,
        parts: &[Part],
        monitor: &Monitor,
    ) -> Result<CrossStudy> {
        let fitted = ground.fitted_labels();
        let (shown, draws) = self.draws(&fitted, ground, monitor);
        let mut runs: BTreeMap<CrossRow, Vec<Measured>> = BTreeMap::new();
        let mut of_draws = Vec::new();
        let mut drawn = vec![vec![]; parts.len()];
        let mut first = None;
        for draw in 0..draws {
            let seed = self.protocol.seed.wrapping_add(draw as u64);
            let known = shown(seed);
            let believed = believed(self, ground, &known, seed, monitor)?;
            let model = ground.fit(learner, &believed, seed, monitor)?;
            let measured = ground.measure(&model, monitor)?;
            runs.entry(CrossRow::Recipe).or_default().push(measured);
            if self.recipe.pseudo_labels != PseudoLabels::None {
                let alone = Believed::known(&known);
                let model = ground.fit(learner, &alone, seed, monitor)?;
                let measured = ground.measure(&model, monitor)?;
                runs.entry(CrossRow::LabelsOnly).or_default().push(measured);
            }
            of_draws.push(OfDraw::new(&believed, &known, &fitted));
            for (place, label) in known.items().iter().enumerate() {
                if label.class().is_some() && self.hides() {
                    drawn[ground.train[place]].push(draw);
                }
            }
            first.get_or_insert((model, believed));
        }
        if self.hides() {
            let all = Believed::known(&fitted);
            let model = ground.fit(learner, &all, self.protocol.seed, monitor)?;
            runs.insert(CrossRow::AllLabels, vec![ground.measure(&model, monitor)?]);
        }
        let start = if learner.need() != Need::Pairs && self.views.len() == 2 {
            without_labels(ground, monitor)?
        } else {
            None
        };
        let directions = start.as_ref().map(|(_, directions)| *directions);
        runs.extend(start.map(|(measured, _)| (CrossRow::Start, vec![measured])));
        let (model, believed) =
            first.ok_or_else(|| Error::parameter("draws", 0, "must be at least 1"))?;
        let mut results = CrossResults::new(self, &runs, of_draws, count(parts), &ground.asked());
        if let Some(row) = results.baselines.get_mut(&CrossRow::Start) {
            row.directions = directions;
        }
        Ok(CrossStudy {
            results,
            parts: parts.to_vec(),
            drawn,
            kept: CrossKept {
                believed: ground.named(&believed),
                embedded: ground.embed_all(&model)?,
                model,
            },
            measured: None,
        })
    }

    /// The model of all labels, and what it was fitted to.
    fn of_all(
        &self,
        learner: &Learner,
        labels: &Labels,
        monitor: &Monitor,
    ) -> Result<(CrossKept, OfDraw)> {
        let parts = vec![Part::Train; labels.len()];
        let sides = self.sides(&parts, monitor)?;
        let ground = Ground::new(self, &sides, labels, &parts)?;
        let (known, seed) = (ground.fitted_labels(), self.protocol.seed);
        let believed = believed(self, &ground, &known, seed, monitor)?;
        let model = ground.fit(learner, &believed, seed, monitor)?;
        let kept = CrossKept {
            believed: ground.named(&believed),
            embedded: ground.embed_all(&model)?,
            model,
        };
        Ok((kept, OfDraw::new(&believed, &known, &known)))
    }

    /// The views, of which texts are read by those of the items to fit on.
    pub(super) fn sides(&self, parts: &[Part], monitor: &Monitor) -> Result<Sides<'_>> {
        let texts = (self.texts, self.protocol.seed);
        Sides::of(self.collection, self.views, texts, &fitted(parts), monitor)
    }

    /// The learner. Fails on a recipe without one across views, or that is wrong.
    fn check(&self) -> Result<Learner> {
        self.recipe.validate()?;
        self.recipe.check_build()?;
        let learner = self.recipe.learner.cross().copied().ok_or_else(|| {
            usage(format!(
                "{} learns within one view; recipes across views are: {}",
                self.recipe.name,
                Learner::names().join(", ")
            ))
        })?;
        if self.views.len() < 2 {
            return Err(usage(format!(
                "{} searches from one view to another, so it needs two views by name; there are: {}",
                self.recipe.name,
                view_names(self.collection)
            )));
        }
        if learner.need() == Need::Pairs && self.hides() {
            return Err(usage(format!(
                "{} looks at no label, so hiding some of them has no effect; keep all of them to \
                 measure with",
                learner.name()
            )));
        }
        Ok(learner)
    }

    /// Whether labels of the training part are hidden.
    fn hides(&self) -> bool {
        self.protocol.labels_per_class.is_some() || self.protocol.label_fraction.is_some()
    }

    /// The part of every item.
    pub(super) fn divide(&self, labels: &Labels) -> Result<Vec<Part>> {
        match self.protocol.split {
            SplitKind::Item => {
                let mut parts = split::by_item(labels, TRAIN_SHARE, 0.0, self.protocol.seed)?;
                if self.protocol.refits() {
                    // Two of three labels in a test would measure what one of them teaches.
                    let few = labels
                        .by_class()
                        .into_iter()
                        .filter(|own| own.len() < FEWEST);
                    few.flatten().for_each(|item| parts[item] = Part::Train);
                }
                Ok(parts)
            }
            SplitKind::Given => split::given(self.collection),
            SplitKind::ZeroShot | SplitKind::Folds => Err(usage(
                "across views the items are divided within each class (item), or as the data say \
                 (given)",
            )),
        }
    }

    /// What labels a draw of this seed shows, and how many draws there are. Where it can be had, each class
    /// keeps a label in every view.
    pub(super) fn draws<'l>(
        &self,
        labels: &'l Labels,
        ground: &'l Ground,
        monitor: &Monitor,
    ) -> (Box<dyn Fn(u64) -> Labels + 'l>, usize) {
        let draws = self.protocol.draws;
        if let Some(share) = self.protocol.label_fraction {
            let few = |members: &&Vec<usize>| {
                members.len() > 2 && (share * members.len() as f64).round() < 2.0
            };
            let few = labels.by_class().iter().filter(few).count();
            if few > 0 {
                monitor.warn(format!(
                    "a share of {share} is less than two labels in {few} of {} classes; two are kept of each",
                    labels.n_classes()
                ));
            }
            let shown = move |seed| ground.covered(labels, &labels.draw_share(share, seed));
            return (Box::new(shown), draws);
        }
        let Some(asked) = self.protocol.labels_per_class else {
            return (Box::new(|_| labels.clone()), draws.min(1));
        };
        let most = labels.by_class().iter().map(Vec::len).max().unwrap_or(0);
        if most <= asked {
            monitor.warn(format!(
                "{asked} labels a class are to be kept, but no class has more than {most} to fit \
                 on: none is hidden, and there is one draw"
            ));
            return (Box::new(|_| labels.clone()), draws.min(1));
        }
        let shown = move |seed| ground.covered(labels, &labels.draw(asked, seed));
        (Box::new(shown), draws)
    }
}

/// What pairs alone find, and by how many directions; nothing, with a warning, where they cannot.
fn without_labels(ground: &Ground, monitor: &Monitor) -> Result<Option<(Measured, usize)>> {
    let nothing = Believed::known(&Labels::unknown(ground.train.len()));
    match ground.best_start(&nothing, monitor) {
        Ok(found) => Ok(Some(found)),
        Err(e) if e.kind() == ErrorKind::Cancelled => Err(e),
        Err(e) => {
            monitor.warn(format!("no row without labels: {e}"));
            Ok(None)
        }
    }
}
