//! What must hold for every strategy.

use ndarray::{Array2, ArrayView2};
use proptest::prelude::*;

use super::{Ask, Pool, Strategy, Suggestion};
use crate::advise::shares::shares;
use crate::graph::KnnGraph;
use crate::reference::{in_one_and_two_threads, random_graph, random_labels};
use crate::{Graph, Labels, Monitor};

fn ask(
    (graph, labels): (&Graph, &Labels),
    rows: Option<ArrayView2<f32>>,
    (strategy, budget): (Strategy, usize),
) -> Vec<Suggestion> {
    let silent = Monitor::silent();
    let shares = shares(graph, labels, &silent).unwrap();
    let pool = Pool {
        graph,
        labels,
        shares: shares.view(),
        askable: &vec![true; graph.n()],
        rows,
    };
    Ask::new(budget)
        .strategy(strategy)
        .next(&pool, &silent)
        .unwrap()
}

fn items(batch: &[Suggestion]) -> Vec<usize> {
    batch.iter().map(|s| s.item).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn each_open_item_is_asked_for_once_and_no_other(
        n in 1_usize..40, budget in 1_usize..60, seed in 0_u64..1000,
    ) {
        let graph = random_graph(n, 2 * n, seed);
        let labels = random_labels(n, 3, seed);
        let open = n - labels.n_known();
        for strategy in Strategy::ALL {
            let mut asked = items(&ask((&graph, &labels), None, (strategy, budget)));
            prop_assert_eq!(asked.len(), budget.min(open), "{:?}", strategy);
            prop_assert!(asked.iter().all(|&i| labels[i].class().is_none()));
            asked.sort_unstable();
            asked.dedup();
            prop_assert_eq!(asked.len(), budget.min(open));
        }
    }
}

/// Three bundles of directions, `copies` equal rows at the head of each. Others of a bundle are just too far
/// from each other to be copies, and nearer to each other than to the next bundle.
fn bundles(copies: usize) -> Array2<f32> {
    Array2::from_shape_fn((30, 3), |(i, j)| {
        let angle = (i % 10).saturating_sub(copies) as f32 * 0.102;
        if i / 10 == j {
            angle.cos()
        } else if (i / 10 + 1) % 3 == j {
            angle.sin()
        } else {
            0.0
        }
    })
}

#[test]
fn without_labels_each_bundle_is_asked_for_before_any_twice() {
    let x = bundles(0);
    let graph = KnnGraph::new()
        .k(6)
        .build(x.view(), &Monitor::silent())
        .unwrap();
    for strategy in [
        Strategy::Auto,
        Strategy::Vopt,
        Strategy::Density,
        Strategy::Coverage,
    ] {
        let labels = Labels::unknown(30);
        let batch = ask((&graph, &labels), Some(x.view()), (strategy, 3));
        let mut of: Vec<usize> = batch.iter().map(|s| s.item / 10).collect();
        of.sort_unstable();
        assert_eq!(of, [0, 1, 2], "{strategy:?}");
        assert!(
            batch
                .iter()
                .all(|s| s.believed.is_none() && s.stands_for > 0)
        );
    }
}

#[test]
fn copies_come_only_once_nothing_else_is_left() {
    let x = bundles(6);
    let graph = KnnGraph::new()
        .k(4)
        .build(x.view(), &Monitor::silent())
        .unwrap();
    let labels = Labels::unknown(30);
    // Seven rows of each bundle are equal: with the three others 12 different ones.
    for strategy in Strategy::ALL {
        let batch = items(&ask((&graph, &labels), Some(x.view()), (strategy, 30)));
        let copy = |i: &usize| i % 10 <= 6;
        let first: Vec<usize> = batch.iter().copied().take(12).collect();
        for bundle in 0..3 {
            let own = first
                .iter()
                .filter(|&&i| i / 10 == bundle && copy(&i))
                .count();
            assert!(own <= 1, "{strategy:?}: {first:?}");
        }
        assert_eq!(batch.len(), 30);
    }
}

#[test]
fn the_item_between_two_classes_is_the_uncertain_one() {
    // A path 0-1-2-3-4 labeled at its ends.
    let graph = Graph::new(
        vec![0, 1, 3, 5, 7, 8],
        vec![1, 0, 2, 1, 3, 2, 4, 3],
        vec![1.0; 8],
    )
    .unwrap();
    let labels = Labels::parse(["a", "", "", "", "b"]);
    let batch = ask((&graph, &labels), None, (Strategy::Uncertain, 3));
    assert_eq!(items(&batch), [2, 1, 3]);
    let [Some((_, first)), Some((_, second))] = [batch[0].believed, batch[0].runner_up] else {
        unreachable!("both ends reach the middle");
    };
    assert!((first - 0.5).abs() < 1e-6 && (second - 0.5).abs() < 1e-6);
    assert_eq!(batch[0].stands_for, 2);
}

#[test]
fn what_stands_for_many_comes_first_where_nothing_is_unsure() {
    // A star 3, 4, 5 around 2 and a pair 0-1, both hanging on 6.
    let graph = Graph::new(
        vec![0, 1, 3, 6, 7, 8, 10, 12],
        vec![1, 0, 6, 3, 4, 5, 2, 2, 2, 6, 1, 5],
        vec![1.0; 12],
    )
    .unwrap();
    let unsure = |labels: &Labels| {
        let shares = shares(&graph, labels, &Monitor::silent()).unwrap();
        let pool = Pool {
            graph: &graph,
            labels,
            shares: shares.view(),
            askable: &[true; 7],
            rows: None,
        };
        pool.is_unsure()
    };
    let one = Labels::parse(["", "", "", "", "", "", "a"]);
    assert!(!unsure(&one));
    assert!(unsure(&Labels::parse(["", "", "", "b", "", "", "a"])));
    assert!(unsure(&Labels::unknown(7)));
    // The middle of the star stands for itself, 3 and 4; of the rest 0 and 1 stand for 0.
    for strategy in [Strategy::Auto, Strategy::Coverage, Strategy::Uncertain] {
        let batch = items(&ask((&graph, &one), None, (strategy, 2)));
        assert_eq!(batch, [2, 0], "{strategy:?}");
    }
}

#[test]
fn one_class_and_all_labeled_are_no_failures() {
    let graph = random_graph(12, 30, 1);
    let one = Labels::parse(["a", "a", "a", "", "", "", "", "", "", "", "", ""]);
    let all = Labels::parse(["a"; 12]);
    for strategy in Strategy::ALL {
        assert_eq!(ask((&graph, &one), None, (strategy, 4)).len(), 4);
        assert!(ask((&graph, &all), None, (strategy, 4)).is_empty());
    }
}

#[test]
fn copies_come_by_their_worth_and_equal_ones_in_their_order() {
    // Two bundles of equal rows, the second one larger; nothing but copies once each was asked for.
    let x = Array2::from_shape_fn((50, 2), |(i, j)| f32::from((i >= 20) == (j == 1)));
    let graph = Graph::new(
        (0..=50).map(|i| i * 2).collect(),
        (0..50_u32)
            .flat_map(|i| {
                let (from, size) = if i < 20 { (0, 20) } else { (20, 30) };
                let mut two = [
                    from + (i - from + 1) % size,
                    from + (i - from + size - 1) % size,
                ];
                two.sort_unstable();
                two
            })
            .collect(),
        vec![1.0; 100],
    )
    .unwrap();
    let labels = Labels::unknown(50);
    let apart = items(&ask(
        (&graph, &labels),
        Some(x.view()),
        (Strategy::Coverage, 10),
    ));
    let first = items(&ask((&graph, &labels), None, (Strategy::Coverage, 10)));
    assert_eq!(apart[0], first[0]);
    // Without a look at copies the best ones follow each other; with it one of the other bundle comes second,
    // then the best ones again.
    assert!(apart[1] >= 20, "{apart:?}");
    let rest: Vec<usize> = first
        .iter()
        .copied()
        .filter(|item| !apart[..2].contains(item))
        .collect();
    assert_eq!(apart[2..], rest[..8], "{apart:?} {first:?}");
}

#[test]
fn auto_is_density() {
    assert_eq!(Strategy::Auto.resolved(), Strategy::Density);
    assert_eq!(Strategy::Coverage.resolved(), Strategy::Coverage);
}

#[test]
fn any_number_of_threads_asks_for_the_same() {
    let graph = random_graph(2000, 9000, 3);
    let labels = random_labels(2000, 4, 3);
    for strategy in Strategy::ALL {
        let batch = || ask((&graph, &labels), None, (strategy, 5));
        let (one, two) = in_one_and_two_threads(batch);
        assert_eq!(one, two, "{strategy:?}");
    }
}

#[test]
fn bad_input_is_refused() {
    let graph = random_graph(4, 6, 1);
    let labels = Labels::parse(["a", "", "b", ""]);
    let silent = Monitor::silent();
    let shares = shares(&graph, &labels, &silent).unwrap();
    let pool = Pool {
        graph: &graph,
        labels: &labels,
        shares: shares.view(),
        askable: &[true; 4],
        rows: None,
    };
    let refused = |budget, pool: &Pool| {
        let found = Ask::new(budget).next(pool, &silent);
        found.unwrap_err().to_string()
    };
    assert!(refused(0, &pool).contains("budget = 0"));
    let few = Pool {
        askable: &[true; 3],
        ..pool
    };
    assert!(refused(1, &few).contains("3 marks"));
    let unknown = Labels::unknown(4);
    let other = Pool {
        labels: &unknown,
        ..pool
    };
    assert!(refused(1, &other).contains("2 classes"));
    let nan = Array2::from_elem((4, 2), f64::NAN);
    let nan = Pool {
        shares: nan.view(),
        ..pool
    };
    assert!(refused(1, &nan).contains("finite"));
    silent.cancel();
    assert!(Ask::new(1).next(&pool, &silent).is_err());
    assert!(
        Strategy::named("best")
            .unwrap_err()
            .to_string()
            .contains("vopt")
    );
    assert_eq!(Strategy::named("density").unwrap(), Strategy::Density);
}
