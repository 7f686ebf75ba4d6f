//! Messages of the libraries name no flag of the command, and no command with its arguments: who calls
//! them may be a browser or a Python program, and has none. They give a hint, which `likewise-terminal` words
//! as a flag of the command.

use std::path::{Path, PathBuf};

use proc_macro2::{Literal, TokenStream, TokenTree};
use syn::visit::{self, Visit};

use crate::circles::syntax::{attributes, is_for_tests};
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

/// The verbs of the command, each of which is a file.
const VERBS: &str = "crates/likewise-cli/src/verb";

/// Prints the lines of the libraries that speak of flags or commands. True if there are none.
pub(crate) fn flags() -> Result<bool> {
    let mut verbs = Vec::new();
    for verb in std::fs::read_dir(VERBS)? {
        let name = verb?.path();
        verbs.extend(
            name.file_stem()
                .map(|name| name.to_string_lossy().into_owned()),
        );
    }
    let mut clean = true;
    for library in LIBRARIES {
        let mut files = Vec::new();
        sources(&Path::new("crates").join(library).join("src"), &mut files)?;
        for file in files {
            let text = std::fs::read_to_string(&file)?;
            for (line, words) in found(&text, &verbs)? {
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

/// The files of source in a folder, but those of tests.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.file_stem().is_some_and(|name| name == "tests") {
            continue;
        }
        if path.is_dir() {
            sources(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(())
}

/// Whether a line speaks of a flag: `--view`, or `-o`.
fn flagged(line: &str) -> bool {
    line.match_indices('-').any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let behind = &line[at + 1..];
        let letter = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase());
        if let Some(long) = behind.strip_prefix('-') {
            let begins = before.is_none_or(|c| c != '-' && !c.is_alphanumeric());
            return begins && letter(long.chars().next());
        }
        let mut behind = behind.chars();
        let begins = before.is_none_or(|c| " `\"'(".contains(c));
        let is_short = letter(behind.next());
        begins
            && is_short
            && behind
                .next()
                .is_none_or(|c| c != '-' && c != '_' && !c.is_alphanumeric())
    })
}

/// Whether a line speaks of a command with its arguments, `likewise index EMB`, or of one that no backticks tell
/// from the words around it. The name of a verb alone between these says what made something, and not what to type.
fn commands(line: &str, verbs: &[String]) -> bool {
    line.match_indices("likewise ").any(|(at, found)| {
        let behind = &line[at + found.len()..];
        if line[..at].ends_with('`') {
            let said = behind.split('`').next();
            return said.is_some_and(|said| said.trim_end_matches('\\').trim().contains(' '));
        }
        let word = behind.split(|c: char| !c.is_ascii_lowercase()).next();
        verbs.iter().any(|verb| Some(verb.as_str()) == word)
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

/// Lines of strings with a flag or a command in them, by their number; what documents, and what tests alone have, is
/// left out.
fn found(text: &str, verbs: &[String]) -> Result<Vec<(usize, String)>> {
    let mut strings = Strings::default();
    strings.visit_file(&syn::parse_file(text)?);
    let whole: Vec<&str> = text.lines().collect();
    let is_message = |number: usize| whole.get(number - 1).is_none_or(|line| !is_recorded(line));
    let mut lines = strings.lines;
    lines.retain(|(number, line)| flagged(line) && is_message(*number) || commands(line, verbs));
    Ok(lines)
}

/// The strings of some source, line by line.
#[derive(Default)]
struct Strings {
    lines: Vec<(usize, String)>,
}

impl Strings {
    fn push(&mut self, literal: &Literal) {
        let text = literal.to_string();
        if text.contains('"') {
            let lines = text.lines().map(str::to_owned);
            let first = literal.span().start().line;
            self.lines.extend((first..).zip(lines));
        }
    }

    /// Those in what is given to a macro.
    fn gather(&mut self, tokens: TokenStream) {
        let mut is_attribute = false;
        for token in tokens {
            match token {
                TokenTree::Punct(sign) => {
                    let sign = sign.as_char();
                    is_attribute = sign == '#' || is_attribute && sign == '!';
                    continue;
                }
                TokenTree::Group(group) if !is_attribute => self.gather(group.stream()),
                TokenTree::Literal(literal) => self.push(&literal),
                TokenTree::Group(_) | TokenTree::Ident(_) => {}
            }
            is_attribute = false;
        }
    }
}

impl<'a> Visit<'a> for Strings {
    fn visit_item(&mut self, item: &'a syn::Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_attribute(&mut self, _: &'a syn::Attribute) {}

    fn visit_lit_str(&mut self, literal: &'a syn::LitStr) {
        self.push(&literal.token());
    }

    fn visit_macro(&mut self, of: &'a syn::Macro) {
        self.gather(of.tokens.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let verbs = ["index", "advise", "duplicates"].map(str::to_owned);
        let found = found(text, &verbs).unwrap();
        found.into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn flags_are_found_in_messages_and_nowhere_else() {
        let text = r#"//! --view
            /// or -o
            fn said() -> String {
                // --labels
                let x = "choose one with --view";
                let y = a - -b;
                let z = "\
                    or --labels FILE";
                let dashes = "----- a-b, well-known, -1, k - x, x -y2 and -";
                failed(format!("name it: -o {}", x))
            }
            #[cfg(test)]
            mod tests {
                const T: &str = "--json";
            }
        "#;
        assert_eq!(lines(text), [5, 8, 10]);
    }

    #[test]
    fn a_flag_of_one_letter_stands_alone() {
        for flag in ["-o", "name it by `-o FILE`", "(-k)", "give -k, or none"] {
            assert!(flagged(flag), "{flag}");
        }
        for other in ["a -b2", "- o", "x-y", "-1", "semi-", "-O-", "--", "-O"] {
            assert!(!flagged(other), "{other}");
        }
    }

    #[test]
    fn a_command_is_found_by_its_arguments_and_a_recorded_one_is_no_message() {
        let text = r#"
            // build it with `likewise index EMB`
            fn said() -> Vec<String> {
                let a = "build it with `likewise index EMB -o \
                    FOLDER`";
                let b = "asked for by `likewise advise` are";
                let words = ["--add-labels".to_owned(), labels];
                let words = ["fit with --add-labels".to_owned()];
                let said = ["--add-labels".to_owned()];
                html! { p { "(likewise duplicates lists them)" } }
                warn("the others are likewise left out");
                said
            }
        "#;
        assert_eq!(lines(text), [4, 8, 9, 10]);
    }
}
