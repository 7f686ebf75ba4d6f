//! What is made of data before anything is learned: features, graphs, pairs and triplets.

use likewise::Monitor;
use likewise::graph::KnnGraph;
use likewise::neighbor::Precision;
use likewise_study::graph::{self, Settings};
use likewise_study::study::TupleKind;
use likewise_study::{describe, doctor, features, mine};

use super::{Scene, of, refused};

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
            fuse: None,
            center: false,
            standardize: None,
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
