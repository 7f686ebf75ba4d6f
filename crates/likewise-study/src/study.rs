//! A study: one recipe beside its baselines, under one protocol, with intervals.

mod auto;
mod believe;
mod bench;
mod choose;
mod cluster;
mod columns;
mod copies;
mod cross;
mod draw;
mod draw_log;
mod embed;
mod few_labels;
mod finding;
mod fused;
mod ground;
mod kept;
mod learned;
mod learner;
mod meters;
mod next;
mod plan;
mod protocol;
mod refuse;
mod results;
mod rounds;
mod row;
mod run;
mod selection;
mod setup;
mod several;
mod shifted;
mod sizes;
mod train;
mod tried;
mod tuples;
mod turned;
mod verdict;
mod vote;

pub use auto::{CHOICE, Choice};
pub(crate) use auto::{MOST as MOST_TO_CHOOSE_BY, has_chosen};
pub use bench::Bench;
pub use columns::ColumnName;
pub use cross::{
    ByDirection, CrossClass, CrossKept, CrossPlan, CrossResults, CrossRow, CrossStudy,
    CrossSummary, Embedded, OfDraw, TRAIN_SHARE as CROSS_TRAIN_SHARE, Texts, nearest_items,
};
pub(crate) use cross::{CrossCell, select_items};
pub use draw::Measured;
pub use draw_log::DrawLog;
pub use finding::Finding;
pub use learned::Learned;
pub use plan::Plan;
pub use protocol::{Protocol, SplitKind, TRAIN_SHARE};
pub use results::{Collapses, Results};
pub use rounds::{Epoch, NoEvidence, Why};
pub use row::Row;
pub use run::Study;
pub use selection::{Selected, Selection};
pub use tried::Tried;
pub use tuples::TupleKind;
pub use verdict::{Answer, Delivered, Finding as Found, Next, Sureness, Verdict};
