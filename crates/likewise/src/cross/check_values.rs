//! Values worked out by other programs (numpy and scipy, and scikit-learn for the correlations), one file a method.

use ndarray::{Array1, Array2, Axis};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

/// Values of a file; fails the test where it does not hold such.
pub(super) fn read<T: DeserializeOwned>(json: &str) -> T {
    serde_json::from_str(json).unwrap()
}

/// Rows of numbers as a matrix.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "Vec<Vec<f64>>")]
pub(super) struct Rows(pub(super) Array2<f64>);

impl From<Vec<Vec<f64>>> for Rows {
    fn from(rows: Vec<Vec<f64>>) -> Self {
        let columns = rows.first().map_or(0, Vec::len);
        let shape = (rows.len(), columns);
        Self(Array2::from_shape_vec(shape, rows.concat()).unwrap())
    }
}

impl Rows {
    /// With objects as rows, where the file has them as columns.
    pub(super) fn turned(&self) -> Array2<f64> {
        super::parts::transposed(&self.0)
    }
}

fn matrix<'de, D: Deserializer<'de>>(from: D) -> Result<Array2<f64>, D::Error> {
    Ok(Rows::deserialize(from)?.0)
}

fn vector<'de, D: Deserializer<'de>>(from: D) -> Result<Array1<f64>, D::Error> {
    Ok(Vec::deserialize(from)?.into())
}

/// A canonical correlation analysis.
#[derive(Deserialize)]
pub(super) struct Cca {
    pub(super) kappa: f64,
    pub(super) ddof: f64,
    #[serde(deserialize_with = "vector")]
    pub(super) rho: Array1<f64>,
    #[serde(rename = "Wx", deserialize_with = "matrix")]
    pub(super) x: Array2<f64>,
    #[serde(rename = "Wy", deserialize_with = "matrix")]
    pub(super) y: Array2<f64>,
}

/// Twenty paired rows of five and of four columns, and what is found in them.
#[derive(Deserialize)]
struct Pairs {
    #[serde(rename = "X", deserialize_with = "matrix")]
    x: Array2<f64>,
    #[serde(rename = "Y", deserialize_with = "matrix")]
    y: Array2<f64>,
    cases: Vec<Cca>,
}

fn pairs() -> Pairs {
    read(include_str!("check_values/cca.json"))
}

/// The rows, centred.
pub(super) fn rows() -> (Array2<f64>, Array2<f64>) {
    let (x, y) = raw();
    [x, y].map(|x| &x - &x.mean_axis(Axis(0)).unwrap()).into()
}

/// The same as they are.
pub(super) fn raw() -> (Array2<f64>, Array2<f64>) {
    let pairs = pairs();
    (pairs.x, pairs.y)
}

pub(super) fn cca() -> Vec<Cca> {
    pairs().cases
}

/// A cluster canonical correlation analysis of the first rows, or one of class means.
#[derive(Deserialize)]
pub(super) struct ClusterCca {
    pub(super) means: bool,
    pub(super) labels_x: Vec<usize>,
    pub(super) labels_y: Vec<usize>,
    pub(super) kappa: f64,
    #[serde(deserialize_with = "vector")]
    pub(super) rho: Array1<f64>,
    #[serde(rename = "Wx", deserialize_with = "matrix")]
    pub(super) x: Array2<f64>,
    #[serde(rename = "Wy", deserialize_with = "matrix")]
    pub(super) y: Array2<f64>,
    /// Covariances without a ridge, unless it is one of class means.
    #[serde(rename = "Cxx")]
    pub(super) xx: Option<Rows>,
    #[serde(rename = "Cyy")]
    pub(super) yy: Option<Rows>,
    #[serde(rename = "Cxy")]
    pub(super) xy: Option<Rows>,
}

pub(super) fn cluster_cca() -> Vec<ClusterCca> {
    #[derive(Deserialize)]
    struct All {
        cases: Vec<ClusterCca>,
    }
    read::<All>(include_str!("check_values/cluster_cca.json")).cases
}

/// Checks the mean and the directions of an encoder that was fitted to rows in `f32`.
pub(super) fn check_encoder(
    model: &super::Model,
    t: usize,
    mean: &Array1<f64>,
    matrix: &Array2<f64>,
) {
    let (super::Encoder::Real(found) | super::Encoder::Bits { map: found, .. }) =
        &model.encoders[t]
    else {
        panic!("a linear encoder");
    };
    assert!((&found.mean - mean).iter().all(|e| e.abs() < 1e-6), "{t}");
    assert_eq!(found.matrix.dim(), matrix.dim());
    let away = &found.matrix - matrix;
    assert!(away.iter().all(|e| e.abs() < 2e-5), "{t}: {away}");
}
