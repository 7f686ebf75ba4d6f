//! `cargo xtask dist`: what a release hands out, in `target/dist`.
//!
//! The program with its manual pages and completions, the Python wheel, what is in both (SBOM, notices),
//! and the digests of all. The program links the C++ library into itself, so that of the system it needs
//! the C library alone; which version at least, is printed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::data::{Result, said};
use crate::{notices, sbom};

const PROGRAM: &str = "likewise";
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];
/// Build a wheel, and look at what it needs and says of itself.
const TOOLS: [&str; 3] = ["maturin==1.16.0", "auditwheel==6.8.2", "twine==7.0.0"];
/// Crates that are for the workspace alone.
const UNPUBLISHED: [&str; 4] = ["likewise-py", "likewise-testdata", "likewise-fuzz", "xtask"];

const HELP: &str = "\
Usage: cargo xtask dist [--no-wheel] [--publish]

--no-wheel  leaves the Python wheel out: it is built anew, for a quarter of an hour
--publish   also packs each crate as the registry would get it, and builds it from that
";

/// Fills `target/dist`; what was there is gone.
pub(crate) fn dist(arguments: &[String]) -> Result<bool> {
    let known = ["--no-wheel", "--publish"];
    if arguments.iter().any(|a| !known.contains(&a.as_str())) {
        eprint!("{HELP}");
        return Ok(false);
    }
    let asked = |flag: &str| arguments.iter().any(|a| a == flag);
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let target = std::path::absolute(target)?;
    let folder = target.join("dist");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    program(&target, &folder)?;
    notices::write(&folder.join("THIRD-PARTY.md"))?;
    sbom::write(&folder.join("likewise.cdx.json"))?;
    if !asked("--no-wheel") {
        wheel(&target, &folder)?;
    }
    if asked("--publish") {
        let mut publish = vec!["publish", "--workspace", "--dry-run", "--allow-dirty"];
        publish.extend(UNPUBLISHED.iter().flat_map(|name| ["--exclude", name]));
        said("cargo", &publish, Path::new("."))?;
    }
    digests(&folder)?;
    Ok(true)
}

/// The program, its pages and its completions.
fn program(target: &Path, folder: &Path) -> Result<()> {
    let package = [
        "--release",
        "-p",
        "likewise-cli",
        "--features",
        "export",
        "--bin",
        PROGRAM,
    ];
    // Where the linker looks first there is no shared C++ library to be found.
    let found = said("c++", &["-print-file-name=libstdc++.a"], Path::new("."))?;
    let archive = PathBuf::from(found.trim());
    let first = target.join("linked-in");
    let mut link = Vec::new();
    if archive.is_absolute() {
        fs::create_dir_all(&first)?;
        fs::copy(&archive, first.join("libstdc++.a"))?;
        link.push(format!("-Clink-arg=-L{}", first.display()));
    }
    let mut cargo = Command::new("cargo");
    cargo.arg("rustc").args(package).arg("--").args(&link);
    if !cargo.status()?.success() {
        return Err("the program could not be built".into());
    }
    let built = target.join("release").join(PROGRAM);
    let program = folder.join(PROGRAM);
    fs::copy(&built, &program)?;
    let run = |arguments: &[&str]| said(&program.to_string_lossy(), arguments, folder);
    fs::create_dir_all(folder.join("man"))?;
    run(&["man", "-o", "man"])?;
    fs::create_dir_all(folder.join("completions"))?;
    for shell in SHELLS {
        fs::write(
            folder
                .join("completions")
                .join(format!("{PROGRAM}.{shell}")),
            run(&["completions", shell])?,
        )?;
    }
    needs(&program)?;
    // It must run as it is handed out: the whole job, on what is in it.
    let scratch = tempfile::tempdir()?;
    let run_folder = scratch.path().join("run");
    run(&["demo", "-q", "-o", &run_folder.to_string_lossy()])?;
    println!("{}: the demo ran", program.display());
    Ok(())
}

/// Prints which shared libraries the program needs, and which C library at least. Fails where it
/// needs that of C++.
fn needs(program: &Path) -> Result<()> {
    let text = said(
        "objdump",
        &["-p", &program.to_string_lossy()],
        Path::new("."),
    )?;
    let word = |line: &str, at| line.split_whitespace().nth(at).map(str::to_owned);
    let libraries: Vec<String> = (text.lines())
        .filter(|line| line.trim_start().starts_with("NEEDED"))
        .filter_map(|line| word(line, 1))
        .collect();
    let version = |line: &str| -> Option<Vec<u32>> {
        let numbers = line.split_once("GLIBC_")?.1.split('.');
        numbers.map(|n| n.trim().parse().ok()).collect()
    };
    let least: BTreeSet<Vec<u32>> = text.lines().filter_map(version).collect();
    let least = least.last().map_or("none".into(), |v| {
        let numbers: Vec<String> = v.iter().map(u32::to_string).collect();
        numbers.join(".")
    });
    println!("needs {}; glibc {least} or later", libraries.join(", "));
    if libraries.iter().any(|name| name.starts_with("libstdc++")) {
        return Err("the program needs the C++ library of the system".into());
    }
    Ok(())
}

/// The wheel, with the oldest system that it installs on, and its description looked at.
fn wheel(target: &Path, folder: &Path) -> Result<()> {
    let venv = target.join("tools/dist");
    let python = venv.join("bin/python").display().to_string();
    let here = Path::new(".");
    if !venv.join("complete").is_file() {
        said(
            "python3",
            &["-m", "venv", "--clear", &venv.to_string_lossy()],
            here,
        )?;
        let install = ["-m", "pip", "install", "--quiet"];
        said(&python, &[&install[..], &TOOLS].concat(), here)?;
        fs::write(venv.join("complete"), TOOLS.join("\n"))?;
    }
    let manifest = "crates/likewise-py/Cargo.toml";
    let out = folder.to_string_lossy();
    let build = [
        "-m",
        "maturin",
        "build",
        "--release",
        "--manifest-path",
        manifest,
    ];
    let mut maturin = Command::new(&python);
    maturin.args(build).args(["--out", &out]);
    if !maturin.status()?.success() {
        return Err("the wheel could not be built".into());
    }
    for wheel in fs::read_dir(folder)? {
        let wheel = wheel?.path();
        if wheel.extension() == Some(OsStr::new("whl")) {
            let wheel = wheel.to_string_lossy();
            let shown = said(&python, &["-m", "auditwheel", "show", &wheel], here)?;
            print!("{shown}");
            if !shown.contains("manylinux") {
                return Err(format!("{wheel}: installs on no system but this one").into());
            }
            let check = ["-m", "twine", "check", "--strict", &wheel];
            print!("{}", said(&python, &check, here)?);
            tried(&wheel)?;
        }
    }
    Ok(())
}

/// Installs the wheel as people do, with what it names and nothing else, and asks something of it.
fn tried(wheel: &str) -> Result<()> {
    let scratch = tempfile::tempdir()?;
    let venv = scratch.path().join("venv");
    said(
        "python3",
        &["-m", "venv", &venv.to_string_lossy()],
        scratch.path(),
    )?;
    let of = |program: &str| venv.join("bin").join(program).display().to_string();
    let install = ["-m", "pip", "install", "--quiet", wheel];
    said(&of("python"), &install, scratch.path())?;
    let asked = "import likewise, numpy as np; x = np.eye(4, dtype='f4'); \
                 print(likewise.Index(x).search(x[:1], k=1)[0])";
    said(&of("python"), &["-c", asked], scratch.path())?;
    for verb in ["demo", "serve", "export"] {
        said(&of("likewise"), &[verb, "--help"], scratch.path())?;
    }
    println!("{wheel}: installed and tried");
    Ok(())
}

/// `SHA256SUMS` of all that is there, as `sha256sum -c` reads it.
fn digests(folder: &Path) -> Result<()> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(at)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    let mut text = String::new();
    for file in &files {
        let name = file.strip_prefix(folder)?.to_string_lossy();
        let digest = Sha256::digest(fs::read(file)?);
        for byte in digest {
            write!(text, "{byte:02x}")?;
        }
        writeln!(text, "  {name}")?;
    }
    fs::write(folder.join("SHA256SUMS"), text)?;
    println!("{}: {} files", folder.display(), files.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the registry gets of a crate is its folder: a file beyond it is not there to be read.
    #[test]
    fn no_source_reads_a_file_outside_its_crate() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
        let mut seen = 0;
        for package in fs::read_dir(crates).unwrap() {
            let package = package.unwrap().path();
            let mut folders = vec![package.join("src")];
            while let Some(folder) = folders.pop() {
                for entry in fs::read_dir(folder).unwrap() {
                    let path = entry.unwrap().path();
                    if path.is_dir() {
                        folders.push(path);
                        continue;
                    }
                    let text = fs::read_to_string(&path).unwrap_or_default();
                    for line in text.lines() {
                        let quoted = ["include_str!(\"", "include_bytes!(\""];
                        let read = quoted.iter().find_map(|start| line.split_once(start));
                        // Pages are read by documentation tests alone, which the registry's do not build.
                        let Some((before, rest)) = read.filter(|(b, _)| !b.contains("#[doc"))
                        else {
                            continue;
                        };
                        let file = rest.split('"').next().unwrap_or_default();
                        let depth = path.strip_prefix(&package).unwrap().components().count() - 1;
                        let up = file.matches("../").count();
                        assert!(up <= depth, "{}: {before}{rest}", path.display());
                        seen += 1;
                    }
                }
            }
        }
        assert!(seen > 10, "{seen}");
    }

    #[test]
    fn digests_are_of_all_files_by_name() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("man")).unwrap();
        fs::write(folder.path().join("man/a.1"), "").unwrap();
        fs::write(folder.path().join("b"), "abc").unwrap();
        digests(folder.path()).unwrap();
        let text = fs::read_to_string(folder.path().join("SHA256SUMS")).unwrap();
        let of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  b\n";
        let of_none = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  man/a.1\n";
        assert_eq!(text, [of_abc, of_none].concat());
    }
}
