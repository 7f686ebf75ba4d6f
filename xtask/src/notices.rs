//! `cargo xtask notices`: names, licenses and their texts, which go with a binary.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use crate::data::Result;
use crate::packages::{Package, of_the_program};

/// How files that hold a license or a notice begin.
const NAMES: [&str; 6] = [
    "license",
    "licence",
    "copying",
    "notice",
    "copyright",
    "unlicense",
];
/// Folders below that of a crate that are looked into: native sources lie there.
const DEPTH: usize = 2;

/// Writes the notices of all crates of the program.
pub(crate) fn write(path: &Path) -> Result<()> {
    let packages = of_the_program()?;
    let foreign: Vec<&Package> = packages
        .values()
        .filter(|package| package.is_foreign)
        .collect();
    // Texts by what they say: most crates share a few, but for the line of the copyright.
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut without = vec![];
    for package in &foreign {
        let found = license_files(&package.folder, DEPTH)?;
        if found.is_empty() {
            without.push(*package);
        }
        for text in found {
            let users = texts.entry(text).or_default();
            let user = format!("{} {}", package.name, package.version);
            if users.last() != Some(&user) {
                users.push(user);
            }
        }
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, page(&foreign, &without, &texts))?;
    println!(
        "{}: {} crates, {} texts, {} without one",
        path.display(),
        foreign.len(),
        texts.len(),
        without.len()
    );
    Ok(())
}

fn page(
    foreign: &[&Package],
    without: &[&Package],
    texts: &BTreeMap<String, Vec<String>>,
) -> String {
    let mut page = "# Third-party software in likewise\n\n\
        The program is built from these crates. Their sources are at crates.io under the same name \
        and version, also those of crates under MPL-2.0, unchanged.\n\n"
        .to_owned();
    for package in foreign {
        let at = package.repository.as_deref().unwrap_or("");
        let line = format!(
            "- {} {}, {}. {at}",
            package.name, package.version, package.license
        );
        page += &(line.trim_end().to_owned() + "\n");
    }
    page += "\n## Crates whose package holds no text\n\n\
        For these the texts below of the licenses that they name hold.\n\n";
    for package in without {
        let authors = package.authors.join(", ");
        let _ = writeln!(
            page,
            "- {} {}, {}. {authors}",
            package.name, package.version, package.license
        );
    }
    for (text, users) in texts {
        let _ = write!(page, "\n## {}\n\n```\n{text}\n```\n", users.join(", "));
    }
    page
}

/// The texts in a folder and some folders below.
fn license_files(folder: &Path, depth: usize) -> Result<Vec<String>> {
    let mut entries = std::fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    let mut texts = vec![];
    for entry in entries {
        let (path, name) = (
            entry.path(),
            entry.file_name().to_string_lossy().to_lowercase(),
        );
        if path.is_dir() {
            if depth > 0 || NAMES.iter().any(|n| name.starts_with(n)) {
                texts.extend(license_files(&path, depth.saturating_sub(1))?);
            }
        } else if is_license(&name) {
            let text = String::from_utf8_lossy(&std::fs::read(&path)?).replace('\r', "");
            texts.push(text.trim_matches('\n').trim_end().to_owned());
        }
    }
    texts.retain(|text| !text.is_empty());
    texts.dedup();
    Ok(texts)
}

/// Whether a file of this name, in small letters, is a text and no source about licenses.
fn is_license(name: &str) -> bool {
    let text = match name.rsplit_once('.') {
        Some((_, ending)) => {
            !["rs", "json", "toml", "c", "h", "hpp", "py", "html"].contains(&ending)
        }
        None => true,
    };
    text && NAMES.iter().any(|n| name.starts_with(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_and_sources_are_not() {
        for name in [
            "license",
            "license-mit",
            "license.md",
            "copying",
            "licence.txt",
            "unlicense",
        ] {
            assert!(is_license(name), "{name}");
        }
        for name in ["license.rs", "readme.md", "licenses.json", "mit.txt"] {
            assert!(!is_license(name), "{name}");
        }
        let folder = tempfile::tempdir().unwrap();
        let native = folder.path().join("zstd/lib/deep");
        std::fs::create_dir_all(&native).unwrap();
        std::fs::write(folder.path().join("LICENSE"), "ours\r\n").unwrap();
        std::fs::write(folder.path().join("zstd/COPYING"), "theirs\n").unwrap();
        std::fs::write(native.join("LICENSE"), "too deep").unwrap();
        assert_eq!(
            license_files(folder.path(), DEPTH).unwrap(),
            ["ours", "theirs"]
        );
    }

    #[test]
    fn the_image_holds_them_and_is_built_from_the_whole_workspace() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
        let image = read("Dockerfile");
        for said in ["--bin xtask -- notices", "/target/THIRD-PARTY.md"] {
            assert!(image.contains(said), "{said}");
        }
        // Cargo builds nothing where a member is missing.
        let ignored = read(".dockerignore");
        for member in ["crates", "fuzz", "xtask"] {
            assert!(ignored.lines().all(|line| line != member), "{member}");
        }
    }
}
