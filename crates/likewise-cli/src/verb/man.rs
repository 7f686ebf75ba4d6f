//! `likewise man`

use clap::CommandFactory;

use crate::args::{Cli, Man};
use crate::failure::Failure;

pub(crate) fn run(args: &Man) -> Result<(), Failure> {
    std::fs::create_dir_all(&args.out)
        .map_err(|e| Failure::failed(format!("{}: {e}", args.out.display())))?;
    clap_mangen::generate_to(Cli::command(), &args.out)
        .map_err(|e| Failure::failed(format!("{}: {e}", args.out.display())))
}
