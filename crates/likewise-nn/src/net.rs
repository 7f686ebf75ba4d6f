//! Networks: heads on features, and encoders of images.

mod architecture;
mod bn_inception;
mod deep;
mod embedding;
mod encoder;
mod googlenet;
mod head;
mod layout;
mod lite0;
mod model;
mod network;
mod onnx;
mod paper001;
mod pooling;
mod preprocess;
mod resnet;
mod saved;
mod squeezenet;
mod tensor;
mod weights;

pub use architecture::Architecture;
pub use deep::{Deep, Start};
pub use embedding::EmbeddingConfig;
pub use encoder::{Encoder, EncoderConfig, Group, Input};
pub use head::{Head, HeadConfig, Residual};
pub(crate) use head::{ResidualNet, parameter};
pub use model::Model;
#[cfg(feature = "onnx")]
pub use onnx::OnnxEncoder;
pub use pooling::Pool;
pub use preprocess::{Channels, Preprocess};
pub(crate) use tensor::{matrix_tensor, to_matrix};
pub use weights::Weights;
