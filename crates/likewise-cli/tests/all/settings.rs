//! A setting that is unknown, or that changes nothing, is refused; what is left out is said.

use std::fs;

use ndarray::{Array2, array};

use crate::bad_input::Scene;

/// `propagate` of the scene's items, without an output.
const PROPAGATE: [&str; 4] = ["propagate", "good.npy", "--labels", "good.csv"];

/// What a command that must succeed says on stderr.
#[track_caller]
fn said(scene: &Scene, arguments: &[&str]) -> String {
    let output = scene.run(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {said}");
    said
}

#[test]
fn a_given_graph_is_not_built() {
    let scene = Scene::new();
    said(&scene, &["graph", "good.npy", "-k", "5", "-o", "g.npz"]);
    let given = ["--graph", "g.npz", "-o", "b.npz"];
    for more in [
        &["-k", "5"][..],
        &["--gamma", "1"],
        &["--center"],
        &["--symmetrize", "max"],
        &["--precision", "f32"],
        &["--approx"],
    ] {
        let name = more[0].trim_start_matches('-');
        scene.refuses(
            &[&PROPAGATE[..], &given, more].concat(),
            2,
            &["--graph", name, "cannot be used with"],
        );
    }
    said(&scene, &[&PROPAGATE[..], &given].concat());
    scene.refuses(
        &[
            "graph",
            "good.npy",
            "--approx",
            "--precision",
            "f32",
            "-k",
            "5",
            "-o",
            "h.npz",
        ],
        2,
        &["--approx", "--precision"],
    );
}

#[test]
fn parameters_that_a_method_does_not_use() {
    let scene = Scene::new();
    let refuses = |more: &[&str], words: &[&str]| {
        let all = [&PROPAGATE[..], &["-k", "5", "-o", "b.npz"], more].concat();
        scene.refuses(&all, 2, words);
    };
    for more in [
        &["--lambda", "3"][..],
        &["--scale", "literal"],
        &["--set", "lambda=3"],
    ] {
        let with = [&["--method", "manifold"], more].concat();
        refuses(&with, &["has no effect with --method manifold"]);
    }
    let known = ["--known-negatives", "n.npz", "--lambda", "3"];
    refuses(&known, &["--lambda has no effect with --method mixed"]);
    let weightless = ["--beta", "0", "--lambda", "3"];
    refuses(
        &weightless,
        &["--lambda has no effect with --method mixed", "beta of 0"],
    );
    let twice = ["--method", "lgc", "--set", "mu=1", "--set", "mu=2"];
    refuses(&twice, &["--set mu=2", "given twice"]);
    let both = ["--method", "lgc", "--mu", "1", "--set", "mu=2"];
    refuses(&both, &["--set mu=2", "given twice"]);
}

#[test]
fn an_item_that_asks_is_not_read() {
    let scene = Scene::new();
    let fit = [
        "fit", "good.npy", "--labels", "good.csv", "-k", "5", "--epochs", "1", "-o", "run",
    ];
    said(&scene, &fit);
    for more in [
        &["--view", "features"][..],
        &["--encoder", "net.safetensors"],
        &["--skip-bad"],
        &["--squeeze"],
    ] {
        let all = [&["search", "run", "--id", "3"], more].concat();
        scene.refuses(&all, 2, &[more[0], "has no effect with --id"]);
    }
    // The estimates of what reads a run.
    for arguments in [
        &["search", "run", "--id", "3", "--dry-run", "--json"][..],
        &[
            "search",
            "run",
            "--query",
            "good.npy",
            "--dry-run",
            "--json",
        ],
        &["embed", "run", "good.npy", "--dry-run", "--json"],
        &["index", "run", "--dry-run", "--json"],
        &["index", "good.npy", "--dry-run", "--json"],
        &["doctor", "good.npy", "--dry-run", "--json"],
    ] {
        let output = scene.run(arguments);
        assert!(output.status.success(), "{arguments:?}");
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(answer["memory_bytes"].as_u64() > Some(1 << 20), "{answer}");
        assert!(answer["seconds"].is_number(), "{answer}");
    }
    scene.refuses(&["embed", "run", "good.npy"], 2, &["--out"]);
    // Again, with nothing left to do.
    let again = said(&scene, &[&fit[..], &["--resume"]].concat());
    assert!(again.contains("nothing to resume"), "{again}");
    let other = [&fit[..9], &["new", "--resume"]].concat();
    let other = said(&scene, &other);
    assert!(
        other.contains("new: there is no interrupted fit to resume"),
        "{other}"
    );
}

#[test]
fn more_directions_than_columns() {
    let scene = Scene::new();
    scene.text("wide.toml", "base = \"rca\"\n[start]\nrank = 9\n");
    scene.text("config.toml", "[recipe]\nstart = { rank = 9 }\n");
    let fit = ["fit", "good.npy", "--labels", "good.csv", "-o", "run"];
    for (more, file) in [
        (["--recipe", "wide.toml"], "wide.toml: "),
        (["--config", "config.toml"], "config.toml: [recipe]: "),
    ] {
        let rule = format!("{file}start.rank = 9: must be at most 4");
        scene.refuses(&[&fit[..], &more].concat(), 2, &[&rule]);
    }
}

#[test]
fn recipes_in_files_are_usage() {
    let scene = Scene::new();
    for (name, text, word) in [
        ("field.toml", "learner.nosuch = 1", "nosuch"),
        ("kind.toml", "learner = { kind = \"nosuch\" }", "nosuch"),
        ("value.toml", "start.power = 7", "start.power = 7"),
        ("base.toml", "base = \"nosuch\"", "nosuch"),
        (
            "idle.toml",
            "base = \"rca\"\nrounds.patience = 3",
            "has no effect",
        ),
        ("text.toml", "start = [", "text.toml"),
    ] {
        scene.text(name, text);
        let fit = [
            "fit", "good.npy", "--labels", "good.csv", "--recipe", name, "-o", "run",
        ];
        scene.refuses(&fit, 2, &[name, word]);
    }
}

#[test]
fn a_file_of_settings_may_ask_for_the_choice_of_a_recipe() {
    let scene = Scene::new();
    fs::write(scene.path("run.toml"), "[fit]\nrecipe = \"auto\"\n").unwrap();
    let fit = [
        "fit", "good.npy", "--labels", "good.csv", "--config", "run.toml",
    ];
    said(&scene, &[&fit[..], &["-o", "run", "-q"]].concat());
    // Recipes that are compared keep their own choices.
    let own = "[fit]\nrecipe = \"auto\"\n[recipe]\nrounds = { epochs = 1 }\n";
    fs::write(scene.path("run.toml"), own).unwrap();
    let refused = [&fit[..], &["-o", "other"]].concat();
    scene.refuses(&refused, 2, &["--recipe auto", "keep their own settings"]);
}

#[test]
fn what_is_wrong_in_a_config_file_is_said_of_it() {
    let scene = Scene::new();
    let graph = ["graph", "good.npy", "-o", "g.npz", "--config", "run.toml"];
    for (text, words) in [
        ("threads = \"many\"", ["run.toml: threads: ", "many"]),
        ("nosuch = 1", ["run.toml: nosuch: ", "unexpected"]),
        ("\"k 5\" = 1", ["run.toml: \"k 5\" is no flag", "letters"]),
        ("[graph]\nK = 5", ["run.toml: [graph]: \"K\"", "letters"]),
        (
            "[graph]\nsymmetrize = \"half\"",
            ["run.toml: [graph]: symmetrize: ", "sum, mutual"],
        ),
        ("[graph]\nk = -5", ["run.toml: [graph]: k: ", "-5"]),
        ("[graph]\nk = {}", ["run.toml: [graph]: k must", "number"]),
    ] {
        scene.text("run.toml", text);
        scene.refuses(&graph, 2, &words);
    }
    // As is what is found wrong once the command line is read.
    for (text, words) in [
        (
            "config = \"a.toml\"",
            ["run.toml: config: ", "names no other"],
        ),
        (
            "json = \"true\"",
            ["run.toml: json: ", "must be true or false, is a text"],
        ),
        (
            "[grahp]\nk = 5",
            ["run.toml: [grahp]: ", "did you mean [graph]? There are: ["],
        ),
        (
            "seed = [1, 2]",
            ["run.toml: seed: ", "must be one value, is a list of 2"],
        ),
        (
            "run = \"good.npy\"",
            ["run.toml: run: ", "has no flag of this name"],
        ),
        (
            "device = \"gpu\"",
            ["run.toml: --device = gpu: ", "must be cpu"],
        ),
        (
            "threads = 100000",
            ["run.toml: --threads 100000: ", "at most"],
        ),
        (
            "[graph]\ngamma = -1",
            ["run.toml: [graph]: --gamma = -1: ", "above 0"],
        ),
    ] {
        scene.text("run.toml", text);
        scene.refuses(&graph, 2, &words);
    }
    // The data may stand in the file.
    scene.text("run.toml", "data = \"good.npy\"\n[graph]\nk = 5");
    let output = scene.run(&["graph", "-o", "of-file.npz", "--config", "run.toml"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    // A file may be called as the verb is.
    scene.text("graph", "[graph]\nk = 5");
    let output = scene.run(&["--config", "graph", "graph", "good.npy", "-o", "called.npz"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    // What the command line says wrong stays its own.
    scene.text("run.toml", "threads = 100000");
    let output = scene.run(&[&graph[..], &["--threads", "100001"]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with("error: --threads 100001: "), "{said}");
    scene.text("run.toml", "seed = 3");
    let output = scene.run(&[&graph[..], &["--seed="]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("run.toml"), "{said}");
    scene.text("run.toml", "[graph]\nk = 5");
    let output = scene.run(&[&graph[..], &["-k", "many"]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("run.toml"), "{said}");
    assert_eq!(output.status.code(), Some(2), "{said}");
}

#[test]
fn outputs_that_end_in_another_form() {
    let scene = Scene::new();
    for name in ["g.csv", "g.parquet", "g.npy", "g.txt"] {
        let graph = ["graph", "good.npy", "-k", "5", "-o", name];
        scene.refuses(&graph, 2, &[name, ".npz", "g.npz"]);
        if name != "g.parquet" {
            let out = name.replace("npy", "npz");
            let embed = ["embed", "no-run", "good.npy", "-o", &out];
            scene.refuses(&embed, 2, &[".npy", "g.npy"]);
        }
        let negatives = ["-k", "5", "-o", "b.npz", "--negatives", name];
        let all = [&PROPAGATE[..], &negatives].concat();
        scene.refuses(&all, 2, &[name, ".npz"]);
    }
    // None of both is there yet.
    for negatives in ["b.npz", "./b.npz"] {
        let both = ["-k", "5", "-o", "b.npz", "--negatives", negatives];
        let both = [&PROPAGATE[..], &both].concat();
        scene.refuses(&both, 2, &["name one file"]);
    }
    for arguments in [
        &["graph", "good.npy", "-k", "5", "-o", "-"][..],
        &["embed", "no-run", "good.npy", "-o", "-"],
        &["fit", "good.npy", "--labels", "good.csv", "-o", "-"],
    ] {
        scene.refuses(arguments, 2, &["/dev/stdout"]);
    }
}

#[test]
fn gates_that_the_split_cannot_answer_are_refused_before_any_work() {
    let scene = Scene::new();
    // The data do not exist: only what comes before reading them can speak.
    let fit = ["fit", "none.npy", "--labels", "good.csv", "-o", "run"];
    let bound = [&fit[..], &["--gate", "r_precision=1.5"]].concat();
    scene.refuses(&bound, 2, &["r_precision", "between 0 and 1"]);
    scene.text("few.csv", "id,label\n0,a\n1,b\n2,a\n3,b\n");
    let few = [
        "fit", "good.npy", "--labels", "few.csv", "-k", "5", "--epochs", "1", "-o", "run",
    ];
    let gate = ["--split", "folds", "--gate", "recall@1=0.5"];
    let rule = ["gate recall@1", "only r_precision"];
    scene.refuses(&[&few[..], &gate, &["--dry-run"]].concat(), 2, &rule);
    // An interrupted fit stays, though it may be replaced.
    said(&scene, &few);
    fs::create_dir(scene.path("run/checkpoints")).unwrap();
    fs::create_dir(scene.path("run/unfinished")).unwrap();
    fs::write(scene.path("run/checkpoints/kept.safetensors"), "").unwrap();
    let config = scene.path("run/config.json");
    fs::copy(config, scene.path("run/unfinished/config.json")).unwrap();
    let origin = "{ \"data_sha256\": \"0\", \"read_as\": \"\" }";
    scene.text("run/unfinished/origin.json", origin);
    let again = [&few[..], &["--overwrite", "--gate", "recall@1=0.5"]].concat();
    scene.refuses(&again, 2, &rule);
    assert!(scene.path("run/checkpoints/kept.safetensors").exists());
    assert!(scene.path("run/run.json").exists());
}

#[test]
fn a_gate_that_turned_out_unmeasurable_is_missed() {
    let scene = Scene::new();
    let rows: Vec<String> = (0..60).map(|i| format!("{i},a")).collect();
    scene.text("one.csv", &format!("id,label\n{}\n", rows.join("\n")));
    let output = scene.run(&[
        "fit",
        "good.npy",
        "--labels",
        "one.csv",
        "-k",
        "5",
        "-o",
        "run",
        "--gate",
        "r_precision=0",
    ]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("could not be measured"), "{said}");
}

#[test]
fn a_number_beyond_the_range_is_shown_as_it_is_written() {
    let scene = Scene::new();
    scene.text("huge.csv", "id,x1,x2\na,1,2\nb,1e300,4\n");
    let words = ["huge.csv", "line 3", "\"x1\"", "\"1e300\" is too large"];
    scene.refuses(&["doctor", "huge.csv"], 1, &words);
    scene.text("inf.csv", "id,x1,x2\na,1,2\nb,inf,4\n");
    scene.refuses(&["doctor", "inf.csv"], 1, &["is inf (\"inf\")"]);
    let x = array![[1.0, 2.0], [3.0, f32::INFINITY]];
    likewise_io::write_npy(scene.path("inf.npy"), x.view()).unwrap();
    let words = ["inf.npy", "row 1, column 1", "too large for a 32-bit float"];
    scene.refuses(&["doctor", "inf.npy"], 1, &words);
}

#[test]
fn ids_that_are_given_as_labels_are_told() {
    let scene = Scene::new();
    let rows: Vec<String> = (0..60).map(|i| format!("{i},item-{i}")).collect();
    scene.text("ids.csv", &format!("id,label\n{}\n", rows.join("\n")));
    let doctor = ["doctor", "good.npy", "--labels", "ids.csv"];
    let told = said(&scene, &doctor);
    assert!(told.contains("look like ids, not labels"), "{told}");
    let told = said(&scene, &["doctor", "good.npy", "--labels", "good.csv"]);
    assert!(!told.contains("look like ids"), "{told}");
    // -q leaves remarks out.
    let told = said(&scene, &[&doctor[..], &["-q"]].concat());
    assert!(told.is_empty(), "{told}");
}

#[test]
fn a_quiet_fit_says_nothing_but_errors() {
    let scene = Scene::new();
    let fit = [
        "fit", "good.npy", "--labels", "good.csv", "--epochs", "1", "-o", "run",
    ];
    let told = said(&scene, &[&fit[..], &["-q", "--resume"]].concat());
    assert!(told.is_empty(), "{told}");
    let told = said(&scene, &[&fit[..], &["--overwrite"]].concat());
    assert!(told.contains("neighbours are many for 60 items"), "{told}");
}

#[test]
fn matrices_of_other_row_counts_are_named() {
    let scene = Scene::new();
    let python = |name: &str, rows: usize| {
        let x = Array2::from_shape_fn((rows, 3), |(i, j)| ((i * 5 + j * 3) % 7) as f32);
        likewise_io::write_npy(scene.path(name), x.view()).unwrap();
    };
    python("a.npy", 12);
    python("b.npy", 12);
    python("mean.npy", 4);
    // An archive of stored members, as numpy.savez writes it.
    let file = fs::File::create(scene.path("x.npz")).unwrap();
    let mut archive = zip::ZipWriter::new(file);
    for name in ["a.npy", "b.npy", "mean.npy"] {
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored);
        archive.start_file(name, options).unwrap();
        let bytes = fs::read(scene.path(name)).unwrap();
        std::io::Write::write_all(&mut archive, &bytes).unwrap();
    }
    archive.finish().unwrap();
    let told = said(&scene, &["doctor", "x.npz"]);
    let what = "array mean (4 x 3) is left out: it has 4 rows, but the items are 12";
    assert!(told.contains(what), "{told}");
    assert_eq!(told.matches("left out").count(), 1, "{told}");
    // Who asks for a view knows that others are not read.
    let told = said(&scene, &["doctor", "x.npz", "--view", "a"]);
    assert!(!told.contains("left out"), "{told}");
}

#[test]
fn one_file_of_settings_is_read_and_none_for_help() {
    let scene = Scene::new();
    scene.text("run.toml", "seed = 3\n");
    let two = [
        "doctor", "good.npy", "--config", "run.toml", "--config", "b.toml",
    ];
    let words = ["--config b.toml: ", "one file", "--config run.toml"];
    scene.refuses(&two, 2, &words);
    let help = ["help", "fit", "--config", "none.toml"];
    scene.refuses(&help, 2, &["unrecognized subcommand '--config'"]);
}

#[test]
fn a_table_of_a_recipe_is_usage_as_its_file_is() {
    let scene = Scene::new();
    for (table, words) in [
        ("learner.nosuch = 1", "nosuch"),
        (
            "pseudo_labels.graph = { k = 0 }",
            "pseudo_labels.graph.k = 0: must be at least 1",
        ),
        (
            "rounds.epochs = 9223372036854775808",
            "a whole number must be from -9223372036854775808 to 9223372036854775807",
        ),
    ] {
        scene.text("run.toml", &format!("[recipe]\n{table}\n"));
        scene.text("r.toml", &format!("base = \"mixed-lp\"\n{table}\n"));
        let fit = ["fit", "good.npy", "--labels", "good.csv", "-o", "run"];
        for (flag, file) in [("--config", "run.toml"), ("--recipe", "r.toml")] {
            let fit = [&fit[..], &[flag, file]].concat();
            scene.refuses(&fit, 2, &[&format!("error: {file}: "), words]);
        }
    }
}

#[test]
fn a_number_of_a_settings_file_keeps_the_rule_of_its_flag() {
    let scene = Scene::new();
    for (setting, rule) in [
        ("seed = -1", "must be a whole number of 0 or more"),
        ("threads = 0", "must be at least 1"),
        (
            "seed = \"18446744073709551616\"",
            "must be at most 18446744073709551615",
        ),
    ] {
        fs::write(scene.path("run.toml"), setting).unwrap();
        let key = setting.split(' ').next().unwrap();
        let line = ["doctor", "good.npy", "--config", "run.toml"];
        scene.refuses(&line, 2, &["run.toml", key, rule]);
    }
}
