//! The networks that are known, and what each expects.

use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use super::network::{Builder, Network};
use super::preprocess::{Channels, Preprocess};
use super::resnet::{Block, resnet};
use super::squeezenet::{self, Border, squeezenet};
use super::{bn_inception, googlenet, lite0, paper001};

/// Epsilon of batch norms, where a network does not say another.
const EPSILON: f64 = 1e-5;

/// A convolutional network without its classifier.
///
/// | name | input | features | parameters | weights that fit |
/// |---|---|---|---|---|
/// | `mnist` | 28 x 28 gray | 128 | .49 M | own |
/// | `cifar` | 32 x 32 | 64 | .15 M | own |
/// | `resnet18` | 224 x 224 | 512 | 11.2 M | torchvision |
/// | `resnet50` | 224 x 224 | 2048 | 23.5 M | torchvision |
/// | `bn-inception` | 224 x 224 | 1024 | 10.3 M | Caffe model in its `PyTorch` form |
/// | `googlenet` | 224 x 224 | 1024 | 5.6 M | torchvision |
/// | `lite0` | 224 x 224 | 1280 | 3.4 M | batch norms folded |
/// | `squeezenet` | 227 x 227 | 512 | .7 M | Caffe model as the package ndf has it |
/// | `squeezenet-torchvision` | 224 x 224 | 512 | .7 M | torchvision: other borders and pixels |
///
/// **When not.** `mnist` and `cifar` fit one size of image; all others read any that is
/// large enough, best near the size above.
///
/// **What was checked.** `lite0` and `squeezenet` give the published outputs with real
/// weights. The others never ran with real weights here; with the same numbers in all weights
/// they give the outputs and gradients of the models named above (of a plain description in
/// `PyTorch` for `mnist` and `cifar`).
///
/// **Source.** Liu et al., AAAI 2021 (`mnist`, `cifar`); He et al., CVPR 2016; Ioffe &
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
    pub fn all() -> [Self; 9] {
        [
            Self::Mnist,
            Self::Cifar,
            Self::Resnet18,
            Self::Resnet50,
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
    pub(crate) fn features(self) -> usize {
        match self {
            Self::Mnist => 128,
            Self::Cifar => 64,
            Self::Resnet18 | Self::Squeezenet | Self::SqueezenetTorchvision => 512,
            Self::Resnet50 => 2048,
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
            Self::BnInception => pixels(&[104.0, 117.0, 128.0]),
            // Its weights are converted ones: torchvision brings its usual input to these.
            Self::Googlenet => Preprocess::new(Channels::Rgb, 1.0 / 255.0, &[0.5; 3], &[0.5; 3]),
            Self::Lite0 => Preprocess::new(Channels::Rgb, 1.0, &[127.0; 3], &[128.0; 3]),
            Self::Squeezenet => pixels(&[104.0, 116.7, 122.7]),
        }
    }

    /// Names in published weights that differ: their beginning, and ours.
    pub(super) fn renames(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::SqueezenetTorchvision => &squeezenet::TORCHVISION,
            _ => &[],
        }
    }

    /// Beginnings of names in published weights that belong to classifiers.
    pub(super) fn ignored(self) -> &'static [&'static str] {
        match self {
            Self::Mnist | Self::Cifar => &[],
            Self::Resnet18 | Self::Resnet50 | Self::Lite0 => &["fc."],
            Self::BnInception => &["last_linear.", "fc."],
            Self::Googlenet => &["fc.", "aux1.", "aux2."],
            Self::Squeezenet => &["conv10."],
            Self::SqueezenetTorchvision => &["classifier.1."],
        }
    }

    /// The network with random weights; see [`Builder`] for their distribution.
    pub(super) fn build(self, seed: u64, frozen_norm: bool, device: &Device) -> Network {
        let epsilon = if self == Self::Googlenet {
            1e-3
        } else {
            EPSILON
        };
        let channels = self.preprocess().depth();
        let (mut b, x) = Builder::new(seed, device, channels, frozen_norm, epsilon);
        match self {
            Self::Mnist => paper001::mnist(&mut b, x),
            Self::Cifar => paper001::cifar(&mut b, x),
            Self::Resnet18 => resnet(&mut b, x, Block::Basic, [2, 2, 2, 2]),
            Self::Resnet50 => resnet(&mut b, x, Block::Bottleneck, [3, 4, 6, 3]),
            Self::BnInception => bn_inception::bn_inception(&mut b, x),
            Self::Googlenet => googlenet::googlenet(&mut b, x),
            Self::Lite0 => lite0::lite0(&mut b, x),
            Self::Squeezenet => squeezenet(&mut b, x, Border::Padded),
            Self::SqueezenetTorchvision => squeezenet(&mut b, x, Border::Ceil),
        }
        b.finish()
    }
}
