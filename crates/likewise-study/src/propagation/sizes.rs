//! What is known of the sizes of the classes: in a word, or from a table.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use likewise::propagate::Sizes;
use likewise_io::{ErrorKind, Said};

use crate::{Result, failed};

/// Classes that are named one by one; of more the first.
const NAMED: usize = 8;

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

    /// Whether classes are decided by them.
    pub(super) fn are_held(&self) -> bool {
        *self != Self::Said(Sizes::Free)
    }

    /// Fails on a table that suits no classes, as far as it tells by itself.
    pub(super) fn check(&self) -> Result<()> {
        match self {
            Self::Said(_) => Ok(()),
            Self::Table(path) => read(path).map(drop),
        }
    }

    /// As a method takes them. Fails on a table that does not suit the classes.
    pub(super) fn of(&self, classes: &[String]) -> Result<Sizes> {
        match self {
            Self::Said(sizes) => Ok(sizes.clone()),
            Self::Table(path) => of_classes(path, classes).map(Sizes::Known),
        }
    }
}

/// A class of a table, where it stands, and its size.
struct Row {
    place: String,
    class: String,
    size: f64,
}

/// The rows of a table with the columns `class` and `size`, in any order.
///
/// Fails without these columns, on a class that stands twice, and on a size that is no number above 0.
fn read(path: &Path) -> Result<Vec<Row>> {
    let said = likewise_io::read_said(path, "class", "size").map_err(|e| {
        failed(match e.kind() {
            ErrorKind::NotFound | ErrorKind::Io => e.to_string(),
            _ => format!("{e}; sizes of classes stand in a table with the columns class and size"),
        })
    })?;
    let mut places: HashMap<String, String> = HashMap::new();
    let row = |said: Said| {
        let Said { place, name, value } = said;
        let fail = |what: String| failed(format!("{}: {place}: {what}", path.display()));
        if let Some(first) = places.insert(name.clone(), place.clone()) {
            return Err(fail(format!(
                "class \"{name}\" has a size in {first} already; give each class one"
            )));
        }
        if value.is_empty() {
            return Err(fail(format!(
                "class \"{name}\" has no size; give each class one"
            )));
        }
        match value.parse::<f64>() {
            Ok(size) if size.is_finite() && size > 0.0 => Ok(Row {
                place,
                class: name,
                size,
            }),
            Ok(size) => {
                let rule = if size.is_finite() {
                    "above 0"
                } else {
                    "finite"
                };
                Err(fail(format!(
                    "the size {value} of class \"{name}\" is not {rule}"
                )))
            }
            Err(_) => Err(fail(format!(
                "the size \"{value}\" of class \"{name}\" is no number"
            ))),
        }
    };
    said.into_iter().map(row).collect()
}

/// A size for each of `classes`, from a table of them.
///
/// Fails as [`read`] does, on a class that no label has, and where one has no size.
fn of_classes(path: &Path, classes: &[String]) -> Result<Vec<f64>> {
    let shown = path.display();
    let mut sizes = vec![None; classes.len()];
    for row in read(path)? {
        let Some(class) = classes.iter().position(|class| *class == row.class) else {
            return Err(failed(format!(
                "{shown}: {}: no label is of class \"{}\"; the classes are {}",
                row.place,
                row.class,
                some(classes)
            )));
        };
        sizes[class] = Some(row.size);
    }
    let each = sizes.into_iter().zip(classes);
    each.map(|(size, class)| {
        size.ok_or_else(|| {
            failed(format!(
                "{shown}: class \"{class}\" has no size; give each class one"
            ))
        })
    })
    .collect()
}

/// The classes by their names; of many the first.
fn some(classes: &[String]) -> String {
    let named = classes[..classes.len().min(NAMED)].join(", ");
    match classes.len() - classes.len().min(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> (tempfile::TempDir, ClassSizes) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sizes.csv");
        std::fs::write(&path, text).unwrap();
        (folder, ClassSizes::Table(path))
    }

    #[test]
    fn sizes_come_in_the_order_of_the_classes() {
        let (_folder, sizes) = written("size,class\n2,b\n 0.5 ,a\n");
        sizes.check().unwrap();
        let classes = ["a".to_owned(), "b".to_owned()];
        assert_eq!(sizes.of(&classes).unwrap(), Sizes::Known(vec![0.5, 2.0]));
    }

    #[test]
    fn what_is_wrong_with_a_size_is_said_in_words_of_sizes() {
        let classes: Vec<String> = (0..10).map(|c| format!("c{c}")).collect();
        for (text, says, at_once) in [
            (
                "class,size\nc0,-1\n",
                "line 2: the size -1 of class \"c0\" is not above 0",
                true,
            ),
            (
                "class,size\nc0,1\nc1,inf\n",
                "line 3: the size inf of class \"c1\" is not finite",
                true,
            ),
            (
                "class,size\nc0,many\n",
                "line 2: the size \"many\" of class \"c0\" is no number",
                true,
            ),
            (
                "class,size\nc0,\n",
                "line 2: class \"c0\" has no size",
                true,
            ),
            (
                "class,size\nc0,1\nc0,2\n",
                "line 3: class \"c0\" has a size in line 2 already",
                true,
            ),
            ("name,size\nc0,1\n", "with the columns class and size", true),
            (
                "class,size\ncat,1\n",
                "line 2: no label is of class \"cat\"; the classes are c0, c1, c2, c3, c4, c5, c6, c7 and 2 more",
                false,
            ),
            ("class,size\nc0,1\n", "class \"c1\" has no size", false),
        ] {
            let (_folder, sizes) = written(text);
            let said = sizes.of(&classes).unwrap_err().to_string();
            assert!(said.contains(says) && said.contains("sizes.csv"), "{said}");
            assert_eq!(sizes.check().is_err(), at_once, "{text}");
        }
        let folder = tempfile::tempdir().unwrap();
        let missing = ClassSizes::Table(folder.path().join("nosuch.csv"));
        let said = missing.check().unwrap_err().to_string();
        assert!(
            said.contains("nosuch.csv") && !said.contains("columns"),
            "{said}"
        );
    }

    #[test]
    fn sizes_that_are_free_hold_nothing() {
        assert!(!ClassSizes::Said(Sizes::Free).are_held());
        assert!(ClassSizes::Said(Sizes::Balanced).are_held());
        assert!(ClassSizes::Table("sizes.csv".into()).are_held());
    }
}
