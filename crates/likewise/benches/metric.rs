//! Time and memory of metric learners on rows, pairs and classes of a folder.
//!
//! `cargo bench -p likewise --bench metric -- folder=F learner=itml`
//!
//! - `F/shape.txt` holds `n d`; `F/rows.f32` the rows, `F/class.u32` a class a row, `F/pairs.i32`
//!   triples `a b y`, all of little-endian numbers; `F/bounds.txt` the squared distances of ITML.
//! - Writes the metric `M` as `F/likewise.f64` (`d x d`), and prints core-seconds and the peak of
//!   memory in KiB. A learner that takes less than half a second is timed several times.
//!
//! `benches/peers/metric.py` writes such folders and measures its peer beside.

use std::path::Path;

use likewise::linear::itml::Bounds;
use likewise::linear::{Itml, Lmnn, Mmc, Nca, Rca};
use likewise::{Monitor, Pairs, Result};
use ndarray::Array2;

/// Core-seconds below which a learner is timed again.
const LEAST: f64 = 0.5;

fn main() {
    let given = |name: &str| {
        let prefix = format!("{name}=");
        std::env::args().find_map(|a| a.strip_prefix(&prefix).map(str::to_owned))
    };
    let Some(folder) = given("folder") else {
        println!("nothing to do: give folder=F learner=itml");
        return;
    };
    let task = Task::read(Path::new(&folder));
    let learner = given("learner").unwrap_or_else(|| "itml".into());
    let (mut times, begin) = (0, cpu_seconds());
    let (metric, seconds) = loop {
        let metric = task.learn(&learner).expect("rows that can be learned");
        times += 1;
        let seconds = cpu_seconds() - begin;
        if seconds >= LEAST {
            break (metric, seconds / f64::from(times));
        }
    };
    let bytes: Vec<u8> = metric.iter().flat_map(|v| v.to_le_bytes()).collect();
    std::fs::write(Path::new(&folder).join("likewise.f64"), bytes).expect("a folder to write to");
    println!("{seconds:.6} {}", peak_kib());
}

/// What is learned from.
struct Task {
    x: Array2<f32>,
    class: Vec<u32>,
    pairs: Pairs,
    bounds: (f64, f64),
}

impl Task {
    fn read(folder: &Path) -> Self {
        let text = |name: &str| -> Vec<f64> {
            let text = std::fs::read_to_string(folder.join(name)).expect("a file of the task");
            let words = text.split_whitespace();
            words.map(|word| word.parse().expect("a number")).collect()
        };
        let bytes = |name: &str| std::fs::read(folder.join(name)).expect("a file of the task");
        let fours = |name: &str| -> Vec<[u8; 4]> { bytes(name).as_chunks().0.to_vec() };
        let shape = text("shape.txt");
        let rows = fours("rows.f32").into_iter().map(f32::from_le_bytes);
        let x = Array2::from_shape_vec((shape[0] as usize, shape[1] as usize), rows.collect());
        let class = fours("class.u32").into_iter().map(u32::from_le_bytes);
        let mut pairs = Pairs::default();
        for pair in fours("pairs.i32").chunks_exact(3) {
            let [a, b, y] = [0, 1, 2].map(|i| i32::from_le_bytes(pair[i]));
            pairs.push(a as u32, b as u32, y > 0, 1.0);
        }
        let bounds = text("bounds.txt");
        Self {
            x: x.expect("as many numbers as the shape says"),
            class: class.collect(),
            pairs,
            bounds: (bounds[0], bounds[1]),
        }
    }

    /// The metric `M`, by the settings of the peer where both have them.
    fn learn(&self, learner: &str) -> Result<Array2<f64>> {
        let (x, monitor) = (self.x.view(), Monitor::silent());
        let ones = vec![1.0; self.class.len()];
        let by_map = |l: Array2<f64>| l.t().dot(&l);
        Ok(match learner {
            "itml" => {
                let (alike, unlike) = self.bounds;
                let itml = Itml::new().bounds(Bounds::squared(alike, unlike));
                itml.fit_pairs(x, &self.pairs, &monitor)?
            }
            "rca" => by_map(Rca::paper().fit_weighted(x, &self.class, &ones)?),
            "lmnn" => by_map(Lmnn::new().fit_weighted(x, &self.class, &ones, &monitor)?),
            "nca" => by_map(Nca::paper().fit_weighted(x, &self.class, &ones, &monitor)?),
            "mmc" => Mmc::new().fit_pairs(x, &self.pairs, &monitor)?,
            other => panic!("{other}: there are itml, rca, lmnn, nca and mmc"),
        })
    }
}

fn cpu_seconds() -> f64 {
    const NANOSECONDS: f64 = 1e-9;
    // Of all threads; none ends before the fit does.
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let spent = tasks.flatten().filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    spent.sum::<f64>() * NANOSECONDS
}

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kib = line.and_then(|l| l.trim().trim_end_matches(" kB").parse().ok());
    kib.unwrap_or(0)
}
