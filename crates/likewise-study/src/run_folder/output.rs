//! Where a verb may write: never over what it reads, nor over a part of a run.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use likewise_image::ImageFolder;
use likewise_io::atomic;

use super::links::{self, FOLDERS};
use super::{RunFolder, lock};
use crate::{Result, journal, usage};

/// Whether both are the same folder.
pub fn is_same(a: &Path, b: &Path) -> bool {
    let whole = |path: &Path| {
        let here = path.as_os_str().is_empty();
        std::fs::canonicalize(if here { Path::new(".") } else { path }).ok()
    };
    whole(a).is_some() && whole(a) == whole(b)
}

/// Refuses an output whose name ends in anything but `ending`; names without any are taken as they
/// are, as those of devices.
pub fn check_ending(out: Option<&Path>, what: &str, ending: &str) -> Result<()> {
    let Some(out) = out else { return Ok(()) };
    let own = out
        .extension()
        .is_none_or(|own| own.eq_ignore_ascii_case(ending));
    if own {
        return Ok(());
    }
    Err(usage(format!(
        "{}: {what} in no other form than .{ending}; name a file that ends so, such as {}",
        out.display(),
        out.with_extension(ending).display()
    )))
}

/// The ending of an output, one of `endings`, in small letters; the first of them for names without
/// any, as those of devices.
///
/// Fails for any other.
pub fn ending_of(out: &Path, what: &str, endings: &[&'static str]) -> Result<&'static str> {
    let Some(own) = out.extension() else {
        return Ok(endings[0]);
    };
    let known = endings
        .iter()
        .find(|ending| own.eq_ignore_ascii_case(ending));
    known.copied().ok_or_else(|| {
        let names: Vec<String> = endings.iter().map(|ending| format!(".{ending}")).collect();
        usage(format!(
            "{}: {what} to {}; name a file that ends so, such as {}",
            out.display(),
            names.join(" or "),
            out.with_extension(endings[0]).display()
        ))
    })
}

/// Refuses an output that is one of the inputs, which would be gone, or a part of a run, or `-`.
pub fn check_output(out: Option<&Path>, inputs: &[Option<&Path>]) -> Result<()> {
    let Some(out) = out else { return Ok(()) };
    if out == Path::new("-") {
        return Err(usage(
            "-: no name of a file; name one, or /dev/stdout to write to the standard output \
             (./- is a file of this name)",
        ));
    }
    if is_part(out) {
        return Err(usage(format!(
            "{}: this belongs to the run in its folder; name another file",
            out.display()
        )));
    }
    for input in inputs.iter().flatten() {
        if is_read(out, input) {
            return Err(usage(format!(
                "{}: this is read, so it cannot be written too; name another file",
                out.display()
            )));
        }
        check_no_part_of_images(out, input)?;
    }
    Ok(())
}

/// Whether who reads `input` reads the file `out`: it is that, or stands beside it.
fn is_read(out: &Path, input: &Path) -> bool {
    let beside = likewise_io::read_beside(input);
    atomic::same_file(out, input) || beside.iter().any(|file| atomic::same_file(out, file))
}

/// Refuses an output that would be read with the images of the folder `input` from then on: an image, or a
/// table of labels.
fn check_no_part_of_images(out: &Path, input: &Path) -> Result<()> {
    let is_part = |out: &Path| ImageFolder::reads(input, out);
    // Of a run, which may hold files of any name, nothing is read as images.
    if RunFolder::is_meant(input) || !(is_part(out) || is_part(&atomic::resolved(out))) {
        return Ok(());
    }
    Err(usage(format!(
        "{}: a file of this name is read with the images of {}; name another file",
        out.display(),
        input.display()
    )))
}

/// Refuses an output that is a file which the run of this folder was made of: its data, its labels.
/// Of a folder that is no run nothing is said.
///
/// Files are known by the names that the fit was given: from where this is asked, from the folder of the run and
/// from all above it, since it is not known where the fit was.
pub fn check_apart(out: Option<&Path>, run: &Path) -> Result<()> {
    let (Some(out), true) = (out, RunFolder::is_meant(run)) else {
        return Ok(());
    };
    if is_same(out, run) {
        return Err(usage(format!(
            "{}: this is the folder of the run itself; give another name",
            out.display()
        )));
    }
    let Ok(record) = RunFolder::read_by(run, RunFolder::record) else {
        return Ok(());
    };
    let named = record.arguments.iter().flat_map(|argument| {
        let value = argument.split_once('=').map(|(_, value)| value);
        [Some(argument.as_str()), value]
    });
    let mut named: Vec<String> = named.flatten().map(str::to_owned).collect();
    let files = (named.iter()).flat_map(|name| named_in(Path::new(name), run));
    named.extend(files.collect::<Vec<_>>());
    for name in named.iter().filter(|name| !name.is_empty()) {
        for name in places_of(Path::new(name), run) {
            if is_read(out, &name) {
                return Err(usage(format!(
                    "{}: the run {} was made of this file; name another one",
                    out.display(),
                    run.display()
                )));
            }
            check_no_part_of_images(out, &name)?;
        }
    }
    Ok(())
}

/// The most bytes that are looked through for names.
const SETTINGS: u64 = 1 << 20;

/// What a file of this name says, if it is one of settings, in which data and labels may be named.
fn named_in(file: &Path, run: &Path) -> Vec<String> {
    let is_small = |place: &PathBuf| {
        let there = std::fs::metadata(place);
        there.is_ok_and(|there| there.is_file() && there.len() <= SETTINGS)
    };
    let places = places_of(file, run).into_iter().filter(is_small);
    let tables = places.filter_map(|place| {
        let text = likewise_io::read_file(place, crate::text::MOST).ok()?;
        String::from_utf8(text).ok()?.parse::<toml::Table>().ok()
    });
    let mut open: Vec<toml::Value> = tables.map(toml::Value::Table).collect();
    let mut words = Vec::new();
    while let Some(value) = open.pop() {
        match value {
            toml::Value::String(word) => words.push(word),
            toml::Value::Array(values) => open.extend(values),
            toml::Value::Table(table) => open.extend(table.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
    words
}

/// Where a file of this name may be that a run was made of.
fn places_of(name: &Path, run: &Path) -> Vec<PathBuf> {
    let run = std::fs::canonicalize(run).unwrap_or_else(|_| run.to_owned());
    let above = run.ancestors().map(|folder| folder.join(name));
    let above = above.filter(|place| name.is_relative() && place.exists());
    std::iter::once(name.to_owned()).chain(above).collect()
}

/// Whether this is a file of a run, or in the folders of its index, its words or its events; also by a link,
/// which would be written through.
pub fn is_part(path: &Path) -> bool {
    is_called_part(path) || is_called_part(&atomic::resolved(path))
}

fn is_called_part(path: &Path) -> bool {
    let is_run = |folder: &Path| {
        let here = folder.as_os_str().is_empty();
        RunFolder::is_meant(if here { Path::new(".") } else { folder })
    };
    let is_own = |folder: &Path| {
        let own = FOLDERS.map(OsStr::new);
        folder.file_name().is_some_and(|name| own.contains(&name))
            && folder.parent().is_some_and(is_run)
    };
    let name = path.file_name().unwrap_or_default();
    // Labels of data that have gone keep their name, and get a number.
    let is_named = links::names().any(|own| name == own)
        || name == lock::NAME
        || name
            .as_encoded_bytes()
            .starts_with(journal::NAME.as_bytes());
    path.ancestors().skip(1).any(is_own) || is_named && path.parent().is_some_and(is_run)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn refused(out: &Path, inputs: &[&Path]) -> String {
        let inputs: Vec<_> = inputs.iter().map(|input| Some(*input)).collect();
        let refused = check_output(Some(out), &inputs);
        refused.map_or_else(|e| e.to_string(), |()| String::new())
    }

    #[test]
    fn all_that_a_run_holds_is_a_part_of_it() {
        let scene = tempfile::tempdir().unwrap();
        let run = scene.path().join("run");
        fs::create_dir_all(run.join("index")).unwrap();
        let parts = [
            "run.json",
            "codes.npy",
            "labels.jsonl",
            "labels.jsonl.2",
            "index/index.json",
            "words/sift.safetensors",
            "events/draw-0/events.jsonl",
            "index",
            "checkpoints",
            "models/2/model.safetensors",
            ".lock",
        ];
        for part in parts {
            assert!(!is_part(&run.join(part)), "{part} of no run");
        }
        fs::write(run.join("run.json"), "{}").unwrap();
        for part in parts {
            assert!(is_part(&run.join(part)), "{part}");
        }
        for other in ["new.npy", "notes/index.json", "old/codes.npy"] {
            assert!(!is_part(&run.join(other)), "{other}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_part_is_known_by_any_link() {
        use std::os::unix::fs::symlink;
        let scene = tempfile::tempdir().unwrap();
        let at = |name: &str| scene.path().join(name);
        fs::create_dir_all(at("run/index")).unwrap();
        fs::write(at("run/run.json"), "{}").unwrap();
        fs::write(at("run/embeddings.npy"), "rows").unwrap();
        symlink("run/embeddings.npy", at("link.npy")).unwrap();
        symlink("run/codes.npy", at("new.npy")).unwrap();
        symlink("run/index", at("idx")).unwrap();
        for part in ["link.npy", "new.npy", "idx/index.json", "idx/new"] {
            assert!(is_part(&at(part)), "{part}");
        }
        // A part that is itself a link is one.
        fs::write(at("elsewhere"), "").unwrap();
        symlink("../elsewhere", at("run/model.safetensors")).unwrap();
        assert!(is_part(&at("run/model.safetensors")) && !is_part(&at("elsewhere")));
    }

    #[test]
    fn what_is_read_beside_an_input_is_no_output() {
        let scene = tempfile::tempdir().unwrap();
        let at = |name: &str| scene.path().join(name);
        let pictures = at("train-images-idx3-ubyte");
        for name in ["train-images-idx3-ubyte", "train-labels-idx1-ubyte"] {
            fs::write(at(name), "").unwrap();
        }
        for out in ["train-images-idx3-ubyte", "train-labels-idx1-ubyte"] {
            assert!(
                refused(&at(out), &[&pictures]).contains("this is read"),
                "{out}"
            );
        }
        assert_eq!(refused(&at("g.npz"), &[&pictures]), "");
        // In the folder of both, too.
        let said = refused(&at("train-labels-idx1-ubyte"), &[scene.path()]);
        assert!(said.contains("this is read"), "{said}");
    }

    #[test]
    fn tables_of_labels_and_images_in_a_folder_of_images_are_no_outputs() {
        let scene = tempfile::tempdir().unwrap();
        let at = |name: &str| scene.path().join(name);
        fs::create_dir_all(at("photos/cat")).unwrap();
        let photos = at("photos");
        for out in ["photos/metadata.csv", "photos/cat/tom.png"] {
            let said = refused(&at(out), &[&photos]);
            assert!(said.contains("read with the images"), "{out}: {said}");
        }
        for out in ["metadata.csv", "photos/groups.csv"] {
            assert_eq!(refused(&at(out), &[&photos]), "", "{out}");
        }
        // So it is for the images that a run was made of.
        let record = serde_json::json!({
            "version": "0.1.0",
            "arguments": ["fit", photos, "-q"],
            "seed": 0,
            "data": "photos",
            "data_sha256": "",
            "items": 0,
            "seconds": {},
            "peak_memory_bytes": null,
            "threads": 1,
            "parts": {},
        });
        fs::create_dir(at("run")).unwrap();
        fs::write(at("run/run.json"), record.to_string()).unwrap();
        let apart = |out: &str| check_apart(Some(&at(out)), &at("run"));
        let said = apart("photos/metadata.csv").unwrap_err().to_string();
        assert!(said.contains("read with the images"), "{said}");
        apart("suspects.csv").unwrap();
        // A relative name is looked for where the fit may have been.
        let mut record = record;
        record["arguments"] = serde_json::json!(["fit", "x.npz", "--labels", "l.csv"]);
        fs::write(at("run/run.json"), record.to_string()).unwrap();
        fs::write(at("l.csv"), "id,label\n").unwrap();
        let said = apart("l.csv").unwrap_err().to_string();
        assert!(said.contains("was made of this file"), "{said}");
        apart("other.csv").unwrap();
        // What lies in a run is not read as images.
        let said = refused(&at("run/metadata.csv"), &[&at("run")]);
        assert_eq!(said, "");
    }
}
