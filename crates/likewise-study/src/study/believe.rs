//! What an epoch learns: from the labels, from what spreads from them, from votes, or from the truth.

use likewise::ensemble::Voted;
use likewise::learn::Targets;
use likewise::neighbor::Exact;
use likewise::propagate::iscen::class_weights;
use likewise::propagate::parts::confidence;
use likewise::propagate::{Ability, Given, Propagate as _};
use likewise::tuple::{self, Triplets};
use likewise::{Beliefs, Convergence, Graph, Label, Labels, Monitor, seed};
use likewise_nn::lpf::{Iteration, Predicted, Rows};
use likewise_nn::{Device, Model};
use ndarray::{Array2, ArrayView2, Axis};
use rand::seq::index;

use super::embed::before_map;
use super::ground::Ground;
use super::refuse::refuse;
use super::rounds::Models;
use super::setup::Setup;
use super::turned::turned;
use crate::recipe::{
    Affinity, Confidence, On, Prediction, Propagation, PseudoLabels, Recipe, Voting,
};
use crate::{Error, Result};

/// Where a training takes its targets from.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Source {
    /// The known labels alone.
    Labels,
    /// What the recipe believes of all items.
    Beliefs,
}

impl Source {
    pub(super) fn name(self) -> &'static str {
        match self {
            Source::Labels => "labels-only",
            Source::Beliefs => "recipe",
        }
    }

    /// Epochs before what it says joins the known labels, which have nothing to wait for.
    pub(super) fn warm_up(self, recipe: &Recipe) -> usize {
        match self {
            Source::Labels => 0,
            Source::Beliefs => recipe.pseudo_labels.labeled_epochs(),
        }
    }
}

/// What is believed of the fitted items before anything is learned: what a run writes down.
pub(super) struct Found {
    pub(super) beliefs: Beliefs,
    /// The votes that they come from, if they do.
    pub(super) voted: Option<Voted>,
    /// What is learned of them, where that is a selection: of label prediction.
    pub(super) selected: Option<Targets>,
    /// The selections that led to it, one after the other.
    pub(super) selections: Vec<Iteration>,
}

impl Ground<'_> {
    /// What is believed on the start: by votes or label prediction where the recipe has them, else by
    /// what spreads.
    pub(super) fn find(&self, setup: &Setup, known: &Labels, monitor: &Monitor) -> Result<Found> {
        match &self.recipe.pseudo_labels {
            PseudoLabels::Votes(how) => {
                let voted = self.vote(how, setup, known, None, monitor)?;
                Ok(Found {
                    beliefs: voted.beliefs(),
                    voted: Some(voted),
                    selected: None,
                    selections: vec![],
                })
            }
            PseudoLabels::Lpf(how) => {
                let predicted = self.predict(how, setup, known, monitor)?;
                Ok(Found {
                    beliefs: of_prediction(&predicted, known),
                    voted: None,
                    selected: Some(of_selection(&predicted, known, how)),
                    selections: predicted.iterations,
                })
            }
            _ => {
                let rows = setup.rows.view();
                Ok(Found {
                    beliefs: spread(&self.spreading, rows, setup.graph()?, known, monitor)?,
                    voted: None,
                    selected: None,
                    selections: vec![],
                })
            }
        }
    }

    /// Label prediction from the rows of one view.
    fn predict(
        &self,
        how: &Prediction,
        setup: &Setup,
        known: &Labels,
        monitor: &Monitor,
    ) -> Result<Predicted> {
        let rows = self.features(&self.train);
        let present = not_outside(known);
        let view = Rows {
            rows: rows.view(),
            present: Some(&present),
        };
        predicted(
            &[view],
            known,
            how,
            (setup.seed, &self.plan.device),
            monitor,
        )
    }

    /// What a training learns first.
    pub(super) fn targets(
        &self,
        setup: &Setup,
        source: Source,
        known: &Labels,
        found: Option<&Found>,
        monitor: &Monitor,
    ) -> Result<Targets> {
        if source == Source::Labels {
            return Ok(labeled(known));
        }
        let targets = match (&self.recipe.pseudo_labels, found) {
            (PseudoLabels::Propagation(how), Some(found)) => believed(&found.beliefs, known, how),
            (
                PseudoLabels::Votes(how),
                Some(Found {
                    voted: Some(voted), ..
                }),
            ) => of_votes(voted, known, how, setup.seed)?,
            (
                PseudoLabels::Lpf(_),
                Some(Found {
                    selected: Some(selected),
                    ..
                }),
            ) => selected.clone(),
            _ => return self.believe(setup, known, 1, &Models::default(), monitor),
        };
        self.accepted(targets, setup.rows.view(), known, (setup.seed, monitor))
    }

    /// `targets` without the items that the recipe refuses as of no known class, by the `rows` of all items.
    fn accepted(
        &self,
        mut targets: Targets,
        rows: ArrayView2<f32>,
        known: &Labels,
        with: (u64, &Monitor),
    ) -> Result<Targets> {
        if let Some(outside) = self.recipe.pseudo_labels.outside() {
            refuse(&mut targets, rows, known, outside, with)?;
        }
        Ok(targets)
    }

    /// The same, by the rows that a model makes of all items where there is one, else by those of the start.
    fn accepted_by(
        &self,
        targets: Targets,
        model: Option<&Model>,
        setup: &Setup,
        known: &Labels,
        monitor: &Monitor,
    ) -> Result<Targets> {
        let with = (setup.seed, monitor);
        match (model, self.recipe.pseudo_labels.outside()) {
            (Some(model), Some(_)) => {
                let rows = self.embed(model, &setup.rows, &self.train, monitor)?;
                self.accepted(targets, rows.view(), known, with)
            }
            _ => self.accepted(targets, setup.rows.view(), known, with),
        }
    }

    /// What epoch `epoch` learns, where not the labels alone; `models` are those after every
    /// epoch so far.
    pub(super) fn believe(
        &self,
        setup: &Setup,
        known: &Labels,
        epoch: usize,
        models: &Models,
        monitor: &Monitor,
    ) -> Result<Targets> {
        let pseudo_labels = &self.recipe.pseudo_labels;
        let learned = |model: Option<&Model>| match (model, pseudo_labels.on()) {
            (Some(model), Some(On::Embedding | On::Model)) => Some(before_map(model.clone())),
            _ => None,
        };
        match pseudo_labels {
            PseudoLabels::None => Ok(labeled(known)),
            PseudoLabels::Oracle(_) => Ok(oracle(&self.labels.select(&self.train), known)),
            PseudoLabels::Instances => Ok(own((0..known.len() as u32).collect(), known)),
            PseudoLabels::Rotations => Ok(turned(known)),
            PseudoLabels::Propagation(how) => {
                let with = (setup.seed, monitor);
                let Some(model) = learned(models.last()) else {
                    let rows = setup.rows.view();
                    let beliefs = spread(how, rows, setup.graph()?, known, monitor)?;
                    return self.accepted(believed(&beliefs, known, how), rows, known, with);
                };
                let rows = self.embed(&model, &setup.rows, &self.train, monitor)?;
                let graph = how.graph.build(rows.view(), monitor)?;
                let beliefs = spread(how, rows.view(), &graph, known, monitor)?;
                self.accepted(believed(&beliefs, known, how), rows.view(), known, with)
            }
            PseudoLabels::Votes(how) => {
                let model = learned(models.last());
                let voted = self.vote(how, setup, known, model.clone(), monitor)?;
                let targets = of_votes(&voted, known, how, setup.seed)?;
                self.accepted_by(targets, model.as_ref(), setup, known, monitor)
            }
            PseudoLabels::Affinity(how) => {
                let partition = (epoch - 1) / how.every;
                // The model at the end of the last partition, also where training resumed.
                let model = learned(models.at(partition * how.every));
                let places = members(known, partition, how, setup.seed);
                let mut rows = setup.rows.select(Axis(0), &places);
                if let Some(model) = &model {
                    let items: Vec<usize> = places.iter().map(|&p| self.train[p]).collect();
                    rows = self.embed(model, &rows, &items, monitor)?;
                }
                let targets = of_affinities(rows.view(), &places, known, how, monitor)?;
                self.accepted_by(targets, model.as_ref(), setup, known, monitor)
            }
            PseudoLabels::Lpf(how) => {
                let predicted = self.predict(how, setup, known, monitor)?;
                Ok(of_selection(&predicted, known, how))
            }
            PseudoLabels::Clusters(how) => {
                let since = pseudo_labels.since(epoch);
                let model = learned(models.at(since - 1));
                self.cluster(how, setup, known, since, model.as_ref(), monitor)
            }
        }
    }
}

/// Whether each item may be of one of the classes.
pub(super) fn not_outside(known: &Labels) -> Vec<bool> {
    let items = known.items().iter();
    items.map(|label| *label != Label::Outside).collect()
}

/// Label prediction from the rows of one view or more. Items known to be of no class are to be absent
/// from all of them, and teach nothing.
pub(super) fn predicted(
    views: &[Rows],
    known: &Labels,
    how: &Prediction,
    (seed, device): (u64, &Device),
    monitor: &Monitor,
) -> Result<Predicted> {
    let labels: Vec<Option<u32>> = known.items().iter().map(|l| l.class()).collect();
    let classes = known.n_classes();
    how.lpf.fit(views, &labels, classes, seed, device, monitor)
}

/// The known labels, and the items that label prediction selects, weighted by its confidence.
pub(super) fn of_selection(found: &Predicted, known: &Labels, how: &Prediction) -> Targets {
    let weigh = (Confidence::Plain, how.confidence_power);
    weighted(&found.class, &found.confidence, known, weigh)
}

/// What the networks say of all items: the probability of each class in the mean over the views, and
/// the most likely one. What is selected of it is another thing.
fn of_prediction(found: &Predicted, known: &Labels) -> Beliefs {
    let mut scores = found.scores.mapv(f64::from);
    let mut pseudo_label = vec![None; known.len()];
    let mut confidence = vec![0.0; known.len()];
    for (item, mut row) in scores.rows_mut().into_iter().enumerate() {
        if let Some(class) = known[item].class() {
            row.fill(0.0);
            row[class as usize] = 1.0;
        }
        let mut best = (None, 0.0);
        for (class, &score) in row.iter().enumerate() {
            if score > best.1 {
                best = (Some(class as u32), score);
            }
        }
        pseudo_label[item] = best.0;
        confidence[item] = best.1 as f32;
    }
    Beliefs {
        scores,
        pseudo_label,
        confidence,
        labeled: known.items().iter().map(|l| l.class().is_some()).collect(),
        convergence: Convergence {
            converged: true,
            ..Convergence::default()
        },
    }
}

/// The known labels, and nothing else.
pub(super) fn labeled(known: &Labels) -> Targets {
    let classes = known.items().iter().map(|label| label.class());
    let labeled: Vec<bool> = classes.clone().map(|c| c.is_some()).collect();
    Targets {
        weight: labeled
            .iter()
            .map(|&known| f32::from(u8::from(known)))
            .collect(),
        class: classes.map(Option::unwrap_or_default).collect(),
        labeled,
        passes: 0,
        triplets: None,
        since: 0,
    }
}

/// Classes that a source makes itself of all items, which count alike.
pub(super) fn own(class: Vec<u32>, known: &Labels) -> Targets {
    Targets {
        class,
        weight: vec![1.0; known.len()],
        passes: 1,
        ..labeled(known)
    }
}

/// The true classes of all items, in the numbers that `known` has for them. Items of
/// classes without a known label are left out.
pub(super) fn oracle(truth: &Labels, known: &Labels) -> Targets {
    let number = |class: u32| {
        let name = &truth.classes()[class as usize];
        known.classes().iter().position(|c| c == name)
    };
    let class: Vec<Option<usize>> = (truth.items().iter())
        .map(|label| label.class().and_then(number))
        .collect();
    Targets {
        class: class.iter().map(|c| c.unwrap_or_default() as u32).collect(),
        weight: class
            .iter()
            .map(|c| f32::from(u8::from(c.is_some())))
            .collect(),
        labeled: known
            .items()
            .iter()
            .map(|label| label.class().is_some())
            .collect(),
        passes: 1,
        triplets: None,
        since: 0,
    }
}

/// What spreads from the known labels over the graph of these rows.
pub(super) fn spread(
    how: &Propagation,
    rows: ArrayView2<f32>,
    graph: &Graph,
    known: &Labels,
    monitor: &Monitor,
) -> Result<Beliefs> {
    let single;
    let known = if known.tags().is_some() {
        // Sets of tags against each other: an item is believed to have one of those that are known.
        single = known.clone().without_tags();
        &single
    } else {
        known
    };
    let method = &how.spread;
    let given = Given::new(graph, known);
    if !method.has(Ability::NeedsNeighbors) {
        return Ok(method.spread(&given, monitor)?.beliefs);
    }
    // A graph does not tell which of its edges are one-sided, so the lists are found again.
    let (neighbors, _) = how.graph.neighbors(rows, &monitor.quiet())?;
    let spread = method.spread(&given.neighbors(&neighbors), monitor)?;
    Ok(spread.beliefs)
}

/// Pseudo-labels weighted by their confidence, as the recipe says; items that no label reaches
/// weigh nothing.
pub(super) fn believed(beliefs: &Beliefs, known: &Labels, how: &Propagation) -> Targets {
    let mut confidence = beliefs.confidence.clone();
    if how.confidence == Confidence::Plain {
        // Beliefs are certain of labeled items; what the scores say of them is asked here.
        let own = confidence::confidence(beliefs.scores.view());
        let labeled = confidence.iter_mut().zip(own).zip(&beliefs.labeled);
        for ((confidence, own), _) in labeled.filter(|(_, labeled)| **labeled) {
            *confidence = own;
        }
    }
    let weigh = (how.confidence, how.confidence_power);
    let mut targets = weighted(&beliefs.pseudo_label, &confidence, known, weigh);
    if how.class_weights {
        let of_class = class_weights(beliefs);
        for (weight, &class) in targets.weight.iter_mut().zip(&targets.class) {
            *weight *= of_class[class as usize] as f32;
        }
    }
    targets
}

/// Votes weighted by how sure they are, and the triplets that the recipe asks for.
pub(super) fn of_votes(voted: &Voted, known: &Labels, how: &Voting, seed: u64) -> Result<Targets> {
    let mut beliefs = voted.beliefs();
    if how.reliable {
        let reliable = voted.reliable();
        for item in &voted.items {
            if reliable.binary_search(item).is_err() {
                beliefs.pseudo_label[*item] = None;
            }
        }
    }
    let triplets = how.triplets.as_ref();
    let triplets = triplets.map(|of| of.triplets(voted, seed)).transpose()?;
    let weigh = (how.confidence, how.confidence_power);
    Ok(Targets {
        triplets,
        ..weighted(&beliefs.pseudo_label, &beliefs.confidence, known, weigh)
    })
}

fn weighted(
    pseudo_label: &[Option<u32>],
    confidence: &[f32],
    known: &Labels,
    (by, power): (Confidence, f64),
) -> Targets {
    let (plain, power) = (by == Confidence::Plain, power as f32);
    let labeled: Vec<bool> = known.items().iter().map(|l| l.class().is_some()).collect();
    let largest = (0..known.len())
        .filter(|&i| !labeled[i])
        .map(|i| confidence[i])
        .fold(0.0_f32, f32::max);
    let weight = |i: usize| match (known[i], pseudo_label[i]) {
        (_, Some(_)) if plain => confidence[i].powf(power),
        (Label::Known(_), _) => 1.0,
        (_, Some(_)) if largest > 0.0 => (confidence[i] / largest).powf(power),
        _ => 0.0,
    };
    let class = |i: usize| known[i].class().or(pseudo_label[i]).unwrap_or(0);
    Targets {
        class: (0..known.len()).map(class).collect(),
        weight: (0..known.len()).map(weight).collect(),
        labeled,
        passes: 1,
        triplets: None,
        since: 0,
    }
}

/// Triplets of some items, from affinities that spread among their unit rows, and
/// pseudo-labels by the classes whose labeled items are nearest.
pub(super) fn of_affinities(
    rows: ArrayView2<f32>,
    items: &[usize],
    known: &Labels,
    how: &Affinity,
    monitor: &Monitor,
) -> Result<Targets> {
    let k = how.k.min(items.len().saturating_sub(1));
    if k < 2 {
        return Err(Error::data(format!(
            "{} items have no two neighbours to compare; affinities need more",
            items.len()
        )));
    }
    let labels = known.select(items);
    let (neighbors, _) = Exact::new().search(rows, k, monitor)?;
    let affinities = how.spread.spread(&neighbors, &labels, monitor)?;
    let mined = tuple::Affinity::new().mine_given(&neighbors, &affinities.values, &labels)?;
    let mut triplets = Triplets::default();
    let item = |place: u32| items[place as usize] as u32;
    for (a, p, n, weight) in mined.iter() {
        triplets.push(item(a), item(p), item(n), weight);
    }
    let mut pseudo_label = vec![None; known.len()];
    let mut confidence = vec![0.0; known.len()];
    for (&item, (class, margin)) in items.iter().zip(nearest(&affinities.classes)) {
        pseudo_label[item] = class;
        confidence[item] = margin;
    }
    Ok(Targets {
        triplets: Some(triplets),
        ..weighted(
            &pseudo_label,
            &confidence,
            known,
            (how.confidence, how.confidence_power),
        )
    })
}

/// The labeled items, and the unlabeled ones of a partition, in order.
pub(super) fn members(
    known: &Labels,
    partition: usize,
    settings: &Affinity,
    seed: u64,
) -> Vec<usize> {
    let (mut items, others): (Vec<usize>, Vec<usize>) =
        (0..known.len()).partition(|&i| known[i].class().is_some());
    let mut rng = seed::stream(seed, &format!("partition {partition}"));
    let drawn = index::sample(&mut rng, others.len(), settings.partition.min(others.len()));
    items.extend(drawn.iter().map(|place| others[place]));
    items.sort_unstable();
    items
}

/// The class with the largest share of each row, and by how much it leads the next.
fn nearest(classes: &Array2<f64>) -> Vec<(Option<u32>, f32)> {
    let of = |row: ndarray::ArrayView1<f64>| {
        let sum = row.sum();
        let mut best = None;
        let (mut first, mut second) = (0.0_f64, 0.0_f64);
        for (c, &share) in row.iter().enumerate() {
            if share > first {
                (first, second) = (share, first);
                best = Some(c as u32);
            } else {
                second = second.max(share);
            }
        }
        (
            best,
            if sum > 0.0 {
                ((first - second) / sum) as f32
            } else {
                0.0
            },
        )
    };
    classes.rows().into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn shares_by_hand() {
        let shares = array![[0.3, 0.1, 0.0], [0.0, 0.0, 0.0], [0.2, 0.2, 0.0]];
        let found = nearest(&shares);
        assert_eq!(
            (found[0].0, found[1], found[2].0),
            (Some(0), (None, 0.0), Some(0))
        );
        assert!((found[0].1 - 0.5).abs() < 1e-6 && found[2].1 == 0.0);
    }

    #[test]
    fn confidences_weigh_as_the_recipe_says() {
        let known = Labels::parse(["a", "b", "", ""]);
        let beliefs = Beliefs {
            scores: array![[3.0, 1.0], [0.0, 1.0], [1.0, 0.0], [3.0, 1.0]],
            pseudo_label: vec![Some(0), Some(1), Some(0), Some(0)],
            confidence: vec![1.0, 1.0, 0.5, 0.25],
            labeled: vec![true, true, false, false],
            convergence: likewise::Convergence::default(),
        };
        let weights = |text: &str| {
            let how: Propagation = toml::from_str(text).unwrap();
            believed(&beliefs, &known, &how).weight
        };
        assert_eq!(weights("confidence_power = 1"), [1.0, 1.0, 1.0, 0.5]);
        assert_eq!(weights(""), [1.0, 1.0, 1.0, 0.25]);
        // Of the first item the scores say what they say of the last: 3 to 1.
        let plain = weights("confidence_power = 1\nconfidence = 'plain'");
        assert!((plain[0] - 0.188_721_9).abs() < 1e-6 && (plain[1] - 1.0).abs() < 1e-6);
        assert_eq!(plain[2..], [0.5, 0.25]);
        // Three of four items are of class a: even shares are two.
        let rare = weights("confidence_power = 1\nclass_weights = true");
        let expected = [2.0 / 3.0, 2.0, 2.0 / 3.0, 1.0 / 3.0];
        assert!(rare.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6));
    }

    #[test]
    fn the_truth_takes_the_numbers_of_the_known_classes() {
        let truth = Labels::parse(["b", "a", "c", "b"]);
        let known = Labels::parse(["b", "a", "", ""]);
        let targets = oracle(&truth, &known);
        let name = |i: usize| known.classes()[targets.class[i] as usize].as_str();
        assert_eq!([name(0), name(1), name(3)], ["b", "a", "b"]);
        assert_eq!(targets.weight, [1.0, 1.0, 0.0, 1.0]);
        assert_eq!(targets.labeled, [true, true, false, false]);
    }

    #[test]
    fn predicted_items_weigh_by_confidence_and_others_nothing() {
        let x = Array2::from_shape_fn((60, 3), |(i, j)| {
            (i / 30 * 4) as f32 + ((i * 13 + j * 7) % 11) as f32 / 11.0
        });
        let mut classes: Vec<i64> = vec![-1; 60];
        for i in 0..5 {
            (classes[i], classes[30 + i]) = (0, 1);
        }
        classes[59] = -2;
        let known = Labels::from_integers(classes);
        let mut how = Prediction {
            lpf: likewise_nn::lpf::Lpf::new()
                .hidden(16)
                .epochs(60)
                .iterations(2),
            ..Prediction::default()
        };
        let targets = |how: &Prediction| {
            let device = likewise_nn::device("cpu").unwrap();
            let present = not_outside(&known);
            let view = Rows {
                rows: x.view(),
                present: Some(&present),
            };
            let at = (1, &device);
            let found = predicted(&[view], &known, how, at, &Monitor::silent()).unwrap();
            let beliefs = of_prediction(&found, &known);
            assert_eq!(
                (beliefs.pseudo_label[59], beliefs.confidence[59]),
                (None, 0.0)
            );
            assert_eq!(beliefs.pseudo_label[0], Some(0));
            assert!(beliefs.scores[[0, 0]] > 0.999 && beliefs.labeled[0]);
            // Unselected ones too are most likely of some class.
            assert!(beliefs.pseudo_label[..59].iter().all(Option::is_some));
            assert!((beliefs.scores.row(7).sum() - 1.0).abs() < 1e-4);
            of_selection(&found, &known, how)
        };
        let once = targets(&how);
        assert!((0..5).all(|i| once.labeled[i] && (once.weight[i] - 1.0).abs() < 1e-6));
        assert!(once.weight[59] == 0.0 && !once.labeled[59]);
        let selected: Vec<usize> = (5..30)
            .chain(35..59)
            .filter(|&i| once.weight[i] > 0.0)
            .collect();
        assert!(selected.len() > 30, "{selected:?}");
        assert!(selected.iter().all(|&i| once.class[i] as usize == i / 30));
        assert!(
            selected
                .iter()
                .all(|&i| once.weight[i] > 0.9 && once.weight[i] <= 1.0)
        );
        how.confidence_power = 2.0;
        let twice = targets(&how);
        assert!(
            selected
                .iter()
                .all(|&i| (twice.weight[i] - once.weight[i].powi(2)).abs() < 1e-6)
        );
    }

    #[test]
    fn partitions_hold_all_labels_and_differ() {
        let known = Labels::from_integers((0..40).map(|i| if i < 4 { i % 2 } else { -1 }));
        let settings = Affinity {
            partition: 10,
            ..Affinity::default()
        };
        let (one, two) = (
            members(&known, 0, &settings, 1),
            members(&known, 1, &settings, 1),
        );
        assert!(one.len() == 14 && one[..4] == [0, 1, 2, 3] && one != two);
        assert_eq!(one, members(&known, 0, &settings, 1));
    }

    #[test]
    fn triplets_name_items_of_the_whole() {
        let x = Array2::from_shape_fn((60, 4), |(i, j)| {
            f32::from(u8::from(i % 2 == j)) * 3.0 + ((i * 13 + j * 7) % 11) as f32 / 11.0
        });
        let x = likewise::matrix::l2_normalize(x);
        let known = Labels::from_integers((0..60).map(|i| if i < 6 { i % 2 } else { -1 }));
        let how = Affinity {
            k: 4,
            partition: 30,
            ..Affinity::default()
        };
        let silent = Monitor::silent();
        let items = members(&known, 0, &how, 3);
        let rows = x.select(ndarray::Axis(0), &items);
        let targets = of_affinities(rows.view(), &items, &known, &how, &silent).unwrap();
        let triplets = targets.triplets.unwrap();
        assert_eq!(triplets.len(), 36 * 2);
        triplets.check(60).unwrap();
        let listed = targets.weight.iter().filter(|&&w| w > 0.0).count();
        assert!((20..=36).contains(&listed), "{listed}");
        let right = (0..60).filter(|&i| targets.weight[i] > 0.0);
        assert!(
            right
                .into_iter()
                .all(|i| targets.class[i] as usize == i % 2)
        );
    }
}
