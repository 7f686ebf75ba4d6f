//! Pairs and triplets in tables: `.csv`, `.tsv` and `.parquet`.
//!
//! | kind | columns |
//! |---|---|
//! | pairs | `a`, `b`, `y` (1: alike, -1: unlike), perhaps `weight` |
//! | triplets | `anchor`, `positive`, `negative`, perhaps `weight` |
//!
//! The items are named by their ids, or by their places, counted from 0. Other columns are
//! ignored. Without `weight`, all weigh 1.

mod items;

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use likewise::{Monitor, Pairs, Triplets};

use crate::budget::Budget;
use crate::form::Form;
use crate::input::Input;
use crate::number::push;
use crate::parquet::{self, Column, Table};
use crate::{Error, Result, atomic, csv};
use items::{Items, Named, WEIGHT, Weight, short};

const PAIRS: [&str; 3] = ["a", "b", "y"];
const TRIPLETS: [&str; 3] = ["anchor", "positive", "negative"];

/// Bytes that a tuple takes while it is read: its items twice, its line and its weight.
const TUPLE: u64 = 48;

/// Reads pairs of the items with these ids.
///
/// Where no word is an id, and all are whole numbers below the number of items, they are places; a warning says
/// so, since they may be ids of other items.
///
/// Fails, naming the line (or row) and the column, on a word that is neither, on an item paired
/// with itself, on a `y` other than 1 and -1, on a weight that is not a number of at least 0, and
/// on pairs that contradict each other; and where the file cannot be read. Costs O(n + pairs).
///
/// ```
/// use likewise_io::tuples;
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("pairs.csv");
/// std::fs::write(&path, "a,b,y\ncat-1,cat-2,1\ncat-1,dog-1,-1\n")?;
/// let ids = ["dog-1", "cat-1", "cat-2"].map(str::to_owned);
/// let pairs = tuples::read_pairs(&path, &ids, &likewise::Monitor::silent())?;
/// assert_eq!(pairs.iter().next(), Some((1, 2, true, 1.0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_pairs(path: impl AsRef<Path>, ids: &[String], monitor: &Monitor) -> Result<Pairs> {
    let path = path.as_ref();
    let read = || pairs(Form::parse(path)?, Input::open(path)?, ids, monitor);
    let (pairs, named) = read().map_err(|e| e.within(path.display()))?;
    named.tell(path, monitor);
    Ok(pairs)
}

/// Reads pairs from bytes in memory; as [`read_pairs`], but messages do not name a file.
pub fn read_pairs_bytes(form: Form, bytes: &[u8], ids: &[String]) -> Result<Pairs> {
    Ok(pairs(form, Input::memory(bytes), ids, &Monitor::silent())?.0)
}

/// Reads triplets of the items with these ids; as [`read_pairs`]. The three items of a triplet
/// must differ. Those contradict each other that name the same three with positive and negative
/// exchanged.
pub fn read_triplets(
    path: impl AsRef<Path>,
    ids: &[String],
    monitor: &Monitor,
) -> Result<Triplets> {
    let path = path.as_ref();
    let read = || triplets(Form::parse(path)?, Input::open(path)?, ids, monitor);
    let (triplets, named) = read().map_err(|e| e.within(path.display()))?;
    named.tell(path, monitor);
    Ok(triplets)
}

/// Reads triplets from bytes in memory; as [`read_triplets`], but messages do not name a file.
pub fn read_triplets_bytes(form: Form, bytes: &[u8], ids: &[String]) -> Result<Triplets> {
    Ok(triplets(form, Input::memory(bytes), ids, &Monitor::silent())?.0)
}

fn pairs(form: Form, input: Input, ids: &[String], monitor: &Monitor) -> Result<(Pairs, Named)> {
    let mut items = Items::new(&PAIRS[..2], form, ids);
    let (mut alike, mut weights) = (Vec::new(), Vec::new());
    each(form, input, PAIRS, monitor, |row, words, weight| {
        let y = match words[2].parse::<f32>() {
            Ok(1.0) => true,
            Ok(-1.0) => false,
            _ => {
                return Err(Error::value(format!(
                    "{} is \"{}\"; it must be 1 (alike) or -1 (unlike)",
                    items.place(row, "y"),
                    short(words[2])
                )));
            }
        };
        push(&mut alike, y)?;
        push(&mut weights, items.weight(row, weight)?)?;
        items.take(row, &words[..2])
    })?;
    let mut pairs = Pairs::default();
    let (resolved, named) = items.resolve()?;
    for ((pair, y), w) in resolved.chunks(2).zip(alike).zip(weights) {
        pairs.push(pair[0], pair[1], y, w);
    }
    if let Some((first, second)) = pairs.contradiction() {
        return Err(Error::value(format!(
            "{} says of items \"{}\" and \"{}\" the opposite of {}; keep one of them",
            items.row(second),
            ids[pairs.firsts[second] as usize],
            ids[pairs.seconds[second] as usize],
            items.row(first)
        )));
    }
    Ok((pairs, named))
}

fn triplets(
    form: Form,
    input: Input,
    ids: &[String],
    monitor: &Monitor,
) -> Result<(Triplets, Named)> {
    let mut items = Items::new(&TRIPLETS, form, ids);
    let mut weights = Vec::new();
    each(form, input, TRIPLETS, monitor, |row, words, weight| {
        push(&mut weights, items.weight(row, weight)?)?;
        items.take(row, words)
    })?;
    let mut triplets = Triplets::default();
    let (resolved, named) = items.resolve()?;
    for (three, w) in resolved.chunks(3).zip(weights) {
        triplets.push(three[0], three[1], three[2], w);
    }
    if let Some((first, second)) = triplets.contradiction() {
        let id = |items: &[u32]| &ids[items[second] as usize];
        return Err(Error::value(format!(
            "{} says that \"{}\" is nearer to \"{}\" than \"{}\" is, the opposite of {}; keep one of them",
            items.row(second),
            id(&triplets.positives),
            id(&triplets.anchors),
            id(&triplets.negatives),
            items.row(first)
        )));
    }
    Ok((triplets, named))
}

/// Hands the three columns of every tuple to `each`, with the number of its line in a text, of
/// its row in a Parquet table, and its weight.
fn each(
    form: Form,
    input: Input,
    names: [&str; 3],
    monitor: &Monitor,
    mut each: impl FnMut(u64, &[&str], Weight) -> Result<()>,
) -> Result<()> {
    let mut budget = Budget::new(None);
    match form {
        Form::Csv | Form::Tsv => {
            let delimiter = if form == Form::Csv { b',' } else { b'\t' };
            let choose = |found: &[&str]| chosen(&names, found);
            csv::read_rows(input, delimiter, monitor, choose, |line, words| {
                budget.take(TUPLE)?;
                let weight = words.get(3).map_or(Weight::None, |&w| Weight::Word(w));
                each(line, &words[..3], weight)
            })
        }
        Form::Parquet => {
            let table = Table::open(input, &budget)?;
            let found = table.names();
            let chosen = chosen(&names, &found)?;
            let mut columns = Vec::new();
            for &column in &chosen[..3] {
                columns.push(table.words(found[column], &mut budget)?);
            }
            let weights = match chosen.get(3) {
                Some(&column) => Some(table.numbers(found[column], &mut budget)?),
                None => None,
            };
            budget.values(columns[0].len(), TUPLE)?;
            for row in 0..columns[0].len() {
                monitor.check()?;
                // A null is no id, and no y.
                let words = [0, 1, 2].map(|c| columns[c][row].as_deref().unwrap_or_default());
                let weight = (weights.as_ref()).map_or(Weight::None, |w| Weight::Number(w[row]));
                each(row as u64, &words, weight)?;
            }
            Ok(())
        }
        _ => Err(Error::parameter(
            "pairs and triplets are read from .csv, .tsv and .parquet; choose one of these",
        )),
    }
}

/// Places of the three columns, and of the weight if there is one.
fn chosen(names: &[&str; 3], found: &[&str]) -> Result<Vec<usize>> {
    let place = |name: &str| found.iter().position(|f| f.eq_ignore_ascii_case(name));
    let mut places = Vec::with_capacity(4);
    for name in names {
        places.push(place(name).ok_or_else(|| {
            let (own, other, others) = if *names == PAIRS {
                ("pairs", "triplets", TRIPLETS)
            } else {
                ("triplets", "pairs", PAIRS)
            };
            let advice = if others.iter().all(|o| place(o).is_some()) {
                format!("this is a table of {other}")
            } else {
                format!(
                    "a table of {own} has the columns {}, and perhaps {WEIGHT}",
                    names.join(", ")
                )
            };
            Error::format(format!(
                "no column \"{name}\"; {advice}; the columns are: {}",
                found.join(", ")
            ))
        })?);
    }
    places.extend(place(WEIGHT));
    Ok(places)
}

/// Writes pairs of the items with these ids, atomically, in the form that the ending of `path`
/// says (`.csv` or `.parquet`): columns `a`, `b`, `y`, `weight`. Equal pairs give equal bytes.
///
/// Fails on pairs that do not [fit](Pairs::check) the ids, for another ending, and where the
/// file cannot be written.
///
/// ```
/// use likewise::{Monitor, Pairs};
/// use likewise_io::tuples;
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("pairs.parquet");
/// let ids = ["x", "y", "z"].map(str::to_owned);
/// let mut pairs = Pairs::default();
/// pairs.push(2, 0, false, 0.25);
/// tuples::write_pairs(&path, &pairs, &ids)?;
/// assert_eq!(tuples::read_pairs(&path, &ids, &Monitor::silent())?, pairs);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_pairs(path: impl AsRef<Path>, pairs: &Pairs, ids: &[String]) -> Result<()> {
    let checked = pairs.check(ids.len());
    let y = pairs
        .alike
        .iter()
        .map(|&y| if y { 1 } else { -1 })
        .collect();
    let columns = [
        Out::Items(&pairs.firsts),
        Out::Items(&pairs.seconds),
        Out::Sign(y),
    ];
    write(path.as_ref(), checked, PAIRS, &columns, &pairs.weights, ids)
}

/// Writes triplets of the items with these ids; as [`write_pairs`], in columns `anchor`,
/// `positive`, `negative`, `weight`.
pub fn write_triplets(path: impl AsRef<Path>, triplets: &Triplets, ids: &[String]) -> Result<()> {
    let columns = [&triplets.anchors, &triplets.positives, &triplets.negatives];
    let columns = columns.map(|items| Out::Items(items));
    let checked = triplets.check(ids.len());
    write(
        path.as_ref(),
        checked,
        TRIPLETS,
        &columns,
        &triplets.weights,
        ids,
    )
}

/// A column to write.
enum Out<'a> {
    Items(&'a [u32]),
    Sign(Vec<i32>),
}

fn write(
    path: &Path,
    checked: likewise::Result<()>,
    names: [&str; 3],
    columns: &[Out; 3],
    weights: &[f32],
    ids: &[String],
) -> Result<()> {
    checked.map_err(|e| Error::value(e.to_string()).within(path.display()))?;
    let form = form_to_write(path)?;
    atomic::write(path, |file| match form {
        Form::Parquet => {
            let word = |&item: &u32| Some(ids[item as usize].clone());
            let column = |out: &Out| match out {
                Out::Items(items) => Column::Text(items.iter().map(word).collect()),
                Out::Sign(signs) => Column::Int(signs.clone()),
            };
            let weights = Column::Float(weights.iter().map(|&w| Some(w)).collect());
            let columns = columns.iter().map(column).chain([weights]);
            let names = names.into_iter().chain([WEIGHT]).map(str::to_owned);
            parquet::write(file, &names.zip(columns).collect::<Vec<_>>())
        }
        _ => write_csv(file, names, columns, weights, ids),
    })
}

/// The form that tuples are written to `path` in: `.csv` or `.parquet`, by its ending. A pipe or a
/// device without an ending gets `.csv`.
///
/// Fails on any other: to be asked before the work that makes them.
pub fn form_to_write(path: impl AsRef<Path>) -> Result<Form> {
    let path = path.as_ref();
    if path.extension().is_none() && atomic::is_stream(path) {
        return Ok(Form::Csv);
    }
    match Form::parse(path) {
        Ok(form @ (Form::Csv | Form::Parquet)) => Ok(form),
        _ => Err(Error::parameter(
            "pairs and triplets are written to .csv or .parquet; choose one of these",
        )
        .within(path.display())),
    }
}

fn write_csv(
    file: &mut BufWriter<File>,
    names: [&str; 3],
    columns: &[Out; 3],
    weights: &[f32],
    ids: &[String],
) -> Result<()> {
    let mut csv = ::csv::Writer::from_writer(file);
    csv.write_record(names.into_iter().chain([WEIGHT]))?;
    for (row, weight) in weights.iter().enumerate() {
        for column in columns {
            match column {
                Out::Items(items) => csv.write_field(&ids[items[row] as usize])?,
                Out::Sign(signs) => csv.write_field(signs[row].to_string())?,
            }
        }
        csv.write_field(weight.to_string())?;
        csv.write_record(None::<&[u8]>)?;
    }
    Ok(csv.flush()?)
}

#[cfg(test)]
mod tests;
