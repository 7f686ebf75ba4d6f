//! Lists of numbers in one cell, as embeddings often stand in a table: each of their numbers is a
//! column.

use std::borrow::Cow;

use likewise::Monitor;

use super::cells::{Cell, Each, Rows};
use crate::budget::{Budget, WORD};
use crate::options::{ReadOptions, TableOptions};
use crate::role::Role;
use crate::{Error, Result};

/// Rows in which a list is looked for first: a table without one is gone through no further.
const FIRST: usize = 20;

/// A table whose lists of numbers are columns: `embedding` of three numbers is `embedding[0]` to
/// `embedding[2]`.
pub(super) struct Lists<'a> {
    rows: &'a mut dyn Rows,
    names: Vec<String>,
    /// Numbers in the lists of each column; none where it holds something else.
    widths: Vec<Option<usize>>,
}

impl<'a> Lists<'a> {
    /// The table with its lists as columns, and what was asked of it in these words.
    ///
    /// A column is one of lists where each of its cells is empty or a list of as many numbers, two at least:
    /// a list of the form itself, or a text as `[0.1, 0.2]` or `[0.1 0.2]`. A table that is read as a fitted
    /// one has the lists that that one had. One pass over some rows; over all of them where there is a list.
    pub(super) fn of(
        rows: &'a mut dyn Rows,
        options: &ReadOptions,
        budget: &mut Budget,
    ) -> Result<(Self, ReadOptions)> {
        let names = rows.names().to_vec();
        let may = candidates(&names, options);
        let mut widths = vec![None; names.len()];
        if may.contains(&true) && begins_with_lists(rows, &may)? {
            widths = found(rows, &may)?;
        }
        let mut expanded = Vec::new();
        for (name, width) in names.iter().zip(&widths) {
            match width {
                None => expanded.push(name.clone()),
                Some(width) => {
                    budget.values(*width, WORD + name.len() as u64 + 8)?;
                    expanded.extend((0..*width).map(|i| numbered(name, i)));
                }
            }
        }
        let mut asked = options.clone();
        for list in [&mut asked.table.columns, &mut asked.table.drop] {
            let each = std::mem::take(list).into_iter();
            *list = each
                .flat_map(|name| {
                    let place = names.iter().position(|known| *known == name);
                    match place.and_then(|place| widths[place]) {
                        Some(width) => (0..width).map(|i| numbered(&name, i)).collect(),
                        None => vec![name],
                    }
                })
                .collect();
        }
        let lists = Self {
            rows,
            names: expanded,
            widths,
        };
        Ok((lists, asked))
    }
}

fn numbered(name: &str, place: usize) -> String {
    format!("{name}[{place}]")
}

/// The columns that may be features.
fn candidates(names: &[String], options: &ReadOptions) -> Vec<bool> {
    if let Some(layout) = &options.layout {
        let had = |name: &String| {
            layout
                .columns
                .iter()
                .any(|column| column.name == numbered(name, 0))
        };
        return names.iter().map(had).collect();
    }
    let borrowed: Vec<&str> = names.iter().map(String::as_str).collect();
    // What is asked for by name may be a number of a list.
    let asked = TableOptions {
        columns: Vec::new(),
        drop: Vec::new(),
        ..options.table.clone()
    };
    // What is wrong is said where the columns are known.
    let Ok(roles) = Role::of_columns(&borrowed, &asked) else {
        return vec![false; names.len()];
    };
    let may = |role: &Role| matches!(role, Role::Feature | Role::Index);
    roles.iter().map(may).collect()
}

/// Whether one of the first rows has a list in one of these columns.
fn begins_with_lists(rows: &mut dyn Rows, may: &[bool]) -> Result<bool> {
    let (mut seen, mut any) = (0, false);
    let looked = rows.each(&Monitor::silent(), &mut |_, cells| {
        let lists = cells
            .iter()
            .zip(may)
            .filter(|(cell, may)| **may && list(cell).is_some());
        any |= lists.count() > 0;
        seen += 1;
        if any || seen == FIRST {
            // Nothing is wrong; it is the way to end early.
            return Err(Error::value("enough was seen"));
        }
        Ok(())
    });
    if !any && seen < FIRST {
        looked?;
    }
    Ok(any)
}

/// The length of the lists of each column that holds nothing else.
fn found(rows: &mut dyn Rows, may: &[bool]) -> Result<Vec<Option<usize>>> {
    let mut widths: Vec<Option<usize>> = vec![None; may.len()];
    let mut may = may.to_vec();
    rows.each(&Monitor::silent(), &mut |_, cells| {
        for ((cell, width), may) in cells.iter().zip(&mut widths).zip(&mut may) {
            if !*may || *cell == Cell::Missing {
                continue;
            }
            let own = list(cell).map(|list| list.len());
            *may = own.is_some_and(|own| own > 1 && width.is_none_or(|width| width == own));
            *width = own.filter(|_| *may);
        }
        Ok(())
    })?;
    Ok(widths)
}

/// The numbers of a list; none where it is no list, or not of numbers.
fn list<'a>(cell: &Cell<'a>) -> Option<Cow<'a, [f64]>> {
    match *cell {
        Cell::Numbers(list) => Some(list.into()),
        Cell::Text(text) => {
            let inner = text.trim().strip_prefix('[')?.strip_suffix(']')?;
            let between = |c: char| c == ',' || c.is_whitespace();
            let words = inner.split(between).filter(|word| !word.is_empty());
            let numbers: Option<Vec<f64>> = words.map(|word| word.parse().ok()).collect();
            numbers.map(Cow::from)
        }
        _ => None,
    }
}

impl Rows for Lists<'_> {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn said(&self) -> Vec<String> {
        self.rows.said()
    }

    fn separator(&self) -> Option<char> {
        self.rows.separator()
    }

    fn skips_blank(&self) -> bool {
        self.rows.skips_blank()
    }

    fn counted(&self) -> Option<&'static str> {
        self.rows.counted()
    }

    fn several_lines_of_names(&self) -> Option<(u64, u64)> {
        self.rows.several_lines_of_names()
    }

    fn elsewhere(&self) -> Option<String> {
        self.rows.elsewhere()
    }

    fn each(&mut self, monitor: &Monitor, each: Each) -> Result<()> {
        if self.widths.iter().all(Option::is_none) {
            return self.rows.each(monitor, each);
        }
        let widths = &self.widths;
        self.rows.each(monitor, &mut |place, cells| {
            let lists: Vec<_> = (cells.iter().zip(widths))
                .map(|(cell, width)| width.and_then(|_| list(cell)))
                .collect();
            let mut all = Vec::new();
            for ((cell, width), list) in cells.iter().zip(widths).zip(&lists) {
                match (width, list) {
                    (None, _) => all.push(*cell),
                    (Some(width), None) => all.extend(std::iter::repeat_n(Cell::Missing, *width)),
                    (Some(_), Some(list)) => all.extend(list.iter().map(|v| Cell::Number(*v))),
                }
            }
            each(place, &all)
        })
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use crate::{Form, ReadOptions, TableOptions, read_bytes};

    fn read(form: Form, text: &str, options: &ReadOptions) -> crate::Result<likewise::Collection> {
        read_bytes(form, text.as_bytes(), options)
    }

    #[test]
    fn a_list_of_numbers_is_as_many_columns() {
        let jsonl = "{\"id\": \"a\", \"e\": [1, 2.5, -3], \"label\": \"x\"}\n\
                     {\"id\": \"b\", \"e\": [4, 5, 6e0], \"label\": \"y\"}\n";
        let csv = "id,e,label\na,\"[1, 2.5, -3]\",x\nb,\"[4, 5, 6e0]\",y\n";
        let numpy = "id,e,label\na,[ 1.  2.5 -3. ],x\nb,\"[4. 5.\n 6. ]\",y\n";
        for (form, text) in [(Form::Jsonl, jsonl), (Form::Csv, csv), (Form::Csv, numpy)] {
            let all = read(form, text, &ReadOptions::default()).unwrap();
            assert_eq!(
                all.views()[0].matrix,
                array![[1.0, 2.5, -3.0], [4.0, 5.0, 6.0]],
                "{text}"
            );
            assert_eq!(all.ids(), ["a", "b"]);
        }
    }

    #[test]
    fn a_column_of_lists_is_asked_for_by_its_name() {
        let text = "{\"e\": [1, 2], \"w\": 7}\n{\"e\": [3, 5], \"w\": 9}\n";
        let by = |columns: &[&str], drop: &[&str]| {
            let names = |all: &[&str]| all.iter().map(|&name| name.into()).collect();
            let table = TableOptions {
                columns: names(columns),
                drop: names(drop),
                ..TableOptions::default()
            };
            let options = ReadOptions {
                table,
                ..ReadOptions::default()
            };
            read(Form::Jsonl, text, &options).unwrap().views()[0]
                .matrix
                .clone()
        };
        assert_eq!(by(&["e"], &[]), array![[1.0, 2.0], [3.0, 5.0]]);
        assert_eq!(by(&[], &["e"]), array![[7.0], [9.0]]);
        assert_eq!(by(&["e[1]"], &[]), array![[2.0], [5.0]]);
    }

    #[test]
    fn lists_of_different_lengths_or_of_words_are_left_out() {
        for list in [
            "[1]",
            "[1, 2, 3]",
            "[\"a\", \"b\"]",
            "\"[1, x]\"",
            "{\"a\": 1}",
        ] {
            let text = format!("{{\"e\": [1, 2], \"w\": 7}}\n{{\"e\": {list}, \"w\": 9}}\n");
            let all = read(Form::Jsonl, &text, &ReadOptions::default()).unwrap();
            assert_eq!(all.views()[0].matrix, array![[7.0], [9.0]], "{list}");
        }
    }

    #[test]
    fn a_list_that_is_missing_is_missing_in_all_its_columns() {
        let text =
            "{\"e\": [1, 2], \"id\": \"a\"}\n{\"id\": \"b\"}\n{\"e\": [3, 4], \"id\": \"c\"}\n";
        let all = read(Form::Jsonl, text, &ReadOptions::default()).unwrap();
        // The median, brought to one scale.
        assert!(all.views()[0].matrix.row(1).iter().all(|v| v.abs() < 1e-6));
        assert_eq!(all.len(), 3);
    }
}
