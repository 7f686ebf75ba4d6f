//! Ids, labels and the split of a table: the columns that are words, whatever they hold.

use std::collections::HashMap;

use likewise::Monitor;

use crate::assemble::{Parts, labels_as, unnamed_ids};
use crate::budget::WORD;
use crate::number::push;
use crate::options::ReadOptions;
use crate::role::Role;
use crate::{Error, Result};

/// Words of the columns with a meaning of their own, and what they are for.
#[derive(Default)]
pub(crate) struct Words {
    pub(crate) ids: Vec<String>,
    pub(crate) labels: Vec<String>,
    pub(crate) split: Vec<String>,
    /// Where each id stands, and what is counted there: lines. None where ids may stand twice, or
    /// nobody counts so.
    places: Vec<u64>,
    counted: Option<&'static str>,
    /// Line of the first id or label that goes over several lines, and how many do.
    broken: Option<(u64, usize)>,
    /// Bytes of memory that they take.
    pub(crate) bytes: u64,
}

impl Words {
    /// None yet, of a table whose places count `counted`.
    pub(crate) fn of(counted: Option<&'static str>) -> Self {
        Self {
            counted,
            ..Self::default()
        }
    }

    /// Keeps a word, if its column is one of these.
    pub(crate) fn take(&mut self, role: Role, word: &str, line: u64) -> Result<()> {
        let words = match role {
            Role::Id => &mut self.ids,
            Role::Label => &mut self.labels,
            Role::Split => &mut self.split,
            _ => return Ok(()),
        };
        if word.contains(['\n', '\r']) && role != Role::Split {
            self.broken.get_or_insert((line, 0)).1 += 1;
        }
        self.bytes += WORD + word.len() as u64;
        push(words, word.to_owned())?;
        if role == Role::Id && self.counted.is_some() {
            self.bytes += size_of::<u64>() as u64;
            push(&mut self.places, line)?;
        }
        Ok(())
    }

    /// Fails where an id stands twice, with the places in the file.
    fn check_ids(&self) -> Result<()> {
        let Some(counted) = self.counted else {
            return Ok(());
        };
        let mut seen = HashMap::with_capacity(self.ids.len());
        for (id, place) in self.ids.iter().zip(&self.places) {
            // An empty one is said where items are put together.
            if let Some(first) = seen.insert(id, place).filter(|_| !id.is_empty()) {
                return Err(Error::value(format!(
                    "id \"{id}\" stands in {counted} {first} and {place}; ids must be unique"
                )));
            }
        }
        Ok(())
    }

    /// Warns of ids and labels that go over several lines, as a stray quote makes them.
    pub(crate) fn remark(&self, monitor: &Monitor) {
        if let Some((line, count)) = self.broken {
            monitor.warn(format!(
                "line {line}: an id or a label goes over more than one line ({count} in all); \
                 if a quote (\") is missing or too many there, lines were lost"
            ));
        }
    }

    /// Puts them where they belong.
    pub(crate) fn give(
        self,
        names: &[String],
        roles: &[Role],
        parts: &mut Parts,
        options: &ReadOptions,
        monitor: &Monitor,
    ) -> Result<()> {
        if let Some(column) = roles.iter().position(|&r| r == Role::Id) {
            parts.ids = if names[column].is_empty() {
                unnamed_ids(self.ids, monitor)
            } else {
                self.check_ids()?;
                Some(self.ids)
            };
        }
        if roles.contains(&Role::Label) && options.labels.is_none() {
            parts.labels = Some(labels_as(&self.labels, &options.table, monitor)?);
        }
        if roles.contains(&Role::Split) {
            parts.set_split(&self.split)?;
        }
        Ok(())
    }
}

/// A table of labels.
pub(crate) struct LabelTable {
    /// Ids, if there is such a column.
    pub(crate) ids: Option<Vec<String>>,
    pub(crate) labels: Vec<String>,
    /// Where each label stands in the file.
    pub(crate) lines: Vec<u64>,
    /// How sure it is that these are the ids of the items.
    pub(crate) named: Named,
}

/// How the column of ids was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Named {
    /// It says so itself.
    Ids,
    /// It holds names of files, which may be of something else.
    Files,
    /// It is a column of this name that may hold anything.
    Guess(String),
}

/// Fails where no column holds labels. Where none says that it holds ids, it is the column that the
/// ids of the data are in, if there is one of this name (`own_id`), else names of files, else whatever
/// column stands first.
pub(crate) fn roles_of_labels(
    names: &[&str],
    roles: &mut [Role],
    own_id: Option<&str>,
) -> Result<Named> {
    if !roles.contains(&Role::Label) {
        return Err(Error::format(format!(
            "no column named label, labels, y, target, class or category; the columns are: {}; \
             name one of them with `label_column`",
            names.join(", ")
        )));
    }
    if roles.contains(&Role::Id) {
        return Ok(Named::Ids);
    }
    let is_free = |column: &usize| matches!(roles[*column], Role::Feature | Role::Index);
    let file = |name: &&str| ["file_name", "filename", "path"].contains(name);
    let own = names.iter().position(|name| Some(*name) == own_id);
    let files = names.iter().position(file);
    let first = (0..names.len()).find(is_free);
    let found = [(own, Named::Ids), (files, Named::Files)];
    let found = found
        .into_iter()
        .find_map(|(column, named)| Some((column.filter(is_free)?, named)));
    let found = found.or(first.map(|column| (column, Named::Guess(names[column].to_owned()))));
    if let Some((column, named)) = found {
        roles[column] = Role::Id;
        return Ok(named);
    }
    Ok(Named::Ids)
}
