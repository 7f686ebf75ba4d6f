//! What a few columns miss in whole groups of rows, corrected group by group: the second level of a preconditioner.
//!
//! With `Z` the groups (`n x m`, 1 where a row is in a group) and `E = Z^T M Z`, a residual `r` is preconditioned by
//!
//! ```text
//! z = D^-1 r + Z E^-1 Z^T r
//! ```
//!
//! Groups are found by joining each row with the one that it is tied to most among those that are still alone, then the
//! pairs in the same way, until they are few. Levels between rows and groups, corrected by their diagonals, were tried:
//! they took half as many iterations again.
//!
//! Cost: finding the groups, as much as some ten products with `M`, and `m^3`; each application `2 n` memory accesses and
//! `m^2`; a change of the diagonal `m^2`. Memory: 4 bytes a row and `12 m^2`.
//!
//! Source: additive two-level preconditioners, with groups of rows for what is smooth (Nicolaides 1987), by pairs as of
//! Notay, "An aggregation-based algebraic multigrid method", 2010.

use std::ops::Range;

use faer::linalg::solvers::DenseSolveCore;
use faer::{Mat, Side};
use ndarray::{Array2, ArrayView1, Axis, Zip, s};

use super::columns::Row;
use super::on_one_thread;
use crate::{Error, ErrorKind, Graph, Result, parallel};

/// Of a row that has no pair yet, and of a group that `E` leaves out.
const NONE: u32 = u32::MAX;
/// Groups that are worked on together.
const TOGETHER: usize = 32;
/// Share of the largest diagonal value of `E` that is added to all of them, against rounding.
const FLOOR: f64 = 1e-12;
/// Share of the diagonal of a part of `E` that is rounding, and holds nothing.
const HELD: f64 = 1e-9;
/// A change that takes more than all but this share of what a group is held by is left out: what is told here need
/// only be near.
const LEFT: f64 = 1e-3;

/// Groups of rows of an operator that lie together, and the inverse of the operator between them.
#[derive(Debug, Clone)]
pub struct Coarse {
    /// The first row of each group, and the end.
    begins: Vec<usize>,
    /// The group of each row.
    group: Vec<u32>,
    /// Row in `inverse` of each group.
    place: Vec<u32>,
    /// Empty in that of a part, which follows no change.
    inverse: Array2<f64>,
    /// The same as it is applied: half as much to read.
    applied: Array2<f32>,
}

/// A symmetric matrix by its entries: `excess` of each row, and what ties it to others. The `ends` count from the row
/// `first` on, of which the others are the next ones.
pub(super) struct Entries<'a, T> {
    pub(super) first: usize,
    pub(super) begins: &'a [usize],
    pub(super) ends: &'a [u32],
    pub(super) weights: &'a [T],
    pub(super) excess: &'a [f64],
}

impl Coarse {
    /// Of groups that begin at these rows, as [`grouped`] gives them, and the matrix in its order; the `at_most` largest
    /// go into `E`.
    ///
    /// Fails where the matrix is not positive definite.
    pub(super) fn new<T: Copy + Into<f64> + Sync>(
        begins: Vec<usize>,
        at_most: usize,
        entries: &Entries<T>,
    ) -> Result<Self> {
        let sizes: Vec<usize> = begins.windows(2).map(|w| w[1] - w[0]).collect();
        let mut largest: Vec<usize> = (0..sizes.len()).collect();
        largest.sort_by_key(|&group| (std::cmp::Reverse(sizes[group]), group));
        largest.truncate(at_most);
        largest.sort_unstable();
        let mut place = vec![NONE; sizes.len()];
        for (&group, next) in largest.iter().zip(0..) {
            place[group] = next;
        }
        let numbers: Vec<u32> = (0..sizes.len() as u32).collect();
        let place_of_row = spread(&begins, &place);
        let inverse = inverted(&between(&largest, &begins, &place_of_row, entries))?;
        Ok(Self {
            group: spread(&begins, &numbers),
            begins,
            place,
            applied: inverse.mapv(|value| value as f32),
            inverse,
        })
    }

    /// That of some rows alone, one or more whole groups that nothing ties to others. Costs their groups squared, and a pass
    /// over the rows.
    pub(super) fn of_part(&self, rows: Range<usize>) -> Self {
        let groups = self.of(rows.start)..self.of(rows.end - 1) + 1;
        // Those that are corrected are numbered in the order of the groups.
        let places = self.place[groups.clone()].iter();
        let places = places.filter(|&&place| place != NONE);
        let (first, count) = (places.clone().next(), places.count());
        let first = first.map_or(0, |&place| place as usize);
        let corrected = first..first + count;
        let moved = |place: &u32| match *place {
            NONE => NONE,
            place => place - first as u32,
        };
        Self {
            begins: self.begins[groups.start..=groups.end]
                .iter()
                .map(|begin| begin - rows.start)
                .collect(),
            group: (self.group[rows].iter())
                .map(|group| group - groups.start as u32)
                .collect(),
            place: self.place[groups].iter().map(moved).collect(),
            inverse: Array2::zeros((0, 0)),
            applied: self
                .applied
                .slice(s![corrected.clone(), corrected])
                .to_owned(),
        }
    }

    /// The group of a row.
    #[inline]
    pub(super) fn of(&self, row: usize) -> usize {
        self.group[row] as usize
    }

    /// Follows a change of the diagonal of the matrix (Sherman and Morrison).
    pub(super) fn add_to_diagonal(&mut self, row: usize, value: f64) {
        let place = self.place[self.of(row)];
        if place == NONE {
            return;
        }
        let column = self.inverse.column(place as usize).to_owned();
        let share = 1.0 + value * column[place as usize];
        if share < LEFT {
            return;
        }
        let rows = self.inverse.axis_chunks_iter_mut(Axis(0), TOGETHER);
        let applied = self.applied.axis_chunks_iter_mut(Axis(0), TOGETHER);
        let by = column.axis_chunks_iter(Axis(0), TOGETHER);
        parallel::each(
            rows.zip(applied).zip(by),
            |((mut rows, mut applied), by)| {
                let both = rows.rows_mut().into_iter().zip(applied.rows_mut());
                for ((mut row, mut applied), by) in both.zip(by) {
                    row.scaled_add(-value / share * by, &column);
                    Zip::from(&mut applied)
                        .and(&row)
                        .for_each(|a, &v| *a = v as f32);
                }
            },
        );
    }

    /// What is added to each row of each group to `found`, and what `r` times that is, of each column.
    pub(super) fn correct<const W: usize>(
        &self,
        r: &[[f32; W]],
        found: &mut Vec<[f32; W]>,
    ) -> Row<W> {
        let n = self.begins.len() - 1;
        let groups = (0..n).step_by(TOGETHER);
        let sums = parallel::map(groups, |from| {
            let groups = from..(from + TOGETHER).min(n);
            let own = groups.filter(|&group| self.place[group] != NONE);
            let rows = own.map(|group| &r[self.begins[group]..self.begins[group + 1]]);
            rows.map(sum).collect::<Vec<_>>()
        });
        let sums: Vec<[f32; W]> = sums.into_iter().flatten().collect();
        let products = parallel::map((0..sums.len()).step_by(TOGETHER), |from| {
            let rows = from..(from + TOGETHER).min(sums.len());
            let product = |row: usize| times(self.applied.row(row), &sums);
            rows.map(product).collect::<Vec<[f32; W]>>()
        });
        let products: Vec<[f32; W]> = products.into_iter().flatten().collect();
        let mut length = [0.0; W];
        for (sum, product) in sums.iter().zip(&products) {
            for c in 0..W {
                length[c] += f64::from(sum[c]) * f64::from(product[c]);
            }
        }
        let value = |&place: &u32| products.get(place as usize).copied();
        found.clear();
        found.extend(
            self.place
                .iter()
                .map(|place| value(place).unwrap_or([0.0; W])),
        );
        length
    }
}

fn sum<const W: usize>(rows: &[[f32; W]]) -> [f32; W] {
    let mut sum = [0.0_f64; W];
    for row in rows {
        for (sum, value) in sum.iter_mut().zip(row) {
            *sum += f64::from(*value);
        }
    }
    sum.map(|value| value as f32)
}

/// The value of the group of each row.
fn spread<V: Copy>(begins: &[usize], values: &[V]) -> Vec<V> {
    let mut all = Vec::with_capacity(begins.last().copied().unwrap_or(0));
    for (value, w) in values.iter().zip(begins.windows(2)) {
        all.resize(w[1], *value);
    }
    all
}

/// A row times the sums. Several sums run side by side: one would wait for its last addition each time.
fn times<const W: usize>(row: ArrayView1<f32>, sums: &[[f32; W]]) -> [f32; W] {
    const SIDE: usize = 8;
    let row = row.to_slice().unwrap_or_default();
    let mut products = [[0.0_f32; W]; SIDE];
    let (values, last) = row.as_chunks::<SIDE>();
    let (chunks, last_sums) = sums.as_chunks::<SIDE>();
    for (values, sums) in values.iter().zip(chunks) {
        for ((product, value), sums) in products.iter_mut().zip(values).zip(sums) {
            for (product, sum) in product.iter_mut().zip(sums) {
                *product += value * sum;
            }
        }
    }
    for ((product, value), sums) in products.iter_mut().zip(last).zip(last_sums) {
        for (product, sum) in product.iter_mut().zip(sums) {
            *product += value * sum;
        }
    }
    let mut all = [0.0; W];
    for product in products {
        for (all, product) in all.iter_mut().zip(product) {
            *all += product;
        }
    }
    all
}

/// `Z^T M Z` of these groups.
fn between<T: Copy + Into<f64> + Sync>(
    groups: &[usize],
    rows: &[usize],
    place: &[u32],
    entries: &Entries<T>,
) -> Array2<f64> {
    let m = groups.len();
    let sums = parallel::map(groups.iter().enumerate(), |(own, &group)| {
        let mut sums = vec![0.0; m];
        for row in rows[group]..rows[group + 1] {
            sums[own] += entries.excess[row];
            let entries_of = entries.begins[row]..entries.begins[row + 1];
            let each = entries.ends[entries_of.clone()].iter();
            for (&end, &weight) in each.zip(&entries.weights[entries_of]) {
                let other = place[end as usize - entries.first] as usize;
                if other != own {
                    sums[own] += weight.into();
                    if let Some(sum) = sums.get_mut(other) {
                        *sum -= weight.into();
                    }
                }
            }
        }
        sums
    });
    let mut between = Array2::zeros((m, m));
    for (mut row, sums) in between.rows_mut().into_iter().zip(sums) {
        row.assign(&ArrayView1::from(&sums));
    }
    between
}

/// What one group of each part of the matrix is held by that nothing else holds, so that the matrix can be inverted:
/// what is asked of such a part sums up to 0, and it does not matter where it is held.
fn grounds(matrix: &Array2<f64>) -> Vec<f64> {
    let m = matrix.nrows();
    let (mut grounds, mut seen) = (vec![0.0; m], vec![false; m]);
    for first in 0..m {
        if seen[first] {
            continue;
        }
        seen[first] = true;
        let (mut part, mut at) = (vec![first], 0);
        while at < part.len() {
            for (other, &value) in matrix.row(part[at]).iter().enumerate() {
                if value != 0.0 && !seen[other] {
                    seen[other] = true;
                    part.push(other);
                }
            }
            at += 1;
        }
        let excess: f64 = part.iter().map(|&group| matrix.row(group).sum()).sum();
        let all: f64 = part.iter().map(|&group| matrix[[group, group]]).sum();
        if excess <= HELD * all {
            let own = matrix[[first, first]];
            grounds[first] = if own > 0.0 { own } else { 1.0 };
        }
    }
    grounds
}

fn inverted(matrix: &Array2<f64>) -> Result<Array2<f64>> {
    let m = matrix.nrows();
    let mut extra = grounds(matrix);
    let largest = matrix.diag().iter().fold(0.0_f64, |most, d| most.max(*d));
    for extra in &mut extra {
        *extra += FLOOR * largest;
    }
    let held = |i: usize, j: usize| matrix[[i, j]] + if i == j { extra[i] } else { 0.0 };
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
struct Graphed {
    begins: Vec<usize>,
    ends: Vec<u32>,
    weights: Vec<f32>,
}

/// Rows in an order in which groups of them lie together, and where each group begins: `at_most` of them, unless no more
/// hang together. Pairs lie together within them, and so on; the groups of a component of the graph lie together, too.
pub(super) fn grouped(graph: &Graph, at_most: usize) -> (Vec<u32>, Vec<usize>) {
    let (order, begins) = joined_groups(graph, at_most);
    let component = |group: usize| graph.component()[order[begins[group]] as usize];
    let mut groups: Vec<usize> = (0..begins.len() - 1).collect();
    // Stable, so that what else lies together stays so.
    groups.sort_by_key(|&group| component(group));
    let mut sorted = Vec::with_capacity(order.len());
    let mut sorted_begins = Vec::with_capacity(begins.len());
    for group in groups {
        sorted_begins.push(sorted.len());
        sorted.extend_from_slice(&order[begins[group]..begins[group + 1]]);
    }
    sorted_begins.push(sorted.len());
    (sorted, sorted_begins)
}

/// The same in the order in which groups were joined.
fn joined_groups(graph: &Graph, at_most: usize) -> (Vec<u32>, Vec<usize>) {
    let joined = joined(graph, at_most);
    // From the groups on: the members of a pair lie where it does.
    let n = joined.last().map_or(graph.n(), |&(n, _)| n);
    let mut order: Vec<u32> = (0..n as u32).collect();
    let mut begins: Vec<usize> = (0..=n).collect();
    for (_, pairs) in joined.iter().rev() {
        let (first, members) = gathered(order.len(), pairs);
        let mut next = Vec::with_capacity(pairs.len());
        let mut places = Vec::with_capacity(order.len() + 1);
        for &own in &order {
            places.push(next.len());
            next.extend_from_slice(&members[first[own as usize]..first[own as usize + 1]]);
        }
        places.push(next.len());
        for begin in &mut begins {
            *begin = places[*begin];
        }
        order = next;
    }
    (order, begins)
}

/// The members of each of `n` groups: where they begin in the list of all.
fn gathered(n: usize, group: &[u32]) -> (Vec<usize>, Vec<u32>) {
    let mut begins = vec![0_usize; n + 1];
    for &own in group {
        begins[own as usize + 1] += 1;
    }
    for at in 0..n {
        begins[at + 1] += begins[at];
    }
    let (mut next, mut members) = (begins.clone(), vec![0; group.len()]);
    for (&own, member) in group.iter().zip(0..) {
        members[next[own as usize]] = member;
        next[own as usize] += 1;
    }
    (begins, members)
}

/// Pairs of rows, pairs of these, and so on: how many, and that of each member.
fn joined(graph: &Graph, at_most: usize) -> Vec<(usize, Vec<u32>)> {
    let mut all: Vec<(usize, Vec<u32>)> = Vec::new();
    let (mut n, mut level): (usize, Option<Graphed>) = (graph.n(), None);
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
        (n, level) = (joined, Some(next));
        all.push((n, pairs));
    }
    all
}

/// The pair of each node, and how many there are. A node whose neighbours have all found each other joins the one that
/// it is tied to most.
fn pairs(n: usize, begins: &[usize], ends: &[u32], weights: &[f32]) -> (Vec<u32>, usize) {
    let mut pair = vec![NONE; n];
    let mut next = 0;
    for own in 0..n {
        if pair[own] != NONE {
            continue;
        }
        let (mut best, mut other) = (None, None);
        for at in begins[own]..begins[own + 1] {
            let (end, weight) = (ends[at] as usize, weights[at]);
            let place = if pair[end] == NONE {
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
fn contract(
    n: usize,
    pair: &[u32],
    (begins, ends, weights): (&[usize], &[u32], &[f32]),
) -> Graphed {
    let (first, members) = gathered(n, pair);
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
    let mut level = Graphed {
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
    use crate::solve::{ConjugateGradient, Operator, Ordered, Solution, Sparse, solve_rows};
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

    fn solved(operator: &impl Operator, b: ArrayView2<f64>) -> Solution {
        let solver = ConjugateGradient::default();
        let found = solver.solve(operator, b, None, &Monitor::silent()).unwrap();
        assert!(found.converged, "{:?}", found.residuals);
        found
    }

    #[test]
    fn what_nothing_holds_is_solved_where_it_sums_up_to_zero() {
        // Two parts, the second of one row alone.
        let joined = cliques(30, 6);
        let (mut indptr, n) = (joined.indptr().to_vec(), joined.n());
        indptr.push(joined.nnz());
        let graph = Graph::new(indptr, joined.indices().to_vec(), joined.weights().to_vec());
        let graph = graph.unwrap();
        let mut b = Array2::zeros((n + 1, 1));
        (b[[3, 0]], b[[100, 0]]) = (1.0, -1.0);
        let plain = solved(&held(&graph, &[]), b.view());
        let ordered = solved_in_order(&Ordered::by_groups(held(&graph, &[]), 20).unwrap(), &b);
        assert!(
            3 * ordered.iterations < plain.iterations,
            "{} {}",
            ordered.iterations,
            plain.iterations
        );
        let shift = plain.x[[0, 0]] - ordered.x[[0, 0]];
        let scale = plain.x.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        for (a, b) in plain.x.iter().zip(&ordered.x).take(n) {
            assert!((a - b - shift).abs() < 1e-6 * scale, "{a} {b}");
        }
    }

    #[test]
    fn one_solve_of_many_rows_is_by_groups_and_finds_the_same() {
        let graph = cliques(3400, 6);
        let rows: Vec<usize> = (0..graph.n()).step_by(300).collect();
        let b = Array2::from_shape_fn((rows.len(), 3), |(at, c)| f64::from(u8::from(at % 3 == c)));
        let (solver, silent) = (ConjugateGradient::default(), Monitor::silent());
        let plain = solver
            .solve_rows(&held(&graph, &rows), &rows, b.view(), None, &silent)
            .unwrap();
        let found = solve_rows(held(&graph, &rows), &solver, &rows, b.view(), None, &silent);
        let found = found.unwrap();
        assert!(plain.converged && found.converged);
        assert!(2 * found.iterations < plain.iterations);
        for (a, b) in plain.x.iter().zip(&found.x) {
            assert!((a - b).abs() < 1e-6, "{a} {b}");
        }
        // From the solution nothing is left to do.
        let again = Some(found.x.clone());
        let again = solve_rows(
            held(&graph, &rows),
            &solver,
            &rows,
            b.view(),
            again,
            &silent,
        );
        assert!(again.unwrap().iterations <= 1);
        let start = Some(Array2::zeros((7, 3)));
        assert!(
            solve_rows(
                held(&graph, &rows),
                &solver,
                &rows,
                b.view(),
                start,
                &silent
            )
            .is_err()
        );
    }

    /// The same of rows in their own order.
    fn solved_in_order(operator: &Ordered<f32>, b: &Array2<f64>) -> Solution {
        let (rows, silent): (Vec<usize>, _) = ((0..b.nrows()).collect(), Monitor::silent());
        let solver = ConjugateGradient::default();
        let found = operator.solve_rows(&solver, &rows, b.view(), None, &silent);
        let found = found.unwrap();
        assert!(found.converged, "{:?}", found.residuals);
        found
    }

    #[test]
    fn groups_are_few_and_keep_together_what_hangs_together() {
        let graph = cliques(40, 8);
        let (mut order, begins) = grouped(&graph, 40);
        assert_eq!(
            begins,
            (0..=40).map(|group| group * 8).collect::<Vec<usize>>()
        );
        for (place, &row) in order.iter().enumerate() {
            assert_eq!(order[place / 8 * 8] / 8, row / 8, "{row}");
        }
        order.sort_unstable();
        assert_eq!(order, (0..320).collect::<Vec<u32>>());
        assert_eq!(grouped(&graph, 1000).1, (0..=320).collect::<Vec<usize>>());
        assert_eq!(grouped(&graph, 1).1, [0, 320]);
        // Nothing joins what hangs together by nothing.
        let alone = Graph::new(vec![0; 6], vec![], vec![]).unwrap();
        assert_eq!(grouped(&alone, 2), (vec![0, 1, 2, 3, 4], (0..=5).collect()));
    }

    #[test]
    fn weakly_tied_groups_take_few_iterations() {
        let graph = cliques(60, 8);
        let mut b = Array2::zeros((480, 1));
        (b[[3, 0]], b[[400, 0]]) = (1.0, -0.3);
        let plain = solved(&held(&graph, &[5]), b.view());
        let grouped = Ordered::by_groups(held(&graph, &[5]), 60).unwrap();
        let grouped = solved_in_order(&grouped, &b);
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
            n in 2_usize..90, density in 0_usize..4, at_most in 1_usize..20, seed in 0_u64..10_000,
        ) {
            let graph = reference::random_graph(n, density * n, seed);
            // Every component is held somewhere.
            let mut seen = std::collections::HashSet::new();
            let rows: Vec<usize> = (0..n).filter(|&i| seen.insert(graph.component()[i])).collect();
            let mut operator = Ordered::by_groups(held(&graph, &rows), at_most).unwrap();
            let mut diagonal = held(&graph, &rows).diagonal().to_vec();
            for (row, value) in [(rows[0], 0.7), (n - 1, 0.3), (rows[0], -0.7)] {
                operator.add_to_diagonal(row, value);
                diagonal[row] += value;
            }
            let anew = Sparse::new(&graph, diagonal.clone(), graph.weights());
            let anew = Ordered::by_groups(anew, at_most).unwrap();
            let (followed, found) = (operator.coarse().unwrap(), anew.coarse().unwrap());
            for (a, b) in followed.inverse.iter().zip(&found.inverse) {
                prop_assert!((a - b).abs() < 1e-5 * b.abs().max(1.0), "{a} {b}");
            }
            let b = Array2::from_shape_fn((n, 3), |(i, c)| ((i * 7 + c * 3) % 5) as f64 - 2.0);
            let solution = solved_in_order(&operator, &b);
            let mut m = -reference::dense(&graph);
            for (i, d) in diagonal.iter().enumerate() {
                m[[i, i]] = *d;
            }
            let expected = reference::solve(&m, &b, &vec![true; n]);
            let scale = expected.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
            for (a, b) in solution.x.iter().zip(&expected) {
                prop_assert!((a - b).abs() < 1e-7 * scale, "{a} {b}");
            }
            // What is asked of one row has its answer in the part of that row.
            let row = seed as usize % n;
            let places = operator.part_of(row);
            prop_assert!(places.contains(&operator.place(row)));
            let mut one = Array2::zeros((n, 1));
            one[[row, 0]] = 1.0;
            let expected = reference::solve(&m, &one, &vec![true; n]);
            let mut one = Array2::zeros((places.len(), 1));
            one[[operator.place(row) - places.start, 0]] = 1.0;
            let found = solved(&operator.part(places.clone()), one.view());
            for (place, &row) in operator.order().iter().enumerate() {
                let own = places.contains(&place).then(|| found.x[[place - places.start, 0]]);
                let (own, b) = (own.unwrap_or(0.0), expected[[row as usize, 0]]);
                prop_assert!((own - b).abs() < 1e-7 * scale, "{own} {b}");
            }
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bytes() {
        let graph = reference::random_graph(3000, 12_000, 2);
        let b = Array2::from_shape_fn((3000, 5), |(i, c)| ((i * 7 + c) % 11) as f64 - 5.0);
        let rows: Vec<usize> = (0..3000).step_by(100).collect();
        let (one, two) = in_one_and_two_threads(|| {
            let mut operator = Ordered::by_groups(held(&graph, &rows), 20).unwrap();
            operator.add_to_diagonal(17, 0.5);
            solved(&operator, b.view())
        });
        assert_eq!(one, two);
    }
}
