//! Ensembles: many classifiers of few labels, one set of them a view, that vote on all other items.
//!
//! | | does |
//! |---|---|
//! | [`Base`] | the list of classifiers: boosted trees, discriminants, forests, subspaces, 1-NN by a metric |
//! | [`Pruning`] | keeps those that vote best together, on items of known class |
//! | [`Votes`] | trains all, prunes, and counts votes: a pseudo-label and a confidence an item |
//! | [`FromVotes`] | triplets of the items that votes are sure of |
//!
//! What is voted becomes [`Beliefs`](crate::Beliefs), as what is propagated does.

pub mod adaboost;
mod ballot;
mod base;
mod classify;
pub mod discriminant;
pub mod forest;
mod metric;
pub mod nearest;
pub mod pruning;
pub mod subspace;
mod tree;
pub mod triplets;
mod voted;
pub mod votes;

pub use adaboost::AdaBoost;
pub use ballot::{Ballot, majority_is_right};
pub use base::Base;
pub use classify::{Classifier, Classify, Lesson};
pub use discriminant::{Covariance, Discriminant};
pub use forest::Forest;
pub use metric::Metric;
pub use nearest::Nearest;
pub use pruning::{Pruned, Pruning};
pub use subspace::Subspace;
pub use triplets::FromVotes;
pub use voted::{Election, Member, Others, Voted};
pub use votes::{Judges, Votes, Wanted};
