//! Choices in the place of a recipe's own: a table of a file of settings, or written one by one.

use toml::{Table, Value};

use crate::{Result, usage};

/// The fields of a recipe; a path that begins with another name is one of its learner.
const FIELDS: [&str; 5] = ["name", "start", "pseudo_labels", "learner", "rounds"];

/// Choices in the place of a recipe's own.
#[derive(Debug, Clone)]
pub struct Changes {
    /// Where they stand, for messages.
    pub place: String,
    /// The fields.
    pub fields: Table,
}

impl Changes {
    /// Those that are written `NAME=VALUE`, where a value is as in TOML, or a word; `None` without any. A name is a path
    /// in the recipe (`rounds.epochs`), or a parameter of its learner (`gamma` for `learner.gamma`).
    ///
    /// Fails on what is written in another way, and on a name that is given twice.
    ///
    /// ```
    /// use likewise_study::fit::Changes;
    /// let written = ["gamma=2".to_owned(), "start=whitened".to_owned()];
    /// let changes = Changes::written("set", &written)?.unwrap();
    /// assert_eq!(changes.fields["learner"]["gamma"].as_integer(), Some(2));
    /// assert_eq!(changes.fields["start"].as_str(), Some("whitened"));
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn written(place: &str, settings: &[String]) -> Result<Option<Self>> {
        let mut fields = Table::new();
        for written in settings {
            let Some((name, value)) = written.split_once('=') else {
                return Err(usage(format!(
                    "{place} {written}: write NAME=VALUE, e.g. gamma=2"
                )));
            };
            let name = name.trim().replace('-', "_");
            let mut path: Vec<&str> = name.split('.').collect();
            if !FIELDS.contains(&path[0]) {
                path.insert(0, "learner");
            }
            if path.contains(&"") {
                return Err(usage(format!(
                    "{place} {written}: a name is missing; write NAME=VALUE, e.g. gamma=2"
                )));
            }
            if !put(&mut fields, &path, value_of(value.trim())) {
                return Err(usage(format!(
                    "{place} {written}: {name} is given twice; give it once"
                )));
            }
        }
        Ok((!fields.is_empty()).then(|| Self {
            place: place.to_owned(),
            fields,
        }))
    }
}

/// A value as TOML has it, else the word itself.
fn value_of(written: &str) -> Value {
    let read = format!("value = {written}").parse::<Table>();
    let one = |mut table: Table| (table.len() == 1).then(|| table.remove("value")).flatten();
    (read.ok().and_then(one)).unwrap_or_else(|| written.into())
}

/// Whether there was room for a value at the end of a path.
fn put(table: &mut Table, path: &[&str], value: Value) -> bool {
    match path {
        [last] => table.insert((*last).to_owned(), value).is_none(),
        [first, rest @ ..] => {
            let within = table.entry(*first).or_insert_with(|| Table::new().into());
            (within.as_table_mut()).is_some_and(|within| put(within, rest, value))
        }
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(all: &[&str]) -> Result<Option<Changes>> {
        let all: Vec<String> = all.iter().map(|s| (*s).to_owned()).collect();
        Changes::written("set", &all)
    }

    #[test]
    fn names_are_paths_or_parameters_of_the_learner_and_values_as_in_toml() {
        let changes = written(&[
            "gamma = 2.5",
            "max-steps=3",
            "rounds.epochs=4",
            "start.rank=5",
            "pseudo_labels=lgc",
            "bounds={ kind = 'squared', alike = 1.0 }",
            "kernels=[1, 2]",
            "word=two words",
        ]);
        let fields = changes.unwrap().unwrap().fields;
        let expected = "
            start.rank = 5
            pseudo_labels = 'lgc'
            rounds.epochs = 4
            [learner]
            gamma = 2.5
            max_steps = 3
            bounds = { kind = 'squared', alike = 1.0 }
            kernels = [1, 2]
            word = 'two words'
        ";
        assert_eq!(fields, expected.parse::<Table>().unwrap());
        assert!(written(&[]).unwrap().is_none());
    }

    #[test]
    fn what_is_no_setting_or_stands_twice_is_refused() {
        for (wrong, says) in [
            (&["gamma"][..], "set gamma: write NAME=VALUE"),
            (&["=3"], "a name is missing"),
            (&["rounds.=3"], "a name is missing"),
            (
                &["gamma=1", "learner.gamma=2"],
                "learner.gamma is given twice",
            ),
            (&["a=1", "a.b=2"], "a.b is given twice"),
            (&["a.b=2", "a=1"], "a is given twice"),
        ] {
            let said = written(wrong).unwrap_err().to_string();
            assert!(said.contains(says), "{wrong:?}: {said}");
        }
        // Not a second field through the back door.
        let one = written(&["a=1\nb=2"]).unwrap().unwrap();
        assert_eq!(one.fields["learner"]["a"].as_str(), Some("1\nb=2"));
    }
}
