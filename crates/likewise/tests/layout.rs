//! Rows that lie column by column, as arrays of numpy and selections of columns often do, are the same rows.

use likewise::linear::whitening::Spectrum;
use likewise::linear::{
    Apit, Apllr, Dca, DmlEig, Gmml, Isdml, Itml, Lmnn, Lrml, Mmc, Nca, Oasis, Rca, Seraph,
};
use likewise::{Monitor, Pairs, Triplets, seed};
use ndarray::{Array2, ArrayView2};
use rand::RngExt;

/// What a learner makes of rows.
type Learn<'a> = Box<dyn Fn(ArrayView2<f32>) -> Array2<f64> + 'a>;

/// Of three classes in turn.
fn rows() -> Array2<f32> {
    let mut rng = seed::stream(5, "rows by columns");
    Array2::from_shape_fn((60, 4), |(i, j)| {
        let center = if i % 3 == j { 1.0 } else { 0.0 };
        center + rng.random_range(-0.5..0.5)
    })
}

fn pairs() -> Pairs {
    let mut pairs = Pairs::default();
    for a in 0..60_u32 {
        pairs.push(a, (a + 3) % 60, true, 1.0);
        pairs.push(a, (a + 7) % 60, false, 1.0);
    }
    pairs
}

#[test]
fn rows_by_columns_are_learned_from_as_rows_by_rows() {
    let by_rows = rows();
    let by_columns = by_rows
        .t()
        .as_standard_layout()
        .into_owned()
        .reversed_axes();
    assert!(by_columns.as_slice().is_none() && by_columns == by_rows);
    let (pairs, silent) = (pairs(), Monitor::silent());
    let classes: Vec<u32> = (0..60).map(|i| i % 3).collect();
    let weights = vec![1.0; 60];
    let mut triplets = Triplets::default();
    for i in 0..57_u32 {
        triplets.push(i, i + 3, i + 1, 1.0);
    }
    let by_pairs: [(&str, Learn); 9] = [
        (
            "apit",
            Box::new(|x| Apit::new().fit_pairs(x, &pairs, &silent).unwrap()),
        ),
        (
            "apllr",
            Box::new(|x| Apllr::new().fit_pairs(x, &pairs, &silent).unwrap()),
        ),
        (
            "dml-eig",
            Box::new(|x| DmlEig::new().fit_pairs(x, &pairs, &silent).unwrap()),
        ),
        (
            "gmml",
            Box::new(|x| Gmml::new().fit_pairs(x, &pairs, &silent).unwrap()),
        ),
        (
            "isdml",
            Box::new(|x| Isdml::new().fit_pairs(x, &pairs, &silent).unwrap()),
        ),
        (
            "itml",
            Box::new(|x| Itml::new().fit_pairs(x, &pairs, &silent).unwrap()),
        ),
        (
            "lrml",
            Box::new(|x| Lrml::new().fit_pairs(x, &pairs, &silent).unwrap()),
        ),
        (
            "mmc",
            Box::new(|x| Mmc::new().fit_pairs(x, &pairs, &silent).unwrap()),
        ),
        (
            "seraph",
            Box::new(|x| Seraph::new().fit_pairs(x, &pairs, &silent).unwrap()),
        ),
    ];
    let by_others: [(&str, Learn); 6] = [
        (
            "dca",
            Box::new(|x| Dca::new().fit_weighted(x, &classes, &weights).unwrap()),
        ),
        (
            "lmnn",
            Box::new(|x| {
                Lmnn::new()
                    .fit_weighted(x, &classes, &weights, &silent)
                    .unwrap()
            }),
        ),
        (
            "nca",
            Box::new(|x| {
                Nca::new()
                    .fit_weighted(x, &classes, &weights, &silent)
                    .unwrap()
            }),
        ),
        (
            "rca",
            Box::new(|x| Rca::new().fit_weighted(x, &classes, &weights).unwrap()),
        ),
        (
            "oasis",
            Box::new(|x| {
                Oasis::new()
                    .fit_triplets(x, &triplets, None, &silent)
                    .unwrap()
            }),
        ),
        (
            "spectrum",
            Box::new(|x| Spectrum::fit(x).unwrap().truncated(0.1, 4).unwrap().matrix),
        ),
    ];
    for (name, learn) in by_pairs.iter().chain(&by_others) {
        let (found, expected) = (learn(by_columns.view()), learn(by_rows.view()));
        let size = expected.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
        let off = (&found - &expected)
            .iter()
            .fold(0.0_f64, |most, v| most.max(v.abs()));
        assert!(size > 0.0 && off <= 1e-9 * size, "{name}: {off} of {size}");
    }
}
