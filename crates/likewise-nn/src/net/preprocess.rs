//! What a network expects of its pixels.

use ndarray::{Array4, Axis};
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Order of the colours in the channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Channels {
    /// One channel of brightness.
    Gray,
    /// Red, green, blue.
    Rgb,
    /// Blue, green, red.
    Bgr,
}

/// From pixels of 0 to 255 to the values that a network reads.
///
/// ```text
/// y = (scale x - mean) / std,  channel by channel, in the order `channels`
/// ```
///
/// It belongs to the weights, not to the layers: the same net trained twice may expect
/// two things.
///
/// ```
/// use likewise_nn::net::{Architecture, EncoderConfig};
///
/// let pixels = ndarray::Array4::from_elem((1, 3, 224, 224), 255.0);
/// let input = EncoderConfig::of(Architecture::Lite0).input();
/// let ready = input.preprocess.apply(pixels)?;
/// assert_eq!(ready[[0, 0, 0, 0]], 1.0);
/// # Ok::<(), likewise_nn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preprocess {
    /// Order of the channels.
    pub channels: Channels,
    /// Factor on the pixels of 0 to 255.
    pub scale: f32,
    /// Mean of each channel, after the factor, in the order `channels`.
    pub mean: Vec<f32>,
    /// Divisor of each channel, in the order `channels`.
    pub std: Vec<f32>,
}

impl Preprocess {
    pub(super) fn new(channels: Channels, scale: f32, mean: &[f32], std: &[f32]) -> Self {
        let (mean, std) = (mean.to_vec(), std.to_vec());
        Self {
            channels,
            scale,
            mean,
            std,
        }
    }

    /// That of the weights that torchvision publishes.
    pub(super) fn torchvision() -> Self {
        let (mean, std) = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]);
        Self::new(Channels::Rgb, 1.0 / 255.0, &mean, &std)
    }

    /// Number of channels.
    pub fn depth(&self) -> usize {
        match self.channels {
            Channels::Gray => 1,
            Channels::Rgb | Channels::Bgr => 3,
        }
    }

    pub(super) fn validate(&self) -> Result<()> {
        let finite =
            |values: &[f32]| values.len() == self.depth() && values.iter().all(|v| v.is_finite());
        for (field, values) in [("mean", &self.mean), ("std", &self.std)] {
            if !finite(values) {
                return Err(Error::parameter(
                    &format!("encoder.preprocess.{field}"),
                    format!("{values:?}"),
                    &format!("must be {} finite numbers, one a channel", self.depth()),
                ));
            }
        }
        if self.std.iter().any(|&v| v <= 0.0) {
            return Err(Error::parameter(
                "encoder.preprocess.std",
                format!("{:?}", self.std),
                "must be above 0",
            ));
        }
        if !(self.scale.is_finite() && self.scale > 0.0) {
            return Err(Error::parameter(
                "encoder.preprocess.scale",
                self.scale,
                "must be above 0",
            ));
        }
        Ok(())
    }

    /// Prepares `[images, channels, height, width]` of 0 to 255, gray or red-green-blue.
    pub fn apply(&self, mut pixels: Array4<f32>) -> Result<Array4<f32>> {
        self.validate()?;
        if pixels.len_of(Axis(1)) != self.depth() {
            return Err(Error::data(format!(
                "the images have {} channels, the network reads {}; convert them first",
                pixels.len_of(Axis(1)),
                self.depth()
            )));
        }
        if self.channels == Channels::Bgr {
            pixels.invert_axis(Axis(1));
        }
        for (channel, mut values) in pixels.axis_iter_mut(Axis(1)).enumerate() {
            let (mean, std) = (self.mean[channel], self.std[channel]);
            values.mapv_inplace(|v| (self.scale * v - mean) / std);
        }
        Ok(pixels)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn blue_first_means_that_the_colours_swap() {
        let caffe = Preprocess::new(Channels::Bgr, 1.0, &[104.0, 117.0, 123.0], &[1.0; 3]);
        let red_green_blue = array![[[[10.0]], [[20.0]], [[30.0]]]];
        let ready = caffe.apply(red_green_blue).unwrap();
        assert_eq!(ready, array![[[[-74.0]], [[-97.0]], [[-113.0]]]]);
        let message = caffe.apply(Array4::zeros((1, 1, 2, 2))).unwrap_err();
        assert!(message.to_string().contains("1 channels"), "{message}");
    }

    #[test]
    fn a_divisor_of_zero_is_refused() {
        let broken = Preprocess::new(Channels::Gray, 1.0, &[0.0], &[0.0]);
        let message = broken.validate().unwrap_err().to_string();
        assert!(message.contains("preprocess.std"), "{message}");
    }
}
