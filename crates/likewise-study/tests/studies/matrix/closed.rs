//! Learners in closed form with every source.

use likewise::eval::summary::Summary;
use likewise::learn::Closed;
use likewise_study::Recipe;
use likewise_study::recipe::{Learner, PseudoLabels};
use likewise_study::study::{Row, Study};

use super::{digits, has_turn, is_blind, run, sources, turns, wanted};

/// A learner in closed form with settings that take a moment; of few labels no cut of a column pays, so
/// that columns are cut evenly.
pub(super) fn quick(name: &str) -> Closed {
    let settings = match name {
        "cfs" => "bins = 5",
        "itml" => "sweeps = 8",
        "apit" => "prior = { sweeps = 8 }",
        "seraph" => "steps = 20",
        "dml-eig" => "steps = 50",
        "lmnn" => "iterations = 40",
        "oasis" => "steps = 20000",
        "omks" | "explicit-omks" => "triplets = 3000",
        // Without shrinkage its optimum is of very low rank: half of what right labels give is lost.
        "mmc" => "shrinkage = 0.5",
        "hds" => "bits = 16",
        "synthetic" => "triplets = 200\ndraws = 5",
        _ => "",
    };
    toml::from_str(&format!("kind = \"{name}\"\n{settings}")).unwrap()
}

pub(super) fn of_closed() -> Vec<Recipe> {
    let learners = Closed::NAMES.iter().map(|name| quick(name));
    // Each learner with a quarter of the sources and each source with a quarter of the learners.
    let pairs = learners.enumerate().flat_map(|(i, learner)| {
        let each = sources().into_iter().enumerate();
        let each = each.filter(move |(j, (source, _))| has_turn(i + j, 4 * turns(source)));
        each.map(move |(_, source)| (learner.clone(), source))
    });
    wanted(pairs.map(|(learner, (source, pseudo_labels))| Recipe {
        pseudo_labels,
        name: format!("{source} x {}", learner.name()),
        learner: Learner::Closed(learner),
        ..Recipe::mixed_rca()
    }))
}

/// That of whitened features no more is lost than wrong labels explain, where `blind` clusters may stand for
/// the classes, and that all numbers are finite.
fn check(study: &Study, learner: &Closed, blind: bool, name: &str) {
    let published = learner.name() != "rca" && Closed::published(learner.name()).is_some();
    let map = |summary: &Summary| summary.map_at_r.unwrap();
    let own = map(&study.results.summary);
    let whitened = map(&study.results.baselines[&Row::Whitened]);
    // Those that others published may lose on wrong labels, but not the classes altogether: by
    // chance it is a twentieth of what whitened features give here, or less.
    let least = if published {
        whitened / 4.0
    } else if blind {
        // They are not the classes: what learns them alone can lose some.
        whitened * 0.8
    } else {
        whitened - 0.02
    };
    assert!(own >= least, "{name}: {own} {whitened}");
    assert!(study.embeddings.iter().all(|v| v.is_finite()), "{name}");
}

#[test]
fn every_source_goes_with_every_learner_in_closed_form() {
    let collection = digits();
    for recipe in of_closed() {
        let Learner::Closed(learner) = &recipe.learner else {
            panic!("{}: no learner in closed form", recipe.name);
        };
        let study = run(&collection, &recipe);
        let blind = is_blind(&recipe.pseudo_labels);
        check(&study, learner, blind, &recipe.name);
        let (results, name) = (&study.results, &recipe.name);
        let by_lpf = matches!(recipe.pseudo_labels, PseudoLabels::Lpf(_));
        let selections = &results.per_draw[0].selections;
        assert_eq!(selections.is_empty(), !by_lpf, "{name}");
        assert_eq!(results.selections_in_words().is_some(), by_lpf, "{name}");
        for of in selections {
            // Of all that can be selected the class is known here.
            assert_eq!(of.all.judged, of.all.selected, "{name}");
            assert!(of.accuracy.contains_key("features"), "{name}");
        }
    }
}
