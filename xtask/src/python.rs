//! `cargo xtask python`: the tests of the Python package.
//!
//! The extension is built with the features of the whole workspace, so that what the check has built
//! is used; a wheel by itself has fewer, and all would be built again. `--wheel` makes one all the same, as
//! `pip install` does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::{FEATURES, cargo};
use crate::data::Result;

const PACKAGE: &str = "crates/likewise-py";

/// What the tests compare with and read from; but for torch, which is large: its tests skip.
const PACKAGES: [&str; 8] = [
    "numpy",
    "scipy",
    "scikit-learn",
    "pandas",
    "polars",
    "pyarrow",
    "pytest",
    "tqdm",
];

/// What those of a cluster run on.
const RAY: [&str; 4] = ["ray", "fsspec", "s3fs", "moto[server]"];

/// Puts the package together in `target/python`, in an environment of its own, and runs its
/// tests; `rest` goes to pytest. `--packages` makes the environment alone; `--without-ray` leaves the tests of a cluster
/// out, which take many minutes. True if all pass.
pub(crate) fn python(rest: &[String]) -> Result<bool> {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let place = PathBuf::from(&target).join("python");
    fs::create_dir_all(&place)?;
    let place = fs::canonicalize(place)?;
    let venv = place.join("venv");
    let python = venv.join("bin/python").display().to_string();
    if !venv.exists()
        && !run(
            "python3",
            &["-m", "venv", &venv.display().to_string()],
            None,
        )?
    {
        return Ok(false);
    }
    let pip = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ];
    let own = ["--packages", "--wheel", "--without-ray"];
    let (asked, given): (Vec<&str>, Vec<&str>) =
        (rest.iter().map(String::as_str)).partition(|word| own.contains(word));
    let [packages, wheel, without_ray] = own.map(|word| asked.contains(&word));
    let cluster: &[&str] = if without_ray { &[] } else { &RAY };
    if !run(&python, &[&pip[..], &PACKAGES[..], cluster].concat(), None)? {
        return Ok(false);
    }
    if packages {
        return Ok(true);
    }
    // They skip where there is no Ray; in an environment that has it, they are not asked.
    let others: &[&str] = if without_ray {
        &["--ignore-glob", "*/test_ray*"]
    } else {
        &[]
    };
    let tests = [&["-m", "pytest", "-q", "-rs", PACKAGE], others, &given].concat();
    if wheel {
        let install = [
            &pip[..],
            &["--force-reinstall", "--no-deps", &format!("./{PACKAGE}")],
        ];
        return Ok(run(&python, &install.concat(), None)? && run(&python, &tests, None)?);
    }
    // The program, too: the numbers are compared with it.
    let build = [
        "build",
        "--workspace",
        "--features",
        FEATURES,
        "--lib",
        "--bin",
        "likewise",
    ];
    if !cargo(&build) {
        return Ok(false);
    }
    let site = place.join("site");
    if site.exists() {
        fs::remove_dir_all(&site)?;
    }
    let package = site.join("likewise");
    copy(&Path::new(PACKAGE).join("python/likewise"), &package)?;
    let built = PathBuf::from(&target).join("debug/lib_likewise.so");
    fs::copy(built, package.join("_likewise.abi3.so"))?;
    run(&python, &tests, Some(&site))
}

/// Copies the files of a folder and of those in it, but for what Python has compiled.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let place = to.join(entry.file_name());
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), place)?;
        } else if entry.file_name() != "__pycache__" {
            copy(&entry.path(), &place)?;
        }
    }
    Ok(())
}

/// Whether a program succeeds; packages are looked for in `site`, too.
fn run(program: &str, arguments: &[&str], site: Option<&Path>) -> Result<bool> {
    println!("> {program} {}", arguments.join(" "));
    let mut command = Command::new(program);
    command
        .args(arguments)
        .envs(site.map(|site| ("PYTHONPATH", site)));
    let status = command.status();
    Ok(status
        .map_err(|e| format!("cannot run {program}: {e}"))?
        .success())
}
