//! Where a verb may write: never over what it reads, nor over a part of a run.

use std::ffi::OsStr;
use std::path::Path;

use likewise_io::atomic;

use super::RunFolder;
use super::record::{CONFIG, EMBEDDINGS, RECORD, WORDS};
use crate::{Result, usage};

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
        if atomic::same_file(out, input) {
            return Err(usage(format!(
                "{}: this is read, so it cannot be written too; name another file",
                out.display()
            )));
        }
    }
    Ok(())
}

/// Refuses an output that is a file which the run of this folder was made of: its data, its labels.
/// Of a folder that is no run nothing is said.
///
/// Files are known by the names that the fit was given, so only from where it was fitted, or where
/// they were whole paths.
pub fn check_apart(out: Option<&Path>, run: &Path) -> Result<()> {
    let (Some(out), true) = (out, RunFolder::is_meant(run)) else {
        return Ok(());
    };
    let Ok(record) = RunFolder::read_by(run, RunFolder::record) else {
        return Ok(());
    };
    let named = record.arguments.iter().flat_map(|argument| {
        let value = argument.split_once('=').map(|(_, value)| value);
        [Some(argument.as_str()), value]
    });
    for name in named.flatten().filter(|name| !name.is_empty()) {
        if atomic::same_file(out, Path::new(name)) {
            return Err(usage(format!(
                "{}: the run {} was made of this file; name another one",
                out.display(),
                run.display()
            )));
        }
    }
    Ok(())
}

/// Whether this is a file of a run, of its index, or of its words.
pub fn is_part(path: &Path) -> bool {
    let within = |folder: Option<&Path>| {
        folder.is_some_and(|folder| {
            let here = folder.as_os_str().is_empty();
            RunFolder::is_meant(if here { Path::new(".") } else { folder })
        })
    };
    let name = path.file_name().unwrap_or_default();
    let own = [
        CONFIG,
        RECORD,
        EMBEDDINGS,
        "model.safetensors",
        "items.parquet",
        "beliefs.npz",
        "voters.parquet",
        "votes.parquet",
        "tuples.parquet",
        "metrics.json",
        "report.html",
        "README.md",
    ];
    let folder = path.parent();
    let below = folder.is_some_and(|folder| {
        let name = folder.file_name();
        let own = ["index", WORDS]
            .iter()
            .any(|own| name == Some(OsStr::new(own)));
        own && within(folder.parent())
    });
    below || own.iter().any(|own| name == *own) && within(folder)
}
