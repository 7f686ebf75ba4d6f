//! The `likewise` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    likewise_cli::main(std::env::args_os()).into()
}
