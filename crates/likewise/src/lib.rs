//! From a pile of items and a handful of labels to a search that shares your idea of
//! *similar*, with an honest number on it.
//!
//! This crate holds the numerics: graphs, propagation, evaluation, indexes. It reads no
//! files (see `likewise-io`) and trains no networks (see `likewise-nn`).

pub mod advise;
pub mod arrays;
pub mod beliefs;
pub mod code;
pub mod collection;
pub mod cross;
pub mod distance;
pub mod ensemble;
pub mod error;
pub mod eval;
pub mod event;
pub mod graph;
pub mod images;
pub mod index;
pub mod kernel;
pub mod label;
pub mod learn;
pub mod linear;
mod matmul;
pub mod matrix;
pub mod model;
pub mod neighbor;
mod parallel;
pub mod propagate;
pub mod rank;
#[cfg(test)]
mod reference;
pub mod seed;
pub mod select;
pub mod similarity;
pub mod solve;
pub mod tags;
pub mod text;
pub mod topic;
pub mod tuple;
mod word;

pub use beliefs::{Beliefs, Convergence};
pub use collection::{Collection, Columns, Part, View};
pub use error::{Error, ErrorKind, Result};
pub use event::{Event, Monitor};
pub use graph::Graph;
pub use label::{Label, Labels};
pub use similarity::{Embedding, Similarity};
pub use tags::Tags;
pub use tuple::{Pairs, Triplets};

/// The examples of the pages for users, compiled and run with the other documentation tests.
#[cfg(doctest)]
pub mod pages {
    #[doc = include_str!("../../../README.md")]
    pub struct Readme;
    #[doc = include_str!("../../../docs/data.md")]
    pub struct Data;
    #[doc = include_str!("../../../docs/images.md")]
    pub struct Images;
    #[doc = include_str!("../../../docs/propagation.md")]
    pub struct Propagation;
    #[doc = include_str!("../../../docs/recipes.md")]
    pub struct Recipes;
    #[doc = include_str!("../../../docs/run-folder.md")]
    pub struct RunFolder;
    #[doc = include_str!("../../../docs/speed.md")]
    pub struct Speed;
}
