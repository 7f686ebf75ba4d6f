//! Networks: heads on features, and encoders of images.

#[cfg(not(feature = "networks"))]
mod absent;
mod architecture;
#[cfg(feature = "networks")]
mod bn_inception;
mod deep;
#[cfg(feature = "networks")]
mod dutta;
mod embedding;
mod encoder;
#[cfg(feature = "networks")]
mod googlenet;
mod head;
#[cfg(feature = "networks")]
mod layout;
#[cfg(feature = "networks")]
mod lite0;
#[cfg(feature = "networks")]
mod network;
#[cfg(feature = "networks")]
mod onnx;
mod pooling;
mod preprocess;
#[cfg(feature = "networks")]
mod resnet;
mod saved;
#[cfg(feature = "networks")]
mod squeezenet;
#[cfg(feature = "networks")]
pub(crate) mod tensor;
mod weights;
#[cfg(feature = "networks")]
mod weights_file;

#[cfg(not(feature = "networks"))]
pub use absent::Encoder;
pub use architecture::Architecture;
pub(crate) use deep::no_images;
pub use deep::{Deep, Start};
pub use embedding::EmbeddingConfig;
#[cfg(feature = "networks")]
pub use encoder::Encoder;
pub use encoder::{EncoderConfig, Group, Input};
#[cfg(feature = "networks")]
pub(crate) use head::{DIRECTIONS, ResidualNet, parameter};
pub use head::{Head, HeadConfig, Residual};
#[cfg(feature = "onnx")]
pub use onnx::OnnxEncoder;
pub use pooling::Pool;
pub use preprocess::{Channels, Preprocess};
#[cfg(feature = "networks")]
pub(crate) use tensor::{matrix_tensor, to_matrix, value_of};
pub use weights::Weights;
