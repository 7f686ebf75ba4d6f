//! The part of ONNX's protobuf messages that an encoder needs; numbers are those of `onnx.proto`.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Model {
    #[prost(int64, tag = "1")]
    pub(super) ir_version: i64,
    #[prost(string, tag = "2")]
    pub(super) producer_name: String,
    #[prost(message, optional, tag = "7")]
    pub(super) graph: Option<Graph>,
    #[prost(message, repeated, tag = "8")]
    pub(super) opset_import: Vec<Opset>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Opset {
    #[prost(string, tag = "1")]
    pub(super) domain: String,
    #[prost(int64, tag = "2")]
    pub(super) version: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Graph {
    #[prost(message, repeated, tag = "1")]
    pub(super) node: Vec<Node>,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(message, repeated, tag = "5")]
    pub(super) initializer: Vec<Constant>,
    #[prost(message, repeated, tag = "11")]
    pub(super) input: Vec<Value>,
    #[prost(message, repeated, tag = "12")]
    pub(super) output: Vec<Value>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Node {
    #[prost(string, repeated, tag = "1")]
    pub(super) input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub(super) output: Vec<String>,
    #[prost(string, tag = "3")]
    pub(super) name: String,
    #[prost(string, tag = "4")]
    pub(super) op_type: String,
    #[prost(message, repeated, tag = "5")]
    pub(super) attribute: Vec<Attribute>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Attribute {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(int64, tag = "3")]
    pub(super) i: i64,
    #[prost(bytes = "vec", tag = "4")]
    pub(super) s: Vec<u8>,
    #[prost(int64, repeated, tag = "8")]
    pub(super) ints: Vec<i64>,
    /// Which of the fields counts.
    #[prost(int32, tag = "20")]
    pub(super) kind: i32,
}

impl Attribute {
    pub(super) fn int(name: &str, i: i64) -> Self {
        Self {
            name: name.to_owned(),
            i,
            kind: 2,
            ..Self::default()
        }
    }

    pub(super) fn string(name: &str, s: &str) -> Self {
        Self {
            name: name.to_owned(),
            s: s.into(),
            kind: 3,
            ..Self::default()
        }
    }

    pub(super) fn ints(name: &str, ints: impl IntoIterator<Item = usize>) -> Self {
        Self {
            name: name.to_owned(),
            ints: ints.into_iter().map(|i| i as i64).collect(),
            kind: 7,
            ..Self::default()
        }
    }
}

/// A tensor of f32.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Constant {
    #[prost(int64, repeated, tag = "1")]
    pub(super) dims: Vec<i64>,
    #[prost(int32, tag = "2")]
    pub(super) data_type: i32,
    #[prost(string, tag = "8")]
    pub(super) name: String,
    #[prost(bytes = "vec", tag = "9")]
    pub(super) raw_data: Vec<u8>,
}

/// The number of f32 among ONNX's types.
pub(super) const FLOAT: i32 = 1;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Value {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, optional, tag = "2")]
    pub(super) r#type: Option<Type>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Type {
    #[prost(message, optional, tag = "1")]
    pub(super) tensor_type: Option<TensorType>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorType {
    #[prost(int32, tag = "1")]
    pub(super) elem_type: i32,
    #[prost(message, optional, tag = "2")]
    pub(super) shape: Option<Shape>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Shape {
    #[prost(message, repeated, tag = "1")]
    pub(super) dim: Vec<Dim>,
}

/// A size, or the name of one that is not fixed.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Dim {
    #[prost(int64, optional, tag = "1")]
    pub(super) dim_value: Option<i64>,
    #[prost(string, optional, tag = "2")]
    pub(super) dim_param: Option<String>,
}

impl Value {
    /// Tensors of f32: a free number of items, each of this shape.
    pub(super) fn items(name: &str, shape: &[usize]) -> Self {
        let free = Dim {
            dim_param: Some("batch".into()),
            ..Dim::default()
        };
        let fixed = shape.iter().map(|&size| Dim {
            dim_value: Some(size as i64),
            ..Dim::default()
        });
        let dim = std::iter::once(free).chain(fixed).collect();
        let tensor_type = Some(TensorType {
            elem_type: FLOAT,
            shape: Some(Shape { dim }),
        });
        Self {
            name: name.to_owned(),
            r#type: Some(Type { tensor_type }),
        }
    }
}
