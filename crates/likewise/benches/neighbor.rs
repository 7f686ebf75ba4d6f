//! Throughput of the exact kNN graph.
//!
//! `cargo bench -p likewise --bench neighbor -- [items] [dimension] [k]`

use std::time::Instant;

use likewise::Monitor;
use likewise::neighbor::{Exact, KnnGraph, Precision};
use ndarray::Array2;
use rand::RngExt;

const SEED: u64 = 1;

fn main() {
    let mut sizes = std::env::args().skip(1).filter_map(|a| a.parse().ok());
    let n: usize = sizes.next().unwrap_or(60_000);
    let d: usize = sizes.next().unwrap_or(128);
    let k: usize = sizes.next().unwrap_or(50);
    let mut rng = likewise::seed::stream(SEED, "bench features");
    let x = Array2::from_shape_fn((n, d), |_| rng.random::<f32>() - 0.5);
    let threads = rayon::current_num_threads();
    println!("exact kNN graph: n {n}, d {d}, k {k}, threads {threads}, seed {SEED}");

    let work = 2.0 * (n as f64).powi(2) * d as f64 / 1e9;
    let silent = Monitor::silent();
    for precision in [Precision::F32, Precision::I8] {
        for round in 0..2 {
            let begin = (Instant::now(), cpu_seconds());
            let (neighbors, searched) = Exact::new()
                .precision(precision)
                .search(x.view(), k, &silent)
                .expect("valid data");
            let search = (begin.0.elapsed().as_secs_f64(), cpu_seconds() - begin.1);
            let graph = KnnGraph::new()
                .from_neighbors(&neighbors)
                .expect("valid lists");
            let total = (begin.0.elapsed().as_secs_f64(), cpu_seconds() - begin.1);
            println!(
                "{precision:?} round {round}: search {:.2} s wall, {:.2} core-s, {:.0} GF/s per \
                 core; with graph {:.2} s wall, {:.2} core-s, {:.0} GF/s per core; {} entries; \
                 {searched:?}",
                search.0,
                search.1,
                work / search.1,
                total.0,
                total.1,
                work / total.1,
                graph.nnz()
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
