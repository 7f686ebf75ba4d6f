//! Every learner in closed form on data that say little or contradict themselves: an answer of finite
//! numbers, or one clear error; never NaN, never a panic.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use likewise::learn::{Closed, Fit as _, Need};
use likewise_io::arrays::from_safetensors;

use crate::program;

/// Data, and what of a learner's failure they explain: its message holds one of the words. Without any
/// words every learner must answer.
struct Case {
    name: &'static str,
    data: &'static str,
    /// A file of pairs in place of labels.
    pairs: Option<&'static str>,
    may_say: &'static [&'static str],
}

/// Rows of classes in turn, `of` a row and a column.
fn table(rows: usize, columns: usize, classes: usize, of: impl Fn(usize, usize) -> f64) -> String {
    let names: Vec<String> = (0..columns).map(|j| format!("f{j}")).collect();
    let mut text = names.join(",") + ",label\n";
    for i in 0..rows {
        for j in 0..columns {
            write!(text, "{},", of(i, j)).unwrap();
        }
        writeln!(text, "c{}", i % classes).unwrap();
    }
    text
}

/// A number from -1 to 1 that nothing orders, and the class of the row in some columns.
fn mixed(i: usize, j: usize) -> f64 {
    let drawn = ((i * 7919 + j * 104_729 + i * j * 31) % 1000) as f64 / 500.0 - 1.0;
    drawn + f64::from(u8::from(i % 3 == j % 4))
}

fn data(name: &str) -> String {
    match name {
        "wide" => table(15, 40, 3, mixed),
        "one class" => table(15, 4, 1, mixed),
        "one constant column" => table(24, 4, 3, |i, j| if j == 2 { 7.0 } else { mixed(i, j) }),
        "constant" => table(15, 4, 3, |_, _| 7.0),
        // Three times each, in all columns and in the class.
        "duplicates" => table(45, 4, 3, |i, j| mixed(i % 15, j)),
        // The same rows, of different classes.
        "contradictory duplicates" => table(24, 4, 3, |i, j| mixed(i / 3 * 3, j)),
        "plain" => table(24, 4, 3, mixed),
        other => panic!("{other}"),
    }
}

fn pairs(name: &str) -> String {
    let mut text = "a,b,y\n".to_owned();
    for i in 0..20 {
        let line = |y: i32| format!("{i},{},{y}\n", i + 1 + i % 3);
        match name {
            "contradictory" => text.extend([line(1), line(-1)]),
            "alike" => text.push_str(&line(1)),
            "unlike" => text.push_str(&line(-1)),
            other => panic!("{other}"),
        }
    }
    text
}

const CASES: [Case; 9] = [
    Case {
        name: "more columns than items",
        data: "wide",
        pairs: None,
        may_say: &["shrinkage", "column"],
    },
    Case {
        name: "one class",
        data: "one class",
        pairs: None,
        may_say: &["class"],
    },
    Case {
        name: "a constant column",
        data: "one constant column",
        pairs: None,
        may_say: &["shrinkage", "column"],
    },
    Case {
        name: "nothing varies",
        data: "constant",
        pairs: None,
        may_say: &["differ", "same", "identical", "constant", "var", "column"],
    },
    Case {
        name: "items that stand three times",
        data: "duplicates",
        pairs: None,
        may_say: &[],
    },
    Case {
        name: "equal items of different classes",
        data: "contradictory duplicates",
        pairs: None,
        may_say: &[
            "nothing tells them apart",
            "nowhere farther apart",
            "column",
        ],
    },
    Case {
        name: "pairs that contradict each other",
        data: "plain",
        pairs: Some("contradictory"),
        may_say: &["contradict", "pairs"],
    },
    Case {
        name: "no unlike pair",
        data: "plain",
        pairs: Some("alike"),
        may_say: &["unlike"],
    },
    Case {
        name: "no alike pair",
        data: "plain",
        pairs: Some("unlike"),
        may_say: &["alike"],
    },
];

/// Whether a learner takes pairs in place of classes.
fn takes_pairs(name: &str) -> bool {
    let needs = Closed::named(name).unwrap().needs();
    needs.contains(&Need::Alike) || needs.contains(&Need::Compared)
}

struct Scene(tempfile::TempDir);

impl Scene {
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// The recipe of a learner: of one that draws comparisons of its own, with few of them, since thirty thousand
/// of fifteen items say no more and take half a minute.
fn recipe<'a>(scene: &Scene, learner: &'a str) -> &'a str {
    if learner != "synthetic" {
        return learner;
    }
    let few = "base = \"synthetic\"\nlearner = { triplets = 200, draws = 5 }\n";
    fs::write(scene.path("few.toml"), few).unwrap();
    "few.toml"
}

/// What is wrong with how a case went, if anything is.
fn wrong(scene: &Scene, learner: &str, case: &Case) -> Option<String> {
    let run = format!("{learner} {}", case.name).replace(' ', "-");
    let recipe = recipe(scene, learner);
    let mut arguments = vec!["fit", "data.csv", "--recipe", recipe, "-q", "-o", &run];
    if case.pairs.is_some() {
        arguments.extend(["--pairs", "pairs.csv"]);
    }
    let output = program::likewise(scene.0.path(), &arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let fault = |what: &str| Some(format!("{learner}, {}: {what}: {said}", case.name));
    if said.contains("panicked") || said.contains("NaN") {
        return fault("said");
    }
    match output.status.code() {
        Some(0) => {
            let found = not_finite(&scene.path(&run))?;
            fault(&found)
        }
        Some(1 | 2) if case.may_say.is_empty() => fault("no answer"),
        Some(1 | 2) if !case.may_say.iter().any(|words| said.contains(words)) => {
            fault("the message does not say why")
        }
        Some(1 | 2) if said.lines().filter(|l| l.starts_with("error")).count() != 1 => {
            fault("not one error")
        }
        Some(1 | 2) if scene.path(&run).exists() => fault("left a folder"),
        Some(1 | 2) => None,
        other => fault(&format!("ended with {other:?}")),
    }
}

/// What of a run is not a finite number.
fn not_finite(run: &Path) -> Option<String> {
    let rows = likewise_io::read_matrix(run.join("embeddings.npy"), None);
    match rows {
        Ok(rows) if rows.iter().all(|v| v.is_finite()) => {}
        other => return Some(format!("embeddings {other:?}")),
    }
    let bytes = fs::read(run.join("model.safetensors")).unwrap();
    let (arrays, _) = from_safetensors(&bytes).unwrap();
    for name in ["mahalanobis", "transform", "bilinear"] {
        if let Ok(matrix) = arrays.matrix64(name)
            && matrix.iter().any(|v| !v.is_finite())
        {
            return Some(format!("{name} {matrix}"));
        }
    }
    None
}

#[track_caller]
fn all_learners(cases: &[Case]) {
    let mut faults = Vec::new();
    for case in cases {
        let scene = Scene(tempfile::tempdir().unwrap());
        let mut text = data(case.data);
        if let Some(name) = case.pairs {
            fs::write(scene.path("pairs.csv"), pairs(name)).unwrap();
            // Pairs are all that is known.
            text = text
                .lines()
                .map(|line| line.rsplit_once(',').unwrap().0.to_owned() + "\n")
                .collect();
        }
        fs::write(scene.path("data.csv"), text).unwrap();
        let learners = Closed::NAMES.iter();
        let learners = learners.filter(|name| case.pairs.is_none() || takes_pairs(name));
        faults.extend(learners.filter_map(|learner| wrong(&scene, learner, case)));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn too_few_or_too_like_items_give_an_answer_or_a_clear_error() {
    all_learners(&CASES[..3]);
}

#[test]
fn items_that_do_not_differ_give_an_answer_or_a_clear_error() {
    all_learners(&CASES[3..6]);
}

#[test]
fn pairs_that_contradict_or_lack_a_kind_give_an_answer_or_a_clear_error() {
    all_learners(&CASES[6..]);
}
