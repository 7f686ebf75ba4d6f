//! Weights of networks: pickles of `PyTorch` and safetensors.

use super::kind::{Case, Mutated};
use super::{data, images};
use crate::data::Result;

pub(super) fn kind() -> Result<Mutated> {
    let pickle = std::fs::read("crates/likewise-nn/testdata/tiny.pth")?;
    let mut cases = vec![];
    for (name, content) in [
        ("net.pth", pickle),
        ("net.safetensors", data::safetensors()?),
    ] {
        let files = data::files([
            (name, content),
            ("photos/red/a.png", images::png(1)?),
            ("photos/blue/b.png", images::png(2)?),
        ]);
        let command = format!("doctor photos --encoder {name} -q --threads 1");
        cases.push(Case::new(&command, files).only(|file| file == name));
    }
    Ok(Mutated::new("weights", cases))
}
