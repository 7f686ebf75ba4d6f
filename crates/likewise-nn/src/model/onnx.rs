//! A fitted model as an ONNX file.

mod scaled;
mod view;

use likewise::linear::Affine;
use likewise::matrix::Reading;
use likewise::model::{Bilinear, Hashed, Joined, Model as Closed, Probabilities};
use ndarray::{Array1, Array2};

use self::scaled::features;
use super::Model;
use crate::net::{Deep, Head, Residual};
use crate::onnx::Writer;
use crate::{Error, Result};

pub use scaled::Scaled;
pub use view::view_to_onnx;

impl Model {
    /// The bytes of an ONNX file that embeds as [`embed`](Self::embed) does, in `f32`: `input` to
    /// `embedding`, `batch x output_dim`. Of a bilinear form there is also `asking`, the rows of
    /// queries.
    ///
    /// The input of a network are images, `batch x channels x height x width` of 0 to 255; that of
    /// all others are features, `batch x input_dim`: what [`embed`](Self::embed) takes, or with `scaled` the
    /// numbers of a table as they stand in it.
    ///
    /// Fails for a model that compares rows itself, which no such file can hold, and for networks
    /// that pool by regions.
    ///
    /// ```
    /// use likewise::{linear::Affine, matrix::Reading, model};
    /// let map = Affine { mean: ndarray::array![1.0, 0.0], matrix: ndarray::Array2::eye(2) };
    /// let model: likewise_nn::Model = model::Model::linear(Reading::default(), map).into();
    /// assert!(!model.to_onnx(None)?.is_empty());
    /// # Ok::<(), likewise_nn::Error>(())
    /// ```
    pub fn to_onnx(&self, scaled: Option<&Scaled>) -> Result<Vec<u8>> {
        let mut writer = Writer::default();
        let columns = self.output_dim();
        let row = match self {
            Self::Closed(closed) => {
                let x = features(&mut writer, self.input_dim(), scaled);
                closed_form(closed, &mut writer, x)?
            }
            Self::Head(head) => {
                let x = features(&mut writer, self.input_dim(), scaled);
                head_on_features(head, &mut writer, x)
            }
            Self::Network(deep) => network(deep, &mut writer)?,
        };
        writer.output("embedding", row, columns);
        Ok(writer.into_bytes("likewise"))
    }
}

/// The features as they are read.
fn read(writer: &mut Writer, reading: Reading, x: String) -> String {
    let mut x = x;
    if reading.power < 1.0 {
        let size = writer.of("Abs", x.clone());
        let power = writer.scalar(reading.power);
        let size = writer.both("Pow", size, power);
        let sign = writer.of("Sign", x);
        x = writer.both("Mul", size, sign);
    }
    if reading.unit { writer.unit(x) } else { x }
}

fn less_mean(writer: &mut Writer, x: String, mean: &Array1<f64>) -> String {
    if mean.iter().all(|&m| m == 0.0) {
        return x;
    }
    let mean = writer.row("mean", mean);
    writer.both("Sub", x, mean)
}

fn centered(writer: &mut Writer, x: String, (mean, scale): (&Array1<f64>, &Array1<f64>)) -> String {
    let centered = less_mean(writer, x, mean);
    let scale = writer.row("scale", scale);
    writer.both("Mul", centered, scale)
}

fn affine(writer: &mut Writer, x: String, map: &Affine) -> String {
    let centered = less_mean(writer, x, &map.mean);
    let matrix = writer.matrix("matrix", &map.matrix);
    writer.both("MatMul", centered, matrix)
}

/// `x W + b`.
fn layer(
    writer: &mut Writer,
    name: &str,
    x: String,
    (matrix, bias): (&Array2<f64>, &Array1<f64>),
) -> String {
    let matrix = writer.matrix(&format!("{name}.matrix"), matrix);
    let product = writer.both("MatMul", x, matrix);
    let bias = writer.row(&format!("{name}.bias"), bias);
    writer.both("Add", product, bias)
}

fn closed_form(model: &Closed, writer: &mut Writer, x: String) -> Result<String> {
    match model {
        Closed::Linear(of) => {
            let x = read(writer, of.reading, x);
            let row = affine(writer, x, &of.map);
            Ok(writer.unit(row))
        }
        Closed::Metric(of) => {
            let x = read(writer, of.reading, x);
            Ok(affine(writer, x, &of.map()))
        }
        Closed::Bilinear(of) => Ok(bilinear(of, writer, x)),
        Closed::Probabilities(of) => Ok(probabilities(of, writer, x)),
        Closed::Joined(of) => joined(of, writer, &x),
        Closed::Hashed(of) => Ok(hashed(of, writer, x)),
        Closed::Scored(_) => Err(Error::data(
            "the model compares rows itself, and no ONNX file of embeddings can stand for it",
        )),
    }
}

fn joined(of: &Joined<Closed>, writer: &mut Writer, x: &str) -> Result<String> {
    let mut rows = Vec::new();
    for (place, (part, share)) in of.parts().iter().enumerate() {
        let before = writer.add_prefix(&format!("{place}."));
        let row = closed_form(part, writer, x.to_owned())?;
        writer.begin_names_with(&before);
        rows.push(writer.times(row, share.sqrt()));
    }
    Ok(writer.beside(rows))
}

fn bilinear(of: &Bilinear, writer: &mut Writer, x: String) -> String {
    let x = read(writer, of.reading, x);
    let row = less_mean(writer, x, &of.mean);
    let matrix = writer.matrix("bilinear", &of.matrix);
    let asking = writer.both("MatMul", row.clone(), matrix);
    writer.output("asking", asking, of.mean.len());
    row
}

fn probabilities(of: &Probabilities, writer: &mut Writer, x: String) -> String {
    let x = read(writer, of.reading, x);
    let c = centered(writer, x, (&of.mean, &of.scale));
    let mut parts = Vec::new();
    if of.share > 0.0 {
        let logits = layer(writer, "logits", c.clone(), (&of.matrix, &of.bias));
        let p = writer.of("Softmax", logits);
        let p = writer.times(p, of.share);
        parts.push(writer.of("Sqrt", p));
    }
    if of.share < 1.0 {
        let discriminants = of.discriminants.as_ref().map(|of| {
            let matrix = writer.matrix("discriminants", of);
            writer.both("MatMul", c.clone(), matrix)
        });
        for part in discriminants.into_iter().chain(of.features.then_some(c)) {
            let unit = writer.unit(part);
            parts.push(writer.times(unit, of.rest().sqrt()));
        }
    }
    let row = writer.beside(parts);
    writer.unit(row)
}

fn hashed(of: &Hashed, writer: &mut Writer, x: String) -> String {
    let x = read(writer, of.reading, x);
    let c = centered(writer, x, (&of.mean, &of.scale));
    let latent = layer(writer, "latent", c.clone(), (&of.matrix, &of.bias));
    let h = of.bits() as f64;
    let bit = ((h + 1.0) / (h + 2.0) / h).sqrt();
    let code = writer.by_sign(latent, [-bit, bit]);
    let unit = writer.unit(c);
    let unit = writer.times(unit, (h + 2.0).recip().sqrt());
    let row = writer.beside(vec![code, unit]);
    writer.unit(row)
}

fn head_on_features(head: &Head, writer: &mut Writer, x: String) -> String {
    let x = read(writer, head.reading, x);
    let start = affine(writer, x, &head.start);
    let start = writer.unit(start);
    let learned = learned_half(head, writer, start.clone());
    let keep = head.config.keep;
    if keep == 0.0 {
        return learned;
    }
    let kept = writer.times(start, keep.sqrt());
    let learned = writer.times(learned, (1.0 - keep).sqrt());
    writer.beside(vec![kept, learned])
}

/// The learned half of a head, from unit rows of the start.
fn learned_half(head: &Head, writer: &mut Writer, start: String) -> String {
    let rank = head.start.matrix.ncols();
    let residual = |name: &str| head.residual.get(name);
    let Some(output) = residual("output.weight") else {
        return start;
    };
    let columns = output.ncols();
    let output = writer.values("output.weight", output.shape(), output.iter().copied());
    if matches!(head.config.residual, Residual::Orthogonal { .. }) {
        let row = writer.both("MatMul", start, output);
        return writer.unit(row);
    }
    let mut inner = writer.times(start.clone(), (rank as f64).sqrt());
    if let Some(weight) = residual("input.weight") {
        let weight = writer.values("input.weight", weight.shape(), weight.iter().copied());
        inner = writer.both("MatMul", inner, weight);
        if let Some(bias) = residual("input.bias") {
            let bias = writer.values("input.bias", bias.shape(), bias.iter().copied());
            inner = writer.both("Add", inner, bias);
        }
        inner = writer.of("Relu", inner);
    }
    let moved = writer.both("MatMul", inner, output);
    // The start, filled up with zeros.
    let filled = Array2::from_shape_fn((rank, columns), |(i, j)| f64::from(i == j));
    let filled = writer.matrix("filled", &filled);
    let start = writer.both("MatMul", start, filled);
    let row = writer.both("Add", start, moved);
    let row = writer.unit(row);
    let Some(map) = residual("map") else {
        return row;
    };
    let map = writer.values("map", map.shape(), map.iter().copied());
    let row = writer.both("MatMul", row, map);
    writer.unit(row)
}

#[cfg(not(feature = "networks"))]
fn network(_: &Deep, _: &mut Writer) -> Result<String> {
    crate::networks("the model of this run")?;
    Err(Error::data("there is no network"))
}

#[cfg(feature = "networks")]
fn network(deep: &Deep, writer: &mut Writer) -> Result<String> {
    let input = deep.config.input();
    let image = writer.input("input", &[input.channels, input.height, input.width]);
    let image = preprocessed(&input.preprocess, writer, image);
    let rows = |writer: &mut Writer, weights: &crate::net::Weights| {
        let encoder = deep.config.init(0, &crate::Device::flex())?;
        let row = encoder.load(weights.clone())?.put(writer, &image)?;
        Ok::<_, Error>(writer.unit(row))
    };
    let mut learned = rows(writer, &deep.weights)?;
    if let Some(map) = &deep.map {
        let map = writer.values("map", map.shape(), map.iter().copied());
        let row = writer.both("MatMul", learned, map);
        learned = writer.unit(row);
    }
    let Some(start) = &deep.start else {
        return Ok(learned);
    };
    writer.begin_names_with("start.");
    let began = rows(writer, &start.weights)?;
    let keep = f64::from(start.keep);
    let kept = writer.times(began, keep.sqrt());
    let new = writer.times(learned, (1.0 - keep).sqrt());
    Ok(writer.beside(vec![kept, new]))
}

/// From pixels of 0 to 255 to what the network reads.
#[cfg(feature = "networks")]
fn preprocessed(of: &crate::net::Preprocess, writer: &mut Writer, mut image: String) -> String {
    use crate::net::Channels;
    use crate::onnx::Attribute;

    if of.channels == Channels::Bgr {
        let order = writer.places(&[2, 1, 0]);
        image = writer.node(
            "Gather",
            vec![image, order],
            vec![Attribute::int("axis", 1)],
        );
    }
    let shape = [1, of.depth(), 1, 1];
    let image = writer.times(image, f64::from(of.scale));
    let mean = writer.values("preprocess.mean", &shape, of.mean.iter().copied());
    let image = writer.both("Sub", image, mean);
    let std = writer.values("preprocess.std", &shape, of.std.iter().copied());
    writer.both("Div", image, std)
}
