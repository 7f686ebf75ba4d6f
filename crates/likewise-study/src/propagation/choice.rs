//! Which method, with which of its parameters not as usual.

use likewise::propagate::{Ability, Method, Mixed, Scale};

use super::parameters::Parameters;
use super::sizes::ClassSizes;
use crate::{Result, usage};

/// What is asked of a method: all that is not asked for is as the library has it.
///
/// ```
/// use likewise_study::propagation::Choice;
/// assert_eq!(Choice::default().method(false)?, likewise::propagate::Method::default());
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Choice {
    /// Its name; `None`: the default of the library.
    pub name: Option<String>,
    /// How mixed propagation reads its scores. With a scale of the paper go all values that the paper prints.
    pub scale: Option<Scale>,
    /// Parameters that are not as usual.
    pub parameters: Parameters,
    /// What is known of the sizes of the classes: those of a table are known later.
    pub sizes: Option<ClassSizes>,
}

impl Choice {
    /// Whether neither a method nor anything of one is asked for, so that one may [suit](Method::suited) the labels.
    pub fn is_open(&self) -> bool {
        self.name.is_none() && self.scale.is_none() && self.parameters == Parameters::default()
    }

    /// The method with its parameters, where negative edges are given or not.
    ///
    /// Fails on a name that no method has, on parameters that this one does not have, that it does not take or
    /// that change nothing, and on sizes of classes where it does not go by them, or does not estimate them.
    pub fn method(&self, given_negatives: bool) -> Result<Method> {
        let name = match &self.name {
            Some(name) => name,
            None => Method::default().name(),
        };
        let mut changes = self.parameters.clone();
        if let Some(scale) = self.scale {
            let word = serde_json::to_value(scale).map_err(crate::no_json)?;
            changes.set("scale", word)?;
        }
        let base = Method::named(name)?;
        if self.sizes.is_some() {
            if !base.has(Ability::TakesSizes) {
                return Err(usage(format!(
                    "class_sizes has no effect with `method {name}`; take {}, or leave it out",
                    Method::any_with(Ability::TakesSizes)
                )));
            }
            if changes.holds("mass") {
                return Err(usage(
                    "mass has no effect with class_sizes, which are held in its place; leave one of them out",
                ));
            }
            if changes.holds("sizes") {
                return Err(usage("class_sizes: sizes is given twice; give it once"));
            }
        }
        let base = match (base, self.scale) {
            (Method::Mixed(_), Some(scale)) => Method::Mixed(Mixed::of_scale(scale)),
            (base, _) => base,
        };
        let method = changes.of(&base)?;
        let idle = method.idle(given_negatives);
        if let Some((idle, why)) = idle.iter().find(|(path, _)| changes.holds(path)) {
            return Err(usage(format!(
                "{idle} has no effect with `method {name}`: {why}; leave it out"
            )));
        }
        let mut sized = method.clone();
        if let Some(ClassSizes::Said(sizes)) = &self.sizes {
            sized.set_sizes(sizes.clone());
        }
        sized.check_sizes()?;
        Ok(method)
    }
}

#[cfg(test)]
mod tests {
    use likewise::propagate::Sizes;
    use serde_json::Value;

    use super::*;

    fn choice(name: &str, parameters: &str) -> Choice {
        Choice {
            name: Some(name.into()),
            parameters: Parameters::from_json(parameters).unwrap(),
            ..Choice::default()
        }
    }

    fn json(choice: &Choice) -> Value {
        serde_json::to_value(choice.method(false).unwrap()).unwrap()
    }

    #[test]
    fn what_is_not_asked_for_is_as_the_library_has_it() {
        assert_eq!(json(&Choice::default())["method"], "mixed");
        for name in Method::NAMES {
            let Ok(own) = Method::named(name) else {
                continue;
            };
            assert_eq!(choice(name, "{}").method(false).unwrap(), own);
        }
        // As printed: the paper has no class mass.
        assert_eq!(json(&choice("lgc", "{}"))["mass"], "none");
        assert_eq!(
            json(&choice("lgc", r#"{"mass": "uniform"}"#))["mass"],
            "uniform"
        );
    }

    #[test]
    fn a_scale_of_the_paper_comes_with_its_values() {
        for (scale, word, lambda, pair_factor, mass) in [
            (Scale::Literal, "literal", 4.0, 2.0, "none"),
            (Scale::Probability, "probability", 4.0, 1.0, "none"),
            (Scale::Unscaled, "unscaled", 4.0, 2.0, "none"),
            (Scale::Standardized, "standardised", 3.0, 1.0, "estimated"),
        ] {
            let asked = Choice {
                scale: Some(scale),
                ..choice("mixed", r#"{"beta": 0.5}"#)
            };
            let found = json(&asked);
            assert_eq!(
                (&found["scale"], &found["mass"]),
                (&word.into(), &mass.into())
            );
            assert_eq!(found["lambda"], lambda);
            assert_eq!(found["pair_factor"], pair_factor);
            assert_eq!(found["beta"], 0.5);
        }
    }

    #[test]
    fn what_would_have_no_effect_is_refused() {
        let scaled = |name, parameters| Choice {
            scale: Some(Scale::Literal),
            ..choice(name, parameters)
        };
        let sized = |name, parameters| Choice {
            sizes: Some(ClassSizes::Table("sizes.csv".into())),
            ..choice(name, parameters)
        };
        for (choice, given, says) in [
            (
                choice("manifold", r#"{"lambda": 1}"#),
                false,
                "lambda has no effect with `method manifold`",
            ),
            (
                choice("mixed", r#"{"beta": 0, "pair_factor": 1}"#),
                false,
                "pair_factor has no effect",
            ),
            (
                choice("poisson-mbo", r#"{"lambda": 1}"#),
                false,
                "lambda has no effect with `method poisson-mbo`",
            ),
            (
                choice("mixed", r#"{"lambda": 1}"#),
                true,
                "lambda has no effect",
            ),
            (
                choice("lpdr", r#"{"search": {"beta": 2}}"#),
                false,
                "search.beta has no effect",
            ),
            (
                choice("lpdr", r#"{"search": {"lambda": 2}}"#),
                true,
                "search has no effect",
            ),
            (
                scaled("manifold", "{}"),
                false,
                "scale has no effect with `method manifold`",
            ),
            (
                scaled("lgc", "{}"),
                false,
                "scale: `method lgc` has no such parameter",
            ),
            (
                scaled("mixed", r#"{"scale": "literal"}"#),
                false,
                "scale is given twice",
            ),
            (
                sized("harmonic", "{}"),
                false,
                "class_sizes has no effect with `method harmonic`; take lgc, mixed, poisson or poisson-mbo, or leave",
            ),
            (
                sized("lgc", r#"{"mass": "uniform"}"#),
                false,
                "mass has no effect with class_sizes",
            ),
            (
                sized("poisson", r#"{"sizes": "free"}"#),
                false,
                "class_sizes: sizes is given twice",
            ),
            (
                choice("nosuch", "{}"),
                false,
                "method = nosuch: there are: lgc",
            ),
        ] {
            let refused = choice.method(given).unwrap_err().to_string();
            assert!(refused.starts_with(says), "{refused}");
        }
        for (choice, given) in [
            (choice("mixed", r#"{"lambda": 1}"#), false),
            (choice("mixed", r#"{"beta": 0}"#), false),
            (choice("lpdr", r#"{"search": {"lambda": 2}}"#), false),
            (sized("poisson-mbo", "{}"), false),
            (sized("lgc", "{}"), false),
            (choice("poisson-mbo", r#"{"beta": 1, "lambda": 1}"#), false),
        ] {
            choice.method(given).unwrap();
        }
    }

    #[test]
    fn sizes_that_a_run_would_refuse_or_pass_over_are_refused() {
        let said = |name, sizes| Choice {
            sizes: Some(ClassSizes::Said(sizes)),
            ..choice(name, "{}")
        };
        for (choice, given, says) in [
            (
                said("manifold", Sizes::Balanced),
                false,
                "class_sizes has no effect with `method manifold`",
            ),
            (
                choice(
                    "mixed",
                    r#"{"beta": 0, "sizes": "balanced", "mass": "none"}"#,
                ),
                false,
                "mass has no effect with `method mixed`: the sizes",
            ),
            (
                choice("mixed", r#"{"sizes": "balanced", "mass": "none"}"#),
                true,
                "mass has no effect with `method mixed`: the sizes",
            ),
            (
                said("lgc", Sizes::Estimated),
                false,
                "sizes = estimated: this method estimates by `mass`",
            ),
            (
                said("mixed", Sizes::Estimated),
                false,
                "sizes = estimated: this method estimates by `mass`",
            ),
            (
                said("poisson", Sizes::Estimated),
                false,
                "sizes = estimated: poisson estimates no sizes; take poisson-mbo",
            ),
            (
                choice("lgc", r#"{"sizes": "estimated"}"#),
                false,
                "sizes = estimated: this method estimates by `mass`",
            ),
        ] {
            let refused = choice.method(given).unwrap_err().to_string();
            assert!(refused.starts_with(says), "{refused}");
        }
        said("poisson-mbo", Sizes::Estimated).method(false).unwrap();
        for name in Method::names_with(Ability::TakesSizes) {
            said(name, Sizes::Free).method(false).unwrap();
        }
    }
}
