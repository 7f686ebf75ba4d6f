//! The images of a folder as rows of pixels, for a network that is trained on them.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use image::RgbImage;
use likewise::seed;
use ndarray::{Array2, ArrayViewMut3, Axis};
use rayon::prelude::*;

use crate::preprocess::Resize;
use crate::transform::{Augment, Window, resize, resize_shorter};
use crate::{ImageFolder, Preprocess, Result, decode};

/// Images of a folder, decoded when they are asked for: rows of `channels x size x size`
/// pixels of 0 to 255.
///
/// A decoded image is shrunk to what the network needs and kept, as long as there is room:
/// an epoch after the first decodes nothing. What comes out does not depend on the room.
///
/// **When not to use it.** With a frozen network: [`features`](crate::features) encodes every
/// image once.
#[derive(Debug)]
pub struct Pixels {
    paths: Vec<PathBuf>,
    preprocess: Preprocess,
    augment: Augment,
    kept: Vec<OnceLock<RgbImage>>,
    /// Bytes that are left.
    room: AtomicU64,
}

impl Pixels {
    /// The images at `items` of the folder, which become items 0, 1, ... here. Of `preprocess`
    /// the size, the way of resizing and the channels count; `room` is in bytes.
    ///
    /// Fails on parameters out of their range.
    pub fn new(
        folder: &ImageFolder,
        items: &[usize],
        preprocess: &Preprocess,
        augment: Augment,
        room: u64,
    ) -> Result<Self> {
        let preprocess = Preprocess {
            scale: 1.0,
            mean: vec![0.0],
            std: vec![1.0],
            ..preprocess.clone()
        };
        preprocess.validate()?;
        augment.validate()?;
        Ok(Self {
            paths: items.iter().map(|&item| folder.path(item)).collect(),
            preprocess,
            augment,
            kept: items.iter().map(|_| OnceLock::new()).collect(),
            room: AtomicU64::new(room),
        })
    }

    /// Columns of a row.
    pub fn columns(&self) -> usize {
        let (channels, height, width) = self.preprocess.shape();
        channels * height * width
    }

    /// The images as they are tested: cut out of the middle.
    ///
    /// Fails with the name of the file that cannot be read.
    pub fn rows(&self, items: &[usize]) -> Result<Array2<f32>> {
        self.each(items, |_, image| self.preprocess.square(image))
    }

    /// Random views of the images; that of `items[i]` depends on it and on `seeds[i]` alone.
    ///
    /// Fails with the name of the file that cannot be read.
    pub fn views(&self, items: &[usize], seeds: &[u64]) -> Result<Array2<f32>> {
        let Preprocess { size, filter, .. } = self.preprocess;
        self.each(items, |place, image| {
            let mut rng = seed::stream(seeds[place], "view");
            self.augment.apply(image, size, filter, &mut rng)
        })
    }

    /// One row an item, made in parallel.
    fn each(
        &self,
        items: &[usize],
        square: impl Fn(usize, &RgbImage) -> Result<RgbImage> + Sync,
    ) -> Result<Array2<f32>> {
        let shape = self.preprocess.shape();
        let mut rows = Array2::zeros((items.len(), self.columns()));
        let rows_of = rows.axis_iter_mut(Axis(0)).into_par_iter();
        rows_of
            .zip(items)
            .enumerate()
            .try_for_each(|(place, (row, &item))| {
                let path = &self.paths[item];
                let write = |image: &RgbImage| {
                    let row = row.into_slice().expect("rows are contiguous");
                    let out = ArrayViewMut3::from_shape(shape, row);
                    let out = out.expect("a row holds an image");
                    let seen = square(place, image).map_err(|e| e.within(path.display()))?;
                    self.preprocess.write(&seen, out);
                    Ok(())
                };
                self.with(item, write)
            })?;
        Ok(rows)
    }

    /// Calls `work` with the image, as large as is needed.
    fn with(&self, item: usize, work: impl FnOnce(&RgbImage) -> Result<()>) -> Result<()> {
        if let Some(image) = self.kept[item].get() {
            return work(image);
        }
        // Held until the image is dropped or kept; what is kept has room of its own.
        let (image, _held) = decode::read_held(&self.paths[item], decode::MAX_PIXELS, 0)?;
        let image = self.shrunk(image)?;
        work(&image)?;
        let size = image.as_raw().len() as u64;
        let take = |room: u64| room.checked_sub(size);
        let (set, get) = (Ordering::Relaxed, Ordering::Relaxed);
        if self.room.try_update(set, get, take).is_ok() && self.kept[item].set(image).is_err() {
            // Another thread was faster.
            self.room.fetch_add(size, Ordering::Relaxed);
        }
        Ok(())
    }

    fn shrunk(&self, image: RgbImage) -> Result<RgbImage> {
        let Preprocess { size, filter, .. } = self.preprocess;
        let (width, height) = image.dimensions();
        match self.preprocess.resize {
            Resize::Shorter(side) if width.min(height) > side => {
                resize_shorter(&image, side, filter)
            }
            Resize::Exact if width.min(height) > 2 * size => {
                resize(&image, Window::whole(&image), 2 * size, 2 * size, filter)
            }
            _ => Ok(image),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transform::Filter;

    fn scene(sizes: &[(u32, u32)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (number, &(width, height)) in sizes.iter().enumerate() {
            let image = RgbImage::from_fn(width, height, |x, y| {
                [(x * 7 % 256) as u8, (y * 5 % 256) as u8, number as u8 * 40].into()
            });
            let name = format!("{number}.png");
            image.save(folder.path().join(name)).unwrap();
        }
        folder
    }

    fn pixels(folder: &tempfile::TempDir, room: u64) -> Pixels {
        let folder = ImageFolder::open(folder.path(), None).unwrap();
        let preprocess = Preprocess {
            size: 24,
            resize: Resize::Shorter(28),
            filter: Filter::Bilinear,
            ..Preprocess::lite0()
        };
        let items: Vec<usize> = (0..folder.len()).collect();
        Pixels::new(&folder, &items, &preprocess, Augment::default(), room).unwrap()
    }

    #[test]
    fn rows_are_what_a_frozen_network_sees_and_room_changes_nothing() {
        let folder = scene(&[(90, 60), (30, 30), (28, 200), (20, 10)]);
        let (wide, narrow) = (pixels(&folder, 1 << 30), pixels(&folder, 3000));
        let items = [3, 0, 0, 2, 1];
        let first = wide.rows(&items).unwrap();
        assert_eq!(first.dim(), (5, 3 * 24 * 24));
        assert_eq!(first.row(1), first.row(2));
        let opened = ImageFolder::open(folder.path(), None).unwrap();
        for (row, &item) in first.rows().into_iter().zip(&items) {
            let image = image::open(opened.path(item)).unwrap().into_rgb8();
            let seen = wide.preprocess.apply(&image).unwrap();
            assert_eq!(row.as_slice().unwrap(), seen.as_slice().unwrap());
        }
        for again in [&wide, &narrow, &narrow] {
            assert_eq!(again.rows(&items).unwrap(), first);
        }
        assert!(wide.kept.iter().all(|kept| kept.get().is_some()));
        assert!(narrow.kept.iter().any(|kept| kept.get().is_none()));
    }

    #[test]
    fn views_depend_on_item_and_seed_alone() {
        let folder = scene(&[(90, 60), (30, 30)]);
        let pixels = pixels(&folder, 0);
        let views = pixels.views(&[0, 1, 0], &[1, 1, 2]).unwrap();
        let again = pixels.views(&[0, 0], &[2, 1]).unwrap();
        assert_eq!(views.row(0), again.row(1));
        assert_eq!(views.row(2), again.row(0));
        assert!(views.row(0) != views.row(2) && views.iter().all(|v| (0.0..=255.0).contains(v)));
    }

    #[test]
    fn a_file_that_is_gone_is_named() {
        let folder = scene(&[(30, 30)]);
        let pixels = pixels(&folder, 0);
        std::fs::remove_file(folder.path().join("0.png")).unwrap();
        let said = pixels.rows(&[0]).unwrap_err().to_string();
        assert!(said.contains("0.png"), "{said}");
    }
}
