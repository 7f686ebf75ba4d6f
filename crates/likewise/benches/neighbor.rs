//! Time of nearest neighbours, exact and approximate, and of the graph made of them.
//!
//!     cargo bench -p likewise --bench neighbor -- exact [N] [D] [K] [PEER...]
//!     cargo bench -p likewise --bench neighbor -- ivf [N] [D] [K] [RECALL] [PEER...]
//!     cargo bench -p likewise --features hnsw --bench neighbor -- index [N] [D]
//!     cargo bench -p likewise --bench neighbor -- table [LARGEST] [D] [K] [LARGEST_EXACT]
//!
//! N may be a file of little-endian `f32` rows of D values. Peers (`flat ivf hnsw usearch`)
//! run in Python on the same rows: `pip install faiss-cpu usearch`; each is given one
//! thread and the cheapest setting that reaches the recall (`peers/neighbor.py`). All times
//! are CPU time, so other work on the machine disturbs them less.

use std::process::Command;
use std::time::Instant;

use likewise::Monitor;
use likewise::graph::KnnGraph;
use likewise::neighbor::{Exact, Ivf, Precision};
use ndarray::Array2;
use rand::RngExt;

const SEED: u64 = 1;

fn main() {
    // Cargo itself passes `--bench`.
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let mode = args.first().map_or("exact", String::as_str);
    let number = |p: usize, default: usize| -> usize {
        args.get(p).and_then(|a| a.parse().ok()).unwrap_or(default)
    };
    let (d, k) = (number(2, 128), number(3, 50));
    println!(
        "{mode}: d {d}, k {k}, threads {}, seed {SEED}, {}",
        rayon::current_num_threads(),
        processor()
    );
    let rows = || match args.get(1) {
        Some(path) if path.parse::<usize>().is_err() => read(path, d),
        _ => surface(number(1, 60_000), d),
    };
    match mode {
        "ivf" => {
            let recall = args.get(4).and_then(|a| a.parse().ok()).unwrap_or(0.95);
            approximate(&rows(), k, recall, args.get(5..).unwrap_or_default());
        }
        "index" => index(&rows()),
        "table" => table(number(1, 300_000), number(4, 300_000), d, k),
        _ => exact(&rows(), k, args.get(4..).unwrap_or_default()),
    }
}

/// A mixture of clusters on a surface of eight dimensions, bent into `d`, with noise.
fn surface(n: usize, d: usize) -> Array2<f32> {
    const INNER: usize = 8;
    const CLUSTERS: usize = 200;
    let mut rng = likewise::seed::stream(SEED, "bench features");
    let mut uniform = |rows: usize, columns: usize| {
        Array2::from_shape_fn((rows, columns), |_| rng.random::<f32>() - 0.5)
    };
    let (centers, turn) = (uniform(CLUSTERS, INNER), uniform(INNER, d));
    let mut x = uniform(n, d) * 0.2;
    for (i, mut row) in x.rows_mut().into_iter().enumerate() {
        let inner = &uniform(1, INNER).row(0) * 0.6 + centers.row(i % CLUSTERS);
        row += &inner.dot(&turn).mapv(|v| (3.0 * v).sin());
    }
    x
}

fn exact(x: &Array2<f32>, k: usize, peers: &[String]) {
    let (n, d) = x.dim();
    let work = 2.0 * (n as f64).powi(2) * d as f64 / 1e9;
    let mut best = f64::INFINITY;
    for precision in [Precision::F32, Precision::I16, Precision::Auto] {
        for _ in 0..2 {
            let begin = (Instant::now(), cpu_seconds());
            let (neighbors, searched) = Exact::new()
                .precision(precision)
                .search(x.view(), k, &Monitor::silent())
                .expect("valid data");
            let (wall, core) = (begin.0.elapsed().as_secs_f64(), cpu_seconds() - begin.1);
            let graph = KnnGraph::new()
                .from_neighbors(&neighbors)
                .expect("valid lists");
            let total = cpu_seconds() - begin.1;
            println!(
                "n {n} {precision:?}: {wall:.2} s wall, {core:.2} core-s, {:.0} GF/s per core, with \
                 the graph {total:.2} core-s ({} entries); {searched:?}",
                work / core,
                graph.nnz()
            );
            best = best.min(core);
        }
    }
    compare(x, k, 1.0, peers, best);
}

fn approximate(x: &Array2<f32>, k: usize, recall: f64, peers: &[String]) {
    let begin = (Instant::now(), cpu_seconds());
    let search = Ivf::new().recall(recall);
    let (neighbors, probed) = search
        .search(x.view(), k, &Monitor::silent())
        .expect("valid data");
    let (wall, core) = (begin.0.elapsed().as_secs_f64(), cpu_seconds() - begin.1);
    let graph = KnnGraph::new()
        .from_neighbors(&neighbors)
        .expect("valid lists");
    println!(
        "n {}: {wall:.2} s wall, {core:.2} core-s, with the graph {:.2} core-s ({} entries), peak \
         {:.2} GiB; {probed:?}",
        x.nrows(),
        cpu_seconds() - begin.1,
        graph.nnz(),
        peak_gib()
    );
    compare(x, k, recall, peers, core);
}

/// Building the approximate index, and queries one by one of each index.
#[cfg(feature = "hnsw")]
fn index(x: &Array2<f32>) {
    use likewise::distance::Metric;
    use likewise::index::{Flat, Hnsw, HnswOptions, Index, measured_recall, nearest};
    use ndarray::s;

    let (monitor, n) = (Monitor::silent(), x.nrows());
    let timed = |what: &str, work: &mut dyn FnMut() -> String| {
        let begin = (Instant::now(), cpu_seconds());
        let said = work();
        let (wall, core) = (begin.0.elapsed().as_secs_f64(), cpu_seconds() - begin.1);
        println!("n {n} {what}: {wall:.3} s wall, {core:.2} core-s; {said}");
    };
    let (mut built, mut flat) = (None, None);
    timed("hnsw build", &mut || {
        let index = Hnsw::build(x.view(), HnswOptions::default(), &monitor).expect("valid rows");
        let bytes = index.to_bytes().expect("room");
        let sum = bytes.iter().fold(0_u64, |h, &b| {
            (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
        });
        built = Some(index);
        format!("{} bytes, sum {sum:x}", bytes.len())
    });
    timed("flat build", &mut || {
        flat = Some(Flat::new(x.view(), Metric::Cosine).expect("valid rows"));
        String::new()
    });
    let (Some(mut hnsw), Some(flat)) = (built, flat) else {
        return;
    };
    let (choose, measure) = (x.slice(s![..500, ..]), x.slice(s![500..1000, ..]));
    let recall =
        |index: &dyn Index| measured_recall(index, &flat, measure, 10, &monitor).expect("queries");
    println!(
        "recall@10 {:.4} at effort {}",
        recall(&hnsw),
        hnsw.search_effort()
    );
    timed("hnsw tune", &mut || {
        hnsw.tune(&flat, choose, 10, 0.9925, &monitor)
            .expect("queries");
        format!(
            "recall@10 {:.4} at effort {}",
            recall(&hnsw),
            hnsw.search_effort()
        )
    });
    let ask = |search: &dyn Fn(ndarray::ArrayView2<f32>)| {
        (0..200).for_each(|q| search(x.slice(s![q..=q, ..])));
        "200 queries one by one".to_owned()
    };
    timed("hnsw", &mut || {
        ask(&|q| drop(hnsw.search(q, 10, &monitor).expect("a query")))
    });
    timed("flat", &mut || {
        ask(&|q| drop(flat.search(q, 10, &monitor).expect("a query")))
    });
    timed("rows as they lie", &mut || {
        ask(&|q| drop(nearest(x.view(), q, 10, &monitor).expect("a query")))
    });
}

#[cfg(not(feature = "hnsw"))]
fn index(_: &Array2<f32>) {
    println!("build with --features hnsw");
}

/// Time by size, and the exponent of the growth.
fn table(largest: usize, largest_exact: usize, d: usize, k: usize) {
    let mut before: [Option<(f64, f64)>; 2] = [None, None];
    for n in [
        10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000,
    ] {
        if n > largest {
            break;
        }
        let x = surface(n, d);
        for (which, name) in ["exact", "ivf .95"].into_iter().enumerate() {
            if which == 0 && n > largest_exact {
                continue;
            }
            let begin = cpu_seconds();
            let how = if which == 0 {
                let found = Exact::new().search(x.view(), k, &Monitor::silent());
                format!("{:?}", found.expect("valid data").1)
            } else {
                let found = Ivf::new().search(x.view(), k, &Monitor::silent());
                format!("{:?}", found.expect("valid data").1)
            };
            let core = cpu_seconds() - begin;
            let slope = before[which].map(|(m, t)| (core / t).ln() / (n as f64 / m).ln());
            before[which] = Some((n as f64, core));
            println!(
                "n {n:>9} {name}: {core:.2} core-s, exponent {}; {how}",
                slope.map_or("-".into(), |s| format!("{s:.2}"))
            );
        }
    }
}

/// Runs the peers on the same rows and prints how much longer they take.
fn compare(x: &Array2<f32>, k: usize, recall: f64, peers: &[String], ours: f64) {
    if peers.is_empty() {
        return;
    }
    let path = std::env::temp_dir().join(format!("likewise-bench-{}.f32", std::process::id()));
    let bytes: Vec<u8> = x.iter().flat_map(|v| v.to_le_bytes()).collect();
    std::fs::write(&path, bytes).expect("room for the rows");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/neighbor.py");
    let answer = Command::new("python3")
        .args([script, &path.display().to_string()])
        .args([x.nrows(), x.ncols(), k].map(|v| v.to_string()))
        .arg(recall.to_string())
        .args(peers)
        .output();
    let _ = std::fs::remove_file(&path);
    let answer = answer.expect("python3");
    eprint!("{}", String::from_utf8_lossy(&answer.stderr));
    for line in String::from_utf8_lossy(&answer.stdout).lines() {
        let seconds = line
            .split("\"core_seconds\": ")
            .nth(1)
            .and_then(|rest| rest.split(',').next()?.parse::<f64>().ok());
        let ratio = seconds.map_or(f64::NAN, |s| s / ours);
        println!("{line} = {ratio:.2} x ours");
    }
}

fn read(path: &str, d: usize) -> Array2<f32> {
    let bytes = std::fs::read(path).expect("a file of f32 rows");
    let (values, _) = bytes.as_chunks::<4>();
    let values: Vec<f32> = values.iter().map(|v| f32::from_le_bytes(*v)).collect();
    Array2::from_shape_vec((values.len() / d, d), values).expect("whole rows")
}

fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info
        .lines()
        .find_map(|l| l.strip_prefix("model name")?.split(": ").nth(1));
    name.unwrap_or("unknown processor").to_owned()
}

/// Largest memory of this process so far. Linux only, NaN elsewhere.
fn peak_gib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kib = line.and_then(|l| l.trim().split(' ').next()?.parse::<f64>().ok());
    kib.map_or(f64::NAN, |k| k / f64::from(1 << 20))
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
