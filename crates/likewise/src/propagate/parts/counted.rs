//! How many items each class gets: by the mass of its scores, or by sizes that are known.

use ndarray::{Array2, ArrayView1};

use super::decide::{self, Bounds};
use super::known::{Known, for_each_row};
use super::mass::Mass;
use super::sizes::Sizes;
use crate::{Beliefs, Convergence, Error, Result};

/// How scores that grow with the labels of a class, as those of a linear system do, become beliefs.
#[derive(Debug)]
pub(crate) enum Counted {
    /// After class-mass normalisation.
    Mass(Mass),
    /// Within the sizes of the classes; nothing is held without any.
    Sizes(Option<Bounds>),
}

impl Counted {
    /// By the sizes, if these are said, else by the mass.
    ///
    /// Fails on sizes that do not suit the labels, and on sizes that are to be estimated: masses are.
    pub(crate) fn new(known: &Known, mass: Mass, sizes: Option<&Sizes>) -> Result<Self> {
        match sizes {
            None => Ok(Self::Mass(mass)),
            Some(Sizes::Estimated) => {
                let rule =
                    "this method estimates by `mass`; leave the sizes out, or take poisson-mbo";
                Err(Error::parameter("sizes", "estimated", rule))
            }
            Some(sizes) => Ok(Self::Sizes(sizes.bounds(known, known.open().len())?)),
        }
    }

    /// The beliefs of these scores. With sizes, the scores of a belief are shares of uniform mass plus
    /// the prices of the classes, so that the largest is that of its class.
    pub(crate) fn beliefs(
        &self,
        known: &Known,
        scores: Array2<f64>,
        convergence: Convergence,
    ) -> Beliefs {
        let bounds = match self {
            Self::Mass(mass) => return known.beliefs(scores, *mass, convergence),
            Self::Sizes(bounds) => bounds,
        };
        let mut shares = known.of_uniform_mass(scores);
        for_each_row(&mut shares, |_, mut row| {
            row.mapv_inplace(|score| score.max(0.0));
            let sum = row.sum();
            if sum > 0.0 {
                row /= sum;
            }
        });
        decided(known, shares, bounds.as_ref(), convergence)
    }
}

/// Beliefs of scores that are compared as they are, within these bounds.
pub(crate) fn decided(
    known: &Known,
    mut scores: Array2<f64>,
    bounds: Option<&Bounds>,
    convergence: Convergence,
) -> Beliefs {
    if let Some(bounds) = bounds {
        let mut worth = scores.clone();
        known.only_reached(&mut worth);
        let none = vec![0.0; known.n_classes()];
        let prices = decide::prices(worth.view(), &known.open(), bounds, none);
        scores += &ArrayView1::from(&prices);
    }
    known.beliefs_of(scores, None, convergence)
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::propagate::{Lgc, Mixed, Propagate as _};
    use crate::reference::{path, path_labels};
    use crate::{Graph, Labels, Monitor};

    #[test]
    fn sizes_that_are_known_are_held_by_every_method_that_takes_them() {
        // 0-1-2-3, of which the ends have a label each.
        let (graph, labels) = (path(), path_labels());
        let silent = Monitor::silent();
        let lgc = |sizes| Lgc::new().sizes(sizes).propagate(&graph, &labels, &silent);
        let mixed = |sizes| {
            Mixed::new()
                .sizes(sizes)
                .propagate(&graph, &labels, &silent)
        };
        for method in [&lgc as &dyn Fn(Sizes) -> Result<Beliefs>, &mixed] {
            let found =
                |sizes: [f64; 2]| method(Sizes::Known(sizes.to_vec())).unwrap().pseudo_label;
            assert_eq!(found([2.0, 2.0]), [0, 0, 1, 1].map(Some));
            assert_eq!(found([3.0, 1.0]), [0, 0, 0, 1].map(Some));
            assert_eq!(found([10.0, 30.0]), [0, 1, 1, 1].map(Some));
        }
        let free = lgc(Sizes::Free).unwrap();
        let uniform = Lgc::new().mass(Mass::Uniform);
        let uniform = uniform.propagate(&graph, &labels, &silent).unwrap();
        assert_eq!(free.pseudo_label, uniform.pseudo_label);
    }

    #[test]
    fn sizes_that_cannot_be_held_are_refused() {
        let said = |sizes: Sizes| {
            let lgc = Lgc::new().sizes(sizes);
            let found = lgc.propagate(&path(), &path_labels(), &Monitor::silent());
            found.unwrap_err().to_string()
        };
        assert!(said(Sizes::Known(vec![1.0])).contains("1 sizes of classes for 2 classes"));
        assert!(said(Sizes::Estimated).contains("estimates by `mass`"));
        assert!(said(Sizes::Within(0.5)).contains("at least 1"));
    }

    #[test]
    fn scores_are_shares_before_they_are_decided() {
        // Two pairs, and an item that no label reaches.
        let graph = Graph::new(vec![0, 1, 2, 3, 4, 4], vec![1, 0, 3, 2], vec![1.0; 4]).unwrap();
        let labels = Labels::parse(["a", "", "b", "", ""]);
        let silent = Monitor::silent();
        let known = Known::new(&graph, &labels, &silent).unwrap();
        let scores = array![[4.0, 0.0], [1.0, -3.0], [0.0, 0.5], [0.1, 0.3], [0.0, 0.0]];
        let counted = Counted::new(&known, Mass::None, Some(&Sizes::Free)).unwrap();
        let beliefs = counted.beliefs(&known, scores, known.convergence(&[], &silent));
        let classes = [Some(0), Some(0), Some(1), Some(1), None];
        assert_eq!(beliefs.pseudo_label, classes);
        for row in beliefs.scores.rows() {
            assert!(row.iter().all(|&s| s >= 0.0));
            let sum: f64 = row.sum();
            assert!(sum == 0.0 || (sum - 1.0).abs() < 1e-12, "{row}");
        }
    }
}
