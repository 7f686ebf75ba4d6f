//! The main job as its user runs it, and what it must always keep.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use rand::RngExt;
use serde_json::Value;

use crate::program::{command, likewise, succeeds};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The flags of a small but complete fit on the digits.
fn fit<'a>(data: &'a str, out: &'a str) -> Vec<&'a str> {
    vec![
        "fit",
        data,
        "--view",
        "zer",
        "--labels-per-class",
        "5",
        "--draws",
        "2",
        "--epochs",
        "2",
        "-q",
        "-o",
        out,
    ]
}

fn digits() -> String {
    likewise_testdata::digits().display().to_string()
}

/// Every fourth of the digits as a table.
fn fewer_digits(at: &Path) -> &'static str {
    let bytes = fs::read(digits()).unwrap();
    let form = likewise_io::Form::Npz;
    let read = likewise_io::read_bytes(form, &bytes, &likewise_io::ReadOptions::default()).unwrap();
    let x = &read.view(Some("zer")).unwrap().matrix;
    let labels = read.labels.as_ref().unwrap();
    let mut text = "label".to_owned();
    for j in 0..x.ncols() {
        write!(text, ",z{j}").unwrap();
    }
    for i in (0..x.nrows()).step_by(4) {
        write!(text, "\ndigit {}", labels[i].class().unwrap()).unwrap();
        for value in x.row(i) {
            write!(text, ",{value}").unwrap();
        }
    }
    fs::write(at.join("fewer.csv"), text).unwrap();
    "fewer.csv"
}

#[test]
fn auto_compares_recipes_on_labels_kept_back_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let data = fewer_digits(at);
    let auto = |more: &[&'static str]| -> Vec<&'static str> {
        let fit = ["fit", data, "--recipe", "auto", "-q", "-o", "run"];
        fit.iter().chain(more).copied().collect()
    };
    let own = auto(&["--labels-per-class", "5", "--overwrite"]);
    let shown = succeeds(at, &own);
    let results = json(&fs::read_to_string(at.join("run/metrics.json")).unwrap());
    let tried = results["tried"].as_array().unwrap();
    assert!(tried.len() > 4, "{tried:?}");
    assert!(tried.iter().any(|one| one["recipe"] == results["recipe"]));
    // The one that stands where nothing can be compared is the first, and has nothing before it.
    assert!(tried[0]["gain"].is_null() && tried[1]["gain"]["value"].is_f64());
    // For people, the table stands above the verdict.
    assert!(
        shown.contains("chosen among") && shown.contains(" *"),
        "{shown}"
    );
    // For classes without labels starts and what classes vary in are compared; and settings of one are not those of all.
    let unseen = auto(&[
        "--split",
        "zero-shot",
        "--labels-per-class",
        "5",
        "--draws",
        "1",
        "--overwrite",
        "--json",
    ]);
    let results = json(&succeeds(at, &unseen));
    let tried = results["tried"].as_array().unwrap();
    let names: Vec<&str> = tried
        .iter()
        .filter_map(|one| one["recipe"].as_str())
        .collect();
    assert_eq!(
        names,
        ["start", "rooted-start", "mixed-rca", "rooted-mixed-rca"]
    );
    assert!(names.contains(&results["recipe"].as_str().unwrap()));
    let refused = likewise(at, &[&own[..], &["--epochs", "3"]].concat());
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("--recipe auto"), "{said}");
}

#[test]
fn graphs_and_every_propagation() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let data = digits();

    // Every method, from the features; and the negative edges of one given to another.
    for method in [
        "lgc", "harmonic", "mixed", "control", "manifold", "lpdr", "iscen", "dssml", "gong",
    ] {
        let start = [
            "propagate",
            &data,
            "--view",
            "fac",
            "-k",
            "20",
            "--labels-per-class",
            "5",
        ];
        let spread = [&start[..], &["--method", method, "-o", "m.npz", "--json"]].concat();
        let answer = json(&succeeds(at, &spread));
        let least = if method == "manifold" { 0.3 } else { 0.7 };
        assert_eq!(answer["method"], method);
        assert!(answer["accuracy"].as_f64().unwrap() > least, "{answer}");
        assert_eq!(answer["oracle"]["measured"], 1950);
    }
    let start = [
        "propagate",
        &data,
        "--view",
        "fac",
        "-k",
        "20",
        "--labels-per-class",
        "5",
    ];
    let found = [
        &start[..],
        &["--negatives", "n.npz", "-o", "m.npz", "--json"],
    ]
    .concat();
    assert_eq!(json(&succeeds(at, &found))["method"], "mixed");
    let given = [
        "--method",
        "lpdr",
        "--known-negatives",
        "n.npz",
        "--diagnose",
        "--calibrate",
    ];
    let given = [&start[..], &given, &["-o", "m.npz", "--json"]].concat();
    let answer = json(&succeeds(at, &given));
    assert_eq!(answer["diagnosis"]["tested"], 50);
    assert!(answer["temperature"]["value"].is_number());
    assert_eq!(answer["calibration"]["hidden"]["labels"], 1950);
    let found = &answer["calibration"]["cross_fit"];
    assert_eq!(found, &answer["diagnosis"]["calibrated"]);
    assert!(found["before"].is_number() && found["after"].is_number());

    let approximate = [
        "graph", &data, "--view", "fac", "-k", "20", "--approx", "--recall", "0.9",
    ];
    let approximate = [&approximate[..], &["-o", "a.npz", "--json"]].concat();
    let answer = json(&succeeds(at, &approximate));
    assert!(
        answer["search"]["recall"].as_f64().unwrap() >= 0.9,
        "{answer}"
    );
    assert_eq!(answer["report"]["nodes"], 2000);
}

#[test]
fn what_calibration_is_worth_is_said_on_labels_that_it_was_not_fitted_on() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let data = digits();
    let spread = |labels: &str, more: &[&str]| {
        let start = ["propagate", &data, "--view", "fou", "-k", "20"];
        let method = [
            "--method",
            "poisson-mbo",
            "--class-sizes",
            "balanced",
            "--set",
            "steps=40",
        ];
        let rest = ["--labels-per-class", labels, "-o", "b.npz"];
        likewise(at, &[&start[..], &method, &rest, more].concat())
    };
    let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();

    let found = spread("5", &["--calibrate", "--json"]);
    assert!(found.status.success(), "{}", words(&found.stderr));
    let answer = json(&words(&found.stdout));
    let [own, hidden] = ["cross_fit", "hidden"].map(|on| &answer["calibration"][on]);
    assert_eq!(own["labels"], 50);
    assert_eq!(hidden["labels"], 1950);
    for found in [own, hidden] {
        let [before, after] = ["before", "after"].map(|key| found[key].as_f64().unwrap());
        assert!(before > 0.2 && after < before, "{answer}");
    }
    assert!(hidden["after"].as_f64() < Some(0.15), "{answer}");
    assert_eq!(
        hidden["after"],
        answer["oracle"]["calibration"]["expected_error"]
    );

    // In words; and where classes have one label each, none of which can be kept back.
    for (labels, lines) in [("5", 2), ("1", 0)] {
        let found = spread(labels, &["--calibrate"]);
        let (out, err) = (words(&found.stdout), words(&found.stderr));
        assert!(found.status.success(), "{err}");
        let said = |what: &str| out.lines().filter(|line| line.contains(what)).count();
        assert_eq!(said("calibration error"), lines, "{out}");
        assert_eq!(
            said("each half of them by the temperature of the other"),
            lines / 2
        );
        let few = err.contains("too few labels to calibrate the confidences: 0 could");
        assert_eq!(few, labels == "1", "{err}");
    }
}

#[test]
fn the_usual_method_is_the_one_that_suits_the_labels() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let data = digits();
    let method = |labels: &str, more: &[&str]| {
        let start = ["propagate", &data, "--view", "kar", "--labels-per-class"];
        let all = [&start[..], &[labels, "-o", "b.npz", "-q", "--json"], more].concat();
        json(&succeeds(at, &all))["method"].clone()
    };
    for (labels, suits) in [("1", "poisson-mbo"), ("2", "poisson-mbo"), ("3", "mixed")] {
        assert_eq!(method(labels, &[]), suits, "{labels}");
    }
    assert_eq!(method("1", &["--class-sizes", "balanced"]), "poisson-mbo");
    // What is asked for, or is a part of mixed propagation, keeps it.
    for more in [
        &["--method", "mixed"],
        &["--beta", "0.5"],
        &["--negatives", "n.npz"],
    ] {
        assert_eq!(method("1", more), "mixed", "{more:?}");
    }
}

#[test]
fn a_diagnosis_compares_methods_and_names_class_sizes_that_are_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let sizes = (0..10).map(|c| format!("{c},{}\n", if c == 0 { 1100 } else { 100 }));
    let sizes = format!("class,size\n{}", sizes.collect::<String>());
    std::fs::write(at.join("sizes.csv"), sizes).unwrap();
    let data = digits();
    let start = [
        "propagate",
        &data,
        "--view",
        "kar",
        "--diagnose",
        "-q",
        "-o",
        "b.npz",
    ];
    let said = |more: &[&str]| succeeds(at, &[&start[..], more].concat());
    let wrong = ["--labels-per-class", "5", "--class-sizes", "sizes.csv"];
    let out = said(&wrong);
    assert!(
        out.contains("mixed without class_sizes is better on your labels: "),
        "{out}"
    );
    let names = |more: &[&str]| {
        let answer = json(&said(&[more, &["--json"]].concat()));
        let others = answer["diagnosis"]["others"].as_array().cloned();
        let name = |other: &Value| other["name"].as_str().unwrap().to_owned();
        others
            .unwrap_or_default()
            .iter()
            .map(name)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(&wrong),
        ["poisson-mbo", "poisson", "lgc", "mixed without class_sizes"]
    );
    let usual = ["--labels-per-class", "5"];
    assert_eq!(names(&usual), ["poisson-mbo", "poisson", "lgc"]);
    let out = said(&usual);
    let none = "no other method is clearly better on your labels: poisson-mbo ";
    assert!(out.contains(none), "{out}");
    // Sizes that only one of the others estimates are no reason to fail.
    let estimated = ["--method", "poisson-mbo", "--class-sizes", "estimated"];
    assert_eq!(
        names(&[&usual[..], &estimated].concat()),
        ["mixed", "poisson", "lgc"]
    );
    // One label a class: nothing to hide, nothing to compare.
    assert!(names(&["--labels-per-class", "1"]).is_empty());
}

#[test]
fn a_recipe_without_training_goes_through_the_verbs() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let data = digits();
    let fit = |recipe: &str, out: &str| {
        let common = [
            "--view",
            "fac",
            "--labels-per-class",
            "5",
            "--draws",
            "1",
            "-q",
        ];
        let all = [&["fit", &data, "--recipe", recipe, "-o", out][..], &common].concat();
        likewise(at, &all)
    };
    std::fs::write(
        at.join("roots.toml"),
        "base = 'mixed-rca'\nstart = { power = 0.5 }\n",
    )
    .unwrap();
    let fitted = fit("roots.toml", "run");
    assert!(fitted.status.success(), "{fitted:?}");
    let metrics = std::fs::read_to_string(at.join("run/metrics.json")).unwrap();
    let gain = &json(&metrics)["differences"]["whitened"]["map_at_r"]["low"];
    assert!(gain.as_f64().unwrap() > 0.1, "{gain}");
    let card = std::fs::read_to_string(at.join("run/README.md")).unwrap();
    assert!(card.contains("|x|^0.5"), "{card}");
    // Another process embeds as the fit did.
    succeeds(at, &["embed", "run", &data, "-o", "again.npy", "-q"]);
    let bytes = |name: &str| std::fs::read(at.join(name)).unwrap();
    assert!(bytes("again.npy") == bytes("run/embeddings.npy"));
    let found = json(&succeeds(
        at,
        &["search", "run", "--id", "7", "-k", "3", "--json"],
    ));
    assert!(!found.to_string().is_empty());

    std::fs::write(at.join("bad.toml"), "base = 'rca'\nstart = { power = 0 }\n").unwrap();
    let refused = fit("bad.toml", "none");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        said.contains("bad.toml") && said.contains("start.power"),
        "{said}"
    );
    assert!(!at.join("none").exists());
}

#[test]
fn from_features_to_a_search() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let data = digits();

    let doctor = json(&succeeds(at, &["doctor", &data, "--view", "zer", "--json"]));
    assert_eq!(doctor["items"], 2000);
    assert_eq!(doctor["classes"].as_object().unwrap().len(), 10);

    let graph = json(&succeeds(
        at,
        &[
            "graph", &data, "--view", "fac", "-k", "20", "-o", "g.npz", "--json",
        ],
    ));
    assert_eq!(graph["items"], 2000);
    let spread = [
        "propagate",
        &data,
        "--view",
        "fac",
        "--graph",
        "g.npz",
        "--labels-per-class",
        "5",
        "-o",
        "b.npz",
        "--negatives",
        "n.npz",
        "--json",
    ];
    let beliefs = json(&succeeds(at, &spread));
    assert!(beliefs["accuracy"].as_f64().unwrap() > 0.75, "{beliefs}");
    assert_eq!(beliefs["labels"], 50);
    let saved = likewise_io::beliefs::read(at.join("b.npz")).unwrap();
    assert_eq!(saved.beliefs.scores.dim(), (2000, 10));
    for out in ["b.csv", "b.parquet"] {
        succeeds(
            at,
            &[
                "propagate",
                &data,
                "--view",
                "fac",
                "--graph",
                "g.npz",
                "-o",
                out,
            ],
        );
    }

    let fitted = json(&succeeds(at, &[fit(&data, "run"), vec!["--json"]].concat()));
    for key in [
        "recall",
        "precision",
        "map",
        "map_at_r",
        "r_precision",
        "nmi",
        "n_queries",
        "ci",
    ] {
        assert!(!fitted[key].is_null(), "{key}");
    }
    for row in ["raw", "whitened", "labels_only", "all_labels"] {
        assert!(fitted["baselines"][row]["recall"]["1"].is_number(), "{row}");
    }
    assert_eq!(json(&succeeds(at, &["eval", "run", "--json"])), fitted);
    assert!(succeeds(at, &["eval", "run"]).contains("mixed-lp"));
    for file in [
        "config.json",
        "model.safetensors",
        "items.parquet",
        "embeddings.npy",
        "beliefs.npz",
        "metrics.json",
        "run.json",
        "report.html",
        "README.md",
        "index/index.json",
    ] {
        assert!(at.join("run").join(file).exists(), "{file}");
    }
    assert!(!at.join("run/checkpoints").exists());

    succeeds(at, &["embed", "run", &data, "-o", "e.npy"]);
    let embedded = likewise_io::read_matrix(at.join("e.npy"), None).unwrap();
    let kept = likewise_io::read_matrix(at.join("run/embeddings.npy"), None).unwrap();
    assert_eq!(embedded, kept, "a saved model embeds as the fitted one did");

    let by_id = json(&succeeds(
        at,
        &["search", "run", "--id", "42", "-k", "5", "--json"],
    ));
    let hits = by_id[0]["hits"].as_array().unwrap();
    assert_eq!(hits.len(), 5);
    assert!(hits.iter().all(|hit| hit["id"] != "42"));
    assert_eq!(hits[0]["label"], "0", "items 0 to 199 are zeros");
}

#[test]
fn other_data_are_searched_for_measured_and_estimated() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let data = digits();
    succeeds(at, &fit(&data, "run"));
    let index = json(&succeeds(at, &["index", "run", "--json"]));
    assert!(index["recall"].as_f64().unwrap() > 0.95);
    let query = [
        "search", "run", "--query", &data, "-k", "1", "--exact", "--json",
    ];
    let found = json(&succeeds(at, &query));
    let first = |answer: &Value| answer["hits"][0]["similarity"].as_f64().unwrap();
    let answers = found.as_array().unwrap();
    assert_eq!(answers.len(), 2000);
    assert!(
        answers.iter().all(|a| first(a) > 0.9999),
        "items find themselves or a double"
    );

    let evaluated = json(&succeeds(
        at,
        &["eval", &data, "--view", "zer", "--at", "1,10", "--json"],
    ));
    assert!(evaluated["recall"]["10"].as_f64() > evaluated["recall"]["1"].as_f64());
    for plan in [
        &["fit", &data, "--view", "zer", "--dry-run", "--json"][..],
        &["graph", &data, "--view", "zer", "--dry-run", "--json"],
        &["eval", &data, "--view", "zer", "--dry-run", "--json"],
    ] {
        let plan = json(&succeeds(at, plan));
        assert!(plan["seconds"].as_f64().unwrap() > 0.0 && plan["memory_bytes"].is_u64());
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let data = digits();
    for threads in ["1", "2"] {
        let run = format!("run{threads}");
        succeeds(at, &[fit(&data, &run), vec!["--threads", threads]].concat());
        let out = format!("b{threads}.npz");
        succeeds(
            at,
            &[
                "propagate",
                &data,
                "--view",
                "kar",
                "--labels-per-class",
                "5",
                "--threads",
                threads,
                "-o",
                &out,
            ],
        );
    }
    let same = |a: &str, b: &str| {
        assert_eq!(
            fs::read(at.join(a)).unwrap(),
            fs::read(at.join(b)).unwrap(),
            "{a} and {b}"
        );
    };
    for file in [
        "metrics.json",
        "beliefs.npz",
        "embeddings.npy",
        "model.safetensors",
    ] {
        same(&format!("run1/{file}"), &format!("run2/{file}"));
    }
    same("b1.npz", "b2.npz");
}

/// Ends `child` without any chance to clean up, after a random part of `whole`.
fn kill_within(mut child: Child, whole: Duration, rng: &mut likewise::seed::Rng) {
    std::thread::sleep(whole.mul_f64(rng.random()));
    let _ = child.kill();
    child.wait().unwrap();
}

#[test]
fn a_killed_fit_leaves_readable_files_and_resumes_to_the_same_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let data = digits();
    let start = std::time::Instant::now();
    succeeds(at, &fit(&data, "whole"));
    let whole = start.elapsed();
    let undisturbed = fs::read(at.join("whole/metrics.json")).unwrap();
    let mut rng = likewise::seed::stream(3, "kills");
    let kills = std::env::var("LIKEWISE_KILLS")
        .ok()
        .and_then(|k| k.parse().ok())
        .unwrap_or(4);
    for _ in 0..kills {
        let resume = [fit(&data, "cut"), vec!["--resume"]].concat();
        let child = command(at, &resume)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        kill_within(child.unwrap(), whole, &mut rng);
        readable(&at.join("cut"));
    }
    succeeds(at, &[fit(&data, "cut"), vec!["--resume"]].concat());
    assert_eq!(fs::read(at.join("cut/metrics.json")).unwrap(), undisturbed);
    let parts = fs::read_dir(at.join("cut")).unwrap();
    let parts = parts.filter(|e| {
        e.as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .ends_with(".part")
    });
    assert_eq!(parts.count(), 0);
}

#[test]
fn resume_takes_over_no_training_of_another_view() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let data = digits();
    succeeds(at, &fit(&data, "fresh"));
    let mut other = fit(&data, "cut");
    let view = other.iter().position(|a| *a == "zer").unwrap();
    other[view] = "kar";
    let mut child = command(at, &other)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // As soon as one training of the other view is kept.
    let kept = || {
        let files = fs::read_dir(at.join("cut/checkpoints"));
        let whole = |name: std::ffi::OsString| !name.to_string_lossy().ends_with(".part");
        files.is_ok_and(|files| files.flatten().any(|file| whole(file.file_name())))
    };
    while !kept() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    child.wait().unwrap();
    let at_the_end = ["cut/run.json", "cut/complete"];
    let finished = at_the_end.iter().any(|file| at.join(file).exists());
    let refused = likewise(at, &[fit(&data, "cut"), vec!["--resume"]].concat());
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("other data or settings"), "{said}");
    let anew = vec!["--resume", "--overwrite"];
    let refused = likewise(at, &[fit(&data, "cut"), anew].concat());
    assert_eq!(refused.status.code(), Some(if finished { 0 } else { 2 }));
    succeeds(at, &[fit(&data, "cut"), vec!["--overwrite"]].concat());
    for file in ["metrics.json", "model.safetensors"] {
        let read = |run: &str| fs::read(at.join(run).join(file)).unwrap();
        assert_eq!(read("cut"), read("fresh"), "{file}");
    }
}

#[test]
fn a_handful_of_labels_of_the_user() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let bytes = fs::read(digits()).unwrap();
    let form = likewise_io::Form::Npz;
    let read = likewise_io::read_bytes(form, &bytes, &likewise_io::ReadOptions::default()).unwrap();
    let x = read.view(Some("zer")).unwrap();
    likewise_io::write_npy(at.join("x.npy"), x.matrix.view()).unwrap();
    let labels = read.labels.as_ref().unwrap().draw(4, 1);
    let mut text = "id,label\n".to_owned();
    for (i, label) in labels.items().iter().enumerate() {
        if let Some(class) = label.class() {
            text.extend([i.to_string(), format!(",digit {class}\n")]);
        }
    }
    fs::write(at.join("labels.csv"), text).unwrap();
    let few = [
        "fit",
        "x.npy",
        "--labels",
        "labels.csv",
        "--epochs",
        "2",
        "-q",
        "-o",
        "run",
    ];
    let said = succeeds(at, &few);
    for part in [
        "Did the labels help?",
        "R-precision",
        "How sure: 40 labels were kept back in turn",
        "Next:",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(
        !said.contains("0.000 ±0.000") && !said.contains("R@1"),
        "{said}"
    );
    let metrics = json(&succeeds(at, &["eval", "run", "--json"]));
    assert_eq!(metrics["split"], "folds");
    assert_eq!(
        metrics["per_draw"][0]["labels"], 40,
        "no label is taken away"
    );
    assert_eq!(metrics["answers"]["sure"]["gallery"], 2000);
    let lines = metrics["verdict"].as_array().unwrap();
    assert!(
        lines
            .iter()
            .all(|line| said.contains(line.as_str().unwrap()))
    );
    let page = fs::read_to_string(at.join("run/report.html")).unwrap();
    assert!(page.contains("Did the labels help?") && page.contains("question mark"));

    // And of one who has none yet.
    let said = succeeds(at, &["fit", "x.npy", "-q", "-o", "none"]);
    assert!(said.contains("no item is labeled") && said.contains("label these items first"));
    assert_eq!(
        succeeds(at, &["search", "none", "--id", "3", "-k", "4"])
            .lines()
            .count(),
        6
    );
}

/// Whatever stands in the folder of an interrupted run can be read.
fn readable(run: &Path) {
    for file in [
        "config.json",
        "metrics.json",
        "run.json",
        "index/index.json",
    ] {
        if let Ok(text) = fs::read_to_string(run.join(file)) {
            serde_json::from_str::<Value>(&text).unwrap_or_else(|e| panic!("{file}: {e}"));
        }
    }
    let read = |file: &str| {
        let path = run.join(file);
        path.exists().then_some(path)
    };
    if let Some(path) = read("embeddings.npy") {
        likewise_io::read_matrix(path, None).unwrap();
    }
    if let Some(path) = read("items.parquet") {
        likewise_io::items::read(path).unwrap();
    }
    if let Some(path) = read("beliefs.npz") {
        likewise_io::beliefs::read(path).unwrap();
    }
    if let Some(path) = read("report.html") {
        assert!(
            fs::read_to_string(path)
                .unwrap()
                .trim_end()
                .ends_with("</html>")
        );
    }
    if let Some(path) = read("model.safetensors") {
        likewise_study::Model::open(&fs::read(path).unwrap()).unwrap();
    }
}

#[test]
fn a_config_file_gives_flags_and_the_command_line_wins() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let data = digits();
    let toml =
        format!("seed = 7\n[graph]\ndata = {data:?}\nview = \"zer\"\nk = 4\nout = \"g.npz\"\n");
    fs::write(at.join("run.toml"), toml).unwrap();
    let answer = json(&succeeds(at, &["graph", "--config", "run.toml", "--json"]));
    assert_eq!(answer["k"], 4);
    let answer = json(&succeeds(
        at,
        &["graph", "--config", "run.toml", "-k", "6", "--json"],
    ));
    assert_eq!(answer["k"], 6);

    let recipe = "[recipe.pseudo_labels]\non = \"embedding\"\nspread = { method = \"lgc\" }\n";
    fs::write(at.join("recipe.toml"), recipe).unwrap();
    succeeds(
        at,
        &[fit(&data, "run"), vec!["--config", "recipe.toml"]].concat(),
    );
    let config = json(&fs::read_to_string(at.join("run/config.json")).unwrap());
    let labels = &config["recipe"]["pseudo_labels"];
    assert_eq!(labels["spread"]["method"], "lgc");
    assert_eq!(labels["on"], "embedding");
    assert_eq!(
        config["recipe"]["rounds"]["epochs"], 2,
        "the flag of the command line"
    );
}

#[test]
fn help_completions_man_and_explanations_exist() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for verb in [
        "demo",
        "doctor",
        "duplicates",
        "suspects",
        "advise",
        "compare",
        "graph",
        "propagate",
        "fit",
        "add",
        "embed",
        "index",
        "search",
        "eval",
        "explain",
    ] {
        let help = succeeds(at, &[verb, "--help"]);
        assert!(help.contains("Example"), "{verb} has no example");
    }
    assert!(succeeds(at, &["completions", "bash"]).contains("propagate"));
    // Nobody reads to the end.
    let mut child = command(at, &["completions", "zsh"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
    succeeds(at, &["man", "-o", "man"]);
    assert!(at.join("man/likewise-fit.1").exists());
    assert!(succeeds(at, &["explain", "mixed"]).contains("eq"));
}

#[test]
fn an_item_on_both_sides_does_not_find_itself() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // The nearest other item is of the other class, for each of them.
    let rows = ["a,x,1,0", "b,y,.98,.17", "c,x,0,1", "d,y,-.17,.98"];
    let write = |name: &str, rows: &[&str]| {
        let text = format!("id,label,f0,f1\n{}\n", rows.join("\n"));
        fs::write(at.join(name), text).unwrap();
    };
    write("q.csv", &rows);
    let mut turned = rows;
    turned.reverse();
    write("g.csv", &turned);
    let recall = |more: &[&str]| {
        let eval = ["eval", "q.csv", "--at", "1", "--no-nmi", "--json"];
        let answer = json(&succeeds(at, &[&eval[..], more].concat()));
        assert_eq!(answer["n_queries"], 4);
        answer["recall"]["1"].as_f64().unwrap()
    };
    assert!(recall(&[]).abs() < 1e-12);
    assert!(recall(&["--gallery", "g.csv"]).abs() < 1e-12);
    // Under other ids they are other items, and each is nearest to its like.
    let others = turned.map(|row| format!("other-{row}"));
    write("g.csv", &others.each_ref().map(String::as_str));
    assert!((recall(&["--gallery", "g.csv"]) - 1.0).abs() < 1e-12);
}

#[test]
fn losses_of_embeddings_without_unlabeled_items() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let rows = "id,label,f0,f1,f2\na,0,1,.1,0\nb,0,.9,.3,.2\nc,1,.1,1,.3\nd,1,.5,.8,-.1\n\
                e,2,0,.2,1\nf,2,.4,-.1,.7\n";
    fs::write(at.join("b.csv"), rows).unwrap();
    fs::write(at.join("more.csv"), format!("{rows}g,,.7,.7,.7\n")).unwrap();
    let printed = [
        ("contrastive", 0.657_817_96),
        ("triplet", 0.0),
        ("angular", 1.160_177_20),
        ("nt-xent", 0.063_489_40),
        ("multi-similarity", 0.308_770_68),
        ("fast-ap", 0.075_879_89),
        ("smooth-ap", 0.000_002_91),
    ];
    let names: Vec<&str> = printed.iter().map(|p| p.0).collect();
    let names = [&names[..], &["roadmap", "contextual"]].concat().join(",");
    let flags = ["--loss", &names, "--json"];
    let answer = json(&succeeds(at, &[&["eval", "b.csv"], &flags[..]].concat()));
    for (name, expected) in printed {
        let value = answer["loss"][name].as_f64().unwrap();
        // The csv is read as f32.
        assert!((value - expected).abs() < 1e-6, "{name}: {value}");
    }
    assert_eq!(answer["loss"].as_object().unwrap().len(), 9);
    assert!(answer["recall"]["1"].is_number());
    let more = json(&succeeds(at, &[&["eval", "more.csv"], &flags[..]].concat()));
    assert_eq!(more["loss"], answer["loss"]);

    let text = succeeds(at, &["eval", "b.csv", "--loss", "nt-xent"]);
    assert!(
        text.contains("nt-xent") && text.contains("0.0634894"),
        "{text}"
    );
    assert!(json(&succeeds(at, &["eval", "b.csv", "--json"]))["loss"].is_null());
    for refused in ["proxy-anchor", "nosuch"] {
        let output = likewise(at, &["eval", "b.csv", "--loss", refused]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains(refused) && said.contains("nt-xent, multi-similarity"),
            "{said}"
        );
    }
}
