//! The crates that the program is made of: what a binary must name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::data::Result;

/// A crate of the program.
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Expression of SPDX; empty where the crate names a file instead.
    pub(crate) license: String,
    pub(crate) authors: Vec<String>,
    pub(crate) repository: Option<String>,
    /// From the registry, not of this workspace.
    pub(crate) is_foreign: bool,
    /// SHA-256 of what the registry gave.
    pub(crate) checksum: Option<String>,
    /// Where its source lies.
    pub(crate) folder: PathBuf,
    /// Names and versions of the crates that it is built with.
    pub(crate) uses: BTreeSet<(String, String)>,
}

/// All crates that the program and the Python package are built from on this system, as they are handed out, by name
/// and version; those that only tests need are left out.
pub(crate) fn of_the_program() -> Result<BTreeMap<(String, String), Package>> {
    let tree = cargo(&[
        "tree",
        "-e",
        "normal,build",
        "-p",
        "likewise-cli",
        "-p",
        "likewise-py",
        "--features",
        "likewise-cli/export",
        "--prefix",
        "none",
        "--locked",
    ])?;
    let used: BTreeSet<(String, String)> = tree.lines().filter_map(named).collect();
    let metadata = cargo(&["metadata", "--format-version", "1", "--locked"])?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let checksums = checksums()?;
    let mut packages = BTreeMap::new();
    let mut by_id = BTreeMap::new();
    for package in list(&metadata["packages"]) {
        let key = (text(&package["name"]), text(&package["version"]));
        by_id.insert(text(&package["id"]), key.clone());
        if !used.contains(&key) {
            continue;
        }
        let mut folder = PathBuf::from(text(&package["manifest_path"]));
        folder.pop();
        let value = Package {
            name: key.0.clone(),
            version: key.1.clone(),
            // An older way to write OR.
            license: text(&package["license"]).replace('/', " OR "),
            authors: list(&package["authors"]).map(text).collect(),
            repository: package["repository"].as_str().map(str::to_owned),
            is_foreign: !package["source"].is_null(),
            checksum: checksums.get(&key).cloned(),
            folder,
            uses: BTreeSet::new(),
        };
        packages.insert(key, value);
    }
    for node in list(&metadata["resolve"]["nodes"]) {
        let Some(package) = by_id
            .get(&text(&node["id"]))
            .and_then(|key| packages.get_mut(key))
        else {
            continue;
        };
        for dependency in list(&node["deps"]) {
            let of_tests = list(&dependency["dep_kinds"]).all(|kind| kind["kind"] == "dev");
            let key = by_id.get(&text(&dependency["pkg"]));
            if let (false, Some(key)) = (of_tests, key.filter(|key| used.contains(*key))) {
                package.uses.insert(key.clone());
            }
        }
    }
    if packages.len() < used.len() {
        return Err("cargo tree and cargo metadata name different crates".into());
    }
    Ok(packages)
}

/// Whether what is built by these arguments holds nothing of burn, which is half of what the usual
/// program is built from; those of its crates that are found are printed.
pub(crate) fn without_networks(build: &[&str]) -> Result<bool> {
    let of = |build: &[&str]| -> Result<BTreeSet<String>> {
        let tree = ["tree", "-e", "normal,build", "--prefix", "none", "--locked"];
        let tree = cargo(&[&tree, build].concat())?;
        let names = tree.lines().filter_map(named).map(|(name, _)| name);
        Ok(names.filter(|name| is_of_burn(name)).collect())
    };
    // Where the usual program has none either, the search itself is broken.
    let [package, name, ..] = build else {
        return Err("name a package".into());
    };
    if of(&[package, name])?.is_empty() {
        return Err(
            format!("there is no burn in the usual {name}: has it another name now?").into(),
        );
    }
    let found = of(build)?;
    for name in &found {
        eprintln!("xtask: cargo tree {}: {name}", build.join(" "));
    }
    Ok(found.is_empty())
}

fn is_of_burn(name: &str) -> bool {
    name == "burn" || name.starts_with("burn-")
}

/// "faer v0.24.4 (proc-macro)" as name and version.
fn named(line: &str) -> Option<(String, String)> {
    let mut words = line.split(' ');
    let name = words.next()?;
    let version = words.next()?.strip_prefix('v')?;
    Some((name.to_owned(), version.to_owned()))
}

fn checksums() -> Result<BTreeMap<(String, String), String>> {
    let lock: toml::Table = std::fs::read_to_string("Cargo.lock")?.parse()?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let entry = |package: &toml::Value| {
        let field = |name| package.get(name)?.as_str().map(str::to_owned);
        Some(((field("name")?, field("version")?), field("checksum")?))
    };
    Ok(packages.into_iter().flatten().filter_map(entry).collect())
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn cargo(arguments: &[&str]) -> Result<String> {
    let output = Command::new("cargo").args(arguments).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("cargo {}: {said}", arguments.join(" ")).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_tree() {
        let pair = |name: &str, version: &str| Some((name.to_owned(), version.to_owned()));
        assert_eq!(named("faer v0.24.4"), pair("faer", "0.24.4"));
        assert_eq!(
            named("maud_macros v0.27.0 (proc-macro) (*)"),
            pair("maud_macros", "0.27.0")
        );
        assert_eq!(named(""), None);
    }
}
