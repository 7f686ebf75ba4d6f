//! Beliefs in files: `.npz` for programs, `.csv` and `.parquet` for people.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use likewise::{Beliefs, Convergence};
use ndarray::Array2;

use crate::budget::Budget;
use crate::input::Input;
use crate::npz::{Archive, Writer};
use crate::parquet::{self, Column};
use crate::{Error, Form, Result, atomic};

/// Beliefs as read from a file, with the names of their classes and the ids of the items.
#[derive(Debug, Clone, PartialEq)]
pub struct Saved {
    /// The beliefs. How the propagation converged is not stored and is left at its default.
    pub beliefs: Beliefs,
    /// Class names, by class index.
    pub classes: Vec<String>,
    /// Ids, by item.
    pub ids: Vec<String>,
}

/// Writes beliefs, atomically, in the form that the ending of `path` says.
///
/// `.npz`: `scores` (f64, n x C), `pseudo_label` (i64, -1 for none), `confidence` (f32),
/// `labeled` (bool), `classes` (i64 if all names are integers, else Unicode) and `ids`; equal
/// beliefs give equal bytes. With an id (or a class name) of more than 512 letters, which
/// would make all as long in numpy's form, there are `ids_utf8` (the bytes of all ids, one after
/// the other) and `ids_starts` instead: id `i` is
/// `ids_utf8[ids_starts[i]:ids_starts[i + 1]].tobytes().decode()`. `.csv` and `.parquet`: one line an item with `id`,
/// `pseudo_label` (the class name, empty or null for none), `confidence`, `labeled` and one
/// column `score_<class>` a class.
///
/// Fails where the lengths disagree, for another ending, and where the file cannot be
/// written. Costs O(n C); Parquet holds a second copy of the scores.
pub fn write(
    path: impl AsRef<Path>,
    beliefs: &Beliefs,
    classes: &[String],
    ids: &[String],
) -> Result<()> {
    let path = path.as_ref();
    check(beliefs, classes, ids).map_err(|e| e.within(path.display()))?;
    let form = form_to_write(path)?;
    atomic::write(path, |file| match form {
        Form::Csv => write_csv(file, beliefs, classes, ids),
        Form::Parquet => write_parquet(file, beliefs, classes, ids),
        _ => write_npz(file, beliefs, classes, ids),
    })
}

/// The form that beliefs are written to `path` in: `.npz`, `.csv` or `.parquet`, by its ending. A pipe or a
/// device without an ending gets `.npz`.
///
/// Fails on any other: to be asked before the work that makes them.
pub fn form_to_write(path: impl AsRef<Path>) -> Result<Form> {
    let path = path.as_ref();
    if path.extension().is_none() && atomic::is_stream(path) {
        return Ok(Form::Npz);
    }
    match Form::parse(path) {
        Ok(form @ (Form::Npz | Form::Csv | Form::Parquet)) => Ok(form),
        _ => Err(Error::parameter(
            "beliefs are written to .npz, .csv or .parquet; choose one of these",
        )
        .within(path.display())),
    }
}

fn check(beliefs: &Beliefs, classes: &[String], ids: &[String]) -> Result<()> {
    let (n, c) = beliefs.scores.dim();
    let lengths = [
        beliefs.pseudo_label.len(),
        beliefs.confidence.len(),
        beliefs.labeled.len(),
        ids.len(),
    ];
    if lengths != [n; 4] || classes.len() != c {
        return Err(Error::value(format!(
            "scores of {n} x {c}, but {} pseudo-labels, {} confidences, {} labeled marks, \
             {} ids and {} classes; they must agree",
            lengths[0],
            lengths[1],
            lengths[2],
            lengths[3],
            classes.len()
        )));
    }
    let beyond = |label: &Option<u32>| label.is_some_and(|class| class as usize >= c);
    match beliefs.pseudo_label.iter().position(beyond) {
        Some(row) => Err(Error::value(format!(
            "row {row}: the pseudo-label is beyond the {c} classes"
        ))),
        None => Ok(()),
    }
}

fn write_npz(
    file: &mut BufWriter<File>,
    beliefs: &Beliefs,
    classes: &[String],
    ids: &[String],
) -> Result<()> {
    let (n, c) = beliefs.scores.dim();
    let mut npz = Writer::new(file);
    let scores = beliefs.scores.iter().copied();
    npz.numbers("scores", "<f8", &[n, c], scores, f64::to_le_bytes)?;
    let labels = beliefs.pseudo_label.iter().map(|l| l.map_or(-1, i64::from));
    npz.numbers("pseudo_label", "<i8", &[n], labels, i64::to_le_bytes)?;
    let confidence = beliefs.confidence.iter().copied();
    npz.numbers("confidence", "<f4", &[n], confidence, f32::to_le_bytes)?;
    let labeled = beliefs.labeled.iter().map(|&l| u8::from(l));
    npz.numbers("labeled", "|b1", &[n], labeled, u8::to_le_bytes)?;
    // "007" is an integer, but not the name of one.
    let integer = |name: &String| name.parse().ok().filter(|v: &i64| v.to_string() == *name);
    match classes.iter().map(integer).collect::<Option<Vec<i64>>>() {
        Some(classes) => npz.numbers("classes", "<i8", &[c], classes, i64::to_le_bytes)?,
        None => npz.texts("classes", classes)?,
    }
    npz.texts("ids", ids)?;
    npz.finish()
}

fn pseudo_names(beliefs: &Beliefs, classes: &[String]) -> Vec<Option<String>> {
    let name = |label: &Option<u32>| label.and_then(|class| classes.get(class as usize).cloned());
    beliefs.pseudo_label.iter().map(name).collect()
}

fn columns(classes: &[String]) -> Vec<String> {
    let fixed = ["id", "pseudo_label", "confidence", "labeled"].map(str::to_owned);
    let scores = classes.iter().map(|c| format!("score_{c}"));
    fixed.into_iter().chain(scores).collect()
}

fn write_csv(
    file: &mut BufWriter<File>,
    beliefs: &Beliefs,
    classes: &[String],
    ids: &[String],
) -> Result<()> {
    let mut csv = csv::Writer::from_writer(file);
    csv.write_record(columns(classes))?;
    let labels = pseudo_names(beliefs, classes);
    for (i, scores) in beliefs.scores.rows().into_iter().enumerate() {
        csv.write_field(&ids[i])?;
        csv.write_field(labels[i].as_deref().unwrap_or(""))?;
        csv.write_field(beliefs.confidence[i].to_string())?;
        csv.write_field(beliefs.labeled[i].to_string())?;
        for score in scores {
            // {:e} keeps tiny scores short; both forms read back to the same bits.
            let plain = *score == 0.0 || (1e-5..1e15).contains(&score.abs());
            csv.write_field(if plain {
                score.to_string()
            } else {
                format!("{score:e}")
            })?;
        }
        csv.write_record(None::<&[u8]>)?;
    }
    Ok(csv.flush()?)
}

fn write_parquet(
    file: &mut BufWriter<File>,
    beliefs: &Beliefs,
    classes: &[String],
    ids: &[String],
) -> Result<()> {
    let confidence = beliefs.confidence.iter().map(|&c| Some(c));
    let fixed = [
        Column::Text(ids.iter().cloned().map(Some).collect()),
        Column::Text(pseudo_names(beliefs, classes)),
        Column::Float(confidence.collect()),
        Column::Bool(beliefs.labeled.clone()),
    ];
    let scores = beliefs.scores.columns().into_iter();
    let scores = scores.map(|column| Column::Double(column.to_vec()));
    let all = fixed.into_iter().chain(scores);
    let named: Vec<(String, Column)> = columns(classes).into_iter().zip(all).collect();
    parquet::write(file, &named)
}

/// Reads beliefs from a `.npz` written by [`write()`].
///
/// Fails where an array is missing or its length disagrees, on pseudo-labels beyond the
/// classes, and on a damaged file.
///
/// ```
/// use likewise_io::beliefs;
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("beliefs.npz");
/// let found = likewise::Beliefs {
///     scores: ndarray::array![[0.9, 0.1], [0.0, 0.0]],
///     pseudo_label: vec![Some(0), None],
///     confidence: vec![1.0, 0.0],
///     labeled: vec![true, false],
///     convergence: Default::default(),
/// };
/// let names = |a: &str, b: &str| vec![a.to_owned(), b.to_owned()];
/// beliefs::write(&path, &found, &names("cat", "dog"), &names("a", "b"))?;
/// let saved = beliefs::read(&path)?;
/// assert_eq!(saved.beliefs, found);
/// assert_eq!(saved.classes, ["cat", "dog"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: impl AsRef<Path>) -> Result<Saved> {
    let path = path.as_ref();
    let saved = || from(Input::open(path)?);
    saved().map_err(|e: Error| e.within(path.display()))
}

/// Reads beliefs from bytes in memory; as [`read`], but messages do not name a file.
pub fn read_bytes(bytes: &[u8]) -> Result<Saved> {
    from(Input::memory(bytes))
}

fn from(input: Input) -> Result<Saved> {
    let mut npz = Archive::open(input, Budget::new(None))?;
    if npz.has("labels") && !npz.has("pseudo_label") {
        return Err(Error::value(
            "these are beliefs in several tags an item, and here one class an item is needed; spread single \
             labels",
        ));
    }
    let &[n, c] = npz.shape("scores")? else {
        return Err(Error::format("scores must be a matrix, items x classes"));
    };
    let scores = Array2::from_shape_vec((n, c), npz.numbers("scores")?)
        .map_err(|e| Error::format(format!("scores: {e}")))?;
    let class = |(row, label): (usize, i64)| match label {
        -1 => Ok(None),
        label => u32::try_from(label).map(Some).map_err(|_| {
            Error::value(format!(
                "row {row}: pseudo-label {label} is no class number"
            ))
        }),
    };
    let labels: Vec<i64> = npz.numbers("pseudo_label")?;
    let labels = labels.into_iter().enumerate().map(class);
    let labeled: Vec<i64> = npz.numbers("labeled")?;
    let saved = Saved {
        beliefs: Beliefs {
            scores,
            pseudo_label: labels.collect::<Result<_>>()?,
            confidence: npz.numbers("confidence")?,
            labeled: labeled.into_iter().map(|l| l != 0).collect(),
            convergence: Convergence::default(),
        },
        classes: npz.words("classes")?,
        ids: npz.words("ids")?,
    };
    check(&saved.beliefs, &saved.classes, &saved.ids)?;
    Ok(saved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&w| w.to_owned()).collect()
    }

    fn example() -> Beliefs {
        Beliefs {
            scores: ndarray::array![[0.75, 1e-9], [0.0, -0.0], [0.1, 0.25]],
            pseudo_label: vec![Some(0), None, Some(1)],
            confidence: vec![1.0, 0.0, 0.5],
            labeled: vec![true, false, false],
            convergence: Convergence::default(),
        }
    }

    fn bytes(name: &str, classes: &[&str], ids: &[&str]) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        write(&path, &example(), &words(classes), &words(ids)).unwrap();
        std::fs::read(path).unwrap()
    }

    #[test]
    fn a_table_for_people() {
        let text = bytes("b.csv", &["cat", "dog, hot"], &["a", "b", "c"]);
        let expected = "id,pseudo_label,confidence,labeled,score_cat,\"score_dog, hot\"\n\
                        a,cat,1,true,0.75,1e-9\n\
                        b,,0,false,0,-0\n\
                        c,\"dog, hot\",0.5,false,0.1,0.25\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn integer_class_names_are_numbers_in_the_archive_unless_written_otherwise() {
        for classes in [["3", "-7"], ["03", "7"], ["ä", ""]] {
            let saved = read_bytes(&bytes("b.npz", &classes, &["a", "bb", ""])).unwrap();
            assert_eq!(saved.classes, classes);
            assert_eq!(saved.ids, ["a", "bb", ""]);
            assert_eq!(saved.beliefs, example());
        }
    }

    #[test]
    fn one_long_id_makes_no_other_longer() {
        let long = "ü".repeat(200_000);
        let ids = [&long, "b", ""];
        let file = bytes("b.npz", &[&long[..1200], "y"], &ids);
        assert!(file.len() < 500_000, "{}", file.len());
        let saved = read_bytes(&file).unwrap();
        assert_eq!(saved.ids, ids);
        assert_eq!(saved.classes[1], "y");
        // The longest that stand in the common form, and the first beyond.
        for letters in [512, 513] {
            let long = "x".repeat(letters);
            let file = bytes("b.npz", &["x", "y"], &[&long, "b", "c"]);
            let joined = file.windows(8).any(|w| w == b"ids_utf8");
            assert_eq!(joined, letters > 512);
            assert_eq!(read_bytes(&file).unwrap().ids[0], long);
        }
    }

    #[test]
    fn equal_beliefs_give_equal_bytes() {
        for name in ["b.npz", "b.csv", "b.parquet"] {
            let write = || bytes(name, &["x", "y"], &["a", "b", "c"]);
            assert_eq!(write(), write(), "{name}");
        }
    }

    #[test]
    fn what_disagrees_is_refused_and_nothing_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.npz");
        let (two, three) = (words(&["x", "y"]), words(&["a", "b", "c"]));
        assert!(write(&path, &example(), &two, &two).is_err());
        assert!(write(&path, &example(), &three, &three).is_err());
        let mut beyond = example();
        beyond.pseudo_label[2] = Some(2);
        let e = write(&path, &beyond, &two, &three).unwrap_err();
        assert!(e.to_string().contains("row 2"), "{e}");
        let e = write(folder.path().join("b.txt"), &example(), &two, &three).unwrap_err();
        assert!(e.to_string().contains(".parquet"), "{e}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(read(&path).is_err());
    }

    proptest! {
        #[test]
        fn beliefs_survive_the_archive(n in 1_usize..20, c in 1_usize..6, seed: u64) {
            let bits = |i: usize| (i as u64 + 1).wrapping_mul(seed | 1);
            let beliefs = Beliefs {
                scores: Array2::from_shape_fn((n, c), |(i, j)| bits(i * c + j) as f64 / 7.0),
                pseudo_label: (0..n)
                    .map(|i| (bits(i) as usize % (c + 1)).checked_sub(1).map(|l| l as u32))
                    .collect(),
                confidence: (0..n).map(|i| bits(i) as f32 / 1e19).collect(),
                labeled: (0..n).map(|i| bits(i) & 8 > 0).collect(),
                convergence: Convergence::default(),
            };
            let classes: Vec<String> = (0..c).map(|j| format!("k{}", bits(j))).collect();
            let ids: Vec<String> = (0..n).map(|i| bits(i).to_string()).collect();
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("b.npz");
            write(&path, &beliefs, &classes, &ids).unwrap();
            let saved = read(&path).unwrap();
            prop_assert_eq!(saved, Saved { beliefs, classes, ids });
        }
    }
}
