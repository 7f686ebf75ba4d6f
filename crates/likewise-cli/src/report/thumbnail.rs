//! Small grey pictures as data URIs: the page needs no other file.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use likewise_nn::{Error, ErrorKind, Result};
use ndarray::{ArrayView1, ArrayView2};

/// Longest edge of a picture in the page; larger ones are averaged down.
const EDGE: usize = 64;

/// Grey values of the items' pictures.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Thumbnails<'a> {
    /// One row an item, of `width x height` values, line by line from the top; any range.
    /// The smallest value of all is shown black, the largest white.
    pub(crate) pixels: ArrayView2<'a, f32>,
    /// Pixels a line.
    pub(crate) width: usize,
    /// Number of lines.
    pub(crate) height: usize,
}

/// Thumbnails whose shape fits, and their range.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pictures<'a> {
    of: Thumbnails<'a>,
    low: f32,
    high: f32,
}

impl<'a> Pictures<'a> {
    /// Fails unless there is one row for each of `items`, of `width x height` values.
    pub(super) fn new(of: Thumbnails<'a>, items: usize) -> Result<Self> {
        let (rows, columns) = of.pixels.dim();
        let area = of.width.checked_mul(of.height);
        if rows != items || columns == 0 || area != Some(columns) {
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
        Ok(Self { of, low, high })
    }

    /// Whether pixels should stay squares when the picture is enlarged.
    pub(super) fn coarse(&self) -> bool {
        self.of.width.max(self.of.height) <= 32
    }

    /// The picture of `item` as a PNG in a data URI.
    pub(super) fn uri(&self, item: usize) -> Result<String> {
        let (width, height, grey) = self.shrunk(self.of.pixels.row(item));
        let file = png(width, height, &grey).map_err(|e| {
            let message = format!("thumbnail of item {item}: {e}");
            Error::new(ErrorKind::Internal, message)
        })?;
        Ok(format!("data:image/png;base64,{}", STANDARD.encode(file)))
    }

    /// Width, height and grey bytes: means over boxes of `f x f` pixels.
    fn shrunk(&self, pixels: ArrayView1<f32>) -> (usize, usize, Vec<u8>) {
        let (w, h) = (self.of.width, self.of.height);
        let f = w.max(h).div_ceil(EDGE);
        let (width, height) = (w.div_ceil(f), h.div_ceil(f));
        let range = f64::from(self.high) - f64::from(self.low);
        let mean = |x: usize, y: usize| {
            let (mut sum, mut count) = (0.0, 0.0);
            for line in y * f..(y * f + f).min(h) {
                for column in x * f..(x * f + f).min(w) {
                    let v = pixels[line * w + column];
                    if v.is_finite() {
                        sum += f64::from(v) - f64::from(self.low);
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
        let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        (width, height, places.map(|(x, y)| mean(x, y)).collect())
    }
}

fn png(width: usize, height: usize, grey: &[u8]) -> Result<Vec<u8>, png::EncodingError> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width as u32, height as u32);
    encoder.set_color(png::ColorType::Grayscale);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(grey)?;
    writer.finish()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    fn thumbnails(pixels: &Array2<f32>, width: usize, height: usize) -> Thumbnails<'_> {
        Thumbnails {
            pixels: pixels.view(),
            width,
            height,
        }
    }

    #[test]
    fn a_picture_comes_back_as_it_was() {
        let pixels = ndarray::array![[-1.0, 0.0, 1.0, f32::NAN, 1.0, 0.0], [3.0; 6]];
        let pictures = Pictures::new(thumbnails(&pixels, 3, 2), 2).unwrap();
        let uri = pictures.uri(0).unwrap();
        let file = STANDARD
            .decode(uri.strip_prefix("data:image/png;base64,").unwrap())
            .unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(file))
            .read_info()
            .unwrap();
        let mut grey = vec![0; 6];
        let info = reader.next_frame(&mut grey).unwrap();
        assert_eq!((info.width, info.height), (3, 2));
        // The range is -1 to 3 over both; NaN is black.
        assert_eq!(grey, [0, 64, 128, 0, 128, 64]);
    }

    #[test]
    fn large_pictures_are_averaged_down() {
        let pixels = Array2::from_shape_fn((1, 130 * 70), |(_, i)| (i % 130) as f32);
        let pictures = Pictures::new(thumbnails(&pixels, 130, 70), 1).unwrap();
        let (width, height, grey) = pictures.shrunk(pixels.row(0));
        assert_eq!((width, height, grey.len()), (44, 24, 44 * 24));
        assert_eq!(grey[0], (1.0_f64 / 129.0 * 255.0).round() as u8);
    }

    #[test]
    fn wrong_shapes_are_refused_and_flat_ones_are_black() {
        let pixels = Array2::from_elem((2, 6), 4.0);
        assert!(Pictures::new(thumbnails(&pixels, 3, 3), 2).is_err());
        assert!(Pictures::new(thumbnails(&pixels, 3, 2), 3).is_err());
        assert!(Pictures::new(thumbnails(&pixels, usize::MAX, 2), 2).is_err());
        let flat = Pictures::new(thumbnails(&pixels, 3, 2), 2).unwrap();
        assert_eq!(flat.shrunk(pixels.row(1)).2, [0; 6]);
    }
}
