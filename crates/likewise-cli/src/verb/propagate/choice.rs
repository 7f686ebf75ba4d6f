//! The method that the flags choose, with its parameters.

use likewise::neighbor::Neighbors;
use likewise::propagate::{
    GoldbergExact, GongExact, Manifold, Method, Mixed, NegativeEdges, NegativeLabels,
    Propagate as _, TongJinExact,
};
use likewise::{Beliefs, Graph, Labels, Monitor};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::args::{MassName, MethodName, Propagate, ScaleName};
use crate::failure::Failure;

/// A method with its parameters.
pub(crate) enum Choice {
    Plain(Method),
    /// Needs the neighbour lists.
    Manifold(Mixed),
    /// Needs what the items are not.
    NegativeLabels(NegativeLabels),
    Goldberg(GoldbergExact),
    Gong(GongExact),
    TongJin(TongJinExact),
}

/// What a method may use besides the graph and the labels.
#[derive(Default)]
pub(crate) struct Given<'a> {
    pub(crate) neighbors: Option<&'a Neighbors>,
    pub(crate) negatives: Option<&'a NegativeEdges>,
    /// Pairs (item, class): the item is not of the class.
    pub(crate) excluded: Vec<(u32, u32)>,
}

impl Choice {
    /// Fails where the method is for fewer nodes: before the graph of so many is built.
    pub(crate) fn check_nodes(&self, n: usize) -> Result<(), Failure> {
        let most = match self {
            Self::Goldberg(_) => GoldbergExact::MOST_NODES,
            Self::Gong(_) => GongExact::MOST_NODES,
            Self::TongJin(_) => TongJinExact::MOST_NODES,
            Self::Plain(_) | Self::Manifold(_) | Self::NegativeLabels(_) => return Ok(()),
        };
        if n <= most {
            return Ok(());
        }
        Err(Failure::failed(format!(
            "{n} items are too many for this method, which takes at most {most}; take mixed"
        )))
    }

    pub(crate) fn new(args: &Propagate) -> Result<Self, Failure> {
        let changes = changes(args)?;
        let name = &args.method().name();
        let with = |method| Ok(Self::Plain(changed(&method, &changes, name)?));
        match args.method() {
            MethodName::Mixed => {
                // The paper's own scales go with the paper's own values.
                let base = match args.scale {
                    Some(ScaleName::Literal | ScaleName::Unscaled) => Mixed::paper(),
                    Some(ScaleName::Probability) => Mixed::as_read(),
                    Some(ScaleName::Standardised) | None => Mixed::new(),
                };
                with(Method::Mixed(base))
            }
            MethodName::Manifold => Ok(Self::Manifold(changed(&Mixed::paper(), &changes, name)?)),
            MethodName::NegativeLabels => {
                let base = NegativeLabels::default();
                Ok(Self::NegativeLabels(changed(&base, &changes, name)?))
            }
            MethodName::Goldberg => Ok(Self::Goldberg(changed(
                &GoldbergExact::default(),
                &changes,
                name,
            )?)),
            MethodName::Gong => Ok(Self::Gong(changed(&GongExact::default(), &changes, name)?)),
            MethodName::TongJin => Ok(Self::TongJin(changed(
                &TongJinExact::default(),
                &changes,
                name,
            )?)),
            _ => match Method::named(name) {
                Some(method) => with(method),
                None => Err(Failure::usage(format!("no method {name}"))),
            },
        }
    }

    /// Whether known negative edges can be given.
    pub(crate) fn takes_negatives(&self) -> bool {
        match self {
            Self::Plain(method) => matches!(method, Method::Mixed(_) | Method::Lpdr(_)),
            Self::Goldberg(_) | Self::Gong(_) | Self::TongJin(_) => true,
            Self::Manifold(_) | Self::NegativeLabels(_) => false,
        }
    }

    /// Whether the method finds negative edges that can be written.
    pub(crate) fn finds_negatives(&self) -> bool {
        matches!(
            self,
            Self::Manifold(_) | Self::Plain(Method::Mixed(_) | Method::Control(_))
        )
    }

    /// Beliefs, and the negative edges where the method found some.
    pub(crate) fn spread(
        &self,
        graph: &Graph,
        labels: &Labels,
        given: &Given,
        monitor: &Monitor,
    ) -> likewise::Result<(Beliefs, Option<NegativeEdges>)> {
        let beliefs = match (self, given.negatives) {
            (Self::Plain(Method::Mixed(m)), Some(s)) => {
                m.propagate_given(graph, labels, s, monitor)
            }
            (Self::Plain(Method::Lpdr(m)), Some(s)) => m.propagate_given(graph, labels, s, monitor),
            (Self::Goldberg(m), Some(s)) => m.propagate_given(graph, labels, s, monitor),
            (Self::Gong(m), Some(s)) => m.propagate_given(graph, labels, s, monitor),
            (Self::TongJin(m), Some(s)) => m.propagate_given(graph, labels, s, monitor),
            (Self::Plain(Method::Mixed(m)), None) => {
                let (beliefs, negatives) = m.propagate_with_negatives(graph, labels, monitor)?;
                return Ok((beliefs, Some(negatives)));
            }
            (Self::Plain(Method::Control(m)), None) => {
                let (beliefs, negatives) = m.propagate_with_negatives(graph, labels, monitor)?;
                return Ok((beliefs, Some(negatives)));
            }
            (Self::Plain(m), None) => m.propagate(graph, labels, monitor),
            (Self::Goldberg(_) | Self::Gong(_) | Self::TongJin(_), None) => {
                // Where no negative edges are known, those of mixed propagation serve.
                let quiet = monitor.quiet();
                let (_, found) = Mixed::new().propagate_with_negatives(graph, labels, &quiet)?;
                let given = Given {
                    negatives: Some(&found),
                    ..Given::default()
                };
                return self.spread(graph, labels, &given, monitor);
            }
            (Self::Manifold(mixed), None) => {
                let Some(neighbors) = given.neighbors else {
                    return Err(refused(
                        "--method manifold needs the neighbours themselves; leave --graph out",
                    ));
                };
                let negatives = likewise::propagate::manifold::one_sided(graph, neighbors)?;
                let method = Manifold::new(neighbors).mixed(mixed.clone());
                let beliefs = method.propagate(graph, labels, monitor)?;
                return Ok((beliefs, Some(negatives)));
            }
            (Self::NegativeLabels(m), None) => m
                .clone()
                .exclude(given.excluded.clone())
                .propagate(graph, labels, monitor),
            (Self::Plain(_) | Self::Manifold(_) | Self::NegativeLabels(_), Some(_)) => {
                return Err(refused(
                    "--known-negatives needs --method mixed, lpdr, goldberg, gong or tong-jin",
                ));
            }
        };
        Ok((beliefs?, None))
    }
}

fn refused(message: &str) -> likewise::Error {
    likewise::Error::new(likewise::ErrorKind::Parameter, message)
}

/// The parameters that were given, by the names that recipes use.
fn changes(args: &Propagate) -> Result<Map<String, Value>, Failure> {
    let mut changes = Map::new();
    let numbers = [
        ("beta", args.beta),
        ("lambda", args.lambda),
        ("mu", args.mu),
        ("pair_factor", args.pair_factor),
        ("tolerance", args.tolerance),
    ];
    for (name, value) in numbers {
        if let Some(value) = value {
            // JSON has no number for these.
            if !value.is_finite() {
                return Err(Failure::usage(format!("{name} = {value}: must be finite")));
            }
            changes.insert(name.into(), value.into());
        }
    }
    if let Some(scale) = args.scale {
        let name = match scale {
            ScaleName::Literal => "literal",
            ScaleName::Probability => "probability",
            ScaleName::Unscaled => "unscaled",
            ScaleName::Standardised => "standardised",
        };
        changes.insert("scale".into(), name.into());
    }
    if let Some(mass) = args.mass() {
        let name = match mass {
            MassName::None => "none",
            MassName::Uniform => "uniform",
            MassName::Labeled => "labeled",
            MassName::Estimated => "estimated",
        };
        changes.insert("mass".into(), name.into());
    }
    for set in &args.set {
        let Some((name, value)) = set.split_once('=') else {
            return Err(Failure::usage(format!(
                "--set {set}: write NAME=VALUE, e.g. gamma=100"
            )));
        };
        let value = value.trim();
        let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        changes.insert(name.trim().replace('-', "_"), value);
    }
    Ok(changes)
}

/// `base` with some of its parameters changed.
fn changed<T: Serialize + DeserializeOwned>(
    base: &T,
    changes: &Map<String, Value>,
    method: &str,
) -> Result<T, Failure> {
    let broken = |e: serde_json::Error| Failure::usage(format!("--method {method}: {e}"));
    let mut value = serde_json::to_value(base).map_err(broken)?;
    let Some(fields) = value.as_object_mut() else {
        return Err(Failure::usage(format!(
            "--method {method} has no parameters"
        )));
    };
    for (name, change) in changes {
        let Some(field) = fields.get_mut(name).filter(|_| name != "method") else {
            let known = fields.keys().map(String::as_str);
            let known: Vec<&str> = known.filter(|k| *k != "method").collect();
            return Err(Failure::usage(format!(
                "--{}: --method {method} has no such parameter; it has {}",
                name.replace('_', "-"),
                known.join(", ")
            )));
        };
        *field = change.clone();
    }
    serde_json::from_value(value).map_err(broken)
}

/// For the diagnosis, which runs the method several times.
pub(crate) struct Prepared<'a> {
    pub(crate) choice: &'a Choice,
    pub(crate) given: &'a Given<'a>,
}

impl likewise::propagate::Propagate for Prepared<'_> {
    fn propagate(
        &self,
        graph: &Graph,
        labels: &Labels,
        monitor: &Monitor,
    ) -> likewise::Result<Beliefs> {
        let (beliefs, _) = self.choice.spread(graph, labels, self.given, monitor)?;
        Ok(beliefs)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Verb};

    fn method(flags: &[&str]) -> Value {
        let words = ["likewise", "propagate", "x.npy", "-o", "b.npz"];
        let cli = Cli::try_parse_from([&words, flags].concat()).unwrap();
        let Verb::Propagate(args) = cli.verb else {
            panic!("propagate");
        };
        let Choice::Plain(method) = Choice::new(&args).unwrap() else {
            panic!("a plain method");
        };
        serde_json::to_value(method).unwrap()
    }

    #[test]
    fn naming_the_default_changes_nothing() {
        let default = method(&[]);
        assert_eq!(default["method"], "lgc");
        assert_eq!(default["mass"], "uniform");
        assert_eq!(default, method(&["--method", "lgc"]));
        let printed = method(&["--method", "lgc", "--mass", "none"]);
        assert_eq!(printed["mass"], "none");
        assert_eq!(printed, method(&["--mass", "none"]));
        assert_eq!(method(&["--method", "harmonic"])["mass"], "none");
    }

    #[test]
    fn a_scale_of_the_paper_comes_with_its_values() {
        for (scale, lambda, pair_factor) in [
            ("literal", 4.0, 2.0),
            ("probability", 4.0, 1.0),
            ("unscaled", 4.0, 2.0),
            ("standardised", 3.0, 1.0),
        ] {
            let found = method(&["--scale", scale]);
            assert_eq!(found["scale"], scale);
            assert_eq!(
                (&found["lambda"], &found["pair_factor"]),
                (&lambda.into(), &pair_factor.into())
            );
        }
    }
}
