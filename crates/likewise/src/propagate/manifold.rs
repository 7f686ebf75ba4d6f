//! Negative edges without labels: neighbours that are not mutual, as the comparison of
//! Zhuang and Moulin reads Mining on Manifolds.
//!
//! An edge of the kNN graph is negative, with weight 1, if only one of its ends lists the
//! other. Then the last step of [`Mixed`] runs with these edges.
//!
//! **Use it** to compare with the published table. **Not** to label data: it does not look
//! at the labels, most one-sided neighbours are of one class, and with weight 1 they
//! overrule the positive edge, which weighs at most 1. The printed accuracy is about a half
//! of that of plain propagation, often less.
//!
//! Sizes of classes are not held: with edges that overrule all others scores are tied where prices
//! would have to part them.
//!
//! A graph alone does not tell which of its edges are one-sided, so the lists of neighbours
//! that it was made from are needed. The mining of triplets of the original paper is
//! [`tuple::Manifold`](crate::tuple::Manifold).
//!
//! Cost: O(nk log k) for the edges, and one solve of O(iterations x entries x C).
//!
//! Source: Zhuang and Moulin, CVPR 2023, section 4.4 (`MoM` of table 3), after Iscen et
//! al., "Mining on manifolds", CVPR 2018.

use serde::{Deserialize, Deserializer, Serialize};

use super::mixed::Held;
use super::{Given, Mass, Mixed, NegativeEdges, Propagate, Scale, Sizes, Spread};
use crate::neighbor::Neighbors;
use crate::{Error, ErrorKind, Graph, Monitor, Result};

/// Mixed propagation with the one-sided neighbours as negative edges; it must be
/// [given the neighbours](Given::neighbors).
///
/// Its parameters are those of [`Mixed`], of which `lambda`, `scale` and `sizes` have no part in it.
///
/// ```
/// use likewise::graph::KnnGraph;
/// use likewise::neighbor::{Metric, exact};
/// use likewise::propagate::{Given, Manifold, Propagate};
/// use likewise::{Labels, Monitor};
/// let monitor = Monitor::silent();
/// let x = ndarray::array![[1.0, 0.0], [0.9, 0.1], [0.6, 0.6], [0.0, 1.0]];
/// let neighbors = exact(x.view(), 1, Metric::Cosine, &monitor)?;
/// let graph = KnnGraph::new().from_neighbors(&neighbors)?;
/// let labels = Labels::parse(["a", "", "", "b"]);
/// let given = Given::new(&graph, &labels).neighbors(&neighbors);
/// let spread = Manifold::new().spread(&given, &monitor)?;
/// assert_eq!(spread.beliefs.pseudo_label[1], Some(0));
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Manifold {
    mixed: Mixed,
}

impl Default for Manifold {
    fn default() -> Self {
        Self {
            mixed: Mixed::paper(),
        }
    }
}

impl Manifold {
    /// With the printed values of [`Mixed::paper`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Parameters of the mixed propagation; sizes of classes are not held here.
    #[must_use]
    pub fn mixed(mut self, mixed: Mixed) -> Self {
        self.mixed = Mixed {
            sizes: None,
            ..mixed
        };
        self
    }
}

/// The fields of [`Mixed`], of which those that are left out are the printed ones.
#[derive(Deserialize)]
#[serde(remote = "Mixed", default = "Mixed::paper", deny_unknown_fields)]
struct Printed {
    beta: f64,
    lambda: f64,
    mu: f64,
    pair_factor: f64,
    scale: Scale,
    #[serde(rename = "fit")]
    held: Held,
    mass: Mass,
    #[serde(skip)]
    sizes: Option<Sizes>,
    tolerance: f64,
    max_iterations: usize,
}

impl<'de> Deserialize<'de> for Manifold {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        Printed::deserialize(from).map(|mixed| Self { mixed })
    }
}

impl Propagate for Manifold {
    fn spread(&self, given: &Given, monitor: &Monitor) -> Result<Spread> {
        given.check::<Self>()?;
        let Some(neighbors) = given.neighbors else {
            let message = "manifold needs neighbour lists";
            return Err(Error::new(ErrorKind::Parameter, message));
        };
        let negatives = one_sided(given.graph, neighbors)?;
        let mixed = &self.mixed;
        let beliefs = mixed.spread_given(given.graph, given.labels, &negatives, monitor)?;
        Ok(Spread {
            beliefs,
            negatives: Some(negatives),
        })
    }
}

/// The edges of `graph` of which one end lists the other and not the reverse, with weight 1.
///
/// Arcs that are no edge of the graph are passed over: the graph leaves out pairs of
/// negative cosine. Fails if the lists are broken or of another number of items.
pub fn one_sided(graph: &Graph, neighbors: &Neighbors) -> Result<NegativeEdges> {
    if neighbors.n() != graph.n() {
        return Err(Error::data(format!(
            "there are neighbours of {} items, but the graph has {} nodes",
            neighbors.n(),
            graph.n()
        )));
    }
    neighbors.check()?;
    let lists: Vec<Vec<u32>> = (neighbors.indices.rows().into_iter())
        .map(|row| {
            let mut list = row.to_vec();
            list.sort_unstable();
            list
        })
        .collect();
    let arcs = (0..).zip(&lists);
    let arcs = arcs.flat_map(|(i, list)| list.iter().map(move |&j| (i, j)));
    let alone = arcs.filter(|&(i, j): &(u32, u32)| lists[j as usize].binary_search(&i).is_err());
    let edges = alone.filter(|&(i, j)| graph.entry(i as usize, j as usize).is_some());
    NegativeEdges::from_pairs(graph, edges.map(|(i, j)| (i, j, 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::KnnGraph;
    use crate::neighbor::{Metric, exact};
    use crate::propagate::Harmonic;
    use crate::reference::path;
    use crate::{Beliefs, Label, Labels, seed};
    use ndarray::{Array2, array};
    use proptest::prelude::*;
    use rand::RngExt;

    /// Classes on random directions with noise: `n` items, item `i` of class `i % classes`.
    fn clouds(n: usize, classes: usize, noise: f32, seed: u64) -> Array2<f32> {
        let mut rng = seed::stream(seed, "test clouds");
        let mut draw = |_| rng.random::<f32>() - 0.5;
        let centers = Array2::from_shape_fn((classes, 16), &mut draw);
        Array2::from_shape_fn((n, 16), |(i, c)| {
            centers[[i % classes, c]] + noise * draw((i, c))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn one_sided_edges_weigh_half(n in 3_usize..60, k in 1_usize..8, seed in 0_u64..1000) {
            let k = k.min(n - 1);
            let x = clouds(n, 3, 1.0, seed);
            let found = exact(x.view(), k, Metric::Cosine, &Monitor::silent()).unwrap();
            let graph = KnnGraph::new().from_neighbors(&found).unwrap();
            let negatives = one_sided(&graph, &found).unwrap();
            let lists = |i: usize, j: usize| found.indices.row(i).iter().any(|&l| l as usize == j);
            for i in 0..n {
                let (columns, _) = graph.row(i);
                for (entry, &j) in (graph.indptr()[i]..).zip(columns) {
                    let one = lists(i, j as usize) != lists(j as usize, i);
                    prop_assert_eq!(negatives.weights()[entry] > 0.99, one);
                    prop_assert!(one || negatives.weights()[entry] <= 0.0);
                }
            }
        }
    }

    #[test]
    fn it_loses_much_of_the_accuracy_of_plain_propagation() {
        let (n, classes) = (600, 6);
        let x = clouds(n, classes, 1.6, 5);
        let monitor = Monitor::silent();
        let found = exact(x.view(), 20, Metric::Cosine, &monitor).unwrap();
        let graph = KnnGraph::new().from_neighbors(&found).unwrap();
        let truth = (0..n).map(|i| Label::Known((i % classes) as u32));
        let names = (0..classes).map(|c| c.to_string()).collect();
        let truth = Labels::new(names, truth.collect()).unwrap();
        let labels = truth.draw(5, 3);
        let accuracy = |beliefs: Beliefs| {
            let right = beliefs.pseudo_label.iter().zip(truth.items());
            right.filter(|(p, t)| **p == t.class()).count() as f64 / n as f64
        };
        let mined =
            Manifold::new().spread(&Given::new(&graph, &labels).neighbors(&found), &monitor);
        let plain = Harmonic::new().propagate(&graph, &labels, &monitor);
        let (mined, plain) = (accuracy(mined.unwrap().beliefs), accuracy(plain.unwrap()));
        assert!(
            plain > 0.6 && mined < 0.75 * plain,
            "plain {plain}, mined {mined}"
        );
    }

    #[test]
    fn sizes_of_classes_are_no_parameter() {
        let written = r#"{"beta":0.5,"sizes":"balanced"}"#;
        let error = serde_json::from_str::<Manifold>(written).unwrap_err();
        assert!(
            error.to_string().contains("unknown field `sizes`"),
            "{error}"
        );
        let sized = Mixed::paper().sizes(Sizes::Balanced);
        assert_eq!(Manifold::new().mixed(sized), Manifold::new());
    }

    #[test]
    fn pairs_that_are_no_edges_and_bad_weights_are_refused() {
        let graph = path();
        let message = |pair| {
            (NegativeEdges::from_pairs(&graph, [pair]))
                .unwrap_err()
                .to_string()
        };
        assert!(message((0, 3, 1.0)).contains("(0, 3) is no edge"));
        assert!(message((0, 9, 1.0)).contains("(0, 9) is no edge"));
        assert!(message((1, 1, 1.0)).contains("(1, 1) is no edge"));
        assert!(message((0, 1, 2.5)).contains("weight 2.5"));
        assert!(message((0, 1, -0.1)).contains("weight -0.1"));
        assert!(message((0, 1, f64::NAN)).contains("weight NaN"));
        let none = NegativeEdges::from_pairs(&graph, []).unwrap();
        assert_eq!(none.edges(&graph).count(), 0);
    }

    #[test]
    fn given_edges_must_fit_the_graph() {
        let neighbors = Neighbors {
            k: 1,
            indices: array![[1], [0], [1]],
            similarities: array![[0.9], [0.9], [0.5]],
        };
        let e = one_sided(&path(), &neighbors).unwrap_err();
        assert!(e.to_string().contains("3 items"));
        let graph = KnnGraph::new().from_neighbors(&neighbors).unwrap();
        let negatives = one_sided(&graph, &neighbors).unwrap();
        let edges: Vec<_> = negatives.edges(&graph).collect();
        assert_eq!(edges, [(1, 2, 1.0)]);
        let labels = Labels::parse(["a", "", "", "b"]);
        let other = Mixed::new().spread_given(&path(), &labels, &negatives, &Monitor::silent());
        assert_eq!(other.unwrap_err().kind(), ErrorKind::Data);
    }

    #[test]
    fn given_the_edges_of_a_run_the_result_is_that_of_the_run() {
        let x = clouds(200, 4, 1.2, 2);
        let graph = (KnnGraph::new().k(8))
            .build(x.view(), &Monitor::silent())
            .unwrap();
        let labels = crate::reference::random_labels(200, 4, 2);
        let (all, negatives) = Mixed::new()
            .spread_found(&graph, &labels, &Monitor::silent())
            .unwrap();
        let given = Mixed::new()
            .spread_given(&graph, &labels, &negatives, &Monitor::silent())
            .unwrap();
        assert_eq!(given.pseudo_label, all.pseudo_label);
        for (a, b) in given.scores.iter().zip(&all.scores) {
            assert!((a - b).abs() < 1e-8);
        }
    }
}
