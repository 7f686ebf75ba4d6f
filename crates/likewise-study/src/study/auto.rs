//! Choosing a recipe by the labels at hand.

use std::borrow::Cow;

use likewise::eval::bootstrap::Estimate;
use likewise::eval::few_labels::{self, Round, Value};
use likewise::eval::split;
use likewise::{Labels, Monitor, Part, matrix, seed};
use ndarray::{Array2, Axis};
use rand::seq::index;

use super::believe::{Source, spread};
use super::few_labels::class_sizes;
use super::ground::{Ground, Places};
use super::plan::Plan;
use super::protocol::{Protocol, SplitKind};
use super::rounds::ENOUGH;
use super::tried::Tried;
use crate::recipe::{PseudoLabels, Recipe};
use crate::{Error, Result};

/// Most items among which recipes are compared; all labeled ones are among them, unless these
/// alone are more.
const MOST: usize = 4000;
/// Labels of a class that a measurement takes.
const LEAST: usize = 5;

/// A recipe that was chosen, and those that it was chosen from, the simplest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The chosen one.
    pub recipe: Recipe,
    /// All that were tried; none where the labels are too few, or of other classes than those
    /// that are searched.
    pub tried: Vec<Tried>,
}

impl Plan<'_> {
    /// The recipe among `candidates`, the simplest first, that does best on labels which it does
    /// not learn from.
    ///
    /// The labels at hand are kept back in turn, as in a study of a handful of labels. A recipe
    /// takes the place of a simpler one where its gain, query by query, is above half of the half
    /// of its 95 % interval, about one standard error. Where nothing can be measured it is `usual`,
    /// and where the classes that are searched have no labels it is `unseen`. What rounds over the
    /// same labels then say of the chosen one is a little too good; a test part is not.
    ///
    /// Of more than 4,000 training items a part is enough; of the test part only the names of its
    /// classes are looked at.
    pub fn choose_recipe(
        &self,
        candidates: &[Recipe],
        [usual, unseen]: [&Recipe; 2],
        monitor: &Monitor,
    ) -> Result<Choice> {
        let none = |recipe: &Recipe| Choice {
            recipe: recipe.clone(),
            tried: vec![],
        };
        let Some(truth) = &self.collection.labels else {
            return Ok(none(usual));
        };
        matrix::check_finite(self.features, "features")?;
        let parts = self.split(truth)?;
        if is_disjoint(truth, &parts) {
            return Ok(none(unseen));
        }
        let (rows, known) = self.among(truth, &parts);
        let rounds = few_labels::rounds(&known, self.protocol.seed);
        if known.n_classes() < 2 || rounds.is_empty() {
            return Ok(none(usual));
        }
        let (collection, features) = (
            self.collection.select(&rows),
            self.features.select(Axis(0), &rows),
        );
        let protocol = Protocol {
            split: SplitKind::Folds,
            ..self.protocol.clone()
        };
        let first = candidates.first().ok_or_else(nothing)?;
        let device = self.device.clone();
        let part = Plan::of(&collection, features.view(), first, &protocol, device);
        let fits: Vec<Recipe> = (candidates.iter())
            .map(|recipe| recipe.clone().fitting(rows.len()))
            .collect();
        let mut ground = part.ground_on(Cow::Borrowed(&known), Places::all(&known))?;
        monitor.start("choosing a recipe", candidates.len() as u64);
        let mut tried = Vec::new();
        let mut best: Option<(usize, Values)> = None;
        for (place, recipe) in fits.iter().enumerate() {
            let values = ground.values_of(recipe, &known, &rounds, &monitor.quiet())?;
            let gain = (best.as_ref()).and_then(|(_, of)| few_labels::estimate(&less(&values, of)));
            tried.push(Tried {
                recipe: recipe.name.clone(),
                r_precision: few_labels::estimate(&plain(&values)).map(|mean| mean.value),
                gain,
            });
            if best.is_none() || gain.is_some_and(clear) {
                best = Some((place, values));
            }
            monitor.step(place as u64 + 1)?;
        }
        monitor.end();
        let (place, _) = best.ok_or_else(nothing)?;
        Ok(Choice {
            recipe: candidates[place].clone(),
            tried,
        })
    }

    /// The training items that are looked at, ascending, and what is known of them.
    fn among(&self, truth: &Labels, parts: &[Part]) -> (Vec<usize>, Labels) {
        let train: Vec<usize> = (0..parts.len())
            .filter(|&i| parts[i] == Part::Train)
            .collect();
        let seed = self.protocol.seed;
        let shown = match self.protocol.labels_per_class {
            Some(m) => truth.select(&train).draw(m, seed),
            None => truth.select(&train),
        };
        // As many labels of each class tell recipes apart as well as all of very many.
        let shown = if shown.n_known() > MOST {
            shown.draw((MOST / shown.n_classes().max(1)).max(LEAST), seed)
        } else {
            shown
        };
        let is_known = |&place: &usize| shown[place].class().is_some();
        let (mut places, open): (Vec<usize>, Vec<usize>) = (0..train.len()).partition(is_known);
        let room = MOST.saturating_sub(places.len()).min(open.len());
        let mut rng = seed::stream(seed, "items to choose a recipe by");
        places.extend(
            index::sample(&mut rng, open.len(), room)
                .iter()
                .map(|i| open[i]),
        );
        places.sort_unstable();
        let (known, _) = shown.select(&places).compact();
        let rows = places.into_iter().map(|place| train[place]).collect();
        (rows, known)
    }
}

/// Whether the classes that ask have no label to fit on.
fn is_disjoint(truth: &Labels, parts: &[Part]) -> bool {
    let mut fitted = vec![false; truth.n_classes()];
    let train = (0..parts.len()).filter(|&i| parts[i] == Part::Train);
    for class in train.filter_map(|i| truth[i].class()) {
        fitted[class as usize] = true;
    }
    let (queries, _) = split::roles(parts);
    let asked: Vec<u32> = queries.iter().filter_map(|&i| truth[i].class()).collect();
    !asked.is_empty() && !asked.iter().any(|&class| fitted[class as usize])
}

/// Values of one recipe: a list a round.
type Values = Vec<Vec<Value>>;

fn nothing() -> Error {
    Error::data("no recipe to choose from")
}

/// Whether a gain is more likely than not to be one.
fn clear(gain: Estimate) -> bool {
    let half = (gain.high - gain.value).max(gain.value - gain.low);
    gain.value > half / 2.0
}

fn plain(of: &Values) -> Vec<Vec<(u32, f64)>> {
    let each = |round: &Vec<Value>| round.iter().map(|v| (v.class, v.r_precision)).collect();
    of.iter().map(each).collect()
}

/// Query by query, what the first have more than the second.
fn less(of: &Values, than: &Values) -> Vec<Vec<(u32, f64)>> {
    let pairs = of.iter().zip(than).map(|(of, than)| of.iter().zip(than));
    pairs
        .map(|round| {
            round
                .map(|(a, b)| (a.class, a.r_precision - b.r_precision))
                .collect()
        })
        .collect()
}

impl<'a> Ground<'a> {
    /// How a recipe does in each of the `rounds`.
    fn values_of(
        &mut self,
        recipe: &'a Recipe,
        known: &Labels,
        rounds: &[Vec<usize>],
        monitor: &Monitor,
    ) -> Result<Values> {
        recipe.validate()?;
        self.recipe = recipe;
        self.spreading = recipe.spreading(known.len());
        self.analyse()?;
        let plain = self.plain_start()?;
        self.build_graph(plain, monitor)?;
        let setup = self.setup(plain, "choice".into(), 0, &[])?;
        let how = &self.spreading;
        let beliefs = spread(how, setup.rows.view(), setup.graph()?, known, monitor)?;
        let sizes = class_sizes(&beliefs, known);
        let mut all = Vec::new();
        for (number, kept) in rounds.iter().enumerate() {
            let seen = known.masked(|i| kept.binary_search(&i).is_err());
            let enough = ENOUGH * seen.n_known() / known.n_known();
            let whiten = self.whiten(&seen, &[], enough)?;
            self.build_graph(whiten, monitor)?;
            let mut setup = self.setup(whiten, format!("choice-{number}"), 0, &[])?;
            setup.enough = enough;
            let (source, beliefs) = if recipe.pseudo_labels == PseudoLabels::None {
                (Source::Labels, None)
            } else {
                let how = &self.spreading;
                let rows = setup.rows.view();
                let beliefs = spread(how, rows, setup.graph()?, &seen, monitor)?;
                (Source::Beliefs, Some(beliefs))
            };
            let chosen = self.choose(&setup, source, &seen, beliefs.as_ref(), monitor)?;
            let embeddings: Array2<f32> =
                self.embed_tested_by(&chosen.model, &setup.start, monitor)?;
            let round = Round {
                embeddings: embeddings.view(),
                labels: known,
                kept,
                sizes: &sizes,
            };
            all.push(few_labels::r_precision(&round, monitor)?);
        }
        Ok(all)
    }
}
