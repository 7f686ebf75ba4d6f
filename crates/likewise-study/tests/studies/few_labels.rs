//! Studies of a handful of labels, as users have them: nothing is hidden, and nothing is lost.

use std::sync::{Arc, Mutex};

use likewise::eval::ranking::{self, Measure};
use likewise::{Collection, Event, Label, Labels, Monitor, Part, View};
use likewise_io::{Form, ReadOptions};
use likewise_study::Device;
use likewise_study::Recipe;
use likewise_study::recipe::Keep;
use likewise_study::study::{Delivered, Found, Next, Plan, Protocol, Row, SplitKind, Study};
use ndarray::{Array2, ArrayView2, Axis};
use rand::RngExt;

pub(super) fn run(
    collection: &Collection,
    recipe: &Recipe,
    protocol: &Protocol,
) -> likewise_study::Result<Study> {
    let features = collection.views()[0].matrix.view();
    Plan::of(collection, features, recipe, protocol, Device::flex()).run(&Monitor::silent())
}

pub(super) fn folds() -> Protocol {
    Protocol {
        split: SplitKind::Folds,
        ..Protocol::default()
    }
}

pub(super) fn quick() -> Recipe {
    let mut recipe = Recipe::default();
    recipe.set_neighbors(8).unwrap();
    recipe.rounds.epochs = 3;
    recipe
}

pub(super) fn collection(matrix: Array2<f32>, labels: Option<Labels>) -> Collection {
    let ids = (0..matrix.nrows()).map(|i| format!("item {i}")).collect();
    let view = View {
        name: "x".into(),
        matrix,
        present: None,
    };
    let mut collection = Collection::new(ids, vec![view]).unwrap();
    collection.labels = labels;
    collection
}

/// Clouds of 32 dimensions around random centres, and their classes.
pub(super) fn clouds(n: usize, classes: usize, noise: f32, seed: u64) -> (Array2<f32>, Labels) {
    let mut rng = likewise::seed::stream(seed, "few labels");
    let mut normal = || (0..6).map(|_| rng.random_range(-1.0_f32..1.0)).sum::<f32>() / 1.414;
    let centers = Array2::from_shape_simple_fn((classes, 32), &mut normal);
    let x = Array2::from_shape_fn((n, 32), |(i, j)| {
        centers[(i % classes, j)] + noise * normal()
    });
    (
        x,
        Labels::from_integers((0..n).map(|i| (i % classes) as i64)),
    )
}

/// R-precision of all items among all.
fn truth(embeddings: ArrayView2<f32>, labels: &Labels) -> f64 {
    let all: Vec<usize> = (0..labels.len()).collect();
    let protocol = ranking::Protocol::within(embeddings, labels, &all);
    let ranking = ranking::evaluate(&protocol, &[1], &Monitor::silent()).unwrap();
    ranking.mean(Measure::RPrecision).unwrap()
}

#[test]
fn all_labels_are_fitted_and_the_gain_is_what_the_truth_says() {
    let (mut inside, mut better, mut runs) = (0, 0, 0);
    for seed in 0..4 {
        let (x, all) = clouds(600, 6, 1.3, seed);
        let shown = all.draw(9, seed);
        let collection = collection(x.clone(), Some(shown));
        let study = run(&collection, &quick(), &folds()).unwrap();
        let results = &study.results;
        assert_eq!(results.per_draw[0].labels, 54, "no label is taken away");
        assert_eq!(study.beliefs.labeled.iter().filter(|l| **l).count(), 54);
        assert_eq!(study.embeddings.nrows(), 600);
        let answer = results.answers.labels.as_ref().unwrap();
        assert_eq!(answer.metric, "r_precision");
        assert!(matches!(answer.finding, Found::Better | Found::Unclear));
        better += usize::from(answer.finding == Found::Better);
        assert!(
            results.summary.recall.is_empty(),
            "R@k cannot be measured so"
        );
        assert!(results.summary.n_queries >= 54 && results.summary.n_gallery == 600);
        let gain = truth(study.embeddings.view(), &all) - truth(x.view(), &all);
        let raw = &results.differences[&Row::Raw]["r_precision"];
        inside += usize::from(raw.low <= gain && gain <= raw.high);
        runs += 1;
    }
    assert!(better >= 1, "{better} of {runs} say that the labels helped");
    assert!(
        inside + 1 >= runs,
        "{inside} of {runs} intervals hold the truth"
    );
}

/// Labels of some classes alone, as a user has them who has not seen the others.
fn of_classes_below(all: &Labels, labels: usize, classes: u32, seed: u64) -> Labels {
    let drawn = all.draw(labels, seed);
    drawn.masked(|i| drawn[i].class().is_some_and(|class| class < classes))
}

#[test]
fn classes_without_a_label_are_counted_and_do_not_flatter_the_numbers() {
    let (mut near, runs) = (0, 4);
    for seed in 0..runs {
        let (x, all) = clouds(700, 7, 1.1, seed);
        let shown = of_classes_below(&all, 10, 4, seed);
        let collection = collection(x.clone(), Some(shown));
        let study = run(&collection, &quick(), &folds()).unwrap();
        let results = &study.results;
        let sure = results.answers.sure.unwrap();
        assert_eq!(sure.classes, Some(4));
        let outside = sure.outside.expect("three of seven classes have no label");
        assert!((outside - 3.0 / 7.0).abs() < 0.15, "{outside}");
        let known: Vec<usize> = (0..700).filter(|i| i % 7 < 4).collect();
        let everything: Vec<usize> = (0..700).collect();
        let protocol = ranking::Protocol::new(x.view(), &all, &known, &everything);
        let ranking = ranking::evaluate(&protocol, &[1], &Monitor::silent()).unwrap();
        let truth = ranking.mean(Measure::RPrecision).unwrap();
        let [low, high] = results.baselines[&Row::Raw].ci["r_precision"];
        near += u64::from(low <= truth && truth <= high);
        let head = &results.verdict[0];
        assert!(
            head.contains("R-precision of items of the 4 labeled classes"),
            "{head}"
        );
        let said = results
            .verdict
            .iter()
            .any(|line| line.contains("none of the labeled classes"));
        assert!(said, "{:?}", results.verdict);
    }
    assert!(near + 1 >= runs, "{near} of {runs} hold the truth");
}

#[test]
fn where_every_class_has_labels_nothing_is_taken_for_outside() {
    for seed in 0..3 {
        let (x, all) = clouds(600, 6, 1.1, seed);
        let collection = collection(x, Some(all.draw(10, seed)));
        let study = run(&collection, &quick(), &folds()).unwrap();
        let sure = study.results.answers.sure.unwrap();
        assert_eq!((sure.outside, sure.central), (None, None));
    }
}

#[test]
fn eight_labels_of_each_of_two_unequal_classes_tell_of_no_others() {
    for seed in 0..4 {
        let (x, all) = clouds(400, 2, 1.0, seed);
        let kept: Vec<usize> = (0..400).filter(|i| i % 2 == 0 || i % 20 == 1).collect();
        let (x, all) = (x.select(Axis(0), &kept), all.select(&kept));
        let shown = all.draw(8, seed);
        let study = run(&collection(x, Some(shown)), &quick(), &folds()).unwrap();
        assert_eq!(study.results.answers.sure.unwrap().outside, None, "{seed}");
    }
}

#[test]
fn answers_that_are_all_right_have_an_interval() {
    let (x, all) = clouds(240, 6, 0.1, 3);
    let shown = all.draw(3, 1);
    let study = run(&collection(x, Some(shown)), &quick(), &folds()).unwrap();
    let answer = study.results.answers.labels.as_ref().unwrap();
    let all_right = answer.difference.value.abs() < 1e-9;
    assert!(all_right, "{:?}", answer.difference);
    // 18 labels asked: 1.96 sqrt(1) / 20; above 1 nothing rises.
    let difference = &answer.difference;
    assert!((difference.low + 0.098).abs() < 1e-3, "{difference:?}");
    assert!(difference.high.abs() < 1e-9, "{difference:?}");
    // So few are no proof that nothing is left to be had.
    let next = &study.results.answers.next;
    assert!(!matches!(next, Next::Nothing), "{next:?}");
    // Nor is a class found worst of which nothing was missed.
    if let Next::LabelClass { why, .. } = next {
        assert!(why.contains("only make that surer"), "{why}");
    }
}

/// Labels of ten items of each class, of those thirty of a hundred that are nearest to its middle.
fn easy(x: &Array2<f32>, all: &Labels) -> Labels {
    let mut easy = Vec::new();
    for mut members in all.by_class() {
        let middle = x.select(Axis(0), &members).mean_axis(Axis(0)).unwrap();
        let apart = |i: &usize| (&x.row(*i) - &middle).mapv(|v| v * v).sum();
        members.sort_by(|a, b| apart(a).total_cmp(&apart(b)));
        let nearest = 3 * members.len() / 10;
        easy.extend(members[..nearest].iter().step_by(nearest / 10).take(10));
    }
    all.masked(|i| easy.contains(&i))
}

#[test]
fn labels_of_easy_items_are_said_to_be_easy() {
    for seed in 0..3 {
        let (x, all) = clouds(600, 6, 1.1, seed);
        let shown = easy(&x, &all);
        let study = run(&collection(x, Some(shown)), &quick(), &folds()).unwrap();
        let central = study.results.answers.sure.unwrap().central;
        let central = central.expect("labels of the middle of each class");
        assert!(central < 0.45, "{central}");
        let mut said = study.results.verdict.iter();
        assert!(said.any(|line| line.contains("of easier items than most")));
    }
}

#[test]
fn blindly_drawn_labels_are_not_said_to_be_easy_where_many_items_are_taken_for_another_class() {
    for seed in 0..6 {
        let (x, all) = clouds(800, 20, 1.9, seed);
        let shown = all.draw(5, seed);
        let study = run(&collection(x, Some(shown)), &Recipe::start(), &folds()).unwrap();
        let sure = study.results.answers.sure.unwrap();
        assert_eq!(sure.central, None, "seed {seed}");
    }
}

#[test]
fn one_or_two_labels_a_class_learn_and_say_that_nothing_can_be_measured() {
    let (x, all) = clouds(300, 5, 0.9, 1);
    for m in [1, 2] {
        let collection = collection(x.clone(), Some(all.draw(m, 3)));
        let study = run(&collection, &quick(), &folds()).unwrap();
        let answers = &study.results.answers;
        assert!(answers.labels.is_none() && !study.results.learning_helped);
        assert!(
            answers
                .not_measured
                .as_ref()
                .unwrap()
                .contains("three labels")
        );
        assert!(matches!(answers.next, Next::LabelEvery { to: 4 }));
        assert!(study.results.verdict[0].starts_with("Did the labels help? Not measured"));
        assert!(truth(study.embeddings.view(), &all) > truth(x.view(), &all) + 0.05);
    }
}

#[test]
fn without_labels_the_start_is_delivered_with_items_to_label_first() {
    let (x, _) = clouds(200, 4, 0.5, 2);
    let only = Labels::from_integers((0..200).map(|i| if i < 3 { 7 } else { -1 }));
    for (labels, why) in [
        (None, "no item is labeled"),
        (Some(Labels::unknown(200)), "no item is labeled"),
        (Some(only), "one class only"),
    ] {
        let study = run(&collection(x.clone(), labels), &quick(), &folds()).unwrap();
        let answers = &study.results.answers;
        assert!(answers.not_measured.as_ref().unwrap().contains(why));
        assert_eq!(answers.delivered, Delivered::Start);
        assert_eq!(study.embeddings.nrows(), 200);
        let Next::LabelItems { ids } = &answers.next else {
            panic!("{:?}", answers.next);
        };
        // The first four stand for four clouds, whose items follow each other in turn.
        let mut of: Vec<usize> = ids
            .iter()
            .map(|id| id[5..].parse::<usize>().unwrap() % 4)
            .collect();
        of.sort_unstable();
        of.dedup();
        assert_eq!(of, [0, 1, 2, 3]);
    }
}

#[test]
fn what_needs_no_label_is_fitted_without_any_and_said_to_be_unmeasured() {
    let (x, _) = clouds(200, 4, 0.5, 2);
    let only = Labels::from_integers((0..200).map(|i| if i < 3 { 7 } else { -1 }));
    let start = run(&collection(x.clone(), None), &quick(), &folds()).unwrap();
    let texts = [
        // Of a few comparisons, which take a moment.
        "base = 'synthetic'\nlearner = { triplets = 200, draws = 5 }",
        "base = 'pca'",
        "base = 'pca'\nname = 'spread'\npseudo_labels = 'lgc'",
    ];
    for recipe in texts.map(|text| Recipe::from_toml(text).unwrap()) {
        let name = &recipe.name;
        assert!(recipe.needs_no_label());
        for (labels, why) in [
            (None, "no item is labeled"),
            (Some(only.clone()), "one class only"),
        ] {
            let study = run(&collection(x.clone(), labels), &recipe, &folds()).unwrap();
            let answers = &study.results.answers;
            let said = answers.not_measured.as_ref().unwrap();
            assert!(
                said.contains(why) && said.contains("without labels"),
                "{said}"
            );
            assert_eq!(answers.delivered, Delivered::Learned, "{name}");
            assert!(matches!(answers.next, Next::LabelItems { .. }));
            assert!(study.embeddings.iter().all(|v| v.is_finite()), "{name}");
            assert_ne!(study.embeddings.ncols(), 0);
            assert_ne!(study.embeddings, start.embeddings, "{name}");
        }
    }
    for name in ["mixed-lp", "label-rca", "triplet", "gsph"] {
        assert!(!Recipe::named(name).unwrap().needs_no_label(), "{name}");
    }
}

#[test]
fn classes_of_three_that_are_told_apart_perfectly_are_no_zero() {
    let (x, labels) = clouds(120, 40, 0.01, 3);
    let study = run(&collection(x, Some(labels)), &quick(), &Protocol::default()).unwrap();
    assert!(study.results.baselines[&Row::Raw].recall[&1] > 0.999);
    assert_eq!(study.results.summary.n_lone, 0);
}

#[test]
fn the_baseline_without_labels_does_not_move_with_the_labels() {
    let (x, labels) = clouds(400, 8, 1.2, 4);
    let collection = collection(x, Some(labels));
    let whitened = |m: usize| {
        let protocol = Protocol {
            labels_per_class: Some(m),
            draws: 1,
            nmi: false,
            ..Protocol::default()
        };
        let study = run(&collection, &quick(), &protocol).unwrap();
        study.results.baselines[&Row::Whitened].clone()
    };
    let first = whitened(1);
    assert!([2, 3, 5].into_iter().all(|m| whitened(m) == first));
}

#[test]
fn validation_has_no_more_labels_a_class_than_fitting() {
    let (x, labels) = clouds(600, 10, 0.9, 5);
    let protocol = Protocol {
        split: SplitKind::ZeroShot,
        labels_per_class: Some(3),
        draws: 1,
        nmi: false,
        ..Protocol::default()
    };
    let study = run(&collection(x, Some(labels)), &quick(), &protocol).unwrap();
    let log = &study.results.per_draw[0];
    assert_eq!((log.labels, log.validation_labels), (12, 6));
    // Six queries are no evidence, and the classes that ask have no labels.
    assert_eq!(log.epoch, 0);
    let said = study.results.answers.validation.as_ref().unwrap();
    assert!(
        said.contains("could not tell") && said.contains("begins on was kept"),
        "{said}"
    );
}

#[test]
fn only_the_careful_rule_goes_back_to_the_start_without_evidence() {
    let (x, labels) = clouds(600, 10, 0.9, 5);
    let collection = collection(x, Some(labels));
    let protocol = Protocol {
        split: SplitKind::ZeroShot,
        labels_per_class: Some(3),
        draws: 1,
        nmi: false,
        ..Protocol::default()
    };
    let epoch = |keep| {
        let mut recipe = quick();
        recipe.rounds.keep = keep;
        let study = run(&collection, &recipe, &protocol).unwrap();
        study.results.per_draw[0].epoch
    };
    assert_eq!(epoch(Keep::NearBest), 0);
    assert_eq!(epoch(Keep::Best), 3);
    assert_eq!(epoch(Keep::Last), 3);
}

#[test]
fn labels_never_make_the_delivered_model_worse() {
    // Two and three labels a class are no evidence for the start, and none for heavy shrinkage.
    let (x, all) = clouds(900, 10, 1.6, 6);
    let mut last = 0.0;
    for m in [1, 2, 3, 5] {
        let protocol = Protocol {
            labels_per_class: Some(m),
            ..folds()
        };
        let study = run(
            &collection(x.clone(), Some(all.clone())),
            &quick(),
            &protocol,
        )
        .unwrap();
        let now = truth(study.embeddings.view(), &all);
        assert!(now > last - 0.02, "{m} labels a class: {now} after {last}");
        last = now;
    }
}

#[test]
fn one_broken_row_does_not_ruin_the_model() {
    let (x, labels) = clouds(300, 5, 0.8, 7);
    let mut broken = x.clone();
    broken.row_mut(0).mapv_inplace(|v| v * 1e30);
    let protocol = Protocol {
        labels_per_class: Some(5),
        draws: 1,
        nmi: false,
        ..Protocol::default()
    };
    let study = |x| run(&collection(x, Some(labels.clone())), &quick(), &protocol).unwrap();
    let (sound, broken) = (study(x), study(broken));
    let map = |study: &Study| study.results.summary.map_at_r.unwrap();
    assert!(
        map(&broken) > map(&sound) - 0.02,
        "{} {}",
        map(&broken),
        map(&sound)
    );
    let found = broken.results.leaks.iter();
    assert!(
        found
            .map(ToString::to_string)
            .any(|f| f.contains("1,000 times as long"))
    );
}

#[test]
fn what_is_kept_learns_from_the_test_part_too_where_that_is_asked() {
    let (x, labels) = clouds(400, 4, 1.0, 8);
    let collection = collection(x, Some(labels));
    let protocol = |refit| Protocol {
        refit,
        nmi: false,
        ..Protocol::default()
    };
    let part = run(&collection, &quick(), &protocol(false)).unwrap();
    let all = run(&collection, &quick(), &protocol(true)).unwrap();
    assert_eq!(part.results.summary, all.results.summary, "measured before");
    assert_eq!((part.train.len(), all.train.len()), (280, 400));
    assert_eq!(all.beliefs.labeled.iter().filter(|l| **l).count(), 400);
    assert_eq!(all.parts.iter().filter(|p| **p == Part::Test).count(), 120);
    assert!(part.model != all.model);
}

#[test]
fn real_digits_with_five_labels_a_class() {
    let bytes = std::fs::read(likewise_testdata::digits()).unwrap();
    let read = likewise_io::read_bytes(Form::Npz, &bytes, &ReadOptions::default()).unwrap();
    let all = read.labels.clone().unwrap();
    let x = read.view(Some("kar")).unwrap().matrix.clone();
    let collection = collection(x.clone(), Some(all.draw(5, 1)));
    let study = run(&collection, &Recipe::default(), &folds()).unwrap();
    let gain = truth(study.embeddings.view(), &all) - truth(x.view(), &all);
    let said = study.results.differences[&Row::Raw]["r_precision"];
    assert!(said.low <= gain && gain <= said.high, "{said:?} {gain}");
    assert!(study.results.learning_helped, "{:?}", study.results.verdict);
    let shown = collection.labels.as_ref().unwrap();
    assert!(shown.items().contains(&Label::Unknown));
}

#[test]
fn labels_at_random_are_said_not_to_help_and_the_start_is_said_to_be_delivered() {
    let (x, _) = clouds(500, 5, 0.6, 9);
    let mut rng = likewise::seed::stream(9, "labels at random");
    let random = (0..500).map(|i| {
        if i % 4 == 0 {
            rng.random_range(0..3)
        } else {
            -1
        }
    });
    let study = run(
        &collection(x, Some(Labels::from_integers(random))),
        &quick(),
        &folds(),
    );
    let study = study.unwrap();
    let results = &study.results;
    assert!(!results.learning_helped, "{:?}", results.verdict);
    let start = results.per_draw[0].epoch == 0 || results.answers.delivered != Delivered::Learned;
    let said = results.verdict.join(" ");
    assert_eq!(start, said.contains("Delivered:"), "{said}");
    assert_eq!(!start, said.contains("has learned from all"), "{said}");
}

/// One of three classes that overlap, of which the rarest has a twentieth of the items.
fn overlapping(seed: u64) -> (Array2<f32>, Labels) {
    let mut rng = likewise::seed::stream(seed, "overlapping classes");
    let class: Vec<i64> = (0..900)
        .map(|_| match rng.random_range(0..100) {
            0..80 => 0,
            80..95 => 1,
            _ => 2,
        })
        .collect();
    let x = Array2::from_shape_fn((900, 10), |(i, j)| {
        let normal = (0..12).map(|_| rng.random_range(0.0_f32..1.0)).sum::<f32>() - 6.0;
        let apart = match (class[i], j) {
            (1, 0) => 2.0,
            (2, 1) => 2.5,
            _ => 0.0,
        };
        normal + apart
    });
    (x, Labels::from_integers(class))
}

#[test]
fn labels_of_whichever_items_of_unequal_classes_do_not_flatter_the_numbers() {
    let recipe = Recipe::named("label-probabilities").unwrap();
    let (mut level, mut apart) = (0, 0.0);
    for seed in 0..6 {
        let (x, all) = overlapping(seed);
        let mut rng = likewise::seed::stream(seed, "labels of whichever");
        let shown: Vec<bool> = (0..900).map(|_| rng.random_range(0..100) < 12).collect();
        let collection = collection(x.clone(), Some(all.masked(|i| shown[i])));
        let study = run(&collection, &recipe, &folds()).unwrap();
        let raw = &study.results.baselines[&Row::Raw];
        let said = raw.r_precision.unwrap();
        let wanted = truth(likewise::matrix::l2_normalize(x).view(), &all);
        let [low, high] = raw.ci["r_precision"];
        level += usize::from(low <= wanted && wanted <= high);
        apart += (said - wanted) / 6.0;
    }
    // Where every item was taken for one of the largest class, it said .2 too much.
    assert!(apart.abs() < 0.08, "{apart}");
    assert!(level >= 5, "{level} of 6 intervals hold the truth");
}

#[test]
fn copies_of_an_item_are_no_evidence_for_each_other() {
    // Fifty rows, each four times; what class they are of says nothing of them.
    let mut rng = likewise::seed::stream(5, "copies");
    let rows = Array2::from_shape_simple_fn((50, 12), || rng.random_range(-1.0_f32..1.0));
    let x = Array2::from_shape_fn((200, 12), |(i, j)| rows[(i / 4, j)]);
    let class: Vec<i64> = (0..50).map(|_| rng.random_range(0..2)).collect();
    let labels =
        Labels::from_integers((0..200_usize).map(|i| if i < 120 { class[i / 4] } else { -1 }));
    let recipe = Recipe::named("label-probabilities").unwrap();
    let study = run(&collection(x, Some(labels)), &recipe, &folds()).unwrap();
    let answer = study.results.answers.labels.expect("it was measured");
    assert_ne!(answer.finding, Found::Better, "{answer:?}");
    assert!(
        answer.to < 0.75,
        "half of the items are of each class: {answer:?}"
    );
}

#[test]
fn raw_features_that_validation_prefers_are_delivered_by_the_refit_too() {
    // What tells classes apart varies least: eight directions of the start hold none of it.
    let mut rng = likewise::seed::stream(1, "noise and signal");
    let x = Array2::from_shape_fn((480, 80), |(i, j)| {
        let noise = 3.0 * rng.random_range(-1.0_f32..1.0);
        if j < 60 {
            noise
        } else {
            0.05 * noise + if i % 20 == j - 60 { 4.0 } else { 0.0 }
        }
    });
    let labels = Labels::from_integers((0..480).map(|i| i % 20));
    let mut recipe = quick();
    recipe.start.rank = 4;
    let protocol = Protocol {
        refit: true,
        nmi: false,
        ..Protocol::default()
    };
    let study = run(&collection(x, Some(labels)), &recipe, &protocol).unwrap();
    if study.results.answers.delivered == Delivered::RawFeatures {
        assert_eq!(study.embeddings.ncols(), 80);
    } else {
        // Then the head is above the features, and that is what was measured.
        let own = study.results.summary.map_at_r.unwrap();
        assert!(own >= study.results.baselines[&Row::Raw].map_at_r.unwrap() - 0.05);
    }
}

#[test]
fn few_labels_of_few_classes_are_told_at_once_how_many_would_do() {
    let (x, truth) = clouds(120, 3, 1.0, 5);
    for shown in [3, 6] {
        let labels = truth.masked(|i| i < shown);
        let study = run(&collection(x.clone(), Some(labels)), &quick(), &folds()).unwrap();
        let next = &study.results.answers.next;
        assert!(
            matches!(next, Next::LabelEvery { to: 6 }),
            "{shown}: {next:?}"
        );
    }
}

#[test]
fn what_is_left_to_label_is_what_has_no_label_and_not_the_test_part() {
    let (x, all) = clouds(400, 4, 1.2, 5);
    let apart = |labels_per_class| Protocol {
        split: SplitKind::Item,
        labels_per_class,
        draws: 1,
        ..Protocol::default()
    };
    // Every item is labeled, those of the test part too: nothing is left.
    let whole = collection(x.clone(), Some(all.clone()));
    let study = run(&whole, &quick(), &apart(None)).unwrap();
    let next = &study.results.answers.next;
    assert!(!matches!(next, Next::LabelClass { .. }), "{next:?}");
    // Of twelve that are open, no more than twelve are asked for.
    let open = Labels::from_integers((0..400).map(|i| if i < 12 { -1 } else { i % 4 }));
    let some = collection(x, Some(open));
    let study = run(&some, &quick(), &apart(None)).unwrap();
    if let Next::LabelClass { more, .. } = study.results.answers.next {
        assert!(more <= 12, "{more}");
    }
}

#[test]
fn what_is_warned_of_a_row_beside_the_recipe_says_of_which() {
    let (mut x, labels) = clouds(80, 2, 1.0, 6);
    // The same items again, which are of the same class, and of one part with the first ones.
    for i in 40..80 {
        let first = x.row(i - 40).to_owned();
        x.row_mut(i).assign(&first);
    }
    let collection = collection(x, Some(labels));
    let protocol = Protocol {
        split: SplitKind::Item,
        labels_per_class: Some(5),
        draws: 1,
        nmi: false,
        ..Protocol::default()
    };
    let heard = Arc::new(Mutex::new(Vec::new()));
    let to = heard.clone();
    let monitor = Monitor::new(move |event: &Event| {
        if let Event::Warning(said) = event {
            to.lock().unwrap().push(said.clone());
        }
    });
    let recipe = Recipe::named("itml").unwrap();
    let features = collection.views()[0].matrix.view();
    let plan = Plan::of(&collection, features, &recipe, &protocol, Device::flex());
    plan.run(&monitor).unwrap();
    let heard = heard.lock().unwrap();
    let of_all = "all labels (oracle): ";
    let told = |said: &String| said.starts_with(of_all) && said.contains("identical rows");
    assert!(heard.iter().any(told), "{heard:?}");
}
