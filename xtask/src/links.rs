//! `cargo xtask links`: that what the pages link to exists, files and headings.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::data::Result;

/// The pages: files, and folders of them.
const PAGES: [&str; 7] = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs",
    "results",
    "testdata/README.md",
    "fuzz/README.md",
];

/// Follows every relative link of the pages; says which lead nowhere.
pub(crate) fn links() -> Result<bool> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let root = fs::canonicalize(root)?;
    let mut pages = Vec::new();
    for place in PAGES {
        find(&root.join(place), &mut pages)?;
    }
    let mut known = BTreeMap::new();
    let (mut count, mut wrong) = (0, Vec::new());
    for page in &pages {
        for link in targets(&fs::read_to_string(page)?) {
            count += 1;
            if let Some(why) = lost(page, &link, &mut known)? {
                let page = page.strip_prefix(&root).unwrap_or(page);
                wrong.push(format!("{}: {link}: {why}", page.display()));
            }
        }
    }
    for wrong in &wrong {
        eprintln!("{wrong}");
    }
    eprintln!("xtask: {count} links, {} lead nowhere", wrong.len());
    Ok(wrong.is_empty() && count > 0)
}

/// The pages at a place and below.
fn find(place: &Path, pages: &mut Vec<PathBuf>) -> Result<()> {
    if place.is_dir() {
        let mut inside = fs::read_dir(place)?.collect::<std::io::Result<Vec<_>>>()?;
        inside.sort_by_key(fs::DirEntry::file_name);
        for entry in inside {
            find(&entry.path(), pages)?;
        }
    } else if place.extension().is_some_and(|ending| ending == "md") {
        pages.push(place.to_owned());
    }
    Ok(())
}

/// Why a link of a page leads nowhere. `known` keeps the headings of the pages that were read.
fn lost(
    page: &Path,
    link: &str,
    known: &mut BTreeMap<PathBuf, BTreeSet<String>>,
) -> Result<Option<String>> {
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let there = match file {
        "" => page.to_owned(),
        file => page.with_file_name(file),
    };
    if !there.exists() {
        return Ok(Some("there is no such file".into()));
    }
    if anchor.is_empty() {
        return Ok(None);
    }
    let there = fs::canonicalize(there)?;
    if !known.contains_key(&there) {
        known.insert(there.clone(), anchors(&fs::read_to_string(&there)?));
    }
    let is_there = known[&there].contains(anchor);
    Ok((!is_there).then(|| "there is no such heading".into()))
}

/// The lines of a page that are no code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

/// A line without what stands between backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// The relative links of a page, and those to its own headings.
fn targets(text: &str) -> Vec<String> {
    let mut targets = Vec::new();
    for line in prose(text) {
        let line = without_code(line);
        for part in line.split("](").skip(1) {
            let target = part.split([')', ' ']).next().unwrap_or_default();
            let is_foreign = target.contains("://") || target.starts_with("mailto:");
            if !is_foreign && !target.is_empty() {
                targets.push(target.to_owned());
            }
        }
    }
    targets
}

/// The anchors that the headings of a page get: small letters, hyphens for spaces, and no other
/// signs; the second of the same words ends in `-1`.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for line in prose(text) {
        let words = line.trim_start_matches('#');
        let level = line.len() - words.len();
        if !(1..=6).contains(&level) || !words.starts_with(' ') {
            continue;
        }
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let words: String = words.trim().to_lowercase().chars().filter(kept).collect();
        let anchor = words.replace(' ', "-");
        let mut unique = anchor.clone();
        let mut again = 0;
        while !anchors.insert(unique.clone()) {
            again += 1;
            unique = format!("{anchor}-{again}");
        }
    }
    anchors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_and_code_and_other_places_are_not() {
        let text = "See [a](a.md#b), ![c](c.png \"C\") and [d](https://d.org/x).\n\
                    ```text\n[e](e.md)\n```\n`[f](f.md)` [g](#g)\n";
        assert_eq!(targets(text), ["a.md#b", "c.png", "#g"]);
    }

    #[test]
    fn headings_become_anchors() {
        let text = "# A & B: `code`, 2021\n## Same\n#hash\n```sh\n# comment\n```\n## Same\n";
        let found: Vec<String> = anchors(text).into_iter().collect();
        assert_eq!(found, ["a--b-code-2021", "same", "same-1"]);
    }

    #[test]
    fn what_leads_nowhere_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("a.md");
        fs::write(&page, "# One\n").unwrap();
        fs::write(folder.path().join("b.md"), "# Two words\n").unwrap();
        for (link, why) in [
            ("b.md", None),
            ("b.md#two-words", None),
            ("#one", None),
            ("#two", Some("heading")),
            ("b.md#one", Some("heading")),
            ("c.md", Some("file")),
        ] {
            let found = lost(&page, link, &mut BTreeMap::new()).unwrap();
            let as_expected = match why {
                Some(why) => found.as_ref().is_some_and(|found| found.ends_with(why)),
                None => found.is_none(),
            };
            assert!(as_expected, "{link}: {found:?}");
        }
    }
}
