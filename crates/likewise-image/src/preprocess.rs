//! From pixels to the numbers that an encoder takes.

use image::RgbImage;
use ndarray::{Array3, ArrayViewMut3, Axis};
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::transform::{Filter, Window, crop, resize, resize_shorter};

/// Which channels come out, and in which order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Channels {
    /// Red, green, blue.
    #[default]
    Rgb,
    /// Blue, green, red: networks that were trained with `OpenCV` or Caffe.
    Bgr,
    /// One channel: 0.299 red + 0.587 green + 0.114 blue, rounded.
    #[serde(rename = "grey")]
    Gray,
}

impl Channels {
    /// How many there are.
    pub fn count(self) -> usize {
        match self {
            Channels::Rgb | Channels::Bgr => 3,
            Channels::Gray => 1,
        }
    }
}

/// How an image becomes a square.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resize {
    /// The whole image is squeezed into the square.
    #[default]
    Exact,
    /// The shorter side becomes this long, and the square is cut out of the middle.
    Shorter(u32),
}

/// What happens to an image before an encoder sees it: resized and cropped to a square,
/// then `(scale * pixel - mean) / std` in every channel, pixels being 0 to 255.
///
/// An encoder wants exactly what it was trained with; the presets are that for the
/// encoders we know. `mean` and `std` are in the order of `channels`; one value counts for
/// all channels. O(pixels).
///
/// ```
/// use likewise_image::{Preprocess, RgbImage};
/// let image = RgbImage::from_pixel(300, 200, [255, 127, 0].into());
/// let input = Preprocess::lite0().apply(&image)?;
/// assert_eq!(input.dim(), (3, 224, 224));
/// assert_eq!((input[[0, 9, 9]], input[[1, 9, 9]]), (1.0, 0.0));
/// # Ok::<(), likewise_image::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Preprocess {
    /// Side of the square, pixels.
    pub size: u32,
    /// How the image becomes a square.
    pub resize: Resize,
    /// The filter of the resizing.
    pub filter: Filter,
    /// The channels.
    pub channels: Channels,
    /// Factor of the pixels.
    pub scale: f32,
    /// Is taken away, one value a channel or one for all.
    pub mean: Vec<f32>,
    /// Divides, one value a channel or one for all.
    pub std: Vec<f32>,
}

impl Default for Preprocess {
    /// [`Preprocess::lite0`].
    fn default() -> Self {
        Self::lite0()
    }
}

impl Preprocess {
    /// EfficientNet-Lite0: 224 RGB, `(x - 127) / 128`, from a shorter side of 256 (the share
    /// 224/256 of its training), bicubic.
    pub fn lite0() -> Self {
        Self {
            size: 224,
            resize: Resize::Shorter(256),
            filter: Filter::Bicubic,
            channels: Channels::Rgb,
            scale: 1.0,
            mean: vec![127.0],
            std: vec![128.0],
        }
    }

    /// `SqueezeNet` 1.1 from Caffe: 227 BGR minus (104.0, 116.7, 122.7), from a shorter side
    /// of 256, bilinear.
    pub fn squeezenet() -> Self {
        Self {
            size: 227,
            filter: Filter::Bilinear,
            channels: Channels::Bgr,
            mean: vec![104.0, 116.7, 122.7],
            std: vec![1.0],
            ..Self::lite0()
        }
    }

    /// MNIST and its kin: 28 x 28 grey, 0 to 1.
    pub fn mnist() -> Self {
        Self {
            channels: Channels::Gray,
            ..Self::small(28)
        }
    }

    /// CIFAR: 32 x 32 RGB, 0 to 1.
    pub fn cifar() -> Self {
        Self::small(32)
    }

    fn small(size: u32) -> Self {
        Self {
            size,
            resize: Resize::Exact,
            filter: Filter::Bilinear,
            channels: Channels::Rgb,
            scale: 1.0 / 255.0,
            mean: vec![0.0],
            std: vec![1.0],
        }
    }

    /// Fails with the field, its value and the rule it breaks.
    pub fn validate(&self) -> Result<()> {
        let wrong = |field: &str, value: &dyn std::fmt::Debug, rule: &str| {
            Err(likewise::Error::parameter(field, format!("{value:?}"), rule).into())
        };
        if !(1..=4096).contains(&self.size) {
            return wrong("size", &self.size, "must be 1 to 4096");
        }
        if let Resize::Shorter(side) = self.resize
            && !(self.size..=8192).contains(&side)
        {
            return wrong("resize", &side, "must be size to 8192");
        }
        if !self.scale.is_finite() || self.scale == 0.0 {
            return wrong("scale", &self.scale, "must be finite and not 0");
        }
        for (field, values) in [("mean", &self.mean), ("std", &self.std)] {
            if ![1, self.channels.count()].contains(&values.len()) {
                return wrong(field, values, "must have one value, or one a channel");
            }
            if values.iter().any(|v| !v.is_finite()) {
                return wrong(field, values, "must be finite");
            }
        }
        if self.std.iter().any(|&v| v <= 0.0) {
            return wrong("std", &self.std, "must be above 0");
        }
        Ok(())
    }

    /// Shape of what comes out: channels, height, width.
    pub fn shape(&self) -> (usize, usize, usize) {
        let size = self.size as usize;
        (self.channels.count(), size, size)
    }

    /// The numbers of an image, channels x height x width.
    pub fn apply(&self, image: &RgbImage) -> Result<Array3<f32>> {
        self.validate()?;
        let mut out = Array3::zeros(self.shape());
        self.write(&self.square(image)?, out.view_mut());
        Ok(out)
    }

    /// The image as a square of `size` pixels.
    pub(crate) fn square(&self, image: &RgbImage) -> Result<RgbImage> {
        let size = self.size;
        match self.resize {
            Resize::Exact => resize(image, Window::whole(image), size, size, self.filter),
            Resize::Shorter(side) => {
                let image = resize_shorter(image, side, self.filter)?;
                Ok(crop(&image, Window::center(&image, size, size)))
            }
        }
    }

    /// Writes the numbers of a square image.
    pub(crate) fn write(&self, square: &RgbImage, mut out: ArrayViewMut3<f32>) {
        for (channel, mut plane) in out.axis_iter_mut(Axis(0)).enumerate() {
            let of = |values: &[f32]| values[channel.min(values.len() - 1)];
            let (mean, std) = (of(&self.mean), of(&self.std));
            // A pixel has only 256 values.
            let number: [f32; 256] =
                std::array::from_fn(|pixel| (self.scale * pixel as f32 - mean) / std);
            for (out, pixel) in plane.iter_mut().zip(square.pixels()) {
                let [r, g, b] = pixel.0;
                *out = number[usize::from(match self.channels {
                    Channels::Rgb => pixel.0[channel],
                    Channels::Bgr => pixel.0[2 - channel],
                    Channels::Gray => {
                        let sum = 299 * u32::from(r) + 587 * u32::from(g) + 114 * u32::from(b);
                        ((sum + 500) / 1000) as u8
                    }
                })];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::Rgb;

    #[test]
    fn numbers_by_hand() {
        let image = RgbImage::from_fn(2, 1, |x, _| Rgb([[255, 127, 0], [1, 2, 3]][x as usize]));
        let mut own = Preprocess {
            size: 1,
            resize: Resize::Shorter(1),
            channels: Channels::Bgr,
            scale: 2.0,
            mean: vec![1.0, 2.0, 3.0],
            std: vec![0.5],
            ..Preprocess::lite0()
        };
        // The middle of two is the left one.
        let input = own.apply(&image).unwrap();
        assert_eq!(input.as_slice().unwrap(), [-2.0, 504.0, 1014.0]);
        own.channels = Channels::Gray;
        assert!(own.apply(&image).is_err());
        own.mean = vec![0.0];
        // 0.299 * 255 + 0.587 * 127 = 150.79.
        assert_eq!(own.apply(&image).unwrap().as_slice().unwrap(), [604.0]);
    }

    #[test]
    fn presets_have_their_shapes() {
        let image = RgbImage::from_pixel(100, 50, Rgb([104, 255, 0]));
        let presets = [
            (Preprocess::lite0(), (3, 224, 224)),
            (Preprocess::squeezenet(), (3, 227, 227)),
            (Preprocess::mnist(), (1, 28, 28)),
            (Preprocess::cifar(), (3, 32, 32)),
        ];
        for (preset, shape) in presets {
            let input = preset.apply(&image).unwrap();
            assert_eq!((input.dim(), preset.shape()), (shape, shape));
            let json = serde_json::to_string(&preset).unwrap();
            assert_eq!(serde_json::from_str::<Preprocess>(&json).unwrap(), preset);
        }
        let input = Preprocess::squeezenet().apply(&image).unwrap();
        let near = |found: f32, expected: f32| assert!((found - expected).abs() < 1e-4, "{found}");
        near(input[[0, 0, 0]], -104.0);
        near(input[[2, 0, 0]], 104.0 - 122.7);
        near(Preprocess::cifar().apply(&image).unwrap()[[1, 0, 0]], 1.0);
    }

    #[test]
    fn parameters_are_checked() {
        let message = |change: fn(&mut Preprocess)| {
            let mut own = Preprocess::default();
            change(&mut own);
            own.validate().unwrap_err().to_string()
        };
        assert!(message(|p| p.size = 0).starts_with("size = 0"));
        assert!(message(|p| p.resize = Resize::Shorter(100)).starts_with("resize = 100"));
        assert!(message(|p| p.std = vec![0.0]).starts_with("std"));
        assert!(message(|p| p.mean = vec![1.0, 2.0]).contains("one a channel"));
        assert!(message(|p| p.scale = f32::NAN).starts_with("scale"));
        assert!(serde_json::from_str::<Preprocess>("{\"sise\": 3}").is_err());
    }
}
