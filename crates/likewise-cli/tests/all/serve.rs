//! `likewise serve`: killed at any moment, refitted, and asked as its page of documentation does.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rand::RngExt;
use serde_json::{Value, json};

use crate::bad_input::Scene;
use crate::{images, pages, program};

/// A server in a process of its own.
struct Served {
    child: Child,
    /// `127.0.0.1:PORT`
    at: String,
}

impl Served {
    fn of(folder: &Path, run: &str) -> Self {
        let mut command = program::command(folder, &["serve", run, "--port", "0", "-q"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let url = line
            .split("http://")
            .nth(1)
            .unwrap_or_else(|| panic!("{line}"));
        let at = url.split('/').next().unwrap().to_owned();
        Self { child, at }
    }

    fn try_ask(&self, line: &str, body: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(&self.at).ok()?;
        let head = format!(
            "{line} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.at,
            body.len()
        );
        stream.write_all(head.as_bytes()).ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let status = text.split(' ').nth(1)?.parse().ok()?;
        Some((status, text.split_once("\r\n\r\n")?.1.to_owned()))
    }

    #[track_caller]
    fn ask(&self, line: &str, body: &str) -> Value {
        let (status, text) = self.try_ask(line, body).unwrap();
        assert!(status < 300, "{line}: {status} {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Ends it as the system does when it must.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn every_label_that_was_acknowledged_is_there_after_a_kill_at_any_moment() {
    let scene = Scene::new();
    let fit = [
        "fit", "good.npy", "--labels", "good.csv", "-o", "run", "--recipe", "rca",
    ];
    assert!(scene.run(&fit).status.success());
    let mut served = Served::of(scene.path("").as_path(), "run");
    let items = served.ask("GET /items?limit=1000", "");
    let ids: Vec<String> = (items["items"].as_array().unwrap().iter())
        .map(|item| item["id"].as_str().unwrap().to_owned())
        .collect();
    let classes = served.ask("GET /classes", "");
    let class = |i: usize| {
        let all = classes["classes"].as_array().unwrap();
        all[i % all.len()]["name"].as_str().unwrap().to_owned()
    };
    let mut acknowledged = vec![None; ids.len()];
    let (mut count, mut answers) = (0_usize, 0_u64);
    let mut last = 0;
    let mut moments = rand::rng();
    let kills: u64 = 100;
    for _ in 0..kills {
        let end = Instant::now() + Duration::from_millis(moments.random_range(5..150));
        let killer = served.child.id();
        let (done, ends) = mpsc::channel();
        let kills = std::thread::spawn(move || {
            std::thread::sleep(end.saturating_duration_since(Instant::now()));
            let killed = Command::new("kill")
                .args(["-9", &killer.to_string()])
                .status();
            done.send(killed.unwrap().success()).unwrap();
        });
        // The label that is on its way when the process ends may be there or not.
        let mut on_its_way = None;
        while ends.try_recv().is_err() {
            let item = count * 7 % ids.len();
            let label = class(count / 3);
            let body = json!({"id": ids[item], "label": label}).to_string();
            on_its_way = Some((item, label.clone()));
            let Some((status, text)) = served.try_ask("POST /label", &body) else {
                count += 1;
                continue;
            };
            assert_eq!(status, 200, "{text}");
            let told: Value = serde_json::from_str(&text).unwrap();
            last = told["sequence"].as_u64().unwrap();
            acknowledged[item] = Some(label);
            answers += 1;
            on_its_way = None;
            count += 1;
        }
        kills.join().unwrap();
        let _ = served.child.wait();
        served = Served::of(scene.path("").as_path(), "run");
        let sequence = served.ask("GET /run", "")["sequence"].as_u64().unwrap();
        assert!(
            sequence >= last && sequence <= last + 1,
            "{last} {sequence}"
        );
        let items = served.ask("GET /items?limit=1000", "");
        for (i, label) in acknowledged.iter_mut().enumerate() {
            let own = items["items"][i]["label"].as_str().map(str::to_owned);
            match &on_its_way {
                Some((item, new)) if *item == i && own.as_ref() == Some(new) => *label = own,
                _ => assert!(label.is_none() || *label == own, "{i}: {label:?} {own:?}"),
            }
        }
        last = sequence;
    }
    println!("{kills} kills, {answers} labels acknowledged, all there");
    assert!(answers > kills, "{answers} labels in all rounds");
    served.kill();
    // No kill need have come amid a line.
    let journal = scene.path("run/labels.jsonl");
    let whole = std::fs::read(&journal).unwrap();
    let mut torn = whole.clone();
    torn.extend_from_slice(b"{\"sequence\":");
    std::fs::write(&journal, torn).unwrap();
    let mut command = program::command(scene.path("").as_path(), &["serve", "run", "--port", "0"]);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    child.kill().unwrap();
    let mut said = String::new();
    let mut told = child.stderr.take().unwrap();
    told.read_to_string(&mut said).unwrap();
    child.wait().unwrap();
    assert!(
        said.contains("the last 12 bytes") && said.contains("half an entry"),
        "{said}"
    );
    assert_eq!(std::fs::read(&journal).unwrap(), whole);
}

#[test]
fn a_signal_ends_it_well() {
    let scene = Scene::new();
    let fit = [
        "fit", "good.npy", "--labels", "good.csv", "-o", "run", "--recipe", "rca",
    ];
    assert!(scene.run(&fit).status.success());
    for signal in ["-INT", "-TERM"] {
        let mut served = Served::of(scene.path("").as_path(), "run");
        let id = served.child.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &id])
                .status()
                .unwrap()
                .success()
        );
        assert!(served.child.wait().unwrap().success(), "{signal}");
    }
}

#[test]
fn a_refit_is_that_of_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    pages::data(at);
    let good = |line: &str| program::succeeds(at, &line.split(' ').collect::<Vec<_>>());
    good("fit items.npz --recipe rca -o run");
    let of_before = good("eval run --json");
    let served = Served::of(at, "run");
    let own = served.ask("GET /items?labeled=false&limit=1", "");
    let id = own["items"][0]["id"].as_str().unwrap();
    let body = json!({"id": id, "label": "3"}).to_string();
    served.ask("POST /label", &body);
    let refitted = |model: u32| {
        served.ask("POST /refit", "{}");
        let state = loop {
            let state = served.ask("GET /refit", "");
            if state["state"] != "running" {
                break state;
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        assert_eq!(state["state"], "done", "{state}");
        assert_eq!(served.ask("GET /run", "")["model"], json!(model));
    };
    refitted(2);
    // A label of the run that is taken away stays away.
    let labeled = served.ask("GET /items?labeled=true&limit=1", "");
    let other = labeled["items"][0]["id"].as_str().unwrap();
    served.ask(
        "POST /label",
        &json!({"id": other, "label": null}).to_string(),
    );
    refitted(3);
    assert!(served.ask(&format!("GET /items/{other}"), "")["label"].is_null());
    served.kill();
    let shown = |run: &str| -> Value {
        serde_json::from_str(&good(&format!("search {run} --id {id} -k 5 --json"))).unwrap()
    };
    assert_eq!(shown("run"), shown("run/models/3"));
    std::fs::write(at.join("more.csv"), format!("id,label\n{id},3\n")).unwrap();
    good("fit run/models/1 --add-labels more.csv -o again");
    assert_eq!(shown("run/models/2"), shown("again"));
    assert_ne!(shown("run/models/1"), shown("again"));
    // The run of before is kept whole.
    let numbers = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(
        numbers(&good("eval run/models/1 --json")),
        numbers(&of_before)
    );
}

/// Waits for the refit to end.
fn ended(served: &Served) -> Value {
    loop {
        let state = served.ask("GET /refit", "");
        if state["state"] != "running" {
            return state;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn what_has_other_data_by_now_takes_nobodys_place_and_no_label_is_lost() {
    let scene = Scene::new();
    let row = |i: u32| {
        let label = if i < 40 {
            ["cat", "owl"][(i % 2) as usize]
        } else {
            ""
        };
        format!("i{i},{label},{},{}\n", i % 2 * 9 + i % 5, i % 7)
    };
    let mut table = String::from("id,label,a,b\n");
    table.extend((0..60).map(row));
    std::fs::write(scene.path("x.csv"), &table).unwrap();
    let good = |line: &str| {
        let output = scene.run(&line.split(' ').collect::<Vec<_>>());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {said}");
    };
    good("fit x.csv --recipe rca -q -o run");
    let run = scene.path("run");
    let label = |served: &Served, id: &str| {
        let body = json!({"id": id, "label": "owl"}).to_string();
        served.ask("POST /label", &body);
    };
    {
        let served = Served::of(&scene.path(""), "run");
        label(&served, "i50");
        std::fs::write(scene.path("x.csv"), format!("{table}i60,,3,3\n")).unwrap();
        served.ask("POST /refit", "{}");
        let state = ended(&served);
        assert_eq!(state["state"], "failed");
        let error = state["error"].as_str().unwrap();
        assert!(error.contains("these data have changed"), "{error}");
        label(&served, "i51");
        assert_eq!(served.ask("GET /run", "")["model"], json!(1));
    }
    assert!(!run.join("complete").exists() && !run.join("models/2").exists());
    good("index run --kind flat -q");
    let served = Served::of(&scene.path(""), "run");
    for id in ["i50", "i51"] {
        assert_eq!(served.ask(&format!("GET /items/{id}"), "")["label"], "owl");
    }
    served.kill();
    // Who means the other data puts the labels aside, and cannot come back to them by a model of the old ones.
    std::fs::write(scene.path("more.csv"), "id,label\ni60,cat\n").unwrap();
    good("fit run --add-labels more.csv --overwrite -q");
    assert!(run.join("labels.jsonl.1").exists() && !run.join("labels.jsonl").exists());
    let served = Served::of(&scene.path(""), "run");
    let (status, said) = served.try_ask("POST /models/1/restore", "{}").unwrap();
    assert!(
        status == 400 && said.contains("other data"),
        "{status} {said}"
    );
    assert_eq!(served.ask("GET /items?limit=1", "")["total"], json!(61));
    // A fit that was interrupted is said before hours of another one.
    std::fs::create_dir(run.join("unfinished")).unwrap();
    std::fs::copy(run.join("config.json"), run.join("unfinished/config.json")).unwrap();
    std::fs::write(
        run.join("unfinished/origin.json"),
        "{\"data_sha256\": \"x\", \"read_as\": \"\"}",
    )
    .unwrap();
    let no_refit = &served.ask("GET /run", "")["no_refit"];
    assert!(
        no_refit["error"].as_str().unwrap().contains("interrupted"),
        "{no_refit}"
    );
}

#[test]
fn what_cannot_be_served_is_said() {
    let scene = Scene::new();
    let refuses = |line: &str, code: i32, said: &[&str]| {
        scene.refuses(&line.split(' ').collect::<Vec<_>>(), code, said);
    };
    refuses(
        "serve nothing",
        1,
        &["error: nothing: not a run; `likewise fit"],
    );
    // Nor is anything written into what is no run: it may be anybody's folder.
    std::fs::create_dir(scene.path("empty")).unwrap();
    refuses(
        "serve empty",
        1,
        &["error: empty: not a run; `likewise fit"],
    );
    for folder in ["half/unfinished", "half/checkpoints"] {
        std::fs::create_dir_all(scene.path(folder)).unwrap();
    }
    let choice = "{\"key\": \"a\", \"values\": []}";
    scene.text("half/checkpoints/choice.json", choice);
    refuses("serve half", 1, &["error: half: the run is not finished"]);
    refuses("serve good.npy", 1, &["good.npy: not a run"]);
    refuses(
        "serve nothing --host 0.0.0.0",
        2,
        &["host", "needs a token"],
    );
    refuses(
        "serve nothing --host 0.0.0.0 --token short",
        2,
        &["the token must be 8 or more"],
    );
    refuses("serve nothing --host everywhere", 2, &["everywhere"]);
    refuses("serve nothing --port 70000", 2, &["70000"]);
    refuses(
        "serve nothing --method goldberg",
        2,
        &["--method", "\"goldberg\"", "harmonic, lgc, mixed, poisson"],
    );
}

#[test]
fn where_another_program_listens_no_journal_is_begun() {
    let scene = Scene::new();
    let fit = [
        "fit", "good.npy", "--labels", "good.csv", "-o", "run", "--recipe", "rca",
    ];
    assert!(scene.run(&fit).status.success());
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port().to_string();
    // No file may be left, and so no empty journal.
    let place = format!("cannot listen at 127.0.0.1:{port}");
    let words = [place.as_str(), "another program listens", "--port"];
    scene.refuses(&["serve", "run", "--port", &port], 1, &words);
}

/// A server of the photos of a scene.
fn of_photos(at: &Path) -> Served {
    program::succeeds(at, &["fit", "photos", "--recipe", "rca", "-o", "run"]);
    Served::of(at, "run")
}

/// An image of nothing but black: few bytes, many pixels.
fn black(edge: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, edge, edge);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::One);
    let row = (edge as usize).div_ceil(8);
    let mut writer = encoder.write_header().unwrap();
    let pixels = vec![0; row * edge as usize];
    writer.write_image_data(&pixels).unwrap();
    writer.finish().unwrap();
    bytes
}

#[test]
fn an_image_of_too_many_pixels_is_refused_before_it_is_unpacked() {
    let scene = images::scene();
    let served = of_photos(scene.path());
    let send = |edge: u32| {
        let body = black(edge);
        let head = format!(
            "POST /search?k=3 HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: image/png\r\nContent-Length: {}\r\n\r\n",
            served.at,
            body.len()
        );
        let mut stream = TcpStream::connect(&served.at).unwrap();
        let request = [head.as_bytes(), &body].concat();
        stream.write_all(&request).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    };
    let said = send(11_500);
    assert!(said.starts_with("HTTP/1.1 413"), "{said}");
    let why = "11500 x 11500 pixels, and at most 40 million";
    assert!(said.contains(why), "{said}");
    let said = send(600);
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    // Nor is an item shown by one.
    std::fs::write(scene.path().join("photos/red/04.png"), black(6_400)).unwrap();
    let (status, said) = served.try_ask("GET /items/red%2F04.png/image", "").unwrap();
    assert_eq!(status, 404, "{said}");
}

/// The lines of curl of the page, each with the answer that stands behind its block.
fn examples() -> Vec<(String, Value)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/serve.md");
    let text = std::fs::read_to_string(page).unwrap();
    let (mut asked, mut all) = (Vec::new(), Vec::new());
    let mut fence = "";
    for line in text.lines() {
        match (line.strip_prefix("```"), fence) {
            (Some(language), "") => fence = if language.is_empty() { "?" } else { language },
            (Some(_), _) => fence = "",
            (None, "sh") if line.starts_with("curl ") => asked.push(line.to_owned()),
            (None, "json") => {
                let answer = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
                all.push((asked.remove(0), answer));
            }
            _ => {}
        }
    }
    assert!(asked.is_empty(), "without an answer: {asked:?}");
    all
}

#[test]
fn the_examples_of_the_page_are_answered_as_it_says() {
    let examples = examples();
    assert!(examples.len() >= 15, "{}", examples.len());
    if Command::new("curl").arg("--version").output().is_err() {
        println!("skipped: there is no curl");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    pages::data(at);
    program::succeeds(at, &["fit", "items.npz", "--recipe", "rca", "-o", "run"]);
    let served = Served::of(at, "run");
    let photos = images::scene();
    let served_photos = of_photos(photos.path());
    let photo = photos.path().join("photos/red/04.png");
    std::fs::copy(photo, at.join("photo.png")).unwrap();
    for (line, wanted) in examples {
        let is_of_photos = line.contains("@photo");
        let server = if is_of_photos {
            &served_photos
        } else {
            &served
        };
        let line = line.replace("localhost:7007", &server.at);
        let mut command = Command::new("sh");
        let output = command.args(["-c", &line]).current_dir(at).output();
        let output = output.unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{line}: {text}");
        if let Some(part) = wanted.as_str() {
            assert!(text.lines().any(|line| line == part), "{line}: no {part}");
            continue;
        }
        if line.contains("/refit/cancel") {
            // It may be over before; the next ones ask for a model when it is.
            while served.ask("GET /refit", "")["state"] == "running" {
                std::thread::sleep(Duration::from_millis(50));
            }
            if text.contains("no refit runs") {
                continue;
            }
        }
        let own: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{line}: {e}"));
        for (key, example) in wanted.as_object().unwrap() {
            let own = own
                .get(key)
                .unwrap_or_else(|| panic!("{line}: no {key} in {text}"));
            let same = std::mem::discriminant(own) == std::mem::discriminant(example);
            assert!(
                same || own.is_null() || example.is_null(),
                "{line}: {key} is {own}"
            );
        }
        if let Some(hits) = wanted.get("hits") {
            let keys = |value: &Value| {
                let object = value[0].as_object().unwrap();
                object.keys().cloned().collect::<Vec<_>>()
            };
            assert_eq!(keys(&own["hits"]), keys(hits));
        }
    }
    served.kill();
}
