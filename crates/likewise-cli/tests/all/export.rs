//! Runs for other programs: what each of them finds in what we wrote, and what is refused.

mod bad;
mod files;
mod model;
#[cfg(all(feature = "export", unix))]
mod pgvector;
#[cfg(feature = "export")]
mod qdrant;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use ndarray::Array2;
use serde_json::Value;

use crate::{pages, program};

/// A folder with the data of the pages.
struct Scene(tempfile::TempDir);

impl Scene {
    fn new() -> Self {
        let scene = Self(tempfile::tempdir().unwrap());
        pages::data(scene.0.path());
        scene
    }

    /// With a run, `run`, whose rows compare by their cosine: the same one for all, fitted once.
    fn with_run() -> Self {
        static RUN: OnceLock<Vec<(PathBuf, Vec<u8>)>> = OnceLock::new();
        let files = RUN.get_or_init(|| {
            let scene = Self::new();
            scene.good("fit items.npz --recipe logistic -q -o run");
            files_in(&scene.path("run"))
        });
        let scene = Self::new();
        for (place, bytes) in files {
            let path = scene.path("run").join(place);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        scene
    }

    /// With a run across views, `run`, of this recipe.
    fn across(recipe: &str) -> Self {
        let scene = Self::new();
        // What looks at no label has none to hide.
        let few = if recipe == "cca" {
            ""
        } else {
            " --labels-per-class 5 --draws 1"
        };
        scene.good(&format!(
            "fit pairs.npz --view image --view text --recipe {recipe}{few} -q -o run"
        ));
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, line: &str) -> Command {
        program::command(self.0.path(), &line.split(' ').collect::<Vec<_>>())
    }

    #[track_caller]
    fn good(&self, line: &str) -> String {
        let arguments: Vec<&str> = line.split(' ').collect();
        program::succeeds(self.0.path(), &arguments)
    }

    #[track_caller]
    fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.good(&format!("{line} --json"))).unwrap()
    }

    /// Must fail with this code, in one message that has these words; gives the message.
    #[track_caller]
    fn bad(&self, line: &str, code: i32, words: &[&str]) -> String {
        refused(&mut self.command(line), code, words)
    }

    /// What the Python that is there prints; none, and why, where there is none.
    #[track_caller]
    fn python(&self, code: &str) -> Option<String> {
        let python = likewise_testdata::python()?;
        let mut command = Command::new(python);
        let output = command
            .current_dir(self.0.path())
            .args(["-c", code])
            .output();
        let output = output.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{code}\n{said}");
        Some(String::from_utf8(output.stdout).unwrap())
    }

    /// Embeddings and ids of a run.
    fn run(&self, run: &str) -> (Array2<f32>, Vec<String>) {
        let run = self.path(run);
        let rows = likewise_io::read_matrix(run.join("embeddings.npy"), None).unwrap();
        let items = likewise_io::items::read(run.join("items.parquet")).unwrap();
        (rows, items.into_iter().map(|item| item.id).collect())
    }

    /// Ids that the run itself finds, exactly, for the item of this id, which is among them where the
    /// run is searched by rows alone.
    fn found(&self, run: &str, id: &str, k: usize) -> Vec<String> {
        let line = format!("search {run} --id {id} -k {k} --exact");
        let answers = self.json(&line);
        let hits = answers[0]["hits"].as_array().unwrap();
        let id = |hit: &Value| hit["id"].as_str().unwrap().to_owned();
        hits.iter().map(id).collect()
    }
}

/// The files below a folder, by their place in it.
fn files_in(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(open) = folders.pop() {
        for entry in fs::read_dir(open).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let place = path.strip_prefix(folder).unwrap().to_owned();
            files.push((place, fs::read(path).unwrap()));
        }
    }
    files
}

#[track_caller]
fn refused(command: &mut Command, code: i32, words: &[&str]) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{command:?}: {said}");
    assert!(output.stdout.is_empty(), "{command:?} printed a result");
    let errors = said.lines().filter(|line| line.starts_with("error:"));
    assert_eq!(errors.count(), 1, "{command:?}: {said}");
    for word in words {
        assert!(said.contains(word), "{command:?}: no \"{word}\" in: {said}");
    }
    said
}

fn lines(text: &Value) -> String {
    let lines = text.as_array().unwrap().iter();
    let lines: Vec<&str> = lines.map(|line| line.as_str().unwrap()).collect();
    lines.join("\n")
}

/// Whether the largest difference is within single precision, times what the sizes are.
#[track_caller]
fn near(found: &Array2<f32>, expected: &Array2<f32>) {
    assert_eq!(found.dim(), expected.dim());
    let largest = |m: &Array2<f32>| m.iter().fold(0.0_f32, |most, v| most.max(v.abs()));
    let error = largest(&(found - expected)) / largest(expected);
    assert!(error < 1e-4, "{error}");
}

fn matrix(path: &Path) -> Array2<f32> {
    likewise_io::read_matrix(path, None).unwrap()
}
