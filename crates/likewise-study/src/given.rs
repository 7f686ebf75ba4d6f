//! Files of pairs or triplets that are given beside the data of a fit.

use std::collections::HashMap;
use std::path::PathBuf;

use likewise::tuple::Tuples;
use likewise::{Monitor, Pairs, Triplets};
use likewise_io::tuples;
use serde::{Deserialize, Serialize};

use crate::study::TupleKind;
use crate::{Recipe, Result, failed};

/// Files of tuples of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    /// What they hold.
    pub kind: TupleKind,
    /// The files, at least one.
    pub files: Vec<PathBuf>,
}

impl Given {
    /// Fails where the recipe cannot use them, and where one cannot be opened: that is known before the
    /// data are read.
    pub fn check(&self, recipe: &Recipe) -> Result<()> {
        recipe.check_tuples(Some(self.kind))?;
        for path in &self.files {
            likewise_io::open(path)?;
        }
        Ok(())
    }

    /// The first so many of the files.
    #[must_use]
    pub fn first(&self, files: usize) -> Self {
        Self {
            files: self.files[..files.min(self.files.len())].to_vec(),
            kind: self.kind,
        }
    }

    /// The tuples of the items with these ids, by their places among those that are `kept`.
    ///
    /// Fails as the [readers](likewise_io::tuples) do, and where there is none. Warns of tuples that are left out.
    pub fn read(&self, ids: &[String], kept: &[String], at: &Monitor) -> Result<Tuples> {
        let tuples = self.read_all(ids, at)?;
        if tuples.is_empty() {
            let files = self.files.iter().map(|file| file.display().to_string());
            let files: Vec<String> = files.collect();
            let (files, kind) = (files.join(", "), self.name());
            return Err(failed(format!(
                "{files}: no {kind} below the header; give some, or leave it out"
            )));
        }
        if ids.len() == kept.len() {
            return Ok(tuples);
        }
        let places: HashMap<&str, u32> = kept.iter().map(String::as_str).zip(0..).collect();
        let places: Vec<Option<u32>> = (ids.iter())
            .map(|id| places.get(id.as_str()).copied())
            .collect();
        let found = tuples.placed(&places)?;
        at.warn(format!(
            "{} of {} tuples have items without this view and are left out",
            tuples.len() - found.len(),
            tuples.len()
        ));
        Ok(found)
    }

    /// Those of all files, one after the other.
    fn read_all(&self, ids: &[String], at: &Monitor) -> Result<Tuples> {
        if self.kind == TupleKind::Pairs {
            let mut pairs = Pairs::default();
            for path in &self.files {
                for (a, b, alike, w) in tuples::read_pairs(path, ids, at)?.iter() {
                    pairs.push(a, b, alike, w);
                }
            }
            return Ok(Tuples::Pairs(pairs));
        }
        let mut triplets = Triplets::default();
        for path in &self.files {
            for (a, p, n, w) in tuples::read_triplets(path, ids, at)?.iter() {
                triplets.push(a, p, n, w);
            }
        }
        Ok(Tuples::Triplets(triplets))
    }

    /// What they hold, in words.
    fn name(&self) -> &'static str {
        match self.kind {
            TupleKind::Pairs => "pairs",
            TupleKind::Triplets => "triplets",
        }
    }

    /// What tells the files from others. Fails where one cannot be read.
    pub fn digest(&self) -> Result<String> {
        let kind = self.name();
        let digests = self.files.iter().map(likewise_io::digest);
        let digests: Vec<String> = digests.collect::<Result<_, _>>()?;
        Ok(format!("{kind} {}", digests.join("+")))
    }
}
