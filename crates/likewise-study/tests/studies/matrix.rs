//! Every source of pseudo-labels with every learner, on the digits: losses with every head, learners in
//! closed form and across views, and learners of pairs and triplets with given ones. The list is made from
//! the registries, so that what is new is in it by existing.

mod closed;
mod given;
mod gradient;
mod refused;
mod views;
mod voted;

use likewise::ensemble::{Base, FromVotes, Votes};
use likewise::graph::KnnGraph;
use likewise::learn::{Fit as _, Need};
use likewise::propagate::{Ability, Method};
use likewise::tuple::Tuples;
use likewise::{Collection, Monitor, View};
use likewise_io::{Form, ReadOptions};
use likewise_nn::lpf::Lpf;
use likewise_study::recipe::{
    Affinity, Clusters, InClusters, Learner, On, Oracle, Propagation, PseudoLabels, Voting,
};
use likewise_study::study::{Plan, Protocol, Study};
use likewise_study::{Error, Recipe};
use ndarray::Axis;

use crate::device;

/// Every eleventh of the 2000 digits: all ten classes, and quick.
fn digits() -> Collection {
    digits_in(&["kar"])
}

/// The same in several views.
fn digits_in(names: &[&str]) -> Collection {
    let bytes = std::fs::read(likewise_testdata::digits()).unwrap();
    let all = likewise_io::read_bytes(Form::Npz, &bytes, &ReadOptions::default()).unwrap();
    let rows: Vec<usize> = (0..all.len()).step_by(11).collect();
    let view = |name: &&str| View {
        name: (*name).into(),
        matrix: all.view(Some(name)).unwrap().matrix.select(Axis(0), &rows),
        present: None,
    };
    let ids = rows.iter().map(usize::to_string).collect();
    let mut collection = Collection::new(ids, names.iter().map(view).collect()).unwrap();
    collection.labels = all.labels.map(|labels| labels.select(&rows));
    collection
}

fn run(collection: &Collection, recipe: &Recipe) -> Study {
    run_with(None, collection, recipe)
}

/// As [`run`], with given pairs or triplets.
fn run_with(tuples: Option<&Tuples>, collection: &Collection, recipe: &Recipe) -> Study {
    let study = try_with(tuples, collection, recipe);
    study.unwrap_or_else(|e| panic!("{}: {e}", recipe.name))
}

/// As [`run_with`], where it may fail.
fn try_with(
    tuples: Option<&Tuples>,
    collection: &Collection,
    recipe: &Recipe,
) -> Result<Study, Error> {
    let protocol = Protocol {
        labels_per_class: Some(4),
        draws: 1,
        nmi: false,
        ..Protocol::default()
    };
    let features = collection.view(None).unwrap().matrix.view();
    let plan = Plan {
        tuples,
        ..Plan::of(collection, features, recipe, &protocol, device::chosen())
    };
    plan.run(&Monitor::silent())
}

/// The parts of names that are asked for, `LIKEWISE_MATRIX` split at commas: none where it is set to
/// nothing. Where it is not set, all of the matrix is meant, and some is left out for time.
fn asked() -> Option<Vec<String>> {
    let asked = std::env::var("LIKEWISE_MATRIX").ok()?;
    let parts = asked.split(',').map(str::trim);
    Some(
        parts
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect(),
    )
}

/// Whether a combination is asked for: all are, unless some parts of names are.
fn is_wanted(name: &str) -> bool {
    let asked = asked().unwrap_or_default();
    asked.is_empty() || asked.iter().any(|part| name.contains(part))
}

/// Whether what takes turns has its own here, each `turns`-th.
fn has_turn(place: usize, turns: usize) -> bool {
    place.is_multiple_of(turns) || asked().is_some()
}

/// Those that are asked for, by their names, and that are not refused.
fn wanted(recipes: impl IntoIterator<Item = Recipe>) -> Vec<Recipe> {
    let recipes = recipes.into_iter().filter(|recipe| is_wanted(&recipe.name));
    recipes.filter(|recipe| !is_refused(recipe)).collect()
}

/// A name that is in no combination would leave the tests below with nothing to do, and they would pass.
#[test]
fn what_is_asked_for_is_in_some_combination() {
    let all = [
        gradient::of_source_loss_and_head(),
        gradient::of_several_losses(),
        gradient::of_miners_and_samplers(),
        closed::of_closed(),
        given::of_given(),
        views::of_views(),
        voted::of_voted_triplets(),
        voted::of_voted_triplets_in_closed_form(),
    ]
    .concat();
    assert!(!all.is_empty());
    for part in asked().unwrap_or_default() {
        let found = all.iter().any(|recipe| recipe.name.contains(&part));
        assert!(
            found,
            "LIKEWISE_MATRIX: no combination has \"{part}\" in its name"
        );
    }
}

/// For time, sources that make classes of their own go with every fourth loss or learner.
fn turns(source: &str) -> usize {
    let own = source == "instances" || source.ends_with("judge");
    if own { 4 } else { 1 }
}

/// Some that are quick.
fn votes(triplets: Option<FromVotes>) -> Voting {
    let names = ["discriminant", "forest", "euclid", "rca"];
    let bases = names.iter().filter_map(|name| Base::named(name)).collect();
    Voting {
        votes: Votes::new().classifiers(bases).folds(2),
        triplets,
        ..Voting::default()
    }
}

fn sources() -> Vec<(String, PseudoLabels)> {
    let mut sources: Vec<(String, PseudoLabels)> = [
        PseudoLabels::None,
        PseudoLabels::Affinity(Affinity {
            on: On::Start,
            k: 6,
            ..Affinity::default()
        }),
        // A few labels and a threshold that a short learning reaches.
        Lpf::new()
            .hidden(32)
            .epochs(60)
            .tuning_epochs(2)
            .iterations(2)
            .threshold(0.5)
            .into(),
        PseudoLabels::Oracle(Oracle::default()),
        votes(None).into(),
        PseudoLabels::Instances,
    ]
    .map(|source| (source.kind().to_owned(), source))
    .to_vec();
    for labels in [InClusters::Judge, InClusters::Name] {
        let clusters = Clusters {
            on: On::Start,
            labels,
            ..Clusters::default()
        };
        let name = format!("clusters that labels {labels:?}").to_lowercase();
        sources.push((name, PseudoLabels::Clusters(clusters)));
    }
    for name in Method::NAMES {
        let method = Method::named(name).unwrap();
        // Those of two classes, and of all pairs, are for comparisons on small sets.
        if (method.abilities().iter()).any(|a| matches!(a, Ability::Dense { .. })) {
            continue;
        }
        let propagation = Propagation {
            graph: KnnGraph::new().k(6),
            spread: method,
            ..Propagation::default()
        };
        sources.push(((*name).into(), propagation.into()));
    }
    sources
}

/// Whether a source is of clusters of which labels say nothing.
fn is_blind(source: &PseudoLabels) -> bool {
    matches!(source, PseudoLabels::Clusters(clusters) if clusters.labels == InClusters::Judge)
}

/// Whether a recipe learns from nothing but given pairs or triplets.
fn is_of_given_alone(recipe: &Recipe) -> bool {
    let Learner::Closed(learner) = &recipe.learner else {
        return false;
    };
    let given = |need: &Need| matches!(need, Need::Pairs | Need::Triplets);
    learner.needs().iter().any(given)
}

/// Whether no two items are alike for a learner that needs such, or a learner takes nothing but given pairs
/// or triplets: these are in `given`.
fn is_refused(recipe: &Recipe) -> bool {
    if is_of_given_alone(recipe) {
        assert!(recipe.check_tuples(None).is_err(), "{}", recipe.name);
        return true;
    }
    let Err(e) = recipe.validate() else {
        return false;
    };
    let said = e.to_string();
    let instances = recipe.pseudo_labels == PseudoLabels::Instances;
    assert!(
        instances && said.starts_with("pseudo_labels.kind"),
        "{}: {said}",
        recipe.name
    );
    true
}
