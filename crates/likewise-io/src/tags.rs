//! Beliefs in several tags an item, in files: `.npz` for programs, `.csv` and `.parquet` for people.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use likewise::propagate::by_tag::ByTag;

use crate::beliefs::form_to_write;
use crate::npz::Writer;
use crate::parquet::{self, Column};
use crate::{Error, Form, Result, atomic};

/// Writes beliefs in tags, atomically, in the form that the ending of `path` says.
///
/// `.npz`: `scores` (f64, items x tags), `labels` (i64, items x tags: 1 has the tag, 0 has it not, a row of
/// -1 is not known), `labeled` (bool), `classes` (the tags) and `ids`. `.csv` and `.parquet`: one line an item
/// with `id`, `pseudo_label` (its tags with `|` between them, `outside` for none of them, empty for not
/// known), `labeled` and a column `score_<tag>` a tag. [Labels](crate::read_labels_as) are read from all of
/// them, where several are asked for.
///
/// Fails where the lengths disagree, for another ending, and where the file cannot be written.
pub fn write(path: impl AsRef<Path>, found: &ByTag, ids: &[String]) -> Result<()> {
    let path = path.as_ref();
    if ids.len() != found.tags.len() {
        return Err(Error::value(format!(
            "{}: tags of {} items, but {} ids; they must agree",
            path.display(),
            found.tags.len(),
            ids.len()
        )));
    }
    let form = form_to_write(path)?;
    atomic::write(path, |file| match form {
        Form::Csv => write_csv(file, found, ids),
        Form::Parquet => write_parquet(file, found, ids),
        _ => write_npz(file, found, ids),
    })
}

fn names(found: &ByTag) -> Vec<String> {
    let fixed = ["id", "pseudo_label", "labeled"].map(str::to_owned);
    let scores = found.tags.names().iter().map(|tag| format!("score_{tag}"));
    fixed.into_iter().chain(scores).collect()
}

/// The tags of an item as one word; none where they are not known.
fn word(found: &ByTag, item: usize) -> Option<String> {
    let own = found.tags.of(item)?;
    if own.is_empty() {
        return Some("outside".to_owned());
    }
    let names = own
        .iter()
        .map(|&tag| found.tags.names()[tag as usize].as_str());
    Some(names.collect::<Vec<_>>().join("|"))
}

fn write_csv(file: &mut BufWriter<File>, found: &ByTag, ids: &[String]) -> Result<()> {
    let mut csv = csv::Writer::from_writer(file);
    csv.write_record(names(found))?;
    for (item, id) in ids.iter().enumerate() {
        let own = word(found, item).unwrap_or_default();
        let fixed = [id.clone(), own, found.labeled[item].to_string()];
        let scores = found.beliefs.row(item).to_vec().into_iter();
        let scores = scores.map(|score| score.to_string());
        csv.write_record(fixed.into_iter().chain(scores))?;
    }
    Ok(csv.flush()?)
}

fn write_npz(file: &mut BufWriter<File>, found: &ByTag, ids: &[String]) -> Result<()> {
    let (n, t) = found.beliefs.dim();
    let mut npz = Writer::new(file);
    let scores = found.beliefs.iter().copied();
    npz.numbers("scores", "<f8", &[n, t], scores, f64::to_le_bytes)?;
    let has = |(item, tag): (usize, u32)| match found.tags.of(item) {
        None => -1,
        Some(own) => i64::from(own.binary_search(&tag).is_ok()),
    };
    let places = (0..n).flat_map(|item| (0..t as u32).map(move |tag| (item, tag)));
    npz.numbers("labels", "<i8", &[n, t], places.map(has), i64::to_le_bytes)?;
    let labeled = found.labeled.iter().map(|&l| u8::from(l));
    npz.numbers("labeled", "|b1", &[n], labeled, u8::to_le_bytes)?;
    npz.texts("classes", found.tags.names())?;
    npz.texts("ids", ids)?;
    npz.finish()
}

fn write_parquet(file: &mut BufWriter<File>, found: &ByTag, ids: &[String]) -> Result<()> {
    let words = (0..ids.len()).map(|item| word(found, item));
    let fixed = [
        Column::Text(ids.iter().cloned().map(Some).collect()),
        Column::Text(words.collect()),
        Column::Bool(found.labeled.clone()),
    ];
    let scores = found.beliefs.columns().into_iter();
    let scores = scores.map(|column| Column::Double(column.to_vec()));
    let all = fixed.into_iter().chain(scores);
    let named: Vec<(String, Column)> = names(found).into_iter().zip(all).collect();
    parquet::write(file, &named)
}

#[cfg(test)]
mod tests {
    use likewise::propagate::by_tag::Decided;
    use likewise::{Monitor, Tags};
    use ndarray::array;

    use super::*;
    use crate::TableOptions;

    #[test]
    fn what_is_written_reads_as_labels() {
        let tags = Tags::read([vec!["b", "a"], vec![], vec!["outside"]]).unwrap();
        let decided = Decided {
            threshold: 0.5,
            f1: None,
        };
        let found = ByTag {
            beliefs: array![[1.0, 1.0], [0.5, 0.5], [0.25, 1e-9]],
            tags: tags.clone(),
            decided: vec![decided; 2],
            labeled: vec![true, false, false],
        };
        let ids = ["x", "y", "z"].map(String::from);
        let folder = tempfile::tempdir().unwrap();
        for ending in ["npz", "csv", "parquet"] {
            let path = folder.path().join(format!("tags.{ending}"));
            write(&path, &found, &ids).unwrap();
            let asked = TableOptions {
                label_column: (ending != "npz").then(|| "pseudo_label".to_owned()),
                label_separator: Some('|'),
                ..TableOptions::default()
            };
            let read = crate::read_labels_as(&path, &ids, &asked, &Monitor::silent()).unwrap();
            assert_eq!(read.item_tags().unwrap(), tags, "{ending}");
        }
        let path = folder.path().join("tags.txt");
        assert!(write(&path, &found, &ids).is_err());
        let short = write(folder.path().join("tags.npz"), &found, &ids[..2]);
        assert!(
            short
                .unwrap_err()
                .to_string()
                .contains("tags of 3 items, but 2 ids")
        );
        let e = crate::beliefs::read(folder.path().join("tags.npz")).unwrap_err();
        assert!(e.to_string().contains("several tags an item"), "{e}");
    }
}
