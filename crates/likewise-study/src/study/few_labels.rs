//! A study that sets nothing aside: all labels are fitted, and rounds that keep some of them
//! back say what that is worth.

mod rounds;

use std::borrow::Cow;
use std::collections::BTreeMap;

use likewise::eval::few_labels::{self, Value};
use likewise::eval::kmeans::KMeans;
use likewise::eval::proportion;
use likewise::eval::summary::{Difference, Summary};
use likewise::{Beliefs, Embedding, Label, Labels, Monitor, Part, matrix, seed};
use likewise_nn::Model;
use ndarray::{Array2, ArrayView2};
use rand::seq::index;

use self::rounds::{Answers, Rounds, Values};
use super::believe::Source;
use super::draw::Drawn;
use super::draw_log::DrawLog;
use super::ground::{Ground, Places, Whiten};
use super::kept::Kept;
use super::meters::{calibration, collapse, collapse_of_learned, collapsed, count};
use super::plan::Plan;
use super::results::{Meters, Results, Rows, label_counts};
use super::rounds::ENOUGH;
use super::row::Row;
use super::run::Study;
use super::setup::{FIRST_DRAW, START};
use super::shifted::Shifted;
use super::verdict::Delivered;
use crate::recipe::Keep;
use crate::{ErrorKind, Result};

/// Items that are named to be labeled first.
const FIRST: usize = 12;
/// Share of all items from which on a class is easy to find by its size alone.
const MOST_OF_ALL: f64 = 0.75;
/// Items among which they are looked for.
const FIRST_AMONG: usize = 20_000;

impl<'p> Plan<'p> {
    /// Fits all labels there are, measures by rounds that keep some back, and delivers the
    /// start where nothing can be learned or where learning clearly did harm.
    pub(super) fn run_on_all(&'p self, monitor: &Monitor) -> Result<Study> {
        let parts = vec![Part::Train; self.features.nrows()];
        let (drawn, mut ground) = self.all_labels(monitor)?;
        let leaks = self.leaks(None, &parts, monitor)?;
        let raw = Embedding::from(matrix::l2_normalize(ground.tested.clone()));
        let raw_collapse = collapse(&ground, raw.rows.view())?;
        let whiten = drawn.whiten;
        let mut rows = Rows {
            labels: label_counts(&drawn.known),
            unlabeled: unknown(&drawn.known),
            ..Rows::default()
        };
        let (mut kept, logs) = if drawn.known.n_classes() < 2 {
            if self.recipe.reads_graph() {
                ground.build_graph(whiten, monitor)?;
            }
            let setup = ground.setup(whiten, START.into(), drawn.seed, &[])?;
            rows.first = first_to_label(self, &drawn.known, setup.rows.view(), monitor)?;
            let learned = ground.learn_unmeasured(&setup, &drawn.known, monitor)?;
            let without_labels = learned.is_some() && self.tuples.is_none();
            rows.not_measured = Some(nothing_to_measure(&drawn.known, without_labels));
            if let Some(model) = learned {
                let beliefs = no_beliefs(&drawn.known);
                (ground.kept_as(model, beliefs, &drawn)?, vec![])
            } else {
                rows.delivered = Delivered::Start;
                (ground.kept_start(&drawn)?, vec![])
            }
        } else {
            let (kept, log) = ground.learn_all(&drawn, &mut rows, raw, monitor)?;
            rows.delivered = Delivered::of(&log);
            (kept, vec![log])
        };
        let mut learned = collapse_of_learned(&ground, &kept, monitor)?;
        let mut flat = collapsed(&learned, &raw_collapse, kept.classes.len());
        // A recipe that keeps its last round is one that is looked at as it was trained.
        if self.recipe.rounds.keep != Keep::Last && rows.learned_is_worse(flat.is_some()) {
            let delivered;
            (kept, delivered) = ground.best_start(kept, &drawn, &rows)?;
            rows.delivered = delivered;
            learned = collapse_of_learned(&ground, &kept, monitor)?;
            flat = None;
        }
        if let Some(said) = flat {
            monitor.warn(said);
        }
        let meters = Meters {
            learned,
            raw: raw_collapse,
            calibration: calibration(&kept.beliefs, &drawn.truth, &kept.classes)?,
            classes: vec![],
            leaks,
            parts: count(&parts),
        };
        let results = Results::of_rows(self, rows, logs, meters);
        self.finish(results, parts, kept, ground, monitor)
    }

    /// All items as those that are fitted, with the labels that are shown.
    pub(super) fn all_labels(&'p self, monitor: &Monitor) -> Result<(Drawn, Ground<'p>)> {
        self.recipe.validate()?;
        self.check_several(self.recipe)?;
        self.check_features()?;
        let seed = self.protocol.seed;
        let truth = match &self.collection.labels {
            Some(labels) => labels.clone(),
            None => Labels::unknown(self.features.nrows()),
        };
        let shown = match self.protocol.labels_per_class {
            Some(m) => truth.draw(m, seed),
            None => truth.clone(),
        };
        let (known, _) = shown.compact();
        let ground = self.ground_on(Cow::Owned(known.clone()), Places::all(&known))?;
        self.look_at_tuples(&ground, monitor)?;
        let whiten = if known.n_classes() < 2 {
            ground.plain_start()?
        } else {
            ground.whiten(&known, &[], ENOUGH)?
        };
        let drawn = Drawn {
            seed,
            truth,
            known,
            whiten,
            validation: vec![],
        };
        Ok((drawn, ground))
    }
}

impl Ground<'_> {
    /// The model of all labels, and in `rows` what rounds that keep labels back say of it.
    fn learn_all(
        &mut self,
        drawn: &Drawn,
        rows: &mut Rows,
        raw: Embedding,
        monitor: &Monitor,
    ) -> Result<(Kept, DrawLog)> {
        let known = &drawn.known;
        let least = match self.plan.tuples {
            Some(_) => 1,
            None => self.recipe.fewest_labels_of_a_class(),
        };
        let rounds = Rounds::of(self.plan.features, drawn, least);
        // What is said of the model that is kept need not be said of each round.
        let quiet = &monitor.quiet();
        let starts: Vec<Whiten> = (rounds.seen.iter())
            .map(|seen| self.whiten(seen, &[], rounds.enough(seen)))
            .collect::<Result<_>>()?;
        for &whiten in starts.iter().chain([&drawn.whiten]) {
            self.build_graph(whiten, monitor)?;
        }

        let baseline = self.whitened_start()?;
        let counted = self.class_sizes(&rounds.once, quiet)?;
        (rows.outside, rows.central) = (counted.outside, counted.central);
        rows.largest = largest(&counted.of);
        let setup = self.setup(drawn.whiten, FIRST_DRAW.into(), drawn.seed, &[])?;
        let all = self.find(&setup, known, monitor)?;
        let mut answers = Answers {
            rounds: &rounds,
            sizes: &counted.of,
            values: BTreeMap::new(),
            quiet,
        };
        self.ask_starts(raw, baseline, &mut answers)?;
        self.ask_learned(&starts, &mut answers, monitor)?;
        rows.fill(&answers.values, known, &counted.of, self.train.len())?;
        if rows.summaries.is_empty() {
            rows.not_measured = Some(too_few(known, &rounds.once, least));
        }
        let chosen = self.choose(&setup, Source::Beliefs, known, Some(&all), monitor)?;
        let log = DrawLog::of(0, drawn, &chosen, Some(&all), None);
        Ok((self.kept(chosen, all, drawn)?, log))
    }

    /// Asks the starts without labels, which are the same in every round. Of their rows, one set at a
    /// time is held.
    fn ask_starts(&self, raw: Embedding, baseline: Whiten, answers: &mut Answers) -> Result<()> {
        answers.ask_all(Row::Raw, &raw)?;
        drop(raw);
        if let Some(by_distance) = self.by_distance() {
            answers.ask_all(Row::RawByDistance, &by_distance)?;
        }
        let centered = Embedding::from(self.centered().rows(&self.tested));
        answers.ask_all(Row::Centered, &centered)?;
        drop(centered);
        if let Some(rooted) = self.rooted() {
            answers.ask_all(Row::Rooted, &rooted.rows(&self.tested).into())?;
        }
        if let Some(scaled) = self.scaled() {
            answers.ask_all(Row::Scaled, &scaled.rows(&self.tested).into())?;
        }
        let whitened = Embedding::from(self.whitened_rows(baseline)?);
        answers.ask_all(Row::Whitened, &whitened)
    }

    /// Learns in each round, on its own of the `starts`, from the labels that it sees, and asks what was learned.
    fn ask_learned(
        &self,
        starts: &[Whiten],
        answers: &mut Answers,
        monitor: &Monitor,
    ) -> Result<()> {
        let (rounds, quiet) = (answers.rounds, answers.quiet);
        // Else it is the recipe's own, or cannot be had.
        let mut labels_alone = self.recipe.learns_from_classes() && !self.learns_labels_alone();
        let mut done = 0;
        monitor.start("rounds that keep some labels back", 2 * starts.len() as u64);
        for (number, (seen, &whiten)) in rounds.seen.iter().zip(starts).enumerate() {
            let name = format!("round-{number}");
            let mut setup = self.setup(whiten, name, rounds.seed, &[])?;
            setup.enough = rounds.enough(seen);
            let found = self.find(&setup, seen, quiet)?;
            for (row, source) in [
                (Row::Recipe, Source::Beliefs),
                (Row::LabelsOnly, Source::Labels),
            ] {
                done += 1;
                if row == Row::LabelsOnly && !labels_alone {
                    continue;
                }
                let chosen = match self.choose(&setup, source, seen, Some(&found), quiet) {
                    // The recipe has learned, so what its learner lacks is labels.
                    Err(e) if row == Row::LabelsOnly && e.kind() == ErrorKind::Data => {
                        monitor.warn(format!("there is no row \"{}\": {e}", row.title()));
                        answers.values.remove(&row);
                        labels_alone = false;
                        continue;
                    }
                    chosen => chosen?,
                };
                let embedded = self.embed_tested_by(&chosen.model, &setup.start, quiet)?;
                answers.ask(row, &embedded, number)?;
                monitor.step(done)?;
            }
        }
        monitor.end();
        if self.recipe.learns_from_classes()
            && self.learns_labels_alone()
            && let Some(same) = answers.values.get(&Row::Recipe).cloned()
        {
            answers.values.insert(Row::LabelsOnly, same);
        }
        Ok(())
    }

    /// The start, where nothing can be learned; all beliefs are those of the labels.
    pub(super) fn kept_start(&self, drawn: &Drawn) -> Result<Kept> {
        self.kept_as(
            self.basis(drawn.whiten)?.model()?.into(),
            no_beliefs(&drawn.known),
            drawn,
        )
    }

    /// What stands in place of a model that did harm: the best of the starts without labels.
    fn best_start(&mut self, kept: Kept, drawn: &Drawn, rows: &Rows) -> Result<(Kept, Delivered)> {
        let best = rows.best_start();
        let whitened = self.whitened_start()?;
        let plain = || -> Result<Model> {
            // The basis of a recipe that learns on features as they are is these, by their distance.
            let start = if best == Some(Row::Whitened) {
                self.start_in(self.spectrum(whitened)?, whitened, self.rank())?
            } else {
                self.basis(whitened)?
            };
            Ok(start.model()?.into())
        };
        let (model, delivered) = match self.as_they_are() {
            // With a power they are not those that were measured.
            Some(raw)
                if best == Some(Row::Raw) && self.recipe.start.reading().keeps_directions() =>
            {
                (raw, Delivered::RawFeatures)
            }
            _ => {
                let shifted = match best {
                    Some(Row::Centered) => Some(self.centered()),
                    Some(Row::Rooted) => self.rooted(),
                    Some(Row::Scaled) => self.scaled(),
                    _ => None,
                };
                let shifted = shifted.and_then(Shifted::model);
                (shifted.map_or_else(plain, Ok)?, Delivered::Start)
            }
        };
        let best = Kept {
            voted: kept.voted,
            ..self.kept_as(model, kept.beliefs, drawn)?
        };
        Ok((best, delivered))
    }
}

/// Why no label can be asked for: `once` are the labels of different items.
fn too_few(known: &Labels, once: &Labels, least: usize) -> String {
    let (all, fitted) = if least > 1 {
        ("four", "two")
    } else {
        ("three", "one")
    };
    format!(
        "no class has the {all} labels{} that a measurement takes: {fitted} to fit, and two to \
         ask for each other (there are {} labels in {} classes)",
        if once.n_known() < known.n_known() {
            " of different items"
        } else {
            ""
        },
        known.n_known(),
        known.n_classes()
    )
}

impl Rows {
    /// Takes over what the rounds found.
    fn fill(
        &mut self,
        values: &BTreeMap<Row, Values>,
        known: &Labels,
        sizes: &[f64],
        gallery: usize,
    ) -> Result<()> {
        let Some(recipe) = values.get(&Row::Recipe) else {
            return Ok(());
        };
        let flat = |of: &Values, less: Option<&Values>| -> Vec<Vec<(u32, f64)>> {
            let round = |(number, round): (usize, &Vec<Value>)| {
                let taken = |q: usize| less.map_or(0.0, |less| less[number][q].r_precision);
                let each = round.iter().enumerate();
                each.map(|(q, v)| (v.class, v.r_precision - taken(q)))
                    .collect()
            };
            of.iter().enumerate().map(round).collect()
        };
        for (&row, found) in values {
            let Some(estimate) = few_labels::estimate(&flat(found, None), sizes)? else {
                continue;
            };
            // Answers that are all right do not vary, which is no proof that the next one is.
            let least = proportion::wilson_mean(estimate.value.clamp(0.0, 1.0), distinct(found));
            let least = least.unwrap_or(estimate);
            let ends = [estimate.low.min(least.low), estimate.high.max(least.high)];
            let ends = ends.map(|end| end.clamp(0.0, 1.0));
            let summary = Summary {
                r_precision: Some(estimate.value),
                n_queries: distinct(found),
                n_gallery: gallery,
                draws: found.len(),
                ci: BTreeMap::from([("r_precision".to_owned(), ends)]),
                ..Summary::default()
            };
            self.summaries.insert(row, summary);
            if row == Row::Recipe {
                continue;
            }
            let apart = flat(recipe, Some(found));
            if let Some(mut difference) = few_labels::estimate(&apart, sizes)? {
                let all: Vec<f64> = apart.iter().flatten().map(|(_, apart)| *apart).collect();
                let square = all.iter().map(|d| d * d).sum::<f64>() / all.len() as f64;
                let graded = |v: &Value| v.r_precision > 0.0 && v.r_precision < 1.0;
                // Two that answer alike, and not all rightly or wrongly, are one.
                let same = square == 0.0 && recipe.iter().flatten().any(graded);
                let least = proportion::paired_mean(difference.value, square, distinct(recipe));
                let least = least.filter(|_| !same);
                difference = least.map_or(difference, |least| difference.or(least));
                let difference = difference.within_room(estimate.value);
                let one: Difference = BTreeMap::from([("r_precision".to_owned(), difference)]);
                self.differences.insert(row, one);
            }
        }
        let mut by_class = vec![(0.0, 0_usize); known.n_classes()];
        for value in recipe.iter().flatten() {
            let (sum, n) = &mut by_class[value.class as usize];
            *sum += value.r_precision;
            *n += 1;
        }
        self.unasked = by_class.iter().filter(|(_, asked)| *asked == 0).count();
        self.weakest = super::results::weakest(&by_class, known.classes());
        Ok(())
    }
}

fn unknown(labels: &Labels) -> usize {
    let open = labels
        .items()
        .iter()
        .filter(|label| **label == Label::Unknown);
    open.count()
}

/// The share of the largest class, where that is most of all items.
fn largest(sizes: &[f64]) -> Option<f64> {
    let most = sizes.iter().copied().fold(0.0, f64::max);
    let share = most / sizes.iter().sum::<f64>();
    (sizes.len() > 1 && share >= MOST_OF_ALL).then_some(share)
}

/// Items that asked, each counted once.
fn distinct(values: &Values) -> usize {
    let mut items: Vec<usize> = values.iter().flatten().map(|v| v.query).collect();
    items.sort_unstable();
    items.dedup();
    items.len()
}

/// Why nothing is measured; and, where the recipe has learned `without_labels`, what that leaves open.
fn nothing_to_measure(known: &Labels, without_labels: bool) -> String {
    let why = match known.n_known() {
        0 => "no item is labeled with a class".into(),
        1 => {
            "only one item is labeled with a class; what is alike shows against a second one".into()
        }
        n => format!("{n} labels of one class only; what is alike shows against a second one"),
    };
    if without_labels {
        return format!(
            "{why}; what the recipe has learned without labels is delivered, and nothing here tells \
             whether it is better than the features"
        );
    }
    why
}

pub(super) fn no_beliefs(known: &Labels) -> Beliefs {
    let n = known.len();
    let labeled: Vec<bool> = known.items().iter().map(|l| l.class().is_some()).collect();
    Beliefs {
        scores: Array2::zeros((n, known.n_classes())),
        pseudo_label: known.items().iter().map(|label| label.class()).collect(),
        confidence: labeled.iter().map(|&l| f32::from(u8::from(l))).collect(),
        labeled,
        convergence: likewise::Convergence::default(),
    }
}

/// Ids of items that stand for many: of each of a few clusters, the one nearest to its centre.
fn first_to_label(
    plan: &Plan,
    known: &Labels,
    rows: ArrayView2<f32>,
    monitor: &Monitor,
) -> Result<Vec<String>> {
    let open = (0..known.len()).filter(|&i| known[i] == Label::Unknown);
    let open: Vec<usize> = open.collect();
    let n = open.len();
    if n == 0 {
        return Ok(vec![]);
    }
    let mut rng = seed::stream(plan.protocol.seed, "first to label");
    let drawn = index::sample(&mut rng, n, n.min(FIRST_AMONG));
    let mut among: Vec<usize> = drawn.iter().map(|place| open[place]).collect();
    among.sort_unstable();
    let sample = matrix::select_rows(rows, &among);
    let clusters = KMeans::new(FIRST.min(n.div_ceil(2)))
        .seed(plan.protocol.seed)
        .n_init(1)
        .fit(sample.view(), monitor)?;
    let mut nearest = vec![(f32::INFINITY, 0_usize); clusters.centroids.nrows()];
    let mut sizes = vec![0_usize; nearest.len()];
    for (place, &cluster) in clusters.cluster.iter().enumerate() {
        let cluster = cluster as usize;
        let center = clusters.centroids.row(cluster);
        let row = sample.row(place);
        let squares = row.iter().zip(center).map(|(a, b)| (a - b).powi(2));
        let distance: f32 = squares.sum();
        sizes[cluster] += 1;
        if distance < nearest[cluster].0 {
            nearest[cluster] = (distance, among[place]);
        }
    }
    let mut order: Vec<usize> = (0..sizes.len()).filter(|&c| sizes[c] > 0).collect();
    order.sort_by_key(|&c| (std::cmp::Reverse(sizes[c]), c));
    let id = |cluster: usize| plan.collection.ids()[nearest[cluster].1].clone();
    Ok(order.into_iter().map(id).collect())
}
