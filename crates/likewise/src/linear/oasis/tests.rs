use std::sync::OnceLock;

use proptest::prelude::*;

use super::*;
use crate::learn::{Start, Targets};
use crate::linear::check_values::{relative_error, standardized, wine, wine_triplets};
use crate::linear::spd;

/// The rule as it is written.
fn naive(x: &Array2<f64>, triplets: &Triplets, c: f64, mut w: Array2<f64>) -> (Array2<f64>, u64) {
    let mut updates = 0;
    for (a, p, n, weight) in triplets.iter() {
        let [a, p, n] = [a, p, n].map(|i| x.row(i as usize));
        let e = &p - &n;
        let loss = (1.0 - a.dot(&w.dot(&e))).max(0.0);
        let tau = (f64::from(weight) * c).min(loss / (a.dot(&a) * e.dot(&e)));
        if tau > 0.0 && tau.is_finite() {
            updates += 1;
            for ((i, j), w) in w.indexed_iter_mut() {
                *w += tau * a[i] * e[j];
            }
        }
    }
    (w, updates)
}

#[test]
fn the_pass_over_wines() {
    let x = standardized(&wine().0);
    let read = |from: usize| {
        let file = include_str!("../../../testdata/oasis_wine.csv");
        let lines = file.lines().skip(1 + 13 * from).take(13);
        let values = lines.flat_map(|line| line.split(',').map(|v| v.parse::<f64>().unwrap()));
        Array2::from_shape_vec((13, 13), values.collect()).unwrap()
    };
    let silent = Monitor::silent();
    let own = Oasis::new();
    let found = own
        .pass(&x, &wine_triplets(), Array2::eye(13), &silent)
        .unwrap();
    assert_eq!(found.updates, 18);
    assert!(relative_error(&found.w, &read(1)) < 1e-10);
    let mut one = Triplets::default();
    let (a, p, n, w) = wine_triplets().iter().next().unwrap();
    one.push(a, p, n, w);
    let first = own.pass(&x, &one, Array2::eye(13), &silent).unwrap().w;
    assert!(relative_error(&first, &read(0)) < 1e-10);
    // The check value is projected once, at the end.
    let projected = spd::project(&found.w).unwrap();
    assert!(relative_error(&projected, &read(2)) < 1e-10);
}

fn random(n: usize, d: usize, many: usize, number: u64) -> (Array2<f64>, Triplets) {
    let mut rng = seed::stream(number, "oasis");
    let x = Array2::from_shape_fn((n, d), |_| f64::from(rng.random_range(-1.0_f32..1.0)));
    let mut triplets = Triplets::default();
    while triplets.len() < many {
        let [a, p, q] = [0; 3].map(|_: u32| rng.random_range(0..n as u32));
        if a != p && a != q && p != q {
            triplets.push(a, p, q, [0.0, 0.5, 1.0, 3.0][rng.random_range(0..4)]);
        }
    }
    (x, triplets)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    #[test]
    fn blocks_are_one_triplet_after_the_other(
        n in 3_usize..30, d in 1_usize..20, many in 0_usize..400, c in 0.01_f64..3.0,
        number in any::<u64>(),
    ) {
        let (x, triplets) = random(n, d, many, number);
        let own = Oasis::new().aggressiveness(c);
        let silent = Monitor::silent();
        let found = own.pass(&x, &triplets, Array2::eye(d), &silent).unwrap();
        let (expected, _) = naive(&x, &triplets, c, Array2::eye(d));
        prop_assert!(relative_error(&found.w, &expected) < 1e-8);
        // In two passes, the second from the first.
        let half = many / 2;
        let part = |range: std::ops::Range<usize>| {
            let mut part = Triplets::default();
            for t in triplets.iter().skip(range.start).take(range.len()) {
                part.push(t.0, t.1, t.2, t.3);
            }
            part
        };
        let x = x.mapv(|v| v as f32);
        let first = own.fit_triplets(x.view(), &part(0..half), None, &silent).unwrap();
        let both = own.fit_triplets(x.view(), &part(half..many), Some(first.view()), &silent);
        prop_assert!(relative_error(&both.unwrap(), &expected) < 1e-8);
    }

    #[test]
    fn draws_are_triplets_of_the_classes(
        n in 2_usize..40, classes in 1_u32..5, number in any::<u64>(),
    ) {
        let mut rng = seed::stream(number, "classes");
        let class: Vec<u32> = (0..n).map(|_| rng.random_range(0..classes)).collect();
        let weight: Vec<f32> =
            (0..n).map(|_| [0.0, 0.1, 1.0][rng.random_range(0..3)]).collect();
        let of = |c: u32| (0..n).filter(|&i| class[i] == c && weight[i] > 0.0).count();
        let all = weight.iter().filter(|&&w| w > 0.0).count();
        let possible = (0..classes).any(|c| of(c) > 1 && of(c) < all);
        let drawn = Oasis::new().steps(300).draw(&class, &weight, number);
        prop_assert_eq!(drawn.is_ok(), possible);
        if let Ok(drawn) = drawn {
            prop_assert!(drawn.check(n).is_ok() && drawn.len() == 300);
            for (a, p, q, _) in drawn.iter() {
                prop_assert!(class[a as usize] == class[p as usize]);
                prop_assert!(class[a as usize] != class[q as usize]);
                prop_assert!([a, p, q].iter().all(|&i| weight[i as usize] > 0.0));
            }
        }
    }
}

#[test]
fn rows_are_drawn_by_their_weight() {
    let drawn = Oasis::new().steps(40_000);
    let drawn = drawn
        .draw(&[0, 0, 0, 1, 1], &[1.0, 2.0, 1.0, 3.0, 1.0], 7)
        .unwrap();
    let share = |hits: usize, of: usize| hits as f64 / of as f64;
    let anchor = drawn.anchors.iter().filter(|&&a| a == 1).count();
    assert!((share(anchor, 40_000) - 0.25).abs() < 0.01);
    let both = || drawn.iter().filter(|t| t.0 == 0);
    let positive = both().filter(|t| t.1 == 1).count();
    assert!((share(positive, both().count()) - 2.0 / 3.0).abs() < 0.03);
    let negative = both().filter(|t| t.2 == 3).count();
    assert!((share(negative, both().count()) - 0.75).abs() < 0.03);
}

#[test]
fn the_result_is_the_same_on_two_threads_and_psd_where_asked() {
    let (x, triplets) = random(60, 150, 700, 3);
    let own = Oasis::new().psd(true);
    let fit = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let silent = Monitor::silent();
        (pool.build().unwrap()).install(|| {
            own.pass(&x, &triplets, Array2::eye(150), &silent)
                .unwrap()
                .w
        })
    };
    let one = fit(1);
    assert_eq!(one, fit(2));
    for i in 0..60 {
        assert!(x.row(i).dot(&one.dot(&x.row(i))) > -1e-9);
    }
    let silent = Monitor::silent();
    let own = Oasis::new().symmetric(true);
    let w = own
        .pass(&x, &triplets, Array2::eye(150), &silent)
        .unwrap()
        .w;
    assert!(relative_error(&w.t().to_owned(), &w) < 1e-15);
}

/// What a learner makes of the first so many triplets of some rows, from a model before if there is one.
fn learned(
    own: Oasis,
    x: ArrayView2<f32>,
    triplets: &Triplets,
    before: Option<(&Model, usize)>,
) -> Model {
    let n = x.nrows();
    let items: Vec<usize> = (0..n).collect();
    let targets = Targets {
        class: vec![0; n],
        weight: vec![0.0; n],
        labeled: vec![false; n],
        passes: 1,
        triplets: Some(triplets.clone()),
        since: 0,
    };
    let evidence = Evidence {
        features: x,
        views: &[],
        images: None,
        items: &items,
        start: &Start::as_given(x.ncols()),
        rows: x,
        rotated: &OnceLock::new(),
        scaled: &OnceLock::new(),
        targets: &targets,
        groups: &[],
        tags: None,
        pairs: None,
        graph: None,
        before,
    };
    own.fit(&evidence, 1, &Monitor::silent()).unwrap()
}

#[test]
fn going_on_is_one_pass_over_all_also_where_it_is_mended() {
    let (x, all) = random(20, 6, 90, 11);
    let x = x.mapv(|v| v as f32);
    let mut first = Triplets::default();
    for (a, p, n, w) in all.iter().take(40) {
        first.push(a, p, n, w);
    }
    let plain = Oasis::new();
    for own in [plain, plain.symmetric(true), plain.psd(true)] {
        let matrix = |before| match learned(own, x.view(), &all, before) {
            Model::Bilinear(found) => found.matrix,
            other => panic!("{other:?}"),
        };
        let before = learned(own, x.view(), &first, None);
        let (went_on, at_once) = (matrix(Some((&before, 40))), matrix(None));
        assert!(relative_error(&went_on, &at_once) < 1e-9, "{own:?}");
    }
}

#[test]
fn triplets_that_say_nothing_change_nothing() {
    let x = ndarray::array![[0.0, 0.0], [1.0, 2.0], [1.0, 2.0], [3.0, 1.0_f32]];
    let mut triplets = Triplets::default();
    triplets.push(3, 1, 2, 1.0); // Positive and negative are the same.
    triplets.push(0, 1, 3, 1.0); // An anchor of zeros.
    triplets.push(1, 2, 3, 0.0);
    let silent = Monitor::silent();
    let own = Oasis::new();
    let w = own
        .fit_triplets(x.view(), &triplets, None, &silent)
        .unwrap();
    assert_eq!(w, Array2::<f64>::eye(2));
    let start = Array2::<f64>::zeros((3, 3));
    assert!(
        own.fit_triplets(x.view(), &triplets, Some(start.view()), &silent)
            .is_err()
    );
    assert!(
        own.fit_weighted(x.view(), &[0, 0, 1, 1], &[1.0; 4], 1, &silent)
            .is_ok()
    );
    assert!(own.draw(&[0, 1], &[1.0; 2], 1).is_err());
    assert!(own.draw(&[0, 0], &[1.0; 2], 1).is_err());
    assert!(own.draw(&[0], &[1.0; 2], 1).is_err());
    for wrong in [own.aggressiveness(0.0), own.steps(0)] {
        assert!(
            wrong
                .validate()
                .unwrap_err()
                .to_string()
                .starts_with("oasis.")
        );
    }
}
