//! The encoder of one view as an ONNX file.

use likewise::cross::{Encoder, Kernel, NamedView, Network};
use ndarray::Array2;

use super::scaled::{Scaled, features};
use super::{affine, layer, less_mean};
use crate::onnx::Writer;
use crate::{Error, Result};

/// The bytes of an ONNX file that encodes rows of one view of a model across views, in `f32`: `input`
/// (`batch x columns`; with `scaled` the numbers of a table as they stand in it) to `embedding`, rows of length 1,
/// or 1 and -1 where the encoder gives bits.
///
/// A bit whose value lies within the rounding of `f32` around 0 may come out the other way. Fails for
/// a view of texts, whose words no such file counts.
pub fn view_to_onnx(view: &NamedView, scaled: Option<&Scaled>) -> Result<Vec<u8>> {
    if view.text.is_some() {
        return Err(Error::data(format!(
            "the view {} is of texts, whose words an ONNX file does not count; name a view of numbers",
            view.name
        )));
    }
    let mut writer = Writer::default();
    let mut x = features(&mut writer, view.encoder.input_dim(), scaled);
    if let Some(scale) = &view.scale {
        let scale = writer.row("view.scale", scale);
        x = writer.both("Mul", x, scale);
    }
    let row = match &view.encoder {
        Encoder::Real(map) => {
            let row = affine(&mut writer, x, map);
            writer.unit(row)
        }
        Encoder::Bits { map, offset } => {
            let values = affine(&mut writer, x, map);
            let offset = writer.row("offset", offset);
            let values = writer.both("Sub", values, offset);
            writer.by_sign(values, [-1.0, 1.0])
        }
        Encoder::KernelBits(of) => {
            let values = kernel(of, &mut writer, x);
            writer.by_sign(values, [-1.0, 1.0])
        }
        Encoder::Network(of) => {
            let row = network(of, &mut writer, x, true);
            writer.unit(row)
        }
        Encoder::NetworkBits(of) => {
            let values = network(of, &mut writer, x, false);
            writer.by_sign(values, [-1.0, 1.0])
        }
    };
    writer.output("embedding", row, view.encoder.output_dim());
    Ok(writer.into_bytes("likewise"))
}

/// `exp(-|x - mean - anchor|^2 / s2) W`, the squared distances by products.
fn kernel(of: &Kernel, writer: &mut Writer, x: String) -> String {
    let x = less_mean(writer, x, &of.mean);
    let square = writer.both("Mul", x.clone(), x.clone());
    let ones = writer.matrix("ones", &Array2::ones((of.mean.len(), 1)));
    let own = writer.both("MatMul", square, ones);
    let transposed = of.anchors.t().as_standard_layout().into_owned();
    let transposed = writer.matrix("anchors", &transposed);
    let products = writer.both("MatMul", x, transposed);
    let products = writer.times(products, -2.0);
    let anchors = of.anchors.rows().into_iter();
    let lengths = writer.row("lengths", &anchors.map(|row| row.dot(&row)).collect());
    let sum = writer.both("Add", own, products);
    let squared = writer.both("Add", sum, lengths);
    // By rounding it may be less.
    let zero = writer.scalar(0.0);
    let squared = writer.both("Max", squared, zero);
    let exponent = writer.times(squared, -of.s2.recip());
    let similarities = writer.of("Exp", exponent);
    let weights = writer.matrix("weights", &of.weights);
    writer.both("MatMul", similarities, weights)
}

/// Layers with `tanh` behind each, or rectified but for the last.
fn network(of: &Network, writer: &mut Writer, x: String, tanh: bool) -> String {
    let mut row = less_mean(writer, x, &of.mean);
    let last = of.layers.len().saturating_sub(1);
    for (l, (weight, bias)) in of.layers.iter().enumerate() {
        row = layer(writer, &format!("layer.{l}"), row, (weight, bias));
        if tanh {
            row = writer.of("Tanh", row);
        } else if l < last {
            row = writer.of("Relu", row);
        }
    }
    row
}
