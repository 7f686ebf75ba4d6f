//! Learners across views with every source.

use likewise::Monitor;
use likewise_study::Recipe;
use likewise_study::recipe::PseudoLabels;
use likewise_study::study::{CrossPlan, CrossRow, Protocol};

use super::{asked, digits_in, is_blind, is_wanted, sources};
use crate::device;

/// A learner across views with settings that take a moment.
fn quick_across(name: &str) -> likewise_nn::cross::Learner {
    let settings = match name {
        "acmr" => "hidden = [[32, 16], [32, 16]]\nepochs = 20\nleast_steps = 60\nrate = 5e-3",
        // Of about as many items as columns the published ridge, next to none, learns noise.
        "scm-orth" | "scm-seq" => "bits = 16\nridge = 10.0",
        "deep-growbit" => "bits = 16\nhidden = [32, 16]\nepochs = 20\nrate = 5e-3",
        _ if likewise_nn::cross::Learner::named(name)
            .unwrap()
            .gives_bits() =>
        {
            "bits = 16"
        }
        _ => "",
    };
    toml::from_str(&format!("kind = \"{name}\"\n{settings}")).unwrap()
}

pub(super) fn of_views() -> Vec<Recipe> {
    let mut recipes = Vec::new();
    for name in likewise_nn::cross::Learner::names() {
        let learner = quick_across(name);
        if learner.need() == likewise::cross::Need::Pairs {
            continue;
        }
        recipes.extend(sources().into_iter().map(|(source, pseudo_labels)| Recipe {
            name: format!("{source} x {name} across views"),
            pseudo_labels,
            ..Recipe::across(learner)
        }));
    }
    let recipes = recipes.into_iter().filter(|recipe| is_wanted(&recipe.name));
    let valid = |recipe: &Recipe| {
        let Err(e) = recipe.validate() else {
            return true;
        };
        // Classes that no label names are none that a query of another view could ask for.
        let (said, name) = (e.to_string(), &recipe.name);
        assert!(said.starts_with("pseudo_labels."), "{name}: {said}");
        let unnamed = recipe.pseudo_labels == PseudoLabels::Instances;
        assert!(unnamed || is_blind(&recipe.pseudo_labels), "{name}");
        false
    };
    recipes.filter(valid).collect()
}

#[test]
fn every_source_goes_with_every_learner_across_views() {
    let collection = digits_in(&["fou", "kar"]);
    let views = ["fou".to_owned(), "kar".to_owned()];
    let protocol = Protocol {
        labels_per_class: Some(4),
        draws: 1,
        ..Protocol::default()
    };
    let recipes = of_views();
    for recipe in &recipes {
        let name = &recipe.name;
        let plan = CrossPlan {
            collection: &collection,
            views: &views,
            texts: &[],
            recipe,
            protocol: &protocol,
            device: device::chosen(),
        };
        let study = plan.run(&Monitor::silent());
        let study = study.unwrap_or_else(|e| panic!("{name}: {e}"));
        let results = &study.results;
        // Ten classes of even size: an order by chance has a MAP@50 of about a fifth, since the
        // divisor is what was found.
        let own = results.summary.map50["mean"];
        assert!(own > 0.22, "{name}: {own}");
        let log = &results.per_draw[0];
        let believes = recipe.pseudo_labels != PseudoLabels::None;
        assert_eq!(log.believed > 0, believes, "{name}: {log:?}");
        // Of what is believed far more than a tenth must be right, as by chance, else the source was not asked:
        // manifolds of four labels a class are right in about three of ten, all others in most.
        let least = if name.starts_with("manifold x ") {
            0.2
        } else {
            0.4
        };
        assert!(
            log.accuracy.is_none_or(|share| share > least),
            "{name}: {log:?}"
        );
        let by_lpf = matches!(recipe.pseudo_labels, PseudoLabels::Lpf(_));
        assert_eq!(log.selections.is_empty(), !by_lpf, "{name}");
        if let Some(last) = log.selections.last() {
            // What was selected last is what is believed, and of all of it the class is known here.
            let found = (last.all.selected, last.all.judged, last.all.precision);
            assert_eq!(found, (log.believed, log.believed, log.accuracy), "{name}");
            let seen: Vec<&String> = last.accuracy.keys().collect();
            assert_eq!(seen, views.iter().collect::<Vec<_>>(), "{name}");
            assert!(last.view.as_ref().is_some_and(|own| views.contains(own)));
            let of_classes = last.by_class.values().map(|of| of.selected);
            assert_eq!(of_classes.sum::<usize>(), log.believed, "{name}");
            let said = |line: &String| line.starts_with("Label prediction selected ");
            assert!(results.verdict.iter().any(said), "{name}");
        }
        let rows = &results.baselines;
        assert_eq!(rows.contains_key(&CrossRow::LabelsOnly), believes, "{name}");
        assert!(rows.contains_key(&CrossRow::AllLabels), "{name}");
    }
    assert!(asked().is_some() || recipes.len() >= 12 * 10);
}
