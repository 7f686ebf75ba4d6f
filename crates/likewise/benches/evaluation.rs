//! Time and memory of the evaluation on random vectors.
//!
//! `cargo bench -p likewise --bench evaluation -- [items] [dimensions] [classes] [queries] [ranking]`
//!
//! With the word `ranking` it stops after the ranking metrics.
//!
//! Random vectors are the hard case: the relevant items lie all over the ranking, so
//! nothing can be cut short. `matrix products` is the bare cost of the similarities, the
//! floor of an exact evaluation; `ratio` is the time over that floor.

use std::time::Instant;

use likewise::distance::{Metric, Searched};
use likewise::eval::bootstrap::Bootstrap;
use likewise::eval::collapse::Collapse;
use likewise::eval::ranking::{Measure, Protocol, evaluate};
use likewise::eval::{kmeans, leak, nmi};
use likewise::linear::whitening::Spectrum;
use likewise::{Labels, Monitor, Part, seed};
use ndarray::Array2;
use rand::RngExt;

const SEED: u64 = 1;

/// Highest resident memory so far in MiB, where the system tells.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024)
}

/// Processor seconds so far, where the system tells: on a shared machine the only fair
/// measure.
fn processor() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks / 100.0)
}

fn timed<T>(name: &str, floor: Option<f64>, work: impl FnOnce() -> T) -> (T, f64) {
    let (start, before) = (Instant::now(), processor());
    let answer = work();
    let seconds = start.elapsed().as_secs_f64();
    let used = processor()
        .zip(before)
        .map_or(seconds, |(now, then)| now - then);
    let ratio = floor.map_or(String::new(), |f| format!("  ratio {:.2}", used / f));
    let memory = peak().map_or(String::new(), |m| format!("  peak {m} MiB"));
    println!("{name:<28} {seconds:>8.2} s  {used:>8.2} core-s{memory}{ratio}");
    (answer, used)
}

fn main() -> likewise::Result<()> {
    let arguments: Vec<usize> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    let get = |i: usize, default: usize| arguments.get(i).copied().unwrap_or(default);
    let (n, d, classes) = (get(0, 70_000), get(1, 128), get(2, 100));
    let n_queries = get(3, n).min(n);
    println!(
        "{n} items x {d}, {classes} classes, {n_queries} queries, {} threads, seed {SEED}",
        rayon::current_num_threads()
    );
    let mut rng = seed::stream(SEED, "benchmark");
    let x = Array2::from_shape_fn((n, d), |_| rng.random_range(-1.0_f32..1.0));
    let labels = Labels::from_integers((0..n).map(|i| (i % classes) as i64));
    let items: Vec<usize> = (0..n).collect();
    let monitor = Monitor::silent();

    let (_, floor) = timed("matrix products", None, || {
        let searched = Searched::all(x.view(), Metric::Cosine)?;
        searched.for_each_query(
            x.view(),
            &items[..n_queries],
            &monitor,
            || (),
            |(), _, _, _| (),
        )
    });
    let protocol = Protocol::new(x.view(), &labels, &items[..n_queries], &items);
    let (ranking, _) = timed("ranking, all metrics", Some(floor), || {
        evaluate(&protocol.all_queries(), &[1, 2, 4, 8], &monitor)
    });
    let ranking = ranking?;
    let (usual, _) = timed("ranking, sample if many", None, || {
        evaluate(&protocol, &[1, 2, 4, 8], &monitor)
    });
    println!("  {} queries", usual?.queries.len());
    for measure in [
        Measure::Recall(1),
        Measure::AveragePrecision,
        Measure::MapAtR,
    ] {
        println!(
            "  {measure} = {:.6}",
            ranking.mean(measure).unwrap_or(f64::NAN)
        );
    }
    if std::env::args().any(|a| a == "ranking") {
        return Ok(());
    }
    let (intervals, _) = timed("bootstrap, 1000 resamples", None, || {
        Bootstrap::new().ranking(&ranking)
    });
    intervals?;
    let (once, _) = timed("k-means, one start", None, || {
        kmeans::KMeans::new(classes)
            .n_init(1)
            .fit(x.view(), &monitor)
    });
    println!("  {} iterations", once?.iterations);
    let (found, _) = timed("k-means and NMI", None, || {
        nmi::evaluate(&protocol, SEED, &monitor)
    });
    let found = found?;
    println!("  nmi = {:.6}", found.value);
    timed("NMI interval", None, || Bootstrap::new().nmi(&found)).0?;
    let part = |i: usize| {
        if i % 10 < 7 { Part::Train } else { Part::Test }
    };
    let parts: Vec<Part> = (0..n).map(part).collect();
    let (leaks, _) = timed("leak check", None, || {
        leak::check(
            x.view(),
            &parts,
            None,
            None,
            leak::Options::default(),
            &monitor,
        )
    });
    println!("  {} near-duplicates", leaks?.near_duplicates.count);
    timed("spectrum", None, || Spectrum::fit(x.view())).0?;
    let (collapse, _) = timed("collapse", None, || Collapse::measure(x.view()));
    println!("  effective rank = {:.2}", collapse?.effective_rank);
    Ok(())
}
