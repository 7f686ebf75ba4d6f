//! What is refused, in one message, and leaves nothing.

use super::Scene;

#[test]
fn flags_that_the_target_knows_nothing_of() {
    let scene = Scene::with_run();
    scene.bad("export run --to pgvectr", 2, &["pgvectr", "pgvector"]);
    scene.bad("export run", 2, &["--to"]);
    scene.bad("export run --to parquet", 2, &["--out"]);
    scene.bad(
        "export run --to faiss -o x --url http://h",
        2,
        &["--url", "--to pgvector"],
    );
    scene.bad("export run --to faiss -o x --table t", 2, &["--table"]);
    scene.bad("export run --to faiss -o x --index flat", 2, &["--index"]);
    scene.bad(
        "export run --to faiss -o x --overwrite",
        2,
        &["--overwrite"],
    );
    scene.bad(
        "export run --to parquet -o x.csv",
        2,
        &["x.csv", ".parquet"],
    );
    scene.bad("export run --to onnx -o x.pb", 2, &["x.pb", ".onnx"]);
    scene.bad(
        "export run --to parquet -o run/items.parquet",
        2,
        &["run/items.parquet"],
    );
    scene.bad(
        "export run --to faiss -o items.npz",
        2,
        &["items.npz", "made of this file"],
    );
    scene.bad(
        "export run --to faiss -o x --view text",
        2,
        &["--view", "across views"],
    );
    assert!(!scene.path("x").exists());
}

#[test]
fn places_that_are_no_run_or_cannot_be_written() {
    let scene = Scene::with_run();
    scene.bad("export none --to faiss -o x", 1, &["none", "not a run"]);
    scene.bad("export items.npz --to faiss -o x", 1, &["items.npz"]);
    scene.bad("export run --to faiss -o no/x.faiss", 1, &["no/x.faiss"]);
    scene.bad(
        "export run --to parquet -o no/x.parquet",
        1,
        &["no/x.parquet"],
    );
    scene.bad("export run --to onnx -o no/x.onnx", 1, &["no/x.onnx"]);
    scene.bad(
        "export run --to huggingface -o labels.csv",
        2,
        &["labels.csv", "a file"],
    );
    scene.bad(
        "export run --to huggingface -o run",
        2,
        &["run", "the run itself"],
    );
    let full = std::path::Path::new("/dev/full");
    if full.exists() {
        scene.bad("export run --to faiss -o /dev/full", 1, &["/dev/full"]);
    }
    // A damaged run.
    std::fs::write(scene.path("run/embeddings.npy"), "no").unwrap();
    scene.bad("export run --to faiss -o x.faiss", 1, &["embeddings.npy"]);
    assert!(!scene.path("x.faiss").exists());
}

/// Other programs have folders of files with the same names.
#[test]
fn a_model_of_others_is_not_replaced() {
    let scene = Scene::with_run();
    let theirs = [
        ("config.json", "{\"model_type\": \"bert\"}"),
        ("model.safetensors", "weights"),
        ("README.md", "a card"),
    ];
    std::fs::create_dir(scene.path("bert")).unwrap();
    for (name, text) in theirs {
        std::fs::write(scene.path("bert").join(name), text).unwrap();
    }
    for more in ["", " --overwrite"] {
        let export = format!("export run --to huggingface -o bert{more}");
        scene.bad(&export, 2, &["bert", "no export of likewise"]);
    }
    for (name, text) in theirs {
        let now = std::fs::read_to_string(scene.path("bert").join(name));
        assert_eq!(now.unwrap(), text);
    }
    scene.good("export run --to huggingface -o own");
    scene.bad("export run --to huggingface -o own", 2, &["--overwrite"]);
    scene.good("export run --to huggingface -o own --overwrite");
}

/// A device has no ending, and is not counted.
#[cfg(unix)]
#[test]
fn tables_go_to_devices_as_other_exports_do() {
    let scene = Scene::with_run();
    for to in ["parquet", "lancedb", "milvus", "faiss", "onnx"] {
        scene.good(&format!("export run --to {to} -o /dev/null"));
    }
    let mut piped = scene.command("export run --to parquet -o /dev/stdout");
    let bytes = piped.output().unwrap().stdout;
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    scene.bad(
        "export run --to parquet -o table",
        2,
        &["table", ".parquet"],
    );
}

#[test]
fn a_model_that_compares_items_itself_has_no_vectors() {
    let scene = Scene::new();
    scene.good("mine items.npz --from labels --kind triplets -q -o t.csv");
    scene.good("fit items.npz --recipe omks --triplets t.csv -q -o run");
    for to in [
        "parquet -o x.parquet",
        "faiss -o x.faiss",
        "huggingface -o hf",
    ] {
        scene.bad(
            &format!("export run --to {to}"),
            1,
            &["run", "compares items itself"],
        );
    }
    scene.bad(
        "export run --to onnx -o x.onnx",
        1,
        &["compares rows itself"],
    );
    for left in ["x.parquet", "x.faiss", "x.onnx", "hf"] {
        assert!(!scene.path(left).exists(), "{left}");
    }
}

#[test]
fn a_run_across_views_is_exported_side_by_side_only() {
    let scene = Scene::across("gsph");
    scene.bad("export run --to faiss -o x", 2, &["--view", "image, text"]);
    scene.bad(
        "export run --to onnx -o x.onnx",
        2,
        &["--view", "image, text"],
    );
    scene.bad(
        "export run --to faiss -o x --view sound",
        2,
        &["sound", "image, text"],
    );
    scene.bad(
        "export run --to huggingface -o x",
        2,
        &["across views", "ONNX"],
    );
    assert!(!scene.path("x").exists());
}

#[test]
fn an_estimate_writes_nothing() {
    let scene = Scene::with_run();
    let text = scene.good("export run --to faiss -o x.faiss --dry-run");
    assert!(text.contains("memory"), "{text}");
    assert!(!scene.path("x.faiss").exists());
    scene.bad(
        "export run --to faiss -o x.faiss --max-memory 1KiB",
        1,
        &["memory", "--max-memory"],
    );
}

#[test]
#[cfg(not(feature = "export"))]
fn a_build_without_databases_says_so() {
    let scene = Scene::with_run();
    for to in ["pgvector --url postgres://h/d", "qdrant --url http://h"] {
        scene.bad(&format!("export run --to {to}"), 2, &["--features export"]);
    }
}
