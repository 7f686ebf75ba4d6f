//! What descriptors make of the images of a folder.

use std::collections::BTreeMap;
use std::path::Path;

use image::RgbImage;
use likewise::{Monitor, View};
use likewise_io::memory;
use ndarray::{Array2, ArrayView1, Axis};
use rayon::prelude::*;

use crate::cache::{Cache, Content};
use crate::decode::{self, MAX_PIXELS};
use crate::descriptor::{Descriptor, Kind, Whole};
use crate::features::contents_of;
use crate::load::{listed, value};
use crate::words::{Vocabulary, Words};
use crate::{Error, ErrorKind, ImageFolder, Result, Skipped};

/// Images between two looks at the monitor.
const CHUNK: usize = 32;

/// What makes one row of an image.
#[derive(Debug, Clone, PartialEq)]
pub enum Describer {
    /// A descriptor of the whole image.
    Whole(Descriptor),
    /// Words of points in it.
    Words(Vocabulary),
}

impl Describer {
    /// The name of its descriptor, and of the view it gives.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Whole(descriptor) => descriptor.name(),
            Self::Words(words) => words.descriptor().name(),
        }
    }

    /// Numbers of a row.
    pub fn dimensions(&self) -> usize {
        match self {
            Self::Whole(descriptor) => match descriptor.kind() {
                Kind::Whole(whole) => whole.dimensions(),
                Kind::Local(_) => 0,
            },
            Self::Words(words) => words.words().nrows(),
        }
    }

    /// What tells its rows from those of others.
    fn key(&self) -> Result<String> {
        Ok(match self {
            Self::Whole(descriptor) => serde_json::to_string(descriptor)
                .map_err(|e| value(format!("{}: {e}", self.name())))?,
            Self::Words(words) => format!("words {}", words.digest()),
        })
    }

    /// Fails for a descriptor of points, which needs words.
    fn ready(&self) -> Result<Ready<'_>> {
        match self {
            Self::Words(words) => Ok(Ready::Words(words)),
            Self::Whole(descriptor) => {
                descriptor.validate()?;
                match descriptor.kind() {
                    Kind::Whole(whole) => Ok(match whole.prepared() {
                        Some(prepared) => Ready::Prepared(prepared),
                        None => Ready::Whole(whole),
                    }),
                    Kind::Local(_) => Err(value(format!(
                        "{} describes points; learn words of them first",
                        self.name()
                    ))),
                }
            }
        }
    }
}

/// A describer with its tables.
enum Ready<'a> {
    Whole(&'a dyn Whole),
    Prepared(Box<dyn Whole>),
    Words(&'a Vocabulary),
}

impl Ready<'_> {
    fn row(&self, image: &RgbImage) -> Vec<f32> {
        match self {
            Self::Whole(whole) => whole.describe(image),
            Self::Prepared(whole) => whole.describe(image),
            Self::Words(words) => words.describe(image),
        }
    }
}

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

/// The descriptors, ready to [`describe`]: those of points with words that are learned from the
/// images at `training`, places in the folder's list, and from no others.
///
/// Every training image is decoded once for all descriptors of points. Fails on parameters out
/// of their range, on a place that is not in the folder, at the first image that cannot be
/// read (with `skip_bad` such are left out, with a warning), where no training image has a point,
/// and if `monitor` is cancelled. Memory: the sampled points, 100,000 of each descriptor.
pub fn describers(
    folder: &ImageFolder,
    descriptors: &[Descriptor],
    words: &Words,
    training: &[usize],
    skip_bad: bool,
    monitor: &Monitor,
) -> Result<Vec<Describer>> {
    words.validate()?;
    if let Some(&wrong) = training.iter().find(|&&item| item >= folder.len()) {
        let rule = format!("must be below the number of images, {}", folder.len());
        return Err(likewise::Error::parameter("training", wrong, &rule).into());
    }
    let mut local = Vec::new();
    for descriptor in descriptors {
        descriptor.validate()?;
        if let Kind::Local(found) = descriptor.kind() {
            local.push(found);
        }
    }
    let mut samples: Vec<Vec<Array2<f32>>> = vec![Vec::new(); local.len()];
    if !local.is_empty() {
        let images = words.images_of(training);
        let find = |item: usize, image: &RgbImage| -> Vec<Array2<f32>> {
            let rows = local.iter().map(|local| local.find(image).rows);
            rows.map(|rows| words.points_of(rows, images.len(), &folder.ids()[item]))
                .collect()
        };
        let skipped = each(
            folder,
            &images,
            skip_bad,
            monitor,
            "find points",
            find,
            |_, found| {
                for (sample, rows) in samples.iter_mut().zip(found) {
                    sample.push(rows);
                }
            },
        )?;
        if !skipped.is_empty() {
            monitor.warn(listed(&skipped));
        }
    }
    let mut samples = samples.into_iter();
    let ready = descriptors.iter().map(|descriptor| {
        let Kind::Local(local) = descriptor.kind() else {
            return Ok(Describer::Whole(descriptor.clone()));
        };
        let sample = samples.next().unwrap_or_default();
        let n = sample.iter().map(Array2::nrows).sum();
        let mut points = Array2::zeros((n, local.dimensions()));
        let mut first = 0;
        for rows in sample {
            let to = ndarray::s![first..first + rows.nrows(), ..];
            points.slice_mut(to).assign(&rows);
            first += rows.nrows();
        }
        let learned = words.learn(descriptor, points.view(), monitor)?;
        Ok(Describer::Words(learned))
    });
    ready.collect()
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
/// cancelled. Cost: see the descriptors; memory all rows twice, and for each thread some 60 bytes a
/// pixel of the image that it works on.
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
        &missing,
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

/// Decodes the images at `items` and works on them in parallel; `take` gets what comes out in
/// their order, also of those before an error.
fn each<T: Send>(
    folder: &ImageFolder,
    items: &[usize],
    skip_bad: bool,
    monitor: &Monitor,
    stage: &str,
    work: impl Fn(usize, &RgbImage) -> T + Sync,
    mut take: impl FnMut(usize, T),
) -> Result<Vec<Skipped>> {
    let mut skipped = Vec::new();
    if items.is_empty() {
        return Ok(skipped);
    }
    monitor.start(stage, items.len() as u64);
    let quiet = monitor.quiet();
    let mut done = 0;
    for chunk in items.chunks(CHUNK) {
        let made: Vec<Result<T>> = chunk
            .par_iter()
            .map(|&item| {
                quiet.check()?;
                let (image, _held) = decode::read_held(&folder.path(item), MAX_PIXELS)?;
                Ok(work(item, &image))
            })
            .collect();
        for (&item, made) in chunk.iter().zip(made) {
            match made {
                Ok(made) => take(item, made),
                Err(e) if skip_bad && e.kind() != ErrorKind::Cancelled => skipped.push(Skipped {
                    item,
                    reason: e.to_string(),
                }),
                Err(e) => return Err(e),
            }
        }
        done += chunk.len() as u64;
        monitor.step(done)?;
    }
    monitor.end();
    Ok(skipped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::{DenseSift, Gist, Hist, Surf};
    use likewise::Event;
    use rand::RngExt;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Arc, Mutex};

    /// Seven images of rough noise.
    fn scene() -> (tempfile::TempDir, ImageFolder) {
        let folder = tempfile::tempdir().unwrap();
        let mut rng = likewise::seed::stream(0, "scene");
        for i in 0..7 {
            let blocks: Vec<u8> = (0..400).map(|_| rng.random()).collect();
            let image = RgbImage::from_fn(60 + i, 50, |x, y| {
                image::Rgb([blocks[(y / 4 * 20 + x / 4) as usize % 400]; 3])
            });
            image.save(folder.path().join(format!("{i}.png"))).unwrap();
        }
        let images = ImageFolder::open(folder.path(), None).unwrap();
        (folder, images)
    }

    fn descriptors() -> Vec<Descriptor> {
        vec![
            Descriptor::Hist(Hist::default()),
            Descriptor::DenseSift(DenseSift::default()),
            Descriptor::Gist(Gist::default().size(32)),
            Descriptor::Surf(Surf::default()),
        ]
    }

    fn words() -> Words {
        Words::default().size(6).points(20)
    }

    fn made(images: &ImageFolder, training: &[usize]) -> Result<Vec<Describer>> {
        let silent = Monitor::silent();
        describers(images, &descriptors(), &words(), training, false, &silent)
    }

    #[test]
    fn one_matrix_a_descriptor_on_any_number_of_threads() {
        let (_folder, images) = scene();
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| {
                let describers = made(&images, &[0, 2, 4]).unwrap();
                describe(&images, &describers, None, false, &Monitor::silent()).unwrap()
            })
        };
        let found = run(1);
        assert_eq!(run(2), found);
        assert_eq!(found.items, [0, 1, 2, 3, 4, 5, 6]);
        let shapes: Vec<(&str, (usize, usize))> = (found.views.iter())
            .map(|view| (view.name.as_str(), view.matrix.dim()))
            .collect();
        let expected = [("hist", 768), ("dsift", 6), ("gist", 512), ("surf", 6)];
        assert_eq!(shapes, expected.map(|(name, d)| (name, (7, d))));
        // Rows are those of each image by itself, and words sum to 1.
        let third = crate::decode::read(images.path(3), MAX_PIXELS).unwrap();
        let alone = Gist::default().size(32).describe(&third);
        assert_eq!(found.views[2].matrix.row(3).to_vec(), alone);
        for sum in found.views[1].matrix.sum_axis(Axis(1)) {
            assert!((sum - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn words_come_from_the_training_images_alone() {
        let (folder, images) = scene();
        let before = made(&images, &[0, 2, 4]).unwrap();
        for other in ["1.png", "3.png"] {
            let image = RgbImage::from_fn(60, 50, |x, y| image::Rgb([(x * x + y * 7) as u8; 3]));
            image.save(folder.path().join(other)).unwrap();
        }
        assert_eq!(made(&images, &[4, 2, 0, 2]).unwrap(), before);
        assert_ne!(made(&images, &[0, 1, 2, 4]).unwrap(), before);
        let said = made(&images, &[7]).unwrap_err().to_string();
        assert!(said.contains("training = 7"), "{said}");
        let said = made(&images, &[]).unwrap_err().to_string();
        assert!(said.contains("too small or too flat"), "{said}");
    }

    #[test]
    fn only_what_is_new_is_made() {
        let (folder, images) = scene();
        let kept = tempfile::tempdir().unwrap();
        let ready = made(&images, &[0, 1]).unwrap();
        let decoded = Arc::new(AtomicU64::new(0));
        let seen = decoded.clone();
        let monitor = Monitor::new(move |event| {
            if let Event::Start { total, .. } = event {
                seen.fetch_add(total.unwrap_or(0), Ordering::Relaxed);
            }
        });
        let run = |describers: &[Describer], images: &ImageFolder| {
            describe(images, describers, Some(kept.path()), false, &monitor).unwrap()
        };
        let first = run(&ready, &images);
        assert_eq!(decoded.swap(0, Ordering::Relaxed), 7);
        assert_eq!(run(&ready, &images), first);
        assert_eq!(decoded.swap(0, Ordering::Relaxed), 0);
        // Another name is the same image; another content is a new one.
        std::fs::rename(folder.path().join("0.png"), folder.path().join("9.png")).unwrap();
        let image = RgbImage::new(40, 40);
        image.save(folder.path().join("3.png")).unwrap();
        let images = ImageFolder::open(folder.path(), None).unwrap();
        let moved = run(&ready, &images);
        assert_eq!(decoded.swap(0, Ordering::Relaxed), 1);
        for (old, new) in first.views.iter().zip(&moved.views) {
            assert_eq!(old.matrix.row(0), new.matrix.row(6));
        }
        // Other words share nothing with these, and all else stays.
        let other = made(&images, &[4, 5]).unwrap();
        let again = run(&other, &images);
        assert_eq!(decoded.swap(0, Ordering::Relaxed), 7);
        assert_eq!(again.views[0], moved.views[0]);
        assert_ne!(again.views[1], moved.views[1]);
    }

    #[test]
    fn bad_images_end_it_or_are_left_out() {
        let (folder, images) = scene();
        std::fs::write(folder.path().join("4.png"), "no").unwrap();
        let silent = Monitor::silent();
        let hist = [Describer::Whole(Descriptor::Hist(Hist::default()))];
        let failed = describe(&images, &hist, None, false, &silent).unwrap_err();
        assert!(failed.to_string().contains("4.png: not an image"));
        let warned = Arc::new(Mutex::new(Vec::new()));
        let heard = warned.clone();
        let monitor = Monitor::new(move |event| {
            if let Event::Warning(text) = event {
                heard.lock().unwrap().push(text.clone());
            }
        });
        let found = describe(&images, &hist, None, true, &monitor).unwrap();
        assert_eq!(found.items, [0, 1, 2, 3, 5, 6]);
        assert_eq!(found.views[0].matrix.nrows(), 6);
        assert_eq!(found.skipped[0].item, 4);
        let words = words();
        describers(&images, &descriptors(), &words, &[3, 4], true, &monitor).unwrap();
        assert_eq!(warned.lock().unwrap().len(), 2);
        assert!(describers(&images, &descriptors(), &words, &[3, 4], false, &monitor).is_err());
    }

    #[test]
    fn what_cannot_be_is_told_and_cancelling_stops() {
        let (_folder, images) = scene();
        let silent = Monitor::silent();
        let said = |describers: &[Describer]| {
            let failed = describe(&images, describers, None, false, &silent);
            failed.unwrap_err().to_string()
        };
        assert!(said(&[]).contains("descriptors = none"));
        let hist = Describer::Whole(Descriptor::Hist(Hist::default()));
        assert!(said(&[hist.clone(), hist.clone()]).contains("descriptors = hist"));
        let surf = Describer::Whole(Descriptor::Surf(Surf::default()));
        assert!(said(&[surf]).contains("learn words"));
        let wrong = Describer::Whole(Descriptor::Gist(Gist::default().size(3)));
        assert!(said(&[wrong]).contains("gist.size = 3"));
        assert!(check_memory(usize::MAX / 8, 1000).is_err());
        let monitor = Monitor::silent();
        monitor.cancel();
        let failed = describe(&images, &[hist], None, true, &monitor).unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::Cancelled);
    }
}
