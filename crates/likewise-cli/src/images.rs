//! Image folders as the data of a verb.

use std::path::{Path, PathBuf};

use likewise::Collection;
use likewise::seed::Rng;
use likewise_image::transform::{self, Augment, Filter, Window};
use likewise_image::{
    Channels, Encoder, Error, ErrorKind, ImageFolder, Pixels, Preprocess, Resize, decode,
};
use likewise_io::Shape;
use likewise_nn::net::{EncoderConfig, Input, Weights};
use likewise_nn::{Device, net};
use ndarray::Array2;
use rand::RngExt;

use crate::args::Images;
use crate::failure::Failure;
use crate::verb::Context;

/// Side of the thumbnails that stand for images where there is no encoder.
const THUMBNAIL: u32 = 32;

/// Bytes of decoded images that a training keeps, where `--max-memory` does not say less.
const ROOM: u64 = 4 << 30;

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
            net::Channels::Gray => Channels::Grey,
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
struct Square {
    side: Option<usize>,
    squeeze: bool,
}

impl From<&Images> for Square {
    fn from(images: &Images) -> Self {
        Self {
            side: images.side,
            squeeze: images.squeeze,
        }
    }
}

/// The frozen encoder in a file of weights.
fn encoder(path: &Path, shape: Square, device: &Device) -> Result<Encoder, Failure> {
    let network = net::Encoder::open(path, device)?;
    let config = EncoderConfig {
        side: shape.side,
        squeeze: shape.squeeze,
        ..network.config().clone()
    };
    config.validate()?;
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
    Ok(Encoder {
        name,
        digest: likewise_io::digest(path)?,
        preprocess,
        dimensions,
        batch: 16,
        encode: Box::new(move |pixels| {
            (network.embed(pixels.view())).map_err(|e| Error::new(ErrorKind::Value, e.to_string()))
        }),
    })
}

fn chosen(images: &Images, shape: Square, device: &Device) -> Result<Encoder, Failure> {
    match &images.encoder {
        Some(path) => encoder(path, shape, device),
        None => Ok(Encoder::pixels(THUMBNAIL)),
    }
}

/// The images of a folder, for a network that is trained on them.
pub(crate) struct Trained {
    pixels: Pixels,
}

impl Trained {
    /// The images at `places` of the folder at `path`, as the network of `config` reads them.
    fn new(
        folder: &ImageFolder,
        places: &[usize],
        config: &EncoderConfig,
        at: &Context,
    ) -> Result<Self, Failure> {
        let input = config.input();
        let mut preprocess = preprocess(&input);
        // Networks turn the colours themselves.
        if preprocess.channels == Channels::Bgr {
            preprocess.channels = Channels::Rgb;
        }
        let room = at
            .common
            .max_memory
            .map_or(ROOM, |most| (most.0 / 2).min(ROOM));
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
        at: &Context,
    ) -> Result<(Self, Vec<String>), Failure> {
        let folder = ImageFolder::open(path, None)?;
        let all: Vec<usize> = (0..folder.len()).collect();
        Ok((Self::new(&folder, &all, config, at)?, folder.ids().to_vec()))
    }
}

impl likewise_nn::Images for Trained {
    fn rows(&self, items: &[usize]) -> likewise_nn::Result<Array2<f32>> {
        self.pixels.rows(items).map_err(of_image)
    }

    fn views(&self, items: &[usize], rng: &mut Rng) -> likewise_nn::Result<Array2<f32>> {
        let seeds: Vec<u64> = items.iter().map(|_| rng.random()).collect();
        self.pixels.views(items, &seeds).map_err(of_image)
    }
}

/// The images of a folder as people look at them.
#[derive(Debug)]
pub(crate) struct Photos {
    path: PathBuf,
}

impl Photos {
    /// Those below `path`, or the one there.
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    /// Width, height and colours, three bytes a pixel, of the image of this id, of which no
    /// edge is longer than `edge`.
    pub(crate) fn small(
        &self,
        id: &str,
        edge: usize,
    ) -> likewise_nn::Result<(usize, usize, Vec<u8>)> {
        let path = if self.path.is_dir() {
            self.path.join(id)
        } else {
            self.path.clone()
        };
        let small = || {
            let image = decode::read(&path, decode::MAX_PIXELS)?;
            let (width, height) = image.dimensions();
            let longest = width.max(height);
            let scaled = |side: u32| (u64::from(side) * edge as u64 / u64::from(longest)) as u32;
            let [width, height] = if longest as usize > edge {
                [width, height].map(|side| scaled(side).max(1))
            } else {
                [width, height]
            };
            let whole = Window::whole(&image);
            transform::resize(&image, whole, width, height, Filter::Bilinear)
        };
        let image = small().map_err(of_image)?;
        let (width, height) = image.dimensions();
        Ok((width as usize, height as usize, image.into_raw()))
    }
}

fn of_image(e: Error) -> likewise_nn::Error {
    likewise_nn::Error::new(likewise_nn::ErrorKind::Data, e.to_string())
}

/// The weights that a recipe's network starts from: those of `--encoder`.
///
/// Fails where they are of another network.
pub(crate) fn pretrained(
    images: &Images,
    config: &EncoderConfig,
) -> Result<Option<Weights>, Failure> {
    let Some(path) = &images.encoder else {
        return Ok(None);
    };
    let found = net::Encoder::open(path, &Device::flex())?;
    let name = found.config().name();
    if name != config.name() {
        return Err(Failure::usage(format!(
            "{}: the weights of {name}, but the recipe trains {}; choose another file with \
             --encoder, or encoder.name in the recipe",
            path.display(),
            config.name()
        )));
    }
    Ok(Some(Weights::read(path)?))
}

/// Whether `path` is images; flags for images with other data are a mistake.
pub(crate) fn suit(path: &Path, images: &Images) -> Result<bool, Failure> {
    let suits = ImageFolder::suits(path)?;
    let given = [
        ("--encoder", images.encoder.is_some()),
        ("--skip-bad", images.skip_bad),
        ("--squeeze", images.squeeze),
        ("--side", images.side.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((flag, _)) if !suits => Err(Failure::usage(format!(
            "{flag} goes with images, and {} is none, nor a folder of them",
            path.display()
        ))),
        _ => Ok(suits),
    }
}

/// What [`load`] will give, without decoding anything.
pub(crate) fn shape(path: &Path, images: &Images, at: &Context) -> Result<Shape, Failure> {
    let folder = ImageFolder::open_with(path, None, images.skip_bad)?;
    let encoder = chosen(images, images.into(), at.device)?;
    let lengths = (0..folder.len()).map(|item| folder.path(item).metadata().map_or(0, |m| m.len()));
    Ok(Shape {
        items: folder.len(),
        bytes_on_disk: lengths.sum(),
        views: vec![(encoder.name, encoder.dimensions)],
    })
}

/// The images below `path` with the features of the chosen encoder, or their pixels.
pub(crate) fn load(
    path: &Path,
    labels: Option<&Path>,
    images: &Images,
    at: &Context,
) -> Result<Collection, Failure> {
    let folder = ImageFolder::open_with(path, labels, images.skip_bad)?;
    features(&folder, path, images, images.into(), at).map(|(collection, _)| collection)
}

/// As [`load`], with the images themselves as the network of `config` reads them.
pub(crate) fn load_trained(
    path: &Path,
    labels: Option<&Path>,
    images: &Images,
    config: &EncoderConfig,
    at: &Context,
) -> Result<(Collection, Trained), Failure> {
    let folder = ImageFolder::open_with(path, labels, images.skip_bad)?;
    let square = Square {
        side: config.side,
        squeeze: config.squeeze,
    };
    let (collection, places) = features(&folder, path, images, square, at)?;
    let trained = Trained::new(&folder, &places, config, at)?;
    Ok((collection, trained))
}

/// The images as features, and their places in the folder.
fn features(
    folder: &ImageFolder,
    path: &Path,
    images: &Images,
    square: Square,
    at: &Context,
) -> Result<(Collection, Vec<usize>), Failure> {
    let (others, hidden) = (folder.others(), folder.hidden());
    if others + hidden > 0 {
        at.monitor.note(format!(
            "{}: {others} files that are no images and {hidden} hidden ones are left out",
            path.display()
        ));
    }
    for remark in folder.remarks() {
        at.monitor.warn(remark);
    }
    let encoder = chosen(images, square, at.device)?;
    // Pixels are as quickly made as found again.
    let cache = images.encoder.as_ref().and_then(|_| cache_folder());
    let (cache, skip) = (cache.as_deref(), images.skip_bad);
    let made = likewise_image::collection(folder, &encoder, cache, skip, at.monitor);
    made.map_err(|e| match e.kind() {
        ErrorKind::Format if !skip => {
            Failure::failed(format!("{e}; --skip-bad leaves such files out"))
        }
        _ => e.into(),
    })
}

/// What tells these data from others: the digest of a file; of a folder of images that over the
/// names and digests of its images, whatever else lies there.
pub(crate) fn digest(path: &Path, flags: &Images) -> Result<String, Failure> {
    if !path.is_dir() || !suit(path, flags)? {
        return Ok(likewise_io::digest(path)?);
    }
    let folder = ImageFolder::open_with(path, None, flags.skip_bad)?;
    let all: Vec<usize> = (0..folder.len()).collect();
    Ok(folder.digest(&all)?)
}

/// The folder of images at `path`, or the one that an archive there holds.
pub(crate) fn folder(path: &Path) -> Result<PathBuf, Failure> {
    if path.extension().is_some_and(|e| e == "tar") {
        return unpacked(path);
    }
    Ok(path.to_owned())
}

/// The folder that an archive of images holds, unpacked once into the cache.
fn unpacked(archive: &Path) -> Result<PathBuf, Failure> {
    let within = |e: std::io::Error| Failure::failed(format!("{}: {e}", archive.display()));
    let cache = cache_folder().unwrap_or_else(std::env::temp_dir);
    let folder = cache.join("unpacked").join(likewise_io::digest(archive)?);
    if folder.is_dir() {
        return Ok(folder);
    }
    let parent = cache.join("unpacked");
    std::fs::create_dir_all(&parent).map_err(within)?;
    // Whatever the moment of a kill, the folder is whole or not there.
    let part = tempfile::tempdir_in(&parent).map_err(within)?;
    let file = std::fs::File::open(archive).map_err(within)?;
    let reader = std::io::BufReader::new(file);
    tar::Archive::new(reader)
        .unpack(part.path())
        .map_err(within)?;
    match std::fs::rename(part.path(), &folder) {
        // Another process may have been faster.
        Err(e) if !folder.is_dir() => Err(within(e)),
        _ => Ok(folder),
    }
}

/// The variable that names this program's own cache.
const OWN: &str = "LIKEWISE_CACHE";

/// Where features are kept: `$LIKEWISE_CACHE`, else `likewise` in the user's folder of caches.
fn cache_folder() -> Option<PathBuf> {
    let folder = |name: &str| {
        let value = std::env::var_os(name).map(PathBuf::from);
        // A relative one would leave files wherever a command happens to run.
        value.filter(|path| path.is_absolute() || (name == OWN && !path.as_os_str().is_empty()))
    };
    folder(OWN).or_else(|| {
        let caches = folder("XDG_CACHE_HOME")
            .or_else(|| folder("LOCALAPPDATA"))
            .or_else(|| folder("HOME").map(|home| home.join(".cache")));
        caches.map(|caches| caches.join("likewise"))
    })
}
