//! Image folders: which files are images, and what their folders say about them.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use image::ImageFormat;
use likewise::{Event, Label, Labels, Monitor, Part};
use likewise_io::Form;
use rayon::prelude::*;

use crate::{Error, ErrorKind, Result};

/// File endings of the formats that can be decoded.
const ENDINGS: [&str; 13] = [
    "jpg", "jpeg", "jfif", "png", "webp", "bmp", "gif", "tif", "tiff", "pnm", "pbm", "pgm", "ppm",
];

/// The images below a folder, in a fixed order, with the labels that their places tell.
///
/// An image's id is its path below the folder, with `/` between folders; images are sorted
/// by id. The folder of the first level is the class, whatever lies below it; images at the
/// top, or in `unlabeled/`, are unlabeled, those in `outside/` known to be none of the
/// classes. A folder of any other name is a class, also `none` or `other`. If all
/// folders of the first level are parts of a split (`train`, `val`, `test` ...), they
/// are the split, and the folders below them the classes.
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
    remarks: Vec<String>,
    /// What cannot be listed and why, in no order.
    bad: Vec<String>,
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
        let path = path.as_ref();
        if !path.is_dir() {
            likewise_io::open(path)?;
        }
        let mut folder = Self::list(path, skip_bad).map_err(|e| e.within(path.display()))?;
        if let Some(file) = labels {
            let remarks = Arc::new(Mutex::new(Vec::new()));
            let heard = remarks.clone();
            let monitor = Monitor::new(move |event| {
                if let (Event::Warning(text), Ok(mut heard)) = (event, heard.lock()) {
                    heard.push(text.clone());
                }
            });
            let labels = likewise_io::read_labels_with(file, &folder.ids, &monitor)?;
            folder.labels = Some(labels);
            folder
                .remarks
                .extend(remarks.lock().map(|r| r.clone()).unwrap_or_default());
        }
        Ok(folder)
    }

    /// Whether `path` is to be read as images: an image file, or a folder that does not
    /// hold the idx files of MNIST.
    pub fn suits(path: impl AsRef<Path>) -> Result<bool> {
        let path = path.as_ref();
        if path.is_dir() {
            return Ok(!likewise_io::is_idx_folder(path)?);
        }
        Ok(is_named_image(path) || (Form::of(path).is_err() && begins_as_image(path)))
    }

    fn list(path: &Path, skip_bad: bool) -> Result<Self> {
        let mut folder = Self {
            root: path.to_owned(),
            ids: Vec::new(),
            labels: None,
            split: None,
            hidden: 0,
            others: 0,
            remarks: Vec::new(),
            bad: Vec::new(),
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
                return Err(Error::new(ErrorKind::Value, first.clone()));
            }
            _ => {}
        }
        let bad = std::mem::take(&mut folder.bad);
        let bad = bad.into_iter().map(|what| format!("left out: {what}"));
        folder.remarks.extend(bad);
        if folder.ids.is_empty() {
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
        (folder.labels, folder.split) = Self::places(&folder.ids)?;
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
            } else {
                self.others += 1;
            }
        }
        Ok(())
    }

    fn collect_noting(&mut self, at: &Path, below: &Path) {
        if let Err(e) = self.collect(at, below) {
            let place = escaped(below.as_os_str());
            self.bad.push(format!("folder {place} cannot be read: {e}"));
        }
    }

    /// Labels and split from the folders that the ids name.
    fn places<'a>(ids: &'a [String]) -> Result<(Option<Labels>, Option<Vec<Part>>)> {
        let places: Vec<(&'a str, &'a str)> = ids
            .iter()
            .map(|id| id.split_once('/').unwrap_or(("", id)))
            .collect();
        let parts: Option<Vec<Part>> = places.iter().map(|(first, _)| Part::parse(first)).collect();
        let folder = |&(first, rest): &(&'a str, &'a str)| {
            if parts.is_none() {
                return first;
            }
            rest.split_once('/').map_or("", |(class, _)| class)
        };
        let folders: Vec<&str> = places.iter().map(folder).collect();
        let outside = |folder: &str| folder.eq_ignore_ascii_case("outside");
        let named = Labels::named(folders.iter().map(|&folder| {
            let none = outside(folder) || folder.eq_ignore_ascii_case("unlabeled");
            if none { "" } else { folder }
        }));
        let items = named.items().iter().zip(&folders);
        let items = items.map(|(&label, folder)| match label {
            Label::Unknown if outside(folder) => Label::Outside,
            label => label,
        });
        let labels = Labels::new(named.classes().to_vec(), items.collect())?;
        let told = labels.items().iter().any(|l| *l != Label::Unknown);
        Ok((told.then_some(labels), parts))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RgbImage;

    /// A folder of one-pixel images, and of text where a name ends in .txt.
    fn scene(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            if path.extension().is_some_and(|e| e == "txt") {
                std::fs::write(path, "BM P6 text").unwrap();
            } else {
                let save = |p: &Path| RgbImage::new(1, 1).save_with_format(p, ImageFormat::Png);
                save(&path).unwrap();
            }
        }
        folder
    }

    #[test]
    fn folders_are_classes_and_the_order_is_fixed() {
        let folder = scene(&[
            "dog/z.png",
            "dog/deep/er/b.PNG",
            "cat/by-content",
            "cat/notes.txt",
            "cat/.hidden.png",
            ".git/x.png",
            "unlabeled/u.png",
            "outside/o.png",
            "top.jpg",
        ]);
        let images = ImageFolder::open(folder.path(), None).unwrap();
        let expected = [
            "cat/by-content",
            "dog/deep/er/b.PNG",
            "dog/z.png",
            "outside/o.png",
            "top.jpg",
            "unlabeled/u.png",
        ];
        assert_eq!(images.ids(), expected);
        let labels = images.labels().unwrap();
        assert_eq!(labels.classes(), ["cat", "dog"]);
        let [dog, unknown] = [Label::Known(1), Label::Unknown];
        let known = [Label::Known(0), dog, dog, Label::Outside, unknown, unknown];
        assert_eq!(labels.items(), known);
        assert_eq!((images.hidden(), images.others()), (2, 1));
        assert!(images.path(2).is_file());
        assert_eq!(images.split(), None);
    }

    #[test]
    fn a_folder_of_any_other_name_is_a_class() {
        let folder = scene(&["none/a.png", "other/b.png", "unknown/c.png", "NA/d.png"]);
        let images = ImageFolder::open(folder.path(), None).unwrap();
        let labels = images.labels().unwrap();
        assert_eq!(labels.classes(), ["NA", "none", "other", "unknown"]);
        assert_eq!(labels.n_known(), 4);
        let folder = scene(&["train/other/a.png", "test/Outside/b.png"]);
        let images = ImageFolder::open(folder.path(), None).unwrap();
        let labels = images.labels().unwrap();
        assert_eq!(labels.items(), [Label::Outside, Label::Known(0)]);
    }

    #[test]
    fn parts_of_a_split_are_not_classes() {
        let folder = scene(&["train/cat/a.png", "val/dog/b.png", "test/c.png"]);
        let images = ImageFolder::open(folder.path(), None).unwrap();
        let parts = [Part::Test, Part::Train, Part::Validation];
        assert_eq!(images.split().unwrap(), parts);
        assert_eq!(images.labels().unwrap().classes(), ["cat", "dog"]);
    }

    #[test]
    fn a_file_of_labels_replaces_the_folders() {
        let folder = scene(&["x/a.png", "x/b.png"]);
        let csv = folder.path().join("labels.csv");
        std::fs::write(&csv, "id,label\nx/b.png,dog\n").unwrap();
        let images = ImageFolder::open(folder.path(), Some(&csv)).unwrap();
        let labels = images.labels().unwrap();
        assert_eq!(labels.items(), [Label::Unknown, Label::Known(0)]);
        std::fs::write(&csv, "id,label\nx/b.png,NA\n").unwrap();
        let images = ImageFolder::open(folder.path(), Some(&csv)).unwrap();
        assert!(images.remarks()[0].contains("\"NA\""));
        std::fs::write(&csv, "id,label\nb.png,dog\n").unwrap();
        let e = ImageFolder::open(folder.path(), Some(&csv)).unwrap_err();
        assert!(e.to_string().contains("\"b.png\""), "{e}");
    }

    #[test]
    fn one_image_is_a_folder_of_one() {
        let folder = scene(&["a.png"]);
        let path = folder.path().join("a.png");
        assert!(ImageFolder::suits(&path).unwrap());
        let images = ImageFolder::open(&path, None).unwrap();
        assert_eq!(images.ids(), ["a.png"]);
        assert_eq!(images.path(0), path);
        assert_eq!(images.labels(), None);
    }

    #[test]
    fn folders_without_images_and_missing_ones_are_named() {
        let folder = scene(&["a/b.txt"]);
        let e = ImageFolder::open(folder.path(), None).unwrap_err();
        assert!(e.to_string().contains("no images"), "{e}");
        assert!(e.to_string().contains("1 other"), "{e}");
        let e = ImageFolder::open(folder.path().join("no"), None).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::NotFound);
        std::fs::write(folder.path().join("train-images-idx3-ubyte"), "").unwrap();
        assert!(!ImageFolder::suits(folder.path()).unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn links_do_not_lead_in_circles_and_odd_names_are_named() {
        use std::os::unix::ffi::OsStrExt;
        let folder = scene(&["a/b.png"]);
        let link = |from: &str, to: &str| {
            std::os::unix::fs::symlink(folder.path().join(from), folder.path().join(to)).unwrap();
        };
        link("", "a/round");
        link("a/b.png", "a/c.png");
        link("nowhere", "a/d.png");
        let images = ImageFolder::open(folder.path(), None).unwrap();
        assert_eq!(images.ids(), ["a/b.png", "a/c.png"]);
        assert_eq!(images.others(), 2);
        let odd = |name: &[u8]| folder.path().join(OsStr::from_bytes(name));
        // What is no image may have any name.
        std::fs::write(odd(b"\xff.txt"), "text").unwrap();
        let images = ImageFolder::open(folder.path(), None).unwrap();
        assert_eq!((images.len(), images.others()), (2, 3));
        std::fs::write(odd(b"\xff.png"), "").unwrap();
        std::fs::create_dir(odd(b"b\xfe")).unwrap();
        std::fs::write(odd(b"b\xfe/c.png"), "").unwrap();
        let e = ImageFolder::open(folder.path(), None).unwrap_err();
        assert!(
            e.to_string().contains("\"\\xFF.png\" is not Unicode"),
            "{e}"
        );
        let images = ImageFolder::open_with(folder.path(), None, true).unwrap();
        assert_eq!(images.ids(), ["a/b.png", "a/c.png"]);
        let remarks = images.remarks();
        assert_eq!(remarks.len(), 2);
        assert!(
            remarks[1].contains("left out: the name \"b\\xFE/c.png\""),
            "{remarks:?}"
        );
    }

    #[test]
    fn a_folder_that_cannot_be_read_is_noted() {
        let folder = scene(&["a/b.png"]);
        let mut images = ImageFolder::list(folder.path(), false).unwrap();
        // Nobody can read what is not there; other folders cannot be closed to everybody.
        images.collect_noting(&folder.path().join("none"), Path::new("none"));
        let noted = &images.bad[0];
        assert!(
            noted.starts_with("folder \"none\" cannot be read:"),
            "{noted}"
        );
        assert_eq!(images.ids(), ["a/b.png"]);
    }

    #[cfg(unix)]
    #[test]
    fn pipes_and_devices_are_no_images() {
        let folder = scene(&["a/b.png"]);
        let zero = folder.path().join("a/zero.png");
        std::os::unix::fs::symlink("/dev/zero", &zero).unwrap();
        let pipe = folder.path().join("a/pipe.png");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        let mut special = vec![zero];
        if made.is_ok_and(|status| status.success()) {
            special.push(pipe);
        } else {
            println!("there is no mkfifo here");
        }
        let images = ImageFolder::open(folder.path(), None).unwrap();
        assert_eq!((images.len(), images.others()), (1, special.len()));
        for path in special {
            for said in [
                ImageFolder::open(&path, None).unwrap_err(),
                crate::decode::read(&path, 100).unwrap_err(),
            ] {
                let said = said.to_string();
                assert!(said.contains("not a regular file"), "{said}");
                let path = path.display().to_string();
                assert_eq!(said.matches(&path).count(), 1, "{said}");
            }
            let unnamed = path.with_extension("");
            std::fs::rename(&path, &unnamed).unwrap();
            assert!(!ImageFolder::suits(&unnamed).unwrap());
        }
    }

    #[test]
    fn the_digest_is_of_the_images_alone() {
        let folder = scene(&["x/a.png", "x/b.png", "c.png"]);
        let images = ImageFolder::open(folder.path(), None).unwrap();
        let whole = likewise_io::digest(folder.path()).unwrap();
        assert_eq!(images.digest(&[2, 0, 1]).unwrap(), whole);
        assert_ne!(images.digest(&[0, 1]).unwrap(), whole);
        std::fs::write(folder.path().join(".secret"), "1").unwrap();
        std::fs::write(folder.path().join("x/notes.txt"), "2").unwrap();
        let images = ImageFolder::open(folder.path(), None).unwrap();
        assert_eq!(images.digest(&[0, 1, 2]).unwrap(), whole);
    }
}
