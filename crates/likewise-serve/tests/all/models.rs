//! Refits while the run is served, and the models that they leave.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use likewise::{Error, Monitor};
use likewise_serve::{Options, Refit};
use likewise_study::fit::{Asked, LabeledItems};
use serde_json::{Value, json};

use crate::http::{Events, get, post};
use crate::scene::{Again, ITEMS, Server, device, digits, fit, fit_as, open, run, served, truth};

/// Waits until the refit is over.
fn over(events: &mut Events) -> Value {
    loop {
        let state = events.next("refit");
        if state["state"] != "running" {
            return state;
        }
    }
}

#[test]
fn before_anything_was_learned_items_are_compared_by_their_features() {
    // Its data are changed below, so that it has a file of its own.
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    fit(&digits(), &run, &Monitor::silent()).unwrap();
    let server = Server::of(&run);
    let at = server.at;
    let x = digits().views()[0].matrix.clone();
    let unit = likewise::matrix::l2_normalize(x);
    let ids = |found: &Value| -> Vec<String> {
        let hits = found["hits"].as_array().unwrap().iter();
        hits.map(|hit| hit["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let ask =
        |space: &str, id: &str| post(at, "/search", &json!({"id": id, "k": 5, "space": space}));
    for item in [5, 42, 199] {
        let cosines = unit.dot(&unit.row(item));
        let mut by_hand: Vec<usize> = (0..ITEMS).filter(|&i| i != item).collect();
        by_hand.sort_by(|&a, &b| cosines[b].total_cmp(&cosines[a]));
        let by_hand: Vec<String> = by_hand[..5].iter().map(|i| format!("d{i}")).collect();
        let found = ask("raw", &format!("d{item}")).good();
        assert_eq!(ids(&found), by_hand);
        let first: f64 = found["hits"][0]["similarity"].as_f64().unwrap();
        assert!(first <= 1.0 && first > 0.5);
    }
    // Of three spaces each has answers of its own.
    let learned = post(at, "/search", &json!({"id": "d5", "k": 5})).good();
    let whitened = ask("whitened", "d5").good();
    assert_eq!(whitened["hits"].as_array().unwrap().len(), 5);
    assert_ne!(whitened["hits"], learned["hits"]);
    assert_ne!(whitened["hits"], ask("raw", "d5").good()["hits"]);
    ask("raw", "nobody").bad(404);
    ask("other", "d5").bad(400);
    let vector = vec![0.0; digits().views()[0].matrix.ncols()];
    post(at, "/search", &json!({"vector": vector, "space": "raw"})).bad(400);
    post(
        at,
        "/search",
        &json!({"id": "d5", "space": "raw", "model": 1}),
    )
    .bad(400);
    drop(server);

    // Other data under the same name, and data that have gone, show nothing.
    let path = std::path::PathBuf::from(open(&run).record().unwrap().data);
    let other = digits();
    let view = likewise::View {
        matrix: other.views()[0].matrix.mapv(|v| (v - 500.0).abs()),
        ..other.views()[0].clone()
    };
    let other = likewise::Collection::new(other.ids().to_vec(), vec![view]).unwrap();
    let kept = std::fs::read(&path).unwrap();
    likewise_io::collection::write(&path, &other).unwrap();
    let server = Server::of(&run);
    let said = post(server.at, "/search", &json!({"id": "d5", "space": "raw"})).bad(409);
    assert!(said.contains("have changed"), "{said}");
    std::fs::remove_file(&path).unwrap();
    let said = post(server.at, "/search", &json!({"id": "d5", "space": "raw"})).bad(409);
    assert!(said.contains("the data of the run are not here"), "{said}");
    std::fs::write(&path, kept).unwrap();
    post(server.at, "/search", &json!({"id": "d5", "space": "raw"})).good();
}

#[test]
fn a_refit_takes_the_place_of_the_run_without_losing_a_request() {
    let (run, server) = served();
    let at = server.at;
    let before = post(at, "/embed", &json!({"id": "d5"})).good();
    for i in (1..40).step_by(2) {
        post(
            at,
            "/label",
            &json!({"id": format!("d{i}"), "label": truth(i)}),
        )
        .good();
    }
    let mut events = Events::listen(at);
    let ended = Arc::new(AtomicBool::new(false));
    let asks: Vec<_> = (0..3)
        .map(|i| {
            let ended = ended.clone();
            std::thread::spawn(move || {
                let mut asked = 0;
                while !ended.load(Ordering::Relaxed) {
                    let id = format!("d{}", (asked * 7 + i) % ITEMS);
                    let found = post(at, "/search", &json!({"id": id, "k": 5})).good();
                    assert_eq!(found["hits"].as_array().unwrap().len(), 5);
                    asked += 1;
                }
                asked
            })
        })
        .collect();
    let state = post(at, "/refit", &json!({"who": "ann"}));
    assert_eq!(
        (state.status, state.json()["number"].as_u64()),
        (202, Some(2))
    );
    post(at, "/refit", &json!({})).bad(409);
    // A label that comes meanwhile is not lost either.
    post(at, "/label", &json!({"id": "d90", "label": truth(90)})).good();
    let state = over(&mut events);
    assert_eq!(
        (&state["state"], &state["sequence"], &state["who"]),
        (&json!("done"), &json!(20), &json!("ann")),
        "{state}"
    );
    ended.store(true, Ordering::Relaxed);
    for ask in asks {
        assert!(ask.join().unwrap() > 0);
    }
    assert_eq!(get(at, "/run").good()["model"], json!(2));
    assert_eq!(get(at, "/items/d90").good()["label"], truth(90));
    assert_ne!(post(at, "/embed", &json!({"id": "d5"})).good(), before);
    // The run at the top is the new one, whole, and has the labels.
    let top = open(run.path());
    top.check().unwrap();
    assert_eq!(top.items().unwrap()[1].label, Some(truth(1)));
    // The earlier one answers when it is asked, and comes back.
    let earlier = post(at, "/search", &json!({"id": "d5", "k": 3, "model": 1})).good();
    assert_eq!(earlier["hits"].as_array().unwrap().len(), 3);
    let models = get(at, "/models").good();
    assert_eq!(
        (
            &models["current"],
            models["models"].as_array().unwrap().len()
        ),
        (&json!(2), 2)
    );
    for model in models["models"].as_array().unwrap() {
        assert!(model["recipe"].is_string(), "{model}");
        assert!(model["labels"].is_number(), "{model}");
        assert!(model["damaged"].is_null(), "{model}");
    }
    let measured = std::fs::read(run.path().join("models/1/metrics.json")).unwrap();
    let measured: serde_json::Value = serde_json::from_slice(&measured).unwrap();
    let shown = &models["models"][0]["metrics"];
    assert_eq!(shown["map_at_r"], measured["map_at_r"]);
    assert_eq!(shown["recall@1"], measured["recall"]["1"]);
    let restored = post(at, "/models/1/restore", &json!({"who": "bob"})).good();
    assert_eq!(restored["current"], json!(1));
    let told = json!({"model": 1, "why": "restore", "who": "bob"});
    assert_eq!(events.next("model"), told);
    assert_eq!(post(at, "/embed", &json!({"id": "d5"})).good(), before);
    assert_eq!(get(at, "/items/d90").good()["label"], truth(90));
    open(run.path()).check().unwrap();
    post(at, "/models/9/restore", &json!({})).bad(404);
    post(at, "/models/x/restore", &json!({})).bad(404);
    // A restart knows which one it is.
    server.stop().unwrap();
    let server = Server::of(run.path());
    assert_eq!(get(server.at, "/run").good()["model"], json!(1));
    assert_eq!(
        get(server.at, "/models").good()["models"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn a_label_that_a_refit_learned_from_can_be_taken_back() {
    let (_run, server) = served();
    let mut events = Events::listen(server.at);
    let label = json!({"ids": ["d1", "d2"], "label": "3", "who": "ann"});
    post(server.at, "/label", &label).good();
    post(server.at, "/refit", &json!({})).good();
    assert_eq!(over(&mut events)["state"], "done");
    post(
        server.at,
        "/label",
        &json!({"id": "d1", "label": "4", "who": "bob"}),
    )
    .good();
    let undone = post(server.at, "/undo", &json!({"who": "ann"})).good();
    assert_eq!(undone["kept"], json!(1));
    let label = |id: &str| get(server.at, &format!("/items/{id}")).good()["label"].clone();
    assert_eq!((label("d1"), label("d2")), (json!("4"), json!(null)));
    post(server.at, "/undo", &json!({"who": "bob"})).good();
    assert_eq!(label("d1"), json!(null));
}

/// Class and confidence that each item is believed to have, by the names of now.
fn beliefs(at: std::net::SocketAddr) -> Vec<(Value, Value)> {
    let all = get(at, "/items?limit=1000").good();
    let all = all["items"].as_array().unwrap().iter();
    let of = |item: &Value| (item["pseudo_label"].clone(), item["confidence"].clone());
    all.map(of).collect()
}

#[test]
fn a_name_of_a_class_that_a_refit_learned_can_be_taken_back() {
    let (run, server) = served();
    let at = server.at;
    let mut events = Events::listen(at);
    let mut refit = || {
        post(at, "/refit", &json!({})).good();
        assert_eq!(over(&mut events)["state"], "done");
    };
    let rename = |from: &str, to: &str, who: &str| {
        let rename = json!({"rename": {"from": from, "to": to}, "who": who});
        assert_eq!(post(at, "/classes", &rename).good()["changed"], 0);
    };
    let names = || -> Vec<String> {
        let all = get(at, "/classes").good();
        let all = all["classes"].as_array().unwrap().iter();
        all.map(|class| class["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let before = names();
    rename("3", "three", "ann");
    rename("4", "for", "ann");
    rename("for", "four", "ann");
    refit();
    let learned = beliefs(at);
    // One step after the other, all by the model that knows the newest names alone.
    for (new, old) in [("four", "for"), ("for", "4"), ("three", "3")] {
        let undone = post(at, "/undo", &json!({"who": "ann"})).good();
        assert_eq!(undone["changed"], 0, "{undone}");
        assert!(undone["class_kept"].is_null());
        let now = names();
        assert!(!now.iter().any(|name| name == new) && now.iter().any(|name| name == old));
    }
    assert_eq!(names(), before);
    let renamed = |belief: &(Value, Value)| match belief.0.as_str() {
        Some("three") => (json!("3"), belief.1.clone()),
        Some("four") => (json!("4"), belief.1.clone()),
        _ => belief.clone(),
    };
    let learned: Vec<(Value, Value)> = learned.iter().map(renamed).collect();
    assert_eq!(beliefs(at), learned);
    // Nor does a start make anything else of it.
    drop(server);
    let server = Server::of(run.path());
    assert_eq!(beliefs(server.at), learned);
}

#[test]
fn names_that_were_exchanged_are_not_exchanged_again_by_a_refit() {
    let (_run, server) = served();
    let at = server.at;
    let mut events = Events::listen(at);
    for (from, to) in [("3", "x"), ("5", "3"), ("x", "5")] {
        let rename = json!({"rename": {"from": from, "to": to}});
        assert_eq!(post(at, "/classes", &rename).good()["changed"], 0);
    }
    let sure = |of: &str| {
        let all = get(at, &format!("/items?class={of}&labeled=false&limit=1000")).good();
        let all = all["items"].as_array().unwrap().iter();
        let right = all.clone().filter(|item| {
            let row = item["row"].as_u64().unwrap() as usize;
            let exchanged = match truth(row).as_str() {
                "3" => "5".to_owned(),
                "5" => "3".to_owned(),
                other => other.to_owned(),
            };
            exchanged == of
        });
        right.count() * 2 > all.count()
    };
    assert!(sure("3") && sure("5"));
    post(at, "/refit", &json!({})).good();
    assert_eq!(over(&mut events)["state"], "done");
    assert!(sure("3") && sure("5"));
}

#[test]
fn labels_of_items_that_a_restored_model_has_not_are_told_of() {
    let run = run();
    let rows: Vec<usize> = (0..ITEMS - 10).collect();
    let fewer = tempfile::tempdir().unwrap();
    let out = fewer.path().join("run");
    fit(&digits().select(&rows), &out, &Monitor::silent()).unwrap();
    let models = likewise_study::run_folder::Models::of(run.path());
    assert_eq!(models.keep().unwrap(), 1);
    std::fs::rename(out, models.folder(2)).unwrap();
    let server = Server::of(run.path());
    for id in ["d1", "d193", "d195", "d197"] {
        post(server.at, "/label", &json!({"id": id, "label": "3"})).good();
    }
    post(server.at, "/undo", &json!({})).good();
    assert!(get(server.at, "/models").good()["unseen_labels"].is_null());
    let restored = post(server.at, "/models/2/restore", &json!({})).good();
    assert_eq!(restored["unseen_labels"], json!(2));
    get(server.at, "/items/d195").bad(404);
    let back = post(server.at, "/models/1/restore", &json!({})).good();
    assert!(back["unseen_labels"].is_null());
    assert_eq!(get(server.at, "/items/d195").good()["label"], "3");
}

#[test]
fn what_cannot_be_read_as_a_model_stays_and_is_told_of() {
    let run = run();
    let models = likewise_study::run_folder::Models::of(run.path());
    assert_eq!(models.keep().unwrap(), 1);
    let record = run.path().join("models/1/run.json");
    // It is another name of the file at the top.
    std::fs::remove_file(&record).unwrap();
    std::fs::write(&record, "{\"version\": ").unwrap();
    let theirs = run.path().join("models/7/deep/a");
    std::fs::create_dir_all(theirs.parent().unwrap()).unwrap();
    std::fs::write(&theirs, "mine").unwrap();
    let server = Server::of(run.path());
    let warned = server.warned.try_iter();
    let warned: Vec<String> = warned.filter(|said| said.contains("/models/")).collect();
    assert_eq!(get(server.at, "/run").good()["model"], json!(8));
    server.stop().unwrap();
    assert_eq!(warned.len(), 2, "{warned:?}");
    for (folder, warning) in ["models/1:", "models/7:"].iter().zip(&warned) {
        assert!(warning.contains(folder), "{warning}");
    }
    assert!(record.exists() && run.path().join("models/1/model.safetensors").exists());
    assert_eq!(std::fs::read_to_string(&theirs).unwrap(), "mine");
}

/// Goes on until it is told to stop, or fails.
struct Endless(bool);

impl Refit for Endless {
    fn refit(
        &self,
        _run: &Path,
        _labeled: LabeledItems,
        _labels: &Path,
        out: &Path,
        monitor: &Monitor,
    ) -> likewise_study::Result<()> {
        std::fs::create_dir_all(out).unwrap();
        monitor.start("waiting", Some(1000));
        for step in 0..1000 {
            if self.0 && step == 3 {
                return Err(Error::data("the data are gone"));
            }
            monitor.step(step)?;
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        Ok(())
    }
}

/// A refit during which another command puts something else into the folder of the run.
struct Beside;

impl Refit for Beside {
    fn refit(
        &self,
        run: &Path,
        labeled: LabeledItems,
        labels: &Path,
        out: &Path,
        monitor: &Monitor,
    ) -> likewise_study::Result<()> {
        Again.refit(run, labeled.clone(), labels, out, monitor)?;
        let other = out.with_extension("other");
        Again.refit(run, labeled, labels, &other, monitor)?;
        for name in std::fs::read_dir(&other).unwrap() {
            let name = name.unwrap().file_name();
            if !other.join(&name).is_dir() {
                // No file of a run is changed in place.
                std::fs::copy(other.join(&name), run.join("new")).unwrap();
                std::fs::rename(run.join("new"), run.join(&name)).unwrap();
            }
        }
        Ok(())
    }
}

#[test]
fn what_another_command_makes_of_the_run_meanwhile_is_not_displaced() {
    let run = run();
    let options = Options::new(run.path(), device());
    let server = Server::begin(&options, Some(Arc::new(Beside))).unwrap();
    let mut events = Events::listen(server.at);
    let label = json!({"id": "d1", "label": "4"});
    post(server.at, "/label", &label).good();
    post(server.at, "/refit", &json!({})).good();
    let over = over(&mut events);
    let said = over["error"].as_str().unwrap();
    assert!(said.contains("another command changed the run"), "{over}");
    let record = |folder: &str| std::fs::read(run.path().join(folder).join("run.json")).unwrap();
    assert_eq!(record(""), record("models/2.other"));
    assert!(!run.path().join("models/2").exists());
}

#[test]
fn a_model_that_is_made_twice_is_known_after_a_restart_and_put_in_its_own_place() {
    let (run, server) = served();
    // What a process that was killed has left is not in the way of the run that is kept.
    std::fs::create_dir_all(run.path().join("models/1/unfinished")).unwrap();
    std::fs::write(run.path().join("models/.1.begun"), "").unwrap();
    let mut events = Events::listen(server.at);
    let label = json!({"id": "d1", "label": "4"});
    post(server.at, "/label", &label).good();
    for _ in 0..2 {
        post(server.at, "/refit", &json!({})).good();
        assert_eq!(over(&mut events)["state"], "done");
    }
    let number = |server: &Server| get(server.at, "/run").good()["model"].clone();
    assert_eq!(number(&server), 3);
    drop(server);
    let server = Server::of(run.path());
    assert_eq!(number(&server), 3);
    for wanted in [3, 2, 3, 1, 3] {
        post(server.at, &format!("/models/{wanted}/restore"), &json!({})).good();
        assert_eq!(number(&server), wanted);
        assert!(!run.path().join("complete").exists());
    }
    let mut events = Events::listen(server.at);
    post(server.at, "/refit", &json!({})).good();
    assert_eq!(over(&mut events)["state"], "done");
}

#[test]
fn a_refit_is_cancelled_and_leaves_nothing() {
    let run = run();
    let options = Options::new(run.path(), device());
    let server = Server::begin(&options, Some(Arc::new(Endless(false)))).unwrap();
    let mut events = Events::listen(server.at);
    post(server.at, "/refit/cancel", &json!({})).bad(409);
    post(server.at, "/refit", &json!({})).good();
    let going = loop {
        let state = events.next("refit");
        if state["stage"] == "waiting" {
            break state;
        }
    };
    assert_eq!(
        (&going["state"], &going["total"]),
        (&json!("running"), &json!(1000))
    );
    post(server.at, "/models/1/restore", &json!({})).bad(409);
    post(server.at, "/refit/cancel", &json!({"who": "bob"})).good();
    let state = over(&mut events);
    assert_eq!(
        (&state["state"], &state["who"]),
        (&json!("cancelled"), &json!("bob"))
    );
    for left in ["models/2", "models/.2.begun", "models/2.labels.csv"] {
        assert!(!run.path().join(left).exists(), "{left}");
    }
    assert_eq!(get(server.at, "/run").good()["model"], json!(1));
    post(server.at, "/refit", &json!({})).good();
    // It ends although a refit runs.
    server.stop().unwrap();
}

#[test]
fn a_refit_that_is_said_to_be_cancelled_is_at_whatever_moment() {
    let run = run();
    let server = Server::of(run.path());
    let at = server.at;
    let mut events = Events::listen(at);
    post(at, "/label", &json!({"id": "d1", "label": "3"})).good();
    let (mut cancelled, mut done) = (0, 0);
    for turn in 0..40 {
        let model = get(at, "/run").good()["model"].clone();
        post(at, "/refit", &json!({})).good();
        // A little later each time, until it comes too late.
        std::thread::sleep(std::time::Duration::from_millis(turn * 15));
        let answer = post(at, "/refit/cancel", &json!({}));
        let state = over(&mut events);
        let now = get(at, "/run").good()["model"].clone();
        if answer.status == 200 {
            assert_eq!((&state["state"], &now), (&json!("cancelled"), &model));
            cancelled += 1;
        } else {
            assert_eq!((answer.status, &state["state"]), (409, &json!("done")));
            assert_eq!(now, state["number"]);
            done += 1;
            if done == 3 {
                break;
            }
        }
    }
    assert!(cancelled > 0, "{done} done");
    open(run.path()).check().unwrap();
    // What others find is what answers.
    let number = get(at, "/run").good()["model"].clone();
    drop(server);
    let server = Server::of(run.path());
    assert_eq!(get(server.at, "/run").good()["model"], number);
}

#[test]
fn beliefs_of_a_class_that_took_the_name_of_another_are_its_own_after_a_refit() {
    let run = run();
    let server = Server::of(run.path());
    let at = server.at;
    let mut events = Events::listen(at);
    let change = |body: Value| post(at, "/classes", &body).good();
    change(json!({"rename": {"from": "3", "to": "three"}}));
    change(json!({"add": "3"}));
    // The class is split: some of its items are of the new one.
    let own = (0..ITEMS).filter(|&item| truth(item) == "3").take(3);
    let ids: Vec<String> = own.map(|item| format!("d{item}")).collect();
    post(at, "/label", &json!({"ids": ids, "label": "3"})).good();
    post(at, "/refit", &json!({})).good();
    assert_eq!(over(&mut events)["state"], "done");
    let fitted = open(run.path()).items().unwrap();
    let mut seen = [0, 0];
    for (row, item) in fitted.iter().enumerate() {
        let shown = get(at, &format!("/items/d{row}")).good();
        if shown["label"].is_null() {
            assert_eq!(shown["pseudo_label"], json!(item.pseudo_label), "{row}");
            for (name, seen) in ["3", "three"].iter().zip(&mut seen) {
                *seen += usize::from(item.pseudo_label.as_deref() == Some(name));
            }
        }
    }
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
}

#[test]
fn a_refit_that_fails_says_why_and_changes_nothing() {
    let run = run();
    let options = Options::new(run.path(), device());
    let server = Server::begin(&options, Some(Arc::new(Endless(true)))).unwrap();
    let mut events = Events::listen(server.at);
    post(server.at, "/refit", &json!({})).good();
    let state = over(&mut events);
    assert_eq!(
        (&state["state"], &state["error"]),
        (&json!("failed"), &json!("the data are gone"))
    );
    assert_eq!(get(server.at, "/refit").good(), state);
    get(server.at, "/items/d1").good();
    open(run.path()).check().unwrap();
}

#[test]
fn a_fit_that_hid_labels_is_not_fitted_again_as_if_it_learned_from_those_given() {
    let folder = tempfile::tempdir().unwrap();
    let mut collection = digits();
    let all = (0..ITEMS).map(|i| if i == 7 { String::new() } else { truth(i) });
    collection.labels = Some(likewise::Labels::parse(all));
    let asked = Asked {
        labels_per_class: std::num::NonZero::new(3),
        ..Asked::default()
    };
    fit_as(
        &collection,
        asked,
        folder.path(),
        &likewise::Monitor::silent(),
    )
    .unwrap();
    let server = Server::of(folder.path());
    // Nor are items asked for that measure.
    let queue = get(server.at, "/queue?kind=informative&n=100").good();
    let queued = queue["items"].as_array().unwrap();
    assert!(!queued.is_empty() && queued.iter().all(|item| item["split"] != "test"));
    post(server.at, "/label", &json!({"id": "d7", "label": "3"})).good();
    // It is said before anybody asks.
    let why = get(server.at, "/run").good()["no_refit"].clone();
    assert!(
        why["error"].as_str().unwrap().contains("hid labels"),
        "{why}"
    );
    let said = post(server.at, "/refit", &json!({})).bad(409);
    assert!(said.contains("hid labels"), "{said}");
}

#[test]
fn without_a_way_to_fit_there_is_no_refit() {
    let run = run();
    let server = Server::begin(&Options::new(run.path(), device()), None).unwrap();
    let said = post(server.at, "/refit", &json!({})).bad(409);
    assert!(said.contains("cannot fit"), "{said}");
}

#[test]
fn a_run_that_another_program_changes_is_opened_anew() {
    let (run, server) = served();
    let mut events = Events::listen(server.at);
    events.next("hello");
    post(server.at, "/label", &json!({"id": "d1", "label": "3"})).good();
    let mut digits = crate::scene::digits();
    let labels = digits.labels.take().unwrap();
    digits.labels = Some(
        likewise::Labels::new(
            labels.classes().to_vec(),
            labels
                .items()
                .iter()
                .enumerate()
                .map(|(i, &label)| {
                    if i == 8 {
                        likewise::Label::Unknown
                    } else {
                        label
                    }
                })
                .collect(),
        )
        .unwrap(),
    );
    let new = tempfile::tempdir().unwrap();
    crate::scene::fit(&digits, &new.path().join("run"), &Monitor::silent()).unwrap();
    let models = likewise_study::run_folder::Models::of(run.path());
    assert_eq!(models.keep().unwrap(), 1);
    std::fs::rename(new.path().join("run"), models.folder(2)).unwrap();
    // Nor does it displace what another command has put there meanwhile.
    let said = models.restore(2, 7).unwrap_err().to_string();
    assert!(said.contains("another command changed the run"), "{said}");
    models.restore(2, 1).unwrap();
    let told = json!({"model": 2, "why": "changed", "who": null});
    assert_eq!(events.next("model"), told);
    assert_eq!(get(server.at, "/items/d8").good()["label"], json!(null));
    assert_eq!(get(server.at, "/items/d1").good()["label"], "3");
}
