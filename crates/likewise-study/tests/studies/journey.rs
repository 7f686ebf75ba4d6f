//! What is done with data and embeddings, as a program asks for it: from files to files, no command line anywhere.

mod found;
mod made;
mod told;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use likewise::Monitor;
use likewise_study::data::Data;
use likewise_study::source::ReadAs;
use likewise_study::stages::Stages;
use likewise_study::{Environment, ErrorKind, Result};

/// Three groups of twenty labeled items in four columns, and the first item once more.
struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut text = "id,label,a,b,c,d\n".to_owned();
        for (line, i) in (0..60).chain([0]).enumerate() {
            let wave = |k: usize| 0.3 * ((i * (k + 3)) as f64).sin();
            let at = |k: usize| wave(k) + if k == i % 3 { 3.0 } else { 0.0 };
            let (a, b, c, d) = (at(0), at(1), at(2), wave(3));
            let _ = writeln!(text, "i{line},c{},{a},{b},{c},{d}", i % 3);
        }
        std::fs::write(folder.path().join("items.csv"), text).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn data(&self) -> Data {
        Data {
            path: self.path("items.csv"),
            read: ReadAs::default(),
        }
    }
}

/// What a work gives without anybody who listens.
fn of<T>(work: impl FnOnce(&Environment) -> Result<T>) -> Result<T> {
    let (monitor, stages) = (Monitor::silent(), Stages::default());
    let device = likewise_nn::device("cpu").unwrap();
    work(&Environment {
        monitor: &monitor,
        stages: &stages,
        device: &device,
        max_memory: None,
    })
}

#[track_caller]
fn refused<T>(result: Result<T>, words: &str) {
    let e = result.err().expect("it must be refused");
    assert_eq!(e.kind(), ErrorKind::Parameter, "{e}");
    assert!(e.to_string().contains(words), "{e}");
}

fn first_line(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().next().unwrap_or_default().to_owned()
}
