//! Tables and indexes.

use likewise_io::ReadOptions;
use serde_json::json;

use super::{Scene, lines};

#[test]
fn a_table_holds_items_beliefs_and_the_very_embeddings() {
    let scene = Scene::with_run();
    let report = scene.json("export run --to parquet -o x.parquet");
    assert_eq!(
        (&report["items"], &report["counted"], &report["compared"]),
        (&json!(200), &json!(200), &json!("cosine"))
    );
    let (rows, ids) = scene.run("run");
    let silent = likewise::Monitor::silent();
    let read = likewise_io::read(scene.path("x.parquet"), &ReadOptions::default(), &silent);
    let read = read.unwrap();
    assert_eq!(read.view(Some("vector")).unwrap().matrix, rows);
    assert_eq!(read.ids(), ids);
    let known = likewise_io::items::read(scene.path("x.parquet")).unwrap();
    let own = likewise_io::items::read(scene.path("run/items.parquet")).unwrap();
    assert!(known.iter().any(|item| item.pseudo_label.is_some()));
    for (known, own) in known.iter().zip(&own) {
        assert_eq!(known.label, own.label);
        assert_eq!(
            (&known.pseudo_label, known.split),
            (&own.pseudo_label, own.split)
        );
        assert_eq!(known.confidence, own.confidence);
    }
    // Again: the file is replaced, by the same bytes.
    let before = std::fs::read(scene.path("x.parquet")).unwrap();
    scene.good("export run --to parquet -o x.parquet");
    assert_eq!(std::fs::read(scene.path("x.parquet")).unwrap(), before);
    let text = scene.good("export run --to parquet -o x.parquet");
    assert!(text.contains("200 items, 200 counted"), "{text}");
}

#[test]
fn what_milvus_imports_has_no_nulls() {
    let scene = Scene::with_run();
    let report = scene.json("export run --to milvus -o m.parquet");
    assert!(lines(&report["usage"]).contains("FLOAT_VECTOR, dim="));
    let code = "import pyarrow.parquet as pq\n\
                t = pq.read_table('m.parquet')\n\
                assert t.column_names == ['id', 'vector', 'label', 'pseudo_label', 'confidence', 'split']\n\
                assert not any(c.null_count for c in t.columns)\n\
                print(t.schema.field('vector').type.value_type, len(t))";
    if let Some(said) = scene.python(code) {
        assert_eq!(said.trim(), "float 200");
    }
}

#[test]
fn milvus_takes_the_table_in_by_the_lines_that_are_printed() {
    let scene = Scene::with_run();
    let report = scene.json("export run --to milvus -o m.parquet");
    let usage = lines(&report["usage"]);
    let (before, search) = usage.rsplit_once('\n').unwrap();
    // Milvus Lite is Milvus in a file.
    let code = format!(
        "import numpy as np\nquery = np.load('run/embeddings.npy')[7]\n{before}\n\
         print(' '.join(hit['id'] for hit in {search}))\n\
         (all,) = client.query('items', output_fields=['count(*)'])\nassert all['count(*)'] == 200\n\
         (seven,) = client.query('items', filter='id == \"7\"', output_fields=['*'])\n\
         assert np.array_equal(np.float32(seven['vector']), query), seven"
    );
    check_neighbors(&scene, &code);
}

/// Runs code that prints the ten items nearest to item 7, itself first, where there is what it imports.
fn check_neighbors(scene: &Scene, code: &str) {
    let Some(said) = scene.python(code) else {
        return;
    };
    let found: Vec<&str> = said.split_whitespace().collect();
    assert_eq!(found[0], "7");
    assert_eq!(found[1..], scene.found("run", "7", 9));
}

#[test]
fn bits_are_searched_by_milvus_as_bits() {
    let scene = Scene::across("gsph");
    let report = scene.json("export run --to milvus --view text -o m.parquet");
    let usage = lines(&report["usage"]);
    let bits = report["dimensions"].as_u64().unwrap().next_multiple_of(8);
    let field = format!("BINARY_VECTOR, dim={bits})");
    // Milvus Lite has no vectors of bits: nothing is there to ask.
    for words in [
        field.as_str(),
        "metric_type=\"HAMMING\"",
        "bytes(row[\"vector\"])",
        "[queries[0].tobytes()]",
    ] {
        assert!(usage.contains(words), "{usage}");
    }
    std::fs::write(scene.path("lines.py"), usage).unwrap();
    scene.python("import ast; ast.parse(open('lines.py').read())");
}

#[test]
fn lancedb_takes_the_table_in_by_the_lines_that_are_printed() {
    let scene = Scene::with_run();
    let report = scene.json("export run --to lancedb -o l.parquet");
    let usage = lines(&report["usage"]);
    let code = format!(
        "import numpy as np\nquery = np.load('run/embeddings.npy')[7]\n{}\n\
         print(' '.join(hit['id'] for hit in {}))\nassert table.count_rows() == 200",
        usage.rsplit_once('\n').unwrap().0,
        usage.rsplit_once('\n').unwrap().1
    );
    check_neighbors(&scene, &code);
}

#[test]
fn faiss_finds_what_the_run_finds() {
    let scene = Scene::with_run();
    let report = scene.json("export run --to faiss -o x.faiss");
    assert_eq!(report["counted"], 200);
    let code = format!(
        "import numpy as np\nqueries = np.load('run/embeddings.npy')[[0, 7, 199]]\n{}\n\
         assert index.ntotal == 200 and type(index).__name__ == 'IndexFlatIP'\n\
         for found in rows: print(*found)",
        lines(&report["usage"])
    );
    let Some(said) = scene.python(&code) else {
        return;
    };
    for (line, id) in said.lines().zip(["0", "7", "199"]) {
        let found: Vec<&str> = line.split(' ').collect();
        // Ids are rows here.
        assert_eq!(found[0], id);
        assert_eq!(found[1..], scene.found("run", id, 9));
    }
}

#[test]
fn a_learned_metric_is_compared_by_its_distance() {
    let scene = Scene::new();
    scene.good("fit items.npz --recipe rca -q -o run");
    let report = scene.json("export run --to faiss -o x.faiss");
    assert_eq!(report["compared"], "euclidean");
    let code = format!(
        "import numpy as np\nqueries = np.load('run/embeddings.npy')[[3]]\n{}\n\
         assert type(index).__name__ == 'IndexFlatL2'\nprint(*rows[0])",
        lines(&report["usage"])
    );
    let Some(said) = scene.python(&code) else {
        return;
    };
    let found: Vec<&str> = said.split_whitespace().collect();
    assert_eq!(found[1..], scene.found("run", "3", 9));
}

#[test]
fn each_side_of_a_run_across_views_is_a_set_of_codes() {
    let scene = Scene::across("gsph");
    let report = scene.json("export run --to faiss --view text -o x.faiss");
    assert_eq!(report["compared"], "hamming");
    let bits = report["dimensions"].as_u64().unwrap();
    let table = scene.json("export run --to parquet --view text -o x.parquet");
    assert_eq!(table["dimensions"], bits);
    let (faiss, table) = (lines(&report["usage"]), lines(&table["usage"]));
    // An ONNX file gives 1 and -1, and both have bytes.
    let packed = "queries = np.packbits(embedding >= 0, axis=1, bitorder=\"little\")";
    assert!(faiss.contains(packed) && table.contains(packed), "{faiss}");
    let code = format!(
        "import numpy as np\ncodes = np.load('run/codes.npy')\n\
         embedding = np.unpackbits(codes[[3]], axis=1, bitorder='little') * np.float32(2) - 1\n\
         {table}\nt = table\n{faiss}\n\
         assert queries.dtype == 'u1' and (queries == codes[[3]]).all()\n\
         assert t.schema.field('vector').type.value_type == 'uint8'\n\
         assert type(index).__name__ == 'IndexBinaryFlat' and index.d == codes.shape[1] * 8\n\
         assert (np.array(t['vector'].to_pylist(), 'u1') == codes[250:]).all()\n\
         print(*values[0])"
    );
    let Some(said) = scene.python(&code) else {
        return;
    };
    let found: Vec<u64> = said
        .split_whitespace()
        .map(|d| d.parse().unwrap())
        .collect();
    let answers = scene.json("search run --id 3 --from image --to text -k 10");
    let hits = answers[0]["hits"].as_array().unwrap();
    let differ = |hit: &serde_json::Value| {
        let same = hit["similarity"].as_f64().unwrap();
        ((1.0 - same) * bits as f64).round() as u64
    };
    assert_eq!(found, hits.iter().map(differ).collect::<Vec<_>>());
}
