//! What was taken of a table, what was left out, and how: at most three lines.

use likewise::Monitor;

use super::decide::Decided;
use super::features::Read;
use crate::layout::{Decimal, Taken};
use crate::options::ReadOptions;
use crate::role::{Role, some};

/// Categories that are told of one by one.
const TOLD: usize = 6;

/// Columns that could hold labels and are named.
const COULD_BE_LABELS: usize = 5;

/// A column that has no name.
const UNNAMED: &str = "the first column, which has no name";

/// Says how a table was understood.
pub(super) fn tell(
    (names, roles): (&[String], &[Role]),
    said: Vec<String>,
    decided: &Decided,
    read: &Read,
    options: &ReadOptions,
    monitor: &Monitor,
) {
    monitor.remark(first((names, roles), said, decided, read, options));
    monitor.remark(second(decided, read, options.table.text));
    if let Some(remark) = &decided.thousands {
        monitor.remark(remark.clone());
    }
    let mut parts = why(&decided.left);
    let mut classes = of(names, roles, Role::Category);
    if options.labels.is_some() {
        classes.extend(of(names, roles, Role::Label));
    }
    if !classes.is_empty() {
        parts.push(format!("{} (classes, by the name)", some(&classes)));
    }
    parts.extend(by_name(names, roles));
    if !parts.is_empty() {
        monitor.remark(format!("left out: {}", parts.join(", ")));
    }
}

/// Says of a table of numbers alone what its names do not say by themselves: how the text is written,
/// ids and labels by another name than these, and what is left out though nobody asked for it. Says
/// nothing else, and nothing of a table that is read as a fitted one was.
pub(crate) fn tell_numbers(
    (names, roles): (&[String], &[Role]),
    rows: usize,
    said: &[String],
    options: &ReadOptions,
    monitor: &Monitor,
) {
    if options.layout.is_some() {
        return;
    }
    let found = |(name, role): (&String, &Role)| match role {
        Role::Index | Role::SpareId => true,
        Role::Id => options.table.id_column.is_none() && Role::of(name) != Role::Id,
        Role::Label => {
            let asked = options.table.label_column.is_some() || options.labels.is_some();
            !asked && Role::of(name) != Role::Label
        }
        _ => false,
    };
    if said.is_empty() && !names.iter().zip(roles).any(found) {
        return;
    }
    monitor.remark(items((names, roles), rows, said, options));
    let unasked = |role: &Role| matches!(role, Role::Index | Role::SpareId);
    if roles.iter().any(unasked) {
        let left = by_name(names, roles);
        monitor.remark(format!("left out: {}", left.join(", ")));
    }
}

/// The columns that are left out for what they are called, or for what was asked for, and why.
fn by_name(names: &[String], roles: &[Role]) -> Vec<String> {
    let mut parts = Vec::new();
    for (role, why) in [
        (Role::Index, "numbers of rows"),
        (Role::SpareId, "ids, by the name"),
        (Role::Dropped, "as asked for"),
    ] {
        let mut columns = of(names, roles, role);
        if columns.first().is_some_and(|name| name.trim().is_empty()) {
            columns.remove(0);
            parts.push(format!("{UNNAMED} ({why})"));
        }
        if !columns.is_empty() {
            parts.push(format!("{} ({why})", some(&columns)));
        }
    }
    parts
}

/// The columns that are left out, by the reason, in the order of their first.
pub(crate) fn why(left: &[(String, String)]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, why) in left {
        // What has no name and holds nothing is not missed.
        if name.starts_with("column ") && why == "empty" {
            continue;
        }
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, names)) => names.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    let said = |(why, names): (&str, Vec<&str>)| format!("{} ({why})", some(&names));
    reasons.into_iter().map(said).collect()
}

fn of<'a>(names: &'a [String], roles: &[Role], role: Role) -> Vec<&'a str> {
    let both = names.iter().zip(roles).filter(move |&(_, &r)| r == role);
    both.map(|(name, _)| name.as_str()).collect()
}

/// Items, how the text is written, ids and labels, or what could be labels.
fn first(
    (names, roles): (&[String], &[Role]),
    mut said: Vec<String>,
    decided: &Decided,
    read: &Read,
    options: &ReadOptions,
) -> String {
    let comma = |place: &usize| decided.decimals[*place] == Decimal::Comma;
    if decided.places.iter().any(comma) {
        said.push("decimal comma".to_owned());
    }
    let line = items((names, roles), read.rows, &said, options);
    let labeled = options.labels.is_some() || roles.contains(&Role::Label);
    if labeled || decided.classes.is_empty() {
        return line;
    }
    // Which of them is the class, only the user knows.
    let (named, more) = decided
        .classes
        .split_at(decided.classes.len().min(COULD_BE_LABELS));
    let named: Vec<String> = named.iter().map(|name| format!("\"{name}\"")).collect();
    let rest = match more.len() {
        0 => String::new(),
        more => format!(" or {more} more"),
    };
    format!(
        "{line}; no labels (if a column holds them, `label_column` names it: {}{rest})",
        named.join(", ")
    )
}

/// Items, how the text is written, ids and labels.
fn items(
    (names, roles): (&[String], &[Role]),
    rows: usize,
    said: &[String],
    options: &ReadOptions,
) -> String {
    let mut line = format!("{rows} items");
    if !said.is_empty() {
        line = format!("{line} ({})", said.join(", "));
    }
    if let [id, ..] = of(names, roles, Role::Id)[..] {
        line = match id {
            "" => format!("{line}; ids: {UNNAMED}"),
            id => format!("{line}; ids: \"{id}\""),
        };
    }
    if options.labels.is_none()
        && let [label, ..] = of(names, roles, Role::Label)[..]
    {
        line = format!("{line}; labels: \"{label}\"");
    }
    line
}

/// What was taken; `text` where text was asked for.
fn second(decided: &Decided, read: &Read, text: bool) -> String {
    let columns = &decided.layout.columns;
    let names = |is: fn(&Taken) -> bool| -> Vec<&str> {
        let of_kind = columns.iter().filter(|column| is(&column.taken));
        of_kind.map(|column| column.name.as_str()).collect()
    };
    let numbers = names(|taken| matches!(taken, Taken::Number { date: None, .. }));
    let dates = names(|taken| matches!(taken, Taken::Number { date: Some(_), .. }));
    let texts = names(|taken| matches!(taken, Taken::Text { .. }));
    let categories: Vec<String> = (columns.iter())
        .filter_map(|column| match &column.taken {
            Taken::Category { values } => Some(format!("\"{}\" ({})", column.name, values.len())),
            _ => None,
        })
        .collect();
    let mut parts = Vec::new();
    if !numbers.is_empty() {
        let scaled = if decided.plain { "" } else { ", standardised" };
        let number = count(numbers.len(), "number", "numbers");
        parts.push(format!("{number}{scaled}: {}", some(&numbers)));
    }
    if !dates.is_empty() {
        parts.push(format!("dates, as days, standardised: {}", some(&dates)));
    }
    if !categories.is_empty() {
        let most = categories.len().min(TOLD);
        let more = categories.len() - most;
        let rest = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        parts.push(format!(
            "{}, one-hot: {}{rest}",
            count(categories.len(), "category", "categories"),
            categories[..most].join(", ")
        ));
    }
    if !texts.is_empty() {
        parts.push(format!("text, hashed: {}", some(&texts)));
    } else if text {
        parts.push("`text` has no effect, as no column holds text".to_owned());
    }
    let mut line = format!("taken: {}", parts.join("; "));
    if read.filled > 0 {
        let filled = count(read.filled, "missing value is", "missing values are");
        line = format!("{line}; {filled} the median");
    }
    if read.dropped > 0 {
        let dropped = count(read.dropped, "line", "lines");
        line = format!("{line}; {dropped} with missing values left out");
    }
    line
}

fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}
