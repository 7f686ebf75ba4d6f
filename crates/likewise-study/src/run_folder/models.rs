//! Earlier models of a run, each a whole run in a folder of its own: `models/1`, `models/2` ...
//!
//! The run that stands at the top is one of them, or a new one. Before another run takes its place, it is
//! [kept](Models::keep); any of them can be [put in its place](Models::restore) again, all files at
//! one stroke. Files are linked where the file system can, so that a run that is kept takes no room until
//! it is replaced: no file of a run is ever changed in place.

use std::path::{Path, PathBuf};

use super::amend::Amendment;
use super::exchange::{EVENTS, remove, sync};
use super::lock::Lock;
use super::parts;
use super::record::{Record, WORDS};
use super::{RunFolder, record};
use crate::{Result, failed, usage};

const FOLDER: &str = "models";
const INDEX: &str = "index";

/// The graph of a run of many items: whoever needs it makes it anew where that of another one lies there.
pub(crate) const GRAPH: &str = ".graph.npz";

/// Files of a run beside those that it is read by.
const OTHERS: [&str; 2] = ["report.html", "README.md"];

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
    /// would get. Changes nothing. Fails where the run cannot be read.
    pub fn current(&self) -> Result<u32> {
        let own = RunFolder::open_any(&self.root)?.record()?;
        let kept = self.list();
        // Of two fits that made the same, that which is there; one that was kept before it was copied says less.
        let same = (kept.iter().find(|kept| kept.record == own))
            .or_else(|| kept.iter().find(|kept| kept.record.parts == own.parts));
        Ok(same.map_or_else(|| self.next(), |kept| kept.number))
    }

    /// The first number above all others, but for what a process that was killed has left half made.
    pub fn next(&self) -> u32 {
        let others = self.numbers().into_iter();
        let last = others.filter(|&number| !self.is_half_made(number)).max();
        last.unwrap_or(0) + 1
    }

    /// Folders that are named as models and can be read as none: damaged ones, and those of others. Nothing
    /// removes them.
    pub fn unreadable(&self) -> Vec<PathBuf> {
        let others = self.numbers().into_iter();
        others
            .filter(|&number| !self.is_half_made(number))
            .map(|number| self.folder(number))
            .filter(|folder| !RunFolder::is_run(folder))
            .collect()
    }

    /// Takes a number for a model that will be made in its folder; what a process that was killed has left
    /// half made there is removed. It counts as made once it is [done](Self::done).
    ///
    /// Fails where anything else stands there.
    pub fn begin(&self, number: u32) -> Result<PathBuf> {
        let (folder, mark) = (self.folder(number), self.mark(number));
        for whole in self.list() {
            // A process was killed just before it did so.
            let _ = std::fs::remove_file(self.mark(whole.number));
        }
        if self.is_half_made(number) {
            Lock::is_free(&folder)?;
            remove(&folder)?;
        }
        if folder.symlink_metadata().is_ok() {
            return Err(failed(format!(
                "{}: no model of this run, and in the place of its next one; move it away",
                folder.display()
            )));
        }
        likewise_io::atomic::make_folder(&self.root.join(FOLDER))?;
        if !is_file(&mark) {
            let made = std::fs::File::create_new(&mark);
            made.map_err(|e| cannot(&mark, &e))?;
        }
        Ok(folder)
    }

    /// The model of a number that was [begun](Self::begin) is whole.
    pub fn done(&self, number: u32) -> Result<()> {
        let mark = self.mark(number);
        std::fs::remove_file(&mark).map_err(|e| cannot(&mark, &e))
    }

    /// Removes a model that was [begun](Self::begin) and is not done.
    pub fn drop_begun(&self, number: u32) {
        if is_file(&self.mark(number)) && remove(&self.folder(number)).is_ok() {
            // What stays is removed by who takes the number next.
            let _ = self.done(number);
        }
    }

    /// Whether a model was [begun](Self::begin) in this folder: nobody but who makes it writes there.
    pub fn is_begun(folder: &Path) -> bool {
        let (Some(name), Some(models)) = (folder.file_name(), folder.parent()) else {
            return false;
        };
        let number = name.to_str().and_then(|name| name.parse().ok());
        let root = models.parent().unwrap_or(Path::new(""));
        models.ends_with(FOLDER) && number.is_some_and(|n| is_file(&Self::of(root).mark(n)))
    }

    /// The file that says that a model is being made: a folder alone may be of anybody.
    fn mark(&self, number: u32) -> PathBuf {
        self.root.join(FOLDER).join(format!(".{number}.begun"))
    }

    /// Whether a folder is a model of ours that was not made to its end.
    fn is_half_made(&self, number: u32) -> bool {
        is_file(&self.mark(number)) && !RunFolder::is_run(&self.folder(number))
    }

    /// As they are written here: `07` is no name of a model.
    fn numbers(&self) -> Vec<u32> {
        let entries = std::fs::read_dir(self.root.join(FOLDER));
        let names = entries.into_iter().flatten().flatten();
        let mut numbers: Vec<u32> = names
            .filter_map(|entry| {
                let name = entry.file_name();
                let number: u32 = name.to_str()?.parse().ok()?;
                (number.to_string() == name.to_str()?).then_some(number)
            })
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
        if self.is_half_made(number) {
            // It stands where this one goes.
            Lock::is_free(&folder)?;
            remove(&folder)?;
            self.done(number)?;
        }
        if folder.exists() {
            return Ok(number);
        }
        let begun = self.root.join(FOLDER).join(format!(".{number}.part"));
        remove(&begun)?;
        copy_run(&self.root, &begun)?;
        link(&self.root.join(super::RECORD), &begun.join(super::RECORD))?;
        bring_graph(&self.root, &begun);
        std::fs::rename(&begun, &folder).map_err(|e| cannot(&begun, &e))?;
        sync(&self.root.join(FOLDER));
        Ok(number)
    }

    /// Puts a model that is kept in the place of the run at the top, which has the number `top` and is kept before. Whoever
    /// reads the run finds one of them whole.
    ///
    /// Fails where there is no such model, where it is of other data, where another run is at the top by now, where another
    /// process writes into the folder, and where a fit was interrupted in it.
    pub fn restore(&self, number: u32, top: u32) -> Result<()> {
        let folder = self.folder(number);
        if !RunFolder::is_run(&folder) {
            return Err(usage(format!("there is no model {number}")));
        }
        let kept = RunFolder::open_any(&folder)?;
        kept.check()?;
        let own = RunFolder::open_any(&self.root)?.record()?;
        if !kept.record()?.has_same_items(&own) {
            return Err(usage(format!(
                "model {number} is of other data than the run, whose labels would go astray; it is a run of its own: {}",
                folder.display()
            )));
        }
        if self.keep()? != top {
            return Err(failed(format!(
                "{}: another command changed the run meanwhile, which model {number} would displace",
                self.root.display()
            )));
        }
        let amendment = Amendment::begin(&self.root)?;
        copy_run(&folder, &amendment.file(""))?;
        for empty in [EVENTS, WORDS] {
            // Where this run has none, those of the other one go.
            let path = amendment.file(empty);
            std::fs::create_dir_all(&path).map_err(|e| cannot(&path, &e))?;
        }
        amendment.finish(kept.record()?)?;
        bring_graph(&folder, &self.root);
        Ok(())
    }
}

/// So that it need not be sought again; where it cannot be brought, it is.
fn bring_graph(from: &Path, to: &Path) {
    if from.join(GRAPH).exists() {
        let _ = std::fs::remove_file(to.join(GRAPH));
        let _ = link(&from.join(GRAPH), &to.join(GRAPH));
    }
}

/// Whether a file stands there, and no link to one.
fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|there| there.is_file())
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_what_was_begun_here_is_removed() {
        let run = tempfile::tempdir().unwrap();
        let models = Models::of(run.path());
        let (damaged, theirs) = (models.folder(1), models.folder(7));
        fs::create_dir_all(theirs.join("deep")).unwrap();
        fs::write(theirs.join("deep/a"), "mine").unwrap();
        fs::create_dir_all(&damaged).unwrap();
        fs::write(damaged.join("run.json"), "{\"version\"").unwrap();
        fs::create_dir(run.path().join("models/09")).unwrap();
        assert_eq!(models.next(), 8);
        assert_eq!(models.unreadable(), [damaged.clone(), theirs.clone()]);
        assert!(models.begin(7).is_err());
        models.drop_begun(7);
        assert!(theirs.join("deep/a").exists() && damaged.join("run.json").exists());
        // A process that was killed has left what nobody else can have made.
        let begun = models.begin(8).unwrap();
        assert!(Models::is_begun(&begun) && !Models::is_begun(&theirs));
        fs::create_dir_all(begun.join("unfinished")).unwrap();
        assert_eq!((models.next(), models.unreadable().len()), (8, 2));
        assert_eq!(models.begin(8).unwrap(), begun);
        assert!(!begun.exists());
        fs::create_dir(&begun).unwrap();
        models.drop_begun(8);
        assert!(!begun.exists());
        assert_eq!(fs::read_dir(run.path().join("models")).unwrap().count(), 3);
    }
}
