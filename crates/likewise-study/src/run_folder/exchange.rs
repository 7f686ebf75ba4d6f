//! How a new run takes the place of an old one, and what a fit that was begun has left.

use std::io::ErrorKind::NotFound;
use std::path::Path;

use super::parts;
use super::record::{CONFIG, Config, Origin, RECORD, WORDS};
use crate::{Result, failed};

pub(super) const UNFINISHED: &str = "unfinished";
pub(super) const COMPLETE: &str = "complete";
pub(super) const EVENTS: &str = "events";
pub(super) const ORIGIN: &str = "origin.json";
pub(super) const CHECKPOINTS: &str = "checkpoints";
/// What recipes were compared by, among the checkpoints.
pub const CHOICE: &str = "choice.json";

/// Whether a fit of ours was begun here.
pub(super) fn has_begun(path: &Path) -> bool {
    begun(path).is_some() || path.join(CHECKPOINTS).join(CHOICE).exists()
}

/// The settings and the data of a fit that was begun here.
pub fn begun(path: &Path) -> Option<(Config, Origin)> {
    let read = |name: &str| {
        let path = path.join(UNFINISHED).join(name);
        likewise_io::read_file(path, crate::text::MOST).ok()
    };
    let config = serde_json::from_slice(&read(CONFIG)?).ok()?;
    let origin = serde_json::from_slice(&read(ORIGIN)?).ok()?;
    Some((config, origin))
}

/// Moves the files of a complete run up, over those of an older one.
///
/// Killed at any moment, it can be repeated: what is left below is of the new run, and what
/// has gone is where it belongs.
pub(super) fn move_up(root: &Path) -> Result<()> {
    let cannot = |e: std::io::Error| failed(format!("{}: {e}", root.display()));
    let complete = root.join(COMPLETE);
    let entries = match std::fs::read_dir(&complete) {
        Err(e) if e.kind() == NotFound => return Ok(()),
        entries => entries.map_err(cannot)?,
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
        std::fs::rename(from, to).map_err(cannot)?;
    }
    sync(root);
    std::fs::remove_dir(&complete).map_err(cannot)?;
    // A run that trained nothing tells nothing, and one without points has no words.
    for folder in [EVENTS, WORDS] {
        let _ = std::fs::remove_dir(root.join(folder));
    }
    Ok(())
}

/// Removes what an older run has and a complete one, by its record, has not.
fn remove_others(root: &Path, complete: &Path) -> std::io::Result<()> {
    let Ok(record) = likewise_io::read_file(complete.join(RECORD), crate::text::MOST) else {
        return Ok(());
    };
    let Ok(record) = serde_json::from_slice::<serde_json::Value>(&record) else {
        return Ok(());
    };
    let gone = |name: &&&str| record["parts"].get(**name).is_none();
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
