//! What is attacked: kinds of input, each with valid files and commands that read them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rand::RngExt;
use rand::seq::IndexedRandom;

use super::process::{Limits, Outcome, run};
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

/// All kinds; their valid files are made here.
pub(super) fn all(place: &Place) -> Result<Vec<Box<dyn Kind>>> {
    Ok(vec![
        Box::new(super::readers::kind(place)?),
        Box::new(super::annotations::kind(place)?),
        Box::new(super::images::kind()?),
        Box::new(super::weights::kind()?),
        Box::new(super::settings::recipes(place)?),
        Box::new(super::settings::files_of_flags()),
        Box::new(super::settings::experiments()),
        Box::new(super::evaluation::kind()?),
        Box::new(super::run_folder::kind(place)?),
        Box::new(super::run_folder::index(place)?),
        Box::new(super::numbers::Numbers),
    ])
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

    /// Writes the input beside what to do with it, so that it can be repeated.
    pub(super) fn keep(&self, folder: &Path, kind: &str, outcome: &Outcome) -> Result<()> {
        self.write(&folder.join("files"))?;
        let card = serde_json::json!({
            "kind": kind,
            "arguments": self.arguments,
            "ended": outcome.verdict.name(),
            "said": outcome.said.chars().take(2000).collect::<String>(),
        });
        let text = serde_json::to_string_pretty(&card)?;
        std::fs::write(folder.join("attack.json"), text + "\n")?;
        println!(
            "{}: {kind}: (cd {}/files && likewise {})",
            outcome.verdict.name(),
            folder.display(),
            self.arguments.join(" "),
        );
        Ok(())
    }
}

/// What [`Attack::keep`] kept in folders of this one, by kind.
pub(super) fn kept(folder: &Path) -> Result<Vec<(String, Attack)>> {
    let mut found = vec![];
    if !folder.is_dir() {
        return Ok(found);
    }
    let entries = std::fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    let mut folders: Vec<PathBuf> = entries.into_iter().map(|e| e.path()).collect();
    folders.sort();
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        let card = std::fs::read(folder.join("attack.json"))?;
        let card: serde_json::Value = serde_json::from_slice(&card)?;
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let arguments = card["arguments"].as_array().into_iter().flatten();
        let attack = Attack {
            arguments: arguments.map(text).collect(),
            files: files_in(&folder.join("files"))?,
        };
        found.push((text(&card["kind"]), attack));
    }
    Ok(found)
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

/// Where the program makes valid files.
pub(super) struct Place {
    binary: PathBuf,
    folder: PathBuf,
    limits: Limits,
}

impl Place {
    pub(super) fn new(binary: &Path, folder: &Path, limits: Limits) -> Result<Self> {
        std::fs::create_dir_all(folder)?;
        Ok(Self {
            binary: binary.to_owned(),
            folder: folder.to_owned(),
            limits,
        })
    }

    /// The files that are there after these commands; all must succeed.
    pub(super) fn made(&self, files: Files, commands: &[&str]) -> Result<Files> {
        let attack = Attack {
            arguments: vec![],
            files,
        };
        attack.write(&self.folder)?;
        for command in commands {
            let (status, said) = run(&self.binary, &words(command), &self.folder, self.limits)?;
            if !status.is_some_and(|status| status.success()) {
                return Err(format!("likewise {command}: {said}").into());
            }
        }
        let mut files = files_in(&self.folder)?;
        files.retain(|name, _| !name.starts_with(".cache/"));
        Ok(files)
    }

    /// What the program prints.
    pub(super) fn said(&self, command: &str) -> Result<String> {
        let mut program = std::process::Command::new(&self.binary);
        let output = program.args(words(command)).output()?;
        Ok(String::from_utf8(output.stdout)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::process::Verdict;
    use rand_chacha::rand_core::SeedableRng;

    #[test]
    fn an_attack_depends_on_the_generator_alone_and_can_be_kept() {
        let files = |text: &str| Files::from([("a/x.csv".to_owned(), text.as_bytes().to_vec())]);
        let cases =
            ["id,a\n1,2\n", "id,b\n0,0.5\n7,1\n"].map(|t| Case::new("doctor a/x.csv -q", files(t)));
        let kind = Mutated::new("readers", cases.into());
        let attack = |seed| kind.attack(&mut Rng::seed_from_u64(seed));
        assert_eq!(attack(1), attack(1));
        assert!((0..50).any(|seed| attack(seed) != attack(1)));
        assert_eq!(attack(1).names(), ["x.csv"]);
        let folder = tempfile::tempdir().unwrap();
        let outcome = Outcome {
            verdict: Verdict::Panic,
            said: "panicked".into(),
        };
        attack(5)
            .keep(&folder.path().join("one"), "readers", &outcome)
            .unwrap();
        assert_eq!(
            kept(folder.path()).unwrap(),
            [("readers".to_owned(), attack(5))]
        );
        assert!(kept(&folder.path().join("none")).unwrap().is_empty());
    }
}
