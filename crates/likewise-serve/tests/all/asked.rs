//! What can be asked without changing anything, and how it is asked wrongly.

use std::net::SocketAddr;

use likewise::{Labels, Monitor};
use likewise_study::Environment;
use likewise_study::advise::{self, Wanted};
use likewise_study::fit::Asked;
use likewise_study::query::{self, Query};
use likewise_study::stages::Stages;
use likewise_study::study::SplitKind;
use serde_json::{Value, json};

use crate::http::{ask, get, post};
use crate::scene::{ITEMS, Server, device, digits, fit_as, open, served, truth};

#[test]
fn a_search_by_id_answers_what_the_library_answers() {
    let (run, server) = served();
    let device = device();
    let at = Environment {
        monitor: &Monitor::silent(),
        stages: &Stages::default(),
        device: &device,
        max_memory: None,
    };
    for id in ["d0", "d13", "d199"] {
        let query = Query::Id(id.into());
        let own = query::search(&open(run.path()), &query, 7, false, &at).unwrap();
        // As it is printed: a number of 32 bits has fewer digits.
        let own: Value = serde_json::from_str(&serde_json::to_string(&own[0]).unwrap()).unwrap();
        let asked = post(server.at, "/search", &json!({"id": id, "k": 7})).good();
        assert_eq!(asked, own, "{id}");
    }
    let all = post(server.at, "/search", &json!({"id": "d0", "k": 1000})).good();
    assert_eq!(all["hits"].as_array().unwrap().len(), ITEMS - 1);
    let usual = post(server.at, "/search", &json!({"id": "d0", "items": true})).good();
    assert_eq!(usual["hits"].as_array().unwrap().len(), 10);
    let first = &usual["hits"][0];
    assert_eq!(first["item"]["id"], first["id"]);
    assert_eq!(first["item"]["split"], "train");
}

#[test]
fn a_vector_finds_the_item_that_it_is_of_and_is_embedded_as_it_was() {
    let (run, server) = served();
    let x = digits();
    let row: Vec<f32> = x.view(None).unwrap().matrix.row(5).to_vec();
    let found = post(server.at, "/search", &json!({"vector": row, "k": 3})).good();
    assert_eq!(
        (&found["query"], &found["hits"][0]["id"]),
        (&json!("query"), &json!("d5"))
    );
    assert!(found["hits"][0]["similarity"].as_f64().unwrap() > 0.9999);
    let embedded = post(server.at, "/embed", &json!({"vector": row})).good();
    let own = post(server.at, "/embed", &json!({"id": "d5"})).good();
    let kept = open(run.path()).embedding(5).unwrap();
    let values = |json: &Value| -> Vec<f64> {
        let all = json["embedding"].as_array().unwrap().iter();
        all.map(|value| value.as_f64().unwrap()).collect()
    };
    for ((a, b), kept) in values(&embedded).iter().zip(values(&own)).zip(&kept) {
        assert!((a - b).abs() < 1e-4 && (b - f64::from(*kept)).abs() < 1e-7);
    }
}

#[test]
fn wrong_searches_say_what_is_wrong() {
    let (_run, server) = served();
    let wrong = |body: &Value, status: u16, said: &str| {
        let error = post(server.at, "/search", body).bad(status);
        assert!(error.contains(said), "{body}: {error}");
    };
    wrong(&json!({"id": "nobody"}), 404, "no item with id \"nobody\"");
    wrong(
        &json!({"vector": [1.0, 2.0]}),
        400,
        "has 2 values, the run was fitted on 216",
    );
    wrong(&json!({"vector": vec![1e39; 216]}), 400, "");
    wrong(&json!({"vector": vec![Value::Null; 216]}), 400, "null");
    wrong(&json!({"id": "d0", "k": 0}), 400, "k = 0");
    wrong(&json!({"id": "d0", "k": 1001}), 400, "k = 1001");
    wrong(
        &json!({"id": "d0", "k": -1}),
        400,
        "k: invalid value: integer `-1`, expected a whole number of 0 or more",
    );
    wrong(
        &json!({"vector": [1.0, "two"]}),
        400,
        "vector[1]: invalid type: string \"two\", expected a number",
    );
    wrong(
        &json!({"id": "d0", "vector": []}),
        400,
        "one of id, vector and text",
    );
    wrong(&json!({}), 400, "one of id, vector and text");
    wrong(&json!({"id": "d0", "kk": 3}), 400, "unknown field `kk`");
    wrong(&json!({"id": "d0", "from": "x"}), 400, "across views");
    wrong(&json!({"text": "a three"}), 409, "across views");
    wrong(&json!({"id": "d0", "model": 9}), 404, "no model 9");
    wrong(&json!([1]), 400, "");
    let json = [("Content-Type", "application/json")];
    ask(server.at, "POST /search", &json, b"{\"id\": \"d0\"").bad(400);
    ask(server.at, "POST /search", &json, b"\xff\xfe").bad(400);
    let image = [("Content-Type", "image/png")];
    ask(server.at, "POST /search?k=3", &image, b"").bad(400);
    for line in ["POST /search?k=3", "POST /embed"] {
        let said = ask(server.at, line, &image, b"no image at all").bad(409);
        assert!(said.contains("was fitted on features"), "{said}");
    }
    ask(server.at, "POST /search?size=3", &image, b"x").bad(400);
    let said = ask(server.at, "POST /search?k=three", &image, b"x").bad(400);
    assert!(said.contains("k: must be a whole number"), "{said}");
    let text = [("Content-Type", "text/plain")];
    ask(server.at, "POST /search", &text, b"{\"id\": \"d0\"}").bad(415);
    // After all of that it still answers.
    post(server.at, "/search", &json!({"id": "d0"})).good();
}

#[test]
fn items_come_page_by_page_and_are_sorted_out() {
    let (_run, server) = served();
    let all = get(server.at, "/items?offset=190&limit=100").good();
    assert_eq!(
        (&all["total"], all["items"].as_array().unwrap().len()),
        (&json!(ITEMS), 10)
    );
    assert_eq!(
        (&all["items"][0]["id"], &all["items"][0]["row"]),
        (&json!("d190"), &json!(190))
    );
    let total = |query: &str| get(server.at, &format!("/items?{query}")).good()["total"].clone();
    assert_eq!(total("labeled=true"), json!(51));
    assert_eq!(total("labeled=false"), json!(149));
    assert_eq!(total("label=outside"), json!(1));
    assert_eq!(total("text=D19"), json!(11));
    assert_eq!(total("split=train"), json!(ITEMS));
    let labeled = total("label=3").as_u64().unwrap();
    let in_class = get(server.at, "/items?class=3&limit=1000").good();
    assert!(in_class["total"].as_u64().unwrap() > labeled && labeled > 0);
    for item in in_class["items"].as_array().unwrap() {
        let class = if item["label"].is_null() {
            &item["pseudo_label"]
        } else {
            &item["label"]
        };
        assert_eq!(class, "3");
    }
    get(server.at, "/items?limit=0").bad(400);
    get(server.at, "/items?limit=1001").bad(400);
    get(server.at, "/items?offset=-1").bad(400);
    get(server.at, "/items?colour=red").bad(400);
    get(server.at, "/items?labeled=perhaps").bad(400);
}

#[test]
fn an_item_says_where_its_belief_comes_from() {
    let (_run, server) = served();
    let item = get(server.at, "/items/d13").good();
    assert_eq!(
        (&item["id"], &item["label"], &item["image"]),
        (&json!("d13"), &json!(null), &json!(false))
    );
    let why = &item["why"];
    let sources = why["sources"].as_array().unwrap();
    let shares: Vec<f64> = sources
        .iter()
        .map(|s| s["share"].as_f64().unwrap())
        .collect();
    let others = why["others"].as_f64().unwrap();
    assert!((shares.iter().sum::<f64>() + others - 1.0).abs() < 1e-5);
    assert!(shares.windows(2).all(|two| two[0] >= two[1]) && sources.len() == 8);
    for source in sources {
        let path = source["path"].as_array().unwrap();
        assert_eq!(
            (&path[0], path.last().unwrap()),
            (&json!("d13"), &source["id"])
        );
        let own = get(
            server.at,
            &format!("/items/{}", source["id"].as_str().unwrap()),
        )
        .good();
        assert_eq!(own["label"], source["label"]);
    }
    assert_eq!(
        get(server.at, "/items/d7").good()["pseudo_label"],
        json!(null)
    );
    get(server.at, "/items/nobody").bad(404);
    get(server.at, "/items/..%2F..%2Fetc%2Fpasswd").bad(404);
    get(server.at, "/items/%FF").bad(404);
    get(server.at, "/items/d13/image").bad(404);
    get(server.at, "/items/d13/image?edge=4").bad(400);
}

#[test]
fn every_queue_holds_what_it_is_of() {
    let (_run, server) = served();
    let queue = |kind: &str| get(server.at, &format!("/queue?kind={kind}&n=500")).good();
    for (kind, total) in [("uncertain", 149), ("informative", 100)] {
        let all = queue(kind);
        assert_eq!(all["total"], json!(total), "{kind}");
        let scores: Vec<f64> = (all["items"].as_array().unwrap().iter())
            .map(|item| item["score"].as_f64().unwrap())
            .collect();
        // A batch has an order of its own.
        let falls = scores.windows(2).all(|two| two[0] >= two[1]);
        assert!(falls || kind == "informative");
        for item in all["items"].as_array().unwrap() {
            assert!(item["label"].is_null() && item["suggested"] == item["pseudo_label"]);
        }
    }
    let all = queue("uncertain");
    let second = &get(server.at, "/queue?kind=uncertain&n=1&offset=1").good()["items"][0];
    assert_eq!(*second, all["items"][1]);
    for kind in ["conflicting", "suspect"] {
        for item in queue(kind)["items"].as_array().unwrap() {
            assert_ne!(item["label"], item["suggested"], "{kind}");
        }
    }
    for kind in ["outside", "duplicate"] {
        queue(kind);
    }
    // A list would be read as the fields in their order.
    post(server.at, "/label", &json!(["d1", null, "3", null])).bad(400);
    get(server.at, "/queue?kind=boring").bad(400);
    get(server.at, "/queue").bad(400);
    get(server.at, "/queue?kind=uncertain&n=0").bad(400);
    let advice = get(server.at, "/advise?budget=5").good();
    assert_eq!(advice["items"].as_array().unwrap().len(), 5);
    assert_eq!(
        (&advice["labeled"], &advice["unlabeled"]),
        (&json!(51), &json!(149))
    );
    // Five labels a class are there: what stands for many unsure items.
    assert_eq!(advice["method"], "density");
    get(server.at, "/advise?budget=101").bad(400);
    get(server.at, "/advise?budget=0").bad(400);
}

/// What the command says of a run that is served.
fn advised(run: &std::path::Path, budget: usize, precision: f64) -> Value {
    let run = open(run);
    let device = device();
    let at = Environment {
        monitor: &Monitor::silent(),
        stages: &Stages::default(),
        device: &device,
        max_memory: None,
    };
    let wanted = Wanted {
        budget,
        precision,
        seed: run.record().unwrap().seed,
        ..Wanted::default()
    };
    let advice = advise::advise(&run, &wanted, &at).unwrap();
    serde_json::from_str(&serde_json::to_string(&advice).unwrap()).unwrap()
}

#[test]
fn what_labels_are_worth_is_told_as_the_command_tells_it() {
    let (run, server) = served();
    let plain = get(server.at, "/advise?budget=5").good();
    for (key, none) in [
        ("curve", json!(null)),
        ("threshold", json!(null)),
        ("notes", json!([])),
    ] {
        assert_eq!(plain[key], none);
    }
    let mut labels = vec![];
    for more in [1, 2] {
        for i in (more..40).step_by(4) {
            let label = json!({"id": format!("d{i}"), "label": truth(i)});
            post(server.at, "/label", &label).good();
        }
        let asked = get(server.at, "/advise?budget=20&curve=true&precision=0.9").good();
        let own = advised(run.path(), 20, 0.9);
        assert_eq!(asked["curve"], own["curve"]);
        let notes = asked["notes"].as_array().unwrap();
        assert!(own["curve"].is_object() && notes.len() == 3, "{notes:?}");
        // Labels that people give are of harder items than most, and nothing was kept from learning: both are said.
        assert_eq!(asked["threshold"], json!(null));
        for note in notes {
            assert!(own["notes"].as_array().unwrap().contains(note), "{note}");
        }
        labels.push(asked["curve"]["now"]["labels"].as_u64().unwrap());
        let again = get(server.at, "/advise?budget=20&curve=true").good();
        assert_eq!(again["curve"], asked["curve"]);
    }
    assert_eq!(labels[1], labels[0] + 10);
    for wrong in [
        "precision=0",
        "precision=1.5",
        "precision=high",
        "curve=yes",
    ] {
        get(server.at, &format!("/advise?{wrong}")).bad(400);
    }
}

#[test]
fn a_threshold_is_told_by_labels_that_nothing_was_learned_from() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let mut all = digits();
    all.labels = Some(Labels::parse((0..ITEMS).map(truth)));
    let asked = Asked {
        split: Some(SplitKind::Item),
        ..Asked::default()
    };
    fit_as(&all, asked, &run, &Monitor::silent()).unwrap();
    let server = Server::of(&run);
    let asked = get(server.at, "/advise?precision=0.6").good();
    assert_eq!(asked["threshold"]["wanted"], json!(0.6));
    assert_eq!(asked["threshold"], advised(&run, 50, 0.6)["threshold"]);
    assert_eq!(asked["curve"], json!(null));
}

#[test]
fn what_to_label_next_goes_by_no_label_that_is_tested_on() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let mut some = digits();
    let word = |i: usize| {
        if i.is_multiple_of(2) {
            truth(i)
        } else {
            String::new()
        }
    };
    some.labels = Some(Labels::parse((0..ITEMS).map(word)));
    let asked = Asked {
        split: Some(SplitKind::Item),
        ..Asked::default()
    };
    fit_as(&some, asked, &run, &Monitor::silent()).unwrap();
    let server = Server::of(&run);
    let asked = get(server.at, "/advise?budget=20").good();
    let own = advised(&run, 20, 0.9);
    // A third of the hundred is tested on.
    assert_eq!(asked["labeled"], own["labels"]);
    assert!(own["labels"].as_u64().unwrap() < 80, "{}", own["labels"]);
    let ids = |items: &Value| -> Vec<Value> {
        let items = items.as_array().unwrap().iter();
        items.map(|item| item["id"].clone()).collect()
    };
    assert_eq!(ids(&asked["items"]), ids(&own["next"]));
}

#[test]
fn a_label_that_is_wrong_is_suspected() {
    let (_run, server) = served();
    // An item that is sure to be a 3 is called a 5.
    let sure = get(server.at, "/items?class=3&labeled=false&limit=1000").good();
    let all = sure["items"].as_array().unwrap().iter();
    let best = all.max_by(|a, b| {
        let sure = |item: &Value| item["confidence"].as_f64().unwrap_or(0.0);
        sure(a).total_cmp(&sure(b))
    });
    let id = best.unwrap()["id"].clone();
    post(server.at, "/label", &json!({"id": id, "label": "5"})).good();
    for kind in ["suspect", "conflicting"] {
        let found = get(server.at, &format!("/queue?kind={kind}&n=500")).good();
        let item = found["items"]
            .as_array()
            .unwrap()
            .iter()
            .find(|item| item["id"] == id);
        assert_eq!(item.unwrap()["suggested"], "3", "{kind}");
    }
}

#[test]
fn the_map_says_the_same_in_both_forms() {
    let (_run, server) = served();
    let whole = get(server.at, "/map?form=json").good();
    let binary = get(server.at, "/map");
    assert_eq!(
        binary.header("content-type").unwrap(),
        "application/octet-stream"
    );
    let bytes = &binary.body;
    let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&bytes[4..4 + length]).unwrap();
    assert_eq!(header["classes"], whole["classes"]);
    assert_eq!(header["items"], json!(ITEMS));
    let section = |name: &str| {
        let place = &header["sections"][name];
        let offset = place["offset"].as_u64().unwrap() as usize;
        assert_eq!(offset % 4, 0, "{name}");
        &bytes[offset..offset + place["length"].as_u64().unwrap() as usize]
    };
    for name in ["x", "y", "confidence"] {
        let (own, _) = section(name).as_chunks::<4>();
        let own: Vec<f32> = own.iter().map(|four| f32::from_le_bytes(*four)).collect();
        assert_eq!(json!(own), whole[name], "{name}");
    }
    for name in ["label", "belief"] {
        let (own, _) = section(name).as_chunks::<4>();
        let own: Vec<i32> = own.iter().map(|four| i32::from_le_bytes(*four)).collect();
        assert_eq!(json!(own), whole[name], "{name}");
    }
    assert_eq!(json!(section("split")), whole["split"]);
    let ids: Value = serde_json::from_slice(section("ids")).unwrap();
    assert_eq!(ids, whole["ids"]);
    assert_eq!(
        (&whole["label"][7], &whole["belief"][7]),
        (&json!(-2), &json!(-2))
    );
    assert_eq!(whole["label"][1], json!(-1));
    get(server.at, "/map?form=svg").bad(400);
}

#[test]
fn the_run_its_report_and_the_state_of_the_server_are_told() {
    let (run, server) = served();
    let told = get(server.at, "/run").good();
    assert_eq!(
        (&told["items"], &told["dimensions"]),
        (&json!(ITEMS), &json!(216))
    );
    assert_eq!(
        (&told["takes"], &told["labels"]),
        (&json!(["id", "vector"]), &json!(true))
    );
    assert_eq!((&told["model"], &told["sequence"]), (&json!(1), &json!(0)));
    let metrics: Value =
        serde_json::from_slice(&std::fs::read(run.path().join("metrics.json")).unwrap()).unwrap();
    assert_eq!(get(server.at, "/report").good(), metrics);
    let page = get(server.at, "/report.html");
    assert_eq!(
        page.body,
        std::fs::read(run.path().join("report.html")).unwrap()
    );
    assert!(
        page.header("content-security-policy")
            .unwrap()
            .starts_with("sandbox;")
    );
    let health = get(server.at, "/healthz").good();
    assert_eq!(health, json!({"status": "ok", "model": 1, "sequence": 0}));
    let counted = get(server.at, "/metrics").text();
    assert!(counted.contains("likewise_items 200"), "{counted}");
    assert!(
        counted.contains(r#"likewise_requests_total{method="GET",path="/run",status="200"} 1"#),
        "{counted}"
    );
    let models = get(server.at, "/models").good();
    assert_eq!(
        (
            &models["current"],
            models["models"].as_array().unwrap().len()
        ),
        (&json!(1), 1)
    );
    assert!(
        models["models"][0]["metrics"]["r_precision"].is_number(),
        "{models}"
    );
    assert_eq!(get(server.at, "/refit").good()["state"], "idle");
}

#[test]
fn everything_is_described_and_what_is_described_is_there() {
    let (_run, server) = served();
    let described = get(server.at, "/openapi.json").good();
    let paths = described["paths"].as_object().unwrap();
    let wanted = [
        "/run",
        "/search",
        "/embed",
        "/items",
        "/items/{id}",
        "/items/{id}/image",
        "/label",
        "/undo",
        "/classes",
        "/queue",
        "/advise",
        "/refit",
        "/refit/cancel",
        "/models",
        "/models/{n}/restore",
        "/events",
        "/map",
        "/report",
        "/report.html",
        "/labels.csv",
        "/healthz",
        "/metrics",
    ];
    for path in wanted {
        assert!(paths.contains_key(path), "{path}");
    }
    assert_eq!(paths.len(), wanted.len());
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().unwrap() {
            for status in ["401", "403", "408", "413", "500", "503"] {
                let told = &operation["responses"][status];
                assert!(told.is_object(), "{method} {path}: {status}");
            }
            let has_body = operation["requestBody"].is_object();
            assert_eq!(operation["responses"]["415"].is_object(), has_body);
        }
        let path = path.replace("{id}", "d1").replace("{n}", "1");
        if methods.get("get").is_some() && path != "/events" {
            let status = get(server.at, &path).status;
            assert!(
                status != 405 && (status != 404 || path.ends_with("image")),
                "{path}: {status}"
            );
        }
        if methods.get("post").is_none() {
            post(server.at, &path, &json!({})).bad(405);
        }
    }
    get(server.at, "/nothing").bad(404);
    ask(server.at, "DELETE /items/d1", &[], b"").bad(405);
    let schemes = &described["components"]["securitySchemes"];
    assert_eq!(schemes["bearer"]["scheme"], "bearer");
    assert_eq!(schemes["cookie"]["in"], "cookie");
    assert_eq!(described["security"].as_array().unwrap().len(), 3);
    // Every kind that is described is answered.
    let kinds = &paths["/queue"]["get"]["parameters"][0];
    assert_eq!(kinds["name"], "kind");
    let kinds = kinds["schema"]["enum"].as_array().unwrap();
    assert_eq!(kinds.len(), 6);
    for kind in kinds {
        get(
            server.at,
            &format!("/queue?kind={}", kind.as_str().unwrap()),
        )
        .good();
    }
    let state = &described["components"]["schemas"]["Stand"]["enum"];
    assert!(state.as_array().unwrap().contains(&json!("running")));
}

/// Labels of two classes in bulk, as from the map.
fn in_bulk(at: SocketAddr) {
    for (class, most) in [("0", 12), ("1", 6)] {
        let of_class = (0..ITEMS).filter(|&i| i % 4 != 0 && truth(i) == class);
        let ids: Vec<String> = of_class.take(most).map(|i| format!("d{i}")).collect();
        post(at, "/label", &json!({"ids": ids, "label": class})).good();
    }
}

#[test]
fn why_shows_the_shares_of_the_belief_that_is_shown() {
    let (_run, server) = served();
    in_bulk(server.at);
    let mut seen = 0;
    let all = get(server.at, "/items?labeled=false&limit=1000").good();
    for own in all["items"].as_array().unwrap() {
        let id = own["id"].as_str().unwrap();
        let item = get(server.at, &format!("/items/{id}")).good();
        let why = &item["why"];
        let classes = why["classes"].as_array().unwrap();
        assert_eq!(classes[0]["class"], why["pseudo_label"], "{why}");
        let share = |of: &Value| of["share"].as_f64().unwrap();
        let sum: f64 = classes.iter().map(share).sum();
        assert!((sum - 1.0).abs() < 1e-6, "{why}");
        let sources: f64 = why["sources"].as_array().unwrap().iter().map(share).sum();
        assert!((sources + why["others"].as_f64().unwrap() - 1.0).abs() < 1e-6);
        // One scale: what the labels moved is as sure here as there.
        if item["pseudo_label"] != own["pseudo_label"] {
            assert_eq!(why["confidence"], item["confidence"]);
        }
        seen += 1;
    }
    assert!(seen > 100);
}

#[test]
fn the_least_sure_come_first_by_what_is_shown_of_them() {
    let (_run, server) = served();
    in_bulk(server.at);
    let all = get(server.at, "/queue?kind=uncertain&n=500").good();
    let sure: Vec<f64> = (all["items"].as_array().unwrap().iter())
        .map(|item| item["confidence"].as_f64().unwrap())
        .collect();
    assert!(sure.windows(2).all(|two| two[0] <= two[1]), "{sure:?}");
    // The page begins with what tells most.
    let page = get(server.at, "/page/room-review.js").text();
    let kinds = &page[page.find("const KINDS").unwrap()..];
    assert!(kinds.find("'informative'").unwrap() < kinds.find("'uncertain'").unwrap());
}
