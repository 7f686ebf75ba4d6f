//! The data that the check values of the learners were computed from: irises and wines, pairs
//! and triplets of them (`testdata/README.md`).

use ndarray::{Array2, Axis};

use crate::{Pairs, Triplets};

/// Features (150 x 4) and classes of the irises.
pub(crate) fn iris() -> (Array2<f64>, Vec<u32>) {
    labeled(include_str!("../../testdata/iris.csv"))
}

/// Features (178 x 13) and classes of the wines, in their units.
pub(crate) fn wine() -> (Array2<f64>, Vec<u32>) {
    labeled(include_str!("../../testdata/wine_raw.csv"))
}

/// Pairs of irises: 60 alike, 60 unlike.
pub(crate) fn iris_pairs() -> Pairs {
    pairs(include_str!("../../testdata/iris_pairs.csv"))
}

/// Pairs of wines: 60 alike, 60 unlike.
pub(crate) fn wine_pairs() -> Pairs {
    pairs(include_str!("../../testdata/wine_pairs.csv"))
}

/// Triplets of irises, 200.
pub(crate) fn iris_triplets() -> Triplets {
    triplets(include_str!("../../testdata/iris_triplets.csv"))
}

/// Triplets of wines, 200.
pub(crate) fn wine_triplets() -> Triplets {
    triplets(include_str!("../../testdata/wine_triplets.csv"))
}

/// Every column less its mean and divided by its standard deviation (divisor n).
pub(crate) fn standardized(x: &Array2<f64>) -> Array2<f64> {
    let mean = x.mean_axis(Axis(0)).unwrap();
    (x - &mean) / x.std_axis(Axis(0), 0.0)
}

/// The largest difference of two matrices, beside the largest entry of the second.
pub(crate) fn relative_error(found: &Array2<f64>, expected: &Array2<f64>) -> f64 {
    assert_eq!(found.dim(), expected.dim());
    let largest = |m: &Array2<f64>| m.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
    largest(&(found - expected)) / largest(expected)
}

/// The values of each line behind the header.
fn lines(file: &str) -> Vec<Vec<f64>> {
    let values = |line: &str| line.split(',').map(|v| v.trim().parse().unwrap()).collect();
    file.lines().skip(1).map(values).collect()
}

fn labeled(file: &str) -> (Array2<f64>, Vec<u32>) {
    let lines = lines(file);
    let d = lines[0].len() - 1;
    let x = Array2::from_shape_fn((lines.len(), d), |(i, j)| lines[i][j]);
    (x, lines.iter().map(|line| line[d] as u32).collect())
}

fn pairs(file: &str) -> Pairs {
    let mut pairs = Pairs::default();
    for line in lines(file) {
        pairs.push(line[0] as u32, line[1] as u32, line[2] > 0.0, 1.0);
    }
    pairs
}

fn triplets(file: &str) -> Triplets {
    let mut triplets = Triplets::default();
    for line in lines(file) {
        triplets.push(line[0] as u32, line[1] as u32, line[2] as u32, 1.0);
    }
    triplets
}

#[test]
fn the_data_are_whole() {
    let (x, class) = iris();
    assert_eq!((x.dim(), class[149]), ((150, 4), 2));
    assert!((x[(34, 3)] - 0.2).abs() < 1e-12);
    let (x, class) = wine();
    assert_eq!((x.dim(), class[177]), ((178, 13), 2));
    assert!((standardized(&x).column(3).std(0.0) - 1.0).abs() < 1e-12);
    for pairs in [iris_pairs(), wine_pairs()] {
        assert_eq!(pairs.len(), 120);
        assert_eq!(pairs.alike.iter().filter(|&&alike| alike).count(), 60);
    }
    let (iris, wine) = (iris_triplets(), wine_triplets());
    assert!(iris.check(150).is_ok() && wine.check(178).is_ok());
    assert_eq!((iris.len(), wine.len()), (200, 200));
}
