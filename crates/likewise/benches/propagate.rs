//! Time and memory of propagation.
//!
//! `cargo bench -p likewise --bench propagate -- items=60000 classes=10 k=50`
//!
//! - `graph=knn` (default) builds the nearest-neighbour graph of Gaussian-like clouds;
//!   `graph=ring` a synthetic one that takes no search: classes are rings, each node is tied
//!   to the next ones and to random ones of its class, one edge in twenty goes anywhere
//!   (`astray=1`), the nodes are numbered at random. About 1.5 k entries a node.
//! - `save=FOLDER` writes graph, labels and results for the peers, of which
//!   `OPENBLAS_CORETYPE=SKYLAKEX OMP_NUM_THREADS=1 python3 benches/peers/propagate.py FOLDER` makes a
//!   table. A graph that is already there is used again. Where the folder has rows of features and
//!   their classes, which `benches/peers/propagate.py export FILE.npz VIEW FOLDER` writes, the graph
//!   is that of them, and `items` and `classes` are theirs.
//! - `methods=harmonic,mixed`; also `lgc`, `poisson` and `poisson-mbo`, as they are and with what they
//!   say of the sizes of classes: `lgc-uniform`, `poisson-balanced`, `poisson-known` (the true sizes),
//!   `poisson-mbo-balanced`, `poisson-mbo-known`, and `poisson-mbo-paper-known` of 40 steps a round, as its
//!   authors have it. `NAME@1e-3` is solved to that tolerance.
//!   `harmonic-session` and `mixed-session` add `changes=30` labels, one after the other.
//! - `tolerance=1e-6`, `labels=5` a class, `draws=1` of them, `rounds=2`, of which the fastest counts.

use std::path::{Path, PathBuf};
use std::time::Instant;

use likewise::graph::KnnGraph;
use likewise::propagate::{
    Given, Harmonic, Lgc, Mass, Mixed, Poisson, PoissonMbo, Propagate, Sizes, Spread,
};
use likewise::{Beliefs, Graph, Label, Labels, Monitor};
use ndarray::Array2;
use rand::RngExt;
use rand::seq::SliceRandom;

const SEED: u64 = 1;
const DIMENSION: usize = 32;
fn given(name: &str) -> Option<String> {
    let prefix = format!("{name}=");
    std::env::args().find_map(|a| a.strip_prefix(&prefix).map(str::to_owned))
}

fn number(name: &str, default: f64) -> f64 {
    given(name).map_or(default, |v| v.parse().expect("a number"))
}

/// What is propagated.
struct Data {
    graph: Graph,
    truth: Vec<i32>,
    kind: String,
}

fn main() {
    let k = number("k", 50.0) as usize;
    let tolerance = number("tolerance", 1e-6);
    let (labels, draws) = (number("labels", 5.0) as usize, number("draws", 1.0) as u64);
    let rounds = number("rounds", 2.0) as usize;
    let folder = given("save").map(PathBuf::from);
    let methods = given("methods").unwrap_or_else(|| "harmonic,mixed".into());

    let begin = Instant::now();
    let data = Data::new(folder.as_deref(), k);
    let integers = || data.truth.iter().map(|&c| i64::from(c));
    let drawn: Vec<Labels> = (0..draws)
        .map(|draw| Labels::from_integers(integers()).draw(labels, SEED + draw))
        .collect();
    println!(
        "propagation: n {}, classes {}, k {k}, {} graph of {} entries, {labels} labels a class, {draws} \
         draws, tolerance {tolerance:.0e}, threads {}, seed {SEED}, {}\n\
         graph: {:.1} s, peak {:.2} GiB",
        data.graph.n(),
        data.classes(),
        data.kind,
        data.graph.nnz(),
        rayon::current_num_threads(),
        machine(),
        begin.elapsed().as_secs_f64(),
        peak_gib(),
    );
    if let Some(folder) = &folder {
        save_graph(folder, &data, &drawn);
    }
    reset_peak();
    println!("before propagation: {:.2} GiB", peak_gib());
    for name in methods.split(',') {
        if let Some(base) = name.strip_suffix("-session") {
            let mixed = base == "mixed";
            follow(&data.graph, &drawn[0], &data.truth, tolerance, mixed);
            continue;
        }
        let mut seconds = Vec::new();
        for (draw, drawn) in drawn.iter().enumerate() {
            let (found, fastest) = measure(name, tolerance, &data, drawn, rounds);
            seconds.push(fastest);
            if let Some(folder) = &folder {
                save_result(folder, &numbered(name, draw), &found);
            }
        }
        if let Some(folder) = &folder {
            let seconds = seconds.into_iter().map(f64::to_le_bytes);
            write(folder, &format!("{name}.seconds"), seconds);
        }
    }
}

impl Data {
    fn new(folder: Option<&Path>, k: usize) -> Self {
        let saved = folder.and_then(read_graph);
        if let Some((x, truth)) = folder.and_then(read_features) {
            let graph = saved.unwrap_or_else(|| nearest(&x, k));
            return Self {
                graph,
                truth,
                kind: "real".into(),
            };
        }
        let n = number("items", 60_000.0) as usize;
        let classes = number("classes", 10.0) as usize;
        let kind = given("graph").unwrap_or_else(|| "knn".into());
        let (graph, truth) = match saved {
            Some(graph) => (graph, ring_truth(n, classes, &kind)),
            None if kind == "ring" => ring(n, classes, k),
            None => (clouds(n, classes, k), ring_truth(n, classes, &kind)),
        };
        assert_eq!(graph.n(), n, "the saved graph has another size");
        Self { graph, truth, kind }
    }

    fn classes(&self) -> usize {
        self.truth.iter().max().map_or(0, |&c| c as usize + 1)
    }

    /// Items of each class.
    fn sizes(&self) -> Sizes {
        let mut sizes = vec![0.0; self.classes()];
        for &class in &self.truth {
            sizes[class as usize] += 1.0;
        }
        Sizes::Known(sizes)
    }
}

/// The name of a file about a draw of labels; that of the first is the name alone.
fn numbered(name: &str, draw: usize) -> String {
    match draw {
        0 => name.to_owned(),
        draw => format!("{name}-{draw}"),
    }
}

/// What the method finds, and the core-seconds of its fastest round.
fn measure(
    name: &str,
    tolerance: f64,
    data: &Data,
    drawn: &Labels,
    rounds: usize,
) -> (Spread, f64) {
    let (mut found, mut fastest) = (None, f64::INFINITY);
    for round in 0..rounds.max(1) {
        reset_peak();
        let begin = (Instant::now(), cpu_seconds());
        let spread = run(name, tolerance, data, drawn);
        let (wall, cpu) = (begin.0.elapsed().as_secs_f64(), cpu_seconds() - begin.1);
        let right = accuracy(&spread.beliefs, &data.truth);
        report(name, round, &spread.beliefs, right, (wall, cpu));
        fastest = fastest.min(cpu);
        found = Some(spread);
    }
    (found.expect("a round"), fastest)
}

fn run(name: &str, tolerance: f64, data: &Data, labels: &Labels) -> Spread {
    let (name, tolerance) = match name.split_once('@') {
        Some((name, tolerance)) => (name, tolerance.parse().expect("a tolerance")),
        None => (name, tolerance),
    };
    let (base, sizes) = match name.rsplit_once('-') {
        Some((base, "balanced")) => (base, Sizes::Balanced),
        Some((base, "known")) => (base, data.sizes()),
        _ if name == "poisson" => (name, Sizes::Free),
        _ => (name, Sizes::Estimated),
    };
    let lgc = Lgc::new().tolerance(tolerance);
    let method: &dyn Propagate = match base {
        "harmonic" => &Harmonic::new().tolerance(tolerance),
        "mixed" => &Mixed::new().tolerance(tolerance),
        "lgc" => &lgc,
        "lgc-uniform" => &lgc.mass(Mass::Uniform),
        "poisson" => &Poisson::new().tolerance(tolerance).sizes(sizes),
        "poisson-mbo" => &PoissonMbo::new().tolerance(tolerance).sizes(sizes),
        "poisson-mbo-paper" => &PoissonMbo::paper().tolerance(tolerance).sizes(sizes),
        _ => panic!("no method {name}"),
    };
    let given = Given::new(&data.graph, labels);
    (method.spread(&given, &Monitor::silent())).expect("valid labels")
}

fn save_graph(folder: &Path, data: &Data, drawn: &[Labels]) {
    std::fs::create_dir_all(folder).expect("a folder to write to");
    let graph = &data.graph;
    let indptr = graph.indptr().iter().map(|&p| (p as u64).to_le_bytes());
    write(folder, "indptr.u64", indptr);
    let indices = graph.indices().iter().map(|j| j.to_le_bytes());
    write(folder, "indices.u32", indices);
    let weights = graph.weights().iter().map(|w| w.to_le_bytes());
    write(folder, "weights.f32", weights);
    for (draw, drawn) in drawn.iter().enumerate() {
        let class = |l: &Label| l.class().map_or(-1, |c| c as i32);
        let labels = drawn.items().iter().map(class);
        let name = numbered("labels", draw) + ".i32";
        write(folder, &name, labels.map(i32::to_le_bytes));
    }
    let truth = data.truth.iter().map(|c| c.to_le_bytes());
    write(folder, "truth.i32", truth);
}

fn save_result(folder: &Path, name: &str, found: &Spread) {
    let pseudo_label = found.beliefs.pseudo_label.iter();
    let classes = pseudo_label.map(|c| c.map_or(-1, |c| c as i32));
    let classes = classes.map(i32::to_le_bytes);
    write(folder, &format!("{name}.i32"), classes);
    if let Some(negatives) = &found.negatives {
        let weights = negatives.weights().iter().map(|w| w.to_le_bytes());
        write(folder, "negatives.f64", weights);
    }
}

/// Time of one label after the other, and of the refresh.
fn follow(graph: &Graph, drawn: &Labels, truth: &[i32], tolerance: f64, mixed: bool) {
    let monitor = Monitor::silent();
    let begin = Instant::now();
    let session = if mixed {
        Mixed::new()
            .tolerance(tolerance)
            .session(graph, drawn, &monitor)
    } else {
        Harmonic::new()
            .mu(number("mu", 1.0 / 99.0))
            .tolerance(tolerance)
            .session(graph, drawn, &monitor)
    };
    let mut session = session.expect("valid labels");
    let name = if mixed { "mixed" } else { "harmonic" };
    println!(
        "session of {name}: {:.2} s wall",
        begin.elapsed().as_secs_f64()
    );
    let changes = number("changes", 30.0) as usize;
    let mut rng = likewise::seed::stream(SEED, "bench changes");
    let (mut seconds, mut cores, mut moved) = (Vec::new(), 0.0, 0);
    for _ in 0..changes {
        let item = rng.random_range(0..truth.len());
        let begin = (Instant::now(), cpu_seconds());
        let label = Label::Known(truth[item] as u32);
        let changed = session.relabel(item, label, &monitor).expect("an item");
        seconds.push(begin.0.elapsed().as_secs_f64());
        cores += cpu_seconds() - begin.1;
        moved += changed.len();
    }
    seconds.sort_by(f64::total_cmp);
    println!(
        "  {changes} labels, one after the other: median {:.3} s wall, slowest {:.3} s, {:.2} core-s each, {moved} \
         pseudo-labels changed",
        seconds[changes / 2],
        seconds[changes - 1],
        cores / changes as f64,
    );
    if !mixed {
        let anew = Harmonic::new()
            .mu(number("mu", 1.0 / 99.0))
            .tolerance(1e-9)
            .session(graph, session.labels(), &monitor)
            .expect("valid labels");
        let pairs = session.pseudo_label().iter().zip(anew.pseudo_label());
        let other = pairs.filter(|(a, b)| a != b).count();
        let (own, others) = (session.scores(), anew.scores());
        let far = own.iter().zip(others);
        let far = far.fold(0.0_f64, |far, (a, b)| far.max((a - b).abs()));
        println!(
            "  beside all at once, solved to 1e-9: {other} other pseudo-labels, scores up to {far:.1e} away"
        );
    }
    if mixed {
        let begin = (Instant::now(), cpu_seconds());
        let changed = session.refresh(&monitor).expect("a session");
        println!(
            "  refresh: {:.3} s wall, {:.2} core-s, {} pseudo-labels changed, peak {:.2} GiB",
            begin.0.elapsed().as_secs_f64(),
            cpu_seconds() - begin.1,
            changed.len(),
            peak_gib()
        );
    }
}

fn report(name: &str, round: usize, beliefs: &Beliefs, right: f64, (wall, cpu): (f64, f64)) {
    println!(
        "{name} round {round}: {wall:.3} s wall, {cpu:.2} core-s, {} iterations, {:.1} core-ms \
         an iteration all in, accuracy {right:.4}, residual {:.1e}, peak {:.2} GiB",
        beliefs.convergence.iterations,
        1000.0 * cpu / beliefs.convergence.iterations as f64,
        beliefs.convergence.residual,
        peak_gib(),
    );
}

/// Share of the items without a label that got their class.
fn accuracy(beliefs: &Beliefs, truth: &[i32]) -> f64 {
    let (mut right, mut all) = (0, 0);
    for (i, &class) in truth.iter().enumerate() {
        if !beliefs.labeled[i] {
            all += 1;
            right += usize::from(beliefs.pseudo_label[i] == Some(class as u32));
        }
    }
    f64::from(right as u32) / f64::from(all)
}

/// The class of each item of either graph.
fn ring_truth(n: usize, classes: usize, kind: &str) -> Vec<i32> {
    let mut truth: Vec<i32> = (0..n).map(|i| (i % classes) as i32).collect();
    if kind == "ring" {
        truth.shuffle(&mut likewise::seed::stream(SEED, "bench order"));
    }
    truth
}

fn clouds(n: usize, classes: usize, k: usize) -> Graph {
    let mut rng = likewise::seed::stream(SEED, "bench features");
    let mut uniform = |scale: f32| scale * (rng.random::<f32>() - 0.5);
    let centers = Array2::from_shape_fn((classes, DIMENSION), |_| uniform(1.0));
    let x = Array2::from_shape_fn((n, DIMENSION), |(i, c)| {
        centers[[i % classes, c]] + uniform(1.5)
    });
    nearest(&x, k)
}

fn nearest(x: &Array2<f32>, k: usize) -> Graph {
    (KnnGraph::new().k(k))
        .build(x.view(), &Monitor::silent())
        .expect("valid data")
}

fn ring(n: usize, classes: usize, k: usize) -> (Graph, Vec<i32>) {
    let truth = ring_truth(n, classes, "ring");
    let mut members = vec![Vec::new(); classes];
    for (i, &class) in truth.iter().enumerate() {
        members[class as usize].push(i as u32);
    }
    let astray = number("astray", 1.0) as i32;
    let mut rng = likewise::seed::stream(SEED, "bench edges");
    let mut rows: Vec<Vec<(u32, f32)>> = vec![Vec::with_capacity(2 * k); n];
    for members in &members {
        for (at, &i) in members.iter().enumerate() {
            for step in 1..=(3 * k).div_ceil(4) {
                let j = match rng.random_range(0..20) {
                    turn if turn < astray => rng.random_range(0..n as u32),
                    turn if turn < astray + 9 => members[rng.random_range(0..members.len())],
                    _ => members[(at + step) % members.len()],
                };
                if i != j {
                    let w = 1.0 - rng.random::<f32>();
                    rows[i as usize].push((j, w));
                    rows[j as usize].push((i, w));
                }
            }
        }
    }
    let (mut indptr, mut indices, mut weights) = (vec![0], Vec::new(), Vec::new());
    for mut row in rows {
        row.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        row.dedup_by_key(|entry| entry.0);
        indices.extend(row.iter().map(|entry| entry.0));
        weights.extend(row.iter().map(|entry| entry.1));
        indptr.push(indices.len());
    }
    (
        Graph::new(indptr, indices, weights).expect("a graph"),
        truth,
    )
}

fn write<const N: usize>(folder: &Path, name: &str, values: impl Iterator<Item = [u8; N]>) {
    let bytes: Vec<u8> = values.flatten().collect();
    std::fs::write(folder.join(name), bytes).expect("a file to write to");
}

/// Rows of features, and the class of each, where the folder has them.
fn read_features(folder: &Path) -> Option<(Array2<f32>, Vec<i32>)> {
    let read = |name: &str| std::fs::read(folder.join(name)).ok();
    let values = read("features.f32")?;
    let values = values.as_chunks::<4>().0.iter();
    let values: Vec<f32> = values.map(|&b| f32::from_le_bytes(b)).collect();
    let truth = read("truth.i32")?;
    let truth = truth.as_chunks::<4>().0.iter();
    let truth: Vec<i32> = truth.map(|&b| i32::from_le_bytes(b)).collect();
    let shape = (truth.len(), values.len() / truth.len());
    let x = Array2::from_shape_vec(shape, values).expect("as many features of each item");
    Some((x, truth))
}

fn read_graph(folder: &Path) -> Option<Graph> {
    let read = |name: &str| std::fs::read(folder.join(name)).ok();
    let words = |bytes: Vec<u8>| bytes.as_chunks::<4>().0.to_vec();
    let indptr = read("indptr.u64")?;
    let indptr = indptr
        .as_chunks::<8>()
        .0
        .iter()
        .map(|&b| u64::from_le_bytes(b) as usize);
    let indices = words(read("indices.u32")?)
        .into_iter()
        .map(u32::from_le_bytes);
    let weights = words(read("weights.f32")?)
        .into_iter()
        .map(f32::from_le_bytes);
    Graph::new(indptr.collect(), indices.collect(), weights.collect()).ok()
}

/// Time that the threads of this process ran; wall time would count what other programs on the
/// machine take. Linux only, NaN elsewhere.
fn cpu_seconds() -> f64 {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else {
        return f64::NAN;
    };
    let nanoseconds = |thread: std::fs::DirEntry| {
        let stat = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        stat.split_whitespace().next()?.parse::<f64>().ok()
    };
    let of_each = threads.flatten().map(nanoseconds);
    1e-9 * of_each.sum::<Option<f64>>().unwrap_or(f64::NAN)
}

/// Peak memory of this process since the last reset. Linux only, NaN elsewhere.
fn peak_gib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kib = line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kib.map_or(f64::NAN, |kib| kib / 1024.0 / 1024.0)
}

fn reset_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|l| l.strip_prefix("model name"));
    model.map_or_else(
        || "unknown machine".into(),
        |m| m.trim_matches([' ', ':', '\t']).to_owned(),
    )
}
