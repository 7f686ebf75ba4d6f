//! Image folders: which files are images, and what their folders say about them.

mod metadata;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use image::ImageFormat;
use likewise::{Event, Labels, Monitor, Part};
use likewise_io::{Form, Places, TableOptions};
use rayon::prelude::*;

use crate::{Error, ErrorKind, Result};

/// File endings of the formats that can be decoded.
pub const ENDINGS: [&str; 13] = [
    "jpg", "jpeg", "jfif", "png", "webp", "bmp", "gif", "tif", "tiff", "pnm", "pbm", "pgm", "ppm",
];

/// Endings of images that cannot be decoded, and are told of by name.
const UNREAD: [&str; 12] = [
    "heic", "heif", "avif", "jxl", "jp2", "svg", "psd", "cr2", "cr3", "nef", "arw", "dng",
];

/// Files that are left out and named; more are counted.
const NAMED: usize = 3;

/// The images below a folder, in a fixed order, with the labels that their places tell.
///
/// An image's id is its path below the folder, with `/` between folders; images are sorted
/// by id. The folder of the first level is the class, whatever lies below it; images at the
/// top, or in `unlabeled/`, are unlabeled, those in `outside/` known to be none of the
/// classes. A folder of any other name is a class, also `none` or `other`. If all
/// folders of the first level are parts of a split (`train`, `val`, `test` ...), they
/// are the split, and the folders below them the classes. Where all images lie below one folder,
/// the folders in that one count in its place: a class alone tells nothing. A table
/// `metadata.csv`, `.jsonl` or `.parquet` with the columns `file_name` and one of labels says more
/// than the folders.
///
/// A file is an image if its name ends like one, or its first bytes are those of a JPEG,
/// PNG, GIF, WebP or TIFF; whether it can be decoded is seen later. Hidden files and folders
/// (leading dot) and other files are left out and counted. Links to files are followed,
/// links to folders are not, so nothing can go in circles; pipes and devices are other files.
/// O(files), 16 bytes read of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageFolder {
    root: PathBuf,
    ids: Vec<String>,
    labels: Option<Labels>,
    split: Option<Vec<Part>>,
    hidden: usize,
    others: usize,
    /// The first of them, by name, and those that are images of a kind that is not read.
    named: BTreeSet<String>,
    unread: Vec<String>,
    /// Texts, which may be of an image of the same name.
    texts: Vec<String>,
    /// Tables of labels beside the images.
    tables: Vec<String>,
    told: Vec<String>,
    remarks: Vec<String>,
    /// What cannot be listed and why, in no order.
    bad: Vec<String>,
    /// Links with names of images that lead to nothing, in no order.
    astray: Vec<String>,
}

impl ImageFolder {
    /// Lists the images below `path`, or takes `path` as the only one if it is a file.
    ///
    /// With a file of labels (csv with id and label, see [`likewise_io::read_labels`]) those
    /// replace the folders' classes. Fails where there is no such folder, no image in
    /// it, an image whose path is not Unicode, a folder in it that cannot be read, or where the
    /// labels do not fit.
    ///
    /// ```
    /// use likewise_image::{ImageFolder, RgbImage};
    /// # let folder = tempfile::tempdir()?;
    /// let cats = folder.path().join("cats");
    /// std::fs::create_dir(&cats)?;
    /// RgbImage::new(8, 8).save(cats.join("tom.png"))?;
    /// RgbImage::new(8, 8).save(folder.path().join("who.png"))?;
    /// let images = ImageFolder::open(folder.path(), None)?;
    /// assert_eq!(images.ids(), ["cats/tom.png", "who.png"]);
    /// assert_eq!(images.labels().map(|l| l.n_known()), Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: impl AsRef<Path>, labels: Option<&Path>) -> Result<Self> {
        Self::open_with(path, labels, false)
    }

    /// As [`open`](Self::open); with `skip_bad`, images whose path is not Unicode and folders
    /// that cannot be read are left out, with a [remark](Self::remarks) on each.
    pub fn open_with(
        path: impl AsRef<Path>,
        labels: Option<&Path>,
        skip_bad: bool,
    ) -> Result<Self> {
        Self::open_as(path, labels, skip_bad, &TableOptions::default())
    }

    /// As [`open_with`](Self::open_with); the columns of ids and labels in a table of labels are
    /// those `asked` for.
    ///
    /// Fails where a column of labels is asked for, and there is no table.
    pub fn open_as(
        path: impl AsRef<Path>,
        labels: Option<&Path>,
        skip_bad: bool,
        asked: &TableOptions,
    ) -> Result<Self> {
        let path = path.as_ref();
        if !path.is_dir() {
            likewise_io::open(path)?;
        }
        let within = |e: Error| e.within(path.display());
        let mut folder = Self::list(path, skip_bad).map_err(within)?;
        let remarks = Arc::new(Mutex::new(Vec::new()));
        let heard = remarks.clone();
        let monitor = Monitor::new(move |event| {
            if let (Event::Warning(text), Ok(mut heard)) = (event, heard.lock()) {
                heard.push(text.clone());
            }
        });
        if let Some(file) = labels {
            let labels = likewise_io::read_labels_as(file, &folder.ids, asked, &monitor)?;
            folder.labels = Some(labels);
        } else if !folder.tables.is_empty() {
            folder.read_tables(asked, &monitor).map_err(within)?;
        } else if asked.label_column.is_some() {
            let message = "`label_column` has no effect on images without a table of labels; give \
                           one with `labels`, or put a metadata.csv beside them";
            return Err(within(Error::new(ErrorKind::Value, message)));
        }
        folder
            .remarks
            .extend(remarks.lock().map(|r| r.clone()).unwrap_or_default());
        folder.tell_others(labels);
        Ok(folder)
    }

    /// Takes the labels of the tables beside the images.
    fn read_tables(&mut self, asked: &TableOptions, monitor: &Monitor) -> Result<()> {
        self.tables.sort_unstable();
        let (tables, ids, left) = (&self.tables, &self.ids, &self.unread);
        let read = metadata::labels(&self.root, tables, ids, left, asked, monitor)?;
        if let Some(labels) = read {
            self.told.retain(|told| !told.contains("folder"));
            self.told.push(format!(
                "labels are those of {}, {} classes",
                self.tables.join(", "),
                labels.n_classes()
            ));
            self.labels = Some(labels);
        }
        Ok(())
    }

    /// Names the files that are left out.
    fn tell_others(&mut self, labels: Option<&Path>) {
        let own = labels.filter(|file| {
            let folder = file.parent().and_then(|folder| folder.canonicalize().ok());
            folder.is_some() && folder == self.root.canonicalize().ok()
        });
        let own = own.and_then(Path::file_name).and_then(OsStr::to_str);
        let count = self.others - usize::from(own.is_some_and(|own| self.named.remove(own)));
        if count == 0 {
            return;
        }
        self.unread.sort_unstable();
        let names: BTreeSet<&String> = self.unread.iter().chain(&self.named).collect();
        let unread: BTreeSet<&String> = self.unread.iter().collect();
        let mut names: Vec<&String> = names.into_iter().collect();
        // What somebody will miss comes first.
        names.sort_by_key(|name| !unread.contains(name));
        let shown: Vec<&str> = names.iter().take(NAMED).map(|name| name.as_str()).collect();
        let more = count.saturating_sub(shown.len());
        let more = match (more, shown.is_empty()) {
            (0, _) => String::new(),
            (more, false) => format!(" and {more} more"),
            (1, true) => "1 file".to_owned(),
            (more, true) => format!("{more} files"),
        };
        let advice = if self.unread.is_empty() {
            ""
        } else {
            "; save photos of a kind that is not read as JPEG or PNG"
        };
        self.told.push(format!(
            "left out, no images that can be read: {}{more}{advice}",
            shown.join(", ")
        ));
    }

    /// Whether `path` is to be read as images: an image file, or a folder that does not
    /// hold the idx files of MNIST, nor texts and no image.
    pub fn suits(path: impl AsRef<Path>) -> Result<bool> {
        let path = path.as_ref();
        if path.is_dir() {
            let others = likewise_io::is_idx_folder(path)?
                || (likewise_io::is_text_folder(path)? && Self::list(path, true).is_err());
            return Ok(!others);
        }
        Ok(is_named_image(path) || (Form::of(path).is_err() && begins_as_image(path)))
    }

    /// Whether `file` is read with the images of the folder `root`, or would be if it stood there: an image
    /// below it, or a table of labels. To refuse an output that would change the data.
    ///
    /// ```
    /// use likewise_image::ImageFolder;
    /// # let folder = tempfile::tempdir()?;
    /// let root = folder.path();
    /// assert!(ImageFolder::reads(root, &root.join("metadata.csv")));
    /// assert!(!ImageFolder::reads(root, &root.join("features.npy")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reads(root: &Path, file: &Path) -> bool {
        let mut tables = metadata::NAMES.iter().map(|name| root.join(name));
        if tables.any(|table| likewise_io::atomic::same_file(&table, file)) {
            return true;
        }
        let folder = match file.parent() {
            Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
            Some(folder) => folder,
            None => return false,
        };
        let (Ok(root), Ok(folder)) = (root.canonicalize(), folder.canonicalize()) else {
            return false;
        };
        let (Ok(below), Some(name)) = (folder.strip_prefix(&root), file.file_name()) else {
            return false;
        };
        let is_hidden = |name: &OsStr| name.as_encoded_bytes().starts_with(b".");
        if below.iter().any(is_hidden) || is_hidden(name) {
            return false;
        }
        metadata::is_named(&name.to_string_lossy()) || is_named_image(file) || begins_as_image(file)
    }

    fn list(path: &Path, skip_bad: bool) -> Result<Self> {
        let mut folder = Self {
            root: path.to_owned(),
            ids: Vec::new(),
            labels: None,
            split: None,
            hidden: 0,
            others: 0,
            named: BTreeSet::new(),
            unread: Vec::new(),
            texts: Vec::new(),
            tables: Vec::new(),
            told: Vec::new(),
            remarks: Vec::new(),
            bad: Vec::new(),
            astray: Vec::new(),
        };
        if !std::fs::metadata(path)?.is_dir() {
            let name = path.file_name().unwrap_or_default();
            let id = name.to_str().map(str::to_owned);
            folder.ids.push(id.ok_or_else(|| odd(name.as_ref()))?);
            folder.root.pop();
            return Ok(folder);
        }
        folder.collect(path, Path::new(""))?;
        folder.bad.sort_unstable();
        match folder.bad.first() {
            Some(first) if !skip_bad => {
                return Err(Error::new(ErrorKind::Format, first.clone()));
            }
            _ => {}
        }
        let bad = std::mem::take(&mut folder.bad);
        let bad = bad.into_iter().map(|what| format!("left out: {what}"));
        folder.remarks.extend(bad);
        let astray = std::mem::take(&mut folder.astray);
        if let Some(first) = astray.iter().min() {
            folder.remarks.push(format!(
                "left out: {} links to files that are not there (first: {first}); mend or remove \
                 them",
                astray.len()
            ));
        }
        if folder.ids.is_empty() {
            folder.tell_texts();
            return Err(Error::new(
                ErrorKind::Value,
                format!(
                    "no images in this folder ({} other files, {} hidden); images are {}",
                    folder.others,
                    folder.hidden,
                    ENDINGS.join(", ")
                ),
            ));
        }
        folder.ids.sort_unstable();
        folder.read_places()?;
        folder.tell_texts();
        Ok(folder)
    }

    /// Lists the images at `at`, a folder whose path below the root is `below`. What is wrong
    /// below the root is noted, not an error.
    fn collect(&mut self, at: &Path, below: &Path) -> Result<()> {
        for entry in std::fs::read_dir(at)? {
            let entry = entry?;
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(b".") {
                self.hidden += 1;
                continue;
            }
            let (path, below) = (entry.path(), below.join(&name));
            if entry.file_type()?.is_dir() {
                self.collect_noting(&path, &below);
            } else if path.is_file() && (is_named_image(&path) || begins_as_image(&path)) {
                match id(&below) {
                    Some(id) => self.ids.push(id),
                    None => self.bad.push(odd(&below).to_string()),
                }
            } else if id(&below).is_some_and(|_| metadata::is_named(&name.to_string_lossy())) {
                self.tables.extend(id(&below));
            } else {
                if is_named_image(&path) && path.is_symlink() && !path.exists() {
                    self.astray.push(escaped(below.as_os_str()));
                }
                if let (Some("txt"), Some(name)) =
                    (path.extension().and_then(OsStr::to_str), id(&below))
                {
                    self.texts.push(name);
                    continue;
                }
                self.others += 1;
                let Some(name) = id(&below) else { continue };
                let ending = path.extension().unwrap_or_default().to_string_lossy();
                if UNREAD.contains(&ending.to_ascii_lowercase().as_str()) {
                    self.unread.push(name);
                } else {
                    self.name(name);
                }
            }
        }
        Ok(())
    }

    /// Keeps the first names of files that are left out.
    fn name(&mut self, file: String) {
        self.named.insert(file);
        if self.named.len() > 100 {
            self.named.pop_last();
        }
    }

    /// Parts texts into those of an image, which it tells of, and other files.
    fn tell_texts(&mut self) {
        let stem = |file: &str| Path::new(file).with_extension("");
        let images: BTreeSet<PathBuf> = self.ids.iter().map(|id| stem(id)).collect();
        let (of_images, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.texts)
            .into_iter()
            .partition(|text| images.contains(&stem(text)));
        self.others += others.len();
        for text in others {
            self.name(text);
        }
        if !of_images.is_empty() {
            self.told.push(format!(
                "images with a text of the same name beside them: {}; a search across views can read it",
                of_images.len()
            ));
        }
    }

    fn collect_noting(&mut self, at: &Path, below: &Path) {
        if let Err(e) = self.collect(at, below) {
            let place = escaped(below.as_os_str());
            self.bad.push(format!("folder {place} cannot be read: {e}"));
        }
    }

    /// Takes labels and split from the folders, and says what is not told by their names.
    fn read_places(&mut self) -> Result<()> {
        let places = Places::of(&self.ids, "images")?;
        self.told.extend(places.told);
        (self.labels, self.split) = (places.labels, places.split);
        Ok(())
    }

    /// Number of images.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are no images; an open folder has some.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Paths of the images below the folder, with `/` on every system.
    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// What the places of the images, or the file of labels, say; `None` if nothing.
    pub fn labels(&self) -> Option<&Labels> {
        self.labels.as_ref()
    }

    /// The split, where the first level of folders is one.
    pub fn split(&self) -> Option<&[Part]> {
        self.split.as_deref()
    }

    /// Hidden files and folders that were left out.
    pub fn hidden(&self) -> usize {
        self.hidden
    }

    /// Files that are no images, and links to folders, that were left out.
    pub fn others(&self) -> usize {
        self.others
    }

    /// How the folder was understood, where it may be meant otherwise, and which files are left
    /// out.
    pub fn told(&self) -> &[String] {
        &self.told
    }

    /// What a person should know: what was left out because it cannot be listed, and how the
    /// file of labels was read.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// The SHA-256 of the images at these places of the list, as 64 hexadecimal digits: what
    /// [`likewise_io::digest`] gives for a folder of them and nothing else.
    ///
    /// Other files, hidden ones and images left out do not matter. Reads every image, on all
    /// cores; fails where one cannot be read.
    pub fn digest(&self, places: &[usize]) -> Result<String> {
        let line = |&item: &usize| {
            let digest = likewise_io::digest(self.path(item))?;
            Ok((self.ids[item].as_str(), digest))
        };
        let mut lines: Vec<(&str, String)> = places.par_iter().map(line).collect::<Result<_>>()?;
        lines.sort_unstable();
        let lines: Vec<String> = (lines.iter())
            .map(|(id, digest)| format!("{digest} {id}\n"))
            .collect();
        Ok(likewise_io::digest_parts(
            lines.iter().map(String::as_bytes),
        ))
    }

    /// Where an image lies.
    pub fn path(&self, item: usize) -> PathBuf {
        self.root.join(&self.ids[item])
    }
}

/// A path below the folder with `/` on every system, if it is Unicode.
fn id(below: &Path) -> Option<String> {
    let names: Option<Vec<&str>> = below.iter().map(OsStr::to_str).collect();
    Some(names?.join("/"))
}

fn odd(below: &Path) -> Error {
    Error::new(
        ErrorKind::Value,
        format!(
            "the name {} is not Unicode; rename it",
            escaped(below.as_os_str())
        ),
    )
}

/// A name in which every byte can be told, in quotes.
#[expect(
    clippy::unnecessary_debug_formatting,
    reason = "to display it would hide the bytes"
)]
fn escaped(name: &OsStr) -> String {
    format!("{name:?}")
}

fn is_named_image(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    ENDINGS.contains(&ending.to_ascii_lowercase().as_str())
}

/// Whether the first bytes prove an image. The two letters of BMP and PNM would be too little.
fn begins_as_image(path: &Path) -> bool {
    let mut start = Vec::new();
    let Ok((file, _)) = likewise_io::open(path) else {
        return false;
    };
    file.take(16).read_to_end(&mut start).is_ok()
        && matches!(
            image::guess_format(&start),
            Ok(ImageFormat::Jpeg
                | ImageFormat::Png
                | ImageFormat::Gif
                | ImageFormat::WebP
                | ImageFormat::Tiff)
        )
}
