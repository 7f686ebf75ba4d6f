//! Whole fits of what needs no label, on the digits: with labels and without any, on one thread and on
//! two, and interrupted.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use likewise::eval::ranking::{self, Measure};
use likewise::{Collection, Labels, Monitor, View};
use likewise_io::{Form, ReadOptions};
use likewise_study::Recipe;
use likewise_study::recipe::{ModelConfig, PseudoLabels};
use likewise_study::study::{Delivered, Next, Plan, Protocol, Row, SplitKind, Study};
use ndarray::{Array2, ArrayView2, Axis};

use crate::device;

/// Every eighth of the 2000 digits, and their labels, of which the collection has none.
fn digits() -> (Collection, Labels) {
    let bytes = std::fs::read(likewise_testdata::digits()).unwrap();
    let all = likewise_io::read_bytes(Form::Npz, &bytes, &ReadOptions::default()).unwrap();
    let rows: Vec<usize> = (0..all.len()).step_by(8).collect();
    let view = View {
        name: "kar".into(),
        matrix: all.view(Some("kar")).unwrap().matrix.select(Axis(0), &rows),
        present: None,
    };
    let ids = rows.iter().map(usize::to_string).collect();
    let collection = Collection::new(ids, vec![view]).unwrap();
    (collection, all.labels.unwrap().select(&rows))
}

struct Fit<'a> {
    collection: &'a Collection,
    recipe: &'a Recipe,
    protocol: Protocol,
    checkpoints: Option<PathBuf>,
    /// Steps after which it is stopped.
    most: usize,
}

impl Fit<'_> {
    fn run(&self) -> likewise_study::Result<Study> {
        let steps = AtomicUsize::new(0);
        let own = Arc::new(OnceLock::<Monitor>::new());
        let (stops, most) = (own.clone(), self.most);
        let monitor = Monitor::new(move |event| {
            if matches!(event, likewise::Event::Step { .. })
                && steps.fetch_add(1, Ordering::Relaxed) + 1 == most
                && let Some(own) = stops.get()
            {
                own.cancel();
            }
        });
        own.set(monitor.clone()).ok();
        let features = self.collection.views()[0].matrix.view();
        let plan = Plan {
            checkpoints: self.checkpoints.clone(),
            ..Plan::of(
                self.collection,
                features,
                self.recipe,
                &self.protocol,
                device::chosen(),
            )
        };
        plan.run(&monitor)
    }
}

fn without_labels<'a>(collection: &'a Collection, recipe: &'a Recipe) -> Fit<'a> {
    Fit {
        collection,
        recipe,
        protocol: Protocol {
            split: SplitKind::Folds,
            ..Protocol::default()
        },
        checkpoints: None,
        most: usize::MAX,
    }
}

/// MAP@R of all items among each other.
fn truth(embeddings: ArrayView2<f32>, labels: &Labels) -> f64 {
    let all: Vec<usize> = (0..labels.len()).collect();
    let ask = ranking::Protocol::within(embeddings, labels, &all);
    let found = ranking::evaluate(&ask, &[1], &Monitor::silent()).unwrap();
    found.mean(Measure::MapAtR).unwrap()
}

/// What is here, each of a few short rounds, or of few comparisons.
fn recipes() -> Vec<Recipe> {
    let names = ["deep-cluster", "dec", "sdec", "nce", "exemplar"];
    let mut all = names.map(|name| Recipe::named(name).unwrap()).to_vec();
    let written = [
        "base = \"synthetic\"\nlearner = { triplets = 200, draws = 5 }",
        "base = \"deep-cluster\"\nname = \"named clusters\"\npseudo_labels = { labels = \"name\", every = 2 }",
        "base = \"nce\"\nname = \"estimated nce\"\nlearner.loss = { full = 100, noise = 64 }",
    ];
    all.extend(written.map(|text| Recipe::from_toml(text).unwrap()));
    for recipe in &mut all {
        if let Some(gradient) = recipe.learner.gradient_mut() {
            gradient.train.steps = 10;
            recipe.rounds.epochs = 5;
        }
    }
    all
}

#[test]
fn digits_without_any_label_are_fitted_alike_on_any_number_of_threads() {
    let (collection, labels) = digits();
    for recipe in recipes() {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().unwrap();
            pool.install(|| without_labels(&collection, &recipe).run().unwrap())
        };
        let study = on(1);
        assert_eq!(study.embeddings, on(2).embeddings, "{}", recipe.name);
        let answers = &study.results.answers;
        assert_eq!(answers.delivered, Delivered::Learned, "{}", recipe.name);
        let said = answers.not_measured.as_ref().unwrap();
        assert!(said.contains("learned without labels"), "{said}");
        assert!(answers.labels.is_none() && matches!(answers.next, Next::LabelItems { .. }));
        // What it learned is no noise: by chance it is a hundredth.
        let found = truth(study.embeddings.view(), &labels);
        println!("{}: MAP@R {found:.3} without labels", recipe.name);
        assert!(found > 0.15, "{}: {found}", recipe.name);
    }
}

#[test]
fn digits_with_labels_are_measured() {
    let (mut collection, labels) = digits();
    collection.labels = Some(labels);
    for recipe in recipes() {
        let fit = Fit {
            protocol: Protocol {
                labels_per_class: Some(5),
                draws: 1,
                nmi: false,
                ..Protocol::default()
            },
            ..without_labels(&collection, &recipe)
        };
        let study = fit.run().unwrap();
        let baselines = &study.results.baselines;
        // A learner of the items alone has no row of the labels.
        let of_labels = baselines.contains_key(&Row::LabelsOnly);
        assert_eq!(of_labels, recipe.name != "synthetic", "{}", recipe.name);
        let map = |row| {
            baselines
                .get(&row)
                .map_or(f64::NAN, |row| row.map_at_r.unwrap())
        };
        // Clusters beside links of labels spread nothing, and take the place of no label.
        let asks = study.results.answers.spreading.is_some();
        assert!(
            !(asks && recipe.name == "sdec"),
            "{:?}",
            study.results.answers
        );
        let own = study.results.summary.map_at_r.unwrap();
        println!(
            "{}: MAP@R {own:.3}, raw {:.3}, whitened {:.3}, labels only {:.3}",
            recipe.name,
            map(Row::Raw),
            map(Row::Whitened),
            map(Row::LabelsOnly)
        );
        assert!(own > 0.15 && study.embeddings.iter().all(|v| v.is_finite()));
    }
}

#[test]
fn an_interrupted_fit_of_clusters_ends_where_an_undisturbed_one_does() {
    let (collection, _) = digits();
    for recipe in recipes() {
        if recipe.pseudo_labels == PseudoLabels::None {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let whole = without_labels(&collection, &recipe).run().unwrap();
        for most in [2, 4] {
            let stopped = Fit {
                checkpoints: Some(folder.path().to_owned()),
                most,
                ..without_labels(&collection, &recipe)
            };
            assert!(stopped.run().is_err(), "{}", recipe.name);
        }
        let resumed = Fit {
            checkpoints: Some(folder.path().to_owned()),
            ..without_labels(&collection, &recipe)
        };
        let resumed = resumed.run().unwrap();
        assert_eq!(resumed.embeddings, whole.embeddings, "{}", recipe.name);
    }
}

const SIDE: usize = 28;

/// Images that are bright above and dark below, each with a bright spot in one of three places.
pub(crate) fn images(n: usize) -> Collection {
    let pixels = Array2::from_shape_fn((n, SIDE * SIDE), |(i, at)| {
        let (y, x) = (at / SIDE, at % SIDE);
        let spot = (8..14).contains(&y) && x / 9 == i % 3;
        let noise = (i * 31 + at * 17) % 37;
        (if spot { 220.0 } else { 180.0 - 5.0 * y as f32 }) + noise as f32
    });
    let view = View {
        name: "pixels".into(),
        matrix: pixels,
        present: None,
    };
    let ids = (0..n).map(|i| i.to_string()).collect();
    Collection::new(ids, vec![view]).unwrap()
}

#[test]
fn a_network_learns_turns_and_instances_of_images() {
    let mut collection = images(60);
    let of = |base: &str, more: &str| {
        let text = format!(
            "base = \"{base}\"\n[rounds]\nepochs = 4\nfolds = 0\n[learner.train]\nbatch = 16\nsteps = 6\n{more}"
        );
        Recipe::from_toml(&text).unwrap()
    };
    let network = "[learner.model]\nkind = \"network\"\nencoder = { name = \"mnist\" }\n\
                   tuning = { augment = true }";
    let turned = "[learner.model.encoder]\nname = \"mnist\"";
    for recipe in [
        of("rotnet", turned),
        of("nce", network),
        of("exemplar", network),
    ] {
        let whole = without_labels(&collection, &recipe).run().unwrap();
        assert_eq!(whole.results.answers.delivered, Delivered::Learned);
        assert!(whole.embeddings.iter().all(|v| v.is_finite()));
        let folder = tempfile::tempdir().unwrap();
        let stopped = Fit {
            checkpoints: Some(folder.path().to_owned()),
            most: 3,
            ..without_labels(&collection, &recipe)
        };
        assert!(stopped.run().is_err(), "{}", recipe.name);
        let resumed = Fit {
            checkpoints: Some(folder.path().to_owned()),
            ..without_labels(&collection, &recipe)
        };
        assert_eq!(resumed.run().unwrap().embeddings, whole.embeddings);
    }
    // With labels the log is there: what tells turns apart is learned.
    let labels = (0..60).map(|i| i % 3);
    collection.labels = Some(Labels::from_integers(labels));
    let recipe = of("rotnet", turned);
    assert!(matches!(
        recipe.learner.gradient().unwrap().model,
        ModelConfig::Network(_)
    ));
    let fit = Fit {
        protocol: Protocol {
            labels_per_class: Some(5),
            draws: 1,
            nmi: false,
            ..Protocol::default()
        },
        ..without_labels(&collection, &recipe)
    };
    let study = fit.run().unwrap();
    let log = &study.results.per_draw[0].training;
    let losses: Vec<f64> = log.iter().filter_map(|epoch| epoch.loss).collect();
    assert_eq!(losses.len(), 4);
    assert!(losses[3] < losses[0], "{losses:?}");
}

#[test]
fn what_learns_from_the_items_alone_has_no_row_of_the_labels_and_is_not_judged_as_theirs() {
    let (mut collection, labels) = digits();
    collection.labels = Some(labels.draw(8, 0));
    let mut hidden = collection.clone();
    hidden.labels = Some(labels);
    // A graph, landmarks, directions of the largest variance: no class is looked at.
    for name in ["laplacian-score", "emr", "pca"] {
        let recipe = Recipe::named(name).unwrap();
        let few = without_labels(&collection, &recipe);
        let split = Fit {
            collection: &hidden,
            protocol: Protocol {
                labels_per_class: Some(4),
                draws: 1,
                ..Protocol::default()
            },
            ..without_labels(&hidden, &recipe)
        };
        for fit in [few, split] {
            let results = fit.run().unwrap().results;
            for row in [Row::LabelsOnly, Row::AllLabels] {
                assert!(!results.baselines.contains_key(&row), "{name}: {row:?}");
            }
            assert!(results.summary.n_queries > 0, "{name}");
            let answers = &results.answers;
            assert_eq!(answers.taught_by, "items", "{name}");
            assert!(answers.spreading.is_none(), "{name}");
            let said = answers.headline();
            let question = "Did learning from the items alone help? ";
            assert!(said.starts_with(question), "{name}: {said}");
            let auto = matches!(&answers.next, Next::Recipe { name, .. } if name == "auto");
            let more = matches!(&answers.next, Next::LabelItems { .. } | Next::Nothing);
            assert!(auto || more, "{name}: {:?}", answers.next);
        }
    }
    // A learner of classes has them.
    let recipe = Recipe::named("rca").unwrap();
    let results = without_labels(&collection, &recipe).run().unwrap().results;
    assert!(results.baselines.contains_key(&Row::LabelsOnly));
    assert_eq!(results.answers.taught_by, "labels");
}
