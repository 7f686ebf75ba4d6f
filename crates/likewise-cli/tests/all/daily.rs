//! What is done day by day: copies, wrong labels, other programs.

use std::fs;
use std::path::{Path, PathBuf};

use likewise::{Collection, Label, Monitor};
use likewise_io::ReadOptions;
use serde_json::Value;

use crate::program;

pub(super) struct Scene(tempfile::TempDir);

impl Scene {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(super) fn at(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.at().join(name)
    }

    pub(super) fn text(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    #[track_caller]
    pub(super) fn good(&self, command: &str) -> String {
        let arguments: Vec<&str> = command.split(' ').collect();
        program::succeeds(self.at(), &arguments)
    }

    #[track_caller]
    pub(super) fn json(&self, command: &str) -> Value {
        serde_json::from_str(&self.good(&format!("{command} --json"))).unwrap()
    }

    /// The message of a command that fails with `code`.
    #[track_caller]
    pub(super) fn bad(&self, command: &str, code: i32) -> String {
        let arguments: Vec<&str> = command.split(' ').collect();
        let output = program::likewise(self.at(), &arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{command}: {said}");
        assert!(said.starts_with("error: "), "{command}: {said}");
        said
    }
}

/// A view of the digits.
fn digits(view: &str) -> Collection {
    let options = ReadOptions {
        view: Some(view.into()),
        ..ReadOptions::default()
    };
    likewise_io::read(likewise_testdata::digits(), &options, &Monitor::silent()).unwrap()
}

/// Every `step`th digit as a table with ids `d0`, `d1` ..., and its class by `label`.
fn table(x: &Collection, rows: &[usize], label: impl Fn(usize) -> String) -> String {
    let matrix = x.view(None).unwrap().matrix.view();
    let names: Vec<String> = (0..matrix.ncols()).map(|j| format!("x{j}")).collect();
    let mut text = format!("id,label,{}\n", names.join(","));
    for &row in rows {
        let cells: Vec<String> = matrix.row(row).iter().map(ToString::to_string).collect();
        let line = format!("d{row},{},{}\n", label(row), cells.join(","));
        text.push_str(&line);
    }
    text
}

pub(super) fn class(x: &Collection, row: usize) -> u32 {
    match x.labels.as_ref().unwrap()[row] {
        Label::Known(class) => class,
        _ => unreachable!(),
    }
}

/// The bytes of all files of a run, by name.
pub(super) fn files(run: &Path) -> std::collections::BTreeMap<String, Vec<u8>> {
    let mut found = std::collections::BTreeMap::new();
    for entry in fs::read_dir(run).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_file() {
            found.insert(name, fs::read(entry.path()).unwrap());
        } else {
            let inside = files(&entry.path()).into_iter();
            found.extend(inside.map(|(file, bytes)| (format!("{name}/{file}"), bytes)));
        }
    }
    found
}

/// Every sixth digit of the first 1800 as `x.csv`, one in four of them labeled; and of the others
/// the first 40 as `new.csv`.
pub(super) fn few(scene: &Scene) -> Collection {
    let x = digits("zer");
    let rows: Vec<usize> = (0..1800).step_by(6).collect();
    let some = |row: usize| match row % 24 {
        0 => class(&x, row).to_string(),
        _ => String::new(),
    };
    scene.text("x.csv", &table(&x, &rows, some));
    let rows: Vec<usize> = (1..1800).step_by(42).take(40).collect();
    scene.text("new.csv", &table(&x, &rows, |_| String::new()));
    x
}

#[test]
fn duplicates_are_grouped_printed_and_written() {
    let scene = Scene::new();
    scene.text(
        "x.csv",
        "id,label,a,b,c\np,cat,1,0,0\nq,,0,1,0\nr,cat,1,0,0\ns,dog,0,0,1\nt,cow,0,1,0.01\nu,owl,0,1,0.02\n",
    );
    let found = scene.json("duplicates x.csv -o d.csv");
    assert_eq!(found["items"], 6);
    assert_eq!(
        (&found["identical"], &found["near"]),
        (&1.into(), &2.into())
    );
    assert_eq!(found["conflicting"], 1);
    let ids = |group: usize| -> Vec<&str> {
        let items = found["groups"][group]["items"].as_array().unwrap();
        items
            .iter()
            .map(|item| item["id"].as_str().unwrap())
            .collect()
    };
    assert_eq!((ids(0), ids(1)), (vec!["q", "t", "u"], vec!["p", "r"]));
    let text = fs::read_to_string(scene.path("d.csv")).unwrap();
    assert!(
        text.starts_with("id,group,similarity,label\nq,1,0.9999"),
        "{text}"
    );
    assert!(text.ends_with("p,2,1,cat\nr,2,1,cat\n"), "{text}");
    let shown = scene.good("duplicates x.csv");
    assert!(
        shown.starts_with("3 of 6 items could go: 1 equal an earlier one"),
        "{shown}"
    );
    assert!(
        shown.contains("q, t, u") && shown.contains("! cow, owl"),
        "{shown}"
    );
    assert!(
        scene
            .good("duplicates x.csv --threshold 1")
            .contains("1 of 6 items could go")
    );
    scene.text("y.csv", "id,a,b\np,1,0\nq,0,1\n");
    assert!(scene.good("duplicates y.csv").contains("no two of 2 items"));
    // Bad input leaves nothing behind.
    assert!(
        scene
            .bad("duplicates x.csv --threshold 2", 2)
            .contains("--threshold")
    );
    assert!(
        scene
            .bad("duplicates x.csv -o d.txt", 2)
            .contains(".csv or .html")
    );
    assert!(
        scene
            .bad("duplicates x.csv -o x.csv", 2)
            .contains("this is read")
    );
    assert!(
        scene
            .bad("duplicates none.csv -o n.csv", 1)
            .contains("none.csv")
    );
    assert!(!scene.path("d.txt").exists() && !scene.path("n.csv").exists());
}

fn picture(path: &Path, side: u32, color: impl Fn(u32, u32) -> [u8; 3]) {
    let mut encoder = png::Encoder::new(fs::File::create(path).unwrap(), side, side);
    encoder.set_color(png::ColorType::Rgb);
    let places = (0..side).flat_map(|y| (0..side).map(move |x| (x, y)));
    let pixels: Vec<u8> = places.flat_map(|(x, y)| color(x, y)).collect();
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&pixels).unwrap();
}

#[test]
fn duplicates_of_images_are_a_page_with_pictures() {
    let scene = Scene::new();
    fs::create_dir(scene.path("photos")).unwrap();
    let bars = |x: u32, _: u32| if x % 16 < 8 { [255, 0, 0] } else { [0, 0, 40] };
    let rows = |_: u32, y: u32| if y % 16 < 8 { [0, 255, 0] } else { [60, 0, 0] };
    picture(&scene.path("photos/a.png"), 64, bars);
    picture(&scene.path("photos/b.png"), 128, |x, y| bars(x / 2, y / 2));
    picture(&scene.path("photos/c.png"), 64, rows);
    let found = scene.json("duplicates photos -o d.html");
    assert_eq!(found["groups"].as_array().unwrap().len(), 1, "{found}");
    let page = fs::read_to_string(scene.path("d.html")).unwrap();
    assert_eq!(page.matches("src=\"data:image/png").count(), 2);
    assert!(!page.contains("<script") && page.contains("a.png") && !page.contains("c.png"));
}

#[test]
fn swapped_labels_are_found_by_the_other_labels() {
    let scene = Scene::new();
    let x = digits("fac");
    // 5 % of the labels are of another class.
    let rows: Vec<usize> = (0..2000).collect();
    let swapped = |row: usize| row % 20 == 7;
    let label = |row: usize| {
        let class = class(&x, row);
        (if swapped(row) {
            (class + 1 + row as u32 / 20 % 9) % 10
        } else {
            class
        })
        .to_string()
    };
    scene.text("x.csv", &table(&x, &rows, label));
    scene.good("fit x.csv --recipe rca --split folds -q -o run");
    let found = scene.json("suspects run -o s.csv");
    assert_eq!(found["checked"], 2000);
    let suspects = found["suspects"].as_array().unwrap();
    let row = |id: &Value| id.as_str().unwrap()[1..].parse::<usize>().unwrap();
    let first = suspects.iter().take(100);
    let right = first.clone().filter(|s| swapped(row(&s["id"]))).count();
    let healed = first.filter(|s| {
        let right = class(&x, row(&s["id"])).to_string();
        s["suggested"] == right.as_str()
    });
    println!("of the first 100 of {}: {right} swapped", suspects.len());
    assert!(right >= 90, "{right} of {}", suspects.len());
    assert!(healed.count() >= 90);
    let text = fs::read_to_string(scene.path("s.csv")).unwrap();
    assert!(
        text.starts_with("rank,id,label,suggested,sure\n1,d"),
        "{text}"
    );
    assert_eq!(text.lines().count(), suspects.len() + 1);
    let shown = scene.good("suspects run -o s.html");
    assert!(shown.contains("labels contradict the others"), "{shown}");
    assert!(
        scene
            .bad("suspects run -o s.txt", 2)
            .contains(".csv or .html")
    );
    assert!(scene.bad("suspects x.csv", 1).contains("not a run"));
    assert!(
        scene
            .bad("suspects run -o run/items.parquet", 2)
            .contains("belongs to the run")
    );
}

#[test]
fn right_labels_are_not_suspicious() {
    let scene = Scene::new();
    let mut text = "id,label,a,b\n".to_owned();
    for i in 0..40 {
        let turn = f64::from(i % 20) / 100.0;
        let line = if i < 20 {
            format!("i{i},left,1,{turn}\n")
        } else {
            format!("i{i},right,{turn},1\n")
        };
        text.push_str(&line);
    }
    scene.text("x.csv", &text);
    scene.good("fit x.csv --recipe rca --split folds -q -o run");
    let shown = scene.good("suspects run");
    assert!(
        shown.starts_with("nothing suspicious: none of 40 labels"),
        "{shown}"
    );
}

#[test]
fn an_index_of_embeddings_is_searched_by_itself() {
    let scene = Scene::new();
    let x = digits("fac");
    let matrix = x.view(None).unwrap().matrix.view();
    let rows = |rows: std::ops::Range<usize>| matrix.slice(ndarray::s![rows, ..]);
    likewise_io::write_npy(scene.path("emb.npy"), rows(0..300)).unwrap();
    likewise_io::write_npy(scene.path("q.npy"), rows(290..330)).unwrap();
    for kind in ["flat", "hnsw"] {
        scene.good(&format!("index emb.npy -o {kind} --kind {kind} -q"));
        let exact = scene.json(&format!("search {kind} --query q.npy -k 3 --exact"));
        let answers = scene.json(&format!("search {kind} --query q.npy -k 3"));
        assert_eq!(answers[0]["hits"][0]["id"], exact[0]["hits"][0]["id"]);
        assert_eq!(answers[2]["hits"][0]["id"], "292");
        assert_eq!(answers.as_array().unwrap().len(), 40);
    }
    let one = scene.json("search flat --id 7 -k 2");
    assert_eq!(one[0]["hits"].as_array().unwrap().len(), 2);
    assert_ne!(one[0]["hits"][0]["id"], "7");
    // Ids and labels of a table stay, and it may be made anew.
    scene.text("x.csv", "id,label,a,b\np,cat,1,0\nq,dog,0,1\nr,,1,1\n");
    scene.good("index x.csv -o flat --kind flat");
    let one = scene.json("search flat --id p -k 2");
    assert_eq!(one[0]["hits"][0]["id"], "r");
    assert_eq!(one[0]["hits"][1]["label"], "dog");
    scene.good("search flat --id p --dry-run");
    let said = scene.bad("search flat --query q.npy", 1);
    assert!(
        said.contains("216 columns") && said.contains(" 2;"),
        "{said}"
    );
    assert!(
        scene
            .bad("search flat --id z", 1)
            .contains("no item with id \"z\"")
    );
    assert!(scene.bad("search flat --id p -k 0", 2).contains("k = 0"));
    // Half of one is no index, and what belongs to others stays.
    fs::remove_file(scene.path("hnsw/embeddings.npy")).unwrap();
    assert!(
        scene
            .bad("search hnsw --id 7", 1)
            .contains("embeddings.npy")
    );
    fs::create_dir(scene.path("own")).unwrap();
    scene.text("own/items.parquet", "mine");
    assert!(
        scene
            .bad("index emb.npy -o own", 2)
            .contains("items.parquet")
    );
    assert_eq!(fs::read(scene.path("own/items.parquet")).unwrap(), b"mine");
}

#[test]
fn embeddings_with_what_is_known_come_back_as_a_view() {
    let scene = Scene::new();
    few(&scene);
    scene.good("fit x.csv --recipe mixed-lp --epochs 1 --split folds -q -o run");
    scene.good("embed run x.csv -o e.parquet -q");
    scene.good("embed run x.csv -o e.npy -q");
    let path = scene.path("e.parquet");
    let read = likewise_io::read(&path, &ReadOptions::default(), &Monitor::silent()).unwrap();
    let npy = likewise_io::read_matrix(scene.path("e.npy"), None).unwrap();
    assert_eq!(read.view(None).unwrap().name, "vector");
    assert_eq!(read.view(None).unwrap().matrix, npy);
    assert_eq!(read.ids()[1], "d6");
    assert_eq!(read.labels.as_ref().unwrap().n_known(), 75);
    let known = likewise_io::items::read(&path).unwrap();
    let run = likewise_io::items::read(scene.path("run/items.parquet")).unwrap();
    for (known, run) in known.iter().zip(&run) {
        assert_eq!(known.pseudo_label, run.pseudo_label);
        assert_eq!(known.confidence, run.confidence);
    }
    assert!(known.iter().all(|item| item.pseudo_label.is_some()));
    // It is data like any other.
    assert!(scene.good("doctor e.parquet").contains("vector"));
    assert_eq!(scene.json("index e.parquet -o ix")["items"], 300);
    // With what is believed of its items.
    let answers = scene.json("search ix --id d6 -k 1");
    assert_eq!(answers[0]["hits"].as_array().unwrap().len(), 1);
    let hit = &answers[0]["hits"][0];
    let item = run.iter().find(|item| hit["id"] == item.id.as_str());
    let item = item.unwrap();
    assert_eq!(hit["pseudo_label"].as_str(), item.pseudo_label.as_deref());
    assert!(hit["confidence"].is_number(), "{hit}");
    // Other items of the same id are other items.
    let text = fs::read_to_string(scene.path("new.csv"))
        .unwrap()
        .replacen("d1,", "d6,", 1);
    scene.text("other.csv", &text);
    scene.good("embed run other.csv -o o.parquet -q");
    let other = likewise_io::items::read(scene.path("o.parquet")).unwrap();
    assert!(
        other
            .iter()
            .all(|item| item.pseudo_label.is_none() && item.confidence.is_none())
    );
    let said = scene.bad("embed run x.csv -o e.txt", 2);
    assert!(said.contains(".npy or .parquet"), "{said}");
    assert!(!scene.path("e.txt").exists());
}

#[test]
fn classes_and_confusion_are_written_of_embeddings_and_of_runs() {
    let scene = Scene::new();
    let x = digits("fac");
    let rows: Vec<usize> = (0..x.len()).step_by(4).collect();
    scene.text(
        "t.csv",
        &table(&x, &rows, |row| format!("d{}", class(&x, row))),
    );
    let all = scene.json("eval t.csv --no-nmi --classes c.csv --confusion f.csv");
    let classes = all["classes"].as_array().unwrap();
    assert_eq!(classes.len(), 10);
    let written = fs::read_to_string(scene.path("c.csv")).unwrap();
    let lines: Vec<&str> = written.lines().collect();
    assert_eq!(lines[0], "class,queries,recall@1,map_at_r,taken_for,times");
    assert_eq!(lines.len(), 11);
    // Each query has a first answer, and those of their own class make R@1.
    let confusion = fs::read_to_string(scene.path("f.csv")).unwrap();
    let (mut right, mut queries) = (0.0, 0.0);
    for line in confusion.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let times: f64 = cells[2].parse().unwrap();
        queries += times;
        right += if cells[0] == cells[1] { times } else { 0.0 };
    }
    assert!((queries - rows.len() as f64).abs() < 1e-9);
    assert!((right / queries - all["recall"]["1"].as_f64().unwrap()).abs() < 1e-9);

    scene.good("fit t.csv --recipe rca --split item --labels-per-class 5 --draws 2 -o run -q");
    let metrics = scene.json("eval run --classes of-run.csv");
    let asked: u64 = (metrics["classes"].as_array().unwrap().iter())
        .map(|class| class["queries"].as_u64().unwrap())
        .sum();
    // Both draws ask the same queries.
    assert_eq!(asked, 2 * metrics["n_queries"].as_u64().unwrap());
    assert!(scene.path("of-run.csv").exists());
    // Each class asks with its own items of the test part, once a draw.
    let items = likewise_io::items::read(scene.path("run/items.parquet")).unwrap();
    for class in metrics["classes"].as_array().unwrap() {
        let own = items.iter().filter(|item| {
            item.split == Some(likewise::Part::Test)
                && item.label.as_deref() == class["class"].as_str()
        });
        assert_eq!(
            class["queries"].as_u64().unwrap() as usize,
            2 * own.count(),
            "{class}"
        );
    }
    // Which labels each draw was shown stands beside the items.
    let items = likewise_io::items::read(scene.path("run/items.parquet")).unwrap();
    for draw in ["0", "1"] {
        let shown = items.iter().filter(|item| {
            let draws = item.drawn.as_deref().unwrap_or_default();
            item.split == Some(likewise::Part::Train) && draws.split(' ').any(|d| d == draw)
        });
        assert_eq!(shown.count(), 50, "draw {draw}");
    }
    assert!(
        items
            .iter()
            .all(|item| item.drawn.is_none() || item.split != Some(likewise::Part::Test))
    );

    // A file that is not there yet is one file, too.
    for [one, other] in [
        ["c.csv", "c.csv"],
        ["new.csv", "new.csv"],
        ["new.csv", "./new.csv"],
    ] {
        let command = format!("eval t.csv --classes {one} --confusion {other}");
        let text = scene.bad(&command, 2);
        assert!(text.contains("name two"), "{text}");
    }
    assert!(!scene.path("new.csv").exists());
    scene.bad("eval t.csv --classes c.parquet", 2);
    scene.bad("eval t.csv --classes t.csv", 2);
    scene.good("fit t.csv --recipe rca --split folds --labels-per-class 5 -o folds -q");
    let text = scene.bad("eval folds --classes c2.csv", 1);
    assert!(text.contains("no test part"), "{text}");
    assert!(!scene.path("c2.csv").exists());
}

#[test]
fn features_are_written_as_they_are_read() {
    let scene = Scene::new();
    scene.text(
        "t.csv",
        "id,colour,size,label\na,red,1,x\nb,blue,2,\nc,red,3,y\n",
    );
    let said = scene.json("features t.csv -o f.parquet");
    assert_eq!(said["items"], 3);
    let monitor = Monitor::silent();
    let read = likewise_io::read(scene.path("f.parquet"), &ReadOptions::default(), &monitor);
    let read = read.unwrap();
    assert_eq!(read.ids(), ["a", "b", "c"]);
    assert_eq!(read.labels.as_ref().unwrap()[1], Label::Unknown);
    assert_eq!(
        read.view(Some("vector")).unwrap().matrix.ncols() as u64,
        said["columns"].as_u64().unwrap()
    );
    scene.good("features t.csv -o f.npy");
    let text = scene.bad("features t.csv -o f.txt", 2);
    assert!(text.contains("features are written to"), "{text}");
    scene.bad("features t.csv -o t.csv", 2);
}

#[test]
fn what_a_run_was_made_of_is_no_output() {
    let scene = Scene::new();
    few(&scene);
    scene.text("y.csv", "id,label\nd0,0\nd6,0\nd300,1\nd306,1\n");
    scene.good("fit x.csv --labels=y.csv --recipe start --split folds -q -o run");
    let (data, labels) = (fs::read(scene.path("x.csv")), fs::read(scene.path("y.csv")));
    for command in [
        "suspects run -o x.csv",
        "suspects run -o ./y.csv",
        "eval run --classes y.csv",
        "eval run --confusion x.csv",
    ] {
        let said = scene.bad(command, 2);
        assert!(said.contains("the run run was made of this file"), "{said}");
    }
    for (command, says) in [
        ("embed run x.csv --labels y.npy -o y.npy", "this is read"),
        ("embed run x.csv -o run", "the run itself"),
    ] {
        scene.text("y.npy", "labels");
        let said = scene.bad(command, 2);
        assert!(said.contains(says), "{command}: {said}");
        assert_eq!(fs::read(scene.path("y.npy")).unwrap(), b"labels");
    }
    scene.good("suspects run -o s.csv");
    assert_eq!(fs::read(scene.path("x.csv")).unwrap(), data.unwrap());
    assert_eq!(fs::read(scene.path("y.csv")).unwrap(), labels.unwrap());

    // A file of settings may name them too.
    scene.text("run.settings", "[fit]\nlabels = \"y.csv\"\n");
    scene.good("fit x.csv --config run.settings --recipe start --split folds -q -o named");
    let said = scene.bad("suspects named -o y.csv", 2);
    assert!(
        said.contains("the run named was made of this file"),
        "{said}"
    );
}

#[test]
fn what_is_read_beside_the_data_is_no_output() {
    let scene = Scene::new();
    fs::create_dir(scene.path("photos")).unwrap();
    for i in 0..2_u8 {
        let mut photo = b"P6 8 8 255\n".to_vec();
        photo.extend((0..192).map(|at: u8| at.wrapping_mul(i + 1)));
        fs::write(scene.path(&format!("photos/{i}.ppm")), photo).unwrap();
    }
    let table = "file_name,label\n0.ppm,cat\n1.ppm,dog\n";
    scene.text("photos/metadata.csv", table);
    scene.good("features photos -o f.npy");
    let before = files(&scene.path("photos"));
    for command in [
        "duplicates photos -o photos/metadata.csv",
        "features photos -o photos/metadata.parquet",
    ] {
        let said = scene.bad(command, 2);
        assert!(said.contains("read with the images"), "{command}: {said}");
    }
    assert_eq!(files(&scene.path("photos")), before);
    // The labels beside pictures in the form of MNIST.
    let pictures = [0, 0, 8, 3, 0, 0, 0, 6, 0, 0, 0, 2, 0, 0, 0, 2];
    let pixels = (0..24_u8).map(|at| at.wrapping_mul(37));
    let pictures: Vec<u8> = pictures.into_iter().chain(pixels).collect();
    let labels = [0_u8, 0, 8, 1, 0, 0, 0, 6, 0, 1, 0, 1, 0, 1];
    fs::write(scene.path("train-images-idx3-ubyte"), pictures).unwrap();
    fs::write(scene.path("train-labels-idx1-ubyte"), labels).unwrap();
    let graph = "graph train-images-idx3-ubyte -k 2 -o";
    let said = scene.bad(&format!("{graph} train-labels-idx1-ubyte"), 2);
    assert!(said.contains("this is read"), "{said}");
    assert_eq!(
        fs::read(scene.path("train-labels-idx1-ubyte")).unwrap(),
        labels
    );
    scene.good(&format!("{graph} g.npz"));
}

#[test]
fn sizes_of_classes_are_read_and_held() {
    let scene = Scene::new();
    few(&scene);
    let whole = "class,size\n0,30\n1,30\n2,30\n3,30\n4,30\n5,30\n6,30\n7,30\n8,30\n";
    scene.text("sizes.csv", whole);
    let with = |sizes: &str, method: &str| {
        format!(
            "propagate x.csv --method {method} --class-sizes {sizes} --symmetrize one-sided=0.1 -k 10 -o b.npz -q"
        )
    };
    let counts = |scene: &Scene| -> Vec<usize> {
        let found = likewise_io::beliefs::read(scene.path("b.npz"))
            .unwrap()
            .beliefs;
        let of = |class| {
            found
                .pseudo_label
                .iter()
                .filter(|c| **c == Some(class))
                .count()
        };
        (0..9).map(of).collect()
    };
    for method in ["lgc", "mixed", "poisson", "poisson-mbo"] {
        scene.good(&with("sizes.csv", method));
        assert!(
            counts(&scene).iter().all(|n| n.abs_diff(33) <= 3),
            "{:?}",
            counts(&scene)
        );
        let read = counts(&scene);
        scene.good(&with("balanced", method));
        assert_eq!(counts(&scene), read);
    }
    scene.good(&with("within=1.5", "poisson-mbo"));
    assert!(counts(&scene).iter().all(|n| (19..=53).contains(n)));
    for (name, text, says) in [
        ("few.csv", "class,size\n0,30\n".to_owned(), "has no size"),
        ("word.csv", whole.replace("4,30", "4,many"), "no number"),
        ("zero.csv", whole.replace("4,30", "4,0"), "not above 0"),
        ("other.csv", whole.replace("4,30", "cat,30"), "cat"),
    ] {
        scene.text(name, &text);
        let said = scene.bad(&with(name, "poisson-mbo"), 1);
        assert!(said.contains(name) && said.contains(says), "{said}");
    }
    // What is not there is told before anything is read.
    for more in ["--dry-run", "-o b.npz"] {
        let said = scene.bad(
            &format!("propagate x.csv --class-sizes nosuch.csv {more}"),
            1,
        );
        assert!(said.contains("nosuch.csv"), "{said}");
    }
    let said = scene.bad(&with("within", "poisson"), 2);
    assert!(said.contains("there are balanced, labeled"), "{said}");
    // A class that takes most is as large as was asked for.
    let most = whole.replace("0,30\n1,30", "0,2000\n1,30");
    scene.text("most.csv", &most);
    let answer = scene.json(&with("most.csv", "lgc"));
    let counts = answer["balance"]["counts"].as_array().unwrap();
    assert!(counts[0].as_u64().unwrap() > 150, "{counts:?}");
    assert!(answer["balance"]["warning"].is_null(), "{answer}");
    assert!(
        scene
            .bad(&with("sizes.csv", "harmonic"), 2)
            .contains("--class-sizes")
    );
    assert!(
        scene
            .bad(&with("within=x", "poisson"), 2)
            .contains("within=2")
    );
    let said = scene.bad("propagate x.csv --symmetrize one-sided=3 -o b.npz", 2);
    assert!(said.contains("from 0 to 1"), "{said}");
}

/// A table of three numbers an item, the first in thousands; the eighth item lacks its `width` where it is said so.
fn of_units(scene: &Scene, name: &str, lacks: bool) {
    let line = |i: usize| {
        let label = if i < 10 { ["a", "b"][i % 2] } else { "" };
        let part = |times: usize| (i % 2) as f64 + (i * times % 11) as f64 / 11.0;
        let width = match i {
            7 if lacks => String::new(),
            _ => format!("{:.2}", part(7)),
        };
        let weight = 1000 * (i * 13 % 29);
        format!("i{i},{label},{weight},{width},{:.2}\n", part(3))
    };
    let lines: String = (0..40).map(line).collect();
    scene.text(name, &format!("id,label,weight,width,height\n{lines}"));
}

#[test]
fn columns_of_different_units_are_told_of_by_name_and_not_warned_of_where_they_are_scaled() {
    let scene = Scene::new();
    of_units(&scene, "x.csv", false);
    let said = |command: &str| {
        let arguments: Vec<&str> = command.split(' ').collect();
        let output = program::likewise(scene.at(), &arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{command}: {said}");
        said
    };
    for command in ["graph x.csv -k 5 -o g.npz", "propagate x.csv -k 5 -o b.npz"] {
        let usual = said(command);
        assert!(
            usual.contains("column \"weight\" holds 100.0 % of the variance of 3 columns"),
            "{usual}"
        );
        assert!(usual.contains("--standardize no keeps them"), "{usual}");
        assert!(!usual.contains("carries"), "{usual}");
        let forced = said(&format!("{command} --standardize yes"));
        assert!(
            !forced.contains("one scale") && !forced.contains("carries"),
            "{forced}"
        );
        let kept = said(&format!("{command} --standardize no"));
        assert!(kept.contains("column \"weight\" carries"), "{kept}");
        assert!(!kept.contains("one scale"), "{kept}");
    }
    let mined = said("mine x.csv --from affinity --kind pairs -k 5 -o p.csv");
    assert!(
        !mined.contains("carries") && !mined.contains("--standardize"),
        "{mined}"
    );
    assert!(mined.contains("one scale for the graph"), "{mined}");
}

#[test]
fn columns_that_were_scaled_as_they_were_read_cannot_be_kept() {
    let scene = Scene::new();
    of_units(&scene, "x.csv", true);
    for command in ["graph x.csv -k 5 -o g.npz", "propagate x.csv -k 5 -o b.npz"] {
        let said = scene.bad(&format!("{command} -q --standardize no"), 2);
        assert!(
            said.contains("--standardize no has no effect on x.csv"),
            "{said}"
        );
        scene.good(&format!("{command} -q"));
    }
}
