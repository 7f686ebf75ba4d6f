//! Images a second of each descriptor, on 1 thread.
//!
//! `cargo bench -p likewise-image --bench descriptors`; takes a folder of images as an argument,
//! else it unpacks photographs of `likewise-testdata`. Images are laid side by side until they
//! are 300 x 200 pixels large.

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use likewise_image::descriptor::{Descriptor, Kind};
use likewise_image::{ImageFolder, RgbImage, decode};

const IMAGES: usize = 20;
const RUNS: usize = 3;

/// Four images as one.
fn collage(parts: &[RgbImage]) -> RgbImage {
    RgbImage::from_fn(300, 200, |x, y| {
        let part = &parts[(y / 100 * 2 + x / 150) as usize];
        let (x, y) = (x % 150 % part.width(), y % 100 % part.height());
        *part.get_pixel(x, y)
    })
}

fn main() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let own = std::env::args().nth(1).filter(|a| !a.starts_with("--"));
    let folder = own.map_or_else(
        || {
            let name = "caltech101/images_cap60_short128.tar";
            let archive = likewise_testdata::large(name)?;
            let file = std::fs::File::open(archive).expect("the archive");
            tar::Archive::new(file)
                .unpack(scratch.path())
                .expect("unpacked");
            Some(scratch.path().to_owned())
        },
        |own| Some(PathBuf::from(own)),
    );
    let Some(folder) = folder else { return };
    let folder = ImageFolder::open(folder, None).expect("images");
    let apart = (folder.len() / (4 * IMAGES)).max(1);
    let open = |at: usize| {
        let path = folder.path(at * apart % folder.len());
        decode::read(path, decode::MAX_PIXELS).expect("decoded")
    };
    let parts: Vec<RgbImage> = (0..4 * IMAGES).map(open).collect();
    let images: Vec<RgbImage> = parts.chunks(4).map(collage).collect();
    println!("{IMAGES} images of 300 x 200 pixels, 1 thread, best of {RUNS} runs");
    for name in Descriptor::NAMES {
        let descriptor = Descriptor::named(name).expect("a name of the list");
        let prepared = match descriptor.kind() {
            Kind::Whole(whole) => whole.prepared(),
            Kind::Local(_) => None,
        };
        let work = |image: &RgbImage| match (&prepared, descriptor.kind()) {
            (Some(prepared), _) => black_box(prepared.describe(image)).len(),
            (None, Kind::Whole(whole)) => black_box(whole.describe(image)).len(),
            (None, Kind::Local(local)) => black_box(local.find(image)).rows.len(),
        };
        let seconds = (0..RUNS).map(|_| {
            let start = Instant::now();
            let numbers: usize = images.iter().map(work).sum();
            (start.elapsed().as_secs_f64(), numbers / IMAGES)
        });
        let best = seconds.min_by(|a, b| a.0.total_cmp(&b.0));
        let (best, numbers) = best.expect("a run");
        let each = IMAGES as f64 / best;
        println!("{name:6} {each:8.1} images/s {numbers:8} numbers an image");
    }
}
