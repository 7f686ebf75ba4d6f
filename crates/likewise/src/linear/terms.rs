//! What a learner of a metric minimises, as terms of pairs: for rows that learn too.

use ndarray::Array2;

use super::spd;
use crate::Result;

/// The terms, each a mean over pairs of the squared distances `d^2` behind the metric, so that they
/// can be taken of any part of the pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PairTerms {
    /// `alike mean d^2 - unlike mean d^2 + near sum w d^2 / sum |w|`, over alike pairs, unlike pairs
    /// and links of neighbours.
    Distances {
        /// Weight of alike pairs, at least 0.
        alike: f64,
        /// Weight of unlike pairs, at least 0.
        unlike: f64,
        /// Weight of neighbours, at least 0.
        near: f64,
    },
    /// `mean -ln p(y) + entropy mean H(p)`, over pairs that are known to be alike (`y = 1`) or unlike
    /// (-1) and over all others, with `p(y) = 1 / (1 + exp(y (d^2 - eta)))` and its entropy `H`.
    Likelihood {
        /// Squared distance at which a pair is as likely alike as not, above 0.
        eta: f64,
        /// Weight of pairs of which nothing is known, at least 0.
        entropy: f64,
    },
}

/// A metric, and the neighbours that it was made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Linked {
    /// `M`, `d x d`.
    pub metric: Array2<f64>,
    /// Neighbours, each pair once: `(a, b, w)`, `a < b`, ascending.
    pub links: Vec<(u32, u32, f64)>,
}

/// The directions of a metric `M` (`d x d`) with the largest eigenvalues, each as long as the root of its
/// own (`d x count`, or `d x d`), of `M` times the factor that makes its trace `d`: rows times these
/// have the squared distances of `M` as far as they lie along them.
///
/// Of a metric that is 0 everywhere the unit directions. Fails where no eigenvalues are found.
pub fn directions(metric: &Array2<f64>, count: usize) -> Result<Array2<f64>> {
    let d = metric.nrows();
    let count = count.min(d);
    let eigen = spd::eigen(metric)?;
    let values = eigen.values.mapv(|v| v.max(0.0));
    let trace = values.sum();
    if !(trace > 0.0 && trace.is_finite()) {
        return Ok(Array2::eye(d).slice(ndarray::s![.., ..count]).to_owned());
    }
    // Ascending: the largest are the last. Signs are made the same on every machine.
    let mut out = Array2::zeros((d, count));
    for (place, mut column) in out.columns_mut().into_iter().enumerate() {
        let from = d - 1 - place;
        let vector = eigen.vectors.column(from);
        let largest = vector
            .iter()
            .fold(0.0_f64, |a, &b| if b.abs() > a.abs() { b } else { a });
        let scale = (values[from] * d as f64 / trace).sqrt() * largest.signum();
        column.assign(&(&vector * scale));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn directions_make_a_metric_of_trace_d() {
        let m = array![[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.5]];
        let all = directions(&m, 9).unwrap();
        let scaled = &m * (3.0 / 4.5);
        assert!(
            (all.dot(&all.t()) - &scaled)
                .iter()
                .all(|e| e.abs() < 1e-12)
        );
        // Eigenvalue 3 along (1, 1, 0), of trace 3 in all: 2.
        let first = directions(&m, 1).unwrap();
        assert_eq!(first.dim(), (3, 1));
        let expected = array![[1.0], [1.0], [0.0]];
        assert!((first - expected).iter().all(|e| e.abs() < 1e-12));
        let none = directions(&Array2::zeros((2, 2)), 1).unwrap();
        assert_eq!(none, array![[1.0], [0.0]]);
    }
}
