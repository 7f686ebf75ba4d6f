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

use clap::Parser;
use likewise_study::{Environment, estimate};

use args::{Cli, Verb};
use context::Context;
use failure::Failure;

/// Threads that are started however few cores there are; thousands stall a machine.
const MOST_THREADS: usize = 64;

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
    let cli = match Cli::try_parse_from(&arguments.line) {
        Ok(cli) => cli,
        Err(e) => match arguments.of_file(&e) {
            Some(failure) => return failure.report(),
            None => e.exit(),
        },
    };
    match run(&cli, &line) {
        Ok(()) => 0,
        Err(e) => (memory::passed())
            .unwrap_or_else(|| e.about(cli.verb.data()))
            .report(),
    }
}

fn run(cli: &Cli, line: &[OsString]) -> Result<(), Failure> {
    if let Some(threads) = cli.common.threads {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let most = MOST_THREADS.max(4 * cores);
        if threads.get() > most {
            return Err(Failure::usage(format!(
                "--threads {threads}: at most {most} on this machine, which has {cores} cores"
            )));
        }
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads.get())
            .build_global()
            .map_err(|e| Failure::failed(format!("cannot start {threads} threads: {e}")))?;
    }
    let (monitor, stages) = progress::monitor(&cli.common, matches!(cli.verb, Verb::Fit(_)));
    let asked = cli.common.max_memory.map(|limit| limit.0);
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
    match &cli.verb {
        Verb::Demo(args) => verb::demo::run(args, &at),
        Verb::Doctor(args) => verb::doctor::run(args, &at),
        Verb::Duplicates(args) => verb::duplicates::run(args, &at),
        Verb::Suspects(args) => verb::suspects::run(args, &at),
        Verb::Advise(args) => verb::advise::run(args, &at),
        Verb::Compare(args) => verb::compare::run(args, &at),
        Verb::Graph(args) => verb::graph::run(args, &at),
        Verb::Propagate(args) => verb::propagate::run(args, &at),
        Verb::Mine(args) => verb::mine::run(args, &at),
        Verb::Fit(args) => verb::fit::run(args, &at),
        Verb::Add(args) => verb::add::run(args, &at),
        Verb::Embed(args) => verb::embed::run(args, &at),
        Verb::Features(args) => verb::features::run(args, &at),
        Verb::Describe(args) => verb::describe::run(args, &at),
        Verb::Index(args) => verb::index::run(args, &at),
        Verb::Export(args) => verb::export::run(args, &at),
        Verb::Search(args) => verb::search::run(args, &at),
        #[cfg(feature = "serve")]
        Verb::Serve(args) => verb::serve::run(args, &at),
        Verb::Eval(args) => verb::eval::run(args, &at),
        Verb::Reproduce(args) => verb::reproduce::run(args, &at),
        Verb::Explain(args) => verb::explain::run(args, &at),
        Verb::Cache(args) => verb::cache::run(args, &at),
        Verb::Completions(args) => verb::completions::run(args),
        Verb::Man(args) => verb::man::run(args),
    }
}
