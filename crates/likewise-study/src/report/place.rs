//! Where items lie on a map of two dimensions.

use bhtsne::{Neighbor, tSNE};
use likewise::linear::whitening::Spectrum;
use likewise::neighbor::{self, Metric};
use likewise::{Monitor, matrix, seed};
use ndarray::{Array2, ArrayView2};
use rand::RngExt;

use crate::inputs::Map;
use crate::{Error, ErrorKind, Result};

/// Neighbours of an item that a map is judged by.
const JUDGED: usize = 10;
/// Neighbours that an item keeps in mind, as t-SNE's authors advise.
const PERPLEXITY: usize = 30;
const EPOCHS: usize = 750;
/// How far items that are grouped are still told apart: 0 is exact.
const THETA: f32 = 0.5;
/// Spread of the positions that t-SNE begins with, as of its authors' random ones.
const BEGIN: f32 = 1e-4;

/// Items on a map.
pub(super) struct Placed {
    pub(super) points: Vec<[f32; 2]>,
    /// How well they lie: a sentence for the caption.
    pub(super) said: String,
}

impl Map {
    /// Places rows (n x d), brought to length 1.
    ///
    /// Costs the eigenvectors of a d x d matrix, and for neighbourhoods an exact search and some
    /// seconds for 3000 items on one thread: on several its sums would depend on their number.
    ///
    /// Fails on NaN.
    pub(super) fn place(self, rows: Array2<f32>) -> Result<Placed> {
        let rows = matrix::l2_normalize(rows);
        let (points, share) = directions(&rows)?;
        let neighborhoods = match self {
            Self::Directions => None,
            Self::Neighborhoods => by_neighborhoods(rows.view(), &points)?,
        };
        let Some(points) = neighborhoods else {
            let percent = 100.0 * share;
            return Ok(Placed {
                points,
                said: format!("{percent:.0} % of the variance"),
            });
        };
        let percent = 100.0 * kept(rows.view(), &points)?;
        Ok(Placed {
            points,
            said: format!("{percent:.0} % of the ten nearest items are among the ten nearest here"),
        })
    }
}

/// Unit rows along their first two principal directions, and the share of the variance
/// that these hold.
fn directions(rows: &Array2<f32>) -> Result<(Vec<[f32; 2]>, f64)> {
    let spectrum = Spectrum::fit(rows.view())?;
    let rank = rows.ncols().min(2);
    // Infinite shrinkage only centres and turns.
    let flat = spectrum
        .truncated(f64::INFINITY, rank)?
        .transform(rows.view())?;
    let points = flat.rows().into_iter();
    let points = points.map(|row| [row[0], row.get(1).copied().unwrap_or(0.0)]);
    let total = spectrum.variances.sum();
    let shown: f64 = spectrum.variances.iter().take(rank).sum();
    let share = if total > 0.0 { shown / total } else { 1.0 };
    Ok((points.collect(), share))
}

/// None where there is nothing to tell apart: equal rows, or too few for a neighbourhood.
fn by_neighborhoods(rows: ArrayView2<f32>, begin: &[[f32; 2]]) -> Result<Option<Vec<[f32; 2]>>> {
    let n = rows.nrows();
    let perplexity = PERPLEXITY.min(n.saturating_sub(1) / 3);
    let squares = begin.iter().flatten().map(|v| f64::from(*v).powi(2));
    let spread = (squares.sum::<f64>() / (2 * n.max(1)) as f64).sqrt() as f32;
    if perplexity < 2 || spread == 0.0 {
        return Ok(None);
    }
    let found = neighbor::exact(rows, 3 * perplexity, Metric::Euclidean, &Monitor::silent())?;
    let lists: Vec<Vec<Neighbor<f32>>> = (found.indices.rows().into_iter())
        .zip(found.similarities.rows())
        .map(|(indices, similarities)| {
            let pairs = indices.into_iter().zip(similarities);
            let one = |(&index, &similarity): (&u32, &f32)| Neighbor {
                index: index as usize,
                distance: (-similarity).max(0.0).sqrt(),
            };
            pairs.map(one).collect()
        })
        .collect();
    // Copies begin a little apart: what lies in one place is never parted.
    let mut rng = seed::stream(0, "copies on a map");
    let mut jitter = || rng.random_range(-0.01_f32..0.01);
    let begin: Vec<f32> = (begin.iter().flatten())
        .map(|v| BEGIN * (v / spread + jitter()))
        .collect();
    let items: Vec<usize> = (0..n).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = pool.map_err(|e| Error::new(ErrorKind::Data, format!("map: {e}")))?;
    let placed = pool.install(|| {
        let mut map: tSNE<f32, usize> = tSNE::new(&items);
        map.perplexity(perplexity as f32)
            .epochs(EPOCHS)
            .learning_rate((n as f32 / 12.0).max(200.0))
            .initial_embedding(begin)
            .barnes_hut_with_neighbors(THETA, &lists)
            .embedding()
    });
    let points: Vec<[f32; 2]> = placed.chunks_exact(2).map(|at| [at[0], at[1]]).collect();
    let sound = points.iter().flatten().all(|v| v.is_finite());
    Ok(sound.then_some(points))
}

/// Share of the nearest rows of each row that are among the nearest on the map.
fn kept(rows: ArrayView2<f32>, points: &[[f32; 2]]) -> Result<f64> {
    let n = points.len();
    let k = JUDGED.min(n.saturating_sub(1));
    let flat = Array2::from_shape_fn((n, 2), |(i, axis)| points[i][axis]);
    let near = |x: ArrayView2<f32>| neighbor::exact(x, k, Metric::Euclidean, &Monitor::silent());
    let (there, here) = (near(rows)?.indices, near(flat.view())?.indices);
    let both = (there.rows().into_iter()).zip(here.rows());
    let common = both.map(|(there, here)| {
        let here = here.to_vec();
        there.iter().filter(|item| here.contains(item)).count()
    });
    Ok(common.sum::<usize>() as f64 / (n * k) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUPS: usize = 12;

    /// Groups along axes of their own, which no two directions separate.
    fn groups(each: usize) -> Array2<f32> {
        let mut rng = seed::stream(3, "groups");
        Array2::from_shape_fn((GROUPS * each, GROUPS), |(i, j)| {
            let own = if i / each == j { 1.0 } else { 0.0 };
            own + rng.random_range(-0.2..0.2)
        })
    }

    /// Share of items whose nearest on the map is of their group.
    fn pure(points: &[[f32; 2]], each: usize) -> f64 {
        let flat = Array2::from_shape_fn((points.len(), 2), |(i, axis)| points[i][axis]);
        let near = neighbor::exact(flat.view(), 1, Metric::Euclidean, &Monitor::silent()).unwrap();
        let own = (near.indices.iter().enumerate())
            .filter(|&(i, &other)| i / each == other as usize / each)
            .count();
        own as f64 / points.len() as f64
    }

    #[test]
    fn the_plane_shows_what_varies() {
        // On the unit circle, the second column varies and the third is almost constant.
        let rows = ndarray::array![[1.0, 1.0, 0.01], [1.0, -1.0, 0.01], [1.0, 0.5, 0.0]];
        let placed = Map::Directions.place(rows).unwrap();
        assert_eq!(placed.said, "100 % of the variance");
        let spread = |axis: usize| {
            let values = placed.points.iter().map(|p| p[axis]);
            values.clone().fold(f32::MIN, f32::max) - values.fold(f32::MAX, f32::min)
        };
        assert!(spread(0) > 3.0 * spread(1));
    }

    #[test]
    fn one_column_and_equal_rows() {
        let (points, share) = directions(&ndarray::array![[1.0], [-1.0]]).unwrap();
        assert_eq!((points[0][1], share), (0.0, 1.0));
        for n in [1, 2, 3, 50] {
            let placed = Map::Neighborhoods.place(Array2::zeros((n, 2))).unwrap();
            assert_eq!(placed.points, vec![[0.0, 0.0]; n]);
            assert!(placed.said.ends_with("of the variance"));
        }
    }

    #[test]
    fn neighbourhoods_part_what_two_directions_do_not() {
        let each = 20;
        let flat = Map::Directions.place(groups(each)).unwrap();
        let near = Map::Neighborhoods.place(groups(each)).unwrap();
        let (flat, parted) = (pure(&flat.points, each), pure(&near.points, each));
        assert!(flat < 0.9 && parted > 0.98, "{flat} {parted}");
        // Random places would keep 10 of 239.
        let percent: f64 = near.said.split(' ').next().unwrap().parse().unwrap();
        assert!(percent > 30.0, "{}", near.said);
    }

    #[test]
    fn the_places_are_the_datas() {
        let place = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let placed = pool
                .unwrap()
                .install(|| Map::Neighborhoods.place(groups(20)));
            placed.unwrap().points
        };
        assert_eq!(place(1), place(3));
    }

    #[test]
    fn copies_and_few_items_are_placed() {
        // All rows twice or more, seven different ones.
        let rows = Array2::from_shape_fn((40, 5), |(i, j)| ((i % 7) * (j + 1)) as f32 + 1.0);
        let placed = Map::Neighborhoods.place(rows).unwrap();
        assert!(placed.points.iter().flatten().all(|v| v.is_finite()));
        assert!(Map::Neighborhoods.place(groups(1)).unwrap().points.len() == GROUPS);
        let bad = Array2::from_elem((9, 2), f32::NAN);
        assert!(Map::Neighborhoods.place(bad).is_err());
    }
}
