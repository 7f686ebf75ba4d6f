//! The verbs: one file each.

mod across;
pub(crate) mod add;
pub(crate) mod advise;
pub(crate) mod cache;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod describe;
pub(crate) mod doctor;
pub(crate) mod duplicates;
pub(crate) mod embed;
pub(crate) mod eval;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod features;
pub(crate) mod fit;
pub(crate) mod graph;
pub(crate) mod index;
pub(crate) mod man;
pub(crate) mod mine;
pub(crate) mod propagate;
mod refit;
pub(crate) mod reproduce;
pub(crate) mod search;
#[cfg(feature = "serve")]
pub(crate) mod serve;
pub(crate) mod suspects;
