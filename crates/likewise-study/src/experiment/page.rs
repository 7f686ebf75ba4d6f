//! Pages of results as Markdown: what all kinds write alike.

use std::fmt::Write as _;

use likewise::eval::bootstrap::Estimate;

use super::written::Head;

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
    pub(super) fn head(&mut self, head: &Head) {
        self.line(&format!("# {}", head.title));
        if let Some(paper) = &head.paper {
            self.line(&format!(
                "{} of {}, run again by `likewise reproduce`.",
                paper.table, paper.source
            ));
        }
        self.line(&head.protocol);
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

/// How a number is shown: what it is multiplied by, and its digits.
pub(super) type Scale = (f64, usize);

/// A share, from 0 to 1.
pub(super) const SHARE: Scale = (1.0, 3);

/// A share in percent.
pub(super) const PERCENT: Scale = (100.0, 1);

/// A mean with half of its interval, where it has one: `0.868 ±0.012`.
pub(super) fn number(value: &Estimate) -> String {
    let (factor, digits) = SHARE;
    with_half(&format!("{:.digits$}", factor * value.value), value, SHARE)
}

/// A mean in percent with half of its interval, where it has one; the interval is never bold.
pub(super) fn percent(value: &Estimate, is_bold: bool) -> String {
    let (factor, digits) = PERCENT;
    let text = format!("{:.digits$}", factor * value.value);
    with_half(&bold(text, is_bold), value, PERCENT)
}

/// A mean of counts with half of its interval, where it has one: `924 ±30`.
pub(super) fn count(value: &Estimate, digits: usize) -> String {
    with_half(&format!("{:.digits$}", value.value), value, (1.0, digits))
}

/// A difference, shown as `text`, with half of its interval; bold where 0 lies outside of it.
pub(super) fn difference(text: String, value: &Estimate, (factor, digits): Scale) -> String {
    let text = bold(text, value.low > 0.0 || value.high < 0.0);
    format!("{text} ±{:.digits$}", factor * half(value))
}

pub(super) fn bold(text: String, is_bold: bool) -> String {
    if is_bold { format!("**{text}**") } else { text }
}

/// The program and the machine that results are of.
pub(super) fn made_by(machine: &str) -> String {
    format!("likewise {}, {machine}", env!("CARGO_PKG_VERSION"))
}

fn with_half(text: &str, value: &Estimate, (factor, digits): Scale) -> String {
    let half = factor * half(value);
    if half.is_finite() {
        format!("{text} ±{half:.digits$}")
    } else {
        text.to_owned()
    }
}

fn half(value: &Estimate) -> f64 {
    (value.high - value.low) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_with_half_of_their_interval() {
        let of = |value, low, high| Estimate { value, low, high };
        let sure = of(0.868, 0.856, 0.880);
        assert_eq!(number(&sure), "0.868 ±0.012");
        assert_eq!(percent(&sure, true), "**86.8** ±1.2");
        assert_eq!(
            difference("+0.868".into(), &sure, SHARE),
            "**+0.868** ±0.012"
        );
        let unclear = of(0.1, -0.1, 0.3);
        assert_eq!(difference("+10.0".into(), &unclear, PERCENT), "+10.0 ±20.0");
        assert_eq!(count(&of(924.2, 894.2, 954.2), 0), "924 ±30");
        let one_draw = of(0.5, f64::NAN, f64::NAN);
        assert_eq!(count(&one_draw, 1), "0.5");
        assert_eq!(number(&one_draw), "0.500");
        assert_eq!(percent(&one_draw, false), "50.0");
    }
}
