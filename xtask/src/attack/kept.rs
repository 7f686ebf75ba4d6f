//! Inputs that broke the program, kept to be repeated.

use std::path::{Path, PathBuf};

use super::kind::{Attack, files_in};
use super::process::Outcome;
use crate::data::Result;

/// Writes the input beside what to do with it, so that it can be repeated.
pub(super) fn keep(attack: &Attack, folder: &Path, kind: &str, outcome: &Outcome) -> Result<()> {
    attack.write(&folder.join("files"))?;
    let card = serde_json::json!({
        "kind": kind,
        "arguments": attack.arguments,
        "ended": outcome.verdict.name(),
        "said": outcome.said.chars().take(2000).collect::<String>(),
    });
    let text = serde_json::to_string_pretty(&card)?;
    std::fs::write(folder.join("attack.json"), text + "\n")?;
    println!(
        "{}: {kind}: (cd {}/files && likewise {})",
        outcome.verdict.name(),
        folder.display(),
        attack.arguments.join(" "),
    );
    Ok(())
}

/// What [`keep`] kept in folders of this one, by kind.
pub(super) fn kept(folder: &Path) -> Result<Vec<(String, Attack)>> {
    let mut found = vec![];
    if !folder.is_dir() {
        return Ok(found);
    }
    let entries = std::fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    let mut folders: Vec<PathBuf> = entries.into_iter().map(|e| e.path()).collect();
    folders.sort();
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        let card = std::fs::read(folder.join("attack.json"))?;
        let card: serde_json::Value = serde_json::from_slice(&card)?;
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let arguments = card["arguments"].as_array().into_iter().flatten();
        let attack = Attack {
            arguments: arguments.map(text).collect(),
            files: files_in(&folder.join("files"))?,
        };
        found.push((text(&card["kind"]), attack));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use rand_chacha::rand_core::SeedableRng;

    use super::*;
    use crate::attack::Rng;
    use crate::attack::kind::{Case, Files, Kind, Mutated};
    use crate::attack::process::Verdict;

    #[test]
    fn an_attack_depends_on_the_generator_alone_and_can_be_kept() {
        let files = |text: &str| Files::from([("a/x.csv".to_owned(), text.as_bytes().to_vec())]);
        let cases =
            ["id,a\n1,2\n", "id,b\n0,0.5\n7,1\n"].map(|t| Case::new("doctor a/x.csv -q", files(t)));
        let kind = Mutated::new("readers", cases.into());
        let attack = |seed| kind.attack(&mut Rng::seed_from_u64(seed));
        assert_eq!(attack(1), attack(1));
        assert!((0..50).any(|seed| attack(seed) != attack(1)));
        assert_eq!(attack(1).names(), ["x.csv"]);
        let folder = tempfile::tempdir().unwrap();
        let outcome = Outcome {
            verdict: Verdict::Panic,
            said: "panicked".into(),
        };
        keep(&attack(5), &folder.path().join("one"), "readers", &outcome).unwrap();
        assert_eq!(
            kept(folder.path()).unwrap(),
            [("readers".to_owned(), attack(5))]
        );
        assert!(kept(&folder.path().join("none")).unwrap().is_empty());
    }
}
