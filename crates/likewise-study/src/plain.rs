//! Text of the data on a terminal: what would move the cursor, write the clipboard or turn the
//! direction of reading is shown in place of done.

use std::borrow::Cow;
use std::fmt::Write;

/// Longest name that is shown whole, characters.
const NAME: usize = 200;
/// Longest message that is shown whole; of a longer one so much is, half from each end.
const MESSAGE: usize = 2000;
/// What stands for what was left out of the middle.
const GAP: &str = " ... ";

/// Whether a terminal acts on this character in place of showing it.
fn acts(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

/// Whether nothing is seen of this character, or a blank, wherever it stands; what joins letters and pictures is seen by
/// what it joins.
fn is_unseen(c: char) -> bool {
    let fillers = matches!(
        c,
        '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}'
    );
    let marks = matches!(c, '\u{ad}' | '\u{34f}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e0fff}');
    fillers || marks
}

/// Whether every letter of a text is shown, and none acts.
pub fn is_shown(text: &str) -> bool {
    !text.contains(|c| acts(c) || is_unseen(c))
}

fn escaped(text: &str, harmless: fn(char) -> bool) -> Cow<'_, str> {
    let bad = |c: char| acts(c) && !harmless(c);
    if !text.contains(bad) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if bad(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

fn cut(text: Cow<'_, str>, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}...", &text[..end])),
        None => text,
    }
}

/// The same without the middle: a message begins with where, and ends with what to do.
fn shortened(text: Cow<'_, str>, most: usize) -> Cow<'_, str> {
    let length = text.chars().count();
    if length <= most {
        return text;
    }
    // Beyond the last character there is only the end.
    let at = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(at, _)| at);
    let (head, tail) = (&text[..at(most / 2)], &text[at(length - most / 2)..]);
    Cow::Owned([head, GAP, tail].concat())
}

/// A name out of the data: an id, a class, a file.
pub fn name(text: &str) -> Cow<'_, str> {
    cut(escaped(text, |_| false), NAME)
}

/// A message of one line. Of a long one the middle is left out.
pub fn message(text: &str) -> Cow<'_, str> {
    shortened(escaped(text, |_| false), MESSAGE)
}

/// One line of a result, however long.
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// Text of several lines, the names in which are plain already.
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c == '\n')
}

/// A page in HTML, whatever the names in it: a browser leaves control characters out, a terminal would not.
pub fn page(html: String) -> String {
    match escaped(&html, |c| !c.is_control() || "\n\t\r".contains(c)) {
        Cow::Owned(shown) => shown,
        Cow::Borrowed(_) => html,
    }
}

/// One line of prose in a Markdown file: names of the data are no markup there.
pub(crate) fn markdown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in line(text).chars() {
        match c {
            '&' => shown.push_str("&amp;"),
            '<' => shown.push_str("&lt;"),
            '*' | '_' | '`' | '[' | '|' | '\\' => shown.extend(['\\', c]),
            _ => shown.push(c),
        }
    }
    shown
}

/// JSON in which no character acts either: those that the format allows as they are stand in
/// strings alone, where an escape means the same.
pub fn json(text: &str) -> Cow<'_, str> {
    let bad = |c: char| acts(c) && c != '\n';
    if !text.contains(bad) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if bad(c) {
            // Writing into a string cannot fail.
            let _ = write!(shown, "\\u{:04x}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: [&str; 6] = [
        "\u{1b}]0;title\u{7}",
        "\u{1b}]52;c;cm0gLXJm\u{7}",
        "\u{9b}2J",
        "abc\u{202e}fdp.exe",
        "two\nlines",
        "\u{2066}x\u{2069}",
    ];

    #[test]
    fn nothing_in_a_name_or_message_acts_on_the_terminal() {
        for text in HOSTILE {
            for shown in [name(text), message(text), line(text)] {
                assert!(!shown.contains(acts), "{shown:?}");
                assert!(shown.contains("\\u{") || shown.contains("\\n"));
            }
            let value = serde_json::to_string(text).unwrap();
            let shown = json(&value);
            assert!(!shown.contains(acts));
            assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
        }
        assert_eq!(lines("a\nb"), "a\nb");
        assert_eq!(name("Käse 猫 é"), "Käse 猫 é");
    }

    #[test]
    fn what_nobody_sees_is_no_name() {
        for text in [
            "\u{200b}",
            "a\u{200b}b",
            "\u{ad}",
            "\u{3164}",
            "\u{2800}",
            "\u{e0041}",
            "a\u{202e}",
        ] {
            assert!(!is_shown(text), "{text:?}");
        }
        for text in [
            "Käse 猫 é",
            "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}",
            "\u{1f469}\u{200d}\u{1f680}",
        ] {
            assert!(is_shown(text), "{text:?}");
        }
    }

    #[test]
    fn a_page_that_is_printed_does_not_act_either() {
        for text in HOSTILE {
            let shown = page(format!("<p>{text}</p>\n"));
            let mut letters = shown.chars().filter(|&c| c != '\n');
            assert!(!letters.any(char::is_control), "{shown:?}");
        }
        let right = "<p>\u{5d0}\u{200f}</p>\n";
        assert_eq!(page(right.into()), right);
    }

    #[test]
    fn a_long_name_is_cut() {
        let long = "é".repeat(16_384);
        assert_eq!(name(&long).chars().count(), NAME + 3);
    }

    #[test]
    fn a_long_message_keeps_both_ends() {
        let long = format!("items.csv: {}; give another file", "é".repeat(16_384));
        let shown = message(&long);
        assert_eq!(shown.chars().count(), MESSAGE + GAP.len());
        assert!(shown.starts_with("items.csv: éé"));
        assert!(shown.ends_with("éé; give another file"));
        let whole = "é".repeat(MESSAGE);
        assert_eq!(message(&whole), whole);
    }
}
