//! Pipes in the place of files of a run: who opens one waits for its other end.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use likewise_serve::Options;
use likewise_study::run_folder::Models;
use serde_json::json;

use crate::http::get;
use crate::scene::{Server, device, run};

/// Puts a pipe in the place of a file; whether there are any here.
fn replaced(file: &Path) -> bool {
    std::fs::remove_file(file).unwrap();
    let made = std::process::Command::new("mkfifo").arg(file).status();
    let made = made.is_ok_and(|status| status.success());
    if !made {
        println!("there is no mkfifo here");
    }
    made
}

/// What comes of work that must end.
#[track_caller]
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || tell.send(work()));
    told.recv_timeout(Duration::from_mins(1)).unwrap()
}

#[test]
fn a_run_with_a_pipe_for_its_report_is_refused() {
    let run = run();
    if !replaced(&run.path().join("report.html")) {
        return;
    }
    let options = Options::new(run.path(), device());
    let begin = move || Server::begin(&options, None).err().map(|e| e.to_string());
    let said = in_time(begin).unwrap();
    assert!(said.contains("report.html: a pipe"), "{said}");
}

#[test]
fn an_earlier_model_whose_numbers_cannot_be_read_says_so_in_their_place() {
    let run = run();
    let models = Models::of(run.path());
    let kept = models.folder(models.keep().unwrap());
    if !replaced(&kept.join("metrics.json")) {
        return;
    }
    let server = Server::of(run.path());
    let at = server.at;
    let found = in_time(move || get(at, "/models")).good();
    let model = &found["models"][0];
    assert_eq!(model["metrics"], json!({}));
    assert!(model["recipe"].is_string(), "{model}");
    let damaged = model["damaged"].as_str().unwrap();
    assert!(damaged.contains("metrics.json"), "{damaged}");
}
