//! What to label next, and which of two runs is better.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;

use likewise::{Collection, Label, Monitor};
use likewise_io::ReadOptions;
use likewise_io::items::ItemRow;
use likewise_study::journal::{Change, Journal, What};
use serde_json::Value;

use crate::bad_input::Scene;
use crate::program;

fn good(scene: &Scene, command: &str) -> String {
    let arguments: Vec<&str> = command.split(' ').collect();
    program::succeeds(&scene.path("."), &arguments)
}

fn json(scene: &Scene, command: &str) -> Value {
    serde_json::from_str(&good(scene, &format!("{command} --json"))).unwrap()
}

fn refused(scene: &Scene, command: &str, code: i32, words: &[&str]) {
    let arguments: Vec<&str> = command.split(' ').collect();
    scene.refuses(&arguments, code, words);
}

/// Every fifth of the digits by a view.
fn digits(view: &str) -> Collection {
    let options = ReadOptions {
        view: Some(view.into()),
        ..ReadOptions::default()
    };
    let all = likewise_io::read(likewise_testdata::digits(), &options, &Monitor::silent());
    all.unwrap()
        .select(&(0..2000).step_by(5).collect::<Vec<usize>>())
}

fn class(x: &Collection, row: usize) -> String {
    match x.labels.as_ref().unwrap()[row] {
        Label::Known(class) => format!("c{class}"),
        _ => unreachable!("all digits have a class"),
    }
}

/// Writes the items as a table with ids `d0`, `d1` ..., with the labels of those that are shown.
fn write(scene: &Scene, name: &str, x: &Collection, shown: impl Fn(usize) -> bool) {
    let matrix = x.view(None).unwrap().matrix.view();
    let names: Vec<String> = (0..matrix.ncols()).map(|j| format!("x{j}")).collect();
    let mut text = format!("id,label,{}\n", names.join(","));
    for (row, values) in matrix.rows().into_iter().enumerate() {
        let label = if shown(row) {
            class(x, row)
        } else {
            String::new()
        };
        let cells: Vec<String> = values.iter().map(ToString::to_string).collect();
        writeln!(text, "d{row},{label},{}", cells.join(",")).unwrap();
    }
    scene.text(name, &text);
}

fn items(scene: &Scene, run: &str) -> Vec<ItemRow> {
    likewise_io::items::read(scene.path(run).join("items.parquet")).unwrap()
}

#[test]
fn what_is_asked_for_is_filled_in_fitted_and_not_asked_for_again() {
    let scene = Scene::new();
    let x = digits("fac");
    write(&scene, "x.csv", &x, |row| row % 10 == 3);
    good(&scene, "fit x.csv --recipe rca -q -o run");
    let advice = json(&scene, "advise run --budget 12 -o next.csv");
    assert_eq!(
        (&advice["items"], &advice["labels"]),
        (&400.into(), &40.into())
    );
    assert_eq!(advice["unlabeled"], 360);
    assert_eq!(advice["strategy"], "density");
    let next = advice["next"].as_array().unwrap();
    let row = |id: &str| id[1..].parse::<usize>().unwrap();
    let asked: HashSet<usize> = next
        .iter()
        .map(|next| row(next["id"].as_str().unwrap()))
        .collect();
    assert_eq!(asked.len(), 12);
    assert!(
        asked.iter().all(|row| row % 10 != 3),
        "a labeled item: {asked:?}"
    );
    let curve = &advice["curve"];
    assert_eq!(
        (&curve["now"]["labels"], &curve["then"]["labels"]),
        (&40.into(), &52.into())
    );
    let of = |end: &str| curve["gain"][end].as_f64().unwrap();
    // More labels can be unluckier ones, so that the lower end may be below 0.
    assert!(0.0 <= of("value") && of("low") <= of("value") && of("value") <= of("high"));
    let now = curve["now"]["right"]["value"].as_f64().unwrap();
    assert!(now > 0.6, "{curve}");
    // Four labels a class.
    assert_eq!(
        (&curve["few"], &curve["asked_for"]),
        (&false.into(), &false.into())
    );
    // All labels were fitted: nothing is left for a threshold.
    assert_eq!(advice["threshold"], Value::Null);
    // A person fills the empty column in, and leaves one item out.
    let text = fs::read_to_string(scene.path("next.csv")).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("id,label,believed,sure,why"));
    let mut filled = "id,label,believed,sure,why\n".to_owned();
    let left = next[5]["id"].as_str().unwrap();
    for line in lines {
        let (id, rest) = line.split_once(',').unwrap();
        assert!(rest.starts_with(','), "the label is not empty: {line}");
        let label = if id == left {
            String::new()
        } else {
            class(&x, row(id))
        };
        writeln!(filled, "{id},{label}{rest}").unwrap();
    }
    scene.text("next.csv", &filled);
    // What was filled in is not written over.
    let again = ["advise", "run", "--budget", "12", "-o", "next.csv"];
    scene.refuses(&again, 2, &["next.csv is there", "--overwrite"]);
    assert_eq!(fs::read_to_string(scene.path("next.csv")).unwrap(), filled);
    good(&scene, "fit run --add-labels next.csv -q");
    let again = json(&scene, "advise run --budget 349");
    assert_eq!(
        (&again["labels"], &again["unlabeled"]),
        (&51.into(), &349.into())
    );
    assert_eq!(again["strategy"], "density");
    are_said_to_be_asked_for(&scene, &again);
    for next in again["next"].as_array().unwrap() {
        let id = next["id"].as_str().unwrap();
        assert!(
            id == left || !asked.contains(&row(id)),
            "{id} is asked for again"
        );
    }
    let labels = items(&scene, "run");
    assert!(asked.iter().all(|&row| {
        let id = format!("d{row}");
        id == left || labels[row].label == Some(class(&x, row))
    }));
    // As text.
    let shown = good(&scene, "advise run --budget 30 --strategy coverage");
    assert!(
        shown.starts_with("label next, by coverage: 30 of 349"),
        "{shown}"
    );
    assert!(
        shown.contains("and 10 more") && shown.contains("--split item"),
        "{shown}"
    );
    assert_eq!(
        shown,
        good(
            &scene,
            "advise run --budget 30 --strategy coverage --threads 1"
        )
    );
}

/// What was asked for is of harder items than most, which is said wherever it measures something: of a run whose labels
/// came from advice, and of another that is made of it.
fn are_said_to_be_asked_for(scene: &Scene, advice: &Value) {
    assert_eq!(advice["curve"]["asked_for"], true);
    let notes = advice["notes"].as_array().unwrap();
    let harder = |text: &str| text.contains("of harder items than most");
    assert!(notes.iter().any(|note| harder(note.as_str().unwrap())));
    for page in ["README.md", "report.html"] {
        let said = fs::read_to_string(scene.path("run").join(page)).unwrap();
        assert!(harder(&said), "{page}");
    }
    good(scene, "fit run --add-labels next.csv -q -o later");
    let said = fs::read_to_string(scene.path("later/metrics.json")).unwrap();
    let metrics: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(metrics["answers"]["sure"]["asked_for"], true);
}

#[test]
fn hidden_labels_are_not_looked_at_and_the_test_part_makes_the_threshold() {
    let scene = Scene::new();
    let x = digits("fac");
    write(&scene, "x.csv", &x, |_| true);
    good(
        &scene,
        "fit x.csv --recipe rca --split item --labels-per-class 3 --draws 2 -q -o run",
    );
    let advice = json(&scene, "advise run --budget 500 --precision 0.8");
    let rows = items(&scene, "run");
    let first = |row: &ItemRow| {
        row.drawn
            .as_ref()
            .is_some_and(|d| d.split(' ').any(|d| d == "0"))
    };
    let fitted = rows.iter().filter(|row| first(row)).count();
    assert_eq!(advice["labels"], fitted as u64);
    let next = advice["next"].as_array().unwrap();
    let train = rows
        .iter()
        .filter(|row| row.split == Some(likewise::Part::Train));
    assert_eq!(next.len(), train.filter(|row| !first(row)).count());
    for next in next {
        let row = rows.iter().find(|row| row.id == next["id"]).unwrap();
        assert!(
            row.split == Some(likewise::Part::Train) && !first(row),
            "{row:?}"
        );
    }
    let threshold = &advice["threshold"];
    assert_eq!(threshold["wanted"], 0.8);
    let of = |what: &str, end: &str| threshold[what][end].as_f64().unwrap();
    assert!(of("precision", "value") > 0.6, "{threshold}");
    assert!(of("recall", "low") <= of("recall", "value"));
    let notes = advice["notes"].to_string();
    assert!(
        notes.contains("hid labels") && notes.contains("fewer than the 500"),
        "{notes}"
    );
    // What somebody gives on its page is hidden no longer.
    let given = &next[0]["id"];
    let change = Change {
        id: given.as_str().unwrap().to_owned(),
        old: None,
        new: rows
            .iter()
            .find(|row| row.id == *given)
            .unwrap()
            .label
            .clone(),
        hidden: false,
    };
    let mut journal = Journal::open(&scene.path("run")).unwrap().0;
    journal.append(None, What::Label, vec![change]).unwrap();
    drop(journal);
    let since = json(&scene, "advise run --budget 500");
    assert_eq!(since["labels"], fitted as u64 + 1);
    assert_eq!(since["next"].as_array().unwrap().len(), next.len() - 1);
    let strict = json(&scene, "advise run --budget 1 --precision 0.95");
    let similarity = |advice: &Value| advice["threshold"]["similarity"].as_f64();
    assert!(similarity(&strict).is_none_or(|s| Some(s) > similarity(&advice)));
    assert!(good(&scene, "advise run --precision 0.8").contains("the same at a precision of 0.8"));
}

#[test]
fn without_labels_and_with_all_of_them_advice_says_so() {
    let scene = Scene::new();
    let x = digits("zer");
    write(&scene, "none.csv", &x, |_| false);
    good(&scene, "fit none.csv -q -o none");
    let advice = json(&scene, "advise none --budget 5");
    assert_eq!(advice["next"].as_array().unwrap().len(), 5);
    assert_eq!(
        (&advice["curve"], &advice["threshold"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(advice["next"][0]["believed"], Value::Null);
    write(&scene, "all.csv", &x, |_| true);
    good(&scene, "fit all.csv --recipe start --split folds -q -o all");
    let advice = json(&scene, "advise all -o next.csv");
    assert_eq!(advice["next"].as_array().unwrap().len(), 0);
    assert!(
        advice["notes"]
            .to_string()
            .contains("every item has a label")
    );
    let text = fs::read_to_string(scene.path("next.csv")).unwrap();
    assert_eq!(text, "id,label,believed,sure,why\n");
}

#[test]
fn bad_input_of_advise_is_refused() {
    let scene = Scene::new();
    good(
        &scene,
        "fit good.npy --labels good.csv --recipe start --split folds -q -o run",
    );
    refused(&scene, "advise good.npy", 1, &["good.npy", "not a run"]);
    refused(&scene, "advise nowhere", 1, &["nowhere", "not a run"]);
    refused(&scene, "advise run --budget 0", 2, &["--budget"]);
    refused(
        &scene,
        "advise run --strategy best",
        2,
        &["--strategy", "vopt"],
    );
    for precision in ["0", "1", "1.5", "nan"] {
        let command = format!("advise run --precision {precision}");
        refused(&scene, &command, 2, &["precision", "between 0 and 1"]);
    }
    refused(&scene, "advise run -o next.txt", 2, &["next.txt", ".csv"]);
    refused(&scene, "advise run -o good.csv", 2, &["made of this file"]);
    refused(&scene, "advise run --budget=-3", 2, &["--budget"]);
    assert!(good(&scene, "advise run --dry-run").starts_with("estimated time"));
    let embeddings = scene.path("run/embeddings.npy");
    let bytes = fs::read(&embeddings).unwrap();
    fs::write(&embeddings, &bytes[..bytes.len() / 2]).unwrap();
    refused(&scene, "advise run", 1, &["embeddings.npy"]);
}

#[test]
fn two_runs_are_compared_query_by_query() {
    let scene = Scene::new();
    let x = digits("fac");
    write(&scene, "x.csv", &x, |_| true);
    good(&scene, "fit x.csv --recipe start --split item -q -o a");
    good(&scene, "fit x.csv --recipe rca --split item -q -o b");
    let compared = json(&scene, "compare a b -o compare.html");
    // Both runs say the same of themselves.
    for (run, which) in [("a", "first"), ("b", "second")] {
        let text = fs::read_to_string(scene.path(run).join("metrics.json")).unwrap();
        let own: Value = serde_json::from_str(&text).unwrap();
        let (own, again) = (&own["map_at_r"], &compared["metrics"]["map_at_r"][which]);
        let apart = (own.as_f64().unwrap() - again.as_f64().unwrap()).abs();
        assert!(apart < 1e-6, "{run}: {own}, {again}");
    }
    let count = |what: &str| compared[what].as_u64().unwrap();
    assert_eq!(
        count("better") + count("worse") + count("same"),
        count("queries")
    );
    let changed = compared["changed"].as_array().unwrap();
    assert_eq!(changed.len() as u64, count("better") + count("worse"));
    assert!(count("better") > count("worse"), "{compared}");
    let e = &compared["metrics"]["map_at_r"]["difference"];
    let mean = changed
        .iter()
        .map(|c| c["second"].as_f64().unwrap() - c["first"].as_f64().unwrap());
    let mean = mean.sum::<f64>() / count("queries") as f64;
    assert!((mean - e["value"].as_f64().unwrap()).abs() < 1e-9);
    let page = fs::read_to_string(scene.path("compare.html")).unwrap();
    assert!(page.contains("Better in the second run") && page.contains("map_at_r"));
    assert!(page.contains(changed[0]["id"].as_str().unwrap()));
    for outside in ["<script", "http://", "https://", "<link"] {
        assert!(!page.contains(outside), "{outside}");
    }
    // The other way round everything is the opposite.
    let back = json(&scene, "compare b a");
    assert_eq!(
        (back["better"].as_u64(), back["worse"].as_u64()),
        (Some(count("worse")), Some(count("better")))
    );
    let shown = good(&scene, "compare a b");
    assert!(shown.starts_with("start against rca: "), "{shown}");
    assert!(shown.contains("the queries that changed most"), "{shown}");
    good(&scene, "fit x.csv --recipe start --split item -q -o c");
    let same = json(&scene, "compare a c");
    assert_eq!(
        (same["better"].as_u64(), same["worse"].as_u64()),
        (Some(0), Some(0))
    );
    assert_eq!(same["finding"], "same");
}

#[test]
fn where_nothing_is_uncertain_it_is_said_and_what_stands_for_many_comes_first() {
    let scene = Scene::new();
    let x = digits("fac");
    // Of the first class alone.
    let one = class(&x, 0);
    write(&scene, "x.csv", &x, |row| {
        row % 4 == 0 && class(&x, row) == one
    });
    good(&scene, "fit x.csv --recipe start -q -o run");
    let notes = |advice: &Value| -> String {
        let notes = advice["notes"].as_array().unwrap().iter();
        let notes: Vec<&str> = notes.map(|note| note.as_str().unwrap()).collect();
        notes.join("; ")
    };
    let advice = json(&scene, "advise run --budget 4");
    assert!(
        notes(&advice).contains("nothing is uncertain, since all labels are of one class"),
        "{advice}"
    );
    let ids = |advice: &Value| -> Vec<String> {
        let next = advice["next"].as_array().unwrap().iter();
        next.map(|next| next["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let density = ids(&advice);
    assert_eq!(density.len(), 4);
    // Not those that stand first.
    assert_ne!(density, ["d1", "d2", "d3", "d5"]);
    let coverage = json(&scene, "advise run --budget 4 --strategy coverage");
    assert_eq!(density, ids(&coverage));
    // From another folder the data are not found.
    fs::create_dir(scene.path("elsewhere")).unwrap();
    let asked = ["advise", "../run", "--budget", "4", "--json"];
    let said = program::succeeds(&scene.path("elsewhere"), &asked);
    let advice: Value = serde_json::from_str(&said).unwrap();
    assert!(
        notes(&advice).contains("work in the folder in which it was fitted"),
        "{advice}"
    );
}

#[test]
fn runs_that_cannot_be_compared_are_refused_with_what_differs() {
    let scene = Scene::new();
    let fit = |flags: &str, run: &str| {
        good(&scene, &format!("fit {flags} --recipe start -q -o {run}"));
    };
    fit("good.npy --labels good.csv --split item", "a");
    fit("good.npy --labels good.csv --split folds", "folds");
    fit("good.npy --labels good.csv", "whole");
    fit("good.npy --labels good.csv --split item --seed 5", "seed");
    fit(
        "good.npy --labels good.csv --split item --labels-per-class 3",
        "few",
    );
    let labels = (0..60).map(|i| format!("{i},{}\n", ["a", "b"][(i / 2) % 2]));
    scene.text(
        "other.csv",
        &format!("id,label\n{}", labels.collect::<String>()),
    );
    fit("good.npy --labels other.csv --split item", "other");
    let half = ndarray::Array2::from_shape_fn((40, 4), |(i, j)| ((i * 3 + j * 5) % 7) as f32);
    likewise_io::write_npy(scene.path("half.npy"), half.view()).unwrap();
    let labels = (0..40).map(|i| format!("{i},{}\n", ["a", "b"][i % 2]));
    scene.text(
        "half.csv",
        &format!("id,label\n{}", labels.collect::<String>()),
    );
    fit("half.npy --labels half.csv --split item", "half");
    let said = |command: &str, code: i32, words: &[&str]| refused(&scene, command, code, words);
    said("compare a folds", 2, &["split", "item and folds"]);
    said("compare folds folds", 2, &["same folder"]);
    said(
        "compare a whole",
        1,
        &[
            "second run has kept no labels apart",
            "--split item, on the same labels",
            "`likewise advise`",
        ],
    );
    said("compare a seed", 2, &["seed: 0 and 5"]);
    said("compare a few", 2, &["labels a class: all and 3"]);
    said("compare a other", 1, &["labels: item"]);
    said("compare a half", 1, &["same items", "60", "40"]);
    said("compare a nowhere", 1, &["nowhere", "not a run"]);
    said("compare a good.npy", 1, &["good.npy", "not a run"]);
    said("compare a few -o page.csv", 2, &["page.csv", ".html"]);
    said("compare a few -o good.csv", 2, &[".html"]);
    assert!(good(&scene, "compare a seed --dry-run").starts_with("estimated time"));
}
