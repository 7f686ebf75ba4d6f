//! Large margin nearest neighbours: keeps rows of other classes a margin farther than the
//! nearest rows of the own class.
//!
//! ```text
//! targets(i): the k nearest rows of the class of i, fixed      d_il = |L (x_i - x_l)|^2
//! minimise over L
//!   (1 - push) sum_i w_i sum_{j in targets(i)} d_ij
//!     + push sum_i w_i sum_{j in targets(i)} sum_{l of another class} w_l max(0, 1 + d_ij - d_il)
//! z_i = L x_i
//! ```
//!
//! Only what is near a row counts, so classes may be of any form and lie in several places.
//!
//! **Use it** where nearest neighbours already find most of the class and a better scale of the
//! columns would find the rest; some tens of labels a class. **Not** with one or two labels a class
//! (there is no near target to speak of), nor for classes that it has not seen: the margin is
//! fitted to those it knows. Labels that are wrong, or features that tell nothing of the classes,
//! make far rows intrude everywhere; the map then shrinks toward zero.
//!
//! # Cost
//! Each round of at most 25 steps searches all rows for intruders once, O(n^2 r); a step costs
//! O(n d (d + r) + m (d + r)) for the `m` intruders that were ever near, which are held in 4 m bytes.
//! Where these are more than 32 million, none are held and each step searches anew. All in `f64`;
//! memory O(n d) besides. Fewer rows than columns are first rotated into the directions that they
//! vary in, which changes nothing but the cost.
//!
//! Source: Weinberger and Saul, "Distance metric learning for large margin nearest neighbor
//! classification", JMLR 10, 2009, with the active set of its section 3.4.1 grown from round to
//! round, so that no intruder is forgotten. Where we differ: the steps are those of L-BFGS on `L`
//! instead of gradient descent on `L^T L`, which reaches a lower objective in fewer steps. Rows
//! are brought to targets at a mean squared distance of 1 before the start (the margin is 1, the
//! problem convex in `L^T L`, and a scale is only a better start; it is part of the result). A
//! weight counts a row as anchor and as intruder; targets are the nearest rows of any weight above
//! 0. Ties go to the earlier row.

use std::ops::Range;

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::classed::{Classed, below, distances, squared_distance, squares};
use super::edges::{self, Part, gather};
use crate::learn::{Evidence, Fit, Need};
use crate::matrix::{product, product_of_many};
use crate::model::Model;
use crate::solve::lbfgs::{self, Until};
use crate::solve::vectorised;
use crate::{Error, ErrorKind, Monitor, Result};

/// Steps between two searches for intruders.
const STEPS: usize = 25;
/// Share of the radius beyond the margin within which rows are taken for possible intruders.
const BUFFER: f64 = 0.25;
/// Most intruders that are held.
const HELD: usize = 1 << 25;

/// Parameters of large margin nearest neighbours; see [`lmnn`](self).
///
/// ```
/// use likewise::{Monitor, linear::Lmnn};
/// let x = ndarray::array![[0.0, 0.0], [4.0, 0.1], [0.0, 1.0], [4.0, 1.1_f32]];
/// let learner = Lmnn::new().neighbors(1);
/// let l = learner.fit_weighted(x.view(), &[0, 0, 1, 1], &[1.0; 4], &Monitor::silent())?;
/// // Only the second column tells the classes apart.
/// let length = |j: usize| l.column(j).dot(&l.column(j));
/// assert!(length(1) > 10.0 * length(0));
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lmnn {
    neighbors: usize,
    push: f64,
    rank: Option<usize>,
    iterations: usize,
    tolerance: f64,
}

impl Default for Lmnn {
    fn default() -> Self {
        Self {
            neighbors: 3,
            push: 0.5,
            rank: None,
            iterations: 500,
            tolerance: 1e-4,
        }
    }
}

impl Lmnn {
    /// Three targets, pull and push of equal weight, as published; at most 500 steps.
    pub fn new() -> Self {
        Self::default()
    }

    /// Targets of a row, at least 1; a class of fewer others gives what it has.
    #[must_use]
    pub fn neighbors(mut self, neighbors: usize) -> Self {
        self.neighbors = neighbors;
        self
    }

    /// Weight of pushing intruders out against pulling targets in, between 0 and 1.
    #[must_use]
    pub fn push(mut self, push: f64) -> Self {
        self.push = push;
        self
    }

    /// Rows of `L`, which then starts from the first principal directions; absent: as many as
    /// columns, from the identity.
    #[must_use]
    pub fn rank(mut self, rank: Option<usize>) -> Self {
        self.rank = rank;
        self
    }

    /// Most steps, at least 1.
    #[must_use]
    pub fn iterations(mut self, iterations: usize) -> Self {
        self.iterations = iterations;
        self
    }

    /// Share of the objective that a round of 25 steps must gain for another one, at least 0.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Checks all fields.
    pub fn validate(&self) -> Result<()> {
        if self.neighbors == 0 {
            return Err(Error::parameter("lmnn.neighbors", 0, "must be at least 1"));
        }
        if !(self.push > 0.0 && self.push < 1.0) {
            let rule = "must be between 0 and 1, both excluded";
            return Err(Error::parameter("lmnn.push", self.push, rule));
        }
        if self.rank == Some(0) {
            return Err(Error::parameter("lmnn.rank", 0, "must be at least 1"));
        }
        if self.iterations == 0 {
            return Err(Error::parameter("lmnn.iterations", 0, "must be at least 1"));
        }
        if !(self.tolerance.is_finite() && self.tolerance >= 0.0) {
            let rule = "must be at least 0";
            return Err(Error::parameter("lmnn.tolerance", self.tolerance, rule));
        }
        Ok(())
    }

    /// The map `L` (`r x d`) from rows (`n x d`), a class and a weight of at least 0 for each;
    /// `z = L x`. Rows of weight 0 are left out.
    ///
    /// Without two rows of one class nothing is pulled: the identity (or principal directions),
    /// and a warning. Fails on NaN, where numbers of rows, classes and weights differ, without two
    /// classes of some weight, on a parameter out of its range, and when cancelled.
    pub fn fit_weighted(
        &self,
        x: ArrayView2<f32>,
        classes: &[u32],
        weights: &[f32],
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        self.validate()?;
        let rows = Classed::new(x, classes, weights, "large margin nearest neighbours")?;
        self.fit_classed(rows, monitor)
    }

    fn fit_classed(&self, mut rows: Classed, monitor: &Monitor) -> Result<Array2<f64>> {
        let targets = Targets::of(&rows, self.neighbors);
        let mean = targets.mean_distance(&rows.x);
        rows.centre()?;
        let start = rows.start(self.rank, "lmnn.rank")?;
        if mean > 0.0 {
            rows.rescale(mean.sqrt().recip());
        } else {
            monitor.warn(
                "large margin nearest neighbours: no two different rows of one class; the map is \
                 where it starts",
            );
            return Ok(rows.whole(start, self.rank));
        }
        let margin = Margin {
            rows: &rows,
            targets,
            push: self.push,
            monitor,
        };
        let map = margin.minimise(start.clone(), self)?;
        if map.iter().map(|v| v * v).sum::<f64>() > f64::EPSILON {
            return Ok(rows.whole(map, self.rank));
        }
        monitor.warn(
            "large margin nearest neighbours: rows of other classes are as near as those of the \
             own, and nothing is the best map; it is left where it starts",
        );
        Ok(rows.whole(start, self.rank))
    }
}

impl Fit for Lmnn {
    fn needs(&self) -> &'static [Need] {
        &[Need::Classes]
    }

    fn validate(&self) -> Result<()> {
        Lmnn::validate(self)
    }

    fn fit(&self, evidence: &Evidence, _: u64, monitor: &Monitor) -> Result<Model> {
        evidence.map_of_classes(|x, class, weight| self.fit_weighted(x, class, weight, monitor))
    }
}

/// The rows that each row pulls in.
struct Targets {
    items: Vec<usize>,
    /// Where those of each row begin, and the end.
    begins: Vec<usize>,
}

impl Targets {
    fn of(rows: &Classed, neighbors: usize) -> Self {
        let found = (0..rows.x.nrows()).into_par_iter();
        let lists: Vec<Vec<usize>> = found.map(|i| nearest(rows, i, neighbors)).collect();
        let mut begins = vec![0];
        begins.extend(lists.iter().scan(0, |sum, list| {
            *sum += list.len();
            Some(*sum)
        }));
        Self {
            items: lists.concat(),
            begins,
        }
    }

    fn row(&self, i: usize) -> &[usize] {
        &self.items[self.begins[i]..self.begins[i + 1]]
    }

    /// 0 without targets.
    fn mean_distance(&self, x: &Array2<f64>) -> f64 {
        let d = x.ncols();
        let x = x.as_slice().unwrap_or_default();
        let row = |i: usize| &x[i * d..][..d];
        let of = |i: usize| {
            let near = self.row(i).iter();
            near.map(|&j| squared_distance(row(i), row(j))).sum::<f64>()
        };
        (0..self.begins.len() - 1).map(of).sum::<f64>() / self.items.len().max(1) as f64
    }
}

/// The objective for some rows.
struct Margin<'a> {
    rows: &'a Classed,
    targets: Targets,
    push: f64,
    monitor: &'a Monitor,
}

/// Rows of other classes that were near at some time, for each row; ascending.
struct Intruders {
    begins: Vec<usize>,
    items: Vec<u32>,
}

impl Margin<'_> {
    /// Rounds: intruders are looked for, and with those that were ever near L-BFGS goes on.
    fn minimise(&self, start: Array2<f64>, of: &Lmnn) -> Result<Array2<f64>> {
        let (r, m) = start.dim();
        let shaped = |map: Vec<f64>| {
            Array2::from_shape_vec((r, m), map)
                .map_err(|e| Error::new(ErrorKind::Internal, format!("{r} x {m}: {e}")))
        };
        let stage = "large margin nearest neighbours";
        self.monitor.start(stage, of.iterations as u64);
        let mut held = Some(Intruders {
            begins: vec![0; self.rows.x.nrows() + 1],
            items: Vec::new(),
        });
        let mut map = start;
        let mut best = (f64::INFINITY, map.clone());
        let mut done = 0;
        loop {
            let z = product_of_many(&self.rows.x, &map);
            let count = |held: &Option<Intruders>| held.as_ref().map(|held| held.items.len());
            let before = count(&held);
            held = held.and_then(|held| self.search(&z, &held));
            // All that intrude are held now, so this is the objective itself.
            let (value, _) = self.compute(&map, held.as_ref())?;
            self.monitor.values(&[("objective", value)]);
            self.monitor.step(done as u64)?;
            let gained = best.0 - value;
            if gained > 0.0 {
                best = (value, map.clone());
            }
            // A loss is made good by the next round, which knows of the rows that made it.
            let settled = gained >= 0.0 || before == count(&held);
            if done >= of.iterations || (settled && gained <= of.tolerance * value) {
                break;
            }
            let until = Until {
                steps: STEPS.min(of.iterations - done),
                gradient: 1e-9 * value,
            };
            let flat = map.into_raw_vec_and_offset().0;
            let found = lbfgs::minimise(flat, until, |point| {
                self.monitor.check()?;
                let (value, slopes) = self.compute(&shaped(point.to_vec())?, held.as_ref())?;
                Ok((value, slopes.into_raw_vec_and_offset().0))
            })?;
            map = shaped(found)?;
            done += until.steps;
        }
        self.monitor.end();
        Ok(best.1)
    }

    /// Objective and gradient; without a list of intruders all rows are looked at.
    fn compute(
        &self,
        map: &Array2<f64>,
        intruders: Option<&Intruders>,
    ) -> Result<(f64, Array2<f64>)> {
        let z = product_of_many(&self.rows.x, map);
        let squares = squares(&z);
        let (n, r) = z.dim();
        let flat = z.as_slice().unwrap_or_default();
        let block = self.rows.block();
        let (value, scatter) = gather(&self.rows.x, |rows, part| {
            let mut anchor = Anchor::new(self, flat, r);
            if let Some(held) = intruders {
                vectorised(|| {
                    for i in rows.clone() {
                        anchor.begin(i);
                        for &l in &held.items[held.begins[i]..held.begins[i + 1]] {
                            anchor.meet(l as usize, part);
                        }
                        anchor.end(part);
                    }
                });
                return Ok(());
            }
            let mut buffer = vec![0.0; block * n];
            for from in rows.clone().step_by(block) {
                self.monitor.check()?;
                let some = from..(from + block).min(rows.end);
                distances(&z, &squares, some.clone(), &mut buffer[..some.len() * n]);
                vectorised(|| {
                    for (i, row) in some.clone().zip(buffer.chunks_exact(n)) {
                        anchor.begin(i);
                        let own = &self.rows.own[i];
                        let limit = anchor.most * (1.0 + 1e-9);
                        below(&row[..own.start], limit, |l, _| anchor.meet(l, part));
                        below(&row[own.end..], limit, |l, _| {
                            anchor.meet(own.end + l, part);
                        });
                        anchor.end(part);
                    }
                });
            }
            Ok(())
        })?;
        Ok((value, product(map, &scatter) * 2.0))
    }

    /// What was held, and all that is within the margin or not far beyond; nothing where that is
    /// too much to hold.
    fn search(&self, z: &Array2<f64>, held: &Intruders) -> Option<Intruders> {
        let (n, r) = z.dim();
        let squares = squares(z);
        let flat = z.as_slice().unwrap_or_default();
        let block = self.rows.block();
        let one = |rows: Range<usize>| {
            let (mut ends, mut items) = (Vec::with_capacity(rows.len()), Vec::<u32>::new());
            let mut anchor = Anchor::new(self, flat, r);
            let mut buffer = vec![0.0; block * n];
            for from in rows.clone().step_by(block) {
                let some = from..(from + block).min(rows.end);
                distances(z, &squares, some.clone(), &mut buffer[..some.len() * n]);
                for (i, row) in some.clone().zip(buffer.chunks_exact(n)) {
                    anchor.begin(i);
                    let own = &self.rows.own[i];
                    let limit = anchor.most * (1.0 + BUFFER);
                    let begin = items.len();
                    vectorised(|| {
                        below(&row[..own.start], limit, |l, _| items.push(l as u32));
                        below(&row[own.end..], limit, |l, _| {
                            items.push((own.end + l) as u32);
                        });
                    });
                    let before = &held.items[held.begins[i]..held.begins[i + 1]];
                    if !before.is_empty() {
                        items.extend_from_slice(before);
                        items[begin..].sort_unstable();
                        let mut kept = begin;
                        for at in begin..items.len() {
                            if kept == begin || items[at] != items[kept - 1] {
                                items[kept] = items[at];
                                kept += 1;
                            }
                        }
                        items.truncate(kept);
                    }
                    ends.push(items.len());
                    if items.len() > HELD / edges::PARTS {
                        return None;
                    }
                }
            }
            Some((ends, items))
        };
        let parts: Vec<_> = edges::parts(n).into_par_iter().map(one).collect();
        let (mut begins, mut items) = (vec![0], Vec::new());
        for part in parts {
            let (ends, own) = part?;
            let base = items.len();
            begins.extend(ends.into_iter().map(|end| base + end));
            items.extend(own);
        }
        Some(Intruders { begins, items })
    }
}

/// One anchor at a time: the radius of each of its targets, and what these are pulled with.
struct Anchor<'a> {
    margin: &'a Margin<'a>,
    z: &'a [f64],
    r: usize,
    i: usize,
    radii: Vec<f64>,
    pulls: Vec<f64>,
    value: f64,
    /// The largest radius; 0 without targets.
    most: f64,
}

impl<'a> Anchor<'a> {
    fn new(margin: &'a Margin<'a>, z: &'a [f64], r: usize) -> Self {
        Self {
            margin,
            z,
            r,
            i: 0,
            radii: Vec::new(),
            pulls: Vec::new(),
            value: 0.0,
            most: 0.0,
        }
    }

    #[expect(
        clippy::inline_always,
        reason = "must be compiled with the features of its caller"
    )]
    #[inline(always)]
    fn distance(&self, l: usize) -> f64 {
        let row = |i: usize| &self.z[i * self.r..][..self.r];
        squared_distance(row(self.i), row(l))
    }

    #[expect(
        clippy::inline_always,
        reason = "must be compiled with the features of its caller"
    )]
    #[inline(always)]
    fn begin(&mut self, i: usize) {
        self.i = i;
        let pull = (1.0 - self.margin.push) * self.margin.rows.weight[i];
        self.radii.clear();
        self.pulls.clear();
        (self.value, self.most) = (0.0, 0.0);
        for &j in self.margin.targets.row(i) {
            let distance = self.distance(j);
            self.radii.push(1.0 + distance);
            self.pulls.push(pull);
            self.value += pull * distance;
            self.most = self.most.max(1.0 + distance);
        }
    }

    /// A row of another class, which may intrude.
    #[expect(
        clippy::inline_always,
        reason = "must be compiled with the features of its caller"
    )]
    #[inline(always)]
    fn meet(&mut self, l: usize, part: &mut Part) {
        let distance = self.distance(l);
        if distance >= self.most {
            return;
        }
        let each = self.margin.push * self.margin.rows.weight[self.i] * self.margin.rows.weight[l];
        let mut pushed = 0.0;
        for (radius, pull) in self.radii.iter().zip(&mut self.pulls) {
            let intrusion = radius - distance;
            if intrusion > 0.0 {
                self.value += each * intrusion;
                *pull += each;
                pushed += each;
            }
        }
        part.add(self.i, l, -pushed);
    }

    #[expect(
        clippy::inline_always,
        reason = "must be compiled with the features of its caller"
    )]
    #[inline(always)]
    fn end(&mut self, part: &mut Part) {
        part.value += self.value;
        for (&j, &pull) in self.margin.targets.row(self.i).iter().zip(&self.pulls) {
            part.add(self.i, j, pull);
        }
    }
}

/// The nearest others of the class of a row, by distance and then by place.
fn nearest(rows: &Classed, i: usize, neighbors: usize) -> Vec<usize> {
    let x = rows.x.as_slice().unwrap_or_default();
    let d = rows.x.ncols();
    let row = |i: usize| &x[i * d..][..d];
    let others = rows.own[i].clone().filter(|&j| j != i);
    let mut found: Vec<(f64, usize)> = vectorised(|| {
        let others = others.clone();
        others
            .map(|j| (squared_distance(row(i), row(j)), j))
            .collect()
    });
    let nearer = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    if found.len() > neighbors {
        found.select_nth_unstable_by(neighbors - 1, nearer);
        found.truncate(neighbors);
    }
    found.sort_unstable_by(nearer);
    found.into_iter().map(|(_, j)| j).collect()
}

#[cfg(test)]
#[allow(clippy::unreadable_literal)] // Printed values.
mod tests {
    use proptest::prelude::*;
    use rand::RngExt;

    use super::*;
    use crate::linear::check_values::{iris, relative_error};
    use crate::{Event, seed};

    fn margin(rows: &Classed, neighbors: usize) -> Margin<'_> {
        static SILENT: std::sync::LazyLock<Monitor> = std::sync::LazyLock::new(Monitor::silent);
        Margin {
            rows,
            targets: Targets::of(rows, neighbors),
            push: 0.5,
            monitor: &SILENT,
        }
    }

    fn all_intruders(margin: &Margin, map: &Array2<f64>) -> Intruders {
        let none = Intruders {
            begins: vec![0; margin.rows.x.nrows() + 1],
            items: Vec::new(),
        };
        let z = product_of_many(&margin.rows.x, map);
        margin.search(&z, &none).unwrap()
    }

    #[test]
    fn objective_and_gradient_of_irises() {
        let (x, classes) = iris();
        let mut rows = Classed::of_rows(x.view(), &classes, &[1.0; 150], "a test").unwrap();
        let targets = Targets::of(&rows, 3);
        rows.centre().unwrap();
        let own = Margin {
            targets,
            ..margin(&rows, 3)
        };
        // Irises are sorted by class, so places are rows.
        assert_eq!(own.targets.row(0), [17, 4, 39]);
        assert_eq!(own.targets.row(1), [34, 45, 12]);
        assert_eq!(own.targets.row(2), [47, 3, 6]);
        let map = Array2::eye(4);
        let intruders = all_intruders(&own, &map);
        let expected = ndarray::array![
            [-295.69, -45.79, 49.9, 86.32],
            [-45.79, -175.88, 96.51, 49.91],
            [49.9, 96.51, -572.24, -434.5],
            [86.32, 49.91, -434.5, -412.78],
        ];
        for held in [Some(&intruders), None] {
            let (value, gradient) = own.compute(&map, held).unwrap();
            assert!((value / 606.205 - 1.0).abs() < 1e-9, "{value}");
            assert!(relative_error(&gradient, &expected) < 1e-9, "{gradient}");
        }
    }

    #[test]
    fn the_minimum_of_irises_is_below_that_of_metric_learn() {
        let (x, classes) = iris();
        let rows = || Classed::of_rows(x.view(), &classes, &[1.0; 150], "a test").unwrap();
        let l = Lmnn::new().fit_classed(rows(), &Monitor::silent()).unwrap();
        let rows = rows();
        let (value, _) = margin(&rows, 3).compute(&l, None).unwrap();
        assert!(value <= 226.824013756 * 1.001, "{value}");
    }

    /// The formula as it is written.
    fn naive(rows: &Classed, map: &Array2<f64>, neighbors: usize, push: f64) -> f64 {
        let z = rows.x.dot(&map.t());
        let distance = |x: &Array2<f64>, i: usize, l: usize| {
            let e = &x.row(i) - &x.row(l);
            e.dot(&e)
        };
        let n = z.nrows();
        let mut sum = 0.0;
        for i in 0..n {
            let mut own: Vec<usize> = rows.own[i].clone().filter(|&j| j != i).collect();
            own.sort_by(|&a, &b| {
                distance(&rows.x, i, a)
                    .total_cmp(&distance(&rows.x, i, b))
                    .then(a.cmp(&b))
            });
            for &j in own.iter().take(neighbors) {
                let pull = distance(&z, i, j);
                sum += (1.0 - push) * rows.weight[i] * pull;
                for l in (0..n).filter(|l| !rows.own[i].contains(l)) {
                    let each = rows.weight[i] * rows.weight[l];
                    sum += push * each * (1.0 + pull - distance(&z, i, l)).max(0.0);
                }
            }
        }
        sum
    }

    fn random(n: usize, d: usize, number: u64) -> (Array2<f32>, Vec<u32>, Vec<f32>) {
        let mut rng = seed::stream(number, "lmnn");
        let x = Array2::from_shape_fn((n, d), |_| rng.random_range(-1.0_f32..1.0));
        let classes = (0..n as u32).map(|i| if i < 2 { i } else { rng.random_range(0..3) });
        let classes = classes.collect();
        (
            x,
            classes,
            (0..n).map(|_| rng.random_range(0.1..2.0)).collect(),
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn the_objective_is_the_formula_and_its_slopes_are_the_gradient(
            n in 2_usize..40, d in 1_usize..12, r in 1_usize..5, k in 1_usize..4,
            number in any::<u64>(),
        ) {
            let (x, classes, weights) = random(n, d, number);
            let rows = Classed::new(x.view(), &classes, &weights, "a test").unwrap();
            let own = margin(&rows, k);
            let mut rng = seed::stream(number, "map");
            let m = rows.x.ncols();
            let map = Array2::from_shape_fn((r, m), |_| rng.random_range(-1.0_f64..1.0));
            let held = all_intruders(&own, &map);
            let expected = naive(&rows, &map, k, 0.5);
            let (value, gradient) = own.compute(&map, Some(&held)).unwrap();
            let (all, steep) = own.compute(&map, None).unwrap();
            prop_assert!((value - expected).abs() <= 1e-9 * (1.0 + expected));
            prop_assert!((all - expected).abs() <= 1e-9 * (1.0 + expected));
            prop_assert!((&gradient - &steep).iter().all(|e| e.abs() <= 1e-8 * (1.0 + expected)));
            let step = Array2::from_shape_fn((r, m), |_| rng.random_range(-1.0_f64..1.0)) * 1e-7;
            let at = |map: Array2<f64>| own.compute(&map, None).unwrap().0;
            let slope = (at(&map + &step) - at(&map - &step)) / 2.0;
            let told = (&gradient * &step).sum();
            // A row may cross its margin on the way.
            prop_assert!((slope - told).abs() <= 1e-4 * (told.abs() + 1e-7 * (1.0 + expected)));
        }

        #[test]
        fn it_never_ends_above_where_it_starts(
            n in 4_usize..60, d in 1_usize..12, number in any::<u64>(), rank in 0_usize..4,
        ) {
            let (x, classes, weights) = random(n, d, number);
            let rank = (rank > 0 && rank <= d).then_some(rank);
            let learner = Lmnn::new().rank(rank).iterations(60);
            let map = learner.fit_weighted(x.view(), &classes, &weights, &Monitor::silent()).unwrap();
            prop_assert!(map.iter().all(|v| v.is_finite()));
            prop_assert_eq!(map.ncols(), d);
            prop_assert!(rank.is_none_or(|rank| map.nrows() <= rank));
            let mut rows = Classed::new(x.view(), &classes, &weights, "a test").unwrap();
            let mean = Targets::of(&rows, 3).mean_distance(&rows.x);
            rows.centre().unwrap();
            if mean > 0.0 {
                rows.rescale(mean.sqrt().recip());
                let before = naive(&rows, &rows.start(rank, "rank").unwrap(), 3, 0.5);
                let mut order: Vec<usize> = (0..n).collect();
                order.sort_by_key(|&i| classes[i]);
                rows.x = x.select(ndarray::Axis(0), &order).mapv(f64::from);
                let after = naive(&rows, &map, 3, 0.5);
                prop_assert!(after <= before * (1.0 + 1e-9), "{after} {before}");
            }
        }
    }

    #[test]
    fn a_weight_of_0_is_absence_and_one_thread_is_as_good_as_two() {
        let (x, classes, mut weights) = random(70, 6, 5);
        for i in [3, 20, 21] {
            weights[i] = 0.0;
        }
        let fit = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let silent = Monitor::silent();
            let own = Lmnn::new().iterations(80);
            (pool.build().unwrap()).install(|| {
                own.fit_weighted(x.view(), &classes, &weights, &silent)
                    .unwrap()
            })
        };
        let one = fit(1);
        assert_eq!(one, fit(2));
        let kept: Vec<usize> = (0..70).filter(|i| ![3, 20, 21].contains(i)).collect();
        let of = |i: &usize| (classes[*i], weights[*i]);
        let (classes, weights): (Vec<u32>, Vec<f32>) = kept.iter().map(of).unzip();
        let rest = x.select(ndarray::Axis(0), &kept);
        let own = Lmnn::new().iterations(80);
        let other = own.fit_weighted(rest.view(), &classes, &weights, &Monitor::silent());
        assert_eq!(one, other.unwrap());
    }

    #[test]
    fn degenerate_rows_give_a_start_or_an_error() {
        let silent = Monitor::silent();
        let own = Lmnn::new();
        let x = ndarray::array![[0.0, 1.0], [1.0, 0.0], [2.0, 5.0_f32]];
        let single = own
            .fit_weighted(x.view(), &[0, 1, 2], &[1.0; 3], &silent)
            .unwrap();
        assert_eq!(single, Array2::<f64>::eye(2));
        let heard = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
        let to = heard.clone();
        let monitor = Monitor::new(move |event: &Event| {
            if let Event::Warning(said) = event {
                *to.lock().unwrap() = said.clone();
            }
        });
        let same = Array2::from_elem((6, 3), 2.0_f32);
        let classes = [0, 0, 0, 1, 1, 1];
        let map = own
            .fit_weighted(same.view(), &classes, &[1.0; 6], &monitor)
            .unwrap();
        assert_eq!(map, Array2::<f64>::eye(3));
        assert!(heard.lock().unwrap().contains("no two different rows"));
        let one = own
            .fit_weighted(x.view(), &[0; 3], &[1.0; 3], &silent)
            .unwrap_err();
        assert!(one.to_string().contains("two classes"), "{one}");
        // The same rows in both classes: nothing can be told apart.
        let twice = ndarray::array![[0.0, 1.0], [3.0, 1.0], [0.0, 1.0], [3.0, 1.0_f32]];
        let map = own
            .fit_weighted(twice.view(), &[0, 0, 1, 1], &[1.0; 4], &silent)
            .unwrap();
        assert!(map.iter().all(|v| v.is_finite()));
        assert!(
            own.rank(Some(3))
                .fit_weighted(x.view(), &[0, 1, 0], &[1.0; 3], &silent)
                .is_err()
        );
        let cancelled = Monitor::silent();
        cancelled.cancel();
        assert!(
            own.fit_weighted(x.view(), &[0, 1, 0], &[1.0; 3], &cancelled)
                .is_err()
        );
        for wrong in [
            own.neighbors(0),
            own.push(1.0),
            own.iterations(0),
            own.tolerance(-1.0),
        ] {
            assert!(
                wrong
                    .validate()
                    .unwrap_err()
                    .to_string()
                    .starts_with("lmnn.")
            );
        }
    }
}
