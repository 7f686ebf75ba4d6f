//! What other programs read, as it was when it was last looked at: the settings of every recipe that has a
//! name, and of a run folder the files, the keys and the columns.
//!
//! Where one of them changes on purpose, `LIKEWISE_GOLDEN=write` writes the files in `tests/golden` anew; the
//! pages in `docs/` and the change log say what changed.

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use likewise::Monitor;
use likewise_study::fit::{Asked, Outcome, Request, Which};
use likewise_study::stages::Stages;
use likewise_study::{Environment, Recipe};
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;

use crate::device;

/// Compares line by line with the file of this name, or writes it where that is asked for.
#[track_caller]
fn is_golden(name: &str, found: &[String]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let path = folder.join(name);
    if std::env::var("LIKEWISE_GOLDEN").is_ok_and(|asked| asked == "write") {
        fs::create_dir_all(&folder).unwrap();
        fs::write(&path, found.join("\n") + "\n").unwrap();
        return;
    }
    let shown = path.display();
    let golden = fs::read_to_string(&path)
        .unwrap_or_else(|e| panic!("{shown}: {e}; LIKEWISE_GOLDEN=write writes it"));
    let golden: Vec<&str> = golden.lines().collect();
    let lines: Vec<String> = [
        golden
            .iter()
            .filter(|line| !found.iter().any(|l| l == *line))
            .map(|line| format!("- {line}"))
            .collect::<Vec<_>>(),
        found
            .iter()
            .filter(|line| !golden.contains(&line.as_str()))
            .map(|line| format!("+ {line}"))
            .collect(),
    ]
    .concat();
    assert!(
        golden == *found,
        "{shown}: not as it was; LIKEWISE_GOLDEN=write writes it anew\n{}",
        lines.join("\n")
    );
}

#[test]
fn recipes_that_have_a_name_have_the_settings_that_they_had() {
    let lines = Recipe::names().into_iter().map(|name| {
        let recipe = Recipe::named(&name).unwrap();
        serde_json::to_string(&recipe).unwrap()
    });
    is_golden("recipes.jsonl", &lines.collect::<Vec<_>>());
}

/// Two classes around two corners; every third item has no label.
fn table() -> String {
    let row = |i: usize| {
        let label = if i.is_multiple_of(3) {
            ""
        } else {
            ["a", "b"][i % 2]
        };
        let [x, y] = [i % 2, (i + 1) % 2].map(|side| side * 4 + i * 7 % 5);
        format!("i{i},{label},{x},{y},{}\n", i * 11 % 13)
    };
    let rows: String = (0..90).map(row).collect();
    format!("id,label,f0,f1,f2\n{rows}")
}

/// A small fit of `table`, whose labels are hidden but for four a class.
fn fit(folder: &Path) -> PathBuf {
    let (data, out) = (folder.join("x.csv"), folder.join("run"));
    fs::write(&data, table()).unwrap();
    let request = Request {
        data,
        recipe: Which {
            name: Some("mixed-lp".into()),
            epochs: Some(2),
            k: Some(5),
            ..Which::default()
        },
        asked: Asked {
            labels_per_class: NonZeroUsize::new(4),
            draws: NonZeroUsize::new(1),
            ..Asked::default()
        },
        out: Some(out.clone()),
        command: vec!["likewise".into(), "fit".into()],
        ..Request::default()
    };
    let stages = Stages::default();
    let at = Environment {
        monitor: &Monitor::silent(),
        stages: &stages,
        device: &device::chosen(),
        max_memory: None,
    };
    let outcome = request.run(&at).unwrap();
    assert!(matches!(outcome, Outcome::Made(..)));
    out
}

/// The files below a folder, by their names from it.
fn files(root: &Path, below: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(root, &path, found);
        } else {
            let name = path.strip_prefix(root).unwrap();
            found.insert(name.to_string_lossy().replace('\\', "/"));
        }
    }
}

/// Every key of a value by its path, those of all entries of a list together.
fn keys(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let path = format!("{path}{key}");
                // What work there was, which is no contract.
                if path == "stages" {
                    found.insert(path);
                    continue;
                }
                keys(value, &format!("{path}."), found);
                found.insert(path);
            }
        }
        Value::Array(entries) => {
            let path = format!("{}[].", path.trim_end_matches('.'));
            for entry in entries {
                keys(entry, &path, found);
            }
        }
        _ => {}
    }
}

#[test]
fn a_run_folder_has_the_files_keys_and_columns_that_it_had() {
    let folder = tempfile::tempdir().unwrap();
    let run = fit(folder.path());
    let mut found = BTreeSet::new();
    files(&run, &run, &mut found);
    let mut lines: Vec<String> = found
        .into_iter()
        .map(|name| format!("file {name}"))
        .collect();
    for name in ["config.json", "metrics.json", "run.json"] {
        let value: Value = serde_json::from_slice(&fs::read(run.join(name)).unwrap()).unwrap();
        let mut found = BTreeSet::new();
        keys(&value, "", &mut found);
        assert!(found.len() > 5, "{name}: {found:?}");
        lines.extend(found.into_iter().map(|key| format!("{name} {key}")));
    }
    let items = fs::File::open(run.join("items.parquet")).unwrap();
    let reader = SerializedFileReader::new(items).unwrap();
    let columns = reader.metadata().file_metadata().schema_descr().columns();
    let columns = columns.iter().map(|column| {
        let (name, kind) = (column.name(), column.physical_type());
        format!("items.parquet {name} {kind}")
    });
    lines.extend(columns);
    is_golden("run_folder.txt", &lines);
}

#[test]
fn keys_are_found_however_deep_and_in_lists() {
    let value = serde_json::json!({"a": {"b": [{"c": 1}, {"d": null}]}, "stages": {"x": 1}});
    let mut found = BTreeSet::new();
    keys(&value, "", &mut found);
    let found: Vec<String> = found.into_iter().collect();
    assert_eq!(found, ["a", "a.b", "a.b[].c", "a.b[].d", "stages"]);
}
