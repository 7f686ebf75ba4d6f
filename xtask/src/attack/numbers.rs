//! Numbers that strain arithmetic: well-formed files of NaN, of 1e38, of one row, of no column,
//! under every verb, and flags beyond all measure.

use rand::RngExt;
use rand::seq::IndexedRandom;

use super::kind::{Attack, Kind, words};
use super::{Rng, data};

pub(super) struct Numbers;

const ROWS: [usize; 8] = [0, 1, 2, 3, 7, 20, 60, 150];
const COLUMNS: [usize; 8] = [0, 1, 2, 3, 5, 16, 70, 300];
const VALUES: [f32; 12] = [
    0.0,
    -0.0,
    1.0,
    f32::NAN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::MAX,
    -1e38,
    1e20,
    1e-45,
    1e-38,
    1e-20,
];
const COMMANDS: [&str; 27] = [
    "doctor x.npy --labels y.npy",
    "doctor x.npy -k K",
    "graph x.npy -k K -o g.npz",
    "graph x.npy -k 5 --gamma G -o g.npz",
    "graph x.npy -k 5 --approx -o g.npz",
    "graph x.npy -k 5 --precision i16 --center -o g.npz",
    "graph x.npy -k 5 --symmetrize mutual -o g.npz",
    "propagate x.npy --labels y.npy -k K -o b.npz",
    "propagate x.npy --labels y.npy -k 5 --gamma G --method mixed -o b.csv",
    "propagate x.npy --labels y.npy -k 5 --mu G --method lgc -o b.parquet",
    "propagate x.npy --labels y.npy -k 5 --tolerance G --method harmonic -o b.npz",
    "propagate x.npy --labels y.npy -k 5 --method gong -o b.npz",
    "propagate x.npy --labels y.npy -k 5 --method goldberg --beta G -o b.npz",
    "propagate x.npy --labels y.npy -k 5 --method tong-jin -o b.npz",
    "propagate x.npy --labels y.npy -k 5 --method iscen --mass estimated -o b.npz",
    "propagate x.npy --labels y.npy -k 5 --method manifold --diagnose --calibrate -o b.npz",
    "eval x.npy --labels y.npy --at K",
    "eval x.npy --labels y.npy --metric inner-product --loss triplet,nt-xent",
    "fit x.npy --labels y.npy --labels-per-class 3 --draws 1 --epochs 1 -k K -o run",
    "fit x.npy --labels y.npy --draws 1 --epochs 1 --recipe label-rca -o run",
    "fit x.npy --labels y.npy --draws 1 --epochs 1 --recipe mixed-rca --split folds -o run",
    "index x.npy -k K -o index",
    "duplicates x.npy --threshold G -o d.csv",
    "mine x.npy --labels y.npy --from labels --kind triplets -o t.csv",
    "mine x.npy --labels y.npy --from affinity --kind pairs -o t.parquet",
    "fit x.npy --labels y.npy --draws 1 --epochs 1 --recipe start -o run",
    "fit x.npy --labels y.npy --split folds -o run",
];
const COUNTS: [&str; 8] = [
    "0",
    "1",
    "2",
    "50",
    "1000000",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
];
const REALS: [&str; 9] = [
    "0", "-1", "1", "nan", "inf", "1e308", "1e-320", "1e-45", "1000",
];

impl Kind for Numbers {
    fn name(&self) -> &'static str {
        "numbers"
    }

    fn attack(&self, rng: &mut Rng) -> Attack {
        let n = *ROWS.choose(rng).unwrap_or(&1);
        let d = *COLUMNS.choose(rng).unwrap_or(&1);
        let values = values(n * d, d, rng);
        let command = COMMANDS.choose(rng).unwrap_or(&"doctor x.npy");
        let mut classes = *[1, 2, 3, 10, 1000].choose(rng).unwrap_or(&1);
        if command.contains("goldberg") {
            // Its quadratic program of hundreds of classes takes minutes, as it says.
            classes = classes.min(10);
        }
        let unlabeled = *[0.0, 0.3, 0.9, 1.0].choose(rng).unwrap_or(&0.0);
        let code = |_| {
            if rng.random_bool(unlabeled) {
                -1
            } else {
                rng.random_range(0..classes)
            }
        };
        let codes: Vec<u8> = (0..n).map(code).flat_map(i64::to_le_bytes).collect();
        let mut arguments = words(command);
        for argument in &mut arguments {
            let values = match argument.as_str() {
                "K" => &COUNTS[..],
                "G" => &REALS,
                _ => continue,
            };
            if let Some(&value) = values.choose(rng) {
                value.clone_into(argument);
            }
        }
        arguments.extend(words("-q --threads 1"));
        Attack {
            arguments,
            files: data::files([
                ("x.npy", data::npy_f32(&[n, d], &values)),
                ("y.npy", data::npy("<i8", &[n], &codes)),
            ]),
        }
    }
}

/// Features of one of several patterns, `d` in a row.
fn values(count: usize, d: usize, rng: &mut Rng) -> Vec<f32> {
    let special = *VALUES.choose(rng).unwrap_or(&0.0);
    let pattern = rng.random_range(0..6);
    let scale = *[1.0, 1.0, 1e-30, 1e30, 1e38].choose(rng).unwrap_or(&1.0);
    let value = |i: usize| {
        let ordinary = scale * rng.random_range(-1.0_f32..1.0);
        match pattern {
            1 => special,
            // One value, one row, one column of them.
            2 if i == count / 2 => special,
            3 if i / d.max(1) == 1 => special,
            4 if i.is_multiple_of(d.max(1)) => special,
            // Few different rows: many duplicates.
            5 => ((i / d.max(1)) % 2) as f32,
            _ => ordinary,
        }
    };
    (0..count).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::rand_core::SeedableRng;

    #[test]
    fn the_seed_makes_the_numbers() {
        let attack = |seed| Numbers.attack(&mut Rng::seed_from_u64(seed));
        assert_eq!(attack(3), attack(3));
        let all: Vec<Attack> = (0..300).map(attack).collect();
        // No place holder is left, every verb has its turn.
        assert!(
            all.iter()
                .all(|a| a.arguments.iter().all(|a| a != "K" && a != "G"))
        );
        for verb in ["doctor", "graph", "propagate", "eval", "fit", "index"] {
            assert!(all.iter().any(|a| a.arguments[0] == verb));
        }
    }
}
