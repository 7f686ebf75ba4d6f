//! Every bad input gets one clear message and the right exit code: no panic, no file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use ndarray::{Array2, array};

use crate::program;

pub(crate) struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    /// 60 items of 2 classes in `good.npy`, their labels in `good.csv`.
    pub(crate) fn new() -> Self {
        let scene = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let x = Array2::from_shape_fn((60, 4), |(i, j)| {
            let side = if i % 2 == j % 2 { 2.0 } else { 0.0 };
            side + ((i * 7 + j * 3) % 11) as f32 / 11.0
        });
        likewise_io::write_npy(scene.path("good.npy"), x.view()).unwrap();
        let labels = (0..60).map(|i| format!("{i},{}\n", ["a", "b"][i % 2]));
        scene.text(
            "good.csv",
            &format!("id,label\n{}", labels.collect::<String>()),
        );
        scene
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn text(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        program::likewise(self.folder.path(), arguments)
    }

    fn files(&self) -> Vec<PathBuf> {
        fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    walk(&path, files);
                } else {
                    files.push(path);
                }
            }
        }
        let mut files = vec![];
        walk(self.folder.path(), &mut files);
        files.sort();
        files
    }

    /// The command fails with `code`, says each of `words` in one message, and leaves no file.
    #[track_caller]
    pub(crate) fn refuses(&self, arguments: &[&str], code: i32, words: &[&str]) {
        let before = self.files();
        let output = self.run(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
        assert!(output.stdout.is_empty(), "{arguments:?} printed a result");
        for word in words {
            assert!(
                said.contains(word),
                "{arguments:?}: no \"{word}\" in: {said}"
            );
        }
        let errors = said.lines().filter(|l| l.starts_with("error:")).count();
        assert_eq!(errors, 1, "{arguments:?}: {said}");
        let new: Vec<PathBuf> = self
            .files()
            .into_iter()
            .filter(|f| !before.contains(f))
            .collect();
        assert!(new.is_empty(), "{arguments:?} left {new:?}");
    }
}

#[test]
fn missing_files() {
    let scene = Scene::new();
    for verb in ["doctor", "graph", "propagate", "fit"] {
        scene.refuses(
            &[verb, "no.npy", "-o", "out.npz"][..if verb == "doctor" { 2 } else { 4 }],
            1,
            &["no.npy"],
        );
    }
    scene.refuses(&["eval", "no.npy"], 1, &["no.npy"]);
    scene.refuses(
        &["search", "no-run", "--id", "1"],
        1,
        &["no-run", "not a run"],
    );
    scene.refuses(
        &["embed", "no-run", "good.npy", "-o", "e.npy"],
        1,
        &["no-run"],
    );
    scene.refuses(&["index", "no.npy", "-o", "i"], 1, &["no.npy"]);
    scene.refuses(
        &["graph", "good.npy", "-o", "no/folder/g.npz"],
        1,
        &["no/folder"],
    );
    scene.refuses(
        &["fit", "good.npy", "--labels", "no.csv", "-o", "run"],
        1,
        &["no.csv"],
    );
}

#[test]
fn usage() {
    let scene = Scene::new();
    scene.refuses(&["graph", "good.npy"], 2, &["--out"]);
    scene.refuses(&["frobnicate"], 2, &["frobnicate"]);
    scene.refuses(
        &["propagate", "good.npy", "--method", "magic", "-o", "b.npz"],
        2,
        &["magic"],
    );
    scene.refuses(&["explain", "magic"], 2, &["magic", "likewise explain"]);
    scene.refuses(&["explain", "mixd"], 2, &["mixed"]);
    for device in ["gpu", "cuda:0", "vulkan:first"] {
        let wrong = ["doctor", "good.npy", "--device", device];
        scene.refuses(&wrong, 2, &[device, "must be cpu, vulkan, or vulkan:N"]);
    }
    scene.refuses(
        &["graph", "good.npy", "-o", "g.npz", "--max-memory", "lots"],
        2,
        &["lots"],
    );
    scene.refuses(
        &[
            "fit", "good.npy", "--labels", "good.csv", "--recipe", "magic", "-o", "run",
        ],
        2,
        &["magic", "mixed-lp"],
    );
    scene.refuses(
        &[
            "propagate",
            "good.npy",
            "--labels",
            "good.csv",
            "--method",
            "lgc",
            "--beta",
            "1",
            "-o",
            "b.npz",
        ],
        2,
        &["--beta"],
    );
    scene.refuses(
        &[
            "propagate",
            "good.npy",
            "--labels",
            "good.csv",
            "-k",
            "5",
            "--beta",
            "nan",
            "-o",
            "b.npz",
        ],
        2,
        &["beta"],
    );
}

#[test]
fn methods_and_what_they_take() {
    let scene = Scene::new();
    likewise_io::negatives::write(scene.path("few.npz"), 3, &[0], &[2], &[0.5]).unwrap();
    likewise_io::negatives::write(scene.path("far.npz"), 60, &[0], &[1], &[0.5]).unwrap();
    scene.text("not.csv", "id,label\n0,c\n");
    let refuses = |more: &[&str], code, words: &[&str]| {
        let start = ["propagate", "good.npy", "--labels", "good.csv", "-k", "5"];
        scene.refuses(&[&start, more, &["-o", "b.npz"]].concat(), code, words);
    };
    refuses(
        &["--method", "mixed", "--set", "gama=1"],
        2,
        &["gama", "lambda"],
    );
    refuses(&["--method", "lpdr", "--set", "gamma"], 2, &["NAME=VALUE"]);
    refuses(
        &["--method", "lpdr", "--set", "gamma=-1"],
        2,
        &["gamma = -1"],
    );
    refuses(&["--method", "lpdr", "--set", "gamma=many"], 2, &["lpdr"]);
    refuses(
        &["--method", "lgc", "--known-negatives", "far.npz"],
        2,
        &["--known-negatives"],
    );
    refuses(
        &["--known-negatives", "few.npz"],
        1,
        &["few.npz", "3 items"],
    );
    refuses(&["--known-negatives", "far.npz"], 1, &["far.npz", "(0, 1)"]);
    refuses(&["--method", "negative-labels"], 2, &["--not"]);
    refuses(&["--method", "lgc", "--not", "not.csv"], 2, &["--not"]);
    refuses(
        &["--method", "negative-labels", "--not", "not.csv"],
        1,
        &["not.csv", "\"c\""],
    );
    scene.refuses(
        &[
            "graph", "good.npy", "-k", "5", "--approx", "--recall", "1.5", "-o", "g.npz",
        ],
        2,
        &["recall = 1.5"],
    );
}

#[test]
fn neighbours_out_of_range() {
    let scene = Scene::new();
    // Before memory is asked for, however much that would be.
    for verb in [
        &["graph", "good.npy", "-o", "g.npz"][..],
        &[
            "propagate",
            "good.npy",
            "--labels",
            "good.csv",
            "-o",
            "b.npz",
        ],
        &[
            "mine", "good.npy", "--labels", "good.csv", "--from", "affinity", "--kind", "pairs",
            "-o", "p.csv",
        ],
    ] {
        let arguments = [verb, &["-k", "1000000000000000000"]].concat();
        let what = [
            "good.npy: ",
            "k = 1000000000000000000",
            "at most 59 neighbours",
        ];
        scene.refuses(&arguments, 2, &what);
    }
    for k in ["0", "60", "1000"] {
        scene.refuses(
            &["graph", "good.npy", "-k", k, "-o", "g.npz"],
            2,
            &["k = ", k],
        );
        scene.refuses(
            &["graph", "good.npy", "-k", k, "--approx", "-o", "g.npz"],
            2,
            &["k = ", k],
        );
        scene.refuses(
            &[
                "propagate",
                "good.npy",
                "--labels",
                "good.csv",
                "-k",
                k,
                "-o",
                "b.npz",
            ],
            2,
            &["k = "],
        );
        scene.refuses(
            &[
                "fit", "good.npy", "--labels", "good.csv", "-k", k, "-o", "run",
            ],
            2,
            &["k = "],
        );
        fs::remove_dir_all(scene.path("run")).ok();
    }
    for k in ["0", "61", "99999999"] {
        let index = ["index", "good.npy", "-k", k, "-o", "i"];
        scene.refuses(&index, 2, &["k = ", k, "must be at"]);
    }
}

#[test]
fn a_setting_out_of_its_range_is_no_fault_of_the_data() {
    let scene = Scene::new();
    let fit = ["fit", "good.npy", "--labels", "good.csv", "-o", "run"];
    for (arguments, said) in [
        (
            &["graph", "good.npy", "--gamma", "-1", "-o", "g.npz"][..],
            "error: --gamma = -1: must be finite and above 0",
        ),
        (
            &["graph", "good.npy", "-k", "0", "-o", "g.npz"],
            "error: k = 0: must be at least 1",
        ),
        (
            &[&fit[..], &["-k", "0"]].concat(),
            "error: k = 0: must be at least 1",
        ),
        (
            &["doctor", "good.npy", "--view", "a", "--view", "a"],
            "error: --view a: given twice",
        ),
        (
            &["doctor", "good.npy", "--seed", "18446744073709551616"],
            "must be at most 18446744073709551615",
        ),
    ] {
        scene.refuses(arguments, 2, &[said]);
    }
}

#[test]
fn an_error_stands_alone_where_a_warning_is_of_no_use() {
    let scene = Scene::new();
    let output = scene.run(&["fit", "good.npy", "--split", "item", "-o", "run"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with("error: good.npy: "), "{said}");
    assert!(said.contains("no labels"), "{said}");
}

#[test]
fn the_file_that_is_wrong_is_named_and_no_other() {
    let scene = Scene::new();
    scene.text("pairs.csv", "a,b,y\n");
    scene.text("triplets.csv", "anchor,positive,negative\n");
    let fit = ["fit", "good.npy", "--labels", "good.csv", "-q", "-o", "run"];
    for (flag, file, said) in [
        ("--pairs", "pairs.csv", "error: pairs.csv: no pairs"),
        (
            "--triplets",
            "triplets.csv",
            "error: triplets.csv: no triplets",
        ),
    ] {
        let fit = [&fit[..], &[flag, file]].concat();
        scene.refuses(&fit, 1, &[said]);
    }
    fs::copy(scene.path("good.npy"), scene.path("bare.npy")).unwrap();
    let eval = ["eval", "good.npy", "--labels", "good.csv", "--gallery"];
    let eval = [&eval[..], &["bare.npy"]].concat();
    let said = "error: bare.npy: the gallery has no labels; give some by --gallery-labels FILE";
    scene.refuses(&eval, 1, &[said]);
}

#[test]
fn a_method_is_called_as_it_is_written() {
    let scene = Scene::new();
    let labels = (0..60).map(|i| format!("{i},{}\n", i % 3));
    let labels = labels.collect::<String>();
    scene.text("three.csv", &format!("id,label\n{labels}"));
    let propagate = ["propagate", "good.npy", "--labels", "three.csv", "-k", "5"];
    let own = ["--method", "tong-jin", "-o", "b.npz"];
    let said = "tong-jin is for exactly 2; the method mixed takes any number";
    scene.refuses(&[&propagate[..], &own].concat(), 1, &[said]);
}

#[test]
fn the_usual_neighbours_are_fewer_of_few_items() {
    let scene = Scene::new();
    let x = Array2::from_shape_fn((30, 4), |(i, j)| {
        f32::from(u8::from(i % 2 == j % 2)) + ((i * 7 + j * 3) % 11) as f32 / 11.0
    });
    likewise_io::write_npy(scene.path("few.npy"), x.view()).unwrap();
    let labels = (0..30).map(|i| format!("{i},{}\n", ["a", "b"][i % 2]));
    let labels = labels.collect::<String>();
    scene.text("few.csv", &format!("id,label\n{labels}"));
    let run = |verb: &[&str], out: &str, more: &[&str]| {
        let output = scene.run(&[verb, more, &["-o", out]].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{verb:?}: {said}");
        assert!(!said.contains("many for"), "{verb:?}: {said}");
        output.stdout
    };
    let built = run(&["graph", "few.npy"], "g.npz", &["--json"]);
    let built: serde_json::Value = serde_json::from_slice(&built).unwrap();
    assert_eq!(built["k"], 3);
    let labeled = ["few.npy", "--labels", "few.csv", "--labels-per-class", "3"];
    for verb in [
        &["propagate"][..],
        &["mine", "--from", "affinity", "--kind", "pairs"],
    ] {
        let verb = [verb, &labeled].concat();
        run(&verb, "usual.csv", &[]);
        run(&verb, "three.csv", &["-k", "3"]);
        let read = |name: &str| std::fs::read(scene.path(name)).unwrap();
        assert_eq!(read("usual.csv"), read("three.csv"), "{verb:?}");
    }
}

#[test]
fn weights_without_measure() {
    let scene = Scene::new();
    let start = [
        "propagate",
        "good.npy",
        "--labels",
        "good.csv",
        "-k",
        "5",
        "-o",
        "b.npz",
    ];
    for (more, what) in [
        (
            &["--beta", "1e308"][..],
            "beta = 1e308: must be at most 1e12",
        ),
        (&["--mu", "1e308"], "mu = 1e308: must be at most 1e12"),
        (&["--pair-factor", "1e308"], "1e308: must be at most 1e12"),
        (
            &["--method", "lgc", "--mu", "1e13"],
            "mu = 1e13: must be at most 1e12",
        ),
        (&["--gamma", "1e308"], "gamma = 1e308: must be at most 1e4"),
        (
            &["--method", "poisson", "--class-sizes", "within=nan"],
            "a finite number of at least 1",
        ),
        (
            &["--method", "poisson", "--class-sizes", "within=0.5"],
            "a finite number of at least 1",
        ),
    ] {
        scene.refuses(&[&start[..], more].concat(), 2, &[what]);
    }
    scene.refuses(
        &[
            "graph", "good.npy", "-k", "5", "--gamma", "1e308", "-o", "g.npz",
        ],
        2,
        &["gamma = 1e308"],
    );
    // Rows that point every way but the same have no edge, and that is said.
    let x = array![[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]];
    likewise_io::write_npy(scene.path("apart.npy"), x.view()).unwrap();
    let output = scene.run(&["graph", "apart.npy", "-k", "1", "-o", "g.npz"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("the graph has no edge"), "{said}");
}

#[test]
fn a_flag_without_effect() {
    let scene = Scene::new();
    let graph = ["graph", "good.npy", "-k", "5", "--recall", "0.9"];
    scene.refuses(
        &[&graph[..], &["-o", "g.npz"]].concat(),
        2,
        &["--recall", "--approx"],
    );
    scene.refuses(
        &[&graph[..], &["--dry-run"]].concat(),
        2,
        &["--recall", "--approx"],
    );
    let propagate = [
        "propagate",
        "good.npy",
        "--labels",
        "good.csv",
        "-k",
        "5",
        "--recall",
        "0.9",
        "-o",
        "b.npz",
    ];
    scene.refuses(&propagate, 2, &["--recall", "--approx"]);
}

#[test]
fn values_that_are_no_numbers() {
    let scene = Scene::new();
    let x = array![[1.0, 2.0], [3.0, f32::NAN], [0.0, 1.0]];
    likewise_io::write_npy(scene.path("nan.npy"), x.view()).unwrap();
    for arguments in [
        &["doctor", "nan.npy"][..],
        &["graph", "nan.npy", "-k", "1", "-o", "g.npz"],
        &["eval", "nan.npy", "--labels", "good.csv"],
    ] {
        scene.refuses(arguments, 1, &["nan.npy", "row 1", "column 1"]);
    }
    let lines = "id,x1,x2\na,1,2\nb,3,four\nc,5,6\nd,7,8\ne,9,1\n";
    scene.text("word.csv", lines);
    let named = ["word.csv", "four", "x2", "line 3", "--missing median"];
    scene.refuses(&["doctor", "word.csv"], 1, &named);
    scene.text("inf.csv", "id,x1,x2\na,1,2\nb,inf,4\n");
    scene.refuses(&["doctor", "inf.csv"], 1, &["inf.csv", "x1"]);
}

#[test]
fn broken_files() {
    let scene = Scene::new();
    let good = fs::read(scene.path("good.npy")).unwrap();
    fs::write(scene.path("short.npy"), &good[..good.len() - 3]).unwrap();
    scene.refuses(&["doctor", "short.npy"], 1, &["short.npy"]);
    fs::write(scene.path("magic.npy"), b"not numpy at all").unwrap();
    scene.refuses(&["doctor", "magic.npy"], 1, &["magic.npy"]);
    for name in [
        "empty.npy",
        "empty.npz",
        "empty.csv",
        "empty.parquet",
        "empty.safetensors",
    ] {
        fs::write(scene.path(name), b"").unwrap();
        scene.refuses(&["doctor", name], 1, &[name]);
    }
    scene.text("ragged.csv", "id,x1,x2\na,1,2\nb,3\n");
    scene.refuses(&["doctor", "ragged.csv"], 1, &["ragged.csv"]);
    scene.text("thing.xyz", "?");
    let output = scene.run(&["doctor", "thing.xyz"]);
    assert!(matches!(output.status.code(), Some(1 | 2)));
    fs::create_dir(scene.path("photos")).unwrap();
    fs::write(scene.path("photos/a.jpg"), b"\xff\xd8").unwrap();
    let output = scene.run(&["doctor", "photos"]);
    assert!(matches!(output.status.code(), Some(1 | 2)));
}

#[test]
fn features_that_tell_nothing_apart() {
    let scene = Scene::new();
    let same = Array2::from_elem((60, 4), 7.0_f32);
    likewise_io::write_npy(scene.path("same.npy"), same.view()).unwrap();
    let words = ["same.npy", "60 items", "the same features"];
    for recipe in ["auto", "start", "lda", "mixed-rca"] {
        let fit = [
            "fit", "same.npy", "--labels", "good.csv", "--recipe", recipe,
        ];
        scene.refuses(&[&fit[..], &["-o", "run"]].concat(), 1, &words);
        let split = ["--split", "item", "-o", "run"];
        scene.refuses(&[&fit[..], &split].concat(), 1, &words);
    }
    scene.refuses(&["fit", "same.npy", "-o", "run"], 1, &words);
}

#[test]
fn labels_that_do_not_fit() {
    let scene = Scene::new();
    scene.text("foreign.csv", "id,label\n0,a\n999,b\n");
    scene.refuses(
        &["fit", "good.npy", "--labels", "foreign.csv", "-o", "run"],
        1,
        &["foreign.csv", "999"],
    );
    scene.text("twice.csv", "id,label\n0,a\n0,b\n");
    scene.refuses(
        &["fit", "good.npy", "--labels", "twice.csv", "-o", "run"],
        1,
        &["twice.csv", "0"],
    );
    scene.text("none.csv", "id,label\n0,\n1,-1\n");
    scene.refuses(
        &[
            "propagate",
            "good.npy",
            "--labels",
            "none.csv",
            "-k",
            "5",
            "-o",
            "out.npz",
        ],
        1,
        &["no labels"],
    );
    scene.refuses(
        &["propagate", "good.npy", "-k", "5", "-o", "out.npz"],
        1,
        &["no labels", "--labels"],
    );
    scene.refuses(
        &["fit", "good.npy", "--split", "item", "-k", "5", "-o", "run"],
        1,
        &["no labels", "--labels"],
    );
    scene.refuses(
        &["fit", "good.npy", "--draws", "3", "-k", "5", "-o", "run"],
        2,
        &["--draws go with --labels-per-class and a test part"],
    );
    scene.refuses(
        &[
            "fit",
            "good.npy",
            "--gate",
            "recall@1=0.5",
            "-k",
            "5",
            "-o",
            "run",
        ],
        2,
        &["r_precision"],
    );
    scene.refuses(&["eval", "good.npy"], 1, &["--labels"]);
    let one: Vec<String> = (0..60).map(|i| format!("{i},a")).collect();
    scene.text("one.csv", &format!("id,label\n{}\n", one.join("\n")));
    let output = scene.run(&[
        "fit", "good.npy", "--labels", "one.csv", "-k", "5", "-o", "one",
    ]);
    assert_eq!(output.status.code(), Some(0), "the start is delivered");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("labels of one class only"), "{said}");
    let output = scene.run(&[
        "propagate",
        "good.npy",
        "--labels",
        "one.csv",
        "-k",
        "5",
        "-o",
        "spread.npz",
    ]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("all known labels are of one class"), "{said}");
    scene.text("ids.csv", "id,x1,x2\na,1,2\na,3,4\n");
    scene.refuses(
        &["doctor", "ids.csv"],
        1,
        &["ids.csv", "\"a\" stands in lines 2 and 3"],
    );
}

#[test]
fn settings_that_a_table_speaks_against() {
    let scene = Scene::new();
    scene.text("semicolons.csv", "a;b;c\n1,5;2;3\n2,5;3;4\n");
    scene.refuses(
        &["doctor", "semicolons.csv", "--sep", ","],
        1,
        &[
            "semicolons.csv: line 2 has 2 fields, but the first line has 1",
            "the file looks as if \";\" stands between columns, but --sep says \",\"; leave it out",
        ],
    );
    scene.text("numbers.csv", "weight,price\n1,2\n3,5\n4,9\n");
    let columns = ["doctor", "numbers.csv", "--columns", "weight,price"];
    scene.refuses(
        &[&columns[..], &["--text"]].concat(),
        2,
        &["--text has no effect: none of the columns that are asked for holds text"],
    );
}

#[test]
fn graphs_that_do_not_fit() {
    let scene = Scene::new();
    let three = array![[1.0_f32, 0.0], [0.9, 0.1], [0.8, 0.3]];
    likewise_io::write_npy(scene.path("three.npy"), three.view()).unwrap();
    assert!(
        scene
            .run(&["graph", "three.npy", "-k", "1", "-o", "g.npz"])
            .status
            .success()
    );
    scene.refuses(
        &[
            "propagate",
            "good.npy",
            "--labels",
            "good.csv",
            "--graph",
            "g.npz",
            "-o",
            "b.npz",
        ],
        1,
        &["3 nodes", "60 items"],
    );
    scene.refuses(
        &[
            "propagate",
            "good.npy",
            "--labels",
            "good.csv",
            "--graph",
            "good.npy",
            "-o",
            "b.npz",
        ],
        1,
        &["good.npy"],
    );
}

#[test]
fn memory_limits_are_kept_or_the_work_is_refused() {
    let scene = Scene::new();
    for arguments in [
        &[
            "graph",
            "good.npy",
            "-k",
            "5",
            "-o",
            "g.npz",
            "--max-memory",
            "1MB",
        ][..],
        &[
            "propagate",
            "good.npy",
            "--labels",
            "good.csv",
            "-k",
            "5",
            "-o",
            "b.npz",
            "--max-memory",
            "1MB",
        ],
        &[
            "fit",
            "good.npy",
            "--labels",
            "good.csv",
            "-o",
            "run",
            "--max-memory",
            "1MB",
        ],
        &[
            "eval",
            "good.npy",
            "--labels",
            "good.csv",
            "--max-memory",
            "1MB",
        ],
    ] {
        scene.refuses(arguments, 1, &["--max-memory"]);
    }
}

#[test]
fn a_folder_with_other_things_is_not_written_into() {
    let scene = Scene::new();
    fs::create_dir(scene.path("thesis")).unwrap();
    scene.text("thesis/chapter1.tex", "dear reader");
    scene.refuses(
        &[
            "fit", "good.npy", "--labels", "good.csv", "-k", "5", "-o", "thesis",
        ],
        2,
        &["thesis", "another folder"],
    );
}

#[test]
fn a_model_refuses_features_of_another_dimension() {
    let scene = Scene::new();
    let fit = [
        "fit", "good.npy", "--labels", "good.csv", "-k", "5", "--epochs", "1", "-o", "run",
    ];
    let output = scene.run(&fit);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let narrow = array![[1.0_f32, 2.0]];
    likewise_io::write_npy(scene.path("narrow.npy"), narrow.view()).unwrap();
    scene.refuses(
        &["embed", "run", "narrow.npy", "-o", "e.npy"],
        1,
        &["narrow.npy", "4", "2"],
    );
    scene.refuses(
        &["search", "run", "--query", "narrow.npy"],
        1,
        &["narrow.npy"],
    );
    scene.refuses(&["search", "run", "--id", "nobody"], 1, &["nobody"]);
    scene.refuses(&["search", "run", "--id", "3", "-k", "0"], 2, &["k = 0"]);
    let model = fs::read(scene.path("run/model.safetensors")).unwrap();
    fs::write(
        scene.path("run/model.safetensors"),
        &model[..model.len() / 2],
    )
    .unwrap();
    scene.refuses(
        &["embed", "run", "good.npy", "-o", "e.npy"],
        1,
        &["model.safetensors"],
    );
}
