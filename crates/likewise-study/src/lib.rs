//! The product as a library: from items and a handful of labels to a measured, searchable run.
//!
//! ```text
//! source -> recipe -> study -> run folder -> query, report
//! ```
//!
//! A [`Source`](source::Source) says what is at a path, a [`Recipe`] what to do with it, and a
//! [`study::Plan`] does it beside its baselines. A [`fit::Job`] leaves a
//! [run folder](run_folder), which [`query`] searches and [`report`] shows. An
//! [`experiment`] compares many recipes. Nothing here prints, and nothing knows of a command
//! line: errors have a kind and a [hint](likewise::error::Hint) that others put in words.

pub mod across;
pub mod add;
pub mod advise;
mod card;
pub mod compare;
pub mod data;
pub mod demo;
pub mod describe;
pub mod doctor;
pub mod duplicates;
pub mod embed;
pub mod environment;
pub mod estimate;
pub mod evaluation;
pub mod experiment;
pub mod export;
pub mod features;
pub mod fit;
pub mod gate;
pub mod given;
pub mod graph;
pub mod index;
pub mod inputs;
pub mod journal;
pub mod labels;
pub mod live;
pub mod mine;
pub mod near;
pub mod neighbors;
pub mod plain;
pub mod propagation;
pub mod query;
pub mod recipe;
pub mod report;
pub mod run_folder;
mod run_graph;
pub mod search;
pub mod sides;
pub mod size;
pub mod source;
pub mod stages;
pub mod study;
pub mod suspects;
pub mod table;
pub mod text;
pub mod topic;

pub use likewise::{Error, ErrorKind, Result};
pub use likewise_nn::{Device, Model, device};

pub use environment::Environment;
pub use recipe::Recipe;

/// Work that failed: the message says where.
fn failed(message: impl Into<String>) -> Error {
    Error::data(message).placed()
}

/// A value that cannot be written as JSON.
#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn no_json(e: serde_json::Error) -> Error {
    Error::new(ErrorKind::Internal, format!("cannot write JSON: {e}"))
}

/// Settings that exclude each other, or that do not suit what is there.
fn usage(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Parameter, message)
}
