//! The methods of an experiment: those of the library, and those with negative edges from
//! elsewhere.

use likewise::propagate::{Ability, Method};
use serde::{Deserialize, Serialize};

/// A method with its parameters, and what it works on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Row {
    #[serde(flatten)]
    pub(super) method: Method,
    pub(super) negatives: Negatives,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fraction: Option<f64>,
    pub(super) graph: Kind,
    /// Whether the method is told the true sizes of the classes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) true_sizes: bool,
}

/// Where the negative edges come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Negatives {
    /// The method finds them, if it uses any.
    #[default]
    Found,
    /// Neighbours that are not mutual.
    OneSided,
    /// Truly between classes: a share of those whose ends are not both labeled.
    Oracle,
}

/// Which graph.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// Edges to all neighbours.
    #[default]
    Knn,
    /// Edges between mutual neighbours.
    Mutual,
    /// Edges to all neighbours, those that one end alone lists at this share of their weight.
    #[serde(rename = "one_sided")]
    OneSided(f64),
}

/// The value of a swept parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Setting {
    pub(super) parameter: String,
    pub(super) value: f64,
}

impl Row {
    /// The name and the method of a table of the experiment, with the setting in it.
    pub(super) fn parse(
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
        let true_sizes = take("true_sizes").map(bool::deserialize).transpose();
        let true_sizes = true_sizes.map_err(within)?.unwrap_or_default();
        let method = Method::deserialize(toml::Value::Table(rest)).map_err(within)?;
        let refuse = |what: &str| Err(format!("method \"{name}\": {what}"));
        if negatives != Negatives::Found && !method.has(Ability::TakesNegatives) {
            let takers = Method::any_with(Ability::TakesNegatives);
            return refuse(&format!("negative edges can be given to {takers} only"));
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
        if matches!(graph, Kind::OneSided(share) if !(0.0..=1.0).contains(&share)) {
            return refuse("graph.one_sided must be from 0 to 1");
        }
        if true_sizes && !method.has(Ability::TakesSizes) {
            let takers = Method::any_with(Ability::TakesSizes);
            return refuse(&format!("true_sizes can be told to {takers} only"));
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
                true_sizes,
            },
        ))
    }
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
            (
                "name = \"a\"\nmethod = \"lgc\"\ngraph = { one_sided = 2.0 }",
                "from 0 to 1",
            ),
            (
                "name = \"a\"\nmethod = \"harmonic\"\ntrue_sizes = true",
                "poisson-mbo only",
            ),
        ] {
            let e = parse(text).unwrap_err();
            assert!(e.contains(word), "{e}");
        }
        assert!(parse("name = \"a\"\nmethod = \"dssml\"\ngraph = \"mutual\"").is_ok());
    }
}
