//! What a few columns miss in whole groups of rows, corrected group by group: the second level of a preconditioner.
//!
//! **Use it** for many solves with one operator whose graph falls into groups that hang together by little, as a graph of
//! neighbours does: what flows between groups is found in one step, where conjugate gradients with the diagonal alone take
//! hundreds. **Not** for a single solve, which costs less than the groups do, nor for small graphs.
//!
//! With `Z` the groups (`n x m`, 1 where a row is in a group) and `E = Z^T M Z`, a residual `r` is preconditioned by
//!
//! ```text
//! z = D^-1 r + Z E^-1 Z^T r
//! ```
//!
//! Groups are found by joining each row with the one that it is tied to most among those that are still alone, then the
//! pairs in the same way, until they are few.
//!
//! Cost: finding the groups, as much as some ten products with `M`, and `m^3`; each application `2 n` memory accesses and
//! `m^2`. Memory: 8 bytes a row and `8 m^2`.
//!
//! Source: two-level additive preconditioners (Nicolaides 1987, for the groups as coarse space), groups by pairs as of
//! Notay, "An aggregation-based algebraic multigrid method", 2010.

use faer::linalg::solvers::DenseSolveCore;
use faer::{Mat, Side};
use ndarray::{Array2, ArrayView1};

use super::columns::Row;
use super::on_one_thread;
use super::operator::Sparse;
use crate::{Error, ErrorKind, Graph, Result, parallel};

/// Of a row that is in no group.
const ALONE: u32 = u32::MAX;
/// Groups whose rows are worked on together.
const TOGETHER: usize = 16;
/// Share of the diagonal of `E` that keeps it invertible where no label holds a component.
const FLOOR: f64 = 1e-9;
/// A change that takes more than all but this share of what a group is held by is left out: what it is told here need
/// only be near.
const LEFT: f64 = 1e-3;

/// Groups of rows of an operator, and the inverse of the operator between them.
#[derive(Debug, Clone)]
pub struct Coarse {
    group: Vec<u32>,
    /// Members, group after group.
    begins: Vec<usize>,
    rows: Vec<u32>,
    inverse: Array2<f64>,
}

impl Coarse {
    /// `at_most` groups of the rows of an operator; fewer where they do not hang together.
    ///
    /// Fails where the operator is not positive definite.
    pub(super) fn new<T: Copy + Into<f64> + Sync + Send>(
        operator: &Sparse<T>,
        at_most: usize,
    ) -> Result<Self> {
        let mut group = groups(operator.graph(), at_most);
        let mut sizes = vec![0_usize; group.iter().max().map_or(0, |&most| most as usize + 1)];
        for &own in &group {
            sizes[own as usize] += 1;
        }
        // Where components alone are more than that, the largest; a single row is its own diagonal.
        let mut largest: Vec<usize> = (0..sizes.len()).filter(|&own| sizes[own] > 1).collect();
        largest.sort_by_key(|&own| (std::cmp::Reverse(sizes[own]), own));
        largest.truncate(at_most);
        let mut number = vec![ALONE; sizes.len()];
        for (&own, next) in largest.iter().zip(0..) {
            number[own] = next;
        }
        for own in &mut group {
            *own = number[*own as usize];
        }
        let mut begins = vec![0; largest.len() + 1];
        for (place, &own) in largest.iter().enumerate() {
            begins[place + 1] = begins[place] + sizes[own];
        }
        let mut next = begins.clone();
        let mut rows = vec![0; begins[largest.len()]];
        for (&own, row) in group.iter().zip(0..) {
            if own != ALONE {
                rows[next[own as usize]] = row;
                next[own as usize] += 1;
            }
        }
        let between = operator.between(&group, &begins, &rows);
        Ok(Self {
            group,
            begins,
            rows,
            inverse: inverted(&between)?,
        })
    }

    /// The group of each row; `None` for a row that is in none.
    #[inline]
    pub(super) fn of(&self, row: usize) -> Option<usize> {
        let own = self.group[row];
        (own != ALONE).then_some(own as usize)
    }

    /// Follows a change of the diagonal of the operator (Sherman and Morrison).
    pub(super) fn add_to_diagonal(&mut self, row: usize, value: f64) {
        let Some(own) = self.of(row) else { return };
        let column = self.inverse.column(own).to_owned();
        let share = 1.0 + value * column[own];
        if share < LEFT {
            return;
        }
        for (mut row, by) in self.inverse.rows_mut().into_iter().zip(&column) {
            row.scaled_add(-value / share * by, &column);
        }
    }

    /// `E^-1 Z^T r` to `found`, a row a group, and `r^T Z E^-1 Z^T r` of each column.
    pub(super) fn correct<const W: usize>(
        &self,
        r: &[[f32; W]],
        found: &mut Vec<[f32; W]>,
    ) -> Row<W> {
        let m = self.begins.len() - 1;
        let members = self.begins.windows(2).collect::<Vec<_>>();
        let sums = parallel::map(members.chunks(TOGETHER), |groups| {
            let sum = |group: &&[usize]| {
                let mut sum = [0.0; W];
                for &row in &self.rows[group[0]..group[1]] {
                    for (sum, r) in sum.iter_mut().zip(r[row as usize]) {
                        *sum += f64::from(r);
                    }
                }
                sum
            };
            groups.iter().map(sum).collect::<Vec<_>>()
        });
        let sums: Vec<Row<W>> = sums.into_iter().flatten().collect();
        let places = (0..m).step_by(TOGETHER);
        let products = parallel::map(places, |place| {
            let rows = place..(place + TOGETHER).min(m);
            let product = |row: usize| times(self.inverse.row(row), &sums);
            rows.map(product).collect::<Vec<Row<W>>>()
        });
        let mut length = [0.0; W];
        found.clear();
        for (product, sum) in products.into_iter().flatten().zip(&sums) {
            for c in 0..W {
                length[c] += product[c] * sum[c];
            }
            found.push(product.map(|value| value as f32));
        }
        length
    }
}

fn times<const W: usize>(row: ArrayView1<f64>, sums: &[Row<W>]) -> Row<W> {
    let mut product = [0.0; W];
    for (own, sums) in row.iter().zip(sums) {
        for (product, sum) in product.iter_mut().zip(sums) {
            *product += own * sum;
        }
    }
    product
}

fn inverted(matrix: &Array2<f64>) -> Result<Array2<f64>> {
    let m = matrix.nrows();
    let held = |i: usize, j: usize| match i == j {
        true => matrix[[i, i]] * (1.0 + FLOOR),
        false => matrix[[i, j]],
    };
    let inverse = on_one_thread(|| {
        let factors = Mat::from_fn(m, m, held).llt(Side::Lower);
        factors.map(|factors| factors.inverse())
    })?;
    let inverse = inverse.map_err(|_| {
        let message = "the matrix between groups of rows is not positive definite";
        Error::new(ErrorKind::Internal, message)
    })?;
    Ok(Array2::from_shape_fn((m, m), |(i, j)| inverse[(i, j)]))
}

/// A graph whose nodes are groups of rows.
struct Level {
    begins: Vec<usize>,
    ends: Vec<u32>,
    weights: Vec<f32>,
}

/// A group of each row, by pairs of pairs, until there are `at_most` of them or none hang together.
fn groups(graph: &Graph, at_most: usize) -> Vec<u32> {
    let mut group: Vec<u32> = (0..graph.n() as u32).collect();
    let (mut n, mut level): (usize, Option<Level>) = (graph.n(), None);
    while n > at_most.max(1) {
        let (begins, ends, weights) = match &level {
            Some(level) => (&*level.begins, &*level.ends, &*level.weights),
            None => (graph.indptr(), graph.indices(), graph.weights()),
        };
        let (pairs, joined) = pairs(n, begins, ends, weights);
        if joined == n {
            break;
        }
        let next = contract(joined, &pairs, (begins, ends, weights));
        for own in &mut group {
            *own = pairs[*own as usize];
        }
        (n, level) = (joined, Some(next));
    }
    group
}

/// The pair of each node, and how many there are. A node whose neighbours have all found each other joins the one that
/// it is tied to most.
fn pairs(n: usize, begins: &[usize], ends: &[u32], weights: &[f32]) -> (Vec<u32>, usize) {
    let mut pair = vec![ALONE; n];
    let mut next = 0;
    for own in 0..n {
        if pair[own] != ALONE {
            continue;
        }
        let (mut best, mut other) = (None, None);
        for at in begins[own]..begins[own + 1] {
            let (end, weight) = (ends[at] as usize, weights[at]);
            let place = if pair[end] == ALONE {
                &mut best
            } else {
                &mut other
            };
            if end != own && place.is_none_or(|(most, _)| weight > most) {
                *place = Some((weight, end));
            }
        }
        match (best, other) {
            (Some((_, end)), _) => {
                (pair[own], pair[end]) = (next, next);
                next += 1;
            }
            (None, Some((_, end))) => pair[own] = pair[end],
            (None, None) => {
                pair[own] = next;
                next += 1;
            }
        }
    }
    (pair, next as usize)
}

/// The graph between the pairs, with the sums of the weights.
fn contract(n: usize, pair: &[u32], (begins, ends, weights): (&[usize], &[u32], &[f32])) -> Level {
    let mut first = vec![0_usize; n + 1];
    for &own in pair {
        first[own as usize + 1] += 1;
    }
    for place in 0..n {
        first[place + 1] += first[place];
    }
    let (mut next, mut members) = (first.clone(), vec![0_u32; pair.len()]);
    for (&own, node) in pair.iter().zip(0..) {
        members[next[own as usize]] = node;
        next[own as usize] += 1;
    }
    let rows = 4096;
    let parts = parallel::map((0..n).step_by(rows), |from| {
        let (mut lengths, mut ends_of, mut weights_of) = (Vec::new(), Vec::new(), Vec::new());
        let mut around: Vec<(u32, f32)> = Vec::new();
        for own in from..(from + rows).min(n) {
            around.clear();
            for &node in &members[first[own]..first[own + 1]] {
                let entries = begins[node as usize]..begins[node as usize + 1];
                let each = ends[entries.clone()].iter().zip(&weights[entries]);
                let each = each.map(|(&end, &weight)| (pair[end as usize], weight));
                around.extend(each.filter(|&(end, _)| end as usize != own));
            }
            around.sort_unstable_by_key(|&(end, _)| end);
            let before = ends_of.len();
            for &(end, weight) in &around {
                if ends_of.len() > before && ends_of.last() == Some(&end) {
                    if let Some(sum) = weights_of.last_mut() {
                        *sum += weight;
                    }
                } else {
                    ends_of.push(end);
                    weights_of.push(weight);
                }
            }
            lengths.push(ends_of.len() - before);
        }
        (lengths, ends_of, weights_of)
    });
    let mut level = Level {
        begins: vec![0],
        ends: Vec::new(),
        weights: Vec::new(),
    };
    let mut total = 0;
    for (lengths, ends, weights) in parts {
        for length in lengths {
            total += length;
            level.begins.push(total);
        }
        level.ends.extend(ends);
        level.weights.extend(weights);
    }
    level
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Monitor;
    use crate::reference::{self, in_one_and_two_threads};
    use crate::solve::{ConjugateGradient, Operator, Solution};
    use ndarray::ArrayView2;
    use proptest::prelude::*;

    /// Cliques of `size`, each tied to the next one by little.
    fn cliques(number: usize, size: usize) -> Graph {
        let n = number * size;
        let (mut indptr, mut indices, mut weights) = (vec![0], Vec::new(), Vec::new());
        for i in 0..n {
            let own = i / size * size;
            let mut row: Vec<(usize, f32)> = (own..own + size)
                .filter(|&j| j != i)
                .map(|j| (j, 1.0))
                .collect();
            if i == own && i > 0 {
                row.push((i - size, 0.01));
            }
            if i == own && i + size < n {
                row.push((i + size, 0.01));
            }
            row.sort_by_key(|&(j, _)| j);
            indices.extend(row.iter().map(|&(j, _)| j as u32));
            weights.extend(row.iter().map(|&(_, weight)| weight));
            indptr.push(indices.len());
        }
        Graph::new(indptr, indices, weights).unwrap()
    }

    /// The Laplacian of a graph, held at some rows.
    fn held<'a>(graph: &'a Graph, rows: &[usize]) -> Sparse<'a, f32> {
        let mut diagonal = graph.divisors();
        for &row in rows {
            diagonal[row] += 0.5;
        }
        Sparse::new(graph, diagonal, graph.weights())
    }

    fn solved(operator: &Sparse<f32>, b: ArrayView2<f64>) -> Solution {
        let solver = ConjugateGradient::default();
        let found = solver.solve(operator, b, None, &Monitor::silent()).unwrap();
        assert!(found.converged, "{:?}", found.residuals);
        found
    }

    #[test]
    fn groups_are_few_and_keep_together_what_hangs_together() {
        let graph = cliques(40, 8);
        let found = groups(&graph, 40);
        for i in 0..320 {
            assert_eq!(found[i] == found[0], i < 8, "{i}");
        }
        assert_eq!(groups(&graph, 1000), (0..320).collect::<Vec<u32>>());
        assert!(groups(&graph, 1).iter().all(|&own| own == 0));
        // Nothing joins what hangs together by nothing.
        let alone = Graph::new(vec![0; 6], vec![], vec![]).unwrap();
        assert_eq!(groups(&alone, 2), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn weakly_tied_groups_take_few_iterations() {
        let graph = cliques(60, 8);
        let mut b = Array2::zeros((480, 1));
        (b[[3, 0]], b[[400, 0]]) = (1.0, -0.3);
        let plain = solved(&held(&graph, &[5]), b.view());
        let grouped = solved(&held(&graph, &[5]).grouped(60).unwrap(), b.view());
        assert!(4 * grouped.iterations < plain.iterations, "{grouped:?}");
        let scale = plain.x.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        for (a, b) in plain.x.iter().zip(&grouped.x) {
            assert!((a - b).abs() < 1e-6 * scale, "{a} {b}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn equals_a_dense_solve_of_any_graph_and_follows_its_diagonal(
            n in 2_usize..60, density in 0_usize..4, at_most in 1_usize..20, seed in 0_u64..10_000,
        ) {
            let graph = reference::random_graph(n, density * n, seed);
            // Every component is held somewhere.
            let mut seen = std::collections::HashSet::new();
            let rows: Vec<usize> = (0..n).filter(|&i| seen.insert(graph.component()[i])).collect();
            let mut operator = held(&graph, &rows).grouped(at_most).unwrap();
            for (row, value) in [(rows[0], 0.7), (n - 1, 0.3), (rows[0], -0.7)] {
                operator.add_to_diagonal(row, value);
            }
            let anew = Sparse::new(&graph, operator.diagonal().to_vec(), graph.weights());
            let anew = anew.grouped(at_most).unwrap();
            let (followed, found) = (operator.coarse().unwrap(), anew.coarse().unwrap());
            for (a, b) in followed.inverse.iter().zip(&found.inverse) {
                prop_assert!((a - b).abs() < 1e-5 * b.abs().max(1.0), "{a} {b}");
            }
            let b = Array2::from_shape_fn((n, 3), |(i, c)| ((i * 7 + c * 3) % 5) as f64 - 2.0);
            let solution = solved(&operator, b.view());
            let mut m = -reference::dense(&graph);
            for (i, d) in operator.diagonal().iter().enumerate() {
                m[[i, i]] = *d;
            }
            let expected = reference::solve(&m, &b, &vec![true; n]);
            let scale = expected.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
            for (a, b) in solution.x.iter().zip(&expected) {
                prop_assert!((a - b).abs() < 1e-7 * scale, "{a} {b}");
            }
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bytes() {
        let graph = reference::random_graph(3000, 12_000, 2);
        let b = Array2::from_shape_fn((3000, 5), |(i, c)| ((i * 7 + c) % 11) as f64 - 5.0);
        let rows: Vec<usize> = (0..3000).step_by(100).collect();
        let (one, two) = in_one_and_two_threads(|| {
            let mut operator = held(&graph, &rows).grouped(50).unwrap();
            operator.add_to_diagonal(17, 0.5);
            solved(&operator, b.view())
        });
        assert_eq!(one, two);
    }
}
