//! A sparse operator that is solved with again and again.

use std::borrow::Cow;
use std::ops::Range;

use ndarray::{Array2, ArrayView2, Axis};

use super::coarse::{Coarse, Entries, grouped};
use super::columns::WIDTH;
use super::conjugate_gradient::{ConjugateGradient, Solution, misfit};
use super::operator::{Operator, Sparse, multiply};
use super::real::Real;
use crate::{Monitor, Result, parallel};

/// Rows of a group, where that makes not too many groups.
const ROWS_OF_A_GROUP: usize = 64;
/// Most groups.
const GROUPS: usize = 2048;
/// Rows from which one solve of all classes is worth the groups.
const MANY: usize = 20_000;

/// A [`Sparse`] operator with its rows in an order in which those that hang together lie together, and with groups of
/// them in which a solve is corrected.
///
/// **Use it** for many solves with one operator whose graph falls into parts that hang together by little, as a graph of
/// neighbours does: what flows between parts is found in one step, where conjugate gradients with the diagonal alone take
/// hundreds; and a product finds its numbers near each other in memory. **Not** for a single solve of few columns, which
/// costs less than the groups do.
///
/// Rows and columns of a solve are in this order: [`place`](Self::place) of each row.
///
/// Memory: a copy of the entries, and 36 bytes a row; `12 m^2` for `m` groups.
#[derive(Debug, Clone)]
pub struct Ordered<T> {
    order: Vec<u32>,
    place: Vec<u32>,
    /// The first place of each component of the graph, and the end.
    parts: Vec<usize>,
    begins: Vec<usize>,
    ends: Vec<u32>,
    weights: Vec<T>,
    diagonal: Vec<f64>,
    excess: Vec<f64>,
    coarse: Coarse,
}

/// Solves `M X = B` once, as [`ConjugateGradient::solve_rows`] does: by groups where there are many rows.
pub(crate) fn solve_rows<T: Copy + Into<f64> + Sync + Send>(
    operator: Sparse<T>,
    solver: &ConjugateGradient,
    rows: &[usize],
    b: ArrayView2<f64>,
    start: Option<Array2<f64>>,
    monitor: &Monitor,
) -> Result<Solution> {
    if operator.n() < MANY {
        return solver.solve_rows(&operator, rows, b, start, monitor);
    }
    Ordered::new(operator)?.solve_rows(solver, rows, b, start, monitor)
}

impl<T: Copy + Into<f64> + Sync + Send> Ordered<T> {
    /// The operator in order, with as many groups as are of use.
    ///
    /// Fails where the matrix is not positive definite.
    pub fn new(operator: Sparse<T>) -> Result<Self> {
        let groups = (operator.n() / ROWS_OF_A_GROUP).clamp(1, GROUPS);
        Self::by_groups(operator, groups)
    }

    /// The same by `groups` groups of rows, or fewer where it has fewer rows. Where more do not hang together, the largest
    /// are corrected.
    ///
    /// Fails where the matrix is not positive definite.
    ///
    /// ```
    /// use likewise::solve::{ConjugateGradient, Ordered, Sparse};
    /// use likewise::{Graph, Monitor};
    /// let graph = Graph::new(vec![0, 1, 2], vec![1, 0], vec![1.0, 1.0])?;
    /// let m = Sparse::new(&graph, vec![2.0, 2.0], graph.weights()); // [2 -1; -1 2]
    /// let m = Ordered::by_groups(m, 1)?;
    /// let mut b = ndarray::array![[0.0], [0.0]];
    /// b[[m.place(0), 0]] = 1.0;
    /// let found = ConjugateGradient::default().solve(&m, b.view(), None, &Monitor::silent())?;
    /// assert!((found.x[[m.place(0), 0]] - 2.0 / 3.0).abs() < 1e-9);
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn by_groups(operator: Sparse<T>, groups: usize) -> Result<Self> {
        let (graph, diagonal, excess, weights) = operator.into_parts();
        let (order, groups_begin) = grouped(graph, groups.max(1));
        let mut place = vec![0; order.len()];
        for (&row, next) in order.iter().zip(0..) {
            place[row as usize] = next;
        }
        let component = |at: &usize| graph.component()[order[*at] as usize];
        let is_first = |at: &usize| *at == 0 || component(at) != component(&(at - 1));
        let mut parts: Vec<usize> = (0..order.len()).filter(is_first).collect();
        parts.push(order.len());
        let mut begins = Vec::with_capacity(order.len() + 1);
        begins.push(0);
        let (mut ends, mut own) = (
            Vec::with_capacity(graph.nnz()),
            Vec::with_capacity(graph.nnz()),
        );
        for &row in &order {
            let entries = graph.indptr()[row as usize]..graph.indptr()[row as usize + 1];
            ends.extend(
                graph.indices()[entries.clone()]
                    .iter()
                    .map(|&end| place[end as usize]),
            );
            own.extend_from_slice(&weights[entries]);
            begins.push(ends.len());
        }
        let of = |values: &[f64]| parallel::map_rows(order.len(), |at| values[order[at] as usize]);
        let (diagonal, excess) = (of(&diagonal), of(&excess));
        let entries = Entries {
            first: 0,
            begins: &begins,
            ends: &ends,
            weights: &own,
            excess: &excess,
        };
        let coarse = Coarse::new(groups_begin, groups.max(1), &entries)?;
        Ok(Self {
            order,
            place,
            parts,
            begins,
            ends,
            weights: own,
            diagonal,
            excess,
            coarse,
        })
    }

    fn entries(&self) -> Entries<'_, T> {
        Entries {
            first: 0,
            begins: &self.begins,
            ends: &self.ends,
            weights: &self.weights,
            excess: &self.excess,
        }
    }

    /// The row at each place.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The place of a row. Panics where there is no such row.
    pub fn place(&self, row: usize) -> usize {
        self.place[row] as usize
    }

    /// The places of the rows that hang together with one, in whatever number of steps. Panics where there is no such row.
    pub(crate) fn part_of(&self, row: usize) -> Range<usize> {
        let next = self
            .parts
            .partition_point(|&first| first <= self.place(row));
        self.parts[next - 1]..self.parts[next]
    }

    /// The operator on the places of a [part](Self::part_of) alone, counted from its first: what is asked of a part has
    /// its answer there. Costs a pass over its rows, unless it is all of them.
    pub(crate) fn part(&self, places: Range<usize>) -> Part<'_, T> {
        Part {
            entries: Entries {
                first: places.start,
                begins: &self.begins[places.start..=places.end],
                ends: &self.ends,
                weights: &self.weights,
                excess: &self.excess[places.clone()],
            },
            diagonal: &self.diagonal[places.clone()],
            coarse: if places.len() == self.order.len() {
                Cow::Borrowed(&self.coarse)
            } else {
                Cow::Owned(self.coarse.of_part(places))
            },
        }
    }

    /// Solves `M X = B` (`n x C`) as [`ConjugateGradient::solve_rows`] does, with rows in their own order, not that of
    /// places: `B` is zero but on the rows `rows`, and `b` (`rows x C`) holds these. A `start` is `n x C`.
    ///
    /// Fails as that does. Takes memory for 64 columns beside the solution.
    pub fn solve_rows(
        &self,
        solver: &ConjugateGradient,
        rows: &[usize],
        b: ArrayView2<f64>,
        start: Option<Array2<f64>>,
        monitor: &Monitor,
    ) -> Result<Solution> {
        let warm = start.is_some();
        let x = start.unwrap_or_else(|| Array2::zeros((self.order.len(), b.ncols())));
        if x.dim() != (self.order.len(), b.ncols()) {
            return Err(misfit(self.order.len(), b, Some(&x)));
        }
        let mut places: Vec<(usize, usize)> = (rows.iter().enumerate())
            .map(|(at, &row)| (self.place(row), at))
            .collect();
        places.sort_unstable();
        let (places, at): (Vec<usize>, Vec<usize>) = places.into_iter().unzip();
        let b = b.select(Axis(0), &at);
        let mut all = Solution {
            x,
            iterations: 0,
            residuals: Vec::new(),
            converged: true,
        };
        let parts = all.x.axis_chunks_iter_mut(Axis(1), WIDTH);
        for (b, mut x) in b.axis_chunks_iter(Axis(1), WIDTH).zip(parts) {
            let start = warm.then(|| self.in_order(x.view()));
            let found = solver.solve_rows(self, &places, b, start, monitor)?;
            for (&row, found) in self.order.iter().zip(found.x.rows()) {
                x.row_mut(row as usize).assign(&found);
            }
            all.iterations = all.iterations.max(found.iterations);
            all.residuals.extend(found.residuals);
            all.converged &= found.converged;
        }
        Ok(all)
    }

    /// Solves `M x = value e_row` among the rows that hang together with one: `x` of the solution (`n x 1`) is 0 beyond.
    ///
    /// Fails as [`solve_rows`](Self::solve_rows) does. Panics where there is no such row.
    pub(crate) fn solve_one(
        &self,
        solver: &ConjugateGradient,
        row: usize,
        value: f64,
        monitor: &Monitor,
    ) -> Result<Solution> {
        let places = self.part_of(row);
        let part = self.part(places.clone());
        let place = self.place(row) - places.start;
        let b = Array2::from_elem((1, 1), value);
        let found = solver.solve_rows(&part, &[place], b.view(), None, monitor)?;
        let mut x = Array2::zeros((self.order.len(), 1));
        for (&row, &value) in self.order[places].iter().zip(found.x.column(0)) {
            x[[row as usize, 0]] = value;
        }
        Ok(Solution { x, ..found })
    }

    /// Rows as they lie here.
    fn in_order(&self, x: ArrayView2<f64>) -> Array2<f64> {
        let mut ordered = Array2::zeros(x.dim());
        for (&row, mut own) in self.order.iter().zip(ordered.rows_mut()) {
            own.assign(&x.row(row as usize));
        }
        ordered
    }

    /// The excess `e = M 1`, of each place.
    pub(crate) fn excess(&self) -> &[f64] {
        &self.excess
    }

    /// Adds to one value of the diagonal, of a row.
    ///
    /// # Panics
    /// If there is no such row: a mistake of the calling code.
    pub(crate) fn add_to_diagonal(&mut self, row: usize, value: f64) {
        let at = self.place(row);
        self.diagonal[at] += value;
        self.excess[at] += value;
        self.coarse.add_to_diagonal(at, value);
    }
}

impl<T: Copy + Into<f64> + Sync + Send> Operator for Ordered<T> {
    fn n(&self) -> usize {
        self.order.len()
    }

    fn multiply<X: Real, Y: Real + From<X>, const W: usize>(
        &self,
        rows: Range<usize>,
        x: &[[X; W]],
        y: &mut [[Y; W]],
    ) {
        multiply(&self.entries(), rows, x, y);
    }

    fn diagonal(&self) -> &[f64] {
        &self.diagonal
    }

    fn coarse(&self) -> Option<&Coarse> {
        Some(&self.coarse)
    }
}

/// Rows of an [`Ordered`] operator that nothing ties to others.
pub(crate) struct Part<'a, T> {
    entries: Entries<'a, T>,
    diagonal: &'a [f64],
    coarse: Cow<'a, Coarse>,
}

impl<T: Copy + Into<f64> + Sync + Send> Operator for Part<'_, T> {
    fn n(&self) -> usize {
        self.diagonal.len()
    }

    fn multiply<X: Real, Y: Real + From<X>, const W: usize>(
        &self,
        rows: Range<usize>,
        x: &[[X; W]],
        y: &mut [[Y; W]],
    ) {
        multiply(&self.entries, rows, x, y);
    }

    fn diagonal(&self) -> &[f64] {
        self.diagonal
    }

    fn coarse(&self) -> Option<&Coarse> {
        Some(&self.coarse)
    }
}
