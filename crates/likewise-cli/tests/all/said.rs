//! What was found to be said wrongly, or not at all.

use std::fmt::Write as _;
use std::fs;

use ndarray::Array2;
use serde_json::Value;

use crate::daily::Scene;
use crate::program;

/// What is printed by a command that ends with `code`, and what it says beside.
#[track_caller]
fn told(scene: &Scene, command: &str, code: i32) -> (String, String) {
    let arguments: Vec<&str> = command.split(' ').collect();
    let output = program::likewise(scene.at(), &arguments);
    let [shown, said] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert_eq!(output.status.code(), Some(code), "{command}: {said}");
    (shown, said)
}

/// A number from -1 to 1 that nothing orders, and more where the column is of the class of the row.
fn value(i: usize, j: usize) -> f32 {
    let drawn = ((i * 7919 + j * 104_729 + i * j * 31) % 1000) as f32 / 500.0 - 1.0;
    drawn + f32::from(u8::from(i % 3 == j))
}

/// 60 items of three classes, and before their features what is said of each.
fn table(head: &str, own: impl Fn(usize) -> String) -> String {
    let mut text = format!("{head},a,b,c,d\n");
    for i in 0..60 {
        let [a, b, c, d] = [0, 1, 2, 3].map(|j| value(i, j));
        writeln!(text, "{},{a},{b},{c},{d}", own(i)).unwrap();
    }
    text
}

/// The same features alone.
fn features() -> Array2<f32> {
    Array2::from_shape_fn((60, 4), |(i, j)| value(i, j))
}

fn write(scene: &Scene, name: &str, x: &Array2<f32>) {
    likewise_io::write_npy(scene.path(name), x.view()).unwrap();
}

fn json(scene: &Scene, name: &str) -> Value {
    serde_json::from_slice(&fs::read(scene.path(name)).unwrap()).unwrap()
}

#[test]
fn a_fit_counts_the_test_items_that_have_no_other_one_of_their_class() {
    let scene = Scene::new();
    let split = |i: usize| ["test", "train"][i % 2];
    // Two of the 30 that are tested are the only ones of their classes there.
    for alone in [0, 2] {
        let class = |i: usize| if i < 2 * alone { i + 3 } else { i % 3 };
        let own = |i: usize| format!("i{i},c{},{}", class(i), split(i));
        scene.text("x.csv", &table("id,label,split", own));
        let shown = scene.good("fit x.csv --recipe rca -q -o run --overwrite");
        let asking = format!("{} queries over 30 items", 30 - alone);
        assert!(shown.contains(&asking), "{shown}");
        let left_out = format!("Left out: {alone} test items that have no other one");
        assert_eq!(shown.contains(&left_out), alone > 0, "{shown}");
        assert_eq!(shown.contains("Left out"), alone > 0, "{shown}");
        let metrics = json(&scene, "run/metrics.json");
        assert_eq!(metrics["n_queries"], 30 - alone);
    }
}

#[test]
fn where_all_items_are_to_train_on_all_labels_are_fitted() {
    let scene = Scene::new();
    let own = |i: usize| format!("i{i},c{},train", i % 3);
    scene.text("x.csv", &table("id,label,split", own));
    let shown = scene.good("fit x.csv --recipe rca -q -o run");
    assert!(
        shown.contains("60 labels were kept back in turn") && shown.contains("all 60 items"),
        "{shown}"
    );
    let metrics = json(&scene, "run/metrics.json");
    assert_eq!(metrics["split"], "folds");
    assert_eq!(metrics["per_draw"][0]["labels"], 60);
    // Nothing can be tested as the data say, and what else there is is named.
    let said = scene.bad("fit x.csv --recipe rca --split given -q -o given", 1);
    assert!(
        said.contains("no two labeled items of one class to test on")
            && said.contains("measured by folds"),
        "{said}"
    );
    assert!(!scene.path("given").exists());
}

/// Makes `run` as a process leaves it that was fitting what `whole` is of, and was killed.
fn cut(scene: &Scene) {
    let run = scene.path("run");
    let _ = fs::remove_dir_all(&run);
    for folder in ["unfinished", "checkpoints"] {
        fs::create_dir_all(run.join(folder)).unwrap();
    }
    fs::copy(
        scene.path("whole/config.json"),
        run.join("unfinished/config.json"),
    )
    .unwrap();
    let record = json(scene, "whole/run.json");
    let origin = serde_json::json!({
        "data_sha256": record["data_sha256"],
        "named_by": record["named_by"],
        "read_as": record["read_as"],
    });
    scene.text("run/unfinished/origin.json", &origin.to_string());
    scene.text("run/checkpoints/draw-0.safetensors", "a training");
}

/// Changes what an interrupted fit has noted.
#[track_caller]
fn noted(scene: &Scene, file: &str, from: &str, to: &str) {
    let path = scene.path(&format!("run/unfinished/{file}"));
    let text = fs::read_to_string(&path).unwrap();
    let changed = text.replacen(from, to, 1);
    assert_ne!(changed, text, "{from}");
    fs::write(path, changed).unwrap();
}

/// Fails where what was interrupted is gone on with, or lost.
#[track_caller]
fn is_not_resumed(scene: &Scene, command: &str, words: &[&str]) {
    let (_, said) = told(scene, command, 2);
    for word in words {
        assert!(said.contains(word), "{command}: no {word:?} in {said}");
    }
    assert!(said.contains("--overwrite to begin anew"), "{said}");
    assert!(scene.path("run/checkpoints/draw-0.safetensors").exists());
    assert!(!scene.path("run/run.json").exists());
}

/// What is interrupted with the same settings is gone on with.
#[track_caller]
fn is_resumed(scene: &Scene, command: &str) {
    let (_, said) = told(scene, command, 0);
    assert!(!said.contains("no interrupted fit"), "{said}");
    assert!(scene.path("run/run.json").exists());
    assert!(!scene.path("run/checkpoints").exists());
}

#[test]
fn a_fit_of_another_version_is_not_resumed() {
    let scene = Scene::new();
    scene.text("x.csv", &table("id,label", |i| format!("i{i},c{}", i % 3)));
    scene.good("fit x.csv --recipe start -q -o whole");
    let resume = "fit x.csv --recipe start -o run --resume";
    let own = env!("CARGO_PKG_VERSION");
    cut(&scene);
    noted(&scene, "config.json", own, "0.0.1");
    is_not_resumed(&scene, resume, &["of version 0.0.1", own]);
    noted(&scene, "config.json", "0.0.1", own);
    is_resumed(&scene, resume);
}

#[test]
fn a_fit_that_reads_images_in_another_way_is_not_resumed() {
    let scene = Scene::new();
    let photo = |name: &str| format!("photos/{name}.ppm");
    fs::create_dir(scene.path("photos")).unwrap();
    for i in 0..8_u8 {
        // Wider than high, so that it matters whether the whole is squeezed.
        let pixels = (0..96_u8).flat_map(|p| [20 + i * 25, p * 2, p % 12 * (i + 1)]);
        let image = b"P6 12 8 255\n".iter().copied().chain(pixels);
        fs::write(
            scene.path(&photo(&i.to_string())),
            image.collect::<Vec<u8>>(),
        )
        .unwrap();
    }
    let fit = "fit photos --recipe start -o";
    scene.good(&format!("{fit} whole -q"));
    let resume = format!("{fit} run --resume");
    let others = ["of other data or settings"];
    cut(&scene);
    is_not_resumed(&scene, &format!("{resume} --squeeze"), &others);
    is_not_resumed(&scene, &format!("{resume} --encoder hist"), &others);
    // The side goes with a network alone; here as a fit by one notes it.
    noted(&scene, "origin.json", "side None", "side Some(8)");
    is_not_resumed(&scene, &resume, &others);
    noted(&scene, "origin.json", "side Some(8)", "side None");
    // No image of these is bad, so that none is left out.
    is_resumed(&scene, &format!("{resume} --skip-bad"));

    // One that was left out is left out again; as soon as it can be read, the data are others.
    let bad = scene.path(&photo("8"));
    fs::write(&bad, "P6 12 8 255\n").unwrap();
    scene.good(&format!("{fit} whole -q --overwrite --skip-bad"));
    cut(&scene);
    let (_, said) = told(&scene, &resume, 1);
    assert!(
        said.contains("8.ppm") && said.contains("--skip-bad"),
        "{said}"
    );
    fs::copy(scene.path(&photo("7")), &bad).unwrap();
    for more in ["", " --skip-bad"] {
        is_not_resumed(&scene, &format!("{resume}{more}"), &others);
    }
    fs::write(&bad, "P6 12 8 255\n").unwrap();
    is_resumed(&scene, &format!("{resume} --skip-bad"));
}

#[test]
fn queries_that_find_themselves_in_a_gallery_without_ids_are_counted() {
    let scene = Scene::new();
    let mut x = features();
    // Nothing is like a row of zeros, itself included.
    x.row_mut(7).fill(0.0);
    write(&scene, "q.npy", &x);
    let mut others = x.mapv(|v| 1.25 * v + 0.01);
    for row in (0..60).step_by(3) {
        others.row_mut(row).assign(&x.row(row));
    }
    others.row_mut(7).fill(0.0);
    write(&scene, "g.npy", &others);
    let labels: Vec<String> = (0..60).map(|i| format!("{i},c{}\n", i % 3)).collect();
    scene.text("l.csv", &format!("id,label\n{}", labels.concat()));
    let eval = "eval q.npy --labels l.csv --no-nmi --json";
    let warned = |gallery: &str| {
        let gallery = format!("{eval} --gallery {gallery} --gallery-labels l.csv");
        let (shown, said) = told(&scene, &gallery, 0);
        let answer: Value = serde_json::from_str(&shown).unwrap();
        (answer["recall"]["1"].as_f64().unwrap(), said)
    };
    for (gallery, count) in [("g.npy", 20), ("q.npy", 59)] {
        let (recall, said) = warned(gallery);
        let wanted = format!("{count} of the 60 queries stand in the gallery");
        assert!(
            said.contains(&wanted) && said.contains("find themselves"),
            "{said}"
        );
        assert!(said.contains("give both sides ids"), "{said}");
        // They are so many right answers at least.
        assert!(recall >= f64::from(count) / 60.0, "{recall}");
    }
    let moved = x.mapv(|v| 1.25 * v + 0.01);
    write(&scene, "g.npy", &moved);
    assert_eq!(warned("g.npy").1, "");
    // With ids nothing finds itself.
    scene.text("x.csv", &table("id,label", |i| format!("i{i},c{}", i % 3)));
    let (with, said) = told(&scene, "eval x.csv --gallery x.csv --no-nmi", 0);
    assert_eq!(said, "");
    assert_eq!(with, scene.good("eval x.csv --no-nmi"));
}

/// The lines of warning of the doctor, and the view that they are of.
fn doctor(scene: &Scene, x: &Array2<f32>) -> (String, Value) {
    write(scene, "x.npy", x);
    let shown = scene.good("doctor x.npy");
    let lines = shown.lines().filter(|line| line.starts_with('!'));
    let seen = scene.json("doctor x.npy");
    (
        lines.collect::<Vec<_>>().join("\n"),
        seen["views"][0].clone(),
    )
}

#[test]
fn the_doctor_names_items_that_are_far_longer_than_others() {
    let scene = Scene::new();
    let mut x = features();
    assert!(!doctor(&scene, &x).0.contains("times as long"));
    x.row_mut(17).mapv_inplace(|v| v * 1e6);
    let (said, _) = doctor(&scene, &x);
    assert!(
        said.contains("item 17 is over 1,000 times as long"),
        "{said}"
    );
    x.row_mut(40).mapv_inplace(|v| v * 1e30);
    let (said, _) = doctor(&scene, &x);
    assert!(
        said.contains("2 items are over 1,000 times as long") && said.contains("first: 17"),
        "{said}"
    );
}

#[test]
fn to_the_doctor_tiny_rows_are_no_zeros() {
    let scene = Scene::new();
    let mut x = features().mapv(|v| v * 1e-30);
    let (said, view) = doctor(&scene, &x);
    assert_eq!(view["zero_rows"], 0);
    assert!(
        !said.contains("rows of zeros") && !said.contains("times as long"),
        "{said}"
    );
    for row in [7, 8] {
        x.row_mut(row).fill(0.0);
    }
    let (said, view) = doctor(&scene, &x);
    assert_eq!(view["zero_rows"], 2);
    assert!(said.contains("2 rows of zeros"), "{said}");
}

#[test]
fn the_doctor_advises_to_centre_what_points_the_same_way() {
    let scene = Scene::new();
    // One direction of all items, and one that each shares with its opposite: two items have the
    // cosine `common`, but for the opposites.
    let x = |common: f32| {
        Array2::from_shape_fn((40, 21), |(i, j)| match j {
            0 => common.sqrt(),
            _ if j == 1 + i / 2 => (1.0 - common).sqrt() * [1.0, -1.0][i % 2],
            _ => 0.0,
        })
    };
    for (common, mean, warns) in [
        (0.55, "0.538", false),
        (0.65, "0.641", true),
        (0.9, "0.897", true),
    ] {
        let (said, view) = doctor(&scene, &x(common));
        let cosine = view["mean_cosine"].as_f64().unwrap();
        assert_eq!(format!("{cosine:.3}"), mean);
        let line = said.lines().find(|line| line.contains("the same way"));
        assert_eq!(line.is_some(), warns, "{said}");
        if let Some(line) = line {
            assert!(line.contains(&format!("mean cosine {mean}")), "{line}");
            assert!(line.contains("(--center)"), "{line}");
        }
    }
}

#[test]
fn what_trainings_of_an_older_run_told_goes_with_it() {
    let scene = Scene::new();
    let own = |i: usize| format!("i{i},c{}", i % 3);
    scene.text("x.csv", &table("id,label", own));
    scene.text("unlabeled.csv", &table("id", |i| format!("i{i}")));
    let trainings = || -> Vec<String> {
        let folders = fs::read_dir(scene.path("run/events")).unwrap();
        let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
        folders.map(|entry| name(entry.unwrap())).collect()
    };
    let of_rounds = || trainings().iter().any(|name| name.starts_with("round-"));
    scene.good("fit x.csv --recipe rca --split folds -q -o run");
    assert!(of_rounds());
    scene.good("fit x.csv --recipe rca --split item -q -o run --overwrite");
    assert!(!trainings().is_empty() && !of_rounds());
    // Without labels nothing is trained.
    scene.good("fit unlabeled.csv --recipe rca -q -o run --overwrite");
    assert!(scene.path("run/run.json").exists());
    assert!(!scene.path("run/events").exists());
}
