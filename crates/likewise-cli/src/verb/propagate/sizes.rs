//! Sizes of classes that somebody knows.

use std::path::Path;

use likewise::Monitor;
use likewise_io::TableOptions;

use crate::args::Propagate;
use crate::failure::Failure;

/// The words of `--class-sizes`; anything else is a file.
pub(super) fn word(written: &str) -> bool {
    let words = ["balanced", "labeled", "estimated", "free"];
    words.contains(&written) || written.starts_with("within=")
}

/// The file that was given.
pub(super) fn file(args: &Propagate) -> Option<&Path> {
    let written = args.class_sizes.as_deref().filter(|written| !word(written));
    written.map(Path::new)
}

/// A size for each of `classes`: a table with the columns `class` and `size`, in any order.
///
/// Fails on a class that no label has, that stands twice or not at all, and on what is no number.
pub(super) fn read(path: &Path, classes: &[String]) -> Result<Vec<f64>, Failure> {
    let asked = TableOptions {
        id_column: Some("class".into()),
        label_column: Some("size".into()),
        ..TableOptions::default()
    };
    // Classes stand where items do elsewhere, and sizes where labels do.
    let sizes =
        likewise_io::read_labels_as(path, classes, &asked, &Monitor::silent()).map_err(|e| {
            Failure::failed(format!(
                "{e} (an id is a class here: {})",
                classes.join(", ")
            ))
        })?;
    let size = |place: usize| {
        let class = &classes[place];
        let fail =
            |what: &str| Failure::failed(format!("{}: class {class} {what}", path.display()));
        let written = sizes[place]
            .class()
            .map(|size| &sizes.classes()[size as usize]);
        let written = written.ok_or_else(|| fail("has no size; give each class one"))?;
        let size: f64 = written
            .trim()
            .parse()
            .map_err(|_| fail("has a size that is no number"))?;
        if size.is_finite() && size > 0.0 {
            Ok(size)
        } else {
            Err(fail("has a size that is not above 0"))
        }
    };
    (0..classes.len()).map(size).collect()
}
