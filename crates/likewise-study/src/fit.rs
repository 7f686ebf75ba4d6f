//! A fit: a study of some data, and the run folder that it leaves.
//!
//! A [`Request`] goes all the way, from paths to a folder, as the command does; it also makes a run
//! [again](Request::again) with more labels or triplets. A [`Job`] begins with items that are in memory. What
//! is asked in few words is made whole in between: [`Which`] recipe, and a protocol by what was [`Asked`].

mod across;
mod again;
mod asked;
mod choose;
mod cost;
mod earlier;
mod job;
mod request;
mod which;

pub use again::More;
pub use asked::Asked;
pub use choose::{choose, fewer_neighbors, limit_neighbors};
pub use cost::{estimate, with_choice};
pub use earlier::Again;
pub use job::Job;
pub use request::{Outcome, Request};
pub use which::{AUTO, Changes, Which};
