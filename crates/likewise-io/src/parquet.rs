//! Parquet tables: columns `id`, `label` and `split` mean what they say, columns of row
//! numbers are left out if their values look like it, all other columns of numbers make one view, `features`, and every
//! column of vectors is a view of its own.
//!
//! A null vector means that the item lacks the view. Columns that are neither numbers nor
//! vectors of numbers (text, dates, records) are left out with a warning; dates are days where
//! they are asked for by name. Beside one column of vectors, columns of numbers are left out unless the
//! view `features` is asked for; beside several, those that lack one: there is no median of a table for
//! them. Reads files
//! compressed with snappy, zstd, gzip, brotli or lz4, or not at all; text must be PLAIN or in a dictionary.

mod cells;
mod column;
mod page;
mod read;
mod vectors;
mod write;

use std::cell::Cell;

use parquet::basic::Compression;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{FileReader, RowGroupReader};

use crate::budget::{Budget, WORD};
use crate::doubts::Doubts;
use crate::input::{Input, Stream};
use crate::layout::{self, Layout, Taken};
use crate::number::{Progress, interleave, push, reserve};
use crate::options::{ReadOptions, TableOptions};
use crate::role::{Role, place_of, same, some, unnamed};
use crate::{Error, ErrorKind, Result};
use column::{Leaf, Slot, column, numbers, words};
use page::{check_headers, guarded};
pub(crate) use read::{read, read_labels, shape};
use vectors::Vectors;
pub(crate) use write::{Column, write};

/// Columns written into a matrix at once: one cache line of a row.
const BLOCK: usize = 16;

/// Beside embeddings, what a run believes of the items is no feature of theirs.
fn believed(leaves: &mut [Leaf]) {
    let is = |name| move |leaf: &Leaf| !leaf.list && leaf.name == name;
    if !leaves.iter().any(|leaf| leaf.list) || !leaves.iter().any(is("pseudo_label")) {
        return;
    }
    for leaf in leaves {
        if is("pseudo_label")(leaf) || is("confidence")(leaf) {
            leaf.role = Role::Dropped;
        }
    }
}

/// An open table.
pub(crate) struct Table {
    reader: Box<dyn FileReader>,
    leaves: Vec<Leaf>,
    /// Columns of dates, until they are asked for.
    dates: Vec<Leaf>,
    /// Names of the columns that cannot be read.
    others: Vec<String>,
    rows: usize,
    /// What decoding a piece of a column may take.
    budget: Budget,
    /// Whether the last number that was read is missing.
    lacks: Cell<bool>,
}

impl Table {
    /// Opens a table. No page of it may be larger than the budget.
    pub(crate) fn open(input: Input, budget: &Budget) -> Result<Self> {
        guarded(|| Self::from(input, budget))
    }

    fn from(input: Input, budget: &Budget) -> Result<Self> {
        let len = input.len;
        let mut pages = input.again()?.buffered(256);
        let reader = input.parquet()?;
        for group in reader.metadata().row_groups() {
            check_places(group.columns(), len, &mut *pages, budget)?;
        }
        let schema = reader.metadata().file_metadata().schema_descr();
        let (mut leaves, mut others) = (Vec::new(), Vec::new());
        for (index, column) in schema.columns().iter().enumerate() {
            let root = schema.get_column_root(index);
            match Leaf::of(column, index, root) {
                Some(leaf) => leaves.push(leaf),
                None => others.push(root.name().to_owned()),
            }
        }
        others.dedup();
        // A record of several fields has several leaves of one name: none of them is a column.
        leaves.retain(|leaf| {
            let root = schema.get_column_root_idx(leaf.index);
            let same = |&i: &usize| schema.get_column_root_idx(i) == root;
            let alone = (0..schema.num_columns()).filter(same).count() == 1;
            if !alone && !others.contains(&leaf.name) {
                others.push(leaf.name.clone());
            }
            alone
        });
        let (dates, mut leaves): (Vec<Leaf>, Vec<Leaf>) =
            leaves.into_iter().partition(Leaf::is_date);
        let single = || leaves.iter().filter(|leaf: &&Leaf| !leaf.list);
        let names: Vec<&str> = single().map(|leaf| leaf.name.as_str()).collect();
        let roles = Role::of_columns(&names, &TableOptions::default())?;
        for (leaf, role) in leaves.iter_mut().filter(|leaf| !leaf.list).zip(roles) {
            leaf.role = role;
        }
        believed(&mut leaves);
        let rows = (0..reader.num_row_groups()).try_fold(0_usize, |sum, i| {
            let rows = reader.metadata().row_group(i).num_rows();
            sum.checked_add(usize::try_from(rows).ok()?)
        });
        let rows = rows.ok_or_else(|| Error::format("the numbers of rows cannot be right"))?;
        Ok(Self {
            reader,
            leaves,
            dates,
            others,
            rows,
            budget: budget.again(),
            lacks: Cell::new(false),
        })
    }

    /// Gives the columns the meaning that is asked for, and forgets those that are not wanted.
    ///
    /// Fails where a column is asked for that is not there, or cannot be what it is to be.
    fn assign(&mut self, asked: &TableOptions) -> Result<()> {
        if asked.is_empty() {
            return Ok(());
        }
        let mut asked = self.spelled(asked)?;
        self.take_dates(&asked.columns);
        let unwanted = &asked.drop;
        self.dates.retain(|leaf| !unwanted.contains(&leaf.name));
        self.others.retain(|name| !unwanted.contains(name));
        let leaves = &self.leaves;
        (asked.drop).retain(|name| leaves.iter().any(|leaf| leaf.name == *name));
        if !asked.columns.is_empty() {
            // Who names columns knows of the others.
            self.dates.clear();
            self.others.clear();
        }
        let names: Vec<&str> = self.leaves.iter().map(|leaf| leaf.name.as_str()).collect();
        let roles = Role::of_columns(&names, &asked)?;
        for (leaf, role) in self.leaves.iter_mut().zip(roles) {
            leaf.role = role;
        }
        if asked.columns.is_empty() {
            believed(&mut self.leaves);
        }
        self.leaves.retain(|leaf| leaf.role != Role::Dropped);
        Ok(())
    }

    /// What is asked for, with the names as they stand in the file. It may be asked for any column,
    /// but only what can be read can mean something.
    fn spelled(&self, asked: &TableOptions) -> Result<TableOptions> {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        let all: Vec<&str> = (schema.root_schema().get_fields().iter())
            .map(|field| field.name())
            .collect();
        let mut asked = asked.clone();
        for name in &mut asked.drop {
            all[place_of(name, &all)?].clone_into(name);
        }
        for name in &mut asked.columns {
            all[place_of(name, &all)?].clone_into(name);
            if self.others.contains(name) {
                return Err(Error::parameter(format!(
                    "column \"{name}\" cannot be a feature: it holds neither numbers nor words, \
                     dates or vectors of numbers; leave it out"
                )));
            }
        }
        let meant = [&mut asked.id_column, &mut asked.label_column];
        for name in meant.into_iter().flatten() {
            all[place_of(name, &all)?].clone_into(name);
            if self.dates.iter().any(|leaf| leaf.name == *name) || self.others.contains(name) {
                return Err(Error::parameter(format!(
                    "column \"{name}\" cannot hold ids or labels: it holds neither numbers nor \
                     words; write it as text"
                )));
            }
        }
        Ok(asked)
    }

    /// Follows the fitted table: its columns of dates are taken, and where all of its columns are
    /// there, vectors beside them are none of the features.
    fn follow(&mut self, layout: &Layout) {
        let dated =
            |column: &&layout::Column| matches!(column.taken, Taken::Number { date: Some(_), .. });
        let dated = layout.columns.iter().filter(dated);
        self.take_dates(dated.map(|column| &column.name));
        let mut columns = layout.columns.iter();
        if !layout.beside_vectors && columns.all(|column| self.single(&column.name).is_some()) {
            self.leaves.retain(|leaf| !leaf.list);
        }
    }

    /// The column of single values that has this name of another file.
    fn single(&self, name: &str) -> Option<&Leaf> {
        let mut leaves = self.leaves.iter().filter(|leaf| !leaf.list);
        same(name, &self.names()).and_then(|place| leaves.nth(place))
    }

    /// Whether the columns of numbers of the fitted table are there, and are read as they are.
    fn has_all(&self, layout: &Layout) -> bool {
        let mut columns = layout.columns.iter();
        layout.is_plain() && columns.all(|column| self.single(&column.name).is_some())
    }

    fn leave_out_scalars(&mut self) {
        (self.leaves).retain(|leaf| leaf.list || leaf.role != Role::Feature);
    }

    /// Brings columns of numbers beside vectors into the order of the fitted table, and leaves out those that it had not.
    ///
    /// Fails where one is missing or no feature, and where they were more than numbers as they are.
    fn order(&mut self, layout: &Layout) -> Result<()> {
        if !layout.is_plain() {
            return Err(Error::value(
                "the fitted table brought columns beside vectors to one scale, or made them of words, which Parquet is not \
                 read for; give it as .jsonl",
            ));
        }
        let mut taken = Vec::with_capacity(layout.columns.len());
        for column in &layout.columns {
            let leaf = self.single(&column.name).ok_or_else(|| {
                Error::value(format!(
                    "no column \"{}\", which the fitted table had; the columns are: {}",
                    column.name,
                    some(&self.names())
                ))
            })?;
            if leaf.role != Role::Feature
                || leaf.is_text()
                || leaf.is_date()
                || taken.contains(&leaf.index)
            {
                return Err(Error::value(format!(
                    "\"{}\" is a column of numbers of the fitted table, and none here",
                    column.name
                )));
            }
            taken.push(leaf.index);
        }
        let place = |leaf: &Leaf| taken.iter().position(|&index| index == leaf.index);
        (self.leaves)
            .retain(|leaf| leaf.list || leaf.role != Role::Feature || place(leaf).is_some());
        (self.leaves).sort_by_key(|leaf| place(leaf).map_or((0, leaf.index), |place| (1, place)));
        Ok(())
    }

    /// Gives numbers of rows, and ids in a first column without a name, the role that their values say; of
    /// a table that is read as another one, what was a feature there is one. Reads these columns.
    fn settle(&mut self, options: &ReadOptions) -> Result<()> {
        let leaves = self.leaves.iter().filter(|leaf| !leaf.list);
        let (mut names, mut roles): (Vec<String>, Vec<Role>) =
            leaves.map(|leaf| (leaf.name.clone(), leaf.role)).unzip();
        if let Some(layout) = &options.layout {
            let is_feature = |name: &str| {
                let mut columns = layout.columns.iter();
                columns.any(|own| own.name.trim() == name.trim())
            };
            for (place, (name, role)) in names.iter_mut().zip(&mut roles).enumerate() {
                if name.trim().is_empty() && is_feature(&unnamed(place)) {
                    *name = unnamed(place);
                }
                if !matches!(role, Role::Dropped | Role::Split) && is_feature(name) {
                    *role = Role::Feature;
                }
            }
        }
        let mut doubts = Doubts::of(&names, &roles, options);
        for place in doubts.places() {
            match self.words(&names[place], &mut self.budget.again()) {
                Ok(words) => {
                    for word in words {
                        doubts.see(place, &word.unwrap_or_default())?;
                    }
                }
                // Fractions are no words.
                Err(e) if e.kind() == ErrorKind::Value => doubts.see(place, "0.5")?,
                Err(e) => return Err(e),
            }
        }
        doubts.settle(&mut names, &mut roles, &options.table);
        let leaves = self.leaves.iter_mut().filter(|leaf| !leaf.list);
        for (leaf, (name, role)) in leaves.zip(names.into_iter().zip(roles)) {
            (leaf.name, leaf.role) = (name, role);
        }
        Ok(())
    }

    /// Leaves out all columns of single numbers beside vectors to compare items by: where one lacks
    /// a number, and where there is one column of vectors, which is what is compared then (a price
    /// beside an embedding is no second view to choose from). The names of the columns, and why.
    fn leave_out_beside_vectors(&mut self) -> Result<Vec<(String, String)>> {
        let scalars = self.scalars();
        let why = match self.vectors()[..] {
            [] => return Ok(Vec::new()),
            [vector] => format!(
                "numbers beside the vectors of \"{}\"; `view features` takes them",
                vector.name
            ),
            _ => match self.lacking(&scalars)?[..] {
                [] => return Ok(Vec::new()),
                ref lacking => format!("numbers, some missing in {}", some(lacking)),
            },
        };
        let places: Vec<usize> = scalars.iter().map(|leaf| leaf.index).collect();
        let names = scalars.iter().map(|leaf| (leaf.name.clone(), why.clone()));
        let left = names.collect();
        self.leaves.retain(|leaf| !places.contains(&leaf.index));
        Ok(left)
    }

    /// Takes the columns of dates with these names for features.
    fn take_dates<'a>(&mut self, names: impl IntoIterator<Item = &'a String>) {
        for name in names {
            if let Some(place) = self.dates.iter().position(|leaf| leaf.name == *name) {
                self.leaves.push(self.dates.remove(place));
            }
        }
        self.leaves.sort_by_key(|leaf| leaf.index);
    }

    fn groups(&self) -> impl Iterator<Item = Result<Box<dyn RowGroupReader + '_>>> {
        (0..self.reader.num_row_groups()).map(|i| Ok(self.reader.get_row_group(i)?))
    }

    /// Rows of the row group that has the most.
    fn largest_group(&self) -> usize {
        let groups = self.reader.metadata().row_groups().iter();
        let rows = groups.map(|group| usize::try_from(group.num_rows()).unwrap_or(0));
        rows.max().unwrap_or(0)
    }

    fn leaf(&self, role: Role) -> Option<&Leaf> {
        self.leaves
            .iter()
            .find(|leaf| !leaf.list && leaf.role == role)
    }

    /// The columns of single numbers that make up the view `features`.
    fn scalars(&self) -> Vec<&Leaf> {
        let number = |l: &&Leaf| !l.list && !l.is_text() && !l.is_date() && l.role == Role::Feature;
        self.leaves.iter().filter(number).collect()
    }

    /// Fails where labels, ids or the split are vectors: one word an item is needed.
    fn check_lists(&self, options: &ReadOptions) -> Result<()> {
        let named = |leaf: &&Leaf| match Role::of(&leaf.name) {
            Role::Label => options.labels.is_none(),
            Role::Id | Role::Split => true,
            _ => false,
        };
        match self.leaves.iter().filter(|l| l.list).find(named) {
            None => Ok(()),
            Some(leaf) => Err(Error::value(format!(
                "column \"{}\" holds vectors, though by its name it holds one number or word an \
                 item; rename it if it is a view",
                leaf.name
            ))),
        }
    }

    fn vectors(&self) -> Vec<&Leaf> {
        let view = |l: &&Leaf| l.list && Role::of(&l.name) != Role::Label;
        self.leaves.iter().filter(view).collect()
    }

    fn view_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        if !self.scalars().is_empty() {
            names.push("features");
        }
        names.extend(self.vectors().iter().map(|l| l.name.as_str()));
        names
    }

    /// Names of the columns that can be read as words.
    pub(crate) fn names(&self) -> Vec<&str> {
        let single = self.leaves.iter().filter(|l| !l.list);
        single.map(|l| l.name.as_str()).collect()
    }

    /// Whether there is a column of this name that can be read as words.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.leaves.iter().any(|l| l.name == name && !l.list)
    }

    /// A column as words; `None` where it is null.
    pub(crate) fn words(&self, name: &str, budget: &mut Budget) -> Result<Vec<Option<String>>> {
        let leaf = self.leaves.iter().find(|l| l.name == name && !l.list);
        let leaf = leaf.ok_or_else(|| Error::format(format!("no column \"{name}\"")))?;
        budget.values(self.rows, WORD)?;
        let mut out = Vec::new();
        for group in self.groups() {
            let group = group?;
            let column = column(&*group, leaf, &self.budget)?;
            words(column, leaf, most(&*group), |_, slot| {
                let word = match slot {
                    Slot::Value(word) => Some(word),
                    _ => None,
                };
                budget.take(word.as_ref().map_or(0, String::len) as u64)?;
                push(&mut out, word)
            })
            .map_err(|e| e.within(format!("row {}, column \"{name}\"", out.len())))?;
        }
        self.check_rows(name, out.len())?;
        Ok(out)
    }

    /// A column of numbers; `None` where it is null.
    pub(crate) fn numbers(&self, name: &str, budget: &mut Budget) -> Result<Vec<Option<f32>>> {
        let leaf = self
            .leaves
            .iter()
            .find(|l| l.name == name && !l.list && !l.is_text());
        let leaf = leaf.ok_or_else(|| Error::format(format!("no column \"{name}\" of numbers")))?;
        budget.values(self.rows, 8)?;
        let mut out = Vec::new();
        for group in self.groups() {
            let group = group?;
            let column = column(&*group, leaf, &self.budget)?;
            numbers(column, leaf, most(&*group), |_, slot| {
                let value = match slot {
                    Slot::Value(value) => Some(value),
                    _ => None,
                };
                push(&mut out, value)
            })?;
        }
        self.check_rows(name, out.len())?;
        Ok(out)
    }

    fn check_rows(&self, name: &str, found: usize) -> Result<()> {
        if found == self.rows {
            return Ok(());
        }
        Err(Error::format(format!(
            "column \"{name}\" holds {found} values, but the file says {} rows; it is damaged",
            self.rows
        )))
    }

    /// The words of a column by its role, empty where they are null.
    pub(crate) fn role_words(
        &self,
        role: Role,
        budget: &mut Budget,
    ) -> Result<Option<Vec<String>>> {
        let Some(leaf) = self.leaf(role) else {
            return Ok(None);
        };
        let words = self.words(&leaf.name, budget)?;
        let words = words.into_iter().map(Option::unwrap_or_default);
        Ok(Some(words.collect()))
    }

    /// Reads all columns of single numbers into one matrix.
    fn read_scalars(&self, leaves: &[&Leaf], progress: &mut Progress) -> Result<Vec<f32>> {
        let columns = leaves.len();
        let mut out: Vec<f32> = Vec::new();
        let mut block: Vec<f32> = Vec::new();
        self.lacks.set(false);
        for group in self.groups() {
            let group = group?;
            let rows = group.metadata().num_rows() as usize;
            let before = out.len();
            for (first, leaves) in leaves.chunks(BLOCK).enumerate() {
                block.clear();
                for (j, leaf) in leaves.iter().enumerate() {
                    let column = column(&*group, leaf, &self.budget)?;
                    let begin = j * rows;
                    numbers(column, leaf, most(&*group), |_, slot| {
                        let row = before / columns + block.len() - begin;
                        self.lacks
                            .set(!matches!(slot, Slot::Value(v) if !v.is_nan()));
                        push(&mut block, finite(slot, row, &leaf.name)?)
                    })?;
                    if block.len() != begin + rows {
                        return Err(Error::format(format!(
                            "column \"{}\" holds {} values where the file says {rows}; \
                             it is damaged",
                            leaf.name,
                            block.len() - begin
                        )));
                    }
                    progress.add(packed(&*group, leaf))?;
                }
                // Only now is it proven that there are so many rows.
                if first == 0 {
                    reserve(&mut out, rows * columns)?;
                    out.resize(before + rows * columns, 0.0);
                }
                interleave(&block, rows, first * BLOCK, columns, &mut out[before..]);
            }
        }
        Ok(out)
    }

    /// The columns of numbers in which one is missing. Reads those that may lack one.
    fn lacking<'a>(&self, leaves: &[&'a Leaf]) -> Result<Vec<&'a str>> {
        let mut lacking = Vec::new();
        for leaf in leaves {
            let mut lacks = false;
            for group in self.groups() {
                let group = group?;
                let column = column(&*group, leaf, &self.budget)?;
                numbers(column, leaf, most(&*group), |_, slot| {
                    lacks |= !matches!(slot, Slot::Value(v) if !v.is_nan());
                    Ok(())
                })?;
                if lacks {
                    lacking.push(leaf.name.as_str());
                    break;
                }
            }
        }
        Ok(lacking)
    }

    /// Reads a column of vectors; its dimension is that of the first one.
    fn read_vectors(
        &self,
        leaf: &Leaf,
        budget: &mut Budget,
        progress: &mut Progress,
    ) -> Result<Vectors> {
        let within = |e: Error| e.within(format!("column \"{}\"", leaf.name));
        let mut vectors = Vectors::default();
        for group in self.groups() {
            let group = group?;
            let column = column(&*group, leaf, &self.budget)?;
            numbers(column, leaf, most(&*group), |starts, slot| {
                if starts {
                    vectors.close(self.rows, budget)?;
                }
                vectors.push(starts, slot)?;
                if vectors.dimension.is_none() && vectors.length.is_power_of_two() {
                    budget.check(4 * vectors.length as u64)?;
                }
                Ok(())
            })
            .map_err(within)?;
            progress.add(packed(&*group, leaf))?;
        }
        vectors.close(self.rows, budget).map_err(within)?;
        self.check_rows(&leaf.name, vectors.present.len())?;
        Ok(vectors)
    }

    /// The dimension of a column of vectors, from its first vector.
    fn dimension(&self, leaf: &Leaf) -> Result<usize> {
        // The first item has it almost always; only otherwise are all read.
        for first in [true, false] {
            for group in self.groups() {
                let group = group?;
                let column = column(&*group, leaf, &self.budget)?;
                let records = if first { 1 } else { most(&*group) };
                let (mut count, mut ended) = (0, false);
                numbers(column, leaf, records, |starts, slot| {
                    ended |= starts && count > 0;
                    count += usize::from(!ended && matches!(slot, Slot::Value(_)));
                    Ok(())
                })?;
                if count > 0 {
                    return Ok(count);
                }
            }
        }
        Err(no_vectors(&leaf.name))
    }
}

/// Records to read of a row group: one more than it says it has, to see that it lies.
fn most(group: &dyn RowGroupReader) -> usize {
    usize::try_from(group.metadata().num_rows()).map_or(0, |rows| rows.saturating_add(1))
}

/// Fails where a column does not lie within the file, or its pages claim too much: the
/// library below would panic, or take the memory.
fn check_places(
    columns: &[ColumnChunkMetaData],
    len: u64,
    pages: &mut dyn Stream,
    budget: &Budget,
) -> Result<()> {
    for column in columns {
        let first = column
            .dictionary_page_offset()
            .unwrap_or_else(|| column.data_page_offset());
        let first = u64::try_from(first).ok();
        let size = u64::try_from(column.compressed_size()).ok();
        let place = first
            .zip(size)
            .and_then(|(a, n)| Some((a, a.checked_add(n)?)));
        let place = place.filter(|&(_, end)| end <= len && column.data_page_offset() >= 0);
        let (first, end) = place.ok_or_else(|| {
            Error::format(format!(
                "column {} does not lie within the file; it is damaged, fetch or write it again",
                column.column_path()
            ))
        })?;
        // No snappy stream expands 64 times and no lz4 one 256 times, whose decoders take what a
        // page says beforehand; the others take memory as data come.
        let expansion = match column.compression() {
            Compression::SNAPPY => 64,
            Compression::LZ4 | Compression::LZ4_RAW => 256,
            _ => u64::MAX,
        };
        check_headers(pages, first, end, expansion, budget)
            .map_err(|e| e.within(format!("column {}", column.column_path())))?;
    }
    Ok(())
}

fn no_vectors(name: &str) -> Error {
    Error::value(format!(
        "column \"{name}\" holds no vector at all; remove it, or choose another view"
    ))
}

/// Bytes that a column takes in the file.
fn packed(group: &dyn RowGroupReader, leaf: &Leaf) -> usize {
    usize::try_from(group.metadata().column(leaf.index).compressed_size()).unwrap_or(0)
}

fn finite(slot: Slot<f32>, row: usize, name: &str) -> Result<f32> {
    let what = match slot {
        Slot::Value(value) if value.is_finite() => return Ok(value),
        Slot::Value(value) => value.to_string(),
        _ => "null".to_owned(),
    };
    Err(Error::value(format!(
        "row {row}, column \"{name}\" is {what}; remove or fill such values"
    )))
}
