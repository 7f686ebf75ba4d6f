//! A convolutional network as a plan of steps: run, measured, folded and exported by one code.

use burn::module::{Module, Param, RunningState};
use burn::nn::conv::Conv2d;
use burn::nn::pool::{AvgPool2dConfig, MaxPool2dConfig};
use burn::nn::{BatchNorm, PaddingConfig2d};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor, TensorData};
use likewise::seed;
use rand::RngExt;

use super::head::parameter;
use super::weights::{Sink, Source};

/// Identities of a network's parameters begin here; smaller ones belong to heads.
const FIRST_ID: u64 = 1000;

/// Border of a convolution or a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pad {
    /// As many zeros on each side.
    Each(usize),
    /// Just enough for `ceil(size / stride)` outputs, an odd one at the bottom and the right.
    Same,
}

/// A square window that moves over a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) size: usize,
    pub(super) stride: usize,
    pub(super) pad: Pad,
    /// Whether a last window that hangs over the border counts.
    pub(super) ceil: bool,
}

impl Window {
    pub(super) fn new(size: usize, stride: usize, pad: usize) -> Self {
        let pad = Pad::Each(pad);
        Self {
            size,
            stride,
            pad,
            ceil: false,
        }
    }

    pub(super) fn same(size: usize, stride: usize) -> Self {
        Self {
            pad: Pad::Same,
            ..Self::new(size, stride, 0)
        }
    }

    pub(super) fn ceil(self) -> Self {
        Self { ceil: true, ..self }
    }

    fn padding(self) -> PaddingConfig2d {
        match self.pad {
            Pad::Each(p) => PaddingConfig2d::Explicit(p, p, p, p),
            Pad::Same => PaddingConfig2d::Same,
        }
    }

    /// Positions on an axis of `size` entries; `None` where the window does not fit.
    fn positions(self, size: usize) -> Option<usize> {
        let pad = match self.pad {
            Pad::Same => return Some(size.div_ceil(self.stride)),
            Pad::Each(pad) => pad,
        };
        let room = (size + 2 * pad).checked_sub(self.size)?;
        if !self.ceil {
            return Some(room / self.stride + 1);
        }
        let positions = room.div_ceil(self.stride) + 1;
        // The last window must begin inside the map or its left border.
        let begins_outside = (positions - 1) * self.stride >= size + pad;
        Some(positions - usize::from(begins_outside))
    }
}

/// What a step does with its inputs.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Op {
    Input,
    /// Number of the convolution.
    Conv(usize, Window),
    /// Number of the batch norm.
    Norm(usize),
    Relu,
    Relu6,
    MaxPool(Window),
    AvgPool {
        window: Window,
        /// Whether the zeros of the border count in the mean.
        count_pad: bool,
    },
    Add,
    /// Of the channels.
    Concat,
}

/// One step: an operation on the results of earlier steps.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// Name of the parameters; empty where there are none.
    pub(super) name: String,
    pub(super) op: Op,
    pub(super) inputs: Vec<usize>,
}

/// Convolutions and batch norms, and the plan that joins them. The result is that of the
/// last step.
#[derive(Module, Debug)]
pub(super) struct Network {
    pub(super) convs: Vec<Conv2d>,
    pub(super) norms: Vec<BatchNorm>,
    #[module(skip)]
    pub(super) steps: Vec<Step>,
}

impl Network {
    /// `[batch, channels, height, width]` to the map of the last step.
    pub(super) fn forward(&self, input: Tensor<4>) -> Tensor<4> {
        let last_use = self.last_use();
        // A result is given away at its last use, so that memory is freed and the
        // operation may work in place.
        let mut results: Vec<Option<Tensor<4>>> = vec![None; self.steps.len()];
        let mut input = Some(input);
        for (i, step) in self.steps.iter().enumerate() {
            let mut arguments = step.inputs.iter().map(|&j| {
                let result = if last_use[j] == i {
                    results[j].take()
                } else {
                    results[j].clone()
                };
                result.expect("a result lives until its last use")
            });
            let mut argument = || arguments.next().expect("every step knows its inputs");
            results[i] = Some(match step.op {
                Op::Input => input.take().expect("only the first step is the input"),
                Op::Conv(number, _) => self.convs[number].forward(argument()),
                Op::Norm(number) => self.norms[number].forward(argument()),
                Op::Relu => relu(argument()),
                Op::Relu6 => argument().clamp(0.0, 6.0),
                Op::MaxPool(window) => MaxPool2dConfig::new([window.size; 2])
                    .with_strides([window.stride; 2])
                    .with_padding(window.padding())
                    .with_ceil_mode(window.ceil)
                    .init()
                    .forward(argument()),
                Op::AvgPool { window, count_pad } => AvgPool2dConfig::new([window.size; 2])
                    .with_strides([window.stride; 2])
                    .with_padding(window.padding())
                    .with_ceil_mode(window.ceil)
                    .with_count_include_pad(count_pad)
                    .init()
                    .forward(argument()),
                Op::Add => {
                    let first = argument();
                    first + argument()
                }
                Op::Concat => Tensor::cat(arguments.collect(), 1),
            });
        }
        let last = results.pop().flatten();
        last.expect("the last result is never given away")
    }

    /// This network with its first `layers` convolutions, and the norms between them, as they
    /// are: they get no gradients, and none are computed for what lies before them.
    pub(super) fn frozen(mut self, layers: usize) -> Self {
        let mut seen = 0;
        for step in &self.steps {
            match step.op {
                Op::Conv(number, _) => {
                    seen += 1;
                    if seen <= layers {
                        self.convs[number] = self.convs[number].clone().freeze();
                    }
                }
                Op::Norm(number) if seen <= layers => {
                    self.norms[number] = self.norms[number].clone().freeze();
                }
                _ => {}
            }
        }
        self
    }

    /// The last step that reads each result.
    fn last_use(&self) -> Vec<usize> {
        let mut last = vec![usize::MAX; self.steps.len()];
        for (i, step) in self.steps.iter().enumerate() {
            step.inputs.iter().for_each(|&j| last[j] = i);
        }
        last
    }

    /// Height and width of the last map; `None` where the input is too small for a window.
    pub(super) fn map_size(&self, input: [usize; 2]) -> Option<[usize; 2]> {
        self.sizes(input)?.last().copied()
    }

    /// Height and width of each step's map; `None` where the input is too small for a window.
    fn sizes(&self, input: [usize; 2]) -> Option<Vec<[usize; 2]>> {
        let mut sizes: Vec<[usize; 2]> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let size = step.inputs.first().map_or(input, |&j| sizes[j]);
            sizes.push(match step.op {
                Op::Conv(_, window) | Op::MaxPool(window) | Op::AvgPool { window, .. } => {
                    [window.positions(size[0])?, window.positions(size[1])?]
                }
                _ => size,
            });
        }
        let last_is_one = sizes.last().is_some_and(|[h, w]| *h > 0 && *w > 0);
        last_is_one.then_some(sizes)
    }

    /// Values of each step's map for an image of this size; none where it is too small.
    fn values(&self, input: [usize; 2]) -> Vec<usize> {
        let mut channels: Vec<usize> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let own = step.inputs.iter().map(|&j| channels[j]);
            channels.push(match step.op {
                Op::Input => self
                    .convs
                    .first()
                    .map_or(0, |conv| conv.weight.val().dims()[1] * conv.groups),
                Op::Conv(number, _) => self.convs[number].weight.val().dims()[0],
                Op::Concat => own.sum(),
                _ => own.take(1).sum(),
            });
        }
        let sizes = self.sizes(input).unwrap_or_default();
        let areas = sizes.iter().map(|[height, width]| height * width);
        areas.zip(channels).map(|(area, c)| area * c).collect()
    }

    /// Most values that [`forward`](Self::forward) holds at once for an image of this size,
    /// where no gradients are wanted: the maps that are still to be read, the one that is made,
    /// and the copy that a convolution makes of its input.
    pub(super) fn most_at_once(&self, input: [usize; 2]) -> usize {
        let (values, last_use) = (self.values(input), self.last_use());
        let held_at = |i: usize| {
            let step = &self.steps[i];
            let waits = (0..i).filter(|&j| last_use[j] >= i).map(|j| values[j]);
            let copies = match step.op {
                // One that looks at single places works on its input as it lies.
                Op::Conv(_, window) if window.size > 1 => step.inputs.iter(),
                _ => [].iter(),
            };
            waits.sum::<usize>() + values[i] + copies.map(|&j| values[j]).sum::<usize>()
        };
        (0..values.len()).map(held_at).max().unwrap_or(0)
    }

    /// Values that a step of training keeps for an image of this size: every map behind the
    /// first `frozen` convolutions, for the gradients.
    pub(super) fn kept_in_training(&self, input: [usize; 2], frozen: usize) -> usize {
        let mut seen = 0;
        let values = self.values(input);
        let behind = self.steps.iter().zip(values).filter(|(step, _)| {
            seen += usize::from(matches!(step.op, Op::Conv(..)));
            seen > frozen
        });
        behind.map(|(_, values)| values).sum()
    }

    /// The same function with every batch norm (as at evaluation) in the convolution before it.
    ///
    /// `w' = w s`, `b' = (b - mean) s + beta`, `s = gamma / sqrt(var + epsilon)`.
    pub(super) fn folded(&self) -> Self {
        let mut convs = self.convs.clone();
        let mut steps: Vec<Step> = Vec::with_capacity(self.steps.len());
        let mut moved = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let inputs: Vec<usize> = step.inputs.iter().map(|&j| moved[j]).collect();
            if let Op::Norm(number) = step.op {
                // The builder puts a norm right behind a convolution that nothing else reads.
                if let Op::Conv(conv, _) = steps[inputs[0]].op {
                    fold(&mut convs[conv], &self.norms[number]);
                    moved.push(inputs[0]);
                    continue;
                }
            }
            moved.push(steps.len());
            steps.push(Step {
                inputs,
                ..step.clone()
            });
        }
        Self {
            convs,
            norms: Vec::new(),
            steps,
        }
    }

    /// Shows every tensor under its `PyTorch` name.
    pub(super) fn save(&self, sink: &mut Sink) {
        for step in &self.steps {
            let name = |part: &str| format!("{}.{part}", step.name);
            match step.op {
                Op::Conv(number, _) => {
                    let conv = &self.convs[number];
                    sink.put(name("weight"), conv.weight.val());
                    if let Some(bias) = &conv.bias {
                        sink.put(name("bias"), bias.val());
                    }
                }
                Op::Norm(number) => {
                    let norm = &self.norms[number];
                    sink.put(name("weight"), norm.gamma.val());
                    sink.put(name("bias"), norm.beta.val());
                    sink.put(name("running_mean"), norm.running_mean.value_sync());
                    sink.put(name("running_var"), norm.running_var.value_sync());
                }
                _ => {}
            }
        }
    }

    /// Takes every tensor from `source`, which notes what it lacks.
    pub(super) fn load(mut self, source: &mut Source) -> Self {
        for step in &self.steps {
            let name = |part: &str| format!("{}.{part}", step.name);
            match step.op {
                Op::Conv(number, _) => {
                    let conv = &mut self.convs[number];
                    source.fill(&name("weight"), &mut conv.weight);
                    if let Some(bias) = &mut conv.bias {
                        source.fill(&name("bias"), bias);
                    }
                }
                Op::Norm(number) => {
                    let norm = &mut self.norms[number];
                    source.fill(&name("weight"), &mut norm.gamma);
                    source.fill(&name("bias"), &mut norm.beta);
                    for (part, state) in [
                        ("running_mean", &mut norm.running_mean),
                        ("running_var", &mut norm.running_var),
                    ] {
                        let value = source.take(&name(part), state.value_sync());
                        *state = RunningState::new(value);
                    }
                }
                _ => {}
            }
        }
        self
    }
}

fn fold(conv: &mut Conv2d, norm: &BatchNorm) {
    let variance = norm.running_var.value_sync().add_scalar(norm.epsilon);
    let scale = norm.gamma.val() / variance.sqrt();
    let mut shift = norm.running_mean.value_sync().neg();
    if let Some(bias) = &conv.bias {
        shift = shift + bias.val();
    }
    let shift = shift * scale.clone() + norm.beta.val();
    let channels = scale.dims()[0];
    conv.weight = Param::from_tensor(conv.weight.val() * scale.reshape([channels, 1, 1, 1]));
    conv.bias = Some(Param::from_tensor(shift));
}

/// A tensor drawn uniformly from -bound to bound. Each name has its own stream, so that a
/// layer more or less changes no other.
pub(super) fn uniform<const D: usize>(
    seed: u64,
    name: &str,
    bound: f64,
    shape: [usize; D],
    device: &Device,
) -> Tensor<D> {
    let mut rng = seed::stream(seed, name);
    let values: Vec<f32> = (0..shape.iter().product())
        .map(|_| (bound * (2.0 * rng.random::<f64>() - 1.0)) as f32)
        .collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// The result of a step while a network is built.
#[derive(Debug, Clone, Copy)]
pub(super) struct At(usize);

/// Draws a network step by step.
pub(super) struct Builder<'a> {
    seed: u64,
    device: &'a Device,
    /// Whether batch norms keep their statistics in training.
    frozen: bool,
    epsilon: f64,
    next_id: u64,
    channels: Vec<usize>,
    network: Network,
}

impl<'a> Builder<'a> {
    /// A builder, and the input of `channels`.
    pub(super) fn new(
        seed: u64,
        device: &'a Device,
        channels: usize,
        frozen: bool,
        epsilon: f64,
    ) -> (Self, At) {
        let network = Network {
            convs: Vec::new(),
            norms: Vec::new(),
            steps: Vec::new(),
        };
        let mut builder = Self {
            seed,
            device,
            frozen,
            epsilon,
            next_id: FIRST_ID,
            channels: Vec::new(),
            network,
        };
        let input = builder.step("", Op::Input, &[], channels);
        (builder, input)
    }

    pub(super) fn finish(self) -> Network {
        self.network
    }

    pub(super) fn channels(&self, x: At) -> usize {
        self.channels[x.0]
    }

    fn step(&mut self, name: &str, op: Op, inputs: &[At], channels: usize) -> At {
        self.channels.push(channels);
        self.network.steps.push(Step {
            name: name.to_owned(),
            op,
            inputs: inputs.iter().map(|x| x.0).collect(),
        });
        At(self.channels.len() - 1)
    }

    fn parameter<const D: usize>(&mut self, value: Tensor<D>) -> Param<Tensor<D>> {
        self.next_id += 1;
        parameter(self.next_id, value)
    }

    /// A convolution of weights drawn uniformly with variance `2 / inputs of a unit`, with
    /// a zero bias.
    pub(super) fn conv(&mut self, x: At, name: &str, out: usize, window: Window) -> At {
        self.any_conv(x, name, out, window, 1, true)
    }

    /// A convolution of each channel by itself, with a bias.
    pub(super) fn depthwise(&mut self, x: At, name: &str, window: Window) -> At {
        let channels = self.channels(x);
        self.any_conv(x, name, channels, window, channels, true)
    }

    /// A convolution without a bias, for a batch norm behind it.
    pub(super) fn bare_conv(&mut self, x: At, name: &str, out: usize, window: Window) -> At {
        self.any_conv(x, name, out, window, 1, false)
    }

    fn any_conv(
        &mut self,
        x: At,
        name: &str,
        out: usize,
        window: Window,
        groups: usize,
        bias: bool,
    ) -> At {
        let shape = [out, self.channels(x) / groups, window.size, window.size];
        let fan_in: usize = shape[1..].iter().product();
        let bound = (6.0 / fan_in as f64).sqrt();
        let weight = uniform(self.seed, name, bound, shape, self.device);
        let conv = Conv2d {
            weight: self.parameter(weight),
            bias: bias.then(|| self.parameter(Tensor::zeros([out], self.device))),
            stride: [window.stride; 2],
            kernel_size: [window.size; 2],
            dilation: [1, 1],
            groups,
            padding: window.padding(),
        };
        self.network.convs.push(conv);
        let number = self.network.convs.len() - 1;
        self.step(name, Op::Conv(number, window), &[x], out)
    }

    pub(super) fn norm(&mut self, x: At, name: &str) -> At {
        let channels = self.channels(x);
        let norm = BatchNorm {
            gamma: self.parameter(Tensor::ones([channels], self.device)),
            beta: self.parameter(Tensor::zeros([channels], self.device)),
            training: Param::from_bool(!self.frozen),
            running_mean: RunningState::new(Tensor::zeros([channels], self.device)),
            running_var: RunningState::new(Tensor::ones([channels], self.device)),
            momentum: 0.1,
            epsilon: self.epsilon,
        };
        self.network.norms.push(norm);
        let number = self.network.norms.len() - 1;
        self.step(name, Op::Norm(number), &[x], channels)
    }

    fn unary(&mut self, x: At, op: Op) -> At {
        let channels = self.channels(x);
        self.step("", op, &[x], channels)
    }

    pub(super) fn relu(&mut self, x: At) -> At {
        self.unary(x, Op::Relu)
    }

    pub(super) fn relu6(&mut self, x: At) -> At {
        self.unary(x, Op::Relu6)
    }

    pub(super) fn max_pool(&mut self, x: At, window: Window) -> At {
        self.unary(x, Op::MaxPool(window))
    }

    pub(super) fn avg_pool(&mut self, x: At, window: Window, count_pad: bool) -> At {
        self.unary(x, Op::AvgPool { window, count_pad })
    }

    pub(super) fn add(&mut self, a: At, b: At) -> At {
        let channels = self.channels(a);
        self.step("", Op::Add, &[a, b], channels)
    }

    pub(super) fn concat(&mut self, parts: &[At]) -> At {
        let channels = parts.iter().map(|&x| self.channels(x)).sum();
        self.step("", Op::Concat, parts, channels)
    }
}
