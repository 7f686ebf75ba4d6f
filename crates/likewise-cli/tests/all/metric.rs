//! The metric learners through `likewise fit`: the check values that the library is tested with, on
//! the irises and wines of its `testdata`, and what a user may get wrong.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use ndarray::{Array2, array};

use crate::program;

const IRIS: &str = include_str!("../../../likewise/testdata/iris.csv");
const PAIRS: &str = include_str!("../../../likewise/testdata/iris_pairs.csv");
const WINE: &str = include_str!("../../../likewise/testdata/wine_raw.csv");
const TRIPLETS: &str = include_str!("../../../likewise/testdata/wine_triplets.csv");
const OASIS: &str = include_str!("../../../likewise/testdata/oasis_wine.csv");

struct Scene(tempfile::TempDir);

impl Scene {
    /// Irises (`iris.csv`) with the pairs of their check values (`pairs.csv`); their chunks
    /// (`chunks.csv`: the first five of each class, and the next seven) and the pairs of these that
    /// are of different classes (`apart.csv`).
    fn new() -> Self {
        let scene = Self(tempfile::tempdir().unwrap());
        scene.text("iris.csv", IRIS);
        scene.text("pairs.csv", &PAIRS.replacen("i,j,y", "a,b,y", 1));
        let chunk = |row: usize| match row % 50 {
            0..5 => Some(row / 50 * 2),
            5..12 => Some(row / 50 * 2 + 1),
            _ => None,
        };
        let mut chunks = "f0,f1,f2,f3,label\n".to_owned();
        for (row, line) in IRIS.lines().skip(1).enumerate() {
            let features = line.rsplit_once(',').unwrap().0;
            let label = chunk(row).map_or(String::new(), |c| format!("c{c}"));
            chunks.extend([features, ",", &label, "\n"]);
        }
        scene.text("chunks.csv", &chunks);
        let mut pairs = vec!["a,b,y\n".to_owned()];
        for a in 0..150 {
            for b in a + 1..150 {
                match (chunk(a), chunk(b)) {
                    (Some(one), Some(other)) if one == other => pairs.push(format!("{a},{b},1\n")),
                    (Some(one), Some(other)) if one / 2 != other / 2 => {
                        pairs.push(format!("{a},{b},-1\n"));
                    }
                    _ => {}
                }
            }
        }
        scene.text("apart.csv", &pairs.concat());
        scene
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

    fn good(&self, command: &str) -> String {
        let output = self.run(command);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn bad(&self, command: &str, code: i32) -> String {
        let output = self.run(command);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{command}: {said}");
        said
    }

    /// A matrix of the model in a run.
    fn matrix(&self, run: &str, name: &str) -> Array2<f64> {
        let bytes = fs::read(self.path(run).join("model.safetensors")).unwrap();
        let (arrays, _) = likewise_io::arrays::from_safetensors(&bytes).unwrap();
        arrays.matrix64(name).unwrap()
    }
}

/// Fails unless the matrices are the same to what single precision of the features leaves.
fn near(found: &Array2<f64>, expected: &Array2<f64>) {
    let largest = |m: &Array2<f64>| m.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
    let error = largest(&(found - expected)) / largest(expected);
    assert!(error < 1e-4, "{error}: {found}");
}

#[test]
#[allow(clippy::unreadable_literal)] // Printed values.
fn a_learner_by_pairs_gives_its_check_value() {
    let scene = Scene::new();
    scene.text(
        "itml.toml",
        "base = 'itml'\nlearner.bounds = { kind = 'squared', alike = 0.2, unlike = 28.193 }\n",
    );
    scene.good("fit iris.csv --recipe itml.toml --pairs pairs.csv -q -o itml");
    let expected = array![
        [
            0.102600941909,
            -0.110833902805,
            -0.0417582239082,
            0.0370519880707
        ],
        [
            -0.110833902805,
            0.817653551981,
            -0.288137116482,
            -1.07543499108
        ],
        [
            -0.0417582239082,
            -0.288137116482,
            0.309161122539,
            0.308864554255
        ],
        [
            0.0370519880707,
            -1.07543499108,
            0.308864554255,
            2.05861333572
        ],
    ];
    near(&scene.matrix("itml", "mahalanobis"), &expected);
    scene.good("fit iris.csv --recipe gmml --pairs pairs.csv -q -o gmml");
    let expected = array![
        [
            1.34496525073,
            -0.0191152061718,
            0.994889854568,
            0.348338568464
        ],
        [
            -0.0191152061718,
            1.51979812415,
            -0.661645244641,
            -0.552116296527
        ],
        [0.994889854568, -0.661645244641, 4.08803240197, 1.2130477876],
        [0.348338568464, -0.552116296527, 1.2130477876, 2.39099906467],
    ];
    near(&scene.matrix("gmml", "mahalanobis"), &expected);
    scene.good("fit chunks.csv --recipe dca --pairs apart.csv -q -o dca");
    let l = scene.matrix("dca", "transform");
    let expected = array![
        [25.0391519849, -18.5541625051, -27.0534596212, 24.5258927634],
        [-18.5541625051, 37.0865017604, 15.7641642354, -43.2958124668],
        [-27.0534596212, 15.7641642354, 39.7695393968, -34.851113906],
        [24.5258927634, -43.2958124668, -34.851113906, 101.275038775],
    ];
    near(&l.t().dot(&l), &expected);
}

#[test]
#[allow(clippy::unreadable_literal)] // Printed values.
fn a_learner_by_classes_gives_its_check_value() {
    let scene = Scene::new();
    scene.good("fit chunks.csv --recipe rca -q -o rca");
    let l = scene.matrix("rca", "transform");
    let expected = array![
        [24.6748377198, -18.7223677539, -26.3470479075, 23.9510759764],
        [-18.7223677539, 37.9432129727, 16.2775825651, -45.5905877596],
        [-26.3470479075, 16.2775825651, 37.549475828, -33.2417381943],
        [23.9510759764, -45.5905877596, -33.2417381943, 102.65963807],
    ];
    near(&l.t().dot(&l), &expected);
    scene.good("fit iris.csv --recipe lmnn -q -o lmnn");
    let l = scene.matrix("lmnn", "transform");
    let objective = margin_objective(&l);
    assert!(objective < 226.824013756 * 1.02, "{objective}");
}

/// The objective of large margin nearest neighbours of the irises, as it is written.
fn margin_objective(l: &Array2<f64>) -> f64 {
    let rows: Vec<Vec<f64>> = (IRIS.lines().skip(1))
        .map(|line| line.split(',').map(|v| v.parse().unwrap()).collect())
        .collect();
    let class = |i: usize| i / 50;
    let x = Array2::from_shape_fn((150, 4), |(i, j)| rows[i][j]);
    let z = x.dot(&l.t());
    let squared = |m: &Array2<f64>, i: usize, j: usize| {
        let difference = &m.row(i) - &m.row(j);
        difference.dot(&difference)
    };
    let (mut pull, mut push) = (0.0, 0.0);
    for i in 0..150 {
        let mut own: Vec<usize> = (0..150)
            .filter(|&j| j != i && class(j) == class(i))
            .collect();
        own.sort_by(|&a, &b| {
            squared(&x, i, a)
                .total_cmp(&squared(&x, i, b))
                .then(a.cmp(&b))
        });
        for &j in &own[..3] {
            pull += squared(&z, i, j);
            for other in (0..150).filter(|&other| class(other) != class(i)) {
                push += (1.0 + squared(&z, i, j) - squared(&z, i, other)).max(0.0);
            }
        }
    }
    f64::midpoint(pull, push)
}

#[test]
fn triplets_alone_are_learned_without_a_recipe_and_without_labels() {
    let scene = Scene::new();
    let mut text = "f0,f1,f2,f3\n".to_owned();
    for line in IRIS.lines().skip(1) {
        text.extend([line.rsplit_once(',').unwrap().0, "\n"]);
    }
    scene.text("plain.csv", &text);
    // Two setosas and another flower, by their places.
    let lines = (0..40).map(|i| format!("{i},{},{}\n", i + 1, 60 + 2 * i));
    let triplets: String = lines.collect();
    scene.text("t.csv", &format!("anchor,positive,negative\n{triplets}"));
    let said = scene.good("fit plain.csv --triplets t.csv -q -o run");
    assert!(said.contains("Delivered: what oasis learned"), "{said}");
    assert_eq!(scene.matrix("run", "bilinear").dim(), (4, 4));
}

#[test]
fn oasis_by_triplets_gives_its_check_value_and_asks_by_it() {
    let scene = Scene::new();
    let rows: Vec<Vec<f64>> = (WINE.lines().skip(1))
        .map(|line| line.split(',').map(|v| v.parse().unwrap()).collect())
        .collect();
    let x = Array2::from_shape_fn((rows.len(), 13), |(i, j)| rows[i][j]);
    let mean = x.mean_axis(ndarray::Axis(0)).unwrap();
    let z = (&x - &mean) / x.std_axis(ndarray::Axis(0), 0.0);
    let names: Vec<String> = (0..13).map(|j| format!("f{j}")).collect();
    let mut text = names.join(",") + ",label\n";
    for (row, of) in z.rows().into_iter().zip(&rows) {
        let cells: Vec<String> = row.iter().map(ToString::to_string).collect();
        text.extend([cells.join(","), format!(",c{}\n", of[13])]);
    }
    scene.text("wine.csv", &text);
    let triplets = TRIPLETS.replacen("a,p,n", "anchor,positive,negative", 1);
    scene.text("t.csv", &triplets);
    scene.good("fit wine.csv --recipe oasis --triplets t.csv -q -o run");
    let w = scene.matrix("run", "bilinear");
    let values: Vec<Vec<f64>> = (OASIS.lines().skip(1))
        .map(|line| line.split(',').map(|v| v.parse().unwrap()).collect())
        .collect();
    let expected = Array2::from_shape_fn((13, 13), |(i, j)| values[13 + i][j]);
    near(&w, &expected);
    // The search asks with the item on the left of the form.
    let said = scene.good("search run --id 0 -k 5 --json");
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    let hits = said[0]["hits"].as_array().unwrap().clone();
    let scores = z.dot(&w.dot(&z.row(0)));
    let asked = z.row(0).dot(&w).dot(&z.t());
    assert!((&scores - &asked).iter().any(|d| d.abs() > 1e-3));
    let mut order: Vec<usize> = (1..z.nrows()).collect();
    order.sort_by(|&a, &b| asked[b].total_cmp(&asked[a]));
    for (hit, &expected) in hits.iter().zip(&order) {
        assert_eq!(hit["id"], expected.to_string());
        let similarity = hit["similarity"].as_f64().unwrap();
        assert!((similarity - asked[expected]).abs() < 1e-3, "{hit}");
    }
    let said = scene.bad("index run -o elsewhere", 2);
    assert!(said.contains("search in the run itself"), "{said}");
}

#[test]
fn a_search_by_a_learned_metric_is_by_its_distance() {
    let scene = Scene::new();
    scene.good("fit iris.csv --recipe rca -q -o run");
    let l = scene.matrix("run", "transform");
    let rows: Vec<Vec<f64>> = (IRIS.lines().skip(1))
        .map(|line| line.split(',').map(|v| v.parse().unwrap()).collect())
        .collect();
    let x = Array2::from_shape_fn((150, 4), |(i, j)| rows[i][j]);
    let z = x.dot(&l.t());
    let squared = |i: usize| (&z.row(i) - &z.row(7)).mapv(|v| v * v).sum();
    let mut order: Vec<usize> = (0..150).filter(|&i| i != 7).collect();
    order.sort_by(|&a, &b| squared(a).total_cmp(&squared(b)));
    let said = scene.good("search run --id 7 -k 3 --json");
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    for (rank, &expected) in order[..3].iter().enumerate() {
        let hit = &said[0]["hits"][rank];
        assert_eq!(hit["id"], expected.to_string());
        let similarity = hit["similarity"].as_f64().unwrap();
        assert!((similarity + squared(expected)).abs() < 1e-3, "{hit}");
    }
    let card = fs::read_to_string(scene.path("run").join("README.md")).unwrap();
    assert!(
        card.contains("minus the squared Euclidean distance"),
        "{card}"
    );
}

#[test]
fn every_metric_learner_goes_with_spread_labels_and_a_whitened_start() {
    let scene = Scene::new();
    for name in [
        "dca", "gmml", "itml", "lmnn", "lrml", "mmc", "nca", "seraph", "oasis",
    ] {
        scene.text(
            "r.toml",
            &format!(
                "base = '{name}'\nstart = 'whitened'\npseudo_labels = {{ kind = 'propagation', spread = {{ \
                 method = 'lgc' }}, graph = {{ k = 10 }} }}\n"
            ),
        );
        scene.good(
            "fit iris.csv --recipe r.toml --labels-per-class 5 --draws 1 -q --overwrite -o run",
        );
        let embeddings = likewise_io::read_matrix(scene.path("run").join("embeddings.npy"), None);
        let embeddings = embeddings.unwrap();
        assert!(embeddings.iter().all(|v| v.is_finite()), "{name}");
    }
}

#[test]
fn what_a_learner_cannot_use_is_said() {
    let scene = Scene::new();
    for (command, code, expected) in [
        (
            "fit iris.csv --recipe lmnn --pairs pairs.csv",
            2,
            "learns from classes",
        ),
        (
            "fit iris.csv --recipe oasis --pairs pairs.csv",
            2,
            "give triplets",
        ),
        (
            "fit iris.csv --recipe nosuch",
            2,
            "`likewise explain` lists them",
        ),
    ] {
        let said = scene.bad(&format!("{command} -q -o run"), code);
        assert!(said.contains(expected), "{command}: {said}");
    }
    scene.text("r.toml", "base = 'itml'\nlearner.gamma = -1\n");
    let said = scene.bad("fit iris.csv --recipe r.toml -q -o run", 2);
    assert!(said.contains("gamma = -1"), "{said}");
}

#[test]
fn settings_one_by_one_are_those_of_a_file() {
    let scene = Scene::new();
    scene.text(
        "file.toml",
        "base = 'gmml'\nlearner = { t = 0.25 }\nstart = 'whitened'\n",
    );
    scene.good("fit iris.csv --recipe file.toml --pairs pairs.csv -q -o file");
    scene.good(
        "fit iris.csv --recipe gmml --set t=0.25 --set start=whitened --pairs pairs.csv -q -o set",
    );
    let of = |run: &str| scene.matrix(run, "mahalanobis");
    assert_eq!(of("file"), of("set"));
    // Over a table of settings.
    scene.text(
        "own.toml",
        "[recipe]\nlearner = { t = 0.75 }\nstart = 'whitened'\n",
    );
    scene.good(
        "fit iris.csv --recipe gmml --config own.toml --set t=0.25 --pairs pairs.csv -q -o both",
    );
    assert_eq!(of("file"), of("both"));
    for (wrong, says) in [
        ("--set t=2", "must be from 0 to 1"),
        (
            "--set nosuch=2",
            "--set: learner.nosuch: unknown field `nosuch`",
        ),
        ("--set t", "--set t: write NAME=VALUE"),
        (
            "--set t=0.1 --set learner.t=0.2",
            "learner.t is given twice",
        ),
        (
            "--set confidence=1",
            "--set: learner.confidence: unknown field `confidence`",
        ),
    ] {
        let said = scene.bad(
            &format!("fit iris.csv --recipe gmml {wrong} --pairs pairs.csv -q -o none"),
            2,
        );
        assert!(said.contains(says), "{wrong}: {said}");
    }
    let said = scene.bad("fit iris.csv --recipe auto --set t=1 -q -o none", 2);
    assert!(said.contains("recipe auto"), "{said}");
    assert!(!scene.path("none").exists());
}

/// Classes that differ in the length of their rows alone, which the cosine does not see: the distance does, before
/// anything is learned.
#[test]
fn a_change_of_the_comparison_is_no_help_of_the_labels() {
    let scene = Scene::new();
    let row = |i: usize| {
        let length = 1.0 + 2.0 * (i % 3) as f64;
        let off = |by: usize| 0.01 * ((i * by) % 7) as f64;
        format!("{},{},c{}\n", length + off(3), length + off(5), i % 3)
    };
    let rows: String = (0..90).map(row).collect();
    scene.text("lengths.csv", &format!("f0,f1,label\n{rows}"));
    let said = scene.good("fit lengths.csv --recipe rca --labels-per-class 4 --draws 1 -o run");
    assert!(said.contains("raw, by distance"), "{said}");
    assert!(!said.contains("help? Yes"), "{said}");
    let metrics = fs::read_to_string(scene.path("run/metrics.json")).unwrap();
    let metrics: serde_json::Value = serde_json::from_str(&metrics).unwrap();
    let found = &metrics["baselines"]["raw_by_distance"]["recall"]["1"];
    assert_eq!(found.as_f64(), Some(1.0), "{metrics}");
    // Recipes that compare by the cosine have no such row.
    scene.good("fit lengths.csv --recipe label-rca --labels-per-class 4 --draws 1 -q -o other");
    let metrics = fs::read_to_string(scene.path("other/metrics.json")).unwrap();
    assert!(!metrics.contains("raw_by_distance"));
}

/// Of one label a class the known labels make no triplet, but votes do: the row of the labels alone is left out, and
/// the fit goes on.
#[test]
fn a_learner_that_needs_more_than_the_labels_learns_from_votes_all_the_same() {
    let scene = Scene::new();
    scene.text("votes.toml", "base = 'oasis'\npseudo_labels = 'votes'\n");
    let output =
        scene.run("fit iris.csv --recipe votes.toml --labels-per-class 1 --draws 2 -o run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("there is no row \"labels only\": "), "{said}");
    let metrics = fs::read_to_string(scene.path("run/metrics.json")).unwrap();
    let metrics: serde_json::Value = serde_json::from_str(&metrics).unwrap();
    let baselines = &metrics["baselines"];
    assert!(
        baselines["labels_only"].is_null() && baselines["raw"].is_object(),
        "{metrics}"
    );
}

/// Of three labels a round keeps two back, which leaves one: no triplet can be drawn of it.
#[test]
fn three_labels_a_class_are_too_few_to_measure_what_triplets_teach() {
    let scene = Scene::new();
    for (labels, measured) in [(3, false), (4, true)] {
        let few = IRIS.lines().enumerate().map(|(line, text)| match line {
            0 => format!("{text}\n"),
            row if (row - 1) % 50 < labels => format!("{text}\n"),
            _ => format!("{},\n", text.rsplit_once(',').unwrap().0),
        });
        scene.text("few.csv", &few.collect::<String>());
        for recipe in ["oasis", "omks"] {
            let out = format!("{recipe}-{labels}");
            let words = scene.good(&format!("fit few.csv --recipe {recipe} -q -o {out}"));
            assert_eq!(!words.contains("two to fit"), measured, "{words}");
        }
    }
}
