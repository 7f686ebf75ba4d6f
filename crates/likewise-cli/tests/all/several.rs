//! Several labels an item: eval, fit and propagate, and what refuses them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use likewise::{Label, Monitor};
use likewise_io::{ReadOptions, TableOptions};
use serde_json::Value;

use crate::program;

const N: usize = 120;

/// A table of one label an item.
fn one_label() -> String {
    let lines = (0..N).map(|i| format!("i{i},{}", i % 3));
    let all: Vec<String> = std::iter::once("id,label".into()).chain(lines).collect();
    all.join("\n")
}

/// Items at three corners of a triangle, halfway between two of them, and at none; each is tagged by
/// the corners that it is near.
struct Scene(tempfile::TempDir);

impl Scene {
    fn new() -> Self {
        let scene = Self(tempfile::tempdir().unwrap());
        let near = |i: usize| -> Vec<usize> {
            match i % 6 {
                corner @ 0..3 => vec![corner],
                3 => vec![0, 1],
                4 => vec![1, 2],
                _ => vec![],
            }
        };
        let mut items = vec!["id,a,b,c,d".to_owned()];
        let mut tags = vec!["id,label".to_owned()];
        for i in 0..N {
            let own = near(i);
            let noise = |j: usize| ((i * 13 + j * 7 + i * j) % 17) as f32 / 34.0;
            let cell = |j: usize| f32::from(u8::from(own.contains(&j))) + noise(j);
            let cells: Vec<String> = (0..4).map(|j| cell(j).to_string()).collect();
            items.push(format!("i{i},{}", cells.join(",")));
            let names: Vec<&str> = own.iter().map(|&j| ["red", "short", "new"][j]).collect();
            match (names.as_slice(), i % 2) {
                ([], _) => tags.push(format!("i{i},outside")),
                // Two lines of one item, and two labels in one cell.
                ([a, b], 0) => tags.extend([format!("i{i},{a}"), format!("i{i},{b}")]),
                _ => tags.push(format!("i{i},{}", names.join("|"))),
            }
        }
        fs::write(scene.path("x.csv"), items.join("\n")).unwrap();
        fs::write(scene.path("tags.csv"), tags.join("\n")).unwrap();
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, command: &str) -> Output {
        let arguments: Vec<&str> = command.split(' ').collect();
        program::likewise(self.0.path(), &arguments)
    }

    fn good(&self, command: &str) -> Value {
        let output = self.run(command);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {said}");
        serde_json::from_slice(&output.stdout).unwrap_or_default()
    }

    /// The message of a command that fails with `code`.
    fn bad(&self, command: &str, code: i32) -> String {
        let output = self.run(command);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{command}: {said}");
        assert!(said.starts_with("error: "), "{command}: {said}");
        said
    }
}

const TAGS: &str = "--labels tags.csv --multi-label";

#[test]
fn eval_counts_shared_labels_and_grades_them() {
    let scene = Scene::new();
    let eval =
        format!("eval x.csv {TAGS} --at 1,4 --classes out.csv --loss contextual,triplet -q --json");
    let said = scene.good(&eval);
    let at = |of: &str, k: &str| said[of][k].as_f64().unwrap();
    assert!(at("recall", "1") > 0.9, "{said}");
    assert!(at("ndcg", "1") > 0.5 && at("ndcg", "4") <= 1.0, "{said}");
    assert_eq!(said["nmi"], Value::Null);
    assert_eq!(said["n_queries"], 100);
    assert!(said["loss"]["contextual"].as_f64().unwrap() > 0.0);
    let classes: Vec<&str> = said["classes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|class| class["class"].as_str().unwrap())
        .collect();
    assert_eq!(classes, ["new", "red", "short"]);
    let table = fs::read_to_string(scene.path("out.csv")).unwrap();
    assert!(table.contains("\nred,40,"), "{table}");
    scene.good(&format!("eval x.csv {TAGS} -q --gate ndcg@8=0.2"));
    let missed = scene.bad(&format!("eval x.csv {TAGS} -q --gate ndcg@8=1"), 3);
    assert!(missed.contains("ndcg@8"), "{missed}");
    // A single label has no grades, and its JSON no key of them.
    let single = one_label();
    fs::write(scene.path("single.csv"), single).unwrap();
    let said = scene.good("eval x.csv --labels single.csv -q --json");
    assert_eq!(said.get("ndcg"), None);
    let no = scene.bad("eval x.csv --labels single.csv -q --gate ndcg@8=0.2", 3);
    assert!(no.contains("could not be measured"), "{no}");
}

#[test]
fn fit_learns_from_shared_labels_and_its_run_shows_them() {
    let scene = Scene::new();
    let fit = format!("fit x.csv {TAGS} --labels-per-class 4 --draws 2 --epochs 2 -q --json");
    let said = scene.good(&format!("{fit} --recipe contextual -o run"));
    assert!(said["ndcg"]["8"].as_f64().unwrap() > 0.3, "{said}");
    for row in ["raw", "whitened"] {
        assert!(
            said["baselines"][row]["map_at_r"].as_f64().is_some(),
            "{said}"
        );
    }
    let classes = said["classes"].as_array().unwrap();
    assert!(classes.iter().any(|class| class["class"] == "short"));
    let found = scene.run("search run --id i3 -k 3 -q");
    let found = String::from_utf8(found.stdout).unwrap();
    assert!(found.contains("red|short"), "{found}");
    let report = fs::read_to_string(scene.path("run/report.html")).unwrap();
    assert!(report.contains("red|short") && report.contains("nDCG@8"));
    let again = scene.good("eval run -q --json --at 8");
    assert_eq!(again["ndcg"]["8"], said["ndcg"]["8"]);
    // Without a name it is contextual; all labels of an item pull in proxy-anchor; a relation by recipe.
    let usual = scene.good(&format!("fit x.csv {TAGS} -q -o usual --json"));
    // No recipe is advised that goes by one label.
    assert_ne!(usual["answers"]["next"]["do"], "recipe", "{usual}");
    let config = fs::read_to_string(scene.path("usual/config.json")).unwrap();
    assert!(
        config.contains("\"contextual\"") && !config.contains("relation"),
        "{config}"
    );
    scene.good(&format!("{fit} --recipe proxy-anchor -o proxies"));
    fs::write(
        scene.path("graded.toml"),
        "base = \"contextual\"\nlearner.train.relation = \"jaccard\"\n",
    )
    .unwrap();
    scene.good(&format!("{fit} --recipe graded.toml -o graded"));
    fs::write(
        scene.path("same.toml"),
        "base = \"soft-triple\"\nlearner.train.relation = \"same\"\n",
    )
    .unwrap();
    scene.good(&format!("{fit} --recipe same.toml -o same"));
    // What goes by one label says so.
    for (command, why) in [
        ("serve run", "serve goes by one label an item"),
        ("suspects run", "suspects goes by one label"),
        ("advise run", "advise goes by one label"),
        ("compare run graded", "compare goes by one label"),
        (
            "fit run --add-labels tags.csv",
            "its items have several labels each",
        ),
    ] {
        if command.starts_with("serve") && cfg!(not(feature = "serve")) {
            continue;
        }
        let said = scene.bad(command, 2);
        assert!(said.contains(why), "{command}: {said}");
    }
}

#[test]
fn what_goes_by_one_label_refuses_several() {
    let scene = Scene::new();
    for (recipe, why) in [
        ("mixed-lp", "its pseudo-labels are one class"),
        ("rca", "its learner reads one label"),
        ("soft-triple", "compares an item with one class"),
        ("auto", "--recipe auto"),
        ("cca", "across views"),
    ] {
        let said = scene.bad(&format!("fit x.csv {TAGS} --recipe {recipe} -q -o no"), 2);
        assert!(said.contains(why), "{recipe}: {said}");
    }
    for (more, why) in [
        ("--split folds", "split item"),
        ("--split zero-shot", "split item"),
        ("--add-labels tags.csv", "--labels FILE"),
    ] {
        let said = scene.bad(&format!("fit x.csv {TAGS} {more} -q -o no"), 2);
        assert!(said.contains(why), "{more}: {said}");
    }
    let twice = scene.bad("eval x.csv --labels tags.csv -q", 1);
    assert!(
        twice.contains("already labeled") && twice.contains("--multi-label"),
        "{twice}"
    );
    let alone = scene.bad("eval x.csv --labels tags.csv --label-separator ;", 2);
    assert!(alone.contains("--multi-label"), "{alone}");
    fs::write(
        scene.path("one.toml"),
        "base = \"contextual\"\nlearner.train.relation = \"jaccard\"\n",
    )
    .unwrap();
    let single = one_label();
    fs::write(scene.path("single.csv"), single).unwrap();
    let said = scene.bad(
        "fit x.csv --labels single.csv --recipe one.toml -q -o no",
        2,
    );
    assert!(
        said.contains("learner.train.relation has no effect"),
        "{said}"
    );
    let said = scene.bad(&format!("propagate x.csv {TAGS} --diagnose -o b.npz"), 2);
    assert!(said.contains("--diagnose goes by one label"), "{said}");
}

#[test]
fn each_label_is_spread_and_what_is_found_is_read_again() {
    let scene = Scene::new();
    let spread = format!("propagate x.csv {TAGS} --labels-per-class 6 -q --json");
    let said = scene.good(&format!("{spread} -o beliefs.csv"));
    assert!(said["f1_hidden"].as_f64().unwrap() > 0.7, "{said}");
    let rows = said["tags"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    assert!(
        rows.iter().all(|row| row["labeled"].as_u64().unwrap() >= 6),
        "{said}"
    );
    scene.good(&format!("{spread} -o beliefs.npz"));
    let one = scene.good(
        "eval x.csv --labels beliefs.csv --label-column pseudo_label --multi-label -q --json",
    );
    let other = scene.good("eval x.csv --labels beliefs.npz --multi-label -q --json");
    assert_eq!(one["ndcg"], other["ndcg"]);
    assert_eq!(one["n_gallery"], N);
}

#[test]
fn the_tags_of_the_digits_are_what_is_true_of_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let (digits, labels) = (folder.join("digits.npz"), folder.join("digits-tags.csv"));
    let read = |labels: Option<PathBuf>| {
        let options = ReadOptions {
            table: TableOptions {
                label_separator: labels.is_some().then_some('|'),
                ..TableOptions::default()
            },
            labels,
            ..ReadOptions::default()
        };
        likewise_io::read(&digits, &options, &Monitor::silent())
            .unwrap()
            .labels
            .unwrap()
    };
    let (digit, sets) = (read(None), read(Some(labels)));
    let tags = sets.item_tags().unwrap();
    assert_eq!(tags.names(), ["even", "high", "loop", "prime"]);
    for i in 0..digit.len() {
        let Label::Known(digit) = digit[i] else {
            panic!("every digit is known");
        };
        let wanted = [
            digit % 2 == 0,
            digit >= 5,
            [0, 6, 8, 9].contains(&digit),
            [2, 3, 5, 7].contains(&digit),
        ];
        let wanted: Vec<u32> = (0..4).filter(|&tag| wanted[tag as usize]).collect();
        assert_eq!(tags.of(i), Some(&wanted[..]), "item {i}, digit {digit}");
    }
}
