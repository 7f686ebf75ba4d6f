//! Small pictures as data URIs: the page needs no other file.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use likewise::View;
use likewise_image::decode::MAX_PIXELS;
use ndarray::{ArrayView1, ArrayView2, Axis};

use crate::source::Photos;
use crate::{Error, ErrorKind, Result};

/// Longest edge of a picture in the page; larger ones are averaged down.
const EDGE: usize = 64;

/// Where the items' pictures come from.
#[derive(Debug, Clone, Copy)]
pub enum Thumbnails<'a> {
    /// Values of pixels.
    Rows(Rows<'a>),
    /// Files of images.
    Photos(&'a Photos),
}

/// Grey pictures, or red, green and blue ones.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// One row an item, of `width x height` values, line by line from the top; any range. The
    /// smallest value of all is shown black, the largest white. Three times as many are three
    /// pictures: red, green, blue.
    pub pixels: ArrayView2<'a, f32>,
    /// Pixels a line.
    pub width: usize,
    /// Number of lines.
    pub height: usize,
}

/// The rows of a view as pictures, where they can only be square ones.
pub fn pictures(view: &View) -> Option<Thumbnails<'_>> {
    square(view).map(|side| {
        Thumbnails::Rows(Rows {
            pixels: view.matrix.view(),
            width: side,
            height: side,
        })
    })
}

/// Side of the picture that a row of pixels is, grey or in three colours, where it can only be
/// a square one.
fn square(view: &View) -> Option<usize> {
    let columns = view.matrix.ncols();
    let side = [columns, columns / 3].map(usize::isqrt);
    let fits = side.into_iter().find(|side| {
        let area = side * side;
        area == columns || 3 * area == columns
    });
    fits.filter(|_| view.name == "pixels")
}

/// Pictures that were checked.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pictures<'a> {
    Rows { of: Rows<'a>, low: f32, high: f32 },
    Photos { of: &'a Photos, ids: &'a [String] },
}

impl<'a> Pictures<'a> {
    /// Fails unless there is one row for each of `ids`, of `width x height` values or three
    /// times as many.
    pub(super) fn new(of: Thumbnails<'a>, ids: &'a [String]) -> Result<Self> {
        let of = match of {
            Thumbnails::Rows(rows) => rows,
            Thumbnails::Photos(of) => return Ok(Self::Photos { of, ids }),
        };
        let ((rows, columns), items) = (of.pixels.dim(), ids.len());
        let area = of.width.checked_mul(of.height);
        let fits =
            area.is_some_and(|area| columns == area || columns / 3 == area && columns % 3 == 0);
        if rows != items || columns == 0 || !fits {
            return Err(Error::data(format!(
                "thumbnails: {rows} rows of {columns} values do not make pictures of {} x {} \
                 pixels for {items} items; give the view of the pixels and their size",
                of.width, of.height
            )));
        }
        let finite = of.pixels.iter().filter(|v| v.is_finite());
        let (low, high) = finite.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), &v| {
            (low.min(v), high.max(v))
        });
        Ok(Self::Rows { of, low, high })
    }

    /// Whether pixels should stay squares when the picture is enlarged.
    pub(super) fn coarse(&self) -> bool {
        match self {
            Self::Rows { of, .. } => of.width.max(of.height) <= 32,
            Self::Photos { .. } => false,
        }
    }

    /// The picture of `item` as a PNG in a data URI.
    pub(super) fn uri(&self, item: usize) -> Result<String> {
        let file = match self {
            Self::Rows { of, low, high } => {
                let (width, height, bytes) = of.shrunk(item, *low, *high);
                png(width, height, &bytes)
            }
            Self::Photos { of, ids } => {
                let (width, height, bytes) = of.small(&ids[item], EDGE, MAX_PIXELS)?;
                png(width, height, &bytes)
            }
        };
        let file = file.map_err(|e| {
            let message = format!("thumbnail of item {item}: {e}");
            Error::new(ErrorKind::Internal, message)
        })?;
        Ok(format!("data:image/png;base64,{}", STANDARD.encode(file)))
    }
}

impl Rows<'_> {
    /// Width, height and bytes of the picture of `item`: means over boxes of `f x f` pixels,
    /// grey, or three a pixel.
    fn shrunk(&self, item: usize, low: f32, high: f32) -> (usize, usize, Vec<u8>) {
        let (w, h) = (self.width, self.height);
        let f = w.max(h).div_ceil(EDGE);
        let (width, height) = (w.div_ceil(f), h.div_ceil(f));
        let range = f64::from(high) - f64::from(low);
        let mean = |pixels: ArrayView1<f32>, x: usize, y: usize| {
            let (mut sum, mut count) = (0.0, 0.0);
            for line in y * f..(y * f + f).min(h) {
                for column in x * f..(x * f + f).min(w) {
                    let v = pixels[line * w + column];
                    if v.is_finite() {
                        sum += f64::from(v) - f64::from(low);
                        count += 1.0;
                    }
                }
            }
            if count > 0.0 && range > 0.0 {
                (sum / count / range * 255.0).round() as u8
            } else {
                0
            }
        };
        let row = self.pixels.row(item);
        let colors: Vec<ArrayView1<f32>> = row.axis_chunks_iter(Axis(0), w * h).collect();
        let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        let bytes = places.flat_map(|(x, y)| colors.iter().map(move |&c| mean(c, x, y)));
        (width, height, bytes.collect())
    }
}

/// A grey picture, or one of three bytes a pixel.
fn png(width: usize, height: usize, bytes: &[u8]) -> Result<Vec<u8>, png::EncodingError> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width as u32, height as u32);
    encoder.set_color(if bytes.len() == 3 * width * height {
        png::ColorType::Rgb
    } else {
        png::ColorType::Grayscale
    });
    let mut writer = encoder.write_header()?;
    writer.write_image_data(bytes)?;
    writer.finish()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    fn rows(pixels: &Array2<f32>, width: usize, height: usize) -> Rows<'_> {
        Rows {
            pixels: pixels.view(),
            width,
            height,
        }
    }

    fn thumbnails(pixels: &Array2<f32>, width: usize, height: usize) -> Thumbnails<'_> {
        Thumbnails::Rows(rows(pixels, width, height))
    }

    fn ids(n: usize) -> Vec<String> {
        vec![String::new(); n]
    }

    #[test]
    fn a_picture_comes_back_as_it_was() {
        let two = ids(2);
        let pixels = ndarray::array![[-1.0, 0.0, 1.0, f32::NAN, 1.0, 0.0], [3.0; 6]];
        let pictures = Pictures::new(thumbnails(&pixels, 3, 2), &two).unwrap();
        let uri = pictures.uri(0).unwrap();
        let file = STANDARD
            .decode(uri.strip_prefix("data:image/png;base64,").unwrap())
            .unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(file))
            .read_info()
            .unwrap();
        let mut gray = vec![0; 6];
        let info = reader.next_frame(&mut gray).unwrap();
        assert_eq!((info.width, info.height), (3, 2));
        // The range is -1 to 3 over both; NaN is black.
        assert_eq!(gray, [0, 64, 128, 0, 128, 64]);
    }

    #[test]
    fn large_pictures_are_averaged_down() {
        let pixels = Array2::from_shape_fn((1, 130 * 70), |(_, i)| (i % 130) as f32);
        let (width, height, gray) = rows(&pixels, 130, 70).shrunk(0, 0.0, 129.0);
        assert_eq!((width, height, gray.len()), (44, 24, 44 * 24));
        assert_eq!(gray[0], (1.0_f64 / 129.0 * 255.0).round() as u8);
    }

    #[test]
    fn three_planes_make_a_picture_in_colour() {
        let pixels = ndarray::array![[0.0, 255.0, 51.0, 0.0, 0.0, 0.0]];
        let (width, height, colors) = rows(&pixels, 2, 1).shrunk(0, 0.0, 255.0);
        assert_eq!((width, height), (2, 1));
        assert_eq!(colors, [0, 51, 0, 255, 0, 0]);
        assert!(Pictures::new(thumbnails(&pixels, 2, 1), &ids(1)).is_ok());
        assert!(Pictures::new(thumbnails(&pixels, 3, 1), &ids(1)).is_err());
    }

    #[test]
    fn wrong_shapes_are_refused_and_flat_ones_are_black() {
        let pixels = Array2::from_elem((2, 6), 4.0);
        let (two, three) = (ids(2), ids(3));
        assert!(Pictures::new(thumbnails(&pixels, 3, 3), &two).is_err());
        assert!(Pictures::new(thumbnails(&pixels, 3, 2), &three).is_err());
        assert!(Pictures::new(thumbnails(&pixels, usize::MAX, 2), &two).is_err());
        assert_eq!(rows(&pixels, 3, 2).shrunk(1, 4.0, 4.0).2, [0; 6]);
    }
}
