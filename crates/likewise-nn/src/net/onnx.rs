//! ONNX: our encoders out, anybody's encoders in.

#[cfg(feature = "onnx")]
mod read;
mod write;

#[cfg(feature = "onnx")]
pub use read::OnnxEncoder;
