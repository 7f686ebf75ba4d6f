//! Small valid data sets in each form.

use std::collections::BTreeMap;
use std::io::{Cursor, Write};

use rand::RngExt;
use rand_chacha::rand_core::SeedableRng;
use safetensors::tensor::{Dtype, TensorView};

use super::Rng;
use super::kind::Files;
use crate::data::Result;

/// Items and features of the set that most kinds use; a third of the items to a class.
pub(super) const N: usize = 60;
pub(super) const D: usize = 4;
const CLASSES: [&str; 3] = ["red", "green", "blue"];

/// Features of three classes that overlap a little.
pub(super) fn features() -> Vec<f32> {
    let mut rng = Rng::seed_from_u64(1);
    let value = |i: usize| {
        let (item, column) = (i / D, i % D);
        let own = if column == item % CLASSES.len() {
            2.0
        } else {
            0.0
        };
        own + rng.random_range(-1.0_f32..1.0)
    };
    (0..N * D).map(value).collect()
}

/// A table with ids, labels and features, cells divided by `separator`.
pub(super) fn table(separator: char) -> Vec<u8> {
    let head = ["id", "label", "a", "b", "c", "d"];
    let mut text = head.join(&separator.to_string()) + "\n";
    for (item, row) in features().chunks(D).enumerate() {
        let mut cells = vec![format!("i{item}"), CLASSES[item % CLASSES.len()].to_owned()];
        cells.extend(row.iter().map(ToString::to_string));
        text += &(cells.join(&separator.to_string()) + "\n");
    }
    text.into_bytes()
}

/// A table of labels of every item but each `skip`-th.
pub(super) fn labels(id: impl Fn(usize) -> String, skip: usize) -> Vec<u8> {
    let kept = (0..N).filter(|item| item % skip > 0);
    let line = |item: usize| format!("{},{}\n", id(item), CLASSES[item % CLASSES.len()]);
    ("id,label\n".to_owned() + &kept.map(line).collect::<String>()).into_bytes()
}

/// An array of numpy.
pub(super) fn npy(kind: &str, shape: &[usize], values: &[u8]) -> Vec<u8> {
    let mut bytes = npy_head(kind, shape);
    bytes.extend(values);
    bytes
}

/// What stands before the values in the file of an array of numpy.
pub(crate) fn npy_head(kind: &str, shape: &[usize]) -> Vec<u8> {
    let mut sizes: Vec<String> = shape.iter().map(ToString::to_string).collect();
    sizes.push(String::new());
    let shape = sizes.join(", ");
    let head = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape}), }}");
    // Head and the ten bytes before it fill whole blocks of 64.
    let width = (head.len() + 11).next_multiple_of(64) - 11;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((width as u16 + 1).to_le_bytes());
    bytes.extend(format!("{head:<width$}\n").bytes());
    bytes
}

pub(super) fn npy_f32(shape: &[usize], values: &[f32]) -> Vec<u8> {
    npy(
        "<f4",
        shape,
        &values
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect::<Vec<_>>(),
    )
}

fn codes() -> Vec<u8> {
    let codes = (0..N).map(|item| (item % CLASSES.len()) as i64);
    codes.flat_map(i64::to_le_bytes).collect()
}

/// The labels as an array of their own.
pub(super) fn label_codes() -> Vec<u8> {
    npy("<i8", &[N], &codes())
}

/// Features and labels as arrays in a zip.
pub(super) fn npz() -> Result<Vec<u8>> {
    let mut archive = zip::ZipWriter::new(Cursor::new(vec![]));
    let options = zip::write::SimpleFileOptions::default();
    for (name, array) in [
        ("a.npy", npy_f32(&[N, D], &features())),
        ("label.npy", label_codes()),
    ] {
        archive.start_file(name, options)?;
        archive.write_all(&array)?;
    }
    Ok(archive.finish()?.into_inner())
}

pub(super) fn safetensors() -> Result<Vec<u8>> {
    let values: Vec<u8> = features().iter().flat_map(|v| v.to_le_bytes()).collect();
    let codes = codes();
    let tensors = BTreeMap::from([
        ("a", TensorView::new(Dtype::F32, vec![N, D], &values)?),
        ("label", TensorView::new(Dtype::I64, vec![N], &codes)?),
    ]);
    Ok(safetensors::serialize(tensors, None)?)
}

/// One file.
pub(super) fn files<const M: usize>(files: [(&str, Vec<u8>); M]) -> Files {
    let named = files
        .into_iter()
        .map(|(name, content)| (name.to_owned(), content));
    named.collect()
}
