//! OMKS in coordinates: what it learns from triplets, for any number of rows.
//!
//! ```text
//! phi_i(x): coordinates with phi_i(x) . phi_i(y) = k_i(x, y), or nearly so
//! W_i <- OASIS over the triplets of phi_i(x), from the identity
//! S_i(q, x) = k_i(q, x) + phi_i(q)^T (W_i - I) phi_i(x)
//! f(q, x) = sum_i theta_i S_i(q, x)                     theta_i ~ beta^mistakes_i
//! ```
//!
//! Where the coordinates are exact for the rows that are learned from (the [cosine], or
//! [Nyström](super::nystrom) with all of them as landmarks) this is [OMKS](super::omks) itself: the step in the
//! operator and that in `W` are one. The kernel stands in `S` as it is, so coordinates are only
//! asked for what was learned.
//!
//! **Use it** with more rows than a square of them has room for. **Not** for some hundred rows, where
//! [OMKS](super::omks) is exact and faster.
//!
//! Cost: O(r^2) a triplet and kernel; memory O(n r) for one kernel a thread and O(r^2) a kernel.
//!
//! Source: ours, by the equality of the passive-aggressive step in the two spaces; see
//! [OMKS](super::omks) and [OASIS](crate::linear::oasis). `S` adds to the exact kernel what was learned.

use ndarray::{Array2, ArrayView2, Axis, Slice};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::cosine;
use super::omks::{Order, Source, Theta, check_views};
use super::{Fourier, Kernel, Nystrom, Width};
use crate::arrays::Arrays;
use crate::linear::oasis::pass::{Mended, pass};
use crate::matrix::{product, product_of_many};
use crate::{Error, Monitor, Result, Triplets, parallel, seed};

/// Rows of the gallery that are answered together.
const GALLERY: usize = 1024;

/// Coordinates of one kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Coordinates {
    /// Of any kernel, by landmarks.
    Nystrom(Nystrom),
    /// Of an RBF kernel, by random directions.
    Fourier(Fourier),
    /// Of the cosine, exactly; for rows of so many columns.
    Cosine(usize),
}

impl Coordinates {
    /// How many there are.
    fn len(&self) -> usize {
        match self {
            Self::Nystrom(own) => own.len(),
            Self::Fourier(own) => own.len(),
            Self::Cosine(columns) => columns + 1,
        }
    }

    fn columns(&self) -> usize {
        match self {
            Self::Nystrom(own) => own.columns(),
            Self::Fourier(own) => own.columns(),
            Self::Cosine(columns) => *columns,
        }
    }

    fn of_rows(&self, x: &Array2<f64>) -> Array2<f64> {
        match self {
            Self::Nystrom(own) => own.of_rows(x),
            Self::Fourier(own) => own.of_rows(x),
            Self::Cosine(_) => cosine::of_rows(x),
        }
    }
}

/// Parameters of OMKS in coordinates; see [`explicit`](self).
///
/// ```
/// use likewise::kernel::{Explicit, Kernel, Source};
/// use likewise::{Monitor, Triplets};
/// let x = ndarray::array![[0.0, 1.0], [0.2, 0.8], [2.0, 1.0], [2.2, 0.9_f32]];
/// let mut triplets = Triplets::default();
/// triplets.push(0, 1, 2, 1.0);
/// let all = Kernel::ALL_FOUR.map(|kernel| Source { view: 0, kernel });
/// let found = Explicit::new().fit(&[x.view()], &all, &triplets, 1, &Monitor::silent())?;
/// let f = found.scores(&[x.view()], &[x.view()])?;
/// assert!(f[(0, 1)] > f[(0, 2)]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Explicit {
    coordinates: usize,
    fourier: bool,
    aggressiveness: f64,
    beta: f64,
    order: Order,
    theta: Theta,
}

impl Default for Explicit {
    fn default() -> Self {
        Self {
            coordinates: 256,
            fourier: false,
            aggressiveness: 0.1,
            beta: 0.9,
            order: Order::Shuffled,
            theta: Theta::Mistakes,
        }
    }
}

impl Explicit {
    /// 256 coordinates by Nyström (the cosine has its own), C = .1, beta = .9, one pass.
    pub fn new() -> Self {
        Self::default()
    }

    /// Coordinates of a kernel, at least 1.
    #[must_use]
    pub fn coordinates(mut self, coordinates: usize) -> Self {
        self.coordinates = coordinates;
        self
    }

    /// Whether RBF kernels take random Fourier features in place of Nyström.
    #[must_use]
    pub fn fourier(mut self, fourier: bool) -> Self {
        self.fourier = fourier;
        self
    }

    /// `C`, the longest step, above 0.
    #[must_use]
    pub fn aggressiveness(mut self, aggressiveness: f64) -> Self {
        self.aggressiveness = aggressiveness;
        self
    }

    /// What a mistake leaves of a kernel's weight, between 0 and 1.
    #[must_use]
    pub fn beta(mut self, beta: f64) -> Self {
        self.beta = beta;
        self
    }

    /// The order of the triplets.
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// How mistakes become weights.
    #[must_use]
    pub fn theta(mut self, theta: Theta) -> Self {
        self.theta = theta;
        self
    }

    /// Checks the numbers.
    pub fn validate(&self) -> Result<()> {
        if self.coordinates == 0 {
            return Err(Error::parameter(
                "explicit.coordinates",
                0,
                "must be at least 1",
            ));
        }
        if !(self.aggressiveness.is_finite() && self.aggressiveness > 0.0) {
            let rule = "must be above 0";
            return Err(Error::parameter(
                "explicit.aggressiveness",
                self.aggressiveness,
                rule,
            ));
        }
        if !(self.beta > 0.0 && self.beta < 1.0) {
            let rule = "must be between 0 and 1, both excluded";
            return Err(Error::parameter("explicit.beta", self.beta, rule));
        }
        Ok(())
    }

    /// Learns from triplets of the rows, which are those of every view.
    ///
    /// Fails as [`Omks::fit`](super::Omks::fit) does.
    pub fn fit(
        &self,
        views: &[ArrayView2<f32>],
        sources: &[Source],
        triplets: &Triplets,
        seed: u64,
        monitor: &Monitor,
    ) -> Result<Mapped> {
        let mut found = self.begin(views, sources, seed, monitor)?;
        found.learn(views, triplets, seed, monitor)?;
        Ok(found)
    }

    /// The kernels as they are before any triplet, in the coordinates in which they will learn.
    ///
    /// Fails on a number out of its range, on NaN, and without rows or a kernel of one of the views.
    pub fn begin(
        &self,
        views: &[ArrayView2<f32>],
        sources: &[Source],
        seed: u64,
        monitor: &Monitor,
    ) -> Result<Mapped> {
        self.validate()?;
        let n = check_views(views)?;
        if sources.is_empty() || n == 0 || sources.iter().any(|source| source.view >= views.len()) {
            return Err(Error::data(format!(
                "OMKS needs rows and a kernel of one of the {} views",
                views.len()
            )));
        }
        let kernels = parallel::try_map(sources.iter().enumerate(), |(i, source)| {
            let view = views[source.view];
            let kernel = source.kernel.fitted(view, monitor)?;
            let coordinates = self.coordinates_of(kernel, view, seed.wrapping_add(i as u64))?;
            Ok(One {
                source: Source { kernel, ..*source },
                change: Array2::zeros((coordinates.len(), coordinates.len())),
                coordinates,
                mistakes: 0,
            })
        })?;
        Ok(Mapped {
            explicit: *self,
            theta: vec![1.0 / kernels.len() as f64; kernels.len()],
            kernels,
            seen: 0,
        })
    }

    fn coordinates_of(&self, kernel: Kernel, x: ArrayView2<f32>, seed: u64) -> Result<Coordinates> {
        Ok(match kernel {
            Kernel::Cosine => Coordinates::Cosine(x.ncols()),
            Kernel::Rbf {
                width: Width::Fixed(width),
            } if self.fourier => {
                Coordinates::Fourier(Fourier::draw(x.ncols(), width, self.coordinates, seed)?)
            }
            _ => {
                let silent = Monitor::silent();
                Coordinates::Nystrom(Nystrom::fit(kernel, x, self.coordinates, seed, &silent)?)
            }
        })
    }
}

/// What was learned, in coordinates: answers, and can be written down and learn on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mapped {
    explicit: Explicit,
    kernels: Vec<One>,
    /// Triplets that were learned from.
    seen: u64,
    theta: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct One {
    source: Source,
    coordinates: Coordinates,
    /// `W - I`.
    change: Array2<f64>,
    mistakes: u64,
}

impl One {
    /// The view that it looks at; fails where it is not there, or has other columns.
    fn view<'a, 'v>(&self, views: &'a [ArrayView2<'v, f32>]) -> Result<&'a ArrayView2<'v, f32>> {
        let at = self.source.view;
        let view = views.get(at).ok_or_else(|| {
            let there = views.len();
            Error::data(format!("view {at} was learned from, but there are {there}"))
        })?;
        super::check_columns(view.ncols(), self.coordinates.columns())?;
        Ok(view)
    }
}

/// What the arrays of a similarity in coordinates do not tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Described {
    /// The parameters. A model without them was written before it could learn on, and does not.
    #[serde(default)]
    explicit: Explicit,
    /// Triplets that were learned from.
    #[serde(default)]
    seen: u64,
    /// Of each kernel: what it is, which coordinates it has, its mistakes and its weight.
    kernels: Vec<DescribedKernel>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct DescribedKernel {
    #[serde(flatten)]
    source: Source,
    coordinates: CoordinatesKind,
    mistakes: u64,
    theta: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum CoordinatesKind {
    Nystrom,
    Fourier,
    Cosine,
}

impl Mapped {
    /// What the [arrays](Self::put) do not tell.
    pub(crate) fn described(&self) -> Described {
        let each = self.kernels.iter().zip(&self.theta);
        let kernels = each.map(|(one, &theta)| DescribedKernel {
            source: one.source,
            coordinates: match one.coordinates {
                Coordinates::Nystrom(_) => CoordinatesKind::Nystrom,
                Coordinates::Fourier(_) => CoordinatesKind::Fourier,
                Coordinates::Cosine(_) => CoordinatesKind::Cosine,
            },
            mistakes: one.mistakes,
            theta,
        });
        Described {
            explicit: self.explicit,
            seen: self.seen,
            kernels: kernels.collect(),
        }
    }

    /// Of kernel `i` what it learned, `W - I`, as `kernel.i.change` (`r x r`), and its coordinates:
    /// `kernel.i.landmarks` (`m x d`) and `kernel.i.map` (`r x m`) by Nyström, `kernel.i.directions`
    /// (`r x d`) and `kernel.i.offsets` (`r`) by Fourier.
    pub(crate) fn put(&self, arrays: &mut Arrays) {
        for (i, one) in self.kernels.iter().enumerate() {
            arrays.put_matrix(format!("kernel.{i}.change"), &one.change);
            match &one.coordinates {
                Coordinates::Nystrom(own) => own.put(&format!("kernel.{i}."), arrays),
                Coordinates::Fourier(own) => own.put(&format!("kernel.{i}."), arrays),
                Coordinates::Cosine(_) => {}
            }
        }
    }

    /// The similarity of such arrays, of views of so many columns. Fails where they do not fit.
    pub(crate) fn of(described: &Described, widths: &[usize], arrays: &Arrays) -> Result<Self> {
        let broken = || Error::data("the parts of the similarity do not fit; learn it anew");
        let mut kernels = Vec::with_capacity(described.kernels.len());
        for (i, one) in described.kernels.iter().enumerate() {
            one.source.kernel.validate()?;
            let &width = widths.get(one.source.view).ok_or_else(broken)?;
            let own = arrays.under(&format!("kernel.{i}."));
            let coordinates = match one.coordinates {
                CoordinatesKind::Nystrom => {
                    Coordinates::Nystrom(Nystrom::of(one.source.kernel, &own)?)
                }
                CoordinatesKind::Fourier => Coordinates::Fourier(Fourier::of(&own)?),
                CoordinatesKind::Cosine => Coordinates::Cosine(width),
            };
            let change = own.matrix64("change")?;
            let r = coordinates.len();
            if change.dim() != (r, r) || coordinates.columns() != width || !one.theta.is_finite() {
                return Err(broken());
            }
            kernels.push(One {
                source: one.source,
                coordinates,
                change,
                mistakes: one.mistakes,
            });
        }
        let theta = described.kernels.iter().map(|one| one.theta).collect();
        Ok(Self {
            explicit: described.explicit,
            kernels,
            seen: described.seen,
            theta,
        })
    }

    /// Learns on from more triplets of rows, which may be others than before. In the
    /// [given](Order::Given) order this is, but for rounding, what one call with all of them would have
    /// learned.
    ///
    /// Fails on NaN, on triplets that do not [fit](Triplets::check) the rows, where views differ from
    /// those that were learned from, and when cancelled; nothing is learned then.
    pub fn learn(
        &mut self,
        views: &[ArrayView2<f32>],
        triplets: &Triplets,
        seed: u64,
        monitor: &Monitor,
    ) -> Result<()> {
        triplets.check(check_views(views)?)?;
        let mut order: Vec<_> = triplets.iter().filter(|triplet| triplet.3 > 0.0).collect();
        if self.explicit.order == Order::Shuffled {
            order.shuffle(&mut seed::stream(seed, "order of triplets 0"));
        }
        let mut ordered = Triplets::default();
        for (a, p, n, w) in order {
            ordered.push(a, p, n, w);
        }
        let quiet = monitor.quiet();
        monitor.start("multiple kernel similarity", self.kernels.len() as u64);
        let learned = parallel::try_map(self.kernels.iter(), |one| {
            let phi = one.coordinates.of_rows(&one.view(views)?.mapv(f64::from));
            let same = Array2::<f64>::eye(phi.ncols());
            let (most, start) = (self.explicit.aggressiveness, &one.change + &same);
            let passed = pass(&phi, &ordered, start, most, Mended::Never, &quiet)?;
            Ok((passed.w - same, passed.mistakes))
        })?;
        monitor.end();
        for (one, (change, mistakes)) in self.kernels.iter_mut().zip(learned) {
            one.change = change;
            one.mistakes += mistakes;
        }
        self.seen += ordered.len() as u64;
        let mistakes: Vec<u64> = self.mistakes().collect();
        let Explicit { theta, beta, .. } = self.explicit;
        self.theta = theta.weights(&mistakes, self.seen, beta);
        Ok(())
    }

    /// Whether both learn by the same parameters, of the same kernels in the same coordinates.
    pub fn learns_as(&self, other: &Self) -> bool {
        let same = |(own, other): (&One, &One)| {
            own.source == other.source && own.coordinates == other.coordinates
        };
        self.explicit == other.explicit
            && self.kernels.len() == other.kernels.len()
            && self.kernels.iter().zip(&other.kernels).all(same)
    }

    /// Triplets of some weight that were learned from.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The weight of each kernel; they add up to 1.
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// Triplets that each kernel had the wrong way round when they came.
    pub fn mistakes(&self) -> impl Iterator<Item = u64> + '_ {
        self.kernels.iter().map(|one| one.mistakes)
    }

    /// `f` of every query with every row of the gallery, `queries x gallery`; more is more alike.
    ///
    /// Fails on NaN, and where views differ in number or columns from those that were learned
    /// from.
    pub fn scores(
        &self,
        queries: &[ArrayView2<f32>],
        gallery: &[ArrayView2<f32>],
    ) -> Result<Array2<f64>> {
        let (q, g) = (check_views(queries)?, check_views(gallery)?);
        let mut f = Array2::<f64>::zeros((q, g));
        for (one, &theta) in self.kernels.iter().zip(&self.theta) {
            let (of_queries, of_gallery) = (one.view(queries)?, one.view(gallery)?);
            let asked = of_queries.mapv(f64::from);
            let change = one.change.t().as_standard_layout().into_owned();
            let moved = product(&one.coordinates.of_rows(&asked), &change);
            for from in (0..g).step_by(GALLERY) {
                let part = Slice::from(from..(from + GALLERY).min(g));
                let some = of_gallery.slice_axis(Axis(0), part).mapv(f64::from);
                let found = one.source.kernel.of_rows(&asked, &some)
                    + product_of_many(&moved, &one.coordinates.of_rows(&some));
                f.slice_axis_mut(Axis(1), part).scaled_add(theta, &found);
            }
        }
        Ok(f)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::s;
    use rand::RngExt;

    use super::*;
    use crate::kernel::Omks;

    #[test]
    fn with_all_rows_as_landmarks_it_is_omks() {
        let mut rng = seed::stream(1, "explicit");
        let x = Array2::from_shape_fn((25, 4), |_| rng.random_range(-1.0_f32..1.0));
        let queries = Array2::from_shape_fn((6, 4), |_| rng.random_range(-1.0_f32..1.0));
        let mut triplets = Triplets::default();
        while triplets.len() < 300 {
            let [a, p, n] = [0; 3].map(|_: u32| rng.random_range(0..25));
            if a != p && a != n && p != n {
                triplets.push(a, p, n, 1.0);
            }
        }
        let silent = Monitor::silent();
        let views = [x.view()];
        for kernel in Kernel::ALL_FOUR {
            let all = [Source { view: 0, kernel }];
            let dual = Omks::new()
                .fit(&views, &all, &triplets, 3, &silent)
                .unwrap();
            let own = Explicit::new()
                .fit(&views, &all, &triplets, 3, &silent)
                .unwrap();
            assert!(own.mistakes().eq(dual.mistakes()));
            let expected = dual.scores(&[queries.view()], &views).unwrap();
            let found = own.scores(&[queries.view()], &views).unwrap();
            let error = &found - &expected;
            assert!(error.iter().all(|e| e.abs() < 1e-5), "{kernel:?} {error}");
        }
        let all = Kernel::ALL_FOUR.map(|kernel| Source { view: 0, kernel });
        let own = Explicit::new().fourier(true).coordinates(64);
        let found = own.fit(&views, &all, &triplets, 3, &silent).unwrap();
        assert!((found.theta().iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let f = found.scores(&[queries.view()], &views).unwrap();
        assert!(f.iter().all(|f| f.is_finite()));
        let text = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<Mapped>(&text).unwrap(), found);
        assert!(found.scores(&[], &views).is_err());
        assert!(found.scores(&[queries.slice(s![.., ..2])], &views).is_err());
        assert!(own.fit(&views, &[], &triplets, 3, &silent).is_err());
        for wrong in [own.coordinates(0), own.beta(0.0), own.aggressiveness(-1.0)] {
            assert!(
                wrong
                    .validate()
                    .unwrap_err()
                    .to_string()
                    .starts_with("explicit.")
            );
        }
    }
}
