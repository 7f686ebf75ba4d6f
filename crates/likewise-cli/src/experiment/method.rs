//! The methods of an experiment: those of the library, and those with negative edges from
//! elsewhere.

use likewise::propagate::{Method, NegativeEdges, Propagate as _, manifold};
use likewise::{Beliefs, Graph, Labels, Monitor, seed};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::prepared::Prepared;
use crate::failure::Failure;

/// A method with its parameters, and what it works on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Row {
    #[serde(flatten)]
    method: Method,
    negatives: Negatives,
    #[serde(skip_serializing_if = "Option::is_none")]
    fraction: Option<f64>,
    graph: Kind,
}

/// Where the negative edges come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Negatives {
    /// The method finds them, if it uses any.
    #[default]
    Found,
    /// Neighbours that are not mutual.
    OneSided,
    /// Truly between classes: a share of those whose ends are not both labeled.
    Oracle,
}

/// Which graph.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    /// Edges to all neighbours.
    #[default]
    Knn,
    /// Edges between mutual neighbours.
    Mutual,
}

/// The value of a swept parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Setting {
    pub(crate) parameter: String,
    pub(crate) value: f64,
}

impl Row {
    /// The name and the method of a table of the experiment, with the setting in it.
    pub(crate) fn parse(
        table: &toml::Table,
        setting: Option<&Setting>,
    ) -> Result<(String, Self), String> {
        let mut rest = table.clone();
        if let Some(Setting { parameter, value }) = setting {
            rest.insert(parameter.clone(), toml::Value::Float(*value));
        }
        let Some(toml::Value::String(name)) = rest.remove("name") else {
            return Err("a method needs a name in quotes".into());
        };
        let within = |e: toml::de::Error| format!("method \"{name}\": {}", e.message());
        let mut take = |key: &str| rest.remove(key);
        let negatives = take("negatives").map(Negatives::deserialize).transpose();
        let negatives = negatives.map_err(within)?.unwrap_or_default();
        let fraction = take("fraction").map(f64::deserialize).transpose();
        let fraction = fraction.map_err(within)?;
        let graph = take("graph").map(Kind::deserialize).transpose();
        let graph = graph.map_err(within)?.unwrap_or_default();
        let method = Method::deserialize(toml::Value::Table(rest)).map_err(within)?;
        let refuse = |what: &str| Err(format!("method \"{name}\": {what}"));
        if negatives != Negatives::Found && !matches!(method, Method::Mixed(_) | Method::Lpdr(_)) {
            return refuse("negative edges can be given to mixed or lpdr only");
        }
        if negatives == Negatives::Oracle && fraction.is_none() && setting.is_some() {
            return refuse("negatives = \"oracle\" needs a fraction");
        }
        if negatives != Negatives::Oracle && fraction.is_some() {
            return refuse("a fraction needs negatives = \"oracle\"");
        }
        if fraction.is_some_and(|f| !(0.0..=1.0).contains(&f)) {
            return refuse("fraction must be from 0 to 1");
        }
        if graph == Kind::Mutual && negatives == Negatives::OneSided {
            return refuse("a mutual graph has no one-sided neighbours");
        }
        Ok((
            name,
            Self {
                method,
                negatives,
                fraction,
                graph,
            },
        ))
    }

    /// Beliefs from the labels of a draw.
    pub(crate) fn run(
        &self,
        data: &Prepared,
        labels: &Labels,
        draw: u64,
        monitor: &Monitor,
    ) -> Result<Beliefs, Failure> {
        let graph = match self.graph {
            Kind::Knn => &data.graph,
            Kind::Mutual => data.mutual()?,
        };
        let given = match self.negatives {
            Negatives::Found => return Ok(self.method.propagate(graph, labels, monitor)?),
            Negatives::OneSided => manifold::one_sided(graph, &data.neighbors)?,
            Negatives::Oracle => oracle(
                graph,
                &data.truth,
                labels,
                self.fraction.unwrap_or(1.0),
                draw,
            )?,
        };
        Ok(match &self.method {
            Method::Mixed(m) => m.propagate_given(graph, labels, &given, monitor)?,
            Method::Lpdr(m) => m.propagate_given(graph, labels, &given, monitor)?,
            other => other.propagate(graph, labels, monitor)?,
        })
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
) -> Result<NegativeEdges, Failure> {
    let labeled = |i: u32| labels[i as usize].class().is_some();
    let mut edges: Vec<(u32, u32, f64)> = (graph.edges())
        .filter(|&(i, j, _)| truth[i as usize] != truth[j as usize])
        .filter(|&(i, j, _)| !(labeled(i) && labeled(j)))
        .map(|(i, j, _)| (i, j, 1.0))
        .collect();
    edges.shuffle(&mut seed::stream(draw, "oracle edges"));
    edges.truncate((fraction * edges.len() as f64).round() as usize);
    Ok(NegativeEdges::from_pairs(graph, edges)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Row, String> {
        Row::parse(&text.parse().unwrap(), None).map(|(_, row)| row)
    }

    #[test]
    fn rows_are_refused_where_they_make_no_sense() {
        for (text, word) in [
            ("method = \"lgc\"", "needs a name"),
            ("name = \"a\"", "missing field `method`"),
            ("name = \"a\"\nmethod = \"lgc\"\nfraction = 0.5", "oracle"),
            (
                "name = \"a\"\nmethod = \"mixed\"\nnegatives = \"oracle\"\nfraction = 2.0",
                "from 0 to 1",
            ),
            (
                "name = \"a\"\nmethod = \"mixed\"\nnegatives = \"some\"",
                "unknown variant",
            ),
            (
                "name = \"a\"\nmethod = \"mixed\"\nnegatives = \"one-sided\"\ngraph = \"mutual\"",
                "no one-sided",
            ),
        ] {
            let e = parse(text).unwrap_err();
            assert!(e.contains(word), "{e}");
        }
        assert!(parse("name = \"a\"\nmethod = \"dssml\"\ngraph = \"mutual\"").is_ok());
    }

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
