//! Damaged and hostile files never panic, and never take memory that their size does not
//! explain.
//!
//! A program of its own: it looks at the most memory that its process ever held.

use std::path::Path;

use likewise_io::{ErrorKind, Form, ReadOptions, read_bytes};
use proptest::prelude::*;

/// Small valid files of every form.
const VALID: [(&str, Form); 19] = [
    ("x_le_f8.npy", Form::Npy),
    ("x_fortran.npy", Form::Npy),
    ("labels_U.npy", Form::Npy),
    ("stored.npz", Form::Npz),
    ("compressed.npz", Form::Npz),
    ("graph_f64.npz", Form::Npz),
    ("table_none.parquet", Form::Parquet),
    ("table_zstd.parquet", Form::Parquet),
    ("table_snappy.parquet", Form::Parquet),
    ("table_brotli.parquet", Form::Parquet),
    ("table_lz4.parquet", Form::Parquet),
    ("tensors.safetensors", Form::Safetensors),
    ("parts_some.npz", Form::Npz),
    ("frame.parquet", Form::Parquet),
    ("float.safetensors", Form::Safetensors),
    ("stock.xlsx", Form::Xlsx),
    ("pixels.idx", Form::Idx),
    ("mnist/train-images-idx3-ubyte.gz", Form::IdxGz),
    ("mnist/train-labels-idx1-ubyte.gz", Form::IdxGz),
];

fn file(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    std::fs::read(folder.join(name)).unwrap()
}

/// Every reader that takes bytes, on these bytes; whether one of them is the first.
fn read_all(form: Form, bytes: &[u8]) {
    let options = ReadOptions {
        max_memory: Some(64 << 20),
        ..ReadOptions::default()
    };
    let ids = ["a", "b", "c", "d", "e"].map(str::to_owned);
    if let Ok(collection) = read_bytes(form, bytes, &options) {
        for view in collection.views() {
            assert!(view.matrix.iter().all(|v| v.is_finite()));
            assert_eq!(view.matrix.nrows(), collection.len());
        }
    }
    let _ = likewise_io::read_labels_bytes(form, bytes, &ids);
    match form {
        Form::Npz => {
            let _ = likewise_io::graph::read_bytes(bytes);
            let _ = likewise_io::beliefs::read_bytes(bytes);
        }
        Form::Parquet => {
            let _ = likewise_io::items::read_bytes(bytes);
        }
        _ => {}
    }
}

#[test]
fn a_size_of_zero_does_not_hide_the_others() {
    let mut bytes = vec![0, 0, 8, 4, 0, 0, 0, 0];
    bytes.extend([0xff; 12]);
    let e = read_bytes(Form::Idx, &bytes, &ReadOptions::default()).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Format);
    let mut npy = b"\x93NUMPY\x01\x00\x4c\x00".to_vec();
    let header = "{'descr': '<f4', 'fortran_order': True, 'shape': (0, 1125899906842624), }";
    npy.extend(format!("{header:<76}").as_bytes());
    let e = read_bytes(Form::Npy, &npy, &ReadOptions::default()).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Value);
}

/// Most memory that this process ever held, in bytes.
#[cfg(target_os = "linux")]
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib << 10
}

#[cfg(not(target_os = "linux"))]
fn peak_memory() -> u64 {
    0
}

#[test]
fn every_prefix_of_a_valid_file_is_refused() {
    for (name, form) in VALID {
        let bytes = file(name);
        for end in 0..bytes.len() {
            let e = read_bytes(form, &bytes[..end], &ReadOptions::default()).unwrap_err();
            let refused = matches!(e.kind(), ErrorKind::Format | ErrorKind::Value);
            assert!(refused, "{name}, {end} bytes: {e}");
        }
    }
    assert!(peak_memory() < 1 << 29);
}

#[test]
fn every_byte_of_a_valid_file_may_be_anything() {
    let damaged = |(name, form): (&str, Form)| {
        let bytes = file(name);
        for at in 0..bytes.len() {
            for mask in [0x01, 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] ^= mask;
                read_all(form, &bytes);
            }
        }
    };
    std::thread::scope(|threads| {
        for valid in VALID {
            threads.spawn(move || damaged(valid));
        }
    });
    assert!(peak_memory() < 1 << 29);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for form in Form::ALL {
            read_all(*form, &bytes);
        }
    }

    #[test]
    fn arbitrary_text(text in "[0-9a-z,;\t\"\n .%-]{0,200}") {
        for form in [Form::Csv, Form::Tsv] {
            read_all(form, text.as_bytes());
        }
    }

    #[test]
    fn arbitrary_objects(text in "(\\{\"[a-c]\": [\\[\\]0-9a-z\",{} .-]{0,20}\\}?\n){0,8}") {
        read_all(Form::Jsonl, text.as_bytes());
    }

    #[test]
    fn valid_files_with_many_bytes_changed(
        which in 0..VALID.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
    ) {
        let (name, form) = VALID[which];
        let mut bytes = file(name);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        read_all(form, &bytes);
    }

    #[test]
    fn valid_files_with_a_piece_cut_out_or_doubled(
        which in 0..VALID.len(),
        from: prop::sample::Index,
        length in 1_usize..64,
        double: bool,
    ) {
        let (name, form) = VALID[which];
        let mut bytes = file(name);
        let from = from.index(bytes.len());
        let to = bytes.len().min(from + length);
        if double {
            let piece = bytes[from..to].to_vec();
            bytes.splice(from..from, piece);
        } else {
            bytes.drain(from..to);
        }
        read_all(form, &bytes);
    }
}
