//! Lines below a table that are none of its items: sums, and where the numbers are from.

use super::written::is_number;

/// Words that such lines begin with, in small letters.
const BEGIN: [&str; 9] = [
    "total", "sum", "summe", "somme", "gesamt", "average", "mean", "source", "quelle",
];

/// Lines that are one foot; more are items that are called so.
const LINES: u64 = 3;

/// Cells of a line that are looked at for its first word.
const LOOKED_AT: usize = 8;

/// The last lines, as long as they look like the foot of a table.
#[derive(Debug, Default)]
pub(crate) struct Foot {
    /// First and last line, how many there are, and what stands first in the first.
    found: Option<(u64, u64, u64, String)>,
}

impl Foot {
    /// Takes the next line into account. O(1) in most lines, else O(cells).
    pub(crate) fn see<'a>(&mut self, line: u64, cells: impl Iterator<Item = &'a str>) {
        let (mut held, mut width) = (0, 0);
        let (mut first, mut word) = (None, None);
        for (column, cell) in cells.enumerate() {
            width = column + 1;
            if cell.is_empty() {
                continue;
            }
            held += 1;
            if column == 0 {
                first = Some(cell);
            }
            if word.is_none() && !is_number(cell) {
                word = Some(cell);
            }
            if held > 1 && (word.is_some() || held == LOOKED_AT) {
                break;
            }
        }
        let alone = first.filter(|_| held == 1 && width > 2);
        let Some(text) = word.filter(|word| begins(word)).or(alone) else {
            self.found = None;
            return;
        };
        match &mut self.found {
            Some((_, last, count, _)) => {
                *last = line;
                *count += 1;
            }
            None => self.found = Some((line, line, 1, text.chars().take(40).collect())),
        }
    }

    /// What is to be said of them; `what` is counted there: lines or rows.
    pub(crate) fn remark(&self, what: &str) -> Option<String> {
        let (first, last, count, text) = self.found.as_ref()?;
        let (place, are, them) = if count == &1 {
            (
                format!("{what} {first}"),
                "is read as an item, but looks like sums or a note",
                "it",
            )
        } else {
            let place = format!("{what}s {first} to {last}");
            (
                place,
                "are read as items, but look like sums or notes",
                "them",
            )
        };
        (*count <= LINES).then(|| {
            format!("{place} (\"{text}\") {are} below the table; delete {them} from the file if so")
        })
    }
}

/// Whether a line that begins so is a sum or a note.
fn begins(text: &str) -> bool {
    let text = text.to_lowercase();
    BEGIN.iter().any(|word| {
        let rest = text.strip_prefix(word);
        let next = rest.map(|rest| rest.chars().next());
        next.is_some_and(|next| next.is_none_or(|c| !c.is_alphanumeric() && !"_-".contains(c)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(lines: &[&str]) -> Option<String> {
        let mut foot = Foot::default();
        for (line, text) in (2..).zip(lines) {
            foot.see(line, text.split(','));
        }
        foot.remark("line")
    }

    #[test]
    fn sums_and_notes_at_the_end_are_named() {
        let total = said(&["x,1,a", "Total,7,"]).unwrap();
        assert!(
            total.starts_with("line 3 (\"Total\") is read as an item"),
            "{total}"
        );
        let two = said(&["x,1,a", "Mean:,7,", "Source: Eurostat,,"]).unwrap();
        assert!(
            two.starts_with("lines 3 to 4 (\"Mean:\") are read as items"),
            "{two}"
        );
        assert!(said(&["x,1,a", "5,SUM,"]).is_some() && said(&["x,1,a", "y,,"]).is_some());
        for none in [
            &["Total,7,", "x,1,a"][..],
            &["x,1,a", "Summer,7,b"],
            &["x,1,a", "sum-4,7,b"],
            &["x,1", "y,"],
            &["x,1,a", ",,b"],
            &["total,1,a", "total,2,a", "total,3,b", "total,4,b"],
            &[],
        ] {
            assert_eq!(said(none), None, "{none:?}");
        }
    }
}
