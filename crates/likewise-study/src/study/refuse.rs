//! Refuses items that look like none of the known classes, before they are believed.

use likewise::advise::outside::energy::{self, Classifier};
use likewise::advise::outside::lof::Lof;
use likewise::advise::outside::{calibrate, mahalanobis::ClassGaussians};
use likewise::learn::Targets;
use likewise::tuple::Triplets;
use likewise::{Labels, Monitor, matrix};
use ndarray::ArrayView2;

use crate::recipe::{Refusing, Unlike};
use crate::{Error, Result};

/// Parts that labeled items are dealt into, to be judged by the others.
const FOLDS: usize = 5;

/// Takes the weight from items without a label that look like none of the known classes, and takes them out of
/// the triplets; `rows` are those of all items. Gives what each of them scores, the larger the less like: nothing
/// of those with a label.
///
/// Fails without two labels of any class, which say what is too unlike; the energy asks for two such classes.
pub(super) fn refuse(
    targets: &mut Targets,
    rows: ArrayView2<f32>,
    known: &Labels,
    how: &Refusing,
    (seed, monitor): (u64, &Monitor),
) -> Result<Vec<Option<f64>>> {
    let labels = known.items().iter().enumerate();
    let labeled = labels.filter_map(|(item, label)| Some((item, label.class()?)));
    let (places, class): (Vec<usize>, Vec<u32>) = labeled.unzip();
    let x = matrix::select_rows(rows, &places);
    // A class of one label is not known where that label is asked about.
    let sizes = known.by_class();
    how.check(sizes.iter().filter(|own| own.len() > 1).count())?;
    let scores = calibrate::out_of_fold(&class, FOLDS.min(places.len()), seed, |fitted, asked| {
        let own: Vec<u32> = fitted.iter().map(|&place| class[place]).collect();
        let [fitted, asked] = [fitted, asked].map(|of| matrix::select_rows(x.view(), of));
        how.scores(fitted.view(), &own, asked.view(), monitor)
    })?;
    let several = class.iter().zip(scores);
    let several = several.filter(|(class, _)| sizes[**class as usize].len() > 1);
    let judged: Vec<f64> = several.map(|(_, score)| score).collect();
    let most = calibrate::threshold(&judged, how.quantile)?;
    let scores = how.scores(x.view(), &class, rows, monitor)?;
    let each = scores.into_iter().enumerate();
    let scores: Vec<Option<f64>> = each
        .map(|(item, score)| known[item].class().is_none().then_some(score))
        .collect();
    let refused = |item: usize| scores[item].is_some_and(|score| score > most);
    for item in (0..scores.len()).filter(|&item| refused(item)) {
        targets.weight[item] = 0.0;
    }
    if let Some(triplets) = &mut targets.triplets {
        *triplets = without(triplets, refused);
    }
    Ok(scores)
}

/// The triplets that hold no refused item.
fn without(triplets: &Triplets, refused: impl Fn(usize) -> bool) -> Triplets {
    let mut left = Triplets::default();
    for (a, p, n, weight) in triplets.iter() {
        if [a, p, n].iter().all(|&item| !refused(item as usize)) {
            left.push(a, p, n, weight);
        }
    }
    left
}

impl Refusing {
    /// Fails where so many classes of two labels or more are too few to say what is too unlike.
    fn check(&self, classes: usize) -> Result<()> {
        if classes == 0 {
            return Err(Error::data(
                "items of no known class are told by labels that are kept back, and no class has two; label \
                 two items of a class or more",
            ));
        }
        if classes == 1 && matches!(self.by, Unlike::Energy { .. }) {
            return Err(Error::data(
                "items of no known class are told by the energy of a classifier, and only one class has two \
                 labels; label two items of another class, or take mahalanobis",
            ));
        }
        Ok(())
    }

    fn scores(
        &self,
        known: ArrayView2<f32>,
        class: &[u32],
        x: ArrayView2<f32>,
        monitor: &Monitor,
    ) -> Result<Vec<f64>> {
        match self.by {
            Unlike::Mahalanobis { relative } => {
                let classes = ClassGaussians::fit(known, class)?;
                if relative {
                    classes.relative(x)
                } else {
                    classes.distances(x)
                }
            }
            Unlike::Lof { k } => Lof::fit(known, k)?.factors(x),
            Unlike::Energy { temperature } => {
                let classifier = Classifier::fit(known, class, monitor)?;
                energy::energy(classifier.logits(x)?.view(), temperature)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::study::believe::labeled;

    /// Three heaps of 30 on a triangle; the first ten items of the first two have a label.
    fn heaps() -> (Array2<f32>, Labels) {
        let x = Array2::from_shape_fn((90, 2), |(i, j)| {
            let corner = [[0.0, 0.0], [6.0, 0.0], [3.0, 9.0]][i / 30][j];
            corner + ((i * 13 + j * 7 + i * j) % 11) as f32 / 11.0
        });
        let class = |i: i64| if i < 60 && i % 30 < 10 { i / 30 } else { -1 };
        (x, Labels::from_integers((0..90).map(class)))
    }

    fn refused(by: Unlike, known: &Labels) -> Result<Vec<usize>> {
        let (x, _) = heaps();
        let mut targets = labeled(known);
        targets.weight.fill(1.0);
        let how = Refusing {
            by,
            ..Refusing::default()
        };
        let with = (1, &Monitor::silent());
        let scores = refuse(&mut targets, x.view(), known, &how, with)?;
        let has_label = |i: usize| known[i].class().is_some();
        assert!((0..90).all(|i| scores[i].is_none() == has_label(i)));
        Ok((0..90).filter(|&i| targets.weight[i] == 0.0).collect())
    }

    #[test]
    fn what_lies_elsewhere_weighs_nothing_and_labels_stay() {
        let (_, known) = heaps();
        for by in [
            Unlike::Mahalanobis { relative: false },
            Unlike::Lof { k: 5 },
            Unlike::Energy { temperature: 1.0 },
        ] {
            let refused = refused(by, &known).unwrap();
            let elsewhere = refused.iter().filter(|&&i| i >= 60).count();
            assert_eq!(elsewhere, 30, "{by:?}");
            assert!(refused.len() < 30 + 8, "{by:?}: {refused:?}");
            assert!(
                refused.iter().all(|&i| known[i].class().is_none()),
                "{by:?}"
            );
        }
    }

    #[test]
    fn one_label_a_class_says_nothing() {
        let known = Labels::from_integers((0..90).map(|i| if i % 30 == 0 { i / 30 } else { -1 }));
        let said = refused(Unlike::Mahalanobis { relative: false }, &known);
        assert!(said.unwrap_err().to_string().contains("label two items"));
        // A classifier has two classes to tell apart; a distance has one to be near to.
        let known = Labels::from_integers((0..90).map(|i| if i < 10 { 0 } else { -1 }));
        let said = refused(Unlike::Energy { temperature: 1.0 }, &known);
        assert!(said.unwrap_err().to_string().contains("another class"));
        let by_distance = refused(Unlike::Mahalanobis { relative: false }, &known);
        assert!(by_distance.unwrap().len() >= 60);
    }

    #[test]
    fn refused_items_are_in_no_triplet() {
        let (x, known) = heaps();
        let mut targets = labeled(&known);
        let mut triplets = Triplets::default();
        // Of known classes; then with an item of the third heap in each place.
        triplets.push(0, 1, 30, 0.5);
        triplets.push(60, 1, 30, 1.0);
        triplets.push(0, 61, 30, 1.0);
        triplets.push(0, 1, 62, 1.0);
        targets.triplets = Some(triplets);
        let with = (1, &Monitor::silent());
        refuse(&mut targets, x.view(), &known, &Refusing::default(), with).unwrap();
        let left: Vec<_> = targets.triplets.unwrap().iter().collect();
        assert_eq!(left, [(0, 1, 30, 0.5)]);
    }
}
