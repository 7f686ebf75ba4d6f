//! Labels: on the disk before they are acknowledged, spread at once, taken back, and there after a restart.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Value, json};

use crate::http::{Events, get, post};
use likewise_serve::Options;
use likewise_study::journal::{Change, Journal, What};
use likewise_study::live::Method;

use crate::scene::{ITEMS, Server, device, journal, run, served, truth};

fn lines(run: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(journal(run)).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn label(to: SocketAddr, id: &str, label: &Value) -> Value {
    post(to, "/label", &json!({"id": id, "label": label})).good()
}

fn item(to: SocketAddr, id: &str) -> Value {
    let mut item = get(to, &format!("/items/{id}")).good();
    item.as_object_mut().unwrap().remove("why");
    item
}

/// All that is shown of all items.
fn shown(to: SocketAddr) -> Value {
    get(to, "/items?limit=1000").good()["items"].clone()
}

#[test]
fn a_label_changes_what_is_believed_and_undo_brings_it_back() {
    let (run, server) = served();
    let before = shown(server.at);
    let mut events = Events::listen(server.at);
    assert_eq!(events.next("hello")["sequence"], 0);
    let told = post(
        server.at,
        "/label",
        &json!({"id": "d13", "label": "8", "who": "ann"}),
    )
    .good();
    assert_eq!(
        (&told["sequence"], &told["items"][0]["id"]),
        (&json!(1), &json!("d13"))
    );
    let own = item(server.at, "d13");
    assert_eq!(
        (&own["label"], &own["pseudo_label"], &own["confidence"]),
        (&json!("8"), &json!("8"), &json!(1.0))
    );
    // What is said to have changed is what has changed.
    let after = shown(server.at);
    let pairs = before
        .as_array()
        .unwrap()
        .iter()
        .zip(after.as_array().unwrap());
    let changed: BTreeSet<String> = pairs
        .filter(|(a, b)| a["pseudo_label"] != b["pseudo_label"])
        .map(|(a, _)| a["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(told["changed"], json!(changed.len()));
    for other in &told["items"].as_array().unwrap()[1..] {
        assert!(changed.contains(other["id"].as_str().unwrap()));
    }
    let event = events.next("label");
    assert_eq!(
        (&event["sequence"], &event["who"], &event["what"]),
        (&json!(1), &json!("ann"), &json!("label"))
    );
    assert_eq!(
        (&event["ids"], &event["changed"]),
        (&json!(["d13"]), &told["changed"])
    );
    let undone = post(server.at, "/undo", &json!({})).good();
    assert_eq!(
        (&undone["sequence"], &undone["undone"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(events.next("label")["what"], "undo");
    let again = shown(server.at);
    for (a, b) in before
        .as_array()
        .unwrap()
        .iter()
        .zip(again.as_array().unwrap())
    {
        assert_eq!(
            (&a["label"], &a["pseudo_label"]),
            (&b["label"], &b["pseudo_label"])
        );
    }
    let entries = lines(run.path());
    assert_eq!(
        (&entries[0]["who"], &entries[0]["items"]),
        (
            &json!("ann"),
            &json!([{"id": "d13", "old": null, "new": "8"}])
        )
    );
    assert_eq!(
        (&entries[1]["what"], &entries[1]["items"][0]["old"]),
        (&json!({"undo": 1}), &json!("8"))
    );
    post(server.at, "/undo", &json!({})).bad(409);
}

#[test]
fn right_labels_make_beliefs_right() {
    let (_run, server) = served();
    let right = || {
        let all = shown(server.at);
        let all = all.as_array().unwrap();
        let right = all
            .iter()
            .enumerate()
            .filter(|(i, item)| item["pseudo_label"] == truth(*i));
        right.count()
    };
    let before = right();
    for _ in 0..15 {
        let next = get(server.at, "/queue?kind=uncertain&n=1").good();
        let next = &next["items"][0];
        let row = next["row"].as_u64().unwrap() as usize;
        label(server.at, next["id"].as_str().unwrap(), &json!(truth(row)));
    }
    // Fifteen are labeled now, and some follow them.
    assert!(right() > before, "{before} -> {}", right());
}

#[test]
fn wrong_labels_are_refused_and_leave_no_entry() {
    let (run, server) = served();
    let wrong = |body: Value, status: u16, said: &str| {
        let error = post(server.at, "/label", &body).bad(status);
        assert!(error.contains(said), "{body}: {error}");
    };
    wrong(json!({"id": "nobody", "label": "3"}), 404, "nobody");
    wrong(json!({"id": "d1", "label": "owl"}), 400, "no class \"owl\"");
    wrong(json!({"id": "d1"}), 400, "missing field `label`");
    wrong(json!({"label": "3"}), 400, "by id");
    wrong(
        json!({"id": "d1", "ids": ["d2"], "label": "3"}),
        400,
        "by id",
    );
    wrong(json!({"ids": [], "label": "3"}), 400, "by id");
    wrong(
        json!({"ids": ["d1", "nobody"], "label": "3"}),
        404,
        "nobody",
    );
    wrong(json!({"id": "d1", "label": 3}), 400, "string");
    wrong(
        json!({"id": "d1", "label": "3", "colour": 1}),
        400,
        "unknown field",
    );
    wrong(
        json!({"id": "d1", "label": "3", "who": "x".repeat(101)}),
        400,
        "who",
    );
    let many: Vec<String> = (0..10_001).map(|i| format!("d{i}")).collect();
    wrong(json!({"ids": many, "label": "3"}), 400, "at most 10000");
    // The label that is there already is no change.
    let own = item(server.at, "d0")["label"].clone();
    assert_eq!(label(server.at, "d0", &own)["sequence"], 0);
    assert_eq!(label(server.at, "d1", &Value::Null)["changed"], 0);
    assert!(lines(run.path()).is_empty());
}

#[test]
fn outside_and_unlabeled_and_several_at_once() {
    let (run, server) = served();
    let told = post(
        server.at,
        "/label",
        &json!({"ids": ["d1", "d2", "d1"], "label": "outside"}),
    )
    .good();
    assert_eq!(told["sequence"], 1);
    let own = item(server.at, "d1");
    assert_eq!(
        (&own["label"], &own["pseudo_label"]),
        (&json!("outside"), &json!(null))
    );
    assert_eq!(get(server.at, "/classes").good()["outside"], json!(3));
    assert_eq!(lines(run.path())[0]["items"].as_array().unwrap().len(), 2);
    // d0 has a label of the run, which goes; a neighbour's label takes its place.
    label(server.at, "d0", &Value::Null);
    assert_eq!(item(server.at, "d0")["label"], json!(null));
    let csv = get(server.at, "/labels.csv").text();
    assert!(csv.starts_with("id,label\n") && csv.contains("\nd1,outside\n"));
    assert!(!csv.contains("\nd0,") && csv.contains("\nd4,"));
    // All labels at once: nothing is believed any more, and nothing breaks.
    let all: Vec<String> = (0..200).map(|i| format!("d{i}")).collect();
    post(server.at, "/label", &json!({"ids": all, "label": null})).good();
    assert_eq!(item(server.at, "d9")["pseudo_label"], json!(null));
    assert_eq!(get(server.at, "/items/d9").good()["why"], json!(null));
    for kind in [
        "uncertain",
        "suspect",
        "outside",
        "conflicting",
        "informative",
    ] {
        get(server.at, &format!("/queue?kind={kind}")).good();
    }
    post(server.at, "/refit", &json!({})).bad(409);
    label(server.at, "d9", &json!("4"));
    assert_eq!(item(server.at, "d9")["pseudo_label"], "4");
    post(server.at, "/undo", &json!({})).good();
    post(server.at, "/undo", &json!({})).good();
    assert_eq!(item(server.at, "d4")["label"], truth(4));
}

#[test]
fn labels_spread_by_any_method_that_follows_them_and_why_says_the_same() {
    for method in Method::ALL {
        let run = run();
        let mut options = Options::new(run.path(), device());
        options.method = Some(method);
        let server = Server::begin(&options, None).unwrap();
        let name = method.name();
        let before = shown(server.at);
        let mut changed = 0;
        let given: Vec<usize> = (1..ITEMS).step_by(10).collect();
        for &item in &given {
            let told = label(server.at, &format!("d{item}"), &json!(truth(item)));
            changed += told["changed"].as_u64().unwrap();
        }
        assert!(changed > 0, "{name}");
        let mut right = [0; 2];
        for (row, before) in before.as_array().unwrap().iter().enumerate() {
            let now = get(server.at, &format!("/items/d{row}")).good();
            if now["label"].is_null() {
                let why = &now["why"];
                assert_eq!(
                    why["classes"][0]["class"], why["pseudo_label"],
                    "{name} {row}"
                );
                let of = |key: &str| why[key].as_array().unwrap().clone();
                let sum = |all: &[Value]| {
                    all.iter()
                        .map(|one| one["share"].as_f64().unwrap())
                        .sum::<f64>()
                };
                let shares = sum(&of("sources")) + why["others"].as_f64().unwrap();
                assert!((shares - 1.0).abs() < 1e-6, "{name} {row}: {shares}");
                right[0] += usize::from(before["pseudo_label"] == truth(row));
                right[1] += usize::from(now["pseudo_label"] == truth(row));
            }
        }
        assert!(right[1] >= right[0], "{name}: {right:?}");
        for _ in &given {
            post(server.at, "/undo", &json!({})).good();
        }
        let after = shown(server.at);
        for (now, before) in after
            .as_array()
            .unwrap()
            .iter()
            .zip(before.as_array().unwrap())
        {
            assert_eq!(now["pseudo_label"], before["pseudo_label"], "{name}");
        }
    }
}

#[test]
fn what_others_said_since_is_not_taken_back() {
    let (run, server) = served();
    let by = |who: &str, ids: &[&str], label: &Value| {
        let body = json!({"ids": ids, "label": label, "who": who});
        post(server.at, "/label", &body).good()
    };
    let undo = |who: &str| post(server.at, "/undo", &json!({"who": who})).good();
    by("ann", &["d13", "d17"], &json!("3"));
    by("bob", &["d13"], &json!("5"));
    let undone = undo("ann");
    assert_eq!((&undone["undone"], &undone["kept"]), (&json!(1), &json!(1)));
    assert_eq!(item(server.at, "d13")["label"], "5");
    assert_eq!(item(server.at, "d17")["label"], json!(null));
    // Every change begins where the one before it ended.
    let mut now = std::collections::BTreeMap::new();
    for entry in lines(run.path()) {
        for change in entry["items"].as_array().unwrap() {
            let before = now.insert(change["id"].clone().to_string(), change["new"].clone());
            assert_eq!(before.unwrap_or(Value::Null), change["old"]);
        }
    }
    // A class that was renamed since does not come back under its old name.
    post(server.at, "/classes", &json!({"add": "owl"})).good();
    by("ann", &["d21"], &json!("owl"));
    by("ann", &["d21"], &json!("2"));
    let rename = json!({"rename": {"from": "owl", "to": "bird"}, "who": "bob"});
    post(server.at, "/classes", &rename).good();
    let undone = undo("ann");
    assert!(undone["kept"].is_null());
    assert_eq!(item(server.at, "d21")["label"], "bird");
    let classes = get(server.at, "/classes").good().to_string();
    assert!(
        classes.contains("bird") && !classes.contains("owl"),
        "{classes}"
    );
}

#[test]
fn whoever_takes_back_first_what_stands_is_what_nobody_took_back() {
    let (run, server) = served();
    let at = server.at;
    let by = |who: &str, label: &str| {
        let body = json!({"id": "d13", "label": label, "who": who});
        post(at, "/label", &body).good()
    };
    let undo = |who: &str| post(at, "/undo", &json!({"who": who})).good();
    let now = || item(at, "d13")["label"].clone();
    // The first one goes first: what it withdrew does not come back.
    by("ann", "0");
    by("bob", "1");
    assert_eq!(undo("ann")["kept"], json!(1));
    assert_eq!(now(), "1");
    assert!(undo("bob")["kept"].is_null());
    assert_eq!(now(), json!(null));
    // Two say the same: both are journaled, and each takes back the own one.
    by("ann", "0");
    let said = by("bob", "0");
    assert_eq!(
        (&said["sequence"], &said["changed"]),
        (&json!(6), &json!(0))
    );
    assert_eq!(by("bob", "0")["sequence"], json!(6), "once is enough");
    undo("ann");
    assert_eq!(now(), "0");
    undo("bob");
    assert_eq!(now(), json!(null));
    assert_eq!(lines(run.path()).len(), 8);
    // A merge carries what stands, and nothing that was withdrawn.
    by("ann", "3");
    by("ann", "4");
    let merge = json!({"merge": {"from": "3", "into": "5"}, "who": "bob"});
    post(at, "/classes", &merge).good();
    undo("ann");
    assert_eq!(now(), "5");
    undo("bob");
    assert_eq!(now(), "3");
    undo("ann");
    assert_eq!(now(), json!(null));
    // A restart reads the same from the journal.
    post(at, "/classes", &merge).good();
    by("ann", "4");
    by("bob", "5");
    undo("ann");
    let (again, classes) = (shown(at), get(at, "/classes").good());
    server.stop().unwrap();
    let server = Server::of(run.path());
    assert_eq!(get(server.at, "/classes").good(), classes);
    for (a, b) in again
        .as_array()
        .unwrap()
        .iter()
        .zip(shown(server.at).as_array().unwrap())
    {
        assert_eq!(
            (&a["id"], &a["label"], &a["pseudo_label"]),
            (&b["id"], &b["label"], &b["pseudo_label"])
        );
    }
}

/// What stands, followed by hand.
#[derive(Default)]
struct ByHand {
    entries: Vec<(usize, Vec<usize>, Option<usize>)>,
}

impl ByHand {
    fn undo(&mut self, who: usize) -> bool {
        let last = self.entries.iter().rposition(|entry| entry.0 == who);
        last.map(|place| self.entries.remove(place)).is_some()
    }

    fn labels(&self, items: usize) -> Vec<Option<usize>> {
        let mut labels = vec![None; items];
        for (_, own, label) in &self.entries {
            for &item in own {
                labels[item] = *label;
            }
        }
        labels
    }
}

#[test]
fn labels_and_undos_of_three_people_in_any_order_are_what_they_are_by_hand() {
    let (_run, server) = served();
    let (people, classes) = (["ann", "bob", "cem"], ["0", "1", "2"]);
    // None of these has a label of the run.
    let items = ["d1", "d2", "d3", "d5"];
    let mut by_hand = ByHand::default();
    let mut state = 7_usize;
    let mut next = |n: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % n
    };
    for step in 0..120 {
        let who = next(3);
        if next(5) < 2 {
            let answer = post(server.at, "/undo", &json!({"who": people[who]}));
            let expected = if by_hand.undo(who) { 200 } else { 409 };
            assert_eq!(answer.status, expected, "{step}");
        } else {
            let own = if next(3) == 0 {
                vec![0, 1, 2, 3]
            } else {
                vec![next(4)]
            };
            let label = Some(next(4)).filter(|&class| class < 3);
            let ids: Vec<&str> = own.iter().map(|&item| items[item]).collect();
            let body =
                json!({"ids": ids, "label": label.map(|class| classes[class]), "who": people[who]});
            let before = get(server.at, "/run").good()["sequence"].clone();
            let told = post(server.at, "/label", &body).good();
            if told["sequence"] != before {
                by_hand.entries.push((who, own, label));
            }
        }
        let wanted = by_hand.labels(4);
        for (id, label) in items.iter().zip(wanted) {
            let label = label.map(|class| classes[class]);
            assert_eq!(item(server.at, id)["label"], json!(label), "{step}: {id}");
        }
    }
}

#[test]
fn a_class_that_is_in_use_stays_when_its_adding_is_taken_back_and_that_is_said() {
    let (_run, server) = served();
    let at = server.at;
    let has = |name: &str| {
        let all = get(at, "/classes").good();
        let all = all["classes"].as_array().unwrap().iter();
        all.filter(|class| class["name"] == name).count() == 1
    };
    post(at, "/classes", &json!({"add": "owl", "who": "ann"})).good();
    post(
        at,
        "/label",
        &json!({"id": "d13", "label": "owl", "who": "bob"}),
    )
    .good();
    let undo = |who: &str| post(at, "/undo", &json!({"who": who})).good();
    let undone = undo("ann");
    assert_eq!(
        (&undone["undone"], &undone["class_kept"]),
        (&json!(1), &json!("owl"))
    );
    assert!(has("owl") && item(at, "d13")["label"] == "owl");
    // It came by this label alone now, and goes with it.
    assert!(undo("bob")["class_kept"].is_null());
    assert!(!has("owl"));
    post(
        at,
        "/classes",
        &json!({"rename": {"from": "3", "to": "three"}, "who": "ann"}),
    )
    .good();
    post(
        at,
        "/label",
        &json!({"id": "d13", "label": "three", "who": "bob"}),
    )
    .good();
    // Half of the class would stay behind.
    let said = post(at, "/undo", &json!({"who": "ann"})).bad(400);
    assert!(said.contains("rename \"three\" to \"3\" instead"), "{said}");
    assert!(!has("3") && has("three"));
    undo("bob");
    undo("ann");
    assert!(has("3") && !has("three"));
}

#[test]
fn an_undo_that_is_refused_names_a_way_that_works() {
    let run = crate::scene::run();
    {
        // A file brought a class of the name that another one had, whose new name somebody else has used.
        let (mut journal, _) = Journal::open(run.path()).unwrap();
        let (from, to) = ("3".to_owned(), "three".to_owned());
        let ann = Some("ann".to_owned());
        journal
            .append(ann, What::RenameClass { from, to }, vec![])
            .unwrap();
        let change = |id: &str, new: &str| Change {
            id: id.into(),
            old: None,
            new: Some(new.into()),
            hidden: false,
        };
        let bob = Some("bob".to_owned());
        journal
            .append(bob, What::Label, vec![change("d13", "three")])
            .unwrap();
        let of_file = vec![change("d17", "3")];
        journal
            .append_file("new.csv", What::Label, of_file)
            .unwrap();
    }
    let server = Server::of(run.path());
    let at = server.at;
    let rename = |from: &str, to: &str| {
        let body = json!({"rename": {"from": from, "to": to}, "who": "eve"});
        post(at, "/classes", &body).good();
    };
    let said = post(at, "/undo", &json!({"who": "ann"})).bad(400);
    assert!(
        said.contains("rename \"3\", and then \"three\" to \"3\""),
        "{said}"
    );
    rename("3", "new three");
    rename("three", "3");
    assert_eq!(item(at, "d13")["label"], "3");
    assert_eq!(item(at, "d17")["label"], "new three");
}

#[test]
fn nothing_is_taken_back_that_would_make_two_classes_one() {
    let (_run, server) = served();
    let at = server.at;
    let state = || get(at, "/classes").good()["classes"].clone();
    let change = |body: Value| post(at, "/classes", &body).good();
    let undo = |who: &str| post(at, "/undo", &json!({ "who": who }));
    let before = state();
    // The name of a class that was merged away goes to another one.
    change(json!({"merge": {"from": "3", "into": "8"}, "who": "ann"}));
    change(json!({"rename": {"from": "5", "to": "3"}, "who": "bob"}));
    let merged = state();
    let said = undo("ann").bad(400);
    assert!(
        said.contains("\"3\" has been changed since (change 2 by bob)"),
        "{said}"
    );
    assert_eq!(state(), merged);
    undo("bob").good();
    undo("ann").good();
    let names = |classes: &Value| -> Vec<(Value, Value)> {
        let classes = classes.as_array().unwrap().iter();
        classes
            .map(|class| (class["name"].clone(), class["labeled"].clone()))
            .collect()
    };
    let sorted = |classes: &Value| {
        let mut all: Vec<String> = names(classes)
            .iter()
            .map(|one| format!("{one:?}"))
            .collect();
        all.sort();
        all
    };
    assert_eq!(sorted(&state()), sorted(&before));
    // The same for a class that was added under a name that another one had.
    change(json!({"rename": {"from": "3", "to": "three"}, "who": "ann"}));
    change(json!({"add": "3", "who": "bob"}));
    post(
        at,
        "/label",
        &json!({"id": "d13", "label": "3", "who": "bob"}),
    )
    .good();
    let said = undo("ann").bad(400);
    assert!(said.contains("by bob"), "{said}");
    assert_eq!(item(at, "d13")["label"], "3");
    undo("bob").good();
    // A class that goes on by a label alone is another one all the same.
    post(
        at,
        "/label",
        &json!({"id": "d17", "label": "3", "who": "cid"}),
    )
    .good();
    assert_eq!(undo("bob").good()["class_kept"], "3");
    let said = undo("ann").bad(400);
    assert!(said.contains("would be one class, \"3\""), "{said}");
    undo("cid").good();
    undo("ann").good();
    assert_eq!(sorted(&state()), sorted(&before));
    // What somebody did to a class later is not voided in silence.
    change(json!({"rename": {"from": "3", "to": "three"}, "who": "ann"}));
    change(json!({"merge": {"from": "three", "into": "8"}, "who": "bob"}));
    let said = undo("ann").bad(400);
    assert!(said.contains("by bob), on top of this"), "{said}");
    undo("bob").good();
    undo("ann").good();
    assert_eq!(sorted(&state()), sorted(&before));
    // Nor that another class was merged into it.
    change(json!({"rename": {"from": "3", "to": "three"}, "who": "ann"}));
    change(json!({"merge": {"from": "8", "into": "three"}, "who": "bob"}));
    let said = undo("ann").bad(400);
    assert!(said.contains("by bob), on top of this"), "{said}");
    undo("bob").good();
    undo("ann").good();
    assert_eq!(sorted(&state()), sorted(&before));
    // A class without an item that was merged is no reason to keep it.
    change(json!({"add": "x", "who": "ann"}));
    change(json!({"merge": {"from": "x", "into": "3"}, "who": "bob"}));
    undo("ann").good();
    assert_eq!(sorted(&state()), sorted(&before));
    // "outside" is no class.
    let merge = json!({"merge": {"from": "3", "into": "outside"}});
    let said = post(at, "/classes", &merge).bad(400);
    assert!(said.contains("\"outside\" is no class"), "{said}");
}

#[test]
fn a_label_that_would_stand_in_no_run_is_not_acknowledged() {
    let (run, server) = served();
    label(server.at, "d13", &json!("3"));
    let own = journal(run.path());
    let away = own.with_extension("away");
    std::fs::rename(&own, &away).unwrap();
    let said = post(server.at, "/label", &json!({"id": "d17", "label": "3"})).bad(500);
    assert!(said.contains("removed or replaced"), "{said}");
    assert_eq!(item(server.at, "d17")["label"], json!(null));
    let said = get(server.at, "/healthz").bad(503);
    assert!(said.contains("labels.jsonl: it was removed"), "{said}");
    std::fs::rename(&away, &own).unwrap();
    get(server.at, "/healthz").good();
    label(server.at, "d17", &json!("3"));
}

#[test]
fn what_a_label_moves_stays_on_the_scale_of_the_fit() {
    let (_run, server) = served();
    let before = shown(server.at);
    let sure = |items: &Value| -> Vec<f64> {
        let each = items.as_array().unwrap().iter();
        let open = each.filter(|item| item["label"].is_null());
        open.map(|item| item["confidence"].as_f64().unwrap())
            .collect()
    };
    let known = sure(&before);
    for i in [1, 13, 55, 121] {
        label(server.at, &format!("d{i}"), &json!(truth(i)));
    }
    let now = sure(&shown(server.at));
    assert_ne!(known, now);
    assert!(
        now.iter()
            .all(|own| known.iter().any(|other| own.to_bits() == other.to_bits())),
        "{now:?}"
    );
}

#[test]
fn a_restart_shows_what_was_shown() {
    let run = run();
    let server = Server::of(run.path());
    for i in [1, 13, 55, 121] {
        label(server.at, &format!("d{i}"), &json!(truth(i)));
    }
    post(
        server.at,
        "/classes",
        &json!({"rename": {"from": "3", "to": "three"}}),
    )
    .good();
    label(server.at, "d77", &json!("three"));
    post(server.at, "/classes", &json!({"add": "owl"})).good();
    post(
        server.at,
        "/classes",
        &json!({"merge": {"from": "8", "into": "owl"}}),
    )
    .good();
    post(server.at, "/undo", &json!({})).good();
    label(server.at, "d78", &json!("owl"));
    let (before, classes) = (shown(server.at), get(server.at, "/classes").good());
    server.stop().unwrap();
    let server = Server::of(run.path());
    assert_eq!(get(server.at, "/classes").good(), classes);
    let after = shown(server.at);
    for (a, b) in before
        .as_array()
        .unwrap()
        .iter()
        .zip(after.as_array().unwrap())
    {
        assert_eq!(
            (&a["id"], &a["label"], &a["pseudo_label"]),
            (&b["id"], &b["label"], &b["pseudo_label"])
        );
        let sure = |item: &Value| item["confidence"].as_f64().unwrap_or(0.0);
        assert!((sure(a) - sure(b)).abs() < 0.02, "{a} {b}");
    }
    assert_eq!(get(server.at, "/run").good()["sequence"], json!(10));
}

#[test]
fn classes_are_added_renamed_and_merged_and_all_of_it_is_taken_back() {
    let (_run, server) = served();
    let count = |name: &str| {
        let all = get(server.at, "/classes").good();
        let own = all["classes"]
            .as_array()
            .unwrap()
            .iter()
            .find(|c| c["name"] == name)
            .cloned();
        own.map(|class| class["labeled"].as_u64().unwrap())
    };
    let (threes, eights) = (count("3").unwrap(), count("8").unwrap());
    let change = |body: Value| post(server.at, "/classes", &body);
    assert!(change(json!({"add": "3"})).bad(400).contains("already"));
    change(json!({"add": "outside"})).bad(400);
    change(json!({"add": ""})).bad(400);
    change(json!({"rename": {"from": "owl", "to": "x"}})).bad(400);
    change(json!({"rename": {"from": "3", "to": "8"}})).bad(400);
    change(json!({"merge": {"from": "3", "into": "3"}})).bad(400);
    change(json!({"merge": {"from": "3", "into": "owl"}})).bad(400);
    change(json!({"add": "owl", "merge": {"from": "3", "into": "8"}})).bad(400);
    change(json!({})).bad(400);
    change(json!({"rename": {"from": "3", "to": "owl", "why": 1}})).bad(400);
    let added = change(json!({"add": "owl"})).good();
    assert_eq!(
        (
            &added["changed"],
            added["classes"].as_array().unwrap().len()
        ),
        (&json!(0), 11)
    );
    let renamed = change(json!({"rename": {"from": "3", "to": "three"}})).good();
    // A name is not a belief.
    assert_eq!(renamed["changed"], json!(0));
    assert_eq!((count("3"), count("three")), (None, Some(threes)));
    change(json!({"merge": {"from": "three", "into": "8"}})).good();
    assert_eq!((count("three"), count("8")), (None, Some(threes + eights)));
    for _ in 0..3 {
        post(server.at, "/undo", &json!({})).good();
    }
    assert_eq!(
        (count("3"), count("8"), count("owl")),
        (Some(threes), Some(eights), None)
    );
}

#[test]
fn two_at_once_are_both_journaled_and_the_last_one_counts() {
    let (run, server) = served();
    let mut events = [Events::listen(server.at), Events::listen(server.at)];
    let at = server.at;
    let work = |who: &'static str, class: &'static str| {
        std::thread::spawn(move || {
            let mut own = Vec::new();
            for i in 0..25 {
                let body = json!({"id": format!("d{}", 4 * i + 1), "label": class, "who": who});
                own.push(
                    post(at, "/label", &body).good()["sequence"]
                        .as_u64()
                        .unwrap(),
                );
            }
            own
        })
    };
    let (ann, bob) = (work("ann", "3"), work("bob", "8"));
    let (ann, bob) = (ann.join().unwrap(), bob.join().unwrap());
    let all: BTreeSet<u64> = ann.iter().chain(&bob).copied().collect();
    assert_eq!(all, (1..=50).collect());
    let entries = lines(run.path());
    for i in 0..25 {
        let id = format!("d{}", 4 * i + 1);
        let own = entries.iter().filter(|entry| entry["items"][0]["id"] == id);
        let own: Vec<&Value> = own.collect();
        assert_eq!(own.len(), 2);
        // The second one knew of the first.
        assert_eq!(own[1]["items"][0]["old"], own[0]["items"][0]["new"]);
        assert_eq!(item(at, &id)["label"], own[1]["items"][0]["new"]);
    }
    for events in &mut events {
        let seen: Vec<u64> = (0..50)
            .map(|_| events.next("label")["sequence"].as_u64().unwrap())
            .collect();
        assert_eq!(seen, (1..=50).collect::<Vec<_>>());
    }
    // Each takes back their own.
    let undone = post(at, "/undo", &json!({"who": "ann"})).good();
    assert_eq!(undone["undone"], json!(ann[24]));
    post(at, "/undo", &json!({"who": "carl"})).bad(409);
}

#[test]
fn a_torn_last_line_is_dropped_and_said() {
    let run = run();
    let server = Server::of(run.path());
    label(server.at, "d1", &json!("3"));
    label(server.at, "d2", &json!("8"));
    server.stop().unwrap();
    let whole = std::fs::read(journal(run.path())).unwrap();
    let first = whole.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    for cut in [
        first + 1,
        usize::midpoint(first, whole.len()),
        whole.len() - 2,
    ] {
        std::fs::write(journal(run.path()), &whole[..cut]).unwrap();
        let server = Server::of(run.path());
        let said = server.warned.try_recv().unwrap();
        assert!(said.contains("dropped"), "{said}");
        assert_eq!(item(server.at, "d1")["label"], "3");
        assert_eq!(item(server.at, "d2")["label"], json!(null));
        assert_eq!(label(server.at, "d3", &json!("3"))["sequence"], 2);
        server.stop().unwrap();
    }
    std::fs::write(journal(run.path()), &whole[1..]).unwrap();
    let refused = Server::begin(
        &likewise_serve::Options::new(run.path(), crate::scene::device()),
        None,
    );
    let said = refused.err().unwrap().to_string();
    assert!(said.contains("line 1 is damaged"), "{said}");
}

#[test]
fn two_servers_do_not_take_labels_for_one_run() {
    let (run, server) = served();
    let options = likewise_serve::Options::new(run.path(), crate::scene::device());
    let said = Server::begin(&options, None).err().unwrap().to_string();
    assert!(said.contains("another process takes labels"), "{said}");
    server.stop().unwrap();
    Server::begin(&options, None).unwrap().stop().unwrap();
}
