//! Messages of the libraries name no flag of the command: who calls them may be a server or a
//! Python program, and has none. They give a hint, which the command words as a flag.

use std::path::{Path, PathBuf};

use crate::data::Result;

/// The crates whose messages others than the command show.
const LIBRARIES: [&str; 6] = [
    "likewise",
    "likewise-io",
    "likewise-image",
    "likewise-nn",
    "likewise-study",
    "likewise-py",
];

/// Prints the lines of the libraries that speak of flags. True if there are none.
pub(crate) fn flags() -> Result<bool> {
    let mut clean = true;
    for library in LIBRARIES {
        let mut files = Vec::new();
        sources(&Path::new("crates").join(library).join("src"), &mut files)?;
        for file in files {
            let text = std::fs::read_to_string(&file)?;
            for (line, words) in found(&text) {
                println!("{}:{line}: a flag in a message: {words}", file.display());
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

/// Lines with a flag outside of comments and tests, by their number.
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
        .filter(|(line, _)| !comment(line) && flagged(line))
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
}
