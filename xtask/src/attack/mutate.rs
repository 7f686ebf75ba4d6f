//! Mutations of bytes: what a bad disk, a bad writer and a forger do to a file.

use std::io::{Cursor, Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use rand::RngExt;
use rand::seq::IndexedRandom;

use super::{Rng, text};
use crate::data::Result;

/// Longest run of bytes that is changed at once.
const RUN: usize = 4000;

/// A file of this name with something wrong in it. `other` lends bytes.
///
/// What is packed (zip, gzip) is unpacked half of the time, so that its reader gets past the
/// checksums to what is inside.
pub(super) fn file(name: &str, content: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    if rng.random_bool(0.5)
        && let Ok(packed) = repacked(content, other, rng)
    {
        return packed;
    }
    if text::ending(name) == "toml" {
        text::toml(content, rng)
    } else if text::is_name(name) && rng.random_bool(0.7) {
        text::lines(content, rng)
    } else {
        bytes(content, other, rng)
    }
}

/// The same archive with one member mutated. Fails on what is none.
fn repacked(content: &[u8], other: &[u8], rng: &mut Rng) -> Result<Vec<u8>> {
    if content.starts_with(&[0x1f, 0x8b]) {
        let mut inside = vec![];
        GzDecoder::new(content).read_to_end(&mut inside)?;
        let mut packed = GzEncoder::new(vec![], Compression::fast());
        packed.write_all(&bytes(&inside, other, rng))?;
        return Ok(packed.finish()?);
    }
    let mut archive = zip::ZipArchive::new(Cursor::new(content))?;
    let chosen = rng.random_range(0..archive.len().max(1));
    let mut packed = zip::ZipWriter::new(Cursor::new(vec![]));
    for i in 0..archive.len() {
        let mut member = archive.by_index(i)?;
        let mut inside = vec![];
        member.read_to_end(&mut inside)?;
        if i == chosen {
            match rng.random_range(0..20) {
                0 => continue,
                1 => inside = other.to_vec(),
                _ => inside = bytes(&inside, other, rng),
            }
        }
        let stored = zip::CompressionMethod::Stored;
        let options = zip::write::SimpleFileOptions::default().compression_method(stored);
        packed.start_file(member.name()?, options)?;
        packed.write_all(&inside)?;
    }
    Ok(packed.finish()?.into_inner())
}

/// One to three changes somewhere, or in the head, where the sizes are.
pub(super) fn bytes(content: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = content.to_vec();
    for _ in 0..*[1, 1, 1, 2, 3].choose(rng).unwrap_or(&1) {
        change(&mut bytes, other, rng);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    if bytes.is_empty() {
        bytes.extend_from_slice(other);
        return;
    }
    let length = bytes.len();
    let within = if rng.random_bool(0.4) {
        length.min(200)
    } else {
        length
    };
    let at = rng.random_range(0..within);
    let most = [1, 8, 64, RUN].choose(rng).unwrap_or(&1);
    let run = rng.random_range(1..=*most).min(length - at);
    match rng.random_range(0..12) {
        0 | 1 => bytes[at] ^= 1 << rng.random_range(0..8),
        2 => bytes[at..at + run].fill_with(|| rng.random()),
        3 => bytes[at..at + run].fill(*[0, 1, 0x20, 0x7f, 0x80, 0xff].choose(rng).unwrap_or(&0)),
        4 => bytes.truncate(at),
        5 => {
            let copy = bytes[at..at + run].to_vec();
            bytes.splice(at..at, copy);
        }
        6 => drop(bytes.drain(at..at + run)),
        7 => {
            // The front of the one, the back of the other.
            let from = rng.random_range(0..=other.len());
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
        8 => {
            let from = rng.random_range(0..=length - run);
            bytes.copy_within(from..from + run, at);
        }
        9 => text::number(bytes, rng),
        _ => extreme(bytes, at, rng),
    }
}

/// An extreme number at an aligned place.
fn extreme(bytes: &mut [u8], at: usize, rng: &mut Rng) {
    let width = *[1_usize, 2, 4, 8].choose(rng).unwrap_or(&8);
    let at = at / width * width;
    let Some(place) = bytes.get_mut(at..at + width) else {
        return;
    };
    let integers = [
        0,
        1,
        -1,
        i64::from(i32::MAX),
        1 << 31,
        1 << 32,
        i64::MAX,
        i64::MIN,
        1 << 40,
        i64::from(rng.random::<u16>()),
    ];
    let floats = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1e308,
        1e38,
        1e-45,
        -0.0,
    ];
    let mut number = if width >= 4 && rng.random_bool(0.3) {
        let float = *floats.choose(rng).unwrap_or(&0.0);
        if width == 4 {
            (float as f32).to_le_bytes().to_vec()
        } else {
            float.to_le_bytes().to_vec()
        }
    } else {
        let integer = integers.choose(rng).unwrap_or(&0);
        integer.to_le_bytes()[..width].to_vec()
    };
    if rng.random_bool(0.3) {
        number.reverse();
    }
    place.copy_from_slice(&number);
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::rand_core::SeedableRng;

    fn many(name: &str, content: &[u8]) -> Vec<Vec<u8>> {
        let other: Vec<u8> = (0..=255).collect();
        let one = |seed| file(name, content, &other, &mut Rng::seed_from_u64(seed));
        let files: Vec<_> = (0..200).map(one).collect();
        assert_eq!(files, (0..200).map(one).collect::<Vec<_>>());
        files
    }

    #[test]
    fn mutations_are_the_seeds_and_of_many_kinds() {
        let content = vec![7; 1000];
        let files = many("x.npy", &content);
        let count = |rule: fn(&Vec<u8>) -> bool| files.iter().filter(|f| rule(f)).count();
        assert!(count(|f| f.len() < 1000) > 10);
        assert!(count(|f| f.len() > 1000) > 5);
        assert!(count(|f| f.len() == 1000 && *f != vec![7; 1000]) > 50);
        // The empty one has nothing to be mutated.
        assert!(many("x.npy", &[]).iter().any(|file| !file.is_empty()));
    }

    #[test]
    fn archives_stay_archives_half_of_the_time() {
        let mut archive = zip::ZipWriter::new(Cursor::new(vec![]));
        let options = zip::write::SimpleFileOptions::default();
        for name in ["a.npy", "b.npy"] {
            archive.start_file(name, options).unwrap();
            archive.write_all(&[3; 300]).unwrap();
        }
        let content = archive.finish().unwrap().into_inner();
        let whole = |bytes: &Vec<u8>| {
            let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).ok()?;
            let mut read = vec![];
            for i in 0..archive.len() {
                archive.by_index(i).ok()?.read_to_end(&mut read).ok()?;
            }
            Some(read)
        };
        let files = many("x.npz", &content);
        let inside: Vec<_> = files.iter().filter_map(whole).collect();
        let changed = inside.iter().filter(|read| **read != vec![3; 600]);
        assert!(changed.count() > 50);
        let mut packed = GzEncoder::new(vec![], Compression::fast());
        packed.write_all(&[5; 500]).unwrap();
        let files = many("x.gz", &packed.finish().unwrap());
        let whole = |bytes: &Vec<u8>| GzDecoder::new(&bytes[..]).read_to_end(&mut vec![]).is_ok();
        assert!(files.iter().filter(|bytes| whole(bytes)).count() > 60);
    }
}
