//! What the columns of a table hold: one pass over its cells.

use std::collections::BTreeMap;

use likewise::Monitor;

use super::cells::{Cell, Place, Rows};
use super::date::Orders;
use super::foot::Foot;
use super::thousands::Thousands;
use super::written::{flag, is_missing, number};
use crate::Result;
use crate::budget::{Budget, WORD};
use crate::doubts::Doubts;
use crate::layout::Decimal;
use crate::role::Role;
use crate::suspects::{Suspect, suspects};

/// Most words that a category may have.
pub(super) const MOST_WORDS: usize = 100;

/// Letters from which on a word is a text, not the name of a category.
const LONG: usize = 100;

/// What a column holds.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Cells that hold something.
    pub(super) held: usize,
    /// Numbers that the form itself knows as such.
    pub(super) typed: usize,
    pub(super) flags: usize,
    pub(super) dates: usize,
    pub(super) others: usize,
    /// Texts, and how many of them are numbers with a point, a comma, or by either alone.
    pub(super) texts: usize,
    pub(super) points: usize,
    pub(super) commas: usize,
    pub(super) only_point: usize,
    pub(super) only_comma: usize,
    /// Numbers by either, with a comma in them.
    pub(super) either: usize,
    pub(super) orders: Orders,
    pub(super) thousands: Thousands,
    /// The first number by either with a point, and with a comma.
    pub(super) unclear: [Option<(Place, String)>; 2],
    /// The first text that is no number with a point, and with a comma.
    pub(super) odd: [Option<(Place, String)>; 2],
    /// All words, and how often they stand; `None` where they are too many.
    pub(super) words: Option<BTreeMap<String, usize>>,
    /// Whether a word stands twice.
    pub(super) repeats: bool,
    /// The last number, while each is the one before it and one.
    counted: Option<f64>,
    broken: bool,
}

impl Tally {
    fn new() -> Self {
        Self {
            words: Some(BTreeMap::new()),
            ..Self::default()
        }
    }

    fn see(&mut self, cell: &Cell, place: Place, budget: &mut Budget) -> Result<()> {
        let cell = match *cell {
            Cell::Text(text) if is_missing(text) => Cell::Missing,
            Cell::Text(text) => flag(text).map_or(*cell, |word| Cell::Flag(word == "true")),
            other => other,
        };
        if cell == Cell::Missing {
            self.broken = true;
            return Ok(());
        }
        self.held += 1;
        let mut value = None;
        match cell {
            Cell::Missing => {}
            Cell::Numbers(_) | Cell::Other => self.others += 1,
            Cell::Flag(_) => self.flags += 1,
            Cell::Date(_) => self.dates += 1,
            Cell::Number(v) => {
                self.typed += 1;
                value = Some(v);
            }
            Cell::Text(text) => {
                self.texts += 1;
                self.orders.see(text);
                self.thousands.see(text);
                let point = number(text, Decimal::Point);
                let comma = number(text, Decimal::Comma);
                self.points += usize::from(point.is_some());
                self.commas += usize::from(comma.is_some());
                match (point, comma) {
                    (Some(_), None) => self.only_point += 1,
                    (None, Some(_)) => self.only_comma += 1,
                    (Some(_), Some(_)) => {
                        let comma = text.contains(',');
                        self.either += usize::from(comma);
                        if comma || text.contains('.') {
                            self.unclear[usize::from(comma)]
                                .get_or_insert_with(|| (place, text.chars().take(40).collect()));
                        }
                    }
                    (None, None) => {}
                }
                for (odd, read) in self.odd.iter_mut().zip([point, comma]) {
                    if read.is_none() && odd.is_none() {
                        *odd = Some((place, text.chars().take(40).collect()));
                    }
                }
                // With a mark in it, it is no number of a row.
                value = text.parse::<i64>().ok().map(|v| v as f64);
            }
        }
        let next = self.counted.is_none_or(|last| value == Some(last + 1.0));
        self.broken |= !next || value.is_none_or(|v| v.fract() != 0.0);
        self.counted = value;
        self.keep(&cell, budget)
    }

    fn keep(&mut self, cell: &Cell, budget: &mut Budget) -> Result<()> {
        let Some(words) = &mut self.words else {
            return Ok(());
        };
        let Some(word) = word(cell) else {
            self.words = None;
            return Ok(());
        };
        if let Some(count) = words.get_mut(word.as_ref()) {
            *count += 1;
            self.repeats = true;
        } else if words.len() == MOST_WORDS || word.len() > LONG {
            self.words = None;
        } else {
            budget.take(WORD + word.len() as u64)?;
            words.insert(word.into_owned(), 1);
        }
        Ok(())
    }

    /// Whether the column counts its rows: whole numbers, each the one before it and one.
    pub(super) fn counts(&self) -> bool {
        !self.broken && self.held > 2
    }

    /// Cells that are numbers, read so.
    pub(super) fn numbers(&self, decimal: Decimal) -> usize {
        self.typed
            + match decimal {
                Decimal::Point => self.points,
                Decimal::Comma => self.commas,
            }
    }
}

/// What a cell holds, as the name of a category; `None` for what cannot be one.
pub(super) fn word<'a>(cell: &Cell<'a>) -> Option<std::borrow::Cow<'a, str>> {
    match *cell {
        Cell::Text(text) => Some(flag(text).unwrap_or(text).into()),
        Cell::Flag(flag) => Some(if flag { "true" } else { "false" }.into()),
        Cell::Number(value) => Some(value.to_string().into()),
        Cell::Missing | Cell::Date(_) | Cell::Numbers(_) | Cell::Other => None,
    }
}

/// A cell as a text, of what is none only that it holds something.
fn shown<'a>(cell: &Cell<'a>) -> &'a str {
    match *cell {
        Cell::Missing => "",
        Cell::Text(text) => text,
        _ => "0",
    }
}

/// A cell as a whole number.
fn whole(cell: &Cell) -> Option<i64> {
    match *cell {
        Cell::Text(text) => text.parse().ok(),
        Cell::Number(value) if value.fract() == 0.0 && value.abs() < 9e15 => Some(value as i64),
        _ => None,
    }
}

/// Whether a row holds nothing at all, as below what was deleted in a spreadsheet.
pub(crate) fn is_blank(cells: &[Cell]) -> bool {
    let blank = |cell: &Cell| match cell {
        Cell::Missing => true,
        Cell::Text(text) => text.is_empty(),
        _ => false,
    };
    cells.iter().all(blank)
}

/// What a table holds.
pub(super) struct Survey {
    pub(super) rows: usize,
    /// Of every column, empty for those that cannot be features.
    pub(super) columns: Vec<Tally>,
    /// Whether columns may be ids, and the last lines no items.
    pub(super) suspects: Vec<Suspect>,
    pub(super) foot: Option<String>,
}

impl Survey {
    /// Goes through the table once. O(cells), and at most [`MOST_WORDS`] words a column. Whether the
    /// columns in `doubts` are features is known then.
    pub(super) fn of(
        rows: &mut dyn Rows,
        roles: &[Role],
        doubts: &mut Doubts,
        budget: &mut Budget,
        monitor: &Monitor,
    ) -> Result<Self> {
        budget.values(roles.len(), size_of::<Tally>() as u64)?;
        let mut columns: Vec<Tally> = roles.iter().map(|_| Tally::new()).collect();
        let mut suspects = suspects(rows.names(), roles);
        let (mut foot, mut what) = (Foot::default(), "line");
        let mut count = 0;
        let doubtful = doubts.places();
        let skips = rows.skips_blank();
        rows.each(monitor, &mut |place, cells| {
            if skips && is_blank(cells) {
                return Ok(());
            }
            count += 1;
            if count % 4096 == 0 {
                // Few bytes can name many columns and stand for many rows.
                let kept = doubts.bytes() + suspects.iter().map(Suspect::bytes).sum::<u64>();
                budget.check(count as u64 * cells.len() as u64 + kept)?;
            }
            what = place.what;
            foot.see(place.number, cells.iter().map(shown));
            let both = columns.iter_mut().zip(&mut suspects);
            for ((cell, role), (tally, suspect)) in cells.iter().zip(roles).zip(both) {
                if *role == Role::Feature {
                    tally.see(cell, place, budget)?;
                    suspect.see(whole(cell))?;
                }
            }
            for &at in &doubtful {
                columns[at].see(&cells[at], place, budget)?;
                doubts.see(at, word(&cells[at]).as_deref().unwrap_or(""))?;
            }
            Ok(())
        })?;
        Ok(Self {
            rows: count,
            columns,
            suspects,
            foot: foot.remark(what),
        })
    }
}
