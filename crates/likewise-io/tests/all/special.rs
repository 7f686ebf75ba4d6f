//! Pipes, devices and sockets as inputs are refused at once, by every reader.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use likewise::Monitor;
use likewise_io::{ErrorKind, Mapped, ReadOptions, Result};

/// A link of each kind of special file, with this name.
fn places(folder: &Path, name: &str) -> Vec<PathBuf> {
    let pipe = folder.join(format!("pipe{name}"));
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    let mut places = Vec::new();
    if made.is_ok_and(|status| status.success()) {
        places.push(pipe);
    } else {
        println!("there is no mkfifo here");
    }
    let zero = folder.join(format!("zero{name}"));
    std::os::unix::fs::symlink("/dev/zero", &zero).unwrap();
    places.push(zero);
    places
}

fn refused<T: Debug>(result: Result<T>, path: &Path) {
    let e = result.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Io, "{e}");
    let said = e.to_string();
    assert!(said.starts_with(&path.display().to_string()), "{said}");
    assert!(said.contains("not a regular file"), "{said}");
}

#[test]
fn no_reader_waits_for_a_pipe_or_reads_a_device() {
    let folder = tempfile::tempdir().unwrap();
    let options = ReadOptions::default();
    let at = |name: &str| places(folder.path(), name);
    for ending in [
        "npy",
        "npz",
        "csv",
        "tsv",
        "parquet",
        "safetensors",
        "idx",
        "idx.gz",
    ] {
        for path in at(&format!("-data.{ending}")) {
            let silent = Monitor::silent();
            refused(likewise_io::read(&path, &options, &silent), &path);
            refused(likewise_io::inspect(&path, &options), &path);
            refused(likewise_io::read_labels(&path, &[]), &path);
            refused(likewise_io::read_matrix(&path, None), &path);
        }
    }
    for path in at(".npy") {
        refused(Mapped::npy(&path), &path);
    }
    for path in at(".npz") {
        refused(likewise_io::graph::read(&path), &path);
        refused(likewise_io::beliefs::read(&path), &path);
    }
    for path in at(".parquet") {
        refused(likewise_io::items::read(&path), &path);
    }
    for path in at("") {
        refused(likewise_io::digest(&path), &path);
        refused(likewise_io::open(&path), &path);
        refused(likewise_io::read_file(&path, 100), &path);
        refused(likewise_io::read_text(&path, 100), &path);
    }
}
