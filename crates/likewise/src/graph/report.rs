//! What a neighbour graph looks like, and what in it should worry its user.
//!
//! In many dimensions a few items, the hubs, stand in the neighbour lists of very many
//! others, and many items, the anti-hubs, in none. With `N_k(i)` the number of lists that
//! hold item `i` (its mean is `k`), hubness is the skewness
//! `S = E (N_k - E N_k)^3 / sd(N_k)^3`: about 0 without hubs, above 1 with marked ones.
//! Labels spread through hubs to everything, and searches return them again and again.
//!
//! Counts tell of hubs only where the lists themselves are at hand: in the symmetric graph an
//! item has also the edges of its own list, which hides the anti-hubs.
//!
//! **Use it** before propagation and after a change of features or `k`. **Not** as a measure
//! of quality: a graph without hubs may still join the wrong items.
//!
//! Cost: O(entries + n log n), memory O(n).
//!
//! Source: Radovanović, Nanopoulos and Ivanović, "Hubs in space", JMLR 2010, section 2
//! (`N_k` and its skewness). The limits from which the report complains are ours.

use serde::{Deserialize, Serialize};

use super::Graph;
use crate::neighbor::Neighbors;
use crate::{Error, Result};

/// Sizes and examples that are listed at most.
const LISTED: usize = 10;
/// An item is called a hub where more than this share of all others lists it ...
const HUB_SHARE: f64 = 0.2;
/// ... and no fewer than this times the mean, which matters where `k` is close to `n`.
const HUB_RATIO: f64 = 5.0;
/// Share of anti-hubs from which the report complains.
const ANTI_HUB_SHARE: f64 = 1.0 / 3.0;
/// Share of the items that holds half of the places, below which the report complains.
const HALF_SHARE: f64 = 0.1;

/// The range of some numbers, and how lopsided they are. All 0 for no numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The least.
    pub min: f64,
    /// The middle one; the mean of the two in the middle of an even number.
    pub median: f64,
    /// The mean.
    pub mean: f64,
    /// The largest.
    pub max: f64,
    /// Third central moment over the cube of the standard deviation; 0 if all are equal.
    pub skewness: f64,
}

impl Spread {
    /// The spread of `values`. O(n log n).
    ///
    /// ```
    /// let spread = likewise::graph::report::Spread::of(vec![0.0, 0.0, 0.0, 4.0]);
    /// assert_eq!((spread.median, spread.mean, spread.max), (0.0, 1.0, 4.0));
    /// assert!((spread.skewness - 2.0 / 3.0_f64.sqrt()).abs() < 1e-12);
    /// ```
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        let (Some(&min), Some(&max)) = (values.first(), values.last()) else {
            return Self::default();
        };
        let n = values.len();
        let mean = values.iter().sum::<f64>() / n as f64;
        let moment = |p: i32| values.iter().map(|v| (v - mean).powi(p)).sum::<f64>() / n as f64;
        let variance = moment(2);
        Self {
            min,
            median: f64::midpoint(values[(n - 1) / 2], values[n / 2]),
            mean,
            max,
            // Equal numbers leave a variance of rounding only.
            skewness: if min < max {
                moment(3) / variance.powf(1.5)
            } else {
                0.0
            },
        }
    }
}

/// How unevenly the items share the places in the neighbour lists.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Hubness {
    /// `N_k`: in how many lists an item stands. Its skewness is the hubness.
    pub occurrences: Spread,
    /// Items listed by more than a fifth of all others (and by 5 times the mean at least).
    pub hubs: usize,
    /// The most listed of them, at most 10.
    pub first_hubs: Vec<usize>,
    /// Items that no list holds.
    pub anti_hubs: usize,
    /// Smallest share of the items that holds half of all places, 0 to 0.5.
    pub half_share: f64,
}

/// What a graph looks like.
///
/// ```
/// use likewise::{Graph, graph::Report};
/// // 0-1-2 and, apart, 3.
/// let graph = Graph::new(vec![0, 1, 3, 4, 4], vec![1, 0, 2, 1], vec![1.0; 4])?;
/// let report = Report::of(&graph);
/// assert_eq!((report.edges, report.components, report.isolated), (2, 2, 1));
/// assert!(report.verdict[0].contains("1 of 4 items has no edge"));
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Number of nodes.
    pub nodes: usize,
    /// Number of edges, each counted once.
    pub edges: usize,
    /// Connected components, isolated nodes included.
    pub components: usize,
    /// Sizes of the largest components, at most 10, descending.
    pub largest: Vec<usize>,
    /// Nodes without any edge.
    pub isolated: usize,
    /// Edges of a node.
    pub degree: Spread,
    /// Sum of the weights of the edges of a node.
    pub weighted_degree: Spread,
    /// Smallest share of the nodes that holds half of all entries, 0 to 0.5.
    pub half_share: f64,
    /// Of the lists that the graph was made from, where they were given.
    pub hubness: Option<Hubness>,
    /// What the user should look at, in words; empty if nothing is unusual.
    pub verdict: Vec<String>,
}

impl Report {
    /// The report of a graph.
    pub fn of(graph: &Graph) -> Self {
        Self::with(graph, None)
    }

    /// The report of a graph and of the lists that it was made from.
    ///
    /// Fails on broken lists, or if there are not as many as nodes.
    pub fn of_lists(graph: &Graph, neighbors: &Neighbors) -> Result<Self> {
        if neighbors.n() != graph.n() {
            return Err(Error::data(format!(
                "graph report: {} neighbour lists for {} nodes; give the lists that the graph \
                 was made from",
                neighbors.n(),
                graph.n()
            )));
        }
        neighbors.check()?;
        let counts: Vec<usize> = (neighbors.occurrences().iter())
            .map(|&c| c as usize)
            .collect();
        let hubs = hubs(&counts);
        let hubness = Hubness {
            occurrences: Spread::of(counts.iter().map(|&c| c as f64).collect()),
            hubs: hubs.len(),
            anti_hubs: counts.iter().filter(|&&c| c == 0).count(),
            half_share: half_share(&counts),
            first_hubs: hubs.into_iter().take(LISTED).collect(),
        };
        Ok(Self::with(graph, Some(hubness)))
    }

    fn with(graph: &Graph, hubness: Option<Hubness>) -> Self {
        let degrees: Vec<usize> = graph.indptr().windows(2).map(|w| w[1] - w[0]).collect();
        let mut sizes = vec![0_usize; graph.n_components()];
        for &part in graph.component() {
            sizes[part as usize] += 1;
        }
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        sizes.truncate(LISTED);
        let mut report = Self {
            nodes: graph.n(),
            edges: graph.nnz() / 2,
            components: graph.n_components(),
            largest: sizes,
            isolated: degrees.iter().filter(|&&d| d == 0).count(),
            degree: Spread::of(degrees.iter().map(|&d| d as f64).collect()),
            weighted_degree: Spread::of(graph.degrees()),
            half_share: half_share(&degrees),
            hubness,
            verdict: Vec::new(),
        };
        report.verdict = report.judge(&degrees);
        report
    }

    fn judge(&self, degrees: &[usize]) -> Vec<String> {
        let mut verdict = Vec::new();
        let n = self.nodes;
        if self.isolated > 0 {
            let have = if self.isolated == 1 { "has" } else { "have" };
            verdict.push(format!(
                "{} of {n} items {have} no edge: no label reaches them; raise k, or look whether \
                 they are empty",
                self.isolated
            ));
        }
        let parts = self.components - self.isolated;
        if parts > 1 {
            let sizes: Vec<String> = self.largest.iter().map(ToString::to_string).collect();
            verdict.push(format!(
                "the graph falls into {parts} parts (largest: {}): a label of one never reaches \
                 another; raise k, or label an item in each",
                sizes.join(", ")
            ));
        }
        let (found, first, verb) = if let Some(h) = &self.hubness {
            (h.hubs, h.first_hubs.clone(), "listed by")
        } else {
            let hubs = hubs(degrees);
            (hubs.len(), hubs, "joined to")
        };
        if found > 0 {
            let first: Vec<String> = first.iter().take(3).map(ToString::to_string).collect();
            let (items, are) = if found == 1 {
                ("item", "is")
            } else {
                ("items", "are")
            };
            verdict.push(format!(
                "{found} {items} {are} {verb} more than {:.0} % of all others; check {}{}",
                100.0 * HUB_SHARE,
                first.join(", "),
                if found > first.len() { " ..." } else { "" }
            ));
        }
        if let Some(h) = &self.hubness {
            if h.half_share < HALF_SHARE && h.occurrences.max > 0.0 {
                verdict.push(format!(
                    "{:.1} % of the items take half of all places in the neighbour lists; \
                     whitening or another view may even this out",
                    100.0 * h.half_share
                ));
            }
            if h.anti_hubs as f64 > ANTI_HUB_SHARE * n as f64 {
                verdict.push(format!(
                    "{} of {n} items are in nobody's neighbour list: a search hardly ever finds \
                     them",
                    h.anti_hubs
                ));
            }
        }
        verdict
    }
}

/// Items with a count above a fifth of all others and 5 times the mean, most first.
fn hubs(counts: &[usize]) -> Vec<usize> {
    let n = counts.len().max(1) as f64;
    let mean = counts.iter().sum::<usize>() as f64 / n;
    let limit = (HUB_SHARE * (n - 1.0)).max(HUB_RATIO * mean);
    let mut hubs: Vec<usize> = (0..counts.len())
        .filter(|&i| counts[i] as f64 > limit)
        .collect();
    hubs.sort_by_key(|&i| std::cmp::Reverse(counts[i]));
    hubs
}

/// Smallest share of the items that holds half of the sum; 0 if the sum is.
fn half_share(counts: &[usize]) -> f64 {
    let mut counts = counts.to_vec();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let total: usize = counts.iter().sum();
    let mut held = 0;
    let taken = counts.iter().take_while(|&&c| {
        let more = 2 * held < total;
        held += c;
        more
    });
    taken.count() as f64 / counts.len().max(1) as f64
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Some results are exact.
mod tests {
    use super::*;
    use crate::Monitor;
    use crate::graph::KnnGraph;
    use crate::neighbor::{Metric, exact};
    use ndarray::Array2;
    use rand::RngExt;

    /// `n` items that all list item 0 and the next `k - 1` items after themselves.
    fn star(n: usize, k: usize) -> Neighbors {
        let indices = Array2::from_shape_fn((n, k), |(i, p)| {
            if i > 0 && p == 0 {
                return 0;
            }
            // The others of a ring without item 0.
            let ring = n - 1;
            let step = if i == 0 { p } else { i - 1 + p };
            (1 + step % ring) as u32
        });
        Neighbors {
            k,
            similarities: Array2::from_elem((n, k), 0.5),
            indices,
        }
    }

    #[test]
    fn a_star_has_one_hub() {
        let lists = star(101, 3);
        lists.check().unwrap();
        let graph = KnnGraph::new().from_neighbors(&lists).unwrap();
        let report = Report::of_lists(&graph, &lists).unwrap();
        let hubness = report.hubness.as_ref().unwrap();
        assert_eq!(hubness.occurrences.max, 100.0);
        assert_eq!(hubness.occurrences.mean, 3.0);
        assert_eq!((hubness.hubs, &hubness.first_hubs[..]), (1, &[0][..]));
        assert!(hubness.occurrences.skewness > 5.0);
        assert_eq!(report.verdict.len(), 1, "{:?}", report.verdict);
        assert!(
            report.verdict[0].contains("1 item is listed by more than 20 % of all others; check 0")
        );
        assert!(Report::of(&graph).verdict[0].contains("joined to more than 20 %"));
        assert_eq!(report.degree.max, 100.0);
        let json = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
    }

    #[test]
    fn skewness_and_shares_by_hand() {
        // Mean 2, deviations -2, -1, -1, 4: second moment 22/4, third 54/4.
        let spread = Spread::of(vec![1.0, 6.0, 0.0, 1.0]);
        assert!((spread.skewness - 13.5 / 5.5_f64.powf(1.5)).abs() < 1e-12);
        assert_eq!((spread.min, spread.median, spread.mean), (0.0, 1.0, 2.0));
        assert_eq!(Spread::of(vec![0.1; 7]).skewness, 0.0);
        assert_eq!(Spread::of(Vec::new()), Spread::default());
        assert_eq!(half_share(&[1, 6, 0, 1]), 0.25);
        assert_eq!(half_share(&[1, 1, 1, 1]), 0.5);
        assert_eq!(half_share(&[2, 3, 2, 2]), 0.5);
        assert_eq!((half_share(&[0, 0]), half_share(&[])), (0.0, 0.0));
    }

    #[test]
    fn high_dimension_makes_hubs_and_low_dimension_does_not() {
        let hubness = |d: usize| {
            let mut rng = crate::seed::stream(1, "hubs");
            // Uniform in all directions from a center that is off the origin.
            let x = Array2::from_shape_fn((600, d), |_| rng.random::<f32>() - 0.3);
            let lists = exact(x.view(), 10, Metric::Cosine, &Monitor::silent()).unwrap();
            let graph = KnnGraph::new().from_neighbors(&lists).unwrap();
            Report::of_lists(&graph, &lists).unwrap().hubness.unwrap()
        };
        let (low, high) = (hubness(3), hubness(200));
        assert!(low.occurrences.skewness < 1.0, "{low:?}");
        assert!(high.occurrences.skewness > 2.0, "{high:?}");
        assert!(high.anti_hubs > low.anti_hubs && high.half_share < low.half_share);
    }

    #[test]
    fn parts_empty_graphs_and_lists_that_do_not_fit() {
        let apart = Graph::new(vec![0, 1, 2, 3, 4], vec![1, 0, 3, 2], vec![1.0; 4]).unwrap();
        let report = Report::of(&apart);
        assert_eq!(report.largest, [2, 2]);
        assert!(report.verdict[0].contains("2 parts (largest: 2, 2)"));
        let empty = Graph::new(vec![0], Vec::new(), Vec::new()).unwrap();
        assert_eq!(Report::of(&empty), Report::default());
        assert!(Report::of_lists(&empty, &star(9, 2)).is_err());
        let mut broken = star(4, 1);
        broken.indices[[2, 0]] = 2;
        assert!(Report::of_lists(&apart, &broken).is_err());
    }
}
