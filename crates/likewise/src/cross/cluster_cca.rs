//! Cluster canonical correlation analysis: every row of a class is a pair with every row of that
//! class in the other modality.
//!
//! ```text
//! M   = sum_c nx_c ny_c                                nx_c, ny_c: weights of class c
//! Cxx = sum_c ny_c sum_{i in c} w_i x_i x_i^T / M + kappa I,  Cyy alike
//! Cxy = sum_c (sum_{i in c} w_i x_i) (sum_{j in c} w_j y_j)^T / M
//! ```
//!
//! and then as [`cca`](super::cca). The pairs are never listed. [`MeanCca`] takes the means of the
//! classes for its pairs instead.
//!
//! **Use it** for labels, with or without pairs, and classes of any size in either modality.
//! **Not** for more directions than one less than the classes: the labels say nothing of the
//! others, and taking them has halved what a search finds.
//!
//! Cost: O(n d^2 + d^3) in `f64`; memory O(n d + d^2).
//!
//! Source: Rasiwasia, Mahajan, Mahadevan and Aggarwal, "Cluster canonical correlation analysis",
//! AISTATS 2014. Ours: weights, and rows centred by their mean over all pairs, as the
//! definition asks; published code takes the plain mean of the rows, which is the same where
//! classes have the same sizes ([`paper`](ClusterCca::paper)). It also returns directions that
//! nothing speaks for.

use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};

use super::Views;
use super::canonical::White;
use super::cca::{Correlated, Ridge, centered, check_dimensions, correlated};
use super::parts::{Side, check_positive, class_sums, mean, scaled};
use crate::linear::spd::cross;
use crate::{Error, Monitor, Result};

/// Parameters of cluster canonical correlation analysis; see [`cluster_cca`](self).
///
/// ```
/// use likewise::{Monitor, cross::{ClusterCca, Views}};
/// let x = ndarray::array![[0.0, 1.0], [0.1, 0.2], [2.0, 0.9], [2.1, 0.1_f32]];
/// let y = ndarray::array![[5.0], [5.1], [1.0_f32]];
/// // Four rows and three, of two classes; no row of one is a pair with a row of the other.
/// let views = Views::unpaired(&[
///     (x.view(), &[0, 0, 1, 1], &[1.0; 4]),
///     (y.view(), &[0, 0, 1], &[1.0; 3]),
/// ])?;
/// let found = ClusterCca::new().fit(&views, &Monitor::silent())?;
/// assert!(found.correlations[0] > 0.8);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClusterCca {
    ridge: Ridge,
    dimensions: Option<usize>,
    pair_mean: bool,
}

impl Default for ClusterCca {
    fn default() -> Self {
        Self {
            ridge: Ridge::Relative(0.1),
            dimensions: None,
            pair_mean: true,
        }
    }
}

impl ClusterCca {
    /// A ridge of a tenth of the mean variance, with which digits were found better than with a
    /// hundredth or less; one direction fewer than there are classes.
    pub fn new() -> Self {
        Self::default()
    }

    /// 1 added to the covariances, and the plain means of the rows, as in published code.
    pub fn paper() -> Self {
        Self::default().ridge(Ridge::Absolute(1.0)).pair_mean(false)
    }

    /// What is added to the covariances.
    #[must_use]
    pub fn ridge(mut self, ridge: Ridge) -> Self {
        self.ridge = ridge;
        self
    }

    /// Number of directions, at most one less than the classes in common.
    #[must_use]
    pub fn dimensions(mut self, dimensions: usize) -> Self {
        self.dimensions = Some(dimensions);
        self
    }

    /// Whether rows are centred by their mean over all pairs, or by their own.
    #[must_use]
    pub fn pair_mean(mut self, pair_mean: bool) -> Self {
        self.pair_mean = pair_mean;
        self
    }

    /// Checks the parameters.
    pub fn validate(&self) -> Result<()> {
        self.ridge.check("cluster-cca.ridge")?;
        check_dimensions("cluster-cca.dimensions", self.dimensions)
    }

    /// The directions of two modalities, from the classes of their rows.
    ///
    /// Fails on a parameter out of range, unless there are two modalities with two classes in
    /// common, where a covariance is singular (raise the ridge), and when cancelled.
    pub fn fit(&self, views: &Views, monitor: &Monitor) -> Result<Correlated> {
        self.validate()?;
        let (mut x, mut y, common) = sides(views, "cluster-cca")?;
        monitor.check()?;
        let of = |side: &Side| sizes(side, common.len());
        let (nx, ny) = (of(&x), of(&y));
        let weight = [pair_weights(&x, &ny), pair_weights(&y, &nx)];
        if self.pair_mean {
            for (side, weight) in [&mut x, &mut y].into_iter().zip(&weight) {
                let shift = mean(&side.x, weight);
                side.x -= &shift;
                side.mean += &shift;
            }
        }
        let mut covariances = covariances(&x, &y, [&weight[0], &weight[1]], common.len());
        self.ridge.add(&mut covariances.xx);
        self.ridge.add(&mut covariances.yy);
        let white = White::of(&covariances.xx, &covariances.yy, "give a larger ridge")?;
        let found = white.directions(&white.whiten(&covariances.xy))?;
        let most = common.iter().filter(|c| **c).count() - 1;
        let found = found.keep(self.dimensions.map_or(most, |d| d.min(most)));
        Ok(correlated(found, x.mean, y.mean))
    }
}

/// Parameters of the canonical correlation of class means; see [`cluster_cca`](self).
///
/// Every class counts once, however many rows it has. The rows say nothing of how a class
/// varies, so the ridge decides much.
///
/// ```
/// use likewise::{Monitor, cross::{MeanCca, Views}};
/// let x = ndarray::array![[0.0, 1.0], [0.1, 0.2], [2.0, 0.9], [2.1, 0.1_f32]];
/// let views = Views::paired(&[x.view(), x.view()], &[0, 0, 1, 1], &[1.0; 4])?;
/// let found = MeanCca::new().fit(&views, &Monitor::silent())?;
/// assert_eq!(found.correlations.len(), 1);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MeanCca {
    ridge: Ridge,
    dimensions: Option<usize>,
}

impl Default for MeanCca {
    fn default() -> Self {
        Self {
            ridge: Ridge::Absolute(1.0),
            dimensions: None,
        }
    }
}

impl MeanCca {
    /// 1 added to the covariances, as in published code; one direction fewer than there are
    /// classes.
    pub fn new() -> Self {
        Self::default()
    }

    /// What is added to the covariances; above 0.
    #[must_use]
    pub fn ridge(mut self, ridge: Ridge) -> Self {
        self.ridge = ridge;
        self
    }

    /// Number of directions, at most one less than the classes in common.
    #[must_use]
    pub fn dimensions(mut self, dimensions: usize) -> Self {
        self.dimensions = Some(dimensions);
        self
    }

    /// Checks the parameters.
    pub fn validate(&self) -> Result<()> {
        // Fewer means than columns do not vary in all of these.
        let (Ridge::Relative(ridge) | Ridge::Absolute(ridge)) = self.ridge;
        check_positive("mean-cca.ridge", ridge)?;
        check_dimensions("mean-cca.dimensions", self.dimensions)
    }

    /// The directions of two modalities, from the means of their classes. Fails as
    /// [`ClusterCca::fit`].
    pub fn fit(&self, views: &Views, monitor: &Monitor) -> Result<Correlated> {
        self.validate()?;
        let (x, y, common) = sides(views, "mean-cca")?;
        monitor.check()?;
        let [(mx, sx), (my, sy)] = [&x, &y].map(|side| means(side, &common));
        let divisor = mx.nrows() as f64 - 1.0;
        let most = mx.nrows() - 1;
        let found = centered(&mx, &my, divisor, self.ridge)?;
        let found = found.keep(self.dimensions.map_or(most, |d| d.min(most)));
        Ok(correlated(found, x.mean + sx, y.mean + sy))
    }
}

/// Both sides, and which classes both have. Fails unless there are two.
fn sides(views: &Views, what: &str) -> Result<(Side, Side, Vec<bool>)> {
    views.check_two(what)?;
    let (sides, classes) = Side::all(views)?;
    let mut common = vec![false; classes];
    let mut other = vec![false; classes];
    for &class in &sides[1].class {
        other[class] = true;
    }
    for &class in &sides[0].class {
        common[class] = other[class];
    }
    let n = common.iter().filter(|c| **c).count();
    if n < 2 {
        return Err(Error::data(format!(
            "{what} needs two classes that both modalities have labeled rows of, but there are {n}"
        )));
    }
    match <[Side; 2]>::try_from(sides) {
        Ok([x, y]) => Ok((x, y, common)),
        Err(_) => unreachable!("the number of modalities was checked"),
    }
}

/// The weight of each class.
fn sizes(side: &Side, classes: usize) -> Vec<f64> {
    let mut sizes = vec![0.0; classes];
    for (&class, &w) in side.class.iter().zip(&side.weight) {
        sizes[class] += w;
    }
    sizes
}

/// The weight of each row over all of its pairs.
fn pair_weights(side: &Side, others: &[f64]) -> Vec<f64> {
    let each = side.class.iter().zip(&side.weight);
    each.map(|(&class, w)| w * others[class]).collect()
}

struct Covariances {
    xx: Array2<f64>,
    yy: Array2<f64>,
    xy: Array2<f64>,
}

fn covariances(x: &Side, y: &Side, weight: [&[f64]; 2], classes: usize) -> Covariances {
    let whole: f64 = weight[0].iter().sum();
    let own = |x: &Array2<f64>, w: &[f64]| cross(x, &scaled(x, w)) / whole;
    let sums = |side: &Side| class_sums(&side.x, &side.class, &side.weight, classes);
    Covariances {
        xx: own(&x.x, weight[0]),
        yy: own(&y.x, weight[1]),
        xy: cross(&sums(x), &sums(y)) / whole,
    }
}

/// The means of the classes that both modalities have, less their mean, and that.
fn means(side: &Side, common: &[bool]) -> (Array2<f64>, Array1<f64>) {
    let sums = class_sums(&side.x, &side.class, &side.weight, common.len());
    let sizes = sizes(side, common.len());
    let kept: Vec<usize> = (0..common.len()).filter(|&c| common[c]).collect();
    let means = Array2::from_shape_fn((kept.len(), sums.ncols()), |(i, j)| {
        sums[(kept[i], j)] / sizes[kept[i]]
    });
    let middle = mean(&means, &vec![1.0; kept.len()]);
    (means - &middle, middle)
}

#[cfg(test)]
mod tests {
    use ndarray::ArrayView2;
    use proptest::prelude::*;

    use super::super::check_values;
    use super::super::parts::tests::{close, found, two_modalities};
    use super::*;
    use crate::reference::in_one_and_two_threads;

    fn side(x: Array2<f64>, class: &[usize]) -> Side {
        let weight = vec![1.0; class.len()];
        let mean = mean(&x, &weight);
        Side {
            rows: (0..class.len()).collect(),
            x: x - &mean,
            mean,
            class: class.to_vec(),
            weight,
            object: (0..class.len()).collect(),
        }
    }

    #[test]
    fn published_values() {
        let (x, y) = check_values::rows();
        for case in check_values::cluster_cca() {
            let (nx, ny) = (case.labels_x.len(), case.labels_y.len());
            let x = side(x.slice(ndarray::s![..nx, ..]).to_owned(), &case.labels_x);
            let y = side(y.slice(ndarray::s![..ny, ..]).to_owned(), &case.labels_y);
            let weight = [
                pair_weights(&x, &sizes(&y, 4)),
                pair_weights(&y, &sizes(&x, 4)),
            ];
            let found = if case.means {
                let [mx, my] = [&x, &y].map(|side| means(side, &[true; 4]).0);
                centered(&mx, &my, 3.0, Ridge::Absolute(case.kappa)).unwrap()
            } else {
                let mut c = covariances(&x, &y, [&weight[0], &weight[1]], 4);
                for (found, expected) in [(&c.xx, &case.xx), (&c.yy, &case.yy), (&c.xy, &case.xy)] {
                    assert!(
                        close(found, &expected.as_ref().unwrap().0, 1e-10),
                        "{found}"
                    );
                }
                Ridge::Absolute(case.kappa).add(&mut c.xx);
                Ridge::Absolute(case.kappa).add(&mut c.yy);
                let white = White::of(&c.xx, &c.yy, "").unwrap();
                white.directions(&white.whiten(&c.xy)).unwrap()
            };
            let found = found.keep(3);
            assert!(
                (&found.values - &case.rho).iter().all(|e| e.abs() < 1e-8),
                "{}",
                case.means
            );
            assert!(close(&found.x, &case.x, 1e-6) && close(&found.y, &case.y, 1e-6));
        }
    }

    /// The rows as they are given, in `f32`, without pairs and centred by their own mean.
    #[test]
    fn published_values_by_fit() {
        let (x, y) = check_values::raw();
        let [x, y] = [x, y].map(|x| x.mapv(|v| v as f32));
        let silent = Monitor::silent();
        for case in check_values::cluster_cca() {
            let (nx, ny) = (case.labels_x.len(), case.labels_y.len());
            let (x, y) = (
                x.slice(ndarray::s![..nx, ..]),
                y.slice(ndarray::s![..ny, ..]),
            );
            let class =
                |labels: &[usize]| -> Vec<u32> { labels.iter().map(|&c| c as u32).collect() };
            let (cx, cy) = (class(&case.labels_x), class(&case.labels_y));
            let sides: [(ArrayView2<f32>, &[u32], &[f32]); 2] =
                [(x, &cx, &vec![1.0; nx]), (y, &cy, &vec![1.0; ny])];
            let views = Views::unpaired(&sides).unwrap();
            let kappa = Ridge::Absolute(case.kappa);
            let (found, means) = if case.means {
                // Every class counts once in what is taken off, too.
                let of = |x: ArrayView2<f32>, class: &[u32]| {
                    let mut mean = Array1::<f64>::zeros(x.ncols());
                    for c in 0..4 {
                        let rows: Vec<usize> =
                            (0..class.len()).filter(|&i| class[i] == c).collect();
                        let own = x.select(ndarray::Axis(0), &rows).mapv(f64::from);
                        mean += &(own.mean_axis(ndarray::Axis(0)).unwrap() / 4.0);
                    }
                    mean
                };
                let found = MeanCca::new().ridge(kappa).fit(&views, &silent).unwrap();
                (found, [of(x, &cx), of(y, &cy)])
            } else {
                let cluster = if case.kappa > 0.5 {
                    ClusterCca::paper()
                } else {
                    ClusterCca::new().ridge(kappa).pair_mean(false)
                };
                let of =
                    |x: ArrayView2<f32>| x.mapv(f64::from).mean_axis(ndarray::Axis(0)).unwrap();
                // The mean over all pairs is another one where classes are of different sizes.
                let other = cluster.pair_mean(true).fit(&views, &silent).unwrap();
                let away = (&other.correlations - &case.rho).mapv(f64::abs).sum();
                assert_eq!(away > 1e-4, nx != ny, "{away}");
                (cluster.fit(&views, &silent).unwrap(), [of(x), of(y)])
            };
            let away = &found.correlations - &case.rho;
            assert!(away.iter().all(|e| e.abs() < 1e-6), "{away}");
            check_values::check_encoder(&found.model, 0, &means[0], &case.x);
            check_values::check_encoder(&found.model, 1, &means[1], &case.y);
        }
    }

    #[test]
    fn weights_are_multiplicities_and_zero_is_absence() {
        let ([x, y], class) = two_modalities(4, 6, 0.5, 1);
        let weight: Vec<f32> = (0..24).map(|i| (i % 3) as f32).collect();
        let rows: Vec<usize> = (0..24).flat_map(|i| vec![i; i % 3]).collect();
        let (xs, ys) = (
            x.select(ndarray::Axis(0), &rows),
            y.select(ndarray::Axis(0), &rows),
        );
        let classes: Vec<u32> = rows.iter().map(|&i| class[i]).collect();
        let weighted = Views::paired(&[x.view(), y.view()], &class, &weight).unwrap();
        let repeated = Views::paired(&[xs.view(), ys.view()], &classes, &vec![1.0; rows.len()]);
        let repeated = repeated.unwrap();
        let monitor = Monitor::silent();
        for (a, b) in [
            (
                ClusterCca::new().fit(&weighted, &monitor),
                ClusterCca::new().fit(&repeated, &monitor),
            ),
            (
                MeanCca::new().fit(&weighted, &monitor),
                MeanCca::new().fit(&repeated, &monitor),
            ),
        ] {
            let (a, b) = (a.unwrap(), b.unwrap());
            assert!(
                (&a.correlations - &b.correlations)
                    .iter()
                    .all(|e| e.abs() < 1e-9)
            );
            let [ea, eb] = [&a, &b].map(|m| m.model.encoders[0].scores(x.view()).unwrap());
            assert!((&ea - &eb).iter().all(|e| e.abs() < 1e-4));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn equals_the_correlations_of_all_pairs(seed in 0_u64..999, nx in 8_usize..20, ny in 8_usize..20) {
            let ([x, y], _) = two_modalities(5, 4, 0.7, seed);
            let (x, y) = (x.slice(ndarray::s![..nx, ..]), y.slice(ndarray::s![..ny, ..]));
            let (cx, cy): (Vec<u32>, Vec<u32>) =
                ((0..nx as u32).map(|i| i % 3).collect(), (0..ny as u32).map(|i| (i * i) % 3).collect());
            let sides: [(ArrayView2<f32>, &[u32], &[f32]); 2] =
                [(x, &cx, &vec![1.0; nx]), (y, &cy, &vec![1.0; ny])];
            let apart = Views::unpaired(&sides).unwrap();
            let pairs: Vec<(usize, usize)> = (0..nx)
                .flat_map(|i| (0..ny).map(move |j| (i, j)))
                .filter(|&(i, j)| cx[i] == cy[j])
                .collect();
            let (left, right): (Vec<usize>, Vec<usize>) = pairs.iter().copied().unzip();
            let (px, py) = (x.select(ndarray::Axis(0), &left), y.select(ndarray::Axis(0), &right));
            let listed = Views::paired(&[px.view(), py.view()], &vec![0; left.len()], &vec![0.0; left.len()]);
            // The one divides by the pairs less 1, which a relative ridge does not see.
            let ridge = Ridge::Relative(0.01);
            let all = super::super::Cca::new().ridge(ridge).fit(&listed.unwrap(), &Monitor::silent());
            let found = ClusterCca::new().ridge(ridge).fit(&apart, &Monitor::silent()).unwrap();
            let all = all.unwrap().correlations;
            for (k, rho) in found.correlations.iter().enumerate() {
                prop_assert!((rho - all[k]).abs() < 1e-9, "{} {}", rho, all[k]);
            }
        }
    }

    #[test]
    fn classes_are_found_without_pairs() {
        let ([x, y], class) = two_modalities(5, 20, 0.2, 4);
        let sides: [(ArrayView2<f32>, &[u32], &[f32]); 2] = [
            (x.view(), &class, &[1.0; 100]),
            (y.view(), &class, &[1.0; 100]),
        ];
        let views = Views::unpaired(&sides).unwrap();
        let run = || {
            let monitor = Monitor::silent();
            let cluster = ClusterCca::new().fit(&views, &monitor).unwrap();
            (cluster, MeanCca::new().fit(&views, &monitor).unwrap())
        };
        let (one, two) = in_one_and_two_threads(run);
        assert_eq!(one, two);
        assert_eq!(one.0.correlations.len(), 4);
        let both = [x.clone(), y.clone()];
        assert!(found(&one.0.model, &both, &class) > 0.9);
        assert!(found(&one.1.model, &both, &class) > 0.8);
    }

    #[test]
    fn degenerate_classes_and_parameters() {
        let ([x, y], _) = two_modalities(2, 3, 0.4, 5);
        let fit = |class: &[u32], weight: &[f32], other: &[u32]| {
            let sides = [(x.view(), class, weight), (y.view(), other, &[1.0; 6])];
            ClusterCca::new().fit(&Views::unpaired(&sides).unwrap(), &Monitor::silent())
        };
        assert!(fit(&[0, 0, 0, 1, 1, 7], &[1.0; 6], &[0, 1, 9, 9, 9, 9]).is_ok());
        let one = fit(&[0; 6], &[1.0; 6], &[0; 6]).unwrap_err().to_string();
        assert!(one.contains("two classes"), "{one}");
        assert!(fit(&[0, 0, 0, 1, 1, 1], &[1.0; 6], &[2, 2, 2, 3, 3, 3]).is_err());
        let none = fit(&[0; 6], &[0.0; 6], &[0; 6]).unwrap_err().to_string();
        assert!(none.contains("label some"), "{none}");
        assert!(ClusterCca::new().dimensions(0).validate().is_err());
        let none = ClusterCca::new().ridge(Ridge::Absolute(0.0));
        assert!(none.validate().is_ok());
        for value in [0.0, -1.0, f64::NAN] {
            for ridge in [Ridge::Absolute(value), Ridge::Relative(value)] {
                let said = MeanCca::new().ridge(ridge).validate().unwrap_err();
                assert!(said.to_string().starts_with("mean-cca.ridge"), "{said}");
            }
        }
    }
}
