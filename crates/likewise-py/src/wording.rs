//! Messages of the library in the words of who writes Python: settings as keywords.

/// What a graph calls the neighbours of an item, which are `k` in the library.
pub(crate) const N_NEIGHBORS: &str = "n_neighbors";

/// What is called otherwise.
const WORDS: [(&str, &str); 6] = [
    (
        "so it needs two views by name, each for itself",
        "which CrossModalLearner learns",
    ),
    ("invalid type: null, expected ", "None is not "),
    ("usual value is null", "usual value is None"),
    ("expected a table", "expected a dict"),
    ("must be a table", "must be a dict"),
    ("or a table", "or a dict"),
];

/// Settings in a message, which stand between backticks, as keywords: `` `method lgc` `` is said of `method="lgc"`,
/// and `` `k` `` of what has that place here. Fields of a file and commands stay as they are.
pub(crate) fn in_python(message: &str, k: &str) -> String {
    // What a file says stays in its own words.
    let words = WORDS.iter().filter(|_| !message.contains(".toml"));
    let message = words.fold(message.to_owned(), |said, (word, ours)| {
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
