//! The `likewise` command as a library: what the program and the Python package run.
//!
//! Results go to stdout, progress and messages to stderr. Exit codes: 0 ok, 1 failed,
//! 2 usage, 3 quality gate missed.

mod args;
mod aside;
mod config;
mod context;
mod failure;
mod memory;
mod output;
mod progress;
mod verb;

use std::ffi::OsString;

use likewise_study::size::Bytes;
use likewise_study::{Environment, environment, estimate, plain};

use args::{Cli, Verb};
use aside::aside;
use context::Context;
use failure::Failure;
pub use memory::OrSay;

/// Runs a command line, whose first word is the name of the program, and gives its exit code.
///
/// Ends the process itself where help or the version is asked for, and on usage errors; takes
/// over Ctrl-C and SIGTERM, and the number of threads where that is said. It is meant to be the
/// last thing that a process does.
pub fn main(line: impl IntoIterator<Item = OsString>) -> u8 {
    let line: Vec<OsString> = line.into_iter().collect();
    let arguments = match config::arguments(line.iter().cloned()) {
        Ok(arguments) => arguments,
        Err(e) => return e.report(),
    };
    let cli = match Cli::read(&arguments.line) {
        Ok(cli) => cli,
        Err(e) => match arguments.of_file(&e) {
            Some(failure) => return failure.report(),
            None => return told(&e, &arguments.line),
        },
    };
    match run(&cli, &line) {
        Ok(()) => 0,
        Err(e) => (memory::passed())
            .unwrap_or_else(|| e.about(cli.verb.data()))
            .report(),
    }
}

/// Says what is wrong with a command line, or what was asked of it, and gives its exit code.
fn told(e: &clap::Error, line: &[OsString]) -> u8 {
    let acts = |word: &OsString| !plain::is_shown(&word.to_string_lossy());
    let text = e.render().to_string();
    if !e.use_stderr() || !line.iter().any(acts) && in_words(&text) == text {
        e.exit();
    }
    // Names of files stand in it as they were given, by a pattern perhaps.
    let text = in_words(&text);
    aside!("{}", plain::lines(text.trim_end()));
    u8::try_from(e.exit_code()).unwrap_or(2)
}

/// The message with what the reader of whole numbers says put into the rule that they must keep.
fn in_words(text: &str) -> String {
    text.replace(
        "invalid digit found in string",
        "must be a whole number of 0 or more",
    )
    .replace(
        "number would be zero for non-zero type",
        "must be at least 1",
    )
}

/// Starts the threads that all work shares. Fails on more than a machine takes.
fn start_threads(asked: Option<usize>) -> Result<(), Failure> {
    let most = environment::most_threads();
    if let Some(threads) = asked.filter(|&threads| threads > most) {
        return Err(Failure::usage(format!(
            "--threads {threads}: at most {most} on this machine"
        )));
    }
    Ok(environment::start_threads(asked)?)
}

fn run(cli: &Cli, line: &[OsString]) -> Result<(), Failure> {
    start_threads(cli.common.threads.map(std::num::NonZeroUsize::get))?;
    let (monitor, stages) = progress::monitor(&cli.common, matches!(cli.verb, Verb::Fit(_)));
    let asked = cli.common.max_memory.map(|limit| limit.0);
    if asked.is_some_and(|limit| limit < estimate::BASE) {
        return Err(Failure::failed(format!(
            "the program itself may need {} of memory; allow more with --max-memory",
            Bytes(estimate::BASE)
        )));
    }
    if let Some(limit) = asked {
        memory::watch(limit, &monitor);
    }
    if let Some(limit) = estimate::limit(asked) {
        // The other half is for what is made of the images.
        likewise_image::limit_memory(limit / 2);
    }
    let device = likewise_nn::device(&cli.common.device)?;
    let at = Context {
        common: &cli.common,
        line,
        env: Environment {
            monitor: &monitor,
            stages: &stages,
            device: &device,
            max_memory: asked,
        },
    };
    verb::run(&cli.verb, &at)
}
