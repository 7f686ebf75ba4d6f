#![allow(clippy::unreadable_literal)] // Printed values.

use ndarray::s;
use proptest::prelude::*;
use rand::RngExt;

use ndarray::{Array2, Axis};

use super::learned::Triplet;
use super::*;
use crate::kernel::{Kernel, Width};
use crate::linear::check_values::iris;
use crate::seed;

fn all_four() -> [Source; 4] {
    Kernel::ALL_FOUR.map(|kernel| Source { view: 0, kernel })
}

fn given() -> Omks {
    Omks::new().order(Order::Given)
}

#[test]
fn thirty_irises() {
    let read = |line: &str| -> Vec<f64> { line.split(',').map(|v| v.parse().unwrap()).collect() };
    let file = include_str!("../../../testdata/omks_iris30.csv");
    let lines: Vec<&str> = file.lines().skip(1).collect();
    let mut triplets = Triplets::default();
    for line in &lines[..150] {
        let t = read(line);
        triplets.push(t[0] as u32, t[1] as u32, t[2] as u32, 1.0);
    }
    let rows: Vec<usize> = (0..10).chain(50..60).chain(100..110).collect();
    let x = iris().0.select(Axis(0), &rows);
    let single = x.mapv(|v| v as f32);
    let found = given()
        .fit(
            &[single.view()],
            &all_four(),
            &triplets,
            1,
            &Monitor::silent(),
        )
        .unwrap();
    assert_eq!(found.mistakes().collect::<Vec<_>>(), [7, 10, 17, 9]);
    assert_eq!(found.updates().collect::<Vec<_>>(), [64, 77, 123, 150]);
    let theta = [
        0.346298945933,
        0.252451931585,
        0.120746976276,
        0.280502146206,
    ];
    for (found, theta) in found.theta().iter().zip(theta) {
        assert!((found / theta - 1.0).abs() < 1e-8);
    }
    let queries = ndarray::array![
        [5.0, 3.3, 1.5, 0.2],
        [6.1, 2.8, 4.4, 1.4],
        [6.5, 3.0, 5.6, 2.1]
    ];
    let expected: Vec<f64> = lines[150..].iter().flat_map(|line| read(line)).collect();
    // Single precision at the border; in double precision the check values themselves.
    let f = found
        .scores(&[queries.mapv(|v| v as f32).view()], &[single.view()])
        .unwrap();
    for (f, e) in f.iter().zip(&expected) {
        assert!((f - e).abs() < 1e-5, "{f} {e}");
    }
    let mut exact = Array2::<f64>::zeros((3, 30));
    let mean_square = 10.4613793103448;
    for (factor, theta) in [Some(0.25), Some(1.0), Some(4.0), None]
        .into_iter()
        .zip(found.theta())
    {
        let kernel = factor.map_or(Kernel::Cosine, |factor| Kernel::Rbf {
            width: Width::Fixed(factor * mean_square),
        });
        let all: Vec<Triplet> = triplets
            .iter()
            .map(|t| (t.0 as usize, t.1 as usize, t.2 as usize, 1.0))
            .collect();
        let mut learned = Learned::new(30);
        learned
            .pass(&given(), &kernel.own(&x), &all, |_| Ok(()))
            .unwrap();
        let bent = kernel.of_rows(&queries, &x).dot(&learned.weights);
        let scores = kernel.of_rows(&queries, &x) + bent.dot(&kernel.own(&x));
        exact.scaled_add(theta, &scores);
    }
    for (f, e) in exact.iter().zip(&expected) {
        assert!((f / e - 1.0).abs() < 1e-8, "{f} {e}");
    }
    let best = |q: usize| {
        let mut order: Vec<usize> = (0..30).collect();
        order.sort_by(|&i, &j| exact[(q, j)].total_cmp(&exact[(q, i)]));
        order.truncate(5);
        order
    };
    assert_eq!(best(0), [7, 9, 0, 1, 2]);
    assert_eq!(best(1), [15, 11, 14, 18, 13]);
    assert_eq!(best(2), [24, 23, 22, 20, 28]);
}

fn random(n: usize, many: usize, number: u64) -> (Array2<f32>, Triplets) {
    let mut rng = seed::stream(number, "omks");
    let x = Array2::from_shape_fn((n, 3), |_| rng.random_range(-1.0_f32..1.0));
    let mut triplets = Triplets::default();
    while triplets.len() < many {
        let [a, p, q] = [0; 3].map(|_: u32| rng.random_range(0..n as u32));
        if a != p && a != q && p != q {
            triplets.push(a, p, q, [0.0, 0.5, 1.0, 3.0][rng.random_range(0..4)]);
        }
    }
    (x, triplets)
}

/// The sum over all triplets, as it is written: so many at a time are judged by the sum before them,
/// and take the mean of the steps of those that take any.
fn naive(k: &Array2<f64>, triplets: &Triplets, c: f64, batch: usize) -> (Array2<f64>, u64) {
    let n = k.nrows();
    let mut past: Vec<(usize, usize, usize, f64)> = Vec::new();
    let s = |past: &[(usize, usize, usize, f64)], q: usize, x: usize| {
        let sum = past
            .iter()
            .map(|&(a, p, n, tau)| tau * k[(q, a)] * (k[(x, p)] - k[(x, n)]));
        k[(q, x)] + sum.sum::<f64>()
    };
    let mut mistakes = 0;
    let counted: Vec<_> = triplets.iter().filter(|t| t.3 > 0.0).collect();
    for batch in counted.chunks(batch) {
        let mut steps = Vec::new();
        for &(a, p, q, w) in batch {
            let [a, p, q] = [a, p, q].map(|i| i as usize);
            let margin = s(&past, a, p) - s(&past, a, q);
            mistakes += u64::from(margin <= 0.0);
            let size = k[(a, a)] * (k[(p, p)] - 2.0 * k[(p, q)] + k[(q, q)]);
            let tau = (f64::from(w) * c).min((1.0 - margin).max(0.0) / size);
            if size > 1e-12 && tau > 0.0 {
                steps.push((a, p, q, tau));
            }
        }
        let share = steps.len() as f64;
        past.extend(steps.iter().map(|&(a, p, q, tau)| (a, p, q, tau / share)));
    }
    (
        Array2::from_shape_fn((n, n), |(q, x)| s(&past, q, x)),
        mistakes,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn it_is_the_sum_over_triplets_and_goes_on_where_it_stopped(
        n in 3_usize..25, many in 0_usize..120, c in 0.01_f64..2.0, number in any::<u64>(),
    ) {
        let (x, triplets) = random(n, many, number);
        let silent = Monitor::silent();
        let own = given().aggressiveness(c);
        let whole = own.fit(&[x.view()], &all_four(), &triplets, 1, &silent).unwrap();
        for (i, source) in all_four().iter().enumerate() {
            let one = own.fit(&[x.view()], &[*source], &triplets, 1, &silent).unwrap();
            prop_assert_eq!(&one.learned[0], &whole.learned[i]);
            let k = one.sources()[0].kernel.own(&x.mapv(f64::from));
            let (expected, mistakes) = naive(&k, &triplets, c, 1);
            let found = one.scores(&[x.view()], &[x.view()]).unwrap();
            let error = found - &expected;
            prop_assert!(error.iter().all(|e| e.abs() < 1e-8), "{error}");
            prop_assert_eq!(one.learned[0].mistakes, mistakes);
        }
        let part = |range: std::ops::Range<usize>| {
            let mut part = Triplets::default();
            for t in triplets.iter().skip(range.start).take(range.len()) {
                part.push(t.0, t.1, t.2, t.3);
            }
            part
        };
        let first = own.fit(&[x.view()], &all_four(), &part(0..many / 2), 1, &silent).unwrap();
        let text = serde_json::to_string(&first).unwrap();
        let mut again: Similarity = serde_json::from_str(&text).unwrap();
        again.learn(&part(many / 2..many), 1, &silent).unwrap();
        prop_assert_eq!(again, whole);
    }
}

#[test]
fn without_triplets_it_is_the_mean_of_the_kernels() {
    let (x, _) = random(9, 0, 1);
    let silent = Monitor::silent();
    let found = Omks::new()
        .fit(&[x.view()], &all_four(), &Triplets::default(), 1, &silent)
        .unwrap();
    let f = found.scores(&[x.view()], &[x.view()]).unwrap();
    let mut mean = Array2::<f64>::zeros((9, 9));
    for source in found.sources() {
        mean.scaled_add(0.25, &source.kernel.own(&x.mapv(f64::from)));
    }
    assert!((f - mean).iter().all(|e| e.abs() < 1e-12));
}

#[test]
fn a_step_that_is_not_cut_reaches_the_margin() {
    let (x, _) = random(9, 0, 1);
    let silent = Monitor::silent();
    let mut triplets = Triplets::default();
    triplets.push(2, 5, 7, 1.0);
    let own = given().aggressiveness(1e9);
    for source in all_four() {
        let found = own
            .fit(&[x.view()], &[source], &triplets, 1, &silent)
            .unwrap();
        let f = found.scores(&[x.view()], &[x.view()]).unwrap();
        assert!((f[(2, 5)] - f[(2, 7)] - 1.0).abs() < 1e-8);
    }
}

#[test]
fn minibatches_are_the_mean_step_from_the_same_state() {
    let (x, triplets) = random(20, 150, 9);
    let silent = Monitor::silent();
    let views = [x.view()];
    for source in all_four() {
        let fit = |own: Omks| own.fit(&views, &[source], &triplets, 1, &silent).unwrap();
        for batch in [1, 3, 8] {
            let own = fit(given().minibatch(batch));
            let k = own.sources()[0].kernel.own(&x.mapv(f64::from));
            let (expected, mistakes) = naive(&k, &triplets, 0.1, batch);
            let error = own.scores(&views, &views).unwrap() - &expected;
            assert!(error.iter().all(|e| e.abs() < 1e-8), "{batch}: {error}");
            assert_eq!(own.learned[0].mistakes, mistakes, "{batch}");
        }
        // One minibatch of all, however many it could hold.
        let all = fit(given().minibatch(150)).learned;
        assert_eq!(fit(given().minibatch(usize::MAX)).learned, all);
    }
}

#[test]
fn widths_of_thirty_irises_by_their_mean_distance() {
    let rows: Vec<usize> = (0..10).chain(50..60).chain(100..110).collect();
    let x = iris().0.select(Axis(0), &rows).mapv(|v| v as f32);
    let mean = 2.74442208588;
    for sigma in [0.01, 0.02, 0.04, 1.0] {
        for (width, expected) in [
            (Width::Mean(sigma), sigma * mean),
            (Width::Printed(sigma), sigma * sigma * mean),
            (Width::MeanSquare(sigma), sigma * 10.4613793103),
        ] {
            let fitted = Kernel::Rbf { width }.fitted(x.view(), &Monitor::silent());
            let Ok(Kernel::Rbf {
                width: Width::Fixed(found),
            }) = fitted
            else {
                panic!("{fitted:?}")
            };
            assert!((found / expected - 1.0).abs() < 1e-6, "{width:?}: {found}");
        }
    }
}

#[test]
fn minibatches_average_and_threads_and_kernels_do_not_matter() {
    let (x, triplets) = random(30, 300, 4);
    let silent = Monitor::silent();
    let fit = |own: Omks, threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            own.fit(&[x.view()], &all_four(), &triplets, 1, &silent)
                .unwrap()
        })
    };
    let own = Omks::new().epochs(2);
    let one = fit(own, 1);
    assert_eq!(one, fit(own, 2));
    assert_ne!(one, fit(own.minibatch(8), 1));
    let f = one.scores(&[x.view()], &[x.view()]).unwrap();
    let mut turned = one.clone();
    turned.sources.reverse();
    turned.learned.reverse();
    let other = turned.scores(&[x.view()], &[x.view()]).unwrap();
    assert!((f - other).iter().all(|e| e.abs() < 1e-12));
    let rate = Theta::Rate.weights(&[500, 1000], 10_000, 0.9);
    assert!((rate[1] / rate[0] - 0.9_f64.powi(5)).abs() < 1e-12);
    let sharp = Theta::Mistakes.weights(&[0, 1_000_000], 1, 0.5);
    assert!(sharp[0] > 0.999 && sharp[1] >= 0.0);
}

#[test]
fn what_does_not_fit_is_refused() {
    let (x, triplets) = random(9, 5, 1);
    let silent = Monitor::silent();
    let own = Omks::new();
    let all = all_four();
    assert!(own.fit(&[x.view()], &[], &triplets, 1, &silent).is_err());
    assert!(own.fit(&[], &all, &triplets, 1, &silent).is_err());
    assert!(
        own.fit(&[x.slice(s![..4, ..])], &all, &triplets, 1, &silent)
            .is_err()
    );
    assert!(
        own.fit(
            &[x.view(), x.slice(s![..4, ..])],
            &all,
            &triplets,
            1,
            &silent
        )
        .is_err()
    );
    let mut found = own.fit(&[x.view()], &all, &triplets, 1, &silent).unwrap();
    assert!(found.scores(&[x.slice(s![.., ..2])], &[x.view()]).is_err());
    assert!(found.scores(&[], &[x.view()]).is_err());
    let cancelled = Monitor::silent();
    cancelled.cancel();
    let before = found.clone();
    assert!(found.learn(&triplets, 1, &cancelled).is_err());
    assert_eq!(found, before);
    for wrong in [
        own.aggressiveness(0.0),
        own.beta(1.0),
        own.epochs(0),
        own.epochs(usize::MAX),
        own.minibatch(0),
    ] {
        assert!(
            wrong
                .validate()
                .unwrap_err()
                .to_string()
                .starts_with("omks.")
        );
    }
}
