//! Fits of several views within one space.

use likewise::{Collection, Labels, Monitor};
use likewise_io::{Form, ReadOptions};
use likewise_study::Recipe;
use likewise_study::study::{Plan, Protocol};
use ndarray::Array2;

use crate::device;

/// Every fifth digit with these views side by side, and the classes of all.
fn digits(views: &[&str]) -> (Collection, Labels) {
    let bytes = std::fs::read(likewise_testdata::digits()).unwrap();
    let all = likewise_io::read_bytes(Form::Npz, &bytes, &ReadOptions::default()).unwrap();
    let rows: Vec<usize> = (0..all.len()).step_by(5).collect();
    let mut part = all.select(&rows);
    if views.len() > 1 {
        part = part.joined(views).unwrap();
    }
    let truth = part.labels.clone().unwrap();
    part.labels = Some(truth.draw(2, 0));
    (part, truth)
}

/// What a fit believes before anything is learned, and the share of it that is right.
fn believed(views: &[&str], recipe: &str) -> (Array2<f64>, f64) {
    let (collection, truth) = digits(views);
    let recipe = format!("base = 'mild-probabilities'\n{recipe}");
    let recipe = Recipe::from_toml(&recipe).unwrap();
    let protocol = Protocol::default();
    let features = collection
        .view(Some(&views.join("+")))
        .unwrap()
        .matrix
        .view();
    let plan = Plan::of(&collection, features, &recipe, &protocol, device::chosen());
    let beliefs = plan.learn(&Monitor::silent()).unwrap().beliefs;
    let known = collection.labels.as_ref().unwrap();
    let right = beliefs.accuracy(known, &truth, |i| known[i].class().is_none());
    (beliefs.scores, right.unwrap())
}

#[test]
fn beliefs_spread_over_the_graph_of_all_views() {
    let both = ["fou", "zer"];
    let (usual, right) = believed(&both, "");
    let single = both.map(|view| believed(&[view], "").1);
    assert!(right > single[0].max(single[1]), "{single:?} {right}");
    assert_eq!(believed(&both, "pseudo_labels.fuse = 'ranks'").0, usual);
    let others = ["rows", "mean", "agreement"];
    let others = others.map(|form| believed(&both, &format!("pseudo_labels.fuse = '{form}'")).0);
    assert_ne!(others[0], usual);
    assert_ne!(others[1], usual);
    assert_ne!(others[2], others[1]);
}

#[test]
fn one_view_is_fitted_as_ever_whatever_is_said_of_several() {
    let usual = believed(&["zer"], "").0;
    for form in ["rows", "ranks", "mean", "agreement"] {
        let said = believed(&["zer"], &format!("pseudo_labels.fuse = '{form}'")).0;
        assert_eq!(said, usual, "{form}");
    }
}
