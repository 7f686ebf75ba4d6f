//! The graph of nearest neighbours that labels spread over (Zhuang and Moulin, CVPR 2023,
//! eq. 15): `A_ij = max(cos(i, j), 0)^gamma` where `i` is among the `k` nearest neighbours of
//! `j`, and `W = A + A^T`.
//!
//! A pair of mutual neighbours weighs `2 cos^gamma` (the sum is not halved), a one-sided pair a tenth
//! of `cos^gamma`, which is ours: printed is `cos^gamma` itself ([`KnnGraph::printed`]). Weights lie in
//! [0, 2]; [`Symmetrize`] has other rules. A negative cosine gives weight 0, and such an edge is not
//! stored. An item without similar neighbours becomes an isolated node.
//!
//! Up to 300,000 items the neighbours are exact; above, they are approximate with a measured
//! recall of .95 at least ([`Neighborhood`] chooses otherwise).
//!
//! Cost: that of the neighbour search and O(nk log k) for the graph, in parallel; memory, beside
//! the lists: 12 bytes for each of the nk arcs, and the graph itself (at most 16 an arc).
//!
//! Source: Zhuang and Moulin, "Mixed label propagation", CVPR 2023, eq. (15), k = 50,
//! gamma = 3; the same graph in Iscen et al. 2019. Mutual graph: Iscen et al. 2018.

use ndarray::ArrayView2;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Graph;
use crate::neighbor::{ApproximateSearch, Exact, ExactSearch, Ivf, Neighbors};
use crate::{Error, Monitor, Result};

/// Parameters of the affinity graph.
///
/// ```
/// use likewise::{Monitor, graph::KnnGraph};
/// let x = ndarray::array![[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]];
/// let graph = KnnGraph::new().k(1).gamma(3.0).build(x.view(), &Monitor::silent())?;
/// // 0 and 1 list each other: twice 0.8^3. 2 lists 1, but 1 does not list 2: a tenth of 0.6^3.
/// assert!((graph.weight(0, 1).unwrap() - 1.024).abs() < 1e-6);
/// assert!((graph.weight(1, 2).unwrap() - 0.0216).abs() < 1e-6);
/// assert_eq!(graph.weight(0, 2), None);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KnnGraph {
    k: usize,
    gamma: f64,
    symmetrize: Symmetrize,
    #[serde(skip_serializing_if = "Neighborhood::is_auto")]
    search: Neighborhood,
}

/// How the neighbours of a graph are searched.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Neighborhood {
    /// Exactly up to 300,000 items, approximately with recall .95 above: there the exact
    /// search, whose time grows with n², takes minutes.
    #[default]
    Auto,
    /// Exactly, however many there are.
    Exact,
    /// Approximately ([`Ivf`]), with at least this share of the true neighbours, above 0 and
    /// below 1, measured on a sample.
    Approximate(f64),
}

/// How the neighbours of a graph were found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Search {
    /// By comparing all.
    Exact(ExactSearch),
    /// By looking where they are likely, with a measured recall.
    Approximate(ApproximateSearch),
}

/// Cosine from which on two items are to some degree alike, beyond rounding.
const ALIKE: f32 = 1e-3;

/// The largest exponent. Cosines of copies are above 1 by their rounding, which a larger one would make a weight of.
const LARGEST: f64 = 1e4;

/// Most items that are searched exactly unless the search is chosen.
const EXACT_UP_TO: usize = 300_000;

impl Neighborhood {
    fn is_auto(&self) -> bool {
        *self == Self::Auto
    }

    /// The recall of the approximate search among `n` items; `None` for the exact one.
    fn recall(self, n: usize) -> Option<f64> {
        match self {
            Self::Approximate(recall) => Some(recall),
            Self::Auto if n > EXACT_UP_TO => Some(0.95),
            Self::Auto | Self::Exact => None,
        }
    }
}

/// What becomes of the two arcs between two items, where `a` is what one listing the other
/// weighs, `b` the other way round, and an item that does not list weighs 0.
///
/// With exact neighbours `a` and `b` are equal where both are above 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Symmetrize {
    /// `a + b`, eq. (15) of Zhuang and Moulin: a one-sided pair has half the weight of a mutual one.
    Sum,
    /// `a + b` where both list each other, else no edge: the mutual graph of Iscen et al. 2018
    /// and DSSML, twice as heavy as there (the scale of [`Sum`](Self::Sum)). Fewer wrong
    /// edges and no hubs (at most `k` neighbours an item), but more isolated items and more
    /// components: labels reach less far.
    Mutual,
    /// `max(a, b)`: a one-sided pair weighs as much as a mutual one, so hubs weigh most.
    Max,
    /// `(a + b) / 2`: half of [`Sum`](Self::Sum), for weights within [0, 1]. Against the labels
    /// (`mu`) the edges weigh half as much.
    Mean,
    /// `a + b` where both list each other, else this share of it, 0 to 1: between
    /// [`Mutual`](Self::Mutual) (0) and [`Sum`](Self::Sum) (1). The default, a tenth, keeps what the
    /// mutual graph gains, and labels still reach everywhere: with one label a class it was right on 2 of
    /// 100 items more than `Sum` in the mean of eleven sets, and on none less beyond chance
    /// (`experiments/beliefs-1.toml`).
    #[serde(rename = "one_sided")]
    OneSided(f64),
}

impl Default for Symmetrize {
    fn default() -> Self {
        Self::OneSided(0.1)
    }
}

impl Default for KnnGraph {
    fn default() -> Self {
        Self {
            k: Self::NEIGHBORS,
            gamma: 3.0,
            symmetrize: Symmetrize::default(),
            search: Neighborhood::Auto,
        }
    }
}

impl KnnGraph {
    /// Neighbours of an item unless people say otherwise. 50 are printed. On eight sets for choosing, of 850
    /// to 2,500 items, one and five labels a class, as they are and cut to classes of 10 to 1, labels
    /// spread over the graph of 20 were right on 1 to 2 of 100 items more in the mean (at most 8 more, at most 2
    /// fewer), and its cost is two fifths.
    pub const NEIGHBORS: usize = 20;

    /// 20 neighbours, gamma 3 as printed, one-sided pairs weigh a tenth; the first and the last are ours.
    pub fn new() -> Self {
        Self::default()
    }

    /// The printed values to the letter: 50 neighbours, gamma 3, [`Symmetrize::Sum`].
    pub fn printed() -> Self {
        Self::default().k(50).symmetrize(Symmetrize::Sum)
    }

    /// Neighbours of an item; at least 1 and below the number of items.
    #[must_use]
    pub fn k(mut self, k: usize) -> Self {
        self.k = k;
        self
    }

    /// Neighbours of an item that this asks for.
    pub fn n_neighbors(&self) -> usize {
        self.k
    }

    /// Exponent of the cosine, above 0: the larger, the less a far neighbour weighs.
    #[must_use]
    pub fn gamma(mut self, gamma: f64) -> Self {
        self.gamma = gamma;
        self
    }

    /// What becomes of one-sided pairs.
    #[must_use]
    pub fn symmetrize(mut self, symmetrize: Symmetrize) -> Self {
        self.symmetrize = symmetrize;
        self
    }

    /// How the neighbours are searched.
    #[must_use]
    pub fn search(mut self, search: Neighborhood) -> Self {
        self.search = search;
        self
    }

    /// The graph of the rows of `x` (`n x d`), which need not have unit length. Where the
    /// search was approximate, a note of `monitor` says what recall was measured.
    ///
    /// Fails on NaN and infinite values, if `k` is not below `n`, on a `gamma` or recall out
    /// of its range, and when cancelled. Costs O(n² d) up to 300,000 items and O(n sqrt(n) d)
    /// above: see [`Exact`] and [`Ivf`].
    pub fn build(&self, x: ArrayView2<f32>, monitor: &Monitor) -> Result<Graph> {
        self.check()?;
        let (neighbors, _) = self.neighbors(x, monitor)?;
        self.with_edges(&neighbors)
    }

    /// The neighbours that [`build`](Self::build) makes the graph of, by cosine, and how
    /// they were found.
    pub fn neighbors(&self, x: ArrayView2<f32>, monitor: &Monitor) -> Result<(Neighbors, Search)> {
        let Some(recall) = self.search.recall(x.nrows()) else {
            let (neighbors, searched) = Exact::new().search(x, self.k, monitor)?;
            return Ok((neighbors, Search::Exact(searched)));
        };
        let (neighbors, searched) = Ivf::new().recall(recall).search(x, self.k, monitor)?;
        monitor.note(format!(
            "approximate neighbours: {:.4} of the true ones were found, measured on {} items",
            searched.recall, searched.sampled
        ));
        Ok((neighbors, Search::Approximate(searched)))
    }

    /// The graph of neighbours found by any search; their similarities must be cosines.
    /// The number of neighbours is that of the lists, not [`k`](Self::k).
    ///
    /// Fails on broken lists (see [`Neighbors::check`]) and on a `gamma` out of its range.
    pub fn from_neighbors(&self, neighbors: &Neighbors) -> Result<Graph> {
        self.check()?;
        neighbors.check()?;
        self.with_edges(neighbors)
    }

    /// Fails where the exponent alone leaves no edge, even between the items that are most alike.
    fn with_edges(&self, neighbors: &Neighbors) -> Result<Graph> {
        let best = neighbors.similarities.iter().copied().fold(0.0, f32::max);
        if best >= ALIKE && self.affinity(best) == 0.0 {
            let rule = format!(
                "leaves no edge in the graph, as even the most similar items (cosine {best}) weigh \
                 nothing; lower it"
            );
            let gamma = format!("{:e}", self.gamma);
            return Err(Error::parameter("gamma", gamma, &rule));
        }
        Ok(self.joined(neighbors))
    }

    fn check_gamma(&self) -> Result<()> {
        if !(self.gamma.is_finite() && self.gamma > 0.0) {
            let rule = "must be finite and above 0";
            return Err(Error::parameter("gamma", self.gamma, rule));
        }
        if self.gamma > LARGEST {
            let rule = format!("must be at most {LARGEST:e}: beyond it copies alone have an edge");
            return Err(Error::parameter(
                "gamma",
                format!("{:e}", self.gamma),
                &rule,
            ));
        }
        Ok(())
    }

    /// Fails on settings that are out of their range whatever the items are.
    pub fn validate(&self) -> Result<()> {
        if self.k == 0 {
            return Err(Error::parameter("k", 0, "must be at least 1"));
        }
        self.check()
    }

    fn check(&self) -> Result<()> {
        self.check_gamma()?;
        match self.symmetrize {
            Symmetrize::OneSided(share) if !(0.0..=1.0).contains(&share) => {
                let rule = "must be from 0 to 1";
                Err(Error::parameter("symmetrize.one_sided", share, rule))
            }
            _ => Ok(()),
        }
    }

    /// A row holds what its item lists and who lists it; the two arcs of a pair become one.
    fn joined(&self, neighbors: &Neighbors) -> Graph {
        let incoming = Incoming::of(neighbors, |s| self.affinity(s));
        Graph::from_rows(neighbors.n(), |i, row| {
            let listed = neighbors.indices.row(i).into_iter();
            let listed = listed.zip(neighbors.similarities.row(i));
            let outgoing = listed.map(|(&j, &s)| (j, self.affinity(s)));
            let both = outgoing.chain(incoming.of_item(i));
            row.extend(both.filter(|&(_, a)| a > 0.0));
            row.sort_unstable_by_key(|&(j, _)| j);
            self.symmetrize.join_equal_columns(row);
        })
    }

    fn affinity(&self, similarity: f32) -> f32 {
        let cosine = f64::from(similarity.max(0.0));
        // An integer power is many times faster than the general one.
        let power = if self.gamma.fract() == 0.0 && self.gamma <= 16.0 {
            cosine.powi(self.gamma as i32)
        } else {
            cosine.powf(self.gamma)
        };
        power as f32
    }
}

impl Symmetrize {
    /// Joins entries of equal columns, which stand side by side, two at most. None of the
    /// rules depends on their order, so both mirror entries have the same bits.
    fn join_equal_columns(self, row: &mut Vec<(u32, f32)>) {
        let (mut read, mut write) = (0, 0);
        while read < row.len() {
            let (column, a) = row[read];
            let other = row.get(read + 1).filter(|next| next.0 == column);
            let weight = match (self, other) {
                (Self::Sum | Self::Mutual | Self::OneSided(_), Some(&(_, b))) => Some(a + b),
                (Self::Max, Some(&(_, b))) => Some(a.max(b)),
                (Self::Mean, Some(&(_, b))) => Some(f32::midpoint(a, b)),
                (Self::Sum | Self::Max, None) => Some(a),
                (Self::Mean, None) => Some(a / 2.0),
                (Self::OneSided(share), None) => Some((share * f64::from(a)) as f32),
                (Self::Mutual, None) => None,
            };
            read += 1 + usize::from(other.is_some());
            if let Some(weight) = weight.filter(|&w| w > 0.0) {
                row[write] = (column, weight);
                write += 1;
            }
        }
        row.truncate(write);
    }
}

/// The arcs by the item that they point to: who lists it, and the affinity.
struct Incoming {
    start: Vec<usize>,
    /// `(to, from, affinity)`, ascending.
    arcs: Vec<(u32, u32, f32)>,
}

impl Incoming {
    /// Sorts: writing every arc straight to its place would miss the cache every time.
    fn of(neighbors: &Neighbors, affinity: impl Fn(f32) -> f32 + Sync) -> Self {
        let k = neighbors.k.max(1);
        let mut arcs = Vec::with_capacity(neighbors.indices.len());
        (neighbors.indices.as_standard_layout().as_slice())
            .unwrap_or_default()
            .par_iter()
            .zip((neighbors.similarities.as_standard_layout().as_slice()).unwrap_or_default())
            .enumerate()
            .map(|(p, (&to, &s))| (to, (p / k) as u32, affinity(s)))
            .collect_into_vec(&mut arcs);
        arcs.par_sort_unstable_by_key(|&(to, from, _)| (to, from));
        let mut start = vec![0_usize; neighbors.n() + 1];
        for &(to, _, _) in &arcs {
            start[to as usize + 1] += 1;
        }
        for i in 0..neighbors.n() {
            start[i + 1] += start[i];
        }
        Self { start, arcs }
    }

    fn of_item(&self, i: usize) -> impl Iterator<Item = (u32, f32)> {
        let arcs = self.arcs[self.start[i]..self.start[i + 1]].iter();
        arcs.map(|&(_, from, affinity)| (from, affinity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neighbor::{Metric, exact};
    use crate::reference::in_one_and_two_threads;
    use crate::seed;
    use ndarray::{Array2, array};
    use proptest::prelude::*;
    use rand::RngExt;

    /// The weight of an edge from its two arcs.
    type Rule = fn(f64, f64) -> f64;

    fn build(x: &Array2<f32>, k: usize) -> Graph {
        KnnGraph::new()
            .k(k)
            .build(x.view(), &Monitor::silent())
            .unwrap()
    }

    #[test]
    fn settings_out_of_their_range_are_told_without_any_items() {
        let said = |graph: KnnGraph| graph.validate().unwrap_err().to_string();
        assert_eq!(said(KnnGraph::new().k(0)), "k = 0: must be at least 1");
        assert!(said(KnnGraph::new().gamma(-1.0)).starts_with("gamma = -1: "));
        let share = KnnGraph::new().symmetrize(Symmetrize::OneSided(7.0));
        assert!(said(share).starts_with("symmetrize.one_sided = 7: "));
        KnnGraph::new().validate().unwrap();
    }

    #[test]
    fn an_exponent_that_leaves_no_edge_is_refused() {
        let x = array![[1.0, 0.0], [1.0, 0.5], [0.5, 1.0]];
        let of = |gamma: f64| {
            let settings = KnnGraph::new().k(1).gamma(gamma);
            settings.build(x.view(), &Monitor::silent())
        };
        assert!(of(64.0).unwrap().edges().count() > 0);
        for (gamma, what) in [(1e4, "leaves no edge"), (1e308, "must be at most 1e4")] {
            let e = of(gamma).unwrap_err().to_string();
            assert!(e.starts_with(&format!("gamma = {gamma:e}: {what}")), "{e}");
        }
        // Items that are alike in nothing have no edge either, by no fault of it.
        let across = array![[1.0, 0.0], [0.0, 1.0]];
        assert_eq!(build(&across, 1).edges().count(), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn equals_the_dense_formulas(
            n in 2_usize..80, d in 1_usize..6, k in 1_usize..12, gamma in 1_u8..8, seed in 0_u64..1000,
        ) {
            let k = k.min(n - 1);
            let gamma = f64::from(gamma) / 2.0;
            let mut rng = seed::stream(seed, "test features");
            let x = Array2::from_shape_fn((n, d), |_| (rng.random::<f32>() * 6.0).round() - 3.0);
            let mut found = exact(x.view(), k, Metric::Cosine, &Monitor::silent()).unwrap();
            // As from an approximate search: the two directions differ a little.
            found.similarities.mapv_inplace(|s| s * (1.0 - 1e-3 * rng.random::<f32>()));
            let mut a = Array2::<f64>::zeros((n, n));
            for ((j, p), &i) in found.indices.indexed_iter() {
                a[[i as usize, j]] = f64::from(found.similarities[[j, p]].max(0.0)).powf(gamma);
            }
            let rules: [(Symmetrize, Rule); 5] = [
                (Symmetrize::Sum, |a, b| a + b),
                (Symmetrize::Mutual, |a, b| if a > 0.0 && b > 0.0 { a + b } else { 0.0 }),
                (Symmetrize::OneSided(0.25), |a, b| if a > 0.0 && b > 0.0 { a + b } else { (a + b) / 4.0 }),
                (Symmetrize::Max, f64::max),
                (Symmetrize::Mean, f64::midpoint),
            ];
            for (symmetrize, rule) in rules {
                let settings = KnnGraph::new().k(k).gamma(gamma).symmetrize(symmetrize);
                let graph = settings.from_neighbors(&found).unwrap();
                for ((i, j), &a_ij) in a.indexed_iter() {
                    let w = graph.weight(i, j).map_or(0.0, f64::from);
                    let expected = rule(a_ij, a[[j, i]]);
                    prop_assert!((w - expected).abs() <= 1e-6, "{symmetrize:?}");
                    prop_assert_eq!(w > 0.0, expected > 0.0);
                }
                let (p, i, w) = (graph.indptr(), graph.indices(), graph.weights());
                prop_assert_eq!(Graph::new(p.to_vec(), i.to_vec(), w.to_vec()).unwrap(), graph);
            }
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bytes() {
        let mut rng = seed::stream(5, "test features");
        let x = Array2::from_shape_fn((3001, 3), |_| rng.random::<f32>() - 0.5);
        let (one, two) = in_one_and_two_threads(|| build(&x, 9));
        assert_eq!(one, two);
    }

    #[test]
    fn many_items_are_searched_approximately_and_the_recall_is_told() {
        assert_eq!(Neighborhood::Auto.recall(300_000), None);
        assert_eq!(Neighborhood::Auto.recall(300_001), Some(0.95));
        assert_eq!(Neighborhood::Exact.recall(10_000_000), None);

        let mut rng = seed::stream(6, "test features");
        let x = Array2::from_shape_fn((4000, 6), |_| rng.random::<f32>() - 0.5);
        let settings = KnnGraph::new().k(10);
        let approximate = settings.clone().search(Neighborhood::Approximate(0.9));
        let notes = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let heard = notes.clone();
        let monitor = Monitor::new(move |event| heard.lock().unwrap().push(format!("{event:?}")));
        let (found, searched) = approximate.neighbors(x.view(), &monitor).unwrap();
        let Search::Approximate(searched) = searched else {
            panic!("{searched:?}")
        };
        assert!(searched.recall >= 0.9 && searched.sampled > 0);
        assert!(
            notes
                .lock()
                .unwrap()
                .iter()
                .any(|e| e.contains("measured on 256 items"))
        );
        let graph = approximate.build(x.view(), &monitor).unwrap();
        assert_eq!(graph, settings.from_neighbors(&found).unwrap());
        let (_, searched) = settings.neighbors(x.view(), &monitor).unwrap();
        assert!(matches!(searched, Search::Exact(_)));
        let bad = settings.search(Neighborhood::Approximate(1.0));
        assert!(
            bad.build(x.view(), &monitor)
                .unwrap_err()
                .to_string()
                .contains("recall = 1")
        );
    }

    #[test]
    fn the_search_is_a_word_in_a_recipe() {
        let read = |text| serde_json::from_str::<KnnGraph>(text).unwrap();
        assert_eq!(read(r#"{"search": "auto"}"#), KnnGraph::new());
        let chosen = [
            (r#"{"search": "exact"}"#, Neighborhood::Exact),
            (
                r#"{"search": {"approximate": 0.9}}"#,
                Neighborhood::Approximate(0.9),
            ),
        ];
        for (text, search) in chosen {
            assert_eq!(read(text), KnnGraph::new().search(search));
        }
        // What was not chosen is not written: older readers still understand it.
        let written = serde_json::to_string(&KnnGraph::new()).unwrap();
        assert!(!written.contains("search"), "{written}");
    }

    #[test]
    fn the_rule_is_a_word_in_a_recipe() {
        let read = |text| serde_json::from_str::<KnnGraph>(text);
        let mutual = KnnGraph::new().k(5).symmetrize(Symmetrize::Mutual);
        assert_eq!(read(r#"{"k": 5, "symmetrize": "mutual"}"#).unwrap(), mutual);
        assert_eq!(read("{}").unwrap(), KnnGraph::new());
        assert!(read(r#"{"symmetrize": "both"}"#).is_err());
    }

    #[test]
    fn zero_and_opposite_rows_are_isolated_and_duplicates_weigh_two() {
        let x = array![[1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [-1.0, 0.0]];
        let graph = build(&x, 2);
        assert_eq!(graph.weight(0, 1), Some(2.0));
        assert_eq!(graph.isolated(), [2, 3]);
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let x = array![[1.0, 0.0], [0.0, 1.0]];
        let message = |p: KnnGraph| {
            p.build(x.view(), &Monitor::silent())
                .unwrap_err()
                .to_string()
        };
        assert!(message(KnnGraph::new().k(2)).contains("k = 2"));
        assert!(message(KnnGraph::new().k(1).gamma(f64::NAN)).contains("gamma = NaN"));
        assert!(message(KnnGraph::new().k(1).gamma(0.0)).contains("gamma = 0"));
    }

    #[test]
    fn broken_lists_are_refused() {
        let message = |indices: Array2<u32>| {
            let similarities = indices.mapv(|_| 0.5);
            let k = indices.ncols();
            KnnGraph::new()
                .from_neighbors(&Neighbors {
                    k,
                    indices,
                    similarities,
                })
                .unwrap_err()
                .to_string()
        };
        assert!(message(array![[0], [0]]).contains("neighbours of item 0"));
        assert!(message(array![[1], [9]]).contains("index 9"));
        assert!(message(array![[1, 1], [0, 0]]).contains("twice"));
        assert!(message(array![[1, 2], [0, 2], [3, 3], [9, 9]]).contains("item 2: an index"));
    }

    #[test]
    fn lists_are_counted() {
        let neighbors = Neighbors {
            k: 2,
            indices: array![[1, 2], [2, 0], [1, 3], [2, 1]],
            similarities: Array2::zeros((4, 2)),
        };
        assert_eq!(neighbors.occurrences(), [1, 3, 3, 1]);
        // All cosines 0: no edges at all.
        let graph = KnnGraph::new().from_neighbors(&neighbors).unwrap();
        assert_eq!((graph.nnz(), graph.n_components()), (0, 4));
    }
}
