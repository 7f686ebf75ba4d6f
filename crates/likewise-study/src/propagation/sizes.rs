//! What is known of the sizes of the classes: in a word, or from a table.

use std::path::{Path, PathBuf};

use likewise::Monitor;
use likewise::propagate::Sizes;
use likewise_io::TableOptions;

use crate::{Result, failed};

/// What is known of the sizes of the classes.
#[derive(Debug, Clone, PartialEq)]
pub enum ClassSizes {
    /// What holds whatever the classes are called.
    Said(Sizes),
    /// A table with the size of each class, which is read once the classes are known.
    Table(PathBuf),
}

impl ClassSizes {
    /// The table, where there is one.
    pub(super) fn table(&self) -> Option<&Path> {
        match self {
            Self::Said(_) => None,
            Self::Table(path) => Some(path),
        }
    }

    /// As a method takes them. Fails on a table that does not suit the classes.
    pub(super) fn of(&self, classes: &[String]) -> Result<Sizes> {
        match self {
            Self::Said(sizes) => Ok(sizes.clone()),
            Self::Table(path) => read(path, classes).map(Sizes::Known),
        }
    }
}

/// A size for each of `classes`: a table with the columns `class` and `size`, in any order.
///
/// Fails on a class that no label has, that stands twice or not at all, and on what is no number.
fn read(path: &Path, classes: &[String]) -> Result<Vec<f64>> {
    let asked = TableOptions {
        id_column: Some("class".into()),
        label_column: Some("size".into()),
        ..TableOptions::default()
    };
    // Classes stand where items do elsewhere, and sizes where labels do.
    let sizes =
        likewise_io::read_labels_as(path, classes, &asked, &Monitor::silent()).map_err(|e| {
            failed(format!(
                "{e} (an id is a class here: {})",
                classes.join(", ")
            ))
        })?;
    let size = |place: usize| {
        let class = &classes[place];
        let fail = |what: &str| failed(format!("{}: class {class} {what}", path.display()));
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
