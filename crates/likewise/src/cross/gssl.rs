//! Graph-based semi-supervised learning: the labels spread over the neighbours of both modalities,
//! and linear maps into the space of the labels learn with them.
//!
//! ```text
//! min  sum_t |X_t W_t - F|^2 + mu sum_t tr(F^T Lap_t F) + eta sum_t sum of the lengths of the rows of W_t
//! F: classes of all objects; one-hot and fixed where they are known
//! ```
//!
//! with `Lap_t` the normalised Laplacian of the 10 nearest neighbours of modality `t`, weighted
//! `exp(-d^2 / s2)` with s2 the mean of the squared distances. It begins with the harmonic spread
//! of the labels and alternates:
//!
//! ```text
//! W_t = (X_t^T X_t + eta D_t)^-1 X_t^T F,   D_t = diag(1 / (2 |row of W_t|))      (at first I)
//! F_u: (T_o + mu Lap) F = sum_t X_t W_t over the T_o modalities of object o,      then F >= 0, rows sum to 1
//! ```
//!
//! Rows and `F` are centred in the regression, as with a bias that is not penalised. What is
//! embedded is `(x - mean) W_t`: how much more than usual each class is believed.
//!
//! **Use it** for numbers from few labels and many pairs without one. **Not** for bits, nor where
//! most is labeled: [`ClusterCca`](super::ClusterCca) is simpler. Here weight 0 is an object
//! *without a label*, which takes part; any larger weight is a label that is fixed.
//!
//! Cost: O(sweeps (n d^2 + d^3 + C steps n neighbours)) beside the search for neighbours (of up to 50,000 rows each with each, O(n^2 d); of more
//! by an index that finds 95 % of them), with the
//! steps of conjugate gradients, up to 1000 (a warning says where that does not do); memory
//! O(n (d + C + neighbours)).
//!
//! A row far from all others changes `s2`, and is without neighbours itself: with a thousand rows
//! its weights are 0.
//!
//! Source: after Zhang, Ma, He, Zhang, Gao and Yan, "Generalized semi-supervised and structured
//! subspace learning for cross-modal retrieval", IEEE Transactions on Multimedia 20(1), 2018, of
//! which the idea is known to us, not the formulas: the ones above are ours.

use ndarray::{Array1, Array2, Axis};
use serde::{Deserialize, Serialize};

use super::nearby::{Links, Solver};
use super::parts::{check_not_negative, check_positive, classes, mean, scaled, times, transposed};
use super::{Encoder, Model, Views};
use crate::linear::Affine;
use crate::linear::spd::{Cholesky, cross};
use crate::{Error, Monitor, Result};

/// Share of the right side that a solution may leave.
const EXACT: f64 = 1e-8;
/// Added to what an object keeps of itself in the first spread, so that objects no label reaches
/// have an answer: all classes alike.
const ANCHOR: f64 = 1e-6;
/// Added to the length of a row, which may be 0.
const SHORT: f64 = 1e-8;

/// Parameters of graph-based semi-supervised learning; see [`gssl`](self).
///
/// ```
/// use likewise::{Monitor, cross::{Gssl, Views}};
/// let x = ndarray::array![[0.0, 1.0], [0.1, 0.2], [2.0, 0.9], [2.1, 0.1_f32]];
/// let y = ndarray::array![[5.0], [5.1], [1.0], [1.2_f32]];
/// let views = Views::paired(&[x.view(), y.view()], &[0, 0, 1, 0], &[1.0, 0.0, 1.0, 0.0])?;
/// let found = Gssl::new().neighbors(1).fit(&views, &Monitor::silent())?;
/// assert!(found.classes[(1, 0)] > 0.5 && found.classes[(3, 1)] > 0.5);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gssl {
    neighbors: usize,
    mu: f64,
    eta: f64,
    sparse: bool,
    max_sweeps: usize,
    tolerance: f64,
}

/// A model, and what the objects were taken for.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// An encoder for each modality, into as many numbers as there are classes.
    pub model: Model,
    /// `F`, objects x classes: at least 0, rows sum to 1. Classes ascend.
    pub classes: Array2<f64>,
}

impl Default for Gssl {
    fn default() -> Self {
        Self {
            neighbors: 10,
            mu: 0.1,
            eta: 0.1,
            sparse: true,
            max_sweeps: 30,
            tolerance: 1e-4,
        }
    }
}

impl Gssl {
    /// 10 neighbours, mu = eta = .1, 30 sweeps.
    pub fn new() -> Self {
        Self::default()
    }

    /// Nearest neighbours of a row, at least 1.
    #[must_use]
    pub fn neighbors(mut self, neighbors: usize) -> Self {
        self.neighbors = neighbors;
        self
    }

    /// `mu`, the weight of the neighbours; at least 0.
    #[must_use]
    pub fn mu(mut self, mu: f64) -> Self {
        self.mu = mu;
        self
    }

    /// `eta`, the weight of the maps; above 0.
    #[must_use]
    pub fn eta(mut self, eta: f64) -> Self {
        self.eta = eta;
        self
    }

    /// Whether the lengths of the rows of the maps are penalised, which turns columns off, or
    /// their squares.
    #[must_use]
    pub fn sparse(mut self, sparse: bool) -> Self {
        self.sparse = sparse;
        self
    }

    /// Most sweeps; reaching it is no error.
    #[must_use]
    pub fn max_sweeps(mut self, max_sweeps: usize) -> Self {
        self.max_sweeps = max_sweeps;
        self
    }

    /// The sweeps end when the maps change by less than this share of their length.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Checks the parameters.
    pub fn validate(&self) -> Result<()> {
        for (field, value) in [
            ("gssl.neighbors", self.neighbors),
            ("gssl.max_sweeps", self.max_sweeps),
        ] {
            if value == 0 {
                return Err(Error::parameter(field, value, "must be at least 1"));
            }
        }
        check_not_negative("gssl.mu", self.mu)?;
        check_positive("gssl.eta", self.eta)?;
        check_positive("gssl.tolerance", self.tolerance)
    }

    /// Encoders of one or more modalities, from the objects with and without a label.
    ///
    /// Fails on a parameter out of range, without a labeled object, on rows so large that a solution
    /// is not finite, and when cancelled.
    pub fn fit(&self, views: &Views, monitor: &Monitor) -> Result<Spread> {
        self.validate()?;
        let classes = classes(views);
        if classes.is_empty() {
            return Err(Error::data(
                "gssl needs an object with a class of a weight above 0",
            ));
        }
        let problem = Problem::of(views, &classes, *self, monitor)?;
        let mut f = problem.harmonic(monitor)?;
        let mut maps: Vec<Array2<f64>> = Vec::new();
        monitor.start("sweeps", self.max_sweeps as u64);
        for sweep in 0..self.max_sweeps {
            let before = maps;
            maps = (problem.parts.iter().enumerate())
                .map(|(t, part)| problem.map(part, &f, before.get(t)))
                .collect::<Result<_>>()?;
            monitor.step(sweep as u64 + 1)?;
            if problem.unlabeled.is_empty() && !self.sparse
                || settled(&before, &maps, self.tolerance)
            {
                break;
            }
            f = problem.spread(&f, &maps, monitor)?;
        }
        monitor.end();
        let parts = problem.parts.into_iter().zip(maps);
        let encoders = parts
            .map(|(part, matrix)| {
                Encoder::Real(Affine {
                    mean: part.mean,
                    matrix,
                })
            })
            .collect();
        Ok(Spread {
            model: Model { encoders },
            classes: f,
        })
    }
}

/// Whether no map has changed by more than a share of its length.
fn settled(before: &[Array2<f64>], maps: &[Array2<f64>], tolerance: f64) -> bool {
    let length = |m: &Array2<f64>| m.iter().map(|v| v * v).sum::<f64>().sqrt();
    before.len() == maps.len()
        && before
            .iter()
            .zip(maps)
            .all(|(a, b)| length(&(a - b)) <= tolerance * length(b))
}

/// The rows of one modality.
struct Part {
    x: Array2<f64>,
    mean: Array1<f64>,
    object: Vec<usize>,
    squares: Array2<f64>,
}

struct Problem {
    parts: Vec<Part>,
    /// The class of each labeled object.
    known: Vec<Option<usize>>,
    unlabeled: Vec<usize>,
    classes: usize,
    links: Vec<Links>,
    /// Number of modalities of each object.
    seen: Vec<f64>,
    /// Number of modalities in which an object has a neighbour.
    linked: Vec<f64>,
    given: Gssl,
    solver: Solver,
}

impl Problem {
    fn of(views: &Views, classes: &[u32], given: Gssl, monitor: &Monitor) -> Result<Self> {
        let n = views.n_objects();
        let known: Vec<Option<usize>> = (views.class().iter().zip(views.weight()))
            .map(|(class, w)| (*w > 0.0).then(|| classes.partition_point(|c| c < class)))
            .collect();
        let (mut parts, mut links) = (Vec::new(), Vec::new());
        let (mut seen, mut linked) = (vec![0.0; n], vec![0.0; n]);
        for t in 0..views.n_modalities() {
            let x = views.rows(t).mapv(f64::from);
            let mean = mean(&x, &vec![1.0; x.nrows()]);
            let x = x - &mean;
            let object = views.object(t).to_vec();
            // Of equal rows all distances are 0, and their weight is 1.
            let heat = |apart: f64, s2: f64| if s2 > 0.0 { (-apart / s2).exp() } else { 1.0 };
            let near = Links::nearest(&x, given.neighbors, (&object, n), heat, monitor)?;
            for (linked, degree) in linked.iter_mut().zip(near.degrees()) {
                *linked += f64::from(u8::from(degree > 0.0));
            }
            for &o in &object {
                seen[o] += 1.0;
            }
            links.push(near.normalized());
            parts.push(Part {
                squares: cross(&x, &x),
                x,
                mean,
                object,
            });
        }
        let unlabeled = (0..n).filter(|&o| known[o].is_none()).collect();
        Ok(Self {
            parts,
            known,
            unlabeled,
            classes: classes.len(),
            links,
            seen,
            linked,
            given,
            solver: Solver::new(EXACT),
        })
    }

    /// The labels, spread over the neighbours.
    fn harmonic(&self, monitor: &Monitor) -> Result<Array2<f64>> {
        let even = 1.0 / self.classes as f64;
        let f = Array2::from_elem((self.known.len(), self.classes), even);
        let rest = Array2::from_elem(f.dim(), ANCHOR * even);
        self.solve(f, 1.0, &vec![ANCHOR; self.known.len()], rest, monitor)
    }

    /// The classes that neighbours and maps together ask for.
    fn spread(
        &self,
        f: &Array2<f64>,
        maps: &[Array2<f64>],
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        let mut asked = Array2::zeros(f.dim());
        for (part, map) in self.parts.iter().zip(maps) {
            let bias = mean(
                &f.select(Axis(0), &part.object),
                &vec![1.0; part.object.len()],
            );
            let rows = times(&part.x, map) + &bias;
            for (row, &o) in rows.rows().into_iter().zip(&part.object) {
                asked.row_mut(o).scaled_add(1.0, &row);
            }
        }
        // Objects that no modality shows stay as they are.
        let keep: Vec<f64> = self.seen.iter().map(|s| s.max(ANCHOR)).collect();
        for ((mut row, before), seen) in asked.rows_mut().into_iter().zip(f.rows()).zip(&self.seen)
        {
            if *seen <= 0.0 {
                row.scaled_add(ANCHOR, &before);
            }
        }
        self.solve(f.clone(), self.given.mu, &keep, asked, monitor)
    }

    /// `(keep + mu Lap) F = right` on the unlabeled objects, given the others; then cut off at 0, and
    /// rows to sum 1.
    fn solve(
        &self,
        mut f: Array2<f64>,
        mu: f64,
        keep: &[f64],
        mut right: Array2<f64>,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        let free: Vec<f64> = self
            .known
            .iter()
            .map(|k| f64::from(u8::from(k.is_none())))
            .collect();
        let mut fixed = Array2::<f64>::zeros(f.dim());
        for (o, class) in self.known.iter().enumerate() {
            if let Some(class) = class {
                fixed[(o, *class)] = 1.0;
                f.row_mut(o).fill(0.0);
            }
        }
        for (mut right, fixed) in right.columns_mut().into_iter().zip(fixed.columns()) {
            let (fixed, mut pull) = (fixed.to_vec(), vec![0.0; free.len()]);
            for links in &self.links {
                links.subtract(-mu, &fixed, &mut pull);
            }
            for ((right, pull), free) in right.iter_mut().zip(pull).zip(&free) {
                *right = free * (*right + pull);
            }
        }
        // Labeled objects are rows of the identity.
        let diagonal: Vec<f64> = (0..free.len())
            .map(|o| {
                if free[o] > 0.0 {
                    keep[o] + mu * self.linked[o]
                } else {
                    1.0
                }
            })
            .collect();
        let apply = |_: usize, x: &[f64], out: &mut [f64]| {
            out.fill(0.0);
            for links in &self.links {
                links.subtract(mu, x, out);
            }
            for (((out, x), d), free) in out.iter_mut().zip(x).zip(&diagonal).zip(&free) {
                *out = free * *out + d * x;
            }
        };
        let found = (self.solver).columns(&right, &f, |_| diagonal.clone(), apply, monitor)?;
        let even = 1.0 / self.classes as f64;
        for &o in &self.unlabeled {
            let row = found.row(o).mapv(|v| v.max(0.0));
            let sum = row.sum();
            let row = if sum > 0.0 {
                row / sum
            } else {
                row.mapv(|_| even)
            };
            fixed.row_mut(o).assign(&row);
        }
        Ok(fixed)
    }

    /// One map, given the classes and the map before it.
    fn map(
        &self,
        part: &Part,
        f: &Array2<f64>,
        before: Option<&Array2<f64>>,
    ) -> Result<Array2<f64>> {
        let f = f.select(Axis(0), &part.object);
        let bias = mean(&f, &vec![1.0; f.nrows()]);
        let right = cross(&part.x, &(f - &bias));
        let ridge: Vec<f64> = match before {
            Some(map) if self.given.sparse => {
                let lengths = map.rows().into_iter().map(|row| row.dot(&row).sqrt());
                lengths
                    .map(|l| self.given.eta / (2.0 * l + SHORT))
                    .collect()
            }
            _ => vec![self.given.eta; part.x.ncols()],
        };
        // With D^-1/2 on both sides no entry is large where a row is near 0.
        let roots: Vec<f64> = ridge.iter().map(|r| r.sqrt().recip()).collect();
        let mut system = transposed(&scaled(&transposed(&scaled(&part.squares, &roots)), &roots));
        system.diag_mut().mapv_inplace(|v| v + 1.0);
        let root = Cholesky::of_metric(&system, "the system of a map", "give a larger gssl.eta")?;
        let inner = root.upper_solve(root.lower_solve(scaled(&right, &roots)));
        Ok(scaled(&inner, &roots))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::ArrayView2;

    use super::super::parts::tests::{close, found, two_modalities};
    use super::*;
    use crate::reference::in_one_and_two_threads;

    /// Every fourth object has a label.
    fn few(class: &[u32]) -> Vec<f32> {
        (0..class.len())
            .map(|i| f32::from(u8::from(i % 4 == 0)))
            .collect()
    }

    #[test]
    fn labels_spread_and_classes_are_found() {
        let ([x, y], class) = two_modalities(5, 20, 0.3, 4);
        let weight = few(&class);
        let views = Views::paired(&[x.view(), y.view()], &class, &weight).unwrap();
        for gssl in [Gssl::new(), Gssl::new().sparse(false)] {
            let run = || gssl.fit(&views, &Monitor::silent()).unwrap();
            let (one, two) = in_one_and_two_threads(run);
            assert_eq!(one, two);
            assert!(
                one.classes
                    .rows()
                    .into_iter()
                    .all(|r| (r.sum() - 1.0).abs() < 1e-9)
            );
            let right = (0..100).filter(|&i| {
                let row = one.classes.row(i);
                row.iter().all(|&v| v <= row[class[i] as usize])
            });
            let right = right.count();
            assert!(right > 80, "{right}");
            let share = found(&one.model, &[x.clone(), y.clone()], &class);
            assert!(share > 0.7, "{share}");
        }
    }

    #[test]
    fn one_sweep_is_that_of_dense_matrices() {
        let ([x, y], class) = two_modalities(3, 6, 0.5, 2);
        let weight = few(&class);
        let views = Views::paired(&[x.view(), y.view()], &class, &weight).unwrap();
        let gssl = Gssl::new().neighbors(3).sparse(false).mu(0.3);
        let problem = Problem::of(&views, &[0, 1, 2], gssl, &Monitor::silent()).unwrap();
        let f = problem.harmonic(&Monitor::silent()).unwrap();
        let maps: Vec<_> = problem
            .parts
            .iter()
            .map(|part| problem.map(part, &f, None).unwrap())
            .collect();
        let part = &problem.parts[0];
        let centered = &f - &f.mean_axis(Axis(0)).unwrap();
        let slope = (part.squares.clone() + Array2::<f64>::eye(6) * 0.1).dot(&maps[0]);
        assert!(close(&slope, &part.x.t().dot(&centered), 1e-9));
        let all = [&x, &y].map(|x| x.mapv(f64::from));
        let lap = laplacian(&all[0], 3) + laplacian(&all[1], 3);
        let dense = |keep: f64, mu: f64, asked: &Array2<f64>| {
            solved(
                &(Array2::<f64>::eye(class.len()) * keep + &lap * mu),
                asked,
                &problem,
            )
        };
        let even = Array2::from_elem(f.dim(), ANCHOR / 3.0);
        assert!(close(&f, &dense(ANCHOR, 1.0, &even), 1e-4));
        let mut asked = Array2::<f64>::zeros(f.dim());
        for (part, map) in problem.parts.iter().zip(&maps) {
            asked += &(part.x.dot(map) + f.mean_axis(Axis(0)).unwrap());
        }
        let next = problem.spread(&f, &maps, &Monitor::silent()).unwrap();
        // Both modalities show every object, so that T_o = 2.
        let expected = dense(2.0, 0.3, &asked);
        assert!(close(&next, &expected, 1e-6));
        // Neither the neighbours nor what is cut off may be without a part in it.
        for other in [
            dense(2.0, -0.3, &asked),
            dense(2.0, 0.1, &asked),
            dense(1.0, 0.3, &asked),
        ] {
            assert!(!close(&other, &expected, 1e-3));
        }
        let unlabeled = expected.select(Axis(0), &problem.unlabeled);
        assert!(
            unlabeled.iter().any(|v| *v <= 0.0) && unlabeled.iter().any(|v| *v < 0.9 && *v > 0.1)
        );
    }

    /// The normalised Laplacian of `k` nearest neighbours, by all distances.
    fn laplacian(x: &Array2<f64>, k: usize) -> Array2<f64> {
        let n = x.nrows();
        let square = |i: usize, j: usize| (&x.row(i) - &x.row(j)).mapv(|v| v * v).sum();
        let near = |i: usize| {
            let mut others: Vec<usize> = (0..n).filter(|&j| j != i).collect();
            others.sort_by(|&a, &b| square(i, a).total_cmp(&square(i, b)));
            others.truncate(k);
            others
        };
        let arcs: Vec<(usize, usize)> = (0..n)
            .flat_map(|i| near(i).into_iter().map(move |j| (i, j)))
            .collect();
        let s2 = arcs.iter().map(|&(i, j)| square(i, j)).sum::<f64>() / arcs.len() as f64;
        let mut w = Array2::<f64>::zeros((n, n));
        for (i, j) in arcs {
            w[(i, j)] = (-square(i, j) / s2).exp();
            w[(j, i)] = w[(i, j)];
        }
        let degree = w.sum_axis(Axis(1));
        Array2::from_shape_fn((n, n), |(i, j)| {
            f64::from(u8::from(i == j)) - w[(i, j)] / (degree[i] * degree[j]).sqrt()
        })
    }

    /// `A F = asked` on the unlabeled objects, given the others; cut off at 0, rows to sum 1.
    fn solved(a: &Array2<f64>, asked: &Array2<f64>, problem: &Problem) -> Array2<f64> {
        let free = &problem.unlabeled;
        let mut f = Array2::<f64>::zeros(asked.dim());
        for (o, class) in problem.known.iter().enumerate() {
            if let Some(class) = class {
                f[(o, *class)] = 1.0;
            }
        }
        let right = (asked - a.dot(&f)).select(Axis(0), free);
        let own = a.select(Axis(0), free).select(Axis(1), free);
        let root = Cholesky::of(&own).unwrap();
        let found = root.upper_solve(root.lower_solve(right));
        for (&o, row) in free.iter().zip(found.rows()) {
            let row = row.mapv(|v| v.max(0.0));
            f.row_mut(o).assign(&(&row / row.sum()));
        }
        f
    }

    #[test]
    fn one_row_far_from_all_others_leaves_the_others_as_they_are() {
        let ([x, y], mut class) = two_modalities(4, 250, 0.3, 3);
        let mut weight = few(&class);
        let fit = |x: &Array2<f32>, y: &Array2<f32>, class: &[u32], weight: &[f32]| {
            let views = Views::paired(&[x.view(), y.view()], class, weight).unwrap();
            let monitor = Monitor::new(|event| {
                assert!(!matches!(event, crate::Event::Warning(_)), "{event:?}");
            });
            let problem = Problem::of(&views, &[0, 1, 2, 3], Gssl::new(), &monitor).unwrap();
            let first = problem.harmonic(&monitor).unwrap();
            (first, Gssl::new().fit(&views, &monitor).unwrap().classes)
        };
        let without = fit(&x, &y, &class, &weight);
        let far = Array2::from_elem((1, 6), 300.0);
        let [x, y] = [
            ndarray::concatenate![Axis(0), x, far],
            ndarray::concatenate![Axis(0), y, y.slice(ndarray::s![..1, ..])],
        ];
        class.push(0);
        weight.push(0.0);
        let with = fit(&x, &y, &class, &weight);
        for (a, b) in [(&without.0, &with.0), (&without.1, &with.1)] {
            assert!(b.iter().all(|v| v.is_finite()));
            let same = (0..1000).filter(|&i| {
                let c = class[i] as usize;
                a[(i, c)] > 0.5 && b[(i, c)] > 0.5 && (a[(i, c)] - b[(i, c)]).abs() < 0.1
            });
            // The linear maps still take the far row for one of their own.
            let same = same.count();
            assert!(same > 930, "{same}");
        }
    }

    #[test]
    fn pseudo_labels_are_labels_and_all_may_be_labeled() {
        let ([x, y], class) = two_modalities(4, 10, 0.3, 5);
        let fit = |weight: &[f32]| {
            let views = Views::paired(&[x.view(), y.view()], &class, weight).unwrap();
            Gssl::new().fit(&views, &Monitor::silent()).unwrap()
        };
        let all = fit(&[1.0; 40]);
        assert_eq!(all, fit(&[0.7; 40]));
        assert!((0..40).all(|i| (all.classes[(i, class[i] as usize)] - 1.0).abs() < 1e-12));
    }

    #[test]
    fn degenerate_classes_and_parameters() {
        let ([x, y], class) = two_modalities(2, 3, 0.4, 5);
        let fit = |gssl: Gssl, x: &Array2<f32>, class: &[u32], weight: &[f32]| {
            let views = Views::paired(&[x.view(), y.view()], class, weight).unwrap();
            gssl.fit(&views, &Monitor::silent())
        };
        let one = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        for x in [&x, &Array2::ones((6, 3))] {
            for class in [&class, &vec![0; 6], &(0..6).collect()] {
                for weight in [&[1.0; 6], &one] {
                    let found = fit(Gssl::new(), x, class, weight).unwrap();
                    assert!(found.classes.iter().all(|v| v.is_finite()));
                    assert!(found.model.encode(0, x.view()).is_ok());
                }
            }
        }
        assert!(fit(Gssl::new(), &x, &class, &[0.0; 6]).is_err());
        assert!(fit(Gssl::new().eta(0.0), &x, &class, &one).is_err());
        assert!(fit(Gssl::new().neighbors(0), &x, &class, &one).is_err());
        let sides: [(ArrayView2<f32>, &[u32], &[f32]); 2] =
            [(x.view(), &class, &one), (y.view(), &class, &[0.0; 6])];
        let apart = Views::unpaired(&sides).unwrap();
        assert!(Gssl::new().fit(&apart, &Monitor::silent()).is_ok());
    }
}
