//! The page in a real browser, where there is one: what `tests/browser/journey.js` does and looks at.
//!
//! It needs node, Chromium, and `npm ci` in `tests/browser` once. `CHROMIUM` names another browser than the
//! one of Debian, `SHOTS` a folder for pictures of every room.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::scene::served;

#[test]
fn a_person_searches_labels_takes_back_refits_and_compares_in_a_browser() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    if let Some(missing) = missing(&folder) {
        eprintln!("skipped: {missing}");
        return;
    }
    let (_run, server) = served();
    let mut journey = Command::new("node");
    journey
        .arg("journey.js")
        .arg(format!("http://{}/", server.at));
    let seen = journey.current_dir(&folder).output().unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        seen.status.success(),
        "{}{}",
        said(&seen.stdout),
        said(&seen.stderr)
    );
}

/// What the journey needs and this machine lacks.
fn missing(folder: &Path) -> Option<String> {
    let node = Command::new("node").arg("--version").output();
    if !node.is_ok_and(|told| told.status.success()) {
        return Some("there is no node".into());
    }
    let browser = std::env::var_os("CHROMIUM").map_or("/usr/bin/chromium".into(), PathBuf::from);
    if !browser.exists() {
        return Some(format!(
            "there is no browser at {}; CHROMIUM names another",
            browser.display()
        ));
    }
    // Written when all packages are there.
    if !folder.join("node_modules/.package-lock.json").exists() {
        return Some(format!("run `npm ci` in {} once", folder.display()));
    }
    None
}
