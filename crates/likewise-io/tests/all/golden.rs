//! Files written by the public Python libraries (`testdata/make.py`) read as they should.

use std::path::{Path, PathBuf};

use likewise::{Collection, Label, Monitor, Part};
use likewise_io::{ErrorKind, ReadOptions, inspect, read, read_beside, read_labels, read_matrix};
use ndarray::{Array2, array};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("testdata")
        .join(name)
}

fn load(name: &str) -> Collection {
    read(path(name), &ReadOptions::default(), &Monitor::silent()).unwrap()
}

fn message(name: &str) -> String {
    let e = read(path(name), &ReadOptions::default(), &Monitor::silent()).unwrap_err();
    let text = e.to_string();
    let lead = format!("{}: ", path(name).display());
    assert!(text.starts_with(&lead), "{text}");
    text[lead.len()..].to_owned()
}

/// The matrix `X` of `make.py`.
fn x() -> Array2<f32> {
    Array2::from_shape_fn((5, 3), |(i, j)| (3 * i + j) as f32 * 0.5 - 2.0)
}

/// The matrix `Z` of `make.py`.
fn z() -> Array2<f32> {
    Array2::from_shape_fn((5, 2), |(i, j)| (2 * i + j + 1) as f32)
}

fn matrix<'a>(collection: &'a Collection, view: &str) -> &'a Array2<f32> {
    &collection.view(Some(view)).unwrap().matrix
}

#[test]
fn arrays_of_every_type_byte_order_and_layout() {
    let mut seen = 0;
    for entry in std::fs::read_dir(path("")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let expected = match name.split_once('_') {
            Some(("x", _)) => x(),
            Some(("z", _)) => z(),
            _ => continue,
        };
        let found = read_matrix(path(&name), None).unwrap();
        assert_eq!(found, expected, "{name}");
        assert!(found.is_standard_layout(), "{name}");
        let shape = inspect(path(&name), &ReadOptions::default()).unwrap();
        assert_eq!((shape.items, shape.views[0].1), expected.dim(), "{name}");
        assert_eq!(
            shape.bytes_on_disk,
            std::fs::metadata(path(&name)).unwrap().len()
        );
        seen += 1;
    }
    assert_eq!(seen, 16);
    assert_eq!(
        read_matrix(path("bool.npy"), None).unwrap(),
        array![[1.0, 0.0], [0.0, 1.0]]
    );
    assert!(message("object.npy").contains("\"|O\""));
    assert!(message("record.npy").contains("records"));
    assert!(message("labels_float.npy").contains("[5]"));
}

#[test]
fn archives_stored_and_compressed() {
    for name in ["stored.npz", "compressed.npz"] {
        let all = load(name);
        let names: Vec<&str> = all.views().iter().map(|v| v.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(matrix(&all, "a"), x());
        assert_eq!(matrix(&all, "b"), z());
        assert_eq!(all.ids(), ["a", "b", "ü", "d", "e"]);
        let labels = all.labels.unwrap();
        assert_eq!(labels.classes(), ["rose", "fern"]);
        let (rose, fern) = (Label::Known(0), Label::Known(1));
        assert_eq!(labels.items(), [rose, fern, Label::Unknown, fern, rose]);
        let split = all.split.unwrap();
        assert_eq!(split[2..4], [Part::Train, Part::Test]);

        let one = ReadOptions {
            view: Some("b".into()),
            ..ReadOptions::default()
        };
        let part = read(path(name), &one, &Monitor::silent()).unwrap();
        assert_eq!(part.views().len(), 1);
        assert_eq!(part.views()[0].matrix, z());
        assert_eq!(inspect(path(name), &one).unwrap().views, [("b".into(), 2)]);
        assert_eq!(read_matrix(path(name), Some("b")).unwrap(), z());
        let e = read_matrix(path(name), None).unwrap_err();
        let said = e.to_string();
        assert!(
            said.ends_with("the file holds several matrices: a, b; name one view"),
            "{e}"
        );
        let missing = ReadOptions {
            view: Some("c".into()),
            ..ReadOptions::default()
        };
        let e = read(path(name), &missing, &Monitor::silent()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Parameter);
        assert_eq!(inspect(path(name), &missing).unwrap_err(), e);
    }
}

#[test]
fn arrays_in_parts_are_stacked() {
    let all = load("parts.npz");
    assert_eq!(matrix(&all, "x"), x());
    assert_eq!(all.ids()[2..4], ["train-2", "test-0"]);
    assert_eq!(all.labels.unwrap().n_known(), 4);
    assert_eq!(all.split.unwrap()[2..4], [Part::Train, Part::Test]);
}

#[test]
fn lists_that_cannot_be_read_are_named() {
    for name in ["split", "id", "label", "classes"] {
        let e = message(&format!("object_{name}.npz"));
        assert!(e.starts_with(&format!("array {name} (shape [")), "{e}");
        assert!(
            e.contains("Python objects") && e.contains(".astype(str)"),
            "{e}"
        );
        let options = ReadOptions::default();
        assert!(inspect(path(&format!("object_{name}.npz")), &options).is_err());
    }
    assert!(message("onehot.npz").contains("[5, 3] of whole numbers) is not a list"));
    let long = message("long_word.npz");
    assert!(long.contains("more than 16384 letters"), "{long}");
    let ids = ["a", "b", "c", "d", "e"].map(str::to_owned);
    for name in ["object_label.npz", "onehot.npz", "long_word.npz"] {
        let e = read_labels(path(name), &ids).unwrap_err();
        assert!(e.to_string().contains("array label (shape"), "{e}");
        // Labels in a file of their own replace them.
        let other = ReadOptions {
            labels: Some(path("labels_S.npy")),
            ..ReadOptions::default()
        };
        let all = read(path(name), &other, &Monitor::silent()).unwrap();
        assert_eq!(all.labels.unwrap().n_known(), 4);
    }
}

/// What is said while a file is read, warnings and notes.
fn said(name: &str) -> (Collection, Vec<String>) {
    let heard = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let listens = heard.clone();
    let monitor = Monitor::new(move |event| {
        if let likewise::Event::Warning(text) | likewise::Event::Note(text) = event {
            listens.lock().unwrap().push(text.clone());
        }
    });
    let all = read(path(name), &ReadOptions::default(), &monitor).unwrap();
    let heard = heard.lock().unwrap().clone();
    (all, heard)
}

#[test]
fn labels_of_one_part_are_kept_and_the_other_is_unlabeled() {
    let (all, said) = said("parts_some.npz");
    let labels = all.labels.unwrap();
    let unknown = Label::Unknown;
    let expected = [Label::Known(0), Label::Known(1), unknown, unknown, unknown];
    assert_eq!(labels.items(), expected);
    assert_eq!(all.split.unwrap()[2..4], [Part::Train, Part::Test]);
    assert!(said[0].contains("part test have no labels"), "{said:?}");
}

#[test]
fn the_index_of_a_frame_is_no_feature_and_its_classes_are_labels() {
    let (all, said) = said("frame.parquet");
    assert_eq!(matrix(&all, "features"), x().slice(ndarray::s![.., ..2]));
    assert_eq!(all.ids()[1], "1");
    let labels = all.labels.unwrap();
    assert_eq!((labels.classes().len(), labels.n_known()), (2, 4));
    assert_eq!(
        said,
        [
            "features are 2 columns: \"f\", \"g\"; labels are column \"class\"; \
             left out, as numbers of rows: \"__index_level_0__\""
        ]
    );
    let shape = inspect(path("frame.parquet"), &ReadOptions::default()).unwrap();
    assert_eq!(shape.views, [("features".to_owned(), 2)]);
}

#[test]
fn classes_beside_a_file_of_labels_are_no_feature_and_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (data, labels) = (folder.path().join("d.csv"), folder.path().join("l.csv"));
    std::fs::write(&data, "id,class,w\na,1,5\nb,2,6\n").unwrap();
    std::fs::write(&labels, "id,label\na,x\nb,y\n").unwrap();
    let heard = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let listens = heard.clone();
    let monitor = Monitor::new(move |event| {
        if let likewise::Event::Warning(text) = event {
            listens.lock().unwrap().push(text.clone());
        }
    });
    let options = ReadOptions {
        labels: Some(labels),
        ..ReadOptions::default()
    };
    let all = read(&data, &options, &monitor).unwrap();
    assert_eq!(matrix(&all, "features"), array![[5.0], [6.0]]);
    assert_eq!(all.labels.unwrap().classes(), ["x", "y"]);
    let heard = heard.lock().unwrap();
    assert_eq!(heard.len(), 1);
    assert!(
        heard[0].starts_with("column \"class\" is left out"),
        "{heard:?}"
    );
}

#[test]
fn features_too_large_to_compute_with_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("large.npy");
    let mut large = x();
    large[[2, 1]] = -3.4e38;
    likewise_io::write_npy(&file, large.view()).unwrap();
    let e = read(&file, &ReadOptions::default(), &Monitor::silent()).unwrap_err();
    assert!(
        e.to_string()
            .contains("row 2, column 1 is -3.4e38, too large"),
        "{e}"
    );
    large[[2, 1]] = 3e37;
    likewise_io::write_npy(&file, large.view()).unwrap();
    assert!(read(&file, &ReadOptions::default(), &Monitor::silent()).is_ok());
}

#[test]
fn graphs_of_scipy() {
    for name in ["graph_f64.npz", "graph_csc_f32.npz"] {
        let graph = likewise_io::graph::read(path(name)).unwrap();
        assert_eq!(graph.indptr(), [0, 1, 3, 4]);
        assert_eq!(graph.indices(), [1, 0, 2, 1]);
        assert_eq!(graph.weights(), [0.5, 0.5, 0.25, 0.25]);
    }
    let e = likewise_io::graph::read(path("graph_coo.npz")).unwrap_err();
    assert!(e.to_string().contains(".tocsr()"), "{e}");
    assert!(message("graph_f64.npz").contains("2-dimensional"));
}

#[test]
fn tables_of_every_codec() {
    for codec in ["none", "snappy", "zstd", "gzip", "brotli", "lz4"] {
        let all = load(&format!("table_{codec}.parquet"));
        let names: Vec<&str> = all.views().iter().map(|v| v.name.as_str()).collect();
        assert_eq!(names, ["features", "fixed", "list"]);
        let scalars = array![
            [1.0, 2.0, -2.0, 1.0],
            [3.0, 4.0, -0.5, 0.0],
            [5.0, 6.0, 1.0, 1.0],
            [7.0, 8.0, 2.5, 0.0],
            [9.0, 10.0, 4.0, 1.0]
        ];
        assert_eq!(matrix(&all, "features"), scalars);
        assert_eq!(matrix(&all, "fixed"), x());
        let mut list = x();
        list.row_mut(0).fill(0.0);
        list.row_mut(3).fill(0.0);
        assert_eq!(matrix(&all, "list"), list);
        let present = [false, true, true, false, true];
        assert_eq!(all.views()[2].present.as_deref(), Some(&present[..]));
        assert_eq!(all.views()[1].present, None);
        assert_eq!(all.ids()[2], "ü");
        let labels = all.labels.unwrap();
        assert_eq!(labels.classes(), ["fern", "rose"]);
        assert_eq!(labels[2], Label::Unknown);
        assert_eq!(all.split.unwrap()[3], Part::Test);
    }
    let shape = inspect(path("table_zstd.parquet"), &ReadOptions::default()).unwrap();
    let views = [("features", 4), ("fixed", 3), ("list", 3)];
    assert_eq!(shape.views, views.map(|(name, d)| (name.to_owned(), d)));
    assert_eq!((shape.items, shape.memory()), (5, 200));
}

#[test]
fn tables_that_cannot_be_used_say_why() {
    // A missing number is the median, and the column is brought to one scale.
    let filled = load("null.parquet");
    assert!(matrix(&filled, "features")[[1, 0]].abs() < 1e-12);
    let ragged = message("ragged.parquet");
    assert!(
        ragged.starts_with("column \"v\": row 1: a vector of 1 numbers"),
        "{ragged}"
    );
    assert!(message("odd.parquet").contains("no columns of numbers"));
    let ids = ["7", "8", "9"].map(str::to_owned);
    let labels = read_labels(path("null.parquet"), &ids).unwrap();
    assert_eq!(labels.classes(), ["1", "2"]);
    assert_eq!(labels[1], Label::Unknown);
}

#[test]
fn tensors() {
    let all = load("tensors.safetensors");
    let mut names: Vec<&str> = all.views().iter().map(|v| v.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "b", "z"]);
    assert_eq!(matrix(&all, "a"), x());
    assert_eq!(matrix(&all, "b"), x());
    assert_eq!(matrix(&all, "z"), z());
    assert_eq!(all.labels.unwrap().n_known(), 4);
    let floats = load("float.safetensors").labels.unwrap();
    assert_eq!((floats.classes().len(), floats.n_known()), (2, 4));
    assert_eq!(floats[2], Label::Unknown);
    assert_eq!(read_matrix(path("bf16.safetensors"), None).unwrap(), x());
    assert_eq!(
        read_matrix(path("tensors.safetensors"), Some("z")).unwrap(),
        z()
    );
}

#[test]
fn idx_files_and_folders() {
    let folder = load("mnist");
    let pixels = Array2::from_shape_fn((6, 4), |(i, j)| ((4 * i + j) * 10) as f32);
    assert_eq!(matrix(&folder, "pixels"), pixels);
    assert_eq!(folder.ids()[3..5], ["train-3", "t10k-0"]);
    assert_eq!(folder.split.unwrap()[3..5], [Part::Train, Part::Test]);
    let labels = folder.labels.unwrap();
    assert_eq!(labels.classes(), ["0", "1", "3"]);
    let classes: Vec<u32> = labels.items().iter().filter_map(|l| l.class()).collect();
    assert_eq!(classes, [2, 1, 2, 0, 1, 0]);

    let file = load("mnist/t10k-images-idx3-ubyte.gz");
    assert_eq!(file.ids(), ["0", "1"]);
    assert_eq!(file.labels.unwrap().classes(), ["0", "1"]);
    assert_eq!(matrix(&load("pixels.idx"), "pixels"), pixels);
    assert_eq!(load("pixels.idx").labels, None);
    assert_eq!(matrix(&load("shorts-idx2-short.idx"), "pixels"), z());
    assert!(message("mnist/t10k-labels-idx1-ubyte.gz").contains("labels"));
    let shape = inspect(path("mnist"), &ReadOptions::default()).unwrap();
    assert_eq!((shape.items, shape.views[0].1), (6, 4));
    assert_eq!(
        read_beside(path("mnist/t10k-images-idx3-ubyte.gz")),
        [path("mnist/t10k-labels-idx1-ubyte.gz")]
    );
    assert_eq!(read_beside(path("mnist")).len(), 4);
    assert!(read_beside(path("pixels.idx")).is_empty());
    let ids = ["a", "b"].map(str::to_owned);
    let labels = read_labels(path("mnist/t10k-labels-idx1-ubyte.gz"), &ids).unwrap();
    assert_eq!(labels.n_known(), 2);
}

#[test]
fn labels_of_every_kind() {
    let ids = ["a", "b", "c", "d", "e"].map(str::to_owned);
    for name in ["labels_U.npy", "labels_S.npy", "labels_be_U.npy"] {
        let labels = read_labels(path(name), &ids).unwrap();
        assert_eq!(labels.classes(), ["fern", "rose"], "{name}");
        assert_eq!(labels[2], Label::Unknown);
    }
    let labels = read_labels(path("labels_float.npy"), &ids).unwrap();
    assert_eq!(labels.classes(), ["0", "1"]);
    assert_eq!(labels[2], Label::Unknown);
    let e = read_labels(path("labels_fraction.npy"), &ids).unwrap_err();
    assert!(e.to_string().contains("row 1: label 1.5"), "{e}");
    let e = read_labels(path("labels_U.npy"), &ids[..2]).unwrap_err();
    assert!(e.to_string().contains("5 labels for 2 items"), "{e}");
    let archive = read_labels(path("stored.npz"), &ids).unwrap();
    assert_eq!(archive.classes(), ["rose", "fern"]);

    let other = ReadOptions {
        labels: Some(path("labels_S.npy")),
        ..ReadOptions::default()
    };
    let all = read(path("stored.npz"), &other, &Monitor::silent()).unwrap();
    assert_eq!(all.labels.unwrap().classes(), ["fern", "rose"]);
}

#[test]
fn a_memory_limit_names_both_figures_before_anything_is_read() {
    let files = [
        "x_le_f8.npy",
        "compressed.npz",
        "table_zstd.parquet",
        "tensors.safetensors",
        "pixels.idx",
        "mnist",
    ];
    for name in files {
        let options = ReadOptions {
            max_memory: Some(39),
            ..ReadOptions::default()
        };
        let e = read(path(name), &options, &Monitor::silent()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Memory, "{name}: {e}");
        assert!(e.to_string().contains("39 bytes"), "{name}: {e}");
    }
}

#[test]
fn a_cancelled_monitor_stops_every_reader() {
    for name in [
        "x_le_f8.npy",
        "compressed.npz",
        "table_zstd.parquet",
        "tensors.safetensors",
        "mnist",
    ] {
        let monitor = Monitor::silent();
        monitor.cancel();
        let e = read(path(name), &ReadOptions::default(), &monitor).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Cancelled, "{name}: {e}");
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    for name in [
        "x_fortran.npy",
        "compressed.npz",
        "table_gzip.parquet",
        "mnist",
    ] {
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.unwrap().install(|| load(name))
        };
        assert_eq!(with(1), with(2), "{name}");
    }
}

#[test]
fn what_is_not_data_is_refused() {
    let message = |name: &str| {
        let e = read(path(name), &ReadOptions::default(), &Monitor::silent()).unwrap_err();
        (e.kind(), e.to_string())
    };
    let (kind, text) = message("");
    assert_eq!(kind, ErrorKind::Parameter);
    assert!(text.contains("read by likewise-image"), "{text}");
    let (kind, text) = message("make.py");
    assert_eq!(kind, ErrorKind::Parameter);
    assert!(text.contains(".safetensors"), "{text}");
    assert_eq!(message("none.jpg").0, ErrorKind::NotFound);
    assert_eq!(message("none").0, ErrorKind::NotFound);
}
