//! What stands at the head of a text: titles, lines of names, or data at once.

use csv::{ByteRecord, ReaderBuilder};

use crate::role::Role;
use crate::table::{is_missing, is_number};
use crate::{Error, Result};

/// Lines that are looked at.
const LINES: usize = 30;

/// The first lines, cut by a separator. The last one may not be all there.
pub(super) fn records(text: &[u8], separator: u8, whole: bool) -> Vec<ByteRecord> {
    let reader = ReaderBuilder::new()
        .delimiter(separator)
        .has_headers(false)
        .flexible(true)
        .from_reader(text);
    let mut lines: Vec<ByteRecord> = reader
        .into_byte_records()
        .map_while(std::result::Result::ok)
        .take(LINES)
        .collect();
    if !whole && lines.len() < LINES && lines.len() > 1 {
        lines.pop();
    }
    lines
}

/// The separator that the first line names for Excel (`sep=;`), and the text below it.
pub(super) fn said_separator(text: &[u8]) -> (Option<u8>, &[u8]) {
    let bare = without_mark(text);
    let line = bare.split(|byte| *byte == b'\n').next().unwrap_or(bare);
    let said = line.strip_suffix(b"\r").unwrap_or(line);
    match said {
        [s, e, p, b'=', sign]
            if [*s, *e, *p].eq_ignore_ascii_case(b"sep") && b";,\t| ".contains(sign) =>
        {
            (Some(*sign), below(bare, 1))
        }
        _ => (None, text),
    }
}

/// The text below so many lines.
pub(super) fn below(text: &[u8], lines: usize) -> &[u8] {
    (0..lines).fold(text, |text, _| {
        let end = text.iter().position(|byte| *byte == b'\n');
        end.map_or(&[], |end| &text[end + 1..])
    })
}

fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// Fails where the table is drawn, as in Markdown: the second line is one of dashes.
pub(super) fn no_drawing(text: &[u8]) -> Result<()> {
    let line = text.split(|byte| *byte == b'\n').nth(1).unwrap_or_default();
    let line = line.trim_ascii();
    let drawn = line.iter().all(|byte| b"|-+: ".contains(byte));
    if drawn
        && line.windows(3).any(|three| three == b"---")
        && line.iter().any(|b| b"|+".contains(b))
    {
        return Err(Error::format(
            "line 2: the table is drawn with dashes and bars, as in Markdown; save it as .csv, without the \
             line of dashes and the bars at both ends",
        ));
    }
    Ok(())
}

/// A field as a text, trimmed; what is no text is none.
fn text_of(field: &[u8]) -> &str {
    std::str::from_utf8(field).unwrap_or("?").trim()
}

fn numeric(field: &[u8]) -> bool {
    is_number(text_of(field))
}

/// Whether there are numbers below a name, and besides them nothing but gaps.
fn of_numbers(lines: &[ByteRecord], column: usize) -> bool {
    let fields = || lines.iter().filter_map(|line| line.get(column));
    let open = |field: &[u8]| numeric(field) || is_missing(text_of(field));
    fields().any(numeric) && fields().all(open)
}

/// How many lines stand above the names: a title and the like, of one cell at most each, above a line of
/// names that is full, above numbers. None where it is not as clear as that.
pub(super) fn titles(text: &[u8], separator: u8) -> usize {
    let lines = without_mark(text).split(|byte| *byte == b'\n').take(LINES);
    let line = |line: &[u8]| {
        let found = records(line, separator, true);
        found.into_iter().next().unwrap_or_default()
    };
    let lines: Vec<ByteRecord> = lines.map(line).collect();
    let holds = |field: &&[u8]| !text_of(field).is_empty();
    let held = |line: &ByteRecord| line.iter().filter(holds).count();
    let width = |line: &&ByteRecord| line.len() > 1 && held(line) == line.len();
    let Some(names) = lines.iter().position(|line| width(&line)) else {
        return 0;
    };
    let (above, rest) = lines.split_at(names);
    let Some((head, data)) = rest.split_first() else {
        return 0;
    };
    let is_title = |line: &ByteRecord| {
        let quoted = line.iter().any(|field| field.contains(&b'"'));
        let first = line.get(0).is_some_and(|field| holds(&field));
        !quoted && (held(line) == 0 || (held(line) == 1 && first))
    };
    let data: Vec<ByteRecord> = (data.iter())
        .filter(|line| !line.is_empty())
        .cloned()
        .collect();
    let full = data.iter().filter(|line| line.len() == head.len()).count();
    let is_head = !head.iter().any(numeric)
        && 2 * full > data.len()
        && (0..head.len()).any(|column| of_numbers(&data, column));
    let titled = above.iter().all(is_title) && above.iter().any(|line| held(line) == 1);
    if is_head && titled { names } else { 0 }
}

/// The separator of a text below a title, which does not tell it; else the one that was found.
pub(super) fn separator_below(text: &[u8], found: u8) -> u8 {
    let alone = records(text, found, true);
    if alone.first().is_none_or(|line| line.len() > 1) || titles(text, found) > 0 {
        return found;
    }
    let others = [b';', b'\t', b',', b'|'];
    let below = |other: &u8| titles(text, *other) > 0;
    others.into_iter().find(below).unwrap_or(found)
}

/// Whether the first line is data, though it holds words: numbers stand in it above numbers, and
/// nothing in it speaks for names.
pub(super) fn is_bare(lines: &[ByteRecord]) -> bool {
    let Some((first, below)) = lines.split_first() else {
        return false;
    };
    let (mut numbers, mut words, mut again) = (Vec::new(), false, false);
    for (column, field) in first.iter().enumerate() {
        let text = text_of(field);
        if numeric(field) {
            if !below.is_empty() && !of_numbers(below, column) {
                return false;
            }
            numbers.push(text);
        } else if text.is_empty() || Role::of(text) != Role::Feature || of_numbers(below, column) {
            // An index without a name, a name that has a meaning, and one above numbers.
            return false;
        } else {
            words = true;
            let fields = below.iter().filter_map(|line| line.get(column));
            again |= fields.map(text_of).any(|other| other == text);
        }
    }
    words && !numbers.is_empty() && (again || !are_names(&numbers))
}

/// Whether numbers may be names: years, places from 0 or 1 on, or, of three or more, equal steps, as
/// of wavelengths.
fn are_names(numbers: &[&str]) -> bool {
    let values: Option<Vec<f64>> = numbers.iter().map(|text| text.parse().ok()).collect();
    let Some(values) = values else {
        return false;
    };
    let steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let whole = values.iter().all(|value| value.fract() == 0.0);
    let years = values.iter().all(|value| (1800.0..=2100.0).contains(value));
    let rising = steps.iter().all(|step| *step > 0.0);
    if whole && rising && years {
        return true;
    }
    let begin = values.first().copied().unwrap_or(0.0);
    let is_one = |value: f64| value - 1.0 == 0.0;
    let begins = begin == 0.0 || (is_one(begin) && values.len() > 1);
    let counted = whole && begins && steps.iter().copied().all(is_one);
    let step = steps.first().copied().unwrap_or(0.0);
    let even = |other: &f64| (other - step).abs() <= 0.01 * step.abs();
    counted || (steps.len() > 1 && step != 0.0 && steps.iter().all(even))
}

/// How many lines of names there are, where there are several: words above numbers, though names stand
/// above them.
pub(super) fn lines_of_names(lines: &[ByteRecord]) -> Option<usize> {
    let is_word = |field: &[u8]| !numeric(field) && !is_missing(text_of(field));
    let of_words = |line: &&ByteRecord| !line.iter().any(numeric) && line.iter().any(is_word);
    let names = lines.iter().take_while(of_words).count();
    let (above, below) = lines.split_at(names);
    let over = |column: usize| {
        let mut second = above.iter().skip(1).filter_map(|line| line.get(column));
        second.any(is_word) && of_numbers(below, column)
    };
    let columns = above.first().map_or(0, ByteRecord::len);
    (names > 1 && below.len() > 1 && (0..columns).any(over)).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<ByteRecord> {
        records(text.as_bytes(), b',', true)
    }

    #[test]
    fn a_line_of_data_is_told_from_names_that_are_numbers() {
        let bare = |text: &str| is_bare(&lines(text));
        assert!(bare("x0,10.5,49.1,fox\nx1,5.8,31.9,dog\nx2,3,4,fox\n"));
        assert!(bare("x0,10,fox\nx1,5,fox\n") && bare("x0,7\nx1,9\n") && bare("x0,7,9\n"));
        // It stands again below, whatever the numbers are.
        assert!(bare("fox,2019,2020\ndog,1,2\nfox,3,4\n"));
        for named in [
            "id,10.5,fox\nx1,5.8,dog\n",
            "land,2019,2020\nx,1,2\n",
            "name,0,1,2\nx,1,2,3\n",
            "name,1,2\nx,1,2\n",
            "name,0\nx,1\n",
            "sample,400.5,401.0,401.5\nx,1,2,3\n",
            ",0.25,0.5\nx,1,2\n",
            "w,0.25\n1,2\n",
            "name,5\nx,y\n",
            "a,b\n1,2\n",
            "1.5,2.5\n3,4\n",
        ] {
            assert!(!bare(named), "{named}");
        }
    }

    #[test]
    fn titles_are_short_lines_above_names_above_numbers() {
        let of = |text: &str| titles(text.as_bytes(), b',');
        assert_eq!(of("Sales,,\r\nof May,,\r\n,,\r\nid,w,s\r\nx,1,L\r\n"), 3);
        assert_eq!(of("\u{feff}Sales\n\nid,w\nx,1\ny,2\n"), 2);
        for none in [
            "id,w\nx,1\n",
            ",w\nx,1\n",
            "id,\nx,1\n",
            "label\nx,y\nz,w\n",
            "w\n1,5\n2,5\n",
            "a,b,\nid,w,s\nx,1,L\n",
            "Sales,,\n",
            "",
        ] {
            assert_eq!(of(none), 0, "{none}");
        }
        assert_eq!(separator_below(b"Sales\nid;w\nx;1,5\ny;2,5\n", b','), b';');
        assert_eq!(separator_below(b"label\nx;y\n", b','), b',');
    }

    #[test]
    fn lines_of_words_above_numbers_are_names() {
        let of = |text: &str| lines_of_names(&lines(text));
        assert_eq!(of(",size,size\n,w,h\nsku,,\nx,1,2\ny,3,4\n"), Some(3));
        assert_eq!(of("id,w\n,kg\nx,1\ny,2\n"), Some(2));
        // Words below words, and a number that is missing.
        assert_eq!(of("id,w,s\nx,,L\ny,1,S\nz,2,S\n"), None);
        assert_eq!(of("id,s\nx,L\ny,S\n"), None);
        assert_eq!(of("id,w\nx,1\ny,2\n"), None);
    }

    #[test]
    fn excel_says_its_separator_in_a_line_of_its_own() {
        assert_eq!(
            said_separator(b"sep=;\r\na;b\n"),
            (Some(b';'), &b"a;b\n"[..])
        );
        assert_eq!(
            said_separator("\u{feff}SEP=\t\na".as_bytes()),
            (Some(b'\t'), &b"a"[..])
        );
        assert_eq!(said_separator(b"sep=x\na"), (None, &b"sep=x\na"[..]));
        assert!(no_drawing(b"| a | b |\n|---|---|\n| 1 | 2 |\n").is_err());
        assert!(no_drawing(b"a|b\n-|-\n1|2\n").is_ok() && no_drawing(b"a\n---\n").is_ok());
    }
}
