//! A run over HTTP: search, labels that spread at once, review, refit; and the page that uses it.
//!
//! ```text
//! connection -> guard -> route -> what is open  (search, items, map: read where they stand)
//!                              -> worker        (labels: one thread that holds the session)
//!                              -> refit         (a thread; spreads the labels by the new model, which then takes
//!                                                the place of the old)
//! ```
//!
//! Nothing is computed here that [`likewise_study`] does not offer to others: `live` follows the labels,
//! `run_folder` keeps models and answers searches. One thread changes labels, so that they have
//! an order; all others read what it [shows](likewise_study::live::Shown).
//!
//! A request is answered from one whole run: what is open is never changed, only replaced.

#![allow(
    clippy::struct_field_names,
    reason = "fields are named as in the JSON that programs read"
)]

mod advice;
mod answer;
mod app;
mod command;
mod connection;
mod events;
mod extract;
mod front;
mod guard;
mod meters;
mod open;
mod options;
mod page;
mod picture;
mod problem;
mod queues;
mod refit;
mod refits;
mod route;
mod worker;

pub use connection::{check_token, serve};
pub use options::{FromFiles, Options, Ready, Refit};
