//! The epochs of a learning behind a metric.

use burn::tensor::Tensor;
use likewise::arrays::{Arrays, Values};
use likewise::learn::{Evidence, Targets};
use likewise::linear::{self, PairTerms};
use likewise::seed::{self, Rng};
use likewise::{Label, Labels, Monitor, Pairs};
use ndarray::{Array2, s};
use rand::RngExt;
use rand::seq::SliceRandom;

use super::learner::Gradient;
use super::metric::MetricConfig;
use super::terms::{self, Told};
use crate::sample::Items;
use crate::{Error, Result};

/// Names of what is saved.
const METRIC: &str = "metric";
const DIRECTIONS: &str = "metric-directions";
const PART: &str = "metric-part";
const LINKS: &str = "metric-links";
const TERMS: &str = "metric-terms";

/// A metric and what it was fitted on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fitted {
    /// `M`, as it was fitted.
    metric: Array2<f64>,
    /// What rows are multiplied by to become the embedding, at most `d x dim`.
    directions: Array2<f64>,
    /// The items without a class that it was fitted on.
    part: Vec<usize>,
    /// Neighbours, by fitted items, sorted.
    links: Vec<(u32, u32, f64)>,
    /// What rows go down until the next fit.
    terms: PairTerms,
}

/// The items that a metric is made of, sorted.
pub(super) struct Part {
    /// All of them.
    pub(super) items: Vec<usize>,
    /// Those without a class.
    others: Vec<usize>,
}

impl Part {
    /// All items with a class and some of the others, random by seed and epoch alone.
    pub(super) fn draw(
        config: &MetricConfig,
        (epoch, seed): (usize, u64),
        targets: &Targets,
    ) -> Self {
        let has_class = |item: &usize| targets.weight[*item] > 0.0;
        let (mut items, mut others): (Vec<usize>, Vec<usize>) =
            (0..targets.weight.len()).partition(has_class);
        let mut rng = seed::stream(seed, &format!("part from epoch {epoch}"));
        others.shuffle(&mut rng);
        others.truncate(config.partition);
        others.sort_unstable();
        items.extend(&others);
        items.sort_unstable();
        Self { items, others }
    }
}

/// The items of a step: their places among the fitted ones, and the links between them.
pub(super) struct Step {
    pub(super) items: Vec<usize>,
    links: Vec<(usize, usize, f64)>,
}

impl Fitted {
    /// Before the first fit: the Euclidean metric of `columns`, of which the embedding has the first.
    pub(super) fn new(config: &MetricConfig, columns: usize) -> Self {
        let kept = config.dim.min(columns);
        Self {
            metric: Array2::eye(columns),
            directions: Array2::eye(columns).slice(s![.., ..kept]).to_owned(),
            part: Vec::new(),
            links: Vec::new(),
            terms: config.learner.terms(),
        }
    }

    /// What rows are multiplied by to have the distances of the metric, of trace d.
    pub(super) fn roots(&self) -> Result<Array2<f64>> {
        linear::roots(&self.metric)
    }

    /// What rows go down until the next fit.
    pub(super) fn terms(&self) -> &PairTerms {
        &self.terms
    }

    /// What rows are multiplied by to become the embedding.
    pub(super) fn directions(&self) -> Array2<f32> {
        self.directions.mapv(|v| v as f32)
    }

    /// The metric of these rows of a part. Pairs are drawn by the seed alone.
    pub(super) fn of(
        config: &MetricConfig,
        (part, rows): (Part, &Array2<f32>),
        seed: u64,
        evidence: &Evidence,
        monitor: &Monitor,
    ) -> Result<Self> {
        let targets = evidence.targets;
        let Part { items, others } = part;
        let place = |item: u32| items.binary_search(&(item as usize)).ok();
        let mut pairs = Pairs::default();
        for (a, b, alike, weight) in evidence.compared(seed, monitor)?.iter() {
            if let (Some(a), Some(b)) = (place(a), place(b)) {
                pairs.push(a as u32, b as u32, alike, weight);
            }
        }
        let label = |item: &usize| {
            if targets.weight[*item] > 0.0 {
                Label::Known(targets.class[*item])
            } else {
                Label::Unknown
            }
        };
        let names = (0..evidence.classes()).map(|c| c.to_string()).collect();
        let labels = Labels::new(names, items.iter().map(label).collect())?;
        let found = config
            .learner
            .fit(rows.view(), &pairs, &labels, monitor)
            .map_err(|e| e.under("learner.metric."))?;
        let mut links = found.links;
        for link in &mut links {
            link.0 = items[link.0 as usize] as u32;
            link.1 = items[link.1 as usize] as u32;
        }
        Ok(Self {
            directions: linear::directions(&found.metric, rows.view(), config.dim)?,
            metric: found.metric,
            part: others,
            links,
            terms: found.terms,
        })
    }

    /// The steps of an epoch: half items with a class as the sampler draws them, half others of the
    /// part, each with one of its neighbours where there are links. Where there are no others, they
    /// are items with a class alone.
    pub(super) fn steps(&self, how: &Gradient, evidence: &Evidence, rng: &mut Rng) -> Vec<Step> {
        let targets = evidence.targets;
        let items = Items {
            class: &targets.class,
            weight: &targets.weight,
            labeled: &targets.labeled,
            group: evidence.groups,
            augmented: how.augments(),
        };
        let train = how.train;
        let most = |steps: usize| match train.steps {
            0 => steps,
            most => steps.min(most),
        };
        if self.part.is_empty() {
            let drawn = targets.weight.iter().filter(|&&w| w > 0.0).count();
            let steps = most(train.labeled_passes * drawn.div_ceil(train.batch));
            let batches = how.sampler.epoch(&items, train.batch, steps, rng);
            return batches.into_iter().map(|items| self.step(items)).collect();
        }
        let half = (train.batch / 2).max(1);
        let own = if self.links.is_empty() {
            half
        } else {
            half.div_ceil(2)
        };
        let mut order = self.part.clone();
        order.shuffle(rng);
        let steps = most(order.len().div_ceil(own));
        let labeled = how.sampler.epoch(&items, half, steps, rng);
        let beside = Beside::of(&self.links);
        let chunks = order.chunks(own).zip(labeled);
        let step = |(chunk, mut items): (&[usize], Vec<usize>)| {
            for &item in chunk {
                let neighbor = beside.any(item, rng);
                for item in [Some(item), neighbor].into_iter().flatten() {
                    if !items.contains(&item) {
                        items.push(item);
                    }
                }
            }
            self.step(items)
        };
        chunks.map(step).collect()
    }

    fn step(&self, items: Vec<usize>) -> Step {
        let mut links = Vec::new();
        for (place, &a) in items.iter().enumerate() {
            for (other, &b) in items.iter().enumerate().skip(place + 1) {
                let ends = (a.min(b) as u32, a.max(b) as u32);
                let found = self
                    .links
                    .binary_search_by_key(&ends, |link| (link.0, link.1));
                if let Ok(at) = found {
                    links.push((place, other, self.links[at].2));
                }
            }
        }
        Step { items, links }
    }

    pub(super) fn save(&self, arrays: &mut Arrays) {
        arrays.put_matrix(METRIC, &self.metric);
        arrays.put_matrix(DIRECTIONS, &self.directions);
        let part: Vec<f64> = self.part.iter().map(|&item| item as f64).collect();
        arrays.put(PART, &[part.len()], Values::F64(part));
        let links = self.links.iter();
        let links: Vec<f64> = links
            .flat_map(|&(a, b, w)| [f64::from(a), f64::from(b), w])
            .collect();
        arrays.put(LINKS, &[links.len() / 3, 3], Values::F64(links));
        let terms = match self.terms {
            PairTerms::Distances {
                alike,
                unlike,
                near,
            } => vec![alike, unlike, near],
            PairTerms::Likelihood { eta, entropy } => vec![eta, entropy],
        };
        arrays.put(TERMS, &[terms.len()], Values::F64(terms));
    }

    pub(super) fn resumed(&self, saved: &Arrays) -> Result<Self> {
        let metric = saved.matrix64(METRIC)?;
        if metric.dim() != self.metric.dim() {
            return Err(Error::data("the metric is of another embedding"));
        }
        let directions = saved.matrix64(DIRECTIONS)?;
        if directions.nrows() != metric.nrows() {
            return Err(Error::data("the directions are of another metric"));
        }
        let part = saved.vector64(PART)?;
        let links = saved.matrix64(LINKS)?;
        let terms = match saved.vector64(TERMS)?.to_vec()[..] {
            [alike, unlike, near] => PairTerms::Distances {
                alike,
                unlike,
                near,
            },
            [eta, entropy] => PairTerms::Likelihood { eta, entropy },
            _ => return Err(Error::data("the terms are of another metric")),
        };
        Ok(Self {
            metric,
            directions,
            part: part.iter().map(|&item| item as usize).collect(),
            links: (links.rows().into_iter())
                .map(|link| (link[0] as u32, link[1] as u32, link[2]))
                .collect(),
            terms,
        })
    }
}

impl Step {
    /// The objective of rows whose Euclidean distances are those behind the metric.
    pub(super) fn objective(
        &self,
        terms: &PairTerms,
        rows: Tensor<2>,
        targets: &Targets,
    ) -> Tensor<1> {
        let class = |&item: &usize| {
            let weight = targets.weight[item];
            (weight > 0.0).then_some((targets.class[item], weight))
        };
        let class: Vec<_> = self.items.iter().map(class).collect();
        let told = Told {
            class: &class,
            links: &self.links,
        };
        terms::objective(rows, terms, &told)
    }
}

/// The neighbours of every item, from either side.
struct Beside(Vec<(u32, u32)>);

impl Beside {
    fn of(links: &[(u32, u32, f64)]) -> Self {
        let mut arcs: Vec<(u32, u32)> = links
            .iter()
            .flat_map(|&(a, b, _)| [(a, b), (b, a)])
            .collect();
        arcs.sort_unstable();
        Self(arcs)
    }

    /// One of them, at random.
    fn any(&self, item: usize, rng: &mut Rng) -> Option<usize> {
        let of = |item: usize| self.0.partition_point(|arc| (arc.0 as usize) < item);
        let own = of(item)..of(item + 1);
        (!own.is_empty()).then(|| self.0[rng.random_range(own)].1 as usize)
    }
}
