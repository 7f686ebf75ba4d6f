//! The images of a folder as people look at them.

use std::path::{Path, PathBuf};

use likewise_image::decode;
use likewise_image::transform::{self, Filter, Window};

use super::images::of_image;
use crate::Result;

/// The images of a folder as people look at them.
#[derive(Debug)]
pub struct Photos {
    path: PathBuf,
}

impl Photos {
    /// Those below `path`, or the one there.
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    /// Width, height and colours, three bytes a pixel, of the image of this id, of which no
    /// edge is longer than `edge`. Fails where it cannot be read, or has more than `most` pixels.
    pub fn small(&self, id: &str, edge: usize, most: u64) -> Result<(usize, usize, Vec<u8>)> {
        let path = if self.path.is_dir() {
            self.path.join(id)
        } else {
            self.path.clone()
        };
        let small = || {
            let image = decode::read(&path, most)?;
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
