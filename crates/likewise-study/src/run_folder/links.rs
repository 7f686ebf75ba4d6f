//! That a run keeps its files in its own folder, and others theirs elsewhere.

use std::ffi::OsStr;
use std::path::Path;

use super::exchange::{ASKED, CHECKPOINTS, COMPLETE, EVENTS, ORIGIN, UNFINISHED};
use super::index::HNSW_FILE;
use super::parts;
use super::record::{CODES, RECORD, WORDS};
use crate::study::CHOICE;
use crate::{Result, failed, journal, usage};

/// Files beside those that the record tells of.
const FILES: [&str; 5] = [RECORD, CODES, journal::NAME, "README.md", "report.html"];
/// Folders of a run.
pub(super) const FOLDERS: [&str; 7] = [
    COMPLETE,
    UNFINISHED,
    CHECKPOINTS,
    EVENTS,
    WORDS,
    "index",
    "models",
];

/// The names of a run's files, as a fit writes them.
fn files() -> impl Iterator<Item = &'static str> {
    let all = FILES.iter().chain(&parts::READ).chain(&parts::OPTIONAL);
    all.copied()
}

/// The names of all that a run keeps, files and folders.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    files().chain(FOLDERS)
}

/// Fails where a file or a folder of a run is a link: what is written, moved or removed there would be
/// somebody else's, by a run that was made to do so. What others keep beside a run may be anything.
pub(super) fn check_none(root: &Path) -> Result<()> {
    for name in files() {
        check(&root.join(name))?;
    }
    FOLDERS
        .iter()
        .try_for_each(|name| check_below(&root.join(name)))
}

/// Fails where somebody else keeps files in the folders that a fit empties or replaces: what it has not left
/// there is not its own to remove.
pub(super) fn check_own(root: &Path) -> Result<()> {
    check_names(&root.join(UNFINISHED), |name| {
        [ORIGIN, ASKED].contains(&name) || names().any(|own| own == name)
    })?;
    check_names(&root.join(CHECKPOINTS), |name| {
        name == CHOICE || name.ends_with(".safetensors")
    })?;
    check_names(&root.join("index"), |name| {
        [HNSW_FILE, "index.json"].contains(&name)
    })?;
    check_names(&root.join(WORDS), |name| name.ends_with(".safetensors"))?;
    // A folder a training.
    let trainings = std::fs::read_dir(root.join(EVENTS));
    for training in trainings.into_iter().flatten().flatten() {
        if !training.path().is_dir() {
            return Err(not_own(&root.join(EVENTS), &training.file_name()));
        }
        check_names(&training.path(), |name| name.starts_with("events."))?;
    }
    Ok(())
}

fn check_names(folder: &Path, own: impl Fn(&str) -> bool) -> Result<()> {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let shown = name.to_string_lossy();
        // What a killed process was about to write.
        let begun = shown.starts_with('.') && shown.ends_with(".part");
        if !begun && !own(&shown) {
            return Err(not_own(folder, &name));
        }
    }
    Ok(())
}

fn not_own(folder: &Path, name: &OsStr) -> crate::Error {
    usage(format!(
        "{}: a fit replaces this folder, and {} is not of one; move it elsewhere",
        folder.display(),
        name.to_string_lossy()
    ))
}

fn check_below(folder: &Path) -> Result<()> {
    check(folder)?;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        check_below(&entry.path())?;
    }
    Ok(())
}

fn check(path: &Path) -> Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(there) if there.is_symlink() => Err(failed(format!(
            "{}: a link, and a run keeps its files in its own folder; put what it leads to in its place, or take \
             it away",
            path.display()
        ))),
        _ => Ok(()),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_of_others_in_the_folders_that_a_fit_empties_are_refused() {
        let run = tempfile::tempdir().unwrap();
        let at = |name: &str| run.path().join(name);
        check_own(run.path()).unwrap();
        for folder in [
            UNFINISHED,
            CHECKPOINTS,
            "index",
            WORDS,
            "events/draw-0-recipe-final",
        ] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for own in [
            "checkpoints/draw-0.safetensors",
            "checkpoints/choice.json",
            "checkpoints/.draw-0.safetensors.abc.part",
            "unfinished/origin.json",
            "unfinished/embeddings.npy",
            "index/hnsw.usearch",
            "index/index.json",
            "words/sift.safetensors",
            "events/draw-0-recipe-final/events.jsonl",
        ] {
            fs::write(at(own), "").unwrap();
        }
        check_own(run.path()).unwrap();
        for other in [
            "checkpoints/thesis.txt",
            "unfinished/notes.md",
            "index/mine.bin",
            "words/mine.txt",
            "events/notes.txt",
            "events/draw-0-recipe-final/notes.txt",
        ] {
            fs::write(at(other), "").unwrap();
            let said = check_own(run.path()).unwrap_err().to_string();
            assert!(said.contains("is not of one"), "{said}");
            fs::remove_file(at(other)).unwrap();
        }
    }

    #[test]
    fn links_in_place_of_what_is_a_runs_are_refused() {
        let scene = tempfile::tempdir().unwrap();
        let (theirs, run) = (scene.path().join("thesis"), scene.path().join("run"));
        fs::create_dir_all(run.join("index")).unwrap();
        fs::create_dir(&theirs).unwrap();
        symlink(&theirs, run.join("photos")).unwrap();
        check_none(&run).unwrap();
        for name in [
            COMPLETE,
            UNFINISHED,
            "index/index.json",
            journal::NAME,
            CODES,
        ] {
            symlink(&theirs, run.join(name)).unwrap();
            let said = check_none(&run).unwrap_err().to_string();
            assert!(said.contains(name), "{said}");
            fs::remove_file(run.join(name)).unwrap();
        }
        check_none(&run).unwrap();
    }
}
