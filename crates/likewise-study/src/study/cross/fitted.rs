//! Fitting a learner to the training part, and embedding items view by view.

use std::collections::BTreeMap;

use likewise::cross::{NamedModel, NamedView, Need, Views};
use likewise::eval::split;
use likewise::matrix::select_rows;
use likewise::{Labels, Monitor, Part};
use likewise_nn::cross::Learner;
use ndarray::{Array2, ArrayView2};

use super::believed::Believed;
use super::embedded::Embedded;
use super::measured::{Asked, Measured, direction};
use super::plan::CrossPlan;
use super::views::{Reading, Sides};
use crate::{Error, Result};

/// The items to fit on.
pub(super) fn fitted(parts: &[Part]) -> Vec<usize> {
    let all = 0..parts.len();
    all.filter(|&item| parts[item] == Part::Train).collect()
}

/// What all fits of a study share.
pub(super) struct Ground<'a> {
    pub(super) plan: &'a CrossPlan<'a>,
    sides: &'a Sides<'a>,
    labels: &'a Labels,
    /// Items to fit on.
    pub(super) train: Vec<usize>,
    /// Items of a known class that ask, and those that are searched.
    queries: Vec<usize>,
    gallery: Vec<usize>,
    readings: Vec<Reading>,
}

impl<'a> Ground<'a> {
    /// What is fitted and tested by these parts. Fails where a view has nothing to fit on.
    pub(super) fn new(
        plan: &'a CrossPlan<'a>,
        sides: &'a Sides<'a>,
        labels: &'a Labels,
        parts: &[Part],
    ) -> Result<Self> {
        let (mut queries, mut gallery) = split::roles(parts);
        let known = |item: &usize| labels[*item].class().is_some();
        queries.retain(known);
        gallery.retain(known);
        let train = fitted(parts);
        Ok(Self {
            readings: sides.readings(&train, plan.recipe.start.standardize)?,
            plan,
            sides,
            labels,
            train,
            queries,
            gallery,
        })
    }

    /// Whether there is something to measure with.
    pub(super) fn tests(&self) -> bool {
        !self.queries.is_empty() && !self.gallery.is_empty()
    }

    /// Fails where there is nothing to measure with, in all or in a view.
    pub(super) fn check_tested(&self) -> Result<()> {
        if !self.tests() {
            return Err(Error::data(format!(
                "no item of a known class is left to test with ({} labels of {} classes): across views a \
                 quarter of each class of four labels or more is set aside, or what a column named split \
                 says; label more items of a class, or add the column",
                self.labels.n_known(),
                self.labels.n_classes()
            )));
        }
        for side in &self.sides.0 {
            for (what, items) in [("asks", &self.queries), ("is searched", &self.gallery)] {
                if side.of(items).is_empty() {
                    return Err(Error::data(format!(
                        "view {}: no item of a known class that {what} has it; the test part needs \
                         some",
                        side.name
                    )));
                }
            }
        }
        Ok(())
    }

    /// All labels of the items to fit on, hidden ones too.
    pub(super) fn fitted_labels(&self) -> Labels {
        self.labels.select(&self.train)
    }

    /// All views of the items to fit on, side by side.
    pub(super) fn joined(&self) -> Result<Array2<f32>> {
        self.sides.joined(&self.readings, &self.train)
    }

    /// The views.
    pub(super) fn sides(&self) -> &Sides<'a> {
        self.sides
    }

    /// Rows of the items in view `t`, as the encoders of this study read them.
    pub(super) fn read(&self, t: usize, items: &[usize]) -> Array2<f32> {
        let mut rows = select_rows(self.sides.0[t].rows.view(), items);
        if let Some(scale) = &self.readings[t].scale {
            rows *= &scale.mapv(|s| s as f32);
        }
        rows
    }

    /// The same labels as `drawn`, where each class has one in every view; of another class, one that has
    /// it takes the place of one that is not needed, if there are such. `labels` are all that may be drawn.
    pub(super) fn covered(&self, labels: &Labels, drawn: &Labels) -> Labels {
        let sides = &self.sides.0;
        let has = |side: usize, place: usize| sides[side].has(self.train[place]);
        let of = |place: usize| (0..sides.len()).filter(move |&side| has(side, place));
        let mut shown: Vec<bool> = drawn.items().iter().map(|l| l.class().is_some()).collect();
        for members in labels.by_class() {
            for side in 0..sides.len() {
                let mut own: Vec<usize> = members.iter().copied().filter(|&p| shown[p]).collect();
                if own.is_empty() || own.iter().any(|&place| has(side, place)) {
                    continue;
                }
                let others = members.iter().copied();
                let others = others.filter(|&place| !shown[place] && has(side, place));
                let Some(new) =
                    others.min_by_key(|&place| (sides.len() - of(place).count(), place))
                else {
                    continue;
                };
                own.push(new);
                let spare = |&&old: &&usize| {
                    let rest = || own.iter().filter(move |&&place| place != old);
                    old != new && of(old).all(|side| rest().any(|&place| has(side, place)))
                };
                if let Some(&old) = own.iter().find(spare) {
                    shown[old] = false;
                    shown[new] = true;
                }
            }
        }
        labels.masked(|place| shown[place])
    }

    /// Fits a learner to what is believed of the training part.
    ///
    /// Fails where labels are of fewer than two classes, and where a view lacks one of them.
    pub(super) fn fit(
        &self,
        learner: &Learner,
        believed: &Believed,
        seed: u64,
        monitor: &Monitor,
    ) -> Result<NamedModel> {
        if learner.need() != Need::Pairs {
            self.check_classes(learner, believed)?;
        }
        let learner = self.settled(learner, monitor)?;
        let views = self.sides.0.len();
        let place = |t: usize| -> Vec<usize> {
            let places = 0..self.train.len();
            places
                .filter(|&p| self.sides.0[t].has(self.train[p]))
                .collect()
        };
        let object: Vec<Vec<usize>> = (0..views).map(place).collect();
        let rows: Vec<Array2<f32>> = (object.iter().enumerate())
            .map(|(t, places)| {
                let items: Vec<usize> = places.iter().map(|&p| self.train[p]).collect();
                self.read(t, &items)
            })
            .collect();
        let rows: Vec<ArrayView2<f32>> = rows.iter().map(|rows| rows.view()).collect();
        let given = Views::new(&rows, object, &believed.class, &believed.weight)?;
        let model = learner.fit(&given, seed, &self.plan.device, monitor)?;
        let named = self.sides.0.iter().zip(&self.readings).zip(model.encoders);
        let named = named.map(|((side, reading), encoder)| NamedView {
            name: side.name.to_owned(),
            text: side.text.clone(),
            scale: reading.scale.clone(),
            encoder,
        });
        NamedModel::new(named.collect())
    }

    fn check_classes(&self, learner: &Learner, believed: &Believed) -> Result<()> {
        let classes = self.labels.classes();
        let counts = |has: &dyn Fn(usize) -> bool| {
            let mut counts = vec![0; classes.len()];
            for (place, &item) in self.train.iter().enumerate() {
                if believed.weight[place] > 0.0 && has(item) {
                    counts[believed.class[place] as usize] += 1;
                }
            }
            counts
        };
        let all = counts(&|_| true);
        let known: Vec<usize> = (0..classes.len()).filter(|&c| all[c] > 0).collect();
        if known.len() < 2 {
            let which = known.first().map_or("none".into(), |&c| classes[c].clone());
            return Err(Error::data(format!(
                "{} learns what tells classes apart, and the labels to fit on are of one class \
                 alone ({which}); label items of another one",
                learner.name()
            )));
        }
        for side in &self.sides.0 {
            let own = counts(&|item| side.has(item));
            if let Some(&missing) = known.iter().find(|&&c| own[c] == 0) {
                return Err(Error::data(format!(
                    "view {}: no labeled item of class {} has it, so nothing of the class can be \
                     learned there; label one that has it, or leave the class out",
                    side.name, classes[missing]
                )));
            }
        }
        Ok(())
    }

    /// How well each view finds each other one in the test part.
    pub(super) fn measure(&self, model: &NamedModel, monitor: &Monitor) -> Result<Measured> {
        let embed = |items: &[usize]| self.embed(model, items);
        Measured::of(
            &Asked {
                labels: self.labels,
                names: &self
                    .sides
                    .0
                    .iter()
                    .map(|side| side.name)
                    .collect::<Vec<_>>(),
                queries: &embed(&self.queries)?,
                gallery: &embed(&self.gallery)?,
                ks: &self.plan.protocol.ks,
                seed: self.plan.protocol.seed,
            },
            monitor,
        )
    }

    /// The classes of the queries of each direction, in their order.
    pub(super) fn asked(&self) -> BTreeMap<String, Vec<&'a str>> {
        let sides = &self.sides.0;
        let class = |item: &usize| {
            let class = self.labels[*item].class();
            class.map(|class| self.labels.classes()[class as usize].as_str())
        };
        let mut asked = BTreeMap::new();
        for (from, side) in sides.iter().enumerate() {
            let own = side.of(&self.queries);
            let classes: Vec<&str> = own.iter().filter_map(class).collect();
            for (to, other) in sides.iter().enumerate() {
                if from != to {
                    asked.insert(direction(side.name, other.name), classes.clone());
                }
            }
        }
        asked
    }

    /// What every item is taken for, by the name of its class and how much it weighs; nothing where it has no part.
    pub(super) fn named(&self, believed: &Believed) -> Vec<Option<(String, f32)>> {
        let mut named = vec![None; self.labels.len()];
        for (place, &item) in self.train.iter().enumerate() {
            let weight = believed.weight[place];
            if weight > 0.0 {
                let name = &self.labels.classes()[believed.class[place] as usize];
                named[item] = Some((name.clone(), weight));
            }
        }
        named
    }

    /// All items in the space of all views.
    pub(super) fn embed_all(&self, model: &NamedModel) -> Result<Embedded> {
        let all: Vec<usize> = (0..self.labels.len()).collect();
        self.embed(model, &all)
    }

    fn embed(&self, model: &NamedModel, items: &[usize]) -> Result<Embedded> {
        let (mut of, mut rows) = (Vec::new(), Vec::new());
        for (t, side) in self.sides.0.iter().enumerate() {
            let own = side.of(items);
            let x = select_rows(side.rows.view(), &own);
            rows.push(model.encode(t, x.view())?);
            of.push(own);
        }
        Ok(Embedded { items: of, rows })
    }
}
