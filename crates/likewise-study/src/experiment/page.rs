//! Pages of results as Markdown: what both kinds write alike.

use std::fmt::Write as _;

use super::written::Paper;

/// A set that was left out, and why.
#[derive(Debug)]
pub(super) struct Skipped {
    pub(super) name: String,
    pub(super) reason: String,
}

/// Paragraphs and tables with an empty line between them.
#[derive(Default)]
pub(super) struct Page {
    pub(super) text: String,
}

impl Page {
    /// Title, what is run again, and how.
    pub(super) fn head(&mut self, title: &str, paper: Option<&Paper>, protocol: &str) {
        self.line(&format!("# {title}"));
        if let Some(paper) = paper {
            self.line(&format!(
                "{} of {}, run again by `likewise reproduce`.",
                paper.table, paper.source
            ));
        }
        self.line(protocol);
    }

    /// What was left out, and why.
    pub(super) fn skipped(&mut self, skipped: &[Skipped]) {
        if skipped.is_empty() {
            return;
        }
        let mut text = String::from("Skipped:\n\n");
        for Skipped { name, reason } in skipped {
            // Writing into a string cannot fail.
            let _ = writeln!(text, "- {name}: {reason}");
        }
        self.line(&text);
    }

    pub(super) fn line(&mut self, line: &str) {
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// The first row is the head.
    pub(super) fn table(&mut self, rows: &[Vec<String>]) {
        let mut text = String::new();
        for (number, row) in rows.iter().enumerate() {
            let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
            // Writing into a string cannot fail.
            let _ = writeln!(text, "| {} |", cells.join(" | "));
            if number == 0 {
                let _ = writeln!(text, "|---|{}", "---:|".repeat(row.len().saturating_sub(1)));
            }
        }
        self.line(&text);
    }
}
