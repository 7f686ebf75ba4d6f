//! How a new run takes the place of an old one, and what a fit that was begun has left.

use std::io::ErrorKind::NotFound;
use std::path::{Path, PathBuf};

use super::parts;
use super::record::{CONFIG, Config, Known, Origin, RECORD, WORDS, have_same_items};
use crate::journal::{self, Journal};
use crate::study::{CHOICE, has_chosen};
use crate::{Result, failed};

pub(super) const UNFINISHED: &str = "unfinished";
pub(super) const COMPLETE: &str = "complete";
pub(super) const EVENTS: &str = "events";
pub(super) const ORIGIN: &str = "origin.json";
/// What is asked for, of a fit whose recipe is still being chosen.
pub(super) const ASKED: &str = "asked.txt";
pub(super) const CHECKPOINTS: &str = "checkpoints";

/// Whether a fit of ours was begun here.
pub fn has_begun(path: &Path) -> bool {
    begun(path).is_some() || has_chosen(&path.join(CHECKPOINTS).join(CHOICE))
}

/// The settings and the data of a fit that was begun here.
pub fn begun(path: &Path) -> Option<(Config, Origin)> {
    let read = |name: &str| {
        let path = path.join(UNFINISHED).join(name);
        likewise_io::read_file(path, crate::text::MOST).ok()
    };
    let config = crate::text::object(&read(CONFIG)?)?;
    let origin = crate::text::object(&read(ORIGIN)?)?;
    Some((config, origin))
}

/// Moves the files of a complete run up, over those of an older one. Labels that were given to an older run of
/// other data must not become labels of these: they are put aside, and where they are then is given.
///
/// Killed at any moment, it can be repeated: what is left below is of the new run, and what
/// has gone is where it belongs. `held` is the journal of the older run, for who has it open.
pub(super) fn move_up(root: &Path, held: Option<Journal>) -> Result<Option<PathBuf>> {
    let cannot = |e: std::io::Error| failed(format!("{}: {e}", root.display()));
    let complete = root.join(COMPLETE);
    let entries = match std::fs::read_dir(&complete) {
        Err(e) if e.kind() == NotFound => return Ok(None),
        entries => entries.map_err(cannot)?,
    };
    let mut entries = entries.peekable();
    // A folder of somebody else's that has this name stays as it is.
    if entries.peek().is_some() && record_in(&complete).is_none() {
        return Ok(None);
    }
    let aside = if is_of_others(root, &complete) {
        journal::put_aside(root, held)?
    } else {
        None
    };
    // The record says the same, and more. Before the run was complete, it told whose it was.
    if let Err(e) = std::fs::remove_file(complete.join(ORIGIN))
        && e.kind() != NotFound
    {
        return Err(cannot(e));
    }
    let entries = entries.filter(|entry| entry.as_ref().is_ok_and(|e| e.file_name() != ORIGIN));
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    remove_others(root, &complete).map_err(cannot)?;
    // Until it is there, the folder is not taken for a finished run of its own.
    names.sort_by_key(|name| (name == RECORD, name.clone()));
    for name in names {
        let (from, to) = (complete.join(&name), root.join(&name));
        if from.is_dir() {
            remove(&to)?;
        }
        std::fs::rename(&from, to).map_err(cannot)?;
        // One that was the same file under two names, as of a model that is put in its own place, is still there.
        match std::fs::remove_file(&from) {
            Err(e) if e.kind() != NotFound => return Err(cannot(e)),
            _ => {}
        }
    }
    sync(root);
    std::fs::remove_dir(&complete).map_err(cannot)?;
    // A run that trained nothing tells nothing, and one without points has no words.
    for folder in [EVENTS, WORDS] {
        let _ = std::fs::remove_dir(root.join(folder));
    }
    Ok(aside)
}

/// Whether the labels that stand beside a run are of one that it has just taken the place of, and of other items.
pub fn are_of_others(root: &Path) -> bool {
    let complete = root.join(COMPLETE);
    complete.exists() && is_of_others(root, &complete)
}

/// Whether labels of the run in one folder would be of other items in that of the other.
fn is_of_others(old: &Path, new: &Path) -> bool {
    let (Some(old), Some(new)) = (record_in(old), record_in(new)) else {
        return false;
    };
    let (Some(a), Some(b)) = (&old.data_sha256, &new.data_sha256) else {
        return false;
    };
    !have_same_items((a, old.named_by.as_deref()), (b, new.named_by.as_deref()))
}

/// What the record in a folder says, if it is one.
fn record_in(folder: &Path) -> Option<Known> {
    let text = likewise_io::read_file(folder.join(RECORD), crate::text::MOST).ok()?;
    crate::text::object(&text)
}

/// Removes what an older run has and a complete one, by its record, has not.
fn remove_others(root: &Path, complete: &Path) -> std::io::Result<()> {
    let Some(record) = record_in(complete) else {
        return Ok(());
    };
    let gone = |name: &&&str| !record.parts.contains_key(**name);
    for name in parts::OPTIONAL.iter().filter(gone) {
        match std::fs::remove_file(root.join(name)) {
            Err(e) if e.kind() != NotFound => return Err(e),
            _ => {}
        }
    }
    Ok(())
}

/// Makes names reach the device; not every file system can be asked.
pub(super) fn sync(folder: &Path) {
    if let Ok(folder) = std::fs::File::open(folder) {
        let _ = folder.sync_all();
    }
}

pub(super) fn remove(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(e) if e.kind() != NotFound => Err(failed(format!("{}: {e}", folder.display()))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::journal::{Change, Journal, What};

    fn record(folder: &Path, data: &str) {
        fs::create_dir_all(folder).unwrap();
        let text = format!("{{\"version\": \"1\", \"data_sha256\": \"{data}\", \"parts\": {{}}}}");
        fs::write(folder.join(RECORD), text).unwrap();
    }

    fn label(run: &Path) {
        let change = Change {
            id: "a".into(),
            old: None,
            new: Some("cat".into()),
            hidden: false,
        };
        let (mut journal, _) = Journal::open(run).unwrap();
        journal.append(None, What::Label, vec![change]).unwrap();
    }

    #[test]
    fn labels_go_aside_with_the_data_that_they_are_of() {
        let run = tempfile::tempdir().unwrap();
        let run = run.path();
        let there = || run.join(journal::NAME).exists();
        record(run, "one");
        label(run);
        // More labels of the same data make no other data.
        record(&run.join(COMPLETE), "one; labels two");
        assert_eq!(move_up(run, None).unwrap(), None);
        assert!(there() && !run.join(COMPLETE).exists());
        record(&run.join(COMPLETE), "two");
        // A process that is killed here leaves them beside what they are not of.
        assert!(are_of_others(run));
        let aside = move_up(run, None).unwrap().unwrap();
        assert!(aside.exists() && !there() && !are_of_others(run));
        assert!(
            fs::read_to_string(run.join(RECORD))
                .unwrap()
                .contains("two")
        );
        assert_eq!(move_up(run, None).unwrap(), None);
    }

    #[test]
    fn a_folder_of_somebody_else_with_the_name_of_a_complete_run_stays() {
        let run = tempfile::tempdir().unwrap();
        let run = run.path();
        record(run, "one");
        let notes = run.join(COMPLETE).join("README.md");
        fs::create_dir(run.join(COMPLETE)).unwrap();
        fs::write(&notes, "what is to be done").unwrap();
        assert_eq!(move_up(run, None).unwrap(), None);
        assert!(notes.exists() && !run.join("README.md").exists());
        fs::remove_file(notes).unwrap();
        // A killed process has left it empty.
        assert_eq!(move_up(run, None).unwrap(), None);
        assert!(!run.join(COMPLETE).exists());
    }

    #[test]
    fn records_of_older_versions_are_known_and_those_of_other_programs_are_not() {
        let root = tempfile::tempdir().unwrap();
        let complete = root.path().join(COMPLETE);
        fs::create_dir(&complete).unwrap();
        let moved = |text: &str| {
            fs::write(root.path().join("votes.parquet"), "old").unwrap();
            fs::write(complete.join(RECORD), text).unwrap();
            move_up(root.path(), None).unwrap();
            let kept = root.path().join("votes.parquet").exists();
            (!complete.exists(), kept)
        };
        for foreign in [
            "[\"bert\"]",
            "{\"version\": 3}",
            "{\"model\": \"bert\"}",
            "no JSON",
        ] {
            assert_eq!(moved(foreign), (false, true), "{foreign}");
        }
        // The first ones said little, and what a part was told by may have been something else.
        assert_eq!(moved("{\"version\": \"0\"}"), (true, false));
        fs::create_dir(&complete).unwrap();
        let parts = "{\"version\": \"0\", \"parts\": {\"votes.parquet\": 3}}";
        assert_eq!(moved(parts), (true, true));
    }

    #[test]
    fn checkpoints_of_another_program_are_not_taken_for_ours() {
        let folder = tempfile::tempdir().unwrap();
        let choice = folder.path().join(CHECKPOINTS).join(CHOICE);
        fs::create_dir(folder.path().join(CHECKPOINTS)).unwrap();
        let begun = |text: &str| {
            fs::write(&choice, text).unwrap();
            has_begun(folder.path())
        };
        assert!(!begun("{\"model\": \"bert\"}"));
        assert!(!begun("[\"a\", []]"));
        assert!(!begun("{\"key\": \"a\", \"values\": [\"b\", \"c\"]}"));
        assert!(begun("{\"key\": \"a\", \"values\": []}"));
        let compared = "{\"key\": \"a\", \"values\": [[[[7, 0, 4607182418800017408]]], []]}";
        assert!(begun(compared));
    }
}
