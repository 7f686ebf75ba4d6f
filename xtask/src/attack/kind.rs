//! What is attacked: kinds of input, each with valid files and commands that read them.

use std::collections::BTreeMap;
use std::path::Path;

use rand::RngExt;
use rand::seq::IndexedRandom;

use super::{Rng, mutate};
use crate::data::Result;

/// Contents by path, relative to the folder in which the program is run.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// One execution to be.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Attack {
    pub(super) arguments: Vec<String>,
    pub(super) files: Files,
}

/// A kind of input.
pub(super) trait Kind: Sync {
    fn name(&self) -> &'static str;

    /// The next one; depends on `rng` alone.
    fn attack(&self, rng: &mut Rng) -> Attack;
}

/// A command and valid files for it.
#[derive(Debug, Clone)]
pub(super) struct Case {
    arguments: Vec<String>,
    files: Files,
    /// Which of the files are mutated.
    targets: Vec<String>,
}

impl Case {
    /// `command` is split at spaces; all of these files are mutated.
    pub(super) fn new(command: &str, files: Files) -> Self {
        let targets = files.keys().cloned().collect();
        Self {
            arguments: words(command),
            files,
            targets,
        }
    }

    /// Only these files are mutated.
    pub(super) fn only(mut self, target: impl Fn(&str) -> bool) -> Self {
        self.targets.retain(|name| target(name));
        self
    }
}

pub(super) fn words(command: &str) -> Vec<String> {
    command.split_whitespace().map(str::to_owned).collect()
}

/// A kind whose valid files are mutated.
pub(super) struct Mutated {
    pub(super) name: &'static str,
    pub(super) cases: Vec<Case>,
    /// What a forger puts right after it: digests.
    pub(super) after: fn(&mut Files),
}

impl Mutated {
    pub(super) fn new(name: &'static str, cases: Vec<Case>) -> Self {
        Self {
            name,
            cases,
            after: |_| (),
        }
    }
}

impl Kind for Mutated {
    fn name(&self) -> &'static str {
        self.name
    }

    fn attack(&self, rng: &mut Rng) -> Attack {
        let case = &self.cases[rng.random_range(0..self.cases.len())];
        let mut files = case.files.clone();
        // A file of another case, for splices.
        let other = &self.cases[rng.random_range(0..self.cases.len())];
        let other = other.targets.choose(rng).map(|name| &other.files[name]);
        let other = other.map_or(&[][..], Vec::as_slice);
        for _ in 0..if rng.random_bool(0.9) { 1 } else { 2 } {
            if let Some(name) = case.targets.choose(rng) {
                let mutated = mutate::file(name, &files[name], other, rng);
                files.insert(name.clone(), mutated);
            }
        }
        (self.after)(&mut files);
        Attack {
            arguments: case.arguments.clone(),
            files,
        }
    }
}

impl Attack {
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        if folder.is_dir() {
            std::fs::remove_dir_all(folder)?;
        }
        std::fs::create_dir_all(folder)?;
        for (name, content) in &self.files {
            let path = folder.join(name);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(path, content)?;
        }
        Ok(())
    }

    /// Names that a message may call the input by: of files, and of the folders they are in.
    pub(super) fn names(&self) -> Vec<String> {
        let paths = self
            .files
            .keys()
            .flat_map(|name| Path::new(name).ancestors());
        let names = paths.filter_map(|path| path.file_name());
        let names = names.map(|name| name.to_string_lossy().into_owned());
        names.filter(|name| name.len() > 2).collect()
    }
}

/// All files below a folder, by their path in it.
pub(super) fn files_in(folder: &Path) -> Result<Files> {
    let mut files = Files::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        if path.is_dir() {
            let below = files_in(&path)?;
            files.extend(below.into_iter().map(|(k, v)| (format!("{name}/{k}"), v)));
        } else {
            files.insert(name, std::fs::read(&path)?);
        }
    }
    Ok(files)
}
