//! Sizes beyond which a recipe is a slip of the pen, and would end in a failed allocation or
//! not at all.

use likewise_nn::net::EmbeddingConfig;
use likewise_nn::sample::Sampler;

use super::{GradientConfig, ModelConfig};
use crate::{Error, Result};

/// Most units of a layer, and most columns of a map.
const UNITS: usize = 1 << 16;
/// Most items of a batch, or of a class in it.
const BATCH: usize = 1 << 20;
/// Most rows that a memory keeps.
const ROWS: usize = 1 << 24;
/// Most rounds of any kind.
pub(super) const ROUNDS: usize = 1_000_000;
/// Least share that f32 tells from 0 in a sum with 1.
const LEAST_KEEP: f64 = 1e-6;

/// Fails on a value above `most`.
pub(super) fn at_most(field: &str, value: usize, most: usize) -> Result<()> {
    if value > most {
        let rule = format!("must be at most {most}");
        return Err(Error::parameter(field, value, &rule));
    }
    Ok(())
}

impl GradientConfig {
    pub(super) fn check_sizes(&self) -> Result<()> {
        let train = &self.train;
        let mut sizes = vec![
            ("train.labeled_passes", train.labeled_passes, ROUNDS),
            ("train.steps", train.steps, ROUNDS),
            ("train.accumulate", train.accumulate, ROUNDS),
            ("train.batch", train.batch, BATCH),
            ("train.memory", train.memory, ROWS),
        ];
        match &self.model {
            ModelConfig::Linear(head) => sizes.push(("model.width", head.width, UNITS)),
            ModelConfig::Mlp(head) => sizes.extend([
                ("model.hidden", head.hidden, UNITS),
                ("model.width", head.width, UNITS),
            ]),
            ModelConfig::Orthogonal(map) => sizes.push(("model.dim", map.dim, UNITS)),
            ModelConfig::Network(network) => {
                if let Some(map) = &network.map {
                    sizes.push(("model.map.dim", map.dim, UNITS));
                }
                match network.encoder.head {
                    EmbeddingConfig::Mlp { hidden, dim, .. } => sizes.extend([
                        ("model.encoder.head.hidden", hidden, UNITS),
                        ("model.encoder.head.dim", dim, UNITS),
                    ]),
                    EmbeddingConfig::Linear { dim, .. } => {
                        sizes.push(("model.encoder.head.dim", dim, UNITS));
                    }
                    EmbeddingConfig::Whitened { .. } | EmbeddingConfig::None => {}
                }
                if let Some(first) = &network.pretraining {
                    sizes.push(("model.pretraining.epochs", first.epochs, ROUNDS));
                }
            }
        }
        match self.sampler {
            Sampler::PerClass { per_class } => {
                sizes.push(("sampler.per_class", per_class, BATCH));
            }
            Sampler::Hierarchical { per_class, groups } => sizes.extend([
                ("sampler.per_class", per_class, BATCH),
                ("sampler.groups", groups, BATCH),
            ]),
            Sampler::Plain | Sampler::Uniform | Sampler::Labeled { .. } => {}
        }
        for (field, value, most) in sizes {
            at_most(field, value, most)?;
        }
        let keep = self.head().keep;
        if keep > 0.0 && keep < LEAST_KEEP {
            let rule = format!("must be 0, or at least {LEAST_KEEP}");
            return Err(Error::parameter("model.keep", keep, &rule));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::Recipe;

    #[test]
    fn sizes_that_no_machine_has_are_refused_by_name() {
        for (text, field) in [
            (
                "learner.model.width = 9223372036854775807",
                "learner.model.width",
            ),
            ("learner.model.hidden = 4294967296", "learner.model.hidden"),
            (
                "learner.sampler = { name = \"per-class\", per_class = 1000000000000 }",
                "learner.sampler.per_class",
            ),
            ("rounds.epochs = 9000000000000000000", "rounds.epochs"),
            (
                "learner.model = { kind = \"orthogonal\", dim = 8, keep = 1e-320 }",
                "learner.model.keep",
            ),
        ] {
            let table: toml::Table = text.parse().unwrap();
            let refused = Recipe::default().with(table).and_then(|r| r.validate());
            let said = refused.unwrap_err().to_string();
            assert!(said.contains(field), "{said}");
        }
    }
}
