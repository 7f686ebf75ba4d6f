//! Work on many images, each decoded once.

use image::RgbImage;
use likewise::Monitor;
use rayon::prelude::*;

use crate::decode::{self, MAX_PIXELS};
use crate::{ErrorKind, ImageFolder, Result, Skipped};

/// Images between two looks at the monitor.
const CHUNK: usize = 32;

/// Decodes the images at `items` and works on them in parallel; `take` gets what comes out in
/// their order, also of those before an error. The work holds `beside` bytes a pixel.
pub(super) fn each<T: Send>(
    folder: &ImageFolder,
    (items, beside): (&[usize], u64),
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
                let (image, _held) = decode::read_held(&folder.path(item), MAX_PIXELS, beside)?;
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
