//! What descriptors make of the images of a folder.

mod describer;
mod each;
mod learn;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use image::RgbImage;
use likewise::{Monitor, View};
use likewise_io::memory;
use ndarray::{Array2, ArrayView1, Axis};

use self::describer::Ready;
use self::each::each;
use crate::cache::{Cache, Content};
use crate::features::contents_of;
use crate::load::{listed, value};
use crate::{Error, ErrorKind, ImageFolder, Result, Skipped};

pub use self::describer::Describer;
pub use self::learn::describers;

/// What descriptors made of images.
#[derive(Debug, Clone, PartialEq)]
pub struct Described {
    /// The images: places in the folder's list, rising.
    pub items: Vec<usize>,
    /// One matrix a describer, by its name, with a row an image.
    pub views: Vec<View>,
    /// Images that could not be read.
    pub skipped: Vec<Skipped>,
}

/// What the describers make of all images of the folder.
///
/// Every image is decoded once for all of them, many in parallel. With a cache folder, rows of images
/// whose content was described the same way before are not made again; new ones
/// are added at the end, and also when the work is interrupted or fails. A cache that cannot be
/// read or written is worth a warning, not an error.
///
/// Fails at the first image (in order) that cannot be read, or leaves such images out with
/// `skip_bad`; fails if none is left, for a descriptor of points without words, for two
/// describers of one name, where the rows need more memory than there is, and if `monitor` is
/// cancelled. Cost: see the descriptors; memory all rows twice, and for each thread up to 30 bytes a
/// pixel of the image that it works on, which counts as [decoding](crate::limit_memory) does.
///
/// ```
/// use likewise::Monitor;
/// use likewise_image::descriptor::Descriptor;
/// use likewise_image::{ImageFolder, RgbImage, Words, describe, describers};
/// # let folder = tempfile::tempdir()?;
/// for (name, step) in [("a.png", 3), ("b.png", 5), ("c.png", 11)] {
///     let image = RgbImage::from_fn(64, 48, |x, y| image::Rgb([(x * step + y * x) as u8; 3]));
///     image.save(folder.path().join(name))?;
/// }
/// let images = ImageFolder::open(folder.path(), None)?;
/// let names = ["hist", "dsift"].map(|name| Descriptor::named(name).unwrap());
/// // Words are learned from the first two images only.
/// let words = Words::default().size(10).seed(1);
/// let monitor = Monitor::silent();
/// let describers = describers(&images, &names, &words, &[0, 1], false, &monitor)?;
/// let found = describe(&images, &describers, None, false, &monitor)?;
/// assert_eq!(found.views[0].matrix.dim(), (3, 768));
/// assert_eq!((found.views[1].name.as_str(), found.views[1].matrix.dim()), ("dsift", (3, 10)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn describe(
    folder: &ImageFolder,
    describers: &[Describer],
    cache: Option<&Path>,
    skip_bad: bool,
    monitor: &Monitor,
) -> Result<Described> {
    let n = folder.len();
    let ready: Vec<Ready> = describers
        .iter()
        .map(Describer::ready)
        .collect::<Result<_>>()?;
    for (place, describer) in describers.iter().enumerate() {
        if describers[..place]
            .iter()
            .any(|d| d.name() == describer.name())
        {
            let rule = "names each descriptor once";
            let name = describer.name();
            return Err(likewise::Error::parameter("descriptors", name, rule).into());
        }
    }
    if describers.is_empty() {
        let rule = "must name a descriptor at least";
        return Err(likewise::Error::parameter("descriptors", "none", rule).into());
    }
    check_memory(n, describers.iter().map(Describer::dimensions).sum())?;

    let mut contents = BTreeMap::new();
    let caches = caches(describers, cache, monitor);
    if caches.iter().any(Option::is_some) {
        contents = contents_of(folder, monitor)?;
    }
    let mut rows: Vec<Vec<Option<Vec<f32>>>> = vec![vec![None; n]; describers.len()];
    let mut known: Vec<Vec<bool>> = vec![vec![false; n]; describers.len()];
    for (place, cache) in caches.iter().enumerate() {
        let Some(cache) = cache else { continue };
        let mut kept = cache.load().unwrap_or_else(|e| {
            monitor.warn(e.to_string());
            BTreeMap::new()
        });
        for (&item, content) in &contents {
            rows[place][item] = kept.get(content).cloned();
            known[place][item] = rows[place][item].is_some();
        }
        kept.clear();
    }
    let missing: Vec<usize> = (0..n)
        .filter(|&item| known.iter().any(|known| !known[item]))
        .collect();
    if !contents.is_empty() {
        let cached = n - missing.len();
        monitor.note(format!("{cached} of {n} images from the cache"));
    }
    let work = |item: usize, image: &RgbImage| -> Vec<Option<Vec<f32>>> {
        let wanted = ready.iter().zip(&known);
        wanted
            .map(|(ready, known)| (!known[item]).then(|| ready.row(image)))
            .collect()
    };
    let made = each(
        folder,
        (&missing, held_per_pixel(describers)),
        skip_bad,
        monitor,
        "describe images",
        work,
        |item, made| {
            for (rows, row) in rows.iter_mut().zip(made) {
                if row.is_some() {
                    rows[item] = row;
                }
            }
        },
    );
    for ((cache, rows), known) in caches.iter().zip(&rows).zip(&known) {
        let new = missing
            .iter()
            .filter(|&&item| !known[item])
            .filter_map(|&item| Some((*contents.get(&item)?, rows[item].clone()?)));
        let new: BTreeMap<Content, Vec<f32>> = new.collect();
        if let Some(cache) = cache
            && !new.is_empty()
            && let Err(e) = cache.add(new)
        {
            monitor.warn(format!("{e}; the features are not kept"));
        }
    }
    let skipped = made?;
    if !skipped.is_empty() {
        monitor.warn(listed(&skipped));
    }
    let items: Vec<usize> = (0..n)
        .filter(|&item| rows.iter().all(|rows| rows[item].is_some()))
        .collect();
    if items.is_empty() {
        return Err(value("none of the images can be read"));
    }
    let views = describers.iter().zip(rows).map(|(describer, rows)| View {
        name: describer.name().into(),
        matrix: matrix(&items, rows, describer.dimensions()),
        present: None,
    });
    Ok(Described {
        views: views.collect(),
        items,
        skipped,
    })
}

/// Bytes that they hold for each pixel of an image: one works after the other.
fn held_per_pixel(describers: &[Describer]) -> u64 {
    let each = describers.iter().map(Describer::held_per_pixel);
    each.max().unwrap_or(0)
}

/// Fails where so many rows, and the matrix of them, do not fit.
fn check_memory(n: usize, dimensions: usize) -> Result<()> {
    let need = (n as u64).saturating_mul(8 * dimensions as u64);
    if need <= memory::available() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Memory,
        format!(
            "{dimensions} numbers of {n} images need {} of memory, but there are {}; take fewer \
             images or descriptors",
            memory::text(need),
            memory::text(memory::available())
        ),
    ))
}

/// The cache of each describer, where there can be one.
fn caches(
    describers: &[Describer],
    folder: Option<&Path>,
    monitor: &Monitor,
) -> Vec<Option<Cache>> {
    let open = |describer: &Describer| {
        let key = format!("descriptor\n{}", describer.key()?);
        Cache::of(
            folder.unwrap_or(Path::new("")),
            &key,
            describer.dimensions(),
        )
    };
    let each = describers.iter().map(|describer| {
        folder?;
        let opened = open(describer);
        opened
            .inspect_err(|e| monitor.warn(format!("{e}; going on without a cache")))
            .ok()
    });
    each.collect()
}

fn matrix(items: &[usize], rows: Vec<Option<Vec<f32>>>, columns: usize) -> Array2<f32> {
    let mut matrix = Array2::zeros((items.len(), columns));
    for (mut to, &item) in matrix.axis_iter_mut(Axis(0)).zip(items) {
        if let Some(row) = &rows[item] {
            to.assign(&ArrayView1::from(row));
        }
    }
    matrix
}
