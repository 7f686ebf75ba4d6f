//! Advice from the labels at hand: whether to trust a propagation, and what to label next.
//!
//! | question | module |
//! |---|---|
//! | does propagation help on these labels? | [`diagnosis`] |
//! | do pseudo-labels pile up on a class? | [`balance`] |
//! | how often is a confidence of .8 right? | [`temperature`] |
//! | which labels are likely wrong? | [`suspects`] |
//! | is an item of none of the known classes? | [`outside`] |
//! | are the labels of easier items than most? | [`central`] |
//! | what should be labeled next? | [`next`] |
//! | what are more labels worth? | [`curve`] |
//! | from which similarity on are two items the same? | [`threshold`] |
//! | what do the labels near an item say of it? | [`shares`] |
//! | how common is each class among the unlabeled items? | [`prevalence`] |
//! | what is a propagation worth, given the truth? | [`oracle`] |
//!
//! All but [`oracle`] need no truth beyond the given labels.

pub mod balance;
pub mod central;
pub mod curve;
pub mod diagnosis;
pub mod next;
pub mod oracle;
pub mod outside;
pub mod prevalence;
pub mod shares;
pub mod suspects;
pub mod temperature;
pub mod threshold;
