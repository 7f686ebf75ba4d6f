//! Quality gates decide the exit code, whoever reads the output; what cannot be measured is
//! refused before any work.

use std::fs;
use std::process::Stdio;

use ndarray::Array2;

use crate::program::command;

/// 40 items of two classes in `x.npy`, their labels in `l.csv`.
fn scene() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let x = Array2::from_shape_fn((40, 4), |(i, j)| ((i * 7 + j * 3) % 11) as f32 - 5.0);
    likewise_io::write_npy(folder.path().join("x.npy"), x.view()).unwrap();
    let rows: Vec<String> = (0..40).map(|i| format!("{i},{}\n", i % 2)).collect();
    let rows = rows.concat();
    fs::write(folder.path().join("l.csv"), format!("id,label\n{rows}")).unwrap();
    folder
}

#[test]
fn a_gate_decides_although_nobody_reads_the_output() {
    let folder = scene();
    for (gate, code) in [("recall@1=1", 3), ("recall@1=0", 0)] {
        let arguments = [
            "eval", "x.npy", "--labels", "l.csv", "--no-nmi", "--gate", gate,
        ];
        let mut child = command(folder.path(), &arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The reading end is closed before anything is printed.
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(code), "{gate}");
    }
}

#[test]
fn gates_without_an_answer_are_refused_before_any_work() {
    let folder = scene();
    // The data do not exist: only what comes before reading them can speak.
    let eval = ["eval", "none.npy", "--labels", "l.csv", "--gate"];
    let fit = [
        "fit", "none.npy", "--labels", "l.csv", "-o", "run", "--gate",
    ];
    for verb in [&eval[..], &fit[..]] {
        for gate in ["recal@1=0.5", "recall@3=0.5", "loss@triplet=1", "speed=1"] {
            let output = command(folder.path(), &[verb, &[gate]].concat())
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{gate}: {said}");
            let name = gate.split('=').next().unwrap();
            assert!(
                said.contains(name) && said.contains("map_at_r"),
                "{gate}: {said}"
            );
        }
        let output = command(folder.path(), &[verb, &["recall@2=0.5"]].concat()).output();
        assert_eq!(
            output.unwrap().status.code(),
            Some(1),
            "there is no such file"
        );
    }
    assert!(!folder.path().join("run").exists());
}

#[test]
fn a_missed_gate_has_its_own_exit_code() {
    let folder = scene();
    let fit = [
        "fit", "x.npy", "--labels", "l.csv", "-k", "4", "--epochs", "1", "-o", "run",
    ];
    for arguments in [
        &[&fit[..], &["--gate", "map=1"]].concat()[..],
        &["eval", "run", "--gate", "map=1"],
    ] {
        let output = command(folder.path(), arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("map is 0."), "{said}");
    }
}

#[test]
fn queries_that_have_nothing_to_find_are_told_of_and_alone_are_no_zero() {
    let folder = scene();
    let eval = |label: &dyn Fn(usize) -> usize| {
        let rows: Vec<String> = (0..40).map(|i| format!("{i},{}\n", label(i))).collect();
        let rows = rows.concat();
        fs::write(folder.path().join("own.csv"), format!("id,label\n{rows}")).unwrap();
        let arguments = ["eval", "x.npy", "--labels", "own.csv", "--no-nmi"];
        let output = command(folder.path(), &arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), said, output.stdout)
    };
    let (code, said, shown) = eval(&|i| i);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("nothing to find") && shown.is_empty(),
        "{said}"
    );
    let (code, said, _) = eval(&|i| i.min(30));
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("30 of 40 queries have no other item"),
        "{said}"
    );
}
