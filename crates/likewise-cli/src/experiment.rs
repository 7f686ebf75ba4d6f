//! Experiments: a study of a paper as a TOML file, its results as JSON and Markdown.

pub(crate) mod cell;
pub(crate) mod definition;
pub(crate) mod figure;
pub(crate) mod markdown;
pub(crate) mod method;
pub(crate) mod prepared;
pub(crate) mod retrieval;
pub(crate) mod store;
pub(crate) mod summary;
