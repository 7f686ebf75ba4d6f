//! The programs that do the work.

use std::process::Command;

/// The features that need nothing but a compiler. Vulkan takes minutes to build, and a card.
pub(crate) const FEATURES: &str =
    "likewise/exact,likewise/hnsw,likewise-nn/onnx,likewise-cli/export";

/// Whether cargo succeeds; what it was called with is printed.
pub(crate) fn cargo(arguments: &[&str]) -> bool {
    run("cargo", arguments, None)
}

/// Whether a program succeeds; `variable` is set for it.
pub(crate) fn run(program: &str, arguments: &[&str], variable: Option<(&str, &str)>) -> bool {
    println!("> {program} {}", arguments.join(" "));
    let mut command = Command::new(program);
    command.args(arguments).envs(variable);
    match command.status() {
        Ok(status) if status.success() => true,
        Ok(status) => {
            eprintln!("xtask: {program} {} failed: {status}", arguments.join(" "));
            false
        }
        Err(e) => {
            eprintln!("xtask: cannot run {program}: {e}");
            false
        }
    }
}
