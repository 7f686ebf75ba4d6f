//! What an encoder or a descriptor made of images, kept for the next time.
//!
//! One file for each encoder and preprocessing, or descriptor, in this order, integers little-endian:
//! 16 bytes of magic, SHA-256 of the key (32), columns (4), rows (8); then for each row
//! the SHA-256 of the image file (32) and its features as `f32`, sorted by the former; and at
//! last the SHA-256 of all before. A file that is not exactly this is not used. It is
//! replaced whole, by an atomic rename: a reader sees the old or the new one. Two writers at
//! the same moment may lose rows, which are then made again; never do they mix.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use likewise_io::memory;
use sha2::{Digest, Sha256};

use crate::encoder::Encoder;
use crate::load::value;
use crate::{ErrorKind, Result};

const MAGIC: &[u8; 16] = b"likewise-cache 1";

/// What the names of the files begin and end with, and how many hexadecimal digits stand between.
const START: &str = "features-";
const END: &str = ".bin";
const DIGITS: usize = 16;

/// Whether a file is one in which [features](crate::features()) are kept: its name and its first bytes say so.
pub fn is_kept_features(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let digits = name.and_then(|name| name.strip_prefix(START)?.strip_suffix(END));
    let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let is_named =
        digits.is_some_and(|digits| digits.len() == DIGITS && digits.bytes().all(is_digit));
    let is_file = || path.symlink_metadata().is_ok_and(|about| about.is_file());
    is_named && is_file() && begins_with_magic(path)
}

fn begins_with_magic(path: &Path) -> bool {
    let mut start = [0; MAGIC.len()];
    let read =
        likewise_io::open(path).is_ok_and(|(mut file, _)| file.read_exact(&mut start).is_ok());
    read && start == *MAGIC
}

/// Raised whenever the same images and weights come to give other features.
const FEATURES: u32 = 2;

/// SHA-256 of an image file.
pub(crate) type Content = [u8; 32];

/// The rows of one encoder or descriptor.
#[derive(Debug)]
pub(crate) struct Cache {
    path: PathBuf,
    key: [u8; 32],
    columns: usize,
}

impl Cache {
    /// The cache of an encoder in this folder, which is made if need be.
    pub(crate) fn new(folder: &Path, encoder: &Encoder) -> Result<Self> {
        let preprocess = serde_json::to_string(&encoder.preprocess)
            .map_err(|e| value(format!("preprocess: {e}")))?;
        let what = format!("{}\n{preprocess}", encoder.digest);
        Self::of(folder, &what, encoder.dimensions)
    }

    /// The cache of rows of so many columns, made by what this text tells apart.
    pub(crate) fn of(folder: &Path, what: &str, columns: usize) -> Result<Self> {
        std::fs::create_dir_all(folder)
            .map_err(|e| crate::Error::from(e).within(folder.display()))?;
        let key = format!("{FEATURES}\n{what}");
        let key: [u8; 32] = Sha256::digest(key.as_bytes()).into();
        let start = key.iter().take(8);
        let name = start.fold(0_u64, |name, &byte| (name << 8) | u64::from(byte));
        Ok(Self {
            path: folder.join(format!("{START}{name:0DIGITS$x}{END}")),
            key,
            columns,
        })
    }

    /// All rows; none if there is no file, and a message if it cannot be used.
    pub(crate) fn load(&self) -> Result<BTreeMap<Content, Vec<f32>>> {
        let bytes = match likewise_io::read_file(&self.path, memory::allowed(None) / 4) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
            read => read?,
        };
        self.parse(&bytes).ok_or_else(|| {
            let path = self.path.display();
            value(format!(
                "{path}: a damaged cache of features; they are made again"
            ))
        })
    }

    fn parse(&self, bytes: &[u8]) -> Option<BTreeMap<Content, Vec<f32>>> {
        let (body, sum) = bytes.split_last_chunk::<32>()?;
        if Sha256::digest(body)[..] != sum[..] {
            return None;
        }
        let rest = body.strip_prefix(self.head().as_slice())?;
        let (count, rows) = rest.split_first_chunk::<8>()?;
        let width = 32 + 4 * self.columns;
        if u64::from_le_bytes(*count).checked_mul(width as u64) != Some(rows.len() as u64) {
            return None;
        }
        rows.chunks_exact(width)
            .map(|row| {
                let (content, values) = row.split_first_chunk::<32>()?;
                let (values, _) = values.as_chunks::<4>();
                Some((
                    *content,
                    values.iter().map(|v| f32::from_le_bytes(*v)).collect(),
                ))
            })
            .collect()
    }

    fn head(&self) -> Vec<u8> {
        let columns = self.columns as u32;
        [&MAGIC[..], &self.key, &columns.to_le_bytes()].concat()
    }

    /// Adds rows to the file, beside those that others wrote in the meantime.
    pub(crate) fn add(&self, new: BTreeMap<Content, Vec<f32>>) -> Result<()> {
        // A damaged file was complained of when it was loaded.
        let mut rows = self.load().unwrap_or_default();
        rows.extend(new);
        likewise_io::atomic::write(&self.path, |file| {
            let mut hash = Sha256::new();
            let mut write = |bytes: &[u8]| {
                hash.update(bytes);
                file.write_all(bytes)
            };
            write(&self.head())?;
            write(&(rows.len() as u64).to_le_bytes())?;
            for (content, row) in &rows {
                write(content)?;
                let bytes: Vec<u8> = row.iter().flat_map(|v| v.to_le_bytes()).collect();
                write(&bytes)?;
            }
            file.write_all(&hash.finalize())?;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(numbers: &[u8]) -> BTreeMap<Content, Vec<f32>> {
        let row = |&n: &u8| ([n; 32], vec![f32::from(n); 3072]);
        numbers.iter().map(row).collect()
    }

    #[test]
    fn rows_come_back_and_are_merged() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(&folder.path().join("new"), &Encoder::pixels(32)).unwrap();
        assert!(cache.load().unwrap().is_empty() && !is_kept_features(&cache.path));
        cache.add(rows(&[3, 1])).unwrap();
        assert!(is_kept_features(&cache.path));
        cache.add(rows(&[2])).unwrap();
        assert_eq!(cache.load().unwrap(), rows(&[1, 2, 3]));
        let mut other = Encoder::pixels(32);
        other.digest = "another".into();
        let other = Cache::new(&folder.path().join("new"), &other).unwrap();
        assert_ne!(other.path, cache.path);
        // The right name with another's content is not used.
        std::fs::copy(&cache.path, &other.path).unwrap();
        assert!(other.load().is_err());
    }

    #[test]
    fn a_damaged_file_is_not_used_but_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), &Encoder::pixels(32)).unwrap();
        cache.add(rows(&[1, 2])).unwrap();
        let whole = std::fs::read(&cache.path).unwrap();
        for length in (0..whole.len()).step_by(977) {
            assert!(cache.parse(&whole[..length]).is_none());
        }
        for at in (0..whole.len()).step_by(977) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            assert!(cache.parse(&bytes).is_none());
        }
        std::fs::write(&cache.path, &whole[..100]).unwrap();
        assert!(cache.load().unwrap_err().to_string().contains("damaged"));
        cache.add(rows(&[4])).unwrap();
        assert_eq!(cache.load().unwrap(), rows(&[4]));
    }
}
