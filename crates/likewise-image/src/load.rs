//! Many images on all cores: read, decoded and transformed ahead of who uses them.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};

use likewise::Monitor;
use ndarray::{Array3, Array4, Axis};
use rayon::prelude::*;

use crate::transform::Augment;
use crate::{Error, ErrorKind, ImageFolder, Preprocess, Result, decode};

/// An image that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its place in the folder's list.
    pub item: usize,
    /// What is wrong, led by its path.
    pub reason: String,
}

/// A few images as numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// Their places in the folder's list, in the order asked for.
    pub items: Vec<usize>,
    /// Images x channels x height x width.
    pub pixels: Array4<f32>,
    /// Those of the batch that could not be read.
    pub skipped: Vec<Skipped>,
}

/// How images are loaded.
///
/// Use it wherever more than a few images are needed; for one, [`decode::read`] and
/// [`Preprocess::apply`] do. Memory: at most `prefetch` + 2 batches of numbers, and one decoded
/// image a thread, of all threads together what [`limit_memory`](crate::limit_memory) says.
#[derive(Debug, Clone, PartialEq)]
pub struct Loader {
    /// What becomes of an image.
    pub preprocess: Preprocess,
    /// Random changes instead of the preprocessing's resizing, for training.
    pub augment: Option<Augment>,
    /// Seed of the changes.
    pub seed: u64,
    /// Epoch of the changes.
    pub epoch: u64,
    /// Images a batch.
    pub batch: usize,
    /// Batches that are made ahead.
    pub prefetch: usize,
    /// Leave out what cannot be read instead of failing.
    pub skip_bad: bool,
    /// Most pixels of an image.
    pub max_pixels: u64,
}

impl Default for Loader {
    fn default() -> Self {
        Self {
            preprocess: Preprocess::default(),
            augment: None,
            seed: 0,
            epoch: 0,
            batch: 32,
            prefetch: 2,
            skip_bad: false,
            max_pixels: decode::MAX_PIXELS,
        }
    }
}

impl Loader {
    /// Fails with the field, its value and the rule it breaks.
    pub fn validate(&self) -> Result<()> {
        self.preprocess.validate()?;
        if let Some(augment) = &self.augment {
            augment.validate()?;
        }
        if self.batch == 0 {
            return Err(likewise::Error::parameter("batch", 0, "must be at least 1").into());
        }
        Ok(())
    }

    /// Begins to load the images at `items` of the folder's list, in that order.
    ///
    /// The batches do not depend on the number of threads. A thread of its own keeps
    /// `prefetch` of them ready and ends when the iterator is dropped. After an error the
    /// iterator is over: the first image (in order) that cannot be read, unless `skip_bad`
    /// is set, or `monitor` was cancelled. Reports a stage of one step an image.
    ///
    /// ```
    /// use likewise::Monitor;
    /// use likewise_image::{ImageFolder, Loader, Preprocess, RgbImage};
    /// # let folder = tempfile::tempdir()?;
    /// RgbImage::new(8, 8).save(folder.path().join("a.png"))?;
    /// let images = ImageFolder::open(folder.path(), None)?;
    /// let loader = Loader { preprocess: Preprocess::cifar(), ..Loader::default() };
    /// for batch in loader.load(&images, &[0], &Monitor::silent())? {
    ///     assert_eq!(batch?.pixels.dim(), (1, 3, 32, 32));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load(
        &self,
        folder: &ImageFolder,
        items: &[usize],
        monitor: &Monitor,
    ) -> Result<Batches> {
        self.validate()?;
        let items: Vec<(usize, PathBuf)> = items.iter().map(|&i| (i, folder.path(i))).collect();
        monitor.start("decode images", items.len() as u64);
        let (sender, receiver) = sync_channel(self.prefetch);
        let (loader, quiet) = (self.clone(), monitor.quiet());
        std::thread::Builder::new()
            .name("image loader".into())
            .spawn(move || {
                for chunk in items.chunks(loader.batch) {
                    let batch = loader.batch(chunk, &quiet);
                    // Whoever got an error, or went away, wants no more.
                    let over = batch.is_err();
                    if sender.send(batch).is_err() || over {
                        return;
                    }
                }
            })?;
        Ok(Batches {
            receiver: Some(receiver),
            monitor: monitor.clone(),
            done: 0,
        })
    }

    fn batch(&self, chunk: &[(usize, PathBuf)], monitor: &Monitor) -> Result<Batch> {
        let images: Vec<Result<Array3<f32>>> = chunk
            .par_iter()
            .map(|(item, path)| {
                monitor.check()?;
                self.one(*item, path)
            })
            .collect();
        let (mut items, mut good, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
        for ((item, _), image) in chunk.iter().zip(images) {
            match image {
                Ok(image) => {
                    items.push(*item);
                    good.push(image);
                }
                Err(e) if self.skip_bad && e.kind() != ErrorKind::Cancelled => {
                    skipped.push(Skipped {
                        item: *item,
                        reason: e.to_string(),
                    });
                }
                Err(e) => return Err(e),
            }
        }
        let (channels, height, width) = self.preprocess.shape();
        let mut pixels = Array4::zeros((good.len(), channels, height, width));
        for (mut out, image) in pixels.axis_iter_mut(Axis(0)).zip(good) {
            out.assign(&image);
        }
        Ok(Batch {
            items,
            pixels,
            skipped,
        })
    }

    fn one(&self, item: usize, path: &std::path::Path) -> Result<Array3<f32>> {
        let (image, _held) = decode::read_held(path, self.max_pixels, 0)?;
        let preprocess = &self.preprocess;
        let square = match &self.augment {
            None => preprocess.square(&image),
            Some(augment) => {
                let mut rng = Augment::rng(self.seed, self.epoch, item);
                augment.apply(&image, preprocess.size, preprocess.filter, &mut rng)
            }
        };
        let square = square.map_err(|e| e.within(path.display()))?;
        let mut out = Array3::zeros(preprocess.shape());
        preprocess.write(&square, out.view_mut());
        Ok(out)
    }
}

/// The batches of a [`Loader`], in order.
#[derive(Debug)]
pub struct Batches {
    receiver: Option<Receiver<Result<Batch>>>,
    monitor: Monitor,
    done: u64,
}

impl Iterator for Batches {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        let received = self.receiver.as_ref()?.recv();
        let Ok(batch) = received else {
            // The loader's thread is through.
            self.receiver = None;
            self.monitor.end();
            return None;
        };
        let batch = batch.and_then(|batch| {
            self.done += (batch.items.len() + batch.skipped.len()) as u64;
            self.monitor.step(self.done)?;
            Ok(batch)
        });
        if batch.is_err() {
            self.receiver = None;
        }
        Some(batch)
    }
}

/// The first bad images, and how many more there are.
pub(crate) fn listed(skipped: &[Skipped]) -> String {
    const MOST: usize = 20;
    let mut each: Vec<String> = (skipped.iter().take(MOST))
        .map(|one| one.reason.clone())
        .collect();
    if let more @ 1.. = skipped.len().saturating_sub(MOST) {
        each.push(format!("and {more} more"));
    }
    let each = each.join("; ");
    match skipped.len() {
        1 => format!("an image cannot be read and is left out: {each}"),
        n => format!("{n} images cannot be read and are left out: {each}"),
    }
}

/// An error said of the data that were asked for.
pub(crate) fn value(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Value, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RgbImage;
    use rand::RngExt;

    fn scene(n: usize) -> (tempfile::TempDir, ImageFolder) {
        let folder = tempfile::tempdir().unwrap();
        let mut rng = likewise::seed::stream(0, "scene");
        for i in 0..n {
            let image = RgbImage::from_fn(20 + i as u32, 30, |_, _| image::Rgb(rng.random()));
            image
                .save(folder.path().join(format!("{i:02}.png")))
                .unwrap();
        }
        let images = ImageFolder::open(folder.path(), None).unwrap();
        (folder, images)
    }

    fn loader() -> Loader {
        Loader {
            preprocess: Preprocess::cifar(),
            augment: Some(Augment::default()),
            batch: 3,
            prefetch: 1,
            ..Loader::default()
        }
    }

    #[test]
    fn the_order_is_kept_and_epochs_differ() {
        let (_folder, images) = scene(8);
        let items = [5, 0, 7, 3, 1, 2, 6, 4];
        let load = |loader: &Loader| -> Vec<Batch> {
            let batches = loader.load(&images, &items, &Monitor::silent()).unwrap();
            batches.map(|batch| batch.unwrap()).collect()
        };
        let batches = load(&loader());
        let sizes: Vec<usize> = batches.iter().map(|b| b.items.len()).collect();
        assert_eq!(sizes, [3, 3, 2]);
        for (batch, expected) in batches.iter().zip(items.chunks(3)) {
            assert_eq!(batch.items, expected);
        }
        assert_eq!(load(&loader()), batches);
        let next = load(&Loader {
            epoch: 1,
            ..loader()
        });
        assert_ne!(next, batches);
        // Another batch size changes no image.
        let whole = load(&Loader {
            batch: 8,
            ..loader()
        });
        let last = batches[2].pixels.index_axis(Axis(0), 1);
        assert_eq!(whole[0].pixels.index_axis(Axis(0), 7), last);
    }

    #[test]
    fn pixels_do_not_depend_on_the_threads() {
        let (_folder, images) = scene(7);
        let chunk: Vec<(usize, PathBuf)> = (0..7).map(|i| (i, images.path(i))).collect();
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let load = || loader().batch(&chunk, &Monitor::silent());
            pool.unwrap().install(load).unwrap()
        };
        assert_eq!(with(1), with(3));
    }

    #[test]
    fn bad_images_end_it_or_are_listed() {
        let (folder, images) = scene(7);
        std::fs::write(folder.path().join("04.png"), "no").unwrap();
        let items: Vec<usize> = (0..7).collect();
        let mut loader = loader();
        let batches = loader.load(&images, &items, &Monitor::silent()).unwrap();
        let results: Vec<Result<Batch>> = batches.collect();
        assert_eq!(results.len(), 2);
        let e = results[1].as_ref().unwrap_err().to_string();
        assert!(e.contains("04.png: not an image"), "{e}");
        loader.skip_bad = true;
        let batches = loader.load(&images, &items, &Monitor::silent()).unwrap();
        let batches: Vec<Batch> = batches.map(|batch| batch.unwrap()).collect();
        assert_eq!(batches[1].items, [3, 5]);
        assert_eq!(batches[1].pixels.dim(), (2, 3, 32, 32));
        assert_eq!(batches[1].skipped[0].item, 4);
        let many = vec![batches[1].skipped[0].clone(); 23];
        assert!(listed(&many).ends_with("and 3 more"));
    }

    #[test]
    fn it_stops_when_it_is_cancelled_or_dropped() {
        let (_folder, images) = scene(7);
        let items: Vec<usize> = (0..7).collect();
        let monitor = Monitor::silent();
        let mut batches = loader().load(&images, &items, &monitor).unwrap();
        assert!(batches.next().unwrap().is_ok());
        monitor.cancel();
        let e = batches.next().unwrap().unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Cancelled);
        assert!(batches.next().is_none());
        drop(loader().load(&images, &items, &Monitor::silent()).unwrap());
        let mut wrong = loader();
        wrong.batch = 0;
        assert!(wrong.load(&images, &items, &monitor).is_err());
    }
}
