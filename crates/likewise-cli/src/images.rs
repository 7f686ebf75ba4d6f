//! Image folders as the data of a verb.

use std::path::{Path, PathBuf};

use likewise::Collection;
use likewise_image::{Channels, Encoder, Error, ErrorKind, ImageFolder, Preprocess, Resize};
use likewise_io::Shape;
use likewise_nn::{Device, net};

use crate::args::Images;
use crate::failure::Failure;
use crate::verb::Context;

/// Side of the thumbnails that stand for images where there is no encoder.
const THUMBNAIL: u32 = 32;

/// The frozen encoder in a file of weights.
fn encoder(path: &Path) -> Result<Encoder, Failure> {
    let network = net::Encoder::open(path, &Device::flex())?;
    let input = network.config().input();
    let size = input.width as u32;
    let expected = input.preprocess;
    let preprocess = Preprocess {
        size,
        // The share of the shorter side that published networks are tested on.
        resize: Resize::Shorter(size * 8 / 7),
        channels: match expected.channels {
            net::Channels::Gray => Channels::Grey,
            net::Channels::Rgb => Channels::Rgb,
            net::Channels::Bgr => Channels::Bgr,
        },
        scale: expected.scale,
        mean: expected.mean,
        std: expected.std,
        ..Preprocess::default()
    };
    preprocess.validate()?;
    let dimensions = network.config().output_dim();
    Ok(Encoder {
        name: network.config().name().to_owned(),
        digest: likewise_io::digest(path)?,
        preprocess,
        dimensions,
        batch: 16,
        encode: Box::new(move |pixels| {
            (network.embed(pixels.view())).map_err(|e| Error::new(ErrorKind::Value, e.to_string()))
        }),
    })
}

fn chosen(images: &Images) -> Result<Encoder, Failure> {
    match &images.encoder {
        Some(path) => encoder(path),
        None => Ok(Encoder::pixels(THUMBNAIL)),
    }
}

/// Whether `path` is images; flags for images with other data are a mistake.
pub(crate) fn suit(path: &Path, images: &Images) -> Result<bool, Failure> {
    let suits = ImageFolder::suits(path)?;
    let given = [
        ("--encoder", images.encoder.is_some()),
        ("--skip-bad", images.skip_bad),
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
pub(crate) fn shape(path: &Path, images: &Images) -> Result<Shape, Failure> {
    let folder = ImageFolder::open(path, None)?;
    let encoder = chosen(images)?;
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
    let folder = ImageFolder::open(path, labels)?;
    let (others, hidden) = (folder.others(), folder.hidden());
    if others + hidden > 0 {
        at.monitor.note(format!(
            "{}: {others} files that are no images and {hidden} hidden ones are left out",
            path.display()
        ));
    }
    let encoder = chosen(images)?;
    // Pixels are as quickly made as found again.
    let cache = images.encoder.as_ref().and_then(|_| cache_folder());
    let (cache, skip) = (cache.as_deref(), images.skip_bad);
    let made = likewise_image::collection(&folder, &encoder, cache, skip, at.monitor);
    // What was skipped is told as a warning.
    made.map(|(collection, _)| collection)
        .map_err(|e| match e.kind() {
            ErrorKind::Format if !skip => {
                Failure::failed(format!("{e}; --skip-bad leaves such files out"))
            }
            _ => e.into(),
        })
}

/// Where features are kept: `$LIKEWISE_CACHE`, else `likewise` in the user's folder of caches.
fn cache_folder() -> Option<PathBuf> {
    let folder = |name: &str| {
        let value = std::env::var_os(name).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    folder("LIKEWISE_CACHE").or_else(|| {
        let caches = folder("XDG_CACHE_HOME")
            .or_else(|| folder("LOCALAPPDATA"))
            .or_else(|| folder("HOME").map(|home| home.join(".cache")));
        caches.map(|caches| caches.join("likewise"))
    })
}
