//! Normalised mutual information between classes and clusters.
//!
//! `NMI = I(classes; clusters) / ((H(classes) + H(clusters)) / 2)`, from 0 (independent)
//! to 1 (the same partition). The arithmetic mean of the entropies is scikit-learn's
//! default; the geometric mean of older releases gives slightly larger numbers.
//!
//! NMI grows with the number of clusters even for random ones, and depends on the k-means
//! behind it by about half a point in a hundred. Compare it only at the same k and with
//! the same clustering; for few items a class, trust the ranking metrics instead. A similarity that is no
//! distance (a bilinear form, kernels) has none: k-means would cluster rows of which it says nothing.
//!
//! Source: Zhuang & Moulin 2023, eq. 30-33 (31 and 33 print `y_j` for `h_j`).

use ndarray::Axis;

use super::kmeans::KMeans;
use super::ranking::Protocol;
use crate::distance::Metric;
use crate::matrix::l2_normalize;
use crate::{Error, Monitor, Result};

/// NMI of two partitions of the same items, given as one part number an item.
///
/// 1 if both have a single part. Fails if the lengths differ or nothing is given.
/// O(n log n).
///
/// ```
/// let nmi = likewise::eval::nmi::nmi(&[0, 0, 1, 1], &[5, 5, 3, 3])?;
/// assert!((nmi - 1.0).abs() < 1e-12);
/// # Ok::<(), likewise::Error>(())
/// ```
pub fn nmi(classes: &[u32], clusters: &[u32]) -> Result<f64> {
    if classes.len() != clusters.len() || classes.is_empty() {
        return Err(Error::data(format!(
            "NMI: {} classes and {} clusters; give one of each for every item",
            classes.len(),
            clusters.len()
        )));
    }
    let joint = |i: usize| u64::from(classes[i]) << 32 | u64::from(clusters[i]);
    let both = entropy((0..classes.len()).map(joint).collect());
    let h = entropy(classes.iter().map(|&c| u64::from(c)).collect());
    let g = entropy(clusters.iter().map(|&c| u64::from(c)).collect());
    Ok(from_entropies(h, g, both))
}

/// NMI from the entropies of both partitions and of their product.
pub(super) fn from_entropies(classes: f64, clusters: f64, both: f64) -> f64 {
    let mean = f64::midpoint(classes, clusters);
    if mean <= 0.0 {
        return 1.0;
    }
    ((classes + clusters - both) / mean).clamp(0.0, 1.0)
}

fn entropy(mut parts: Vec<u64>) -> f64 {
    parts.sort_unstable();
    let runs = parts.chunk_by(|a, b| a == b).map(<[u64]>::len);
    entropy_of_counts(runs, parts.len())
}

/// Entropy in nats of counts that sum to `n`.
fn entropy_of_counts(counts: impl Iterator<Item = usize>, n: usize) -> f64 {
    let shares = counts.filter(|&c| c > 0).map(|c| c as f64 / n as f64);
    -shares.map(|p| p * p.ln()).sum::<f64>()
}

/// NMI of an embedding, with the partitions it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Nmi {
    /// The value, 0 to 1.
    pub value: f64,
    /// Class of each clustered item.
    pub classes: Vec<u32>,
    /// Cluster of each clustered item.
    pub clusters: Vec<u32>,
    /// Gallery items left out because their class is not known.
    pub skipped: usize,
}

/// Clusters the gallery of `protocol` by k-means into as many clusters as it has classes,
/// and compares.
///
/// Works on the same vectors as the ranking: scaled to unit length for the cosine, as
/// they are otherwise. Items without a known class are left out.
///
/// Fails if no item of known class is left, where items have several labels, or on NaN. Costs one [`KMeans`] fit.
pub fn evaluate(protocol: &Protocol, seed: u64, monitor: &Monitor) -> Result<Nmi> {
    protocol.check()?;
    protocol
        .labels
        .check_single("NMI, which compares one partition with another,")?;
    let mut items = protocol.gallery.to_vec();
    items.retain(|&item| protocol.labels[item].class().is_some());
    items.sort_unstable();
    let classes: Vec<u32> = items
        .iter()
        .filter_map(|&item| protocol.labels[item].class())
        .collect();
    let mut distinct = classes.clone();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.is_empty() {
        return Err(Error::data(
            "NMI: no item has a known class; nothing can be measured without labels",
        ));
    }
    let mut x = protocol.embeddings.select(Axis(0), &items);
    if protocol.metric == Metric::Cosine {
        x = l2_normalize(x);
    }
    let kmeans = KMeans::new(distinct.len()).seed(seed);
    let clusters = kmeans.fit(x.view(), monitor)?.cluster;
    Ok(Nmi {
        value: nmi(&classes, &clusters)?,
        classes,
        clusters,
        skipped: protocol.gallery.len() - items.len(),
    })
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Some results are exact.
mod tests {
    use super::*;
    use crate::Labels;
    use proptest::prelude::*;

    #[test]
    fn worked_example() {
        let (a, b) = ([0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 1, 2]);
        assert!((nmi(&a, &b).unwrap() - 0.685_331_478_961_586_6).abs() < 1e-12);
        let h = entropy(a.iter().map(|&v| u64::from(v)).collect());
        assert!((h - 1.011_404_264_707_351_7).abs() < 1e-12);
    }

    #[test]
    fn single_parts_and_wrong_lengths() {
        assert_eq!(nmi(&[3, 3], &[1, 1]).unwrap(), 1.0);
        assert_eq!(nmi(&[3, 3], &[1, 2]).unwrap(), 0.0);
        assert!(nmi(&[0], &[]).is_err());
        assert!(nmi(&[], &[]).is_err());
    }

    proptest! {
        /// The printed sum over all pairs of parts, eq. 31.
        #[test]
        fn agrees_with_the_double_sum(pairs in prop::collection::vec((0_u32..5, 0_u32..6), 1..60)) {
            let (a, b): (Vec<u32>, Vec<u32>) = pairs.iter().copied().unzip();
            let n = pairs.len() as f64;
            let share = |f: &dyn Fn(&(u32, u32)) -> bool| {
                pairs.iter().filter(|p| f(p)).count() as f64 / n
            };
            let (mut mutual, mut h, mut g) = (0.0, 0.0, 0.0);
            for i in 0..6 {
                let (p, q) = (share(&|x| x.0 == i), share(&|x| x.1 == i));
                if p > 0.0 { h -= p * p.ln(); }
                if q > 0.0 { g -= q * q.ln(); }
                for j in 0..6 {
                    let (both, q) = (share(&|x| *x == (i, j)), share(&|x| x.1 == j));
                    if both > 0.0 { mutual += both * (both / (p * q)).ln(); }
                }
            }
            let expected = if h + g > 0.0 { 2.0 * mutual / (h + g) } else { 1.0 };
            prop_assert!((nmi(&a, &b).unwrap() - expected).abs() < 1e-9);
            prop_assert!((nmi(&a, &b).unwrap() - nmi(&b, &a).unwrap()).abs() < 1e-12);
        }
    }

    #[test]
    fn an_embedding_of_separate_classes_has_nmi_one() {
        let x = ndarray::array![[1.0, 0.0], [2.0, 0.1], [0.0, 3.0], [0.1, 1.0], [1.0, 1.0]];
        let labels = Labels::parse(["a", "a", "b", "b", "-1"]);
        let items = [0, 1, 2, 3, 4];
        let protocol = Protocol::within(x.view(), &labels, &items);
        let found = evaluate(&protocol, 1, &Monitor::silent()).unwrap();
        assert_eq!((found.value, found.skipped), (1.0, 1));
        let labels = Labels::unknown(5);
        let protocol = Protocol::within(x.view(), &labels, &items);
        assert!(evaluate(&protocol, 1, &Monitor::silent()).is_err());
    }
}
