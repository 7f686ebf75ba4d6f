//! The part of ONNX's protobuf messages that our models need; numbers are those of `onnx.proto`.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Model {
    #[prost(int64, tag = "1")]
    pub(crate) ir_version: i64,
    #[prost(string, tag = "2")]
    pub(crate) producer_name: String,
    #[prost(message, optional, tag = "7")]
    pub(crate) graph: Option<Graph>,
    #[prost(message, repeated, tag = "8")]
    pub(crate) opset_import: Vec<Opset>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Opset {
    #[prost(string, tag = "1")]
    pub(crate) domain: String,
    #[prost(int64, tag = "2")]
    pub(crate) version: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Graph {
    #[prost(message, repeated, tag = "1")]
    pub(crate) node: Vec<Node>,
    #[prost(string, tag = "2")]
    pub(crate) name: String,
    #[prost(message, repeated, tag = "5")]
    pub(crate) initializer: Vec<Constant>,
    #[prost(message, repeated, tag = "11")]
    pub(crate) input: Vec<Value>,
    #[prost(message, repeated, tag = "12")]
    pub(crate) output: Vec<Value>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Node {
    #[prost(string, repeated, tag = "1")]
    pub(crate) input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub(crate) output: Vec<String>,
    #[prost(string, tag = "3")]
    pub(crate) name: String,
    #[prost(string, tag = "4")]
    pub(crate) op_type: String,
    #[prost(message, repeated, tag = "5")]
    pub(crate) attribute: Vec<Attribute>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Attribute {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(int64, tag = "3")]
    pub(crate) i: i64,
    #[prost(bytes = "vec", tag = "4")]
    pub(crate) s: Vec<u8>,
    #[prost(int64, repeated, tag = "8")]
    pub(crate) ints: Vec<i64>,
    /// Which of the fields counts.
    #[prost(int32, tag = "20")]
    pub(crate) kind: i32,
}

impl Attribute {
    pub(crate) fn int(name: &str, i: i64) -> Self {
        Self {
            name: name.to_owned(),
            i,
            kind: 2,
            ..Self::default()
        }
    }

    pub(crate) fn string(name: &str, s: &str) -> Self {
        Self {
            name: name.to_owned(),
            s: s.into(),
            kind: 3,
            ..Self::default()
        }
    }

    pub(crate) fn ints(name: &str, ints: impl IntoIterator<Item = usize>) -> Self {
        Self {
            name: name.to_owned(),
            ints: ints.into_iter().map(|i| i as i64).collect(),
            kind: 7,
            ..Self::default()
        }
    }
}

/// A tensor.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Constant {
    #[prost(int64, repeated, tag = "1")]
    pub(crate) dims: Vec<i64>,
    #[prost(int32, tag = "2")]
    pub(crate) data_type: i32,
    #[prost(string, tag = "8")]
    pub(crate) name: String,
    #[prost(bytes = "vec", tag = "9")]
    pub(crate) raw_data: Vec<u8>,
}

/// The numbers of f32 and i64 among ONNX's types.
pub(crate) const FLOAT: i32 = 1;
pub(crate) const INT64: i32 = 7;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Value {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) r#type: Option<Type>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Type {
    #[prost(message, optional, tag = "1")]
    pub(crate) tensor_type: Option<TensorType>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TensorType {
    #[prost(int32, tag = "1")]
    pub(crate) elem_type: i32,
    #[prost(message, optional, tag = "2")]
    pub(crate) shape: Option<Shape>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Shape {
    #[prost(message, repeated, tag = "1")]
    pub(crate) dim: Vec<Dim>,
}

/// A size, or the name of one that is not fixed.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Dim {
    #[prost(int64, optional, tag = "1")]
    pub(crate) dim_value: Option<i64>,
    #[prost(string, optional, tag = "2")]
    pub(crate) dim_param: Option<String>,
}

impl Value {
    /// Tensors of f32: a free number of items, each of this shape.
    pub(crate) fn items(name: &str, shape: &[usize]) -> Self {
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
