//! What the system does not give ends in one message, and never in a signal.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use likewise::Graph;

use crate::program::{confined, printed};

/// KiB of address space: more than the program and two threads take, less than the work below.
const LITTLE: u64 = 6 << 20;
/// Room for all threads that may be started, and not for those that are asked for.
const MUCH: u64 = 48 << 20;

/// What the program says, which must fail with the code 1, in one message.
#[track_caller]
fn fails(folder: &Path, line: &str) -> String {
    let arguments: Vec<&str> = line.split(' ').collect();
    let output = confined(folder, LITTLE, &arguments).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        output.status.code(),
        Some(1),
        "{line}: {:?}: {said}",
        output.status
    );
    assert_eq!(said.lines().count(), 1, "{line}: {said}");
    assert!(said.starts_with("error: "), "{line}: {said}");
    said
}

/// 50,000 items of 25,000 classes on a ring: 10 GB of beliefs, and nothing else that is large.
#[test]
fn memory_that_runs_out_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let n = 50_000_u32;
    let sides = |i: u32| {
        let mut sides = [(i + n - 1) % n, (i + 1) % n];
        sides.sort_unstable();
        sides
    };
    let starts = (0..=n as usize).map(|i| 2 * i).collect();
    let ring = Graph::new(
        starts,
        (0..n).flat_map(sides).collect(),
        vec![1.0; 2 * n as usize],
    );
    likewise_io::graph::write(at.join("ring.npz"), &ring.unwrap()).unwrap();
    let rows = (0..n).map(|i| format!("{i},c{},{}\n", i / 2, i % 97));
    let text = format!("id,label,x\n{}", rows.collect::<String>());
    std::fs::write(at.join("items.csv"), text).unwrap();
    let said = fails(
        at,
        "propagate items.csv --graph ring.npz --method lgc --threads 2 --max-memory 100GiB -q -o b.npz",
    );
    assert!(said.contains("out of memory"), "{said}");
    assert!(!at.join("b.npz").exists());
}

#[test]
fn a_file_that_does_not_fit_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // A matrix of 8 GB by columns, which is taken as a whole; on the disk it takes nothing.
    let header = "{'descr': '<f4', 'fortran_order': True, 'shape': (1000, 2000000), }";
    let mut file = File::create(at.join("big.npy")).unwrap();
    let text = format!("{header:117}\n");
    file.write_all(b"\x93NUMPY\x01\x00").unwrap();
    file.write_all(&(text.len() as u16).to_le_bytes()).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file.set_len(10 + text.len() as u64 + 8_000_000_000)
        .unwrap();
    let said = fails(
        at,
        "features big.npy --threads 2 --max-memory 100GiB -q -o f.npy",
    );
    assert!(said.contains("big.npy"), "{said}");
    assert!(said.contains("no memory for 2000000000 values"), "{said}");
}

#[test]
fn threads_without_measure_are_not_started() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("items.csv"), "id,a,b\n0,1,2\n1,2,3\n2,3,5\n3,1,1\n").unwrap();
    let graph = ["graph", "items.csv", "-k", "2", "-o", "g.npz"];
    let mut command = confined(at, MUCH, &graph);
    let output = command.env("RAYON_NUM_THREADS", "60000").output().unwrap();
    printed(&graph, output);
}

/// Ids of 8,000 letters in two files: each fits by itself, and both are held together.
#[test]
fn a_limit_of_memory_is_held_while_the_work_runs() {
    if !Path::new("/proc/self/statm").exists() {
        eprintln!("skipped: this system does not tell what memory a process holds");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let long = "x".repeat(8_000);
    let [mut items, mut labels] = ["id,a\n", "id,label\n"].map(String::from);
    for item in 0..10_000 {
        writeln!(items, "{item}{long},{}", item % 97).unwrap();
        writeln!(labels, "{item}{long},c{}", item % 3).unwrap();
    }
    std::fs::write(at.join("items.csv"), items).unwrap();
    std::fs::write(at.join("labels.csv"), labels).unwrap();
    let run = |limit: &str| {
        let line = format!(
            "doctor items.csv --labels labels.csv --id-column id -k 3 --threads 2 -q --max-memory {limit}"
        );
        let arguments: Vec<&str> = line.split(' ').collect();
        let output = confined(at, LITTLE, &arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), said)
    };
    let (code, said) = run("100MiB");
    assert_eq!(code, Some(1), "{said}");
    let stopped = "error: the work was stopped: it took more than the 100.0 MiB of --max-memory";
    assert!(said.contains(stopped), "{said}");
    let (code, said) = run("2GiB");
    assert_eq!(code, Some(0), "{said}");
}
