//! A folder that appears whole or not at all.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use likewise::error::Hint;
use likewise_io::atomic;

use crate::{Result, failed, usage};

/// Fills a new folder at `out` by `write`, which may leave no other files than these `names`.
///
/// Fails where something stands at `out`, unless `overwrite` and it is nothing but such files.
pub(super) fn fill(
    out: &Path,
    names: &[&str],
    overwrite: bool,
    write: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    let cannot = |e: std::io::Error| failed(format!("{}: {e}", out.display()));
    check(out, names, overwrite)?;
    let new = beside(out, ".part")?;
    if let Some(parent) = new.parent().filter(|p| !p.as_os_str().is_empty()) {
        atomic::make_folder(parent)?;
    }
    // What a killed export left.
    remove(&new).map_err(cannot)?;
    std::fs::create_dir(&new).map_err(cannot)?;
    let filled = write(&new).and_then(|()| {
        let old = beside(out, ".old")?;
        remove(&old).map_err(cannot)?;
        if out.exists() {
            std::fs::rename(out, &old).map_err(cannot)?;
        }
        std::fs::rename(&new, out).map_err(cannot)?;
        remove(&old).map_err(cannot)
    });
    if filled.is_err() {
        let _ = std::fs::remove_dir_all(&new);
    }
    filled
}

fn check(out: &Path, names: &[&str], overwrite: bool) -> Result<()> {
    let entries = match std::fs::read_dir(out) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) if out.exists() && !out.is_dir() => {
            drop(e);
            return Err(usage(format!(
                "{}: this is a file; name a folder",
                out.display()
            )));
        }
        Err(e) => return Err(failed(format!("{}: {e}", out.display()))),
    };
    let found: Vec<OsString> = entries.flatten().map(|entry| entry.file_name()).collect();
    let foreign = found
        .iter()
        .find(|own| names.iter().all(|name| own != name));
    if let Some(foreign) = foreign {
        return Err(usage(format!(
            "{}: holds {}, which is of no such export; name another folder",
            out.display(),
            foreign.display()
        )));
    }
    if found.is_empty() || overwrite {
        return Ok(());
    }
    let message = format!("{}: holds an export already", out.display());
    Err(usage(message).hint(Hint::Overwrite))
}

/// The hidden folder of this ending beside another one.
fn beside(out: &Path, ending: &str) -> Result<PathBuf> {
    let Some(name) = out.file_name() else {
        return Err(usage(format!("{}: no name of a folder", out.display())));
    };
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(ending);
    Ok(out.with_file_name(hidden))
}

fn remove(folder: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_whole_or_as_it_was() {
        let at = tempfile::tempdir().unwrap();
        let out = at.path().join("sub/out");
        let put = |text: &'static str| {
            move |folder: &Path| {
                std::fs::write(folder.join("a"), text).unwrap();
                if text == "bad" {
                    return Err(failed("no"));
                }
                Ok(())
            }
        };
        assert!(fill(&out, &["a"], false, put("bad")).is_err());
        assert_eq!(std::fs::read_dir(at.path().join("sub")).unwrap().count(), 0);
        fill(&out, &["a"], false, put("one")).unwrap();
        let again = fill(&out, &["a"], false, put("two")).unwrap_err();
        assert_eq!(again.what_to_do(), Some(Hint::Overwrite));
        assert!(fill(&out, &["a"], true, put("bad")).is_err());
        assert_eq!(std::fs::read_to_string(out.join("a")).unwrap(), "one");
        fill(&out, &["a"], true, put("two")).unwrap();
        assert_eq!(std::fs::read_to_string(out.join("a")).unwrap(), "two");
        std::fs::write(out.join("mine"), "").unwrap();
        let said = fill(&out, &["a"], true, put("three")).unwrap_err();
        assert!(said.to_string().contains("holds mine"), "{said}");
        assert_eq!(std::fs::read_dir(at.path().join("sub")).unwrap().count(), 1);
        assert!(fill(&out.join("a"), &["a"], true, put("x")).is_err());
    }
}
