//! Images for networks: by a frozen encoder as features, or as they are for one that is trained.

use std::path::{Path, PathBuf};

use likewise::images::Images;
use likewise::seed::Rng;
use likewise_image::transform::Augment;
use likewise_image::{
    Channels, Encoder, ErrorKind, ImageFolder, Loader, Pixels, Preprocess, Resize, decode,
};
use likewise_nn::net::{EncoderConfig, Input, Weights};
use likewise_nn::{Device, net};
use ndarray::Array2;
use rand::RngExt;

use crate::{Error, Result};

/// Side of the thumbnails that stand for images where there is no encoder.
const THUMBNAIL: u32 = 32;

/// Images that a frozen network embeds at a time.
const BATCH: usize = 16;

/// Files whose heads an estimate looks at: the longest.
const LOOKED_AT: usize = 16;

/// How an image becomes what a network reads. Published networks are tested on the middle of
/// an image that is a seventh larger.
fn preprocess(input: &Input) -> Preprocess {
    let size = input.width as u32;
    let expected = &input.preprocess;
    Preprocess {
        size,
        // Small ones see the whole image, too.
        resize: if input.squeeze || size < 64 {
            Resize::Exact
        } else {
            Resize::Shorter(size * 8 / 7)
        },
        channels: match expected.channels {
            net::Channels::Gray => Channels::Gray,
            net::Channels::Rgb => Channels::Rgb,
            net::Channels::Bgr => Channels::Bgr,
        },
        scale: expected.scale,
        mean: expected.mean.clone(),
        std: expected.std.clone(),
        ..Preprocess::default()
    }
}

/// How images become squares, where it is not what the weights were made for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Square {
    pub(super) side: Option<usize>,
    pub(super) squeeze: bool,
}

/// The frozen encoder in a file of weights, and the bytes that it takes for a batch.
fn encoder(path: &Path, shape: Square, device: &Device) -> Result<(Encoder, f64)> {
    // It says itself which file is wrong, which is not that of the images.
    let network = net::Encoder::open(path, device).map_err(Error::placed)?;
    let config = EncoderConfig {
        side: shape.side,
        squeeze: shape.squeeze,
        ..network.config().clone()
    };
    config.validate()?;
    let [height, width] = [config.input().height, config.input().width];
    let held = network.memory_to_embed([height, width], BATCH) as f64;
    let preprocess = preprocess(&config.input());
    preprocess.validate()?;
    let dimensions = config.output_dim();
    // Features of other squares are another view: a model must not meet them unawares.
    let mut name = config.name().to_owned();
    if let Some(side) = shape.side {
        name = format!("{name}-{side}");
    }
    if shape.squeeze {
        name.push_str("-squeezed");
    }
    let encoder = Encoder {
        name,
        digest: likewise_io::digest(path)?,
        preprocess,
        dimensions,
        batch: BATCH,
        encode: Box::new(move |pixels| {
            (network.embed(pixels.view()))
                .map_err(|e| likewise_image::Error::new(ErrorKind::Value, e.to_string()))
        }),
    };
    Ok((encoder, held))
}

/// The encoder in this file, or the pixels of thumbnails; and the bytes that it takes for a
/// batch.
pub(super) fn chosen(
    path: Option<&Path>,
    shape: Square,
    device: &Device,
) -> Result<(Encoder, f64)> {
    match path {
        Some(path) => encoder(path, shape, device),
        None => Ok((Encoder::pixels(THUMBNAIL), 0.0)),
    }
}

/// What to know of photos that are compared by the pixels of their thumbnails, if these images are
/// any: some of the largest are longer than two thumbnails.
pub(super) fn remark_on_pixels(mut files: Vec<(u64, PathBuf)>) -> Option<String> {
    files.sort_unstable_by(|a, b| b.cmp(a));
    let mut sizes = (files.iter().take(LOOKED_AT)).filter_map(|(_, path)| decode::dimensions(path));
    let is_photo = |(width, height): (u64, u64)| width.max(height) > u64::from(2 * THUMBNAIL);
    sizes.any(is_photo).then(|| {
        format!(
            "photos are compared by {THUMBNAIL} x {THUMBNAIL} pixels, which say little of what is \
             on them; `encoder FILE` (a network's weights) or `encoder gist,phog` say far more"
        )
    })
}

/// Bytes that decoding takes on all threads, and work on the images of `beside` bytes a pixel: of the largest of
/// these files, that of the largest image. It is kept below half of the limit, which must have room for one.
pub(super) fn decoding(
    mut files: Vec<(u64, PathBuf)>,
    beside: u64,
    max_memory: Option<u64>,
) -> f64 {
    files.sort_unstable_by(|a, b| b.cmp(a));
    let largest = files.iter().take(LOOKED_AT);
    let held = |path: &PathBuf| match decode::memory(path) {
        // It will be refused.
        0 => 0,
        needed => {
            let (width, height) = decode::dimensions(path).unwrap_or_default();
            needed.saturating_add(beside.saturating_mul(width.saturating_mul(height)))
        }
    };
    let one = largest.map(|(_, path)| held(path)).max();
    let one = one.unwrap_or(0);
    let threads = rayon::current_num_threads().min(files.len()) as u64;
    let most = max_memory.unwrap_or_else(|| likewise_io::memory::allowed(None));
    let room = (most / 2).max(2 * one);
    one.saturating_mul(threads).min(room) as f64
}

/// Bytes of the batches of squares that are made ahead, and of the one that is embedded, which
/// is copied once.
pub(super) fn batches(images: usize, side: u32) -> f64 {
    let batches = Loader::default().prefetch + 4;
    (batches * images) as f64 * 3.0 * 4.0 * f64::from(side).powi(2)
}

/// The images of a folder, for a network that is trained on them.
pub struct Trained {
    pixels: Pixels,
}

impl Trained {
    /// Bytes of decoded images that a training keeps at most.
    pub(crate) const ROOM: u64 = 4 << 30;

    /// The images at `places` of the folder at `path`, as the network of `config` reads them.
    ///
    /// Keeps at most half of `max_memory` of them decoded.
    pub(super) fn new(
        folder: &ImageFolder,
        places: &[usize],
        config: &EncoderConfig,
        max_memory: Option<u64>,
    ) -> Result<Self> {
        let input = config.input();
        let mut preprocess = preprocess(&input);
        // Networks turn the colours themselves.
        if preprocess.channels == Channels::Bgr {
            preprocess.channels = Channels::Rgb;
        }
        let room = max_memory.map_or(Self::ROOM, |most| (most / 2).min(Self::ROOM));
        // What a crop leaves must still show what the image shows.
        let augment = Augment {
            scale: (0.4, 1.0),
            brightness: 0.2,
            contrast: 0.2,
            saturation: 0.2,
            hue: 0.0,
            ..Augment::default()
        };
        let pixels = Pixels::new(folder, places, &preprocess, augment, room)?;
        Ok(Self { pixels })
    }

    /// All images below `path`, as the network of `config` reads them, and their ids.
    pub(crate) fn open(
        path: &Path,
        config: &EncoderConfig,
        max_memory: Option<u64>,
    ) -> Result<(Self, Vec<String>)> {
        let folder = ImageFolder::open(path, None)?;
        let all: Vec<usize> = (0..folder.len()).collect();
        Ok((
            Self::new(&folder, &all, config, max_memory)?,
            folder.ids().to_vec(),
        ))
    }
}

impl Images for Trained {
    fn rows(&self, items: &[usize]) -> Result<Array2<f32>> {
        self.pixels.rows(items).map_err(of_image)
    }

    fn augmented(&self, items: &[usize], rng: &mut Rng) -> Result<Array2<f32>> {
        let seeds: Vec<u64> = items.iter().map(|_| rng.random()).collect();
        self.pixels.views(items, &seeds).map_err(of_image)
    }
}

pub(super) fn of_image(e: likewise_image::Error) -> Error {
    Error::data(e.to_string()).placed()
}

/// The weights in the file at `path`, for a network of `config` to start from.
///
/// Fails where they are of another network.
pub(super) fn pretrained(path: &Path, config: &EncoderConfig) -> Result<Weights> {
    let found = net::Encoder::open(path, &Device::flex()).map_err(Error::placed)?;
    let name = found.config().name();
    if name != config.name() {
        return Err(Error::new(
            likewise::ErrorKind::Parameter,
            format!(
                "the weights of {name}, but the recipe trains {}; choose another file, or another \
                 encoder.name in the recipe",
                config.name()
            ),
        )
        .within(path.display()));
    }
    Weights::read(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn photos_on_little_memory_are_decoded_one_after_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<(u64, PathBuf)> = (0..8)
            .map(|i| {
                let path = folder.path().join(format!("{i}.ppm"));
                let mut photo = b"P6 100 100 255\n".to_vec();
                photo.resize(photo.len() + 30_000, i);
                std::fs::write(&path, &photo).unwrap();
                (photo.len() as u64, path)
            })
            .collect();
        let one = decode::memory(&files[0].1) as f64 + 7.0 * 10_000.0;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(8)
            .build()
            .unwrap();
        let held = |most: f64| pool.install(|| decoding(files.clone(), 7, Some(most as u64)));
        let same = |a: f64, b: f64| (a - b).abs() < 2.0;
        assert!(
            same(held(100.0 * one), 8.0 * one),
            "all at once where there is room"
        );
        assert!(same(held(10.0 * one), 5.0 * one), "half of what is allowed");
        assert!(same(held(one), 2.0 * one), "never less than two need");
    }

    #[test]
    fn thumbnails_of_photos_are_told_of_and_icons_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, side: usize| {
            let path = folder.path().join(name);
            let mut photo = format!("P6 {side} {side} 255\n").into_bytes();
            photo.resize(photo.len() + 3 * side * side, 7);
            std::fs::write(&path, photo).unwrap();
            (side as u64, path)
        };
        let (icon, photo) = (write("a.ppm", 64), write("b.ppm", 65));
        assert_eq!(remark_on_pixels(vec![icon.clone()]), None);
        assert!(
            remark_on_pixels(vec![icon, photo])
                .unwrap()
                .contains("32 x 32 pixels")
        );
        assert_eq!(
            remark_on_pixels(vec![(1, folder.path().join("none.ppm"))]),
            None
        );
    }
}
