//! Small files that stand for much: refused by what they would take, before it is taken.

use std::io::Write;
use std::sync::Arc;

use likewise::Monitor;
use likewise_io::{ErrorKind, Form, ReadOptions, Result, memory, read, read_bytes};
use parquet::basic::{Compression, Encoding, Repetition, Type as Physical};
use parquet::column::writer::ColumnCloseResult;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

/// A number in Thrift's compact form and in Parquet's runs.
fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// The header of a page: its kind, its length, and the fields of that kind.
fn header(kind: u64, length: usize, own: u8, fields: &[u64]) -> Vec<u8> {
    let field = |number: u64| [vec![0x15], varint(2 * number)].concat();
    let length = length as u64;
    let mut bytes = [field(kind), field(length), field(length), vec![own]].concat();
    bytes.extend(fields.iter().flat_map(|&number| field(number)));
    bytes.extend([0, 0]);
    bytes
}

/// `count` times the same value, of one bit.
fn run(count: u64, value: u8) -> Vec<u8> {
    [varint(2 * count), vec![value]].concat()
}

fn levels(runs: &[Vec<u8>]) -> Vec<u8> {
    let runs = runs.concat();
    [&(runs.len() as u32).to_le_bytes()[..], &runs].concat()
}

/// A table of columns of floats, each one value in a dictionary and one run of it: as many rows,
/// or a single row with a vector of so many numbers.
fn one_run(columns: &[&str], count: u64, vector: bool) -> Vec<u8> {
    let repetition = if vector {
        Repetition::REPEATED
    } else {
        Repetition::REQUIRED
    };
    let fields = columns.iter().map(|name| {
        let field = Type::primitive_type_builder(name, Physical::FLOAT);
        Arc::new(field.with_repetition(repetition).build().unwrap())
    });
    let schema = Type::group_type_builder("items").with_fields(fields.collect());
    let schema = Arc::new(schema.build().unwrap());
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, schema, Arc::default()).unwrap();
    let described = writer.schema_descr().columns().to_vec();
    let mut group = writer.next_row_group().unwrap();
    for column in described {
        let dictionary = 1.5_f32.to_le_bytes();
        let mut data = Vec::new();
        if vector {
            data.extend(levels(&[run(1, 0), run(count - 1, 1)]));
            data.extend(levels(&[run(count, 1)]));
        }
        data.extend([vec![1], run(count, 0)].concat());
        let mut chunk = [&header(2, 4, 0x4c, &[1, 0])[..], &dictionary].concat();
        let data_at = chunk.len() as i64;
        chunk.extend(header(0, data.len(), 0x2c, &[count, 8, 3, 3]));
        chunk.extend(data);
        let metadata = ColumnChunkMetaData::builder(column)
            .set_compression(Compression::UNCOMPRESSED)
            .set_encodings(vec![Encoding::RLE_DICTIONARY, Encoding::PLAIN])
            .set_num_values(count as i64)
            .set_total_compressed_size(chunk.len() as i64)
            .set_total_uncompressed_size(chunk.len() as i64)
            .set_dictionary_page_offset(Some(0))
            .set_data_page_offset(data_at)
            .build();
        let close = ColumnCloseResult {
            bytes_written: chunk.len() as u64,
            rows_written: if vector { 1 } else { count },
            metadata: metadata.unwrap(),
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        group
            .append_column(&bytes::Bytes::from(chunk), close)
            .unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    file
}

fn with(limit: Option<u64>, form: Form, bytes: &[u8]) -> Result<likewise::Collection> {
    let options = ReadOptions {
        max_memory: limit,
        ..ReadOptions::default()
    };
    read_bytes(form, bytes, &options)
}

#[track_caller]
fn too_much<T: std::fmt::Debug>(result: Result<T>, words: &str) {
    let e = result.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Memory, "{e}");
    assert!(e.to_string().contains(words), "{e}");
}

/// Whether this machine would read what takes 200 GiB.
fn huge() -> bool {
    let huge = memory::available() > 200 << 30;
    if huge {
        println!("this machine has the memory for it");
    }
    huge
}

#[test]
fn parquet_of_one_run() {
    let small = with(None, Form::Parquet, &one_run(&["a", "b", "c"], 1000, false)).unwrap();
    assert_eq!(
        small.views()[0].matrix,
        ndarray::Array2::from_elem((1000, 3), 1.5)
    );
    let small = with(None, Form::Parquet, &one_run(&["a"], 1000, true)).unwrap();
    assert_eq!(
        small.views()[0].matrix,
        ndarray::Array2::from_elem((1, 1000), 1.5)
    );
    // Ids count: the features alone need only 4 MB.
    let limit = Some(50_000_000);
    too_much(
        with(limit, Form::Parquet, &one_run(&["a"], 1_000_000, false)),
        "are allowed",
    );
    too_much(
        with(limit, Form::Parquet, &one_run(&["a"], 100_000_000, true)),
        "100000000 values",
    );
    if huge() {
        return;
    }
    let most = (1 << 31) - 1;
    let names: Vec<String> = (0..16).map(|c| format!("c{c}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let bomb = one_run(&["a"], most, false);
    assert!(bomb.len() < 300, "{}", bomb.len());
    too_much(with(None, Form::Parquet, &bomb), "to be had");
    too_much(
        with(None, Form::Parquet, &one_run(&names, most, false)),
        "to be had",
    );
    too_much(
        likewise_io::read_labels_bytes(Form::Parquet, &one_run(&["label"], most, false), &[]),
        "to be had",
    );
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

#[test]
fn gzipped_pictures_of_a_header_alone() {
    let head = |sizes: &[u32]| {
        let mut bytes = vec![0, 0, 8, sizes.len() as u8];
        bytes.extend(sizes.iter().flat_map(|n| n.to_be_bytes()));
        gzipped(&bytes)
    };
    let bomb = head(&[u32::MAX, 1000, 1000]);
    too_much(with(None, Form::IdxGz, &bomb), "to be had");
    if !huge() {
        let labels = likewise_io::read_labels_bytes(Form::IdxGz, &head(&[u32::MAX]), &[]);
        if memory::available() < 64 << 30 {
            too_much(labels, "to be had");
        }
    }
}

/// Zeros in an archive, as `u8`.
fn zeros(rows: usize, columns: usize) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let deflated = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Deflated);
    zip.start_file("x.npy", deflated).unwrap();
    let head =
        format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let head = format!("{head:<117}\n");
    zip.write_all(b"\x93NUMPY\x01\x00\x76\x00").unwrap();
    zip.write_all(head.as_bytes()).unwrap();
    zip.write_all(&vec![0; rows * columns]).unwrap();
    zip.finish().unwrap().into_inner()
}

#[test]
fn deflated_zeros() {
    let file = zeros(1000, 1000);
    assert!(file.len() < 3000);
    assert_eq!(with(None, Form::Npz, &file).unwrap().len(), 1000);
    too_much(with(Some(4_000_000), Form::Npz, &file), "are allowed");
    assert!(with(Some(4_200_000), Form::Npz, &file).is_ok());
}

#[test]
fn many_small_arrays() {
    const N: usize = 20_000;
    let entries =
        (0..N).map(|i| format!(r#""t{i}":{{"dtype":"F32","shape":[{i},0],"data_offsets":[0,0]}}"#));
    let json = format!("{{{}}}", entries.collect::<Vec<_>>().join(","));
    let mut file = (json.len() as u64).to_le_bytes().to_vec();
    file.extend(json.bytes());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.safetensors");
    std::fs::write(&path, file).unwrap();
    let shape = likewise_io::inspect(&path, &ReadOptions::default()).unwrap();
    assert_eq!((shape.items, shape.views.len()), (N - 1, 1));
}

/// Files whose length proves what they say, and that take no room on the disk.
#[test]
fn files_with_holes() {
    let folder = tempfile::tempdir().unwrap();
    let hollow = |name: &str, head: &[u8], bytes: u64| {
        let path = folder.path().join(name);
        std::fs::write(&path, head).unwrap();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        match file.set_len(head.len() as u64 + bytes) {
            Ok(()) => too_much(
                read(&path, &ReadOptions::default(), &Monitor::silent()),
                "to be had",
            ),
            Err(e) => println!("no such file here: {e}"),
        }
    };
    if huge() {
        return;
    }
    let npy = "{'descr': '<f4', 'fortran_order': False, 'shape': (1073741824, 256), }";
    let mut head = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    head.extend(format!("{npy:<117}\n").bytes());
    hollow("x.npy", &head, 1 << 40);
    let json = r#"{"x":{"dtype":"F32","shape":[1073741824,256],"data_offsets":[0,1099511627776]}}"#;
    let mut head = (json.len() as u64).to_le_bytes().to_vec();
    head.extend(json.bytes());
    hollow("x.safetensors", &head, 1 << 40);
}

#[test]
fn words_count() {
    let long = "x".repeat(1000);
    let rows = (0..1000).map(|i| format!("{long}{i},1\n"));
    let csv = format!("id,a\n{}", rows.collect::<String>());
    assert!(with(Some(1_300_000), Form::Csv, csv.as_bytes()).is_ok());
    too_much(
        with(Some(1_000_000), Form::Csv, csv.as_bytes()),
        "are allowed",
    );
}
