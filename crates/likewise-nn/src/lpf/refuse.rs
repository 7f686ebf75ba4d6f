//! Refuses items that look like none of the known classes, before they are believed.

use likewise::advise::outside::{
    agreement, calibrate,
    energy::{Classifier, energy, largest_logit},
    lof::Lof,
    mahalanobis::ClassGaussians,
};
use likewise::{Monitor, matrix, seed};
use ndarray::{Array2, ArrayView2, s};
use rand::seq::index;

use super::network::Said;
use super::outside::{Looks, Outside, Unlike};
use super::side::Side;
use crate::{Error, Result};

/// Most known rows of a local outlier factor, whose cost is their number times that of all rows: a draw where there
/// are more, of labeled ones first.
const MOST_KNOWN: usize = 5000;

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
            let apart = matches!(self.by, Unlike::Energy { apart: true, .. });
            if apart && class.first() == class.last() {
                return Err(Error::data(format!(
                    "view {t}: the energy of a classifier says who is outside, and only one class has labeled \
                     items beside those kept back; label items of another class in each view, or take \
                     mahalanobis"
                )));
            }
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
    /// Accepted are those up to the second result. `believed` are the classes of the selection before, and
    /// `kept_back` the items whose labels are.
    pub(super) fn scores(
        &self,
        sides: &[Side],
        said: &[Said],
        (believed, kept_back): (&[Option<u32>], &[usize]),
        seed: u64,
    ) -> Result<(Vec<f64>, f64)> {
        let work = Work {
            sides,
            said,
            believed,
            kept_back,
            seed,
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
    seed: u64,
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
            Unlike::Energy {
                temperature,
                apart: false,
            } => energy(said.logits.view(), temperature),
            Unlike::Energy { temperature, .. } => {
                let rows = matrix::l2_normalize(side.rows.clone());
                let known = matrix::select_rows(rows.view(), &places);
                let classifier = Classifier::fit(known.view(), &class, &Monitor::silent())?;
                energy(classifier.logits(rows.view())?.view(), temperature)
            }
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
                let believed = believed.map(|(place, _)| place).collect();
                let all = known_places(places, believed, self.seed);
                // Those kept back, which say what is too much, are not among the known ones: none of them is its
                // own neighbour, so nobody may be.
                let mut own = vec![None; side.items.len()];
                for (known, &place) in all.iter().enumerate() {
                    own[place] = Some(known);
                }
                let known = matrix::select_rows(rows(on), &all);
                Lof::fit(known.view(), k)?.factors_among(rows(on), &own)
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

/// Rows that are known: the `taught` ones and those that are `believed`, or a draw of either where there are more
/// than [`MOST_KNOWN`].
fn known_places(taught: Vec<usize>, believed: Vec<usize>, seed: u64) -> Vec<usize> {
    let mut rng = seed::stream(seed, "known rows of the local outlier factor");
    let mut places = Vec::new();
    for of in [taught, believed] {
        let room = MOST_KNOWN - places.len();
        if of.len() <= room {
            places.extend(of);
            continue;
        }
        let mut drawn = index::sample(&mut rng, of.len(), room).into_vec();
        drawn.sort_unstable();
        places.extend(drawn.into_iter().map(|place| of[place]));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_known_rows_labeled_ones_stay_and_others_are_drawn() {
        assert_eq!(known_places(vec![3, 1], vec![0, 7], 1), [3, 1, 0, 7]);
        let taught: Vec<usize> = (0..1000).collect();
        let believed: Vec<usize> = (1000..9000).collect();
        let drawn = |seed| known_places(taught.clone(), believed.clone(), seed);
        let places = drawn(1);
        assert_eq!((places.len(), &places[..1000]), (MOST_KNOWN, &taught[..]));
        assert!(places.is_sorted_by(|a, b| a < b) && places[MOST_KNOWN - 1] < 9000);
        assert_eq!(drawn(1), places);
        assert_ne!(drawn(2), places);
        let many = known_places((0..6000).collect(), vec![8000], 1);
        assert!(many.len() == MOST_KNOWN && !many.contains(&8000));
    }
}
