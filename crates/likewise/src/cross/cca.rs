//! Canonical correlation analysis: directions along which the two views of an object agree.
//!
//! ```text
//! Cxx = X^T X / (n - 1) + kappa I,  Cyy alike,  Cxy = X^T Y / (n - 1)      X, Y: paired, centred
//! max tr(Wx^T Cxy Wy)  with  Wx^T Cxx Wx = I,  Wy^T Cyy Wy = I
//! ```
//!
//! **Use it** for pairs without labels. **Not** where there are labels
//! ([`ClusterCca`](super::ClusterCca) finds what they are about), nor without pairs; and not with
//! fewer pairs than columns unless `kappa` is raised: the correlations are then those of chance.
//!
//! Cost: O(n d^2 + d^3) in `f64` for the wider modality's d; memory O(n d + d^2).
//!
//! Source: Hotelling, "Relations between two sets of variates", Biometrika 1936; the ridge of
//! Vinod 1976. Ours: by default `kappa` is a share of the mean variance, so that it does not
//! depend on the units of the features; published code adds 1 to the covariance as it is
//! ([`paper`](Cca::paper)). All pairs count alike: a label's weight says nothing of them.

use ndarray::{Array1, Array2, Axis};
use serde::{Deserialize, Serialize};

use super::canonical::{Directions, White};
use super::parts::{check_not_negative, mean};
use super::{Encoder, Model, Views};
use crate::linear::{Affine, spd::cross};
use crate::{Error, Monitor, Result};

/// What is added to the diagonal of a covariance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ridge {
    /// This number times the mean variance of a column.
    Relative(f64),
    /// This number.
    Absolute(f64),
}

impl Ridge {
    pub(super) fn add(self, covariance: &mut Array2<f64>) {
        let d = covariance.nrows() as f64;
        let kappa = match self {
            Self::Relative(share) => share * covariance.diag().sum() / d,
            Self::Absolute(kappa) => kappa,
        };
        covariance.diag_mut().mapv_inplace(|v| v + kappa);
    }

    pub(super) fn check(self, field: &str) -> Result<()> {
        let (Self::Relative(value) | Self::Absolute(value)) = self;
        check_not_negative(field, value)
    }
}

/// Parameters of canonical correlation analysis; see [`cca`](self).
///
/// ```
/// use likewise::{Monitor, cross::{Cca, Views}};
/// let x = ndarray::array![[0.0, 1.0], [1.0, 0.2], [2.0, 0.9], [3.0, 0.1_f32]];
/// let y = ndarray::array![[0.1], [2.0], [4.1], [5.9_f32]];
/// let views = Views::paired(&[x.view(), y.view()], &[0; 4], &[0.0; 4])?;
/// let found = Cca::new().fit(&views, &Monitor::silent())?;
/// // The second column of x says nothing of y, the first one nearly all.
/// assert!(found.correlations[0] > 0.99);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cca {
    ridge: Ridge,
    dimensions: Option<usize>,
}

/// A model, and how well its modalities agree along each direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Correlated {
    /// Two encoders into as many numbers as there are correlations.
    pub model: Model,
    /// Canonical correlations, descending, from 0 to 1.
    pub correlations: Array1<f64>,
}

impl Default for Cca {
    fn default() -> Self {
        Self {
            ridge: Ridge::Relative(1e-4),
            dimensions: None,
        }
    }
}

impl Cca {
    /// A ridge of 1e-4 of the mean variance; 20 directions, or as many as there are.
    pub fn new() -> Self {
        Self::default()
    }

    /// 1 added to the covariances, as in published code.
    pub fn paper() -> Self {
        Self::default().ridge(Ridge::Absolute(1.0))
    }

    /// What is added to the covariances.
    #[must_use]
    pub fn ridge(mut self, ridge: Ridge) -> Self {
        self.ridge = ridge;
        self
    }

    /// Whether the number of directions is left to whoever fits.
    pub fn leaves_dimensions(&self) -> bool {
        self.dimensions.is_none()
    }

    /// Number of directions, at most that of the columns of either modality.
    #[must_use]
    pub fn dimensions(mut self, dimensions: usize) -> Self {
        self.dimensions = Some(dimensions);
        self
    }

    /// Checks the parameters.
    pub fn validate(&self) -> Result<()> {
        self.ridge.check("cca.ridge")?;
        check_dimensions("cca.dimensions", self.dimensions)
    }

    /// The directions of two modalities, from their pairs; labels are not looked at.
    ///
    /// Fails on a parameter out of range, unless there are two modalities and two pairs, where a
    /// covariance is singular (raise the ridge), and when cancelled.
    pub fn fit(&self, views: &Views, monitor: &Monitor) -> Result<Correlated> {
        self.validate()?;
        views.check_two("canonical correlation analysis")?;
        let pairs = views.pairs(0, 1);
        if pairs.len() < 2 {
            return Err(Error::data(format!(
                "canonical correlation analysis needs two objects seen in both modalities, but \
                 there are {}; with labels and without pairs use cluster-cca",
                pairs.len()
            )));
        }
        monitor.check()?;
        let ones = vec![1.0; pairs.len()];
        let side = |t: usize, rows: Vec<usize>| {
            let x = views.rows(t).select(Axis(0), &rows).mapv(f64::from);
            let mean = mean(&x, &ones);
            (x - &mean, mean)
        };
        let (x, mean_x) = side(0, pairs.iter().map(|p| p.0).collect());
        let (y, mean_y) = side(1, pairs.iter().map(|p| p.1).collect());
        let found = centered(&x, &y, pairs.len() as f64 - 1.0, self.ridge)?;
        let found = found.keep(self.dimensions.unwrap_or(20));
        Ok(correlated(found, mean_x, mean_y))
    }
}

/// All directions of centred, paired rows.
pub(super) fn centered(
    x: &Array2<f64>,
    y: &Array2<f64>,
    divisor: f64,
    ridge: Ridge,
) -> Result<Directions> {
    let [mut cxx, mut cyy] = [x, y].map(|x| cross(x, x) / divisor);
    ridge.add(&mut cxx);
    ridge.add(&mut cyy);
    let white = White::of(&cxx, &cyy, "give a larger ridge")?;
    white.directions(&white.whiten(&(cross(x, y) / divisor)))
}

pub(super) fn correlated(found: Directions, x: Array1<f64>, y: Array1<f64>) -> Correlated {
    let real = |mean, matrix| Encoder::Real(Affine { mean, matrix });
    Correlated {
        model: Model {
            encoders: vec![real(x, found.x), real(y, found.y)],
        },
        correlations: found.values,
    }
}

pub(super) fn check_dimensions(field: &str, dimensions: Option<usize>) -> Result<()> {
    match dimensions {
        Some(0) => Err(Error::parameter(field, 0, "must be at least 1")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::check_values;
    use super::super::parts::tests::{close, found, two_modalities};
    use super::*;
    use crate::reference::in_one_and_two_threads;

    #[test]
    fn published_values() {
        let (x, y) = check_values::rows();
        for case in check_values::cca() {
            let found = centered(&x, &y, 20.0 - case.ddof, Ridge::Absolute(case.kappa)).unwrap();
            assert!((&found.values - &case.rho).iter().all(|e| e.abs() < 1e-9));
            assert!(close(
                &found.x.slice(ndarray::s![.., ..4]).to_owned(),
                &case.x,
                1e-7
            ));
            assert!(close(&found.y, &case.y, 1e-7));
        }
    }

    /// The rows as they are given, in `f32`. `fit` divides by n - 1: another divisor is another ridge,
    /// and longer directions.
    #[test]
    fn published_values_by_fit() {
        let (x, y) = check_values::raw();
        let means = [&x, &y].map(|x| x.mean_axis(Axis(0)).unwrap());
        let [x, y] = [x, y].map(|x| x.mapv(|v| v as f32));
        let views = Views::paired(&[x.view(), y.view()], &[0; 20], &[0.0; 20]).unwrap();
        for case in check_values::cca() {
            let factor = (20.0 - case.ddof) / 19.0;
            let cca = match case.kappa {
                kappa if case.ddof > 0.5 && kappa > 0.5 => Cca::paper(),
                kappa => Cca::new().ridge(Ridge::Absolute(kappa * factor)),
            };
            let found = cca.fit(&views, &Monitor::silent()).unwrap();
            let away = &found.correlations - &case.rho;
            assert!(away.iter().all(|e| e.abs() < 1e-6), "{away}");
            check_values::check_encoder(&found.model, 0, &means[0], &(case.x / factor.sqrt()));
            check_values::check_encoder(&found.model, 1, &means[1], &(case.y / factor.sqrt()));
        }
    }

    #[test]
    fn pairs_are_found_again_and_the_order_of_modalities_does_not_matter() {
        let ([x, y], class) = two_modalities(5, 30, 0.3, 1);
        let views = Views::paired(&[x.view(), y.view()], &class, &vec![0.0; 150]).unwrap();
        let other = Views::paired(&[y.view(), x.view()], &class, &vec![0.0; 150]).unwrap();
        let run = || Cca::new().fit(&views, &Monitor::silent()).unwrap();
        let (one, two) = in_one_and_two_threads(run);
        assert_eq!(one, two);
        assert!(found(&one.model, &[x.clone(), y.clone()], &class) > 0.9);
        let swapped = Cca::new().fit(&other, &Monitor::silent()).unwrap();
        assert!(
            (&one.correlations - &swapped.correlations)
                .iter()
                .all(|e| e.abs() < 1e-9)
        );
    }

    #[test]
    fn rows_without_a_partner_are_not_looked_at() {
        let ([x, y], _) = two_modalities(3, 10, 0.3, 2);
        let objects: Vec<usize> = (0..30).collect();
        let short = x.slice(ndarray::s![..20, ..]);
        let part = |object: Vec<usize>, rows: ndarray::ArrayView2<f32>| {
            let views = Views::new(
                &[short, rows],
                vec![objects[..20].to_vec(), object],
                &[0; 30],
                &[0.0; 30],
            );
            Cca::new().fit(&views.unwrap(), &Monitor::silent()).unwrap()
        };
        let all = part(objects.clone(), y.view());
        let few = part(objects[..20].to_vec(), y.slice(ndarray::s![..20, ..]));
        assert_eq!(all, few);
    }

    #[test]
    fn degenerate_rows_and_parameters() {
        let ([x, y], class) = two_modalities(2, 3, 0.3, 3);
        let fit = |cca: Cca, x: &Array2<f32>| {
            let views = Views::paired(&[x.view(), y.view()], &class, &[1.0; 6]).unwrap();
            cca.fit(&views, &Monitor::silent())
        };
        // As many columns as rows: the ridge makes it sound.
        let few = fit(Cca::new().dimensions(2), &x).unwrap();
        assert_eq!(few.correlations.len(), 2);
        assert!(few.correlations.iter().all(|r| (0.0..=1.0).contains(r)));
        let message = fit(Cca::new().ridge(Ridge::Absolute(0.0)), &x).unwrap_err();
        assert!(message.to_string().contains("ridge"), "{message}");
        assert!(fit(Cca::new(), &Array2::ones((6, 3))).is_err());
        let none = fit(Cca::paper(), &Array2::ones((6, 3))).unwrap();
        assert!(none.correlations.iter().all(|r| *r < 1e-9));
        assert!(fit(Cca::new().dimensions(0), &x).is_err());
        assert!(fit(Cca::new().ridge(Ridge::Relative(-1.0)), &x).is_err());
        let sides: [(ndarray::ArrayView2<f32>, &[u32], &[f32]); 2] =
            [(x.view(), &class, &[1.0; 6]), (y.view(), &class, &[1.0; 6])];
        let apart = Views::unpaired(&sides).unwrap();
        let message = Cca::new().fit(&apart, &Monitor::silent()).unwrap_err();
        assert!(message.to_string().contains("cluster-cca"), "{message}");
    }

    #[test]
    fn parameters_are_read() {
        let json = r#"{"ridge":{"absolute":1.0},"dimensions":null}"#;
        assert_eq!(serde_json::from_str::<Cca>(json).unwrap(), Cca::paper());
        assert!(serde_json::from_str::<Cca>(r#"{"kappa":1}"#).is_err());
    }
}
