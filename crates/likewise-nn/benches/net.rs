//! Time of networks: embedding, and steps of training.
//!
//!     cargo bench -p likewise-nn --bench net -- [DEVICE] [PEER]
//!
//! On the CPU, or on the device that is named (`vulkan`, with `--features vulkan`). With the word
//! `torch` the same work is done by `PyTorch` with as many threads, on a card where a device is
//! named, in the same run (`pip install torch`; `peers/net.py`). Random weights; medians after a
//! warm-up. Other work on the machine disturbs a single thread (`taskset -c 0`) and core time
//! least. Every step ends with a number that has come back, so that none is still under way.

use std::process::Command;
use std::time::Instant;

use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::{Tensor, TensorData};
use likewise_nn::Device;
use likewise_nn::net::{Architecture, EncoderConfig};
use ndarray::Array4;

const SEED: u64 = 1;
const ROUNDS: usize = 7;

/// Processor milliseconds so far, where the system tells: on a shared machine the only fair
/// measure.
fn processor() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks * 10.0)
}

fn median(name: &str, mut work: impl FnMut()) {
    work();
    let (mut walls, mut cores) = ([0.0; ROUNDS], [0.0; ROUNDS]);
    for (wall, core) in walls.iter_mut().zip(&mut cores) {
        let (start, before) = (Instant::now(), processor());
        work();
        *wall = start.elapsed().as_secs_f64() * 1000.0;
        let used = processor().zip(before).map(|(now, then)| now - then);
        *core = used.unwrap_or(f64::NAN);
    }
    let [wall, used] = [walls, cores].map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[ROUNDS / 2]
    });
    println!("{name:<24} {wall:>9.1} ms {used:>9.1} core-ms");
}

fn images(config: &EncoderConfig, n: usize) -> Array4<f32> {
    let input = config.input();
    let shape = (n, input.channels, input.height, input.width);
    Array4::from_shape_fn(shape, |(i, c, h, w)| {
        ((i + c + h * w) % 13) as f32 / 6.0 - 1.0
    })
}

fn inference(name: Architecture, n: usize, device: &Device) {
    let config = EncoderConfig::of(name);
    let encoder = config
        .init(SEED, device)
        .expect("the configuration is valid");
    let pixels = images(&config, n);
    median(&format!("{} inference {n}", config.name()), || {
        encoder.embed(pixels.view()).expect("the images fit");
    });
}

/// Forward, backward and an SGD step on the mean square of the rows.
fn training(name: Architecture, n: usize, device: &Device) {
    let config = EncoderConfig::of(name);
    let device = device.clone().autodiff();
    let mut encoder = Some(
        config
            .init(SEED, &device)
            .expect("the configuration is valid"),
    );
    let mut optimizer = SgdConfig::new().init();
    let pixels = images(&config, n);
    let shape: [usize; 4] = pixels
        .shape()
        .try_into()
        .expect("images have four dimensions");
    let data = TensorData::new(pixels.into_raw_vec_and_offset().0, shape);
    median(&format!("{} step {n}", config.name()), || {
        let model = encoder.take().expect("every step gives the model back");
        let rows = model.forward(Tensor::from_data(data.clone(), &device));
        let loss = rows.square().mean();
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        encoder = Some(optimizer.step(1e-4, model, gradients));
        std::hint::black_box(loss.into_scalar::<f32>());
    });
}

fn main() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut devices = words
        .iter()
        .filter(|w| *w != "torch" && !w.starts_with('-'));
    let name = devices.next().map_or("cpu", String::as_str);
    let device = likewise_nn::device(name).unwrap_or_else(|e| panic!("{e}"));
    println!("likewise on {name}, {threads} threads, seed {SEED}, median of {ROUNDS}");
    inference(Architecture::Lite0, 16, &device);
    training(Architecture::Mnist, 300, &device);
    training(Architecture::Lite0, 16, &device);
    if name != "cpu" {
        // As many as such a card is meant for.
        inference(Architecture::Lite0, 128, &device);
        training(Architecture::Lite0, 128, &device);
    }
    if words.iter().any(|a| a == "torch") {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/net.py");
        let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
        let status = Command::new(python)
            .args([script, &threads.to_string(), &ROUNDS.to_string()])
            .args((name != "cpu").then_some("cuda"))
            .status();
        if !status.is_ok_and(|s| s.success()) {
            println!("torch: not run");
        }
    }
}
