//! What holds for every method of propagation: the rules in the documentation of
//! [`propagate`](likewise::propagate), asked of all methods of the list.

use likewise::graph::KnnGraph;
use likewise::neighbor::Neighbors;
use likewise::propagate::{Ability, Given, Method, NegativeEdges, Propagate, Spread};
use likewise::{Beliefs, ErrorKind, Graph, Label, Labels, Monitor, Result, seed};
use ndarray::Array2;
use rand::RngExt;

/// The methods of this build.
fn methods() -> Vec<Method> {
    let built = |name: &&&str| **name != "goldberg" || cfg!(feature = "exact");
    let named = |name: &&str| Method::named(name).unwrap();
    let mut all: Vec<Method> = Method::NAMES.iter().filter(built).map(named).collect();
    assert!(all.len() >= 11);
    all.push(Method::default());
    all
}

/// Groups of items without an edge between them, and their lists of neighbours. Within a group
/// an item is near those of its own side, and some of the others.
struct Scene {
    neighbors: Neighbors,
    graph: Graph,
    labels: Labels,
}

impl Scene {
    /// The group and the side of each item.
    fn new(items: &[(usize, usize)], k: usize, seed: u64, labels: Labels) -> Self {
        let n = items.len();
        let mut rng = seed::stream(seed, "test neighbours");
        let mut near = Array2::<f32>::zeros((n, n));
        for i in 0..n {
            for j in 0..i {
                let ((group, side), (other, beside)) = (items[i], items[j]);
                let value = 0.3 + 0.7 * rng.random::<f32>();
                let strange = rng.random::<f32>() > 0.15;
                let value = match (group == other, side == beside) {
                    (false, _) => 0.0,
                    (true, false) if strange => 0.01,
                    (true, _) => value,
                };
                near[[i, j]] = value;
                near[[j, i]] = value;
            }
        }
        let mut indices = Array2::zeros((n, k));
        let mut similarities = Array2::zeros((n, k));
        for i in 0..n {
            let mut others: Vec<usize> = (0..n).filter(|&j| j != i).collect();
            others.sort_by(|&a, &b| near[[i, b]].total_cmp(&near[[i, a]]).then(a.cmp(&b)));
            for (place, j) in others.into_iter().take(k).enumerate() {
                indices[[i, place]] = j as u32;
                similarities[[i, place]] = near[[i, j]];
            }
        }
        let neighbors = Neighbors {
            k,
            indices,
            similarities,
        };
        // A similarity of 0 is no edge, so the groups stay apart.
        let graph = KnnGraph::printed().from_neighbors(&neighbors).unwrap();
        Self {
            neighbors,
            graph,
            labels,
        }
    }

    /// Items 0-9 and 10-19 are the two sides of one part, which has labels of both classes;
    /// 20-25 a part with labels of one class only, 26-29 a part without labels; 30 and 31 are
    /// alone. No item has the class "never".
    fn parts() -> Self {
        let mut items = Vec::new();
        items.extend((0..20).map(|i| (0, i / 10)));
        items.extend((20..26).map(|_| (1, 0)));
        items.extend((26..30).map(|_| (2, 0)));
        items.extend([(3, 0), (4, 0)]);
        let classes = ["one", "never", "two"].map(String::from).to_vec();
        let label = |i: usize| match i {
            0 | 3 | 14 | 31 => Label::Known(0),
            7 | 12 | 19 | 20 => Label::Known(2),
            5 => Label::Outside,
            _ => Label::Unknown,
        };
        let labels = Labels::new(classes, (0..32).map(label).collect()).unwrap();
        let scene = Self::new(&items, 12, 1, labels);
        assert_eq!(scene.graph.isolated(), [30, 31]);
        assert_eq!(scene.graph.n_components(), 5);
        scene
    }

    /// Two sides of `n` items in all, three labels on each.
    fn sides(n: usize) -> Self {
        let items: Vec<(usize, usize)> = (0..n).map(|i| (0, i % 2)).collect();
        let label = |i: usize| if i < 6 { (i % 2) as i64 } else { -1 };
        Self::new(&items, 10, 2, Labels::from_integers((0..n).map(label)))
    }

    /// As the method wants it.
    fn given(&self) -> Given<'_> {
        Given::new(&self.graph, &self.labels).neighbors(&self.neighbors)
    }
}

fn spread(method: &Method, given: &Given) -> Spread {
    (method.spread(given, &Monitor::silent())).unwrap_or_else(|e| panic!("{}: {e}", method.name()))
}

fn dense(method: &Method) -> Option<usize> {
    method.abilities().iter().find_map(|ability| match ability {
        Ability::Dense { most_nodes } => Some(*most_nodes),
        _ => None,
    })
}

/// Scores, pseudo-labels and confidences of all parts, of each method.
fn for_every_method(check: impl Fn(&str, &Scene, &Beliefs)) {
    let scene = Scene::parts();
    for method in methods() {
        let beliefs = spread(&method, &scene.given()).beliefs;
        assert_eq!(beliefs.scores.dim(), (32, 3), "{}", method.name());
        assert!(
            beliefs.scores.iter().all(|s| s.is_finite()),
            "{}",
            method.name()
        );
        check(method.name(), &scene, &beliefs);
    }
}

#[test]
fn the_pseudo_label_is_the_class_of_the_highest_score() {
    for_every_method(|name, scene, beliefs| {
        // Equally many labels a class, so the scores compare as they are.
        for i in (0..20).filter(|&i| scene.labels[i] == Label::Unknown) {
            let row = beliefs.scores.row(i);
            let best = if row[2] > row[0] { 2 } else { 0 };
            assert_eq!(
                beliefs.pseudo_label[i],
                Some(best),
                "{name}, item {i}: {row}"
            );
        }
    });
}

#[test]
fn labels_spread_to_the_items_of_their_side() {
    let scene = Scene::sides(60);
    for method in methods() {
        let found = spread(&method, &scene.given()).beliefs.pseudo_label;
        let right = (6..60).filter(|&i| found[i] == Some(i as u32 % 2)).count();
        // The comparison with one-sided neighbours is as bad as its paper prints it.
        let least = if method.name() == "manifold" { 0 } else { 36 };
        assert!(right >= least, "{}: {right} of 54", method.name());
    }
}

#[test]
fn only_classes_with_a_label_in_the_part_of_an_item_can_win() {
    for_every_method(|name, _, beliefs| {
        assert!(
            (20..26).all(|i| beliefs.pseudo_label[i] == Some(2)),
            "{name}"
        );
    });
}

#[test]
fn a_class_without_a_label_has_no_score_and_no_item() {
    for_every_method(|name, _, beliefs| {
        let column = beliefs.scores.column(1);
        assert!(column.iter().all(|&s| s.abs() <= 0.0), "{name}: {column}");
        assert!(!beliefs.pseudo_label.contains(&Some(1)), "{name}");
    });
}

#[test]
fn a_part_without_labels_gets_nothing() {
    for_every_method(|name, _, beliefs| {
        for i in 26..31 {
            assert!(
                beliefs.scores.row(i).iter().all(|&s| s.abs() <= 0.0),
                "{name}, item {i}"
            );
            assert_eq!(beliefs.pseudo_label[i], None, "{name}, item {i}");
            assert!(beliefs.confidence[i].abs() <= 0.0, "{name}, item {i}");
        }
        assert_eq!(beliefs.convergence.unreached, 5, "{name}");
    });
}

#[test]
fn a_labeled_item_keeps_its_label_with_confidence_1() {
    for_every_method(|name, scene, beliefs| {
        for i in 0..32 {
            let class = scene.labels[i].class();
            assert_eq!(beliefs.labeled[i], class.is_some(), "{name}, item {i}");
            if class.is_some() {
                // Items 7 and 14 too, which lie among those of the other class.
                assert_eq!(beliefs.pseudo_label[i], class, "{name}, item {i}");
                assert!(
                    (beliefs.confidence[i] - 1.0).abs() <= 0.0,
                    "{name}, item {i}"
                );
            }
            assert!(
                (0.0..=1.0).contains(&beliefs.confidence[i]),
                "{name}, item {i}"
            );
        }
    });
}

#[test]
fn an_item_outside_of_the_classes_is_believed_to_be_of_none() {
    for_every_method(|name, _, beliefs| {
        assert_eq!(beliefs.pseudo_label[5], None, "{name}");
        assert!(beliefs.confidence[5].abs() <= 0.0, "{name}");
        assert!(!beliefs.labeled[5], "{name}");
    });
}

#[test]
fn any_number_of_threads_gives_the_same() {
    for method in methods() {
        // Several pieces of work, of the methods that have any.
        let scene = Scene::sides(if dense(&method).is_some() { 80 } else { 1500 });
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build()
                .unwrap()
                .install(|| spread(&method, &scene.given()))
        };
        let one = run(1);
        assert!(one == run(2) && one == run(3), "{}", method.name());
    }
}

#[test]
fn every_method_can_be_cancelled() {
    let scene = Scene::sides(60);
    let stopped = Monitor::silent();
    stopped.cancel();
    for method in methods() {
        let error = method.spread(&scene.given(), &stopped).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{}", method.name());
    }
}

#[test]
fn negative_edges_are_found_taken_or_refused_as_the_list_says() {
    let scene = Scene::sides(60);
    let crossing = (scene.graph.edges()).filter(|&(i, j, _)| i % 2 != j % 2);
    let crossing: Vec<_> = crossing.map(|(i, j, _)| (i, j, 1.0)).collect();
    assert!(crossing.len() > 10);
    let known = NegativeEdges::from_pairs(&scene.graph, crossing).unwrap();
    let other = Scene::sides(40);
    let foreign = NegativeEdges::from_pairs(&other.graph, []).unwrap();
    for method in methods() {
        let name = method.name();
        let found = spread(&method, &scene.given());
        let finds = method.has(Ability::FindsNegatives);
        assert_eq!(found.negatives.is_some(), finds, "{name}");
        let given = scene.given().negatives(&known);
        if !method.has(Ability::TakesNegatives) {
            refused(&method, &given, "negative edges");
            continue;
        }
        let with = spread(&method, &given);
        assert!(with.negatives.is_none(), "{name}");
        assert_ne!(with.beliefs.scores, found.beliefs.scores, "{name}");
        let none = method.spread(&scene.given().negatives(&foreign), &Monitor::silent());
        assert_eq!(none.unwrap_err().kind(), ErrorKind::Data, "{name}");
    }
}

#[test]
fn what_items_are_not_is_used_or_refused() {
    let scene = Scene::sides(60);
    for method in methods() {
        let given = scene.given().excluded(&[(10, 0)]);
        if method.has(Ability::TakesExclusions) {
            let before = spread(&method, &scene.given()).beliefs;
            let after = spread(&method, &given).beliefs;
            assert_eq!(before.pseudo_label[10], Some(0), "{}", method.name());
            assert_eq!(after.pseudo_label[10], Some(1), "{}", method.name());
        } else {
            refused(&method, &given, "what items are not");
        }
    }
}

#[test]
fn a_method_without_the_neighbours_that_it_needs_says_so() {
    let scene = Scene::sides(60);
    let given = Given::new(&scene.graph, &scene.labels);
    for method in methods() {
        if method.has(Ability::NeedsNeighbors) {
            refused(&method, &given, "neighbour lists");
        } else {
            let with = spread(&method, &scene.given());
            assert!(with == spread(&method, &given), "{}", method.name());
        }
    }
}

/// It fails on a parameter, and the message names the method and the matter, without flags.
fn refused(method: &Method, given: &Given, matter: &str) {
    let error = method.spread(given, &Monitor::silent()).unwrap_err();
    let said = error.to_string();
    assert_eq!(error.kind(), ErrorKind::Parameter, "{said}");
    assert!(
        said.starts_with(method.name()) && said.contains(matter),
        "{said}"
    );
    assert!(!said.contains("--"), "{said}");
}

#[test]
fn dense_methods_refuse_large_graphs_and_all_methods_what_does_not_fit() {
    let scene = Scene::sides(20);
    let fails = |method: &Method, graph: &Graph, labels: &Labels, words: &str| {
        let given = Given::new(graph, labels).neighbors(&scene.neighbors);
        let found: Result<Spread> = method.spread(&given, &Monitor::silent());
        let error = found.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Data, "{}: {error}", method.name());
        assert!(
            error.to_string().contains(words),
            "{}: {error}",
            method.name()
        );
    };
    for method in methods() {
        fails(
            &method,
            &scene.graph,
            &Labels::unknown(20),
            "no item has a known label",
        );
        fails(
            &method,
            &scene.graph,
            &Labels::from_integers([0, 1, -1]),
            "3 labels",
        );
        if let Some(most) = dense(&method) {
            let large = Graph::new(vec![0; most + 2], Vec::new(), Vec::new()).unwrap();
            let labels = Labels::from_integers((0..=most as i64).map(|i| i % 2));
            fails(
                &method,
                &large,
                &labels,
                &format!("at most {most} items, but these are {}", most + 1),
            );
            assert!(method.check_nodes(most + 1).is_err() && method.check_nodes(most).is_ok());
        }
    }
}
