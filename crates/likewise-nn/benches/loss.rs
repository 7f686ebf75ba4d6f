//! Time of every loss, forward and backward.
//!
//! `RAYON_NUM_THREADS=2 cargo bench -p likewise-nn --bench loss -- [save=FOLDER]`
//!
//! Batches of 512 x 128 and 128 x 512, random rows, 4 items a class, f32, CPU; the pairs are
//! built once, outside of the time. Per round, after 3: the median of wall time and the mean of
//! processor time, over 30 rounds or a second, whichever is longer. On a shared machine only
//! processor time on one thread says something.
//! `save=FOLDER` writes batches, proxies, values and times for the peer:
//! `python3 benches/peers/loss.py FOLDER [threads]`, which prints the ratios.

use std::path::PathBuf;
use std::time::Instant;

use burn::tensor::{Tensor, TensorData};
use likewise::seed;
use likewise_nn::Device;
use likewise_nn::loss::{Batch, Classes, Loss, Pairs};
use rand::RngExt;

const SEED: u64 = 1;
const PER_CLASS: usize = 4;

fn random(rows: usize, columns: usize, name: &str) -> Vec<f32> {
    let mut rng = seed::stream(SEED, name);
    (0..rows * columns)
        .map(|_| rng.random_range(-1.0_f32..1.0))
        .collect()
}

/// Processor seconds so far, where the system tells, to a hundredth.
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<f64> = (after_name.split_whitespace().skip(11).take(2))
        .filter_map(|f| f.parse().ok())
        .collect();
    fields.iter().sum::<f64>() / 100.0
}

/// Highest resident memory so far in MiB, where the system tells.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024)
}

fn main() -> likewise_nn::Result<()> {
    let folder = std::env::args().find_map(|a| a.strip_prefix("save=").map(PathBuf::from));
    let save = |name: &str, values: &[f32]| {
        if let Some(folder) = &folder {
            let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            std::fs::write(folder.join(name), bytes).expect("the folder can be written");
        }
    };
    let mut report = serde_json::Map::new();
    for (n, d) in [(512, 128), (128, 512)] {
        println!(
            "batch {n} x {d}, {PER_CLASS} a class, {} threads, seed {SEED}",
            rayon::current_num_threads()
        );
        let device = Device::flex().autodiff();
        let count = n / PER_CLASS;
        let classes: Vec<u32> = (0..n).map(|i| (i % count) as u32).collect();
        let weights = vec![1.0; n];
        let batch = Batch {
            pairs: Pairs::from_classes(&classes, &weights, &device)?,
            classes: Some(Classes::new(&classes, count, &weights, &device)?),
            triplets: None,
        };
        let x = random(n, d, "batch");
        save(&format!("{n}x{d}.f32"), &x);
        for loss in Loss::all() {
            let rows = count * loss.proxies_per_class();
            let p = random(rows, d, "proxies");
            save(&format!("{n}x{d}.{}.f32", loss.name()), &p);
            let once = || -> likewise_nn::Result<(f64, f64)> {
                let tensor = |values: &[f32], rows| -> Tensor<2> {
                    let data = TensorData::new(values.to_vec(), [rows, d]);
                    Tensor::from_data(data, &device).require_grad()
                };
                let (embeddings, proxies) = (tensor(&x, n), (rows > 0).then(|| tensor(&p, rows)));
                let start = Instant::now();
                let value = loss.forward(embeddings.clone(), &batch, proxies)?;
                let gradient = embeddings.grad(&value.backward());
                let seconds = start.elapsed().as_secs_f64();
                assert!(gradient.is_some(), "{} has no gradient", loss.name());
                Ok((1e3 * seconds, f64::from(value.into_scalar::<f32>())))
            };
            for _ in 0..3 {
                once()?;
            }
            let (began, before) = (Instant::now(), processor());
            let mut times = Vec::new();
            let mut value = f64::NAN;
            while times.len() < 30 || began.elapsed().as_secs_f64() < 1.0 {
                let (time, found) = once()?;
                times.push(time);
                value = found;
            }
            let used = 1e3 * (processor() - before) / times.len() as f64;
            times.sort_by(f64::total_cmp);
            let median = times[times.len() / 2];
            let memory = peak().map_or(String::new(), |m| format!("  peak {m} MiB"));
            println!(
                "  {:<20} {median:>9.2} ms  {used:>9.2} core-ms  value {value:.5}{memory}",
                loss.name()
            );
            let entry = serde_json::json!({"ms": median, "core_ms": used, "value": value});
            report.insert(format!("{n}x{d}.{}", loss.name()), entry);
        }
    }
    if let Some(folder) = &folder {
        let text = serde_json::Value::Object(report).to_string();
        std::fs::write(folder.join("ours.json"), text).expect("the folder can be written");
    }
    Ok(())
}
