//! Is an item of none of the known classes?
//!
//! A score says how much an item is unlike the classes: the larger, the less it belongs. What score
//! is too large, items of known class say that the score was not made from ([`calibrate`]).
//!
//! | score | looks at | module |
//! |---|---|---|
//! | energy, largest logit | the logits of a classifier, which may be one of the features | [`energy`] |
//! | distance from the nearest class, relative to that from all | features | [`mahalanobis`] |
//! | disagreement of several votes on the class | class probabilities | [`agreement`] |
//! | local outlier factor | features | [`lof`] |
//! | how little of the labels arrives | a graph | [`reach`] |
//! | the mean of several, each as its rank among known items | scores | [`calibrate::ranks`] |
//!
//! How many items are outside in all, [`share`] estimates from the scores.
//!
//! A recipe says by which score its source of pseudo-labels refuses such items, in its file or by `--set`:
//! `pseudo_labels = { outside = "energy" }`, `"mahalanobis"` or `"lof"`; of `lpf` also `"combined"`, `"agreement"` and
//! others.
//!
//! **Use it** where unlabeled items are partly of other classes, and before pseudo-labels of such
//! items are believed. **Not** to find items that are damaged or labeled wrongly, which are of a
//! class. All of these are weak where the features do not tell a new class from the known ones:
//! measure ([`auroc`]) with classes whose labels you hide.
//!
//! ```
//! use likewise::advise::outside::{auroc, calibrate, mahalanobis::ClassGaussians};
//! use ndarray::Array2;
//!
//! // Two classes on a line, at 0 and at 10, and somebody at 25.
//! let x = Array2::from_shape_fn((20, 1), |(i, _)| (i / 10 * 10) as f32 + 0.1 * (i % 10) as f32);
//! let class: Vec<u32> = (0..20).map(|i| i / 10).collect();
//! let classes = ClassGaussians::fit(x.view(), &class)?;
//! let known = calibrate::out_of_fold(&class, 5, 1, |fitted, asked| {
//!     let part = |rows: &[usize]| x.select(ndarray::Axis(0), rows);
//!     let of: Vec<u32> = fitted.iter().map(|&i| class[i]).collect();
//!     ClassGaussians::fit(part(fitted).view(), &of)?.distances(part(asked).view())
//! })?;
//! let new = classes.distances(ndarray::array![[25.0_f32]].view())?;
//! assert!(new[0] > calibrate::threshold(&known, 0.95)?);
//! assert_eq!(auroc(&new, &known), Some(1.0));
//! # Ok::<(), likewise::Error>(())
//! ```

pub mod agreement;
pub mod calibrate;
pub mod energy;
pub mod lof;
pub mod mahalanobis;
mod measure;
pub mod reach;
pub mod share;

pub use measure::{auroc, new_accepted};
