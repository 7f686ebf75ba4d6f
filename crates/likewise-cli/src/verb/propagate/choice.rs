//! The method that the flags choose, with its parameters.

use std::path::Path;

use clap::ValueEnum;
use likewise::propagate::{Lgc, Mass, Method, Mixed};
use serde_json::{Map, Value};

use crate::args::{Propagate, ScaleName};
use crate::failure::Failure;

/// The method that the flags choose, with the parameters that they change.
pub(crate) fn method(args: &Propagate) -> Result<Method, Failure> {
    let name = args.method();
    // The paper's own scales go with the paper's own values.
    let base = match args.scale {
        Some(ScaleName::Literal | ScaleName::Unscaled) if name == "mixed" => {
            Method::Mixed(Mixed::paper())
        }
        Some(ScaleName::Probability) if name == "mixed" => Method::Mixed(Mixed::as_read()),
        // The strongest simple method; as published is --mass none.
        _ if name == "lgc" => Method::Lgc(Lgc::new().mass(Mass::Uniform)),
        _ => Method::named(name)?,
    };
    let decides = matches!(base, Method::Poisson(_) | Method::PoissonMbo(_));
    if args.class_sizes.is_some() && !decides {
        return Err(Failure::usage(format!(
            "--class-sizes has no effect with --method {name}; take poisson-mbo or poisson, or leave \
             it out"
        )));
    }
    let changes = changes(args)?;
    let method = changed(&base, &changes)?;
    let (idle, why) = method.idle(args.known_negatives.is_some());
    if let Some(idle) = idle.iter().find(|idle| changes.contains_key(**idle)) {
        return Err(Failure::usage(format!(
            "--{idle} has no effect with --method {name}: {why}; leave it out"
        )));
    }
    Ok(method)
}

/// The file of `--class-sizes`, where it names one.
pub(super) fn sizes(args: &Propagate) -> Option<&Path> {
    let written = args.class_sizes.as_deref();
    written.filter(|written| !is_word(written)).map(Path::new)
}

/// The words of `--class-sizes`; anything else is a file.
fn is_word(written: &str) -> bool {
    let words = ["balanced", "labeled", "estimated", "free"];
    words.contains(&written) || written.starts_with("within=")
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
        changes.insert("scale".into(), name_of(scale).into());
    }
    if let Some(mass) = args.mass {
        changes.insert("mass".into(), name_of(mass).into());
    }
    if let Some(written) = &args.class_sizes {
        let sizes = match written.strip_prefix("within=") {
            Some(ratio) => {
                let ratio = ratio.parse::<f64>().ok();
                let ratio = ratio.filter(|ratio| ratio.is_finite() && *ratio >= 1.0);
                let ratio = ratio.ok_or_else(|| {
                    Failure::usage(format!(
                        "--class-sizes {written}: a class may be so many times larger or smaller than all \
                         would be if they were equal, a finite number of at least 1; write within=2"
                    ))
                })?;
                serde_json::json!({ "within": ratio })
            }
            None if is_word(written) => written.as_str().into(),
            // Read once the classes are known.
            None => "balanced".into(),
        };
        changes.insert("sizes".into(), sizes);
    }
    for set in &args.set {
        let Some((name, value)) = set.split_once('=') else {
            return Err(Failure::usage(format!(
                "--set {set}: write NAME=VALUE, e.g. gamma=100"
            )));
        };
        let value = value.trim();
        let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        let name = name.trim().replace('-', "_");
        if changes.insert(name.clone(), value).is_some() {
            return Err(Failure::usage(format!(
                "--set {set}: {name} is given twice; give it once"
            )));
        }
    }
    Ok(changes)
}

/// A value as it is written in flags and recipes.
fn name_of(value: impl ValueEnum) -> String {
    (value.to_possible_value()).map_or_else(String::new, |value| value.get_name().to_owned())
}

/// `base` with some of its parameters changed.
fn changed(base: &Method, changes: &Map<String, Value>) -> Result<Method, Failure> {
    let method = base.name();
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
        serde_json::to_value(super::method(&args).unwrap()).unwrap()
    }

    #[test]
    fn naming_the_default_changes_nothing() {
        let default = method(&[]);
        assert_eq!(default["method"], "mixed");
        assert_eq!(default["mass"], "estimated");
        assert_eq!(default, method(&["--method", "mixed"]));
        assert_eq!(method(&["--method", "lgc"])["mass"], "uniform");
        let printed = method(&["--method", "lgc", "--mass", "none"]);
        assert_eq!(printed["mass"], "none");
        assert_eq!(method(&["--method", "harmonic"])["mass"], "none");
    }

    #[test]
    fn every_method_of_the_library_can_be_named() {
        for name in Method::NAMES {
            assert_eq!(method(&["--method", name])["method"], **name);
        }
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
