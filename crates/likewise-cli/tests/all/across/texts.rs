//! Views of texts.

use std::fs;

use likewise_image::RgbImage;
use ndarray::Array2;

use super::{json, refused};
use crate::program::{likewise, succeeds};

/// As a shop would begin: one file of titles and vectors, a tenth of it labeled.
#[test]
fn products_are_found_by_a_typed_title_and_by_a_vector() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::copy(likewise_testdata::products(), at.join("products.parquet")).unwrap();
    let views = ["--view", "title:tfidf", "--view", "image_embedding"];
    let fit = [
        "fit",
        "products.parquet",
        "--recipe",
        "mixed+gsph",
        "-q",
        "-o",
        "run",
    ];
    let said = succeeds(at, &[&fit[..], &views].concat());
    assert!(said.contains("MAP@50"), "{said}");
    let labels = |more: &[&str]| {
        let search = [&["search", "run", "-k", "5", "--json"][..], more].concat();
        let found = json(&succeeds(at, &search));
        let hits = found[0]["hits"].as_array().unwrap().clone();
        hits.into_iter()
            .map(|hit| {
                let own = hit["label"].as_str().or(hit["pseudo_label"].as_str());
                own.unwrap_or_default().to_owned()
            })
            .collect::<Vec<String>>()
    };
    let typed = ["--query-text", "green garden hose", "--from", "title"];
    let by_text = labels(&typed);
    assert!(
        by_text.iter().filter(|label| *label == "hose").count() >= 4,
        "{by_text:?}"
    );
    // The vector of p001, a hose, a little off.
    let vector = [1.3_f32, 0.4, 0.0, 0.1, -2.1, 1.0, 0.9, 0.7];
    let vector = Array2::from_shape_vec((1, 8), vector.to_vec()).unwrap();
    likewise_io::write_npy(at.join("one.npy"), vector.view()).unwrap();
    let by_vector = labels(&["--query", "one.npy", "--from", "image_embedding"]);
    assert!(
        by_vector.iter().filter(|label| *label == "hose").count() >= 4,
        "{by_vector:?}"
    );
    // The page shows titles, not ids, where titles were found.
    let page = fs::read_to_string(at.join("run/report.html")).unwrap();
    assert!(page.contains("hose, size"), "no title in the page");
}

#[test]
fn texts_and_views_that_teach_nothing_are_refused_with_their_reason() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let table = |name: &str, title: &dyn Fn(usize) -> &'static str| {
        let line = |i: usize| {
            let noise = (i * 7 % 11) as f32 / 11.0;
            format!(
                "i{i},{},c{},{},{}\n",
                title(i),
                i % 3,
                (i % 3) as f32 + noise,
                noise
            )
        };
        let lines: String = (0..90).map(line).collect();
        fs::write(at.join(name), format!("id,title,label,p,q\n{lines}")).unwrap();
    };
    let fit = |data: &'static str| {
        let views = ["--view", "features", "--view", "title:tfidf", "-o", "none"];
        [&["fit", data, "--recipe", "gsph"][..], &views].concat()
    };
    table("empty.csv", &|_| "");
    refused(at, &fit("empty.csv"), "title");
    table("same.csv", &|_| "a red shirt");
    let rows = [
        "fit", "same.csv", "--recipe", "gsph", "--view", "features", "--view", "title",
    ];
    let rows = [&rows[..], &["-o", "none"]].concat();
    refused(
        at,
        &rows,
        "title is a column of text; as a view it is title:tfidf",
    );
    refused(at, &fit("same.csv"), "view title: all");
    let some = |i: usize| match i % 3 {
        0 => "red shirt",
        1 => "garden hose",
        _ => "",
    };
    table("class.csv", &some);
    refused(
        at,
        &fit("class.csv"),
        "view title: no labeled item of class c2 has it",
    );
}

#[test]
fn a_typed_text_finds_items_of_another_view() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let things = ["red shirt", "garden hose", "blue shoes"];
    let line = |i: usize| {
        let (class, noise) = (i % 3, (i * 7 % 11) as f32 / 11.0);
        let x = [0, 1, 2].map(|j| if j == class { 4.0 + noise } else { noise });
        let title = match i {
            4 => String::new(),
            _ => format!("{} number {}", things[class], i % 5),
        };
        format!("i{i},{title},c{class},{},{},{}\n", x[0], x[1], x[2])
    };
    let lines: String = (0..90).map(line).collect();
    fs::write(
        at.join("things.csv"),
        format!("id,title,label,p,q,r\n{lines}"),
    )
    .unwrap();
    let views = ["--view", "features", "--view", "title:tfidf"];
    let fit = [
        "fit",
        "things.csv",
        "--recipe",
        "gsph",
        "-q",
        "--json",
        "-o",
        "run",
    ];
    let results = json(&succeeds(at, &[&fit[..], &views].concat()));
    assert!(
        results["map50"]["title_to_features"].as_f64().unwrap() > 0.9,
        "{results}"
    );
    let search = |more: &[&str]| likewise(at, &[&["search", "run", "-k", "4"][..], more].concat());
    let typed = [
        "--query-text",
        "Garden HOSES",
        "--from",
        "title",
        "--to",
        "features",
        "--json",
    ];
    let found = json(&String::from_utf8_lossy(&search(&typed).stdout));
    let hits = found[0]["hits"].as_array().unwrap();
    assert!(
        hits.len() == 4 && hits.iter().all(|hit| hit["label"] == "c1"),
        "{found}"
    );
    // A table of texts asks as well, and what was learned of texts is in the run.
    fs::write(at.join("asks.csv"), "id,title\nq,a garden hose\nr,\n").unwrap();
    let of_file = search(&["--query", "asks.csv", "--from", "title", "--json"]);
    let of_file = json(&String::from_utf8_lossy(&of_file.stdout));
    assert_eq!(of_file.as_array().unwrap().len(), 1, "{of_file}");
    assert_eq!(of_file[0]["hits"][0]["label"], "c1");
    let said = |output: std::process::Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let left_out = said(search(&["--query", "asks.csv", "--from", "title"]));
    assert!(
        left_out.contains("1 of 2 items have no view title"),
        "{left_out}"
    );
    for text in ["", "\u{1f525}"] {
        let nothing = said(search(&["--query-text", text, "--from", "title"]));
        assert!(nothing.contains("nothing of this text"), "{nothing}");
    }
    let view = [
        "--query-text",
        "hose",
        "--from",
        "title",
        "--view",
        "features",
    ];
    assert!(said(search(&view)).contains("--view has no effect"));
    let wrong = said(search(&["--query-text", "hose", "--from", "features"]));
    assert!(
        wrong.contains("view features is of rows of numbers"),
        "{wrong}"
    );
    let lacks = said(search(&["--id", "i4", "--from", "title"]));
    assert!(lacks.contains("i4 has no view title"), "{lacks}");
    let fit = ["fit", "things.csv", "--recipe", "gsph", "-o", "none"];
    let unknown = ["--view", "features", "--view", "nosuch:tfidf"];
    let unknown = said(likewise(at, &[&fit[..], &unknown].concat()));
    assert!(unknown.contains("nosuch"), "{unknown}");
    assert!(!at.join("none").exists());
}

#[test]
fn photos_are_found_by_the_texts_that_lie_beside_them() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let things = ["red shirt", "green hose", "blue shoes"];
    for i in 0..60_usize {
        let class = i % 3;
        let own = at.join("photos").join(["shirts", "hoses", "shoes"][class]);
        fs::create_dir_all(&own).unwrap();
        let shade = 150 + (i * 7 % 90) as u8;
        let image = RgbImage::from_fn(24, 24, |x, y| {
            let mut color = [(x * 3) as u8, (y * 2) as u8, 30];
            color[class] = shade;
            color.into()
        });
        image.save(own.join(format!("{i}.png"))).unwrap();
        if i != 4 {
            let text = format!("{} number {}", things[class], i % 5);
            fs::write(own.join(format!("{i}.txt")), text).unwrap();
        }
    }
    let of = |out: &'static str| {
        let views = [
            "--encoder",
            "hist",
            "--view",
            "hist",
            "--view",
            "text:tfidf",
        ];
        let fit = ["fit", "photos", "--recipe", "gsph", "-q", "-o", out];
        [&fit[..], &views].concat()
    };
    let said = succeeds(at, &of("run"));
    assert!(said.contains("MAP@50"), "{said}");
    let typed = [
        "search",
        "run",
        "--query-text",
        "a green HOSE",
        "--from",
        "text",
        "-k",
        "4",
    ];
    let found = json(&succeeds(at, &[&typed[..], &["--json"]].concat()));
    let hits = found[0]["hits"].as_array().unwrap();
    assert!(hits.iter().all(|hit| hit["label"] == "hoses"), "{found}");
    // Other texts are other data.
    fs::write(at.join("photos/hoses/1.txt"), "a rake").unwrap();
    let again = [&of("run")[..], &["--resume"]].concat();
    refused(at, &again, "a finished run of other data or settings");
    refused(
        at,
        &[
            "fit",
            "photos",
            "--recipe",
            "gsph",
            "--encoder",
            "hist",
            "--view",
            "hist",
            "--view",
            "title:tfidf",
            "-o",
            "none",
        ],
        "texts beside them are the column text",
    );
}

#[test]
fn a_folder_of_texts_is_data() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let words = [
        ["sail", "harbour", "anchor", "deck", "wave", "mast"],
        ["dough", "oven", "flour", "yeast", "crust", "butter"],
    ];
    for i in 0..60_usize {
        let own = at.join("texts").join(["boats", "bread"][i % 2]);
        fs::create_dir_all(&own).unwrap();
        let word = |j: usize| words[i % 2][(i / 2 + j * j) % 6];
        let text = format!(
            "{} and {} with {} by {}",
            word(0),
            word(1),
            word(2),
            word(3)
        );
        fs::write(own.join(format!("{i}.txt")), text).unwrap();
    }
    let said = succeeds(at, &["fit", "texts", "-q", "-o", "run"]);
    assert!(said.contains("MAP@R"), "{said}");
    let search = ["search", "run", "--id", "boats/0.txt", "-k", "5", "--json"];
    let found = json(&succeeds(at, &search));
    let hits = found[0]["hits"].as_array().unwrap();
    assert!(hits.iter().all(|hit| hit["label"] == "boats"), "{found}");
    fs::write(at.join("texts/bread/1.txt"), [0xff, 0xfe, 0x00]).unwrap();
    refused(at, &["fit", "texts", "-o", "other"], "1.txt");
}
