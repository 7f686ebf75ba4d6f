//! What was taken of a table, what was left out, and how: at most three lines.

use likewise::Monitor;

use super::decide::Decided;
use super::features::Read;
use crate::layout::{Decimal, Taken};
use crate::options::ReadOptions;
use crate::role::{Role, some};

/// Categories that are told of one by one.
const TOLD: usize = 6;

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
    monitor.remark(second(decided, read));
    if let Some(remark) = &decided.thousands {
        monitor.remark(remark.clone());
    }
    let mut parts = why(&decided.left);
    let asked = of(names, roles, Role::Dropped);
    let counted = of(names, roles, Role::Index);
    let mut classes = of(names, roles, Role::Category);
    if options.labels.is_some() {
        classes.extend(of(names, roles, Role::Label));
    }
    if !classes.is_empty() {
        parts.push(format!("{} (classes, by the name)", some(&classes)));
    }
    if !counted.is_empty() {
        parts.push(format!("{} (numbers of rows)", some(&counted)));
    }
    if !asked.is_empty() {
        parts.push(format!("{} (as asked for)", some(&asked)));
    }
    if !parts.is_empty() {
        monitor.remark(format!("left out: {}", parts.join(", ")));
    }
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

/// Items, how the text is written, ids and labels.
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
    let mut line = format!("{} items", read.rows);
    if !said.is_empty() {
        line = format!("{line} ({})", said.join(", "));
    }
    if let [id, ..] = of(names, roles, Role::Id)[..] {
        line = match id {
            "" => format!("{line}; ids: the first column, which has no name"),
            id => format!("{line}; ids: \"{id}\""),
        };
    }
    if options.labels.is_none() {
        if let [label, ..] = of(names, roles, Role::Label)[..] {
            line = format!("{line}; labels: \"{label}\"");
        } else if let Some(class) = decided.classes.first() {
            line = format!("{line}; no labels (could be `label_column {class}`)");
        }
    }
    line
}

/// What was taken.
fn second(decided: &Decided, read: &Read) -> String {
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
