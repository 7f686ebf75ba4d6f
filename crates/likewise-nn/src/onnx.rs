//! ONNX files, written: what networks and heads share.

mod message;
mod writer;

pub(crate) use message::Attribute;
pub(crate) use writer::Writer;
