//! Refuses items that look like none of the known classes, before they are believed.

use likewise::advise::outside::{
    agreement, calibrate,
    energy::{energy, largest_logit},
    lof::Lof,
    mahalanobis::ClassGaussians,
};
use likewise::matrix;
use ndarray::{Array2, ArrayView2, s};

use super::network::Said;
use super::outside::{Looks, Outside, Unlike};
use super::side::Side;
use crate::{Error, Result};

impl Outside {
    /// Fails where labels are too few for the score, before anything is learned.
    pub(super) fn check(&self, sides: &[Side]) -> Result<()> {
        // Of three labeled items of a class, one is kept back.
        let distance = self.by.is_distance();
        let least = if distance { "three" } else { "two" };
        for (t, side) in sides.iter().enumerate() {
            if !side.is_graded() {
                return Err(Error::data(format!(
                    "items of no known class are told by labels that are kept back, and view {t} has too \
                     few for that; label {least} items of a class or more in each view"
                )));
            }
            let mut class: Vec<u32> = side.taught().map(|(_, class)| class).collect();
            class.sort_unstable();
            if distance && class.windows(2).all(|two| two[0] != two[1]) {
                return Err(Error::data(format!(
                    "view {t}: how items of one class differ says who is outside, and no class has two \
                     labeled items beside those kept back; label three items of a class or more in each \
                     view, or keep fewer of them back (validation)"
                )));
            }
        }
        Ok(())
    }

    /// How unlike the known classes each item is, the larger the less like; `NaN` of one without a view.
    /// Accepted are those up to the second result. `believed` are the classes of the selection before.
    pub(super) fn scores(
        &self,
        sides: &[Side],
        said: &[Said],
        believed: &[Option<u32>],
        kept_back: &[usize],
    ) -> Result<(Vec<f64>, f64)> {
        let work = Work {
            sides,
            said,
            believed,
            kept_back,
        };
        let scores = match self.by {
            Unlike::Combined => {
                let of = |on| Unlike::Mahalanobis {
                    on,
                    relative: false,
                };
                let each = [of(Looks::Rows), of(Looks::Features), Unlike::Agreement];
                let mut sum = vec![0.0; believed.len()];
                for by in each {
                    let scores = work.scores(by)?;
                    let known = work.known(&scores);
                    let present: Vec<usize> =
                        (0..scores.len()).filter(|&i| !scores[i].is_nan()).collect();
                    let own: Vec<f64> = present.iter().map(|&i| scores[i]).collect();
                    let ranks = calibrate::ranks(&known, &own)?;
                    present
                        .iter()
                        .zip(ranks)
                        .for_each(|(&i, rank)| sum[i] += rank / 3.0);
                    (0..sum.len())
                        .filter(|&i| scores[i].is_nan())
                        .for_each(|i| sum[i] = f64::NAN);
                }
                sum
            }
            by => work.scores(by)?,
        };
        let threshold = calibrate::threshold(&work.known(&scores), self.quantile)?;
        Ok((scores, threshold))
    }
}

struct Work<'a> {
    sides: &'a [Side],
    said: &'a [Said],
    believed: &'a [Option<u32>],
    kept_back: &'a [usize],
}

impl Work<'_> {
    /// The scores of the items that were kept back.
    fn known(&self, scores: &[f64]) -> Vec<f64> {
        let of = self.kept_back.iter().map(|&i| scores[i]);
        of.filter(|score| !score.is_nan()).collect()
    }

    fn scores(&self, by: Unlike) -> Result<Vec<f64>> {
        match by {
            Unlike::Agreement => self.by_item(agreement::soft),
            Unlike::Divergence => self.by_item(agreement::divergence),
            by => self.by_view(by),
        }
    }

    /// The mean over the views of what each says, less what it says of the items kept back and over how
    /// much that varies.
    fn by_view(&self, by: Unlike) -> Result<Vec<f64>> {
        let n = self.believed.len();
        let (mut sum, mut count) = (vec![0.0; n], vec![0.0; n]);
        for (side, said) in self.sides.iter().zip(self.said) {
            let own = self.of_view(by, side, said)?;
            let kept = (0..own.len()).filter(|&p| side.kept_back[p]);
            let kept: Vec<f64> = kept.map(|p| own[p]).collect();
            let m = kept.len().max(1) as f64;
            let mean = kept.iter().sum::<f64>() / m;
            let variance = kept.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / m;
            let deviation = if variance > 1e-24 {
                variance.sqrt()
            } else {
                1.0
            };
            for (&item, score) in side.items.iter().zip(own) {
                sum[item] += (score - mean) / deviation;
                count[item] += 1.0;
            }
        }
        Ok(sum.iter().zip(count).map(|(sum, n)| sum / n).collect())
    }

    fn of_view(&self, by: Unlike, side: &Side, said: &Said) -> Result<Vec<f64>> {
        let rows = |on: Looks| match on {
            Looks::Rows => side.rows.view(),
            Looks::Features => said.feature.view(),
        };
        let (places, class): (Vec<usize>, Vec<u32>) = side.taught().unzip();
        match by {
            Unlike::Energy { temperature } => energy(said.logits.view(), temperature),
            Unlike::LargestLogit => largest_logit(said.logits.view()),
            Unlike::Mahalanobis { on, relative } => {
                let known = matrix::select_rows(rows(on), &places);
                let classes = ClassGaussians::fit(known.view(), &class)?;
                if relative {
                    classes.relative(rows(on))
                } else {
                    classes.distances(rows(on))
                }
            }
            Unlike::Lof { on, k } => {
                let believed = side.items.iter().enumerate();
                let believed = believed.filter(|(_, item)| self.believed[**item].is_some());
                let all: Vec<usize> = places.into_iter().chain(believed.map(|(p, _)| p)).collect();
                let known = matrix::select_rows(rows(on), &all);
                Lof::fit(known.view(), k)?.factors(rows(on))
            }
            Unlike::Combined | Unlike::Agreement | Unlike::Divergence => {
                unreachable!("they are of items, not of views")
            }
        }
    }

    /// By the class probabilities of the networks and of the class means, of all views that an item has.
    fn by_item(&self, score: fn(&[ArrayView2<f32>]) -> Result<Vec<f64>>) -> Result<Vec<f64>> {
        let mut voters: Vec<Vec<(usize, usize)>> = vec![Vec::new(); self.believed.len()];
        let mut of_means: Vec<Array2<f32>> = Vec::with_capacity(self.sides.len());
        for (t, (side, said)) in self.sides.iter().zip(self.said).enumerate() {
            for (p, &item) in side.items.iter().enumerate() {
                voters[item].push((t, p));
            }
            let (places, class): (Vec<usize>, Vec<u32>) = side.taught().unzip();
            let known = matrix::select_rows(side.rows.view(), &places);
            let classes = said.posterior.ncols();
            let p = agreement::of_means(known.view(), &class, classes, side.rows.view())?;
            of_means.push(p);
        }
        let of = |views: &Vec<(usize, usize)>| -> Result<f64> {
            let both = |&(t, p): &(usize, usize)| {
                let networks = self.said[t].posterior.slice(s![p..=p, ..]);
                [networks, of_means[t].slice(s![p..=p, ..])]
            };
            let p: Vec<ArrayView2<f32>> = views.iter().flat_map(both).collect();
            if p.is_empty() {
                return Ok(f64::NAN);
            }
            Ok(score(&p)?[0])
        };
        voters.iter().map(of).collect()
    }
}
