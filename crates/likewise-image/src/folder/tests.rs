//! What is read of folders.

use likewise::Label;

use super::*;
use crate::RgbImage;

/// A folder of one-pixel images, and of text where a name ends in .txt.
fn scene(names: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in names {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        if path.extension().is_some_and(|e| e == "txt") {
            std::fs::write(path, "BM P6 text").unwrap();
        } else {
            let save = |p: &Path| RgbImage::new(1, 1).save_with_format(p, ImageFormat::Png);
            save(&path).unwrap();
        }
    }
    folder
}

#[test]
fn folders_are_classes_and_the_order_is_fixed() {
    let folder = scene(&[
        "dog/z.png",
        "dog/deep/er/b.PNG",
        "cat/by-content",
        "cat/notes.txt",
        "cat/.hidden.png",
        ".git/x.png",
        "unlabeled/u.png",
        "outside/o.png",
        "top.jpg",
    ]);
    let images = ImageFolder::open(folder.path(), None).unwrap();
    let expected = [
        "cat/by-content",
        "dog/deep/er/b.PNG",
        "dog/z.png",
        "outside/o.png",
        "top.jpg",
        "unlabeled/u.png",
    ];
    assert_eq!(images.ids(), expected);
    let labels = images.labels().unwrap();
    assert_eq!(labels.classes(), ["cat", "dog"]);
    let [dog, unknown] = [Label::Known(1), Label::Unknown];
    let known = [Label::Known(0), dog, dog, Label::Outside, unknown, unknown];
    assert_eq!(labels.items(), known);
    assert_eq!((images.hidden(), images.others()), (2, 1));
    assert!(images.path(2).is_file());
    assert_eq!(images.split(), None);
}

#[test]
fn a_text_of_the_name_of_an_image_is_not_left_out() {
    let folder = scene(&["cat/a.png", "cat/a.txt", "cat/b.png", "cat/notes.txt"]);
    let images = ImageFolder::open(folder.path(), None).unwrap();
    assert_eq!(images.others(), 1);
    let told = images.told().join("\n");
    assert!(told.contains("same name beside them: 1;"), "{told}");
    assert!(
        told.contains("left out, no images that can be read: cat/notes.txt"),
        "{told}"
    );
}

#[test]
fn a_folder_of_any_other_name_is_a_class() {
    let folder = scene(&["none/a.png", "other/b.png", "unknown/c.png", "NA/d.png"]);
    let images = ImageFolder::open(folder.path(), None).unwrap();
    let labels = images.labels().unwrap();
    assert_eq!(labels.classes(), ["NA", "none", "other", "unknown"]);
    assert_eq!(labels.n_known(), 4);
    let folder = scene(&["train/other/a.png", "test/Outside/b.png"]);
    let images = ImageFolder::open(folder.path(), None).unwrap();
    let labels = images.labels().unwrap();
    assert_eq!(labels.items(), [Label::Outside, Label::Known(0)]);
}

#[test]
fn parts_of_a_split_are_not_classes() {
    let folder = scene(&["train/cat/a.png", "val/dog/b.png", "test/c.png"]);
    let images = ImageFolder::open(folder.path(), None).unwrap();
    let parts = [Part::Test, Part::Train, Part::Validation];
    assert_eq!(images.split().unwrap(), parts);
    assert_eq!(images.labels().unwrap().classes(), ["cat", "dog"]);
}

#[test]
fn a_file_of_labels_replaces_the_folders() {
    let folder = scene(&["x/a.png", "x/b.png"]);
    let csv = folder.path().join("labels.csv");
    std::fs::write(&csv, "id,label\nx/b.png,dog\n").unwrap();
    let images = ImageFolder::open(folder.path(), Some(&csv)).unwrap();
    let labels = images.labels().unwrap();
    assert_eq!(labels.items(), [Label::Unknown, Label::Known(0)]);
    std::fs::write(&csv, "id,label\nx/b.png,NA\n").unwrap();
    let images = ImageFolder::open(folder.path(), Some(&csv)).unwrap();
    assert!(images.remarks()[0].contains("\"NA\""));
    std::fs::write(&csv, "id,label\nb.png,dog\n").unwrap();
    let e = ImageFolder::open(folder.path(), Some(&csv)).unwrap_err();
    assert!(e.to_string().contains("\"b.png\""), "{e}");
}

#[test]
fn one_image_is_a_folder_of_one() {
    let folder = scene(&["a.png"]);
    let path = folder.path().join("a.png");
    assert!(ImageFolder::suits(&path).unwrap());
    let images = ImageFolder::open(&path, None).unwrap();
    assert_eq!(images.ids(), ["a.png"]);
    assert_eq!(images.path(0), path);
    assert_eq!(images.labels(), None);
}

#[test]
fn folders_without_images_and_missing_ones_are_named() {
    let folder = scene(&["a/b.txt"]);
    let e = ImageFolder::open(folder.path(), None).unwrap_err();
    assert!(e.to_string().contains("no images"), "{e}");
    assert!(e.to_string().contains("1 other"), "{e}");
    let e = ImageFolder::open(folder.path().join("no"), None).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotFound);
    std::fs::write(folder.path().join("train-images-idx3-ubyte"), "").unwrap();
    assert!(!ImageFolder::suits(folder.path()).unwrap());
}

#[cfg(unix)]
#[test]
fn links_do_not_lead_in_circles_and_odd_names_are_named() {
    use std::os::unix::ffi::OsStrExt;
    let folder = scene(&["a/b.png"]);
    let link = |from: &str, to: &str| {
        std::os::unix::fs::symlink(folder.path().join(from), folder.path().join(to)).unwrap();
    };
    link("", "a/round");
    link("a/b.png", "a/c.png");
    link("nowhere", "a/d.png");
    let images = ImageFolder::open(folder.path(), None).unwrap();
    assert_eq!(images.ids(), ["a/b.png", "a/c.png"]);
    assert_eq!(images.others(), 2);
    let mut said = images.remarks().iter();
    assert!(said.any(|r| r.contains("1 links to files that are not there (first: \"a/d.png\")")));
    let odd = |name: &[u8]| folder.path().join(OsStr::from_bytes(name));
    // What is no image may have any name.
    std::fs::write(odd(b"\xff.txt"), "text").unwrap();
    let images = ImageFolder::open(folder.path(), None).unwrap();
    assert_eq!((images.len(), images.others()), (2, 3));
    std::fs::write(odd(b"\xff.png"), "").unwrap();
    std::fs::create_dir(odd(b"b\xfe")).unwrap();
    std::fs::write(odd(b"b\xfe/c.png"), "").unwrap();
    let e = ImageFolder::open(folder.path(), None).unwrap_err();
    assert!(
        e.to_string().contains("\"\\xFF.png\" is not Unicode"),
        "{e}"
    );
    let images = ImageFolder::open_with(folder.path(), None, true).unwrap();
    assert_eq!(images.ids(), ["a/b.png", "a/c.png"]);
    let remarks = images.remarks();
    assert_eq!(remarks.len(), 3);
    let left_out = "left out: the name \"b\\xFE/c.png\"";
    assert!(remarks.iter().any(|r| r.contains(left_out)), "{remarks:?}");
}

#[test]
fn a_folder_that_cannot_be_read_is_noted() {
    let folder = scene(&["a/b.png"]);
    let mut images = ImageFolder::list(folder.path(), false).unwrap();
    // Nobody can read what is not there; other folders cannot be closed to everybody.
    images.collect_noting(&folder.path().join("none"), Path::new("none"));
    let noted = &images.bad[0];
    assert!(
        noted.starts_with("folder \"none\" cannot be read:"),
        "{noted}"
    );
    assert_eq!(images.ids(), ["a/b.png"]);
}

#[cfg(unix)]
#[test]
fn pipes_and_devices_are_no_images() {
    let folder = scene(&["a/b.png"]);
    let zero = folder.path().join("a/zero.png");
    std::os::unix::fs::symlink("/dev/zero", &zero).unwrap();
    let pipe = folder.path().join("a/pipe.png");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    let mut special = vec![zero];
    if made.is_ok_and(|status| status.success()) {
        special.push(pipe);
    } else {
        println!("there is no mkfifo here");
    }
    let images = ImageFolder::open(folder.path(), None).unwrap();
    assert_eq!((images.len(), images.others()), (1, special.len()));
    for path in special {
        for said in [
            ImageFolder::open(&path, None).unwrap_err(),
            crate::decode::read(&path, 100).unwrap_err(),
        ] {
            let said = said.to_string();
            assert!(said.contains("not a regular file"), "{said}");
            let path = path.display().to_string();
            assert_eq!(said.matches(&path).count(), 1, "{said}");
        }
        let unnamed = path.with_extension("");
        std::fs::rename(&path, &unnamed).unwrap();
        assert!(!ImageFolder::suits(&unnamed).unwrap());
    }
}

#[test]
fn the_digest_is_of_the_images_alone() {
    let folder = scene(&["x/a.png", "x/b.png", "c.png"]);
    let images = ImageFolder::open(folder.path(), None).unwrap();
    let whole = likewise_io::digest(folder.path()).unwrap();
    assert_eq!(images.digest(&[2, 0, 1]).unwrap(), whole);
    assert_ne!(images.digest(&[0, 1]).unwrap(), whole);
    std::fs::write(folder.path().join(".secret"), "1").unwrap();
    std::fs::write(folder.path().join("x/notes.txt"), "2").unwrap();
    let images = ImageFolder::open(folder.path(), None).unwrap();
    assert_eq!(images.digest(&[0, 1, 2]).unwrap(), whole);
}

#[test]
fn tables_beside_the_images_give_labels() {
    let folder = scene(&[
        "train/a.png",
        "train/b.png",
        "test/c.png",
        "test/d.heic",
        "x.txt",
    ]);
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    std::fs::remove_file(folder.path().join("x.txt")).unwrap();
    write("test/d.heic", "no image");
    write(
        "train/metadata.csv",
        "file_name,label,text\na.png,cat,x\nb.png,dog,y\n",
    );
    write(
        "test/metadata.csv",
        "file_name,label\nc.png,dog\nd.heic,cat\n",
    );
    let images = ImageFolder::open(folder.path(), None).unwrap();
    assert_eq!(images.ids(), ["test/c.png", "train/a.png", "train/b.png"]);
    let labels = images.labels().unwrap();
    assert_eq!(labels.classes(), ["cat", "dog"]);
    let [cat, dog] = [Label::Known(0), Label::Known(1)];
    assert_eq!(labels.items(), [dog, cat, dog]);
    assert!(images.split().is_some());
    let told = images.told().join("\n");
    assert!(
        told.contains("metadata.csv") && told.contains("test/d.heic"),
        "{told}"
    );
    // Another column of labels; and none at all.
    let asked = TableOptions {
        label_column: Some("text".to_owned()),
        ..TableOptions::default()
    };
    write("test/metadata.csv", "file_name,text\nc.png,x\n");
    let images = ImageFolder::open_as(folder.path(), None, false, &asked).unwrap();
    assert_eq!(images.labels().unwrap().classes(), ["x", "y"]);
    write("train/metadata.csv", "file_name,text\na.png,x\n");
    let images = ImageFolder::open(folder.path(), None).unwrap();
    assert_eq!(images.labels(), None);
    assert!(
        images.remarks()[0].contains("gives no labels"),
        "{:?}",
        images.remarks()
    );
}

#[test]
fn one_folder_around_all_others_is_no_class() {
    let folder = scene(&["data/cat/a.png", "data/dog/b.png", "data/dog/old/c.png"]);
    let images = ImageFolder::open(folder.path(), None).unwrap();
    assert_eq!(images.labels().unwrap().classes(), ["cat", "dog"]);
    let told = images.told().join("\n");
    assert!(told.contains("below the folder data"), "{told}");
    assert!(told.contains("dog/old/c.png is of class dog"), "{told}");
    let one = scene(&["data/cat/a.png", "data/cat/b.png"]);
    let images = ImageFolder::open(one.path(), None).unwrap();
    assert_eq!(images.labels().unwrap().classes(), ["data"]);
}

#[test]
fn what_is_read_of_a_folder_is_known_before_it_is_written() {
    let folder = scene(&[
        "photos/cat/a.png",
        "photos/cat/by-content",
        "photos/notes.txt",
    ]);
    let (at, root) = (folder.path(), folder.path().join("photos"));
    let reads = |name: &str| ImageFolder::reads(&root, &at.join(name));
    for name in [
        "photos/metadata.csv",
        "photos/cat/Metadata.parquet",
        "photos/../photos/metadata.jsonl",
        "photos/cat/a.png",
        "photos/new.jpg",
        "photos/cat/by-content",
    ] {
        assert!(reads(name), "{name}");
    }
    for name in [
        "metadata.csv",
        "photos/report.html",
        "photos/notes.txt",
        "photos/.hidden.png",
        "photos/.git/metadata.csv",
        "photos/none/metadata.csv",
    ] {
        assert!(!reads(name), "{name}");
    }
    // A single image is no folder.
    assert!(!ImageFolder::reads(
        &at.join("photos/cat/a.png"),
        &at.join("metadata.csv")
    ));
}

#[cfg(unix)]
#[test]
fn a_table_that_a_link_in_the_folder_leads_to_is_read() {
    let folder = scene(&["photos/a.png"]);
    let at = folder.path();
    std::fs::write(at.join("labels.csv"), "file_name,label\na.png,cat\n").unwrap();
    std::os::unix::fs::symlink("../labels.csv", at.join("photos/metadata.csv")).unwrap();
    assert!(ImageFolder::reads(
        &at.join("photos"),
        &at.join("labels.csv")
    ));
}
