//! The data that memory is measured on. All are generated, the same each time.

use std::fs::{self, File};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use rand::RngExt;
use rand_chacha::ChaCha8Rng as Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::attack::npy_head;
use crate::data::Result;

/// Rows around centers, one a class.
pub(super) struct Rows {
    pub(super) items: usize,
    pub(super) columns: usize,
    pub(super) classes: usize,
}

impl Rows {
    /// Writes `x.npy`, its labels `y.npy`, and the first 2,000 of its rows as `q.npy`.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let mut rng = Rng::seed_from_u64(7);
        let mut center = || -> Vec<f32> {
            (0..self.columns)
                .map(|_| rng.random_range(-1.0..1.0))
                .collect()
        };
        let centers: Vec<Vec<f32>> = (0..self.classes).map(|_| center()).collect();
        let mut rng = Rng::seed_from_u64(8);
        let mut file = BufWriter::new(File::create(folder.join("x.npy"))?);
        file.write_all(&npy_head("<f4", &[self.items, self.columns]))?;
        for item in 0..self.items {
            for value in &centers[item % self.classes] {
                let value = value + rng.random_range(-1.5_f32..1.5);
                file.write_all(&value.to_le_bytes())?;
            }
        }
        file.flush()?;
        drop(file);
        let queries = self.items.min(2000);
        let head = npy_head("<f4", &[self.items, self.columns]).len();
        let mut rows = vec![0; 4 * queries * self.columns];
        let mut file = File::open(folder.join("x.npy"))?;
        file.seek(SeekFrom::Start(head as u64))?;
        file.read_exact(&mut rows)?;
        let head = npy_head("<f4", &[queries, self.columns]);
        fs::write(folder.join("q.npy"), [head, rows].concat())?;
        let mut bytes = npy_head("<i8", &[self.items]);
        for item in 0..self.items {
            bytes.extend(((item % self.classes) as i64).to_le_bytes());
        }
        Ok(fs::write(folder.join("y.npy"), bytes)?)
    }
}

/// JPEG files of `width x height` pixels, in two folders of as many.
pub(super) fn photos(folder: &Path, count: u16, [width, height]: [u16; 2]) -> Result<()> {
    let mut pixels = vec![0; 3 * usize::from(width) * usize::from(height)];
    for number in 0..count {
        let mut rng = Rng::seed_from_u64(u64::from(number));
        for (at, pixel) in pixels.chunks_exact_mut(3).enumerate() {
            let (x, y) = (at % usize::from(width), at / usize::from(width));
            let noise: u8 = rng.random_range(0..16);
            pixel[0] = (x / 16) as u8 ^ noise;
            pixel[1] = (y / 11) as u8 ^ noise;
            pixel[2] = (number as u8).wrapping_mul(40) ^ noise;
        }
        let class = folder.join(if number % 2 == 0 { "even" } else { "odd" });
        fs::create_dir_all(&class)?;
        let file = BufWriter::new(File::create(class.join(format!("{number}.jpg")))?);
        let encoder = jpeg_encoder::Encoder::new(file, 85);
        encoder.encode(&pixels, width, height, jpeg_encoder::ColorType::Rgb)?;
    }
    Ok(())
}
