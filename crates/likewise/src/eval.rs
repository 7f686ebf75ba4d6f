//! Honest numbers: ranking metrics, clustering metrics, intervals, splits, leaks, baselines.
//!
//! | question | module |
//! |---|---|
//! | how good is the search? | [`ranking`] |
//! | how good is a search across modalities, or by codes? | [`map50`], [`hit_rate`] |
//! | which classes are found, and which are taken for others? | [`by_class`] |
//! | how good is it, where only a handful of items is labeled? | [`few_labels`] |
//! | do the classes form clusters? | [`kmeans`], [`nmi`] |
//! | how sure is the number? | [`bootstrap`], [`proportion`] |
//! | what may be fitted on, what not? | [`split`], [`leak`] |
//! | did the embedding shrink to a point? | [`collapse`] |
//! | does a confidence mean what it says? | [`calibration`] |
//!
//! The baseline without labels is [`whitening`](crate::linear::whitening); whether to trust a
//! propagation, [`advise`](crate::advise) says.

pub mod bootstrap;
pub mod by_class;
pub mod calibration;
pub mod collapse;
mod estimate;
pub mod few_labels;
pub mod hit_rate;
pub mod kmeans;
pub mod leak;
pub mod map50;
pub mod nmi;
pub mod proportion;
mod rank_counter;
pub mod ranking;
mod relevant;
pub mod split;
pub mod summary;
