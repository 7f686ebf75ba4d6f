//! Refuses items that look like none of the known classes, before they are believed.

use likewise::advise::outside::lof::Lof;
use likewise::advise::outside::{calibrate, mahalanobis::ClassGaussians};
use likewise::learn::Targets;
use likewise::{Labels, matrix};
use ndarray::ArrayView2;

use crate::recipe::{Refusing, Unlike};
use crate::{Error, Result};

/// Parts that labeled items are dealt into, to be judged by the others.
const FOLDS: usize = 5;

/// Takes the weight from items without a label that look like none of the known classes; `rows` are those
/// of all items.
///
/// Fails without two labels of any class, which say what is too unlike.
pub(super) fn refuse(
    targets: &mut Targets,
    rows: ArrayView2<f32>,
    known: &Labels,
    how: &Refusing,
    seed: u64,
) -> Result<()> {
    let labels = known.items().iter().enumerate();
    let labeled = labels.filter_map(|(item, label)| Some((item, label.class()?)));
    let (places, class): (Vec<usize>, Vec<u32>) = labeled.unzip();
    let x = matrix::select_rows(rows, &places);
    // A class of one label is not known where that label is asked about.
    let sizes = known.by_class();
    if sizes.iter().all(|own| own.len() < 2) {
        return Err(Error::data(
            "items of no known class are told by labels that are kept back, and no class has two; label \
             two items of a class or more",
        ));
    }
    let scores = calibrate::out_of_fold(&class, FOLDS.min(places.len()), seed, |fitted, asked| {
        let own: Vec<u32> = fitted.iter().map(|&place| class[place]).collect();
        let [fitted, asked] = [fitted, asked].map(|of| matrix::select_rows(x.view(), of));
        how.scores(fitted.view(), &own, asked.view())
    })?;
    let several = class.iter().zip(scores);
    let several = several.filter(|(class, _)| sizes[**class as usize].len() > 1);
    let judged: Vec<f64> = several.map(|(_, score)| score).collect();
    let most = calibrate::threshold(&judged, how.quantile)?;
    let scores = how.scores(x.view(), &class, rows)?;
    for (item, score) in scores.into_iter().enumerate() {
        if score > most && known[item].class().is_none() {
            targets.weight[item] = 0.0;
        }
    }
    Ok(())
}

impl Refusing {
    fn scores(
        &self,
        known: ArrayView2<f32>,
        class: &[u32],
        x: ArrayView2<f32>,
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
        refuse(&mut targets, x.view(), known, &how, 1)?;
        Ok((0..90).filter(|&i| targets.weight[i] == 0.0).collect())
    }

    #[test]
    fn what_lies_elsewhere_weighs_nothing_and_labels_stay() {
        let (_, known) = heaps();
        for by in [
            Unlike::Mahalanobis { relative: false },
            Unlike::Lof { k: 5 },
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
    }
}
