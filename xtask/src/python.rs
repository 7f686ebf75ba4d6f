//! `cargo xtask python`: the Python package as its users get it: a wheel in a virtual environment of its own,
//! and its tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::{FEATURES, cargo};
use crate::data::Result;

/// What the wheel is built with, and what its tests compare with and read from.
const PACKAGES: [&str; 9] = [
    "maturin>=1.7,<2",
    "numpy",
    "scipy",
    "scikit-learn",
    "pandas",
    "polars",
    "pyarrow",
    "pytest",
    "tqdm",
];

/// Builds the wheel with the profile of the tests, installs it and runs its tests; `rest` goes to
/// pytest. True if all pass.
pub(crate) fn python(rest: &[String]) -> Result<bool> {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let place = PathBuf::from(target).join("python");
    fs::create_dir_all(&place)?;
    let place = fs::canonicalize(place)?;
    let bin = place.join("venv/bin");
    let python = bin.join("python").display().to_string();
    let maturin = bin.join("maturin").display().to_string();
    let wheels = place.join("wheels");
    if wheels.exists() {
        fs::remove_dir_all(&wheels)?;
    }
    let out = wheels.display().to_string();
    let made = Path::new(&python).exists()
        || run(
            "python3",
            &["-m", "venv", &place.join("venv").display().to_string()],
        )?;
    let pip = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ];
    // The program that the numbers are compared with, by what the check has built.
    let program = [
        "build",
        "--workspace",
        "--features",
        FEATURES,
        "--bin",
        "likewise",
    ];
    let build = [
        "build",
        "--profile",
        "dev",
        "--manifest-path",
        "crates/likewise-py/Cargo.toml",
        "--out",
        &out,
    ];
    if !(made
        && run(&python, &[&pip[..], &PACKAGES[..]].concat())?
        && cargo(&program)
        && run(&maturin, &build)?)
    {
        return Ok(false);
    }
    let wheel = fs::read_dir(&wheels)?
        .next()
        .ok_or("maturin left no wheel")??;
    let wheel = wheel.path().display().to_string();
    let install = [&pip[..], &["--force-reinstall", "--no-deps", &wheel]].concat();
    let given: Vec<&str> = rest.iter().map(String::as_str).collect();
    let tests = [&["-m", "pytest", "-q", "crates/likewise-py"], &given[..]].concat();
    Ok(run(&python, &install)? && run(&python, &tests)?)
}

fn run(program: &str, arguments: &[&str]) -> Result<bool> {
    println!("> {program} {}", arguments.join(" "));
    let status = Command::new(program).args(arguments).status();
    let status = status.map_err(|e| format!("cannot run {program}: {e}"))?;
    Ok(status.success())
}
