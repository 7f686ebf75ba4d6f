//! `likewise completions`

use clap::CommandFactory;
use likewise_terminal::{Failure, output};

use crate::args::{Cli, Completions};

pub(crate) fn run(args: &Completions) -> Result<(), Failure> {
    // The generator ends the program where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "likewise", &mut script);
    output::text(String::from_utf8_lossy(&script).trim_end())
}
