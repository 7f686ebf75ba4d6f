//! `likewise mine`, and what fit does with its files.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use ndarray::Array2;

use crate::program;

const N: usize = 60;

struct Scene(tempfile::TempDir);

impl Scene {
    /// 60 items of 3 classes in `x.csv`, with ids; every fifth without a label. The last column
    /// varies within the classes more than between them.
    fn new() -> Self {
        let scene = Self(tempfile::tempdir().unwrap());
        let x = Array2::from_shape_fn((N, 4), |(i, j)| {
            let own = if i % 3 == j { 2.0 } else { 0.0 };
            let noise = if j == 3 {
                (i * 13 % 17) as f32 / 4.0
            } else {
                0.0
            };
            own + noise + ((i * 7 + j * 3) % 11) as f32 / 11.0
        });
        let mut text = "id,label,a,b,c,d\n".to_owned();
        for (i, row) in x.rows().into_iter().enumerate() {
            let class = if i % 5 == 4 {
                ""
            } else {
                ["p", "q", "r"][i % 3]
            };
            let cells: Vec<String> = row.iter().map(ToString::to_string).collect();
            text += &(format!("i{i},{class},") + &cells.join(",") + "\n");
        }
        scene.text("x.csv", &text);
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

    fn good(&self, command: &str) -> serde_json::Value {
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

fn item(id: &str) -> usize {
    id.strip_prefix('i').unwrap().parse().unwrap()
}

#[test]
fn votes_give_triplets_of_all_three_kinds_and_fit_takes_them() {
    let scene = Scene::new();
    let mine = "mine x.csv --from votes --kind triplets --labels-per-class 4 -q --json";
    let said = scene.good(&format!("{mine} -o t.csv --seed 3"));
    let text = fs::read_to_string(scene.path("t.csv")).unwrap();
    let rows: Vec<[usize; 3]> = (text.lines().skip(1))
        .map(|line| {
            let mut words = line.split(',').map(item_of);
            [0; 3].map(|_| words.next().unwrap())
        })
        .collect();
    assert_eq!(said["tuples"], rows.len());
    // Of twelve labels alone there are 12 x 3 x 8; others have anchors that nobody labeled.
    assert!(rows.len() > 12 * 3 * 8, "{}", rows.len());
    let right = |[a, p, n]: &&[usize; 3]| a % 3 == p % 3 && a % 3 != n % 3;
    let share = rows.iter().filter(right).count() as f64 / rows.len() as f64;
    assert!(share > 0.8, "{share}");
    scene.good(&format!("{mine} -o again.csv --seed 3 --threads 1"));
    assert_eq!(fs::read_to_string(scene.path("again.csv")).unwrap(), text);
    scene.good("fit x.csv --triplets t.csv --recipe oasis -q --json -o run");
    scene.good("mine x.csv --from votes --kind pairs -q --json -o p.csv");
    let no = scene.bad("mine x.csv --from votes --kind pairs -k 5 -o q.csv", 2);
    assert!(no.contains("-k goes with --from affinity"), "{no}");
    let no = scene.bad(
        "mine x.csv --from votes --kind pairs --per-item 5 -o q.csv",
        2,
    );
    assert!(no.contains("--per-item"), "{no}");
}

/// The item in a cell; 0 for a weight.
fn item_of(word: &str) -> usize {
    word.strip_prefix('i')
        .map_or(0, |number| number.parse().unwrap())
}

#[test]
fn pairs_of_labels_are_true_and_the_same_for_a_seed() {
    let scene = Scene::new();
    let mine = "mine x.csv --from labels --kind pairs --per-item 4 -q --json";
    let said = scene.good(&format!("{mine} -o p.csv --seed 3"));
    let text = fs::read_to_string(scene.path("p.csv")).unwrap();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .skip(1)
        .map(|l| l.split(',').collect())
        .collect();
    assert!(text.starts_with("a,b,y,weight\n"));
    assert_eq!(said["tuples"], rows.len());
    assert_eq!(
        said["alike"].as_u64().unwrap() + said["unlike"].as_u64().unwrap(),
        rows.len() as u64
    );
    for row in &rows {
        let (a, b) = (item(row[0]), item(row[1]));
        assert!(a % 5 != 4 && b % 5 != 4, "unlabeled items are in no pair");
        assert_eq!(row[2], if a % 3 == b % 3 { "1" } else { "-1" });
    }
    scene.good(&format!("{mine} -o again.csv --seed 3 --threads 1"));
    assert_eq!(fs::read_to_string(scene.path("again.csv")).unwrap(), text);
    scene.good(&format!("{mine} -o other.csv --seed 4"));
    assert_ne!(fs::read_to_string(scene.path("other.csv")).unwrap(), text);
    let few =
        scene.good("mine x.csv --from labels --kind pairs --labels-per-class 2 -q --json -o f.csv");
    assert_eq!(
        (few["alike"].as_u64(), few["unlike"].as_u64()),
        (Some(3), Some(12))
    );
}

#[test]
fn tuples_of_beliefs_and_affinities_can_be_written_and_read_again() {
    let scene = Scene::new();
    scene.good("propagate x.csv -k 8 -q -o b.npz");
    let ids: Vec<String> = (0..N).map(|i| format!("i{i}")).collect();
    for (from, more) in [("b.npz", "--per-item 3"), ("affinity", "-k 6")] {
        let mine = format!("mine x.csv --from {from} {more} -q --json");
        let pairs = scene.good(&format!("{mine} --kind pairs -o p.parquet"));
        let monitor = likewise::Monitor::silent();
        let read = likewise_io::tuples::read_pairs(scene.path("p.parquet"), &ids, &monitor);
        assert_eq!(pairs["tuples"], read.unwrap().len());
        let triplets = scene.good(&format!("{mine} --kind triplets -o t.csv"));
        let read = likewise_io::tuples::read_triplets(scene.path("t.csv"), &ids, &monitor);
        assert_eq!(triplets["tuples"], read.unwrap().len());
        assert_eq!(triplets["tuples"], N * 3, "{from}");
        assert!(triplets.get("alike").is_none());
    }
}

#[test]
fn a_dry_run_writes_nothing() {
    let scene = Scene::new();
    let said = scene.good("mine x.csv --from labels --kind pairs --dry-run --json -o p.csv");
    assert!(said["memory_bytes"].as_f64().unwrap() > 0.0);
    assert!(!scene.path("p.csv").exists());
}

#[test]
fn bad_input_is_named_and_leaves_no_file() {
    let scene = Scene::new();
    scene.text(
        "other.csv",
        "id,label,a,b\nz0,p,1,2\nz1,p,2,1\nz2,q,3,1\nz3,q,1,1\n",
    );
    scene.text("none.csv", "id,a,b\nz0,1,2\nz1,2,1\n");
    scene.text("one.csv", "id,label,a,b\nz0,p,1,2\nz1,p,2,1\n");
    scene.good("propagate other.csv -k 2 -q -o b.npz");
    for (command, code, expected) in [
        (
            "mine x.csv --from words --kind pairs",
            2,
            "labels, affinity, votes, or the .npz",
        ),
        ("mine x.csv --from absent.npz --kind pairs", 1, "absent.npz"),
        (
            "mine x.csv --from b.npz --kind pairs",
            1,
            "no item of the data has the id \"z0\"",
        ),
        ("mine none.csv --from labels --kind pairs", 1, "no labels"),
        (
            "mine one.csv --from labels --kind triplets",
            1,
            "which a triplet needs",
        ),
        (
            "mine x.csv --from labels --kind pairs -k 3",
            2,
            "-k goes with --from affinity",
        ),
        (
            "mine x.csv --from affinity --kind pairs --per-item 3",
            2,
            "--per-item goes with",
        ),
        (
            "mine x.csv --from b.npz --kind pairs --labels-per-class 3",
            2,
            "--labels-per-class goes",
        ),
        ("mine x.csv --from labels --kind words", 2, "words"),
        ("mine x.csv --from labels --kind pairs --per-item 0", 2, "0"),
        ("mine x.csv --from affinity --kind pairs -k 0", 2, "k = 0"),
    ] {
        let said = scene.bad(&format!("{command} -q -o out.csv"), code);
        assert!(said.contains(expected), "{command}: {said}");
        assert!(!scene.path("out.csv").exists(), "{command}");
    }
    let said = scene.bad("mine x.csv --from labels --kind pairs -o out.npz", 2);
    assert!(said.contains(".csv or .parquet"), "{said}");
    let said = scene.bad("mine x.csv --from labels --kind pairs -o x.csv", 2);
    assert!(said.contains("is read"), "{said}");
    let said = scene.bad(
        "mine x.csv --from labels --kind pairs -o p.csv --max-memory 1KiB",
        1,
    );
    assert!(said.contains("memory"), "{said}");
}

#[test]
fn fit_learns_from_given_tuples() {
    let scene = Scene::new();
    // Of all labels they would say no more than these.
    let mine = "mine x.csv --from labels --labels-per-class 4 -q";
    scene.good(&format!("{mine} --kind pairs -o p.parquet"));
    scene.good(&format!("{mine} --kind triplets -o t.csv"));
    let fit = "fit x.csv -q --json --split item";
    let model = |folder: &str| fs::read(scene.path(folder).join("model.safetensors")).unwrap();
    for (recipe, flag) in [
        ("rca", "--pairs p.parquet"),
        ("rca", "--triplets t.csv"),
        ("triplet", "--triplets t.csv"),
    ] {
        scene.good(&format!("{fit} --recipe {recipe} {flag} -o given"));
        scene.good(&format!("{fit} --recipe {recipe} -o plain"));
        assert_ne!(model("given"), model("plain"), "{recipe} {flag}");
        // Other tuples are other data: a finished run of them is not that of these.
        let said = scene.bad(
            &format!("{fit} --recipe {recipe} {flag} --resume -o plain"),
            2,
        );
        assert!(said.contains("of other data or settings"), "{said}");
        scene.good(&format!("{fit} --recipe {recipe} {flag} --resume -o given"));
        for folder in ["given", "plain"] {
            fs::remove_dir_all(scene.path(folder)).unwrap();
        }
    }
}

#[test]
fn pairs_that_join_whole_classes_say_what_the_labels_say() {
    let scene = Scene::new();
    scene.good("mine x.csv --from labels --kind pairs -q -o p.csv");
    scene.good("fit x.csv --recipe rca --pairs p.csv -q -o pairs");
    scene.good("fit x.csv --recipe rca -q -o labels");
    let model = |folder: &str| fs::read(scene.path(folder).join("model.safetensors")).unwrap();
    assert_eq!(model("pairs"), model("labels"));
}

/// The items of `x.csv` without their labels, as `bare.csv`.
fn without_labels(scene: &Scene) {
    let text = fs::read_to_string(scene.path("x.csv")).unwrap();
    let bare = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        [&cells[..1], &cells[2..]].concat().join(",") + "\n"
    };
    scene.text("bare.csv", &text.lines().map(bare).collect::<String>());
}

#[test]
fn pairs_alone_are_enough_for_rca() {
    let scene = Scene::new();
    without_labels(&scene);
    scene.good("mine x.csv --from labels --kind pairs -q -o p.csv");
    scene.good("fit bare.csv --recipe rca --pairs p.csv -q -o run");
    scene.good("fit bare.csv --recipe rca -q -o start");
    let model = |folder: &str| fs::read(scene.path(folder).join("model.safetensors")).unwrap();
    assert_ne!(model("run"), model("start"));
    let said = scene.bad(
        "fit bare.csv --recipe mixed-rca --pairs p.csv -q -o other",
        2,
    );
    assert!(
        said.contains("choose a recipe that has none of these"),
        "{said}"
    );
}

#[test]
fn triplets_alone_are_enough_for_a_learner_of_triplets() {
    let scene = Scene::new();
    without_labels(&scene);
    scene.good("mine x.csv --from labels --kind triplets -q -o t.csv");
    scene.good("fit bare.csv --recipe oasis --triplets t.csv -q -o run");
    scene.good("fit x.csv --recipe oasis --triplets t.csv -q -o beside");
    // Given triplets stand in the place of the labels, which only measure.
    let model = |folder: &str| fs::read(scene.path(folder).join("model.safetensors")).unwrap();
    assert_eq!(model("run"), model("beside"));
    let card = fs::read_to_string(scene.path("beside/README.md")).unwrap();
    assert!(card.contains("Did the triplets help?"), "{card}");
}

#[test]
fn tuples_of_tested_items_are_counted_and_not_used() {
    let scene = Scene::new();
    let text = fs::read_to_string(scene.path("x.csv")).unwrap();
    let split = |(row, line): (usize, &str)| match row {
        0 => format!("{line},split\n"),
        _ if row % 2 == 0 => format!("{line},test\n"),
        _ => format!("{line},train\n"),
    };
    scene.text(
        "s.csv",
        &text.lines().enumerate().map(split).collect::<String>(),
    );
    // Rows 1 and 7 of the file are fitted: items 0 and 6; item 3 is tested.
    let fitted = "a,b,y\ni0,i6,1\ni2,i8,1\ni0,i2,-1\n";
    scene.text("p.csv", &format!("{fitted}i0,i3,1\ni3,i9,1\n"));
    scene.text("fitted.csv", fitted);
    let output = scene.run("fit s.csv --recipe rca --pairs p.csv -o run");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("2 of 5 pairs have items of the validation or test part"),
        "{said}"
    );
    scene.good("fit s.csv --recipe rca --pairs fitted.csv -q -o same");
    let model = |folder: &str| fs::read(scene.path(folder).join("model.safetensors")).unwrap();
    assert_eq!(model("run"), model("same"));
    scene.text("tested.csv", "a,b,y\ni1,i3,1\n");
    let said = scene.bad("fit s.csv --recipe rca --pairs tested.csv -q -o none", 1);
    assert!(said.contains("of fitted items alone"), "{said}");
}

#[test]
fn fit_refuses_tuples_that_it_cannot_use() {
    let scene = Scene::new();
    scene.text("p.csv", "a,b,y\ni0,i3,1\n");
    scene.text("t.csv", "anchor,positive,negative\ni0,i3,i1\n");
    scene.text("bad.csv", "a,b,y\ni0,i3,1\ni0,zz,1\n");
    for (flags, code, expected) in [
        ("--recipe triplet --pairs p.csv", 2, "not from given pairs"),
        (
            "--recipe deep-lrml --pairs p.csv",
            2,
            "the metric of lrml behind the embedding learns from classes, not from given pairs or triplets",
        ),
        (
            "--recipe proxy-anchor --triplets t.csv",
            2,
            "not from given triplets",
        ),
        (
            "--recipe affinity-triplet --triplets t.csv",
            2,
            "triplets of its own",
        ),
        (
            "--recipe rca --pairs p.csv --triplets t.csv",
            2,
            "cannot be used with",
        ),
        (
            "--recipe rca --pairs t.csv",
            1,
            "this is a table of triplets",
        ),
        ("--recipe rca --pairs absent.csv", 1, "absent.csv"),
        (
            "--recipe rca --pairs bad.csv",
            1,
            "bad.csv: line 3, column \"b\": no item has the id",
        ),
    ] {
        let said = scene.bad(&format!("fit x.csv -q {flags} -o run"), code);
        assert!(said.contains(expected), "{flags}: {said}");
    }
}
