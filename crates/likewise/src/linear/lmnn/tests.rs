#![allow(clippy::unreadable_literal)] // Printed values.

use proptest::prelude::*;
use rand::RngExt;

use super::margin::Intruders;
use super::*;
use crate::linear::check_values::{iris, relative_error};
use crate::matrix::product_of_many;
use crate::{Event, seed};

fn margin(rows: &Classed, neighbors: usize) -> Margin<'_> {
    static SILENT: std::sync::LazyLock<Monitor> = std::sync::LazyLock::new(Monitor::silent);
    Margin {
        rows,
        targets: Targets::of(rows, neighbors),
        push: 0.5,
        monitor: &SILENT,
    }
}

fn all_intruders(margin: &Margin, map: &Array2<f64>) -> Intruders {
    let none = Intruders {
        begins: vec![0; margin.rows.x.nrows() + 1],
        items: Vec::new(),
    };
    let z = product_of_many(&margin.rows.x, map);
    margin.search(&z, &none).unwrap()
}

#[test]
fn objective_and_gradient_of_irises() {
    let (x, classes) = iris();
    let mut rows = Classed::of_rows(x.view(), &classes, &[1.0; 150], "a test").unwrap();
    let targets = Targets::of(&rows, 3);
    rows.center().unwrap();
    let own = Margin {
        targets,
        ..margin(&rows, 3)
    };
    // Irises are sorted by class, so places are rows.
    assert_eq!(own.targets.row(0), [17, 4, 39]);
    assert_eq!(own.targets.row(1), [34, 45, 12]);
    assert_eq!(own.targets.row(2), [47, 3, 6]);
    let map = Array2::eye(4);
    let intruders = all_intruders(&own, &map);
    let expected = ndarray::array![
        [-295.69, -45.79, 49.9, 86.32],
        [-45.79, -175.88, 96.51, 49.91],
        [49.9, 96.51, -572.24, -434.5],
        [86.32, 49.91, -434.5, -412.78],
    ];
    for held in [Some(&intruders), None] {
        let (value, gradient) = own.compute(&map, held).unwrap();
        assert!((value / 606.205 - 1.0).abs() < 1e-9, "{value}");
        assert!(relative_error(&gradient, &expected) < 1e-9, "{gradient}");
    }
}

#[test]
fn the_minimum_of_irises_is_below_that_of_metric_learn() {
    let (x, classes) = iris();
    let rows = || Classed::of_rows(x.view(), &classes, &[1.0; 150], "a test").unwrap();
    let l = Lmnn::new().fit_classed(rows(), &Monitor::silent()).unwrap();
    let rows = rows();
    let (value, _) = margin(&rows, 3).compute(&l, None).unwrap();
    assert!(value <= 226.824013756 * 1.001, "{value}");
}

/// The formula as it is written.
fn naive(rows: &Classed, map: &Array2<f64>, neighbors: usize, push: f64) -> f64 {
    let z = rows.x.dot(&map.t());
    let distance = |x: &Array2<f64>, i: usize, l: usize| {
        let e = &x.row(i) - &x.row(l);
        e.dot(&e)
    };
    let n = z.nrows();
    let mut sum = 0.0;
    for i in 0..n {
        let mut own: Vec<usize> = rows.own[i].clone().filter(|&j| j != i).collect();
        own.sort_by(|&a, &b| {
            distance(&rows.x, i, a)
                .total_cmp(&distance(&rows.x, i, b))
                .then(a.cmp(&b))
        });
        for &j in own.iter().take(neighbors) {
            let pull = distance(&z, i, j);
            sum += (1.0 - push) * rows.weight[i] * pull;
            for l in (0..n).filter(|l| !rows.own[i].contains(l)) {
                let each = rows.weight[i] * rows.weight[l];
                sum += push * each * (1.0 + pull - distance(&z, i, l)).max(0.0);
            }
        }
    }
    sum
}

fn random(n: usize, d: usize, number: u64) -> (Array2<f32>, Vec<u32>, Vec<f32>) {
    let mut rng = seed::stream(number, "lmnn");
    let x = Array2::from_shape_fn((n, d), |_| rng.random_range(-1.0_f32..1.0));
    let classes = (0..n as u32).map(|i| if i < 2 { i } else { rng.random_range(0..3) });
    let classes = classes.collect();
    (
        x,
        classes,
        (0..n).map(|_| rng.random_range(0.1..2.0)).collect(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn the_objective_is_the_formula_and_its_slopes_are_the_gradient(
        n in 2_usize..40, d in 1_usize..12, r in 1_usize..5, k in 1_usize..4,
        number in any::<u64>(),
    ) {
        let (x, classes, weights) = random(n, d, number);
        let rows = Classed::new(x.view(), &classes, &weights, "a test").unwrap();
        let own = margin(&rows, k);
        let mut rng = seed::stream(number, "map");
        let m = rows.x.ncols();
        let map = Array2::from_shape_fn((r, m), |_| rng.random_range(-1.0_f64..1.0));
        let held = all_intruders(&own, &map);
        let expected = naive(&rows, &map, k, 0.5);
        let (value, gradient) = own.compute(&map, Some(&held)).unwrap();
        let (all, steep) = own.compute(&map, None).unwrap();
        prop_assert!((value - expected).abs() <= 1e-9 * (1.0 + expected));
        prop_assert!((all - expected).abs() <= 1e-9 * (1.0 + expected));
        prop_assert!((&gradient - &steep).iter().all(|e| e.abs() <= 1e-8 * (1.0 + expected)));
        let step = Array2::from_shape_fn((r, m), |_| rng.random_range(-1.0_f64..1.0)) * 1e-7;
        let at = |map: &Array2<f64>| {
            let (value, gradient) = own.compute(map, None).unwrap();
            (value, (gradient * &step).sum())
        };
        let ends = [at(&(&map - &step)), at(&(&map + &step))];
        let slope = (ends[1].0 - ends[0].0) / 2.0;
        // Where a row crosses its margin on the way, the slope jumps, and the mean lies between.
        let told = [(&gradient * &step).sum(), ends[0].1, ends[1].1];
        let low = told.into_iter().fold(f64::INFINITY, f64::min);
        let high = told.into_iter().fold(f64::NEG_INFINITY, f64::max);
        let room = 1e-4 * (told[0].abs() + 1e-7 * (1.0 + expected));
        prop_assert!(low - room <= slope && slope <= high + room, "{slope} {low} {high}");
    }

    #[test]
    fn it_never_ends_above_where_it_starts(
        n in 4_usize..60, d in 1_usize..12, number in any::<u64>(), rank in 0_usize..4,
    ) {
        let (x, classes, weights) = random(n, d, number);
        let rank = (rank > 0 && rank <= d).then_some(rank);
        let learner = Lmnn::new().rank(rank).iterations(60);
        let map = learner.fit_weighted(x.view(), &classes, &weights, &Monitor::silent()).unwrap();
        prop_assert!(map.iter().all(|v| v.is_finite()));
        prop_assert_eq!(map.ncols(), d);
        prop_assert!(rank.is_none_or(|rank| map.nrows() <= rank));
        let mut rows = Classed::new(x.view(), &classes, &weights, "a test").unwrap();
        let mean = Targets::of(&rows, 3).mean_distance(&rows.x);
        rows.center().unwrap();
        if mean > 0.0 {
            rows.rescale(mean.sqrt().recip());
            let before = naive(&rows, &rows.start(rank, "rank").unwrap(), 3, 0.5);
            let mut order: Vec<usize> = (0..n).collect();
            order.sort_by_key(|&i| classes[i]);
            rows.x = x.select(ndarray::Axis(0), &order).mapv(f64::from);
            let after = naive(&rows, &map, 3, 0.5);
            prop_assert!(after <= before * (1.0 + 1e-9), "{after} {before}");
        }
    }
}

#[test]
fn a_weight_of_0_is_absence_and_one_thread_is_as_good_as_two() {
    let (x, classes, mut weights) = random(70, 6, 5);
    for i in [3, 20, 21] {
        weights[i] = 0.0;
    }
    let fit = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let silent = Monitor::silent();
        let own = Lmnn::new().iterations(80);
        (pool.build().unwrap()).install(|| {
            own.fit_weighted(x.view(), &classes, &weights, &silent)
                .unwrap()
        })
    };
    let one = fit(1);
    assert_eq!(one, fit(2));
    let kept: Vec<usize> = (0..70).filter(|i| ![3, 20, 21].contains(i)).collect();
    let of = |i: &usize| (classes[*i], weights[*i]);
    let (classes, weights): (Vec<u32>, Vec<f32>) = kept.iter().map(of).unzip();
    let rest = x.select(ndarray::Axis(0), &kept);
    let own = Lmnn::new().iterations(80);
    let other = own.fit_weighted(rest.view(), &classes, &weights, &Monitor::silent());
    assert_eq!(one, other.unwrap());
}

#[test]
fn more_neighbors_than_the_smallest_class_has_are_said_once() {
    let x = ndarray::array![
        [0.0, 1.0],
        [1.0, 0.0],
        [2.0, 5.0],
        [2.5, 4.0],
        [3.0, 4.5_f32]
    ];
    let heard = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let to = heard.clone();
    let monitor = Monitor::new(move |event: &Event| {
        if let Event::Warning(said) = event {
            to.lock().unwrap().push(said.clone());
        }
    });
    // With their nearest of the own class alone the first two have all.
    let classes = [0, 0, 1, 1, 1];
    for (neighbors, warnings) in [(1, 0), (2, 1)] {
        let own = Lmnn::new().neighbors(neighbors);
        own.fit_weighted(x.view(), &classes, &[1.0; 5], &monitor)
            .unwrap();
        let heard = heard.lock().unwrap();
        assert_eq!(heard.len(), warnings, "{heard:?}");
    }
    assert!(heard.lock().unwrap()[0].contains("the smallest class has 1 beside a row"));
}

#[test]
fn degenerate_rows_give_a_start_or_an_error() {
    let silent = Monitor::silent();
    let own = Lmnn::new();
    let x = ndarray::array![[0.0, 1.0], [1.0, 0.0], [2.0, 5.0_f32]];
    let single = own
        .fit_weighted(x.view(), &[0, 1, 2], &[1.0; 3], &silent)
        .unwrap();
    assert_eq!(single, Array2::<f64>::eye(2));
    let heard = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let to = heard.clone();
    let monitor = Monitor::new(move |event: &Event| {
        if let Event::Warning(said) = event {
            *to.lock().unwrap() = said.clone();
        }
    });
    let same = Array2::from_elem((6, 3), 2.0_f32);
    let classes = [0, 0, 0, 1, 1, 1];
    let map = own
        .fit_weighted(same.view(), &classes, &[1.0; 6], &monitor)
        .unwrap();
    assert_eq!(map, Array2::<f64>::eye(3));
    assert!(heard.lock().unwrap().contains("no two different rows"));
    let one = own
        .fit_weighted(x.view(), &[0; 3], &[1.0; 3], &silent)
        .unwrap_err();
    assert!(one.to_string().contains("two classes"), "{one}");
    // The same rows in both classes: nothing can be told apart.
    let twice = ndarray::array![[0.0, 1.0], [3.0, 1.0], [0.0, 1.0], [3.0, 1.0_f32]];
    let map = own
        .fit_weighted(twice.view(), &[0, 0, 1, 1], &[1.0; 4], &silent)
        .unwrap();
    assert!(map.iter().all(|v| v.is_finite()));
    assert!(
        own.rank(Some(3))
            .fit_weighted(x.view(), &[0, 1, 0], &[1.0; 3], &silent)
            .is_err()
    );
    let cancelled = Monitor::silent();
    cancelled.cancel();
    assert!(
        own.fit_weighted(x.view(), &[0, 1, 0], &[1.0; 3], &cancelled)
            .is_err()
    );
    for wrong in [
        own.neighbors(0),
        own.push(1.0),
        own.iterations(0),
        own.tolerance(-1.0),
    ] {
        assert!(
            wrong
                .validate()
                .unwrap_err()
                .to_string()
                .starts_with("lmnn.")
        );
    }
}
