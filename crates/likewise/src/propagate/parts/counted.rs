//! How many items each class gets: by the mass of its scores, or by sizes that are known.

use ndarray::Array2;

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
    /// Within the sizes of the classes.
    Sizes(Bounds),
}

impl Counted {
    /// By the sizes, if these are said, else by the mass; as they are where the sizes are
    /// [free](Sizes::Free).
    ///
    /// Fails on sizes that do not suit the labels, and on sizes that are to be estimated: masses are.
    pub(crate) fn new(known: &Known, mass: Mass, sizes: Option<&Sizes>) -> Result<Self> {
        let Some(sizes) = sizes else {
            return Ok(Self::Mass(mass));
        };
        check(sizes)?;
        let bounds = sizes.bounds(known, known.open().len())?;
        Ok(bounds.map_or(Self::Mass(Mass::None), Self::Sizes))
    }

    /// The beliefs of these scores. With sizes, the scores of a belief are shares of uniform mass,
    /// and its class is that of the largest share with the price of the class.
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
        decided(known, shares, Some(bounds), convergence)
    }
}

/// Fails on sizes that no method of masses takes, whatever the labels.
pub(crate) fn check(sizes: &Sizes) -> Result<()> {
    if *sizes == Sizes::Estimated {
        let rule = "this method estimates by `mass`; leave the sizes out, or take poisson-mbo";
        return Err(Error::parameter("sizes", "estimated", rule));
    }
    sizes.check()
}

/// Beliefs of scores that are compared as they are, within these bounds. Prices decide and are no part
/// of the scores: they are free up to a constant.
pub(crate) fn decided(
    known: &Known,
    scores: Array2<f64>,
    bounds: Option<&Bounds>,
    convergence: Convergence,
) -> Beliefs {
    let mut prices = vec![0.0; known.n_classes()];
    if let Some(bounds) = bounds {
        let mut worth = scores.clone();
        known.only_reached(&mut worth);
        prices = decide::prices(worth.view(), &known.open(), bounds, prices);
    }
    known.beliefs_at(scores, &prices, convergence)
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::propagate::parts::confidence::confidence;
    use crate::propagate::{Lgc, Mixed, Poisson, PoissonMbo, Propagate};
    use crate::reference::{path, path_labels, random_graph, random_labels};
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
    }

    #[test]
    fn free_sizes_leave_the_scores_as_they_are() {
        let graph = random_graph(300, 1500, 1);
        let labels = random_labels(300, 3, 1);
        let silent = Monitor::silent();
        let lgc = |lgc: Lgc| lgc.propagate(&graph, &labels, &silent).unwrap();
        let mixed = |mixed: Mixed| mixed.propagate(&graph, &labels, &silent).unwrap();
        let uniform = lgc(Lgc::new().mass(Mass::Uniform));
        let plain = lgc(Lgc::new().mass(Mass::None));
        assert_ne!(plain, uniform);
        // Whatever the mass is, the sizes are held in its place.
        let masses = [Mass::Uniform, Mass::None];
        for mass in masses {
            assert_eq!(lgc(Lgc::new().mass(mass).sizes(Sizes::Free)), plain);
        }
        let plain = mixed(Mixed::new().mass(Mass::None));
        for mass in masses {
            assert_eq!(mixed(Mixed::new().mass(mass).sizes(Sizes::Free)), plain);
        }
    }

    #[test]
    fn an_item_that_a_price_moves_is_less_sure_wherever_the_prices_begin() {
        let (graph, labels) = (path(), path_labels());
        let silent = Monitor::silent();
        let known = Known::new(&graph, &labels, &silent).unwrap();
        let scores = array![[1.0, 0.0], [0.8, 0.2], [0.7, 0.3], [0.0, 1.0]];
        let run = |prices: [f64; 2]| {
            known.beliefs_at(scores.clone(), &prices, known.convergence(&[], &silent))
        };
        let moved = run([0.0, 0.5]);
        assert_eq!(moved.pseudo_label, [0, 0, 1, 1].map(Some));
        assert_eq!(moved.scores, scores);
        let free = run([0.0, 0.0]);
        assert_eq!(free.pseudo_label, [0, 0, 0, 1].map(Some));
        assert_eq!(free.confidence, confidence(scores.view()));
        assert_eq!(moved.confidence[1].to_bits(), free.confidence[1].to_bits());
        // .3 of .7.
        assert!((moved.confidence[2] - free.confidence[2] * 3.0 / 7.0).abs() < 1e-6);
        // Prices are free up to a constant.
        assert_eq!(run([-3.0, -2.5]), moved);
        // A class that says less than nothing for an item is none to be sure of.
        let below = array![[1.0, 0.0], [0.8, -0.2], [0.7, -0.3], [0.0, 1.0]];
        let below = known.beliefs_at(below, &[0.0, 2.0], known.convergence(&[], &silent));
        assert_eq!(below.pseudo_label, [0, 1, 1, 1].map(Some));
        assert!(below.confidence[1].abs() <= 0.0 && below.confidence[2].abs() <= 0.0);
    }

    #[test]
    fn confidence_with_sizes_is_that_of_the_scores_without_prices() {
        let graph = random_graph(300, 1500, 1);
        let labels = random_labels(300, 3, 1);
        let silent = Monitor::silent();
        let sizes = || Sizes::Known(vec![5.0, 2.0, 1.0]);
        let run = |method: &dyn Propagate| method.propagate(&graph, &labels, &silent).unwrap();
        let poisson = run(&Poisson::new().sizes(sizes()));
        assert_eq!(poisson.scores, run(&Poisson::new()).scores);
        let mbo = run(&PoissonMbo::new().sizes(sizes()));
        for (number, held) in [poisson, mbo].into_iter().enumerate() {
            let plain = confidence(held.scores.view());
            let mut moved = 0;
            for i in (0..300).filter(|&i| !held.labeled[i]) {
                let Some(class) = held.pseudo_label[i] else {
                    continue;
                };
                let row = held.scores.row(i);
                let most = row.iter().copied().fold(f64::MIN, f64::max);
                let share = (row[class as usize] / most).clamp(0.0, 1.0);
                moved += usize::from(share < 1.0);
                assert!((f64::from(held.confidence[i]) - share * f64::from(plain[i])).abs() < 1e-6);
            }
            assert!(moved > 0, "{number}: {moved}");
        }
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
    fn scores_are_shares_where_sizes_are_held() {
        // Two pairs, and an item that no label reaches.
        let graph = Graph::new(vec![0, 1, 2, 3, 4, 4], vec![1, 0, 3, 2], vec![1.0; 4]).unwrap();
        let labels = Labels::parse(["a", "", "b", "", ""]);
        let silent = Monitor::silent();
        let known = Known::new(&graph, &labels, &silent).unwrap();
        let scores = array![[4.0, 0.0], [1.0, -3.0], [0.0, 0.5], [0.1, 0.3], [0.0, 0.0]];
        let counted = Counted::new(&known, Mass::None, Some(&Sizes::Balanced)).unwrap();
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
