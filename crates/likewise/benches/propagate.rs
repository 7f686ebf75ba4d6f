//! Time of mixed propagation, and of one iteration of its solver.
//!
//! `cargo bench -p likewise --bench propagate -- [items] [classes] [k]`

use std::time::Instant;

use likewise::neighbor::KnnGraph;
use likewise::propagate::{Harmonic, Mixed, Propagate};
use likewise::{Labels, Monitor};
use ndarray::Array2;
use rand::RngExt;

const SEED: u64 = 1;
const DIMENSION: usize = 32;

fn main() {
    let mut sizes = std::env::args().skip(1).filter_map(|a| a.parse().ok());
    let n: usize = sizes.next().unwrap_or(60_000);
    let classes: usize = sizes.next().unwrap_or(10);
    let k: usize = sizes.next().unwrap_or(50);
    let mut rng = likewise::seed::stream(SEED, "bench features");
    let mut uniform = |scale: f32| scale * (rng.random::<f32>() - 0.5);
    let centers = Array2::from_shape_fn((classes, DIMENSION), |_| uniform(1.0));
    let x = Array2::from_shape_fn((n, DIMENSION), |(i, c)| {
        centers[[i % classes, c]] + uniform(1.5)
    });
    let labels = Labels::from_integers((0..n).map(|i| (i % classes) as i64));
    let drawn = labels.draw(5, SEED);

    let monitor = Monitor::silent();
    let graph = KnnGraph::new()
        .k(k)
        .build(x.view(), &monitor)
        .expect("valid data");
    println!(
        "mixed propagation: n {n}, classes {classes}, k {k}, entries {}, threads {}, seed {SEED}",
        graph.nnz(),
        rayon::current_num_threads()
    );
    let methods: [(&str, Box<dyn Propagate>); 2] = [
        ("harmonic", Box::new(Harmonic::new())),
        ("mixed", Box::new(Mixed::new())),
    ];
    for (name, method) in methods {
        for round in 0..2 {
            let begin = (Instant::now(), cpu_seconds());
            let beliefs = method
                .propagate(&graph, &drawn, &monitor)
                .expect("valid labels");
            let (wall, cpu) = (begin.0.elapsed().as_secs_f64(), cpu_seconds() - begin.1);
            let right = (0..n).filter(|&i| beliefs.pseudo_label[i] == labels[i].class());
            println!(
                "{name} round {round}: {wall:.3} s wall, {cpu:.2} core-s, {} iterations, \
                 {:.1} core-ms an iteration all in, accuracy {:.3}",
                beliefs.convergence.iterations,
                1000.0 * cpu / beliefs.convergence.iterations as f64,
                right.count() as f64 / n as f64
            );
        }
    }
}

/// User and system time of this process, all threads; wall time would count what other
/// programs on the machine take. Linux only, NaN elsewhere.
fn cpu_seconds() -> f64 {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or("")
        .split_whitespace()
        .collect();
    match (fields.get(11), fields.get(12)) {
        (Some(user), Some(system)) => {
            let ticks = |s: &str| s.parse::<f64>().unwrap_or(f64::NAN);
            (ticks(user) + ticks(system)) / TICKS_PER_SECOND
        }
        _ => f64::NAN,
    }
}
