//! The index of `results/README.md`, from the files of the experiments; and that their pages say what these say.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::data::Result;

/// Between these lines the index is written.
const BEGIN: &str = "<!-- The index is written by `cargo xtask results`. -->";
const END: &str = "<!-- The end of the index. -->";

/// What the index says of one page.
struct Entry {
    name: String,
    page: String,
    asks: String,
    answer: String,
    command: String,
}

/// Writes the index; with `--check`, says whether it is as it would be written, and which pages are older than
/// the words of their experiments.
pub(crate) fn results(arguments: &[String]) -> Result<bool> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let path = root.join("results/README.md");
    let page = fs::read_to_string(&path)?;
    let written = with_index(&page, &table(&entries(&root)?))?;
    if !arguments.iter().any(|argument| argument == "--check") {
        fs::write(&path, written)?;
        return Ok(true);
    }
    let fresh = written == page;
    if !fresh {
        eprintln!("xtask: the index of results/README.md is stale; run `cargo xtask results`");
    }
    let older = older(&root)?;
    for said in &older {
        eprintln!("xtask: {said}");
    }
    Ok(fresh && older.is_empty())
}

/// The pages that lack words of their experiments: these were changed, and the page not made again.
fn older(root: &Path) -> Result<Vec<String>> {
    let mut older = Vec::new();
    for file in fs::read_dir(root.join("experiments"))? {
        let file = file?.path();
        // What makes the data of one stands beside it.
        if file.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let page = format!("results/{name}/README.md");
        let Ok(text) = fs::read_to_string(root.join(&page)) else {
            // Not run yet.
            continue;
        };
        let experiment: toml::Table = fs::read_to_string(&file)?.parse()?;
        older.extend(missing(&experiment, &text).map(|key| {
            format!(
                "{page}: it lacks the `{key}` of its experiment as it is now; likewise reproduce \
                 experiments/{name}.toml makes it again from what was measured"
            )
        }));
    }
    older.sort();
    Ok(older)
}

/// The words of an experiment that do not stand on its page.
fn missing<'a>(
    experiment: &'a toml::Table,
    page: &'a str,
) -> impl Iterator<Item = &'static str> + 'a {
    ["protocol", "reading"].into_iter().filter(move |key| {
        let words = experiment.get(*key).and_then(toml::Value::as_str);
        words.is_some_and(|words| !page.contains(words.trim()))
    })
}

/// The pages in their order. Fails on a page that is not in the order, and on one without words.
fn entries(root: &Path) -> Result<Vec<Entry>> {
    let index: toml::Table = fs::read_to_string(root.join("results/index.toml"))?.parse()?;
    let order = index["order"].as_array().ok_or("index.toml: no order")?;
    let order: Vec<&str> = order.iter().filter_map(toml::Value::as_str).collect();
    for folder in fs::read_dir(root.join("results"))? {
        let folder = folder?;
        let name = folder.file_name().to_string_lossy().into_owned();
        if folder.file_type()?.is_dir() && !order.contains(&name.as_str()) {
            return Err(format!("results/index.toml: {name} has no place in the order").into());
        }
    }
    let pages = index.get("page").and_then(toml::Value::as_table);
    let mut named = pages.into_iter().flat_map(toml::Table::keys);
    if let Some(name) = named.find(|name| !order.contains(&name.as_str())) {
        return Err(
            format!("results/index.toml: the page {name} has no place in the order").into(),
        );
    }
    order.iter().map(|name| entry(root, &index, name)).collect()
}

fn entry(root: &Path, index: &toml::Table, name: &str) -> Result<Entry> {
    let folder = root.join("results").join(name);
    let page = if folder.is_dir() {
        format!("{name}/README.md")
    } else {
        format!("{name}.md")
    };
    if !root.join("results").join(&page).exists() {
        return Err(format!("results/{page}: no such page").into());
    }
    let experiment = format!("experiments/{name}.toml");
    let own = index.get("page").and_then(|pages| pages.get(name));
    let (words, command) = if let Some(words) = own {
        (words.clone(), None)
    } else {
        let text = fs::read_to_string(root.join(&experiment));
        let text = text.map_err(|e| format!("{experiment}: {e}"))?;
        let words = text.parse::<toml::Table>()?.into();
        (words, Some(format!("likewise reproduce {experiment}")))
    };
    let word = |key: &str| -> Result<String> {
        let word = words.get(key).and_then(toml::Value::as_str);
        Ok(word.ok_or_else(|| format!("{name}: no {key}"))?.to_owned())
    };
    Ok(Entry {
        name: name.to_owned(),
        page,
        asks: word("asks")?,
        answer: word("answer")?,
        command: match command {
            Some(command) => command,
            None => word("command")?,
        },
    })
}

fn table(entries: &[Entry]) -> String {
    let mut table =
        String::from("| study | what it asks | main answer | command |\n|---|---|---|---|\n");
    for entry in entries {
        let Entry {
            name,
            page,
            asks,
            answer,
            command,
        } = entry;
        let _ = writeln!(
            table,
            "| [{name}]({page}) | {asks} | {answer} | `{command}` |"
        );
    }
    table
}

/// The page with this table as its index.
fn with_index(page: &str, table: &str) -> Result<String> {
    let missing = || format!("results/README.md: no line {BEGIN} before {END}");
    let (head, rest) = page.split_once(BEGIN).ok_or_else(missing)?;
    let (_, tail) = rest.split_once(END).ok_or_else(missing)?;
    Ok(format!("{head}{BEGIN}\n\n{table}\n{END}{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_put_between_its_lines() {
        let page = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        let written = with_index(&page, "| t |\n").unwrap();
        assert_eq!(written, format!("a\n{BEGIN}\n\n| t |\n\n{END}\nb\n"));
        assert_eq!(with_index(&written, "| t |\n").unwrap(), written);
        assert!(with_index("a", "").is_err());
    }

    #[test]
    fn a_page_without_the_words_of_its_experiment_is_older() {
        let experiment: toml::Table = "protocol = \"\"\"\none\ntwo\n\"\"\"\nreading = \"three\""
            .parse()
            .unwrap();
        let of = |page: &str| missing(&experiment, page).collect::<Vec<_>>();
        assert!(of("# a\n\none\ntwo\n\nthree").is_empty());
        assert_eq!(of("# a\n\none\n\nthree"), ["protocol"]);
        assert_eq!(of("# a\n\none\ntwo"), ["reading"]);
    }

    #[test]
    fn every_page_has_a_question_and_an_answer() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert!(entries(&root).unwrap().len() > 10);
    }
}
