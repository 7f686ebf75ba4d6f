//! A run that goes on: new labels, new items.

use std::fs;

use likewise_study::journal::{Change, Journal, Place, What};
use likewise_study::run_folder::RunFolder;
use ndarray::Array2;
use serde_json::Value;

use super::daily::{Scene, class, few, files};
use crate::across::archive;
use crate::program;

#[test]
fn a_run_is_fitted_again_with_more_labels() {
    let scene = Scene::new();
    let x = few(&scene);
    let lines = |rows: std::ops::Range<usize>, wrong: bool| -> String {
        let rows = rows.step_by(6);
        let class = |row| (class(&x, row) + u32::from(wrong)) % 10;
        let lines = rows.map(|row| format!("d{row},{}\n", class(row)));
        "id,label\n".to_owned() + &lines.collect::<String>()
    };
    scene.text("a.csv", &lines(0..300, true));
    scene.text("b.csv", &lines(0..600, false));
    scene.good("fit x.csv --recipe rca --split folds --seed 3 -q -o run");
    let before = scene.path("run/config.json");
    let config = fs::read(&before).unwrap();
    // 13 of the first 50 had a label.
    let arguments = ["fit", "run", "--add-labels", "a.csv", "-o", "second"];
    let output = program::likewise(scene.at(), &arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("37 items are newly labeled, 13 change"),
        "{said}"
    );
    assert_eq!(fs::read(scene.path("run/config.json")).unwrap(), config);
    // Again, in place; and from the data alone by the command that stands in the record.
    scene.good("fit second --add-labels b.csv -q");
    assert_eq!(fs::read(scene.path("second/config.json")).unwrap(), config);
    let record: Value =
        serde_json::from_slice(&fs::read(scene.path("second/run.json")).unwrap()).unwrap();
    let recorded: Vec<String> = serde_json::from_value(record["arguments"].clone()).unwrap();
    assert_eq!(
        recorded[recorded.len() - 4..],
        ["--add-labels", "a.csv", "--add-labels", "b.csv"]
    );
    let mut alone: Vec<&str> = recorded[1..].iter().map(String::as_str).collect();
    let out = alone.iter().position(|arg| *arg == "run").unwrap();
    alone[out] = "third";
    program::succeeds(scene.at(), &alone);
    let (second, third) = (files(&scene.path("second")), files(&scene.path("third")));
    for file in [
        "embeddings.npy",
        "items.parquet",
        "model.safetensors",
        "beliefs.npz",
    ] {
        assert!(second[file] == third[file], "{file}");
    }
    let items = likewise_io::items::read(scene.path("second/items.parquet")).unwrap();
    for item in &items[..100] {
        let row: usize = item.id[1..].parse().unwrap();
        assert_eq!(item.label, Some(class(&x, row).to_string()));
    }
    // What cannot be is said, and the run stays.
    scene.text("bad.csv", "id,label\nnobody,1\n");
    let said = scene.bad("fit second --add-labels bad.csv -q", 1);
    assert!(said.contains("nobody"), "{said}");
    let said = scene.bad("fit second --add-labels b.csv --recipe rca -q", 2);
    assert!(said.contains("--recipe has no effect"), "{said}");
    assert!(
        scene
            .bad("fit second --add-labels none.csv -q", 1)
            .contains("none.csv")
    );
    assert!(files(&scene.path("second")) == second);
    fs::rename(scene.path("x.csv"), scene.path("y.csv")).unwrap();
    let said = scene.bad("fit second --add-labels b.csv -q", 1);
    assert!(
        said.contains("x.csv: the data of the run second are not here"),
        "{said}"
    );
}

#[test]
fn a_recipe_that_stood_where_nothing_could_be_compared_is_chosen_with_more_labels() {
    let scene = Scene::new();
    let x = few(&scene);
    let labels = |of_class: usize| {
        let mut seen = [0; 10];
        let rows = (0..1800).step_by(6).filter(|&row| {
            let seen = &mut seen[class(&x, row) as usize];
            *seen += 1;
            *seen <= of_class
        });
        let lines: Vec<String> = rows
            .map(|row| format!("d{row},{}\n", class(&x, row)))
            .collect();
        format!("id,label\n{}", lines.concat())
    };
    scene.text("one.csv", &labels(1));
    scene.text("four.csv", &labels(4));
    let tried = || {
        let text = fs::read_to_string(scene.path("run/metrics.json")).unwrap();
        let metrics: serde_json::Value = serde_json::from_str(&text).unwrap();
        metrics["tried"].as_array().map_or(0, Vec::len)
    };
    scene.good("fit x.csv --labels one.csv -q -o run");
    assert_eq!(tried(), 0);
    scene.good("fit run --add-labels four.csv -q");
    assert!(tried() > 4);
}

#[test]
fn a_refit_loses_nothing_of_what_was_given_before() {
    let scene = Scene::new();
    let x = few(&scene);
    let rows = (0..1800).step_by(24);
    let lines: Vec<String> = rows
        .map(|row| format!("d{row},{}\n", class(&x, row)))
        .collect();
    scene.text("base.csv", &format!("id,label\n{}", lines.concat()));
    scene.good("fit x.csv --labels base.csv --recipe rca --split folds -q -o run");
    // A label that was given on its page.
    let run = scene.path("run");
    let given = Change {
        id: "d6".into(),
        old: None,
        new: Some("7".into()),
        hidden: false,
    };
    let mut journal = Journal::open(&run).unwrap().0;
    journal.append(None, What::Label, vec![given]).unwrap();
    let stranger = Change {
        id: "stranger".into(),
        old: None,
        new: Some("7".into()),
        hidden: false,
    };
    journal.append(None, What::Label, vec![stranger]).unwrap();
    drop(journal);
    // What checks the labels, and what asks for more, know of it.
    let found = scene.json("suspects run");
    assert_eq!(found["since"], 1, "{found}");
    let before = scene.json("advise run --budget 5");
    let known = before["labels"].as_u64().unwrap();
    let counted = "given on the page of the run since its fit, and count here: 1.";
    assert!(before["notes"].to_string().contains(counted), "{before}");
    fs::rename(run.join("labels.jsonl"), scene.path("aside.jsonl")).unwrap();
    let without = scene.json("advise run --budget 5");
    assert_eq!(without["labels"].as_u64().unwrap() + 1, known, "{without}");
    assert!(
        !without["notes"].to_string().contains("on the page"),
        "{without}"
    );
    assert_eq!(scene.json("suspects run")["since"], 0);
    fs::rename(scene.path("aside.jsonl"), run.join("labels.jsonl")).unwrap();
    scene.text("one.csv", &format!("id,label\nd12,{}\n", class(&x, 12)));
    let refit = |more: &[&str]| {
        let line = [&["fit", "run", "--add-labels", "one.csv"], more].concat();
        let output = program::likewise(scene.at(), &line);
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    // The labels that the run was made of stand in it.
    fs::remove_file(scene.path("base.csv")).unwrap();
    let (code, said) = refit(&[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("1 label of its journal is newer than its fit: counted"),
        "{said}"
    );
    let left_out = "labels of items that the run has not are left out: 1 (\"stranger\"";
    assert!(said.contains(left_out), "{said}");
    let items = likewise_io::items::read(run.join("items.parquet")).unwrap();
    let label = |id: &str| {
        items
            .iter()
            .find(|item| item.id == id)
            .unwrap()
            .label
            .clone()
    };
    assert_eq!(label("d6").as_deref(), Some("7"));
    assert_eq!(label("d12"), Some(class(&x, 12).to_string()));
    assert_eq!(label("d24"), Some(class(&x, 24).to_string()));
    // Another fit that was begun in the folder is not dropped by the way.
    fs::create_dir_all(run.join("checkpoints")).unwrap();
    let choice = "{\"key\": \"a\", \"values\": []}";
    fs::write(run.join("checkpoints/choice.json"), choice).unwrap();
    let before = files(&run);
    let (code, said) = refit(&[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("holds a fit that was interrupted"), "{said}");
    assert!(files(&run) == before);
    fs::remove_dir_all(run.join("checkpoints")).unwrap();
    // Nor is the run replaced by one of other data.
    let table = fs::read_to_string(scene.path("x.csv")).unwrap();
    let fewer = table.trim_end().rsplit_once('\n').unwrap().0;
    scene.text("x.csv", fewer);
    let before = files(&run);
    let (code, said) = refit(&[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("these data have changed") && said.contains("--overwrite"),
        "{said}"
    );
    assert!(files(&run) == before);
    let (code, said) = refit(&["--overwrite"]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn labels_of_a_file_win_over_older_ones_of_the_page_from_then_on() {
    let scene = Scene::new();
    few(&scene);
    scene.good("fit x.csv --recipe rca --split folds -q -o run");
    let run = scene.path("run");
    let change = |id: &str, new: &str| Change {
        id: id.into(),
        old: None,
        new: Some(new.into()),
        hidden: false,
    };
    let mut journal = Journal::open(&run).unwrap().0;
    let given = vec![change("d6", "7"), change("d12", "7")];
    journal.append(None, What::Label, given).unwrap();
    let given = vec![change("d18", "7")];
    journal.append(None, What::Label, given).unwrap();
    journal.append(None, What::Undo(2), vec![]).unwrap();
    drop(journal);
    scene.text("fix.csv", "id,label\nd6,3\nd18,5\n");
    let line = ["fit", "run", "--add-labels", "fix.csv"];
    let output = program::likewise(scene.at(), &line);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("2 labels stand in the journal of its page as of \"fix.csv\""),
        "{said}"
    );
    let label = |id: &str| {
        let items = likewise_io::items::read(run.join("items.parquet")).unwrap();
        let silent = likewise::Monitor::silent();
        let now = likewise_study::live::since(&run, items, &silent).unwrap();
        assert_eq!((now.given, now.changed), (0, 0));
        let item = now.items.into_iter().find(|item| item.id == id).unwrap();
        item.label.unwrap()
    };
    let labels = || ["d6", "d12", "d18"].map(label);
    assert_eq!(labels(), ["3", "7", "5"]);
    let entries = likewise_study::journal::entries(&run).unwrap();
    assert_eq!(entries.len(), 4);
    assert_eq!(entries[3].who.as_deref(), Some("fix.csv"));
    let known = || RunFolder::open(&run).unwrap().record().unwrap().journal;
    assert_eq!(known(), Some(Place::at(&entries[3])));
    // Nothing is new then.
    let output = program::likewise(scene.at(), &line);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("the run stays as it is"), "{said}");
    scene.text("more.csv", "id,label\nd30,5\n");
    // The folder of the run is no other one, however it is written.
    scene.good("fit run --add-labels more.csv -q -o run/../run");
    assert_eq!(labels(), ["3", "7", "5"]);
    assert_eq!(known().unwrap().sequence, 5);
    // Whatever model is put in its place, it has them all.
    let entries = likewise_study::journal::entries(&run).unwrap();
    assert_eq!(entries[4].who.as_deref(), Some("more.csv"));
    assert_eq!(
        (&*entries[4].items[0].id, &entries[4].items[0].old),
        ("d30", &None)
    );
}

#[test]
fn what_a_file_says_again_is_noted_also_where_the_run_stays_as_it_is() {
    let scene = Scene::new();
    let x = few(&scene);
    scene.good("fit x.csv --recipe rca --split folds -q -o run");
    let run = scene.path("run");
    let lines = format!("id,label\nd6,{}\n", class(&x, 6));
    scene.text("ann.csv", &lines);
    scene.text("bob.csv", &lines);
    let add = |file: &str| {
        let output = program::likewise(scene.at(), &["fit", "run", "--add-labels", file]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        said
    };
    add("ann.csv");
    for (file, entries, noted) in [
        ("bob.csv", 2, true),
        ("bob.csv", 2, false),
        ("ann.csv", 3, true),
    ] {
        let said = add(file);
        assert!(said.contains("the run stays as it is"), "{said}");
        assert_eq!(said.contains("1 label stands"), noted, "{said}");
        assert_eq!(
            likewise_study::journal::entries(&run).unwrap().len(),
            entries
        );
    }
}

#[test]
fn an_id_is_of_the_same_item_or_labels_by_it_are_put_aside() {
    let scene = Scene::new();
    let row = |i: usize| {
        let third = if i == 4 {
            String::new()
        } else {
            format!("{}", i % 7)
        };
        let label = ["a", "b"][i % 2];
        format!("{},{},{third},{},{label}\n", i % 2, i % 5, 100 + i)
    };
    let rows: String = (0..60).map(row).collect();
    scene.text("x.csv", &format!("p,q,r,serial,label\n{rows}"));
    let fit = "fit x.csv --recipe rca --split folds -q -o run --overwrite";
    scene.good(&format!("{fit} --drop serial --missing median"));
    let run = scene.path("run");
    let given = || likewise_study::journal::entries(&run).unwrap().len();
    let change = Change {
        id: "20".into(),
        old: None,
        new: Some("a".into()),
        hidden: false,
    };
    let mut journal = Journal::open(&run).unwrap().0;
    journal.append(None, What::Label, vec![change]).unwrap();
    drop(journal);
    // The row of that number is the same one.
    scene.good(&format!("{fit} --drop serial --missing median --seed 3"));
    assert_eq!(given(), 1);
    // A line less, and it is another. While somebody labels, nothing is put aside.
    let fewer = format!("{fit} --drop serial --missing drop");
    let held = Journal::open(&run).unwrap().0;
    let said = scene.bad(&fewer, 1);
    assert!(said.contains("another process takes labels"), "{said}");
    drop(held);
    assert_eq!(given(), 1);
    let line = fewer.replace(" -q", "");
    let line: Vec<&str> = line.split(' ').collect();
    let output = program::likewise(scene.at(), &line);
    let said = String::from_utf8(output.stderr).unwrap();
    let success = output.status.success();
    assert!(success && said.contains("labels.jsonl.1"), "{said}");
    assert_eq!(given(), 0);
    assert!(run.join("labels.jsonl.1").exists());
    // What they go by says which: other columns leave other lines out.
    let record = || RunFolder::open(&run).unwrap().record().unwrap();
    let named_by = |more: &str| {
        scene.good(&format!("{fit} {more}"));
        record().named_by.unwrap()
    };
    let gaps = "--missing drop --drop";
    let all = ["serial", "serial,p", "serial,r"].map(|of| named_by(&format!("{gaps} {of}")));
    assert!(
        all.iter()
            .all(|named| named.contains(" rows without gaps in "))
    );
    assert!(all[0] != all[1] && all[1] != all[2]);
    assert_eq!(named_by("--missing median --drop serial"), "60 rows");
    assert_eq!(
        named_by("--missing median --id-column serial"),
        "column serial"
    );
}

/// 60 lines of two classes: a cell for each column by the number of its line, and the label.
fn sixty(head: &str, cells: impl Fn(usize) -> String) -> String {
    let line = |i: usize| format!("{};{}\n", cells(i), ["a", "b"][i % 2]);
    format!("{head};label\n{}", (0..60).map(line).collect::<String>())
}

#[test]
fn what_items_go_by_differs_wherever_a_file_can_be_read_so_that_ids_go_to_others() {
    let scene = Scene::new();
    let named_by = |settings: &str| {
        let fit = "fit t.csv --recipe rca --split folds -q -o run --overwrite";
        scene.good(&format!("{fit} {settings}"));
        let record = RunFolder::open(&scene.path("run")).unwrap().record();
        record.unwrap().named_by.unwrap()
    };
    let gap = |is_gap: bool, n: usize| {
        let number = (!is_gap).then(|| n.to_string());
        number.unwrap_or_default()
    };
    // Two columns, and one whose name is theirs in one word: gaps in other lines.
    let cells = |i: usize| {
        let (p, q, pq) = (
            gap(i == 4, i % 7),
            gap(i == 5, i % 5),
            gap(i == 9 || i == 8, i % 3),
        );
        format!("{p};{q};{pq};{}", i % 11)
    };
    scene.text("t.csv", &sixty("p;q;pq;r", cells));
    let two = named_by("--missing drop --columns p,q,r");
    assert!(two.starts_with("58 rows without gaps in "), "{two}");
    assert_ne!(two, named_by("--missing drop --columns pq,r"));
    assert_eq!(two, named_by("--missing drop --columns p,q,r --seed 3"));
    // What is a number by one decimal sign is a gap by the other: one line is left out by either.
    let cells = |i: usize| {
        let p = match i {
            4 => "1.5".to_owned(),
            9 => "1,5".to_owned(),
            _ => (i % 7).to_string(),
        };
        format!("{p};{};{}", i % 5, i % 11)
    };
    scene.text("t.csv", &sixty("p;q;r", cells));
    let by = |sign: &str| named_by(&format!("--missing drop --columns p,q,r --decimal {sign}"));
    let (point, comma) = (by("point"), by("comma"));
    let one_less = [&point, &comma].map(|by| by.starts_with("59 rows without gaps in "));
    assert_eq!(one_less, [true, true], "{point}, {comma}");
    assert_ne!(point, comma);
}

#[test]
fn labels_stay_with_the_items_that_an_id_is_of() {
    let scene = Scene::new();
    let run = scene.path("run");
    let label = |id: &str| {
        let change = Change {
            id: id.into(),
            old: None,
            new: Some("b".into()),
            hidden: false,
        };
        let mut journal = Journal::open(&run).unwrap().0;
        journal.append(None, What::Label, vec![change]).unwrap();
    };
    let given = || likewise_study::journal::entries(&run).unwrap().len();
    // Two columns that could both be of ids.
    let cells = |i: usize| format!("{i};{};{};{}", 59 - i, i % 5, i % 11);
    scene.text("t.csv", &sixty("id;ids;q;r", cells));
    // Two matrices of which one has fewer rows.
    let rows = |rows: usize| Array2::from_shape_fn((rows, 3), |(i, j)| ((i * (j + 2)) % 7) as f32);
    archive(
        &scene.path("t.npz"),
        &[("p", &rows(60)), ("q", &rows(40))],
        &[],
    );
    let labels = |rows: usize| {
        let line = |i: usize| format!("{i},{}\n", ["a", "b"][i % 2]);
        "id,label\n".to_owned() + &(0..rows).map(line).collect::<String>()
    };
    scene.text("p.csv", &labels(60));
    scene.text("q.csv", &labels(40));
    for [one, other] in [
        [
            "t.csv --columns q,r --id-column id",
            "t.csv --columns q,r --id-column ids",
        ],
        [
            "t.npz --view p --labels p.csv",
            "t.npz --view q --labels q.csv",
        ],
    ] {
        let fit = |data: &str| {
            scene.good(&format!(
                "fit {data} --recipe rca --split folds -q -o run --overwrite"
            ))
        };
        fit(one);
        label("20");
        fit(&format!("{one} --seed 3"));
        assert_eq!(given(), 1, "{one}");
        fit(other);
        assert_eq!(given(), 0, "{other}");
    }
}

#[test]
fn labels_of_the_page_of_another_run_do_not_win_over_those_that_are_added() {
    let scene = Scene::new();
    let x = few(&scene);
    for out in ["run", "other"] {
        scene.good(&format!("fit x.csv --recipe rca --split folds -q -o {out}"));
    }
    let add = "fit run -q --add-labels more.csv -o other --overwrite";
    scene.text("more.csv", &format!("id,label\nd6,{}\n", class(&x, 6)));
    let change = Change {
        id: "d12".into(),
        old: None,
        new: Some("7".into()),
        hidden: false,
    };
    let mut journal = Journal::open(&scene.path("other")).unwrap().0;
    journal.append(None, What::Label, vec![change]).unwrap();
    drop(journal);
    let before = files(&scene.path("other"));
    let said = scene.bad(add, 2);
    assert!(
        said.contains("would win over those that are added"),
        "{said}"
    );
    assert!(before == files(&scene.path("other")));
    fs::remove_file(scene.path("other/labels.jsonl")).unwrap();
    scene.good(add);
}

#[test]
fn labels_that_are_added_to_a_run_that_nobody_served_stand_in_its_journal_and_were_asked_of_nobody()
{
    let scene = Scene::new();
    let x = few(&scene);
    scene.good("fit x.csv --recipe rca --split folds -q -o run");
    let run = scene.path("run");
    let entries = || likewise_study::journal::entries(&run).unwrap();
    scene.text("one.csv", &format!("id,label\nd6,{}\n", class(&x, 6)));
    scene.text("new.csv", "id,label\nd12,owl\nd18,owl\n");
    scene.good("fit run --add-labels one.csv -q");
    let known = || RunFolder::open(&run).unwrap().record().unwrap().journal;
    assert_eq!(known(), Some(Place::at(&entries()[0])));
    assert!(entries()[0].file);
    // Somebody gave a class away whose name a file brings back.
    let mut journal = Journal::open(&run).unwrap().0;
    let (from, to) = ("owl".to_owned(), "kite".to_owned());
    journal
        .append(None, What::RenameClass { from, to }, vec![])
        .unwrap();
    drop(journal);
    let output = program::likewise(scene.at(), &["fit", "run", "--add-labels", "new.csv"]);
    let said = String::from_utf8(output.stderr).unwrap();
    let new =
        "\"owl\" (2 items; the class of this name was renamed or merged by change 2 on its page)";
    assert!(output.status.success() && said.contains(new), "{said}");
    let output = program::likewise(scene.at(), &["fit", "run", "--add-labels", "new.csv"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("the run stays as it is"), "{said}");
    let metrics = scene.json("fit run --add-labels new.csv -q");
    assert!(
        !metrics.to_string().contains("\"asked_for\":true"),
        "{metrics}"
    );
    // What a search shows is what the run knows.
    let search = |scene: &Scene| {
        let output = program::likewise(scene.at(), &["search", "run", "--id", "d6"]);
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(!search(&scene).contains("on its page since"));
    let given = Change {
        id: "d36".into(),
        old: None,
        new: Some("owl".into()),
        hidden: false,
    };
    let mut journal = Journal::open(&run).unwrap().0;
    journal.append(None, What::Label, vec![given]).unwrap();
    drop(journal);
    assert!(search(&scene).contains("on its page since"));
    // Another name alone is learned, too.
    let mut journal = Journal::open(&run).unwrap().0;
    journal.append(None, What::Undo(4), vec![]).unwrap();
    let (from, into) = ("owl".to_owned(), "kite".to_owned());
    journal
        .append(None, What::MergeClass { from, into }, vec![])
        .unwrap();
    drop(journal);
    let output = program::likewise(scene.at(), &["fit", "run", "--add-labels", "one.csv"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("classes have other names"), "{said}");
    assert!(!search(&scene).contains("on its page since"));
    // An interrupted fit of other labels is not gone on with, and nothing is noted for it.
    fs::create_dir_all(run.join("unfinished")).unwrap();
    fs::create_dir_all(run.join("checkpoints")).unwrap();
    fs::copy(run.join("config.json"), run.join("unfinished/config.json")).unwrap();
    let origin = "{\"data_sha256\": \"other\", \"read_as\": \"\"}";
    fs::write(run.join("unfinished/origin.json"), origin).unwrap();
    let choice = "{\"key\": \"a\", \"values\": []}";
    fs::write(run.join("checkpoints/choice.json"), choice).unwrap();
    let before = entries();
    scene.text("more.csv", "id,label\nd30,owl\n");
    let said = scene.bad("fit run --add-labels more.csv -q --resume", 2);
    assert!(said.contains("of other data or settings"), "{said}");
    assert_eq!(entries(), before);
}

#[test]
fn a_flag_that_the_run_has_decided_is_refused() {
    let scene = Scene::new();
    few(&scene);
    scene.good("fit x.csv --recipe rca --split folds -q -o run");
    scene.text("one.csv", "id,label\nd6,1\n");
    scene.text("set.toml", "[recipe]\nrounds.epochs = 1\n");
    for flag in [
        "--label-fraction 0.5",
        "--multi-label",
        "--config set.toml",
        "--recipe rca",
        "--seed 3",
    ] {
        let said = scene.bad(&format!("fit run --add-labels one.csv -q {flag}"), 2);
        assert!(
            said.contains("has no effect with --add-labels"),
            "{flag}: {said}"
        );
    }
}

#[test]
fn a_recipe_that_was_chosen_is_kept() {
    let scene = Scene::new();
    let x = few(&scene);
    scene.good("fit x.csv --split folds -q -o run");
    let config = |run: &str| -> Value {
        let bytes = fs::read(scene.path(run).join("config.json")).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    };
    let before = config("run");
    scene.text("a.csv", &format!("id,label\nd6,{}\n", class(&x, 6)));
    scene.text("b.csv", &format!("id,label\nd12,{}\n", class(&x, 12)));
    let metrics = fs::read(scene.path("run/metrics.json")).unwrap();
    let metrics: Value = serde_json::from_slice(&metrics).unwrap();
    assert!(!metrics["tried"].as_array().unwrap().is_empty());
    // However often labels are added.
    for labels in ["a.csv", "b.csv"] {
        let results = scene.json(&format!("fit run --add-labels {labels} -q"));
        assert_eq!(config("run"), before, "{labels}");
        assert!(
            results["tried"].as_array().is_none_or(Vec::is_empty),
            "{labels}: {}",
            results["tried"]
        );
        // The same labels chose it, whoever did so.
        let said = results["verdict"].to_string();
        assert!(said.contains("The same labels chose the recipe"), "{said}");
    }
}

#[test]
fn a_run_to_which_no_label_is_new_stays_as_it_is() {
    let scene = Scene::new();
    let x = few(&scene);
    scene.good("fit x.csv --recipe rca --split folds -q -o run");
    // One that the run knows, and one that is left empty.
    let known = format!("id,label\nd24,{}\nd0,\n", class(&x, 24));
    scene.text("known.csv", &known);
    let before = files(&scene.path("run"));
    let again = |more: &[&str]| {
        let line = [&["fit", "run", "--add-labels", "known.csv"], more].concat();
        let output = program::likewise(scene.at(), &line);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        said
    };
    let said = again(&[]);
    assert!(said.contains("the run stays as it is"), "{said}");
    assert!(said.contains("an empty cell changes nothing"), "{said}");
    assert!(files(&scene.path("run")) == before);
    let metrics = scene.json("fit run --add-labels known.csv -q");
    assert_eq!(metrics["recipe"], "rca");
    // What it must reach is asked of it all the same.
    scene.bad("fit run --add-labels known.csv -q --gate r_precision=1", 3);
    assert!(files(&scene.path("run")) == before);
    // Who means the fit itself, or another folder, gets it.
    let said = again(&["--overwrite"]);
    assert!(!said.contains("stays as it is"), "{said}");
    again(&["-o", "other"]);
    assert!(scene.path("other/run.json").exists());
    // A label that was given on its page is new to it.
    let given = Change {
        id: "d6".into(),
        old: None,
        new: Some("7".into()),
        hidden: false,
    };
    let mut journal = Journal::open(&scene.path("run")).unwrap().0;
    journal.append(None, What::Label, vec![given]).unwrap();
    drop(journal);
    let said = again(&[]);
    assert!(!said.contains("stays as it is"), "{said}");
    let items = likewise_io::items::read(scene.path("run/items.parquet")).unwrap();
    let item = items.iter().find(|item| item.id == "d6").unwrap();
    assert_eq!(item.label.as_deref(), Some("7"));
}

#[test]
fn new_items_join_a_run() {
    let scene = Scene::new();
    let x = few(&scene);
    scene.good("fit x.csv --recipe mixed-lp --epochs 1 --split folds -q -o run");
    let before = files(&scene.path("run"));
    let added = scene.json("add run new.csv -q");
    assert_eq!(
        (&added["added"], &added["items"]),
        (&40.into(), &340.into())
    );
    let after = files(&scene.path("run"));
    let names =
        |run: &std::collections::BTreeMap<String, Vec<u8>>| run.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&before), names(&after));
    for file in [
        "config.json",
        "model.safetensors",
        "metrics.json",
        "report.html",
    ] {
        assert!(before[file] == after[file], "{file}");
    }
    // They are where the model puts them, and mostly believed to be what they are.
    scene.good("embed run new.csv -o e.npy -q");
    let all = likewise_io::read_matrix(scene.path("run/embeddings.npy"), None).unwrap();
    let new = likewise_io::read_matrix(scene.path("e.npy"), None).unwrap();
    assert_eq!(all.slice(ndarray::s![300.., ..]), new);
    let items = likewise_io::items::read(scene.path("run/items.parquet")).unwrap();
    let right = items[300..].iter().filter(|item| {
        let row: usize = item.id[1..].parse().unwrap();
        item.label.is_none() && item.pseudo_label == Some(class(&x, row).to_string())
    });
    let right = right.count();
    println!("{right} of 40 new items are believed to be what they are");
    assert!(right >= 28, "{right}");
    let beliefs = likewise_io::beliefs::read(scene.path("run/beliefs.npz")).unwrap();
    assert_eq!(beliefs.ids.len(), 340);
    assert_eq!(beliefs.beliefs.scores.nrows(), 340);
    let hits = scene.json("search run --id d1 -k 5");
    assert_eq!(hits[0]["hits"].as_array().unwrap().len(), 5);
    let said = scene.bad("search run --id d1 --id d7", 2);
    assert!(said.contains("--id d7: one item at a time"), "{said}");
    scene.good("search run --query x.csv -k 5");
    scene.good("eval run");
    scene.good("suspects run");
    // A fit of the data alone would leave them out.
    scene.text("labels.csv", "id,label\nd1,3\n");
    let said = scene.bad("fit run --add-labels labels.csv -q", 1);
    assert!(
        said.contains("run: 40 items were added") && said.contains("--out FOLDER"),
        "{said}"
    );
    assert_eq!(files(&scene.path("run")), after);
    // Ids that stand already are refused, and nothing changes.
    let said = scene.bad("add run new.csv", 1);
    assert!(
        said.contains("40 of 40 ids are in the run already (d1, d43, d85, ...)"),
        "{said}"
    );
    assert!(said.contains("--prefix"), "{said}");
    assert!(files(&scene.path("run")) == after);
    let matrix = x.view(None).unwrap().matrix.view();
    likewise_io::write_npy(
        scene.path("n.npy"),
        matrix.slice(ndarray::s![1900..1910, ..]),
    )
    .unwrap();
    scene.good("add run n.npy --prefix new-");
    let hits = scene.json("search run --id new-3 -k 1");
    assert_eq!(hits[0]["query"], "new-3");
    scene.text("narrow.csv", "id,a\nq,1\n");
    let after = files(&scene.path("run"));
    scene.bad("add run narrow.csv", 1);
    assert!(files(&scene.path("run")) == after);
    assert!(scene.bad("add x.csv new.csv", 1).contains("not a run"));
    // A fit of the data does not have them.
    scene.text("a.csv", &format!("id,label\nd6,{}\n", class(&x, 6)));
    let arguments = ["fit", "run", "--add-labels", "a.csv", "-o", "again"];
    let output = program::likewise(scene.at(), &arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success() && said.contains("50 items of the run"),
        "{said}"
    );
}
