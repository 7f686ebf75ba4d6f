//! The program, run in a folder.

use std::path::Path;
use std::process::{Command, Output};

pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_likewise"));
    command.current_dir(folder).args(arguments);
    command
}

pub(crate) fn likewise(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).output().unwrap()
}

/// What it printed; it must succeed.
#[track_caller]
pub(crate) fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    printed(arguments, likewise(folder, arguments))
}

/// What was printed by a program that must have succeeded.
#[track_caller]
pub(crate) fn printed(arguments: &[&str], output: Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}
