//! Embeddings and labels as an evaluation needs them: who asks, who is searched, and what is the same item.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use likewise::error::Hint;
use likewise::eval::split;
use likewise::{Label, Labels, Part, Tags};
use ndarray::{Array2, ArrayView1, ArrayView2, Axis, concatenate};

use crate::environment::Environment;
use crate::run_folder::is_same;
use crate::source::{Source, with_view};
use crate::{Error, ErrorKind, Result};

/// All rows and labels, and which of them ask and are searched.
#[derive(Debug)]
pub struct Sides {
    /// A row for each item: the queries, then the gallery where it is other data.
    pub embeddings: Array2<f32>,
    /// Their labels.
    pub labels: Labels,
    /// Rows that ask.
    pub queries: Vec<usize>,
    /// Rows that are searched.
    pub gallery: Vec<usize>,
    /// For each row the one that is the same item, where both sides have ids.
    pub same_as: Option<Vec<usize>>,
    /// Whether the gallery was read beside the queries, and of the same file.
    read: Read,
}

/// Of what the sides were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Read {
    /// Of data that are both.
    Once,
    /// Each of its own data.
    Apart,
    /// Each by itself, and of one file.
    Twice,
}

impl Sides {
    /// Reads the items that ask, and those that are searched where these are other data. Data that say who
    /// asks and who is searched are taken at their word.
    ///
    /// Fails without labels on either side, where the sides differ in columns, and on what cannot be read.
    pub fn read(
        asking: Source,
        searched: Option<Source>,
        view: Option<&str>,
        at: &Environment,
    ) -> Result<Self> {
        let Some(searched) = searched else {
            return Ok(Self::of_one(Side::read(&asking, view, at)?.labeled()?));
        };
        // Rows of both compare only in the same words.
        let path = searched.path().to_owned();
        let of_gallery = |e| of_file(e, &path);
        let searched = searched.with_own_words(at).map_err(of_gallery)?;
        let asking = asking.with_words_of(&searched);
        let queries = Side::read(&asking, view, at)?.labeled()?;
        let gallery = Side::read(&searched, view, at).map_err(of_gallery)?;
        if gallery.labels.n_known() == 0 {
            let message = "the gallery has no labels; give some by `gallery_labels FILE` (csv with id,label, or .npy)";
            return Err(of_gallery(Error::data(message)));
        }
        let mut sides = Self::of_both(queries, gallery, at)?;
        if is_same(asking.path(), &path) {
            sides.read = Read::Twice;
        }
        Ok(sides)
    }

    fn of_one(side: Side) -> Self {
        let n = side.rows.nrows();
        let (asked, searched) = match &side.split {
            Some(parts) => split::roles(parts),
            None => ((0..n).collect(), (0..n).collect()),
        };
        let everyone = asked.is_empty() || searched.is_empty();
        let chosen = |items: Vec<usize>| if everyone { (0..n).collect() } else { items };
        Self {
            embeddings: side.rows,
            labels: side.labels,
            queries: chosen(asked),
            gallery: chosen(searched),
            same_as: None,
            read: Read::Once,
        }
    }

    fn of_both(queries: Side, gallery: Side, at: &Environment) -> Result<Self> {
        let (n, m) = (queries.rows.nrows(), gallery.rows.nrows());
        if gallery.rows.ncols() != queries.rows.ncols() {
            let message = format!(
                "the queries have {} columns, the gallery {}",
                queries.rows.ncols(),
                gallery.rows.ncols()
            );
            return Err(Error::data(message).placed());
        }
        let same_as = same_items(&queries, &gallery);
        if same_as.is_none() {
            let both = equal_rows(queries.rows.view(), gallery.rows.view());
            if both > 0 {
                at.monitor.warn(format!(
                    "{both} of the {n} queries stand in the gallery with equal values, and find \
                     themselves first; give both sides ids, or leave the gallery out if they are the \
                     same items"
                ));
            }
        }
        if queries.labels.tags().is_some() || gallery.labels.tags().is_some() {
            let words = tag_words(&queries.labels)
                .into_iter()
                .chain(tag_words(&gallery.labels));
            return Ok(Self {
                labels: Labels::of_tags(&Tags::read(words)?)?,
                embeddings: concatenate![Axis(0), queries.rows, gallery.rows],
                queries: (0..n).collect(),
                gallery: (n..n + m).collect(),
                same_as,
                read: Read::Apart,
            });
        }
        let names = |labels: &Labels| -> Vec<String> {
            let name = |label: &Label| match label {
                Label::Known(c) => labels.classes()[*c as usize].clone(),
                Label::Outside => "-2".into(),
                Label::Unknown => String::new(),
            };
            labels.items().iter().map(name).collect()
        };
        let labels = names(&queries.labels).into_iter();
        Ok(Self {
            labels: Labels::parse(labels.chain(names(&gallery.labels))),
            embeddings: concatenate![Axis(0), queries.rows, gallery.rows],
            queries: (0..n).collect(),
            gallery: (n..n + m).collect(),
            same_as,
            read: Read::Apart,
        })
    }

    /// What must be said of items that neither ask nor are searched, because their label does not allow it. One
    /// that stands on both sides of the same file counts once.
    pub fn unused_in_words(&self) -> Option<String> {
        let out = unused(&self.labels, &self.queries, &self.gallery);
        let count = |out: &[bool]| out.iter().filter(|&&out| out).count();
        let (asked, searched) = out.split_at(self.queries.len().min(out.len()));
        let words = match self.read {
            Read::Once => named(count(&out), "item", "items")?,
            Read::Twice if asked == searched => named(count(asked), "item", "items")?,
            Read::Apart | Read::Twice => {
                let of_gallery = ("item of the gallery", "items of the gallery");
                let both = [
                    named(count(asked), "query", "queries"),
                    named(count(searched), of_gallery.0, of_gallery.1),
                ];
                let said: Vec<String> = both.into_iter().flatten().collect();
                (!said.is_empty()).then(|| said.join(" and "))?
            }
        };
        Some(format!("left out, without a known label: {words}"))
    }
}

/// The same error with its file in front, where it is of data and does not say of which.
fn of_file(e: Error, file: &Path) -> Error {
    if e.kind() == ErrorKind::Data && !e.is_placed() {
        return e.within(file.display());
    }
    e
}

/// The names of the tags of each item, as they are read again.
fn tag_words(labels: &Labels) -> Vec<Vec<String>> {
    let own = |label: &Label| match (label, labels.tags()) {
        (Label::Known(class), Some(tags)) => {
            let own = tags.of(*class as usize).unwrap_or_default().iter();
            own.map(|&tag| tags.names()[tag as usize].clone()).collect()
        }
        (Label::Outside, _) => vec!["-2".to_owned()],
        _ => vec![],
    };
    labels.items().iter().map(own).collect()
}

/// So many of something; none where there are none.
fn named(count: usize, one: &str, many: &str) -> Option<String> {
    let what = if count == 1 { one } else { many };
    (count > 0).then(|| format!("{count} {what}"))
}

/// Whether each item has no part because of its label, on any side where it stands.
fn unused(labels: &Labels, queries: &[usize], gallery: &[usize]) -> Vec<bool> {
    let mut left_out = vec![false; labels.len()];
    for &item in queries {
        left_out[item] = labels[item].class().is_none();
    }
    for &item in gallery {
        // An item known to be outside of all classes is searched, though it does not ask.
        left_out[item] = labels[item] == Label::Unknown;
    }
    left_out
}

/// One side of an evaluation as it was read.
struct Side {
    rows: Array2<f32>,
    labels: Labels,
    split: Option<Vec<Part>>,
    /// If the data name their items: ids that are row numbers name nothing.
    ids: Option<Vec<String>>,
}

impl Side {
    fn read(source: &Source, view: Option<&str>, at: &Environment) -> Result<Self> {
        let collection = source.load(at)?;
        let (collection, name) = with_view(collection, view, at.monitor)?;
        let mut rows = collection.ids().iter().enumerate();
        let numbered = rows.all(|(row, id)| *id == row.to_string());
        let ids = (!numbered).then(|| collection.ids().to_vec());
        let labels = collection.labels.clone();
        Ok(Self {
            labels: labels.unwrap_or_else(|| Labels::unknown(collection.len())),
            split: collection.split.clone(),
            ids,
            rows: collection.into_view(Some(&name))?.matrix,
        })
    }

    /// Fails unless there is a label.
    fn labeled(self) -> Result<Self> {
        if self.labels.n_known() == 0 {
            return Err(Error::data("the data hold no labels").hint(Hint::GiveLabels));
        }
        Ok(self)
    }
}

/// For each row of both sides, one after the other, the row of the gallery that has its id, or
/// itself; `None` unless both sides have ids.
fn same_items(queries: &Side, gallery: &Side) -> Option<Vec<usize>> {
    let (asked, searched) = (queries.ids.as_ref()?, gallery.ids.as_ref()?);
    let n = asked.len();
    let rows = searched.iter().zip(n..);
    let row_of: HashMap<&String, usize> = rows.collect();
    let own = (0..n).zip(asked);
    let same = own.map(|(row, id)| row_of.get(id).copied().unwrap_or(row));
    Some(same.chain(n..n + searched.len()).collect())
}

/// Number of rows of `a` that are rows of `b` to the last bit; rows of zeros count for nothing.
fn equal_rows(a: ArrayView2<f32>, b: ArrayView2<f32>) -> usize {
    let bits = |row: ArrayView1<f32>| -> Vec<u32> { row.iter().map(|v| v.to_bits()).collect() };
    let hash = |row: ArrayView1<f32>| {
        let mut hasher = DefaultHasher::new();
        bits(row).hash(&mut hasher);
        hasher.finish()
    };
    let mut rows: HashMap<u64, Vec<usize>> = HashMap::new();
    for (i, row) in b.rows().into_iter().enumerate() {
        rows.entry(hash(row)).or_default().push(i);
    }
    let stands = |row: &ArrayView1<f32>| {
        let same = rows.get(&hash(*row)).into_iter().flatten();
        row.iter().any(|&v| v != 0.0) && same.into_iter().any(|&i| bits(b.row(i)) == bits(*row))
    };
    a.rows().into_iter().filter(stands).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn side(ids: Option<&[&str]>, rows: Array2<f32>) -> Side {
        Side {
            labels: Labels::unknown(rows.nrows()),
            split: None,
            ids: ids.map(|ids| ids.iter().map(|&id| id.to_owned()).collect()),
            rows,
        }
    }

    #[test]
    fn both_sides_have_their_tags() {
        let of = |words: [&[&str]; 2]| {
            let tags = Tags::read(words.map(<[&str]>::to_vec)).unwrap();
            Side {
                labels: Labels::of_tags(&tags).unwrap(),
                ..side(None, Array2::eye(2))
            }
        };
        let monitor = &likewise::Monitor::silent();
        let at = Environment {
            monitor,
            stages: &crate::stages::Stages::default(),
            device: &likewise_nn::Device::flex(),
            max_memory: None,
        };
        let sides =
            Sides::of_both(of([&["b", "a"], &[]]), of([&["outside"], &["b"]]), &at).unwrap();
        let tags = sides.labels.item_tags().unwrap();
        let of: Vec<_> = (0..4).map(|item| tags.of(item)).collect();
        assert_eq!(of, [Some(&[0, 1][..]), None, Some(&[][..]), Some(&[1][..])]);
        let said = sides.unused_in_words().unwrap();
        assert_eq!(said, "left out, without a known label: 1 query");
    }

    #[test]
    fn what_is_left_out_of_one_file_counts_once() {
        let sides = |words: [&str; 6], read| Sides {
            embeddings: Array2::zeros((6, 1)),
            labels: Labels::parse(words),
            queries: (0..3).collect(),
            gallery: (3..6).collect(),
            same_as: None,
            read,
        };
        let said = |words, read| sides(words, read).unused_in_words().unwrap_or_default();
        let same = ["a", "", "", "a", "", ""];
        assert!(said(same, Read::Twice).ends_with(": 2 items"));
        let both = ": 2 queries and 2 items of the gallery";
        assert!(said(same, Read::Apart).ends_with(both));
        // By other labels of the gallery it is not the same that is left out.
        let other = ["a", "", "", "a", "b", ""];
        let both = ": 2 queries and 1 item of the gallery";
        assert!(said(other, Read::Twice).ends_with(both));
        assert_eq!(said(["a"; 6], Read::Twice), "");
    }

    #[test]
    fn the_same_id_is_the_same_item() {
        let rows = Array2::zeros((3, 1));
        let queries = side(Some(&["a", "b", "c"]), rows.clone());
        let gallery = side(Some(&["c", "x", "a"]), rows.clone());
        let same = same_items(&queries, &gallery).unwrap();
        assert_eq!(same, [5, 1, 3, 3, 4, 5]);
        assert_eq!(same_items(&queries, &side(None, rows)), None);
    }

    #[test]
    fn equal_rows_are_counted_but_not_zeros() {
        let a = array![[1.0, 2.0], [0.0, 0.0], [3.0, 4.0], [1.0, 2.0]];
        let b = array![[0.0, 0.0], [1.0, 2.0], [3.0, 4.5]];
        assert_eq!(equal_rows(a.view(), b.view()), 2);
    }

    #[test]
    fn an_item_that_is_not_used_counts_once() {
        let labels = Labels::parse(["a", "", "-2", "a", ""]);
        let all: Vec<usize> = (0..5).collect();
        let count = |queries: &[usize], gallery: &[usize]| {
            let out = unused(&labels, queries, gallery).into_iter();
            out.filter(|&out| out).count()
        };
        assert_eq!(count(&all, &all), 2);
        // An outside item can be searched, but not ask.
        assert_eq!(count(&[1, 2], &[0, 3]), 2);
        assert_eq!(count(&[0], &[2, 3]), 0);
    }
}
