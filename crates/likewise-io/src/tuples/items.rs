//! Which items the words of a table of tuples name, and what they weigh.

use std::collections::HashMap;
use std::path::Path;

use likewise::Monitor;

use crate::form::Form;
use crate::number::push;
use crate::{Error, Result};

/// The column of weights.
pub(super) const WEIGHT: &str = "weight";

/// No item.
const NONE: u32 = u32::MAX;

/// The items of tuples as they are read: by id and by place, until all words are known.
pub(super) struct Items<'a> {
    /// Names of the columns of items.
    names: &'a [&'a str],
    /// What a row of the file is called.
    row: &'static str,
    of_id: HashMap<&'a str, u32>,
    by_id: Vec<u32>,
    by_place: Vec<u32>,
    /// Number of the line (or row) of each tuple.
    rows: Vec<u64>,
    /// Whether some word is an id.
    matched: bool,
    /// The first word that is no id, and the first that is no place either.
    no_id: Option<Unknown>,
    no_place: Option<Unknown>,
}

/// A weight as the file has it.
pub(super) enum Weight<'a> {
    None,
    Word(&'a str),
    Number(Option<f32>),
}

/// By what the items are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    Ids,
    Places,
}

impl Named {
    /// Warns of places: the numbers may be ids of other items.
    pub(super) fn tell(self, path: &Path, monitor: &Monitor) {
        if self == Self::Places {
            monitor.warn(format!(
                "{}: its numbers are read as places, counted from 0, since none of them is an id of the data; if \
                 they are ids of other data, name the items by the ids of these",
                path.display()
            ));
        }
    }
}

/// A word for a message.
pub(super) fn short(word: &str) -> String {
    word.chars().take(40).collect()
}

/// A word that names no item.
#[derive(Clone)]
struct Unknown {
    place: String,
    word: String,
}

impl<'a> Items<'a> {
    pub(super) fn new(names: &'a [&'a str], form: Form, ids: &'a [String]) -> Self {
        Self {
            names,
            row: if form == Form::Parquet { "row" } else { "line" },
            of_id: ids.iter().map(String::as_str).zip(0..).collect(),
            by_id: Vec::new(),
            by_place: Vec::new(),
            rows: Vec::new(),
            matched: false,
            no_id: None,
            no_place: None,
        }
    }

    /// A column of a line, in words.
    pub(super) fn place(&self, row: u64, column: &str) -> String {
        format!("{} {row}, column \"{column}\"", self.row)
    }

    /// The line of a tuple, in words.
    pub(super) fn row(&self, tuple: usize) -> String {
        format!("{} {}", self.row, self.rows[tuple])
    }

    /// The weight of a tuple.
    pub(super) fn weight(&self, row: u64, weight: Weight) -> Result<f32> {
        let (value, written) = match weight {
            Weight::None => return Ok(1.0),
            Weight::Word(word) => (word.parse::<f32>().ok(), short(word)),
            Weight::Number(value) => (value, value.map_or(String::new(), |v| v.to_string())),
        };
        let usable = value.filter(|w| w.is_finite() && *w >= 0.0);
        usable.ok_or_else(|| {
            Error::value(format!(
                "{} is \"{written}\"; a weight must be a number of at least 0",
                self.place(row, WEIGHT)
            ))
        })
    }

    /// Takes the words of a tuple.
    pub(super) fn take(&mut self, row: u64, words: &[&str]) -> Result<()> {
        push(&mut self.rows, row)?;
        for (column, &word) in words.iter().enumerate() {
            let unknown = || Unknown {
                place: self.place(row, self.names[column]),
                word: short(word),
            };
            let by_id = self.of_id.get(word).copied();
            let by_place = word.parse::<u32>().ok();
            let by_place = by_place.filter(|&at| (at as usize) < self.of_id.len());
            let no_id = (by_id.is_none() && self.no_id.is_none()).then(unknown);
            let no_place = (by_place.is_none() && self.no_place.is_none()).then(unknown);
            self.no_id = no_id.or(self.no_id.take());
            self.no_place = no_place.or(self.no_place.take());
            self.matched |= by_id.is_some();
            push(&mut self.by_id, by_id.unwrap_or(NONE))?;
            push(&mut self.by_place, by_place.unwrap_or(NONE))?;
        }
        Ok(())
    }

    /// The items of all tuples, one after the other, and by what they are named; those of a tuple differ.
    pub(super) fn resolve(&mut self) -> Result<(Vec<u32>, Named)> {
        let by_id = std::mem::take(&mut self.by_id);
        let by_place = std::mem::take(&mut self.by_place);
        let (items, named) = match (&self.no_id, &self.no_place) {
            (None, _) => (by_id, Named::Ids),
            (Some(_), None) if !self.matched => (by_place, Named::Places),
            (Some(unknown), no_place) => {
                // Where all are meant as places, the one that is none is to blame.
                let numbers = |u: &Unknown| u.word.parse::<u64>().is_ok();
                let beyond = no_place.as_ref().filter(|u| !self.matched && numbers(u));
                let (unknown, more) = match beyond {
                    Some(beyond) => {
                        let n = self.of_id.len();
                        (beyond, format!(", and the places are below {n}"))
                    }
                    None => (unknown, String::new()),
                };
                return Err(Error::value(format!(
                    "{}: no item has the id \"{}\"{more}; correct it or remove the {}",
                    unknown.place, unknown.word, self.row
                )));
            }
        };
        let width = self.names.len();
        for (tuple, own) in items.chunks(width).enumerate() {
            let twice = (1..width).find_map(|q| (0..q).find(|&p| own[p] == own[q]).map(|p| (p, q)));
            if let Some((p, q)) = twice {
                return Err(Error::value(format!(
                    "{} names the item of column \"{}\" again; the items of a tuple must differ",
                    self.place(self.rows[tuple], self.names[q]),
                    self.names[p]
                )));
            }
        }
        Ok((items, named))
    }
}
