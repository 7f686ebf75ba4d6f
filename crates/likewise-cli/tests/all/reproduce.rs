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

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_the_results_is_not_waited_for() {
    let scene = Scene::new(EXPERIMENT);
    fs::create_dir(scene.path("r")).unwrap();
    let made = Command::new("mkfifo")
        .arg(scene.path("r/results.json"))
        .status();
    if !made.is_ok_and(|status| status.success()) {
        println!("skipped: no mkfifo here");
        return;
    }
    let mut command = scene.command("r", &[]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let until = std::time::Instant::now() + Duration::from_mins(1);
    while child.try_wait().unwrap().is_none() && std::time::Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("results.json: a pipe"), "{said}");
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
    fs::create_dir_all(scene.path("out/checkpoints")).unwrap();
    fs::write(scene.path("out/checkpoints/mine.pt"), "mine").unwrap();
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
    assert!(!scene.path("out/.likewise-checkpoints").exists());
    assert!(scene.path("out/checkpoints/mine.pt").exists());
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
fn pages_and_figures_of_others_are_not_replaced() {
    for name in ["README.md", "figure.svg"] {
        let scene = Scene::new(EXPERIMENT);
        fs::create_dir(scene.path("r")).unwrap();
        fs::write(scene.path("r").join(name), "mine").unwrap();
        let output = scene.run("r", &[]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(name) && said.contains("-o"), "{said}");
        assert_eq!(fs::read(scene.path("r").join(name)).unwrap(), b"mine");
        assert!(!scene.path("r/results.json").exists());
    }
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

const ACROSS: &str = r#"title = "Two views"
kind = "across"
paper = { source = "A paper", table = "Table 1" }
protocol = "Two views of the digits."
reading = "What it says."
draws = 2
data = [
  { name = "all", group = "zer and kar", file = "digits.npz", views = ["zer", "kar"] },
  { name = "10 %", group = "zer and kar", file = "digits.npz", views = ["zer", "kar"], label_fraction = 0.1 },
  { name = "held out", group = "zer and kar", file = "digits.npz", views = ["zer", "kar"], label_fraction = 0.1, outside = { classes = 4, share = 0.5 } },
  { name = "absent", group = "other", file = "absent.npz", views = ["zer", "kar"] },
]
learner = [{ name = "Mean", kind = "mean-cca" }, { name = "SCM", kind = "scm-seq", bits = 16 }]
source = [{ name = "l" }, { name = "ss", pseudo_labels = "lgc" }]
paper_row = [{ group = "zer and kar", learner = "SCM", values = { l = [0.652, 0.509, nan], ss = [nan, 0.598, nan] } }]
"#;

#[test]
fn learners_across_views_stand_beside_the_printed_ones() {
    let scene = Scene::new(ACROSS);
    let answer = scene.answer("r", &[]);
    // Two learners: once with all labels, and twice in two draws of two columns.
    assert_eq!(answer["computed"], 2 + 2 * 2 * 2 + 2 * 2 * 2);
    let value = |data: &str, method: &str, metric: &str| {
        answer["metrics"][data][method][metric]["mean"]
            .as_f64()
            .unwrap()
    };
    let both = ["map50 zer_to_kar", "map50 kar_to_zer"];
    let both = both.map(|metric| value("10 %", "SCM, l", metric));
    let mean = value("10 %", "SCM, l", "map50");
    assert!((mean - f64::midpoint(both[0], both[1])).abs() < 2e-6);
    assert!(mean > 0.2 && value("all", "SCM, l", "map50") > mean);
    let page = fs::read_to_string(scene.path("r/README.md")).unwrap();
    for said in [
        "| SCM | ss |",
        "0.509",
        "0.598",
        "of held-out classes",
        "Not computed: absent.",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    assert!(!page.contains("AUROC"), "nobody is refused: {page}");
    let json = scene.json("r/results.json");
    let rows = json["rows"].as_array().unwrap();
    let cell = |data: &str| {
        let is = |row: &&Value| row["data"] == data && row["source"] == "ss";
        rows.iter().find(is).unwrap()["cells"][0].clone()
    };
    // 150 of each class to fit on, of which 15 have a label: 1350 more get a class.
    let of = |cell: &Value| [cell["labels"].clone(), cell["believed"].clone()];
    assert_eq!(of(&cell("10 %")), [150, 1350]);
    // Of six classes 810 are open, and half as many stand beside them.
    assert_eq!(of(&cell("held out")), [90, 1215]);
    assert_eq!(cell("held out")["outside"], serde_json::json!([405, 405]));

    // Nothing is computed twice; the same again is the same to the byte.
    let first = fs::read(scene.path("r/results.json")).unwrap();
    assert_eq!(scene.computed("r", &[]), 0);
    scene.answer("again", &[]);
    assert_eq!(fs::read(scene.path("again/results.json")).unwrap(), first);
    // A learner that changed is computed anew, and no other.
    let changed = ACROSS.replace("bits = 16", "bits = 24");
    fs::write(scene.path("e.toml"), changed).unwrap();
    assert_eq!(scene.computed("r", &[]), 9);
    assert_eq!(scene.computed("r", &["--draws", "3"]), 8);
}

#[test]
fn how_well_a_source_tells_held_out_classes_is_measured() {
    let refusing = ACROSS.replace(
        r#"pseudo_labels = "lgc""#,
        r#"pseudo_labels = { kind = "propagation", spread = { method = "lgc" }, outside = "energy" }"#,
    );
    assert_ne!(refusing, ACROSS);
    let scene = Scene::new(&refusing);
    scene.answer("r", &["--only", "held out", "--draws", "1"]);
    let json = scene.json("r/results.json");
    let cells = |source: &str| -> Vec<Value> {
        let rows = json["rows"].as_array().unwrap().iter();
        let of = rows.filter(|row| row["source"] == source);
        of.map(|row| row["cells"][0].clone()).collect()
    };
    // The known labels alone score nobody; all learners of the other source learn of the same scores.
    assert!(
        cells("l")
            .iter()
            .all(|cell| cell.get("outside_auroc").is_none())
    );
    let areas: Vec<f64> = (cells("ss").iter())
        .map(|cell| cell["outside_auroc"].as_f64().unwrap())
        .collect();
    assert_eq!(areas.len(), 2);
    assert!(areas[0].to_bits() == areas[1].to_bits(), "{areas:?}");
    assert!(areas[0] > 0.6 && areas[0] <= 1.0, "{areas:?}");
    // Without a word all 405 would get a class.
    let got = cells("ss")[0]["outside"][1].as_u64().unwrap();
    assert!(got < 405, "{got}");
    let page = fs::read_to_string(scene.path("r/README.md")).unwrap();
    let column = "AUROC of held-out classes |";
    assert!(
        page.contains(column) && page.contains(&format!("| {:.3} |", areas[0])),
        "{page}"
    );
}

#[test]
fn a_published_split_is_read_from_its_lists() {
    let Some(mfeat) = likewise_testdata::large("mfeat/mfeat.npz") else {
        return;
    };
    let lists = r#"split = { lists = { fit = "fsh_train_index", test = "fsh_test_index" } }"#;
    let text = ACROSS.replace(
        "file = \"digits.npz\"",
        &format!("file = \"{}\", {lists}", mfeat.display()),
    );
    let scene = Scene::new(&text);
    scene.answer("r", &["--only", "all"]);
    let json = scene.json("r/results.json");
    assert_eq!(json["data"]["all"]["parts"], serde_json::json!([1500, 500]));
    let wrong = text.replace("fsh_test_index", "label");
    fs::write(scene.path("e.toml"), wrong).unwrap();
    let said = scene.run("w", &["--only", "all"]);
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains("stands twice in the lists"), "{said}");
}
