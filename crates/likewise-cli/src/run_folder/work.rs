//! A run in the making: beside the finished one, which it replaces at one stroke.
//!
//! While a fit works, its folder holds `checkpoints/` and `unfinished/`, in which the new run
//! comes about; a finished run in the folder stays as it is. When all is written, `unfinished`
//! is renamed to `complete`: from this moment on the folder holds the new run. Its files then
//! move up, over those of the old one, `run.json` last. Who reads meanwhile, or after a kill,
//! looks into `complete` first, and the next writer moves up what is left there.

use std::io::ErrorKind::NotFound;
use std::path::{Path, PathBuf};

use likewise_io::atomic;
use serde::{Deserialize, Serialize};

use super::lock::{self, Lock};
use super::parts::{self, Parts};
use super::{CONFIG, Config, RECORD, RunFolder};
use crate::failure::Failure;

pub(super) const UNFINISHED: &str = "unfinished";
pub(super) const COMPLETE: &str = "complete";
const CHECKPOINTS: &str = "checkpoints";
const EVENTS: &str = "events";
const ORIGIN: &str = "origin.json";

/// What may happen to what a folder holds already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rights {
    /// Go on with an unfinished fit.
    pub(crate) resume: bool,
    /// Replace a finished run, or drop an unfinished fit.
    pub(crate) overwrite: bool,
}

/// A run that is being made, in a folder that is held for it.
#[derive(Debug)]
pub(crate) struct Work {
    root: PathBuf,
    /// Whether this process made the folder.
    made: bool,
    /// Whether an earlier fit left checkpoints, which a failure must not take away.
    resumes: bool,
    /// Whether nothing need be tidied up any more.
    over: bool,
    /// A finished run that `resume` found in place of an unfinished one.
    finished: Option<RunFolder>,
    /// Dropped last.
    lock: Option<Lock>,
}

impl Work {
    /// Takes a folder for a new run.
    ///
    /// Fails where it holds anything but a run, or a run that may not be replaced, or where
    /// another process works in it; nothing is touched then.
    pub(crate) fn begin(path: &Path, rights: Rights) -> Result<Self, Failure> {
        let shown = path.display();
        let cannot = |e: std::io::Error| Failure::failed(format!("{shown}: {e}"));
        let made = !path.exists();
        if !made {
            check(path)?;
        }
        std::fs::create_dir_all(path).map_err(cannot)?;
        let mut work = Self {
            root: path.to_owned(),
            made,
            resumes: false,
            over: true,
            finished: None,
            lock: Some(Lock::take(path)?),
        };
        // Another process may have finished its run since the first look.
        check(path)?;
        move_up(path)?;
        let kept = has_begun(path) && !is_empty(&work.checkpoints());
        let finished = path.join(RECORD).exists();
        if kept && !rights.resume && !rights.overwrite {
            return Err(Failure::usage(format!(
                "{shown} holds a fit that was interrupted; --resume goes on with it, \
                 --overwrite begins anew"
            )));
        }
        if finished && !kept && !rights.overwrite {
            if !rights.resume {
                return Err(Failure::usage(format!(
                    "{shown} holds a finished run; --overwrite replaces it when the new one is \
                     complete, or name another folder"
                )));
            }
            work.finished = Some(RunFolder::open(path)?);
        }
        work.over = false;
        work.resumes = kept && rights.resume;
        if !work.resumes {
            remove(&work.root.join(UNFINISHED))?;
            remove(&work.checkpoints())?;
        }
        let made = std::fs::create_dir_all(work.checkpoints())
            .and_then(|()| std::fs::create_dir_all(work.root.join(UNFINISHED)));
        made.map_err(cannot)?;
        sweep(&work.checkpoints());
        sweep(&work.root.join(UNFINISHED));
        sweep(&work.root.join(UNFINISHED).join("index"));
        Ok(work)
    }

    /// The finished run that stands in the folder where there is nothing to go on with.
    pub(crate) fn finished(&self) -> Option<&RunFolder> {
        self.finished.as_ref()
    }

    /// Notes what the run will be of: its settings, and what tells its data from others.
    ///
    /// Fails where the fit that is gone on with was of something else.
    pub(crate) fn note(&self, config: &Config, origin: &Origin) -> Result<(), Failure> {
        if self.resumes && begun(&self.root) != Some((config.clone(), origin.clone())) {
            return Err(Failure::usage(format!(
                "the fit that was interrupted in {} was of other data or settings; give those, \
                 or --overwrite to begin anew",
                self.root.display()
            )));
        }
        self.write_json(ORIGIN, origin)?;
        self.write_json(CONFIG, config)
    }

    /// Where trainings are kept until the run is complete.
    pub(crate) fn checkpoints(&self) -> PathBuf {
        self.root.join(CHECKPOINTS)
    }

    /// Where trainings tell of themselves.
    pub(crate) fn events(&self) -> PathBuf {
        self.file(EVENTS)
    }

    /// The place of a file of the new run.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.root.join(UNFINISHED).join(name)
    }

    pub(crate) fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), Failure> {
        let mut text = serde_json::to_string_pretty(value)?;
        text.push('\n');
        self.write(name, text.as_bytes())
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let write = |file: &mut std::io::BufWriter<_>| Ok(std::io::Write::write_all(file, bytes)?);
        Ok(atomic::write(self.file(name), write)?)
    }

    /// What tells the files of this run from those of another.
    pub(crate) fn parts(&self) -> Result<Parts, Failure> {
        let mark = |name: &&str| Ok((String::from(*name), parts::mark(&self.file(name))?));
        parts::READ.iter().map(mark).collect()
    }

    /// Puts the new run, all of whose files are written, in the place of the old one.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        let cannot = |e: std::io::Error| Failure::failed(format!("{}: {e}", self.root.display()));
        // The record says the same, and more.
        std::fs::remove_file(self.file(ORIGIN)).map_err(cannot)?;
        // Without any, those of an older run go.
        std::fs::create_dir_all(self.events()).map_err(cannot)?;
        // Whatever happens from here on, nothing that was made is taken away.
        self.over = true;
        let unfinished = self.root.join(UNFINISHED);
        std::fs::rename(&unfinished, self.root.join(COMPLETE)).map_err(|e| {
            Failure::failed(format!(
                "{}: the run is complete here, but cannot be put in its place: {e}",
                unfinished.display()
            ))
        })?;
        sync(&self.root);
        move_up(&self.root)?;
        // Whatever stays does no harm: the next fit removes it.
        let _ = remove(&self.checkpoints());
        Ok(())
    }

    /// Ends without a run. What the trainings kept stays for another try, unless the same
    /// failure would come again.
    ///
    /// Gives what to tell of it.
    pub(crate) fn give_up(mut self, again: bool) -> Option<&'static str> {
        if again && !self.resumes {
            let _ = remove(&self.checkpoints());
        }
        let kept = !is_empty(&self.checkpoints());
        self.tidy();
        kept.then_some("the same command with --resume goes on from here")
    }

    /// Leaves the folder as it was found, but for checkpoints.
    fn tidy(&mut self) {
        self.over = true;
        if !is_empty(&self.checkpoints()) {
            return;
        }
        // Whatever stays does no harm: the next fit removes it.
        let _ = remove(&self.root.join(UNFINISHED));
        let _ = remove(&self.checkpoints());
        self.lock = None;
        if self.made {
            let _ = std::fs::remove_dir(&self.root);
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if !self.over {
            self.tidy();
        }
    }
}

/// Refuses a folder that holds anything but a run of ours or parts of one. Files of others
/// beside a run are left alone.
fn check(path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    if !path.is_dir() {
        return Err(Failure::usage(format!(
            "{shown} is a file; name a folder for the run"
        )));
    }
    if RunFolder::is_run(path) || has_begun(path) {
        return Ok(());
    }
    let entries = std::fs::read_dir(path);
    let entries = entries.map_err(|e| Failure::failed(format!("{shown}: {e}")))?;
    let own = [UNFINISHED, CHECKPOINTS, lock::NAME];
    for entry in entries.flatten() {
        let name = entry.file_name();
        if !own.iter().any(|own| name == *own) || !holds_nothing(&entry.path()) {
            return Err(Failure::usage(format!(
                "{shown} holds something else than a run ({}); name another folder",
                name.to_string_lossy()
            )));
        }
    }
    Ok(())
}

/// Whether there is nothing below but what a killed process may have left: empty folders, a lock
/// and temporary files.
fn holds_nothing(place: &Path) -> bool {
    match std::fs::read_dir(place) {
        Ok(mut entries) => entries.all(|entry| entry.is_ok_and(|e| holds_nothing(&e.path()))),
        Err(_) => place.file_name().is_some_and(|name| {
            let name = name.to_string_lossy();
            [lock::NAME, ORIGIN].contains(&&*name)
                || name.starts_with('.') && name.ends_with(".part")
        }),
    }
}

/// What tells the data of a run from others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    /// Their digest.
    pub(crate) data_sha256: String,
    /// What was taken of them, and how.
    pub(crate) read_as: String,
}

/// Whether a fit of ours was begun here.
pub(super) fn has_begun(path: &Path) -> bool {
    begun(path).is_some()
}

/// The settings and the data of a fit that was begun here.
pub(crate) fn begun(path: &Path) -> Option<(Config, Origin)> {
    let read = |name: &str| {
        let path = path.join(UNFINISHED).join(name);
        likewise_io::read_file(path, crate::data::MOST_TEXT).ok()
    };
    let config = serde_json::from_slice(&read(CONFIG)?).ok()?;
    let origin = serde_json::from_slice(&read(ORIGIN)?).ok()?;
    Some((config, origin))
}

/// Moves the files of a complete run up, over those of an older one.
///
/// Killed at any moment, it can be repeated: what is left below is of the new run, and what
/// has gone is where it belongs.
pub(super) fn move_up(root: &Path) -> Result<(), Failure> {
    let cannot = |e: std::io::Error| Failure::failed(format!("{}: {e}", root.display()));
    let complete = root.join(COMPLETE);
    let entries = match std::fs::read_dir(&complete) {
        Err(e) if e.kind() == NotFound => return Ok(()),
        entries => entries.map_err(cannot)?,
    };
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    // Until it is there, the folder is not taken for a finished run of its own.
    names.sort_by_key(|name| (name == RECORD, name.clone()));
    for name in names {
        let (from, to) = (complete.join(&name), root.join(&name));
        if from.is_dir() {
            remove(&to)?;
        }
        std::fs::rename(from, to).map_err(cannot)?;
    }
    sync(root);
    std::fs::remove_dir(&complete).map_err(cannot)?;
    // A run that trained nothing tells nothing.
    let _ = std::fs::remove_dir(root.join(EVENTS));
    Ok(())
}

/// Makes names reach the device; not every file system can be asked.
fn sync(folder: &Path) {
    if let Ok(folder) = std::fs::File::open(folder) {
        let _ = folder.sync_all();
    }
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
}

fn remove(folder: &Path) -> Result<(), Failure> {
    match std::fs::remove_dir_all(folder) {
        Err(e) if e.kind() != NotFound => {
            Err(Failure::failed(format!("{}: {e}", folder.display())))
        }
        _ => Ok(()),
    }
}

/// Removes temporary files that a killed process left.
fn sweep(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') && name.ends_with(".part") {
            // One that stays does no harm.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
