//! The parameters of a method that are not as usual.

use likewise::propagate::{Ability, Method};
use serde::Deserialize as _;
use serde_json::{Map, Value};

use crate::{Error, ErrorKind, Result, usage};

/// The parameters of a method that are not as usual, by their names in recipes.
///
/// ```
/// use likewise::propagate::Method;
/// use likewise_study::propagation::Parameters;
/// let mut changes = Parameters::default();
/// changes.set("mu", 0.1)?;
/// assert!(changes.set("mu", 0.2).is_err());
/// let method = changes.of(&Method::named("lgc")?)?;
/// assert_eq!(serde_json::to_value(method).unwrap()["mu"], 0.1);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parameters(Map<String, Value>);

impl Parameters {
    /// Those of a JSON object. Fails on JSON that is none.
    pub fn from_json(text: &str) -> Result<Self> {
        let fields = serde_json::from_str(text);
        fields
            .map(Self)
            .map_err(|e| usage(format!("parameters: {e}")))
    }

    /// Gives a parameter a value. Fails where it has been given one.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) -> Result<()> {
        if self.0.contains_key(name) {
            return Err(usage(format!("{name} is given twice; give it once")));
        }
        self.0.insert(name.to_owned(), value.into());
        Ok(())
    }

    /// As [`set`](Self::set), and fails on what is no number: JSON has no word for it.
    pub fn set_number(&mut self, name: &str, value: f64) -> Result<()> {
        if !value.is_finite() {
            return Err(Error::parameter(name, value, "must be finite"));
        }
        self.set(name, value)
    }

    /// As [`set`](Self::set), of what is written `NAME=VALUE`, where the value is JSON or a word.
    ///
    /// Fails on what is written in another way too.
    pub fn set_written(&mut self, written: &str) -> Result<()> {
        let Some((name, value)) = written.split_once('=') else {
            return Err(usage(format!(
                "{written}: write NAME=VALUE, e.g. gamma=100"
            )));
        };
        let value = value.trim();
        let value: Value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        self.set(&name.trim().replace('-', "_"), value)
            .map_err(|e| e.within(written))
    }

    /// Whether it says something of a parameter, or of one within it: `search.beta`.
    pub(super) fn holds(&self, path: &str) -> bool {
        let mut names = path.split('.');
        let first = names.next().and_then(|name| self.0.get(name));
        first.is_some_and(|value| {
            names
                .try_fold(value, |value, name| value.get(name))
                .is_some()
        })
    }

    /// `base` with these in place of its own.
    ///
    /// Fails on a parameter that the method does not have, and on a value that it does not take. Numbers out of
    /// their range are told of by its run.
    pub fn of(&self, base: &Method) -> Result<Method> {
        let name = base.name();
        let mut value = serde_json::to_value(base).map_err(crate::no_json)?;
        let Some(fields) = value.as_object_mut() else {
            let message = format!("{name} is no object in JSON");
            return Err(Error::new(ErrorKind::Internal, message));
        };
        if base.has(Ability::TakesSizes) {
            // Left out of JSON where nothing is said of them.
            fields.entry("sizes").or_insert(Value::Null);
        }
        for (parameter, change) in &self.0 {
            let Some(field) = fields.get_mut(parameter).filter(|_| parameter != TAG) else {
                let own = fields.keys().map(String::as_str);
                let own: Vec<&str> = own.filter(|own| *own != TAG).collect();
                return Err(usage(format!(
                    "{parameter}: `method {name}` has no such parameter; it has {}",
                    own.join(", ")
                )));
            };
            let before = std::mem::replace(field, change.clone());
            if let Err(e) = Method::deserialize(&Value::Object(fields.clone())) {
                let said = crate::text::in_words(&e.to_string());
                return Err(usage(format!(
                    "`method {name}`: {parameter} = {change}: {said}; its usual value is {before}"
                )));
            }
        }
        serde_json::from_value(value).map_err(crate::no_json)
    }
}

/// What says in JSON which method it is.
const TAG: &str = "method";

#[cfg(test)]
mod tests {
    use super::*;

    fn written(all: &[&str]) -> Result<Parameters> {
        let mut parameters = Parameters::default();
        for written in all {
            parameters.set_written(written)?;
        }
        Ok(parameters)
    }

    #[test]
    fn what_is_written_is_json_or_a_word() {
        let found = written(&["pair-factor = 2", "mass=uniform", "search={\"beta\":1}"]).unwrap();
        let same = r#"{"pair_factor": 2, "mass": "uniform", "search": {"beta": 1}}"#;
        assert_eq!(found, Parameters::from_json(same).unwrap());
        for path in ["mass", "search", "search.beta"] {
            assert!(found.holds(path), "{path}");
        }
        for path in ["beta", "search.mass", "mass.beta", ""] {
            assert!(!found.holds(path), "{path}");
        }
    }

    #[test]
    fn parameters_that_cannot_be_set_are_refused() {
        for (all, says) in [
            (&["gamma"][..], "gamma: write NAME=VALUE"),
            (&["mu=1", "mu=2"], "mu=2: mu is given twice"),
        ] {
            let said = written(all).unwrap_err().to_string();
            assert!(said.starts_with(says), "{said}");
        }
        let nan = Parameters::default()
            .set_number("beta", f64::NAN)
            .unwrap_err();
        assert_eq!(nan.to_string(), "beta = NaN: must be finite");
        assert!(Parameters::from_json("[1]").is_err());
        let lgc = Method::named("lgc").unwrap();
        for (json, says) in [
            (
                r#"{"beta": 1}"#,
                "beta: `method lgc` has no such parameter; it has ",
            ),
            (
                r#"{"method": "mixed"}"#,
                "method: `method lgc` has no such parameter",
            ),
            (
                r#"{"mu": "much"}"#,
                "`method lgc`: mu = \"much\": invalid type",
            ),
        ] {
            let refused = Parameters::from_json(json).unwrap().of(&lgc).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Parameter);
            assert!(refused.to_string().starts_with(says), "{refused}");
        }
    }
}
