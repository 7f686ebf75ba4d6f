//! A fit: a study of some data, and the run folder that it leaves.
//!
//! A [`Request`] goes all the way, from paths to a folder, as the command does; it also makes a run
//! [again](Request::again) with more labels or triplets. A [`Job`] begins with items that are in memory. What
//! is asked in few words is made whole in between: [`Which`] recipe, and a protocol by what was [`Asked`].
//!
//! ```
//! use likewise::Monitor;
//! use likewise_study::fit::{More, Outcome, Request, Which};
//! use likewise_study::run_folder::RunFolder;
//! use likewise_study::stages::Stages;
//! use likewise_study::{Environment, device};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let (data, more, run) = (folder.path().join("x.csv"), [folder.path().join("m.csv")], folder.path().join("run"));
//! # let line = |i: usize| format!("i{i},{},{},{}\n", ["a", "b", "", ""][i % 4], i % 2, (i * 7) % 41);
//! # std::fs::write(&data, (0..40).fold("id,label,p,q\n".into(), |text: String, i| text + &line(i))).unwrap();
//! # std::fs::write(&more[0], "id,label\ni2,a\ni3,b\n").unwrap();
//! let (monitor, stages, device) = (Monitor::silent(), Stages::default(), device("cpu")?);
//! let at = Environment { monitor: &monitor, stages: &stages, device: &device, max_memory: None };
//! let request = Request {
//!     data,
//!     recipe: Which { name: Some("mild-probabilities".into()), ..Which::default() },
//!     out: Some(run.clone()),
//!     ..Request::default()
//! };
//! if let Outcome::Made(results, _) = request.run(&at)? {
//!     println!("{}", results.verdict.join("\n"));
//! }
//! // Some labels later: the same data, recipe and seed, in the place of the run.
//! Request::again(&run, More::Labels(&more), None, &monitor)?.run(&at)?;
//! let model = RunFolder::open(&run)?.model()?;
//! # let _ = model;
//! # Ok::<(), likewise_study::Error>(())
//! ```

mod across;
mod added;
mod again;
mod asked;
mod changes;
mod choose;
mod cost;
mod earlier;
mod job;
mod request;
mod which;

pub use again::{LabeledItems, More};
pub use asked::Asked;
pub use changes::Changes;
pub use choose::{choose, fewer_neighbors, limit_neighbors};
pub use cost::{estimate, with_choice};
pub use earlier::Again;
pub use job::Job;
pub use request::{Outcome, Request};
pub use which::{AUTO, Which};
