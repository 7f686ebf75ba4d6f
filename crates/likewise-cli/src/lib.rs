//! The `likewise` command as a library: what the program and the Python package run.
//!
//! Results go to stdout, progress and messages to stderr. Exit codes: 0 ok, 1 failed,
//! 2 usage, 3 quality gate missed.

mod args;
mod verb;

use std::ffi::OsString;

use likewise_study::{Environment, estimate};
pub use likewise_terminal::memory::OrSay;
use likewise_terminal::{Context, Failure, Wording, memory, progress};

use args::{Cli, Verb};

/// Runs a command line, whose first word is the name of the program, and gives its exit code.
///
/// Takes over Ctrl-C and SIGTERM, and the number of threads where that is said. It is meant to be
/// the last thing that a process does.
pub fn main(line: impl IntoIterator<Item = OsString>) -> u8 {
    let line: Vec<OsString> = line.into_iter().collect();
    let (cli, wording): (Cli, Wording) = match likewise_terminal::read(&line) {
        Ok(read) => read,
        Err(code) => return code,
    };
    match run(&cli, &line, &wording) {
        Ok(()) => 0,
        Err(e) => (memory::passed())
            .unwrap_or_else(|| e.about(cli.verb.data()))
            .report(&wording),
    }
}

fn run(cli: &Cli, line: &[OsString], wording: &Wording) -> Result<(), Failure> {
    let common = &cli.common;
    #[cfg(feature = "serve")]
    if matches!(cli.verb, Verb::Serve(_)) {
        memory::share_heaps();
    }
    common.start_threads()?;
    let resumes = matches!(cli.verb, Verb::Fit(_));
    let (monitor, stages) = progress::monitor(common, wording, resumes);
    let max_memory = common.max_memory.map(|limit| limit.0);
    if let Some(limit) = max_memory {
        memory::watch(limit, &monitor)?;
    }
    if let Some(limit) = estimate::limit(max_memory) {
        // The other half is for what is made of the images.
        likewise_image::limit_memory(limit / 2);
    }
    let device = likewise_nn::device(&common.device)?;
    let at = Context {
        common,
        line,
        wording,
        env: Environment {
            monitor: &monitor,
            stages: &stages,
            device: &device,
            max_memory,
        },
    };
    verb::run(&cli.verb, &at)
}

#[cfg(test)]
mod tests {
    /// As in the Python package, which links the library and not the program.
    #[test]
    fn the_library_brings_no_allocator() {
        let mut bytes: Vec<u8> = Vec::new();
        let reserved = bytes.try_reserve_exact(isize::MAX as usize);
        // What nobody looks at need not be asked for.
        std::hint::black_box(&bytes);
        assert!(reserved.is_err());
    }
}
