//! `eval`: embeddings, galleries, labels, and the values of its flags.

use rand::RngExt;
use rand::seq::IndexedRandom;

use super::kind::{Attack, Case, Kind, Mutated};
use super::{Rng, data};
use crate::data::Result;

/// Half of the time a file is mutated, half of the time a flag.
pub(super) struct Evaluation {
    files: Mutated,
}

const METRICS: [&str; 3] = ["cosine", "euclidean", "inner-product"];
const AT: [&str; 7] = [
    "1",
    "1,2,4,8",
    "0",
    "60",
    "1000000",
    "9223372036854775807",
    "1,,2",
];
const LOSSES: [&str; 9] = [
    "triplet",
    "nt-xent",
    "contrastive",
    "multi-similarity",
    "fast-ap",
    "smooth-ap",
    "roadmap",
    "angular",
    "contextual",
];
const GATES: [&str; 6] = [
    "recall@1=0.1",
    "recall@1=1",
    "recall@1=nan",
    "recall@9=0",
    "x=1",
    "nmi=-inf",
];

pub(super) fn kind() -> Result<Evaluation> {
    let files = || -> Result<_> {
        Ok(data::files([
            ("x.npz", data::npz()?),
            ("x.csv", data::table(',')),
            (
                "x.npy",
                data::npy_f32(&[data::N, data::D], &data::features()),
            ),
            ("y.npy", data::label_codes()),
        ]))
    };
    let commands = [
        "eval x.npz",
        "eval x.csv --metric euclidean",
        "eval x.npy --labels y.npy",
        "eval x.npz --gallery x.npy --gallery-labels y.npy",
        "eval x.npz --loss triplet,nt-xent --no-nmi",
    ];
    let mut cases = vec![];
    for command in commands {
        let mut files = files()?;
        files.retain(|name, _| command.contains(name.as_str()));
        cases.push(Case::new(&format!("{command} -q --threads 1"), files));
    }
    Ok(Evaluation {
        files: Mutated::new("eval", cases),
    })
}

impl Kind for Evaluation {
    fn name(&self) -> &'static str {
        self.files.name()
    }

    fn attack(&self, rng: &mut Rng) -> Attack {
        let mut attack = self.files.attack(rng);
        if rng.random_bool(0.5) {
            for (flag, values) in [
                ("--metric", &METRICS[..]),
                ("--at", &AT),
                ("--loss", &LOSSES),
                ("--gate", &GATES),
            ] {
                if !attack.arguments.iter().any(|a| a == flag)
                    && rng.random_bool(0.4)
                    && let Some(value) = values.choose(rng)
                {
                    attack
                        .arguments
                        .extend([flag.to_owned(), (*value).to_owned()]);
                }
            }
        }
        attack
    }
}
