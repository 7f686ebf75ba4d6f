//! Flags of every verb.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use likewise_study::environment;
use likewise_study::size::Bytes;

use crate::failure::Failure;

/// Flags of every verb.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Of every verb")]
pub struct Common {
    /// Print the result as JSON.
    #[arg(long, global = true)]
    pub json: bool,
    /// Seed of every random step.
    #[arg(long, global = true, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// Threads; the result does not depend on them. Default: all cores.
    #[arg(long, global = true, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Where networks run: cpu, vulkan (the fastest card) or vulkan:N (card N).
    #[arg(long, global = true, default_value = "cpu", value_name = "DEVICE")]
    pub device: String,
    /// No progress, no remarks; errors still show.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// More remarks.
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub verbose: bool,
    /// Flags from a TOML file, one at most; the command line overrides them.
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Refuse work that needs more memory than this, e.g. 4GiB, and stop what takes more.
    ///
    /// Default: most of what is free.
    #[arg(long, global = true, value_name = "SIZE")]
    pub max_memory: Option<Bytes>,
}

impl Common {
    /// Starts the threads that all work shares.
    ///
    /// Fails on more than a machine takes.
    pub fn start_threads(&self) -> Result<(), Failure> {
        let asked = self.threads.map(NonZeroUsize::get);
        let most = environment::most_threads();
        if let Some(threads) = asked.filter(|&threads| threads > most) {
            return Err(Failure::usage(format!(
                "--threads {threads}: at most {most} on this machine"
            )));
        }
        Ok(environment::start_threads(asked)?)
    }
}
