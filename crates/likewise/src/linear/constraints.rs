//! Pairs as learners of a metric take them: the rows in pairs, and the pairs that count.

use ndarray::{Array2, ArrayView1, ArrayView2, Axis};

use super::laplacian::Laplacian;
use super::spd::{add_cross, symmetrize};
use crate::matrix::squared_distance;
use crate::{Error, Monitor, Pairs, Result, parallel};

/// Two rows are the same where no column differs by as much.
const SAME: f64 = 1e-10;
/// Differences at a time.
const BLOCK: usize = 2048;

/// Two rows, and how often they count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Link {
    pub(crate) a: u32,
    pub(crate) b: u32,
    pub(crate) weight: f64,
}

/// The pairs of weight above 0 whose rows differ, in their order, and the rows in them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Constraints {
    /// The rows that are in some pair, in their order (`m x d`); links have places in these.
    pub(crate) rows: Array2<f64>,
    /// The row of `x` that each of these is.
    pub(crate) items: Vec<u32>,
    pub(crate) alike: Vec<Link>,
    pub(crate) unlike: Vec<Link>,
}

impl Constraints {
    /// Of the rows `x`, which are finite. Warns where pairs of identical rows are left out: no
    /// metric makes anything of them.
    ///
    /// Fails without columns and on pairs that do not [fit](Pairs::check).
    pub(crate) fn of<T: Copy + Into<f64> + Sync>(
        x: ArrayView2<T>,
        pairs: &Pairs,
        monitor: &Monitor,
    ) -> Result<Self> {
        let (n, d) = x.dim();
        pairs.check(n)?;
        if d == 0 {
            return Err(Error::data(
                "a metric needs features, but there are no columns",
            ));
        }
        let differ = |a: u32, b: u32| {
            let both = x.row(a as usize).into_iter().zip(x.row(b as usize));
            both.into_iter()
                .any(|(&a, &b)| (a.into() - b.into()).abs() >= SAME)
        };
        let counted: Vec<(u32, u32, bool, f32)> = pairs.iter().filter(|p| p.3 > 0.0).collect();
        let kept: Vec<bool> =
            parallel::map_rows(counted.len(), |i| differ(counted[i].0, counted[i].1));
        let dropped = kept.iter().filter(|&&kept| !kept).count();
        if dropped > 0 {
            monitor.warn(format!(
                "{dropped} of {} pairs are of two identical rows and teach nothing; they are \
                 left out",
                counted.len()
            ));
        }
        let counted = || counted.iter().zip(&kept).filter(|p| *p.1).map(|p| *p.0);
        let mut place = vec![u32::MAX; n];
        for (a, b, _, _) in counted() {
            place[a as usize] = 0;
            place[b as usize] = 0;
        }
        let used: Vec<usize> = (0..n).filter(|&i| place[i] == 0).collect();
        for (to, &from) in used.iter().enumerate() {
            place[from] = to as u32;
        }
        let of_kind = |wanted: bool| {
            let kind = counted().filter(|p| p.2 == wanted);
            kind.map(|(a, b, _, w)| Link {
                a: place[a as usize],
                b: place[b as usize],
                weight: f64::from(w),
            })
            .collect()
        };
        Ok(Self {
            rows: x.select(Axis(0), &used).mapv(Into::into),
            items: used.iter().map(|&row| row as u32).collect(),
            alike: of_kind(true),
            unlike: of_kind(false),
        })
    }

    /// Fails without a pair of a kind that `learner` needs.
    pub(crate) fn need(&self, learner: &str, alike: bool, unlike: bool) -> Result<()> {
        let kinds = [
            ("alike", alike, &self.alike),
            ("unlike", unlike, &self.unlike),
        ];
        for (kind, needed, links) in kinds {
            if needed && links.is_empty() {
                return Err(Error::data(format!(
                    "{learner} needs {kind} pairs of different rows, and there are none; give \
                     some"
                )));
            }
        }
        Ok(())
    }

    /// A link with the rows of `x` for its ends.
    pub(crate) fn in_all(&self, link: &Link) -> Link {
        Link {
            a: self.items[link.a as usize],
            b: self.items[link.b as usize],
            weight: link.weight,
        }
    }

    /// Number of columns.
    pub(crate) fn d(&self) -> usize {
        self.rows.ncols()
    }

    /// `sum w (x_a - x_b)^T (x_a - x_b)` over alike pairs.
    pub(crate) fn alike_scatter(&self) -> Array2<f64> {
        scatter(&self.rows, &self.alike)
    }

    /// The same over unlike pairs.
    pub(crate) fn unlike_scatter(&self) -> Array2<f64> {
        scatter(&self.rows, &self.unlike)
    }
}

/// The sum of the weights: how many links there are.
pub(crate) fn mass(links: &[Link]) -> f64 {
    links.iter().map(|link| link.weight).sum()
}

/// `sum w (x_a - x_b)^T (x_a - x_b)`, over all links at once where they are more than the rows.
pub(crate) fn scatter(rows: &Array2<f64>, links: &[Link]) -> Array2<f64> {
    let (m, d) = rows.dim();
    if links.len() > m {
        let ends = links.iter().map(|link| (link.a, link.b));
        let weights: Vec<f64> = links.iter().map(|link| link.weight).collect();
        return Laplacian::of(m, ends).scatter(rows.view(), &weights);
    }
    let mut sum = Array2::zeros((d, d));
    for links in links.chunks(BLOCK) {
        let mut block = Array2::zeros((links.len(), d));
        for (link, mut out) in links.iter().zip(block.rows_mut()) {
            let both = rows
                .row(link.a as usize)
                .into_iter()
                .zip(rows.row(link.b as usize));
            let root = link.weight.sqrt();
            for (out, (a, b)) in out.iter_mut().zip(both) {
                *out = root * (a - b);
            }
        }
        add_cross(&mut sum, block.view(), block.view());
    }
    symmetrize(&mut sum);
    sum
}

/// The squared Euclidean distance of each link's rows.
pub(crate) fn squared_distances(rows: &Array2<f64>, links: &[Link]) -> Vec<f64> {
    parallel::map_rows(links.len(), |i| {
        let link = &links[i];
        squared_distance(rows.row(link.a as usize), rows.row(link.b as usize))
    })
}

/// The mean squared distance of two rows; 1 where there are no two that differ.
pub(crate) fn mean_square<T: Copy + Into<f64>>(x: ArrayView2<T>) -> f64 {
    let n = x.nrows() as f64;
    let variance = |column: ArrayView1<T>| {
        let mean = column.iter().map(|&v| v.into()).sum::<f64>() / n;
        let squares = column.iter().map(|&v| (v.into() - mean).powi(2));
        squares.sum::<f64>() / n
    };
    let whole: f64 = x.columns().into_iter().map(variance).sum();
    let mean = 2.0 * n / (n - 1.0) * whole;
    if mean > 0.0 && mean.is_finite() {
        mean
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Event;
    use crate::linear::check_values::{iris, iris_pairs, relative_error};
    use ndarray::array;
    use std::sync::{Arc, Mutex};

    #[test]
    fn the_scatters_of_irises() {
        let (x, _) = iris();
        let found = Constraints::of(x.view(), &iris_pairs(), &Monitor::silent()).unwrap();
        assert_eq!((found.alike.len(), found.unlike.len()), (60, 60));
        let expected = array![
            [127.03, -2.59, 245.23, 101.72],
            [-2.59, 22.58, -32.9, -13.79],
            [245.23, -32.9, 551.84, 232.72],
            [101.72, -13.79, 232.72, 103.87],
        ];
        assert!(relative_error(&found.unlike_scatter(), &expected) < 1e-12);
        // Once link by link, and by rows where there are more links than these.
        let often: Vec<Link> = (0..4).flat_map(|_| found.unlike.clone()).collect();
        let four_times = scatter(&found.rows, &often);
        assert!(relative_error(&four_times, &(expected * 4.0)) < 1e-12);
        let trace: f64 = squared_distances(&found.rows, &found.unlike).iter().sum();
        assert!((trace - found.unlike_scatter().diag().sum()).abs() < 1e-9);
    }

    #[test]
    fn the_mean_squared_distance_of_two_rows() {
        let x = array![[0.0_f32, 0.0], [3.0, 4.0], [0.0, 4.0]];
        assert!((mean_square(x.view()) - (25.0 + 16.0 + 9.0) / 3.0).abs() < 1e-12);
        let one = mean_square(x.slice(ndarray::s![..1, ..]));
        assert!((one - 1.0).abs() < 1e-15);
    }

    #[test]
    fn absent_and_empty_pairs_are_left_out_and_it_is_said_once() {
        let x = array![[0.0_f32, 1.0], [0.0, 1.0], [2.0, 0.0], [5.0, 5.0]];
        let mut pairs = Pairs::default();
        for (a, b, alike, w) in [
            (0, 1, true, 1.0),
            (1, 0, false, 2.0),
            (0, 2, false, 0.5),
            (0, 3, true, 0.0),
            (2, 1, true, 3.0),
        ] {
            pairs.push(a, b, alike, w);
        }
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ear = heard.clone();
        let monitor = Monitor::new(move |event| {
            if let Event::Warning(said) = event {
                ear.lock().unwrap().push(said.clone());
            }
        });
        let found = Constraints::of(x.view(), &pairs, &monitor).unwrap();
        assert!(heard.lock().unwrap()[0].starts_with("2 of 4 pairs"));
        assert_eq!(found.rows, array![[0.0, 1.0], [0.0, 1.0], [2.0, 0.0]]);
        assert_eq!(found.items, [0, 1, 2]);
        assert_eq!(found.in_all(&found.alike[0]), found.alike[0]);
        let link = |a, b, weight| vec![Link { a, b, weight }];
        assert_eq!(
            (found.alike.clone(), found.unlike.clone()),
            (link(2, 1, 3.0), link(0, 2, 0.5))
        );
        assert!((mass(&found.alike) - 3.0).abs() < 1e-15);
        let expected = array![[12.0, -6.0], [-6.0, 3.0]];
        assert!(relative_error(&found.alike_scatter(), &expected) < 1e-14);
        assert!(found.need("it", true, true).is_ok());
        let none = Constraints::of(x.view(), &Pairs::default(), &monitor).unwrap();
        let said = none.need("it", false, true).unwrap_err().to_string();
        assert!(said.starts_with("it needs unlike pairs"), "{said}");
        assert_eq!(none.alike_scatter(), Array2::<f64>::zeros((2, 2)));
        assert!(Constraints::of(x.slice(ndarray::s![..2, ..]), &pairs, &monitor).is_err());
        assert!(Constraints::of(x.slice(ndarray::s![.., ..0]), &pairs, &monitor).is_err());
    }
}
