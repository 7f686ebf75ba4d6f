//! What a diagnosis says of the committed digits with five labels a class, and what the truth
//! says.

use likewise::advise::diagnosis::{Diagnose, Diagnosis, Outcome};
use likewise::advise::oracle::Oracle;
use likewise::eval::calibration::Calibration;
use likewise::graph::Report;
use likewise::graph::{KnnGraph, Symmetrize};
use likewise::neighbor::{Metric, Neighbors, exact};
use likewise::propagate::{Given, Harmonic, Mixed, Propagate, Spread};
use likewise::{Beliefs, Graph, Labels, Monitor};
use likewise_io::{ReadOptions, read};

struct Case {
    truth: Labels,
    given: Labels,
    lists: Neighbors,
    graph: Graph,
    beliefs: Beliefs,
    oracle: Oracle,
    diagnosis: Diagnosis,
}

fn case(view: &str) -> Case {
    let monitor = Monitor::silent();
    let digits = read(
        likewise_testdata::digits(),
        &ReadOptions::default(),
        &monitor,
    )
    .unwrap();
    let x = digits.view(Some(view)).unwrap().matrix.view();
    let lists = exact(x, 20, Metric::Cosine, &monitor).unwrap();
    let graph = KnnGraph::new().from_neighbors(&lists).unwrap();
    let truth = digits.labels.clone().unwrap();
    let given = truth.draw(5, 0);
    let beliefs = Harmonic::new().propagate(&graph, &given, &monitor).unwrap();
    let oracle = Oracle::measure(&beliefs, &truth, None, &graph).unwrap();
    let diagnosis = Diagnose::new()
        .features(x)
        .run(&Harmonic::new(), &Given::new(&graph, &given), &monitor)
        .unwrap();
    Case {
        truth,
        given,
        lists,
        graph,
        beliefs,
        oracle,
        diagnosis,
    }
}

#[test]
fn fifty_labels_tell_where_propagation_helps() {
    let [good, poor] = ["kar", "mor"].map(case);
    assert_eq!(good.diagnosis.outcome, Outcome::Helps);
    assert_eq!(poor.diagnosis.outcome, Outcome::Unclear);
    assert!(poor.diagnosis.verdict[0].contains("not better than the nearest labeled item"));
    assert!(good.oracle.purity.unwrap() > 0.9 && poor.oracle.purity.unwrap() < 0.6);
    for case in [&good, &poor] {
        // The share of hidden labels that is right is an honest guess at that of all items.
        let (guess, actual) = (case.diagnosis.propagation, case.oracle.accuracy);
        let (guess, actual) = (guess.unwrap(), actual.unwrap().value);
        assert!(
            guess.low <= actual && actual <= guess.high,
            "{guess:?} {actual}"
        );
        assert_eq!((case.diagnosis.folds, case.diagnosis.tested), (5, 50));
    }
    let effective = |case: &Case| case.diagnosis.balance.effective_classes;
    assert!(effective(&good) > 9.5 && effective(&poor) < 9.0);
}

#[test]
fn the_temperature_of_hidden_labels_calibrates_the_other_items() {
    let mut case = case("fou");
    let temperature = case.diagnosis.temperature.unwrap();
    assert!(temperature.value > 10.0 && temperature.after < temperature.before);
    // Known from the fifty labels alone, though not to the digit.
    let halves = case.diagnosis.calibrated.unwrap();
    assert_eq!(halves.labels, case.diagnosis.calibration.measured);
    assert!(halves.before > 0.5 && halves.after < 0.4, "{halves:?}");
    case.beliefs.confidence = temperature.calibrated(&case.beliefs);
    let after = Calibration::measure(&case.beliefs, &case.truth).unwrap();
    let before = case.oracle.calibration.expected_error.unwrap();
    assert!(before > 0.5 && after.expected_error.unwrap() < 0.15);
}

#[test]
fn negative_edges_are_better_than_blind_choice_and_mutual_graphs_purer() {
    let monitor = Monitor::silent();
    let case = case("kar");
    let given = Given::new(&case.graph, &case.given);
    let Spread { beliefs, negatives } = Mixed::new().spread(&given, &monitor).unwrap();
    let oracle = Oracle::measure(&beliefs, &case.truth, negatives.as_ref(), &case.graph).unwrap();
    let found = oracle.negatives.unwrap();
    assert!(found.precision > found.differ && found.average_precision > found.differ);
    assert!(found.recall > found.false_alarm, "{found:?}");

    let mutual = KnnGraph::new().symmetrize(Symmetrize::Mutual);
    let mutual = mutual.from_neighbors(&case.lists).unwrap();
    let purer = Oracle::measure(&beliefs, &case.truth, None, &mutual).unwrap();
    assert!(purer.purity > oracle.purity);
    let report = Report::of_lists(&case.graph, &case.lists).unwrap();
    let skewness = report.hubness.unwrap().occurrences.skewness;
    assert!((0.0..1.5).contains(&skewness) && report.verdict.is_empty());
}
