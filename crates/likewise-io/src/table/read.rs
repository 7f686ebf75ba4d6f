//! From a table to the pieces of a collection.

use likewise::Monitor;

use super::cells::{Rows, elsewhere};
use super::decide::{self, Decided, decide};
use super::features::{self, By, Read};
use super::lists::Lists;
use super::survey::{Survey, is_blank, word};
use super::tell::{tell, tell_numbers, why};
use crate::assemble::{Parts, Shape};
use crate::budget::Budget;
use crate::doubts::Doubts;
use crate::layout::{Decimal, Layout};
use crate::options::{ReadOptions, TableOptions};
use crate::role::{Role, place_of, same, unnamed};
use crate::suspects::Suspect;
use crate::words::Words;
use crate::{Error, Result};

/// What stands in a table beside its features.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    /// Names of the columns that are views of their own, so none of the features.
    pub(crate) views: Vec<String>,
    /// Whether the other columns may be no features at all.
    pub(crate) may_lack: bool,
}

/// Names of the columns: those without one are told by their place. The first of them is none where
/// the fitted table has no feature of that name.
fn names(rows: &dyn Rows, fitted: Option<&Layout>) -> Vec<String> {
    let is_feature = |name: &String| {
        let mut columns = fitted.iter().flat_map(|layout| &layout.columns);
        columns.any(|column| column.name == *name)
    };
    let name = |(i, name): (usize, &String)| {
        let by_place = unnamed(i);
        if name.trim().is_empty() && (i > 0 || is_feature(&by_place)) {
            by_place
        } else {
            name.clone()
        }
    };
    rows.names().iter().enumerate().map(name).collect()
}

fn borrowed(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

/// How a table is to be read: roles of its columns, and what was decided of the features.
struct Plan {
    names: Vec<String>,
    roles: Vec<Role>,
    rows: usize,
    decided: Decided,
    /// Whether another table said how.
    fitted: bool,
    /// What may be wrong with the table.
    warnings: Vec<String>,
}

fn plan(
    rows: &mut dyn Rows,
    options: &ReadOptions,
    beside: &Beside,
    budget: &mut Budget,
    monitor: &Monitor,
) -> Result<Plan> {
    let mut names = names(rows, options.layout.as_deref());
    let Some(layout) = &options.layout else {
        let mut roles = Role::of_columns(&borrowed(&names), &options.table)
            .map_err(|e| e.with(&elsewhere(rows)))?;
        for (name, role) in names.iter().zip(&mut roles) {
            if beside.views.contains(name) {
                *role = Role::Apart;
            }
        }
        let mut doubts = Doubts::of(&names, &roles, options);
        let survey = Survey::of(rows, &roles, &mut doubts, budget, monitor)?;
        doubts.settle(&mut names, &mut roles, &options.table);
        let decided = decide(rows, &names, &roles, &survey, &options.table)?;
        let Survey { suspects, foot, .. } = survey;
        let taken = |(place, _): &(usize, Suspect)| decided.places.contains(place);
        let found = suspects.into_iter().enumerate().filter(taken);
        // Who names columns knows them.
        let found = found.filter(|_| options.table.columns.is_empty());
        let warnings = found.filter_map(|(place, suspect)| suspect.remark(&names[place]));
        let warnings = warnings.chain(foot).collect();
        return Ok(Plan {
            rows: survey.rows,
            warnings,
            names,
            roles,
            decided,
            fitted: false,
        });
    };
    layout.check()?;
    let (roles, places) =
        roles_by(layout, &names, options).map_err(|e| e.with(&elsewhere(rows)))?;
    let taken: Vec<Role> = (0..names.len())
        .map(|place| {
            if places.contains(&place) {
                Role::Feature
            } else {
                Role::Dropped
            }
        })
        .collect();
    let mut doubts = Doubts::of(&names, &roles, options);
    let survey = Survey::of(rows, &taken, &mut doubts, budget, monitor)?;
    let usual = decide::usual(rows, &survey, &options.table, Some(layout.decimal));
    let decimals: Vec<Decimal> = (survey.columns.iter())
        .map(|tally| decide::decimal(tally, usual, &options.table))
        .collect();
    Ok(Plan {
        rows: survey.rows,
        names,
        roles,
        decided: Decided {
            layout: Layout::clone(layout),
            places,
            left: Vec::new(),
            decimals,
            plain: false,
            classes: Vec::new(),
            thousands: None,
        },
        fitted: true,
        warnings: Vec::new(),
    })
}

/// What is asked of a table that is read as another one was: its ids and labels stand where they
/// stood there.
pub(crate) fn asked_by(layout: &Layout, names: &[&str], asked: &TableOptions) -> TableOptions {
    // What a query need not have is looked for, not asked for.
    let there = |asked: &Option<String>, own: &Option<String>| {
        let own = own.as_ref().and_then(|own| same(own, names));
        asked.clone().or(own.map(|place| names[place].to_owned()))
    };
    TableOptions {
        id_column: there(&asked.id_column, &layout.id),
        label_column: there(&asked.label_column, &layout.label),
        ..TableOptions::default()
    }
}

/// Fails where a feature of the fitted table is asked for as the ids or labels of another one.
pub(crate) fn check_apart(layout: &Layout, names: &[&str], asked: &TableOptions) -> Result<()> {
    let asked = [&asked.id_column, &asked.label_column];
    for place in asked
        .into_iter()
        .flatten()
        .filter_map(|name| place_of(name, names).ok())
    {
        let is_here = |name: &str| same(name, names) == Some(place);
        if let Some(column) = layout.columns.iter().find(|column| is_here(&column.name)) {
            return Err(Error::parameter(format!(
                "\"{}\" is a feature of the fitted table; it cannot be the ids or labels as well",
                column.name
            )));
        }
    }
    Ok(())
}

/// Roles of the columns of a table that is read as another one was, and the places of those that
/// became features. Fails where one of these is missing, with its name.
fn roles_by(
    layout: &Layout,
    names: &[String],
    options: &ReadOptions,
) -> Result<(Vec<Role>, Vec<usize>)> {
    let all = borrowed(names);
    check_apart(layout, &all, &options.table)?;
    let mut roles = Role::of_columns(&all, &asked_by(layout, &all, &options.table))?;
    let mut places = Vec::new();
    for column in &layout.columns {
        let place = same(&column.name, &all).ok_or_else(|| {
            Error::value(format!(
                "no column \"{}\", which the fitted table had; the columns are: {}",
                column.name,
                crate::role::some(&all)
            ))
        })?;
        roles[place] = Role::Feature;
        places.push(place);
    }
    decide::twice(names, &places)?;
    Ok((roles, places))
}

/// What [`read`] would read. One pass over the table.
pub(crate) fn shape(rows: &mut dyn Rows, options: &ReadOptions) -> Result<Shape> {
    shape_beside(rows, options, &Beside::default())
}

/// What [`read_beside`] would read; without features they have no dimension. One pass over the table.
pub(crate) fn shape_beside(
    rows: &mut dyn Rows,
    options: &ReadOptions,
    beside: &Beside,
) -> Result<Shape> {
    let mut budget = Budget::new(options.max_memory);
    let (mut rows, asked) = Lists::of(rows, options, &mut budget)?;
    let silent = Monitor::silent();
    let plan = plan(&mut rows, &asked, beside, &mut budget, &silent)?;
    let dimensions = plan.decided.layout.dimensions();
    Ok(Shape::one("features", plan.rows, dimensions))
}

/// Reads a table: what its columns hold is looked at first, then they become features.
///
/// Two passes over the table. Beside the features one column of numbers is held, and at most a
/// hundred words of each column.
pub(crate) fn read(rows: &mut dyn Rows, options: &ReadOptions, monitor: &Monitor) -> Result<Parts> {
    options.choose(&["features"])?;
    read_beside(rows, options, &Beside::default(), monitor)
}

/// Reads the ids, labels and split of a table alone. One pass over it.
pub(crate) fn words(
    rows: &mut dyn Rows,
    options: &ReadOptions,
    monitor: &Monitor,
) -> Result<Parts> {
    let names = names(rows, None);
    let asked = match &options.layout {
        Some(layout) => asked_by(layout, &borrowed(&names), &options.table),
        None => TableOptions {
            columns: Vec::new(),
            ..options.table.clone()
        },
    };
    let roles = Role::of_columns(&borrowed(&names), &asked);
    let mut roles = roles.map_err(|e| e.with(&elsewhere(rows)))?;
    for role in &mut roles {
        if matches!(role, Role::Feature | Role::Index) {
            *role = Role::Apart;
        }
    }
    let mut words = Words::of(rows.counted());
    let budget = Budget::new(options.max_memory);
    let (skips, mut items) = (rows.skips_blank(), 0);
    rows.each(monitor, &mut |place, cells| {
        if skips && is_blank(cells) {
            return Ok(());
        }
        items += 1;
        for (cell, &role) in cells.iter().zip(&roles) {
            if matches!(role, Role::Id | Role::Label | Role::Split) {
                let word = word(cell);
                words.take(role, word.as_deref().unwrap_or(""), place.number)?;
            }
        }
        budget.check(words.bytes)
    })?;
    tell_numbers((&names, &roles), items, &[], options, monitor);
    let mut parts = Parts::default();
    words.remark(monitor);
    words.give(&names, &roles, &mut parts, options, monitor)?;
    Ok(parts)
}

/// That no column is a feature, and why.
fn no_features(names: &[String], left: &[(String, String)], rows: &dyn Rows) -> Error {
    let left: Vec<String> = (left.iter())
        .map(|(name, why)| format!("\"{name}\" ({why})"))
        .collect();
    Error::value(format!(
        "no columns of numbers or categories; the columns are: {}{}{}{}",
        names.join(", "),
        if left.is_empty() { "" } else { "; left out: " },
        left.join(", "),
        elsewhere(rows)
    ))
}

/// As [`read`], of a table of which some columns are views of their own, whatever view is asked for.
/// Without features where these may lack.
pub(crate) fn read_beside(
    rows: &mut dyn Rows,
    options: &ReadOptions,
    beside: &Beside,
    monitor: &Monitor,
) -> Result<Parts> {
    let mut budget = Budget::new(options.max_memory);
    let (mut rows, asked) = Lists::of(rows, options, &mut budget)?;
    let (rows, options) = (&mut rows, &asked);
    let Plan {
        names,
        roles,
        mut decided,
        fitted,
        rows: counted,
        warnings,
    } = plan(rows, options, beside, &mut budget, monitor)?;
    let width = decided.layout.dimensions();
    if width == 0 {
        if !beside.may_lack {
            return Err(no_features(&names, &decided.left, rows));
        }
        if !decided.left.is_empty() {
            monitor.remark(format!("left out: {}", why(&decided.left).join(", ")));
        }
        return words(rows, options, monitor);
    }
    budget.items(counted)?;
    let by = By {
        layout: &decided.layout,
        places: &decided.places,
        decimals: &decided.decimals,
        roles: &roles,
    };
    let mut read = features::read(rows, &by, &budget, monitor)?;
    if read.rows == 0 && read.dropped > 0 {
        return Err(Error::value(
            "every line has a missing value, so none is left; fill them with the median, or take \
             fewer columns",
        ));
    }
    if !fitted {
        features::measure(&mut decided.layout, decided.plain, &read);
    }
    if read.rows > 0 {
        features::fill(&decided.layout, &mut read)?;
    }
    if fitted {
        of_fitted(&read, monitor);
    } else {
        tell(
            (&names, &roles),
            rows.said(),
            &decided,
            &read,
            options,
            monitor,
        );
    }
    for text in warnings {
        monitor.warn(text);
    }
    let Read {
        mut values,
        rows: n,
        words,
        ..
    } = read;
    values.shrink_to_fit();
    let mut parts = Parts::default();
    parts.add_view("features", n, width, values)?;
    words.remark(monitor);
    words.give(&names, &roles, &mut parts, options, monitor)?;
    parts.columns = decided.layout.features();
    parts.layout = Some(decided.layout);
    Ok(parts)
}

/// What a person should know of a table that was read as the fitted one was.
fn of_fitted(read: &Read, monitor: &Monitor) {
    if read.filled > 0 {
        monitor.remark(format!(
            "{} missing values are the median of the fitted table",
            read.filled
        ));
    }
    if read.dropped > 0 {
        monitor.remark(format!(
            "{} lines with missing values are left out",
            read.dropped
        ));
    }
    if let Some((word, column)) = &read.first_unseen {
        monitor.warn(format!(
            "{} words are none of the categories of the fitted table, and count for nothing (the \
             first: \"{word}\" in column \"{column}\")",
            read.unseen
        ));
    }
}
