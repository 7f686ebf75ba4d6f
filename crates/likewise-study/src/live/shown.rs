//! What is shown of the items of a run at a moment: labels, beliefs, confidence.

use std::sync::{Arc, PoisonError, RwLock};

use likewise::Label;
use rayon::prelude::*;
use serde::Serialize;

use super::identity::by_name;
use super::items::Items;
use super::labeled::Labeled;
use crate::journal::Place;
use crate::query::{Answer, Found};

/// What is shown of the items of a run at a moment. Cheap beside the run: about 16 bytes an item.
#[derive(Debug, Clone)]
pub struct Shown {
    items: Arc<Items>,
    labeled: Labeled,
    belief: Vec<Option<u32>>,
    confidence: Vec<f32>,
    /// How many classes came before each; as they stand where nothing is said.
    order: Vec<usize>,
    /// The last entry of the journal that it follows.
    place: Option<Place>,
}

/// What is shown at the moment; every change puts another in its place, so nobody who looks holds it up.
#[derive(Debug, Clone)]
pub struct Current(Arc<RwLock<Arc<Shown>>>);

impl Current {
    /// Begins with this.
    pub fn new(shown: Shown) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(shown))))
    }

    /// What is shown now; it stays as it is for who holds it.
    pub fn get(&self) -> Arc<Shown> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn set(&self, shown: Shown) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(shown);
    }
}

/// An item as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Item {
    /// Its place in the run, from 0.
    pub row: usize,
    /// Its id.
    pub id: String,
    /// Its label, where it is known.
    pub label: Option<String>,
    /// The class that it is believed to be of.
    pub pseudo_label: Option<String>,
    /// How much that belief is worth, 0 to 1.
    pub confidence: Option<f32>,
    /// Its part of the split.
    pub split: Option<&'static str>,
    /// Whether the label is known, but was hidden from the fit.
    pub hidden: bool,
}

/// A class as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// How many classes came before it: those of before the first entry of the journal by their names, then those that
    /// were added, one after the other. It keeps that whatever it is called.
    pub place: usize,
    /// Items with this label.
    pub labeled: usize,
    /// Items without a label that are believed to be of it.
    pub believed: usize,
}

/// Which items are asked for; what is not said does not matter.
#[derive(Debug, Clone, Default)]
pub struct Sorted<'a> {
    /// Those of this label, `outside` too.
    pub label: Option<&'a str>,
    /// Those of this label, or believed to be of it where they have none.
    pub class: Option<&'a str>,
    /// Those of this part of the split.
    pub split: Option<&'a str>,
    /// Those whose id holds this, in any case.
    pub text: Option<&'a str>,
    /// Those with a label, or without.
    pub labeled: Option<bool>,
}

impl Shown {
    pub(super) fn new(items: Arc<Items>, labeled: Labeled, place: Option<Place>) -> Self {
        let n = items.rows().len();
        Self {
            items,
            labeled,
            belief: vec![None; n],
            confidence: vec![0.0; n],
            order: vec![],
            place,
        }
    }

    /// A run whose labels do not change, as it is in its folder.
    pub fn fixed(items: Arc<Items>) -> crate::Result<Self> {
        let labeled = Labeled::of(items.rows())?;
        let mut shown = Self::new(items.clone(), labeled, None);
        for (row, item) in items.rows().iter().enumerate() {
            let class = item.pseudo_label.as_deref();
            let class = class.and_then(|name| shown.labeled.class(name));
            let confidence = item.confidence.unwrap_or(0.0);
            shown.set(row, class, confidence);
        }
        Ok(shown)
    }

    pub(super) fn set_order(&mut self, order: Vec<usize>) {
        self.order = order;
    }

    /// Of all items at once, in parallel.
    pub(super) fn set_all(&mut self, of: impl Fn(usize) -> (Option<u32>, f32) + Sync) {
        let rows = self.belief.par_iter_mut().zip(&mut self.confidence);
        rows.enumerate().for_each(|(row, (class, confidence))| {
            (*class, *confidence) = of(row);
        });
    }

    pub(super) fn set(&mut self, row: usize, class: Option<u32>, confidence: f32) {
        self.belief[row] = class;
        self.confidence[row] = confidence;
    }

    /// The items.
    pub fn items(&self) -> &Arc<Items> {
        &self.items
    }

    /// Their labels.
    pub fn labeled(&self) -> &Labeled {
        &self.labeled
    }

    /// The class that each is believed to be of.
    pub fn beliefs(&self) -> &[Option<u32>] {
        &self.belief
    }

    /// How much each belief is worth, 0 to 1.
    pub fn confidence(&self) -> &[f32] {
        &self.confidence
    }

    /// The last entry of the journal that is in here.
    pub fn sequence(&self) -> u64 {
        self.place.as_ref().map_or(0, |place| place.sequence)
    }

    /// The place of that.
    pub fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    /// Class and confidence of what is believed of an item; of one outside, nothing.
    fn believed(&self, row: usize) -> (Option<&str>, Option<f32>) {
        if self.labeled.labels()[row] == Label::Outside {
            return (None, None);
        }
        let class = self.belief[row].map(|class| &*self.labeled.classes()[class as usize]);
        // Without a class a confidence says something only where the fit did.
        let said = class.is_some() || self.items.rows()[row].confidence.is_some();
        (class, said.then_some(self.confidence[row]))
    }

    /// An item. Panics where there is no such row.
    pub fn item(&self, row: usize) -> Item {
        let own = &self.items.rows()[row];
        let (class, confidence) = self.believed(row);
        Item {
            row,
            id: own.id.clone(),
            label: self.labeled.name(row).map(str::to_owned),
            pseudo_label: class.map(str::to_owned),
            confidence,
            split: own.split.map(likewise::Part::name),
            hidden: self.labeled.is_hidden(row),
        }
    }

    /// The nearest items to a query, as `likewise search` tells them: the first `k` of the hits but
    /// for the item that asks.
    pub fn answer(
        &self,
        query: String,
        hits: &[likewise::index::Hit],
        own: Option<usize>,
        k: usize,
    ) -> Answer {
        let others = hits.iter().filter(|hit| Some(hit.item) != own).take(k);
        let found = others.zip(1..).map(|(hit, rank)| {
            let item = self.item(hit.item);
            Found {
                rank,
                id: item.id,
                similarity: hit.similarity,
                label: item.label,
                pseudo_label: item.pseudo_label,
                confidence: item.confidence,
            }
        });
        Answer {
            query,
            hits: found.collect(),
        }
    }

    /// The rows of the items that are asked for, ascending.
    pub fn rows(&self, asked: &Sorted) -> Vec<usize> {
        let text = asked.text.map(str::to_lowercase);
        let has = |row: usize| {
            let own = &self.items.rows()[row];
            let label = self.labeled.name(row);
            asked.label.is_none_or(|wanted| label == Some(wanted))
                && asked
                    .class
                    .is_none_or(|wanted| label.or(self.believed(row).0) == Some(wanted))
                && asked
                    .split
                    .is_none_or(|wanted| own.split.map(likewise::Part::name) == Some(wanted))
                && asked
                    .labeled
                    .is_none_or(|wanted| self.labeled.given(row).is_some() == wanted)
                && text
                    .as_ref()
                    .is_none_or(|text| own.id.to_lowercase().contains(text))
        };
        (0..self.belief.len()).filter(|&row| has(row)).collect()
    }

    /// The classes by name, numbers by their value; and how many items are labeled `outside`.
    pub fn classes(&self) -> (Vec<Class>, usize) {
        let mut classes: Vec<Class> = (self.labeled.classes().iter().enumerate())
            .map(|(class, name)| Class {
                name: name.clone(),
                place: self.order.get(class).copied().unwrap_or(class),
                labeled: 0,
                believed: 0,
            })
            .collect();
        let mut outside = 0;
        for (label, belief) in self.labeled.labels().iter().zip(&self.belief) {
            match (label, belief) {
                (Label::Known(class), _) => classes[*class as usize].labeled += 1,
                (Label::Outside, _) => outside += 1,
                (Label::Unknown, Some(class)) => classes[*class as usize].believed += 1,
                (Label::Unknown, None) => {}
            }
        }
        classes.sort_by_cached_key(|class| by_name(&class.name));
        (classes, outside)
    }

    /// `id,label` of all items with a label that is not hidden.
    pub fn csv(&self) -> String {
        let quoted = |text: &str| {
            if text.contains([',', '"', '\n', '\r']) {
                format!("\"{}\"", text.replace('"', "\"\""))
            } else {
                text.to_owned()
            }
        };
        let mut csv = "id,label\n".to_owned();
        for (row, item) in self.items.rows().iter().enumerate() {
            if let Some(label) = self.labeled.given(row) {
                csv.extend([&quoted(&item.id), ",", &quoted(label), "\n"]);
            }
        }
        csv
    }
}
