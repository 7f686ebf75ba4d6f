//! A folder that appears whole or not at all.

use std::ffi::OsString;
use std::io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, NotFound};
use std::path::{Path, PathBuf};

use likewise::error::Hint;
use likewise_io::atomic;
use tempfile::TempDir;

use crate::{Error, Result, failed, usage};

/// How often another export may put its folder there while this one does.
const EXPORTS: usize = 100;

/// Fills a new folder at `out` by `write`, which may leave no other files than these `names`. Of a
/// link the folder that it leads to is replaced, and the link stays.
///
/// Fails where something stands at `out`, unless `overwrite`, it is nothing but such files and `is_own` says of
/// the folder that it is an export of ours: other programs have files of these names too. Of
/// exports that work at once each is whole, and the last one stays. One that is killed leaves
/// hidden folders beside it: `.NAME.`, some letters or digits, and `.part` or `.old`.
pub(super) fn fill(
    out: &Path,
    names: &[&str],
    overwrite: bool,
    is_own: &dyn Fn(&Path) -> bool,
    write: impl FnOnce(&Path) -> Result<()>,
) -> Result<()> {
    let target = Target {
        out,
        // By its parts: with a slash at its end a link is taken for its folder.
        place: atomic::resolved(&out.components().collect::<PathBuf>()),
        names,
        overwrite,
        is_own,
    };
    target.check()?;
    if let Some(folder) = target.place.parent() {
        atomic::make_folder(folder_or_here(folder))?;
    }
    let new = target.beside(".part")?;
    write(new.path())?;
    let old = target.beside(".old")?;
    target.put(new.path(), old.path())?;
    // It has another name now; this one is nobody's.
    let _ = new.keep();
    old.close().map_err(|e| target.cannot(&e))
}

fn folder_or_here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    }
}

/// Where the folder goes, and what it may replace.
struct Target<'a> {
    /// As it was given.
    out: &'a Path,
    /// The same without links.
    place: PathBuf,
    names: &'a [&'a str],
    overwrite: bool,
    is_own: &'a dyn Fn(&Path) -> bool,
}

impl Target<'_> {
    /// Fails where something stands there that may not be replaced.
    fn check(&self) -> Result<()> {
        let out = self.out.display();
        if atomic::is_stream(self.out) {
            return Err(usage(format!("{out}: this is a file; name a folder")));
        }
        let entries = match std::fs::read_dir(&self.place) {
            Ok(entries) => entries,
            Err(e) if e.kind() == NotFound => return Ok(()),
            Err(_) if self.place.exists() && !self.place.is_dir() => {
                return Err(usage(format!("{out}: this is a file; name a folder")));
            }
            Err(e) => return Err(self.cannot(&e)),
        };
        let found: Vec<OsString> = entries.flatten().map(|entry| entry.file_name()).collect();
        let foreign = found
            .iter()
            .find(|own| self.names.iter().all(|name| own != name));
        if let Some(foreign) = foreign {
            return Err(usage(format!(
                "{out}: holds {}, which is of no such export; name another folder",
                foreign.display()
            )));
        }
        if found.is_empty() {
            return Ok(());
        }
        if !(self.is_own)(&self.place) {
            return Err(usage(format!(
                "{out}: holds files that no export of likewise wrote; name another folder"
            )));
        }
        if self.overwrite {
            return Ok(());
        }
        Err(usage(format!("{out}: holds an export already")).hint(Hint::Overwrite))
    }

    /// A new hidden folder of this ending beside it, by a name that nobody has.
    fn beside(&self, ending: &str) -> Result<TempDir> {
        let (Some(folder), Some(name)) = (self.place.parent(), self.place.file_name()) else {
            return Err(usage(format!(
                "{}: no name of a folder",
                self.out.display()
            )));
        };
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(".");
        let mut builder = tempfile::Builder::new();
        builder.prefix(&hidden).suffix(ending);
        let made = builder.tempdir_in(folder_or_here(folder));
        made.map_err(|e| self.cannot(&e))
    }

    /// Puts the folder `new` there, once more where another export has just done so; what stood there
    /// moves into `old`.
    fn put(&self, new: &Path, old: &Path) -> Result<()> {
        let mut others = 0_usize;
        loop {
            self.check()?;
            let aside = old.join(others.to_string());
            let moved = match std::fs::rename(&self.place, &aside) {
                Ok(()) => true,
                Err(e) if e.kind() == NotFound => false,
                Err(e) => return Err(self.cannot(&e)),
            };
            let Err(e) = std::fs::rename(new, &self.place) else {
                return Ok(());
            };
            if matches!(e.kind(), AlreadyExists | DirectoryNotEmpty) && others < EXPORTS {
                others += 1;
                continue;
            }
            if moved {
                // What was refused once may be again: the message is of the first time.
                let _ = std::fs::rename(&aside, &self.place);
            }
            return Err(self.cannot(&e));
        }
    }

    fn cannot(&self, e: &std::io::Error) -> Error {
        let e = std::io::Error::new(e.kind(), e.to_string());
        failed(format!(
            "{}: {}",
            self.out.display(),
            likewise_io::Error::from(e)
        ))
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
        assert!(fill(&out, &["a"], false, OWN, put("bad")).is_err());
        assert_eq!(std::fs::read_dir(at.path().join("sub")).unwrap().count(), 0);
        fill(&out, &["a"], false, OWN, put("one")).unwrap();
        let again = fill(&out, &["a"], false, OWN, put("two")).unwrap_err();
        assert_eq!(again.what_to_do(), Some(Hint::Overwrite));
        assert!(fill(&out, &["a"], true, OWN, put("bad")).is_err());
        assert_eq!(std::fs::read_to_string(out.join("a")).unwrap(), "one");
        fill(&out, &["a"], true, OWN, put("two")).unwrap();
        assert_eq!(std::fs::read_to_string(out.join("a")).unwrap(), "two");
        std::fs::write(out.join("mine"), "").unwrap();
        let said = fill(&out, &["a"], true, OWN, put("three")).unwrap_err();
        assert!(said.to_string().contains("holds mine"), "{said}");
        assert_eq!(std::fs::read_dir(at.path().join("sub")).unwrap().count(), 1);
        assert!(fill(&out.join("a"), &["a"], true, OWN, put("x")).is_err());
    }

    /// Of these tests all exports are.
    const OWN: &dyn Fn(&Path) -> bool = &|_| true;

    #[test]
    fn files_of_others_stay_whatever_their_names() {
        let at = tempfile::tempdir().unwrap();
        let mine = |folder: &Path| folder.join("b").exists();
        std::fs::write(at.path().join("a"), "theirs").unwrap();
        let put = |folder: &Path| {
            std::fs::write(folder.join("b"), "").unwrap();
            Ok(())
        };
        let said = fill(at.path(), &["a", "b"], true, &mine, put).unwrap_err();
        assert!(said.to_string().contains("no export of likewise"), "{said}");
        assert_eq!(
            std::fs::read_to_string(at.path().join("a")).unwrap(),
            "theirs"
        );
        std::fs::write(at.path().join("b"), "").unwrap();
        fill(at.path(), &["a", "b"], true, &mine, put).unwrap();
        assert!(!at.path().join("a").exists());
    }

    /// Fills the folder with two files of the same text.
    fn both(out: &Path, text: &str) -> Result<()> {
        fill(out, &["a", "b"], true, OWN, |folder| {
            std::fs::write(folder.join("a"), text).unwrap();
            std::fs::write(folder.join("b"), text).unwrap();
            Ok(())
        })
    }

    #[test]
    fn what_others_keep_beside_it_stays() {
        let at = tempfile::tempdir().unwrap();
        let own = [".out.old", ".out.part"].map(|name| at.path().join(name));
        for folder in &own {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("thesis.tex"), "dear reader").unwrap();
        }
        both(&at.path().join("out"), "one").unwrap();
        both(&at.path().join("out"), "two").unwrap();
        assert!(own.iter().all(|folder| folder.join("thesis.tex").exists()));
        assert_eq!(std::fs::read_dir(at.path()).unwrap().count(), 3);
    }

    #[cfg(unix)]
    #[test]
    fn the_target_of_a_link_is_filled_and_the_link_stays() {
        let at = tempfile::tempdir().unwrap();
        let (link, target) = (at.path().join("link"), at.path().join("sub/target"));
        std::os::unix::fs::symlink("sub/target", &link).unwrap();
        for (text, out) in [("one", "link"), ("two", "link"), ("three", "link/")] {
            both(&at.path().join(out), text).unwrap();
            assert!(link.is_symlink() && !target.is_symlink(), "{text}");
            assert_eq!(std::fs::read_to_string(target.join("b")).unwrap(), text);
        }
        std::fs::write(target.join("mine"), "").unwrap();
        assert!(both(&link, "four").is_err());
        assert!(target.join("mine").exists());
        assert_eq!(std::fs::read_dir(at.path().join("sub")).unwrap().count(), 1);
    }

    #[test]
    fn exports_at_once_do_not_mix() {
        let at = tempfile::tempdir().unwrap();
        let out = at.path().join("out");
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let out = &out;
                scope.spawn(move || {
                    for round in 0..20 {
                        both(out, &format!("{thread} {round}")).unwrap();
                    }
                });
            }
        });
        let text = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
        assert_eq!(text("a"), text("b"));
        assert_eq!(std::fs::read_dir(at.path()).unwrap().count(), 1);
    }
}
