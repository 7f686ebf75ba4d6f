//! Index files of faiss: written, not read.
//!
//! A flat index is its vectors behind a short head, so that faiss can read what it did not write.
//! Numbers are little-endian. What an index answers with are the numbers of the items that it was
//! given, in place of the rows of the file.

use std::io::{Read, Write};
use std::path::Path;

use ndarray::{ArrayView2, Axis};

use crate::{Error, Result, atomic};

/// How a flat index compares its vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compared {
    /// By their inner product; of rows of length 1 that is the cosine.
    InnerProduct,
    /// By their squared Euclidean distance.
    Euclidean,
}

/// What stands in a file for "any number", where faiss no longer reads it.
const UNUSED: i64 = 1 << 20;

/// Writes an `IndexFlatIP` or `IndexFlatL2` of the rows (`n x d`), atomically. It answers with the row
/// of an item, or with its number in `numbers` where there are some (an `IndexIDMap`).
///
/// Fails where there are not as many numbers as rows. O(n d).
pub fn write_flat(
    path: impl AsRef<Path>,
    rows: ArrayView2<f32>,
    compared: Compared,
    numbers: Option<&[i64]>,
) -> Result<()> {
    let (kind, metric) = match compared {
        Compared::InnerProduct => (b"IxFI", 0_i32),
        Compared::Euclidean => (b"IxF2", 1),
    };
    let (n, d) = rows.dim();
    check(path.as_ref(), n, numbers)?;
    let head = |kind: &[u8; 4]| {
        let mut head = kind.to_vec();
        head.extend((d as i32).to_le_bytes());
        for value in [n as i64, UNUSED, UNUSED] {
            head.extend(value.to_le_bytes());
        }
        // Trained.
        head.push(1);
        head.extend(metric.to_le_bytes());
        head
    };
    atomic::write(path, |file| {
        if numbers.is_some() {
            file.write_all(&head(b"IxMp"))?;
        }
        file.write_all(&head(kind))?;
        file.write_all(&((n * d) as u64).to_le_bytes())?;
        for row in rows.axis_iter(Axis(0)) {
            for value in row {
                file.write_all(&value.to_le_bytes())?;
            }
        }
        end(file, numbers)
    })
}

/// Writes an `IndexBinaryFlat` of codes (`n x bytes`), which compares them by the number of bits that
/// differ; otherwise as [`write_flat`] (an `IndexBinaryIDMap`).
pub fn write_binary(
    path: impl AsRef<Path>,
    codes: ArrayView2<u8>,
    numbers: Option<&[i64]>,
) -> Result<()> {
    let (n, bytes) = codes.dim();
    check(path.as_ref(), n, numbers)?;
    let head = |kind: &[u8; 4]| {
        let mut head = kind.to_vec();
        head.extend((8 * bytes as i32).to_le_bytes());
        head.extend((bytes as i32).to_le_bytes());
        head.extend((n as i64).to_le_bytes());
        head.push(1);
        // By the Euclidean distance, which of bits is that of Hamming.
        head.extend(1_i32.to_le_bytes());
        head
    };
    atomic::write(path, |file| {
        if numbers.is_some() {
            file.write_all(&head(b"IBMp"))?;
        }
        file.write_all(&head(b"IBxF"))?;
        file.write_all(&((n * bytes) as u64).to_le_bytes())?;
        for row in codes.axis_iter(Axis(0)) {
            file.write_all(&row.to_vec())?;
        }
        end(file, numbers)
    })
}

/// Vectors that a file of ours says it holds. Fails for any other file, and for one of another length
/// than it says.
pub fn count(path: impl AsRef<Path>) -> Result<usize> {
    let path = path.as_ref();
    let counted = || {
        let (mut file, length) = crate::open(path)?;
        let mut head = [0; 20];
        file.read_exact(&mut head)?;
        let d = i64::from(i32::from_le_bytes([4, 5, 6, 7].map(|i| head[i])));
        // Bytes of a vector, of the head, and of the one before it where there are numbers.
        let (at, vector, own) = match &head[..4] {
            b"IxFI" | b"IxF2" => (8, 4 * d, 45),
            b"IxMp" => (8, 4 * d + 8, 45 + 37 + 8),
            b"IBxF" => (12, d / 8, 33),
            b"IBMp" => (12, d / 8 + 8, 33 + 25 + 8),
            _ => return Err(Error::format("not an index of this kind")),
        };
        let n = i64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|i| head[at + i]));
        if n.checked_mul(vector).and_then(|v| v.checked_add(own)) != i64::try_from(length).ok() {
            return Err(Error::format(format!("{length} bytes for {n} vectors")));
        }
        Ok(n as usize)
    };
    counted().map_err(|e: Error| e.within(path.display()))
}

fn check(path: &Path, n: usize, numbers: Option<&[i64]>) -> Result<()> {
    match numbers {
        Some(numbers) if numbers.len() != n => {
            let message = format!("{n} vectors with {} numbers; give one each", numbers.len());
            Err(Error::value(message).within(path.display()))
        }
        _ => Ok(()),
    }
}

/// The numbers, behind the index that they are of.
fn end(file: &mut impl Write, numbers: Option<&[i64]>) -> Result<()> {
    let Some(numbers) = numbers else {
        return Ok(());
    };
    file.write_all(&(numbers.len() as u64).to_le_bytes())?;
    for number in numbers {
        file.write_all(&number.to_le_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    fn written(write: impl FnOnce(&Path) -> Result<()>) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.faiss");
        write(&path).unwrap();
        assert_eq!(count(&path).unwrap(), 3);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert!(count(&path).is_err());
        bytes
    }

    /// What faiss 1.15 wrote for these vectors.
    #[test]
    fn the_bytes_are_those_that_faiss_writes() {
        let x = array![[1.0, 2.0], [3.0, 4.0], [0.5, -1.0_f32]];
        for (name, compared) in [("ip", Compared::InnerProduct), ("l2", Compared::Euclidean)] {
            let expected = sample(name);
            let bytes = written(|path| write_flat(path, x.view(), compared, None));
            assert_eq!(bytes, expected, "{name}");
        }
        let numbers = [5, 7, 9];
        let bytes =
            written(|path| write_flat(path, x.view(), Compared::InnerProduct, Some(&numbers)));
        assert_eq!(bytes, sample("ip-map"));
        let codes = array![[1_u8, 2], [3, 4], [255, 0]];
        assert_eq!(
            written(|path| write_binary(path, codes.view(), None)),
            sample("binary")
        );
        let bytes = written(|path| write_binary(path, codes.view(), Some(&numbers)));
        assert_eq!(bytes, sample("binary-map"));
    }

    fn sample(name: &str) -> Vec<u8> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/faiss");
        std::fs::read(folder.join(name).with_extension("faiss")).unwrap()
    }

    #[test]
    fn one_number_each() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.faiss");
        let x = array![[1.0_f32]];
        let said = write_flat(&path, x.view(), Compared::Euclidean, Some(&[])).unwrap_err();
        assert!(said.to_string().contains("give one each"), "{said}");
        assert!(!path.exists());
    }
}
