//! Messages of the library in the words of who writes Python: settings as keywords.

use std::path::Path;

/// What a graph calls the neighbours of an item, which are `k` in the library.
pub(crate) const N_NEIGHBORS: &str = "n_neighbors";

/// What is done otherwise, whoever asks.
const ACROSS: (&str, &str) = (
    "so it needs two views by name, each for itself",
    "which CrossModalLearner learns",
);

/// What is called otherwise, in a recipe of Python.
const WORDS: [(&str, &str); 5] = [
    ("invalid type: null, expected ", "None is not "),
    ("usual value is null", "usual value is None"),
    ("expected a table", "expected a dict"),
    ("must be a table", "must be a dict"),
    ("or a table", "or a dict"),
];

/// Settings in a message, which stand between backticks, as keywords: `` `method lgc` `` is said of `method="lgc"`,
/// and `` `k` `` of what has that place here. Fields of a file and commands stay as they are.
pub(crate) fn in_python(message: &str, k: &str) -> String {
    let (needs, has) = ACROSS;
    let message = message.replace(needs, has);
    // What is said of a file stays in the words of files.
    let place = message.split_once(": ");
    let said_of_file = place.is_some_and(|(place, _)| {
        Path::new(place)
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("toml"))
    });
    let words = WORDS.iter().filter(|_| !said_of_file);
    let message = words.fold(message.clone(), |said, (word, ours)| {
        said.replace(word, ours)
    });
    let parts: Vec<&str> = message.split('`').collect();
    // There, what comes next is as it was written, and words that stand alone are names of fields.
    let names_next = |said: &str| said.ends_with(" field ") || said.ends_with(" variant ");
    let of_file = parts.iter().step_by(2).any(|said| names_next(said));
    if parts.len().is_multiple_of(2) {
        return message;
    }
    let word = |(place, part): (usize, &&str)| match part.split_once(' ') {
        _ if place % 2 == 0 => (*part).to_owned(),
        _ if names_next(parts[place - 1]) => format!("`{part}`"),
        None if of_file => format!("`{part}`"),
        None if *part == "k" => k.to_owned(),
        Some(("likewise", "explain")) => "`likewise.names`".to_owned(),
        None if *part == "multi_label" => "`multi_label` of the command `likewise fit`".to_owned(),
        Some((name, value)) if name != "likewise" => format!("{name}=\"{value}\""),
        _ => format!("`{part}`"),
    };
    parts.iter().enumerate().map(word).collect()
}
