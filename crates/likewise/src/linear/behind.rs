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
//! with squared distances `d^2` behind `M`, of alike pairs `S` and unlike ones `D`. Of `apllr` and `apit`,
//! nearness to the prior has no part in step 2, `eta` is the one that step 1 took, and affinities are those that
//! spread from the classes.
//!
//! The weight of unlike pairs is lowered, as `lrml` lowers its own to have a metric at all, to .9 of the largest at which
//! the scatter of the other terms minus theirs stays positive, at the rows of step 1; negative affinities, which push
//! apart too, are left out of that scatter, and push in step 2 as much as they weigh. The farthest from each other
//! that unit rows can be is at both ends of one direction: with more weight they soon gather there, and with
//! this one too where they learn for long.
//!
//! **Use it** to compare with: between labeled pairs and neighbours there is little that a network
//! learns here and not from a loss of classes. **Not** without items that have no label.
//!
//! Cost: that of the learner, for step 1.
//!
//! Source: Algorithm 1 of Dutta, Harandi and Sekhar, AAAI 2021, who compare with such extensions. What
//! the terms of step 2 are they print of none but `lrml` and `seraph`.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::constraints::{Constraints, mass};
use super::laplacian::Laplacian;
use super::lrml::capped;
use super::nearest::nearest;
use super::terms::{Linked, Links, PairTerms};
use super::{Apit, Apllr, Isdml, Lrml, Seraph};
use crate::learn::{Fit as _, Size};
use crate::propagate::Affinity;
use crate::{Labels, Monitor, Pairs, Result};

/// Share of the mean variance that is added in every direction before unlike pairs are weighed.
const RIDGE: f64 = 1e-8;

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
    /// Its objective, as terms of pairs, with the weights that were asked for.
    pub fn terms(&self) -> PairTerms {
        match self {
            Self::Lrml(learner) => learner.terms(),
            Self::Isdml(learner) => learner.pair_terms(),
            Self::Seraph(learner) => learner.terms(),
            Self::Apllr(learner) => near_by(learner.spreads().2),
            Self::Apit(learner) => near_by(learner.spreads().2),
        }
    }

    /// The metric of rows `x` (`n x d`), the neighbours in its terms, and the terms that rows go on with,
    /// from pairs and from the labels that these were made of.
    ///
    /// Fails as `fit_pairs` of the learner does.
    pub fn fit(
        &self,
        x: ArrayView2<f32>,
        pairs: &Pairs,
        labels: &Labels,
        monitor: &Monitor,
    ) -> Result<Linked> {
        let mut terms = self.terms();
        let (metric, links) = match self {
            Self::Lrml(learner) => learner.linked(x, pairs, monitor)?,
            Self::Isdml(learner) => learner.linked(x, pairs, monitor)?,
            Self::Seraph(learner) => (learner.fit_pairs(x, pairs, monitor)?, Vec::new()),
            Self::Apllr(learner) => {
                let (metric, eta) = learner.followed(x, pairs, monitor)?;
                terms = near_by(eta);
                (metric, affinities(x, learner.spreads(), labels, monitor)?)
            }
            Self::Apit(learner) => {
                let (metric, eta) = learner.followed(x, pairs, monitor)?;
                terms = near_by(eta);
                (metric, affinities(x, learner.spreads(), labels, monitor)?)
            }
        };
        Ok(Linked {
            terms: bounded(terms, x, pairs, &links)?,
            metric,
            links,
        })
    }
}

/// The terms, with as much weight of unlike pairs as their scatter bears beside that of the others.
fn bounded(
    terms: PairTerms,
    x: ArrayView2<f32>,
    pairs: &Pairs,
    links: &[(u32, u32, f64)],
) -> Result<PairTerms> {
    let PairTerms::Distances {
        alike,
        unlike,
        near,
    } = terms
    else {
        return Ok(terms);
    };
    // Fitting has warned of pairs that are left out.
    let constraints = Constraints::of(x, pairs, &Monitor::silent())?;
    let share = |scatter: Array2<f64>, mass: f64| scatter / mass.max(f64::MIN_POSITIVE);
    let mut together = share(constraints.alike_scatter(), mass(&constraints.alike)) * alike;
    // Links that push away hold nothing together.
    let weights: Vec<f64> = links.iter().map(|link| link.2.max(0.0)).collect();
    let sum: f64 = links.iter().map(|link| link.2.abs()).sum();
    let laplacian = Laplacian::of(x.nrows(), links.iter().map(|link| (link.0, link.1)));
    together += &(share(laplacian.scatter(x, &weights), sum) * near);
    let ridge = RIDGE * together.diag().sum() / together.nrows() as f64;
    together.diag_mut().mapv_inplace(|v| v + ridge);
    let apart = share(constraints.unlike_scatter(), mass(&constraints.unlike));
    // Where nothing holds rows together, no weight is borne.
    let unlike = if ridge > 0.0 {
        capped(&together, &apart, unlike)?.0
    } else {
        0.0
    };
    Ok(PairTerms::Distances {
        alike,
        unlike,
        near,
    })
}

/// The terms of a metric that follows affinities of this weight.
fn near_by(eta: f64) -> PairTerms {
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
) -> Result<Links> {
    let neighbors = nearest(x, k, monitor)?;
    let spread = Affinity::new().gamma(gamma);
    let found = spread.spread(&neighbors, labels, monitor)?;
    // W is symmetric: a link that stands in both lists has one value, but for rounding.
    let mut links: Links = (neighbors.indices.indexed_iter())
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
    use crate::Event;
    use crate::Label;
    use crate::linear::check_values::{iris, iris_pairs};
    use crate::linear::nearest::edges;
    use crate::linear::{roots, spd};
    use ndarray::Axis;
    use std::sync::{Arc, Mutex};

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

    #[test]
    fn unlike_pairs_weigh_what_the_other_terms_bear() {
        let (x, pairs, labels) = check();
        let monitor = Monitor::silent();
        let terms = |behind: Behind| {
            let found = behind.fit(x.view(), &pairs, &labels, &monitor).unwrap();
            let PairTerms::Distances {
                alike,
                unlike,
                near,
            } = found.terms
            else {
                panic!("{behind:?}")
            };
            (alike, unlike, near, found.links)
        };
        // The form of LRML, dense: alike pairs and links minus unlike pairs, each a mean.
        let (_, unlike, near, links) = terms(Behind::Lrml(Lrml::new()));
        let mut form = Array2::<f64>::zeros((4, 4));
        let add = |form: &mut Array2<f64>, a: u32, b: u32, weight: f64| {
            let delta = &x.row(a as usize) - &x.row(b as usize);
            let delta = delta.mapv(f64::from).insert_axis(Axis(1));
            *form += &(delta.dot(&delta.t()) * weight);
        };
        let many = |alike: bool| pairs.iter().filter(|p| p.2 == alike).count() as f64;
        for (a, b, alike, _) in pairs.iter() {
            let weight = if alike { 1.0 } else { -unlike };
            add(&mut form, a, b, weight / many(alike));
        }
        for &(a, b, _) in &links {
            add(&mut form, a, b, near / links.len() as f64);
        }
        assert!(unlike < 0.5 && spd::eigenvalues(&form).unwrap()[0] > 0.0);
        for (a, b, alike, _) in pairs.iter().filter(|p| !p.2) {
            add(&mut form, a, b, -(unlike / 9.0 * 1.01) / many(alike));
        }
        assert!(spd::eigenvalues(&form).unwrap()[0] < 0.0);
        // It is what the metric was made with.
        let (said, given) = (
            Arc::new(Mutex::new(Vec::new())),
            Behind::named("lrml").unwrap(),
        );
        let heard = Arc::clone(&said);
        let listening = Monitor::new(move |event| {
            if let Event::Warning(text) = event {
                heard.lock().unwrap().push(text.clone());
            }
        });
        given.fit(x.view(), &pairs, &labels, &listening).unwrap();
        let said = said.lock().unwrap();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].contains(&format!(": {unlike:.3e} was taken")),
            "{said:?} {unlike}"
        );
        let nothing = Isdml::new().gamma_s(0.0).beta(0.0);
        assert!(terms(Behind::Isdml(nothing)).1 <= 0.0);
        // As much as is asked for, where the others bear it.
        assert!((terms(Behind::Lrml(Lrml::new().gamma_d(1e-3))).1 - 1e-3).abs() < 1e-15);
        // Affinities weigh in step 2 what they weighed in step 1.
        let (apllr, apit) = (Apllr::new(), Apit::new());
        let taken = apllr.followed(x.view(), &pairs, &monitor).unwrap().1;
        assert!(taken < 1.0);
        assert!((terms(Behind::Apllr(apllr)).2 - taken).abs() < 1e-15);
        let taken = apit.followed(x.view(), &pairs, &monitor).unwrap().1;
        let (_, unlike, near, _) = terms(Behind::Apit(apit));
        assert!((near - taken).abs() < 1e-15);
        assert!(unlike > 0.0 && unlike < 1.0);
        let (_, isdml, _, _) = terms(Behind::named("isdml").unwrap());
        assert!(isdml > 0.0 && isdml < 1.0, "{isdml}");
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
