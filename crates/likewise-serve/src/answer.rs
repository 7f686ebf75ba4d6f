//! What is answered, as JSON.

use std::collections::HashSet;

use likewise_study::live::{Class, Done, Item, Why};
use likewise_study::query::{Answer, Found};
use serde::Serialize;
use utoipa::ToSchema;

use crate::open::Open;
use crate::problem::Problem;

/// Items that an answer about a change names.
pub(crate) const NAMED: usize = 200;

/// An item as it is now.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct ItemNow {
    /// Its place in the run, from 0.
    pub(crate) row: usize,
    /// Its id.
    pub(crate) id: String,
    /// A class, `outside`, or nothing.
    pub(crate) label: Option<String>,
    /// The class that it is believed to be of.
    pub(crate) pseudo_label: Option<String>,
    /// How much that belief is worth, 0 to 1.
    pub(crate) confidence: Option<f32>,
    /// Its part of the split.
    pub(crate) split: Option<&'static str>,
    /// Whether the label is known, but was hidden from the fit.
    pub(crate) hidden: bool,
    /// Whether there is a picture.
    pub(crate) image: bool,
}

impl ItemNow {
    pub(crate) fn new(item: Item, image: bool) -> Self {
        Self {
            row: item.row,
            id: item.id,
            label: item.label,
            pseudo_label: item.pseudo_label,
            confidence: item.confidence,
            split: item.split,
            hidden: item.hidden,
            image,
        }
    }
}

impl Open {
    /// Items as they are now.
    pub(crate) fn items_now(
        &self,
        rows: impl IntoIterator<Item = usize>,
    ) -> Result<Vec<ItemNow>, Problem> {
        let image = self.photos.is_some();
        let now = self.look(|shown| {
            let each = rows
                .into_iter()
                .map(|row| ItemNow::new(shown.item(row), image));
            each.collect()
        });
        now.ok_or_else(not_yet)
    }
}

/// The labels have not spread yet.
pub(crate) fn not_yet() -> Problem {
    Problem::busy()
}

/// An item and why it is believed to be what it is.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ItemWhy {
    #[serde(flatten)]
    pub(crate) item: ItemNow,
    /// Nothing where no label reaches it.
    #[schema(value_type = Option<Object>)]
    pub(crate) why: Option<Why>,
}

/// What was found for a query.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Hits {
    /// What asked.
    pub(crate) query: String,
    /// The nearest items, best first.
    pub(crate) hits: Vec<Hit>,
}

/// An item that was found.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Hit {
    /// Place among them, from 1.
    pub(crate) rank: usize,
    /// Its id.
    pub(crate) id: String,
    /// Similarity to the query; larger is more similar.
    pub(crate) similarity: f32,
    /// Its label.
    pub(crate) label: Option<String>,
    /// The class that it is believed to be of.
    pub(crate) pseudo_label: Option<String>,
    /// How much that belief is worth, 0 to 1.
    pub(crate) confidence: Option<f32>,
    /// All of it, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) item: Option<ItemNow>,
}

impl From<Found> for Hit {
    fn from(found: Found) -> Self {
        Self {
            rank: found.rank,
            id: found.id,
            similarity: found.similarity,
            label: found.label,
            pseudo_label: found.pseudo_label,
            confidence: found.confidence,
            item: None,
        }
    }
}

impl From<Answer> for Hits {
    fn from(answer: Answer) -> Self {
        Self {
            query: answer.query,
            hits: answer.hits.into_iter().map(Hit::from).collect(),
        }
    }
}

/// A change of labels that is on the disk.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Changed {
    /// Its entry in the journal; the last one where nothing changed.
    pub(crate) sequence: u64,
    /// Items that are believed to be of another class than before.
    pub(crate) changed: usize,
    /// The items that were labeled, then those whose belief changed: at most 200.
    pub(crate) items: Vec<ItemNow>,
    /// The entry that was taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) undone: Option<u64>,
    /// Items of that entry that were labeled since, and keep that label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kept: Option<usize>,
    /// The class whose adding or new name was taken back, and that stays since items have or had this label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) class_kept: Option<String>,
    /// The classes, where they changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) classes: Option<Vec<ClassNow>>,
}

impl Changed {
    pub(crate) fn new(done: &Done, open: &Open) -> Result<Self, Problem> {
        let labeled: HashSet<u32> = done.labeled.iter().copied().collect();
        let others = done.changed.iter().filter(|row| !labeled.contains(row));
        let rows = done.labeled.iter().take(NAMED).chain(others);
        Ok(Self {
            sequence: done.sequence,
            changed: done.changed.len(),
            items: open.items_now(rows.take(NAMED).map(|&row| row as usize))?,
            undone: None,
            kept: None,
            class_kept: None,
            classes: None,
        })
    }
}

/// A class.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct ClassNow {
    /// Its name.
    pub(crate) name: String,
    /// How many classes came before it: the order of colours and keys.
    pub(crate) place: usize,
    /// Items with this label.
    pub(crate) labeled: usize,
    /// Items without a label that are believed to be of it.
    pub(crate) believed: usize,
}

impl From<Class> for ClassNow {
    fn from(class: Class) -> Self {
        Self {
            name: class.name,
            place: class.place,
            labeled: class.labeled,
            believed: class.believed,
        }
    }
}
