//! Leaks: test items that were seen in training under another name.
//!
//! A duplicate across parts is the commonest reason for numbers that are too good.
//! [`check`] looks for rows that are equal bit by bit, for rows that point almost the
//! same way (with columns of one size, where they are of [different units](comparable)) and differ little in every
//! column, for ids that stand twice, and for classes on both sides of a class-disjoint
//! split.
//!
//! Cost: O(n d) for the exact duplicates. Rows of a cosine near 1 lie near each other along
//! every direction, so near-duplicates are sought in cells along the first principal
//! directions: O(n d) and a little, and none is missed. Where the cells part nothing (a low
//! threshold, or rows that all point the same way) all training rows are compared with at most
//! 20,000 held-out ones: O(train x held out x d). A `near` threshold above 1 skips it all.

mod chance;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use ndarray::{Array2, ArrayView1, ArrayView2, CowArray, Ix2};
use rayon::prelude::*;

pub use self::chance::Chance;
use crate::distance::{Metric, Searched};
use crate::linear::uneven;
use crate::linear::whitening::Spectrum;
use crate::matrix::{check_finite, l2_normalize, select_rows};
use crate::{Error, Labels, Monitor, Part, Result, parallel, seed};

/// How many examples of each finding are kept.
const EXAMPLES: usize = 10;
/// Held-out items that are compared with all training items, where that cannot be avoided.
const MOST: usize = 20_000;
/// Rows from which the directions of the cells are found.
const ROWS: usize = 256;
/// Directions along which two rows are compared before all their values are.
const AXES: usize = 8;
/// Standard deviations that near rows are [apart](Usual::apart) at most, in the mean of the columns; others are
/// 1.4 apart.
pub const ALIKE: f64 = 0.25;
/// Directions that cells are cut along.
const CUTS: usize = 3;
/// Rows from which on it can be told whether columns are of one unit.
const MANY: usize = 100;
/// Held-out items of one task.
const CHUNK: usize = 256;

/// What to look for.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Cosine from which two rows count as near-duplicates; above 1 skips the search.
    /// In few columns different items reach it by [chance](Chance), which makes no copies.
    pub near: f32,
    /// Whether training and held-out parts must share no class.
    pub class_disjoint: bool,
}

impl Default for Options {
    /// Near-duplicates from cosine 0.9999, classes may be shared.
    fn default() -> Self {
        Self {
            near: 0.9999,
            class_disjoint: false,
        }
    }
}

/// How often something was found, and the first examples.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Finding {
    /// Number of items (or ids) concerned.
    pub count: usize,
    /// First pairs, at most 10: an earlier or training item, and the item concerned.
    pub examples: Vec<(usize, usize)>,
}

impl Finding {
    fn add(&mut self, pair: (usize, usize)) {
        self.count += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(pair);
        }
    }
}

/// What [`check`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeakReport {
    /// Items equal bit by bit to an item of another part (training, validation, or test
    /// with queries and gallery).
    pub duplicates_across: Finding,
    /// Items equal bit by bit to an earlier item of their own part. Not a leak, but they
    /// make retrieval look easy.
    pub duplicates_within: Finding,
    /// Held-out items whose nearest training item has at least the `near` cosine, equal
    /// ones not counted again.
    pub near_duplicates: Finding,
    /// Number of held-out items whose nearest training item was sought, where it was not
    /// sought for all: `near_duplicates` counts these only.
    pub near_sampled: Option<usize>,
    /// Items whose id stands at an earlier item as well.
    pub duplicate_ids: Finding,
    /// Classes with items in training and in a held-out part, if they must be disjoint.
    pub shared_classes: Vec<u32>,
}

impl LeakReport {
    /// Whether nothing crosses from one part to another and every id is unique.
    pub fn is_clean(&self) -> bool {
        self.duplicates_across.count == 0
            && self.near_duplicates.count == 0
            && self.duplicate_ids.count == 0
            && self.shared_classes.is_empty()
    }
}

/// Looks for leaks between the parts of a split.
///
/// `x` holds the raw features (`items x dimensions`), not embeddings: a trained model
/// maps different items of a class close together on purpose. `labels` and `ids` may be
/// left out. Rows of zeros (missing views) count neither as duplicates nor as near.
///
/// Fails if the lengths differ, on NaN, and on a `near` that is NaN.
///
/// ```
/// use likewise::{Monitor, Part, eval::leak};
/// let x = ndarray::array![[1.0, 2.0], [3.0, 1.0], [1.0, 2.0]];
/// let parts = [Part::Train, Part::Train, Part::Test];
/// let report = leak::check(x.view(), &parts, None, None, leak::Options::default(), &Monitor::silent())?;
/// assert_eq!(report.duplicates_across.examples, [(0, 2)]);
/// # Ok::<(), likewise::Error>(())
/// ```
pub fn check(
    x: ArrayView2<f32>,
    parts: &[Part],
    labels: Option<&Labels>,
    ids: Option<&[String]>,
    options: Options,
    monitor: &Monitor,
) -> Result<LeakReport> {
    let n = x.nrows();
    let lengths = [
        ("parts", Some(parts.len())),
        ("labels", labels.map(Labels::len)),
        ("ids", ids.map(<[String]>::len)),
    ];
    for (name, length) in lengths {
        if let Some(length) = length.filter(|&l| l != n) {
            return Err(Error::data(format!(
                "leak check: {length} {name} for {n} items; there must be one each"
            )));
        }
    }
    if options.near.is_nan() {
        return Err(Error::parameter("near", options.near, "must be a number"));
    }
    check_finite(x, "leak check")?;

    let mut report = LeakReport::default();
    let leaked = exact(x, parts, &mut report);
    if options.near <= 1.0 {
        near(x, parts, &leaked, options.near, monitor, &mut report)?;
    }
    if let Some(ids) = ids {
        let mut first = HashMap::with_capacity(n);
        for (item, id) in ids.iter().enumerate() {
            match first.get(id) {
                Some(&earlier) => report.duplicate_ids.add((earlier, item)),
                None => {
                    first.insert(id, item);
                }
            }
        }
    }
    if let Some(labels) = labels.filter(|_| options.class_disjoint) {
        for (class, members) in labels.by_class().iter().enumerate() {
            let trained = members.iter().filter(|&&i| parts[i] == Part::Train).count();
            if trained > 0 && trained < members.len() {
                report.shared_classes.push(class as u32);
            }
        }
    }
    Ok(report)
}

/// Training, validation or test; queries and gallery are sides of one test.
fn side(part: Part) -> u8 {
    match part {
        Part::Train => 0,
        Part::Validation => 1,
        Part::Query | Part::Gallery | Part::Test => 2,
    }
}

/// Of each of these items the first that has the same row, bit by bit; itself where there is none
/// before it. Rows of zeros (missing views) are equal to none.
///
/// ```
/// let x = ndarray::array![[1.0, 2.0], [3.0, 1.0], [1.0, 2.0], [0.0, 0.0], [0.0, 0.0]];
/// assert_eq!(likewise::eval::leak::first_equal(x.view(), &[0, 1, 2, 3, 4]), [0, 1, 0, 3, 4]);
/// assert_eq!(likewise::eval::leak::first_equal(x.view(), &[1, 2]), [1, 2]);
/// ```
pub fn first_equal(x: ArrayView2<f32>, items: &[usize]) -> Vec<usize> {
    let mut seen: HashMap<Vec<u32>, usize> = HashMap::with_capacity(items.len());
    let first = |&item: &usize| {
        let row: Vec<u32> = x.row(item).iter().map(|v| v.to_bits()).collect();
        if x.row(item).iter().all(|v| *v == 0.0) {
            return item;
        }
        *seen.entry(row).or_insert(item)
    };
    items.iter().map(first).collect()
}

/// Finds equal rows and says which items are equal to one of another part.
fn exact(x: ArrayView2<f32>, parts: &[Part], report: &mut LeakReport) -> Vec<bool> {
    let hashes = parallel::map_rows(x.nrows(), |item| {
        let row = x.row(item);
        let mut hasher = DefaultHasher::new();
        row.iter().for_each(|v| v.to_bits().hash(&mut hasher));
        row.iter().any(|&v| v != 0.0).then(|| hasher.finish())
    });
    let equal = |a: usize, b: usize| {
        let mut pairs = x.row(a).into_iter().zip(x.row(b));
        pairs.all(|(p, q)| p.to_bits() == q.to_bits())
    };
    // Per hash: the first item of each side of each distinct row.
    let mut firsts: HashMap<u64, Vec<[Option<usize>; 3]>> = HashMap::new();
    let mut leaked = vec![false; x.nrows()];
    for (item, hash) in hashes.iter().enumerate() {
        let Some(hash) = hash else { continue };
        let own = usize::from(side(parts[item]));
        let rows = firsts.entry(*hash).or_default();
        let same = rows.iter_mut().find(|sides| {
            let other = sides.iter().flatten().next();
            other.is_some_and(|&other| equal(other, item))
        });
        let Some(sides) = same else {
            let mut sides = [None; 3];
            sides[own] = Some(item);
            rows.push(sides);
            continue;
        };
        match sides[own] {
            Some(earlier) => report.duplicates_within.add((earlier, item)),
            None => sides[own] = Some(item),
        }
    }
    // Across parts the order of the items must not matter, so this needs a second look.
    for (item, hash) in hashes.iter().enumerate() {
        let own = usize::from(side(parts[item]));
        let rows = hash.and_then(|hash| firsts.get(&hash));
        let sides = rows.into_iter().flatten().find(|sides| {
            let other = sides.iter().flatten().next();
            other.is_some_and(|&other| equal(other, item))
        });
        // A pair is told once, at its later side: test before validation before training.
        if let Some(Some(other)) = sides.and_then(|s| s[..own].iter().find(|o| o.is_some())) {
            report.duplicates_across.add((*other, item));
            leaked[item] = true;
        }
    }
    leaked
}

/// Compares every held-out item with its nearest training item.
fn near(
    x: ArrayView2<f32>,
    parts: &[Part],
    leaked: &[bool],
    threshold: f32,
    monitor: &Monitor,
    report: &mut LeakReport,
) -> Result<()> {
    let has_content = |i: usize| x.row(i).iter().any(|&v| v != 0.0);
    let of = |train: bool| {
        let items = (0..parts.len()).filter(move |&i| (parts[i] == Part::Train) == train);
        items.filter(|&i| has_content(i))
    };
    let train: Vec<usize> = of(true).collect();
    let mut held_out: Vec<usize> = of(false).filter(|&i| !leaked[i]).collect();
    monitor.start("near-duplicates", held_out.len() as u64);
    if train.is_empty() || held_out.is_empty() {
        monitor.end();
        return Ok(());
    }
    let x = comparable(x);
    let x = x.view();
    let cells = Cells::new(x, &train, &held_out, threshold)?;
    // A comparison along the axes takes about as long as 256 dimensions of a product do.
    let all = train.len() as f64 * held_out.len() as f64;
    let found = if cells.candidates() as f64 * 256.0 <= all * x.ncols() as f64 {
        cells.nearest(x, monitor)?
    } else {
        if held_out.len() > MOST {
            let mut rng = seed::stream(0, "held-out items of the leak check");
            let drawn = rand::seq::index::sample(&mut rng, held_out.len(), MOST);
            held_out = drawn.iter().map(|place| held_out[place]).collect();
            held_out.sort_unstable();
            report.near_sampled = Some(MOST);
        }
        nearest_of_all(x, &train, &held_out, monitor)?
    };
    let pairs: Vec<(usize, usize)> = (held_out.iter().zip(found))
        .filter_map(|(&item, nearest)| nearest.map(|(other, similarity)| (other, item, similarity)))
        .filter(|(_, _, similarity)| *similarity >= threshold)
        .map(|(other, item, _)| (other, item))
        .collect();
    if !pairs.is_empty() {
        let usual = Usual::of(x, train.iter().chain(&held_out));
        let both = [train.as_slice(), held_out.as_slice()].concat();
        let chance = Chance::of(x, &both);
        let alike = |&pair: &(usize, usize)| {
            let by_chance = chance
                .as_ref()
                .is_some_and(|chance| chance.explains(x, pair));
            usual.apart(x, pair) <= ALIKE * ALIKE && !by_chance
        };
        for pair in pairs.into_iter().filter(alike) {
            report.near_duplicates.add(pair);
        }
    }
    monitor.end();
    Ok(())
}

/// The rows whose cosine tells whether two are nearly the same: around their mean and with columns of one size, where
/// these are of [different units](uneven), of which the cosine would see the largest alone; as they are elsewhere, and
/// where they are fewer than 100.
///
/// ```
/// let rows = ndarray::Array2::from_shape_fn((100, 3), |(i, j)| [900.0, 1.0, 1.0][j] * (i % (j + 7)) as f32);
/// let rows = likewise::eval::leak::comparable(rows.view());
/// let mean = rows.column(0).mean().unwrap_or(1.0);
/// assert!(mean.abs() < 1e-5 && rows.iter().all(|v| v.abs() < 3.0));
/// ```
pub fn comparable(x: ArrayView2<f32>) -> CowArray<f32, Ix2> {
    let scales = if x.nrows() < MANY { None } else { uneven(x) };
    let Some((mean, scale)) = scales else {
        return x.into();
    };
    let of = |(i, j)| ((f64::from(x[[i, j]]) - mean[j]) * scale[j]) as f32;
    Array2::from_shape_fn(x.dim(), of).into()
}

/// How much rows of length 1 usually differ, column by column.
///
/// Where one column is far larger than the others, as in a table that nobody has scaled, all rows point the
/// same way; what differs then is small beside that column, and not beside itself.
#[derive(Debug, Clone)]
pub struct Usual {
    deviations: Vec<f64>,
}

impl Usual {
    /// Of these rows, but those of zeros. One pass, O(d) memory.
    pub fn of<'a>(x: ArrayView2<f32>, items: impl Iterator<Item = &'a usize>) -> Self {
        let (mut n, mut means) = (0.0, vec![0.0; x.ncols()]);
        let mut squares = means.clone();
        for &item in items {
            let row = x.row(item);
            let length = length(row);
            if length <= 0.0 {
                continue;
            }
            n += 1.0;
            for ((value, mean), square) in row.iter().zip(&mut means).zip(&mut squares) {
                // Welford's update.
                let value = f64::from(*value) / length;
                let from = value - *mean;
                *mean += from / n;
                *square += from * (value - *mean);
            }
        }
        Self {
            deviations: squares.into_iter().map(|s| (s / n).sqrt()).collect(),
        }
    }

    /// How far two rows are apart, in squared standard deviations, in the mean of the columns that vary:
    /// 2 for rows that have nothing to do with each other.
    pub fn apart(&self, x: ArrayView2<f32>, (a, b): (usize, usize)) -> f64 {
        let (a, b) = (x.row(a), x.row(b));
        let (of_a, of_b) = (length(a), length(b));
        let (mut sum, mut columns) = (0.0, 0.0);
        for ((a, b), deviation) in a.iter().zip(b).zip(&self.deviations) {
            if *deviation > 0.0 {
                let apart = f64::from(*a) / of_a - f64::from(*b) / of_b;
                sum += (apart / deviation).powi(2);
                columns += 1.0;
            }
        }
        if columns > 0.0 { sum / columns } else { 0.0 }
    }
}

fn length(row: ArrayView1<f32>) -> f64 {
    row.iter()
        .map(|v| f64::from(*v).powi(2))
        .sum::<f64>()
        .sqrt()
}

/// The nearest of all training items, and its cosine, for each held-out item.
fn nearest_of_all(
    x: ArrayView2<f32>,
    train: &[usize],
    held_out: &[usize],
    monitor: &Monitor,
) -> Result<Vec<Option<(usize, f32)>>> {
    let searched = Searched::new(x, train, Metric::Cosine)?;
    searched.for_each_query(
        x,
        held_out,
        monitor,
        || (),
        |(), _, _, scores| {
            let mut best = (0, f32::NEG_INFINITY);
            for (j, &s) in scores.iter().enumerate() {
                if s > best.1 {
                    best = (j, s);
                }
            }
            Some((train[best.0], best.1))
        },
    )
}

/// A row along the first axes, and the cell that it lies in.
#[derive(Debug, Clone, Copy)]
struct Placed {
    cell: [i32; CUTS],
    item: usize,
    at: [f32; AXES],
}

/// Training and held-out rows in cells as wide as near rows can lie apart along any direction:
/// `|a - b|^2 = 2 - 2 cos` for unit rows.
struct Cells {
    /// By cell, then by item.
    train: Vec<Placed>,
    held_out: Vec<Placed>,
    /// Square of the largest distance of two rows that are near.
    square: f32,
}

impl Cells {
    fn new(
        x: ArrayView2<f32>,
        train: &[usize],
        held_out: &[usize],
        threshold: f32,
    ) -> Result<Self> {
        // The cosine is rounded to f32 before it is compared.
        let square = 2.0 * (1.0 - f64::from(threshold) + 1e-7);
        let radius = square.sqrt() * 1.001;
        let step = train.len().div_ceil(ROWS);
        let some: Vec<usize> = train.iter().copied().step_by(step).collect();
        let spectrum = Spectrum::fit(l2_normalize(select_rows(x, &some)).view())?;
        let axes = spectrum.variances.len().min(AXES);
        let axes = spectrum.directions.slice(ndarray::s![.., ..axes]);
        // In the order of the axes, so that a row meets one of them after the other.
        let axes: Array2<f64> = axes.t().as_standard_layout().into_owned();
        let place = |item: usize| {
            let row = x.row(item);
            let length = dot(row, row).sqrt();
            let mut at = [0.0; AXES];
            let mut cell = [0; CUTS];
            for (a, (at, axis)) in at.iter_mut().zip(axes.rows()).enumerate() {
                let sum: f64 = row.iter().zip(axis).map(|(&v, w)| f64::from(v) * w).sum();
                *at = (sum / length) as f32;
                if let Some(cell) = cell.get_mut(a) {
                    *cell = (f64::from(*at) / radius).floor() as i32;
                }
            }
            Placed { cell, item, at }
        };
        let all = |items: &[usize]| parallel::map_rows(items.len(), |i| place(items[i]));
        let mut placed: Vec<Placed> = all(train);
        placed.par_sort_unstable_by_key(|p| (p.cell, p.item));
        Ok(Self {
            train: placed,
            held_out: all(held_out),
            square: (radius * radius) as f32,
        })
    }

    /// The training rows in the cells around one.
    fn around(&self, [a, b, c]: [i32; CUTS]) -> impl Iterator<Item = &[Placed]> {
        let columns = (a - 1..=a + 1).flat_map(move |a| (b - 1..=b + 1).map(move |b| (a, b)));
        columns.map(move |(a, b)| {
            let from = self.train.partition_point(|p| p.cell < [a, b, c - 1]);
            let rest = &self.train[from..];
            &rest[..rest.partition_point(|p| p.cell <= [a, b, c + 1])]
        })
    }

    /// Number of comparisons that [`nearest`](Self::nearest) takes.
    fn candidates(&self) -> usize {
        let each = parallel::map_rows(self.held_out.len(), |i| {
            let around = self.around(self.held_out[i].cell);
            around.map(<[Placed]>::len).sum::<usize>()
        });
        each.into_iter().sum()
    }

    /// The nearest training item in the cells around each held-out item, and its cosine.
    fn nearest(&self, x: ArrayView2<f32>, monitor: &Monitor) -> Result<Vec<Option<(usize, f32)>>> {
        let one = |own: &Placed| {
            let row = x.row(own.item);
            let length = dot(row, row).sqrt();
            let mut best: Option<(usize, f32)> = None;
            for other in self.around(own.cell).flatten() {
                let pairs = own.at.iter().zip(&other.at);
                if pairs.map(|(a, b)| (a - b).powi(2)).sum::<f32>() > self.square {
                    continue;
                }
                let candidate = x.row(other.item);
                let lengths = length * dot(candidate, candidate).sqrt();
                let similarity = (dot(row, candidate) / lengths) as f32;
                let better = best.is_none_or(|(item, s)| {
                    similarity > s || (similarity >= s && other.item < item)
                });
                if better {
                    best = Some((other.item, similarity));
                }
            }
            best
        };
        let parts = parallel::try_map(self.held_out.chunks(CHUNK), |held_out| {
            monitor.check()?;
            Ok(held_out.iter().map(one).collect::<Vec<_>>())
        })?;
        Ok(parts.into_iter().flatten().collect())
    }
}

fn dot(a: ArrayView1<f32>, b: ArrayView1<f32>) -> f64 {
    let pairs = a.iter().zip(b);
    pairs.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Part::{Gallery, Query, Test, Train, Validation};
    use ndarray::{Array2, array};

    fn run(x: &Array2<f32>, parts: &[Part]) -> LeakReport {
        check(
            x.view(),
            parts,
            None,
            None,
            Options::default(),
            &Monitor::silent(),
        )
        .unwrap()
    }

    #[test]
    fn duplicates_are_told_apart_by_where_they_are() {
        let x = array![
            [1.0, 0.0],   // 0 test, equals 1 and 4
            [1.0, 0.0],   // 1 train
            [0.0, 1.0],   // 2 train
            [0.0, 1.0],   // 3 train, within
            [1.0, 0.0],   // 4 validation
            [1.0, 0.001], // 5 test, near 1
            [0.5, 0.5],   // 6 query
            [0.5, 0.5],   // 7 gallery: one test, so within
            [0.0, 0.0],   // 8 train, missing
            [0.0, 0.0],   // 9 test, missing
        ];
        let parts = [
            Test, Train, Train, Train, Validation, Test, Query, Gallery, Train, Test,
        ];
        let report = run(&x, &parts);
        assert_eq!(report.duplicates_across.examples, [(1, 0), (1, 4)]);
        assert_eq!(report.duplicates_within.examples, [(2, 3), (6, 7)]);
        assert_eq!(report.near_duplicates.examples, [(1, 5)]);
        assert!(!report.is_clean());
    }

    /// Rows around `offset`, a tenth of them near copies of earlier ones, and their parts.
    fn with_copies(n: usize, d: usize, offset: f32) -> (Array2<f32>, Vec<Part>) {
        use rand::RngExt;
        let mut rng = seed::stream(9, "leak test");
        let mut x = Array2::from_shape_fn((n, d), |_| offset + rng.random_range(-1.0_f32..1.0));
        for i in (10..n).step_by(10) {
            // From far nearer than the threshold to beyond it; of another length.
            let noise = 0.02 * rng.random::<f32>();
            let copy = x.row(rng.random_range(0..i)).to_owned();
            let scale = rng.random_range(0.5_f32..2.0);
            x.row_mut(i)
                .zip_mut_with(&copy, |a, b| *a = scale * (b + noise * *a));
        }
        let parts = (0..n).map(|_| match rng.random_range(0..3) {
            0 => Test,
            _ => Train,
        });
        (x, parts.collect())
    }

    #[test]
    fn cells_miss_no_near_duplicate() {
        for (n, d, offset) in [
            (3000, 24, 0.0),
            (3000, 24, 3.0),
            (2000, 3, 0.0),
            (500, 1, 0.5),
        ] {
            let (x, parts) = with_copies(n, d, offset);
            let items = |train: bool| -> Vec<usize> {
                let of = |&i: &usize| (parts[i] == Train) == train;
                (0..n).filter(of).collect()
            };
            let (train, held_out) = (items(true), items(false));
            let monitor = Monitor::silent();
            let cells = Cells::new(x.view(), &train, &held_out, 0.9999).unwrap();
            let found = cells.nearest(x.view(), &monitor).unwrap();
            let all = nearest_of_all(x.view(), &train, &held_out, &monitor).unwrap();
            let mut near = 0;
            for (found, expected) in found.into_iter().zip(all) {
                let (item, similarity) = expected.unwrap();
                // The products of `nearest_of_all` are rounded to f32.
                if similarity > 0.9999 + 1e-6 {
                    near += 1;
                    let (other, same) = found.unwrap();
                    assert!((same - similarity).abs() < 1e-6);
                    assert!(other == item || d < 4, "{other} {item}");
                } else if similarity < 0.9999 - 1e-6 {
                    assert!(found.is_none_or(|(_, s)| s < 0.9999));
                }
            }
            assert!(near > 20, "{near}");
        }
    }

    #[test]
    fn cells_spare_nearly_all_comparisons() {
        let (x, parts) = with_copies(6000, 32, 0.0);
        let of = |train: bool| -> Vec<usize> {
            let items = (0..parts.len()).filter(|&i| (parts[i] == Train) == train);
            items.collect()
        };
        let (train, held_out) = (of(true), of(false));
        let cells = Cells::new(x.view(), &train, &held_out, 0.9999).unwrap();
        assert!(cells.candidates() < train.len() * held_out.len() / 100);
        assert_eq!(run(&x, &parts).near_sampled, None);
    }

    #[test]
    fn what_cells_cannot_part_is_sampled() {
        // All rows are near to all others, so cells part nothing.
        let n = 2 * MOST + 10;
        let x = Array2::from_shape_fn((n, 40), |(i, j)| 1.0 + 1e-4 * ((i * (j + 3)) % 7) as f32);
        let parts: Vec<Part> = (0..n).map(|i| if i < 5 { Train } else { Test }).collect();
        let mut report = LeakReport::default();
        let leaked = vec![false; n];
        near(
            x.view(),
            &parts,
            &leaked,
            0.9,
            &Monitor::silent(),
            &mut report,
        )
        .unwrap();
        assert_eq!(report.near_sampled, Some(MOST));
        // Those that differ from a training row in what rows differ in are not counted.
        assert!((1..MOST).contains(&report.near_duplicates.count));
    }

    #[test]
    fn counts_go_on_after_the_examples() {
        let x = Array2::from_elem((50, 3), 2.0);
        let parts: Vec<Part> = (0..50).map(|i| if i < 10 { Train } else { Test }).collect();
        let report = run(&x, &parts);
        assert_eq!(report.duplicates_across.count, 40);
        assert_eq!(report.duplicates_across.examples.len(), EXAMPLES);
        assert_eq!(report.duplicates_within.count, 9 + 39);
        assert_eq!(report.near_duplicates.count, 0);
    }

    #[test]
    fn ids_and_classes() {
        let x = Array2::from_shape_fn((4, 4), |(i, j)| if i == j { 1.0 } else { 0.0 });
        let labels = Labels::parse(["a", "b", "a", ""]);
        let ids: Vec<String> = ["p", "q", "p", "r"].map(String::from).to_vec();
        let parts = [Train, Train, Test, Test];
        let options = |class_disjoint| Options {
            class_disjoint,
            ..Options::default()
        };
        let run = |o| {
            check(
                x.view(),
                &parts,
                Some(&labels),
                Some(&ids),
                o,
                &Monitor::silent(),
            )
        };
        let report = run(options(true)).unwrap();
        assert_eq!(report.duplicate_ids.examples, [(0, 2)]);
        assert_eq!(report.shared_classes, [0]);
        assert!(run(options(false)).unwrap().shared_classes.is_empty());
        assert!(
            run(Options {
                near: f32::NAN,
                ..options(true)
            })
            .is_err()
        );
    }

    #[test]
    fn clean_empty_and_bad_input() {
        assert!(run(&array![[1.0, 0.0], [0.0, 1.0]], &[Train, Test]).is_clean());
        assert!(run(&Array2::zeros((0, 3)), &[]).is_clean());
        assert!(run(&array![[1.0], [-1.0]], &[Test, Test]).is_clean());
        let x = array![[1.0], [f32::NAN]];
        let check = |parts: &[Part]| {
            check(
                x.view(),
                parts,
                None,
                None,
                Options::default(),
                &Monitor::silent(),
            )
        };
        assert!(check(&[Train]).is_err());
        assert!(check(&[Train, Test]).is_err());
    }

    #[test]
    fn one_large_column_makes_no_duplicates() {
        use rand::RngExt;
        // As a table: one column of thousands, which hides the others from the cosine.
        let mut rng = seed::stream(0, "a table");
        let mut drawn = || rng.random_range(0.0_f32..2.0);
        let mut x = Array2::from_shape_fn((40, 13), |(_, j)| match j {
            0 => 1000.0 + 10.0 * drawn(),
            _ => drawn(),
        });
        let parts: Vec<Part> = (0..40)
            .map(|i| if i < 30 { Part::Train } else { Part::Test })
            .collect();
        let found = |x: &Array2<f32>| {
            let monitor = Monitor::silent();
            check(x.view(), &parts, None, None, Options::default(), &monitor)
                .unwrap()
                .near_duplicates
        };
        assert_eq!(found(&x).count, 0);
        // One that is nearly another is found all the same.
        let copy = x.row(4).mapv(|v| v * 1.001);
        x.row_mut(35).assign(&copy);
        x[(35, 2)] += 1e-2;
        assert_eq!(found(&x).examples, [(4, 35)]);
    }

    #[test]
    fn few_columns_of_different_units_make_no_duplicates() {
        use rand::RngExt;
        let mut rng = seed::stream(1, "a table");
        let size = [60.0, 6.0, 3.0, 0.5];
        let mut x = Array2::from_shape_fn((400, 4), |(_, j)| {
            size[j] * (1.0 + 0.1 * rng.random::<f32>())
        });
        let parts: Vec<Part> = (0..400).map(|i| [Train, Test][i / 300]).collect();
        // By the cosine of the columns as they are some 65, whatever is drawn.
        assert!(run(&x, &parts).near_duplicates.count < 5);
        let copy = x.row(4).mapv(|v| v * 1.000_01);
        x.row_mut(350).assign(&copy);
        assert!(run(&x, &parts).near_duplicates.examples.contains(&(4, 350)));
    }

    #[test]
    fn a_few_columns_of_one_size_make_no_duplicates() {
        use rand::RngExt;
        let mut rng = seed::stream(2, "a table");
        let mut x = Array2::from_shape_fn((2000, 3), |_| rng.random_range(-1.0_f32..1.0));
        let copy = x.row(4).mapv(|v| v + 1e-4);
        x.row_mut(1900).assign(&copy);
        let parts: Vec<Part> = (0..2000).map(|i| [Train, Test][i / 1500]).collect();
        let found = run(&x, &parts).near_duplicates;
        assert!(found.examples.contains(&(4, 1900)));
        // Of 500 directions some 40 are that near to one of 1,500.
        assert!(found.count < 10, "{}", found.count);
    }
}
