//! Relevant component analysis as the head of a recipe.

use likewise::linear::Rca;
use likewise::linear::whitening::Spectrum;
use likewise::matrix::{l2_normalize, select_rows};
use likewise::{Collection, Labels, Monitor, View, seed};
use likewise_study::recipe::{Oracle, PseudoLabels};
use likewise_study::study::{Plan, Protocol, Row, SplitKind, Study};
use likewise_study::{Model, Recipe};
use ndarray::Array2;
use rand::RngExt;

use crate::device;

const CLASSES: usize = 20;
const D: usize = 24;

/// Twenty classes that differ in eight columns, and items of one class that differ in eight
/// others, which vary more.
fn styled(n: usize) -> (Array2<f32>, Labels) {
    let mut rng = seed::stream(5, "styled");
    let means = Array2::from_shape_fn((CLASSES, 8), |_| rng.random_range(-1.0_f32..1.0));
    let x = Array2::from_shape_fn((n, D), |(i, j)| {
        let noise = rng.random_range(-1.0_f32..1.0);
        match j {
            0..8 => 4.0 + means[[i % CLASSES, j]] + 0.3 * noise,
            8..16 => 4.0 + 3.0 * noise,
            _ => 4.0 + 0.3 * noise,
        }
    });
    let labels = Labels::from_integers((0..n).map(|i| (i % CLASSES) as i64));
    (x, labels)
}

fn collection(x: Array2<f32>, labels: Labels) -> Collection {
    let ids = (0..x.nrows()).map(|i| i.to_string()).collect();
    let view = View {
        name: "x".into(),
        matrix: x,
        present: None,
    };
    let mut collection = Collection::new(ids, vec![view]).unwrap();
    collection.labels = Some(labels);
    collection
}

fn run(
    collection: &Collection,
    recipe: &Recipe,
    protocol: &Protocol,
) -> likewise_study::Result<Study> {
    let features = collection.views()[0].matrix.view();
    Plan::of(collection, features, recipe, protocol, device::chosen()).run(&Monitor::silent())
}

fn protocol(labels_per_class: Option<usize>, split: SplitKind) -> Protocol {
    Protocol {
        labels_per_class,
        split,
        draws: 1,
        nmi: false,
        ..Protocol::default()
    }
}

#[test]
fn labels_of_some_classes_help_the_search_among_others() {
    let (x, labels) = styled(800);
    let collection = collection(x, labels);
    let protocol = protocol(Some(5), SplitKind::ZeroShot);
    for name in ["label-rca", "mixed-rca"] {
        let recipe = Recipe::named(name).unwrap();
        let study = run(&collection, &recipe, &protocol).unwrap();
        let results = &study.results;
        assert!(
            results.per_draw[0].epoch > 0,
            "{name}: {:?}",
            results.per_draw
        );
        let gain = &results.differences[&Row::Whitened]["map_at_r"];
        assert!(gain.low > 0.05, "{name}: {gain:?}");
    }
}

#[test]
fn the_embedding_is_that_of_the_closed_form() {
    let (x, labels) = styled(400);
    let collection = collection(x.clone(), labels.clone());
    let mut recipe = Recipe::named("label-rca").unwrap();
    // Nothing chooses between the start and the fit.
    recipe.rounds.folds = 0;
    let study = run(&collection, &recipe, &protocol(None, SplitKind::Item)).unwrap();
    let fitted = select_rows(x.view(), &study.train);
    // Which columns count is chosen by validation.
    let standardize = study.results.per_draw[0].standardized;
    let spectrum = if standardize {
        Spectrum::fit_standardized(fitted.view())
    } else {
        Spectrum::fit(fitted.view())
    };
    let spectrum = spectrum.unwrap();
    let center = spectrum.whitening(f64::INFINITY).unwrap();
    let rows = center.transform(fitted.view()).unwrap();
    let map = Rca::new()
        .fit(rows.view(), &labels.select(&study.train))
        .unwrap();
    let rows = center.transform(x.view()).unwrap().mapv(f64::from);
    let expected = l2_normalize(rows.dot(&map).mapv(|v| v as f32));
    let error = study.embeddings.dot(&study.embeddings.t()) - expected.dot(&expected.t());
    assert!(error.iter().all(|e| e.abs() < 1e-4));

    let read = Model::open(&study.model.to_safetensors().unwrap()).unwrap();
    assert_eq!(read, study.model);
    let embedded = read.embed(x.view(), &device::chosen()).unwrap();
    assert_eq!(embedded, study.embeddings);
}

#[test]
fn a_power_is_that_of_the_features() {
    let (x, labels) = styled(400);
    // A power that the compiler knew would be rounded in another way.
    let power = std::hint::black_box(0.5_f32);
    let roots = x.mapv(|v| v.abs().powf(power).copysign(v));
    for name in ["label-rca", "multi-similarity"] {
        let plain = Recipe::named(name).unwrap();
        let mut power = plain.clone();
        power.start.power = 0.5;
        let protocol = protocol(Some(4), SplitKind::Item);
        let one = run(&collection(x.clone(), labels.clone()), &power, &protocol).unwrap();
        let other = run(
            &collection(roots.clone(), labels.clone()),
            &plain,
            &protocol,
        )
        .unwrap();
        assert!(one.embeddings == other.embeddings, "{name}");
        // Raw features are what was given.
        let raw = |study: &Study| study.results.baselines[&Row::Raw].map_at_r;
        assert_ne!(raw(&one), raw(&other));
        let whitened = |study: &Study| study.results.baselines[&Row::Whitened].map_at_r;
        assert_eq!(whitened(&one), whitened(&other));
    }
}

#[test]
fn one_label_a_class_leaves_the_centred_features() {
    let (x, labels) = styled(200);
    let recipe = Recipe::named("label-rca").unwrap();
    let study = run(
        &collection(x, labels),
        &recipe,
        &protocol(Some(1), SplitKind::Item),
    )
    .unwrap();
    assert!(study.embeddings.iter().all(|v| v.is_finite()));
}

#[test]
fn what_does_not_go_together_is_said() {
    let said = |recipe: &Recipe| recipe.validate().unwrap_err().to_string();
    let mut recipe = Recipe::mixed_rca();
    recipe.start.power = 1.5;
    assert!(said(&recipe).contains("start.power"));
    recipe.start.power = f64::NAN;
    assert!(said(&recipe).contains("start.power"));
    let text = "start.power = 0.5\n\
                learner.model = { kind = 'network', encoder = { name = 'mnist' } }";
    let refused = Recipe::from_toml(text).unwrap_err().to_string();
    assert!(refused.contains("start.power"), "{refused}");
    let text = "learner = { kind = 'rca', shrinkage = 2.0 }";
    let refused = Recipe::from_toml(text).unwrap_err().to_string();
    assert!(refused.contains("shrinkage"), "{refused}");
    let recipe = Recipe {
        pseudo_labels: PseudoLabels::Oracle(Oracle::default()),
        ..Recipe::mixed_rca()
    };
    recipe.validate().unwrap();
}
