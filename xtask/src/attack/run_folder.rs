//! A run folder that somebody else made: every file of it, and a forged index.

use sha2::{Digest, Sha256};

use super::data;
use super::kind::{Case, Files, Mutated};
use super::place::Place;
use super::settings::SMALL;
use super::text::ending;
use crate::data::Result;

const INDEX: &str = "run/index/hnsw.usearch";
const CARD: &str = "run/index/index.json";
const JOURNAL: &str = "run/labels.jsonl";

/// Labels that were given on the page of a run.
const GIVEN: &str = r#"{"sequence":1,"time":"2026-01-01T00:00:00Z","who":"ann","what":"label","items":[{"id":"i3","old":null,"new":"red"}]}
{"sequence":2,"time":"2026-01-01T00:00:01Z","what":{"add_class":"owl"},"items":[]}
{"sequence":3,"time":"2026-01-01T00:00:02Z","what":{"undo":1},"items":[]}
"#;

fn made(place: &Place, recipe: &str) -> Result<Files> {
    let mut files = whole(place, recipe)?;
    // What reads them is attacked elsewhere, and large files make slow attacks.
    files.retain(|name, _| !name.contains("report.html"));
    Ok(files)
}

/// A run with its report.
pub(super) fn whole(place: &Place, recipe: &str) -> Result<Files> {
    let files = data::files([("x.csv", data::table(',')), ("r.toml", recipe.into())]);
    let fit = format!(
        "fit x.csv --recipe {} --labels-per-class 5 --draws 1 --epochs 1 -q --threads 1 -o run",
        if recipe.is_empty() {
            "label-rca"
        } else {
            "r.toml"
        }
    );
    let mut files = place.made(files, &[&fit, "index run --kind hnsw -q"])?;
    files.retain(|name, _| !name.contains("events/"));
    Ok(files)
}

pub(super) fn kind(place: &Place) -> Result<Mutated> {
    let commands = [
        "search run --query x.csv",
        "search run --id i3",
        "search run --id i3 --exact",
        "eval run",
        "embed run x.csv -o e.npy",
        "index run",
        "export run --to parquet -o out.parquet",
        "export run --to faiss -o out.faiss",
        "export run --to milvus -o out.parquet",
        "export run --to onnx -o out.onnx",
        "export run --to huggingface -o out",
        "advise run --budget 5 -o next.csv",
        "compare run run -o page.html",
        "suspects run -o suspects.csv",
        "add run x.csv --prefix new-",
        "fit run --add-labels more.csv -o new",
        "fit x.csv --resume --draws 1 --epochs 1 --recipe label-rca --labels-per-class 5 -o run",
    ];
    let mut cases = vec![];
    for recipe in [SMALL, ""] {
        let mut files = made(place, recipe)?;
        files.insert(JOURNAL.into(), GIVEN.into());
        files.insert("more.csv".into(), "id,label\ni5,green\n".into());
        for command in commands {
            let case = Case::new(&format!("{command} -q --threads 1"), files.clone());
            cases.push(case.only(|name| name.starts_with("run/") && ending(name) != "md"));
        }
    }
    Ok(Mutated {
        name: "run folder",
        cases,
        after: unmark,
    })
}

/// The index and its card, with checksum and digest put right.
pub(super) fn index(place: &Place) -> Result<Mutated> {
    let files = made(place, "")?;
    // More queries than are answered without the index.
    let commands = [
        "search run --query x.csv -k 5",
        "search run --query x.csv -k 100",
    ];
    let case = |command: &str| {
        let case = Case::new(&format!("{command} -q"), files.clone());
        case.only(|name| name == INDEX)
    };
    Ok(Mutated {
        name: "forged index",
        cases: commands.map(case).into(),
        after: sign,
    })
}

/// Takes the marks of the files out of the record, which would show that they were changed.
pub(super) fn unmark(files: &mut Files) {
    if let Some(record) = files.get_mut("run/run.json")
        && let Ok(mut json) = serde_json::from_slice::<serde_json::Value>(record)
        && let Some(fields) = json.as_object_mut()
    {
        fields.remove("parts");
        *record = json.to_string().into_bytes();
    }
}

/// Puts the checksum in the index right, and the digest beside it.
fn sign(files: &mut Files) {
    let Some(index) = files.get_mut(INDEX) else {
        return;
    };
    if index.len() >= 16 {
        let sum = index[16..]
            .iter()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        index[8..16].copy_from_slice(&sum.to_le_bytes());
    }
    let digest = Sha256::digest(&*index);
    let digest: Vec<String> = digest.iter().map(|b| format!("{b:02x}")).collect();
    if let Some(card) = files.get_mut(CARD)
        && let Ok(mut json) = serde_json::from_slice::<serde_json::Value>(card)
    {
        json["sha256"] = digest.concat().into();
        *card = json.to_string().into_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forged_index_is_signed() {
        let index = b"lw-hnsw2--------body".to_vec();
        let mut files = data::files([
            (INDEX, index),
            (CARD, b"{\"sha256\": \"old\", \"k\": 10}".to_vec()),
        ]);
        sign(&mut files);
        // FNV-1a of "body" by hand: the published constants, four steps.
        let mut sum = 0xcbf2_9ce4_8422_2325_u64;
        for byte in *b"body" {
            sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        assert_eq!(files[INDEX][8..16], sum.to_le_bytes());
        let card: serde_json::Value = serde_json::from_slice(&files[CARD]).unwrap();
        assert_eq!(card["sha256"].as_str().unwrap().len(), 64);
        assert_eq!(card["k"], 10);
        // What is too short to be signed is left.
        sign(&mut data::files([(INDEX, vec![1, 2])]));
    }
}
