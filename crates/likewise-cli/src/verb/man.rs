//! `likewise man`

use clap::CommandFactory;

use crate::args::{Cli, Man};
use crate::failure::Failure;

pub(crate) fn run(args: &Man) -> Result<(), Failure> {
    likewise_io::atomic::make_folder(&args.out)?;
    clap_mangen::generate_to(Cli::command(), &args.out)
        .map_err(|e| Failure::failed(format!("{}: {e}", args.out.display())))
}
