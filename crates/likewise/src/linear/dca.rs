//! Discriminative component analysis: keeps what tells classes apart, and evens out the rest.
//!
//! ```text
//! Cb = mean of (m_a - m_b)(m_a - m_b)^T over classes a, b that are known to differ
//! Cw = mean over classes of   sum_i w_i (x_i - m_c)(x_i - m_c)^T / sum_i w_i
//! 1. Cb = U D U^T, eigenvalues above 1e-9 of the largest; Z = U D^(-1/2)
//! 2. Z^T Cw Z = V S V^T, the `dims` smallest eigenvalues
//! 3. L = S^(-1/2) V^T Z^T                                   r x d; M = L^T L
//! ```
//!
//! What remains are the directions in which class means differ, at most one fewer than there are
//! classes, and of these the ones in which the items of a class differ least. As it only inverts
//! within these, it works with few labels where [`Rca`](super::Rca) asks for shrinkage. Where the
//! means span all dimensions and all are kept, it is the same metric as there: `M = Cw^-1`.
//!
//! **Use it** where the classes that are searched are the labeled ones, and to come down to a few
//! dimensions. **Not** for new classes: what tells them apart may be thrown away. There
//! [`Rca`](super::Rca) does better.
//!
//! Cost: O(n d r + g d min(g, d) + r^3) time in `f64` for `g` classes (or links of chunklets) and
//! `r` directions; memory O(g d + block x d), and O(d^2) where `g > d`.
//!
//! Source: Hoi, Liu, Lyu and Ma, "Learning distance metrics with contextual constraints for image
//! retrieval", CVPR 2006. Ours: weights; that an item of an unlike pair which no alike pair
//! joins is a chunklet of its own, as it tells of a difference all the same; and the shrinkage
//! `(1 - s) C + s tr(C)/r I` of `C = Z^T Cw Z`. Without it, directions in which a few labels happen
//! not to vary outweigh all others; [`Dca::paper`] has none.

use std::ops::Range;

use ndarray::{Array2, ArrayView2, Axis, Slice};
use serde::{Deserialize, Serialize};

use super::spd::{self, add_cross, check_shrinkage, shrink, symmetrize, usual_shrinkage};
use super::whitening::Spectrum;
use crate::learn::{Evidence, Fit, Need};
use crate::matrix::{check_finite, product};
use crate::model::Model;
use crate::tuple::Chunklets;
use crate::{Error, Monitor, Pairs, Result};

/// Least eigenvalue, beside the largest, that counts.
const FLOOR: f64 = 1e-9;
/// Rows that are centred at a time.
const ROWS: usize = 2048;

/// Parameters of discriminative component analysis; see [`dca`](self).
///
/// ```
/// use likewise::linear::Dca;
/// let x = ndarray::array![[0.0, 0.0], [4.0, 0.1], [0.0, 1.0], [4.0, 1.1_f32]];
/// let l = Dca::new().fit_weighted(x.view(), &[0, 0, 1, 1], &[1.0; 4])?;
/// // The classes differ in the second column alone, so that is all that remains.
/// assert_eq!(l.dim(), (1, 2));
/// assert!(l[(0, 0)].abs() < 1e-6 * l[(0, 1)].abs());
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dca {
    dims: Option<usize>,
    shrinkage: Option<f64>,
}

impl Dca {
    /// All dimensions in which means differ, shrunk by a tenth where there are fewer than two
    /// rows a dimension and else next to not.
    pub fn new() -> Self {
        Self::default()
    }

    /// As published: without shrinkage.
    pub fn paper() -> Self {
        Self::default().shrinkage(0.0)
    }

    /// Most dimensions of the map, at least 1.
    #[must_use]
    pub fn dims(mut self, dims: usize) -> Self {
        self.dims = Some(dims);
        self
    }

    /// Share of the mean variance in every direction's, from 0 to 1.
    #[must_use]
    pub fn shrinkage(mut self, shrinkage: f64) -> Self {
        self.shrinkage = Some(shrinkage);
        self
    }

    /// The map `L` (`r x d`) from rows (`n x d`), a class and a weight of at least 0 for each; a
    /// row of weight 0 is left out. `x L^T` are the rows in the metric.
    ///
    /// Fails on NaN, on parameters out of range, where numbers of rows, classes and weights differ,
    /// without two classes, and where all classes have one mean.
    pub fn fit_weighted(
        &self,
        x: ArrayView2<f32>,
        classes: &[u32],
        weights: &[f32],
    ) -> Result<Array2<f64>> {
        self.validate()?;
        super::check_weighted(x.nrows(), classes, weights)?;
        check_finite(x, "discriminative component analysis")?;
        let groups = Groups::of(x, classes, weights);
        let k = groups.mass.len();
        if k < 2 {
            return Err(Error::data(format!(
                "discriminative component analysis needs rows of two classes, but there are {k}"
            )));
        }
        // Of all means from each other, or from their mean: the same but for a factor.
        let middle = groups.means.mean_axis(Axis(0)).unwrap_or_default();
        let factor = (2.0 * k as f64 / (k as f64 - 1.0)).sqrt();
        let between = Spectrum::of_centered(k, x.ncols(), |class, out| {
            let own = groups.means.row(class);
            for (out, (own, middle)) in out.iter_mut().zip(own.iter().zip(&middle)) {
                *out = factor * (own - middle);
            }
        })?;
        self.discriminate(x, &groups, &between)
    }

    /// As [`fit_weighted`](Self::fit_weighted), from pairs of rows: the
    /// [chunklets](crate::tuple::chunklet) that alike pairs join take the place of classes, and
    /// those differ that an unlike pair connects; of several, the largest weight counts.
    ///
    /// Warns of unlike pairs that alike ones contradict, and leaves them out. Fails without an
    /// alike pair, without an unlike one that remains, and on pairs that do not
    /// [fit](Pairs::check) the rows.
    pub fn fit_pairs(
        &self,
        x: ArrayView2<f32>,
        pairs: &Pairs,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        check_finite(x, "discriminative component analysis")?;
        self.learn(x, pairs, monitor)
    }

    fn learn<T: Copy + Into<f64> + Sync>(
        &self,
        x: ArrayView2<T>,
        pairs: &Pairs,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        self.validate()?;
        let chunklets = Chunklets::of(pairs, x.nrows())?;
        if chunklets.contradicted > 0 {
            monitor.warn(format!(
                "the items of {} unlike pairs are joined by alike ones; some of the pairs are \
                 wrong",
                chunklets.contradicted
            ));
        }
        let Chunklets {
            mut class,
            mut weight,
            count,
            ..
        } = chunklets;
        let unlike = || pairs.iter().filter(|pair| !pair.2 && pair.3 > 0.0);
        let mut next = count as u32;
        for item in unlike().flat_map(|pair| [pair.0 as usize, pair.1 as usize]) {
            if weight[item] <= 0.0 {
                (class[item], weight[item]) = (next, 1.0);
                next += 1;
            }
        }
        let groups = Groups::of(x, &class, &weight);
        let links = differing(unlike().map(|(a, b, _, w)| {
            let (a, b) = (class[a as usize], class[b as usize]);
            (a.min(b), a.max(b), f64::from(w))
        }));
        if count == 0 || links.is_empty() {
            return Err(Error::data(
                "discriminative component analysis needs an alike pair, and an unlike one whose \
                 items are not joined by alike ones; without unlike pairs take relevant component \
                 analysis",
            ));
        }
        let whole: f64 = links.iter().map(|link| link.2).sum();
        let between = Spectrum::of_centered(links.len(), x.ncols(), |row, out| {
            let (a, b, w) = links[row];
            // The spectrum divides by the number of links, which here count by their weight.
            let factor = (w * links.len() as f64 / whole).sqrt();
            let both = groups.means.row(a as usize).into_iter();
            let both = both.zip(groups.means.row(b as usize));
            for (out, (a, b)) in out.iter_mut().zip(both) {
                *out = factor * (a - b);
            }
        })?;
        self.discriminate(x, &groups, &between)
    }

    /// Checks the number of dimensions and the shrinkage.
    pub fn validate(&self) -> Result<()> {
        if self.dims == Some(0) {
            return Err(Error::parameter("dca.dims", 0, "must be at least 1"));
        }
        check_shrinkage("dca.shrinkage", self.shrinkage)
    }

    /// Steps 1 to 3 of the formulas.
    fn discriminate<T: Copy + Into<f64>>(
        &self,
        x: ArrayView2<T>,
        groups: &Groups,
        between: &Spectrum,
    ) -> Result<Array2<f64>> {
        let variances = &between.variances;
        let least = FLOOR * variances.first().copied().unwrap_or_default();
        let r = variances.iter().filter(|&&v| v > least).count();
        if r == 0 {
            return Err(Error::data(
                "all classes have the same mean: nothing tells them apart",
            ));
        }
        let kept = Slice::from(..r);
        let scale = (variances.slice_axis(Axis(0), kept)).mapv(|v| v.sqrt().recip());
        let z = &between.directions.slice_axis(Axis(1), kept) * &scale;
        let mut within = groups.within(x, &z);
        let seen = groups.members.len() as f64 - groups.mass.len() as f64;
        let share = self.shrinkage.unwrap_or_else(|| usual_shrinkage(seen, r));
        shrink(&mut within, share);
        let eigen = spd::eigen(&within)?;
        let floor = FLOOR * eigen.largest();
        // Where nothing varies within classes, no direction is better than another.
        let gain = |v: f64| {
            if floor > 0.0 {
                v.max(floor).sqrt().recip()
            } else {
                1.0
            }
        };
        let kept = self.dims.unwrap_or(r).min(r);
        let directions = Array2::from_shape_fn((kept, r), |(row, j)| {
            gain(eigen.values[row]) * eigen.vectors[(j, row)]
        });
        Ok(product(&directions, &z))
    }
}

impl Fit for Dca {
    fn needs(&self) -> &'static [Need] {
        &[Need::Alike]
    }

    fn gives_distance(&self) -> bool {
        true
    }

    fn validate(&self) -> Result<()> {
        Dca::validate(self)
    }

    /// From classes, or from given pairs where some are alike.
    fn fit(&self, evidence: &Evidence, _: u64, monitor: &Monitor) -> Result<Model> {
        match evidence.alike_pairs() {
            Some(pairs) => {
                let varying = evidence.varying(monitor)?;
                let map = self.fit_pairs(varying.rows(), pairs, monitor)?;
                evidence.start.transform(varying.map(map))
            }
            None => evidence.map_of_classes(monitor, |x, class, weight| {
                self.fit_weighted(x, class, weight)
            }),
        }
    }
}

/// The rows that count, by classes that are numbered without gaps.
struct Groups {
    members: Vec<usize>,
    /// Class and weight of each member.
    class: Vec<usize>,
    weight: Vec<f64>,
    /// Mean (`K x d`) and sum of weights of each class.
    means: Array2<f64>,
    mass: Vec<f64>,
}

impl Groups {
    fn of<T: Copy + Into<f64>>(x: ArrayView2<T>, classes: &[u32], weights: &[f32]) -> Self {
        let members: Vec<usize> = (0..x.nrows()).filter(|&i| weights[i] > 0.0).collect();
        let mut numbers: Vec<u32> = members.iter().map(|&i| classes[i]).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let number = |&i: &usize| numbers.partition_point(|&c| c < classes[i]);
        let class: Vec<usize> = members.iter().map(number).collect();
        let weight: Vec<f64> = members.iter().map(|&i| f64::from(weights[i])).collect();
        let mut means = Array2::zeros((numbers.len(), x.ncols()));
        let mut mass = vec![0.0; numbers.len()];
        for (place, &i) in members.iter().enumerate() {
            mass[class[place]] += weight[place];
            let mut mean = means.row_mut(class[place]);
            mean.zip_mut_with(&x.row(i), |m, &v| *m += weight[place] * v.into());
        }
        for (mut mean, mass) in means.rows_mut().into_iter().zip(&mass) {
            mean /= *mass;
        }
        Self {
            members,
            class,
            weight,
            means,
            mass,
        }
    }

    /// `Z^T Cw Z`.
    fn within<T: Copy + Into<f64>>(&self, x: ArrayView2<T>, z: &Array2<f64>) -> Array2<f64> {
        let transposed = z.t().as_standard_layout().into_owned();
        let mut sum = Array2::zeros((z.ncols(), z.ncols()));
        for from in (0..self.members.len()).step_by(ROWS) {
            let to = (from + ROWS).min(self.members.len());
            let rows = product(&self.centered(x, from..to), &transposed);
            add_cross(&mut sum, rows.view(), rows.view());
        }
        symmetrize(&mut sum);
        sum
    }

    /// Members less the mean of their class, times the root of their share.
    fn centered<T: Copy + Into<f64>>(&self, x: ArrayView2<T>, part: Range<usize>) -> Array2<f64> {
        let mut rows = Array2::zeros((part.len(), x.ncols()));
        for (place, mut out) in part.zip(rows.rows_mut()) {
            let class = self.class[place];
            let share = self.weight[place] / (self.mass[class] * self.mass.len() as f64);
            let root = share.sqrt();
            let both = x.row(self.members[place]).into_iter();
            let both = both.zip(self.means.row(class));
            for (out, (&value, mean)) in out.iter_mut().zip(both) {
                *out = root * (value.into() - mean);
            }
        }
        rows
    }
}

/// Links of two different groups, each once with its largest weight, sorted.
fn differing(links: impl Iterator<Item = (u32, u32, f64)>) -> Vec<(u32, u32, f64)> {
    let mut links: Vec<_> = links.filter(|link| link.0 != link.1).collect();
    links.sort_by(|p, q| (p.0, p.1).cmp(&(q.0, q.1)).then(q.2.total_cmp(&p.2)));
    links.dedup_by_key(|link| (link.0, link.1));
    links
}

#[cfg(test)]
#[allow(clippy::unreadable_literal)] // Printed values.
mod tests {
    use super::*;
    use crate::linear::check_values::{iris, relative_error};
    use crate::reference::in_one_and_two_threads;
    use crate::seed;
    use ndarray::{Array1, array};
    use proptest::prelude::*;
    use rand::RngExt;

    fn metric(l: &Array2<f64>) -> Array2<f64> {
        l.t().dot(l)
    }

    #[test]
    fn the_check_values_of_irises() {
        // Two chunklets a class: its first five rows and the next seven; those of different
        // classes differ.
        let (x, class) = iris();
        let mut pairs = Pairs::default();
        let mut firsts = Vec::new();
        for c in 0..3_u32 {
            for rows in [50 * c..50 * c + 5, 50 * c + 5..50 * c + 12] {
                firsts.push(rows.start);
                for row in rows.start + 1..rows.end {
                    pairs.push(rows.start, row, true, 1.0);
                }
            }
        }
        for (p, &a) in firsts.iter().enumerate() {
            for &b in &firsts[..p] {
                if class[a as usize] != class[b as usize] {
                    pairs.push(a, b, false, 1.0);
                }
            }
        }
        let learn = |dca: Dca| metric(&dca.learn(x.view(), &pairs, &Monitor::silent()).unwrap());
        let full = array![
            [25.0391519849, -18.5541625051, -27.0534596212, 24.5258927634],
            [-18.5541625051, 37.0865017604, 15.7641642354, -43.2958124668],
            [-27.0534596212, 15.7641642354, 39.7695393968, -34.851113906],
            [24.5258927634, -43.2958124668, -34.851113906, 101.275038775],
        ];
        assert!(relative_error(&learn(Dca::paper()), &full) < 1e-7);
        let two = array![
            [19.6223868291, -16.9169063202, -17.5499120335, 7.65318250662],
            [-16.9169063202, 30.3773668672, 7.86841094154, -27.9978516101],
            [-17.5499120335, 7.86841094154, 19.0353732407, 2.99504003798],
            [7.65318250662, -27.9978516101, 2.99504003798, 31.9823715136],
        ];
        assert!(relative_error(&learn(Dca::paper().dims(2)), &two) < 1e-7);
        // The default is next to the same.
        assert!(relative_error(&learn(Dca::new()), &full) < 1e-2);
        // The same pairs twice, or those of weight 0, change nothing.
        let mut more = pairs.clone();
        for (a, b, alike, w) in pairs.iter() {
            more.push(b, a, alike, w);
            more.push(a, (b + 20) % 150, !alike, 0.0);
        }
        let again = Dca::paper().learn(x.view(), &more, &Monitor::silent());
        assert!(relative_error(&metric(&again.unwrap()), &full) < 1e-7);
    }

    fn rows(n: usize, d: usize, number: u64) -> Array2<f32> {
        let mut rng = seed::stream(number, "dca");
        Array2::from_shape_fn((n, d), |_| rng.random_range(-1.0_f32..1.0))
    }

    /// `Cb` and `Cw` as they are written.
    fn naive(x: &Array2<f32>, class: &[u32], w: &[f32]) -> (Array2<f64>, Array2<f64>) {
        let d = x.ncols();
        let row = |i: usize| x.row(i).mapv(f64::from);
        let mut present: Vec<u32> = class.to_vec();
        present.sort_unstable();
        present.dedup();
        present.retain(|&c| (0..x.nrows()).any(|i| class[i] == c && w[i] > 0.0));
        let outer = |r: &Array1<f64>| Array2::from_shape_fn((d, d), |(a, b)| r[a] * r[b]);
        let (mut within, mut means) = (Array2::<f64>::zeros((d, d)), Vec::new());
        for &c in &present {
            let own: Vec<usize> = (0..x.nrows()).filter(|&i| class[i] == c).collect();
            let mass: f64 = own.iter().map(|&i| f64::from(w[i])).sum();
            let mean = own.iter().fold(Array1::<f64>::zeros(d), |m, &i| {
                m + row(i) * f64::from(w[i])
            });
            let mean = mean / mass;
            for &i in &own {
                let part = f64::from(w[i]) / mass / present.len() as f64;
                within = within + outer(&(row(i) - &mean)) * part;
            }
            means.push(mean);
        }
        let k = present.len() as f64;
        let mut between = Array2::<f64>::zeros((d, d));
        for a in &means {
            for b in &means {
                between = between + outer(&(a - b)) / (k * (k - 1.0));
            }
        }
        (between, within)
    }

    proptest! {
        #[test]
        fn whitens_within_classes_inside_of_what_means_span(
            n in 12_usize..30, d in 1_usize..9, share in 0.01_f64..0.9, number in any::<u64>(),
        ) {
            let x = rows(n, d, number);
            let mut rng = seed::stream(number, "classes");
            let class: Vec<u32> = (0..n).map(|i| if i < 4 { i as u32 * 2 } else { 2 * rng.random_range(0..4) }).collect();
            let w: Vec<f32> = (0..n).map(|i| if i < 4 { 1.0 } else { rng.random_range(0.0..2.0) }).collect();
            let (between, within) = naive(&x, &class, &w);
            // Z is recovered up to a rotation, which changes nothing: Z Z^T is the inverse of Cb.
            let inverse = spd::eigen(&between).unwrap();
            let least = FLOOR * inverse.largest();
            // Means that nearly lie in a plane: rounding decides whether the last direction counts.
            prop_assume!(inverse.values.iter().all(|&v| v < 0.1 * least || v > 100.0 * least));
            let l = Dca::new().shrinkage(share).fit_weighted(x.view(), &class, &w).unwrap();
            prop_assert_eq!(l.nrows(), inverse.values.iter().filter(|&&v| v > least).count());
            let inverse = inverse.matrix(|v| if v > least { v.recip() } else { 0.0 });
            let trace = inverse.dot(&within).diag().sum() / l.nrows() as f64;
            let shrunk = within * (1.0 - share) + &between * (share * trace);
            let one = l.dot(&shrunk).dot(&l.t()) - Array2::<f64>::eye(l.nrows());
            prop_assert!(one.iter().all(|e| e.abs() < 1e-6), "{one}");
            // L is within the span.
            let inside = l.dot(&between).dot(&inverse);
            prop_assert!(relative_error(&inside, &l) < 1e-6);
        }
    }

    #[test]
    fn weights_are_multiplicities_and_0_is_absence() {
        let x = rows(7, 3, 5);
        let class = [0, 0, 1, 1, 0, 2, 2];
        let found = Dca::new().shrinkage(0.1);
        let l = found.fit_weighted(x.view(), &class, &[2.0, 1.0, 1.0, 3.0, 0.0, 1.0, 1.0]);
        let copies = [0, 0, 1, 2, 3, 3, 3, 5, 6];
        let of = copies.map(|i| class[i]);
        let other = found.fit_weighted(x.select(Axis(0), &copies).view(), &of, &[1.0; 9]);
        let (l, other) = (metric(&l.unwrap()), metric(&other.unwrap()));
        assert!(relative_error(&l, &other) < 1e-8);
    }

    #[test]
    fn more_columns_than_rows_and_items_that_nothing_joins() {
        let x = rows(8, 30, 6);
        let l = Dca::new().fit_weighted(x.view(), &[0, 0, 1, 1, 2, 2, 3, 3], &[1.0; 8]);
        let l = l.unwrap();
        assert_eq!(l.dim(), (3, 30));
        assert!(l.iter().all(|v| v.is_finite()));
        let mut pairs = Pairs::default();
        for (a, b, alike) in [(0, 1, true), (1, 7, false), (0, 6, false), (6, 7, false)] {
            pairs.push(a, b, alike, 1.0);
        }
        let l = Dca::new()
            .fit_pairs(x.view(), &pairs, &Monitor::silent())
            .unwrap();
        assert_eq!(l.dim(), (2, 30));
        assert!(l.iter().all(|v| v.is_finite()));
        // One item a class: all directions are as good.
        let l = Dca::new().fit_weighted(x.view(), &[0, 1, 2, 3, 4, 5, 6, 7], &[1.0; 8]);
        assert!(l.unwrap().iter().all(|v| v.is_finite()));
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let x = rows(5000, 90, 7);
        let class: Vec<u32> = (0..5000).map(|i| i % 80).collect();
        let (one, two) = in_one_and_two_threads(|| {
            Dca::new()
                .fit_weighted(x.view(), &class, &vec![1.0; 5000])
                .unwrap()
        });
        assert_eq!(one, two);
    }

    #[test]
    fn wrong_input_is_named() {
        let x = rows(4, 3, 8);
        let said = |found: Result<Array2<f64>>| found.unwrap_err().to_string();
        let fit = |dca: Dca, class: &[u32]| dca.fit_weighted(x.view(), class, &[1.0; 4]);
        assert!(said(fit(Dca::new(), &[0; 4])).contains("two classes"));
        assert!(said(fit(Dca::new().dims(0), &[0, 0, 1, 1])).contains("dca.dims"));
        assert!(said(fit(Dca::new().shrinkage(2.0), &[0, 0, 1, 1])).contains("dca.shrinkage"));
        let same = Array2::<f32>::ones((4, 3));
        let found = Dca::new().fit_weighted(same.view(), &[0, 0, 1, 1], &[1.0; 4]);
        assert!(said(found).contains("the same mean"));
        let mut pairs = Pairs::default();
        pairs.push(0, 1, true, 1.0);
        let fit = |pairs: &Pairs| Dca::new().fit_pairs(x.view(), pairs, &Monitor::silent());
        assert!(said(fit(&pairs)).contains("an unlike one"));
        pairs.push(0, 1, false, 1.0);
        assert!(said(fit(&pairs)).contains("an unlike one"));
        let mut bad = x.clone();
        bad[(1, 2)] = f32::NAN;
        assert!(
            Dca::new()
                .fit_pairs(bad.view(), &pairs, &Monitor::silent())
                .is_err()
        );
    }
}
