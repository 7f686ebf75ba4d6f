//! Lists of numbers that are views of their own: which keys hold them, what is read beside them, and
//! their matrices.

use likewise::Monitor;

use super::objects::{LEAST, Objects};
use crate::assemble::{Parts, Shape};
use crate::budget::Budget;
use crate::layout::{Layout, Missing};
use crate::number::{push, reserve};
use crate::options::{ReadOptions, TableOptions};
use crate::role::Role;
use crate::table::cells::{Cell, Place, Rows};
use crate::table::{self, Beside};
use crate::{Error, Result};

/// The view that all other columns are.
const FEATURES: &str = "features";

/// What is read of the columns that are no views of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Features {
    /// They are the view `features`.
    Wanted,
    /// They are, if there are some.
    Perhaps,
    /// Ids, labels and the split alone.
    Left,
}

/// The keys that are views, and what is read beside them.
pub(super) struct Vectors {
    /// Names of all keys that are views.
    names: Vec<String>,
    /// Those that are read: their place among the keys and their length.
    wanted: Vec<(usize, usize)>,
    features: Features,
    /// Columns that are left out beside the only view.
    left: Vec<String>,
    /// What the table of the other columns is asked for.
    asked: ReadOptions,
}

impl Vectors {
    /// The views among the keys; `None` where there are none.
    ///
    /// Fails where lists of a view that is wanted are not all as long, on an unknown view, and on
    /// settings that do not go with views.
    pub(super) fn of(objects: &Objects, options: &ReadOptions) -> Result<Option<Self>> {
        let (names, seen) = (&objects.names, &objects.seen);
        if seen.iter().all(|seen| seen.longest < LEAST) {
            return Ok(None);
        }
        let asked = without_numbers(names, options);
        let open = features_of(names, &asked, options)?;
        let mut all = Vec::new();
        for (at, (name, seen)) in names.iter().zip(seen).enumerate() {
            if !open[at] || is_by_number(name, names, options) {
                continue;
            }
            if options.wants(name) {
                seen.check(name, options.view.is_some())?;
            }
            all.extend(seen.width().map(|width| (at, width)));
        }
        if all.is_empty() {
            return Ok(None);
        }
        let is_view = |place: usize| all.iter().any(|(at, _)| *at == place);
        let others = (0..names.len()).filter(|&at| open[at] && !is_view(at));
        let others: Vec<String> = others.map(|at| names[at].clone()).collect();
        let mut found = Self {
            names: all.iter().map(|(at, _)| names[*at].clone()).collect(),
            wanted: Vec::new(),
            features: Features::Left,
            left: Vec::new(),
            asked: options.clone(),
        };
        found.decide(names, others, options)?;
        let wanted = all.into_iter().filter(|(at, _)| options.wants(&names[*at]));
        found.wanted = wanted.collect();
        found.check_settings(options)?;
        if found.features == Features::Left {
            found.asked.table = TableOptions {
                columns: Vec::new(),
                ..asked
            };
        }
        Ok(Some(found))
    }

    /// Decides what becomes of the other columns. Fails where a view is asked for that is not there.
    fn decide(
        &mut self,
        names: &[String],
        others: Vec<String>,
        options: &ReadOptions,
    ) -> Result<()> {
        let by_number = options.table.columns.iter();
        let by_number = by_number.filter_map(|name| list_of(name, names)).count();
        let any = by_number > 0 || !others.is_empty();
        // A key of that name is the view.
        let free = self.names.iter().all(|name| name != FEATURES);
        let mut given: Vec<&str> = Vec::new();
        given.extend((any && free).then_some(FEATURES));
        given.extend(self.names.iter().map(String::as_str));
        options.choose(&given)?;
        let by_name = !options.table.columns.is_empty() || options.table.text;
        let alone = options.view.is_none() && options.layout.is_none();
        if !any || !free {
            self.left = others;
            self.left.retain(|_| alone);
            return Ok(());
        }
        self.features = match (&options.view, &options.layout) {
            (Some(_), _) if options.wants(FEATURES) => Features::Wanted,
            (None, Some(layout)) if has_all(layout, names) => Features::Wanted,
            (Some(_), _) | (None, Some(_)) => Features::Left,
            (None, None) if by_name || self.names.len() > 1 => Features::Perhaps,
            // A price beside an embedding is no second view to choose from.
            (None, None) => {
                self.left = others;
                Features::Left
            }
        };
        Ok(())
    }

    /// Fails on settings without effect, and where lines would be left out of the table alone.
    fn check_settings(&mut self, options: &ReadOptions) -> Result<()> {
        let layout = options.layout.as_ref();
        if self.features == Features::Left {
            let what = "a file of which lists of numbers alone are read";
            return match layout {
                None => options.table.refuse(&["missing", "text"], what),
                Some(_) => Ok(()),
            };
        }
        let missing = options
            .table
            .missing
            .or(layout.map(|layout| layout.missing));
        if missing != Some(Missing::Drop) || self.wanted.is_empty() {
            return Ok(());
        }
        if layout.is_some() && options.view.is_none() {
            // The run knows these columns alone.
            self.wanted.clear();
            return Ok(());
        }
        Err(Error::parameter(format!(
            "`missing drop` leaves lines out, which views beside the columns would still hold (\"{}\"); take \
             the median, or one view alone",
            self.names.join("\", \"")
        )))
    }

    fn beside(&self) -> Beside {
        Beside {
            views: self.names.clone(),
            may_lack: self.features == Features::Perhaps,
        }
    }

    /// Takes the lists that are views out of the cells.
    fn set_apart(&self, objects: &mut Objects) {
        let apart = objects.names.iter().map(|name| self.names.contains(name));
        objects.apart = apart.collect();
    }

    /// What [`read`](Self::read) would read. No pass over the lines where the other columns are not read.
    pub(super) fn shape(&self, objects: &mut Objects) -> Result<Shape> {
        let mut shape = Shape {
            items: objects.items,
            views: Vec::new(),
            bytes_on_disk: 0,
        };
        if self.features != Features::Left {
            self.set_apart(objects);
            let table = table::shape_beside(objects, &self.asked, &self.beside())?;
            let needed = self.features == Features::Wanted;
            let some = |view: &(String, usize)| needed || view.1 > 0;
            shape.views.extend(table.views.into_iter().filter(some));
        }
        let own = |&(at, width): &(usize, usize)| (objects.names[at].clone(), width);
        shape.views.extend(self.wanted.iter().map(own));
        Ok(shape)
    }

    /// Reads the views: one pass over the lines beside what the other columns take.
    pub(super) fn read(&self, objects: &mut Objects, monitor: &Monitor) -> Result<Parts> {
        let mut budget = Budget::new(self.asked.max_memory);
        budget.items(objects.items)?;
        for &(_, width) in &self.wanted {
            budget.matrix(objects.items, width)?;
        }
        self.set_apart(objects);
        let mut parts = match self.features {
            Features::Left => table::words(objects, &self.asked, monitor)?,
            _ => table::read_beside(objects, &self.asked, &self.beside(), monitor)?,
        };
        if let Some(layout) = &mut parts.layout {
            layout.beside_vectors = !self.wanted.is_empty();
        }
        for view in &parts.views {
            budget.matrix(view.matrix.nrows(), view.matrix.ncols())?;
        }
        if !self.left.is_empty() {
            let how = if self.names.iter().any(|name| name == FEATURES) {
                ""
            } else {
                "; `view features` takes them"
            };
            let why = format!("beside the lists of \"{}\"{how}", self.names.join("\", \""));
            let left: Vec<(String, String)> = (self.left.iter())
                .map(|name| (name.clone(), why.clone()))
                .collect();
            monitor.remark(format!("left out: {}", table::why(&left).join(", ")));
        }
        for one in self.filled(objects, monitor)? {
            parts.add_view(&one.name, one.present.len(), one.width, one.values)?;
            if let Some(view) = parts.views.last_mut()
                && one.present.contains(&false)
            {
                view.present = Some(one.present);
            }
        }
        Ok(parts)
    }

    fn filled(&self, objects: &mut Objects, monitor: &Monitor) -> Result<Vec<Matrix>> {
        let mut all = Vec::new();
        for &(at, width) in &self.wanted {
            let name = objects.names[at].clone();
            all.push(Matrix::of(name, at, width, objects.items)?);
        }
        if all.is_empty() {
            return Ok(all);
        }
        objects.apart.clear();
        objects.each(monitor, &mut |place, cells| {
            // As the table of the other columns passes it over.
            if table::is_blank(cells) {
                return Ok(());
            }
            all.iter_mut()
                .try_for_each(|one| one.take(&cells[one.at], place))
        })?;
        Ok(all)
    }
}

/// A view on its way into a matrix.
struct Matrix {
    name: String,
    /// Its place among the keys.
    at: usize,
    width: usize,
    values: Vec<f32>,
    present: Vec<bool>,
}

impl Matrix {
    fn of(name: String, at: usize, width: usize, items: usize) -> Result<Self> {
        let mut values = Vec::new();
        reserve(&mut values, items.saturating_mul(width))?;
        Ok(Self {
            name,
            at,
            width,
            values,
            present: Vec::new(),
        })
    }

    /// Takes the list of the next item; one that has none is a row of zeros.
    fn take(&mut self, cell: &Cell, place: Place) -> Result<()> {
        let within = |what: String| format!("{place}, key \"{}\": {what}", self.name);
        match *cell {
            Cell::Numbers(list) if list.len() == self.width => {
                for (i, &number) in list.iter().enumerate() {
                    let value = number as f32;
                    if !value.is_finite() {
                        let what = format!(
                            "number {i} of the list is {number:e}, too large for a 32-bit float (at most \
                             {:.1e}); scale the numbers down",
                            f32::MAX
                        );
                        return Err(Error::value(within(what)));
                    }
                    push(&mut self.values, value)?;
                }
                push(&mut self.present, true)
            }
            Cell::Missing => {
                for _ in 0..self.width {
                    push(&mut self.values, 0.0)?;
                }
                push(&mut self.present, false)
            }
            _ => Err(Error::format(within(
                "another value than before; the file was changed while it was read".to_owned(),
            ))),
        }
    }
}

/// The key of the list that a column of this name is a number of: `e` of `e[1]`.
fn list_of<'a>(name: &str, names: &'a [String]) -> Option<&'a String> {
    if names.iter().any(|own| own == name) {
        return None;
    }
    let (key, _) = name.strip_suffix(']')?.rsplit_once('[')?;
    names.iter().find(|own| *own == key)
}

/// What is asked of the columns, without numbers of lists.
fn without_numbers(names: &[String], options: &ReadOptions) -> TableOptions {
    let mut asked = options.table.clone();
    for list in [&mut asked.columns, &mut asked.drop] {
        list.retain(|name| list_of(name, names).is_none());
    }
    asked
}

/// Whether numbers of this list are columns, each by itself: they are asked for so, or were in the
/// fitted table.
fn is_by_number(name: &str, names: &[String], options: &ReadOptions) -> bool {
    let asked = &options.table;
    let mut both = asked.columns.iter().chain(&asked.drop);
    let first = format!("{name}[0]");
    let mut columns = options.layout.iter().flat_map(|layout| &layout.columns);
    both.any(|own| list_of(own, names).is_some_and(|key| key == name))
        || columns.any(|column| column.name == first)
}

/// Which keys may be features or views.
fn features_of(names: &[String], asked: &TableOptions, options: &ReadOptions) -> Result<Vec<bool>> {
    let borrowed: Vec<&str> = names.iter().map(String::as_str).collect();
    let roles = match &options.layout {
        Some(layout) => {
            let asked = table::asked_by(layout, &borrowed, &options.table);
            Role::of_columns(&borrowed, &asked)?
        }
        None => Role::of_columns(&borrowed, asked)?,
    };
    // Numbers of lists are all that is asked for.
    let none = asked.columns.is_empty() && !options.table.columns.is_empty();
    let may = |role: &Role| !none && matches!(role, Role::Feature | Role::Index);
    Ok(roles.iter().map(may).collect())
}

/// Whether all columns of the fitted table are here.
fn has_all(layout: &Layout, names: &[String]) -> bool {
    layout
        .columns
        .iter()
        .all(|column| names.contains(&column.name) || list_of(&column.name, names).is_some())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use likewise::Collection;
    use ndarray::array;

    use super::*;
    use crate::{Form, inspect, read_bytes, read_with_layout};

    /// So many numbers, each the one before it and one.
    fn list(from: usize, length: usize) -> String {
        format!("{:?}", (from..from + length).collect::<Vec<usize>>())
    }

    fn with_view(view: &str) -> ReadOptions {
        ReadOptions {
            view: Some(view.into()),
            ..ReadOptions::default()
        }
    }

    fn with_table(columns: &[&str], drop: &[&str]) -> ReadOptions {
        let names = |all: &[&str]| all.iter().map(|&name| name.into()).collect();
        ReadOptions {
            table: TableOptions {
                columns: names(columns),
                drop: names(drop),
                ..TableOptions::default()
            },
            ..ReadOptions::default()
        }
    }

    fn read(text: &str, options: &ReadOptions) -> Result<Collection> {
        read_bytes(Form::Jsonl, text.as_bytes(), options)
    }

    fn views(text: &str, options: &ReadOptions) -> Vec<(String, usize)> {
        let all = read(text, options).unwrap();
        let named = all.views().iter();
        named
            .map(|view| (view.name.clone(), view.matrix.ncols()))
            .collect()
    }

    fn of(views: &[(&str, usize)]) -> Vec<(String, usize)> {
        let owned = |&(name, columns): &(&str, usize)| (name.to_owned(), columns);
        views.iter().map(owned).collect()
    }

    /// Four items with prices, images and texts, some missing.
    fn shop() -> String {
        let (first, third, last) = (list(0, 8), list(20, 8), list(30, 8));
        let (text, other) = (list(10, 9), list(40, 9));
        format!(
            "{{\"id\": \"a\", \"label\": \"x\", \"image\": {first}, \"text\": {text}, \"price\": 1, \"title\": \"p\"}}\n\
             {{}}\n\
             {{\"id\": \"b\", \"label\": \"y\", \"image\": null, \"text\": {other}, \"price\": 2.5}}\n\n\
             {{\"id\": \"c\", \"label\": \"x\", \"image\": {third}, \"price\": null, \"title\": \"q\"}}\n\
             {{\"id\": \"d\", \"label\": \"y\", \"text\": null, \"image\": {last}, \"price\": 4}}\n"
        )
    }

    #[test]
    fn long_lists_are_views_that_items_may_lack() {
        let all = read(&shop(), &ReadOptions::default()).unwrap();
        assert_eq!(all.ids(), ["a", "b", "c", "d"]);
        assert_eq!(all.labels.as_ref().unwrap().n_known(), 4);
        let image = all.view(Some("image")).unwrap();
        assert_eq!(image.present, Some(vec![true, false, true, true]));
        let row = |i: usize| image.matrix.row(i).to_vec();
        assert_eq!(row(0), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        assert_eq!(row(1), [0.0; 8]);
        assert_eq!(row(3)[7].to_bits(), 37.0_f32.to_bits());
        let text = all.view(Some("text")).unwrap();
        assert_eq!(text.present, Some(vec![true, true, false, false]));
        // The other columns are as in any table: the median of a price, and no text.
        let price = &all.view(Some("features")).unwrap().matrix;
        assert_eq!(price.dim(), (4, 1));
        assert!(price[[1, 0]].abs() < 1e-6 && price[[2, 0]].abs() < 1e-6);
        let whole = of(&[("features", 1), ("image", 8), ("text", 9)]);
        assert_eq!(views(&shop(), &ReadOptions::default()), whole);
    }

    #[test]
    fn what_is_listed_is_what_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.jsonl");
        std::fs::write(&path, shop()).unwrap();
        for (options, given) in [
            (
                ReadOptions::default(),
                &[("features", 1), ("image", 8), ("text", 9)][..],
            ),
            (with_view("image"), &[("image", 8)]),
            (with_view("image+text"), &[("image", 8), ("text", 9)]),
            (with_view("features"), &[("features", 1)]),
            (
                with_table(&["price", "image"], &[]),
                &[("features", 1), ("image", 8)],
            ),
            (with_table(&["image"], &[]), &[("image", 8)]),
            (
                with_table(&["text", "image"], &[]),
                &[("image", 8), ("text", 9)],
            ),
            (with_table(&[], &["text", "price"]), &[("image", 8)]),
            // One view alone: a price beside it is no second one.
            (with_table(&[], &["text"]), &[("image", 8)]),
            (with_table(&["price"], &[]), &[("features", 1)]),
            (with_table(&["text[3]"], &[]), &[("features", 1)]),
            (with_table(&[], &["text[3]", "image"]), &[("features", 9)]),
        ] {
            assert_eq!(views(&shop(), &options), of(given), "{options:?}");
            let shape = inspect(&path, &options).unwrap();
            assert_eq!((shape.items, shape.views), (4, of(given)), "{options:?}");
        }
        let e = read(&shop(), &with_view("sound")).unwrap_err().to_string();
        assert!(e.contains("there are: features, image, text"), "{e}");
    }

    #[test]
    fn short_lists_stay_columns_and_a_view_may_be_called_features() {
        let short = format!("{{\"e\": {}, \"w\": 1}}\n", list(0, LEAST - 1));
        assert_eq!(
            views(&short, &ReadOptions::default()),
            of(&[("features", 8)])
        );
        let named = format!("{{\"features\": {}, \"w\": 1}}\n", list(0, 9));
        assert_eq!(
            views(&named, &ReadOptions::default()),
            of(&[("features", 9)])
        );
    }

    #[test]
    fn lists_of_other_lengths_and_numbers_without_bounds_are_told_of() {
        let (eight, nine) = (list(0, 8), list(0, 9));
        let ragged = format!(
            "{{\"image\": {eight}, \"w\": 1}}\n{{\"w\": 2}}\n{{\"image\": {nine}, \"w\": 4}}\n"
        );
        let said = |text: &str, options: &ReadOptions| read(text, options).unwrap_err().to_string();
        let lengths =
            "line 3, key \"image\": a list of 9 numbers, but the one in line 1 has 8; all must be";
        for options in [ReadOptions::default(), with_view("image")] {
            let said = said(&ragged, &options);
            assert!(said.contains(lengths), "{said}");
        }
        for options in [with_table(&[], &["image"]), with_view("features")] {
            assert_eq!(views(&ragged, &options), of(&[("features", 1)]));
        }
        let odd = format!("{{\"image\": {eight}, \"w\": 1}}\n{{\"image\": [1, null], \"w\": 2}}\n");
        assert_eq!(views(&odd, &ReadOptions::default()), of(&[("features", 1)]));
        let e = said(&odd, &with_view("image"));
        assert!(
            e.contains("line 2, key \"image\": no list of numbers"),
            "{e}"
        );
        let large = format!(
            "{{\"image\": {eight}}}\n{{\"image\": [1, 1e300{}}}\n",
            &eight[5..]
        );
        let e = said(&large, &ReadOptions::default());
        assert!(
            e.contains("line 2, key \"image\": number 1 of the list is 1e300"),
            "{e}"
        );
    }

    #[test]
    fn settings_without_effect_are_refused() {
        let with = |view: &str, missing| ReadOptions {
            table: TableOptions {
                missing: Some(missing),
                ..TableOptions::default()
            },
            ..with_view(view)
        };
        let said = |options: &ReadOptions| read(&shop(), options).unwrap_err().to_string();
        let both = said(&with("features+image", Missing::Drop));
        assert!(both.contains("leaves lines out"), "{both}");
        let alone = said(&with("image", Missing::Median));
        assert!(alone.contains("`missing` has no effect"), "{alone}");
        assert_eq!(
            read(&shop(), &with("features", Missing::Drop))
                .unwrap()
                .len(),
            3
        );
    }

    #[test]
    fn new_files_are_read_as_the_fitted_one() {
        let folder = tempfile::tempdir().unwrap();
        let fitted = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            let (_, layout) =
                read_with_layout(&path, &ReadOptions::default(), &Monitor::silent()).unwrap();
            ReadOptions {
                layout: layout.map(Arc::new),
                ..ReadOptions::default()
            }
        };
        let of_shop = fitted("shop.jsonl", &shop());
        let columns = &of_shop.layout.as_ref().unwrap().columns;
        assert_eq!(columns.len(), 1);
        // A query of one view needs no price; with one, its scale is that of the fitted table.
        let image = format!("{{\"image\": {}}}\n", list(0, 8));
        assert_eq!(views(&image, &of_shop), of(&[("image", 8)]));
        let both = format!("{{\"image\": {}, \"price\": 2.5}}\n", list(0, 8));
        let all = read(&both, &of_shop).unwrap();
        assert_eq!(all.view(Some("features")).unwrap().matrix, array![[0.0]]);
        assert_eq!(all.view(Some("image")).unwrap().present, None);
        // Lists that were columns of the fitted table are columns still.
        let of_text = fitted(
            "e.csv",
            &format!("id,e\na,\"{0}\"\nb,\"{0}\"\n", list(1, 8)),
        );
        let query = format!("{{\"e\": {}}}\n", list(2, 8));
        let all = read(&query, &of_text).unwrap();
        assert_eq!(all.views()[0].name, "features");
        assert_eq!(
            all.views()[0].matrix,
            array![[2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]]
        );
    }
}
