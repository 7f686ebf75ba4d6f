//! Studies across views: items that lack a view, and what nothing can be learned from.

use likewise::cross::{Embedding, Learner};
use likewise::{Collection, Labels, Monitor, Part, View};
use likewise_study::Recipe;
use likewise_study::study::{CrossPlan, CrossRow, CrossStudy, Protocol, SplitKind};
use ndarray::Array2;

use crate::device;

const N: usize = 90;

/// Three classes, item by item; a column of each view for each class, and a fixed noise.
fn view(name: &str, seed: usize) -> View {
    let noise = |i: usize, j: usize| (((i * 31 + j * 17 + seed * 7) * 29) % 23) as f32 / 23.0;
    View {
        name: name.into(),
        matrix: Array2::from_shape_fn((N, 4), |(i, j)| {
            noise(i, j) + if j == i % 3 { 1.5 } else { 0.0 }
        }),
        present: None,
    }
}

fn items(lacks: [&dyn Fn(usize) -> bool; 2]) -> Collection {
    let mut views = vec![view("image", 1), view("text", 2)];
    for (view, lacks) in views.iter_mut().zip(lacks) {
        let present: Vec<bool> = (0..N).map(|i| !lacks(i)).collect();
        for (mut row, present) in view.matrix.rows_mut().into_iter().zip(&present) {
            if !present {
                row.fill(0.0);
            }
        }
        view.present = present.contains(&false).then_some(present);
    }
    let ids = (0..N).map(|i| i.to_string()).collect();
    let mut items = Collection::new(ids, views).unwrap();
    items.labels = Some(Labels::from_integers((0..N).map(|i| (i % 3) as i64)));
    items
}

fn study(items: &Collection, recipe: &str, protocol: &Protocol) -> likewise::Result<CrossStudy> {
    let plan = CrossPlan {
        collection: items,
        views: &["image".to_owned(), "text".to_owned()],
        texts: &[],
        recipe: &Recipe::named(recipe)?,
        protocol,
        device: device::chosen(),
    };
    plan.run(&Monitor::silent())
}

#[test]
fn items_that_lack_a_view_are_fitted_and_searched_in_the_other() {
    let items = items([&|i| i % 7 == 0, &|i| i % 5 == 1]);
    for recipe in [
        "cca",
        "cluster-cca",
        "gssl",
        "lcmf",
        "mixed+gsph",
        "smfh",
        "lgc+seph",
    ] {
        let protocol = Protocol {
            label_fraction: (recipe != "cca").then_some(0.2),
            draws: 2,
            ..Protocol::default()
        };
        let study = study(&items, recipe, &protocol).unwrap();
        let results = &study.results;
        assert!(results.summary.map50["mean"] > 0.4, "{recipe}: {results:?}");
        let [images, texts] = &study.kept.embedded.items[..] else {
            panic!("two views")
        };
        assert_eq!((images.len(), texts.len()), (77, 72), "{recipe}");
        // Those that have the view ask and are searched, each by itself.
        let tested = |items: &[usize]| {
            let tested = items.iter().filter(|&&i| study.parts[i] == Part::Test);
            tested.count()
        };
        assert_eq!(
            results.n_queries["image_to_text"],
            tested(images),
            "{recipe}"
        );
        assert_eq!(
            results.n_queries["text_to_image"],
            tested(texts),
            "{recipe}"
        );
        // The rows in the folder are those of the model.
        let x = items.view(Some("text")).unwrap().matrix.view();
        let rows = likewise::matrix::select_rows(x, texts);
        assert_eq!(
            study.kept.model.encode(1, rows.view()).unwrap(),
            study.kept.embedded.rows[1]
        );
        let bits = matches!(study.kept.embedded.rows[0], Embedding::Bits(_));
        let learner = recipe.rsplit('+').next().and_then(Learner::named).unwrap();
        assert_eq!(bits, learner.gives_bits(), "{recipe}");
    }
}

#[test]
fn labels_are_hidden_and_only_measured() {
    let items = items([&|_| false, &|_| false]);
    let protocol = Protocol {
        labels_per_class: Some(2),
        draws: 3,
        ..Protocol::default()
    };
    let before = study(&items, "mixed+gsph", &protocol).unwrap();
    assert_eq!(before.results.per_draw.len(), 3);
    for (item, draws) in before.drawn.iter().enumerate() {
        assert!(draws.is_empty() || before.parts[item] == Part::Train);
    }
    let shown: usize = before.drawn.iter().map(Vec::len).sum();
    assert_eq!(shown, 3 * 2 * 3);
    // The model of the first draw is that of data in which the hidden labels are not known at all.
    let mut masked = items.clone();
    let labels = items.labels.as_ref().unwrap();
    let seen = |i: usize| before.parts[i] == Part::Test || before.drawn[i].contains(&0);
    masked.labels = Some(labels.masked(seen));
    masked.split = Some(before.parts.clone());
    let given = Protocol {
        split: SplitKind::Given,
        labels_per_class: None,
        ..protocol
    };
    let alone = study(&masked, "mixed+gsph", &given).unwrap();
    assert_eq!(alone.kept.model, before.kept.model);
    assert_eq!(alone.results.per_draw.len(), 1);
}

#[test]
fn all_labels_are_learned_once_all_is_measured() {
    let items = items([&|_| false, &|_| false]);
    let measured = study(&items, "mixed+gsph", &Protocol::default()).unwrap();
    let protocol = Protocol {
        refit: true,
        ..Protocol::default()
    };
    let again = study(&items, "mixed+gsph", &protocol).unwrap();
    assert_eq!(again.results.summary, measured.results.summary);
    assert_eq!(again.measured, Some(measured.kept.embedded));
    assert_ne!(again.kept.model, measured.kept.model);
    let last = again.results.verdict.last().unwrap();
    assert!(last.contains("learned from the tested items"), "{last}");
    let tested = again.parts.iter().zip(&again.kept.believed);
    let mut tested = tested.filter(|(part, _)| **part == Part::Test);
    assert!(tested.all(|(_, believed)| believed.as_ref().is_some_and(|(_, weight)| *weight > 0.9)));
}

#[test]
fn labels_too_few_for_a_test_are_all_learned_and_nothing_is_measured() {
    let mut few = items([&|_| false, &|_| false]);
    let labels = few.labels.as_ref().unwrap().masked(|i| i < 6);
    few.labels = Some(labels);
    let protocol = Protocol {
        refit: true,
        ..Protocol::default()
    };
    let found = study(&few, "mixed+gsph", &protocol).unwrap();
    let said = &found.results.verdict[0];
    assert!(
        said.starts_with("Not measured: none of the 3 classes"),
        "{said}"
    );
    assert!(found.parts.iter().all(|part| *part == Part::Train));
    assert!(found.results.summary.map50.is_empty() && found.measured.is_none());
    assert_eq!(found.results.per_draw[0].labeled, 6);
    // Who asked for a test is told that there is none.
    let asked = study(&few, "mixed+gsph", &Protocol::default()).unwrap_err();
    assert!(
        asked.to_string().contains("no item of a known class"),
        "{asked}"
    );
}

#[test]
fn the_row_without_labels_takes_its_directions_without_the_test_part() {
    let items = items([&|_| false, &|_| false]);
    let directions = |study: &CrossStudy| study.results.baselines[&CrossRow::Start].directions;
    let first = study(&items, "mean-cca", &Protocol::default()).unwrap();
    let chosen = directions(&first).unwrap();
    assert!((2..=4).contains(&chosen), "{chosen}");
    // Neither rows nor labels of the test part say anything.
    let given = Protocol {
        split: SplitKind::Given,
        ..Protocol::default()
    };
    let is_tested = |i: usize| first.parts[i] == Part::Test;
    let class = |i: usize| {
        let own = if is_tested(i) { N - i } else { i };
        (own % 3) as i64
    };
    let mut views = items.views().to_vec();
    for i in (0..N).filter(|&i| is_tested(i)) {
        let mut row = views[0].matrix.row_mut(i);
        let turned: Vec<f32> = row.iter().rev().copied().collect();
        row.iter_mut().zip(turned).for_each(|(to, from)| *to = from);
    }
    let mut other = Collection::new(items.ids().to_vec(), views).unwrap();
    other.labels = Some(Labels::from_integers((0..N).map(class)));
    other.split = Some(first.parts.clone());
    let other = study(&other, "mean-cca", &given).unwrap();
    assert_eq!(directions(&other), Some(chosen));
    assert_ne!(
        other.results.baselines[&CrossRow::Start].map50,
        first.results.baselines[&CrossRow::Start].map50
    );
}

#[test]
fn the_same_seed_gives_the_same_study_on_any_number_of_threads() {
    let items = items([&|i| i % 7 == 0, &|_| false]);
    let protocol = Protocol {
        label_fraction: Some(0.2),
        draws: 2,
        ..Protocol::default()
    };
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let study = pool
            .unwrap()
            .install(|| study(&items, "mixed+gsph", &protocol));
        study.unwrap()
    };
    let (one, three) = (on(1), on(3));
    assert_eq!(one.results, three.results);
    assert_eq!(one.kept.model, three.kept.model);
}

#[test]
fn what_nothing_can_be_learned_from_is_said() {
    let said = |items: &Collection, recipe: &str| {
        let failed = study(items, recipe, &Protocol::default()).unwrap_err();
        failed.to_string()
    };
    let class = items([&|i| i % 3 == 2, &|_| false]);
    let lacks = said(&class, "gsph");
    assert!(
        lacks.contains("view image: no labeled item of class 2"),
        "{lacks}"
    );
    let none = said(&items([&|_| true, &|_| false]), "gsph");
    assert!(none.contains("view image: no item"), "{none}");
    // Canonical correlations need no labels of a class, but pairs.
    let apart = items([&|i| i % 2 == 0, &|i| i % 2 == 1]);
    let pairs = said(&apart, "cca");
    assert!(pairs.contains("two objects seen in both"), "{pairs}");
    assert!(study(&apart, "gsph", &Protocol::default()).is_ok());
    let hidden = Protocol {
        label_fraction: Some(0.2),
        ..Protocol::default()
    };
    let hidden = study(&apart, "cca", &hidden).unwrap_err().to_string();
    assert!(hidden.contains("looks at no label"), "{hidden}");
    let zero_shot = Protocol {
        split: SplitKind::ZeroShot,
        ..Protocol::default()
    };
    let split = study(&apart, "gsph", &zero_shot).unwrap_err().to_string();
    assert!(split.contains("within each class"), "{split}");
    assert!(said(&apart, "mixed-lp").contains("within one view"));
}
