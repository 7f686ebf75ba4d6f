//! The programs that do the work.

use std::process::Command;
use std::time::Instant;

/// The features that need nothing but a compiler. Vulkan takes minutes to build, and a card.
pub(crate) const FEATURES: &str =
    "likewise/exact,likewise/hnsw,likewise-nn/onnx,likewise-cli/export";

/// Whether cargo succeeds; what it was called with is printed.
pub(crate) fn cargo(arguments: &[&str]) -> bool {
    run("cargo", arguments, None)
}

/// Whether a program succeeds; `variable` is set for it. What it took is printed, since a check that becomes
/// slow does so in one of its parts.
pub(crate) fn run(program: &str, arguments: &[&str], variable: Option<(&str, &str)>) -> bool {
    println!("> {program} {}", arguments.join(" "));
    let mut command = Command::new(program);
    command.args(arguments).envs(variable);
    let begun = Instant::now();
    match command.status() {
        Ok(status) if status.success() => {
            let first = arguments.first().unwrap_or(&"");
            println!("> {program} {first}: {} s", begun.elapsed().as_secs());
            true
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_built_with_the_features_of_the_check() {
        let settings = include_str!("../../.cargo/config.toml");
        assert!(settings.contains(&format!("--features {FEATURES} ")));
    }
}
