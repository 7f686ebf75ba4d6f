//! What comes from outside, be it of the data, of their names or of settings, is shown on a terminal and
//! does nothing there.

use std::fs;
use std::path::Path;

use crate::program::likewise;

/// Writes the clipboard of some terminals, clears the screen, and turns the direction of reading.
const HOSTILE: &str = "\u{1b}]52;c;cm0gLXJm\u{7}\u{9b}2J\u{202e}";

/// 60 items of three classes; ids and classes of even numbers are hostile, and one label is wrong.
fn table() -> String {
    let hostile = |i: usize| if i.is_multiple_of(2) { HOSTILE } else { "" };
    let rows = (0..60).map(|i| {
        let class = i % 3;
        let label = if i == 30 { (class + 1) % 3 } else { class };
        format!(
            "{}{i},{}{label},{},{},{}\n",
            hostile(i),
            hostile(label),
            i % 7,
            i % 11,
            class * 5
        )
    });
    format!("id,label,a,b,c\n{}", rows.collect::<String>())
}

/// The command ends with this code; nothing that it prints acts. Gives all of it.
#[track_caller]
fn is_plain(at: &Path, code: i32, command: &[&str]) -> String {
    let output = likewise(at, command);
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    assert_eq!(output.status.code(), Some(code), "{command:?}: {said:?}");
    let acts = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    assert!(!said.contains(acts), "{command:?}: {said:?}");
    said
}

#[test]
fn names_in_the_data_do_not_act_on_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("h.csv"), table()).unwrap();
    let twice = format!("id,label,x\n{HOSTILE},a,1\n{HOSTILE},a,2\n");
    fs::write(at.join("twice.csv"), twice).unwrap();
    let query = format!("{HOSTILE}0");
    let fit = ["fit", "h.csv", "--split", "item", "--recipe"];
    let propagate = ["propagate", "h.csv", "-k", "5", "-o", "b.npz"];
    let other = [&fit[..], &["rca", "-o", "other"]].concat();
    let fit = [&fit[..], &["mixed-lp", "-k", "5", "-o", "run"]].concat();
    let few = [&propagate[..], &["--labels-per-class", "3", "-v"]].concat();
    // Whether an id or a class is part of the answer.
    let commands: [(i32, bool, &[&str]); 17] = [
        (0, false, &other),
        (0, true, &fit),
        (0, true, &["search", "run", "--id", &query]),
        (0, true, &["search", "run", "--id", &query, "--json"]),
        (0, false, &["eval", "run"]),
        (0, true, &["doctor", "h.csv"]),
        (1, true, &["doctor", "twice.csv"]),
        (0, true, &["advise", "run"]),
        (0, true, &["advise", "run", "--json"]),
        (0, true, &["suspects", "run"]),
        (0, true, &["suspects", "run", "--json"]),
        (0, true, &["duplicates", "h.csv"]),
        (0, true, &["duplicates", "h.csv", "--json"]),
        (0, true, &["compare", "other", "run"]),
        (0, true, &["compare", "other", "run", "--json"]),
        (0, false, &propagate),
        (0, false, &few),
    ];
    for (code, is_named, command) in commands {
        let said = is_plain(at, code, command);
        assert!(!is_named || said.contains("]52;c"), "{command:?}: {said}");
    }
}

#[cfg(unix)]
#[test]
fn names_of_files_do_not_act_on_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let file = |ending: &str| format!("{HOSTILE}{ending}");
    let (data, none, run) = (file(".csv"), file(".npy"), file("run"));
    let (beliefs, next) = (file(".npz"), file("-next.csv"));
    for name in ["h.csv", &data] {
        fs::write(at.join(name), table()).unwrap();
    }
    let fit = ["fit", &data, "--recipe", "rca", "-o", &run];
    let commands: [(i32, &[&str]); 14] = [
        (0, &fit),
        (2, &fit),
        (0, &["eval", &run]),
        (0, &["advise", &run, "-o", &next]),
        (0, &["suspects", &run]),
        (0, &["doctor", &data]),
        (1, &["doctor", &none]),
        // As a pattern of the shell gives it.
        (2, &["doctor", "h.csv", &data]),
        (0, &["duplicates", &data]),
        (0, &["propagate", &data, "-k", "5", "-o", &beliefs]),
        (1, &["advise", &data]),
        (1, &["suspects", &data]),
        (1, &["compare", &run, &data]),
        (2, &["compare", &run, &run]),
    ];
    for (code, command) in commands {
        is_plain(at, code, command);
    }
    // It is shown, and not swallowed.
    let said = is_plain(at, 2, &["doctor", "h.csv", &data]);
    assert!(
        said.contains("unexpected argument '\\u{1b}]52;c;"),
        "{said}"
    );
}

#[test]
fn a_config_file_does_not_act_on_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("h.csv"), table()).unwrap();
    let hostile = "x \\u001b]52;c;cm0gLXJm\\u0007\\u202e";
    for text in [
        format!("\"{hostile}\" = 1"),
        format!("[doctor]\n\"{hostile}\" = true"),
        format!("[\"{hostile}\"]\nk = 1"),
        format!("k = \"{hostile}\""),
        format!("device = \"{hostile}\""),
        // A flag without a value, so that this is one word too many.
        format!("json = \"{hostile}\""),
        format!("view = [\"{hostile}\", {{}}]"),
    ] {
        fs::write(at.join("run.toml"), &text).unwrap();
        let said = is_plain(at, 2, &["doctor", "h.csv", "--config", "run.toml"]);
        assert!(said.starts_with("error: "), "{text}: {said}");
    }
}
