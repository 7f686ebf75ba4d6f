//! From the bytes of an image file to upright RGB pixels.
//!
//! JPEG is decoded by zune-jpeg, all else by the image crate. Whatever the file holds
//! becomes 8-bit RGB: grey and palettes are spread, 16 bits and floats rounded, CMYK and
//! YCCK turned into RGB, transparency laid on white, and the rotation of EXIF is applied. Of animations and
//! of files with several pages the first one counts. Colour profiles are not applied, so
//! wide-gamut pictures look a little paler than meant.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;

use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits, RgbImage};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use crate::gate::{Gate, Held, shared};
use crate::{Error, ErrorKind, Result};

/// Most pixels of an image unless the caller says otherwise: 134 million, 400 MB as RGB.
pub const MAX_PIXELS: u64 = 1 << 27;

/// Bytes of the widest pixel there is, four floats.
const WIDEST_PIXEL: u64 = 16;

/// Most bytes that a picture may need for what is no pixels: profiles, remarks, thumbnails.
const REMARKS: u64 = 1 << 25;

/// Reads and decodes a file; see [`decode`].
pub fn read(path: impl AsRef<Path>, max_pixels: u64) -> Result<RgbImage> {
    Ok(read_held(path.as_ref(), max_pixels, 0)?.0)
}

/// As [`read`], with the room that the image takes and that work on it does, of `beside` bytes a pixel.
pub(crate) fn read_held(
    path: &Path,
    max_pixels: u64,
    beside: u64,
) -> Result<(RgbImage, Held<'static>)> {
    let bytes = read_bytes(path, max_pixels)?;
    let image = decode_held(&bytes, max_pixels, beside, shared());
    image.map_err(|e| e.within(path.display()))
}

/// Bytes that decoding the image in this file takes at most; only its head is looked at.
///
/// For estimates: 0 where it cannot be read, which decoding will say.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("a.ppm");
/// std::fs::write(&path, b"P5 2 1 255\n\x00\xff")?;
/// assert!(likewise_image::decode::memory(&path) >= 6);
/// assert_eq!(likewise_image::decode::memory(folder.path()), 0);
/// # Ok::<(), likewise_image::Error>(())
/// ```
pub fn memory(path: impl AsRef<Path>) -> u64 {
    let Some(head) = head(path.as_ref()) else {
        return 0;
    };
    // What claims to be larger than any image that is read is refused there, by its name.
    if head.needed > need(MAX_PIXELS, MAX_PIXELS * WIDEST_PIXEL, true) {
        return 0;
    }
    head.needed.saturating_add(head.length)
}

/// Width and height of the image in this file; only its head is looked at. `None` where it cannot be
/// read, which decoding will say.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("a.ppm");
/// std::fs::write(&path, b"P5 2 1 255\n\x00\xff")?;
/// assert_eq!(likewise_image::decode::dimensions(&path), Some((2, 1)));
/// assert_eq!(likewise_image::decode::dimensions(folder.path()), None);
/// # Ok::<(), likewise_image::Error>(())
/// ```
pub fn dimensions(path: impl AsRef<Path>) -> Option<(u64, u64)> {
    Some(head(path.as_ref())?.size)
}

/// What the head of an image says.
struct Head {
    size: (u64, u64),
    /// Bytes that decoding takes at most, beside those of the file.
    needed: u64,
    /// Bytes of the file.
    length: u64,
}

fn head(path: &Path) -> Option<Head> {
    let mut found = None;
    // It stops where it asks for room, before anything is unpacked.
    let ask = |size, need: u64| {
        found = Some((size, need));
        Err(Error::new(ErrorKind::Cancelled, "only the head is wanted"))
    };
    let bytes = read_bytes(path, MAX_PIXELS).ok()?;
    let _ = match image::guess_format(&bytes) {
        Ok(ImageFormat::Jpeg) => jpeg(&bytes, ask).map(drop),
        Ok(other) => all_else(&bytes, other, MAX_PIXELS, ask).map(drop),
        Err(_) => Ok(()),
    };
    let (size, needed) = found?;
    Some(Head {
        size,
        needed,
        length: bytes.len() as u64,
    })
}

/// Opens a file, unless it is longer than any image of `max_pixels`, or no regular file.
pub(crate) fn open(path: &Path, max_pixels: u64) -> Result<(File, u64)> {
    let most = max_pixels.saturating_mul(WIDEST_PIXEL) + (1 << 24);
    let (file, length) = likewise_io::open(path)?;
    if length > most {
        let message = format!("{length} bytes, more than an image of {max_pixels} pixels can have");
        return Err(Error::new(ErrorKind::Value, message).within(path.display()));
    }
    Ok((file, length))
}

fn read_bytes(path: &Path, max_pixels: u64) -> Result<Vec<u8>> {
    let (file, length) = open(path, max_pixels)?;
    let mut bytes = Vec::new();
    let room = usize::try_from(length).unwrap_or(usize::MAX);
    let read = match likewise_io::memory::tried(|| bytes.try_reserve_exact(room)) {
        Ok(()) => file.take(length).read_to_end(&mut bytes),
        Err(_) => Err(std::io::ErrorKind::OutOfMemory.into()),
    };
    read.map_err(|e| Error::from(e).within(path.display()))?;
    Ok(bytes)
}

/// Decodes an image of at most `max_pixels` pixels.
///
/// CMYK is taken as Adobe writes it (inverted), which is what such files are; transparent
/// pixels show white. O(pixels) time; memory is the pixels in the file's own depth and
/// as RGB at once. Waits while other threads use up the memory for images, see
/// [`limit_memory`](crate::limit_memory).
///
/// Fails with kind `Format` where the bytes are no image, end early or contradict
/// themselves, with kind `Value` where the image is larger than allowed, and with kind
/// `Memory` where it needs more than all images may have: the size is looked at before
/// anything is unpacked.
///
/// ```
/// use likewise_image::decode;
/// let grey = b"P5 2 1 255\n\x00\xff";
/// let image = decode::decode(grey, decode::MAX_PIXELS)?;
/// assert_eq!(image.into_raw(), [0, 0, 0, 255, 255, 255]);
/// assert!(decode::decode(grey, 1).is_err());
/// # Ok::<(), likewise_image::Error>(())
/// ```
pub fn decode(bytes: &[u8], max_pixels: u64) -> Result<RgbImage> {
    Ok(decode_held(bytes, max_pixels, 0, shared())?.0)
}

fn decode_held<'a>(
    bytes: &[u8],
    max_pixels: u64,
    beside: u64,
    gate: &'a Gate,
) -> Result<(RgbImage, Held<'a>)> {
    if bytes.is_empty() {
        return Err(Error::new(
            ErrorKind::Format,
            "the file is empty; fetch or write it again",
        ));
    }
    let format = image::guess_format(bytes).map_err(|_| {
        Error::new(
            ErrorKind::Format,
            "not an image, or of a format that cannot be read; there are JPEG, PNG, WebP, BMP, \
             GIF, TIFF and PNM",
        )
    })?;
    let room = |(width, height): (u64, u64), need: u64| {
        check_size(width, height, max_pixels)?;
        let what = || format!("an image of {width} x {height} pixels");
        let work = beside.saturating_mul(width.saturating_mul(height));
        let need = need.saturating_add(bytes.len() as u64);
        gate.enter(need.saturating_add(work), what)
    };
    let (image, orientation, mut held) = match format {
        ImageFormat::Jpeg => jpeg(bytes, room)?,
        other => all_else(bytes, other, max_pixels, room)?,
    };
    let mut image = DynamicImage::ImageRgb8(image);
    image.apply_orientation(orientation);
    let image = image.into_rgb8();
    let pixels = image.as_raw().len() as u64 / 3;
    held.shrink((3 + beside).saturating_mul(pixels));
    Ok((image, held))
}

/// Bytes that decoding takes at most, of an image of `pixels` pixels and `native` bytes.
///
/// Decoders hold what they give and about as much beside it; then comes the RGB of it, by
/// way of RGB with transparency; and that once more, turned.
fn need(pixels: u64, native: u64, transparent: bool) -> u64 {
    let decoded = native.saturating_mul(2).saturating_add(pixels);
    let opaque = pixels.saturating_mul(if transparent { 7 } else { 3 });
    let turned = pixels.saturating_mul(6);
    decoded.max(native.saturating_add(opaque)).max(turned)
}

fn check_size(width: u64, height: u64, max_pixels: u64) -> Result<()> {
    if width == 0 || height == 0 {
        return Err(Error::new(ErrorKind::Format, "an image without pixels"));
    }
    if width.saturating_mul(height) > max_pixels {
        return Err(Error::new(
            ErrorKind::Value,
            format!(
                "an image of {width} x {height} pixels, at most {max_pixels} are allowed; scale \
                 it down"
            ),
        ));
    }
    Ok(())
}

fn unreadable(format: &str, e: impl std::fmt::Display) -> Error {
    // Decoders break their lines; a message is one.
    let cause = e.to_string();
    let cause: Vec<&str> = cause.split_whitespace().collect();
    let cause = cause.join(" ");
    let message = format!("not a readable {format} image ({cause}); fetch or write it again");
    Error::new(ErrorKind::Format, message)
}

fn jpeg<'a>(
    bytes: &[u8],
    room: impl FnOnce((u64, u64), u64) -> Result<Held<'a>>,
) -> Result<(RgbImage, Orientation, Held<'a>)> {
    let broken = |e: zune_jpeg::errors::DecodeErrors| unreadable("JPEG", e);
    let options = DecoderOptions::default()
        .set_strict_mode(false)
        .set_max_width(usize::from(u16::MAX))
        .set_max_height(usize::from(u16::MAX))
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(broken)?;
    let (width, height) = decoder
        .dimensions()
        .ok_or_else(|| unreadable("JPEG", "no size"))?;
    let size = (width as u64, height as u64);
    // Progressive ones are held whole as coefficients of two bytes.
    let native = size.0.saturating_mul(size.1).saturating_mul(5);
    let held = room(size, need(native / 5, native, false))?;
    // The decoder would fill what is missing with grey.
    if is_truncated_jpeg(bytes) {
        return Err(unreadable("JPEG", "the file ends early"));
    }
    let orientation = decoder
        .exif()
        .and_then(|exif| Orientation::from_exif_chunk(exif))
        .unwrap_or(Orientation::NoTransforms);
    let pixels = decoder.decode().map_err(broken)?;
    // Files of two components come out otherwise than they were asked for.
    let image = RgbImage::from_raw(width as u32, height as u32, pixels);
    let image = image.ok_or_else(|| unreadable("JPEG", "unknown kind of colours"))?;
    Ok((image, orientation, held))
}

/// Whether a JPEG lacks its end marker.
fn is_truncated_jpeg(bytes: &[u8]) -> bool {
    let mut at = 2;
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        // Stuffed and filling bytes, restarts, and markers without a segment are passed over.
        let marker = rest
            .windows(2)
            .position(|pair| pair[0] == 0xff && !matches!(pair[1], 0 | 1 | 0xd0..=0xd8 | 0xff));
        let Some(marker) = marker else {
            return true;
        };
        match rest[marker + 1..] {
            [0xd9, ..] => return false,
            [_, high, low, ..] => at += marker + 2 + usize::from(u16::from_be_bytes([high, low])),
            _ => return true,
        }
    }
}

fn decoder(
    bytes: &[u8],
    format: ImageFormat,
    max_pixels: u64,
) -> image::ImageResult<impl ImageDecoder + '_> {
    let mut limits = Limits::default();
    limits.max_alloc = Some(match format {
        // Here it counts what is no pixels, and a few lines of them.
        ImageFormat::Png => {
            let width = bytes.get(16..20).and_then(|b| b.first_chunk::<4>());
            REMARKS + 64 * u64::from(width.map_or(0, |b| u32::from_be_bytes(*b)))
        }
        _ => max_pixels.saturating_mul(2 * WIDEST_PIXEL) + (1 << 24),
    });
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits);
    reader.into_decoder()
}

fn all_else<'a>(
    bytes: &[u8],
    format: ImageFormat,
    max_pixels: u64,
    room: impl FnOnce((u64, u64), u64) -> Result<Held<'a>>,
) -> Result<(RgbImage, Orientation, Held<'a>)> {
    let name = format.extensions_str().first().unwrap_or(&"");
    let name = name.to_ascii_uppercase();
    let broken = |e: image::ImageError| unreadable(&name, e);
    let mut decoder = decoder(bytes, format, max_pixels).map_err(broken)?;
    let (width, height) = decoder.dimensions();
    let size = (u64::from(width), u64::from(height));
    let transparent = decoder.color_type().has_alpha();
    let need = need(
        size.0.saturating_mul(size.1),
        decoder.total_bytes(),
        transparent,
    );
    let held = room(size, need)?;
    // A picture with broken remarks is still a picture.
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let image = DynamicImage::from_decoder(decoder).map_err(broken)?;
    Ok((on_white(image), orientation, held))
}

fn on_white(image: DynamicImage) -> RgbImage {
    if !image.color().has_alpha() {
        return image.into_rgb8();
    }
    let image = image.into_rgba8();
    let (width, height) = image.dimensions();
    let mut opaque = RgbImage::new(width, height);
    for (out, pixel) in opaque.pixels_mut().zip(image.pixels()) {
        let [color @ .., alpha] = pixel.0.map(u32::from);
        out.0 = color.map(|c| ((c * alpha + 255 * (255 - alpha) + 127) / 255) as u8);
    }
    opaque
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::ImageEncoder;
    use image::{GrayAlphaImage, GrayImage, ImageBuffer, Luma, Rgb, RgbaImage};
    use jpeg_encoder::{ColorType, Encoder};

    const RED: [u8; 3] = [250, 10, 20];
    const GREEN: [u8; 3] = [10, 200, 30];
    const BLUE: [u8; 3] = [20, 30, 220];
    const WHITE: [u8; 3] = [255; 3];

    /// Four squares: red, green over blue, white.
    fn squares() -> RgbImage {
        RgbImage::from_fn(32, 16, |x, y| {
            Rgb(match (x < 16, y < 8) {
                (true, true) => RED,
                (false, true) => GREEN,
                (true, false) => BLUE,
                (false, false) => WHITE,
            })
        })
    }

    /// The colours of the four squares of an image, row by row.
    fn corners(image: &RgbImage) -> [[u8; 3]; 4] {
        let (w, h) = image.dimensions();
        let at = |x: u32, y: u32| image.get_pixel(w * x / 4, h * y / 4).0;
        [at(1, 1), at(3, 1), at(1, 3), at(3, 3)]
    }

    #[track_caller]
    fn assert_near(image: &RgbImage, expected: [[u8; 3]; 4]) {
        for (found, expected) in corners(image).iter().zip(expected) {
            let far = found.iter().zip(expected).any(|(a, b)| a.abs_diff(b) > 6);
            assert!(!far, "{found:?} is not {expected:?}");
        }
    }

    fn encoded(image: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        image.into().write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    fn jpeg_of(
        pixels: &[u8],
        colors: ColorType,
        set: impl Fn(&mut Encoder<&mut Vec<u8>>),
    ) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, 95);
        set(&mut encoder);
        encoder.encode(pixels, 32, 16, colors).unwrap();
        bytes
    }

    fn plain_jpeg() -> Vec<u8> {
        jpeg_of(squares().as_raw(), ColorType::Rgb, |_| ())
    }

    fn opened(bytes: &[u8]) -> Result<RgbImage> {
        decode(bytes, MAX_PIXELS)
    }

    /// One small file of each format, by name.
    fn every_format() -> Vec<(&'static str, Vec<u8>)> {
        let squares = squares();
        let progressive = jpeg_of(squares.as_raw(), ColorType::Rgb, |e| {
            e.set_progressive(true);
        });
        vec![
            ("jpeg", plain_jpeg()),
            ("progressive", progressive),
            ("png", encoded(squares.clone(), ImageFormat::Png)),
            ("gif", encoded(squares.clone(), ImageFormat::Gif)),
            ("bmp", encoded(squares.clone(), ImageFormat::Bmp)),
            ("webp", encoded(squares.clone(), ImageFormat::WebP)),
            ("tiff", encoded(squares.clone(), ImageFormat::Tiff)),
            ("pnm", encoded(squares, ImageFormat::Pnm)),
        ]
    }

    /// EXIF with one entry, the orientation, as little-endian TIFF.
    fn exif(orientation: u8) -> Vec<u8> {
        let mut tiff = b"II\x2a\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0".to_vec();
        tiff.extend([orientation, 0, 0, 0, 0, 0, 0, 0]);
        tiff
    }

    #[test]
    fn what_is_too_large_to_be_read_asks_for_no_room_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("huge.ppm");
        std::fs::write(&path, b"P6 100000 100000 255\n\x00").unwrap();
        assert_eq!(memory(&path), 0);
        assert!(read(&path, MAX_PIXELS).is_err());
    }

    #[test]
    fn every_format_gives_its_colours() {
        for (name, bytes) in every_format() {
            let image = opened(&bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(image.dimensions(), (32, 16), "{name}");
            assert_near(&image, [RED, GREEN, BLUE, WHITE]);
        }
    }

    #[test]
    fn all_eight_rotations_of_exif_come_out_upright() {
        let [a, b, c, d] = [RED, GREEN, BLUE, WHITE];
        let upright = [
            [a, b, c, d],
            [b, a, d, c],
            [d, c, b, a],
            [c, d, a, b],
            [a, c, b, d],
            [c, a, d, b],
            [d, b, c, a],
            [b, d, a, c],
        ];
        for (orientation, expected) in (1..).zip(upright) {
            let mut segment = b"Exif\0\0".to_vec();
            segment.extend(exif(orientation));
            let jpeg = jpeg_of(squares().as_raw(), ColorType::Rgb, |e| {
                e.add_app_segment(1, segment.clone()).unwrap();
            });
            let mut png = Vec::new();
            let mut encoder = image::codecs::png::PngEncoder::new(&mut png);
            encoder.set_exif_metadata(exif(orientation)).unwrap();
            let (pixels, kind) = (squares(), image::ExtendedColorType::Rgb8);
            encoder.write_image(&pixels, 32, 16, kind).unwrap();
            for bytes in [jpeg, png] {
                let image = opened(&bytes).unwrap();
                let size = if orientation < 5 { (32, 16) } else { (16, 32) };
                assert_eq!(image.dimensions(), size, "{orientation}");
                assert_near(&image, expected);
            }
        }
        // What EXIF does not define leaves the pixels as they are.
        let mut segment = b"Exif\0\0".to_vec();
        segment.extend(exif(77));
        let jpeg = jpeg_of(squares().as_raw(), ColorType::Rgb, |e| {
            e.add_app_segment(1, segment.clone()).unwrap();
        });
        assert_near(&opened(&jpeg).unwrap(), upright[0]);
    }

    #[test]
    fn inks_become_colors() {
        // Cyan, magenta, yellow, black of 0 (none) to 255 (full).
        let inks = [[255, 0, 0, 0], [0, 128, 255, 0], [0, 0, 0, 153], [0; 4]];
        let mut pixels = Vec::new();
        for (x, y) in (0..16).flat_map(|y| (0..32).map(move |x| (x, y))) {
            pixels.extend(inks[usize::from(x >= 16) + 2 * usize::from(y >= 8)]);
        }
        let expected = [[0, 255, 255], [255, 127, 0], [102; 3], WHITE];
        for colors in [ColorType::Cmyk, ColorType::CmykAsYcck] {
            let image = opened(&jpeg_of(&pixels, colors, |_| ())).unwrap();
            assert_near(&image, expected);
        }
    }

    #[test]
    fn grey_depth_and_transparency_become_rgb() {
        let gray = GrayImage::from_fn(32, 16, |x, _| Luma([if x < 16 { 0 } else { 128 }]));
        let [left, right] = [[0; 3], [128; 3]];
        assert_near(
            &opened(&jpeg_of(&gray, ColorType::Luma, |_| ())).unwrap(),
            [left, right, left, right],
        );
        let deep = ImageBuffer::from_fn(1, 1, |_, _| Rgb([0xffff_u16, 0x8080, 0]));
        for format in [ImageFormat::Png, ImageFormat::Tiff, ImageFormat::Pnm] {
            let image = opened(&encoded(deep.clone(), format)).unwrap();
            assert_eq!(image.into_raw(), [255, 128, 0]);
        }
        let glass = RgbaImage::from_vec(3, 1, vec![0, 0, 0, 0, 0, 0, 0, 128, 9, 8, 7, 255]);
        for format in [ImageFormat::Png, ImageFormat::WebP, ImageFormat::Tiff] {
            let image = opened(&encoded(glass.clone().unwrap(), format)).unwrap();
            assert_eq!(image.into_raw(), [255, 255, 255, 127, 127, 127, 9, 8, 7]);
        }
        let mist = GrayAlphaImage::from_vec(1, 1, vec![0, 0]).unwrap();
        let image = opened(&encoded(mist, ImageFormat::Png)).unwrap();
        assert_eq!(image.into_raw(), [255; 3]);
    }

    #[test]
    fn a_truncated_file_is_never_taken_for_whole() {
        for (name, bytes) in every_format() {
            for length in (1..bytes.len()).step_by(64).chain([bytes.len() / 2]) {
                let result = opened(&bytes[..length]);
                if name == "jpeg" || name == "progressive" || length <= bytes.len() / 2 {
                    assert!(result.is_err(), "{name} cut to {length}");
                }
                if let Err(e) = result {
                    let message = e.to_string();
                    assert_eq!(message.lines().count(), 1, "{message}");
                }
            }
        }
    }

    #[test]
    fn damaged_files_never_panic() {
        use rand::RngExt;
        let mut rng = likewise::seed::stream(0, "damage");
        for (_, bytes) in every_format() {
            for _ in 0..400 {
                let mut bytes = bytes.clone();
                for _ in 0..rng.random_range(1..8) {
                    let at = rng.random_range(0..bytes.len());
                    bytes[at] = rng.random();
                }
                // Small limits: a damaged size must not make this test slow.
                let _ = decode(&bytes, 1 << 20);
            }
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let message = |bytes: &[u8]| opened(bytes).unwrap_err().to_string();
        assert!(message(b"").contains("empty"));
        assert!(message(b"hello, world, I am text").contains("not an image"));
        assert!(message(&plain_jpeg()[..300]).contains("JPEG"));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        std::fs::write(&path, "x").unwrap();
        let e = read(&path, MAX_PIXELS).unwrap_err().to_string();
        assert!(e.contains("a.png: not an image"), "{e}");
        let e = read(folder.path().join("b.png"), MAX_PIXELS).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn bombs_are_refused_before_they_go_off() {
        for (name, bytes) in every_format() {
            let e = decode(&bytes, 511).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Value, "{name}: {e}");
            assert!(e.to_string().contains("32 x 16"), "{name}: {e}");
        }
        // 60000 x 60000 in 60 bytes.
        let header = b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x60\xea\0\0\x60\xea\0\0\x01\0\x18\0";
        let mut bomb = header.to_vec();
        bomb.resize(60, 0);
        assert_eq!(opened(&bomb).unwrap_err().kind(), ErrorKind::Value);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("huge.png");
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(1 << 40).unwrap();
        assert_eq!(read(&path, 100).unwrap_err().kind(), ErrorKind::Value);
    }

    #[test]
    fn an_image_beyond_the_memory_for_images_is_refused() {
        for (name, bytes) in every_format() {
            let e = decode_held(&bytes, MAX_PIXELS, 0, &Gate::new(2000)).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Memory, "{name}: {e}");
            assert!(
                e.to_string().contains("32 x 16 pixels needs"),
                "{name}: {e}"
            );
            let gate = Gate::new(20_000);
            let (image, _held) = decode_held(&bytes, MAX_PIXELS, 0, &gate).unwrap();
            assert_eq!(image.dimensions(), (32, 16));
            // While it is held its RGB counts, and no more.
            let left = 20_000 - 3 * 32 * 16;
            assert!(gate.enter(left, String::new).is_ok(), "{name}");
            // With it what the work on it holds, from the beginning.
            let gate = Gate::new(30_000);
            let (_, _held) = decode_held(&bytes, MAX_PIXELS, 10, &gate).unwrap();
            let left = 30_000 - 13 * 32 * 16;
            assert!(gate.enter(left, String::new).is_ok(), "{name}");
            assert!(
                decode_held(&bytes, MAX_PIXELS, 100, &gate).is_err(),
                "{name}"
            );
        }
    }

    #[test]
    fn a_profile_that_is_too_large_is_not_unpacked() {
        let with_profile = |bytes: usize| {
            let mut png = Vec::new();
            let mut encoder = image::codecs::png::PngEncoder::new(&mut png);
            encoder.set_icc_profile(vec![0; bytes]).unwrap();
            let (pixels, kind) = (squares(), image::ExtendedColorType::Rgb8);
            encoder.write_image(&pixels, 32, 16, kind).unwrap();
            let mut decoder = decoder(&png, ImageFormat::Png, MAX_PIXELS).unwrap();
            let profile = decoder.icc_profile().unwrap();
            assert_near(&opened(&png).unwrap(), [RED, GREEN, BLUE, WHITE]);
            profile.map(|p| p.len())
        };
        assert_eq!(with_profile(1000), Some(1000));
        assert_eq!(with_profile(40 << 20), None);
    }

    #[test]
    fn thumbnails_and_trailing_bytes_do_not_hide_the_end() {
        let mut segment = b"Exif\0\0".to_vec();
        segment.extend(plain_jpeg());
        let mut jpeg = jpeg_of(squares().as_raw(), ColorType::Rgb, |e| {
            e.add_app_segment(1, segment.clone()).unwrap();
        });
        assert!(is_truncated_jpeg(&jpeg[..jpeg.len() - 2]));
        jpeg.extend(b"\xff\xda a video behind the picture");
        assert_near(&opened(&jpeg).unwrap(), [RED, GREEN, BLUE, WHITE]);
    }
}
