//! OASIS against its definition: the same triplets in the same order, one after the other.
//!
//! `cargo bench -p likewise --bench oasis -- dims=16 rows=20000 triplets=1000000`
//!
//! The definition is the loop that the module of OASIS prints, in `f64`, over rows of length 1 of ten
//! classes. Prints the core-seconds of both, and how far apart the two matrices end, beside their largest entry.

use likewise::linear::Oasis;
use likewise::{Monitor, Triplets};
use ndarray::{Array2, ArrayView2};
use rand::RngExt;

const SEED: u64 = 1;
const CLASSES: usize = 10;
/// What an entry of noise is at most, where entries of class means are at most 1.
const NOISE: f32 = 2.0;
const AGGRESSIVENESS: f64 = 0.1;

fn main() {
    let number = |name: &str, default: usize| {
        let prefix = format!("{name}=");
        let given = std::env::args().find_map(|a| a.strip_prefix(&prefix).map(str::to_owned));
        given.map_or(default, |v| v.parse().expect("a number"))
    };
    let (n, d) = (number("rows", 20_000), number("dims", 16));
    let count = number("triplets", 1_000_000);
    let x = rows(n, d);
    let classes: Vec<u32> = (0..n).map(|i| (i % CLASSES) as u32).collect();
    let oasis = Oasis::new().aggressiveness(AGGRESSIVENESS).steps(count);
    let triplets = oasis.draw(&classes, &vec![1.0; n], SEED);
    let triplets = triplets.expect("classes of several rows");

    let begin = cpu_seconds();
    let found = oasis.fit_triplets(x.view(), &triplets, None, &Monitor::silent());
    let found = found.expect("triplets of the rows");
    let ours = cpu_seconds() - begin;

    let begin = cpu_seconds();
    let (defined, steps) = definition(x.view(), &triplets);
    let theirs = cpu_seconds() - begin;

    let largest = |m: &Array2<f64>| m.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
    println!(
        "oasis: {n} rows, {d} columns, {count} triplets, threads {}, seed {SEED}: {ours:.2} core-seconds; its definition {theirs:.2} s, \
         {:.1} times as long; {:.0} % of the triplets change W; {:.0e} apart, of {:.2}",
        rayon::current_num_threads(),
        theirs / ours,
        100.0 * steps as f64 / count as f64,
        largest(&(&found - &defined)),
        largest(&defined),
    );
}

/// Rows of length 1 around the means of their classes.
fn rows(n: usize, d: usize) -> Array2<f32> {
    let mut rng = likewise::seed::stream(SEED, "bench of OASIS");
    let means = Array2::from_shape_fn((CLASSES, d), |_| rng.random_range(-1.0_f32..1.0));
    let mut x = Array2::from_shape_fn((n, d), |(i, j)| {
        means[(i % CLASSES, j)] + rng.random_range(-NOISE..NOISE)
    });
    for mut row in x.rows_mut() {
        let length = row.dot(&row).sqrt();
        row /= length;
    }
    x
}

/// `W` by the printed loop, and how many triplets changed it.
fn definition(x: ArrayView2<f32>, triplets: &Triplets) -> (Array2<f64>, usize) {
    let x = x.mapv(f64::from);
    let mut w = Array2::<f64>::eye(x.ncols());
    let mut steps = 0;
    for (a, p, q, _) in triplets.iter() {
        let [a, p, q] = [a, p, q].map(|i| x.row(i as usize));
        let apart = &p - &q;
        let loss = 1.0 - a.dot(&w.dot(&apart));
        let size = a.dot(&a) * apart.dot(&apart);
        if loss <= 0.0 || size == 0.0 {
            continue;
        }
        let tau = AGGRESSIVENESS.min(loss / size);
        for (mut row, &entry) in w.rows_mut().into_iter().zip(a) {
            row.scaled_add(tau * entry, &apart);
        }
        steps += 1;
    }
    (w, steps)
}

fn cpu_seconds() -> f64 {
    const NANOSECONDS: f64 = 1e-9;
    // Of all threads; none ends before the pass does.
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let spent = tasks.flatten().filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    spent.sum::<f64>() * NANOSECONDS
}
