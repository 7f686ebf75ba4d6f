//! Collections of Qdrant, by a stand-in that speaks the part of its interface that we use and keeps
//! what it got; and by one that hands it to Qdrant's own engine, where there is a Python with it.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{Scene, refused};

#[derive(Default)]
struct Kept {
    /// Configuration of each collection, and its points by id.
    collections: BTreeMap<String, (Value, BTreeMap<String, Value>)>,
    /// Blocks of points that are taken; then the way is cut off.
    blocks_left: Option<usize>,
    /// How often it says that its index is not ready, once it has points.
    looks: usize,
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
        let Kept {
            collections, looks, ..
        } = &mut *kept;
        let Some((config, points)) = collections.get_mut(&name) else {
            return error(404, "no such collection");
        };
        match (method, rest) {
            ("GET", "") => {
                let status = if *looks > 0 && !points.is_empty() {
                    *looks -= 1;
                    "yellow"
                } else {
                    "green"
                };
                ok(json!({"status": status, "config": {"params": {"vectors": config}}}))
            }
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
                let empty = body["filter"]["should"].as_array();
                let of = |point: &&Value| {
                    let payload = |key: &Value| &point["payload"][key.as_str().unwrap()];
                    let is_empty = |one: &Value| payload(&one["is_empty"]["key"]).is_null();
                    if let Some(any) = empty {
                        any.iter().any(is_empty)
                    } else if wanted.is_object() {
                        *payload(&wanted["key"]) == wanted["match"]["value"]
                    } else {
                        true
                    }
                };
                ok(json!({"count": points.values().filter(of).count()}))
            }
            ("POST", "points/query") => {
                assert_eq!(*looks, 0, "asked before the index was ready");
                let query = numbers(&body["query"]);
                let euclid = config["distance"] == "Euclid";
                let mut near: Vec<(f64, &Value)> = (points.values())
                    .map(|point| (nearness(&query, &numbers(&point["vector"]), euclid), point))
                    .collect();
                near.sort_by(|a, b| b.0.total_cmp(&a.0));
                let limit = body["limit"].as_u64().unwrap() as usize;
                let point = |&(score, point): &(f64, &Value)| {
                    let payload = json!({"id": point["payload"]["id"]});
                    json!({"id": point["id"], "score": score, "payload": payload})
                };
                let points: Vec<Value> = near.iter().take(limit).map(point).collect();
                ok(json!({ "points": points }))
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

fn numbers(value: &Value) -> Vec<f64> {
    let values = value.as_array().unwrap().iter();
    values.map(|value| value.as_f64().unwrap()).collect()
}

/// Vectors of the tests that compare by their cosine have length 1.
fn nearness(a: &[f64], b: &[f64], euclid: bool) -> f64 {
    let pairs = a.iter().zip(b);
    if euclid {
        -pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>()
    } else {
        pairs.map(|(a, b)| a * b).sum()
    }
}

/// Qdrant's own engine behind the same interface.
struct Engine {
    child: Child,
    url: String,
    _folder: tempfile::TempDir,
}

impl Engine {
    fn start() -> Option<Self> {
        let python = likewise_testdata::python()?;
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new(python)
            .args(["-c", include_str!("qdrant.py")])
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut url).unwrap();
        let url = url.trim().to_owned();
        if url.is_empty() {
            println!("skipped: this Python has no engine of Qdrant");
            let _ = child.wait();
            return None;
        }
        Some(Self {
            child,
            url,
            _folder: folder,
        })
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn export(scene: &Scene, double: &Double, more: &str) -> Command {
    export_to(scene, &double.url, more)
}

fn export_to(scene: &Scene, url: &str, more: &str) -> Command {
    let mut command = scene.command("export run --to qdrant");
    command.args(["--url", url]).args(more.split_whitespace());
    for proxy in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env_remove(proxy);
    }
    command.env_remove("QDRANT_API_KEY");
    command
}

#[track_caller]
fn exported(scene: &Scene, double: &Double, more: &str) -> Value {
    exported_to(scene, &double.url, more)
}

#[track_caller]
fn exported_to(scene: &Scene, url: &str, more: &str) -> Value {
    let output = export_to(scene, url, &format!("{more} --json"))
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
    double.kept.lock().unwrap().looks = 3;
    // What was begun goes on, and is no other one that would be overwritten.
    let report = exported(&scene, &double, "--overwrite");
    assert_eq!(report["written"], json!(2000 - first));
    assert_eq!(
        (&report["counted"], &report["compared"]),
        (&json!(2000), &json!("cosine"))
    );
    let recall = json!({"k": 10, "queries": 100, "value": 1.0});
    assert_eq!(report["recall"], recall);
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
    // A point of the first block that was taken out since is there again.
    let of_seven = seven["id"].as_str().unwrap();
    let mut kept = double.kept.lock().unwrap();
    (kept.collections.get_mut("likewise").unwrap().1).remove(of_seven);
    drop(kept);
    let again = exported(&scene, &double, "");
    assert_eq!(
        (&again["written"], &again["counted"]),
        (&json!(2000), &json!(2000))
    );
}

/// Asks the engine for the ten that are nearest to an item, compared with all, as the line that is printed says.
const ASKS: &str = "import json, sys, urllib.request\n\
                    import numpy as np\n\
                    rows = np.load('run/embeddings.npy')\n\
                    for row in (0, 777, 1999):\n\
                    \x20   asked = {'query': rows[row].tolist(), 'limit': 11, 'with_payload': True, \
                    'params': {'exact': True}}\n\
                    \x20   request = urllib.request.Request('URL/collections/likewise/points/query', \
                    json.dumps(asked).encode(), {'content-type': 'application/json'})\n\
                    \x20   points = json.load(urllib.request.urlopen(request))['result']['points']\n\
                    \x20   ids = [point['payload']['id'] for point in points]\n\
                    \x20   print(row, *[id for id in ids if id != str(row)])\n";

#[test]
fn its_own_engine_finds_what_the_run_finds() {
    let Some(engine) = Engine::start() else {
        return;
    };
    let scene = digits();
    let report = exported_to(&scene, &engine.url, "");
    assert_eq!(
        (&report["written"], &report["counted"]),
        (&json!(2000), &json!(2000))
    );
    let recall = report["recall"]["value"].as_f64().unwrap();
    assert!((0.9..=1.0).contains(&recall), "{recall}");
    for line in scene
        .python(&ASKS.replace("URL", &engine.url))
        .unwrap()
        .lines()
    {
        let (item, found) = line.split_once(' ').unwrap();
        let mut found: Vec<&str> = found.split(' ').collect();
        let mut own = scene.found("run", item, 10);
        found.sort_unstable();
        own.sort_unstable();
        assert_eq!(found, own, "{item}");
    }
    let again = exported_to(&scene, &engine.url, "");
    assert_eq!(
        (&again["written"], &again["counted"]),
        (&json!(0), &json!(2000))
    );
    // Distances and bits, in collections of their own.
    scene.good("fit items.npz --recipe rca -q -o run --overwrite");
    let report = exported_to(&scene, &engine.url, "--table near");
    assert_eq!(report["compared"], json!("euclidean"));
    assert!(
        report["recall"]["value"].as_f64().unwrap() > 0.9,
        "{report}"
    );
    let scene = Scene::across("gsph");
    let report = exported_to(&scene, &engine.url, "--view text --table bits");
    assert_eq!(report["compared"], json!("hamming"));
    assert!(
        report["recall"]["value"].as_f64().unwrap() > 0.9,
        "{report}"
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
    // Points that no export made.
    let own = json!({"id": "1", "vector": vec![0.0; 64], "payload": {"run": 17}});
    let mut kept = double.kept.lock().unwrap();
    (kept.collections.get_mut("shop").unwrap().1).insert("1".to_owned(), own);
    drop(kept);
    for more in ["", " --overwrite"] {
        let words = ["shop", "1 points that no export made", "name another"];
        refuses(&format!("--table shop{more}"), &words);
    }
    assert_eq!(double.points("shop").len(), 201);
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
