//! Advice about a propagation: whether to trust it, from the labels at hand.
//!
//! | question | module |
//! |---|---|
//! | does propagation help on these labels? | [`diagnosis`] |
//! | do pseudo-labels pile up on a class? | [`balance`] |
//! | how often is a confidence of .8 right? | [`temperature`] |
//! | which labels are likely wrong? | [`suspects`] |
//! | is an item of none of the known classes? | [`outside`] |
//! | what is a propagation worth, given the truth? | [`oracle`] |
//!
//! All but [`oracle`] need no truth beyond the given labels.

pub mod balance;
pub mod diagnosis;
pub mod oracle;
pub mod outside;
pub mod suspects;
pub mod temperature;
