//! An encoder as an ONNX model.

use burn::tensor::Tensor;

use crate::net::embedding::{EPSILON, Embedding};
use crate::net::encoder::Encoder;
use crate::net::network::{Network, Op, Pad, Window};
use crate::net::pooling::Pool;
use crate::onnx::{Attribute, Writer};
use crate::{Error, Result};

impl Encoder {
    /// The bytes of an ONNX file: `input` (`[batch, channels, height, width]`, preprocessed,
    /// of the size in the configuration) to `embedding` (`[batch, output_dim]`), rows of
    /// length 1 where `unit` is set.
    ///
    /// Batch norms are folded into convolutions. Fails for the pool `rmac`, whose regions
    /// depend on the image.
    pub fn to_onnx(&self, unit: bool) -> Result<Vec<u8>> {
        let config = self.config();
        let input = config.input();
        let mut writer = Writer::default();
        let image = writer.input("input", &[input.channels, input.height, input.width]);
        let mut row = self.put(&mut writer, &image)?;
        if unit {
            row = writer.unit(row);
        }
        writer.output("embedding", row, config.output_dim());
        Ok(writer.into_bytes(config.name()))
    }

    /// Adds the steps from preprocessed images to rows; gives the name of these.
    pub(crate) fn put(&self, writer: &mut Writer, image: &str) -> Result<String> {
        let encoder = self.inference();
        let map = writer.network(&encoder.backbone, image);
        let row = writer.pool(encoder.config().pool, &map)?;
        Ok(match &encoder.head {
            Some(head) => writer.head(head, row),
            None => row,
        })
    }
}

impl Writer {
    /// Adds a constant; gives its name.
    fn constant<const D: usize>(&mut self, name: &str, tensor: Tensor<D>) -> String {
        let dims = tensor.dims();
        let values = tensor
            .try_into_vec_as::<f32>()
            .expect("a float tensor reads as f32");
        self.values(name, &dims, values)
    }

    /// The steps of a folded network; gives the name of its last map.
    fn network(&mut self, network: &Network, image: &str) -> String {
        let mut names: Vec<String> = Vec::with_capacity(network.steps.len());
        for step in &network.steps {
            let mut input: Vec<String> = step.inputs.iter().map(|&j| names[j].clone()).collect();
            let name = match step.op {
                Op::Input => image.to_owned(),
                Op::Conv(number, window) => {
                    let conv = &network.convs[number];
                    let weight = format!("{}.weight", step.name);
                    input.push(self.constant(&weight, conv.weight.val()));
                    if let Some(bias) = &conv.bias {
                        input.push(self.constant(&format!("{}.bias", step.name), bias.val()));
                    }
                    let mut attributes = moving(window);
                    attributes.push(Attribute::int("group", conv.groups as i64));
                    self.node("Conv", input, attributes)
                }
                Op::Norm(_) => unreachable!("a folded network has no batch norms"),
                Op::Relu => self.node("Relu", input, vec![]),
                Op::Relu6 => {
                    input.extend([self.scalar(0.0), self.scalar(6.0)]);
                    self.node("Clip", input, vec![])
                }
                Op::MaxPool(window) => {
                    let mut attributes = moving(window);
                    attributes.push(Attribute::int("ceil_mode", window.ceil.into()));
                    self.node("MaxPool", input, attributes)
                }
                Op::AvgPool { window, count_pad } => {
                    let mut attributes = moving(window);
                    attributes.push(Attribute::int("ceil_mode", window.ceil.into()));
                    attributes.push(Attribute::int("count_include_pad", count_pad.into()));
                    self.node("AveragePool", input, attributes)
                }
                Op::Add => self.node("Add", input, vec![]),
                Op::Concat => self.node("Concat", input, vec![Attribute::int("axis", 1)]),
            };
            names.push(name);
        }
        names.pop().unwrap_or_default()
    }

    fn pool(&mut self, pool: Pool, map: &str) -> Result<String> {
        let mut pooled = |op: &str| {
            let pooled = self.node(op, vec![map.to_owned()], vec![]);
            self.node("Flatten", vec![pooled], vec![Attribute::int("axis", 1)])
        };
        Ok(match pool {
            Pool::Average => pooled("GlobalAveragePool"),
            Pool::Max => pooled("GlobalMaxPool"),
            Pool::Both => {
                let both = vec![pooled("GlobalAveragePool"), pooled("GlobalMaxPool")];
                self.node("Add", both, vec![])
            }
            Pool::Rmac => {
                return Err(Error::parameter(
                    "encoder.pool",
                    "rmac",
                    "cannot be written as ONNX; must be average, max or both",
                ));
            }
        })
    }

    fn head(&mut self, head: &Embedding, mut row: String) -> String {
        if head.layer_norm {
            row = self.layer_norm(row);
        }
        for (name, layer) in head.layers() {
            if name == "output" && head.hidden.is_some() {
                row = self.node("Relu", vec![row], vec![]);
            }
            let mut input = vec![row];
            input.push(self.constant(&format!("head.{name}.weight"), layer.weight.val()));
            if let Some(bias) = &layer.bias {
                input.push(self.constant(&format!("head.{name}.bias"), bias.val()));
            }
            row = self.node("Gemm", input, vec![]);
        }
        row
    }

    fn layer_norm(&mut self, row: String) -> String {
        let over_row = || vec![Attribute::ints("axes", [1])];
        let mean = self.node("ReduceMean", vec![row.clone()], over_row());
        let centered = self.node("Sub", vec![row, mean], vec![]);
        let squared = self.node("Mul", vec![centered.clone(), centered.clone()], vec![]);
        let variance = self.node("ReduceMean", vec![squared], over_row());
        let epsilon = self.scalar(EPSILON);
        let raised = self.node("Add", vec![variance, epsilon], vec![]);
        let deviation = self.node("Sqrt", vec![raised], vec![]);
        self.node("Div", vec![centered, deviation], vec![])
    }
}

/// Size, stride and border of a window.
fn moving(window: Window) -> Vec<Attribute> {
    vec![
        Attribute::ints("kernel_shape", [window.size; 2]),
        Attribute::ints("strides", [window.stride; 2]),
        match window.pad {
            Pad::Each(pad) => Attribute::ints("pads", [pad; 4]),
            Pad::Same => Attribute::string("auto_pad", "SAME_UPPER"),
        },
    ]
}
