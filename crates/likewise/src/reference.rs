//! Random inputs and dense, naive versions for tests: written from the formulas, with
//! n x n matrices, and slow.

use faer::Mat;
use faer::linalg::solvers::Solve;
use ndarray::Array2;
use rand::RngExt;

use crate::{Graph, Label, Labels, seed};

/// The path 0-1-2-3 with weights 1, 1/2, 1.
pub(crate) fn path() -> Graph {
    Graph::new(
        vec![0, 1, 3, 5, 6],
        vec![1, 0, 2, 1, 3, 2],
        vec![1.0, 1.0, 0.5, 0.5, 1.0, 1.0],
    )
    .unwrap()
}

/// The two ends of [`path`] labeled with classes 0 and 1.
pub(crate) fn path_labels() -> Labels {
    Labels::parse(["0", "", "", "1"])
}

/// A random graph of about `edges` edges, usually with several components.
pub(crate) fn random_graph(n: usize, edges: usize, seed: u64) -> Graph {
    let mut rng = seed::stream(seed, "test graph");
    let mut dense = Array2::<f32>::zeros((n, n));
    for _ in 0..edges {
        let (i, j) = (rng.random_range(0..n), rng.random_range(0..n));
        if i != j {
            let w = rng.random::<f32>() + 0.05;
            dense[[i, j]] = w;
            dense[[j, i]] = w;
        }
    }
    let (mut indptr, mut indices, mut weights) = (vec![0], Vec::new(), Vec::new());
    for row in dense.rows() {
        for (j, &w) in row.iter().enumerate().filter(|&(_, &w)| w > 0.0) {
            indices.push(j as u32);
            weights.push(w);
        }
        indptr.push(indices.len());
    }
    Graph::new(indptr, indices, weights).unwrap()
}

/// Labels of `classes` classes on about a fifth of `n` items; at least one is labeled.
pub(crate) fn random_labels(n: usize, classes: u32, seed: u64) -> Labels {
    let mut rng = seed::stream(seed, "test labels");
    let mut items: Vec<Label> = (0..n)
        .map(|_| match rng.random_range(0..5) {
            0 => Label::Known(rng.random_range(0..classes)),
            _ => Label::Unknown,
        })
        .collect();
    items[rng.random_range(0..n)] = Label::Known(rng.random_range(0..classes));
    let names = (0..classes).map(|c| format!("class {c}")).collect();
    Labels::new(names, items).unwrap()
}

/// Whether the component of each node has a label.
pub(crate) fn reached(graph: &Graph, labels: &Labels) -> Vec<bool> {
    let component = graph.component();
    let labeled =
        |part| (0..graph.n()).any(|i| component[i] == part && labels[i].class().is_some());
    component.iter().map(|&part| labeled(part)).collect()
}

pub(crate) fn one_hot(labels: &Labels) -> Array2<f64> {
    let mut y = Array2::zeros((labels.len(), labels.n_classes()));
    for (i, label) in labels.items().iter().enumerate() {
        if let Some(class) = label.class() {
            y[[i, class as usize]] = 1.0;
        }
    }
    y
}

pub(crate) fn dense(graph: &Graph) -> Array2<f64> {
    Array2::from_shape_fn((graph.n(), graph.n()), |(i, j)| {
        graph.weight(i, j).map_or(0.0, f64::from)
    })
}

/// Solves `M X = B` on the rows and columns of `keep`; 0 elsewhere.
pub(crate) fn solve(m: &Array2<f64>, b: &Array2<f64>, keep: &[bool]) -> Array2<f64> {
    let rows: Vec<usize> = (0..keep.len()).filter(|&i| keep[i]).collect();
    let dense = Mat::from_fn(rows.len(), rows.len(), |i, j| m[[rows[i], rows[j]]]);
    let rhs = Mat::from_fn(rows.len(), b.ncols(), |i, c| b[[rows[i], c]]);
    let found = dense.partial_piv_lu().solve(&rhs);
    let mut x = Array2::zeros(b.dim());
    for (row, &i) in rows.iter().enumerate() {
        for c in 0..b.ncols() {
            x[[i, c]] = found[(row, c)];
        }
    }
    x
}

/// `L + U + extra` of eq. (16) of Zhuang & Moulin, CVPR 2023, dense.
pub(crate) fn system(w: &Array2<f64>, labels: &Labels, mu: f64) -> Array2<f64> {
    let mut m = w.mapv(|w| -w);
    for i in 0..w.nrows() {
        m[[i, i]] += w.row(i).sum();
        if labels[i].class().is_some() {
            m[[i, i]] += mu;
        }
    }
    m
}

/// Runs `work` in pools of one and of two threads.
pub(crate) fn in_one_and_two_threads<T: Send>(work: impl Fn() -> T + Send + Sync) -> (T, T) {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(&work)
    };
    (run(1), run(2))
}
