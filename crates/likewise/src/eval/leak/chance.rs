//! How near rows of few columns lie to each other by chance.

use ndarray::ArrayView2;

use crate::parallel;

/// Columns up to which rows lie near each other by chance.
const FEW: usize = 32;
/// Rows from which on it can be told how near.
const LEAST: usize = 20;
/// Rows of which it is measured.
const ROWS: usize = 128;
/// Neighbours by which the dimension is told, at most.
const NEIGHBORS: usize = 16;
/// The neighbour whose distance is the usual one: of an item that has three copies it is none of these.
const USUAL: usize = 4;
/// Neighbours that a row may have by chance within the distance of a copy.
const BY_CHANCE: f64 = 0.003;

/// How near rows of few columns lie to each other by chance.
///
/// A cosine of .995 tells a copy where columns are many. In three, one in 400 of all directions is as near as
/// that to a given one, so that of a hundred different items some are "copies"; and the cosine does not see that
/// one is twice as large as the other. So the distance is asked, in columns of one size. Where rows lie evenly in
/// `m` dimensions and the fourth neighbour is `r` away, a row has `4 (s / r)^m` neighbours within `s` by
/// chance; nearer than the `s` at which these are 0.003 is no accident. `r` is the median of up to 128 rows, and `m`
/// what the distances to 16 neighbours say (Levina and Bickel, NIPS 2004, here the median of the inverse), which
/// columns that go together, or say the same of a category, make far less than the columns are; but not below 2,
/// for copies among the neighbours look like a line.
///
/// **Not** for items that mostly have four copies or more in few columns: then these are the usual neighbours.
///
/// Cost: 128 `n d`.
///
/// ```
/// use likewise::eval::leak::Chance;
/// let rows = ndarray::Array2::from_shape_fn((21, 1), |(i, _)| i as f32);
/// let items: Vec<usize> = (0..21).collect();
/// let chance = Chance::of(rows.view(), &items).expect("one column is few");
/// let pair = |gap: f32| ndarray::array![[5.0], [5.0 + gap]];
/// assert!(chance.explains(pair(0.1).view(), (0, 1)) && !chance.explains(pair(0.001).view(), (0, 1)));
/// ```
#[derive(Debug, Clone)]
pub struct Chance {
    /// One over the standard deviation of each column; 0 where it does not vary.
    scales: Vec<f64>,
    /// Square of the distance from which on chance is enough.
    most: f64,
}

impl Chance {
    /// Of these rows. None where their columns are many, where none varies, and where rows are too few to tell: chance
    /// explains nothing there.
    pub fn of(x: ArrayView2<f32>, items: &[usize]) -> Option<Self> {
        if x.ncols() > FEW || items.len() < LEAST {
            return None;
        }
        let scales: Vec<f64> = (0..x.ncols()).map(|j| scale(x, j, items)).collect();
        let columns = scales.iter().filter(|&&scale| scale > 0.0).count() as f64;
        let mut chance = Self { scales, most: 0.0 };
        let k = NEIGHBORS.min(items.len() / 4);
        let step = items.len().div_ceil(ROWS);
        let some: Vec<usize> = items.iter().copied().step_by(step).collect();
        let near = parallel::map_rows(some.len(), |i| chance.nearest(x, some[i], items, k));
        let near: Vec<Vec<f64>> = near.into_iter().flatten().collect();
        let usual = median(near.iter().map(|squares| squares[USUAL - 1]))?;
        let inverse = median(near.iter().map(|squares| inverse_dimension(squares)))?;
        let dimension = inverse.recip().clamp(columns.min(2.0), columns);
        // Of squares, hence the 2.
        chance.most = usual * (BY_CHANCE / USUAL as f64).powf(2.0 / dimension);
        Some(chance)
    }

    /// Whether two rows are no nearer than others are by chance. Equal ones are nearer.
    pub fn explains(&self, x: ArrayView2<f32>, pair: (usize, usize)) -> bool {
        self.apart(x, pair) > self.most
    }

    /// Squared distance of two rows, in columns of one size.
    fn apart(&self, x: ArrayView2<f32>, (a, b): (usize, usize)) -> f64 {
        let pairs = x.row(a).into_iter().zip(x.row(b));
        (pairs.zip(&self.scales))
            .map(|((&a, &b), scale)| ((f64::from(a) - f64::from(b)) * scale).powi(2))
            .sum()
    }

    /// Squared distances to the `k` nearest of these rows that are not equal, ascending; none where they are fewer.
    fn nearest(
        &self,
        x: ArrayView2<f32>,
        item: usize,
        items: &[usize],
        k: usize,
    ) -> Option<Vec<f64>> {
        let all = items.iter().map(|&other| self.apart(x, (item, other)));
        let mut squares: Vec<f64> = all.filter(|&square| square > 0.0).collect();
        if squares.len() < k {
            return None;
        }
        squares.select_nth_unstable_by(k - 1, f64::total_cmp);
        squares.truncate(k);
        squares.sort_unstable_by(f64::total_cmp);
        Some(squares)
    }
}

/// One over the standard deviation of a column; 0 where it does not vary.
fn scale(x: ArrayView2<f32>, column: usize, items: &[usize]) -> f64 {
    let values = || items.iter().map(|&item| f64::from(x[[item, column]]));
    let n = items.len() as f64;
    let mean = values().sum::<f64>() / n;
    let variance = values().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
    if variance > 0.0 {
        variance.sqrt().recip()
    } else {
        0.0
    }
}

/// One over the dimension in which a row has neighbours at these squared distances: the mean of the logarithms by
/// which the last is farther than the others.
fn inverse_dimension(squares: &[f64]) -> f64 {
    let Some((last, others)) = squares.split_last() else {
        return 0.0;
    };
    let farther = others.iter().map(|square| 0.5 * (last / square).ln());
    farther.sum::<f64>() / others.len().max(1) as f64
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};
    use rand::RngExt;

    use super::*;
    use crate::seed;

    fn all(n: usize) -> Vec<usize> {
        (0..n).collect()
    }

    #[test]
    fn what_is_near_by_hand() {
        // Of 0 ..= 20 most have their fourth neighbour 2 away; one column is one dimension.
        let line = Array2::from_shape_fn((21, 1), |(i, _)| i as f32);
        let chance = Chance::of(line.view(), &all(21)).unwrap();
        // The variance of 0 ..= 20 is (21^2 - 1) / 12.
        let deviation = (440.0_f64 / 12.0).sqrt();
        let most = 2.0 * BY_CHANCE / 4.0 / deviation;
        assert!((chance.most.sqrt() - most).abs() < 1e-12);
        let explained = |gap: f32| chance.explains(array![[0.0], [gap]].view(), (0, 1));
        assert!(explained(0.002) && !explained(0.001) && !explained(0.0));
        // ln 4, ln 2 and 0 of four neighbours, the last left out.
        let inverse = inverse_dimension(&[1.0, 4.0, 16.0, 16.0]);
        assert!((inverse - 8.0_f64.ln() / 3.0).abs() < 1e-12);
    }

    #[test]
    fn chance_explains_what_is_near_in_few_columns_and_no_copies() {
        let mut rng = seed::stream(4, "test rows");
        for columns in [2, 3, 5] {
            let mut x = Array2::from_shape_fn((400, columns), |_| rng.random_range(-1.0_f32..1.0));
            for copy in 0..20 {
                let near = x.row(100 + copy).mapv(|v| v + 1e-4);
                x.row_mut(copy).assign(&near);
            }
            let chance = Chance::of(x.view(), &all(400)).unwrap();
            let is_no_accident = |&(a, b): &(usize, usize)| !chance.explains(x.view(), (a, b));
            let pairs = (0..400).flat_map(|a| (0..a).map(move |b| (a, b)));
            let found: Vec<(usize, usize)> = pairs.filter(is_no_accident).collect();
            assert!((0..20).all(|copy| found.contains(&(100 + copy, copy))));
            // One in 700 rows has one by chance.
            assert!(found.len() < 28, "{columns}: {}", found.len());
        }
    }

    #[test]
    fn columns_that_go_together_are_fewer_than_they_are() {
        let mut rng = seed::stream(5, "test rows");
        let mut of = |own: f32| {
            let mut x = Array2::zeros((300, 8));
            for mut row in x.rows_mut() {
                let (a, b) = (rng.random::<f32>(), rng.random::<f32>());
                for (j, value) in row.iter_mut().enumerate() {
                    let shared = if j % 2 == 0 { a } else { b };
                    *value = shared + own * rng.random::<f32>();
                }
            }
            Chance::of(x.view(), &all(300)).unwrap().most
        };
        assert!(20.0 * of(0.01) < of(10.0));
    }

    #[test]
    fn many_columns_and_few_rows_are_left_to_the_cosine() {
        let wide = Array2::from_shape_fn((100, FEW + 1), |(i, j)| (i * j) as f32);
        assert!(Chance::of(wide.view(), &all(100)).is_none());
        let short = Array2::from_shape_fn((LEAST - 1, 2), |(i, j)| (i * j) as f32);
        assert!(Chance::of(short.view(), &all(LEAST - 1)).is_none());
        for same in [Array2::<f32>::ones((50, 3)), Array2::zeros((50, 0))] {
            assert!(Chance::of(same.view(), &all(50)).is_none());
        }
    }
}
