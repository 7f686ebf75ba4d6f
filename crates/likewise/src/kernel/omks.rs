//! OMKS: a similarity of several kernels, learned online from comparisons of three.
//!
//! ```text
//! S_i(q, x) = k_i(q, x) + k_i(q, X) A_i k_i(X, x)      A_i = 0 at first, X: the n rows
//! for each triplet (a, p, n) of weight w, in every kernel i by itself
//!   margin = S_i(a, p) - S_i(a, n)
//!   where margin <= 0: one mistake more
//!   size   = k(a, a) (k(p, p) - 2 k(p, n) + k(n, n))
//!   tau    = min(w C, max(0, 1 - margin) / size)
//!   A_i   += tau e_a (e_p - e_n)^T
//! theta_i ~ beta^mistakes_i
//! f(q, x) = sum_i theta_i S_i(q, x)
//! ```
//!
//! Kernels say how rows may be alike (views of an image, widths of an RBF); triplets bend each of
//! them, and those that err least speak loudest. `f` is no distance, and not symmetric: the first
//! argument is the query.
//!
//! **Use it** with several views of some hundred to some thousand rows and triplets by the
//! hundred thousand. **Not** with more rows than memory has room for ([`Explicit`](super::Explicit)
//! learns the same in coordinates), nor where one linear map of one view does as well.
//!
//! # Cost
//! O(n) a triplet and kernel, and O(n^2 d) a kernel to begin with; memory `2 n^2` numbers of `f64` a
//! kernel, `A` and `A k`, through which a margin is one product of rows, and `n^2` more, `k`, for each
//! kernel that is learned at the time. Learning on takes the `2 n^2` twice. Kernels run in
//! parallel; each is exactly what it would be alone. An answer costs O(n d) a row and O(n) a pair and
//! kernel.
//!
//! Source: Liang, Hu, Wang and Han, "Semi-supervised online multi-kernel similarity learning for image
//! retrieval", IEEE Transactions on Multimedia 2017, equations (1) to (6), after Xia, Hoi, Jin and Zhao,
//! "Online multiple kernel similarity learning for visual search", PAMI 2014. The update in operators is written by its coefficients, which is the
//! same and needs no memory of the triplets. Mistakes are counted, and weights of kernels found from
//! the counts, so none is lost to underflow. Ours: weights (a triplet `w` times in a row takes
//! `min(w C, ...)` in all; a mistake is counted once), epochs, minibatches and [`Theta::Rate`].

mod learned;
mod parameters;
mod similarity;
#[cfg(test)]
mod tests;
mod written;

use ndarray::ArrayView2;

pub use parameters::{Omks, Order, Source, Theta};
pub use similarity::Similarity;
pub(crate) use similarity::check_views;
pub use written::Described;

use self::learned::Learned;
use crate::{Error, Monitor, Result, Triplets};

impl Omks {
    /// Learns from triplets of the rows, which are those of every view. Give the rows that
    /// triplets name and no others: memory is the square of their number.
    ///
    /// Without triplets all kernels weigh the same. Fails on NaN, where views differ in their
    /// rows, without a kernel or on one of a view that is not there, on triplets that do not
    /// [fit](Triplets::check), on a number out of range, and when cancelled.
    pub fn fit(
        &self,
        views: &[ArrayView2<f32>],
        sources: &[Source],
        triplets: &Triplets,
        seed: u64,
        monitor: &Monitor,
    ) -> Result<Similarity> {
        self.validate()?;
        let n = check_views(views)?;
        let mut fitted = Vec::with_capacity(sources.len());
        for source in sources {
            let Some(view) = views.get(source.view) else {
                return Err(Error::data(format!(
                    "a kernel is of view {}, but there are {} views",
                    source.view,
                    views.len()
                )));
            };
            fitted.push(Source {
                kernel: source.kernel.fitted(*view, monitor)?,
                ..*source
            });
        }
        if fitted.is_empty() || n == 0 {
            return Err(Error::data("OMKS needs a kernel and rows"));
        }
        let begun = Similarity {
            omks: *self,
            learned: fitted.iter().map(|_| Learned::new(n)).collect(),
            sources: fitted,
            rows: views.iter().map(ArrayView2::to_owned).collect(),
            seen: 0,
        };
        begun.taught(triplets, seed, monitor)
    }
}
