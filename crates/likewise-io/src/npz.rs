//! The `.npz` archives of numpy: reading of collections, and a deterministic writer.

mod broken;

use std::io::{Read, Seek, Write};

use likewise::{Monitor, Tags};
use ndarray::Array2;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use crate::assemble::{Parts, Shape, name_labels};
use crate::budget::Budget;
use crate::input::{Input, Stream};
use crate::npy::{self, Element, Header, append_rows, header_bytes, words};
use crate::number::{Progress, Target, append, reserve};
use crate::options::{ReadOptions, TableOptions};
use crate::plan::{Array, Plan, Stack};
use crate::role::Role;
use crate::{Error, Result};
use broken::UntilBroken;

/// An open archive and the headers of its arrays.
pub(crate) struct Archive {
    zip: ZipArchive<Box<dyn Stream>>,
    members: Vec<Member>,
    budget: Budget,
}

struct Member {
    name: String,
    index: usize,
    header: Header,
    /// The bytes in the archive are the array itself, so the file's length proves them.
    stored: bool,
}

impl Archive {
    /// Opens an archive; what is read of it takes its memory from the budget.
    pub(crate) fn open(input: Input, budget: Budget) -> Result<Self> {
        let len = input.len;
        let mut zip = ZipArchive::new(input.stream())?;
        if zip.has_overlapping_entries()? {
            return Err(Error::format(
                "the arrays of the archive overlap; it is damaged, write it again",
            ));
        }
        let mut members = Vec::new();
        for index in 0..zip.len() {
            let mut entry = zip.by_index(index)?;
            let file = entry.name()?.into_owned();
            let Some(name) = file.strip_suffix(".npy") else {
                continue;
            };
            let name = name.to_owned();
            let (size, packed) = (entry.size(), entry.compressed_size());
            let stored = entry.compression() == CompressionMethod::Stored;
            let within = |e: Error| e.within(format!("array {name}"));
            if packed > len || (stored && packed != size) {
                return Err(within(Error::format(
                    "longer than the file; the archive is truncated, fetch or write it again",
                )));
            }
            let header = Header::read(&mut entry).map_err(within)?;
            if !matches!(header.element, Element::Other(_)) {
                header.check_len(size).map_err(within)?;
            }
            drop(entry);
            members.push(Member {
                name,
                index,
                header,
                stored,
            });
        }
        Ok(Self {
            zip,
            members,
            budget,
        })
    }

    fn arrays(&self) -> Vec<Array> {
        let array = |m: &Member| Array {
            name: m.name.clone(),
            matrix: m.header.matrix(),
            list: m.header.list(),
            shape: m.header.shape.clone(),
            stored: m.header.described(),
        };
        self.members.iter().map(array).collect()
    }

    fn position(&self, name: &str) -> Result<usize> {
        let found = self.members.iter().position(|m| m.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.members.iter().map(|m| m.name.as_str()).collect();
            Error::format(format!(
                "no array {name} in the archive; it holds: {}",
                names.join(", ")
            ))
        })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.members.iter().any(|m| m.name == name)
    }

    pub(crate) fn shape(&self, name: &str) -> Result<&[usize]> {
        Ok(&self.members[self.position(name)?].header.shape)
    }

    /// Runs `read` at the first element of an array, then checks the end and checksum.
    fn at<T>(
        &mut self,
        member: usize,
        read: impl FnOnce(&mut dyn Read, &Header, &mut Budget) -> Result<T>,
    ) -> Result<T> {
        let Member {
            name,
            index,
            header,
            ..
        } = &self.members[member];
        let within = |e: Error| e.within(format!("array {name}"));
        let mut entry = self.zip.by_index(*index)?;
        Header::read(&mut entry).map_err(within)?;
        let out = read(&mut entry, header, &mut self.budget).map_err(within)?;
        // The checksum is compared when the end is reached.
        if entry.read(&mut [0]).map_err(|e| within(e.into()))? != 0 {
            return Err(within(Error::format("longer than its header says")));
        }
        Ok(out)
    }

    /// Appends the rows of a matrix to `out`.
    fn rows(&mut self, member: usize, progress: &mut Progress, out: &mut Vec<f32>) -> Result<()> {
        let Member { header, stored, .. } = &self.members[member];
        if *stored {
            reserve(out, header.count)?;
        } else if header.fortran {
            // A compressed size proves nothing, and this order needs all room at once:
            // count the bytes first.
            let expected = header.payload();
            let count = |reader: &mut dyn Read, _: &Header, _: &mut Budget| {
                Ok(std::io::copy(reader, &mut std::io::sink())?)
            };
            if self.at(member, count)? != expected {
                return Err(Error::format("an array is shorter than its header says"));
            }
        }
        self.at(member, |reader, header, _| {
            append_rows(reader, header, progress, out)
        })
    }

    fn words_at(&mut self, member: usize, progress: &mut Progress) -> Result<Vec<String>> {
        let Member { header, stored, .. } = &self.members[member];
        if !stored {
            // The file does not prove that there is so much, and to unpack it takes its time.
            self.budget.check(header.payload())?;
        }
        self.at(member, |reader, header, budget| {
            words(reader, header, budget, progress)
        })
    }

    /// Accounts for what is made of the arrays.
    pub(crate) fn budget(&mut self) -> &mut Budget {
        &mut self.budget
    }

    /// The words of an array: its texts, or its whole numbers as they are written. Or texts
    /// that are joined, see [`Writer::texts`].
    pub(crate) fn words(&mut self, name: &str) -> Result<Vec<String>> {
        let joined = format!("{name}_utf8");
        if !self.has(name) && self.has(&joined) {
            return self.texts(&joined, &format!("{name}_starts"));
        }
        let member = self.position(name)?;
        self.words_at(member, &mut Progress::new(&Monitor::silent()))
    }

    fn texts(&mut self, joined: &str, starts: &str) -> Result<Vec<String>> {
        let bytes: Vec<u8> = self.numbers(joined)?;
        let starts: Vec<i64> = self.numbers(starts)?;
        let mut out = Vec::new();
        reserve(&mut out, starts.len().saturating_sub(1))?;
        for (row, ends) in starts.windows(2).enumerate() {
            let span = usize::try_from(ends[0])
                .ok()
                .zip(usize::try_from(ends[1]).ok());
            let text = span.and_then(|(a, b)| std::str::from_utf8(bytes.get(a..b)?).ok());
            let text = text.ok_or_else(|| {
                Error::format(format!(
                    "row {row}: bytes {} to {} of array {joined} are no text in UTF-8",
                    ends[0], ends[1]
                ))
            })?;
            self.budget.word(text)?;
            out.push(text.to_owned());
        }
        Ok(out)
    }

    /// All numbers of an array, in the order of the file.
    pub(crate) fn numbers<T: Target>(&mut self, name: &str) -> Result<Vec<T>> {
        let member = self.position(name)?;
        self.at(member, |reader, header, budget| {
            let Element::Number(number) = header.element else {
                return Err(Error::format("does not hold numbers"));
            };
            if header.fortran && header.shape.len() > 1 {
                return Err(Error::format(
                    "in Fortran order; write it with numpy.ascontiguousarray",
                ));
            }
            budget.values(header.count, size_of::<T>() as u64)?;
            let mut out = Vec::new();
            let silent = Monitor::silent();
            let progress = &mut Progress::new(&silent);
            append(reader, number, header.count, progress, &mut out)?;
            Ok(out)
        })
    }
}

pub(crate) fn shape(input: Input, options: &ReadOptions) -> Result<Shape> {
    let archive = Archive::open(input, Budget::new(options.max_memory))?;
    Ok(Plan::new(&archive.arrays(), options, &Monitor::silent())?.shape())
}

pub(crate) fn read(input: Input, options: &ReadOptions, monitor: &Monitor) -> Result<Parts> {
    let mut archive = Archive::open(input, Budget::new(options.max_memory))?;
    let plan = Plan::new(&archive.arrays(), options, monitor)?;
    for view in &plan.views {
        archive.budget.matrix(plan.rows, view.columns)?;
    }
    archive.budget.items(plan.rows)?;
    let mut progress = Progress::new(monitor);
    let mut parts = Parts::default();
    plan.name_parts(&mut parts);
    for view in &plan.views {
        let mut values = Vec::new();
        for &array in &view.arrays {
            archive.rows(array, &mut progress, &mut values)?;
        }
        let present = present(&mut archive, view, &mut values)?;
        parts.add_view(&view.name, plan.rows, view.columns, values)?;
        if let Some(view) = parts.views.last_mut() {
            view.present = present;
        }
    }
    plan.read_lists(&mut parts, options, monitor, |array| {
        archive.words_at(array, &mut progress)
    })?;
    Ok(parts)
}

/// Which items have a view, where a list beside an array of it (`image_present`) says so; the rows of
/// the others are set to 0, whatever stands there. `None` where all have it.
///
/// Fails where the list is not as long as the array, or holds anything but 0 and 1, and where no item
/// has the view.
fn present(archive: &mut Archive, view: &Stack, values: &mut [f32]) -> Result<Option<Vec<bool>>> {
    let mut all = Vec::new();
    for &array in &view.arrays {
        let Member { name, header, .. } = &archive.members[array];
        let rows = header.matrix().map_or(0, |(rows, _)| rows);
        let list = format!("{name}_present");
        let is = |m: &&Member| m.name == list && m.header.shape.len() == 1;
        let said = archive.members.iter().find(is);
        match said.and_then(|m| m.header.list()) {
            None => all.extend(std::iter::repeat_n(true, rows)),
            Some(length) if length != rows => {
                return Err(Error::value(format!(
                    "array {list} holds {length} values, but {name} has {rows} rows; one an item is \
                     needed, which says whether it has the view"
                )));
            }
            Some(_) => all.extend(flags(archive, &list)?),
        }
    }
    if !all.contains(&false) {
        return Ok(None);
    }
    if !all.contains(&true) {
        return Err(Error::value(format!(
            "no item has the view {0}: {0}_present is 0 for all of them; leave the view out",
            view.name
        )));
    }
    for (row, has) in values.chunks_exact_mut(view.columns.max(1)).zip(&all) {
        if !has {
            row.fill(0.0);
        }
    }
    Ok(Some(all))
}

/// A list of bools, or of 0 and 1.
fn flags(archive: &mut Archive, name: &str) -> Result<Vec<bool>> {
    let numbers: Vec<f32> = archive.numbers(name)?;
    let flag = |(row, number): (usize, f32)| {
        let is = |value: f32| number.to_bits() == value.to_bits();
        if is(1.0) || is(0.0) {
            return Ok(is(1.0));
        }
        Err(Error::value(format!(
            "array {name}, row {row}: {number} is neither 0 nor 1, which say whether an item has the view"
        )))
    };
    numbers.into_iter().enumerate().map(flag).collect()
}

/// The labels in an archive, with their class names.
///
/// Where items may have several, a matrix of 1 and 0 with a column a class is one of labels, too; a row of
/// -1 is unlabeled.
pub(crate) fn read_labels(
    input: Input,
    asked: &TableOptions,
    monitor: &Monitor,
) -> Result<likewise::Labels> {
    let mut archive = Archive::open(input, Budget::new(None))?;
    let arrays = archive.arrays();
    if asked.label_separator.is_some() {
        let is = |a: &&Array| Role::of(&a.name) == Role::Label && a.shape.len() == 2;
        if let Some(array) = arrays.iter().find(is) {
            return indicators(&mut archive, array, &arrays);
        }
    }
    let find = |role| {
        let is = |a: &&Array| Role::of(&a.name) == role;
        let Some(found) = arrays.iter().find(is) else {
            return Ok(None);
        };
        found.check_list(role)?;
        Ok::<_, Error>(arrays.iter().position(|a| a.list.is_some() && is(&a)))
    };
    let labels = match find(Role::Label)? {
        None => find(Role::Category)?,
        labels => labels,
    };
    let labels = labels.ok_or_else(|| {
        Error::format(
            "no list named label, labels, y, target, class or category in the archive; add one",
        )
    })?;
    let silent = Monitor::silent();
    let progress = &mut Progress::new(&silent);
    let written = archive.words_at(labels, progress)?;
    let classes = find(Role::Classes)?
        .map(|array| archive.words_at(array, progress))
        .transpose()?;
    name_labels(&written, classes, asked, monitor)
}

/// Labels from a matrix of 0 and 1, by the names of its columns or their numbers.
fn indicators(archive: &mut Archive, array: &Array, arrays: &[Array]) -> Result<likewise::Labels> {
    let within = |e: Error| e.within(format!("array {}", array.name));
    let shape = (array.shape[0], array.shape[1]);
    let values = archive.numbers(&array.name)?;
    let rows = Array2::from_shape_vec(shape, values).map_err(|e| Error::format(e.to_string()));
    let rows = rows.map_err(within)?;
    let names = arrays.iter().find(|a| Role::of(&a.name) == Role::Classes);
    let names = match names {
        Some(names) => archive.words(&names.name)?,
        None => (0..shape.1).map(|tag| tag.to_string()).collect(),
    };
    let tags = Tags::from_indicators(names, rows.view()).map_err(|e| within(e.into()))?;
    Ok(likewise::Labels::of_tags(&tags)?)
}

/// A list of whole numbers in an archive.
pub(crate) fn list(input: Input, name: &str) -> Result<Vec<i64>> {
    let mut archive = Archive::open(input, Budget::new(None))?;
    let header = &archive.members[archive.position(name)?].header;
    if matches!(header.element, Element::Number(number) if number.is_float()) {
        return Err(Error::format(format!(
            "array {name} is not of whole numbers"
        )));
    }
    match header.shape[..] {
        [_] => archive.numbers(name),
        _ => Err(Error::format(format!(
            "array {name} has {} axes; a list has one",
            header.shape.len()
        ))),
    }
}

/// Letters of the longest text that all texts of a list may take room for.
const WIDEST: usize = 512;

/// Writes arrays into an archive. Equal arrays give equal bytes: the time stamps are
/// fixed, and nothing is compressed (floats hardly shrink, and readers can stream them).
pub(crate) struct Writer<W: Write + Seek> {
    zip: ZipWriter<UntilBroken<W>>,
}

impl<W: Write + Seek> Writer<W> {
    pub(crate) fn new(writer: W) -> Self {
        Self {
            zip: ZipWriter::new(UntilBroken::new(writer)),
        }
    }

    fn start(&mut self, name: &str, descr: &str, shape: &[usize], bytes: usize) -> Result<()> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(DateTime::default())
            .unix_permissions(0o644)
            .large_file(bytes >= 0xffff_0000);
        self.zip.start_file(format!("{name}.npy"), options)?;
        Ok(self.zip.write_all(&header_bytes(descr, shape))?)
    }

    /// Adds an array of numbers; `descr` must be the type that `bytes_of` writes.
    pub(crate) fn numbers<const N: usize, T: Copy>(
        &mut self,
        name: &str,
        descr: &str,
        shape: &[usize],
        values: impl IntoIterator<Item = T>,
        bytes_of: impl Fn(T) -> [u8; N],
    ) -> Result<()> {
        let bytes = shape.iter().product::<usize>() * N;
        self.start(name, descr, shape, bytes)?;
        npy::write_numbers(&mut self.zip, values, bytes_of)
    }

    /// Adds a list of texts, as numpy's fixed-width Unicode.
    ///
    /// One long text makes all others as long in that form: beyond 512 letters the texts are
    /// joined instead, as bytes of UTF-8 in `<name>_utf8`, and text `i` goes from
    /// `<name>_starts[i]` to `<name>_starts[i + 1]`.
    pub(crate) fn texts(&mut self, name: &str, texts: &[String]) -> Result<()> {
        let lengths = texts.iter().map(|t| t.chars().count());
        let width = lengths.max().unwrap_or(0).max(1);
        if width > WIDEST {
            return self.joined(name, texts);
        }
        let bytes = texts.len().saturating_mul(4 * width);
        self.start(name, &format!("<U{width}"), &[texts.len()], bytes)?;
        for text in texts {
            let codes = text.chars().map(u32::from);
            let padded = codes.chain(std::iter::repeat(0)).take(width);
            npy::write_numbers(&mut self.zip, padded, u32::to_le_bytes)?;
        }
        Ok(())
    }

    fn joined(&mut self, name: &str, texts: &[String]) -> Result<()> {
        let ends = texts.iter().scan(0, |end, text| {
            *end += text.len();
            Some(*end)
        });
        let starts: Vec<usize> = std::iter::once(0).chain(ends).collect();
        let bytes = starts.last().copied().unwrap_or(0);
        self.start(&format!("{name}_utf8"), "|u1", &[bytes], bytes)?;
        for text in texts {
            self.zip.write_all(text.as_bytes())?;
        }
        let count = starts.len();
        let starts = starts.into_iter();
        self.numbers(&format!("{name}_starts"), "<i8", &[count], starts, |p| {
            (p as u64).to_le_bytes()
        })
    }

    /// Adds a single byte string (an array of no dimensions), as scipy marks its formats.
    pub(crate) fn bytes(&mut self, name: &str, value: &[u8]) -> Result<()> {
        self.start(name, &format!("|S{}", value.len()), &[], value.len())?;
        Ok(self.zip.write_all(value)?)
    }

    pub(crate) fn finish(self) -> Result<()> {
        self.zip.finish()?.flush()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use ndarray::array;

    use super::*;
    use crate::{Form, read_bytes};

    /// Three items with two views, of which the image of the second is NaN.
    fn with_present(descr: &str, present: &[u8]) -> Result<likewise::Collection> {
        let mut bytes = Cursor::new(Vec::new());
        let mut archive = Writer::new(&mut bytes);
        let image = [1.0, 2.0, f32::NAN, f32::NAN, 5.0, 6.0];
        archive.numbers("image", "<f4", &[3, 2], image, f32::to_le_bytes)?;
        archive.numbers("text", "<f4", &[3, 1], [7.0_f32; 3], f32::to_le_bytes)?;
        let shape = [present.len()];
        let values = present.iter().copied();
        archive.numbers("image_present", descr, &shape, values, |value| [value])?;
        archive.finish()?;
        read_bytes(Form::Npz, bytes.get_ref(), &ReadOptions::default())
    }

    #[test]
    fn a_list_says_which_items_have_a_view() {
        for descr in ["|u1", "|b1"] {
            let all = with_present(descr, &[1, 0, 1]).unwrap();
            let image = all.view(Some("image")).unwrap();
            assert_eq!(image.matrix, array![[1.0, 2.0], [0.0, 0.0], [5.0, 6.0]]);
            assert_eq!(image.present, Some(vec![true, false, true]));
            assert_eq!(all.view(Some("text")).unwrap().present, None);
            assert_eq!(all.views().len(), 2);
        }
        // What an item has is looked at.
        let said = with_present("|b1", &[1, 1, 1]).unwrap_err().to_string();
        assert!(said.contains("view image"), "{said}");
        for (present, said) in [
            (
                &[1, 0][..],
                "array image_present holds 2 values, but image has 3 rows",
            ),
            (&[1, 0, 1, 1], "holds 4 values"),
            (
                &[1, 2, 0],
                "array image_present, row 1: 2 is neither 0 nor 1",
            ),
            (&[0, 0, 0], "no item has the view image"),
        ] {
            let e = with_present("|u1", present).unwrap_err().to_string();
            assert!(e.contains(said), "{e}");
        }
    }
}
