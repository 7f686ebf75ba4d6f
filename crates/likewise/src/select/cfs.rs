//! CFS: few columns that know the class and do not know each other.
//!
//! ```text
//! SU(a, b) = 2 (H(a) + H(b) - H(a, b)) / (H(a) + H(b))         of columns cut into intervals
//! merit of k columns = sum SU(column, class) / sqrt(k + 2 sum of SU over their pairs)
//! ```
//!
//! Greedy: the column that raises the merit most joins, until none does. Columns are cut into
//! intervals by Fayyad and Irani's rule: at the place where the classes are purest on both sides, and
//! again within both, as long as the cut pays for its description; a column without a cut knows
//! nothing.
//!
//! **Use it** with some tens of labels, for a small set without repetition. **Not** where only
//! several columns together tell classes apart (each is asked alone), and not with a few labels a
//! class: no cut pays then.
//!
//! Cost: O(d n log n C) for the cuts and O(n) for each pair that is asked for, at most d a step;
//! memory O(n d).
//!
//! Source: Hall, "Correlation-based feature selection for machine learning", 1999, as
//! `CfsSubsetEval` with `GreedyStepwise`; Fayyad and Irani, IJCAI 1993. Weights count rows; scores
//! are SU with the class. A pair of columns without a cut in both has SU 0.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::Selected;
use crate::learn::{Evidence, Fit, Need, Targets};
use crate::matrix::check_finite;
use crate::model::Model;
use crate::{Error, Monitor, Result, parallel};

/// Parameters of CFS; see [`cfs`](self).
///
/// ```
/// use likewise::{Monitor, select::Cfs};
/// let x = ndarray::Array2::from_shape_fn((40, 3), |(i, j)| match j {
///     0 => (i % 7) as f32,
///     _ => (i / 20 * 10 + i % 3) as f32,
/// });
/// let classes: Vec<u32> = (0..40).map(|i| i / 20).collect();
/// let found = Cfs::new().fit_weighted(x.view(), &classes, &[1.0; 40], &Monitor::silent())?;
/// // The third says what the second has said.
/// assert_eq!(found.chosen, [1]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cfs {
    #[serde(skip_serializing_if = "Option::is_none")]
    features: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bins: Option<usize>,
}

impl Cfs {
    /// As many columns as raise the merit, cut by Fayyad and Irani's rule.
    pub fn new() -> Self {
        Self::default()
    }

    /// Most columns, at least 1.
    #[must_use]
    pub fn features(mut self, features: Option<usize>) -> Self {
        self.features = features;
        self
    }

    /// Intervals of equal numbers of rows in place of Fayyad and Irani's, at least 2.
    #[must_use]
    pub fn bins(mut self, bins: Option<usize>) -> Self {
        self.bins = bins;
        self
    }

    /// Checks the numbers.
    pub fn validate(&self) -> Result<()> {
        if self.features == Some(0) {
            return Err(Error::parameter("cfs.features", 0, "must be at least 1"));
        }
        match self.bins {
            Some(bins) if bins < 2 => Err(Error::parameter("cfs.bins", bins, "must be at least 2")),
            _ => Ok(()),
        }
    }

    /// Chooses among the columns of rows (`n x d`) by a class and a weight of each; rows of weight
    /// 0 are left out.
    ///
    /// Fails on NaN, where numbers differ, without two classes of some weight, where no column
    /// knows anything of the class, and when cancelled.
    pub fn fit_weighted(
        &self,
        x: ArrayView2<f32>,
        classes: &[u32],
        weights: &[f32],
        monitor: &Monitor,
    ) -> Result<Selected> {
        self.validate()?;
        let kept = super::labeled(x, classes, weights, "CFS")?;
        check_finite(x, "CFS")?;
        let mut names: Vec<u32> = kept.iter().map(|&i| classes[i]).collect();
        names.sort_unstable();
        names.dedup();
        let own: Vec<usize> = (kept.iter())
            .map(|&i| names.partition_point(|&name| name < classes[i]))
            .collect();
        let weight: Vec<f64> = kept.iter().map(|&i| f64::from(weights[i])).collect();
        let d = x.ncols();
        monitor.start("columns that know the class", d as u64);
        let columns: Vec<Vec<usize>> = parallel::try_map(0..d, |j| {
            monitor.check()?;
            let values: Vec<f32> = kept.iter().map(|&i| x[(i, j)]).collect();
            let labeled = Column {
                values: &values,
                own: &own,
                weight: &weight,
                classes: names.len(),
            };
            let mut cuts = match self.bins {
                None => labeled.cuts(),
                Some(bins) => labeled.even_cuts(bins),
            };
            cuts.sort_by(f32::total_cmp);
            let interval = |v: &f32| cuts.partition_point(|cut| cut < v);
            Ok(values.iter().map(interval).collect())
        })?;
        let with_all =
            |other: &[usize]| parallel::map_rows(d, |j| uncertainty(&columns[j], other, &weight));
        let scores: Vec<f64> = with_all(&own);
        let mut chosen: Vec<usize> = Vec::new();
        // With those that were chosen, of every column.
        let mut shared = vec![0.0; d];
        let (mut merit, mut known, mut pairs) = (0.0, 0.0, 0.0);
        while chosen.len() < self.features.unwrap_or(d).min(d) {
            monitor.step(chosen.len() as u64)?;
            let k = (chosen.len() + 1) as f64;
            let with = |j: usize| (known + scores[j]) / (k + 2.0 * (pairs + shared[j])).sqrt();
            let others = (0..d).filter(|j| !chosen.contains(j));
            let best = others
                .map(|j| (with(j), j))
                .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
            let Some((raised, j)) = best else { break };
            if raised <= merit {
                break;
            }
            (merit, known, pairs) = (raised, known + scores[j], pairs + shared[j]);
            chosen.push(j);
            for (sum, own) in shared.iter_mut().zip(with_all(&columns[j])) {
                *sum += own;
            }
        }
        monitor.end();
        if chosen.is_empty() {
            return Err(Error::data(
                "CFS: no column by itself knows anything of the class; give more labels, or a \
                 number of bins",
            ));
        }
        Ok(Selected { scores, chosen })
    }
}

impl Fit for Cfs {
    fn needs(&self) -> &'static [Need] {
        &[Need::Classes]
    }

    fn gives_distance(&self) -> bool {
        true
    }

    fn validate(&self) -> Result<()> {
        Cfs::validate(self)
    }

    fn fit(&self, evidence: &Evidence, _: u64, monitor: &Monitor) -> Result<Model> {
        let rows = evidence.coordinates()?;
        let Targets { class, weight, .. } = evidence.targets;
        let found = self.fit_weighted(rows.view(), class, weight, monitor)?;
        found.model(evidence)
    }
}

/// A column with the class and the weight of each row.
struct Column<'a> {
    values: &'a [f32],
    own: &'a [usize],
    weight: &'a [f64],
    classes: usize,
}

impl Column<'_> {
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.values.len()).collect();
        order.sort_by(|&i, &j| self.values[i].total_cmp(&self.values[j]));
        order
    }

    /// Fayyad and Irani's.
    fn cuts(&self) -> Vec<f32> {
        let order = self.order();
        let (mut cuts, mut open) = (Vec::new(), vec![&order[..]]);
        while let Some(rows) = open.pop() {
            if let Some(at) = self.cut(rows) {
                let (left, right) = rows.split_at(at);
                cuts.push(self.between(rows, at));
                open.extend([left, right]);
            }
        }
        cuts
    }

    /// At most `bins` intervals of as many rows as possible each.
    fn even_cuts(&self, bins: usize) -> Vec<f32> {
        let order = self.order();
        let all: f64 = self.weight.iter().sum();
        let (mut cuts, mut sum) = (Vec::new(), 0.0);
        for at in 1..order.len() {
            sum += self.weight[order[at - 1]];
            let changes = self.values[order[at]] > self.values[order[at - 1]];
            if changes
                && sum >= all * (cuts.len() + 1) as f64 / bins as f64
                && cuts.len() + 1 < bins
            {
                cuts.push(self.between(&order, at));
            }
        }
        cuts
    }

    /// Half way between two neighbours, and below the upper one.
    fn between(&self, rows: &[usize], at: usize) -> f32 {
        let (low, high) = (self.values[rows[at - 1]], self.values[rows[at]]);
        let middle = f32::midpoint(low, high);
        if middle < high { middle } else { low }
    }

    /// Where sorted rows are cut best, if that pays.
    fn cut(&self, rows: &[usize]) -> Option<usize> {
        let mut right = vec![0.0; self.classes];
        for &i in rows {
            right[self.own[i]] += self.weight[i];
        }
        let mut left = vec![0.0; self.classes];
        let whole: f64 = right.iter().sum();
        let before = entropy(&right);
        let kinds = |counts: &[f64]| counts.iter().filter(|&&count| count > 1e-9).count() as f64;
        let all = kinds(&right);
        let mut best: Option<(f64, usize, f64)> = None;
        for at in 1..rows.len() {
            let i = rows[at - 1];
            left[self.own[i]] += self.weight[i];
            right[self.own[i]] = (right[self.own[i]] - self.weight[i]).max(0.0);
            if self.values[rows[at]] <= self.values[i] {
                continue;
            }
            let (own, other) = (entropy(&left), entropy(&right));
            let share = left.iter().sum::<f64>() / whole;
            let after = share * own + (1.0 - share) * other;
            if best.is_none_or(|best| after < best.0) {
                let told = all * before - kinds(&left) * own - kinds(&right) * other;
                let cost = ways(all) - told;
                best = Some((after, at, cost));
            }
        }
        let (after, at, cost) = best?;
        // A description of the place needs rows to choose from.
        let places = (whole - 1.0).max(1.0).log2();
        (before - after > (places + cost) / whole).then_some(at)
    }
}

/// `log2(3^kinds - 2)`: what it takes to tell which of so many kinds stand on which side.
fn ways(kinds: f64) -> f64 {
    // Beyond, the 2 is lost in rounding, and some hundred farther the power is more than a number holds.
    if kinds < 40.0 {
        (3.0_f64.powf(kinds) - 2.0).log2()
    } else {
        kinds * 3.0_f64.log2()
    }
}

/// In bits, of counts.
fn entropy(counts: &[f64]) -> f64 {
    let all: f64 = counts.iter().sum();
    let shares = counts
        .iter()
        .filter(|&&count| count > 0.0)
        .map(|count| count / all);
    -shares.map(|share| share * share.log2()).sum::<f64>()
}

/// Symmetrical uncertainty of two ways to divide the rows.
fn uncertainty(a: &[usize], b: &[usize], weight: &[f64]) -> f64 {
    let kinds = |of: &[usize]| of.iter().max().map_or(0, |most| most + 1);
    let (rows, columns) = (kinds(a), kinds(b));
    let mut both = vec![0.0; rows * columns];
    let (mut left, mut right) = (vec![0.0; rows], vec![0.0; columns]);
    for ((&a, &b), weight) in a.iter().zip(b).zip(weight) {
        both[a * columns + b] += weight;
        left[a] += weight;
        right[b] += weight;
    }
    let sum = entropy(&left) + entropy(&right);
    if sum > 0.0 {
        (2.0 * (sum - entropy(&both)) / sum).clamp(0.0, 1.0)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::check_values::iris;

    #[test]
    fn uncertainty_by_hand() {
        let one = [1.0; 4];
        assert!((uncertainty(&[0, 0, 1, 1], &[1, 1, 0, 0], &one) - 1.0).abs() < 1e-12);
        assert!(uncertainty(&[0, 0, 1, 1], &[0, 1, 0, 1], &one).abs() < 1e-12);
        assert!(uncertainty(&[0; 4], &[0; 4], &one).abs() < 1e-12);
        // H = 1, H = .811278, H of both = 1.5.
        let found = uncertainty(&[0, 0, 1, 1], &[0, 0, 0, 1], &one);
        let expected = 2.0 * (1.811_278_124_459_133 - 1.5) / 1.811_278_124_459_133;
        assert!((found - expected).abs() < 1e-12);
    }

    #[test]
    fn a_cut_pays_also_among_very_many_classes() {
        assert!((ways(2.0) - 7.0_f64.log2()).abs() < 1e-12 && ways(1.0).abs() < 1e-12);
        assert!((ways(39.0) + 3.0_f64.log2() - ways(40.0)).abs() < 1e-12);
        // 3^700 is no number any more.
        assert!((ways(700.0) - 1_109.473_750_504_809).abs() < 1e-9);
        // A row a class: a cut in the middle tells one bit, and costs (log2(699) + 1109.5 - 700) / 700.
        let values: Vec<f32> = (0..700_u16).map(f32::from).collect();
        let own: Vec<usize> = (0..700).collect();
        let column = Column {
            values: &values,
            own: &own,
            weight: &[1.0; 700],
            classes: 700,
        };
        assert_eq!(column.cut(&own), Some(350));
    }

    #[test]
    fn petals_are_chosen_and_their_cuts_are_the_known_ones() {
        let (x, classes) = iris();
        let x = x.mapv(|v| v as f32);
        let own: Vec<usize> = classes.iter().map(|&c| c as usize).collect();
        let cuts = |j: usize| {
            let values = x.column(j).to_vec();
            let column = Column {
                values: &values,
                own: &own,
                weight: &[1.0; 150],
                classes: 3,
            };
            let mut cuts = column.cuts();
            cuts.sort_by(f32::total_cmp);
            cuts
        };
        // As Fayyad and Irani's rule cuts irises: petal length at 2.45 and 4.75, width at .8 and
        // 1.75.
        for (found, expected) in [(cuts(2), [2.45, 4.75]), (cuts(3), [0.8, 1.75])] {
            assert_eq!(found.len(), 2, "{found:?}");
            assert!(
                found
                    .iter()
                    .zip(expected)
                    .all(|(a, b)| (a - b).abs() < 1e-5),
                "{found:?}"
            );
        }
        let silent = Monitor::silent();
        let found = Cfs::new()
            .fit_weighted(x.view(), &classes, &[1.0; 150], &silent)
            .unwrap();
        // What the program of the source chooses.
        let mut chosen = found.chosen.clone();
        chosen.sort_unstable();
        assert_eq!(chosen, [2, 3]);
        let binned = Cfs::new().bins(Some(10)).features(Some(1));
        let binned = binned
            .fit_weighted(x.view(), &classes, &[1.0; 150], &silent)
            .unwrap();
        assert_eq!(binned.chosen.len(), 1);
    }

    #[test]
    fn weights_are_multiplicities_and_nothing_known_is_an_error() {
        let (x, classes) = iris();
        let x = x.mapv(|v| v as f32);
        let silent = Monitor::silent();
        let weights: Vec<f32> = (0..150).map(|i| [1.0, 0.0, 2.0][i % 3]).collect();
        let found = Cfs::new()
            .fit_weighted(x.view(), &classes, &weights, &silent)
            .unwrap();
        let copies: Vec<usize> = (0..150).flat_map(|i| vec![i; [1, 0, 2][i % 3]]).collect();
        let many: Vec<u32> = copies.iter().map(|&i| classes[i]).collect();
        let rows = x.select(ndarray::Axis(0), &copies);
        let ones = vec![1.0; many.len()];
        let other = Cfs::new()
            .fit_weighted(rows.view(), &many, &ones, &silent)
            .unwrap();
        assert_eq!(found.chosen, other.chosen);
        for (a, b) in found.scores.iter().zip(&other.scores) {
            assert!((a - b).abs() < 1e-12);
        }
        let same = ndarray::Array2::from_elem((6, 2), 1.0_f32);
        let classes = [0, 1, 0, 1, 0, 1];
        let said = Cfs::new()
            .fit_weighted(same.view(), &classes, &[1.0; 6], &silent)
            .unwrap_err();
        assert!(said.to_string().contains("no column"), "{said}");
        assert!(
            Cfs::new()
                .fit_weighted(same.view(), &[0; 6], &[1.0; 6], &silent)
                .is_err()
        );
        assert!(Cfs::new().bins(Some(1)).validate().is_err());
        assert!(Cfs::new().features(Some(0)).validate().is_err());
    }
}
