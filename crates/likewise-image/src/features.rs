//! What an encoder makes of the images of a folder, and the collection that this is.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use likewise::{Collection, Monitor, View};
use likewise_io::memory;
use ndarray::Array2;
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::cache::{Cache, Content};
use crate::decode::{self, MAX_PIXELS};
use crate::encoder::Encoder;
use crate::load::{listed, value};
use crate::{Error, ErrorKind, ImageFolder, Loader, Result, Skipped};

/// Features of images.
#[derive(Debug, Clone, PartialEq)]
pub struct Features {
    /// The images they are of: places in the folder's list, rising.
    pub items: Vec<usize>,
    /// One row an image.
    pub matrix: Array2<f32>,
    /// Images that could not be read.
    pub skipped: Vec<Skipped>,
}

/// What the encoder makes of all images of the folder.
///
/// With a cache folder, images whose content this encoder has seen before are neither
/// decoded nor encoded again, whatever they are called now; new rows are added at the end,
/// and also when the work is interrupted or fails. A cache that cannot be read or written is worth a warning,
/// not an error. The cache only grows; delete it at will.
///
/// Fails at the first image (in order) that cannot be read, or leaves such images out with
/// `skip_bad`; fails if none is left, if the encoder does, or if `monitor` is cancelled.
/// Cost: reading and hashing every file with a cache, decoding and encoding what is new;
/// memory n x dimensions twice, and a few batches.
pub fn features(
    folder: &ImageFolder,
    encoder: &Encoder,
    cache: Option<&Path>,
    skip_bad: bool,
    monitor: &Monitor,
) -> Result<Features> {
    let n = folder.len();
    // The rows, and the matrix of them.
    let need = (n as u64).saturating_mul(8 * encoder.dimensions as u64);
    if need > memory::available() {
        return Err(Error::new(
            ErrorKind::Memory,
            format!(
                "{} features of {n} images need {} of memory, but there are {}; take fewer images \
                 or an encoder of fewer features",
                encoder.dimensions,
                memory::text(need),
                memory::text(memory::available())
            ),
        ));
    }
    let mut rows: Vec<Option<Vec<f32>>> = vec![None; n];
    let mut contents = BTreeMap::new();
    let cache = match cache.map(|folder| Cache::new(folder, encoder)) {
        None => None,
        Some(Ok(cache)) => {
            let known = cache.load().unwrap_or_else(|e| {
                monitor.warn(e.to_string());
                BTreeMap::new()
            });
            contents = contents_of(folder, monitor)?;
            for (&item, content) in &contents {
                rows[item] = known.get(content).cloned();
            }
            Some(cache)
        }
        Some(Err(e)) => {
            monitor.warn(format!("{e}; going on without a cache"));
            None
        }
    };
    let missing: Vec<usize> = (0..n).filter(|&item| rows[item].is_none()).collect();
    if cache.is_some() {
        monitor.note(format!(
            "{} of {n} images from the cache",
            n - missing.len()
        ));
    }
    let mut skipped = Vec::new();
    let made = make(
        folder,
        encoder,
        &missing,
        skip_bad,
        monitor,
        &mut rows,
        &mut skipped,
    );
    if let Some(cache) = cache {
        let new = missing.iter().filter_map(|item| {
            let content = contents.get(item)?;
            Some((*content, rows[*item].clone()?))
        });
        let new: BTreeMap<Content, Vec<f32>> = new.collect();
        if !new.is_empty()
            && let Err(e) = cache.add(new)
        {
            monitor.warn(format!("{e}; the features are not kept"));
        }
    }
    made?;
    if !skipped.is_empty() {
        monitor.warn(listed(&skipped));
    }
    let items: Vec<usize> = (0..n).filter(|&item| rows[item].is_some()).collect();
    if items.is_empty() {
        return Err(value("none of the images can be read"));
    }
    let mut matrix = Array2::zeros((items.len(), encoder.dimensions));
    for (mut out, row) in matrix
        .rows_mut()
        .into_iter()
        .zip(rows.into_iter().flatten())
    {
        out.assign(&ndarray::ArrayView1::from(&row));
    }
    Ok(Features {
        items,
        matrix,
        skipped,
    })
}

/// Decodes and encodes the images at `items`; what was made before an error stays.
fn make(
    folder: &ImageFolder,
    encoder: &Encoder,
    items: &[usize],
    skip_bad: bool,
    monitor: &Monitor,
    rows: &mut [Option<Vec<f32>>],
    skipped: &mut Vec<Skipped>,
) -> Result<()> {
    if items.is_empty() {
        return Ok(());
    }
    let loader = Loader {
        preprocess: encoder.preprocess.clone(),
        batch: encoder.batch,
        skip_bad,
        ..Loader::default()
    };
    for batch in loader.load(folder, items, monitor)? {
        let batch = batch?;
        skipped.extend(batch.skipped);
        if batch.items.is_empty() {
            continue;
        }
        let made = encoder.rows(batch.pixels)?;
        for (item, row) in batch.items.into_iter().zip(made.rows()) {
            rows[item] = Some(row.to_vec());
        }
    }
    Ok(())
}

/// The digests of the images that can be read; what is wrong with the others, decoding says.
pub(crate) fn contents_of(
    folder: &ImageFolder,
    monitor: &Monitor,
) -> Result<BTreeMap<usize, Content>> {
    let contents: Result<Vec<Option<Content>>> = (0..folder.len())
        .into_par_iter()
        .map(|item| {
            monitor.check()?;
            Ok(content(&folder.path(item)).ok())
        })
        .collect();
    let contents = (0..).zip(contents?);
    Ok(contents.filter_map(|(item, c)| Some((item, c?))).collect())
}

/// The digest of a file, 64 KiB at a time.
fn content(path: &Path) -> Result<Content> {
    let (mut file, _) = decode::open(path, MAX_PIXELS)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.finalize().into()),
            n => hash.update(&buffer[..n]),
        }
    }
}

/// The images of a folder as a collection: ids, labels, split, and one view of the
/// encoder's name; and the places of the items in the folder's list. See [`features`].
///
/// ```
/// use likewise::Monitor;
/// use likewise_image::{Encoder, ImageFolder, RgbImage, collection};
/// # let folder = tempfile::tempdir()?;
/// RgbImage::new(8, 8).save(folder.path().join("a.png"))?;
/// let images = ImageFolder::open(folder.path(), None)?;
/// let (items, places) =
///     collection(&images, &Encoder::pixels(32), None, false, &Monitor::silent())?;
/// assert_eq!(items.ids(), ["a.png"]);
/// assert_eq!(items.view(Some("pixels"))?.matrix.dim(), (1, 3072));
/// assert_eq!(places, [0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn collection(
    folder: &ImageFolder,
    encoder: &Encoder,
    cache: Option<&Path>,
    skip_bad: bool,
    monitor: &Monitor,
) -> Result<(Collection, Vec<usize>)> {
    let Features { items, matrix, .. } = features(folder, encoder, cache, skip_bad, monitor)?;
    let ids = items.iter().map(|&item| folder.ids()[item].clone());
    let view = View {
        name: encoder.name.clone(),
        matrix,
        present: None,
    };
    let mut collection = Collection::new(ids.collect(), vec![view])?;
    collection.labels = folder.labels().map(|labels| labels.select(&items));
    collection.split = folder
        .split()
        .map(|split| items.iter().map(|&item| split[item]).collect());
    Ok((collection, items))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use ndarray::Axis;

    use super::*;
    use crate::{Preprocess, RgbImage};

    /// Five one-colour images in two classes; the red value is ten times the number.
    fn scene() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (class, number) in [("a", 0), ("a", 1), ("b", 2), ("b", 3), ("b", 4)] {
            let class = folder.path().join(class);
            std::fs::create_dir_all(&class).unwrap();
            let image = RgbImage::from_pixel(3, 5, [10 * number, 0, 0].into());
            image.save(class.join(format!("{number}.png"))).unwrap();
        }
        folder
    }

    /// An encoder that gives the first red value, and counts the images it saw.
    fn counting() -> (Encoder, Rc<Cell<usize>>) {
        let seen = Rc::new(Cell::new(0));
        let counter = seen.clone();
        let encoder = Encoder {
            name: "red".into(),
            digest: "1".into(),
            preprocess: Preprocess {
                scale: 1.0,
                ..Preprocess::cifar()
            },
            dimensions: 1,
            batch: 2,
            encode: Box::new(move |images| {
                counter.set(counter.get() + images.len_of(Axis(0)));
                Ok(Array2::from_shape_fn(
                    (images.len_of(Axis(0)), 1),
                    |(i, _)| images[[i, 0, 0, 0]],
                ))
            }),
        };
        (encoder, seen)
    }

    fn red(folder: &ImageFolder, encoder: &Encoder, cache: &Path, skip: bool) -> Result<Features> {
        features(folder, encoder, Some(cache), skip, &Monitor::silent())
    }

    #[test]
    fn only_what_is_new_is_encoded() {
        let folder = scene();
        let cache = tempfile::tempdir().unwrap();
        let images = ImageFolder::open(folder.path(), None).unwrap();
        let (mut encoder, seen) = counting();
        let first = red(&images, &encoder, cache.path(), false).unwrap();
        assert_eq!(
            first.matrix.column(0).to_vec(),
            [0.0, 10.0, 20.0, 30.0, 40.0]
        );
        assert_eq!(seen.get(), 5);
        assert_eq!(red(&images, &encoder, cache.path(), false).unwrap(), first);
        assert_eq!(seen.get(), 5);
        // Another name is the same image; another content is a new one.
        std::fs::rename(folder.path().join("a/0.png"), folder.path().join("b/z.png")).unwrap();
        let new = RgbImage::from_pixel(2, 2, [50, 0, 0].into());
        new.save(folder.path().join("a/1.png")).unwrap();
        let images = ImageFolder::open(folder.path(), None).unwrap();
        let moved = red(&images, &encoder, cache.path(), false).unwrap();
        assert_eq!(
            moved.matrix.column(0).to_vec(),
            [50.0, 20.0, 30.0, 40.0, 0.0]
        );
        assert_eq!(seen.get(), 6);
        // Another encoder, or another preprocessing, shares nothing.
        encoder.digest = "2".into();
        red(&images, &encoder, cache.path(), false).unwrap();
        encoder.preprocess.scale = 2.0;
        let doubled = red(&images, &encoder, cache.path(), false).unwrap();
        assert!((doubled.matrix[[0, 0]] - 100.0).abs() < 1e-4);
        assert_eq!(seen.get(), 16);
        assert_eq!(std::fs::read_dir(cache.path()).unwrap().count(), 3);
    }

    #[test]
    fn features_beyond_all_memory_are_refused() {
        let folder = scene();
        let images = ImageFolder::open(folder.path(), None).unwrap();
        let (mut encoder, seen) = counting();
        encoder.dimensions = 1 << 50;
        let e = features(&images, &encoder, None, false, &Monitor::silent()).unwrap_err();
        assert_eq!((e.kind(), seen.get()), (ErrorKind::Memory, 0), "{e}");
    }

    #[test]
    fn a_damaged_cache_is_made_anew_and_an_impossible_one_not_used() {
        let folder = scene();
        let cache = tempfile::tempdir().unwrap();
        let images = ImageFolder::open(folder.path(), None).unwrap();
        let (encoder, seen) = counting();
        let first = red(&images, &encoder, cache.path(), false).unwrap();
        let file = std::fs::read_dir(cache.path()).unwrap().next().unwrap();
        std::fs::write(file.unwrap().path(), "likewise-cache 1 and more").unwrap();
        assert_eq!(red(&images, &encoder, cache.path(), false).unwrap(), first);
        red(&images, &encoder, cache.path(), false).unwrap();
        assert_eq!(seen.get(), 10);
        let file = folder.path().join("a/0.png");
        assert_eq!(red(&images, &encoder, &file, false).unwrap(), first);
    }

    #[test]
    fn bad_images_are_named_or_left_out() {
        let folder = scene();
        std::fs::write(folder.path().join("a/1.png"), "").unwrap();
        std::fs::write(folder.path().join("b/3.jpg"), "no image").unwrap();
        let images = ImageFolder::open(folder.path(), None).unwrap();
        let cache = tempfile::tempdir().unwrap();
        let (encoder, seen) = counting();
        let e = red(&images, &encoder, cache.path(), false).unwrap_err();
        assert!(e.to_string().contains("1.png: the file is empty"), "{e}");
        let silent = Monitor::silent();
        let cached = Some(cache.path());
        let (items, places) = collection(&images, &encoder, cached, true, &silent).unwrap();
        assert_eq!(places, [0, 2, 4, 5]);
        assert_eq!(items.ids(), ["a/0.png", "b/2.png", "b/3.png", "b/4.png"]);
        assert_eq!(items.labels.unwrap().by_class(), [vec![0], vec![1, 2, 3]]);
        let skipped = red(&images, &encoder, cache.path(), true).unwrap().skipped;
        let places: Vec<usize> = skipped.iter().map(|s| s.item).collect();
        assert_eq!(places, [1, 3]);
        assert!(skipped[1].reason.contains("3.jpg: not an image"));
        assert_eq!(seen.get(), 4);
        for name in ["a/0.png", "b/2.png", "b/3.png", "b/4.png"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let e = red(&images, &encoder, cache.path(), true).unwrap_err();
        assert!(e.to_string().contains("none of the images"), "{e}");
    }

    #[test]
    fn what_was_made_before_an_error_is_kept() {
        let folder = scene();
        std::fs::write(folder.path().join("b/4.png"), "").unwrap();
        let images = ImageFolder::open(folder.path(), None).unwrap();
        let cache = tempfile::tempdir().unwrap();
        let (encoder, seen) = counting();
        assert!(red(&images, &encoder, cache.path(), false).is_err());
        assert_eq!(seen.get(), 4);
        red(&images, &encoder, cache.path(), true).unwrap();
        assert_eq!(seen.get(), 4);
    }

    #[test]
    fn an_encoder_that_breaks_its_promise_is_named() {
        let folder = scene();
        let images = ImageFolder::open(folder.path(), None).unwrap();
        let (mut encoder, _) = counting();
        let run = |e: &Encoder| features(&images, e, None, false, &Monitor::silent());
        encoder.dimensions = 2;
        let e = run(&encoder).unwrap_err().to_string();
        assert!(e.contains("encoder red gave"), "{e}");
        encoder.dimensions = 1;
        encoder.encode = Box::new(|images| Ok(Array2::from_elem((images.dim().0, 1), f32::NAN)));
        assert_eq!(run(&encoder).unwrap_err().kind(), ErrorKind::Value);
    }

    #[test]
    fn pixels_are_thumbnails() {
        let folder = scene();
        let images = ImageFolder::open(folder.path(), None).unwrap();
        let encoder = Encoder::pixels(32);
        let made = features(&images, &encoder, None, false, &Monitor::silent()).unwrap();
        assert_eq!(made.matrix.dim(), (5, 3072));
        let row = made.matrix.row(4);
        assert!(row.iter().take(1024).all(|v| (v - 40.0).abs() < 1e-6));
        assert!(row.iter().skip(1024).all(|v| *v == 0.0));
    }
}
