//! Beliefs about a data set by a method of an experiment.

use std::borrow::Cow;

use likewise::graph::Symmetrize;
use likewise::propagate::{Given, NegativeEdges, Propagate as _, Sizes, manifold};
use likewise::{Beliefs, Graph, Labels, Monitor, seed};
use rand::seq::SliceRandom;

use super::method::{Kind, Negatives, Row};
use super::prepared::Prepared;
use crate::Result;

impl Row {
    /// Beliefs from the labels of a draw.
    pub(super) fn run(
        &self,
        data: &Prepared,
        labels: &Labels,
        draw: u64,
        monitor: &Monitor,
    ) -> Result<Beliefs> {
        let rule = match self.graph {
            Kind::Knn => None,
            Kind::Mutual => Some(Symmetrize::Mutual),
            Kind::OneSided(share) => Some(Symmetrize::OneSided(share)),
        };
        let other = rule.map(|rule| data.graph_by(rule)).transpose()?;
        let graph = other.as_deref().unwrap_or(&data.graph);
        let mut method = Cow::Borrowed(&self.method);
        if self.true_sizes {
            let sizes = data.truth.by_class();
            let sizes = sizes.iter().map(|members| members.len() as f64).collect();
            method.to_mut().set_sizes(Sizes::Known(sizes));
        }
        let given = Given::new(graph, labels).neighbors(&data.neighbors);
        let negatives = match self.negatives {
            Negatives::Found => return Ok(method.spread(&given, monitor)?.beliefs),
            Negatives::OneSided => manifold::one_sided(graph, &data.neighbors)?,
            Negatives::Oracle => oracle(
                graph,
                &data.truth,
                labels,
                self.fraction.unwrap_or(1.0),
                draw,
            )?,
        };
        let given = given.negatives(&negatives);
        Ok(method.spread(&given, monitor)?.beliefs)
    }
}

/// A share of the edges whose ends are of different classes, those between two labeled items
/// left out. The edges of a smaller share are among those of a larger one.
fn oracle(
    graph: &Graph,
    truth: &Labels,
    labels: &Labels,
    fraction: f64,
    draw: u64,
) -> Result<NegativeEdges> {
    let labeled = |i: u32| labels[i as usize].class().is_some();
    let mut edges: Vec<(u32, u32, f64)> = (graph.edges())
        .filter(|&(i, j, _)| truth[i as usize] != truth[j as usize])
        .filter(|&(i, j, _)| !(labeled(i) && labeled(j)))
        .map(|(i, j, _)| (i, j, 1.0))
        .collect();
    edges.shuffle(&mut seed::stream(draw, "oracle edges"));
    edges.truncate((fraction * edges.len() as f64).round() as usize);
    NegativeEdges::from_pairs(graph, edges)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_reveals_true_edges_and_adds_to_what_it_revealed() {
        let graph = Graph::new(
            vec![0, 1, 3, 5, 6],
            vec![1, 0, 2, 1, 3, 2],
            vec![1.0, 1.0, 0.5, 0.5, 1.0, 1.0],
        )
        .unwrap();
        let truth = Labels::parse(["a", "b", "a", "b"]);
        let of = |labels: &Labels, fraction| {
            let found = oracle(&graph, &truth, labels, fraction, 1).unwrap();
            let edges: Vec<_> = found.edges(&graph).map(|(i, j, _)| (i, j)).collect();
            edges
        };
        let none = Labels::parse(["a", "", "", ""]);
        assert_eq!(of(&none, 1.0), [(0, 1), (1, 2), (2, 3)]);
        let (one, two) = (of(&none, 0.34), of(&none, 0.67));
        assert_eq!((one.len(), two.len()), (1, 2));
        assert!(two.contains(&one[0]));
        assert_eq!(of(&truth.masked(|i| i < 2), 1.0), [(1, 2), (2, 3)]);
        assert_eq!(of(&none, 0.0), []);
    }
}
