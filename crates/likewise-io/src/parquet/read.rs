//! From a file to the pieces of a collection.

use likewise::Monitor;

use super::cells::Columns;
use super::column::Leaf;
use super::{BLOCK, Table, no_vectors};
use crate::assemble::{Parts, Shape, labels_as, unnamed_ids};
use crate::budget::Budget;
use crate::input::Input;
use crate::layout::Layout;
use crate::number::Progress;
use crate::options::{ReadOptions, TableOptions};
use crate::role::{Role, tell};
use crate::suspects::{is_called_so, suspects};
use crate::table::{self, asked_by, check_apart, tell_numbers};
use crate::words::{LabelTable, Named, roles_of_labels};
use crate::{Error, ErrorKind, Result};

/// Opens a table for what is asked for; also columns that are left out beside vectors, and why.
fn open(input: Input, options: &ReadOptions) -> Result<(Table, Vec<(String, String)>)> {
    let mut table = Table::open(input, &Budget::new(options.max_memory))?;
    match &options.layout {
        Some(layout) => {
            check_apart(layout, &table.names(), &options.table)?;
            let asked = asked_by(layout, &table.names(), &options.table);
            table.assign(&asked)?;
            table.follow(layout);
        }
        None => table.assign(&options.table)?,
    }
    table.settle(options)?;
    check(&table, options)?;
    let mut left = Vec::new();
    if table.vectors().is_empty() {
        return Ok((table, left));
    }
    if let Some(layout) = options.layout.as_ref().filter(|of| of.beside_vectors) {
        let named = options.view.is_some() && options.wants("features");
        if named || options.view.is_none() && table.has_all(layout) {
            table.order(layout)?;
        } else {
            table.leave_out_scalars();
        }
        return Ok((table, left));
    }
    let asked = !options.table.columns.is_empty();
    if !asked && options.view.is_none() {
        left.extend(table.leave_out_beside_vectors()?);
    }
    let of = |leaf: &Leaf, why: &str| (leaf.name.clone(), why.to_owned());
    let text = table.leaves.iter().filter(|leaf| is_words(leaf));
    left.extend(text.map(|leaf| of(leaf, "text")));
    left.extend(table.dates.iter().map(|leaf| of(leaf, "dates")));
    Ok((table, left))
}

fn is_words(leaf: &Leaf) -> bool {
    leaf.is_text() && leaf.role == Role::Feature
}

/// Fails on settings that have no effect on these columns.
fn check(table: &Table, options: &ReadOptions) -> Result<()> {
    table.check_lists(options)?;
    options.table.refuse(&["sep", "decimal"], "Parquet")?;
    let vectors = table.vectors();
    let [vector, ..] = vectors[..] else {
        return Ok(());
    };
    let odd = |leaf: &&Leaf| is_words(leaf) || leaf.is_date();
    if !options.table.columns.is_empty()
        && let Some(leaf) = table.leaves.iter().find(odd)
    {
        return Err(Error::parameter(format!(
            "column \"{}\" holds {}, which cannot be a feature beside the vectors of column \
             \"{}\"; name only one of the two in `columns`",
            leaf.name,
            if leaf.is_date() { "dates" } else { "text" },
            vector.name
        )));
    }
    let what = "a table with columns of vectors";
    options.table.refuse(&["missing", "text"], what)
}

/// Whether the columns are read as those of other tables: there are no vectors among them, but
/// words; or numbers are asked for that are not those of the columns as they are.
fn is_mixed(table: &Table, options: &ReadOptions) -> bool {
    let words = |leaf: &Leaf| is_words(leaf) || leaf.is_date();
    let names = || table.scalars().into_iter().map(|leaf| leaf.name.as_str());
    let other = match &options.layout {
        Some(layout) => !layout.is_of_numbers(names(), true),
        None => table.leaves.iter().any(words),
    };
    table.vectors().is_empty() && (other || !options.table.suits_numbers())
}

pub(crate) fn shape(input: Input, options: &ReadOptions) -> Result<Shape> {
    let (table, _) = open(input, options)?;
    if is_mixed(&table, options) {
        return table::shape(&mut Columns::read(&table, options)?, options);
    }
    options.choose(&table.view_names())?;
    let mut shape = Shape {
        items: table.rows,
        views: Vec::new(),
        bytes_on_disk: 0,
    };
    let scalars = table.scalars().len();
    if scalars > 0 && options.wants("features") {
        shape.views.push(("features".to_owned(), scalars));
    }
    for leaf in table.vectors() {
        if options.wants(&leaf.name) {
            shape
                .views
                .push((leaf.name.clone(), table.dimension(leaf)?));
        }
    }
    Ok(shape)
}

/// The labels of a table, and the ids if there are some.
pub(crate) fn read_labels(
    input: Input,
    asked: &TableOptions,
    own_id: Option<&str>,
) -> Result<LabelTable> {
    let mut budget = Budget::new(None);
    let mut table = Table::open(input, &budget)?;
    table.assign(asked)?;
    let single = |leaf: &&mut Leaf| !leaf.list;
    let (names, mut roles): (Vec<String>, Vec<Role>) = (table.leaves.iter_mut())
        .filter(single)
        .map(|leaf| (leaf.name.clone(), leaf.role))
        .unzip();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let named = roles_of_labels(&names, &mut roles, own_id)?;
    for (leaf, role) in table.leaves.iter_mut().filter(single).zip(roles) {
        leaf.role = role;
    }
    let labels = table.role_words(Role::Label, &mut budget)?;
    let ids = match table.role_words(Role::Id, &mut budget) {
        // A column that nobody named and that holds no words, say fractions, holds no ids.
        Err(e) if e.kind() == ErrorKind::Value && matches!(named, Named::Guess(_)) => None,
        ids => ids?,
    };
    Ok(LabelTable {
        ids,
        labels: labels.unwrap_or_default(),
        lines: Vec::new(),
        named,
    })
}

pub(crate) fn read(input: Input, options: &ReadOptions, monitor: &Monitor) -> Result<Parts> {
    let (table, left) = open(input, options)?;
    let warn = |name: &String| {
        monitor.warn(format!(
            "column \"{name}\" is left out: it holds neither numbers nor vectors of numbers"
        ));
    };
    table.others.iter().for_each(warn);
    if !left.is_empty() {
        monitor.remark(format!("left out: {}", table::why(&left).join(", ")));
    } else if options.layout.is_none() {
        for leaf in &table.dates {
            monitor.warn(format!(
                "column \"{}\" is left out: it holds dates, which are days if named in `columns`",
                leaf.name
            ));
        }
    }
    if !is_mixed(&table, options) {
        if table.vectors().is_empty() {
            let text = table.leaves.iter().filter(|leaf| is_words(leaf));
            text.map(|leaf| &leaf.name).for_each(warn);
        }
        let parts = read_numbers(&table, options, monitor);
        if parts.is_ok() || !table.lacks.get() {
            return parts;
        }
        if !table.vectors().is_empty() {
            let advice = "; beside columns of vectors no median takes its place: it does where \
                          `columns` names columns of numbers alone";
            return parts.map_err(|e| e.with(advice));
        }
    }
    table::read(&mut Columns::read(&table, options)?, options, monitor)
}

fn read_numbers(table: &Table, options: &ReadOptions, monitor: &Monitor) -> Result<Parts> {
    let mut budget = Budget::new(options.max_memory);
    let names = table.view_names();
    if names.is_empty() {
        return Err(Error::value(
            "no columns of numbers or of vectors of numbers; there is nothing to compare items by",
        ));
    }
    options.choose(&names)?;
    budget.items(table.rows)?;
    let mut progress = Progress::new(monitor);
    let mut parts = Parts::default();
    let scalars = table.scalars();
    if !scalars.is_empty() && options.wants("features") {
        budget.matrix(table.rows, scalars.len())?;
        // Beside it one block of columns is held.
        budget.check(4 * (table.largest_group() as u64) * scalars.len().min(BLOCK) as u64)?;
        let values = table.read_scalars(&scalars, &mut progress)?;
        parts.add_view("features", table.rows, scalars.len(), values)?;
        parts.columns = scalars.iter().map(|l| l.name.clone()).collect();
        let mut layout = Layout::of_numbers(parts.columns.iter().map(String::as_str));
        layout.id.clone_from(&options.table.id_column);
        layout.label.clone_from(&options.table.label_column);
        layout.beside_vectors = table.vectors().iter().any(|leaf| options.wants(&leaf.name));
        parts.layout = Some(layout);
    }
    for leaf in table.vectors() {
        if !options.wants(&leaf.name) {
            continue;
        }
        let mut vectors = table.read_vectors(leaf, &mut budget, &mut progress)?;
        let dimension = vectors.dimension.ok_or_else(|| no_vectors(&leaf.name))?;
        vectors.values.shrink_to_fit();
        parts.add_view(&leaf.name, table.rows, dimension, vectors.values)?;
        if let Some(view) = parts.views.last_mut()
            && vectors.present.contains(&false)
        {
            view.present = Some(vectors.present);
        }
    }
    if table.vectors().is_empty() {
        remark_on_ids(table, options, monitor)?;
    }
    // Text that is no feature was told of above.
    let told = |l: &&Leaf| !l.list && !is_words(l);
    let told = table.leaves.iter().filter(told);
    let (names, roles): (Vec<&str>, Vec<Role>) = told.map(|l| (l.name.as_str(), l.role)).unzip();
    tell(&names, &roles, options, monitor);
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    tell_numbers((&names, &roles), table.rows, &[], options, monitor);
    parts.ids = table.role_words(Role::Id, &mut budget)?;
    if table
        .leaf(Role::Id)
        .is_some_and(|leaf| leaf.name.trim().is_empty())
    {
        parts.ids = parts.ids.and_then(|ids| unnamed_ids(ids, monitor));
    }
    if options.labels.is_none() {
        let words = table.role_words(Role::Label, &mut budget)?;
        let labels = words.map(|words| labels_as(&words, &options.table, monitor));
        parts.labels = labels.transpose()?;
    }
    if let Some(words) = table.role_words(Role::Split, &mut budget)? {
        parts.set_split(&words)?;
    }
    Ok(parts)
}

/// Warns of columns that may be ids, by their names and their values. Reads those that are called so.
fn remark_on_ids(table: &Table, options: &ReadOptions, monitor: &Monitor) -> Result<()> {
    if options.layout.is_some() || !options.table.columns.is_empty() {
        return Ok(());
    }
    let called = |leaf: &&Leaf| is_called_so(&leaf.name);
    for leaf in table.scalars().into_iter().filter(called) {
        let words = match table.words(&leaf.name, &mut Budget::new(options.max_memory)) {
            // Fractions are no ids.
            Err(e) if e.kind() == ErrorKind::Value => continue,
            words => words?,
        };
        let mut seen = suspects(std::slice::from_ref(&leaf.name), &[Role::Feature]);
        for suspect in &mut seen {
            for word in &words {
                suspect.see(word.as_ref().and_then(|word| word.parse().ok()))?;
            }
        }
        for text in seen.into_iter().filter_map(|one| one.remark(&leaf.name)) {
            monitor.warn(text);
        }
    }
    Ok(())
}
