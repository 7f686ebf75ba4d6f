//! Sizes beyond which a recipe is a slip of the pen, and would end in a failed allocation or
//! not at all.

use likewise_nn::net::EmbeddingConfig;
use likewise_nn::sample::Sampler;

use super::{Recipe, Residual};
use crate::{Error, Result};

/// Most units of a layer, and most columns of a map.
const UNITS: usize = 1 << 16;
/// Most items of a batch, or of a class in it.
const BATCH: usize = 1 << 20;
/// Most rows that a memory keeps.
const ROWS: usize = 1 << 24;
/// Most rounds of any kind.
const ROUNDS: usize = 1_000_000;
/// Least share that f32 tells from 0 in a sum with 1.
const LEAST_KEEP: f64 = 1e-6;

impl Recipe {
    pub(super) fn check_sizes(&self) -> Result<()> {
        let train = &self.train;
        let mut sizes = vec![
            ("head.width", self.head.width, UNITS),
            ("train.epochs", train.epochs, ROUNDS),
            ("train.labeled_epochs", train.labeled_epochs, ROUNDS),
            ("train.labeled_passes", train.labeled_passes, ROUNDS),
            ("train.steps", train.steps, ROUNDS),
            ("train.accumulate", train.accumulate, ROUNDS),
            ("train.folds", train.folds, ROUNDS),
            ("train.batch", train.batch, BATCH),
            ("train.memory", train.memory, ROWS),
            ("affinity.every", self.affinity.every, ROUNDS),
        ];
        match self.head.residual {
            Residual::Mlp { hidden } => sizes.push(("head.residual.hidden", hidden, UNITS)),
            Residual::Orthogonal { dim } => sizes.push(("head.residual.dim", dim, UNITS)),
            Residual::Linear | Residual::Closed(_) => {}
        }
        match self.sampler {
            Sampler::PerClass { per_class } => {
                sizes.push(("sampler.per_class", per_class, BATCH));
            }
            Sampler::Hierarchical { per_class, groups } => sizes.extend([
                ("sampler.per_class", per_class, BATCH),
                ("sampler.groups", groups, BATCH),
            ]),
            Sampler::Plain | Sampler::Labeled { .. } => {}
        }
        match self.encoder.as_ref().map(|encoder| encoder.head) {
            Some(EmbeddingConfig::Mlp { hidden, dim, .. }) => sizes.extend([
                ("encoder.head.hidden", hidden, UNITS),
                ("encoder.head.dim", dim, UNITS),
            ]),
            Some(EmbeddingConfig::Linear { dim, .. }) => {
                sizes.push(("encoder.head.dim", dim, UNITS));
            }
            Some(EmbeddingConfig::Whitened { .. } | EmbeddingConfig::None) | None => {}
        }
        if let Some(first) = &self.pretraining {
            sizes.push(("pretraining.epochs", first.epochs, ROUNDS));
        }
        for (field, value, most) in sizes {
            if value > most {
                let rule = format!("must be at most {most}");
                return Err(Error::parameter(field, value, &rule));
            }
        }
        let keep = self.head.keep;
        if keep > 0.0 && keep < LEAST_KEEP {
            let rule = format!("must be 0, or at least {LEAST_KEEP}");
            return Err(Error::parameter("head.keep", keep, &rule));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_no_machine_has_are_refused_by_name() {
        for (text, field) in [
            ("head.width = 9223372036854775807", "head.width"),
            (
                "head = { residual = { kind = \"mlp\", hidden = 4294967296 } }",
                "head.residual.hidden",
            ),
            (
                "sampler = { name = \"per-class\", per_class = 1000000000000 }",
                "sampler.per_class",
            ),
            ("train.epochs = 9000000000000000000", "train.epochs"),
            (
                "head = { residual = { kind = \"orthogonal\", dim = 8 }, keep = 1e-320 }",
                "head.keep",
            ),
        ] {
            let table: toml::Table = text.parse().unwrap();
            let refused = Recipe::default().with(table).and_then(|r| r.validate());
            let said = refused.unwrap_err().to_string();
            assert!(said.contains(field), "{said}");
        }
    }
}
