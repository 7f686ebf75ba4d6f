//! A run in the making: beside the finished one, which it replaces at one stroke.
//!
//! While a fit works, its folder holds `checkpoints/` and `unfinished/`, in which the new run
//! comes about; a finished run in the folder stays as it is. When all is written, `unfinished`
//! is renamed to `complete`: from this moment on the folder holds the new run. Its files then
//! move up, over those of the old one, `run.json` last. Who reads meanwhile, or after a kill,
//! looks into `complete` first, and the next writer moves up what is left there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use likewise::Monitor;
use likewise::error::Hint;
use likewise_image::Vocabulary;
use likewise_io::atomic;
use serde::Serialize;

use super::exchange::{
    ASKED, CHECKPOINTS, COMPLETE, EVENTS, ORIGIN, UNFINISHED, begun, has_begun, move_up, remove,
    sync,
};
use super::links;
use super::lock::{self, Lock};
use super::parts::{self, Parts};
use super::record::{CODES, CONFIG, Config, EMBEDDINGS, Origin, RECORD, WORDS, have_same_items};
use super::{RunFolder, warn_of_aside, words_of};
use crate::journal::Journal;
use crate::study::CHOICE;
use crate::{Result, failed, no_json, usage};

/// What may happen to what a folder holds already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rights {
    /// Go on with an unfinished fit.
    pub resume: bool,
    /// Replace a finished run, or drop an unfinished fit.
    pub overwrite: bool,
    /// Replace a finished run, and drop nothing: what is asked for is that run, made again.
    pub renew: bool,
}

/// A run that is being made, in a folder that is held for it.
#[derive(Debug)]
pub struct Work {
    root: PathBuf,
    /// Whether this process made the folder.
    made: bool,
    earlier: Earlier,
    /// Whether nothing need be tidied up any more.
    over: bool,
    /// A finished run that `resume` found in place of an unfinished one.
    finished: Option<RunFolder>,
    /// The journal of a run of other data that this one will replace: nobody labels what goes aside.
    page: Option<Journal>,
    /// Where labels of other data are that were put aside when the folder was taken.
    aside: Option<PathBuf>,
    /// Dropped last.
    lock: Option<Lock>,
}

/// What an earlier fit has left to go on from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Earlier {
    None,
    /// Checkpoints, which a failure must not take away.
    Kept,
    /// The same, and it was choosing its recipe by what is asked for now.
    Choice,
}

impl Work {
    /// Takes a folder for a new run.
    ///
    /// Fails where it holds anything but a run, or a run that may not be replaced, or where
    /// another process works in it; nothing is touched then.
    pub fn begin(path: &Path, rights: Rights) -> Result<Self> {
        let shown = path.display();
        let made = !path.exists();
        if !made && check(path).is_err() {
            // Between two looks at a folder that is worked in, anything may appear in it.
            Lock::is_free(path)?;
            check(path)?;
        }
        atomic::make_folder(path)?;
        let mut work = Self {
            root: path.to_owned(),
            made,
            earlier: Earlier::None,
            over: true,
            finished: None,
            page: None,
            aside: None,
            lock: Some(Lock::take(path)?),
        };
        // Another process may have finished its run since the first look.
        check(path)?;
        links::check_none(path)?;
        links::check_own(path)?;
        work.aside = move_up(path, None)?;
        check_free(path)?;
        // Half a file is nothing to go on from.
        sweep(&work.checkpoints());
        let kept = has_begun(path) && !is_empty(&work.checkpoints());
        let finished = path.join(RECORD).exists();
        if kept && !rights.resume && !rights.overwrite {
            let message = format!("{shown} holds a fit that was interrupted");
            return Err(usage(message).hint(Hint::ResumeOrOverwrite));
        }
        if finished && !kept && !rights.overwrite && !rights.renew {
            if !rights.resume {
                let message = format!("{shown} holds a finished run");
                return Err(usage(message).hint(Hint::Overwrite));
            }
            work.finished = Some(RunFolder::open_any(path)?);
        }
        work.over = false;
        if kept && rights.resume {
            work.earlier = Earlier::Kept;
        }
        work.make_places()?;
        sweep(&work.root.join(UNFINISHED));
        sweep(&work.root.join(UNFINISHED).join("index"));
        Ok(work)
    }

    fn make_places(&self) -> Result<()> {
        let made = std::fs::create_dir_all(self.checkpoints())
            .and_then(|()| std::fs::create_dir_all(self.root.join(UNFINISHED)));
        made.map_err(|e| cannot(&self.root, e))
    }

    /// Says where labels are that were given to a run of other data, if they were put aside when the folder was taken: who
    /// did so before was killed.
    pub fn tell_of_aside(&mut self, monitor: &Monitor) {
        if let Some(aside) = self.aside.take() {
            warn_of_aside(&aside, monitor);
        }
    }

    /// Whether there is an interrupted fit to go on with.
    pub fn resumes(&self) -> bool {
        self.earlier != Earlier::None
    }

    /// The finished run that stands in the folder where there is nothing to go on with.
    pub fn finished(&self) -> Option<&RunFolder> {
        self.finished.as_ref()
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Whether the run that will be replaced, if there is one, is of other data than these.
    fn replaces_other_data(&self, origin: &Origin) -> bool {
        let new = (&*origin.data_sha256, origin.named_by.as_deref());
        super::record(&self.root).is_ok_and(|old| !have_same_items(old.data_of(), new))
    }

    /// Notes what is asked for, by a text that tells it from all else, while the settings are still to be chosen.
    ///
    /// Fails where the fit that is gone on with was choosing them for something else.
    pub fn ask(&mut self, what: &str) -> Result<()> {
        if self.resumes() && begun(&self.root).is_none() {
            let known = likewise_io::read_file(self.file(ASKED), crate::text::MOST).ok();
            if known.is_none_or(|known| known != what.as_bytes()) {
                return Err(self.of_something_else());
            }
            self.earlier = Earlier::Choice;
        }
        self.write(ASKED, what.as_bytes())
    }

    fn of_something_else(&self) -> crate::Error {
        let shown = self.root.display();
        let own = env!("CARGO_PKG_VERSION");
        let version = begun(&self.root).map(|(config, _)| config.version);
        let message = match version.filter(|version| version != own) {
            Some(version) => format!(
                "the fit that was interrupted in {shown} was of version {version} of likewise, and this is {own}"
            ),
            None => {
                format!("the fit that was interrupted in {shown} was of other data or settings")
            }
        };
        usage(message).hint(Hint::SameOrOverwrite)
    }

    /// Fails where the fit that is gone on with was of other data, or of other labels.
    pub fn check_data(&self, digest: &str) -> Result<()> {
        match begun(&self.root).filter(|_| self.resumes()) {
            Some((_, origin)) if origin.data_sha256 != digest => Err(self.of_something_else()),
            _ => Ok(()),
        }
    }

    /// Notes what the run will be of: its settings, and what tells its data from others. An
    /// interrupted fit that is not gone on with is dropped here, and no sooner.
    ///
    /// Labels of a run of other data that it replaces will be put aside, and nobody gives more of them from here on.
    ///
    /// Fails where the fit that is gone on with was of something else, and where such labels are just being given.
    pub fn note(&mut self, config: &Config, origin: &Origin) -> Result<()> {
        let same = match begun(&self.root) {
            Some((of, from)) => config.agrees_with(&of) && *origin == from,
            None => self.earlier == Earlier::Choice,
        };
        if self.resumes() && !same {
            return Err(self.of_something_else());
        }
        if self.replaces_other_data(origin) {
            self.page = Some(Journal::open(&self.root)?.0);
        }
        if !self.resumes() {
            remove(&self.root.join(UNFINISHED))?;
            self.drop_trainings()?;
            self.make_places()?;
        }
        self.write_json(ORIGIN, origin)?;
        self.write_json(CONFIG, config)?;
        // It is no part of the run.
        match std::fs::remove_file(self.file(ASKED)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(cannot(&self.root, e)),
            _ => Ok(()),
        }
    }

    /// Removes what trainings have kept; what recipes were compared by is known by its own mark.
    fn drop_trainings(&self) -> Result<()> {
        let choice = self.checkpoints().join(CHOICE);
        let kept = std::fs::read(&choice).ok();
        remove(&self.checkpoints())?;
        if let Some(kept) = kept {
            std::fs::create_dir_all(self.checkpoints())
                .and_then(|()| std::fs::write(&choice, kept))
                .map_err(|e| cannot(&choice, e))?;
        }
        Ok(())
    }

    /// Where trainings are kept until the run is complete.
    pub fn checkpoints(&self) -> PathBuf {
        self.root.join(CHECKPOINTS)
    }

    /// Where trainings tell of themselves.
    pub fn events(&self) -> PathBuf {
        self.file(EVENTS)
    }

    /// The place of a file of the new run.
    pub fn file(&self, name: &str) -> PathBuf {
        self.root.join(UNFINISHED).join(name)
    }

    /// Writes a file of the new run as JSON.
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<()> {
        let mut text = serde_json::to_string_pretty(value).map_err(no_json)?;
        text.push('\n');
        self.write(name, text.as_bytes())
    }

    /// Writes a file of the new run.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let write = |file: &mut std::io::BufWriter<_>| Ok(std::io::Write::write_all(file, bytes)?);
        Ok(atomic::write(self.file(name), write)?)
    }

    /// Writes the words of descriptors of points.
    pub fn write_words(&self, all: &[Arc<Vocabulary>]) -> Result<()> {
        for words in all {
            atomic::make_folder(&self.file(WORDS))?;
            words.save(self.file(&words_of(words.descriptor().name())))?;
        }
        Ok(())
    }

    /// What tells the files of this run from those of another.
    pub fn parts(&self) -> Result<Parts> {
        self.parts_of(&parts::READ)
    }

    /// The same of these files.
    pub fn parts_of(&self, names: &[&str]) -> Result<Parts> {
        let mark = |name: &&str| Ok((String::from(*name), parts::mark(&self.file(name))?));
        let optional = parts::OPTIONAL.iter();
        let there = optional.filter(|name| self.file(name).exists());
        names.iter().chain(there).map(mark).collect()
    }

    /// Puts the new run, all of whose files are written, in the place of the old one; says where labels are that
    /// were given to a run of other data.
    pub fn finish(mut self, monitor: &Monitor) -> Result<()> {
        // Without any, those of an older run go.
        for folder in [self.events(), self.file(WORDS)] {
            std::fs::create_dir_all(folder).map_err(|e| cannot(&self.root, e))?;
        }
        // Whatever happens from here on, nothing that was made is taken away.
        self.over = true;
        let unfinished = self.root.join(UNFINISHED);
        std::fs::rename(&unfinished, self.root.join(COMPLETE)).map_err(|e| {
            failed(format!(
                "{}: the run is complete here, but cannot be put in its place: {e}",
                unfinished.display()
            ))
        })?;
        sync(&self.root);
        let aside = move_up(&self.root, self.page.take())?;
        for aside in self.aside.take().iter().chain(&aside) {
            warn_of_aside(aside, monitor);
        }
        self.drop_older();
        // Whatever stays does no harm: the next fit removes it.
        let _ = remove(&self.checkpoints());
        Ok(())
    }

    /// Removes what an older run of the other kind has left.
    fn drop_older(&self) {
        let Ok(record) = super::record(&self.root) else {
            return;
        };
        // Whatever stays does no harm: no record tells of it.
        for name in [EMBEDDINGS, CODES] {
            if !record.parts.contains_key(name) {
                let _ = std::fs::remove_file(self.root.join(name));
            }
        }
        if !record.views.is_empty() {
            let _ = std::fs::remove_file(self.root.join("beliefs.npz"));
            let _ = remove(&self.root.join("index"));
        }
    }

    /// Ends without a run. What the trainings kept stays for another try, unless the same
    /// failure would come again.
    ///
    /// Gives whether there is something to go on from.
    pub fn give_up(mut self, again: bool) -> bool {
        if again && !self.resumes() {
            let _ = remove(&self.checkpoints());
        }
        let kept = !is_empty(&self.checkpoints());
        self.tidy();
        kept
    }

    /// Leaves the folder as it was found, but for checkpoints.
    fn tidy(&mut self) {
        self.over = true;
        if let Some(page) = self.page.take() {
            page.drop_empty();
        }
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

/// What the system refused at a path, and what to do about it.
fn cannot(path: &Path, e: std::io::Error) -> crate::Error {
    failed(
        likewise_io::Error::from(e)
            .within(path.display())
            .to_string(),
    )
}

/// Refuses a folder that holds anything but a run of ours or parts of one. Files of others
/// beside a run are left alone.
fn check(path: &Path) -> Result<()> {
    let shown = path.display();
    if !path.is_dir() {
        return Err(usage(format!(
            "{shown} is a file; name a folder for the run"
        )));
    }
    if RunFolder::is_run(path) || has_begun(path) {
        return Ok(());
    }
    let entries = std::fs::read_dir(path);
    let entries = entries.map_err(|e| cannot(path, e))?;
    let own = [UNFINISHED, CHECKPOINTS, lock::NAME];
    for entry in entries.flatten() {
        let name = entry.file_name();
        if !own.iter().any(|own| name == *own) || !holds_nothing(&entry.path()) {
            return Err(usage(format!(
                "{shown} holds something else than a run ({}); name another folder",
                name.to_string_lossy()
            )));
        }
    }
    Ok(())
}

/// Fails where a folder of somebody else's has the name that a complete run has for a moment.
fn check_free(path: &Path) -> Result<()> {
    let complete = path.join(COMPLETE);
    if !complete.exists() {
        return Ok(());
    }
    Err(usage(format!(
        "{}: a run has a folder of this name while it is put in its place; give yours another name",
        complete.display()
    )))
}

/// Whether there is nothing below but what a killed process may have left: empty folders, a lock
/// and temporary files.
fn holds_nothing(place: &Path) -> bool {
    match std::fs::read_dir(place) {
        Ok(mut entries) => entries.all(|entry| entry.is_ok_and(|e| holds_nothing(&e.path()))),
        Err(_) => place.file_name().is_some_and(|name| {
            let name = name.to_string_lossy();
            [lock::NAME, ORIGIN, ASKED].contains(&&*name)
                || name.starts_with('.') && name.ends_with(".part")
        }),
    }
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_worked_in_is_not_taken_for_anothers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let held = Lock::take(path).unwrap();
        // As when settings were looked for before the first checkpoint was written, and found after.
        std::fs::create_dir(path.join(CHECKPOINTS)).unwrap();
        std::fs::write(path.join(CHECKPOINTS).join("step-1"), "1").unwrap();
        let refused = |rights| Work::begin(path, rights).unwrap_err().to_string();
        let said = refused(Rights::default());
        assert!(said.contains("another process"), "{said}");
        drop(held);
        let said = refused(Rights::default());
        assert!(said.contains("something else than a run"), "{said}");
        assert!(!path.join(lock::NAME).exists());
    }

    #[test]
    fn nobody_begins_to_label_what_will_be_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let config = crate::recipe::Recipe::default();
        let config = Config {
            version: "1".into(),
            view: "x".into(),
            dimensions: 2,
            table: None,
            columns: std::collections::BTreeMap::new(),
            widths: std::collections::BTreeMap::new(),
            encoder: vec![],
            recipe: config,
            protocol: crate::study::Protocol::default(),
        };
        let record = "{\"version\": \"1\", \"arguments\": [], \"seed\": 0, \"data\": \"a\", \"data_sha256\": \"one\", \
                      \"named_by\": \"3 rows\", \"items\": 3, \"seconds\": {}, \"threads\": 1, \"parts\": {}}";
        std::fs::write(path.join(RECORD), record).unwrap();
        let overwrite = Rights {
            overwrite: true,
            ..Rights::default()
        };
        let begun = |data: &str, named_by: &str| {
            let mut work = Work::begin(path, overwrite).unwrap();
            let origin = Origin {
                data_sha256: data.into(),
                named_by: Some(named_by.into()),
                read_as: String::new(),
            };
            let noted = work.note(&config, &origin);
            (work, noted)
        };
        let is_free = || Journal::open(path).is_ok();
        for (data, named_by, free) in [
            ("one; labels two", "3 rows", true),
            ("one", "2 rows", false),
            ("one", "column a", false),
            ("two", "3 rows", false),
        ] {
            let (work, noted) = begun(data, named_by);
            noted.unwrap();
            assert_eq!(is_free(), free, "{data} {named_by}");
            drop(work);
            assert!(is_free());
        }
        // Who looks first drops nothing that was begun.
        let (mut killed, _) = begun("three", "3 rows");
        killed.over = true;
        drop(killed);
        assert!(has_begun(path));
        let held = Journal::open(path).unwrap();
        let (work, noted) = begun("two", "3 rows");
        assert!(noted.is_err() && has_begun(path));
        drop((work, held));
    }

    #[test]
    fn what_was_chosen_for_something_else_is_not_gone_on_with() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let resume = Rights {
            resume: true,
            ..Rights::default()
        };
        let begun = |what: &str| {
            let mut work = Work::begin(path, resume).unwrap();
            let asked = work.ask(what);
            // As a process that was killed.
            work.over = true;
            asked
        };
        begun("one").unwrap();
        std::fs::write(
            path.join(CHECKPOINTS).join(CHOICE),
            "{\"key\": \"a\", \"values\": []}",
        )
        .unwrap();
        let said = begun("two").unwrap_err().to_string();
        assert!(said.contains("of other data or settings"), "{said}");
        begun("one").unwrap();
        // Nobody knows what this choice was for.
        std::fs::remove_file(path.join(UNFINISHED).join(ASKED)).unwrap();
        assert!(begun("one").is_err());
    }
}
