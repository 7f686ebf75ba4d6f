//! Figures in README.md and docs/ that are results, looked up where they come from.
//!
//! A figure has its source behind it, as a comment that a reader of the page does not see:
//!
//! ```text
//! <!-- claim: 0.780 = results/digits/README.md | fac, same classes | mixed-lp | MAP@R -->
//! <!-- claim: "60 of 60" in results/few-labels/README.md -->
//! ```
//!
//! The first names the table by the first cell of its head, the row by its first cell, and the
//! column; pages may have it in percent. The second is a phrase. Both must also stand in the text
//! of the page that claims them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::data::Result;

const BEGIN: &str = "<!-- claim: ";
const END: &str = "-->";

/// Looks every claim up; says which are not as they are claimed.
pub(crate) fn claims() -> Result<bool> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut pages: Vec<PathBuf> = vec![root.join("README.md")];
    for entry in fs::read_dir(root.join("docs"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "md") {
            pages.push(path);
        }
    }
    pages.sort();
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in pages {
        let text = fs::read_to_string(&page)?;
        for claim in claimed(&text) {
            count += 1;
            let source = |file: &str| fs::read_to_string(root.join(file)).unwrap_or_default();
            if let Err(why) = check(claim, &without_comments(&text), &source) {
                wrong.push(format!("{}: {claim}: {why}", page.display()));
            }
        }
    }
    for wrong in &wrong {
        eprintln!("{wrong}");
    }
    eprintln!("xtask: {count} claims, {} not as claimed", wrong.len());
    Ok(wrong.is_empty() && count > 0)
}

/// The claims of a page.
fn claimed(text: &str) -> Vec<&str> {
    let parts = text.split(BEGIN).skip(1);
    parts
        .filter_map(|part| Some(part.split_once(END)?.0.trim()))
        .collect()
}

fn without_comments(text: &str) -> String {
    let mut parts = text.split("<!--");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once("-->").map_or("", |(_, after)| after));
    }
    plain
}

/// Whether the text says it and its source has it.
fn check(claim: &str, text: &str, source: &dyn Fn(&str) -> String) -> Result<(), String> {
    let said = |words: &str| {
        let why = || format!("the page does not say {words}");
        text.contains(words).then_some(()).ok_or_else(why)
    };
    if let Some((phrase, file)) = claim.strip_prefix('"').and_then(|c| c.split_once("\" in ")) {
        said(phrase)?;
        let there = source(file.trim()).contains(phrase);
        let why = || format!("{file} does not say so");
        return there.then_some(()).ok_or_else(why);
    }
    let form = "write VALUE = FILE | TABLE | ROW | COLUMN, or \"PHRASE\" in FILE";
    let (value, place) = claim.split_once(" = ").ok_or(form)?;
    said(value)?;
    let place: Vec<&str> = place.split('|').map(str::trim).collect();
    let [file, table, row, column] = place[..] else {
        return Err(form.into());
    };
    let found = cell(&source(file), table, row, column)?;
    let wanted: f64 = value
        .trim_end_matches('%')
        .trim()
        .parse()
        .map_err(|_| form)?;
    let digits = value.split_once('.').map_or(0, |(_, d)| d.len() as i32);
    let half = 0.5 * 10_f64.powi(-digits) + 1e-9;
    if [found, found / 100.0]
        .iter()
        .any(|f| (f - wanted).abs() <= half)
    {
        return Ok(());
    }
    Err(format!("{file} has {found}"))
}

/// The first number of a cell of a Markdown table.
fn cell(page: &str, table: &str, row: &str, column: &str) -> Result<f64, String> {
    let cells = |line: &str| -> Vec<String> {
        let line = line.trim().trim_matches('|');
        line.split('|')
            .map(|cell| cell.replace("**", "").replace('`', "").trim().to_owned())
            .collect()
    };
    let mut lines = page.lines().skip_while(|line| {
        !line.starts_with('|') || cells(line).first().is_none_or(|first| first != table)
    });
    let head = lines.next().ok_or_else(|| format!("no table {table}"))?;
    let place = cells(head).iter().position(|cell| cell == column);
    let place = place.ok_or_else(|| format!("no column {column}"))?;
    let mut rows = lines.take_while(|line| line.starts_with('|')).map(cells);
    let found = rows.find(|cells| cells.first().is_some_and(|first| first == row));
    let found = found.ok_or_else(|| format!("no row {row}"))?;
    let number = found
        .get(place)
        .and_then(|cell| cell.split_whitespace().next()?.parse().ok());
    number.ok_or_else(|| format!("no number in {row}, {column}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\n| fac | draws | MAP@R |\n|---|---:|---:|\n| raw | 5 | 44.5 ±1.6 |\n\
                        | mixed-lp | 5 | **78.04** ±5.8 |\n\nIn 60 of 60 runs.\n";

    fn found(claim: &str, text: &str) -> Result<(), String> {
        check(claim, text, &|file| {
            if file == "p.md" {
                PAGE.into()
            } else {
                String::new()
            }
        })
    }

    #[test]
    fn a_claim_is_what_its_cell_says_in_percent_or_not() {
        assert!(found("0.780 = p.md | fac | mixed-lp | MAP@R", "from 0.780 on").is_ok());
        assert!(found("44.5 = p.md | fac | raw | MAP@R", "44.5").is_ok());
        assert!(found("\"60 of 60\" in p.md", "in 60 of 60 runs").is_ok());
        for (claim, text, why) in [
            (
                "0.781 = p.md | fac | mixed-lp | MAP@R",
                "0.781",
                "has 78.04",
            ),
            (
                "0.780 = p.md | fac | mixed-lp | MAP@R",
                "0.79",
                "does not say 0.780",
            ),
            ("0.780 = p.md | fac | nobody | MAP@R", "0.780", "no row"),
            ("0.780 = p.md | fac | raw | mAP", "0.780", "no column"),
            ("0.780 = q.md | fac | raw | MAP@R", "0.780", "no table"),
            ("\"61 of 61\" in p.md", "61 of 61", "does not say so"),
            ("0.780", "0.780", "write VALUE"),
        ] {
            let said = found(claim, text).unwrap_err();
            assert!(said.contains(why), "{claim}: {said}");
        }
    }

    #[test]
    fn claims_are_found_and_comments_are_not_text() {
        let text = "a 0.5 <!-- claim: 0.5 = f | t | r | c --> b <!-- x -->c";
        assert_eq!(claimed(text), ["0.5 = f | t | r | c"]);
        assert_eq!(without_comments(text), "a 0.5  b c");
    }
}
