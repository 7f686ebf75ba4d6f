//! Triplets that votes make, with whatever learns from triplets.

use likewise::ensemble::FromVotes;
use likewise_nn::loss::Loss;
use likewise_study::Recipe;
use likewise_study::recipe::{GradientConfig, PseudoLabels};
use likewise_study::study::Row;

use super::gradient::{base, check, learner};
use super::{digits, run, votes, wanted};

/// Triplets of what quick votes are sure of.
fn voted() -> PseudoLabels {
    votes(Some(FromVotes::new().most(2000).per_anchor(20))).into()
}

pub(super) fn of_voted_triplets() -> Vec<Recipe> {
    wanted(["triplet", "angular", "contrastive"].map(|name| Recipe {
        name: format!("votes x triplets x {name}"),
        pseudo_labels: voted(),
        learner: learner(GradientConfig {
            loss: Loss::named(name).unwrap().into(),
            ..GradientConfig::default()
        }),
        ..base()
    }))
}

pub(super) fn of_voted_triplets_in_closed_form() -> Vec<Recipe> {
    wanted([Recipe {
        name: "votes x triplets x oasis".into(),
        pseudo_labels: voted(),
        ..Recipe::named("oasis").unwrap()
    }])
}

#[test]
fn triplets_of_votes_go_with_whatever_learns_from_triplets() {
    let collection = digits();
    for recipe in of_voted_triplets() {
        check(&run(&collection, &recipe), &recipe.name);
    }
    for recipe in of_voted_triplets_in_closed_form() {
        let study = run(&collection, &recipe);
        let (voted, made) = (study.voted.unwrap(), study.triplets.unwrap());
        assert!(!made.is_empty() && made.check(study.train.len()).is_ok());
        // Those of labels alone are fewer than all.
        let anchors = made.anchors.iter();
        let unlabeled = anchors.filter(|&&a| voted.items.binary_search(&(a as usize)).is_ok());
        assert!(unlabeled.count() > 100);
        assert_eq!(study.beliefs, voted.beliefs());
        let map = |s: &likewise::eval::summary::Summary| s.map_at_r.unwrap();
        let own = map(&study.results.summary);
        assert!(
            own > map(&study.results.baselines[&Row::Raw]) / 2.0,
            "{own}"
        );
    }
}
