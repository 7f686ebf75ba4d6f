//! A study: one recipe beside its baselines, under one protocol, with intervals.

mod auto;
mod believe;
mod bench;
mod choose;
mod draw;
mod draw_log;
mod embed;
mod few_labels;
mod finding;
mod ground;
mod kept;
mod learner;
mod meters;
mod plan;
mod protocol;
mod results;
mod rounds;
mod row;
mod run;
mod setup;
mod train;
mod tuples;
mod verdict;

pub use auto::{Choice, Tried};
pub use bench::Bench;
pub use draw::Measured;
pub use draw_log::DrawLog;
pub use finding::Finding;
pub use plan::Plan;
pub use protocol::{Protocol, SplitKind, TRAIN_SHARE};
pub use results::{Collapses, Results};
pub use rounds::{Epoch, NoEvidence, Why};
pub use row::Row;
pub use run::Study;
pub use tuples::TupleKind;
pub use verdict::{Answer, Delivered, Finding as Found, Next, Sureness, Verdict};
