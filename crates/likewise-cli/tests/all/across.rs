//! Search from one view to another: from the fit to the answer, and what is refused.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use likewise_nn::cross::Learner;
use likewise_study::run_folder::AcrossFolder;
use ndarray::Array2;
use serde_json::Value;

use crate::pages::{npy, npy_matrix};
use crate::program::{likewise, succeeds};

mod texts;

const N: usize = 120;

#[test]
fn labels_of_other_data_stay_with_those_when_a_run_across_views_takes_their_place() {
    let folder = pairs();
    let at = folder.path();
    succeeds(at, &fit("cca", "run", &[]));
    let line =
        "{\"sequence\":1,\"time\":\"2026-01-01T00:00:00Z\",\"what\":\"label\",\"items\":[]}\n";
    fs::write(at.join("run/labels.jsonl"), line).unwrap();
    succeeds(at, &fit("cca", "run", &["--overwrite"]));
    assert!(at.join("run/labels.jsonl").exists());
    let (image, text) = (view(5, 3), view(4, 4));
    let views = [("image", &image), ("text", &text)];
    archive(&at.join("pairs.npz"), &views, &labels());
    succeeds(at, &fit("cca", "run", &["--overwrite"]));
    assert!(!at.join("run/labels.jsonl").exists());
    assert_eq!(
        fs::read_to_string(at.join("run/labels.jsonl.1")).unwrap(),
        line
    );
}

/// Three classes, of which each view tells two apart well; a fixed noise, the same on every machine.
fn view(columns: usize, seed: u64) -> Array2<f32> {
    let mut state = seed;
    let mut noise = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ((state >> 40) as f32 / 16_777_216.0 - 0.5) * 1.2
    };
    Array2::from_shape_fn((N, columns), |(i, j)| {
        let class = i % 3;
        noise() + if j % 3 == class { 1.5 } else { 0.0 }
    })
}

/// Matrices by their names, and labels, if there are any.
pub(crate) fn archive(path: &Path, views: &[(&str, &Array2<f32>)], labels: &[i64]) {
    let mut archive = zip::ZipWriter::new(fs::File::create(path).unwrap());
    let values: Vec<u8> = labels
        .iter()
        .flat_map(|label| label.to_le_bytes())
        .collect();
    let labels = (
        "label".to_owned(),
        npy("<i8", &format!("({},)", labels.len()), &values),
    );
    let views = views
        .iter()
        .map(|(name, x)| ((*name).to_owned(), npy_matrix(x.view())));
    let labels = (!values.is_empty()).then_some(labels);
    for (name, bytes) in views.chain(labels) {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(format!("{name}.npy"), options).unwrap();
        archive.write_all(&bytes).unwrap();
    }
    archive.finish().unwrap();
}

fn labels() -> Vec<i64> {
    (0..N).map(|i| (i % 3) as i64).collect()
}

/// A folder with `pairs.npz`: views image and text, and a label for all.
fn pairs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let (image, text) = (view(5, 1), view(4, 2));
    let views = [("image", &image), ("text", &text)];
    archive(&folder.path().join("pairs.npz"), &views, &labels());
    let of_image = npy_matrix(image.slice(ndarray::s![..2, ..]));
    fs::write(folder.path().join("images.npy"), of_image).unwrap();
    folder
}

fn fit<'a>(recipe: &'a str, out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let both = ["--view", "image", "--view", "text"];
    let fit = ["fit", "pairs.npz", "--recipe", recipe, "-q", "-o", out];
    [&fit[..], &both, more].concat()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
#[allow(clippy::float_cmp)] // Two names of one number.
fn a_query_of_one_view_finds_items_of_another_both_ways() {
    let folder = pairs();
    let at = folder.path();
    let more = ["--label-fraction", "0.1", "--draws", "2", "--json"];
    let results = json(&succeeds(at, &fit("mixed+gsph", "run", &more)));
    let map50 = &results["map50"];
    let value = |key: &str| map50[key].as_f64().unwrap();
    assert_eq!(value("a_to_b"), value("image_to_text"));
    assert_eq!(value("b_to_a"), value("text_to_image"));
    assert!((value("mean") - f64::midpoint(value("a_to_b"), value("b_to_a"))).abs() < 1e-9);
    assert!(value("mean") > 0.6, "{map50}");
    for row in ["cca", "labels_only", "all_labels"] {
        assert!(results["baselines"][row]["map50"]["mean"].is_f64(), "{row}");
    }
    assert!(results["differences"]["labels_only"]["map50"]["mean"]["low"].is_f64());
    assert_eq!(results["ci"]["map50"]["mean"].as_array().unwrap().len(), 2);
    // Three classes of 30 to fit on: a tenth is three labels each.
    assert_eq!(results["per_draw"][0]["labeled"], 9);
    assert!(results["per_draw"][0]["believed"].as_u64().unwrap() > 60);
    assert_eq!(json(&succeeds(at, &["eval", "run", "--json"])), results);
    assert!(succeeds(at, &["eval", "run"]).contains("labels only"));

    let found = |more: &[&str]| {
        let search = ["search", "run", "-k", "5", "--json"];
        json(&succeeds(at, &[&search[..], more].concat()))
    };
    let by_id = found(&["--id", "0", "--from", "image", "--to", "text"]);
    let hits = by_id[0]["hits"].as_array().unwrap();
    assert_eq!(hits.len(), 5);
    let right = hits.iter().filter(|hit| hit["label"] == "0").count();
    assert!(right >= 3, "{hits:?}");
    // The file holds that view alone, and its first row is item 0.
    let by_file = found(&["--query", "images.npy", "--from", "image"]);
    assert_eq!(by_file[0]["hits"], by_id[0]["hits"]);
    assert_eq!(by_file.as_array().unwrap().len(), 2);
    // By the numbers behind the bits fewer items are equally near.
    let similar = |more: &[&str]| -> Vec<f64> {
        let asked = ["--query", "images.npy", "--from", "image", "-k", "60"];
        let near = found(&[&asked[..], more].concat());
        let hits = near[0]["hits"].as_array().unwrap();
        hits.iter()
            .map(|hit| hit["similarity"].as_f64().unwrap())
            .collect()
    };
    let [by_bits, by_numbers] = [&[][..], &["--asymmetric"]].map(similar);
    let kinds = |of: &[f64]| of.windows(2).filter(|two| two[0] > two[1]).count();
    assert!(
        kinds(&by_numbers) > kinds(&by_bits),
        "{by_bits:?} {by_numbers:?}"
    );
    assert!(by_numbers.is_sorted_by(|a, b| a >= b), "{by_numbers:?}");
    assert!(
        by_numbers.iter().all(|s| (0.0..=1.0).contains(s)),
        "{by_numbers:?}"
    );
    // Within a view an item does not find itself.
    let within = found(&["--id", "0", "--from", "text", "--to", "text"]);
    let ids = within[0]["hits"].as_array().unwrap();
    assert!(ids.iter().all(|hit| hit["id"] != "0"), "{ids:?}");

    // The model opens by itself, and its codes are those in the folder.
    let run = AcrossFolder::open(&at.join("run")).unwrap();
    let (model, items) = (run.model().unwrap(), run.items().unwrap());
    assert_eq!(model.names(), ["image", "text"]);
    let (own, codes) = run.view(0, &items, Some(64)).unwrap();
    assert_eq!(own.len(), N);
    assert_eq!(model.encode(0, view(5, 1).view()).unwrap(), codes);
    let page = fs::read_to_string(at.join("run/report.html")).unwrap();
    assert!(page.contains("image to text") && page.contains("text to image"));
    assert!(
        fs::read_to_string(at.join("run/README.md"))
            .unwrap()
            .contains("1.anchors")
    );
}

#[test]
fn a_run_by_label_prediction_says_what_was_selected() {
    let folder = pairs();
    let at = folder.path();
    let recipe = "base = 'gsph'\nlearner.bits = 16\n[pseudo_labels]\nkind = 'lpf'\nhidden = 32\nthreshold = 0.5\n\
                  iterations = 2\nfirst.epochs = 60\ntuning.epochs = 2\n";
    fs::write(at.join("own.toml"), recipe).unwrap();
    let few = ["--label-fraction", "0.1", "--draws", "1"];
    succeeds(at, &fit("own.toml", "run", &few));
    let said = succeeds(at, &["eval", "run"]);
    assert!(said.contains("Label prediction selected "), "{said}");
    assert!(said.contains(" % of them right"), "{said}");
    let results = json(&fs::read_to_string(at.join("run/metrics.json")).unwrap());
    let draw = &results["per_draw"][0];
    let all = draw["selections"].as_array().unwrap();
    assert!((1..=2).contains(&all.len()), "{draw}");
    let last = &all[all.len() - 1];
    assert_eq!(last["selected"], draw["believed"]);
    assert_eq!(last["judged"], last["selected"]);
    assert_eq!(last["precision"], draw["accuracy"]);
    assert!(last["accuracy"]["image"].is_f64() && last["accuracy"]["text"].is_f64());
    let page = fs::read_to_string(at.join("run/report.html")).unwrap();
    assert!(page.contains("accuracy of image"), "no table of selections");
    assert!(results["baselines"]["cca"]["directions"].is_u64());

    // A slip in the file is told of as one, not that a share of the labels is for other recipes.
    fs::write(at.join("slip.toml"), recipe.replace("bits", "bitts")).unwrap();
    let output = likewise(at, &fit("slip.toml", "none", &few));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("slip.toml") && said.contains("bitts"),
        "{said}"
    );
}

#[test]
fn every_learner_across_views_leaves_a_run_that_can_be_searched() {
    let folder = pairs();
    let at = folder.path();
    for name in Learner::names() {
        let learner = Learner::named(name).unwrap();
        // Networks as small as the data.
        let recipe = match name {
            "acmr" => "hidden = [[16, 16], [16, 16]], least_steps = 1, epochs = 60, rate = 0.005",
            "deep-growbit" => "hidden = [16, 16], epochs = 40, rate = 0.005",
            _ => "",
        };
        let recipe = format!("base = \"{name}\"\nlearner = {{ {recipe} }}\n");
        fs::write(at.join("recipe.toml"), recipe).unwrap();
        let given = if learner.is_deep() {
            "recipe.toml"
        } else {
            name
        };
        let results = json(&succeeds(
            at,
            &fit(given, "run", &["--json", "--overwrite"]),
        ));
        let mean = results["map50"]["mean"].as_f64().unwrap();
        assert!(mean > 0.4, "{name}: {mean}");
        let bits = learner.gives_bits();
        assert_eq!(at.join("run/codes.npy").exists(), bits, "{name}");
        assert_eq!(at.join("run/embeddings.npy").exists(), !bits, "{name}");
        let search = [
            "search", "run", "--id", "3", "--to", "image", "-k", "1", "--json",
        ];
        assert_eq!(
            json(&succeeds(at, &search))[0]["hits"]
                .as_array()
                .unwrap()
                .len(),
            1
        );
    }
    // An ordinary run takes the place of one across views, and leaves nothing of it.
    succeeds(
        at,
        &[
            "fit",
            "pairs.npz",
            "--view",
            "image",
            "--recipe",
            "rca",
            "-q",
            "-o",
            "run",
            "--overwrite",
        ],
    );
    assert!(!at.join("run/codes.npy").exists());
    succeeds(at, &["search", "run", "--id", "3"]);
}

/// Must fail with these words, in one error, and leave no folder `none`.
#[track_caller]
fn refused(at: &Path, args: &[&str], said: &str) {
    let output = likewise(at, args);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        matches!(output.status.code(), Some(1 | 2)),
        "{args:?}: {message}"
    );
    assert!(message.contains(said), "{args:?}: {message}");
    let errors = message.lines().filter(|line| line.contains("error"));
    assert!(errors.count() <= 1, "{message}");
    assert!(!at.join("none").exists(), "{args:?}");
}

#[test]
fn what_cannot_be_searched_across_views_is_refused_with_its_reason() {
    let folder = pairs();
    let at = folder.path();
    let refused = |args: &[&str], said: &str| refused(at, args, said);
    let new = |name: &str, image: &Array2<f32>, labels: &[i64]| {
        let text = view(4, 2);
        archive(&at.join(name), &[("image", image), ("text", &text)], labels);
    };
    let gsph = |data: &'static str| {
        vec![
            "fit", data, "--recipe", "gsph", "--view", "image", "--view", "text", "-o", "none",
        ]
    };
    // One view, an unknown one, one twice.
    let one = [
        "fit",
        "pairs.npz",
        "--recipe",
        "gsph",
        "--view",
        "image",
        "-o",
        "none",
    ];
    refused(&one, "needs two views");
    refused(
        &["fit", "pairs.npz", "--recipe", "gsph", "-o", "none"],
        "needs two views",
    );
    let unknown = [&one[..], &["--view", "sound"]].concat();
    refused(&unknown, "no view \"sound\"");
    refused(&[&one[..], &["--view", "image"]].concat(), "given twice");
    // Constant features, one class, unequal rows.
    new("flat.npz", &Array2::from_elem((N, 5), 0.5), &labels());
    refused(&gsph("flat.npz"), "view image: all");
    new("one.npz", &view(5, 1), &[4; N]);
    refused(&gsph("one.npz"), "one class alone (4)");
    new(
        "short.npz",
        &view(5, 1).slice(ndarray::s![..50, ..]).to_owned(),
        &labels(),
    );
    refused(&gsph("short.npz"), "no view \"image\"");
    // Settings.
    fs::write(
        at.join("none.toml"),
        "base = \"gsph\"\nlearner = { bits = 0 }\n",
    )
    .unwrap();
    refused(&fit("none.toml", "none", &[]), "learner.bits = 0");
    refused(&fit("mixed+cca", "none", &[]), "looks at no label");
    refused(
        &fit("mixed+nosuch", "none", &[]),
        "learner across views = nosuch",
    );
    refused(
        &fit("nosuch+gsph", "none", &[]),
        "source of pseudo-labels = nosuch",
    );
    refused(
        &fit("gsph", "none", &["--label-fraction", "1.5"]),
        "--label-fraction = 1.5",
    );
    refused(
        &fit("gsph", "none", &["--draws", "2"]),
        "--draws go with --labels-per-class or --label-fraction",
    );
    refused(
        &fit("gsph", "none", &["--split", "zero-shot"]),
        "within each class",
    );
    refused(&fit("gsph", "none", &["--epochs", "3"]), "fitted in one go");
    let fraction = ["--label-fraction", "0.1", "--view", "image", "-o", "none"];
    refused(
        &[&["fit", "pairs.npz", "--recipe", "rca"][..], &fraction].concat(),
        "across views",
    );
}

/// A table of numbers and titles, of which an item may have none, and labels.
fn things(has_title: impl Fn(usize) -> bool, label: impl Fn(usize) -> Option<usize>) -> String {
    let names = ["red shirt", "garden hose", "blue shoes"];
    let x = view(4, 1);
    let line = |i: usize| {
        let title = if has_title(i) {
            format!("{} number {}", names[i % 3], i % 5)
        } else {
            String::new()
        };
        let label = label(i).map_or(String::new(), |class| format!("c{class}"));
        format!(
            "i{i},{title},{label},{},{},{}\n",
            x[(i, 0)],
            x[(i, 1)],
            x[(i, 2)]
        )
    };
    let lines: String = (0..N).map(line).collect();
    format!("id,title,label,p,q,r\n{lines}")
}

#[test]
fn a_draw_keeps_a_label_of_each_class_in_every_view() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // Two thirds of each class have no title.
    fs::write(
        at.join("some.csv"),
        things(|i| (i / 3) % 3 == 0, |i| Some(i % 3)),
    )
    .unwrap();
    let fit = |data: &'static str, recipe: &'static str, more: &[&'static str]| {
        let views = ["--view", "features", "--view", "title:tfidf"];
        let fit = [
            "fit",
            data,
            "--recipe",
            recipe,
            "--json",
            "-o",
            "run",
            "--overwrite",
        ];
        likewise(at, &[&fit[..], &views, more].concat())
    };
    let said = |output: &std::process::Output| String::from_utf8_lossy(&output.stderr).into_owned();
    for seed in ["0", "1", "2"] {
        let draws = ["--labels-per-class", "1", "--draws", "10", "--seed", seed];
        let output = fit("some.csv", "gsph", &draws);
        assert!(output.status.success(), "{}", said(&output));
        let results = json(&String::from_utf8_lossy(&output.stdout));
        assert_eq!(results["per_draw"][0]["labeled"], 3, "{results}");
    }
    let share = fit("some.csv", "gsph", &["--label-fraction", "0.01"]);
    assert!(share.status.success(), "{}", said(&share));
    let warned = said(&share);
    assert!(
        warned.contains("less than two labels in 3 of 3 classes"),
        "{warned}"
    );
}

#[test]
fn texts_are_of_the_items_that_gaps_leave() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let all = things(|_| true, |i| Some(i % 3));
    // The second line lacks a number.
    let mut lines: Vec<String> = all.lines().map(str::to_owned).collect();
    let cut = lines[2].rfind(',').unwrap();
    lines[2].truncate(cut + 1);
    fs::write(at.join("ids.csv"), lines.join("\n")).unwrap();
    let no_id = |line: &String| line.split_once(',').unwrap().1.to_owned();
    let rows: Vec<String> = lines.iter().map(no_id).collect();
    fs::write(at.join("rows.csv"), rows.join("\n")).unwrap();
    let fit = |data: &'static str, missing: &'static str| {
        let views = ["--view", "features", "--view", "title:tfidf"];
        let fit = ["fit", data, "--recipe", "cca", "--missing", missing];
        likewise(
            at,
            &[&fit[..], &views, &["-q", "-o", "run", "--overwrite"]].concat(),
        )
    };
    // Whose number is of the file before lines are left out, gets the text of another line by it.
    let refused = fit("rows.csv", "drop");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("no ids tell which text is whose"), "{said}");
    for (data, missing, items) in [("ids.csv", "drop", N - 1), ("rows.csv", "median", N)] {
        let made = fit(data, missing);
        let said = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "{data}: {said}");
        let record = json(&fs::read_to_string(at.join("run/run.json")).unwrap());
        assert_eq!(record["items"], items);
    }
}

#[test]
fn labels_too_few_for_a_test_are_all_learned() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let few = things(|_| true, |i| (i < 6).then_some(i % 3));
    fs::write(at.join("few.csv"), few).unwrap();
    let fit = |out: &'static str, more: &[&'static str]| {
        let fit = ["fit", "few.csv", "--recipe", "mixed+gsph", "-o", out];
        let views = ["--view", "features", "--view", "title:tfidf"];
        [&fit[..], &views, more].concat()
    };
    let said = succeeds(at, &fit("run", &[]));
    assert!(
        said.contains("Not measured: none of the 3 classes"),
        "{said}"
    );
    assert!(said.contains("from all 6 labels"), "{said}");
    let results = json(&succeeds(at, &["eval", "run", "--json"]));
    assert!(results["not_measured"].is_string() && results["map50"]["mean"].is_null());
    assert_eq!(results["per_draw"][0]["labeled"], 6);
    succeeds(
        at,
        &[
            "search",
            "run",
            "--query-text",
            "red-shirt",
            "--from",
            "title",
        ],
    );
    let classes = ["eval", "run", "--classes", "c.csv"];
    refused(at, &classes, "Not measured: none of the 3 classes");
    // A number that is asked for cannot be had; a test that is asked for neither.
    let gated = fit("gated", &["--gate", "map50=0.1"]);
    for args in [&gated[..], &["eval", "run", "--gate", "map50=0.1"]] {
        let output = likewise(at, args);
        assert_eq!(output.status.code(), Some(3), "{args:?}");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(message.contains("nothing was measured"), "{message}");
    }
    let left = "left to test with (6 labels of 3 classes)";
    refused(at, &fit("none", &["--split", "item"]), left);
}

/// Of a class one labeled item has a title. Were it tested, nothing of the class could be learned there.
#[test]
fn what_a_test_takes_from_learning_is_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let fit = |data: &'static str, recipe: &'static str, more: &[&'static str]| {
        let fit = ["fit", data, "--recipe", recipe, "-o", "run", "--overwrite"];
        let views = ["--view", "features", "--view", "title:tfidf"];
        [&fit[..], &views, more].concat()
    };
    let one = |i: usize| !i.is_multiple_of(3) || i == 0 || i > 30;
    let labels = |i: usize| (i <= 30).then_some(i % 3);
    fs::write(at.join("one.csv"), things(one, labels)).unwrap();
    let said: Vec<String> = ["0", "1", "2", "3", "4", "5"]
        .map(|seed| succeeds(at, &fit("one.csv", "gsph", &["--seed", seed])))
        .to_vec();
    let without = said
        .iter()
        .filter(|said| said.contains("Not measured: without the labels"));
    assert!((1..6).contains(&without.count()), "{said:?}");
    // Pairs need no label to be learned from.
    fs::write(at.join("none.csv"), things(|_| true, |_| None)).unwrap();
    let said = succeeds(at, &fit("none.csv", "cca", &[]));
    assert!(
        said.contains("no item has a label to measure with"),
        "{said}"
    );
    assert!(said.contains("from all pairs"), "{said}");
}

#[test]
fn all_labels_are_learned_once_all_is_measured() {
    let folder = pairs();
    let at = folder.path();
    let said = succeeds(at, &fit("gsph", "run", &[]));
    assert!(
        said.contains("then learned from the tested items"),
        "{said}"
    );
    let said = succeeds(at, &fit("gsph", "tested", &["--split", "item"]));
    assert!(!said.contains("then learned"), "{said}");
    let model = |run: &str| fs::read(at.join(run).join("model.safetensors")).unwrap();
    assert_ne!(model("run"), model("tested"));
    let map50 = |run: &str| json(&succeeds(at, &["eval", run, "--json"]))["map50"].clone();
    assert_eq!(map50("run"), map50("tested"));
}

#[test]
fn what_a_run_across_views_cannot_answer_is_refused_with_its_reason() {
    let folder = pairs();
    let at = folder.path();
    let refused = |args: &[&str], said: &str| refused(at, args, said);
    succeeds(at, &fit("cca", "run", &[]));
    refused(&["search", "run", "--id", "0"], "from which and to which");
    refused(
        &["search", "run", "--id", "0", "--from", "sound"],
        "no view \"sound\"",
    );
    refused(
        &["search", "run", "--id", "nosuch", "--from", "image"],
        "no item with id",
    );
    refused(
        &["search", "run", "--query", "images.npy", "--from", "text"],
        "4 columns",
    );
    let numbers = ["--from", "image", "--asymmetric"];
    let by_file = [&["search", "run", "--query", "images.npy"][..], &numbers].concat();
    refused(&by_file, "cca gives no codes");
    let across = "searches from one view to another";
    refused(&["embed", "run", "images.npy", "-o", "e.npy"], across);
    refused(&["index", "run"], across);
    refused(&["add", "run", "images.npy"], across);
    refused(&["suspects", "run"], across);
    refused(&["advise", "run"], across);
    refused(&["fit", "run", "--add-labels", "pairs.npz"], across);
    refused(
        &["eval", "run", "--at", "3"],
        "--at 3: the run was measured at 1,2,4,8",
    );
    refused(
        &["eval", "run", "--confusion", "c.csv"],
        "--confusion does not go",
    );
    refused(
        &["eval", "run", "--gate", "map=0.1"],
        "measured are map50, recall@1",
    );
    refused(
        &fit("cca", "none", &["--gate", "nmi=0.1"]),
        "not measured across views",
    );
    refused(&fit("gsph", "run", &["--resume"]), "other data or settings");
}

#[test]
fn gates_ks_and_classes_of_a_run_across_views() {
    let folder = pairs();
    let at = folder.path();
    // Some labels are wrong, so that nothing is perfect; all classes keep their sizes.
    let mut labels = labels();
    for label in labels.iter_mut().step_by(8) {
        *label = (*label + 1) % 3;
    }
    let (image, text) = (view(5, 1), view(4, 2));
    let views = [("image", &image), ("text", &text)];
    archive(&at.join("pairs.npz"), &views, &labels);
    let code = |args: &[&str]| likewise(at, args).status.code();
    let gate = ["--gate", "map50=0.4", "--gate", "recall@1=0.3"];
    assert_eq!(code(&fit("gsph", "run", &gate)), Some(0));
    // The run is there, whatever the gate says of it.
    let missed = ["--gate", "map50=1", "--overwrite"];
    assert_eq!(code(&fit("gsph", "run", &missed)), Some(3));
    assert_eq!(code(&["eval", "run", "--gate", "map50=1"]), Some(3));
    assert_eq!(code(&["eval", "run", "--gate", "recall@8=0.1"]), Some(0));

    let all = json(&succeeds(at, &["eval", "run", "--json"]));
    let some = ["eval", "run", "--at", "1,4", "--classes", "c.csv", "--json"];
    let some = json(&succeeds(at, &some));
    let ks = |of: &Value| {
        of["recall"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(ks(&all), ["1", "2", "4", "8"]);
    assert_eq!(ks(&some), ["1", "4"]);
    assert_eq!(ks(&some["baselines"]["cca"]), ["1", "4"]);
    assert!(some["ci"]["recall@2"].is_null() && some["ci"]["recall@4"].is_object());
    assert_eq!(some["map50"], all["map50"]);
    // A gate may ask what is not shown.
    let hidden = ["eval", "run", "--at", "1", "--gate", "recall@8=0.1"];
    assert_eq!(code(&hidden), Some(0));

    let classes = fs::read_to_string(at.join("c.csv")).unwrap();
    let lines: Vec<Vec<&str>> = classes.lines().map(|l| l.split(',').collect()).collect();
    assert_eq!(lines[0], ["class", "queries", "recall@1", "map50"]);
    // Ten items of each class in the test part ask both ways, in one run.
    assert_eq!(lines.len(), 4);
    assert!(lines[1..].iter().all(|line| line[1] == "20"), "{classes}");
    let mean = lines[1..]
        .iter()
        .map(|line| line[3].parse::<f64>().unwrap())
        .sum::<f64>()
        / 3.0;
    let whole = all["map50"]["mean"].as_f64().unwrap();
    assert!((mean - whole).abs() < 1e-9, "{mean} {whole}");
}

#[test]
fn learners_across_views_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let gsph = succeeds(folder.path(), &["explain", "gsph"]);
    assert!(
        gsph.contains("semantic preserving") && gsph.contains("Its settings"),
        "{gsph}"
    );
    for (name, said) in [("acmr", "Adversarial"), ("deep-growbit", "Codes that grow")] {
        let deep = succeeds(folder.path(), &["explain", name]);
        assert!(
            deep.contains(said) && deep.contains("Its settings"),
            "{deep}"
        );
    }
    let both = succeeds(folder.path(), &["explain", "mixed+gsph"]);
    assert!(
        both.contains("Its settings") && both.contains("mixed"),
        "{both}"
    );
}

#[test]
fn lines_with_two_lists_of_numbers_are_two_views() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let (image, text) = (view(9, 1), view(8, 2));
    let row = |x: &Array2<f32>, i: usize| format!("{:?}", x.row(i).to_vec());
    let line = |i: usize| {
        // Some have no text, others no image: the key is not there, or null.
        let text = match i % 10 {
            7 => String::new(),
            _ => format!(",\"text\":{}", row(&text, i)),
        };
        let image = match i % 15 {
            4 => "null".to_owned(),
            _ => row(&image, i),
        };
        let class = i % 3;
        format!("{{\"id\":\"i{i}\",\"label\":\"c{class}\",\"image\":{image}{text}}}\n")
    };
    let lines: String = (0..N).map(line).collect();
    fs::write(at.join("two.jsonl"), lines).unwrap();
    let fit = |out: &'static str, second: &'static str| {
        let views = ["--view", "image", "--view", second];
        let fit = ["fit", "two.jsonl", "--recipe", "gsph", "-q", "-o", out];
        [&fit[..], &views, &["--json"]].concat()
    };
    let results = json(&succeeds(at, &fit("run", "text")));
    let mean = results["map50"]["mean"].as_f64().unwrap();
    assert!(mean > 0.5, "{results}");
    refused(at, &fit("none", "sound"), "no view \"sound\"");

    let found = |more: &[&str]| {
        let search = ["search", "run", "-k", "20", "--json"];
        json(&succeeds(at, &[&search[..], more].concat()))
    };
    let by_id = found(&["--id", "i0", "--from", "image", "--to", "text"]);
    let hits = by_id[0]["hits"].as_array().unwrap();
    assert_eq!(hits.len(), 20, "{by_id}");
    let lacks_text = |hit: &Value| hit["id"].as_str().unwrap().ends_with('7');
    assert!(!hits.iter().any(lacks_text), "{by_id}");
    refused(
        at,
        &["search", "run", "--id", "i4", "--from", "image"],
        "i4 has no view image",
    );
    // A file of that view alone asks as well.
    let asks = format!("{{\"id\":\"q\",\"image\":{}}}\n", row(&image, 0));
    fs::write(at.join("asks.jsonl"), asks).unwrap();
    let by_file = found(&["--query", "asks.jsonl", "--from", "image"]);
    assert_eq!(by_file[0]["hits"], by_id[0]["hits"]);
}
