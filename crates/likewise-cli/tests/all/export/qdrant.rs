//! Collections of Qdrant, by a stand-in that speaks the part of its interface that we use and keeps
//! what it got. What a real server makes of it is not asked here.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{Scene, refused};

#[derive(Default)]
struct Kept {
    /// Configuration of each collection, and its points by id.
    collections: BTreeMap<String, (Value, BTreeMap<String, Value>)>,
    /// Blocks of points that are taken; then the way is cut off.
    blocks_left: Option<usize>,
    key: Option<String>,
}

#[derive(Clone)]
struct Double {
    kept: Arc<Mutex<Kept>>,
    url: String,
}

impl Double {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let double = Self {
            kept: Arc::default(),
            url,
        };
        let of_thread = double.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let double = of_thread.clone();
                std::thread::spawn(move || double.serve(stream));
            }
        });
        double
    }

    /// Answers what comes on one connection.
    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut out = stream;
        loop {
            let mut first = String::new();
            if reader.read_line(&mut first).unwrap_or(0) == 0 {
                return;
            }
            let (mut length, mut key) = (0, None);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                let line = line.trim();
                if line.is_empty() {
                    break;
                }
                let (name, value) = line.split_once(':').unwrap();
                match name.to_ascii_lowercase().as_str() {
                    "content-length" => length = value.trim().parse().unwrap(),
                    "api-key" => key = Some(value.trim().to_owned()),
                    "transfer-encoding" => panic!("bodies have their length"),
                    _ => {}
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
            let mut words = first.split(' ');
            let (method, path) = (words.next().unwrap(), words.next().unwrap());
            let Some((status, answer)) = self.answer(method, path, &body, key) else {
                return;
            };
            let answer = answer.to_string();
            write!(
                out,
                "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{answer}",
                answer.len()
            )
            .unwrap();
        }
    }

    /// Status and body; none where the way is cut off.
    fn answer(
        &self,
        method: &str,
        path: &str,
        body: &Value,
        key: Option<String>,
    ) -> Option<(u16, Value)> {
        let mut kept = self.kept.lock().unwrap();
        let error = |status, what: &str| Some((status, json!({"status": {"error": what}})));
        if kept.key.is_some() && kept.key != key {
            return error(401, "no key");
        }
        let path = path.strip_prefix("/collections/").unwrap();
        let (name, rest) = path.split_once('/').unwrap_or((path, ""));
        let name = name.to_owned();
        let ok = |result: Value| Some((200, json!({"result": result, "status": "ok"})));
        if (method, rest) == ("PUT", "") {
            let new = (body["vectors"].clone(), BTreeMap::new());
            let old = kept.collections.insert(name, new);
            assert!(old.is_none(), "made twice");
            return ok(json!(true));
        }
        if (method, rest) == ("DELETE", "") {
            kept.collections.remove(&name).unwrap();
            return ok(json!(true));
        }
        if rest == "points?wait=true" {
            if kept.blocks_left == Some(0) {
                return None;
            }
            kept.blocks_left = kept.blocks_left.map(|left| left - 1);
        }
        let Some((config, points)) = kept.collections.get_mut(&name) else {
            return error(404, "no such collection");
        };
        match (method, rest) {
            ("GET", "") => ok(json!({"config": {"params": {"vectors": config}}})),
            ("PUT", "points?wait=true") => {
                for point in body["points"].as_array().unwrap() {
                    let size = point["vector"].as_array().unwrap().len() as u64;
                    if Some(size) != config["size"].as_u64() {
                        return error(400, "wrong vector dimension");
                    }
                    let id = point["id"].as_str().unwrap().to_owned();
                    points.insert(id, point.clone());
                }
                ok(json!({"status": "completed"}))
            }
            ("POST", "points/count") => {
                assert_eq!(body["exact"], true);
                let wanted = &body["filter"]["must"][0];
                let of = |point: &&Value| match wanted["key"].as_str() {
                    Some(key) => point["payload"][key] == wanted["match"]["value"],
                    None => true,
                };
                ok(json!({"count": points.values().filter(of).count()}))
            }
            other => panic!("{other:?}"),
        }
    }

    fn points(&self, name: &str) -> Vec<Value> {
        self.kept.lock().unwrap().collections[name]
            .1
            .values()
            .cloned()
            .collect()
    }

    fn blocks(&self, left: Option<usize>) {
        self.kept.lock().unwrap().blocks_left = left;
    }
}

fn export(scene: &Scene, double: &Double, more: &str) -> Command {
    let mut command = scene.command("export run --to qdrant");
    command
        .args(["--url", &double.url])
        .args(more.split_whitespace());
    for proxy in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env_remove(proxy);
    }
    command.env_remove("QDRANT_API_KEY");
    command
}

#[track_caller]
fn exported(scene: &Scene, double: &Double, more: &str) -> Value {
    let output = export(scene, double, &format!("{more} --json"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A run of the 2000 digits, which go in several blocks.
fn digits() -> Scene {
    let scene = Scene::new();
    let digits = likewise_testdata::digits();
    let fit = format!(
        "fit {} --view pix --recipe logistic --labels-per-class 5 --draws 1 -q -o run",
        digits.display()
    );
    scene.good(&fit);
    scene
}

#[test]
fn an_export_that_is_cut_off_goes_on_and_nothing_comes_twice() {
    let (scene, double) = (digits(), Double::start());
    double.blocks(Some(1));
    refused(
        &mut export(&scene, &double, ""),
        1,
        &["127.0.0.1", "goes on where it stopped"],
    );
    let first = double.points("likewise").len();
    assert!(0 < first && first < 2000, "{first}");
    double.blocks(None);
    let report = exported(&scene, &double, "");
    assert_eq!(report["written"], json!(2000 - first));
    assert_eq!(
        (&report["counted"], &report["compared"]),
        (&json!(2000), &json!("cosine"))
    );
    // A point has its place by its item, the vector of the run, and what is known of the item.
    let (rows, ids) = scene.run("run");
    let points = double.points("likewise");
    assert_eq!(points.len(), 2000);
    let items = likewise_io::items::read(scene.path("run/items.parquet")).unwrap();
    for point in &points {
        let id = point["payload"]["id"].as_str().unwrap();
        let row: usize = id.parse().unwrap();
        assert_eq!(ids[row], id);
        let vector = point["vector"].as_array().unwrap();
        let same = vector.iter().zip(rows.row(row));
        assert!(
            same.into_iter()
                .all(|(a, &b)| (a.as_f64().unwrap() as f32).to_bits() == b.to_bits())
        );
        assert_eq!(point["payload"]["label"], json!(items[row].label));
        assert_eq!(
            point["payload"]["pseudo_label"],
            json!(items[row].pseudo_label)
        );
    }
    // Python's uuid.uuid5(uuid.NAMESPACE_OID, "7").
    let seven = points
        .iter()
        .find(|point| point["payload"]["id"] == "7")
        .unwrap();
    assert_eq!(seven["id"], "d6ed313e-533a-55a6-aa06-4c00bc132812");
    let again = exported(&scene, &double, "");
    assert_eq!(
        (&again["written"], &again["counted"]),
        (&json!(0), &json!(2000))
    );
}

#[test]
fn a_collection_of_something_else_is_left_alone() {
    let (scene, double) = (Scene::with_run(), Double::start());
    exported(&scene, &double, "--table shop");
    scene
        .good("fit items.npz --recipe logistic --labels-per-class 4 --draws 1 --seed 3 -q -o run --overwrite");
    let refuses = |more: &str, words: &[&str]| {
        refused(&mut export(&scene, &double, more), 2, words);
    };
    refuses(
        "--table shop",
        &["shop", "200 points of something else", "--overwrite"],
    );
    scene.good("fit items.npz --recipe rca -q -o run --overwrite");
    let words = [
        "vectors of 72 by Cosine",
        "vectors of 64 by Euclid",
        "--overwrite",
    ];
    refuses("--table shop", &words);
    let report = exported(&scene, &double, "--table shop --overwrite");
    assert_eq!(
        (&report["written"], &report["counted"]),
        (&json!(200), &json!(200))
    );
    refuses("--table a.b", &["--table", "without a dot"]);
    refuses("--table a/b", &["--table", "letters"]);
}

#[test]
fn bits_become_numbers_whose_cosine_goes_by_the_bits_that_differ() {
    let (scene, double) = (Scene::across("gsph"), Double::start());
    let report = exported(&scene, &double, "--view text");
    let bits = report["dimensions"].as_u64().unwrap() as usize;
    let points = double.points("likewise");
    assert_eq!(points.len(), 250);
    let root = (bits as f64).sqrt().recip();
    for value in points[0]["vector"].as_array().unwrap() {
        assert!((value.as_f64().unwrap().abs() - root).abs() < 1e-6);
    }
}

#[test]
fn a_key_is_sent_and_never_printed() {
    let (scene, double) = (Scene::with_run(), Double::start());
    double.kept.lock().unwrap().key = Some("s3cret".into());
    refused(
        &mut export(&scene, &double, ""),
        1,
        &["401", "no key", "its key"],
    );
    let mut command = export(&scene, &double, "--json");
    let output = command.env("QDRANT_API_KEY", "s3cret").output().unwrap();
    assert!(output.status.success());
    assert!(!String::from_utf8_lossy(&output.stdout).contains("s3cret"));
    let mut wrong = export(&scene, &double, "");
    let said = refused(wrong.env("QDRANT_API_KEY", "wr0ng"), 1, &["401"]);
    assert!(!said.contains("wr0ng"), "{said}");
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let scene = Scene::with_run();
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let gone = Double {
        kept: Arc::default(),
        url: format!("http://{closed}"),
    };
    let words = ["127.0.0.1", "is Qdrant there", "--url is its address"];
    let said = refused(&mut export(&scene, &gone, ""), 1, &words);
    assert!(!said.contains("goes on where"), "{said}");
    scene.bad(
        "export run --to qdrant",
        2,
        &["--url", "http://localhost:6333"],
    );
    scene.bad("export run --to qdrant --url https://h", 2, &["no TLS"]);
}
