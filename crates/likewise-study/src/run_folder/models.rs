//! Earlier models of a run, each a whole run in a folder of its own: `models/1`, `models/2` ...
//!
//! The run that stands at the top is one of them, or a new one. Before another run takes its place, it is
//! [kept](Models::keep); any of them can be [put in its place](Models::restore) again, all files at
//! one stroke. Files are linked where the file system can, so that a run that is kept takes no room until
//! it is replaced: no file of a run is ever changed in place.

use std::path::{Path, PathBuf};

use super::amend::Amendment;
use super::exchange::{EVENTS, remove, sync};
use super::parts;
use super::record::{Record, WORDS};
use super::{RunFolder, record};
use crate::{Result, failed, usage};

const FOLDER: &str = "models";
const INDEX: &str = "index";

/// Files of a run beside those that it is read by.
const OTHERS: [&str; 3] = ["beliefs.npz", "report.html", "README.md"];

/// The models of a run.
#[derive(Debug, Clone)]
pub struct Models {
    root: PathBuf,
}

/// A model that is kept.
#[derive(Debug, Clone)]
pub struct Kept {
    /// Its number, from 1.
    pub number: u32,
    /// How it came about.
    pub record: Record,
    /// Its folder, a run as any other.
    pub folder: PathBuf,
}

impl Models {
    /// Those of the run in this folder.
    pub fn of(run: &Path) -> Self {
        Self {
            root: run.to_owned(),
        }
    }

    /// The models that are kept, by number. A run that was not finished is none.
    pub fn list(&self) -> Vec<Kept> {
        let kept = self.numbers().into_iter().filter_map(|number| {
            let folder = self.folder(number);
            let record = record(&folder).ok()?;
            Some(Kept {
                number,
                record,
                folder,
            })
        });
        kept.collect()
    }

    /// Where the model of a number lies, or would.
    pub fn folder(&self, number: u32) -> PathBuf {
        self.root.join(FOLDER).join(number.to_string())
    }

    /// The number of the run at the top: that of the same files among the kept ones, else the one it
    /// would get. Fails where the run cannot be read.
    pub fn current(&self) -> Result<u32> {
        let own = record(&self.root)?.parts;
        let same = self
            .list()
            .into_iter()
            .find(|kept| kept.record.parts == own);
        Ok(same.map_or_else(|| self.next(), |kept| kept.number))
    }

    /// The first number above all others. What a fit that was killed left there is removed.
    pub fn next(&self) -> u32 {
        let mut last = 0;
        for number in self.numbers() {
            let folder = self.folder(number);
            if RunFolder::is_run(&folder) {
                last = last.max(number);
            } else {
                // What stays is passed over.
                let _ = remove(&folder);
                last = last.max(if folder.exists() { number } else { 0 });
            }
        }
        last + 1
    }

    fn numbers(&self) -> Vec<u32> {
        let entries = std::fs::read_dir(self.root.join(FOLDER));
        let names = entries.into_iter().flatten().flatten();
        let mut numbers: Vec<u32> = names
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect();
        numbers.sort_unstable();
        numbers
    }

    /// Keeps the run at the top, unless it is kept already; gives its number.
    ///
    /// Fails where another process writes into the folder, and where the run is damaged.
    pub fn keep(&self) -> Result<u32> {
        let (run, _lock) = RunFolder::hold(&self.root)?;
        run.check()?;
        let number = self.current()?;
        let folder = self.folder(number);
        if folder.exists() {
            return Ok(number);
        }
        let begun = self.root.join(FOLDER).join(format!(".{number}.part"));
        remove(&begun)?;
        copy_run(&self.root, &begun)?;
        link(&self.root.join(super::RECORD), &begun.join(super::RECORD))?;
        std::fs::rename(&begun, &folder).map_err(|e| cannot(&begun, &e))?;
        sync(&self.root.join(FOLDER));
        Ok(number)
    }

    /// Puts a model that is kept in the place of the run at the top, which is kept before. Whoever
    /// reads the run finds one of them whole.
    ///
    /// Fails where there is no such model, where another process writes into the folder, and where a
    /// fit was interrupted in it.
    pub fn restore(&self, number: u32) -> Result<()> {
        let folder = self.folder(number);
        if !RunFolder::is_run(&folder) {
            return Err(usage(format!("there is no model {number}")));
        }
        let kept = RunFolder::open_any(&folder)?;
        kept.check()?;
        self.keep()?;
        let amendment = Amendment::begin(&self.root)?;
        copy_run(&folder, &amendment.file(""))?;
        for empty in [EVENTS, WORDS] {
            // Where this run has none, those of the other one go.
            let path = amendment.file(empty);
            std::fs::create_dir_all(&path).map_err(|e| cannot(&path, &e))?;
        }
        amendment.finish(kept.record()?)
    }
}

/// All files of a run but its record, which comes last.
fn copy_run(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to).map_err(|e| cannot(to, &e))?;
    let names = parts::READ.iter().chain(&parts::OPTIONAL).chain(&OTHERS);
    for name in names.map(Path::new) {
        if from.join(name).exists() {
            link(&from.join(name), &to.join(name))?;
        }
    }
    for folder in [INDEX, WORDS, EVENTS] {
        if from.join(folder).is_dir() {
            link_all(&from.join(folder), &to.join(folder))?;
        }
    }
    Ok(())
}

fn link_all(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to).map_err(|e| cannot(to, &e))?;
    for entry in std::fs::read_dir(from).map_err(|e| cannot(from, &e))? {
        let entry = entry.map_err(|e| cannot(from, &e))?;
        let below = to.join(entry.file_name());
        if entry.path().is_dir() {
            link_all(&entry.path(), &below)?;
        } else {
            link(&entry.path(), &below)?;
        }
    }
    Ok(())
}

/// The same file under another name; a copy where the file system cannot.
fn link(from: &Path, to: &Path) -> Result<()> {
    if std::fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    std::fs::copy(from, to).map_err(|e| cannot(from, &e))?;
    let file = std::fs::File::open(to).map_err(|e| cannot(to, &e))?;
    file.sync_all().map_err(|e| cannot(to, &e))
}

fn cannot(path: &Path, e: &std::io::Error) -> crate::Error {
    failed(format!("{}: {e}", path.display()))
}
