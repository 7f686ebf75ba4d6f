//! Messages of the libraries name no flag of the command, and no command with its arguments: who calls
//! them may be a browser or a Python program, and has none. They give a hint, which `likewise-terminal` words
//! as a flag of the command.

use std::path::{Path, PathBuf};

use crate::data::Result;

/// The crates whose messages others than the command show.
const LIBRARIES: [&str; 7] = [
    "likewise",
    "likewise-io",
    "likewise-image",
    "likewise-nn",
    "likewise-study",
    "likewise-serve",
    "likewise-py",
];

/// Prints the lines of the libraries that speak of flags or commands. True if there are none.
pub(crate) fn flags() -> Result<bool> {
    let mut clean = true;
    for library in LIBRARIES {
        let mut files = Vec::new();
        sources(&Path::new("crates").join(library).join("src"), &mut files)?;
        for file in files {
            let text = std::fs::read_to_string(&file)?;
            for (line, words) in found(&text) {
                println!(
                    "{}:{line}: a flag or a command in a message: {words}",
                    file.display()
                );
                clean = false;
            }
        }
    }
    Ok(clean)
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(())
}

/// Whether a line speaks of a command with its arguments: `likewise index EMB`. The name of a verb alone
/// (`likewise propagate`) says what made something, and not what to type.
fn commands(line: &str) -> bool {
    line.match_indices("`likewise ").any(|(at, found)| {
        let said = line[at + found.len()..].split('`').next();
        said.is_some_and(|said| said.trim_end_matches('\\').trim().contains(' '))
    })
}

/// Whether a line makes the words of a command line that a record keeps: no message, but what was asked.
/// They stand in a list called `words`, each flag a word by itself.
fn is_recorded(line: &str) -> bool {
    let Some(list) = line.trim_start().strip_prefix("let words = [") else {
        return false;
    };
    let literals = list.split('"').skip(1).step_by(2);
    literals.filter(|word| word.contains("--")).all(|word| {
        let flag = word.strip_prefix("--");
        flag.is_some_and(|flag| flag.chars().all(|c| c.is_ascii_lowercase() || c == '-'))
    })
}

/// Lines with a flag or a command outside of comments and tests, by their number.
fn found(text: &str) -> Vec<(usize, &str)> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let comment = |line: &str| line.trim_start().starts_with("//");
    let flagged = |line: &str| {
        line.match_indices("--").any(|(at, _)| {
            let letter = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase());
            let before = line[..at].chars().next_back();
            letter(line[at + 2..].chars().next())
                && !before.is_some_and(|c| c == '-' || c.is_alphanumeric())
        })
    };
    let lines = code.lines().zip(1..);
    lines
        .filter(|(line, _)| {
            !comment(line) && (flagged(line) && !is_recorded(line) || commands(line))
        })
        .map(|(line, number)| (number, line.trim()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_found_in_messages_and_nowhere_else() {
        let text = "// --view\nlet x = \"choose one with --view\";\nlet y = a - -b;\n\
                    let z = \"\\\n    or --labels FILE\";\nlet dashes = \"-----\";\n\
                    #[cfg(test)]\nlet t = \"--json\";\n";
        let lines: Vec<usize> = found(text).into_iter().map(|(line, _)| line).collect();
        assert_eq!(lines, [2, 5]);
    }

    #[test]
    fn a_command_is_found_by_its_arguments_and_a_recorded_one_is_no_message() {
        let text = "// build it with `likewise index EMB`\n\
                    \"build it with `likewise index EMB -o \\\n\
                    \"asked for by `likewise advise` are\"\n\
                    let words = [\"--add-labels\".to_owned(), labels];\n\
                    let words = [\"fit with --add-labels\".to_owned()];\n\
                    let said = [\"--add-labels\".to_owned()];\n";
        let lines: Vec<usize> = found(text).into_iter().map(|(line, _)| line).collect();
        assert_eq!(lines, [2, 5, 6]);
    }
}
