//! The idx format of MNIST and its kin: files, gzipped files, and folders of them.
//!
//! An array of 3 or 4 dimensions is pictures: one item each, flattened, bytes as they are,
//! 0 to 255. Labels (1 dimension) are found beside the pictures by their usual name, or
//! given.
//! Source: Y. `LeCun`, C. Cortes, C. Burges, "The MNIST database", file format section.

use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use likewise::{Labels, Monitor, Part};

use crate::assemble::{Parts, Shape};
use crate::budget::Budget;
use crate::input::Input;
use crate::number::{Kind, Number, Progress, append, reserve};
use crate::options::ReadOptions;
use crate::{Error, ErrorKind, Result};

/// An open file: the stream stands at the first element.
struct File {
    stream: Box<dyn Read>,
    number: Number,
    shape: Vec<usize>,
    /// The length of the file proves that the elements exist.
    proven: bool,
}

impl File {
    fn open(input: Input, gzip: bool) -> Result<Self> {
        let len = input.len;
        let mut stream: Box<dyn Read> = if gzip {
            Box::new(MultiGzDecoder::new(input.stream()))
        } else {
            Box::new(input.stream())
        };
        let mut magic = [0; 4];
        stream.read_exact(&mut magic)?;
        let kind = match magic {
            [0, 0, 0x08, _] => Kind::U8,
            [0, 0, 0x09, _] => Kind::I8,
            [0, 0, 0x0b, _] => Kind::I16,
            [0, 0, 0x0c, _] => Kind::I32,
            [0, 0, 0x0d, _] => Kind::F32,
            [0, 0, 0x0e, _] => Kind::F64,
            _ => {
                return Err(Error::format(format!(
                    "not an idx file (it starts with {magic:02x?}); \
                     fetch it again, or give it the ending of its true format"
                )));
            }
        };
        let number = Number {
            kind,
            big_endian: true,
        };
        if !(1..=4).contains(&magic[3]) {
            return Err(Error::format(format!(
                "an idx array of {} dimensions; 1 (labels) to 4 are known",
                magic[3]
            )));
        }
        let mut shape = Vec::new();
        for _ in 0..magic[3] {
            let mut size = [0; 4];
            stream.read_exact(&mut size)?;
            shape.push(u32::from_be_bytes(size) as usize);
        }
        // A size of 0 must not hide that the others overflow.
        let mut sizes = shape.iter().map(|&n| n.max(1));
        let payload = sizes.try_fold(number.size(), usize::checked_mul);
        let payload = payload.map(|p| if shape.contains(&0) { 0 } else { p });
        let Some(payload) = payload else {
            return Err(Error::format(format!(
                "an array of shape {shape:?} does not fit into memory; the header must be wrong"
            )));
        };
        let expected = payload as u64 + 4 + 4 * shape.len() as u64;
        if !gzip && expected != len {
            return Err(Error::format(format!(
                "the array of shape {shape:?} needs {expected} bytes, but there are {len}; \
                 the file is truncated or its header is wrong, fetch it again"
            )));
        }
        Ok(Self {
            stream,
            number,
            shape,
            proven: !gzip,
        })
    }

    fn items(&self) -> usize {
        self.shape[0]
    }

    fn columns(&self) -> Result<usize> {
        let columns = self.shape[1..].iter().product();
        if self.shape.len() < 2 {
            return Err(Error::value(
                "a file of labels, not of pictures; name the pictures' file as data \
                 and this one as labels",
            ));
        }
        Ok(columns)
    }

    /// Appends all items to `out`.
    fn rows(mut self, progress: &mut Progress, out: &mut Vec<f32>) -> Result<()> {
        let count = self.shape.iter().product();
        if self.proven {
            reserve(out, count)?;
        }
        append(&mut *self.stream, self.number, count, progress, out)?;
        self.finish()
    }

    fn labels(mut self, budget: &mut Budget) -> Result<Vec<i64>> {
        if self.shape.len() != 1 || self.number.is_float() {
            return Err(Error::format(format!(
                "an array of shape {:?} is not a list of labels",
                self.shape
            )));
        }
        // The numbers, and the table of classes made of them.
        budget.values(self.shape[0], 16)?;
        let mut out = Vec::new();
        let silent = Monitor::silent();
        let progress = &mut Progress::new(&silent);
        append(
            &mut *self.stream,
            self.number,
            self.shape[0],
            progress,
            &mut out,
        )?;
        self.finish()?;
        Ok(out)
    }

    /// Reads to the end, where gzip compares its checksum; nothing may be left.
    fn finish(mut self) -> Result<()> {
        if self.stream.read(&mut [0])? != 0 {
            return Err(Error::format("longer than its header says; fetch it again"));
        }
        Ok(())
    }
}

/// The name of the view of an idx file.
const VIEW: &str = "pixels";

/// Whether a file name is that of an idx file, and whether it is gzipped.
pub(crate) fn is_name(name: &str) -> Option<bool> {
    let name = name.to_ascii_lowercase();
    let (name, gzip) = match name.strip_suffix(".gz") {
        Some(name) => (name, true),
        None => (name.as_str(), false),
    };
    let (_, ending) = name.rsplit_once(['.', '-'])?;
    let known = ending == "idx"
        || ending == "ubyte"
        || (ending.starts_with("idx") && ending.ends_with("-ubyte"));
    known.then_some(gzip)
}

pub(crate) fn shape(input: Input, gzip: bool) -> Result<Shape> {
    let file = File::open(input, gzip)?;
    Ok(Shape::one(VIEW, file.items(), file.columns()?))
}

pub(crate) fn read(
    input: Input,
    gzip: bool,
    options: &ReadOptions,
    monitor: &Monitor,
) -> Result<Parts> {
    let file = File::open(input, gzip)?;
    let (rows, columns) = (file.items(), file.columns()?);
    options.choose(&[VIEW])?;
    let mut budget = Budget::new(options.max_memory);
    budget.matrix(rows, columns)?;
    budget.items(rows)?;
    let mut values = Vec::new();
    file.rows(&mut Progress::new(monitor), &mut values)?;
    let mut parts = Parts::default();
    parts.add_view(VIEW, rows, columns, values)?;
    Ok(parts)
}

pub(crate) fn read_labels(input: Input, gzip: bool) -> Result<Labels> {
    let labels = File::open(input, gzip)?.labels(&mut Budget::new(None))?;
    Ok(Labels::from_integers(labels))
}

fn gzipped(path: &Path) -> bool {
    path.extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("gz"))
}

/// The file of labels that belongs to a file of pictures, by its name.
pub(crate) fn labels_beside(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let labels = name
        .replace("images", "labels")
        .replace("idx3", "idx1")
        .replace("idx4", "idx1");
    let base = labels.strip_suffix(".gz").unwrap_or(&labels);
    if labels == name {
        return None;
    }
    [base.to_owned(), format!("{base}.gz")]
        .into_iter()
        .map(|name| path.with_file_name(name))
        .find(|p| p.is_file())
}

/// What reading this path reads beside it: of a file of pictures its labels, of a folder its files.
pub(crate) fn beside(path: &Path) -> Vec<PathBuf> {
    if path.is_dir() {
        let parts = parts_of(path).unwrap_or_default().into_iter();
        let files = parts.flat_map(|part| [Some(part.pictures), part.labels]);
        return files.flatten().collect();
    }
    let name = path.file_name().and_then(|name| name.to_str());
    let labels = name.and_then(is_name).and_then(|_| labels_beside(path));
    labels.into_iter().collect()
}

/// A part of a folder: the word in its ids, its pictures and its labels.
struct FolderPart {
    word: &'static str,
    part: Part,
    pictures: PathBuf,
    labels: Option<PathBuf>,
}

/// The pictures in a folder with the file names of MNIST; none if it is no such folder.
fn parts_of(folder: &Path) -> Result<Vec<FolderPart>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        names.extend(entry?.file_name().into_string());
    }
    names.sort();
    let mut parts = Vec::new();
    for (word, part) in [("train", Part::Train), ("t10k", Part::Test)] {
        let pictures = names
            .iter()
            .find(|name| name.starts_with(&format!("{word}-images")) && is_name(name).is_some());
        if let Some(name) = pictures {
            let pictures = folder.join(name);
            parts.push(FolderPart {
                word,
                part,
                labels: labels_beside(&pictures),
                pictures,
            });
        }
    }
    Ok(parts)
}

/// Whether a folder holds idx files with the names of MNIST.
pub(crate) fn is_folder(folder: &Path) -> Result<bool> {
    Ok(!parts_of(folder)?.is_empty())
}

fn within(path: &Path) -> impl Fn(Error) -> Error {
    move |e| e.within(path.file_name().unwrap_or_default().display())
}

fn open(path: &Path) -> Result<File> {
    Input::open(path)
        .and_then(|input| File::open(input, gzipped(path)))
        .map_err(within(path))
}

pub(crate) fn folder_shape(folder: &Path) -> Result<Shape> {
    let mut shape = Shape::one(VIEW, 0, 0);
    for part in parts_of(folder)? {
        let file = open(&part.pictures)?;
        shape.items = shape.items.saturating_add(file.items());
        shape.views[0].1 = file.columns().map_err(within(&part.pictures))?;
        for path in [Some(part.pictures), part.labels].into_iter().flatten() {
            shape.bytes_on_disk += std::fs::metadata(path)?.len();
        }
    }
    Ok(shape)
}

/// Reads a folder: the training items, then the test items.
pub(crate) fn read_folder(
    folder: &Path,
    options: &ReadOptions,
    monitor: &Monitor,
) -> Result<Parts> {
    options.choose(&[VIEW])?;
    let found = parts_of(folder)?;
    let (mut ids, mut split, mut labels) = (Vec::new(), Vec::new(), Vec::new());
    let mut files = Vec::new();
    let mut budget = Budget::new(options.max_memory);
    let mut columns = None;
    for part in &found {
        let file = open(&part.pictures)?;
        let own = file.columns().map_err(within(&part.pictures))?;
        if *columns.get_or_insert(own) != own {
            return Err(within(&part.pictures)(Error::value(
                "its pictures have another size than those of the training part",
            )));
        }
        budget.matrix(file.items(), own)?;
        budget.items(file.items())?;
        files.push(file);
    }
    let columns = columns.unwrap_or(0);
    let mut progress = Progress::new(monitor);
    let mut values = Vec::new();
    for (part, file) in found.iter().zip(files) {
        let n = file.items();
        file.rows(&mut progress, &mut values)
            .map_err(within(&part.pictures))?;
        ids.extend((0..n).map(|i| format!("{}-{i}", part.word)));
        split.extend(std::iter::repeat_n(part.part, n));
        if let Some(path) = &part.labels {
            let own = open(path)?.labels(&mut budget).map_err(within(path))?;
            if own.len() != n {
                return Err(within(path)(Error::value(format!(
                    "{} labels, but {n} pictures; they must agree",
                    own.len()
                ))));
            }
            labels.extend(own);
        } else {
            monitor.warn(format!(
                "no labels beside {}: its items are unlabeled",
                part.pictures.display()
            ));
            labels.extend(std::iter::repeat_n(-1, n));
        }
    }
    let mut parts = Parts {
        ids: Some(ids),
        split: Some(split),
        ..Parts::default()
    };
    if found.iter().any(|p| p.labels.is_some()) {
        parts.labels = Some(Labels::from_integers(labels));
    }
    let rows = columns.checked_sub(1).map_or(0, |_| values.len() / columns);
    parts.add_view(VIEW, rows, columns, values)?;
    Ok(parts)
}

/// Reads the labels beside a single file of pictures into its parts, if there are any.
pub(crate) fn add_labels_beside(path: &Path, parts: &mut Parts) -> Result<()> {
    let Some(labels) = labels_beside(path) else {
        return Ok(());
    };
    let found = open(&labels)?
        .labels(&mut Budget::new(None))
        .map_err(within(&labels))?;
    if found.len() != parts.rows() {
        return Err(Error::new(
            ErrorKind::Value,
            format!(
                "{} labels in {} beside it, but {} pictures; they must agree",
                found.len(),
                labels.display(),
                parts.rows()
            ),
        ));
    }
    parts.labels = Some(Labels::from_integers(found));
    Ok(())
}
