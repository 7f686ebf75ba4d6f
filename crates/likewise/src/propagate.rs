//! Label propagation: a graph and a few labels give beliefs about all items.
//!
//! | method | equation | when |
//! |---|---|---|
//! | [`Lgc`] | `((1 + mu) I - S) F = mu Y` | the usual reference |
//! | [`Harmonic`] | `(L + U) F = U Y` | the base of the mixed method |
//! | [`Mixed`] | `(L + U + f beta (D_S + S)) G = U Y` | finds and uses negative edges |
//! | [`Control`] | the same, `S` without cutting edges | comparison |
//! | [`Manifold`] | the same, `S = 1` on one-sided neighbours | comparison; needs the neighbours |
//! | [`Lpdr`] | `(L + gamma E_L - f lambda (D_S - S)) F = gamma E_L Y` | comparison |
//! | [`Iscen`] | `(I - a S) Z = Y / n_c` | weights for training a network |
//! | [`Dssml`] | the same on a mutual graph | comparison |
//! | [`NegativeLabels`] | the same with labels "not of class c" | where people say what an item is not |
//! | [`Poisson`] | `L u = b`, labels are sources | one label a class, sizes known |
//! | [`PoissonMbo`] | heat steps, decided by sizes again and again | one or two labels a class |
//! | [`TongJinExact`], [`GongExact`], [`GoldbergExact`] | dense, a few thousand nodes | comparison |
//!
//! **Which one.** The default of [`Method`] is [`Mixed`]; [`mixed`] says which did best where. [`Lgc`] with
//! [`Mass::Uniform`], which its paper does not have and which is asked for, is the strongest simple one. [`Method`] lists them all, with what each takes besides a
//! graph and labels ([`Given`]).
//!
//! [`GoldbergExact`] needs the feature `exact` (a solver of quadratic programs). Apart from these,
//! [`Affinity`] spreads what is known of pairs, for the mining of [tuples](crate::tuple).
//!
//! What holds for all of them:
//! - The pseudo-label is the class with the highest score, ties to the smaller class, and the
//!   confidence is how peaked the scores are. Where classes have different numbers of
//!   labels in the whole graph, each score is first divided by the number of its
//!   class: else the class with the most labels wins nearly everywhere, since all scores
//!   are close to the label proportions. (This is our choice; with equal numbers, as in
//!   the papers, nothing changes, also where a graph falls apart and a component has more
//!   labels of one class than of another.) With class-mass normalisation, [`Mass`] does this
//!   instead, and [`Iscen`] and [`Dssml`] have it in their equation.
//! - Only classes with a label in the component of an item can be its pseudo-label.
//! - A class without any labeled item is left out of the computation: its scores are 0
//!   and it is never a pseudo-label.
//! - In a component without labels (an isolated unlabeled node, for instance) scores and
//!   confidence are 0 and there is no pseudo-label.
//! - A labeled item keeps its label, with confidence 1.
//! - An item labeled [`Outside`](crate::Label::Outside), known to belong to none of the classes, is a node without
//!   a label that gets no pseudo-label: it passes on what reaches it, but counts in the size of no class.

pub mod additive_session;
pub mod affinity;
pub mod by_tag;
pub mod control;
pub mod dssml;
mod given;
pub mod goldberg;
pub mod gong;
pub mod harmonic;
pub mod induction;
pub mod iscen;
pub mod lgc;
pub mod lgc_session;
pub mod lpdr;
pub mod manifold;
mod method;
pub mod mixed;
pub mod negative_labels;
pub mod parts;
pub mod poisson;
pub mod poisson_mbo;
pub mod poisson_session;
pub mod session;
pub mod tong_jin;

pub use additive_session::AdditiveSession;
pub use affinity::{Affinity, affinity_exact};
pub use control::Control;
pub use dssml::Dssml;
pub use given::{Ability, Given, Spread};
pub use goldberg::GoldbergExact;
pub use gong::GongExact;
pub use harmonic::Harmonic;
pub use iscen::Iscen;
pub use lgc::Lgc;
pub use lgc_session::LgcSession;
pub use lpdr::Lpdr;
pub use manifold::Manifold;
pub use method::Method;
pub use mixed::{Held, Mixed, Scale};
pub use negative_labels::NegativeLabels;
pub use parts::mass::Mass;
pub use parts::negative::NegativeEdges;
pub use parts::sizes::Sizes;
pub use poisson::Poisson;
pub use poisson_mbo::PoissonMbo;
pub use poisson_session::PoissonSession;
pub use session::Session;
pub use tong_jin::TongJinExact;

use crate::{Beliefs, Graph, Labels, Monitor, Result};

/// A method that spreads labels over a graph.
pub trait Propagate {
    /// Beliefs about every node of the graph from all that is given, and the negative edges
    /// where the method finds some.
    ///
    /// Fails if there is no known label, if labels and graph differ in length, if the negative
    /// edges are not of this graph, on a parameter out of its range, on more nodes than a dense
    /// method takes, and when cancelled. A method also fails on what it does not take and
    /// without what it needs ([`Ability`]). A solver that did not converge is reported in
    /// [`Beliefs::convergence`] and by a warning.
    fn spread(&self, given: &Given, monitor: &Monitor) -> Result<Spread>;

    /// Beliefs from a graph and labels alone; fails as [`spread`](Self::spread) does.
    fn propagate(&self, graph: &Graph, labels: &Labels, monitor: &Monitor) -> Result<Beliefs> {
        let spread = self.spread(&Given::new(graph, labels), monitor)?;
        Ok(spread.beliefs)
    }
}
