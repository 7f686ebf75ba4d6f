//! Images in every format that is read.

use std::io::Cursor;

use image::{ImageFormat, Rgb, RgbImage};

use super::data;
use super::kind::{Case, Mutated};
use crate::data::Result;

pub(super) fn kind() -> Result<Mutated> {
    let formats = [
        ("png", ImageFormat::Png),
        ("gif", ImageFormat::Gif),
        ("bmp", ImageFormat::Bmp),
        ("ppm", ImageFormat::Pnm),
        ("tiff", ImageFormat::Tiff),
        ("webp", ImageFormat::WebP),
    ];
    let mut cases = vec![];
    for (ending, format) in formats {
        let mut bytes = Cursor::new(vec![]);
        picture(0).write_to(&mut bytes, format)?;
        cases.push(case(ending, bytes.into_inner(), "--skip-bad")?);
    }
    for (ending, flag) in [("jpg", ""), ("jpeg", "--skip-bad")] {
        cases.push(case(ending, jpeg(&picture(0))?, flag)?);
    }
    Ok(Mutated::new("images", cases))
}

/// A folder of three, of which one is mutated.
fn case(ending: &str, content: Vec<u8>, flag: &str) -> Result<Case> {
    let name = format!("photos/red/a.{ending}");
    let files = data::files([
        (&name, content),
        ("photos/red/b.png", png(1)?),
        ("photos/blue/c.png", png(2)?),
    ]);
    let command = format!("doctor photos -q --threads 1 {flag}");
    Ok(Case::new(&command, files).only(|file| file == name))
}

pub(super) fn png(number: u8) -> Result<Vec<u8>> {
    let mut bytes = Cursor::new(vec![]);
    picture(number).write_to(&mut bytes, ImageFormat::Png)?;
    Ok(bytes.into_inner())
}

fn picture(number: u8) -> RgbImage {
    RgbImage::from_fn(24, 17, |x, y| {
        Rgb([(9 * x) as u8, (11 * y) as u8, number.wrapping_mul(70)])
    })
}

fn jpeg(picture: &RgbImage) -> Result<Vec<u8>> {
    let mut bytes = vec![];
    let encoder = jpeg_encoder::Encoder::new(&mut bytes, 80);
    let (width, height) = (picture.width() as u16, picture.height() as u16);
    encoder.encode(
        picture.as_raw(),
        width,
        height,
        jpeg_encoder::ColorType::Rgb,
    )?;
    Ok(bytes)
}
