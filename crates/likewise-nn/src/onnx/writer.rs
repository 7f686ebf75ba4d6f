//! An ONNX model, step by step.

use ndarray::{Array1, Array2};
use prost::Message;

use super::message::{Attribute, Constant, FLOAT, Graph, INT64, Model, Node, Opset, Value};

/// The version of ONNX's operators that is written: old enough for every reader.
const OPSET: i64 = 13;
/// The version of the file's structure that belongs to it.
const IR: i64 = 7;

/// Steps from inputs to outputs. All tensors are of `f32`, items first; a step is known by the name
/// of its result.
#[derive(Default)]
pub(crate) struct Writer {
    graph: Graph,
    prefix: String,
}

impl Writer {
    /// Begins the names of constants with this from now on: two networks in one file have tensors of
    /// the same names.
    pub(crate) fn begin_names_with(&mut self, prefix: &str) {
        prefix.clone_into(&mut self.prefix);
    }

    /// Names of constants begin with this behind what they begin with already, which is returned.
    pub(crate) fn add_prefix(&mut self, prefix: &str) -> String {
        let before = self.prefix.clone();
        self.prefix.push_str(prefix);
        before
    }

    /// Adds an input: a free number of items, each of this shape.
    pub(crate) fn input(&mut self, name: &str, shape: &[usize]) -> String {
        self.graph.input.push(Value::items(name, shape));
        name.to_owned()
    }

    /// Names a result as an output: a row of so many columns an item.
    pub(crate) fn output(&mut self, name: &str, from: String, columns: usize) {
        self.node("Identity", vec![from], vec![]);
        if let Some(last) = self.graph.node.last_mut() {
            last.output = vec![name.to_owned()];
        }
        self.graph.output.push(Value::items(name, &[columns]));
    }

    /// Adds an operation; gives the name of its result.
    pub(crate) fn node(
        &mut self,
        op: &str,
        input: Vec<String>,
        attribute: Vec<Attribute>,
    ) -> String {
        let name = format!("{}_{op}", self.graph.node.len());
        self.graph.node.push(Node {
            input,
            output: vec![name.clone()],
            name: name.clone(),
            op_type: op.to_owned(),
            attribute,
        });
        name
    }

    /// An operation on one tensor.
    pub(crate) fn of(&mut self, op: &str, x: String) -> String {
        self.node(op, vec![x], vec![])
    }

    /// An operation on two tensors.
    pub(crate) fn both(&mut self, op: &str, a: String, b: String) -> String {
        self.node(op, vec![a, b], vec![])
    }

    /// Adds a constant of this shape; gives its name.
    pub(crate) fn values(
        &mut self,
        name: &str,
        shape: &[usize],
        values: impl IntoIterator<Item = f32>,
    ) -> String {
        let bytes = values.into_iter().flat_map(f32::to_le_bytes).collect();
        let name = format!("{}{name}", self.prefix);
        self.add(name, FLOAT, shape, bytes)
    }

    /// Adds places, counted from 0.
    pub(crate) fn places(&mut self, places: &[i64]) -> String {
        let bytes = places.iter().flat_map(|v| v.to_le_bytes()).collect();
        let name = format!("places_{}", self.graph.initializer.len());
        self.add(name, INT64, &[places.len()], bytes)
    }

    fn add(&mut self, name: String, data_type: i32, shape: &[usize], raw_data: Vec<u8>) -> String {
        self.graph.initializer.push(Constant {
            dims: shape.iter().map(|&size| size as i64).collect(),
            data_type,
            name: name.clone(),
            raw_data,
        });
        name
    }

    /// Adds a matrix.
    pub(crate) fn matrix(&mut self, name: &str, m: &Array2<f64>) -> String {
        self.values(name, m.shape(), m.iter().map(|&v| v as f32))
    }

    /// Adds a row, which goes with every row of items.
    pub(crate) fn row(&mut self, name: &str, v: &Array1<f64>) -> String {
        self.values(name, &[1, v.len()], v.iter().map(|&v| v as f32))
    }

    /// Adds a number.
    pub(crate) fn scalar(&mut self, value: f64) -> String {
        let name = format!("scalar_{}", self.graph.initializer.len());
        self.values(&name, &[], [value as f32])
    }

    /// A tensor times a number.
    pub(crate) fn times(&mut self, x: String, by: f64) -> String {
        let by = self.scalar(by);
        self.both("Mul", x, by)
    }

    /// Rows side by side.
    pub(crate) fn beside(&mut self, parts: Vec<String>) -> String {
        self.node("Concat", parts, vec![Attribute::int("axis", 1)])
    }

    /// Rows of length 1; a row of zeros stays one.
    pub(crate) fn unit(&mut self, row: String) -> String {
        let over_row = vec![Attribute::ints("axes", [1])];
        let length = self.node("ReduceL2", vec![row.clone()], over_row);
        let least = self.scalar(1e-12);
        let length = self.both("Max", length, least);
        self.both("Div", row, length)
    }

    /// One of two numbers: by whether a value is at least 0.
    pub(crate) fn by_sign(&mut self, x: String, [otherwise, at_least_0]: [f64; 2]) -> String {
        let zero = self.scalar(0.0);
        let is = self.both("GreaterOrEqual", x, zero);
        let (yes, no) = (self.scalar(at_least_0), self.scalar(otherwise));
        self.node("Where", vec![is, yes, no], vec![])
    }

    /// The bytes of the file.
    pub(crate) fn into_bytes(self, name: &str) -> Vec<u8> {
        let mut graph = self.graph;
        name.clone_into(&mut graph.name);
        let model = Model {
            ir_version: IR,
            producer_name: "likewise".into(),
            graph: Some(graph),
            opset_import: vec![Opset {
                domain: String::new(),
                version: OPSET,
            }],
        };
        model.encode_to_vec()
    }
}
