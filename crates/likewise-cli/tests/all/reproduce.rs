//! Experiments: run, interrupted, changed, and wrong.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use rand::RngExt;
use serde_json::Value;

use crate::program;

const EXPERIMENT: &str = r#"title = "A small experiment"
paper = { source = "A paper", table = "Table 1" }
protocol = "Three hundred digits."
labels_per_class = 3
draws = 3
k = 10
gamma = 3
compare = ["LP"]
data = [
  { name = "zer", file = "digits.npz", view = "zer", standardize = "columns", max_items = 300 },
  { name = "zer 1:10", file = "digits.npz", view = "zer", imbalance = 10, label_draw = "random" },
  { name = "absent", file = "absent.npz" },
]
method = [
  { name = "LP", method = "lgc" },
  { name = "MoM", method = "mixed", negatives = "one-sided", fit = "labeled", beta = 1.0, mass = "none" },
  { name = "DSSML", method = "dssml", graph = "mutual" },
  { name = "Ours", method = "mixed", fit = "labeled", beta = 1.0, mass = "none" },
]
sweep = [
  { parameter = "beta", values = [0.5, 1], methods = ["Ours"] },
]
paper_row = [
  { name = "cub", values = { "Original LP" = "0.441 ±0.005" } },
]
"#;

struct Scene(tempfile::TempDir);

impl Scene {
    fn new(experiment: &str) -> Self {
        let scene = Self(tempfile::tempdir().unwrap());
        fs::write(scene.path("e.toml"), experiment).unwrap();
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.path(name)).unwrap()).unwrap()
    }

    fn command(&self, out: &str, more: &[&str]) -> Command {
        let mut command = program::command(self.0.path(), &[]);
        let digits = likewise_testdata::digits();
        command
            .env_remove("LIKEWISE_DATA")
            .args(["reproduce", "e.toml", "-q", "-o", out, "--data"])
            .arg(digits.parent().unwrap())
            .args(more);
        command
    }

    fn run(&self, out: &str, more: &[&str]) -> Output {
        self.command(out, more).output().unwrap()
    }

    /// How many cells a run computes.
    #[track_caller]
    fn computed(&self, out: &str, more: &[&str]) -> Value {
        self.answer(out, more)["computed"].clone()
    }

    #[track_caller]
    fn answer(&self, out: &str, more: &[&str]) -> Value {
        let output = self.run(out, &[more, &["--json"]].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// The document without what no two runs share.
fn page(folder: &Path) -> String {
    let text = fs::read_to_string(folder.join("README.md")).unwrap();
    text.split_once("## Times").unwrap().0.to_owned()
}

#[test]
fn an_experiment_gives_its_tables_and_says_what_is_missing() {
    let scene = Scene::new(EXPERIMENT);
    let output = scene.run("r", &["--json"]);
    assert!(output.status.success());
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["cells"], 2 * 5 * 3);
    assert!(
        answer["skipped"]["absent"]
            .as_str()
            .unwrap()
            .contains("absent.npz")
    );
    let lp = &answer["accuracy"]["zer | LP"];
    assert!(
        lp["mean"].as_f64().unwrap() > 0.5 && lp["draws"] == 3,
        "{lp}"
    );
    let found = page(&scene.path("r"));
    let golden = likewise_testdata::digits().with_file_name("reproduce.md");
    if std::env::var_os("LIKEWISE_BLESS").is_some() {
        fs::write(&golden, &found).unwrap();
    }
    assert_eq!(found, fs::read_to_string(golden).unwrap());
    let figure = fs::read_to_string(scene.path("r/figure.svg")).unwrap();
    assert!(figure.starts_with("<svg") && figure.trim_end().ends_with("</svg>"));
    // A sweep on two sets: two charts, each with a line of the method that is swept.
    assert!(figure.contains("zer: beta") && figure.contains("zer 1:10: beta"));
}

#[test]
fn a_killed_run_goes_on_and_ends_with_the_same_bytes() {
    let scene = Scene::new(EXPERIMENT);
    let start = std::time::Instant::now();
    scene.computed("whole", &[]);
    let whole: Duration = start.elapsed();
    let undisturbed = fs::read(scene.path("whole/results.json")).unwrap();
    let mut rng = likewise::seed::stream(9, "kills");
    for _ in 0..4 {
        let mut command = scene.command("cut", &["--threads", "1"]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut child = child.unwrap();
        std::thread::sleep(whole.mul_f64(rng.random()));
        let _ = child.kill();
        child.wait().unwrap();
        if let Ok(text) = fs::read_to_string(scene.path("cut/results.json")) {
            serde_json::from_str::<Value>(&text).unwrap();
        }
    }
    scene.computed("cut", &[]);
    assert_eq!(
        fs::read(scene.path("cut/results.json")).unwrap(),
        undisturbed
    );
    assert_eq!(page(&scene.path("cut")), page(&scene.path("whole")));
    // Stopped after one draw, and in the middle of another.
    assert_eq!(scene.computed("part", &["--draws", "1"]), 10);
    let text = fs::read_to_string(scene.path("part/results.json")).unwrap();
    let kept: Vec<&str> = text
        .lines()
        .filter(|line| !line.contains("DSSML"))
        .collect();
    fs::write(scene.path("part/results.json"), kept.join("\n")).unwrap();
    assert_eq!(scene.computed("part", &[]), 2 * 5 * 2 + 2);
    assert_eq!(
        fs::read(scene.path("part/results.json")).unwrap(),
        undisturbed
    );
    assert_eq!(scene.computed("part", &[]), 0);
}

#[test]
fn a_changed_experiment_computes_the_changed_cells_only() {
    let scene = Scene::new(EXPERIMENT);
    scene.computed("r", &["--only", "zer"]);
    let change = |from: &str, to: &str| {
        let text = fs::read_to_string(scene.path("e.toml")).unwrap();
        assert!(text.contains(from));
        fs::write(scene.path("e.toml"), text.replace(from, to)).unwrap();
        scene.computed("r", &["--only", "zer"])
    };
    assert_eq!(change("Three hundred", "Some"), 0);
    assert_eq!(change("method = \"lgc\"", "method = \"lgc\", mu = 0.1"), 3);
    assert_eq!(change("values = [0.5, 1]", "values = [0.25, 1]"), 3);
    assert_eq!(change("max_items = 300", "max_items = 200"), 15);
    assert_eq!(change("draws = 3", "draws = 4"), 5);
    let text = fs::read_to_string(scene.path("r/results.json")).unwrap();
    assert!(
        !text.contains("\"value\":0.5"),
        "what is no longer asked for goes"
    );
}

#[test]
fn wrong_experiments_get_one_message_and_no_file() {
    let refused = |experiment: &str, more: &[&str], code: i32, words: &[&str]| {
        let scene = Scene::new(experiment);
        let output = scene.run("r", more);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(words.iter().all(|w| said.contains(w)), "{words:?}: {said}");
        assert!(!scene.path("r").exists());
    };
    let with = |from: &str, to: &str| EXPERIMENT.replace(from, to);
    refused(
        &with("k = 10", "kk = 10"),
        &[],
        2,
        &["e.toml", "line 6", "kk"],
    );
    refused(
        &with("\"lgc\"", "\"nosuch\""),
        &[],
        2,
        &["e.toml:15", "\"LP\"", "nosuch", "harmonic"],
    );
    refused(
        &with("\"lgc\"", "\"lgc\", lambda = 1"),
        &[],
        2,
        &["e.toml:15", "lambda"],
    );
    refused(
        &with("\"lgc\"", "\"lgc\", mu = -1"),
        &[],
        2,
        &["zer: LP: mu = -1", "above 0"],
    );
    refused(
        EXPERIMENT,
        &["--only", "nosuch"],
        2,
        &["nosuch", "zer 1:10"],
    );
    refused(
        EXPERIMENT,
        &["--only", "absent"],
        1,
        &["--data", "looked in"],
    );
    refused(
        &with("\"zer\", standard", "\"zzz\", standard"),
        &[],
        2,
        &["zer: ", "no view \"zzz\""],
    );
}

const RETRIEVAL: &str = r#"title = "Recipes side by side"
kind = "retrieval"
draws = 2
recipe = { pseudo_labels.graph.k = 8, learner.train.steps = 10, rounds = { epochs = 2, folds = 0 } }
data = [
  { name = "zer", file = "digits.npz", view = "zer", labels_per_class = 3 },
  { name = "unseen", file = "digits.npz", view = "zer", labels_per_class = 3, split = { classes = { fit = 5, validate = 2 } } },
  { name = "absent", file = "absent.npz" },
]
method = [
  { name = "Raw", baseline = "raw" },
  { name = "Whitened", baseline = "whitened" },
  { name = "mixed-lp", base = "mixed-lp" },
  { name = "triplet", base = "triplet", data = ["zer"], draws = 1 },
]
paper_row = [
  { data = "zer", name = "Ours", values = { nmi = 47.5, "recall@1" = 93.9 } },
]
"#;

#[test]
fn recipes_are_compared_and_cells_are_kept() {
    let scene = Scene::new(RETRIEVAL);
    let answer = scene.answer("out", &[]);
    // Three methods twice on both sets, and one once.
    assert_eq!(
        (answer["computed"].as_u64(), answer["cells"].as_u64()),
        (Some(13), Some(13))
    );
    assert!(
        answer["skipped"]["absent"]
            .as_str()
            .unwrap()
            .contains("absent.npz")
    );
    let recall = |data: &str, method: &str| {
        let metric = &answer["metrics"][data][method]["recall@1"];
        metric["mean"].as_f64().unwrap()
    };
    assert!(recall("zer", "mixed-lp") > 0.7);
    // Three of ten classes are tested among themselves.
    assert!(recall("unseen", "Raw") > recall("zer", "Raw"));
    let page = fs::read_to_string(scene.path("out/README.md")).unwrap();
    for words in [
        "## zer",
        "printed: Ours",
        "93.9",
        "over whitened",
        "5 to fit, 2 to validate, 3 to test",
    ] {
        assert!(page.contains(words), "no \"{words}\" in: {page}");
    }
    assert!(!scene.path("out/checkpoints").exists());
    let results = fs::read(scene.path("out/results.json")).unwrap();
    assert_eq!(scene.computed("out", &[]), 0);
    assert_eq!(fs::read(scene.path("out/results.json")).unwrap(), results);
    // Cells of a time when recipes had fewer fields are kept.
    let text = String::from_utf8(results.clone()).unwrap();
    let older = text.replace("\"power\":1.0,", "");
    assert!(older.len() < text.len());
    fs::write(scene.path("out/results.json"), older).unwrap();
    assert_eq!(scene.computed("out", &[]), 0);
    // So are the seconds of cells that another machine computed, and its name.
    let mut times = scene.json("out/times.json");
    times["machine"] = "an abacus".into();
    fs::write(scene.path("out/times.json"), times.to_string()).unwrap();
    assert_eq!(scene.computed("out", &[]), 0);
    assert_eq!(scene.json("out/times.json"), times);
    // Another folder gets the same; a changed recipe is run again, the others stay.
    scene.computed("other", &[]);
    assert_eq!(fs::read(scene.path("other/results.json")).unwrap(), results);
    let changed = RETRIEVAL.replace("base = \"triplet\"", "base = \"contrastive\"");
    fs::write(scene.path("e.toml"), changed).unwrap();
    assert_eq!(scene.computed("out", &[]), 1);
    let after = scene.json("out/times.json");
    let machines = after["machine"].as_str().unwrap();
    assert!(machines.starts_with("an abacus; "), "{machines}");
}

#[test]
fn a_folder_that_another_process_writes_into_is_refused() {
    for experiment in [EXPERIMENT, RETRIEVAL] {
        let scene = Scene::new(experiment);
        fs::create_dir(scene.path("r")).unwrap();
        let lock = fs::File::create(scene.path("r/.lock")).unwrap();
        lock.lock().unwrap();
        let output = scene.run("r", &[]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("r: another process"), "{said}");
        assert!(!scene.path("r/results.json").exists());
    }
}

#[test]
fn cells_of_another_version_are_made_anew_and_counted_in_one_warning() {
    for (experiment, cells) in [(EXPERIMENT, 15), (RETRIEVAL, 7)] {
        let scene = Scene::new(experiment);
        scene.computed("r", &["--only", "zer"]);
        let whole = fs::read_to_string(scene.path("r/results.json")).unwrap();
        let own = format!("\"likewise\": \"{}\"", env!("CARGO_PKG_VERSION"));
        assert!(whole.contains(&own));
        let other = whole.replace(&own, "\"likewise\": \"0.0.1\"");
        fs::write(scene.path("r/results.json"), other).unwrap();
        let digits = likewise_testdata::digits();
        let arguments = ["reproduce", "e.toml", "-o", "r", "--only", "zer", "--data"];
        let mut command = program::command(scene.0.path(), &arguments);
        command.arg(digits.parent().unwrap());
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let warnings: Vec<&str> = (said.lines())
            .filter(|line| line.contains("0.0.1"))
            .collect();
        let expected = format!("r/results.json: {cells} cell(s) are of likewise 0.0.1");
        assert!(
            warnings.len() == 1 && warnings[0].contains(&expected),
            "{said}"
        );
        let anew = fs::read_to_string(scene.path("r/results.json")).unwrap();
        assert_eq!(anew, whole);
    }
}
