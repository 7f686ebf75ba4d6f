//! Networks: heads on features, and encoders of images.

mod architecture;
mod bn_inception;
mod embedding;
mod encoder;
mod googlenet;
mod head;
mod lite0;
mod network;
mod onnx;
mod paper001;
mod pooling;
mod preprocess;
mod resnet;
mod saved;
mod squeezenet;
mod weights;

pub use architecture::Architecture;
pub use embedding::EmbeddingConfig;
pub use encoder::{Encoder, EncoderConfig, Group, Input};
pub use head::{Head, HeadConfig, Residual};
pub(crate) use head::{ResidualNet, parameter};
#[cfg(feature = "onnx")]
pub use onnx::OnnxEncoder;
pub use pooling::Pool;
pub use preprocess::{Channels, Preprocess};
pub use weights::Weights;
