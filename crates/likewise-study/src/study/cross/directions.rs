//! What pairs alone find, without a label and without an item of the test part: canonical correlations, of as
//! many directions as find pairs again.

use likewise::cross::{self, Cca, Embedding, Views};
use likewise::matrix::l2_normalize;
use likewise::{Monitor, seed};
use likewise_nn::cross::Learner;
use ndarray::{Array2, ArrayView2, s};
use rand::seq::SliceRandom;

use super::believed::Believed;
use super::embedded::mixed;
use super::fitted::Ground;
use super::measured::Measured;
use crate::Result;

/// Numbers of directions that are tried, beside as many as there are up to [`MOST`].
const TRIED: [usize; 10] = [2, 3, 4, 5, 6, 8, 12, 16, 24, 32];
/// Directions where nothing can be tried.
const MOST: usize = 20;
/// One of so many pairs is kept back.
const SHARE: usize = 5;
/// Most pairs that are compared.
const COMPARED: usize = 1000;

impl Ground<'_> {
    /// What pairs alone find in the test part, and by how many directions.
    ///
    /// Fails as a fit of canonical correlations.
    pub(super) fn best_start(
        &self,
        nothing: &Believed,
        monitor: &Monitor,
    ) -> Result<(Measured, usize)> {
        let directions = self.directions(monitor)?;
        let cca = cross::Learner::Cca(Cca::new().dimensions(directions));
        let seed = self.plan.protocol.seed;
        let model = self.fit(&Learner::Direct(cca), nothing, seed, monitor)?;
        Ok((self.measure(&model, monitor)?, directions))
    }

    /// The learner; where it leaves the number of directions open, with as many as find pairs again.
    pub(super) fn settled(&self, learner: &Learner, monitor: &Monitor) -> Result<Learner> {
        Ok(match learner {
            Learner::Direct(cross::Learner::Cca(cca)) if cca.leaves_dimensions() => {
                let directions = self.directions(monitor)?;
                Learner::Direct(cross::Learner::Cca(cca.dimensions(directions)))
            }
            other => *other,
        })
    }

    /// How many directions find best again, in the other view, pairs of the part to fit on that were kept back
    /// from the fit. No label is looked at, and no item of the test part.
    fn directions(&self, monitor: &Monitor) -> Result<usize> {
        let sides = &self.sides().0;
        let columns = sides.iter().map(|side| side.rows.ncols());
        let tried = tried(columns.min().unwrap_or(0));
        let most = tried.iter().copied().max().unwrap_or(1);
        let paired = |item: &usize| sides.iter().all(|side| side.has(*item));
        let mut pairs: Vec<usize> = self.train.iter().copied().filter(paired).collect();
        let mut order = seed::stream(self.plan.protocol.seed, "pairs that are kept back");
        pairs.shuffle(&mut order);
        let (kept_back, fitted) = pairs.split_at(pairs.len() / SHARE);
        if kept_back.len() < 2 || fitted.len() < 2 {
            return Ok(most.min(MOST));
        }
        let rows = |items: &[usize]| [0, 1].map(|t| self.read(t, items));
        let [x, y] = rows(fitted);
        let (class, weight) = (vec![0; fitted.len()], vec![0.0; fitted.len()]);
        let views = Views::paired(&[x.view(), y.view()], &class, &weight)?;
        // The first directions of many are those of few.
        let model = Cca::new().dimensions(most).fit(&views, monitor)?.model;
        let compared = rows(&kept_back[..kept_back.len().min(COMPARED)]);
        let embed = |t: usize| model.encoders[t].encode(compared[t].view());
        let (Embedding::Real(x), Embedding::Real(y)) = (embed(0)?, embed(1)?) else {
            return Err(mixed());
        };
        let mut best = (most.min(MOST), f64::NEG_INFINITY);
        for n in tried {
            monitor.check()?;
            let first = |rows: &Array2<f32>| {
                let n = n.min(rows.ncols());
                l2_normalize(rows.slice(s![.., ..n]).to_owned())
            };
            let found = found_again(first(&x).view(), first(&y).view());
            if found > best.1 {
                best = (n, found);
            }
        }
        Ok(best.0)
    }
}

/// The numbers that are tried, ascending, where the narrower view has so many columns.
fn tried(columns: usize) -> Vec<usize> {
    let mut tried: Vec<usize> = TRIED.into_iter().filter(|&n| n < columns).collect();
    tried.push(columns.clamp(1, MOST));
    tried.sort_unstable();
    tried.dedup();
    tried
}

/// The mean over both directions and all pairs of one over the rank of the own partner, by the cosine of
/// unit rows: 1 where each is the nearest. Of those that are as near, half come before.
fn found_again(x: ArrayView2<f32>, y: ArrayView2<f32>) -> f64 {
    let similarity = x.dot(&y.t());
    let ranks = |similarity: ArrayView2<f32>| {
        let each = similarity.rows().into_iter().enumerate();
        let each = each.map(|(own, row)| {
            let (mut before, mut alike) = (0.0_f64, 0.0_f64);
            for (_, &near) in row.iter().enumerate().filter(|(other, _)| *other != own) {
                if near > row[own] {
                    before += 1.0;
                } else if near >= row[own] {
                    alike += 1.0;
                }
            }
            (1.0 + before + alike / 2.0).recip()
        });
        each.sum::<f64>() / similarity.nrows().max(1) as f64
    };
    f64::midpoint(ranks(similarity.view()), ranks(similarity.t()))
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn few_columns_are_tried_as_they_are() {
        assert_eq!(tried(1), [1]);
        assert_eq!(tried(4), [2, 3, 4]);
        assert_eq!(tried(10), [2, 3, 4, 5, 6, 8, 10]);
        assert_eq!(tried(100), [2, 3, 4, 5, 6, 8, 12, 16, 20, 24, 32]);
    }

    #[test]
    fn the_own_partner_counts_by_its_rank() {
        let unit = array![[1.0, 0.0], [0.0, 1.0_f32]];
        assert!((found_again(unit.view(), unit.view()) - 1.0).abs() < 1e-12);
        let turned = array![[0.0, 1.0], [1.0, 0.0_f32]];
        assert!((found_again(unit.view(), turned.view()) - 0.5).abs() < 1e-12);
        // All alike: a rank of 1.5 of two.
        let same = array![[1.0, 0.0], [1.0, 0.0_f32]];
        assert!((found_again(same.view(), same.view()) - 1.0 / 1.5).abs() < 1e-12);
        // From x each finds its own; from y the second has the first before it.
        let x = array![[1.0, 0.0], [0.6, 0.8_f32]];
        let y = array![[1.0, 0.0], [0.8, 0.6_f32]];
        // Similarities 1, .8 and .6, .96: ranks 1, 1 of both.
        assert!((found_again(x.view(), y.view()) - 1.0).abs() < 1e-12);
        let y = array![[1.0, 0.0], [0.96, 0.28_f32]];
        // 1, .96 and .6, .8: from x 1, 1; from y 1 and, as .96 is above .8, 2.
        assert!((found_again(x.view(), y.view()) - 0.875).abs() < 1e-12);
    }
}
