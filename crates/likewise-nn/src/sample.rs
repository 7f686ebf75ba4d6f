//! Samplers: which items come together in a batch.
//!
//! | sampler | promise | for |
//! |---|---|---|
//! | `plain` | every item once an epoch | proxy losses |
//! | `per-class` | `m` items of each class in a batch, or all there are | pair losses, average precision, contextual |
//! | `labeled` | a share of known labels in each batch | few labels among many pseudo-labels |
//! | `uniform` | as many items of each class in a pass, some twice where it has few | classes of uneven size, clusters |
//! | `hierarchical` | batches within a few super-classes, `m` of each class | many classes that form groups |

use std::collections::BTreeMap;

use likewise::seed::Rng;
use rand::RngExt;
use rand::seq::{SliceRandom, index};
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// How batches are drawn.
///
/// ```
/// use likewise_nn::sample::{Items, Sampler};
/// let (class, weight, labeled) = ([0, 0, 1, 1, 1], [1.0; 5], [true; 5]);
/// let items = Items { class: &class, weight: &weight, labeled: &labeled, group: &[], augmented: false };
/// let mut rng = likewise::seed::stream(1, "batches");
/// let batches = Sampler::PerClass { per_class: 2 }.epoch(&items, 4, 3, &mut rng);
/// assert_eq!(batches.len(), 3);
/// assert!(batches.iter().all(|batch| batch.iter().filter(|&&i| i < 2).count() == 2));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Sampler {
    /// All items in random order, again and again; the last batch of each pass may be short.
    #[default]
    Plain,
    /// `batch / per_class` random classes (all, if there are fewer), `per_class` items of
    /// each. Of a class with fewer all come, once, since an item says nothing as its own
    /// positive; only where images are moved at random, so that it would look different, do
    /// some come again.
    PerClass {
        /// Items of each class, at least 2. Where items have several labels, of each label, and more where there
        /// are so few that a batch would not be full.
        #[serde(default = "per_class")]
        per_class: usize,
    },
    /// `share` of each batch from the items whose label is known, the rest from the others;
    /// both in random order, again and again.
    Labeled {
        /// Share of labeled items in a batch, above 0 and below 1.
        share: f64,
    },
    /// As many items of each class in a pass as of every other, in random order, again and again: of a
    /// class with fewer some come twice, of one with more some stay out until the next pass. A pass
    /// draws as many items as there are: Caron et al., "Deep clustering", ECCV 2018, and their code.
    ///
    /// For the losses of classes: an item that stands twice in a batch says nothing as its own positive.
    Uniform,
    /// As `per-class`, the classes of a batch from `groups` random super-classes.
    ///
    /// The super-class is the part of a class name before its first `/`.
    Hierarchical {
        /// Items of each class, at least 2.
        #[serde(default = "per_class")]
        per_class: usize,
        /// Super-classes of a batch, at least 1.
        groups: usize,
    },
}

fn per_class() -> usize {
    4
}

/// What a sampler looks at; one entry an item.
#[derive(Debug, Clone, Copy)]
pub struct Items<'a> {
    /// Class, known or believed.
    pub class: &'a [u32],
    /// Weight; items of weight 0 are never drawn.
    pub weight: &'a [f32],
    /// Whether the label is known.
    pub labeled: &'a [bool],
    /// Super-class of each class; empty: each class its own.
    pub group: &'a [u32],
    /// Whether an item that is drawn twice is augmented twice.
    pub augmented: bool,
}

impl Items<'_> {
    fn drawn(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.weight.len()).filter(|&i| self.weight[i] > 0.0)
    }

    /// Items of each class that has any.
    fn by_class(&self) -> BTreeMap<u32, Vec<usize>> {
        let mut members: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for i in self.drawn() {
            members.entry(self.class[i]).or_default().push(i);
        }
        members
    }
}

/// Super-classes by name: the part of each class name before its first `/`.
pub fn groups(classes: &[String]) -> Vec<u32> {
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    let mut group = Vec::with_capacity(classes.len());
    for name in classes {
        let next = numbers.len() as u32;
        let first = name.split('/').next().unwrap_or_default();
        group.push(*numbers.entry(first).or_insert(next));
    }
    group
}

impl Sampler {
    /// Checks the parameters; an error names the field, its value and the rule.
    pub fn validate(&self) -> Result<()> {
        let at_least = |field: &str, value: usize, least: usize| {
            if value >= least {
                return Ok(());
            }
            Err(Error::parameter(
                field,
                value,
                &format!("must be at least {least}"),
            ))
        };
        match *self {
            Self::Plain | Self::Uniform => Ok(()),
            Self::PerClass { per_class } => at_least("sampler.per_class", per_class, 2),
            Self::Labeled { share } if share > 0.0 && share < 1.0 => Ok(()),
            Self::Labeled { share } => Err(Error::parameter(
                "sampler.share",
                share,
                "must be above 0 and below 1",
            )),
            Self::Hierarchical { per_class, groups } => {
                at_least("sampler.per_class", per_class, 2)?;
                at_least("sampler.groups", groups, 1)
            }
        }
    }

    /// `steps` batches of about `batch` items; `steps` 0: as many as one pass over the items
    /// takes. No batches where there is nothing to draw.
    pub fn epoch(
        &self,
        items: &Items,
        batch: usize,
        steps: usize,
        rng: &mut Rng,
    ) -> Vec<Vec<usize>> {
        let drawn: Vec<usize> = items.drawn().collect();
        if drawn.is_empty() || batch == 0 {
            return Vec::new();
        }
        let one_pass = drawn.len().div_ceil(batch);
        let steps = if steps == 0 { one_pass } else { steps };
        match *self {
            Self::Plain => {
                let (mut order, mut batches) = (drawn, Vec::with_capacity(steps));
                while batches.len() < steps {
                    order.shuffle(rng);
                    let room = steps - batches.len();
                    batches.extend(order.chunks(batch).take(room).map(<[usize]>::to_vec));
                }
                batches
            }
            Self::Uniform => {
                let (members, all) = (items.by_class(), drawn.len());
                let mut batches = Vec::with_capacity(steps);
                while batches.len() < steps {
                    let order = evenly(&members, all, rng);
                    let room = steps - batches.len();
                    batches.extend(order.chunks(batch).take(room).map(<[usize]>::to_vec));
                }
                batches
            }
            Self::PerClass { per_class } => {
                let members = items.by_class();
                let classes: Vec<u32> = members.keys().copied().collect();
                let mut cycle = Cycle::new(classes);
                let wanted = (batch / per_class).max(1).min(cycle.len());
                (0..steps)
                    .map(|_| {
                        let classes = cycle.distinct(wanted, rng);
                        some_of_each(&classes, &members, (per_class, items.augmented), rng)
                    })
                    .collect()
            }
            Self::Labeled { share } => {
                let (known, others): (Vec<_>, Vec<_>) =
                    drawn.into_iter().partition(|&i| items.labeled[i]);
                let from_known = match (known.is_empty(), others.is_empty()) {
                    (true, _) => 0,
                    (_, true) => batch,
                    _ => ((share * batch as f64).round() as usize).clamp(1, batch.max(2) - 1),
                };
                let (mut known, mut others) = (Cycle::new(known), Cycle::new(others));
                (0..steps)
                    .map(|_| {
                        let mut drawn = known.take(from_known, rng);
                        drawn.extend(others.take(batch - from_known, rng));
                        drawn
                    })
                    .collect()
            }
            Self::Hierarchical { per_class, groups } => {
                let members = items.by_class();
                let mut of_group: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
                for &class in members.keys() {
                    let group = items.group.get(class as usize).copied().unwrap_or(class);
                    of_group.entry(group).or_default().push(class);
                }
                let mut cycle = Cycle::new(of_group.keys().copied().collect());
                let wanted = groups.min(cycle.len());
                (0..steps)
                    .map(|_| {
                        let groups = cycle.distinct(wanted, rng);
                        let mut classes: Vec<u32> = groups
                            .iter()
                            .flat_map(|g| of_group[g].iter().copied())
                            .collect();
                        classes.shuffle(rng);
                        classes.truncate((batch / per_class).max(1));
                        some_of_each(&classes, &members, (per_class, items.augmented), rng)
                    })
                    .collect()
            }
        }
    }
}

/// `all` items in random order, as many of each class. Of a class with no more than it is to give,
/// each is drawn anew; of others no item comes twice.
fn evenly(members: &BTreeMap<u32, Vec<usize>>, all: usize, rng: &mut Rng) -> Vec<usize> {
    let each = all / members.len().max(1) + 1;
    let mut order = Vec::with_capacity(each * members.len());
    for members in members.values() {
        if members.len() > each {
            let chosen = index::sample(rng, members.len(), each);
            order.extend(chosen.iter().map(|place| members[place]));
        } else {
            let draws = (0..each).map(|_| members[rng.random_range(0..members.len())]);
            order.extend(draws);
        }
    }
    order.shuffle(rng);
    order.truncate(all);
    order
}

fn some_of_each(
    classes: &[u32],
    members: &BTreeMap<u32, Vec<usize>>,
    (per_class, augmented): (usize, bool),
    rng: &mut Rng,
) -> Vec<usize> {
    let mut batch = Vec::with_capacity(classes.len() * per_class);
    for class in classes {
        let mut members = members[class].clone();
        members.shuffle(rng);
        if augmented {
            // Every item once before one comes again.
            batch.extend(members.iter().cycle().take(per_class));
        } else {
            batch.extend(members.iter().take(per_class));
        }
    }
    batch
}

/// Things in random order, shuffled anew whenever all have been drawn.
struct Cycle<T> {
    all: Vec<T>,
    next: usize,
}

impl<T: Copy + PartialEq> Cycle<T> {
    fn new(all: Vec<T>) -> Self {
        let next = all.len();
        Self { all, next }
    }

    fn len(&self) -> usize {
        self.all.len()
    }

    /// The next `count`; fewer only if there are none at all.
    fn take(&mut self, count: usize, rng: &mut Rng) -> Vec<T> {
        let mut taken = Vec::with_capacity(count);
        while taken.len() < count && !self.all.is_empty() {
            if self.next == self.all.len() {
                self.all.shuffle(rng);
                self.next = 0;
            }
            taken.push(self.all[self.next]);
            self.next += 1;
        }
        taken
    }

    /// The next `count`, none of them twice; `count` is at most their number.
    fn distinct(&mut self, count: usize, rng: &mut Rng) -> Vec<T> {
        let mut taken: Vec<T> = Vec::with_capacity(count);
        while taken.len() < count {
            let next = self.take(1, rng);
            taken.extend(
                next.into_iter()
                    .filter(|t| !taken.contains(t))
                    .collect::<Vec<_>>(),
            );
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rng() -> likewise::seed::Rng {
        likewise::seed::stream(3, "test batches")
    }

    proptest! {
        #[test]
        fn every_sampler_keeps_its_promise(
            classes in prop::collection::vec(0_u32..6, 1..40),
            batch in 2_usize..20, steps in 0_usize..6, per_class in 2_usize..5,
            augmented in prop::bool::ANY,
        ) {
            let n = classes.len();
            // Every seventh item is absent, every third is labeled.
            let weight: Vec<f32> = (0..n).map(|i| f32::from(u8::from(i % 7 != 6))).collect();
            let labeled: Vec<bool> = (0..n).map(|i| i % 3 == 0).collect();
            let group = [0, 0, 1, 1, 2, 2];
            let items = Items { class: &classes, weight: &weight, labeled: &labeled, group: &group, augmented };
            let present: Vec<usize> = items.drawn().collect();
            let distinct = items.by_class().len();
            for sampler in [
                Sampler::Plain,
                Sampler::Uniform,
                Sampler::PerClass { per_class },
                Sampler::Labeled { share: 0.25 },
                Sampler::Hierarchical { per_class, groups: 1 },
            ] {
                prop_assert!(sampler.validate().is_ok());
                let batches = sampler.epoch(&items, batch, steps, &mut rng());
                let expected = if steps == 0 { present.len().div_ceil(batch) } else { steps };
                prop_assert_eq!(batches.len(), expected);
                prop_assert_eq!(&batches, &sampler.epoch(&items, batch, steps, &mut rng()));
                for drawn in &batches {
                    prop_assert!(drawn.iter().all(|&i| weight[i] > 0.0) && !drawn.is_empty());
                    match sampler {
                        Sampler::Plain | Sampler::Uniform => prop_assert!(drawn.len() <= batch),
                        Sampler::Labeled { .. } => {
                            prop_assert_eq!(drawn.len(), batch);
                            let known = drawn.iter().filter(|&&i| labeled[i]).count();
                            let both = present.iter().any(|&i| labeled[i])
                                && present.iter().any(|&i| !labeled[i]);
                            let share = (batch as f64 * 0.25).round() as usize;
                            if both {
                                prop_assert_eq!(known, share.clamp(1, batch - 1));
                            }
                        }
                        _ => {
                            let mut of_class: BTreeMap<u32, usize> = BTreeMap::new();
                            for &i in drawn {
                                *of_class.entry(classes[i]).or_default() += 1;
                            }
                            let members = items.by_class();
                            for (class, &count) in &of_class {
                                let own = members[class].len();
                                let wanted = if augmented { per_class } else { per_class.min(own) };
                                prop_assert_eq!(count, wanted);
                            }
                            let mut once = drawn.clone();
                            once.sort_unstable();
                            once.dedup();
                            prop_assert!(augmented || once.len() == drawn.len());
                            if let Sampler::PerClass { .. } = sampler {
                                let wanted = (batch / per_class).max(1).min(distinct);
                                prop_assert_eq!(of_class.len(), wanted);
                            } else {
                                let first = group[classes[drawn[0]] as usize];
                                let mut groups = of_class.keys().map(|&c| group[c as usize]);
                                prop_assert!(groups.all(|g| g == first));
                            }
                        }
                    }
                }
                if sampler == Sampler::Plain && steps == 0 {
                    let mut all = batches.concat();
                    all.sort_unstable();
                    prop_assert_eq!(all, present.clone());
                }
                if sampler == Sampler::Uniform && steps == 0 {
                    let all = batches.concat();
                    prop_assert_eq!(all.len(), present.len());
                    let each = present.len() / distinct + 1;
                    for (class, members) in items.by_class() {
                        let own = all.iter().filter(|&&i| classes[i] == class).count();
                        // What is cut off at the end is less than one item a class in the mean.
                        prop_assert!(own <= each);
                        let some = all.iter().filter(|i| members.contains(i)).collect::<std::collections::BTreeSet<_>>();
                        prop_assert!(members.len() <= each || some.len() == own);
                    }
                }
            }
        }
    }

    #[test]
    fn a_small_class_comes_as_often_as_a_large_one() {
        let class: Vec<u32> = (0..100).map(|i| u32::from(i >= 95)).collect();
        let items = Items {
            class: &class,
            weight: &[1.0; 100],
            labeled: &[false; 100],
            group: &[],
            augmented: false,
        };
        let all = Sampler::Uniform.epoch(&items, 10, 0, &mut rng()).concat();
        let small = all.iter().filter(|&&i| i >= 95).count();
        assert_eq!(all.len(), 100);
        assert!((49..=51).contains(&small), "{small}");
    }

    #[test]
    fn super_classes_are_the_first_part_of_a_name() {
        let names = ["dog/pug", "cat/manx", "dog/boxer", "fish"].map(String::from);
        assert_eq!(groups(&names), [0, 1, 0, 2]);
    }

    #[test]
    fn nothing_to_draw_gives_no_batches_and_bad_parameters_are_named() {
        let items = Items {
            class: &[0, 1],
            weight: &[0.0; 2],
            labeled: &[true; 2],
            group: &[],
            augmented: false,
        };
        assert!(Sampler::Plain.epoch(&items, 4, 5, &mut rng()).is_empty());
        let said = |sampler: Sampler| sampler.validate().unwrap_err().to_string();
        assert!(said(Sampler::PerClass { per_class: 1 }).contains("sampler.per_class"));
        assert!(said(Sampler::Labeled { share: 1.0 }).contains("sampler.share"));
        let sampler: Sampler =
            serde_json::from_str(r#"{"name": "per-class", "per_class": 4}"#).unwrap();
        assert_eq!(sampler, Sampler::PerClass { per_class: 4 });
    }
}
