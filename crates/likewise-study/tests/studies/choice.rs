//! What is chosen where nobody says: the start and the recipe.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use likewise::{Labels, Monitor, Part};
use likewise_study::study::{Delivered, Next, Plan, Protocol, Row, SplitKind};
use likewise_study::{Device, Recipe};
use ndarray::Array2;
use rand::RngExt;

use super::few_labels::{clouds, collection, folds, quick, run};

#[test]
fn columns_of_different_units_have_a_start_of_their_own() {
    let starts = [Row::Raw, Row::Centered, Row::Scaled, Row::Whitened];
    for seed in 0..8 {
        let (mut x, _) = clouds(300, 4, 0.4, seed);
        let mut rng = likewise::seed::stream(seed, "units");
        // Labels at random teach nothing, so that a start is delivered now and then.
        let random = (0..300).map(|i| {
            if i % 4 == 0 {
                rng.random_range(0..3)
            } else {
                -1
            }
        });
        let labels = Labels::from_integers(random);
        let study = |x: &Array2<f32>| {
            let collection = collection(x.clone(), Some(labels.clone()));
            run(&collection, &quick(), &folds()).unwrap()
        };
        if seed == 0 {
            assert!(!study(&x).results.baselines.contains_key(&Row::Scaled));
        }
        // What tells the clouds apart is small beside a column that says nothing, and far from zero.
        let mut rng = likewise::seed::stream(seed, "large column");
        for mut row in x.rows_mut() {
            row[31] = 900.0 + 100.0 * rng.random_range(-1.0_f32..1.0);
            row[30] += 50.0;
        }
        let found = study(&x);
        let value = |row: Row| found.results.baselines[&row].r_precision.unwrap();
        if seed == 0 {
            // A recipe that brings rows to length 1 first does not move it.
            let of_unit_rows = Recipe::mild_probabilities().fitting(300);
            assert!(of_unit_rows.start.unit);
            let collection = collection(x.clone(), Some(labels.clone()));
            let other = run(&collection, &of_unit_rows, &folds()).unwrap();
            let other = other.results.baselines[&Row::Scaled].r_precision.unwrap();
            assert!((other - value(Row::Scaled)).abs() < 1e-12, "{other}");
        }
        let best = starts.into_iter().reduce(|best, next| {
            if value(next) > value(best) {
                next
            } else {
                best
            }
        });
        if best == Some(Row::Scaled) && found.results.answers.delivered == Delivered::Start {
            let mean = x.mean_axis(ndarray::Axis(0)).unwrap();
            let deviation = x.std_axis(ndarray::Axis(0), 0.0);
            let scaled = likewise::matrix::l2_normalize((&x - &mean) / &deviation);
            let away = (&found.embeddings - &scaled).mapv(f32::abs);
            assert!(away.iter().all(|&a| a < 1e-3));
            return;
        }
    }
    panic!("scaled columns were never delivered");
}

#[test]
fn columns_are_scaled_where_rows_of_length_one_would_lose_what_they_say() {
    let (x, truth) = clouds(120, 3, 1.0, 5);
    let shown = truth.masked(|i| i < 24);
    let asks = |x: Array2<f32>| {
        let collection = collection(x, Some(shown.clone()));
        let (any, protocol) = (Recipe::default(), folds());
        let features = collection.views()[0].matrix.view();
        let plan = Plan::of(&collection, features, &any, &protocol, Device::flex());
        let choice = plan.choose_recipe(None, &Monitor::silent()).unwrap();
        let tried = |name: &str| choice.tried.iter().any(|tried| tried.recipe == name);
        assert_eq!(choice.tried[0].recipe, "mild-joined");
        assert_ne!(tried("scaled-joined"), tried("probabilities"));
        tried("scaled-joined")
    };
    let mut large = x.clone();
    large.column_mut(31).mapv_inplace(|v| 900.0 + 100.0 * v);
    // Measurements that are all large for some items, and rows that are damaged or empty.
    let mut long = x.mapv(f32::abs);
    for (i, mut row) in long.rows_mut().into_iter().enumerate() {
        row *= 1.0 + (i % 3) as f32;
    }
    let mut damaged = x.clone();
    damaged.row_mut(7).mapv_inplace(|v| 40.0 * v);
    for row in 10..25 {
        damaged.row_mut(row).fill(0.0);
    }
    assert!(!asks(x));
    assert!(asks(large));
    assert!(asks(long));
    assert!(!asks(damaged));
}

#[test]
fn roots_are_asked_and_tried_where_no_value_is_negative() {
    let (x, truth) = clouds(120, 3, 0.4, 5);
    // Shares of one sum, most of it in a few columns.
    let shares = |x: &Array2<f32>| {
        let mut shares = x.mapv(|v| (2.0 * v).exp());
        shares
            .rows_mut()
            .into_iter()
            .for_each(|mut row| row /= row.sum());
        shares
    };
    let histograms = shares(&x);
    let chosen = |x: &Array2<f32>, shown: &Labels| {
        let collection = collection(x.clone(), Some(shown.clone()));
        let (any, protocol) = (Recipe::default(), folds());
        let features = collection.views()[0].matrix.view();
        let plan = Plan::of(&collection, features, &any, &protocol, Device::flex());
        plan.choose_recipe(None, &Monitor::silent()).unwrap()
    };
    let names = |choice: &likewise_study::study::Choice| -> Vec<String> {
        choice
            .tried
            .iter()
            .map(|tried| tried.recipe.clone())
            .collect()
    };
    // One label a class leaves none to measure by, and histograms ask for roots first.
    let one = truth.masked(|i| i < 3);
    assert_eq!(chosen(&histograms, &one).recipe.name, "rooted-mild-joined");
    assert_eq!(chosen(&x, &one).recipe.name, "mild-joined");
    let some = truth.masked(|i| i < 24);
    assert_eq!(names(&chosen(&histograms, &some))[0], "rooted-mild-joined");
    let of_both_signs = names(&chosen(&x, &some));
    assert!(!of_both_signs.iter().any(|name| name.starts_with("rooted")));

    let row = |x: &Array2<f32>, recipe: &Recipe| {
        let collection = collection(x.clone(), Some(some.clone()));
        run(&collection, recipe, &folds()).unwrap().results
    };
    let quick = Recipe::start().fitting(120);
    assert!(!row(&x, &quick).baselines.contains_key(&Row::Rooted));
    // The row is what the recipe of that name delivers, and a recipe that reads roots has it as its centred row.
    let asked = row(&histograms, &quick).baselines[&Row::Rooted]
        .r_precision
        .unwrap();
    let rooted = row(&histograms, &Recipe::rooted_start().fitting(120));
    assert!(!rooted.baselines.contains_key(&Row::Rooted));
    let own = rooted.baselines[&Row::Centered].r_precision.unwrap();
    assert!((asked - own).abs() < 1e-9, "{asked} {own}");
    let delivered = rooted.summary.r_precision.unwrap();
    assert!((asked - delivered).abs() < 1e-3, "{asked} {delivered}");
}

#[test]
fn for_new_classes_roots_are_tried_where_no_value_is_negative() {
    let any = Recipe::default();
    let tried = |x: Array2<f32>, labels: &Labels| -> Vec<String> {
        let collection = collection(x, Some(labels.clone()));
        let features = collection.views()[0].matrix.view();
        let protocol = new_classes();
        let plan = Plan::of(&collection, features, &any, &protocol, Device::flex());
        let choice = plan.choose_recipe(None, &Monitor::silent()).unwrap();
        choice.tried.into_iter().map(|tried| tried.recipe).collect()
    };
    let (x, labels) = varied_within(30, 12, 12, 2.0);
    assert_eq!(tried(x.clone(), &labels), ["start", "mixed-rca"]);
    let mut shares = x.mapv(f32::exp);
    (shares.rows_mut().into_iter()).for_each(|mut row| row /= row.sum());
    assert_eq!(tried(shares, &labels)[0], "rooted-start");
    let level = x.mapv(|v| v.abs().min(1.0));
    let of_both = ["start", "rooted-start", "mixed-rca", "rooted-mixed-rca"];
    assert_eq!(tried(level, &labels), of_both);
}

#[test]
fn fewer_labels_that_ask_than_a_verdict_takes_choose_nothing() {
    let (x, truth) = clouds(120, 3, 0.4, 5);
    let tried = |labels: usize| {
        // Class after class, as many of each.
        let collection = collection(x.clone(), Some(truth.masked(|i| i < labels)));
        let (any, protocol) = (Recipe::default(), folds());
        let features = collection.views()[0].matrix.view();
        let plan = Plan::of(&collection, features, &any, &protocol, Device::flex());
        let choice = plan.choose_recipe(None, &Monitor::silent()).unwrap();
        (choice.recipe.name, choice.tried.len())
    };
    assert_eq!(tried(15), ("mild-joined".into(), 0));
    assert!(tried(18).1 > 5);
}

#[test]
fn a_choice_that_was_interrupted_goes_on_where_it_stopped() {
    let (x, truth) = clouds(120, 3, 1.0, 5);
    let shown = truth.masked(|i| i < 24);
    let collection = collection(x, Some(shown));
    let any = Recipe::default();
    let folder = tempfile::tempdir().unwrap();
    let choose = |kept: bool, most: usize| {
        let steps = Arc::new(AtomicUsize::new(0));
        let counted = steps.clone();
        let own = Arc::new(OnceLock::<Monitor>::new());
        let stops = own.clone();
        let monitor = Monitor::new(move |event| {
            if matches!(event, likewise::Event::Step { .. })
                && counted.fetch_add(1, Ordering::Relaxed) + 1 == most
                && let Some(own) = stops.get()
            {
                own.cancel();
            }
        });
        own.set(monitor.clone()).ok();
        let protocol = folds();
        let features = collection.views()[0].matrix.view();
        let plan = Plan {
            checkpoints: kept.then(|| folder.path().to_owned()),
            ..Plan::of(&collection, features, &any, &protocol, Device::flex())
        };
        let choice = plan.choose_recipe(None, &monitor);
        (choice, steps.load(Ordering::Relaxed))
    };
    let (whole, all) = choose(false, usize::MAX);
    let whole = whole.unwrap();
    assert!(all > 4 && !whole.tried.is_empty());
    assert!(choose(true, 4).0.is_err());
    let (rest, steps) = choose(true, usize::MAX);
    assert_eq!((rest.unwrap(), steps), (whole.clone(), all - 4));
    // All of it is there now; damage is nothing to go on from.
    assert_eq!(choose(true, usize::MAX).1, 0);
    std::fs::write(folder.path().join("choice.json"), "{").unwrap();
    let (again, steps) = choose(true, usize::MAX);
    assert_eq!((again.unwrap(), steps), (whole, all));
}

#[test]
fn where_the_first_recipe_finds_all_the_others_are_tried_once() {
    // A fifth of the labels asks in a round, which is enough to believe it.
    let (x, labels) = clouds(400, 3, 0.01, 5);
    let collection = collection(x, Some(labels.masked(|i| i < 260)));
    let (any, protocol) = (Recipe::default(), folds());
    let features = collection.views()[0].matrix.view();
    let plan = Plan::of(&collection, features, &any, &protocol, Device::flex());
    let choice = plan.choose_recipe(None, &Monitor::silent()).unwrap();
    let rounds: Vec<usize> = choice.tried.iter().map(|tried| tried.rounds).collect();
    assert_eq!(choice.recipe.name, choice.tried[0].recipe);
    assert_eq!(
        (rounds[0], &rounds[1..]),
        (5, vec![1; rounds.len() - 1].as_slice())
    );
}

/// Items of so many classes, which a few columns tell apart; in the others they differ `within` a class.
fn varied_within(
    classes: usize,
    each: usize,
    columns: usize,
    within: f32,
) -> (Array2<f32>, Labels) {
    let mut rng = likewise::seed::stream(7, "varied within");
    let mut random = move |scale: f32| scale * rng.random_range(-1.0_f32..1.0);
    let centers = Array2::from_shape_simple_fn((classes, 6), || random(1.0));
    let x = Array2::from_shape_fn((classes * each, columns), |(i, j)| {
        if j < 6 {
            centers[(i / each, j)] + random(0.3)
        } else {
            random(within)
        }
    });
    let classes = (0..classes * each).map(|i| (i / each) as i64);
    (x, Labels::from_integers(classes))
}

fn new_classes() -> Protocol {
    Protocol {
        split: SplitKind::ZeroShot,
        nmi: false,
        ..Protocol::default()
    }
}

#[test]
fn for_new_classes_what_is_learned_stands_where_others_gain_by_it() {
    let any = Recipe::default();
    let choose = |(x, labels): (Array2<f32>, Labels), protocol: &Protocol| {
        let collection = collection(x, Some(labels));
        let features = collection.views()[0].matrix.view();
        let plan = Plan::of(&collection, features, &any, protocol, Device::flex());
        plan.choose_recipe(None, &Monitor::silent()).unwrap()
    };
    // What all classes vary in is turned down.
    let learned = choose(varied_within(30, 12, 12, 2.0), &new_classes());
    assert_eq!(learned.recipe.name, "mixed-rca");
    let [start, rca] = learned.tried.as_slice() else {
        panic!("two are compared");
    };
    assert_eq!((start.gain, start.rounds, rca.rounds), (None, 1, 1));
    let gain = rca.gain.unwrap();
    assert!(gain.value > 0.05 && gain.low < gain.value);
    // Of classes that were drawn by chance nothing can be learned.
    let (x, labels) = varied_within(30, 12, 12, 2.0);
    let shuffled = labels.items().iter().cycle().step_by(13).take(360).copied();
    let of_chance = Labels::new(labels.classes().to_vec(), shuffled.collect());
    let kept = choose((x.clone(), of_chance.unwrap()), &new_classes());
    assert_eq!((kept.recipe.name.as_str(), kept.tried.len()), ("start", 2));
    // One label of each class that validates has nothing to find, and five classes leave none to validate.
    let single = Protocol {
        labels_per_class: Some(1),
        ..new_classes()
    };
    let unknown = choose((x, labels), &single);
    assert_eq!(
        (unknown.recipe.name.as_str(), unknown.tried.len()),
        ("start", 0)
    );
    let few = choose(varied_within(5, 12, 12, 2.0), &new_classes());
    assert_eq!((few.recipe.name.as_str(), few.tried.len()), ("start", 0));
    // A column of another unit would be all that rows of length 1 say.
    let (mut x, labels) = varied_within(30, 12, 12, 0.3);
    x.column_mut(11).mapv_inplace(|v| 900.0 + 300.0 * v);
    let scaled = choose((x, labels), &new_classes());
    assert_eq!(scaled.tried[0].recipe, "scaled-start");
}

#[test]
fn a_single_class_that_validates_and_classes_that_are_fitted_say_nothing_of_new_ones() {
    let any = Recipe::default();
    let given = Protocol {
        split: SplitKind::Given,
        ..new_classes()
    };
    let choose = |part: &dyn Fn(usize) -> Part| {
        let (x, labels) = varied_within(8, 12, 12, 2.0);
        let mut collection = collection(x, Some(labels));
        collection.split = Some((0..96).map(part).collect());
        let features = collection.views()[0].matrix.view();
        let plan = Plan::of(&collection, features, &any, &given, Device::flex());
        let choice = plan.choose_recipe(None, &Monitor::silent()).unwrap();
        let study = Plan {
            recipe: &choice.recipe,
            ..plan
        }
        .run(&Monitor::silent());
        (choice, study.unwrap().results)
    };
    // Classes 0 to 2 are fitted.
    let one = |i: usize| match i / 12 {
        0..3 => Part::Train,
        3 => Part::Validation,
        _ => Part::Test,
    };
    let fitted = |i: usize| match i / 12 {
        0..3 if i.is_multiple_of(3) => Part::Validation,
        0..3 => Part::Train,
        _ => Part::Test,
    };
    for part in [&one as &dyn Fn(usize) -> Part, &fitted] {
        let (choice, results) = choose(part);
        assert_eq!(
            (choice.recipe.name.as_str(), choice.tried.len()),
            ("start", 0)
        );
        // Nobody compared, which is what to do next.
        let Next::Recipe { name, .. } = &results.answers.next else {
            panic!("{:?}", results.answers.next);
        };
        assert_eq!(name, "mixed-rca");
    }
    let two = |i: usize| match i / 12 {
        0..3 => Part::Train,
        3..5 => Part::Validation,
        _ => Part::Test,
    };
    let (choice, _) = choose(&two);
    assert_eq!(choice.tried.len(), 2);
    let gain = choice.tried[1].gain.unwrap();
    assert!(gain.low.is_finite() && gain.high.is_finite());
}

#[test]
fn the_start_of_fewer_items_than_columns_is_the_whitened_row() {
    // 48 items of 16 classes are fitted, and other classes have most of their length outside of their span.
    let (x, labels) = varied_within(40, 3, 80, 1.0);
    let whitened = Recipe::start()
        .with(
            "start = { shrinkage = 10.0, standardize = false }"
                .parse()
                .unwrap(),
        )
        .unwrap();
    let collection = collection(x, Some(labels));
    let study = run(&collection, &whitened, &new_classes()).unwrap();
    let row = &study.results.baselines[&Row::Whitened];
    let gain = study.results.summary.map_at_r.unwrap() - row.map_at_r.unwrap();
    assert!(gain.abs() < 1e-3, "{gain}");
    assert_eq!(study.embeddings.ncols(), 80);
    // So is a model that learned from the test part as well.
    let again = Protocol {
        refit: true,
        ..new_classes()
    };
    assert_eq!(
        run(&collection, &whitened, &again)
            .unwrap()
            .embeddings
            .ncols(),
        80
    );
    // Where the classes that ask are fitted, it is not kept: learners on it lost by that.
    let known = Protocol {
        split: SplitKind::Item,
        ..new_classes()
    };
    assert!(
        run(&collection, &whitened, &known)
            .unwrap()
            .embeddings
            .ncols()
            < 80
    );
    // What is asked for with fewer directions has these.
    let few = whitened.with("start.rank = 20".parse().unwrap()).unwrap();
    let study = run(&collection, &few, &new_classes()).unwrap();
    assert_eq!(study.embeddings.ncols(), 20);
}
