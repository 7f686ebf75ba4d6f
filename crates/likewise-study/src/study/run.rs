//! Running a study, and what it leaves behind.

use std::collections::BTreeMap;

use likewise::ensemble::Voted;
use likewise::eval::by_class::{ClassResult, by_class};
use likewise::eval::collapse::Collapse;
use likewise::eval::summary::Run;
use likewise::{Beliefs, Embedding, Label, Labels, Monitor, Part, Triplets, matrix};
use likewise_nn::Model;
use ndarray::Array2;

use super::draw_log::DrawLog;
use super::ground::Ground;
use super::kept::Kept;
use super::meters::{calibration, collapse, collapse_of_learned, collapsed, count};
use super::plan::Plan;
use super::protocol::SplitKind;
use super::results::{ALL, Meters, Results, Rows};
use super::row::Row;
use super::several::counted;
use super::verdict::Delivered;
use crate::recipe::PseudoLabels;
use crate::{Error, Result};

/// Everything a study leaves behind.
#[derive(Debug, Clone)]
pub struct Study {
    /// The numbers: what `metrics.json` holds.
    pub results: Results,
    /// The part of every item.
    pub parts: Vec<Part>,
    /// The fitted model of the first draw.
    pub model: Model,
    /// For each item the draws that its label was shown in, where labels were hidden.
    pub drawn: Vec<Vec<usize>>,
    /// Rows that were fitted on, in the order of `beliefs`.
    pub train: Vec<usize>,
    /// Beliefs of the first draw about the training items.
    pub beliefs: Beliefs,
    /// The votes that these come from, where the recipe has any.
    pub voted: Option<Voted>,
    /// The triplets that it makes of them, by rows of `beliefs`.
    pub triplets: Option<Triplets>,
    /// Class of each column of `beliefs`.
    pub classes: Vec<String>,
    /// Embeddings of all items by the model that is kept.
    pub embeddings: Array2<f32>,
    /// Embeddings of all items by the model that was measured, where that has since learned
    /// from the test part as well.
    pub measured: Option<Array2<f32>>,
}

impl<'p> Plan<'p> {
    /// Runs the study.
    ///
    /// Fails without labels, with a split that leaves nothing to fit or to ask, on NaN, on
    /// a parameter out of its range, on a recipe that this build cannot run, and when cancelled.
    ///
    /// Cost: one exact graph of the training items, and per draw two propagations and
    /// trainings (times the folds + 1 where the split has no validation part).
    pub fn run(&'p self, monitor: &Monitor) -> Result<Study> {
        self.check()?;
        self.recipe.check_build()?;
        if self.recipe.learner.cross().is_some() {
            return Err(self.recipe.only_across());
        }
        match self.protocol.split {
            SplitKind::Folds => self.run_on_all(monitor),
            _ => self.run_on_split(monitor),
        }
    }

    fn run_on_split(&'p self, monitor: &Monitor) -> Result<Study> {
        self.check_several(self.recipe)?;
        let (labels, parts) = self.divide()?;
        let mut ground = self.ground(labels, &parts)?;
        self.look_at_tuples(&ground, monitor)?;
        let leaks = self.leaks(Some(labels), &parts, monitor)?;
        let draws = self.n_draws(labels, &ground, monitor);

        let mut rows: BTreeMap<Row, Vec<Run>> = BTreeMap::new();
        let raw = self.ask_starts(&mut ground, &mut rows, monitor)?;
        let Draws { logs, drawn, first } = self.draw_all(draws, &mut ground, &mut rows, monitor)?;
        let learns = self.recipe.rounds.epochs > 0 && self.recipe.learns_from_classes();
        if self.protocol.labels_per_class.is_some() && learns {
            // Where no label is hidden, the recipe has seen them all already; what learns nothing says nothing of them.
            rows.insert(Row::AllLabels, vec![ground.all_labels(monitor)?]);
        }

        let mut kept = first.ok_or_else(|| Error::parameter("draws", 0, "must be at least 1"))?;
        let learned = collapse_of_learned(&ground, &kept, monitor)?;
        if let Some(said) = collapsed(&learned, &raw, kept.classes.len()) {
            monitor.warn(said);
        }
        // Rankings number the tested items, of which a refit has others.
        let asked = rows[&Row::Recipe].iter().map(|run| &run.ranking);
        let classes = by_class(asked, &ground.tested_labels);
        let numbers = numbers(labels, &ground, &kept, &logs, &classes);
        let mut measured = None;
        if self.protocol.refits() {
            measured = Some(self.embed_all(&kept.model, &ground, monitor)?);
            ground = self.ground_again(labels, &ground)?;
            kept = ground.refit(&kept, monitor)?;
        }
        let calibration = calibration(&kept.beliefs, &labels.select(&ground.train), &kept.classes)?;
        let meters = Meters {
            raw,
            learned,
            calibration,
            classes,
            leaks,
            parts: count(&parts),
        };
        let results = Results::of_runs(self, &rows, &self.bootstrap(), numbers, logs, meters)?;
        let mut study = self.finish(results, parts, kept, ground, monitor)?;
        study.measured = measured;
        study.drawn = drawn;
        Ok(study)
    }

    /// How many draws of the labels there are: one, with a warning, where none would be hidden.
    fn n_draws(&self, labels: &Labels, ground: &Ground, monitor: &Monitor) -> usize {
        if let Some(asked) = self.protocol.labels_per_class {
            let fitted = labels.select(&ground.train);
            let most = counted(&fitted).1.into_iter().max().unwrap_or(0);
            if most > asked {
                return self.protocol.draws;
            }
            monitor.warn(format!(
                "{asked} labels a class are to be kept, but no class has more than {most} to \
                 fit on: none is hidden, and there is one draw"
            ));
        }
        self.protocol.draws.min(1)
    }

    /// Asks the starts without labels, which are the same in every draw, and says how far the features as
    /// they are have collapsed.
    fn ask_starts(
        &self,
        ground: &mut Ground,
        rows: &mut BTreeMap<Row, Vec<Run>>,
        monitor: &Monitor,
    ) -> Result<Collapse> {
        let raw = Embedding::from(matrix::l2_normalize(ground.tested.clone()));
        rows.insert(Row::Raw, vec![self.ask(ground, &raw, monitor)?]);
        if let Some(by_distance) = ground.by_distance() {
            let by_distance = self.ask(ground, &by_distance, monitor)?;
            rows.insert(Row::RawByDistance, vec![by_distance]);
        }
        let centered = ground.centered().rows(&ground.tested);
        let centered = self.ask(ground, &centered.into(), monitor)?;
        rows.insert(Row::Centered, vec![centered]);
        if let Some(rooted) = ground.rooted() {
            let rooted = rooted.rows(&ground.tested);
            let rooted = self.ask(ground, &rooted.into(), monitor)?;
            rows.insert(Row::Rooted, vec![rooted]);
        }
        if let Some(scaled) = ground.scaled() {
            let scaled = scaled.rows(&ground.tested);
            let scaled = self.ask(ground, &scaled.into(), monitor)?;
            rows.insert(Row::Scaled, vec![scaled]);
        }
        rows.insert(Row::Whitened, vec![ground.ask_whitened(monitor)?]);
        collapse(ground, raw.rows.view())
    }

    /// Runs so many draws, whose runs join the `rows`.
    fn draw_all(
        &self,
        draws: usize,
        ground: &mut Ground,
        rows: &mut BTreeMap<Row, Vec<Run>>,
        monitor: &Monitor,
    ) -> Result<Draws> {
        let mut all = Draws::default();
        for draw in 0..draws {
            let done = ground.draw(draw, rows, monitor)?;
            if self.protocol.labels_per_class.is_some() {
                all.drawn.resize(self.collection.len(), vec![]);
                for &item in &done.shown {
                    all.drawn[item].push(draw);
                }
            }
            all.logs.push(done.log);
            all.first.get_or_insert(done.kept);
        }
        Ok(all)
    }

    /// Embeds all items by a model.
    pub(super) fn embed_all(
        &self,
        model: &Model,
        ground: &Ground,
        monitor: &Monitor,
    ) -> Result<Array2<f32>> {
        match (model, &ground.images) {
            (Model::Network(network), Some(images)) => {
                let all: Vec<usize> = (0..self.features.nrows()).collect();
                network.embed_images(images.as_ref(), &all, &self.device, monitor)
            }
            _ => model.embed(self.features, &self.device),
        }
    }

    /// Embeds all items by the model that is kept.
    pub(super) fn finish(
        &self,
        mut results: Results,
        parts: Vec<Part>,
        kept: Kept,
        ground: Ground,
        monitor: &Monitor,
    ) -> Result<Study> {
        results.tell_columns(self.recipe, &kept.model);
        let embeddings = self.embed_all(&kept.model, &ground, monitor)?;
        let model = kept.model;
        let triplets = match (&self.recipe.pseudo_labels, &kept.voted) {
            (PseudoLabels::Votes(how), Some(voted)) => {
                let of = how.triplets.as_ref();
                of.map(|of| of.triplets(voted, self.protocol.seed))
                    .transpose()?
            }
            _ => None,
        };
        Ok(Study {
            results,
            parts,
            model,
            train: ground.train,
            beliefs: kept.beliefs,
            voted: kept.voted,
            triplets,
            classes: kept.classes,
            embeddings,
            drawn: vec![],
            measured: None,
        })
    }
}

/// What all draws left.
#[derive(Default)]
struct Draws {
    logs: Vec<DrawLog>,
    /// For each item the draws that its label was shown in, where labels were hidden.
    drawn: Vec<Vec<usize>>,
    /// What the first draw learned.
    first: Option<Kept>,
}

/// What the first draw, `kept`, says of the labels and the split, before anything learns from the test part.
fn numbers(
    labels: &Labels,
    ground: &Ground,
    kept: &Kept,
    logs: &[DrawLog],
    classes: &[ClassResult],
) -> Rows {
    // Not the sum over classes: an item counts for each of several tags.
    let fitted = logs.first().map_or(0, |log| log.labels);
    let hidden = labels
        .select(&ground.train)
        .n_known()
        .saturating_sub(fitted);
    // Items without a label, and those of the training part whose label was hidden.
    let still_open = labels
        .items()
        .iter()
        .filter(|l| **l == Label::Unknown)
        .count()
        + hidden;
    let found = |class: &ClassResult| class.map_at_r.unwrap_or(0.0);
    let weakest = (classes.iter()).min_by(|a, b| found(a).total_cmp(&found(b)));
    let weakest = weakest.filter(|class| found(class) < ALL);
    Rows {
        labels: kept.labels.clone(),
        weakest: weakest.map(|class| class.class.clone()),
        disjoint: ground.disjoint,
        lone: ground.lone,
        unlabeled: still_open,
        delivered: logs.first().map_or(Delivered::Learned, Delivered::of),
        ..Rows::default()
    }
}
