//! `likewise completions`

use clap::CommandFactory;

use crate::args::{Cli, Completions};
use crate::failure::Failure;

#[expect(clippy::unnecessary_wraps, reason = "all verbs have one shape")]
pub(crate) fn run(args: &Completions) -> Result<(), Failure> {
    clap_complete::generate(
        args.shell,
        &mut Cli::command(),
        "likewise",
        &mut std::io::stdout(),
    );
    Ok(())
}
