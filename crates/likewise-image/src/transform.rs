//! Transforms of RGB pixels: resizing, cropping, and the random changes of training.
//!
//! All work on 8-bit values as they are stored, without a detour over linear light, as
//! networks are trained. The random ones draw from a generator that is named
//! after seed, epoch and item ([`Augment::rng`]): the same three give the same pixels, on any
//! thread and in any order.

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8x3;
use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions, Resizer};
use image::{RgbImage, imageops};
use likewise::seed::{self, Rng};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::Result;

/// How pixels are averaged when an image is resized; both widen with the reduction
/// (antialiasing), as Pillow does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    /// Triangle: never leaves the range of the pixels.
    Bilinear,
    /// Cubic (Catmull-Rom, a = -1/2): sharper, may overshoot at edges.
    #[default]
    Bicubic,
}

/// A rectangle of pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// First column.
    pub x: u32,
    /// First row.
    pub y: u32,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

impl Window {
    /// All of an image.
    pub fn whole(image: &RgbImage) -> Self {
        let (width, height) = image.dimensions();
        Self {
            x: 0,
            y: 0,
            width,
            height,
        }
    }

    /// The middle of an image; where the difference is odd, the part right of it or below
    /// is the larger. A side that is shorter than asked for is taken whole.
    pub fn center(image: &RgbImage, width: u32, height: u32) -> Self {
        let (w, h) = image.dimensions();
        let (width, height) = (width.min(w), height.min(h));
        Self {
            x: (w - width) / 2,
            y: (h - height) / 2,
            width,
            height,
        }
    }
}

/// Resizes a window of an image to `width` x `height`. O(pixels x filter width).
///
/// The window must lie in the image, and no side may be 0 (both fail with kind `Parameter`).
pub fn resize(
    image: &RgbImage,
    window: Window,
    width: u32,
    height: u32,
    filter: Filter,
) -> Result<RgbImage> {
    let wrong = |e: &dyn std::fmt::Display| {
        let what = format!("{window:?} of {:?}", image.dimensions());
        likewise::Error::parameter("resize", what, &format!("is not possible: {e}"))
    };
    if [width, height, window.width, window.height].contains(&0) {
        return Err(wrong(&"a side of 0 pixels").into());
    }
    let (w, h) = image.dimensions();
    let mut resized = RgbImage::new(width, height);
    // One kind of pixel: a resizer of all of them takes minutes to compile.
    let from = TypedImageRef::<U8x3>::from_buffer(w, h, image.as_raw()).map_err(|e| wrong(&e))?;
    let mut to = TypedImage::from_buffer(width, height, &mut resized).map_err(|e| wrong(&e))?;
    let filter = match filter {
        Filter::Bilinear => FilterType::Bilinear,
        Filter::Bicubic => FilterType::CatmullRom,
    };
    let Window {
        x,
        y,
        width: columns,
        height: rows,
    } = window;
    let options = ResizeOptions::new()
        .resize_alg(ResizeAlg::Convolution(filter))
        .crop(x.into(), y.into(), columns.into(), rows.into());
    Resizer::new()
        .resize_typed::<U8x3>(&from, &mut to, &options)
        .map_err(|e| wrong(&e))?;
    Ok(resized)
}

/// Resizes so that the shorter side is `side`; the other is rounded to the nearest pixel.
pub fn resize_shorter(image: &RgbImage, side: u32, filter: Filter) -> Result<RgbImage> {
    let (w, h) = image.dimensions();
    let short = f64::from(w.min(h).max(1));
    let scaled = |length: u32| (f64::from(length) * f64::from(side) / short).round() as u32;
    resize(image, Window::whole(image), scaled(w), scaled(h), filter)
}

/// The pixels of a window, which is cut off where it leaves the image.
pub fn crop(image: &RgbImage, window: Window) -> RgbImage {
    imageops::crop_imm(image, window.x, window.y, window.width, window.height).to_image()
}

/// Random changes of training images, drawn anew for every item and epoch.
///
/// In this order: a window of random area and shape is resized to the size asked for;
/// the result is mirrored; brightness, contrast, saturation and hue change. Not for
/// evaluation, and not where left and right, colour or size tell classes apart (mirrored
/// digits are wrong digits).
///
/// Formulas as of torchvision's `RandomResizedCrop`, `RandomHorizontalFlip` and
/// `ColorJitter`, except that the colour changes have a fixed order and brightness to
/// saturation are done without rounding in between. O(pixels).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Augment {
    /// Smallest and largest share of the area in the window; (1, 1) and ratio (1, 1) on a
    /// square image take it whole.
    pub scale: (f64, f64),
    /// Narrowest and widest ratio of width to height of the window.
    pub ratio: (f64, f64),
    /// Probability of mirroring, left to right.
    pub flip: f64,
    /// Brightness is multiplied by 1 - b to 1 + b.
    pub brightness: f64,
    /// The distance from the mean grey is multiplied by 1 - c to 1 + c.
    pub contrast: f64,
    /// The distance from each pixel's grey is multiplied by 1 - s to 1 + s.
    pub saturation: f64,
    /// Hue turns by at most this share of the circle, 0 to 0.5.
    pub hue: f64,
}

impl Default for Augment {
    fn default() -> Self {
        Self {
            scale: (0.2, 1.0),
            ratio: (3.0 / 4.0, 4.0 / 3.0),
            flip: 0.5,
            brightness: 0.4,
            contrast: 0.4,
            saturation: 0.4,
            hue: 0.1,
        }
    }
}

impl Augment {
    /// Fails with the field, its value and the rule it breaks.
    pub fn validate(&self) -> Result<()> {
        let wrong = |field: &str, value: &dyn std::fmt::Debug, rule: &str| {
            Err(likewise::Error::parameter(field, format!("{value:?}"), rule).into())
        };
        let (low, high) = self.scale;
        if !(low > 0.0 && low <= high && high <= 1.0) {
            return wrong(
                "scale",
                &self.scale,
                "must be two values in (0, 1], in order",
            );
        }
        let (low, high) = self.ratio;
        if !(low > 0.0 && low <= high && high.is_finite()) {
            return wrong("ratio", &self.ratio, "must be two values above 0, in order");
        }
        let shares = [
            ("flip", self.flip, 1.0),
            ("brightness", self.brightness, 1.0),
            ("contrast", self.contrast, 1.0),
            ("saturation", self.saturation, 1.0),
            ("hue", self.hue, 0.5),
        ];
        for (field, value, most) in shares {
            if !(0.0..=most).contains(&value) {
                return wrong(field, &value, &format!("must be in [0, {most}]"));
            }
        }
        Ok(())
    }

    /// The generator of one item in one epoch.
    pub fn rng(seed: u64, epoch: u64, item: usize) -> Rng {
        seed::stream(seed, &format!("augment epoch {epoch} item {item}"))
    }

    /// A changed image of `size` x `size` pixels.
    pub fn apply(
        &self,
        image: &RgbImage,
        size: u32,
        filter: Filter,
        rng: &mut Rng,
    ) -> Result<RgbImage> {
        let window = self.window(image, rng);
        let mut image = resize(image, window, size, size, filter)?;
        if rng.random::<f64>() < self.flip {
            imageops::flip_horizontal_in_place(&mut image);
        }
        let mut factor = |range: f64| 1.0 + range * (2.0 * rng.random::<f64>() - 1.0);
        let [brightness, contrast, saturation] =
            [self.brightness, self.contrast, self.saturation].map(&mut factor);
        let turn = factor(self.hue) - 1.0;
        recolor(&mut image, brightness, contrast, saturation, turn);
        Ok(image)
    }

    /// A window of random area and shape in the image; after ten that do not fit, the
    /// largest in the middle whose shape is allowed.
    fn window(&self, image: &RgbImage, rng: &mut Rng) -> Window {
        let (w, h) = image.dimensions();
        let (width, height) = (f64::from(w), f64::from(h));
        let between = |(low, high): (f64, f64), at: f64| low + (high - low) * at;
        for _ in 0..10 {
            let area = width * height * between(self.scale, rng.random());
            let (low, high) = self.ratio;
            let ratio = between((low.ln(), high.ln()), rng.random()).exp();
            let columns = (area * ratio).sqrt().round() as u32;
            let rows = (area / ratio).sqrt().round() as u32;
            if (1..=w).contains(&columns) && (1..=h).contains(&rows) {
                return Window {
                    x: rng.random_range(0..=w - columns),
                    y: rng.random_range(0..=h - rows),
                    width: columns,
                    height: rows,
                };
            }
        }
        let ratio = (width / height).clamp(self.ratio.0, self.ratio.1);
        let columns = (height * ratio).round().clamp(1.0, width) as u32;
        let rows = (width / ratio).round().clamp(1.0, height) as u32;
        Window::center(image, columns, rows)
    }
}

/// Grey of a colour, by the weights of ITU-R BT.601.
fn gray(color: [f32; 3]) -> f32 {
    0.299 * color[0] + 0.587 * color[1] + 0.114 * color[2]
}

fn recolor(image: &mut RgbImage, brightness: f64, contrast: f64, saturation: f64, turn: f64) {
    let [brightness, contrast, saturation] = [brightness, contrast, saturation].map(|f| f as f32);
    let brighter = |color: [u8; 3]| color.map(|c| (f32::from(c) * brightness).min(255.0));
    // In f64: a sum of millions of pixels.
    let sum: f64 = image.pixels().map(|p| f64::from(gray(brighter(p.0)))).sum();
    let pixels = f64::from(image.width()) * f64::from(image.height());
    let mean = (sum / pixels) as f32;
    let away =
        |from: f32, factor: f32| move |c: f32| (from + (c - from) * factor).clamp(0.0, 255.0);
    for pixel in image.pixels_mut() {
        let color = brighter(pixel.0).map(away(mean, contrast));
        let color = color.map(away(gray(color), saturation));
        pixel.0 = turned(color, turn as f32).map(|c| c.round() as u8);
    }
}

/// The colour with its hue turned by a share of the circle; lightness and saturation (of
/// HSV) stay.
fn turned(color: [f32; 3], turn: f32) -> [f32; 3] {
    let [r, g, b] = color;
    let most = r.max(g).max(b);
    let chroma = most - r.min(g).min(b);
    if turn == 0.0 || chroma == 0.0 {
        return color;
    }
    // Hue in sixths of the circle.
    let hue = if most <= r {
        (g - b) / chroma
    } else if most <= g {
        2.0 + (b - r) / chroma
    } else {
        4.0 + (r - g) / chroma
    };
    let hue = hue + 6.0 * turn;
    // Each channel is low on one third of the circle, high on another, and linear between.
    [5.0, 3.0, 1.0].map(|shift: f32| {
        let at = (shift + hue).rem_euclid(6.0);
        most - chroma * at.min(4.0 - at).clamp(0.0, 1.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use image::Rgb;
    use proptest::prelude::*;

    /// An image in which every pixel is another.
    fn noise(width: u32, height: u32, seed: u64) -> RgbImage {
        let mut rng = seed::stream(seed, "noise");
        RgbImage::from_fn(width, height, |_, _| Rgb(rng.random()))
    }

    fn row(values: &[u8]) -> RgbImage {
        RgbImage::from_fn(values.len() as u32, 1, |x, _| Rgb([values[x as usize]; 3]))
    }

    fn grays(image: &RgbImage) -> Vec<u8> {
        image.pixels().map(|p| p.0[0]).collect()
    }

    #[test]
    fn resizing_by_hand() {
        let half = |filter| {
            let image = row(&[0, 0, 200, 200, 0, 0]);
            grays(&resize(&image, Window::whole(&image), 3, 1, filter).unwrap())
        };
        // Triangle of width 4 around each pair: 1/8 3/8 3/8 1/8, cut off at the ends (3 3 1)/7.
        assert_eq!(half(Filter::Bilinear), [29, 150, 29]);
        // The cubic of twice the width overshoots in the middle and undershoots at the ends.
        let cubic = half(Filter::Bicubic);
        assert!(cubic[1] > 150 && cubic[0] < 29, "{cubic:?}");
        let image = row(&[10, 20]);
        let doubled = resize(&image, Window::whole(&image), 4, 1, Filter::Bilinear).unwrap();
        // Centres at -1/4, 1/4, 3/4 and 5/4 of the way.
        assert_eq!(grays(&doubled), [10, 13, 18, 20]);
    }

    #[test]
    fn the_shorter_side_is_the_one_asked_for() {
        let size = |w, h, side| {
            let image = RgbImage::new(w, h);
            resize_shorter(&image, side, Filter::Bilinear)
                .unwrap()
                .dimensions()
        };
        assert_eq!(size(300, 200, 256), (384, 256));
        assert_eq!(size(200, 300, 256), (256, 384));
        assert_eq!(size(3, 1000, 2), (2, 667));
        assert_eq!(size(1, 1, 7), (7, 7));
    }

    #[test]
    fn windows_are_centred_and_cut_exactly() {
        let image = row(&[1, 2, 3, 4, 5]);
        assert_eq!(
            grays(&crop(&image, Window::center(&image, 3, 1))),
            [2, 3, 4]
        );
        assert_eq!(grays(&crop(&image, Window::center(&image, 2, 1))), [2, 3]);
        assert_eq!(Window::center(&image, 9, 9), Window::whole(&image));
    }

    #[test]
    fn impossible_resizing_is_an_error() {
        let image = row(&[1, 2]);
        let outside = Window {
            x: 1,
            y: 0,
            width: 2,
            height: 1,
        };
        for (window, side) in [(outside, 1), (Window::whole(&image), 0)] {
            let e = resize(&image, window, side, 1, Filter::Bilinear).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Parameter, "{e}");
        }
        assert!(resize_shorter(&RgbImage::new(0, 3), 2, Filter::Bicubic).is_err());
    }

    #[test]
    fn colors_by_hand() {
        let change = |colors: &[[u8; 3]], b, c, s, turn| {
            let mut image =
                RgbImage::from_fn(colors.len() as u32, 1, |x, _| Rgb(colors[x as usize]));
            recolor(&mut image, b, c, s, turn);
            image.pixels().map(|p| p.0).collect::<Vec<_>>()
        };
        assert_eq!(
            change(&[[10, 100, 200]], 1.5, 1.0, 1.0, 0.0),
            [[15, 150, 255]]
        );
        // The mean is 100; the distance from it doubles.
        let grays = [[50; 3], [150; 3]];
        assert_eq!(change(&grays, 1.0, 2.0, 1.0, 0.0), [[0; 3], [200; 3]]);
        // Without saturation a colour is its grey: 0.299 * 200 + 0.587 * 100 = 118.5.
        assert_eq!(change(&[[200, 100, 0]], 1.0, 1.0, 0.0, 0.0), [[119; 3]]);
        // A third of the circle: red to green, green to blue, blue to red.
        let colors = [[255, 0, 0], [0, 255, 0], [0, 0, 255], [90, 90, 90]];
        let turned = [[0, 255, 0], [0, 0, 255], [255, 0, 0], [90, 90, 90]];
        assert_eq!(change(&colors, 1.0, 1.0, 1.0, 1.0 / 3.0), turned);
        assert_eq!(
            change(&[[255, 0, 0]], 1.0, 1.0, 1.0, 1.0 / 6.0),
            [[255, 255, 0]]
        );
    }

    #[test]
    fn parameters_are_checked() {
        assert!(Augment::default().validate().is_ok());
        let wrong = |change: fn(&mut Augment)| {
            let mut augment = Augment::default();
            change(&mut augment);
            augment.validate().unwrap_err().to_string()
        };
        assert!(wrong(|a| a.scale = (0.0, 1.0)).starts_with("scale = (0.0, 1.0)"));
        assert!(wrong(|a| a.ratio = (2.0, 1.0)).starts_with("ratio"));
        assert!(wrong(|a| a.flip = f64::NAN).starts_with("flip"));
        assert!(wrong(|a| a.hue = 0.6).contains("[0, 0.5]"));
    }

    #[test]
    fn a_draw_depends_on_seed_epoch_and_item_alone() {
        let image = noise(40, 30, 0);
        let draw = |seed, epoch, item| {
            let mut rng = Augment::rng(seed, epoch, item);
            let augment = Augment::default();
            augment
                .apply(&image, 16, Filter::Bilinear, &mut rng)
                .unwrap()
        };
        assert_eq!(draw(1, 2, 3), draw(1, 2, 3));
        for other in [draw(2, 2, 3), draw(1, 3, 3), draw(1, 2, 4)] {
            assert_ne!(other, draw(1, 2, 3));
        }
    }

    proptest! {
        #[test]
        fn mirroring_twice_changes_nothing(w in 1..20u32, h in 1..20u32, seed: u64) {
            let image = noise(w, h, seed);
            let once = imageops::flip_horizontal(&image);
            prop_assert_eq!(imageops::flip_horizontal(&once), image);
        }

        #[test]
        fn a_window_lies_inside(w in 1..200u32, h in 1..200u32, seed: u64) {
            let image = RgbImage::new(w, h);
            let mut rng = Augment::rng(seed, 0, 0);
            let window = Augment::default().window(&image, &mut rng);
            prop_assert!(window.width > 0 && window.x + window.width <= w);
            prop_assert!(window.height > 0 && window.y + window.height <= h);
        }

        #[test]
        fn an_image_of_one_colour_stays_it(
            w in 1..60u32, h in 1..60u32, side in 1..60u32, color: [u8; 3], cubic: bool
        ) {
            let filter = if cubic { Filter::Bicubic } else { Filter::Bilinear };
            let image = RgbImage::from_pixel(w, h, Rgb(color));
            for resized in [
                resize(&image, Window::whole(&image), side, side, filter).unwrap(),
                resize_shorter(&image, side, filter).unwrap(),
            ] {
                prop_assert!(resized.pixels().all(|p| p.0 == color));
            }
        }

        #[test]
        fn without_change_nothing_changes(side in 1..30u32, seed: u64) {
            let still = Augment {
                scale: (1.0, 1.0), ratio: (1.0, 1.0), flip: 0.0,
                brightness: 0.0, contrast: 0.0, saturation: 0.0, hue: 0.0,
            };
            let image = noise(side, side, seed);
            let mut rng = Augment::rng(seed, 0, 0);
            let same = still.apply(&image, side, Filter::Bicubic, &mut rng).unwrap();
            prop_assert_eq!(same, image);
        }

        #[test]
        fn turned_colours_keep_their_range(color: [u8; 3], turn in -0.5..0.5f32) {
            let color = color.map(f32::from);
            let other = turned(color, turn);
            let range = |c: [f32; 3]| (c[0].min(c[1]).min(c[2]), c[0].max(c[1]).max(c[2]));
            let ((a, b), (c, d)) = (range(color), range(other));
            prop_assert!((a - c).abs() < 0.01 && (b - d).abs() < 0.01, "{other:?}");
            let back = turned(other, -turn);
            for (x, y) in back.iter().zip(color) {
                prop_assert!((x - y).abs() < 0.05, "{back:?} {color:?}");
            }
        }
    }
}
