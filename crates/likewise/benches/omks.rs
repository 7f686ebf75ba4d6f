//! Time of OMKS: many triplets, many kernels, some hundred rows.
//!
//! `cargo bench -p likewise --bench omks -- rows=300 views=10 triplets=283500`
//!
//! Four kernels a view (three widths of an RBF, and the cosine) of `dims=50` columns. The paper that
//! printed 283,500 triplets of 10 views took 5,443 seconds for them.

use std::time::Instant;

use likewise::kernel::{Kernel, Omks, Order, Source};
use likewise::{Monitor, Triplets};
use ndarray::{Array2, ArrayView2};
use rand::RngExt;

const SEED: u64 = 1;
const CLASSES: usize = 10;

fn main() {
    let number = |name: &str, default: usize| {
        let prefix = format!("{name}=");
        let given = std::env::args().find_map(|a| a.strip_prefix(&prefix).map(str::to_owned));
        given.map_or(default, |v| v.parse().expect("a number"))
    };
    let (n, views) = (number("rows", 300), number("views", 10));
    let (dims, count) = (number("dims", 50), number("triplets", 283_500));
    let mut rng = likewise::seed::stream(SEED, "bench of omks");
    let centers = Array2::from_shape_fn((CLASSES, dims), |_| rng.random_range(-1.0_f32..1.0));
    let x: Vec<Array2<f32>> = (0..views)
        .map(|view| {
            // Views tell the classes apart less and less.
            let noise = 1.0 + view as f32 / 3.0;
            Array2::from_shape_fn((n, dims), |(i, j)| {
                centers[(i % CLASSES, j)] + noise * rng.random_range(-1.0_f32..1.0)
            })
        })
        .collect();
    let mut triplets = Triplets::default();
    while triplets.len() < count {
        let [a, p, q] = [0; 3].map(|_: usize| rng.random_range(0..n));
        if a != p && a % CLASSES == p % CLASSES && a % CLASSES != q % CLASSES {
            triplets.push(a as u32, p as u32, q as u32, 1.0);
        }
    }
    let each: Vec<ArrayView2<f32>> = x.iter().map(|view| view.view()).collect();
    let sources: Vec<Source> = (0..views)
        .flat_map(|view| Kernel::ALL_FOUR.map(|kernel| Source { view, kernel }))
        .collect();
    let begin = Instant::now();
    let omks = Omks::new().order(Order::Given);
    let found = omks.fit(&each, &sources, &triplets, SEED, &Monitor::silent());
    let found = found.expect("triplets of the rows");
    println!(
        "omks: {n} rows, {} kernels, {count} triplets, {dims} columns, threads {}, seed {SEED}: {:.2} s; \
         {:.0} % of the triplets change a kernel, {:.0} % are mistakes of it",
        sources.len(),
        rayon::current_num_threads(),
        begin.elapsed().as_secs_f64(),
        share(found.updates(), count * sources.len()),
        share(found.mistakes(), count * sources.len()),
    );
}

/// The sum of the counts, in percent of all.
fn share(counts: impl Iterator<Item = u64>, all: usize) -> f64 {
    100.0 * counts.sum::<u64>() as f64 / all as f64
}
