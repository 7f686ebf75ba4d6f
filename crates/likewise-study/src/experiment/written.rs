//! What the files of all kinds of experiments say alike.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use serde::de::{self, DeserializeOwned};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use super::set::Set;
use crate::{Error, Result, usage};

/// Where the printed numbers stand.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Paper {
    /// Authors, venue and year.
    pub(super) source: String,
    /// The table or figure.
    pub(super) table: String,
}

/// What stands at the head of an experiment.
#[derive(Debug)]
pub(crate) struct Head {
    /// SHA-256 of its file.
    pub(super) sha256: String,
    pub(super) title: String,
    pub(super) paper: Option<Paper>,
    pub(super) protocol: String,
    pub(super) reading: String,
    pub(super) seed: u64,
}

/// The head of a file, from the fields that every kind has. Each kind lists them itself, since serde
/// cannot share fields among structures that refuse unknown ones.
macro_rules! head_of {
    ($written:ident, $sha256:expr) => {
        $crate::experiment::written::Head {
            sha256: $sha256,
            title: $written.title,
            paper: $written.paper,
            protocol: $written.protocol,
            reading: $written.reading,
            seed: $written.seed,
        }
    };
}
pub(super) use head_of;

/// The file of a data set. Without a name it would be the folder of data itself.
pub(super) fn file<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
    let file = PathBuf::deserialize(from)?;
    if file.as_os_str().is_empty() {
        return Err(de::Error::custom(
            "file: must be the name of a file or a folder",
        ));
    }
    Ok(file)
}

/// The lines of a file, to say where something is wrong.
pub(super) struct Lines {
    path: PathBuf,
    text: String,
}

/// What a file says, and its lines.
pub(super) fn written<W: DeserializeOwned>(path: &Path) -> Result<(W, Lines)> {
    let text = likewise_io::read_text(path, crate::text::MOST)?;
    let written = toml::from_str(&text).map_err(|e| {
        let wrong = crate::text::wrong_toml(&e, &text);
        usage(format!("{}: {wrong}", path.display()))
    })?;
    let path = path.to_owned();
    Ok((written, Lines { path, text }))
}

impl Lines {
    /// That something is wrong where `start`, in bytes, stands: told by the file and the line.
    pub(super) fn refuse(&self, start: usize, what: impl Display) -> Error {
        let before = self.text.get(..start);
        let line = before.map_or(0, |t| t.matches('\n').count()) + 1;
        usage(format!("{}:{line}: {what}", self.path.display()))
    }

    /// The data sets of the file.
    ///
    /// Fails with the line of one that its own check refuses, or whose name stands twice.
    pub(super) fn sets<S: Set>(&self, sets: Vec<Spanned<S>>) -> Result<Vec<S>> {
        let mut known: Vec<S> = Vec::new();
        for set in sets {
            let start = set.span().start;
            let set = set.into_inner();
            let checked = set.check().and_then(|()| {
                let names = known.iter().map(S::name);
                let twice = unique("data set", set.name(), names);
                twice.map_err(|twice| format!("{twice}; give each its own name"))
            });
            checked.map_err(|what| self.refuse(start, what))?;
            known.push(set);
        }
        Ok(known)
    }

    /// Fails where one of the lists that an experiment cannot do without is empty; `what` names them.
    pub(super) fn needs(&self, what: &str, counts: &[usize]) -> Result<()> {
        if counts.contains(&0) {
            return Err(self.refuse(0, format_args!("an experiment needs {what}")));
        }
        Ok(())
    }
}

/// Fails where the name of a method, a learner ... stands twice: where it is among the known ones.
pub(super) fn unique<'a>(
    what: &str,
    name: &str,
    mut known: impl Iterator<Item = &'a str>,
) -> Result<(), String> {
    if known.any(|known| known == name) {
        return Err(format!("the {what} \"{name}\" stands twice"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Named(&'static str);

    impl Set for Named {
        fn name(&self) -> &str {
            self.0
        }

        fn files(&self) -> Vec<&PathBuf> {
            vec![]
        }

        fn check(&self) -> Result<(), String> {
            match self.0 {
                "bad" => Err("is bad".into()),
                _ => Ok(()),
            }
        }
    }

    #[test]
    fn what_is_wrong_with_a_data_set_is_told_by_its_line() {
        let lines = Lines {
            path: "e.toml".into(),
            text: "a\nb\nc\n".into(),
        };
        let sets = |names: [&'static str; 2]| {
            let spans = names.into_iter().zip([0..1, 2..3]);
            let sets = spans.map(|(name, span)| Spanned::new(span, Named(name)));
            lines.sets(sets.collect()).map(|sets| sets.len())
        };
        assert_eq!(sets(["a", "b"]).unwrap(), 2);
        assert_eq!(
            sets(["a", "a"]).unwrap_err().to_string(),
            "e.toml:2: the data set \"a\" stands twice; give each its own name"
        );
        assert_eq!(
            sets(["a", "bad"]).unwrap_err().to_string(),
            "e.toml:2: is bad"
        );
    }

    #[test]
    fn an_experiment_without_one_of_its_lists_is_refused() {
        let lines = Lines {
            path: "e.toml".into(),
            text: String::new(),
        };
        assert!(lines.needs("a data set and a method", &[1, 2]).is_ok());
        let said = lines.needs("a data set and a method", &[1, 0]).unwrap_err();
        assert_eq!(
            said.to_string(),
            "e.toml:1: an experiment needs a data set and a method"
        );
    }
}
