//! New labels beside old ones.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use likewise::{Collection, Label, Labels, Monitor};
use likewise_io::items::ItemRow;

use crate::Result;
use crate::run_folder::{OUTSIDE, rows_of};

/// What joining did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Joined {
    /// Ids of the items to which the files give a label, whatever it was before.
    pub given: HashSet<String>,
    /// Items that had no label and have one now.
    pub new: usize,
    /// Items that have another label than before.
    pub changed: usize,
    /// Items of the run that the data do not have.
    pub missing: usize,
}

/// The labels of a collection with those of files joined to them, each of which wins over what was
/// known before it; where the items of a run are given, what it knows wins over the data's own.
///
/// Fails where a file cannot be read, or names items that there are not.
pub fn join(
    collection: &mut Collection,
    run: Option<&[ItemRow]>,
    files: &[impl AsRef<Path>],
    monitor: &Monitor,
) -> Result<Joined> {
    let mut rows = rows_of(collection);
    let mut joined = Joined::default();
    if let Some(run) = run {
        let mut known: HashMap<&str, &ItemRow> =
            run.iter().map(|item| (item.id.as_str(), item)).collect();
        for row in &mut rows {
            if let Some(item) = known.remove(row.id.as_str()) {
                row.label.clone_from(&item.label);
            }
        }
        joined.missing = known.len();
    }
    for file in files {
        let labels = likewise_io::read_labels_with(file, collection.ids(), monitor)?;
        for (row, label) in rows.iter_mut().zip(labels.items()) {
            let name = match label {
                Label::Known(class) => labels.classes()[*class as usize].clone(),
                Label::Outside => OUTSIDE.to_owned(),
                Label::Unknown => continue,
            };
            joined.given.insert(row.id.clone());
            match &row.label {
                None => joined.new += 1,
                Some(old) if *old != name => joined.changed += 1,
                Some(_) => {}
            }
            row.label = Some(name);
        }
    }
    collection.labels = Some(of(&rows)?);
    Ok(joined)
}

/// The labels of the items of a run.
pub fn of(items: &[ItemRow]) -> Result<Labels> {
    let outside = |item: &ItemRow| item.label.as_deref() == Some(OUTSIDE);
    let named = Labels::named(items.iter().map(|item| {
        let name = item.label.as_deref().unwrap_or_default();
        if outside(item) { "" } else { name }
    }));
    let labels =
        named.items().iter().zip(items).map(
            |(&label, item)| {
                if outside(item) { Label::Outside } else { label }
            },
        );
    Labels::new(named.classes().to_vec(), labels.collect())
}

/// What tells labels from others.
pub fn digest(collection: &Collection) -> String {
    let rows = rows_of(collection);
    let parts = rows.iter().flat_map(|row| {
        let label = row.label.as_deref().unwrap_or_default();
        [row.id.as_bytes(), b"\0", label.as_bytes(), b"\n"]
    });
    likewise_io::digest_parts(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use likewise::View;
    use ndarray::Array2;

    #[test]
    fn new_labels_win_and_are_counted() {
        let view = View {
            name: "x".into(),
            matrix: Array2::ones((5, 1)),
            present: None,
        };
        let ids: Vec<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).into();
        let mut collection = Collection::new(ids, vec![view]).unwrap();
        collection.labels = Some(Labels::parse(["cat", "", "dog", "cat", "-2"]));
        let before = digest(&collection);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new.csv");
        std::fs::write(&file, "id,label\na,owl\nb,cat\nc,dog\nd,\n").unwrap();
        let run = ItemRow {
            id: "d".into(),
            label: Some("hen".into()),
            ..ItemRow::default()
        };
        let gone = ItemRow {
            id: "z".into(),
            ..run.clone()
        };
        let silent = Monitor::silent();
        let joined = join(&mut collection, Some(&[run, gone]), &[&file], &silent).unwrap();
        let wanted = Joined {
            given: ["a", "b", "c"].map(str::to_owned).into(),
            new: 1,
            changed: 1,
            missing: 1,
        };
        assert_eq!(joined, wanted);
        let labels: Vec<Option<String>> =
            rows_of(&collection).into_iter().map(|r| r.label).collect();
        let wanted = ["owl", "cat", "dog", "hen", "outside"];
        assert_eq!(labels, wanted.map(|name| Some(name.to_owned())));
        assert_ne!(digest(&collection), before);
        std::fs::write(&file, "id,label\nq,owl\n").unwrap();
        assert!(join(&mut collection, None, &[&file], &silent).is_err());
    }
}
