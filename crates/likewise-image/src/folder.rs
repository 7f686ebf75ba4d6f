//! Image folders: which files are images, and what their folders say about them.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use image::ImageFormat;
use likewise::{Event, Label, Labels, Monitor, Part};
use likewise_io::Form;

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
/// links to folders are not, so nothing can go in circles. O(files), 16 bytes read of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageFolder {
    root: PathBuf,
    ids: Vec<String>,
    labels: Option<Labels>,
    split: Option<Vec<Part>>,
    hidden: usize,
    others: usize,
    remarks: Vec<String>,
}

impl ImageFolder {
    /// Lists the images below `path`, or takes `path` as the only one if it is a file.
    ///
    /// With a file of labels (csv with id and label, see [`likewise_io::read_labels`]) those
    /// replace the folders' classes. Fails where there is no such folder, no image in
    /// it, a name that is not Unicode, or where the labels do not fit.
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
        let path = path.as_ref();
        let mut folder = Self::list(path).map_err(|e| e.within(path.display()))?;
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
            folder.remarks = remarks.lock().map(|r| r.clone()).unwrap_or_default();
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

    fn list(path: &Path) -> Result<Self> {
        let mut folder = Self {
            root: path.to_owned(),
            ids: Vec::new(),
            labels: None,
            split: None,
            hidden: 0,
            others: 0,
            remarks: Vec::new(),
        };
        if !std::fs::metadata(path)?.is_dir() {
            let name = path.file_name().unwrap_or_default();
            folder.ids.push(unicode(name)?);
            folder.root.pop();
            return Ok(folder);
        }
        folder.collect(path, "")?;
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

    fn collect(&mut self, at: &Path, prefix: &str) -> Result<()> {
        let within = |e: std::io::Error| Error::from(e).within(prefix);
        for entry in std::fs::read_dir(at).map_err(within)? {
            let entry = entry.map_err(within)?;
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(b".") {
                self.hidden += 1;
                continue;
            }
            let id = format!("{prefix}{}", unicode(&name)?);
            let path = entry.path();
            if entry.file_type().map_err(within)?.is_dir() {
                self.collect(&path, &format!("{id}/"))?;
            } else if path.is_file() && (is_named_image(&path) || begins_as_image(&path)) {
                self.ids.push(id);
            } else {
                self.others += 1;
            }
        }
        Ok(())
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

    /// What a person should know of the way the file of labels was read.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Where an image lies.
    pub fn path(&self, item: usize) -> PathBuf {
        self.root.join(&self.ids[item])
    }
}

fn unicode(name: &std::ffi::OsStr) -> Result<String> {
    name.to_str().map(str::to_owned).ok_or_else(|| {
        Error::new(
            ErrorKind::Value,
            format!("the name {} is not Unicode; rename it", name.display()),
        )
    })
}

fn is_named_image(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    ENDINGS.contains(&ending.to_ascii_lowercase().as_str())
}

/// Whether the first bytes prove an image. The two letters of BMP and PNM would be too little.
fn begins_as_image(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(16).read_to_end(&mut start));
    read.is_ok()
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
        let odd = std::ffi::OsStr::from_bytes(b"\xff.png");
        std::fs::write(folder.path().join(odd), "").unwrap();
        let e = ImageFolder::open(folder.path(), None).unwrap_err();
        assert!(e.to_string().contains("not Unicode"), "{e}");
    }
}
