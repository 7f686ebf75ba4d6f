//! Networks: heads on features, and encoders of images.

mod architecture;
mod bn_inception;
mod deep;
mod dutta;
mod embedding;
mod encoder;
mod googlenet;
mod head;
mod layout;
mod lite0;
mod network;
mod onnx;
mod pooling;
mod preprocess;
mod resnet;
mod saved;
mod squeezenet;
pub(crate) mod tensor;
mod weights;
mod weights_file;

pub use architecture::Architecture;
pub(crate) use deep::no_images;
pub use deep::{Deep, Start};
pub use embedding::EmbeddingConfig;
pub use encoder::{Encoder, EncoderConfig, Group, Input};
pub use head::{Head, HeadConfig, Residual};
pub(crate) use head::{ResidualNet, parameter};
#[cfg(feature = "onnx")]
pub use onnx::OnnxEncoder;
pub use pooling::Pool;
pub use preprocess::{Channels, Preprocess};
pub(crate) use tensor::{matrix_tensor, to_matrix, value_of};
pub use weights::Weights;
