//! The graph of several views of the same items, fused of what each view says of who is near whom.
//!
//! | form | an edge weighs | |
//! |---|---|---|
//! | `rows` | as in the graph of the rows side by side | the mean of the cosines decides who is near |
//! | `ranks` | the mean score of its ranks, to the power gamma | the default where there are several views |
//! | `mean` | the mean of its weights in the graphs of the views | |
//! | `weighted` | the same, where each view counts by what labels say of it | needs labels |
//! | `agreement` | that of `mean`, times the share of the views that have it | |
//!
//! `ranks`: every view lists `3k` neighbours of an item (all others, where these are fewer), and so do the rows
//! side by side, which count as one more view, of the items that have all. The neighbour of rank `r = 0, 1, ...` gets the score
//! `1 / (1 + r / k)`, or 0 where its cosine is not above 0. The scores of a pair are summed over the views, each times its weight, and
//! divided by what all views of the item weigh; a view that the other item of the pair lacks counts half there, since
//! nobody knows what it would say. The `k` items of the largest are the neighbours of an item, those of smaller index
//! first where scores are equal. Scores lie in [0, 1] and stand in the place of cosines from there on: an arc
//! weighs `score^gamma`, and [`Symmetrize`](super::Symmetrize) joins the two of a pair.
//!
//! A view weighs `w = clamp(t / 0.25, 0, 1)^2`, at least .001, where `t` is the share of the first `k` neighbours of the first `k` neighbours of
//! an item that are among its own, minus `k / n`, which chance gives. It is 1 for whatever hangs together (.19 to .54 in
//! 24 views of digits, leaves, faces and photos), and next to nothing for noise in many directions (.04 to .07), which would
//! take neighbours from all others. Noise in two or three directions it does not see.
//!
//! `mean`: with the graph `W_v` of each view v, by its own `k` neighbours,
//! `W_ij = sum over v of w_v W_v,ij / max(m_i, m_j)`, where `w_v = 1` and `m_i` is the sum of the `w_v` of the views that
//! item i has. `weighted`: `w_v = max(a_v - p_v, 0.01) / sum over u of max(a_u - p_u, 0.01)`. Of the labeled items that
//! have the view, `a_v` is the share whose nearest other one, by cosine, is of their class, and `p_v` what chance
//! would give: `sum over c of l_c (l_c - 1) / (l (l - 1))` for `l_c` of `l` labels in class c. With one label a class all views
//! weigh the same. `agreement`: `W_ij` of `mean` times the share of the views, `max(m_i, m_j)` of them, in whose
//! graphs the edge is.
//!
//! An item that lacks a view is in no list of that view and has none there. In the forms that add up graphs, an edge is divided by
//! the views of the end that has more: an item of few views is no nearer to others for that.
//!
//! **Use it** where views tell of different things, or where some are much better than others and nobody knows
//! which: the cosine of the rows side by side goes to the views that vary most (`experiments/views.toml`). **Not** where views hold
//! the same, such as a matrix and a copy of it: they are counted twice. **Not** with views of few columns that tell nothing, such as
//! dates: leave these out. **Not** `weighted` with one or two labels a class, which say little of a view.
//!
//! Cost: a neighbour search in each view, and for `ranks` one more in all columns; then O(n k V log(k V)) for V views.
//! Memory: the lists (8 bytes an entry: `3k` for each item and view with `ranks`), or the graphs of the views. No n x n matrix.
//!
//! Source: `ranks` is reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009), there of the
//! results of searches and with 60 in the place of k, here of lists of neighbours; that lists end at `3k`, that the rows side by side
//! count as a view, and the power of the score are ours. So are the forms that average graphs, which are
//! the plainest of many.

mod ranked;
mod views;

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use self::ranked::ranked;
use self::views::{Items, Lists, Searching};
pub use self::views::{OfView, Views, present};
use super::{Graph, KnnGraph};
use crate::error::Hint;
use crate::neighbor::{Metric, Neighbors, exact};
use crate::{Error, Labels, Monitor, Result, matrix, parallel};

/// How many times as many neighbours as an item has in the end are listed for it in each view.
const DEEPER: usize = 3;
/// What a view weighs at least whose neighbours are of no class in common, before all are divided by their sum.
const LEAST: f64 = 0.01;

/// How the graphs of several views become one.
///
/// ```
/// use likewise::{Monitor, graph::{Fusion, KnnGraph, OfView, Views}};
/// // By shape 0 is near 1, and 2 near 3; by colour it is the same, but less clearly so.
/// let shape = ndarray::array![[1.0, 0.0], [0.9, 0.1], [0.1, 0.9], [0.0, 1.0]];
/// let colour = ndarray::array![[1.0, 0.4], [1.0, 0.5], [0.5, 1.0], [0.4, 1.0]];
/// let both = ndarray::concatenate![ndarray::Axis(1), shape, colour];
/// let of = Views {
///     side_by_side: both.view(),
///     apart: vec![OfView::new("shape", shape.view()), OfView::new("colour", colour.view())],
/// };
/// let fused = Fusion::Ranks.build(&KnnGraph::new().k(1), &of, None, &Monitor::silent())?;
/// // First in each of the lists: twice a score of 1.
/// assert_eq!(fused.graph.weight(0, 1), Some(2.0));
/// assert_eq!(fused.graph.weight(0, 3), None);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fusion {
    /// Not at all: the graph of the rows side by side.
    Rows,
    /// By the mean score of the ranks in the lists of every view and of the rows side by side.
    #[default]
    Ranks,
    /// The mean of the graphs of the views.
    Mean,
    /// The same, where a view weighs by how often the nearest labeled item is of the same class.
    Weighted,
    /// The mean, times the share of the views that have the edge.
    Agreement,
}

/// A graph of several views.
#[derive(Debug, Clone)]
pub struct Fused {
    /// The graph.
    pub graph: Graph,
    /// The lists that it was made of, `k` neighbours an item; `None` for the forms that add up graphs. With
    /// [`Fusion::Ranks`] their similarities are scores.
    pub neighbors: Option<Neighbors>,
}

impl Fusion {
    /// Whether the graph comes with the lists that it was made of.
    pub fn has_lists(self) -> bool {
        matches!(self, Self::Rows | Self::Ranks)
    }

    /// Neighbours that are searched of each of `n` items in every view, for a graph of `k`.
    pub fn depth(self, k: usize, n: usize) -> usize {
        match self {
            Self::Ranks => k.saturating_mul(DEEPER).min(n.saturating_sub(1)).max(k),
            Self::Rows | Self::Mean | Self::Weighted | Self::Agreement => k,
        }
    }

    /// The graph of the views, with the neighbours, the exponent and the rule of `settings`. `labels` are
    /// for [`Weighted`](Self::Weighted) alone.
    ///
    /// Fails as [`KnnGraph::build`] does, on views of other numbers of items, and without labels where it
    /// needs some.
    pub fn build(
        self,
        settings: &KnnGraph,
        of: &Views,
        labels: Option<&Labels>,
        monitor: &Monitor,
    ) -> Result<Fused> {
        self.build_by(settings, of, labels, monitor, |rows, k| {
            Ok(settings.clone().k(k).neighbors(rows, monitor)?.0)
        })
    }

    /// As [`build`](Self::build), with the lists of a search of another kind: of so many neighbours, by the
    /// cosine of these rows.
    pub fn build_by(
        self,
        settings: &KnnGraph,
        of: &Views,
        labels: Option<&Labels>,
        monitor: &Monitor,
        mut search: impl FnMut(ArrayView2<f32>, usize) -> Result<Neighbors>,
    ) -> Result<Fused> {
        of.check(settings)?;
        let neighbors = match self {
            Self::Rows => search(of.side_by_side, settings.n_neighbors())?,
            Self::Ranks => {
                let k = settings.n_neighbors();
                ranked(k, self.depth(k, of.n()), of, &mut search, monitor)?
            }
            Self::Mean | Self::Weighted | Self::Agreement => {
                let weights = if self == Self::Weighted {
                    weights(of, labels, monitor)?
                } else {
                    vec![1.0; of.apart.len()]
                };
                let graphs = graphs(settings, of, &weights, &mut search)?;
                return Ok(Fused {
                    graph: self.averaged(of.n(), &graphs),
                    neighbors: None,
                });
            }
        };
        Ok(Fused {
            graph: settings.from_neighbors(&neighbors)?,
            neighbors: Some(neighbors),
        })
    }

    /// The mean of the graphs. Each sum is over the views in their order, and so the same to the bit for both entries
    /// of an edge.
    fn averaged(self, n: usize, graphs: &[Weighed]) -> Graph {
        // What the views of an item weigh together.
        let whole = parallel::map_rows(n, |i| {
            let own = graphs.iter().filter(|of| of.items.place(i).is_some());
            own.map(|of| of.weight).sum::<f64>()
        });
        Graph::from_rows(n, |i, row| {
            let mut entries: Vec<(u32, f64)> = Vec::new();
            for of in graphs {
                let Some(place) = of.items.place(i) else {
                    continue;
                };
                let (columns, weights) = of.graph.row(place);
                let own = columns.iter().zip(weights);
                entries.extend(own.map(|(&j, &w)| (of.items.item(j), of.weight * f64::from(w))));
            }
            // Stable: views stay in their order.
            entries.sort_by_key(|&(j, _)| j);
            for same in entries.chunk_by(|a, b| a.0 == b.0) {
                let j = same[0].0;
                let whole = whole[i].max(whole[j as usize]);
                let mut weight = same.iter().map(|&(_, w)| w).sum::<f64>() / whole;
                if self == Self::Agreement {
                    weight *= same.len() as f64 / whole;
                }
                let weight = weight as f32;
                if weight > 0.0 {
                    row.push((j, weight));
                }
            }
        })
    }
}

/// The graph of the items that have a view, and what the view weighs.
struct Weighed {
    graph: Graph,
    items: Items,
    weight: f64,
}

fn graphs(
    settings: &KnnGraph,
    of: &Views,
    weights: &[f64],
    search: &mut Searching,
) -> Result<Vec<Weighed>> {
    let each = of.apart.iter().zip(weights);
    each.map(|(view, &weight)| {
        let lists = Lists::of(view, settings.n_neighbors(), search)?;
        Ok(Weighed {
            graph: settings.from_neighbors(&lists.neighbors)?,
            items: lists.items,
            weight,
        })
    })
    .collect()
}

/// What each view weighs by the labels; the sum is 1.
fn weights(of: &Views, labels: Option<&Labels>, monitor: &Monitor) -> Result<Vec<f64>> {
    let Some(labels) = labels.filter(|labels| labels.n_known() > 0) else {
        let message =
            "fuse = weighted: views weigh by the labels, and no item has one; ranks needs none";
        return Err(Error::data(message).hint(Hint::GiveLabels));
    };
    labels.check_single("fuse = weighted")?;
    if labels.len() != of.n() {
        let (labels, n) = (labels.len(), of.n());
        let message = format!("there are labels of {labels} items, but views of {n}");
        return Err(Error::data(message));
    }
    let above: Vec<f64> = (of.apart.iter())
        .map(|view| Ok(above_chance(view, labels, monitor)?.max(LEAST)))
        .collect::<Result<_>>()?;
    let sum: f64 = above.iter().sum();
    let weights: Vec<f64> = above.iter().map(|above| above / sum).collect();
    let named = of.apart.iter().zip(&weights);
    let named: Vec<String> = named
        .map(|(view, weight)| format!("{} {weight:.2}", view.name))
        .collect();
    monitor.remark(format!("views weigh by the labels: {}", named.join(", ")));
    Ok(weights)
}

/// How much oftener than by chance the nearest other labeled item is of the same class.
fn above_chance(view: &OfView, labels: &Labels, monitor: &Monitor) -> Result<f64> {
    let has = |&i: &usize| view.present.as_ref().is_none_or(|present| present[i]);
    let known = |i: usize| labels[i].class().map(|class| (i, class));
    let (items, classes): (Vec<usize>, Vec<u32>) =
        (0..labels.len()).filter(has).filter_map(known).unzip();
    if items.len() < 2 {
        return Ok(0.0);
    }
    let rows = matrix::select_rows(view.rows, &items);
    let nearest = exact(rows.view(), 1, Metric::Cosine, &monitor.quiet())?;
    let pairs = classes.iter().zip(&nearest.indices);
    let right = pairs.filter(|&(class, &j)| *class == classes[j as usize]);
    let mut sizes = vec![0.0_f64; labels.n_classes()];
    for &class in &classes {
        sizes[class as usize] += 1.0;
    }
    let l = items.len() as f64;
    let chance = sizes.iter().map(|size| size * (size - 1.0)).sum::<f64>() / (l * (l - 1.0));
    Ok(right.count() as f64 / l - chance)
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Some results are exact.
mod tests {
    use super::*;
    use crate::reference::{in_one_and_two_threads, random_labels};
    use crate::seed;
    use ndarray::{Array2, Axis, array};
    use proptest::prelude::*;
    use rand::RngExt;

    const FORMS: [Fusion; 5] = [
        Fusion::Rows,
        Fusion::Ranks,
        Fusion::Mean,
        Fusion::Weighted,
        Fusion::Agreement,
    ];

    /// Views of `n` items, and which items have them.
    struct Scene {
        rows: Vec<Array2<f32>>,
        present: Vec<Vec<bool>>,
        side: Array2<f32>,
    }

    impl Scene {
        /// Items have a view with the probability `share`; all have it where that is 1.
        fn random(n: usize, columns: &[usize], share: f64, seed: u64) -> Self {
            let mut rng = seed::stream(seed, "test views");
            let rows = columns
                .iter()
                .map(|&d| Array2::from_shape_fn((n, d), |_| rng.random::<f32>() - 0.4));
            let rows: Vec<Array2<f32>> = rows.collect();
            let present = columns
                .iter()
                .map(|_| (0..n).map(|_| rng.random::<f64>() < share).collect());
            Self::new(rows, present.collect())
        }

        /// What is missing is zeros in the rows side by side.
        fn new(rows: Vec<Array2<f32>>, present: Vec<Vec<bool>>) -> Self {
            let parts: Vec<Array2<f32>> = (rows.iter().zip(&present))
                .map(|(rows, present)| {
                    let mut rows = matrix::l2_normalize(rows.clone());
                    for (mut row, has) in rows.rows_mut().into_iter().zip(present) {
                        row *= f32::from(u8::from(*has));
                    }
                    rows
                })
                .collect();
            let parts: Vec<_> = parts.iter().map(|part| part.view()).collect();
            let side = ndarray::concatenate(Axis(1), &parts).unwrap();
            Self {
                rows,
                present,
                side,
            }
        }

        fn whole(rows: Vec<Array2<f32>>) -> Self {
            let present = rows.iter().map(|rows| vec![true; rows.nrows()]).collect();
            Self::new(rows, present)
        }

        fn views(&self) -> Views<'_> {
            let each = self.rows.iter().zip(&self.present);
            let apart = each.map(|(rows, present)| OfView {
                name: "v",
                rows: rows.view(),
                present: Some(present.clone()),
            });
            Views {
                side_by_side: self.side.view(),
                apart: apart.collect(),
            }
        }

        fn build(&self, form: Fusion, k: usize, labels: Option<&Labels>) -> Result<Fused> {
            let settings = KnnGraph::new().k(k);
            form.build(&settings, &self.views(), labels, &Monitor::silent())
        }

        /// The usual graph of the first view.
        fn first(&self, k: usize) -> Graph {
            let settings = KnnGraph::new().k(k);
            settings
                .build(self.rows[0].view(), &Monitor::silent())
                .unwrap()
        }
    }

    /// Rank and cosine of item `j` in the list of item `i`, where it is in it.
    fn dense_lists(rows: &Array2<f32>, present: &[bool], k: usize) -> Array2<Option<(usize, f32)>> {
        let n = rows.nrows();
        let items: Vec<usize> = (0..n).filter(|&i| present[i]).collect();
        let mut all = Array2::from_elem((n, n), None);
        if items.len() < 2 {
            return all;
        }
        let own = matrix::select_rows(rows.view(), &items);
        let k = k.min(items.len() - 1);
        let found = exact(own.view(), k, Metric::Cosine, &Monitor::silent()).unwrap();
        for ((i, rank), &j) in found.indices.indexed_iter() {
            all[[items[i], items[j as usize]]] = Some((rank, found.similarities[[i, rank]]));
        }
        all
    }

    /// The default rule: a tenth of what one end alone lists.
    fn symmetric(a: &Array2<f64>) -> Array2<f64> {
        Array2::from_shape_fn(a.dim(), |(i, j)| {
            let (out, back) = (a[[i, j]], a[[j, i]]);
            let share = if out > 0.0 && back > 0.0 { 1.0 } else { 0.1 };
            share * (out + back)
        })
    }

    fn affinities(lists: &Array2<Option<(usize, f32)>>) -> Array2<f64> {
        symmetric(&lists.mapv(|listed| listed.map_or(0.0, |(_, s)| f64::from(s.max(0.0)).powi(3))))
    }

    /// What a list weighs, by the definition.
    fn dense_weight(lists: &Array2<Option<(usize, f32)>>, present: &[bool], k: usize) -> f64 {
        let n = present.iter().filter(|&&has| has).count();
        let k = k.min(n.saturating_sub(1));
        if k == 0 {
            return 1e-3;
        }
        let near =
            lists.mapv(|listed| f64::from(u8::from(listed.is_some_and(|(rank, _)| rank < k))));
        let closed = (near.dot(&near) * &near).sum() / (n * k * k) as f64;
        let beyond = (closed - k as f64 / n as f64) / 0.25;
        beyond.clamp(0.0, 1.0).powi(2).max(1e-3)
    }

    /// `ranks` by its formula, with a matrix of all scores.
    fn dense_ranks(scene: &Scene, k: usize) -> Array2<f64> {
        let n = scene.side.nrows();
        let depth = (3 * k).min(n - 1);
        let all: Vec<bool> = (0..n).map(|i| scene.present.iter().all(|p| p[i])).collect();
        let rows = scene.rows.iter().chain([&scene.side]);
        let present: Vec<&[bool]> = (scene.present.iter().map(Vec::as_slice))
            .chain([all.as_slice()])
            .collect();
        let lists: Vec<_> = (rows.zip(&present))
            .map(|(rows, present)| dense_lists(rows, present, depth))
            .collect();
        let of = lists.iter().zip(&present);
        let weights: Vec<f64> = of.map(|(lists, has)| dense_weight(lists, has, k)).collect();
        let mut a = Array2::zeros((n, n));
        for i in 0..n {
            let score = |j: usize| {
                let (mut sum, mut whole) = (0.0, 0.0);
                for ((lists, has), weight) in lists.iter().zip(&present).zip(&weights) {
                    if !has[i] {
                        continue;
                    }
                    whole += weight * if has[j] { 1.0 } else { 0.5 };
                    sum += match lists[[i, j]] {
                        Some((rank, cosine)) if cosine > 0.0 => {
                            weight * k as f64 / (k + rank) as f64
                        }
                        _ => 0.0,
                    };
                }
                if whole > 0.0 { sum / whole } else { 0.0 }
            };
            let mut others: Vec<usize> = (0..n).filter(|&j| j != i && score(j) > 0.0).collect();
            // In f32 sums of the same scores in another order are the same.
            let key = |j: usize| score(j) as f32;
            others.sort_by(|&a, &b| key(b).total_cmp(&key(a)).then(a.cmp(&b)));
            for &j in others.iter().take(k) {
                a[[i, j]] = score(j).powi(3);
            }
        }
        symmetric(&a)
    }

    /// The forms that add up graphs, by theirs.
    fn dense_mean(scene: &Scene, k: usize, weights: &[f64], agree: bool) -> Array2<f64> {
        let n = scene.side.nrows();
        let graphs: Vec<Array2<f64>> = (scene.rows.iter().zip(&scene.present))
            .map(|(rows, present)| affinities(&dense_lists(rows, present, k)))
            .collect();
        let of_item = |i: usize| -> f64 {
            let has = weights.iter().zip(&scene.present);
            has.map(|(w, present)| if present[i] { *w } else { 0.0 })
                .sum()
        };
        Array2::from_shape_fn((n, n), |(i, j)| {
            let whole = of_item(i).max(of_item(j));
            let sum: f64 = graphs.iter().zip(weights).map(|(g, w)| w * g[[i, j]]).sum();
            let with = graphs.iter().filter(|g| g[[i, j]] > 0.0).count() as f64;
            match sum {
                0.0 => 0.0,
                sum if agree => sum / whole * with / whole,
                sum => sum / whole,
            }
        })
    }

    /// What views weigh by labels, by the formula.
    fn dense_weights(scene: &Scene, labels: &Labels) -> Vec<f64> {
        let above = scene
            .rows
            .iter()
            .zip(&scene.present)
            .map(|(rows, present)| {
                let n = rows.nrows();
                let known: Vec<bool> = (0..n)
                    .map(|i| present[i] && labels[i].class().is_some())
                    .collect();
                let same = |i: usize, j: usize| f64::from(u8::from(labels[i] == labels[j]));
                let items: Vec<usize> = (0..n).filter(|&i| known[i]).collect();
                if items.len() < 2 {
                    return LEAST;
                }
                let nearest = dense_lists(rows, &known, 1);
                let pairs = || {
                    items
                        .iter()
                        .flat_map(|&i| items.iter().map(move |&j| (i, j)))
                };
                let listed = pairs().filter(|&(i, j)| nearest[[i, j]].is_some());
                let right: f64 = listed.map(|(i, j)| same(i, j)).sum();
                let alike: f64 = pairs()
                    .filter(|(i, j)| i != j)
                    .map(|(i, j)| same(i, j))
                    .sum();
                let l = items.len() as f64;
                (right / l - alike / (l * (l - 1.0))).max(LEAST)
            });
        let above: Vec<f64> = above.collect();
        let sum: f64 = above.iter().sum();
        above.iter().map(|above| above / sum).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn every_form_equals_its_formula(
            n in 3_usize..45, v in 1_usize..4, k in 1_usize..9, share in 0.5_f64..1.2, seed in 0_u64..1000,
        ) {
            let k = k.min(n - 1);
            let scene = Scene::random(n, &[3, 5, 2][..v], share, seed);
            let labels = random_labels(n, 3, seed);
            let ones = vec![1.0; v];
            let weights = dense_weights(&scene, &labels);
            for (form, expected) in [
                (Fusion::Ranks, dense_ranks(&scene, k)),
                (Fusion::Mean, dense_mean(&scene, k, &ones, false)),
                (Fusion::Weighted, dense_mean(&scene, k, &weights, false)),
                (Fusion::Agreement, dense_mean(&scene, k, &ones, true)),
            ] {
                let graph = scene.build(form, k, Some(&labels)).unwrap().graph;
                for ((i, j), &expected) in expected.indexed_iter() {
                    let w = graph.weight(i, j).map_or(0.0, f64::from);
                    prop_assert!((w - expected).abs() <= 1e-5, "{form:?} {i} {j}: {w} {expected}");
                }
                let (p, i, w) = (graph.indptr(), graph.indices(), graph.weights());
                prop_assert_eq!(Graph::new(p.to_vec(), i.to_vec(), w.to_vec()).unwrap(), graph);
            }
        }
    }

    #[test]
    fn of_one_view_and_of_copies_the_mean_is_the_usual_graph() {
        let one = Scene::random(60, &[4], 1.0, 1);
        let usual = one.first(6);
        let copies = Scene::whole(vec![one.rows[0].clone(); 3]);
        for scene in [&one, &copies] {
            for form in [Fusion::Mean, Fusion::Agreement] {
                let fused = scene.build(form, 6, None).unwrap();
                assert_eq!(fused.graph, usual, "{form:?}");
                assert!(fused.neighbors.is_none() && !form.has_lists());
            }
        }
        let of_rows = KnnGraph::new()
            .k(6)
            .build(copies.side.view(), &Monitor::silent());
        assert_eq!(
            copies.build(Fusion::Rows, 6, None).unwrap().graph,
            of_rows.unwrap()
        );
        // All lists agree: the ranks of one of them.
        let ranked = copies
            .build(Fusion::Ranks, 6, None)
            .unwrap()
            .neighbors
            .unwrap();
        let listed = exact(one.rows[0].view(), 6, Metric::Cosine, &Monitor::silent()).unwrap();
        assert_eq!(ranked.indices, listed.indices);
        for row in ranked.similarities.rows() {
            let scores = (0..6).map(|rank| 1.0 / (1.0 + f64::from(rank) / 6.0));
            assert!(
                row.iter()
                    .zip(scores)
                    .all(|(&found, score)| (f64::from(found) - score).abs() < 1e-6)
            );
        }
    }

    #[test]
    fn lists_end_where_there_are_no_more_items() {
        assert_eq!(Fusion::Ranks.depth(3, 5), 4);
        assert_eq!(Fusion::Ranks.depth(3, 50), 9);
        assert_eq!(Fusion::Mean.depth(3, 50), 3);
        let scene = Scene::random(5, &[3, 4], 1.0, 2);
        for form in FORMS {
            let labels = Labels::parse(["a", "a", "b", "b", ""]);
            let fused = scene.build(form, 3, Some(&labels)).unwrap();
            assert_eq!(fused.graph.n(), 5);
            assert_eq!(
                fused.neighbors.map(|lists| lists.k),
                form.has_lists().then_some(3)
            );
            let e = scene.build(form, 5, Some(&labels)).unwrap_err().to_string();
            assert!(
                e.starts_with("k = 5: must be below the number of items, n = 5"),
                "{e}"
            );
        }
    }

    #[test]
    fn an_item_without_a_view_is_judged_by_the_others() {
        let corner = array![[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]];
        let bent = array![[1.0, 0.0], [0.8, 0.6], [0.0, 0.0], [0.0, 0.0]];
        let scene = Scene::new(
            vec![corner, bent],
            vec![vec![true; 4], vec![true, true, false, false]],
        );
        let weights = |form| {
            let graph = scene.build(form, 1, None).unwrap().graph;
            assert_eq!(graph.nnz(), 4, "{form:?}");
            [(0, 1), (2, 3)].map(|(i, j)| graph.weight(i, j).unwrap())
        };
        // First in all lists of those that have some.
        assert_eq!(weights(Fusion::Ranks), [2.0, 2.0]);
        // 2 in one view and 2 x 0.8^3 in the other; 2 in the only one.
        for form in [Fusion::Mean, Fusion::Agreement] {
            let [both, alone] = weights(form);
            assert!(
                (both - 1.512).abs() < 1e-5 && alone == 2.0,
                "{form:?} {both}"
            );
        }
        // Rows of zeros say the same.
        let found = OfView::new("bent", scene.rows[1].view()).present;
        assert_eq!(found.as_ref(), Some(&scene.present[1]));
        assert_eq!(OfView::new("corner", scene.rows[0].view()).present, None);
    }

    #[test]
    fn an_item_that_is_like_nothing_and_a_view_of_one_item_have_no_edge() {
        let rows = array![[1.0, 0.0], [1.0, 0.1], [0.0, 0.0], [-1.0, 0.0]];
        let other = array![[1.0], [1.0], [0.0], [0.0]];
        let one_alone = vec![true, false, false, false];
        let scene = Scene::new(vec![rows, other], vec![vec![true; 4], one_alone]);
        for form in [Fusion::Ranks, Fusion::Mean, Fusion::Agreement] {
            let graph = scene.build(form, 2, None).unwrap().graph;
            assert_eq!(graph.isolated(), [2, 3], "{form:?}");
        }
    }

    #[test]
    fn views_weigh_what_labels_say_of_them() {
        let good = array![[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]];
        let bad = array![[1.0, 0.0], [0.0, 1.0], [1.0, 0.1], [0.1, 1.0]];
        let scene = Scene::whole(vec![good, bad]);
        let of = |labels: [&str; 4]| {
            weights(
                &scene.views(),
                Some(&Labels::parse(labels)),
                &Monitor::silent(),
            )
            .unwrap()
        };
        // All right, and none right; by chance a third would be.
        let [first, second] = of(["a", "a", "b", "b"])[..] else {
            panic!("two views")
        };
        let above = 2.0 / 3.0;
        assert!((first - above / (above + 0.01)).abs() < 1e-12);
        assert!((second - 0.01 / (above + 0.01)).abs() < 1e-12);
        // One label a class, or one label, says nothing.
        assert_eq!(of(["a", "b", "", ""]), [0.5, 0.5]);
        assert_eq!(of(["a", "", "", ""]), [0.5, 0.5]);
        for labels in [None, Some(Labels::unknown(4))] {
            let e = scene
                .build(Fusion::Weighted, 1, labels.as_ref())
                .unwrap_err();
            assert!(
                e.to_string()
                    .starts_with("fuse = weighted: views weigh by the labels"),
                "{e}"
            );
            assert_eq!(e.what_to_do(), Some(Hint::GiveLabels));
        }
        let few = Labels::parse(["a", "b"]);
        let e = scene.build(Fusion::Weighted, 1, Some(&few)).unwrap_err();
        assert_eq!(e.to_string(), "there are labels of 2 items, but views of 4");
    }

    #[test]
    fn views_of_other_items_are_refused() {
        let mut scene = Scene::random(6, &[2, 3], 1.0, 3);
        scene.rows[1] = Array2::ones((5, 3));
        let e = scene.build(Fusion::Ranks, 2, None).unwrap_err().to_string();
        assert!(e.starts_with("view v: 5 rows"), "{e}");
        let none = Views {
            side_by_side: scene.side.view(),
            apart: Vec::new(),
        };
        let settings = KnnGraph::new().k(2);
        assert!(
            Fusion::Mean
                .build(&settings, &none, None, &Monitor::silent())
                .is_err()
        );
    }

    #[test]
    fn the_form_is_a_word() {
        for (form, word) in FORMS
            .iter()
            .zip(["rows", "ranks", "mean", "weighted", "agreement"])
        {
            assert_eq!(serde_json::to_value(form).unwrap(), word);
        }
        assert_eq!(Fusion::default(), Fusion::Ranks);
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bytes() {
        let scene = Scene::random(1500, &[3, 6, 4], 0.9, 4);
        let labels = random_labels(1500, 4, 4);
        for form in FORMS {
            let build = || scene.build(form, 7, Some(&labels)).unwrap().graph;
            let (one, two) = in_one_and_two_threads(build);
            assert_eq!(one, two, "{form:?}");
        }
    }
}
