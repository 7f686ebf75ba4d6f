//! What is found among items: copies, and neighbours of what is asked.

use likewise::index::Kind;
use likewise_study::across::Way;
use likewise_study::search::{self, Asked};
use likewise_study::{duplicates, index};

use super::{Scene, first_line, of, refused};

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
            ..Way::default()
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
