//! Semi-supervised metric learners behind rows that learn themselves: the metric on the rows as they
//! are, and its objective as terms of pairs, by which rows go down between two fits of the metric.
//!
//! ```text
//! step 1   rows z fixed:    M = what the learner makes of z, its pairs and its neighbours
//! step 2   M fixed:         z goes down the same objective, pair by pair
//! ```
//!
//! | learner | terms of pairs in step 2 |
//! |---|---|
//! | `lrml` | `gamma_s mean_S d^2 - gamma_d mean_D d^2 + mean d^2` of neighbours |
//! | `isdml` | the same, neighbours weighed by `beta` and by densities |
//! | `seraph` | `-ln p` of known pairs, `entropy` times the entropy of all others |
//! | `apllr`, `apit` | `mean_S d^2 - mean_D d^2`, neighbours weighed by `eta` and by affinities |
//!
//! with squared distances `d^2` behind `M`, of alike pairs `S` and unlike ones `D`. In step 2 `gamma_d`
//! is what was asked for: the bound that keeps `M` positive is not needed, since unit rows are
//! bounded. Of `apllr` and `apit`, nearness to the prior has no part in it, and affinities are those
//! that spread from the classes.
//!
//! **Use it** to compare with: between labeled pairs and neighbours there is little that a network
//! learns here and not from a loss of classes. **Not** without items that have no label.
//!
//! Cost: that of the learner, for step 1.
//!
//! Source: Algorithm 1 of Dutta, Harandi and Sekhar, AAAI 2021, who compare with such extensions. What
//! the terms of step 2 are they print of none but `lrml` and `seraph`.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::nearest::nearest;
use super::terms::{Linked, PairTerms};
use super::{Apit, Apllr, Isdml, Lrml, Seraph};
use crate::learn::{Fit as _, Size};
use crate::propagate::Affinity;
use crate::{Labels, Monitor, Pairs, Result};

macro_rules! learners {
    ($($name:literal $Learner:ident;)*) => {
        /// One of the learners; see [`behind`](self).
        #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        pub enum Behind {
            $(#[doc = $name] #[serde(rename = $name)] $Learner($Learner),)*
        }

        impl Behind {
            /// Names of all.
            pub const NAMES: &'static [&'static str] = &[$($name,)*];

            /// The learner of this name, with its defaults.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$Learner($Learner::default())),)*
                    _ => None,
                }
            }

            /// Its name.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$Learner(_) => $name,)*
                }
            }

            /// Checks every parameter.
            pub fn validate(&self) -> Result<()> {
                match self {
                    $(Self::$Learner(learner) => learner.validate(),)*
                }
            }

            /// About the operations of one metric of data of this size.
            pub fn operations(&self, of: &Size) -> f64 {
                match self {
                    $(Self::$Learner(learner) => learner.operations(of),)*
                }
            }

            /// Bytes that making it takes beside the rows.
            pub fn memory(&self, of: &Size) -> f64 {
                match self {
                    $(Self::$Learner(learner) => learner.memory(of),)*
                }
            }
        }
    };
}

learners! {
    "lrml" Lrml;
    "seraph" Seraph;
    "isdml" Isdml;
    "apllr" Apllr;
    "apit" Apit;
}

impl Behind {
    /// Its objective, as terms of pairs.
    pub fn terms(&self) -> PairTerms {
        match self {
            Self::Lrml(learner) => learner.terms(),
            Self::Isdml(learner) => learner.pair_terms(),
            Self::Seraph(learner) => learner.terms(),
            Self::Apllr(learner) => followed(learner.spreads().2),
            Self::Apit(learner) => followed(learner.spreads().2),
        }
    }

    /// The metric of rows `x` (`n x d`), and the neighbours in its terms, from pairs and from the
    /// labels that these were made of.
    ///
    /// Fails as `fit_pairs` of the learner does.
    pub fn fit(
        &self,
        x: ArrayView2<f32>,
        pairs: &Pairs,
        labels: &Labels,
        monitor: &Monitor,
    ) -> Result<Linked> {
        let (metric, links) = match self {
            Self::Lrml(learner) => return learner.linked(x, pairs, monitor),
            Self::Isdml(learner) => return learner.linked(x, pairs, monitor),
            Self::Seraph(learner) => (learner.fit_pairs(x, pairs, monitor)?, Vec::new()),
            Self::Apllr(learner) => {
                let metric = learner.fit_pairs(x, pairs, monitor)?;
                (metric, affinities(x, learner.spreads(), labels, monitor)?)
            }
            Self::Apit(learner) => {
                let metric = learner.fit_pairs(x, pairs, monitor)?;
                (metric, affinities(x, learner.spreads(), labels, monitor)?)
            }
        };
        Ok(Linked { metric, links })
    }
}

/// The terms of a metric that follows affinities of this weight.
fn followed(eta: f64) -> PairTerms {
    PairTerms::Distances {
        alike: 1.0,
        unlike: 1.0,
        near: eta,
    }
}

/// Neighbours weighed by the affinities that spread from the labels.
fn affinities(
    x: ArrayView2<f32>,
    (k, gamma, _): (usize, f64, f64),
    labels: &Labels,
    monitor: &Monitor,
) -> Result<Vec<(u32, u32, f64)>> {
    let neighbors = nearest(x, k, monitor)?;
    let spread = Affinity::new().gamma(gamma);
    let found = spread.spread(&neighbors, labels, monitor)?;
    // W is symmetric: a link that stands in both lists has one value, but for rounding.
    let mut links: Vec<(u32, u32, f64)> = (neighbors.indices.indexed_iter())
        .map(|((i, place), &j)| {
            let own = i as u32;
            (own.min(j), own.max(j), found.values[(i, place)])
        })
        .collect();
    links.sort_unstable_by(|p, q| (p.0, p.1).cmp(&(q.0, q.1)).then(p.2.total_cmp(&q.2)));
    links.dedup_by_key(|link| (link.0, link.1));
    Ok(links)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Label;
    use crate::linear::check_values::{iris, iris_pairs};
    use crate::linear::nearest::edges;
    use crate::linear::roots;

    /// The irises, with the first four of each class labeled, and the pairs of these.
    fn check() -> (ndarray::Array2<f32>, Pairs, Labels) {
        let x = iris().0.mapv(|v| v as f32);
        let labels = (0..150_u32).map(|i| match i % 50 {
            0..4 => Label::Known(i / 50),
            _ => Label::Unknown,
        });
        let names = ["a", "b", "c"].map(String::from).to_vec();
        let labels = Labels::new(names, labels.collect()).unwrap();
        let known: Vec<u32> = (0..150).filter(|i| i % 50 < 4).collect();
        let mut pairs = Pairs::default();
        for (place, &a) in known.iter().enumerate() {
            for &b in &known[..place] {
                pairs.push(b, a, a / 50 == b / 50, 1.0);
            }
        }
        (x, pairs, labels)
    }

    #[test]
    fn the_metric_is_that_of_the_learner() {
        let (x, pairs, labels) = check();
        let monitor = Monitor::silent();
        for name in Behind::NAMES {
            let behind = Behind::named(name).unwrap();
            assert_eq!(behind.name(), *name);
            let found = behind.fit(x.view(), &pairs, &labels, &monitor).unwrap();
            let alone = match behind {
                Behind::Lrml(l) => l.fit_pairs(x.view(), &pairs, &monitor),
                Behind::Seraph(l) => l.fit_pairs(x.view(), &pairs, &monitor),
                Behind::Isdml(l) => l.fit_pairs(x.view(), &pairs, &monitor),
                Behind::Apllr(l) => l.fit_pairs(x.view(), &pairs, &monitor),
                Behind::Apit(l) => l.fit_pairs(x.view(), &pairs, &monitor),
            };
            assert_eq!(found.metric, alone.unwrap(), "{name}");
            let all = roots(&found.metric).unwrap();
            assert!((all.mapv(|v| v * v).sum() - 4.0).abs() < 1e-9, "{name}");
            let links = found.links;
            if *name != "seraph" {
                assert!(links.len() > 500 && links.windows(2).all(|w| w[0].0 <= w[1].0));
            }
            assert!(
                links
                    .iter()
                    .all(|l| l.0 < l.1 && l.1 < 150 && l.2.is_finite())
            );
        }
        assert!(Behind::named("rca").is_none());
    }

    /// The scatter of the links is what the closed form has for neighbours.
    #[test]
    fn links_of_lrml_and_isdml_are_those_of_their_closed_form() {
        let x = iris().0.mapv(|v| v as f32);
        let (pairs, monitor) = (iris_pairs(), Monitor::silent());
        let labels = Labels::unknown(150);
        let lrml = Behind::Lrml(Lrml::new().k(6));
        let near = |behind: Behind| match behind.terms() {
            PairTerms::Distances { near, .. } => near,
            PairTerms::Likelihood { .. } => f64::NAN,
        };
        assert!((near(lrml) - 1.0).abs() < 1e-12);
        let links = lrml.fit(x.view(), &pairs, &labels, &monitor).unwrap().links;
        assert!(links.iter().all(|l| (l.2 - 1.0).abs() < 1e-12));
        let expected = edges(&nearest(x.view(), 6, &monitor).unwrap());
        assert_eq!(links.len(), expected.len());
        let isdml = Behind::Isdml(Isdml::new().k(6).beta(0.5));
        assert!((near(isdml) - 0.5).abs() < 1e-12);
        let links = isdml
            .fit(x.view(), &pairs, &labels, &monitor)
            .unwrap()
            .links;
        let weights: Vec<f64> = links.iter().map(|l| l.2).collect();
        let (least, most) = weights
            .iter()
            .fold((f64::MAX, 0.0_f64), |(a, b), &w| (a.min(w), b.max(w)));
        assert!(least > 0.0 && most > 2.0 * least, "{least} {most}");
    }
}
