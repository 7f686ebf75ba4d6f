//! What was mended once stays so: small things that the program promises beside its results.

use std::fs;
use std::path::Path;

use ndarray::Array2;

use crate::program::{command, likewise, succeeds};

/// 120 items of three clouds, far from the origin, in `x.npy`; their labels in `l.csv`.
fn scene() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |i: usize, j: usize| ((i * 31 + j * 17 + i * j * 7) % 23) as f32 / 46.0;
    let x = Array2::from_shape_fn((120, 6), |(i, j)| {
        4.0 + f32::from(u8::from(i % 3 == j)) + at(i, j)
    });
    likewise_io::write_npy(folder.path().join("x.npy"), x.view()).unwrap();
    let lines: Vec<String> = (0..120).map(|i| format!("{i},c{}\n", i % 3)).collect();
    let lines = lines.concat();
    fs::write(folder.path().join("l.csv"), format!("id,label\n{lines}")).unwrap();
    folder
}

const FIT: [&str; 11] = [
    "fit",
    "x.npy",
    "--labels",
    "l.csv",
    "--labels-per-class",
    "5",
    "--draws",
    "1",
    "-o",
    "run",
    "--recipe",
];

#[track_caller]
fn refuses(folder: &Path, arguments: &[&str], code: i32, parts: &[&str]) {
    let output = likewise(folder, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    for part in parts {
        assert!(said.contains(part), "{arguments:?}: {part}: {said}");
    }
}

#[cfg(feature = "networks")]
#[test]
fn a_training_that_comes_to_nan_leaves_no_folder() {
    let scene = scene();
    let at = scene.path();
    let steps = "learner.train = { learning_rate = 1e38, clip = 0.0, optimizer = { name = \"sgd\", momentum = 0.0 } }\n";
    fs::write(
        at.join("steep.toml"),
        format!("base = \"triplet\"\n{steps}"),
    )
    .unwrap();
    refuses(at, &[&FIT[..], &["steep.toml"]].concat(), 1, &["error:"]);
    let left: Vec<_> = fs::read_dir(at)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn a_recipe_that_sees_hidden_labels_is_marked_everywhere() {
    let scene = scene();
    let at = scene.path();
    fs::write(
        at.join("seen.toml"),
        "base = \"rca\"\npseudo_labels = { kind = \"oracle\" }\n",
    )
    .unwrap();
    let printed = succeeds(at, &[&FIT[..], &["seen.toml"]].concat());
    assert!(printed.contains("(bound)"), "{printed}");
    assert!(printed.contains("a bound, not a result"), "{printed}");
    for file in ["README.md", "report.html", "metrics.json"] {
        let text = fs::read_to_string(at.join("run").join(file)).unwrap();
        assert!(text.contains("(bound)"), "{file}");
    }
}

#[test]
fn threads_without_measure_are_refused() {
    let scene = scene();
    let parts = ["--threads 100000", "at most"];
    refuses(
        scene.path(),
        &["doctor", "x.npy", "--threads", "100000"],
        2,
        &parts,
    );
}

#[test]
fn every_verb_keeps_a_limit_of_memory() {
    let scene = scene();
    let at = scene.path();
    succeeds(at, &[&FIT[..], &["lda"]].concat());
    let other = FIT.map(|word| if word == "run" { "other" } else { word });
    succeeds(at, &[&other[..], &["rca"]].concat());
    let lines: Vec<String> = (60..70).map(|i| format!("{i},c{}\n", i % 3)).collect();
    fs::write(at.join("new.csv"), format!("id,label\n{}", lines.concat())).unwrap();
    let more = ["add", "run", "x.npy", "--prefix", "new-"];
    let mine = [
        "mine", "x.npy", "--labels", "l.csv", "--from", "labels", "--kind", "pairs", "-o", "p.csv",
    ];
    for verb in [
        &["doctor", "x.npy"][..],
        &["index", "run"],
        &["search", "run", "--id", "3"],
        &["embed", "run", "x.npy", "-o", "e.npy"],
        &["duplicates", "x.npy"],
        &["features", "x.npy", "-o", "f.npy"],
        &["compare", "run", "other"],
        &["advise", "run"],
        &["suspects", "run"],
        &["export", "run", "--to", "parquet", "-o", "t.parquet"],
        &mine,
        &["fit", "run", "--add-labels", "new.csv"],
        // Last: it changes what the others read.
        &more,
    ] {
        // The program's own share and nothing for the work: what a verb does not count it may take.
        for limit in ["1KiB", "64MiB"] {
            let limited = [verb, &["--max-memory", limit]].concat();
            refuses(at, &limited, 1, &["--max-memory"]);
        }
        succeeds(at, &[verb, &["--max-memory", "2GiB"]].concat());
    }
}

#[test]
fn embeddings_that_are_embedded_again_are_told_of() {
    let scene = scene();
    let at = scene.path();
    succeeds(at, &[&FIT[..], &["rca"]].concat());
    let said = |query: &str| {
        let output = likewise(
            at,
            &["search", "run", "--query", query, "-k", "2", "--json"],
        );
        assert!(output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    fs::copy(at.join("run/embeddings.npy"), at.join("e.npy")).unwrap();
    assert!(
        said("e.npy").contains("embeddings of the run itself"),
        "{}",
        said("e.npy")
    );
    assert!(!said("x.npy").contains("embeddings of the run"));
}

#[test]
fn the_cache_is_shown_and_cleared() {
    let scene = scene();
    let at = scene.path();
    fs::create_dir(at.join("cache")).unwrap();
    let mut kept = b"likewise-cache 1".to_vec();
    kept.resize(100, 0);
    fs::write(at.join("cache/features-00000000000000ff.bin"), &kept).unwrap();
    // Others have files of such names too.
    let theirs = [
        "mine.txt",
        "features-00.bin",
        "features-00000000000000fe.bin",
    ];
    for name in theirs {
        fs::write(at.join("cache").join(name), "mine").unwrap();
    }
    fs::create_dir_all(at.join("cache/unpacked/mine")).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = command(at, arguments);
        let output = command
            .env("LIKEWISE_CACHE", at.join("cache"))
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let kept: serde_json::Value = serde_json::from_str(&run(&["cache", "--json"])).unwrap();
    assert_eq!(kept["features"]["files"], 1);
    assert_eq!(kept["features"]["bytes"], 100);
    assert!(run(&["cache", "--clear"]).contains("1 file of features"));
    assert!(run(&["cache"]).starts_with("0 files of features"));
    for name in theirs.iter().chain(&["unpacked/mine"]) {
        assert!(at.join("cache").join(name).exists(), "{name}");
    }
}

#[test]
fn a_relative_home_gets_no_cache() {
    let scene = scene();
    let at = scene.path();
    fs::create_dir(at.join("photos")).unwrap();
    for i in 0..4_u8 {
        let mut photo = b"P6 8 8 255\n".to_vec();
        photo.extend((0..192).map(|at: u8| at.wrapping_mul(i + 1)));
        fs::write(at.join(format!("photos/{i}.ppm")), photo).unwrap();
    }
    let features = ["features", "photos", "--encoder", "hist", "-o", "f.npy"];
    let run = |home: &str| {
        let mut command = command(at, &features);
        let caches = ["LIKEWISE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"];
        for name in caches {
            command.env_remove(name);
        }
        assert!(command.env("HOME", home).output().unwrap().status.success());
    };
    run("home");
    assert!(
        !at.join("home").exists(),
        "it would stand wherever a command happens to run"
    );
    let home = at.join("home");
    run(home.to_str().unwrap());
    assert!(home.join(".cache/likewise").is_dir());
}

#[test]
fn center_takes_the_mean_off_before_items_are_compared() {
    let scene = scene();
    let at = scene.path();
    let whole = likewise_io::read(
        at.join("x.npy"),
        &likewise_io::ReadOptions::default(),
        &likewise::Monitor::silent(),
    );
    let x = whole.unwrap().views()[0].matrix.clone();
    let mean = x.mean_axis(ndarray::Axis(0)).unwrap();
    likewise_io::write_npy(at.join("less.npy"), (x - &mean).view()).unwrap();
    let neighbors = |data: &str, more: &[&str]| {
        let graph = ["graph", data, "-k", "5", "-o", "g.npz"];
        succeeds(at, &[&graph, more].concat());
        let graph = likewise_io::graph::read(at.join("g.npz")).unwrap();
        graph.edges().map(|(a, b, _)| (a, b)).collect::<Vec<_>>()
    };
    let centered = neighbors("x.npy", &["--center"]);
    assert_ne!(neighbors("x.npy", &[]), centered);
    let by_hand = neighbors("less.npy", &[]);
    let same = centered
        .iter()
        .filter(|edge| by_hand.contains(edge))
        .count();
    assert!(
        100 * same >= 98 * by_hand.len(),
        "{same} of {}",
        by_hand.len()
    );
}

#[test]
fn a_gate_that_nothing_can_answer_leaves_the_run_alone() {
    let scene = scene();
    let at = scene.path();
    succeeds(at, &[&FIT[..], &["rca"]].concat());
    let before = fs::read(at.join("run/metrics.json")).unwrap();
    fs::write(at.join("two.csv"), "id,label\n0,a\n1,b\n3,a\n4,b\n").unwrap();
    let fit = [
        "fit",
        "x.npy",
        "--labels",
        "two.csv",
        "-o",
        "run",
        "--overwrite",
        "--gate",
        "r_precision=0.1",
    ];
    refuses(at, &fit, 3, &["gate missed: r_precision", "three labels"]);
    assert_eq!(fs::read(at.join("run/metrics.json")).unwrap(), before);
}

#[test]
fn a_warning_is_said_once() {
    let scene = scene();
    let at = scene.path();
    let mut fit = FIT;
    fit[6] = "--split";
    fit[7] = "item";
    let output = likewise(at, &[&fit[..], &["mixed-lp", "--epochs", "1"]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let mut warnings: Vec<&str> = said.lines().filter(|l| l.starts_with("warning:")).collect();
    assert!(!warnings.is_empty(), "{said}");
    let all = warnings.len();
    warnings.sort_unstable();
    warnings.dedup();
    assert_eq!(all, warnings.len(), "{said}");
}

#[test]
fn photos_without_an_encoder_are_told_of() {
    let scene = scene();
    let at = scene.path();
    for (folder, side) in [("photos", 80_usize), ("icons", 20)] {
        fs::create_dir(at.join(folder)).unwrap();
        for i in 0..12 {
            let mut photo = format!("P6 {side} {side} 255\n").into_bytes();
            photo.extend((0..3 * side * side).map(|at| ((at * (i + 3)) % 251) as u8));
            fs::write(at.join(folder).join(format!("{i}.ppm")), photo).unwrap();
        }
        fs::write(at.join("few.csv"), "id,label\n0.ppm,a\n1.ppm,b\n2.ppm,a\n").unwrap();
        let fit = [
            "fit", folder, "--labels", "few.csv", "--recipe", "rca", "-o",
        ];
        let run = format!("run-{folder}");
        let output = likewise(at, &[&fit[..], &[&run]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        assert_eq!(
            said.contains("--encoder FILE"),
            folder == "photos",
            "{said}"
        );
    }
}

#[test]
fn help_begins_with_what_matters() {
    let scene = scene();
    let help = succeeds(scene.path(), &["fit", "--help"]);
    let at = |flag: &str| help.find(flag).unwrap_or_else(|| panic!("{flag}: {help}"));
    let order = [
        "Arguments:\n  [DATA]",
        "Options:\n      --labels <FILE>",
        "--out <FOLDER>",
        "--recipe <NAME>",
        "--view <NAME>",
        "--encoder <FILE",
        "--pairs <FILE>",
        "Tables:\n      --columns <NAME",
        "Images:\n      --words <N>",
        "Several labels an item:\n      --multi-label",
        "--json",
    ];
    let places: Vec<usize> = order.iter().map(|flag| at(flag)).collect();
    assert!(places.is_sorted(), "{order:?}: {places:?}");
    // What is spread takes the same flags.
    let of_propagate = succeeds(scene.path(), &["propagate", "-h"]);
    assert!(
        of_propagate.find("--labels <FILE>") < of_propagate.find("Several labels an item:"),
        "{of_propagate}"
    );
    let whole = succeeds(scene.path(), &["--help"]);
    for text in [&help, &whole] {
        assert!(
            text.contains("fit photos/ --labels forty-labels.csv"),
            "{text}"
        );
    }
}

#[test]
fn messages_say_what_to_do() {
    let scene = scene();
    let at = scene.path();
    fs::write(at.join("sku.csv"), "id,label\nSKU-1,a\n").unwrap();
    fs::write(at.join("net.onnx"), b"onnx bytes, not weights").unwrap();
    fs::create_dir(at.join("photos")).unwrap();
    fs::write(at.join("photos/a.ppm"), b"P5 1 1 255\n\x00").unwrap();
    let one: Vec<String> = (0..120).map(|i| format!("{i},only\n")).collect();
    let one = one.concat();
    fs::write(at.join("one.csv"), format!("id,label\n{one}")).unwrap();
    for (arguments, code, parts) in [
        (
            "doctor x.npy --labels sku.csv",
            1,
            &["go by the numbers of their rows (0 to 119)", "--id-column"][..],
        ),
        (
            "propagate x.npy --labels l.csv --method negative-labels -o b.npz",
            2,
            &["--method negative-labels needs --not FILE"],
        ),
        (
            "fit x.npy --labels one.csv --split item -o run",
            1,
            &["one class alone, \"only\""],
        ),
        (
            "fit x.npy --labels l.csv --split zero-shot --recipe rca -o run",
            1,
            &["3 classes are too few", "give 6 or more"],
        ),
        (
            "doctor photos --encoder net.onnx",
            1,
            &["net.onnx", "ONNX", ".safetensors"],
        ),
    ] {
        refuses(at, &arguments.split(' ').collect::<Vec<_>>(), code, parts);
    }
    // A graph that hangs together is not described as one component.
    let printed = succeeds(at, &["graph", "x.npy", "-k", "40", "-o", "g.npz"]);
    assert!(
        !printed.contains("component") && !printed.contains("isolated"),
        "{printed}"
    );
    fs::write(at.join("c.toml"), "[recipe]\nstart = { power = 0.5 }\n").unwrap();
    let named = [&FIT[..], &["rca", "--config", "c.toml", "--json"]].concat();
    let answer: serde_json::Value = serde_json::from_str(&succeeds(at, &named)).unwrap();
    assert_eq!(answer["recipe"], "rca (changed)");
}
