#![allow(clippy::unreadable_literal)] // Printed values.

use super::sweep::MANY;
use super::*;
use crate::linear::check_values::{iris, iris_pairs, relative_error};
use crate::reference::in_one_and_two_threads;
use ndarray::array;
use proptest::prelude::*;

fn learn(itml: Itml, pairs: &Pairs) -> Array2<f64> {
    let constraints = Constraints::of(iris().0.view(), pairs, &Monitor::silent()).unwrap();
    itml.learn(
        &constraints,
        Array2::eye(4),
        (0.2, 28.193),
        &Monitor::silent(),
    )
    .unwrap()
}

#[test]
fn the_check_values_of_irises() {
    let once = array![
        [
            0.267290008943,
            -1.42629815931,
            0.767507359945,
            1.82500184235
        ],
        [-1.42629815931, 18.6558378558, -12.382670095, -25.0768864503],
        [0.767507359945, -12.382670095, 8.61068961433, 16.6648051044],
        [1.82500184235, -25.0768864503, 16.6648051044, 34.3150026595],
    ];
    let twice = array![
        [0.468638981444, -2.6146003165, 0.95603385765, 3.22464092906],
        [-2.6146003165, 20.4217438118, -8.62392628048, -25.9326319214],
        [0.95603385765, -8.62392628048, 3.92387652745, 10.9656598244],
        [3.22464092906, -25.9326319214, 10.9656598244, 33.5490618601],
    ];
    let ten_times = array![
        [
            0.199291044963,
            -0.982949321386,
            0.408446568111,
            1.24969823062
        ],
        [
            -0.982949321386,
            6.86619918941,
            -3.32173344739,
            -9.01552907122
        ],
        [0.408446568111, -3.32173344739, 1.78695384632, 4.29578606756],
        [1.24969823062, -9.01552907122, 4.29578606756, 12.3146655468],
    ];
    let at_the_end = array![
        [
            0.102600941909,
            -0.110833902805,
            -0.0417582239082,
            0.0370519880707
        ],
        [
            -0.110833902805,
            0.817653551981,
            -0.288137116482,
            -1.07543499108
        ],
        [
            -0.0417582239082,
            -0.288137116482,
            0.309161122539,
            0.308864554255
        ],
        [
            0.0370519880707,
            -1.07543499108,
            0.308864554255,
            2.05861333572
        ],
    ];
    let pairs = iris_pairs();
    for (sweeps, expected) in [(1, once), (2, twice), (10, ten_times), (1000, at_the_end)] {
        let found = learn(Itml::new().sweeps(sweeps), &pairs);
        assert!(relative_error(&found, &expected) < 1e-7, "{sweeps}");
    }
}

#[test]
fn units_do_not_matter() {
    let fit = |scale: f64| {
        let x = iris().0 * scale;
        let constraints = Constraints::of(x.view(), &iris_pairs(), &Monitor::silent()).unwrap();
        let bounds = (0.2 * scale * scale, 28.193 * scale * scale);
        let itml = Itml::new().sweeps(10);
        itml.learn(&constraints, Array2::eye(4), bounds, &Monitor::silent())
            .unwrap()
    };
    // Powers of two, so that nothing is rounded.
    let expected = fit(1.0);
    for scale in [-23, 30].map(|power| 2.0_f64.powi(power)) {
        assert!(relative_error(&fit(scale), &expected) < 1e-12, "{scale}");
    }
    // By the covariance distances are the same whatever the unit: large bounds leave out no pair.
    let x = (iris().0 * 2.0_f64.powi(23)).mapv(|v| v as f32);
    let mut near = Pairs::default();
    near.push(0, 1, false, 1.0);
    let itml = Itml::new().prior(Prior::Covariance).sweeps(1);
    let found = itml.fit_pairs(x.view(), &near, &Monitor::silent());
    let start = inverse_covariance(x.view()).unwrap();
    assert!(relative_error(&found.unwrap(), &start) > 1e-3);
}

#[test]
fn percentiles_of_irises() {
    let x = iris().0.mapv(|v| v as f32);
    let (near, far) = Itml::new().percentiles(x.view(), 5.0, 95.0).unwrap();
    // Of all 11,175 pairs .2 and 28.193; a sample of 10,000 of them is near.
    assert!(
        (near - 0.2).abs() < 0.03 && (far - 28.193).abs() < 0.6,
        "{near} {far}"
    );
    assert!((percentile(&[1.0, 2.0, 4.0], 75.0) - 3.0).abs() < 1e-15);
    let few = array![[0.0_f32], [0.0], [2.0]];
    let found = Itml::new().percentiles(few.view(), 0.0, 100.0).unwrap();
    assert_eq!(found, (4.0, 4.0));
}

/// Projections by their formulas, a matrix at a time.
fn naive(itml: Itml, x: &Array2<f64>, pairs: &Pairs, bounds: (f64, f64)) -> Array2<f64> {
    let mut m = Array2::<f64>::eye(x.ncols());
    let mut all: Vec<_> = pairs.iter().filter(|p| p.3 > 0.0).collect();
    all.sort_by_key(|pair| !pair.2);
    let mut lambda = vec![0.0_f64; all.len()];
    let start = |p: &(u32, u32, bool, f32)| if p.2 { bounds.0 } else { bounds.1 };
    let mut xi: Vec<f64> = all.iter().map(start).collect();
    for _ in 0..itml.sweeps {
        for (c, &(a, b, alike, w)) in all.iter().enumerate() {
            let gamma = itml.gamma * f64::from(w);
            let v = &x.row(a as usize) - &x.row(b as usize);
            let mv = m.dot(&v);
            let p = v.dot(&mv);
            let s = if alike { 1.0 } else { -1.0 };
            let alpha = lambda[c].min(s * gamma / (gamma + 1.0) * (1.0 / p - 1.0 / xi[c]));
            lambda[c] -= alpha;
            let beta = s * alpha / (1.0 - s * alpha * p);
            xi[c] = 1.0 / (1.0 / xi[c] + s * alpha / gamma);
            for ((i, j), m) in m.indexed_iter_mut() {
                *m += beta * mv[i] * mv[j];
            }
        }
    }
    m
}

proptest! {
    #[test]
    fn equals_the_formulas_and_is_positive(
        d in prop_oneof![1_usize..20, MANY..MANY + 9], number in any::<u64>(),
        gamma in 0.1_f64..10.0,
    ) {
        let mut rng = seed::stream(number, "itml");
        let x = Array2::from_shape_fn((9, d), |_| rng.random_range(-1.0..1.0));
        let mut pairs = Pairs::default();
        for _ in 0..60 {
            let a = rng.random_range(0..9_u32);
            let b = (a + rng.random_range(1..9)) % 9;
            pairs.push(a, b, rng.random(), rng.random_range(0..4) as f32 / 2.0);
        }
        let constraints = Constraints::of(x.view(), &pairs, &Monitor::silent()).unwrap();
        let itml = Itml::new().gamma(gamma).sweeps(4).tolerance(1e-300);
        prop_assume!(!constraints.rows.is_empty());
        let prior = Array2::eye(d);
        let found = itml.learn(&constraints, prior, (0.1, 2.0), &Monitor::silent()).unwrap();
        prop_assert!(relative_error(&found, &naive(itml, &x, &pairs, (0.1, 2.0))) < 1e-8);
        prop_assert!(spd::eigenvalues(&found).unwrap()[0] >= 0.0);
    }
}

#[test]
fn weights_are_multiplicities_and_0_is_absence() {
    let mut twice = Pairs::default();
    let mut weighted = Pairs::default();
    for (p, (a, b, alike, _)) in iris_pairs().iter().enumerate() {
        twice.push(a, b, alike, 1.0);
        if p % 3 == 0 {
            twice.push(a, b, alike, 1.0);
        }
        weighted.push(a, b, alike, if p % 3 == 0 { 2.0 } else { 1.0 });
        if b != (a + 70) % 150 {
            weighted.push(b, (a + 70) % 150, alike, 0.0);
        }
    }
    // The two go different ways to the same end.
    let itml = Itml::new().sweeps(30_000).tolerance(1e-7);
    let error = relative_error(&learn(itml, &weighted), &learn(itml, &twice));
    assert!(error < 1e-3, "{error}");
}

#[test]
fn one_kind_of_pairs_more_columns_than_rows_and_priors() {
    let mut rng = seed::stream(3, "itml");
    let x = Array2::from_shape_fn((6, 30), |_| rng.random_range(-1.0_f32..1.0));
    for alike in [true, false] {
        let mut pairs = Pairs::default();
        pairs.push(0, 1, alike, 1.0);
        pairs.push(2, 3, alike, 1.0);
        for prior in [Prior::Identity, Prior::Covariance] {
            let itml = Itml::new().prior(prior);
            let m = itml
                .fit_pairs(x.view(), &pairs, &Monitor::silent())
                .unwrap();
            assert!(spd::eigenvalues(&m).unwrap()[0] > 0.0);
        }
    }
    // Pairs that contradict each other.
    let mut pairs = Pairs::default();
    pairs.push(0, 1, true, 1.0);
    pairs.push(0, 1, false, 1.0);
    let m = Itml::new()
        .fit_pairs(x.view(), &pairs, &Monitor::silent())
        .unwrap();
    assert!(m.iter().all(|v| v.is_finite()));
    // A constant column.
    let flat = Array2::from_shape_fn((6, 2), |(i, j)| if j == 0 { i as f32 } else { 1.0 });
    let m = Itml::new()
        .fit_pairs(flat.view(), &pairs, &Monitor::silent())
        .unwrap();
    assert!(m.iter().all(|v| v.is_finite()));
}

#[test]
fn the_number_of_threads_changes_nothing_and_it_can_be_stopped() {
    let x = iris().0.mapv(|v| v as f32);
    let fit = |monitor: &Monitor| Itml::new().fit_pairs(x.view(), &iris_pairs(), monitor);
    let (one, two) = in_one_and_two_threads(|| fit(&Monitor::silent()).unwrap());
    assert_eq!(one, two);
    let monitor = Monitor::silent();
    monitor.cancel();
    assert_eq!(
        fit(&monitor).unwrap_err().kind(),
        crate::ErrorKind::Cancelled
    );
}

#[test]
fn wrong_input_is_named() {
    let x = array![[0.0_f32, 1.0], [1.0, 0.0], [1.0, 0.0]];
    let mut pairs = Pairs::default();
    let said = |itml: Itml, pairs: &Pairs| {
        let found = itml.fit_pairs(x.view(), pairs, &Monitor::silent());
        found.unwrap_err().to_string()
    };
    assert!(said(Itml::new(), &pairs).contains("needs pairs"));
    pairs.push(1, 2, true, 1.0);
    assert!(said(Itml::new(), &pairs).contains("needs pairs"));
    assert!(said(Itml::new().gamma(0.0), &pairs).contains("itml.gamma"));
    assert!(said(Itml::new().sweeps(0), &pairs).contains("itml.sweeps"));
    let squared = Itml::new().bounds(Bounds::squared(2.0, 1.0));
    assert!(said(squared, &pairs).contains("itml.bounds = (2, 1)"));
    let percentiles = Itml::new().bounds(Bounds::percentiles(5.0, 101.0));
    assert!(said(percentiles, &pairs).contains("0 to 100"));
}
