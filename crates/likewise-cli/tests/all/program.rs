//! The program, run in a folder.

use std::path::Path;
use std::process::{Command, Output};

pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_likewise"));
    command.current_dir(folder).args(arguments);
    command
}

/// The program in so many KiB of address space.
#[cfg(target_os = "linux")]
pub(crate) fn confined(folder: &Path, kib: u64, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    // The shell sets the limit and becomes the program.
    let script = r#"ulimit -c 0; ulimit -v "$1"; shift; exec "$@""#;
    command
        .args(["-c", script, "sh", &kib.to_string()])
        .arg(env!("CARGO_BIN_EXE_likewise"))
        .args(arguments)
        .current_dir(folder);
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
