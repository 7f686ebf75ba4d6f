//! The journal of labels: every change that was acknowledged, one line of JSON each, never rewritten.
//!
//! An entry is on the disk before [`append`](Journal::append) returns. A program that is killed while it
//! writes leaves a torn last line, which was never acknowledged: the next one drops it and says so.
//! Any other damage is an error, since what follows would mean something else.
//!
//! What is labeled follows from the entries that [stand](standing), in their order. The items of an undo only tell
//! what it changed.

use std::collections::HashSet;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use crate::{ErrorKind, Result, failed, no_json};

/// The journal of a run.
pub const NAME: &str = "labels.jsonl";

/// Why nothing can be written.
const BROKEN: &str = "a label could not be written before; start again when there is room";
const FULL: &str =
    "the last label could not be written, nor can anything else: make room on its disk";
const REMOVED: &str = "it was removed or replaced; start the server again";

/// One change of labels, as it stands in the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// From 1, without gaps.
    pub sequence: u64,
    /// When, in Greenwich.
    pub time: String,
    /// Who.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// Whether files of labels said so, whose names are who it was, or items that were added.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub file: bool,
    /// What was done.
    pub what: What,
    /// The items whose label changed, or was given again by somebody else.
    pub items: Vec<Change>,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum What {
    /// Labels were given or taken away.
    Label,
    /// A class was added.
    AddClass(String),
    /// A class got another name.
    RenameClass {
        /// Its old name.
        from: String,
        /// Its new name.
        to: String,
    },
    /// The labels of a class became those of another.
    MergeClass {
        /// The class that is gone.
        from: String,
        /// The class that has its labels.
        into: String,
    },
    /// An earlier entry was taken back.
    Undo(u64),
}

/// A label that changed. `null` is no label, `outside` none of the classes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The item.
    pub id: String,
    /// Its label before. That of the first change of an item is what it had before anybody labeled here.
    pub old: Option<String>,
    /// Its label after.
    pub new: Option<String>,
    /// Whether the one before was known and hidden from the fit, to measure by.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
}

/// The place after an entry of a journal, by which another journal is told from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The number of the entry.
    pub sequence: u64,
    /// Its time.
    pub time: String,
}

impl Place {
    /// The place after an entry.
    pub fn at(entry: &Entry) -> Self {
        Self {
            sequence: entry.sequence,
            time: entry.time.clone(),
        }
    }

    /// The place after the last of these entries; none before the first.
    pub fn after(entries: &[Entry]) -> Option<Self> {
        entries.last().map(Self::at)
    }

    /// Those of these entries that stand up to it; none where they are of another journal.
    pub fn of<'a>(place: Option<&Self>, entries: &'a [Entry]) -> &'a [Entry] {
        let until = place.and_then(|place| {
            let last = entries.binary_search_by_key(&place.sequence, |entry| entry.sequence);
            last.ok().filter(|&last| entries[last].time == place.time)
        });
        &entries[..until.map_or(0, |last| last + 1)]
    }
}

/// The open journal, held against other processes.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Bytes of whole entries.
    length: u64,
    entries: Vec<Entry>,
    /// Whether an append failed in a way that could not be mended.
    broken: Arc<AtomicBool>,
    /// Whether the last append failed: the disk may be full.
    failed: Arc<AtomicBool>,
}

/// Looks after a journal that another thread writes.
#[derive(Debug, Clone)]
pub struct Watch {
    path: PathBuf,
    /// The file when it was opened.
    own: Option<Arc<Metadata>>,
    broken: Arc<AtomicBool>,
    failed: Arc<AtomicBool>,
}

impl Watch {
    /// Why no entry can be written, as far as that is seen without writing one. Costs a look at the folder; where the last
    /// entry could not be written, a file in it that is removed again.
    pub fn fault(&self) -> Option<&'static str> {
        if self.broken.load(Ordering::Relaxed) {
            return Some(BROKEN);
        }
        let there = std::fs::metadata(&self.path);
        let is_there = there.is_ok_and(|there| {
            // Where files have no numbers, it is enough that there is one.
            let same = |own: &Arc<Metadata>| is_same(own, &there) || !cfg!(unix);
            self.own.as_ref().is_none_or(same)
        });
        if !is_there {
            return Some(REMOVED);
        }
        if self.failed.load(Ordering::Relaxed) {
            if self.has_no_room() {
                return Some(FULL);
            }
            self.failed.store(false, Ordering::Relaxed);
        }
        None
    }

    /// Whether not even a small file can be written beside the journal.
    fn has_no_room(&self) -> bool {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let written = tempfile::tempfile_in(folder).and_then(|mut file| {
            file.write_all(&[b' '; 8192])?;
            file.sync_data()
        });
        written.is_err()
    }
}

impl Journal {
    /// Opens the journal of a run, or begins it; gives how many bytes of a torn last line were
    /// dropped.
    ///
    /// Fails where another process has it open, and where it is damaged before its last line.
    pub fn open(run: &Path) -> Result<(Self, usize)> {
        let path = run.join(NAME);
        let cannot = |e: std::io::Error| failed(format!("{}: {e}", path.display()));
        check_own(&path)?;
        let is_new = !path.exists();
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let opened = options.open(&path);
        let mut file = opened.map_err(|e| no_place_for_labels(run, &e))?;
        match file.try_lock() {
            // Some network drives know no locks: better no protection than no work.
            Ok(()) | Err(TryLockError::Error(_)) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(failed(format!(
                    "{}: another process takes labels for this run, or fits it; use that one, wait for it, or end it",
                    run.display()
                )));
            }
        }
        if is_new && let Ok(folder) = File::open(run) {
            // Not every file system can be asked.
            let _ = folder.sync_all();
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(cannot)?;
        let Split {
            mut entries,
            mut whole,
            last,
        } = split(&path, &text)?;
        let tail = &text[whole..];
        let mut torn = tail.len();
        if let Some(entry) = last {
            // Whole but for its end, which an editor may have taken.
            file.write_all(b"\n").map_err(cannot)?;
            entries.push(entry);
            (whole, torn) = (whole + tail.len() + 1, 0);
        } else if !is_begun(tail) {
            return Err(failed(format!(
                "{}: what stands after its last line is not of it; take the file from a copy, or move it away to \
                 begin without these labels",
                path.display()
            )));
        }
        if torn > 0 {
            file.set_len(whole as u64).map_err(cannot)?;
        }
        if !tail.is_empty() {
            file.sync_all().map_err(cannot)?;
        }
        let journal = Self {
            path,
            file,
            length: whole as u64,
            entries,
            broken: Arc::default(),
            failed: Arc::default(),
        };
        Ok((journal, torn))
    }

    /// Removes it where nothing was ever written into it.
    pub(crate) fn drop_empty(self) {
        if self.entries.is_empty() {
            // Where it stays, it says nothing.
            let _ = std::fs::remove_file(&self.path);
        }
    }

    /// For whoever wants to know whether it can still be written.
    pub fn watch(&self) -> Watch {
        Watch {
            path: self.path.clone(),
            own: self.file.metadata().ok().map(Arc::new),
            broken: self.broken.clone(),
            failed: self.failed.clone(),
        }
    }

    /// All entries, the oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The number of the last entry, 0 before the first.
    pub fn sequence(&self) -> u64 {
        self.entries.last().map_or(0, |entry| entry.sequence)
    }

    /// Writes an entry; it is on the disk when this returns. Its number and its time are set here.
    ///
    /// Where it fails the journal is as before, or takes no further entry.
    pub fn append(
        &mut self,
        who: Option<String>,
        what: What,
        items: Vec<Change>,
    ) -> Result<&Entry> {
        self.write(Entry {
            sequence: self.sequence() + 1,
            time: crate::environment::now(),
            who,
            file: false,
            what,
            items,
        })
    }

    /// Writes what `files` say, as [`append`](Self::append) does what somebody does.
    pub fn append_file(&mut self, files: &str, what: What, items: Vec<Change>) -> Result<&Entry> {
        self.write(Entry {
            sequence: self.sequence() + 1,
            time: crate::environment::now(),
            who: Some(files.to_owned()),
            file: true,
            what,
            items,
        })
    }

    fn write(&mut self, entry: Entry) -> Result<&Entry> {
        if self.broken.load(Ordering::Relaxed) {
            return Err(self.unwritten(BROKEN));
        }
        if !self.is_there() {
            return Err(self.unwritten(REMOVED));
        }
        let mut line = serde_json::to_vec(&entry).map_err(no_json)?;
        line.push(b'\n');
        let start = SeekFrom::Start(self.length);
        let written = (self.file.seek(start).map(drop))
            .and_then(|()| self.file.write_all(&line))
            .and_then(|()| self.file.sync_data());
        self.failed.store(written.is_err(), Ordering::Relaxed);
        if let Err(e) = written {
            // A part of a line must not stand before the next one.
            let mended = self.file.set_len(self.length);
            let broken = mended.and_then(|()| self.file.sync_all()).is_err();
            self.broken.store(broken, Ordering::Relaxed);
            return Err(self.unwritten(&e.to_string()));
        }
        self.length += line.len() as u64;
        self.entries.push(entry);
        Ok(&self.entries[self.entries.len() - 1])
    }

    /// No fault of who asks: a disk that is full, or a folder that is gone.
    fn unwritten(&self, what: &str) -> likewise::Error {
        let said = format!("{}: {what}", self.path.display());
        likewise::Error::new(ErrorKind::Internal, said)
    }

    /// Whether the file that is written still stands at its path: labels in one that nobody finds again
    /// would be acknowledged and lost.
    fn is_there(&self) -> bool {
        match (self.file.metadata(), std::fs::metadata(&self.path)) {
            (Ok(own), Ok(there)) => is_same(&own, &there),
            _ => false,
        }
    }

    /// The entries that [stand](standing), the oldest first.
    pub fn standing(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        standing(&self.entries)
    }

    /// The last entry that [stands](Self::standing), of `who` if given. That a class came with items which were added is
    /// none that anybody takes back: it goes with them.
    pub fn last(&self, who: Option<&str>) -> Option<&Entry> {
        let is_taken = |entry: &Entry| entry.file && matches!(entry.what, What::AddClass(_));
        let is_of = |entry: &Entry| who.is_none() || entry.who.as_deref() == who;
        let own = |entry: &&Entry| is_of(entry) && !is_taken(entry);
        self.standing().rev().find(own)
    }
}

/// The entries that stand, the oldest first: neither an undo nor taken back.
pub fn standing(entries: &[Entry]) -> impl DoubleEndedIterator<Item = &Entry> {
    let undone: HashSet<u64> = (entries.iter())
        .filter_map(|entry| match entry.what {
            What::Undo(sequence) => Some(sequence),
            _ => None,
        })
        .collect();
    entries.iter().filter(move |entry| {
        !matches!(entry.what, What::Undo(_)) && !undone.contains(&entry.sequence)
    })
}

#[cfg(unix)]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    a.len() == b.len()
}

/// Where the journal cannot be written, the run cannot be served.
fn no_place_for_labels(run: &Path, e: &std::io::Error) -> crate::Error {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    let path = run.join(NAME);
    failed(match e.kind() {
        PermissionDenied | ReadOnlyFilesystem => format!(
            "{}: labels that are given to the run are kept in this file, which cannot be written ({e}); change the \
             rights of the folder (ls -ld shows them), or serve a copy of it",
            path.display()
        ),
        _ => format!("{}: {e}", path.display()),
    })
}

/// The entry of this number, if these bytes are one.
fn last_entry(tail: &[u8], number: u64) -> Option<Entry> {
    let entry: Entry = serde_json::from_slice(tail).ok()?;
    (entry.sequence == number).then_some(entry)
}

/// Whether an entry may begin like this. Where the power failed, nothing but zeros may stand where its text did not arrive.
fn is_begun(tail: &[u8]) -> bool {
    let begin = b"{\"sequence\":";
    let written = tail
        .iter()
        .rposition(|&byte| byte != 0)
        .map_or(0, |last| last + 1);
    let tail = &tail[..written];
    tail.starts_with(begin) || begin.starts_with(tail)
}

/// The entries of the journal of a run, the oldest first, without holding it: none where nobody has labeled.
/// A last line that is being written is left out.
///
/// Fails where it is damaged before its last line.
pub fn entries(run: &Path) -> Result<Vec<Entry>> {
    let path = run.join(NAME);
    if std::fs::symlink_metadata(&path).is_err() {
        return Ok(vec![]);
    }
    check_own(&path)?;
    let text = std::fs::read(&path).map_err(|e| failed(format!("{}: {e}", path.display())))?;
    let Split {
        mut entries, last, ..
    } = split(&path, &text)?;
    entries.extend(last);
    Ok(entries)
}

/// What the text of a journal holds.
struct Split {
    /// Of whole lines.
    entries: Vec<Entry>,
    /// Bytes of these.
    whole: usize,
    /// What stands after them, where it is an entry but for the end of its line.
    last: Option<Entry>,
}

fn split(path: &Path, text: &[u8]) -> Result<Split> {
    let whole = (text.iter().rposition(|&byte| byte == b'\n')).map_or(0, |last| last + 1);
    let entries = read(&text[..whole]).map_err(|e| e.within(path.display()))?;
    let last = last_entry(&text[whole..], entries.len() as u64 + 1);
    Ok(Split {
        entries,
        whole,
        last,
    })
}

/// Fails where what stands there is no file of this run: through a link the file of somebody else would
/// be cut, and a pipe would be waited for.
fn check_own(path: &Path) -> Result<()> {
    let there = std::fs::symlink_metadata(path);
    if there.is_ok_and(|there| !there.is_file()) {
        return Err(failed(format!(
            "{}: not a file of labels that were given to this run; take it away",
            path.display()
        )));
    }
    Ok(())
}

/// Fails where another process takes labels for the run in a folder.
pub fn check_free(run: &Path) -> Result<()> {
    if run.join(NAME).exists() {
        Journal::open(run)?;
    }
    Ok(())
}

/// Puts the journal of a run aside, since its data are others now; the name that it has from then on, if
/// there was one. `held` is the journal, for who has it open.
///
/// Fails where another process has it open, and where it cannot be moved.
pub fn put_aside(run: &Path, held: Option<Journal>) -> Result<Option<PathBuf>> {
    let path = run.join(NAME);
    if !path.exists() {
        return Ok(None);
    }
    let journal = match held {
        Some(journal) => journal,
        None => Journal::open(run)?.0,
    };
    if journal.entries.is_empty() {
        journal.drop_empty();
        return Ok(None);
    }
    let free = |number: &u32| !run.join(format!("{NAME}.{number}")).exists();
    let number = (1..u32::MAX).find(free).unwrap_or(u32::MAX);
    let aside = run.join(format!("{NAME}.{number}"));
    std::fs::rename(&path, &aside).map_err(|e| failed(format!("{}: {e}", path.display())))?;
    Ok(Some(aside))
}

/// The entries of whole lines.
fn read(text: &[u8]) -> Result<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::new();
    for (line, number) in text.split(|&byte| byte == b'\n').zip(1..) {
        if line.is_empty() {
            continue;
        }
        let damaged = |e: &dyn std::fmt::Display| {
            failed(format!(
                "line {number} is damaged ({e}); take the file from a copy, or move it away to \
                 begin without these labels"
            ))
        };
        let entry: Entry = serde_json::from_slice(line).map_err(|e| damaged(&e))?;
        let wanted = entries.len() as u64 + 1;
        if entry.sequence != wanted {
            return Err(damaged(&format!(
                "entry {} stands where {wanted} should",
                entry.sequence
            )));
        }
        entries.push(entry);
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(id: &str, new: Option<&str>) -> Vec<Change> {
        vec![Change {
            id: id.into(),
            old: None,
            new: new.map(str::to_owned),
            hidden: false,
        }]
    }

    #[test]
    fn a_place_that_cannot_be_written_is_told_of_with_what_to_do() {
        let e = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        let said = no_place_for_labels(Path::new("run"), &e).to_string();
        assert!(said.starts_with("run/labels.jsonl: labels"), "{said}");
        assert!(said.contains("serve a copy"), "{said}");
    }

    #[test]
    fn a_label_that_could_not_be_written_is_told_of_until_there_is_room() {
        let folder = tempfile::tempdir().unwrap();
        let journal = filled(folder.path());
        let watch = journal.watch();
        journal.failed.store(true, Ordering::Relaxed);
        // There is room here: it is looked at once more, and no more after that.
        assert_eq!(watch.fault(), None);
        assert!(!journal.failed.load(Ordering::Relaxed));
        let path = folder.path().join("gone").join(NAME);
        assert!(Watch { path, ..watch }.has_no_room());
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(left.len(), 1);
    }

    fn filled(run: &Path) -> Journal {
        let (mut journal, torn) = Journal::open(run).unwrap();
        assert_eq!((torn, journal.sequence()), (0, 0));
        let ann = || Some("ann".to_owned());
        journal
            .append(ann(), What::Label, change("a", Some("cat")))
            .unwrap();
        journal
            .append(None, What::AddClass("owl".into()), vec![])
            .unwrap();
        journal
            .append(ann(), What::Label, change("b\n\"ü", None))
            .unwrap();
        journal
    }

    #[test]
    fn what_was_written_is_read_again() {
        let run = tempfile::tempdir().unwrap();
        let before = filled(run.path()).entries().to_vec();
        let (journal, torn) = Journal::open(run.path()).unwrap();
        assert_eq!((journal.entries(), torn), (before.as_slice(), 0));
        assert_eq!(journal.sequence(), 3);
    }

    #[test]
    fn a_line_torn_at_any_byte_is_dropped_and_the_next_entry_takes_its_place() {
        let run = tempfile::tempdir().unwrap();
        drop(filled(run.path()));
        let path = run.path().join(NAME);
        let whole = std::fs::read(&path).unwrap();
        let last = whole[..whole.len() - 1]
            .iter()
            .rposition(|&byte| byte == b'\n')
            .unwrap();
        // Where the power failed, zeros may stand for what did not arrive.
        let cuts = (last + 1..whole.len() - 1).map(|cut| (cut, 0));
        for (cut, zeros) in cuts.chain([(last + 1, 50), (last + 30, 4000)]) {
            let text = [&whole[..cut], &vec![0; zeros]].concat();
            std::fs::write(&path, text).unwrap();
            let (mut journal, torn) = Journal::open(run.path()).unwrap();
            assert_eq!(
                (torn, journal.sequence()),
                (cut + zeros - last - 1, 2),
                "{cut}"
            );
            journal
                .append(None, What::Label, change("c", Some("dog")))
                .unwrap();
            drop(journal);
            let (journal, torn) = Journal::open(run.path()).unwrap();
            assert_eq!((torn, journal.sequence()), (0, 3));
            assert_eq!(journal.entries()[2].items[0].id, "c");
        }
    }

    #[test]
    fn a_last_line_without_its_end_counts_and_the_next_entry_stands_after_it() {
        let run = tempfile::tempdir().unwrap();
        drop(filled(run.path()));
        let path = run.path().join(NAME);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        let (mut journal, torn) = Journal::open(run.path()).unwrap();
        assert_eq!((torn, journal.sequence()), (0, 3));
        assert_eq!(std::fs::read(&path).unwrap(), whole);
        journal
            .append(None, What::Label, change("c", Some("dog")))
            .unwrap();
        drop(journal);
        assert_eq!(Journal::open(run.path()).unwrap().0.sequence(), 4);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_journal_is_left_as_it_is() {
        let run = tempfile::tempdir().unwrap();
        let (theirs, path) = (run.path().join("notes"), run.path().join(NAME));
        std::fs::write(&theirs, "one line without an end").unwrap();
        std::os::unix::fs::symlink(&theirs, &path).unwrap();
        let refused = || Journal::open(run.path()).unwrap_err().to_string();
        assert!(refused().contains("not a file of labels"));
        std::fs::remove_file(&path).unwrap();
        std::fs::copy(&theirs, &path).unwrap();
        assert!(refused().contains("after its last line"));
        assert_eq!(
            std::fs::read(&path).unwrap(),
            std::fs::read(&theirs).unwrap()
        );
    }

    #[test]
    fn damage_before_the_last_line_is_an_error_that_names_it() {
        let run = tempfile::tempdir().unwrap();
        drop(filled(run.path()));
        let path = run.path().join(NAME);
        let text = std::fs::read_to_string(&path).unwrap();
        for (wrong, said) in [
            (text.replacen("cat", "c\"t", 1), "line 1"),
            (
                text.replacen("\"sequence\":2", "\"sequence\":3", 1),
                "line 2",
            ),
            (text.replacen("\"time\"", "\"when\"", 1), "line 1"),
        ] {
            std::fs::write(&path, wrong).unwrap();
            let e = Journal::open(run.path()).unwrap_err().to_string();
            assert!(e.contains(said), "{e}");
        }
    }

    #[test]
    fn nothing_is_acknowledged_that_stands_in_no_run() {
        let run = tempfile::tempdir().unwrap();
        let mut journal = filled(run.path());
        let path = run.path().join(NAME);
        let refused = |journal: &mut Journal| {
            let e = journal
                .append(None, What::Label, change("c", None))
                .unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Internal);
            assert!(e.to_string().contains("removed or replaced"), "{e}");
            assert_eq!(journal.sequence(), 3);
        };
        std::fs::rename(&path, run.path().join("other")).unwrap();
        refused(&mut journal);
        std::fs::write(&path, "").unwrap();
        refused(&mut journal);
        std::fs::rename(run.path().join("other"), &path).unwrap();
        assert!(journal.append(None, What::Label, change("c", None)).is_ok());
    }

    #[test]
    fn a_journal_that_is_put_aside_is_not_found_again() {
        let run = tempfile::tempdir().unwrap();
        assert_eq!(put_aside(run.path(), None).unwrap(), None);
        let journal = filled(run.path());
        assert!(check_free(run.path()).is_err() && put_aside(run.path(), None).is_err());
        drop(journal);
        let text = std::fs::read(run.path().join(NAME)).unwrap();
        let aside = put_aside(run.path(), None).unwrap().unwrap();
        assert_eq!(std::fs::read(aside).unwrap(), text);
        drop(filled(run.path()));
        assert!(
            put_aside(run.path(), None)
                .unwrap()
                .unwrap()
                .ends_with("labels.jsonl.2")
        );
    }

    #[test]
    fn a_run_has_one_journal_that_is_open() {
        let run = tempfile::tempdir().unwrap();
        let first = filled(run.path());
        let e = Journal::open(run.path()).unwrap_err().to_string();
        assert!(e.contains("another process takes labels"), "{e}");
        drop(first);
        assert!(Journal::open(run.path()).is_ok());
    }

    #[test]
    fn the_last_entry_is_that_of_who_asks_and_was_not_taken_back() {
        let run = tempfile::tempdir().unwrap();
        let mut journal = filled(run.path());
        assert_eq!(journal.last(None).unwrap().sequence, 3);
        journal.append(None, What::Undo(3), vec![]).unwrap();
        assert_eq!(journal.last(None).unwrap().sequence, 2);
        assert_eq!(journal.last(Some("ann")).unwrap().sequence, 1);
        assert!(journal.last(Some("bob")).is_none());
    }
}
