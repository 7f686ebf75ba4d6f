//! A study across views: a query of one view searches the items in another, beside baselines.
//!
//! ```text
//! items of the training part: known labels, and what is believed of the others  ->  one encoder a view
//! items of the test part: each view asks each other one, the paired item stays in the gallery
//! ```
//!
//! Rows: the recipe; the same learner by the known labels alone; by all labels of the training
//! part, hidden ones too (a bound); and canonical correlations of the pairs, which look at no label.

mod believe;
mod believed;
mod bench;
mod directions;
mod embedded;
mod fitted;
mod measured;
mod plan;
mod results;
mod run;
mod views;

pub(crate) use self::bench::CrossCell;
pub(crate) use self::embedded::select_items;
pub use self::embedded::{Embedded, nearest_items};
pub use self::plan::CrossPlan;
pub use self::results::{ByDirection, CrossClass, CrossResults, CrossRow, CrossSummary, OfDraw};
pub use self::run::{CrossKept, CrossStudy, TRAIN_SHARE};
pub use self::views::Texts;
