//! What a propagation is given, and what it gives.

use super::NegativeEdges;
use crate::neighbor::Neighbors;
use crate::{Beliefs, Error, ErrorKind, Graph, Labels, Result};

/// What a propagation is given: a graph and labels, and what some methods use besides.
///
/// ```
/// use likewise::propagate::{Given, Mixed, NegativeEdges, Propagate};
/// use likewise::{Graph, Labels, Monitor};
/// // A path 0-1-2-3 whose middle edge is known to join two classes.
/// let graph = Graph::new(vec![0, 1, 3, 5, 6], vec![1, 0, 2, 1, 3, 2], vec![1.0; 6])?;
/// let labels = Labels::parse(["cat", "", "", "dog"]);
/// let negatives = NegativeEdges::from_pairs(&graph, [(1, 2, 1.0)])?;
/// let given = Given::new(&graph, &labels).negatives(&negatives);
/// let spread = Mixed::new().spread(&given, &Monitor::silent())?;
/// assert_eq!(spread.beliefs.pseudo_label, [Some(0), Some(0), Some(1), Some(1)]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    /// The graph that labels spread over.
    pub graph: &'a Graph,
    /// One label a node.
    pub labels: &'a Labels,
    /// The neighbour lists that the graph was made of.
    pub neighbors: Option<&'a Neighbors>,
    /// Edges known to join unlike items, in place of a search for them.
    pub negatives: Option<&'a NegativeEdges>,
    /// Pairs `(item, class)`: the item is not of this class.
    pub excluded: &'a [(u32, u32)],
}

impl<'a> Given<'a> {
    /// A graph and its labels, and nothing else.
    pub fn new(graph: &'a Graph, labels: &'a Labels) -> Self {
        Self {
            graph,
            labels,
            neighbors: None,
            negatives: None,
            excluded: &[],
        }
    }

    /// The neighbour lists that the graph was made of; methods that need none pass them over.
    #[must_use]
    pub fn neighbors(mut self, neighbors: &'a Neighbors) -> Self {
        self.neighbors = Some(neighbors);
        self
    }

    /// Edges known to join unlike items, in place of a search for them.
    #[must_use]
    pub fn negatives(mut self, negatives: &'a NegativeEdges) -> Self {
        self.negatives = Some(negatives);
        self
    }

    /// Pairs `(item, class)`: the item is not of this class.
    #[must_use]
    pub fn excluded(mut self, excluded: &'a [(u32, u32)]) -> Self {
        self.excluded = excluded;
        self
    }

    /// The same with other labels.
    #[must_use]
    pub fn labels<'b>(self, labels: &'b Labels) -> Given<'b>
    where
        'a: 'b,
    {
        Given { labels, ..self }
    }

    /// Fails unless the method `M` can use what is given, and all that it needs is.
    pub(super) fn check<M: Listed>(&self) -> Result<()> {
        let has = |ability| M::ABILITIES.contains(&ability);
        let fail = |message: String| Err(Error::new(ErrorKind::Parameter, message));
        let name = M::NAME;
        self.labels.check_single(name)?;
        if has(Ability::NeedsNeighbors) && self.neighbors.is_none() {
            return fail(format!(
                "{name} needs the neighbour lists that the graph was made of; give them, or take \
                 mixed"
            ));
        }
        if self.negatives.is_some() && !has(Ability::TakesNegatives) {
            return fail(format!(
                "{name} does not take known negative edges; leave them out, or take mixed"
            ));
        }
        if !self.excluded.is_empty() && !has(Ability::TakesExclusions) {
            return fail(format!(
                "{name} does not take what items are not; leave it out, or take negative-labels"
            ));
        }
        check_nodes(name, M::ABILITIES, self.graph.n())
    }
}

/// What a method needs, takes and gives besides a graph, labels and beliefs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ability {
    /// It needs [the neighbour lists](Given::neighbors).
    NeedsNeighbors,
    /// It takes [known negative edges](Given::negatives).
    TakesNegatives,
    /// It gives [the negative edges](Spread::negatives) that it found, where none were given.
    FindsNegatives,
    /// It takes [what items are not](Given::excluded).
    TakesExclusions,
    /// It decides by the [sizes of the classes](super::Sizes), which can be
    /// [said](super::Method::set_sizes).
    TakesSizes,
    /// Its graph is one of [mutual neighbours](crate::graph::Symmetrize::Mutual). It cannot see whether it is:
    /// who builds a graph [for it](super::Method::symmetrize) sees to that.
    Mutual,
    /// It makes matrices of all pairs of nodes, and fails on more nodes than these.
    Dense {
        /// Most nodes.
        most_nodes: usize,
    },
}

/// A method in the list, which says its name and its abilities.
pub(super) trait Listed {
    const NAME: &'static str;
    const ABILITIES: &'static [Ability];
}

/// Fails where `n` nodes are too many for a dense method.
pub(super) fn check_nodes(name: &str, abilities: &[Ability], n: usize) -> Result<()> {
    for ability in abilities {
        if let Ability::Dense { most_nodes } = *ability
            && n > most_nodes
        {
            return Err(Error::data(format!(
                "{name} is dense and takes at most {most_nodes} items, but these are {n}; mixed does the \
                 same job"
            )));
        }
    }
    Ok(())
}

/// What a propagation gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// Scores, pseudo-labels and confidences.
    pub beliefs: Beliefs,
    /// The negative edges, where the method found some.
    pub negatives: Option<NegativeEdges>,
}

impl From<Beliefs> for Spread {
    fn from(beliefs: Beliefs) -> Self {
        Self {
            beliefs,
            negatives: None,
        }
    }
}
