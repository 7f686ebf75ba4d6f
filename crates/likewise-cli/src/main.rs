//! The `likewise` program.

use std::process::ExitCode;

use likewise_cli::OrSay;

#[global_allocator]
static ALLOCATOR: OrSay = OrSay;

fn main() -> ExitCode {
    likewise_cli::main(std::env::args_os()).into()
}
