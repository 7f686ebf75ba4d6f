//! Describing folders of images.

use super::*;
use crate::Words;
use crate::decode::MAX_PIXELS;
use crate::descriptor::{DenseSift, Descriptor, Gist, Hist, Surf, Whole};
use likewise::Event;
use rand::RngExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Seven images of rough noise.
fn scene() -> (tempfile::TempDir, ImageFolder) {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = likewise::seed::stream(0, "scene");
    for i in 0..7 {
        let blocks: Vec<u8> = (0..400).map(|_| rng.random()).collect();
        let image = RgbImage::from_fn(60 + i, 50, |x, y| {
            image::Rgb([blocks[(y / 4 * 20 + x / 4) as usize % 400]; 3])
        });
        image.save(folder.path().join(format!("{i}.png"))).unwrap();
    }
    let images = ImageFolder::open(folder.path(), None).unwrap();
    (folder, images)
}

fn descriptors() -> Vec<Descriptor> {
    vec![
        Descriptor::Hist(Hist::default()),
        Descriptor::DenseSift(DenseSift::default()),
        Descriptor::Gist(Gist::default().size(32)),
        Descriptor::Surf(Surf::default()),
    ]
}

fn words() -> Words {
    Words::default().size(6).points(20)
}

fn made(images: &ImageFolder, training: &[usize]) -> Result<Vec<Describer>> {
    let silent = Monitor::silent();
    describers(images, &descriptors(), &words(), training, false, &silent)
}

#[test]
fn one_matrix_a_descriptor_on_any_number_of_threads() {
    let (_folder, images) = scene();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let describers = made(&images, &[0, 2, 4]).unwrap();
            describe(&images, &describers, None, false, &Monitor::silent()).unwrap()
        })
    };
    let found = run(1);
    assert_eq!(run(2), found);
    assert_eq!(found.items, [0, 1, 2, 3, 4, 5, 6]);
    let shapes: Vec<(&str, (usize, usize))> = (found.views.iter())
        .map(|view| (view.name.as_str(), view.matrix.dim()))
        .collect();
    let expected = [("hist", 768), ("dsift", 6), ("gist", 512), ("surf", 6)];
    assert_eq!(shapes, expected.map(|(name, d)| (name, (7, d))));
    // Rows are those of each image by itself, and words sum to 1.
    let third = crate::decode::read(images.path(3), MAX_PIXELS).unwrap();
    let alone = Gist::default().size(32).describe(&third);
    assert_eq!(found.views[2].matrix.row(3).to_vec(), alone);
    for sum in found.views[1].matrix.sum_axis(Axis(1)) {
        assert!((sum - 1.0).abs() < 1e-5);
    }
}

#[test]
fn words_come_from_the_training_images_alone() {
    let (folder, images) = scene();
    let before = made(&images, &[0, 2, 4]).unwrap();
    for other in ["1.png", "3.png"] {
        let image = RgbImage::from_fn(60, 50, |x, y| image::Rgb([(x * x + y * 7) as u8; 3]));
        image.save(folder.path().join(other)).unwrap();
    }
    assert_eq!(made(&images, &[4, 2, 0, 2]).unwrap(), before);
    assert_ne!(made(&images, &[0, 1, 2, 4]).unwrap(), before);
    let said = made(&images, &[7]).unwrap_err().to_string();
    assert!(said.contains("training = 7"), "{said}");
    let said = made(&images, &[]).unwrap_err().to_string();
    assert!(said.contains("too small or too flat"), "{said}");
}

#[test]
fn only_what_is_new_is_made() {
    let (folder, images) = scene();
    let kept = tempfile::tempdir().unwrap();
    let ready = made(&images, &[0, 1]).unwrap();
    let decoded = Arc::new(AtomicU64::new(0));
    let seen = decoded.clone();
    let monitor = Monitor::new(move |event| {
        if let Event::Start { total, .. } = event {
            seen.fetch_add(total.unwrap_or(0), Ordering::Relaxed);
        }
    });
    let run = |describers: &[Describer], images: &ImageFolder| {
        describe(images, describers, Some(kept.path()), false, &monitor).unwrap()
    };
    let first = run(&ready, &images);
    assert_eq!(decoded.swap(0, Ordering::Relaxed), 7);
    assert_eq!(run(&ready, &images), first);
    assert_eq!(decoded.swap(0, Ordering::Relaxed), 0);
    // Another name is the same image; another content is a new one.
    std::fs::rename(folder.path().join("0.png"), folder.path().join("9.png")).unwrap();
    let image = RgbImage::new(40, 40);
    image.save(folder.path().join("3.png")).unwrap();
    let images = ImageFolder::open(folder.path(), None).unwrap();
    let moved = run(&ready, &images);
    assert_eq!(decoded.swap(0, Ordering::Relaxed), 1);
    for (old, new) in first.views.iter().zip(&moved.views) {
        assert_eq!(old.matrix.row(0), new.matrix.row(6));
    }
    // Other words share nothing with these, and all else stays.
    let other = made(&images, &[4, 5]).unwrap();
    let again = run(&other, &images);
    assert_eq!(decoded.swap(0, Ordering::Relaxed), 7);
    assert_eq!(again.views[0], moved.views[0]);
    assert_ne!(again.views[1], moved.views[1]);
}

#[test]
fn bad_images_end_it_or_are_left_out() {
    let (folder, images) = scene();
    std::fs::write(folder.path().join("4.png"), "no").unwrap();
    let silent = Monitor::silent();
    let hist = [Describer::Whole(Descriptor::Hist(Hist::default()))];
    let failed = describe(&images, &hist, None, false, &silent).unwrap_err();
    assert!(failed.to_string().contains("4.png: not an image"));
    let warned = Arc::new(Mutex::new(Vec::new()));
    let heard = warned.clone();
    let monitor = Monitor::new(move |event| {
        if let Event::Warning(text) = event {
            heard.lock().unwrap().push(text.clone());
        }
    });
    let found = describe(&images, &hist, None, true, &monitor).unwrap();
    assert_eq!(found.items, [0, 1, 2, 3, 5, 6]);
    assert_eq!(found.views[0].matrix.nrows(), 6);
    assert_eq!(found.skipped[0].item, 4);
    let words = words();
    describers(&images, &descriptors(), &words, &[3, 4], true, &monitor).unwrap();
    assert_eq!(warned.lock().unwrap().len(), 2);
    assert!(describers(&images, &descriptors(), &words, &[3, 4], false, &monitor).is_err());
}

#[test]
fn what_cannot_be_is_told_and_cancelling_stops() {
    let (_folder, images) = scene();
    let silent = Monitor::silent();
    let said = |describers: &[Describer]| {
        let failed = describe(&images, describers, None, false, &silent);
        failed.unwrap_err().to_string()
    };
    assert!(said(&[]).contains("descriptors = none"));
    let hist = Describer::Whole(Descriptor::Hist(Hist::default()));
    assert!(said(&[hist.clone(), hist.clone()]).contains("descriptors = hist"));
    let surf = Describer::Whole(Descriptor::Surf(Surf::default()));
    assert!(said(&[surf]).contains("learn words"));
    let wrong = Describer::Whole(Descriptor::Gist(Gist::default().size(3)));
    assert!(said(&[wrong]).contains("gist.size = 3"));
    assert!(check_memory(usize::MAX / 8, 1000).is_err());
    let monitor = Monitor::silent();
    monitor.cancel();
    let failed = describe(&images, &[hist], None, true, &monitor).unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::Cancelled);
}
