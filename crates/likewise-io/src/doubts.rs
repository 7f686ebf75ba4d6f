//! Columns that are no features by their names alone: numbers of rows, and ids in a first column
//! without a name. Their values must look like it; else they are columns as any other.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use crate::Result;
use crate::number::push;
use crate::options::{ReadOptions, TableOptions};
use crate::role::{Role, unnamed};

/// Rows, on average, between two places where numbers of rows begin again: where tables were
/// joined, each with its own.
const RUN: usize = 20;

/// The columns in doubt, by their place, and what was seen of them.
pub(crate) struct Doubts(Vec<(usize, Values)>);

impl Doubts {
    /// Columns of these names and roles that their values must prove. None where another table
    /// says what is a feature; ids that were asked for are believed.
    pub(crate) fn of(names: &[String], roles: &[Role], options: &ReadOptions) -> Self {
        let found = options.table.id_column.is_none();
        let doubtful = |(place, role): (usize, &Role)| {
            let ids = *role == Role::Id && names[place].trim().is_empty() && found;
            (ids || *role == Role::Index).then(|| (place, Values::new(ids)))
        };
        let all = roles.iter().enumerate();
        let none = options.layout.is_some();
        Self(all.filter_map(doubtful).filter(|_| !none).collect())
    }

    /// Places of the columns.
    pub(crate) fn places(&self) -> Vec<usize> {
        self.0.iter().map(|(place, _)| *place).collect()
    }

    /// Takes the next cell of a column into account, as a word; of others nothing is kept.
    pub(crate) fn see(&mut self, place: usize, word: &str) -> Result<()> {
        match self.0.iter_mut().find(|(own, _)| *own == place) {
            Some((_, values)) => values.see(word),
            None => Ok(()),
        }
    }

    /// Bytes of memory that they take.
    pub(crate) fn bytes(&self) -> u64 {
        let values = self.0.iter();
        let held = values.map(|(_, v)| v.numbers.len() + v.hashes.as_ref().map_or(0, Vec::len));
        8 * held.sum::<usize>() as u64
    }

    /// Gives the columns the roles that their values say. What is no number of a row and no id is a
    /// feature, unless others are `asked` for by name; without a name it gets one.
    pub(crate) fn settle(self, names: &mut [String], roles: &mut [Role], asked: &TableOptions) {
        for (place, values) in self.0 {
            roles[place] = values.role(asked);
            if roles[place] == Role::Feature && names[place].trim().is_empty() {
                names[place] = unnamed(place);
            }
        }
    }
}

/// What was seen of a column.
#[derive(Debug)]
struct Values {
    /// The numbers, as long as all values are whole numbers of 0 or more.
    numbers: Vec<u64>,
    whole: bool,
    /// Whether there is something that is no number.
    words: bool,
    /// Hashes of all values, where they may be ids.
    hashes: Option<Vec<u64>>,
}

impl Values {
    fn new(may_be_ids: bool) -> Self {
        Self {
            numbers: Vec::new(),
            whole: true,
            words: false,
            hashes: may_be_ids.then(Vec::new),
        }
    }

    fn see(&mut self, word: &str) -> Result<()> {
        let word = word.trim();
        match whole(word) {
            Some(number) if self.whole => push(&mut self.numbers, number)?,
            Some(_) => {}
            None => {
                self.whole = false;
                self.numbers = Vec::new();
                self.words |= !word.parse::<f64>().is_ok_and(f64::is_finite);
            }
        }
        if let Some(hashes) = &mut self.hashes {
            let mut hasher = DefaultHasher::new();
            word.hash(&mut hasher);
            push(hashes, hasher.finish())?;
        }
        Ok(())
    }

    fn role(self, asked: &TableOptions) -> Role {
        let Self {
            numbers,
            whole,
            words,
            hashes,
        } = self;
        // Fractions and numbers below 0 name nothing.
        if hashes.is_some_and(|hashes| (whole || words) && distinct(hashes)) {
            return Role::Id;
        }
        if whole && count_rows(numbers) {
            return Role::Index;
        }
        if asked.columns.is_empty() {
            Role::Feature
        } else {
            Role::Dropped
        }
    }
}

/// A word as a whole number of 0 or more, also as `7.0`.
fn whole(word: &str) -> Option<u64> {
    let float = || {
        let value: f64 = word.parse().ok()?;
        let fits = value.fract() == 0.0 && (0.0..=1e15).contains(&value);
        fits.then_some(value as u64)
    };
    word.parse().ok().or_else(float)
}

/// Whether these can be numbers of rows: each stands once, in any order and with gaps, as in a part of
/// a table; or they rise and begin again now and then, as where tables were joined.
fn count_rows(numbers: Vec<u64>) -> bool {
    let again = numbers.windows(2).filter(|pair| pair[1] <= pair[0]).count();
    again == 0 || (again + 1) * RUN <= numbers.len() || distinct(numbers)
}

fn distinct(mut values: Vec<u64>) -> bool {
    values.sort_unstable();
    values.windows(2).all(|pair| pair[0] != pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a column is found to be, by its values.
    fn role(may_be_ids: bool, values: &[&str]) -> Role {
        let mut seen = Values::new(may_be_ids);
        for value in values {
            seen.see(value).unwrap();
        }
        seen.role(&TableOptions::default())
    }

    #[test]
    fn numbers_of_rows_stand_once_or_begin_again_seldom() {
        let index = |values: &[&str]| role(false, values) == Role::Index;
        assert!(index(&["0", "1", "2"]) && index(&["17", "3.0", "120"]) && index(&[]));
        // Too large for a double to tell apart.
        assert!(index(&["9007199254740993", "9007199254740992"]));
        for other in [
            &["100", "110", "100"][..],
            &["0", "-1"],
            &["0", "0.5"],
            &["0", ""],
            &["0", "b"],
            &["nan", "1"],
        ] {
            assert!(!index(other), "{other:?}");
        }
        // Two tables, one below the other; and hours, or months.
        let joined = |length: usize, times: usize| {
            let all: Vec<String> = (0..length * times)
                .map(|i| (i % length).to_string())
                .collect();
            index(&all.iter().map(String::as_str).collect::<Vec<_>>())
        };
        assert!(joined(20, 2) && joined(50, 7));
        assert!(!joined(19, 2) && !joined(12, 30));
    }

    #[test]
    fn a_column_without_a_name_is_ids_numbers_of_rows_or_a_feature() {
        assert_eq!(role(true, &["a", "b"]), Role::Id);
        assert_eq!(role(true, &["7", "3"]), Role::Id);
        assert_eq!(role(true, &["a", "2.5"]), Role::Id);
        assert_eq!(role(true, &["a", "a"]), Role::Feature);
        assert_eq!(role(true, &["7", "7"]), Role::Feature);
        assert_eq!(role(true, &["0.5", "1.5"]), Role::Feature);
        let joined: Vec<String> = (0..40).map(|i| (i % 20).to_string()).collect();
        let joined: Vec<&str> = joined.iter().map(String::as_str).collect();
        assert_eq!(role(true, &joined), Role::Index);
    }

    #[test]
    fn beside_columns_that_are_asked_for_nothing_else_is_a_feature() {
        let mut seen = Values::new(false);
        seen.see("0.5").unwrap();
        let asked = TableOptions {
            columns: vec!["a".into()],
            ..TableOptions::default()
        };
        assert_eq!(seen.role(&asked), Role::Dropped);
    }
}
