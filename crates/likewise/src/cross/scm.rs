//! Semantic correlation maximisation: bits whose products say whether two rows share a class.
//!
//! ```text
//! S = 2 L_x L_y^T - 1 1^T                  1 where classes agree, -1 elsewhere; never formed
//! G = q X^T S Y                            X, Y centred, q: number of bits
//! bit: max wx^T R wy  with  wx^T X^T X wx = 1, wy^T Y^T Y wy = 1
//! ```
//!
//! *Sequentially* (the default): `R = G` at first, and after each bit, with `hx = sign(X wx)` and
//! `hy = sign(Y wy)`, `R -= (X^T hx) (Y^T hy)^T`: the next bit learns what is still missing. Once
//! a direction would count more than the one before it, the bits that are left take the first
//! canonical correlations of the pairs. *Orthogonally*: all directions of `G` at once; no more
//! than the number of classes less 1 say anything of them, and `fill` chooses what the other bits
//! are.
//!
//! **Use it** for a linear map to bits that is learned in seconds. **Not** where a kernel pays
//! (digits, textures): [`Gsph`](super::Gsph) finds much more; and not orthogonally with more
//! bits than classes. Nor where the unit of a modality is of chance: the ridge is added to the sums of
//! squares as they are, as published, so that the same rows in another unit give other bits.
//!
//! Cost: O(n d^2 + d^3 + q (m^3 + n d)) in `f64`, m the smaller number of columns; memory
//! O(n d + d^2).
//!
//! Source: Zhang and Li, "Large-scale supervised multimodal hashing with semantic correlation
//! maximization", AAAI 2014; the rule that ends the sequence, and what follows it, are those of
//! published code. Ours: weights, and rows without a pair. Where there are no pairs, or too few
//! canonical directions, the sequence goes on in place of them. The ridge is at least 1e-8 of the mean sum of squares, unless it is to be [as given](Scm::author_ridge).
//! A sign of 0 is 1 in learning as in encoding. Bits past the number of directions are random mixtures of those that say
//! something, not constant.

use ndarray::{Array1, Array2, ArrayView1, Axis, concatenate, s};
use serde::{Deserialize, Serialize};

use super::canonical::{Directions, White};
use super::parts::{Side, check_bits, check_positive, class_sums, normal, scaled, signs, times};
use super::{Encoder, Hashed, Learned, Model, Views};
use crate::linear::{Affine, spd::cross};
use crate::{Monitor, Result, seed};

/// A direction that counts less than this beside the first one says nothing.
const NOTHING: f64 = 1e-10;

/// How the bits are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bits {
    /// One after the other, each for what is still missing.
    #[default]
    Sequential,
    /// All at once; with more bits than directions of the classes the rest is filled so.
    Orthogonal(Fill),
}

/// What bits are for which the classes have no direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fill {
    /// Random mixtures of the directions of the classes.
    #[default]
    Mixtures,
    /// Canonical correlations of the pairs.
    Correlations,
    /// Directions that are as good as any other, as published code leaves them.
    Arbitrary,
}

/// Least ridge, as a share of the mean sum of squares: with less those of fewer rows than columns are singular in rounding.
const LEAST: f64 = 1e-8;

/// Parameters of semantic correlation maximisation; see [`scm`](self).
///
/// ```
/// use likewise::{Monitor, cross::{Scm, Views}};
/// let x = ndarray::array![[0.0, 1.0], [0.1, 0.2], [2.0, 0.9], [2.1, 0.1_f32]];
/// let y = ndarray::array![[5.0], [5.1], [1.0], [1.2_f32]];
/// let views = Views::paired(&[x.view(), y.view()], &[0, 0, 1, 1], &[1.0; 4])?;
/// let found = Scm::new().bits(8).fit(&views, 7, &Monitor::silent())?;
/// assert_eq!(found.model.encoders[0].output_dim(), 8);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scm {
    bits: usize,
    how: Bits,
    ridge: f64,
    author_ridge: bool,
}

impl Default for Scm {
    fn default() -> Self {
        Self {
            bits: 64,
            how: Bits::default(),
            ridge: 1e-6,
            author_ridge: false,
        }
    }
}

impl Scm {
    /// 64 bits, sequentially, as published.
    pub fn new() -> Self {
        Self::default()
    }

    /// 64 bits, orthogonally, as published.
    pub fn orthogonal() -> Self {
        Self::default().how(Bits::Orthogonal(Fill::Arbitrary))
    }

    /// Number of bits.
    #[must_use]
    pub fn bits(mut self, bits: usize) -> Self {
        self.bits = bits;
        self
    }

    /// How the bits are found.
    #[must_use]
    pub fn how(mut self, how: Bits) -> Self {
        self.how = how;
        self
    }

    /// What is added to the sums of squares `X^T X`, in their unit, above 0; at least 1e-8 of their mean, so that
    /// fewer rows than columns can be fitted.
    #[must_use]
    pub fn ridge(mut self, ridge: f64) -> Self {
        self.ridge = ridge;
        self
    }

    /// Whether the ridge is what is given, however small, as in the published code.
    #[must_use]
    pub fn author_ridge(mut self, author_ridge: bool) -> Self {
        self.author_ridge = author_ridge;
        self
    }

    /// Checks the parameters.
    pub fn validate(&self) -> Result<()> {
        check_bits("scm.bits", self.bits)?;
        check_positive("scm.ridge", self.ridge)
    }

    /// An encoder for each of two modalities, from the labels of their rows.
    ///
    /// Fails on a parameter out of range, unless there are two modalities with labeled rows, and
    /// when cancelled.
    pub fn fit(&self, views: &Views, seed: u64, monitor: &Monitor) -> Result<Hashed> {
        self.validate()?;
        views.check_two("semantic correlation maximisation")?;
        let (sides, classes) = Side::all(views)?;
        let problem = Problem::of(&sides[0], &sides[1], classes, self)?;
        let (wx, wy) = match self.how {
            Bits::Sequential => problem.sequential(self.bits, monitor)?,
            Bits::Orthogonal(fill) => problem.orthogonal(self.bits, fill, seed)?,
        };
        let encoder = |side: &Side, matrix| Encoder::Bits {
            map: Affine {
                mean: side.mean.clone(),
                matrix,
            },
            offset: Array1::zeros(self.bits),
        };
        let encoders = vec![encoder(&sides[0], wx), encoder(&sides[1], wy)];
        Ok(Hashed {
            model: Model { encoders },
            learned: Vec::<Learned>::new(),
        })
    }
}

/// What the bits are looked for in, in the space where both modalities are white.
struct Problem<'a> {
    x: &'a Array2<f64>,
    y: &'a Array2<f64>,
    weight: [&'a [f64]; 2],
    white: White,
    /// `Lx^-1 G Ly^-T`.
    semantic: Array2<f64>,
    /// The same of the pairs, where there are some.
    paired: Option<Array2<f64>>,
}

impl<'a> Problem<'a> {
    fn of(x: &'a Side, y: &'a Side, classes: usize, scm: &Scm) -> Result<Self> {
        let squares = |side: &Side| {
            let mut squares = cross(&side.x, &scaled(&side.x, &side.weight));
            let mean = squares.diag().sum() / side.x.ncols() as f64;
            let least = if scm.author_ridge { 0.0 } else { LEAST * mean };
            let ridge = scm.ridge.max(least);
            squares.diag_mut().mapv_inplace(|v| v + ridge);
            squares
        };
        let white = White::of(&squares(x), &squares(y), "give a larger scm.ridge")?;
        let sums = |side: &Side| class_sums(&side.x, &side.class, &side.weight, classes);
        let (sx, sy) = (sums(x), sums(y));
        let whole = |sums: &Array2<f64>| sums.sum_axis(Axis(0)).insert_axis(Axis(0));
        let g = 2.0 * cross(&sx, &sy) - cross(&whole(&sx), &whole(&sy));
        let semantic = white.whiten(&(g * scm.bits as f64));
        let paired = pairs(x, y).map(|(left, right)| white.whiten(&cross(&left, &right)));
        Ok(Self {
            x: &x.x,
            y: &y.x,
            weight: [&x.weight, &y.weight],
            white,
            semantic,
            paired,
        })
    }

    fn sequential(&self, bits: usize, monitor: &Monitor) -> Result<(Array2<f64>, Array2<f64>)> {
        let correlations = match &self.paired {
            Some(paired) => Some(self.white.directions(paired)?),
            None => None,
        };
        let most = correlations.as_ref().map_or(0, |all| all.values.len());
        let mut residual = self.semantic.clone();
        let mut found = Vec::with_capacity(bits);
        let (mut last, mut ended) = (f64::INFINITY, false);
        monitor.start("bits", bits as u64);
        for bit in 0..bits {
            // Once it has ended, the last bit takes the first correlation, the one before it the
            // second, and so on.
            let rank = bits - 1 - bit;
            if let (true, Some(all)) = (ended && rank < most, &correlations) {
                found.push(all.at(rank));
                continue;
            }
            let best = self.white.first(&residual)?;
            if !ended && best.values[0] > last {
                ended = true;
                if let (true, Some(all)) = (rank < most, &correlations) {
                    found.push(all.at(rank));
                    continue;
                }
            }
            last = best.values[0];
            residual -= &self.explained(&best);
            found.push(best);
            monitor.step(bit as u64 + 1)?;
        }
        monitor.end();
        Ok(joined(&found))
    }

    /// What the bits of a direction explain: `(X^T hx) (Y^T hy)^T`, white.
    fn explained(&self, of: &Directions) -> Array2<f64> {
        let sum = |x: &Array2<f64>, w: &Array2<f64>, weight: &[f64]| {
            let mut h = signs(&times(x, w));
            h.column_mut(0)
                .zip_mut_with(&ArrayView1::from(weight), |h, w| *h *= w);
            cross(x, &h)
        };
        let left = sum(self.x, &of.x, self.weight[0]);
        let right = sum(self.y, &of.y, self.weight[1]);
        self.white.whiten(&left.dot(&right.t()))
    }

    fn orthogonal(&self, bits: usize, fill: Fill, seed: u64) -> Result<(Array2<f64>, Array2<f64>)> {
        let all = self.white.directions(&self.semantic)?;
        let least = NOTHING * all.values[0];
        let telling = all.values.iter().filter(|&&v| v > least).count().max(1);
        let first = all.clone().keep(bits.min(telling));
        let mut parts = vec![first.clone()];
        let missing =
            |parts: &[Directions]| bits - parts.iter().map(|part| part.values.len()).sum::<usize>();
        match (fill, &self.paired) {
            (Fill::Arbitrary, _) => parts = vec![all.keep(bits)],
            (Fill::Correlations, Some(paired)) => {
                let others = self.white.directions(paired)?;
                parts.push(others.keep(missing(&parts)));
            }
            _ => {}
        }
        let rest = missing(&parts);
        let mut rng = seed::stream(seed, "mixtures of scm");
        let mixture = normal((first.values.len(), rest), &mut rng);
        parts.push(Directions {
            x: times(&first.x, &mixture),
            y: times(&first.y, &mixture),
            values: Array1::zeros(rest),
        });
        Ok(joined(&parts))
    }
}

impl Directions {
    /// One of them.
    fn at(&self, i: usize) -> Self {
        Self {
            x: self.x.slice(s![.., i..=i]).to_owned(),
            y: self.y.slice(s![.., i..=i]).to_owned(),
            values: self.values.slice(s![i..=i]).to_owned(),
        }
    }
}

fn joined(parts: &[Directions]) -> (Array2<f64>, Array2<f64>) {
    let all = |of: fn(&Directions) -> &Array2<f64>| {
        let views: Vec<_> = parts.iter().map(|part| of(part).view()).collect();
        match concatenate(Axis(1), &views) {
            Ok(all) => all,
            Err(_) => unreachable!("directions of the same columns"),
        }
    };
    (all(|d| &d.x), all(|d| &d.y))
}

/// The rows that show the same object, times the root of their weight; none without such.
fn pairs(x: &Side, y: &Side) -> Option<(Array2<f64>, Array2<f64>)> {
    // Both ascend by row, not by object.
    let objects = x
        .object
        .iter()
        .chain(&y.object)
        .max()
        .map_or(0, |&last| last + 1);
    let mut row_of = vec![None; objects];
    for (row, &object) in y.object.iter().enumerate() {
        row_of[object] = Some(row);
    }
    let both = x.object.iter().enumerate();
    let (left, right): (Vec<usize>, Vec<usize>) = both
        .filter_map(|(row, &object)| Some((row, row_of[object]?)))
        .unzip();
    if left.is_empty() {
        return None;
    }
    let weight: Vec<f64> = left.iter().map(|&row| x.weight[row].sqrt()).collect();
    let part = |x: &Array2<f64>, rows: &[usize]| scaled(&x.select(Axis(0), rows), &weight);
    Some((part(&x.x, &left), part(&y.x, &right)))
}

#[cfg(test)]
mod tests {
    use ndarray::ArrayView2;

    use super::super::check_values::{self, Rows, read};
    use super::super::parts::tests::{close, found, two_modalities};
    use super::*;
    use crate::reference::in_one_and_two_threads;

    #[derive(Deserialize)]
    struct Step {
        eigenvalue_s2: f64,
        hx: Option<Vec<f64>>,
        hy: Option<Vec<f64>>,
    }

    #[derive(Deserialize)]
    struct Case {
        labels: Vec<usize>,
        #[serde(rename = "XtSY")]
        product: Rows,
        #[serde(rename = "seq_Wx_cols")]
        sequence_x: Rows,
        #[serde(rename = "seq_Wy_cols")]
        sequence_y: Rows,
        seq_steps: Vec<Step>,
        #[serde(rename = "orth_Wx")]
        at_once_x: Rows,
        #[serde(rename = "orth_Wy")]
        at_once_y: Rows,
        orth_singular: Vec<f64>,
        #[serde(rename = "cca_fallback_Wx_desc")]
        correlations_x: Rows,
        #[serde(rename = "cca_fallback_Wy_desc")]
        correlations_y: Rows,
    }

    fn case() -> Case {
        read(include_str!("check_values/scm.json"))
    }

    /// Three bits in sequence; the fourth ends it and takes the first canonical correlation.
    fn sequence(case: &Case) -> [Array2<f64>; 2] {
        [
            (&case.sequence_x, &case.correlations_x),
            (&case.sequence_y, &case.correlations_y),
        ]
        .map(|(bits, rest)| {
            let first = rest.0.slice(s![..1, ..]);
            let all = concatenate(Axis(0), &[bits.0.view(), first]).unwrap();
            all.reversed_axes()
        })
    }

    fn published() -> (Side, Side) {
        let (x, y) = check_values::rows();
        let labels = case().labels;
        let side = |x: Array2<f64>| Side {
            rows: (0..20).collect(),
            mean: Array1::zeros(x.ncols()),
            x,
            class: labels.clone(),
            weight: vec![1.0; 20],
            object: (0..20).collect(),
        };
        (side(x), side(y))
    }

    #[test]
    fn published_values_in_sequence() {
        let case = case();
        let (x, y) = published();
        let scm = Scm::new().bits(4);
        let problem = Problem::of(&x, &y, 4, &scm).unwrap();
        let (wx, wy) = problem.sequential(4, &Monitor::silent()).unwrap();
        let [expected_x, expected_y] = sequence(&case);
        assert!(close(&wx, &expected_x, 1e-7), "{wx}");
        assert!(close(&wy, &expected_y, 1e-7), "{wy}");
        let mut residual = problem.semantic.clone();
        for step in &case.seq_steps {
            let best = problem.white.first(&residual).unwrap();
            assert!((best.values[0].powi(2) / step.eigenvalue_s2 - 1.0).abs() < 1e-9);
            for (side, w, h) in [(&x, &best.x, &step.hx), (&y, &best.y, &step.hy)] {
                let found = times(&side.x, w)
                    .mapv(f64::signum)
                    .into_raw_vec_and_offset();
                assert!(h.as_ref().is_none_or(|h| *h == found.0));
            }
            residual -= &problem.explained(&best);
        }
    }

    /// The rows as they are given, in `f32`; the ridge is above the least one there.
    #[test]
    fn published_values_by_fit() {
        let case = case();
        let (x, y) = check_values::raw();
        let means = [&x, &y].map(|x| x.mean_axis(Axis(0)).unwrap());
        let [x, y] = [x, y].map(|x| x.mapv(|v| v as f32));
        let class: Vec<u32> = case.labels.iter().map(|&c| c as u32).collect();
        let views = Views::paired(&[x.view(), y.view()], &class, &[1.0; 20]).unwrap();
        for author in [false, true] {
            let scm = Scm::new().bits(4).author_ridge(author);
            let found = scm.fit(&views, 0, &Monitor::silent()).unwrap();
            for (t, expected) in sequence(&case).iter().enumerate() {
                check_values::check_encoder(&found.model, t, &means[t], expected);
            }
        }
    }

    #[test]
    fn published_values_of_the_pairs() {
        let case = case();
        let (x, y) = published();
        let problem = Problem::of(&x, &y, 4, &Scm::new().bits(4)).unwrap();
        let pairs = problem.white.directions(problem.paired.as_ref().unwrap());
        let pairs = pairs.unwrap().keep(4);
        for (found, expected) in [
            (&pairs.x, case.correlations_x),
            (&pairs.y, case.correlations_y),
        ] {
            assert!(close(found, &expected.turned(), 1e-7), "{found}");
        }
    }

    #[test]
    fn published_values_at_once() {
        let case = case();
        let (x, y) = published();
        let problem = Problem::of(&x, &y, 4, &Scm::new().bits(4)).unwrap();
        let all = problem.white.directions(&problem.semantic).unwrap();
        let mut singular = all.values.iter().zip(&case.orth_singular);
        assert!(
            singular.all(|(a, b)| (a - b).abs() < 1e-9),
            "{}",
            all.values
        );
        // Four classes have three directions; the fourth is arbitrary.
        let found = problem.orthogonal(3, Fill::Arbitrary, 0).unwrap();
        for (found, expected) in [(&found.0, case.at_once_x), (&found.1, case.at_once_y)] {
            let expected = expected.0.slice(s![.., ..3]).to_owned();
            assert!(close(found, &expected, 1e-7), "{found}");
        }
    }

    #[test]
    fn the_semantic_product_is_that_of_the_full_matrix() {
        let (x, y) = published();
        let s = Array2::from_shape_fn(
            (20, 20),
            |(i, j)| {
                if x.class[i] == y.class[j] { 1.0 } else { -1.0 }
            },
        );
        let problem = Problem::of(&x, &y, 4, &Scm::new().bits(4)).unwrap();
        let product = x.x.t().dot(&s).dot(&y.x);
        assert!(close(&product, &case().product.0, 1e-10), "{product}");
        let full = problem.white.whiten(&(4.0 * product));
        assert!(close(&full, &problem.semantic, 1e-10));
    }

    #[test]
    fn classes_are_found_with_and_without_pairs() {
        let ([x, y], class) = two_modalities(4, 20, 0.15, 1);
        let ones = [1.0; 80];
        let paired = Views::paired(&[x.view(), y.view()], &class, &ones).unwrap();
        let sides: [(ArrayView2<f32>, &[u32], &[f32]); 2] =
            [(x.view(), &class, &ones), (y.view(), &class, &ones)];
        let apart = Views::unpaired(&sides).unwrap();
        let orthogonal = |fill| Scm::new().how(Bits::Orthogonal(fill));
        for scm in [
            Scm::new(),
            orthogonal(Fill::Mixtures),
            orthogonal(Fill::Correlations),
        ] {
            for views in [&paired, &apart] {
                for bits in [3, 16, 40] {
                    let run = || scm.bits(bits).fit(views, 1, &Monitor::silent()).unwrap();
                    let (one, two) = in_one_and_two_threads(run);
                    assert_eq!(one, two);
                    let share = found(&one.model, &[x.clone(), y.clone()], &class);
                    assert!(
                        share > if bits == 3 { 0.4 } else { 0.6 },
                        "{scm:?} {bits}: {share}"
                    );
                }
            }
        }
        let arbitrary = Scm::orthogonal()
            .bits(16)
            .fit(&paired, 1, &Monitor::silent());
        assert_eq!(arbitrary.unwrap().model.encoders[1].output_dim(), 16);
    }

    #[test]
    fn weights_are_multiplicities_and_zero_is_absence() {
        let ([x, y], class) = two_modalities(4, 6, 0.5, 1);
        let weight: Vec<f32> = (0..24).map(|i| (i % 3) as f32).collect();
        let rows: Vec<usize> = (0..24).flat_map(|i| vec![i; i % 3]).collect();
        let (xs, ys) = (x.select(Axis(0), &rows), y.select(Axis(0), &rows));
        let classes: Vec<u32> = rows.iter().map(|&i| class[i]).collect();
        let weighted = Views::paired(&[x.view(), y.view()], &class, &weight).unwrap();
        let repeated = Views::paired(&[xs.view(), ys.view()], &classes, &vec![1.0; rows.len()]);
        let fit = |views: &Views| {
            let found = Scm::new()
                .bits(6)
                .fit(views, 0, &Monitor::silent())
                .unwrap();
            found.model.encoders[0].scores(x.view()).unwrap()
        };
        let (a, b) = (fit(&weighted), fit(&repeated.unwrap()));
        assert!((&a - &b).iter().all(|e| e.abs() < 1e-4));
    }

    #[test]
    fn degenerate_classes_and_parameters() {
        let ([x, y], class) = two_modalities(2, 3, 0.4, 5);
        let fit = |scm: Scm, x: &Array2<f32>, class: &[u32], weight: &[f32]| {
            let views = Views::paired(&[x.view(), y.view()], class, weight).unwrap();
            scm.fit(&views, 0, &Monitor::silent())
        };
        for how in [Bits::Sequential, Bits::Orthogonal(Fill::Mixtures)] {
            let scm = Scm::new().how(how).bits(16);
            for x in [&x, &Array2::ones((6, 3))] {
                for class in [&class, &vec![0; 6]] {
                    let found = fit(scm, x, class, &[1.0; 6]).unwrap();
                    assert!(found.model.encode(0, x.view()).is_ok());
                }
            }
        }
        // More columns than rows, in a large unit.
        let wide = Array2::from_shape_fn((6, 20), |(i, j)| 1e3 * ((i * 7 + j * 3) % 11) as f32);
        let found = fit(Scm::new(), &wide, &class, &[1.0; 6]).unwrap();
        assert!(found.model.encode(0, wide.view()).is_ok());
        let said = fit(Scm::new().author_ridge(true), &wide, &class, &[1.0; 6]).unwrap_err();
        assert!(said.to_string().contains("scm.ridge"), "{said}");
        assert!(fit(Scm::new(), &x, &class, &[0.0; 6]).is_err());
        assert!(fit(Scm::new().bits(0), &x, &class, &[1.0; 6]).is_err());
        assert!(fit(Scm::new().ridge(0.0), &x, &class, &[1.0; 6]).is_err());
    }
}
