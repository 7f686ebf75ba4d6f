//! Supervised matrix factorisation hashing: one factor for both rows of an object, smooth over the
//! neighbours of either and over its class.
//!
//! ```text
//! J = a |X_1 - S U_1^T|^2 + (1 - a) |X_2 - S U_2^T|^2 + b sum_t |S - X_t P_t|^2
//!     + g tr(S^T (Lap_1 + Lap_2 + Lap_label) S) + r (squares of S and all U, P)
//! bit = (x - mean) P_t - mean of the columns of S, 1 where it is at least 0
//! ```
//!
//! with rows as objects, `Lap_t` the Laplacian of the 5 nearest neighbours of modality `t`, and
//! `Lap_label` that of all pairs of a class. Each factor in turn minimises `J`. For `S` that is a
//! Sylvester equation: in the directions of `a U_1^T U_1 + (1 - a) U_2^T U_2` its columns part, and
//! each is solved by conjugate gradients, where the pairs of a class are taken as sums.
//!
//! **Use it** where linear maps to bits are wanted that respect neighbours. **Not** for objects
//! without both rows or without a label: they are left out. [`Gsph`](super::Gsph) finds more.
//!
//! Cost: O(sweeps n q (d + q + steps neighbours)) beside the search for neighbours (of up to 50,000 rows each with each, O(n^2 d);
//! of more by an index that finds 95 % of them), with the steps of
//! conjugate gradients, up to 1000 (a warning says where that does not do); memory O(n (d + q)).
//!
//! Source: Tang, Wang and Shao, "Supervised matrix factorization hashing for cross-modal
//! retrieval", IEEE Transactions on Image Processing 2016. Published code decomposes the whole
//! Laplacian, O(n^3), and so takes few rows; the equation is solved exactly here without it. It
//! stops when `J` falls by less than 1, whatever its size ([`author_stop`](Smfh::author_stop)); here that is a share of it.
//! Few rows take long: of 150 digits the first 100 sweeps end at a MAP@50 of .31, and some hundreds more at .48. A bit is
//! 1 at its threshold too, as all bits here are. Ours: weights, but for the neighbours.

use ndarray::{Array2, Axis};
use serde::{Deserialize, Serialize};

use super::lcmf::{regression, solved};
use super::nearby::{Links, Solver};
use super::parts::{
    Side, check_bits, check_positive, mean, scaled, square, times, times_transposed, uniform,
};
use super::{Encoder, Hashed, Learned, Model, Views};
use crate::code::Codes;
use crate::linear::Affine;
use crate::linear::spd::{cross, eigen};
use crate::{Error, Monitor, Result, seed};

/// Share of the right side that a solution may leave.
const EXACT: f64 = 1e-11;

/// Parameters of supervised matrix factorisation hashing; see [`smfh`](self).
///
/// ```
/// use likewise::{Monitor, cross::{Smfh, Views}};
/// let x = ndarray::array![[0.0, 1.0], [0.1, 0.2], [2.0, 0.9], [2.1, 0.1_f32]];
/// let y = ndarray::array![[5.0], [5.1], [1.0], [1.2_f32]];
/// let views = Views::paired(&[x.view(), y.view()], &[0, 0, 1, 1], &[1.0; 4])?;
/// let found = Smfh::new().bits(8).fit(&views, 7, &Monitor::silent())?;
/// assert_eq!(found.model.encoders[1].output_dim(), 8);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Smfh {
    bits: usize,
    neighbors: usize,
    alpha: f64,
    beta: f64,
    gamma: f64,
    ridge: f64,
    max_sweeps: usize,
    tolerance: f64,
    author_stop: bool,
}

impl Default for Smfh {
    fn default() -> Self {
        Self {
            bits: 64,
            neighbors: 5,
            alpha: 0.5,
            beta: 100.0,
            gamma: 1.0,
            ridge: 0.01,
            max_sweeps: 1000,
            tolerance: 1e-4,
            author_stop: false,
        }
    }
}

impl Smfh {
    /// 64 bits, 5 neighbours, 1000 sweeps at most, and the published weights of the terms.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of bits.
    #[must_use]
    pub fn bits(mut self, bits: usize) -> Self {
        self.bits = bits;
        self
    }

    /// Nearest neighbours of a row; 0 for none.
    #[must_use]
    pub fn neighbors(mut self, neighbors: usize) -> Self {
        self.neighbors = neighbors;
        self
    }

    /// `a`, the share of the first modality; between 0 and 1.
    #[must_use]
    pub fn alpha(mut self, alpha: f64) -> Self {
        self.alpha = alpha;
        self
    }

    /// `b`, the weight of the maps to bits; above 0.
    #[must_use]
    pub fn beta(mut self, beta: f64) -> Self {
        self.beta = beta;
        self
    }

    /// `g`, the weight of neighbours and classes; above 0.
    #[must_use]
    pub fn gamma(mut self, gamma: f64) -> Self {
        self.gamma = gamma;
        self
    }

    /// `r`, the weight of the squares; above 0.
    #[must_use]
    pub fn ridge(mut self, ridge: f64) -> Self {
        self.ridge = ridge;
        self
    }

    /// Most sweeps over the factors; reaching it is no error.
    #[must_use]
    pub fn max_sweeps(mut self, max_sweeps: usize) -> Self {
        self.max_sweeps = max_sweeps;
        self
    }

    /// The sweeps end when `J` falls by less than this share of it.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Whether the sweeps end as in the published code: when `J` falls by less than 1, whatever the tolerance.
    #[must_use]
    pub fn author_stop(mut self, author_stop: bool) -> Self {
        self.author_stop = author_stop;
        self
    }

    /// Checks the parameters.
    pub fn validate(&self) -> Result<()> {
        check_bits("smfh.bits", self.bits)?;
        for (field, value) in [
            ("smfh.beta", self.beta),
            ("smfh.gamma", self.gamma),
            ("smfh.ridge", self.ridge),
            ("smfh.tolerance", self.tolerance),
        ] {
            check_positive(field, value)?;
        }
        if !(self.alpha > 0.0 && self.alpha < 1.0) {
            let rule = "must be above 0 and below 1";
            return Err(Error::parameter("smfh.alpha", self.alpha, rule));
        }
        if self.max_sweeps == 0 {
            return Err(Error::parameter("smfh.max_sweeps", 0, "must be at least 1"));
        }
        Ok(())
    }

    /// Encoders of two modalities, from the labeled objects that are seen in both.
    ///
    /// Fails on a parameter out of range, unless there are two modalities and such an object, and
    /// when cancelled.
    pub fn fit(&self, views: &Views, seed: u64, monitor: &Monitor) -> Result<Hashed> {
        self.validate()?;
        views.check_two("supervised matrix factorisation hashing")?;
        let known = |row: usize| views.weight()[views.object(0)[row]] > 0.0;
        let pairs: Vec<(usize, usize)> = views
            .pairs(0, 1)
            .into_iter()
            .filter(|p| known(p.0))
            .collect();
        if pairs.is_empty() {
            return Err(Error::data(
                "smfh needs labeled objects that are seen in both modalities; gsph needs no pairs",
            ));
        }
        let (sides, classes) = Side::all(views)?;
        let place = |t: usize, row: usize| {
            let place = sides[t].rows.binary_search(&row);
            place.unwrap_or_else(|_| unreachable!("a labeled row is in its side"))
        };
        let rows: [Vec<usize>; 2] = [
            pairs.iter().map(|p| place(0, p.0)).collect(),
            pairs.iter().map(|p| place(1, p.1)).collect(),
        ];
        let weight: Vec<f64> = rows[0].iter().map(|&i| sides[0].weight[i]).collect();
        let class: Vec<usize> = rows[0].iter().map(|&i| sides[0].class[i]).collect();
        let mut means = Vec::with_capacity(2);
        let x = [0, 1].map(|t: usize| {
            let x = sides[t].x.select(Axis(0), &rows[t]);
            let shift = mean(&x, &weight);
            means.push(&sides[t].mean + &shift);
            x - &shift
        });
        let objects: Vec<usize> = (0..pairs.len()).collect();
        let links = |x: &Array2<f64>| {
            Links::nearest(
                x,
                self.neighbors,
                (&objects, pairs.len()),
                |_, _| 1.0,
                monitor,
            )
        };
        let links = vec![links(&x[0])?, links(&x[1])?];
        let problem = Problem::new(x, weight, class, classes, links, *self);
        let mut factors = problem.start(&mut seed::stream(seed, "factors of smfh"));
        problem.solve(&mut factors, monitor)?;
        let offset = mean(&factors.s, &problem.weight);
        let learned = Codes::from_signs64((&factors.s - &offset).view())?;
        let (mut encoders, mut codes) = (Vec::with_capacity(2), Vec::with_capacity(2));
        for (t, mean) in means.into_iter().enumerate() {
            encoders.push(Encoder::Bits {
                map: Affine {
                    mean,
                    matrix: factors.p[t].clone(),
                },
                offset: offset.clone(),
            });
            codes.push(of_rows(&rows[t], &sides[t].rows, &learned));
        }
        Ok(Hashed {
            model: Model { encoders },
            learned: codes,
        })
    }
}

/// The codes by ascending row.
fn of_rows(places: &[usize], rows: &[usize], codes: &Codes) -> Learned {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_unstable_by_key(|&i| places[i]);
    Learned {
        rows: order.iter().map(|&i| rows[places[i]]).collect(),
        codes: codes.select(&order),
    }
}

struct Problem {
    x: [Array2<f64>; 2],
    weight: Vec<f64>,
    class: Vec<usize>,
    classes: usize,
    links: Vec<Links>,
    /// The diagonal of the Laplacians together.
    degrees: Vec<f64>,
    given: Smfh,
    solver: Solver,
}

struct Factors {
    s: Array2<f64>,
    u: [Array2<f64>; 2],
    p: [Array2<f64>; 2],
}

impl Problem {
    fn new(
        x: [Array2<f64>; 2],
        weight: Vec<f64>,
        class: Vec<usize>,
        classes: usize,
        links: Vec<Links>,
        given: Smfh,
    ) -> Self {
        let mut sizes = vec![0.0; classes];
        for (&class, w) in class.iter().zip(&weight) {
            sizes[class] += w;
        }
        let own = class.iter().zip(&weight);
        let mut degrees: Vec<f64> = own.map(|(&class, w)| w * sizes[class]).collect();
        for links in &links {
            for (sum, degree) in degrees.iter_mut().zip(links.degrees()) {
                *sum += degree;
            }
        }
        Self {
            x,
            weight,
            class,
            classes,
            links,
            degrees,
            given,
            solver: Solver::new(EXACT),
        }
    }

    fn start(&self, rng: &mut seed::Rng) -> Factors {
        let q = self.given.bits;
        let s = uniform((self.weight.len(), q), rng);
        let mut maps = || [0, 1].map(|t: usize| uniform((self.x[t].ncols(), q), rng));
        let (u, p) = (maps(), maps());
        Factors { s, u, p }
    }

    fn solve(&self, f: &mut Factors, monitor: &Monitor) -> Result<Vec<f64>> {
        let mut history = vec![self.objective(f)];
        monitor.start("sweeps", self.given.max_sweeps as u64);
        for sweep in 0..self.given.max_sweeps {
            self.sweep(f, monitor)?;
            let (last, value) = (history[sweep], self.objective(f));
            history.push(value);
            monitor.step(sweep as u64 + 1)?;
            let done = if self.given.author_stop {
                last - value < 1.0
            } else {
                last - value <= self.given.tolerance * last
            };
            if done {
                break;
            }
        }
        monitor.end();
        Ok(history)
    }

    fn shares(&self) -> [f64; 2] {
        [self.given.alpha, 1.0 - self.given.alpha]
    }

    fn sweep(&self, f: &mut Factors, monitor: &Monitor) -> Result<()> {
        let Smfh { beta, ridge, .. } = self.given;
        let q = self.given.bits;
        let mut own = Array2::<f64>::eye(q) * (2.0 * beta + ridge);
        let mut right = Array2::<f64>::zeros(f.s.dim());
        for (t, share) in self.shares().into_iter().enumerate() {
            f.u[t] = regression(&self.x[t], &f.s, &self.weight, ridge / share)?;
            own.scaled_add(share, &cross(&f.u[t], &f.u[t]));
            right.scaled_add(share, &times(&self.x[t], &f.u[t]));
            right.scaled_add(beta, &times(&self.x[t], &f.p[t]));
        }
        f.s = self.sylvester(&own, &scaled(&right, &self.weight), &f.s, monitor)?;
        for (t, (x, p)) in self.x.iter().zip(&mut f.p).enumerate() {
            let weighed = scaled(x, &self.weight);
            let turned = solved(cross(x, &weighed), ridge / beta, cross(&f.s, &weighed))
                .map_err(|e| e.within(format!("modality {t}")))?;
            *p = turned.reversed_axes().as_standard_layout().into_owned();
        }
        Ok(())
    }

    /// `diag(w) S A + g Lap S = B`: in the directions of `A` each column has its own system.
    fn sylvester(
        &self,
        a: &Array2<f64>,
        b: &Array2<f64>,
        start: &Array2<f64>,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        let along = eigen(a)?;
        let gamma = self.given.gamma;
        let diagonal = |column: usize| {
            let own = self.weight.iter().zip(&self.degrees);
            own.map(|(w, d)| w * along.values[column] + gamma * d)
                .collect()
        };
        let apply = |column: usize, x: &[f64], out: &mut [f64]| {
            for (((out, x), w), d) in out.iter_mut().zip(x).zip(&self.weight).zip(&self.degrees) {
                *out = (w * along.values[column] + gamma * d) * x;
            }
            self.subtract_links(gamma, x, out);
        };
        // The diagonal counts each object's link with itself, which the sums of a class take off.
        let (right, start) = (times(b, &along.vectors), times(start, &along.vectors));
        let found = (self.solver).columns(&right, &start, diagonal, apply, monitor)?;
        Ok(times_transposed(&found, &along.vectors))
    }

    /// `out -= factor (W_1 + W_2 + W_label) x`.
    fn subtract_links(&self, factor: f64, x: &[f64], out: &mut [f64]) {
        let mut sums = vec![0.0; self.classes];
        for ((&class, w), x) in self.class.iter().zip(&self.weight).zip(x) {
            sums[class] += w * x;
        }
        for ((&class, w), out) in self.class.iter().zip(&self.weight).zip(out.iter_mut()) {
            *out -= factor * w * sums[class];
        }
        for links in &self.links {
            links.subtract(factor, x, out);
        }
    }

    fn objective(&self, f: &Factors) -> f64 {
        let Smfh {
            beta, gamma, ridge, ..
        } = self.given;
        let weighed = |x: &Array2<f64>| {
            let rows = x.rows().into_iter().zip(&self.weight);
            rows.map(|(row, w)| w * row.dot(&row)).sum::<f64>()
        };
        let mut smooth = 0.0;
        for column in f.s.columns() {
            let x = column.to_vec();
            let mut out: Vec<f64> = x.iter().zip(&self.degrees).map(|(x, d)| d * x).collect();
            self.subtract_links(1.0, &x, &mut out);
            smooth += x.iter().zip(&out).map(|(x, o)| x * o).sum::<f64>();
        }
        let mut sum = gamma * smooth + ridge * weighed(&f.s);
        for (t, share) in self.shares().into_iter().enumerate() {
            sum += share * weighed(&(&self.x[t] - &times_transposed(&f.s, &f.u[t])))
                + beta * weighed(&(&f.s - &times(&self.x[t], &f.p[t])))
                + ridge * (square(&f.u[t]) + square(&f.p[t]));
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array1;

    use super::super::check_values::{Rows, read};
    use super::super::parts::tests::{SplitMix, close, found, two_modalities};
    use super::super::parts::transposed;
    use super::*;
    use crate::reference::in_one_and_two_threads;

    /// The published case, without neighbours: columns are objects there.
    fn published() -> (Problem, Factors) {
        let mut data = SplitMix(5);
        let x = [(4, 6), (3, 6)].map(|shape| transposed(&data.bells(shape)));
        let mut rng = SplitMix(6);
        let mut turned = |shape| transposed(&rng.uniforms(shape));
        let s = turned((2, 6));
        let p = [turned((2, 4)), turned((2, 3))];
        let u = [Array2::zeros((4, 2)), Array2::zeros((3, 2))];
        let given = Smfh::new().bits(2).neighbors(0);
        let class = vec![0, 0, 1, 1, 2, 2];
        let problem = Problem::new(x, vec![1.0; 6], class, 3, Vec::new(), given);
        (problem, Factors { s, u, p })
    }

    #[test]
    fn published_values() {
        #[derive(Deserialize)]
        struct Start {
            #[serde(rename = "S")]
            s: Rows,
            #[serde(rename = "P1")]
            first: Rows,
            #[serde(rename = "P2")]
            second: Rows,
        }
        #[derive(Deserialize)]
        struct Case {
            init: Start,
            #[serde(rename = "S_after_1")]
            swept: Rows,
            objective: Vec<f64>,
        }
        let case: Case = read(include_str!("check_values/smfh.json"));
        let (problem, mut f) = published();
        assert!(close(&f.s, &case.init.s.turned(), 1e-12));
        assert!(close(&f.p[0], &case.init.first.turned(), 1e-12));
        assert!(close(&f.p[1], &case.init.second.turned(), 1e-12));
        for (sweep, value) in case.objective.into_iter().enumerate() {
            problem.sweep(&mut f, &Monitor::silent()).unwrap();
            if sweep == 0 {
                assert!(close(&f.s, &case.swept.turned(), 1e-8), "{}", f.s);
            }
            let found = problem.objective(&f);
            assert!((found / value - 1.0).abs() < 1e-8, "{sweep}: {found}");
        }
    }

    #[test]
    fn the_published_end_is_a_fall_of_less_than_one() {
        let ends = |given: Smfh| {
            let (mut problem, mut f) = published();
            problem.given = given.bits(2);
            problem.solve(&mut f, &Monitor::silent()).unwrap()
        };
        let history = ends(Smfh::new().author_stop(true));
        let falls: Vec<f64> = history.windows(2).map(|w| w[0] - w[1]).collect();
        let (last, before) = falls.split_last().unwrap();
        assert!(
            *last < 1.0 && before.iter().all(|fall| *fall >= 1.0),
            "{falls:?}"
        );
        assert!(ends(Smfh::new()).len() > history.len());
    }

    #[test]
    fn the_objective_falls_and_the_equation_of_s_is_solved_with_neighbours_and_weights() {
        let ([x, y], class) = two_modalities(4, 8, 0.4, 1);
        let x = [&x, &y].map(|x| x.mapv(f64::from));
        let objects: Vec<usize> = (0..32).collect();
        let links = |x: &Array2<f64>| {
            Links::nearest(x, 3, (&objects, 32), |_, _| 1.0, &Monitor::silent()).unwrap()
        };
        let links = vec![links(&x[0]), links(&x[1])];
        let weight: Vec<f64> = (0..32).map(|i| f64::from(1 + i % 3)).collect();
        let class: Vec<usize> = class.iter().map(|&c| c as usize).collect();
        let problem = Problem::new(x, weight, class, 4, links, Smfh::new().bits(3));
        let mut f = problem.start(&mut seed::stream(1, "test"));
        let history = problem.solve(&mut f, &Monitor::silent()).unwrap();
        assert!(history.windows(2).all(|w| w[1] <= w[0]), "{history:?}");
        let a = cross(&f.u[0], &f.u[0]) + Array2::<f64>::eye(3);
        let b = SplitMix(3).bells((32, 3));
        let s = problem.sylvester(&a, &b, &f.s, &Monitor::silent()).unwrap();
        let mut left = scaled(&times(&s, &a), &problem.weight);
        for (mut left, column) in left.columns_mut().into_iter().zip(s.columns()) {
            let x = column.to_vec();
            let mut out: Vec<f64> = x.iter().zip(&problem.degrees).map(|(x, d)| d * x).collect();
            problem.subtract_links(1.0, &x, &mut out);
            left += &Array1::from(out);
        }
        assert!(close(&left, &b, 1e-8));
    }

    #[test]
    fn classes_are_found_and_objects_without_both_rows_do_not_count() {
        let ([x, y], class) = two_modalities(4, 20, 0.15, 1);
        let views = Views::paired(&[x.view(), y.view()], &class, &[1.0; 80]).unwrap();
        let run = || {
            Smfh::new()
                .bits(16)
                .fit(&views, 1, &Monitor::silent())
                .unwrap()
        };
        let (one, two) = in_one_and_two_threads(run);
        assert_eq!(one, two);
        let share = found(&one.model, &[x.clone(), y.clone()], &class);
        assert!(share > 0.6, "{share}");
        let rows: Vec<usize> = (0..60).collect();
        let (short, classes) = (y.select(Axis(0), &rows), &class[..60]);
        let objects = vec![(0..80).collect(), rows.clone()];
        let some = Views::new(&[x.view(), short.view()], objects, &class, &[1.0; 80]).unwrap();
        let shown = x.select(Axis(0), &rows);
        let all = Views::paired(&[shown.view(), short.view()], classes, &[1.0; 60]).unwrap();
        let fit = |views: &Views| {
            Smfh::new()
                .bits(4)
                .fit(views, 1, &Monitor::silent())
                .unwrap()
        };
        let (some, all) = (fit(&some), fit(&all));
        assert_eq!(some.learned[0].rows, rows);
        let scores = |found: &Hashed| found.model.encoders[0].scores(x.view()).unwrap();
        assert!(
            (scores(&some) - scores(&all))
                .iter()
                .all(|e| e.abs() < 1e-3)
        );
    }

    #[test]
    fn degenerate_classes_and_parameters() {
        let ([x, y], class) = two_modalities(2, 3, 0.4, 5);
        let fit = |smfh: Smfh, class: &[u32], weight: &[f32]| {
            let views = Views::paired(&[x.view(), y.view()], class, weight).unwrap();
            smfh.bits(8).fit(&views, 0, &Monitor::silent())
        };
        for class in [&class, &vec![0; 6], &(0..6).collect()] {
            assert!(
                fit(Smfh::new(), class, &[1.0; 6])
                    .unwrap()
                    .model
                    .encode(0, x.view())
                    .is_ok()
            );
        }
        assert!(fit(Smfh::new(), &class, &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]).is_ok());
        // Columns that are multiples of others, and so large that the ridge is lost in rounding.
        let wide = ndarray::concatenate![Axis(1), y, &y * 3.0, &y * 0.1, &y * 7.0] * 1e6;
        let views = Views::paired(&[x.view(), wide.view()], &class, &[1.0; 6]).unwrap();
        let said = Smfh::new().fit(&views, 0, &Monitor::silent()).unwrap_err();
        let said = said.to_string();
        assert!(
            said.starts_with("modality 1: ") && said.contains("scale"),
            "{said}"
        );
        assert!(fit(Smfh::new(), &class, &[0.0; 6]).is_err());
        assert!(fit(Smfh::new().alpha(1.0), &class, &[1.0; 6]).is_err());
        assert!(fit(Smfh::new().max_sweeps(0), &class, &[1.0; 6]).is_err());
    }
}
