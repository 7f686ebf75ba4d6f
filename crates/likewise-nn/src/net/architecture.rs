//! The networks that are known, and what each expects.

use serde::{Deserialize, Serialize};

use super::preprocess::{Channels, Preprocess};
#[cfg(feature = "networks")]
use {
    super::network::{Builder, Network},
    super::resnet::Block,
    super::squeezenet::{self, Border, squeezenet},
    super::weights::Weights,
    super::{bn_inception, dutta, googlenet, lite0, resnet},
    burn::tensor::Device,
};

/// Epsilon of batch norms, where a network does not say another.
const EPSILON: f64 = 1e-5;

/// That of what `TensorFlow` trained, or Keras gives out.
const KERAS_EPSILON: f64 = 1e-3;

/// Blocks in the stages of the 50 layers.
const FIFTY: [usize; 4] = [3, 4, 6, 3];

/// A convolutional network without its classifier.
///
/// | name | input | features | parameters | weights that fit |
/// |---|---|---|---|---|
/// | `mnist` | 28 x 28 gray | 128 | .49 M | own |
/// | `cifar` | 32 x 32 | 64 | .15 M | own |
/// | `resnet18` | 224 x 224 | 512 | 11.2 M | torchvision |
/// | `resnet50` | 224 x 224 | 2048 | 23.5 M | torchvision |
/// | `resnet50-v1` | 224 x 224 | 2048 | 23.5 M | Keras under Caffe's names; batch norms are folded |
/// | `bn-inception` | 224 x 224 | 1024 | 10.3 M | Caffe model in its `PyTorch` form |
/// | `googlenet` | 224 x 224 | 1024 | 5.6 M | torchvision |
/// | `lite0` | 224 x 224 | 1280 | 3.4 M | `efficientnet_lite_pytorch`, timm's `tf_efficientnet_lite0`; batch norms are folded |
/// | `squeezenet` | 227 x 227 | 512 | .7 M | Caffe model as the package ndf has it |
/// | `squeezenet-torchvision` | 224 x 224 | 512 | .7 M | torchvision: other borders and pixels |
///
/// **When not.** `mnist` and `cifar` fit one size of image; all others read any that is
/// large enough, best near the size above.
///
/// **What was checked.** `lite0`, `squeezenet` and `resnet50-v1` give the published outputs
/// with real weights. The others never ran with real weights here; with the same numbers in all
/// weights they give the outputs and gradients of the models named above (of a plain
/// description in `PyTorch` for `mnist` and `cifar`).
///
/// **Source.** Dutta et al., AAAI 2021 (`mnist`, `cifar`); He et al., CVPR 2016; Ioffe &
/// Szegedy, ICML 2015; Szegedy et al., CVPR 2015; Tan & Le, ICML 2019; Iandola et al., 2016.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    /// The paper's network for 28 x 28 gray images.
    Mnist,
    /// The paper's network for 32 x 32 images in colour.
    Cifar,
    /// 18 layers, two 3x3 convolutions a block.
    Resnet18,
    /// 50 layers, bottlenecks.
    Resnet50,
    /// 50 layers as in the paper and its first weights, which Keras still gives out: steps of
    /// two in the first convolution of a block, pixels in the order of Caffe.
    #[serde(rename = "resnet50-v1")]
    Resnet50V1,
    /// Inception with batch norm, the usual backbone of metric learning before 2020.
    #[serde(rename = "bn-inception")]
    BnInception,
    /// Inception of 2014 as torchvision has it.
    Googlenet,
    /// Small and accurate: the best features a second on a CPU here.
    #[default]
    Lite0,
    /// The smallest; one zero around the image, pools inside their maps.
    Squeezenet,
    /// The smallest, as torchvision has it: no zeros, pools over the edge.
    #[serde(rename = "squeezenet-torchvision")]
    SqueezenetTorchvision,
}

impl Architecture {
    /// Every network.
    pub fn all() -> [Self; 10] {
        [
            Self::Mnist,
            Self::Cifar,
            Self::Resnet18,
            Self::Resnet50,
            Self::Resnet50V1,
            Self::BnInception,
            Self::Googlenet,
            Self::Lite0,
            Self::Squeezenet,
            Self::SqueezenetTorchvision,
        ]
    }

    /// Its name in configurations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mnist => "mnist",
            Self::Cifar => "cifar",
            Self::Resnet18 => "resnet18",
            Self::Resnet50 => "resnet50",
            Self::Resnet50V1 => "resnet50-v1",
            Self::BnInception => "bn-inception",
            Self::Googlenet => "googlenet",
            Self::Lite0 => "lite0",
            Self::Squeezenet => "squeezenet",
            Self::SqueezenetTorchvision => "squeezenet-torchvision",
        }
    }

    /// Height and width that it was made for.
    pub(super) fn side(self) -> usize {
        match self {
            Self::Mnist => 28,
            Self::Cifar => 32,
            Self::Squeezenet => 227,
            _ => 224,
        }
    }

    /// Whether it reads images of that size alone.
    pub(super) fn has_one_size(self) -> bool {
        matches!(self, Self::Mnist | Self::Cifar)
    }

    /// Number of channels of its last map.
    pub fn features(self) -> usize {
        match self {
            Self::Mnist => 128,
            Self::Cifar => 64,
            Self::Resnet18 | Self::Squeezenet | Self::SqueezenetTorchvision => 512,
            Self::Resnet50 | Self::Resnet50V1 => 2048,
            Self::BnInception | Self::Googlenet => 1024,
            Self::Lite0 => 1280,
        }
    }

    /// What the weights in the table expect.
    pub(super) fn preprocess(self) -> Preprocess {
        let pixels = |mean| Preprocess::new(Channels::Bgr, 1.0, mean, &[1.0; 3]);
        match self {
            Self::Mnist => Preprocess::new(Channels::Gray, 1.0 / 255.0, &[0.0], &[1.0]),
            Self::Resnet18 | Self::Resnet50 | Self::Cifar | Self::SqueezenetTorchvision => {
                Preprocess::torchvision()
            }
            Self::Resnet50V1 => pixels(&[103.939, 116.779, 123.68]),
            Self::BnInception => pixels(&[104.0, 117.0, 128.0]),
            // Its weights are converted ones: torchvision brings its usual input to these.
            Self::Googlenet => Preprocess::new(Channels::Rgb, 1.0 / 255.0, &[0.5; 3], &[0.5; 3]),
            Self::Lite0 => Preprocess::new(Channels::Rgb, 1.0, &[127.0; 3], &[128.0; 3]),
            Self::Squeezenet => pixels(&[104.0, 116.7, 122.7]),
        }
    }
}

#[cfg(feature = "networks")]
impl Architecture {
    /// Published weights under our names, in our form.
    pub(super) fn adopt(self, weights: Weights) -> Weights {
        match self {
            Self::SqueezenetTorchvision => weights.rename(squeezenet::TORCHVISION),
            Self::Lite0 => weights.folded(&lite0::published(), KERAS_EPSILON),
            Self::Resnet50V1 => weights.folded(&resnet::published(FIFTY), KERAS_EPSILON),
            _ => weights,
        }
    }

    /// Beginnings of names in published weights that belong to classifiers.
    pub(super) fn ignored(self) -> &'static [&'static str] {
        match self {
            Self::Mnist | Self::Cifar => &[],
            Self::Resnet18 | Self::Resnet50 => &["fc."],
            Self::Resnet50V1 => &["fc.", "fc1000."],
            Self::Lite0 => &["fc.", "_fc.", "classifier."],
            Self::BnInception => &["last_linear.", "fc."],
            Self::Googlenet => &["fc.", "aux1.", "aux2."],
            Self::Squeezenet => &["conv10."],
            Self::SqueezenetTorchvision => &["classifier.1."],
        }
    }

    /// The network with random weights; see [`Builder`] for their distribution.
    pub(super) fn build(self, seed: u64, frozen_norm: bool, device: &Device) -> Network {
        let epsilon = if self == Self::Googlenet {
            KERAS_EPSILON
        } else {
            EPSILON
        };
        let channels = self.preprocess().depth();
        let (mut b, x) = Builder::new(seed, device, channels, frozen_norm, epsilon);
        match self {
            Self::Mnist => dutta::mnist(&mut b, x),
            Self::Cifar => dutta::cifar(&mut b, x),
            Self::Resnet18 => resnet::resnet(&mut b, x, Block::Basic, [2, 2, 2, 2]),
            Self::Resnet50 => resnet::resnet(&mut b, x, Block::Bottleneck, FIFTY),
            Self::Resnet50V1 => resnet::resnet(&mut b, x, Block::Paper, FIFTY),
            Self::BnInception => bn_inception::bn_inception(&mut b, x),
            Self::Googlenet => googlenet::googlenet(&mut b, x),
            Self::Lite0 => lite0::lite0(&mut b, x),
            Self::Squeezenet => squeezenet(&mut b, x, Border::Padded),
            Self::SqueezenetTorchvision => squeezenet(&mut b, x, Border::Ceil),
        }
        b.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::encoder::EncoderConfig;
    use super::super::weights::Folded;
    use super::*;

    /// `weights` as they are published, before the norms of `layers` were folded.
    fn unfolded(weights: &Weights, layers: &[Folded]) -> Weights {
        let mut published = Weights::default();
        for layer in layers {
            let part = |part: &str| weights.get(&format!("backbone.{}.{part}", layer.name));
            let ((shape, weight), (_, bias)) = (part("weight").unwrap(), part("bias").unwrap());
            let out = shape[0];
            let norm: Vec<[f64; 4]> = (0..out)
                .map(|i| {
                    let (gamma, mean) = (0.5 + (i % 5) as f64 / 4.0, (i % 3) as f64 - 1.0);
                    let var = 0.1 + (i % 7) as f64;
                    let scale = gamma / (var + 1e-3).sqrt();
                    [gamma, f64::from(bias[i]) + mean * scale, mean, var]
                })
                .collect();
            let per_filter = weight.len() / out;
            let conv = weight.iter().enumerate().map(|(i, &w)| {
                let [gamma, _, _, var] = norm[i / per_filter];
                (f64::from(w) / (gamma / (var + 1e-3).sqrt())) as f32
            });
            let mut put = |name: String, shape: &[usize], values: Vec<f32>| {
                published.insert(&name, shape.to_vec(), values).unwrap();
            };
            put(format!("{}.weight", layer.conv), shape, conv.collect());
            for (at, part) in ["weight", "bias", "running_mean", "running_var"]
                .into_iter()
                .enumerate()
            {
                let values = norm.iter().map(|of| of[at] as f32).collect();
                put(format!("{}.{part}", layer.norm), &[out], values);
            }
        }
        published
    }

    #[test]
    fn published_norms_are_folded_under_every_name() {
        let lite0 = lite0::published();
        // Two names for each layer: a package's, then timm's.
        let (package, timm): (Vec<_>, Vec<_>) = lite0
            .into_iter()
            .partition(|layer| layer.conv.starts_with('_'));
        for (network, layers, names) in [
            (
                Architecture::Lite0,
                package,
                ["_blocks.15._expand_conv", "_blocks.15._bn0"],
            ),
            (
                Architecture::Lite0,
                timm,
                ["blocks.6.0.conv_pwl", "blocks.6.0.bn3"],
            ),
            (
                Architecture::Resnet50V1,
                resnet::published(FIFTY),
                ["res4f_branch2c", "bn4f_branch2c"],
            ),
        ] {
            let device = Device::flex();
            let config = EncoderConfig::of(network);
            let encoder = config.init(3, &device).unwrap();
            let expected = encoder.weights();
            let published = unfolded(&expected, &layers);
            let [conv, norm] = names;
            for name in [format!("{conv}.weight"), format!("{norm}.running_var")] {
                assert!(published.get(&name).is_some(), "{name}");
            }
            let other = config.init(4, &device).unwrap();
            let found = other.load(published).unwrap().weights();
            for (name, _) in expected.shapes() {
                let (_, expected) = expected.get(name).unwrap();
                let (_, found) = found.get(name).unwrap();
                for (a, b) in expected.iter().zip(found) {
                    assert!((a - b).abs() < 1e-5, "{name}: {a} and {b}");
                }
            }
        }
    }

    #[test]
    fn a_norm_that_is_missing_or_too_short_is_said() {
        let config = EncoderConfig::of(Architecture::Lite0);
        let device = Device::flex();
        let encoder = || config.init(3, &device).unwrap();
        let all = unfolded(&encoder().weights(), &lite0::published()[..1]);
        let e = encoder().load(all).unwrap_err().to_string();
        assert!(e.contains("missing") && !e.contains("stem"), "{e}");

        let mut short = unfolded(&encoder().weights(), &lite0::published()[..1]);
        short.insert("_bn0.bias", vec![1], vec![0.0]).unwrap();
        let e = encoder().load(short).unwrap_err().to_string();
        assert!(e.contains("_conv_stem.weight"), "{e}");
    }
}
