//! What is chosen where nobody says: the start and the recipe.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use likewise::{Labels, Monitor};
use likewise_study::study::{Delivered, Plan, Row};
use likewise_study::{Device, Recipe};
use ndarray::Array2;
use rand::RngExt;

use super::few_labels::{clouds, collection, folds, quick, run};

#[test]
fn columns_of_different_units_have_a_start_of_their_own() {
    let starts = [Row::Raw, Row::Centred, Row::Scaled, Row::Whitened];
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
    // One label a class leaves none to measure by.
    let shown = truth.masked(|i| i < 3);
    let chosen = |x: Array2<f32>| {
        let collection = collection(x, Some(shown.clone()));
        let (any, protocol) = (Recipe::default(), folds());
        let features = collection.views()[0].matrix.view();
        let plan = Plan::of(&collection, features, &any, &protocol, Device::flex());
        let choice = plan.choose_recipe(None, &Monitor::silent()).unwrap();
        assert!(choice.tried.is_empty());
        choice.recipe.name
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
    assert_eq!(chosen(x), "mild-probabilities");
    assert_eq!(chosen(large), "scaled-mild-probabilities");
    assert_eq!(chosen(long), "scaled-mild-probabilities");
    assert_eq!(chosen(damaged), "mild-probabilities");
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
