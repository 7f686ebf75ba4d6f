//! Data in every form, as `doctor` and `embed` read them.

use std::path::Path;

use super::data;
use super::kind::{Case, Files, Mutated, files_in};
use super::place::Place;
use super::text::ending;
use crate::data::Result;

pub(super) fn kind(place: &Place) -> Result<Mutated> {
    let mut cases = vec![];
    let mut all = files_in(Path::new("crates/likewise-io/testdata"))?;
    all.retain(|name, _| ending(name) != "py");
    let mnist: Files = all
        .extract_if(.., |name, _| name.starts_with("mnist/"))
        .collect();
    all.extend(data::files([
        ("made.csv", data::table(',')),
        ("made.tsv", data::table('\t')),
        (
            "made.npy",
            data::npy_f32(&[data::N, data::D], &data::features()),
        ),
        ("made.npz", data::npz()?),
        ("made.safetensors", data::safetensors()?),
    ]));
    for (name, content) in all {
        cases.push(Case::new(
            &format!("doctor {name} -q --threads 1"),
            data::files([(&name, content)]),
        ));
    }
    cases.push(Case::new("doctor mnist -q --threads 1", mnist));
    // What the program writes as Parquet has more than the files above: ids, labels, shares.
    let run = data::files([("made.csv", data::table(','))]);
    let made = place.made(run, &["propagate made.csv -k 5 -q -o beliefs.parquet"])?;
    let beliefs = made["beliefs.parquet"].clone();
    let beliefs = data::files([("beliefs.parquet", beliefs)]);
    cases.push(Case::new("doctor beliefs.parquet -q --threads 1", beliefs));
    Ok(Mutated::new("data readers", cases))
}
