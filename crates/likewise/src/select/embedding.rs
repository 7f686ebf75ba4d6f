//! The graph of nearest neighbours that unsupervised selection looks at, and its eigenvectors.
//!
//! Neighbours by blocks of distances, eigenvectors by subspace iteration under a Chebyshev filter:
//! memory O(n (k + vectors)), n x n of a few rows only.

use ndarray::{Array1, Array2, Axis, s};
use rand::RngExt;

use crate::linear::spd;
use crate::matrix::product;
use crate::{Error, Monitor, Result, parallel, seed};

/// Rows whose distances to all are held at a time.
const ROWS: usize = 64;
/// Least degree, so that a row without an edge divides by something.
const LEAST: f64 = 1e-12;
/// Most rows whose whole matrix is decomposed: half a megabyte, and faster than rounds.
const DENSE: usize = 256;
/// Vectors beside those that are asked for, which make these converge.
const BESIDE: usize = 8;
/// Degree of the filter, and most rounds of it.
const DEGREE: usize = 24;
const ROUNDS: usize = 500;
/// Least distance of the cut from the eigenvalues that are wanted.
const GAP: f64 = 1e-3;
/// Length of what an eigenvector leaves over.
const RESIDUAL: f64 = 1e-11;

/// The nearest of a row, by their squared distances.
type Near = Vec<(f64, u32)>;

/// The `k` nearest of all, in any order, and no room for the others: a list is kept for every row.
fn nearest(mut all: Near, k: usize) -> Near {
    if k < all.len() {
        let nearer = |a: &(f64, u32), b: &(f64, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        all.select_nth_unstable_by(k - 1, nearer);
        all.truncate(k);
    }
    all.shrink_to_fit();
    all
}

/// Neighbours and their weights, symmetric; `degrees` are the sums of the weights.
pub(super) struct Neighborhood {
    edges: Vec<Vec<(u32, f64)>>,
    pub(super) degrees: Array1<f64>,
}

impl Neighborhood {
    /// `W_ij = exp(-d_ij^2 / (2 t^2))` where one is among the `k` nearest of the other, `t` being
    /// the mean of all `n^2` distances. Ties by number.
    pub(super) fn of(x: &Array2<f64>, k: usize, monitor: &Monitor) -> Result<Self> {
        let n = x.nrows();
        let squares: Vec<f64> = x.rows().into_iter().map(|row| row.dot(&row)).collect();
        monitor.start("neighbours", n as u64);
        let blocks: Vec<(f64, Vec<Near>)> = parallel::try_map((0..n).step_by(ROWS), |from| {
            monitor.check()?;
            let rows = x.slice(s![from..(from + ROWS).min(n), ..]).to_owned();
            let products = product(&rows, x);
            let mut sum = 0.0;
            let mut near = Vec::with_capacity(rows.nrows());
            for (at, products) in products.rows().into_iter().enumerate() {
                let i = from + at;
                let square = |j: usize| (squares[i] + squares[j] - 2.0 * products[j]).max(0.0);
                let others = (0..n).filter(|&j| j != i);
                let all: Near = others.map(|j| (square(j), j as u32)).collect();
                sum += all.iter().map(|(square, _)| square.sqrt()).sum::<f64>();
                near.push(nearest(all, k));
            }
            Ok((sum, near))
        })?;
        monitor.end();
        let mean = blocks.iter().map(|block| block.0).sum::<f64>() / (n * n).max(1) as f64;
        // Where all rows are the same, every weight is 1.
        let heat = 2.0 * mean * mean;
        let mut edges = vec![Vec::new(); n];
        for (i, near) in blocks.into_iter().flat_map(|block| block.1).enumerate() {
            for (square, j) in near {
                let weight = if heat > 0.0 {
                    (-square / heat).exp()
                } else {
                    1.0
                };
                edges[i].push((j, weight));
                edges[j as usize].push((i as u32, weight));
            }
        }
        for list in &mut edges {
            // Both ends may have found the edge, with the same weight but for rounding.
            list.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
            list.dedup_by_key(|edge| edge.0);
        }
        for i in 0..n {
            for at in 0..edges[i].len() {
                let (j, weight) = edges[i][at];
                if (j as usize) < i {
                    continue;
                }
                let back = edges[j as usize].binary_search_by_key(&(i as u32), |edge| edge.0);
                if let Ok(back) = back {
                    let most = weight.max(edges[j as usize][back].1);
                    edges[j as usize][back].1 = most;
                    edges[i][at].1 = most;
                }
            }
        }
        let degrees = edges
            .iter()
            .map(|list| list.iter().map(|edge| edge.1).sum());
        Ok(Self {
            degrees: degrees.collect(),
            edges,
        })
    }

    /// `W v`.
    pub(super) fn times(&self, v: &[f64]) -> Vec<f64> {
        parallel::map_rows(self.edges.len(), |i| {
            self.edges[i].iter().map(|&(j, w)| w * v[j as usize]).sum()
        })
    }

    /// Solutions of `L y = lambda D y` (`n x count`) for the smallest `lambda`, without the constant
    /// one; `y^T D y = 1`, and the entry of the largest size is positive.
    pub(super) fn embedding(&self, count: usize, monitor: &Monitor) -> Result<Array2<f64>> {
        let n = self.edges.len();
        if count >= n {
            let rule = format!("must be below the number of rows, {n}");
            return Err(Error::parameter("groups", count, &rule));
        }
        let roots = self.degrees.mapv(|degree| degree.max(LEAST).sqrt());
        let constant = &roots / roots.dot(&roots).sqrt();
        // The constant solution takes the least eigenvalue in place of the largest, 1, and moves out of sight alone. A
        // filter bears none below -1.
        let down = if n <= DENSE { 3.0 } else { 2.0 };
        let apply = |v: &Array2<f64>| -> Array2<f64> {
            let along = constant.view().insert_axis(Axis(0)).dot(v);
            let scaled = v / &roots.view().insert_axis(Axis(1));
            let mut out = Array2::<f64>::zeros(v.dim());
            parallel::each_row(&mut out, |i, mut out| {
                for &(j, weight) in &self.edges[i] {
                    out.scaled_add(weight / roots[i], &scaled.row(j as usize));
                }
                out.scaled_add(-down * constant[i], &along.row(0));
            });
            out
        };
        let mut found = largest(n, count, apply, monitor)?;
        found /= &roots.view().insert_axis(Axis(1));
        for mut column in found.columns_mut() {
            let most = column.iter().fold(
                0.0_f64,
                |most: f64, &v| {
                    if v.abs() > most.abs() { v } else { most }
                },
            );
            if most < 0.0 {
                column.mapv_inplace(|v| -v);
            }
        }
        Ok(found)
    }
}

/// Eigenvectors (`n x count`) of the largest eigenvalues of a symmetric operator whose eigenvalues
/// are from -1 to 1, or lower of a few rows.
fn largest(
    n: usize,
    count: usize,
    apply: impl Fn(&Array2<f64>) -> Array2<f64>,
    monitor: &Monitor,
) -> Result<Array2<f64>> {
    if n <= DENSE {
        // At once, also where an eigenvalue is there many times over, as of a graph in many parts.
        monitor.start("eigenvectors", None);
        monitor.check()?;
        let all = spd::eigen(&apply(&Array2::eye(n)))?;
        monitor.end();
        let descending = |(i, g): (usize, usize)| all.vectors[(i, n - 1 - g)];
        return Ok(Array2::from_shape_fn((n, count), descending));
    }
    let width = (count + BESIDE.max(count / 2)).min(n);
    let mut rng = seed::stream(0, "start of eigenvectors");
    let mut basis = Array2::from_shape_simple_fn((n, width), || rng.random::<f64>() - 0.5);
    let mut cut = 0.5;
    monitor.start("eigenvectors", None);
    for round in 0..ROUNDS {
        monitor.step(round as u64)?;
        if width < n {
            basis = filtered(basis, cut, &apply);
        }
        basis = orthonormal(basis)?;
        let image = apply(&basis);
        let small = spd::eigen(&transposed_product(&basis, &image))?;
        // Ascending: the last are wanted.
        let turned = small
            .vectors
            .slice(s![.., ..;-1])
            .t()
            .as_standard_layout()
            .into_owned();
        let (vectors, images) = (product(&basis, &turned), product(&image, &turned));
        // Right below what is wanted a cut would let nothing grow: where one eigenvalue takes all vectors, what lies
        // below it would stay among them.
        let least = small.values[width - count] - GAP;
        cut = small.values[0].min(least).clamp(-0.9, 1.0 - GAP);
        let wanted = 0..count;
        let left = wanted.clone().map(|j| {
            let value = small.values[width - 1 - j];
            let e = &images.column(j) - &(&vectors.column(j) * value);
            e.dot(&e).sqrt()
        });
        let most = left.fold(0.0, f64::max);
        basis = vectors;
        if most < RESIDUAL || width == n {
            break;
        }
        if round + 1 == ROUNDS {
            monitor.warn(format!(
                "eigenvectors of the neighbour graph are exact to {most:.1e} only"
            ));
        }
    }
    monitor.end();
    Ok(basis.slice(s![.., ..count]).to_owned())
}

/// Chebyshev's polynomial of what lies below `cut`: that stays small, and what is above grows.
fn filtered(
    basis: Array2<f64>,
    cut: f64,
    apply: impl Fn(&Array2<f64>) -> Array2<f64>,
) -> Array2<f64> {
    let (center, half) = ((cut - 1.0) / 2.0, f64::midpoint(cut, 1.0));
    let step = |v: &Array2<f64>| (apply(v) - v * center) / half;
    let mut before = basis;
    let mut now = step(&before);
    for _ in 1..DEGREE {
        let next = step(&now) * 2.0 - &before;
        before = std::mem::replace(&mut now, next);
        // Columns of very different growth would lose each other's digits.
        let size = now.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
        if size > 1e100 {
            now /= size;
            before /= size;
        }
    }
    now
}

/// Gram and Schmidt's, twice; what depends on the columns before becomes a new direction.
fn orthonormal(mut basis: Array2<f64>) -> Result<Array2<f64>> {
    let (n, width) = basis.dim();
    let mut rng = seed::stream(0, "lost directions");
    for j in 0..width {
        let mut tries = 0;
        loop {
            let (done, mut rest) = basis.view_mut().split_at(Axis(1), j);
            let mut column = rest.column_mut(0);
            let before = column.dot(&column).sqrt();
            for _ in 0..2 {
                let along = done.t().dot(&column);
                column -= &done.dot(&along);
            }
            let length = column.dot(&column).sqrt();
            if length > 1e-10 * before && length.is_finite() {
                column /= length;
                break;
            }
            tries += 1;
            if tries > 20 {
                return Err(Error::data(format!(
                    "{n} rows have no {width} independent directions; ask for fewer groups"
                )));
            }
            column.mapv_inplace(|_| rng.random::<f64>() - 0.5);
        }
    }
    Ok(basis)
}

fn transposed_product(a: &Array2<f64>, b: &Array2<f64>) -> Array2<f64> {
    let standard = |m: &Array2<f64>| m.t().as_standard_layout().into_owned();
    product(&standard(a), &standard(b))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::Event;
    use crate::reference::in_one_and_two_threads;

    #[test]
    fn a_list_of_neighbours_keeps_no_room_for_the_others() {
        let all = || (0..1000_u32).map(|j| (f64::from(1000 - j), j)).collect();
        let mut near = nearest(all(), 3);
        near.sort_by_key(|&(_, j)| j);
        assert_eq!(near, [(3.0, 997), (2.0, 998), (1.0, 999)]);
        assert!(nearest(all(), 3).capacity() < 10);
        assert_eq!(nearest(all(), 1000).len(), 1000);
    }

    /// Rows of which so many are the same, one kind after the other; exact in every digit.
    fn copies(kinds: usize, of_each: usize) -> Array2<f64> {
        Array2::from_shape_fn((kinds * of_each, 2), |(i, j)| {
            if j == 0 {
                (i / of_each * 4) as f64
            } else {
                1.0
            }
        })
    }

    #[test]
    fn eigenvalues_that_are_there_many_times_over_are_no_trouble() {
        // 1 for every kind, and then 0 for most rows: no vector of these is better than another.
        for (kinds, of_each, count) in [(6, 10, 10), (5, 60, 6)] {
            let work = || {
                let warned = Arc::new(AtomicBool::new(false));
                let to = warned.clone();
                let monitor = Monitor::new(move |event: &Event| {
                    to.fetch_or(matches!(event, Event::Warning(_)), Ordering::Relaxed);
                });
                let x = copies(kinds, of_each);
                let graph = Neighborhood::of(&x, 5, &monitor).unwrap();
                let y = graph.embedding(count, &monitor).unwrap();
                assert!(!warned.load(Ordering::Relaxed), "{kinds} x {of_each}");
                for v in y.columns() {
                    let own = v.to_owned() * &graph.degrees;
                    assert!((own.dot(&v) - 1.0).abs() < 1e-9);
                    assert!(own.sum().abs() < 1e-9);
                }
                y
            };
            let (one, two) = in_one_and_two_threads(work);
            assert_eq!(one, two);
        }
    }

    #[test]
    fn of_few_rows_that_are_all_neighbors_the_constant_is_none() {
        // Two of their eigenvalues are below 0, and a constant that took 0 would be before these.
        let x = Array2::from_shape_fn((4, 1), |(i, _)| i as f64);
        let silent = Monitor::silent();
        let graph = Neighborhood::of(&x, 5, &silent).unwrap();
        for v in graph.embedding(2, &silent).unwrap().columns() {
            assert!((v.to_owned() * &graph.degrees).sum().abs() < 1e-9, "{v}");
        }
    }

    #[test]
    fn parts_that_are_not_joined_have_vectors_of_their_own() {
        // Three groups far from each other.
        let x = Array2::from_shape_fn((30, 2), |(i, j)| {
            (i / 10) as f64 * 1e3 + ((i * i + 3 * j) as f64).sin()
        });
        let silent = Monitor::silent();
        let graph = Neighborhood::of(&x, 4, &silent).unwrap();
        let y = graph.embedding(3, &silent).unwrap();
        for v in y.columns() {
            let own = v.to_owned() * &graph.degrees;
            assert!((own.dot(&v) - 1.0).abs() < 1e-9);
            assert!(own.sum().abs() < 1e-9);
        }
        // The first two are constant within groups.
        for v in [y.column(0), y.column(1)] {
            for group in 0..3 {
                let own = v.slice(s![group * 10..group * 10 + 10]);
                assert!(own.iter().all(|e| (e - own[0]).abs() < 1e-8), "{own}");
            }
        }
        assert!(graph.embedding(30, &silent).is_err());
    }
}
