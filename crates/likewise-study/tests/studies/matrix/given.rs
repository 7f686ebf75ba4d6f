//! Learners of pairs and of triplets with given ones, which say what the labels of all items say: one
//! combination a learner. One that takes nothing else is in no other.

use likewise::eval::summary::Summary;
use likewise::learn::{Closed, Fit as _, Need};
use likewise::tuple::{FromLabels, Tuples};
use likewise::{Collection, Monitor, Pairs};
use likewise_study::Recipe;
use likewise_study::recipe::{Keep, Learner, RoundsConfig};
use likewise_study::study::{Row, TupleKind};

use super::closed::quick;
use super::{asked, digits, is_of_given_alone, is_wanted, run_with, try_with};

/// Of which kind a learner takes tuples as they are, if it takes any.
fn taken(learner: &Closed) -> Option<TupleKind> {
    learner.needs().iter().find_map(|need| match need {
        Need::Pairs | Need::Compared | Need::Alike => Some(TupleKind::Pairs),
        Need::Triplets | Need::Ranked => Some(TupleKind::Triplets),
        Need::Classes | Need::Graph | Need::Images => None,
    })
}

/// What tuples are called, in names and in the numbers of a study.
fn called(kind: TupleKind) -> &'static str {
    match kind {
        TupleKind::Pairs => "pairs",
        TupleKind::Triplets => "triplets",
    }
}

/// About as many as a learner draws for itself from the classes of all items.
fn tuples(collection: &Collection, kind: TupleKind) -> Tuples {
    let labels = collection.labels.as_ref().unwrap();
    let (draw, silent) = (FromLabels::new().per_item(40), Monitor::silent());
    match kind {
        TupleKind::Pairs => Tuples::Pairs(draw.pairs(labels, &silent).unwrap()),
        TupleKind::Triplets => Tuples::Triplets(draw.triplets(labels, &silent).unwrap()),
    }
}

pub(super) fn of_given() -> Vec<Recipe> {
    let learners = Closed::NAMES.iter().map(|name| quick(name));
    let recipes = learners.filter_map(|learner| {
        let name = format!("given {} x {}", called(taken(&learner)?), learner.name());
        let rounds = RoundsConfig {
            epochs: 1,
            // Else validation may keep the start, which has learned from nothing.
            keep: Keep::Last,
            ..RoundsConfig::default()
        };
        Some(Recipe {
            name,
            rounds,
            ..Recipe::closed(learner)
        })
    });
    recipes.filter(|recipe| is_wanted(&recipe.name)).collect()
}

#[test]
fn whatever_learns_from_pairs_or_triplets_goes_with_given_ones() {
    let collection = digits();
    for recipe in of_given() {
        let name = &recipe.name;
        let Learner::Closed(learner) = &recipe.learner else {
            panic!("{name}: no learner in closed form");
        };
        let kind = taken(learner).unwrap();
        let study = run_with(Some(&tuples(&collection, kind)), &collection, &recipe);
        let results = &study.results;
        assert_eq!(results.answers.taught_by, called(kind), "{name}");
        let draw = &results.per_draw[0];
        assert_eq!((results.per_draw.len(), draw.epoch), (1, 1), "{name}");
        assert!(study.embeddings.iter().all(|v| v.is_finite()), "{name}");
        let map = |summary: &Summary| summary.map_at_r.unwrap();
        let of = |row: Row| results.baselines.get(&row).map(map);
        let own = map(&results.summary);
        let whitened = of(Row::Whitened).unwrap();
        assert!(own > whitened / 2.0, "{name}: {own} {whitened}");
        // All labels say more than the few shown ones, which are told of where they can be learned alone.
        let of_classes = !is_of_given_alone(&recipe);
        assert_eq!(recipe.check_tuples(None).is_ok(), of_classes, "{name}");
        let labels_only = of(Row::LabelsOnly);
        assert_eq!(labels_only.is_some(), of_classes, "{name}");
        assert_eq!(of(Row::AllLabels).is_some(), of_classes, "{name}");
        let least = labels_only.unwrap_or_default() - 0.03;
        assert!(own > least, "{name}: {own} {labels_only:?}");
    }
}

/// The unlike ones of the pairs that the labels of all items say.
fn unlike_pairs(collection: &Collection) -> Tuples {
    let Tuples::Pairs(all) = tuples(collection, TupleKind::Pairs) else {
        panic!("no pairs");
    };
    let mut pairs = Pairs::default();
    for (a, b, _, weight) in all.iter().filter(|pair| !pair.2) {
        pairs.push(a, b, false, weight);
    }
    Tuples::Pairs(pairs)
}

#[test]
fn unlike_pairs_alone_are_refused_by_what_needs_alike_ones_and_by_nothing_else() {
    let collection = digits();
    let pairs = unlike_pairs(&collection);
    let mut learned = Vec::new();
    for recipe in of_given() {
        let Learner::Closed(learner) = &recipe.learner else {
            panic!("{}: no learner in closed form", recipe.name);
        };
        if taken(learner) != Some(TupleKind::Pairs) {
            continue;
        }
        match try_with(Some(&pairs), &collection, &recipe) {
            Ok(study) => {
                assert!(study.embeddings.iter().all(|v| v.is_finite()));
                assert_eq!(study.results.per_draw[0].epoch, 1, "{}", recipe.name);
                learned.push(learner.name());
            }
            Err(e) => {
                let said = e.to_string();
                let why = format!("two items are alike, which {}", learner.name());
                assert!(said.contains(&why), "{}: {said}", recipe.name);
            }
        }
    }
    if asked().is_none() {
        assert_eq!(learned, ["apit", "isdml", "itml", "lrml", "seraph"]);
    }
}
