//! Several views of the same items, side by side.

use std::path::Path;

use serde_json::Value;

use crate::program::{likewise, succeeds};

fn digits() -> String {
    likewise_testdata::digits().display().to_string()
}

#[test]
fn views_are_fitted_embedded_and_searched_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let data = digits();
    let fit = |views: &[&str], out: &str| -> f64 {
        let mut args = vec!["fit", &data, "--recipe", "rca", "--split", "item"];
        args.extend([
            "--labels-per-class",
            "5",
            "--draws",
            "1",
            "-q",
            "--json",
            "-o",
            out,
        ]);
        args.extend(views.iter().flat_map(|view| ["--view", view]));
        let results: Value = serde_json::from_str(&succeeds(at, &args)).unwrap();
        results["map_at_r"].as_f64().unwrap()
    };
    let (zer, fou) = (fit(&["zer"], "one"), fit(&["fou"], "two"));
    let both = fit(&["zer", "fou"], "both");
    assert!(both > zer.max(fou) + 0.05, "{zer} {fou} {both}");
    // The run knows its views: new data are read the same way, and without a word.
    succeeds(at, &["embed", "both", &data, "-q", "-o", "e.npy"]);
    let found = succeeds(
        at,
        &[
            "search", "both", "--query", &data, "-k", "2", "--json", "-q",
        ],
    );
    assert!(found.contains("similarity"));
    for verb in ["graph", "propagate"] {
        let out = if verb == "graph" { "g.npz" } else { "b.npz" };
        let args = [
            verb, &data, "--view", "zer", "--view", "fou", "-q", "-o", out,
        ];
        succeeds(at, &args);
    }
}

#[test]
fn the_graph_of_several_views_says_more_than_that_of_each() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let data = digits();
    // With one label a class.
    let spread = |flags: &[&str]| -> Value {
        let args = [
            "propagate",
            &data,
            "--labels-per-class",
            "1",
            "-q",
            "--json",
        ];
        let said = succeeds(at, &[&args, flags, &["-o", "b.npz"]].concat());
        serde_json::from_str(&said).unwrap()
    };
    let accuracy = |flags: &[&str]| spread(flags)["accuracy_hidden"].as_f64().unwrap();
    let (fou, zer) = (accuracy(&["--view", "fou"]), accuracy(&["--view", "zer"]));
    let both = ["--view", "fou", "--view", "zer"];
    let fused = accuracy(&both);
    assert!(fused > fou.max(zer) + 0.05, "{fou} {zer} {fused}");
    // What is left of the equation tells one graph from another, even where as many beliefs are right.
    let residual = |flags: &[&str]| spread(flags)["residual"].as_f64().unwrap().to_bits();
    let by = |form| residual(&[&both[..], &["--fuse", form]].concat());
    let ranks = residual(&both);
    assert_eq!(by("ranks"), ranks);
    assert_ne!(by("rows"), ranks);
    // One label a class tells no view from another.
    let mean = by("mean");
    assert_eq!(by("weighted"), mean);
    assert_ne!(by("agreement"), mean);
    // Lists are at hand where lists are fused.
    accuracy(&[&both[..], &["--method", "manifold"]].concat());

    let needed = |flags: &[&str]| -> u64 {
        let said = succeeds(
            at,
            &[&["graph", &data, "--dry-run", "--json"], flags].concat(),
        );
        let answer: Value = serde_json::from_str(&said).unwrap();
        answer["memory_bytes"].as_u64().unwrap()
    };
    let rows = needed(&[&both[..], &["--fuse", "rows"]].concat());
    assert!(needed(&both) > rows);
}

#[test]
fn columns_of_different_units_come_to_one_scale_before_labels_spread() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let data = digits();
    let accuracy = |flags: &[&str]| -> f64 {
        let args = [
            "propagate",
            &data,
            "--view",
            "mor",
            "--labels-per-class",
            "5",
        ];
        let all = [&args, flags, &["-q", "--json", "-o", "b.npz"]].concat();
        let answer: Value = serde_json::from_str(&succeeds(at, &all)).unwrap();
        answer["accuracy_hidden"].as_f64().unwrap()
    };
    let usual = accuracy(&[]);
    let scaled = accuracy(&["--standardize", "yes"]);
    assert_eq!(scaled.to_bits(), usual.to_bits());
    assert!(usual > accuracy(&["--standardize", "no"]) + 0.05);
    succeeds(at, &["graph", &data, "--view", "mor", "-q", "-o", "g.npz"]);
    let with_graph = [
        "propagate",
        &data,
        "--graph",
        "g.npz",
        "--standardize",
        "no",
        "-o",
        "c.npz",
    ];
    assert!(fails(at, &with_graph).contains("--standardize"));
}

#[test]
fn forms_of_fusing_that_go_with_nothing_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let data = digits();
    succeeds(at, &["graph", &data, "--view", "zer", "-q", "-o", "g.npz"]);
    let both = ["--view", "fou", "--view", "zer"];
    for (verb, flags, said) in [
        (
            "graph",
            &["--view", "zer", "--fuse", "mean"][..],
            "--fuse has no effect with one view",
        ),
        (
            "propagate",
            &["--view", "zer", "--fuse", "ranks"],
            "--fuse has no effect with one view",
        ),
        (
            "propagate",
            &["--graph", "g.npz", "--fuse", "ranks"],
            "--fuse",
        ),
        ("graph", &[&both[..], &["--fuse", "sum"]].concat(), "ranks"),
        (
            "graph",
            &[&both[..], &["--fuse", "weighted"]].concat(),
            "--fuse weighted weighs views by the labels that may be seen",
        ),
        (
            "propagate",
            &[&both[..], &["--fuse", "weighted", "--diagnose"]].concat(),
            "--diagnose hides labels in turn that have said by --fuse weighted",
        ),
        (
            "propagate",
            &[&both[..], &["--fuse", "mean", "--method", "manifold"]].concat(),
            "needs the neighbours themselves, and graphs that are added up have none; take --fuse ranks",
        ),
    ] {
        let args = [&[verb, &data], flags, &["-q", "-o", "out.npz"]].concat();
        let message = fails(at, &args);
        assert!(message.contains(said), "{message}");
        assert!(!at.join("out.npz").exists());
    }
}

#[test]
fn how_views_became_one_graph_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let data = digits();
    let run = |verb: &str, flags: &[&str]| {
        let args = [verb, &data, "-k", "5", "-o", "out.npz"];
        let output = likewise(at, &[&args, flags].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        (String::from_utf8(output.stdout).unwrap(), said)
    };
    let json = |verb: &str, flags: &[&str]| -> Value {
        let (printed, _) = run(verb, &[flags, &["-q", "--json"]].concat());
        serde_json::from_str(&printed).unwrap()
    };
    let both = ["--view", "fou", "--view", "zer"];
    for verb in ["graph", "propagate"] {
        assert_eq!(json(verb, &both)["fuse"], "ranks");
        let mean = json(verb, &[&both[..], &["--fuse", "mean"]].concat());
        assert_eq!(mean["fuse"], "mean");
        assert!(run(verb, &both).0.contains(", views fused by ranks"));
        let one = json(verb, &["--view", "mor"]);
        assert!(one.get("fuse").is_none());
        assert_eq!(one["standardized"], serde_json::json!(["mor"]));
        let kept = json(verb, &["--view", "mor", "--standardize", "no"]);
        assert_eq!(kept["standardized"], serde_json::json!([]));
        let (_, said) = run(verb, &["--view", "mor"]);
        assert!(said.contains("--standardize no keeps them"), "{said}");
    }
    let weighted = ["--fuse", "weighted", "--labels-per-class", "1"];
    let (printed, said) = run("propagate", &[&both[..], &weighted].concat());
    assert!(printed.contains("weighted mean"), "{printed}");
    assert!(said.contains("fou 0.50, zer 0.50"), "{said}");
    assert!(said.contains("no class has two labels"), "{said}");
}

#[test]
fn classifiers_of_each_view_vote_and_the_run_tells_what_they_said() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let data = digits();
    std::fs::write(
        at.join("votes.toml"),
        "base = \"oasis\"\n[pseudo_labels]\nkind = \"votes\"\ntriplets = { most = 3000, per_anchor = 20 }\n\
         votes = { classifiers = [\"discriminant\", \"euclid\"], folds = 2 }\n",
    )
    .unwrap();
    let fit = [
        "fit",
        &data,
        "--view",
        "zer",
        "--view",
        "fou",
        "--recipe",
        "votes.toml",
        "--split",
        "item",
        "--labels-per-class",
        "3",
        "--draws",
        "1",
        "-q",
        "--json",
        "-o",
        "run",
    ];
    succeeds(at, &fit);
    let read = |name: &str| {
        let path = at.join("run").join(name);
        let options = likewise_io::ReadOptions::default();
        likewise_io::read(path, &options, &likewise::Monitor::silent()).map(|found| found.len())
    };
    // Two views with two classifiers each.
    assert_eq!(read("voters.parquet").unwrap(), 4);
    assert!(read("votes.parquet").unwrap() > 1000 && at.join("run/tuples.parquet").exists());
    // A later run without votes leaves none of them.
    let other = [
        "fit",
        &data,
        "--view",
        "zer",
        "--recipe",
        "rca",
        "--split",
        "item",
        "--labels-per-class",
        "3",
        "--draws",
        "1",
        "-q",
        "--overwrite",
        "-o",
        "run",
    ];
    succeeds(at, &other);
    for name in ["voters.parquet", "votes.parquet", "tuples.parquet"] {
        assert!(!at.join("run").join(name).exists(), "{name}");
    }
}

#[test]
fn views_that_are_not_there_or_stand_twice_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = digits();
    for (views, said) in [
        (["zer", "shape"], "no view \"shape\""),
        (["zer", "zer"], "--view zer: given twice"),
    ] {
        let mut args = vec!["fit", data.as_str(), "-q", "-o", "run"];
        args.extend(views.iter().flat_map(|view| ["--view", view]));
        let message = fails(folder.path(), &args);
        assert!(message.contains(said), "{message}");
        assert!(!folder.path().join("run").exists());
    }
}

/// What it says; it must fail.
#[track_caller]
fn fails(folder: &Path, args: &[&str]) -> String {
    let output = likewise(folder, args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}
