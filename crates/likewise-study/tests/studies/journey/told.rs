//! What is told of embeddings, and given to others: evaluations and exports.

use likewise::distance::Metric;
use likewise::index::Kind;
use likewise_study::ErrorKind;
use likewise_study::evaluation::{self, Outcome};
use likewise_study::export::files::Table;
use likewise_study::export::{self, StoreKind, Target};

use super::{Scene, first_line, of, refused};

#[test]
fn an_evaluation_is_asked_for_its_gates_after_it() {
    let scene = Scene::new();
    let asked = |gate: &str| evaluation::Request {
        data: scene.data(),
        several_labels: None,
        gallery: None,
        metric: Metric::Cosine,
        ks: vec![1],
        nmi: false,
        losses: vec![],
        classes: Some(scene.path("classes.csv")),
        confusion: Some(scene.path("confusion.csv")),
        gates: vec![gate.parse().unwrap()],
        seed: 0,
    };
    let request = asked("recall@1=0.5");
    let outcome = of(|at| request.run(at)).unwrap();
    outcome.check(&request.gates).unwrap();
    let Outcome::Embeddings(measured) = &outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(measured.summary.n_queries, 61);
    let missed = outcome.check(&["map=1.0".parse().unwrap()]).err();
    let reached = measured.summary.map.is_some_and(|map| map >= 1.0);
    assert_eq!(
        missed.map(|e| e.kind()),
        (!reached).then_some(ErrorKind::Quality)
    );
    assert!(first_line(&scene.path("classes.csv")).starts_with("class,queries,recall@1"));
    assert_eq!(
        first_line(&scene.path("confusion.csv")),
        "class,nearest,queries"
    );
    refused(of(|at| asked("nmi=0.1").estimate(at)), "gate nmi");
    let one = evaluation::Request {
        confusion: Some(scene.path("classes.csv")),
        ..asked("recall@1=0.5")
    };
    refused(of(|at| one.run(at)), "name one file");
}

#[test]
fn an_export_refuses_what_its_target_knows_nothing_of() {
    let scene = Scene::new();
    let table = export::Request {
        run: scene.path("run"),
        view: None,
        to: Target::Table(Table::Parquet),
        out: Some(scene.path("items.parquet")),
        url: None,
        table: None,
        secret: None,
        index: None,
        overwrite: false,
        seed: 0,
    };
    let with = |change: fn(&mut export::Request), words: &str| {
        let mut request = table.clone();
        change(&mut request);
        refused(request.estimate(), words);
    };
    with(|asked| asked.url = Some(String::new()), "`url` goes with");
    with(|asked| asked.index = Some(Kind::Flat), "`index` goes with");
    with(|asked| asked.overwrite = true, "`overwrite` goes with");
    with(|asked| asked.out = None, "`out`");
    with(|asked| asked.out = Some("items.csv".into()), ".parquet");
    with(|asked| asked.out = Some("items".into()), "name the file so");
    with(
        |asked| asked.to = Target::Store(StoreKind::Qdrant),
        "`out` goes with files",
    );
}
