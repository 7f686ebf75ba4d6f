//! The method that the flags ask for.

use std::path::Path;

use clap::ValueEnum;
use likewise::propagate::{Scale, Sizes};
use likewise_study::propagation::{Choice, ClassSizes, Parameters};
use likewise_terminal::Failure;

use crate::args::{Propagate, ScaleName};

/// What the flags ask of the method.
pub(super) fn choice(args: &Propagate) -> Result<Choice, Failure> {
    let mut parameters = Parameters::default();
    let numbers = [
        ("beta", args.beta),
        ("lambda", args.lambda),
        ("mu", args.mu),
        ("pair_factor", args.pair_factor),
        ("tolerance", args.tolerance),
    ];
    for (name, value) in numbers {
        if let Some(value) = value {
            parameters.set_number(name, value)?;
        }
    }
    if let Some(mass) = args.mass.and_then(|mass| mass.to_possible_value()) {
        parameters.set("mass", mass.get_name())?;
    }
    for written in &args.set {
        let set = parameters.set_written(written);
        set.map_err(|e| Failure::usage(format!("--set {e}")))?;
    }
    Ok(Choice {
        name: args.method.clone(),
        scale: args.scale.map(|scale| match scale {
            ScaleName::Literal => Scale::Literal,
            ScaleName::Probability => Scale::Probability,
            ScaleName::Unscaled => Scale::Unscaled,
            ScaleName::Standardized => Scale::Standardized,
        }),
        parameters,
        sizes: args.class_sizes.as_deref().map(sizes).transpose()?,
    })
}

/// Sizes of classes as they are written: a word, a ratio, or else a file.
fn sizes(written: &str) -> Result<ClassSizes, Failure> {
    let sizes = match (written, written.strip_prefix("within=")) {
        ("balanced", _) => Sizes::Balanced,
        ("labeled", _) => Sizes::Labeled,
        ("estimated", _) => Sizes::Estimated,
        ("free", _) => Sizes::Free,
        (_, Some(ratio)) => {
            let ratio = ratio.parse::<f64>().ok();
            let ratio = ratio.filter(|ratio| ratio.is_finite() && *ratio >= 1.0);
            Sizes::Within(ratio.ok_or_else(|| {
                Failure::usage(format!(
                    "--class-sizes {written}: a class may be so many times larger or smaller than all \
                     would be if they were equal, a finite number of at least 1; write within=2"
                ))
            })?)
        }
        (file, None) => {
            let path = Path::new(file);
            // A word that is misspelled is no file that is missing.
            if path.extension().is_none() && !path.exists() {
                return Err(Failure::usage(format!(
                    "--class-sizes {file}: there are balanced, labeled, estimated, free, within=RATIO, or a table \
                     with the columns class and size, and no file has this name"
                )));
            }
            return Ok(ClassSizes::Table(path.into()));
        }
    };
    Ok(ClassSizes::Said(sizes))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser};
    use likewise::propagate::{Ability, Method};
    use serde_json::Value;

    use super::*;
    use crate::args::{Cli, Verb};

    fn asked(flags: &[&str]) -> Result<Choice, Failure> {
        let words = ["likewise", "propagate", "x.npy", "-o", "b.npz"];
        let cli = Cli::try_parse_from([&words, flags].concat()).unwrap();
        let Verb::Propagate(args) = cli.verb else {
            panic!("propagate");
        };
        choice(&args)
    }

    fn method(flags: &[&str]) -> Value {
        let method = asked(flags).unwrap().method(false).unwrap();
        serde_json::to_value(method).unwrap()
    }

    #[test]
    fn without_flags_every_method_is_that_of_the_library() {
        assert_eq!(asked(&[]).unwrap(), Choice::default());
        for name in Method::NAMES {
            let Ok(own) = Method::named(name) else {
                continue;
            };
            let found = asked(&["--method", name]).unwrap().method(false);
            assert_eq!(found.unwrap(), own);
        }
        assert_eq!(method(&["--method", "lgc"])["mass"], "none");
        let uniform = method(&["--method", "lgc", "--mass", "uniform"]);
        assert_eq!(uniform["mass"], "uniform");
    }

    #[test]
    fn every_flag_of_a_parameter_reaches_it() {
        let found = method(&[
            "--beta",
            "0.5",
            "--lambda",
            "2",
            "--mu",
            "0.1",
            "--pair-factor",
            "2",
            "--tolerance",
            "1e-6",
            "--mass",
            "labeled",
            "--set",
            "max-iterations=7",
            "--set",
            "fit = labeled",
        ]);
        for (name, value) in [
            ("beta", 0.5.into()),
            ("lambda", 2.0.into()),
            ("mu", 0.1.into()),
            ("pair_factor", 2.0.into()),
            ("tolerance", 1e-6.into()),
            ("mass", Value::from("labeled")),
            ("max_iterations", 7.into()),
            ("fit", "labeled".into()),
        ] {
            assert_eq!(found[name], value, "{name}");
        }
    }

    #[test]
    fn a_scale_of_the_paper_comes_with_its_values() {
        for (scale, lambda) in [
            ("literal", 4.0),
            ("probability", 4.0),
            ("unscaled", 4.0),
            ("standardised", 3.0),
        ] {
            let found = method(&["--scale", scale]);
            assert_eq!(
                (&found["scale"], &found["lambda"]),
                (&scale.into(), &lambda.into())
            );
        }
    }

    #[test]
    fn sizes_are_a_word_a_ratio_or_a_file() {
        for (written, sizes) in [
            ("balanced", Sizes::Balanced),
            ("labeled", Sizes::Labeled),
            ("estimated", Sizes::Estimated),
            ("free", Sizes::Free),
            ("within=2", Sizes::Within(2.0)),
        ] {
            assert_eq!(super::sizes(written).unwrap(), ClassSizes::Said(sizes));
        }
        let table = ClassSizes::Table("balanced.csv".into());
        assert_eq!(super::sizes("balanced.csv").unwrap(), table);
        for misspelled in ["within", "Balanced"] {
            let said = format!("{:?}", super::sizes(misspelled).unwrap_err());
            assert!(said.contains("there are balanced, labeled"), "{said}");
        }
    }

    /// Help is written by hand.
    #[test]
    fn help_names_the_methods_that_the_list_names() {
        let command = Cli::command();
        let propagate = command.find_subcommand("propagate").unwrap();
        let help = |flag: &str| {
            let argument = propagate
                .get_arguments()
                .find(|a| a.get_long() == Some(flag));
            let argument = argument.unwrap();
            let long = argument.get_long_help().or(argument.get_help());
            long.unwrap().to_string()
        };
        for (flag, ability) in [
            ("class-sizes", Ability::TakesSizes),
            ("negatives", Ability::FindsNegatives),
            ("not", Ability::TakesExclusions),
        ] {
            let named = format!("({})", Method::names_with(ability).join(", "));
            assert!(help(flag).contains(&named), "{flag}: {named}");
        }
        for name in Method::names_with(Ability::Mutual) {
            let said = format!("mutual for --method {name}");
            assert!(help("symmetrize").contains(&said), "{said}");
        }
    }
}
