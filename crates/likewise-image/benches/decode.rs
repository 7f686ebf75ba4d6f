//! Images a second: reading, decoding and resizing photographs, on 1 and on all threads.
//!
//! `cargo bench -p likewise-image`; takes a folder of images as an argument, else it unpacks
//! the photographs of `likewise-testdata`.

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use likewise_image::transform::{Filter, Window, resize, resize_shorter};
use likewise_image::{ImageFolder, Preprocess, RgbImage, decode};
use rayon::prelude::*;

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
    let images = ImageFolder::open(folder, None).expect("images");
    let items: Vec<usize> = (0..images.len()).collect();
    let bytes: Vec<Vec<u8>> = items
        .iter()
        .map(|&item| std::fs::read(images.path(item)).expect("read"))
        .collect();
    let open = |b: &Vec<u8>| decode::decode(b, decode::MAX_PIXELS).expect("decoded");
    let pixels: Vec<RgbImage> = bytes.iter().map(open).collect();
    let total: u64 = pixels
        .iter()
        .map(|i| u64::from(i.width()) * u64::from(i.height()))
        .sum();
    println!(
        "{} images, {:.0} pixels and {:.0} bytes each",
        images.len(),
        total as f64 / images.len() as f64,
        bytes.iter().map(Vec::len).sum::<usize>() as f64 / images.len() as f64
    );
    let lite0 = Preprocess::lite0();
    let whole = |i: &RgbImage, side, filter| resize(i, Window::whole(i), side, side, filter);
    let most = std::thread::available_parallelism().map_or(1, usize::from);
    for threads in [1, most] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.expect("threads");
        let time = |what: &str, work: &(dyn Fn(usize) + Sync)| {
            let run = || items.par_iter().for_each(|&item| work(item));
            let seconds = (0..3).map(|_| {
                let start = Instant::now();
                pool.install(run);
                start.elapsed().as_secs_f64()
            });
            let best = seconds.fold(f64::INFINITY, f64::min);
            println!(
                "{threads} threads  {what:34} {:8.0} images/s",
                items.len() as f64 / best
            );
        };
        time("decode", &|i| {
            black_box(open(&bytes[i]));
        });
        time("shorter side 256, bicubic", &|i| {
            black_box(resize_shorter(&pixels[i], 256, Filter::Bicubic).ok());
        });
        time("32 x 32, bilinear", &|i| {
            black_box(whole(&pixels[i], 32, Filter::Bilinear).ok());
        });
        time("lite0 from the file", &|i| {
            let image = decode::read(images.path(i), decode::MAX_PIXELS).expect("decoded");
            black_box(lite0.apply(&image).ok());
        });
    }
}
