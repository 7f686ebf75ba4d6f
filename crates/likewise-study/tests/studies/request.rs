//! A fit as a program asks for it, from files to a folder: no command line anywhere.

use std::fmt::Write as _;
use std::path::Path;

use likewise::Monitor;
use likewise_study::fit::{AUTO, More, Outcome, Request, Which};
use likewise_study::run_folder::{Rights, RunFolder};
use likewise_study::stages::Stages;
use likewise_study::{Environment, ErrorKind, Result};

/// Three groups of twenty items in four columns, of which every third has its label.
fn table(folder: &Path) -> std::path::PathBuf {
    let mut text = "id,label,a,b,c,d\n".to_owned();
    for i in 0..60 {
        let class = i % 3;
        let label = if i % 9 < 3 {
            format!("c{class}")
        } else {
            String::new()
        };
        let wave = |k: usize| 0.3 * ((i * (k + 3)) as f64).sin();
        let at = |k: usize| wave(k) + if k == class { 3.0 } else { 0.0 };
        let _ = writeln!(
            text,
            "i{i},{label},{},{},{},{}",
            at(0),
            at(1),
            at(2),
            wave(3)
        );
    }
    let file = folder.join("items.csv");
    std::fs::write(&file, text).unwrap();
    file
}

fn run(request: &Request) -> Result<Outcome> {
    let (monitor, stages) = (Monitor::silent(), Stages::default());
    let device = likewise_nn::device("cpu").unwrap();
    request.run(&Environment {
        monitor: &monitor,
        stages: &stages,
        device: &device,
        max_memory: None,
    })
}

fn asked(folder: &Path, recipe: &str) -> Request {
    Request {
        data: table(folder),
        recipe: Which {
            name: Some(recipe.into()),
            ..Which::default()
        },
        out: Some(folder.join("run")),
        ..Request::default()
    }
}

#[test]
fn a_run_is_made_found_and_made_again_with_more_labels() {
    let folder = tempfile::tempdir().unwrap();
    let mut request = asked(folder.path(), "mild-probabilities");
    let made = run(&request).unwrap();
    assert!(matches!(made, Outcome::Made(..)));
    // It may not be lost by a slip, and is found by who goes on.
    assert_eq!(run(&request).unwrap_err().kind(), ErrorKind::Parameter);
    request.rights.resume = true;
    assert!(matches!(run(&request).unwrap(), Outcome::Found(_)));
    request.data = folder.path().join("other.csv");
    std::fs::copy(folder.path().join("items.csv"), &request.data).unwrap();
    std::fs::write(
        &request.data,
        "id,label,a,b\nx,1,1,2\ny,2,2,1\nz,1,1,3\nw,2,3,1\n",
    )
    .unwrap();
    assert!(run(&request).is_err());

    let at = folder.path().join("run");
    let inputs = RunFolder::open(&at).unwrap().record().unwrap().inputs;
    assert_eq!(inputs.unwrap().data, folder.path().join("items.csv"));
    let more = folder.path().join("more.csv");
    std::fs::write(&more, "id,label\ni3,c0\ni4,c1\n").unwrap();
    let files = [more];
    let silent = Monitor::silent();
    let again = Request::again(&at, More::Labels(&files), None, &silent).unwrap();
    let known = |at: &Path| {
        let items = RunFolder::open(at).unwrap().items().unwrap();
        items.iter().filter(|item| item.label.is_some()).count()
    };
    let before = known(&at);
    // Beside it, and then in its place.
    let other = folder.path().join("other");
    run(&again.clone().into_folder(other.clone())).unwrap();
    assert_eq!((known(&at), known(&other)), (before, before + 2));
    run(&again).unwrap();
    assert_eq!(known(&at), before + 2);
    let recipe = |at: &Path| RunFolder::open(at).unwrap().config().unwrap().recipe;
    assert_eq!(recipe(&at), recipe(&other));
}

#[test]
fn the_record_of_a_chosen_recipe_says_that_labels_chose_it() {
    let folder = tempfile::tempdir().unwrap();
    let request = asked(folder.path(), AUTO);
    let Outcome::Made(results, _) = run(&request).unwrap() else {
        panic!("it was not made");
    };
    assert!(!results.tried.is_empty());
    let run = RunFolder::open(&folder.path().join("run")).unwrap();
    assert!(run.record().unwrap().inputs.unwrap().chooses);
}

#[test]
fn what_cannot_be_fitted_is_said_before_a_folder_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let none = asked(folder.path(), "nosuch");
    let both = Request {
        label_fraction: Some(0.5),
        ..asked(folder.path(), "rca")
    };
    let nowhere = Request {
        out: None,
        ..asked(folder.path(), "rca")
    };
    let missing = Request {
        data: folder.path().join("none.csv"),
        ..asked(folder.path(), "rca")
    };
    for wrong in [&none, &both, &nowhere, &missing] {
        assert!(run(wrong).is_err());
        assert!(!folder.path().join("run").exists());
    }
    let rights = Rights {
        resume: true,
        ..Rights::default()
    };
    let no_run = Request::again(folder.path(), More::Labels(&[]), None, &Monitor::silent());
    assert!(no_run.is_err());
    let fresh = Request {
        rights,
        ..asked(folder.path(), "mild-probabilities")
    };
    assert!(matches!(run(&fresh).unwrap(), Outcome::Made(..)));
}
