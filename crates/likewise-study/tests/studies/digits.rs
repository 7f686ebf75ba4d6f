//! The study on the committed digits and on small made-up collections.

use likewise::{Collection, Labels, Monitor, Part, View};
use likewise_io::{Form, ReadOptions};
use likewise_study::Recipe;
use likewise_study::recipe::On;
use likewise_study::study::{Plan, Protocol, Row, SplitKind, Study};
use ndarray::{Array2, ArrayView2};

use crate::device;

fn run(
    collection: &Collection,
    features: ArrayView2<f32>,
    recipe: &Recipe,
    protocol: &Protocol,
) -> likewise_study::Result<Study> {
    Plan::of(collection, features, recipe, protocol, device::chosen()).run(&Monitor::silent())
}

fn digits() -> Collection {
    let bytes = std::fs::read(likewise_testdata::digits()).unwrap();
    likewise_io::read_bytes(Form::Npz, &bytes, &ReadOptions::default()).unwrap()
}

/// Two classes around two corners, labeled by `word(item)`.
fn corners(n: usize, word: impl Fn(usize) -> &'static str) -> Collection {
    let matrix = Array2::from_shape_fn((n, 3), |(i, j)| {
        let corner = if j == i % 2 { 3.0 } else { 0.0 };
        corner + ((i * 13 + j * 5) % 17) as f32 / 17.0
    });
    let view = View {
        name: "x".into(),
        matrix,
        present: None,
    };
    let ids = (0..n).map(|i| i.to_string()).collect();
    let mut collection = Collection::new(ids, vec![view]).unwrap();
    collection.labels = Some(Labels::parse((0..n).map(word)));
    collection
}

fn quick() -> Recipe {
    let mut recipe = Recipe::default();
    recipe.set_neighbors(5).unwrap();
    recipe.rounds.epochs = 2;
    recipe
}

#[test]
fn five_labels_a_class_beat_raw_whitened_and_labels_only_on_the_demo() {
    let collection = digits();
    let features = collection.view(Some("fac")).unwrap().matrix.view();
    let protocol = Protocol {
        labels_per_class: Some(5),
        draws: 3,
        nmi: false,
        ..Protocol::default()
    };
    let study = run(&collection, features, &Recipe::default(), &protocol).unwrap();
    let results = &study.results;
    assert!(results.learning_helped, "{:?}", results.verdict);
    assert_eq!(results.summary.draws, 3);
    assert_eq!(results.summary.n_queries, 600);
    for draw in &results.per_draw {
        assert_eq!(
            (draw.labels, draw.validation_labels),
            (50, 0),
            "the budget is kept"
        );
    }
    let oracle = results.baselines[&Row::AllLabels].map_at_r;
    assert!(oracle > results.summary.map_at_r);
    assert!(results.calibration.expected_error.unwrap() < 0.3);
}

#[test]
fn hidden_labels_do_not_reach_the_model() {
    // Wrong labels in place of the hidden ones change what is measured, not what is learned.
    let collection = digits();
    let features = collection.view(Some("zer")).unwrap().matrix.view();
    let mut recipe = quick();
    recipe.start.shrinkage = Some(1.0);
    let protocol = Protocol {
        split: SplitKind::Given,
        nmi: false,
        ..Protocol::default()
    };
    let truth = collection.labels.clone().unwrap();
    let parts: Vec<Part> = (0..2000)
        .map(|i| if i % 3 == 0 { Part::Test } else { Part::Train })
        .collect();
    let fit = |shift: u32| {
        let mut shown = collection.clone();
        shown.split = Some(parts.clone());
        let items = (0..2000).map(|i| match truth[i] {
            likewise::Label::Known(c) if parts[i] == Part::Train && i % 40 != 1 => {
                let _ = c;
                likewise::Label::Unknown
            }
            likewise::Label::Known(c) if parts[i] == Part::Test => {
                likewise::Label::Known((c + shift * (i as u32 % 7)) % 10)
            }
            other => other,
        });
        shown.labels = Some(Labels::new(truth.classes().to_vec(), items.collect()).unwrap());
        run(&shown, features, &recipe, &protocol).unwrap()
    };
    let (right, wrong) = (fit(0), fit(1));
    assert_eq!(right.model, wrong.model);
    assert_eq!(right.beliefs, wrong.beliefs);
    assert!(right.results.summary.map > wrong.results.summary.map);
}

#[test]
fn a_graph_on_the_embedding_and_the_paper_preset_run() {
    let collection = digits();
    let features = collection.view(Some("mor")).unwrap().matrix.view();
    let protocol = Protocol {
        labels_per_class: Some(5),
        draws: 1,
        nmi: false,
        ..Protocol::default()
    };
    let mut paper = Recipe::paper();
    paper.rounds.epochs = 3;
    paper
        .pseudo_labels
        .propagation_mut()
        .unwrap()
        .labeled_epochs = 1;
    let mut embedding = quick();
    embedding.pseudo_labels.propagation_mut().unwrap().on = On::Embedding;
    for recipe in [paper, embedding] {
        let study = run(&collection, features, &recipe, &protocol).unwrap();
        let log = &study.results.per_draw[0].training;
        assert_eq!(log.len(), recipe.rounds.epochs + 1);
        assert!(
            log.iter()
                .skip(1)
                .all(|e| e.loss.is_some_and(f64::is_finite))
        );
    }
}

#[test]
fn a_few_labels_of_the_user_are_enough() {
    let word = |i: usize| match i {
        0..20 => ["left", "right"][i % 2],
        _ => "",
    };
    let collection = corners(120, word);
    let features = collection.views()[0].matrix.view();
    let study = run(&collection, features, &quick(), &Protocol::default()).unwrap();
    assert_eq!(
        study.results.per_draw.len(),
        1,
        "nothing is hidden, so nothing is drawn"
    );
    assert_eq!(study.embeddings.nrows(), 120);
    assert_eq!(study.results.summary.n_queries, 6);
}

#[test]
fn collections_that_cannot_be_studied_are_refused() {
    let message = |collection: &Collection, protocol: &Protocol| {
        let features = collection.views()[0].matrix.view();
        run(collection, features, &quick(), protocol)
            .unwrap_err()
            .to_string()
    };
    let item = Protocol::default();
    let one = corners(40, |_| "only");
    assert!(message(&one, &item).contains("one class"));
    let none = corners(40, |_| "");
    assert!(message(&none, &item).contains("no item has a known class"));
    let two = corners(40, |i| ["a", "b"][i % 2]);
    let zero_shot = Protocol {
        split: SplitKind::ZeroShot,
        ..Protocol::default()
    };
    assert!(message(&two, &zero_shot).contains("2 classes are too few"));
    let given = Protocol {
        split: SplitKind::Given,
        ..Protocol::default()
    };
    assert!(message(&two, &given).contains("split"));
    let no_draws = Protocol {
        draws: 0,
        ..Protocol::default()
    };
    assert!(message(&two, &no_draws).contains("draws"));
    let mut all_train = two.clone();
    all_train.split = Some(vec![Part::Train; 40]);
    assert!(message(&all_train, &given).contains("test"));
}
