//! How a program speaks: failures and exit codes, results on stdout, progress on stderr, settings from a file,
//! limits of memory.
//!
//! ```text
//! command line -> read           -> a value of the program's own, with the flags of every verb in it
//!                 config            (settings of a file become words of the line)
//! work         -> progress, aside   stderr: bars, now and then a line, warnings
//!              -> output            stdout: what was asked for, in words or as JSON
//!              -> Failure           one message on stderr, one exit code
//! ```
//!
//! What the libraries say names settings; [`Wording`] makes flags of them.

mod aside;
mod context;
mod failure;
mod flags;
mod line;
mod wording;

pub mod config;
pub mod memory;
pub mod output;
pub mod progress;

pub use aside::aside;
pub use context::Context;
pub use failure::Failure;
pub use flags::Common;
pub use line::read;
pub use wording::Wording;
