//! What a comparison of recipes has found so far, kept for a fit that was interrupted in it.

use std::path::{Path, PathBuf};

use likewise::eval::few_labels::Value;
use likewise::{Labels, Monitor};
use likewise_io::atomic;
use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use crate::recipe::Recipe;
use crate::{Result, no_json};

/// What recipes were compared by, among the checkpoints of a fit.
pub const CHOICE: &str = "choice.json";

/// Values of one recipe: a list a round.
pub(super) type Values = Vec<Vec<Value>>;

/// A file among the checkpoints.
pub(super) struct Kept {
    path: Option<PathBuf>,
    /// Tells this comparison from others.
    key: String,
}

#[derive(Serialize, Deserialize)]
struct Written {
    key: String,
    /// Recipe by recipe and round by round: query, class, and the bits of the value, which a number in
    /// decimals would not keep.
    values: Vec<Vec<Vec<(usize, u32, u64)>>>,
}

impl Written {
    /// What the file at a path says, if it is one of these.
    fn read(path: &Path) -> Option<Self> {
        let text = likewise_io::read_file(path, crate::text::MOST).ok()?;
        crate::text::object(&text)
    }
}

/// Whether this is what recipes were compared by: other programs have files of that name too.
pub(crate) fn has_chosen(path: &Path) -> bool {
    path.is_file() && Written::read(path).is_some()
}

impl Kept {
    /// Where this comparison is kept, if anywhere: of these recipes on these rows, and rounds of that seed.
    pub(super) fn at(
        folder: Option<&PathBuf>,
        fits: &[Recipe],
        (rows, known): (ArrayView2<f32>, &Labels),
        seed: u64,
    ) -> Result<Self> {
        let mut parts: Vec<Vec<u8>> = vec![seed.to_le_bytes().to_vec()];
        for recipe in fits {
            parts.push(serde_json::to_vec(recipe).map_err(no_json)?);
        }
        parts.push(format!("{:?}", known.items()).into_bytes());
        parts.extend(rows.rows().into_iter().map(|row| {
            let bytes = row.iter().flat_map(|value| value.to_le_bytes());
            bytes.collect::<Vec<u8>>()
        }));
        Ok(Self {
            path: folder.map(|folder| folder.join(CHOICE)),
            key: likewise_io::digest_parts(parts),
        })
    }

    /// What was found before, a list of values for each of so many recipes; nothing where it was of another
    /// comparison.
    pub(super) fn read(&self, recipes: usize) -> Vec<Values> {
        let nothing = || vec![Values::new(); recipes];
        let Some(path) = &self.path else {
            return nothing();
        };
        let own = Written::read(path).filter(|written| written.key == self.key);
        let Some(own) = own.filter(|own| own.values.len() == recipes) else {
            return nothing();
        };
        let value = |(query, class, bits): (usize, u32, u64)| Value {
            query,
            class,
            r_precision: f64::from_bits(bits),
        };
        let round = |round: Vec<(usize, u32, u64)>| round.into_iter().map(value).collect();
        let recipe = |rounds: Vec<Vec<_>>| rounds.into_iter().map(round).collect();
        own.values.into_iter().map(recipe).collect()
    }

    /// Writes what was found. That it cannot be written is a warning: the work goes on without.
    pub(super) fn write(&self, values: &[Values], monitor: &Monitor) -> Result<()> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let value = |v: &Value| (v.query, v.class, v.r_precision.to_bits());
        let round = |round: &Vec<Value>| round.iter().map(value).collect();
        let recipe = |rounds: &Values| rounds.iter().map(round).collect();
        let written = Written {
            key: self.key.clone(),
            values: values.iter().map(recipe).collect(),
        };
        let text = serde_json::to_vec(&written).map_err(no_json)?;
        let write = |file: &mut std::io::BufWriter<_>| Ok(std::io::Write::write_all(file, &text)?);
        if let Err(e) = atomic::write(path, write) {
            monitor.warn(format!("what was compared is not kept: {e}"));
        }
        Ok(())
    }
}
