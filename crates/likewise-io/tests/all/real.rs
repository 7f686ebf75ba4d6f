//! Real data, where they are at hand.

use likewise::{Collection, Monitor, Part};
use likewise_io::{ReadOptions, read};

fn load(path: std::path::PathBuf) -> Collection {
    read(path, &ReadOptions::default(), &Monitor::silent()).unwrap()
}

#[test]
fn the_committed_digits_have_six_views() {
    let digits = load(likewise_testdata::digits());
    let views = digits
        .views()
        .iter()
        .map(|v| (v.name.as_str(), v.matrix.ncols()));
    let mut views: Vec<_> = views.collect();
    views.sort_unstable();
    let expected = [
        ("fac", 216),
        ("fou", 76),
        ("kar", 64),
        ("mor", 6),
        ("pix", 240),
        ("zer", 47),
    ];
    assert_eq!(views, expected);
    let sizes = digits
        .labels
        .unwrap()
        .by_class()
        .into_iter()
        .map(|c| c.len());
    assert!(sizes.eq([200; 10]));
}

#[test]
fn fashion_mnist_is_a_folder_with_a_split() {
    let Some(folder) = likewise_testdata::fashion_mnist() else {
        return;
    };
    let items = load(folder);
    let x = &items.views()[0].matrix;
    assert_eq!(x.dim(), (70_000, 784));
    assert!(x.iter().all(|v| (0.0..=255.0).contains(v)));
    let split = items.split.as_ref().unwrap();
    assert_eq!(split.iter().filter(|p| **p == Part::Train).count(), 60_000);
    assert_eq!(split.iter().filter(|p| **p == Part::Test).count(), 10_000);
    let sizes = items.labels.as_ref().unwrap().by_class().into_iter();
    assert!(sizes.map(|c| c.len()).eq([7000; 10]));
}

#[test]
fn sets_of_other_people_read_as_they_are() {
    for (name, items, views, classes) in [
        ("classical/letter.npz", 20_000, 1, 26),
        ("classical/iris.npz", 150, 1, 3),
        ("multiview/100Leaves.npz", 1600, 3, 100),
        ("wiki/wiki.npz", 2866, 2, 10),
    ] {
        let Some(path) = likewise_testdata::large(name) else {
            continue;
        };
        let set = load(path);
        assert_eq!(set.len(), items, "{name}");
        assert_eq!(set.views().len(), views, "{name}");
        assert_eq!(set.labels.unwrap().n_classes(), classes, "{name}");
    }
}
