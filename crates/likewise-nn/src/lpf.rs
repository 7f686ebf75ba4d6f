//! Label prediction: networks and class means that agree give unlabeled items their classes.
//!
//! Each view has a network that predicts classes, and learns from labeled and unlabeled rows:
//!
//! ```text
//! L = a_ce L_ce + a_c L_c + a_ent L_ent + a_r L_r
//! L_ce    cross-entropy of labeled rows             L_c   squared distance from the class centre
//! L_ent   entropy of what it says of unlabeled rows L_r   error of the reconstruction of all rows
//! ```
//!
//! Then an unlabeled item is selected where the view that is most accurate on labels that were kept
//! back is more than .9 sure of a class, and the mean of this class is also the nearest to the
//! features as they are. All views learn from the selection, which is how a weak view learns from a
//! strong one; then all is selected anew, until the size of the selection stays.
//!
//! **Use it** with two views or more of the same items, of which none is best everywhere, and a few
//! labels of every class. With one view it is self-training that asks the class means. What it gives
//! goes with every learner. **Not** with one or two labels a class, which teach no network; nor
//! where many unlabeled items are of classes without a label, unless [`Outside`] refuses them. An item is
//! of one class.
//!
//! **Cost.** O(d h + h^2) a row and epoch, with h = 250 units: seconds a thousand items, view and hundred
//! epochs.
//!
//! **Source.** Mandal, Rao and Biswas, "Label prediction framework for semi-supervised cross-modal
//! retrieval", ICIP 2020.
//!
//! **Where we differ.** The entropy counts .1 and joins slowly: with the printed 1 a random network
//! is committed to wrong classes. Steps after a selection are of 1e-3, the printed 1e-4 hardly move
//! (both by [`Lpf::paper`]). Losses are means over a batch. The cross-entropy takes one softmax,
//! where two are printed; the reconstruction is of all rows, as the text says, not of unlabeled ones
//! alone, as the formula does. A view that loses more than 5 points of accuracy by a tuning forgets it.
//! A learner that takes the selection weighs its items by their confidence (`confidence_power = 0`: not);
//! of the paper all count alike. Refusing ([`Outside`]) is ours; with few labels kept back, its threshold is
//! still one of these and not of scores out of five folds, for which all networks would have to learn five
//! times. For one view, for three or more, and for items that lack a view, the rules are ours.

#[cfg(not(feature = "networks"))]
mod absent;
mod centers;
mod checker;
#[cfg(feature = "networks")]
mod losses;
#[cfg(feature = "networks")]
mod network;
mod outside;
#[cfg(feature = "networks")]
mod predict;
mod predicted;
#[cfg(feature = "networks")]
mod refuse;
mod rows;
mod settings;
#[cfg(feature = "networks")]
mod side;

pub use centers::CenterRule;
pub use checker::{Check, Opinion, best_view};
pub use outside::{Looks, Outside, Unlike};
pub use predicted::{End, Iteration, Predicted};
pub use rows::{Rows, Scale};
pub use settings::{FirstStage, LossWeights, Lpf, Tuning};
