//! Collections as one `.npz`: every view a matrix, beside ids, labels and the split.

use std::io::BufWriter;
use std::path::Path;

use likewise::{Collection, Label};

use crate::npz::Writer;
use crate::{Error, Result, atomic};

/// Writes a collection, atomically: each view as a matrix (`f32`) of its name, `id`, `label` where
/// there are labels (empty: unlabeled), and `split` where items have parts. It reads as it was.
///
/// Fails for a view that items lack, whose name is one of these three, and where the file
/// cannot be written. Equal collections give equal bytes.
pub fn write(path: impl AsRef<Path>, collection: &Collection) -> Result<()> {
    let path = path.as_ref();
    for view in collection.views() {
        if ["id", "label", "split"].contains(&view.name.as_str()) || view.present.is_some() {
            return Err(Error::value(format!(
                "{}: view {} cannot stand in one .npz with the others: its name is taken, or some \
                 items lack it",
                path.display(),
                view.name
            )));
        }
    }
    let labels = collection.labels.as_ref().map(|labels| {
        let text = |label: &Label| match label {
            Label::Known(class) => labels.classes()[*class as usize].clone(),
            Label::Unknown => String::new(),
            Label::Outside => "outside".to_owned(),
        };
        labels.items().iter().map(text).collect::<Vec<_>>()
    });
    let split = collection.split.as_ref().map(|split| {
        let name = |part: &likewise::Part| part.name().to_owned();
        split.iter().map(name).collect::<Vec<_>>()
    });
    atomic::write(path, |file| {
        let mut npz = Writer::new(BufWriter::new(file));
        npz.texts("id", collection.ids())?;
        for (name, texts) in [("label", labels), ("split", split)] {
            if let Some(texts) = texts {
                npz.texts(name, &texts)?;
            }
        }
        for view in collection.views() {
            let shape = [view.matrix.nrows(), view.matrix.ncols()];
            let values = view.matrix.iter().copied();
            npz.numbers(&view.name, "<f4", &shape, values, f32::to_le_bytes)?;
        }
        npz.finish()
    })
}

#[cfg(test)]
mod tests {
    use likewise::{Labels, Monitor, Part, View};
    use ndarray::array;

    use super::*;
    use crate::ReadOptions;

    #[test]
    fn a_collection_reads_as_it_was_written() {
        let view = |name: &str, matrix| View {
            name: name.into(),
            matrix,
            present: None,
        };
        let views = vec![
            view("hist", array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.5_f32]]),
            view("lbp", array![[0.5], [0.25], [0.0_f32]]),
        ];
        let ids = ["a/1.png", "b/2.png", "c"].map(String::from).to_vec();
        let mut collection = Collection::new(ids, views.clone()).unwrap();
        collection.labels = Some(Labels::parse(["a", "b", ""]));
        collection.split = Some(vec![Part::Train, Part::Query, Part::Train]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.npz");
        write(&path, &collection).unwrap();
        let read = crate::read(&path, &ReadOptions::default(), &Monitor::silent()).unwrap();
        assert_eq!(read.ids(), collection.ids());
        assert_eq!(read.labels, collection.labels);
        assert_eq!(read.split, collection.split);
        for own in &views {
            assert_eq!(read.view(Some(&own.name)).unwrap().matrix, own.matrix);
        }
        let taken = vec![view("label", array![[1.0_f32]])];
        let taken = Collection::new(vec!["x".into()], taken).unwrap();
        assert!(
            write(&path, &taken)
                .unwrap_err()
                .to_string()
                .contains("taken")
        );
    }
}
