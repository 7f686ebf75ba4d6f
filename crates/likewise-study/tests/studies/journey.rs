//! What is done with data and embeddings, as a program asks for it: from files to files, no command line anywhere.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use likewise::Monitor;
use likewise::distance::Metric;
use likewise::graph::KnnGraph;
use likewise::index::Kind;
use likewise::neighbor::Precision;
use likewise_study::across::Way;
use likewise_study::data::Data;
use likewise_study::evaluation::{self, Outcome};
use likewise_study::export::files::Table;
use likewise_study::export::{self, StoreKind, Target};
use likewise_study::graph::{self, Settings};
use likewise_study::search::{self, Asked};
use likewise_study::source::ReadAs;
use likewise_study::stages::Stages;
use likewise_study::study::TupleKind;
use likewise_study::{
    Environment, ErrorKind, Result, describe, doctor, duplicates, features, index, mine,
};

/// Three groups of twenty labeled items in four columns, and the first item once more.
struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut text = "id,label,a,b,c,d\n".to_owned();
        for (line, i) in (0..60).chain([0]).enumerate() {
            let wave = |k: usize| 0.3 * ((i * (k + 3)) as f64).sin();
            let at = |k: usize| wave(k) + if k == i % 3 { 3.0 } else { 0.0 };
            let (a, b, c, d) = (at(0), at(1), at(2), wave(3));
            let _ = writeln!(text, "i{line},c{},{a},{b},{c},{d}", i % 3);
        }
        std::fs::write(folder.path().join("items.csv"), text).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn data(&self) -> Data {
        Data {
            path: self.path("items.csv"),
            read: ReadAs::default(),
        }
    }
}

/// What a work gives without anybody who listens.
fn of<T>(work: impl FnOnce(&Environment) -> Result<T>) -> Result<T> {
    let (monitor, stages) = (Monitor::silent(), Stages::default());
    let device = likewise_nn::device("cpu").unwrap();
    work(&Environment {
        monitor: &monitor,
        stages: &stages,
        device: &device,
        max_memory: None,
    })
}

#[track_caller]
fn refused<T>(result: Result<T>, words: &str) {
    let e = result.err().expect("it must be refused");
    assert_eq!(e.kind(), ErrorKind::Parameter, "{e}");
    assert!(e.to_string().contains(words), "{e}");
}

fn first_line(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn features_are_written_in_both_forms_and_never_over_the_data() {
    let scene = Scene::new();
    let asked = |out: &str| features::Request {
        data: scene.data(),
        out: Some(scene.path(out)),
    };
    for out in ["f.npy", "f.parquet"] {
        let written = of(|at| asked(out).run(at)).unwrap();
        assert_eq!((written.items, written.columns), (61, 4), "{out}");
    }
    let rows = likewise_io::read_matrix(scene.path("f.npy"), None).unwrap();
    assert_eq!(rows.dim(), (61, 4));
    let ids = likewise_io::read(
        scene.path("f.parquet"),
        &likewise_io::ReadOptions::default(),
        &Monitor::silent(),
    );
    assert_eq!(ids.unwrap().ids()[60], "i60");
    refused(of(|at| asked("items.csv").run(at)), "this is read");
    refused(of(|at| asked("f.npz").estimate(at)), ".npy or .parquet");
    let descriptors = describe::Request {
        data: scene.data(),
        with: "gist".into(),
        out: Some(scene.path("d.npz")),
    };
    refused(of(|at| descriptors.estimate(at)), "images");
}

#[test]
fn a_graph_has_the_neighbors_that_were_asked_for() {
    let scene = Scene::new();
    let asked = |k| graph::Request {
        data: scene.data(),
        k: Some(k),
        settings: Settings {
            graph: KnnGraph::new(),
            center: false,
            approximate: None,
            precision: Precision::Auto,
            seed: 0,
        },
        out: Some(scene.path("g.npz")),
    };
    let built = of(|at| asked(5).run(at)).unwrap();
    assert_eq!(
        (built.items, built.k, built.entries),
        (61, 5, 2 * built.edges)
    );
    assert_eq!(
        likewise_io::graph::read(scene.path("g.npz")).unwrap().n(),
        61
    );
    refused(of(|at| asked(61).estimate(at)), "at most 60 neighbours");
    let look = |k| doctor::Request {
        data: scene.data(),
        k,
    };
    let seen = of(|at| look(None).run(at)).unwrap();
    assert_eq!((seen.items, seen.views[0].duplicates), (61, 1));
    refused(of(|at| look(Some(61)).run(at)), "at most 60 neighbours");
}

#[test]
fn tuples_are_made_of_what_is_named_and_of_nothing_else() {
    let scene = Scene::new();
    let asked = mine::Request {
        data: scene.data(),
        from: "labels".into(),
        kind: TupleKind::Pairs,
        per_item: Some(2),
        labels_per_class: None,
        k: None,
        out: Some(scene.path("pairs.csv")),
        seed: 0,
    };
    let mined = of(|at| asked.run(at)).unwrap();
    assert_eq!(mined.kind, "pairs");
    assert_eq!(
        mined.alike.unwrap() + mined.unlike.unwrap(),
        mined.tuples,
        "{mined:?}"
    );
    let written = std::fs::read_to_string(scene.path("pairs.csv")).unwrap();
    assert_eq!(written.lines().count(), mined.tuples + 1);
    let neighbors = mine::Request {
        k: Some(5),
        per_item: None,
        ..asked.clone()
    };
    refused(
        of(|at| neighbors.estimate(at)),
        "`k` goes with `from affinity`, not with labels",
    );
    let votes = mine::Request {
        from: "votes".into(),
        ..asked.clone()
    };
    refused(of(|at| votes.estimate(at)), "`per_item` goes with");
    let unknown = mine::Request {
        from: "label".into(),
        ..asked
    };
    refused(of(|at| unknown.estimate(at)), "`from label`");
}

#[test]
fn a_copy_is_found_and_written() {
    let scene = Scene::new();
    let asked = |out: &str, threshold| duplicates::Request {
        data: scene.data(),
        threshold,
        out: Some(scene.path(out)),
        seed: 0,
    };
    let found = of(|at| asked("d.csv", 1.0).run(at)).unwrap();
    assert_eq!(found.identical, 1);
    assert_eq!(
        first_line(&scene.path("d.csv")),
        "id,group,similarity,label"
    );
    of(|at| asked("d.html", 1.0).run(at)).unwrap();
    let page = std::fs::read_to_string(scene.path("d.html")).unwrap();
    assert!(page.contains("i60"), "{page}");
    refused(of(|at| asked("d.csv", 1.5).estimate(at)), "threshold = 1.5");
    refused(of(|at| asked("d.txt", 1.0).estimate(at)), ".csv or .html");
}

#[test]
fn an_index_of_embeddings_is_searched_by_itself() {
    let scene = Scene::new();
    let build = |out, k| index::Request {
        source: scene.path("items.csv"),
        kind: Kind::Flat,
        k,
        out,
        seed: 0,
    };
    refused(of(|at| build(None, None).run(at)), "`out`");
    refused(of(|at| build(None, Some(62)).estimate(at)), "at most 61");
    let card = of(|at| build(Some(scene.path("index")), None).run(at)).unwrap();
    assert_eq!((card.items, card.dimensions, card.k), (61, 4, 10));
    let ask = |asked, from: Option<&str>| search::Request {
        run: scene.path("index"),
        asked,
        way: Way {
            from: from.map(str::to_owned),
            to: None,
        },
        k: 3,
        exact: false,
    };
    let id = || Asked::Id("i0".into());
    let answers = of(|at| ask(id(), None).run(at)).unwrap();
    assert_eq!(answers[0].hits.len(), 3);
    assert_eq!(answers[0].hits[0].id, "i60");
    let all = ask(Asked::Data(Box::new(scene.data())), None);
    assert_eq!(of(|at| all.run(at)).unwrap().len(), 61);
    assert!(
        of(|at| all.estimate(at))
            .unwrap()
            .on_this_machine()
            .memory_bytes
            > 0
    );
    let text = ask(Asked::Text("a hose".into()), None);
    refused(of(|at| text.estimate(at)), "`query_text` goes with");
    let way = ask(id(), Some("image"));
    refused(of(|at| way.run(at)), "`from` goes with a run across views");
}

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
