//! Propagated affinities: how alike two neighbours are, from labeled pairs spread over the
//! directed graph of nearest neighbours.
//!
//! `W* = (1 - gamma) (I - gamma Q)^-1 W0`, `W = (W* + W*^T) / 2`, where `Q_ij = 1/k` if `j` is
//! among the `k` nearest neighbours of `i`, and `W0` is 1 on the diagonal and on labeled pairs
//! of one class, -1 on labeled pairs of two classes, 0 elsewhere. `W` is wanted only
//! between an item and its neighbours; to mine triplets from it see
//! [`tuple::affinity`](crate::tuple::affinity).
//!
//! With `R = (I - gamma Q)^-1`, `H = R Y` (`n x C`) and `h = H 1`, column `j` of `W*` is
//! `(1 - gamma) (2 H_c - h)` for a labeled item of class `c`, the same for all of its class,
//! and `(1 - gamma) R e_j` for an unlabeled one. So one solve a class and one an
//! unlabeled item give all that is needed, and only the values at neighbours are kept.
//!
//! **Use it** on some 10,000 items at a time, labeled ones and a random part of the
//! others, as the source does. **Not** on more than about 100,000 at once, unless with
//! [`Entries::Pushed`]: one solve an item costs O(n k), so all cost O(n²k). And not with a
//! symmetrised `Q`, which is another method.
//!
//! Cost: time O(n² k x iterations) solved, O(n / ((1 - gamma) threshold) k) pushed; memory
//! O(nk + nC) and some 80 vectors a thread. [`affinity_exact`] is the dense form, O(n³).
//!
//! Source: Liu, He and Chang 2010, in the form of Dutta, Harandi and Sekhar, AAAI 2021. An item
//! is not its own neighbour. The column form is ours; it is the same matrix.

pub(crate) mod walk;

use faer::Mat;
use faer::linalg::solvers::Solve;
use ndarray::Array2;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use self::walk::{Block, Report, WIDTH, Walk};
use super::parts::parameter::{fraction, positive};
use crate::neighbor::Neighbors;
use crate::solve::on_one_thread;
use crate::{Error, Labels, Monitor, Result, parallel};

/// Most items of the dense form: 1.2 GB for each of its matrices.
const EXACT: usize = 12_000;

/// How the entries of `R` at neighbours are found.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Entries {
    /// One solve an unlabeled item, by stabilised biconjugate gradients. No entry of `W*` is
    /// off by more than `tolerance` (labeled columns: times the number of classes and 2).
    #[default]
    Solved,
    /// One local walk an item: what arrives at a node is sent on while it is more than
    /// `threshold`. What is left is spread as if it were everywhere. The time of an item does
    /// not grow with `n`. On 3000 items in ten classes, `k = 10` and `gamma = 0.99`, 99.1 % of the
    /// pairs of neighbours stood in the right order at 1e-3, 99.96 % at 1e-4 and 81 % at 1e-2,
    /// in 2.5, 14 and 0.1 times the time of solving: it pays above some 10,000 and
    /// 50,000 items. An entry of column `z` is off by at most `threshold` times `(1 - gamma)` times the
    /// sum of column `z` of `R`, which is 1 in the mean and large at hubs.
    Pushed {
        /// Above 0; 1e-3 to 1e-4 are useful.
        threshold: f64,
    },
}

/// Parameters of affinity propagation.
///
/// ```
/// use likewise::neighbor::{Metric, exact};
/// use likewise::propagate::Affinity;
/// use likewise::{Labels, Monitor};
/// let monitor = Monitor::silent();
/// let x = ndarray::array![[1.0, 0.0], [0.9, 0.1], [0.2, 0.9], [0.0, 1.0], [0.6, 0.5]];
/// let neighbors = exact(x.view(), 2, Metric::Cosine, &monitor)?;
/// let labels = Labels::parse(["a", "", "", "b", ""]);
/// let affinities = Affinity::new().gamma(0.9).spread(&neighbors, &labels, &monitor)?;
/// // Item 0 and its nearest neighbour, item 1.
/// assert!((affinities.values[[0, 0]] - 0.14398443).abs() < 1e-8);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Affinity {
    gamma: f64,
    entries: Entries,
    tolerance: f64,
    max_iterations: usize,
}

/// The affinity of every item to each of its neighbours.
#[derive(Debug, Clone, PartialEq)]
pub struct Affinities {
    /// `W` at the neighbours (`n x k`), in the order of [`Neighbors::indices`].
    pub values: Array2<f64>,
    /// How near each item is to the labeled items of each class (`n x C`): the share of its
    /// walks that end there. Its largest entry tells the class that an item belongs to.
    pub classes: Array2<f64>,
    /// Most iterations that a solve took.
    pub iterations: usize,
    /// Largest residual of a solve in any row: the bound of the error of a solved entry.
    pub residual: f64,
    /// Whether every solve met the tolerance.
    pub converged: bool,
}

impl Default for Affinity {
    fn default() -> Self {
        Self {
            gamma: 0.99,
            entries: Entries::Solved,
            tolerance: 1e-10,
            max_iterations: 3000,
        }
    }
}

impl Affinity {
    /// `gamma = 0.99`, every item solved.
    pub fn new() -> Self {
        Self::default()
    }

    /// Share that is passed on at each step, above 0 and below 1.
    #[must_use]
    pub fn gamma(mut self, gamma: f64) -> Self {
        self.gamma = gamma;
        self
    }

    /// How the entries are found.
    #[must_use]
    pub fn entries(mut self, entries: Entries) -> Self {
        self.entries = entries;
        self
    }

    /// Largest error of an entry of a solved column, above 0.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Most iterations of a solve, at least 1. Reaching it is reported, not an error.
    #[must_use]
    pub fn max_iterations(mut self, max_iterations: usize) -> Self {
        self.max_iterations = max_iterations;
        self
    }

    /// The affinities of all items to their neighbours.
    ///
    /// Labels may all be unknown; an outside label counts as unknown. Fails on broken lists,
    /// if labels and lists differ in length, on parameters out of range, and when cancelled.
    pub fn spread(
        &self,
        neighbors: &Neighbors,
        labels: &Labels,
        monitor: &Monitor,
    ) -> Result<Affinities> {
        fraction("gamma", self.gamma)?;
        positive("tolerance", self.tolerance)?;
        if self.max_iterations == 0 {
            return Err(Error::parameter("max_iterations", 0, "must be at least 1"));
        }
        if let Entries::Pushed { threshold } = self.entries {
            positive("threshold", threshold)?;
        }
        check(neighbors, labels)?;
        let walk = Walk::new(neighbors, self.gamma);
        let class: Vec<Option<usize>> = (labels.items().iter())
            .map(|label| label.class().map(|class| class as usize))
            .collect();
        let n = neighbors.n();

        monitor.start("affinities: classes", None);
        let classes = labels.by_class();
        let wanted: Vec<&[usize]> = classes.iter().map(Vec::as_slice).collect();
        let (batches, mut report) = self.solve(&walk, &wanted, monitor, |x, lane, _| {
            x.iter().map(|row| row[lane]).collect::<Vec<f64>>()
        })?;
        let mut labeled = Array2::zeros((n, classes.len()));
        for (mut column, values) in labeled.columns_mut().into_iter().zip(batches) {
            column.assign(&ndarray::ArrayView1::from(&values));
        }
        let near = &labeled * (1.0 - self.gamma);
        // 2 H - h: what a labeled neighbour of each class contributes.
        for mut row in labeled.rows_mut() {
            let sum = row.sum();
            row.mapv_inplace(|h| 2.0 * h - sum);
        }
        monitor.end();

        monitor.start("affinities: items", n as u64);
        let (out, into) = match self.entries {
            Entries::Solved => {
                let unlabeled: Vec<usize> = (0..n).filter(|&i| class[i].is_none()).collect();
                let wanted: Vec<&[usize]> = unlabeled.chunks(1).collect();
                let (found, more) = self.solve(&walk, &wanted, monitor, |x, lane, wanted| {
                    walk.at_neighbors(wanted[0], |i| x[i][lane])
                })?;
                report = report.and(more);
                walk.lay_out(unlabeled.into_iter().zip(found))
            }
            Entries::Pushed { threshold } => {
                let found = walk.push_all(threshold, monitor)?;
                // Rows of R instead of columns: what goes out and what comes in change places.
                let (out, into) = walk.lay_out((0..n).zip(found));
                (into, out)
            }
        };
        monitor.end();

        // At arc a -> z: `out` holds R_za, `into` holds R_az.
        let values = Array2::from_shape_fn((n, walk.k), |(a, p)| {
            let arc = a * walk.k + p;
            let z = walk.lists[arc] as usize;
            let there = class[z].map_or(into[arc], |c| labeled[[a, c]]);
            let back = class[a].map_or(out[arc], |c| labeled[[z, c]]);
            (1.0 - self.gamma) * (there + back) / 2.0
        });
        if !report.converged {
            monitor.warn(format!(
                "a solve stopped after {} iterations at a residual of {:.1e}; raise \
                 max_iterations or tolerance",
                report.iterations, report.residual
            ));
        }
        Ok(Affinities {
            values,
            classes: near,
            iterations: report.iterations,
            residual: report.residual,
            converged: report.converged,
        })
    }

    /// Solves one column for each of `wanted`, the rows at which its right-hand side is 1, and
    /// keeps of the solution what `keep(block, lane, rows)` says. In parallel over batches
    /// of columns, each in one thread.
    fn solve<T: Send>(
        &self,
        walk: &Walk,
        wanted: &[&[usize]],
        monitor: &Monitor,
        keep: impl Fn(&Block, usize, &[usize]) -> T + Sync,
    ) -> Result<(Vec<T>, Report)> {
        let done = AtomicU64::new(0);
        let batches = parallel::try_map(wanted.chunks(WIDTH), |wanted| {
            monitor.step(done.fetch_add(wanted.len() as u64, Relaxed))?;
            let mut b = vec![[0.0; WIDTH]; walk.n()];
            for (lane, rows) in wanted.iter().enumerate() {
                for &row in *rows {
                    b[row][lane] = 1.0;
                }
            }
            let (x, report) = walk.solve(&b, self.tolerance, self.max_iterations);
            let kept = wanted.iter().enumerate();
            let kept = kept.map(|(lane, rows)| keep(&x, lane, rows));
            Ok((kept.collect::<Vec<T>>(), report))
        })?;
        let (mut all, mut report) = (Vec::with_capacity(wanted.len()), Report::default());
        for (kept, one) in batches {
            all.extend(kept);
            report = report.and(one);
        }
        Ok((all, report))
    }
}

fn check(neighbors: &Neighbors, labels: &Labels) -> Result<()> {
    neighbors.check()?;
    if labels.len() != neighbors.n() {
        return Err(Error::data(format!(
            "there are {} labels, but neighbours of {} items; one label an item is needed",
            labels.len(),
            neighbors.n()
        )));
    }
    Ok(())
}

/// `W` of all pairs (`n x n`), by a dense LU decomposition: the yardstick.
///
/// O(n³) time and O(n²) memory; fails above 12,000 items, and as
/// [`Affinity::spread`] does.
pub fn affinity_exact(neighbors: &Neighbors, labels: &Labels, gamma: f64) -> Result<Array2<f64>> {
    fraction("gamma", gamma)?;
    check(neighbors, labels)?;
    let n = neighbors.n();
    if n > EXACT {
        return Err(Error::data(format!(
            "{n} items are too many for the dense form; take at most {EXACT}, or Affinity"
        )));
    }
    let mut system = Mat::<f64>::identity(n, n);
    for ((i, _), &j) in neighbors.indices.indexed_iter() {
        system[(i, j as usize)] -= gamma / neighbors.k as f64;
    }
    let given = Mat::from_fn(n, n, |i, j| match (labels[i].class(), labels[j].class()) {
        _ if i == j => 1.0,
        (Some(a), Some(b)) if a == b => 1.0,
        (Some(_), Some(_)) => -1.0,
        _ => 0.0,
    });
    let spread = on_one_thread(|| system.partial_piv_lu().solve(&given))?;
    Ok(Array2::from_shape_fn((n, n), |(i, j)| {
        (1.0 - gamma) * (spread[(i, j)] + spread[(j, i)]) / 2.0
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neighbor::{Metric, exact};
    use crate::reference::{self, in_one_and_two_threads};
    use crate::{ErrorKind, seed};
    use ndarray::array;
    use proptest::prelude::*;
    use rand::RngExt;

    fn toy() -> (Neighbors, Labels) {
        let x = array![[1.0, 0.0], [0.9, 0.1], [0.2, 0.9], [0.0, 1.0], [0.6, 0.5]];
        let neighbors = exact(x.view(), 2, Metric::Cosine, &Monitor::silent()).unwrap();
        (neighbors, Labels::parse(["0", "", "", "1", ""]))
    }

    fn clouds(n: usize, k: usize, classes: usize, noise: f32) -> Neighbors {
        let mut rng = seed::stream(5, "test clouds");
        let mut draw = |_| rng.random::<f32>() - 0.5;
        let centers = Array2::from_shape_fn((classes, 16), &mut draw);
        let x = Array2::from_shape_fn((n, 16), |(i, c)| {
            centers[[i % classes, c]] + noise * draw((i, c))
        });
        exact(x.view(), k, Metric::Cosine, &Monitor::silent()).unwrap()
    }

    fn spread(affinity: &Affinity, neighbors: &Neighbors, labels: &Labels) -> Affinities {
        (affinity.spread(neighbors, labels, &Monitor::silent())).unwrap()
    }

    #[test]
    fn the_check_values() {
        let (neighbors, labels) = toy();
        let lists = [[1, 4], [0, 4], [3, 4], [2, 4], [1, 2]];
        for (i, list) in lists.iter().enumerate() {
            let mut found = neighbors.indices.row(i).to_vec();
            found.sort_unstable();
            assert_eq!(found, list);
        }
        let expected = [
            (0, 0, 0.125_391_85),
            (0, 1, 0.143_984_43),
            (0, 2, 0.059_344_94),
            (0, 3, -0.125_391_85),
            (0, 4, 0.155_172_41),
            (1, 1, 0.300_508_05),
            (1, 2, 0.175_116_20),
            (1, 3, 0.059_344_94),
            (1, 4, 0.262_187_88),
            (2, 2, 0.300_508_05),
            (2, 3, 0.143_984_43),
            (2, 4, 0.262_187_88),
            (3, 3, 0.125_391_85),
            (3, 4, 0.155_172_41),
            (4, 4, 0.379_310_34),
        ];
        let dense = affinity_exact(&neighbors, &labels, 0.9).unwrap();
        for (i, j, w) in expected {
            assert!((dense[[i, j]] - w).abs() < 1e-8 && (dense[[j, i]] - w).abs() < 1e-8);
        }
        let pushed = Entries::Pushed { threshold: 1e-12 };
        for entries in [Entries::Solved, pushed] {
            let found = spread(
                &Affinity::new().gamma(0.9).entries(entries),
                &neighbors,
                &labels,
            );
            for ((i, p), w) in found.values.indexed_iter() {
                let j = neighbors.indices[[i, p]] as usize;
                assert!((w - dense[[i, j]]).abs() < 1e-9);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn equals_the_dense_form(
            n in 2_usize..60, k in 1_usize..8, classes in 1_u32..5,
            gamma in prop::sample::select(vec![0.5, 0.9, 0.99]), seed in 0_u64..10_000,
        ) {
            let k = k.min(n - 1);
            let mut rng = seed::stream(seed, "test features");
            let x = Array2::from_shape_fn((n, 3), |_| (rng.random::<f32>() * 8.0).round() - 4.0);
            let neighbors = exact(x.view(), k, Metric::Cosine, &Monitor::silent()).unwrap();
            let labels = reference::random_labels(n, classes, seed);
            let labels = if seed % 5 == 0 { Labels::unknown(n) } else { labels };
            let dense = affinity_exact(&neighbors, &labels, gamma).unwrap();
            let pushed = Affinity::new().entries(Entries::Pushed { threshold: 1e-9 });
            for affinity in [Affinity::new(), pushed] {
                let found = spread(&affinity.gamma(gamma), &neighbors, &labels);
                prop_assert!(found.converged && found.residual <= 1e-10);
                // All walks end somewhere; those that end at labeled items are shared out.
                let shares = found.classes.rows().into_iter().map(|row| row.sum());
                prop_assert!(shares.into_iter().all(|s| (-1e-9..=1.0 + 1e-9).contains(&s)));
                for ((i, p), w) in found.values.indexed_iter() {
                    let expected = dense[[i, neighbors.indices[[i, p]] as usize]];
                    prop_assert!((w - expected).abs() < 1e-7, "{w} {expected}");
                }
            }
        }
    }

    /// Small walks on which biconjugate gradients often break down: few items, one far label.
    #[test]
    fn every_solve_converges() {
        for seed in 0..600 {
            let mut rng = seed::stream(seed, "test features");
            let x = Array2::from_shape_fn((37, 3), |_| (rng.random::<f32>() * 8.0).round() - 4.0);
            let neighbors = exact(x.view(), 3, Metric::Cosine, &Monitor::silent()).unwrap();
            let labels = reference::random_labels(37, 1 + seed as u32 % 4, seed);
            let found = spread(&Affinity::new(), &neighbors, &labels);
            assert!(found.converged, "{seed}: {:e}", found.residual);
        }
    }

    /// Share of pairs of neighbours of one item that stand in the same order.
    fn agreement(neighbors: &Neighbors, found: &Array2<f64>, dense: &Array2<f64>) -> f64 {
        let (mut same, mut all) = (0_u32, 0_u32);
        for (i, row) in found.rows().into_iter().enumerate() {
            for p in 0..row.len() {
                for q in 0..p {
                    let expected = |p| dense[[i, neighbors.indices[[i, p]] as usize]];
                    all += 1;
                    same += u32::from((row[p] > row[q]) == (expected(p) > expected(q)));
                }
            }
        }
        f64::from(same) / f64::from(all)
    }

    #[test]
    fn neighbours_are_ranked_as_by_the_dense_form() {
        let (n, classes) = (900, 6);
        let neighbors = clouds(n, 10, classes, 1.5);
        let labels = Labels::from_integers((0..n).map(|i| (i % classes) as i64)).draw(10, 1);
        let dense = affinity_exact(&neighbors, &labels, 0.99).unwrap();
        let ranked = |entries| {
            let found = spread(&Affinity::new().entries(entries), &neighbors, &labels);
            agreement(&neighbors, &found.values, &dense)
        };
        assert!(ranked(Entries::Solved) > 0.9999);
        let (fine, rough) = (1e-5, 1e-2);
        let fine = ranked(Entries::Pushed { threshold: fine });
        let rough = ranked(Entries::Pushed { threshold: rough });
        assert!(fine > 0.99 && rough > 0.8 && fine > rough, "{fine} {rough}");
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bytes() {
        let neighbors = clouds(300, 5, 3, 1.0);
        let labels = reference::random_labels(300, 3, 1);
        let pushed = Entries::Pushed { threshold: 1e-4 };
        for entries in [Entries::Solved, pushed] {
            let affinity = Affinity::new().entries(entries);
            let (one, two) = in_one_and_two_threads(|| spread(&affinity, &neighbors, &labels));
            assert_eq!(one, two);
        }
    }

    #[test]
    fn too_few_iterations_are_reported() {
        let (neighbors, labels) = toy();
        let few = spread(&Affinity::new().max_iterations(1), &neighbors, &labels);
        assert!(!few.converged && few.iterations == 1 && few.residual > 1e-10);
    }

    #[test]
    fn bad_input_is_refused_and_parameters_survive_json() {
        let (neighbors, labels) = toy();
        let error = |affinity: Affinity, labels: &Labels, monitor: &Monitor| {
            affinity.spread(&neighbors, labels, monitor).unwrap_err()
        };
        let silent = Monitor::silent();
        let text = |affinity| error(affinity, &labels, &silent).to_string();
        assert!(text(Affinity::new().gamma(1.0)).starts_with("gamma = 1"));
        assert!(text(Affinity::new().tolerance(f64::NAN)).starts_with("tolerance = NaN"));
        assert!(text(Affinity::new().max_iterations(0)).starts_with("max_iterations = 0"));
        let pushed = Affinity::new().entries(Entries::Pushed { threshold: 0.0 });
        assert!(text(pushed.clone()).starts_with("threshold = 0"));
        let short = error(Affinity::new(), &Labels::unknown(3), &silent);
        assert!(short.to_string().contains("3 labels"));
        assert!(affinity_exact(&neighbors, &Labels::unknown(3), 0.9).is_err());
        silent.cancel();
        let stopped = error(Affinity::new(), &labels, &silent);
        assert_eq!(stopped.kind(), ErrorKind::Cancelled);
        let json = serde_json::to_string(&pushed).unwrap();
        assert_eq!(serde_json::from_str::<Affinity>(&json).unwrap(), pushed);
        assert!(serde_json::from_str::<Affinity>("{\"mu\": 1}").is_err());
    }
}
