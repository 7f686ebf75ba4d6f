//! Kernels of several views, manifold ranking and selections of columns through the command: check
//! values, learning that goes on, and what a user may get wrong.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use likewise::{Monitor, select};
use likewise_io::arrays::from_safetensors;
use likewise_study::journal::{Change, Journal, What};
use likewise_study::run_folder::RunFolder;
use ndarray::{Array2, Axis};
use serde_json::Value;

use super::pages;
use crate::program;

const IRIS: &str = include_str!("../../../likewise/testdata/iris.csv");
const WINE: &str = include_str!("../../../likewise/testdata/wine_raw.csv");
const OMKS: &str = include_str!("../../../likewise/testdata/omks_iris30.csv");

struct Scene(tempfile::TempDir);

impl Scene {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn run(&self, command: &str) -> Output {
        let arguments: Vec<&str> = command.split(' ').collect();
        program::likewise(self.0.path(), &arguments)
    }

    #[track_caller]
    fn good(&self, command: &str) -> String {
        let output = self.run(command);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    #[track_caller]
    fn bad(&self, command: &str, code: i32) -> String {
        let output = self.run(command);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{command}: {said}");
        said
    }

    #[track_caller]
    fn json(&self, command: &str) -> Value {
        serde_json::from_str(&self.good(command)).unwrap()
    }

    fn model(&self, run: &str) -> Vec<u8> {
        fs::read(self.path(run).join("model.safetensors")).unwrap()
    }

    /// Rows of irises with their classes and, as ids, their places.
    fn irises(&self, name: &str, rows: &[usize]) {
        let mut text = "id,f0,f1,f2,f3,label\n".to_owned();
        let lines: Vec<&str> = IRIS.lines().skip(1).collect();
        for &row in rows {
            text.extend([row.to_string().as_str(), ",", lines[row], "\n"]);
        }
        self.text(name, &text);
    }

    /// The thirty irises of the check values, and their triplets `from..to`.
    fn thirty(&self) -> Vec<usize> {
        let rows: Vec<usize> = (0..10).chain(50..60).chain(100..110).collect();
        self.irises("iris.csv", &rows);
        rows
    }

    fn triplets(&self, name: &str, rows: &[usize], range: std::ops::Range<usize>) {
        let mut text = "anchor,positive,negative\n".to_owned();
        for line in OMKS.lines().skip(1 + range.start).take(range.len()) {
            let ids = line
                .split(',')
                .map(|at| rows[at.parse::<usize>().unwrap()].to_string());
            text.extend([ids.collect::<Vec<_>>().join(",").as_str(), "\n"]);
        }
        self.text(name, &text);
    }
}

/// The similarity of every hit of a query, by the id of the item.
fn hits(answer: &Value) -> Vec<(String, f64)> {
    let each = answer["hits"].as_array().unwrap().iter();
    each.map(|hit| {
        let id = hit["id"].as_str().unwrap().to_owned();
        (id, hit["similarity"].as_f64().unwrap())
    })
    .collect()
}

#[test]
fn omks_by_triplets_gives_its_check_values() {
    let scene = Scene::new();
    let rows = scene.thirty();
    scene.triplets("t.csv", &rows, 0..150);
    scene.good("fit iris.csv --recipe omks --triplets t.csv -q -o run");
    let (arrays, metadata) = from_safetensors(&scene.model("run")).unwrap();
    assert_eq!(arrays.matrix32("view.0.rows").unwrap().dim(), (30, 4));
    let kind: Value = serde_json::from_str(&metadata["model"]).unwrap();
    let own = &kind["by"]["kernels"];
    assert_eq!(own["mistakes"], serde_json::json!([7, 10, 17, 9]), "{kind}");
    assert_eq!(own["updates"], serde_json::json!([64, 77, 123, 150]));
    scene.text(
        "q.csv",
        "id,f0,f1,f2,f3\nx,5.0,3.3,1.5,0.2\ny,6.1,2.8,4.4,1.4\nz,6.5,3.0,5.6,2.1\n",
    );
    let found = scene.json("search run --query q.csv -k 30 --json");
    let expected: Vec<Vec<f64>> = (OMKS.lines().skip(151))
        .map(|line| line.split(',').map(|v| v.parse().unwrap()).collect())
        .collect();
    let best = [[7, 9, 0, 1, 2], [15, 11, 14, 18, 13], [24, 23, 22, 20, 28]];
    for ((answer, f), best) in found.as_array().unwrap().iter().zip(&expected).zip(best) {
        let found = hits(answer);
        assert_eq!(found.len(), 30);
        for (id, similarity) in &found {
            let place = rows.iter().position(|row| row.to_string() == *id).unwrap();
            assert!((similarity - f[place]).abs() < 1e-5, "{id}: {similarity}");
        }
        let first: Vec<String> = best.iter().map(|&place| rows[place].to_string()).collect();
        let found: Vec<String> = found.into_iter().take(5).map(|hit| hit.0).collect();
        assert_eq!(found, first);
    }
    let card = fs::read_to_string(scene.path("run").join("README.md")).unwrap();
    assert!(card.contains("sum_i theta_i"), "{card}");
}

#[test]
fn manifold_ranking_gives_its_check_values_once_all_items_are_there() {
    let scene = Scene::new();
    // With all of them as landmarks.
    let landmarks: Vec<usize> = (0..15).map(|i| 10 * i).collect();
    let others: Vec<usize> = (0..150).filter(|i| i % 10 > 0).collect();
    scene.irises("landmarks.csv", &landmarks);
    scene.irises("others.csv", &others);
    scene.good("fit landmarks.csv --recipe emr -q -o run");
    scene.good("add run others.csv -q");
    scene.text("q.csv", "id,f0,f1,f2,f3\nx,6.0,2.9,4.5,1.5\n");
    let found = scene.json("search run --query q.csv -k 150 --json");
    let found = hits(&found[0]);
    let best: Vec<&str> = found.iter().take(10).map(|hit| hit.0.as_str()).collect();
    assert_eq!(
        best,
        ["89", "59", "66", "53", "84", "94", "90", "80", "69", "55"]
    );
    let expected = [
        0.789_057_602_66,
        1.046_292_355_16,
        0.761_804_584_03,
        1.085_980_826_98,
        1.000_348_946_08,
        1.056_354_838_53,
        1.011_619_154_49,
        0.866_502_834_477,
        0.971_417_426_112,
        1.086_671_973_31,
    ];
    for (row, expected) in (50..60).zip(expected) {
        let id = row.to_string();
        let similarity = found.iter().find(|hit| hit.0 == id).unwrap().1;
        assert!(
            (similarity / expected - 1.0).abs() < 1e-4,
            "{id}: {similarity}"
        );
    }
}

#[test]
fn going_on_with_more_triplets_is_learning_all_of_them() {
    let scene = Scene::new();
    let rows = scene.thirty();
    scene.triplets("a.csv", &rows, 0..90);
    scene.triplets("b.csv", &rows, 90..150);
    // Some items only.
    scene.triplets("few.csv", &rows, 0..4);
    for recipe in ["omks", "explicit-omks", "oasis"] {
        let fit = format!("fit iris.csv --recipe {recipe} -q --triplets a.csv");
        scene.good(&format!("{fit} --triplets b.csv -o {recipe}-whole"));
        scene.good(&format!("{fit} -o {recipe}-run"));
        let before = scene.model(&format!("{recipe}-run"));
        scene.good(&format!(
            "fit --continue {recipe}-run --triplets b.csv -q -o {recipe}-new"
        ));
        assert_eq!(scene.model(&format!("{recipe}-run")), before);
        scene.good(&format!("fit --continue {recipe}-run --triplets b.csv -q"));
        let (whole, went_on) = (
            scene.model(&format!("{recipe}-whole")),
            scene.model(&format!("{recipe}-run")),
        );
        assert_ne!(went_on, before);
        assert_eq!(went_on, scene.model(&format!("{recipe}-new")));
        let learned = match recipe {
            "omks" => {
                assert_eq!(went_on, whole, "to the last bit");
                &[][..]
            }
            "oasis" => &["bilinear"],
            _ => &["kernel.0.change", "kernel.1.change", "kernel.3.change"],
        };
        for name in learned {
            let matrix = |bytes: &[u8]| from_safetensors(bytes).unwrap().0.matrix64(name);
            let (before, whole) = (matrix(&before).unwrap(), matrix(&whole).unwrap());
            let apart = whole - matrix(&went_on).unwrap();
            assert!(apart.iter().all(|e| e.abs() < 1e-9), "{recipe} {name}");
            assert!(before.iter().any(|e| e.abs() > 1e-3), "{recipe} {name}");
        }
        // The record tells what the data alone would need.
        let record = fs::read(scene.path(&format!("{recipe}-run")).join("run.json")).unwrap();
        let record: Value = serde_json::from_slice(&record).unwrap();
        let arguments = record["arguments"].to_string();
        assert!(
            arguments.contains("a.csv") && arguments.contains("b.csv"),
            "{arguments}"
        );
        assert!(!arguments.contains("--continue"), "{arguments}");
    }
    // Items that the model does not hold yet.
    scene.good("fit iris.csv --recipe omks -q --triplets few.csv --triplets b.csv -o whole");
    scene.good("fit iris.csv --recipe omks -q --triplets few.csv -o run");
    // Names that its page has given since are not those of the fit that goes on.
    let (mut journal, _) = Journal::open(&scene.path("run")).unwrap();
    let (from, to) = ("0".to_owned(), "other".to_owned());
    let rename = What::RenameClass { from, to };
    journal.append(None, rename, vec![]).unwrap();
    drop(journal);
    scene.good("fit --continue run --triplets b.csv -q");
    assert_eq!(scene.model("run"), scene.model("whole"));
    let run = RunFolder::open(&scene.path("run")).unwrap();
    assert_eq!(run.record().unwrap().journal, None);
}

#[test]
fn who_goes_on_with_triplets_keeps_the_labels_of_the_run() {
    let scene = Scene::new();
    let rows = scene.thirty();
    scene.triplets("a.csv", &rows, 0..90);
    scene.triplets("b.csv", &rows, 90..150);
    scene.good("fit iris.csv --recipe oasis -q --triplets a.csv -o run");
    let run = scene.path("run");
    let label = || {
        let items = likewise_io::items::read(run.join("items.parquet")).unwrap();
        (items[0].id.clone(), items[0].label.clone().unwrap())
    };
    let (id, before) = label();
    fs::write(scene.path("more.csv"), format!("id,label\n{id},other\n")).unwrap();
    scene.good("fit run --add-labels more.csv -q");
    let place = || RunFolder::open(&run).unwrap().record().unwrap().journal;
    let known = place();
    assert!(known.is_some() && before != "other");
    // What was given since the fit is said to be left out, and measures nothing.
    let mut journal = Journal::open(&run).unwrap().0;
    let change = Change {
        id: "7".into(),
        old: None,
        new: Some("other".into()),
        hidden: false,
    };
    journal.append(None, What::Label, vec![change]).unwrap();
    drop(journal);
    let said = scene.bad("fit --continue run --triplets b.csv", 0);
    assert!(!said.contains("learned anew"), "{said}");
    assert!(
        said.contains("labels were given or classes renamed on its page"),
        "{said}"
    );
    assert_eq!(label(), (id, "other".to_owned()));
    assert_eq!(place(), known);
    let metrics = fs::read_to_string(run.join("metrics.json")).unwrap();
    assert!(!metrics.contains("\"asked_for\": true"), "{metrics}");
    // Also where the file is gone that said them.
    let items = likewise_io::items::read(run.join("items.parquet")).unwrap();
    let lines = items.iter().zip(["x", "y"].into_iter().cycle());
    let lines = lines.map(|(item, class)| format!("{},{class}\n", item.id));
    let own = format!("id,label\n{}", lines.collect::<String>());
    fs::write(scene.path("own.csv"), own).unwrap();
    scene.good(
        "fit iris.csv --labels own.csv --recipe oasis -q --triplets a.csv -o run --overwrite",
    );
    fs::remove_file(scene.path("own.csv")).unwrap();
    // However often.
    for _ in 0..2 {
        let said = scene.bad("fit --continue run --triplets b.csv", 0);
        assert!(!said.contains("learned anew"), "{said}");
        assert_eq!(label().1, "x");
    }
}

#[test]
fn who_goes_on_with_triplets_of_other_data_does_not_put_labels_of_the_page_aside() {
    let scene = Scene::new();
    let rows = scene.thirty();
    scene.triplets("a.csv", &rows, 0..90);
    scene.triplets("b.csv", &rows, 90..150);
    scene.good("fit iris.csv --recipe oasis -q --triplets a.csv -o run");
    let run = scene.path("run");
    scene.text("more.csv", "id,label\n0,other\n");
    let known = || likewise_study::journal::entries(&run).unwrap().len();
    let triplets = fs::read(scene.path("a.csv")).unwrap();
    scene.text("a.csv", "anchor,positive,negative\n");
    // What it has learned from is no file of triplets by now: no label is noted of a fit that is none.
    scene.bad("fit run --add-labels more.csv -q", 1);
    assert_eq!(known(), 0);
    fs::write(scene.path("a.csv"), triplets).unwrap();
    let mut journal = Journal::open(&run).unwrap().0;
    journal
        .append(None, What::AddClass("owl".to_owned()), vec![])
        .unwrap();
    drop(journal);
    let table = fs::read_to_string(scene.path("iris.csv")).unwrap();
    scene.text("iris.csv", &table.replacen("5.1", "5.15", 1));
    let said = scene.bad("fit --continue run --triplets b.csv", 2);
    assert!(
        said.contains("have changed since the run was made"),
        "{said}"
    );
    assert_eq!(known(), 1);
    scene.good("fit --continue run --triplets b.csv -q --overwrite");
    assert_eq!(known(), 0);
    assert!(run.join("labels.jsonl.1").exists());
}

#[test]
fn views_are_seen_apart_and_every_verb_asks_the_model() {
    let scene = Scene::new();
    pages::data(&scene.path(""));
    let fit = "fit pairs.npz --view image --view text --labels-per-class 3 --draws 1 -q";
    let found = scene.json(&format!("{fit} --recipe omks --json -o run"));
    let recall = |of: &Value| of["recall"]["1"].as_f64().unwrap();
    let raw = recall(&found["baselines"]["raw"]);
    assert!(recall(&found) > raw - 0.05, "{found}");
    let (arrays, metadata) = from_safetensors(&scene.model("run")).unwrap();
    let kind: Value = serde_json::from_str(&metadata["model"]).unwrap();
    let kernels = kind["by"]["kernels"]["kernels"].as_array().unwrap();
    let of_second = kernels.iter().filter(|kernel| kernel["view"] == 1).count();
    assert_eq!((kernels.len(), of_second), (8, 4), "{kind}");
    assert_eq!(arrays.matrix64("view.0.matrix").unwrap().dim(), (76, 50));
    // The rows of the items are what the kernels read, as the views are given.
    let rows = likewise_io::read_matrix(scene.path("run/embeddings.npy"), None).unwrap();
    let bytes = fs::read(scene.path("pairs.npz")).unwrap();
    let form = likewise_io::Form::Npz;
    let all = likewise_io::read_bytes(form, &bytes, &likewise_io::ReadOptions::default()).unwrap();
    let fou = &all.view(Some("image")).unwrap().matrix;
    let mean = arrays.vector64("view.0.mean").unwrap();
    let own = (fou.row(7).mapv(f64::from) - mean).dot(&arrays.matrix64("view.0.matrix").unwrap());
    for (row, own) in rows.row(7).iter().zip(&own) {
        assert!((f64::from(*row) - own).abs() < 1e-4, "{row} {own}");
    }
    let id = all.ids()[7].as_str();
    let hits = hits(&scene.json(&format!("search run --id {id} -k 5 --json"))[0]);
    assert_eq!(hits.len(), 5);
    assert!(hits.windows(2).all(|two| two[0].1 >= two[1].1), "{hits:?}");
    let output = scene.run("embed run pairs.npz -o e.npy");
    let said = [output.stdout, output.stderr].map(|s| String::from_utf8(s).unwrap());
    assert!(said[0].contains("250 items, 100 dimensions"), "{said:?}");
    assert!(
        said[1].contains("the model compares items itself"),
        "{said:?}"
    );
    let embedded = likewise_io::read_matrix(scene.path("e.npy"), None).unwrap();
    assert!((&embedded - &rows).iter().all(|e| e.abs() < 1e-4));
    for (command, expected) in [
        ("index run --kind hnsw", "search in the run itself"),
        ("index run -o elsewhere", "search in the run itself"),
    ] {
        let said = scene.bad(command, 2);
        assert!(said.contains(expected), "{command}: {said}");
    }
    scene.good("index run --kind flat");
    scene.good("suspects run");
    let added = scene.json("add run pairs.npz --prefix more- --json -q");
    assert_eq!(added["items"], 500);
    // An item is most alike to its double, or nearly so: it is there twice now.
    let found = self::hits(&scene.json(&format!("search run --id {id} -k 20 --json"))[0]);
    assert!(
        found.iter().any(|hit| hit.0 == format!("more-{id}")),
        "{found:?}"
    );
}

#[test]
fn a_selection_keeps_columns_and_compares_what_is_left() {
    let scene = Scene::new();
    let rows: Vec<Vec<f64>> = (WINE.lines().skip(1))
        .map(|line| line.split(',').map(|v| v.parse().unwrap()).collect())
        .collect();
    let x = Array2::from_shape_fn((rows.len(), 13), |(i, j)| rows[i][j]);
    let mean = x.mean_axis(Axis(0)).unwrap();
    let z = (&x - &mean) / x.std_axis(Axis(0), 0.0);
    let names: Vec<String> = (0..13).map(|j| format!("f{j}")).collect();
    let mut text = names.join(",") + ",label\n";
    for (row, of) in z.rows().into_iter().zip(&rows) {
        let cells: Vec<String> = row.iter().map(ToString::to_string).collect();
        text.extend([cells.join(","), format!(",c{}\n", of[13])]);
    }
    scene.text("wine.csv", &text);
    let single = z.mapv(|v| v as f32);
    let own = select::Mcfs::new().groups(3).features(5);
    let own = own.fit(single.view(), &Monitor::silent()).unwrap().chosen;
    // The printed order of the scores of the Laplacian.
    for (recipe, expected) in [
        ("mcfs", &own[..]),
        ("laplacian-score", &[6, 9, 12, 11, 5][..]),
    ] {
        scene.text(
            "r.toml",
            &format!("base = '{recipe}'\nlearner.features = 5\n"),
        );
        let said = scene.good("fit wine.csv --recipe r.toml -q --overwrite -o run");
        // By their names, in the order of the table.
        let mut kept = expected.to_vec();
        kept.sort_unstable();
        let kept: Vec<String> = kept.iter().map(|j| format!("f{j}")).collect();
        let line = format!("kept 5 of 13 columns: {}", kept.join(", "));
        assert!(said.lines().any(|own| own == line), "{said}");
        for file in ["report.html", "README.md"] {
            let page = fs::read_to_string(scene.path("run").join(file)).unwrap();
            assert!(page.contains(&line), "{file}");
        }
        let metrics = fs::read_to_string(scene.path("run").join("metrics.json")).unwrap();
        let metrics: Value = serde_json::from_str(&metrics).unwrap();
        assert_eq!(metrics["kept_columns"], serde_json::json!(kept));
        assert_eq!(metrics["n_columns"], 13);
        let (arrays, _) = from_safetensors(&scene.model("run")).unwrap();
        let l = arrays.matrix64("transform").unwrap();
        let chosen: Vec<usize> = (l.rows().into_iter())
            .map(|row| row.iter().position(|&v| v > 0.0).unwrap())
            .collect();
        assert_eq!(chosen, expected, "{recipe}");
        assert!((l.sum() - 5.0).abs() < 1e-12);
    }
    for recipe in ["dlsr", "cfs", "pca", "explicit-omks"] {
        scene.good(&format!(
            "fit wine.csv --recipe {recipe} -q --overwrite -o run"
        ));
        let found = scene.json("search run --id 3 -k 4 --json");
        assert_eq!(hits(&found[0]).len(), 4, "{recipe}");
    }
}

#[test]
fn what_cannot_go_on_or_be_compared_is_said() {
    let scene = Scene::new();
    let rows = scene.thirty();
    scene.triplets("t.csv", &rows, 0..60);
    scene.text("wrong.csv", "anchor,positive,negative\n0,1,nosuch\n");
    scene.good("fit iris.csv --recipe omks --triplets t.csv -q -o run");
    scene.good("fit iris.csv --recipe omks -q -o classes");
    scene.good("fit iris.csv --recipe rca -q -o other");
    let model = scene.model("run");
    for (command, code, expected) in [
        ("fit --continue run -q", 2, "--triplets"),
        (
            "fit --continue iris.csv --triplets t.csv -q",
            2,
            "not a run",
        ),
        (
            "fit --continue other --triplets t.csv -q",
            2,
            "oasis, omks and explicit-omks",
        ),
        (
            "fit --continue classes --triplets t.csv -q",
            2,
            "has not learned",
        ),
        ("fit --continue run --triplets none.csv -q", 1, "none.csv"),
        ("fit --continue run --triplets wrong.csv -q", 1, "nosuch"),
        (
            "fit --continue run --triplets t.csv --recipe omks -q",
            2,
            "--recipe",
        ),
        (
            "fit iris.csv --recipe omks --pairs t.csv -q -o x",
            2,
            "triplets",
        ),
    ] {
        let said = scene.bad(command, code);
        assert!(said.contains(expected), "{command}: {said}");
    }
    assert_eq!(scene.model("run"), model, "it stays as it is");
    for (text, expected) in [
        (
            "base = 'omks'\nlearner.kernels = []\n",
            "learner.kernels = []",
        ),
        ("base = 'omks'\nlearner.nosuch = 1\n", "nosuch"),
        (
            "base = 'omks'\nlearner.kernels = [{ kind = 'rbf', width = { fixed = -1.0 } }]\n",
            "learner.kernels[0].width",
        ),
        ("base = 'emr'\nlearner.alpha = 2.0\n", "learner.alpha = 2"),
        (
            "base = 'mcfs'\nlearner.features = 0\n",
            "learner.features = 0",
        ),
        ("base = 'pca'\nlearner.rank = 0\n", "learner.rank = 0"),
        (
            "base = 'itml'\nlearner.gamma = nan\n",
            "learner.gamma: is no finite number",
        ),
    ] {
        scene.text("r.toml", text);
        let output = scene.run("fit iris.csv --recipe r.toml -q -o x");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && said.contains(expected),
            "{text}: {said}"
        );
    }
}
