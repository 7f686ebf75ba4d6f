//! Photographs, where they are at hand.

use std::fs::File;
use std::path::Path;

use likewise::Monitor;
use likewise_image::{Encoder, ImageFolder, Loader, collection};

/// Unpacks the first images of three classes.
fn unpack(archive: &Path, into: &Path) {
    let mut archive = tar::Archive::new(File::open(archive).unwrap());
    let mut taken = std::collections::HashMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().into_owned();
        let class = path.parent().unwrap().display().to_string();
        if ["Faces", "butterfly", "pizza"].contains(&class.as_str()) {
            let count = taken.entry(class).or_insert(0);
            *count += 1;
            if *count <= 8 {
                entry.unpack_in(into).unwrap();
            }
        }
    }
    assert_eq!(taken.len(), 3);
}

#[test]
fn photographs_become_a_collection_and_batches() {
    let name = "caltech101/images_cap60_short128.tar";
    let Some(archive) = likewise_testdata::large(name) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    unpack(&archive, folder.path());
    let images = ImageFolder::open(folder.path(), None).unwrap();
    assert_eq!(images.len(), 24);
    let silent = Monitor::silent();
    let (items, places) = collection(&images, &Encoder::pixels(32), None, false, &silent).unwrap();
    assert_eq!(places.len(), 24);
    let labels = items.labels.as_ref().unwrap();
    assert_eq!(labels.classes(), ["Faces", "butterfly", "pizza"]);
    let x = &items.view(None).unwrap().matrix;
    assert!(x.iter().all(|v| (0.0..=255.0).contains(v)));
    // Photographs are neither black nor white, and no two are the same.
    let mean = x.mean().unwrap();
    assert!((50.0..200.0).contains(&mean), "{mean}");
    let all: Vec<usize> = (0..images.len()).collect();
    let loaded = Loader::default().load(&images, &all, &silent).unwrap();
    for batch in loaded {
        assert_eq!(batch.unwrap().pixels.dim(), (24, 3, 224, 224));
    }
}
